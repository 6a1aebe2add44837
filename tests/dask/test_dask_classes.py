"""More than two classes over shards: a problem of each against the rest, on the same shards."""

from copy import deepcopy

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_samples import cut, sharded
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cvxens import CGEnsClassifier, ColumnGenerationClassifier, InfiniteEnsembleSVC, LPBoostClassifier
from cvxens.colgen import Formulation
from cvxens.dask import (
    DaskCGEnsClassifier,
    DaskColumnGenerationClassifier,
    DaskInfiniteEnsembleSVC,
    DaskLPBoostClassifier,
    shards,
)
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1

LOGISTIC = Formulation(Logistic(0.3), L1(), intercept=True)

PAIRS = {
    "LPBoost": (DaskLPBoostClassifier(C=0.2, tol=1e-9), LPBoostClassifier(C=0.2, tol=1e-10)),
    "CGEns": (DaskCGEnsClassifier(C=0.05, tol=1e-9), CGEnsClassifier(C=0.05, tol=1e-10)),
    "logistic": (DaskColumnGenerationClassifier(LOGISTIC, tol=1e-9), ColumnGenerationClassifier(LOGISTIC, tol=1e-10)),
}


def three_classes(n=60, seed=0):
    """A sample of three named classes, of which the first 10 rows have only two."""
    rng = np.random.default_rng(seed)
    X = np.round(2 * rng.normal(size=(n, 2))) / 2
    scores = np.stack([X[:, 0], X[:, 1], -X.sum(axis=1)], axis=1) + 0.5 * rng.normal(size=(n, 3))
    y = np.array(["oak", "ash", "linden"])[scores.argmax(axis=1)]
    y[:10] = np.where(y[:10] == "linden", "oak", y[:10])
    return X, y


def bits(model):
    certificate = model.certificate_
    numbers = certificate.primal, certificate.dual, certificate.rounding, certificate.residuals
    if hasattr(model, "weak_learners_"):
        return model.weak_learners_, model.weights_.tolist(), float(model.intercept_), numbers
    return model._predictor.values.tolist(), float(model.intercept_), numbers


def all_bits(model):
    return [bits(part) for part in model.estimators_]


@pytest.mark.parametrize("name", PAIRS)
def test_each_class_against_the_rest_has_the_optimum_of_one_machine_and_the_same_bits_for_all_shards(name):
    (over_shards, alone), (X, y) = PAIRS[name], three_classes()
    # samples of differing weights are of differing prices, that a formulation of fixed prices has not on one machine
    weights = np.ones(len(y)) if name == "logistic" else np.linspace(0.5, 2.0, len(y))
    weights[::7] = 0.0 if name == "LPBoost" else weights[::7]
    model = clone(over_shards).fit(cut(X, []), cut(y, []), cut(weights, []))
    with dask.config.set(scheduler="threads", num_workers=2):
        other = clone(over_shards).fit(*(cut(own, [10]) for own in (X, y, weights)))
    assert all_bits(other) == all_bits(model)
    alone = clone(alone).fit(X, y, weights)
    assert model.classes_.tolist() == alone.classes_.tolist() == ["ash", "linden", "oak"]
    assert len(model.estimators_) == 3
    for ours, theirs in zip(model.certificate_, alone.certificate_, strict=True):
        assert ours.holds(1e-9)
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-9)
    assert "60 rows in 2 shards" in other.certificate_[2].note
    assert [w.tolist() for w in model.weights_] == [part.weights_.tolist() for part in model.estimators_]
    assert [part.classes_.tolist() for part in model.estimators_] == [[0, 1]] * 3
    local = other.to_local()
    assert set(vars(local)) <= set(vars(alone))
    new = np.random.default_rng(5).normal(size=(30, 2))
    assert np.array_equal(model.decision_function(new), local.decision_function(new))
    assert np.array_equal(model.predict(new), local.predict(new))
    for again, ours in zip(local.certify(X, y, sample_weight=weights), model.certificate_, strict=True):
        assert again.primal == pytest.approx(ours.primal, rel=1e-9)
    assert local.to_text(3)


@pytest.fixture(scope="module")
def fitted():
    X, y = three_classes()
    with dask.config.set(scheduler="sync"):
        return DaskLPBoostClassifier(C=0.2, tol=1e-2).fit(cut(X, [10]), cut(y, [10]))


def test_scores_and_classes_are_lazy_and_of_the_shapes_that_they_say(fitted):
    new = np.random.default_rng(5).normal(size=(30, 2))
    local, frame = fitted.to_local(), dd.from_pandas(pd.DataFrame(new), npartitions=3)
    for X, rows in ((cut(new, [7, 7]), (7, 0, 23)), (da.from_array(new, chunks=(20, 1)), (20, 10)), (frame, None)):
        scores, classes = fitted.decision_function(X), fitted.predict(X)
        assert isinstance(scores, da.Array)
        assert scores.dtype == np.float64
        assert scores.chunks[1] == (3,)
        assert (scores.ndim, classes.ndim, classes.dtype) == (2, 1, fitted.classes_.dtype)
        if rows is not None:
            assert scores.chunks[0] == classes.chunks[0] == rows
        assert np.array_equal(scores.compute(), local.decision_function(new))
        assert np.array_equal(classes.compute(), local.predict(new))
    assert fitted.decision_function(cut(new, [7, 7]).blocks[1]).compute().shape == (0, 3)


def test_a_part_is_the_fit_to_its_class_and_rows_of_weight_0_do_not_make_a_class(fitted):
    X, y = three_classes()
    weights = np.where(y == "oak", 0.0, np.linspace(0.5, 2.0, len(y)))
    for part, name in zip(fitted.estimators_, fitted.classes_, strict=True):
        assert bits(part) == bits(clone(fitted).fit(cut(X, [30]), cut(y == name, [30])))
    two = clone(fitted).fit(cut(X, [30]), cut(y, [30]), cut(weights, [30]))
    assert two.classes_.tolist() == ["ash", "linden"]
    # a fit to two classes leaves nothing of one to several
    again = deepcopy(fitted).fit(cut(X, [30]), cut(y, [30]), cut(weights, [30]))
    assert bits(again) == bits(two)
    assert not hasattr(again, "estimators_")
    assert again.decision_function(X).shape == (60,)


def test_labels_of_more_than_100_classes_are_taken_for_targets():
    X = np.arange(202.0).reshape(101, 2)
    with pytest.raises(InvalidInput, match="y: found more than 100 classes of positive weight: 0, 1, 2, 3"):
        sharded(X, np.arange(101), [50])


def test_rows_are_read_and_coded_once_and_no_values_are_copied(monkeypatch, tmp_path):
    X, y = three_classes()
    calls = []
    code_part = shards.code_part
    monkeypatch.setattr(shards, "code_part", lambda *told: calls.append(1) or code_part(*told))
    model = DaskLPBoostClassifier(C=0.2, tol=0.1).fit(cut(X, [10, 30]), cut(y, [10, 30]))
    assert len(calls) == 3
    stored = DaskLPBoostClassifier(C=0.2, tol=0.1, persist=tmp_path / "shards").fit(cut(X, [9]), cut(y, [9]))
    assert len(calls) == 5
    assert all_bits(stored) == all_bits(model)
    sample = sharded(X, y, [10])
    first, _ = sample.workers.compute(sample.shards)
    problem = first.against_rest(1)
    assert problem.values is first.values
    assert problem.codes is first.codes
    assert problem.y.tolist() == [-1.0] * 10
    with pytest.raises(InvalidInput, match="sample: found 3 classes"):
        sample.ask(lambda shard: shard.y)


def test_a_warm_start_is_each_sub_problem_s_own(fitted):
    X, y = three_classes()
    model = clone(fitted).set_params(warm_start=True).fit(cut(X, [20]), cut(y, [20]))
    rounds = [len(own) for own in model.history_]
    model.fit(cut(X, [50]), cut(y, [50]))
    assert all(len(own) < before for own, before in zip(model.history_, rounds, strict=True))
    assert all(own.holds(1e-2) for own in model.certificate_)
    # of other classes there is nothing to start from
    model.fit(cut(X, [50]), cut(np.char.upper(y), [50]))
    assert [len(own) for own in model.history_] == rounds
    with pytest.raises(InvalidInput, match="X: found 1 features for weak learners of 2"):
        model.fit(cut(X[:, :1], [50]), cut(np.char.upper(y), [50]))
    # a fit that fails leaves the estimator as it was
    assert len(model.estimators_) == 3


def test_a_limit_of_time_is_of_each_sub_problem_and_each_has_its_checkpoint(fitted, tmp_path):
    X, y = three_classes()
    model = clone(fitted).set_params(max_columns=4, checkpoint=tmp_path / "fit.checkpoint")
    with pytest.warns(ConvergenceWarning, match="max_columns") as told:
        model.fit(cut(X, [20]), cut(y, [20]))
    assert len(told) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"fit.checkpoint.{k}" for k in range(3)]
    model.set_params(max_columns=None).fit(cut(X, [3, 30]), cut(y, [3, 30]))
    for own, whole in zip(model.certificate_, fitted.certificate_, strict=True):
        assert own.holds(fitted.tol)
        assert own.primal == pytest.approx(whole.primal, rel=2 * fitted.tol)
    with pytest.warns(ConvergenceWarning, match="max_time") as told:
        short = clone(fitted).set_params(max_time=1e-9, tol=1e-9).fit(cut(X, [20]), cut(y, [20]))
    assert len(told) == 3
    assert [own.dual <= own.primal for own in short.certificate_] == [True] * 3


def test_the_additive_machine_has_a_machine_for_each_class():
    X, y = three_classes(24)
    X = np.round(X)
    one, many = (DaskInfiniteEnsembleSVC(tol=1e-9).fit(cut(X, ends), cut(y, ends)) for ends in ([], [10, 12]))
    assert all_bits(one) == all_bits(many)
    alone = InfiniteEnsembleSVC(tol=1e-10).fit(X, y)
    for ours, theirs in zip(one.certificate_, alone.certificate_, strict=True):
        assert ours.holds(1e-9)
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-9)
    assert np.allclose(one.C_, alone.C_, rtol=1e-9)
    local, new = one.to_local(), np.random.default_rng(3).normal(size=(20, 2))
    assert np.array_equal(one.decision_function(cut(new, [8])).compute(), local.decision_function(new))
    assert np.array_equal(one.predict(cut(new, [8])).compute(), local.predict(new))
    assert [len(own) for own in one.shape_functions_] == [len(own) for own in local.shape_functions_] == [2] * 3
