"""Pessimistic pruning: collapse a subtree to a leaf, or raise its largest branch (Quinlan 1993, chapter 4)."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import betaincinv

from cvxens.deadline import check_time
from cvxens.trees.grow import divide
from cvxens.trees.records import Cases, Codes, Nodes, Training
from cvxens.trees.splits import TINY
from cvxens.types import Array

SLACK = 0.1
"""Predicted errors by which a simpler tree may be worse and is still preferred, as in the program of C4.5."""


def predicted_errors(counts: Array, confidence: float) -> Array:
    r"""Predict the errors of leaves on as many new cases as they were trained on.

    With N cases of which E are not of the majority class, ``N U(E, N)``, where U is the upper limit of the
    binomial confidence interval for the error rate: the p at which E errors or fewer have probability `confidence`,
    :math:`I_p(E + 1, N - E) = 1 - CF` with the incomplete beta function, which extends it to fractions of cases.

    Parameters
    ----------
    counts : ndarray of shape (n_leaves, n_classes)
        Weights of the classes.
    confidence : float
        CF, in (0, 1).

    Returns
    -------
    ndarray of shape (n_leaves,)
        0 for a leaf without cases.

    Examples
    --------
    Quinlan's U(0, 6) = 0.206, U(0, 9) = 0.143 and U(0, 1) = 0.750 at the confidence of 25 %:

    >>> (predicted_errors(np.array([[6.0, 0.0], [9.0, 0.0], [0.0, 1.0]]), 0.25) / [6, 9, 1]).round(3)
    array([0.206, 0.143, 0.75 ])
    """
    cases, right = counts.sum(axis=1), counts.max(axis=1)
    some = right > 0
    errors = np.zeros(len(counts))
    errors[some] = cases[some] * betaincinv(cases[some] - right[some] + 1, right[some], 1 - confidence)
    return errors


def prune(nodes: Nodes, at: list[Cases], data: Training, confidence: float) -> Nodes:
    """Prune a grown tree from the leaves to the root.

    Each split is compared with a leaf in its place and with its largest branch in its place, given all its cases; the
    one with the fewest predicted errors stays, the simpler one if they differ by no more than 0.1.

    Parameters
    ----------
    nodes, at : Nodes, list of Cases
        As `grow` returns them.
    data : Training
        The samples.
    confidence : float
        See `predicted_errors`.
    """
    pruned = Nodes(nodes.feature.copy(), nodes.cut.copy(), nodes.first.copy(), nodes.counts.copy())
    branches = np.where(data.n_values > 0, data.n_values, 2)
    leaf = predicted_errors(nodes.counts, confidence)
    tree = leaf.copy()
    for node in np.flatnonzero(nodes.feature >= 0)[::-1]:
        check_time()
        first = nodes.first[node]
        tree[node] = tree[first : first + branches[nodes.feature[node]]].sum()
        while pruned.feature[node] >= 0:
            largest = _largest(pruned, node, branches)
            below, counts = _reassign(pruned, data, largest, at[node])
            raised = predicted_errors(counts[pruned.feature[below] < 0], confidence).sum()
            if leaf[node] <= min(raised, tree[node]) + SLACK:
                pruned.feature[node], pruned.cut[node], tree[node] = -1, np.nan, leaf[node]
            elif raised <= tree[node] + SLACK:
                for field in (pruned.feature, pruned.cut, pruned.first):
                    field[node] = field[largest]
                pruned.counts[below], tree[node] = counts, raised
            else:
                break
    return _compact(pruned, branches)


def _largest(nodes: Nodes, node: int, branches: Codes) -> int:
    first = nodes.first[node]
    sizes = nodes.counts[first : first + branches[nodes.feature[node]]].sum(axis=1)
    return int(first + (sizes >= sizes.max() - TINY).argmax())


@njit(cache=True)
def _reassign(nodes: Nodes, data: Training, root: int, cases: Cases) -> tuple[Codes, Array]:
    """Send cases down the subtree at `root`; return its nodes and their class weights."""
    below, waiting = [root], [(0, cases)]
    found = np.zeros((len(nodes.feature), data.n_classes))
    while len(waiting) > 0:
        k, here = waiting.pop()
        for i, sample in enumerate(here.samples):
            found[k, data.y[sample]] += here.weights[i]
        f = nodes.feature[below[k]]
        if f >= 0:
            samples, weights, starts = divide(data.columns[f], data.n_values[f] or 2, nodes.cut[below[k]], here)
            for b in range(len(starts) - 1):
                part = slice(starts[b], starts[b + 1])
                waiting.append((len(below), Cases(samples[part], weights[part])))
                below.append(nodes.first[below[k]] + b)
    return np.array(below), found[: len(below)]


def _compact(nodes: Nodes, branches: Codes) -> Nodes:
    kept, first = [0], []
    for node in kept:
        first.append(len(kept))
        if nodes.feature[node] >= 0:
            kept += range(nodes.first[node], nodes.first[node] + branches[nodes.feature[node]])
    return Nodes(nodes.feature[kept], nodes.cut[kept], np.array(first), nodes.counts[kept])
