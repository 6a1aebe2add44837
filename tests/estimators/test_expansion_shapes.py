"""The functions of single features that expansions over stump kernels are the sums of."""

import numpy as np
import pytest
from estimator_samples import FEW, three_classes, two_classes
from sklearn.base import clone

from cvxens import InfiniteEnsembleSVC, InfiniteEnsembleSVR, PartialSVMEnsembleClassifier, RegAdaBoostClassifier, RhoSVC
from cvxens.kernels import MiddleStump, Stump

pytestmark = FEW

X, Y = two_classes()
NEW = 2 * two_classes(50, random_state=7)[0] + 0.013
EVERY = [RhoSVC(), PartialSVMEnsembleClassifier(), RegAdaBoostClassifier()]


@pytest.mark.product(estimator=EVERY, kernel=["middle-stump", "stump", "decision-stump"])
def test_shape_functions_sum_to_the_scores(estimator, kernel):
    """Also beyond the training sample, where they are constant."""
    model = clone(estimator).set_params(kernel=kernel).fit(X, Y)
    sums = sum(np.interp(x, *shape) for x, shape in zip(NEW.T, model.shape_functions_, strict=True))
    np.testing.assert_allclose(sums, model.decision_function(NEW), atol=1e-9 * np.abs(sums).max())
    assert all((np.diff(knots) >= 0).all() for knots, _ in model.shape_functions_)


def test_histogram_intersection_has_shape_functions_too():
    Z = X - X.min(axis=0)
    model = RhoSVC("histogram-intersection").fit(Z, Y)
    inside = np.abs(NEW)
    sums = sum(np.interp(x, *shape) for x, shape in zip(inside.T, model.shape_functions_, strict=True))
    np.testing.assert_allclose(sums, model.decision_function(inside))


def test_importances_are_shares_of_the_weights_of_stumps():
    """Brute force: every middle stump has the weight sum_j c_j h(x_j)."""
    flat = np.column_stack([X, np.ones(len(X))])
    model = RegAdaBoostClassifier(max_rank=9).fit(flat, Y)
    stumps = MiddleStump(flat).columns()
    above = model.support_vectors_[:, stumps.features] >= stumps.thresholds
    weights = np.abs(model.dual_coef_ @ np.where(above, 1.0, -1.0))
    expected = np.bincount(stumps.features, weights, minlength=4)
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())
    assert model.feature_importances_[3] == 0


def test_sub_problems_have_their_own():
    model = RhoSVC().fit(*three_classes())
    assert [len(shapes) for shapes in model.shape_functions_] == [2, 2, 2]
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_importances_of_infinite_ensembles_are_those_of_their_cells():
    model = InfiniteEnsembleSVC(C=0.1).fit(X, Y)
    cells = model.cells_
    expected = np.bincount(cells.features, np.abs(cells.weights), minlength=3)
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())
    several = InfiniteEnsembleSVC(C=0.1).fit(*three_classes())
    parts = [part.feature_importances_ for part in several.estimators_]
    np.testing.assert_allclose(several.feature_importances_, np.mean(parts, axis=0))
    regression = InfiniteEnsembleSVR().fit(np.column_stack([X, np.ones(len(X))]), X[:, 0])
    assert regression.feature_importances_[0] > 0.5 > regression.feature_importances_[3] == 0
    assert not hasattr(InfiniteEnsembleSVC("gaussian").fit(X, Y), "feature_importances_")


@pytest.mark.parametrize("kernel", ["gaussian", "perceptron", Stump((-9.0,) * 3, (9.0,) * 3), lambda A, B: A @ B.T])
def test_other_kernels_have_none(kernel):
    model = RhoSVC(kernel).fit(X, Y)
    assert not hasattr(model, "shape_functions_")
    assert not hasattr(model, "feature_importances_")
