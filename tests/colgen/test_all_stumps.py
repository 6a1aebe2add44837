"""Column generation that begins with all stumps, or a smooth neighbour: the same optimum and bits, and what is odd."""

import numpy as np
import pytest

from cvxens.colgen import Checkpoint, Formulation, column_generation, formulations
from cvxens.colgen.masters import HighsMaster, InteriorPointMaster, NewtonMaster, linear_masters
from cvxens.colgen.oracles import Stumps
from cvxens.limits import limit_threads
from cvxens.problems.penalties import L1
from cvxens.problems.target_losses import AbsoluteError, Pinball
from cvxens.solvers import additive_hinge
from cvxens.trees import Feature


@pytest.fixture(autouse=True)
def _begin_with_few_samples(monkeypatch):
    for name in ("many_samples", "least_samples", "rounded_samples"):
        monkeypatch.setattr(InteriorPointMaster, name, 0)


def draw_sample(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(0, 1.0, n) > 0, 1.0, -1.0)


def assert_same_optimum(formulation, X, y, **options):
    run = column_generation(formulation, Stumps(X, **options), y, tol=1e-6)
    # the dual simplex over columns that it finds itself
    other = column_generation(formulation, Stumps(X, **options), y, tol=1e-9, master=HighsMaster)
    assert run.certificate.proven
    assert run.certificate.holds(1e-6)
    assert run.certificate.primal == pytest.approx(other.certificate.primal, rel=3e-6, abs=1e-9)
    return run


@pytest.mark.thinned(1, constant=[True, False])
@pytest.mark.parametrize(
    "formulation",
    [
        formulations.soft_margin(0.2),
        formulations.soft_margin(np.linspace(0.05, 0.2, 60)),
        formulations.lpboost(1 / 30),
        formulations.lpboost(np.linspace(0.05, 0.2, 60)),
    ],
    ids=["C", "C of samples", "D", "D of samples"],
)
def test_optimum_is_that_of_the_simplex_method(formulation, constant):
    run = assert_same_optimum(formulation, *draw_sample(), constant=constant)
    assert run.history[0].relative_gap <= 1e-3


def test_odd_samples():
    X, y = draw_sample(40, 3, 1)
    few = np.where(np.arange(40) == 7, 1.0, -1.0)
    cases = [
        (np.round(X), y),
        (X + 1e12, y),
        (np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0])),
        (X, few),
        # features that are alike, which the interior-point method begins with, and some that are the same
        (np.repeat(X, 20, axis=1), y),
        (np.hstack([X, -X]), y),
        (np.vstack([X, X]), np.append(y, -y)),
    ]
    for features, labels in cases:
        assert_same_optimum(formulations.soft_margin(0.3), features, labels)
    for features, labels in cases[:6]:
        assert_same_optimum(formulations.lpboost(1.9 / len(labels)), features, labels)


def draw_targets(n, d=3, seed=0):
    X, random = draw_sample(n, d, seed)[0], np.random.default_rng(seed)
    return X, X[:, 0] + np.abs(X[:, 1]) + random.standard_t(2, n)


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_optimum_of_quantiles_is_that_of_the_simplex_method(q, monkeypatch):
    monkeypatch.setattr(Stumps, "every_step", None)
    X, t = draw_targets(60)
    prices, levels = np.linspace(0.05, 0.2, 60), np.linspace(0.1, 0.9, 60)
    cases = [(X, Pinball(t, q, 0.2)), (np.round(X), Pinball(np.round(t), q, prices)), (X, Pinball(t, levels, 0.2))]
    cases += [(X[:2], Pinball(t[:2], q, 3.0)), (X + 1e12, Pinball(1e6 * t + 1e9, q, 1e-6)), (X, AbsoluteError(t, 0.1))]
    cases += [(X, Pinball(np.where(t > 2, 1e9, t), q, 1e-3)), (X, Pinball(np.where(t > 0, 2.0, 1.0), q))]
    for features, loss in cases:
        for intercept, nonnegative in ((True, False), (True, True), (False, False)):
            formulation = Formulation(loss, L1(), intercept=intercept, nonnegative=nonnegative)
            assert_same_optimum(formulation, features, None)
    constant = column_generation(Formulation(Pinball(np.full(60, 2.0), q), L1(), intercept=True), Stumps(X))
    assert (constant.certificate.primal, constant.certificate.gap < 1e-12) == (0.0, True)


def test_a_neighbour_leaves_few_rounds_and_what_was_found(monkeypatch):
    monkeypatch.setattr(Stumps, "every_step", None)
    X, t = draw_targets(2000)
    formulation, steps, step = Formulation(AbsoluteError(t, 0.02), L1(), intercept=True), [], NewtonMaster._step
    run = column_generation(formulation, Stumps(X), tol=1e-3)
    other = column_generation(formulation, Stumps(X), tol=1e-3, master=InteriorPointMaster)
    assert run.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-3)
    assert (run.certificate.holds(1e-3), len(run.history) < len(other.history) / 3) == (True, True)
    assert column_generation(formulation, Stumps(X), max_time=1e-9).certificate.proven

    def interrupted(self, tol):
        steps.append(tol)
        if len(steps) == 6:
            raise KeyboardInterrupt
        return step(self, tol)

    monkeypatch.setattr(NewtonMaster, "_step", interrupted)
    ended = column_generation(formulation, Stumps(X), tol=1e-3)
    assert (ended.ending.name, ended.certificate.proven) == ("INTERRUPTED", True)
    assert ended.certificate.primal < 0.9 * formulation.loss.value(np.full(2000, np.median(t)))


def test_margin_of_zero(monkeypatch):
    monkeypatch.setattr(additive_hinge, "PATIENCE", 100)
    X, y = draw_sample(30, 3, 2)
    X, y = np.vstack([X, X]), np.append(y, -y)
    run = column_generation(formulations.lpboost(1 / 30), Stumps(X), y, tol=1e-3)
    # in units of margins: tol of a tenth
    assert abs(run.certificate.primal) <= 1e-4
    assert run.certificate.gap <= 1e-4


def test_threads_change_no_bit():
    X, y = draw_sample()
    found = []
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            found.append(column_generation(formulations.lpboost(1 / 30), Stumps(X), y))
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    np.testing.assert_array_equal(found[0].u, found[1].u)
    assert [row.objective for row in found[0].history] == [row.objective for row in found[1].history]


def test_it_goes_on_from_checkpoints(tmp_path, monkeypatch):
    (X, y), formulation = draw_sample(), formulations.soft_margin(0.2)
    options = {"tol": 1e-6, "checkpoint": Checkpoint(tmp_path / "run")}
    column_generation(formulation, Stumps(X), y, max_rounds=2, **options)
    # what it has begun with is in the file
    monkeypatch.setattr(linear_masters, "AdditiveHinge", None)
    resumed = column_generation(formulation, Stumps(X), y, **options)
    assert resumed.certificate.holds(1e-6)


def test_an_interrupt_leaves_what_was_found(monkeypatch):
    (X, y), formulation = draw_sample(), formulations.soft_margin(0.2)
    iterate = additive_hinge.AdditiveHinge._iterate

    def interrupted(self):
        iterate(self)
        if self.n_iterations == 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(additive_hinge.AdditiveHinge, "_iterate", interrupted)
    run = column_generation(formulation, Stumps(X), y)
    assert run.ending.name == "INTERRUPTED"
    assert run.columns
    assert run.certificate.primal < 0.2 * len(y)


@pytest.mark.parametrize("seconds", [1e-9, 1e9])
def test_without_time_the_interior_point_method_begins(monkeypatch, seconds):
    (X, y), solve = draw_sample(), additive_hinge.AdditiveHinge.solve

    def solve_in_time(method, goal, _, most_norm):
        return solve(method, goal, seconds / 2, most_norm)

    monkeypatch.setattr(additive_hinge.AdditiveHinge, "solve", solve_in_time)
    assert column_generation(formulations.soft_margin(0.2), Stumps(X), y).certificate.holds(1e-6)


def test_it_is_for_all_stumps_of_large_samples_without_a_start(monkeypatch):
    X, y = draw_sample()
    formulation, begun = formulations.soft_margin(0.2), []
    solve = additive_hinge.AdditiveHinge.solve
    monkeypatch.setattr(additive_hinge.AdditiveHinge, "solve", lambda *a: begun.append(1) or solve(*a))

    def begins(oracle, formulation=formulation, **options):
        begun.clear()
        column_generation(formulation, oracle, y, tol=1e-2, **options)
        return bool(begun)

    assert begins(Stumps(X))
    assert begins(Stumps(X), formulations.lpboost(0.1))
    assert not begins(Stumps(X), start=[Stumps(X).price(y).columns[0].hypothesis])
    assert not begins(Stumps(X), master=InteriorPointMaster)
    # more columns than are wanted
    assert not begins(Stumps(X), max_columns=9)
    for other in (
        Stumps(X, costs=[2.0, 1.0, 1.0, 1.0]),
        Stumps(X, signs=[1, 0, 0, 0]),
        Stumps(np.where(X > 2, np.nan, X), features=[Feature(f"x{j}") for j in range(4)]),
    ):
        assert not begins(other)
    assert not begins(Stumps(X), formulations.worst_share(0.3, len(y)))
    monkeypatch.setattr(InteriorPointMaster, "many_samples", 61)
    assert not begins(Stumps(X))
