"""AdaBoost as an estimator against scikit-learn's, the functions it is made of, and what its probabilities mean."""

from itertools import islice

import numpy as np
import pytest
import sklearn.ensemble
from estimator_samples import two_classes
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from cvxens import AdaBoostClassifier
from cvxens.colgen import adaboost, boosting_steps, gathered, oracles, round_bound

X, Y = two_classes()
SIGNS, BOUND = np.where(Y == "yes", 1.0, -1.0), round_bound(len(X), 0.5)


class BestStump(ClassifierMixin, BaseEstimator):
    """The stump of the smallest weighted error, by trying them all."""

    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        s = sample_weight * np.where(y == self.classes_[1], 1.0, -1.0)
        values = [np.unique(column) for column in X.T]
        places = [(d, t) for d, v in enumerate(values) for t in [-np.inf, *(v[1:] + v[:-1]) / 2]]
        edges = [s @ np.where(X[:, d] >= t, 1.0, -1.0) for d, t in places]
        best = np.argmax(np.abs(edges))
        self.place_, self.sign_ = places[best], np.sign(edges[best])
        return self

    def predict(self, X):
        check_is_fitted(self)
        d, t = self.place_
        return self.classes_[(self.sign_ * np.where(X[:, d] >= t, 1.0, -1.0) > 0).astype(int)]


def test_the_rounds_are_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(150, 3)), rng.uniform(1, 2, 150)
    y = np.sign((X**2).sum(axis=1) - 2.5 + 0.3 * rng.normal(size=150))
    ours = AdaBoostClassifier(n_rounds=15).fit(X, y, sample_weight=weights)
    theirs = sklearn.ensemble.AdaBoostClassifier(BestStump(), n_estimators=15).fit(X, y, sample_weight=weights)
    scores = list(ours.staged_decision_function(X))
    expected = list(theirs.staged_decision_function(X))
    assert len(scores) == len(expected) == 15
    sums = np.cumsum([row.weight for row in ours.history_])
    np.testing.assert_allclose(2 * np.array(scores) / sums[:, None], expected, atol=1e-9)
    errors = [np.mean(np.sign(f) != y) for f in scores]
    np.testing.assert_allclose(errors, [1 - accuracy for accuracy in theirs.staged_score(X, y)], atol=1e-12)
    assert errors[-1] < errors[0]


@pytest.mark.parametrize(
    ("estimator", "reference"),
    [
        (AdaBoostClassifier(n_rounds=9), lambda o: adaboost(o, SIGNS, n_rounds=9)),
        (
            AdaBoostClassifier(nu=0.5),
            lambda o: gathered(islice(boosting_steps(o, SIGNS, lambda edge: edge - 0.5), BOUND), len(X), aimed=True),
        ),
    ],
)
def test_fitted_attributes_are_those_of_the_functions(estimator, reference):
    fitted, boosted = clone(estimator).fit(X, Y), reference(oracles.Stumps(X))
    assert [row.hypothesis for row in fitted.history_] == [row.hypothesis for row in boosted.history]
    np.testing.assert_allclose(fitted.weights_.sum(), boosted.weights.sum())
    np.testing.assert_allclose(fitted.decision_function(X), boosted.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(fitted.dual_weights_.sum(), 1)
    assert fitted.certificate_.proven == boosted.certificate.proven
    assert fitted.intercept_ == 0


def test_a_margin_within_nu_is_certified():
    model = AdaBoostClassifier(nu=0.2).fit(X, Y)
    assert len(model.history_) <= round_bound(len(X), 0.2)
    assert model.certificate_.proven
    assert 0 <= model.certificate_.gap <= 0.2
    assert model.certificate_.gap == pytest.approx(model.certificate_.dual - model.certificate_.primal)


def test_classes_that_are_not_separated_have_a_finite_certificate():
    labels = np.where(np.arange(len(Y)) % 7, Y, Y[::-1])
    model = AdaBoostClassifier(n_rounds=20).fit(X, labels)
    signs = np.where(labels == "yes", 1.0, -1.0)
    smallest = (signs * model.decision_function(X)).min() / model.weights_.sum()
    edges = (signs * model.dual_weights_) @ np.column_stack([h(X) for h in model.weak_learners_])
    for certificate in (model.certificate_, model.certify(X, labels)):
        assert certificate.primal < 0
        assert certificate.primal == pytest.approx(smallest)
        assert certificate.proven
        assert certificate.dual <= 1
        assert not certificate.holds(0.1)
    # u proves the bound: no weak learner has a larger edge
    assert edges.max() <= model.certificate_.dual + 1e-12


def test_weights_of_samples_are_those_of_the_loss():
    weights = np.where(Y == "yes", 9.0, 1.0)
    even = AdaBoostClassifier(n_rounds=20).fit(X, Y)
    heavy = AdaBoostClassifier(n_rounds=20).fit(X, Y, sample_weight=weights)
    assert heavy.predict_proba(X)[:, 1].mean() > even.predict_proba(X)[:, 1].mean()
    loss = np.average(np.exp(-SIGNS * heavy.decision_function(X)), weights=weights)
    assert np.exp(heavy.history_[-1].log_loss) == pytest.approx(loss)


def test_a_perfect_stump_is_alone():
    model = AdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert model.to_text() == "+1  x[0] >= 1.5 -> 1"
    assert model.certificate_.holds(1e-12)
    assert model.certificate_.primal == 1
    np.testing.assert_array_equal(next(model.staged_decision_function([[0.0], [9.0]])), [-1, 1])


def test_without_an_edge_there_is_no_weak_learner():
    model = AdaBoostClassifier().fit([[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1])
    assert model.weak_learners_ == ()
    np.testing.assert_array_equal(model.predict_proba([[0.0]]), [[0.5, 0.5]])
