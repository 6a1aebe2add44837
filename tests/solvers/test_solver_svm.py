"""Answers against cvxpy's, against the closed form of two samples, and P1, P2 and P5 against each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.datasets import make_threenorm, make_twonorm
from cvxens.errors import SolverFallbackWarning
from cvxens.kernels import Perceptron, SimplifiedStump, Stump
from cvxens.problems import DenseColumns, InfiniteSVM, StumpColumns, SVMDual, SVMPrimal
from cvxens.solvers import solve_svm_dual, solve_svm_primal

X, Y = make_twonorm(40, 3, random_state=0)

KERNELS = {
    "stump": Stump()(X),
    "simplified stump": SimplifiedStump()(X),
    "perceptron": Perceptron()(X),
    "linear": X @ X.T,
    "shifted below PSD": Stump()(X) - 10,
    "rank one": np.outer(X[:, 0], X[:, 0]),
}


@pytest.mark.parametrize("C", [1e-3, 0.1, 3.0, 300.0])
@pytest.mark.parametrize("name", KERNELS)
def test_dual_equals_the_reference(name, C):
    problem = SVMDual(KERNELS[name], Y, C)
    fast = solve_svm_dual(problem)
    assert fast.objective == pytest.approx(problem.solve().objective, rel=1e-6)
    assert problem.certify(fast).holds(1e-11)


@pytest.mark.parametrize("C", [1e-2, 1.0])
@pytest.mark.parametrize(
    "H",
    [DenseColumns(X), StumpColumns(X), StumpColumns(X, constant=False)],
    ids=["dense", "stumps", "stumps without the constant"],
)
def test_primal_equals_the_reference(H, C):
    problem = SVMPrimal(H, Y, C / H.shape[1])
    fast = solve_svm_primal(problem)
    assert fast.objective == pytest.approx(problem.solve().objective, rel=1e-6)
    assert problem.certify(fast).holds(1e-11)
    assert_allclose(fast.variables["w"], H.edges(Y * fast.duals["u"]), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scaling_the_kernel_is_scaling_C(scale):
    unscaled = solve_svm_dual(SVMDual(Stump()(X), Y, 0.5))
    problem = SVMDual(scale * Stump()(X), Y, 0.5 / scale)
    scaled = solve_svm_dual(problem)
    assert scale * scaled.objective == pytest.approx(unscaled.objective, rel=1e-9)
    assert problem.certify(scaled).holds(1e-11)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(4, 25), st.integers(1, 4), st.sampled_from([0.01, 0.3, 2.0]))
def test_dual_primal_and_infinite_agree(seed, n_samples, n_features, C):
    X, y = make_threenorm(n_samples, n_features, random_state=seed)
    X = np.round(X, 1)
    K = Stump()(X)
    dual = solve_svm_dual(SVMDual(K, y, C))
    cells = Stump().cells(X)
    infinite = solve_svm_primal(InfiniteSVM(cells, y, C))
    primal = solve_svm_primal(SVMPrimal(cells.scores(np.eye(cells.shape[1])), y, C))
    assert -dual.objective == pytest.approx(infinite.objective, rel=1e-9)
    assert -dual.objective == pytest.approx(primal.objective, rel=1e-9)
    scores = K @ (y * dual.variables["u"]) + dual.duals["b"]
    from_cells = cells.scores(infinite.variables["w"]) + infinite.variables["b"]
    on_the_margin = (dual.variables["u"] > 1e-6 * C) & (dual.variables["u"] < (1 - 1e-6) * C)
    assert_allclose((scores - from_cells)[on_the_margin], 0, atol=1e-7)


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-1, 1), st.floats(1e-3, 1e3))
def test_two_samples_in_closed_form(a, b, correlation, C):
    across = correlation * np.sqrt(a * b)
    distance = a + b - 2 * across
    u = min(C, 2 / distance) if distance > 0 else C
    solution = solve_svm_dual(SVMDual([[a, across], [across, b]], [1.0, -1.0], C))
    assert solution.objective == pytest.approx(distance * u * u / 2 - 2 * u, rel=1e-9)
    assert_allclose(solution.variables["u"], [u, u], rtol=1e-7)


@pytest.mark.parametrize("K", [np.zeros((40, 40)), np.ones((40, 40))], ids=["zero", "constant"])
def test_a_kernel_that_tells_nothing_costs_C_for_two_of_each_pair(K):
    problem = SVMDual(K, Y, C=2.0)
    solution = solve_svm_dual(problem)
    assert -solution.objective == pytest.approx(2 * 2.0 * min((Y > 0).sum(), (Y < 0).sum()))
    assert problem.certify(solution).holds(1e-9)


def test_one_sample_of_a_class():
    y = np.where(np.arange(40) == 7, 1.0, -1.0)
    problem = SVMDual(Stump()(X), y, C=1.0)
    fast = solve_svm_dual(problem)
    assert fast.objective == pytest.approx(problem.solve().objective, rel=1e-6)
    assert problem.certify(fast).holds(1e-11)


def overlapping(n_samples):
    X = 100 * np.random.default_rng(0).normal(size=(n_samples, 2))
    return X @ X.T, np.where(np.arange(n_samples) % 2, 1.0, -1.0)


def test_held_up_far_from_the_optimum_leaves_it_to_the_reference():
    problem = SVMDual(*overlapping(6), 1e5)
    with pytest.warns(SolverFallbackWarning, match=r"blocks.*relative gap .* from CLARABEL"):
        solution = solve_svm_dual(problem)
    assert [attempt.solver for attempt in solution.attempts] == ["blocks of variables", "CLARABEL"]
    assert problem.certify(solution).holds(1e-6)
