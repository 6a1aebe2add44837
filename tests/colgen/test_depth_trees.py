"""All trees of depth 2 and of depth 3: what the search says on samples where it can be seen.

Random samples beside a list of all trees are in fuzz/interactions.py.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from cvxens import AdaBoostClassifier, CGEnsClassifier, LPBoostClassifier
from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import DepthThreeTrees, DepthTwoTrees, Stumps
from cvxens.hypotheses import Branch, negate

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 6)).round(1)
PARITY = {
    DepthTwoTrees: np.where(X[:, 0] * X[:, 1] > -0.05, 1.0, -1.0),
    DepthThreeTrees: np.where(X[:, 0] * X[:, 1] * X[:, 2] > -0.05, 1.0, -1.0),
}
SIZES = RNG.uniform(0.5, 1.5, 60)
S = PARITY[DepthThreeTrees] * SIZES

both = pytest.mark.parametrize("make", [DepthTwoTrees, DepthThreeTrees])


def features_of(priced):
    """The sets of features that trees of an answer look at."""
    trees = (column.hypothesis for column in priced.columns if isinstance(column.hypothesis, Branch))
    return {frozenset(tree.feature_shares[0].tolist()) for tree in trees}


def test_the_best_tree_of_binary_features_is_that_of_one_weighted_gram_matrix():
    B = (RNG.uniform(size=(60, 7)) < 0.5).astype(float)
    s = RNG.normal(size=60)
    P, total = B.T @ (s[:, None] * B), s.sum()
    d = np.diag(P)
    above = np.abs(P) + np.abs(d[:, None] - P)
    below = np.abs(d - P) + np.abs(total - d[:, None] - d + P)
    priced = DepthTwoTrees(B).price(s)
    assert priced.best_edge == pytest.approx((above.max(axis=1) + below.max(axis=1)).max(), rel=1e-12)
    assert priced.edge_bound == pytest.approx(priced.best_edge, rel=1e-12)


def test_three_questions_tell_a_parity_that_two_cannot():
    cube = np.array(list(product([0.0, 1.0], repeat=3)))
    s = (2 * cube - 1).prod(axis=1)
    assert DepthThreeTrees(cube).price(s).best_edge == 8
    assert DepthTwoTrees(cube).price(s).best_edge == 0


@both
def test_neither_a_greedy_tree_nor_one_that_is_less_deep_is_better(make):
    s, depth = PARITY[make] * SIZES, {DepthTwoTrees: 2, DepthThreeTrees: 3}[make]
    greedy = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, PARITY[make], sample_weight=SIZES)
    exact = make(X, n_bins=256).price(s)
    less = Stumps(X) if make is DepthTwoTrees else DepthTwoTrees(X, n_bins=256)
    assert exact.best_edge >= s @ greedy.predict(X)
    assert exact.best_edge > 1.1 * less.price(s).best_edge
    assert exact.edge_bound == pytest.approx(exact.best_edge, rel=1e-12)


def test_with_every_value_a_bin_the_thresholds_are_all():
    counts = DepthTwoTrees(X, n_bins=256).binned.counts
    assert counts.tolist() == [len(np.unique(column)) - 1 for column in X.T]
    assert DepthTwoTrees(X, n_bins=8).binned.counts.tolist() == [7] * 6


def test_one_column_is_the_best_of_all():
    every, one = DepthThreeTrees(X, n_bins=8).price(S), DepthThreeTrees(X, n_bins=8, columns_per_round=1).price(S)
    assert [str(c.hypothesis) for c in one.columns] == [str(every.columns[0].hypothesis)]
    assert one.edge_bound == every.edge_bound
    assert len(every.columns) > 3


def test_interactions_that_are_not_allowed_are_in_no_tree_and_stumps_are_left():
    few, s = X[:, :3], PARITY[DepthTwoTrees] * SIZES
    stumps = Stumps(few, square_sum=False).price(s).best_edge
    for options in ({"interactions": []}, {"forbidden": [(0, 1, 2)]}):
        alone = DepthTwoTrees(few, n_bins=256, **options).price(s)
        assert stumps <= alone.best_edge < 0.7 * DepthTwoTrees(few).price(s).best_edge
        assert all(len(features) == 1 for features in features_of(alone))
    only = DepthTwoTrees(few, interactions=[(2, 1)]).price(s)
    assert features_of(only) <= {frozenset({0}), frozenset({1}), frozenset({2}), frozenset({1, 2})}


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


@both
def test_a_run_is_proven_and_less_than_that_over_smaller_trees(make):
    y, few = np.where(RNG.uniform(size=60) < 0.1, -PARITY[make], PARITY[make]), X[:, :4]
    less = Stumps(few) if make is DepthTwoTrees else DepthTwoTrees(few, n_bins=5)
    deep, flat = (column_generation(formulations.soft_margin(0.1), oracle, y) for oracle in (make(few, n_bins=5), less))
    assert deep.certificate.holds(1e-6)
    assert deep.certificate.primal < flat.certificate.dual
    if make is DepthThreeTrees:
        cut = column_generation(formulations.soft_margin(0.1), make(few, n_bins=5, max_nodes=1), y)
        assert cut.certificate.proven
        assert cut.certificate.dual <= deep.certificate.primal + 1e-9


def test_the_optimum_has_no_more_than_that_of_depth_one_on_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150, :6], 2.0 * y[:150] - 1
    deep = column_generation(formulations.soft_margin(0.05), DepthTwoTrees(X, n_bins=256), y)
    flat = column_generation(formulations.soft_margin(0.05), Stumps(X), y)
    assert deep.certificate.holds(1e-6)
    assert deep.certificate.primal < flat.certificate.dual


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "make"),
    [
        (LPBoostClassifier(oracle="depth_two_trees", max_time=20.0, tol=0.2, max_columns=40), DepthTwoTrees),
        (CGEnsClassifier(oracle="depth_two_trees", max_time=20.0, tol=0.2, max_columns=40), DepthTwoTrees),
        (AdaBoostClassifier("depth_two_trees", max_time=20.0, n_rounds=5), DepthTwoTrees),
        (LPBoostClassifier(nu=0.2, oracle="depth_three_trees", tol=0.2, max_columns=20), DepthThreeTrees),
    ],
)
def test_estimators_take_them_by_name(model, make):
    model.fit(X, PARITY[make])
    assert model.score(X, PARITY[make]) > 0.9
    trees = [h for h in model.weak_learners_ if isinstance(h, Branch)]
    assert any(isinstance(h.above, Branch) for h in trees) if make is DepthThreeTrees else trees
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.get_rules(X, PARITY[make])["length"].max() == (3 if make is DepthThreeTrees else 2)


def test_texts_have_the_names_of_features_and_classes():
    frame = pd.DataFrame(X[:, :3], columns=["age", "dose", "height"])
    labels = np.where(PARITY[DepthTwoTrees] > 0, "well", "ill")
    text = LPBoostClassifier(C=1.0, oracle="depth_two_trees").fit(frame, labels).to_text(most=1)
    assert "age" in text
    assert "dose" in text
    assert text.splitlines()[0].endswith(("-> well", "-> ill"))
