"""The ensemble of partially trained SVMs against its definition, hypothesis by hypothesis."""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cvxens.datasets import make_twonorm
from cvxens.kernels import Stump
from cvxens.problems import RhoSVM
from cvxens.solvers import adaptive_updates, incomplete_cholesky, partial_svms, solve_rho_svm
from cvxens.solvers.rho_svm import combine_updates, uniform
from reproduction.tk07_figure1 import fixed_updates

X, Y = make_twonorm(50, 3, random_state=1)
KERNEL = Stump(X.min(axis=0) - 1, X.max(axis=0) + 1)
K = KERNEL(X) + 0.05 * np.eye(50)


def test_it_is_the_weighted_sum_of_the_hypotheses_that_an_update_follows():
    *updates, svm = adaptive_updates((K * np.outer(Y, Y)).__matmul__, uniform(50))
    ensemble, rows = partial_svms(K, Y), KERNEL(X[:7], X)
    scores = [rows @ (Y * update.u) for update in updates]
    expected = np.average(scores, axis=0, weights=[update.eta for update in updates])
    assert ensemble.n_hypotheses == len(updates) > 5
    assert_allclose(ensemble.decision_function(rows), expected, rtol=1e-9)
    assert_allclose(ensemble.last, Y * svm.u)
    assert np.abs(ensemble.coefficients).sum() == pytest.approx(1)
    assert (ensemble.weights[:-1] > 0).all()
    assert ensemble.weights[-1] == 0


@pytest.mark.parametrize("max_updates", [1, 5, 100])
def test_the_ensemble_is_the_mirror_descent_of_a_soft_minimum(max_updates):
    """Its gap there, by both objectives, is 1/A times the relative entropy of its u to the last one."""
    ensemble = partial_svms(K, Y, max_updates=max_updates)
    u, last, A = np.abs(ensemble.coefficients), np.abs(ensemble.last), ensemble.price
    z = Y * (K @ ensemble.coefficients)
    assert_allclose(last, np.exp(-A * z) / np.exp(-A * z).sum(), rtol=1e-6)
    primal = -np.log(np.exp(-A * z).mean()) / A - u @ z / 2
    dual = u @ z / 2 + (u * np.log(50 * u)).sum() / A
    assert dual - primal == pytest.approx((u * np.log(u / last)).sum() / A, rel=1e-6, abs=1e-12)
    # and the dual value at any u is no less than the primal one at any w, such as those of the svm
    q = Y * (K @ ensemble.last)
    assert last @ q / 2 + (last * np.log(50 * last)).sum() / A >= primal
    assert partial_svms(np.zeros((50, 50)), Y).price == 0.0


def test_the_parzen_window_is_first_and_the_hard_margin_svm_last():
    ensemble, optimum = partial_svms(K, Y, least_epsilon=1e-8), solve_rho_svm(RhoSVM(K, Y))
    assert_allclose(ensemble.first, Y / 50)
    assert ensemble.gaps[-1] <= 1e-3
    assert_allclose(ensemble.last, Y * optimum.duals["u"], atol=1e-2)
    assert optimum.objective <= ensemble.values[-1] <= optimum.objective * 1.001


def test_a_gap_that_is_wide_ends_the_updates_before():
    ensemble = partial_svms(K, Y, tol=0.3)
    assert ensemble.gaps[-1] <= 0.3 < ensemble.gaps[-2]
    assert ensemble.n_hypotheses < partial_svms(K, Y).n_hypotheses


def test_the_objective_falls_and_the_bound_is_kept():
    ensemble = partial_svms(K, Y)
    assert (np.diff(ensemble.values) < 0).all()
    assert ensemble.n_hypotheses <= ensemble.bound < np.inf


def test_a_low_rank_kernel_gives_the_same_where_it_is_exact():
    low_rank = incomplete_cholesky(KERNEL, X, rank=50, tol=1e-14).softened(0.05)
    dense, factored = partial_svms(K, Y, max_updates=6), partial_svms(low_rank, Y, max_updates=6)
    assert_allclose(factored.coefficients, dense.coefficients, atol=1e-6)


def test_a_limit_on_updates_and_a_stall():
    assert partial_svms(K, Y, max_updates=3).n_hypotheses == 3
    alone = partial_svms(np.zeros((50, 50)), Y)
    assert alone.n_hypotheses == 1
    assert_allclose(alone.coefficients, Y / 50)
    assert alone.bound == np.inf


def test_hypotheses_of_fixed_updates_weigh_alike():
    updates = islice(fixed_updates((K * np.outer(Y, Y)).__matmul__, uniform(50), 0.05), 10)
    ensemble = combine_updates(updates, Y)
    assert_allclose(ensemble.weights, [0.05] * 9 + [0.0])
    assert ensemble.bound == np.inf
