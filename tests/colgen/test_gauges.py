"""Sums of norms as atoms: multiple kernel learning and group lassos against cvxpy over all columns of the blocks."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, solve_to_the_end
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

from cvxens import ColumnGenerationClassifier
from cvxens.colgen import Ending, Formulation, column_generation, oracles
from cvxens.colgen.masters import BallMaster, HighsMaster
from cvxens.colgen.oracles.gauges import dual_norm
from cvxens.problems.losses import Hinge, Logistic
from cvxens.problems.penalties import L1
from cvxens.solvers.ball_dual import BallDual

KERNELS = (
    partial(rbf_kernel, gamma=0.1),
    partial(rbf_kernel, gamma=2.0),
    partial(laplacian_kernel, gamma=0.3),
    partial(polynomial_kernel, degree=2, gamma=0.5, coef0=1.0),
)


def sample(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def truth(blocks, y, loss, weight, norms, *, intercept=True):
    """min loss + weight sum_m norms_m(w_m) over all columns of the blocks, by cvxpy."""
    ws, b, z = [cp.Variable(B.shape[1]) for B in blocks], cp.Variable(), cp.Variable(len(y))
    on_z = loss.model(z)
    f = sum(B @ w for B, w in zip(blocks, ws, strict=True)) + (b if intercept else 0)
    total = weight * sum(norm(w) for norm, w in zip(norms, ws, strict=True))
    problem = cp.Problem(cp.Minimize(on_z.expression + total), [z == cp.multiply(y, f), *on_z.constraints])
    return solve_to_the_end(problem)


def factor(K):
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-9 * values.max()
    return vectors[:, kept] * np.sqrt(values[kept])


def stumps_by_feature(X):
    return [all_stumps(X[:, [j]])[:, :-1] for j in range(X.shape[1])]


@pytest.mark.thinned(1, intercept=[True, False])
@pytest.mark.parametrize(
    ("loss", "weight"), [(Hinge(1.0), 1.5), (Hinge(0.5), 0.3), (Logistic(1.0), 0.8), (Logistic(2.0), 0.5)], ids=str
)
@settings(max_examples=2)
@given(seed=st.integers(0, 10**6))
def test_multiple_kernel_learning_is_proven_at_the_optimum(seed, loss, weight, intercept):
    X, y = sample(seed)
    oracle = oracles.KernelBalls(KERNELS, X)
    run = column_generation(Formulation(loss, L1(weight), intercept=intercept), oracle, y, tol=1e-6)
    blocks = [factor(K) for K in oracle.matrices]
    norms = [lambda w, weight=weight: weight * cp.norm2(w) for weight in oracle.weights.tolist()]
    assert run.ending is Ending.OPTIMAL
    assert_optimum(run, truth(blocks, y, loss, weight, norms, intercept=intercept), rel=2e-6, gap=2e-6)
    H = np.column_stack([c.values for c in run.columns])
    np.testing.assert_allclose(run.decision_function(X), H @ run.weights + run.intercept, atol=1e-8)


@pytest.mark.parametrize(
    ("loss", "entries"),
    [(Hinge(1.0), 0.0), (Logistic(1.0), 0.0), (Logistic(1.0), 0.5)],
    ids=["hinge", "group", "sparse"],
)
@settings(max_examples=2)
@given(seed=st.integers(0, 10**6))
def test_group_lassos_over_all_stumps_are_proven_at_the_optimum(seed, loss, entries):
    X, y = sample(seed)
    weights = np.array([1.0, 2.0, 0.5])
    oracle = oracles.FeatureGroups(X, weights=weights, entries=entries)
    run = column_generation(Formulation(loss, L1(1.5), intercept=True), oracle, y, tol=1e-6)
    norms = [lambda w, weight=weight: weight * cp.norm2(w) + entries * cp.norm1(w) for weight in weights.tolist()]
    assert run.ending is Ending.OPTIMAL
    assert_optimum(run, truth(stumps_by_feature(X), y, loss, 1.5, norms), rel=2e-6, gap=2e-6)


@given(
    arrays(float, st.integers(1, 6), elements=st.floats(-2, 2, width=16)),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.sampled_from([0.0, 0.1, 1.0, 5.0]),
)
def test_the_dual_norm_is_the_largest_product_on_the_ball(edges, weight, entries):
    t = dual_norm(edges, weight, entries)
    soft = np.maximum(np.abs(edges) - t * entries, 0.0)
    assert np.linalg.norm(soft) <= t * weight
    if t > 0:
        # on the ball, so no bound below t is one
        combination = soft * np.sign(edges)
        gauge = weight * np.linalg.norm(combination) + entries * np.abs(combination).sum()
        assert t == pytest.approx(float(edges @ combination) / gauge if gauge else 0.0, rel=1e-9)


@given(seed=st.integers(0, 10**6), entries=st.sampled_from([0.0, 0.7]), outputs=st.integers(1, 2))
def test_atoms_are_in_their_balls_and_no_function_there_has_a_larger_edge(seed, entries, outputs):
    X, _ = sample(seed, n=12)
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(12, outputs))
    groups, balls = oracles.FeatureGroups(X, entries=entries), oracles.KernelBalls(KERNELS, X)
    for oracle in (groups, balls):
        priced = oracle.price(s)
        for column in priced.columns:
            np.testing.assert_allclose(column.values, column.hypothesis(X), atol=1e-9)
            assert column.edge == pytest.approx((column.values @ s).max(), abs=1e-9)
        assert priced.columns[0].edge <= priced.edge_bound <= priced.columns[0].edge * (1 + 1e-9)
    blocks = stumps_by_feature(X)
    for column in groups.price(s).columns:
        w = np.array(column.hypothesis.weights)
        assert np.linalg.norm(w) + entries * np.abs(w).sum() <= 1
        np.testing.assert_allclose(blocks[column.hypothesis.feature] @ w, column.values, atol=1e-12)
    for _ in range(20):
        w = rng.normal(size=blocks[0].shape[1]) * (rng.random(blocks[0].shape[1]) < 0.4)
        w /= np.linalg.norm(w) + entries * np.abs(w).sum() + 1e-300
        assert (s.T @ (blocks[0] @ w)).max() <= groups.price(s).edge_bound
        c, m = rng.normal(size=12), int(rng.integers(4))
        norm = balls.weights[m] * np.sqrt(c @ balls.matrices[m] @ c)
        assert (s.T @ (balls.matrices[m] @ c) / norm).max() <= balls.price(s).edge_bound


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_grams_are_the_squares_of_edges(seed):
    X, _ = sample(seed, n=15)
    s = np.random.default_rng(seed).normal(size=15)
    for oracle in (oracles.FeatureGroups(X, weights=[1.0, 2.0, 3.0]), oracles.KernelBalls(KERNELS, X)):
        found = sorted(np.sqrt(s @ G @ s) for G in oracle.grams)
        np.testing.assert_allclose(found, sorted(c.edge for c in oracle.price(s).columns))
    assert oracles.FeatureGroups(X, entries=1.0).grams is None


@pytest.mark.parametrize("balanced", [True, False])
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_the_dual_over_balls_is_solved_to_nine_digits(seed, balanced):
    X, y = sample(seed, n=20)
    grams, upper = oracles.KernelBalls(KERNELS, X).grams, np.random.default_rng(seed).uniform(0.2, 3.0, 20)
    for lower, targets in ((np.zeros(20), np.ones(20)), (-upper, X[:, 0])):
        u = BallDual(targets, lower, upper, y, balanced, grams, 0.7).solve()
        assert ((lower < u) & (u < upper)).all()
        assert max((y * u) @ G @ (y * u) for G in grams) < 0.7**2
        assert not balanced or abs(y @ u) < 1e-10
        v = cp.Variable(20)
        balls = [cp.norm2(factor(G).T @ cp.multiply(y, v)) <= 0.7 for G in grams]
        held = [y @ v == 0] if balanced else []
        best = cp.Problem(cp.Maximize(targets @ v), [v >= lower, v <= upper, *balls, *held])
        assert float(targets @ u) == pytest.approx(best.solve(cp.CLARABEL), rel=1e-7)


def test_a_hinge_over_balls_is_led_by_their_dual():
    X, y = sample(3)
    oracle, formulation = oracles.KernelBalls(KERNELS, X), Formulation(Hinge(1.0), L1(0.5), intercept=True)
    led = column_generation(formulation, oracle, y)
    assert led.ending is Ending.OPTIMAL
    assert len(led.history) <= 3
    plain = column_generation(formulation, oracle, y, master=HighsMaster, max_rounds=10)
    assert plain.certificate.gap > 10 * led.certificate.gap
    assert not BallMaster.supports(Formulation(Logistic(1.0), L1()))
    assert not BallMaster.supports(Formulation(Hinge(1.0), L1(), nonnegative=True))


def test_groups_say_how_much_features_matter():
    formulation = Formulation(Logistic(1.0), L1(1.0), intercept=True)
    model = ColumnGenerationClassifier(formulation, oracles.FeatureGroups).fit(*sample(3))
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_weights_of_zero_have_no_edge_over_balls():
    X, _ = sample(3)
    assert oracles.KernelBalls(KERNELS, X).price(np.zeros(30)).edge_bound == 0
    assert oracles.FeatureGroups(X).price(np.zeros(30)).edge_bound == 0
