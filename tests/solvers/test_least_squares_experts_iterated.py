"""Conjugate gradients against the closed form of every expert."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor

from cvxens.datasets import make_twonorm
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.kernels import Gaussian, TreeEnsemble
from cvxens.solvers import conjugate_gradients, draw_members, iterated_least_squares_experts, least_squares_experts
from cvxens.solvers import experts as iterated

X, Y = make_twonorm(300, 3, random_state=1)
TARGETS = np.stack([Y, X[:, 0], np.zeros(300)], axis=1)
MEMBERS = draw_members(300, 18, (0.5, 0.9), random_state=0)
FOREST = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0] * X[:, 1])


@pytest.mark.parametrize("gamma", [1e-5, 1e-3, 1.0])
@pytest.mark.parametrize("kind", ["leaf", "depth"])
def test_experts_with_the_kernel_of_a_forest_are_those_of_the_closed_form(kind, gamma):
    kernel = TreeEnsemble(FOREST, kind)
    found = iterated_least_squares_experts(kernel.unwritten(X), TARGETS, gamma, MEMBERS)
    expected = least_squares_experts(kernel(X), TARGETS, gamma, MEMBERS)
    size = np.abs(expected.coefficients).max()
    assert_allclose(found.coefficients, expected.coefficients, atol=1e-5 * size)
    assert_array_equal(found.coefficients[~MEMBERS], 0)
    for ours, theirs in zip(found.certificates, expected.certificates, strict=True):
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-10)
        assert ours.holds(1e-10)
        assert ours.gap - ours.rounding <= 1e-11 * ours.primal


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from([1e-3, 1.0, 1e4]), st.booleans())
def test_any_matrix_with_ties_and_any_number_of_outputs(seed, n_outputs, gamma, tied):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 2)).round(0 if tied else 9)
    K, targets, members = Gaussian(1.0)(points), rng.normal(size=(12, n_outputs)), draw_members(12, 4, (0.3, 1.0), rng)
    found = iterated_least_squares_experts(K, targets, gamma, members)
    expected = least_squares_experts(K, targets, gamma, members).coefficients
    assert_allclose(found.coefficients, expected, atol=1e-5 * np.abs(expected).max())
    assert found.certificate.holds(1e-10)


def test_a_poor_preconditioner_costs_steps_only(monkeypatch):
    K = TreeEnsemble(FOREST, "ancestors").unwritten(X)
    known = iterated_least_squares_experts(K, Y, 1e-3, MEMBERS)
    monkeypatch.setattr(iterated, "RANK", 2)
    unknown = iterated_least_squares_experts(K, Y, 1e-3, MEMBERS)
    assert_allclose(unknown.coefficients, known.coefficients, atol=1e-5 * np.abs(known.coefficients).max())
    assert unknown.certificate.holds(1e-11)


def test_the_factor_is_below_the_matrix_and_exact_where_it_is_known():
    K = TreeEnsemble(FOREST, "depth")(X)
    L = iterated.factor_by_nystroem(K, 50)
    left_out = K - L @ L.T
    assert np.linalg.eigvalsh(left_out).min() > -1e-9 * np.abs(K).max()
    assert (np.abs(left_out).max(axis=0) < 1e-9 * np.abs(K).max()).sum() >= 50
    whole = iterated.factor_by_nystroem(K, 300)
    assert_allclose(whole @ whole.T, K, atol=1e-9 * np.abs(K).max())


def test_preconditioning_is_the_inverse_of_what_is_known():
    L = np.random.default_rng(0).normal(size=(300, 5))
    R = MEMBERS[:, :2].repeat(3, axis=1) * np.random.default_rng(1).normal(size=(300, 6))
    found = iterated.Systems.from_members(L, 0.1, MEMBERS[:, :2], 3).precondition(R)
    for k, rows in enumerate(MEMBERS[:, :2].repeat(3, axis=1).T):
        system = rows.sum() * 0.1 * np.eye(rows.sum()) + L[rows] @ L[rows].T
        assert_allclose(found[rows, k], np.linalg.solve(system, R[rows, k]), rtol=1e-9, atol=1e-12)
        assert_array_equal(found[~rows, k], 0)


def test_a_kernel_that_is_zero():
    experts = iterated_least_squares_experts(np.zeros((300, 300)), Y, 0.01, MEMBERS)
    sizes = MEMBERS.sum(axis=0)
    assert_allclose(experts.coefficients[:, :, 0], MEMBERS * Y[:, None] / (0.01 * sizes))


@pytest.mark.parametrize("solve", [iterated_least_squares_experts, least_squares_experts])
def test_threads_change_nothing(solve):
    K = TreeEnsemble(FOREST, "depth")(X)
    before = K.copy()
    one, two = (solve(K, TARGETS, 1e-3, MEMBERS, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.coefficients, two.coefficients)
    assert_array_equal(K, before)


def test_systems_are_solved_as_far_as_asked(monkeypatch):
    monkeypatch.setattr(iterated, "RANK", 2)
    K = TreeEnsemble(FOREST, "depth").unwritten(X)
    for tol in (1e-2, 1e-4, 1e-7):
        experts = iterated_least_squares_experts(K, Y, 1e-3, MEMBERS, tol=tol)
        assert tol / 100 < experts.certificate.relative_gap <= 1.01 * tol


def test_too_few_steps_are_a_failure(monkeypatch):
    monkeypatch.setattr(conjugate_gradients, "MAX_STEPS", 1)
    monkeypatch.setattr(iterated, "RANK", 2)
    with pytest.raises(SolverFailed, match=r"relative gap .* after 1 steps: give a larger gamma"):
        iterated_least_squares_experts(TreeEnsemble(FOREST, "depth").unwritten(X), Y, 1e-6, MEMBERS)


@pytest.mark.parametrize("rank", [2, 300])
def test_matrices_that_are_not_psd(rank, monkeypatch):
    monkeypatch.setattr(iterated, "RANK", rank)
    with pytest.raises(InvalidInput, match=r"^K: found a kernel matrix that is not PSD"):
        iterated_least_squares_experts(np.eye(300) - np.ones((300, 300)) / 10, X[:, 0] + 9, 1e-6, MEMBERS)
