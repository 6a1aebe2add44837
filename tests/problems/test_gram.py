"""H H' block by block against H H'."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cvxens.kernels import MiddleStump, Perceptron, Stump
from cvxens.problems import DenseColumns, Signed, StumpColumns
from cvxens.problems import maps as module
from cvxens.problems.maps import gram

X = np.random.default_rng(0).integers(0, 4, (11, 3)) / 2.0

COLUMNS = {
    "dense": DenseColumns(np.random.default_rng(1).normal(size=(11, 5))),
    "one column": DenseColumns(np.arange(11.0)[:, None]),
    "stumps": StumpColumns(X),
    "stumps without the constant": StumpColumns(X, constant=False),
    "signed dense": Signed(DenseColumns(np.random.default_rng(2).normal(size=(11, 4)))),
    "signed stumps": Signed(StumpColumns(X)),
    "cells of stumps": Stump().cells(X),
    "cells of perceptrons": Perceptron().cells(X, 7, random_state=0),
    "middle stumps": MiddleStump(X).columns(),
}


@pytest.mark.parametrize("block", [1, 4, 10, 11, 12, 128], ids="block {}".format)
@pytest.mark.parametrize("name", COLUMNS)
def test_blocks_are_the_dense_product(monkeypatch, name, block):
    monkeypatch.setattr(module, "GRAM_BLOCK", block)
    columns = COLUMNS[name]
    H = columns.scores(np.eye(columns.shape[1]))
    K = gram(columns)
    assert_allclose(K, H @ H.T, rtol=1e-13, atol=1e-13 * np.abs(H @ H.T).max())
    assert (K == K.T).all()


def test_gram_of_cells_is_the_stump_kernel():
    assert_allclose(gram(Stump().cells(X)), Stump()(X), atol=1e-14)


def test_gram_of_middle_stumps_is_their_kernel():
    assert_allclose(gram(MiddleStump(X).columns()), MiddleStump(X)(X), atol=1e-13)
