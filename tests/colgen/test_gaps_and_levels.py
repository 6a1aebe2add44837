"""Stumps of features with missing values and of nominal ones: every answer against a list of all hypotheses."""

from math import inf

import numpy as np
import pytest
from brute_force import assert_optimum, linear_program
from gaps_and_levels import Gapped, both_signs, case, check_pricing, random_gapped
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import Constant, LevelStump, QuantileStumps, Stump, Stumps
from cvxens.errors import InvalidInput
from cvxens.problems import SVMPrimal
from cvxens.trees import Feature

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=200)
@given(seeds)
def test_every_edge_and_bound_by_brute_force(seed):
    check_pricing(seed)


@settings(max_examples=100)
@given(seeds)
def test_the_best_outside(seed):
    random, sample, s = case(seed)
    oracle, everything = sample.oracle(), sample.oracle().price(s)
    taken, left = [], both_signs(column for _, column in sample.columns())
    for _ in range(int(random.integers(1, 12))):
        found = [column for column in oracle.price(s, taken).columns if random.random() < 0.6]
        taken += [column.hypothesis if random.random() < 0.5 else -column.hypothesis for column in found]
        left -= both_signs(column.values for column in found)
    priced = oracle.price(s, taken)
    assert (priced.edge_bound, priced.edge_square_sum) == (everything.edge_bound, everything.edge_square_sum)
    constant = not {Constant(1), Constant(-1)} & set(taken)
    # hypotheses that agree on the sample are several of the set, of which only one was taken
    outside = max([constant * np.abs(s.sum(axis=0)).max(), *(np.max(np.array(h) @ s) for h in left)])
    assert priced.outside_bound >= outside - 1e-12
    assert priced.outside_bound <= max(outside, everything.best_edge) + 1e-12
    hidden = set(taken) | {-h for h in taken}
    assert not hidden & {column.hypothesis for column in priced.columns}
    if priced.columns:
        assert_allclose(priced.outside_bound, priced.columns[0].edge, atol=1e-12)


@settings(max_examples=60)
@given(seeds, st.sampled_from([1.0, 2.0, 3.0]))
def test_norms_over_outputs(seed, order):
    _, sample, s = case(seed)
    H = np.array([column for _, column in sample.columns()]).reshape(-1, len(sample.X))
    priced = sample.oracle(constant=False).price(s, row_norm=order)
    largest = np.linalg.norm(H @ s, order, axis=1).max(initial=0.0)
    assert_allclose(priced.edge_bound, largest, atol=1e-10)
    assert_allclose(priced.columns[0].edge, largest, atol=1e-10)


@settings(max_examples=60)
@given(seeds, st.sampled_from([1.0, 2.0, inf]))
def test_quantile_stumps_of_few_values_are_all_of_them(seed, order):
    _, sample, s = case(seed)
    sample = Gapped(sample.X, sample.kinds, sample.missing, "one")
    norms = {} if order == inf else {"row_norm": order}
    known = sample.oracle(columns_per_round=500).price(s, **norms)
    oracle = QuantileStumps(sample.X, features=sample.kinds, missing=sample.missing, columns_per_round=500)
    found = oracle.price(s, **norms)
    assert oracle.n_hypotheses == sample.oracle().n_hypotheses
    assert len(found.columns) == oracle.n_hypotheses
    assert_allclose([found.edge_bound, found.best_edge], [known.edge_bound, known.best_edge], atol=1e-10)
    assert_allclose(found.edge_square_sum, known.edge_square_sum, rtol=1e-10, atol=1e-10)
    for column in found.columns:
        assert_allclose(np.linalg.norm(column.values @ s, order), column.edge, atol=1e-10)
    without = oracle.price(s, [column.hypothesis for column in found.columns[:3]], **norms)
    assert_allclose([c.edge for c in without.columns], [c.edge for c in found.columns[3:]], atol=1e-10)


@settings(max_examples=40)
@given(seeds)
def test_costs_and_sides(seed):
    random, sample, s = case(seed, most_outputs=1)
    costs = random.choice([0.5, 1.0, 4.0], len(sample.kinds))
    signs = np.array([0 if kind.categories else random.integers(-1, 2) for kind in sample.kinds])
    own = []
    for j, column in sample.columns():
        x, gone = sample.X[:, j], np.isnan(sample.X[:, j])
        # which way a stump rises with what is known, unless it tells known from missing alone
        known = column[~gone]
        rise = 0 if len(set(known)) < 2 else 1 if known[x[~gone].argmax()] > 0 else -1
        ways = [1, -1] if signs[j] == 0 or rise == 0 else [1] if rise == signs[j] else [-1]
        own += [way * column / costs[j] for way in ways]
    priced = sample.oracle(constant=False, signs=signs, costs=costs).price(s)
    edges = np.array(own).reshape(-1, len(sample.X)) @ s[:, 0]
    assert_allclose(priced.edge_bound, edges.max() if own else 0.0, atol=1e-12)
    assert_allclose(priced.rising_square_sum, (np.maximum(edges, 0) ** 2).sum(), rtol=1e-12, atol=1e-12)


@settings(max_examples=15)
@given(seeds)
def test_the_optimum_is_that_over_a_list_of_all(seed):
    random = np.random.default_rng(seed)
    sample, y = random_gapped(random, 25, 3), np.where(random.random(25) < 0.5, -1.0, 1.0)
    y[:2] = 1.0, -1.0
    C = float(random.choice([0.02, 0.1, 0.5]))
    H = np.array([*(column for _, column in sample.columns()), np.ones(25)], float).T
    run = column_generation(formulations.soft_margin(C=C), sample.oracle(), y, tol=1e-9)
    assert_optimum(run, linear_program(H, y, slack=C), rel=1e-7, gap=1e-7)


@settings(max_examples=8)
@given(seeds)
def test_the_optimum_with_squared_weights(seed):
    """Of the l2 penalty, under which all hypotheses of positive edge have a weight."""
    random = np.random.default_rng(seed)
    sample, y = random_gapped(random, 12, 2), np.where(np.arange(12) % 2, -1.0, 1.0)
    H = np.array([*(column for _, column in sample.columns()), np.ones(12)], float).T
    run = column_generation(formulations.svm(C=0.1), sample.oracle(), y, tol=1e-6)
    assert_optimum(run, SVMPrimal(H, y, C=0.1).solve().objective, rel=1e-5)


@pytest.mark.thinned(1, n_levels=[62, 63, 64, 65, 66, 130, 300], Oracle=[Stumps, QuantileStumps])
def test_many_levels_are_what_their_indicators_are(n_levels, Oracle):
    random = np.random.default_rng(n_levels)
    codes, x = random.permutation(np.arange(320) % n_levels).astype(float), random.normal(size=(320, 1)).round(1)
    codes[:3] = np.nan
    y = np.where(x[:, 0] + (codes % 3 == 0) + random.normal(size=320) > 0.5, 1.0, -1.0)
    features = [Feature("town", tuple(map(str, range(n_levels)))), Feature("x")]
    levels = Oracle(np.column_stack([codes, x]), features=features)
    gone = np.isnan(codes)[:, np.newaxis]
    indicators = Oracle(np.hstack([codes[:, np.newaxis] == np.arange(n_levels), gone, x]).astype(float))
    s = y * random.random(320)
    found, expected = levels.price(s), indicators.price(s)
    assert_allclose(found.edge_bound, expected.edge_bound, rtol=1e-12)
    assert_allclose(found.edge_square_sum, expected.edge_square_sum, rtol=1e-12)
    for column in found.columns:
        assert_allclose(column.edge, column.values @ s, atol=1e-12)
    left = levels.price(s, [column.hypothesis for column in found.columns])
    assert not {column.hypothesis for column in found.columns} & {column.hypothesis for column in left.columns}
    runs = [column_generation(formulations.soft_margin(C=0.3), oracle, y, tol=1e-9) for oracle in (levels, indicators)]
    assert all(run.certificate.holds(1e-9) for run in runs)
    assert_allclose(*(run.certificate.primal for run in runs), rtol=1e-9)


def test_what_they_say():
    X = np.array([[1.0, 0], [2.0, 2], [np.nan, 1], [4.0, np.nan], [5.0, 2], [np.nan, 0]])
    kinds = [Feature("age"), Feature("sky", ("blue", "grey", "red"))]
    s = np.array([-1.0, -1, 2, 2, 1, -3])
    texts = [str(column.hypothesis) for column in Stumps(X, features=kinds, levels="subsets").price(s).columns]
    assert texts[0] == "x[1] = blue, not missing -> -1"
    assert "x[0] >= 3, not missing -> +1" in texts
    silent = [str(column.hypothesis) for column in Stumps(X, features=kinds, missing="zero").price(s).columns]
    assert {"x[0] >= 3 -> +1", "x[1] = blue -> -1", "x[0] is missing -> -1", "x[1] is missing -> +1"} <= set(silent)


def test_the_mean_of_both_sides_says_nothing_of_what_is_missing():
    X = np.array([[0.0], [1.0], [np.nan]])
    above, below, silent = (Stump(0, 0.5, 1, missing)(X) for missing in (1, -1, 0))
    assert ((above + below) / 2 == silent).all()
    assert silent.tolist() == [-1.0, 1.0, 0.0]
    grey = [LevelStump(0, (1,), -1, missing)(X) for missing in (1, -1, 0)]
    assert [h.tolist() for h in grey] == [[1, -1, -1], [1, -1, 1], [1, -1, 0]]


def test_norms_over_many_subsets_are_refused():
    X = np.arange(20.0)[:, np.newaxis]
    oracle = Gapped(X, (Feature("town", tuple(map(str, range(20)))),), "side", "subsets").oracle()
    assert oracle.n_hypotheses == 2**19
    with pytest.raises(InvalidInput, match=r"levels: found subsets of 20 levels"):
        oracle.price(np.ones((20, 2)), row_norm=2.0)
