"""Models without classes: tables of rules that add up to what they predict, texts, certificates and warm starts."""

import numpy as np
import pandas as pd
import pytest
from estimator_samples import called
from sklearn.base import clone

from cvxens import AdditiveClassifier, AdditiveRegressor, ColumnGenerationSurvival, LPBoostRanker, LPBoostRegressor
from cvxens.estimators.explanations import weigh_rules
from cvxens.hypotheses import Stump

NAMES = ["age", "dose", "sex"]


@pytest.fixture(scope="module")
def sample():
    random = np.random.default_rng(5)
    X = random.integers(0, 5, (50, 3)).astype(float)
    return pd.DataFrame(X, columns=NAMES), np.round(X[:, 0] * (X[:, 1] > 2) + random.exponential(size=50), 1)


MODELS = {
    "regression": (LPBoostRegressor(C=1.0, oracle="depth_two_trees", tol=1e-2), "mean"),
    "ranking": (LPBoostRanker(C=10.0, oracle="pair_rules"), "mean"),
    "survival": (ColumnGenerationSurvival(C=1.0), "events"),
}


def hold(rule, X):
    """True for the samples that a rule of words holds for."""
    return np.ones(len(X), bool) if rule == "always" else X.eval(rule.replace(" = ", " == ")).to_numpy()


@pytest.mark.parametrize("name", MODELS)
def test_rules_add_up_to_the_predictions(name, sample):
    X, t = sample
    model, measure = MODELS[name]
    y = np.array([(e, time) for e, time in zip(t > 1, t, strict=True)], [("event", bool), ("time", float)])
    model.fit(X, y if name == "survival" else t)
    rules = model.get_rules(X, y if name == "survival" else t)
    assert rules.columns.tolist() == ["rule", "weight", "support", measure, "length"]
    assert rules["weight"].abs().is_monotonic_decreasing
    f = model.intercept_ + sum(w * hold(rule, X) for rule, w in zip(rules["rule"], rules["weight"], strict=True))
    assert f == pytest.approx(model.predict(X))
    for rule, support, mean in rules[["rule", "support", measure]].itertuples(index=False):
        held = hold(rule, X)
        assert support == pytest.approx(held.mean())
        assert mean == pytest.approx((y["event"] if name == "survival" else t)[held].mean())


@pytest.mark.parametrize("model", [LPBoostRegressor(), LPBoostRanker(C=5.0), ColumnGenerationSurvival()], ids=called)
def test_what_it_has_learnt_is_told_certified_and_taken_up_again(model, sample):
    X, t = sample
    model = clone(model).set_params(tol=1e-8).fit(X, t)
    *lines, last = model.to_text(most=10**6).splitlines()
    assert last == f"{float(model.intercept_):+.6g}  always"
    assert lines
    assert all("  if " in line or line.endswith("  always") for line in lines)
    assert len(model.to_frame()) == len(lines) == np.count_nonzero(model.weights_)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.certify(X, t).holds(1e-7)
    assert model.certify(X, t, weights=0 * model.weights_).primal > model.certificate_.primal
    assert model.certify(X, t[::-1]).relative_gap > 1e-3
    warm = clone(model).set_params(warm_start=True).fit(X, t)
    assert len(warm.fit(X, t).history_) <= len(model.history_)
    assert warm.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-7)


def test_weights_of_samples_count(sample):
    X, t = sample
    model = LPBoostRegressor(C=1.0).fit(X, t)
    twice = model.get_rules(X, t, sample_weight=np.where(X["age"] > 2, 2.0, 1.0))
    again = model.get_rules(pd.concat([X, X[X["age"] > 2]]), np.append(t, t[X["age"] > 2]))
    pd.testing.assert_frame_equal(twice, again)


def test_several_quantiles_have_a_weight_each(sample):
    X, t = sample
    model = LPBoostRegressor("quantile", quantile=[0.2, 0.8], C=1.0).fit(X, t)
    rules = model.get_rules(X, t)
    listed = rules[["rule", "weight_0", "weight_1"]].itertuples(index=False)
    f = model.intercept_ + sum(np.outer(hold(rule, X), w) for rule, *w in listed)
    assert f == pytest.approx(model.predict(X))


@pytest.mark.parametrize("kind", [AdditiveRegressor, AdditiveClassifier])
def test_ramps_are_rows_whose_weights_are_per_unit(kind):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(60, 3)).round(2), columns=NAMES)
    t = X["age"] + 2 * np.maximum(X["dose"], 0) + 0.1 * random.normal(size=60)
    y = t if kind is AdditiveRegressor else t > 0.5
    model = kind(C=0.3).fit(X, y)
    rules = model.get_rules(X, y)
    ramps = rules[~rules["rule"].str.contains("=|<|always")]
    assert len(ramps) > 0
    assert (ramps["length"] == 1).all()
    f = np.full(len(X), model.intercept_)
    for rule, w, support in rules[["rule", "weight", "support"]].itertuples(index=False):
        if rule in set(ramps["rule"]):
            factor, _, form = rule.partition(" ")
            values = float(factor) * eval(form, {"max": np.maximum}, {name: X[name].to_numpy() for name in X})
        else:
            values = hold(rule, X)
        assert support == pytest.approx((np.abs(values) > 1e-6).mean())
        f += w * values
    score = model.predict(X) if kind is AdditiveRegressor else model.decision_function(X)
    assert f == pytest.approx(score, rel=1e-4, abs=1e-4)


def test_sides_that_share_gaps_are_no_sides_of_one_rule():
    X, stumps = np.array([[0.0], [1.0], [np.nan]]), [Stump(0, 0.5, 1, missing=1), Stump(0, 0.5, 1, missing=-1)]
    found = weigh_rules(stumps, np.array([1.0, 2.0]), X, np.ones(3))
    scores = sum(rule.votes[0] * rule.held for rule in found)
    assert scores.tolist() == [-3, 3, -1]
    assert len(found) == 3
