"""Products that lose no digits, and bounds of errors, held against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens import rounding
from cvxens.rounding import dot, product, sum_error

entries = st.builds(lambda m, e: m * 2.0**e, st.integers(-(2**53) + 1, 2**53 - 1), st.integers(-150, 100))


def exact(a, b):
    return sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))


@given(st.data(), st.integers(1, 7), st.integers(1, 4))
def test_products_are_within_their_errors_of_the_exact_ones(data, m, n):
    A = np.array(data.draw(st.lists(entries, min_size=n * m, max_size=n * m))).reshape(n, m)
    x = np.array(data.draw(st.lists(entries, min_size=m, max_size=m)))
    for matrix in (A, np.asfortranarray(A), A.T.copy().T):
        values, errors = product(matrix, x)
        for row, value, error in zip(A, values, errors, strict=True):
            assert abs(Fraction(value) - exact(row, x)) <= Fraction(error)


@given(st.lists(st.tuples(entries, entries), min_size=1, max_size=9))
def test_a_dot_product_is_rounded_once_however_its_terms_cancel(pairs):
    a, b = map(np.array, zip(*pairs, strict=True))
    truth = exact(a, b)
    assert abs(Fraction(dot(a, b)) - truth) <= Fraction(2, 2**53) * abs(truth)


def test_cancellation_of_sixteen_digits_costs_none():
    A, x = np.array([[1e16, 1.0, -1e16], [1e16, 3.0, 1e16]]), np.array([1.0, 1.0, 1.0])
    values, errors = product(A, x)
    assert values[0] == 1.0
    assert errors[0] < 1e-13
    assert dot(A[0], x) == 1.0


@pytest.mark.parametrize("compensated", [20_000_000, 0])
def test_errors_are_true_where_more_cancels_than_any_precision_holds(compensated, monkeypatch):
    """Terms that take off what is left of the exact sum, three times over: nothing of the first 48 digits remains."""
    monkeypatch.setattr(rounding, "COMPENSATED", compensated)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        a, x = rng.normal(size=20), rng.normal(size=20)
        for _ in range(3):
            a, x = np.append(a, -float(exact(a, x))), np.append(x, 1.0)
        order = rng.permutation(len(a))
        rows, x = np.stack([a[order], rng.normal(size=len(a))]), x[order]
        for matrix in (rows, np.asfortranarray(rows)):
            (value, _), (error, _) = product(matrix, x)
            assert abs(Fraction(value) - exact(rows[0], x)) <= Fraction(error)


def test_several_vectors_are_multiplied_one_by_one():
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(5, 3)), rng.normal(size=(3, 2))
    values, errors = product(A, x)
    np.testing.assert_array_equal(values, np.stack([product(A, x[:, k])[0] for k in range(2)], axis=1))
    assert values.shape == errors.shape == (5, 2)
    assert product(A, np.zeros((3, 0)))[0].shape == (5, 0)
    assert product(np.zeros((4, 0)), np.zeros(0))[0].tolist() == [0.0] * 4


@pytest.mark.parametrize("large", [False, True])
def test_products_too_large_to_be_compensated_have_larger_errors_that_are_as_true(large, monkeypatch):
    rng = np.random.default_rng(1)
    A, x = rng.normal(size=(6, 40)) * 10.0 ** rng.integers(-6, 7, (6, 40)), rng.normal(size=40)
    if large:
        monkeypatch.setattr(rounding, "COMPENSATED", 0)
    else:
        A, x = A * 1e200, x * 1e50
    values, errors = product(A, x)
    for row, value, error in zip(A, values, errors, strict=True):
        assert abs(Fraction(value) - exact(row, x)) <= Fraction(error)
        assert error < 1e-12 * float(np.abs(row) @ np.abs(x))


@pytest.mark.parametrize("n", [1, 7, 100, 1000])
def test_the_error_of_a_sum_grows_with_its_terms_as_in_the_worst_order(n):
    """2^-53 added to 1 is lost each time."""
    terms = np.append(1.0, np.full(n, 2.0**-53))
    missed = n * 2.0**-53
    assert np.cumsum(terms)[-1] == 1.0
    assert missed <= sum_error(n + 1, 1.0 + missed) <= 3 * missed + 1e-15


@given(st.lists(entries, min_size=1, max_size=50))
def test_sums_are_within_their_error(terms):
    computed = float(np.sum(np.array(terms)))
    truth = sum(map(Fraction, terms), Fraction(0))
    assert abs(Fraction(computed) - truth) <= Fraction(sum_error(len(terms), float(np.abs(terms).sum())))
