"""Least squares over fixed columns, and over columns that come one after the other.

In closed form, by Cholesky; where neither H H' nor H'H is to be written out, by conjugate gradients.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular, svd

from cvxens import validation
from cvxens.errors import SolverFailed
from cvxens.problems import SLSSVM, Problem, RegularizedLeastSquares
from cvxens.problems.maps import Columns, gram
from cvxens.rounding import EPSILON, TINY
from cvxens.solvers.conjugate_gradients import RANK, Systems, factor_by_nystroem, solve_systems
from cvxens.types import Array, Attempt, Point, Solution


class GrowingCholesky:
    """L with L L' = A, grown by a block of rows of A in O(n^2) per row.

    Examples
    --------
    >>> factor = GrowingCholesky()
    >>> factor.grow(np.empty((1, 0)), np.array([[4.0]]))
    >>> factor.grow(np.array([[2.0]]), np.array([[5.0]]))
    >>> factor.L
    array([[2., 0.],
           [1., 2.]])
    >>> factor.solve(np.array([8.0, 8.0]))
    array([1.5, 1. ])
    """

    def __init__(self, jitter: float = 64 * EPSILON) -> None:
        self.jitter = jitter  # added to the diagonal, relative to its largest entry, where rounding costs definiteness
        self._room = np.zeros((0, 0))
        self.n = 0

    @property
    def L(self) -> Array:
        return self._room[: self.n, : self.n]

    def grow(self, beside: Array, corner: Array) -> None:
        """Append rows to A, given at the old columns (n_added, n) and at the new ones (n_added, n_added)."""
        known, n = self.n, self.n + len(corner)
        # L21 = A21 L11^-T
        left = solve_triangular(self.L, beside.T, lower=True).T if known else beside
        # L22 L22' = A22 - L21 L21'
        low = _factor(corner - left @ left.T, max(self.jitter * float(corner.max()), TINY))
        if n > len(self._room):
            room = np.zeros((max(n, 2 * len(self._room), 32),) * 2)
            room[:known, :known] = self.L
            self._room = room
        self._room[known:n, :known], self._room[known:n, known:n] = left, low
        self.n = n

    def solve(self, right: Array) -> Array:
        half = solve_triangular(self.L, right, lower=True)
        return solve_triangular(self.L, half, lower=True, trans="T")


def _factor(A: Array, jitter: float) -> Array:
    """Return the Cholesky factor of a matrix that is definite but for rounding."""
    # jitter is above 0, and tenfold each time: it is beyond any finite matrix within 620 of them
    while True:
        try:
            return cholesky(A, lower=True)
        except LinAlgError:
            A = A + jitter * np.eye(len(A))
            jitter *= 10


class ByColumns:
    """``(G'V G + ridge I) W = G'V L`` of size n_columns, G the columns less their means, its factor grown by rows.

    V is the diagonal matrix of the sample weights, of mean 1, which the means are weighted by. A row costs O(n_columns
    n_samples) for its products and O(n_columns^2) in the factor.
    """

    def __init__(self, L: Array, ridge: float, sample_weight: Array) -> None:
        self.L = L - sample_weight @ L / len(L)
        self.ridge = ridge
        self.sample_weight = sample_weight
        self.factor = GrowingCholesky()
        self.right = np.empty((0, L.shape[1]))

    def weights(self, rows: Array) -> Array:
        """Solve for W, (n_columns, n_outputs), over H' = rows, whose first ones are those of the last call."""
        known = self.factor.n
        if known < len(rows):
            # sum_i v_i G_ij = 0, so the old columns need not be less their means
            new = _centre(rows[known:], self.sample_weight)
            new *= self.sample_weight
            products = new @ rows.T
            corner = products[:, known:]
            self.right = np.concatenate([self.right[:known], new @ self.L])
            self.factor.grow(products[:, :known], (corner + corner.T) / 2 + self.ridge * np.eye(len(new)))
        return self.factor.solve(self.right)


class BySamples:
    """``W = G'D T, (D G G' D + ridge I) T = D L`` of size n_samples: SL (11), for no more samples than columns.

    D is the diagonal matrix of the roots of the weights. A new column adds its square in O(n_samples^2); the matrix is
    factored anew, for all columns of a call together. Where the ridge is too small for that, singular values take its
    place.
    """

    def __init__(self, L: Array, ridge: float, sample_weight: Array) -> None:
        self.roots = np.sqrt(sample_weight)
        self.L = self.roots[:, None] * (L - sample_weight @ L / len(L))
        self.ridge = ridge
        self.sample_weight = sample_weight
        self.n = 0
        self.gram: Array

    def weights(self, rows: Array) -> Array:
        """Solve for W, (n_columns, n_outputs), over H' = rows, whose first ones are those of the last call."""
        centred = _centre(rows, self.sample_weight) * self.roots
        new = centred[self.n :]
        if not self.n:
            self.gram = self.ridge * np.eye(len(self.L))
        self.gram, self.n = self.gram + new.T @ new, len(rows)
        # below this ratio the ridge is lost in the rounding of the matrix
        if self.ridge < 1e-10 * float(self.gram.diagonal().max()):
            # (G G' + ridge I)^-1 G L = U diag(s / (s^2 + ridge)) V' L, for G = U diag(s) V': no square is formed
            left, values, right = svd(centred, full_matrices=False)
            return left @ ((values / (values**2 + self.ridge))[:, None] * (right @ self.L))
        return centred @ cho_solve(cho_factor(self.gram), self.L)


class ByInverse:
    """SL (11) with the inverse of ``S = H H' + V^-1 / C`` updated column by column, in O(n_samples^2) each: SL (20).

    With s = S^-1 h the inverse after a new column h is ``S^-1 - s s' / (1 + h's)``. The columns are as they are, and
    ``b' = 1'S^-1 L / 1'S^-1 1`` is the intercept. An inverse is never computed anew, so rounding adds up, in proportion
    to |S| C.
    """

    def __init__(self, L: Array, ridge: float, sample_weight: Array) -> None:
        self.L = L
        # without columns S is V^-1 / C
        self.inverse = np.diag(sample_weight / ridge)
        self.n = 0

    def weights(self, rows: Array) -> Array:
        """Solve for W, (n_columns, n_outputs), over H' = rows, whose first ones are those of the last call."""
        for h in rows[self.n :]:
            s = self.inverse @ h
            self.inverse -= np.outer(s, s / (1 + h @ s))
        self.n = len(rows)
        from_labels, from_ones = self.inverse @ self.L, self.inverse.sum(axis=1)
        b = from_labels.sum(axis=0) / from_ones.sum()
        return rows @ (from_labels - np.outer(from_ones, b))


def _centre(rows: Array, weights: Array) -> Array:
    return rows - (rows @ weights / len(weights))[:, None]


SOLVER = "Cholesky"


def solve_slssvm(problem: SLSSVM) -> Solution:
    """Solve SL (10): ``S = H H' + I/C``, ``b' = 1'S^-1 L / 1'S^-1 1``, ``U = S^-1 (L - 1 b')``, ``W = H'U``.

    With weights v, ``S^-1 = D (D H H' D + I/C)^-1 D`` where D is the diagonal matrix of the roots of v.

    Parameters
    ----------
    problem : SLSSVM
        Needs memory for n_samples^2 numbers.

    Returns
    -------
    Solution
        With `W`, `b` and `U`.

    Raises
    ------
    SolverFailed
        H H' is singular and I/C is lost against it in rounding.

    Examples
    --------
    >>> from cvxens.problems import simplex_codes
    >>> problem = SLSSVM(np.eye(4)[:, :3], simplex_codes(3)[[0, 1, 2, 0]], C=1.0)
    >>> problem.certify(solve_slssvm(problem)).holds(1e-12)
    True
    """
    validation.instance("problem", problem, SLSSVM)
    start = time.perf_counter()
    L, D = problem.L, np.sqrt(np.broadcast_to(problem.weights, len(problem.L)))[:, None]
    # 1'U = 0 picks b: S^-1 (L - 1 b') = S^-1 L - S^-1 1 b'
    factored = factor_with_ridge(D * gram(problem.H) * D.T, 1 / problem.C)
    from_labels, from_ones = (D * cho_solve(factored, D * right) for right in (L, np.ones((len(L), 1))))
    b = from_labels.sum(axis=0) / from_ones.sum()
    U = from_labels - from_ones * b
    return Solution.from_optimum(problem, {"W": problem.H.edges(U), "b": b}, {"U": U}, SOLVER, start)


@dataclass(frozen=True, eq=False)
class CentredGram:
    """``P D H H' D P`` for products, D diagonal and P the projection off its diagonal d: ``P D 1 = 0``."""

    H: Columns
    d: Array  # (n_samples, 1)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.d), len(self.d)

    @cached_property
    def _unit(self) -> Array:
        return self.d / np.linalg.norm(self.d)

    def project(self, C: Array) -> Array:
        """Return P C."""
        return C - self._unit * (self._unit * C).sum(axis=0)

    def edges(self, C: Array) -> Array:
        """Return H'D P C."""
        return self.H.edges(self.d * self.project(C))

    def __matmul__(self, C: Array) -> Array:
        return self.project(self.d * self.H.scores(self.edges(C)))


def iterate_least_squares(problem: Problem, tol: float) -> Point:
    """Solve SL (10) over fixed columns by products with them alone, to a relative gap, or as far as there is time.

    With the prices C_i of the samples, ``D^2 = diag(C)`` and r the weight of the penalty, ``U = r D c`` and
    ``W = H'D c`` for ``(P D H H' D P + r I) c = P D L``, as with the best b what is left of the targets is orthogonal
    to D 1. Half the squared residual of these equations is the gap.

    Parameters
    ----------
    problem : Problem
        Squared error, weight/2 |W|^2 and an intercept, such as an `SLSSVM`.
    tol : float
        Relative duality gap, above 0.

    Returns
    -------
    Point
        W, b and U by the problem's letters.

    Raises
    ------
    SolverFailed
        2000 steps were not enough: C is too large.
    """
    loss: Any = problem.loss
    penalty: Any = problem.penalty
    L = loss.targets.reshape(len(problem.y), -1)
    n, n_outputs = L.shape
    K = CentredGram(problem.H, np.sqrt(np.broadcast_to(loss.prices.reshape(-1, 1), (n, 1))))
    factor = factor_by_nystroem(K, RANK)
    # a system of m gamma I + K, where m = n
    systems = Systems.from_members(factor, penalty.ridge / n, np.full((n, 1), True), n_outputs)
    c = K.project(solve_systems(K, systems, K.project(K.d * L), tol))
    W, shape = K.edges(c), problem.outputs
    scores = problem.H.scores(W)
    b = (K.d**2 * (L - scores)).sum(axis=0) / float((K.d**2).sum())
    found = W.reshape(-1, *shape), b.reshape(shape), (penalty.ridge * K.d * c).reshape(-1, *shape)
    return dict(zip(problem.letters, found, strict=True))


def solve_regularized_least_squares(problem: RegularizedLeastSquares) -> Solution:
    """Solve TT06 (5): ``(m gamma I + K) c = y``.

    With K = X X' the fitted values K c are those of ridge regression, ``X (X'X + g I)^-1 X'y = (K + g I)^-1 K y`` with
    g = m gamma: TT06 (6) and (7), which have gamma for g.

    Parameters
    ----------
    problem : RegularizedLeastSquares
        Needs memory for n_samples^2 numbers.

    Returns
    -------
    Solution
        With `c` and ``s = 2 gamma c``.

    Raises
    ------
    SolverFailed
        K is singular and m gamma I is lost against it in rounding.

    Examples
    --------
    >>> problem = RegularizedLeastSquares(np.eye(2), [1.0, -1.0], gamma=0.1)
    >>> problem.certify(solve_regularized_least_squares(problem)).holds(1e-12)
    True
    """
    validation.instance("problem", problem, RegularizedLeastSquares)
    start, m = time.perf_counter(), len(problem.y)
    c = cho_solve(factor_with_ridge(np.array(problem.K, order="C"), m * problem.gamma), problem.y)
    return Solution.from_optimum(problem, {"c": c}, {"s": 2 * problem.gamma * c}, SOLVER, start)


def factor_with_ridge(K: Array, ridge: float) -> tuple[Array, bool]:
    """Factor K + ridge I by Cholesky, in place of K, a symmetric matrix stored by rows."""
    K.flat[:: len(K) + 1] += ridge
    try:
        return cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise SolverFailed([Attempt(SOLVER, "singular", 0.0, str(error))]) from None
