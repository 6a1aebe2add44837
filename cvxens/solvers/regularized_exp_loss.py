"""The regularised exponential loss by Newton's method."""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cvxens.errors import SolverFailed
from cvxens.problems import RegularizedExpLoss
from cvxens.types import Array, Attempt, Solution

MAX_STEPS = 100


def solve_regularized_exp_loss(problem: RegularizedExpLoss, tol: float = 1e-12) -> Solution:
    """Solve KIE06 (15) by damped Newton steps in the coefficients eta.

    With ``u_i = exp(-y_i (K eta)_i) / n`` the gradient is ``K (2 lam eta - y u)`` and the Hessian ``K (diag(u) K + 2
    lam I)``, so the step solves ``(diag(u) K + 2 lam I) d = y u - 2 lam eta``, by Cholesky of ``diag(u)^1/2 K
    diag(u)^1/2 + 2 lam I``.

    Parameters
    ----------
    problem : RegularizedExpLoss
        Needs memory for n_samples^2 numbers.
    tol : float
        Relative duality gap at which to stop.

    Returns
    -------
    Solution
        With `eta` and `u`.

    Raises
    ------
    SolverFailed
        After 100 steps, which no problem that floats can express has needed.

    Examples
    --------
    >>> problem = RegularizedExpLoss(np.eye(2), [1.0, -1.0], lam=0.1)
    >>> problem.certify(solve_regularized_exp_loss(problem)).holds(1e-9)
    True
    """
    start = time.perf_counter()
    eta = np.zeros(len(problem.y))
    for _ in range(MAX_STEPS):
        point = problem.repair({"eta": eta})
        value = problem.value(point)
        gap = value - problem.dual_value(point)
        step = _newton_step(problem, eta, point["u"])
        length = _backtrack(problem, eta, step, value)
        if gap <= tol * abs(value) or length == 0:
            seconds = time.perf_counter() - start
            return Solution(value, {"eta": eta}, {"u": point["u"]}, "optimal", "Newton", seconds)
        eta = eta + length * step
    raise SolverFailed([Attempt("Newton", "too many steps", time.perf_counter() - start)])


def _newton_step(problem: RegularizedExpLoss, eta: Array, u: Array) -> Array:
    root, ridge = np.sqrt(u), 2 * problem.lam
    r = problem.y * u - ridge * eta
    inner = cho_factor(root[:, None] * problem.K * root + ridge * np.eye(len(u)))
    return (r - root * cho_solve(inner, root * (problem.K @ r))) / ridge


def _backtrack(problem: RegularizedExpLoss, eta: Array, step: Array, value: float) -> float:
    """Halve from 1 until the objective falls; 0 where rounding hides any decrease."""
    length = 1.0
    while length > 1e-10:
        if problem.value({"eta": eta + length * step}) < value:
            return length
        length /= 2
    return 0.0
