from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.colgen.oracles import Trees
from cvxens.trees import Table, fit_tree

ROWS = [["a", 1.0, None], ["a", 2.0, None], ["b", None, None], ["b", 4.0, None], ["?", 5.0, None], ["c", 6.0, None]]
weights = st.lists(st.integers(-4, 4).map(float), min_size=6, max_size=6).filter(any)


@given(weights, st.sampled_from([None, 0.25]), st.sampled_from([1, None]))
def test_the_column_is_a_signed_tree_with_its_edge(s, confidence, max_depth):
    s = np.array(s)
    oracle = Trees(ROWS, max_depth=max_depth, min_cases=1, confidence=confidence)
    priced = oracle.price(s)
    (column,) = priced.columns
    assert priced.edge_bound == inf
    assert set(column.values.tolist()) <= {-1.0, 1.0}
    assert column.edge >= 0
    assert column.edge == pytest.approx(column.values @ s)
    np.testing.assert_array_equal(column.hypothesis(ROWS), column.values)
    weight = np.abs(s) / np.abs(s).mean()
    tree = fit_tree(ROWS, np.where(s > 0, 1, -1), weight, max_depth=max_depth, min_cases=1, confidence=confidence)
    assert column.hypothesis.tree == tree


@given(weights, st.sampled_from([0.25, 2.0, 1024.0]))
def test_scaling_the_weights_changes_the_edge_only(s, factor):
    s = np.array(s)
    oracle = Trees(ROWS, min_cases=1)
    (one,), (other,) = oracle.price(s).columns, oracle.price(factor * s).columns
    assert one.hypothesis == other.hypothesis
    assert other.edge == pytest.approx(factor * one.edge)


@given(weights, weights)
def test_several_outputs_get_a_tree_each_the_best_first(first, second):
    s = np.column_stack([first, second, np.zeros(6)])
    oracle = Trees(ROWS, min_cases=1)
    columns = oracle.price(s).columns
    edges = [column.edge for column in columns]
    assert edges == sorted(edges, reverse=True)
    for column in columns:
        assert column.edge == pytest.approx((column.values @ s).max())
    singles = {oracle.price(output).columns[0].hypothesis.tree for output in s.T if output.any()}
    assert {column.hypothesis.tree for column in columns} == singles


def test_unlearnable_weights_give_the_better_constant():
    (column,) = Trees([[0.0], [0.0], [0.0]]).price(np.array([1.0, -2.0, 3.0])).columns
    assert column.edge == 2.0
    assert column.values.tolist() == [1.0, 1.0, 1.0]


def test_a_hypothesis_takes_gaps_and_unseen_categories():
    (column,) = Trees(ROWS, min_cases=1, confidence=None).price(np.array([1.0, 1, -1, -1, -1, -1])).columns
    both = column.hypothesis([["z", 3.0, None], [None, 3.0, None]])
    assert both[0] == both[1]


def test_a_table_is_shared_with_the_columns():
    table = Table.read(ROWS)
    (column,) = Trees(table).price(np.array([1.0, 1, -1, -1, -1, -1])).columns
    assert column.sample is table
