"""Columns that are kept in bytes beside the same as an array: products, their bounds, and what is no byte."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from cvxens.colgen import column_generation, formulations, restricted
from cvxens.colgen.oracles import Stumps
from cvxens.colgen.protocols import Column
from cvxens.colgen.restricted import Restricted
from cvxens.hypotheses import Stump
from cvxens.limits import limit_threads
from cvxens.problems.maps import ColumnMap
from cvxens.solvers import byte_rows
from cvxens.solvers.byte_rows import GrowingRows, ListedRows, pack

INTEGERS = st.integers(-127, 127)


def as_bytes(values):
    return pack(values, in_ones=True)[0]


def by_the_byte(monkeypatch):
    """Take every product byte by byte, in several shares, and none in twice the precision."""
    monkeypatch.setattr(byte_rows, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(restricted, "WORTH_BYTES", 0)


@given(
    rows=hnp.arrays(np.int8, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=INTEGERS),
    units=st.lists(st.sampled_from([1.0, 0.5, 0.3, np.pi]), min_size=6, max_size=6),
    in_units=st.booleans(),
    outputs=st.sampled_from([(), (2,)]),
    seed=st.integers(0, 99),
)
def test_products_are_those_of_the_array_and_within_their_bounds(rows, units, in_units, outputs, seed):
    rng, H = np.random.default_rng(seed), ListedRows(rows.shape[1])
    if in_units:
        # the last is in no unit
        rows = rows * np.array(units[: len(rows)])[:, np.newaxis]
        rows[-1] += rng.normal(size=rows.shape[1])
    H.add(rows.astype(float))
    # bytes that do not lie side by side
    H.packed.append((np.repeat(H.packed[0][0], 2)[::2], H.packed[0][1]))
    array = np.vstack([rows, rows[:1]]).T.astype(float)
    w, s = rng.normal(size=(array.shape[1], *outputs)), rng.normal(size=(len(array), *outputs))
    assert H.shape == array.shape
    assert H.largest == np.abs(array).max()
    assert_allclose(H.scores(w), array @ w, atol=1e-11)
    assert_allclose(H.edges(s), array.T @ s, atol=1e-11)
    products = (ColumnMap(H).measure_scores(w), array, w), (ColumnMap(H).measure_edges(s), array.T, s)
    for (values, errors), A, x in products:
        exact = [sum(map(Fraction.__mul__, map(Fraction, a), map(Fraction, v))) for a in A for v in as_list(x)]
        off = np.broadcast_to(errors, values.shape).ravel()
        for value, error, truth in zip(values.ravel(), off, exact, strict=True):
            assert abs(Fraction(value) - truth) <= Fraction(error)


@given(values=hnp.arrays(np.int8, st.integers(0, 40), elements=INTEGERS), unit=st.floats(1e-300, 1e300))
def test_a_unit_is_found_only_where_it_loses_nothing(values, unit):
    packed, found = pack(values * unit)
    assert_array_equal(packed * found, values * unit)
    if len(values) and abs(values[0]) == 1:
        assert packed.dtype == np.int8


def as_list(x):
    return np.reshape(x, (len(x), -1)).T.tolist()


@given(hnp.arrays(float, st.integers(0, 40), elements=st.one_of(INTEGERS.map(float), st.floats())))
def test_bytes_lose_nothing(values):
    kept = as_bytes(values)
    assert_array_equal(kept, values)
    small = np.isfinite(values).all() and (values == np.round(values)).all() and (np.abs(values) <= 127).all()
    assert (kept.dtype == np.int8) == small


def test_what_is_no_array_of_numbers_stays_what_it_is():
    for values in ([1.0, -1.0], np.array(["a"]), np.array([True])):
        assert as_bytes(values) is values
    # its negation is none
    assert as_bytes(np.array([-128], np.int8)).dtype == np.float64
    assert as_bytes(np.array([1, 2])).dtype == np.int8
    rows = GrowingRows(2)
    rows.add(np.empty((0, 2)))
    rows.add(np.array([[1.0, 2.0]]))
    assert rows.values.dtype == np.int8


@pytest.mark.parametrize("intercept", [False, True])
def test_points_are_evaluated_as_over_an_array(monkeypatch, intercept):
    by_the_byte(monkeypatch)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.tile([1.0, -1.0], 15)
    formulation = replace(formulations.soft_margin(0.3), intercept=intercept)
    # two values, of which one is far from 0 beside their range
    hypotheses = [Stump(0, 0.0, 1), Stump(1, 0.3, -1), lambda X: 9.0 + (X[:, 0] > 0)]
    point = {"w": np.array([0.5, 0.25, 0.125]), "u": rng.random(30), "b": np.asarray(0.0)}
    found = []
    for listed in (False, True):
        over = Restricted(formulation, y, listed=listed)
        over.add([Column(hypothesis, X, 0.0) for hypothesis in hypotheses])
        found.append((over, over.evaluate(dict(point))))
    (plain, one), (kept, other) = found
    assert [row.dtype for row, _ in kept.rows.packed] == [np.int8] * 3
    assert_array_equal(kept.H, plain.H)
    assert_allclose(other.edges, one.edges, atol=1e-12)
    assert other.objective == pytest.approx(one.objective, rel=1e-12)
    assert_allclose(kept.margins(other), plain.margins(one), atol=1e-12)


def test_runs_by_the_byte_are_certified_and_the_same_on_two_threads(monkeypatch):
    by_the_byte(monkeypatch)
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), np.where(rng.random(60) > 0.4, 1.0, -1.0)
    monkeypatch.setattr("cvxens.colgen.masters.InteriorPointMaster.least_samples", 1)
    runs = []
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            runs.append(column_generation(formulations.soft_margin(0.1), Stumps(X), y, tol=1e-6))
    assert runs[0].certificate.holds(1e-6)
    assert runs[0].certificate.proven
    assert all(column.packed[0].dtype == np.int8 for column in runs[0].columns)
    assert_array_equal(runs[0].weights, runs[1].weights)
    assert_array_equal(runs[0].u, runs[1].u)
    assert runs[0].certificate.rounding == runs[1].certificate.rounding
