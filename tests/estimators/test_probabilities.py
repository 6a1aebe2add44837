"""Probabilities of classes: there by the parameters alone, before and after a fit, and what pairs of classes say."""

import numpy as np
import pytest
from estimator_samples import three_classes, two_classes
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from public_estimators import CLASSIFIERS, PUBLIC
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression

from cvxens import AdaBoostClassifier, RegAdaBoostClassifier
from cvxens.estimators.probabilities import LEAST, couple

SAMPLES = {2: two_classes(40), 3: three_classes(45)}
METHODS = ("predict", "predict_proba", "decision_function")


def variants(name):
    """The estimator, and with every decomposition that it has."""
    model = PUBLIC[name]
    schemes = [{"multi_class": scheme} for scheme in ("ovr", "ovo")] if "multi_class" in model.get_params() else [{}]
    return [clone(model).set_params(**scheme) for scheme in schemes]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", SAMPLES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_a_classifier_offers_is_the_same_before_and_after_a_fit(name, n_classes):
    X, y = SAMPLES[n_classes]
    for model in variants(name):
        before = [hasattr(model, method) for method in METHODS]
        model.fit(X, y)
        assert [hasattr(model, method) for method in METHODS] == before
        if hasattr(model, "predict_proba"):
            proba = model.predict_proba(X)
            assert proba.shape == (len(X), n_classes)
            assert proba.min() >= 0
            assert_allclose(proba.sum(axis=1), 1)
            assert np.mean(model.classes_[proba.argmax(axis=1)] == model.predict(X)) > 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", SAMPLES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_can_be_stacked(name, n_classes):
    X, y = SAMPLES[n_classes]
    stack = StackingClassifier([(str(k), model) for k, model in enumerate(variants(name))], LogisticRegression(), cv=2)
    assert stack.fit(X, y).score(X, y) > 0.6


def test_a_margin_has_no_probabilities():
    for model in (AdaBoostClassifier(nu=0.5), AdaBoostClassifier(nu=0.5).fit(*SAMPLES[3])):
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(SAMPLES[3][0])


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_pairs_that_agree_are_coupled_exactly(n_classes, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(n_classes), size=4).clip(1e-3)
    p /= p.sum(axis=1, keepdims=True)
    first, second = np.triu_indices(n_classes, 1)
    assert_allclose(couple(np.log(p[:, second] / p[:, first]), n_classes), p, atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(st.integers(3, 5), st.integers(0, 2**32 - 1))
def test_pairs_that_disagree_are_coupled_at_the_least_distance(n_classes, seed):
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(n_classes, 1)
    log_odds = rng.normal(scale=3, size=(1, len(first)))
    r = np.clip(expit(log_odds[0]), LEAST, 1 - LEAST)

    def distance(p):
        return ((r * p[first] - (1 - r) * p[second]) ** 2).sum()

    found = couple(log_odds, n_classes)[0]
    simplex = {"type": "eq", "fun": lambda p: p.sum() - 1}
    start = np.full(n_classes, 1 / n_classes)
    best = minimize(distance, start, bounds=[(0, 1)] * n_classes, constraints=simplex, options={"ftol": 1e-14})
    assert distance(found) <= best.fun + 1e-9
    assert found.min() >= 0


def test_pairs_without_doubt():
    sure = 1e4
    # the first class beats all, however they beat each other; three that beat each other in a circle are alike
    assert_allclose(couple(np.array([[-sure, -sure, sure]]), 3), [[1, 0, 0]], atol=1e-6)
    assert_allclose(couple(np.array([[-sure, sure, -sure]]), 3), np.full((1, 3), 1 / 3), atol=1e-6)
    assert_allclose(couple(np.zeros((2, 6)), 4), np.full((2, 4), 0.25))


@pytest.mark.parametrize("estimator", [AdaBoostClassifier(n_rounds=5), RegAdaBoostClassifier()])
def test_the_probabilities_of_one_against_one_are_those_of_its_parts(estimator):
    X, y = SAMPLES[3]
    model = clone(estimator).set_params(multi_class="ovo").fit(X, y)
    parts = np.stack([part.decision_function(X) for part in model.estimators_], axis=1)
    assert_allclose(model.predict_proba(X), couple(2 * parts, 3))
