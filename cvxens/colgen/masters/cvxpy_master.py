"""The reference master: any formulation, modelled anew in cvxpy at every round."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxens.colgen.protocols import MasterSolution
from cvxens.colgen.restricted import FastMaster
from cvxens.errors import InvalidInput, NotSeparable, SolverFailed
from cvxens.problems import Formulation, Problem
from cvxens.types import Array


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
        try:
            solution = self.restricted.problem.solve(self.solver, **self.options)
        except NotSeparable as proof:
            return self.restricted.farkas(proof.farkas)
        point = {name: solution.variables[name] for name in ("w", "b") if name in solution.variables}
        return self.restricted.evaluate({**point, **solution.duals})

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
