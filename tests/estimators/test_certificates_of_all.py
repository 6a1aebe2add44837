"""What the README promises of every estimator: a certificate with the fit, and another on any sample."""

import numpy as np
import pytest
from estimator_samples import two_classes
from public_estimators import PUBLIC, TARGETS, X, fitted

from cvxens import InfiniteEnsembleSVC, InfiniteEnsembleSVCCV
from cvxens.certificates import Certificate

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
    search = InfiniteEnsembleSVCCV(Cs=[0.01, 1.0], cv=2).fit(X, y)
    alone = InfiniteEnsembleSVC(C=search.best_params_["C"]).fit(X, y)
    assert search.certificate_.primal == alone.certificate_.primal
    assert search.certificate_.holds(1e-3)
    assert [level.objective for level in search.history_] == [level.objective for level in alone.history_]
    weights = np.arange(len(NEW_Y)) % 3
    assert (
        search.certify(NEW, NEW_Y, sample_weight=weights).primal
        == alone.certify(NEW, NEW_Y, sample_weight=weights).primal
    )
    nothing = search.certify(X, y, weights=0 * alone.dual_coef_, intercept=0.0)
    assert nothing.primal == pytest.approx(search.best_params_["C"] * len(y))
    np.testing.assert_array_equal(search.feature_importances_, alone.feature_importances_)
    np.testing.assert_array_equal(search.shape_functions_[0], alone.shape_functions_[0])
    gaussian = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("gaussian", gamma=1.0), Cs=[1.0], gammas=[1.0], cv=2).fit(X, y)
    assert not hasattr(gaussian, "feature_importances_")
