"""Least squares in closed form, by Cholesky."""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from cvxens import validation
from cvxens.errors import SolverFailed
from cvxens.problems import SLSSVM, RegularizedLeastSquares
from cvxens.solvers.gram import gram
from cvxens.types import Array, Attempt, Solution

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
    factored = _factored(D * gram(problem.H) * D.T, 1 / problem.C)
    from_labels, from_ones = (D * cho_solve(factored, D * right) for right in (L, np.ones((len(L), 1))))
    b = from_labels.sum(axis=0) / from_ones.sum()
    U = from_labels - from_ones * b
    W = problem.H.edges(U)
    seconds = time.perf_counter() - start
    return Solution(problem.value({"W": W, "b": b}), {"W": W, "b": b}, {"U": U}, "optimal", SOLVER, seconds)


def solve_regularized_least_squares(problem: RegularizedLeastSquares) -> Solution:
    """Solve TT06 (5): ``(m gamma I + K) c = y``.

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
    start = time.perf_counter()
    m = len(problem.y)
    c = cho_solve(_factored(problem.K, m * problem.gamma), problem.y)
    seconds = time.perf_counter() - start
    return Solution(problem.value({"c": c}), {"c": c}, {"s": 2 * problem.gamma * c}, "optimal", SOLVER, seconds)


def _factored(K: Array, ridge: float) -> tuple[Array, bool]:
    try:
        return cho_factor(K + ridge * np.eye(len(K)))
    except LinAlgError as error:
        raise SolverFailed([Attempt(SOLVER, "singular", 0.0, str(error))]) from None
