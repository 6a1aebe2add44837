from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel

from cvxens.colgen.oracles import KernelColumns
from cvxens.hypotheses import KernelColumn

grid = st.integers(-2, 2).map(float)


@given(data=st.data(), n=st.integers(1, 8), k=st.integers(1, 2))
def test_prices_the_column_of_every_sample(data, n, k):
    X = data.draw(arrays(float, (n, 2), elements=grid))
    s = data.draw(arrays(float, (n, k), elements=grid))
    kernel = partial(laplacian_kernel, gamma=0.5)
    centers = np.array(list({tuple(x): x for x in X}.values()))
    h = np.array([[np.exp(-0.5 * np.abs(x - center).sum()) for center in centers] for x in X])
    edges = s.T @ h
    priced = KernelColumns(kernel, X, columns_per_round=n).price(s)
    best = np.sort(np.abs(edges).max(axis=0))[::-1]
    np.testing.assert_allclose([column.edge for column in priced.columns], best, atol=1e-12)
    np.testing.assert_allclose(priced.edge_bound, best[0], atol=1e-12)
    np.testing.assert_allclose(priced.edge_square_sum, (edges**2).sum(), atol=1e-12)
    for column in priced.columns:
        np.testing.assert_allclose((s.T @ column.values).max(), column.edge, atol=1e-12)


def test_an_asymmetric_kernel_keeps_sample_and_center_apart():
    def weighted(X, Z):
        return np.asarray(X)[:, :1] * np.exp(np.asarray(Z)[:, 0])

    X, s = np.array([[1.0], [2.0]]), np.array([0.5, 0.5])
    (column,) = KernelColumns(weighted, X, columns_per_round=1).price(s).columns
    assert column.hypothesis.center == (2.0,)
    np.testing.assert_allclose(column.edge, 1.5 * np.exp(2.0))
    np.testing.assert_allclose(column.hypothesis([[3.0]]), 3 * np.exp(2.0))


def test_points_that_coincide_make_one_column():
    twice = np.array([[1.0, 2.0], [1.0, 2.0]])
    (column,) = KernelColumns(linear_kernel, twice).price(np.ones(2)).columns
    assert column.hypothesis == KernelColumn(linear_kernel, (1.0, 2.0), 1)
