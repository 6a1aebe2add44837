"""Unions of oracles, hypotheses with costs, one-sided pools: against enumerations of all hypotheses."""

from functools import partial

import numpy as np
import pytest
from brute_force import PlainTable, assert_over_all, list_stumps, noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen import Checkpoint, Ending, Formulation, TabledSample, column_generation, oracles
from cvxens.hypotheses import Constant, Scaled, negate
from cvxens.problems.losses import Hinge, Logistic
from cvxens.problems.penalties import L1, ElasticNet, SquaredL2

KERNEL = partial(rbf_kernel, gamma=0.1)


def all_hypotheses(X):
    """Every middle stump of sign +1, and the constant."""
    return [*list_stumps(X), Constant(1)]


@pytest.mark.parametrize("penalty", [L1(), SquaredL2(), ElasticNet(0.4, 0.3)], ids=lambda p: type(p).__name__)
@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
def test_a_union_reaches_the_optimum_over_all_of_its_sets(seed, penalty):
    X, y = noisy(24, 2, seed)
    oracle = oracles.Union(oracles.Stumps(X), oracles.KernelColumns(KERNEL, X))
    H = np.column_stack([*(h(X) for h in all_hypotheses(X)), KERNEL(X, np.unique(X, axis=0))])
    # closer than this the reference is not sure of all draws
    run = assert_over_all(Formulation(Hinge(0.5), penalty, intercept=True), oracle, y, H=H, rel=2e-6)
    assert run.ending is Ending.OPTIMAL


def test_a_union_is_as_closed_and_as_exact_as_its_sets():
    X, y = noisy(20, 2, 1)
    stumps, one_sided = oracles.Stumps(X), oracles.Pool(X, sample=X, negations=False)
    assert oracles.Union(stumps, stumps).negations
    assert not oracles.Union(stumps, one_sided).negations
    trees = oracles.SklearnLearner(DecisionTreeClassifier(max_depth=2), X)
    assert oracles.Union(stumps, trees).price(y).edge_bound == np.inf
    assert len(oracles.Union(stumps, one_sided, columns_per_round=2).price(y).columns) == 2
    assert oracles.Union(oracles.Stumps(csr_array(X)), oracles.Stumps(csr_array(X))).price(y).columns


@pytest.mark.parametrize("cost", [1.0, 0.5])
def test_a_table_joins_by_rows(cost, tmp_path):
    X, y = noisy(24, 2, 3)
    table = np.random.default_rng(0).normal(size=(24, 3)) + 0.3 * y[:, np.newaxis]
    oracle = oracles.Union(oracles.Stumps(X), oracles.Costed(oracles.Pool(table), cost))
    H = np.column_stack([*(h(X) for h in all_hypotheses(X)), table / cost])
    formulation, file = Formulation(Hinge(0.5), L1(), intercept=True), Checkpoint(tmp_path / "run")
    first = column_generation(formulation, oracle, y, max_rounds=2, checkpoint=file)
    run = assert_over_all(formulation, oracle, y, H=H, rel=1e-7, checkpoint=file)
    assert run.history[:2] == first.history
    started = column_generation(formulation, oracle, y, start=[column.hypothesis for column in run.columns])
    assert len(started.history) < len(run.history)
    again = TabledSample(X[:5], table[:5])
    np.testing.assert_allclose(run.decision_function(again), run.decision_function(oracle.sample)[:5])
    pairs = oracles.Rows(oracle, np.eye(24)[:4] - np.eye(24)[4:8])
    np.testing.assert_allclose(
        pairs.sample.evaluate(run.columns[0].hypothesis), -np.diff(run.columns[0].values[:8].reshape(2, 4), axis=0)[0]
    )


def test_tables_that_are_one_make_one_sample():
    X, _ = noisy(24, 2, 3)
    assert oracles.Union(oracles.Pool(X), oracles.Pool(X)).sample is not None


@pytest.mark.parametrize("nonnegative", [True, False])
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_a_one_sided_pool_has_its_hypotheses_alone(seed, nonnegative):
    X, y = noisy(20, 2, seed)
    oracle = oracles.KernelColumns(KERNEL, X, negations=False)
    formulation = Formulation(Logistic(0.8), L1(0.3), nonnegative=nonnegative, intercept=True)
    run = assert_over_all(formulation, oracle, y, H=KERNEL(X, X), rel=2e-6)
    assert all(column.hypothesis.sign > 0 for column in run.columns)
    assert (run.weights >= 0).all() or not nonnegative


def cost(h):
    """What a hypothesis of either sign costs."""
    return 1.5 if isinstance(h, Constant) else 1.0 + 0.5 * h.feature + (h.threshold > 4)


@given(
    seed=st.integers(0, 10**6),
    n_excluded=st.integers(0, 30),
    outputs=st.integers(1, 2),
    row_norm=st.sampled_from([2.0, np.inf]),
)
def test_answers_with_costs_are_those_of_brute_force(seed, n_excluded, outputs, row_norm):
    X, _ = noisy(15, 2, seed)
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(15, outputs))
    oracle = oracles.Costed(oracles.Stumps(X), cost, least=1.0)
    hypotheses = all_hypotheses(X)
    excluded = [oracle.scale(h) for h in rng.permutation(np.array(hypotheses, dtype=object))[:n_excluded]]
    sizes = np.array([np.linalg.norm(h(X) @ s, row_norm) / cost(h) for h in hypotheses])
    is_open = np.array([oracle.scale(h) not in excluded for h in hypotheses])
    priced = oracle.price(s, excluded, row_norm=row_norm)
    assert sizes.max() <= priced.edge_bound
    assert priced.edge_bound <= sizes.max() * (1 + 1e-10) or not is_open.any()
    best = sizes[is_open].max(initial=0.0)
    assert best <= priced.outside_bound * (1 + 1e-14)
    if is_open.any():
        assert priced.outside_bound <= best * (1 + 1e-10)
        assert priced.columns[0].edge == pytest.approx(best)
    squares = sum(((h(X) @ s) ** 2).sum() / cost(h) ** 2 for h in hypotheses)
    assert priced.edge_square_sum >= squares
    for column in priced.columns:
        assert {column.hypothesis, negate(column.hypothesis)}.isdisjoint(excluded)
        assert column.edge == pytest.approx(np.linalg.norm(column.values @ s, row_norm))


@pytest.mark.parametrize("penalty", [L1(0.7), ElasticNet(0.5, 0.4)], ids=lambda p: type(p).__name__)
@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
def test_costs_that_are_a_function_reach_the_weighted_optimum(seed, penalty):
    X, y = noisy(24, 2, seed)
    hypotheses = all_hypotheses(X)
    H, costs = np.column_stack([h(X) for h in hypotheses]), np.array([cost(h) for h in hypotheses])
    oracle = oracles.Costed(oracles.Stumps(X), cost, least=1.0)
    run = assert_over_all(Formulation(Hinge(0.5), penalty, intercept=True), oracle, y, H=H / costs, rel=2e-6)
    assert run.ending is Ending.OPTIMAL


@pytest.mark.parametrize("penalty", [L1(0.7), SquaredL2()], ids=lambda p: type(p).__name__)
def test_one_cost_for_each_set_of_a_union(penalty):
    X, y = noisy(24, 2, 7)
    bumps = oracles.Costed(oracles.KernelColumns(KERNEL, X), 0.25)
    oracle = oracles.Union(oracles.Costed(oracles.Stumps(X), 1.0), bumps)
    centres = np.unique(X, axis=0)
    stumps = [h(X) for h in all_hypotheses(X)]
    H, costs = np.column_stack([*stumps, KERNEL(X, centres)]), np.r_[np.ones(len(stumps)), np.full(len(centres), 0.25)]
    run = assert_over_all(Formulation(Hinge(0.5), penalty, intercept=True), oracle, y, H=H / costs, rel=2e-6)
    assert {type(column.hypothesis) for column in run.columns} >= {Scaled}


def test_a_search_of_an_oracle_that_heeds_nothing_or_knows_nothing_ends():
    X, y = noisy(20, 2, 3)
    deaf = oracles.Costed(PlainTable(X), lambda h: 1.0 + h.index, least=1.0)
    assert len(deaf.price(y).columns) == 2
    unbounded = oracles.Costed(PlainTable(X, bounded=False), lambda h: 1.0 + h.index, least=1.0)
    assert unbounded.price(y).edge_bound == np.inf
