"""What the README promises of every estimator: a certificate with the fit, and another on any sample."""

from functools import partial

import numpy as np
import pytest
from estimator_samples import two_classes
from public_estimators import PUBLIC, TARGETS, X, fitted
from sklearn.base import clone

from cvxens import (
    AdditiveClassifier,
    CGEnsClassifier,
    CGEnsSLSClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    PriceSearchCV,
)
from cvxens.certificates import Certificate
from cvxens.colgen import oracles
from cvxens.errors import InvalidInput
from cvxens.plotting import EffectsDisplay

NEW, NEW_Y = two_classes(30, random_state=7)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_estimator_is_certified_with_the_fit_and_on_other_samples(name):
    model = fitted(name)
    assert isinstance(model.certificate_, Certificate)
    own = model.certify(X, TARGETS[name])
    other = model.certify(NEW, NEW_Y if hasattr(model, "classes_") else np.abs(NEW[:, 0] + NEW[:, 1]))
    for certificate in (own, other):
        assert isinstance(certificate, Certificate)
        assert certificate.gap >= -1e-12 * abs(certificate.dual)
    assert own != other


def test_the_cv_class_tells_what_its_best_estimator_tells():
    X, y = two_classes()
    search = PriceSearchCV(prices=[0.01, 1.0], cv=2).fit(X, y)
    alone = InfiniteEnsembleSVC(C=search.best_params_["C"]).fit(X, y)
    assert search.certificate_.primal == alone.certificate_.primal
    assert search.certificate_.holds(1e-3)
    assert [level.objective for level in search.history_] == [level.objective for level in alone.history_]
    weights = np.arange(len(NEW_Y)) % 3
    of_search, of_alone = (each.certify(NEW, NEW_Y, sample_weight=weights) for each in (search, alone))
    assert of_search.primal == of_alone.primal
    nothing = search.certify(X, y, weights=0 * alone.dual_coef_, intercept=0.0)
    assert nothing.primal == pytest.approx(search.best_params_["C"] * len(y))
    np.testing.assert_array_equal(search.feature_importances_, alone.feature_importances_)
    np.testing.assert_array_equal(search.shape_functions_[0], alone.shape_functions_[0])
    gaussian = PriceSearchCV(InfiniteEnsembleSVC("gaussian"), {"gamma": [1.0]}, prices=[1.0], cv=2).fit(X, y)
    assert not hasattr(gaussian, "feature_importances_")


@pytest.mark.parametrize("kind", [AdditiveClassifier, LPBoostClassifier, CGEnsSLSClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_intercept_alone_is_certified_told_and_reported(tmp_path, kind, n_classes):
    X, y = two_classes()
    y = y if n_classes == 2 else np.arange(len(y)) % 3
    model = kind(C=1e-7).fit(X, y)
    assert all(len(part.weak_learners_) == 0 for part in model._parts())
    own, found = ([each.primal for each in np.ravel(of)] for of in (model.certificate_, model.certify(X, y)))
    assert found == pytest.approx(own, rel=1e-9)
    assert model.to_text() == ""
    model.report(tmp_path / "page.html", X.tolist(), y)
    with pytest.raises(InvalidInput, match="found none; give a model that depends on a feature"):
        EffectsDisplay.from_estimator(model, X)


@pytest.mark.thinned(1, seed=range(3))
@pytest.mark.parametrize(
    "model",
    [
        AdditiveClassifier(C=0.5),
        LPBoostClassifier(C=0.2, oracle=partial(oracles.QuantileStumps, n_thresholds=4)),
        LPBoostClassifier(C=0.2, oracle=partial(oracles.PairRules, n_bins=5)),
        CGEnsClassifier(oracle=partial(oracles.QuantileStumps, n_thresholds=4)),
        CGEnsSLSClassifier(oracle=partial(oracles.QuantileStumps, n_thresholds=4)),
    ],
)
def test_a_certificate_on_other_samples_is_of_one_problem(model, seed):
    """Of the hypotheses of the oracle there and those of the ensemble, as a fit that starts from these is."""
    random = np.random.default_rng(seed)
    A = np.column_stack([random.uniform(18, 80, 120).round(), random.normal(size=120)])
    labels = (A[:, 0] > 45) ^ (A[:, 1] > 0.4)
    fitted = clone(model).set_params(warm_start=True).fit(A[:70], labels[:70])
    certificate = fitted.certify(A[20:], labels[20:])
    assert certificate.proven
    assert certificate.gap >= 0
    assert certificate.dual == pytest.approx(fitted.fit(A[20:], labels[20:]).certificate_.dual, rel=1e-3)
