import numpy as np
import pytest

from cvxens.errors import InvalidInput
from cvxens.trees import fit_forest, fit_tree

X = [["a", 1.0, None], ["a", 2.0, None], ["b", 3.0, None], ["b", 4.0, None]]
Y = [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("argument", "change"),
    [
        ("y", {"y": [0, 1]}),
        ("y", {"y": [[0], [0], [1], [1]]}),
        ("y", {"y": [0, 0, 1, np.nan]}),
        ("y", {"y": np.array([0, 0, 1, "b"], dtype=object)}),
        ("sample_weight", {"sample_weight": [1, 1, 1]}),
        ("sample_weight", {"sample_weight": [0, 0, 0, 0]}),
        ("sample_weight", {"sample_weight": [1, 1, 1, -1]}),
        ("sample_weight", {"sample_weight": [1, 1, 1, np.nan]}),
        ("max_depth", {"max_depth": 0}),
        ("max_depth", {"max_depth": 1.5}),
        ("min_cases", {"min_cases": 0}),
        ("confidence", {"confidence": 0}),
        ("confidence", {"confidence": 1.0}),
    ],
)
def test_bad_arguments_are_named(argument, change):
    with pytest.raises(InvalidInput) as caught:
        fit_tree(**{"X": X, "y": Y, **change})
    assert caught.value.argument == argument


def test_a_column_without_known_values_is_never_tested():
    tree = fit_tree(X, Y)
    assert 2 not in tree.nodes.feature
    assert tree.predict(X).tolist() == Y
    tree = fit_tree([[None], ["?"], [float("nan")]], ["a", "b", "b"])
    assert tree.predict([[None], [3.0]]).tolist() == ["b", "b"]


def test_an_unseen_category_counts_as_missing():
    tree = fit_tree([["a"], ["a"], ["b"], ["b"], ["b"]], [0, 0, 1, 1, 1], confidence=None)
    np.testing.assert_array_equal(tree.predict_proba([["z"]]), tree.predict_proba([[None]]))
    np.testing.assert_allclose(tree.predict_proba([["z"]]), [[0.4, 0.6]])


def test_one_class_gives_one_leaf():
    tree = fit_tree(X, ["same"] * 4)
    assert (tree.n_leaves, tree.depth, tree.predict(X).tolist()) == (1, 0, ["same"] * 4)


def test_duplicated_features_are_told_apart_by_order():
    tree = fit_tree([[k, k] for k in range(6)], [0, 0, 0, 1, 1, 1])
    assert str(tree).splitlines() == ["x0 <= 2: 0 (3.0)", "x0 > 2: 1 (3.0)"]


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.7e308, 1.7e308), *((low, np.nextafter(low, np.inf)) for low in (1.0, 1e308, -1e308, 5e-324, 0.0))],
)
def test_neighbouring_floats_can_be_told_apart_and_extreme_ones_do_not_overflow(low, high):
    column = np.array([low, low, high, high])[:, None]
    assert fit_tree(column, Y).predict(column).tolist() == Y


def test_the_cut_is_a_value_of_the_table_even_if_no_case_has_it():
    tree = fit_tree([[0.0], [0.0], [10.0], [10.0], [4.0]], [0, 0, 1, 1, 0], [1, 1, 1, 1, 0])
    assert str(tree).splitlines() == ["x0 <= 4: 0 (2.0)", "x0 > 4: 1 (2.0)"]


def test_the_penalty_on_cuts_removes_splits_of_noise_and_a_long_chain_does_not_exhaust_the_stack():
    rng = np.random.default_rng(0)
    assert fit_tree(rng.normal(size=(40, 1)), rng.integers(0, 2, 40), confidence=None).n_leaves == 1
    n = 4000
    assert fit_tree(np.arange(n)[:, None], np.arange(n) % 2, min_cases=0.5, confidence=None).n_leaves <= n


def test_a_forest_of_all_features_is_of_trees_on_bootstrap_samples():
    rng = np.random.default_rng(0)
    sample = [[float(v), str(rng.integers(3)), float(w)] for v, w in rng.normal(size=(30, 2))]
    y = rng.integers(0, 2, 30)
    forest = fit_forest(sample, y, 4, max_features=3, random_state=1)
    seeds = np.random.default_rng(1).integers(2**63, size=4)
    for tree, seed in zip(forest, seeds, strict=True):
        counts = np.bincount(np.random.default_rng(seed).integers(30, size=30), minlength=30)
        alone = fit_tree(sample, y, counts, min_cases=1, confidence=None)
        # of features that are as good the first one that is drawn wins, and the order of the features is random
        assert tree.nodes.counts[0].tolist() == alone.nodes.counts[0].tolist()
        assert sorted(tree.nodes.feature) == sorted(alone.nodes.feature)
    assert fit_forest(sample, y, 4, max_features=3, random_state=1, n_jobs=2) == forest
    assert fit_forest(sample, y, 4, max_features=3, random_state=2) != forest


def test_few_features_are_drawn_at_each_node_and_more_where_none_splits():
    rng = np.random.default_rng(0)
    sample = np.column_stack([rng.normal(size=(60, 3)), np.zeros((60, 6))])
    y = (sample[:, 0] > 0).astype(int)
    roots = {int(tree.nodes.feature[0]) for tree in fit_forest(sample, y, 30, max_features=1, random_state=0)}
    assert roots == {0, 1, 2}
    everything = {int(tree.nodes.feature[0]) for tree in fit_forest(sample, y, 30, max_features=9, random_state=0)}
    assert everything == {0}
    votes = np.mean([tree.predict(sample) for tree in fit_forest(sample, y, 30, random_state=0)], axis=0)
    assert ((votes > 0.5) == y).all()


@pytest.mark.parametrize("change", [{"n_trees": 0}, {"max_features": 0}, {"min_cases": 0}, {"n_jobs": 0}])
def test_bad_arguments_of_a_forest_are_named(change):
    with pytest.raises(InvalidInput) as caught:
        fit_forest(X, Y, **change)
    assert [caught.value.argument] == list(change)
