"""The restricted problem, and what the masters that solve it share.

A *restricted problem* is the formulation over the columns found so far. `Restricted` stores them and turns a solver's
raw point into a certified one, in numpy, for every master. A fast master does not know losses and penalties by their
types: it says what it needs of them (`Needs`), by the names of the capabilities that the two protocols list, and takes
every formulation whose terms have these. How far it solves a round's problem is its `InexactTolerance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar
from warnings import warn

import numpy as np

from cvxens import validation
from cvxens.certificates import ROUNDING
from cvxens.colgen.protocols import Column, Incumbent, Master, MasterSolution, Priced, relative_gap
from cvxens.errors import InvalidInput, SolverFallbackWarning
from cvxens.limits import TimeUp
from cvxens.problems import Columns, DenseColumns, Formulation, Problem
from cvxens.problems.duality import Edges, balance_exactly, centres, edge_rounding
from cvxens.problems.linear_dual import Stack
from cvxens.problems.maps import ColumnMap
from cvxens.problems.penalties import Penalty
from cvxens.problems.problem import FEASIBLE, Products
from cvxens.solvers.byte_rows import GrowingRows, ListedRows
from cvxens.types import Array, Point

SHARE = 0.3
"""The share of what new columns can gain, down to which a round is solved; at 0.1 additive models take 1.7 times as
long, at a largest gap of 1e-3 (10,000 x 20 with pairs), and others about as long."""

COARSE = 1e-2
"""The largest gap: limits may end a run in any round, and then its weights are the last ones."""

FINE = 1e-4
"""The gap after columns that were not priced before, and the share of the last gap where nothing new has come."""

WORTH_BYTES = 2**21
"""Entries from which on products with columns are taken byte by byte, where they are kept so: 16 MB of float64."""


class Restricted:
    """The restricted problem: it stores columns and turns a solver's raw point into a certified one.

    Where there is an intercept, columns far from 0 are stored less their centres, which the intercept absorbs, and all
    multipliers are balanced to the last bit, so that the edges of the columns as they were are the same.
    Points are evaluated by plain products, two for each; what rounding does to them is measured by `rounding` alone.
    """

    def __init__(self, formulation: Formulation, y: Array, *, listed: bool = False) -> None:
        self.formulation = formulation
        self.y = y
        self._kept = ListedRows(len(y)) if listed else GrowingRows(len(y), np.float64)
        self.centres = np.zeros(0)
        self._problem: Problem | None = None
        self._held: tuple[Array, Array] | None = None
        """The last weights and intercept that satisfied side constraints."""
        self.is_mended = False
        """True if the last point did not satisfy them, and was mixed with these if there were any."""

    @property
    def n_columns(self) -> int:
        return len(self.centres)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The shape of the scores of a sample."""
        return () if self.formulation.outputs is None else (self.formulation.outputs,)

    @property
    def rows(self) -> ListedRows:
        """The columns, less their centres, as rows (n_columns, n_samples), each in bytes or float64."""
        kept = self._kept
        return kept if isinstance(kept, ListedRows) else ListedRows(len(self.y), ((row, 1.0) for row in kept.values))

    @property
    def H(self) -> Array:
        """The columns, less their centres, shape (n_samples, n_columns); a copy where they are listed."""
        return self._kept.T if isinstance(self._kept, ListedRows) else self._kept.values.T

    @property
    def problem(self) -> Problem:
        if self._problem is None:
            self._problem = Problem(self.formulation, ColumnMap(self._first(self.n_columns)), self.y)
        return self._problem

    @property
    def size(self) -> float:
        """The least unit of relative gaps, which counts where both objectives are smaller."""
        return self.problem.size

    def _first(self, n_columns: int) -> Columns:
        """Return the first columns; few bytes as an array, whose products need nothing to be compiled."""
        if isinstance(self._kept, ListedRows) and n_columns * len(self.y) > WORTH_BYTES:
            return self._kept[:n_columns]
        return DenseColumns(self.H[:, :n_columns])

    def add(self, columns: Sequence[Column]) -> None:
        """Store columns, less their centres."""
        shifts = np.zeros(len(columns))
        # its view of the columns would have them copied
        self._problem = None
        for place, column in enumerate(columns):
            packed, unit = np.asarray(column.packed[0]), column.packed[1]
            if self.formulation.intercept:
                shifts[place] = centres(unit * np.array([[packed.min(), packed.max()]], np.float64))[0]
            if isinstance(self._kept, ListedRows) and not shifts[place]:
                self._kept.packed.append((packed, unit))
            else:
                self._kept.add((column.values - shifts[place])[np.newaxis])
        self.centres = np.append(self.centres, shifts)

    def shift(self, point: Point) -> Point:
        """Return a point for the columns less their centres: ``(w, b + c'w)``."""
        return {**point, "b": point["b"] + self.centres @ point["w"]} if "b" in point else point

    def balance(self, u: Array) -> Array:
        """Return multipliers with y'u = 0 to the last bit where there is an intercept."""
        return balance_exactly(u, self.y) if self.formulation.intercept else u

    def start(self) -> MasterSolution:
        """Return the point to price with before there is any column."""
        formulation, (loss, penalty), outputs = self.formulation, self.formulation.terms, self.outputs
        w, f = np.zeros((0, *outputs)), np.zeros((len(self.y), *outputs))
        b = loss.best_intercept(f, self.y) if formulation.intercept else np.zeros(outputs)
        z = self.y * (f + b)
        u = self.balance(loss.prove(loss.multipliers(z), self.y if formulation.intercept else None, z))
        objective = loss.value(z) if penalty.primal_violation(w) == 0 else np.inf
        threshold = penalty.threshold(w, np.zeros(0))
        # while nothing is feasible, any positive edge is a step towards it
        threshold = threshold if np.isfinite(objective) else min(threshold, 0.0)
        closed = np.zeros(0, dtype=bool) if formulation.nonnegative else None
        return MasterSolution(w, b, u, self.y * u, objective, threshold, closed, row_norm=penalty.row_norm)

    def widen(self) -> MasterSolution | None:
        """Return the point to price with where so few columns cannot have weights of the penalty's; else None.

        Caps on weights of a given sum ask for more columns, of which those that the loss asks for first are best.
        """
        penalty = self.formulation.terms[1]
        if not self.n_columns:
            return None
        w = penalty.repair(np.zeros((self.n_columns, *self.outputs)))
        if penalty.primal_violation(w) <= FEASIBLE:
            return None
        start = self.start()
        of_all = np.ones(self.n_columns, dtype=bool)
        return replace(start, w=w, objective=np.inf, threshold=-np.inf, excluded=of_all)

    def start_in_time(self) -> MasterSolution:
        """Return the point of `start` where there is time for it, else scores of 0, which prove nothing."""
        with suppress(TimeUp):
            return self.start()
        formulation, outputs = self.formulation, self.outputs
        w, b, u = np.zeros((0, *outputs)), np.zeros(outputs), np.zeros((len(self.y), *outputs))
        objective = inf
        with suppress(TimeUp):
            objective = formulation.terms[0].value(u) if formulation.terms[1].primal_violation(w) == 0 else inf
        closed = np.zeros(0, dtype=bool) if formulation.nonnegative else None
        return MasterSolution(w, b, u, u, objective, 0.0, closed)

    def evaluate(self, point: Point, *, rescale: bool = True) -> MasterSolution:
        """Repair a solver's point and evaluate it; the size of the weights stays unless they may be rescaled."""
        problem, balanced = self.problem, self.y if self.formulation.intercept else None
        point = self._hold(point)
        if "u" in point and problem.loss.is_searched:
            z = self.y * (problem.H.scores(point["w"]) + point.get("b", 0.0))
            point = {**point, "u": problem.loss.prove(point["u"], balanced, z)}
        elif "u" in point and self.formulation.intercept:
            # multipliers that are balanced from the start need no product of their own
            point = {**point, "u": self.balance(problem.loss.repair(point["u"], self.y))}
        found = problem.complete(point, Products(problem.linear_map, precise=False), rescale=rescale)
        w, u, edges = found.w, self.balance(found.u), found.edges
        # rounding of edges is as large
        if float(np.abs(u - found.u).sum()) > 1e-15 * u.size * float(np.abs(u).sum()):
            edges = problem.H.edges(self.y * u)
        threshold = problem.penalty.threshold(w, edges if self.formulation.nonnegative else np.abs(edges))
        closed = edges.min(axis=tuple(range(1, edges.ndim))) > 0 if self.formulation.nonnegative else None
        outside = found.b - self.centres @ w if self.centres.any() else found.b
        objective = self.formulation.sense * found.primal
        solution = MasterSolution(w, outside, u, self.y * u, objective, threshold, closed, centred=found.b)
        return replace(solution, edges=edges, row_norm=problem.penalty.row_norm)

    def _hold(self, point: Point) -> Point:
        """Return a solver's point moved to where side constraints hold exactly.

        What is too far from that is mixed with the last point where they did.
        """
        problem, loss = self.problem, self.problem.loss
        if not loss.is_searched:
            return point
        given = np.maximum(point["w"], 0.0) if self.formulation.nonnegative else point["w"]
        b = point.get("b", np.zeros(problem.outputs))

        def holds(w: Array, b: Array) -> bool:
            return loss.is_held(self.y * (problem.H.scores(w) + b))

        def hold(w: Array) -> tuple[Array, Array]:
            best = loss.model_violation is not None and self.formulation.intercept
            return problem.hold(w, loss.best_intercept(problem.H.scores(w), self.y) if best else b)

        w, b = hold(given)
        if not holds(w, b) and problem.penalty.least_sum == 0:
            # weights that are a solver's digits of 0 may be all that is in the way, and too small to move
            w, b = hold(np.where(np.abs(given) > 1e-8 * np.abs(given).max(initial=0.0), given, 0.0))
        self.is_mended = not holds(w, b)
        if not self.is_mended:
            self._held = w, b
        elif self._held is not None:
            w_before, b_before = self._held
            w_before = np.concatenate([w_before, np.zeros(len(w) - len(w_before))])
            low, high = 0.0, 1.0
            # to a billionth of the way
            for _ in range(30):
                middle = (low + high) / 2
                found = holds(w_before + middle * (w - w_before), b_before + middle * (b - b_before))
                low, high = (middle, high) if found else (low, middle)
            w, b = w_before + low * (w - w_before), b_before + low * (b - b_before)
        return {**point, "w": w, **({"b": b} if self.formulation.intercept else {})}

    def farkas(self, u: Array) -> MasterSolution:
        """Return an infeasible master's point: a hypothesis with a positive edge under u is a step to feasibility."""
        problem, y = self.problem, self.y
        loss, balanced = problem.loss, y if self.formulation.intercept else None
        # of constraints alone, without the loss itself
        domain = loss.domain(u.shape)
        u = self.balance(loss.repair(u, balanced) if domain is None else domain.prove(u, balanced).u)
        w, none = np.zeros(self.n_columns), np.zeros(self.n_columns, dtype=bool)
        threshold = edge_rounding(len(y), problem.H.largest) * float(u.sum())
        return MasterSolution(w, np.zeros(()), u, y * u, np.inf, threshold, none)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        return self.problem.bound(solution.u, self._summarise(solution.s, priced))

    def shrink(self, u: Array, priced: Priced) -> Array:
        """Return the multipliers at which the loss is bounded: u, made feasible for all that is priced."""
        return np.asarray(u * self.problem.penalty.shrink(self._summarise(self.y * u, priced)))

    def _summarise(self, s: Array, priced: Priced) -> Edges:
        def signed() -> tuple[Array, Array]:
            edges = self.problem.H.edges(s)
            return edges, np.zeros(edges.shape)

        def inside() -> Array:
            edges, _ = signed()
            return edges if self.formulation.nonnegative else np.abs(edges)

        return Edges(priced.edge_bound, priced.edge_square_sum, inside, priced.outside_bound, signed)

    def residuals(self, solution: MasterSolution, u: Array, priced: Priced) -> dict[str, float]:
        """Evaluate the KKT residuals of a master's weights with multipliers u, made feasible for all that is priced."""
        problem = Problem(self.formulation, ColumnMap(self._first(len(solution.w))), self.y)
        shrink = problem.penalty.shrink(Edges(priced.best_edge, priced.edge_square_sum))
        residuals = problem.residuals({"w": solution.w, "b": intercept_of(solution), "u": shrink * u})
        return {**residuals, "pricing slack": problem.penalty.pricing_slack(np.array([shrink * priced.best_edge]))}

    def margins(self, solution: MasterSolution) -> Array:
        """Evaluate the margins, or scores, of a solution over the first columns."""
        return self.y * (self._first(len(solution.w)).scores(solution.w) + intercept_of(solution))

    def rounding(self, incumbent: Incumbent) -> float:
        """Bound what rounding can have done to an incumbent's objective, and to its bound.

        The objective came from plain products; the same point is evaluated as precisely as possible, and what it lies
        above the objective counts as rounding. Where proofs are searched for, what the bound lies above the dual value
        at its multipliers does too: there may be another proof by now, whose rounding is not that of the first.
        """
        solution, sense = incumbent.solution, self.formulation.sense
        if not np.isfinite(solution.objective):
            return 0.0
        H, w = self._first(len(solution.w)), solution.w
        if not len(w):
            # a column of zeros stands for none
            H, w = DenseColumns(np.zeros((len(self.y), 1))), np.zeros((1, *w.shape[1:]))
        problem = Problem(self.formulation, ColumnMap(H), self.y)
        precise = problem.evaluate_at(w, intercept_of(solution), self.shrink(incumbent.u, incumbent.priced))
        off = max(sense * precise.primal - solution.objective, 0.0)
        off += max(0.0, incumbent.bound - sense * precise.dual) if self.formulation.terms[0].is_searched else 0.0
        return precise.rounding + off + ROUNDING * abs(solution.objective)


def intercept_of(solution: MasterSolution) -> Array:
    """Return the intercept of a solution for columns less their centres."""
    return solution.b if solution.centred is None else solution.centred


def stack_dual(formulation: Formulation, y: Array, scale: float | Array = 1.0) -> Stack:
    """Return the linear dual of a formulation's loss as variables of a program; `scale` is that of side constraints."""
    dual = formulation.terms[0].linear_dual
    assert dual is not None
    return dual.stack(y, centre=formulation.on_scores and formulation.intercept, scale=scale)


@dataclass(frozen=True)
class Needs:
    """Capabilities of a loss and a penalty, and settings of the formulation, that a master can work with."""

    loss: str  # the attribute that the loss must have
    penalty: str
    nonnegative: bool | None = None  # None: either will do
    intercept: bool | None = None
    several: bool | None = None

    def find_missing(self, formulation: Formulation) -> str:
        """Return what keeps the formulation from being solved this way, empty if nothing does."""
        missing = []
        for term, name in zip(formulation.terms, (self.loss, self.penalty), strict=True):
            # what a term declares and does not have is None
            if getattr(term, name, None) is None:
                missing.append(f"{type(term).__name__} has no `{name}`")
        given = {"nonnegative": formulation.nonnegative, "intercept": formulation.intercept}
        for (name, is_so), wanted in zip(given.items(), (self.nonnegative, self.intercept), strict=True):
            if wanted not in {None, is_so}:
                missing.append(f"{name} is not {wanted}")
        if self.several not in {None, formulation.outputs is not None}:
            missing.append(f"outputs is {formulation.outputs}")
        return " and ".join(missing)


class FastMaster:
    """A master for formulations whose terms have certain capabilities."""

    listed: ClassVar[bool] = False  # where it takes products with its columns alone, these are kept as they came
    needs: ClassVar[tuple[Needs, ...]] = ()  # the alternatives; none: it takes every formulation
    least_samples: ClassVar[int] = 0  # on smaller samples another master is faster

    def __init__(self, formulation: Formulation, y: Array) -> None:
        if not self.supports(formulation):
            missing = "; or ".join(need.find_missing(formulation) for need in self.needs)
            found = f"found {type(self).__name__} for {formulation}, but {missing}"
            raise InvalidInput("master", found, "give terms that have it; or use CvxpyMaster")
        self.restricted = Restricted(formulation, y, listed=self.listed)
        # the attributes of the two terms depend on what they can, so no type says what they are
        self.loss: Any
        self.penalty: Any
        self.loss, self.penalty = formulation.terms

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        return not cls.needs or any(not need.find_missing(formulation) for need in cls.needs)

    def add(self, columns: Sequence[Column]) -> None:
        self.restricted.add(columns)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        return self.restricted.bound(solution, priced)


@dataclass(frozen=True)
class Fastest:
    """Makes the fastest master that supports a formulation, out of some in order of speed.

    Where it cannot be imported, as HiGHS beside ortools, the next one answers, with a SolverFallbackWarning.
    """

    masters: tuple[type[Any], ...]  # classes of masters, of which the last one takes any formulation

    def __call__(self, formulation: Formulation, y: Array) -> Master:
        formulation = formulation.read(y)
        # two hinges a sample, as of absolute errors, pull both ways: bases change more often, from 300 samples on
        dual = formulation.terms[0].linear_dual
        share = 0.3 if dual is not None and len(dual.hinges) > 1 else 1.0
        for first in self.masters:
            if len(y) >= share * first.least_samples and first.supports(formulation):
                break
        try:
            return first(formulation, y)
        except ImportError as error:
            other = next(kind for kind in self.masters if kind is not first and kind.supports(formulation))
            warn(f"{error}; {other.__name__} answers instead of {first.__name__}", SolverFallbackWarning, stacklevel=3)
            return other(formulation, y)


class InexactTolerance:
    """The relative gap to which each round's restricted problem is solved (inexact column generation).

    Until the columns are good, their exact weights are not wanted: a share of what the last columns found can gain at
    most, which the penalty's conjugate says, will do, and the run's own tolerance plays no part. So a run goes the same
    way to any tolerance. A solution counts as exact at a gap of `tol`; a share of 0 is for exact ones in every round.
    """

    def __init__(self, penalty: Penalty, tol: float, share: float) -> None:
        self.penalty = penalty
        self.tol = validation.positive("tol", tol)
        if not 0 <= validation.number("share", share) < 1:
            raise InvalidInput("share", f"found {share!r}", "give a number from 0 up to, but below, 1")
        self.share = share
        self.n_columns = 0
        self.gap = 0.0
        self.n_found = 0
        self.last = self.tol

    def next(self, n_columns: int) -> float:
        """Return the gap that is allowed now; asked again with nothing new, it is smaller."""
        new = n_columns - self.n_columns
        limit = FINE * self.last if new == 0 else FINE if new > self.n_found else COARSE
        self.n_columns, self.last = n_columns, max(self.tol, min(self.share * self.gap, limit))
        return self.last

    @property
    def is_exact(self) -> bool:
        """True if the last one was `tol`."""
        return self.last == self.tol

    def learn(self, solution: MasterSolution, priced: Priced) -> None:
        """Take in what the columns found under a solution can gain beyond its own gap."""
        edges = [column.edge for column in priced.columns]
        self.n_found = len(edges)
        gain = self.penalty.conjugate(Edges(priced.best_edge, sum(edge**2 for edge in edges)))
        self.gap = relative_gap(solution.objective, (1 - self.last) * solution.objective - gain)
