"""The restricted problem that all masters share: columns found so far, and points over them evaluated in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cvxens.certificates import ROUNDING
from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.problems import DenseColumns, Formulation, Problem
from cvxens.problems.duality import Edges, balance_exactly, centres, edge_rounding
from cvxens.problems.maps import ColumnMap
from cvxens.problems.problem import Products
from cvxens.types import Array, Point


class Restricted:
    """The restricted problem: it stores columns and turns a solver's raw point into a certified one.

    Where there is an intercept, columns far from 0 are stored less their centres, which the intercept absorbs, and all
    multipliers are balanced to the last bit, so that the edges of the columns as they were are the same.
    Points are evaluated by plain products, two for each; what rounding does to them is measured by `rounding` alone.

    Parameters
    ----------
    formulation : Formulation
        Loss and penalty.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Signs of the margins; a column of ones for scores of several outputs.
    """

    def __init__(self, formulation: Formulation, y: Array) -> None:
        self.formulation = formulation
        self.y = y
        self._rows = np.empty((0, len(y)))
        self.centres = np.zeros(0)
        self.n_columns = 0
        self._problem: Problem | None = None

    @property
    def H(self) -> Array:
        """The columns, less their centres, shape (n_samples, n_columns)."""
        return self._rows[: self.n_columns].T

    @property
    def problem(self) -> Problem:
        """The formulation over the columns found so far."""
        if self._problem is None:
            self._problem = self._problem_over(self.H)
        return self._problem

    def _problem_over(self, H: Array) -> Problem:
        """Return the formulation over columns that are less their centres already."""
        return Problem(self.formulation, ColumnMap(DenseColumns(H)), self.y)

    def add(self, columns: Sequence[Column]) -> Array:
        """Store columns; returns their values, less their centres, shape (n_added, n_samples)."""
        needed = self.n_columns + len(columns)
        if needed > len(self._rows):
            room = np.empty((max(needed, 2 * len(self._rows), 32), len(self.y)))
            room[: self.n_columns] = self._rows[: self.n_columns]
            self._rows = room
        for row, column in enumerate(columns, start=self.n_columns):
            self._rows[row] = column.values
        added = self._rows[self.n_columns : needed]
        shifts = centres(added) if self.formulation.intercept else np.zeros(len(columns))
        added -= shifts[:, np.newaxis]
        self.centres = np.append(self.centres, shifts)
        self.n_columns, self._problem = needed, None
        return added

    def shift(self, point: Point) -> Point:
        """Return the same point for the columns less their centres: ``(w, b + c'w)``."""
        return {**point, "b": point["b"] + self.centres @ point["w"]} if "b" in point else point

    def balance(self, u: Array) -> Array:
        """Return multipliers with y'u = 0 to the last bit where there is an intercept, if their domain is known."""
        formulation = self.formulation
        return balance_exactly(u, self.y) if formulation.intercept and formulation.has_conjugate else u

    def start(self) -> MasterSolution:
        """The point to price with before there is any column."""
        formulation = self.formulation
        loss, penalty = formulation.terms
        outputs = () if formulation.outputs is None else (formulation.outputs,)
        w, f = np.zeros((0, *outputs)), np.zeros((len(self.y), *outputs))
        b = loss.best_intercept(f, self.y) if formulation.intercept else np.zeros(outputs)
        z = self.y * (f + b)
        u = self.balance(loss.repair(loss.multipliers(z), self.y if formulation.intercept else None))
        objective = loss.value(z) if penalty.primal_violation(w) == 0 else np.inf
        threshold = penalty.threshold(w, np.zeros(0))
        # while nothing is feasible, any positive edge is a step towards it
        threshold = threshold if np.isfinite(objective) else min(threshold, 0.0)
        closed = np.zeros(0, dtype=bool) if formulation.nonnegative else None
        return MasterSolution(w, b, u, self.y * u, objective, threshold, closed)

    def evaluate(self, point: Point) -> MasterSolution:
        """Repair a solver's point and evaluate it."""
        problem = self.problem
        if "u" in point and self.formulation.intercept:
            # multipliers that are balanced from the start need no product of their own
            point = {**point, "u": self.balance(problem.loss.repair(point["u"], self.y))}
        found = problem.evaluate(point, Products(problem.linear_map, precise=False))
        w, u, edges = found.w, self.balance(found.u), found.edges
        if not np.array_equal(u, found.u):
            edges = problem.H.edges(self.y * u)
        threshold = problem.penalty.threshold(w, edges)
        closed = edges.reshape(len(edges), -1).min(axis=1) > 0 if self.formulation.nonnegative else None
        outside = found.b - self.centres @ w if self.centres.any() else found.b
        objective = self.formulation.sense * found.primal
        return MasterSolution(w, outside, u, self.y * u, objective, threshold, closed, edges=edges, centred=found.b)

    def farkas(self, u: Array) -> MasterSolution:
        """The point of an infeasible master: a hypothesis with a positive edge under u is a step to feasibility."""
        problem, y = self.problem, self.y
        u = self.balance(problem.loss.repair(u, y if self.formulation.intercept else None))
        w, none = np.zeros(self.n_columns), np.zeros(self.n_columns, dtype=bool)
        threshold = edge_rounding(len(y), problem.H.largest) * float(u.sum())
        return MasterSolution(w, np.zeros(()), u, y * u, np.inf, threshold, none)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses."""

        def inside() -> Array:
            edges = self.problem.H.edges(solution.s)
            return edges if self.formulation.nonnegative else np.abs(edges)

        edges = Edges(priced.edge_bound, priced.edge_square_sum, inside, priced.outside_bound)
        return self.problem.bound(solution.u, edges)

    def residuals(self, solution: MasterSolution, u: Array, priced: Priced) -> dict[str, float]:
        """Evaluate the KKT residuals of a master's weights with multipliers u, made feasible for all that is priced."""
        problem = self._problem_over(self.H[:, : len(solution.w)])
        shrink = problem.penalty.shrink(Edges(priced.best_edge, priced.edge_square_sum))
        residuals = problem.residuals({"w": solution.w, "b": intercept_of(solution), "u": shrink * u})
        return {**residuals, "pricing slack": problem.penalty.pricing_slack(np.array([shrink * priced.best_edge]))}

    def rounding(self, solution: MasterSolution, u: Array) -> float:
        """Bound what rounding can have done to a master's objective, and to the dual value at u.

        The objective came from plain products; the same point is evaluated as precisely as possible, and what it lies
        above the objective counts as rounding.
        """
        if not np.isfinite(solution.objective):
            return 0.0
        H, w = self.H[:, : len(solution.w)], solution.w
        if not len(w):
            # a column of zeros stands for none
            H, w = np.zeros((len(self.y), 1)), np.zeros((1, *w.shape[1:]))
        precise = self._problem_over(H).evaluate_at(w, intercept_of(solution), u)
        off = max(self.formulation.sense * precise.primal - solution.objective, 0.0)
        return precise.rounding + off + ROUNDING * abs(solution.objective)


def intercept_of(solution: MasterSolution) -> Array:
    """Return the intercept of a solution for columns less their centres."""
    return solution.b if solution.centred is None else solution.centred
