"""What the boosting and kernel peers refuse; and what they do in files, data frames and other processes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimator_samples import called, three_classes, two_classes
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_estimator_bad_input import BAD_NEW_SAMPLES, BAD_SAMPLES, BAD_WEIGHTS, assert_untouched, changed

from cvxens import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    PartialSVMEnsembleClassifier,
    RegAdaBoostClassifier,
    RhoSVC,
    load_model,
)

X, Y = two_classes()

BOOSTING = [AdaBoostClassifier(n_rounds=5), AdaBoostMHClassifier(n_rounds=5), AdaBoostECCClassifier(n_rounds=5)]
KERNEL = [RhoSVC(), PartialSVMEnsembleClassifier(max_updates=5), RegAdaBoostClassifier(), RhoSVC("gaussian")]
PEERS = [*BOOSTING, *KERNEL]


@pytest.mark.parametrize("estimator", PEERS, ids=called)
@pytest.mark.parametrize("case", BAD_SAMPLES)
def test_bad_samples_of_peers(estimator, case):
    bad_X, bad_y, message = BAD_SAMPLES[case]
    estimator = clone(estimator)
    before = dict(vars(estimator))
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(bad_X, bad_y)
    assert_untouched(estimator, before)


@pytest.mark.parametrize("estimator", [*BOOSTING, RegAdaBoostClassifier()], ids=called)
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_of_peers(estimator, case):
    weights, message = BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("estimator", PEERS, ids=called)
@pytest.mark.parametrize("case", BAD_NEW_SAMPLES)
def test_bad_new_samples_of_peers(estimator, case):
    new, error, message = BAD_NEW_SAMPLES[case]
    fitted = clone(estimator).fit(X, Y)
    with pytest.raises(error, match=message):
        fitted.predict(new)


@pytest.mark.parametrize("estimator", PEERS, ids=called)
def test_a_fit_of_a_peer_that_fails_leaves_the_last_one(estimator):
    model = clone(estimator).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(changed(X[:, :2], np.nan), Y)
    assert_untouched(model, before)


@pytest.mark.parametrize("estimator", BOOSTING, ids=called)
def test_sparse_samples_for_stumps(estimator):
    thinned = np.where(np.abs(X) < 0.5, 0.0, X)
    sparse, dense = (clone(estimator).fit(sample, Y) for sample in (csr_array(thinned), thinned))
    assert sparse.history_[0].edge == pytest.approx(dense.history_[0].edge)
    assert sparse.score(thinned, Y) > 0.8
    np.testing.assert_array_equal(dense.decision_function(csr_array(thinned)), dense.decision_function(thinned))


@pytest.mark.parametrize("estimator", KERNEL, ids=called)
def test_sparse_samples_are_refused_by_kernels(estimator):
    with pytest.raises(TypeError, match="dense"):
        clone(estimator).fit(csr_array(X), Y)


@pytest.mark.parametrize("estimator", PEERS, ids=called)
@pytest.mark.parametrize("sample", [two_classes(), three_classes()], ids=["two classes", "three classes"])
def test_peers_in_files(estimator, sample, tmp_path):
    model = clone(estimator).fit(*sample)
    model.save(tmp_path / "model")
    restored = load_model(tmp_path / "model")
    np.testing.assert_array_equal(restored.decision_function(sample[0]), model.decision_function(sample[0]))


@pytest.mark.parametrize("estimator", PEERS, ids=called)
@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_peers_on_data_frames(estimator, frame):
    table = frame(X, columns=["a", "b", "c"])
    fitted = make_pipeline(StandardScaler(), clone(estimator)).fit(table, Y)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(fitted.predict(table), clone(fitted).fit(table, Y).predict(table))


def test_cross_validation_of_peers_in_two_processes():
    for estimator in (AdaBoostClassifier(n_rounds=5), RhoSVC()):
        scores = cross_validate(estimator, X, Y, cv=2, n_jobs=2)
        assert scores["test_score"].mean() > 0.7
