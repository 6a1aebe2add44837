"""The linear program that stays alive: rows are added, the basis is kept, multipliers have the right sign."""

import sys
import warnings
from types import ModuleType

import cvxpy
import highspy
import numpy as np
import pytest
from brute_force import Table, all_stumps, noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from cvxens.colgen import Formulation, column_generation, formulations, iterate
from cvxens.colgen.masters import HighsMaster
from cvxens.colgen.masters.linear_masters import STARTS, LiveProgram
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.errors import SolverFailed, SolverFallbackWarning
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1

X, y = noisy(60, 4, seed=1)
H = all_stumps(X)
N = len(y)


MASTERS = {
    "soft margin": (formulations.soft_margin(1.0), 0),
    "soft margin, free, intercept": (Formulation(Hinge(1.0), L1(), intercept=True), 1),
    "lpboost": (formulations.lpboost(0.05), 1),
    "hard margin": (formulations.hard_margin(), 1),
}


@pytest.mark.parametrize("name", MASTERS)
def test_every_column_is_one_more_row_of_the_same_model(name):
    formulation, first = MASTERS[name]
    master = HighsMaster(formulation, y)
    program = master.program
    alive, variables = program.highs, program.highs.getNumCol()
    for step in iterate(master, Table(H, 3)):
        assert master.program.highs is alive
        assert alive.getNumRow() == first + len(step.columns)
        assert alive.getNumCol() == variables
    assert len(step.columns) > 10


@pytest.mark.parametrize("name", ["soft margin", "lpboost"])
def test_a_warm_start_takes_fewer_iterations_than_a_cold_one(name):
    warm = cold = 0
    master = HighsMaster(MASTERS[name][0], y)
    for step in iterate(master, Table(H, 3)):
        if not step.columns:
            continue
        warm += master.program.highs.getInfo().simplex_iteration_count
        again = HighsMaster(MASTERS[name][0], y)
        again.add(step.columns)
        assert again.solve().objective == pytest.approx(step.solution.objective, rel=1e-9)
        cold += again.program.highs.getInfo().simplex_iteration_count
    assert warm < cold / 2


@pytest.mark.parametrize("name", MASTERS)
def test_weights_are_multipliers_of_the_right_sign(name):
    """Unrepaired: what comes from HiGHS is w >= 0 and u >= 0, and its edges price every column in the master."""
    formulation, first = MASTERS[name]
    master = HighsMaster(formulation, y)
    for step in iterate(master, Table(H, 4)):
        if len(step.columns) < 12:
            continue
        variables, multipliers = master.program.solve()
        assert variables[:N].min() >= 0
        w = -multipliers[first:]
        if formulation.nonnegative:
            assert w.min() >= 0
        assert w.max() > 0
        if step.solution.objective < np.inf:
            assert_allclose(w / np.abs(w).sum(), step.solution.w / np.abs(step.solution.w).sum(), atol=1e-9)
            z = y * (master.restricted.H @ step.solution.w + step.solution.b)
            assert formulation.loss.slackness(z, step.solution.u) < 1e-7
        break


@st.composite
def programs(draw):
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.integers(-3, 4, (m, n)).astype(float)
    return rng.integers(-4, 5, n).astype(float), rows, rng.integers(0, 6, m).astype(float)


@settings(max_examples=60)
@given(programs())
def test_any_program_agrees_with_scipy_after_every_row(case):
    cost, rows, upper = case
    program = LiveProgram(cost, np.zeros(len(cost)), np.full(len(cost), 7.0))
    for k, row in enumerate(rows, start=1):
        program.add_row(-np.inf, row, upper[k - 1])
        x, multipliers = program.solve()
        reference = linprog(cost, A_ub=rows[:k], b_ub=upper[:k], bounds=(0, 7))
        assert cost @ x == pytest.approx(reference.fun, abs=1e-9)
        assert (rows[:k] @ x <= upper[:k] + 1e-9).all()
        assert multipliers.shape == (k,)
        assert (multipliers <= 1e-9).all()
        # strong duality: the reduced costs are paid at the bounds
        reduced = cost - rows[:k].T @ multipliers
        assert upper[:k] @ multipliers + 7 * np.minimum(reduced, 0).sum() == pytest.approx(cost @ x, abs=1e-8)


def test_a_row_may_leave_out_the_last_variables():
    program = LiveProgram(np.array([-1.0, -1.0]), np.zeros(2), np.ones(2))
    program.add_row(0.0, np.array([1.0]), 0.5)
    x, _ = program.solve()
    assert_array_equal(x, [0.5, 1.0])


def test_what_has_no_optimum_fails_after_every_start():
    program = LiveProgram(np.array([1.0]), np.zeros(1), np.ones(1))
    program.add_row(2.0, np.array([1.0]), np.inf)
    with pytest.raises(SolverFailed, match="HiGHS, warm start: Infeasible; HiGHS, cold start: Infeasible") as raised:
        program.solve()
    assert [attempt.seconds >= 0 for attempt in raised.value.attempts] == [True] * len(STARTS)


def test_prices_of_many_sizes_are_solved_in_other_units():
    rng = np.random.default_rng(242)
    n, d = int(rng.integers(4, 60)), int(rng.integers(1, 5))
    features = rng.normal(size=(n, d)).round(int(rng.integers(0, 3)))
    labels = np.where(features[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    price = 10.0 ** rng.uniform(-8, 8)
    rng.integers(0, 4)
    # HiGHS ends as "Unknown", warm and cold, where it is given 2e11 as a bound
    prices = price * rng.choice([1e-6, 1.0, 1e6], size=n)
    run = column_generation(formulations.soft_margin(prices), Stumps(features), labels, tol=1e-6)
    assert run.certificate.holds(1e-6)


def test_where_highs_fails_the_reference_answers_and_says_so(monkeypatch):
    def fail(self):
        raise SolverFailed([])

    monkeypatch.setattr(LiveProgram, "solve", fail)
    with pytest.warns(SolverFallbackWarning, match="cvxpy's solvers answer"):
        run = column_generation(formulations.soft_margin(1.0), Pool(H), y, tol=1e-6, master=HighsMaster)
    monkeypatch.undo()
    exact = column_generation(formulations.soft_margin(1.0), Pool(H), y, tol=1e-6, master=HighsMaster)
    assert run.certificate.holds(1e-6)
    assert_allclose(run.certificate.primal, exact.certificate.primal, rtol=2e-6)


def test_a_program_recovers_from_a_spoilt_basis():
    program = LiveProgram(np.array([-1.0, -2.0]), np.zeros(2), np.full(2, 9.0))
    program.add_row(-np.inf, np.array([1.0, 1.0]), 4.0)
    basis = highspy.HighsBasis()
    basis.col_status = [highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower]
    basis.row_status = [highspy.HighsBasisStatus.kUpper]
    basis.valid = True
    program.highs.setBasis(basis)
    x, multipliers = program.solve()
    assert_allclose(x, [0.0, 4.0], atol=1e-12)
    assert_allclose(multipliers, [-2.0], atol=1e-12)


@pytest.mark.parametrize("clash", [True, False])
def test_a_missing_highs_is_blamed_on_ortools_where_that_is_loaded(monkeypatch, clash):
    monkeypatch.setitem(sys.modules, "highspy", None)
    monkeypatch.delitem(sys.modules, "ortools", raising=False)
    if clash:
        monkeypatch.setitem(sys.modules, "ortools", ModuleType("ortools"))
    for make in (lambda: HighsMaster(MASTERS["soft margin"][0], y), lambda: LiveProgram(*np.ones((3, 1)))):
        with pytest.raises(ImportError, match="highspy cannot be imported") as raised:
            make()
        assert ("; ortools, which this process has loaded" in str(raised.value)) == clash


@pytest.mark.parametrize("name", MASTERS)
def test_without_highs_another_master_finds_the_same_optimum_and_says_so(name, monkeypatch):
    expected = column_generation(MASTERS[name][0], Pool(H), y).certificate.primal
    assert "HIGHS" in cvxpy.installed_solvers()
    monkeypatch.setitem(sys.modules, "highspy", None)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        run = column_generation(MASTERS[name][0], Pool(H), y, tol=1e-6)
    fallbacks = [str(each.message) for each in warned if each.category is SolverFallbackWarning]
    assert any("answers instead of HighsMaster" in said for said in fallbacks)
    assert run.certificate.primal == pytest.approx(expected)


@pytest.mark.parametrize("number", [1e16, np.inf])
def test_coefficients_that_highs_does_not_take(number):
    program = LiveProgram(np.array([-1.0]), np.zeros(1), np.full(1, 9.0))
    with pytest.raises(SolverFailed, match="HiGHS: refused"):
        program.add_row(-np.inf, np.array([number]), 4.0)
