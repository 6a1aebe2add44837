"""What is counted on one shard: rows by the bins of their features, between thresholds, and by pairs of features.

Weights are integers, so that sums over shards are the same in every order. Arrays of a shard are by feature, then by
row; a *place* is a threshold of the columns in a master, and the *interval* of a row how many of its feature's places
are at or below its value.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.features import N_BINS
from cvxens.types import Array

Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.uint8]


class Places(NamedTuple):
    """Thresholds, feature by feature and ascending in each, and how far the bins alone tell them apart."""

    thresholds: Array
    starts: Ints  # (n_features + 1,), where those of a feature start
    first: Ints  # (n_features, N_BINS), how many of a feature's are at or below all values of a bin
    last: Ints  # and at or below some value of it


@njit(cache=True, nogil=True)
def find_intervals(values: NDArray[Any], codes: Codes, places: Places) -> NDArray[np.uint16]:
    """Return the interval of every row in every feature, (n_features, n_rows)."""
    n_features, n_rows = codes.shape
    intervals = np.zeros((n_features, n_rows), np.uint16)
    for j in range(n_features):
        own = places.thresholds[places.starts[j] : places.starts[j + 1]]
        if len(own) == 0:
            continue
        first, last, out = places.first[j], places.last[j], intervals[j]
        for i in range(n_rows):
            code = codes[j, i]
            k, end = first[code], last[code]
            # a bin that holds no threshold needs no look at the value
            while k < end and own[k] <= values[j, i]:
                k += 1
            out[i] = k
    return intervals


@njit(cache=True, nogil=True)
def sum_scores(intervals: NDArray[np.uint16], starts: Ints, tables: Array, constant: float) -> Array:
    """Return ``constant + sum_j table_j[interval]``, feature by feature in this order, (n_rows,)."""
    n_features, n_rows = intervals.shape
    scores = np.full(n_rows, constant)
    for j in range(n_features):
        if starts[j + 1] > starts[j]:
            # between m places are m + 1 intervals
            table, own = tables[starts[j] + j : starts[j + 1] + j + 1], intervals[j]
            for i in range(n_rows):
                scores[i] += table[own[i]]
    return scores


@njit(cache=True, nogil=True)
def sum_by_bins(codes: Codes, weights: Ints) -> Ints:
    """Return the sums of the weights above 0 and of those below, by feature and bin, (2, n_features, N_BINS)."""
    n_features, n_rows = codes.shape
    sums = np.zeros((n_features, 2, N_BINS), np.int64)
    for j in range(n_features):
        own, lanes = codes[j], sums[j].reshape(2 * N_BINS)
        for i in range(n_rows):
            # the sign bit chooses the half
            lanes[np.int64(own[i]) + ((weights[i] >> 63) & N_BINS)] += weights[i]
    return np.ascontiguousarray(sums.transpose(1, 0, 2))


class Ranges(NamedTuple):
    """Disjoint ranges of values to be cut finer, feature by feature and ascending, with the cuts inside of each."""

    low: Array  # (n_ranges,), the least value
    high: Array  # the largest one
    cuts: Array  # (n_ranges, n_cuts), ascending; in the part k are values with k cuts at or below
    starts: Ints  # (n_features + 1,)
    first: Ints  # (n_features, N_BINS), the first range that values of a bin can be in
    last: Ints  # and the one after the last


@njit(cache=True, nogil=True)
def sum_by_parts(values: NDArray[Any], codes: Codes, weights: Ints, ranges: Ranges) -> tuple[Ints, Array]:
    """Return sums of weights, as `sum_by_bins`, and extreme values by range and part.

    Shapes are (2, n_ranges, n_parts): weights above 0 and below; the least values and minus the largest ones.
    """
    n_ranges, n_cuts = ranges.cuts.shape
    sums = np.zeros((2, n_ranges, n_cuts + 1), np.int64)
    ends = np.full((2, n_ranges, n_cuts + 1), np.inf)
    for j in range(codes.shape[0]):
        if ranges.starts[j + 1] == ranges.starts[j]:
            continue
        first, last = ranges.first[j], ranges.last[j]
        for i in range(codes.shape[1]):
            code = codes[j, i]
            r, end = first[code], last[code]
            if r == end:
                continue
            x = np.float64(values[j, i])
            while r < end and ranges.high[r] < x:
                r += 1
            if r == end or x < ranges.low[r]:
                continue
            part = np.searchsorted(ranges.cuts[r], x, side="right")
            sums[0 if weights[i] >= 0 else 1, r, part] += weights[i]
            ends[0, r, part] = min(ends[0, r, part], x)
            ends[1, r, part] = min(ends[1, r, part], -x)
    return sums, ends


@njit(cache=True, nogil=True)
def sum_by_intervals(intervals: NDArray[np.uint16], starts: Ints, weights: Ints) -> Ints:
    """Return the sums of weights by interval of every feature; a feature of m places has m + 1."""
    n_features, n_rows = intervals.shape
    sums = np.zeros(starts[n_features] + n_features, np.int64)
    for j in range(n_features):
        if starts[j + 1] > starts[j]:
            own, table = intervals[j], sums[starts[j] + j : starts[j + 1] + j + 1]
            for i in range(n_rows):
                table[own[i]] += weights[i]
    return sums


@njit(cache=True, nogil=True)
def find_extremes(values: NDArray[Any], intervals: NDArray[np.uint16], starts: Ints) -> Array:
    """Return the least and minus the largest values by interval; a feature of m places has m + 1."""
    n_features, n_rows = intervals.shape
    ends = np.full((2, starts[n_features] + n_features), np.inf)
    for j in range(n_features):
        if starts[j + 1] > starts[j]:
            own = ends[:, starts[j] + j : starts[j + 1] + j + 1]
            for i in range(n_rows):
                k, x = intervals[j, i], np.float64(values[j, i])
                own[0, k] = min(own[0, k], x)
                own[1, k] = min(own[1, k], -x)
    return ends


@njit(cache=True, nogil=True)
def sum_by_pairs(intervals: NDArray[np.uint16], starts: Ints, weights: Ints) -> Ints:
    """Return the sums of weights by intervals of every pair of features j < k that have places, table after table."""
    n_features, n_rows = intervals.shape
    size = 0
    for j in range(n_features):
        for k in range(j + 1, n_features):
            size += _count_cells(starts, j) * _count_cells(starts, k)
    sums, at = np.zeros(size, np.int64), 0
    for j in range(n_features):
        for k in range(j + 1, n_features):
            width = _count_cells(starts, k)
            n_cells = _count_cells(starts, j) * width
            if n_cells == 0:
                continue
            of_j, of_k, table = intervals[j], intervals[k], sums[at : at + n_cells]
            for i in range(n_rows):
                table[np.int64(of_j[i]) * width + of_k[i]] += weights[i]
            at += n_cells
    return sums


@njit(cache=True, nogil=True)
def _count_cells(starts: Ints, feature: int) -> int:
    """Return the number of intervals of a feature; 0 where it has no places, as nothing is asked of it."""
    n_places = starts[feature + 1] - starts[feature]
    return n_places + 1 if n_places else 0
