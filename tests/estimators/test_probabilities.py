"""Probabilities of classes: there by the parameters alone, before and after a fit."""

import numpy as np
import pytest
from estimator_samples import three_classes, two_classes
from numpy.testing import assert_allclose
from public_estimators import CLASSIFIERS, PUBLIC
from sklearn.base import clone

from cvxens import AdaBoostClassifier

SAMPLES = {2: two_classes(40), 3: three_classes(45)}
METHODS = ("predict", "predict_proba", "decision_function")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", SAMPLES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_a_classifier_offers_is_the_same_before_and_after_a_fit(name, n_classes):
    X, y = SAMPLES[n_classes]
    model = clone(PUBLIC[name])
    before = [hasattr(model, method) for method in METHODS]
    model.fit(X, y)
    assert [hasattr(model, method) for method in METHODS] == before
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        assert proba.shape == (len(X), n_classes)
        assert proba.min() >= 0
        assert_allclose(proba.sum(axis=1), 1)
        assert np.mean(model.classes_[proba.argmax(axis=1)] == model.predict(X)) > 0.9


def test_a_margin_has_no_probabilities():
    for model in (AdaBoostClassifier(nu=0.5), AdaBoostClassifier(nu=0.5).fit(*SAMPLES[3])):
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(SAMPLES[3][0])
