"""The sample of a cross-check: scaled, cut down fairly, and checked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csr_array, csr_matrix

from cvxens import crosscheck as module
from cvxens.crosscheck import MAX_ENTRIES, MAX_SAMPLES, Sample, crosscheck
from cvxens.datasets import make_twonorm
from cvxens.errors import InvalidInput
from cvxens.kernels import Stump
from cvxens.kernels.kernel import OPEN
from cvxens.problems import SVMDual


def draw_sample(n_samples, n_features, positive=0.5):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n_samples) < positive * n_samples, 1.0, -1.0)
    return rng.normal(size=(n_samples, n_features)), y


@given(st.integers(0, 10**6), st.sampled_from([1e-300, 1e-6, 1.0, 1e6, 1e307]), st.floats(-5, 5))
def test_features_are_scaled_to_the_unit_interval(seed, scale, offset):
    X, y = make_twonorm(20, 3, random_state=seed)
    X = np.column_stack([scale * (X + offset), np.full(20, 3.0)])
    sample = Sample.from_arrays(X, y)
    assert_allclose(sample.X[:, :3].min(axis=0), 0)
    assert_allclose(sample.X[:, :3].max(axis=0), 1)
    assert_array_equal(sample.X[:, 3], 0)
    assert_array_equal(np.argsort(sample.X, axis=0, kind="stable"), np.argsort(X, axis=0, kind="stable"))
    assert sample.note == ""


@pytest.mark.parametrize("n_samples", [2, 10, MAX_SAMPLES])
def test_what_fits_is_kept_whole_and_in_order(n_samples):
    X, y = draw_sample(n_samples, 2)
    sample = Sample.from_arrays(X, y)
    assert_array_equal(sample.y, y)
    assert_allclose(sample.X, (X - X.min(axis=0)) / np.ptp(X, axis=0), atol=1e-15)
    assert sample.note == ""


def test_rows_stay_with_their_labels_and_in_order():
    y = np.where(np.arange(3000) % 3 == 0, 1.0, -1.0)
    sample = Sample.from_arrays(np.column_stack([y, np.arange(3000.0)]), y)
    assert_array_equal(sample.X[:, 0], (sample.y + 1) / 2)
    assert (np.diff(sample.X[:, 1]) > 0).all()


@pytest.mark.parametrize(
    ("shape", "kept", "note"),
    [
        ((5000, 3), (MAX_SAMPLES, 3), f"{MAX_SAMPLES} of 5000 samples"),
        ((300, 1000), (100, 250), "100 of 300 samples, 250 of 1000 features"),
        ((40, 1000), (40, 250), "250 of 1000 features"),
    ],
)
def test_what_is_too_large_loses_features_and_samples_by_class(shape, kept, note):
    X, y = draw_sample(*shape, positive=0.2)
    sample = Sample.from_arrays(X, y)
    assert sample.X.shape == kept
    assert sample.X.size <= MAX_ENTRIES
    assert (sample.y > 0).mean() == pytest.approx(0.2)
    assert sample.note == note


@pytest.mark.parametrize("positive", [1, 2, 4999])
def test_both_classes_are_kept(positive):
    X, y = draw_sample(5000, 2, positive / 5000)
    sample = Sample.from_arrays(X, y)
    assert set(sample.y) == {-1.0, 1.0}
    assert len(sample.y) <= MAX_SAMPLES + 1


def test_seeded():
    X, y = draw_sample(2000, 300)
    first, again, other = (Sample.from_arrays(X, y), Sample.from_arrays(X, y), Sample.from_arrays(X, y, random_state=1))
    assert_array_equal(first.X, again.X)
    assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.product(kind=[csr_array, csc_array, csr_matrix], shape=[(50, 4), (2000, 300)])
def test_sparse_is_as_dense(kind, shape):
    X, y = draw_sample(*shape)
    X[X < 0] = 0
    dense, sparse = Sample.from_arrays(X, y), Sample.from_arrays(kind(X), y)
    assert_array_equal(dense.X, sparse.X)
    assert_array_equal(dense.y, sparse.y)
    assert dense.note == sparse.note


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, bool])
def test_other_numbers_are_float64(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    sample = Sample.from_arrays(X, [1, -1, 1])
    assert sample.X.dtype == np.float64
    assert sample.X.tolist() == [[0, 1], [1, 0], [1, 1]]


def test_lists_are_samples():
    assert Sample.from_arrays([[0, 4], [2, 0]], [1, -1]).X.tolist() == [[0, 1], [1, 0]]


def test_the_kernel_is_the_stump_kernel_of_the_scaled_sample():
    sample = Sample.from_arrays(*draw_sample(10, 3))
    assert_array_equal(sample.stump_kernel, Stump()(sample.X))
    assert_allclose(np.diag(sample.stump_kernel), 1.5 * (1 + 2 * OPEN))


def test_the_row_says_what_was_cut(monkeypatch):
    monkeypatch.setattr(module, "MAX_SAMPLES", 50)
    [row] = crosscheck(Sample.from_arrays(*draw_sample(2000, 2)), [SVMDual])
    assert row.note == "stump kernel; 50 of 2000 samples"
    assert row.agrees


@pytest.mark.parametrize(
    ("X", "y", "argument"),
    [
        ([[0.0], [np.nan]], [1, -1], "X"),
        ([[0.0], [np.inf]], [1, -1], "X"),
        ([[3.0], [3.0]], [1, -1], "X"),
        ([0.0, 1.0], [1, -1], "X"),
        (np.zeros((2, 0)), [1, -1], "X"),
        ([["a"], ["b"]], [1, -1], "X"),
        ([[0.0], [1.0]], [1, 1], "y"),
        ([[0.0], [1.0]], [1, 2], "y"),
        ([[0.0], [1.0]], [1, -1, 1], "y"),
        ([[0.0], [1.0]], [], "y"),
        (csr_array([[0.0], [np.nan]]), [1, -1], "X"),
    ],
)
def test_bad_input_is_named(X, y, argument):
    with pytest.raises(InvalidInput) as caught:
        Sample.from_arrays(X, y)
    assert caught.value.argument == argument
