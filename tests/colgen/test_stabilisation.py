"""Smoothed multipliers: the same optimum, valid bounds, and no wrong end."""

import numpy as np
import pytest
from brute_force import Table, all_stumps, assert_optimum, linear_program, noisy
from numpy.testing import assert_allclose

from cvxens.colgen import Column, Ending, MasterSolution, Priced, column_generation, formulations, iterate
from cvxens.colgen.masters import HighsMaster, LeastSquaresMaster
from cvxens.colgen.oracles import Stumps
from cvxens.colgen.stabilisation import Averaged, InOut, StabilisedMaster, stabilised

X, y = noisy(60, 4, seed=1)
H = all_stumps(X)
SOFT = formulations.soft_margin(0.4)
OPTIMUM = linear_program(H, y, slack=0.4)


@pytest.mark.parametrize("rule", [InOut(0.4), Averaged(0.4)])
def test_squared_penalties_reach_their_optimum(rule):
    formulation = formulations.simplex_least_squares(y[:, None], 0.3)
    plain = column_generation(formulation, Stumps(X), tol=1e-9)
    smooth = column_generation(formulation, Stumps(X), tol=1e-9, master=stabilised(LeastSquaresMaster, rule))
    assert_optimum(smooth, plain.certificate.primal, rel=1e-8, gap=1e-8)


def test_without_smoothing_nothing_changes():
    one, other = (
        [(step.solution.objective, step.bound) for step in iterate(master(SOFT, y), Stumps(X, columns_per_round=1))]
        for master in (HighsMaster, stabilised(HighsMaster, InOut(0.0)))
    )
    assert_allclose(other[: len(one)], one, rtol=1e-9)
    assert len(other) <= len(one) + 1


def test_smoothing_spares_rounds_where_one_stump_is_added_at_a_time():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 10))
    labels = np.sign(Z.sum(axis=1) + rng.normal(size=400))
    rounds = [
        len(
            column_generation(
                formulations.soft_margin(0.05), Stumps(Z, columns_per_round=1), labels, tol=1e-3, master=master
            ).history
        )
        for master in (HighsMaster, stabilised(HighsMaster, InOut(0.5)))
    ]
    assert rounds[1] < rounds[0]


class Fixed:
    """A master that always answers the same, and bounds by the sum of u."""

    def __init__(self, *u):
        self.u = np.array(u)
        self.columns = 0

    def add(self, columns):
        self.columns += len(columns)

    def solve(self):
        return MasterSolution(np.zeros(0), np.zeros(()), self.u, -self.u, 9.0, 1.0)

    def bound(self, solution, priced):
        return float(solution.u.sum())


NEW = [Column(str, None, 2.0)]


def test_the_priced_point_lies_between_the_centre_and_the_masters_own():
    inner = Fixed(2.0, 4.0)
    master = StabilisedMaster(inner, SOFT, np.array([1.0, -1.0]), InOut(0.25))
    first = master.solve()
    assert first.u is inner.u
    assert master.bound(first, Priced([], 2.0)) == 6.0
    assert_allclose(master.centre, [1.0, 2.0])
    master.add(NEW)
    inner.u = np.array([0.0, 3.0])
    smoothed = master.solve()
    assert inner.columns == 1
    assert_allclose(smoothed.u, [0.25, 2.75])
    assert_allclose(smoothed.s, [0.25, -2.75])
    assert not smoothed.exact
    assert master.bound(smoothed, Priced([], 1.0)) == 3.0
    assert_allclose(master.centre, [1.0, 2.0])
    assert master.solve().u is inner.u
    assert master.solve().exact


def test_the_average_moves_with_every_point():
    inner = Fixed(2.0, 4.0)
    master = StabilisedMaster(inner, SOFT, np.ones(2), Averaged(0.5))
    master.bound(master.solve(), Priced([], 1.0))
    inner.u = np.zeros(2)
    for power in (1, 2, 3):
        master.add(NEW)
        solution = master.solve()
        assert_allclose(solution.u, np.array([2.0, 4.0]) / 2**power)
        master.bound(solution, Priced([], 1.0))


def test_under_a_heuristic_oracle_the_end_is_the_masters_own():
    run = column_generation(SOFT, Table(H, 3, bounded=False), y, tol=1e-8, master=stabilised(HighsMaster, InOut(0.5)))
    assert run.ending is Ending.EXHAUSTED
    assert run.certificate.primal == pytest.approx(OPTIMUM, rel=1e-8)
    assert not run.certificate.proven
