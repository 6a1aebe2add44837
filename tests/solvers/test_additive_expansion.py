"""Machines with additive kernels at a low rank, against cvxpy and dense solvers that have the whole matrix."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cvxens.datasets import make_threenorm
from cvxens.estimators import RegAdaBoostClassifier, RhoSVC
from cvxens.estimators import expansions as module
from cvxens.kernels import DecisionStump, Gaussian, HistogramIntersection, MiddleStump, Stump
from cvxens.limits import limit_threads
from cvxens.problems import RegularizedExpLoss, RhoSVM
from cvxens.solvers import additive, solve_regularized_exp_loss, solve_rho_svm
from cvxens.solvers.additive import AdditiveKernel

KERNELS = {
    "middle stumps": lambda X: MiddleStump(X).prepare(X),
    "stumps": lambda X: (Stump().with_ranges_of(X), X),
    "decision stumps": lambda X: (DecisionStump().with_ranges_of(X), X),
    "histograms": lambda X: (HistogramIntersection(), X),
    "sum": lambda X: (2.0 * Stump().with_ranges_of(X) + HistogramIntersection(), X),
}


@given(st.sampled_from(sorted(KERNELS)), st.integers(2, 30), st.integers(1, 4), st.integers(0, 10**6))
def test_products_are_those_of_the_matrix_within_their_error(name, n, d, seed):
    random = np.random.default_rng(seed)
    kernel, X = KERNELS[name](np.round(10 * random.random((n, d)) + 0.01 * np.eye(n, d), 1))
    if not kernel.diag(X).any():
        return
    v, exact = random.normal(size=n), kernel(X, X)
    K = AdditiveKernel.from_kernel(kernel, X)
    product, errors = K.measure_scores(v)
    error = float(errors.max())
    assert error <= 1e-11 * np.abs(exact).max() * np.abs(v).sum()
    # the dense matrix has its own rounding
    slack = error + 1e-14 * n * np.abs(exact).max() * np.abs(v).sum()
    assert_allclose(product, exact @ v, rtol=0, atol=slack)
    assert_allclose(K @ v, exact @ v, rtol=0, atol=slack)
    chosen = np.arange(0, n, 2)
    assert_allclose(K.among(chosen) @ v[chosen], exact[np.ix_(chosen, chosen)] @ v[chosen], rtol=0, atol=slack)


def test_kernels_that_are_not_additive_have_no_such_matrix():
    assert AdditiveKernel.from_kernel(Gaussian(0.3), np.eye(3)) is None
    assert AdditiveKernel.from_kernel(lambda X, Z: X @ Z.T, np.eye(3)) is None


def make_whole(model, X):
    kernel = model.kernel_
    return kernel(X, X)


@pytest.mark.product(kernel=["middle-stump", "stump", "histogram-intersection"], rank=[1, 4])
def test_cvxpy_finds_the_same_optima_with_the_whole_matrix(kernel, rank):
    X, y = make_threenorm(40, 3, random_state=1)
    X -= X.min(axis=0)
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    options = {"kernel": kernel, "max_rank": rank, "tol": 1e-6}

    svm = RhoSVC(C=0.7, **options).fit(X, y, sample_weight=weights)
    K = make_whole(svm, X)
    # K = L L' to rounding
    values, vectors = np.linalg.eigh(K)
    L = vectors * np.sqrt(np.maximum(values, 0))
    u = cp.Variable(len(X), nonneg=True)
    ridge = 1 / (0.7 * weights)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(L.T @ cp.multiply(y, u)) + cp.sum_squares(cp.multiply(np.sqrt(ridge), u))),
        [cp.sum(u) == 1],
    )
    optimum = problem.solve(solver="CLARABEL")
    certificate = svm.certificate_
    assert certificate.holds(1e-6)
    slack = 1e-7 * optimum
    assert certificate.primal - slack <= optimum <= certificate.dual + slack
    assert svm.dual_weights_.sum() == pytest.approx(1)
    assert_allclose(svm.decision_function(X), K @ (y * svm.dual_weights_), rtol=1e-9)

    lam = 0.01 * float(np.diag(K).mean())
    model = RegAdaBoostClassifier(lam=lam, **options).fit(X, y, sample_weight=weights)
    w = cp.Variable(len(X))
    loss = (weights / weights.sum()) @ cp.exp(-cp.multiply(y, L @ w))
    optimum = cp.Problem(cp.Minimize(loss + lam * cp.sum_squares(w))).solve(solver="CLARABEL")
    certificate = model.certificate_
    assert certificate.holds(1e-6)
    slack = 1e-7 * optimum
    assert certificate.dual - slack <= optimum <= certificate.primal + slack
    assert_allclose(model.decision_function(X), K[:, model.support_] @ model.dual_coef_, rtol=1e-9, atol=1e-12)


def test_dense_solvers_find_the_same_functions_of_300_samples():
    X, y = make_threenorm(300, 5, random_state=2)
    svm = RhoSVC(max_rank=10).fit(X, y)
    K = make_whole(svm, X)
    assert svm.certificate_.holds(1e-4)
    ridge = float(np.diag(K).mean()) / 10
    problem = RhoSVM(K + ridge * np.eye(300), y)
    exact = solve_rho_svm(problem, 1e-8)
    assert problem.certify(exact).holds(1e-6)
    assert svm.certificate_.primal <= exact.objective * (1 + 1e-6)
    assert exact.objective <= svm.certificate_.dual * (1 + 1e-6)
    # the dual is strongly convex: ridge |u - u*|^2 is at most the gap
    assert ridge * ((svm.dual_weights_ - exact.duals["u"]) ** 2).sum() <= svm.certificate_.gap + 1e-6 * exact.objective

    model = RegAdaBoostClassifier(max_rank=10).fit(X, y)
    lam = 3e-4 * float(np.diag(K).mean())
    exact = solve_regularized_exp_loss(RegularizedExpLoss(K, y, lam), 1e-9)
    assert model.certificate_.holds(1e-4)
    assert model.certificate_.dual <= exact.objective * (1 + 1e-8)
    assert exact.objective <= model.certificate_.primal * (1 + 1e-8)
    assert_allclose(model.decision_function(X), K @ exact.variables["eta"], atol=0.02)


@pytest.mark.parametrize("estimator", [RhoSVC, RegAdaBoostClassifier])
def test_certificates_on_a_new_sample_are_of_the_exact_kernel(estimator):
    X, y = make_threenorm(90, 3, random_state=3)
    low, whole = (estimator(max_rank=rank).fit(X[:60], y[:60]) for rank in (4, 90))
    found, expected = low.certify(X[60:], y[60:]), whole.certify(X[60:], y[60:])
    assert found.dual == pytest.approx(expected.dual, rel=2e-3)
    assert found.primal == pytest.approx(expected.primal, rel=2e-2)


@pytest.mark.parametrize("kernel", ["middle-stump", "stump", "decision-stump", "histogram-intersection"])
def test_scores_of_many_samples_are_those_of_each(monkeypatch, kernel):
    X, y = make_threenorm(50, 3, random_state=4)
    X, new = np.abs(X), 3 * np.abs(make_threenorm(40, 3, random_state=5)[0])
    model = RhoSVC(kernel).fit(X, y)
    each = model.decision_function(new)
    monkeypatch.setattr(module, "BLOCK", 1)
    assert_allclose(model.decision_function(new), each, rtol=1e-9, atol=1e-12 * np.abs(each).max())


@pytest.mark.parametrize("estimator", [RhoSVC(max_rank=5), RegAdaBoostClassifier(max_rank=5)])
def test_one_and_two_threads_give_the_same_bits(monkeypatch, estimator):
    X, y = make_threenorm(60, 4, random_state=6)
    monkeypatch.setattr(additive, "WORTH_A_THREAD", 20)
    fits = []
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            model = estimator.fit(X, y)
            fits.append((model.dual_coef_, model.decision_function(X), model.certificate_.dual))
    for one, two in zip(*fits, strict=True):
        assert_array_equal(one, two)
