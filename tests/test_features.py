"""Sorted features: dense, sparse, in every type."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from cvxens.errors import InvalidInput
from cvxens.features import NONE, BinnedFeatures, Closed, FixedPoint, column, sum_before
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


@given(
    seed=st.integers(0, 2**32 - 1), kind=st.sampled_from([np.asarray, csc_array]), n_bins=st.sampled_from([None, 2, 5])
)
def test_bins_and_what_is_inside_them_have_every_edge(seed, kind, n_bins):
    """Histograms are sums over codes; ends of bins, and places inside, have the edges of a scan of the whole sample."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 9, (40, 5)) * (random.random((40, 5)) < random.choice([0.3, 1.0], 5)).astype(float)
    X[random.random((40, 5)) < random.choice([0.0, 0.3], 5)] = np.nan
    features = BinnedFeatures(kind(X), range(5), ways=random.integers(-1, 2, 5), n_bins=n_bins)
    integers = random.integers(-9, 9, (2, 40))
    totals, positives = integers.sum(axis=1), np.maximum(integers, 0).sum(axis=1)
    weights = features.weigh(FixedPoint(integers, totals, positives, 0, 0))
    sums, bins = features.histograms(weights), features.bins
    below = sum_before(sums[0] + sums[1], features.bins.cut_starts)
    nothing = Closed(np.empty(0, np.int64), np.zeros(6, np.int64))
    for j in range(5):
        own = slice(bins.cut_starts[j], bins.cut_starts[j + 1])
        held = features.codes[j] == np.arange(features.counts[j] + 2)[:, np.newaxis]
        assert (held[-1] == np.isnan(X[:, j])).all()
        for part, limit in zip(sums, (np.maximum, np.minimum), strict=True):
            assert (part[:, own][:, :-1] == limit(integers, 0) @ held[:-1].T).all()
        places, edges = features.places(j), features.evaluate_edges(j, weights)
        counted = np.where(held[-1], features.ways[j], np.where(X[:, j] >= X[:, j : j + 1], 1, -1))
        for row in np.flatnonzero(~held[-1]):
            place = np.searchsorted(features.entry_values[features.entries(j)], X[row, j])
            if place:
                assert (edges[:, places == place][:, 0] == integers @ counted[row]).all()
        ends = weights.totals[:, j : j + 1] - 2 * below[:, own][:, 1:-1]
        assert (ends == edges[:, np.isin(places, bins.cuts[own])]).all()
        for cut in range(own.start, own.stop - 1):
            run = np.array([[1, cut, 0, 99]])
            found = features.refine(run, weights, below, np.ones(5, np.int64), nothing)
            inside = edges[1, (bins.cuts[cut] < places) & (places < bins.cuts[cut + 1])]
            assert found.largest[0] == found.sizes[0] == inside.max(initial=NONE)
            assert found.squares[0] == (inside**2).sum()


@pytest.mark.product(n_threads=[0, 1, 2, 7], n_tasks=[0, 1, 3, 100], guided=[False, True])
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


@pytest.mark.product(kind=["csc", "csr", "coo", "lil", "dok", "dia", "bsr"], dtype=[np.float64, np.uint8, bool])
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


def test_zeros_leave_the_quantiles_to_the_rest():
    x = np.append(np.zeros(9000), np.random.default_rng(0).exponential(size=1000))
    counts = np.histogram(x[x > 0], BinnedFeatures(x[:, np.newaxis], n_bins=33).thresholds[0])[0]
    assert len(counts) == 31
    assert np.ptp(counts) <= 2
