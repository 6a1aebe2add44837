import numpy as np
import pytest
from c45_problems import categories, problems
from c45_reference import choose, flatten, grow, prune, upper_limit, vote
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from cvxens.trees import Cases, Table, Training, best_split, fit_tree, predict_errors


def assert_same_nodes(tree, node):
    expected = flatten(node, tree.classes)
    assert [f if f >= 0 else None for f in tree.nodes.feature.tolist()] == [feature for feature, _, _ in expected]
    cuts = [np.nan if cut is None else cut for _, cut, _ in expected]
    np.testing.assert_array_equal(tree.nodes.cut, cuts)
    np.testing.assert_allclose(tree.nodes.counts, [weights for _, _, weights in expected], atol=1e-9)


@given(problems(kinds=("n", "c", "k")), st.sampled_from([1.0, 2.0, 2.5]))
def test_best_split_equals_brute_force(problem, min_cases):
    rows, labels, weights, kinds = problem
    features = categories(rows, kinds)
    table = Table.read([list(row) for row in rows])
    classes, y = np.unique(labels, return_inverse=True)
    data = Training(table.columns, np.array([len(c) for c in features]), y, len(classes))
    feature, cut = best_split(data, Cases(np.arange(len(rows)), np.array(weights)), min_cases, np.arange(len(features)))
    expected = choose(list(zip(rows, labels, weights, strict=True)), features, min_cases, len(classes))
    assert (feature, None if np.isnan(cut) else cut) == (expected or (-1, None))


@given(problems(), st.sampled_from([1, 2, 99]), st.sampled_from([1.0, 2.0]), problems(max_rows=6))
def test_grown_tree_and_its_votes_equal_brute_force(problem, max_depth, min_cases, more):
    rows, labels, weights, kinds = problem
    features = categories(rows, kinds)
    tree = fit_tree(rows, labels, weights, max_depth=max_depth, min_cases=min_cases, confidence=None)
    node = grow(rows, labels, weights, features, max_depth=max_depth, min_cases=min_cases)
    assert_same_nodes(tree, node)
    assert tree.depth <= max_depth
    others = [tuple(row[: len(kinds)]) for row in more[0] if more[3][: len(kinds)] == kinds]
    asked = [*rows, (None,) * len(kinds), *others]
    votes = [[vote(node, row, features, {}).get(label, 0.0) for label in tree.classes] for row in asked]
    np.testing.assert_allclose(tree.predict_proba(asked), votes, atol=1e-9)


@given(problems(min_rows=10, max_rows=40), st.sampled_from([0.1, 0.25, 0.6]))
def test_pruned_tree_equals_brute_force(problem, confidence):
    rows, labels, weights, kinds = problem
    features = categories(rows, kinds)
    tree = fit_tree(rows, labels, weights, min_cases=1, confidence=confidence)
    assert_same_nodes(tree, prune(grow(rows, labels, weights, features, min_cases=1), features, confidence))


@pytest.mark.parametrize("seed", [417, 1199, 1768, 129, 166, 213])
def test_the_simpler_of_two_that_predict_almost_alike_is_kept(seed):
    """Samples on which the slack of 0.1 errors decides: for a leaf in the first three, then for a raised branch."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(12, 50)), int(random.integers(2, 4))
    X = random.integers(0, int(random.integers(3, 9)), (n, d)).astype(float)
    labels = np.where(random.random(n) < 0.2, random.integers(0, 2, n), (X[:, 0] > 1) ^ (X[:, 1] > 1)).tolist()
    rows, features = [tuple(row) for row in X.tolist()], [[]] * d
    tree = fit_tree(rows, labels, min_cases=1, confidence=0.25)
    pruned, strictly = (
        prune(grow(rows, labels, [1.0] * n, features, min_cases=1), features, 0.25, slack) for slack in (0.1, 0.0)
    )
    assert_same_nodes(tree, pruned)
    assert flatten(pruned, tree.classes) != flatten(strictly, tree.classes)


@given(problems(kinds=("n", "k"), gaps=False), st.sampled_from([1.0, 2.0]))
def test_depth_one_on_numbers_is_the_stump_by_gain_ratio(problem, min_cases):
    rows, labels, weights, kinds = problem
    stump = choose(list(zip(rows, labels, weights, strict=True)), [[] for _ in kinds], min_cases, len(set(labels)))
    tree = fit_tree(rows, labels, weights, max_depth=1, min_cases=min_cases, confidence=None)
    if stump is None or sum(weights) < 2 * min_cases:
        assert tree.n_leaves == 1
    else:
        feature, cut = stump
        below = np.array([row[feature] <= cut for row in rows])
        assert (tree.nodes.feature[0], tree.n_leaves) == (feature, 2)
        np.testing.assert_array_equal(np.array([row[feature] for row in rows]) <= tree.nodes.cut[0], below)


@pytest.mark.parametrize(("errors", "cases"), [(0, 6), (0, 9), (1, 16), (5, 20), (3, 7)])
@pytest.mark.parametrize("confidence", [0.05, 0.25, 0.5])
def test_predict_errors_are_the_upper_limit_of_the_binomial(errors, cases, confidence):
    counts = np.array([[cases - errors, errors]], dtype=float)
    if errors > cases - errors:
        counts = counts[:, ::-1]
    limit = predict_errors(counts, confidence)[0] / cases
    assert binom.cdf(errors, cases, limit) == pytest.approx(confidence, abs=1e-9)
    assert limit == pytest.approx(upper_limit(errors, cases, confidence), abs=1e-9)


def test_a_leaf_without_cases_predicts_no_errors():
    assert predict_errors(np.zeros((2, 3)), 0.25).tolist() == [0.0, 0.0]


def test_raising_happens_and_agrees_with_brute_force():
    rng = np.random.default_rng(4)
    raised = 0
    for _ in range(30):
        X = rng.integers(0, 8, (60, 4)).astype(float)
        y = np.where(rng.random(60) < 0.25, rng.integers(0, 2, 60), X[:, 0] + X[:, 1] > 7).astype(str)
        rows = [tuple(row) for row in X.tolist()]
        node = prune(grow(rows, y.tolist(), [1.0] * 60, [[]] * 4), [[]] * 4, 0.25)
        grown = fit_tree(X, y, confidence=None)
        tree = fit_tree(X, y)
        assert_same_nodes(tree, node)
        raised += bool((tree.nodes.feature[:1] >= 0).all() and tree.nodes.feature[0] != grown.nodes.feature[0])
    assert raised > 0
