"""Selection frequencies: the bars are counts over runs."""

from types import SimpleNamespace

import numpy as np
import pytest
from rendering import assert_drawn

from cvxens.plotting import SelectionDisplay


def model(shares):
    return SimpleNamespace(feature_importances_=np.array(shares))


def bars(ax):
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    return dict(zip(names, [bar.get_width() for bar in ax.patches], strict=True))


def test_bars_are_the_shares_the_largest_on_top(ax):
    display = SelectionDisplay([0.5, 0.0, 1.0, 0.25], ["a", "b", "c", "d"]).plot(ax)
    assert_drawn(display, ax)
    assert list(bars(ax).items()) == [("c", 1.0), ("a", 0.5), ("d", 0.25)]
    assert ax.yaxis_inverted()


def test_at_most_so_many_are_shown(ax):
    SelectionDisplay(np.linspace(0.1, 1, 10), n_shown=2).plot(ax)
    assert list(bars(ax)) == ["x[9]", "x[8]"]


def test_models_count_once_per_feature_that_they_use(ax):
    models = [model([1.0, 0.0, 0.0]), model([0.4, 0.0, 0.6]), model([1e-9, 0.0, 1.0])]
    SelectionDisplay.from_estimators(models, ax=ax)
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


def test_the_stumps_of_one_run_are_counted(run, ax):
    SelectionDisplay.from_run(run, ax=ax)
    assert sum(bars(ax).values()) == pytest.approx(1.0)
    assert ax.get_xlabel().startswith("share of stumps on the feature (of ")
