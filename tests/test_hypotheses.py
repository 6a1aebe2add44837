"""Hypotheses as values, as functions, and what they say of themselves."""

import pickle
from math import inf, isclose, pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel

from cvxens.errors import InvalidInput
from cvxens.estimators.explanations import list_rules
from cvxens.hypotheses import (
    AND,
    OR,
    XOR,
    Branch,
    Constant,
    FittedClassifier,
    Formula,
    Indicator,
    Interval,
    KernelColumn,
    KernelExpansion,
    LevelStump,
    LinearForm,
    Perceptron,
    Points,
    Ramp,
    Rule,
    Scaled,
    SignedTree,
    Staircase,
    Stump,
    TabulatedColumn,
    Wave,
    linear_form,
    negate,
    project,
)
from cvxens.tables import Feature
from cvxens.trees import Nodes, Tree

# a root and two leaves, as `fit_tree` would find them
NODES = Nodes(np.array([0, -1, -1]), np.full(3, np.nan), np.array([1, 3, 3]), np.array([[1.0, 1], [1, 0], [0, 1]]))
TREE = Tree((Feature("x0", ("a", "b")),), (-1, 1), NODES)
RULE = Rule((Interval(0, 0.5, 2.0), Interval(1, -inf, 3.0), Interval(2, 4.0, inf)), 1)
X = np.random.default_rng(0).normal(size=(9, 3))
X[4] = 0.5
GAPPED = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)

EVERY = {
    "constant": Constant(-1),
    "stump": Stump(1, 0.5, -1),
    "stump with a side": Stump(1, 0.5, -1, 1),
    "levels": LevelStump(2, (0, 3), 1, -1, ("blue", "red")),
    "indicator": Indicator(2, 0.5, 3.0),
    "perceptron": Perceptron((0.6, 0.0, -0.8), 0.1, 1),
    "wave": Wave((1.0, 0.0, -2.0), 1.0, np.sqrt(2)),
    "linear form": LinearForm((0, 2), (1.0, -0.5)),
    "kernel column": KernelColumn(linear_kernel, (1.0, 0.0, 2.0), -1),
    "kernel expansion": KernelExpansion(linear_kernel, Points(np.eye(3)), (1.0, 0.0, -2.0)),
    "staircase": Staircase(1, (-0.5, 0.5), (1.0, -0.25)),
    "tabulated": TabulatedColumn(1, 3, 1),
    "scaled": Scaled(Stump(1, 0.5, -1), 0.25),
    "branch": Branch(Stump(0, 0.5, 1), Stump(1, 0.0, 1), Constant(-1)),
    "ramp": Ramp(1, 0.5, -1, 0.25),
    "rule": Rule((Interval(0, -0.5, 0.5), Interval(2, 0.0, inf)), -1),
    "formula": Formula(XOR, (Stump(0, 0.0, 1), Perceptron((0.0, 0.6, 0.8), 0.0, -1)), -1),
}
every = pytest.mark.parametrize("h", EVERY.values(), ids=EVERY)


@every
def test_the_negation_is_of_the_same_class_and_takes_the_negative_values(h):
    negated = negate(h)
    assert type(negated) is type(h)
    np.testing.assert_allclose(negated(X), -h(X), rtol=1e-12, atol=1e-12)
    assert negated != h
    twice = negate(negated)
    assert twice == h or (isinstance(h, Wave) and isclose(twice.kappa, h.kappa))


@every
def test_hypotheses_are_values(h):
    twin = pickle.loads(pickle.dumps(h))
    assert twin == h
    assert hash(twin) == hash(h)
    assert str(twin) == str(h)
    assert len({twin, h, negate(h)}) == 2


@pytest.mark.parametrize("name", ["constant", "stump", "stump with a side", "indicator", "scaled"])
def test_steps_are_what_their_hypotheses_do(name):
    for h in (EVERY[name], negate(EVERY[name]), Scaled(EVERY[name], -1.0)):
        feature, threshold, above, below, missing = h.step
        x = GAPPED[:, feature]
        np.testing.assert_array_equal(np.where(np.isnan(x), missing, np.where(x >= threshold, above, below)), h(GAPPED))


@every
def test_tests_hold_where_a_hypothesis_is_its_sign(h):
    assert hasattr(h, "test") == isinstance(h, Constant | Stump | LevelStump | Perceptron | Branch | Rule)
    if hasattr(h, "test"):
        is_rule = isinstance(h, Rule)
        for sided in (h, negate(h)):
            assert sided.test == h.test
            holds = np.full(len(X), True) if isinstance(h, Constant) else h(X) == h.sign
            np.testing.assert_array_equal(sided(X), np.where(holds, sided.sign, 0 if is_rule else -sided.sign))
            assert str(h) == f"{h.test} -> {h.sign:+d}{', else 0' if is_rule else ''}"


def test_conditions_hold_where_a_hypothesis_has_that_value():
    for h in (*EVERY.values(), Stump(0, 0.1, 1, -1), LevelStump(0, (0,), -1), LevelStump(1, (), 1, 1)):
        if hasattr(h, "test") and not isinstance(h, Perceptron | Branch):
            x = np.where(np.arange(27).reshape(9, 3) % 4 == 0, np.round(GAPPED), GAPPED)
            total = sum(value * Rule(conditions, 1).holds(x) for conditions, value in list_rules(h))
            np.testing.assert_array_equal(total, h(x))


def test_conditions_say_what_they_are_of():
    conditions = [condition for (condition,), _ in list_rules(LevelStump(2, (0, 3), 1, -1, ("blue", "red")))]
    conditions += [condition for (condition,), _ in list_rules(LevelStump(1, (), 1, 1))]
    conditions += [condition for (condition,), _ in list_rules(LevelStump(1, (2,), 1, 1))]
    texts = ["x[2] in {blue, red}", "(x[2] not in {blue, red} or missing)"]
    assert list(map(str, conditions)) == [
        *texts,
        "x[1] is missing",
        "x[1] is not missing",
        "(x[1] = 2 or missing)",
        "x[1] != 2",
    ]


def test_what_a_function_does_not_say_its_negation_does_not_say_either():
    minus = negate(np.ravel)
    assert minus == Scaled(np.ravel, -1.0)
    assert negate(minus) is np.ravel
    np.testing.assert_array_equal(minus([[7.0]]), [-7.0])
    assert not any(hasattr(minus, name) for name in ("step", "feature_shares", "feature_importances_"))


def test_a_negated_classifier_has_the_importances_of_the_classifier():
    h = FittedClassifier(LogisticRegression().fit(X, np.where(X[:, 0] > 0, 1, -1)))
    np.testing.assert_array_equal(negate(h).feature_importances_, h.feature_importances_)
    np.testing.assert_array_equal(negate(h)(X), -h(X))


TEXTS = {
    "linear_kernel(x, (1, 1, 1, 1, 1, ...))": KernelColumn(linear_kernel, (1.0,) * 9, 1),
    "[x[0] >= 0.5]": Indicator(0, 0.5),
    "-1 [x[0] >= 0.5]": Indicator(0, 0.5, -1.0),
    "cos(x[0] - 2 x[1] - 0.5)": Wave((1.0, -2.0), 0.5),
    "0.6 x[0] - 0.8 x[1] >= 0.25 -> -1": Perceptron((0.6, -0.8), 0.25, -1),
    "-(h[2])": Scaled(TabulatedColumn(2, 3, 1), -1.0),
    "minus\nx0 = a: -1 (1.0)\nx0 = b: 1 (1.0)": SignedTree(TREE, -1.0),
    "0.5 <= x[0] < 2 and x[1] < 3 and x[2] >= 4 -> +1, else 0": RULE,
    "always -> -1, else 0": Rule((), -1),
}


def test_texts_are_as_people_write_them():
    assert list(map(str, TEXTS.values())) == list(TEXTS)


def test_values_are_those_of_the_formulas_also_on_thresholds():
    np.testing.assert_allclose(Wave((1.0, -2.0), 0.5)([[0.5, 0.0], [0.0, 1.0]]), np.cos([0.0, -2.5]))
    assert Wave((1.0,), 0.0, 2.0)([[pi]]) == -2.0
    perceptron = Perceptron((0.6, -0.8), 0.25, -1)
    np.testing.assert_array_equal(perceptron([[1.0, 0.0], [0.0, 1.0]]), [-1.0, 1.0])
    on_it = Perceptron((0.6, 0.8), float(project([[1.0, 1.0]], [[0.6, 0.8]])[0, 0]), 1)
    np.testing.assert_array_equal(on_it([[1.0, 1.0]]), [1.0])
    with pytest.raises(InvalidInput, match="X: found shape"):
        perceptron(np.ones((2, 3)))
    assert RULE([[0.5, 0, 4], [2, 0, 4], [1, 3, 5]]).tolist() == [1, 0, 0]


def test_a_tabulated_column_refuses_samples_it_has_no_values_for():
    with pytest.raises(InvalidInput, match=r"known only as a column.*\(n_samples, 3\)"):
        TabulatedColumn(0, 3, 1)(np.zeros((4, 7)))
    with pytest.raises(InvalidInput, match="known only as a column"):
        TabulatedColumn(0, 3, 1)(np.zeros(3))


def test_negation_is_told_in_the_text_and_takes_part_in_equality():
    minus = SignedTree(TREE, -1.0)
    assert minus([["a"], ["b"]]).tolist() == [1.0, -1.0]
    assert minus != SignedTree(TREE)
    assert len({minus, SignedTree(TREE), pickle.loads(pickle.dumps(minus))}) == 2
    assert -minus == SignedTree(TREE)


@pytest.mark.parametrize(("connective", "rule"), [(AND, np.logical_and), (OR, np.logical_or), (XOR, np.logical_xor)])
@pytest.mark.parametrize("sign", [1, -1])
def test_formulas_are_those_of_logic(connective, rule, sign):
    parts = (Stump(0, 0.5, 1), Stump(1, 0.5, 1), Stump(0, 0.2, 1))
    X = np.random.default_rng(0).random((40, 2))
    for count in (1, 2, 3):
        expected = rule.reduce([part(X) > 0 for part in parts[:count]])
        np.testing.assert_array_equal(Formula(connective, parts[:count], sign)(X) * sign > 0, expected)
    nothing = Formula(connective, (), sign)
    np.testing.assert_array_equal(nothing(X), np.full(40, sign * (1.0 if connective is AND else -1.0)))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), m=st.integers(1, 9), n_features=st.integers(1, 12))
def test_projections_of_equal_rows_are_equal_to_the_last_bit(seed, n, m, n_features):
    random = np.random.default_rng(seed)
    X, directions = random.standard_normal((n, n_features)), random.standard_normal((m, n_features))
    together = project(np.vstack([X, X[::-1]]), directions)
    np.testing.assert_array_equal(together[:n], together[n:][::-1])
    np.testing.assert_array_equal(together[:1], project(X[:1], directions))
    np.testing.assert_array_equal(together[:, -1:], project(np.vstack([X, X[::-1]]), directions[-1:]))
    np.testing.assert_allclose(together[:n], X @ directions.T, atol=1e-12)


def test_projection_needs_the_same_features():
    with pytest.raises(InvalidInput, match=r"X: found shape \(4, 3\); give \(n_samples, 2\)"):
        project(np.zeros((4, 3)), np.zeros((1, 2)))


def test_linear_forms_read_well():
    assert linear_form((1.0,)) == "x[0]"
    assert linear_form((-1.0, 0.25)) == "-x[0] + 0.25 x[1]"
    assert linear_form((0.1, 3.0, -2.0), terms=2) == "3 x[1] - 2 x[2] + 1 more"
    assert linear_form((1.0, -0.5), (0, 2)) == "x[0] - 0.5 x[2]"


SPLITS = st.builds(Stump, st.integers(0, 1), st.integers(-1, 1).map(float), st.sampled_from([1, -1]))
HALVES = st.one_of(st.builds(Constant, st.sampled_from([1, -1])), SPLITS)


@given(st.builds(Branch, SPLITS, HALVES, HALVES))
def test_a_tree_is_the_sum_of_its_leaves_and_its_text_has_those_of_one_sign(tree):
    grid = np.array([[a, b] for a in (-2.0, -1, -0.5, 0, 0.5, 1) for b in (-2.0, -1, -0.5, 0, 0.5, 1)])
    assert (sum(rule(grid) for rule in tree.rules) == tree(grid)).all()
    said = np.any([rule.holds(grid) for rule in tree.rules if rule.sign == tree.sign], axis=0)
    assert (np.where(said, tree.sign, -tree.sign) == tree(grid)).all()
    assert str(tree).count(", or ") == max(sum(rule.sign == tree.sign for rule in tree.rules), 1) - 1
    features, shares = tree.feature_shares
    assert shares.sum() == pytest.approx(1)
    assert tree.root.feature in features


WAYS = st.sampled_from([1, -1])
SPLITS_OF_GAPS = st.one_of(
    st.builds(Constant, WAYS),
    st.builds(Stump, st.integers(0, 1), st.integers(-1, 1).map(float), WAYS, WAYS),
    st.builds(LevelStump, st.integers(0, 1), st.just(()), WAYS, st.just(1)),
    st.builds(LevelStump, st.integers(0, 1), st.sampled_from([(0,), (0, 1), (1,)]), WAYS, WAYS),
)
ROOTS = SPLITS_OF_GAPS.filter(lambda split: not isinstance(split, Constant))


@given(st.builds(Branch, ROOTS, SPLITS_OF_GAPS, SPLITS_OF_GAPS), st.integers(0, 1), WAYS)
def test_trees_send_missing_values_to_either_side(half, feature, way):
    grid = np.array([[a, b] for a in (-1, 0, 0.5, 1, np.nan) for b in (-1, 0, 0.5, 1, np.nan)])
    assert (half(grid) == np.where(half.root(grid) > 0, half.above(grid), half.below(grid))).all()
    tree = Branch(Stump(feature, 0.5, 1, way), half, Constant(-1))
    assert (sum(rule(grid) for rule in tree.rules) == tree(grid)).all()
    assert (sum(rule.holds(grid).astype(int) for rule in tree.rules) == 1).all()
    silent = Branch(Stump(feature, 0.5, 1), half, Constant(-1))
    assert (silent(grid) == np.where(np.isnan(grid[:, feature]), 0, tree(grid))).all()
    assert (sum(rule(grid) for rule in silent.rules) == silent(grid)).all()
