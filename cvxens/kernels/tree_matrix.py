"""Kernel matrices of tree ensembles that are never written out: a product adds up on the way through the trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from cvxens.kernels.tree_paths import Indices
from cvxens.types import Array

WIDTH = 16
"""Columns that go through the trees together."""

NONE_ABOVE, IDLE = -1, -2


@dataclass(frozen=True, eq=False)
class TreeMatrix:
    """K = 1/T sum_t Z_t Z'_t' between two samples, where Z_t and Z'_t say which nodes of tree t a sample passes.

    ``K @ C`` takes O(n_trees (n_samples + n_nodes)) time for every column of C, and no memory but for the result: what
    the leaves gather is added up towards the root, and back down to the leaves.

    Parameters
    ----------
    above : ndarray of int, shape (n_nodes,)
        Of all trees, one after another, the next node that counts on the way to the root, in its own tree; `NONE_ABOVE`
        where there is none, and `IDLE` for a node that does not count.
    first : ndarray of int, shape (n_trees + 1,)
        Where each tree begins in `above`.
    left, right : ndarray of int, shape (n_trees, n_samples)
        The leaves that the samples of the rows and of the columns reach.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from cvxens.kernels import TreeEnsemble
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> K = TreeEnsemble(DecisionTreeRegressor().fit(X, [0.0, 1.0, 4.0, 5.0]), "depth").unwritten(X)
    >>> K.shape, K @ np.array([1.0, 0.0, 0.0, -1.0])
    ((4, 4), array([ 2.,  1., -1., -2.]))
    """

    above: Indices
    first: Indices
    left: Indices
    right: Indices

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return self.left.shape[1], self.right.shape[1]

    def __matmul__(self, C: Array) -> Array:
        """Multiply by C (n_columns,) or (n_columns, n_outputs)."""
        C = np.asarray(C, np.float64)
        if len(C) != self.shape[1]:
            raise ValueError(f"a matrix of the shape {self.shape} and {len(C)} rows")
        columns = C.reshape(len(C), -1)
        product = np.empty((self.shape[0], columns.shape[1]))
        for start in range(0, columns.shape[1], WIDTH):
            part = np.ascontiguousarray(columns[:, start : start + WIDTH])
            product[:, start : start + WIDTH] = through_trees(self.above, self.first, self.left, self.right, part)
        return product.reshape(self.shape[0], *C.shape[1:]) / len(self.left)


def leaves_alone(parent: Indices) -> Indices:
    """Nothing counts above a leaf, shape (n_nodes,)."""
    return np.full(len(parent), NONE_ABOVE)


def up_to_the_root(parent: Indices) -> Indices:
    """The parent, of which the root does not count, shape (n_nodes,)."""
    above = np.where(parent == 0, NONE_ABOVE, parent)
    above[0] = IDLE
    return above


@njit(cache=True, nogil=True)
def through_trees(above: Indices, first: Indices, left: Indices, right: Indices, C: Array) -> Array:
    """Return sum_t Z_t Z'_t' C, where a row of Z_t is 1 at a leaf and at all that is above it."""
    product = np.zeros((left.shape[1], C.shape[1]))
    sums = np.empty((np.max(first[1:] - first[:-1]), C.shape[1]))
    for t in range(left.shape[0]):
        sums[:] = 0.0
        for i in range(right.shape[1]):
            add_row(C, i, sums, right[t, i])
        up_and_down(above[first[t] : first[t + 1]], sums)
        for i in range(left.shape[1]):
            add_row(sums, left[t, i], product, i)
    return product


@njit(cache=True, nogil=True)
def up_and_down(above: Indices, sums: Array) -> None:
    """Add to each node what is below it, then what all nodes above it have."""
    for node in range(len(above) - 1, -1, -1):
        if above[node] >= 0:
            add_row(sums, node, sums, above[node])
        elif above[node] == IDLE:
            sums[node] = 0.0
    for node in range(len(above)):
        if above[node] >= 0:
            add_row(sums, above[node], sums, node)


@njit(cache=True, nogil=True, inline="always")
def add_row(values: Array, i: int, sums: Array, j: int) -> None:
    """Add row i of the one to row j of the other."""
    for k in range(values.shape[1]):
        sums[j, k] += values[i, k]
