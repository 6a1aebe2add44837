"""Stumps leaves out the hypotheses that the master has, and still counts them in its bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cvxens.colgen.oracles import Constant, Stump, Stumps


def all_stumps(X: np.ndarray) -> list[Stump]:
    """Every middle stump of sign +1."""
    return [
        Stump(j, (low + high) / 2, 1)
        for j in range(X.shape[1])
        for low, high in zip(np.unique(X[:, j])[:-1], np.unique(X[:, j])[1:], strict=True)
    ]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans(), st.booleans())
def test_the_best_outside_of_every_feature_by_brute_force(seed, n_outputs, zeros, stored_sparse) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0 if zeros else 1, 5, (12, 3)).astype(float)
    X[0, 0], X[1, 0] = 1.0, 2.0
    s = rng.integers(-8, 9, (12, n_outputs)).astype(float)
    stumps = all_stumps(X)
    taken = [stump for stump in stumps if rng.random() < 0.5]
    inside = {Stump(h.feature, h.threshold, int(rng.choice([-1, 1]))) for h in taken} | {Constant(-1)}
    oracle = Stumps(sparse.csc_array(X) if stored_sparse else X)
    priced, everything = oracle.price(s, exclude=inside), oracle.price(s)
    expected = {}
    for stump in stumps:
        if stump not in taken:
            edge = np.abs(stump(X) @ s).max()
            expected[stump.feature] = max(expected.get(stump.feature, 0.0), edge)
    assert {c.hypothesis.feature: c.edge for c in priced.columns} == pytest.approx(expected)
    assert all(Stump(c.hypothesis.feature, c.hypothesis.threshold, 1) not in taken for c in priced.columns)
    assert all(np.abs(c.values @ s).max() == pytest.approx(c.edge) for c in priced.columns)
    assert (priced.edge_bound, priced.edge_square_sum) == (everything.edge_bound, everything.edge_square_sum)


def test_nothing_is_left_when_all_are_inside() -> None:
    X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    inside = {Stump(0, 0.5, 1), Stump(0, 1.5, -1), Constant(1)}
    priced = Stumps(X).price(np.array([1.0, -2.0, 3.0]), exclude=inside)
    assert list(priced.columns) == []
    assert priced.edge_bound == pytest.approx(4.0)
