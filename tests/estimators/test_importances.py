"""Importances of features are the weights of the weak learners, added up by hand; tables have the same votes."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pytest
from estimator_samples import VOTES, three_classes, two_classes
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from cvxens import AdaBoostClassifier, AdaBoostECCClassifier, AdaBoostMHClassifier, LPBoostClassifier
from cvxens.colgen import Column, Priced, oracles
from cvxens.colgen.oracles import Stump
from cvxens.hypotheses import Scaled, TabulatedColumn


def by_hand(learners, weights, n_features, share):
    """The sums over weak learners of |weights| times the shares of features, with the sum 1."""
    total = np.zeros(n_features)
    for hypothesis, w in zip(learners, weights, strict=True):
        total += np.abs(w).sum() * share(hypothesis)
    return total / total.sum()


def of_stump(n_features):
    units = np.eye(n_features)
    return lambda h: units[h.feature] if isinstance(h, Stump) else np.zeros(n_features)


@pytest.mark.thinned(1, sample=[two_classes(), three_classes()], estimator=VOTES)
def test_stumps(estimator, sample):
    X, y = sample
    model, d = clone(estimator).fit(X, y), X.shape[1]
    found = model.feature_importances_
    if hasattr(model, "estimators_"):
        parts = zip(model.weak_learners_, model.weights_, strict=True)
        expected = np.mean([by_hand(*part, d, of_stump(d)) for part in parts], axis=0)
    else:
        expected = by_hand(model.weak_learners_, model.weights_, d, of_stump(d))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.sum() == pytest.approx(1)


class Backwards(DecisionTreeClassifier):
    """A learner that is wrong wherever it can be, so that its negations are in the ensemble."""

    def predict(self, X):
        return -super().predict(X)


def learnt_by(learner):
    """Boosting of a classifier of scikit-learn."""
    oracle = partial(oracles.SklearnLearner, learner)
    return AdaBoostClassifier(oracle, n_rounds=4, random_state=0)


def classifier_of(hypothesis):
    return classifier_of(hypothesis.hypothesis) if isinstance(hypothesis, Scaled) else hypothesis.estimator


def size_of_coefficients(hypothesis):
    sizes = np.abs(classifier_of(hypothesis).coef_[0])
    return sizes / sizes.sum()


def importance_of_tests(hypothesis):
    return classifier_of(hypothesis).feature_importances_


def unit_of_column(hypothesis):
    assert isinstance(hypothesis, TabulatedColumn)
    return np.eye(3)[hypothesis.index]


OTHERS = {
    "trees": (learnt_by(DecisionTreeClassifier(max_depth=2)), importance_of_tests),
    "logistic regressions": (learnt_by(LogisticRegression()), size_of_coefficients),
    "linear machines": (learnt_by(LinearSVC()), size_of_coefficients),
    "negated stumps": (learnt_by(Backwards(max_depth=1)), importance_of_tests),
    "columns of a table": (LPBoostClassifier(oracle=oracles.Pool), unit_of_column),
}
"""Ensembles of other weak learners, with what each of these looks at."""


@pytest.mark.parametrize("name", OTHERS)
def test_other_weak_learners_say_what_they_look_at(name):
    X, y = two_classes()
    model, share = OTHERS[name]
    model = clone(model).fit(np.tanh(X), y)
    assert len(model.weak_learners_) > 1
    assert all(isinstance(h, Scaled) for h in model.weak_learners_) or name != "negated stumps"
    expected = by_hand(model.weak_learners_, model.weights_, 3, share)
    np.testing.assert_allclose(model.feature_importances_, expected)
    assert model.feature_importances_[2] < model.feature_importances_[:2].min()


def test_problems_without_weak_learners_have_no_share_in_the_mean():
    # no stump tells the third class from the rest
    model = AdaBoostClassifier(n_rounds=3).fit([[0.0], [0.0], [1.0], [1.0]], [0, 2, 1, 2])
    assert list(map(bool, model.weak_learners_)) == [True, True, False]
    assert model.feature_importances_.tolist() == [1.0]


@dataclass(frozen=True)
class Contrast:
    """A user's hypothesis that says itself what it looks at."""

    sign: float
    shares: tuple = (0.5, 0.5, 0.0)

    def __call__(self, X, /):
        return self.sign * np.sign(X[:, 0] + X[:, 1])

    @property
    def feature_importances_(self):
        return np.array(self.shares)


def contrasts(*shares):
    """An oracle of that hypothesis alone."""

    @dataclass
    class Contrasts:
        X: np.ndarray

        @property
        def sample(self):
            return self.X

        def price(self, s, exclude=()):
            edge = float(s.sum(axis=-1) @ Contrast(1.0)(self.X)) if s.ndim > 1 else float(s @ Contrast(1.0)(self.X))
            return Priced([Column(Contrast(np.sign(edge), *shares), self.X, abs(edge))], abs(edge), edge**2)

    return Contrasts


def test_hypotheses_of_ones_own():
    X, y = two_classes()
    model = LPBoostClassifier(oracle=contrasts()).fit(X, y)
    np.testing.assert_allclose(model.feature_importances_, [0.5, 0.5, 0.0])


def test_importances_of_other_features_are_no_importances():
    X, y = two_classes()
    model = LPBoostClassifier(oracle=contrasts((0.2,) * 5)).fit(X, y)
    with pytest.raises(AttributeError, match="tells of 5 features, where X has 3"):
        _ = model.feature_importances_


def test_learners_without_importances_have_none():
    X, y = two_classes()
    model = AdaBoostClassifier(partial(oracles.SklearnLearner, GaussianNB()), n_rounds=2).fit(X, y)
    with pytest.raises(AttributeError, match="GaussianNB has neither feature_importances_ nor coef_"):
        _ = model.feature_importances_
    assert not hasattr(model, "feature_importances_")


X, Y = two_classes()
NAMED = pd.DataFrame(X, columns=["length", "width", "noise"])


def test_trees_have_the_names_of_features():
    model = AdaBoostClassifier("trees", n_rounds=3).fit(NAMED, Y)
    told = model.to_text()
    assert "length <= " in told
    assert "x0" not in told
    assert all("length" in tree or "width" in tree or "noise" in tree for tree in model.to_frame()["hypothesis"])
    assert "x0 <= " in AdaBoostClassifier("trees", n_rounds=3).fit(X, Y).to_text()


def test_importances_of_trees_are_shared_among_their_tests():
    model = AdaBoostClassifier("trees", n_rounds=1).fit(X, Y)
    (hypothesis,) = model.weak_learners_
    nodes = hypothesis.tree.nodes
    expected = np.zeros(3)
    for feature, counts in zip(nodes.feature, nodes.counts, strict=True):
        if feature >= 0:
            expected[feature] += counts.sum()
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())
    many = AdaBoostClassifier("trees", n_rounds=5).fit(X, Y).feature_importances_
    assert many.sum() == pytest.approx(1)
    assert many.min() >= 0


@pytest.mark.parametrize("estimator", [AdaBoostMHClassifier(n_rounds=9), AdaBoostECCClassifier(n_rounds=9)])
def test_votes_for_several_classes_as_a_table(estimator):
    Z, y = three_classes()
    model = estimator.fit(pd.DataFrame(Z, columns=["a", "b"]), y)
    table = model.to_frame()
    votes = table[["weight_0", "weight_1", "weight_2"]].to_numpy()
    assert sorted(map(tuple, votes)) == sorted(map(tuple, model.weights_))
    assert set(table["feature"].dropna()) <= {"a", "b"}
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert len(model.to_text(most=2).splitlines()) == 3
