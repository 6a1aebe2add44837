"""Decision stumps over all shards as an exact oracle: bins first, then finer parts of those that could hold the best.

The edges at the ends of bins follow from one histogram of the signed weights. Inside a bin an edge can be larger than
at its ends by no more than the weights of one sign there, which the histogram says too: bins where that is less than
the best edge known are done. The others are cut into parts, and so on until nothing is left that could win. So the
answer is that of a scan of all sorted samples, and the traffic does not grow with the sample.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

from cvxens.colgen.oracles.bins import price_constant
from cvxens.colgen.protocols import Priced
from cvxens.dask.shards import Shard, ShardedSample, combine_extremes
from cvxens.dask.tallies import Ints, Places, add, find_extremes, sum_by_cells
from cvxens.dask.votes import BITS, VotedStumps, exponent_of, read_weights, sum_edges
from cvxens.errors import InvalidInput
from cvxens.features import N_BINS, find_middles, find_quantiles, sum_before
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.rounding import EPSILON
from cvxens.types import Array
from cvxens.validation import number, whole

CELLS = 2**17
"""Ranges times parts that are asked for at a time, where more ranges are to be cut: 4 MB of sums and extremes."""


class Segments(NamedTuple):
    """Runs of values of features, feature by feature and ascending, with the sums of weights in them.

    A stump between two neighbouring segments of a feature has an edge that is known.
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

    def cut(self, chosen: Ints, sample: ShardedSample, weights: Any) -> Segments:
        """Return the segments with parts of the chosen ones in their place, with the sums of the weights in each."""
        feature, cuts = self.feature[chosen], choose_cuts(self.low[chosen], self.high[chosen], len(chosen))
        # from one end of a segment to the other; beyond the last place is a cell between segments
        ends = self.low[chosen], np.nextafter(self.high[chosen], inf)
        places = np.concatenate([ends[0][:, np.newaxis], cuts, ends[1][:, np.newaxis]], axis=1)
        placed = sample.place([places[feature == j].ravel() for j in range(sample.shape[1])])
        sums, extremes = weights.ask(sample, sum_by_parts, placed, combine=combine_parts)
        inside = np.ones(sums.shape[1], bool)
        inside[placed.cells[:-1]] = False
        sums, extremes = (own[:, inside].reshape(2, *places.shape)[..., :-1] for own in (sums, extremes))
        return self.refine(chosen, Segments.from_sums(feature, sums, extremes[0], -extremes[1]))

    def refine(self, chosen: Ints, finer: Segments) -> Segments:
        """Return the segments with finer ones in place of the chosen ones."""
        kept = np.ones(len(self.feature), bool)
        kept[chosen] = False
        merged = [np.concatenate([own[kept], new]) for own, new in zip(self, finer, strict=True)]
        order = np.lexsort((merged[1], merged[0]))
        return Segments(*(own[order] for own in merged))


class SegmentEdges(NamedTuple):
    """What is known of the edges in segments."""

    edges: Ints  # (n_segments,), of the stump that begins at each, rising; of the first of a feature that is the total
    open: Any  # True where there is such a stump, and it was not excluded
    inner: Any  # True where there is one, excluded or not
    reach: Ints  # what an edge inside of a segment may be at most; -1 where it has one value


class DaskStumps:
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

    negations = True
    largest = 1.0

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

    def price(self, s: Any, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best stump of each feature that varies and the constant, as `Oracle.price` says."""
        weights = read_weights(s, self.sample)
        excluded = {(h.feature, h.threshold) for h in exclude if isinstance(h, Stump)}
        segments = Segments.of_bins(self.sample, weights)
        # all samples are in the segments of any feature
        first = segments.feature == 0
        total = int(segments.positive[first].sum() + segments.negative[first].sum())
        while True:
            best = _compare(segments, total, excluded)
            waiting = self._choose(segments, best)
            if not len(waiting):
                break
            segments = segments.cut(waiting, self.sample, weights)
        return self._answer(segments, best, total, weights, exclude)

    def _answer(
        self, segments: Segments, best: SegmentEdges, total: int, weights: Any, exclude: Collection[Hypothesis]
    ) -> Priced:
        sizes = np.where(best.open, np.abs(best.edges), -1)
        found: list[tuple[int, Hypothesis]] = []
        for j in np.unique(segments.feature[best.open]).tolist():
            own = np.flatnonzero(best.open & (segments.feature == j))
            # the best of all of the feature's, and those of its parts
            first = own[sizes[own].argmax()]
            others = (part[sizes[part].argmax()] for part in np.array_split(own, self.per_feature) if len(part))
            picked = [first, *(k for k in others if k != first)] if self.per_feature > 1 else [first]
            found += [(int(sizes[k]), _make_stump(segments, k, int(best.edges[k]))) for k in picked]
        found.sort(key=lambda pair: -pair[0])
        inside = int(best.reach.max(initial=-1))
        outside = max(int(sizes.max(initial=-1)), inside)
        every = max(int(np.abs(best.edges[best.inner]).max(initial=0)), inside)
        if self.constant:
            size, constant = price_constant(np.array([total]), exclude)
            every = max(every, size)
            if constant is not None:
                outside = max(outside, size)
                insort(found, (size, constant), key=lambda pair: -pair[0])
        columns = [
            self.sample.make_column(hypothesis, weights.real(size))
            for size, hypothesis in found[: self.columns_per_round]
        ]
        raised = [weights.raised(size + weights.error) if size >= 0 else 0.0 for size in (every, outside)]
        return Priced(columns, raised[0], inf, raised[1])

    def _choose(self, segments: Segments, best: SegmentEdges) -> Ints:
        """Return the segments inside of which a stump could be better than the best known of the feature."""
        sizes = np.where(best.open, np.abs(best.edges), 0)
        floor = np.zeros(self.sample.shape[1], np.int64)
        np.maximum.at(floor, segments.feature, sizes)
        if self.slack:
            # what could be better than the best of all, by more than is asked for
            largest = int(np.abs(best.edges[best.inner]).max(initial=0))
            floor = np.maximum(floor, largest)
            floor = floor + np.floor(self.slack * floor).astype(np.int64)
        return np.flatnonzero((best.reach >= floor[segments.feature]) & (best.reach >= 0))


def choose_cuts(low: Array, high: Array, n_ranges: int) -> Array:
    """Cut ranges of values into parts: by even steps of values, and by even steps among the floats that there are.

    Steps of values are what most columns want. Where values differ by orders of magnitude they may all be in one step;
    among the 2**64 floats the largest part shrinks by half the number of cuts every time, so that it ends soon.
    """
    half = int(np.clip(CELLS // n_ranges, 4, 64)) // 2
    shares = np.arange(1, half) / half
    even = low[:, np.newaxis] * (1 - shares) + high[:, np.newaxis] * shares
    # where floats are evenly spaced, the cuts of one kind are in the middle between those of the other; distances are
    # unsigned, as they may exceed 63 bits
    first = order_floats(low)
    steps = (order_floats(high) - first).astype(np.uint64)[:, np.newaxis] // np.uint64(2 * half)
    among = from_order(first[:, np.newaxis] + (np.arange(1, 2 * half - 1, 2, dtype=np.uint64) * steps).astype(np.int64))
    # from within the range up to its largest value, which always becomes a part of its own
    cuts = np.concatenate([even, among, high[:, np.newaxis]], axis=1)
    return np.sort(np.clip(cuts, np.nextafter(low, inf)[:, np.newaxis], high[:, np.newaxis]), axis=1)


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


class DaskQuantileStumps:
    """The middle stumps nearest to the quantiles of each feature, and the constant: `QuantileStumps` over shards.

    They are those of `cvxens.colgen.oracles.QuantileStumps` on the same rows, whatever the shards are. Where rows
    differ in weight, quantiles are those of the weights, as multiples of about ``2**-52`` of their sum.

    Parameters
    ----------
    sample : ShardedSample
        The sample.
    n_thresholds : int
        At most so many stumps per feature, 1 to 255.
    columns_per_round : int
        At most so many columns are returned, several of one feature among them.

    Examples
    --------
    >>> import dask.array as da
    >>> from cvxens.dask import Workers
    >>> X, y = np.arange(100.0)[:, None], np.arange(100) % 2
    >>> sample = ShardedSample.from_collections(
    ...     da.from_array(X, chunks=(60, 1)), da.from_array(y, chunks=60), workers=Workers()
    ... )
    >>> priced = DaskQuantileStumps(sample, n_thresholds=3).price(np.where(X[:, 0] < 60, -1.0, 1.0))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 49.5 -> +1 80.0
    x[0] >= 74.5 -> +1 70.0
    x[0] >= 24.5 -> +1 30.0
    always -> -1 20.0
    """

    negations = True
    largest = 1.0

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

    def price(self, s: Any, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best of the stumps and the constant, as `Oracle.price` says."""
        weights = read_weights(s, self.sample)
        sums, totals = weights.ask(self.sample, sum_edges, self.stumps.places)
        edges = self.stumps.count_edges(sums.sum(axis=0), totals.sum())
        known = {replace(h, sign=1) for h in exclude if isinstance(h, Stump | Constant)}
        ranked = np.argsort(-np.abs(edges), kind="stable").tolist()
        found = [k for k in ranked if self.hypotheses[k] not in known][: self.columns_per_round]
        columns = [
            self.sample.make_column(replace(self.hypotheses[k], sign=1 if edges[k] >= 0 else -1), weights.real(size))
            for k, size in zip(found, np.abs(edges[found]), strict=True)
        ]
        sizes = np.array([weights.raised(int(size) + weights.error) for size in np.abs(edges)])
        outside = float(sizes[found[0]]) if found else 0.0
        squares = float((sizes**2).sum()) * (1 + (len(sizes) + 4) * EPSILON)
        return Priced(columns, float(sizes.max()), squares, outside)


def find_quantile_thresholds(sample: ShardedSample, most: int) -> list[Array]:
    """Find the middles nearest to the quantiles of every feature, as `BinnedFeatures` does of sorted samples.

    Bins that hold a quantile are cut into parts, and these again, until each is a single value: then the masses below
    it and up to it are known, and the values before and after it. Masses are whole numbers, rows where weights are
    equal, and what is asked does not grow with the sample.
    """
    low, high = sample.map_reduce(_find_weights, combine=combine_extremes)
    # sums of less than 2^53 units are exact as floats too; the unit of equal weights is a row
    masses = Masses(None if low == -high else exponent_of(sample.total_weight) + BITS - 52)
    segments = Segments.of_bins(sample, masses)
    while True:
        begins = np.append(np.searchsorted(segments.feature, np.arange(sample.shape[1])), len(segments.feature))
        lists, waiting = [], []
        for start, end in pairwise(begins.tolist()):
            own = Segments._make(each[start:end] for each in segments)
            thresholds, inside = _choose_middles(own, most)
            lists.append(thresholds)
            waiting += (start + inside).tolist()
        if not waiting:
            return lists
        segments = segments.cut(np.array(waiting), sample, masses)


def _choose_middles(own: Segments, most: int) -> tuple[Array, Ints]:
    """Choose the middles of a feature between its segments, and those of these that are to be cut finer first."""
    below = np.cumsum(own.positive).astype(np.float64)
    middles = find_middles(own.high[:-1], own.low[1:])
    single = own.low == own.high
    if len(middles) <= most and (single.all() or not len(middles)):
        return middles, np.flatnonzero(~single)
    # the segments up to which the mass reaches a quantile, and the nearer of their two ends
    nearest, at = find_quantiles(below[:-1], below[-1], most)
    return middles[np.unique(nearest)], np.unique(at[~single[at]])


@dataclass(frozen=True)
class Masses:
    """The weights of rows as whole numbers of 2**exponent; each 1 without."""

    exponent: int | None

    def ask(self, sample: ShardedSample, question: Any, *told: Any, combine: Any = add) -> Any:
        """Ask all shards about the masses of their rows."""
        return sample.map_reduce(question, self, *told, combine=combine)

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


def combine_parts(parts: Sequence[tuple[Ints, Array]]) -> tuple[Ints, Array]:
    """Return what `sum_by_parts` finds in several shards."""
    sums, ends = zip(*parts, strict=True)
    return add(sums), combine_extremes(ends)


def _compare(segments: Segments, total: int, excluded: set[tuple[int, float]]) -> SegmentEdges:
    """Evaluate the edges of the stumps between segments, and bound those inside."""
    begins = np.append(True, segments.feature[1:] != segments.feature[:-1])
    starts = np.append(np.flatnonzero(begins), len(begins))
    edges = total - 2 * sum_before(segments.positive + segments.negative, starts)
    inner = ~begins
    is_open = inner.copy()
    for j in {feature for feature, _ in excluded}:
        own = np.flatnonzero(inner & (segments.feature == j))
        middles = find_middles(segments.high[own - 1], segments.low[own])
        is_open[own] = ~np.isin(middles, [threshold for feature, threshold in excluded if feature == j])
    # inside of a segment `below` gains some of its weights only
    reach = np.maximum(np.abs(edges - 2 * segments.positive), np.abs(edges - 2 * segments.negative))
    return SegmentEdges(edges, is_open, inner, np.where(segments.low < segments.high, reach, -1))


def _make_stump(segments: Segments, k: int, edge: int) -> Stump:
    """Return the stump between a segment and the one before, at the threshold of `BinnedFeatures.threshold`."""
    threshold = float(find_middles(segments.high[k - 1], segments.low[k]))
    return Stump(int(segments.feature[k]), threshold, 1 if edge >= 0 else -1)
