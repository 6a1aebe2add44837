"""Data frames with nominal columns: taken by stumps and trees, told apart by type, refused by what wants numbers."""

from functools import partial
from itertools import islice

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimator_samples import called
from sklearn.base import clone

from cvxens import (
    AdaBoostClassifier,
    AdaBoostMHClassifier,
    AdditiveClassifier,
    AdditiveRegressor,
    CGEnsClassifier,
    CGEnsSLSClassifier,
    ColumnGenerationClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    LPBoostRegressor,
    Monotone,
    MultiBoostClassifier,
    RhoSVC,
)
from cvxens.colgen import boosting_steps, gathered
from cvxens.colgen.oracles import LevelStump, Stumps, Trees
from cvxens.errors import InvalidInput
from cvxens.plotting import PairDisplay
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
STUMPS = [
    AdaBoostClassifier(n_rounds=20),
    AdaBoostMHClassifier(n_rounds=20),
    LPBoostClassifier(),
    CGEnsClassifier(),
    CGEnsSLSClassifier(tol=0.01),
    ColumnGenerationClassifier(oracle=partial(Stumps, levels="subsets", missing="zero")),
    MultiBoostClassifier(),
    AdditiveClassifier(C=0.5),
]
each = pytest.mark.parametrize("estimator", [*TREES, *STUMPS], ids=called)


@pytest.mark.thinned(1)
@each
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_all_frames_are_one_to_every_estimator_and_fits_to_them_are_certified(estimator, y, tmp_path):
    fitted = clone(estimator).fit(X, y)
    fitted.report(tmp_path / "model.html", FRAMES["polars"], y)
    certificates, known = np.ravel(fitted.certify(X, y)), np.ravel(fitted.certificate_)
    assert [c.primal for c in certificates] == pytest.approx([c.primal for c in known])
    scores = fitted.decision_function(X)
    assert fitted.features_ == FEATURES
    assert list(fitted.feature_names_in_) == ["age", "town", "flag"]
    assert fitted.n_features_in_ == 3
    assert fitted.score(X, y) > (0.9 if estimator in TREES else 0.7)
    for frame in FRAMES.values():
        np.testing.assert_array_equal(fitted.decision_function(frame), scores)
    # columns are read before the classes are
    for frame in list(FRAMES.values())[1 : None if y is Y else 2]:
        again = clone(estimator).fit(frame, y)
        assert again.features_ == FEATURES
        np.testing.assert_array_equal(again.decision_function(X), scores)


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


def test_columns_have_to_be_those_of_the_fit():
    fitted = AdaBoostClassifier("trees", n_rounds=2).fit(X, Y)
    with pytest.raises(InvalidInput, match="no data frame"):
        fitted.predict(X.to_numpy())
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


@pytest.mark.parametrize(
    "estimator", [LPBoostClassifier(oracle="perceptrons"), RhoSVC(), InfiniteEnsembleSVC()], ids=called
)
@pytest.mark.parametrize("frame", ["strings", "categories", "polars"])
def test_others_want_numbers_and_say_what_to_do(estimator, frame):
    with pytest.raises(InvalidInput, match=r"the columns town; code them by a OneHotEncoder in a ColumnTransformer"):
        clone(estimator).fit(FRAMES[frame].drop("flag", axis=1) if frame != "polars" else FRAMES[frame].drop("flag"), Y)


def test_one_hot_columns_have_the_stumps_of_one_level_against_the_rest():
    """Of three levels or more, without gaps: an independent road to the same optimum."""
    whole = X.assign(age=AGE, town=TOWN)
    coded = pd.get_dummies(whole, columns=["town", "flag"], dtype=float)
    for estimator in (LPBoostClassifier(tol=1e-7), CGEnsClassifier(tol=1e-6, oracle=partial(Stumps, constant=False))):
        own, other = (clone(estimator).fit(frame, Y) for frame in (whole.drop(columns="flag"), coded.iloc[:, :4]))
        assert own.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-5)
    assert set(own.feature_importances_ > 0) == {True}


def test_gaps_that_the_fit_has_not_seen_say_nothing():
    whole = X.assign(age=AGE, town=TOWN)
    fitted = LPBoostClassifier().fit(whole, Y)
    unknown = whole.assign(age=np.nan, town=None, flag=None)
    np.testing.assert_allclose(fitted.decision_function(unknown), fitted.intercept_)


def test_a_warm_start_knows_levels_by_their_names():
    half = X["town"] != "Bonn"
    model = LPBoostClassifier(warm_start=True, C=0.5).fit(X[half], Y[half])
    assert model.features_[1].categories == ("Rome", "Ulm")
    model.fit(X, Y)
    assert model.certificate_.holds(model.tol)
    fresh = LPBoostClassifier(C=0.5).fit(X, Y)
    assert model.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-3)
    levels = [h for h in model.weak_learners_ if isinstance(h, LevelStump)]
    assert [h.names for h in levels] == [tuple(FEATURES[h.feature].categories[k] for k in h.levels) for h in levels]


def test_rules_and_tables_of_nominal_columns():
    fitted = LPBoostClassifier(C=0.5).fit(X, Y)
    rules = fitted.get_rules(X, Y)
    assert any(rule.startswith(("town = ", "(town = ")) for rule in rules["rule"])
    frame = fitted.to_frame()
    assert set(frame.loc[frame["feature"].notna(), "feature"]) <= {"age", "town", "flag"}


MANY = np.random.default_rng(3)
TOWNS = pd.DataFrame({"town": [f"town {k}" for k in MANY.integers(0, 90, 200)], "x": MANY.normal(size=200).round(1)})
BUSY = (TOWNS["x"] + MANY.normal(size=200) > 0).astype(float)


@pytest.mark.parametrize(
    "estimator",
    [*STUMPS[2:4], CGEnsClassifier(oracle="stumps"), AdditiveClassifier(C=0.3, pairs=False), LPBoostRegressor(C=10.0)],
)
def test_many_levels_are_fitted_to_the_end(estimator):
    with_levels = clone(estimator).fit(TOWNS, BUSY)
    by_hand = clone(estimator).fit(pd.get_dummies(TOWNS, columns=["town"]).astype(float), BUSY)
    assert with_levels.certificate_.holds(1e-3)
    assert with_levels.certificate_.primal == pytest.approx(by_hand.certificate_.primal, rel=2e-3)


def test_pairs_of_categories_are_found_and_told_by_their_names(tmp_path):
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({"town": draw.choice(["Ulm", "Bonn", "Rome", "Pisa"], 300), "x": draw.normal(size=300)})
    frame["sky"] = draw.choice(["grey", "blue"], 300)
    west, target = frame["town"].isin(["Ulm", "Rome"]), draw.normal(size=300) / 9
    target += np.where(west == (frame["x"] > 0), 1.0, -1.0) + np.where(west == (frame["sky"] == "blue"), 0.5, -0.5)
    model = AdditiveRegressor(C=1.0, tol=1e-7).fit(frame, target)
    assert AdditiveRegressor(C=1.0, pairs=False).fit(frame, target).score(frame, target) < 0.1
    assert model.score(frame, target) > 0.9
    effects = model.effects(frame)
    assert {"town x x", "town x sky"} <= set(effects.names)
    ax = PairDisplay.from_effects(effects, "town x sky", frame).ax_
    labels = [[text.get_text() for text in axis.get_ticklabels()] for axis in (ax.xaxis, ax.yaxis)]
    assert labels == [["Bonn", "Pisa", "Rome", "Ulm"], ["blue", "grey"]]
    assert effects.terms[effects.names.index("town x sky")].crop(frame, effects.levels)[-1].sum() == pytest.approx(1)
    model.report(tmp_path / "model.html", frame, target)
    assert '"levels":[["Bonn","Pisa","Rome","Ulm"],["blue","grey"]]' in (tmp_path / "model.html").read_text("utf-8")
    assert model.get_rules(frame, target)["rule"].str.contains(r"town (?:not )?in \{.*\} and x ").any()
    renamed = frame.replace({"Ulm": "Aachen", "Bonn": "Zürich"})
    again = AdditiveRegressor(C=1.0, tol=1e-7).fit(renamed, target)
    np.testing.assert_allclose(again.predict(renamed), model.predict(frame), atol=1e-3)
    again.set_params(warm_start=True).fit(frame, target)
    np.testing.assert_allclose(again.predict(frame), model.predict(frame), atol=1e-3)
    assert AdditiveClassifier().fit(frame, target > 0).score(frame, target > 0) > 0.9


def test_the_order_of_levels_tells_nothing_of_what_is_held_out():
    noise = np.random.default_rng(0)
    frame, target = pd.DataFrame(noise.integers(0, 60, (240, 2)).astype(str)).add_prefix("x"), noise.normal(size=240)
    assert -AdditiveRegressor().fit(frame, target).cv_results_["mean_test_score"].max() > 0.95 * target.var()


def test_monotone_features_may_have_gaps():
    fitted = LPBoostClassifier(C=0.5, constraints=[Monotone({"age": 1})]).fit(X, Y)
    ages = X.iloc[:30].assign(age=np.linspace(-4, 4, 30), town="Ulm", flag=True)
    assert (np.diff(fitted.decision_function(ages)) >= 0).all()
    with pytest.raises(InvalidInput, match="constraints: found Monotone for 'town', whose levels have no order"):
        LPBoostClassifier(constraints=[Monotone({"town": 1})]).fit(X, Y)


@pytest.mark.parametrize("estimator", [STUMPS[2], STUMPS[5]], ids=called)
def test_effects_add_up_to_the_scores_with_gaps_and_levels(estimator):
    fitted = clone(estimator).fit(X, Y)
    effects = fitted.effects(X)
    for frame in (X, X.assign(age=np.nan), X.assign(town=None, flag=None)):
        total = effects.intercept + effects.contributions(frame).sum(axis=1)
        np.testing.assert_allclose(total, fitted.decision_function(frame), atol=1e-12)
        shares = effects.shapley_values(frame).sum(axis=1) + effects.intercept
        np.testing.assert_allclose(shares, fitted.decision_function(frame), atol=1e-12)
