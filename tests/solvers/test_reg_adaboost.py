"""RegAdaBoost against Newton's method on the same problem, and round by round against what it is to minimise."""

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

from cvxens.datasets import make_threenorm, make_twonorm
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.kernels import Stump
from cvxens.problems import RegularizedExpLoss
from cvxens.solvers import reg_adaboost_rounds, solve_reg_adaboost, solve_regularized_exp_loss

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


@pytest.mark.parametrize("lam", [1e-2, 1.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_reaches_the_optimum_of_newton_and_cvxpy(kernel, lam):
    K = KERNELS[kernel]
    problem = RegularizedExpLoss(K, Y, lam * K.diagonal().mean())
    boosted, newton = solve_reg_adaboost(problem, 1e-7), solve_regularized_exp_loss(problem)
    assert boosted.objective == pytest.approx(newton.objective, rel=2e-7)
    assert boosted.objective == pytest.approx(problem.solve().objective, rel=1e-5)
    assert problem.certify(boosted).holds(1.01e-7)
    assert_allclose(K @ boosted.variables["eta"], K @ newton.variables["eta"], atol=2e-3)


@settings(deadline=None, max_examples=40)
@given(problems(), st.integers(0, 60))
def test_any_round_of_a_degenerate_problem_brackets_the_optimum_of_newton(problem, rounds):
    optimum = solve_regularized_exp_loss(problem).objective
    *_, row = islice(reg_adaboost_rounds(problem), rounds + 1)
    assert row.dual - 1e-9 <= optimum <= row.value + 1e-9
    assert problem.certify(eta=row.eta, u=row.u).relative_gap == pytest.approx(row.relative_gap, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(problems())
def test_a_round_minimises_along_the_steepest_function(problem):
    for now, after in pairwise(islice(reg_adaboost_rounds(problem), 6)):
        gradient = problem.K @ (2 * problem.lam * now.eta - problem.y * now.u)
        sizes = np.sqrt(np.maximum(np.diag(problem.K), 1e-300))
        assert np.abs(gradient / sizes)[now.coordinate] == pytest.approx(np.abs(gradient / sizes).max(), rel=1e-9)
        direction = np.arange(len(now.eta)) == now.coordinate
        along = minimize_scalar(lambda t, e=now.eta, d=direction: problem.value({"eta": e + t * d}))
        assert after.value <= along.fun + 1e-9
        assert_allclose(after.eta, now.eta + now.step * direction)


@settings(deadline=None, max_examples=30)
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
    assert solve_reg_adaboost(RegularizedExpLoss(K, [1.0, -1.0, 1.0, -1.0], 0.1)).objective == pytest.approx(1.0)


def test_too_few_rounds_are_told_of():
    with pytest.raises(SolverFailed, match="after 3 rounds"):
        solve_reg_adaboost(RegularizedExpLoss(KERNELS["stump"], Y, 0.01), max_rounds=3)


@pytest.mark.parametrize(("argument", "value"), [("tol", 0.0), ("max_rounds", 0)])
def test_bad_input_is_named(argument, value):
    with pytest.raises(InvalidInput) as error:
        solve_reg_adaboost(RegularizedExpLoss(KERNELS["stump"], Y, 0.01), **{argument: value})
    assert error.value.argument == argument
