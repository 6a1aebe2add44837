"""Regularisation paths: one line per coefficient, one point per C."""

from types import SimpleNamespace

import numpy as np
import pytest
from rendering import assert_drawn, legend_of

from cvxens.colgen import formulations, solve_path
from cvxens.colgen.oracles import Stumps
from cvxens.plotting import PathDisplay

C = [1.0, 0.01, 0.1]
WEIGHTS = np.array([[3.0, 0.0, -5.0], [1.0, 0.0, 0.0], [2.0, 0.0, -4.0]])


def paths(ax):
    return [line.get_ydata().tolist() for line in ax.lines]


def test_lines_are_the_coefficients_in_the_order_of_C(ax):
    display = PathDisplay(C, WEIGHTS, ylabel="multiplier u").plot(ax)
    assert_drawn(display, ax)
    assert paths(ax) == WEIGHTS[[1, 2, 0]].T.tolist()
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
    assert ax.get_xticklabels()[0].get_text() == "0.2"
    assert ax.get_xlabel() == "nu"
    ax.figure.canvas.draw()


def test_the_largest_are_named_and_the_others_grey(ax):
    PathDisplay(C, WEIGHTS, ["first", "never", "third"], n_named=1).plot(ax)
    assert legend_of(ax) == ["third"]
    assert paths(ax) == WEIGHTS[[1, 2, 0]].T[[0, 1, 2]].tolist()
    assert [line.get_color() == "0.75" for line in ax.lines] == [True, True, False]


def test_what_is_always_0_has_no_name(ax):
    PathDisplay(C, WEIGHTS, ["first", "never", "third"]).plot(ax)
    assert legend_of(ax) == ["third", "first"]


def test_hypotheses_of_runs_are_lined_up(run_at, ax):
    runs = {C: run_at(C) for C in (0.4, 0.05)}
    display = PathDisplay.from_runs(runs, ax=ax)
    assert display.C.tolist() == [0.05, 0.4]
    for row, run in zip(display.coefficients, (runs[0.05], runs[0.4]), strict=True):
        found = {name: weight for name, weight in zip(display.names, row, strict=True) if weight}
        wanted = zip(run.columns, run.weights.tolist(), strict=True)
        assert found == {str(column.hypothesis): weight for column, weight in wanted if weight}
    assert len(legend_of(ax)) <= 8


def test_a_path_has_its_breakpoints_and_says_what_is_certified_along_it(ax):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0]]), [1.0, -1.0, 1.0, -1.0]
    path = solve_path(formulations.soft_margin, Stumps(X), y, prices=(0.05, 5.0), tol=1e-8)
    display = PathDisplay.from_path(path, xlabel="price", ax=ax)
    assert_drawn(display, ax)
    assert display.C.tolist() == path.prices.tolist()
    dotted = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"]
    assert dotted == path.breakpoints.tolist() != []
    assert ax.get_title() == f"relative gap at most {path.relative_gap:.2g} at every price"
    assert path.relative_gap < 1e-8


def test_estimators_are_lined_up_by_their_weak_learners(ax):
    first = SimpleNamespace(weak_learners_=["h", "g"], weights_=np.array([1.0, 2.0]))
    second = SimpleNamespace(weak_learners_=["g", "k"], weights_=np.array([3.0, 4.0]))
    display = PathDisplay.from_estimators({1.0: first, 2.0: second}, xlabel="nu", ax=ax)
    assert ax.get_xlabel() == "nu"
    assert display.names == ["h", "g", "k"]
    assert display.coefficients.tolist() == [[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]
