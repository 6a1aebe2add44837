"""The optimum of every case by a road that shares no code with the package."""

from functools import cache
from itertools import combinations

import numpy as np
from brute_force import linear_program, soft_minimum_program, solve_by_libsvm
from problem_cases import ALPHA, CELLS, CONDITIONAL, GAMMA, LAM, RHO, SEPARATING, SLACK_RHO, C, D, H, K, L, N, q, y
from scipy.optimize import brentq, minimize


def rho_svm():
    """Min u'Qu on the simplex by trying every support: on it the minimum is Q^-1 1 normalised, if positive."""
    Q = K * np.outer(y, y)
    best = np.inf
    for size in range(1, N + 1):
        for support in combinations(range(N), size):
            v = np.linalg.solve(Q[np.ix_(support, support)], np.ones(size))
            if v.min() >= 0:
                best = min(best, 1 / v.sum())
    return best


def projection(rho):
    """The dual of the entropy projection at the root of its slope."""

    def tilted(eta):
        weights = ALPHA * np.exp(-eta * q)
        return weights / weights.sum()

    eta = brentq(lambda eta: tilted(eta) @ q - rho, -50, 50, xtol=1e-14, rtol=1e-14)
    return float(np.sum(tilted(eta) * np.log(tilted(eta) / ALPHA)))


def exponential():
    """Newton's method by hand, in the function values f."""
    inverse, f = np.linalg.inv(K), np.zeros(N)
    for _ in range(100):
        u = np.exp(-y * f) / N
        f = f - np.linalg.solve(np.diag(u) + 2 * LAM * inverse, -y * u + 2 * LAM * inverse @ f)
    descent = minimize(lambda f: np.exp(-y * f).mean() + LAM * f @ inverse @ f, np.zeros(N), tol=1e-12)
    value = np.exp(-y * f).mean() + LAM * f @ inverse @ f
    assert value <= descent.fun + 1e-12
    return value


def simplex_least_squares():
    """The linear system of the stationarity conditions in (W, b)."""
    Z = np.column_stack([H, np.ones(N)])
    ridge = np.diag([1 / C] * H.shape[1] + [0.0])
    V = np.linalg.solve(Z.T @ Z + ridge, Z.T @ L)
    return (V[:-1] ** 2).sum() / 2 + C / 2 * ((L - Z @ V) ** 2).sum()


def ridge():
    c = np.linalg.solve(N * GAMMA * np.eye(N) + K, y)
    return ((K @ c - y) ** 2).mean() + GAMMA * c @ K @ c


ROADS = {
    "SVMPrimal": lambda: -solve_by_libsvm(H @ H.T, y, C),
    "SVMDual": lambda: solve_by_libsvm(K, y, C),
    "SVMDual, conditional": lambda: solve_by_libsvm(CONDITIONAL, y, C),
    "HardMarginBoosting": lambda: linear_program(SEPARATING, y, slack=None, one_sided=True),
    "SoftMarginBoosting": lambda: linear_program(H, y, slack=C, one_sided=True),
    "InfiniteSVM": lambda: -solve_by_libsvm(CELLS @ CELLS.T, y, C),
    "LPBoost": lambda: soft_minimum_program(H, y, D, one_sided=True),
    "RhoSVM": rho_svm,
    "EntropyProjection": lambda: projection(RHO),
    "EntropyProjection, upwards": lambda: projection(SLACK_RHO),
    "EntropyProjection, at most": lambda: projection(RHO),
    "RegularizedExpLoss": exponential,
    "SLSSVM": simplex_least_squares,
    "RegularizedLeastSquares": ridge,
}


@cache
def optimum(name):
    return float(ROADS[name]())
