from math import erf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm, make_waveform
from cvxens.errors import InvalidInput

GENERATORS = [make_twonorm, make_threenorm, make_ringnorm, make_waveform]
N = 40_000
TOLERANCE = 5 / sqrt(N / 4)


def log_density(X, mean, scale=1.0):
    return -((X - mean) ** 2).sum(axis=1) / (2 * scale**2) - X.shape[1] * np.log(scale)


def alternating(n_features):
    return np.array([(-1.0) ** j for j in range(n_features)])


@pytest.mark.parametrize("n_features", [1, 2, 20])
def test_twonorm_moments_and_bayes_error(n_features):
    X, y = make_twonorm(N, n_features, random_state=1)
    a = 2 / sqrt(n_features)
    for sign in (-1, 1):
        np.testing.assert_allclose(X[y == sign].mean(axis=0), sign * a, atol=TOLERANCE)
        np.testing.assert_allclose(np.cov(X[y == sign].T), np.eye(n_features).squeeze(), atol=2 * TOLERANCE)
    error = np.mean(np.sign(X.sum(axis=1)) != y)
    np.testing.assert_allclose(error, (1 + erf(-2 / sqrt(2))) / 2, atol=0.004)


@pytest.mark.parametrize("n_features", [2, 5, 20])
def test_threenorm_moments(n_features):
    X, y = make_threenorm(N, n_features, random_state=2)
    a = 2 / sqrt(n_features)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), a * alternating(n_features), atol=TOLERANCE)
    np.testing.assert_allclose(np.cov(X[y < 0].T), np.eye(n_features), atol=2 * TOLERANCE)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), 0, atol=sqrt(1 + a**2) * TOLERANCE)
    np.testing.assert_allclose(np.cov(X[y > 0].T), np.eye(n_features) + a**2, atol=2 * (1 + a**2) * TOLERANCE)


def test_threenorm_bayes_error():
    X, y = make_threenorm(N, random_state=3)
    a = 2 / sqrt(20)
    both = np.logaddexp(log_density(X, a), log_density(X, -a)) - np.log(2)
    error = np.mean(np.where(both > log_density(X, a * alternating(20)), 1, -1) != y)
    np.testing.assert_allclose(error, 0.105, atol=0.006)


def test_ringnorm_moments_and_bayes_error():
    X, y = make_ringnorm(N, random_state=4)
    a = 2 / sqrt(20)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), 0, atol=2 * TOLERANCE)
    np.testing.assert_allclose(np.cov(X[y > 0].T), 4 * np.eye(20), atol=8 * TOLERANCE)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), a, atol=TOLERANCE)
    np.testing.assert_allclose(np.cov(X[y < 0].T), np.eye(20), atol=2 * TOLERANCE)
    error = np.mean(np.where(log_density(X, 0, 2) > log_density(X, a), 1, -1) != y)
    np.testing.assert_allclose(error, 0.0122, atol=0.003)


def test_waveform_moments():
    X, y = make_waveform(N, random_state=5)
    j = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6 - abs(j - peak), 0) for peak in (11, 15, 7))
    assert abs(np.mean(y > 0) - 1 / 3) < 0.02
    positive, negative = X[y > 0], X[y < 0]
    np.testing.assert_allclose(positive.mean(axis=0), (h1 + h3) / 2, atol=3 * TOLERANCE)
    np.testing.assert_allclose(negative.mean(axis=0), (h1 + 2 * h2 + h3) / 4, atol=3 * TOLERANCE)
    # Cov(x) = I + Var(v) (h1 - h3)(h1 - h3)' with Var(v) = 1/12
    expected = np.eye(21) + np.outer(h1 - h3, h1 - h3) / 12
    np.testing.assert_allclose(np.cov(positive.T), expected, atol=16 * TOLERANCE)


@pytest.mark.parametrize("make", GENERATORS)
def test_seeds_reproduce_bit_for_bit(make):
    first, again, other = make(50, random_state=7), make(50, random_state=7), make(50, random_state=8)
    assert first[0].tobytes() == again[0].tobytes()
    assert first[1].tobytes() == again[1].tobytes()
    assert first[0].tobytes() != other[0].tobytes()
    from_generator = make(50, random_state=np.random.default_rng(7))
    assert from_generator[0].tobytes() == first[0].tobytes()


@pytest.mark.parametrize("make", GENERATORS)
def test_legacy_random_states_and_no_seed(make):
    first, again = (make(20, random_state=np.random.RandomState(3)) for _ in range(2))
    assert first[0].tobytes() == again[0].tobytes()
    assert make(20)[0].tobytes() != make(20)[0].tobytes()


@pytest.mark.parametrize("make", GENERATORS)
def test_a_generator_moves_on(make):
    rng = np.random.default_rng(0)
    assert make(10, random_state=rng)[0].tobytes() != make(10, random_state=rng)[0].tobytes()


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(GENERATORS), st.integers(2, 6), st.integers(0, 2**32))
def test_both_classes_are_always_present(make, n_samples, seed):
    X, y = make(n_samples, random_state=seed)
    assert set(y) == {-1.0, 1.0}
    assert X.shape[0] == n_samples
    assert np.isfinite(X).all()
    assert (X.dtype, y.dtype) == (np.float64, np.float64)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("n_samples", [1, 0, -3, 2.5, True, "10", None])
def test_bad_sample_counts(make, n_samples):
    with pytest.raises(InvalidInput, match="n_samples"):
        make(n_samples)


@pytest.mark.parametrize("make", GENERATORS[:3])
@pytest.mark.parametrize("n_features", [0, 1.5, False])
def test_bad_feature_counts(make, n_features):
    with pytest.raises(InvalidInput, match="n_features"):
        make(10, n_features)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("random_state", [-1, 1.5, "seed"])
def test_bad_seeds(make, random_state):
    with pytest.raises(InvalidInput, match="random_state"):
        make(10, random_state=random_state)
