"""Support vector machines with any kernel, by blocks: no more of the Gram matrix than there is room for.

`KernelRows` are in memory or are evaluated when they are asked for; `KernelSVM` is LL08 P2 over them, `KernelSVR` the
regression, and both certify any answer; `solve_blockwise` solves them, a block of variables at a time, each by pairs
(SMO).

It works in ``v = y u``, which makes P2 ``min 1/2 v'K v - y'v`` over a box with sum v = 0. The *violation* is the
largest ``r = y - K v`` of those that may grow less the smallest of those that may fall, at most 0 at the optimum, where
any b between the two is an intercept. A *block* is a working set: Joachims (1999) takes the largest violations, SMO is
the block of two. Here SMO runs inside a block whose matrix is in the cache, as in ThunderSVM (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.certificates import relative
from cvxens.errors import InvalidInput
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.tiles import SIDE, Tile, cut, fill
from cvxens.limits import (
    Deadline,
    Ending,
    Pace,
    TimeUp,
    available_memory,
    check_time,
    find_ending,
    limit_threads,
    limit_time,
    map_in_threads,
    one_blas_thread,
    time_left,
    was_cut,
)
from cvxens.problems import Formulation, Problem, SVMDual
from cvxens.problems.losses import best_of_hinges
from cvxens.problems.maps import KernelMap
from cvxens.problems.penalties import SquaredL2
from cvxens.problems.problem import Products
from cvxens.problems.target_losses import EpsilonInsensitive
from cvxens.rounding import EPSILON, sum_error
from cvxens.solvers.active_set import BoxProgram
from cvxens.solvers.svm_solution import BestPoint, SVMSolution
from cvxens.types import Array, Data, Indices, KernelFunction

__all__ = ["KernelRows", "KernelSVM", "KernelSVR", "expand", "solve_blockwise"]

P = TypeVar("P", bound=Any)
"""A problem over a kernel: `KernelSVM`, or `KernelSVR`."""


def expand(kernel: KernelFunction, X: Array, Z: Array, v: Array) -> Array:
    """Return ``sum_j v_j k(x_i, z_j)``, a part of the matrix at a time, for v (len(Z),) or (len(Z), n).

    Examples
    --------
    >>> expand(lambda X, Z: X @ Z.T, np.array([[1.0], [2.0]]), np.array([[1.0], [3.0]]), np.array([1.0, -1.0]))
    array([-2., -4.])
    """
    scores = np.zeros((len(X), *v.shape[1:]))
    # 2^22 values at a time, one row at least
    height = max(1, 2**22 // max(1, len(Z)))
    for first in range(0, len(X) if len(Z) else 0, height):
        rows = slice(first, first + height)
        scores[rows] = np.asarray(kernel(X[rows], Z)) @ v
    return scores


class KernelRows(KernelMap):
    """The kernel on a training sample: a matrix in memory, or values that are evaluated whenever they are asked for.

    To write a number into memory that is new to the process costs more than to evaluate it, and blocks that fit into
    memory that was written to before need fewer values than a matrix has, or a few times as many: where there is none
    at first, none is made.

    Parameters
    ----------
    between : callable
        From the indices of some samples and of others to a `Tile` of the matrix between them.
    n_samples : int
        How many there are.
    kernel, X : callable and ndarray of shape (n_samples, n_features), optional
        What the values are of.

    Examples
    --------
    >>> from cvxens.kernels import SimplifiedStump
    >>> rows, f = KernelRows.of(SimplifiedStump(), np.array([[1.0], [2.0], [4.0]])), np.zeros(3)
    >>> rows.add(np.array([2]), np.array([1.0]), f)
    >>> f, rows.largest, rows.K
    (array([-3., -2.,  0.]), 3.0, None)
    >>> KernelRows.of_matrix([[0.0, -2.0], [-2.0, 0.0]]).scores(np.array([1.0, -1.0]))
    array([ 2., -2.])
    """

    n_samples: int = 0

    def __init__(
        self,
        between: Callable[[Indices, Indices | slice], Tile],
        n_samples: int,
        kernel: KernelFunction | None = None,
        X: Array | None = None,
    ) -> None:
        self.between, self.n_samples, self.kernel, self.X = between, n_samples, kernel, X
        self.K: Array | None = None
        """The matrix, where it is in memory."""
        self.error = 0.0
        """What values are off by at most, beside rounding to float64."""
        self._largest, self._memory = 0.0, np.empty((0, 0))

    @classmethod
    def of(cls, kernel: KernelFunction, X: Data) -> KernelRows:
        """Return the rows of a kernel on a sample (n_samples, n_features)."""
        X = np.asarray(X, np.float64)

        def between(left: Indices, right: Indices | slice) -> Tile:
            of_left, of_right = X[left], X[right]
            if isinstance(kernel, Kernel):
                return kernel.tile(of_left, of_right)
            return lambda rows, columns: np.asarray(kernel(of_left[rows], of_right[columns]))

        return cls(between, len(X), kernel, X)

    @classmethod
    def of_matrix(cls, K: ArrayLike) -> KernelRows:
        """Return the rows of a symmetric matrix."""
        return cls._of_values(validation.symmetric(K))

    @classmethod
    def _of_values(cls, K: Array) -> KernelRows:
        rows = cls(lambda left, right: lambda i, j: K[left][i][:, right][:, j], len(K))
        rows.K = K
        return rows

    @cached_property
    def single(self) -> KernelRows | None:
        """The same rows in single precision; None where there is a matrix, or the kernel has none."""
        if self.K is not None or self.X is None or not isinstance(self.kernel, Kernel):
            return None
        if (kernel := self.kernel.round_to_single(self.X)) is None:
            return None
        rows = KernelRows(kernel.tile, self.n_samples, self.kernel)
        rows.error, rows._memory = kernel.error, np.empty((0, 0), np.float32)
        # whatever it evaluates counts as evaluated here
        rows._largest = self._largest = max(self._largest, kernel.largest)
        return rows

    @property
    def largest(self) -> float:
        """The largest |k(x_i, x_j)| of those that were evaluated."""
        return self._largest if self.K is None else max(float(self.K.max()), -float(self.K.min()))

    @property
    def block_size(self) -> int:
        """The number of samples in a block: half of all, as most are in it then when they change for the last time."""
        size = min(SINGLE_BLOCK if self.error else LARGE_BLOCK, max(BLOCK, self.n_samples // 2))
        # half of the memory that is left is for the others
        while size > BLOCK and 2 * self._memory.itemsize * size**2 > available_memory():
            size //= 2
        return size

    def block(self, chosen: Indices) -> Array:
        """Return the matrix among distinct samples, in order where they are all; it holds until the next one."""
        m = len(chosen)
        if self.K is not None:
            return self.K if m == len(self.K) else self.K[np.ix_(chosen, chosen)]
        if len(self._memory) < m:
            self._memory = np.empty((m, m), self._memory.dtype)
        # memory that was written to before is not new
        block = self._memory.ravel()[: m * m].reshape(m, m)
        with self._threads():
            fill(block, _in_time(self.between(chosen, chosen), m), symmetric=True)
        # in single precision it is known beforehand
        if not self.error:
            self._note(max(float(block.max()), -float(block.min())))
        return block

    def add(self, chosen: Indices, weights: Array, f: Array) -> None:
        """Add the chosen columns, times their weights, to f (n_samples,)."""
        if self.K is not None:
            add_rows(self.K, chosen, weights, f)
            return
        f += self.cross(slice(None), chosen, weights)

    def matrix(self) -> Array:
        return self.block(np.arange(self.n_samples))

    @property
    def spread(self) -> float:
        """Twice the largest entry of the columns of a few samples, and of the diagonal there."""
        return 2 * float(np.abs(self.block(np.arange(min(self.n_samples, 8)))).max())

    def scores(self, c: Array) -> Array:
        return self.cross(slice(None), np.arange(len(c)), c) if self.K is None else np.asarray(self.K @ c)

    def measure_scores(self, c: Array) -> tuple[Array, Array]:
        f = self.scores(c)
        return f, self.score_errors(c, f)

    def score_errors(self, c: Array, f: Array) -> Array:
        """Bound how far scores that are sums of at most n_samples terms are from K c, without another product for it.

        Where there is no time to evaluate |K| |c|, the largest entry of the rows that were evaluated, those of c among
        them, stands for all.
        """
        # |sum_j K_ij c_j| is off by (n + 1) eps (|K| |c|)_i at most
        if was_cut():
            return np.full(len(c), sum_error(len(c), 1.0) * self.largest * float(np.abs(c).sum()))
        return sum_error(len(c), 1.0) * self.absolute_product(np.abs(c))

    def absolute_product(self, v: Array) -> Array:
        """Return |K| v for v >= 0, shape (n_samples,), or what is above it where there is no matrix."""
        if self.K is not None:
            return expand(lambda rows, _: np.abs(rows), self.K, self.K, v)
        # |K_ij| is at most the largest of the entries that were evaluated, which the columns of v are among
        return np.full(self.n_samples, self.largest * float(v.sum()))

    def cross(self, left: Indices | slice, right: Indices, v: Array) -> Array:
        """Return the matrix between some samples and others, times v, of as many rows as there are others.

        It is computed by tiles whose sums are in the same order for any number of threads.
        """
        if self.K is not None:
            return np.asarray(self.K[np.ix_(np.arange(self.n_samples)[left], right)] @ v)
        outputs, n = np.atleast_2d(v.T), len(np.arange(self.n_samples)[left])
        used = np.flatnonzero(outputs.any(axis=0))
        outputs, products = np.ascontiguousarray(outputs[:, used]), np.zeros((len(outputs), n))
        tile, columns = self.between(right[used], left), cut(len(used), SIDE)

        def fill_in(rows: slice) -> float:
            check_time()
            largest = 0.0
            for part in columns:
                values = tile(part, rows)
                if not self.error:
                    largest = max(largest, float(values.max()), -float(values.min()))
                # sums of products are in double precision
                for weights, sums in zip(outputs, products, strict=True):
                    add_rows(values, np.arange(len(values)), weights[part], sums[rows])
            return largest

        with one_blas_thread(), self._threads():
            found = map_in_threads(fill_in, cut(n, SIDE))
        self._note(max(found, default=0.0))
        return products.T.reshape(n, *v.shape[1:])

    def among(self, chosen: Indices) -> KernelRows:
        """Return the rows among some of the samples."""
        if self.K is not None:
            return self._of_values(self.K[np.ix_(chosen, chosen)])
        assert self.kernel is not None
        assert self.X is not None
        return KernelRows.of(self.kernel, self.X[chosen])

    def _threads(self) -> AbstractContextManager[None]:
        """Call functions of users from one thread only."""
        return nullcontext() if isinstance(self.kernel, Kernel) else limit_threads(1)

    def _note(self, largest: float) -> None:
        """Keep record of the largest entry."""
        if not np.isfinite(largest):
            raise InvalidInput("X", "found values whose kernel is no finite number", "scale the features")
        self._largest = max(self._largest, largest)


def _in_time(tile: Tile, n_rows: int) -> Tile:
    """Return the tiles of a block that end with a `TimeUp` where there is no time left; a single one is always made."""
    if n_rows <= SIDE:
        return tile

    def evaluate(rows: slice, columns: slice) -> Array:
        check_time()
        return tile(rows, columns)

    return evaluate


SINGLE_BLOCK = 24576
"""Variables of a block in single precision at most: 2.25 GiB. Where all that are between their bounds are in one, a few
blocks do; else each moves the others, and there are many."""

LARGE_BLOCK = 8192
"""Variables of a block of values that are evaluated, at most: 512 MiB."""


@njit(cache=True, nogil=True)
def add_rows(matrix: Array, places: Indices, weights: Array, f: Array) -> None:
    """Add ``sum_k weights_k matrix[places_k]`` to f."""
    for k in range(len(places)):
        if weights[k] != 0.0:
            row, weight = matrix[places[k]], weights[k]
            for i in range(len(f)):
                f[i] += weight * row[i]


class MachineOverRows(Problem):
    """A loss of hinges over the rows of a kernel: ``min 1/2 v'K v - knots'v`` over a box, sum v = 0.

    There is a variable of each hinge for each sample, those of all samples one hinge after another; together they are
    the coefficients y u of the kernel.
    """

    C: Array

    def _read_hinges(self, rows: KernelRows) -> None:
        loss: Any = self.loss
        self.rows, hinges = rows, loss.linear_dual.hinges
        self.knots = np.concatenate([self.y * hinge.knots for hinge in hinges])
        ends = np.concatenate([self.y * hinge.sign * hinge.prices for hinge in hinges])
        # the least and the largest v
        self.bounds = np.stack([np.minimum(ends, 0.0), np.maximum(ends, 0.0)])

    def coefficients(self, u: Array) -> Array:
        """Return the coefficients y u of the kernel."""
        return np.asarray(self.y * u)

    def join(self, v: Array) -> Array:
        """Return the multipliers that variables add up to."""
        return self.coefficients(v.reshape(-1, len(self.y)).sum(axis=0))

    def split(self, u: Array) -> Array:
        """Return variables that add up to multipliers, of each sample one at most that is not 0."""
        v = np.tile(self.coefficients(u), len(self.knots) // len(self.y))
        return np.where(v * self.bounds.sum(axis=0) > 0, v, 0.0)


class KernelSVM(MachineOverRows, SVMDual):
    """min 1/2 u'(K o yy')u - sum u subject to 0 <= u <= C, y'u = 0, with K given by its rows.

    LL08 P2, as `cvxens.problems.SVMDual`, for samples whose kernel matrix need not fit into memory. K has to be PSD on
    coefficients that sum to 0; that is not checked beforehand.

    Parameters
    ----------
    rows : KernelRows
        The kernel on the sample.
    y, C : ndarray of shape (n_samples,)
        As of `SVMDual`.

    Examples
    --------
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> problem.solution_at(np.array([0.5, 0.5])).certificate.holds()
    True
    """

    def __init__(self, rows: KernelRows, y: Array, C: Array) -> None:
        self.linear_map, self.y = rows, y
        self.C = C
        self._read_hinges(rows)

    @classmethod
    def of(cls, K: ArrayLike | KernelRows, y: ArrayLike, C: ArrayLike) -> KernelSVM:
        """Check a kernel matrix (n_samples, n_samples), or rows; `C` is one number or one per sample."""
        rows = K if isinstance(K, KernelRows) else KernelRows.of_matrix(K)
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
            f = self.rows.scores(self.y * u)
        v = self.y * u
        half_norm = float(v @ f) / 2
        # f itself may be all rounding, as where w = 0 is optimal, so the scale is that of the terms that f sums up
        rounding = sum_error(len(v), self.rows.largest) * float(np.abs(v).sum()) ** 2
        if half_norm < -rounding and half_norm < -1e-9 * float(np.abs(v) @ self.rows.absolute_product(np.abs(v))):
            found = f"found v'K v = {2 * half_norm:.3g} for coefficients that sum to 0"
            raise InvalidInput("kernel", found, "give a kernel that is PSD, at least on such coefficients")
        return SVMSolution.from_scores(self, u, f)


class KernelSVR(MachineOverRows):
    """min 1/2 |f|^2 + C sum_i max(0, |t_i - f(x_i) - b| - epsilon) over the functions f of a kernel.

    Its dual is that of a support vector machine with two variables a sample, one that pulls up to t - epsilon and one
    that pulls down to t + epsilon (Vapnik 1995), ``max t'u - epsilon |u|_1 - 1/2 u'K u, -C <= u <= C, sum u = 0``.

    Parameters
    ----------
    rows : KernelRows
        The kernel on the sample, PSD at least on coefficients that sum to 0.
    loss : EpsilonInsensitive
        Targets, width and prices.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> loss = EpsilonInsensitive([0.0, 1.0, 2.0, 3.0], epsilon=0.5, C=10.0)
    >>> solution = solve_blockwise(KernelSVR(KernelRows.of_matrix(X @ X.T), loss))
    >>> (solution.f + solution.b).round(2), solution.certificate.holds(1e-6)
    (array([0.5 , 1.17, 1.83, 2.5 ]), True)
    """

    def __init__(self, rows: KernelRows, loss: EpsilonInsensitive) -> None:
        super().__init__(Formulation(loss, SquaredL2(), intercept=True), rows, np.ones(rows.n_samples))
        self.C = np.maximum(*(hinge.prices + np.zeros(rows.n_samples) for hinge in loss.linear_dual.hinges))
        self._read_hinges(rows)

    def priced(self, C: Array) -> KernelSVR:
        """Return the problem with other prices, one per sample."""
        loss: Any = self.formulation.terms[0]
        return KernelSVR(self.rows, replace(loss, C=C))

    def solution_at(self, u: Array, f: Array | None = None) -> SVMSolution[KernelSVR]:
        """Evaluate both problems at multipliers: made feasible, or feasible ones with f = K u."""
        loss = self.formulation.terms[0]
        if f is None:
            u = loss.repair(u, self.y)
            f = self.rows.scores(u)
        products = Products(self.linear_map, precise=False)
        products.add_scores(u, f)
        return SVMSolution(self.evaluate_at(u, np.asarray(loss.best_intercept(f, self.y)), u, products), f)


CHUNK = 128
"""Variables that are compared with the same number of others at once, by vector instructions."""


@njit(cache=True, nogil=True)
def optimise_block(K: Array, point: Array, bounds: Array, tol: float, max_steps: int) -> int:
    """Minimise ``1/2 v'K v - q'v`` over ``low <= v <= high`` with sum v fixed; v and r = q - K v are changed in place.

    K is the kernel matrix of the block, `point` v and r, `bounds` low and high; the number of steps is returned. It
    ends where the violation ``max r over those that may grow - min r over those that may fall`` is at most `tol`.
    Each step moves the pair of the largest violation and, for it, the largest gain of second order (Fan, Chen & Lin,
    *Working set selection using second order information*, JMLR 6 (2005)). r has the precision of K meanwhile.
    """
    v, r, real = point[0], point[1].astype(K.dtype), K.dtype.type
    n = len(v)
    diagonal = np.diag(K).copy()
    # the least curvature along a pair, relative to the largest diagonal entry; the last where that is 0, as of a kernel
    # of distances: in either precision with room for quotients
    least = real(max(1e-12 * np.abs(diagonal).max(), 1e8 * np.finfo(K.dtype).tiny))
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
"""Steps in a block after which its gap is evaluated, which costs as much as one or two, and its diagonal read anew, as
some dozen; in large ones a step for 32 of their variables."""


@njit(cache=True, nogil=True)
def close_gap(
    K: Array, point: Array, bounds: Array, knots: Array, outside: float, tol: float, violation: float, max_steps: int
) -> int:
    """Minimise as `optimise_block` does, until the violation or the relative duality gap is small enough.

    `point` is v and r = knots - K v of the block, to whose part ``1/2 v'K v - knots'v`` of the objective what is
    outside of it adds `outside`; the number of steps is returned. The gap is that of the intercept halfway between the
    largest r of those that may grow and the smallest of those that may fall, so the gap of the best intercept is no
    larger.
    """
    n_steps, spurt = 0, max(SPURT, len(K) // 32)
    while n_steps < max_steps:
        gap, objective = sum_room(point, bounds), outside + sum_objective(point, knots)
        # the bound is the objective, which is at most 0, less the gap
        if gap <= tol * (gap - objective):
            break
        taken = optimise_block(K, point, bounds, violation, spurt)
        n_steps += taken
        if taken < spurt:
            break
    return n_steps


@njit(cache=True, nogil=True)
def sum_objective(point: Array, knots: Array) -> float:
    """Return ``1/2 v'K v - knots'v = -1/2 v'(knots + r)`` at v and r = knots - K v."""
    twice = 0.0
    for k in range(len(knots)):
        twice -= point[0, k] * (knots[k] + point[1, k])
    return twice / 2


@njit(cache=True, nogil=True)
def sum_room(point: Array, bounds: Array) -> float:
    """Sum the way that each variable may still go times how much that gains: (r - b)+ (high - v) + (b - r)+ (v - low).

    Here b is halfway between the largest r of those that may grow and the least of those that may fall. As sum v = 0,
    it is the duality gap ``v'K v - y'v + sum C max(0, y (r - b))`` of P2, where r = y - K v is of all variables.

    Examples
    --------
    >>> v, y = np.array([0.25, -0.25]), np.array([1.0, -1.0])
    >>> r = y - np.array([[0.0, -2.0], [-2.0, 0.0]]) @ v
    >>> sum_room(np.stack([v, r]), np.array([[0.0, -1.0], [1.0, 0.0]]))
    0.75
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
def _update(r: Array, gained: Array, lost: Array, length: float, grows: Array, falls: Array, extremes: Array) -> float:
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
def _locate_largest(r: Array, grows: Array, largest: Array) -> int:
    """Return one of those that may grow with the largest r, which are known for each place in a chunk."""
    at = place = int(np.argmax(largest))
    for k in range(place, len(r), CHUNK):
        if r[k] + grows[k] > r[at] + grows[at]:
            at = k
    return at


# no division by zero is looked for, as that would be one by one: curvatures are above 0
@njit(cache=True, nogil=True, error_model="numpy")
def _find_partner(
    row: Array, diagonal: Array, own: float, least: float, r: Array, falls: Array, steepest: float, gains: Array
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

CLOSER = 0.25
"""The share of the gap asked for that steps in a whole problem end at: they take a few percent longer, and errors in
cross-validation are those of the optimum, where at the whole gap one of a hundred machines differs in a sample."""

STEPS = 100
"""Steps in a block, per variable of it."""

PATIENCE = 30
"""Blocks in a row without progress after which rounding is to blame."""


def solve_blockwise(
    problem: P, tol: float = 1e-6, *, start: SVMSolution[P] | None = None, max_time: float = inf
) -> SVMSolution[P]:
    """Solve LL08 P2 with any kernel, in memory for the rows of one block.

    A block of the variables that violate the conditions of optimality the most is optimised by pairs, then the scores
    of all samples are updated by the block's rows; half of a block stays for the next (Joachims 1999; Wen, Shi, Li, He
    & Chen, *ThunderSVM*, JMLR 19 (2018)). A small problem is one block.

    Parameters
    ----------
    problem : KernelSVM or KernelSVR
        Rows of the kernel, and what the loss says.
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
    tol, max_time = validation.positive("tol", tol), validation.limit("max_time", max_time)
    with limit_time(max_time) as clock:
        search = _Search(problem, start, clock, tol)
        return search.result(find_ending(search.run))


class Machine(NamedTuple):
    """The coefficients v = y u of a machine, the best intercept for them, and their certified gap."""

    v: Array
    b: float
    relative_gap: float


def solve_prices(problem: KernelSVM, Cs: Sequence[float], tol: float) -> list[Machine | SVMSolution[KernelSVM]]:
    """Solve LL08 P2 with a matrix in memory at ascending multiples of C, in one compiled loop, for cross-validation.

    Scores of all are evaluated at once, by which each is certified; one whose gap is above `tol` is solved by itself.

    Examples
    --------
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> [machine.v.tolist() for machine in solve_prices(problem, [0.25, 1.0], 1e-6)]
    [[0.25, -0.25], [0.5, -0.5]]
    """
    y, prices = problem.y, np.outer(Cs, problem.C)
    K = np.ascontiguousarray(problem.rows.matrix())
    V = trace_prices(K, y, problem.bounds, np.asarray(Cs), CLOSER * tol, STEPS * len(y))
    F, U = V @ K, y * V
    b = best_of_hinges(y - F, problem.C, float(problem.C[y > 0].sum()))
    slack, objectives = 1 - y * (F + b[:, None]), (V * F).sum(axis=1) / 2 - U.sum(axis=1)
    # the gap as `SVMDual.evaluate_multipliers` sums it up, of terms of at least 0
    gaps = (np.where(slack > 0, prices - U, -U) * slack).sum(axis=1)
    machines = list[Machine | SVMSolution[KernelSVM]]()
    for c, (gap, objective) in enumerate(zip(gaps.tolist(), objectives.tolist(), strict=True)):
        machine = Machine(V[c], float(b[c]), max(relative(gap, objective, objective - gap), 0.0))
        machines.append(machine if machine.relative_gap <= tol else solve_blockwise(problem.priced(prices[c]), tol))
    return machines


@njit(cache=True, nogil=True)
def trace_prices(K: Array, knots: Array, bounds: Array, Cs: Array, tol: float, max_steps: int) -> Array:
    """Solve by `close_gap` at multiples of the bounds, each from the best multiple of the last v; returns all v."""
    V, point, ends = np.empty((len(Cs), len(knots))), np.zeros((2, len(knots))), bounds[0] + bounds[1]
    point[1] = knots
    for c in range(len(Cs)):
        if c > 0:
            # t = knots'v / v'K v, as far as the bounds allow, which grow by a factor
            v, f, t = point[0].copy(), knots - point[1], Cs[c] / Cs[c - 1]
            square = (v * f).sum()
            if square > 0.0:
                t = min(t, (v * knots).sum() / square)
            # what was at its bound is at the new one, to the last digit
            point[0] = np.where(np.abs(t * v) >= (1.0 - 1e-15) * np.abs(Cs[c] * ends), Cs[c] * ends, t * v)
            point[1] = knots - t * f
        close_gap(K, point, Cs[c] * bounds, knots, 0.0, tol, 0.0, max_steps)
        V[c] = point[0]
    return V


class _Search(Generic[P]):
    """The current point v, f = K c for the coefficients c that v adds up to, and the best one so far.

    There is a variable for each sample, or two: then v begins with the first ones of all.
    """

    def __init__(self, problem: P, start: SVMSolution[P] | None, clock: Deadline, tol: float) -> None:
        self.problem, self.drift, self.tol = problem, 0.0, tol
        self.incumbent: BestPoint[SVMSolution[P]] = BestPoint(clock)
        self.knots, self.bounds = problem.knots, problem.bounds
        self.v, self.f = np.zeros(len(self.knots)), np.zeros(problem.rows.n_samples)
        if start is not None:
            # the best multiple of the start, t = knots'v / v'K v, with t u <= C, as u was at most the C before
            stretch = float((problem.C / start.problem.C).min())
            square = float(problem.coefficients(start.u) @ start.f)
            if square > 0:
                stretch = min(stretch, float(self.knots @ problem.split(start.u)) / square)
            self.v, self.f = stretch * problem.split(start.u), stretch * start.f
            self.drift = stretch * start.drift
        self.block: Indices = np.empty(0, np.intp)
        self.n_blocks, self.pace = 0, Pace()
        self.size = BLOCK
        """Variables of a block where there is a limit of time: as many as there is time for, and no more at first."""
        self.pace_of_values = 0.0
        """Seconds that a value of the kernel takes."""
        # in single precision down to some gap, if rows are evaluated whenever they are asked for
        self.rows, self.target = problem.rows, tol
        # of a small problem the gap is known to the steps themselves, and the start is seldom the end
        if len(self.v) > WHOLE:
            if (single := problem.rows.single) is not None:
                # of machines of 5,000 to 100,000 samples the gap in double precision differs from the one in single by
                # 1e-7 to 1e-6
                self.rows, self.target = single, max(0.9 * tol, 2e-5)
            self.take()

    def take(self) -> None:
        """Certify the current point, and keep it if it is the best so far."""
        self.incumbent.waited += 1
        self.incumbent.take(self._evaluate(), self.n_blocks)

    def _evaluate(self) -> SVMSolution[P]:
        point = self.problem.solution_at(self.problem.join(self.v), self.f.copy())
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
        u = self.incumbent.best.u
        self.v, self.f = self.problem.split(u), self.problem.rows.scores(self.problem.coefficients(u))
        self.drift, self.rows, self.target = 0.0, self.problem.rows, self.tol
        self.incumbent.restart(self._evaluate(), self.n_blocks)

    def optimise(self) -> Ending:
        """Optimise one block after the other, until the gap is the target."""
        while not self.incumbent.history or self.incumbent.best.relative_gap > self.target:
            # minus the gradient of 1/2 v'K v - knots'v
            r = self.knots - np.tile(self.f, len(self.knots) // len(self.f))
            up, down = np.where(self.v < self.bounds[1], r, -inf), np.where(self.v > self.bounds[0], r, inf)
            violation = float(up.max() - down.min())
            if self.incumbent.history and (self.incumbent.waited >= PATIENCE or violation <= 0):
                return Ending.ROUNDING
            if not self.pace.allows_step():
                return Ending.MAX_TIME
            self.block = next_block(up, down, self.block, self._choose_size())
            # of a part no further, as the others move it anyway
            self._optimise(r, 0.03 * violation if len(self.block) < len(r) else 0.0)
            self.take()
        return Ending.OPTIMAL

    def result(self, ending: Ending) -> SVMSolution[P]:
        """Return the best point with the history, evaluated anew if its scores have drifted by rounding.

        Where there is no time for that, a bound on the drift is part of its certificate.
        """
        if not self.incumbent.history:
            self.take()
        best = self.incumbent.end(ending)
        if self.problem.rows.K is None:
            drifted = replace(best, drift=self.drift)
            within = ending is Ending.OPTIMAL and drifted.certificate.relative_gap <= self.tol
            if within or ending in {Ending.MAX_TIME, Ending.INTERRUPTED}:
                return drifted
        f = self.problem.rows.scores(self.problem.coefficients(best.u))
        # thousands of roundings of a sum of updates are no error
        if np.abs(f - best.f).max() <= 1e-12 * np.abs(f).max():
            return best
        fresh = self.problem.solution_at(best.u)
        is_worse = ending is Ending.OPTIMAL and fresh.relative_gap > self.tol
        return replace(fresh, history=best.history, ending=Ending.ROUNDING if is_worse else ending)

    def _choose_size(self) -> int:
        """Return the number of variables of the next block: under a limit twice as many at most, if there is time."""
        largest, left = self.rows.block_size, time_left()
        wanted = largest if left == inf else min(2 * self.size, largest)
        if self.pace_of_values * wanted * (wanted + len(self.f)) < left / 2:
            self.size = wanted
        return self.size

    def _optimise(self, r: Array, violation: float) -> None:
        """Optimise the block, and update all scores by what has changed in it."""
        block, rows, n, target = self.block, self.rows, len(self.f), CLOSER * self.target
        began, is_whole = time_left(), len(self.block) == len(r)
        if is_whole:
            # where rounding has kept the last point from what it was stopped for, it has to go further
            target /= 2**self.incumbent.waited
        # both variables of a sample may be in the block
        chosen, places = (block, None) if len(r) == n else np.unique(block % n, return_inverse=True)
        K = rows.block(chosen)
        if began < inf:
            # half of the values are those of the other half
            self.pace_of_values = 2 * (began - time_left()) / K.size
        K = K if places is None else np.ascontiguousarray(K[np.ix_(places, places)])
        point, knots, bounds = np.stack([self.v[block], r[block]]), self.knots[block], self.bounds[:, block].copy()
        # what is left of the gap, if nothing outside of the block adds to it
        outside = sum_objective(np.stack([self.v, r]), self.knots) - sum_objective(point, knots)
        # the update takes its time, too; steps in few variables take no longer than what is around them
        reserve, n_steps, most = 1.5 * self.pace_of_values * len(block) * n, 0, max(STEPS * len(block), 2**16)
        portion = most if began == inf else max(SPURT, len(block) // 8)
        while n_steps < most:
            taken = close_gap(K, point, bounds, knots, outside, target, violation, portion)
            n_steps += taken
            if taken < portion or time_left() < reserve:
                break
        if n_steps >= most:
            # so many pairs are a valley, and its least point between the bounds one system, of 1/2 d'K d - reach'd
            exact = np.asarray(K, float)
            reach = knots if is_whole else r[block] + exact @ self.v[block]
            program = BoxProgram(exact, np.ones(len(block)), -reach, float(self.v[block].sum()), *bounds)
            with suppress(TimeUp):
                program.minimise(point[0], (bounds[0] < point[0]) & (point[0] < bounds[1]))
            point[1] = reach - exact @ point[0]
        change, self.v[block] = point[0] - self.v[block], point[0]
        self.n_blocks += 1
        if is_whole:
            self.f = (knots - point[1])[:n]
            # every step rounds what it adds to f, at most 2 length max |K|, and f itself
            moved = 4 * float(np.abs(change).max()) * rows.largest
            self.drift += EPSILON * n_steps * (float(np.abs(self.f).max()) + moved) if rows.K is None else 0.0
            return
        change = change if places is None else np.bincount(places, change, len(chosen))
        rows.add(chosen, change, self.f)
        # a sum of m products has an error of (m + 1) eps times that of their sizes, at most sum |change| max |K|
        sizes = float(np.abs(change).sum())
        of_sums = 0.0 if rows.K is not None else (len(block) + 1) * sizes * rows.largest
        self.drift += EPSILON * (of_sums + float(np.abs(self.f).max())) + rows.error * sizes


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
