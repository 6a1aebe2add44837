"""The displays take the fitted estimators of the package."""

import numpy as np
import pytest
from rendering import legend_of
from sklearn.model_selection import cross_validate

from cvxens.estimators import LPBoostClassifier
from cvxens.plotting import (
    BoundaryDisplay,
    ConvergenceDisplay,
    GapDisplay,
    MarginDisplay,
    PathDisplay,
    SelectionDisplay,
)


@pytest.fixture(scope="module")
def plane(sample):
    X, y = sample
    return X[:, :2], np.where(y > 0, "yes", "no")


@pytest.fixture(scope="module")
def model(plane):
    return LPBoostClassifier(nu=0.3, tol=1e-3).fit(*plane)


def test_sub_problems(ax, plane):
    X, _ = plane
    y = np.array(["low", "middle", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = LPBoostClassifier(tol=1e-2).fit(X, y)
    assert legend_of(GapDisplay.from_estimator(model, ax=ax).ax_) == ["low vs rest", "middle vs rest", "top vs rest"]
    named, axes = ["a: low vs rest", "a: middle vs rest", "a: top vs rest"], ax.figure.add_subplot()
    assert legend_of(ConvergenceDisplay.from_estimator(model, name="a", ax=axes).ax_) == named


def test_margins_and_boundary(model, plane, ax):
    margins = MarginDisplay.from_estimator(model, *plane, name="votes", ax=ax).margins["votes"]
    correct = model.predict(plane[0]) == plane[1]
    assert ((margins > 0) == correct)[margins != 0].all()
    axes = ax.figure.add_subplot()
    assert legend_of(BoundaryDisplay.from_estimator(model, *plane, grid_resolution=10, ax=axes).ax_) == ["no", "yes"]


def test_selection_over_folds(plane, ax):
    fitted = cross_validate(LPBoostClassifier(tol=1e-2), *plane, cv=2, return_estimator=True)["estimator"]
    assert SelectionDisplay.from_estimators(fitted, ax=ax).shares.max() == 1.0


def test_paths(plane, ax):
    models = {nu: LPBoostClassifier(nu=nu, tol=1e-2).fit(*plane) for nu in (0.2, 0.6)}
    display = PathDisplay.from_estimators(models, ax=ax)
    assert display.coefficients.sum(axis=1).tolist() == pytest.approx([m.weights_.sum() for m in models.values()])
