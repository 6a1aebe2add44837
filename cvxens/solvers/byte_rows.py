"""Matrices that grow row by row, kept in bytes where their values are small integers.

Stumps, trees and perceptrons answer -1 and +1: eight times as many of their values as of float64 fit into memory and go
through its bus in a second, and products with float64 vectors lose nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic
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

    def __init__(self, n_samples: int, dtype: type[np.number[Any]] = np.int8, n_room: int = 0) -> None:
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
        self.addresses: list[int] = []
        """Of the first rows where their bytes are, 0 for those of other numbers."""

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
            some = ListedRows(self.n_samples)
            some.packed, some.addresses = self.packed[chosen], self.addresses[chosen]
            return some
        if np.ndim(chosen) == 0:
            return np.multiply(*self.packed[chosen])
        return np.array([self[j] for j in chosen.tolist()]).reshape(len(chosen), self.n_samples)


def map_parts(shape: tuple[int, int], work: Callable[[slice], T], size: int = 0) -> list[T]:
    """Do work that reads a matrix (n_rows, n_samples) on slices of at most `size` samples, several at a time.

    By default they are as `shares_for` cuts sums.
    """
    n_rows, n_samples = shape
    size = size or -(-n_samples // shares_for(n_samples, n_rows * n_samples, WORTH_A_THREAD))
    return map_in_threads(work, [slice(i, min(i + size, n_samples)) for i in range(0, n_samples, size)])


def multiply(values: NDArray[Any], v: Array) -> Array:
    """Return A v for a matrix A in bytes or float64, and v (n_samples,)."""
    if values.dtype != np.int8:
        return np.sum(map_parts(values.shape, lambda part: values[:, part] @ v[part]), axis=0)
    rows = (own := np.ascontiguousarray(values)).ctypes.data + own.strides[0] * np.arange(len(own))
    return np.sum(map_parts(values.shape, lambda part: _multiply_at(rows + part.start, v[part])), axis=0)


def combine(values: NDArray[Any], weights: Array) -> Array:
    """Return A' weights for a matrix A in bytes or float64, and weights (n_rows,)."""
    if values.dtype != np.int8:
        return np.concatenate(map_parts(values.shape, lambda part: weights @ values[:, part]))
    rows = (own := np.ascontiguousarray(values)).ctypes.data + own.strides[0] * np.arange(len(own))
    return np.concatenate(map_parts(values.shape, lambda part: _combine_at(rows + part.start, weights, part)))


def multiply_each(rows: ListedRows, chosen: Indices, v: Array) -> Array:
    """Return the products of chosen rows with v (n_samples,)."""
    addresses, units, others = _find_bytes(rows, chosen)
    at, found = addresses[addresses > 0], np.empty(len(chosen))
    parts = map_parts((len(at), rows.n_samples), lambda part: _multiply_at(at + part.start, v[part]))
    found[addresses > 0] = np.sum(parts, axis=0)
    for k in others:
        found[k] = rows.packed[chosen[k]][0] @ v
    return found * units


def combine_each(rows: ListedRows, chosen: Indices, weights: Array) -> Array:
    """Return the sum of chosen rows by weights (n_chosen,) or (n_chosen, n_outputs), shape (n_samples, ...)."""
    addresses, units, others = _find_bytes(rows, chosen)

    def combine_by(weights: Array) -> Array:
        w = weights * units
        at, v = addresses[addresses > 0], w[addresses > 0]
        out = np.concatenate(map_parts((len(at), rows.n_samples), lambda part: _combine_at(at + part.start, v, part)))
        for k in others:
            out += w[k] * rows.packed[chosen[k]][0]
        return out

    return _by_output(combine_by, weights)


def _find_bytes(rows: ListedRows, chosen: Indices) -> tuple[Indices, Array, list[int]]:
    """Return where the bytes of chosen rows are, their units, and the places of those that are of other numbers."""
    for row, _ in rows.packed[len(rows.addresses) :]:
        # compiled code reads so many bytes, whatever is there
        is_known = row.dtype == np.int8 and row.flags.c_contiguous and row.shape == (rows.n_samples,)
        rows.addresses.append(row.ctypes.data if is_known else 0)
    places = chosen.tolist()
    addresses = np.array([rows.addresses[j] for j in places], np.intp)
    return addresses, np.array([rows.packed[j][1] for j in places]), np.flatnonzero(addresses == 0).tolist()


# in compiled code, a pointer to the bytes at an address
_point_at = intrinsic(
    lambda _, address: (
        types.CPointer(types.int8)(address),
        lambda context, builder, made, given: builder.inttoptr(given[0], context.get_value_type(made.return_type)),
    )
)


# four rows at a time: one pass over v, or over out, which stay in the cache, for four products
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _multiply_at(addresses: Indices, v: Array) -> Array:
    n_rows, out = len(addresses), np.zeros(len(addresses))
    for start in range(0, len(v), BLOCK):
        part = v[start : start + BLOCK]
        n = len(part)
        for j in range(0, n_rows - 3, 4):
            a, b = carray(_point_at(addresses[j] + start), n), carray(_point_at(addresses[j + 1] + start), n)
            c, d = carray(_point_at(addresses[j + 2] + start), n), carray(_point_at(addresses[j + 3] + start), n)
            of_a = of_b = of_c = of_d = 0.0
            for i in range(n):
                of_a, of_b = of_a + a[i] * part[i], of_b + b[i] * part[i]
                of_c, of_d = of_c + c[i] * part[i], of_d + d[i] * part[i]
            out[j : j + 4] += np.array([of_a, of_b, of_c, of_d])
        for j in range(n_rows - n_rows % 4, n_rows):
            row, total = carray(_point_at(addresses[j] + start), n), 0.0
            for i in range(n):
                total += row[i] * part[i]
            out[j] += total
    return out


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _combine_at(addresses: Indices, weights: Array, samples: slice) -> Array:
    n_rows, out = len(addresses), np.zeros(samples.stop - samples.start)
    for start in range(0, len(out), BLOCK):
        part = out[start : start + BLOCK]
        n = len(part)
        for j in range(0, n_rows - 3, 4):
            of_a, of_b, of_c, of_d = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            a, b = carray(_point_at(addresses[j] + start), n), carray(_point_at(addresses[j + 1] + start), n)
            c, d = carray(_point_at(addresses[j + 2] + start), n), carray(_point_at(addresses[j + 3] + start), n)
            for i in range(n):
                part[i] += of_a * a[i] + of_b * b[i] + of_c * c[i] + of_d * d[i]
        for j in range(n_rows - n_rows % 4, n_rows):
            row, weight = carray(_point_at(addresses[j] + start), n), weights[j]
            for i in range(n):
                part[i] += weight * row[i]
    return out


def _by_output(multiply_by: Callable[[Array], Array], x: Array) -> Array:
    if x.ndim == 1:
        return multiply_by(np.ascontiguousarray(x))
    return np.stack([multiply_by(np.ascontiguousarray(column)) for column in x.T], axis=1)
