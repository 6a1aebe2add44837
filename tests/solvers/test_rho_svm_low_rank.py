"""Incomplete Cholesky against its definition, and the low-rank rho-SVM against the dense one, approximate and exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from cvxens.datasets import make_threenorm
from cvxens.kernels import Stump
from cvxens.problems import RhoSVM
from cvxens.solvers import incomplete_cholesky, solve_low_rank_rho_svm, solve_rho_svm
from cvxens.solvers.rho_svm import certificates


def gaussian(X, Z):
    return np.exp(-0.1 * cdist(X, Z, "sqeuclidean"))


def dense(K):
    return K @ np.eye(K.shape[0])


@st.composite
def samples(draw):
    """Rounded threenorm, with ties and duplicates."""
    n, d = draw(st.integers(4, 30)), draw(st.integers(1, 4))
    X, y = make_threenorm(n, d, random_state=draw(st.integers(0, 10**6)))
    return np.round(X, draw(st.integers(0, 1))), y


X, Y = make_threenorm(300, 4, random_state=0)


@given(samples(), st.integers(1, 30))
def test_the_residual_is_PSD_and_0_at_the_pivots(sample, rank):
    X, _ = sample
    exact, low_rank = gaussian(X, X), incomplete_cholesky(gaussian, X, rank)
    E = exact - low_rank.G @ low_rank.G.T
    assert low_rank.rank <= min(rank, len(np.unique(X, axis=0)))
    assert_allclose(E[low_rank.pivots], 0, atol=1e-7)
    assert_allclose(np.diag(E), low_rank.residual, atol=1e-7)
    assert np.linalg.eigvalsh(E).min() >= -1e-7
    assert low_rank.trace == pytest.approx(np.trace(E), abs=1e-6)
    assert_allclose(np.triu(low_rank.G[low_rank.pivots], 1), 0)


def test_a_kernel_of_low_rank_is_found_out():
    low_rank = incomplete_cholesky(lambda X, Z: X @ Z.T, X, rank=50)
    assert low_rank.rank == 4
    assert_allclose(dense(low_rank), X @ X.T, atol=1e-9)
    assert_allclose(low_rank.diagonal, np.diag(X @ X.T), atol=1e-9)


def test_no_block_is_larger_than_a_column_or_the_diagonal_needs():
    shapes = []

    def recording(X, Z):
        shapes.append((len(X), len(Z)))
        return gaussian(X, Z)

    incomplete_cholesky(recording, X, rank=20)
    assert sum(a * b for a, b in shapes) <= len(X) * (64 + 20)
    assert max(a * b for a, b in shapes) <= max(len(X), 64 * 64)


def test_coefficients_on_the_pivots_give_the_same_scores():
    low_rank, c = incomplete_cholesky(gaussian, X, rank=30), np.linspace(-1, 1, 300)
    by_pivots = gaussian(X, X[low_rank.pivots]) @ low_rank.on_pivots(c)
    assert_allclose(by_pivots, low_rank @ c, atol=1e-7)


@given(samples(), st.integers(1, 12), st.sampled_from([0.01, 0.3, 3.0]))
def test_equals_the_dense_solver_and_bounds_the_exact_optimum(sample, rank, ridge):
    X, y = sample
    low_rank = incomplete_cholesky(gaussian, X, rank).softened(ridge)
    svm = solve_low_rank_rho_svm(low_rank, y, tol=1e-10)
    by_dense = solve_rho_svm(RhoSVM(dense(low_rank), y))
    exact = solve_rho_svm(RhoSVM(gaussian(X, X) + ridge * np.eye(len(y)), y)).objective
    assert svm.certificate.holds(1e-9)
    assert svm.certificate.dual == pytest.approx(by_dense.objective, rel=1e-8)
    assert_allclose(svm.u, by_dense.duals["u"], atol=1e-6)
    assert svm.exact_certificate.primal <= exact * (1 + 1e-9)
    assert svm.exact_certificate.dual >= exact * (1 - 1e-9)
    assert svm.exact_certificate.dual <= svm.certificate.dual + low_rank.trace + 1e-12


@given(samples(), st.integers(1, 12), st.integers(0, 10**6))
def test_any_u_is_certified_for_both_kernels(sample, rank, seed):
    X, y = sample
    low_rank = incomplete_cholesky(gaussian, X, rank).softened(0.1)
    u = np.random.default_rng(seed).dirichlet(np.full(len(y), 0.3))
    own, exact = certificates(low_rank, y, u)
    assert own.primal * (1 - 1e-9) <= solve_rho_svm(RhoSVM(dense(low_rank), y)).objective <= own.dual * (1 + 1e-9)
    assert exact.primal * (1 - 1e-9) <= solve_rho_svm(RhoSVM(gaussian(X, X) + 0.1 * np.eye(len(y)), y)).objective
    Q = gaussian(X, X) * np.outer(y, y) + 0.1 * np.eye(len(y))
    assert u @ Q @ u <= exact.dual * (1 + 1e-9)


def test_without_a_ridge_updates_do_it_all():
    y = np.sign(X[:, 0])
    low_rank = incomplete_cholesky(Stump(X.min(axis=0), X.max(axis=0)), X, rank=60)
    svm = solve_low_rank_rho_svm(low_rank, y, tol=0.5, max_updates=400)
    assert svm.n_newton_steps == 0
    assert 0 < svm.n_updates <= 400
    assert svm.certificate.primal <= solve_rho_svm(RhoSVM(dense(low_rank), y)).objective <= svm.certificate.dual


@pytest.mark.parametrize("tol", [1e-12, 1e-300])
def test_newton_needs_no_updates_and_few_steps_also_where_it_stalls(tol):
    low_rank = incomplete_cholesky(gaussian, X, rank=60).softened(0.5)
    svm = solve_low_rank_rho_svm(low_rank, Y, tol=tol, max_updates=0)
    assert svm.n_updates == 0
    assert 0 < svm.n_newton_steps < 20
    assert svm.certificate.holds(1e-9)
    assert svm.certificate.gap - svm.certificate.rounding <= 1e-12 * svm.certificate.dual


def test_more_rank_brings_the_exact_optimum_nearer():
    gaps = [
        solve_low_rank_rho_svm(incomplete_cholesky(gaussian, X, rank).softened(0.5), Y).exact_certificate.gap
        for rank in (20, 80, 300)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-6
