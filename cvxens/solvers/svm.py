"""Support vector machines with a matrix in memory, by blocks, to the last digits."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import numpy as np

from cvxens import validation
from cvxens.errors import SolverFallbackWarning
from cvxens.problems import InfiniteSVM, Problem, SVMDual, SVMPrimal
from cvxens.problems.formulations import svm
from cvxens.problems.losses import Hinge
from cvxens.problems.maps import KernelMatrix, doubly_centred, gram
from cvxens.problems.modelling import tell_of_fallback
from cvxens.problems.problem import Products
from cvxens.solvers.active_set import BoxProgram
from cvxens.solvers.blockwise import KernelRows, KernelSVM, solve_blockwise
from cvxens.types import Array, Attempt, Solution

SOLVER = "blocks of variables"


def solve_svm_dual(problem: SVMDual, tol: float = 1e-10) -> Solution:
    """Solve LL08 P2.

    Parameters
    ----------
    problem : SVMDual
        The kernel may be conditionally PSD: the steps keep y'u = 0, so they are over the doubly centred kernel, which
        loses the fewest digits.
    tol : float
        Relative gap at which to stop; samples between the bounds are then put on the margin by their linear equations.

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
    u, b = _find_optimum(problem.K, problem.y, problem.C, tol)
    return _fall_back(problem, Solution.from_optimum(problem, {"u": u}, {"b": b}, SOLVER, start))


def solve_svm_primal(problem: SVMPrimal | InfiniteSVM, tol: float = 1e-10) -> Solution:
    """Solve LL08 P1, or P5 on cells, through the kernel H H' of its columns; w = H'(y u).

    Parameters
    ----------
    problem : SVMPrimal or InfiniteSVM
        Needs memory for n_samples^2 numbers.
    tol : float
        As for `solve_svm_dual`.

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
    u, b = _find_optimum(gram(problem.H), problem.y, problem.C, tol)
    w = problem.H.edges(problem.y * u)
    return _fall_back(problem, Solution.from_optimum(problem, {"w": w, "b": b}, {"u": u}, SOLVER, start))


def _find_optimum(K: Array, y: Array, C: float, tol: float) -> tuple[Array, Array]:
    """Return multipliers and the best intercept for them."""
    centred = doubly_centred(K)
    found = solve_blockwise(KernelSVM(KernelRows.of_matrix(centred), y, np.full(len(y), C)), tol)
    problem = Problem(svm(C), KernelMatrix(centred), y)
    # the samples between the bounds are put on the margin by linear equations, as far as the bounds let them
    v, free = y * found.u, (found.u > 0) & (found.u < C)
    program = BoxProgram(centred, np.ones(len(y)), centred @ v - y, -float(v.sum()), *np.sort([-v, C * y - v], axis=0))
    change = np.zeros(len(y))
    program.minimise(change, free)
    u = min((found.u, np.clip(y * (v + change), 0.0, C)), key=lambda u: abs(_evaluate_gap(problem, u)))
    return u, Hinge(C).best_intercept(K @ (y * u), y)


def _evaluate_gap(problem: Problem, u: Array) -> float:
    """Evaluate the gap of P2 at multipliers and the best intercept for them, by one plain product."""
    products, v = Products(problem.linear_map, precise=False), problem.y * u
    b = problem.loss.best_intercept(products.scores(v)[0], problem.y)
    at = problem.evaluate_at(v, b, u, products)
    return at.primal - at.dual


def _fall_back(problem: SVMDual | SVMPrimal | InfiniteSVM, solution: Solution) -> Solution:
    """Return the solution, or the better of it and the reference's where rounding held it up short of the optimum."""
    # one that was held up is still an optimum
    if (gap := problem.certify(solution).relative_gap) <= 1e-6:
        return solution
    failed = Attempt(SOLVER, f"relative gap {gap:.1e}", solution.seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SolverFallbackWarning)
        reference = problem.solve()
    *others, last = reference.attempts
    if (other := problem.certify(reference).relative_gap) <= gap:
        best, attempts = reference, (failed, *others, last)
    else:
        best, attempts = solution, (*others, replace(last, status=f"relative gap {other:.1e}"), failed)
    tell_of_fallback(attempts)
    return replace(best, seconds=solution.seconds + reference.seconds, attempts=attempts)
