"""Decision stumps over all shards as an exact oracle: bins first, then finer parts of those that could hold the best.

The edges at the ends of bins follow from one histogram of the signed weights. Inside a bin an edge can be larger than
at its ends by no more than the weights of one sign there, which the histogram says too: bins where that is less than
the best edge known are done. The others are cut into parts, and so on until nothing is left that could win. So the
answer is that of a scan of all sorted samples, and the traffic does not grow with the sample.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import delayed

from cvxens.colgen.oracles.stumps import FixedPoint
from cvxens.colgen.protocols import Priced
from cvxens.dask.shards import Shard, ShardedSample
from cvxens.dask.sums import Ints, add
from cvxens.dask.tallies import N_BINS, Ranges, sum_by_bins, sum_by_parts
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.rounding import EPSILON
from cvxens.types import Array
from cvxens.validation import number, whole

N_PARTS = 64
"""Parts that a range of values is cut into at a time."""

CELLS = 2**17
"""Ranges times parts that are asked for at a time, where more ranges are to be cut: 4 MB of sums and extremes."""

LEAST_PARTS = 4
"""The fewest parts, however many ranges there are."""


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
    def from_sums(cls, feature: Ints, sums: Ints, low: Array, high: Array) -> Segments:
        """Return the segments that hold samples, of arrays with a row for each run of segments of one feature."""
        held = low <= high
        of_feature = np.broadcast_to(feature[:, np.newaxis], low.shape)
        return cls(of_feature[held], low[held], high[held], sums[0][held], sums[1][held])

    def refine(self, chosen: Ints, finer: Segments) -> Segments:
        """Return the segments with finer ones in place of the chosen ones."""
        kept = np.ones(len(self.feature), bool)
        kept[chosen] = False
        merged = [np.concatenate([own[kept], new]) for own, new in zip(self, finer, strict=True)]
        order = np.lexsort((merged[1], merged[0]))
        return Segments(*(own[order] for own in merged))


class Best(NamedTuple):
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
        self.questions = 0
        """How often the shards have been asked, of all calls."""

    def __contains__(self, hypothesis: Hypothesis) -> bool:
        # a stump between other values has the values of a middle stump, or of a constant
        return isinstance(hypothesis, Stump) or (self.constant and isinstance(hypothesis, Constant))

    def price(self, s: Any, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best stump of each feature that varies and the constant, as `Oracle.price` says."""
        weights = self._read(s)
        excluded = {(h.feature, h.threshold) for h in exclude if isinstance(h, Stump)}
        sums = self._ask(_ask_bins, weights)
        total = int(sums[:, 0].sum())
        segments = Segments.from_sums(np.arange(self.sample.shape[1]), sums, self.sample.low, self.sample.high)
        while True:
            best = _compare(segments, total, excluded)
            waiting = self._choose(segments, best)
            if not len(waiting):
                break
            segments = segments.refine(waiting, self._cut(segments, waiting, weights))
        return self._answer(segments, best, total, weights, exclude)

    def _answer(
        self, segments: Segments, best: Best, total: int, weights: Any, exclude: Collection[Hypothesis]
    ) -> Priced:
        scale, error = _scale_of(weights), getattr(weights, "error", 0)
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
            every = max(every, abs(total))
            if not {Constant(1), Constant(-1)} & set(exclude):
                outside = max(outside, abs(total))
                insort(found, (abs(total), Constant(1 if total >= 0 else -1)), key=lambda pair: -pair[0])
        columns = [
            self.sample.make_column(hypothesis, scale.real(size))
            for size, hypothesis in found[: self.columns_per_round]
        ]
        bounds = scale.raised(every + error), scale.raised(outside + error) if outside >= 0 else 0.0
        return Priced(columns, bounds[0], inf, bounds[1])

    def _read(self, s: Any) -> Any:
        """Return signed weights that shards know how to evaluate, or an array as whole numbers for each of them."""
        if hasattr(s, "evaluate"):
            return s
        weights = FixedPoint.from_weights(s, self.sample.shape[0])
        counts = self.sample.ask(_count_rows, combine=np.concatenate)
        return _Array(weights, tuple(np.split(weights.integers[0], np.cumsum(counts)[:-1])))

    def _ask(self, question: Any, weights: Any, *told: Any) -> Any:
        self.questions += 1
        if not isinstance(weights, _Array):
            return self.sample.ask(question, weights, *told)
        answers = [
            delayed(question, pure=False)(shard, _Given(own), *told)
            for shard, own in zip(self.sample.shards, weights.of_shards, strict=True)
        ]
        return self.sample.workers.reduce(answers, _combine_parts if told else add)

    def _choose(self, segments: Segments, best: Best) -> Ints:
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

    def _cut(self, segments: Segments, chosen: Ints, weights: Any) -> Segments:
        """Cut segments into parts and ask for the sums of these."""
        n_parts = int(np.clip(CELLS // len(chosen), LEAST_PARTS, N_PARTS))
        low, high, feature = segments.low[chosen], segments.high[chosen], segments.feature[chosen]
        shares = np.arange(1, n_parts) / (n_parts - 1)
        # from within the range up to its largest value, which always becomes a part of its own
        cuts = low[:, np.newaxis] * (1 - shares) + high[:, np.newaxis] * shares
        cuts = np.clip(cuts, np.nextafter(low, inf)[:, np.newaxis], high[:, np.newaxis])
        cuts[:, -1] = high
        cuts = np.maximum.accumulate(cuts, axis=1)
        n_features = self.sample.shape[1]
        starts = np.searchsorted(feature, np.arange(n_features + 1))
        first, last = np.zeros((2, n_features, N_BINS), np.int64)
        for j in np.unique(feature).tolist():
            own = slice(starts[j], starts[j + 1])
            # ranges that end below the values of a bin, and those that begin at or below its largest one
            first[j] = starts[j] + np.searchsorted(high[own], self.sample.low[j])
            last[j] = starts[j] + np.searchsorted(low[own], self.sample.high[j], side="right")
        last = np.maximum(first, last)
        ranges = Ranges(low, high, cuts, starts, first, last)
        sums, ends = self._ask_parts(weights, ranges)
        return Segments.from_sums(feature, sums, ends[0], -ends[1])

    def _ask_parts(self, weights: Any, ranges: Ranges) -> Any:
        if isinstance(weights, _Array):
            return self._ask(_ask_parts, weights, ranges)
        self.questions += 1
        return self.sample.ask(_ask_parts, weights, ranges, combine=_combine_parts)


class DaskQuantileStumps:
    """The stumps at the ends of bins nearest to the quantiles of each feature, and the constant: `QuantileStumps`.

    Of features with at most 256 distinct values these are the thresholds of `cvxens.colgen.oracles.QuantileStumps`; of
    others they are the nearest of 255 to the same quantiles.

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
        self._inner = DaskStumps(sample)
        counts = sample.ask(_count_by_bins)
        chosen = [self._choose(counts[j], whole("n_thresholds", n_thresholds)) for j in range(sample.shape[1])]
        feature = np.repeat(np.arange(sample.shape[1]), [len(own) for own in chosen])
        # where a bin that holds samples begins, and which one that is
        self.feature, self.bins = feature, np.concatenate(chosen).astype(np.int64)
        self.thresholds = np.array(
            [find_middles(sample.high[j, :k].max(), sample.low[j, k]) for j, k in zip(feature, self.bins, strict=True)]
        )

    @staticmethod
    def _choose(counts: Ints, most: int) -> Ints:
        """Choose bins whose beginnings are at quantiles, as `bins.choose_thresholds` does of all places."""
        held = np.flatnonzero(counts)
        below, begins = np.cumsum(counts)[held[:-1]], held[1:]
        if len(begins) <= most:
            return begins
        wanted = np.arange(1, most + 1) * int(counts.sum()) / (most + 1)
        after = np.clip(np.searchsorted(below, wanted), 1, len(begins) - 1)
        return begins[np.unique(after - (wanted - below[after - 1] <= below[after] - wanted))]

    def __contains__(self, hypothesis: Hypothesis) -> bool:
        if not isinstance(hypothesis, Stump):
            return isinstance(hypothesis, Constant)
        return bool(((self.feature == hypothesis.feature) & (self.thresholds == hypothesis.threshold)).any())

    def price(self, s: Any, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best of the stumps and the constant, as `Oracle.price` says."""
        weights = self._inner._read(s)
        sums = self._inner._ask(_ask_bins, weights).sum(axis=0)
        total, scale, error = int(sums[0].sum()), _scale_of(weights), getattr(weights, "error", 0)
        below = (np.cumsum(sums, axis=1) - sums)[self.feature, self.bins]
        edges = np.append(total - 2 * below, total)
        known = {(h.feature, h.threshold) if isinstance(h, Stump) else None for h in exclude}
        ranked = np.argsort(-np.abs(edges), kind="stable").tolist()
        found = [k for k in ranked if self._name(k) not in known][: self.columns_per_round]
        columns = [self.sample.make_column(self._make(k, edges[k]), scale.real(int(abs(edges[k])))) for k in found]
        outside = scale.raised(int(abs(edges[found[0]])) + error) if found else 0.0
        sizes = np.array([scale.raised(int(size) + error) for size in np.abs(edges)])
        squares = float((sizes**2).sum()) * (1 + (len(sizes) + 4) * EPSILON)
        return Priced(columns, float(sizes.max()), squares, outside)

    def _name(self, k: int) -> tuple[int, float] | None:
        return (int(self.feature[k]), float(self.thresholds[k])) if k < len(self.feature) else None

    def _make(self, k: int, edge: int) -> Hypothesis:
        name, sign = self._name(k), 1 if edge >= 0 else -1
        return Constant(sign) if name is None else Stump(*name, sign)


def _count_by_bins(shard: Shard) -> Ints:
    return np.stack([np.bincount(own, minlength=N_BINS) for own in shard.codes]).astype(np.int64)


class _Array(NamedTuple):
    """An array of signed weights, in fixed point and cut into shards."""

    weights: FixedPoint
    of_shards: tuple[Ints, ...]

    @property
    def error(self) -> int:
        return self.weights.error


@dataclass(frozen=True)
class _Given:
    """The signed weights of one shard, which come with the question."""

    integers: Ints

    def evaluate(self, shard: Shard) -> Ints:
        return self.integers


def _scale_of(weights: Any) -> Any:
    """Return what turns units of weights into floats."""
    return weights.weights if isinstance(weights, _Array) else weights


def _count_rows(shard: Shard) -> Ints:
    return np.array([shard.n_rows])


def _ask_bins(shard: Shard, weights: Any) -> Ints:
    return sum_by_bins(shard.codes, weights.evaluate(shard))


def _ask_parts(shard: Shard, weights: Any, ranges: Ranges) -> tuple[Ints, Array]:
    return sum_by_parts(shard.values, shard.codes, weights.evaluate(shard), ranges)


def _combine_parts(parts: Any) -> tuple[Ints, Array]:
    return add([sums for sums, _ in parts]), np.minimum.reduce([ends for _, ends in parts])


def _compare(segments: Segments, total: int, excluded: set[tuple[int, float]]) -> Best:
    """Evaluate the edges of the stumps between segments, and bound those inside."""
    sums = segments.positive + segments.negative
    begins = np.append(True, segments.feature[1:] != segments.feature[:-1])
    # total - 2 below: running sums that start anew with every feature
    below = np.cumsum(sums) - sums
    below -= np.repeat(below[begins], np.diff(np.append(np.flatnonzero(begins), len(sums))))
    edges = total - 2 * below
    inner = ~begins
    is_open = inner.copy()
    for j in {feature for feature, _ in excluded}:
        own = np.flatnonzero(inner & (segments.feature == j))
        middles = find_middles(segments.high[own - 1], segments.low[own])
        is_open[own] = ~np.isin(middles, [threshold for feature, threshold in excluded if feature == j])
    # inside of a segment `below` gains some of its weights only
    reach = np.maximum(np.abs(edges - 2 * segments.positive), np.abs(edges - 2 * segments.negative))
    return Best(edges, is_open, inner, np.where(segments.low < segments.high, reach, -1))


def _threshold(segments: Segments, k: int) -> float:
    """Return the middle between a segment and the one before, as `SortedFeatures.threshold` has it."""
    return float(find_middles(segments.high[k - 1], segments.low[k]))


def find_middles(below: Any, above: Any) -> Array:
    """Return the middles of pairs of values: above the one and at most the other."""
    middles = below / 2 + above / 2
    return np.where((below < middles) & (middles <= above), middles, above)


def _make_stump(segments: Segments, k: int, edge: int) -> Stump:
    return Stump(int(segments.feature[k]), _threshold(segments, k), 1 if edge >= 0 else -1)
