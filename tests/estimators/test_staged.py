"""Answers after every round are those of fits with as many rounds."""

import numpy as np
import pytest
from estimator_samples import three_classes, two_classes
from public_estimators import PUBLIC, fitted
from sklearn.base import clone

from cvxens import AdaBoostClassifier, AdaBoostECCClassifier, AdaBoostMHClassifier
from cvxens.colgen import BoostingRound

ROUNDS = 7
TWO, THREE = two_classes(), three_classes()

# the first class is told by one stump, the second and third never: sub-problems end after different rounds
UNEVEN = np.r_[np.zeros(6), np.tile([3.0, 4.0, 5.0, 6.0], 3)][:, None], np.r_[np.zeros(6, int), 1 + np.arange(12) % 2]

CASES = {
    "two classes": (AdaBoostClassifier(), TWO),
    "AdaBoost*": (AdaBoostClassifier(nu=0.2), TWO),
    "one-vs-rest": (AdaBoostClassifier(), THREE),
    "one-vs-rest, uneven": (AdaBoostClassifier(), UNEVEN),
    "trees": (AdaBoostClassifier("trees"), TWO),
    "MH": (AdaBoostMHClassifier(), THREE),
    "MH, two classes": (AdaBoostMHClassifier(), TWO),
    "ECC": (AdaBoostECCClassifier(), THREE),
    "ECC, two classes": (AdaBoostECCClassifier(), TWO),
}


def stages(model, X):
    """The stages of every answer that the model has."""
    return {answer: list(getattr(model, f"staged_{answer}")(X)) for answer in ("decision_function", "predict")}


@pytest.mark.parametrize("case", CASES)
def test_the_ensemble_after_k_rounds_is_that_of_a_fit_with_k_rounds(case):
    estimator, (X, y) = CASES[case]
    new = X + np.random.default_rng(0).normal(size=X.shape)
    found = stages(clone(estimator).set_params(n_rounds=ROUNDS).fit(X, y), new)
    for k in range(1, ROUNDS + 1):
        cut = clone(estimator).set_params(n_rounds=k).fit(X, y)
        for answer, after in found.items():
            expected = getattr(cut, answer)(new)
            if answer == "predict":
                np.testing.assert_array_equal(after[min(k, len(after)) - 1], expected)
            else:
                np.testing.assert_allclose(after[min(k, len(after)) - 1], expected, atol=1e-12)
    assert {len(after) for after in found.values()} == {rounds_of(cut)}


def rounds_of(model):
    several = hasattr(model, "estimators_")
    return max(map(len, model.history_)) if several else len(model.history_)


def test_votes_are_added_up_by_hand():
    X, y = TWO
    model = AdaBoostClassifier(n_rounds=ROUNDS).fit(X, y)
    F = np.zeros(len(X))
    for row, f in zip(model.history_, model.staged_decision_function(X), strict=True):
        stump = row.hypothesis
        F += row.weight * np.where(X[:, stump.feature] >= stump.threshold, stump.sign, -stump.sign)
        np.testing.assert_allclose(f, F)


def test_there_is_no_stage_without_a_round():
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]
    assert list(AdaBoostClassifier().fit(X, y).staged_predict(X)) == []
    model = AdaBoostClassifier().fit(np.tile(X, (3, 1)), np.repeat([0, 1, 2], 4))
    assert len(list(model.staged_predict(X))) == rounds_of(model)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_estimator_that_boosts_in_rounds_has_stages(name):
    history = getattr(fitted(name), "history_", ())
    boosts = bool(history) and isinstance(history[0], BoostingRound)
    named = {use for use in dir(fitted(name)) if use.startswith("staged_")}
    expected = {"staged_decision_function", "staged_predict"}
    assert named == (expected if boosts else set())
