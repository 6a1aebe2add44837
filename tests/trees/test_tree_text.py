import pandas as pd
import pytest

from cvxens.trees import TreeRule, fit_tree


def test_a_single_leaf_draws_as_its_class():
    tree = fit_tree([[1], [2], [3]], ["a", "a", "b"])
    assert str(tree) == "a (3.0/1.0)"
    assert [str(rule) for rule in tree.rules()] == ["a (3.0/1.0)"]


def test_deeper_cuts_replace_looser_ones_in_rules():
    X = [[k] for k in range(12)]
    y = list("aaabbbbbaacc")
    tree = fit_tree(X, y, min_cases=1, confidence=None)
    assert str(tree).splitlines() == [
        "x0 <= 9:",
        "|   x0 <= 2: a (3.0)",
        "|   x0 > 2:",
        "|   |   x0 <= 7: b (5.0)",
        "|   |   x0 > 7: a (2.0)",
        "x0 > 9: c (2.0)",
    ]
    assert [rule.conditions for rule in tree.rules()] == [
        ("x0 <= 2",),
        ("x0 <= 7", "x0 > 2"),
        ("x0 <= 9", "x0 > 7"),
        ("x0 > 9",),
    ]


def test_branches_without_cases_decide_as_their_parent():
    X = [["a", "r"], ["a", "r"], ["b", "r"], ["b", "r"], ["b", "r"], ["c", "s"], ["c", "s"], ["c", "s"]]
    y = ["0", "0", "1", "1", "1", "2", "2", "2"]
    table = pd.DataFrame(X, columns=["letter", "other"])
    tree = fit_tree(table, y, [1, 1, 1, 1, 1, 0, 0, 0])
    assert str(tree).splitlines() == ["letter = a: 0 (2.0)", "letter = b: 1 (3.0)", "letter = c: 1 (0.0)"]
    assert tree.predict([["c", "r"]]).tolist() == ["1"]


@pytest.mark.parametrize(
    ("rule", "text"),
    [(TreeRule((), "yes", 3.0, 0.0), "yes (3.0)"), (TreeRule(("a = b",), 1, 3.25, 0.5), "if a = b then 1 (3.2/0.5)")],
)
def test_rule_text(rule, text):
    assert str(rule) == text
