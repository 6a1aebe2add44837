"""Weights alone are enough: at an optimum the multipliers that are derived from them prove it, kinks or none."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from problem_cases import solve_quietly

from cvxens import certify
from cvxens.colgen import Formulation
from cvxens.problems import Problem, Signed, StumpColumns, SVMDual
from cvxens.problems.losses import (
    CVaR,
    EntropicMinimumMargin,
    Exponential,
    HardMargin,
    Hinge,
    Logistic,
    SoftMinimumMargin,
    SquaredHinge,
)
from cvxens.problems.penalties import L1, ElasticNet, Penalty, Simplex, SquaredL2
from cvxens.problems.problem import fit_slopes
from cvxens.problems.target_losses import Pinball

SEEDS = st.integers(0, 2**32 - 1)

LOSSES = [Hinge(0.4), SquaredHinge(0.4), Logistic(0.4), Exponential(0.3), HardMargin()]
PENALTIES = [L1(0.7), SquaredL2(0.7), ElasticNet(0.5, 0.3)]


def table(seed, n=16, m=7):
    """Hypotheses that separate the classes, so that a hard margin can be asked for as well."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    H = np.where(random.random((n, m)) < 0.3, -1.0, 1.0) * y[:, None]
    return np.column_stack([H, 0.2 * y]), y


def weights_of(solution):
    return {name: solution.variables[name] for name in ("w", "b") if name in solution.variables}


@pytest.mark.thinned(1, penalty=PENALTIES, loss=LOSSES)
@settings(max_examples=5)
@given(seed=SEEDS, intercept=st.booleans(), nonnegative=st.booleans())
def test_the_weights_of_an_optimum_are_proven_without_multipliers(loss, penalty, seed, intercept, nonnegative):
    H, y = table(seed)
    problem = Problem(Formulation(loss, penalty, intercept=intercept, nonnegative=nonnegative), H, y)
    solution = solve_quietly(problem)
    certificate = certify(problem, **weights_of(solution))
    # a smooth loss has slopes that are off by the square root of what its value is off by
    assert certificate.holds(1e-6 if isinstance(loss, Hinge | HardMargin) else 1e-3)
    assert certificate.repair["u"] == np.inf
    assert max(certificate.residuals.values()) < 1e-3


@pytest.mark.parametrize("loss", [SoftMinimumMargin(0.15), EntropicMinimumMargin(0.15, 5.0)], ids=["soft", "entropic"])
@settings(max_examples=5)
@given(seed=SEEDS, intercept=st.booleans())
def test_weights_on_a_simplex_are_proven_by_level_edges(loss, seed, intercept):
    H, y = table(seed)
    problem = Problem(Formulation(loss, Simplex(), intercept=intercept, nonnegative=True), H, y)
    certificate = certify(problem, **weights_of(solve_quietly(problem)))
    assert certificate.proven
    assert certificate.gap < (1e-6 if isinstance(loss, SoftMinimumMargin) else 1e-3)


@settings(max_examples=5)
@given(seed=SEEDS, C=st.sampled_from([0.05, 0.6]), intercept=st.booleans())
def test_over_all_stumps_as_well(seed, C, intercept):
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 9, (18, 2)).astype(float), np.where(random.random(18) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    formulation = Formulation(Hinge(C), L1(), intercept=intercept, nonnegative=True)
    problem = Problem(formulation, Signed(StumpColumns(X + np.arange(18)[:, None] / 100)), y)
    assert certify(problem, **weights_of(solve_quietly(problem))).holds(1e-5)


@settings(max_examples=20)
@given(
    seed=SEEDS,
    loss=st.sampled_from(LOSSES[:4]),
    penalty=st.sampled_from(PENALTIES),
    scale=st.sampled_from([0.0, 0.01, 1.0, 30.0]),
)
def test_of_any_weights_they_bound_the_optimum_and_are_no_worse_than_none(seed, loss, penalty, scale):
    H, y = table(seed)
    problem = Problem(Formulation(loss, penalty, intercept=True), H, y)
    w = scale * np.random.default_rng(seed).normal(size=H.shape[1])
    optimum = problem.certify(solve_quietly(problem)).primal
    assert 0 <= certify(problem, w=w).dual <= optimum * (1 + 1e-9)


def test_a_machine_in_a_kernel_has_its_coefficients_as_multipliers():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(15, 2)), np.where(np.arange(15) % 2, 1.0, -1.0)
    formulation = Formulation(Hinge(0.8), SquaredL2(2.0), intercept=True)
    problem = Problem(formulation, SVMDual(X @ X.T + np.eye(15), y, 1.0).linear_map, y)
    solution = solve_quietly(problem)
    assert certify(problem, w=y * solution.duals["u"] / 2.0, b=solution.variables["b"]).holds(1e-6)


def test_the_slopes_of_a_penalty_that_does_not_tell_them_are_measured():
    class Plain(ElasticNet):
        slopes = Penalty.slopes

    w = np.array([0.5, 0.0, -2.0])
    for measured, told in zip(Plain(0.5, 0.3).slopes(w), ElasticNet(0.5, 0.3).slopes(w), strict=True):
        assert_allclose(measured, told, rtol=1e-9)


def test_multipliers_at_kinks_solve_the_system():
    """Two samples at the kink, one below it; the edge of one weight is to be 1, of the other at most 1 in size."""
    H = np.array([[1.0, 1.0], [1.0, -1.0], [0.5, 3.0]])
    limits = np.array([0.0, 0.0, 0.4]), np.array([1.0, 1.0, 0.4])
    u = fit_slopes(limits, (np.array([1.0, -1.0]), np.array([1.0, 1.0])), lambda U: H.T @ U)
    assert_allclose(H[:, 0] @ u, 1.0)
    assert abs(H[:, 1] @ u) <= 1 + 1e-9
    assert u[2] == 0.4
    slopes = (np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    balanced = fit_slopes(limits, slopes, lambda U: H.T @ U, [(np.array([1.0, -1.0, 1.0]), 0.0)])
    assert_allclose(balanced[0] - balanced[1] + 0.4, 0.0, atol=1e-12)
    assert np.abs(H.T @ balanced).max() <= 1 + 1e-9


def test_where_there_are_too_many_kinks_or_none_nothing_is_solved():
    n = 1100
    middle = fit_slopes((np.zeros(n), np.ones(n)), (np.zeros(1), np.zeros(1)), lambda U: U[:1])
    assert_allclose(middle, 0.5)
    assert_allclose(fit_slopes((np.ones(3), np.ones(3)), (np.zeros(1), np.zeros(1)), lambda U: U[:1]), 1.0)
    unbounded = fit_slopes((np.zeros(n), np.full(n, np.inf)), (np.zeros(1), np.zeros(1)), lambda U: U[:1])
    assert_allclose(unbounded, 0.0)


def pinball(f):
    t = np.linspace(-1.0, 2.0, 24)
    return cp.sum(cp.maximum(0.3 * (t - f), 0.7 * (f - t)))


KINKED = {
    "an expression on scores": (pinball, L1(1.0), {"intercept": True, "scores": True}),
    "an expression under squares": (pinball, SquaredL2(1.0), {"intercept": True, "scores": True}),
    "two kinks": (lambda z: cp.sum(cp.maximum(0, 1 - z, 1 - 3 * z)), L1(0.5), {"intercept": True}),
    "the worst samples under a budget": (CVaR(0.15, 5.0), lambda w: [0, cp.norm1(w) <= 0.7], {"intercept": True}),
    "hinges in a box": (Hinge(0.4), lambda w: [0.3 * cp.norm1(w), cp.abs(w) <= 0.3], {"intercept": True}),
}


@pytest.mark.thinned(1, name=KINKED, digits=[16, 7])
def test_where_slopes_do_not_say_which_multipliers_suit_a_solver_does(name, digits):
    loss, penalty, options = KINKED[name]
    random = np.random.default_rng(3)
    H, y = random.normal(size=(24, 4)), np.where(np.arange(24) % 2, 1.0, -1.0)
    problem = Problem(Formulation(loss, penalty, **options), H, None if "scores" in options else y)
    given = {letter: values.round(digits) for letter, values in weights_of(solve_quietly(problem)).items()}
    assert certify(problem, **given).holds(1e-5)


def test_weights_that_are_the_digits_of_a_solver_are_0(monkeypatch):
    monkeypatch.setattr("cvxens.problems.problem.SOLVABLE", 0)
    random = np.random.default_rng(0)
    t = random.normal(size=200).round(1)
    problem = Problem(Formulation(Pinball(t, 0.3), L1(60.0), intercept=True), random.normal(size=(200, 5)))
    w, b = 1e-12 * random.normal(size=5), np.quantile(t, 0.3)
    assert certify(problem, w=w, b=b).holds(1e-6)
