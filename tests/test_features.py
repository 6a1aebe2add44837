"""Sorted features: dense, sparse, in every type."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from cvxens.errors import InvalidInput
from cvxens.features import BinnedFeatures, column
from cvxens.limits import available_threads, map_slices, threads_for


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8, np.int16, np.int32, np.int64])
def test_order_values_changes(kind):
    X = np.random.default_rng(0).integers(0, 9, (40, 3)).astype(kind)
    features = BinnedFeatures(X)
    assert features.X.dtype == (np.float64 if kind is np.int64 else kind)
    for j in range(3):
        assert (features.values[j] == np.sort(X[:, j])).all()
        assert (X[features.order[j], j] == features.values[j]).all()
        assert sorted(features.order[j]) == list(range(40))
        assert features.n_distinct[j] == len(np.unique(X[:, j]))
        places = features.places(j)
        assert (np.flatnonzero(features.changes[features.entries(j)]) == places).all()
        for place in places:
            assert features.values[j, place - 1] < features.threshold(j, place) <= features.values[j, place]


@pytest.mark.parametrize("kind", [csr_array, csc_array, coo_array, csr_matrix])
def test_sparse_entries(kind):
    dense = np.array([[0.0, -1, 0, 4], [2, 0, 0, 5], [0, 3, 0, 4], [2, 0, 0, 6]])
    features = BinnedFeatures(kind(dense))
    assert features.has_zeros.tolist() == [True, True, True, False]
    assert [features.entry_values[features.entries(j)].tolist() for j in range(4)] == [
        [0, 2, 2],
        [-1, 0, 3],
        [0],
        [4, 4, 5, 6],
    ]
    assert [sorted(features.entry_rows[features.entries(j)]) for j in range(4)] == [
        [1, 3, 4],
        [0, 2, 4],
        [4],
        [0, 1, 2, 3],
    ]
    assert features.threshold(1, 1) == -0.5
    for j in range(4):
        assert (column(features.X, j) == dense[:, j]).all()
    with pytest.raises(InvalidInput, match="sparse"):
        _ = features.order


def test_sparse_input_stays_untouched():
    X = csc_array(([0.0, 1.0, 2.0], [0, 1, 1], [0, 3]), shape=(3, 1))
    features = BinnedFeatures(X)
    assert X.nnz == 3
    assert features.entry_values.tolist() == [0, 3]


@pytest.mark.parametrize(
    "pair", [(1.0, np.nextafter(1.0, 2)), (0.0, 5e-324), (-1.7e308, 1.7e308), (1.7e308, np.nextafter(1.7e308, np.inf))]
)
def test_threshold_separates(pair):
    threshold = BinnedFeatures(np.array([pair]).T).threshold(0, 1)
    assert pair[0] < threshold <= pair[1]


@pytest.mark.parametrize(
    "X",
    [
        [[np.nan], [1.0]],
        np.array([[np.inf], [1.0]], np.float32),
        [[1.0, 2.0]],
        np.ones((4, 2)),
        np.ones((4, 2), np.uint8),
        np.empty((0, 3)),
        np.empty((3, 0)),
        [["a"], ["b"]],
        [1.0, 2.0],
        csr_array((3, 2)),
        csr_array(np.array([[1.0, 0.0]])),
        csr_array(np.array([[np.nan], [1.0]])),
    ],
)
def test_bad_samples(X):
    with pytest.raises(InvalidInput, match=r"^X: "):
        BinnedFeatures(X)


@pytest.mark.parametrize(("n_entries", "most"), [(10, 1), (10**9, available_threads())])
def test_threads_only_where_there_is_work_for_them(n_entries, most):
    assert threads_for(n_entries) == most


@pytest.mark.parametrize("n_threads", [0, 1, 2, 7])
@pytest.mark.parametrize("n_tasks", [0, 1, 3, 100])
@pytest.mark.parametrize("guided", [False, True])
def test_slices_hold_every_task_once(n_tasks, n_threads, guided):
    visited = np.zeros(n_tasks, int)

    def visit(part):
        visited[part] += 1
        return part

    parts = map_slices(visit, n_tasks, n_threads, guided=guided)
    assert (visited == 1).all()
    assert all(before.stop == after.start for before, after in pairwise(parts))
    sizes = [part.stop - part.start for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert guided or len(parts) <= max(1, n_threads)


@pytest.mark.parametrize("kind", ["csc", "csr", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8, bool])
def test_one_column_of_any_matrix(kind, dtype):
    dense = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0]], dtype)
    for feature in (0, 1, 2, -1):
        found = column(coo_array(dense).asformat(kind), feature)
        assert (found == dense[:, feature]).all()
        assert found.dtype == dtype
    with pytest.raises(IndexError):
        column(coo_array(dense).asformat(kind), 3)


def test_entries_of_one_place_are_summed():
    twice = csc_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(3, 1))
    assert column(twice, 0).tolist() == [3.0, 0.0, 0.0]
