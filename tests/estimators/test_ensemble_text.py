"""The text of an ensemble says which class gets which vote: read back, it is the model."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from estimator_samples import VOTES, called, three_classes, two_classes
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from cvxens import AdaBoostClassifier, CGEnsClassifier
from cvxens.colgen import oracles

NAMES = ["body length", "width (cm)", "noise"]
THREE_NAMES = np.array(["ant", "bee", "cat"])

BOTH = re.compile(r"(?:\[(?P<problem>.+)\] )?\+(?P<weight>\S+)  (?P<test>.+) -> (?P<side>.+)")
MANY = re.compile(r"(?P<votes>.+?)  (?P<test>always|if .+)")


def holds(test, X):
    if test == "always":
        return np.full(len(X), True)
    name, threshold = test.removeprefix("if ").split(" >= ")
    return X[name].to_numpy() >= float(threshold)


def signs(test, X):
    return np.where(holds(test, X), 1.0, -1.0)


def frame(sample, classes=None):
    X, y = sample
    return pd.DataFrame(X, columns=NAMES[: X.shape[1]]), y if classes is None else classes[y]


def scores_by_text(model, X):
    """The sum of what the lines say, without the intercept; of sub-problems a column for each."""
    F = {name: np.zeros(len(X)) for name in model.classes_} | {"rest": np.zeros(len(X))}
    by_problem = {}
    for line in model.to_text(most=10**6).splitlines():
        if found := BOTH.fullmatch(line):
            problem = found["problem"] or f"{model.classes_[1]} vs {model.classes_[0]}"
            positive, negative = problem.split(" vs ")
            assert found["side"] in (positive, negative)
            towards = 1.0 if found["side"] == positive else -1.0
            by_problem.setdefault(problem, np.zeros(len(X)))
            by_problem[problem] += towards * float(found["weight"]) * signs(found["test"], X)
        else:
            found = MANY.fullmatch(line)
            for vote in found["votes"].split(", "):
                value, name = vote.split(" ")
                F[name] += float(value) * signs(found["test"], X)
    return by_problem or F


@pytest.mark.parametrize("estimator", VOTES, ids=called)
def test_the_text_of_two_classes_is_the_model(estimator):
    X, y = frame(two_classes())
    model = clone(estimator).fit(X, y)
    (problem,) = scores_by_text(model, X).items()
    assert problem[0] == "yes vs no"
    difference = model.decision_function(X) - problem[1]
    np.testing.assert_allclose(difference, difference[0], atol=1e-3)
    if not model.intercept_.any():
        np.testing.assert_allclose(difference, 0, atol=1e-3)


@pytest.mark.parametrize("estimator", VOTES, ids=called)
def test_the_text_of_three_classes_is_the_model(estimator):
    X, y = frame(three_classes(), THREE_NAMES)
    model = clone(estimator).fit(X, y)
    read = scores_by_text(model, X)
    if estimator.one_by_one:
        assert list(read) == ["ant vs rest", "bee vs rest", "cat vs rest"]
        scores = [part.decision_function(X) for part in model.estimators_]
    else:
        scores = model.decision_function(X).T
    for expected, found in zip(scores, read.values(), strict=False):
        difference = expected - found
        np.testing.assert_allclose(difference, difference[0], atol=1e-3)


def test_the_vote_of_a_negative_weight_is_for_the_other_class():
    X, y = frame(two_classes())
    model = CGEnsClassifier().fit(X, y)
    before = model.to_text(most=3)
    model.weights_ = -model.weights_
    swapped = {"yes": "no", "no": "yes"}
    expected = re.sub(r"(yes|no)$", lambda found: swapped[found[0]], before, flags=re.MULTILINE)
    assert model.to_text(most=3) == expected != before


def test_leaves_of_trees_are_classes():
    X, y = frame(two_classes())
    model = AdaBoostClassifier("trees", n_rounds=1).fit(X, y)
    text = model.to_text()
    leaves = re.findall(r": (\S+) \(", text)
    assert set(leaves) == {"yes", "no"}
    for sign in (1.0, -1.0):
        model.weights_ = sign * np.ones(1)
        ends = re.findall(r": (\S+) \(", model.to_text())
        assert ends == (leaves if sign > 0 else [{"yes": "no", "no": "yes"}[leaf] for leaf in leaves])
    (tree,) = (hypothesis.tree for hypothesis in model.weak_learners_)
    first = X.iloc[[int(np.argmin(X[NAMES[0]] + X[NAMES[1]]))]]
    assert model.weak_learners_[0](first.to_numpy())[0] == -1
    assert tree.classes == (-1, 1)


@pytest.mark.parametrize(
    ("oracle", "line"),
    [
        ("perceptrons", r"\+\S+  .* body length .* >= \S+ -> (yes|no)"),
        ("fourier", r"\+\S+  cos\(.* body length .*\) > 0 -> (yes|no)"),
        (
            partial(oracles.SklearnLearner, DecisionTreeClassifier(max_depth=1)),
            r"\+\S+  DecisionTreeClassifier\(max_depth=1, random_state=\d+\) > 0 -> (yes|no)",
        ),
    ],
)
def test_other_weak_learners_say_it_too(oracle, line):
    model = AdaBoostClassifier(oracle, n_rounds=2, random_state=0).fit(*frame(two_classes()))
    assert all(re.fullmatch(line, each) for each in model.to_text().splitlines())


def test_so_many_lines_and_how_many_more():
    model = CGEnsClassifier().fit(*frame(three_classes(), THREE_NAMES))
    whole = model.to_text(most=10**6).splitlines()
    assert len(whole) == sum(np.count_nonzero(w) for w in model.weights_)
    assert model.to_text(most=5).splitlines() == [*whole[:5], f"and {len(whole) - 5} more"]
    sizes = [float(BOTH.fullmatch(line)["weight"]) for line in whole if line.startswith("[ant vs rest]")]
    assert sizes == sorted(sizes, reverse=True)


def test_numbers_as_classes():
    X, y = two_classes()
    model = AdaBoostClassifier(n_rounds=1).fit(X, (y == "yes").astype(int))
    assert model.to_text().rpartition(" -> ")[2] in {"0", "1"}
