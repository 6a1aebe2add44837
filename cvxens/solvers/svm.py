"""Support vector machines by LIBSVM's decomposition, through scikit-learn."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from cvxens.errors import SolverFailed
from cvxens.problems import InfiniteSVM, Problem, SVMDual, SVMPrimal
from cvxens.solvers.gram import gram
from cvxens.types import Array, Attempt, Point, Solution

SOLVER = "SVC (LIBSVM)"

MAX_STEPS = 1_000_000
"""Steps of the decomposition after which it counts as held up by rounding; 1000 per sample where that is more."""

CERTIFIED = 1e-6
"""The relative gap with which an answer that was held up is still an optimum."""


def solve_svm_dual(problem: SVMDual, tol: float = 1e-8) -> Solution:
    """Solve LL08 P2.

    Parameters
    ----------
    problem : SVMDual
        The kernel may be conditionally PSD: the decomposition keeps y'u = 0.
    tol : float
        Tolerance of LIBSVM's stopping rule, the largest violation of the optimality conditions.

    Returns
    -------
    Solution
        With `u` and the intercept `b`.

    Examples
    --------
    >>> problem = SVMDual([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> solution = solve_svm_dual(problem)
    >>> solution.objective, problem.certify(solution).holds()
    (-0.5, True)
    """
    start = time.perf_counter()
    u, b, steps = _decompose(problem.K, problem.y, problem.C, tol)
    seconds = time.perf_counter() - start
    _require_optimum(problem, {"u": u, "b": b}, steps, seconds)
    return Solution(problem.value({"u": u, "b": b}), {"u": u}, {"b": b}, "optimal", SOLVER, seconds)


def solve_svm_primal(problem: SVMPrimal | InfiniteSVM, tol: float = 1e-8) -> Solution:
    """Solve LL08 P1, or P5 on cells, through the kernel H H' of its columns; w = H'(y u).

    Parameters
    ----------
    problem : SVMPrimal or InfiniteSVM
        Needs memory for n_samples^2 numbers.
    tol : float
        Tolerance of LIBSVM's stopping rule.

    Returns
    -------
    Solution
        With `w`, `b` and `u`.

    Examples
    --------
    >>> problem = SVMPrimal([[1.0], [-1.0]], [1.0, -1.0], C=1.0)
    >>> solution = solve_svm_primal(problem)
    >>> solution.objective, problem.certify(solution).holds()
    (0.5, True)
    """
    start = time.perf_counter()
    u, b, steps = _decompose(gram(problem.H), problem.y, problem.C, tol)
    w = problem.H.edges(problem.y * u)
    seconds = time.perf_counter() - start
    _require_optimum(problem, {"w": w, "b": b, "u": u}, steps, seconds)
    return Solution(problem.value({"w": w, "b": b}), {"w": w, "b": b}, {"u": u}, "optimal", SOLVER, seconds)


def _decompose(K: Array, y: Array, C: float, tol: float) -> tuple[Array, Array, int]:
    """Multipliers, intercept, and the number of steps taken."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    limit = max(MAX_STEPS, 1000 * len(y))
    model: Any = SVC(C=C, kernel="precomputed", tol=tol, cache_size=1000, shrinking=False, max_iter=limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K, y)
    u = np.zeros(len(y))
    u[model.support_] = np.abs(model.dual_coef_[0])
    return u, np.asarray(model.intercept_[0]), int(model.n_iter_[0])


def _require_optimum(problem: Problem, point: Point, steps: int, seconds: float) -> None:
    """Where rounding kept the decomposition from its tolerance, let the certified gap decide."""
    if steps < max(MAX_STEPS, 1000 * len(point["u"])):
        return
    gap = problem.certify(point).relative_gap
    if gap > CERTIFIED:
        raise SolverFailed([Attempt(SOLVER, f"relative gap {gap:.1e} after {steps} steps", seconds)])
