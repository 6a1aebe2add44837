"""The additive solver against LIBSVM and the reference problem, on random and on degenerate samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.datasets import make_threenorm
from cvxens.problems import SVMDual
from cvxens.solvers import Ending, additive, solve_svm_dual, solve_svm_path
from cvxens.solvers.additive import AdditiveKernel, AdditiveSVM, solve_additive_svm

X, Y = make_threenorm(300, 5, random_state=0)
PROBLEM = AdditiveSVM.of(X, Y, 0.1)


def test_histogram_intersection_is_the_stump_kernel_of_half_the_scale():
    sample = np.abs(X[:80])
    K = np.minimum(sample[:, None], sample[None]).sum(axis=2)
    reference = solve_svm_dual(SVMDual(K, Y[:80], 0.3))
    solution = solve_additive_svm(AdditiveSVM.of(sample, Y[:80], 0.3, np.full(5, 0.5)), 1e-9)
    assert solution.objective == pytest.approx(reference.objective, rel=1e-7)


def test_separable_classes_are_certified_whatever_C_makes_of_rounding():
    sample = X[:30] + 1e3
    problem = AdditiveSVM.of(sample, np.sign(X[:30, 0]), 1e10)
    certificate = problem.certify(solve_additive_svm(problem, 1e-8))
    assert certificate.relative_gap <= 1e-8
    softer = solve_additive_svm(problem.priced(1e3), 1e-8)
    assert certificate.dual <= softer.objective * (1 - 1e-8)
    assert certificate.primal == pytest.approx(softer.objective, rel=1e-6)


@pytest.mark.parametrize("scale", [0.0, 5e-324])
def test_samples_that_the_kernel_does_not_tell_apart(scale):
    kernel = AdditiveKernel.of([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [scale, 1.0])
    solution = solve_additive_svm(AdditiveSVM.of(kernel, [1.0, -1.0, 1.0], C=0.5), 1e-9)
    assert solution.ending is Ending.OPTIMAL
    assert solution.objective == pytest.approx(-1.0)
    assert solution.b == 1.0


def test_conjugate_gradients_reach_the_same_optimum(monkeypatch):
    direct = solve_additive_svm(PROBLEM, 1e-8)
    monkeypatch.setattr(additive, "DENSE", 0)
    iterative = solve_additive_svm(PROBLEM, 1e-8)
    assert iterative.ending is Ending.OPTIMAL
    assert iterative.objective == pytest.approx(direct.objective, rel=1e-7)


STARTS = [np.zeros(300), np.full(300, 5.0), np.random.default_rng(0).uniform(0, 0.1, 300)]


@pytest.mark.parametrize("options", [*({"start": start} for start in STARTS), {"sample_size": 50}])
def test_any_start_reaches_the_same_optimum(options):
    cold, warm = solve_additive_svm(PROBLEM, 1e-8), solve_additive_svm(PROBLEM, 1e-8, **options)
    assert warm.ending is Ending.OPTIMAL
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)


def test_a_solution_is_a_start_that_needs_no_step():
    cold = solve_additive_svm(PROBLEM, 1e-6)
    assert solve_additive_svm(PROBLEM, 1e-6, start=cold).history[-1].steps == 0


@pytest.mark.parametrize("options", [{}, {"sample_size": 50}])
def test_an_interrupt_returns_a_certified_point(monkeypatch, options):
    calls, newton_step = [], additive.newton_step

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return newton_step(*arguments)

    monkeypatch.setattr(additive, "newton_step", interrupted)
    solution = solve_additive_svm(PROBLEM, 1e-12, **options)
    assert solution.ending is Ending.INTERRUPTED
    assert PROBLEM.certify(solution).relative_gap == pytest.approx(solution.relative_gap, rel=1e-6)


def test_an_interrupt_before_the_first_point_is_passed_on(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(AdditiveSVM, "solution_at", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve_additive_svm(PROBLEM)


def test_an_interrupted_path_ends(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(additive, "newton_step", interrupted)
    assert len(solve_svm_path(solve_additive_svm, PROBLEM, [0.1, 1.0])) == 1


def test_history_is_of_certified_points():
    solution = solve_additive_svm(PROBLEM, 1e-8)
    best = min(solution.history, key=lambda level: level.relative_gap)
    assert best.objective == solution.objective
    assert best.size == solution.n_support
    assert max(level.bound for level in solution.history) <= min(level.objective for level in solution.history)


@pytest.mark.parametrize(
    ("n_samples", "n_features", "stiffness"), [(400, 3, 0.1), (300, 20, 10.0), (50, 170, 1.0), (3, 1, 1.0)]
)
def test_systems_are_solved_with_and_without_a_coarse_model(n_samples, n_features, stiffness, monkeypatch):
    """Conjugate gradients find what Cholesky does, in fewer products where a feature has steps enough."""
    rng = np.random.default_rng(n_samples)
    kernel = AdditiveKernel.of(rng.normal(size=(n_samples, n_features)), rng.uniform(0.5, 2, n_features))
    right, diagonal = rng.normal(size=n_samples), stiffness * rng.uniform(0.5, 2, n_samples)
    x, b = additive.solve_by_cholesky(kernel, diagonal, right)
    monkeypatch.setattr(additive, "LINEAR_ACCURACY", 1e-8)
    products = []
    real = AdditiveKernel.product
    monkeypatch.setattr(AdditiveKernel, "product", lambda *given: products.append(1) or real(*given))
    counts = []
    for rank in (320, 0):
        monkeypatch.setattr(additive, "RANK", rank)
        found, intercept = additive.solve_by_conjugate_gradients(kernel, diagonal, right)
        assert_allclose(found, x, atol=1e-5 * np.abs(x).max())
        assert intercept == pytest.approx(b, abs=1e-5 * np.abs(right).max())
        assert abs(found.sum()) <= 1e-10 * np.abs(found).sum()
        counts.append(len(products) - sum(counts))
    assert counts[0] <= counts[1] * (0.5 if n_samples == 400 else 1)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 6))
def test_a_coarse_model_is_symmetric_and_definite_where_weights_add_up_to_0(seed, n_samples, n_features):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n_samples, n_features)).astype(float)
    X[0] = 10.0
    model = additive.CoarseModel(AdditiveKernel.of(X), rng.uniform(0.1, 9, n_samples))
    a, c = rng.normal(size=(2, n_samples))
    a, c = a - a.mean(), c - c.mean()
    assert abs(model(a).sum()) <= 1e-9 * np.abs(model(a)).sum()
    assert c @ model(a) == pytest.approx(a @ model(c), rel=1e-6, abs=1e-9)
    assert a @ model(a) > 0


def test_steps_that_rounding_keeps_short_come_to_an_end():
    """One value of 1e19 beside some between 0 and 1: a hundred points close a billionth of the gap."""
    sample, y = np.append(np.linspace(0, 1, 9), 1e19)[:, np.newaxis], np.where(np.arange(10) % 2, 1.0, -1.0)
    solution = solve_additive_svm(AdditiveSVM.of(sample, y, 1.0), max_steps=10_000)
    assert solution.ending is Ending.ROUNDING
