"""Estimators inside scikit-learn's tools, on data frames, in other processes."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimator_samples import EVERY, called, three_classes, two_classes
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cvxens import CGEnsClassifier, LPBoostClassifier

X, Y = two_classes()


def test_grid_search():
    search = GridSearchCV(CGEnsClassifier(), {"C": [1e-6, 0.1], "oracle": ["stumps", "quantile_stumps"]}, cv=3)
    assert search.fit(X, Y).best_params_["C"] == 0.1


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_a_pipeline_of_scaled_features(estimator):
    model = make_pipeline(StandardScaler(), clone(estimator)).fit(X, Y)
    assert model.score(X, Y) > 0.8


def test_a_column_transformer_of_words_and_numbers():
    table = pd.DataFrame({"size": X[:, 0], "weight": X[:, 1], "colour": np.where(X[:, 2] > 0, "red", "blue")})
    encode = ColumnTransformer([("words", OneHotEncoder(), ["colour"])], remainder="passthrough")
    model = make_pipeline(encode, LPBoostClassifier()).fit(table, Y)
    assert model.score(table, Y) > 0.8


def test_calibrated_probabilities():
    p = CalibratedClassifierCV(LPBoostClassifier(), cv=3).fit(X, Y).predict_proba(X)
    assert p.shape == (len(X), 2)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_cross_validation_in_two_processes():
    scores = cross_validate(LPBoostClassifier(), X, Y, cv=2, n_jobs=2, return_estimator=True)
    assert all(model.certificate_.holds(1e-3) for model in scores["estimator"])


def test_sub_problems_in_two_processes():
    one, two = (LPBoostClassifier(n_jobs=n_jobs).fit(*three_classes()) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.decision_function(X[:, :2]), two.decision_function(X[:, :2]))


def test_weights_are_routed():
    weights = np.where(Y == "yes", 5.0, 1.0)
    alone = LPBoostClassifier().fit(X, Y, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(LPBoostClassifier().set_fit_request(sample_weight=True))
        routed.fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(routed.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize("estimator", EVERY, ids=called)
@pytest.mark.parametrize("sample", [two_classes(), three_classes()], ids=["two classes", "three classes"])
def test_pickles_and_clones(estimator, sample):
    fitted = clone(estimator).fit(*sample)
    restored, refitted = pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(*sample)
    expected = fitted.decision_function(sample[0])
    np.testing.assert_array_equal(restored.decision_function(sample[0]), expected)
    np.testing.assert_array_equal(refitted.decision_function(sample[0]), expected)


@pytest.mark.parametrize("estimator", EVERY, ids=called)
@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_data_frames(estimator, frame):
    table = frame(X, columns=["a", "b", "c"])
    fitted = clone(estimator).fit(table, Y)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(fitted.predict(table), clone(estimator).fit(X, Y).predict(X))


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_sparse_and_dense_samples_give_one_model(estimator):
    thinned = np.where(np.abs(X) < 0.5, 0.0, X)
    sparse, dense = (clone(estimator).fit(sample, Y) for sample in (csr_array(thinned), thinned))
    assert sparse.certificate_.holds(1e-3)
    assert dense.certificate_.holds(1e-3)
    assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=3e-3)
    np.testing.assert_array_equal(dense.decision_function(csr_array(thinned)), dense.decision_function(thinned))


def test_missing_values_go_to_trees_only():
    holes = np.where(np.arange(X.size).reshape(X.shape) % 11 == 0, np.nan, X)
    assert LPBoostClassifier(oracle="trees", max_columns=200).fit(holes, Y).score(holes, Y) > 0.8
    with pytest.raises(ValueError, match="NaN"):
        LPBoostClassifier(oracle="stumps").fit(holes, Y)
