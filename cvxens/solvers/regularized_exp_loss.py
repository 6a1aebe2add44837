"""The regularised exponential loss by Newton's method."""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cvxens import validation
from cvxens.errors import SolverFailed
from cvxens.problems import RegularizedExpLoss
from cvxens.types import Array, Attempt, Solution

MAX_STEPS = 1000

STALLED = 1e-6
"""The relative gap within which a stall through rounding counts as an optimum."""


def solve_regularized_exp_loss(problem: RegularizedExpLoss, tol: float = 1e-12) -> Solution:
    """Solve KIE06 (15) by damped Newton steps in the coefficients eta.

    With ``u_i = exp(-y_i (K eta)_i) / n`` the gradient is ``K (2 lam eta - y u)`` and the Hessian ``K (diag(u) K + 2
    lam I)``, so the step solves ``(diag(u) K + 2 lam I) d = y u - 2 lam eta``, by Cholesky of ``diag(u)^1/2 K
    diag(u)^1/2 + 2 lam I``. A last full step from within the gap sets the digits of eta that the objective does not
    show.

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
        After 1,000 steps, or where rounding hides any decrease before the relative gap is 1e-6.

    Examples
    --------
    >>> problem = RegularizedExpLoss(np.eye(2), [1.0, -1.0], lam=0.1)
    >>> problem.certify(solve_regularized_exp_loss(problem)).holds(1e-9)
    True
    """
    validation.instance("problem", problem, RegularizedExpLoss)
    tol, start = validation.positive("tol", tol), time.perf_counter()
    eta = np.zeros(len(problem.y))
    for _ in range(MAX_STEPS):
        point = problem.repair({"eta": eta})
        value = problem.value(point)
        gap = value - problem.dual_value(point)
        step = _newton_step(problem, eta, point["u"])
        if gap <= tol * abs(value):
            return _solution(problem, min(eta + step, eta, key=lambda e: _gap(problem, e)), start)
        length = _backtrack(problem, eta, step, value)
        if length == 0:
            break
        eta = eta + length * step
    if gap <= STALLED * abs(value):
        return _solution(problem, eta, start)
    raise SolverFailed([Attempt("Newton", f"stalled at a gap of {gap:.3g}", time.perf_counter() - start)])


def _solution(problem: RegularizedExpLoss, eta: Array, start: float) -> Solution:
    point = problem.repair({"eta": eta})
    seconds = time.perf_counter() - start
    return Solution(problem.value(point), {"eta": eta}, {"u": point["u"]}, "optimal", "Newton", seconds)


def _gap(problem: RegularizedExpLoss, eta: Array) -> float:
    point = problem.repair({"eta": eta})
    return abs(problem.value(point) - problem.dual_value(point))


def _newton_step(problem: RegularizedExpLoss, eta: Array, u: Array) -> Array:
    """The step, or one that falls less steeply where 2 lam is lost against the size of K."""
    root, ridge = np.sqrt(np.maximum(u, np.finfo(float).tiny)), 2 * problem.lam
    inner = root[:, None] * problem.K * root
    inner += max(ridge, 1e-15 * float(np.trace(inner))) * np.eye(len(u))
    return root * cho_solve(cho_factor(inner), problem.y * root - ridge * eta / root)


def _backtrack(problem: RegularizedExpLoss, eta: Array, step: Array, value: float) -> float:
    """Halve from 1 until the objective falls; 0 where rounding hides any decrease."""
    length = 1.0
    while length > 1e-10:
        if problem.value({"eta": eta + length * step}) < value:
            return length
        length /= 2
    return 0.0
