"""The interior-point master: equal to HiGHS on all stumps, certified at every step, whatever the data and the price."""

import numpy as np
import pytest
from brute_force import PlainTable, Table, all_stumps, assert_optimum, linear_program, noisy
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1

from cvxens.colgen import Formulation, column_generation, formulations, iterate
from cvxens.colgen.masters import HighsMaster, InteriorPointMaster, fastest_master
from cvxens.colgen.masters import linear_masters as module
from cvxens.colgen.oracles import AdditiveTerms, Stumps
from cvxens.errors import SolverFailed, SolverFallbackWarning
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1
from cvxens.types import Attempt

X, y = noisy(60, 4, seed=1)
H = all_stumps(X)


@pytest.mark.thinned(1, weight=[1e-6, 1.0, 1e6], scale=[1e-4, 1.0, 1e4])
def test_columns_of_any_values_at_any_scale_of_price_and_weight(weight, scale):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(len(y), 40))
    formulation = Formulation(Hinge(0.3 * weight / scale), L1(weight), intercept=True)
    run = column_generation(formulation, PlainTable(scale * table, 3), y, tol=1e-8, master=InteriorPointMaster)
    expected = weight / scale * linear_program(table, y, slack=0.3, intercept=True)
    assert_optimum(run, expected, rel=1e-7, gap=1e-7)


@pytest.mark.parametrize("bounded", [True, False])
def test_copies_of_columns_under_other_names(bounded):
    twice = np.hstack([H, H, -H])
    table = Table(twice, 7, bounded=bounded)
    run = column_generation(formulations.soft_margin(0.4), table, y, tol=1e-9, master=InteriorPointMaster)
    assert run.certificate.primal == pytest.approx(linear_program(H, y, slack=0.4), rel=1e-8)
    assert run.certificate.proven == bounded


@pytest.mark.parametrize("nonnegative", [True, False])
def test_resting_columns_come_back_when_they_are_needed(monkeypatch, nonnegative):
    formulation = Formulation(Hinge(0.4), L1(), intercept=True, nonnegative=nonnegative)
    optimum = linear_program(H, y, slack=0.4, intercept=True)
    sizes = {}
    for rounds in (0, 10**9):
        monkeypatch.setattr(module, "PURGE_AFTER", rounds + 1)
        master = InteriorPointMaster(formulation, y)
        *_, last = iterate(master, Stumps(X))
        assert last.solution.objective == pytest.approx(optimum, rel=1e-8)
        sizes[rounds] = len(master.working[0])
    assert sizes[0] < sizes[10**9]


def test_the_restricted_problem_is_solved_no_further_than_the_outer_gap_warrants():
    steps = list(iterate(InteriorPointMaster(formulations.soft_margin(0.4), y), Stumps(X, columns_per_round=2)))
    exact = list(iterate(HighsMaster(formulations.soft_margin(0.4), y), Stumps(X, columns_per_round=2)))
    early = [step for step in steps[1 : len(steps) // 2] if step.bound < 0.9 * step.solution.objective]
    assert early
    assert not any(step.solution.exact for step in early)
    assert steps[-1].bound == pytest.approx(exact[-1].bound, rel=1e-8)


def test_it_agrees_with_highs_on_weights_where_they_are_unique():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(40, 6))
    labels = np.sign(table @ rng.normal(size=6) + rng.normal(size=40))
    formulation = Formulation(Hinge(0.2), L1(), intercept=True)
    runs = [
        column_generation(formulation, PlainTable(table, 6), labels, tol=1e-10, master=master)
        for master in (InteriorPointMaster, HighsMaster)
    ]
    by_name = [{c.hypothesis: w for c, w in zip(run.columns, run.weights, strict=True)} for run in runs]
    assert by_name[0].keys() == by_name[1].keys()
    assert_allclose(list(by_name[0].values()), [by_name[1][h] for h in by_name[0]], atol=1e-6)


def test_it_is_chosen_for_large_samples():
    labels = np.resize([1.0, -1.0], InteriorPointMaster.least_samples)
    assert isinstance(fastest_master(formulations.soft_margin(0.4), labels), InteriorPointMaster)
    assert isinstance(fastest_master(formulations.soft_margin(0.4), labels[:-1]), HighsMaster)
    assert isinstance(fastest_master(formulations.lpboost(0.4), labels), InteriorPointMaster)
    assert isinstance(fastest_master(formulations.lpboost(0.4), labels[:-1]), HighsMaster)
    for n, kind in ((300, InteriorPointMaster), (299, HighsMaster)):
        assert isinstance(fastest_master(formulations.least_absolute_deviations(labels[:n]), np.ones(n)), kind)


def test_a_start_near_the_border_goes_on_while_products_halve(monkeypatch):
    # after ten steps of a falling complementarity the path was given up, and the simplex method did all
    monkeypatch.setattr(InteriorPointMaster, "_finish", lambda _: pytest.fail("it was given up"))
    sample, t = make_friedman1(300, 10, noise=1.0, random_state=0)
    formulation = formulations.least_absolute_deviations(t, 0.5)
    run = column_generation(formulation, AdditiveTerms(sample), master=InteriorPointMaster, max_rounds=4)
    assert run.certificate.primal < 0.3 * run.history[0].objective


def test_where_it_can_do_no_more_the_simplex_method_finishes(monkeypatch):
    formulation = Formulation(Hinge(1e6), L1())
    finished = InteriorPointMaster(formulation, y)
    *_, last = iterate(finished, Stumps(X))
    assert last.solution.exact
    assert last.solution.objective == pytest.approx(linear_program(H, y, slack=1e6), rel=1e-9)

    def fails(self):
        raise SolverFailed([Attempt("HiGHS", "lost", 0.0)])

    monkeypatch.setattr(HighsMaster, "solve_live", fails)
    with pytest.warns(SolverFallbackWarning, match="could do no more, and .*lost"):
        *_, last = iterate(InteriorPointMaster(formulation, y), Stumps(X))
    assert last.solution.exact
    assert last.solution.objective == pytest.approx(linear_program(H, y, slack=1e6), rel=1e-3)


def test_a_path_whose_gap_rises_at_first_goes_on(monkeypatch):
    features = np.random.default_rng(0).normal(size=(1000, 20))
    targets = (features[:, 0] + features[:, 1] ** 2) / 3

    def fails(self):
        raise AssertionError("the simplex method is not wanted")

    monkeypatch.setattr(InteriorPointMaster, "_finish", fails)
    formulation = formulations.least_absolute_deviations(targets, C=1.0 / 10)
    run = column_generation(formulation, Stumps(features), None, max_rounds=4)
    assert len(run.history) == 4
