"""Newton's root against Brent's, against cvxpy, and at the limits of what floats can ask."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import softmax

from cvxens.datasets import make_twonorm
from cvxens.kernels import Stump
from cvxens.problems import EntropyProjection
from cvxens.solvers import solve_entropy_projection
from cvxens.solvers.rho_svm import find_multiplier, tilt

X, Y = make_twonorm(30, 3, random_state=0)
K = Stump()(X)
ALPHA = np.random.default_rng(0).dirichlet(np.ones(30))
Q = EntropyProjection(K, Y, ALPHA, rho=0.0).q


def between(share, scale=1.0):
    return float(scale * (Q.min() + share * np.ptp(Q)))


def diagonal(q, alpha):
    """A projection with K~ alpha = q, for q > 0."""
    return np.diag(q / alpha), np.where(np.arange(len(q)) % 2, 1.0, -1.0), alpha


# which of the solvers reports nine digits depends on a machine's rounding
@pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")
@pytest.mark.product(equality=[True, False], share=[0.02, 0.2, 0.5, 0.8])
def test_equals_the_reference(share, equality):
    problem = EntropyProjection(K, Y, ALPHA, between(share), equality=equality)
    fast, reference = solve_entropy_projection(problem), problem.solve()
    assert fast.objective == pytest.approx(reference.objective, rel=1e-6, abs=1e-8)
    assert_allclose(fast.variables["alpha"], reference.variables["alpha"], atol=1e-4)
    assert problem.certify(fast).holds(1e-9)


@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(0.01, 0.99))
def test_equals_brent(seed, n, share):
    rng = np.random.default_rng(seed)
    q, alpha = rng.uniform(1, 2, n), rng.dirichlet(np.ones(n)) + 1e-3
    alpha /= alpha.sum()
    rho = float(q.min() + share * np.ptp(q))
    solution = solve_entropy_projection(EntropyProjection(*diagonal(q, alpha), rho))

    def slope(eta):
        return q @ softmax(np.log(alpha) - eta * q) - rho

    expected = brentq(slope, -1e6, 1e6, xtol=1e-13, rtol=1e-14)
    assert solution.duals["eta"] == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert_allclose(solution.variables["alpha"], softmax(np.log(alpha) - expected * q), atol=1e-10)


def test_two_samples_in_closed_form():
    problem = EntropyProjection(*diagonal(np.array([1.0, 3.0]), np.array([0.25, 0.75])), 1.5)
    solution = solve_entropy_projection(problem)
    assert_allclose(solution.variables["alpha"], [0.75, 0.25], rtol=1e-13)
    assert solution.duals["eta"] == pytest.approx(np.log(9) / 2, rel=1e-13)
    assert solution.objective == pytest.approx(0.5 * np.log(3), rel=1e-13)


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9, 1e-12, 0.0])
@pytest.mark.parametrize(("side", "equality"), [(1, True), (1, False), (-1, True)])
def test_near_the_extremes(distance, side, equality):
    end = Q.min() if side > 0 else Q.max()
    rho = float(np.nextafter(end, side * np.inf) if distance == 0 else end + side * distance * np.ptp(Q))
    problem = EntropyProjection(K, Y, ALPHA, rho, equality=equality)
    solution = solve_entropy_projection(problem)
    assert problem.certify(solution).holds(1e-9)
    assert side * solution.duals["eta"] > 0
    assert solution.variables["alpha"][(side * Q).argmin()] > 1 - max(100 * distance, 1e-9)


@pytest.mark.product(scale=[1e-100, 1e-12, 1e-6, 1e6, 1e12, 1e100], equality=[True, False])
def test_scaling_the_margins_scales_eta(scale, equality):
    unscaled = solve_entropy_projection(EntropyProjection(K, Y, ALPHA, between(0.2), equality=equality))
    problem = EntropyProjection(scale * K, Y, ALPHA, between(0.2, scale), equality=equality)
    scaled = solve_entropy_projection(problem)
    assert scaled.objective == pytest.approx(unscaled.objective, rel=1e-9)
    assert scale * scaled.duals["eta"] == pytest.approx(unscaled.duals["eta"], rel=1e-9)
    assert problem.certify(scaled).holds(1e-9)


@pytest.mark.parametrize("rho", [float(Q @ ALPHA) + 0.1, float(Q.max()) + 5, 1e9])
def test_an_inequality_that_is_met_moves_nothing(rho):
    problem = EntropyProjection(K, Y, ALPHA, rho, equality=False)
    solution = solve_entropy_projection(problem)
    assert solution.duals["eta"] == 0
    assert_allclose(solution.variables["alpha"], ALPHA, rtol=1e-14)
    assert problem.certify(solution).gap <= 1e-14


def test_an_equality_that_is_met_needs_no_eta():
    solution = solve_entropy_projection(EntropyProjection(K, Y, ALPHA, float(Q @ ALPHA)))
    assert abs(solution.duals["eta"]) < 1e-12


@pytest.mark.product(tiny=[1e-30, 1e-300], share=[1e-6, 0.3, 0.7])
def test_a_point_next_to_a_vertex(tiny, share):
    alpha = np.full(30, tiny)
    alpha[0] = 1.0
    q = Y * (K @ (Y * alpha))
    problem = EntropyProjection(K, Y, alpha / alpha.sum(), float(q.min() + share * (q[0] - q.min())))
    solution = solve_entropy_projection(problem)
    assert problem.certify(solution).holds(1e-9)
    assert solution.objective > 1


@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(0.001, 0.999), st.sampled_from([0.0, 1e3, 1e6]))
def test_tilt_meets_its_target(seed, n, share, offset):
    rng = np.random.default_rng(seed)
    q, alpha = rng.normal(size=n) + offset, rng.dirichlet(np.full(n, 0.1)) + 1e-300
    alpha /= alpha.sum()
    rho = float(q.min() + share * (q @ alpha - q.min()))
    projected = tilt(alpha, q, find_multiplier(alpha, q, rho, 1e-10))
    assert projected.sum() == pytest.approx(1)
    assert q @ projected == pytest.approx(rho, abs=2e-10 * np.abs(q).max())
