"""Simplex least squares with a price per sample: a weight of k is the sample k times, a weight of 0 none of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from cvxens import CGEnsSLSClassifier
from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import Stumps
from cvxens.problems import SLSSVM, StumpColumns, simplex_codes
from cvxens.problems.losses import SquaredError
from cvxens.solvers import solve_slssvm
from cvxens.solvers.least_squares import ByColumns, BySamples

N = 14
LABELS = np.arange(N) % 3
L = simplex_codes(3)[LABELS]
ONES = np.ones((N, 1))
X = np.random.default_rng(0).normal(size=(N, 2)).round(1)
counts = st.lists(st.integers(0, 3), min_size=N - 3, max_size=N - 3).map(lambda some: np.array([1, 2, 1, *some]))
scores = arrays(float, L.shape, elements=st.floats(-3, 3))


@given(counts, scores, scores)
def test_the_loss_is_that_of_repeated_samples(times, z, u):
    weighted, repeated = SquaredError(0.3 * times, L), SquaredError(0.3, L.repeat(times, axis=0))
    again = z.repeat(times, axis=0)
    assert weighted.value(z) == pytest.approx(repeated.value(again), rel=1e-12, abs=1e-12)
    wanted = repeated.best_intercept(again, np.ones((len(again), 1)))
    assert_allclose(weighted.best_intercept(z, ONES), wanted, atol=1e-12)
    u = weighted.repair(u, ONES)
    shared = (u / np.maximum(times, 1)[:, None]).repeat(times, axis=0)
    assert weighted.violation(u) == 0
    assert_allclose(u.sum(axis=0), 0, atol=1e-12)
    assert weighted.dual_value(u) == pytest.approx(repeated.dual_value(shared), rel=1e-9, abs=1e-9)
    assert weighted.dual_value(u) <= weighted.value(z) + (u * z).sum() + 1e-9
    best = weighted.multipliers(z)
    assert weighted.slackness(z, best) == 0
    assert weighted.dual_value(best) == pytest.approx(weighted.value(z) + (best * z).sum(), abs=1e-9)


def test_multipliers_at_a_price_of_0_are_infeasible_unless_0():
    loss = SquaredError(np.array([0.0, 0.5, 2.0]), L[:3])
    u = np.array([[0.0, 3.0], [1.0, 1.0], [1.0, -2.0]])
    assert loss.violation(u) == 1.5
    assert_allclose(loss.repair(u, None), [[0, 0], [1, 1], [1, -2]])


@settings(max_examples=8)
@given(counts, st.sampled_from([0.01, 1.0, 30.0]))
def test_weights_repeat_samples_in_the_problem_and_its_fast_solver(times, C):
    H = np.column_stack([X, np.sign(X - 0.05)])
    weighted, repeated = SLSSVM(H, L, C, times), SLSSVM(H.repeat(times, axis=0), L.repeat(times, axis=0), C)
    modelled, fast, again = weighted.solve(), solve_slssvm(weighted), solve_slssvm(repeated)
    assert modelled.objective == pytest.approx(again.objective, rel=1e-6)
    assert fast.objective == pytest.approx(again.objective, rel=1e-9)
    assert_allclose(fast.variables["W"], again.variables["W"], atol=1e-9)
    assert_allclose(fast.variables["b"], again.variables["b"], atol=1e-9)
    assert not fast.duals["U"][times == 0].any()
    assert weighted.certify(modelled).holds(1e-6)
    assert weighted.certify(fast).holds(1e-9)


def test_the_weighted_system_is_the_stated_one():
    random = np.random.default_rng(1)
    H, weights = random.normal(size=(N, 4)), random.uniform(0.2, 3, N)
    system = np.block([[H @ H.T + np.diag(1 / (0.7 * weights)), ONES], [ONES.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([L, np.zeros((1, 2))]))
    assert_allclose(solve_slssvm(SLSSVM(H, L, 0.7, weights)).duals["U"], solved[:-1], atol=1e-12)


def test_weights_follow_a_new_C():
    problem = SLSSVM(X, L, 1.0, np.arange(N))
    problem.solve()
    problem.C = 0.2
    assert problem.solve().objective == pytest.approx(solve_slssvm(SLSSVM(X, L, 0.2, np.arange(N))).objective, rel=1e-6)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=5), counts, st.sampled_from([1e-4, 1.0]))
def test_equations_grown_with_weights_are_those_of_repeated_samples(seed, sizes, times, ridge):
    H = np.random.default_rng(seed).normal(size=(N, sum(sizes)))
    again, targets = H.repeat(times, axis=0), L.repeat(times, axis=0)
    G = again - again.mean(axis=0)
    by_columns, by_samples = (kind(L, ridge / times.mean(), times / times.mean()) for kind in (ByColumns, BySamples))
    for n in np.cumsum(sizes):
        W = np.linalg.solve(G[:, :n].T @ G[:, :n] + ridge * np.eye(n), G[:, :n].T @ (targets - targets.mean(axis=0)))
        assert_allclose(by_columns.weights(H[:, :n].T), W, atol=1e-6 * np.abs(W).max())
        assert_allclose(by_samples.weights(H[:, :n].T), W, atol=1e-6 * np.abs(W).max())


def test_a_run_over_all_stumps_is_certified_and_that_of_repeated_samples():
    times = 1 + np.arange(N) % 4
    weighted = column_generation(formulations.simplex_least_squares(L, 0.2 * times), Stumps(X), tol=1e-9)
    repeated = column_generation(
        formulations.simplex_least_squares(L.repeat(times, axis=0), 0.2), Stumps(X.repeat(times, axis=0)), tol=1e-9
    )
    assert weighted.certificate.holds(1e-8)
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=1e-9)


EXACT = CGEnsSLSClassifier(C=0.3, oracle="stumps", tol=1e-9)


@settings(max_examples=10)
@given(counts)
def test_estimators_take_weights_as_counts(times):
    kept = times > 0
    weighted = EXACT.fit(X, LABELS, sample_weight=times)
    scores, u, certificate = weighted.decision_function(X), weighted.dual_weights_, weighted.certificate_
    repeated = EXACT.fit(X.repeat(times, axis=0), LABELS.repeat(times))
    assert_allclose(repeated.decision_function(X), scores, atol=1e-9)
    left_out = EXACT.fit(X[kept], LABELS[kept], sample_weight=times[kept])
    assert_allclose(left_out.decision_function(X), scores, atol=1e-9)
    assert not u[~kept].any()
    H = StumpColumns(X[kept])
    reference = SLSSVM(H, L[kept], 0.3, times[kept]).solve()
    assert certificate.primal == pytest.approx(reference.objective, rel=1e-6)


def test_estimators_take_weights_of_classes():
    heavy = CGEnsSLSClassifier(class_weight={0: 1.0, 1: 1.0, 2: 100.0}).fit(X, LABELS)
    even = CGEnsSLSClassifier().fit(X, LABELS)
    assert (heavy.predict(X) == 2).sum() > (even.predict(X) == 2).sum()
    weights = np.where(LABELS == 2, 100.0, 1.0)
    same = CGEnsSLSClassifier().fit(X, LABELS, sample_weight=weights)
    assert_allclose(same.decision_function(X), heavy.decision_function(X), atol=1e-12)
    again = heavy.certify(X, LABELS)
    assert again.primal == pytest.approx(heavy.certificate_.primal)
