"""Oracles over finite sets leave out the hypotheses that they are told to, and still count them in their bounds."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import laplacian_kernel

from cvxens.colgen.oracles import (
    Constant,
    Fourier,
    KernelColumns,
    ParallelPerceptrons,
    Perceptrons,
    Pool,
    QuantileStumps,
)
from cvxens.hypotheses import Perceptron, Scaled

N_SAMPLES = 9
KERNEL = partial(laplacian_kernel, gamma=0.5)
SINGLE = {
    "Pool": lambda X, limit: Pool(np.column_stack([X, X[:, :1], 1 - X]), columns_per_round=limit),
    "Pool.of": lambda X, limit: Pool.of([np.ravel, Constant(1)], X[:, :1], columns_per_round=limit),
    "KernelColumns": lambda X, limit: KernelColumns(KERNEL, X, columns_per_round=limit),
    "QuantileStumps": lambda X, limit: QuantileStumps(X, n_thresholds=3, columns_per_round=limit),
    "Fourier": lambda X, limit: Fourier(X, pool=12, sigma=2.0, resample=False, columns_per_round=limit, random_state=0),
}
EVERY = 1000


def draw(seed: int, n_outputs: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """A sample with ties, signed weights, and what else is random."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (N_SAMPLES, 2)).astype(float)
    X[0], X[1] = 0.0, 1.0
    return X, rng.integers(-8, 9, (N_SAMPLES, n_outputs)).astype(float), rng


@pytest.mark.parametrize("name", SINGLE)
@given(seed=st.integers(0, 2**32 - 1), n_outputs=st.integers(1, 3), limit=st.integers(1, 5))
def test_the_best_of_the_others_in_their_order(name, seed, n_outputs, limit):
    X, s, rng = draw(seed, n_outputs)
    everything = SINGLE[name](X, EVERY).price(s)
    negated = SINGLE[name](X, EVERY).price(-s)
    taken = {c.hypothesis for c in everything.columns if rng.random() < 0.5}
    expected = [c for c in everything.columns if c.hypothesis not in taken][:limit]
    priced = SINGLE[name](X, limit).price(s, exclude=taken)
    assert [(c.hypothesis, c.edge) for c in priced.columns] == [(c.hypothesis, c.edge) for c in expected]
    assert (priced.edge_bound, priced.edge_square_sum) == (everything.edge_bound, everything.edge_square_sum)
    nothing = SINGLE[name](X, limit).price(s, exclude={c.hypothesis for c in everything.columns})
    assert (nothing.columns, nothing.edge_bound) == ([], everything.edge_bound)
    of_either_sign = SINGLE[name](X, EVERY).price(s, exclude=[c.hypothesis for c in negated.columns])
    assert [c.edge for c in of_either_sign.columns if c.edge > 0] == []


def perceptrons(X, directions):
    """Every perceptron of sign +1 with one of the directions, its threshold halfway."""
    for theta in directions:
        values = np.unique([sum(t * x for t, x in zip(theta, row, strict=True)) for row in X.tolist()])
        yield from (Perceptron(tuple(theta), a / 2 + b / 2, 1) for a, b in pairwise(values.tolist()))


@pytest.mark.parametrize("duplicates", [False, True])
@given(seed=st.integers(0, 2**32 - 1), n_outputs=st.integers(1, 2))
def test_the_best_perceptron_outside_of_every_direction(duplicates, seed, n_outputs):
    X, s, rng = draw(seed, n_outputs)
    directions = [[0.6, 0.8], [1.0, 0.0], [0.0, -1.0]] + [[0.6, 0.8]] * duplicates
    everything = list(perceptrons(X, directions[:3]))
    taken = [h for h in everything if rng.random() < 0.6]
    oracle = ParallelPerceptrons(X, directions)
    inside = {Perceptron(h.theta, h.alpha, int(rng.choice([-1, 1]))) for h in taken} | {Constant(1)}
    priced = oracle.price(s, exclude=inside)
    best: dict = {}
    for h in everything:
        if h not in taken:
            best[h.theta] = max(best.get(h.theta, 0.0), float(np.abs(h(X) @ s).max()))
    assert {c.hypothesis.theta: c.edge for c in priced.columns} == pytest.approx(best)
    assert len(priced.columns) == len(best)
    for column in priced.columns:
        assert (s.T @ column.values).max() == pytest.approx(column.edge)
        assert Perceptron(column.hypothesis.theta, column.hypothesis.alpha, 1) not in taken
    plain = oracle.price(s)
    assert (priced.edge_bound, priced.edge_square_sum) == (plain.edge_bound, plain.edge_square_sum)


def test_fixed_directions_run_out_one_perceptron_of_each_at_a_time():
    X, s, _ = draw(0, 1)
    oracle = Perceptrons(X, n_directions=4, resample=False, random_state=1)
    first, inside = oracle.price(s), set()
    while columns := oracle.price(s, exclude=inside).columns:
        found = {c.hypothesis for c in columns}
        assert found.isdisjoint(inside)
        inside |= found
        assert oracle.price(s, exclude=inside).edge_bound == first.edge_bound
    thetas = {h.theta for h in inside if isinstance(h, Perceptron)}
    edges = [float((h(X) @ s).item()) for h in inside]
    assert len(inside) == 1 + sum(len(np.unique((X @ theta).round(9))) - 1 for theta in thetas)
    assert np.square(edges).sum() == pytest.approx(first.edge_square_sum)


@pytest.mark.parametrize("refined", [0, 1])
def test_sampled_perceptrons_leave_out_what_they_can_meet_again(refined):
    X = np.array([[0.0], [1.0], [1.0], [4.0]])
    s = np.array([1.0, -1.0, -1.0, 2.0])
    oracle = Perceptrons(X, n_directions=3, refined=refined, random_state=0)
    inside: set = set()
    for _ in range(2):
        inside |= {c.hypothesis for c in oracle.price(s, exclude=inside).columns}
    assert inside == {Perceptron((1.0,), 2.5, 1), Perceptron((1.0,), 0.5, -1), Constant(1)}
    assert oracle.price(s, exclude=inside).columns == []


def test_a_negated_function_is_inside_too():
    X, s = np.array([[0.0], [1.0], [5.0]]), np.array([-1.0, -2.0, 0.0])
    pool = Pool.of([np.ravel, np.ones_like], X)
    assert Pool.of([np.ravel, np.ones_like, np.ravel], X).H.shape == pool.H.shape
    for taken in (np.ravel, Scaled(np.ravel, -1.0)):
        assert len(pool.price(s, exclude=[taken]).columns) == 1
