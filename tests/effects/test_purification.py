"""Tables split into pure interactions: against the moving of means, and by what defines them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.effects import purify, purify_further


def move_means(table, masses, n_sweeps=100):
    """Lengerich et al. 2020, Algorithm 1: the means of rows, then of columns, leave the table until there are none."""
    pure = table.copy()
    a, b = np.zeros(len(table)), np.zeros(table.shape[1])
    for _ in range(n_sweeps):
        means = (masses * pure).sum(axis=1) / masses.sum(axis=1)
        pure, a = pure - means[:, None], a + means
        means = (masses * pure).sum(axis=0) / masses.sum(axis=0)
        pure, b = pure - means, b + means
    constants = masses.sum(axis=1) @ a, masses.sum(axis=0) @ b
    return pure, a - constants[0], b - constants[1], sum(constants)


def make_table(seed, n_rows, n_columns, empty):
    """A table of two outputs, with a share of its cells without weight."""
    rng = np.random.default_rng(seed)
    masses = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) >= empty)
    masses[rng.integers(n_rows), rng.integers(n_columns)] += 0.1
    return rng.normal(size=(n_rows, n_columns, 2)), masses / masses.sum()


sizes = {"seed": st.integers(0, 10**6), "n_rows": st.integers(1, 6), "n_columns": st.integers(1, 6)}


@given(**sizes)
def test_the_answer_is_where_moving_means_ends(seed, n_rows, n_columns):
    table, masses = make_table(seed, n_rows, n_columns, 0.0)
    # cells of equal weights mix in a few sweeps
    masses = (masses + 0.5) / (masses + 0.5).sum()
    found = purify(table, masses)
    expected = move_means(table[..., 0], masses)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours[..., 0] == pytest.approx(theirs, abs=1e-8)


@given(**sizes, empty=st.sampled_from([0.0, 0.5, 0.9]))
def test_means_of_rows_and_columns_are_gone_and_the_sum_is_as_it_was(seed, n_rows, n_columns, empty):
    table, masses = make_table(seed, n_rows, n_columns, empty)
    pure, a, b, constant = purify(table, masses)
    assert pure + a[:, None] + b + constant == pytest.approx(table, abs=1e-12)
    assert (masses[..., None] * pure).sum(axis=0) == pytest.approx(np.zeros_like(b), abs=1e-9)
    assert (masses[..., None] * pure).sum(axis=1) == pytest.approx(np.zeros_like(a), abs=1e-9)
    assert masses.sum(axis=1) @ a == pytest.approx(np.zeros(2), abs=1e-12)
    assert masses.sum(axis=0) @ b == pytest.approx(np.zeros(2), abs=1e-12)
    assert constant == pytest.approx(np.einsum("ij,ijk->k", masses, table), abs=1e-9)


@given(**sizes, empty=st.sampled_from([0.0, 0.5]))
def test_what_is_pure_stays_as_it_is(seed, n_rows, n_columns, empty):
    table, masses = make_table(seed, n_rows, n_columns, empty)
    pure = purify(table, masses)[0]
    again, a, b, constant = purify(pure, masses)
    assert again == pytest.approx(pure, abs=1e-8)
    assert np.abs(np.concatenate([a, b, constant[None]])).max() <= 1e-8


def test_sums_of_rows_and_columns_have_no_interaction_where_there_are_no_samples_either():
    rows, columns = np.array([1.0, 2.0, 5.0]), np.array([-1.0, 4.0])
    masses = np.array([[0.3, 0.3], [0.2, 0.2], [0.0, 0.0]])
    pure, a, b, constant = purify((rows[:, None] + columns)[..., None], masses)
    assert np.abs(pure).max() <= 1e-12
    assert a[:, 0] == pytest.approx(rows - 1.4)
    assert b[:, 0] == pytest.approx([-2.5, 2.5])
    assert constant[0] == pytest.approx(1.4 + 1.5)


@given(st.integers(0, 10**6), st.tuples(*[st.integers(1, 4)] * 3), st.sampled_from([0.0, 0.5, 0.9]))
def test_three_features_keep_what_no_two_of_them_say(seed, shape, empty):
    rng = np.random.default_rng(seed)
    masses = rng.random(shape) * (rng.random(shape) >= empty)
    masses[0, 0, 0] += 0.1
    masses /= masses.sum()
    table = rng.normal(size=(*shape, 2))
    pure, parts = purify_further(table, masses)
    assert pure + sum(np.expand_dims(part, k) for k, part in enumerate(parts)) == pytest.approx(table, abs=1e-12)
    for k in range(3):
        assert np.abs((masses[..., None] * pure).sum(axis=k)).max() <= 1e-9
    # what two of them say is gone
    two = sum(np.expand_dims(rng.normal(size=part.shape), k) for k, part in enumerate(parts))
    again, _ = purify_further(table + two, masses)
    assert again[masses > 0] == pytest.approx(pure[masses > 0], abs=1e-8)
