"""The search for the best stump of every feature: bins first, then, sample by sample, what bins leave open."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from cvxens.colgen.oracles.fixed_point import FixedPoint
from cvxens.features import SortedFeatures, in_threads
from cvxens.types import Array

N_BINS = 256
NO_BOUND = 2**62

Ints: TypeAlias = NDArray[np.int64]


class Best(NamedTuple):
    """The best stump of each of some features, in the units of the weights.

    Parameters
    ----------
    edges : ndarray of int64, shape (n_features,)
        The edge of sign +1 that is largest by magnitude, over all outputs.
    places : ndarray of int64, shape (n_features,)
        Where it is (see `SortedFeatures`); 0 in a constant feature.
    squares : ndarray of shape (n_features,)
        The sum of squared edges over the places that were visited.
    """

    edges: Ints
    places: Ints
    squares: Array

    def put(self, features: Ints, part: Best) -> None:
        """Write what was found for some features."""
        self.edges[features], self.places[features], self.squares[features] = part


class Bins(NamedTuple):
    """Features cut into at most 256 bins, at places where their values change.

    Parameters
    ----------
    features : ndarray of int64, shape (n_binned,)
        Which features they are.
    codes : ndarray of uint8, shape (n_binned, n_samples)
        The bin of every sample.
    cuts : ndarray of int64, shape (n_binned, 257)
        The place where every bin starts; n_samples after the last.
    mixed : ndarray of bool, shape (n_binned, 256)
        Whether a bin holds several distinct values.
    """

    features: Ints
    codes: NDArray[np.uint8]
    cuts: Ints
    mixed: NDArray[np.bool_]


class Walk(NamedTuple):
    """Features to be walked through in sorted order, bin by bin.

    Parameters
    ----------
    features : ndarray of int64, shape (n_walked,)
        Which features they are.
    cuts : ndarray of int64, shape (n_features, n_bins + 1)
        The place where every bin starts.
    starts, rows, changes, has_zeros : ndarray
        The sorted entries of all features, see `SortedFeatures`.
    """

    features: Ints
    cuts: Ints
    starts: Ints
    rows: NDArray[np.int32]
    changes: NDArray[np.bool_]
    has_zeros: NDArray[np.bool_]


class Prospect(NamedTuple):
    """What is known of the edges inside bins.

    Parameters
    ----------
    below : ndarray of int64, shape (n_features, n_outputs, n_bins)
        The sum of the weights of all samples before the bin.
    reach : ndarray of int64, shape (n_features, n_outputs, n_bins)
        A bound on the magnitude of the edges inside the bin; -1 if there are none.
    """

    below: Ints
    reach: Ints


class StumpSearch:
    """What can be prepared before the weights are known, and the search itself.

    A stump at a place of a feature has the edge ``total - 2 below``, `below` the sum of the weights of the
    samples before the place. Features of at most 256 distinct values are exact in bins. The others are
    walked: all the way if `every_place` or if some zeros are not stored, else only through bins where an
    edge could reach the best one known. Inside a bin, `below` stays between its value at the start plus
    the negative weights of the bin, and its value at the start plus the positive ones.

    Parameters
    ----------
    features : SortedFeatures
        The sample.
    every_place : bool
        Whether to visit every place, as the sum of squared edges requires.
    """

    def __init__(self, features: SortedFeatures, *, every_place: bool) -> None:
        long = features.has_zeros | (features.n_distinct > N_BINS)
        self.skipping = not (every_place or features.has_zeros.any())
        self.bins = _bins(features, np.flatnonzero(~long | self.skipping))
        self.walk = _walk(features, np.flatnonzero(long), self.bins.cuts if self.skipping else None)

    def best(self, weights: FixedPoint, count: int) -> Best:
        """Return the best stump of every feature, exact for the `count` features with the largest edges."""
        n_features, n_outputs = len(self.walk.has_zeros), len(weights.totals)
        best = Best(np.zeros(n_features, np.int64), np.zeros(n_features, np.int64), np.zeros(n_features))
        found, prospect = _visit_bins(weights, self.bins)
        best.put(self.bins.features, found)
        if len(self.walk.features):
            if not self.skipping:
                shape = n_features, n_outputs, 1
                prospect = Prospect(np.zeros(shape, np.int64), np.full(shape, NO_BOUND))
            rank = max(n_features - count, 0)
            floor = np.partition(np.abs(best.edges), rank)[rank]
            prospect.reach[prospect.reach < floor] = -1
            found = _visit_places(weights, self.walk, prospect, best)
            best.put(self.walk.features, found)
        return best


def _bins(features: SortedFeatures, chosen: Ints) -> Bins:
    """Cut the `chosen` features into bins."""
    n_binned, n_samples = len(chosen), features.n_samples
    codes = np.empty((n_binned, n_samples), np.uint8)
    cuts = np.full((n_binned, N_BINS + 1), n_samples)
    mixed = np.empty((n_binned, N_BINS), np.bool_)

    def fill(f: int) -> None:
        places = features.places(chosen[f])
        inner = _inner_cuts(places, n_samples)
        cuts[f, : len(inner) + 1] = np.append(0, inner)
        codes[f, features.ascending(chosen[f])] = np.repeat(np.arange(N_BINS, dtype=np.uint8), np.diff(cuts[f]))
        mixed[f] = np.searchsorted(places, cuts[f, 1:]) > np.searchsorted(places, cuts[f, :-1], "right")

    in_threads(fill, n_binned)
    return Bins(chosen, codes, cuts, mixed)


def _inner_cuts(places: Ints, n_samples: int) -> Ints:
    """Return at most 255 of `places`: all, or those on both sides of equal shares, so that a heavy value is alone."""
    n_bins = N_BINS
    chosen = places
    while len(chosen) >= N_BINS:
        shares = np.arange(1, n_bins) * n_samples // n_bins
        before = np.searchsorted(places, shares, "right") - 1
        after = np.searchsorted(places, shares)
        chosen = np.unique(places[np.clip(np.append(before, after), 0, len(places) - 1)])
        n_bins //= 2
    return chosen


def _walk(features: SortedFeatures, chosen: Ints, cuts: Ints | None) -> Walk:
    """Prepare the `chosen` features for walking, each in one bin unless `cuts` says otherwise."""
    sizes = np.diff(features.starts)
    cuts = np.stack([np.zeros_like(sizes), sizes], axis=1) if cuts is None else cuts
    rows = features.entry_rows if len(chosen) else np.empty(0, np.int32)
    changes = features.changes if len(chosen) else np.empty(0, np.bool_)
    return Walk(chosen, cuts, features.starts, rows, changes, features.has_zeros)


@njit(parallel=True, cache=True)
def _visit_bins(weights: FixedPoint, bins: Bins) -> tuple[Best, Prospect]:
    """Compare the edges at the cuts between bins, and bound those inside the bins."""
    n_binned = len(bins.features)
    edges, places, squares = np.empty(n_binned, np.int64), np.empty(n_binned, np.int64), np.empty(n_binned)
    below = np.empty((n_binned, len(weights.totals), N_BINS), np.int64)
    reach = np.empty((n_binned, len(weights.totals), N_BINS), np.int64)
    for f in prange(n_binned):
        edges[f], places[f], squares[f] = _visit_bins_of(f, weights, bins, Prospect(below[f], reach[f]))
    return Best(edges, places, squares), Prospect(below, reach)


@njit(cache=True)
def _visit_bins_of(f: int, weights: FixedPoint, bins: Bins, prospect: Prospect) -> tuple[int, int, float]:
    """Fill in the prospect of one feature; return its best edge at a cut, the place, the sum of squares."""
    edge, place, squares = 0, 0, 0.0
    for o in range(len(weights.totals)):
        sums, total = _sums(weights.integers[o], bins.codes[f]), weights.totals[o]
        below = 0
        for b in range(N_BINS):
            cut = bins.cuts[f, b]
            here = total - 2 * below
            if 0 < cut < bins.codes.shape[1]:
                squares += float(here) * float(here)
                if _wins(here, cut, edge, place):
                    edge, place = here, cut
            prospect.below[o, b] = below
            # inside the bin `below` only gains some of these weights
            reach = max(abs(here - 2 * sums[0, b]), abs(here - 2 * sums[1, b]))
            prospect.reach[o, b] = reach if bins.mixed[f, b] else -1
            below += sums[0, b] + sums[1, b]
    return edge, place, squares


@njit(cache=True)
def _sums(weights: Ints, codes: NDArray[np.uint8]) -> Ints:
    """Return the sums of the weights >= 0 and of those < 0 in every bin, shape (2, N_BINS)."""
    sums = np.zeros(2 * N_BINS, np.int64)
    for i in range(len(codes)):
        sums[codes[i] + ((weights[i] >> 63) & N_BINS)] += weights[i]
    return sums.reshape(2, N_BINS)


@njit(parallel=True, cache=True)
def _visit_places(weights: FixedPoint, walk: Walk, prospect: Prospect, best: Best) -> Best:
    """Compare the edges inside all bins that could hold the best stump of their feature."""
    n_walked = len(walk.features)
    edges, places, squares = np.empty(n_walked, np.int64), np.empty(n_walked, np.int64), np.empty(n_walked)
    for f in prange(n_walked):
        edges[f], places[f], squares[f] = _visit_places_of(walk.features[f], weights, walk, prospect, best)
    return Best(edges, places, squares)


@njit(cache=True)
def _visit_places_of(f: int, weights: FixedPoint, walk: Walk, prospect: Prospect, best: Best) -> tuple[int, int, float]:
    """Return the best edge of one feature, its place, and the sum of squares of the edges visited."""
    edge, place, squares = best.edges[f], best.places[f], 0.0
    rows = walk.rows[walk.starts[f] : walk.starts[f + 1]]
    changes = walk.changes[walk.starts[f] : walk.starts[f + 1]]
    for o in range(len(weights.totals)):
        own, total = weights.integers[o], weights.totals[o]
        zeros = _weight_of_zeros(own, total, rows) if walk.has_zeros[f] else 0
        for b in range(prospect.reach.shape[2]):
            if prospect.reach[f, o, b] >= abs(edge):
                below = prospect.below[f, o, b]
                for k in range(walk.cuts[f, b] + 1, walk.cuts[f, b + 1]):
                    row = rows[k - 1]
                    below += own[row] if row < len(own) else zeros
                    if changes[k]:
                        here = total - 2 * below
                        squares += float(here) * float(here)
                        if _wins(here, k, edge, place):
                            edge, place = here, k
    return edge, place, squares


@njit(cache=True)
def _weight_of_zeros(weights: Ints, total: int, rows: NDArray[np.int32]) -> int:
    """Return the sum of the weights of all samples that are not in `rows`."""
    for row in rows:
        if row < len(weights):
            total -= weights[row]
    return total


@njit(cache=True)
def _wins(edge: int, place: int, best_edge: int, best_place: int) -> bool:
    """Say whether an edge is the larger one; of equal ones the lower place wins, and place 0 is no stump."""
    gain = abs(edge) - abs(best_edge)
    return gain > 0 or (gain == 0 and (best_place == 0 or place < best_place))
