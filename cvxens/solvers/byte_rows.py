"""Matrices that grow row by row, kept in bytes as long as all their values are small integers.

Stumps, trees and perceptrons answer -1 and +1: eight times as many of their values as of float64 fit into memory and go
through its bus in a second, and products with float64 vectors lose nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.limits import map_in_threads, shares_for
from cvxens.rounding import COMPENSATED, product, sum_error
from cvxens.types import Array

T = TypeVar("T")

BLOCK = 2048
"""Samples that are handled at a time, so that what is summed over them stays in the cache."""

WORTH_A_THREAD = 2_000_000
"""Entries of a matrix from which on a product with a vector is worth a second thread."""


def as_bytes(values: T) -> T | NDArray[np.int8]:
    """Return an array as int8 if that loses nothing but signs of zeros, else as it is; -128 has no negation.

    Examples
    --------
    >>> as_bytes(np.array([1.0, -1.0])).dtype, as_bytes(np.array([0.5])), as_bytes(np.array([128.0]))
    (dtype('int8'), array([0.5]), array([128.]))
    """
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fi":
        return values
    # most that are no bytes show it in the first few
    for part in (values.ravel()[:16], values):
        # NaN becomes anything
        with np.errstate(invalid="ignore"):
            small = np.clip(part, -127, 127).astype(np.int8)
        if not np.array_equal(small, part):
            return values.astype(np.float64) if values.dtype == np.int8 else values
    return small


class GrowingRows:
    """A growing matrix (n_rows, n_samples), in bytes until a row comes that is not of small integers.

    Parameters
    ----------
    n_samples : int
        The length of the rows.
    dtype : type, optional
        A type of floats to keep it in that from the beginning.
    """

    def __init__(self, n_samples: int, dtype: type[np.int8 | np.float32 | np.float64] = np.int8) -> None:
        self._room: NDArray[Any] = np.empty((0, n_samples), dtype)
        self.n_rows = 0

    @property
    def values(self) -> NDArray[Any]:
        """The matrix; a view."""
        return self._room[: self.n_rows]

    def add(self, added: NDArray[Any]) -> None:
        """Add rows (n_added, n_samples)."""
        if self._room.dtype == np.int8 and added.dtype != np.int8:
            added = as_bytes(added)
            # once in float64, always so
            self._room = self._room.astype(np.int8 if added.dtype == np.int8 else np.float64, copy=False)
        if (needed := self.n_rows + len(added)) > len(self._room):
            # by an eighth at least, so that copying costs O(1) per row
            n_room = max(needed, self.n_rows + self.n_rows // 8, 32)
            try:
                # where memory is mapped, nothing is copied
                self._room.resize((n_room, self._room.shape[1]))
            except ValueError:
                # somebody has a view
                self._room = np.pad(self._room, ((0, n_room - len(self._room)), (0, 0)))
        self._room[self.n_rows : needed] = added
        self.n_rows = needed

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Remove the rows that are not marked, in place."""
        for to, row in enumerate(np.flatnonzero(kept).tolist()):
            self._room[to] = self._room[row]
        self.n_rows = int(np.count_nonzero(kept))


def map_parts(values: NDArray[Any], work: Callable[[slice], T], size: int = 0) -> list[T]:
    """Do the work on slices of at most `size` samples, several at a time; by default as `shares_for` cuts sums."""
    n_samples = values.shape[1]
    size = size or -(-n_samples // shares_for(n_samples, values.size, WORTH_A_THREAD))
    return map_in_threads(work, [slice(i, min(i + size, n_samples)) for i in range(0, n_samples, size)])


def multiply(values: NDArray[Any], v: Array) -> Array:
    """Return A v for a matrix A in bytes or float64, and v (n_samples,)."""
    return np.sum(map_parts(values, lambda part: _multiply(values[:, part], v[part])), axis=0)


def combine(values: NDArray[Any], weights: Array) -> Array:
    """Return A' weights for a matrix A in bytes or float64, and weights (n_rows,)."""
    return np.concatenate(map_parts(values, lambda part: _combine(values[:, part], weights)))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _multiply(values: NDArray[Any], v: Array) -> Array:
    out = np.empty(len(values))
    for j in range(len(values)):
        total = 0.0
        for i in range(len(v)):
            total += values[j, i] * v[i]
        out[j] = total
    return out


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _combine(values: NDArray[Any], weights: Array) -> Array:
    n_rows, n = values.shape
    out = np.zeros(n)
    for start in range(0, n, BLOCK):
        # slices, whose indices start at 0, are what the compiler takes several samples at a time of
        block, part = values[:, start : start + BLOCK], out[start : start + BLOCK]
        # four rows at a time: one pass over out, which stays in the cache, for four products
        for j in range(0, n_rows - 3, 4):
            a, b, c, d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            of_a, of_b, of_c, of_d = block[j], block[j + 1], block[j + 2], block[j + 3]
            for i in range(len(part)):
                part[i] += a * of_a[i] + b * of_b[i] + c * of_c[i] + d * of_d[i]
        for j in range(n_rows - n_rows % 4, n_rows):
            weight, row = weights[j], block[j]
            for i in range(len(part)):
                part[i] += weight * row[i]
    return out


@dataclass(frozen=True, eq=False)
class ByteColumns:
    """Columns H of small integers, as the rows of H', int8: `problems.maps.Columns`.

    Examples
    --------
    >>> H = ByteColumns(np.array([[1, -1, 1], [1, 1, 0]], np.int8))
    >>> H.scores(np.array([1.0, 3.0])), H.edges(np.array([1.0, 2.0, 4.0])), H.largest
    (array([4., 2., 1.]), array([3., 3.]), 1.0)
    """

    rows: NDArray[np.int8]  # (n_columns, n_samples)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape[1], self.rows.shape[0]

    @cached_property
    def largest(self) -> float:
        return float(max(int(self.rows.max(initial=0)), -int(self.rows.min(initial=0))))

    def scores(self, w: Array) -> Array:
        return _by_output(lambda of_output: combine(self.rows, of_output), w)

    def edges(self, s: Array) -> Array:
        return _by_output(lambda of_output: multiply(self.rows, of_output), s)

    def link(self, w: Any) -> tuple[Any, list[Any]]:
        return self.rows.T.astype(np.float64) @ w, []

    def measure_scores(self, w: Array) -> tuple[Array, Array]:
        """Evaluate H w as precisely as is cheap, and bound the error of every entry."""
        if self.rows.size <= COMPENSATED:
            return product(self.rows.T.astype(np.float64), w)
        return self._bound(self.scores(w), w)

    def measure_edges(self, s: Array) -> tuple[Array, Array]:
        """Evaluate H's as precisely as is cheap, and bound the error of every entry."""
        if self.rows.size <= COMPENSATED:
            return product(self.rows.astype(np.float64), s)
        return self._bound(self.edges(s), s)

    def _bound(self, values: Array, x: Array) -> tuple[Array, Array]:
        """Bound the errors of sums of terms h x with |h| at most the largest, in any order."""
        size = self.largest * np.abs(x).sum(axis=0)
        return values, np.broadcast_to(sum_error(len(x), 1.0) * size, values.shape)


def _by_output(multiply_by: Callable[[Array], Array], x: Array) -> Array:
    if x.ndim == 1:
        return multiply_by(np.ascontiguousarray(x))
    return np.stack([multiply_by(np.ascontiguousarray(column)) for column in x.T], axis=1)
