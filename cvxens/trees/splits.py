"""Gain ratio: the search for the best split of a node's cases (Quinlan 1993, chapters 2 and 3)."""

from __future__ import annotations

import numpy as np
from numba import njit

from cvxens.trees.records import Cases, Training
from cvxens.types import Array

TINY = 1e-10
"""Gains (in bits), ratios and weights that differ by less count as equal."""


@njit(cache=True)
def xlog2(x: float) -> float:
    """Return x log2 x, 0 at 0."""
    return x * np.log2(x) if x > 0 else 0.0


@njit(cache=True)
def bits(counts: Array) -> float:
    """Return the class information of weights W_c, W log2 W - sum_c W_c log2 W_c."""
    total = 0.0
    coded = 0.0
    for count in counts:
        total += count
        coded += xlog2(count)
    return xlog2(total) - coded


@njit(cache=True)
def nominal_split(data: Training, f: int, cases: Cases, min_cases: float) -> tuple[float, float]:
    """Return (gain, split information) of the multiway split on nominal feature `f`; gain -1 if it is not allowed."""
    column = data.columns[f]
    counts = np.zeros((data.n_values[f], data.n_classes))
    total = 0.0
    for i, sample in enumerate(cases.samples):
        total += cases.weights[i]
        if not np.isnan(column[sample]):
            counts[int(column[sample]), data.y[sample]] += cases.weights[i]
    sizes = counts.sum(axis=1)
    if (sizes >= min_cases - TINY).sum() < 2:
        return -1.0, 0.0
    gain = bits(counts.sum(axis=0))
    info = xlog2(total) - xlog2(total - sizes.sum())
    for value in range(len(sizes)):
        gain -= bits(counts[value])
        info -= xlog2(sizes[value])
    return gain / total, info / total


@njit(cache=True)
def numeric_split(data: Training, f: int, cases: Cases, min_cases: float) -> tuple[float, float, float]:
    """Return (gain, split information, cut) of the best cut of numeric feature `f`; gain -1 if none is allowed.

    The cut is the midpoint with the largest gain of those that leave enough weight on both sides; the gain then pays
    log2(number of these midpoints) / weight for the choice.
    """
    known = ~np.isnan(data.columns[f][cases.samples])
    weights, y = cases.weights[known], data.y[cases.samples[known]]
    values = data.columns[f][cases.samples[known]]
    below, above = np.zeros(data.n_classes), np.zeros(data.n_classes)
    for i in range(len(y)):
        above[y[i]] += weights[i]
    total, size = cases.weights.sum(), above.sum()
    smallest = max(min_cases, min(25.0, 0.1 * size / data.n_classes)) - TINY
    whole, left, cuts = bits(above), 0.0, 0
    gain, left_at_best, cut = -1.0, 0.0, np.nan
    order = np.argsort(values)
    for k in range(len(order) - 1):
        i, after = order[k], order[k + 1]
        below[y[i]] += weights[i]
        above[y[i]] = max(above[y[i]] - weights[i], 0.0)
        left += weights[i]
        if values[i] == values[after]:
            continue
        if min(left, size - left) >= smallest:
            cuts += 1
            found = (whole - bits(below) - bits(above)) / total
            if found > gain + TINY:
                gain, left_at_best, cut = found, left, _midpoint(values[i], values[after])
    if gain < 0:
        return gain, 0.0, cut
    info = xlog2(total) - xlog2(left_at_best) - xlog2(size - left_at_best) - xlog2(total - size)
    return gain - np.log2(cuts) / total, info / total, cut


@njit(cache=True)
def _midpoint(low: float, high: float) -> float:
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


@njit(cache=True)
def best_split(data: Training, cases: Cases, min_cases: float) -> tuple[int, float]:
    """Return (feature, cut) of the best split of `cases`, feature -1 if there is none.

    Of the splits with a gain, those with at least the average of their gains compete by gain ratio; ties go to the
    first feature and the lowest cut. `min_cases` is the weight that at least two branches must reach.
    """
    n_features = len(data.columns)
    gains, infos, cuts = np.zeros(n_features), np.zeros(n_features), np.full(n_features, np.nan)
    for f in range(n_features):
        if data.n_values[f] > 0:
            gains[f], infos[f] = nominal_split(data, f, cases, min_cases)
        else:
            gains[f], infos[f], cuts[f] = numeric_split(data, f, cases, min_cases)
    useful = gains > TINY
    best, ratio = -1, 0.0
    average = gains[useful].mean() if useful.any() else 0.0
    for f in range(n_features):
        if useful[f] and gains[f] >= average - TINY and gains[f] / infos[f] > ratio + TINY:
            best, ratio = f, gains[f] / infos[f]
    return best, cuts[best] if best >= 0 else np.nan
