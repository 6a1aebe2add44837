"""Growing a tree: divide the cases by the best split until none is left."""

from __future__ import annotations

import itertools

import numpy as np
from numba import njit

from cvxens.deadline import check_time
from cvxens.trees.records import Cases, Codes, Nodes, Training
from cvxens.trees.splits import TINY, best_split
from cvxens.types import Array


@njit(cache=True)
def divide(column: Array, n_branches: int, cut: float, cases: Cases) -> tuple[Codes, Array, Codes]:
    """Divide cases among branches; those without a value go to each, in the proportion of the others' weight.

    Parameters
    ----------
    column : ndarray of shape (n_samples,)
        Of the feature that is split on.
    n_branches : int
        2 at a numeric split.
    cut : float
        NaN at a nominal split.
    cases : Cases
        What to divide.

    Returns
    -------
    samples, weights : ndarray
        Branch after branch; a branch without known cases gets none.
    starts : ndarray of int, shape (n_branches + 1,)
        Where each branch starts.
    """
    branch = np.full(len(cases.samples), -1)
    sizes, lengths = np.zeros(n_branches), np.zeros(n_branches, dtype=np.int64)
    for i, value in enumerate(column[cases.samples]):
        if not np.isnan(value):
            branch[i] = int(value) if np.isnan(cut) else int(value > cut)
            sizes[branch[i]] += cases.weights[i]
            lengths[branch[i]] += 1
    taken = lengths > 0
    lengths[taken] += (branch < 0).sum()
    starts = np.zeros(n_branches + 1, dtype=np.int64)
    starts[1:] = np.cumsum(lengths)
    shares = sizes / max(sizes.sum(), TINY)
    samples, weights = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    end = starts[:-1].copy()
    for i, b in enumerate(branch):
        low, high = (b, b + 1) if b >= 0 else (0, n_branches)
        for to in range(low, high):
            if taken[to]:
                samples[end[to]] = cases.samples[i]
                weights[end[to]] = cases.weights[i] * (1.0 if b >= 0 else shares[to])
                end[to] += 1
    return samples, weights, starts


def grow(
    data: Training, distinct: tuple[Array, ...], cases: Cases, max_depth: float, min_cases: float
) -> tuple[Nodes, list[Cases]]:
    """Grow a tree, breadth first, and return its nodes and the cases at each.

    Parameters
    ----------
    data : Training
        The samples.
    distinct : tuple of ndarray
        The values that a cut of each feature may take, sorted.
    cases : Cases
        The samples to learn from and their weights, above 0.
    max_depth : float
        The largest number of tests before a decision; may be inf.
    min_cases : float
        The weight that at least two branches of a split must reach.
    """
    at, depth = [cases], [0]
    feature, cut, first, counts = [], [], [], []
    for node, here in enumerate(at):
        check_time()
        counts.append(np.bincount(data.y[here.samples], here.weights, data.n_classes).astype(float))
        split, midpoint = -1, np.nan
        if depth[node] < max_depth and _divisible(counts[node], min_cases):
            split, midpoint = best_split(data, here, min_cases)
        feature.append(split)
        cut.append(midpoint if np.isnan(midpoint) else _largest_up_to(midpoint, distinct[split]))
        first.append(len(at))
        if split >= 0:
            branches = _branches(data, split, cut[node], here)
            at += branches
            depth += [depth[node] + 1] * len(branches)
    return Nodes(np.array(feature), np.array(cut), np.array(first), np.array(counts)), at


def _divisible(counts: Array, min_cases: float) -> bool:
    total = counts.sum()
    return bool(total >= 2 * min_cases - TINY and counts.max() < total - TINY)


def _largest_up_to(midpoint: float, values: Array) -> float:
    return float(values[np.searchsorted(values, midpoint, side="right") - 1])


def _branches(data: Training, feature: int, cut: float, cases: Cases) -> list[Cases]:
    samples, weights, starts = divide(data.columns[feature], data.n_values[feature] or 2, cut, cases)
    return [Cases(samples[a:b], weights[a:b]) for a, b in itertools.pairwise(starts)]
