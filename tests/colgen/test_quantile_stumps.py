"""Quantile stumps against brute force over their own set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_array

from cvxens.colgen.oracles import QuantileStumps

SAMPLES = arrays(np.float64, (12, 2), elements=st.integers(-4, 4).map(float)).filter(lambda X: np.ptp(X, axis=0).any())
WEIGHTS = arrays(np.float64, (12, 2), elements=st.floats(-1, 1))


@given(SAMPLES, WEIGHTS, st.integers(1, 5), st.booleans())
def test_bounds_and_columns_by_brute_force(X, s, n_thresholds, sparse):
    oracle = QuantileStumps(csc_array(X) if sparse else X, n_thresholds=n_thresholds, columns_per_round=3)
    edges = np.abs([s.T @ h(X) for h in oracle.hypotheses])
    priced = oracle.price(s)
    slack = 1e-12 * (1 + np.abs(s).sum())
    assert edges.max() <= priced.edge_bound <= edges.max() + slack
    assert (edges**2).sum() - slack <= priced.edge_square_sum <= (edges**2).sum() + 100 * slack
    expected = np.sort(edges.max(axis=1))[::-1][:3]
    np.testing.assert_allclose([column.edge for column in priced.columns], expected, atol=slack)
    for column in priced.columns:
        assert column.edge == pytest.approx((s.T @ column.values).max(), abs=slack)


@given(SAMPLES, WEIGHTS, st.integers(1, 3))
def test_what_is_inside_is_left_out_in_either_sign(X, s, n_thresholds):
    oracle = QuantileStumps(X, n_thresholds=n_thresholds)
    inside = [column.hypothesis for column in oracle.price(s).columns]
    assert len(inside) == len(oracle.hypotheses)
    assert list(oracle.price(-s, exclude=inside).columns) == []
    assert len(oracle.price(s, exclude=inside[1:]).columns) == 1


def test_thresholds_are_at_quantiles():
    X = np.arange(1000.0)[:, None]
    thresholds = [h.threshold for h in QuantileStumps(X, n_thresholds=9).hypotheses[:-1]]
    np.testing.assert_allclose(thresholds, np.arange(100, 1000, 100), atol=1)
