"""The reference master: any formulation, modelled anew in cvxpy at every round."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxens.colgen.protocols import MasterSolution, Priced
from cvxens.colgen.restricted import FastMaster
from cvxens.errors import InvalidInput, NotSeparable, SolverFailed
from cvxens.problems import Formulation, Problem
from cvxens.problems.duality import Edges
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

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; taken from the solver's point where a conjugate is not known."""
        if self.restricted.formulation.has_conjugate:
            return super().bound(solution, priced)
        return self._claimed_bound(solution, priced)

    def _start(self) -> MasterSolution:
        """Solve without columns; a loss that is an expression is solved at w = 0 for its multipliers."""
        formulation = self.restricted.formulation
        if formulation.has_conjugate:
            return self.restricted.start()
        nothing = Problem(formulation, np.zeros((len(self.restricted.y), 1)), self.restricted.y)
        try:
            solution = nothing.solve(self.solver, **self.options)
        except SolverFailed as failure:
            if formulation.constraints is None or failure.attempts[0].status != "infeasible":
                raise
            found = "found no constant score that satisfies them"
            raise InvalidInput("constraints", found, "give some that hold for a constant score b, or 0") from failure
        b, u = solution.variables.get("b", np.zeros(nothing.outputs)), solution.duals["u"]
        w = np.zeros((0, *nothing.outputs))
        threshold = self.penalty.threshold(w, np.zeros(0))
        objective, row_norm = formulation.sense * solution.objective, self.penalty.row_norm
        return MasterSolution(w, b, u, self.restricted.y * u, objective, threshold, row_norm=row_norm)

    def _claimed_bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound by Fenchel's equality ``-loss*(-u) = loss(z) + u'z`` at the solver's optimum.

        Once no edge exceeds the threshold, the restricted optimum is the optimum, whatever the penalty; where the
        oracle cannot bound the edges, nobody knows whether one does.
        """
        size = max(abs(solution.threshold), float(np.abs(solution.s).max()))
        if priced.edge_bound == np.inf:
            return -np.inf
        if priced.best_edge <= solution.threshold + 1e-6 * size:
            return solution.objective
        loss, penalty = self.loss, self.penalty
        edges = Edges(priced.edge_bound, priced.edge_square_sum)
        if solution.w.size == 0 or penalty.shrink(edges) < 1 or not np.isfinite(penalty.conjugate(edges)):
            return -np.inf
        z = self.restricted.margins(solution)
        claimed = loss.value(z) + float((solution.u * z).sum()) - penalty.conjugate(edges)
        # the restricted optimum is no less than the optimum, so what a claim exceeds it by is the solver's error
        return min(claimed, solution.objective)
