import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import check_grad

from cvxens.colgen.oracles.sampled import Fourier, ascend, edge_and_gradient, median_distance
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Wave


def problem(seed, n=40, n_features=3, n_outputs=1):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, n_features)), random.standard_normal((n, n_outputs))


def test_frequencies_are_gaussian_and_phases_uniform():
    X, s = problem(0)
    priced = Fourier(X, pool=4000, sigma=0.5, columns_per_round=4000, random_state=0).price(s)
    theta = np.array([column.hypothesis.theta for column in priced.columns])
    kappa = np.array([column.hypothesis.kappa for column in priced.columns])
    assert stats.kstest(theta.ravel() * 0.5, stats.norm.cdf).pvalue > 0.001
    assert kappa.min() >= 0
    assert kappa.max() < 2 * math.pi


def test_a_large_pool_embodies_the_gaussian_kernel():
    X, s = problem(3)
    priced = Fourier(X, pool=20000, sigma=1.5, resample=False, random_state=0).price(s)
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    norm = (s.T @ np.exp(-distances / (2 * 1.5**2)) @ s)[0, 0]
    np.testing.assert_allclose(priced.edge_square_sum / 20000, norm / 2, rtol=0.05)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_gradient_of_the_edge(seed):
    X, s = problem(seed)
    at = np.random.default_rng(seed).standard_normal(4)
    gap = check_grad(lambda v: edge_and_gradient(X, s[:, 0], v)[0], lambda v: edge_and_gradient(X, s[:, 0], v)[1], at)
    assert gap < 1e-4
    np.testing.assert_allclose(edge_and_gradient(X, s[:, 0], at)[0], s[:, 0] @ Wave(tuple(at[:3]), at[3])(X), rtol=1e-9)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_edge_never_falls_with_more_steps(seed):
    X, s = problem(seed)
    start = np.random.default_rng(seed).standard_normal(4)
    edges = [edge_and_gradient(X, s[:, 0], ascend(X, s[:, 0], start, steps))[0] for steps in range(12)]
    assert all(after >= before for before, after in pairwise(edges))
    assert edges[-1] > edges[0]


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), n_outputs=st.integers(1, 2), shift=st.sampled_from([0.0, 100.0]))
def test_refinement_raises_the_edges_of_the_pool(seed, n_outputs, shift):
    X, s = problem(seed, n_outputs=n_outputs)
    X = X + shift
    plain = Fourier(X, pool=50, columns_per_round=5, random_state=seed).price(s)
    refined = Fourier(X, pool=50, columns_per_round=5, refine=10, random_state=seed).price(s)
    assert all(new.edge >= old.edge for new, old in zip(refined.columns, plain.columns, strict=True))
    assert refined.columns[0].edge > plain.columns[0].edge
    for column in refined.columns:
        np.testing.assert_allclose((s.T @ column.hypothesis(X)).max(), column.edge, rtol=1e-9)


def test_the_median_distance():
    X = problem(1)[0]
    distances = [np.linalg.norm(X[i] - X[j]) for i in range(40) for j in range(i)]
    assert median_distance(X) == pytest.approx(np.median(distances))
    assert Fourier(X, pool=1).sigma == median_distance(X)
    doubled = np.vstack([X[:1]] * 30 + [X[:2]])
    assert median_distance(doubled) == pytest.approx(np.linalg.norm(X[0] - X[1]))
    assert median_distance(X, n_samples=10, random_state=1) == median_distance(X, n_samples=10, random_state=1)


def test_equal_rows_in_the_subsample_ask_for_sigma():
    X = np.zeros((500, 1))
    X[0] = 1.0
    with pytest.raises(InvalidInput, match="sigma: found 2 equal rows"):
        median_distance(X, n_samples=2, random_state=0)
