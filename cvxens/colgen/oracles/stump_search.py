"""The search for the best stump of every feature: bins first, then, sample by sample, what bins leave open."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from cvxens.colgen.oracles.bins import N_BINS, Bins, Ints, cut_into_bins
from cvxens.colgen.oracles.fixed_point import FixedPoint
from cvxens.features import SortedFeatures
from cvxens.types import Array

N_LANES = 4
NO_BOUND = 2**62


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


class Walk(NamedTuple):
    """Features to be walked through in sorted order, bin by bin.

    Parameters
    ----------
    features : ndarray of int64, shape (n_walked,)
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


class Prospect(NamedTuple):
    """What is known of the bins of the walked features.

    Parameters
    ----------
    below : ndarray of int64, shape (n_walked, n_outputs, n_bins)
        The sum of the weights of all samples before the bin.
    reach : ndarray of int64, shape (n_walked, n_outputs, n_bins)
        A bound on the magnitude of the edges inside the bin; -1 if there are none.
    """

    below: Ints
    reach: Ints


class StumpSearch:
    """What can be prepared before the weights are known, and the search itself.

    A stump at a place of a feature has the edge ``total - 2 below``, `below` the sum of the weights of the
    samples before the place. Features of at most 256 distinct values are exact in bins. The others are
    walked: all the way if `every_place`, else only through bins where an edge could reach the best one
    known. Inside a bin, `below` stays between its value at the start plus the negative weights of the bin,
    and its value at the start plus the positive ones.

    Parameters
    ----------
    features : SortedFeatures
        The sample.
    every_place : bool
        Whether to visit every place, as the sum of squared edges requires.
    """

    def __init__(self, features: SortedFeatures, *, every_place: bool) -> None:
        wide = features.n_distinct > N_BINS
        self.n_features = features.n_features
        self.bins = cut_into_bins(features, np.flatnonzero(~wide | (not every_place)))
        self.walk = _walk(features, np.flatnonzero(wide), None if every_place else self.bins)
        self.slots = np.where(wide, np.cumsum(wide) - 1, -1)[self.bins.features]
        self.known = (N_BINS, -1) if not every_place else (1, NO_BOUND)

    def best(self, weights: FixedPoint, count: int) -> Best:
        """Return the best stump of every feature, exact for the `count` features with the largest edges."""
        edges, places = np.zeros((2, self.n_features), np.int64)
        best = Best(edges, places, np.zeros(self.n_features))
        n_bins, reach = self.known
        shape = len(self.walk.features), len(weights.totals), n_bins
        prospect = Prospect(np.zeros(shape, np.int64), np.full(shape, reach))
        best.put(self.bins.features, _visit_bins(weights, self.bins, self.slots, prospect))
        rank = max(self.n_features - count, 0)
        prospect.reach[prospect.reach < np.partition(np.abs(best.edges), rank)[rank]] = -1
        best.put(self.walk.features, _visit_places(weights, self.walk, prospect, best))
        return best


def _walk(features: SortedFeatures, chosen: Ints, bins: Bins | None) -> Walk:
    """Prepare the `chosen` features for walking between the cuts of `bins`, or all the way."""
    if bins is None:
        sizes = np.diff(features.starts)[chosen]
        cuts, cut_starts = np.stack([np.zeros_like(sizes), sizes], axis=1).ravel(), 2 * np.arange(len(chosen))
    else:
        cuts, cut_starts = bins.cuts, bins.cut_starts[chosen]
    rows = features.entry_rows if len(chosen) else np.empty(0, np.int32)
    changes = features.changes if len(chosen) else np.empty(0, np.bool_)
    return Walk(chosen, cuts, cut_starts, features.starts, rows, changes, features.has_zeros)


@njit(parallel=True, cache=True)
def _visit_bins(weights: FixedPoint, bins: Bins, slots: Ints, prospect: Prospect) -> Best:
    """Compare the edges at the cuts between bins; note the prospect of what is inside the bins."""
    n_binned = len(bins.features)
    edges, places, squares = np.empty(n_binned, np.int64), np.empty(n_binned, np.int64), np.empty(n_binned)
    for f in prange(n_binned):
        edges[f], places[f], squares[f] = _visit_bins_of(f, weights, bins, slots[f], prospect)
    return Best(edges, places, squares)


@njit(cache=True)
def _visit_bins_of(f: int, weights: FixedPoint, bins: Bins, slot: int, prospect: Prospect) -> tuple[int, int, float]:
    """Return the best edge of one feature at a cut, its place, and the sum of squares of the edges visited."""
    edge, place, squares = 0, 0, 0.0
    own = slice(bins.cut_starts[f], bins.cut_starts[f + 1])
    cuts, mixed = bins.cuts[own], bins.mixed[own]
    for o in range(len(weights.totals)):
        sums = _sums(f, o, weights, bins)
        below = 0
        for b in range(len(cuts) - 1):
            here = weights.totals[o] - 2 * below
            if b > 0:
                squares += float(here) * float(here)
                if _wins(here, cuts[b], edge, place):
                    edge, place = here, cuts[b]
            if slot >= 0:
                # inside the bin `below` gains some of these weights only
                reach = max(abs(here - 2 * sums[0, b]), abs(here - 2 * sums[1, b]))
                prospect.below[slot, o, b] = below
                prospect.reach[slot, o, b] = reach if mixed[b] else -1
            below += sums[0, b] + sums[1, b]
    return edge, place, squares


@njit(cache=True)
def _sums(f: int, o: int, weights: FixedPoint, bins: Bins) -> Ints:
    """Return the sums of the weights >= 0 and of those < 0 in every bin of a feature, shape (2, n_bins)."""
    own, rest = weights.integers[o], bins.rest[f]
    codes = bins.codes[bins.code_starts[f] : bins.code_starts[f + 1]]
    rows = bins.rows[bins.row_starts[f] : bins.row_starts[f] + len(codes)]
    lanes = np.zeros((N_LANES, 2, bins.cut_starts[f + 1] - bins.cut_starts[f] - 1), np.int64)
    for i in range(len(codes)):
        # neighbours in different lanes, so that none waits for the one before
        weight = own[rows[i]]
        lanes[i % N_LANES, int(weight < 0), codes[i]] += weight
    sums = lanes.sum(axis=0)
    if rest >= 0:
        positive = weights.positives[o]
        sums[0, rest] = positive - sums[0].sum()
        sums[1, rest] = weights.totals[o] - positive - sums[1].sum()
    return sums


@njit(parallel=True, cache=True)
def _visit_places(weights: FixedPoint, walk: Walk, prospect: Prospect, best: Best) -> Best:
    """Compare the edges inside all bins that could hold the best stump of their feature."""
    n_walked = len(walk.features)
    edges, places, squares = np.empty(n_walked, np.int64), np.empty(n_walked, np.int64), np.empty(n_walked)
    for f in prange(n_walked):
        edges[f], places[f], squares[f] = _visit_places_of(f, weights, walk, prospect, best)
    return Best(edges, places, squares)


@njit(cache=True)
def _visit_places_of(f: int, weights: FixedPoint, walk: Walk, prospect: Prospect, best: Best) -> tuple[int, int, float]:
    """Return the best edge of one feature, its place, and the sum of squares of the edges visited."""
    feature = walk.features[f]
    edge, place, squares = best.edges[feature], best.places[feature], 0.0
    entries = slice(walk.starts[feature], walk.starts[feature + 1])
    rows, changes = walk.rows[entries], walk.changes[entries]
    for o in range(len(weights.totals)):
        own, total = weights.integers[o], weights.totals[o]
        zeros = _weight_of_zeros(own, total, rows) if walk.has_zeros[feature] else 0
        for b in range(prospect.reach.shape[2]):
            if prospect.reach[f, o, b] >= abs(edge):
                below, cut = prospect.below[f, o, b], walk.cut_starts[f] + b
                for k in range(walk.cuts[cut] + 1, walk.cuts[cut + 1]):
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
