"""The entropy projection through its one-dimensional dual."""

from __future__ import annotations

import time

import numpy as np

from cvxens import validation
from cvxens.problems import EntropyProjection
from cvxens.types import Array, Solution

MAX_STEPS = 200


def solve_entropy_projection(problem: EntropyProjection, tol: float = 1e-14) -> Solution:
    """Maximise -ln(Z(eta) exp(rho eta)) by Newton's method, safeguarded by a bracket.

    The dual is concave with slope ``E[q] - rho`` and curvature ``-Var[q]`` under the projection at eta. A Newton
    step that leaves the bracket of the slope's root is replaced by its middle; a reach that doubles bounds every
    step, and is the step while the bracket is open.

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
    eta = 0.0 if met else multiplier(problem.alpha_t, problem.q, problem.rho, tol)
    alpha = problem.project(eta)
    seconds = time.perf_counter() - start
    point = {"alpha": alpha, "eta": np.asarray(eta)}
    return Solution(problem.value(point), {"alpha": alpha}, {"eta": point["eta"]}, "optimal", "Newton", seconds)


def tilted(alpha_t: Array, q: Array, eta: float) -> Array:
    """Return alpha_t exp(-eta q), normalised to sum 1, for positive alpha_t.

    Examples
    --------
    >>> tilted(np.array([0.5, 0.5]), np.array([0.0, np.log(3)]), 1.0)
    array([0.75, 0.25])
    """
    logs = np.log(alpha_t) - eta * q
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def multiplier(alpha_t: Array, q: Array, rho: float, tol: float) -> float:
    """Find the eta that tilts alpha_t onto q'alpha = rho, for rho strictly between the extremes of q.

    Examples
    --------
    >>> round(multiplier(np.array([0.5, 0.5]), np.array([0.0, 1.0]), 0.25, 1e-12), 6)
    1.098612
    """
    size, spread = float(np.abs(q).max()), float(np.ptp(q))
    low, high, eta = -np.inf, np.inf, 0.0
    for step in range(MAX_STEPS):
        alpha = tilted(alpha_t, q, eta)
        slope = float(q @ alpha) - rho
        if abs(slope) <= tol * size:
            break
        low, high = (eta, high) if slope > 0 else (low, eta)
        reach = 2.0**step / spread
        variance = float(((q - q @ alpha) ** 2) @ alpha)
        newton = slope / variance if abs(slope) < reach * variance else np.inf
        eta = eta + newton if low < eta + newton < high else _middle(low, high, reach)
    return eta


def _middle(low: float, high: float, reach: float) -> float:
    """The middle of the bracket; beyond its finite end by `reach` where the other is infinite."""
    if np.isinf(high):
        return low + reach
    return high - reach if np.isinf(low) else (low + high) / 2
