"""The fast master of soft margins: an interior-point method kept warm, and solved as far as the outer gap warrants."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.colgen.masters.highs_master import HighsMaster
from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.colgen.restricted import FastMaster, Needs
from cvxens.errors import SolverFailed, SolverFallbackWarning
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.solvers.interior_point import (
    Iterate,
    MaxSum,
    MinLimit,
    Objective,
    Program,
    Rows,
    append_rows,
    cold_start,
    drop_rows,
    follow_path,
)
from cvxens.types import Array

Choice: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Some columns with their signs: indices of signs, indices of columns."""

LOOSE = 0.3
"""The share of the outer gap down to which the restricted problem is solved: exact weights are not wanted yet."""

NEGLIGIBLE_EDGE, NEGLIGIBLE_WEIGHT = 0.02, 1e-4
"""A column is of no use if its edge is below its limit by this share and its weight below this share of the mean."""

PURGE_AFTER = 3
"""Rounds with negligible weight and edge after which a column leaves the working set."""

LEAST_CLEARANCE = 1e-6
"""A sample's multiplier must be able to stay this far below its bound, relative to it, for the method to work."""


class InteriorPointMaster(FastMaster):
    """LL08 P4 and LPBoost (DBS02) by primal-dual column generation (Gondzio, Gonzalez-Brevis & Munari 2016).

    The dual, max sum u over 0 <= u <= C with a row per column, or LPBoost's game, is solved by an interior-point method
    on the normal equations, one unknown per column. It stops at a share of the outer gap, which it learns in `bound`:
    until columns are good, their exact weights are not wanted, and the u of a centred point prices far better than a
    vertex. The next round starts from that point, moved until it is strictly inside all new rows. Columns without
    weight and with a small edge rest until their edge is too large again; so do, where w is free, the negations of
    columns.

    Solutions are feasible and their objectives never rise. Where the method can do no more, at relative gaps of about
    1e-9, and of 1e-4 where C is a million times the weight of the penalty, the simplex method finishes (`HighsMaster`).

    Parameters
    ----------
    formulation : Formulation
        Hinge loss with an l1 penalty, or the soft minimum margin on the simplex.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    """

    source = "Gondzio, Gonzalez-Brevis & Munari 2016"
    needs = (Needs("box", "edge_limit"), Needs("caps", "total"))

    def __init__(self, formulation: Formulation, y: Array) -> None:
        super().__init__(formulation, y)
        self.program, self.C = self._state_dual(formulation, y)
        self.signs = np.array([1.0] if formulation.nonnegative else [1.0, -1.0])
        self.working: Choice = (np.empty(0, np.intp), np.empty(0, np.intp))
        self.idle = np.empty(0, np.intp)
        self.at: Iterate | None = None
        self.best: MasterSolution = self.restricted.start()
        interior = self.program.objective.interior(self._v, self.program)
        self.has_interior = bool((interior <= (1 - LEAST_CLEARANCE) * self.program.upper).all())
        self.unfinished: list[Column] = []
        self.gap = self.own_gap = inf

    def _state_dual(self, formulation: Formulation, y: Array) -> tuple[Program, float]:
        """Return the dual program without columns, and the unit of its multipliers: the largest price."""
        upper = np.full(len(y), self.loss.box if hasattr(self.loss, "box") else self.loss.caps)
        price, rows = float(upper.max()), Rows(len(y))
        objective: Objective
        if hasattr(self.loss, "box"):
            objective = MaxSum(self.penalty.edge_limit / price)
        else:
            objective = MinLimit(self.loss, 1 / price)
            rows.add(np.ones((1, len(y))))
        if formulation.intercept:
            rows.add(y[np.newaxis])
        return Program(rows, rows.n_rows, upper / price, objective), price

    @cached_property
    def simplex(self) -> HighsMaster:
        """The master that finds the vertex; HiGHS is loaded where one is wanted first."""
        return HighsMaster(self.restricted.formulation, self.restricted.y)

    def add(self, columns: Sequence[Column]) -> None:
        self.restricted.add(columns)
        self.unfinished.extend(columns)

    def solve(self) -> MasterSolution:
        """Solve to a share of the outer gap, from the last point."""
        if self.restricted.n_columns == 0:
            return self.best
        waiting = self._find_violated()
        entering = len(waiting[0]) > 0
        if entering:
            self._enter(waiting)
        before = self.at
        if before is not None:
            # asked again with nothing new, it is to do better
            goal = self.gap if entering else min(self.gap, self.own_gap)
            self.at, self.own_gap = follow_path(self.program, before, LOOSE * goal)
        if self.at is before and not entering:
            return self._finish()
        self._take(self._evaluate())
        self._purge()
        return self.best

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next solution is as good as the gap to what was found warrants."""
        found = Edges(priced.best_edge, priced.edge_square_sum)
        self.gap = (solution.objective - self.restricted.problem.bound(solution.u, found)) / self.C
        return super().bound(solution, priced)

    def _finish(self) -> MasterSolution:
        try:
            self.simplex.add(self.unfinished)
            self.unfinished = []
            self._take(self.simplex.solve())
        except (ImportError, SolverFailed) as failure:
            warnings.warn(
                f"the interior-point method could do no more, and {failure}", SolverFallbackWarning, stacklevel=5
            )
        return replace(self.best, exact=True)

    @property
    def _v(self) -> Array:
        return self.best.u / self.C if self.at is None else self.at.v

    def _find_violated(self) -> Choice:
        """Return the columns outside the working set, in either sign that is allowed, whose edges are too large."""
        if not self.has_interior:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        edges = np.multiply.outer(self.signs, self.restricted.problem.H.edges(self.restricted.y * self._v))
        edges[self.working] = -inf
        sign, column = np.nonzero(edges > (self.program.objective.limit if self.at is None else self.at.limit))
        return sign, column

    def _enter(self, waiting: Choice) -> None:
        sign, column = waiting
        rows = self.signs[sign, np.newaxis] * self.restricted.y * self.restricted.H.T[column]
        self.program.rows.add(rows)
        self.at = (
            cold_start(self._v, self.program)
            if self.at is None
            else append_rows(self.at, rows @ self.at.v, self.program)
        )
        self.working = np.append(self.working[0], sign), np.append(self.working[1], column)
        self.idle = np.append(self.idle, np.zeros(len(sign), np.intp))

    def _purge(self) -> None:
        """Remove columns from the working set that have been of no use for long, but never all."""
        if self.at is None:
            return
        at, size = self.at, abs(self.at.limit)
        # while the gap is wide, edges are known no better than it, so that thrice its share of the limit is kept
        to_spare = max(NEGLIGIBLE_EDGE * size, 3 * self.gap * size / max(abs(self.best.objective) / self.C, size))
        useless = (at.s > to_spare) & (at.w < NEGLIGIBLE_WEIGHT * at.w.mean())
        self.idle = np.where(useless, self.idle + 1, 0)
        kept = self.idle < PURGE_AFTER
        if kept.all():
            return
        kept[at.w.argmax()] = True
        self.at = drop_rows(at, kept, self.program)
        self.program.rows.keep(np.append(np.full(self.program.n_free, True), kept))
        self.working = self.working[0][kept], self.working[1][kept]
        self.idle = self.idle[kept]

    def _evaluate(self) -> MasterSolution:
        """Repair and evaluate the last point."""
        w = np.zeros(self.restricted.n_columns)
        if self.at is not None:
            sign, column = self.working
            np.add.at(w, column, self.signs[sign] * self.at.w)
        return self.restricted.evaluate({"w": w, "u": self.C * self._v})

    def _take(self, new: MasterSolution) -> None:
        """Keep the new multipliers, with the best weights so far."""
        if new.objective > self.best.objective:
            w = np.zeros_like(new.w)
            w[: len(self.best.w)] = self.best.w
            best = self.best
            new = replace(new, w=w, b=best.b, centred=best.centred, objective=best.objective)
        self.best = replace(new, exact=False)
