"""Products, parts and the dense block of additive kernels against their matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from cvxens.features import BinnedFeatures
from cvxens.limits import limit_threads
from cvxens.solvers import additive
from cvxens.solvers.additive import AdditiveKernel


def tied_sample(seed, n_samples=30, n_features=4, decimals=1):
    """Rounded values, a constant feature, and duplicated rows."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_samples, n_features)), decimals)
    X[:, -1] = 3.0
    X[n_samples // 2 :] = X[: n_samples - n_samples // 2]
    X[0, 0] = X[:, 0].max() + 1
    return X, rng.uniform(0, 2, n_features), rng.normal(size=n_samples)


def matrix(X, scale=1.0):
    return -cdist(X * scale, X * scale, "cityblock")


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 6), st.integers(0, 3))
def test_product_is_that_with_the_matrix(seed, n_samples, n_features, decimals):
    X, scale, v = tied_sample(seed, n_samples, n_features, decimals)
    assert_allclose(AdditiveKernel.of(X, scale).product(v), matrix(X, scale) @ v, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16, bool])
def test_small_types_are_kept_and_exact(dtype):
    rng = np.random.default_rng(0)
    X, v = (rng.integers(0, 200, (50, 3)) * (rng.random((50, 3)) > 0.5)).astype(dtype), rng.normal(size=50)
    additive = AdditiveKernel.of(X)
    assert additive.values.dtype == X.dtype
    assert additive.rows.dtype == np.int32
    assert_allclose(additive.product(v), matrix(X.astype(float)) @ v, rtol=1e-12, atol=1e-10)


def test_threads_change_no_bit_and_shares_the_last_ones(monkeypatch):
    X, scale, v = tied_sample(3, 200)
    once = AdditiveKernel.of(X, scale).product(v)
    monkeypatch.setattr(additive, "WORTH_A_THREAD", 1)
    with limit_threads(1):
        alone = AdditiveKernel.of(X, scale).product(v)
    assert_array_equal(AdditiveKernel.of(X, scale).product(v), alone)
    assert_allclose(alone, once, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("step", [1, 3, 40])
def test_a_part_is_the_block_of_the_matrix(step):
    X, scale, v = tied_sample(1, 100)
    chosen = np.arange(0, 100, step)
    part, block = AdditiveKernel.of(X, scale).among(chosen), matrix(X, scale)[np.ix_(chosen, chosen)]
    assert_allclose(part.product(v[chosen]), block @ v[chosen], rtol=1e-12, atol=1e-11)
    assert_allclose(part.dense(), block, atol=1e-12)
    assert (np.diff(part.values, axis=1) >= 0).all()


def test_total_mass_makes_it_positive_semidefinite():
    X, scale, _ = tied_sample(2)
    additive = AdditiveKernel.of(X, scale)
    assert np.linalg.eigvalsh(matrix(X, scale) + additive.total_mass).min() > -1e-10
    assert additive.mean_distance == pytest.approx(-matrix(X, scale).mean())


def test_sorted_features_are_shared():
    features = BinnedFeatures(tied_sample(4)[0])
    additive = AdditiveKernel.of(features)
    assert additive.rows.base is features.entry_rows
    assert additive.X is features.X
