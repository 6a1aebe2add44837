import numpy as np
from sklearn.metrics.pairwise import linear_kernel

from cvxens.colgen.oracles import KernelColumns
from cvxens.hypotheses import KernelColumn


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
