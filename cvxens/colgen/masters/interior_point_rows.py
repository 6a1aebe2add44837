"""The matrix of an interior-point master: one row per column of the master, in bytes where it can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray

from cvxens.deadline import check_time
from cvxens.threads import available_threads, map_in_threads
from cvxens.types import Array

T = TypeVar("T")

BLOCK = 2048
"""Samples that are handled at a time, so that what is summed over them stays in the cache."""

SMALL = 2_000_000
"""Entries of a matrix from which on a product with a vector is worth a second thread."""


class Rows:
    """A growing matrix A (n_rows, n_samples), kept in bytes as long as all its values are small integers.

    Stumps, perceptrons and trees answer -1 and +1: eight times as many of them as of float64 go through the memory
    bus in a second, and products with float64 vectors lose nothing.

    Parameters
    ----------
    n_samples : int
        Length of a row.

    Examples
    --------
    >>> rows = Rows(3)
    >>> rows.add(np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]))
    >>> rows.times(np.array([1.0, 2.0, 4.0])), rows.combined(np.array([1.0, 3.0]))
    (array([3., 7.]), array([4., 2., 4.]))
    >>> rows.gram(np.array([1.0, 2.0, 4.0]), np.float64)
    array([[7., 3.],
           [3., 7.]])
    """

    def __init__(self, n_samples: int) -> None:
        self._room: NDArray[Any] = np.empty((0, n_samples), np.int8)
        self.n_rows = 0

    @property
    def values(self) -> NDArray[Any]:
        """The matrix, of int8 or float64."""
        return self._room[: self.n_rows]

    def add(self, added: Array) -> None:
        """Append rows."""
        needed = self.n_rows + len(added)
        small = bool((np.clip(added, -127, 127).astype(np.int8) == added).all())
        dtype = self._room.dtype if small else np.dtype(np.float64)
        if needed > len(self._room) or dtype != self._room.dtype:
            room = np.empty((max(needed, self.n_rows + self.n_rows // 2, 32), added.shape[1]), dtype)
            room[: self.n_rows] = self.values
            self._room = room
        self._room[self.n_rows : needed] = added
        self.n_rows = needed

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Remove the rows that are not marked, in place."""
        for to, row in enumerate(np.flatnonzero(kept).tolist()):
            self._room[to] = self._room[row]
        self.n_rows = int(np.count_nonzero(kept))

    def times(self, v: Array) -> Array:
        """A v, for v (n_samples,)."""
        return np.sum(self._parts(lambda part: _times(self.values[:, part], v[part])), axis=0)

    def combined(self, weights: Array) -> Array:
        """A' weights, for weights (n_rows,)."""
        return np.concatenate(self._parts(lambda part: _combined(self.values[:, part], weights)))

    def _parts(self, work: Callable[[slice], T]) -> list[T]:
        n_samples = self.values.shape[1]
        threads = available_threads() if self.values.size >= SMALL else 1
        return self._in_parts(work, n_samples, -(-n_samples // threads))

    def _in_parts(self, work: Callable[[slice], T], length: int, size: int) -> list[T]:
        """Do the work on slices of at most `size`, several at a time."""
        parts = [slice(start, min(start + size, length)) for start in range(0, length, size)]
        return map_in_threads(work, parts)

    def gram(self, theta: Array, dtype: DTypeLike) -> Array:
        """A diag(theta) A' for theta > 0, the products in `dtype`; every thread calls BLAS, which best has but one."""
        largest = float(theta.max())
        roots = np.sqrt(theta / largest).astype(dtype)

        def product(part: slice) -> NDArray[Any]:
            check_time()
            scaled = np.empty((self.n_rows, part.stop - part.start), dtype)
            _scale(self.values[:, part], roots[part], scaled)
            return scaled @ scaled.T

        total = np.zeros((self.n_rows, self.n_rows))
        for share in self._in_parts(product, len(theta), max(BLOCK, -(-len(theta) // 8))):
            total += share
        return largest * total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _times(values: NDArray[Any], v: Array) -> Array:
    out = np.empty(len(values))
    for j in range(len(values)):
        total = 0.0
        for i in range(len(v)):
            total += values[j, i] * v[i]
        out[j] = total
    return out


@njit(cache=True, nogil=True)
def _combined(values: NDArray[Any], weights: Array) -> Array:
    n_rows, n = values.shape
    out = np.zeros(n)
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        for j in range(0, n_rows - 3, 4):
            a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for i in range(start, stop):
                out[i] += a * values[j, i] + b * values[j + 1, i] + c * values[j + 2, i] + d * values[j + 3, i]
        for j in range(n_rows - n_rows % 4, n_rows):
            for i in range(start, stop):
                out[i] += weights[j] * values[j, i]
    return out


@njit(cache=True, nogil=True)
def _scale(values: NDArray[Any], roots: NDArray[Any], out: NDArray[Any]) -> None:
    for j in range(len(values)):
        for i in range(len(roots)):
            out[j, i] = values[j, i] * roots[i]
