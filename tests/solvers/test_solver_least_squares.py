"""Cholesky's answers against numpy's solution of the stated systems and against cvxpy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.datasets import make_twonorm
from cvxens.errors import SolverFailed
from cvxens.kernels import Stump
from cvxens.problems import SLSSVM, DenseColumns, RegularizedLeastSquares, StumpColumns, simplex_codes
from cvxens.solvers import solve_regularized_least_squares, solve_slssvm

X, Y = make_twonorm(30, 3, random_state=1)


def bordered(H, L, C):
    """W, b and U from the optimality conditions as one linear system: S U + 1 b' = L, 1'U = 0."""
    n = len(L)
    system = np.block([[H @ H.T + np.eye(n) / C, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([L, np.zeros((1, L.shape[1]))]))
    return H.T @ solved[:-1], solved[-1], solved[:-1]


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([1e-6, 0.1, 10.0, 1e4]))
def test_slssvm_solves_its_system(seed, n_classes, C):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(12, 4))
    L = simplex_codes(n_classes)[np.r_[np.arange(n_classes), rng.integers(0, n_classes, 12 - n_classes)]]
    problem = SLSSVM(H, L, C)
    solution = solve_slssvm(problem)
    W, b, U = bordered(H, L, C)
    scale = np.abs(U).max()
    assert_allclose(solution.variables["W"], W, atol=1e-8 * scale)
    assert_allclose(solution.variables["b"], b, atol=1e-8)
    assert_allclose(solution.duals["U"], U, atol=1e-8 * scale)
    error = L - H @ W - b
    assert solution.objective == pytest.approx((W**2).sum() / 2 + C / 2 * (error**2).sum(), rel=1e-9)
    assert problem.certify(solution).holds(1e-9)


@pytest.mark.product(n_classes=[2, 4], C=[1e-3, 1.0, 100.0])
def test_slssvm_equals_the_reference(n_classes, C):
    L = simplex_codes(n_classes)[np.arange(30) % n_classes]
    problem = SLSSVM(StumpColumns(X), L, C)
    solution = solve_slssvm(problem)
    assert solution.objective == pytest.approx(problem.solve().objective, rel=1e-6)
    assert problem.certify(solution).holds(1e-10)
    assert_allclose(solution.duals["U"].sum(axis=0), 0, atol=1e-10 * C)


def test_slssvm_of_two_classes_is_ridge_regression_of_the_labels():
    H, C = DenseColumns(X), 2.0
    solution = solve_slssvm(SLSSVM(H, Y[:, None], C))
    centred = X - X.mean(axis=0)
    w = np.linalg.solve(centred.T @ centred + np.eye(3) / C, centred.T @ Y)
    assert_allclose(solution.variables["W"][:, 0], w, rtol=1e-10)
    assert_allclose(solution.variables["b"], Y.mean() - X.mean(axis=0) @ w, rtol=1e-9)


@given(st.integers(0, 10**6), st.sampled_from([1e-9, 1e-3, 1.0, 1e6]), st.booleans())
def test_least_squares_solves_its_system(seed, gamma, real_targets):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(15, 2)), 2)
    y = 100 * rng.normal(size=15) if real_targets else np.where(np.arange(15) % 2, 1.0, -1.0)
    K = Stump()(X)
    problem = RegularizedLeastSquares(K, y, gamma)
    solution = solve_regularized_least_squares(problem)
    assert_allclose(solution.variables["c"], np.linalg.solve(K + 15 * gamma * np.eye(15), y), rtol=1e-5)
    assert problem.certify(solution).holds(1e-9)


@pytest.mark.parametrize("gamma", [1e-4, 0.1, 10.0])
def test_least_squares_equals_the_reference(gamma):
    problem = RegularizedLeastSquares(Stump()(X), Y, gamma)
    solution = solve_regularized_least_squares(problem)
    assert solution.objective == pytest.approx(problem.solve().objective, rel=1e-6)
    assert problem.certify(solution).holds(1e-12)


def test_duplicates_are_no_trouble_above_rounding():
    K = Stump()(np.repeat(X[:10], 2, axis=0))
    problem = RegularizedLeastSquares(K, Y[:20], 1e-9)
    assert problem.certify(solve_regularized_least_squares(problem)).holds(1e-9)


def test_a_penalty_lost_in_rounding_is_a_failure():
    K = np.outer(np.arange(1.0, 7), np.arange(1.0, 7))
    with pytest.raises(SolverFailed, match="Cholesky: singular"):
        solve_regularized_least_squares(RegularizedLeastSquares(K, [1.0, -1.0] * 3, 1e-300))
    with pytest.raises(SolverFailed, match="Cholesky: singular"):
        solve_slssvm(SLSSVM(np.arange(1.0, 7)[:, None], np.array([[1.0], [-1.0]] * 3), 1e300))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([1e-6, 1e-2, 10.0]))
def test_fitted_values_are_those_of_ridge_regression(seed, n_features, gamma):
    """TT06 (6) and (7), with m gamma of (5) for the gamma there."""
    A, y = np.split(np.random.default_rng(seed).normal(size=(9, n_features + 1)), [n_features], axis=1)
    K, y = A @ A.T, y[:, 0]
    ridge = len(y) * gamma
    c = solve_regularized_least_squares(RegularizedLeastSquares(K, y, gamma)).variables["c"]
    primal = A @ np.linalg.solve(A.T @ A + ridge * np.eye(n_features), A.T @ y)
    assert_allclose(K @ c, primal, atol=1e-7)
    assert_allclose(np.linalg.solve(K + ridge * np.eye(len(y)), K @ y), primal, atol=1e-7)
