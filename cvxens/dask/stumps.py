"""Decision stumps over all shards as an exact oracle: bins first, then finer parts of those that could hold the best.

The edges at the ends of bins follow from one histogram of the signed weights. Inside a bin an edge can be larger than
at its ends by no more than the weights of one sign there, which the histogram says too: bins where that is less than
the best edge known are done. The others are cut into parts, and so on until nothing is left that could win. So the
answer is that of a scan of all sorted samples, and the traffic does not grow with the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from cvxens.colgen.oracles.bins import BinnedOracle
from cvxens.colgen.oracles.pool import Votes
from cvxens.colgen.protocols import Priced
from cvxens.dask.shards import Shard, ShardedSample, combine_extremes
from cvxens.dask.tallies import Places, add, combine_each, find_extremes, sum_by_cells
from cvxens.dask.votes import BITS, Multipliers, VotedStumps, exponent_of, read_weights, sum_edges
from cvxens.errors import InvalidInput
from cvxens.features import N_BINS, Ints, find_middles, find_quantiles, sum_before
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.rounding import EPSILON
from cvxens.types import Array, Labels
from cvxens.validation import number, whole

CELLS = 2**17
"""Ranges times parts that are asked for at a time, where more ranges are to be cut: 4 MB of sums and extremes."""


@dataclass(frozen=True, eq=False)
class Segments:
    """Runs of values of features, feature by feature and ascending, with the sums of weights in them.

    All samples are in the segments of any feature. A stump is known where one segment ends and the next one of its
    feature begins; it is named by the second of the two. Those inside of a segment are not, unless it is cut.
    """

    feature: Ints  # (n_segments,)
    low: Array  # the least value in each
    high: Array
    positive: Ints  # the sum of the weights above 0
    negative: Ints

    @classmethod
    def of_bins(cls, sample: ShardedSample, weights: Any) -> Segments:
        """Return the bins of a sample that hold rows, with the sums of their weights."""
        sums = weights.ask(sample, sum_by_bins).reshape(2, *sample.low.shape)
        return cls.from_sums(np.arange(sample.shape[1]), sums, sample.low, sample.high)

    @classmethod
    def from_sums(cls, feature: Ints, sums: Ints, low: Array, high: Array) -> Segments:
        """Return the segments that hold samples, of arrays with a row for each run of segments of one feature."""
        held = low <= high
        of_feature = np.broadcast_to(feature[:, np.newaxis], low.shape)
        return cls(of_feature[held], low[held], high[held], sums[0][held], sums[1][held])

    def refine(self, choose: Callable[[Segments], Ints], sample: ShardedSample, weights: Any) -> Segments:
        """Cut the segments that are chosen, and what is chosen of the parts, until nothing is."""
        segments = self
        while len(chosen := choose(segments)):
            segments = segments.cut(chosen, sample, weights)
        return segments

    def cut(self, chosen: Ints, sample: ShardedSample, weights: Any) -> Segments:
        """Return the segments with parts of the chosen ones in their place, with the sums of the weights in each."""
        feature, low, high = self.feature[chosen], self.low[chosen], self.high[chosen]
        # a part is from one place to the next; the last place is behind the segment
        places = np.column_stack([low, choose_cuts(low, high), np.nextafter(high, inf)])
        placed = sample.place([places[feature == j].ravel() for j in range(sample.shape[1])])
        combine = partial(combine_each, (add, combine_extremes))
        sums, extremes = weights.ask(sample, sum_by_parts, placed, combine=combine)
        # the first cell of a feature is before its first place; each other one begins at a place, and what begins at
        # the last place of a segment is between it and the next
        at_places = np.delete(np.arange(placed.cells[-1]), placed.cells[:-1])
        sums, extremes = (own[:, at_places].reshape(2, *places.shape)[..., :-1] for own in (sums, extremes))
        parts = Segments.from_sums(feature, sums, extremes[0], -extremes[1])
        pairs = zip(self._arrays, parts._arrays, strict=True)
        every: list[Any] = [np.append(np.delete(own, chosen), new) for own, new in pairs]
        order = np.lexsort((every[1], every[0]))
        return Segments(*(own[order] for own in every))

    @property
    def _arrays(self) -> tuple[Labels, ...]:
        return self.feature, self.low, self.high, self.positive, self.negative

    @cached_property
    def starts(self) -> Ints:
        """Where the segments of each feature start, and where the last ones end, (n_features + 1,)."""
        return np.append(0, np.cumsum(np.bincount(self.feature)))

    @cached_property
    def inner(self) -> Ints:
        """The segments that a stump begins at: all but the first of each feature, (n_stumps,)."""
        return np.delete(np.arange(len(self.feature)), self.starts[:-1])

    @cached_property
    def total(self) -> int:
        """The sum of the weights of all samples."""
        return int((self.positive + self.negative)[: self.starts[1]].sum())

    @cached_property
    def edges(self) -> Ints:
        """The edges of the stumps that begin at the segments and rise; of the first of a feature it is the total."""
        return self.total - 2 * sum_before(self.positive + self.negative, self.starts)

    @cached_property
    def reach(self) -> Ints:
        """What the edge of a stump inside of a segment may be at most; -1 where it has one value, and none inside."""
        # below such a stump there are some of the segment's weights more, at most all of one sign
        edges = self.edges
        reach = np.maximum(np.abs(edges - 2 * self.positive), np.abs(edges - 2 * self.negative))
        return np.where(self.low < self.high, reach, -1)

    def thresholds(self, at: Ints) -> Array:
        """Return the thresholds of the stumps that begin at some segments, as `BinnedFeatures` has them."""
        return find_middles(self.high[at - 1], self.low[at])

    def make_stumps(self, at: Ints) -> list[Stump]:
        """Return the stumps that begin at some segments, each of the sign that makes its edge positive."""
        signs = np.where(self.edges[at] >= 0, 1, -1)
        columns = (own.tolist() for own in (self.feature[at], self.thresholds(at), signs))
        return [Stump(*stump) for stump in zip(*columns, strict=True)]

    def find_open(self, excluded: Collection[Hypothesis]) -> Ints:
        """Return the segments that a stump begins at which is not excluded."""
        closed: dict[int, list[float]] = {}
        for stump in excluded:
            if isinstance(stump, Stump):
                closed.setdefault(stump.feature, []).append(stump.threshold)
        is_open = np.zeros(len(self.feature), bool)
        is_open[self.inner] = True
        for j, thresholds in closed.items():
            own = np.flatnonzero(self.feature == j)[1:]
            is_open[own] = ~np.isin(self.thresholds(own), thresholds)
        return np.flatnonzero(is_open)


class DaskStumps(Votes):
    """All middle stumps of a sample in shards, and the constant: `Stumps` where no machine has all rows.

    Answers are those of `cvxens.colgen.oracles.Stumps` on the same rows, to the last bit, whatever the shards are.

    Parameters
    ----------
    sample : ShardedSample
        The sample.
    constant : bool
        True if h(x) = 1 and h(x) = -1 belong to the set.
    columns_per_round : int, optional
        At most so many columns are returned.
    per_feature : int
        Into how many parts the thresholds of a feature are cut, the best known stump of each of which is returned.
    slack : float
        Edges are bounded no closer than by this share of the largest one found: 0 for the best stump of every feature
        and an exact bound, more to spare questions about what could win by less.

    Examples
    --------
    >>> import dask.array as da
    >>> from cvxens.dask import Workers
    >>> X, y = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 4.0]]), np.array([0, 1, 1])
    >>> sample = ShardedSample.from_collections(
    ...     da.from_array(X, chunks=(2, 2)), da.from_array(y, chunks=2), workers=Workers()
    ... )
    >>> for column in DaskStumps(sample).price(np.array([-0.2, 0.3, 0.5])).columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 0.5 -> +1 1.0
    x[1] >= 4.5 -> -1 1.0
    always -> +1 0.6
    """

    def __init__(
        self,
        sample: ShardedSample,
        *,
        constant: bool = True,
        columns_per_round: int | None = None,
        per_feature: int = 1,
        slack: float = 0.0,
    ) -> None:
        self.sample = sample
        self.constant = constant
        self.per_feature = whole("per_feature", per_feature)
        every = sample.shape[1] * self.per_feature + 1
        self.columns_per_round = every if columns_per_round is None else whole("columns_per_round", columns_per_round)
        self.slack = number("slack", slack)
        if self.slack < 0:
            raise InvalidInput("slack", f"found {slack!r}", "give a share of 0 or above")

    def among(self, drawn: ShardedSample) -> DaskStumps:
        """Return the oracle over drawn rows."""
        own = copy(self)
        own.sample = drawn
        return own

    def __contains__(self, hypothesis: Hypothesis) -> bool:
        # a stump between other values has the values of a middle stump, or of a constant
        return isinstance(hypothesis, Stump) or (self.constant and isinstance(hypothesis, Constant))

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best stump of each feature that varies and the constant, as `Oracle.price` says."""
        weights = read_weights(s, self.sample)
        bins = Segments.of_bins(self.sample, weights)
        segments = bins.refine(lambda own: self._choose(own, exclude), self.sample, weights)
        best = self._find_best(segments, exclude)
        sizes, inside = np.abs(segments.edges), int(segments.reach.max(initial=-1))
        found: list[tuple[float, Hypothesis]] = list(zip(sizes[best].tolist(), segments.make_stumps(best), strict=True))
        every = max(int(sizes[segments.inner].max(initial=0)), inside)
        outside = max(int(sizes[best].max(initial=-1)), inside)
        totals = np.array([segments.total])
        return self._answer(weights, found, every, outside if outside >= 0 else -inf, exclude, totals=totals)

    _answer = BinnedOracle._answer

    def _find_best(self, segments: Segments, exclude: Collection[Hypothesis]) -> Ints:
        """Find the best known stump of each part of a feature's thresholds, the best first, by where they begin."""
        opened, sizes = segments.find_open(exclude), np.abs(segments.edges)
        of_features = np.split(opened, np.searchsorted(opened, segments.starts[1:-1]))
        parts = [part for own in of_features for part in np.array_split(own, self.per_feature) if len(part)]
        best = np.array([part[sizes[part].argmax()] for part in parts], np.int64)
        return best[np.argsort(-sizes[best], kind="stable")]

    def _choose(self, segments: Segments, exclude: Collection[Hypothesis]) -> Ints:
        """Choose the segments inside of which a stump could be better than the best known one of its feature."""
        sizes, opened = np.abs(segments.edges), segments.find_open(exclude)
        floor = np.zeros(self.sample.shape[1], np.int64)
        np.maximum.at(floor, segments.feature[opened], sizes[opened])
        if self.slack:
            # what could be better than the best of all, by more than is asked for
            floor = np.maximum(floor, sizes[segments.inner].max(initial=0))
            floor = floor + np.floor(self.slack * floor).astype(np.int64)
        return np.flatnonzero(segments.reach >= floor[segments.feature])


def choose_cuts(low: Array, high: Array) -> Array:
    """Choose where to cut ranges of values, (n_ranges, n_cuts): ascending, above the low end, up to the high end.

    Half of the cuts are even steps of value, as most columns want them. Where values differ by orders of magnitude
    they may all be in one such step; so the others are even steps among the floats that there are. Of at most 2**64
    floats in a range, a part has no more than one in so many as there are steps, and a search ends soon.
    """
    # the more parts the fewer ranges there are
    n_steps = int(np.clip(CELLS // len(low), 4, 64)) // 2
    # the largest value of a range always becomes a part of its own
    cuts = np.column_stack([step_by_value(low, high, n_steps), step_by_float(low, high, n_steps), high])
    # in a narrow range steps may be rounded to its low end, where a cut would part nothing
    return np.sort(np.clip(cuts, np.nextafter(low, inf)[:, np.newaxis], high[:, np.newaxis]), axis=1)


def step_by_value(low: Array, high: Array, n_steps: int) -> Array:
    """Return the ends between steps of the same width, (n_ranges, n_steps - 1).

    Examples
    --------
    >>> step_by_value(np.array([1.0]), np.array([9.0]), 4)
    array([[3., 5., 7.]])
    """
    shares = np.arange(1, n_steps) / n_steps
    return low[:, np.newaxis] * (1 - shares) + high[:, np.newaxis] * shares


def step_by_float(low: Array, high: Array, n_steps: int) -> Array:
    """Return the middles of steps with the same number of floats, without the last, (n_ranges, n_steps - 1).

    Where floats are evenly spaced, these are in the middle between the ends of steps of value.

    Examples
    --------
    >>> step_by_float(np.array([1.0, 1.0]), np.array([1.5, 2.0**80]), 4)
    array([[1.06250000e+00, 1.18750000e+00, 1.31250000e+00],
           [1.02400000e+03, 1.07374182e+09, 1.12589991e+15]])
    """
    first = order_floats(low)
    # unsigned, as distances may exceed 63 bits
    distance = (order_floats(high) - first).astype(np.uint64)
    half_step = distance[:, np.newaxis] // np.uint64(2 * n_steps)
    odd = np.arange(1, 2 * n_steps - 1, 2, dtype=np.uint64)
    return from_order(first[:, np.newaxis] + (odd * half_step).astype(np.int64))


def order_floats(values: Array) -> Ints:
    """Return whole numbers that are in the order of finite floats, and as dense.

    Examples
    --------
    >>> order_floats(np.array([-1e-323, -5e-324, -0.0, 0.0, 5e-324]))
    array([-2, -1,  0,  0,  1])
    """
    bits = np.ascontiguousarray(values, np.float64).view(np.int64)
    # of negative floats the size is in the lower 63 bits
    return np.where(bits >= 0, bits, np.int64(np.iinfo(np.int64).min) - bits)


def from_order(numbers: Ints) -> Array:
    """Return the floats of whole numbers, as `order_floats` has them."""
    return np.where(numbers >= 0, numbers, np.int64(np.iinfo(np.int64).min) - numbers).view(np.float64)


class DaskQuantileStumps(Votes):
    """The middle stumps nearest to the quantiles of each feature, and the constant: `QuantileStumps` over shards.

    They are those of `cvxens.colgen.oracles.QuantileStumps` on the same rows, whatever the shards are. Where rows
    differ in weight, quantiles are those of the weights, as multiples of about ``2**-52`` of their sum.

    Parameters
    ----------
    sample : ShardedSample
        The sample.
    n_thresholds, columns_per_round : int
        As of `QuantileStumps`.

    Examples
    --------
    >>> import dask.array as da
    >>> from cvxens.dask import Workers
    >>> X, y = np.arange(100.0)[:, None], np.arange(100) % 2
    >>> sample = ShardedSample.from_collections(
    ...     da.from_array(X, chunks=(60, 1)), da.from_array(y, chunks=60), workers=Workers()
    ... )
    >>> priced = DaskQuantileStumps(sample, n_thresholds=3).price(np.where(X[:, 0] < 60, -1.0, 1.0))
    >>> print(*(f"{column.hypothesis} {column.edge}" for column in priced.columns), sep="; ")
    x[0] >= 49.5 -> +1 80.0; x[0] >= 74.5 -> +1 70.0; x[0] >= 24.5 -> +1 30.0; always -> -1 20.0
    """

    constant = False  # beside the hypotheses, of which it is one

    def __init__(self, sample: ShardedSample, *, n_thresholds: int = 32, columns_per_round: int = 50) -> None:
        self.sample = sample
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        most = whole("n_thresholds", n_thresholds)
        if most >= N_BINS:
            raise InvalidInput("n_thresholds", f"found {n_thresholds!r}", f"give 1 to {N_BINS - 1}")
        lists = sample.remember(find_quantile_thresholds, most)
        self.hypotheses: list[Any] = [Stump(j, t, 1) for j, own in enumerate(lists) for t in own.tolist()]
        self.hypotheses.append(Constant(1))
        self.stumps = VotedStumps.from_hypotheses(self.hypotheses, sample)

    def among(self, drawn: ShardedSample) -> DaskQuantileStumps:
        """Return the oracle over drawn rows, with the stumps of all."""
        own = copy(self)
        own.sample, own.stumps = drawn, VotedStumps.from_hypotheses(self.hypotheses, drawn)
        return own

    def __contains__(self, hypothesis: Hypothesis) -> bool:
        return isinstance(hypothesis, Stump | Constant) and replace(hypothesis, sign=1) in self.hypotheses

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best of the stumps and the constant, as `Oracle.price` says."""
        weights = read_weights(s, self.sample)
        sums, totals = weights.ask(self.sample, sum_edges, self.stumps.places)
        edges = self.stumps.count_edges(sums.sum(axis=0), totals.sum())
        known = {replace(h, sign=1) for h in exclude if isinstance(h, Stump | Constant)}
        sizes = np.abs(edges)
        ranked = [k for k in np.argsort(-sizes, kind="stable").tolist() if self.hypotheses[k] not in known]
        found: list[tuple[float, Hypothesis]] = [
            (int(sizes[k]), replace(self.hypotheses[k], sign=1 if edges[k] >= 0 else -1))
            for k in ranked[: self.columns_per_round]
        ]
        priced = self._answer(weights, found, int(sizes.max()), found[0][0] if found else -inf, exclude, totals=totals)
        raised = np.array([weights.raised(size + weights.error) for size in sizes.tolist()])
        squares = float((raised**2).sum()) * (1 + (len(raised) + 4) * EPSILON)
        return replace(priced, edge_square_sum=squares)

    _answer = BinnedOracle._answer


def find_quantile_thresholds(sample: ShardedSample, most: int) -> list[Array]:
    """Find the middles nearest to the quantiles of every feature, as `BinnedFeatures` does of sorted samples.

    Bins that hold a quantile are cut into parts, and these again, until each is a single value: then the masses below
    it and up to it are known, and the values before and after it. Masses are whole numbers, rows where weights are
    equal, and what is asked does not grow with the sample.
    """
    low, high = sample.map_reduce(_find_weights, combine=combine_extremes)
    # sums of less than 2^53 units are exact as floats too; the unit of equal weights is a row
    masses = Masses(None if low == -high else exponent_of(sample.total_weight) + BITS - 52)

    def choose_middles(segments: Segments) -> list[tuple[Ints, Ints]]:
        return [_choose_middles(segments, own, most) for own in pairwise(segments.starts.tolist())]

    def choose(segments: Segments) -> Ints:
        return np.concatenate([inside for _, inside in choose_middles(segments)])

    segments = Segments.of_bins(sample, masses).refine(choose, sample, masses)
    return [segments.thresholds(at) for at, _ in choose_middles(segments)]


def _choose_middles(segments: Segments, own: tuple[int, int], most: int) -> tuple[Ints, Ints]:
    """Choose so many stumps of the feature that has some of the segments, and which of these are to be cut first.

    Stumps are named by the segments that they begin at.
    """
    start, end = own
    each = np.arange(start, end)
    inner, mixed = each[1:], segments.low[each] < segments.high[each]
    if len(inner) <= most and not (mixed.any() and len(inner)):
        return inner, each[mixed]
    # the segments up to which the mass reaches a quantile, and the nearer of their two ends
    nearest, at = find_quantiles(segments.positive[each].astype(np.float64), most)
    return np.unique(inner[nearest]), np.unique(each[at[mixed[at]]])


@dataclass(frozen=True)
class Masses:
    """The weights of rows as whole numbers of 2**exponent; each 1 without."""

    exponent: int | None

    ask: ClassVar[Any] = Multipliers.ask

    def evaluate(self, shard: Shard) -> Ints:
        """Return the masses of a shard's rows."""
        if self.exponent is None:
            return np.ones(shard.n_rows, np.int64)
        return np.rint(np.ldexp(shard.weights, -self.exponent)).astype(np.int64)


def _find_weights(shard: Shard) -> Array:
    """Return the least weight of a shard, and minus the largest one."""
    return np.array([shard.weights.min(initial=inf), -shard.weights.max(initial=-inf)])


def sum_by_bins(shard: Shard, weights: Any) -> Ints:
    """Return the sums of the weights above 0 and of those below, by feature and bin, (2, n_cells)."""
    return sum_by_cells(shard.codes, np.arange(len(shard.codes) + 1) * N_BINS, weights.evaluate(shard))


def sum_by_parts(shard: Shard, weights: Any, places: Places) -> tuple[Ints, Array]:
    """Return sums of weights as `sum_by_bins`, and the least and minus the largest values, between places."""
    codes = shard.find_cells(places)
    signed = weights.evaluate(shard)
    return sum_by_cells(codes, places.cells, signed), find_extremes(shard.values, codes, places.cells)
