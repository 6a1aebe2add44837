"""Probabilities that are asked for: those of scikit-learn's calibration, and what there are none of."""

import numpy as np
import pytest
from estimator_samples import three_classes, two_classes
from numpy.testing import assert_allclose
from public_estimators import CLASSIFIERS, PUBLIC
from sklearn.base import clone
from sklearn.calibration import _sigmoid_calibration
from sklearn.model_selection import StratifiedKFold

from cvxens import CGEnsSLSClassifier, InfiniteEnsembleSVC, InfiniteEnsembleSVCCV, LPBoostClassifier, load_model
from cvxens.errors import InvalidInput
from cvxens.estimators.probabilities import fit_sigmoid

CALIBRATED = [name for name in CLASSIFIERS if "calibration" in PUBLIC[name].get_params()]


def test_the_sigmoid_is_that_of_platt():
    random = np.random.default_rng(0)
    f = random.normal(size=50)
    own, weights = f + random.normal(size=50) > 0, random.uniform(0.5, 2, 50)
    a, b = _sigmoid_calibration(f, own.astype(float), np.ones(50))
    assert_allclose(fit_sigmoid(f, own, np.ones(50)), (-a, -b), rtol=1e-3, atol=1e-4)
    # whole weights are repetitions, and the units of the score play no part
    twice = np.repeat(np.arange(50), 1 + np.arange(50) % 2)
    counts = 1.0 + np.arange(50) % 2
    assert_allclose(fit_sigmoid(f, own, counts), fit_sigmoid(f[twice], own[twice], np.ones(len(twice))), rtol=1e-5)
    slope, intercept = fit_sigmoid(f, own, weights)
    assert_allclose(fit_sigmoid(1e6 * f, own, weights), (slope / 1e6, intercept), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sample", [two_classes(40), three_classes(45)], ids=["two classes", "three classes"])
@pytest.mark.parametrize("name", CALIBRATED)
def test_every_classifier_without_probabilities_has_calibrated_ones(name, sample):
    X, y = sample
    plain, model = clone(PUBLIC[name]), clone(PUBLIC[name]).set_params(calibration="sigmoid")
    assert not hasattr(plain, "predict_proba")
    proba = model.fit(X, y).predict_proba(X)
    assert proba.shape == (len(X), len(np.unique(y)))
    assert_allclose(proba.sum(axis=1), 1)
    assert np.mean(model.classes_[proba.argmax(axis=1)] == y) > 0.6
    assert plain.fit(X, y).calibration_ is None
    assert_allclose(plain.decision_function(X), model.decision_function(X))


def test_the_scores_that_are_calibrated_are_of_fits_to_other_folds(tmp_path):
    X, y = two_classes(40)
    weights = np.where(np.arange(40) % 3, 1.0, 0.0)
    model = LPBoostClassifier(C=0.1, calibration="sigmoid").fit(X, y, weights)
    kept = np.flatnonzero(weights)
    f = np.zeros(len(kept))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(kept[:, None], y[kept]):
        f[test] = LPBoostClassifier(C=0.1).fit(X[kept[train]], y[kept[train]]).decision_function(X[kept[test]])
    assert_allclose(model.calibration_, [fit_sigmoid(f, y[kept] == model.classes_[1], np.ones(len(kept)))])
    model.save(tmp_path / "model")
    assert_allclose(load_model(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_a_precomputed_kernel_and_a_search_are_calibrated_too():
    X, y = two_classes(30)
    by_matrix = InfiniteEnsembleSVC("precomputed", C=0.3, tol=1e-8, calibration="sigmoid").fit(X @ X.T, y)
    direct = InfiniteEnsembleSVC(lambda A, B: A @ B.T, C=0.3, tol=1e-8, calibration="sigmoid").fit(X, y)
    assert_allclose(by_matrix.predict_proba(X @ X.T), direct.predict_proba(X), atol=1e-5)
    search = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC(calibration="sigmoid"), Cs=[0.1, 1.0], cv=2).fit(X, y)
    assert_allclose(search.predict_proba(X), search.best_estimator_.predict_proba(X))
    assert not hasattr(InfiniteEnsembleSVCCV(), "predict_proba")


def test_a_class_of_one_sample_has_no_scores_of_others():
    X, y = two_classes(20)
    with pytest.raises(InvalidInput, match="one sample of the class"):
        CGEnsSLSClassifier(calibration="sigmoid").fit(X, np.where(np.arange(20), y, "alone"))
    with pytest.raises(InvalidInput, match="fit again"):
        LPBoostClassifier(C=0.1).fit(X, y).set_params(calibration="sigmoid").predict_proba(X)
