"""The rows of an interior-point master beside a plain array, and its path beside HiGHS."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from cvxens.colgen.masters.linear_masters import NEGLIGIBLE_EDGE, NEGLIGIBLE_WEIGHT
from cvxens.limits import limit_threads
from cvxens.problems.losses import SoftMinimumMargin
from cvxens.solvers import byte_rows
from cvxens.solvers.interior_point import (
    BLOCK,
    MaxSum,
    MinLimit,
    Program,
    ProgramRows,
    drop_rows,
    follow_path,
    start_inside,
)

VALUES = {"signs": lambda rng, size: rng.choice([-1.0, 1.0], size), "normal": lambda rng, size: rng.normal(size=size)}


@pytest.mark.thinned(1, kind=VALUES)
@pytest.mark.parametrize(("n_rows", "n_samples"), [(1, 2), (7, 50), (40, 3 * BLOCK + 5), (900, 2 * BLOCK + 300)])
def test_products_are_those_of_the_array(kind, n_rows, n_samples):
    rng = np.random.default_rng(0)
    array = VALUES[kind](rng, (n_rows, n_samples))
    rows = ProgramRows(n_samples)
    for part in np.array_split(array, 3):
        rows.add(part)
    v, w, theta = rng.normal(size=n_samples), rng.normal(size=n_rows), rng.random(n_samples) ** 8
    assert rows.values.dtype == (np.int8 if kind == "signs" else np.float64)
    assert_array_equal(rows.values, array)
    assert_allclose(rows.times(v), array @ v, atol=1e-10)
    assert_allclose(rows.combine(w), array.T @ w, atol=1e-10)
    gram = array * theta @ array.T
    assert_allclose(rows.gram(theta, np.float64), gram, atol=1e-12 * np.abs(gram).max())
    assert_allclose(rows.gram(1e30 * theta, np.float32), 1e30 * gram, atol=1e24 * np.abs(gram).max())


def test_values_become_floats_once_they_must_and_rows_are_removed_in_place():
    rows = ProgramRows(2)
    rows.add(np.array([[1.0, -127.0], [2.0, 3.0]]))
    assert rows.values.dtype == np.int8
    rows.add(np.array([[128.0, 0.5]]))
    assert rows.values.dtype == np.float64
    rows.keep(np.array([True, False, True]))
    assert_array_equal(rows.values, [[1.0, -127.0], [128.0, 0.5]])
    rows.add(np.array([[4.0, 5.0]]))
    assert_array_equal(rows.values[-1], [4.0, 5.0])


def test_products_are_the_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(byte_rows, "WORTH_A_THREAD", 1)
    rng = np.random.default_rng(3)
    rows = ProgramRows(999)
    rows.add(rng.choice([-1.0, 1.0], (7, 999)))
    v, w = rng.normal(size=999), rng.normal(size=7)
    products = []
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            products.append(np.concatenate([rows.times(v), rows.combine(w), rows.gram(v**2, np.float64).ravel()]))
    assert_array_equal(*products)


def program_of(rng, n_rows, n_samples, n_free, limit):
    rows = ProgramRows(n_samples)
    rows.add(np.vstack([np.resize([1, -1], n_samples)[None]] * n_free + [rng.choice([-1.0, 1.0], (n_rows, n_samples))]))
    return Program(rows, n_free, np.ones(rows.values.shape[1]), MaxSum(limit))


def game_of(rng, n_rows, n_samples, n_free, nu):
    """The least limit of the edges of multipliers that add up to 1 beneath prices."""
    D = rng.uniform(0.9, 1.0, n_samples) / (0.9 * nu * n_samples)
    rows = ProgramRows(n_samples)
    rows.add(np.vstack([np.ones((1, n_samples)), *[np.resize([1.0, -1.0], (1, n_samples))] * n_free]))
    rows.add(rng.choice([-1.0, 1.0], (n_rows, n_samples)))
    return Program(rows, 1 + n_free, D / D.max(), MinLimit(SoftMinimumMargin(D), 1 / D.max()))


def cold_start(v, program):
    """A point inside near v, without a word on the weights."""
    n_rows = program.rows.n_rows - program.n_free
    return start_inside(v, np.full(n_rows, 1 / n_rows), np.zeros(program.n_free), program)[0]


def optimum(program):
    """The largest sum, or the least limit, by HiGHS."""
    A, k, is_sum = program.rows.values.astype(float), program.n_free, isinstance(program.objective, MaxSum)
    n, m = A.shape[1], len(A) - k
    if is_sum:
        equal = {"A_eq": A[:k], "b_eq": np.zeros(k)} if k else {}
        return -linprog(-np.ones(n), A_ub=A[k:], b_ub=np.full(m, program.objective.limit), bounds=(0, 1), **equal).fun
    equal = {"A_eq": np.hstack([A[:k], np.zeros((k, 1))]), "b_eq": program.objective.rhs(k)}
    upper = np.hstack([A[k:], -np.ones((m, 1))])
    bounds = [(0, value) for value in program.upper] + [(None, None)]
    return linprog(np.append(np.zeros(n), 1.0), A_ub=upper, b_ub=np.zeros(m), bounds=bounds, **equal).fun


@pytest.mark.parametrize(
    ("make", "numbers", "tol"),
    # where rows of a game are copies of one another rounding ends a path at 2e-7
    [(program_of, [0.01, 1.0, 5.0, 100.0], 1e-8), (game_of, [0.2, 0.5, 0.9], 1e-6)],
    ids=["largest sum", "least limit"],
)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 6), n_free=st.integers(0, 1), data=st.data())
def test_the_path_leads_to_the_optimum_also_when_rows_come_and_go(make, numbers, tol, seed, n_rows, n_free, data):
    rng = np.random.default_rng(seed)
    program = make(rng, n_rows, 20, n_free, data.draw(st.sampled_from(numbers)))
    rows, first = program.rows, program.n_free
    at = cold_start(program.middle, program)

    def follow(at):
        at, gap = follow_path(program, at, tol)
        assert gap <= tol
        found = at.v.sum() if make is program_of else rows.times(at.v)[first:].max()
        if make is program_of:
            assert at.limit * at.w.sum() + at.xi.sum() == pytest.approx(found, rel=1e-6)
        assert found == pytest.approx(optimum(program), rel=1e-6, abs=1e-6 * (make is game_of))
        assert rows.times(at.v)[:first] == pytest.approx(program.objective.rhs(first), abs=1e-9)
        return at

    at = follow(at)
    more = rng.choice([-1.0, 1.0], (2, 20))
    rows.add(more)
    at = follow(start_inside(at.v, np.append(at.w, [0.0, 0.0]), at.free, program)[0])
    kept = np.arange(n_rows + 2) > 0
    if make is game_of:
        # as in the master, only rows of little weight that are far from tight leave: others are what the path is of
        kept = (at.w >= NEGLIGIBLE_WEIGHT * at.w.mean()) | (at.s <= NEGLIGIBLE_EDGE * abs(at.limit))
    at = drop_rows(at, kept, program)
    rows.keep(np.append(np.full(first, True), kept))
    follow(at)


def test_a_path_starts_inside_also_at_a_vertex():
    program = program_of(np.random.default_rng(3), 4, 20, 1, 2.0)
    at, gap = follow_path(program, cold_start(np.arange(20) // 2 % 2, program), 1e-8)
    assert gap <= 1e-8
    assert at.v.sum() == pytest.approx(optimum(program), rel=1e-6)


def test_a_row_that_exceeds_the_limit_by_rounding_leaves_room():
    program = program_of(np.random.default_rng(4), 3, 20, 0, 2.0)
    at, _ = follow_path(program, cold_start(np.ones(20), program), 1e-9)
    program.rows.add(np.full((1, 20), np.nextafter(2.0, 3.0) / at.v.sum()))
    met, _ = start_inside(at.v, np.append(at.w, 0.0), at.free, program)
    assert met.s.min() > 0
    assert np.isfinite(met.w).all()
    inside = (1 - 1e-4) * at.v + 1e-4 * program.middle
    assert_allclose(met.v / inside, met.v[0] / inside[0], rtol=1e-12)
    assert 0.99 < met.v[0] / inside[0] < 1


def test_a_point_stays_inside_and_a_loose_target_takes_fewer_steps():
    program = program_of(np.random.default_rng(1), 12, 300, 1, 20.0)
    at = cold_start(np.ones(300), program)
    loose, gap = follow_path(program, at, 0.1 * optimum(program))
    assert 0.001 < gap / optimum(program) <= 0.1
    for values in (loose.v, loose.t, loose.z, loose.xi, loose.w, loose.s):
        assert values.min() > 0
    assert_allclose(loose.v + loose.t, 1.0)
    best, gap = follow_path(program, loose, 0.0)
    assert gap < 1e-9 * optimum(program)
    again, same = follow_path(program, best, 0.0)
    assert same <= gap
    assert again.complementarity <= best.complementarity


@pytest.mark.parametrize("n_free", [0, 1])
def test_a_warm_start_is_inside_and_as_far_off_as_its_gap(n_free):
    rng = np.random.default_rng(4)
    program = program_of(rng, 12, 80, n_free, 9.0)
    best, _ = follow_path(program, cold_start(np.ones(80), program), 1e-3 * optimum(program))
    # near the solution of another limit, beyond the box and the limit
    v = np.clip(1.05 * best.v + 0.01 * rng.normal(size=80), 0.0, 1.0)
    at, gap = start_inside(v, best.w, best.free, program)
    for values in (at.v, at.t, at.z, at.xi, at.w, at.s):
        assert values.min() > 0
    assert_allclose(program.rows.times(at.v)[n_free:] + at.s, at.limit)
    assert_allclose(program.rows.combine(np.concatenate([at.free, at.w])) + at.xi - at.z, 1.0)
    assert 0 < gap < 0.3 * optimum(program)
    again, reached = follow_path(program, at, 1e-9 * optimum(program))
    assert reached <= 1e-9 * optimum(program)
    assert again.v.sum() == pytest.approx(optimum(program), rel=1e-8)


def test_single_precision_is_left_where_it_does_not_do(monkeypatch):
    monkeypatch.setattr(byte_rows, "WORTH_A_THREAD", 1)
    program = program_of(np.random.default_rng(2), 40, 600, 0, 30.0)
    at, gap = follow_path(program, cold_start(np.ones(600), program), 1e-9 * optimum(program))
    assert gap <= 1e-9 * optimum(program)
    assert at.v.sum() == pytest.approx(optimum(program), rel=1e-8)


def test_a_matrix_without_numbers_ends_the_path():
    program = program_of(np.random.default_rng(0), 3, 20, 1, 1.0)
    at = cold_start(np.ones(20), program)
    reached, gap = follow_path(program, at._replace(v=np.full(20, np.nan)), 1e-8)
    assert gap == np.inf
    assert np.isnan(reached.v).all()
