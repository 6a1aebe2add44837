"""The reference master: any formulation, modelled anew in cvxpy at every round."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from cvxens.colgen.protocols import MasterSolution
from cvxens.colgen.restricted import FastMaster
from cvxens.errors import InvalidInput, NotSeparable, SolverFailed
from cvxens.problems import Formulation, Problem
from cvxens.problems.modelling import Model, cp, solve_model
from cvxens.types import Array, Solution


class CvxpyMaster(FastMaster):
    """Solves the restricted problem of any formulation with the chain of cvxpy's solvers.

    Parameters
    ----------
    formulation : Formulation
        Any.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Signs of the margins; a column of ones for scores of several outputs.
    solver : str or None
        A solver to use and no other; None for the chain.
    **options
        Passed to the solver.
    """

    source = "cvxpy"

    def __init__(self, formulation: Formulation, y: Array, *, solver: str | None = None, **options: Any) -> None:
        super().__init__(formulation, y)
        self.solver = solver
        self.options = options

    def solve(self) -> MasterSolution:
        """Model and solve; where no margins of 1 can be reached yet, return the Farkas vector to price with."""
        if self.restricted.n_columns == 0:
            return self._start()
        if (wider := self.restricted.widen()) is not None:
            return wider
        sided = self.loss.model_violation is not None
        try:
            solution = self.restricted.problem.solve(self.solver, **self.options)
        except NotSeparable as proof:
            return self._lower_violation() if sided else self.restricted.farkas(proof.farkas)
        except SolverFailed as failure:
            if sided and failure.attempts[0].status == "infeasible":
                return self._lower_violation()
            raise
        found = self.restricted.evaluate({**_read_weights(solution), **solution.duals})
        if self.restricted.is_mended:
            # constraints hold to a solver's digits only: tighter ones by more than these are met with the weights
            tighter = Problem(
                replace(self.restricted.formulation, loss=self.loss.tighten()), self.restricted.H, self.restricted.y
            )
            with suppress(SolverFailed, NotSeparable):
                weights = _read_weights(tighter.solve(self.solver, **self.options))
                return self.restricted.evaluate({**weights, "u": found.u})
        return found

    def _lower_violation(self) -> MasterSolution:
        """Minimise the violation of side constraints: its multipliers u have ``u'z`` above 0 wherever these hold."""
        formulation, y, H = self.restricted.formulation, self.restricted.y, self.restricted.H
        w, b = cp.Variable(H.shape[1], nonneg=formulation.nonnegative), cp.Variable()
        z = cp.Variable(len(y))
        link = z == cp.multiply(y, H @ w + b if formulation.intercept else H @ w)
        violated = cp.Problem(cp.Minimize(self.loss.model_violation(z)), [link])
        return self.restricted.farkas(solve_model(Model(violated, {}, {"u": (link, 1.0)}), None, {}).duals["u"])

    def _start(self) -> MasterSolution:
        """Return the point to price with before there are columns, or say what keeps it from being found."""
        formulation, y = self.restricted.formulation, self.restricted.y
        # what is not convex is named before anything is solved
        _ = Problem(formulation, np.zeros((len(y), 1)), y).problem
        try:
            return self.restricted.start()
        except SolverFailed as failure:
            if formulation.constraints is None or failure.attempts[0].status != "infeasible":
                raise
            found = "found no constant score that satisfies them"
            raise InvalidInput("constraints", found, "give some that hold for a constant score b, or 0") from failure


def _read_weights(solution: Solution) -> dict[str, Array]:
    """Return weights, and the intercept where there is one."""
    return {name: solution.variables[name] for name in ("w", "b") if name in solution.variables}
