"""The kernel machines without an intercept against the solvers, and what their kernels say of new samples."""

import numpy as np
import pytest
from estimator_samples import called, three_classes, two_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from cvxens import PartialSVMEnsembleClassifier, RegAdaBoostClassifier, RhoSVC
from cvxens.errors import InvalidInput
from cvxens.kernels import Gaussian, Laplacian, MiddleStump, Stump
from cvxens.problems import RegularizedExpLoss, RhoSVM
from cvxens.solvers import partial_svms, solve_regularized_exp_loss, solve_rho_svm

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(updates have ended|low-rank kernel leaves out):sklearn.exceptions.ConvergenceWarning"
)
"""Few updates or pivots are all that some of these tests want."""

X, Y = two_classes()
SIGNS = np.where(Y == "yes", 1.0, -1.0)
NEW, _ = two_classes(30, random_state=7)

EVERY = [RhoSVC(), PartialSVMEnsembleClassifier(), RegAdaBoostClassifier()]
NAMES = ["middle-stump", "stump", "decision-stump", "perceptron", "decision-tree", "laplacian", "gaussian"]


@pytest.mark.thinned(2, kernel=[MiddleStump(X), Gaussian(0.3)], C=[0.01, 1.0, 100.0])
@pytest.mark.parametrize("weights", [np.ones(len(X)), np.random.default_rng(0).uniform(0.2, 3.0, len(X))])
def test_the_rho_svm_is_that_of_the_problem(kernel, C, weights):
    K = kernel(X)
    solution = solve_rho_svm(RhoSVM(K + np.diag(1 / (C * weights)), SIGNS))
    fast, reference = (
        RhoSVC(kernel, C=C, tol=1e-9, solver=solver).fit(X, Y, sample_weight=weights)
        for solver in ("fast", "reference")
    )
    expected = K @ (SIGNS * solution.duals["u"])
    assert fast.certificate_.primal == pytest.approx(solution.objective, rel=1e-6)
    assert fast.certificate_.holds(1e-6)
    assert reference.certificate_.holds(1e-8)
    np.testing.assert_allclose(fast.decision_function(X), expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(reference.decision_function(X), expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(fast.dual_weights_, reference.dual_weights_, atol=1e-5)


def test_the_margin_is_that_of_squared_slacks():
    """With xi = u / C every margin y f + xi is at least rho, and equal to it where u > 0."""
    model = RhoSVC(C=0.1, tol=1e-10).fit(X, Y)
    u = model.dual_weights_
    margins = SIGNS * model.decision_function(X) + u / 0.1
    assert u.sum() == pytest.approx(1)
    assert margins.min() == pytest.approx(model.certificate_.primal, rel=1e-4)
    np.testing.assert_allclose(margins[u > 1e-6], margins.min(), rtol=1e-3)


@pytest.mark.parametrize(("C", "ridge"), [(50.0, 0.02), (np.inf, 0.0), (None, 0.1)])
def test_the_ensemble_of_partial_svms_is_that_of_the_updates(C, ridge):
    K = Gaussian(0.3)(X)
    expected = partial_svms(K + ridge * np.eye(len(X)), SIGNS, max_updates=8)
    with pytest.warns(ConvergenceWarning, match="updates have ended after 8 hypotheses.*raise max_updates"):
        model = PartialSVMEnsembleClassifier(Gaussian(0.3), C=C, max_updates=8).fit(X, Y)
    assert [row.relative_gap for row in model.history_] == pytest.approx(expected.gaps.tolist(), abs=1e-6)
    np.testing.assert_allclose([row.weight for row in model.history_], expected.weights, rtol=1e-5)
    np.testing.assert_allclose(model.decision_function(NEW), Gaussian(0.3)(NEW, X) @ expected.coefficients, atol=1e-6)
    np.testing.assert_allclose(model.dual_weights_, np.abs(expected.coefficients), atol=1e-6)
    # of the hard margin the ensemble is certified, at the price of its updates; else the SVM after them
    assert (model.certificate_.relative_gap == pytest.approx(expected.gaps[-1], abs=1e-6)) == (ridge > 0)


def test_updates_are_limited():
    with pytest.warns(ConvergenceWarning, match="updates have ended after 3 hypotheses.*raise max_updates"):
        history = PartialSVMEnsembleClassifier(max_updates=3).fit(X, Y).history_
    assert [row.weight > 0 for row in history] == [True, True, True, False]


def test_the_hard_margin_ensemble_of_tk07_by_its_formulas():
    """Section 4.2: beta is the mean squared distance to the mean; sections 2.3 and 3.2: epsilon, and f_1, ..., f_T."""
    beta = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    K, rows = (np.exp(-((A[:, None] - X) ** 2).sum(axis=2) / beta) for A in (X, NEW))
    expected = partial_svms(K, SIGNS)
    model = PartialSVMEnsembleClassifier("gaussian", gamma="variance").fit(X, Y)
    # the roundings of the factor grow from update to update
    first = [row.weight for row in model.history_[:12]]
    np.testing.assert_allclose(first, expected.weights[:12], rtol=1e-3)
    assert 0.8 < len(model.history_) / (expected.n_hypotheses + 1) < 1.25
    np.testing.assert_allclose(model.decision_function(NEW), rows @ expected.coefficients, atol=5e-3)
    longer = PartialSVMEnsembleClassifier("gaussian", gamma="variance", epsilon=0.2, least_epsilon=1e-3).fit(X, Y)
    assert longer.history_[-1].objective < model.history_[-1].objective
    with pytest.warns(ConvergenceWarning, match="low-rank kernel leaves out too much"):
        PartialSVMEnsembleClassifier("gaussian", gamma="variance", max_rank=3).fit(X, Y)


def test_a_gamma_by_the_variance_counts_weights_and_is_of_the_gaussian_alone():
    weights = np.arange(len(X)) % 3
    repeated = RhoSVC("gaussian", gamma="variance").fit(X.repeat(weights, axis=0), Y.repeat(weights))
    weighted = RhoSVC("gaussian", gamma="variance").fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-4)
    for kernel, gamma in (("laplacian", "variance"), ("gaussian", "scale")):
        with pytest.raises(InvalidInput, match="gamma"):
            RhoSVC(kernel, gamma=gamma).fit(X, Y)


@pytest.mark.product(kernel=[MiddleStump(X), Laplacian(0.5)], lam=[1e-3, 0.1])
def test_regadaboost_is_that_of_the_problem(kernel, lam):
    problem = RegularizedExpLoss(kernel(X), SIGNS, lam)
    eta = solve_regularized_exp_loss(problem).variables["eta"]
    model = RegAdaBoostClassifier(kernel, lam=lam, tol=1e-9).fit(X, Y)
    assert model.certificate_.primal == pytest.approx(problem.value({"eta": eta}), rel=1e-7)
    assert model.certificate_.holds(1e-6)
    np.testing.assert_allclose(model.decision_function(NEW), kernel(NEW, X) @ eta, atol=1e-3)
    np.testing.assert_allclose(model.dual_weights_, np.exp(-SIGNS * (kernel(X) @ eta)) / len(X), atol=1e-4)


def test_boosting_as_printed_gets_to_the_same_optimum():
    one, two = (
        RegAdaBoostClassifier(Laplacian(0.5), lam=0.05, tol=1e-6, solver=solver).fit(X, Y)
        for solver in ("fast", "boosting")
    )
    assert one.certificate_.holds(1e-5)
    assert two.certificate_.holds(1e-6)
    np.testing.assert_allclose(one.decision_function(NEW), two.decision_function(NEW), atol=1e-2)


def test_boosting_as_printed_may_fall_short():
    model = RegAdaBoostClassifier(solver="boosting", lam=1e-12, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="boosting has ended; the relative gap is"):
        model.fit(X, Y)
    assert model.certificate_.relative_gap > 0.1


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_certificates_of_low_rank_are_of_the_exact_kernel(estimator):
    """A few pivots prove a wider gap, around the same optimum."""
    full = clone(estimator).set_params(kernel=Gaussian(0.3), tol=1e-6)
    if isinstance(full, PartialSVMEnsembleClassifier):
        full.set_params(C=1.0, least_epsilon=1e-4)
    full.fit(X, Y)
    low = clone(full).set_params(max_rank=8).fit(X, Y)
    assert len(low.dual_coef_) == 8
    assert low.certificate_.proven
    assert low.certificate_.relative_gap > full.certificate_.relative_gap
    slack = 1e-9 + full.certificate_.gap
    bounds = sorted([low.certificate_.primal, low.certificate_.dual])
    assert bounds[0] - slack <= full.certificate_.primal <= bounds[1] + slack
    assert low.score(X, Y) > 0.8


@pytest.mark.thinned(1, estimator=EVERY, kernel=NAMES)
def test_every_kernel_scores_samples_outside_its_ranges(estimator, kernel):
    model = clone(estimator).set_params(kernel=kernel).fit(X, Y)
    far = np.array([[99.0, 99.0, 0.0], [-99.0, -99.0, 0.0]])
    assert model.score(X, Y) > 0.85
    assert np.isfinite(model.decision_function(far)).all()
    if kernel not in {"laplacian", "gaussian"}:
        assert list(model.predict(far)) == ["yes", "no"]


def test_samples_outside_are_judged_as_the_nearest_inside():
    model = RhoSVC("stump").fit(X, Y)
    corner = X.max(axis=0, keepdims=True)
    np.testing.assert_array_equal(model.decision_function(corner + 5.0), model.decision_function(corner))


@pytest.mark.parametrize("kernel", [lambda A, B: rbf_kernel(A, B, gamma=0.3), Stump((-9.0,) * 3, (9.0,) * 3)])
def test_kernels_of_ones_own(kernel):
    model = RhoSVC(kernel).fit(X, Y)
    expected = np.asarray(kernel(NEW, X[model.support_])) @ model.dual_coef_
    np.testing.assert_allclose(model.decision_function(NEW), expected)


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_scaling_features_changes_nothing_by_default(estimator):
    scale = np.array([1e-3, 1.0, 1e4])
    one, other = clone(estimator).fit(X, Y), clone(estimator).fit(X * scale, Y)
    np.testing.assert_allclose(other.decision_function(NEW * scale), one.decision_function(NEW), rtol=1e-5, atol=1e-8)


def test_probabilities_of_regadaboost():
    model = RegAdaBoostClassifier().fit(X, Y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), 2 * model.decision_function(X))
    three = RegAdaBoostClassifier().fit(*three_classes())
    p = three.predict_proba(X[:, :2])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), three.predict(X[:, :2]))
