"""What holds of all displays: a figure of their own, and what cannot be drawn is refused by its name, without one."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from rendering import PAIRS, WEIGHTS, C, assert_opens_one_figure
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC

from cvxens import LPBoostClassifier
from cvxens.colgen import column_generation, formulations, oracles
from cvxens.errors import InvalidInput
from cvxens.plotting import (
    BoundaryDisplay,
    ConvergenceDisplay,
    EffectsDisplay,
    ExplanationDisplay,
    GapDisplay,
    MarginDisplay,
    PairDisplay,
    PathDisplay,
    SelectionDisplay,
    ShapeDisplay,
    Trace,
)

LABELS = ["b", "a", "b", "a"]
NO_LABELS = [None, 1.0, [[1.0], [1.0, 2.0]], np.ones(59), np.ones((1, 60)), {}, object()]
TRACES = [ConvergenceDisplay, GapDisplay]


@pytest.fixture(scope="module")
def given(sample, run, two_outputs):
    X, y = sample
    plane = X[:, :2] * [1.0, 100.0]
    stumps = column_generation(formulations.soft_margin(1.0), oracles.Stumps(plane, columns_per_round=2), y)
    sampled = oracles.Perceptrons(X, n_directions=3, random_state=0)
    waves = column_generation(formulations.soft_margin(0.2), sampled, y, max_columns=3)
    trees = LPBoostClassifier(C=1.0, oracle="depth_two_trees").fit(X, y)
    known = {"model": LPBoostClassifier().fit(plane, y), "svc": SVC().fit(plane, y), "effects": trees.effects(X)}
    return SimpleNamespace(X=X, y=y, plane=plane, run=run, stumps=stumps, waves=waves, two=two_outputs, **known)


def voter(weights=(3.0, 1.0), classes=("no", "yes")):
    learners = {"weak_learners_": [None] * len(weights), "weights_": np.array(weights)}
    scores = np.array([1.0, -2.0, 4.0])
    return SimpleNamespace(**learners, classes_=np.array(classes), decision_function=lambda X: scores)


def selector(shares):
    return SimpleNamespace(feature_importances_=np.array(shares))


def trace(**changes):
    return Trace(**{"objective": [3.0, 2.0], "bound": [-np.inf, 1.0], "seconds": [0.1, 0.3], **changes})


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: BoundaryDisplay.from_estimator(g.svc, g.plane, g.y, grid_resolution=10),
        lambda g: ConvergenceDisplay.from_run(g.run),
        lambda g: GapDisplay.from_run(g.run),
        lambda g: EffectsDisplay.from_effects(g.effects),
        lambda g: ExplanationDisplay.from_effects(g.effects, g.X[:1]),
        lambda g: MarginDisplay.from_run(g.run, g.X, g.y),
        lambda g: PairDisplay.from_effects(g.effects),
        lambda g: PathDisplay(C, WEIGHTS).plot(),
        lambda g: SelectionDisplay.from_run(g.run),
        lambda g: ShapeDisplay.from_run(g.run),
    ],
)
def test_a_figure_of_its_own(given, draw):
    assert_opens_one_figure(draw(given))


REFUSED = [
    # y: labels
    *(
        (f"^y: found|{n}", lambda g, draw=draw, y=y: draw(g, y))
        for draw in (
            lambda g, y: BoundaryDisplay.from_estimator(g.model, g.plane, y),
            lambda g, y: MarginDisplay.from_estimator(g.model, g.plane, y),
        )
        for n, y in enumerate(NO_LABELS)
    ),
    ("y: found 59 rows for 60 samples", lambda g: BoundaryDisplay.from_estimator(g.svc, g.plane, g.y[1:])),
    ("y: found 59 rows for 60 samples", lambda g: MarginDisplay.from_run(g.run, g.X, g.y[1:])),
    ("none of the estimator's classes", lambda g: BoundaryDisplay.from_estimator(g.svc, g.plane, g.y + 1)),
    ("y: found labels outside", lambda g: MarginDisplay.from_estimator(voter(), None, ["yes", "no", "perhaps"])),
    ("y: found labels outside", lambda g: MarginDisplay.from_estimator(voter(classes=LABELS[:3]), None, LABELS[:3])),
    ("y: found 2 rows for 3 samples", lambda g: MarginDisplay.from_estimator(voter(), None, ["yes", "no"])),
    # X, kernels and matrices
    ("X: found 4 features; give two", lambda g: BoundaryDisplay.from_estimator(g.svc, g.X, g.y)),
    ("x: found 2 samples", lambda g: ExplanationDisplay.from_effects(g.effects, g.X[:2])),
    # models and runs
    (
        "found LinearRegression without classes_",
        lambda g: BoundaryDisplay.from_estimator(LinearRegression(), g.plane, g.y),
    ),
    ("without classes_", lambda g: MarginDisplay.from_estimator(object(), g.X, g.y)),
    ("without effects", lambda g: ShapeDisplay.from_estimator(object())),
    ("found SimpleNamespace without history_", lambda g: GapDisplay.from_estimator(SimpleNamespace())),
    ("several outputs", lambda g: MarginDisplay.from_run(g.two, g.X, g.y)),
    ("several outputs", lambda g: SelectionDisplay.from_run(g.two)),
    ("several outputs", lambda g: ShapeDisplay.from_run(g.two)),
    ("no sum of tests", lambda g: ShapeDisplay.from_run(g.waves)),
    ("weights: found all of them 0", lambda g: MarginDisplay.from_estimator(voter((0.0,)), None, ["yes", "no", "no"])),
    ("found no stump in use", lambda g: SelectionDisplay.from_runs([])),
    ("found no stump in use", lambda g: SelectionDisplay.from_estimators([selector([0.0, 0.0, 0.0])])),
    *(
        ("^runs: found", lambda g, draw=draw, runs=runs: draw(g, runs))
        for draw in (
            lambda g, runs: ConvergenceDisplay.from_runs(runs),
            lambda g, runs: PathDisplay.from_runs(runs),
            lambda g, runs: MarginDisplay.from_runs(runs, g.X, g.y),
        )
        for runs in (None, [3], SimpleNamespace(), "runs")
    ),
    ("margins: found none", lambda g: MarginDisplay({})),
    ("margins of a: found nan", lambda g: MarginDisplay({"a": [np.nan]})),
    # traces
    *(
        ("^against: found", lambda g, d=display, against=against: d.from_estimator(g.model, against=against))
        for display in TRACES
        for against in (None, "time", 1, ["rounds"], {}, np.array(["rounds", "seconds"]))
    ),
    ("against: found 'hours'; give one of 'rounds', 'seconds'", lambda g: GapDisplay.from_run(g.run, against="hours")),
    ("runs: found none", lambda g: ConvergenceDisplay.from_runs({})),
    ("history: found no rounds", lambda g: Trace.from_history([])),
    ("history: found rows of int", lambda g: Trace.from_history([3])),
    *(
        (f"^{argument}: found", lambda g, changes=changes: trace(**changes))
        for argument, changes in [
            ("bound", {"objective": [1.0]}),
            ("history", {"objective": [], "bound": [], "seconds": []}),
            ("objective", {"objective": [np.nan, 1.0]}),
            ("seconds", {"seconds": 1.0}),
            ("bound", {"bound": [[1.0, 2.0]]}),
            ("seconds", {"seconds": ["soon", "later"]}),
        ]
    ),
    # shapes and effects
    ("shapes: found none", lambda g: ShapeDisplay.from_shapes([])),
    ("found 2 knots and 1 values", lambda g: ShapeDisplay.from_shapes([([0, 1], [0])])),
    ("found them not in order", lambda g: ShapeDisplay.from_shapes([([1, 0], [0, 1])])),
    (r"found no pair for x\[0\]", lambda g: ShapeDisplay.from_shapes([3.0])),
    ("found nan", lambda g: ShapeDisplay.from_shapes([([0, np.nan], [0, 1])])),
    ("found 1 values for 2 features", lambda g: ShapeDisplay.from_shapes(PAIRS, [[1.0], [2.0]])),
    ("found 3 values for 2 features", lambda g: ShapeDisplay.from_shapes(PAIRS, feature_names=["a", "b", "c"])),
    ("found 1 values for 2 shapes", lambda g: ShapeDisplay.from_shapes(PAIRS, ax=Figure().subplots())),
    ("ax: found str", lambda g: ShapeDisplay.from_shapes(PAIRS, ax=["left", "right"])),
    ("found 4 values for 5 features", lambda g: ShapeDisplay.from_run(g.run, g.X, feature_names=list("abcde"))),
    ("found 1 values for", lambda g: ShapeDisplay.from_run(g.run, feature_names=["a"])),
    ("found 1 values for", lambda g: ShapeDisplay.from_run(g.run, g.X[:, :1])),
    (r"pair: found 'x.0. x x.9.'; name one of x", lambda g: PairDisplay.from_effects(g.effects, "x[0] x x[9]")),
    ("output: found 'top'; leave it out", lambda g: EffectsDisplay.from_effects(g.effects, output="top")),
    ("importances: found them below 0", lambda g: EffectsDisplay([0.0, -1.0], ["a", "b"])),
    (
        r"table: found shape \(2, 1\); give \(1, 1\)",
        lambda g: PairDisplay(([0, 1], [0, 1]), [[0.0], [1.0]], ("a", "b")),
    ),
    # paths and shares
    ("C: found", lambda g: PathDisplay([1.0, 0.0, 2.0], WEIGHTS)),
    ("give distinct numbers above 0", lambda g: PathDisplay([1.0, 1.0, 2.0], WEIGHTS)),
    ("found 3 values for 2 Cs", lambda g: PathDisplay([1.0, 2.0], WEIGHTS)),
    ("coefficients: found 1 dimensions", lambda g: PathDisplay(C, WEIGHTS[0])),
    ("found 1 values for 3 coefficients", lambda g: PathDisplay(C, WEIGHTS, ["a"])),
    ("n_named: found -1", lambda g: PathDisplay(C, WEIGHTS, n_named=-1)),
    ("several outputs", lambda g: PathDisplay.from_runs({1.0: g.two})),
    ("sub-problems", lambda g: PathDisplay.from_estimators({1.0: voter([[1.0], [2.0]])})),
    ("C: found no data", lambda g: PathDisplay.from_runs({})),
    ("not all 0", lambda g: SelectionDisplay([0.0, 0.0])),
    ("found -0.1 to 0.5", lambda g: SelectionDisplay([-0.1, 0.5])),
    ("at most 1", lambda g: SelectionDisplay([1.5])),
    ("found 1 values for 2 features", lambda g: SelectionDisplay([0.5, 0.5], ["a"])),
    ("found 2 values for 1 features", lambda g: SelectionDisplay([0.5], ["a", "b"])),
    (
        "found 1 values for 3 features",
        lambda g: SelectionDisplay.from_estimators([selector([1.0, 1.0, 1.0])], feature_names=["a"]),
    ),
    # numbers and axes
    ("n_shown: found 0", lambda g: SelectionDisplay([0.5], n_shown=0)),
    ("n_shown", lambda g: ShapeDisplay.from_shapes(PAIRS, n_shown=0)),
    ("grid_resolution: found 1", lambda g: BoundaryDisplay.from_estimator(g.svc, g.plane, g.y, grid_resolution=1)),
    *(
        ("ax: found .*; give matplotlib Axes", lambda g, wrong=wrong: GapDisplay.from_run(g.run, ax=wrong))
        for wrong in (Figure(), 3, "left", [Figure().subplots()])
    ),
]


@pytest.mark.parametrize(("words", "draw"), REFUSED)
def test_what_cannot_be_drawn_is_refused_without_a_figure(given, words, draw):
    with pytest.raises(InvalidInput, match=words):
        draw(given)
    assert plt.get_fignums() == []
