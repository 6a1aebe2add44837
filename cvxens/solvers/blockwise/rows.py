"""Rows of a kernel matrix: all of them, or as many as there is room for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens import validation
from cvxens.deadline import check_time
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

KernelFunction: TypeAlias = Callable[[Any, Any], Any]
"""Takes two samples, returns the matrix of kernel values between their rows."""

TILE = 2**22
"""Kernel values that are evaluated at a time where they are not kept."""


def expand(kernel: KernelFunction, X: Any, Z: Any, v: Array) -> Array:
    """Return ``sum_j v_j k(x_i, z_j)``, a part of the matrix at a time, for v (len(Z),) or (len(Z), n).

    Examples
    --------
    >>> expand(lambda X, Z: X @ Z.T, np.array([[1.0], [2.0]]), np.array([[1.0], [3.0]]), np.array([1.0, -1.0]))
    array([-2., -4.])
    """
    scores = np.zeros((len(X), *v.shape[1:]))
    height = max(1, TILE // max(1, len(Z)))
    for first in range(0, len(X) if len(Z) else 0, height):
        rows = slice(first, first + height)
        scores[rows] = np.asarray(kernel(X[rows], Z)) @ v
    return scores


class Rows(Protocol):
    """The kernel on a training sample, row by row."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""

    @property
    def largest(self) -> float:
        """The largest |k(x_i, x_j)| so far where products evaluate the kernel anew; inf where they cost little."""

    def block(self, chosen: Indices, /) -> Array:
        """The matrix among distinct samples, in order where they are all."""

    def add(self, chosen: Indices, weights: Array, f: Array, /) -> None:
        """Add the chosen columns, times their weights, to f (n_samples,)."""

    def largest_entry(self) -> float:
        """The largest |k(x_i, x_j)|, of the entries that were evaluated where not all are in memory."""

    def product(self, v: Array, /) -> Array:
        """K v, shape (n_samples,)."""

    def absolute_product(self, v: Array, /) -> Array:
        """|K| v, shape (n_samples,)."""

    def cross(self, left: Indices, right: Indices, v: Array, /) -> Array:
        """The matrix between some samples and others, times v, of as many rows as there are others."""

    def among(self, chosen: Indices, /) -> Rows:
        """The kernel on some of the samples."""


@dataclass(frozen=True, eq=False)
class DenseRows:
    """A kernel matrix that is in memory.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric, in float64.

    Examples
    --------
    >>> DenseRows.of([[0.0, -2.0], [-2.0, 0.0]]).product(np.array([1.0, -1.0]))
    array([ 2., -2.])
    """

    K: Array

    @classmethod
    def of(cls, K: Any) -> DenseRows:
        """Check a matrix."""
        return cls(validation.symmetric(K))

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.K)

    @property
    def largest(self) -> float:
        """Products cost little."""
        return np.inf

    def block(self, chosen: Indices) -> Array:
        """The matrix among distinct samples, in order where they are all."""
        return self.K if len(chosen) == len(self.K) else _part(self.K, chosen, chosen)

    def add(self, chosen: Indices, weights: Array, f: Array) -> None:
        """Add the chosen columns, times their weights, to f."""
        add_rows(self.K, chosen, weights, f)

    def product(self, v: Array) -> Array:
        """Return K v, shape (n_samples,)."""
        return self.K @ v

    def largest_entry(self) -> float:
        """The largest |k(x_i, x_j)|, without another matrix for it."""
        return max(float(self.K.max()), -float(self.K.min()))

    def absolute_product(self, v: Array) -> Array:
        """|K| v, some rows at a time."""
        return expand(lambda rows, _: np.abs(rows), self.K, self.K, v)

    def cross(self, left: Indices, right: Indices, v: Array) -> Array:
        """The matrix between some samples and others, times v."""
        return _part(self.K, left, right) @ v

    def among(self, chosen: Indices) -> DenseRows:
        """Some rows and columns."""
        return DenseRows(_part(self.K, chosen, chosen))


def _part(K: Array, left: Indices, right: Indices) -> Array:
    return K.take(left, axis=0).take(right, axis=1)


class CachedRows:
    """Rows that are evaluated when they are asked for; those asked for last are kept.

    Parameters
    ----------
    kernel : callable
        From two samples to the matrix between them.
    X : ndarray of shape (n_samples, n_features)
        The sample.
    n_bytes : float
        Room for rows; at least one block's are kept.

    Examples
    --------
    >>> rows = CachedRows(lambda X, Z: X @ Z.T, np.array([[1.0], [2.0]]), n_bytes=16)
    >>> rows.block(np.array([1])), rows.block(np.array([1])), rows.n_evaluated
    (array([[4.]]), array([[4.]]), 1)
    """

    def __init__(self, kernel: KernelFunction, X: Any, n_bytes: float) -> None:
        self.kernel, self.X, self.n_bytes = kernel, np.asarray(X, np.float64), validation.positive("n_bytes", n_bytes)
        self.n_evaluated = 0
        self.largest = 0.0
        self._matrix = np.empty((0, self.n_samples))
        self._place = np.full(self.n_samples, -1, np.intp)
        self._owner = np.empty(0, np.intp)
        self._used = np.empty(0, np.int64)
        self._clock = 0

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.X)

    def block(self, chosen: Indices) -> Array:
        """The matrix among distinct samples."""
        places = self._kept(chosen)
        return self._matrix[places[:, None], chosen]

    def add(self, chosen: Indices, weights: Array, f: Array) -> None:
        """Add the chosen columns, times their weights, to f."""
        places = self._kept(chosen)
        add_rows(self._matrix, places, weights, f)

    def product(self, v: Array) -> Array:
        """K v, evaluated anew."""
        used = np.flatnonzero(v)
        return expand(self._values, self.X, self.X[used], v[used])

    def largest_entry(self) -> float:
        """The largest |k(x_i, x_j)| of the entries that were evaluated."""
        return self.largest

    def absolute_product(self, v: Array) -> Array:
        """|K| v, evaluated anew."""
        used = np.flatnonzero(v)
        return expand(lambda X, Z: np.abs(self._values(X, Z)), self.X, self.X[used], v[used])

    def cross(self, left: Indices, right: Indices, v: Array) -> Array:
        """The matrix between some samples and others, times v."""
        used = np.flatnonzero(v.reshape(len(v), -1).any(axis=1))
        return expand(self.kernel, self.X[left], self.X[right[used]], v[used])

    def among(self, chosen: Indices) -> CachedRows:
        """Some samples, nothing kept yet."""
        return CachedRows(self.kernel, self.X[chosen], self.n_bytes)

    def _values(self, X: Array, Z: Array) -> Array:
        """The kernel between samples, whose size is put down."""
        values = np.asarray(self.kernel(X, Z))
        self.largest = max(self.largest, float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        return values

    def _kept(self, chosen: Indices) -> Indices:
        """Return the places of the chosen rows; those not kept yet take the places of the ones used longest ago."""
        self._make_room(len(chosen))
        self._clock += 1
        kept = self._place[chosen]
        self._used[kept[kept >= 0]] = self._clock
        missing = chosen[kept < 0]
        if len(missing):
            places = np.argsort(self._used, kind="stable")[: len(missing)]
            evicted = self._owner[places]
            self._place[evicted[evicted >= 0]] = -1
            self._owner[places] = -1
            height = max(1, TILE // self.n_samples)
            for first in range(0, len(missing), height):
                if first:
                    check_time()
                part = slice(first, first + height)
                self._matrix[places[part]] = self._values(self.X[missing[part]], self.X)
            self._owner[places], self._place[missing], self._used[places] = missing, places, self._clock
            self.n_evaluated += len(missing)
        return self._place[chosen]

    def _make_room(self, n_rows: int) -> None:
        """Allocate the cache when the first rows are asked for, or more of them than it holds."""
        wanted = max(n_rows, min(self.n_samples, int(self.n_bytes // (8 * self.n_samples))))
        if len(self._matrix) < wanted:
            self._matrix = np.empty((wanted, self.n_samples))
            self._place[:] = -1
            self._owner, self._used = np.full(wanted, -1, np.intp), np.zeros(wanted, np.int64)


@njit(cache=True, nogil=True)
def add_rows(matrix: NDArray, places: NDArray[np.intp], weights: Array, f: Array) -> None:
    """Add ``sum_k weights_k matrix[places_k]`` to f."""
    for k in range(len(places)):
        if weights[k] != 0.0:
            row, weight = matrix[places[k]], weights[k]
            for i in range(len(f)):
                f[i] += weight * row[i]
