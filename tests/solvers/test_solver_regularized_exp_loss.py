"""Newton's method against cvxpy, against scipy's optimiser, and at the limits of lam."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import lambertw

from cvxens.datasets import make_twonorm
from cvxens.errors import SolverFailed
from cvxens.kernels import Stump
from cvxens.problems import RegularizedExpLoss
from cvxens.solvers import regularized_exp_loss as module
from cvxens.solvers import solve_regularized_exp_loss

X, Y = make_twonorm(30, 3, random_state=0)
K = Stump()(X)


def by_scipy(K, y, lam):
    """The optimum over w with f = F w and K = F F', which is strongly convex."""
    values, vectors = np.linalg.eigh(K)
    F = vectors * np.sqrt(np.maximum(values, 0))

    def loss(w):
        parts = np.exp(-y * (F @ w)) / len(y)
        return parts.sum() + lam * w @ w, 2 * lam * w - F.T @ (y * parts)

    return minimize(loss, np.zeros(len(y)), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}).fun


@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0, 100.0])
def test_equals_the_reference(lam):
    problem = RegularizedExpLoss(K, Y, lam)
    fast = solve_regularized_exp_loss(problem)
    assert fast.objective == pytest.approx(problem.solve().objective, rel=1e-6)
    assert problem.certify(fast).holds(1e-11)


@given(st.integers(0, 10**6), st.sampled_from([1e-3, 0.1, 10.0]))
def test_equals_scipy(seed, lam):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(12, 2)), 1)
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    solution = solve_regularized_exp_loss(RegularizedExpLoss(Stump()(X), y, lam))
    assert solution.objective == pytest.approx(by_scipy(Stump()(X), y, lam), rel=1e-7)


@pytest.mark.parametrize("lam", [1e-12, 1e-6, 1.0, 1e6])
def test_one_independent_function_per_sample_in_closed_form(lam):
    """With K = I the margin z solves exp(-z) = 2 n lam z, so it is the Lambert function of 1 / (2 n lam)."""
    y = np.array([1.0, -1.0, 1.0, 1.0])
    problem = RegularizedExpLoss(np.eye(4), y, lam)
    solution = solve_regularized_exp_loss(problem)
    z = float(lambertw(1 / (8 * lam)).real)
    assert_allclose(y * solution.variables["eta"], z, rtol=1e-8)
    assert solution.objective == pytest.approx(np.exp(-z) + 4 * lam * z * z, rel=1e-11)


@pytest.mark.parametrize("lam", [1e-100, 1e-30, 1e-15, 1e-9])
def test_tiny_lam(lam):
    """Margins of about ln(1/lam) cost lam ln(1/lam)^2, in units of the norm that separates with margin 1."""
    problem = RegularizedExpLoss(K, Y, lam)
    solution = solve_regularized_exp_loss(problem)
    point = {"eta": solution.variables["eta"], "u": solution.duals["u"]}
    value, dual = problem.value(point), problem.dual_value(point)
    assert 0 < value - dual <= 1e-9 * value or abs(value - dual) <= 1e-12 * value
    separating = Y @ np.linalg.solve(K, Y)
    assert value <= 1 / len(Y) * lam * len(Y) + lam * np.log(1 / lam) ** 2 * separating


@pytest.mark.parametrize("lam", [1e6, 1e12, 1e100, 1e300])
def test_huge_lam_leaves_the_direction_of_the_classes(lam):
    problem = RegularizedExpLoss(K, Y, lam)
    solution = solve_regularized_exp_loss(problem)
    assert solution.objective == pytest.approx(1, abs=1e-5)
    assert_allclose(2 * lam * len(Y) * solution.variables["eta"], Y, rtol=1e-5)
    assert problem.certify(solution).holds(1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_scaling_the_kernel_is_scaling_lam(scale):
    unscaled = solve_regularized_exp_loss(RegularizedExpLoss(K, Y, 1e-2))
    scaled = solve_regularized_exp_loss(RegularizedExpLoss(scale * K, Y, 1e-2 * scale))
    assert scaled.objective == pytest.approx(unscaled.objective, rel=1e-12)
    assert_allclose(scale * scaled.variables["eta"], unscaled.variables["eta"], rtol=1e-6)


@pytest.mark.parametrize("lam", [1e-9, 1e-3, 10.0])
def test_every_step_falls(monkeypatch, lam):
    values, original = [], module._evaluate

    def spy(problem, eta):
        values.append(problem.value({"eta": eta}))
        return original(problem, eta)

    monkeypatch.setattr(module, "_evaluate", spy)
    solution = solve_regularized_exp_loss(RegularizedExpLoss(K, Y, lam))
    assert values[0] == pytest.approx(1)
    # the first one is evaluated as the start and as a point, the last one and a step from it as answers
    assert all(later < earlier for earlier, later in pairwise(values[1:-2]))
    assert solution.objective <= values[-3] * (1 + 1e-15)


def test_duplicates_of_one_class():
    problem = RegularizedExpLoss(Stump()(np.repeat(X[:15], 2, axis=0)), np.repeat(Y[:15], 2), 1e-3)
    single = solve_regularized_exp_loss(RegularizedExpLoss(Stump()(X[:15]), Y[:15], 1e-3))
    twice = solve_regularized_exp_loss(problem)
    assert twice.objective == pytest.approx(single.objective, rel=1e-11)
    assert problem.certify(twice).holds(1e-11)


@pytest.mark.parametrize("K", [np.zeros((4, 4)), Stump()([[0.0], [0.0], [1.0], [1.0]])], ids=["zero", "conflicting"])
def test_nothing_to_learn(K):
    problem = RegularizedExpLoss(K, [1.0, -1.0, 1.0, -1.0], 1e-3)
    solution = solve_regularized_exp_loss(problem)
    assert solution.objective == pytest.approx(1, abs=1e-12)
    assert_allclose(K @ solution.variables["eta"], 0, atol=1e-9)
    assert problem.certify(solution).holds(1e-9)


def test_a_stall_far_from_the_optimum_is_a_failure():
    y = np.r_[np.tile([1.0, -1.0], 5), np.repeat(Y[:10], 2)]
    problem = RegularizedExpLoss(Stump()(np.repeat(X[:15], 2, axis=0)), y, 1e-20)
    with pytest.raises(SolverFailed, match=r"Newton: stalled at a gap of"):
        solve_regularized_exp_loss(problem)
