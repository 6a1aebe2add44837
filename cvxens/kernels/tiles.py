"""The matrix of a kernel between two samples: checked, and computed tile by tile on several threads.

A kernel checks its two samples and returns a `Tile`, which computes any part of the matrix; `assemble` calls it for
squares that fit into a cache, from several threads, and only for half of a symmetric matrix. A `SingleKernel` has tiles
in single precision, with a bound on what is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.limits import check_memory, map_in_threads, one_blas_thread
from cvxens.types import Array, Data, Given, Indices

Tile: TypeAlias = Callable[[slice, slice], Array]
"""Maps a slice of rows and a slice of columns to that part of a matrix, in float64 unless both samples are rounded."""

DIFFERENCE, SQUARE, MINIMUM = range(3)
"""The terms t(x_d, z_d) that kernels sum over features: ``|x_d - z_d|``, ``(x_d - z_d)^2`` and ``min(x_d, z_d)``."""

SIDE = 256
"""Rows and columns of a tile: 512 KiB in float64, which the cache of a core holds; of few columns it has more rows.
Of 512 the time of a value is twice that."""


def check_pair(X: Data, Z: Given = None) -> tuple[Array, Array]:
    """Return `X` and `Z` (by default `X` itself) as finite arrays with the same number of features."""
    checked = validation.finite_array("X", X, ndim=2)
    if Z is None or Z is X:
        return checked, checked
    Z = validation.finite_array("Z", Z, ndim=2)
    check_features("Z", Z, checked.shape[1], "X")
    return checked, Z


def check_features(argument: str, X: Array, n_features: int, whose: str) -> None:
    """Raise unless `X` has that number of features."""
    if X.shape[1] != n_features:
        found = f"found {X.shape[1]} features for {n_features} of {whose}"
        raise InvalidInput(argument, found, "give samples of the same features")


def check_room(n_rows: int, n_columns: int, dtype: np.dtype) -> None:
    """Raise an InvalidInput unless a dense (n_rows, n_columns) matrix fits into the memory that is left."""
    remedy = (
        "evaluate some rows at a time, give float32 samples, which take half of a float64 matrix, or train with "
        "a solver that needs no kernel matrix, as there is for stump kernels"
    )
    found = f"found {n_rows:,} x {n_columns:,} samples, whose {dtype} kernel matrix takes"
    check_memory("X", found, n_rows * n_columns * dtype.itemsize, remedy)


def join_samples(X: Array, Z: Array) -> Array:
    """Return the rows of both samples, `X` itself if they are one."""
    return X if Z is X else np.concatenate([X, Z])


def assemble(tile: Tile, shape: tuple[int, int], dtype: np.dtype, *, symmetric: bool) -> Array:
    """Compute the whole matrix, rounded to `dtype`; an InvalidInput if it does not fit into memory."""
    check_room(*shape, dtype)
    matrix = np.empty(shape, dtype)
    fill(matrix, tile, symmetric=symmetric)
    return matrix


def fill(matrix: Array, tile: Tile, *, symmetric: bool) -> None:
    """Compute a matrix by tiles, on several threads; of a symmetric one a half is the transpose of the other."""
    n_rows, n_columns = matrix.shape
    height = SIDE if symmetric else max(SIDE, SIDE**2 // max(n_columns, 1))
    parts = [
        (rows, columns)
        for rows in cut(n_rows, height)
        for columns in cut(n_columns, SIDE)
        if not symmetric or columns.start >= rows.start  # else it is the transpose of another part
    ]

    def fill_in(k: int) -> None:
        rows, columns = parts[k]
        part = tile(rows, columns)
        matrix[rows, columns] = part
        if symmetric and rows != columns:
            matrix[columns, rows] = part.T

    if len(parts) == 1:
        fill_in(0)
    else:
        # the threads share the cores already: BLAS keeps to one in each
        with one_blas_thread():
            map_in_threads(fill_in, range(len(parts)))


def cut(length: int, size: int) -> list[slice]:
    """Cut a range into slices of a size, the last one shorter."""
    return [slice(first, min(first + size, length)) for first in range(0, length, size)]


def measure(term: int, X: Data, Z: Data, scale: Array | None = None, *functions: Callable[..., object]) -> Tile:
    """Compute ``sum_d scale_d t(x_d, z_d)`` for rows x of `X` and z of `Z`, by tiles; without scales they are 1.

    It is computed in the precision of the samples. Functions of numpy are applied one after the other, in the memory of
    the sums: new memory takes as long as they do.
    """
    X, Z = np.ascontiguousarray(X), np.ascontiguousarray(Z)
    scale = np.ones(X.shape[1], X.dtype) if scale is None else scale

    def tile(rows: slice, columns: slice) -> Array:
        sums = _sum_terms(term, X[rows], np.ascontiguousarray(Z[columns].T), scale)
        for function in functions:
            function(sums, out=sums)
        return sums

    return tile


@njit(cache=True, nogil=True)
def _sum_terms(term: int, X: Array, Zt: Array, scale: Array) -> Array:
    """Sum a term over features, between the rows of X (n, n_features) and the columns of Zt (n_features, m)."""
    sums = np.zeros((X.shape[0], Zt.shape[1]), X.dtype)
    n_features = X.shape[1]
    in_fours = n_features - n_features % 4
    for i in range(X.shape[0]):
        own = sums[i]
        # over contiguous numbers, so it is vectorised, four features to a visit of the sums, in their order. The factor
        # comes after the difference: scaled values would be rounded relative to their size, which may be large beside
        # their differences
        for d in range(0, in_fours, 4):
            x0, x1, x2, x3 = X[i, d], X[i, d + 1], X[i, d + 2], X[i, d + 3]
            a0, a1, a2, a3 = scale[d], scale[d + 1], scale[d + 2], scale[d + 3]
            z0, z1, z2, z3 = Zt[d], Zt[d + 1], Zt[d + 2], Zt[d + 3]
            for j in range(len(own)):
                s = own[j] + a0 * _evaluate_term(term, x0, z0[j])
                s = s + a1 * _evaluate_term(term, x1, z1[j])
                s = s + a2 * _evaluate_term(term, x2, z2[j])
                own[j] = s + a3 * _evaluate_term(term, x3, z3[j])
        for d in range(in_fours, n_features):
            x, factor, z = X[i, d], scale[d], Zt[d]
            for j in range(len(own)):
                own[j] += factor * _evaluate_term(term, x, z[j])
    return sums


@njit(cache=True, nogil=True, inline="always")
def _evaluate_term(term: int, x: float, z: float) -> float:
    # the term is one throughout the loop, and the compiler takes the choice out of it
    if term == DIFFERENCE:
        return abs(x - z)
    if term == SQUARE:
        return (x - z) * (x - z)
    return min(x, z)


class Profile(NamedTuple):
    """A function phi of the distances in a sample, in units of its radius.

    `steps` take sums of terms to it, by at most four roundings and what `factor`, which they multiply by, does;
    `slope`, `reach` and `largest` are the suprema of ``|phi'(d)|``, ``|d phi'(d)|`` and ``|phi(d)|``.
    """

    steps: Sequence[Callable[..., object]]
    factor: float
    slope: float
    reach: float
    largest: float


@dataclass(frozen=True, eq=False)
class SingleKernel:
    """A kernel ``phi(|x - z|)`` within one sample, in float32: half the memory and a third of the time.

    A solver that is far from the optimum has no use for more digits. What it does with these is to be evaluated anew,
    or to count the bound against itself.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The sample less its middle, in units of its radius, the largest distance from the middle in the norm of `term`.
    term : int
        `DIFFERENCE` or `SQUARE`: whose sums over features are distances, or their squares.
    profile : Profile
        The function.
    error : float
        A bound on how far values are from the kernel.
    """

    X: NDArray[np.float32]
    term: int
    profile: Profile
    error: float

    @classmethod
    def of(cls, X: Array, term: int, describe: Callable[[float], Profile]) -> SingleKernel | None:
        """Round a sample, of whose radius the profile is; None where float32 has no room for it, or too few digits."""
        centred = X - (X.min(axis=0) / 2 + X.max(axis=0) / 2)
        # an infinite radius has no kernel
        with np.errstate(over="ignore"):
            radius = float(np.linalg.norm(centred, 2 if term == SQUARE else 1, axis=1).max(initial=0.0))
            profile = describe(radius)
        # float32 takes factors up to these, with room for products
        if not (1e-30 < profile.factor < 1e30 and radius < 1e30):
            return None
        # With twice the relative error of a rounding to float32, which covers products of such errors and what
        # underflows: either sample of a distance is off by half of that times the radius. The terms are sums of D
        # positive numbers, so their relative error is D + 2 roundings, of a sum of squares half as large in the
        # distance; three more are of the factor. The profile itself ends with an elementary function, off by four
        # roundings at most, and a product
        unit, (_, _, slope, reach, largest) = 2.0**-23, profile
        error = unit * (radius * slope + (X.shape[1] + 5) * reach + 5 * largest)
        rounded = (centred / (radius or 1.0)).astype(np.float32)
        return cls(rounded, term, profile, error) if error <= 1e-3 * largest else None

    @property
    def largest(self) -> float:
        """A bound on absolute values."""
        return self.profile.largest

    def tile(self, left: Indices, right: Indices | slice) -> Tile:
        """Return what computes parts of the matrix between the samples of some indices and those of others."""
        return measure(self.term, self.X[left], self.X[right], None, *self.profile.steps)
