import pickle
from functools import partial
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cvxens.colgen.oracles.sampled import Fourier, Perceptrons, chunks, unit_directions
from cvxens.errors import InvalidInput
from cvxens.validation import generator


@pytest.mark.parametrize("n_features", [2, 3, 7])
def test_directions_are_uniform_on_the_sphere(n_features):
    directions = unit_directions(generator(3), 20000, n_features)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0, rtol=1e-14)
    axis = np.arange(1.0, n_features + 1)
    # along any axis, (1 + cos) / 2 is Beta((d - 1) / 2, (d - 1) / 2)
    half = (1 + directions @ axis / np.linalg.norm(axis)) / 2
    assert stats.kstest(half, stats.beta((n_features - 1) / 2, (n_features - 1) / 2).cdf).pvalue > 0.001
    np.testing.assert_allclose(directions.T @ directions / 20000, np.eye(n_features) / n_features, atol=0.02)


def test_on_a_line_there_is_one_direction():
    np.testing.assert_array_equal(unit_directions(generator(0), 50, 1), [[1.0]])


@given(n_directions=st.integers(1, 3000), n_samples=st.integers(1, 3_000_000))
def test_chunks_cover_every_direction_once(n_directions, n_samples):
    parts = [np.arange(n_directions)[chunk] for chunk in chunks(n_directions, n_samples)]
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(n_directions))
    assert all(0 < len(part) <= max(1, 2**20 // n_samples) for part in parts)


@pytest.mark.parametrize(
    "oracle", [partial(Fourier, pool=30), partial(Perceptrons, n_directions=30, refined=2, epochs=5)]
)
def test_the_chunks_do_not_change_the_answer(oracle, monkeypatch):
    random = np.random.default_rng(0)
    X, s = random.standard_normal((20, 3)), random.standard_normal(20)
    whole = oracle(X, random_state=1).price(s)
    monkeypatch.setattr("cvxens.colgen.oracles.sampled.CHUNK_SIZE", 7 * 20)
    parts = oracle(X, random_state=1).price(s)
    assert [c.hypothesis for c in parts.columns] == [c.hypothesis for c in whole.columns]
    np.testing.assert_allclose([c.edge for c in parts.columns], [c.edge for c in whole.columns], rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "refined"),
    [
        (partial(Fourier, pool=70, columns_per_round=5), {"refine": 3}),
        (partial(Perceptrons, n_directions=70, columns_per_round=5), {"refined": 2, "epochs": 10}),
    ],
)
def test_draws_follow_their_seed_and_go_on_from_a_pickle(make, refined):
    random = np.random.default_rng(0)
    X, s = random.standard_normal((30, 4)), random.standard_normal(30)

    def ask(oracle):
        return [column.hypothesis for column in oracle.price(s).columns]

    for options in ({}, refined, {"resample": False}):
        oracle, same, other = (make(X, random_state=seed, **options) for seed in (4, 4, 5))
        first = ask(oracle)
        assert first == ask(same) != ask(other)
        copy = pickle.loads(pickle.dumps(oracle))
        second = ask(oracle)
        assert second == ask(copy)
        # drawn anew, they prove nothing
        assert (second == first) == (oracle.price(s).edge_bound < inf) == (options.get("resample") is False)
        assert options == refined or first == ask(make(X, random_state=4))


def test_generator_takes_seeds_and_generators():
    random = np.random.default_rng(1)
    assert generator(random) is random
    assert generator(1).random() == generator(np.int64(1)).random()
    for wrong in (-1, "seed", 1.5):
        with pytest.raises(InvalidInput, match="random_state"):
            generator(wrong)
