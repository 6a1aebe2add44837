import math
from itertools import pairwise

import numpy as np
import pytest
from brute_force import dichotomies
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cvxens.colgen.oracles.sampled import ParallelPerceptrons, Perceptrons, descend, step
from cvxens.hypotheses import Constant, Perceptron
from cvxens.kernels import Perceptron as PerceptronKernel

grid = st.integers(-2, 2).map(float)


@given(data=st.data(), n=st.integers(2, 8), k=st.integers(1, 2), m=st.integers(1, 5))
def test_given_directions_are_searched_exactly(data, n, k, m):
    X = data.draw(arrays(float, (n, 2), elements=grid).filter(lambda X: np.ptp(X, axis=0).any()))
    s = data.draw(arrays(float, (n, k), elements=grid))
    directions = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal((m, 2))
    edges = dichotomies(X, directions).T @ s
    priced = ParallelPerceptrons(X, directions, columns_per_round=m).price(s)
    assert len(priced.columns) == m
    assert priced.columns[0].edge == np.abs(edges).max()
    assert priced.edge_bound >= np.abs(edges).max()
    assert priced.edge_bound == pytest.approx(np.abs(edges).max(), rel=1e-12)
    assert priced.edge_square_sum == pytest.approx((edges**2).sum(), rel=1e-12)
    for column in priced.columns:
        assert (s.T @ column.values).max() == column.edge


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), n_features=st.integers(1, 3), n_outputs=st.integers(1, 2))
def test_sampled_pairs_are_priced_exactly(seed, n_features, n_outputs):
    random = np.random.default_rng(seed)
    X, s = random.standard_normal((12, n_features)), random.standard_normal((12, n_outputs))
    oracle = Perceptrons(X, n_directions=30, thresholds="sampled", resample=False, columns_per_round=31, random_state=1)
    priced = oracle.price(s)
    drawn = [c.hypothesis for c in priced.columns if isinstance(c.hypothesis, Perceptron)]
    assert len(drawn) == 30
    radius = np.linalg.norm(X, axis=1).max()
    assert all(abs(h.alpha) <= radius and np.linalg.norm(h.theta) == pytest.approx(1) for h in drawn)
    edges = np.column_stack([*(h(X) for h in drawn), np.ones(12)]).T @ s
    assert priced.columns[0].edge == pytest.approx(np.abs(edges).max())
    assert priced.edge_square_sum == pytest.approx((edges**2).sum())


def test_2000_pairs_are_fewer_perceptrons_than_2000_directions():
    """SL VI-A draws pairs; with the best threshold of each direction the edge is larger."""
    random = np.random.default_rng(0)
    X, s = random.standard_normal((60, 5)), random.standard_normal(60)
    pairs, directions = (Perceptrons(X, thresholds=kind, random_state=0).price(s) for kind in ("sampled", "all"))
    assert pairs.edge_bound == math.inf
    assert pairs.columns[0].edge < directions.columns[0].edge
    many = Perceptrons(X, n_directions=4000, thresholds="sampled", columns_per_round=4000, random_state=2)
    outputs = np.stack([c.hypothesis(X) for c in many.price(s).columns])
    kernel = PerceptronKernel(float(np.linalg.norm(X, axis=1).max()), 5)
    np.testing.assert_allclose(outputs.T @ outputs / len(outputs), kernel(X) / kernel.total_mass(), atol=0.08)


def test_constant_weights_are_answered_by_the_constant():
    X = np.random.default_rng(0).standard_normal((12, 2))
    for resample in (True, False):
        oracle = Perceptrons(X, n_directions=5, resample=resample, columns_per_round=1)
        (column,) = oracle.price(-np.ones(12)).columns
        assert column.hypothesis == Constant(-1)
        assert column.edge == 12.0


def test_on_a_line_perceptrons_are_the_stumps():
    X = np.array([[0.0], [1.0], [1.0], [4.0]])
    priced = Perceptrons(X, n_directions=50, resample=False).price(np.array([1.0, -1.0, -1.0, 2.0]))
    assert [str(column.hypothesis) for column in priced.columns] == ["x[0] >= 2.5 -> +1", "always -> +1"]
    assert priced.edge_square_sum == pytest.approx(1.0**2 + 3.0**2 + 1.0**2, rel=1e-12)


@given(data=st.data(), n=st.integers(1, 8))
def test_a_line_search_finds_the_best_step(data, n):
    a, g, s = (data.draw(arrays(float, n, elements=grid)) for _ in range(3))
    changes = np.unique(-a[g != 0] / g[g != 0])
    between = [*((changes[1:] + changes[:-1]) / 2), *(changes[:1] - 1), *(changes[-1:] + 1), 0.0]
    fixed = g == 0
    edges = [s[~fixed] @ np.sign(a + t * g)[~fixed] for t in between if t not in changes]
    t = step(a, g, s)
    assert (t not in changes) or len(changes) == 0
    assert s[~fixed] @ np.sign(a + t * g)[~fixed] == max(edges, default=0.0)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_epoch_of_training_raises_the_edge(seed):
    random = np.random.default_rng(seed)
    X, s, w = random.standard_normal((25, 3)), random.standard_normal(25), random.standard_normal(4)
    w *= -np.sign(s @ np.sign(X @ w[:-1] + w[-1]))  # a start that is not the best already
    edges = [
        s @ np.sign(X @ v[:-1] + v[-1])
        for v in (descend(X, s, w, epochs, np.random.default_rng(1)) for epochs in range(0, 30, 3))
    ]
    assert all(after >= before - 1e-9 for before, after in pairwise(edges))
    assert edges[-1] > edges[0]


@settings(max_examples=15)
@given(data=st.data(), n_outputs=st.integers(1, 2))
def test_training_raises_the_edges_of_the_sampled(data, n_outputs):
    seed = data.draw(st.integers(0, 99))
    X = data.draw(arrays(float, (9, 2), elements=grid).filter(lambda X: np.ptp(X, axis=0).any()))
    s = np.random.default_rng(seed).standard_normal((9, n_outputs))
    plain = Perceptrons(X, n_directions=3, random_state=seed).price(s)
    trained = Perceptrons(X, n_directions=3, refined=3, epochs=20, random_state=seed).price(s)
    assert all(new.edge >= old.edge for new, old in zip(trained.columns, plain.columns, strict=True))
    for column in trained.columns:
        assert (s.T @ column.values).max() == pytest.approx(column.edge, rel=1e-12)


def test_training_separates_the_separable():
    random = np.random.default_rng(0)
    X = random.standard_normal((100, 5))
    y = np.sign(X @ [1.0, -2.0, 0.5, 0.0, 1.0] - 0.7)
    oracle = Perceptrons(X, n_directions=1, refined=1, columns_per_round=1, random_state=0)
    (column,) = oracle.price(y / 100).columns
    assert column.edge > 0.97
    assert np.linalg.norm(column.hypothesis.theta) == pytest.approx(1.0)


def test_training_survives_features_that_do_not_vary():
    X = np.array([[-1.0, 3.0], [1.0, 3.0], [1.0, 3.0]])
    for seed in range(20):
        oracle = Perceptrons(X, n_directions=2, refined=2, epochs=15, random_state=seed)
        assert oracle.price(np.array([-1.0, 1.0, 1.0])).columns[0].edge == 3.0
        assert oracle.price(np.array([-1.0, 1.0, -5.0])).columns[0].edge == 5.0
