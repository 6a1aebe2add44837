"""Columns of signs as sparse differences say what the columns say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.solvers.differences import Differences


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), k=st.integers(1, 8))
def test_scores_are_those_of_the_columns(seed, n, k):
    """The equations of v and t have one solution for every w, and ``H w = D v + t 1`` there."""
    random = np.random.default_rng(seed)
    H = random.choice([-1.0, 1.0], (n, k)) * random.choice([0.5, 1.0, 3.0], k)
    H[:, random.random(k) < 0.3] = random.normal(size=n)[:, None] * random.integers(0, 2, (n, 1))
    found, w = Differences.from_columns(H), random.normal(size=k)
    of_columns = found.children.toarray()[1:]
    v = np.linalg.solve(np.eye(k) - of_columns, found.sizes * w)
    t = found.children.toarray()[0] @ v
    assert_allclose(found.D @ v + t, H @ w, atol=1e-9)


@pytest.mark.parametrize("n_features", [1, 3])
def test_a_sample_is_in_one_difference_of_every_feature(n_features):
    random = np.random.default_rng(0)
    X, thresholds = random.normal(size=(200, n_features)), np.linspace(-1, 1, 15)
    H = np.concatenate([np.where(X[:, [j]] >= thresholds, 1.0, -1.0) for j in range(n_features)], axis=1)
    H *= random.choice([-1.0, 1.0], H.shape[1])
    assert Differences.from_columns(H).D.nnz <= n_features * len(X)
