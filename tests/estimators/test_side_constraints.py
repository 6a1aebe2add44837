"""Side constraints: kept on every training sample to the last bit, optimal among all that do, at certified prices."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import sklearn
from brute_force import all_stumps, solve_all
from estimator_samples import assert_optimal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cvxens import (
    CGEnsClassifier,
    ClassLoss,
    ColumnGenerationClassifier,
    EqualMeanScores,
    GroupLoss,
    LPBoostClassifier,
    LPBoostRegressor,
)
from cvxens.colgen import Formulation
from cvxens.colgen.oracles import Stumps
from cvxens.errors import Infeasible, InvalidInput
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(1)
SEX = np.where(X[:, 0] + RNG.normal(size=60) > 0, "f", "m")
Y = np.where(X[:, 0] + X[:, 1] + 0.8 * RNG.normal(size=60) > 0, "good", "bad")
SIGNS = np.where(Y == "good", 1.0, -1.0)
T = X[:, 0] + np.sin(X[:, 1]) + 0.3 * RNG.normal(size=60)
AGE = np.repeat(["young", "old", "older"], 20)


def means(values, given=None):
    """The mean of every group, as a list of expressions or numbers."""
    kept = np.full(60, True) if given is None else given == Y
    return [values[np.flatnonzero((sex == SEX) & kept)] for sex in ("f", "m")]


def mean(part):
    return cp.sum(part) / part.shape[0]


def hinges(f):
    return cp.pos(1 - cp.multiply(SIGNS, f))


def near(f, eps, given=None):
    one, other = map(mean, means(f, given))
    return [one - other <= eps, other - one <= eps]


def enumerate_all(loss, penalty, held, *, nonnegative):
    """The least of a loss and a penalty over all stumps, under constraints, by cvxpy."""
    H, intercept = np.unique(all_stumps(X), axis=1), nonnegative is None
    return solve_all(H, None, loss, penalty, intercept=intercept, constraints=held, tol=1e-9)


CASES = {
    "equal means": ([EqualMeanScores(at_most=0.2)], lambda f: near(f, 0.2)),
    "the same means": ([EqualMeanScores()], lambda f: near(f, 0.0)),
    "equal opportunity": ([EqualMeanScores(at_most=0.1, given="good")], lambda f: near(f, 0.1, "good")),
    "one class": ([ClassLoss("good", 0.2)], lambda f: [mean(hinges(f)[np.flatnonzero(SIGNS > 0)]) <= 0.2]),
    "both classes": (
        [ClassLoss("good", 0.3), ClassLoss("bad", 0.35)],
        lambda f: [
            mean(hinges(f)[np.flatnonzero(SIGNS > 0)]) <= 0.3,
            mean(hinges(f)[np.flatnonzero(SIGNS < 0)]) <= 0.35,
        ],
    ),
    "groups": ([GroupLoss(at_most=0.4)], lambda f: [mean(part) <= 0.4 for part in means(hinges(f))]),
    "several": (
        [GroupLoss(at_most=0.45), EqualMeanScores(at_most=0.2)],
        lambda f: [*near(f, 0.2), *(mean(part) <= 0.45 for part in means(hinges(f)))],
    ),
}
SOFT = LPBoostClassifier(C=0.2, tol=1e-6)


def assert_held(model, constraints, f):
    """No limit is exceeded by what floats say of the scores; means that are to be equal are but for rounding."""
    z = SIGNS * f
    for constraint in constraints:
        if isinstance(constraint, EqualMeanScores):
            one, other = (part.mean() for part in means(f, constraint.given))
            assert abs(one - other) <= (constraint.at_most or 1e-12 * np.abs(f).max())
        elif isinstance(constraint, ClassLoss):
            assert np.maximum(1 - z[constraint.label == Y], 0).mean() <= constraint.at_most
        else:
            assert all(part.mean() <= constraint.at_most for part in means(np.maximum(1 - z, 0)))


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_that_of_all_stumps_under_the_constraints(name):
    constraints, held = CASES[name]
    model = clone(SOFT).set_params(constraints=constraints).fit(X, Y, sensitive_features=SEX)
    optima = [
        enumerate_all(lambda f: 0.2 * cp.sum(hinges(f)), cp.norm1, sides, nonnegative=True)
        for sides in (held, lambda f: [])
    ]
    assert model.certificate_.proven
    assert_optimal(model.certificate_, optima[0], tol=1e-6, rel=2e-6)
    least, most = model.price_of_constraints_
    assert least - 1e-5 <= optima[0] - optima[1] <= most + 1e-5
    assert_held(model, constraints, model.decision_function(X))
    assert all(price >= 0 for price in model.prices_.values())
    assert model.certify(X, Y, sensitive_features=SEX).holds(2e-6)


@pytest.mark.parametrize(("model", "limits"), [(SOFT, (0.2, 0.21)), (CGEnsClassifier(C=0.05), (0.0, 0.01))])
def test_a_price_is_what_the_objective_falls_by(model, limits):
    fits = [
        clone(model).set_params(constraints=[EqualMeanScores(at_most=eps)], tol=1e-7).fit(X, Y, sensitive_features=SEX)
        for eps in limits
    ]
    fall = (fits[0].certificate_.primal - fits[1].certificate_.primal) / 0.01
    prices = [max(fit.prices_.values()) for fit in fits]
    # the optimum is convex in the limit
    assert prices[1] - 1e-4 <= fall <= prices[0] + 1e-4
    assert all(min(fit.prices_.values()) <= 1e-4 for fit in fits)


OTHERS = {
    "a margin": (LPBoostClassifier(nu=0.4), 0.02),
    "squares": (CGEnsClassifier(C=0.05), 0.05),
    "logistic": (ColumnGenerationClassifier(Formulation(Logistic(0.2), L1(), intercept=True)), 0.1),
    "an expression": (
        ColumnGenerationClassifier(Formulation(lambda z: 0.2 * cp.sum(cp.pos(1 - z)), L1(), intercept=True)),
        0.1,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_formulations_take_them(name):
    model, eps = OTHERS[name]
    constraints = [EqualMeanScores(at_most=eps)]
    model = clone(model).set_params(constraints=constraints).fit(X, Y, sensitive_features=SEX)
    assert model.certificate_.holds(1e-3)
    assert_held(model, constraints, model.decision_function(X))
    assert max(model.prices_.values()) > 0
    assert 0 < model.price_of_constraints_[0] <= model.price_of_constraints_[1]


def test_a_regression_has_equal_means():
    model = LPBoostRegressor(C=0.3, tol=1e-6, constraints=[EqualMeanScores(at_most=0.1)])
    model.fit(X, T, sensitive_features=SEX)
    loss, penalty, held = lambda f: 0.3 * cp.norm1(T - f), lambda w: cp.norm1(w[:-1]), lambda f: near(f, 0.1)
    optimum = enumerate_all(loss, penalty, held, nonnegative=None)
    one, other = (part.mean() for part in means(model.predict(X)))
    assert abs(one - other) <= 0.1
    assert_optimal(model.certificate_, optimum, tol=1e-6, rel=1e-5)


def test_groups_are_those_of_a_feature_or_of_a_column():
    inside = pd.DataFrame(X, columns=["a", "b", "c"]).assign(sex=(SEX == "f").astype(float))
    by_feature = clone(SOFT).set_params(constraints=[EqualMeanScores("sex", 0.2)], tol=1e-4).fit(inside, Y)
    f = by_feature.decision_function(inside)
    assert abs(f[SEX == "f"].mean() - f[SEX == "m"].mean()) <= 0.2
    assert list(by_feature.prices_) == ["mean score of sex 0 above that of 1", "mean score of sex 1 above that of 0"]
    named = clone(SOFT).set_params(constraints=[EqualMeanScores("sex", 0.2)], tol=1e-2).fit(inside.assign(sex=SEX), Y)
    assert list(named.prices_) == ["mean score of sex f above that of m", "mean score of sex m above that of f"]
    beside = pd.DataFrame({"sex": SEX, "age": AGE})
    model = clone(SOFT).set_params(constraints=[EqualMeanScores("age", 0.1), EqualMeanScores("sex", 0.3)], tol=1e-3)
    f = model.fit(X, Y, sensitive_features=beside).decision_function(X)
    averages = [f[age == AGE].mean() for age in np.unique(AGE)]
    assert np.ptp(averages) <= 0.1
    assert len(model.prices_) == 8
    both = clone(SOFT).set_params(constraints=[EqualMeanScores(at_most=0.4)], tol=1e-2)
    f = both.fit(X, Y, sensitive_features=beside).decision_function(X)
    averages = [f[(age == AGE) & (sex == SEX)].mean() for age in np.unique(AGE) for sex in ("f", "m")]
    assert np.ptp(averages) <= 0.4
    assert "mean score of f, old above that of m, old" in both.prices_


def test_weights_are_repetitions():
    weights = np.arange(60) % 3
    again = np.repeat(np.arange(60), weights)
    model = clone(SOFT).set_params(constraints=[EqualMeanScores(at_most=0.1), ClassLoss("good", 0.3)])
    weighted = clone(model).fit(X, Y, weights, sensitive_features=SEX)
    repeated = clone(model).fit(X[again], Y[again], sensitive_features=SEX[again])
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-6)
    f = weighted.decision_function(X)
    one, other = (np.average(f[sex == SEX], weights=weights[sex == SEX]) for sex in ("f", "m"))
    assert abs(one - other) <= 0.1


def test_it_goes_through_pipelines_and_routing():
    model = LPBoostClassifier(C=0.2, tol=1e-2, constraints=[EqualMeanScores(at_most=0.2)])
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), clone(model).set_fit_request(sensitive_features=True))
        scores = cross_val_score(routed, X, Y, cv=2, params={"sensitive_features": SEX})
        fitted = routed.fit(X, Y, sensitive_features=SEX)
    assert scores.shape == (2,)
    one, other = (part.mean() for part in means(fitted.decision_function(X)))
    assert abs(one - other) <= 0.2
    assert "EqualMeanScores(groups=None" in repr(model)


def test_what_no_ensemble_can_do_is_refused_with_the_proof():
    # samples of both classes at one point: their hinges add up to 2 or more
    twice, labels = np.repeat(X[:10], 2, axis=0), np.tile(["good", "bad"], 10)
    model = LPBoostClassifier(C=0.2, constraints=[ClassLoss("good", 0.5), ClassLoss("bad", 0.5)])
    with pytest.raises(Infeasible) as refused:
        model.fit(twice, labels)
    u, signs = refused.value.farkas, np.where(np.array(labels) == "good", 1.0, -1.0)
    assert refused.value.least > 0
    assert Stumps(twice).price(signs[: len(u)] * u).edge_bound <= 1e-6 or len(u) != 20
    assert not hasattr(model, "certificate_")


@pytest.mark.parametrize(
    ("constraints", "told"),
    [
        (EqualMeanScores(), "constraints: found EqualMeanScores.*; give a list such as"),
        (["sex"], "constraints: found .*; give a list"),
        ([EqualMeanScores("weight")], "constraints: found the feature 'weight'; give indices from 0 to 2"),
        (
            [EqualMeanScores(at_most=-0.1)],
            "constraints: found EqualMeanScores with at_most=-0.1; give a number, 0 or above",
        ),
        ([EqualMeanScores(0)], "constraints: found 31 groups by 0; give what has 2 to 20 values"),
        ([EqualMeanScores(given="ugly")], "constraints: found the class 'ugly'; give one of"),
        ([ClassLoss("good", 0)], "constraints: found ClassLoss with at_most=0; give a number, above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(constraints, told):
    with pytest.raises(InvalidInput, match=told):
        LPBoostClassifier(constraints=constraints).fit(X, Y, sensitive_features=SEX)


EQUAL = [EqualMeanScores()]
MARGIN = LPBoostClassifier(nu=0.3, constraints=[ClassLoss("good", 0.3)])
QUANTILES = LPBoostRegressor("quantile", quantile=[0.2, 0.8], constraints=EQUAL)
GAPS = np.where(X[:, 0] > 0, np.nan, 1.0)


@pytest.mark.parametrize(
    ("model", "y", "sensitive", "told"),
    [
        (LPBoostClassifier(constraints=EQUAL), Y, None, "sensitive_features: found none for a constraint"),
        (LPBoostClassifier(constraints=EQUAL), Y, SEX[:-1], "sensitive_features: found shape"),
        (LPBoostClassifier(), Y, GAPS, "sensitive_features: found missing values"),
        (MARGIN, Y, None, "constraints: found a bound on losses for a formulation whose margins"),
        (LPBoostClassifier(constraints=EQUAL), AGE, SEX, "constraints: found EqualMeanScores for 3 classes"),
        (LPBoostRegressor(constraints=[GroupLoss()]), T, SEX, "constraints: found GroupLoss for a regression"),
        (QUANTILES, T, SEX, "constraints: found EqualMeanScores with 2 quantiles"),
    ],
)
def test_what_does_not_fit_the_estimator_is_refused(model, y, sensitive, told):
    with pytest.raises(InvalidInput, match=told):
        model.fit(X, y, sensitive_features=sensitive)
