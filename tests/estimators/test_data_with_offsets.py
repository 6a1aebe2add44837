"""Kernel machines lose no digits to what y'u = 0 cancels: an offset of the data, a constant of the kernel."""

import numpy as np
import pytest
from estimator_samples import assert_optimal
from numpy.testing import assert_allclose, assert_array_equal

from cvxens import InfiniteEnsembleSVC, PriceSearchCV
from cvxens.estimators.machines import TrainingKernel
from cvxens.hypotheses import LinearForm
from cvxens.kernels import (
    DecisionStump,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Perceptron,
    SimplifiedStump,
    Stump,
    WeakLearner,
)
from cvxens.problems import SVMDual

RANDOM = np.random.default_rng(0)
X = RANDOM.integers(0, 40, (30, 2)) / 8
Y = np.where(X.sum(axis=1) + RANDOM.normal(size=30) > 4.5, 1, -1)
NEW = RANDOM.integers(0, 40, (20, 2)) / 8
OFFSETS = [0.0, 2.0**30, 2.0**45, 2.0**48]
"""X + offset is exact: eighths up to 2^49."""

FORMS = (LinearForm((0,), (1.0,)), LinearForm((1,), (2.0,)))
KERNELS = {
    "stump": lambda offset: "stump",
    "histogram-intersection": lambda offset: "histogram-intersection",
    "decision-stump": lambda offset: "decision-stump",
    "middle-stump": lambda offset: "middle-stump",
    "perceptron": lambda offset: "perceptron",
    "decision-tree": lambda offset: "decision-tree",
    "laplacian": lambda offset: Laplacian(0.1),
    "gaussian": lambda offset: Gaussian(0.1),
    "linear": lambda offset: Linear([[1.0, 0.5], [0.5, 2.0]]),
    "weak learners": lambda offset: WeakLearner(FORMS, [1.0, 0.5]),
    "ranges": lambda offset: Stump((0.0, 0.0), (offset + 8.0,) * 2),
    "histograms with an end": lambda offset: HistogramIntersection((offset + 8.0,) * 2),
    "a sum": lambda offset: 0.5 * HistogramIntersection() + Linear(np.eye(2)) + Gaussian(0.1),
    "stumps of ranges and more": lambda offset: Stump((0.0, 0.0), (offset + 8.0,) * 2) + Laplacian(0.1),
}
ADDITIVE = {"stump", "histogram-intersection", "decision-stump", "ranges", "histograms with an end"}


def fit(kernel, offset, solver="auto"):
    return InfiniteEnsembleSVC(kernel(offset), C=1.0, solver=solver, tol=1e-9).fit(X + offset, Y)


@pytest.mark.thinned(1, solver=["auto", "additive"], name=KERNELS)
def test_an_offset_of_all_values_changes_nothing(name, solver):
    if solver == "additive" and name not in ADDITIVE:
        solver = "reference"
    plain = fit(KERNELS[name], 0.0, solver)
    assert plain.certificate_.holds(1e-8)
    for offset in OFFSETS[1:]:
        model = fit(KERNELS[name], offset, solver)
        assert_optimal(model.certificate_, plain.certificate_.primal, tol=1e-8, rel=1e-8)
        scores = model.decision_function(NEW + offset)
        assert_allclose(scores, plain.decision_function(NEW), atol=1e-3)
        assert model.certify(X + offset, Y).primal == pytest.approx(-plain.certificate_.primal, rel=1e-6)


@pytest.mark.parametrize("gamma", [1e-6, 1e-13, 1e-18])
@pytest.mark.parametrize(("kernel", "power"), [(Laplacian, 1), (Gaussian, 2)])
def test_a_small_gamma_is_a_distance(kernel, power, gamma):
    """exp(-gamma d) is 1 - gamma d, and for the largest C the 1 is all that floats can say of it."""
    model = InfiniteEnsembleSVC(kernel(gamma), C=1 / gamma, tol=1e-8).fit(X, Y)
    distances = (np.abs(X[:, None] - X) ** power).sum(axis=2)
    peer = InfiniteEnsembleSVC("precomputed", C=1.0, tol=1e-8).fit(-distances, Y)
    assert model.certificate_.holds(1e-7)
    rel = 1e-3 if gamma > 1e-9 else 1e-6
    assert gamma * model.certificate_.primal == pytest.approx(peer.certificate_.primal, rel=rel)


@pytest.mark.parametrize("solver", ["blockwise", "reference", "additive"])
@pytest.mark.parametrize("kernel", ["stump", "histogram-intersection", "decision-stump"])
def test_scores_are_those_of_the_certified_machine_whoever_solved_it(kernel, solver):
    """An intercept that goes with another form of the kernel, by a term in one sample alone, moves all scores."""
    model = InfiniteEnsembleSVC(kernel, C=1.0, solver=solver, tol=1e-8).fit(X, Y)
    slack = np.maximum(1 - Y * model.decision_function(X), 0).sum()
    v = np.zeros(len(Y))
    v[model.support_] = model.dual_coef_
    half_norm = v @ TrainingKernel.from_sample(kernel, None, X).function(X, X) @ v / 2
    assert half_norm + slack == pytest.approx(-model.certificate_.dual, rel=1e-6)
    sums = sum(np.interp(x, *shape) for x, shape in zip(X.T, model.shape_functions_, strict=True))
    assert_allclose(model.intercept_ + sums, model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_a_form_differs_by_terms_in_one_sample_alone(name):
    kernel = TrainingKernel.from_sample(KERNELS[name](0.0), None, X)
    if name == "decision-tree" or isinstance(kernel.kernel, Perceptron):
        literal = kernel.kernel.with_ranges_of(X)
    else:
        literal = kernel.kernel
    difference = literal(X) - kernel.function(X, X)
    centred = difference - difference.mean(axis=0) - difference.mean(axis=1)[:, None] + difference.mean()
    assert_allclose(centred, 0, atol=1e-9 * np.abs(literal(X)).max())


def test_folds_share_a_kernel_that_differs_by_its_origin_alone():
    forms = [TrainingKernel.from_sample(Linear(np.eye(2)), None, part) for part in (X, X[:4])]
    assert not np.array_equal(forms[0].function.origin, forms[1].function.origin)
    linear = Linear(np.eye(2))
    assert TrainingKernel.from_sample(linear, None, X).equals(TrainingKernel.from_sample(linear, None, X[:4]))
    search = PriceSearchCV(InfiniteEnsembleSVC(linear), cv=3, prices=[0.1, 1.0]).fit(X + OFFSETS[-1], Y)
    plain = PriceSearchCV(InfiniteEnsembleSVC(linear), cv=3, prices=[0.1, 1.0]).fit(X, Y)
    assert_array_equal(search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


def test_the_histogram_kernel_itself_is_exact():
    """Sums of minima of integers whose norms are beyond what floats resolve beside a distance of 1."""
    Z = np.array([[2.0**53, 1.0], [2.0**53 - 1, 3.0], [1.0, 2.0]])
    minima = [[2.0**53, 2.0**53 - 1, 1], [2.0**53 - 1, 2.0**53 - 1, 1], [1, 1, 1]]
    assert_array_equal(HistogramIntersection()(Z[:, :1]), minima)
    K = HistogramIntersection()(np.array([[1.0, 0.0], [1.0, 2.0**-60]]))
    assert K[0, 1] == 1.0


def test_decision_stumps_keep_the_digits_of_an_offset():
    K = DecisionStump()(X + OFFSETS[-1])
    assert_allclose(K, DecisionStump()(X), atol=1e-14)


def test_simplified_stumps_with_scales():
    K = SimplifiedStump([1.0, 0.5])(X)
    assert_allclose(K, -(np.abs(X[:, None] - X) * [1.0, 0.5]).sum(axis=2))
    assert SimplifiedStump([1.0, 0.5]) == SimplifiedStump(np.array([1.0, 0.5])) != SimplifiedStump()
    machine = InfiniteEnsembleSVC(SimplifiedStump([1.0, 0.5]), C=1.0, tol=1e-8).fit(X, Y)
    scaled = InfiniteEnsembleSVC("stump", C=1.0, tol=1e-8).fit(X * [1.0, 0.5], Y)
    assert machine.certificate_.primal == pytest.approx(scaled.certificate_.primal, rel=1e-7)
    dual = SVMDual(K, np.where(Y > 0, 1.0, -1.0), 1.0)
    assert dual.certify(u=machine.dual_weights_, b=machine.intercept_).holds(1e-6)
    for scale in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="scale"):
            SimplifiedStump(scale)(X)
