"""Support vector machines with any kernel, by blocks: no more of the Gram matrix than there is room for.

`Rows` of a kernel matrix are in memory or are evaluated when they are asked for; `KernelSVM` is LL08 P2 over them, and
certifies any answer; `solve_blockwise` solves it, a block of variables at a time, each block by pairs (SMO).

It works in ``v = y u``, which makes P2 ``min 1/2 v'K v - y'v`` over a box with sum v = 0. The *violation* is the
largest ``r = y - K v`` of those that may grow less the smallest of those that may fall, at most 0 at the optimum, where
any b between the two is an intercept. A *block* is a working set: Joachims (1999) takes the largest violations, SMO is
the block of two. Here SMO runs inside a block whose matrix is in the cache, as in ThunderSVM (2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, Protocol, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.single import SingleKernel
from cvxens.kernels.tiles import SIDE, Tile, cut, fill, one_blas_thread
from cvxens.limits import (
    Deadline,
    Pace,
    available_memory,
    check_time,
    find_ending,
    limit_time,
    map_in_threads,
    time_left,
    was_cut,
)
from cvxens.problems import SVMDual
from cvxens.problems.maps import KernelMap
from cvxens.rounding import EPSILON, sum_error
from cvxens.solvers.svm_solution import BestPoint, Ending, SVMSolution
from cvxens.types import Array

__all__ = [
    "CachedRows",
    "DenseRows",
    "EvaluatedRows",
    "KernelSVM",
    "Rows",
    "expand",
    "solve_blockwise",
]

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
    # as many rows as make a tile, one at least
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
        return cls(validation.symmetric(K))

    @property
    def n_samples(self) -> int:
        return len(self.K)

    @property
    def largest(self) -> float:
        return np.inf

    def block(self, chosen: Indices) -> Array:
        return self.K if len(chosen) == len(self.K) else gather(self.K, chosen, chosen)

    def add(self, chosen: Indices, weights: Array, f: Array) -> None:
        add_rows(self.K, chosen, weights, f)

    def product(self, v: Array) -> Array:
        return self.K @ v

    def largest_entry(self) -> float:
        return max(float(self.K.max()), -float(self.K.min()))

    def absolute_product(self, v: Array) -> Array:
        return expand(lambda rows, _: np.abs(rows), self.K, self.K, v)

    def cross(self, left: Indices, right: Indices, v: Array) -> Array:
        return gather(self.K, left, right) @ v

    def among(self, chosen: Indices) -> DenseRows:
        return DenseRows(gather(self.K, chosen, chosen))


@njit(cache=True, nogil=True)
def gather(K: Array, left: Indices, right: Indices) -> Array:
    """Return the part of a matrix in some rows and columns, without whole rows on the way."""
    part = np.empty((len(left), len(right)))
    for i in range(len(left)):
        row, own = K[left[i]], part[i]
        for j in range(len(right)):
            own[j] = row[right[j]]
    return part


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
        return len(self.X)

    def block(self, chosen: Indices) -> Array:
        places = self._kept(chosen)
        return self._matrix[places[:, None], chosen]

    def add(self, chosen: Indices, weights: Array, f: Array) -> None:
        places = self._kept(chosen)
        add_rows(self._matrix, places, weights, f)

    def product(self, v: Array) -> Array:
        used = np.flatnonzero(v)
        return expand(self._values, self.X, self.X[used], v[used])

    def largest_entry(self) -> float:
        return self.largest

    def absolute_product(self, v: Array) -> Array:
        used = np.flatnonzero(v)
        return expand(lambda X, Z: np.abs(self._values(X, Z)), self.X, self.X[used], v[used])

    def cross(self, left: Indices, right: Indices, v: Array) -> Array:
        used = np.flatnonzero(v.reshape(len(v), -1).any(axis=1))
        return expand(self.kernel, self.X[left], self.X[right[used]], v[used])

    def among(self, chosen: Indices) -> CachedRows:
        return CachedRows(self.kernel, self.X[chosen], self.n_bytes)

    def _values(self, X: Array, Z: Array) -> Array:
        """Evaluate the kernel between samples, and keep record of the largest entry."""
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
            # rows of this very call are marked as just used, so that they are not among those evicted
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
        # 8 bytes an entry; a block of rows has to fit in, whatever the room
        wanted = max(n_rows, min(self.n_samples, int(self.n_bytes // (8 * self.n_samples))))
        if len(self._matrix) < wanted:
            self._matrix = np.empty((wanted, self.n_samples))
            self._place[:] = -1
            self._owner, self._used = np.full(wanted, -1, np.intp), np.zeros(wanted, np.int64)


def _in_time(tile: Tile, n_rows: int) -> Tile:
    """Return the tiles of a block that end with a `TimeUp` where there is no time left; a single one is always made."""
    if n_rows <= SIDE:
        return tile

    def evaluate(rows: slice, columns: slice) -> NDArray:
        check_time()
        return tile(rows, columns)

    return evaluate


class EvaluatedRows:
    """Rows of a kernel that are evaluated whenever they are asked for, by tiles, until the matrix is cheaper.

    To write a number into memory that is new to the process costs more than to evaluate it, so there is no matrix
    until as much has been evaluated as that would cost (as one who rents skis buys them once the rents add up to their
    price), and none where it would take more than half of the memory that is left.

    Parameters
    ----------
    kernel : Kernel
        Whose values depend on the two samples only.
    X : ndarray of shape (n_samples, n_features)
        The sample.

    Examples
    --------
    >>> from cvxens.kernels import SimplifiedStump
    >>> rows, f = EvaluatedRows(SimplifiedStump(), np.array([[1.0], [2.0], [4.0]])), np.zeros(3)
    >>> rows.add(np.array([2]), np.array([1.0]), f)
    >>> f, rows.largest
    (array([-3., -2.,  0.]), 3.0)
    """

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel, self.X = kernel, np.asarray(X, np.float64)
        self.evaluated = 0.0  # values so far, of those of a matrix
        self._largest = 0.0
        self._dense: DenseRows | None = None
        self._room = np.empty((0, 0))

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def largest(self) -> float:
        return self._largest if self._dense is None else inf

    @property
    def block_size(self) -> int:
        """The number of samples in a block: half of all, as most are in it then when they change for the last time."""
        return min(LARGE_BLOCK, max(BLOCK, self.n_samples // 2))

    @cached_property
    def single(self) -> SingleRows | None:
        """The same rows in single precision, until there is a matrix; None where the kernel has none."""
        if self._dense is not None or (kernel := self.kernel.round_to_single(self.X)) is None:
            return None
        # whatever it evaluates counts as evaluated here
        self._largest = max(self._largest, kernel.largest)
        return SingleRows(kernel)

    def block(self, chosen: Indices) -> Array:
        if self._dense is not None:
            return self._dense.block(chosen)
        m = len(chosen)
        if len(self._room) < m:
            self._room = np.empty((m, m))
        # memory that was written to before is not new
        block = self._room.ravel()[: m * m].reshape(m, m)
        X = self.X[chosen]
        fill(block, _in_time(self.kernel.tile(X, X), m), symmetric=True)
        self._note(max(float(block.max()), -float(block.min())), m * m / 2)
        return block

    def add(self, chosen: Indices, weights: Array, f: Array) -> None:
        self._buy()
        if self._dense is not None:
            self._dense.add(chosen, weights, f)
            return
        used = np.flatnonzero(weights)
        f += self._times(self.X, self.X[chosen[used]], weights[used])

    def product(self, v: Array) -> Array:
        if self._dense is not None:
            return self._dense.product(v)
        f = np.zeros(self.n_samples)
        self.add(np.flatnonzero(v), v[v != 0], f)
        return f

    def largest_entry(self) -> float:
        return self._largest if self._dense is None else self._dense.largest_entry()

    def absolute_product(self, v: Array) -> Array:
        # |K_ij| is at most the largest of the entries that were evaluated, which the columns of v are among
        return np.full(self.n_samples, self.largest_entry() * float(np.abs(v).sum()))

    def cross(self, left: Indices, right: Indices, v: Array) -> Array:
        used = np.flatnonzero(v.reshape(len(v), -1).any(axis=1))
        return self._times(self.X[left], self.X[right[used]], v[used])

    def among(self, chosen: Indices) -> EvaluatedRows:
        return EvaluatedRows(self.kernel, self.X[chosen])

    def _times(self, X: Array, Z: Array, v: Array) -> Array:
        """Return K(X, Z) v, by tiles whose sums are in the same order for any number of threads."""
        product, tile = np.zeros((len(X), *v.shape[1:])), self.kernel.tile(X, Z)
        slabs, columns = cut(len(X), SIDE), cut(len(Z), SIDE)

        def fill_in(rows: slice) -> float:
            check_time()
            largest = 0.0
            for part in columns:
                values = tile(rows, part)
                largest = max(largest, float(values.max()), -float(values.min()))
                product[rows] += values @ v[part]
            return largest

        with one_blas_thread():
            found = map_in_threads(fill_in, slabs)
        self._note(max(found, default=0.0), len(X) * len(Z))
        return product

    def _note(self, largest: float, n_values: float) -> None:
        """Keep record of the largest entry, and of how much was evaluated."""
        if not np.isfinite(largest):
            raise InvalidInput("X", "found values whose kernel is no finite number", "scale the features")
        self._largest = max(self._largest, largest)
        self.evaluated += n_values / self.n_samples**2

    def _buy(self) -> None:
        """Evaluate the matrix once as much has been evaluated, if there is room and time for it."""
        room = self._dense is None and 16 * self.n_samples**2 <= available_memory()
        if room and self.evaluated > PRICE_OF_MATRIX and time_left() == inf:
            self._dense, self._room = DenseRows(self.kernel(self.X)), np.empty((0, 0))


class SingleRows:
    """Rows of a kernel in single precision, evaluated whenever they are asked for: where steps are far from the end.

    Parameters
    ----------
    kernel : SingleKernel
        On the sample.

    Examples
    --------
    >>> from cvxens.kernels import SimplifiedPerceptron
    >>> rows, f = SingleRows(SimplifiedPerceptron().round_to_single(np.array([[1.0], [2.0], [4.0]]))), np.zeros(3)
    >>> rows.add(np.array([2]), np.array([1.0]), f)
    >>> bool(np.abs(f - [-3, -2, 0]).max() <= rows.error < 1e-5)
    True
    """

    def __init__(self, kernel: SingleKernel) -> None:
        self.kernel, self.largest, self.error = kernel, kernel.largest, kernel.error
        self.n_samples = len(kernel.sample.X)
        self.block_size = min(SINGLE_BLOCK, max(BLOCK, self.n_samples // 2))
        # half of the memory that is left is for the others
        while self.block_size > BLOCK and 8 * self.block_size**2 > available_memory():
            self.block_size //= 2
        self._room = np.empty((0, 0), np.float32)

    def block(self, chosen: Indices) -> NDArray[np.float32]:
        m = len(chosen)
        if len(self._room) < m:
            self._room = np.empty((m, m), np.float32)
        block = self._room.ravel()[: m * m].reshape(m, m)
        fill(block, _in_time(self.kernel.tile(chosen, chosen), m), symmetric=True)
        return block

    def add(self, chosen: Indices, weights: Array, f: Array) -> None:
        used = np.flatnonzero(weights)
        weights, tile = weights[used], self.kernel.tile(chosen[used], np.arange(self.n_samples))
        parts, added = cut(len(used), SIDE), np.zeros(self.n_samples)

        def fill_in(columns: slice) -> None:
            check_time()
            for part in parts:
                # sums of products are in double precision
                add_rows(tile(part, columns), np.arange(part.stop - part.start), weights[part], added[columns])

        map_in_threads(fill_in, cut(self.n_samples, SIDE))
        f += added


SINGLE_BLOCK = 24576
"""Variables of a block of `SingleRows` at most: 2.25 GiB. Where all that are between their bounds are in one, a few
blocks do; else each moves the others, and there are many."""

SINGLE_GAP = 2e-5
"""The relative gap down to which the steps of `SingleRows` reach: of machines of 5,000 to 100,000 samples the gap that
is evaluated in double precision differs from the one in single by 1e-7 to 1e-6."""

LARGE_BLOCK = 8192
"""Variables of a block of `EvaluatedRows` at most: 512 MiB."""

PRICE_OF_MATRIX = 4.0
"""What a matrix costs, in evaluations of all its values: half for the values, the rest for memory that is new."""


@njit(cache=True, nogil=True)
def add_rows(matrix: NDArray, places: NDArray[np.intp], weights: Array, f: Array) -> None:
    """Add ``sum_k weights_k matrix[places_k]`` to f."""
    for k in range(len(places)):
        if weights[k] != 0.0:
            row, weight = matrix[places[k]], weights[k]
            for i in range(len(f)):
                f[i] += weight * row[i]


INDEFINITE = 1e-9
"""A negative v'K v of this size, relative to |v|'|K||v|, the sum of the sizes of its terms, is not rounding."""


@dataclass(frozen=True, eq=False)
class RowsMap(KernelMap):
    """Rows of a kernel matrix, in memory or evaluated when they are asked for, as the map of a problem."""

    rows: Rows

    @property
    def n_samples(self) -> int:
        return self.rows.n_samples

    @property
    def spread(self) -> float:
        """Twice the largest entry of the columns of a few samples, and of the diagonal there."""
        return 2 * float(np.abs(self.rows.block(np.arange(min(self.n_samples, 8)))).max())

    def matrix(self) -> Array:
        return self.rows.block(np.arange(self.n_samples))

    def scores(self, c: Array) -> Array:
        return self.rows.product(c)

    def measure_scores(self, c: Array) -> tuple[Array, Array]:
        f = self.rows.product(c)
        return f, self.score_errors(c, f)

    def score_errors(self, c: Array, f: Array) -> Array:
        """Bound how far scores that are sums of at most n_samples terms are from K c, without another product for it.

        Where there is no time to evaluate |K| |c|, the largest entry of the rows that were evaluated, those of c among
        them, stands for all.
        """
        # |sum_j K_ij c_j| is off by (n + 1) eps (|K| |c|)_i at most
        if was_cut():
            return np.full(len(c), sum_error(len(c), 1.0) * self.rows.largest_entry() * float(np.abs(c).sum()))
        return sum_error(len(c), 1.0) * self.rows.absolute_product(np.abs(c))


class KernelSVM(SVMDual):
    """min 1/2 u'(K o yy')u - sum u subject to 0 <= u <= C, y'u = 0, with K given by its rows.

    LL08 P2, as `cvxens.problems.SVMDual`, for samples whose kernel matrix need not fit into memory. K has to be PSD on
    coefficients that sum to 0; that is not checked beforehand.

    Parameters
    ----------
    rows : Rows
        The kernel on the sample.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    C : ndarray of shape (n_samples,)
        Upper bounds of the multipliers, above 0.

    Examples
    --------
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> problem.solution_at(np.array([0.5, 0.5])).certificate.holds()
    True
    """

    def __init__(self, rows: Rows, y: Array, C: Array) -> None:
        self.rows, self.gram, self.y = rows, RowsMap(rows), y
        self.C = C

    @classmethod
    def of(cls, K: Any, y: Any, C: Any) -> KernelSVM:
        """Check a kernel matrix (n_samples, n_samples), or rows; `C` is one number or one per sample."""
        rows = K if hasattr(K, "product") else DenseRows.of(K)
        labels = validation.signs(y, rows.n_samples)
        return cls(rows, labels, validation.sample_prices("C", C, len(labels)))

    def priced(self, C: Array) -> KernelSVM:
        """Return the problem with other prices, one per sample."""
        return KernelSVM(self.rows, self.y, C)

    def among(self, chosen: Indices) -> KernelSVM:
        """Return the problem on some of the samples."""
        return KernelSVM(self.rows.among(chosen), self.y[chosen], self.C[chosen])

    def solution_at(self, u: Array, f: Array | None = None) -> SVMSolution[KernelSVM]:
        """Evaluate both problems at multipliers: made feasible, or feasible ones with f = K (y u).

        Raises
        ------
        InvalidInput
            The kernel turns out to be indefinite.
        """
        if f is None:
            u = self.loss.repair(u, self.y)
            f = self.rows.product(self.y * u)
        v = self.y * u
        half_norm = float(v @ f) / 2
        # f itself may be all rounding, as where w = 0 is optimal, so the scale is that of the terms that f sums up
        if half_norm < 0 and half_norm < -INDEFINITE * float(np.abs(v) @ self.rows.absolute_product(np.abs(v))):
            raise InvalidInput(
                "kernel",
                f"found v'K v = {2 * half_norm:.3g} for coefficients that sum to 0",
                "give a kernel that is PSD, at least on such coefficients",
            )
        return SVMSolution.from_scores(self, u, f)


SINGULAR = 1e-12
"""The least curvature along a pair of variables, relative to the largest diagonal entry."""


CHUNK = 128
"""Variables that are compared with the same number of others at once, by vector instructions."""


@njit(cache=True, nogil=True)
def optimise_block(K: NDArray, point: Array, bounds: Array, tol: float, max_steps: int) -> int:
    """Minimise ``1/2 v'K v - q'v`` over ``low <= v <= high`` with sum v fixed; v and r = q - K v are changed in place.

    K is the kernel matrix of the block, `point` v and r, `bounds` low and high; the number of steps is returned. It
    ends where the violation ``max r over those that may grow - min r over those that may fall`` is at most `tol`.
    Each step moves the pair of the largest violation and, for it, the largest gain of second order (Fan, Chen & Lin,
    *Working set selection using second order information*, JMLR 6 (2005)). r has the precision of K meanwhile.
    """
    v, r, real = point[0], point[1].astype(K.dtype), K.dtype.type
    n = len(v)
    diagonal = np.diag(K).copy()
    # the last where the diagonal is 0, as of a kernel of distances: in either precision with room for quotients
    least = real(max(SINGULAR * np.abs(diagonal).max(), 1e8 * np.finfo(K.dtype).tiny))
    # the square of a smaller violation may underflow, and then no pair has a gain: r is 1e-176 after a lucky step
    tol = max(tol, 1e4 * np.sqrt(np.finfo(K.dtype).tiny))
    # added to r, they take out those that may not grow, and those that may not fall
    grows, falls = np.empty(n, K.dtype), np.empty(n, K.dtype)
    for k in range(n):
        _note_bounds(v, bounds, k, grows, falls)
    nothing, extremes, gains = np.zeros(n, K.dtype), np.empty((2, CHUNK), K.dtype), np.empty(CHUNK, K.dtype)
    smallest = _update(r, nothing, nothing, real(0.0), grows, falls, extremes)
    taken = max_steps
    for step in range(max_steps):
        i = _locate_largest(r, grows, extremes[0])
        steepest = r[i]
        if not steepest + grows[i] - smallest > tol:
            taken = step
            break
        j = _find_partner(K[i], diagonal, diagonal[i], least, r, falls, steepest, gains)
        # along e_i - e_j the objective is 1/2 t^2 (K_ii + K_jj - 2 K_ij) - t (r_i - r_j)
        curvature = max(np.float64(diagonal[i]) + diagonal[j] - 2.0 * K[i, j], np.float64(least))
        length = _move(v, bounds, i, j, (np.float64(steepest) - r[j]) / curvature)
        _note_bounds(v, bounds, i, grows, falls)
        _note_bounds(v, bounds, j, grows, falls)
        smallest = _update(r, K[i], K[j], real(length), grows, falls, extremes)
    for k in range(n):
        point[1, k] = r[k]
    return taken


SPURT = 64
"""Steps in all variables of a problem after which its gap is evaluated: that costs as much as one or two."""


@njit(cache=True, nogil=True)
def close_gap(K: Array, point: Array, bounds: Array, y: Array, tol: float, max_steps: int) -> int:
    """Minimise ``1/2 v'K v - y'v`` as `optimise_block` does, until its relative duality gap is at most `tol`.

    `point` is v and r = y - K v, of all variables; the number of steps is returned. The gap is that of the intercept
    halfway between the largest r of those that may grow and the smallest of those that may fall, so the gap of the
    best intercept is no larger.
    """
    n_steps = 0
    while n_steps < max_steps:
        gap, objective = measure_gap(point, bounds, y)
        # the bound is the objective, which is at most 0, less the gap
        if gap <= tol * (gap - objective):
            break
        taken = optimise_block(K, point, bounds, 0.0, SPURT)
        n_steps += taken
        if taken < SPURT:
            break
    return n_steps


@njit(cache=True, nogil=True)
def settle_block(K: NDArray, point: Array, bounds: Array, tol: float, gap: float, max_steps: int) -> int:
    """Minimise as `optimise_block` does, until the violation is at most `tol` or the duality gap at most `gap`."""
    n_steps = 0
    # the diagonal is read anew by every spurt, which takes as long as some dozen steps
    spurt = max(SPURT, len(K) // 8)
    while n_steps < max_steps:
        taken = optimise_block(K, point, bounds, tol, spurt)
        n_steps += taken
        if taken < spurt or sum_room(point, bounds) <= gap:
            break
    return n_steps


@njit(cache=True, nogil=True)
def measure_gap(point: Array, bounds: Array, y: Array) -> tuple[float, float]:
    """Return the duality gap of P2 at v and r = y - K v, for the b in the middle, and the objective.

    As sum v = 0, the gap ``v'K v - y'v + sum C max(0, y (r - b))`` is `sum_room`.

    Examples
    --------
    >>> v, y = np.array([0.25, -0.25]), np.array([1.0, -1.0])
    >>> r = y - np.array([[0.0, -2.0], [-2.0, 0.0]]) @ v
    >>> measure_gap(np.stack([v, r]), np.array([[0.0, -1.0], [1.0, 0.0]]), y)
    (0.75, -0.375)
    """
    v, r, twice = point[0], point[1], 0.0
    for k in range(len(v)):
        # 1/2 v'K v - y'v = -1/2 v'(y + r)
        twice -= v[k] * (y[k] + r[k])
    return sum_room(point, bounds), twice / 2


@njit(cache=True, nogil=True)
def sum_room(point: Array, bounds: Array) -> float:
    """Sum the way that each variable may still go times how much that gains: (r - b)+ (high - v) + (b - r)+ (v - low).

    Here b is halfway between the largest r of those that may grow and the least of those that may fall.
    """
    v, r = point[0], point[1]
    largest, smallest = -np.inf, np.inf
    for k in range(len(v)):
        if v[k] < bounds[1, k] and r[k] > largest:
            largest = r[k]
        if v[k] > bounds[0, k] and r[k] < smallest:
            smallest = r[k]
    b, room = (largest + smallest) / 2, 0.0
    for k in range(len(v)):
        room += (r[k] - b) * (bounds[1, k] - v[k]) if r[k] > b else (b - r[k]) * (v[k] - bounds[0, k])
    return room


@njit(cache=True, nogil=True, inline="always")
def _note_bounds(v: Array, bounds: Array, k: int, grows: Array, falls: Array) -> None:
    grows[k] = 0.0 if v[k] < bounds[1, k] else -np.inf
    falls[k] = 0.0 if v[k] > bounds[0, k] else np.inf


@njit(cache=True, nogil=True)
def _update(
    r: NDArray, gained: NDArray, lost: NDArray, length: float, grows: NDArray, falls: NDArray, extremes: NDArray
) -> float:
    """Update r = q - K v where v_i has risen and v_j fallen by a length; returns the least r of those that may fall.

    `extremes` gets the largest r of those that may grow, of the variables of each place in a chunk, and the least of
    those that may fall: so each is compared with what is beside it, by vector instructions.
    """
    largest, smallest = extremes[0], extremes[1]
    for k in range(CHUNK):
        largest[k], smallest[k] = -np.inf, np.inf
    for first in range(0, len(r), CHUNK):
        part = slice(first, first + CHUNK)
        here, plus, minus, up, down = r[part], gained[part], lost[part], grows[part], falls[part]
        for k in range(len(here)):
            now = here[k] - length * (plus[k] - minus[k])
            here[k] = now
            above, below = now + up[k], now + down[k]
            largest[k] = above if above > largest[k] else largest[k]
            smallest[k] = below if below < smallest[k] else smallest[k]
    return smallest.min()


@njit(cache=True, nogil=True)
def _locate_largest(r: NDArray, grows: NDArray, largest: NDArray) -> int:
    """Return one of those that may grow with the largest r, which are known for each place in a chunk."""
    at = place = int(np.argmax(largest))
    for k in range(place, len(r), CHUNK):
        if r[k] + grows[k] > r[at] + grows[at]:
            at = k
    return at


# no division by zero is looked for, as that would be one by one: curvatures are above 0
@njit(cache=True, nogil=True, error_model="numpy")
def _find_partner(
    row: NDArray,
    diagonal: NDArray,
    own: float,
    least: float,
    r: NDArray,
    falls: NDArray,
    steepest: float,
    gains: NDArray,
) -> int:
    """Return the variable to lower when that of the largest r is raised, by the gain if there were no bounds."""
    zero = least - least
    for k in range(CHUNK):
        gains[k] = -1.0
    for first in range(0, len(r), CHUNK):
        part = slice(first, first + CHUNK)
        between, other, here, down = row[part], diagonal[part], r[part], falls[part]
        for k in range(len(here)):
            gain = _gain(between[k], other[k], own, least, steepest - (here[k] + down[k]), zero)
            gains[k] = gain if gain > gains[k] else gains[k]
    at = place = int(np.argmax(gains))
    most = -1.0
    for k in range(place, len(r), CHUNK):
        gain = _gain(row[k], diagonal[k], own, least, steepest - (r[k] + falls[k]), zero)
        if gain > most:
            at, most = k, gain
    return at


@njit(cache=True, nogil=True, inline="always", error_model="numpy")
def _gain(between: float, other: float, own: float, least: float, fall: float, zero: float) -> float:
    # the minimum in t = fall / curvature lowers the objective by half of fall^2 / curvature
    curvature = own + other - (between + between)
    curvature = curvature if curvature > least else least
    fall = fall if fall > zero else zero
    return fall * fall / curvature


@njit(cache=True, nogil=True)
def _move(v: Array, bounds: Array, i: int, j: int, length: float) -> float:
    """Raise v_i and lower v_j by as much as the bounds allow, onto these where they are met; return by how much."""
    # onto a bound exactly, so that what is at one is told from what is near it
    room_i, room_j = bounds[1, i] - v[i], v[j] - bounds[0, j]
    length = min(length, room_i, room_j)
    v[i] = bounds[1, i] if length == room_i else v[i] + length
    v[j] = bounds[0, j] if length == room_j else v[j] - length
    return length


BLOCK = 1024
"""Variables that are optimised together: their matrix of 8 MB is about what a cache holds."""

WHOLE = 2048
"""Samples up to which all are one block."""

SINGLE_SHARE = 0.9
"""The gap that steps in single precision end at, relative to the one asked for, which is then evaluated in double."""

SHARPER = 0.03
"""The violation at which a block counts as optimal, relative to the whole problem's: the others move it anyway."""

PART = 0.1
"""The same of the variables of a problem in memory that violate its conditions, if they are few: mostly no others do
afterwards, and copying their matrix and updating all scores takes longer than their steps."""

CLOSER = 0.25
"""The gap that the steps in a whole problem end at, relative to the one that is asked for: they take a few percent
longer, and in cross-validation the share of errors is that of the optimum, where at the whole gap one of a hundred
machines differs in one sample."""

FEW_STEPS = 1
"""Steps in a whole problem, per variable, after which the gap is evaluated."""

STEPS = 100
"""Steps in a block, per variable of it."""

ROOM_FOR_UPDATE = 1.5
"""What is kept of a limit of time for the update of all scores, relative to what its values are expected to take."""

DRIFT = 1e-12
"""The error of scores that is none, relative to the largest: thousands of roundings of a sum of updates."""

PATIENCE = 30
"""Blocks in a row without progress after which rounding is to blame."""


def solve_blockwise(
    problem: KernelSVM, tol: float = 1e-6, *, start: SVMSolution[KernelSVM] | None = None, max_time: float = inf
) -> SVMSolution[KernelSVM]:
    """Solve LL08 P2 with any kernel, in memory for the rows of one block and for those that are kept.

    A block of the variables that violate the conditions of optimality the most is optimised by pairs, then the scores
    of all samples are updated by the block's rows; half of a block stays for the next (Joachims 1999; Wen, Shi, Li, He
    & Chen, *ThunderSVM*, JMLR 19 (2018)). A small problem is one block.

    Parameters
    ----------
    problem : KernelSVM
        Rows of the kernel, labels and C.
    tol : float
        Certified relative gap at which to stop, above 0.
    start : SVMSolution, optional
        For the same samples, at C that differ by one factor.
    max_time : float
        Stop after so many seconds; a block is not begun that might take longer.

    Returns
    -------
    SVMSolution
        The point with the smallest certified gap, also when the limit or Ctrl-C ended the run.

    Raises
    ------
    InvalidInput
        An argument that cannot be worked with; a kernel that turns out to be indefinite.

    Examples
    --------
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> solution = solve_blockwise(problem)
    >>> solution.u, solution.objective, solution.certificate.holds()
    (array([0.5, 0.5]), -0.5, True)
    """
    tol = validation.positive("tol", tol)
    max_time = validation.limit("max_time", max_time)
    with limit_time(max_time) as clock:
        search = _Search(problem, start, clock, tol)
        return search.result(find_ending(search.run))


class _Search:
    """The current point v = y u, f = K v, and the best one so far."""

    def __init__(self, problem: KernelSVM, start: SVMSolution[KernelSVM] | None, clock: Deadline, tol: float) -> None:
        self.problem, self.drift, self.tol = problem, 0.0, tol
        self.incumbent: BestPoint[SVMSolution[KernelSVM]] = BestPoint(clock)
        # 0 <= y v <= C
        self.bounds = np.stack([np.minimum(problem.y * problem.C, 0.0), np.maximum(problem.y * problem.C, 0.0)])
        self.v, self.f = np.zeros(len(problem.y)), np.zeros(len(problem.y))
        if start is not None:
            stretch = _stretch(start, problem)
            self.v, self.f = stretch * (problem.y * start.u), stretch * start.f
            self.drift = stretch * start.drift
        self.block: Indices = np.empty(0, np.intp)
        self.n_blocks, self.pace = 0, Pace()
        self.size = BLOCK
        """Variables of a block where there is a limit of time: as many as there is time for, and no more at first."""
        self.pace_of_values = 0.0
        """Seconds that a value of the kernel takes."""
        # in single precision down to some gap, if rows are evaluated whenever they are asked for
        self.rows: Rows | SingleRows = problem.rows
        self.target = tol
        if len(self.v) > WHOLE and (single := getattr(problem.rows, "single", None)) is not None:
            self.rows, self.target = single, max(SINGLE_SHARE * tol, SINGLE_GAP)
        # of a small problem the gap is known to the steps themselves, and the start is seldom the end
        if len(self.v) > WHOLE:
            self.take()

    def take(self) -> None:
        """Certify the current point, and keep it if it is the best so far."""
        self.incumbent.waited += 1
        self.incumbent.take(self._evaluate(), self.n_blocks)

    def _evaluate(self) -> SVMSolution[KernelSVM]:
        point = self.problem.solution_at(self.problem.y * self.v, self.f.copy())
        # in single precision, what scores are off by is more than rounding
        return point if self.rows is self.problem.rows else replace(point, drift=self.drift)

    def run(self) -> Ending:
        """Optimise one block after the other, in single precision first where the rows have it."""
        ending = self.optimise()
        if self.rows is not self.problem.rows and ending is not Ending.MAX_TIME:
            self.refine()
            ending = self.optimise()
        return ending

    def refine(self) -> None:
        """Evaluate the scores of the best point in double precision, and go on in that."""
        v = self.problem.y * self.incumbent.best.u
        self.f = self.problem.rows.product(v)
        self.v, self.drift, self.rows, self.target = v, 0.0, self.problem.rows, self.tol
        self.incumbent.restart(self._evaluate(), self.n_blocks)

    def optimise(self) -> Ending:
        """Optimise one block after the other, until the gap is the target."""
        while not self.incumbent.history or self.incumbent.best.relative_gap > self.target:
            # minus the gradient of 1/2 v'K v - y'v
            r = self.problem.y - self.f
            if len(r) <= WHOLE:
                if self.incumbent.waited >= PATIENCE:
                    return Ending.ROUNDING
                if not self.pace.allows_step():
                    return Ending.MAX_TIME
                self._optimise_whole(r, STEPS)
                self.take()
                continue
            low, high = self.bounds
            up, down = np.where(self.v < high, r, -inf), np.where(self.v > low, r, inf)
            violation = float(up.max() - down.min())
            if self.incumbent.waited >= PATIENCE or violation <= 0:
                return Ending.ROUNDING
            if not self.pace.allows_step():
                return Ending.MAX_TIME
            # where products cost little the matrix is in memory, and pairs are sought among all variables at once
            if self.rows.largest == inf:
                # no other variable is part of a pair that violates the conditions now
                self.block = np.flatnonzero((up > down.min()) | (down < up.max()))
                if 2 * len(self.block) > len(r):
                    self._optimise_whole(r, FEW_STEPS)
                else:
                    self._optimise(r, PART * violation)
            else:
                self.block = next_block(up, down, self.block, self._choose_size())
                self._optimise(r, SHARPER * violation)
            self.take()
        return Ending.OPTIMAL

    def result(self, ending: Ending) -> SVMSolution[KernelSVM]:
        """Return the best point with the history, evaluated anew if its scores have drifted by rounding.

        Where there is no time for that, a bound on the drift is part of its certificate.
        """
        if not self.incumbent.history:
            self.take()
        best = self.incumbent.end(ending)
        if self.problem.rows.largest < inf:
            drifted = replace(best, drift=self.drift)
            within = ending is Ending.OPTIMAL and drifted.certificate.relative_gap <= self.tol
            if within or ending in {Ending.MAX_TIME, Ending.INTERRUPTED}:
                return drifted
        f = self.problem.rows.product(self.problem.y * best.u)
        if np.abs(f - best.f).max() <= DRIFT * np.abs(f).max():
            return best
        return replace(self.problem.solution_at(best.u), history=best.history, ending=ending)

    def _optimise_whole(self, r: Array, n_steps_each: int) -> None:
        """Optimise all variables up to the gap, or by so many steps for each: the scores come with them."""
        point, rows = np.stack([self.v, r]), self.problem.rows
        before = self.v
        # where rounding has kept the last point from what it was stopped for, it has to go further
        tol = CLOSER * self.tol / 2**self.incumbent.waited
        K = rows.block(np.arange(len(r)))
        n_steps = close_gap(K, point, self.bounds, self.problem.y, tol, n_steps_each * len(r))
        self.v, self.f = point[0], self.problem.y - point[1]
        if rows.largest < inf:
            # every step rounds what it adds to f, at most 2 length max |K|, and f itself
            moved = 4 * float(np.abs(self.v - before).max()) * rows.largest_entry()
            self.drift += EPSILON * n_steps * (float(np.abs(self.f).max()) + moved)
        self.n_blocks += 1

    def _choose_size(self) -> int:
        """Return the number of variables of the next block: under a limit twice as many at most, if there is time."""
        largest, left = getattr(self.rows, "block_size", BLOCK), time_left()
        if left == inf:
            return int(largest)
        wanted = min(2 * self.size, int(largest))
        if self.pace_of_values * wanted * (wanted + len(self.v)) < left / 2:
            self.size = wanted
        return self.size

    def _optimise(self, r: Array, tol: float) -> None:
        """Optimise the block, and update all scores by what has changed in it."""
        block, rows = self.block, self.rows
        began = time_left()
        K = rows.block(block)
        if began < inf:
            # half of the values are those of the other half
            self.pace_of_values = 2 * (began - time_left()) / K.size
        point = np.stack([self.v[block], r[block]])
        bounds = np.ascontiguousarray(self.bounds[:, block])
        # what is left of the gap, if nothing outside of the block adds to it
        gap = CLOSER * self.target * abs(self.incumbent.best.objective)
        # the update takes its time, too
        reserve = ROOM_FOR_UPDATE * self.pace_of_values * len(block) * len(self.v)
        n_steps, most = 0, STEPS * len(block)
        portion = most if began == inf else max(SPURT, len(block) // 8)
        while n_steps < most:
            taken = settle_block(K, point, bounds, tol, gap, portion)
            n_steps += taken
            if taken < portion or time_left() < reserve:
                break
        change = point[0] - self.v[block]
        rows.add(block, change, self.f)
        # a sum of m products has an error of (m + 1) eps times that of their sizes, at most sum |change| max |K|
        sizes, lost = float(np.abs(change).sum()), getattr(rows, "error", 0.0)
        self.drift += EPSILON * ((len(block) + 1) * sizes * rows.largest + float(np.abs(self.f).max())) + lost * sizes
        self.v[block] = point[0]
        self.n_blocks += 1


def _stretch(start: SVMSolution[KernelSVM], problem: KernelSVM) -> float:
    """Return the best multiple of a solution, as far as the bounds allow: ``t = sum u / u'(K o yy')u``."""
    # t u <= C as u was at most the C before
    most = float((problem.C / start.problem.C).min())
    square = float((problem.y * start.u) @ start.f)
    return min(most, float(start.u.sum()) / square) if square > 0 else most


def next_block(up: Array, down: Array, last: Indices, size: int | None = None) -> Indices:
    """Return the variables of the largest violations in either direction, and half of the last block.

    Those are left out that are at a bound, and further from a violation than the violations are large: few of them
    will be part of one.
    """
    n, size = len(up), BLOCK if size is None else size
    if n <= WHOLE:
        return np.arange(n)
    highest, lowest = up.max(), down.min()
    near = (up > 2 * lowest - highest) | (down < 2 * highest - lowest)
    if np.count_nonzero(near) <= size:
        return np.flatnonzero(near)
    # a quarter for each direction leaves half of the block to the last one: first to those between their bounds, which
    # new neighbours move again
    most = size // 4 if len(last) else size // 2
    fresh = np.union1d(np.argpartition(-up, most)[:most], np.argpartition(down, most)[:most])
    fresh = fresh[np.isfinite(up[fresh]) | np.isfinite(down[fresh])]
    stay = np.setdiff1d(last, fresh)
    free = np.isfinite(up[stay]) & np.isfinite(down[stay])
    stay = stay[np.argsort(~free, kind="stable")]
    return np.concatenate([fresh, stay[: size - len(fresh)]])
