"""What displays tell of fitted estimators: every history, shapes of several classes, indicators, names."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from rendering import assert_drawn, axes, legend_of

from cvxens.certificates import relative
from cvxens.estimators import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    CGEnsSLSClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    MultiBoostClassifier,
    PartialSVMEnsembleClassifier,
    PriceSearchCV,
    RhoSVC,
)
from cvxens.plotting import ConvergenceDisplay, GapDisplay, PathDisplay, SelectionDisplay, ShapeDisplay

CLASSES = np.array(["ant", "bee", "cat"])
RNG = np.random.default_rng(4)
X = pd.DataFrame(
    {
        "age (years)": RNG.integers(20, 80, 90).astype(float),
        "smoker": RNG.integers(0, 2, 90).astype(float),
        "height (m)": RNG.normal(1.7, 0.1, 90).round(2),
    }
)
LABELS = np.digitize(X["age (years)"] / 30 + X["smoker"] + 0.3 * RNG.normal(size=90), [1.5, 2.5])
TWO, THREE = CLASSES[np.minimum(LABELS, 1)], CLASSES[LABELS]


def histories(model):
    return model.history_ if hasattr(model, "estimators_") else [model.history_]


@pytest.mark.product(estimator=[AdaBoostClassifier(n_rounds=8), AdaBoostMHClassifier(n_rounds=8)], y=[TWO, THREE])
def test_the_convergence_of_boosting_is_its_margin_below_the_edges(estimator, y, ax):
    model = estimator.fit(X, y)
    display = ConvergenceDisplay.from_estimator(model, ax=ax)
    assert_drawn(display, ax)
    assert ax.get_ylabel() == "smallest margin (solid), bound (dashed)"
    for trace, history in zip(display.traces, histories(model), strict=True):
        edges = [row.edge for row in history]
        assert trace.bound == pytest.approx([min(edges[: k + 1]) for k in range(len(edges))], rel=1e-9)
        assert (trace.objective <= trace.bound + 1e-12).all()
    drawn = GapDisplay.from_estimator(model, ax=ax.figure.add_subplot()).traces
    for trace in drawn:
        margin, edge = trace.objective[-1], trace.bound[-1]
        assert trace.relative_gap[-1] == pytest.approx(relative(edge - margin, margin, edge))
    assert (np.diff(drawn[0].seconds) >= 0).all()


def test_margins_of_rounds_are_those_of_the_sample():
    model = AdaBoostClassifier(n_rounds=8).fit(X, TWO)
    signs = np.where(model.classes_[1] == TWO, 1.0, -1.0)
    total = np.cumsum([row.weight for row in model.history_])
    margins = [(signs * f).min() / w for f, w in zip(model.staged_decision_function(X), total, strict=True)]
    assert [row.objective for row in model.history_] == pytest.approx(margins)
    perfect = AdaBoostClassifier().fit([[0.0], [1.0]], [0, 1])
    assert [row.objective for row in perfect.history_] == [1.0]


def test_the_convergence_of_machines(ax):
    model = InfiniteEnsembleSVC(C=0.1).fit(X, THREE)
    display = ConvergenceDisplay.from_estimator(model, against="seconds", ax=ax)
    assert legend_of(ax) == ["ant vs rest", "bee vs rest", "cat vs rest"]
    for trace, history in zip(display.traces, model.history_, strict=True):
        assert trace.objective.tolist() == [level.objective for level in history]
        assert trace.bound.tolist() == [level.bound for level in history]
        assert trace.seconds.tolist() == [level.seconds for level in history]
    boosted, own = LPBoostClassifier(tol=1e-2).fit(X, THREE), ax.figure.add_subplot()
    named = ["a: ant vs rest", "a: bee vs rest", "a: cat vs rest"]
    assert legend_of(ConvergenceDisplay.from_estimator(boosted, name="a", ax=own).ax_) == named
    search = PriceSearchCV(prices=[0.1], cv=2).fit(X, THREE)
    found = ConvergenceDisplay.from_estimator(search, ax=ax.figure.add_subplot()).traces
    assert [trace.objective.tolist() for trace in found] == [trace.objective.tolist() for trace in display.traces]


def test_the_convergence_of_updates(ax):
    model = PartialSVMEnsembleClassifier(C=None, tol=0.5).fit(X, TWO)
    (trace,) = ConvergenceDisplay.from_estimator(model, ax=ax).traces
    gaps = [row.relative_gap for row in model.history_]
    assert trace.objective.tolist() == [row.objective for row in model.history_]
    assert ((trace.objective - trace.bound) / trace.objective).tolist() == pytest.approx(gaps)


MANY = [
    LPBoostClassifier(),
    AdaBoostClassifier(n_rounds=9),
    AdaBoostMHClassifier(n_rounds=9),
    AdaBoostECCClassifier(n_rounds=9),
    MultiBoostClassifier(),
    CGEnsSLSClassifier(),
    InfiniteEnsembleSVC(C=0.1),
    RhoSVC(),
]


def scores_of(model):
    """The scores of sub-problems, or of classes."""
    if hasattr(model, "estimators_"):
        return [part.decision_function(X) for part in model.estimators_]
    return list(np.atleast_2d(model.decision_function(X).T))


@pytest.mark.thinned(1, y=[TWO, THREE], estimator=MANY)
def test_shapes_of_all_scores_add_up_to_them(estimator, y):
    model = estimator.fit(X, y)
    display = ShapeDisplay.from_estimator(model, X)
    names = list(dict.fromkeys(shape.of for shape in display.shapes))
    if len(model.classes_) == 2:
        assert names == [""]
    else:
        assert names == [*CLASSES]
    for name, scores in zip(names, scores_of(model), strict=True):
        mine = [shape for shape in display.shapes if shape.of == name]
        total = sum(shape.at(X[shape.name].to_numpy()) for shape in mine)
        np.testing.assert_allclose(scores - total, (scores - total)[0], atol=1e-5 * np.abs(scores).max())
    assert len(display.axes_) == len({shape.name for shape in display.shapes})
    assert [legend.get_texts()[0].get_text() for legend in display.figure_.legends] == names[:1] * (names != [""])
    display.figure_.canvas.draw()
    plt.close(display.figure_)


@pytest.mark.parametrize("estimator", [MANY[0], MANY[2], MANY[3], MANY[7]], ids=str)
def test_shapes_come_in_the_order_of_the_importances(estimator):
    model = estimator.fit(X, THREE)
    ranked = model.effects(X).to_frame()["effect"].tolist()
    display = ShapeDisplay.from_estimator(model, X, ax=axes(len(ranked)))
    assert [ax.get_xlabel() for ax in display.axes_] == ranked
    few = ShapeDisplay.from_estimator(model, X, n_shown=1, ax=axes(1))
    assert (few.axes_[0].get_xlabel(), few.n_left_out) == (ranked[0], len(ranked) - 1)


def test_indicators_are_bars():
    model = AdaBoostMHClassifier(n_rounds=30).fit(X, THREE)
    display = ShapeDisplay.from_estimator(model, X, ax=axes(3))
    (ax,) = (one for one in display.axes_ if one.get_xlabel() == "smoker")
    counts = X["smoker"].value_counts()
    assert [label.get_text() for label in ax.get_xticklabels()] == [f"0\nn = {counts[0]}", f"1\nn = {counts[1]}"]
    shapes = [shape for shape in display.shapes if shape.name == "smoker"]
    assert [bar.get_height() for bar in ax.patches] == [h for shape in shapes for h in shape.at(np.array([0.0, 1.0]))]
    assert len({bar.get_facecolor() for bar in ax.patches}) == 3
    assert all(not one.patches for one in display.axes_ if one is not ax)
    without = ShapeDisplay.from_estimator(model, ax=axes(3))
    assert not any(one.patches for one in without.axes_)


def test_the_label_says_for_which_class_a_contribution_is():
    (ax,) = ShapeDisplay.from_estimator(LPBoostClassifier().fit(X, TWO), X, n_shown=1).axes_
    assert ax.get_ylabel() == "contribution to f\n(above 0: bee)"
    plt.close(ax.figure)


def test_selections_have_the_names_of_features(ax):
    models = [LPBoostClassifier(tol=0.1).fit(X, y) for y in (TWO, THREE)]
    display = SelectionDisplay.from_estimators(models, n_shown=1, ax=ax)
    assert list(display.feature_names) == list(X.columns)
    trees = AdaBoostClassifier("trees", n_rounds=2).fit(X, TWO)
    shares = SelectionDisplay.from_estimators([trees], ax=ax.figure.add_subplot()).shares
    assert shares.tolist() == (trees.feature_importances_ > 0).tolist()
    other = X.rename(columns={"smoker": "sex"})
    mixed = [models[0], LPBoostClassifier(tol=0.1).fit(other, TWO)]
    assert SelectionDisplay.from_estimators(mixed, ax=ax.figure.add_subplot()).feature_names[0] == "x[0]"


def test_paths_have_the_names_of_features_and_classes(ax):
    models = {nu: LPBoostClassifier(nu=nu, tol=0.1).fit(X, TWO) for nu in (0.3, 0.5)}
    display = PathDisplay.from_estimators(models, n_named=1, xlabel="nu", ax=ax)
    (named,) = legend_of(ax)
    name, _, side = named.partition(" >= ")[0], *named.partition(" -> ")[1:]
    assert name in X.columns
    assert side in {"ant", "bee"}
    used = np.count_nonzero(np.abs(display.coefficients).max(axis=0))
    assert ax.get_legend().get_title().get_text() == f"the largest 1 of {used}"
    j = display.names.index(named)
    (stump,) = {
        h
        for model in models.values()
        for h in model.weak_learners_
        if getattr(h, "feature", None) == list(X.columns).index(name)
        and f"{h.threshold:.6g} -> {model.classes_[int(h.sign > 0)]}" in named
    }
    weights = [dict(zip(m.weak_learners_, m.weights_, strict=True)).get(stump, 0.0) for m in models.values()]
    assert display.coefficients[:, j].tolist() == weights
