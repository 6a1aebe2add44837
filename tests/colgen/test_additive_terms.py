"""Steps, lines and pairs as one set: what it holds, its answers beside a list of all, and signs that it keeps."""

from itertools import product

import numpy as np
import pytest
from brute_force import assert_optimum, linear_program
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from cvxens.colgen import Formulation, column_generation, formulations
from cvxens.colgen.oracles import AdditiveTerms, DepthTwoTrees, PairRules, Rows
from cvxens.colgen.oracles.unions import list_ramps
from cvxens.hypotheses import Ramp, Scaled
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1
from cvxens.trees import Feature

X = np.random.default_rng(0).normal(size=(24, 3)).round(1)


def test_what_a_set_has_is_not_asked_for_again():
    X, s = np.random.default_rng(0).normal(size=(2, 60, 3))
    y, rows = np.sign(X[:, 0] * X[:, 1] + s[:, 0]), Rows(AdditiveTerms(X), np.eye(60))
    first = column_generation(Formulation(Logistic(0.5), L1(), intercept=True), rows, y)
    hypotheses = [column.hypothesis for column in first.columns]
    assert sum(isinstance(h, Scaled) for h in hypotheses) > 5
    asked, price = [], rows.price
    rows.price = lambda s, **given: asked.append(tuple(s)) or price(s, **given)
    again = column_generation(Formulation(Logistic(1.0), L1(), intercept=True), rows, y, start=hypotheses)
    assert again.certificate.holds(1e-4)
    assert len(set(asked)) == len(asked)


def every_column(X, pair_cost):
    """The values of all hypotheses, one of h and -h, by loops: steps, lines and ramps, and trees over their cost."""
    places = [[(a + b) / 2 for a, b in zip(np.unique(x)[:-1], np.unique(x)[1:], strict=True)] for x in X.T]
    steps = {(j, t): np.where(X[:, j] >= t, 1.0, -1.0) for j, own in enumerate(places) for t in own}
    ones, columns = np.ones(len(X)), list(steps.values())
    for x, own in zip(X.T, places, strict=True):
        if len(own) > 1:
            ramps = [np.maximum(side * (x - t), 0) for t in own for side in (1, -1)]
            columns += [part / x.std() for part in (x - x.mean(), *ramps)]
    halves = [ones, *steps.values()]
    for root, up, down, sign in product(steps.values(), halves, halves, (1, -1)):
        columns.append(np.where(root > 0, up, sign * down) / pair_cost)
    return np.stack([*columns, ones], axis=1)


def assert_answers(priced, largest, X, s):
    """The best edge is the largest of all, which the bound exceeds by rounding alone, and edges are sums."""
    assert priced.columns[0].edge == pytest.approx(largest, rel=1e-12)
    assert largest <= priced.edge_bound <= largest * (1 + 1e-9)
    for column in priced.columns:
        assert column.edge == pytest.approx(column.hypothesis(X) @ s, rel=1e-9, abs=1e-12)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_answers_and_bounds_are_those_of_a_list_of_all(seed):
    random = np.random.default_rng(seed)
    X = random.integers(0, 4, (8, 2)).astype(float)
    X[:3, 0] = [0, 1, 2]
    s = random.normal(size=8)
    H = every_column(X, 1.5)
    priced = AdditiveTerms(X, pair_cost=1.5).price(s)
    largest = np.abs(H.T @ s).max()
    assert_answers(priced, largest, X, s)


def test_the_optimum_is_that_over_a_list_of_all():
    few, y = X[:9, :2].round(), np.array([1.0, -1, 1, 1, -1, -1, 1, -1, 1])
    H = every_column(few, 2.0)
    # weights of either sign, as the set has -h with every h
    run = column_generation(formulations.soft_margin(0.7), AdditiveTerms(few), y, tol=1e-9)
    assert_optimum(run, linear_program(H, y, slack=0.7), rel=1e-7)


def test_terms_are_of_the_kinds_that_are_allowed():
    s = np.sign(X[:, 0] * X[:, 1])
    kinds = {type(column.hypothesis).__name__ for column in AdditiveTerms(X).price(s).columns}
    assert {"Stump", "Ramp", "Scaled"} <= kinds
    for alone in (AdditiveTerms(X, pairs=False), AdditiveTerms(X, interactions=[]), AdditiveTerms(X[:, :1])):
        assert "Scaled" not in {type(column.hypothesis).__name__ for column in alone.price(s).columns}


def test_terms_of_a_feature_with_a_sign_rise_or_fall():
    signs = np.array([1.0, -1.0, 0.0])
    oracle = AdditiveTerms(X, signs=signs)
    grid = np.linspace(-3, 3, 40)
    for seed in range(5):
        for column in oracle.price(np.random.default_rng(seed).normal(size=24)).columns:
            for j, sign in enumerate(signs):
                others = np.tile(X[seed], (40, 1))
                others[:, j] = grid
                assert sign == 0 or (sign * np.diff(column.hypothesis(others)) >= -1e-12).all()


def test_lines_and_ramps_have_weighted_standard_deviations_as_units():
    weights = np.r_[2.0, np.ones(23)]
    line = next(iter(list_ramps(X, None, weights)))
    twice = np.vstack([X[:1], X])
    repeated = next(iter(list_ramps(twice, None, np.ones(25))))
    assert isinstance(line, Ramp)
    assert (line.slope, line.threshold) == pytest.approx((repeated.slope, repeated.threshold))
    assert line(twice).std() == pytest.approx(1.0)
    assert not list(list_ramps(np.array([[0.0], [1.0]])))


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_of_a_sample_with_gaps_and_levels_answers_are_those_of_a_list_of_all(seed):
    random = np.random.default_rng(seed)
    x, sky = random.integers(0, 4, 9).astype(float), random.integers(0, 3, 9).astype(float)
    x[:4], sky[:3] = [0, 1, 2, np.nan], [0, 1, 2]
    s = random.normal(size=9)
    known, gone = np.unique(x[~np.isnan(x)]), np.isnan(x)
    mean, deviation = x[~gone].mean(), x[~gone].std()
    tests = [gone, *(sky == level for level in range(3))]
    columns = [np.ones(9), *(np.where(test, 1.0, -1.0) for test in tests), (x - mean) / deviation]
    for t in (known[1:] + known[:-1]) / 2:
        for way in (1.0, -1.0):
            columns += [np.where(gone, way, np.where(x >= t, 1.0, -1.0)), np.maximum(way * (x - t), 0) / deviation]
    largest = np.abs(np.nan_to_num(np.array(columns)) @ s).max()
    X = np.column_stack([x, sky])
    priced = AdditiveTerms(X, features=[Feature("x"), Feature("sky", ("a", "b", "c"))], pairs=False).price(s)
    assert_answers(priced, largest, X, s)


@pytest.mark.parametrize("signs", [None, [0, 1, 0]])
def test_pairs_of_levels_are_those_of_their_places_by_mean_outcomes(signs):
    random = np.random.default_rng(1)
    X = random.integers(0, 3, (30, 3)).astype(float)
    X[::7, 0] = X[1::9, 1] = X[:3, 2] = np.nan
    t, places = random.normal(size=30) + 3.0 * (X[:, 2] == 1), X.copy()
    means = [(t[X[:, 2] == k].sum() + t.mean()) / ((X[:, 2] == k).sum() + 1) for k in range(3)]
    for k, place in enumerate(rankdata(means)):
        places[X[:, 2] == k, 2] = place
    given = {"features": [Feature("a"), Feature("b"), Feature("sky", ("x", "y", "z"))], "signs": signs}
    for _ in range(5):
        s = random.normal(size=30)
        both = AdditiveTerms(X, outcomes=t, **given).price(s)
        alone = AdditiveTerms(X, pairs=False, **given).price(s).columns[0].edge
        pairs, cost = (DepthTwoTrees(places), 2) if signs is None else (PairRules(places, signs=signs), 1)
        assert_answers(both, max(alone, pairs.price(s).columns[0].edge / cost), X, s)
        others = AdditiveTerms(X, outcomes=t, **given).price(s, [column.hypothesis for column in both.columns])
        assert {column.hypothesis for column in both.columns}.isdisjoint(c.hypothesis for c in others.columns)
