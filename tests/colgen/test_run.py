"""Runs: how they end, what they return then, separability, and degenerate data."""

import signal
from itertools import count, pairwise
from math import inf

import cvxpy as cp
import numpy as np
import pytest
from brute_force import (
    PlainTable,
    Table,
    all_stumps,
    assert_optimum,
    degenerate,
    linear_program,
    noisy,
    soft_minimum_program,
    solve_by_libsvm,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.smoothing import Averaged, InOut, stabilised
from cvxens.colgen import Column, Ending, Formulation, Priced, Round, column_generation, formulations
from cvxens.colgen.loop import RunLimits
from cvxens.colgen.masters import CvxpyMaster, HighsMaster, InteriorPointMaster
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.colgen.protocols import relative_gap
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput, NotSeparable
from cvxens.problems.losses import Exponential, HardMargin, Hinge, Logistic, SquaredHinge
from cvxens.problems.penalties import L1

X, y = noisy()
H = all_stumps(X)
N = len(y)
PRICE = 2.0
SOFT = formulations.soft_margin(PRICE)
OPTIMUM = linear_program(H, y, slack=PRICE)


def test_a_run_to_the_optimum_says_so():
    run = column_generation(SOFT, Stumps(X), y)
    assert run.ending is Ending.OPTIMAL
    assert run.certificate.proven
    assert run.certificate.note == "over every hypothesis of the oracle"
    assert run.certificate.primal == pytest.approx(OPTIMUM, rel=1e-6)
    assert run.certificate.dual == run.history[-1].bound
    assert len(run.columns) == len(run.weights) == run.history[-1].size
    assert run.intercept.shape == ()


@pytest.mark.parametrize("tol", [0.3, 0.03, 1e-9])
def test_it_stops_in_the_first_round_within_the_tolerance(tol):
    run = column_generation(SOFT, Table(H, 1), y, tol=tol)
    gaps = [
        (min(row.objective for row in run.history[: k + 1]) - run.history[k].bound)
        / max(min(row.objective for row in run.history[: k + 1]), run.history[k].bound)
        for k in range(len(run.history))
    ]
    assert gaps[-1] <= tol
    assert all(gap > tol for gap in gaps[:-1])
    assert run.certificate.relative_gap == pytest.approx(gaps[-1], abs=1e-12)


@pytest.mark.parametrize("master", [HighsMaster, InteriorPointMaster])
def test_max_columns_ends_a_run_with_a_valid_gap(master):
    run = column_generation(SOFT, Table(H, 2), y, tol=1e-9, max_columns=5, master=master)
    assert run.ending is Ending.MAX_COLUMNS
    assert 5 <= len(run.columns) <= 6
    assert [row.size < 5 for row in run.history] == [True] * (len(run.history) - 1) + [False]
    assert run.certificate.dual < OPTIMUM < run.certificate.primal
    assert run.certificate.proven


@pytest.mark.parametrize("master", [HighsMaster, InteriorPointMaster])
def test_max_time_ends_a_run_with_a_valid_gap(master):
    run = column_generation(SOFT, Table(H, 1), y, max_time=1e-9, master=master)
    assert run.ending is Ending.MAX_TIME
    assert len(run.history) == 1
    assert run.certificate.proven
    assert run.certificate.dual <= OPTIMUM <= run.certificate.primal
    assert_array_equal(run.decision_function(X), np.zeros(N))


def test_limits_in_their_order():
    def row(gap, n_columns):
        return [Round(1.0, 0.5, gap, n_columns, 0.0)]

    limits = RunLimits(1e-3, max_columns=4, max_rounds=1)
    assert limits.reached(row(5e-4, 9), time_over=True) is Ending.OPTIMAL
    assert limits.reached(row(-5e-4, 9), time_over=True) is Ending.VIOLATED
    assert limits.reached(row(0.5, 4), time_over=True) is Ending.MAX_COLUMNS
    assert limits.reached(row(0.5, 3), time_over=True) is Ending.MAX_ROUNDS
    assert RunLimits(1e-3).reached(row(0.5, 3), time_over=True) is Ending.MAX_TIME
    assert RunLimits(1e-3).reached(row(0.5, 3)) is None
    assert RunLimits(1e-3).reached(row(inf, 3)) is None
    assert relative_gap(inf, 1.0) == relative_gap(1.0, -inf) == inf
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(-1.0, -2.0) == 0.5


class Interrupted:
    """A master in whose solving, or adding, the user presses Ctrl-C, at the call of a given number."""

    def __init__(self, method, at):
        self.method, self.at, self.calls = method, at, count(1)

    def __call__(self, formulation, signs):
        master = HighsMaster(formulation, signs)
        original = getattr(master, self.method)

        def pressed(*arguments):
            if next(self.calls) == self.at:
                signal.raise_signal(signal.SIGINT)
            return original(*arguments)

        setattr(master, self.method, pressed)
        return master


@pytest.fixture
def ctrl_c():
    """SIGINT as a terminal has it: a shell's background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.product(method=["solve", "add", "bound"], at=[1, 2, 5])
def test_ctrl_c_in_the_master(ctrl_c, method, at):
    run = column_generation(SOFT, Table(H, 1), y, master=Interrupted(method, at))
    assert run.ending is Ending.INTERRUPTED
    assert len(run.history) == (at if method == "add" else at - 1)
    assert run.certificate.dual <= OPTIMUM <= run.certificate.primal
    assert run.certificate.proven == bool(run.history)
    assert len(run.weights) == len(run.columns)


@pytest.mark.product(at=[1, 2, 6], formulation=[SOFT, formulations.lpboost(0.1), formulations.svm(1.0)])
def test_ctrl_c_in_pricing(ctrl_c, formulation, at):
    class Pressed(Table):
        calls = count(1)

        def price(self, s, exclude=()):
            if next(self.calls) == at:
                signal.raise_signal(signal.SIGINT)
            return super().price(s, exclude)

    run = column_generation(formulation, Pressed(H, 1), y)
    whole = column_generation(formulation, Table(H, 1), y)
    assert run.ending is Ending.INTERRUPTED
    assert [row.objective for row in run.history] == [row.objective for row in whole.history[: at - 1]]
    found, best = (formulation.sense * each.certificate.primal for each in (run, whole))
    assert formulation.sense * run.certificate.dual <= best + 1e-9
    assert best <= found + 1e-9
    assert len(run.columns) == (run.history[-1].size if run.history else 0)
    # before the first answer nothing is proven, and of a vote nothing before it has weights
    assert run.certificate.proven == (at > 1 + formulation.maximise)
    assert run.decision_function(H).shape == (N,)


def test_an_error_of_the_oracle_is_not_swallowed():
    class Failing(Table):
        def price(self, s, exclude=()):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        column_generation(SOFT, Failing(H, 1), y)


def test_ctrl_c_while_the_certificate_is_made(ctrl_c, monkeypatch):
    original, calls = Restricted.residuals, count(1)

    def pressed(*arguments):
        if next(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    monkeypatch.setattr(Restricted, "residuals", pressed)
    run = column_generation(SOFT, Stumps(X), y)
    assert run.ending is Ending.INTERRUPTED
    assert run.certificate.primal == pytest.approx(OPTIMUM, rel=1e-6)


def test_the_callback_is_told_of_every_round():
    told = []
    run = column_generation(formulations.lpboost(0.1), Table(H, 1), y, callback=told.append)
    assert [step.number for step in told] == list(range(1, len(run.history) + 1))
    assert [-step.solution.objective for step in told] == [row.objective for row in run.history]
    assert [-step.incumbent.bound for step in told] == [row.bound for row in run.history]
    assert [len(step.columns) for step in told] == [row.size for row in run.history]
    best = [min(step.solution.objective for step in told[:k]) for k in range(1, len(told) + 1)]
    assert [step.incumbent.solution.objective for step in told] == best
    assert all(len(step.incumbent.columns) == len(step.incumbent.solution.w) for step in told)
    assert all(before.seconds < after.seconds for before, after in pairwise(told))
    assert told[-1].relative_gap == pytest.approx(run.certificate.relative_gap, abs=1e-12)
    assert told[-1].incumbent.columns == run.columns
    assert told[-1].incumbent.solution.w is run.weights


@pytest.mark.parametrize("at", [1, 2, 5])
def test_the_callback_may_stop_the_run(at):
    run = column_generation(SOFT, Table(H, 1), y, callback=lambda step: step.number == at)
    assert run.ending is Ending.STOPPED
    assert len(run.history) == at
    assert run.certificate.proven
    assert run.certificate.dual <= OPTIMUM <= run.certificate.primal


def test_the_callbacks_word_does_not_hide_another_ending():
    run = column_generation(SOFT, Table(H), y, callback=lambda step: step.relative_gap <= 1e-6)
    assert run.ending is Ending.OPTIMAL


def test_ctrl_c_in_the_callback_keeps_its_round():
    def impatient(step):
        if step.number == 3:
            raise KeyboardInterrupt

    run = column_generation(SOFT, Table(H, 1), y, callback=impatient)
    assert (run.ending, len(run.history)) == (Ending.INTERRUPTED, 3)


def test_an_oracle_without_a_bound_proves_nothing():
    run = column_generation(SOFT, PlainTable(H, bounded=False), y)
    assert run.ending is Ending.EXHAUSTED
    assert not run.certificate.proven
    assert run.certificate.note == "the oracle cannot bound the edges"
    assert run.certificate.primal == pytest.approx(OPTIMUM, rel=1e-9)
    assert all(row.bound <= OPTIMUM for row in run.history)
    squares = column_generation(formulations.svm(1.0), Stumps(X, square_sum=False), y, max_columns=9)
    assert not squares.certificate.proven
    assert squares.certificate.note.startswith("the oracle does not bound the sum of squared edges")
    cubes = Formulation(formulations.svm(1.0).loss, lambda w: cp.sum(cp.power(cp.abs(w), 3)))
    powers = column_generation(cubes, Stumps(X), y, max_columns=2)
    assert not powers.certificate.proven
    assert powers.certificate.note.startswith("the penalty needs the edges of all hypotheses")


def test_an_oracle_that_overstates_its_bound_never_proves_more():
    class Loose(Table):
        def price(self, s, exclude=()):
            priced = super().price(s, exclude)
            return Priced(priced.columns, 2 * priced.edge_bound, 4 * priced.edge_square_sum)

    for formulation, optimum in ((SOFT, OPTIMUM), (formulations.lpboost(0.1), soft_minimum_program(H, y, 0.1))):
        run = column_generation(formulation, Loose(H), y)
        assert run.ending is Ending.EXHAUSTED
        assert run.certificate.proven
        assert run.certificate.gap > 0.1 * abs(optimum)
        assert run.certificate.primal == pytest.approx(optimum, rel=1e-9)
        assert not run.certificate.holds()


def test_the_best_bound_so_far_is_kept():
    run = column_generation(SOFT, Table(H, 1), y)
    assert [row.bound for row in run.history] == sorted(row.bound for row in run.history)
    edges = np.abs(H.T @ (y * run.u)).max()
    assert run.u.sum() / max(1.0, edges) == pytest.approx(run.certificate.dual, rel=1e-9)


def test_an_oracle_without_any_hypothesis():
    class Nothing:
        sample = X

        def price(self, s, exclude=()):
            return Priced([], 0.0, 0.0)

    run = column_generation(SOFT, Nothing(), y)
    assert (run.ending, len(run.columns)) == (Ending.OPTIMAL, 0)
    assert run.certificate.primal == run.certificate.dual == pytest.approx(PRICE * N)
    with pytest.raises(NotSeparable):
        column_generation(formulations.hard_margin(), Nothing(), y)


def test_new_samples_are_scored_by_the_hypotheses():
    run = column_generation(SOFT, Stumps(X), y)
    new = X[:7] + 0.25
    expected = sum(w * c.hypothesis(new) for w, c in zip(run.weights, run.columns, strict=True))
    assert_allclose(run.decision_function(new), expected, atol=1e-12)
    codes = np.column_stack([y > 0, y < 0]) @ np.array([[1.0], [-1.0]])
    least_squares = column_generation(formulations.simplex_least_squares(codes, 1e-9), Stumps(X), max_time=1e-9)
    assert_allclose(least_squares.decision_function(new), np.full((7, 1), y.mean()), atol=1e-12)


@pytest.mark.parametrize("master", [HighsMaster, CvxpyMaster])
@pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")
def test_separation_after_several_rounds_of_farkas_vectors(master):
    steps = np.arange(10.0)
    labels = np.where(steps % 2 > 0, 1.0, -1.0)
    table = all_stumps(steps[:, None])
    run = column_generation(formulations.hard_margin(), Table(table, 1), labels, tol=1e-9, master=master)
    infeasible = [row for row in run.history if row.objective == inf]
    assert len(infeasible) > 3
    assert all(row.objective < inf for row in run.history[len(infeasible) :])
    assert_optimum(run, linear_program(table, labels, slack=None), rel=1e-8, gap=1e-7)
    assert (labels * run.decision_function(table)).min() >= 1 - 1e-9


@pytest.mark.parametrize("master", [HighsMaster, CvxpyMaster])
def test_unit_edges_of_the_first_round_do_not_end_a_separable_run(master):
    three = np.array([[0.0], [1.0], [2.0]])
    labels = np.array([1.0, -1.0, 1.0])
    assert np.abs(all_stumps(three).T @ labels).max() == 1.0
    assert_optimum(column_generation(formulations.hard_margin(), Stumps(three), labels, master=master), 3.0)


def test_interrupted_before_it_is_separable():
    run = column_generation(formulations.hard_margin(), Stumps(np.c_[:10.0]), [-1.0, 1.0] * 5, max_columns=1)
    assert run.ending is Ending.MAX_COLUMNS
    assert run.certificate.primal == inf
    assert not run.certificate.proven
    assert_array_equal(run.weights, np.zeros(len(run.columns)))


def test_hypotheses_of_tiny_values_separate_as_well():
    tiny = PlainTable(1e-5 * all_stumps(np.arange(6.0)[:, None]), 2)
    labels = [-1.0, 1.0] * 3
    whole = column_generation(formulations.hard_margin(), PlainTable(1e5 * tiny.H, 2), labels)
    run = column_generation(formulations.hard_margin(), tiny, labels)
    assert run.certificate.primal == pytest.approx(1e5 * whole.certificate.primal, rel=1e-5)
    assert run.certificate.proven


@pytest.mark.parametrize("master", [HighsMaster, *(stabilised(HighsMaster, rule(0.5)) for rule in (InOut, Averaged))])
@settings(max_examples=10)
@given(degenerate(), st.booleans())
def test_hard_margins_on_degenerate_data(master, sample, intercept):
    Z, labels = sample
    formulation = Formulation(HardMargin(), L1(), intercept=intercept, nonnegative=True)
    optimum = linear_program(all_stumps(Z), labels, slack=None, intercept=intercept)
    if optimum < inf:
        run = column_generation(formulation, Stumps(Z), labels, tol=1e-9, master=master)
        assert_optimum(run, optimum, rel=1e-8, gap=1e-8)
        return
    with pytest.raises(NotSeparable) as raised:
        column_generation(formulation, Stumps(Z), labels, tol=1e-9, master=master)
    u = raised.value.farkas
    assert u.shape == labels.shape
    assert u.min() >= 0
    assert u.sum() == pytest.approx(1.0)
    largest = np.abs(all_stumps(Z).T @ (labels * u)).max()
    assert largest < 1e-6
    assert raised.value.max_edge == pytest.approx(largest, abs=1e-9)


@settings(max_examples=12)
@given(degenerate(), st.sampled_from([0.05, 1.0]))
def test_squared_penalties_on_degenerate_data(sample, C):
    Z, labels = sample
    M = all_stumps(Z)
    run = column_generation(formulations.svm(C), Stumps(Z), labels, tol=1e-7)
    assert_optimum(run, -solve_by_libsvm(M @ M.T, labels, C))


@given(
    sample=degenerate(),
    loss=st.sampled_from([Exponential, Logistic, SquaredHinge]),
    C=st.sampled_from([0.02, 1.0, 50.0]),
    weight=st.sampled_from([0.1, 3.0, 100.0]),
    intercept=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")
def test_smooth_losses_on_degenerate_data(sample, loss, C, weight, intercept):
    """Under a large weight the best intercept alone is optimal, and proven so before there is a column."""
    Z, labels = sample
    run = column_generation(Formulation(loss(C), L1(weight), intercept=intercept), Stumps(Z), labels, tol=1e-7)
    assert run.certificate.holds(1e-6)
    if not len(run.columns):
        assert len(run.history) == 1
        assert run.certificate.primal == pytest.approx(loss(C).value(labels * run.intercept), rel=1e-9)


@pytest.mark.parametrize(
    ("C", "weight", "intercept"),
    [
        *((C, 1.0, intercept) for C in (1e-6, 1e-3, 1e3, 1e6) for intercept in (False, True)),
        *((PRICE * weight, weight, False) for weight in (1e-6, 1e6)),
    ],
)
def test_soft_margins_at_any_scale_of_price_and_weight(C, weight, intercept):
    formulation = Formulation(Hinge(C), L1(weight), intercept=intercept, nonnegative=True)
    run = column_generation(formulation, Stumps(X), y, tol=1e-9)
    assert_optimum(run, linear_program(H, y, slack=C, weight=weight, intercept=intercept), rel=1e-8, gap=1e-8)


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_least_squares_at_any_scale_of_the_price(C):
    L = y[:, None]
    run = column_generation(formulations.simplex_least_squares(L, C), Pool(H, columns_per_round=8), tol=1e-9)
    Z = np.column_stack([H, np.ones(N)])
    V = np.linalg.solve(Z.T @ Z * C + np.diag([1.0] * H.shape[1] + [0.0]), C * Z.T @ L)
    optimum = np.square(V[:-1]).sum() / 2 + C / 2 * np.square(L - Z @ V).sum()
    assert_optimum(run, optimum)


@pytest.mark.parametrize(
    ("make", "labels", "message"),
    [
        (lambda: SOFT, np.ones(N), "^y: found one class only"),
        (lambda: SOFT, np.arange(N), "^y: found the labels"),
        (lambda: SOFT, None, "^y: found "),
        (lambda: SOFT, np.append(y[:-1], np.nan), "^y: found nan"),
        (lambda: SOFT, y[:-1], f"^s: found {N - 1} rows for {N} samples"),
        (
            lambda: formulations.simplex_least_squares(y, 1.0),
            y,
            "^y: found labels for a loss on scores, which holds its targets",
        ),
        (lambda: formulations.lpboost(0.04), y, "^D: found 0.04 a sample; give at least 0.0416667"),
        (lambda: formulations.svm(0), y, "^C: found"),
        (lambda: formulations.soft_margin(-1.0), y, "^C: found"),
        (lambda: formulations.simplex_least_squares(y, inf), None, "^C: found"),
    ],
)
def test_labels_and_prices_that_are_none(make, labels, message):
    with pytest.raises(InvalidInput, match=message):
        column_generation(make(), Stumps(X), labels)


def test_columns_are_evaluated_once():
    calls = []

    def hypothesis(sample):
        calls.append(sample)
        return np.ones(2)

    column = Column(hypothesis, X, 1.0)
    np.testing.assert_array_equal(column.values, column.values)
    assert len(calls) == 1
    assert Priced([]).best_edge == 0.0
    assert Priced([column, Column(hypothesis, X, 3.0)]).best_edge == 3.0
