"""Decision regions: shading and points are scikit-learn's scores and the sample."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rendering import assert_drawn, legend_of
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from cvxens.colgen import column_generation, formulations, oracles
from cvxens.plotting import BoundaryDisplay


@pytest.fixture(scope="module")
def plane(sample):
    X, y = sample
    return X[:, :2] * [1.0, 100.0], y


@pytest.fixture(scope="module")
def plane_run(plane):
    X, y = plane
    return column_generation(formulations.soft_margin(1.0), oracles.Stumps(X, columns_per_round=2), y)


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return data.data[:, [0, 2]], data.target_names[data.target]


def points(ax, k):
    """The samples of the k-th class; the first collections are the regions."""
    marked = [c for c in ax.collections if c.get_label() in legend_of(ax)]
    return np.asarray(marked[k].get_offsets())


def test_the_shading_of_a_run_is_its_scores(plane, plane_run, ax):
    X, y = plane
    display = BoundaryDisplay.from_run(plane_run, X, y, grid_resolution=15, ax=ax)
    assert_drawn(display, ax)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert display.response.ravel() == pytest.approx(plane_run.decision_function(grid), abs=1e-12)
    assert ax.collections[0].get_array().tolist() == display.response.tolist()
    low, high = ax.collections[0].get_clim()
    assert low == -high < 0
    assert ax.collections[1].levels.tolist() == [0.0]
    assert legend_of(ax) == ["-1", "1"]
    assert points(ax, 0).tolist() == X[y == -1].tolist()
    assert points(ax, 1).tolist() == X[y == 1].tolist()


def test_the_grid_covers_the_sample_and_little_more(plane, plane_run, ax):
    X, y = plane
    display = BoundaryDisplay.from_run(plane_run, X, y, grid_resolution=5, ax=ax)
    for x, grid in zip(X.T, (display.xx0, display.xx1), strict=True):
        assert grid.min() < x.min()
        assert grid.max() > x.max()
        assert np.ptp(grid) < 1.2 * np.ptp(x)


def test_regions_of_several_classes(iris, ax):
    X, y = iris
    display = BoundaryDisplay.from_estimator(SVC().fit(X, y), X, y, grid_resolution=20, ax=ax)
    assert_drawn(display, ax)
    assert set(np.unique(display.response)) <= {0, 1, 2}
    assert legend_of(ax) == ["setosa", "versicolor", "virginica"]
    assert points(ax, 2).tolist() == X[y == "virginica"].tolist()


@pytest.mark.parametrize("model", [RandomForestClassifier(3, random_state=0), GaussianNB()])
def test_the_boundary_of_probabilities_is_one_half(plane, model, ax):
    X, y = plane
    model.fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=15, ax=ax)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert display.response.ravel() == pytest.approx(model.predict_proba(grid)[:, 1] - 0.5)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_data_frame_names_the_axes(plane, plane_run, frame, ax):
    X, y = plane
    named = frame({"width": X[:, 0], "height": X[:, 1]})
    BoundaryDisplay.from_estimator(SVC().fit(named, y), named, y, grid_resolution=10, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    display = BoundaryDisplay.from_run(plane_run, named, y, grid_resolution=10, ax=ax.figure.add_subplot())
    assert display.names == ("width", "height")
    assert display.X.tolist() == X.tolist()


def test_a_model_that_never_decides_is_drawn(ax):
    X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), [-1, 1, -1]
    display = BoundaryDisplay(*np.meshgrid([0.0, 2.0], [0.0, 2.0]), np.zeros((2, 2)), np.array([-1, 1]), X, np.array(y))
    assert_drawn(display.plot(ax), ax)
