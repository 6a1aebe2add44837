"""Certificates of the boosting and kernel peers on any sample, against their problems as cvxpy solves them."""

from itertools import pairwise, product

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, linear_program
from estimator_samples import BY_MARGINS, EVERY, FEW, assert_optimal, called, three_classes, two_classes
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from cvxens import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    PartialSVMEnsembleClassifier,
    RegAdaBoostClassifier,
    RhoSVC,
)
from cvxens.errors import InvalidInput
from cvxens.estimators.expansions import evaluate_rho_svm
from cvxens.kernels import DecisionStump, Gaussian, Laplacian, MiddleStump, Perceptron, Stump
from cvxens.problems import HardMarginBoosting, RegularizedExpLoss, RhoSVM, Signed, StumpColumns, SVMDual

pytestmark = FEW

X, Y = two_classes()
SIGNS = np.where(Y == "yes", 1.0, -1.0)
NEW, NEW_Y = two_classes(30, random_state=7)
NEW_SIGNS = np.where(NEW_Y == "yes", 1.0, -1.0)

PEERS = [
    AdaBoostClassifier(n_rounds=20),
    RhoSVC(Gaussian(0.3)),
    PartialSVMEnsembleClassifier(Gaussian(0.3), C=10.0),
    RegAdaBoostClassifier(Gaussian(0.3)),
    InfiniteEnsembleSVC(C=0.1),
]
BOX = (-9.0,) * 3, (9.0,) * 3


def codes_of_stumps(X, n_classes):
    """The votes (n_samples, n_columns, n_classes) of all middle stumps and the constant with all codes."""
    codes = np.array(list(product((-1.0, 1.0), repeat=n_classes)))
    return np.einsum("ij,ck->ijck", all_stumps(X), codes).reshape(len(X), -1, n_classes)


def pairs_of_labels(votes, y):
    own = np.where(y[:, None] == np.arange(votes.shape[2]), 1.0, -1.0)
    return (own[:, :, None] * votes.transpose(0, 2, 1)).reshape(-1, votes.shape[1])


def pairs_of_differences(votes, y):
    own = np.take_along_axis(votes, y[:, None, None], axis=2)
    return ((own - votes) / 2).transpose(0, 2, 1)[y[:, None] != np.arange(votes.shape[2])]


@pytest.mark.parametrize("y", [SIGNS, np.sign(X[:, 0] + 0.05)])
def test_adaboost_against_the_largest_hard_margin(y):
    model = AdaBoostClassifier(n_rounds=60).fit(X, y)
    certificate = model.certify(X, y)
    best = 1 / HardMarginBoosting(Signed(StumpColumns(X)), y).solve().objective
    assert certificate.primal == pytest.approx(model.certificate_.primal)
    assert best * (1 - 1e-9) <= certificate.dual <= best * (1 + 1e-3)
    assert certificate.primal <= best * (1 + 1e-9)
    assert certificate.proven


def test_adaboost_with_weights_from_anywhere():
    model = AdaBoostClassifier(n_rounds=60).fit(X, Y)
    optimal = HardMarginBoosting(np.column_stack([h(X) for h in model.weak_learners_]), SIGNS).solve()
    best = model.certify(X, Y, weights=optimal.variables["w"])
    assert best.primal == pytest.approx(1 / optimal.objective, rel=1e-6)
    assert best.primal >= model.certify(X, Y).primal
    turned = model.certify(X, Y, weights=-model.weights_)
    assert turned.primal < 0
    assert turned.gap > best.gap


def test_an_ensemble_that_does_not_separate_has_its_smallest_margin():
    """Its bound is from even weights alone: the largest edge under them is above any margin."""
    model = AdaBoostClassifier(n_rounds=2).fit(X, Y)
    certificate = model.certify(X, Y)
    edge = np.abs(SIGNS @ np.column_stack([StumpColumns(X).scores(w) for w in np.eye(StumpColumns(X).shape[1])])).max()
    f = model.weights_ @ np.stack([h(X) for h in model.weak_learners_])
    assert certificate.primal == pytest.approx((SIGNS * f).min() / np.abs(model.weights_).sum())
    assert certificate.primal < 0
    assert certificate.dual == pytest.approx(edge / len(X))
    assert certificate.proven
    same = np.zeros((4, 3)) + np.arange(4)[:, None] // 2
    assert 0 <= model.certify(same, ["no", "yes", "no", "yes"]).dual < 1e-9


@pytest.mark.parametrize("oracle", ["trees", "perceptrons"])
def test_weak_learners_whose_edges_nobody_can_bound(oracle):
    model = AdaBoostClassifier(oracle, n_rounds=10, random_state=0).fit(X, Y)
    certificate = model.certify(X, Y)
    assert certificate.primal == pytest.approx(model.certificate_.primal)
    assert (certificate.dual, certificate.proven) == (np.inf, False)


@pytest.mark.parametrize(
    ("estimator", "pairs_of"),
    [(AdaBoostMHClassifier(n_rounds=60), pairs_of_labels), (AdaBoostECCClassifier(n_rounds=60), pairs_of_differences)],
    ids=["MH", "ECC"],
)
def test_several_classes_against_the_largest_hard_margin_over_all_codes(estimator, pairs_of):
    Z = three_classes()[0]
    y = np.digitize(Z[:, 0], [-0.5, 0.5])
    model = clone(estimator).fit(Z, y)
    margins = pairs_of(codes_of_stumps(Z, 3), y)
    best = 1 / linear_program(margins, np.ones(len(margins)), slack=None, one_sided=True)
    certificate = model.certify(Z, y)
    assert best * (1 - 1e-9) <= certificate.dual <= best * (1 + 1e-3)
    assert best * (1 + 1e-9) >= certificate.primal >= model.certificate_.primal * (1 - 1e-9)
    assert certificate.proven
    votes = np.random.default_rng(0).normal(size=model.weights_.shape)
    assert model.certify(Z, y, weights=model.weights_ + 1e-3 * votes).primal <= best * (1 + 1e-9)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_codes_of_the_largest_vote_make_any_votes(w):
    """Votes W with max |W_k| = 1 are a convex combination of codes, of no fewer: sort them, and cut between."""
    w = np.array(w)
    w = w / max(np.abs(w).max(), 0.1)
    levels = np.concatenate([[-1.0], np.sort(w), [1.0]])
    codes = np.array([np.where(w >= (a + b) / 2, 1.0, -1.0) for a, b in pairwise(levels)])
    shares = np.diff(levels) / 2
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares @ codes, w, atol=1e-12)


@given(st.lists(st.integers(-20, 20), min_size=4, max_size=8), st.integers(1, 40), st.integers(1, 50))
def test_the_best_scale_is_that_of_the_problem_along_one_function(z, norm, ridge):
    """The multiples of a function are a space of one dimension, with the kernel f f' / |w|^2."""
    z, norm, ridge = np.array(z) / 10, norm / 10, ridge / 10
    y = np.where(np.arange(len(z)) % 2, 1.0, -1.0)
    value = evaluate_rho_svm(z, norm, ridge)
    if z.sum() > 0:
        K = np.outer(y * z, y * z) / norm + ridge * np.eye(len(z))
        assert value == pytest.approx(RhoSVM(K, y).solve().objective, rel=1e-5)
    else:
        assert value == pytest.approx(ridge / len(z))


def test_the_best_scale_without_slack_is_that_of_the_hard_margin():
    z, y = np.array([0.5, 2.0, 1.5]), np.array([1.0, -1.0, 1.0])
    problem = RhoSVM(np.outer(y * z, y * z) / 3.0 + 1e-9 * np.eye(3), y)
    assert evaluate_rho_svm(z, 3.0, 0.0) == pytest.approx(problem.solve().objective, rel=1e-5)
    assert evaluate_rho_svm(z - 1.0, 3.0, 0.0) == 0.0


def soft_margin_optimum(K, y, p, A):
    """The maximum of s_A(y f) - |f|^2 / 2 by its dual in cvxpy."""
    u = cp.Variable(len(y), nonneg=True)
    root = np.linalg.cholesky(K * np.outer(y, y) + 1e-10 * np.eye(len(y)))
    objective = cp.sum_squares(root.T @ u) / 2 + cp.sum(cp.rel_entr(u, p)) / A
    return cp.Problem(cp.Minimize(objective), [cp.sum(u) == 1]).solve(solver="CLARABEL")


@pytest.mark.parametrize("max_rank", [500, 10])
def test_the_hard_margin_ensemble_is_near_the_optimum_of_a_soft_minimum(max_rank):
    weights, new_weights = 1.0 + np.arange(len(X)) % 3, 1.0 + np.arange(len(NEW)) % 2
    # of low rank no function separates the classes, and updates are without end
    hard = PartialSVMEnsembleClassifier(Gaussian(0.3), max_rank=max_rank, max_updates=60)
    hard.fit(X, Y, sample_weight=weights)
    A = sum(row.weight for row in hard.history_)
    certificate = hard.certificate_
    best = soft_margin_optimum(Gaussian(0.3)(X), SIGNS, weights / weights.sum(), A)
    assert certificate.primal <= best * (1 + 1e-6)
    assert certificate.dual >= best * (1 - 1e-6)
    assert certificate.proven
    assert certificate.relative_gap <= 0.1 or max_rank == 10
    again, new = hard.certify(X, Y, sample_weight=weights), hard.certify(NEW, NEW_Y, sample_weight=new_weights)
    # roundings grow from update to update, the more so where no margin stops them
    near = 1e-4 if max_rank == 500 else 0.1
    assert (again.primal, again.dual) == pytest.approx((certificate.primal, certificate.dual), rel=near)
    best = soft_margin_optimum(Gaussian(0.3)(NEW), NEW_SIGNS, new_weights / new_weights.sum(), A)
    assert new.primal <= best * (1 + 1e-6)
    assert new.dual >= best * (1 - 1e-6)
    assert hard.certify(NEW, NEW_Y, weights=0 * hard.dual_coef_).primal == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("z", "value"), [([0, 0, 0, 1e-313], 0.25), ([0, 0, 0, 1e-205], 0.25), ([1, 1, 1, 1e-313], 4 / 7), ([0, 0], 0.5)]
)
def test_the_best_scale_of_vanishing_margins(z, value):
    """Three margins of 1 and one of 0: the minimum of tau^2 + 3 (1 - tau)^2 + 1 is 7 / 4."""
    assert evaluate_rho_svm(np.array(z, float), 1.0, 1.0) == pytest.approx(value)


@pytest.mark.parametrize("estimator", [RhoSVC(C=0.7, tol=1e-8), PartialSVMEnsembleClassifier(C=0.7)], ids=called)
@pytest.mark.product(kernel=[Gaussian(0.3), MiddleStump(X), Stump(*BOX)], max_rank=[500, 10])
def test_the_rho_svm_on_new_samples(estimator, kernel, max_rank):
    model = clone(estimator).set_params(kernel=kernel, max_rank=max_rank).fit(X, Y)
    certificate = model.certify(NEW, NEW_Y)
    best = RhoSVM(kernel(NEW, NEW) + np.eye(len(NEW)) / 0.7, NEW_SIGNS).solve().objective
    c, support = model.dual_coef_, model.support_vectors_
    f, norm = kernel(NEW, support) @ c, c @ kernel(support, support) @ c
    assert certificate.primal == pytest.approx(evaluate_rho_svm(NEW_SIGNS * f, norm, 1 / 0.7))
    assert certificate.primal <= best <= certificate.dual * (1 + 1e-6)
    if max_rank == 500:
        assert certificate.dual == pytest.approx(best, rel=2e-4)
    assert certificate.proven


@pytest.mark.parametrize("kernel", [Laplacian(0.5), MiddleStump(X)])
def test_regadaboost_on_new_samples(kernel):
    model = RegAdaBoostClassifier(kernel, lam=0.02, tol=1e-8).fit(X, Y)
    certificate = model.certify(NEW, NEW_Y)
    problem = RegularizedExpLoss(kernel(NEW, NEW), NEW_SIGNS, 0.02)
    best = problem.solve().objective
    c, support = model.dual_coef_, model.support_vectors_
    f = kernel(NEW, support) @ c
    assert certificate.primal == pytest.approx(np.exp(-NEW_SIGNS * f).mean() + 0.02 * c @ kernel(support, support) @ c)
    assert certificate.dual == pytest.approx(best, rel=1e-6)
    assert certificate.dual <= best * (1 + 1e-9) <= certificate.primal


KERNELS = {
    "stump": ("stump", Stump(*BOX)),
    "decision-stump": ("decision-stump", DecisionStump(X.min(axis=0), X.max(axis=0))),
    "middle-stump": ("middle-stump", MiddleStump(X)),
    "gaussian": (Gaussian(0.3), Gaussian(0.3)),
    "perceptron": ("perceptron", Perceptron(9.0)),
}
"""What an estimator is given, and the same with ranges that hold every sample of the tests."""


@pytest.mark.parametrize("name", KERNELS)
def test_the_support_vector_machine_on_new_samples(name):
    """Hinge and norm by the kernel matrix over both samples; the optimum by cvxpy on the new one."""
    given_kernel, kernel = KERNELS[name]
    inside = np.clip(NEW, X.min(axis=0), X.max(axis=0))
    model = InfiniteEnsembleSVC(given_kernel, C=0.4, tol=1e-6).fit(X, Y)
    certificate = model.certify(inside, NEW_Y)
    v, support = model.dual_coef_, model.support_vectors_
    f = kernel(inside, support) @ v + model.intercept_
    shift = np.median(model.decision_function(inside) - f)
    hinge = 0.4 * np.maximum(0, 1 - NEW_SIGNS * (f + shift)).sum()
    np.testing.assert_allclose(model.decision_function(inside), f + shift, atol=1e-9)
    assert certificate.primal == pytest.approx(v @ kernel(support, support) @ v / 2 + hinge, rel=1e-6)
    best = -SVMDual(kernel(inside, inside), NEW_SIGNS, 0.4).solve().objective
    assert certificate.dual == pytest.approx(best, rel=1e-5)
    assert certificate.dual <= best * (1 + 1e-8) <= certificate.primal * (1 + 2e-8)
    assert certificate.proven


def test_a_support_vector_machine_far_from_the_fitted_sample():
    model = InfiniteEnsembleSVC("decision-stump", C=0.4).fit(X, Y)
    far = model.certify(10 * NEW, NEW_Y)
    assert far.proven
    assert far.dual < far.primal


def test_coefficients_of_a_support_vector_machine_from_anywhere():
    model = InfiniteEnsembleSVC(C=0.4, tol=1e-6).fit(X, Y)
    own = model.certify(X, Y)
    assert_optimal(own, -model.certificate_.dual, tol=1e-5, rel=1e-5)
    nothing = model.certify(X, Y, weights=0 * model.dual_coef_)
    assert nothing.primal == pytest.approx(0.4 * 2 * min((SIGNS > 0).sum(), (SIGNS < 0).sum()))
    assert model.certify(X, Y, weights=model.dual_coef_, intercept=5.0).gap > own.gap
    with pytest.raises(InvalidInput, match="weights"):
        model.certify(X, Y, weights=np.abs(model.dual_coef_))
    with pytest.raises(InvalidInput, match="precomputed"):
        InfiniteEnsembleSVC("precomputed").fit(X @ X.T, Y).certify(X @ X.T, Y)


@pytest.mark.parametrize("estimator", [*PEERS, *EVERY], ids=called)
def test_certify_agrees_with_the_fit(estimator):
    """But for the vote of partial SVMs, where the fit certifies the last of them."""
    model = clone(estimator).fit(X, Y)
    again = model.certify(X, Y)
    assert again.relative_gap <= model.certificate_.relative_gap + 1e-3 + isinstance(model, type(PEERS[2]))
    fitted = model.weights_ if hasattr(model, "weights_") else model.dual_coef_
    worse = model.certify(X, Y, weights=5 * np.ones_like(fitted) if hasattr(model, "weights_") else 0 * fitted)
    assert worse.gap > again.gap


@pytest.mark.parametrize("estimator", [*PEERS, *BY_MARGINS], ids=called)
def test_each_of_three_classes_is_a_problem_against_the_rest(estimator):
    Z, y = three_classes()
    model = clone(estimator).fit(Z, y)
    scores, certificates = model.decision_function(Z), model.certify(Z, y)
    assert [len(part) for part in (model.certificate_, certificates, model.dual_weights_)] == [3, 3, 3]
    assert model.score(Z, y) > 0.7
    for k, (part, held) in enumerate(zip(model.estimators_, certificates, strict=True)):
        alone = clone(estimator).fit(Z, y == k)
        np.testing.assert_allclose(scores[:, k], alone.decision_function(Z), rtol=1e-9, atol=1e-12)
        assert model.dual_weights_[k].shape == y.shape
        assert str(model.certificate_[k]) == str(alone.certificate_)
        assert part.certify(Z, (y == k).astype(int)).primal == pytest.approx(held.primal)
    with pytest.raises(InvalidInput, match="weights"):
        model.certify(Z, y, weights=[np.zeros(3)])


@pytest.mark.parametrize("estimator", [*PEERS[:-1], LPBoostClassifier()], ids=called)
def test_an_intercept_for_a_problem_without_one(estimator):
    model = clone(estimator).fit(X, Y)
    assert model.certify(X, Y, intercept=0.0) == model.certify(X, Y)
    with pytest.raises(InvalidInput, match=r"intercept: found 1\.5 for a problem without one"):
        model.certify(X, Y, weights=model.weights_ if hasattr(model, "weights_") else model.dual_coef_, intercept=1.5)


def test_weights_of_samples_count():
    for estimator in (RegAdaBoostClassifier(lam=0.01), InfiniteEnsembleSVC(C=0.1), RhoSVC()):
        model = clone(estimator).fit(X, Y)
        weights = np.arange(len(NEW)) % 3
        weighted = model.certify(NEW, NEW_Y, sample_weight=weights)
        repeated = model.certify(NEW.repeat(weights, axis=0), NEW_Y.repeat(weights))
        assert weighted.primal == pytest.approx(repeated.primal)
        assert weighted.dual == pytest.approx(repeated.dual, rel=2e-3)


def test_weights_of_classes_count_in_sub_problems():
    Z, y = three_classes()
    model = InfiniteEnsembleSVC(C=0.1, class_weight="balanced", tol=1e-5).fit(Z, y)
    for certificate, fitted in zip(model.certify(Z, y), model.certificate_, strict=True):
        assert certificate.primal == pytest.approx(-fitted.dual, rel=1e-4)
