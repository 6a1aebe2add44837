from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cvxens.kernels import MiddleStump, Perceptron, Stump
from cvxens.problems import DenseColumns, Signed, StumpColumns, maps
from cvxens.problems.maps import gram

values = st.integers(-4, 4).map(float)
weights = st.integers(-8, 8).map(lambda k: k / 4)


@st.composite
def samples(draw):
    """Small samples with ties, constant and duplicated features."""
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    X = draw(arrays(float, (n, d), elements=values))
    if draw(st.booleans()):
        X[:, -1] = X[:, 0]
    if draw(st.booleans()):
        X[:, draw(st.integers(0, d - 1))] = 1.0
    X[0, 0], X[1, 0] = -1.0, draw(st.sampled_from([1.0, np.nextafter(-1.0, 0)]))
    return X


@st.composite
def columns(draw):
    X = draw(samples())
    ends = None
    if draw(st.booleans()):
        below = draw(arrays(float, X.shape[1], elements=st.sampled_from([0.0, 1.0])))
        above = draw(arrays(float, X.shape[1], elements=st.sampled_from([0.0, 2.5])))
        ends = np.stack([X.min(axis=0) - below, X.max(axis=0) + above])
    scale = draw(st.sampled_from([None, np.sqrt, lambda width: 1 + 3 * width]))
    return StumpColumns(X, constant=draw(st.booleans()), ends=ends, gap_scale=scale)


def dense(H):
    """The columns one by one: gaps between distinct values of each feature, ends included, the constant last."""
    found = []
    for feature in range(H.X.shape[1]):
        cuts = sorted(set(H.X[:, feature]))
        if H.ends is not None:
            cuts = [H.ends[0][feature], *cuts, H.ends[1][feature]]
        for low, high in pairwise(cuts):
            if high > low:
                scale = 1.0 if H.gap_scale is None else H.gap_scale(np.array([high - low]))[0]
                found.append(scale * np.where(H.X[:, feature] >= high, 1.0, -1.0))
    return np.column_stack(found + [np.ones(len(H.X))] * H.constant)


@given(H=columns(), data=st.data(), outputs=st.sampled_from([(), (1,), (3,)]))
def test_scores_and_edges_are_those_of_the_dense_matrix(H, data, outputs):
    matrix = dense(H)
    assert H.shape == matrix.shape
    assert H.largest == np.abs(matrix).max()
    w = data.draw(arrays(float, (matrix.shape[1], *outputs), elements=weights))
    s = data.draw(arrays(float, (matrix.shape[0], *outputs), elements=weights))
    np.testing.assert_allclose(H.scores(w), matrix @ w, atol=1e-11)
    np.testing.assert_allclose(H.edges(s), matrix.T @ s, atol=1e-11)
    both = Signed(H)
    twice = np.hstack([matrix, -matrix])
    assert both.shape == twice.shape
    assert both.largest == H.largest
    v = data.draw(arrays(float, (twice.shape[1], *outputs), elements=weights))
    np.testing.assert_allclose(both.scores(v), twice @ v, atol=1e-11)
    np.testing.assert_allclose(both.edges(s), twice.T @ s, atol=1e-11)


@given(H=columns())
def test_thresholds_tell_the_columns_on_the_sample(H):
    n_gaps = len(H.thresholds)
    assert len(H.features) == len(H.widths) == len(H.scale) == n_gaps == H.shape[1] - H.constant
    assert (H.widths > 0).all()
    stumps = np.where(H.X[:, H.features] >= H.thresholds, 1.0, -1.0) * H.scale
    np.testing.assert_array_equal(stumps, dense(H)[:, :n_gaps])
    assert (np.diff(H.features) >= 0).all()
    for feature in range(H.X.shape[1]):
        assert (np.diff(H.thresholds[H.features == feature]) > 0).all()


@settings(max_examples=8)
@given(H=columns(), seed=st.integers(0, 99), outputs=st.sampled_from([(), (2,)]), signed=st.booleans())
def test_the_link_to_cvxpy_gives_the_same_scores(H, seed, outputs, signed):
    H = Signed(H) if signed else H
    fixed = np.random.default_rng(seed).integers(-3, 4, size=(H.shape[1], *outputs)).astype(float)
    w = cp.Variable(fixed.shape)
    f, tied = H.link(w)
    assert f.is_affine()
    problem = cp.Problem(cp.Minimize(0), [*tied, w == fixed])
    problem.solve(solver="CLARABEL")
    assert problem.status == "optimal"
    np.testing.assert_allclose(f.value, H.scores(fixed), atol=1e-6)


def test_the_link_is_sparse_where_the_matrix_is_not():
    X = np.random.default_rng(0).normal(size=(300, 4))
    H = StumpColumns(X)
    w = cp.Variable(H.shape[1])
    f, tied = H.link(w)
    data, *_ = cp.Problem(cp.Minimize(cp.sum(f)), tied).get_problem_data("CLARABEL")
    assert H.shape == (300, 4 * 299 + 1)
    assert data["A"].nnz < 10 * 4 * 300


def test_dense_columns_are_the_array():
    H = DenseColumns(np.array([[1.0, -2.0], [0.5, 1.0], [0.0, 0.0]]))
    assert H.shape == (3, 2)
    assert H.largest == 2.0
    np.testing.assert_array_equal(H.scores(np.array([1.0, 1.0])), [-1.0, 1.5, 0.0])
    np.testing.assert_array_equal(H.edges(np.eye(3)), H.H.T)


SAMPLE = np.random.default_rng(0).integers(0, 4, (11, 3)) / 2.0

COLUMNS = {
    "dense": DenseColumns(np.random.default_rng(1).normal(size=(11, 5))),
    "one column": DenseColumns(np.arange(11.0)[:, None]),
    "stumps": StumpColumns(SAMPLE),
    "stumps without the constant": StumpColumns(SAMPLE, constant=False),
    "signed dense": Signed(DenseColumns(np.random.default_rng(2).normal(size=(11, 4)))),
    "signed stumps": Signed(StumpColumns(SAMPLE)),
    "cells of stumps": Stump().cells(SAMPLE),
    "cells of perceptrons": Perceptron().cells(SAMPLE, 7, random_state=0),
    "middle stumps": MiddleStump(SAMPLE).columns(),
}


@pytest.mark.parametrize("block", [1, 4, 10, 11, 12, 128], ids="block {}".format)
@pytest.mark.parametrize("name", COLUMNS)
def test_blocks_are_the_dense_product(monkeypatch, name, block):
    monkeypatch.setattr(maps, "GRAM_BLOCK", block)
    columns = COLUMNS[name]
    H = columns.scores(np.eye(columns.shape[1]))
    K = gram(columns)
    np.testing.assert_allclose(K, H @ H.T, rtol=1e-13, atol=1e-13 * np.abs(H @ H.T).max())
    assert (K == K.T).all()


def test_grams_of_cells_and_middle_stumps_are_their_kernels():
    middle = MiddleStump(SAMPLE)
    np.testing.assert_allclose(gram(middle.columns()), middle(SAMPLE), atol=1e-13)
    np.testing.assert_allclose(gram(Stump().cells(SAMPLE)), Stump()(SAMPLE), atol=1e-14)
