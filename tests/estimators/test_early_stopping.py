"""Ensembles that stop where the loss of samples held out no longer falls: which one is kept, and what is certified."""

import numpy as np
import pytest
from estimator_samples import three_classes
from numpy.testing import assert_allclose
from sklearn.model_selection import train_test_split

from cvxens import (
    AdditiveClassifier,
    AdditiveRegressor,
    CGEnsSLSClassifier,
    ColumnGenerationRegressor,
    LPBoostClassifier,
    load_model,
)
from cvxens.errors import InvalidInput

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 4)).round(1)
T = X[:, 0] + RANDOM.normal(size=60)
Y = np.where(T > 0, "yes", "no")
EARLY = {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 2, "oracle": "stumps"}
MODELS = {
    "logistic": (AdditiveClassifier(5.0, **EARLY), Y),
    "squares": (AdditiveRegressor(C=20.0, **EARLY), T),
    "lpboost": (LPBoostClassifier(nu=0.1, **EARLY), Y),
    "deviations": (ColumnGenerationRegressor(**EARLY), T),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_round_of_the_least_loss_is_kept_with_its_certificate(name):
    model, target = MODELS[name]
    model.fit(X, target)
    losses = model.validation_losses_
    assert len(losses) == len(model.history_)
    kept = int(np.argmin(losses))
    assert len(losses) - kept <= 3
    assert len(model.weights_) == model.history_[kept].n_columns
    rest, held_out = train_test_split(np.arange(60), test_size=0.3, random_state=0, stratify=Y if target is Y else None)
    # the same samples, fitted to the end: its optimum is within what the certificate leaves open
    whole = type(model)(**{**model.get_params(), "early_stopping": False, "tol": 1e-6}).fit(X[rest], target[rest])
    assert model.certificate_.proven
    ends = sorted([model.certificate_.primal, model.certificate_.dual])
    assert ends[0] * (1 - 1e-9) <= whole.certificate_.primal + 1e-6
    assert whole.certificate_.primal <= ends[1] + 1e-6
    assert_allclose(model.certificate_.primal, model.certify(X[rest], target[rest]).primal)
    assert not model.dual_weights_[held_out].any()
    if name == "logistic":
        f = np.where(Y == "yes", 1, -1)[held_out] * model.decision_function(X[held_out])
        assert_allclose(5 * np.logaddexp(0, -f).mean(), min(losses))


def test_where_the_loss_falls_to_the_end_the_optimum_is_kept():
    t = np.where(X[:, 0] > 0, 1.0, -1.0) + np.where(X[:, 1] > 0, 0.5, -0.5)
    model = AdditiveRegressor(C=10.0, **{**EARLY, "n_iter_no_change": 50}).fit(X, t)
    assert model.certificate_.holds(1e-3)
    assert AdditiveRegressor(C=1.0, oracle="stumps").fit(X, t).validation_losses_ is None


def test_several_classes_at_once_and_files(tmp_path):
    A, labels = three_classes()
    model = CGEnsSLSClassifier(C=1.0, early_stopping=True, n_iter_no_change=1).fit(A, labels)
    assert len(model.classes_) == 3
    assert model.score(A, labels) > 0.6
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").validation_losses_ == model.validation_losses_
    several = LPBoostClassifier(early_stopping=True).fit(A, labels)
    assert len(several.validation_losses_) == 3


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"early_stopping": 2}, "early_stopping"),
        ({"validation_fraction": 1.5}, "validation_fraction"),
        ({"validation_fraction": 0.99}, "validation_fraction"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"C": "auto"}, "early_stopping"),
    ],
)
def test_what_cannot_be_held_out_is_refused(wrong, named):
    with pytest.raises(InvalidInput, match=f"^{named}: "):
        LPBoostClassifier(**{"early_stopping": True, **wrong}).fit(X, Y)
