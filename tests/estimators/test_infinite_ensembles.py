"""InfiniteEnsembleSVC against scikit-learn's SVC, cvxpy, and the expansions that its attributes stand for."""

import numpy as np
import pytest
from estimator_samples import three_classes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC

from cvxens import InfiniteEnsembleSVC, RhoSVC, kernels
from cvxens.datasets import make_threenorm
from cvxens.errors import InvalidInput
from cvxens.estimators import infinite_ensembles
from cvxens.estimators.base import REMEDIES
from cvxens.problems import SVMDual
from cvxens.solvers import Ending

X, Y = make_threenorm(150, 4, random_state=0)
NEW, _ = make_threenorm(100, 4, random_state=1)
NEW = 2 * NEW
SOLVERS = ["auto", "additive", "blockwise", "reference"]


def linear(X, Z):
    return X @ Z.T


def fit(kernel="stump", **parameters):
    return InfiniteEnsembleSVC(kernel, **{"C": 0.3, "tol": 1e-7, **parameters}).fit(X, Y)


WIDE = {"low": (-9.0,) * 4, "high": (9.0,) * 4}
KERNELS = {
    "stump": kernels.Stump(),
    "middle-stump": kernels.MiddleStump(X),
    "decision-stump": kernels.DecisionStump(X.min(axis=0), X.max(axis=0)),
    "perceptron": kernels.Perceptron(),
    "decision-tree": kernels.DecisionTree(1 / (2 * kernels.Stump().total_mass(X))).with_ranges_of(X),
    "laplacian": kernels.Laplacian(1 / (4 * X.std())),
    "gaussian": kernels.Gaussian(1 / (4 * X.var())),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_name_is_its_kernel_and_the_optimum_that_of_libsvm(name):
    model, K = fit(name), KERNELS[name](X)
    peer = SVC(C=0.3, kernel="precomputed", tol=1e-9).fit(K, Y)
    v = np.zeros(len(Y))
    v[peer.support_] = peer.dual_coef_[0]
    assert model.certificate_.primal == pytest.approx(v @ K @ v / 2 - np.abs(v).sum(), rel=1e-6)
    assert_allclose(model.decision_function(X), peer.decision_function(K), atol=2e-3)
    assert SVMDual(K, Y, 0.3).certify(u=model.dual_weights_).holds(1e-6)
    if name in {"stump", "perceptron", "laplacian", "gaussian"}:
        # also outside of the sample, as a constant that both read off is nothing to coefficients with the sum 0
        scores = peer.decision_function(KERNELS[name](NEW, X))
        sure = np.abs(scores) > 1e-2
        assert_array_equal(model.predict(NEW)[sure], np.where(scores > 0, 1.0, -1.0)[sure])


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree(solver):
    model, reference = fit(solver=solver), fit()
    assert model.solver_ == ("blockwise" if solver == "auto" else solver)
    assert model.certificate_.holds(1e-7)
    assert_allclose(model.decision_function(NEW), reference.decision_function(NEW), atol=2e-3)


@pytest.mark.parametrize("kernel", ["stump", "perceptron", kernels.Stump(**WIDE) + 0.5 * kernels.Gaussian(0.1), linear])
def test_scores_are_the_expansion_in_the_kernel(kernel):
    model = fit(kernel)
    function = KERNELS[kernel] if isinstance(kernel, str) else kernel
    expansion = function(NEW / 3, model.support_vectors_) @ model.dual_coef_
    scores = model.decision_function(NEW / 3)
    assert_allclose(np.diff(scores), np.diff(expansion), atol=1e-8)
    assert_allclose(model.support_vectors_, X[model.support_])
    assert_allclose(model.dual_weights_[model.support_] * np.where(Y > 0, 1, -1)[model.support_], model.dual_coef_)
    assert model.dual_weights_.sum() == pytest.approx(np.abs(model.dual_coef_).sum())


@pytest.mark.parametrize(
    "kernel",
    [kernels.Stump(**WIDE), kernels.SimplifiedStump(), 2.0 * (kernels.Stump() + kernels.SimplifiedStump())],
    ids=str,
)
def test_additive_kernels_give_one_machine(kernel):
    factor = 4.0 if "+" in repr(kernel) else 1.0
    model, plain = fit(kernel, C=0.3 / factor, solver="additive"), fit()
    assert_allclose(model.decision_function(NEW / 3), plain.decision_function(NEW / 3), atol=2e-3)


def test_histograms():
    histograms = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    half = InfiniteEnsembleSVC("histogram-intersection", C=2.0, tol=1e-8).fit(histograms, Y)
    whole = InfiniteEnsembleSVC("stump", C=1.0, tol=1e-8).fit(histograms, Y)
    assert_allclose(half.decision_function(histograms), whole.decision_function(histograms), atol=1e-3)
    with pytest.raises(InvalidInput, match="range"):
        half.predict(-histograms)


def test_what_an_additive_machine_is_made_of():
    model = fit()
    scores = model.decision_function(NEW)
    sums = sum(np.interp(x, *shape) for x, shape in zip(NEW.T, model.shape_functions_, strict=True))
    assert_allclose(model.intercept_ + sums, scores, atol=1e-9)
    assert_allclose(model.cells_(NEW), scores, atol=1e-9)
    drawn = [model.cells_.sample(2000, seed)(NEW) for seed in range(5)]
    assert np.abs(np.mean(drawn, axis=0) - scores).mean() < np.abs(scores - model.intercept_).mean() / 5
    assert_array_equal(drawn[0], model.cells_.sample(2000, 0)(NEW))


@pytest.mark.parametrize("view", ["shape_functions_", "cells_"])
def test_other_machines_are_not_additive(view):
    assert not hasattr(fit("perceptron"), view)
    with pytest.raises(AttributeError, match="additive"):
        getattr(fit("perceptron"), view)


def test_class_weights_are_sample_weights():
    by_class = fit(class_weight={-1: 2.0, 1: 0.5})
    by_sample = InfiniteEnsembleSVC("stump", C=0.3, tol=1e-7).fit(X, Y, sample_weight=np.where(Y > 0, 0.5, 2.0))
    peer = SVC(C=0.3, kernel=kernels.Stump(), class_weight={-1: 2.0, 1: 0.5}, tol=1e-9).fit(X, Y)
    assert_allclose(by_class.decision_function(X), by_sample.decision_function(X), atol=2e-3)
    assert_allclose(by_class.decision_function(X), peer.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("kernel", ["stump", "perceptron", "precomputed"])
def test_several_classes_are_decomposed_as_scikit_learn_does(kernel):
    sample, y = three_classes()
    given = -np.abs(sample[:, None] - sample).sum(axis=2) if kernel == "precomputed" else sample
    binary = InfiniteEnsembleSVC(kernel, C=1.0, tol=1e-8)
    model = clone(binary).fit(given, y)
    other = OneVsRestClassifier(clone(binary)).fit(given, y)
    assert_allclose(model.decision_function(given), other.decision_function(given), atol=2e-3)
    assert_array_equal(model.predict(given), other.predict(given))
    assert len(model.dual_coef_) == len(model.support_) == len(model.certificate_) == 3
    pairs = OneVsOneClassifier(clone(binary)).fit(given, y)
    assert pairs.score(given, y) > 0.75
    assert all(part.certificate_.holds(1e-8) for part in pairs.estimators_)


def test_the_expansions_of_several_classes():
    sample, y = three_classes()
    model = InfiniteEnsembleSVC("gaussian", C=1.0).fit(sample, y)
    for part, (estimator, u) in enumerate(zip(model.estimators_, model.dual_weights_, strict=True)):
        vectors, coefficients = model.support_vectors_[part], model.dual_coef_[part]
        signs = np.where(y == part, 1.0, -1.0)
        assert_allclose(coefficients, (signs * u)[model.support_[part]])
        scores = model.kernel_[part](sample, vectors) @ coefficients
        assert_allclose(scores + model.intercept_[part], estimator.decision_function(sample), atol=1e-8)
    stumps = InfiniteEnsembleSVC().fit(sample, y)
    assert len(stumps.shape_functions_) == len(stumps.cells_) == 3


def test_a_given_matrix_is_its_kernel():
    K = KERNELS["perceptron"](X)
    given, made = InfiniteEnsembleSVC("precomputed", C=0.3, tol=1e-7).fit(K, Y), fit("perceptron")
    assert_allclose(given.decision_function(K), made.decision_function(X), atol=2e-3)
    new = kernels.Perceptron()(NEW, X)
    assert_array_equal(given.predict(new), np.sign(given.decision_function(new)))
    scores = cross_val_score(InfiniteEnsembleSVC("precomputed", C=0.3), K, Y)
    assert_allclose(scores, cross_val_score(InfiniteEnsembleSVC("perceptron", C=0.3), X, Y), atol=0.05)


@pytest.mark.parametrize(
    "model",
    [
        *map(
            InfiniteEnsembleSVC,
            (
                kernels.Stump(**WIDE),
                kernels.Perceptron(radius=30.0),
                kernels.StumpRegion(2, **WIDE),
                kernels.DecisionTree(0.01, **WIDE),
            ),
        ),
        *map(
            InfiniteEnsembleSVC,
            (kernels.HistogramIntersection((9.0,) * 4), kernels.Stump(**WIDE) + kernels.Laplacian(0.1)),
        ),
        RhoSVC(kernels.Perceptron(radius=30.0)),
    ],
)
def test_ranges_that_are_given_are_kept_to(model):
    sample = np.abs(X)
    model = clone(model).fit(sample, Y)
    assert np.isfinite(model.decision_function(sample)).all()
    with pytest.raises(InvalidInput, match=r"range|radius"):
        model.predict(100 * np.abs(NEW))


def test_large_samples_are_additive_or_by_blocks(monkeypatch):
    monkeypatch.setattr(infinite_ensembles, "SMALL", 100)
    assert [fit(kernel).solver_ for kernel in ("stump", "perceptron")] == ["additive", "blockwise"]
    assert fit("perceptron", max_time=60.0).solver_ == "blockwise"
    monkeypatch.setattr(infinite_ensembles, "available_memory", lambda: 100_000)
    assert [fit(kernel).solver_ for kernel in ("stump", "perceptron")] == ["additive", "blockwise"]
    cached = fit("perceptron", cache_size=0.05)
    monkeypatch.undo()
    assert_allclose(cached.decision_function(NEW), fit("perceptron").decision_function(NEW), atol=2e-3)


def test_a_matrix_without_room(monkeypatch):
    monkeypatch.setattr("cvxens.limits.available_memory", lambda: 100_000)
    monkeypatch.setattr("cvxens.limits.SMALL_ALLOCATION", 0)
    with pytest.raises(InvalidInput, match=r"150 samples.*GiB.*blockwise"):
        fit("perceptron", solver="reference")


def test_every_ending_short_of_the_optimum_has_a_remedy():
    """But for the steps of the additive solver, which no parameter of the estimator limits."""
    fine = {Ending.OPTIMAL, Ending.EXHAUSTED, Ending.STALLED, Ending.STOPPED, Ending.SMALL_EDGES}
    assert {*Ending} - {*REMEDIES} == fine | {Ending.MAX_STEPS}
