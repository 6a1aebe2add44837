"""Tables of proofs of sums of one scalar function: never above the conjugate, and near it."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import entr, expit

from cvxens.colgen import Ending, Formulation, column_generation
from cvxens.colgen.masters import ConicMaster, NewtonMaster, fastest_master
from cvxens.colgen.oracles import Stumps
from cvxens.datasets import make_twonorm
from cvxens.problems.conic import Stated
from cvxens.problems.losses import Logistic, SquaredError
from cvxens.problems.modelling import Term
from cvxens.problems.penalties import L1, ElasticNet, SquaredL2
from cvxens.problems.sums import ScalarSum

N = 400
C, T, K = np.linspace(0.2, 2, N), np.sin(np.arange(N)) * 3, 1.0 + np.arange(N) % 4
FUNCTIONS = {
    "logistic": (lambda z: cp.sum(cp.logistic(-z)), lambda u: entr(u) + entr(1 - u), 1.0),
    "Huberised": (lambda z: cp.sum(cp.huber(cp.pos(1 - z), 0.5)), lambda u: u - u**2 / 4, 1.0),
    "squared hinge": (lambda z: cp.sum(cp.square(cp.pos(1 - z))) / 2 + 3, lambda u: u - u**2 / 2 + 3 / N, 5.0),
    "exponential": (lambda z: 0.5 * cp.sum(cp.exp(-z)), lambda u: entr(2 * u) / 2 + u, 400.0),
    "two-sided": (lambda z: cp.sum(cp.huber(1 - z, 0.5)), lambda u: u - u**2 / 4, 1.0),
    # with prices, targets, scales and linear terms of single samples
    "prices": (lambda z: C @ cp.logistic(-z), lambda u: C * (entr(u / C) + entr(1 - u / C)), C),
    "targets": (lambda z: cp.sum(cp.huber(T - z, 0.5)) - 3, lambda u: u * T - u**2 / 4 - 3 / N, 1.0),
    "scales": (
        lambda z: cp.sum(cp.multiply(C, cp.logistic(2 * (T - z)) - (T - z))),
        lambda u: u * T + C * (entr((1 + u / C) / 2) + entr((1 - u / C) / 2)),
        C,
    ),
    "counts": (lambda z: cp.sum(cp.exp(z)) - K @ z, lambda u: entr(K - u) + K - u, 1.0),
    "expectile": (
        lambda z: 3 * cp.sum_squares(cp.pos(T - z)) + cp.sum_squares(cp.pos(z - T)) / 2,
        lambda u: u * T - u**2 / 12,
        1.0,
    ),
}
TABLES = {}


def table_for(express):
    z = cp.Variable(N)
    return ScalarSum.from_stated(Stated(z, Term(express(z)), ()))


def table_of(name):
    if name not in TABLES:
        TABLES[name] = table_for(FUNCTIONS[name][0])
    return TABLES[name]


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=10)
@given(seed=st.integers(0, 1000), share=st.floats(0.01, 1))
@example(seed=600, share=1.0)
def test_interpolated_proofs_are_never_above_the_conjugate_and_near_it(name, seed, share):
    table, (_, conjugate, largest) = table_of(name), FUNCTIONS[name]
    u = share * (1 - 1e-9) * largest * np.random.default_rng(seed).random(N)
    exact = float(conjugate(u).sum())
    # a multiplier is a sum of floats, and so off by rounding of the largest
    assert table.dual_value(u) <= exact + 1e-13 * max(1.0, abs(exact))
    assert table.dual_value(u) == pytest.approx(exact, abs=1e-7 * N)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_multipliers_curvatures_and_repairs(seed):
    rng, table = np.random.default_rng(seed), table_of("logistic")
    z, y = rng.normal(scale=5, size=N), np.where(rng.random(N) < 0.4, 1.0, -1.0)
    u = table.multipliers(z)
    np.testing.assert_allclose(u, expit(-z), rtol=1e-13)
    np.testing.assert_allclose(table.curvature(u), u * (1 - u), atol=1e-2)
    balanced = table.repair(u + rng.normal(size=N), y)
    assert float(y @ balanced) == 0
    assert balanced.min() >= 0
    assert balanced.max() <= 1
    np.testing.assert_array_equal(table.repair(balanced, y), balanced)
    two_sided = table_of("two-sided")
    assert float(y @ two_sided.repair(rng.normal(size=N), y)) == 0
    assert two_sided.dual_value(np.full(N, 1.5)) == -np.inf


@pytest.mark.parametrize(
    "express",
    [
        lambda z: cp.sum(cp.pos(1 - z)),
        lambda z: C @ cp.logistic(-z) + cp.sum(cp.logistic(z)),
        lambda z: cp.sum(np.ones((N, N)) @ cp.logistic(z)),
        lambda z: cp.sum(cp.multiply(C, cp.sum_squares(z))),
        lambda z: cp.sum(cp.logistic(z[: N // 2])),
        lambda z: cp.sum(cp.logistic(-z) + cp.huber(T - z)),
        lambda z: (C - 1) @ cp.logistic(cp.multiply(C, z)),
        lambda z: cp.log_sum_exp(-z),
        lambda z: cp.sum_largest(-z, 5),
        lambda z: cp.sum(cp.logistic(-z)) + cp.pos(cp.sum(z)),
        lambda z: cp.lambda_max(cp.diag(z)),
        cp.sum,
    ],
)
def test_what_is_no_smooth_sum_of_one_function_has_no_table(express):
    assert table_for(express) is None


def test_smooth_expressions_over_many_samples_have_the_fast_masters_and_proofs():
    X, y = make_twonorm(1000, random_state=0)
    X = X[:, :3]
    loss = FUNCTIONS["logistic"][0]
    expected = column_generation(Formulation(Logistic(1.0), L1(20.0), intercept=True), Stumps(X), y, tol=1e-5)
    formulation = Formulation(loss, lambda w: 20 * cp.norm1(w), intercept=True)
    run = column_generation(formulation, Stumps(X), y, tol=1e-5)
    assert run.ending is Ending.OPTIMAL
    assert run.certificate.holds(1e-5)
    assert run.certificate.note.endswith("repaired and checked")
    assert run.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-5)
    assert all(np.isfinite(row.bound) for row in run.history)
    assert isinstance(fastest_master(formulation, y), NewtonMaster)
    assert isinstance(fastest_master(Formulation(loss, SquaredL2(1.0)), y), NewtonMaster)
    assert isinstance(fastest_master(Formulation(loss, ElasticNet(1.0, 1.0)), y), NewtonMaster)
    assert isinstance(fastest_master(formulation, y[:100]), ConicMaster)


@pytest.mark.parametrize("noise", [1.0, 1e-2])
def test_squares_with_prices_and_targets_are_as_exact_as_the_class(noise):
    X, y = make_twonorm(1000, random_state=1)
    X, prices = X[:, :3].round(), np.linspace(0.5, 2, 1000)
    t = np.sign(X[:, 0]) + 2 * np.sign(X[:, 1] - 1) + noise * y
    squares = Formulation(lambda f: prices @ cp.square(f - t) + 1.0, L1(30 * noise), intercept=True, scores=True)
    ours = Formulation(SquaredError(2 * prices, t), L1(30 * noise), intercept=True)
    found, known = (column_generation(each, Stumps(X), None, tol=1e-8).certificate for each in (squares, ours))
    assert found.holds(1e-8)
    assert found.primal == pytest.approx(known.primal + 1.0, rel=2e-8)
