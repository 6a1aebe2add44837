"""Objective, bound and gap: the lines are the history."""

from types import SimpleNamespace

import numpy as np
import pytest
from rendering import assert_drawn, legend_of

from cvxens.certificates import Round, relative
from cvxens.plotting import ConvergenceDisplay, GapDisplay, Trace

DISPLAYS = [ConvergenceDisplay, GapDisplay]


def trace(**changes):
    return Trace(**{"objective": [3.0, 2.0], "bound": [-np.inf, 1.0], "seconds": [0.5, 2.0]} | changes)


def estimator(**attributes):
    return SimpleNamespace(**attributes)


def test_a_trace_is_the_history_of_a_run(run):
    found = Trace.from_history(run.history, "name")
    assert found.objective.tolist() == [row.objective for row in run.history]
    assert found.bound.tolist() == [row.bound for row in run.history]
    assert found.rounds.tolist() == list(range(1, len(run.history) + 1))
    assert found.seconds.tolist() == sorted(row.seconds for row in run.history)
    assert found.relative_gap[-1] == pytest.approx(run.certificate.relative_gap, abs=1e-12)
    assert found.name == "name"


def test_a_trace_is_the_history_of_a_solver_that_says_when():
    found = Trace.from_history([Round(-1.0, -3.0, 2 / 3, 1, 0.5), Round(-2.0, -2.0, 0.0, 2, 1.0)])
    assert found.seconds.tolist() == [0.5, 1.0]
    assert found.relative_gap.tolist() == [2 / 3, 0.0]


@pytest.mark.parametrize(("objective", "bound"), [(3.0, 1.0), (1.0, 3.0), (-2.0, -2.5), (1e-12, 0.0), (0.0, 0.0)])
def test_the_gap_is_relative_as_in_certificates_whichever_side_bounds(objective, bound):
    found = Trace([objective], [bound], [1.0]).relative_gap
    assert found.tolist() == [relative(abs(objective - bound), objective, bound)]


def test_no_gap_where_there_is_no_bound():
    found = trace(objective=[np.inf, 2.0, 2.0], bound=[-np.inf, -np.inf, 1.0], seconds=[0, 1, 2]).relative_gap
    assert found.tolist() == [np.inf, np.inf, 0.5]


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


def test_what_is_infinite_is_not_drawn(ax):
    ConvergenceDisplay([trace()]).plot(ax)
    assert np.isnan(ax.lines[1].get_ydata()).tolist() == [True, False]
    ax.figure.canvas.draw()


def test_the_gap_is_drawn_on_a_logarithmic_scale(run, ax):
    display = GapDisplay.from_run(run, against="seconds", ax=ax)
    assert_drawn(display, ax)
    (line,) = ax.lines
    expected = Trace.from_history(run.history)
    assert line.get_xdata().tolist() == expected.seconds.tolist()
    assert line.get_ydata() == pytest.approx(np.maximum(expected.relative_gap, np.finfo(float).eps), rel=1e-12)
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == "time in seconds"
    assert ax.get_legend() is None


def test_a_gap_of_0_is_drawn_at_the_rounding_error(ax):
    GapDisplay([Trace([1.0, 2.0], [-np.inf, 2.0], [0.0, 1.0])]).plot(ax)
    assert np.isnan(ax.lines[0].get_ydata()[0])
    assert ax.lines[0].get_ydata()[1] == np.finfo(float).eps


@pytest.mark.parametrize("display", DISPLAYS)
def test_several_runs_are_named_and_told_apart(display, run, run_at, ax):
    display.from_runs({"a": run, "b": run_at(0.05)}, ax=ax)
    assert legend_of(ax) == ["a", "b"]
    assert len({line.get_color() for line in ax.lines}) == 2


@pytest.mark.parametrize("display", DISPLAYS)
def test_runs_can_be_added_to_axes_one_by_one(display, run, ax):
    for name in ("a", "b", "c"):
        display.from_run(run, name=name, ax=ax)
    assert legend_of(ax) == ["a", "b", "c"]
    assert len({line.get_color() for line in ax.lines}) == 3


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_logarithmic_axis_stays_one(display, run, ax):
    ax.set_xscale("log")
    display.from_run(run, ax=ax)
    assert ax.get_xscale() == "log"


def test_rounds_are_marked_at_whole_numbers(run, ax):
    ConvergenceDisplay([Trace([2.0, 1.0], [0.0, 1.0], [0.1, 0.2])]).plot(ax)
    assert np.mod(ax.get_xticks(), 1).tolist() == [0.0] * len(ax.get_xticks())


@pytest.mark.parametrize("display", DISPLAYS)
def test_an_estimator_is_drawn_by_its_history(display, run, ax):
    drawn = display.from_estimator(estimator(history_=run.history), name="a", ax=ax)
    assert drawn.traces[0].objective.tolist() == Trace.from_history(run.history).objective.tolist()
    assert legend_of(ax) == ["a"]


def test_an_estimator_of_several_classes_is_drawn_by_its_sub_problems(run, ax):
    classes = {"classes_": np.array(["a", "b"])}
    several = estimator(history_=[run.history, run.history[:2]], estimators_=object(), **classes)
    drawn = ConvergenceDisplay.from_estimator(several, ax=ax)
    assert [len(part.objective) for part in drawn.traces] == [len(run.history), 2]
    assert legend_of(ax) == ["a vs rest", "b vs rest"]
