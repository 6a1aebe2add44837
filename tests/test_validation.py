from functools import partial

import numpy as np
import pytest
from brute_force import refused
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from cvxens import validation

finite = st.floats(-1e300, 1e300)


@pytest.mark.parametrize("check", [validation.positive, validation.number])
@pytest.mark.parametrize(
    "value", [None, "1", b"1", True, False, np.bool_(True), np.nan, np.inf, -np.inf, 1j, [1.0], np.array(1.0), 10**400]
)
def test_what_is_no_finite_number(check, value):
    refused(lambda: check("tol", value), "tol", f"found {value!r}", "finite number")


@pytest.mark.parametrize("value", [0, 0.0, -0.0, -1, -5e-324])
def test_what_is_not_above_zero(value):
    refused(lambda: validation.positive("C", value), remedy="above 0")
    assert validation.number("rho", value) == value


@pytest.mark.parametrize("value", [1, 2.5, np.int8(3), np.float32(0.5), np.float64(5e-324), np.uint64(7)])
def test_numbers_become_floats(value):
    for check in (validation.positive, validation.number):
        assert check("C", value) == float(value)
        assert type(check("C", value)) is float


@given(values=arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 3)), elements=finite))
def test_finite_arrays_pass_as_they_are(values):
    assert validation.finite_array("H", values, ndim=2) is values
    np.testing.assert_array_equal(validation.finite_array("H", values.tolist()), values)
    assert validation.finite_array("H", np.ones(values.shape, dtype=np.int8)).dtype == np.float64


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (None, "0 dimensions, shape ()"),
        ("a", "not numeric"),
        (["1", "2"], "not numeric"),
        (np.array(["2020-01-01"], np.datetime64), "datetime64"),
        (np.array([1], "m8[D]"), "timedelta64"),
        ([["a"]], "not numeric"),
        ([[1.0], [1.0, 2.0]], "not numeric"),
        ([[object()]], "not numeric"),
        ([[1j]], "complex numbers"),
        ([[10**400]], "not numeric"),
        (csr_array(np.eye(2)), "a sparse matrix"),
        ([], "1 dimensions, shape (0,)"),
        ([[]], "no data, shape (1, 0)"),
        (np.empty((0, 3)), "no data, shape (0, 3)"),
        (5.0, "0 dimensions, shape ()"),
        (np.ones((2, 2, 2)), "3 dimensions, shape (2, 2, 2)"),
        ([[1.0, 2.0], [3.0, np.nan]], "found nan at [1, 1]"),
        ([[1.0, -np.inf], [3.0, np.nan]], "found -inf at [0, 1]"),
        ([[1.0, None]], "found nan at [0, 1]"),
    ],
)
def test_arrays_that_cannot_be_worked_with(values, found):
    refused(lambda: validation.finite_array("H", values, ndim=2), "H", found)


def test_any_number_of_dimensions_will_do_where_none_is_named():
    assert validation.finite_array("b", 3).shape == ()
    assert validation.finite_array("b", np.ones((2, 1, 2))).shape == (2, 1, 2)
    refused(lambda: validation.finite_array("b", []), found="no data")


@pytest.mark.parametrize(
    ("X", "found", "remedy"),
    [
        ([[1.0, 2.0]], "one sample", "at least two samples"),
        ([[1.0, 2.0]] * 3, "all rows alike", "feature that varies"),
        ([[0.0], [-0.0]], "all rows alike", "feature that varies"),
        ([1.0, 2.0], "1 dimensions", "2 dimensions"),
        ([[np.nan], [1.0]], "nan at [0, 0]", "impute"),
        (np.empty((0, 2)), "no data", "at least one number"),
    ],
)
def test_samples_need_two_different_rows(X, found, remedy):
    refused(lambda: validation.samples(X), "X", found, remedy)
    refused(lambda: validation.samples(X, "sample"), "sample")


def test_samples_may_have_constant_features_and_duplicate_rows():
    X = validation.samples([[1, 2], [1, 3], [1, 3]])
    assert X.dtype == np.float64
    assert X.shape == (3, 2)


def test_signs_are_floats_one_per_sample():
    y = validation.signs([1, -1, 1], n_samples=3)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, [1.0, -1.0, 1.0])
    call = partial(validation.signs, [1, -1, 1], n_samples=4, argument="labels")
    refused(call, "labels", "found 3 rows for 4 samples")
    validation.same_length("y", y, None)


@pytest.mark.parametrize(
    ("K", "found"),
    [
        (np.ones((2, 3)), "shape (2, 3)"),
        ([[1.0, 2.0], [2.1, 1.0]], "|K - K'| up to 0.1"),
        ([[0.0, 1e-300], [0.0, 0.0]], "|K - K'| up to 1e-300"),
        ([[1.0, np.nan], [np.nan, 1.0]], "nan at [0, 1]"),
        ([1.0, 2.0], "1 dimensions"),
        (np.empty((0, 0)), "no data"),
    ],
)
def test_kernel_matrices_are_square_and_symmetric(K, found):
    refused(lambda: validation.symmetric(K), "K", found)
    refused(lambda: validation.symmetric(K, "gram"), "gram")


def test_asymmetry_of_rounding_size_is_averaged_away():
    K = validation.symmetric([[1.0, 2.0], [2.0 + 1e-9, 1.0]])
    np.testing.assert_array_equal(K, K.T)
    assert K[0, 1] == pytest.approx(2.0 + 5e-10, rel=1e-14)
    np.testing.assert_array_equal(validation.symmetric(np.zeros((2, 2))), 0.0)


@pytest.mark.parametrize("value", [2**63, 10**400])
def test_whole_numbers_beyond_64_bits(value):
    refused(lambda: validation.whole("n_rounds", value), remedy="at most")


@pytest.mark.parametrize("value", [0, 1.0, True, "two", [1], -(10**400), np.nan])
def test_what_is_no_number_of_jobs(value):
    refused(lambda: validation.n_jobs(value), "n_jobs")


def test_numbers_of_jobs():
    assert [validation.n_jobs(value) for value in (None, -1, np.int8(2))] == [None, -1, 2]


@pytest.mark.parametrize("value", ["fastest", "", None, 1, ["fast"], {}, np.array(["fast", "slow"])])
def test_what_is_none_of_some_names(value):
    refused(lambda: validation.one_of("solver", value, {"fast": 1, "slow": 2}), remedy="'fast', 'slow'")
    assert validation.one_of("solver", "slow", ["fast", "slow"]) == "slow"


@pytest.mark.parametrize("value", ["seed", -1, 1.5, object(), int])
def test_what_no_generator_can_be_made_from(value):
    refused(lambda: validation.random_state(value), "random_state")


def test_a_check_of_a_seed_draws_nothing():
    for make in (np.random.RandomState, np.random.default_rng):
        random = make(0)
        assert validation.random_state(random) is random
        assert random.normal() == make(0).normal()
