"""Data frames with nominal columns: taken by trees, told apart by type, refused by what wants numbers."""

from itertools import islice

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimator_samples import called
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from cvxens import (
    AdaBoostClassifier,
    CGEnsClassifier,
    CGEnsSLSClassifier,
    ColumnGenerationClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    load_model,
)
from cvxens.colgen import boosting_steps, gathered
from cvxens.colgen.oracles import Trees
from cvxens.errors import InvalidInput
from cvxens.trees import Feature

random = np.random.default_rng(0)
N = 80
TOWN, AGE, FLAG = random.choice(["Ulm", "Bonn", "Rome"], N), random.normal(size=N).round(1), random.random(N) < 0.5
Y = np.where((TOWN == "Ulm") & (AGE > 0) | FLAG & (TOWN == "Bonn"), "yes", "no")
THREE = np.where(TOWN == "Rome", "rome", Y)
CELLS = {
    "age": [None if i == 3 else v for i, v in enumerate(AGE.tolist())],
    "town": [None if i == 5 else v for i, v in enumerate(TOWN.tolist())],
    "flag": FLAG.tolist(),
}
FRAMES = {
    "strings": pd.DataFrame(CELLS),
    "objects": pd.DataFrame(CELLS).astype({"town": object}),
    "categories": pd.DataFrame(CELLS).astype({"town": "category", "flag": "category"}),
    "nullable": pd.DataFrame(CELLS).convert_dtypes(),
    "polars": pl.DataFrame(CELLS),
    "polars categories": pl.DataFrame(CELLS).with_columns(pl.col("town").cast(pl.Categorical)),
    "polars enumeration": pl.DataFrame(CELLS).with_columns(pl.col("town").cast(pl.Enum(["Rome", "Bonn", "Ulm"]))),
}
X = FRAMES["strings"]
FEATURES = (Feature("age"), Feature("town", ("Bonn", "Rome", "Ulm")), Feature("flag", ("False", "True")))
TREES = [
    AdaBoostClassifier("trees", n_rounds=4),
    LPBoostClassifier(oracle=Trees, tol=0.05),
    CGEnsClassifier(oracle="trees", tol=0.05),
    CGEnsSLSClassifier(oracle="trees", tol=0.05),
    ColumnGenerationClassifier(oracle="trees", tol=0.05),
]
each = pytest.mark.parametrize("estimator", TREES, ids=called)


@parametrize_with_checks(TREES[:1])
def test_scikit_learn_checks_with_trees(estimator, check):
    assert check(estimator) is None


@each
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_all_frames_are_one_to_every_estimator(estimator, y):
    fitted = clone(estimator).fit(X, y)
    scores = fitted.decision_function(X)
    assert fitted.features_ == FEATURES
    assert list(fitted.feature_names_in_) == ["age", "town", "flag"]
    assert fitted.n_features_in_ == 3
    assert fitted.score(X, y) > 0.9
    for frame in FRAMES.values():
        again = clone(estimator).fit(frame, y)
        assert again.features_ == FEATURES
        np.testing.assert_array_equal(again.decision_function(X), scores)
        np.testing.assert_array_equal(fitted.decision_function(frame), scores)


def test_boosting_is_that_of_the_oracle_on_the_frame():
    distinct = X.assign(age=random.normal(size=N))
    steps = boosting_steps(Trees(distinct), np.where(Y == "yes", 1.0, -1.0))
    boosted = gathered(islice(steps, 4), N)
    fitted = AdaBoostClassifier("trees", n_rounds=4).fit(distinct, Y)
    np.testing.assert_allclose(fitted.weights_, boosted.weights, rtol=1e-9)
    assert [str(h.tree) for h in fitted.weak_learners_] == [str(h.tree) for h in boosted.hypotheses]
    scores = sum(w * h(distinct) for w, h in zip(boosted.weights, boosted.hypotheses, strict=True))
    np.testing.assert_allclose(fitted.decision_function(distinct), scores, rtol=1e-9)
    assert "town = Bonn" in fitted.to_text(1)


@each
def test_unknown_categories_are_missing(estimator):
    fitted = clone(estimator).fit(X, Y)
    unknown, missing = X.assign(town="Atlantis"), X.assign(town=pd.Series([None] * N, dtype="str"))
    np.testing.assert_array_equal(fitted.decision_function(unknown), fitted.decision_function(missing))


def test_types_decide_what_is_nominal():
    codes, levels = random.choice(["1", "2", "3"], N), random.choice([1, 2], N)
    numerals = pd.DataFrame({"code": codes, "level": pd.Categorical(levels)})
    fitted = AdaBoostClassifier("trees", n_rounds=2).fit(numerals.assign(age=AGE), Y)
    assert fitted.features_ == (Feature("code", ("1", "2", "3")), Feature("level", ("1", "2")), Feature("age"))
    void = X.assign(void=pd.Series([None] * N, dtype=object))
    assert AdaBoostClassifier("trees", n_rounds=2).fit(void, Y).features_[-1] == Feature("void", ())


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_files_keep_the_categories(y, tmp_path):
    fitted = LPBoostClassifier(oracle="trees", tol=0.05).fit(X, y)
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.features_ == FEATURES
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    with pytest.raises(InvalidInput, match="no data frame"):
        again.predict(X.to_numpy())


@each
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_fitted_ones_are_certified_on_frames(estimator, y):
    fitted = clone(estimator).fit(X, y)
    certificates = fitted.certify(X, y)
    primal = [c.primal for c in certificates] if isinstance(certificates, list) else certificates.primal
    known = fitted.certificate_
    assert primal == pytest.approx([c.primal for c in known] if isinstance(known, list) else known.primal)


def test_weights_count_the_rows_of_a_frame():
    weights = random.integers(0, 3, N)
    weighted = LPBoostClassifier(oracle="trees", tol=0.05).fit(X, Y, sample_weight=weights)
    repeated = LPBoostClassifier(oracle="trees", tol=0.05).fit(X.iloc[np.arange(N).repeat(weights)], Y.repeat(weights))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X))


def test_columns_have_to_be_those_of_the_fit():
    fitted = AdaBoostClassifier("trees", n_rounds=2).fit(X, Y)
    for other in (X[["town", "age", "flag"]], X.rename(columns={"town": "city"})):
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(other)
    with pytest.raises(ValueError, match="feature"):
        fitted.predict(X[["age", "town"]])
    with pytest.raises(InvalidInput, match="X: found values of 'age' that are not finite numbers"):
        fitted.predict(X.assign(age="old"))


def test_a_fit_to_numbers_forgets_the_categories():
    model = AdaBoostClassifier("trees", n_rounds=2).fit(X, Y)
    model.fit(np.column_stack([AGE, FLAG]), Y)
    assert not hasattr(model, "features_")
    assert model.predict(np.column_stack([AGE, FLAG])).shape == (N,)
    model.fit(pd.DataFrame({"age": AGE, "rank": np.arange(N)}), Y)
    assert not hasattr(model, "features_")


def test_a_failed_fit_keeps_the_categories():
    model = AdaBoostClassifier("trees", n_rounds=2).fit(X, Y)
    with pytest.raises(InvalidInput):
        model.fit(X.assign(town=TOWN + "!"), np.full(N, "yes"))
    assert model.features_ == FEATURES


def test_cross_validation_of_frames():
    model = LPBoostClassifier(oracle="trees", tol=0.05)
    assert (cross_val_predict(model, X, THREE, cv=3) == THREE).mean() > 0.6


@pytest.mark.parametrize(
    "estimator", [LPBoostClassifier(), AdaBoostClassifier(), CGEnsSLSClassifier(), InfiniteEnsembleSVC()], ids=called
)
@pytest.mark.parametrize("frame", ["strings", "categories", "polars"])
def test_others_want_numbers_and_say_what_to_do(estimator, frame):
    with pytest.raises(InvalidInput, match=r"the columns town; code them by a OneHotEncoder in a ColumnTransformer"):
        clone(estimator).fit(FRAMES[frame].drop("flag", axis=1) if frame != "polars" else FRAMES[frame].drop("flag"), Y)
