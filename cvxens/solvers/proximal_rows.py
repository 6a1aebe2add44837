"""Proximal Newton steps for a smooth loss with a penalty on the norms of rows of weights, on the rows that move.

The penalty is ``sum_j size |W_j| + square |W_j|^2`` with the 2-norm of the weights of hypothesis j over the outputs: a
group lasso whose groups are hypotheses, and with one output an elastic net. As in `proximal_l1` a step minimises a
quadratic model of the loss plus the penalty itself, then searches along the way there. In the model, descent by blocks
finds the rows that are not 0; on these the penalty is smooth, and Newton's method ends there (Qin, Scheinberg &
Goldfarb 2013 have such steps by blocks; Lee, Sun & Saunders 2014 the search).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from cvxens.limits import time_is_up
from cvxens.rounding import EPSILON
from cvxens.solvers.newton import solve_definite
from cvxens.solvers.proximal_l1 import SparsePoint, search_step
from cvxens.types import Array

MAX_PASSES = 60
"""Newton steps on a support, with sweeps between them; a handful is usual."""

SWEEPS = 20
"""Sweeps of block descent between two Newton steps."""

SOLVED = 1e-11
"""The least violation of the optimality conditions, relative to the size of the penalty, that is asked of a model."""

MAX_HALVINGS = 20
"""Halvings of a Newton step on the support, after which descent goes on by itself."""


@dataclass(frozen=True)
class RowModel:
    """min over V of R'(V - W) + 1/2 sum_t (V - W)_t' B_t (V - W)_t + sum_j size_j |V_j| + square_j |V_j|^2.

    Examples
    --------
    >>> model = RowModel(np.eye(2)[np.newaxis], np.ones(2), np.zeros(2))
    >>> model.minimise(np.zeros((2, 2)), np.array([[-3.0, 4.0], [0.5, 0.5]]))
    array([[ 2.4, -3.2],
           [ 0. ,  0. ]])
    """

    B: Array  # (n_outputs, n_rows, n_rows), or (1, n_rows, n_rows) where that of all outputs is the same; PSD
    size: Array  # 0 for an intercept
    square: Array
    accuracy: float = SOLVED  # the violation of the optimality conditions, relative to the largest size, that will do

    def __post_init__(self) -> None:
        for B in self.B:
            diagonal = B.ravel()[:: len(B) + 1]
            largest = float(diagonal.max(initial=0.0))
            # rounding of a sum of squares costs definiteness a few units of its size at most
            diagonal += 8 * len(B) * EPSILON * largest if largest > 0 else 1.0

    def minimise(self, W: Array, R: Array) -> Array:
        """Return V, given the gradient R at W; zero rows of V are exact."""
        V, R = W.copy(), R.copy()
        for _ in range(MAX_PASSES):
            if time_is_up():
                break
            descend(self.B, R, V, self.size, self.square)
            if self._measure_violation(V, R) <= self.accuracy * float(self.size.max()):
                break
            self._solve_support(V, R)
        return V

    def _measure_violation(self, V: Array, R: Array) -> float:
        """Return the largest slope of the model in a row that is not 0, and by how much those in others exceed size."""
        norms = np.linalg.norm(V, axis=1)
        slopes = np.linalg.norm(R + self._pull(V, norms), axis=1)
        return float(np.where((norms > 0) | (self.size == 0), slopes, slopes - self.size).max(initial=0.0))

    def _pull(self, V: Array, norms: Array) -> Array:
        """Return the slope of the penalty, 0 in rows of 0."""
        return (self.size / np.where(norms > 0, norms, 1.0) + 2 * self.square)[:, np.newaxis] * V

    def _solve_support(self, V: Array, R: Array) -> None:
        """Take a Newton step on the rows that are not 0, halved until the model falls."""
        norms = np.linalg.norm(V, axis=1)
        support = np.flatnonzero((norms > 0) | (self.size == 0))
        k, n_outputs = len(support), V.shape[1]
        inside, size, safe = V[support], self.size[support], np.where(norms > 0, norms, 1.0)[support]
        # second derivatives: size / |v| (I - v v' / |v|^2) + 2 square I in each row, B_t in each output
        units = inside / safe[:, np.newaxis]
        bend = np.eye(n_outputs) - units[:, :, np.newaxis] * units[:, np.newaxis]
        of_rows = (size / safe)[:, np.newaxis, np.newaxis] * bend + 2 * self.square[support][
            :, np.newaxis, np.newaxis
        ] * np.eye(n_outputs)
        second, each = np.zeros((n_outputs, k, n_outputs, k)), np.arange(k)
        for t in range(n_outputs):
            second[t, :, t] = self.B[t % len(self.B)][np.ix_(support, support)]
        second[:, each, :, each] += of_rows
        slope = (R + self._pull(V, norms))[support]
        step = -solve_definite(second.reshape(n_outputs * k, -1), 0.0, slope.T.ravel()).reshape(n_outputs, k).T
        ahead = np.zeros_like(V)
        ahead[support] = step
        pull = self._times(ahead)
        before, share = self._of_penalty(V), 1.0
        for _ in range(MAX_HALVINGS):
            rise = share * float((R * ahead).sum()) + share**2 / 2 * float((ahead * pull).sum())
            if rise + self._of_penalty(V + share * ahead) - before < 0:
                V += share * ahead
                R += share * pull
                return
            share /= 2

    def _of_penalty(self, V: Array) -> float:
        norms = np.linalg.norm(V, axis=1)
        return float((self.size * norms + self.square * norms**2).sum())

    def _times(self, V: Array) -> Array:
        """Return B_t V_t for every output."""
        return (
            self.B[0] @ V if len(self.B) == 1 else np.stack([B @ v for B, v in zip(self.B, V.T, strict=True)], axis=1)
        )


@njit(cache=True)
def descend(B: Array, R: Array, V: Array, size: Array, square: Array) -> None:
    """Sweeps of block descent on the model; V and its gradient R are changed in place."""
    n_matrices, n_outputs = len(B), V.shape[1]
    for _ in range(SWEEPS):
        still = True
        for a in range(len(V)):
            # the least of a model with the largest curvature of all outputs: exact where they have the same
            curvature = 0.0
            for t in range(n_matrices):
                curvature = max(curvature, B[t, a, a])
            length = 0.0
            for t in range(n_outputs):
                length += (curvature * V[a, t] - R[a, t]) ** 2
            length = np.sqrt(length)
            share = max(1.0 - size[a] / length, 0.0) / (curvature + 2 * square[a]) if length > 0 else 0.0
            for t in range(n_outputs):
                change = share * (curvature * V[a, t] - R[a, t]) - V[a, t]
                if change != 0.0:
                    V[a, t] += change
                    R[:, t] += change * B[t % n_matrices, a]
                    still = False
        if still:
            return


@dataclass(frozen=True)
class RowProblem:
    """min loss(y (H W + b)) + sum over hypotheses of size |W_j| + square |W_j|^2."""

    rows: Array  # H'
    y: Array  # (n_samples, 1)
    size: float  # above 0
    square: float
    intercept: bool
    loss: Callable[[Array], float]  # from margins (n_samples, n_outputs)
    curvature: Callable[[Array], Array]  # from U to its second derivatives, each (n_samples, n_outputs)
    accuracy: float = SOLVED  # of the models that are minimised

    def value(self, at: SparsePoint) -> float:
        norms = np.linalg.norm(at.W, axis=1)
        return self.loss(self.y * at.F) + float((self.size * norms + self.square * norms**2).sum())

    def step(self, at: SparsePoint, U: Array, edges: Array) -> SparsePoint:
        """Minimise the quadratic model over the active rows, and search on the way there.

        Active are the rows that are not 0, and those whose edges have a norm above the size.
        """
        j = np.flatnonzero(at.W.any(axis=1) | (np.linalg.norm(edges, axis=1) > self.size))
        X, W, R = self.rows[j], at.W[j], -edges[j]
        size, square = np.full(len(j), self.size), np.full(len(j), self.square)
        if self.intercept:
            # b are the weights of a column of ones, without a price
            X, W = np.vstack([X, np.ones(len(self.y))]), np.vstack([W, at.b])
            R, size, square = np.vstack([R, -(self.y * U).sum(axis=0)]), np.append(size, 0.0), np.append(square, 0.0)
        if not len(W):
            return at
        V = RowModel(self._second(U, X), size, square, self.accuracy).minimise(W, R)
        ahead = V - W
        norms, before = np.linalg.norm(V, axis=1), np.linalg.norm(W, axis=1)
        slope = float((R * ahead).sum() + (size * (norms - before) + square * (norms**2 - before**2)).sum())
        dF = X.T @ ahead

        def move(t: float) -> SparsePoint:
            moved = V if t == 1.0 else W + t * ahead
            rows = at.W.copy()
            rows[j] = moved[: len(j)]
            return SparsePoint(rows, moved[len(j)] if self.intercept else at.b, at.F + t * dF)

        return search_step(self.value, at, move, slope)

    def _second(self, U: Array, X: Array) -> Array:
        """Return X diag(D_t) X' of every output, of one where they are the same."""
        D: Any = self.curvature(U)
        D = D[:, :1] if (D[:, :1] == D).all() else D
        return np.stack([(X * d) @ X.T for d in D.T])
