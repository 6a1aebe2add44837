"""Columns with offsets: what an intercept absorbs costs no digits, what it does not is counted."""

from fractions import Fraction
from math import fsum, inf

import numpy as np
import pytest
from brute_force import assert_optimum, linear_program
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.smoothing import InOut, stabilised
from cvxens.colgen import Column, Ending, Formulation, column_generation, formulations
from cvxens.colgen.masters import CvxpyMaster, HighsMaster, fastest_master
from cvxens.colgen.oracles import Pool
from cvxens.colgen.restricted import Restricted
from cvxens.errors import NotSeparable
from cvxens.hypotheses import FEW, project
from cvxens.problems import DenseColumns
from cvxens.problems.duality import balance_classes, balance_exactly, centres, edge_rounding, edges_of
from cvxens.problems.losses import HardMargin, Hinge, Logistic, SquaredError, SquaredHinge
from cvxens.problems.penalties import L1, SquaredL2
from cvxens.problems.problem import not_separable

RNG = np.random.default_rng(0)
# eighths, so that adding an offset up to 2^49 rounds nothing
H = (8 * RNG.normal(size=(30, 3))).round() / 8
y = np.where(H[:, 0] + 0.5 * RNG.normal(size=30) > 0, 1.0, -1.0)
SEPARATED = np.where(H[:, 0] > 0, 1.0, -1.0)
OFFSETS = [1e6, -1e10, 2.0**48]
FORMULATIONS = {
    "svm": formulations.svm(1.0),
    "hinge, l1": Formulation(Hinge(1.0), L1(), intercept=True),
    "logistic, l1": Formulation(Logistic(1.0), L1(), intercept=True),
    "squared hinge, l2": Formulation(SquaredHinge(1.0), SquaredL2(), intercept=True),
    "hard, l1": Formulation(HardMargin(), L1(), intercept=True),
    "least squares": formulations.simplex_least_squares(y[:, None], 0.5),
}


def solve(name, table, **options):
    labels = {"hard, l1": SEPARATED, "least squares": None}.get(name, y)
    return column_generation(FORMULATIONS[name], Pool(table), labels, **{"tol": 1e-7, **options})


@pytest.mark.product(name=FORMULATIONS, offset=OFFSETS)
def test_an_intercept_absorbs_offsets(name, offset):
    plain = solve(name, H)
    run = assert_optimum(solve(name, H + offset * np.array([1.0, 0.0, -1.0])), plain.certificate.primal, gap=1e-7)
    assert run.ending is Ending.OPTIMAL
    # b is mapped back: the same scores on the sample, to the digits that floats of such a size have
    digits = 1e-15 * abs(offset) * np.abs(run.weights).sum() * 8 + 1e-4
    moved = H + offset * np.array([1.0, 0.0, -1.0])
    np.testing.assert_allclose(run.decision_function(moved), plain.decision_function(H), atol=digits)


@pytest.mark.parametrize("master", [CvxpyMaster, stabilised(fastest_master, InOut(0.4))])
def test_an_intercept_absorbs_offsets_under_other_masters(master):
    for name in ("svm", "hinge, l1"):
        plain, run = (solve(name, table, master=master, tol=1e-6) for table in (H, H + 1e9))
        assert_optimum(run, plain.certificate.primal)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7, 1e12])
def test_without_an_intercept_what_rounding_costs_is_counted(offset):
    formulation = Formulation(SquaredHinge(1.0), SquaredL2(1e6))
    table = H + offset
    run = column_generation(formulation, Pool(table), y, tol=1e-6, max_rounds=30)
    truth = _ridge_by_fractions(table, run)
    assert run.certificate.dual - run.certificate.rounding <= truth * (1 + 1e-9)
    assert not run.certificate.holds(1e-6) or run.certificate.dual <= truth * (1 + 1e-6)


def _ridge_by_fractions(table, run):
    """The objective of the run's weights, exactly: an upper bound on the optimum."""
    weights = [Fraction(0)] * table.shape[1]
    for column, weight in zip(run.columns, run.weights.tolist(), strict=True):
        weights[column.hypothesis.index] += column.hypothesis.sign * Fraction(weight)
    loss = Fraction(0)
    for row, label in zip(table.tolist(), y.tolist(), strict=True):
        z = Fraction(label) * sum((w * Fraction(h) for w, h in zip(weights, row, strict=True)), Fraction(0))
        loss += max(Fraction(0), 1 - z) ** 2
    return float(loss / 2 + 10**6 * sum(w * w for w in weights) / 2)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(-9, 9), st.booleans())
def test_multipliers_are_balanced_to_the_last_bit(seed, n, exponent, near):
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    u = rng.random(n) ** rng.integers(1, 12) * 10.0**exponent
    u = balance_classes(u, labels) if near else u
    v = balance_exactly(u, labels)
    assert sum(Fraction(value) for value in (labels * v).tolist()) == 0
    assert float(labels @ v) == 0
    assert (v >= 0).all()
    assert (v <= u).all()
    np.testing.assert_array_equal(balance_exactly(v, labels), v)
    if near:
        assert np.abs(v - u).max() <= 4 * n * 2.0**-52 * u.sum()
    several = balance_exactly(np.column_stack([u, -2 * u]), np.ones((n, 1)))
    np.testing.assert_array_equal(several, 0.0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 3.0, 1e8, -1e15]))
def test_edges_of_columns_with_offsets_are_exact_but_for_their_range(seed, offset):
    rng = np.random.default_rng(seed)
    values, s = rng.normal(size=12) + offset, rng.normal(size=12)
    exact = float(sum(Fraction(h) * Fraction(v) for h, v in zip(values.tolist(), s.tolist(), strict=True)))
    total = abs(fsum(s.tolist()) * offset)
    found = edges_of(np.stack([values, values - offset]), s)
    assert found[0] == pytest.approx(exact, abs=1e-13 * (np.ptp(values) + 1) + 1e-15 * total)
    assert found[1] == pytest.approx((values - offset) @ s, abs=1e-12)
    priced = Pool(values[:, np.newaxis]).price(s)
    assert abs(exact) <= priced.edge_bound <= abs(exact) + 1e-12 * (np.ptp(values) + 1) + 1e-14 * total
    assert exact**2 <= priced.edge_square_sum * (1 + 1e-15)


def test_only_columns_far_from_0_are_shifted():
    rows = np.array([[1.0, -1.0], [0.0, 1.0], [3.0, 4.0], [1e6, 1e6 + 1], [7.0, 7.0], [-1e9, -1e9 - 2]])
    np.testing.assert_array_equal(centres(rows), [0.0, 0.0, 0.0, 1e6 + 0.5, 7.0, -1e9 - 1])
    restricted = Restricted(FORMULATIONS["svm"], np.array([1.0, -1.0]))
    columns = [Column(lambda _, row=row: row, None, 0.0) for row in rows]
    restricted.add(columns[:2])
    restricted.add(columns[2:])
    np.testing.assert_array_equal(restricted.H, (rows - centres(rows)[:, None]).T)
    w = np.arange(6.0)
    point = restricted.shift({"w": w, "b": np.asarray(2.0)})
    assert float(point["b"]) == 2.0 + centres(rows) @ w
    solution = restricted.evaluate({"w": w, "b": point["b"], "u": np.ones(2)})
    np.testing.assert_allclose(rows.T @ w + solution.b, restricted.H @ w + solution.centred, rtol=1e-9)
    without = Restricted(formulations.soft_margin(1.0), np.array([1.0, -1.0]))
    without.add(columns)
    np.testing.assert_array_equal(without.H, rows.T)


@pytest.mark.parametrize("size", [3e-8, 1e-12])
def test_hard_margins_that_can_be_reached_are_never_said_not_to_be(size):
    """Margins of a millionth of the largest value per unit of weight, and less than a solver can see."""
    x = size * np.array([1.0, 2.0, -1.0, -3.0])
    table = np.column_stack([x, [1.0, 1.0, 1.0, 1.0]])
    labels = np.sign(x)
    run = column_generation(formulations.hard_margin(), Pool(table), labels, tol=1e-6)
    assert run.certificate.primal == pytest.approx(1 / size, rel=1e-6) or not run.certificate.proven
    if size > 1e-8:
        assert run.certificate.holds(1e-6)
    assert not_separable(DenseColumns(table), labels, False, False) is None


@example(98510, False, HighsMaster)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([HighsMaster, CvxpyMaster]))
@pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")
def test_not_separable_is_said_only_with_a_proof(seed, intercept, master):
    """Whole numbers: an independent linear program decides, and the proof is checked in fractions but for rounding."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-2, 3, (8, 3)).astype(float)
    labels = np.where(rng.random(8) < 0.5, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    formulation = Formulation(HardMargin(), L1(), intercept=intercept, nonnegative=True)
    truth = linear_program(table, labels, slack=None, intercept=intercept)
    if truth < inf:
        run = column_generation(formulation, Pool(table), labels, master=master)
        assert run.certificate.primal == pytest.approx(truth, rel=1e-6)
        return
    with pytest.raises(NotSeparable) as raised:
        column_generation(formulation, Pool(table), labels, master=master)
    u, max_edge = raised.value.farkas, raised.value.max_edge
    assert (u >= 0).all()
    assert u.sum() == pytest.approx(1.0)
    own = (labels * u).tolist()
    exact = [sum(Fraction(v) * Fraction(h) for v, h in zip(own, c, strict=True)) for c in table.T.tolist()]
    assert max(abs(float(edge)) for edge in exact) <= edge_rounding(8, 2.0)
    assert max_edge <= 2 * edge_rounding(8, 2.0)
    if intercept:
        assert abs(fsum((labels * u).tolist())) < 1e-15


def test_a_heuristic_oracle_proves_nothing_of_separability():
    class Heuristic(Pool):
        def price(self, s, exclude=()):
            priced = super().price(s, exclude)
            return type(priced)(priced.columns)

    table = np.array([[1.0], [1.0], [-1.0]])
    run = column_generation(formulations.hard_margin(), Heuristic(table), [1.0, -1.0, 1.0])
    assert run.ending is Ending.EXHAUSTED
    assert run.certificate.primal == inf
    assert not run.certificate.proven


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_few_products_and_many_are_the_same_to_the_last_bit(shift):
    rng = np.random.default_rng(3)
    n_samples = 16
    n_directions = FEW // (n_samples * 4) + shift
    X, directions = rng.normal(size=(n_samples, 4)), rng.normal(size=(n_directions, 4))
    by_hand = np.zeros((n_samples, n_directions))
    for j in range(4):
        by_hand = by_hand + X[:, [j]] * directions[:, j]
    np.testing.assert_array_equal(project(X, directions), by_hand)


def test_least_squares_take_prices_and_offsets():
    L, C = y[:, None], np.linspace(0.5, 2.0, 30)
    for table in (H, H + 2.0**40):
        formulation = Formulation(SquaredError(C, L), SquaredL2(), intercept=True, outputs=1)
        run = column_generation(formulation, Pool(table), tol=1e-9)
        Z = np.column_stack([H, np.ones(30)])
        V = np.linalg.solve(Z.T @ (Z * C[:, None]) + np.diag([1.0] * 3 + [0.0]), Z.T @ (C[:, None] * L))
        optimum = (V[:-1] ** 2).sum() / 2 + (C[:, None] * (L - Z @ V) ** 2).sum() / 2
        assert_optimum(run, optimum, rel=1e-8, gap=1e-9)
