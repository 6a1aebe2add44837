"""Column generation that begins with all stumps at once: the same optimum, the same bits, and what is odd."""

import numpy as np
import pytest

from cvxens.colgen import Checkpoint, column_generation, formulations
from cvxens.colgen.loop import fastest_master_over
from cvxens.colgen.masters import AdditiveMaster, HighsMaster, InteriorPointMaster, additive_master
from cvxens.colgen.oracles import Stumps
from cvxens.hypotheses import Constant, Stump
from cvxens.limits import limit_threads
from cvxens.solvers import additive_hinge
from cvxens.trees import Feature


def lead(oracle):
    return lambda formulation, y: AdditiveMaster(formulation, y, oracle, many=0)


def solve(formulation, X, y, tol=1e-6, **options):
    oracle = Stumps(X, **options)
    return column_generation(formulation, oracle, y, tol=tol, master=lead(oracle))


def draw_sample(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(0, 1.0, n) > 0, 1.0, -1.0)


def assert_same_optimum(formulation, X, y, **options):
    run = solve(formulation, X, y, **options)
    # the dual simplex over columns that it finds itself
    other = column_generation(formulation, Stumps(X, **options), y, tol=1e-9, master=HighsMaster)
    assert run.certificate.proven
    assert run.certificate.holds(1e-6)
    assert run.certificate.primal == pytest.approx(other.certificate.primal, rel=3e-6, abs=1e-9)
    return run


@pytest.mark.parametrize("constant", [True, False])
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
    # what is found at once comes in the second round, and is evaluated in the third
    assert run.history[2].relative_gap <= 0.02
    assert run.history[2].size > run.history[1].size


def test_odd_samples():
    X, y = draw_sample(40, 3, 1)
    few = np.where(np.arange(40) == 7, 1.0, -1.0)
    cases = [
        (np.round(X), y),
        (X + 1e12, y),
        (np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0])),
        (X, few),
        (np.vstack([X, X]), np.append(y, -y)),
    ]
    for features, labels in cases:
        assert_same_optimum(formulations.soft_margin(0.3), features, labels)
    for features, labels in cases[:4]:
        assert_same_optimum(formulations.lpboost(1.9 / len(labels)), features, labels)


def test_margin_of_zero(monkeypatch):
    monkeypatch.setattr(additive_hinge, "PATIENCE", 100)
    X, y = draw_sample(30, 3, 2)
    run = solve(formulations.lpboost(1 / 30), np.vstack([X, X]), np.append(y, -y), tol=1e-3)
    # in units of margins: tol of a tenth
    assert abs(run.certificate.primal) <= 1e-4
    assert run.certificate.gap <= 1e-4


def test_threads_change_no_bit():
    X, y = draw_sample()
    found = []
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            found.append(solve(formulations.lpboost(1 / 30), X, y))
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    np.testing.assert_array_equal(found[0].u, found[1].u)
    assert [row.objective for row in found[0].history] == [row.objective for row in found[1].history]


def test_it_goes_on_from_checkpoints(tmp_path):
    (X, y), formulation = draw_sample(), formulations.soft_margin(0.2)
    oracle = Stumps(X)
    options = {"tol": 1e-6, "master": lead(oracle), "checkpoint": Checkpoint(tmp_path / "run")}
    column_generation(formulation, oracle, y, max_rounds=2, **options)
    resumed = column_generation(formulation, oracle, y, **options)
    assert resumed.certificate.holds(1e-6)
    assert resumed.certificate.dual <= solve(formulation, X, y).certificate.primal


def test_it_begins_with_the_interior_point_method(monkeypatch):
    (X, y), formulation = draw_sample(), formulations.soft_margin(0.2)
    oracle = Stumps(X, columns_per_round=3)

    def make(formulation, y):
        return AdditiveMaster(formulation, y, oracle, many=6)

    run = column_generation(formulation, oracle, y, tol=1e-6, master=make)
    growth = np.diff([row.size for row in run.history])
    late = int(growth.argmax())
    assert growth[late] > 3
    assert run.history[late].size >= 6
    assert (growth[:late] <= 3).all()
    assert run.certificate.primal == pytest.approx(solve(formulation, X, y).certificate.primal, rel=3e-6)
    # where the gap is small it stays so
    monkeypatch.setattr(additive_master, "WIDE", np.inf)
    run = column_generation(formulation, oracle, y, tol=1e-6, master=make)
    assert (np.diff([row.size for row in run.history]) <= 3).all()
    assert run.certificate.holds(1e-6)


def test_features_that_are_alike_are_left_to_the_interior_point_method(monkeypatch):
    X, y = draw_sample()
    X, formulation = np.repeat(X, 5, axis=1), formulations.soft_margin(0.2)
    oracle = Stumps(X, columns_per_round=3)

    def make(formulation, y):
        return AdditiveMaster(formulation, y, oracle)

    monkeypatch.setattr(additive_master, "ALIKE", 1.5)
    run = column_generation(formulation, oracle, y, tol=1e-6, master=make)
    assert (np.diff([row.size for row in run.history]) <= 3).all()
    assert run.certificate.holds(1e-6)
    # until columns are many
    monkeypatch.setattr(additive_master, "MANY", 6)
    monkeypatch.setattr(additive_master, "A_FEATURE", 0)
    late = column_generation(formulation, oracle, y, tol=1e-6, master=make)
    assert np.diff([row.size for row in late.history]).max() > 3
    assert late.certificate.primal == pytest.approx(run.certificate.primal, rel=3e-6)


def test_columns_to_begin_with_are_enough(monkeypatch):
    X, y = draw_sample()
    formulation = formulations.soft_margin(0.2)
    run = solve(formulation, X, y)
    start = [column.hypothesis for column in run.columns]
    oracle = Stumps(X)
    again = column_generation(formulation, oracle, y, tol=1e-6, master=lead(oracle), start=start)
    assert again.history[-1].size <= len(start) + 3 * len(again.history)
    assert again.certificate.primal == pytest.approx(run.certificate.primal, rel=3e-6)


def test_runs_that_end_early_have_what_they_were_asked_for(monkeypatch):
    X, y = draw_sample()
    formulation, oracle = formulations.lpboost(1 / 30), Stumps(X, columns_per_round=3)
    early = column_generation(formulation, oracle, y, tol=1e-6, master=lead(oracle), max_rounds=2)
    plain = column_generation(formulation, oracle, y, tol=1e-6, master=InteriorPointMaster, max_rounds=2)
    np.testing.assert_array_equal(early.weights, plain.weights)
    assert early.certificate.dual < plain.certificate.dual
    monkeypatch.setattr(AdditiveMaster, "least_samples", len(y))
    few = column_generation(formulation, oracle, y, tol=1e-6, max_columns=9)
    assert 9 <= len(few.columns) < 12
    many = column_generation(formulation, oracle, y, tol=1e-6)
    assert np.diff([row.size for row in many.history]).max() > 3


def test_without_time_the_interior_point_method_goes_on(monkeypatch):
    monkeypatch.setattr(additive_master, "time_left", lambda: 1e-9)
    X, y = draw_sample()
    run = solve(formulations.soft_margin(0.2), X, y)
    assert run.certificate.holds(1e-6)


def test_it_is_chosen_for_all_stumps_of_large_samples(monkeypatch):
    X, y = draw_sample()
    formulation = formulations.soft_margin(0.2)

    def choose(oracle, formulation=formulation):
        return type(fastest_master_over(oracle, formulation, y))

    assert choose(Stumps(X)) is HighsMaster
    monkeypatch.setattr(AdditiveMaster, "least_samples", len(y))
    monkeypatch.setattr(InteriorPointMaster, "least_samples", len(y))
    assert choose(Stumps(X)) is AdditiveMaster
    assert choose(Stumps(X), formulations.lpboost(0.1)) is AdditiveMaster
    for other in (
        Stumps(X, costs=[2.0, 1.0, 1.0, 1.0]),
        Stumps(X, signs=[1, 0, 0, 0]),
        Stumps(np.where(X > 2, np.nan, X), features=[Feature(f"x{j}") for j in range(4)]),
    ):
        assert choose(other) is InteriorPointMaster
    assert choose(Stumps(X), formulations.worst_share(0.3, len(y))) is InteriorPointMaster


def test_oracle_answers_with_stumps_that_are_asked_for():
    X, y = draw_sample()
    oracle, s = Stumps(X), y / len(y)
    also = [Stump(1, np.sort(X[:, 1])[3:5].mean(), -1), Constant(-1)]
    answer = oracle.price(s, requested=also)
    plain = oracle.price(s)
    assert [c.hypothesis for c in answer.columns[: len(plain.columns)]] == [c.hypothesis for c in plain.columns]
    added = answer.columns[len(plain.columns) :]
    assert [column.hypothesis for column in added] == also
    for column in added:
        assert column.edge == pytest.approx(s @ column.values, abs=1e-12)
    assert answer.edge_bound == plain.edge_bound
