"""MultiBoost against cvxpy over all stumps, against its two-class form, and what a fitted one tells."""

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps
from estimator_samples import assert_optimal, three_classes, two_classes
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cvxens import ColumnGenerationClassifier, Formulation, MultiBoostClassifier
from cvxens.colgen.oracles import Stumps
from cvxens.estimators.classifiers import EveryClass
from cvxens.problems.losses import Exponential
from cvxens.problems.penalties import L1

X, Y = three_classes()
EXACT = MultiBoostClassifier(C=0.5, tol=1e-8)


def both_signs(X):
    """All stumps, the constant, and the negation of each, (n_samples, n_stumps)."""
    H = all_stumps(X)
    return np.hstack([H, -H])


def primal(H, y, prices):
    """The paper's problem, with W >= 0 and every pair of a sample and another class written out; W and its value."""
    W = cp.Variable((H.shape[1], y.max() + 1), nonneg=True)
    F = H @ W
    classes = range(W.shape[1])
    losses = [price * cp.exp(F[i, k] - F[i, y[i]]) for i, price in enumerate(prices) for k in classes if k != y[i]]
    problem = cp.Problem(cp.Minimize(cp.sum(W) + cp.sum(cp.hstack(losses))))
    problem.solve(solver="CLARABEL")
    return W.value, problem.value


def dual(H, y, prices):
    """The dual problem over the weights v of the pairs, as the docstring has it."""
    others = np.not_equal.outer(y, np.arange(y.max() + 1))
    v = cp.Variable(others.shape, nonneg=True)
    total = cp.sum(cp.multiply(others, v), axis=1)
    ratio = cp.multiply(1 / prices[:, None], v)
    entropy = cp.multiply(others * prices[:, None], cp.entr(ratio) + ratio)
    classes = range(v.shape[1])
    edges = [H.T @ (cp.multiply(~others[:, k], total) - cp.multiply(others[:, k], v[:, k])) <= 1 for k in classes]
    problem = cp.Problem(cp.Maximize(cp.sum(entropy)), [cp.multiply(~others, v) == 0, *edges])
    problem.solve(solver="CLARABEL")
    return v.value, problem.value


@pytest.mark.parametrize("C", [0.05, 0.5, 5.0])
def test_the_optimum_over_all_stumps_is_that_of_primal_and_dual(C):
    model = clone(EXACT).set_params(C=C).fit(X, Y)
    H, prices = both_signs(X), np.full(len(Y), C)
    W, least = primal(H, Y, prices)
    v, most = dual(H, Y, prices)
    assert_optimal(model.certificate_, least, tol=1e-8, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(most, rel=1e-6)
    differences = model.decision_function(X) - model.decision_function(X)[:, :1]
    assert_allclose(differences, H @ W - (H @ W)[:, :1], atol=2e-3 * np.abs(H @ W).max())
    off = np.not_equal.outer(Y, np.arange(3))
    assert_allclose(-model.dual_weights_[off], v[off], atol=1e-3 * v.max())
    assert_allclose(model.dual_weights_.sum(axis=1), 0, atol=1e-9)


def test_weights_of_samples_are_prices():
    weights = np.random.default_rng(0).uniform(0.2, 2, len(Y))
    model = clone(EXACT).fit(X, Y, sample_weight=weights)
    assert model.certificate_.primal == pytest.approx(primal(both_signs(X), Y, 0.5 * weights)[1], rel=1e-6)
    once, twice = clone(EXACT).fit(np.r_[X, X], np.r_[Y, Y]), clone(EXACT).fit(X, Y, sample_weight=np.full(len(Y), 2))
    assert_allclose(once.decision_function(X), twice.decision_function(X))


def test_the_default_price_does_not_depend_on_the_scale_of_weights():
    some, many = (MultiBoostClassifier().fit(X, Y, sample_weight=np.full(len(Y), scale)) for scale in (0.1, 30.0))
    assert_allclose(some.decision_function(X), many.decision_function(X), rtol=1e-6)


def test_the_most_violated_pair_of_hypothesis_and_class_is_priced():
    """In the first round every pair weighs C: the first column is that of the largest edge over all h and k."""
    model = MultiBoostClassifier(C=1.0, max_columns=1, columns_per_round=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    U = np.where(np.equal.outer(Y, np.arange(3)), 2.0, -1.0)
    (first,) = model.weak_learners_
    assert (first(X) @ U).max() == pytest.approx((both_signs(X).T @ U).max())


def test_a_round_has_the_best_of_every_class():
    s = np.random.default_rng(0).normal(size=(len(Y), 3))
    each = [Stumps(X).price(of_class) for of_class in s.T]
    priced = EveryClass(Stumps(X), None).price(s)
    assert {column.hypothesis for column in priced.columns} == {c.hypothesis for p in each for c in p.columns}
    assert priced.edge_bound == max(p.edge_bound for p in each)
    edges = [column.edge for column in priced.columns]
    assert edges == sorted(edges, reverse=True)
    assert edges == pytest.approx([(column.values @ s).max() for column in priced.columns])
    assert [column.edge for column in EveryClass(Stumps(X), 2).price(s).columns] == edges[:2]


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_two_classes_are_the_exponential_loss_with_an_l1_penalty(C):
    X, y = two_classes()
    model = clone(EXACT).set_params(C=C).fit(X, y)
    assert model.weights_.shape == (len(model.weak_learners_),)
    assert model.intercept_ == 0
    _, value = primal(both_signs(X), (y == "yes").astype(int), np.full(len(y), C))
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    same = ColumnGenerationClassifier(Formulation(Exponential(C), L1()), tol=1e-8).fit(X, y)
    assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-6)
    assert_allclose(model.predict_proba(X)[:, 1], expit(2 * model.decision_function(X)))


def test_certify_says_how_far_other_weights_and_samples_are():
    model = clone(EXACT).fit(X, Y)
    assert model.certify(X, Y).relative_gap == pytest.approx(0, abs=1e-7)
    W = 1.1 * model.weights_
    other = model.certify(X, Y, weights=W)
    F = 1.1 * model.decision_function(X)
    losses = np.exp(F - np.take_along_axis(F, Y[:, None], axis=1)).sum() - len(Y)
    assert other.primal == pytest.approx(0.5 * losses + np.abs(W).sum())
    assert other.primal - other.dual > 0
    assert model.certify(X[:30], Y[:30]).proven
