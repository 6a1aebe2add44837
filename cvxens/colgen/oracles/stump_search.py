"""The search for the best stump of every feature, exact in integers: histogram first, then a scan of sorted samples.

Two notions. A **place** of a feature is a cut between two of its sorted samples; the stump there has the edge
``total - 2 below``, `below` the sum of the weights of the samples before it. A **bin** is a run of places. Summing the
weights by bin, as histogram methods of gradient boosting do, gives the edges at the ends of the bins exactly and bounds
those inside; scanning sorted samples, as CART does, gives every edge. Here bins are scanned only where their bound
reaches the best edge known, so that the answer is that of the whole scan. Sums are of integers (`FixedPoint`): they are
the same in every order, so ties are ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.colgen.oracles.bins import N_BINS, Bins, Ints, cut_into_bins
from cvxens.features import SortedFeatures
from cvxens.threads import map_slices, threads_for
from cvxens.types import Array

N_LANES = 4
"""Neighbouring samples are summed in so many tables, so that no addition waits for the one before."""

NO_BOUND = 2**62
"""Above every edge: the magnitudes of weights add up to about 2**61 at most."""


class Best(NamedTuple):
    """The best open stump of every output and feature, in the units of the weights.

    Parameters
    ----------
    edges : ndarray of int64, shape (n_outputs, n_features)
        The edge of sign +1 that is largest by magnitude.
    places : ndarray of int64, shape (n_outputs, n_features)
        Where it is (see `SortedFeatures`); 0 if no place is open.
    largest : ndarray of int64, shape (n_outputs, n_features)
        The largest magnitude of an edge, closed or open.
    squares : ndarray of shape (n_outputs, n_features)
        The sum of squared edges over the places that were visited.
    """

    edges: Ints
    places: Ints
    largest: Ints
    squares: Array

    def over_outputs(self) -> Best:
        """Return the best of all outputs, of equal edges the lowest place, all shapes (n_features,); squares add up."""
        magnitudes = np.abs(self.edges)
        winning = np.where(magnitudes == magnitudes.max(axis=0), self.places, NO_BOUND).argmin(axis=0)
        edges, places = (np.take_along_axis(a, winning[np.newaxis], axis=0)[0] for a in (self.edges, self.places))
        return Best(edges, places, self.largest.max(axis=0), self.squares.sum(axis=0))


class Query(NamedTuple):
    """Signed weights in fixed point, and the places of the stumps that are excluded.

    Parameters
    ----------
    integers : ndarray of int64, shape (n_outputs, n_samples)
        The signed weights, see `FixedPoint`.
    totals, positives : ndarray of int64, shape (n_outputs,)
        The sums of the weights, and of those that are positive.
    closed : ndarray of int64, shape (n_closed,)
        Places that must not be answered with, feature by feature.
    closed_starts : ndarray of int64, shape (n_features + 1,)
        Where the closed places of each feature start.
    """

    integers: Ints
    totals: Ints
    positives: Ints
    closed: Ints
    closed_starts: Ints

    def empty_answer(self) -> Best:
        """Return the answer before any place was visited."""
        edges, places, largest = np.zeros((3, len(self.totals), len(self.closed_starts) - 1), np.int64)
        return Best(edges, places, largest, np.zeros(edges.shape))


class SortedScan(NamedTuple):
    """Features to be scanned through in sorted order, bin by bin.

    Parameters
    ----------
    features : ndarray of int64, shape (n_scanned,)
        Which features they are.
    cuts, cut_starts : ndarray of int64
        See `Bins`.
    starts, rows, changes, has_zeros : ndarray
        The sorted entries of all features, see `SortedFeatures`.
    """

    features: Ints
    cuts: Ints
    cut_starts: Ints
    starts: Ints
    rows: NDArray[np.int32]
    changes: NDArray[np.bool_]
    has_zeros: NDArray[np.bool_]


class BinBounds(NamedTuple):
    """Of every bin of the scanned features: the sum of the weights before it, and a bound on the edges inside.

    Parameters
    ----------
    slots : ndarray of int64, shape (n_binned,)
        Which scanned feature a binned one is, -1 if it is none.
    below : ndarray of int64, shape (n_outputs, n_scanned, n_bins)
        The sum of the weights of all samples before the bin.
    reach : ndarray of int64, shape (n_outputs, n_scanned, n_bins)
        A bound on the magnitude of the edges inside the bin; -1 if there are none.
    """

    slots: Ints
    below: Ints
    reach: Ints


class StumpSearch:
    """The search over one sample: the bins and sorted features are prepared before any weights are known.

    Features of at most 256 distinct values are exact in bins. The others are
    scanned: all the way if `every_place`, else only through bins where an edge could reach the best one
    known. Inside a bin, `below` stays between its value at the start plus the negative weights of the bin,
    and its value at the start plus the positive ones.

    Parameters
    ----------
    features : SortedFeatures
        The sample.
    every_place : bool
        True to visit every place, as the sum of squared edges requires.
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
        return best.over_outputs()


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
        _visit_bins_of(task, query, bins, bounds, best)


@njit(cache=True)
def _visit_bins_of(task: int, query: Query, bins: Bins, bounds: BinBounds, best: Best) -> None:
    """Visit the bins of one feature under the weights of one output."""
    o, f = task // len(bins.features), task % len(bins.features)
    edge, place, largest, squares = 0, 0, 0, 0.0
    own = slice(bins.cut_starts[f], bins.cut_starts[f + 1])
    cuts, mixed = bins.cuts[own], bins.mixed[own]
    feature, slot = bins.features[f], bounds.slots[f]
    shut = _closed_of(feature, query)
    sums = _sums(o, f, query, bins, slot >= 0)
    below = 0
    for b in range(len(cuts) - 1):
        here = query.totals[o] - 2 * below
        if b > 0:
            squares += float(here) * float(here)
            if abs(here) >= abs(edge):
                edge, place, largest = _better((edge, place, largest), here, cuts[b], shut)
        if slot >= 0:
            # inside the bin `below` gains some of these weights only
            reach = max(abs(here - 2 * sums[0, b]), abs(here - 2 * sums[1, b]))
            bounds.below[o, slot, b] = below
            bounds.reach[o, slot, b] = reach if mixed[b] else -1
        below += sums[0, b] + sums[1, b]
    best.edges[o, feature], best.places[o, feature] = edge, place
    best.largest[o, feature], best.squares[o, feature] = largest, squares


@njit(cache=True)
def _sums(o: int, f: int, query: Query, bins: Bins, split: bool) -> Ints:
    """Return the sums of the weights >= 0 and < 0 in every bin (of all and none if not `split`), shape (2, n_bins)."""
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
        _visit_places_of(task, query, scan, bounds, best)


@njit(cache=True)
def _visit_places_of(task: int, query: Query, scan: SortedScan, bounds: BinBounds, best: Best) -> None:
    """Visit the places of one feature under the weights of one output."""
    o, f = task // len(scan.features), task % len(scan.features)
    feature = scan.features[f]
    edge, place, largest = best.edges[o, feature], best.places[o, feature], best.largest[o, feature]
    squares = best.squares[o, feature]
    entries = slice(scan.starts[feature], scan.starts[feature + 1])
    rows, changes = scan.rows[entries], scan.changes[entries]
    shut = _closed_of(feature, query)
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
                        edge, place, largest = _better((edge, place, largest), here, k, shut)
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
def _better(best: tuple[int, int, int], edge: int, place: int, shut: Ints) -> tuple[int, int, int]:
    """Return edge, place and largest magnitude after a stump whose edge is no smaller than the best one's."""
    best_edge, best_place, largest = best
    largest = max(largest, abs(edge))
    loses = abs(edge) == abs(best_edge) and 0 < best_place < place
    return (best_edge, best_place, largest) if loses or place in shut else (edge, place, largest)


@njit(cache=True)
def _closed_of(feature: int, query: Query) -> Ints:
    """Return the closed places of one feature."""
    return query.closed[query.closed_starts[feature] : query.closed_starts[feature + 1]]
