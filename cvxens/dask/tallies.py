"""What is counted on one shard: rows by the cells of their features and by pairs of features, and exact sums.

A *place* is a threshold of a feature, and a *cell* the values from one place to the next: m places make m + 1 cells.
The bins of a sample are cells that every row is coded in; others are found when they are asked for. Weights are
integers, so that sums over shards are the same in every order. Arrays of a shard are by feature, then by row.

Every finite float is a whole number of units of ``2**-1074``. An *exact sum* is that whole number, in digits of 32 bits
with a sign each (Neal 2015, *Fast exact summation using small and large superaccumulators*): digits are added up as
64-bit integers, in whatever order, and there is no rounding before the end, when the total becomes one float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from math import inf
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit

from cvxens.features import Codes, Ints, sum_pairs
from cvxens.types import Array, Numbers

Answer = TypeVar("Answer")

DIGITS = 67
"""Digits of 32 bits for exponents of 0 to 2046 and a mantissa of 53 bits; the last one counts what is not finite."""


class Places(NamedTuple):
    """Thresholds, feature by feature and ascending in each, and how far the bins alone tell them apart."""

    thresholds: Array
    cells: Ints  # (n_features + 1,), where the cells of a feature start
    first: Ints  # (n_features, N_BINS), how many of a feature's thresholds are at or below all values of a bin
    last: Ints  # and at or below some value of it

    def of_feature(self, feature: int) -> slice:
        """Return which thresholds are those of a feature."""
        return slice(self.cells[feature] - feature, self.cells[feature + 1] - feature - 1)

    @property
    def features(self) -> list[int]:
        """The features that have any."""
        return np.flatnonzero(np.diff(self.cells) > 1).tolist()


@njit(cache=True, nogil=True)
def find_cells(values: Numbers, codes: Codes, places: Places, found: Codes) -> None:
    """Find the cell of every row in every feature, (n_features, n_rows), from its bin; 0 in features without places."""
    for j in range(len(codes)):
        own = places.thresholds[places.cells[j] - j : places.cells[j + 1] - j - 1]
        if len(own) == 0:
            continue
        first, last, out = places.first[j], places.last[j], found[j]
        for i in range(codes.shape[1]):
            code = codes[j, i]
            k, end = first[code], last[code]
            # a bin that holds no threshold needs no look at the value
            while k < end:
                middle = (k + end) // 2
                if own[middle] <= values[j, i]:
                    k = middle + 1
                else:
                    end = middle
            out[i] = k


@njit(cache=True, nogil=True)
def sum_scores(codes: Codes, cells: Ints, tables: Array, constant: float) -> Array:
    """Return ``constant + sum_j table_j[cell]``, feature by feature in this order, (n_rows,)."""
    scores = np.full(codes.shape[1], constant)
    for j in range(len(codes)):
        if cells[j + 1] - cells[j] > 1:
            table, own = tables[cells[j] : cells[j + 1]], codes[j]
            for i in range(len(own)):
                scores[i] += table[own[i]]
    return scores


@njit(cache=True, nogil=True)
def sum_by_cells(codes: Codes, cells: Ints, weights: Ints) -> Ints:
    """Return the sums of the weights above 0 and of those below by cell, (2, n_cells); 0 where a feature has one."""
    sums = np.zeros((2, cells[-1]), np.int64)
    for j in range(len(codes)):
        start, width = cells[j], cells[j + 1] - cells[j]
        if width == 1:
            continue
        own, lanes = codes[j], np.zeros(2 * width, np.int64)
        for i in range(len(own)):
            # the sign bit chooses the half
            lanes[np.int64(own[i]) + ((weights[i] >> 63) & width)] += weights[i]
        sums[0, start : start + width], sums[1, start : start + width] = lanes[:width], lanes[width:]
    return sums


def sum_of_signs(weights: Ints) -> Ints:
    """Return the sum of the weights below 0, and that of those above, (2,)."""
    return np.array([np.minimum(weights, 0).sum(), np.maximum(weights, 0).sum()])


@njit(cache=True, nogil=True)
def find_extremes(values: Numbers, codes: Codes, cells: Ints) -> Array:
    """Return the least and minus the largest values by cell, (2, n_cells); inf where there are none."""
    ends = np.full((2, cells[-1]), np.inf)
    for j in range(len(codes)):
        if cells[j + 1] - cells[j] > 1:
            own = ends[:, cells[j] : cells[j + 1]]
            for i in range(codes.shape[1]):
                k, x = codes[j, i], np.float64(values[j, i])
                own[0, k] = min(own[0, k], x)
                own[1, k] = min(own[1, k], -x)
    return ends


@njit(cache=True, nogil=True)
def sum_by_pairs(codes: Codes, cells: Ints, weights: Ints) -> Ints:
    """Return the sums of weights by cells of every pair of features j < k that have places, table after table."""
    # of a feature without places nothing is asked
    widths = np.diff(cells)
    widths[widths == 1] = 0
    sums, at = np.zeros((widths.sum() ** 2 - (widths**2).sum()) // 2, np.int64), 0
    for j in range(len(codes)):
        for k in range(j + 1, len(codes)):
            n_cells = widths[j] * widths[k]
            if n_cells == 0:
                continue
            sum_pairs(codes[j], codes[k], weights, widths[k], sums[at : at + n_cells])
            at += n_cells
    return sums


@njit(cache=True, nogil=True)
def sum_exactly(values: Array) -> Ints:
    """Return the exact sum of floats as digits, (67,); up to 2**31 of them, and of such sums, can be added up.

    Examples
    --------
    >>> to_float(sum_exactly(np.array([1e300, 1.0, -1e300])))
    1.0
    """
    digits = np.zeros(DIGITS, np.int64)
    for bits in values.view(np.int64):
        exponent = (bits >> 52) & 0x7FF
        mantissa = bits & 0xFFFFFFFFFFFFF
        if exponent == 0x7FF:
            digits[DIGITS - 1] += 1
            continue
        if exponent > 0:
            mantissa |= 1 << 52
            exponent -= 1
        # mantissa 2**exponent units: three digits, of which the halves of the mantissa fill two each
        first, shift = exponent >> 5, exponent & 31
        low = (mantissa & 0xFFFFFFFF) << shift
        high = ((mantissa >> 32) << shift) + (low >> 32)
        sign = 1 if bits >= 0 else -1
        digits[first] += sign * (low & 0xFFFFFFFF)
        digits[first + 1] += sign * (high & 0xFFFFFFFF)
        digits[first + 2] += sign * (high >> 32)
    return digits


def to_float(digits: Ints) -> float:
    """Return an exact sum as a float, rounded once; inf where an entry was not finite or the sum overflows."""
    if digits[-1]:
        return inf
    total = sum(int(digit) << (32 * k) for k, digit in enumerate(digits[:-1].tolist()))
    try:
        # the smallest float is 2^-1074
        return total / (1 << 1074)
    except OverflowError:
        return inf if total > 0 else -inf


def combine_each(ways: Iterable[Callable[..., object]], parts: Iterable[tuple[object, ...]]) -> tuple[object, ...]:
    """Combine the answers of shards that are tuples, each entry in a way of its own."""
    return tuple(way(own) for way, own in zip(ways, zip(*parts, strict=True), strict=True))


def join(parts: Iterable[tuple[Numbers, ...]]) -> tuple[Numbers, ...]:
    """Return the rows of several shards, in their order, of tuples of arrays whose last axis these are."""
    return tuple(np.concatenate(own, axis=-1) for own in zip(*parts, strict=True))


def add(parts: Sequence[Answer]) -> Answer:
    """Add up arrays, or tuples of arrays entry by entry.

    Examples
    --------
    >>> add([(np.array([1, 2]), np.array(3)), (np.array([10, 20]), np.array(30))])
    (array([11, 22]), array(33))
    """
    total: Any = copy(parts[0])
    if isinstance(total, tuple):
        total = tuple(map(add, zip(*parts, strict=True)))
    else:
        for other in parts[1:]:
            total += other
    return total
