"""Margin distributions: the steps are the sorted margins."""

from types import SimpleNamespace

import numpy as np
import pytest
from rendering import assert_drawn, legend_of

from cvxens.colgen import adaboost, oracles
from cvxens.plotting import MarginDisplay


def curves(ax):
    """The lines with a label: all but the one at 0."""
    return [line for line in ax.lines if not line.get_label().startswith("_child")]


def voter(weights=(3.0, 1.0), scores=(1.0, -2.0, 4.0), classes=("no", "yes")):
    return SimpleNamespace(
        weak_learners_=[None] * len(weights),
        weights_=np.array(weights),
        classes_=np.array(classes),
        decision_function=lambda X: np.array(scores),
    )


def test_a_curve_is_the_share_of_samples_up_to_each_margin(ax):
    margins = [0.5, -0.25, 0.5, 1.0]
    display = MarginDisplay({"a": margins}).plot(ax)
    assert_drawn(display, ax)
    (line,) = curves(ax)
    assert line.get_xdata().tolist() == [-0.25, -0.25, 0.5, 0.5, 1.0]
    assert line.get_ydata().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert legend_of(ax) == ["a"]


def test_margins_of_a_run_are_its_scores_over_its_weights(run, sample, ax):
    X, y = sample
    display = MarginDisplay.from_run(run, X, y, name="run", ax=ax)
    expected = y * run.decision_function(X) / np.abs(run.weights).sum()
    assert display.margins["run"] == pytest.approx(expected, rel=1e-12)
    assert np.unique(curves(ax)[0].get_xdata()) == pytest.approx(np.unique(expected), rel=1e-12)
    assert np.abs(expected).max() <= 1 + 1e-12


def test_margins_are_those_that_boosting_says(sample):
    X, y = sample
    boosted = adaboost(oracles.Stumps(X), y, n_rounds=20)
    display = MarginDisplay({"AdaBoost": boosted.margins})
    expected = y * boosted.decision_function(X) / boosted.weights.sum()
    assert display.margins["AdaBoost"] == pytest.approx(expected, abs=1e-12)


def test_an_estimators_labels_are_its_classes(ax):
    display = MarginDisplay.from_estimator(voter(), None, ["yes", "yes", "no"], name="votes", ax=ax)
    assert display.margins["votes"].tolist() == [0.25, -0.5, -1.0]
    assert legend_of(ax) == ["votes"]


def test_several_models_share_axes(run, run_at, sample, ax):
    MarginDisplay.from_runs({"a": run, "b": run_at(0.05)}, *sample, ax=ax)
    MarginDisplay.from_run(run, *sample, name="c", ax=ax)
    assert legend_of(ax) == ["a", "b", "c"]
    assert len({line.get_color() for line in curves(ax)}) == 3


def test_one_model_without_a_name_has_no_legend(run, sample, ax):
    assert MarginDisplay.from_run(run, *sample, ax=ax).ax_.get_legend() is None
