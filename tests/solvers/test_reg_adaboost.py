"""RegAdaBoost against Newton's method on the same problem, and round by round against what it is to minimise."""

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

from cvxens.colgen import formulations
from cvxens.datasets import make_threenorm, make_twonorm
from cvxens.kernels import DecisionStump, Stump
from cvxens.problems import Problem, RegularizedExpLoss
from cvxens.solvers import reg_adaboost_rounds, solve_regularized_exp_loss
from reproduction.kie06_checks import bound_error
from reproduction.samples import make_slope

X, Y = make_twonorm(40, 3, random_state=0)

KERNELS = {
    "stump": Stump()(X),
    "gaussian": np.exp(-0.5 * cdist(X, X, "sqeuclidean")),
    "linear": X @ X.T,
    "duplicates": Stump()(np.repeat(X[:20], 2, axis=0)),
}


@st.composite
def problems(draw):
    """Small samples with ties and duplicates, kernels often singular."""
    n, d = draw(st.integers(3, 15)), draw(st.integers(1, 3))
    X, y = make_threenorm(n, d, random_state=draw(st.integers(0, 10**6)))
    X = np.round(X, draw(st.integers(0, 1)))
    K = X @ X.T if draw(st.booleans()) else np.exp(-cdist(X, X, "sqeuclidean"))
    return RegularizedExpLoss(K, y, draw(st.sampled_from([1e-2, 0.3, 10.0])))


@pytest.mark.thinned(1, lam=[1e-2, 1.0], kernel=KERNELS)
def test_reaches_the_optimum_of_newton_and_cvxpy(kernel, lam):
    K = KERNELS[kernel]
    problem = RegularizedExpLoss(K, Y, lam * K.diagonal().mean())
    rounds, newton = reg_adaboost_rounds(problem, normalised=True), solve_regularized_exp_loss(problem)
    boosted = next(row for row in islice(rounds, 20_000) if row.relative_gap <= 1e-7)
    assert boosted.value == pytest.approx(newton.objective, rel=2e-7)
    assert boosted.value == pytest.approx(problem.solve().objective, rel=1e-5)
    assert problem.certify(eta=boosted.eta, u=boosted.u).holds(1.01e-7)
    assert_allclose(K @ boosted.eta, K @ newton.variables["eta"], atol=2e-3)


@given(problems(), st.integers(0, 60))
def test_any_round_of_a_degenerate_problem_brackets_the_optimum_of_newton(problem, rounds):
    optimum = solve_regularized_exp_loss(problem).objective
    *_, row = islice(reg_adaboost_rounds(problem), rounds + 1)
    assert row.dual - 1e-9 <= optimum <= row.value + 1e-9
    assert problem.certify(eta=row.eta, u=row.u).relative_gap == pytest.approx(row.relative_gap, abs=1e-9)


@given(problems(), st.booleans())
def test_a_round_minimises_along_the_steepest_function(problem, normalised):
    """As printed, (17), of the functions as they are; or of those of norm 1."""
    for now, after in pairwise(islice(reg_adaboost_rounds(problem, normalised=normalised), 6)):
        gradient = problem.K @ (2 * problem.lam * now.eta - problem.y * now.u)
        sizes = np.sqrt(np.maximum(np.diag(problem.K), 1e-300)) if normalised else 1.0
        assert np.abs(gradient / sizes)[now.coordinate] == pytest.approx(np.abs(gradient / sizes).max(), rel=1e-9)
        direction = np.arange(len(now.eta)) == now.coordinate
        along = minimize_scalar(lambda t, e=now.eta, d=direction: problem.value({"eta": e + t * d}))
        assert after.value <= along.fun + 1e-9
        assert_allclose(after.eta, now.eta + now.step * direction)


@given(problems())
def test_rounds_fall_and_say_what_the_problem_says(problem):
    rounds = list(islice(reg_adaboost_rounds(problem), 12))
    for row in rounds:
        assert row.value == pytest.approx(problem.value({"eta": row.eta}), rel=1e-9)
        assert row.dual == pytest.approx(problem.dual_value({"u": row.u}), rel=1e-9, abs=1e-12)
        assert_allclose(row.u, np.exp(-problem.y * (problem.K @ row.eta)) / len(row.u), rtol=1e-9)
    assert all(after.value <= now.value + 1e-14 for now, after in pairwise(rounds))


def test_the_first_round_is_a_parzen_window_with_one_kernel_function():
    first = next(reg_adaboost_rounds(RegularizedExpLoss(KERNELS["gaussian"], Y, 0.1)))
    assert first.coordinate == np.abs(KERNELS["gaussian"] @ Y).argmax()
    assert first.value == pytest.approx(1.0)
    assert np.sign(first.step) == np.sign(KERNELS["gaussian"] @ Y)[first.coordinate]


@pytest.mark.parametrize("K", [np.zeros((4, 4)), np.ones((4, 4))], ids=["zero", "constant"])
def test_no_slope_ends_it(K):
    rounds = list(reg_adaboost_rounds(RegularizedExpLoss(K, [1.0, -1.0, 1.0, -1.0], 0.1)))
    assert [row.coordinate for row in rounds] == [-1]
    assert rounds[0].value == pytest.approx(1.0)


def test_the_two_choices_differ_where_functions_differ_in_size():
    problem = RegularizedExpLoss(KERNELS["linear"], Y, 0.05)
    printed, ours = ([row.coordinate for row in islice(reg_adaboost_rounds(problem, normalised=n), 4)] for n in (0, 1))
    assert printed != ours
    same = RegularizedExpLoss(KERNELS["gaussian"], Y, 0.05)
    printed, ours = ([row.coordinate for row in islice(reg_adaboost_rounds(same, normalised=n), 9)] for n in (0, 1))
    assert printed == ours


def test_the_sum_of_the_weights_of_kie06_16_has_either_sign():
    """At the start D is -y: for balanced classes its sum is 0, and where the positive prevail it is negative."""
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    first = next(reg_adaboost_rounds(RegularizedExpLoss(KERNELS["stump"], y, 0.1)))
    assert (2 * 40 * 0.1 * first.eta - 40 * y * first.u).sum() == pytest.approx(0, abs=1e-12)


def test_kie06_proposition_1():
    """theta_j = pi_j sum_l f_j(X_l) eta_l, by the weights of the weak learners and by the kernel."""
    F, lam = np.sign(X @ np.random.default_rng(0).normal(size=(3, 8)) + 0.1), 0.05
    pi = np.arange(1.0, 9.0) / 36
    # with w_j = theta_j / sqrt(pi_j), |F|^2 = sum_j theta_j^2 / pi_j is |w|^2
    by_weights = Problem(formulations.exponential(len(Y), lam), F * np.sqrt(pi), Y).solve()
    eta = solve_regularized_exp_loss(RegularizedExpLoss((F * pi) @ F.T, Y, lam)).variables["eta"]
    assert_allclose(by_weights.variables["w"] * np.sqrt(pi), pi * (F.T @ eta), atol=1e-4)


def test_kie06_proposition_2_and_what_its_print_has_of_the_radius():
    """The Rademacher mean of the ball |F| <= R is R E sqrt(s'K s) / n: below R / sqrt(n), and of that order."""
    rng = np.random.default_rng(0)
    sample = rng.uniform(-1, 1, (200, 2))
    K = DecisionStump([-1.0, -1.0], [1.0, 1.0])(sample)
    signs = rng.choice([-1.0, 1.0], (400, 200))
    mean = np.sqrt(np.einsum("ij,jk,ik->i", signs, K, signs)).mean() / 200
    for R in (0.1, 1.0, 3.0):
        assert 0.8 * R / np.sqrt(200) <= R * mean <= R / np.sqrt(200)
    # the print's B / sqrt(n) with B = R^2 is below what it is to bound
    assert 0.1 * mean > 5 * 0.1**2 / np.sqrt(200)
    # with B = 1 = R it is the printed bound, L = e
    printed = 0.7 + 4 * np.e / np.sqrt(200) + np.e * np.sqrt(2 * np.log(1 / 0.05) / 200)
    assert bound_error(0.7, 1.0, 200) == pytest.approx(printed)
    # a fitted machine is within it, on samples to come
    A, y = make_slope(2300, random_state=1)
    (train, new), (y_train, y_new) = np.split(A, [300]), np.split(y, [300])
    kernel = DecisionStump([-1.0] * 2, [1.0] * 2)
    problem = RegularizedExpLoss(kernel(train), y_train, 1.0)
    eta = solve_regularized_exp_loss(problem).variables["eta"]
    f, R = kernel(new, train) @ eta, float(np.sqrt(eta @ problem.K @ eta))
    assert np.abs(f).max() <= R
    assert (y_new * f <= 0).mean() <= bound_error(float(problem.loss.value(y_train * (problem.K @ eta))), R, 300)
