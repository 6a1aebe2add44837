"""The rho-SVM by adaptive multiplicative updates, finished on its active set."""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.errors import SolverFailed
from cvxens.problems import RhoSVM
from cvxens.solvers.rho_svm_updates import adaptive_updates, relative_gap, uniform, until
from cvxens.types import Array, Attempt, Solution

PASSES = 3
"""How often the solution of a linear system is refined."""


def solve_rho_svm(problem: RhoSVM, tol: float = 1e-9, *, warm_gap: float = 1e-2, max_updates: int = 5000) -> Solution:
    """Minimise u'K~u on the simplex.

    TK07 Algorithm 1 up to a relative gap of `warm_gap`: each update projects u in relative entropy onto the vectors
    v with
    ``(K~u)'v = (1 - epsilon) u'K~u``, which multiplies u_i by exp(-eta (K~u)_i). Epsilon is halved until the objective
    falls by a fifth of what was asked, and grows again after that. A bound of 2 ln(n)/nu^2 on the number of updates
    makes them slow in the end, so an active-set method takes over from their support; it ends at the optimum up to
    rounding.

    Parameters
    ----------
    problem : RhoSVM
        Needs memory for n_samples^2 numbers.
    tol : float
        Relative gap at which to stop, above 0.
    warm_gap : float
        Relative gap, between ``min(K~u)^2 / u'K~u`` and ``u'K~u``, at which the active-set method takes over; above 0.
    max_updates : int
        Number of multiplicative updates, at least 0, after which it takes over at the latest.

    Returns
    -------
    Solution
        With `c`, `rho` and `u`.

    Examples
    --------
    >>> problem = RhoSVM(np.eye(2), [1.0, -1.0])
    >>> problem.certify(solve_rho_svm(problem)).holds(1e-9)
    True
    """
    start = time.perf_counter()
    validation.instance("problem", problem, RhoSVM)
    validation.positive("tol", tol)
    validation.positive("warm_gap", warm_gap)
    validation.whole("max_updates", max_updates, 0)
    Q = problem.K * np.outer(problem.y, problem.y)
    with threadpool_limits(1, "blas"):
        u = multiplicative_updates(Q, uniform(len(Q)), warm_gap, max_updates)
        u = finish_on_active_set(Q, u, tol)
    seconds = time.perf_counter() - start
    point = problem.repair({"u": u})
    variables = {"c": point["c"], "rho": point["rho"]}
    return Solution(problem.value(point), variables, {"u": u}, "optimal", "multiplicative", seconds)


def multiplicative_updates(Q: Array, u: Array, gap: float, max_updates: int) -> Array:
    """Update u, positive and with sum 1, until its relative gap is within `gap` or updates stall."""
    *_, last = until(adaptive_updates(Q.__matmul__, u), gap, max_updates)
    return last.u


def finish_on_active_set(Q: Array, u: Array, tol: float) -> Array:
    """Minimise u'Qu on the simplex by a primal active-set method from the support of `u`.

    On a support S the minimum over sum u = 1 is ``Q_SS^-1 1`` normalised. Where that has a negative entry, u moves
    towards it until an entry vanishes and leaves S; else the sample with the smallest margin joins S.
    """
    active = u > 1e-6 * u.max()
    u = np.where(active, u, 0.0) / u[active].sum()
    for _ in range(20 * len(u)):
        S = np.flatnonzero(active)
        towards = _affine_minimum(Q[np.ix_(S, S)])
        falling = towards < 0
        if falling.any():
            ratios = np.full(len(S), np.inf)
            ratios[falling] = u[S][falling] / (u[S] - towards)[falling]
            u[S] += ratios.min() * (towards - u[S])
            u[S[ratios.argmin()]], active[S[ratios.argmin()]] = 0.0, False
            continue
        u[S] = towards
        q = Q @ u
        if relative_gap(q, float(u @ q)) <= tol or active[q.argmin()]:
            return u
        active[q.argmin()] = True
    raise SolverFailed([Attempt("active set", "too many steps", 0.0)])


def _affine_minimum(Q: Array) -> Array:
    """Q^-1 1 normalised: scaled to a unit diagonal, and ridged, as Q may be singular; passes mend what that costs."""
    size = np.sqrt(np.maximum(np.diag(Q), 1e-200))
    scaled = Q / np.outer(size, size)
    factored = cho_factor(scaled + 1e-14 * len(Q) * np.eye(len(Q)))
    v = np.zeros(len(Q))
    for _ in range(PASSES):
        v += cho_solve(factored, 1 / size - scaled @ v)
    return v / size / (v / size).sum()
