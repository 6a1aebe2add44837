import warnings
from shutil import copyfile

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_samples import cut, sharded, two_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from cvxens import CGEnsClassifier, ColumnGenerationClassifier, LPBoostClassifier, load_model
from cvxens.colgen import Formulation
from cvxens.colgen.oracles import QuantileStumps
from cvxens.dask import DaskCGEnsClassifier, DaskColumnGenerationClassifier, DaskLPBoostClassifier, drawn
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Stump
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1, SquaredL2

LOGISTIC = Formulation(Logistic(0.3), L1(), intercept=True)

PAIRS = {
    "LPBoost": (DaskLPBoostClassifier(C=0.2, tol=1e-5), LPBoostClassifier(C=0.2, tol=1e-8)),
    "CGEns": (DaskCGEnsClassifier(C=0.05, tol=1e-5), CGEnsClassifier(C=0.05, tol=1e-8)),
    "default": (DaskColumnGenerationClassifier(tol=1e-5), ColumnGenerationClassifier(tol=1e-8)),
    "logistic": (DaskColumnGenerationClassifier(LOGISTIC, tol=1e-5), ColumnGenerationClassifier(LOGISTIC, tol=1e-8)),
}


def words(y):
    return np.where(y > 0, "yes", "no")


def bits(model):
    certificate = model.certificate_
    numbers = certificate.primal, certificate.dual, certificate.rounding, certificate.residuals
    return model.weak_learners_, model.weights_.tolist(), float(model.intercept_), numbers


@pytest.mark.parametrize("name", PAIRS)
def test_an_estimator_over_shards_is_the_one_of_one_machine(name, tmp_path):
    (over_shards, alone), (X, y) = PAIRS[name], two_classes(50, 2)
    model = clone(over_shards).fit(cut(X, [20]), cut(words(y), [20]))
    alone = clone(alone).fit(X, words(y))
    assert model.certificate_.holds(1e-5)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-5)
    assert "50 rows in 2 shards" in model.certificate_.note
    local = model.to_local()
    assert type(local) is type(alone)
    new = np.random.default_rng(5).normal(size=(30, 2))
    scores, classes = model.decision_function(cut(new, [7, 7])), model.predict(cut(new, [7, 7]))
    assert isinstance(scores, da.Array)
    assert isinstance(classes, da.Array)
    assert np.array_equal(scores.compute(), local.decision_function(new))
    assert np.array_equal(classes.compute(), local.predict(new))
    assert np.array_equal(model.predict(new), local.predict(new))
    certificate = local.certify(X, words(y))
    assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert local.to_text(3)
    local.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").decision_function(new), local.decision_function(new))


def test_squared_weights_over_quantiles_of_many_values_have_the_optimum_of_one_machine_to_the_last_digits():
    X, y = two_classes(300, 2)
    alone = CGEnsClassifier(C=0.05, tol=1e-9).fit(X, y)
    models = [DaskCGEnsClassifier(C=0.05, tol=1e-9).fit(cut(X, ends), cut(y, ends)) for ends in ([], [7, 150])]
    assert bits(models[0]) == bits(models[1])
    assert models[0].certificate_.holds(1e-9)
    assert models[0].certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-9)
    assert {(h.feature, h.threshold) for h in models[0].weak_learners_ if isinstance(h, Stump)} <= {
        (h.feature, h.threshold) for h in QuantileStumps(X).hypotheses if isinstance(h, Stump)
    }


def test_data_frames_give_the_same_bits_and_their_names_are_kept():
    X, y = two_classes(50, 2)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, w=1.0)
    table = dd.from_pandas(frame, npartitions=3)
    model = DaskLPBoostClassifier(C=0.2).fit(table[["a", "b"]], table["y"], table["w"])
    assert bits(model) == bits(DaskLPBoostClassifier(C=0.2).fit(cut(X, []), cut(y, [])))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert "b" in model.to_local().to_text()
    assert np.array_equal(model.predict(table[["a", "b"]]).compute(), model.predict(X))
    with pytest.raises(InvalidInput, match="X: found the columns"):
        model.predict(table[["b", "a"]])


def test_parquet_files_are_shards_whatever_columns_are_read_of_them(tmp_path):
    X, y = two_classes(40, 2)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, **{f"unused {k}": 1.0 for k in range(20)})
    for k in range(4):
        frame[10 * k : 10 * k + 10].to_parquet(tmp_path / f"{k}.parquet")
    table = dd.read_parquet(tmp_path)
    model = DaskLPBoostClassifier(C=0.2, tol=0.1).fit(table[["a", "b"]], table["y"])
    assert bits(model) == bits(DaskLPBoostClassifier(C=0.2, tol=0.1).fit(cut(X, []), cut(y, [])))


def test_shards_in_files_and_shards_that_are_not_kept_give_the_same_bits(tmp_path):
    X, y = two_classes(30, 2)
    ends = [], [9, 9], [9, 20]
    models = [
        DaskLPBoostClassifier(C=0.2, persist=persist).fit(cut(X, own), cut(y, own))
        for persist, own in zip((True, tmp_path / "shards", False), ends, strict=True)
    ]
    assert bits(models[0]) == bits(models[1]) == bits(models[2])
    assert len(list(tmp_path.glob("shards/*"))) == 3


def test_a_fit_starts_from_rows_that_are_drawn_of_many_and_is_the_same_bits_for_all_shards(monkeypatch):
    X, y = two_classes(60, 2)
    alone = LPBoostClassifier(C=0.3, tol=1e-8).fit(X, y)
    monkeypatch.setattr(drawn, "MANY_ROWS", 50)
    monkeypatch.setattr(drawn, "N_DRAWN", 30)
    models = [DaskLPBoostClassifier(C=0.3, tol=1e-4).fit(cut(X, ends), cut(y, ends)) for ends in ([], [1, 40])]
    assert bits(models[0]) == bits(models[1])
    assert models[0].history_[0].size > 2
    assert models[0].certificate_.holds(1e-4)
    assert models[0].certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-4)
    few = DaskCGEnsClassifier(C=0.1, tol=1e-6).fit(cut(X, [9]), cut(y, [9]))
    assert few.certificate_.primal == pytest.approx(CGEnsClassifier(C=0.1, tol=1e-8).fit(X, y).certificate_.primal)


def test_weak_learners_of_other_rows_become_the_middle_stumps_of_these():
    X, y = np.array([[0.0, 1.0], [1.0, 1.5], [3.0, 2.0], [4.0, 2.5]]), np.array([0, 0, 1, 1])
    given = Stump(0, 1.2, 1), Stump(0, 2.9, 1), Stump(1, 9.0, 1), Stump(1, 0.5, 1), Constant(-1), Stump(0, 3.5, -1)
    start = drawn.Start(given, np.arange(1.0, 7.0), 0.5, 1.0)
    settled = drawn.settle(start, sharded(X, y, [1]))
    expected = {Stump(0, 2.0, 1): 3.0, Constant(-1): 8.0, Constant(1): 4.0, Stump(0, 3.5, -1): 6.0}
    assert dict(zip(settled.hypotheses, settled.w.tolist(), strict=True)) == expected
    assert settled.b == 0.5


def test_a_fit_goes_on_from_its_checkpoint_over_other_shards(tmp_path):
    X, y = two_classes(60, 3)
    whole = DaskLPBoostClassifier(C=0.3, tol=1e-4).fit(cut(X, []), cut(y, []))
    model = DaskLPBoostClassifier(C=0.3, tol=1e-4, max_columns=6, checkpoint=tmp_path / "fit.checkpoint")
    with pytest.warns(ConvergenceWarning, match="max_columns"):
        model.fit(cut(X, [20]), cut(y, [20]))
    first = model.certificate_.primal
    with pytest.warns(ConvergenceWarning, match="max_columns"):
        model.fit(cut(X, [1, 2]), cut(y, [1, 2]))
    assert model.certificate_.primal <= first * (1 + 1e-9)
    model.set_params(max_columns=None)
    found = []
    for ends in ([], [3, 30, 50]):
        copyfile(tmp_path / "fit.checkpoint", tmp_path / f"{len(ends)}")
        found.append(bits(model.set_params(checkpoint=tmp_path / f"{len(ends)}").fit(cut(X, ends), cut(y, ends))))
        assert model.certificate_.holds(1e-4)
        assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-4)
    assert found[0] == found[1]


def test_a_warm_start_offers_the_weak_learners_of_the_last_fit():
    X, y = two_classes(60, 2)
    model = DaskLPBoostClassifier(C=0.3, tol=1e-4, warm_start=True).fit(cut(X, [20]), cut(y, [20]))
    rounds, primal = len(model.history_), model.certificate_.primal
    known = {h for h, w in zip(model.weak_learners_, model.weights_, strict=True) if w}
    model.fit(cut(X, [50]), cut(y, [50]))
    assert len(known & set(model.weak_learners_[: len(known) + 3])) > len(known) / 2
    assert len(model.history_) < rounds
    assert model.certificate_.primal == pytest.approx(primal, rel=2e-4)
    # also where the sample has no such middle stumps; those of quantiles that it has not are left out
    other, labels = two_classes(50, 2, seed=1)
    assert model.fit(cut(other, [9]), cut(labels, [9])).certificate_.holds(1e-4)
    few = DaskCGEnsClassifier(C=0.1, warm_start=True).fit(cut(X, [9]), cut(y, [9]))
    assert few.fit(cut(other, [9]), cut(labels, [9])).certificate_.holds(1e-3)
    with pytest.raises(InvalidInput, match="X: found 1 features for weak learners of 2"):
        model.fit(cut(X[:, :1], [50]), cut(y, [50]))


def test_a_function_of_the_weights_makes_the_formulation_as_on_one_machine():
    X, y = two_classes(50, 2)
    weights = np.linspace(0.5, 2.0, 50)

    def logistic(weights):
        return Formulation(Logistic(0.3 * weights), L1(), intercept=True)

    model = DaskColumnGenerationClassifier(logistic, tol=1e-5).fit(cut(X, [20]), cut(y, [20]), cut(weights, [20]))
    alone = ColumnGenerationClassifier(logistic, tol=1e-8).fit(X, y, weights)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-5)
    with pytest.raises(InvalidInput, match="formulation: found prices"):
        model.set_params(formulation=lambda weights: Formulation(Logistic(weights**2), L1())).fit(
            cut(X, [20]), cut(y, [20])
        )


def test_weights_of_0_leave_rows_out():
    X, y = two_classes(50, 2)
    weights = np.where(np.arange(50) % 5, 1.0, 0.0)
    model = DaskLPBoostClassifier().fit(cut(X, [20]), cut(y, [20]), cut(weights, [20]))
    kept = weights > 0
    assert bits(model) == bits(DaskLPBoostClassifier().fit(cut(X[kept], []), cut(y[kept], [])))


def test_what_is_asked_for_has_to_be_there():
    X, y = two_classes(30, 2)
    with pytest.raises(NotFittedError):
        DaskLPBoostClassifier().predict(X)
    with pytest.raises(InvalidInput, match="oracle: found 'trees'"):
        DaskLPBoostClassifier(oracle="trees").fit(cut(X, []), cut(y, []))
    with pytest.raises(InvalidInput, match="oracle: found 'stumps' with a squared l2 penalty"):
        DaskColumnGenerationClassifier(Formulation(Logistic(0.3), SquaredL2())).fit(cut(X, []), cut(y, []))
    model = DaskLPBoostClassifier(C=0.3).fit(cut(X, []), cut(y, []))
    with pytest.raises(InvalidInput, match="X: found 1 features"):
        model.predict(X[:, :1])
    with pytest.raises(InvalidInput, match="nu: found"):
        DaskLPBoostClassifier(nu=0.1).fit(cut(X, []), cut(y, []))
    with pytest.raises(InvalidInput, match="C: found -1"):
        model.set_params(C=-1.0).fit(cut(X, []), cut(y, []))
    # a fit that fails leaves the estimator as it was
    assert model.certificate_.holds(1e-3)


def test_a_fit_without_remarks_warns_of_nothing():
    X, y = two_classes(30, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert DaskLPBoostClassifier(C=0.3).fit(cut(X, [10]), cut(y, [10])).history_
