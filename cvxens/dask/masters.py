"""The master over shards: Newton's method on exact sums, whose vectors over samples stay where the samples are.

It is a proximal Newton method as those of one machine: for a smooth loss, or for a smooth neighbour of the hinge that
comes nearer and nearer, `InteriorHinge`, with an l1 or a squared l2 penalty. A step needs two questions to the shards.
The first asks for the loss, for the edges of the columns and for its curvature, by pairs of features; from these the
quadratic model is made here, and minimised as there, by `RowPenalty`. The second tries several lengths at a time. What
a shard is told is a vote, that is, O(n_columns) numbers, and the answers are O(n_columns^2) whole ones.

**The last digits.** Near the optimum of the hinge most samples are settled: their multipliers are their prices below a
margin of 1, and 0 above. In doubt are those whose margins are nearly 1, cell by cell (`votes.Doubt`). The dual program
over their cells, with the others fixed, has few variables however large the sample is. With an l1 penalty it is linear,
and solved by the simplex method of one machine. With squared weights these are as good as known, being the edges, and
what is left are linear equations. Where a sample had to be in doubt that was not, the gap shows it, and then more of
them are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from cvxens.certificates import ROUNDING
from cvxens.colgen.masters.linear_masters import LiveProgram
from cvxens.colgen.masters.newton_masters import SHARPER, WIDEST
from cvxens.colgen.protocols import Column, Incumbent, MasterSolution, Priced, relative_gap
from cvxens.colgen.restricted import Needs
from cvxens.dask.shards import Shard, ShardedSample, combine_extremes
from cvxens.dask.tallies import add, join, to_float
from cvxens.dask.votes import (
    Doubt,
    InteriorHinge,
    Multipliers,
    ShardEvaluation,
    Vote,
    VotedStumps,
    choose_reach,
    count_margins,
    evaluate_shard,
    exponent_of,
    find_shares,
    find_slackness,
    measure_along,
    name_cells,
    of_shard,
    sum_dual,
    sum_edges,
    sum_losses,
    sum_of_classes,
    sum_slopes,
)
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.features import Codes, Ints
from cvxens.hypotheses import Hypothesis
from cvxens.limits import Pace
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Hinge, SumOverSamples
from cvxens.problems.maps import LinearMap
from cvxens.rounding import EPSILON, TINY
from cvxens.solvers.newton import RowPenalty
from cvxens.types import Array, Indices, Mask

NEAR = 0.5
"""The share of the gap that is allowed which the neighbour's distance may take."""

LOOSE = 0.3
"""The share of the outer gap down to which the restricted problem is solved: exact weights are not wanted yet."""

STEPS = np.array([1.0, 0.8, 0.6, 0.45, 0.3, 0.2, 0.12, 0.06, 0.03, 0.01, 1e-3, 1e-4])
"""The lengths that are tried at a time, of which the best is taken."""


@dataclass(frozen=True)
class Start:
    """Weights to begin with, and the distance of the hinge's neighbour at which they were found."""

    hypotheses: tuple[Hypothesis, ...]
    w: Array  # (n_hypotheses,)
    b: float
    distance: float

    def among(self, oracle: Any) -> Start:
        """Return the start with those alone that have a weight and are hypotheses of an oracle."""
        used = [j for j in np.flatnonzero(self.w).tolist() if self.hypotheses[j] in oracle]
        return replace(self, hypotheses=tuple(self.hypotheses[j] for j in used), w=self.w[used])


@dataclass(frozen=True, eq=False)
class MasterState:
    """A point of the restricted problem, its multipliers, and what the shards say of them."""

    w: Array
    b: float
    u: Multipliers
    found: ShardEvaluation
    exponent: int  # of curvatures
    value: float  # of loss and penalty
    smoothed: float  # of the neighbour and penalty
    distance: float  # what the multipliers miss complementarity by, as they are the neighbour's
    edges: Array  # of the columns under the balanced multipliers
    bound: float  # over the columns


@dataclass(frozen=True, eq=False)
class Solved:
    """Weights with their objective, and balanced multipliers with the edges of the columns and their bound."""

    w: Array
    b: float
    value: float
    u: Multipliers
    edges: Array
    bound: float

    @property
    def gap(self) -> float:
        """The relative gap between the two."""
        return relative_gap(self.value, self.bound)


class ShardedRestricted:
    """The restricted problem over shards: it evaluates points, their rounding errors and residuals.

    It stands for `cvxens.colgen.restricted.Restricted` where no machine has all rows.
    """

    def __init__(self, formulation: Formulation, sample: ShardedSample) -> None:
        self.formulation, self.sample = formulation, sample
        self.loss: Any
        self.penalty: Any
        self.loss, self.penalty = formulation.terms
        self.columns: tuple[Column, ...] = ()
        self.stumps = VotedStumps.from_hypotheses((), sample)

    def add(self, columns: Sequence[Column]) -> None:
        """Add columns to those that the problem is over."""
        self.columns += tuple(columns)
        self.stumps = VotedStumps.from_hypotheses([column.hypothesis for column in self.columns], self.sample)

    @property
    def total_price(self) -> float:
        """The sum of the prices of all samples."""
        return float(self.loss.C) * self.sample.total_weight

    @property
    def size(self) -> float:
        """The least unit of relative gaps, which counts where both objectives are smaller; stumps are -1 and 1."""
        return self.formulation.find_size(1.0)

    def among(self, n_columns: int) -> VotedStumps:
        """Return the first columns as stumps."""
        if n_columns == len(self.columns):
            return self.stumps
        return VotedStumps.from_hypotheses([column.hypothesis for column in self.columns[:n_columns]], self.sample)

    def bound(self, u: Any, edges: Edges) -> float:
        """Bound the optimum from multipliers and what is known of the edges of all hypotheses."""
        loss = to_float(self.sample.map_reduce(sum_dual, u, self.loss, self.penalty.shrink(edges)))
        return loss - self.penalty.conjugate(edges)

    def shrink(self, u: Multipliers, priced: Priced) -> Multipliers:
        """Return the multipliers that the bound is about."""
        factor = self.penalty.shrink(Edges(priced.edge_bound, priced.edge_square_sum))
        return replace(u, factors=(factor * u.factors[0], factor * u.factors[1]))

    def margins(self, solution: MasterSolution) -> Array:
        """Return nothing: no formulation that is solved over shards has own variables that ask for the margins."""
        return np.zeros(0)

    def residuals(self, solution: MasterSolution, u: Multipliers, priced: Priced) -> dict[str, float]:
        """Evaluate the KKT residuals of a solution's weights with multipliers u, feasible for all that is priced."""
        factor = self.penalty.shrink(Edges(priced.best_edge, priced.edge_square_sum))
        stumps, w = self.among(len(solution.w)), solution.w
        of_classes, totals = self.sample.map_reduce(sum_edges, u, stumps.places)
        edges = factor * stumps.edges(of_classes, totals, u.exponent)
        asked = find_slackness, stumps.vote(w, float(solution.b)), u, self.loss, factor
        slackness = self.sample.map_reduce(*asked, combine=combine_extremes)
        imbalance = abs(int(totals.sum())) / max(int(totals[1] - totals[0]), 1)
        stationarity = LinearMap.measure_stationarity(self.penalty, w, w, edges, self.formulation.nonnegative)
        return {
            "primal feasibility": self.penalty.primal_violation(w),
            "dual feasibility": imbalance if self.formulation.intercept else 0.0,
            "complementary slackness": float(slackness[0]) / min(float(slackness[1]), -TINY),
            "stationarity": stationarity,
            "pricing slack": self.penalty.pricing_slack(np.array([factor * priced.best_edge])),
        }

    def rounding(self, incumbent: Incumbent) -> float:
        """Bound what rounding can have done to an incumbent's objective and to the dual value at its u.

        Edges are exact. A score is a sum of at most one term for each feature and of a running sum of the weights; each
        loss and dual value is off by a few roundings of its own size; and a balance y'u = 0 that is missed by d units
        is made good by moving multipliers by d together.
        """
        solution, priced, cap = incumbent.solution, incumbent.priced, self.loss.cap
        u: Any = incumbent.u
        terms = 2 * len(solution.w) + self.sample.shape[1] + 4
        off = terms * EPSILON * (float(np.abs(solution.w).sum()) + abs(float(solution.b)))
        _, totals = self.sample.map_reduce(sum_edges, u, self.stumps.places)
        size = u.real(totals[1] - totals[0])
        # losses fall by at most their prices a unit; others by their multipliers, and more a little further on
        slope = cap * self.total_price if cap < inf else 2 * size + off * self.total_price
        missed = u.real(abs(totals.sum())) if self.formulation.intercept else 0.0
        dual = abs(self.bound(u, Edges(priced.edge_bound, priced.edge_square_sum)))
        magnitude = dual + size
        of_bound = 16 * EPSILON * magnitude + missed * (1 + magnitude / max(size, EPSILON))
        return 2 * off * slope + of_bound + ROUNDING * abs(solution.objective)


class ShardedMaster:
    """A smooth loss, or the hinge, with an l1 or a squared l2 penalty over shards; warm-started from the last weights.

    Parameters
    ----------
    formulation : Formulation
        A loss that is a sum over samples and has a `curvature`, or the hinge, of one price for all samples, with an l1
        or a squared l2 penalty.
    sample : ShardedSample
        The sample, whose weights multiply the price.
    start : Start, optional
        The weights that its hypotheses have when they are added, first of all.
    """

    source = "Nesterov 2005; Lee, Sun & Saunders 2014"
    needs = tuple(Needs(loss, penalty) for loss in ("curvature", "linear_dual") for penalty in ("edge_limit", "ridge"))

    def __init__(self, formulation: Formulation, sample: ShardedSample, *, start: Start | None = None) -> None:
        check_formulation_over_shards(formulation)
        self.formulation, self.sample = formulation, sample
        self.restricted = ShardedRestricted(formulation, sample)
        self.loss, self.penalty = self.restricted.loss, self.restricted.penalty
        self.gap, self.own_gap, self.n_solved = inf, inf, -1
        self.limit, self.ridge = self.penalty.edge_limit or 0.0, self.penalty.ridge or 0.0
        self.w, self.b, self.value, self.distance = np.zeros(0), 0.0, inf, WIDEST
        self.start = start
        self.is_kinked = isinstance(self.loss, Hinge)

    def add(self, columns: Sequence[Column]) -> None:
        """Add columns to the model."""
        self.restricted.add(columns)
        new = np.zeros(len(columns))
        if self.start is not None:
            # those that a checkpoint has found since have none
            n_known = min(len(new), len(self.start.w))
            new[:n_known] = self.start.w[:n_known]
            self.b, self.distance, self.start = self.start.b, self.start.distance, None
        self.w = np.append(self.w, new)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next round is allowed a share of the gap."""
        bound = self.restricted.bound(solution.u, Edges(priced.edge_bound, priced.edge_square_sum))
        self.gap = relative_gap(solution.objective, bound)
        return bound

    def solve(self) -> MasterSolution:
        """Solve over the columns added so far."""
        # asked again with nothing new, it is to do better
        gap = self.gap if len(self.w) > self.n_solved else min(self.gap, self.own_gap)
        tol = max(1e-10, min(LOOSE, LOOSE * gap))
        has_kinks = self.is_kinked and len(self.w) > 0
        # a vertex has weights of its own; with squared weights they are to be known as closely as steps get
        # from a gap of a millionth on the vertex of a linear program is looked for
        found = self.minimise(max(tol, 1e-6) if has_kinks and not self.ridge else tol)
        if has_kinks and found.gap > tol:
            found = self._cross_over(found, tol)
        if found.gap > tol and not self.ridge:
            better = self.minimise(tol)
            found = better if better.gap < found.gap else found
        exact = found.gap <= 1e-10 or (len(self.w) == self.n_solved and found.gap >= self.own_gap)
        self.own_gap, self.n_solved = found.gap, len(self.w)
        nonnegative, edges = self.formulation.nonnegative, found.edges
        threshold = self.penalty.threshold(found.w, edges if nonnegative else np.abs(edges))
        closed = edges > 0 if nonnegative else None
        u: Any = found.u
        b, value = np.asarray(found.b), found.value
        return MasterSolution(found.w, b, u, u, value, threshold, closed, exact=exact, edges=edges)

    def minimise(self, tol: float) -> Solved:
        """Step until the gap is allowed, narrowing the width where that keeps it; returns the best of either side."""
        pace, n, price = Pace(), len(self.sample), self.restricted.total_price
        if self.is_kinked and tol < inf and len(self.w) > self.n_solved and self.n_solved > 0:
            # new columns move scores further than the last steps did
            self.distance = max(self.distance, min(WIDEST, NEAR / 2 * tol * self.value / price))
        at = self._evaluate(self.w, self.b)
        over = under = at
        idle, is_settled = 0, False
        for _ in range(200):
            is_idle = is_settled and at.value >= over.value and at.bound <= under.bound
            idle = idle + 1 if is_idle else 0
            over, under = (at if at.value <= over.value else over), (at if at.bound >= under.bound else under)
            # after settled steps in succession that made neither side better there is nothing more
            if over.value - under.bound <= tol * abs(over.value) or idle > 3 or not pace.allows_step():
                break
            v, b, slope = self._model(at)
            allowed = tol * abs(over.value)
            # a step that promises less than half of what one sample of mean price misses complementarity by: there
            # Newton's method converges by itself (self-concordance)
            is_settled = self.is_kinked and -slope <= at.distance / (2 * n)
            # further steps at the same distance would gain little: 7 to 33 % fewer on 20,000 and 50,000 samples
            is_near = self.is_kinked and at.value - at.bound <= 4 * at.distance
            if (is_settled or is_near) and at.distance > NEAR * allowed:
                self.distance = max(SHARPER * self.distance, NEAR / 2 * allowed / price)
                at = self._evaluate(at.w, at.b)
                continue
            ahead = self._evaluate(v, b)
            # where steps are settled objectives may differ by their rounding alone, but gradients do not
            if not (is_settled or ahead.smoothed <= at.smoothed + 0.1 * slope):
                step = self._line_search(at, v - at.w, b - at.b)
                if not step:
                    break
                ahead = self._evaluate(at.w + step * (v - at.w), at.b + step * (b - at.b))
            at = ahead
        # the last point is central, and so the better start
        self.w, self.b, self.value = at.w, at.b, over.value
        u, edges, _ = self._balance(under.u, under.found.of_classes, under.found.totals)
        return Solved(over.w, over.b, over.value, u, edges, under.bound)

    def _cross_over(self, near: Solved, tol: float) -> Solved:
        """Return an optimum found from the samples in doubt at a point near it; the best of several, or the point."""
        stumps, sample, best = self.restricted.stumps, self.sample, near
        vote, exponent = near.u.vote, exponent_of(self.restricted.total_price)
        # a vertex has no more samples in doubt than one for each column
        counts, wanted = sample.map_reduce(count_margins, vote), 2 * len(self.w) + 50
        for _ in range(6):
            reach = max(choose_reach(counts, wanted), UNDECIDED * near.u.loss.d)
            split = sample.map_reduce(split_samples, vote, self.loss, reach, exponent, combine=combine_splits)
            if len(split.cells.keys) > MOST_CELLS:
                break
            program = DualProgram(split, stumps, exponent, self.limit, self.ridge, self.formulation.intercept)
            try:
                vertex = program.solve(near.w, near.b, near.u.loss.d, reach, nonnegative=self.formulation.nonnegative)
            except SolverFailed:
                # with too few in doubt nothing may be feasible
                wanted *= 4
                continue
            for doubt in vertex.doubts:
                found = self._evaluate_vertex(vertex.w, vertex.b, vote, doubt)
                best = found if found.gap < best.gap else best
                if best.gap <= tol:
                    return best
            if reach == inf:
                break
            wanted *= 4
        return best

    def _evaluate_vertex(self, w: Array, b: float, vote: Vote, doubt: Doubt) -> Solved:
        """Evaluate weights, and multipliers that follow from a vote near them."""
        stumps, exponent = self.restricted.stumps, exponent_of(self.restricted.total_price)
        u = Multipliers(vote, self.loss, (1.0, 1.0), exponent, doubt)
        value = to_float(self.sample.map_reduce(sum_losses, stumps.vote(w, b), self.loss)) + self.penalty.value(w)
        u, edges, totals = self._balance(u, *self.sample.map_reduce(sum_edges, u, stumps.places))
        bound = self._bound_inside(edges, u, u.real(totals[1] - totals[0]))
        return Solved(w, b, value, u, edges, bound)

    def _evaluate(self, w: Array, b: float) -> MasterState:
        """Ask the shards for all that a step needs."""
        price = self.restricted.total_price
        smooth: Any = InteriorHinge(self.loss.C, self.distance) if self.is_kinked else self.loss
        vote = self.restricted.stumps.vote(w, b)
        of_u, of_curvature = price, price / (8 * self.distance)
        if not self.is_kinked:
            # bounds on the sums of multipliers and curvatures: those of rounded entries are no larger than twice these
            sums = self.sample.map_reduce(sum_slopes, vote, self.loss)
            of_u, of_curvature = (2 * to_float(each) for each in sums)
        u = Multipliers(vote, smooth, (1.0, 1.0), exponent_of(of_u))
        exponent = exponent_of(of_curvature)
        found = ShardEvaluation(*self.sample.map_reduce(evaluate_shard, u, self.loss, exponent))
        value, smoothed, distance = (to_float(each) for each in (found.value, found.smoothed, found.distance))
        factors = self._balancing(found.totals)
        totals = np.array(factors) * found.totals
        edges = self.restricted.stumps.edges(np.array(factors)[:, np.newaxis] * found.of_classes, totals, u.exponent)
        bound = self._bound_inside(edges, replace(u, factors=factors), u.real(totals[1] - totals[0]))
        of_penalty = self.penalty.value(w)
        return MasterState(w, b, u, found, exponent, value + of_penalty, smoothed + of_penalty, distance, edges, bound)

    def _balancing(self, totals: Ints) -> tuple[float, float]:
        """Return the factors that take the heavier class to the lighter one, where there is an intercept."""
        negative, positive = np.abs(totals).tolist()
        if not self.formulation.intercept or not min(negative, positive):
            return 1.0, 1.0
        light = min(negative, positive)
        return light / negative, light / positive

    def _bound_inside(self, edges: Array, u: Multipliers, total: float) -> float:
        """Bound the optimum over the columns so far; without a question where the dual value is the sum of u."""
        sizes = edges if self.formulation.nonnegative else np.abs(edges)
        known = Edges(float(sizes.max(initial=0.0)), float(edges @ edges))
        if self.is_kinked:
            return self.penalty.shrink(known) * total - self.penalty.conjugate(known)
        return self.restricted.bound(u, known)

    def _model(self, at: MasterState) -> tuple[Array, float, float]:
        """Minimise the quadratic model; returns weights, intercept and the slope of the objective on the way there."""
        stumps, found = self.restricted.stumps, at.found
        signed = stumps.edges(found.of_classes, found.totals, at.u.exponent)
        B = stumps.gram(found.curvatures, found.pairs, int(found.curvature), at.exponent)
        pull = np.array([at.u.real(found.totals.sum())]) if self.formulation.intercept else None

        def differentiate(j: Indices, _: Indices) -> Array:
            kept = np.append(j, len(at.w)) if pull is not None else j
            return np.ascontiguousarray(B[np.ix_(kept, kept)])

        penalty = RowPenalty(self.limit, self.ridge / 2, False, self.formulation.nonnegative)
        W, b = at.w[:, np.newaxis], np.array([at.b])
        d, db, slope, _ = penalty.minimise_model(W, b, signed[:, np.newaxis], pull, differentiate)
        return at.w + d[:, 0], float(at.b + db[0]), slope

    def _line_search(self, at: MasterState, d: Array, db: float) -> float:
        """Return the step of some that decreases the smoothed objective most; 0 if none does."""
        change = self.restricted.stumps.vote(d, db)
        values = self.sample.map_reduce(measure_along, at.u.vote, change, STEPS, at.u.loss)
        pairs = zip(STEPS, values, strict=True)
        objectives = [to_float(value) + self.penalty.value(at.w + step * d) for step, value in pairs]
        best = int(np.argmin(objectives))
        return float(STEPS[best]) if objectives[best] < at.smoothed else 0.0

    def _balance(self, u: Multipliers, of_classes: Ints, totals: Ints) -> tuple[Multipliers, Array, Ints]:
        """Return multipliers, balanced where there is an intercept, with the edges of the columns and their totals."""
        stumps, factors = self.restricted.stumps, self._balancing(totals)
        if factors != (1.0, 1.0):
            u = replace(u, factors=factors)
            of_classes, totals = self.sample.map_reduce(sum_edges, u, stumps.places)
        return u, stumps.edges(of_classes, totals, u.exponent), totals


def check_formulation_over_shards(formulation: Formulation) -> None:
    """Raise unless the master over shards can work with a formulation."""
    loss: Any
    loss, penalty = formulation.terms
    is_known = isinstance(loss, SumOverSamples) and (loss.curvature is not None or isinstance(loss, Hinge))
    if not is_known or all(need.find_missing(formulation) for need in ShardedMaster.needs):
        found = f"found {type(loss).__name__} and {type(penalty).__name__}"
        remedy = "give the hinge or a smooth sum over samples with an l1 or a squared l2 penalty; or fit on one machine"
        raise InvalidInput("formulation", found, remedy)
    if formulation.outputs is not None or formulation.on_scores:
        raise InvalidInput("formulation", "found one on scores", "give a loss on the margins of two classes")
    if np.ndim(loss.C):
        found, remedy = "found prices of the samples", "give one price, and the prices as sample_weight"
        raise InvalidInput("formulation", found, remedy)


UNDECIDED = 1e4
"""In units of the distance of the hinge's neighbour how far margins are in doubt: there shares are 1e-4 from 0 or 1."""

MOST_CELLS = 50_000
"""Cells in doubt beyond which a vertex is not looked for: seconds of the simplex method, and megabytes of answers."""


class DoubtfulCells(NamedTuple):
    """Cells of samples in doubt."""

    keys: Ints  # (n_cells,), ascending
    codes: Codes  # (n_features, n_cells), the cells of the features
    y: Array  # (n_cells,)
    z: Array  # (n_cells,), the margins
    prices: Ints  # (n_cells,), the sums of the prices of their samples, in units


class Split(NamedTuple):
    """What a sample is in two: the samples in doubt, and the sums of the multipliers of the others."""

    of_classes: Ints  # (2, n_cells), signed, of either class by the cells of the features
    totals: Ints  # (2,)
    cells: DoubtfulCells


class Vertex(NamedTuple):
    """A solution of the program over samples in doubt, with multipliers that are optimal beside it, the best first."""

    w: Array
    b: float
    doubts: tuple[Doubt, ...]


def split_samples(shard: Shard, vote: Vote, loss: object, reach: float, exponent: int) -> Split:
    """Split the rows of a shard by their margins."""
    codes, z = vote.margins(shard)
    prices = np.ldexp(of_shard(loss, shard).C, -exponent).astype(np.int64)
    near = np.abs(z - 1) <= reach
    signed = np.where(near | (z >= 1), 0, prices) * shard.y.astype(np.int64)
    own, y = np.ascontiguousarray(codes[:, near]), shard.y[near]
    cells = gather(DoubtfulCells(name_cells(own, y), own, y, z[near], prices[near]))
    return Split(*sum_of_classes(codes, vote.places.cells, signed), cells)


def gather(cells: DoubtfulCells) -> DoubtfulCells:
    """Return cells of which some may have the same key with one of each, its price their sum."""
    keys, first, inverse = np.unique(cells.keys, return_index=True, return_inverse=True)
    prices = np.zeros(len(keys), np.int64)
    np.add.at(prices, inverse, cells.prices)
    return DoubtfulCells(keys, cells.codes[:, first], cells.y[first], cells.z[first], prices)


def combine_splits(parts: Sequence[Split]) -> Split:
    """Return what several shards are in two."""
    of_classes, totals, cells = zip(*parts, strict=True)
    return Split(add(of_classes), add(totals), gather(DoubtfulCells._make(join(cells))))


class DualProgram:
    """The program over the multipliers of the cells in doubt, while the others' are fixed.

    With an l1 penalty it is ``max sum u``, no edge above the limit; with squared weights ``max sum u - |edges|^2 / (2
    ridge)``. Variables are in units of the largest price of a cell.
    """

    def __init__(
        self, split: Split, stumps: VotedStumps, exponent: int, limit: float, ridge: float, intercept: bool
    ) -> None:
        self.cells, self.intercept = split.cells, intercept
        unit = float(max(split.cells.prices.max(initial=0), 1))
        self.caps, self.settled = self.cells.prices / unit, float(split.totals[1] - split.totals[0]) / unit
        # what shares are of, also where nothing is
        self.divisors = np.where(self.caps > 0, self.caps, 1.0)
        self.most, self.ridge = (each / float(np.ldexp(unit, exponent)) for each in (limit, ridge))
        balance = int(split.totals.sum())
        # edges of the columns: of the cells, and of what is settled; behind them the balance, the edge of a constant
        self.rows = np.vstack([stumps.evaluate(self.cells.codes), np.ones(len(self.caps))]) * self.cells.y
        self.given = np.append(stumps.edges(split.of_classes, split.totals, 0), balance) / unit

    def solve(self, near: Array, b: float, d: float, reach: float, *, nonnegative: bool) -> Vertex:
        """Solve it, given weights and an intercept near the optimum of the hinge's neighbour at distance d."""
        shares = find_shares(self.cells.z, d)
        if self.ridge:
            # edges are ridge times weights, those of weights that are 0 by their sign perhaps less
            used = np.append((near != 0) | (not nonnegative), self.intercept)
            found = [self._find_central(shares, used, np.append(self.ridge * near, 0.0))]
            w = near
        else:
            v, w, b = self._solve_linear(nonnegative)
            # by complementary slackness: off the kink shares are 0 or 1, and columns of a weight, here or near the
            # optimum, are at the limit, no other above it
            z = self.rows.T @ np.append(w, b)
            # by as much the simplex method may miss the kink
            shares = np.where(z < 1 - 1e-9, 1.0, np.where(z > 1 + 1e-9, 0.0, shares))
            sides = np.sign(np.where(w != 0, w, near))
            used = np.append(sides != 0, self.intercept)
            # a vertex has few shares that are neither 0 nor 1, and prices badly
            found = [self._find_central(shares, used, np.append(self.most * sides, 0.0)), v / self.divisors]
        return Vertex(w, b, tuple(Doubt(reach, self.cells.keys, np.clip(own, 0.0, 1.0)) for own in found))

    def _solve_linear(self, nonnegative: bool) -> tuple[Array, Array, float]:
        """Solve the linear program by the simplex method; returns multipliers, weights and intercept."""
        m = len(self.caps)
        # the last variable, fixed at 1, stands for what is settled
        fixed = np.append(np.zeros(m), 1.0), np.append(self.caps, 1.0)
        program = LiveProgram(np.append(-np.ones(m), -self.settled), *fixed)
        lines = np.column_stack([self.rows, self.given])
        for line in lines[:-1]:
            program.add_row(-inf if nonnegative else -self.most, line, self.most)
        if self.intercept:
            program.add_row(0.0, lines[-1], 0.0)
        v, multipliers = program.solve()
        # weights are minus the multipliers of the edges, the intercept minus that of the balance
        n_columns = len(lines) - 1
        w, b = -multipliers[:n_columns], float(-multipliers[n_columns:].sum())
        return v[:-1], np.maximum(w, 0.0) if nonnegative else w, b

    def _find_central(self, shares: Array, used: Mask, wanted: Array) -> Array:
        """Return the shares nearest to given ones, in units of the room beside these, whose edges are those wanted."""
        room = np.minimum(shares, 1 - shares) * self.caps
        missing = (wanted - self.given - self.rows @ (shares * self.caps))[used]
        step = np.linalg.lstsq(self.rows[used] * room, missing, rcond=None)[0]
        return shares + room * step / self.divisors
