"""TT06 (8) and (9) by brute force over the paths in every tree."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cvxens.errors import InvalidInput
from cvxens.kernels import TreeEnsemble
from cvxens.kernels.tree_ensemble import ThresholdTrees, sum_through_trees, trees_of
from cvxens.trees import fit_tree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)).round(1)
Y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])
NEW = RNG.normal(size=(7, 3))

ENSEMBLES = {
    "forest": RandomForestClassifier(n_estimators=5, random_state=0),
    "regression forest": RandomForestRegressor(n_estimators=4, max_leaf_nodes=6, random_state=0),
    "extra trees": ExtraTreesClassifier(n_estimators=4, max_depth=3, random_state=0),
    "boosting of three classes": GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
    "regression boosting": GradientBoostingRegressor(n_estimators=5, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "pruned regression tree": DecisionTreeRegressor(max_leaf_nodes=5, random_state=0),
}


def paths(ensemble, X):
    """Of each tree and sample, the nodes from the root to the leaf, by descending one test after another."""
    found = []
    for estimator in np.ravel(getattr(ensemble, "estimators_", [ensemble])):
        tree = estimator.tree_
        of_tree = []
        for x in np.asarray(X, np.float32):
            path = [0]
            while tree.children_left[path[-1]] >= 0:
                node = path[-1]
                value = x[tree.feature[node]]
                left = tree.missing_go_to_left[node] if np.isnan(value) else value <= tree.threshold[node]
                path.append(int(tree.children_left[node] if left else tree.children_right[node]))
            of_tree.append(path)
        found.append(of_tree)
    return found


def brute(left, right, count):
    pairs = zip(left, right, strict=True)
    return np.mean([[[count(a, b) for b in theirs] for a in ours] for ours, theirs in pairs], axis=0)


def same_leaf(a, b):
    return float(a[-1] == b[-1])


def common_depth(a, b):
    return len(set(a) & set(b)) - 1


def common_share(a, b):
    """TT06 (9): d(p) / max(d, d'), with 1 for two samples in a root that is a leaf."""
    deepest = max(len(a), len(b)) - 1
    return common_depth(a, b) / deepest if deepest else 1.0


COUNTS = {"leaf": same_leaf, "depth": common_share, "ancestors": common_depth}

kinds = pytest.mark.parametrize("kind", COUNTS)


@kinds
@pytest.mark.parametrize("name", ENSEMBLES)
def test_tt06_8_and_9_by_brute_force(name, kind):
    ensemble = ENSEMBLES[name].fit(X, Y)
    kernel = TreeEnsemble(ensemble, kind)
    ours, new = paths(ensemble, X), paths(ensemble, NEW)
    np.testing.assert_allclose(kernel(X), brute(ours, ours, COUNTS[kind]), rtol=1e-12)
    np.testing.assert_allclose(kernel(NEW, X), brute(new, ours, COUNTS[kind]), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(NEW), np.diag(brute(new, new, COUNTS[kind])), rtol=1e-12)


@kinds
@pytest.mark.parametrize("name", ENSEMBLES)
def test_products_with_a_matrix_that_is_not_written_out(name, kind):
    kernel = TreeEnsemble(ENSEMBLES[name].fit(X, Y), kind)
    for left, right in ((X, X), (NEW, X), (X, NEW)):
        C = np.random.default_rng(2).normal(size=(len(right), 37))
        K = kernel.unwritten(left, right)
        assert K.shape == (len(left), len(right))
        np.testing.assert_allclose(K @ C, kernel(left, right) @ C, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(K @ C[:, 0], kernel(left, right) @ C[:, 0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(kernel.unwritten(X) @ np.eye(len(X)), kernel(X), rtol=1e-12)


@kinds
def test_sums_through_trees_are_those_of_plain_loops(kind):
    K = TreeEnsemble(ENSEMBLES["forest"].fit(X, Y), kind).unwritten(NEW, X)
    given = K.above, K.least, K.most, K.first, K.left, K.right, np.random.default_rng(3).normal(size=(len(X), 2))
    np.testing.assert_allclose(sum_through_trees.py_func(*given), sum_through_trees(*given), rtol=1e-12, atol=1e-12)


@kinds
@pytest.mark.parametrize("name", ENSEMBLES)
def test_tree_kernels_are_psd_and_of_one_row_per_leaf(name, kind):
    """TT06 says positive definite, which no kernel of samples that share a leaf is."""
    kernel = TreeEnsemble(ENSEMBLES[name].fit(X, Y), kind)
    K = kernel(X)
    assert np.linalg.eigvalsh(K).min() >= -1e-12 * np.trace(K)
    ours = trees_of(kernel.forest).leaves(X)
    alone = TreeEnsemble(ENSEMBLES["tree"].fit(X, Y), kind)(X)
    assert np.linalg.matrix_rank(alone) <= len(np.unique(trees_of(ENSEMBLES["tree"]).leaves(X)))
    if kind != "ancestors":
        np.testing.assert_allclose(kernel.diag(X), 1.0, rtol=1e-15)
        assert (K <= 1 + 1e-15).all()
        together = (ours[:, :, None] == ours[:, None]).all(axis=0)
        np.testing.assert_array_equal(K[together], 1.0)


def test_tt06_9_is_a_sum_over_levels():
    """Sum over levels l of [one ancestor at depth l] min(1/d, 1/d'): the product of two PSD matrices for each."""
    tree = ENSEMBLES["tree"].fit(X, Y)
    (ours,) = paths(tree, X)
    inverse = np.array([1 / (len(path) - 1) for path in ours])
    least = np.minimum.outer(inverse, inverse)
    levels = range(1, max(map(len, ours)))
    ancestors = [np.array([path[k] if k < len(path) else -i for i, path in enumerate(ours, 1)]) for k in levels]
    total = sum((of_level[:, None] == of_level) * least for of_level in ancestors)
    gone = [(of_level < 0) for of_level in ancestors]
    total -= sum(np.diag(absent * inverse) for absent in gone)
    np.testing.assert_allclose(TreeEnsemble(tree, "depth")(X), total, rtol=1e-12)
    assert np.linalg.eigvalsh(least).min() > -1e-14


@kinds
def test_all_hypotheses_with_their_weights_are_the_kernel(kind):
    """Nodes or leaves count alike; of TT06 (9) the weights below a node sum up to one over its shallowest leaf."""
    forest = ENSEMBLES["regression forest"].fit(X, Y)
    kernel = TreeEnsemble(forest, kind)
    listed, weights = kernel._hypotheses
    values = np.array([kernel.passes(X, *each) for each in listed])
    assert (values.sum(axis=1) > 0).all()
    np.testing.assert_allclose((values.T * weights) @ values / 4, kernel(X), rtol=1e-12)
    assert kernel.total_mass() == pytest.approx(weights.sum() / 4)
    drawn = kernel.sample(2000, random_state=0)
    assert {(h.tree, h.node, h.depth) for h in drawn} <= set(listed)
    end = f" and ends at depth {drawn[0].depth} or less" if kind == "depth" else ""
    assert str(drawn[0]) == f"passes node {drawn[0].node} of tree {drawn[0].tree}{end}"
    if kind != "depth":
        nodes = sum(tree.tree_.n_leaves if kind == "leaf" else tree.tree_.node_count - 1 for tree in forest.estimators_)
        assert len(set(drawn)) == len(listed) == nodes
        np.testing.assert_array_equal(weights, 1.0)


@kinds
def test_missing_values_take_the_forest_s_own_way(kind):
    holed = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    for sample in (X, holed):
        forest = RandomForestClassifier(n_estimators=4, max_depth=4, random_state=0).fit(sample, Y)
        ours = paths(forest, holed)
        np.testing.assert_allclose(TreeEnsemble(forest, kind)(holed), brute(ours, ours, COUNTS[kind]), rtol=1e-12)
        np.testing.assert_array_equal(ThresholdTrees.from_forest(forest).leaves(holed), trees_of(forest).leaves(holed))


@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_trees_alone_are_what_the_estimator_is(name):
    ensemble = ENSEMBLES[name].fit(X, Y)
    alone, whole = ThresholdTrees.from_forest(ensemble), trees_of(ensemble)
    thresholds = np.concatenate([tree.threshold for tree in alone.trees])[:, None] + np.zeros(X.shape[1])
    for sample in (X, NEW, thresholds, np.nextafter(thresholds, np.inf), thresholds.astype(np.float32)):
        np.testing.assert_array_equal(alone.leaves(sample), whole.leaves(sample))
    for ours, theirs in zip(alone.parents, whole.parents, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(TreeEnsemble(alone, "depth")(NEW, X), TreeEnsemble(ensemble, "depth")(NEW, X))


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("wrong", [X[:, :2], np.full_like(X, 1e39), np.full_like(X, np.inf)])
def test_the_trees_alone_refuse_what_scikit_learn_does(wrong):
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"features|too large|infinity"):
        trees_of(forest).leaves(wrong)
    with pytest.raises(InvalidInput, match=r"^X: found"):
        ThresholdTrees.from_forest(forest).leaves(wrong)


def test_data_frames_go_to_the_forest_as_they_are():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(frame, Y)
    model = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(TreeEnsemble(forest)(frame, frame[:5]), TreeEnsemble(model)(X, X[:5]))


MIXED = [
    ["red", 1.0], ["red", 2.0], ["blue", 1.5], ["blue", 3.0], ["green", 0.5], ["green", 2.5],
    ["red", 3.0], ["blue", 0.5], ["green", 1.0], [None, 2.0], ["red", None], [None, None],
]  # fmt: skip
ANSWERS = ["a", "b", "a", "b", "c", "c", "b", "a", "c", "b", "b", "c"]


def own_path(tree, row):
    """Down a tree of our own: where most training weight went if the value is missing or unheard of."""
    path = [0]
    while tree.nodes.feature[path[-1]] >= 0:
        node = path[-1]
        feature, value = tree.features[tree.nodes.feature[node]], row[tree.nodes.feature[node]]
        children = tree.nodes.first[node] + np.arange(feature.n_values or 2)
        if value is None or (feature.categories and value not in feature.categories):
            path.append(int(max(children, key=lambda child: (tree.nodes.counts[child].sum(), -child))))
        elif feature.categories:
            path.append(int(children[feature.categories.index(value)]))
        else:
            path.append(int(children[int(value > tree.nodes.cut[node])]))
    return path


@kinds
def test_trees_of_our_own_by_brute_force(kind):
    trees = [fit_tree(MIXED, ANSWERS, min_cases=1, confidence=None), fit_tree(MIXED, ANSWERS, max_depth=1)]
    assert trees[0].depth >= 2
    kernel = TreeEnsemble(trees, kind)
    ours = [[own_path(tree, row) for row in MIXED] for tree in trees]
    new = [["blue", 9.0], ["violet", 1.0], ["red", None]]
    theirs = [[own_path(tree, row) for row in new] for tree in trees]
    np.testing.assert_allclose(kernel(MIXED), brute(ours, ours, COUNTS[kind]), rtol=1e-12)
    np.testing.assert_allclose(kernel(new, MIXED), brute(theirs, ours, COUNTS[kind]), rtol=1e-12)


def test_a_tree_without_tests_knows_no_difference():
    leaf = DecisionTreeClassifier().fit(X, np.zeros(len(X)))
    assert (TreeEnsemble(leaf, "leaf")(X) == 1).all()
    assert (TreeEnsemble(leaf, "depth")(X) == 1).all()
    assert (TreeEnsemble(leaf, "ancestors")(X) == 0).all()
    for kind in COUNTS:
        kernel = TreeEnsemble(leaf, kind)
        np.testing.assert_array_equal(kernel.unwritten(NEW, X) @ np.ones(len(X)), kernel(NEW, X).sum(axis=1))
    assert TreeEnsemble(leaf, "leaf").total_mass() == TreeEnsemble(leaf, "depth").total_mass() == 1
    assert TreeEnsemble(leaf, "ancestors").total_mass() == 0
    with pytest.raises(InvalidInput, match="trees without a test"):
        TreeEnsemble(leaf, "ancestors").sample(3)


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(),
        AdaBoostClassifier().fit(X, Y),
        HistGradientBoostingClassifier(max_iter=1).fit(X, Y),
        SVC(),
        [],
        [1, 2],
        None,
    ],
    ids=lambda forest: type(forest).__name__,
)
def test_what_has_no_fitted_trees(forest):
    with pytest.raises(InvalidInput, match="without fitted trees") as caught:
        TreeEnsemble(forest)(X)
    assert caught.value.argument == "forest"


def test_kinds_that_there_are_not():
    with pytest.raises(InvalidInput, match="kind: found 'leaves'; give one of 'leaf', 'depth', 'ancestors'"):
        TreeEnsemble(DecisionTreeClassifier().fit(X, Y), "leaves")
