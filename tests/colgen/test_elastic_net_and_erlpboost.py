"""Elastic-net weights and ERLPBoost: certified, and equal to cvxpy's optimum over all stumps at once."""

from dataclasses import replace
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, solve_all
from hypothesis import given
from hypothesis import strategies as st

from cvxens.colgen import Formulation, column_generation, formulations
from cvxens.colgen.oracles import Pool, QuantileStumps, Stumps
from cvxens.colgen.restricted import Restricted
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1, ElasticNet, SquaredL2

pytestmark = pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")


def drawn(seed, n_samples=24):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3)).round(1)
    X[:, 2] = X[:, 0]
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=n_samples) > 0, 1.0, -1.0)


def elastic(loss, l1=1.0, l2=0.1, **options):
    return Formulation(loss, ElasticNet(l1, l2), **options)


@pytest.mark.parametrize("oracle", [partial(Pool, columns_per_round=3), QuantileStumps, Stumps])
def test_every_finite_oracle_proves_it(oracle):
    X, y = drawn(2)
    run = column_generation(elastic(Hinge(0.5), intercept=True), oracle(X), y, tol=1e-6)
    assert run.certificate.holds(1e-5)
    assert run.certificate.proven


@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.3, 4.0]), st.booleans())
def test_no_bound_is_above_the_optimum_whatever_is_known(seed, l2, told):
    X, y = drawn(seed, 12)
    rng = np.random.default_rng(seed)
    formulation = elastic(Hinge(0.7), l2=l2)
    columns = Stumps(X).price(y).columns[: rng.integers(1, 4)]
    restricted = Restricted(formulation, y)
    restricted.add(columns)
    point = {"w": rng.normal(size=len(columns)), "u": rng.uniform(-0.1, 0.8, 12)}
    solution = restricted.evaluate(point)
    inside = [column.hypothesis for column in columns] if told else []
    priced = Stumps(X).price(solution.s, inside)
    best = solve_all(all_stumps(X), y, formulation.loss, formulation.penalty)
    for known in (priced, replace(priced, outside_bound=np.inf)):
        assert restricted.bound(solution, known) <= best * (1 + 1e-7)


def test_its_limits_are_l1_and_squared_l2():
    X, y = drawn(4)
    optimum = {
        name: column_generation(Formulation(Hinge(0.5), penalty, intercept=True), Stumps(X), y).certificate.primal
        for name, penalty in {
            "l1": L1(),
            "nearly l1": ElasticNet(1.0, 1e-8),
            "l2": SquaredL2(2.0),
            "nearly l2": ElasticNet(1e-8, 2.0),
        }.items()
    }
    assert optimum["nearly l1"] == pytest.approx(optimum["l1"], rel=1e-5)
    assert optimum["nearly l2"] == pytest.approx(optimum["l2"], rel=1e-5)


@pytest.mark.thinned(1, eta=[0.5, 20.0, 1e3], nu=[0.2, 0.5, 1.0])
def test_erlpboost_over_all_stumps(eta, nu):
    X, y = drawn(6)
    n = len(y)
    run = column_generation(formulations.erlpboost(1 / (nu * n), eta), Stumps(X, square_sum=False), y, tol=1e-5)
    M = y[:, None] * all_stumps(X)
    u = cp.Variable(n, nonneg=True)
    largest = cp.norm_inf(M.T @ u) + (cp.sum(-cp.entr(u)) + np.log(n)) / eta
    best = cp.Problem(cp.Minimize(largest), [cp.sum(u) == 1, u <= 1 / (nu * n)]).solve("CLARABEL")
    assert_optimum(run, best, rel=1e-5, gap=2e-5)


def test_erlpboost_tends_to_lpboost():
    X, y = drawn(7)
    sharp = column_generation(formulations.lpboost(0.2), Stumps(X), y).certificate.primal
    for eta in (10.0, 1e3):
        smooth = column_generation(formulations.erlpboost(0.2, eta), Stumps(X), y, tol=1e-5).certificate.primal
        assert sharp - 1e-5 <= smooth <= sharp + np.log(0.2 * len(y)) / eta + 1e-5
