"""Monotone features and allowed interactions: kept everywhere, optimal among all that do, at a certified price."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from brute_force import linear_program
from estimator_samples import assert_optimal
from sklearn.base import clone

from cvxens import (
    CGEnsClassifier,
    ColumnGenerationClassifier,
    ColumnGenerationRegressor,
    ColumnGenerationSurvival,
    Concave,
    Constraint,
    Convex,
    EqualMeanScores,
    Interactions,
    LPBoostClassifier,
    LPBoostRanker,
    LPBoostRegressor,
    Monotone,
    MultiBoostClassifier,
)
from cvxens.colgen import Formulation, oracles
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Branch, Stump
from cvxens.problems.losses import Logistic, SquaredError
from cvxens.problems.penalties import L1, SquaredL2

RNG = np.random.default_rng(8)
X = RNG.normal(size=(60, 3)).round(1)
Y = np.where(X[:, 0] - X[:, 1] + np.sin(3 * X[:, 2]) + 0.7 * RNG.normal(size=60) > 0, "up", "down")
SIGNS = np.where(Y == "up", 1.0, -1.0)
FRAME = pd.DataFrame(X, columns=["age", "dose", "height"])
MONOTONE = {"age": 1, "dose": -1}
FALLING = [Monotone({0: 1, 1: -1})]
MANY = RNG.normal(size=(1_000_000, 3))


def all_stumps(sides):
    """Every stump of the sides that are allowed, and both constants."""
    columns = [np.ones(60), -np.ones(60)]
    for j, side in enumerate(sides):
        for low, high in pairwise(np.unique(X[:, j])):
            rising = np.where((low + high) / 2 <= X[:, j], 1.0, -1.0)
            columns += [sign * rising for sign in (1, -1) if sign * side >= 0]
    return np.column_stack(columns)


@pytest.mark.parametrize("monotone", [MONOTONE, {0: 1, 1: -1}, {"age": 1, 1: -1, "height": 0}])
def test_the_optimum_and_its_price_are_those_of_all_stumps_that_are_left(monotone):
    model = LPBoostClassifier(C=0.1, constraints=[Monotone(monotone)], tol=1e-6).fit(FRAME, Y)
    held, free, rises = (
        linear_program(all_stumps(sides), SIGNS, slack=0.1, one_sided=True)
        for sides in ([-1, 1, 0], [0, 0, 0], [1, -1, 0])
    )
    # classes are sorted, so that "up" is the second one and the score is for it
    assert model.classes_.tolist() == ["down", "up"]
    assert_optimal(model.certificate_, rises, tol=1e-6, rel=1e-6)
    assert held > rises > free
    least, most = model.price_of_constraints_
    assert least - 1e-9 <= rises - free <= most + 1e-9
    assert most - least <= 3e-6 * held


@pytest.mark.parametrize(
    "model",
    [
        LPBoostClassifier(C=0.1),
        LPBoostClassifier(nu=0.3),
        LPBoostClassifier(C=0.1, oracle="quantile_stumps"),
        LPBoostClassifier(C=0.2, oracle=partial(oracles.PairRules, n_bins=8)),
    ],
    ids=["stumps", "a margin", "quantiles", "rules"],
)
def test_a_million_points_keep_the_order(model):
    model = clone(model).set_params(constraints=FALLING, tol=1e-2).fit(X, Y)
    assert model.certificate_.proven
    scores = model.decision_function(MANY)
    for feature, sign in ((0, 1), (1, -1)):
        further = MANY.copy()
        further[:, feature] += np.abs(MANY[:, 2])
        assert (sign * (model.decision_function(further) - scores)).min() >= 0
    least, most = model.price_of_constraints_
    assert 0 <= least <= most < np.inf


def test_squared_weights_of_one_side():
    model = CGEnsClassifier(C=0.1, oracle=partial(oracles.QuantileStumps, n_thresholds=4), constraints=FALLING)
    model.fit(X, Y)
    sides = np.array([1, -1, 0, 0])
    stumps = oracles.QuantileStumps(X, n_thresholds=4, columns_per_round=99).price(np.ones(60)).columns
    rising = [c.values * getattr(c.hypothesis, "sign", 1) for c in stumps]
    at = [getattr(c.hypothesis, "feature", 3) for c in stumps]
    H = np.column_stack([sign * h for h, j in zip(rising, at, strict=True) for sign in (1, -1) if sign * sides[j] >= 0])
    w, b = cp.Variable(H.shape[1], nonneg=True), cp.Variable()
    slack = cp.sum(cp.pos(1 - cp.multiply(SIGNS, H @ w + b)))
    truth = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + 0.1 * slack)).solve(solver="CLARABEL")
    assert_optimal(model.certificate_, truth, tol=1e-3, rel=1e-3)
    again = model.certify(X, Y)
    assert again.holds(2e-3)


T = np.where(Y == "up", 2.0, -1.0) + X[:, 0]
QUANTILES = np.array([0.25, 0.75])


def ridge(X, t, weights):
    """Squares with a squared penalty."""
    return Formulation(SquaredError(weights, t), SquaredL2(3.0), intercept=True)


def pinballs(F):
    """Two pinball losses, at a price of 0.2."""
    r, levels = cp.vstack([T, T]) - F, np.tile(QUANTILES[:, None], 60)
    return 0.2 * cp.sum(cp.multiply(levels, cp.pos(r)) + cp.multiply(1 - levels, cp.pos(-r))), []


REGRESSORS = {
    "absolute": (LPBoostRegressor(C=0.2), lambda f: (0.2 * cp.norm1(T - f), []), cp.sum, ()),
    "squares": (
        ColumnGenerationRegressor(ridge),
        lambda f: (cp.sum_squares(T - f) / 2, []),
        lambda w: 1.5 * cp.sum_squares(w),
        (),
    ),
    "quantiles": (LPBoostRegressor("quantile", C=0.2, quantile=QUANTILES), pinballs, cp.sum, (2,)),
    "logistic": (
        ColumnGenerationClassifier(Formulation(Logistic(0.3), SquaredL2(), intercept=True)),
        lambda f: (0.3 * cp.sum(cp.logistic(-cp.multiply(SIGNS, f))), []),
        lambda w: 0.5 * cp.sum_squares(w),
        (),
    ),
    "an l1 penalty": (
        ColumnGenerationClassifier(Formulation(Logistic(0.5), L1(), intercept=True)),
        lambda f: (0.5 * cp.sum(cp.logistic(-cp.multiply(SIGNS, f))), []),
        cp.sum,
        (),
    ),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_and_formulations_of_ones_own_keep_it_and_price_it(name):
    model, loss, penalty, outputs = REGRESSORS[name]
    classifies = hasattr(model, "classes_") or isinstance(model, ColumnGenerationClassifier)
    model = clone(model).set_params(tol=1e-6, constraints=[Monotone({"age": 1, "dose": -1})])
    model.fit(FRAME, Y if classifies else T)
    optima = []
    for sides in ([1, -1, 0], [0, 0, 0]):
        H = np.unique(all_stumps(sides)[:, 2:], axis=1)
        w, b = cp.Variable((H.shape[1], *outputs), nonneg=True), cp.Variable()
        paid, scores = penalty(w), H @ w + b
        if outputs:
            # the second score is the first one and a step that is nowhere below 0; a constant step costs a hundredth
            constant = cp.Variable(nonneg=True)
            first = H @ w[:, 0] + b
            paid, scores = paid + constant / 100, cp.vstack([first, first + (1 + H) @ w[:, 1] + constant])
        value, held = loss(scores)
        optima.append(cp.Problem(cp.Minimize(value + paid), held).solve(solver="CLARABEL"))
    held, free = optima
    assert_optimal(model.certificate_, held, tol=1e-6, rel=2e-6)
    least, most = model.price_of_constraints_
    assert least - 2e-6 * held <= held - free <= most + 2e-6 * held
    assert most - least <= 1e-5 * held
    points = MANY[:3000]
    further = points + np.abs(MANY[3000:6000]) * [1.0, 0, 0]
    score = model.decision_function if classifies else model.predict
    named = [pd.DataFrame(at, columns=FRAME.columns) for at in (points, further)]
    assert (score(named[1]) - score(named[0])).min() >= 0


def test_variables_of_ones_own_may_break_it():
    line = cp.Variable(3, name="v")

    def with_a_line(X, t, weights):
        return Formulation(
            lambda f: cp.sum_squares(t - f - X @ line), L1(4.0), intercept=True, scores=True, decide=lambda f, X, own: f
        )

    with pytest.raises(InvalidInput, match="constraints: found Monotone with a formulation that decides by variables"):
        ColumnGenerationRegressor(with_a_line, constraints=[Monotone({0: 1})]).fit(X, T)


def test_interactions_are_those_that_are_named():
    allowed = [Interactions([("age", "dose")])]
    model = LPBoostClassifier(C=0.3, oracle="depth_two_trees", constraints=allowed, tol=0.01).fit(FRAME, Y)
    trees = [h for h in model.weak_learners_ if isinstance(h, Branch)]
    assert trees
    assert all(set(tree.feature_shares[0].tolist()) <= {0, 1} or set(tree.feature_shares[0]) == {2} for tree in trees)
    free = LPBoostClassifier(C=0.3, oracle="depth_two_trees", tol=0.01).fit(FRAME, Y)
    least, most = model.price_of_constraints_
    assert least <= model.certificate_.primal - free.certificate_.dual
    assert most >= model.certificate_.dual - free.certificate_.primal
    assert free.price_of_constraints_ is None
    stumps = LPBoostClassifier(C=0.3, constraints=[Interactions()]).fit(FRAME, Y)
    assert stumps.price_of_constraints_ is None


@pytest.mark.parametrize(
    ("constraints", "parameters", "told"),
    [
        ([Monotone({"weight": 1})], {}, "found the feature 'weight'; give the names age, dose, height"),
        ([Monotone({3: 1})], {}, "found the feature 3; .*indices from 0 to 2"),
        ([Monotone({"age": 2})], {}, "found Monotone with 2 for 'age'; give"),
        ([Monotone({"age": True})], {}, "found Monotone with True for 'age'; give"),
        ([Monotone({"age": 1})], {"oracle": "perceptrons"}, "found Monotone with weak learners of 'perceptrons'"),
        ([Monotone({"age": 1}), Monotone({"age": -1})], {}, "found Monotone for 'age' against another constraint"),
        ([Convex("age")], {}, "found Convex with weak learners of 'stumps', which cannot keep it; take 'ramps'"),
        ([Monotone([1])], {}, r"found \[1\]"),
        ([Interactions([("age", "weight")])], {}, "found the feature 'weight'"),
        ([Interactions([(0, 1)])], {"oracle": "trees"}, "found Interactions with weak learners of 'trees'"),
        ([Interactions([(0,)])], {"oracle": "boxes"}, "found .*give groups of at least two"),
    ],
)
def test_what_cannot_be_kept_is_refused(constraints, parameters, told):
    with pytest.raises(InvalidInput, match=told):
        LPBoostClassifier(constraints=constraints, **parameters).fit(FRAME, Y)


def test_three_classes_have_no_order():
    with pytest.raises(InvalidInput, match="constraints: found Monotone for 3 classes"):
        LPBoostClassifier(constraints=[Monotone({0: 1})]).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))


def test_a_score_is_convex_where_it_is_to_be():
    kept = [Concave("age"), Monotone({"dose": -1})]
    model = LPBoostClassifier(C=0.3, oracle="ramps", constraints=kept).fit(FRAME, Y)
    assert model.certificate_.holds(1e-3)
    least, most = model.price_of_constraints_
    assert 0 <= least <= most
    ends = [MANY[:100_000].copy(), MANY[:100_000] + np.abs(MANY[100_000:200_000]) * [1.0, 0, 0]]
    points = (*ends, sum(ends) / 2)
    low, high, middle = (model.decision_function(pd.DataFrame(p, columns=FRAME.columns)) for p in points)
    assert (middle - low / 2 - high / 2).min() >= -1e-9


def test_monotone_quantiles_and_features_beside_others_hold_where_boosted_trees_have_not():
    """Cases of LightGBM's issues 3371, a quantile loss, and 2309, a second feature that is free."""
    random = np.random.default_rng(1)
    x = random.uniform(0, 10, 100)
    t = x * np.sin(x) + random.normal(0, 1.5 + random.random(100))
    rising = [Monotone({0: 1})]
    high = LPBoostRegressor("quantile", quantile=0.9, C=0.3, constraints=rising, tol=1e-2).fit(x[:, None], t)
    assert (np.diff(high.predict(np.linspace(0, 10, 2001)[:, None])) >= 0).all()
    two = np.column_stack([np.linspace(0, 10, 100), random.random(100)])
    noisy = two[:, 0] ** 2 + 10 - 20 * random.random(100)
    grown = LPBoostRegressor(C=0.3, constraints=[Monotone({0: 1})], tol=1e-2).fit(two, noisy)
    for other in (0.0, 0.5, 1.0):
        line = np.column_stack([np.linspace(0, 10, 2001), np.full(2001, other)])
        assert (np.diff(grown.predict(line)) >= 0).all()


def test_floats_next_to_thresholds_keep_the_order():
    model = LPBoostClassifier(C=0.2, constraints=FALLING, tol=1e-2).fit(X, Y)
    steps = [(h.feature, h.threshold) for h in model.weak_learners_ if hasattr(h, "threshold")]
    points = MANY[:50]
    for feature, sign in ((0, 1), (1, -1)):
        at = np.sort([threshold for j, threshold in steps if j == feature])
        ladder = np.sort(np.concatenate([np.nextafter(at, -np.inf), at, np.nextafter(at, np.inf)]))
        scores = []
        for value in ladder:
            moved = points.copy()
            moved[:, feature] = value
            scores.append(model.decision_function(moved))
        assert (sign * np.diff(scores, axis=0) >= 0).all()


@dataclass(frozen=True)
class Only(Constraint):
    """A stranger's own: weak learners of some features alone, and a price of a weight."""

    features: tuple[int, ...]
    price: float

    bounds = "learners"
    several_scores = True

    def narrow(self, oracle, sample):
        def make(X):
            at = [(j, t, sign) for j in self.features for t in np.unique(X[:, j])[1:] - 0.05 for sign in (1, -1)]
            return oracles.Pool.of([Stump(*place) for place in at], X)

        return make

    def constrain(self, formulation, sample):
        return replace(formulation, penalty=L1(self.price))


RANKED = LPBoostRanker(C=10.0)
HAZARDS = np.array(list(zip(X[:, 2] < 1, np.exp(X[:, 0]), strict=True)), dtype=[("event", bool), ("time", float)])


@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (LPBoostClassifier(C=0.1), Y),
        (LPBoostClassifier(C=0.1), np.digitize(X[:, 0], [-0.5, 0.5])),
        (MultiBoostClassifier(C=0.1), np.digitize(X[:, 0], [-0.5, 0.5])),
        (LPBoostRegressor(C=0.2), T),
        (RANKED, np.digitize(T, [-1, 0, 1])),
        (ColumnGenerationSurvival(), HAZARDS),
    ],
    ids=["classes", "parts", "several scores", "targets", "grades", "hazards"],
)
def test_a_constraint_of_a_stranger_holds_for_every_estimator(model, targets):
    free, held = (clone(model).set_params(constraints=of).fit(X, targets) for of in (None, [Only((0, 2), 1.5)]))
    for part, beside in zip(held._parts(), free._parts(), strict=True):
        assert part.certificate_.holds(1e-3)
        assert {h.feature for h in part.weak_learners_} <= {0, 2}
        least, most = part.price_of_constraints_
        assert least <= part.certificate_.primal - beside.certificate_.primal + 2e-3 * part.certificate_.primal
        assert most >= part.certificate_.dual - beside.certificate_.primal


def test_hazards_of_groups_have_equal_means():
    model = ColumnGenerationSurvival(tol=1e-2, constraints=[EqualMeanScores(at_most=0.01)])
    f = model.fit(X, HAZARDS, sensitive_features=Y).predict(X)
    assert abs(f[Y == "up"].mean() - f[Y == "down"].mean()) <= 0.01
    assert model.certificate_.holds(1e-2)
    assert max(model.prices_.values()) > 0


def test_rankings_have_shapes_and_no_bounds_on_scores():
    grades = np.digitize(T, [-1, 0, 1])
    model = clone(RANKED).set_params(constraints=FALLING).fit(X, grades)
    further = MANY[:1000] + np.abs(MANY[1000:2000]) * [1.0, 0, 0]
    assert (model.predict(further) - model.predict(MANY[:1000])).min() >= 0
    with pytest.raises(InvalidInput, match="constraints: found EqualMeanScores for a ranking, whose loss is of pairs"):
        clone(RANKED).set_params(constraints=[EqualMeanScores(1)]).fit(X, grades)
