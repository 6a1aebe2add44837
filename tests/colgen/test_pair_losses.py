"""Losses of all pairs by sorting: against every pair by itself, flows by linear programs, and enumerations."""

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, noisy
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from cvxens.colgen import Ending, Formulation, column_generation
from cvxens.colgen.masters import NewtonMaster, newton_masters
from cvxens.colgen.oracles import Stumps
from cvxens.compensated import find_shortage, fit_flow
from cvxens.problems.pair_losses import PairwiseExponential, PairwiseHinge, PairwiseSquaredHinge
from cvxens.problems.penalties import L1, SquaredL2

PHI = {
    PairwiseHinge: lambda m: max(0.0, 1 - m),
    PairwiseExponential: lambda m: np.exp(-m),
    PairwiseSquaredHinge: lambda m: max(0.0, 1 - m) ** 2 / 2,
}
every = pytest.mark.parametrize("kind", PHI, ids=lambda kind: kind.__name__)
seeds = st.integers(0, 10**6)
TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def make_case(seed, kind, n=10):
    """A loss with up to three groups of unlike prices, and scores with and without ties."""
    random = np.random.default_rng(seed)
    y, groups = np.where(random.random(n) < 0.5, 1.0, -1.0), random.integers(0, 3, n)
    y[:2], groups[:2] = [1.0, -1.0], 0
    loss = kind(y, groups, random.uniform(0.2, 2.0, len(np.unique(groups))))
    return loss, random.integers(-3, 4, n) / 2 + random.integers(0, 2) * random.normal(size=n)


def over_pairs(loss, f, phi):
    """The loss, pair by pair."""
    pairs = [(i, j) for i in range(len(f)) for j in range(len(f)) if loss.y[i] > 0 > loss.y[j]]
    prices = loss.prices[loss.groups]
    return sum(prices[i] * phi(f[i] - f[j]) for i, j in pairs if loss.groups[i] == loss.groups[j])


@every
@given(seed=seeds)
# no slope at either end of a shift of all scores
@example(seed=23227)
def test_values_and_slopes_are_those_of_all_pairs(kind, seed):
    loss, f = make_case(seed, kind)
    value, u = loss.value(f), loss.multipliers(f)
    assert value == pytest.approx(over_pairs(loss, f, PHI[kind]), rel=1e-11, abs=1e-11)
    assert loss.value(f + 3.0) == pytest.approx(value, rel=1e-11, abs=1e-11)
    # convex, with slopes in between
    d = np.random.default_rng(seed).normal(size=len(f))
    for t in (1e-3, 1.0):
        assert loss.value(f + t * d) >= value - t * (u @ d) - 1e-9 * (1 + value)
    least, largest = loss.slopes(f, 1e-9)
    assert (least <= u + 1e-12).all()
    assert (u <= largest + 1e-12).all()
    errors = np.full(len(f), 1e-3)
    assert loss.value(f + errors * np.sign(d)) <= value + loss.rise(f, errors)


@every
@given(seed=seeds)
def test_fenchels_equality_holds_at_multipliers_of_scores(kind, seed):
    loss, f = make_case(seed, kind)
    u = loss.repair(loss.multipliers(f), None)
    assert loss.violation(u) <= 1e-12
    assert_allclose(u, loss.multipliers(f), rtol=1e-10, atol=1e-10)
    assert loss.dual_value(u) == pytest.approx(loss.value(f) + u @ f, rel=1e-9, abs=1e-9)
    assert loss.slackness(f, u) <= 1e-9
    # any multiple is as well known
    halved = loss.dual_value(u / 2)
    assert halved <= loss.value(f) + u @ f / 2 + 1e-9
    assert loss.violation(loss.multipliers(f) + 1.0) > 1e-3


@given(seed=seeds)
def test_gale_and_rysers_condition_is_that_there_is_a_flow(seed):
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 5, 4).astype(float), random.integers(0, 5, 3).astype(float)
    capacity = float(random.integers(1, 4))
    rows, columns = np.kron(np.eye(4), np.ones(3)), np.kron(np.ones(4), np.eye(3))
    most = linprog(-np.ones(12), np.vstack([rows, columns]), np.r_[a, b], bounds=(0, capacity))
    assert find_shortage(a, b, capacity) == pytest.approx(a.sum() + most.fun, abs=1e-9)
    scale = min(a.sum(), b.sum())
    if scale > 0:
        a, b = a * scale / a.sum(), b * scale / b.sum()
        supplies, demands = fit_flow(a, b, capacity)
        assert supplies.sum() == demands.sum()
        assert find_shortage(supplies, demands, capacity) <= 1e-15
        assert (supplies <= a * (1 + 1e-15)).all()
        enough = find_shortage(a, b, capacity) <= 1e-12
        assert not enough or supplies.sum() >= a.sum() * (1 - 1e-12)


def test_what_no_pair_can_carry_is_cut():
    supplies, demands = fit_flow(np.array([1e30, 1.0]), np.array([1e30, 1e30]), 1.0)
    assert supplies.sum() == demands.sum()
    assert find_shortage(supplies, demands, 1.0) == 0
    assert fit_flow(np.zeros(2), np.zeros(3), 1.0)[0].sum() == 0


@every
@pytest.mark.parametrize("penalty", [L1(3.0), SquaredL2(3.0)], ids=lambda penalty: type(penalty).__name__)
def test_runs_reach_the_optimum_over_all_stumps_and_pairs(kind, penalty):
    X, y = noisy(24, 2, 5)
    groups = np.arange(24) % 3
    H, loss = all_stumps(X), kind(y, groups)
    w = cp.Variable(H.shape[1])
    first, second = np.nonzero((y[:, None] > 0) & (y < 0) & (groups[:, None] == groups))
    differences = (H[first] - H[second]) @ w
    model = {
        PairwiseHinge: cp.sum(cp.pos(1 - differences)),
        PairwiseExponential: cp.sum(cp.exp(-differences)),
        PairwiseSquaredHinge: cp.sum_squares(cp.pos(1 - differences)) / 2,
    }
    optimum = cp.Problem(cp.Minimize(model[kind] + penalty.model(w).expression)).solve(solver="CLARABEL", **TIGHT)
    run = assert_optimum(column_generation(Formulation(loss, penalty), Stumps(X)), optimum)
    assert run.ending is Ending.OPTIMAL


def test_many_pairs_are_smoothed(monkeypatch):
    X, y = noisy(30, 2, 1)
    formulation = Formulation(PairwiseHinge(y, C=0.04), L1(0.5), nonnegative=True)
    exact = column_generation(formulation, Stumps(X))
    monkeypatch.setattr(newton_masters, "MANY_PAIRS", 0)
    run = column_generation(formulation, Stumps(X), tol=1e-4, max_rounds=30, master=NewtonMaster)
    assert run.certificate.holds(1e-4)
    assert run.certificate.dual <= exact.certificate.primal * (1 + 1e-9)
    assert run.certificate.primal >= exact.certificate.dual * (1 - 1e-9)
