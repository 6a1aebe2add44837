"""The stump oracle against brute force over every stump."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from cvxens.colgen.oracles.stumps import Constant, Stump, Stumps
from cvxens.errors import InvalidInput

weights = st.floats(-1, 1, width=32)


@st.composite
def priced_samples(draw):
    shape = draw(st.tuples(st.integers(2, 12), st.integers(1, 4)))
    X = draw(arrays(np.float64, shape, elements=st.integers(-2, 3) | st.floats(-10, 10)))
    X[0, 0] = X[1, 0] + 1
    return X, draw(arrays(np.float64, (shape[0], draw(st.integers(1, 3))), elements=weights))


def all_stumps(X):
    """Every middle stump of sign +1, feature by feature, thresholds ascending."""
    for j in range(X.shape[1]):
        distinct = np.unique(X[:, j])
        for a, b in pairwise(distinct):
            middle = a / 2 + b / 2
            yield Stump(j, middle if middle > a else b, 1)


@given(priced_samples(), st.booleans())
@settings(deadline=None, max_examples=150)
def test_brute_force(sample, constant):
    X, s = sample
    stumps = list(all_stumps(X))
    edges = np.array([h(X) @ s for h in stumps])
    total = np.abs(s.sum(axis=0)).max()
    priced = Stumps(X, constant=constant).price(s)

    best = {h.feature: 0.0 for h in stumps}
    for h, edge in zip(stumps, edges, strict=True):
        best[h.feature] = max(best[h.feature], np.abs(edge).max())
    found = {c.hypothesis.feature: c for c in priced.columns if isinstance(c.hypothesis, Stump)}
    assert found.keys() == best.keys()
    for feature, edge in best.items():
        assert_allclose(found[feature].edge, edge, atol=1e-12)
    for column in priced.columns:
        assert_allclose((column.values @ s).max(), column.edge, atol=1e-12)
    assert [c.edge for c in priced.columns] == sorted((c.edge for c in priced.columns), reverse=True)
    assert any(isinstance(c.hypothesis, Constant) for c in priced.columns) == constant

    largest = max(np.abs(edges).max(), total if constant else 0.0)
    assert largest * (1 - 1e-15) <= priced.edge_bound <= largest + 1e-12
    square_sum = (edges**2).sum() + constant * (s.sum(axis=0) ** 2).sum()
    assert_allclose(priced.edge_square_sum, square_sum, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "s", [np.zeros(3), [0.1, np.nan, 0.2], np.zeros((4, 1, 1)), [1e308, 1e308, 1e308, 1e308], 1.0]
)
def test_bad_weights(s):
    with pytest.raises(InvalidInput, match=r"^s: "):
        Stumps([[0.0], [1.0], [2.0], [3.0]]).price(s)


def test_zero_weights():
    priced = Stumps([[0.0, 1.0], [1.0, 1.0]]).price(np.zeros(2))
    assert [c.edge for c in priced.columns] == [0, 0]
    assert priced.edge_bound == priced.edge_square_sum == 0


def test_columns_per_round_and_ties():
    X = np.array([[0.0, 0, 3, 0], [1, 1, 3, 1], [2, 2, 3, 2], [3, 3, 3, 3]])
    s = np.array([1.0, -1, 1, -1])
    chosen = Stumps(X, columns_per_round=2).price(s).columns
    assert [c.hypothesis for c in chosen] == [Stump(0, 0.5, -1), Stump(1, 0.5, -1)]
