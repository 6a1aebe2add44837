"""Kernels of distances in single precision against those in double, within the bound that they state."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cvxens.kernels import Gaussian, Laplacian, SimplifiedPerceptron, SimplifiedStump


def make_kernel(which, gamma):
    makers = SimplifiedPerceptron, lambda: Gaussian(gamma), lambda: Laplacian(gamma)
    return makers[which]().range_free_equivalent(np.zeros((2, 1)))


@given(
    seed=st.integers(0, 10**6),
    which=st.integers(0, 2),
    log_gamma=st.floats(-6, 3),
    log_scale=st.floats(-9, 9),
    offset=st.sampled_from([0.0, 1.0, 1e4]),
    n_features=st.integers(1, 30),
)
def test_the_error_is_within_its_bound(seed, which, log_gamma, log_scale, offset, n_features):
    rng = np.random.default_rng(seed)
    scale = 10**log_scale
    X = scale * (rng.standard_cauchy((20, n_features)) if seed % 2 else rng.normal(size=(20, n_features)) + offset)
    X[1] = X[0]
    kernel = make_kernel(which, 10**log_gamma / scale ** [1, 2, 1][which])
    single = kernel.round_to_single(X)
    assume(single is not None)
    rows, everything = np.arange(20), slice(None)
    K, rounded = kernel(X), single.tile(rows, rows)(everything, everything)
    assert rounded.dtype == np.float32
    assert np.abs(K - rounded).max() <= single.error <= 1e-3 * single.largest
    assert np.abs(K).max() <= single.largest * (1 + 1e-12)


@pytest.mark.product(scale=[0.0, 1e-40, 1.0, 1e40, 1e200], which=range(3))
def test_there_is_none_where_floats_are_too_large_or_too_small(which, scale):
    X = scale * np.arange(6.0).reshape(3, 2)
    assert (make_kernel(which, 1.0).round_to_single(X) is None) == (scale != 1.0)


def test_there_is_none_with_too_few_digits_or_of_other_kernels():
    X = np.array([[0.0], [1.0], [1e9]])
    assert make_kernel(1, 1.0).round_to_single(X) is None
    assert make_kernel(0, 1.0).round_to_single(X) is not None
    assert SimplifiedStump().round_to_single(X) is None
