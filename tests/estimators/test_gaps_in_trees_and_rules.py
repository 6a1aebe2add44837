"""Missing values in trees, rules and boxes: optimal over all ways that they may go, as they were saved, in words."""

from functools import partial

import numpy as np
import pytest

from cvxens import LPBoostClassifier, Monotone, load_model
from cvxens.colgen.oracles import Boxes, DepthThreeTrees, DepthTwoTrees, PairRules
from cvxens.export import to_onnx

ORACLES = {
    "trees": partial(DepthTwoTrees, n_bins=6),
    "rules": partial(PairRules, n_bins=6),
    "boxes": partial(Boxes, max_length=2, n_bins=6),
    "deep trees": partial(DepthThreeTrees, n_bins=6),
}


@pytest.fixture(scope="module")
def sample():
    """Missing ages say as much as high ones, and where the dose is known only together with it."""
    random = np.random.default_rng(3)
    X = random.integers(0, 5, (60, 3)).astype(float)
    X[random.random(60) < 0.3, 0] = np.nan
    X[random.random(60) < 0.2, 1] = np.nan
    old = np.isnan(X[:, 0]) | (X[:, 0] >= 3)
    return X, np.where(old == (np.isnan(X[:, 1]) | (X[:, 1] < 2)), 1, 0)


@pytest.mark.parametrize("name", ORACLES)
def test_models_of_samples_with_gaps(name, sample, tmp_path):
    X, y = sample
    model = LPBoostClassifier(C=0.5, oracle=ORACLES[name], tol=1e-4).fit(X, y)
    assert model.certificate_.proven
    assert model.certificate_.holds(1e-4)
    # the same where missing values are a number below or above all others is a part of the set
    for number in (-9.0, 9.0):
        imputed = LPBoostClassifier(C=0.5, oracle=ORACLES[name], tol=1e-4).fit(np.where(np.isnan(X), number, X), y)
        assert model.certificate_.primal <= imputed.certificate_.primal * (1 + 1e-4)
    F = model.decision_function(X)
    model.save(tmp_path / "model.cvxens")
    np.testing.assert_array_equal(load_model(tmp_path / "model.cvxens").decision_function(X), F)
    from onnxruntime import InferenceSession

    scores = InferenceSession(to_onnx(model).SerializeToString()).run(["scores"], {"X": X})[0]
    np.testing.assert_array_equal(scores, F)
    rules = model.get_rules(X, y)
    assert rules["rule"].str.contains("missing").any()
    assert model.intercept_ + sum(rules["weight"] * rules["support"]) == pytest.approx(F.mean())
    assert model.effects(X)(X) == pytest.approx(F)


def test_rules_of_one_side_rise_wherever_the_value_is_known(sample):
    X, y = sample
    model = LPBoostClassifier(C=0.5, oracle="pair_rules", constraints=[Monotone({0: 1})]).fit(X, y)
    assert model.certificate_.proven
    assert model.price_of_constraints_[0] > 0
    ages = np.linspace(-1.0, 6.0, 50)
    for row in X:
        alike = np.repeat(row[np.newaxis], len(ages), axis=0)
        alike[:, 0] = ages
        assert (np.diff(model.decision_function(alike)) >= 0).all()
