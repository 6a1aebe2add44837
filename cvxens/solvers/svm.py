"""Support vector machines by LIBSVM's decomposition, through scikit-learn."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.errors import SolverFallbackWarning
from cvxens.problems import InfiniteSVM, Problem, SVMDual, SVMPrimal
from cvxens.problems.formulations import svm
from cvxens.problems.losses import Hinge
from cvxens.problems.maps import Kernel, doubly_centred, gram
from cvxens.problems.modelling import tell_of_fallback
from cvxens.problems.problem import Products
from cvxens.solvers.active_set import solve_balanced
from cvxens.types import Array, Attempt, Solution

SOLVER = "SVC (LIBSVM)"

MAX_STEPS = 1_000_000
"""Steps of the decomposition after which it counts as held up by rounding; 1000 per sample where that is more."""

CERTIFIED = 1e-6
"""The relative gap with which an answer that was held up is still an optimum."""

AT_BOUND = 1e-6
"""The distance from a bound, relative to C, that may be an error of single precision."""


def solve_svm_dual(problem: SVMDual, tol: float = 1e-8) -> Solution:
    """Solve LL08 P2.

    Parameters
    ----------
    problem : SVMDual
        The kernel may be conditionally PSD: the decomposition keeps y'u = 0, so LIBSVM is handed the doubly centred
        kernel, which loses the least in LIBSVM's single precision.
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
    validation.instance("problem", problem, SVMDual)
    start, tol = time.perf_counter(), validation.positive("tol", tol)
    u, b, steps = _decompose(problem.K, problem.y, problem.C, tol)
    return _fall_back(problem, Solution.from_optimum(problem, {"u": u}, {"b": b}, SOLVER, start), steps)


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
    validation.instance("problem", problem, SVMPrimal, InfiniteSVM)
    start, tol = time.perf_counter(), validation.positive("tol", tol)
    u, b, steps = _decompose(gram(problem.H), problem.y, problem.C, tol)
    w = problem.H.edges(problem.y * u)
    return _fall_back(problem, Solution.from_optimum(problem, {"w": w, "b": b}, {"u": u}, SOLVER, start), steps)


def _decompose(K: Array, y: Array, C: float, tol: float) -> tuple[Array, Array, int]:
    """Return multipliers, intercept, and the number of steps taken."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    centred = doubly_centred(K)
    limit = max(MAX_STEPS, 1000 * len(y))
    model: Any = SVC(C=C, kernel="precomputed", tol=tol, cache_size=1000, shrinking=False, max_iter=limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(centred, y)
    u = np.zeros(len(y))
    u[model.support_] = np.abs(model.dual_coef_[0])
    b = float(model.intercept_[0])
    snapped = np.where(u < AT_BOUND * C, 0.0, np.where(u > (1 - AT_BOUND) * C, C, u))
    # which samples are at a bound is a guess from single precision, so both guesses are tried and the gap decides
    candidates = (u, _refine(centred, y, C, u, b), _refine(centred, y, C, snapped, b))
    problem = Problem(svm(C), Kernel(centred), y)
    u = min(candidates, key=lambda u: abs(_evaluate_gap(problem, u)))
    # LIBSVM's intercept is of single precision where no sample is between the bounds
    return u, Hinge(C).best_intercept(K @ (y * u), y), int(model.n_iter_[0])


def _refine(K: Array, y: Array, C: float, u: Array, b: float) -> Array:
    """Put the samples between the bounds on the margin in double precision: LIBSVM keeps K in single."""
    free = np.flatnonzero((u > 0) & (u < C))
    if not len(free):
        return u
    # K_FF d + e = y_F - f_F - b, 1'd = -y'u over these samples F
    v = y * u
    change, _ = solve_balanced(K[np.ix_(free, free)], np.ones(len(free)), y[free] - K[free] @ v - b, -float(v.sum()))
    v[free] += change
    return np.clip(y * v, 0.0, C)


def _evaluate_gap(problem: Problem, u: Array) -> float:
    """Evaluate the gap of P2 at multipliers and the best intercept for them, by one plain product."""
    products, v = Products(problem.linear_map, precise=False), problem.y * u
    b = problem.loss.best_intercept(products.scores(v)[0], problem.y)
    at = problem.evaluate_at(v, b, u, products)
    return at.primal - at.dual


def _fall_back(problem: SVMDual | SVMPrimal | InfiniteSVM, solution: Solution, steps: int) -> Solution:
    """Return the solution, or the reference's where the decomposition was held up short of the optimum."""
    if steps < max(MAX_STEPS, 1000 * len(problem.y)) or (gap := problem.certify(solution).relative_gap) <= CERTIFIED:
        return solution
    failed = Attempt(SOLVER, f"relative gap {gap:.1e} after {steps} steps", solution.seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SolverFallbackWarning)
        reference = problem.solve()
    attempts = (failed, *reference.attempts)
    tell_of_fallback(attempts)
    return replace(reference, seconds=solution.seconds + reference.seconds, attempts=attempts)
