from math import erf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm
from cvxens.errors import InvalidInput
from reproduction.samples import add_noise_features, make_random_function, make_slope, make_three_circles, make_waveform

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
def test_threenorm_moments_and_bayes_error(n_features):
    X, y = make_threenorm(N, n_features, random_state=2)
    a = 2 / sqrt(n_features)
    np.testing.assert_allclose(X[y < 0].mean(axis=0), a * alternating(n_features), atol=TOLERANCE)
    np.testing.assert_allclose(np.cov(X[y < 0].T), np.eye(n_features), atol=2 * TOLERANCE)
    np.testing.assert_allclose(X[y > 0].mean(axis=0), 0, atol=sqrt(1 + a**2) * TOLERANCE)
    np.testing.assert_allclose(np.cov(X[y > 0].T), np.eye(n_features) + a**2, atol=2 * (1 + a**2) * TOLERANCE)
    if n_features == 20:
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


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("make", [*GENERATORS, make_slope, make_three_circles, make_random_function])
def test_seeds_reproduce_bit_for_bit(make):
    first, generator = make(50, random_state=7), np.random.default_rng(7)
    assert same(first, make(50, random_state=7))
    assert same(first, make(50, random_state=generator))
    # a generator moves on
    assert not same(first, make(50, random_state=generator))
    assert not same(first, make(50, random_state=8))
    assert same(*(make(20, random_state=np.random.RandomState(3)) for _ in range(2)))
    assert not same(make(20), make(20))


@given(
    st.sampled_from([*GENERATORS, make_slope, make_three_circles, make_random_function]),
    st.integers(2, 6),
    st.integers(0, 2**32),
)
def test_both_classes_are_always_present(make, n_samples, seed):
    X, y = make(n_samples, random_state=seed)
    assert set(y) == {-1.0, 1.0}
    assert X.shape[0] == n_samples
    assert np.isfinite(X).all()
    assert (X.dtype, y.dtype) == (np.float64, np.float64)


def test_slope_has_the_share_of_wrong_labels_as_its_best_error():
    X, y = make_slope(N, mislabelled=0.2, random_state=6)
    side = X.sum(axis=1) > 0
    np.testing.assert_allclose([np.mean(y[side] < 0), np.mean(y[~side] > 0)], 0.2, atol=TOLERANCE)
    assert np.abs(X).max() <= 1
    X, y = make_slope(1000, mislabelled=0.0, random_state=6)
    np.testing.assert_array_equal(y, np.sign(X.sum(axis=1)))


def test_three_circles_are_disjoint_discs_in_the_square():
    X, y = make_three_circles(N, random_state=7)
    np.testing.assert_allclose(np.mean(y > 0), np.pi * (0.2**2 + 0.15**2 + 0.2**2), atol=TOLERANCE)
    assert X.min() >= 0
    assert X.max() <= 1


def test_a_random_function_is_of_the_relevant_features_and_noise_free():
    """Friedman's weights: a term is at most 1 in size, so 20 of them with uniform a_l have a sum of size 20 at most."""
    X, y = make_random_function(2000, 6, 2, target="numbers", random_state=8)
    labels = make_random_function(2000, 6, 2, random_state=8)[1]
    np.testing.assert_array_equal(labels > 0, y > np.median(y))
    assert np.abs(y).max() <= 20
    # two samples whose relevant features are close have close values
    near = np.linalg.norm(X[:, None, :2] - X[None, :, :2], axis=2) + 9 * np.eye(2000)
    others = near.argmin(axis=1)
    close = near.min(axis=1) < 0.05
    assert close.sum() > 500
    assert np.abs(y - y[others])[close].max() < 0.35 * np.ptp(y)
    assert np.mean((y - y[others])[close] ** 2) < 0.02 * y.var()


def test_mixed_features_have_levels_of_equal_shares():
    X, _ = make_random_function(600, mixed=True, random_state=9)
    plain, _ = make_random_function(600, random_state=9)
    changed = (plain != X).any(axis=0)
    assert changed.sum() == 10
    for column, before in zip(X.T[changed], plain.T[changed], strict=True):
        levels, counts = np.unique(column, return_counts=True)
        assert 2 <= len(levels) <= 10
        assert np.ptp(counts) <= 1
        assert (np.diff(column[before.argsort()]) >= 0).all()


def test_noise_features_are_like_the_others():
    X = np.random.default_rng(0).normal([5.0, -1.0], [2.0, 0.1], (4000, 2))
    noisy = add_noise_features(X, 4, random_state=0)
    np.testing.assert_array_equal(noisy[:, :2], X)
    np.testing.assert_allclose(noisy[:, 2:].mean(axis=0), np.tile(X.mean(axis=0), 2), atol=0.2)
    np.testing.assert_allclose(noisy[:, 2:].std(axis=0), np.tile(X.std(axis=0), 2), rtol=0.1)
    assert np.abs(np.corrcoef(noisy.T) - np.eye(6)).max() < 0.1


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        *(
            ("n_samples", lambda make=make, n=n: make(n))
            for make in [*GENERATORS, make_three_circles]
            for n in (1, 0, -3, 2.5, True, "10", None)
        ),
        *(("n_features", lambda make=make, n=n: make(10, n)) for make in GENERATORS[:3] for n in (0, 1.5, False)),
        *(
            ("random_state", lambda make=make, seed=seed: make(10, random_state=seed))
            for make in GENERATORS
            for seed in (-1, 1.5, "seed")
        ),
        ("mislabelled", lambda: make_slope(mislabelled=0.5)),
        ("mislabelled", lambda: make_slope(mislabelled=-0.1)),
        ("n_relevant", lambda: make_random_function(10, 3, 4)),
        ("target", lambda: make_random_function(10, target="both")),
        ("n_noise", lambda: add_noise_features(np.eye(2), 0)),
        ("X", lambda: add_noise_features([np.nan])),
    ],
)
def test_bad_input(argument, call):
    with pytest.raises(InvalidInput) as error:
        call()
    assert error.value.argument == argument
