"""The estimators over shards: those of one machine, and the same bits however rows are cut."""

import warnings
from copy import deepcopy
from shutil import copyfile

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_samples import bits, cut, fit, sharded, three_classes, two_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from cvxens import CGEnsClassifier, ColumnGenerationClassifier, InfiniteEnsembleSVC, LPBoostClassifier, load_model
from cvxens.colgen import Formulation
from cvxens.colgen.oracles import QuantileStumps
from cvxens.dask import (
    DaskCGEnsClassifier,
    DaskColumnGenerationClassifier,
    DaskInfiniteEnsembleSVC,
    DaskLPBoostClassifier,
    estimators,
    shards,
)
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Stump
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1, SquaredL2

LOGISTIC = Formulation(Logistic(0.3), L1(), intercept=True)

PAIRS = {
    "LPBoost": (DaskLPBoostClassifier(C=0.2), LPBoostClassifier(C=0.2)),
    "CGEns": (DaskCGEnsClassifier(C=0.05), CGEnsClassifier(C=0.05)),
    "default": (DaskColumnGenerationClassifier(), ColumnGenerationClassifier()),
    "logistic": (DaskColumnGenerationClassifier(LOGISTIC), ColumnGenerationClassifier(LOGISTIC)),
    "stump SVM": (DaskInfiniteEnsembleSVC(), InfiniteEnsembleSVC()),
}


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("name", "several"),
    [*((name, False) for name in PAIRS), *((name, True) for name in ("LPBoost", "CGEns", "stump SVM"))],
)
def test_an_estimator_over_shards_is_the_one_of_one_machine_and_the_same_bits_for_all_shards(name, several, tmp_path):
    (model, alone), (X, y) = map(clone, PAIRS[name]), three_classes() if several else two_classes(50, 2)
    y = y if several else np.where(y > 0, "yes", "no")
    # on one machine, too, smooth losses over as many stumps as these end at less
    tol = 1e-5 if name in {"default", "logistic"} else 1e-6 if several else 1e-9
    # samples of differing weights are of differing prices, that a formulation of fixed prices has not on one machine
    weights = np.ones(len(y)) if name == "logistic" else np.linspace(0.5, 2.0, len(y))
    weights[::7] = 0.0 if name == "LPBoost" else weights[::7]
    fit(model.set_params(tol=tol), [20], X, y, weights)
    with dask.config.set(scheduler="threads", num_workers=2):
        assert bits(fit(clone(model), [10, 10, 31], X, y, weights)) == bits(model)
    alone.set_params(tol=max(tol / 10, 2e-10)).fit(X, y, weights)
    assert model.classes_.tolist() == alone.classes_.tolist()
    local = model.to_local()
    assert type(local) is type(alone)
    assert set(vars(local)) <= set(vars(alone))
    ours, theirs = (found if several else [found] for found in (model.certificate_, alone.certificate_))
    for own, other in zip(ours, theirs, strict=True):
        assert own.holds(tol)
        assert own.primal == pytest.approx(other.primal, rel=tol)
    assert f"{len(y)} rows in 2 shards" in ours[-1].note
    if several:
        assert [part.classes_.tolist() for part in model.estimators_] == [[0, 1]] * 3
        assert [float(b) for b in model.intercept_] == [float(part.intercept_) for part in model.estimators_]
    new = np.random.default_rng(5).normal(size=(30, 2))
    assert np.array_equal(model.decision_function(new), local.decision_function(new))
    assert np.array_equal(model.predict(new), local.predict(new))
    if name == "stump SVM":
        with pytest.raises(InvalidInput, match="where coefficients stayed"):
            local.certify(X, y, sample_weight=weights)
    else:
        again = local.certify(X, y, sample_weight=weights)
        assert np.allclose([c.primal for c in (again if several else [again])], [c.primal for c in ours], rtol=1e-9)
        assert local.to_text(3)
    local.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").decision_function(new), local.decision_function(new))


@pytest.fixture(scope="module")
def fitted():
    """Fits to two classes and to three."""
    model = DaskLPBoostClassifier(C=0.2, tol=1e-2)
    with dask.config.set(scheduler="sync"):
        return [fit(clone(model), [10], *rows) for rows in (two_classes(50, 2), three_classes())]


@pytest.mark.parametrize("several", [False, True])
def test_scores_and_classes_are_lazy_and_of_the_shapes_that_they_say(fitted, several):
    model, new = fitted[several], np.random.default_rng(5).normal(size=(30, 2))
    local, frame = model.to_local(), dd.from_pandas(pd.DataFrame(new), npartitions=3)
    columns = (3,) if several else ()
    for X, rows in ((cut(new, [7, 7]), (7, 0, 23)), (da.from_array(new, chunks=(20, 1)), (20, 10)), (frame, None)):
        scores, classes = model.decision_function(X), model.predict(X)
        assert isinstance(scores, da.Array)
        assert scores.dtype == np.float64
        assert scores.chunks[1:] == tuple((n,) for n in columns)
        assert (classes.ndim, classes.dtype) == (1, model.classes_.dtype)
        if rows is not None:
            assert scores.chunks[0] == classes.chunks[0] == rows
        assert np.array_equal(scores.compute(), local.decision_function(new))
        assert np.array_equal(classes.compute(), local.predict(new))
    assert model.decision_function(cut(new, [7, 7]).blocks[1]).compute().shape == (0, *columns)


def test_a_part_is_the_fit_to_its_class_and_rows_of_weight_0_do_not_make_a_class(fitted):
    (_, model), (X, y) = fitted, three_classes()
    weights = np.where(y == "oak", 0.0, np.linspace(0.5, 2.0, len(y)))
    for part, name in zip(model.estimators_, model.classes_, strict=True):
        assert bits(part) == bits(fit(clone(model), [30], X, y == name))
    two = fit(clone(model), [30], X, y, weights)
    assert two.classes_.tolist() == ["ash", "linden"]
    # a fit to two classes leaves nothing of one to several
    again = fit(deepcopy(model), [30], X, y, weights)
    assert bits(again) == bits(two)
    assert not hasattr(again, "estimators_")
    assert again.decision_function(X).shape == (60,)
    assert bits(fit(clone(model), [], X[weights > 0], y[weights > 0], weights[weights > 0])) == bits(two)


def test_squared_weights_over_quantiles_of_many_values_have_the_optimum_of_one_machine_to_the_last_digits():
    X, y = two_classes(300, 2)
    alone = CGEnsClassifier(C=0.05, tol=1e-9).fit(X, y)
    models = [fit(DaskCGEnsClassifier(C=0.05, tol=1e-9), ends, X, y) for ends in ([], [7, 150])]
    assert bits(models[0]) == bits(models[1])
    assert models[0].certificate_.holds(1e-9)
    assert models[0].certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-9)
    assert {(h.feature, h.threshold) for h in models[0].weak_learners_ if isinstance(h, Stump)} <= {
        (h.feature, h.threshold) for h in QuantileStumps(X).hypotheses if isinstance(h, Stump)
    }


def test_data_frames_and_parquet_files_give_the_same_bits_and_their_names_are_kept(tmp_path):
    X, y = two_classes(50, 2)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, w=1.0, **{f"unused {k}": 1.0 for k in range(20)})
    for k in range(5):
        frame[10 * k : 10 * k + 10].to_parquet(tmp_path / f"{k}.parquet")
    known = bits(fit(DaskLPBoostClassifier(C=0.2), [], X, y))
    for table in (dd.from_pandas(frame, npartitions=3), dd.read_parquet(tmp_path)):
        model = DaskLPBoostClassifier(C=0.2).fit(table[["a", "b"]], table["y"], table["w"])
        assert bits(model) == known
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert "b" in model.to_local().to_text()
    assert np.array_equal(model.predict(table[["a", "b"]]).compute(), model.predict(X))
    with pytest.raises(InvalidInput, match="X: found the columns"):
        model.predict(table[["b", "a"]])


def test_rows_are_read_and_coded_once_wherever_shards_are_kept_and_no_values_are_copied(monkeypatch, tmp_path):
    X, y = three_classes()
    calls = []
    code_part = shards.code_part
    monkeypatch.setattr(shards, "code_part", lambda *told: calls.append(1) or code_part(*told))
    model = fit(DaskLPBoostClassifier(C=0.2, tol=0.1), [10, 30], X, y)
    assert len(calls) == 3
    assert bits(fit(clone(model).set_params(persist=tmp_path / "shards"), [9], X, y)) == bits(model)
    assert len(calls) == 5
    assert len(list(tmp_path.glob("shards/*"))) == 2
    assert bits(fit(clone(model).set_params(persist=False), [9, 20], X, y)) == bits(model)
    assert len(calls) > 20
    sample = sharded(X, y, [10])
    first, _ = sample.workers.compute(sample.shards)
    problem = first.against_rest(1)
    assert problem.values is first.values
    assert problem.codes is first.codes
    assert problem.y.tolist() == [-1.0] * 10
    with pytest.raises(InvalidInput, match="sample: found 3 classes"):
        sample.map_reduce(lambda shard: shard.y)


def test_a_fit_starts_from_rows_that_are_drawn_of_many_and_is_the_same_bits_for_all_shards(monkeypatch):
    X, y = two_classes(60, 2)
    alone = LPBoostClassifier(C=0.3, tol=1e-8).fit(X, y)
    monkeypatch.setattr(estimators, "MANY_ROWS", 50)
    monkeypatch.setattr(estimators, "N_DRAWN", 30)
    models = [fit(DaskLPBoostClassifier(C=0.3, tol=1e-4), ends, X, y) for ends in ([], [1, 40])]
    assert bits(models[0]) == bits(models[1])
    assert models[0].history_[0].size > 2
    assert models[0].certificate_.holds(1e-4)
    assert models[0].certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-4)
    few = fit(DaskCGEnsClassifier(C=0.1, tol=1e-6), [9], X, y)
    assert few.certificate_.primal == pytest.approx(CGEnsClassifier(C=0.1, tol=1e-8).fit(X, y).certificate_.primal)


def test_weak_learners_of_other_rows_become_the_middle_stumps_of_these():
    X, y = np.array([[0.0, 1.0], [1.0, 1.5], [3.0, 2.0], [4.0, 2.5]]), np.array([0, 0, 1, 1])
    given = Stump(0, 1.2, 1), Stump(0, 2.9, 1), Stump(1, 9.0, 1), Stump(1, 0.5, 1), Constant(-1), Stump(0, 3.5, -1)
    start = estimators.Start(given, np.arange(1.0, 7.0), 0.5, 1.0)
    snapped = estimators.snap_to_sample(start, sharded(X, y, [1]))
    expected = {Stump(0, 2.0, 1): 3.0, Constant(-1): 8.0, Constant(1): 4.0, Stump(0, 3.5, -1): 6.0}
    assert dict(zip(snapped.hypotheses, snapped.w.tolist(), strict=True)) == expected
    assert snapped.b == 0.5


def test_a_fit_goes_on_from_its_checkpoint_over_other_shards_and_each_sub_problem_has_its_own(fitted, tmp_path):
    X, y = two_classes(60, 3)
    whole = fit(DaskLPBoostClassifier(C=0.3, tol=1e-4), [], X, y)
    model = clone(whole).set_params(max_columns=6, checkpoint=tmp_path / "fit.checkpoint")
    with pytest.warns(ConvergenceWarning, match="max_columns"):
        first = fit(model, [20], X, y).certificate_.primal
    with pytest.warns(ConvergenceWarning, match="max_columns"):
        assert fit(model, [1, 2], X, y).certificate_.primal <= first * (1 + 1e-9)
    model.set_params(max_columns=None)
    found = []
    for ends in ([], [3, 30, 50]):
        path = copyfile(tmp_path / "fit.checkpoint", tmp_path / f"{len(ends)}")
        found.append(bits(fit(model.set_params(checkpoint=path), ends, X, y)))
        assert model.certificate_.holds(1e-4)
        assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-4)
    assert found[0] == found[1]
    several = clone(fitted[1]).set_params(max_columns=4, checkpoint=tmp_path / "several")
    with pytest.warns(ConvergenceWarning, match="max_columns") as told:
        fit(several, [20], *three_classes())
    assert len(told) == 3
    assert sorted(path.name for path in tmp_path.glob("several*")) == [f"several.{k}" for k in range(3)]
    fit(several.set_params(max_columns=None), [3, 30], *three_classes())
    for own, other in zip(several.certificate_, fitted[1].certificate_, strict=True):
        assert own.holds(several.tol)
        assert own.primal == pytest.approx(other.primal, rel=2 * several.tol)


def test_a_limit_of_time_is_of_each_sub_problem(fitted):
    with pytest.warns(ConvergenceWarning, match="max_time") as told:
        short = fit(clone(fitted[1]).set_params(max_time=1e-9, tol=1e-9), [20], *three_classes())
    assert len(told) == 3
    assert [own.dual <= own.primal for own in short.certificate_] == [True] * 3


def test_a_warm_start_offers_the_weak_learners_of_the_last_fit():
    X, y = two_classes(60, 2)
    model = fit(DaskLPBoostClassifier(C=0.3, tol=1e-4, warm_start=True), [20], X, y)
    rounds, primal = len(model.history_), model.certificate_.primal
    known = {h for h, w in zip(model.weak_learners_, model.weights_, strict=True) if w}
    fit(model, [50], X, y)
    assert len(known & set(model.weak_learners_[: len(known) + 3])) > len(known) / 2
    assert len(model.history_) < rounds
    assert model.certificate_.primal == pytest.approx(primal, rel=2e-4)
    # also where the sample has no such middle stumps; those of quantiles that it has not are left out
    other, labels = two_classes(50, 2, seed=1)
    assert fit(model, [9], other, labels).certificate_.holds(1e-4)
    few = fit(DaskCGEnsClassifier(C=0.1, warm_start=True), [9], X, y)
    assert fit(few, [9], other, labels).certificate_.holds(1e-3)
    with pytest.raises(InvalidInput, match="X: found 1 features for weak learners of 2"):
        fit(model, [50], X[:, :1], y)


def test_a_warm_start_is_each_sub_problem_s_own(fitted):
    X, y = three_classes()
    model = fit(clone(fitted[1]).set_params(warm_start=True), [20], X, y)
    rounds = [len(own) for own in model.history_]
    fit(model, [50], X, y)
    assert all(len(own) < before for own, before in zip(model.history_, rounds, strict=True))
    assert all(own.holds(1e-2) for own in model.certificate_)
    # of other classes there is nothing to start from
    fit(model, [50], X, np.char.upper(y))
    assert [len(own) for own in model.history_] == rounds
    with pytest.raises(InvalidInput, match="X: found 1 features for weak learners of 2"):
        fit(model, [50], X[:, :1], np.char.upper(y))
    # a fit that fails leaves the estimator as it was
    assert len(model.estimators_) == 3


def test_a_function_of_the_weights_makes_the_formulation_as_on_one_machine():
    X, y = two_classes(50, 2)
    weights = np.linspace(0.5, 2.0, 50)

    def logistic(weights):
        return Formulation(Logistic(0.3 * weights), L1(), intercept=True)

    model = fit(DaskColumnGenerationClassifier(logistic, tol=1e-5), [20], X, y, weights)
    alone = ColumnGenerationClassifier(logistic, tol=1e-8).fit(X, y, weights)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-5)
    with pytest.raises(InvalidInput, match="formulation: found prices"):
        fit(model.set_params(formulation=lambda weights: Formulation(Logistic(weights**2), L1())), [20], X, y)


def test_what_is_asked_for_has_to_be_there():
    X, y = two_classes(30, 2)
    with pytest.raises(NotFittedError):
        DaskLPBoostClassifier().predict(X)
    with warnings.catch_warnings():
        # a fit without remarks warns of nothing
        warnings.simplefilter("error")
        model = fit(DaskLPBoostClassifier(C=0.3), [10], X, y)
    squared = DaskColumnGenerationClassifier(Formulation(Logistic(0.3), SquaredL2()))
    for given, told in (
        (DaskLPBoostClassifier(oracle="trees"), "oracle: found 'trees'"),
        (squared, "oracle: found 'stumps' with a squared l2 penalty"),
        (DaskLPBoostClassifier(nu=0.1), "nu: found"),
        (DaskInfiniteEnsembleSVC(C="large"), "C: found 'large'"),
        (model.set_params(C=-1.0), "C: found -1"),
    ):
        with pytest.raises(InvalidInput, match=told):
            fit(given, [], X, y)
    with pytest.raises(InvalidInput, match="X: found 1 features"):
        model.predict(X[:, :1])
    # a fit that fails leaves the estimator as it was
    assert model.certificate_.holds(1e-3)
