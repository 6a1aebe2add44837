"""Matrices that grow row by row, kept in bytes where their values are small integers.

Stumps, trees and perceptrons answer -1 and +1: eight times as many of their values as of float64 fit into memory and go
through its bus in a second, and products with float64 vectors lose nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.limits import map_in_threads, shares_for
from cvxens.types import Array, Indices, Mask

T = TypeVar("T")
Packed: TypeAlias = tuple[NDArray[Any], float]

BLOCK = 2048
"""Samples that are handled at a time, so that what is summed over them stays in the cache."""

WORTH_A_THREAD = 2_000_000
"""Entries of a matrix from which on a product with a vector is worth a second thread."""


@np.errstate(all="ignore")
def pack(values: T, *, in_ones: bool = False) -> tuple[T | NDArray[np.int8], float]:
    """Return an array as int8, and the unit that it counts, if that loses nothing but signs of zeros; else it, and 1.

    That unit is 1 or, unless `in_ones`, the size of the first value; -128 has no negation, and is none.

    Examples
    --------
    >>> pack(np.array([-0.3, 0.3])), pack(np.array([0.5, 0.3])), pack(np.array([-128.0, 1.0]))
    ((array([-1,  1], dtype=int8), 0.3), (array([0.5, 0.3]), 1.0), (array([-128.,    1.]), 1.0))
    """
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fi":
        return values, 1.0
    for unit in (1.0,) if in_ones or not values.size else (1.0, abs(float(values.flat[0]))):
        # most that are no bytes show it in the first few; NaN becomes anything
        for part in (values.ravel()[:16], values):
            small = np.clip(part / unit, -127, 127).astype(np.int8)
            if not np.array_equal(small * unit, part):
                break
        else:
            return small, unit
    return (values.astype(np.float64) if values.dtype == np.int8 else values), 1.0


class GrowingRows:
    """A growing matrix (n_rows, n_samples), in bytes until a row comes that is not of small integers.

    Parameters
    ----------
    n_samples : int
        The length of the rows.
    dtype : type, optional
        A type of floats to keep it in that from the beginning.
    n_room : int
        Rows that there is room for from the beginning.
    """

    def __init__(
        self, n_samples: int, dtype: type[np.int8 | np.float32 | np.float64] = np.int8, n_room: int = 0
    ) -> None:
        self._room: NDArray[Any] = np.empty((n_room, n_samples), dtype)
        self.n_rows = 0

    @property
    def values(self) -> NDArray[Any]:
        """The matrix; a view."""
        return self._room[: self.n_rows]

    def add(self, added: NDArray[Any]) -> None:
        """Add rows (n_added, n_samples)."""
        if self._room.dtype == np.int8 and added.dtype != np.int8:
            added, _ = pack(added, in_ones=True)
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

    def keep(self, kept: Mask) -> None:
        """Remove the rows that are not marked, in place."""
        for to, row in enumerate(np.flatnonzero(kept).tolist()):
            self._room[to] = self._room[row]
        self.n_rows = int(np.count_nonzero(kept))


class ListedRows:
    """Columns H as the rows of H', each kept by itself, in bytes and their unit or in float64: `problems.maps.Columns`.

    Numbers of rows choose as they do of an array: one row, or a copy of several.

    Examples
    --------
    >>> rows = ListedRows(2)
    >>> rows.add(np.array([[0.5, -0.5], [0.3, 2.0], [1.0, 1.0]]))
    >>> rows.shape, rows[1].tolist(), rows[np.array([1, 0])].tolist()
    ((2, 3), [0.3, 2.0], [[0.3, 2.0], [0.5, -0.5]])
    >>> rows.scores(np.array([2.0, 0.0, 1.0])), rows.edges(np.array([1.0, 2.0])), rows.largest
    (array([2., 0.]), array([-0.5,  4.3,  3. ]), 2.0)
    """

    def __init__(self, n_samples: int, packed: Iterable[Packed] = ()) -> None:
        self.n_samples, self.packed = n_samples, list(packed)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of H, (n_samples, n_rows)."""
        return self.n_samples, len(self.packed)

    @cached_property
    def largest(self) -> float:
        """The largest size of an entry, of rows that grow no more."""
        return max((unit * max(float(row.max()), -float(row.min())) for row, unit in self.packed), default=0.0)

    def scores(self, w: Array) -> Array:
        return combine_each(self, np.arange(len(self)), w)

    def edges(self, s: Array) -> Array:
        return _by_output(partial(multiply_each, self, np.arange(len(self))), s)

    def link(self, w: Any) -> tuple[Any, list[Any]]:
        return self.T @ w, []

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.packed) * self.n_samples

    @property
    def T(self) -> Array:
        """The rows as columns of an array, shape (n_samples, n_rows); a copy."""
        return self[np.arange(len(self))].T

    def add(self, added: Array) -> None:
        """Add rows (n_added, n_samples)."""
        self.packed += map(pack, added)

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, chosen: Any) -> Any:
        if isinstance(chosen, slice):
            return ListedRows(self.n_samples, self.packed[chosen])
        if np.ndim(chosen) == 0:
            return np.multiply(*self.packed[chosen])
        return np.array([self[j] for j in chosen.tolist()]).reshape(len(chosen), self.n_samples)


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


def multiply_each(rows: ListedRows, chosen: Indices, v: Array) -> Array:
    """Return the products of chosen rows with v (n_samples,)."""
    packed = (rows.packed[j] for j in chosen.tolist())
    return np.array([u * (_multiply(row[None], v)[0] if row.dtype == np.int8 else row @ v) for row, u in packed])


def combine_each(rows: ListedRows, chosen: Indices, weights: Array) -> Array:
    """Return the sum of chosen rows by weights (n_chosen,) or (n_chosen, n_outputs), shape (n_samples, ...)."""
    n_samples, dense = rows.n_samples, weights.reshape(len(chosen), int(np.prod(weights.shape[1:])))
    out = np.zeros((n_samples, dense.shape[1]))
    packed = [rows.packed[j] for j in chosen.tolist()]
    # a few at a time, whose copy stays in the cache: 2 MB
    few = max(2**21 // (n_samples * max((row.itemsize for row, _ in packed), default=1)), 1)
    for k in range(0, len(chosen), few):
        kept, units = zip(*packed[k : k + few], strict=True)
        block, w = np.stack(kept), np.array(units)[:, np.newaxis] * dense[k : k + few]
        out += _by_output(partial(combine, block), w) if block.dtype == np.int8 else block.T @ w
    return out.reshape(n_samples, *weights.shape[1:])


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


def _by_output(multiply_by: Callable[[Array], Array], x: Array) -> Array:
    if x.ndim == 1:
        return multiply_by(np.ascontiguousarray(x))
    return np.stack([multiply_by(np.ascontiguousarray(column)) for column in x.T], axis=1)
