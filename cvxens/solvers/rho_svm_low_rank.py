"""The rho-SVM on a low-rank kernel: O(n_samples rank) a step, and a gap that holds for the exact kernel."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.deadline import Pace, interruptible, time_is_up
from cvxens.rounding import sum_error
from cvxens.solvers.incomplete_cholesky import LowRankKernel
from cvxens.solvers.rho_svm_updates import adaptive_updates, relative_gap, uniform, until
from cvxens.types import Array

MAX_STEPS = 100

WARM_UPDATES = 10
"""Updates before Newton's method: more of them would not spare a step."""


@dataclass(frozen=True, eq=False)
class LowRankRhoSVM:
    """A rho-SVM ``f(x) = sum_i u_i y_i k(x, x_i)``, trained on a low-rank kernel.

    Parameters
    ----------
    u : ndarray of shape (n_samples,)
        At least 0, with sum 1.
    coefficients : ndarray of shape (n_samples,)
        u y: those of f over all samples, with the exact kernel.
    pivot_coefficients : ndarray of shape (rank,)
        Those over the pivots alone, of the f that the low-rank kernel gives.
    certificate : Certificate
        Of the optimum with the low-rank kernel.
    exact_certificate : Certificate
        Of the optimum with the kernel that it approximates (and the same ridge).
    n_updates, n_newton_steps : int
        How many there were.
    """

    u: Array
    coefficients: Array
    pivot_coefficients: Array
    certificate: Certificate
    exact_certificate: Certificate
    n_updates: int
    n_newton_steps: int


def solve_low_rank_rho_svm(K: LowRankKernel, y: Any, tol: float = 1e-6, *, max_updates: int = 1000) -> LowRankRhoSVM:
    """Minimise u'K~u on the simplex, never with an array of n_samples^2.

    TK07 Algorithm 1. With a ridge, the problem is that of the SVM with squared slacks, ``min |w|^2 + sum_i max(0,
    1 - y_i G_i w)^2 / ridge_i``, up to scale: there Newton's method takes over after ten updates, in the `rank`
    coordinates of w, and u is in proportion to the slacks over the ridge.

    Parameters
    ----------
    K : LowRankKernel
        From `incomplete_cholesky`; `softened` unless the classes are known to be separable.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    tol : float
        Relative gap at which to stop, of the low-rank kernel.
    max_updates : int
        At most so many multiplicative updates.

    Returns
    -------
    LowRankRhoSVM
        The best reached; its certificates say how good it is.

    Examples
    --------
    >>> from cvxens.solvers import incomplete_cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [-1.0, -1.0, 1.0, 1.0]
    >>> K = incomplete_cholesky(lambda X, Z: 1 + X @ Z.T, X, rank=2).softened(0.1)
    >>> svm = solve_low_rank_rho_svm(K, y)
    >>> svm.certificate.holds(1e-6), svm.exact_certificate.holds(1e-6)
    (True, True)
    """
    validation.instance("K", K, LowRankKernel)
    y = validation.signs(y, K.shape[0])
    validation.positive("tol", tol)
    n_steps = 0
    with threadpool_limits(1, "blas"):
        soft = bool(np.all(K.ridge > 0))
        updates = adaptive_updates(lambda u: y * (K @ (y * u)), uniform(len(y)))
        limit = validation.whole("max_updates", max_updates, 0)
        reached = until(updates, tol, min(limit, WARM_UPDATES) if soft else limit)
        ((n_updates, last),) = deque(enumerate(reached), maxlen=1)
        u = last.u
        if soft and last.gap > tol and not time_is_up():
            u, n_steps = _newton(K, y, u, tol)
    low_rank, exact = certificates(K, y, u)
    return LowRankRhoSVM(u, y * u, K.on_pivots(y * u), low_rank, exact, n_updates, n_steps)


def certificates(K: LowRankKernel, y: Array, u: Array) -> tuple[Certificate, Certificate]:
    """Certify u on the simplex, for the low-rank kernel and for the exact one.

    With ``v = u'K~u`` and ``m = min K~u`` of the low-rank kernel its optimum is between ``m^2 / v`` and v. The residual
    E is PSD, so the exact optimum is not below that, and at most ``v + (y u)'E (y u) <= v + (sum_i u_i sqrt(E_ii))^2``,
    which is at most v plus the trace of E.

    Examples
    --------
    >>> K = LowRankKernel(np.array([[1.0], [-1.0]]), np.array([0]), np.array([0.0, 0.5]))
    >>> low_rank, exact = certificates(K, np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    >>> low_rank.primal, low_rank.dual, exact.primal, exact.dual
    (1.0, 1.0, 1.0, 1.125)
    """
    q = y * (K @ (y * u))
    value = float(u @ q)
    low = (1 - relative_gap(q, value)) * value
    missed = float(u @ np.sqrt(K.residual)) ** 2
    feasibility = {"dual feasibility": max(float(-u.min()), abs(float(u.sum()) - 1))}

    # |v|'|G G'||v| <= (sum_i |v_i| |G_i|)^2, for the form and, as m^2/v, for the primal value
    size = float(u @ np.sqrt(K.diagonal)) ** 2
    rounding = 4 * sum_error(len(u) + K.rank, size)

    def between(high: float, note: str) -> Certificate:
        return Certificate.between(
            low, high, maximise=True, residuals=feasibility, repair={}, rounding=rounding, note=note
        )

    return between(value, "for the low-rank kernel"), between(value + missed, "for the exact kernel, by the residual")


def _newton(K: LowRankKernel, y: Array, u: Array, tol: float) -> tuple[Array, int]:
    """Minimise the SVM with squared slacks from the w of u, and return its u and the number of steps."""
    squared = _SquaredSlacks.of(K, y)
    signed, ridge, prices = squared.signed, squared.ridge, squared.prices
    w = signed.T @ u
    # the best length of that w were it without slacks
    z = signed @ w
    w *= float(prices @ z / (prices @ z**2 + ridge * (w @ w)))
    best, lowest, n_steps, pace = u, inf, 0, Pace()
    with interruptible():
        while True:
            pull = prices * np.maximum(1 - signed @ w, 0.0)
            u = pull / pull.sum() if pull.any() else u
            q = y * (K @ (y * u))
            gap = relative_gap(q, float(u @ q))
            if gap < lowest:
                best, lowest = u, gap
            if gap <= tol or n_steps == MAX_STEPS or not pace.allows_step():
                break
            active = signed[pull > 0]
            hessian = active.T @ (prices[pull > 0, None] * active) + ridge * np.eye(K.rank)
            direction = cho_solve(cho_factor(hessian), active.T @ pull[pull > 0] - ridge * w)
            length = squared.backtracked(w, direction)
            if length == 0:
                break
            w = w + length * direction
            n_steps += 1
    return best, n_steps


@dataclass(frozen=True)
class _SquaredSlacks:
    """ridge |w|^2 + sum_i prices_i max(0, 1 - signed_i w)^2."""

    signed: Array
    ridge: float
    prices: Array

    @classmethod
    def of(cls, K: LowRankKernel, y: Array) -> _SquaredSlacks:
        ridge = float(np.max(K.ridge))
        return cls(y[:, None] * K.G, ridge, ridge / np.broadcast_to(K.ridge, y.shape))

    def backtracked(self, w: Array, direction: Array) -> float:
        """Halve from 1 until the objective falls; 0 where rounding hides any decrease."""
        z, dz, length = self.signed @ w, self.signed @ direction, 1.0
        start = self._value(z, w)
        while length > 1e-8:
            if self._value(z + length * dz, w + length * direction) < start:
                return length
            length /= 2
        return 0.0

    def _value(self, z: Array, w: Array) -> float:
        return float(self.ridge * (w @ w) + self.prices @ np.maximum(1 - z, 0.0) ** 2)
