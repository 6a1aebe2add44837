"""Decision stumps as an exact oracle: every threshold of every feature is priced, histogram first, then a scan.

Two notions. A **place** of a feature is a cut between two of its sorted samples; the stump there has the edge
``total - 2 below``, `below` the sum of the weights of the samples before it. A **bin** is a run of places. Summing the
weights by bin, as histogram methods of gradient boosting do, gives the edges at the ends of the bins exactly and bounds
those inside; scanning sorted samples, as CART does, gives every edge. Here bins are scanned only where their bound
reaches the best edge known, so that the answer is that of the whole scan. Weights are integers (`FixedPoint`), whose
sums are the same in every order: ties are ties, and all ways of searching agree to the last bit.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Sequence
from functools import partial
from math import inf, ldexp, nextafter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse

from cvxens.colgen.protocols import Column, Priced
from cvxens.errors import InvalidInput
from cvxens.features import SortedFeatures
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.limits import map_in_threads, map_slices, threads_for
from cvxens.types import Array
from cvxens.validation import signed_weights, whole

BITS = 61
"""The magnitudes of an output's weights add up to 2**61 at most, so ``total - 2 below`` fits into 64 bits."""

N_BINS = 256
"""The bins that a byte can name."""

N_LANES = 4
"""Neighbouring samples are summed in so many tables, so that no addition waits for the one before."""

NO_BOUND = 2**62
"""Above every edge, see `BITS`."""

Ints: TypeAlias = NDArray[np.int64]


class Stumps:
    """All middle stumps of a sample, and the constant: the exact oracle over this finite set.

    A middle stump separates two neighbouring distinct values of one feature halfway (LL08). Its edge is
    ``sum_i s_i - 2 sum_{i: x_i < threshold} s_i``, so one pass over each sorted feature prices them all,
    and bins spare most of that pass unless the sum of squared edges is wanted.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite, at least one feature that varies; sparse X and small integers stay what they are.
    constant : bool
        True if h(x) = 1 and h(x) = -1 belong to the set.
    columns_per_round : int or None
        At most so many columns are returned; None for the best stump of every feature.
    square_sum : bool
        True if `Priced.edge_square_sum` is wanted, as penalties on the squared weights need it for their
        bound. Without it (inf is returned) features of more than 256 distinct values are priced faster.

    Examples
    --------
    >>> X = [[0.0, 5.0], [1.0, 3.0], [2.0, 4.0]]
    >>> priced = Stumps(X).price(np.array([-0.2, 0.3, 0.5]))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 0.5 -> +1 1.0
    x[1] >= 4.5 -> -1 1.0
    always -> +1 0.6
    """

    source = "LL08 section 4; DBS02"
    negations = True

    def __init__(
        self, X: Any, *, constant: bool = True, columns_per_round: int | None = None, square_sum: bool = True
    ) -> None:
        self.features = SortedFeatures(X)
        self.sample = self.features.X
        self.constant = constant
        every = self.features.n_features + 1
        self.columns_per_round = every if columns_per_round is None else whole("columns_per_round", columns_per_round)
        self.square_sum = square_sum
        self.n_stumps = int((self.features.n_distinct - 1).sum()) + constant
        self._search = StumpSearch(self.features, every_place=square_sum)

    @property
    def statement(self) -> tuple[str, Array]:
        """The name of the set in an exact proof, and the features (n_samples, n_features) that it is over."""
        X: Any = self.sample
        return "stumps and constant" if self.constant else "stumps", X.toarray() if issparse(X) else np.asarray(X)

    def price(self, s: Any, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best stump of each feature that varies and the constant, as `Oracle.price` says.

        Of equal edges the lowest feature and threshold comes first, the constant last. `edge_bound` exceeds the largest
        edge by what the rounding of `s` to fixed point can have cost, at most ``n_samples * 2**-60 * sum |s|``;
        `edge_square_sum` is sharp to about ``n_samples * 2**-52``.
        """
        weights = FixedPoint.from_weights(s, self.features.n_samples)
        best = self._search.best(self._make_query(weights, exclude), self.columns_per_round)
        ranked = np.flatnonzero(best.places)
        ranked = ranked[np.argsort(-np.abs(best.edges[ranked]), kind="stable")][: self.columns_per_round]
        found: list[tuple[int, Hypothesis]] = [
            (abs(int(best.edges[j])), self._make_stump(j, best)) for j in ranked.tolist()
        ]
        total = int(weights.totals[np.abs(weights.totals).argmax()])
        if self.constant and not {Constant(1), Constant(-1)} & set(exclude):
            insort(found, (abs(total), Constant(1 if total >= 0 else -1)), key=lambda pair: -pair[0])
        columns = [
            Column(hypothesis, self.sample, weights.real(edge)) for edge, hypothesis in found[: self.columns_per_round]
        ]
        largest = max(int(best.largest.max()), abs(total) * self.constant)
        outside = weights.bound(found[0][0] if found else 0)
        return Priced(columns, weights.bound(largest), self._bound_square_sum(weights, best), outside)

    def _make_query(self, weights: FixedPoint, exclude: Collection[Hypothesis]) -> Query:
        """Turn excluded stumps into places that are closed."""
        thresholds: dict[int, list[float]] = {}
        for stump in exclude:
            if isinstance(stump, Stump):
                thresholds.setdefault(stump.feature, []).append(stump.threshold)
        places = [np.empty(0, np.int64)]
        counts = np.zeros(self.features.n_features + 1, np.int64)
        for feature in sorted(thresholds):
            values = self.features.entry_values[self.features.entries(feature)]
            places.append(np.searchsorted(values, thresholds[feature]))
            counts[feature + 1] = len(thresholds[feature])
        return Query(weights.integers, weights.totals, weights.positives, np.concatenate(places), np.cumsum(counts))

    def _make_stump(self, feature: int, best: Best) -> Hypothesis:
        threshold = self.features.threshold(feature, best.places[feature])
        return Stump(feature, threshold, 1 if best.edges[feature] >= 0 else -1)

    def _bound_square_sum(self, weights: FixedPoint, best: Best) -> float:
        if not self.square_sum:
            return inf
        squares = best.squares.sum() + self.constant * (weights.totals.astype(np.float64) ** 2).sum()
        rounding = (self.features.n_samples + self.features.n_features + 8) * np.finfo(float).eps
        # | |edges| - |rounded edges| | <= |edges - rounded edges| <= error sqrt(number of edges)
        norm = np.sqrt(squares * (1 + rounding)) + weights.error * np.sqrt(self.n_stumps * len(weights.totals))
        return weights.real_square(norm**2)


class FixedPoint(NamedTuple):
    """Signed weights as integers: ``s = integers * 2**exponent`` up to an error that is known.

    Examples
    --------
    >>> weights = FixedPoint.from_weights([0.5, -0.25], 2)
    >>> weights.real(weights.totals[0]), weights.error
    (0.25, 1)
    """

    integers: Ints  # (n_outputs, n_samples), the weights rounded
    totals: Ints  # (n_outputs,), their sums
    positives: Ints  # (n_outputs,), the sums of those that are positive
    exponent: int
    error: int  # a bound on |sum_i s_i h_i - sum_i integers_i h_i| for every h in {-1, +1}, in units of 2**exponent

    @classmethod
    def from_weights(cls, s: Any, n_samples: int) -> FixedPoint:
        """Round signed weights of shape (n_samples,) or (n_samples, n_outputs)."""
        weights = np.ascontiguousarray(signed_weights(s, n_samples).T)
        with np.errstate(over="ignore"):
            mass = float(np.abs(weights).sum(axis=1).max())
        if mass == inf:
            raise InvalidInput("s", "found weights whose sum overflows", "scale them down")
        exponent = int(np.frexp(mass)[1]) - BITS
        scaled = np.ldexp(weights, -exponent)
        rounded = np.rint(scaled)
        lost = np.abs(scaled - rounded).sum(axis=1).max()
        integers = rounded.astype(np.int64)
        positives = np.maximum(integers, 0).sum(axis=1)
        return cls(integers, integers.sum(axis=1), positives, exponent, int(np.ceil(lost)) + (mass > 0))

    def real(self, units: int) -> float:
        """Return a number of units as a float."""
        return ldexp(float(units), self.exponent)

    def real_square(self, square: float) -> float:
        """Return a number of squared units as a float, inf if it is too large for one."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(square, 2 * self.exponent))

    def bound(self, units: int) -> float:
        """Return a float that no exact edge exceeds if no rounded edge exceeds `units`."""
        return nextafter(self.real(units + self.error), inf) if units + self.error else 0.0


class Bins(NamedTuple):
    """Features cut into at most 256 bins each, at places where their values change; `_starts` say where each begins."""

    features: Ints  # (n_binned,), which features they are
    cuts: Ints  # the places where the bins of each feature start, then the one where its last bin ends
    cut_starts: Ints
    mixed: NDArray[np.bool_]  # as `cuts`: True if the bin that starts there holds several distinct values
    codes: NDArray[np.uint8]  # the bins of the samples that are listed, feature by feature
    code_starts: Ints
    rows: NDArray[np.int32]  # the samples that are listed, ascending; first all samples, shared by who lists all
    row_starts: Ints
    rest: Ints  # (n_binned,), the bin of all samples that are not listed; -1 if all of them are


class _FeatureBins(NamedTuple):
    """The bins of one feature; the names are those of `Bins`."""

    cuts: Ints
    mixed: NDArray[np.bool_]
    rest: int
    rows: NDArray[np.int32]
    codes: NDArray[np.uint8]


def cut_into_bins(features: SortedFeatures, chosen: Ints) -> Bins:
    """Cut the `chosen` features; up to 256 distinct values are bins of their own.

    Examples
    --------
    >>> bins = cut_into_bins(SortedFeatures([[0.5, 3.0], [0.5, 1.0], [0.5, 2.0], [7.0, 2.0]]), np.arange(2))
    >>> bins.cuts, bins.cut_starts
    (array([0, 3, 4, 0, 1, 3, 4]), array([0, 3, 7]))
    >>> bins.rest, bins.codes, bins.rows
    (array([0, 1]), array([1, 2, 0], dtype=uint8), array([0, 1, 2, 3, 3, 0, 1], dtype=int32))
    """
    by_feature = map_in_threads(partial(_cut, features), chosen.tolist())
    rest = np.array([b.rest for b in by_feature], np.int64)
    cuts, cut_starts = _join([b.cuts for b in by_feature], np.int64)
    mixed, _ = _join([b.mixed for b in by_feature], np.bool_)
    codes, code_starts = _join([b.codes for b in by_feature], np.uint8)
    everyone = np.arange(features.n_samples, dtype=np.int32)
    rows, row_starts = _join([everyone, *(b.rows[: len(b.rows) * (b.rest >= 0)] for b in by_feature)], np.int32)
    row_starts = np.where(rest < 0, 0, row_starts[1:-1])
    return Bins(chosen, cuts, cut_starts, mixed, codes, code_starts, rows, row_starts, rest)


def _join(parts: Sequence[NDArray], kind: DTypeLike) -> tuple[NDArray, Ints]:
    """Return all parts as one array, and where each starts and the last ends."""
    return np.concatenate([np.empty(0, kind), *parts]), np.cumsum([0, *map(len, parts)])


def _cut(features: SortedFeatures, feature: int) -> _FeatureBins:
    places, rows = features.places(feature), features.ascending(feature)
    cuts = np.concatenate([[0], _inner_cuts(places, len(rows)), [len(rows)]])
    mixed = np.searchsorted(places, cuts[1:]) > np.searchsorted(places, cuts[:-1], "right")
    sizes = cuts[1:] - cuts[:-1]
    codes = np.repeat(np.arange(len(sizes), dtype=np.uint8), sizes)
    rest = _choose_rest(rows, codes, features.n_samples)
    listed = np.flatnonzero(codes != rest)
    listed = listed[np.argsort(rows[listed])]
    return _FeatureBins(cuts, np.append(mixed, False), rest, rows[listed], codes[listed])


def _inner_cuts(places: Ints, n_entries: int) -> Ints:
    """Return at most 255 of `places`: all, or those on both sides of equal shares, so that heavy values stand alone."""
    n_bins = N_BINS
    chosen = places
    while len(chosen) >= N_BINS:
        shares = np.arange(1, n_bins) * n_entries // n_bins
        before = np.searchsorted(places, shares, "right") - 1
        after = np.searchsorted(places, shares)
        chosen = np.unique(places[np.clip(np.append(before, after), 0, len(places) - 1)])
        n_bins //= 2
    return chosen


def _choose_rest(rows: NDArray[np.int32], codes: NDArray[np.uint8], n_samples: int) -> int:
    """Return the bin not to list: that of zeros that are not stored, or of at least half the samples, or none (-1)."""
    last = int(rows.argmax())
    middle = int(codes[len(codes) // 2])
    if rows[last] == n_samples:
        return int(codes[last])
    return middle if 2 * np.count_nonzero(codes == middle) >= n_samples else -1


class Best(NamedTuple):
    """The best open stump of every output and feature, in the units of the weights, (n_outputs, n_features) each."""

    edges: Ints  # the edge of sign +1 that is largest by magnitude
    places: Ints  # where it is; 0 if no place is open
    largest: Ints  # the largest magnitude of an edge, closed or open
    squares: Array  # the sum of squared edges over the places that were visited

    def merge_outputs(self) -> Best:
        """Return the best of all outputs, of equal edges the lowest place, all shapes (n_features,); squares add up."""
        magnitudes = np.abs(self.edges)
        winning = np.where(magnitudes == magnitudes.max(axis=0), self.places, NO_BOUND).argmin(axis=0)
        edges, places = (np.take_along_axis(a, winning[np.newaxis], axis=0)[0] for a in (self.edges, self.places))
        return Best(edges, places, self.largest.max(axis=0), self.squares.sum(axis=0))


class Query(NamedTuple):
    """Signed weights in fixed point, and the places of the stumps that are excluded."""

    integers: Ints
    totals: Ints
    positives: Ints
    closed: Ints  # places that must not be answered with, feature by feature
    closed_starts: Ints  # (n_features + 1,)

    def empty_answer(self) -> Best:
        """Return the answer before any place was visited."""
        edges, places, largest = np.zeros((3, len(self.totals), len(self.closed_starts) - 1), np.int64)
        return Best(edges, places, largest, np.zeros(edges.shape))


class SortedScan(NamedTuple):
    """Features to be scanned through in sorted order, bin by bin; named as in `Bins` and `SortedFeatures`."""

    features: Ints
    cuts: Ints
    cut_starts: Ints
    starts: Ints
    rows: NDArray[np.int32]
    changes: NDArray[np.bool_]
    has_zeros: NDArray[np.bool_]


class BinBounds(NamedTuple):
    """The sum of the weights before every bin of the scanned features, and a bound on the edges inside."""

    slots: Ints  # (n_binned,), which scanned feature a binned one is, -1 if it is none
    below: Ints  # (n_outputs, n_scanned, n_bins)
    reach: Ints  # shaped as `below`, of the magnitude of edges; -1 if there are none


class StumpSearch:
    """The search over one sample: the bins and sorted features are prepared before any weights are known.

    Features of at most 256 distinct values are exact in bins. The others are scanned: all the way if `every_place`, as
    the sum of squared edges requires, else only through bins where an edge could reach the best one known. Inside a
    bin, `below` stays between its value at the start plus the negative weights of the bin, and that plus the positive.
    """

    def __init__(self, features: SortedFeatures, *, every_place: bool) -> None:
        wide = features.n_distinct > N_BINS
        self.n_features = features.n_features
        self.bins = cut_into_bins(features, np.flatnonzero(~wide | (not every_place)))
        self.scan = _prepare_scan(features, np.flatnonzero(wide), None if every_place else self.bins)
        self.slots = np.where(wide, np.cumsum(wide) - 1, -1)[self.bins.features]
        self.known = (N_BINS, -1) if not every_place else (1, NO_BOUND)

    def best(self, query: Query, count: int) -> Best:
        """Return the best open stump of every feature over all outputs, exact for the `count` largest edges."""
        n_bins, reach = self.known
        shape = len(query.totals), len(self.scan.features), n_bins
        bounds = BinBounds(self.slots, np.zeros(shape, np.int64), np.full(shape, reach))
        best = query.empty_answer()
        n_outputs, n_threads = len(query.totals), threads_for(query.integers.size * self.n_features)

        def visit_bins(tasks: slice) -> None:
            _visit_bins((tasks.start, tasks.stop), query, self.bins, bounds, best)

        def visit_places(tasks: slice) -> None:
            _visit_places((tasks.start, tasks.stop), query, self.scan, bounds, best)

        map_slices(visit_bins, n_outputs * len(self.bins.features), n_threads, guided=True)
        # a bin can be left out if its bound is below the best edge of its feature, or below the `count` best of all
        top = np.abs(best.edges).max(axis=0)
        rank = max(self.n_features - count, 0)
        floor = np.maximum(top[self.scan.features], np.partition(top, rank)[rank])
        bounds.reach[bounds.reach < floor[:, np.newaxis]] = -1
        map_slices(visit_places, n_outputs * len(self.scan.features), n_threads, guided=True)
        return best.merge_outputs()


def _prepare_scan(features: SortedFeatures, chosen: Ints, bins: Bins | None) -> SortedScan:
    """Prepare the `chosen` features for a scan between the cuts of `bins`, or all the way."""
    if bins is None:
        sizes = np.diff(features.starts)[chosen]
        cuts, cut_starts = np.stack([np.zeros_like(sizes), sizes], axis=1).ravel(), 2 * np.arange(len(chosen))
    else:
        cuts, cut_starts = bins.cuts, bins.cut_starts[chosen]
    rows = features.entry_rows if len(chosen) else np.empty(0, np.int32)
    changes = features.changes if len(chosen) else np.empty(0, np.bool_)
    return SortedScan(chosen, cuts, cut_starts, features.starts, rows, changes, features.has_zeros)


@njit(cache=True, nogil=True)
def _visit_bins(tasks: tuple[int, int], query: Query, bins: Bins, bounds: BinBounds, best: Best) -> None:
    """Compare the edges at the cuts between bins; note the bounds of what is inside the bins."""
    for task in range(tasks[0], tasks[1]):
        _visit_bins_of_feature(task, query, bins, bounds, best)


@njit(cache=True)
def _visit_bins_of_feature(task: int, query: Query, bins: Bins, bounds: BinBounds, best: Best) -> None:
    """Visit the bins of one feature under the weights of one output."""
    o, f = task // len(bins.features), task % len(bins.features)
    edge, place, largest, squares = 0, 0, 0, 0.0
    own = slice(bins.cut_starts[f], bins.cut_starts[f + 1])
    cuts, mixed = bins.cuts[own], bins.mixed[own]
    feature, slot = bins.features[f], bounds.slots[f]
    shut = _list_closed(feature, query)
    sums = _sum_bins(o, f, query, bins, slot >= 0)
    below = 0
    for b in range(len(cuts) - 1):
        here = query.totals[o] - 2 * below
        if b > 0:
            squares += float(here) * float(here)
            if abs(here) >= abs(edge):
                edge, place, largest = _compare((edge, place, largest), here, cuts[b], shut)
        if slot >= 0:
            # inside the bin `below` gains some of these weights only
            reach = max(abs(here - 2 * sums[0, b]), abs(here - 2 * sums[1, b]))
            bounds.below[o, slot, b] = below
            bounds.reach[o, slot, b] = reach if mixed[b] else -1
        below += sums[0, b] + sums[1, b]
    best.edges[o, feature], best.places[o, feature] = edge, place
    best.largest[o, feature], best.squares[o, feature] = largest, squares


@njit(cache=True)
def _sum_bins(o: int, f: int, query: Query, bins: Bins, split: bool) -> Ints:
    """Sum the weights >= 0 and those < 0 in every bin (all and none if not `split`), shape (2, n_bins)."""
    weights, n_bins = query.integers[o], bins.cut_starts[f + 1] - bins.cut_starts[f] - 1
    codes = bins.codes[bins.code_starts[f] : bins.code_starts[f + 1]]
    rows = bins.rows[bins.row_starts[f] : bins.row_starts[f] + len(codes)]
    width, if_negative = (1 + split) * n_bins, np.uint64(split * n_bins)
    lanes = np.zeros((N_LANES, width), np.int64)
    for i in range(len(codes)):
        # neighbours in different lanes, so that none waits for the one before; unsigned indices are not wrapped
        weight = weights[rows[i]]
        lanes[i % N_LANES, np.uint64(codes[i]) + (np.uint64(weight >> 63) & if_negative)] += weight
    sums = np.zeros(2 * n_bins, np.int64)
    for lane in range(N_LANES):
        for k in range(width):
            sums[k] += lanes[lane, k]
    if bins.rest[f] >= 0:
        all_of = query.positives[o] if split else query.totals[o]
        sums[bins.rest[f]] = all_of - sums[:n_bins].sum()
        sums[n_bins + bins.rest[f]] = query.totals[o] - all_of - sums[n_bins:].sum()
    return sums.reshape((2, n_bins))


@njit(cache=True, nogil=True)
def _visit_places(tasks: tuple[int, int], query: Query, scan: SortedScan, bounds: BinBounds, best: Best) -> None:
    """Compare the edges inside all bins that could hold the best stump of their feature."""
    for task in range(tasks[0], tasks[1]):
        _visit_places_of_feature(task, query, scan, bounds, best)


@njit(cache=True)
def _visit_places_of_feature(task: int, query: Query, scan: SortedScan, bounds: BinBounds, best: Best) -> None:
    """Visit the places of one feature under the weights of one output."""
    o, f = task // len(scan.features), task % len(scan.features)
    feature = scan.features[f]
    edge, place, largest = best.edges[o, feature], best.places[o, feature], best.largest[o, feature]
    squares = best.squares[o, feature]
    entries = slice(scan.starts[feature], scan.starts[feature + 1])
    rows, changes = scan.rows[entries], scan.changes[entries]
    shut = _list_closed(feature, query)
    weights, total = query.integers[o], query.totals[o]
    zeros = _weight_of_zeros(weights, total, rows) if scan.has_zeros[feature] else 0
    for b in range(bounds.reach.shape[2]):
        if bounds.reach[o, f, b] >= abs(edge):
            below, cut = bounds.below[o, f, b], scan.cut_starts[f] + b
            for k in range(scan.cuts[cut] + 1, scan.cuts[cut + 1]):
                row = rows[k - 1]
                below += weights[row] if row < len(weights) else zeros
                if changes[k]:
                    here = total - 2 * below
                    squares += float(here) * float(here)
                    if abs(here) >= abs(edge):
                        edge, place, largest = _compare((edge, place, largest), here, k, shut)
    best.edges[o, feature], best.places[o, feature] = edge, place
    best.largest[o, feature], best.squares[o, feature] = largest, squares


@njit(cache=True)
def _weight_of_zeros(weights: Ints, total: int, rows: NDArray[np.int32]) -> int:
    """Return the sum of the weights of all samples that are not in `rows`."""
    for row in rows:
        if row < len(weights):
            total -= weights[row]
    return total


@njit(cache=True)
def _compare(best: tuple[int, int, int], edge: int, place: int, shut: Ints) -> tuple[int, int, int]:
    """Return edge, place and largest magnitude after a stump whose edge is no smaller than the best one's."""
    best_edge, best_place, largest = best
    largest = max(largest, abs(edge))
    loses = abs(edge) == abs(best_edge) and 0 < best_place < place
    return (best_edge, best_place, largest) if loses or place in shut else (edge, place, largest)


@njit(cache=True)
def _list_closed(feature: int, query: Query) -> Ints:
    """Return the closed places of one feature."""
    return query.closed[query.closed_starts[feature] : query.closed_starts[feature + 1]]
