import pickle
from itertools import pairwise

import numpy as np
from c45_problems import COLOURS, problems
from hypothesis import given
from hypothesis import strategies as st

from cvxens.trees import Cases, divide, fit_tree

HOLDS = {
    "=": lambda cell, value: cell == value,
    "<=": lambda cell, value: cell <= float(value),
    ">": lambda cell, value: cell > float(value),
}


def assert_alike(a, b):
    """Whether two trees have the same tests and, but for rounding, the same weights."""
    np.testing.assert_array_equal(a.nodes.feature, b.nodes.feature)
    np.testing.assert_array_equal(a.nodes.cut, b.nodes.cut)
    np.testing.assert_allclose(a.nodes.counts, b.nodes.counts, atol=1e-9)


@given(problems(), st.sampled_from([None, 0.25]))
def test_a_case_twice_is_a_case_of_twice_the_weight(problem, confidence):
    rows, labels, weights, _ = problem
    counts = [int(weight) for weight in weights]
    repeated = [row for row, k in zip(rows, counts, strict=True) for _ in range(k)]
    again = [label for label, k in zip(labels, counts, strict=True) for _ in range(k)]
    known = fit_tree(rows, labels, weights, confidence=confidence)
    assert_alike(known, fit_tree(repeated, again, confidence=confidence))


@given(problems(), st.sampled_from([None, 0.25]))
def test_a_case_without_weight_is_no_case(problem, confidence):
    rows, labels, weights, _ = problem
    kept = fit_tree(rows, labels, weights, confidence=confidence)
    more = fit_tree(rows + rows, labels + labels, weights + [0.0] * len(rows), confidence=confidence)
    assert_alike(kept, more)


@given(problems(kinds=("c", "n")), st.permutations(COLOURS))
def test_renaming_categories_changes_nothing_but_names(problem, names):
    rows, labels, weights, _ = problem
    renamed = dict(zip(COLOURS, names, strict=True))
    others = [tuple(renamed.get(cell, cell) for cell in row) for row in rows]
    tree = fit_tree(rows, labels, weights, confidence=None)
    other = fit_tree(others, labels, weights, confidence=None)
    np.testing.assert_allclose(other.predict_proba(others), tree.predict_proba(rows), atol=1e-9)
    assert other.n_leaves == tree.n_leaves


@given(problems(kinds=("n",)))
def test_numbers_count_by_order_only(problem):
    rows, labels, weights, _ = problem
    scaled = [tuple(None if cell is None else 3 * cell - 10 for cell in row) for row in rows]
    tree, other = fit_tree(rows, labels, weights), fit_tree(scaled, labels, weights)
    np.testing.assert_array_equal(tree.nodes.feature, other.nodes.feature)
    np.testing.assert_allclose(tree.nodes.counts, other.nodes.counts, atol=1e-9)


@given(problems(), st.sampled_from([None, 0.25]))
def test_missing_everything_predicts_the_class_distribution(problem, confidence):
    rows, labels, weights, kinds = problem
    tree = fit_tree(rows, labels, weights, confidence=confidence)
    shares = [sum(w for w, label in zip(weights, labels, strict=True) if label == c) for c in tree.classes]
    found = tree.predict_proba([[None] * len(kinds)])[0]
    np.testing.assert_allclose(found, np.array(shares) / sum(weights), atol=1e-9)


@given(problems(), st.sampled_from([1.0, 2.0, 3.5]))
def test_weights_are_conserved_and_two_branches_have_the_minimum(problem, min_cases):
    rows, labels, weights, _ = problem
    tree = fit_tree(rows, labels, weights, min_cases=min_cases, confidence=None)
    n = tree.nodes
    for node in np.flatnonzero(tree.branches):
        children = n.counts[n.first[node] : n.first[node] + tree.branches[node]]
        np.testing.assert_allclose(children.sum(axis=0), n.counts[node], atol=1e-9)
        assert (children.sum(axis=1) >= min_cases - 1e-9).sum() >= 2


@given(problems())
def test_pruning_adds_no_leaves_and_predicts_the_likeliest(problem):
    rows, labels, weights, _ = problem
    grown, pruned = fit_tree(rows, labels, weights, confidence=None), fit_tree(rows, labels, weights)
    assert pruned.n_leaves <= grown.n_leaves
    probabilities = pruned.predict_proba(rows)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    best = [pruned.classes[k] for k in probabilities.argmax(axis=1)]
    assert pruned.predict(rows).tolist() == best


@given(problems(kinds=("n", "c"), gaps=False))
def test_exactly_one_rule_applies_and_says_what_the_tree_says(problem):
    rows, labels, weights, _ = problem
    tree = fit_tree(rows, labels, weights, min_cases=1, confidence=None)

    def applies(rule, row):
        tests = (condition.split() for condition in rule.conditions)
        return all(HOLDS[sign](row[int(name[1:])], value) for name, sign, value in tests)

    for row, label in zip(rows, tree.predict(rows), strict=True):
        assert [rule.label for rule in tree.rules() if applies(rule, row)] == [label]
    assert sum(rule.cases for rule in tree.rules()) == sum(weights)


@given(problems())
def test_equal_trees_hash_alike_and_survive_pickling(problem):
    rows, labels, weights, _ = problem
    tree, again = fit_tree(rows, labels, weights), fit_tree(rows, labels, weights)
    copy = pickle.loads(pickle.dumps(tree))
    assert tree == again == copy
    assert len({tree, again, copy}) == 1
    assert str(copy) == str(tree)


def divide_plainly(column, n_branches, cut, samples, weights):
    known = [[] for _ in range(n_branches)]
    for i, w in zip(samples, weights, strict=True):
        if not np.isnan(column[i]):
            known[int(column[i]) if np.isnan(cut) else int(column[i] > cut)].append((i, w))
    total = sum(w for part in known for _, w in part)
    gone = [(i, w) for i, w in zip(samples, weights, strict=True) if np.isnan(column[i])]
    return [sorted(own + [(i, w * sum(v for _, v in own) / total) for i, w in gone]) if own else [] for own in known]


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=1, max_size=12),
    st.sampled_from([np.nan, 0.0, 1.0]),
    st.data(),
)
def test_divide_equals_plain_python(column, cut, data):
    n_branches = 3 if np.isnan(cut) else 2
    samples = np.array(data.draw(st.lists(st.integers(0, len(column) - 1), min_size=1, max_size=15)))
    n = len(samples)
    weights = np.array(data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n)))
    into, part, starts = divide(np.array(column), n_branches, cut, Cases(samples, weights))
    found = [sorted(zip(into[a:b].tolist(), part[a:b].tolist(), strict=True)) for a, b in pairwise(starts)]
    expected = divide_plainly(column, n_branches, cut, samples.tolist(), weights.tolist())
    assert [[i for i, _ in p] for p in found] == [[i for i, _ in p] for p in expected]
    np.testing.assert_allclose([w for p in found for _, w in p], [w for p in expected for _, w in p])
