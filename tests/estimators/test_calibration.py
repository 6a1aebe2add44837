"""Probabilities of classes: there by the parameters alone; of losses that have none, scikit-learn calibrates scores."""

import numpy as np
import pytest
from estimator_samples import three_classes, two_classes
from numpy.testing import assert_allclose
from public_estimators import CLASSIFIERS, FAMILIES, PUBLIC
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from skops.io import dumps, loads

from cvxens import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    MultiBoostClassifier,
)
from cvxens.estimators import TRUSTED_TYPES

WITHOUT = [name for name in FAMILIES if name in CLASSIFIERS and not hasattr(PUBLIC[name], "predict_proba")]
CALIBRATION = [f"sklearn.calibration.{name}" for name in ("_CalibratedClassifier", "_SigmoidCalibration")]
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.thinned(1, sample=[two_classes(40), three_classes(45)], name=WITHOUT)
def test_scores_are_calibrated_on_pooled_folds(name, sample):
    X, y = sample
    model = CalibratedClassifierCV(clone(PUBLIC[name]), ensemble=False).fit(X, y)
    proba, scores = model.predict_proba(X), clone(PUBLIC[name]).fit(X, y).decision_function(X)
    assert proba.shape == (len(X), len(np.unique(y)))
    assert_allclose(proba.sum(axis=1), 1)
    assert np.mean(model.classes_[proba.argmax(axis=1)] == y) > 0.6
    if scores.ndim == 1:
        # the fit to the whole is the model's own, and its order is kept
        assert (np.diff(proba[np.argsort(scores), 1]) >= 0).all()


# log losses on the other half by Platt's method as the library once had it, on the same folds
@pytest.mark.parametrize(
    ("load", "model", "before"),
    [(load_breast_cancer, InfiniteEnsembleSVC(), 0.169558101), (load_wine, LPBoostClassifier(C=0.1), 0.490148264)],
)
def test_probabilities_are_as_good_as_those_that_there_were(load, model, before):
    A, B, a, b = train_test_split(*load(return_X_y=True), test_size=0.5, random_state=0, stratify=load().target)
    calibrated = CalibratedClassifierCV(model, ensemble=False, cv=FOLDS).fit(A, a)
    assert log_loss(b, calibrated.predict_proba(B)) <= before + 1e-6


def test_a_precomputed_kernel_weights_and_files():
    X, y = two_classes(30)
    weights = np.where(np.arange(30) % 3, 1.0, 0.5)
    by_matrix, direct = (
        CalibratedClassifierCV(InfiniteEnsembleSVC(kernel, C=0.3, tol=1e-8), ensemble=False).fit(A, y, weights)
        for kernel, A in (("precomputed", X @ X.T), (lambda A, B: A @ B.T, X))
    )
    assert_allclose(by_matrix.predict_proba(X @ X.T), direct.predict_proba(X), atol=1e-5)
    model = CalibratedClassifierCV(LPBoostClassifier(C=0.1), ensemble=False).fit(X, y)
    again = loads(dumps(model), trusted=[*TRUSTED_TYPES, *CALIBRATION])
    assert_allclose(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.thinned(1, sample=[two_classes(40), three_classes(45)], name=CLASSIFIERS)
def test_what_a_classifier_offers_is_the_same_before_and_after_a_fit(name, sample):
    X, y = sample
    model = clone(PUBLIC[name])
    before = [hasattr(model, method) for method in ("predict", "predict_proba", "decision_function")]
    model.fit(X, y)
    assert [hasattr(model, method) for method in ("predict", "predict_proba", "decision_function")] == before
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        assert proba.shape == (len(X), len(np.unique(y)))
        assert proba.min() >= 0
        assert_allclose(proba.sum(axis=1), 1)
        assert np.mean(model.classes_[proba.argmax(axis=1)] == model.predict(X)) > 0.9


def test_a_margin_has_no_probabilities():
    for model in (AdaBoostClassifier(nu=0.5), AdaBoostClassifier(nu=0.5).fit(*three_classes(45))):
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(three_classes(45)[0])


LINKS = [
    (AdaBoostClassifier(n_rounds=10), two_classes(40), lambda f: expit(np.stack([-2 * f, 2 * f], axis=1))),
    (AdaBoostMHClassifier(n_rounds=30), three_classes(45), lambda F: expit(2 * F)),
    (AdaBoostECCClassifier(n_rounds=30), three_classes(45), np.exp),
    (MultiBoostClassifier(), three_classes(45), lambda F: np.exp(2 * F)),
]


@pytest.mark.parametrize(("model", "sample", "link"), LINKS, ids=[type(model).__name__ for model, *_ in LINKS])
def test_probabilities_are_the_links_of_the_losses(model, sample, link):
    X, y = sample
    shares = link(clone(model).fit(X, y).decision_function(X))
    assert_allclose(clone(model).fit(X, y).predict_proba(X), shares / shares.sum(axis=1, keepdims=True))


THREE = np.repeat([0, 0, 0, 0, 0, 1, 1, 1, 2, 2], 4)
GUESSES = [
    (AdaBoostClassifier(n_rounds=1), THREE > 1, [0.8, 0.2], 1e-7),
    (AdaBoostMHClassifier(n_rounds=300), THREE, [0.5, 0.3, 0.2], 0.02),
    (AdaBoostECCClassifier(n_rounds=300), THREE, [0.5, 0.3, 0.2], 0.02),
    (MultiBoostClassifier(C=1e4, tol=1e-7), THREE, [0.5, 0.3, 0.2], 1e-3),
    (MultiBoostClassifier(C=1e4, tol=1e-7), np.minimum(THREE, 1), [0.5, 0.5], 1e-3),
]


@pytest.mark.parametrize(("model", "y", "expected", "off"), GUESSES)
def test_probabilities_of_constant_guesses_are_frequencies(model, y, expected, off):
    """Without features that tell, and with hardly a penalty, the losses are least at the frequencies of the classes."""
    X = np.tile([[0.0], [1.0]], (20, 1))
    assert_allclose(clone(model).fit(X, y).predict_proba(X), np.tile(expected, (40, 1)), atol=off)
