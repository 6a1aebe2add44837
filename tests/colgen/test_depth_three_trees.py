"""All trees of depth 3: what the search says where it can be seen, where it is cut short, and what it refuses.

Random samples beside a list of all trees are in fuzz/interactions.py.
"""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.tree import DecisionTreeClassifier

from cvxens import LPBoostClassifier, load_model
from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import DepthThreeTrees, DepthTwoTrees
from cvxens.hypotheses import Branch, negate

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 6)).round(1)
PARITY = np.where(X[:, 0] * X[:, 1] * X[:, 2] > -0.05, 1.0, -1.0)
S = PARITY * RNG.uniform(0.5, 1.5, 60)


def test_three_questions_tell_a_parity_that_two_cannot():
    cube = np.array(list(product([0.0, 1.0], repeat=3)))
    s = (2 * cube - 1).prod(axis=1)
    assert DepthThreeTrees(cube).price(s).best_edge == 8
    assert DepthTwoTrees(cube).price(s).best_edge == 0


def test_neither_a_greedy_tree_nor_one_of_depth_two_is_better():
    greedy = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, PARITY, sample_weight=np.abs(S))
    exact = DepthThreeTrees(X, n_bins=256).price(S)
    assert exact.best_edge >= S @ greedy.predict(X)
    assert exact.best_edge > 1.1 * DepthTwoTrees(X, n_bins=256).price(S).best_edge
    assert exact.edge_bound == pytest.approx(exact.best_edge, rel=1e-12)


def test_one_column_is_the_best_of_all():
    every, one = DepthThreeTrees(X, n_bins=8).price(S), DepthThreeTrees(X, n_bins=8, columns_per_round=1).price(S)
    assert [str(c.hypothesis) for c in one.columns] == [str(every.columns[0].hypothesis)]
    assert one.edge_bound == every.edge_bound
    assert len(every.columns) > 3


def test_no_sample_is_asked_what_is_not_allowed():
    for options in ({"interactions": [(0, 1), (1, 2, 3)]}, {"forbidden": [(0, 2), (0, 3, 4, 5), (4, 1, 2), (5, 1, 2)]}):
        for column in DepthThreeTrees(X, n_bins=4, **options).price(S).columns:
            if isinstance(column.hypothesis, Branch):
                ways = [{interval.feature for interval in rule.intervals} for rule in column.hypothesis.rules]
                assert all(way <= {0, 1} or way <= {1, 2, 3} or way <= {3, 4, 5} for way in ways)


def test_several_outputs_have_the_best_of_all():
    s = np.column_stack([S, RNG.normal(size=60), -2 * S])
    oracle = DepthThreeTrees(X, n_bins=6)
    priced = oracle.price(s)
    assert priced.best_edge == pytest.approx(2 * oracle.price(S).best_edge)
    for column in priced.columns:
        assert column.edge == pytest.approx((column.values @ s).max())
    rest = oracle.price(s, [negate(priced.columns[0].hypothesis)])
    assert rest.edge_bound == priced.edge_bound
    assert rest.outside_bound == pytest.approx(rest.best_edge)


def test_a_run_is_proven_and_less_than_that_over_smaller_trees():
    y = np.where(RNG.uniform(size=60) < 0.1, -PARITY, PARITY)
    deep = column_generation(formulations.soft_margin(0.1), DepthThreeTrees(X[:, :4], n_bins=5), y)
    flat = column_generation(formulations.soft_margin(0.1), DepthTwoTrees(X[:, :4], n_bins=5), y)
    assert deep.certificate.holds(1e-6)
    assert deep.certificate.primal < flat.certificate.dual
    cut = column_generation(formulations.soft_margin(0.1), DepthThreeTrees(X[:, :4], n_bins=5, max_nodes=1), y)
    assert cut.certificate.proven
    assert cut.certificate.dual <= deep.certificate.primal + 1e-9


def test_estimators_take_them_by_name_and_files_give_them_back(tmp_path):
    model = LPBoostClassifier(nu=0.2, oracle="depth_three_trees", tol=0.2, max_columns=20).fit(X, PARITY)
    assert any(isinstance(h, Branch) and isinstance(h.above, Branch) for h in model.weak_learners_)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.to_text() == model.to_text()
    rules = model.get_rules(X, PARITY)
    assert rules["length"].max() == 3
    assert model.feature_importances_.sum() == pytest.approx(1)
