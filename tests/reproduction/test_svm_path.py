"""The regularisation path against cvxpy, scikit-learn and closed forms, between breakpoints and at degenerate ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from cvxens.datasets import make_threenorm, make_twonorm
from cvxens.errors import InvalidInput
from cvxens.kernels import SimplifiedStump, Stump
from cvxens.solvers.active_set import BoxProgram
from reproduction.svm_path import count_exposed, svm_path

X, Y = make_threenorm(60, 3, random_state=0)
K = Stump()(X)

KERNELS = {
    "linear": lambda X: X @ X.T,
    "gaussian": lambda X: np.exp(-cdist(X, X, "sqeuclidean")),
    "simplified stump": SimplifiedStump(),
}


def test_where_rounding_does_not_allow_a_certificate_the_path_ends():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(39, 1)), 2)
    y = np.where(rng.random(39) < 0.5, 1.0, -1.0)
    path = svm_path(KERNELS["gaussian"](X), y)
    assert path.gaps.max() <= 1e-8
    assert 1e5 < path.C[-1] == path.C_max < np.inf
    with pytest.raises(InvalidInput, match="beyond the path's end"):
        path.at(2 * path.C_max)


def by_grid(problem, n):
    """Brute force over a fine grid on two free entries."""
    grid = np.linspace(-4, 4, 1601)
    best = np.inf
    for first in grid:
        d = np.array([first, problem.y[1] * (problem.total - problem.y[0] * first)])
        inside = (problem.low <= d + 1e-12).all() and (d <= problem.high + 1e-12).all()
        best = min(best, 0.5 * d @ problem.Q @ d + problem.p @ d) if inside else best
    return best


@given(st.integers(0, 10**6), st.sampled_from([-1.0, 1.0]), st.booleans())
def test_a_direction_is_the_minimum(seed, sign, bounded):
    rng = np.random.default_rng(seed)
    F = rng.integers(-2, 3, (2, 2)).astype(float)
    Q, y = F @ F.T + 0.1 * np.eye(2), np.array([1.0, sign])
    low, high = (np.array([-1.0, -np.inf]), np.array([np.inf, 2.0])) if bounded else (np.full(2, -3.0), np.full(2, 3.0))
    problem = BoxProgram(Q, y, rng.integers(-1, 2, 2).astype(float), 0.5, low, high)
    d, beta, free = problem.solve()
    assert y @ d == pytest.approx(0.5)
    assert_allclose((Q @ d + problem.p + beta * y)[free], 0, atol=1e-9)
    assert 0.5 * d @ Q @ d + problem.p @ d <= by_grid(problem, 2) + 1e-9


def minimise_in_a_box(Q, C):
    """Minimise 1/2 u'Qu - 1'u over 0 <= u <= C, an SVM without an intercept, coordinate by coordinate."""
    u = np.zeros(len(Q))
    for _ in range(400):
        for i in range(len(Q)):
            u[i] = min(max(u[i] + (1 - Q[i] @ u) / Q[i, i], 0.0), C)
    return u


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0]))
def test_without_a_sample_its_margin_falls_by_its_multiplier_at_most(seed, C):
    """Evgeniou et al. (2004) for one machine: y_i f(x_i) - y_i f^i(x_i) <= u_i K_ii, so the count bounds the errors."""
    X, y = make_twonorm(8, 2, random_state=seed)
    Q = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) * np.outer(y, y)
    u = minimise_in_a_box(Q, C)
    z, errors = Q @ u, 0
    for i in range(8):
        rest = np.delete(np.arange(8), i)
        left = Q[i, rest] @ minimise_in_a_box(Q[np.ix_(rest, rest)], C)
        assert z[i] - left <= u[i] * Q[i, i] + 1e-6
        errors += bool(left < -1e-6)
    assert errors / 8 <= count_exposed(u, Q.diagonal(), z + 1e-9)


def test_the_count_of_the_path_is_that_of_its_formula():
    path = svm_path(K, Y)
    bounds = path.stability_bounds(K)
    for k in range(1, len(path.C), 3):
        z = Y * (K @ (Y * path.u[k]) + path.b[k])
        assert bounds[k] == np.mean(path.u[k] * K.diagonal() >= z)
    assert bounds[0] == 1.0
    shares = path.leave_one_out_bounds
    assert (path.at(path.best_by_leave_one_out())[0] > 0).mean() == shares.min()
    assert shares[0] == 1.0
    chosen = path.best_by_leave_one_out(K)
    assert chosen == path.C[1:][bounds[1:].argmin()]
    assert (bounds[1:] >= (np.sign(path.scores(K))[:, 1:] != Y[:, None]).mean(axis=0)).all()
