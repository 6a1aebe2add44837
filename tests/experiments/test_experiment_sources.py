"""Splits: true partitions, scaled by the part that is trained on, and drawn from the seed alone."""

import numpy as np
import pytest
from data_directory import make_directory, numbered
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm
from cvxens.experiments import Generated, Partitioned

MAKERS = [make_twonorm, make_threenorm, make_ringnorm]


def draw_split(source, seed=0):
    return source.open()(np.random.default_rng(seed))


def arrays(split):
    return split.X, split.y, split.X_test, split.y_test


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(MAKERS), st.integers(10, 60), st.floats(0, 0.5), st.integers(0, 1000))
def test_so_many_labels_are_turned_round_and_nothing_else_changes(make, n_samples, share, seed):
    clean, noisy = (draw_split(Generated(make, n_samples, 30, mislabelled), seed) for mislabelled in (0.0, share))
    assert (clean.y != noisy.y).sum() == round(share * n_samples)
    for before, after in zip(arrays(clean)[2:], arrays(noisy)[2:], strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(clean.X, noisy.X)


def test_what_is_generated_has_the_sizes_of_the_paper():
    split = draw_split(Generated(make_twonorm))
    assert [part.shape for part in arrays(split)] == [(300, 20), (300,), (3000, 20), (3000,)]
    assert Generated(make_twonorm).needs == ()


def test_training_and_test_samples_are_not_the_same():
    split = draw_split(Generated(make_twonorm, 40, 40))
    assert not np.isin(split.X, split.X_test).any()


@pytest.fixture
def directory(tmp_path, monkeypatch):
    whole = numbered(50)
    parts = {"X": whole["X"][:30], "y": whole["y"][:30], "X_test": whole["X"][30:], "y_test": whole["y"][30:]}
    monkeypatch.setenv("CVXENS_DATA", str(make_directory(tmp_path, whole=whole, parts=parts)))
    return tmp_path


@pytest.mark.parametrize("name", ["whole", "parts"])
@pytest.mark.parametrize("share", [0.6, 0.75])
def test_every_sample_is_in_one_part(directory, name, share):
    split = draw_split(Partitioned(name, share))
    n_train = round(share * 50)
    assert (len(split.X), len(split.X_test)) == (n_train, 50 - n_train)
    low, high = -1.0, 1.0
    first = np.concatenate([split.X[:, 0], split.X_test[:, 0]])
    order = np.argsort(np.argsort(first))
    assert len(np.unique(first)) == 50
    np.testing.assert_array_equal(np.concatenate([split.y, split.y_test]), order % 3)
    assert (split.X[:, 0].min(), split.X[:, 0].max()) == (low, high)


def test_features_are_scaled_by_the_training_part(directory):
    split = draw_split(Partitioned("whole"))
    plain = numbered(50)["X"][:, 2]
    assert (split.X[:, 2].min(), split.X[:, 2].max()) == (-1.0, 1.0)
    np.testing.assert_allclose(np.unique(split.X_test[:, 2]), np.unique(plain) / 2 - 1)
    np.testing.assert_array_equal(split.X[:, 1], -1.0)


def test_columns_that_are_no_features_are_left_out(directory):
    split, less = draw_split(Partitioned("whole")), draw_split(Partitioned("whole", without=(0, 1)))
    np.testing.assert_array_equal(less.X, split.X[:, 2:])
    np.testing.assert_array_equal(less.y_test, split.y_test)


@pytest.mark.parametrize("source", [Generated(make_threenorm, 20, 20, 0.1), Partitioned("whole")])
def test_the_seed_decides(directory, source):
    first, again, other = (draw_split(source, seed) for seed in (1, 1, 2))
    for a, b in zip(arrays(first), arrays(again), strict=True):
        np.testing.assert_array_equal(a, b)
    assert first.random_state == again.random_state != other.random_state
    assert not np.array_equal(first.X, other.X)
