"""The linear masters under side constraints: against cvxpy, at the last digits, and with bounds that are bounds."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from brute_force import assert_optimum, assert_over_all, noisy, solve_all
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import (
    ConicMaster,
    CvxpyMaster,
    HighsMaster,
    InteriorPointMaster,
    NewtonMaster,
    fastest_master,
)
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Exponential, Hinge, HuberizedHinge, Logistic, SquaredHinge
from cvxens.problems.penalties import L1, ElasticNet, SquaredL2
from cvxens.problems.sides import SideLoss
from cvxens.problems.target_losses import EpsilonInsensitive, Pinball

X, y = noisy()
HALF = np.arange(len(y)) < len(y) // 2
DIFFERENCE = np.where(HALF, 1 / HALF.sum(), -1 / (~HALF).sum())
PULLS = y * np.stack([DIFFERENCE, -DIFFERENCE])


def held(eps, loss):
    pulls = PULLS * (y if loss.on_scores else 1.0)
    return SideLoss(loss, pulls, np.zeros_like(pulls), np.full(2, eps))


@pytest.mark.thinned(2, master=[HighsMaster, InteriorPointMaster], eps=[0.0, 0.02, 100.0], nonnegative=[True, False])
@pytest.mark.parametrize("loss", [Hinge(0.3), Pinball(9 * X[:, 0], 0.8), EpsilonInsensitive(9 * X[:, 1] + 1e3, 0.3)])
def test_linear_masters_reach_the_optimum_and_hold_exactly(master, eps, nonnegative, loss):
    formulation = Formulation(held(eps, loss), L1(), intercept=True, nonnegative=nonnegative)
    given = formulation, Stumps(X), None if loss.on_scores else y
    truth = column_generation(*given, tol=1e-6, master=CvxpyMaster).certificate
    run = assert_optimum(column_generation(*given, tol=1e-6, master=master), truth.primal, rel=3e-6)
    assert abs(DIFFERENCE @ run.decision_function(X)) <= (eps or 1e-12)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0.1, 2))
def test_any_multipliers_of_the_constraints_bound_the_optimum(seed, eps, C):
    """D(v) - limits'pi at u = v - pulls'pi is at most l(z) + u'z wherever the constraints hold."""
    rng = np.random.default_rng(seed)
    loss = held(eps, Hinge(C))
    u = loss.adopt(rng.uniform(-1, 2, len(y)), rng.exponential(size=2) * (rng.random(2) < 0.7), y)
    z = y * rng.normal(size=len(y))
    # moved to where the constraints hold
    excess = PULLS[0] @ z
    z -= PULLS[0] * np.sign(excess) * max(abs(excess) - eps, 0.0) / (PULLS[0] @ PULLS[0]) * (1 + 1e-12)
    if not np.isfinite(loss.value(z)):
        return
    for share in (1.0, 0.3):
        assert loss.dual_value(share * u) <= loss.value(z) + share * float(u @ z) + 1e-9
    assert loss.displacement(u) <= 1e-12 * max(1.0, np.abs(u).sum())
    assert abs(float(y @ u)) <= 1e-9


def test_of_several_multipliers_of_the_constraints_the_best_prove_what_the_reference_finds():
    # u = (1/2, 1/2) is a share of the first multipliers, without prices; those of the constraint have the higher bound
    loss = SideLoss(Hinge(2.0), np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([0.3]))
    run = column_generation(Formulation(loss, L1()), Stumps([[0.0], [1.0]]), np.array([1.0, -1.0]), master=CvxpyMaster)
    assert_optimum(run, 0.15 + 2 * 2 * 0.85)  # w = 0.15: two slacks of 0.85


def test_digits_of_weights_that_are_0_do_not_keep_equal_means_from_the_reference():
    # under equal means of these halves only the constant has a weight: w = -1 leaves the slack 2 of the first sample
    X, y = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([1.0, -1.0, -1.0, -1.0])
    difference = np.array([0.5, 0.5, -0.5, -0.5])
    loss = SideLoss(Hinge(0.5), y * np.stack([difference, -difference]), np.zeros((2, 4)), np.zeros(2))
    for options in ({}, {"master": CvxpyMaster}):
        assert_optimum(column_generation(Formulation(loss, L1()), Stumps(X), y, tol=1e-6, **options), 2.0)


@settings(max_examples=6)
@given(st.integers(0, 10**6))
def test_bounds_on_losses_hold_at_the_weights_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (8, 2)).astype(float), np.array([1.0, -1.0] * 4)
    charges = np.where(np.arange(8) < 4, 1.0, 0.0)[np.newaxis]
    # halfway from the slack that the first samples have otherwise to the least that they can have
    ends = [
        column_generation(Formulation(Hinge(C), L1()), Stumps(X), y, tol=1e-6).decision_function(X)
        for C in (np.full(8, 0.05), np.where(charges[0] > 0, 100.0, 1e-3))
    ]
    slacks = [float(charges[0] @ np.maximum(1 - y * f, 0.0)) for f in ends]
    loss = SideLoss(Hinge(0.05), np.zeros((1, 8)), charges, np.array([sum(slacks) / 2 + 0.01]))
    runs = [
        column_generation(Formulation(loss, L1()), Stumps(X), y, tol=1e-6, **options)
        for options in ({}, {"master": CvxpyMaster})
    ]
    assert all(run.certificate.holds(2e-6) for run in runs)
    assert runs[1].certificate.primal == pytest.approx(runs[0].certificate.primal, rel=4e-6)


@example(3598, True, False)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_bounds_on_slacks_raise_prices_in_interior_points(seed, intercept, nonnegative):
    random = np.random.default_rng(seed)
    n, k = random.integers(6, 40), random.integers(1, 9)
    H, y = random.normal(size=(n, k)), np.where(np.arange(n) % 2, 1.0, -1.0)
    # some samples have no price of their own, some are in no bound
    charges = random.exponential(size=(random.integers(1, 4), n)) * (random.random(n) < 0.7)
    prices = np.where(charges.any(axis=0) & (random.random(n) < 0.5), 0.0, random.exponential(size=n))
    limits = charges.sum(axis=1) * random.uniform(0.3, 1.2, len(charges))
    pulls = random.normal(size=charges.shape) * (random.random((len(charges), 1)) < 0.3)
    pulls -= np.outer(pulls @ y, y) / n * intercept
    loss = SideLoss(Hinge(prices), pulls, charges, limits)
    formulation = Formulation(loss, L1(random.exponential()), intercept=intercept, nonnegative=nonnegative)
    truth = solve_all(H, y, loss, formulation.penalty, intercept=intercept, nonnegative=nonnegative)
    if truth == np.inf:
        # no weights satisfy the bounds
        return
    pool = Pool(H, negations=not nonnegative)
    run = column_generation(formulation, pool, y, tol=1e-5, master=InteriorPointMaster)
    # the optimum is 0 where a class has no price
    near = 3e-6 * abs(truth) + 1e-9
    assert truth - near <= run.certificate.primal
    assert run.certificate.dual <= truth + near
    # no gap is small beside 0
    assert truth < 1e-9 or run.certificate.holds(2e-5)
    z = y * run.decision_function(H)
    assert (pulls @ z + charges @ np.maximum(1 - z, 0.0) <= limits + 1e-11 * (charges.sum(axis=1) + 1)).all()


def test_bounds_on_hinges_are_read_off_expressions():
    random = np.random.default_rng(0)
    X = np.rint(2 * random.normal(size=(1_200, 3)))
    y = np.where(X @ [0.5, 0.3, -0.3] + random.normal(size=len(X)) > 0.5, 1.0, -1.0)
    positive, equal = y > 0, y * (X[:, 2] - X[:, 2].mean())

    def constraints(z):
        return [cp.sum(cp.pos(1 - z[~positive])) / (~positive).sum() <= 0.3, cp.abs(equal @ z) <= 50.0]

    formulation = Formulation(lambda z: cp.sum(cp.pos(1 - z[positive])), L1(5.0), True, constraints=constraints)
    run = assert_over_all(formulation, Stumps(X), y, rel=1e-5, tol=1e-6)
    assert formulation.read(y).basis == "by multipliers of the constraints"
    z = y * run.decision_function(X)
    assert np.maximum(1 - z[~positive], 0).mean() <= 0.3
    assert abs(equal @ z) <= 50.0


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from([Logistic, Exponential, SquaredHinge, HuberizedHinge]),
    penalty=st.sampled_from([L1(), SquaredL2(0.1), ElasticNet(1.0, 0.5)]),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    intercept=st.booleans(),
    nonnegative=st.booleans(),
)
def test_newton_steps_in_rows_reach_the_optimum_of_the_reference(seed, loss, penalty, C, intercept, nonnegative):
    random = np.random.default_rng(seed)
    n, k = random.integers(4, 30), random.integers(1, 9)
    H, y = random.normal(size=(n, k)), np.where(np.arange(n) % 2, 1.0, -1.0)
    pulls = random.normal(size=(random.integers(1, 4), n)) * 10.0 ** random.integers(-3, 4)
    if intercept:
        pulls -= np.outer(pulls @ y, y) / n
    # some allow nothing; equal means are limits on either side
    limits = np.abs(pulls).sum(axis=1) / n * random.exponential(size=len(pulls)) * (random.random(len(pulls)) < 0.7)
    if random.random() < 0.5:
        pulls, limits = np.vstack([pulls, -pulls]), np.append(limits, limits)
    held = SideLoss(loss(C), pulls, np.zeros_like(pulls), limits)
    formulation = Formulation(held, penalty, intercept=intercept, nonnegative=nonnegative)
    run = column_generation(formulation, Pool(H, negations=not nonnegative), y, tol=1e-7, master=NewtonMaster)
    truth = solve_all(H, y, held, penalty, intercept=intercept, nonnegative=nonnegative)
    assert run.certificate.primal == pytest.approx(truth, rel=3e-6, abs=1e-9)
    assert run.certificate.dual <= truth + 3e-6 * abs(truth) + 1e-9
    assert run.certificate.holds(3e-5)
    z = y * run.decision_function(H)
    assert (pulls @ z <= limits + 1e-11 * np.abs(pulls).sum(axis=1) * np.abs(z).max(initial=1e-9)).all()


def test_constraints_of_expressions_are_held_by_newton_steps_and_proven():
    random = np.random.default_rng(0)
    X = random.normal(size=(1_500, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + random.normal(size=1_500) > 0.5, 1.0, -1.0)
    group = X[:, 0] > 0
    difference = y * (group / group.sum() - ~group / (~group).sum())
    loss, held = (lambda z: cp.sum(cp.logistic(-z))), (lambda z: [cp.abs(difference @ z) <= 0.05])
    formulation = Formulation(loss, L1(15.0), intercept=True, constraints=held)
    known = Formulation(Logistic(1.0), L1(15.0), intercept=True, constraints=held)
    runs = [column_generation(each, Stumps(X), y, tol=1e-4) for each in (formulation, known)]
    for run in runs:
        assert run.certificate.holds(1e-4)
        assert run.certificate.note.endswith("by multipliers of the constraints")
        assert abs(difference @ (y * run.decision_function(X))) <= 0.05
    assert runs[0].certificate.primal == pytest.approx(runs[1].certificate.primal, rel=1e-4)
    assert isinstance(fastest_master(formulation, y), NewtonMaster)
    # those that an intercept moves, and those that scores of 0 break, are for the conic master
    for moved in (lambda z: [cp.sum(z[:700]) <= 9], lambda z: [difference @ z <= -0.01]):
        assert isinstance(fastest_master(replace(known, constraints=moved), y), ConicMaster)


def test_multipliers_that_are_balanced_by_a_little_keep_the_prices_of_their_constraints():
    # digits of large pulls are left of y'u, and made good after the multipliers are known
    loss = SideLoss(Hinge(1.0), 1e6 * PULLS, np.zeros_like(PULLS), np.full(2, 1e4))
    u = loss.adopt(np.full(len(y), 0.5), np.array([3e-6, 0.0]), y)
    moved = u + 1e-10 * np.sign(u)
    assert loss.dual_value(moved) == pytest.approx(loss.dual_value(u), rel=1e-8)
    assert loss.displacement(moved) < 1e-12
    assert loss.condition(moved) == ""


def test_other_losses_are_for_other_masters():
    formulation = Formulation(held(0.1, Logistic(0.3)), L1(), intercept=True)
    assert not HighsMaster.supports(formulation)
    with pytest.raises(InvalidInput, match="SideLoss has no `linear_dual`"):
        InteriorPointMaster(formulation, y)
