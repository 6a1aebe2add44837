"""Splits: true partitions, scaled by the part that is trained on or as they are, drawn from number and seed alone."""

import numpy as np
import pytest
from data_directory import make_directory, numbered
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm
from cvxens.errors import InvalidInput
from reproduction import Generated, OwnTest, Partitioned, PerClass, Realised

MAKERS = [make_twonorm, make_threenorm, make_ringnorm]


def draw_split(source, seed=0, number=0):
    return source.open()(number, np.random.default_rng(seed))


def arrays(split):
    return split.X, split.y, split.X_test, split.y_test


@settings(max_examples=20)
@given(st.sampled_from(MAKERS), st.integers(10, 60), st.floats(0, 0.5), st.integers(0, 1000))
def test_so_many_labels_are_turned_round_and_nothing_else_changes(make, n_samples, share, seed):
    clean, noisy = (draw_split(Generated(make, n_samples, 30, mislabelled), seed) for mislabelled in (0.0, share))
    assert (clean.y != noisy.y).sum() == round(share * n_samples)
    for before, after in zip(arrays(clean)[2:], arrays(noisy)[2:], strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(clean.X, noisy.X)


def test_what_is_generated_has_the_sizes_of_the_paper_and_is_not_scaled():
    split = draw_split(Generated(make_twonorm))
    assert [part.shape for part in arrays(split)] == [(300, 20), (300,), (3000, 20), (3000,)]
    assert Generated(make_twonorm).needs == ()
    X, y = make_twonorm(40, random_state=np.random.default_rng(3))
    split = draw_split(Generated(make_twonorm, 40, 40), 3)
    np.testing.assert_array_equal(split.X, X)
    np.testing.assert_array_equal(split.y, y)
    assert not np.isin(split.X, split.X_test).any()


@pytest.fixture
def directory(tmp_path, monkeypatch):
    whole = numbered(50)
    parts = {"X": whole["X"][:30], "y": whole["y"][:30], "X_test": whole["X"][30:], "y_test": whole["y"][30:]}
    monkeypatch.setenv("CVXENS_DATA", str(make_directory(tmp_path, whole=whole, parts=parts)))
    return tmp_path


@pytest.mark.product(name=["whole", "parts"], share=[0.6, 0.75])
def test_every_sample_is_in_one_part(directory, name, share):
    split = draw_split(Partitioned(name, share))
    n_train = int(share * 50)
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
    # columns that are no features are left out, and features may stay as they are
    less = draw_split(Partitioned("whole", without=(0, 1)))
    np.testing.assert_array_equal(less.X, split.X[:, 2:])
    np.testing.assert_array_equal(less.y_test, split.y_test)
    same = draw_split(Partitioned("whole", scaled=False))
    assert set(same.X[:, 1]) == {7.0}
    np.testing.assert_array_equal(np.sort(np.r_[same.X[:, 0], same.X_test[:, 0]]), np.arange(50))


@pytest.mark.parametrize("source", [Generated(make_threenorm, 20, 20, 0.1), Partitioned("whole")])
def test_the_seed_decides(directory, source):
    first, again, other = (draw_split(source, seed) for seed in (1, 1, 2))
    for a, b in zip(arrays(first), arrays(again), strict=True):
        np.testing.assert_array_equal(a, b)
    assert first.random_state == again.random_state != other.random_state
    assert not np.array_equal(first.X, other.X)


def test_numbers_of_samples_and_classes_against_others(directory):
    split = draw_split(Partitioned("whole", 20, 7, against_others=(1, 2)))
    assert (len(split.X), len(split.X_test)) == (20, 7)
    whole = draw_split(Partitioned("whole", 20, 7))
    np.testing.assert_array_equal(split.y, np.where(whole.y == 0, -1, 1))


def test_a_test_part_of_its_own(directory):
    split, again = draw_split(OwnTest("parts"), 0), draw_split(OwnTest("parts"), 1)
    assert (len(split.X), len(split.X_test)) == (30, 20)
    np.testing.assert_array_equal(split.X, again.X)
    assert (split.X[:, 0].min(), split.X[:, 0].max()) == (-1, 1)
    assert split.X_test[:, 0].min() == pytest.approx(1 + 2 / 29)
    with pytest.raises(InvalidInput, match="'whole', which has no test part"):
        OwnTest("whole").open()


def test_so_many_of_each_class(directory):
    split = draw_split(PerClass("parts", 4, scaled=False))
    assert np.bincount(split.y.astype(int)).tolist() == [4, 4, 4]
    assert split.X[:, 0].max() < 30 <= split.X_test[:, 0].min()
    assert len(np.unique(split.X[:, 0])) == 12


@pytest.fixture
def realised(tmp_path, monkeypatch):
    whole = numbered(10)
    train = np.array([[0, 1, 2, 3], [6, 7, 8, 9]])
    test = np.array([[4, 5, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5]])
    monkeypatch.setenv(
        "CVXENS_DATA", str(make_directory(tmp_path, raetsch_a={**whole, "train_idx": train, "test_idx": test}))
    )
    return train


def test_published_partitions_come_first_then_random_ones_of_their_sizes(realised):
    for number, rows in enumerate(realised):
        np.testing.assert_array_equal(draw_split(Realised("a"), 5, number).X[:, 0], rows)
    random, other = (draw_split(Realised("a"), seed, 2) for seed in (5, 6))
    assert (len(random.X), len(random.X_test)) == (4, 6)
    assert sorted(np.r_[random.X[:, 0], random.X_test[:, 0]]) == list(range(10))
    assert not np.array_equal(random.X, other.X)
