"""Regression, quantiles, counts, rounded-off hinges and CVaR: proven optima over all stumps, as by an enumeration."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, noisy, solve_all

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import (
    CvxpyMaster,
    HighsMaster,
    InteriorPointMaster,
    LeastSquaresMaster,
    NewtonMaster,
    fastest_master,
)
from cvxens.colgen.oracles import Stumps
from cvxens.problems import Problem
from cvxens.problems.losses import CVaR, HuberizedHinge, SquaredError
from cvxens.problems.penalties import L1, SquaredL2
from cvxens.problems.target_losses import AbsoluteError, EpsilonInsensitive, HuberError, Pinball, Poisson

X, y = noisy(24, 2, seed=5)
H = all_stumps(X)
N = len(y)
RNG = np.random.default_rng(8)
T = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.4 * RNG.standard_t(3, size=N)
COUNTS = RNG.poisson(np.exp(T)).astype(float)
PRICES = RNG.uniform(0.2, 1.5, N)

LOSSES = {
    "absolute": (lambda C: AbsoluteError(T, C), lambda C, z: C @ cp.abs(T - z)),
    "pinball": (
        lambda C: Pinball(T, 0.8, C),
        lambda C, z: C @ cp.maximum(0.8 * (T - z), -0.2 * (T - z)),
    ),
    "insensitive": (lambda C: EpsilonInsensitive(T, 0.2, C), lambda C, z: C @ cp.pos(cp.abs(T - z) - 0.2)),
    "huber": (lambda C: HuberError(T, 0.5, C), lambda C, z: C @ cp.huber(T - z, 0.5) / 2),
    "squared": (lambda C: SquaredError(C, T), lambda C, z: C @ cp.square(T - z) / 2),
    "poisson": (
        lambda C: Poisson(COUNTS, C),
        lambda C, z: C @ (cp.exp(z) - cp.multiply(COUNTS, z) + cp.rel_entr(COUNTS, 1) - COUNTS),
    ),
    "huberized": (lambda C: HuberizedHinge(C, 0.5), lambda C, z: C @ cp.huber(cp.pos(1 - z), 0.5)),
    "cvar": (
        lambda C: CVaR(C / 6, 3.0),
        lambda C, z: 3 * ((rho := cp.Variable(nonneg=True)) + (C / 6) @ cp.pos(1 - z - rho)),
    ),
}
MARGINS = {"huberized", "cvar"}
L1_MASTERS = {"absolute": HighsMaster, "pinball": HighsMaster, "insensitive": HighsMaster, "cvar": HighsMaster}
L2_MASTERS = {"cvar": CvxpyMaster}


@pytest.mark.parametrize("priced", [False, True], ids=["one price", "prices"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True], ids=["l2", "l1"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_known_loss_reaches_the_optimum_over_all_stumps_proven(name, sparse, intercept, priced):
    C = PRICES if priced else np.full(N, 0.7)
    loss, express = LOSSES[name][0](C if priced else 0.7), LOSSES[name][1]
    penalty = L1(0.9) if sparse else SquaredL2(1.3)
    formulation = Formulation(loss, penalty, intercept=intercept)
    labels = y if name in MARGINS else None
    optimum = solve_all(
        H,
        y if name in MARGINS else np.ones(N),
        lambda z: express(C, z),
        (lambda w: 0.9 * cp.norm1(w)) if sparse else (lambda w: 0.65 * cp.sum_squares(w)),
        intercept=intercept,
        tol=1e-10,
    )
    run = assert_optimum(column_generation(formulation, Stumps(X), labels, tol=1e-7), optimum)
    assert run.certificate.dual == pytest.approx(optimum, rel=1e-6)
    # residuals are of the size of the root of the gap
    assert run.certificate.kkt_residual < 1e-3
    chosen = (L1_MASTERS if sparse else L2_MASTERS).get(name, NewtonMaster)
    if name == "squared" and intercept and not sparse:
        chosen = LeastSquaresMaster
    assert type(fastest_master(formulation, formulation.signs(labels, N))) is chosen


PLAIN = {name: partial(LOSSES[name][1], PRICES) for name in ("absolute", "pinball", "insensitive")}
INTERIOR = {
    "absolute": (AbsoluteError(T, PRICES), PLAIN["absolute"], 1.0),
    "pinball": (Pinball(T, 0.8, PRICES), PLAIN["pinball"], 1.0),
    "tiny": (EpsilonInsensitive(1e-5 * T, 0.2e-5, PRICES), PLAIN["insensitive"], 1e-5),
    "huge": (EpsilonInsensitive(1e6 * T, 0.2e6, PRICES), PLAIN["insensitive"], 1e6),
    **{
        f"worst {k}": (CVaR(1 / k, 30.0), lambda z, k=k: 30 / k * cp.sum_largest(cp.pos(1 - z), k), 1.0)
        for k in (4, 12, 24)
    },
}


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", INTERIOR)
def test_the_interior_point_master_takes_them_too(name, intercept, nonnegative):
    """Whatever the unit of the targets; where rho is above 0 the sum of u has reached its limit."""
    (loss, express, unit), labels = INTERIOR[name], y if name.startswith("worst") else None
    formulation = Formulation(loss, L1(0.9), intercept=intercept, nonnegative=nonnegative)
    run = column_generation(formulation, Stumps(X), labels, tol=1e-8, master=InteriorPointMaster)
    signs = np.ones(N) if labels is None else y
    optimum = unit * solve_all(H, signs, express, lambda w: 0.9 * cp.norm1(w), intercept=intercept)
    assert_optimum(run, optimum, gap=1e-8)
    assert not name.startswith("worst") or run.u.sum() <= 30.0 * (1 + 1e-12)


@pytest.mark.parametrize("name", ["absolute", "insensitive", "huber", "squared"])
def test_targets_far_from_zero_cost_no_digits_where_there_is_an_intercept(name):
    far = {
        "absolute": AbsoluteError(T + 1e7, PRICES),
        "insensitive": EpsilonInsensitive(T + 1e7, 0.2, PRICES),
        "huber": HuberError(T + 1e7, 0.5, PRICES),
        "squared": SquaredError(PRICES, T + 1e7),
    }[name]
    for penalty in (L1(0.9), SquaredL2(1.3)):
        near = column_generation(Formulation(LOSSES[name][0](PRICES), penalty, intercept=True), Stumps(X), tol=1e-7)
        run = column_generation(Formulation(far, penalty, intercept=True), Stumps(X), tol=1e-6)
        assert_optimum(run, near.certificate.primal)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_weights_that_come_without_multipliers_are_certified(name, intercept):
    """What a run found, its multipliers left out: those of kinks are fitted to the weights."""
    formulation = Formulation(LOSSES[name][0](PRICES), L1(0.9), intercept=intercept)
    run = column_generation(formulation, Stumps(X), y if name in MARGINS else None, tol=1e-9)
    columns = np.stack([column.values for column in run.columns], axis=1)
    problem = Problem(formulation, columns, y if name in MARGINS else None)
    found = problem.certify(w=run.weights, b=run.intercept) if intercept else problem.certify(w=run.weights)
    assert found.holds(1e-5)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_squares_of_several_outputs_with_an_l1_norm_go_to_the_sparse_master(intercept, nonnegative):
    targets = np.stack([T, np.cos(X[:, 1]) + 3.0, 0.2 * COUNTS], axis=1)
    formulation = Formulation(
        SquaredError(PRICES, targets), L1(0.4), intercept=intercept, nonnegative=nonnegative, outputs=3
    )
    run = column_generation(formulation, Stumps(X), tol=1e-7)
    squares = lambda Z: cp.sum(cp.multiply(np.tile(PRICES[:, None], 3), cp.square(targets - Z))) / 2  # noqa: E731
    optimum = solve_all(
        H, 1.0, squares, lambda W: 0.4 * cp.sum(cp.abs(W)), outputs=(3,), intercept=intercept, tol=1e-10
    )
    assert type(fastest_master(formulation, formulation.signs(None, N))) is NewtonMaster
    assert_optimum(run, optimum)
    assert run.intercept.shape == (3,)
