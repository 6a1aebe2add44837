"""The entropy projection through its one-dimensional dual."""

from __future__ import annotations

import time

import numpy as np

from cvxens import validation
from cvxens.problems import EntropyProjection
from cvxens.solvers.newton import find_root
from cvxens.types import Array, Solution


def solve_entropy_projection(problem: EntropyProjection, tol: float = 1e-14) -> Solution:
    """Maximise -ln(Z(eta) exp(rho eta)) by Newton's method, safeguarded by a bracket.

    The dual is concave with slope ``E[q] - rho`` and curvature ``-Var[q]`` under the projection at eta.

    Parameters
    ----------
    problem : EntropyProjection
        With equality, or with inequality, where eta = 0 if the point to project satisfies it.
    tol : float
        The slope at which to stop, relative to the largest |q|.

    Returns
    -------
    Solution
        With `alpha` and `eta`.

    Examples
    --------
    >>> problem = EntropyProjection([[2.0, 0.0], [0.0, 1.0]], [1.0, -1.0], [0.5, 0.5], rho=0.7)
    >>> problem.certify(solve_entropy_projection(problem)).holds(1e-9)
    True
    """
    validation.instance("problem", problem, EntropyProjection)
    start, tol = time.perf_counter(), validation.positive("tol", tol)
    met = not problem.equality and float(problem.q @ problem.alpha_t) <= problem.rho
    eta = 0.0 if met else find_multiplier(problem.alpha_t, problem.q, problem.rho, tol)
    alpha = problem.project(eta)
    seconds = time.perf_counter() - start
    point = {"alpha": alpha, "eta": np.asarray(eta)}
    return Solution(problem.value(point), {"alpha": alpha}, {"eta": point["eta"]}, "optimal", "Newton", seconds)


def tilt(alpha_t: Array, q: Array, eta: float) -> Array:
    """Return alpha_t exp(-eta q), normalised to sum 1, for positive alpha_t.

    Examples
    --------
    >>> tilt(np.array([0.5, 0.5]), np.array([0.0, np.log(3)]), 1.0)
    array([0.75, 0.25])
    """
    logs = np.log(alpha_t) - eta * q
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def find_multiplier(alpha_t: Array, q: Array, rho: float, tol: float) -> float:
    """Find the eta that tilts alpha_t onto q'alpha = rho, for rho strictly between the extremes of q.

    Examples
    --------
    >>> round(find_multiplier(np.array([0.5, 0.5]), np.array([0.0, 1.0]), 0.25, 1e-12), 6)
    1.098612
    """

    def slope(eta: float) -> tuple[float, float]:
        alpha = tilt(alpha_t, q, eta)
        mean = float(q @ alpha)
        return rho - mean, float(((q - mean) ** 2) @ alpha)

    # an eta of 1 / spread changes weights by a factor of e at most: far out they underflow and the slope is flat
    return find_root(slope, 0.0, tolerance=tol * float(np.abs(q).max()), reach=1 / float(np.ptp(q)))
