"""What is drawn is what was given: samples, weights, histories, functions and effects, read back from the pictures."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rendering import PAIRS, WEIGHTS, C, assert_drawn, assert_opens_one_figure, axes, legend_of
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from cvxens.certificates import Round, relative
from cvxens.colgen import adaboost, column_generation, formulations, oracles, solve_path
from cvxens.errors import InvalidInput
from cvxens.estimators import AdaBoostMHClassifier, CGEnsClassifier, LPBoostClassifier
from cvxens.hypotheses import Stump
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
    ShapeFunction,
    Trace,
)


def texts(ticks):
    return [tick.get_text() for tick in ticks]


def bars(ax):
    return dict(zip(texts(ax.get_yticklabels()), [bar.get_width() for bar in ax.patches], strict=True))


def curves(ax):
    """The lines with a label."""
    return [line for line in ax.lines if not line.get_label().startswith("_child")]


# decision regions


@pytest.fixture(scope="module")
def plane(sample):
    X, y = sample
    X = X[:, :2] * [1.0, 100.0]
    return X, y, column_generation(formulations.soft_margin(1.0), oracles.Stumps(X, columns_per_round=2), y)


def points(ax, k):
    """The samples of the k-th class; the first collections are the regions."""
    return np.asarray([c for c in ax.collections if c.get_label() in legend_of(ax)][k].get_offsets())


def test_the_shading_is_the_scores(plane, ax):
    X, y, _ = plane
    model = LPBoostClassifier(C=1.0).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=15, ax=ax)
    assert_drawn(display, ax)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert display.response.ravel() == pytest.approx(model.decision_function(grid), abs=1e-12)
    assert ax.collections[0].get_array().tolist() == display.response.tolist()
    low, high = ax.collections[0].get_clim()
    assert low == -high < 0
    assert ax.collections[1].levels.tolist() == [0.0]
    assert legend_of(ax) == ["-1.0", "1.0"]
    assert [points(ax, k).tolist() for k in range(2)] == [X[y == s].tolist() for s in (-1, 1)]
    # the grid covers the sample and little more
    assert (grid.min(axis=0) < X.min(axis=0)).all()
    assert (grid.max(axis=0) > X.max(axis=0)).all()
    assert (np.ptp(grid, axis=0) < 1.2 * np.ptp(X, axis=0)).all()


def test_regions_of_several_classes(ax):
    data = load_iris()
    X, y = data.data[:, [0, 2]], data.target_names[data.target]
    display = BoundaryDisplay.from_estimator(SVC().fit(X, y), X, y, grid_resolution=20, ax=ax)
    assert_drawn(display, ax)
    assert set(np.unique(display.response)) <= {0, 1, 2}
    assert legend_of(ax) == ["setosa", "versicolor", "virginica"]
    assert points(ax, 2).tolist() == X[y == "virginica"].tolist()


@pytest.mark.parametrize("model", [RandomForestClassifier(3, random_state=0), GaussianNB()])
def test_the_boundary_of_probabilities_is_one_half(plane, model, ax):
    X, y, _ = plane
    display = BoundaryDisplay.from_estimator(model.fit(X, y), X, y, grid_resolution=15, ax=ax)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert display.response.ravel() == pytest.approx(model.predict_proba(grid)[:, 1] - 0.5)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_data_frame_names_the_axes(plane, frame, ax):
    X, y, _ = plane
    named = frame({"width": X[:, 0], "height": X[:, 1]})
    display = BoundaryDisplay.from_estimator(SVC().fit(named, y), named, y, grid_resolution=10, ax=ax)
    assert display.names == ("width", "height")
    assert display.X.tolist() == X.tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")


def test_a_model_that_never_decides_is_drawn(ax):
    X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([-1, 1, -1])
    display = BoundaryDisplay(*np.meshgrid([0.0, 2.0], [0.0, 2.0]), np.zeros((2, 2)), np.array([-1, 1]), X, y)
    assert_drawn(display.plot(ax), ax)


# margins


def test_a_curve_is_the_share_of_samples_up_to_each_margin(ax):
    assert_drawn(MarginDisplay({"a": [0.5, -0.25, 0.5, 1.0]}).plot(ax), ax)
    (line,) = curves(ax)
    assert line.get_xdata().tolist() == [-0.25, -0.25, 0.5, 0.5, 1.0]
    assert line.get_ydata().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert legend_of(ax) == ["a"]


def test_margins_of_a_run_are_its_scores_over_its_weights(run, sample, ax):
    X, y = sample
    display = MarginDisplay.from_run(run, X, y, ax=ax)
    expected = y * run.decision_function(X) / np.abs(run.weights).sum()
    assert display.margins[""] == pytest.approx(expected, rel=1e-12)
    assert np.unique(ax.lines[1].get_xdata()) == pytest.approx(np.unique(expected), rel=1e-12)
    assert np.abs(expected).max() <= 1 + 1e-12
    assert ax.get_legend() is None
    boosted = adaboost(oracles.Stumps(X), y, n_rounds=20)
    expected = y * boosted.decision_function(X) / boosted.weights.sum()
    assert MarginDisplay({"AdaBoost": boosted.margins}).margins["AdaBoost"] == pytest.approx(expected, abs=1e-12)


def test_an_estimators_labels_are_its_classes(ax):
    scores = np.array([1.0, -2.0, 4.0])
    learners = {"weak_learners_": [None] * 2, "weights_": np.array([3.0, 1.0]), "classes_": np.array(["no", "yes"])}
    voter = SimpleNamespace(**learners, decision_function=lambda X: scores)
    display = MarginDisplay.from_estimator(voter, None, ["yes", "yes", "no"], name="votes", ax=ax)
    assert display.margins["votes"].tolist() == [0.25, -0.5, -1.0]
    assert legend_of(ax) == ["votes"]


@pytest.mark.parametrize("display", [MarginDisplay, ConvergenceDisplay, GapDisplay])
def test_several_models_are_named_and_told_apart(display, run, run_at, sample, ax):
    given = sample if display is MarginDisplay else ()
    ax.set_xscale("linear" if given else "log")
    display.from_runs({"a": run, "b": run_at(0.05)}, *given, ax=ax)
    display.from_run(run, *given, name="c", ax=ax)
    assert legend_of(ax) == ["a", "b", "c"]
    assert len({line.get_color() for line in ax.lines[bool(given) :] if line.get_color() != "0.75"}) == 3
    # a logarithmic axis stays one
    assert ax.get_xscale() == ("linear" if given else "log")


# paths


def test_lines_are_the_coefficients_in_the_order_of_C(ax):
    display = PathDisplay(C, WEIGHTS, ylabel="multiplier u").plot(ax)
    assert_drawn(display, ax)
    assert [line.get_ydata().tolist() for line in ax.lines] == WEIGHTS[[1, 2, 0]].T.tolist()
    assert ax.lines[0].get_xdata().tolist() == [0.01, 0.1, 1.0]
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "multiplier u")
    assert ax.get_legend() is None


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_a_narrow_range_is_marked_at_its_points(count, ax):
    C = np.linspace(0.2, 0.6, count)
    PathDisplay(C, np.ones((count, 1)), xlabel="nu").plot(ax)
    assert set(ax.get_xticks()) <= set(C)
    assert len(ax.get_xticks()) == min(count, 6)
    assert ax.get_xticks(minor=True).size == 0
    assert (ax.get_xticklabels()[0].get_text(), ax.get_xlabel()) == ("0.2", "nu")
    ax.figure.canvas.draw()


@pytest.mark.parametrize(("n_named", "named"), [(1, ["third"]), (8, ["third", "first"])])
def test_the_largest_are_named_and_the_others_grey(n_named, named, ax):
    PathDisplay(C, WEIGHTS, ["first", "never", "third"], n_named=n_named).plot(ax)
    assert legend_of(ax) == named
    faint = [True] * (3 - len(named)) + [False] * len(named)
    assert [line.get_color() == "0.75" for line in ax.lines] == sorted(faint, reverse=True)


def test_hypotheses_of_runs_are_lined_up(run_at, ax):
    runs = {C: run_at(C) for C in (0.4, 0.05)}
    display = PathDisplay.from_runs(runs, feature_names=list("abcd"), ax=ax)
    assert display.C.tolist() == [0.05, 0.4]
    assert {text[0] for text in legend_of(ax)} <= set("abcd")
    display = PathDisplay.from_runs(runs, ax=ax.figure.add_subplot())
    for row, run in zip(display.coefficients, (runs[0.05], runs[0.4]), strict=True):
        found = {name: weight for name, weight in zip(display.names, row, strict=True) if weight}
        wanted = zip(run.columns, run.weights.tolist(), strict=True)
        assert found == {str(column.hypothesis): weight for column, weight in wanted if weight}
    assert len(legend_of(ax)) <= 8
    first = SimpleNamespace(weak_learners_=["h", "g"], weights_=np.array([1.0, 2.0]))
    second = SimpleNamespace(weak_learners_=["g", "k"], weights_=np.array([3.0, 4.0]))
    display = PathDisplay.from_estimators({1.0: first, 2.0: second}, xlabel="nu", ax=ax.figure.add_subplot())
    assert display.ax_.get_xlabel() == "nu"
    assert display.names == ["h", "g", "k"]
    assert display.coefficients.tolist() == [[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]


def test_a_path_has_its_breakpoints_and_says_what_is_certified_along_it(ax):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0]]), [1.0, -1.0, 1.0, -1.0]
    path = solve_path(formulations.soft_margin, oracles.Stumps(X), y, prices=(0.05, 5.0), tol=1e-8)
    display = PathDisplay.from_path(path, xlabel="price", ax=ax)
    assert_drawn(display, ax)
    assert display.C.tolist() == path.prices.tolist()
    dotted = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"]
    assert dotted == path.breakpoints.tolist() != []
    assert ax.get_title() == f"relative gap at most {path.relative_gap:.2g} at every price"
    assert path.relative_gap < 1e-8


# selections


def test_bars_are_the_shares_the_largest_on_top(ax):
    assert_drawn(SelectionDisplay([0.5, 0.0, 1.0, 0.25], ["a", "b", "c", "d"]).plot(ax), ax)
    assert list(bars(ax).items()) == [("c", 1.0), ("a", 0.5), ("d", 0.25)]
    assert ax.yaxis_inverted()
    few = SelectionDisplay(np.linspace(0.1, 1, 10), n_shown=2).plot(ax.figure.add_subplot())
    assert list(bars(few.ax_)) == ["x[9]", "x[8]"]


def test_models_count_once_per_feature_that_they_use(ax):
    shares = [[1.0, 0.0, 0.0], [0.4, 0.0, 0.6], [1e-9, 0.0, 1.0]]
    SelectionDisplay.from_estimators([SimpleNamespace(feature_importances_=np.array(each)) for each in shares], ax=ax)
    assert bars(ax) == {"x[0]": 2 / 3, "x[2]": 2 / 3}
    assert ax.get_xlabel() == "share of models that select the feature (of 3)"


def test_runs_count_the_features_of_their_stumps(run, run_at, ax):
    runs = [run, run_at(0.05), run_at(0.02)]
    SelectionDisplay.from_runs(runs, feature_names=["a", "b", "c", "d"], ax=ax)
    for j, name in enumerate("abcd"):
        users = [
            any(
                w > 1e-6 * one.weights.max() and getattr(column.hypothesis, "feature", None) == j
                for column, w in zip(one.columns, one.weights, strict=True)
            )
            for one in runs
        ]
        assert bars(ax).get(name, 0.0) == pytest.approx(np.mean(users))
    own = SelectionDisplay.from_run(run, ax=ax.figure.add_subplot()).ax_
    assert sum(bars(own).values()) == pytest.approx(1.0)
    assert own.get_xlabel().startswith("share of stumps on the feature (of ")


# histories


def test_a_trace_is_the_history_of_a_run_or_a_solver(run):
    found = Trace.from_history(run.history, "name")
    assert found.objective.tolist() == [row.objective for row in run.history]
    assert found.bound.tolist() == [row.bound for row in run.history]
    assert found.rounds.tolist() == list(range(1, len(run.history) + 1))
    assert found.seconds.tolist() == sorted(row.seconds for row in run.history)
    assert found.relative_gap[-1] == pytest.approx(run.certificate.relative_gap, abs=1e-12)
    assert found.name == "name"
    found = Trace.from_history([Round(-1.0, -3.0, 2 / 3, 1, 0.5), Round(-2.0, -2.0, 0.0, 2, 1.0)])
    assert (found.seconds.tolist(), found.relative_gap.tolist()) == ([0.5, 1.0], [2 / 3, 0.0])


@pytest.mark.parametrize(("objective", "bound"), [(3.0, 1.0), (1.0, 3.0), (-2.0, -2.5), (1e-12, 0.0), (0.0, 0.0)])
def test_the_gap_is_relative_as_in_certificates_whichever_side_bounds(objective, bound):
    found = Trace([np.inf, 2.0, objective], [-np.inf, -np.inf, bound]).relative_gap
    assert found.tolist() == [np.inf, np.inf, relative(abs(objective - bound), objective, bound)]


def test_convergence_draws_objective_and_bound(run, ax):
    display = ConvergenceDisplay.from_run(run, ax=ax)
    assert_drawn(display, ax)
    objective, bound = ax.lines
    assert objective.get_xydata().tolist() == [[k + 1, row.objective] for k, row in enumerate(run.history)]
    assert bound.get_xydata().tolist() == [[k + 1, row.bound] for k, row in enumerate(run.history)]
    assert bound.get_linestyle() == "--"
    assert bound.get_color() == objective.get_color()
    assert len(ax.collections) == 1
    assert legend_of(ax) == ["objective", "bound"]
    assert ax.get_xlabel() == "round"
    assert np.mod(ax.get_xticks(), 1).tolist() == [0.0] * len(ax.get_xticks())


def test_the_gap_is_drawn_on_a_logarithmic_scale(run, ax):
    display = GapDisplay.from_run(run, against="seconds", ax=ax)
    assert_drawn(display, ax)
    (line,) = ax.lines
    expected = Trace.from_history(run.history)
    assert line.get_xdata().tolist() == expected.seconds.tolist()
    assert line.get_ydata() == pytest.approx(np.maximum(expected.relative_gap, np.finfo(float).eps), rel=1e-12)
    assert (ax.get_yscale(), ax.get_xlabel(), ax.get_legend()) == ("log", "time in seconds", None)


def test_what_is_infinite_is_not_drawn_and_a_gap_of_0_at_the_rounding_error(ax):
    trace = Trace([1.0, 2.0], [-np.inf, 2.0], [0.0, 1.0])
    gaps = GapDisplay([trace]).plot(ax).ax_.lines[0].get_ydata()
    assert np.isnan(gaps).tolist() == [True, False]
    assert gaps[1] == np.finfo(float).eps
    display = ConvergenceDisplay([trace]).plot(ax.figure.add_subplot())
    assert np.isnan(display.ax_.lines[1].get_ydata()).tolist() == [True, False]
    ax.figure.canvas.draw()


def test_a_single_round_is_seen(ax):
    ConvergenceDisplay([Trace([2.0], [1.0])]).plot(ax)
    assert [line.get_marker() for line in ax.lines] == [".", "."]
    other = ConvergenceDisplay([Trace(np.ones(99), np.zeros(99))]).plot(ax.figure.add_subplot()).ax_
    assert {line.get_marker() for line in other.lines} <= {"", "None"}


# shapes


def test_given_pairs_are_drawn_under_their_names():
    given_axes = axes(2)
    display = ShapeDisplay.from_shapes(PAIRS, ax=given_axes)
    assert display.axes_ == given_axes
    assert display.figure_ is given_axes[0].figure
    for one, (name, (knots, values)) in zip(given_axes, PAIRS.items(), strict=True):
        assert one.get_xlabel() == name
        assert one.lines[1].get_xydata().tolist() == np.column_stack([knots, values]).tolist()
        assert one.lines[1].get_drawstyle() == "default"
        assert len(one.lines) == 2
    display.figure_.canvas.draw()
    for names in (None, ["a", "b"]):
        named = ShapeDisplay.from_shapes(list(PAIRS.values()), feature_names=names, ax=axes(2))
        assert [one.get_xlabel() for one in named.axes_] == (names or ["x[0]", "x[1]"])


def test_the_rug_is_the_sample_thinned_evenly_if_it_is_large():
    X = np.column_stack([np.arange(5.0), [1, 1, 2, 2, 0]])
    rugs = [one.lines[2] for one in ShapeDisplay.from_shapes(PAIRS, X, ax=axes(2)).axes_]
    assert [rug.get_xdata().tolist() for rug in rugs] == np.sort(X, axis=0).T.tolist()
    assert [rug.get_marker() for rug in rugs] == ["|", "|"]
    X = np.random.default_rng(0).permutation(np.arange(5001.0))[:, None]
    rug = ShapeDisplay.from_shapes([([0, 1], [0, 1])], X, ax=axes(1)).axes_[0].lines[2].get_xdata()
    assert (len(rug), rug[0], rug[-1]) == (1000, 0, 5000)
    assert set(np.diff(rug)) == {5.0, 6.0}


def test_a_function_goes_on_as_far_as_the_sample():
    display = ShapeDisplay.from_shapes([([1, 2], [0.0, 3.0])], np.array([[0.0], [1.5], [5.0]]), ax=axes(1))
    assert display.axes_[0].lines[1].get_xydata().tolist() == [[0, 0], [1, 0], [2, 3], [5, 3]]


def test_important_functions_come_first_and_others_count():
    pairs = [([0, 1], [0, extent]) for extent in (1.0, -3.0, 2.0, 0.0, -2.0)] + [([0, 1, 2], [0, 1.3, 0])]
    display = ShapeDisplay.from_shapes(pairs, n_shown=3, ax=axes(3))
    assert [one.get_xlabel() for one in display.axes_] == ["x[1]", "x[5]", "x[2]"]
    assert display.n_left_out == 2
    assert [one.get_title(loc="right") for one in display.axes_] == ["", "", "2 less important features are left out"]
    assert ShapeDisplay.from_shapes(pairs, ax=axes(6)).axes_[-1].get_title(loc="right") == ""


@pytest.mark.parametrize(("n_shown", "said"), [(4, "1 less important feature is left out"), (5, ""), (9, "")])
def test_an_own_figure_has_one_scale_and_says_how_many_features_are_left_out(n_shown, said):
    pairs = [([0, 1], [0, extent]) for extent in (1.0, -3.0, 2.0, 0.0, -2.0, 0.5)]
    display = ShapeDisplay.from_shapes(pairs, n_shown=n_shown)
    assert len(display.figure_.axes) == len(display.axes_) == min(n_shown, 6)
    assert len({one.get_ylim() for one in display.axes_}) == 1
    # two rows have one label for all
    assert display.figure_.get_supylabel() == ("contribution to f" if n_shown > 4 else "")
    assert display.figure_.get_supxlabel() == said
    assert_opens_one_figure(display)


def test_the_staircases_of_a_run_add_up_to_its_scores(run, sample):
    X, _ = sample
    n_used = len({column.hypothesis.feature for column, w in zip(run.columns, run.weights, strict=True) if w > 1e-9})
    display = ShapeDisplay.from_run(run, X, n_shown=4, ax=axes(n_used))
    total = sum(shape.at(X[:, int(shape.name[2])]) for shape in display.shapes)
    assert run.decision_function(X) - total == pytest.approx(run.decision_function(X).mean(), abs=1e-9)
    assert "x[3]" not in [shape.name for shape in display.shapes]


def test_without_a_sample_both_sides_of_a_step_are_shown():
    one = SimpleNamespace(columns=[SimpleNamespace(hypothesis=Stump(1, 2.0, 1))], weights=np.array([0.5]))
    (shape,) = ShapeDisplay.from_run(one, feature_names=["a", "b"], ax=axes(1)).shapes
    assert (shape.name, shape.knots.tolist()) == ("b", [1.0, 2.0, 2.0, 3.0])
    assert shape.values.tolist() == [-0.5, -0.5, 0.5, 0.5]


# effects


@pytest.fixture(scope="module")
def model(sample):
    X, y = sample
    return LPBoostClassifier(C=1.0, oracle="depth_two_trees").fit(X, y)


@pytest.fixture(scope="module")
def effects(model, sample):
    return model.effects(sample[0])


def test_importances_come_in_their_order(effects, model, sample, ax):
    assert_drawn(EffectsDisplay.from_estimator(model, sample[0], n_shown=2, ax=ax), ax)
    frame = effects.to_frame()
    assert texts(ax.get_yticklabels()) == frame["effect"].tolist()[:2]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(frame["importance"].tolist()[:2])
    assert ax.get_title(loc="right") == f"{(frame['importance'] > 0).sum() - 2} less important are left out"


def test_a_pair_is_drawn_as_it_is(effects, model, sample, ax):
    X, _ = sample
    display = PairDisplay.from_estimator(model, X, ax=ax)
    assert_drawn(display, ax)
    name = f"{ax.get_xlabel()} x {ax.get_ylabel()}"
    pair = effects.terms[effects.names.index(name)]
    middles = [(ends[:-1] + ends[1:]) / 2 for ends in display.edges]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*middles, indexing="ij")], axis=1)
    assert display.table.ravel() == pytest.approx(pair.at(points)[:, 0])
    wanted = [[X[:, feature].min(), X[:, feature].max()] for feature in pair.features]
    assert [ends[[0, -1]].tolist() for ends in display.edges] == wanted
    # without a sample it reaches over its cuts
    again = PairDisplay.from_effects(effects, name)
    assert_opens_one_figure(again)
    assert again.table.shape == tuple(len(cuts) + 1 for cuts in pair.cuts)


@pytest.mark.parametrize("shapley", [False, True])
def test_an_explanation_goes_from_the_mean_score_to_that_of_the_sample(model, sample, shapley, ax):
    X, _ = sample
    display = ExplanationDisplay.from_estimator(model, X, X[3:4], shapley=shapley, n_shown=2, ax=ax)
    assert_drawn(display, ax)
    assert display.base == pytest.approx(model.decision_function(X).mean())
    assert display.base + display.contributions.sum() == pytest.approx(model.decision_function(X[3:4])[0])
    labels = texts(ax.get_yticklabels())
    assert (labels[0], labels[-1], len(labels)) == ("mean score", "score", 5)
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert ends[-1] == pytest.approx(model.decision_function(X[3:4])[0])
    assert [bar.get_x() for bar in ax.patches[1:]] == pytest.approx(ends[:-1])
    assert not shapley or any(label.startswith("x[0] = ") for label in labels)


def test_shapes_of_trees_are_their_main_effects(effects, sample):
    display = ShapeDisplay.from_effects(effects, sample[0])
    assert_opens_one_figure(display)
    assert display.shapes[0].name == effects.to_frame().query("order == 1")["effect"].iloc[0]
    for shape in display.shapes:
        main = effects.terms[effects.names.index(shape.name)]
        assert shape.values == pytest.approx(main.outline(*shape.knots[[0, -1]])[1][:, 0])


def test_of_several_scores_one_is_named(sample, ax):
    X, _ = sample
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    effects = AdaBoostMHClassifier(n_rounds=6).fit(X, y).effects(X)
    whole = EffectsDisplay.from_effects(effects, ax=ax)
    top = EffectsDisplay.from_effects(effects, output="top", ax=ax.figure.add_subplot())
    assert top.importances == pytest.approx(effects.sizes[:, 2])
    assert whole.importances == pytest.approx(effects.sizes.mean(axis=1))
    explained = ExplanationDisplay.from_effects(effects, X[:1], output="low", ax=ax.figure.add_subplot())
    assert explained.base == pytest.approx(effects.intercept[0])
    with pytest.raises(InvalidInput, match="output: found None; name one of low, middle, top"):
        ExplanationDisplay.from_effects(effects, X[:1])
    display = ShapeDisplay.from_effects(effects, ax=[ax.figure.add_subplot() for _ in effects.mains])
    assert legend_of(display.axes_[0]) == ["low", "middle", "top"]


def test_levels_and_missing_values_are_told_by_name(ax):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.integers(0, 9, 60).astype(float), "sky": random.choice(["blue", "grey"], 60)})
    y = (frame["age"] > 4) ^ (frame["sky"] == "grey") & (frame["age"] > 2)
    frame.loc[:9, "age"], frame.loc[5:7, "sky"] = np.nan, None
    model = CGEnsClassifier(C=0.1).fit(frame, y)
    effects = model.effects(frame)
    axes = [ax, ax.figure.add_subplot()]
    age, sky = sorted(ShapeDisplay.from_estimator(model, frame, ax=axes).axes_, key=lambda one: one.get_xlabel())
    missing = [effects.mains[k].at([np.nan])[0, 0] for k in range(2)]
    counts = [(frame["sky"] == name).sum() for name in ("blue", "grey")]
    assert texts(sky.get_xticklabels()) == [f"blue\nn = {counts[0]}", f"grey\nn = {counts[1]}", "missing\nn = 3"]
    assert [bar.get_height() for bar in sky.patches] == pytest.approx([*effects.mains[1].at([0, 1])[:, 0], missing[1]])
    assert texts(age.texts) == ["missing (n = 10)"]
    assert age.lines[-2].get_ydata() == pytest.approx([missing[0]] * 2)
    drawn = ExplanationDisplay.from_effects(effects, frame.iloc[[5]], shapley=True, ax=ax.figure.add_subplot())
    assert {"age = missing", "sky = missing"} & set(texts(drawn.ax_.get_yticklabels()))
    assert effects.tell_value(1, 1.0) == "grey"
    wide = ShapeDisplay([ShapeFunction("sky", [0, 1], [0.0, 1.0], levels=["blue", "grey " * 20])]).plot()
    assert_opens_one_figure(wide)
    assert wide.axes_[0].get_position().height > 0.3


# without matplotlib

WITHOUT = """
import sys
import cvxens.plotting
print("matplotlib" in sys.modules)
sys.modules["matplotlib"] = None
display = cvxens.plotting.GapDisplay([cvxens.plotting.Trace([1.0], [0.5], [0.1])])
try:
    display.plot()
except ImportError as error:
    print(error)
"""


def test_without_matplotlib_plots_say_what_to_install_and_nothing_else_loads_it():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == [
        "False",
        "cvxens.plotting draws with matplotlib, which cannot be imported; install it: pip install 'cvxens[plot]'",
    ]
