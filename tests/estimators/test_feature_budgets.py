"""Budgets of features: optimal among all ensembles within them, with their price, or refused."""

import cvxpy as cp
import numpy as np
import pytest
from estimator_samples import assert_optimal
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cvxens import (
    CGEnsClassifier,
    ClassLoss,
    ColumnGenerationClassifier,
    FeatureBudget,
    LPBoostClassifier,
    LPBoostRegressor,
    Monotone,
)
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Stump


def draw(seed, n=30):
    random = np.random.default_rng(seed)
    X = random.integers(0, 4, (n, 3)).astype(float)
    return X, X[:, 0] + X[:, 1] - X[:, 2] + random.normal(size=n)


def list_columns(X, prices):
    """All stumps and the constant, as columns, with what each uses."""
    listed = [Stump(j, t - 0.5, 1) for j in range(X.shape[1]) for t in np.unique(X[:, j])[1:].tolist()]
    H = np.stack([h(X) for h in [*listed, Constant(1)]], axis=1)
    return H, np.array([*(prices[h.feature] for h in listed), 0.0])


def use_of(model, prices):
    return sum(
        abs(w) * sum(prices[j] for j in set(looks(h)))
        for h, w in zip(model.weak_learners_, model.weights_, strict=True)
    )


def looks(h):
    if hasattr(h, "intervals"):
        return [interval.feature for interval in h.intervals]
    return [] if isinstance(h, Constant) else [h.feature]


@settings(max_examples=16)
@given(
    st.integers(0, 10**6),
    st.sampled_from([4, 30]),
    st.sampled_from([0.4, 2.0]),
    st.sampled_from([0.0, 0.3, 1.0, 2.5, 50.0]),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=3, max_size=3),
)
@example(0, 4, 2.0, 0.8, [1.0, 1.0, 1.0])
def test_the_optimum_is_that_over_all_stumps_with_the_price_of_the_budget(seed, n, C, at_most, prices):
    X, t = draw(seed, n)
    y = np.where(t > np.median(t), 1, -1)
    budget = FeatureBudget(at_most, dict(enumerate(prices)))
    model = LPBoostClassifier(C=C, constraints=[budget], tol=1e-6).fit(X, y)
    H, use = list_columns(X, prices)
    w = cp.Variable(H.shape[1])
    within = use @ cp.abs(w) <= at_most
    objective = cp.norm1(w) + C * cp.sum(cp.pos(1 - cp.multiply(y, H @ w)))
    truth = cp.Problem(cp.Minimize(objective), [within]).solve(solver="CLARABEL")
    assert_optimal(model.certificate_, truth, tol=1e-6, rel=1e-5)
    assert use_of(model, prices) <= at_most
    # multipliers are subgradients of the optimum in the limit
    price = model.prices_["feature budget"]
    more = cp.Problem(cp.Minimize(objective), [use @ cp.abs(w) <= at_most + 0.1])
    assert more.solve(solver="CLARABEL") >= truth - 0.1 * price - 1e-5
    least, most = model.price_of_constraints_
    free = cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL")
    assert least - 1e-4 <= truth - free <= most + 1e-4


def test_certified_weights_are_of_the_size_that_the_budget_allows():
    # scores of 0.6 at least are no slack if they are scaled, but the weights that takes are above the budget
    X, y = np.array([[0.0], [30.0], [0.0], [10.0]]), np.array([1, -1, 1, 1])
    model = LPBoostClassifier(C=2.0, constraints=[FeatureBudget(0.8)], tol=1e-6).fit(X, y)
    slack = np.maximum(1 - y * model.decision_function(X), 0).sum()
    assert slack > 0.1
    assert_optimal(model.certificate_, model.weights_.sum() + 2 * slack, tol=1e-6, rel=1e-12)
    given = model.certify(X, y, weights=model.weights_)
    assert given.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert given.repair["w"] == 0


def test_a_budget_of_nothing_is_kept_by_the_reference():
    X, t = draw(3, n=10)
    y = np.where(t > np.median(t), 1, -1)
    exact, reference = (
        LPBoostClassifier(C=0.5, constraints=[FeatureBudget(0.0, {0: 1.0})], solver=solver, tol=1e-6).fit(X, y)
        for solver in ("fast", "reference")
    )
    assert use_of(reference, [1.0, 0.0, 0.0]) == 0
    assert_optimal(reference.certificate_, exact.certificate_.primal, tol=1e-5, rel=1e-5)


def test_a_regression_with_an_intercept():
    X, t = draw(3)
    prices = [1.0, 1.0, 1.0]
    model = LPBoostRegressor(C=0.5, constraints=[FeatureBudget(0.7)], tol=1e-5).fit(X, t)
    H, use = list_columns(X, prices)
    w, b = cp.Variable(H.shape[1]), cp.Variable()
    objective = cp.norm1(w) + 0.5 * cp.sum(cp.abs(t - H @ w - b))
    truth = cp.Problem(cp.Minimize(objective), [use @ cp.abs(w) <= 0.7]).solve(solver="CLARABEL")
    assert_optimal(model.certificate_, truth, tol=1e-5, rel=2e-5)
    assert use_of(model, prices) <= 0.7
    assert model.certify(X, t).holds(1e-4)
    # an ensemble that exceeds the budget is none within it
    assert not model.certify(X, t, weights=2 * model.weights_).proven


def test_rules_pay_for_each_feature_and_keep_their_shape():
    X, t = draw(7)
    y = np.where(t > np.median(t), "yes", "no")
    budget = FeatureBudget(0.5)
    model = LPBoostClassifier(C=0.5, oracle="pair_rules", constraints=[Monotone({0: 1}), budget]).fit(X, y)
    assert model.certificate_.holds(1e-3)
    assert 0.45 < use_of(model, [1.0] * 3) <= 0.5
    shaped, large = Monotone({0: 1}), FeatureBudget(1e6)
    free = LPBoostClassifier(C=0.5, oracle="pair_rules", constraints=[shaped, large]).fit(X, y)
    assert free.prices_ == {"feature budget": 0.0}
    without = LPBoostClassifier(C=0.5, oracle="pair_rules", constraints=[shaped]).fit(X, y)
    np.testing.assert_array_equal(free.weights_, without.weights_)


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (LPBoostClassifier(nu=0.3, constraints=[FeatureBudget(1.0)]), "penalty Simplex"),
        (CGEnsClassifier(constraints=[FeatureBudget(1.0)]), "penalty SquaredL2"),
        (LPBoostClassifier(C="auto", constraints=[FeatureBudget(1.0)]), "with C='auto'"),
        (LPBoostClassifier(constraints=[FeatureBudget(1.0), ClassLoss(1, 0.5)]), "a FeatureBudget among 2"),
        (LPBoostClassifier(constraints=[FeatureBudget(1.0), FeatureBudget(2.0)]), "a FeatureBudget among 2"),
        (LPBoostClassifier(constraints=[FeatureBudget(1.0)] * 2), "a FeatureBudget among 2"),
        (LPBoostClassifier(constraints=[FeatureBudget(-1.0)]), "at_most=-1"),
        (LPBoostClassifier(constraints=[FeatureBudget(1.0, {0: -2.0})]), "a price of -2"),
        (LPBoostClassifier(constraints=[FeatureBudget(1.0, {7: 2.0})]), "the feature 7"),
        (LPBoostClassifier(constraints=[FeatureBudget(1.0, [1.0])]), r"\[1.0\]"),
        (
            ColumnGenerationClassifier(oracle="perceptrons", constraints=[FeatureBudget(0.01)], random_state=0),
            "a Perceptron, whose features are not known",
        ),
    ],
)
def test_what_has_no_budget_is_refused(model, found):
    X, t = draw(1)
    with pytest.raises(InvalidInput, match=f"constraints: found .*{found}"):
        model.fit(X, (t > 0).astype(int))
