"""The additive model and its stumps against the kernel expansion, inside and outside the range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from cvxens.datasets import make_threenorm
from cvxens.kernels import Stump
from cvxens.problems import InfiniteSVM
from cvxens.solvers import solve_svm_primal
from cvxens.solvers.additive import AdditiveModel, AdditiveSVM, solve_additive_svm

X, Y = make_threenorm(120, 4, random_state=0)
SOLUTION = solve_additive_svm(AdditiveSVM.of(X, Y, 0.2), 1e-10)
MODEL = AdditiveModel.of(SOLUTION)


def expansion(solution, sample, scale, Z):
    return -cdist(Z * scale, sample * scale, "cityblock") @ (solution.problem.y * solution.u) + solution.b


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 4), st.integers(0, 2), st.floats(1e-3, 1e3))
def test_the_model_is_the_kernel_expansion(seed, n_samples, n_features, decimals, C):
    rng = np.random.default_rng(seed)
    sample, y = make_threenorm(n_samples, n_features, random_state=seed)
    sample = np.round(sample, decimals)
    sample[0, 0] = sample[:, 0].max() + 1
    scale = rng.uniform(0.1, 2, n_features)
    solution = solve_additive_svm(AdditiveSVM.of(sample, y, C, scale), 1e-3, max_steps=20)
    Z = np.concatenate([sample, 5 * rng.normal(size=(50, n_features)), [[1e6] * n_features, [-1e6] * n_features]])
    size = 1 + np.abs(solution.f).max() + solution.u.sum()
    assert_allclose(AdditiveModel.of(solution)(Z), expansion(solution, sample, scale, Z), atol=1e-8 * size)


def test_many_samples_are_evaluated_in_threads():
    Z = np.random.default_rng(0).normal(size=(20_000, 4))
    assert_allclose(MODEL(Z), expansion(SOLUTION, X, 1.0, Z), atol=1e-10)


def test_heavy_tails_are_exact():
    sample = np.exp(4 * X)
    solution = solve_additive_svm(AdditiveSVM.of(sample, Y, 1e-6), 1e-6)
    scores = expansion(solution, sample, 1.0, sample)
    assert_allclose(AdditiveModel.of(solution)(sample), scores, atol=1e-9 * np.abs(scores).max())


def test_shape_functions_are_interpolated():
    total = sum(np.interp(X[:, d], *function) for d, function in enumerate(MODEL.shape_functions))
    assert_allclose(total + SOLUTION.b, MODEL(X), atol=1e-12)
    assert_allclose(total, SOLUTION.f, atol=1e-10)


def test_no_support_vector_is_a_constant():
    solution = solve_additive_svm(AdditiveSVM.of(X, Y, 1.0), max_time=1e-9)
    assert solution.n_support == 0
    assert_allclose(AdditiveModel.of(solution)(X), solution.b)


def test_cells_are_the_averaged_stumps_of_theorem_8():
    cells = MODEL.cells
    Z = 3 * np.random.default_rng(1).normal(size=(200, 4))
    assert_allclose(cells(Z), MODEL(Z), atol=1e-11)
    finite = solve_svm_primal(InfiniteSVM(Stump().cells(X), Y, 0.2))
    norm = (2 * cells.weights**2 / (cells.high - cells.low)).sum()
    assert norm == pytest.approx(finite.variables["w"] @ finite.variables["w"], rel=1e-5)


def test_ensembles_tend_to_the_classifier():
    errors = [np.abs(MODEL.cells.sample(k, random_state=0)(X) - MODEL(X)).mean() for k in (100, 4_000, 60_000)]
    assert errors[0] > 5 * errors[1] > 10 * errors[2]
    assert errors[2] < 0.02


def test_an_ensemble_is_the_sum_of_its_stumps():
    ensemble = MODEL.cells.sample(25, random_state=1)
    votes = np.where(X[:, ensemble.features] >= ensemble.low, ensemble.weights, -ensemble.weights)
    assert_allclose(ensemble(X), ensemble.intercept + votes.sum(axis=1), atol=1e-12)
    assert (MODEL.cells.sample(25, random_state=1).low == ensemble.low).all()
