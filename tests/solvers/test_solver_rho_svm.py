"""Multiplicative updates and the active-set method against every support of small problems, and against cvxpy."""

from itertools import chain, combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from cvxens.datasets import make_twonorm
from cvxens.kernels import Stump
from cvxens.problems import RhoSVM
from cvxens.solvers import rho_svm as module
from cvxens.solvers import solve_rho_svm
from cvxens.solvers.rho_svm import finish_on_active_set, multiplicative_updates

X, Y = make_twonorm(40, 3, random_state=0)
SOFTENED = Stump()(X) + 0.01 * np.eye(40)


def least(Q):
    """Min u'Qu on the simplex: the best of the minima that its supports' linear systems give."""
    n, best = len(Q), np.inf
    for S in map(list, chain.from_iterable(combinations(range(n), k) for k in range(1, n + 1))):
        system = np.block([[Q[np.ix_(S, S)], np.ones((len(S), 1))], [np.ones((1, len(S))), np.zeros((1, 1))]])
        v = np.maximum(np.linalg.lstsq(system, np.r_[np.zeros(len(S)), 1.0], rcond=1e-12)[0][:-1], 0)
        best = min(best, v @ Q[np.ix_(S, S)] @ v / v.sum() ** 2) if v.sum() > 0 else best
    return best


@st.composite
def gram_matrices(draw):
    """Integer Gram matrices: often singular, with duplicates, zeros, and an optimum of 0."""
    shape = draw(st.tuples(st.integers(2, 6), st.integers(1, 4)))
    A = draw(arrays(np.float64, shape, elements=st.integers(-2, 3)))
    return A @ A.T


def positive_starts(n):
    entries = st.sampled_from([0.0, 1e-300, 2e-101, 1e-7, 1.1e-6, 1e-3, 0.3, 1.0])
    return arrays(np.float64, n, elements=entries).filter(np.any)


@pytest.mark.parametrize("least", [2e-7, 1e-6, 1.1e-6, 0.3])
def test_a_sample_without_a_size_is_the_optimum_by_itself(least):
    """Its entry of Q is 0, which no scale turns into 1; from some starts the active set went in a circle."""
    Q = np.array([[5.0, -1.0, -2.0, 0.0], [-1.0, 10.0, -1.0, 0.0], [-2.0, -1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    u = finish_on_active_set(Q, np.array([0.3, 1e-300, 0.001, least]))
    np.testing.assert_array_equal(u, [0.0, 0.0, 0.0, 1.0])


@given(st.data(), gram_matrices())
def test_active_set_reaches_the_optimum_from_any_start(data, Q):
    u = finish_on_active_set(Q, data.draw(positive_starts(len(Q))))
    assert u.min() >= 0
    assert u.sum() == pytest.approx(1)
    assert u @ Q @ u == pytest.approx(least(Q), rel=1e-9, abs=1e-11)


@given(gram_matrices(), st.sampled_from([0.0, 1e-6, 0.1, 1.0]))
def test_every_update_stays_on_the_simplex_falls_and_brackets(Q, ridge):
    Q = Q + ridge * np.eye(len(Q))
    optimum, start = least(Q), np.full(len(Q), 1 / len(Q))
    path = [multiplicative_updates(Q, start, 1e-9, updates) for updates in range(12)]
    values = [max(u @ Q @ u, 0.0) for u in path]  # of a singular matrix it may round to less than 0
    for u, value in zip(path, values, strict=True):
        assert u.min() > 0
        assert u.sum() == pytest.approx(1)
        margin = max((Q @ u).min(), 0.0)
        assert value >= optimum - 1e-12 * np.abs(Q).max()
        assert margin**2 <= value * (optimum + 1e-12 * np.abs(Q).max())
    assert all(later <= earlier + 1e-15 * np.abs(Q).max() for earlier, later in pairwise(values))


def test_updates_reach_a_gap_that_is_asked_for():
    Q = SOFTENED * np.outer(Y, Y)
    u = multiplicative_updates(Q, np.full(40, 1 / 40), 0.05, 5000)
    assert 0 < module.relative_gap(Q @ u, u @ Q @ u) <= 0.05


@pytest.mark.product(scale=[1e-6, 1.0, 1e6], ridge=[0.0, 0.01])
def test_equals_the_reference_at_every_scale(scale, ridge):
    K = Stump()(X) + ridge * np.eye(40)
    solution = solve_rho_svm(RhoSVM(scale * K, Y))
    problem = RhoSVM(K, Y)
    assert solution.objective / scale == pytest.approx(problem.solve().objective, rel=1e-6)
    assert problem.certify(u=solution.duals["u"], c=solution.variables["c"]).holds(1e-11)
    assert solution.variables["rho"] == pytest.approx(solution.objective, rel=1e-9)


def test_an_ill_scaled_diagonal_in_closed_form():
    diagonal = 10.0 ** np.linspace(-6, 6, 20)
    problem = RhoSVM(np.diag(diagonal), np.where(np.arange(20) % 3, 1.0, -1.0))
    solution = solve_rho_svm(problem)
    assert solution.objective == pytest.approx(1 / (1 / diagonal).sum(), rel=1e-12)
    assert_allclose(solution.duals["u"], solution.objective / diagonal, rtol=1e-9)


def test_duplicated_samples_share_the_weight_of_one():
    single = solve_rho_svm(RhoSVM(Stump()(X), Y))
    twice = solve_rho_svm(RhoSVM(Stump()(np.repeat(X, 2, axis=0)), np.repeat(Y, 2)))
    assert twice.objective == pytest.approx(single.objective, rel=1e-9)
    assert_allclose(twice.duals["u"].reshape(-1, 2).sum(axis=1), single.duals["u"], atol=1e-7)


TWICE = Stump()(np.repeat(X[:20], 2, axis=0))


@pytest.mark.parametrize(
    "K", [TWICE, 1e-6 * TWICE, 1e6 * TWICE, np.zeros((4, 4)), np.ones((4, 4)), np.diag([0.0, 1.0, 2.0, 3.0])]
)
def test_kernels_without_a_margin_have_the_optimum_0(K):
    problem, rounding = RhoSVM(K, np.resize([1.0, -1.0], len(K))), 1e-13 * max(float(K.max()), 1e-6)
    solution = solve_rho_svm(problem)
    assert solution.objective == pytest.approx(0, abs=rounding)
    assert problem.certify(solution).dual == pytest.approx(0, abs=rounding)
    assert solution.duals["u"].sum() == pytest.approx(1)


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-0.99, 0.99))
def test_two_samples_in_closed_form(a, b, correlation):
    across = correlation * np.sqrt(a * b)
    u = np.clip((b + across) / (a + b + 2 * across), 0, 1)
    expected = a * u**2 + b * (1 - u) ** 2 - 2 * across * u * (1 - u)
    solution = solve_rho_svm(RhoSVM([[a, across], [across, b]], [1.0, -1.0]))
    assert solution.duals["u"].sum() == pytest.approx(1)
    assert solution.objective == pytest.approx(min(expected, a, b), rel=1e-9)


def test_the_take_over_may_come_at_once():
    problem = RhoSVM(SOFTENED, Y)
    early, late = solve_rho_svm(problem, warm_gap=1.0), solve_rho_svm(problem, warm_gap=1e-3)
    assert early.objective == pytest.approx(late.objective, rel=1e-9)
    none = solve_rho_svm(problem, max_updates=0)
    assert none.objective == pytest.approx(late.objective, rel=1e-9)
