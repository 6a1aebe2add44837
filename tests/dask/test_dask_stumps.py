import pickle
from dataclasses import replace

import numpy as np
import pytest
from dask_samples import cut, sharded
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.colgen.oracles import QuantileStumps, Stumps
from cvxens.dask import DaskQuantileStumps, DaskStumps, ShardedSample, Workers
from cvxens.dask.shards import combine_extremes, find_ends
from cvxens.dask.stumps import from_order, order_floats, sum_by_bins
from cvxens.dask.votes import InteriorHinge, Multipliers, VotedStumps, evaluate_shard
from cvxens.hypotheses import Stump
from cvxens.problems.losses import Hinge


def answer(priced):
    columns = [(column.hypothesis, column.edge) for column in priced.columns]
    return columns, priced.edge_bound, priced.outside_bound


def signs(n):
    return np.where(np.arange(n) % 2, 1.0, -1.0)


@st.composite
def samples(draw):
    n, d = draw(st.integers(4, 60)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["normal", "whole", "wide", "single"]))
    X = rng.normal(size=(n, d))
    if kind == "whole":
        X = np.round(3 * X)
    elif kind == "wide":
        X = np.exp(np.clip(200 * X, -700, 700))
    elif kind == "single":
        X = X.astype(np.float32)
    X[0, 0], X[1, 0] = 0.0, 1.0
    s = rng.normal(size=n) + draw(st.sampled_from([0.0, 2.0]))  # with 2.0 the constant has the largest edge
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    return X, s, ends


@settings(max_examples=20)
@given(samples(), st.integers(0, 3), st.booleans())
def test_answers_are_those_of_one_machine_to_the_last_bit(sample, n_excluded, coarse):
    X, s, ends = sample
    rows = sharded(X, signs(len(X)), ends)
    # of few bins, so that most thresholds are inside of one
    one, many = Stumps(X, square_sum=False), DaskStumps(coarsened(rows, 3) if coarse else rows)
    excluded = [column.hypothesis for column in one.price(s).columns][:n_excluded]
    assert answer(one.price(s, excluded)) == answer(many.price(s, excluded))


@settings(max_examples=20)
@given(samples(), st.integers(1, 9), st.booleans())
def test_quantiles_are_those_of_one_machine_however_few_bins_there_are(sample, most, weighted):
    X, s, ends = sample
    # halves, whose sums are exact on one machine too
    weights = np.random.default_rng(0).integers(1, 9, len(X)) / 2 if weighted else None
    one = QuantileStumps(X, n_thresholds=most, sample_weight=weights)
    many = DaskQuantileStumps(coarsened(sharded(X, signs(len(X)), ends, weights), 3), n_thresholds=most)
    assert many.hypotheses == one.hypotheses
    priced = many.price(s)
    assert priced.edge_bound == pytest.approx(one.price(s).edge_bound, abs=1e-12 * np.abs(s).sum())
    assert all(column.hypothesis in many for column in priced.columns)


def test_of_a_feature_that_nearly_always_is_the_same_quantiles_are_found_among_the_few_others():
    rng, n = np.random.default_rng(0), 100_000
    X = np.zeros((n, 1))
    X[rng.choice(n, 300, replace=False), 0] = rng.random(300)
    sample = sharded(X, signs(n), [n // 2])
    # all values are in one bin
    assert len(sample.cuts[0]) == 1
    assert DaskQuantileStumps(sample).hypotheses == QuantileStumps(X).hypotheses


@pytest.fixture
def questions(monkeypatch):
    asked, map_reduce = [], ShardedSample.map_reduce
    monkeypatch.setattr(
        ShardedSample, "map_reduce", lambda *told, **options: asked.append(told) or map_reduce(*told, **options)
    )
    return asked


def test_ranges_are_cut_to_single_values_in_few_questions_whatever_the_values(questions):
    # a third of the values are beside each other, a third is spread over all orders of magnitude
    near = 1 + np.arange(300) * 2.0**-52
    wide = np.append(2.0 ** np.arange(-1000, -850), -(2.0 ** np.arange(850, 1000)))
    X = np.concatenate([near, wide, np.linspace(0, 1, 300)])[:, np.newaxis]
    many = DaskStumps(coarsened(sharded(X, signs(900), [400]), 2))
    s = np.random.default_rng(0).normal(size=len(X))
    assert answer(many.price(s)) == answer(Stumps(X, square_sum=False).price(s))
    assert len(questions) <= 12


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_whole_numbers_of_floats_are_in_their_order(values):
    ascending = np.sort(np.array(values) + 0.0)
    numbers = order_floats(ascending)
    assert np.array_equal(from_order(numbers), ascending)
    assert np.array_equal(numbers[1:] > numbers[:-1], ascending[1:] > ascending[:-1])
    towards_zero = order_floats(np.nextafter(ascending, 0.0))
    assert np.array_equal(np.abs(towards_zero), np.maximum(np.abs(numbers) - 1, 0))


def coarsened(sample, n_bins):
    """The sample with its bins merged to so many of each feature."""
    cuts = tuple(own[:: max(1, -(-len(own) // (n_bins - 1)))] for own in sample.cuts)
    shards = []
    for shard in sample.workers.compute(sample.shards):
        codes = np.stack([np.searchsorted(own, v, "right") for own, v in zip(cuts, shard.values, strict=True)])
        shards.append(replace(shard, codes=codes.astype(np.uint8)))
    low, high = combine_extremes([find_ends(shard) for shard in shards])
    return replace(sample, shards=tuple(shards), cuts=cuts, low=low, high=-high, _known={})


def test_a_bound_with_slack_is_a_bound_and_costs_fewer_questions(questions):
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(3000, 2)), rng.normal(size=3000)
    y = np.where(s > 0, 1.0, -1.0)
    sample = sharded(X, y, [1000])
    exact, loose = DaskStumps(sample), DaskStumps(sample, slack=0.2)
    of_exact, n_exact = exact.price(s), len(questions)
    of_loose = loose.price(s)
    assert of_exact.edge_bound <= of_loose.edge_bound <= 1.3 * of_exact.edge_bound
    assert of_loose.columns[0].edge <= of_exact.columns[0].edge <= of_exact.outside_bound <= of_loose.outside_bound
    assert len(questions) - n_exact < n_exact


def test_questions_and_answers_do_not_grow_with_the_sample():
    sizes = []
    for n in (1000, 3000):
        rng = np.random.default_rng(2)
        sample = sharded(rng.normal(size=(n, 2)), signs(n), [n // 2])
        stumps = VotedStumps.from_hypotheses([Stump(0, 0.1, 1), Stump(1, -0.3, 1)], sample)
        u = Multipliers(stumps.vote(np.ones(2), 0.0), InteriorHinge(0.1, 0.5), (1.0, 1.0), -50)
        answers = sample.map_reduce(sum_by_bins, u), sample.map_reduce(evaluate_shard, u, Hinge(0.1), -50)
        sizes.append((len(pickle.dumps(u)), len(pickle.dumps(answers))))
    assert sizes[0] == sizes[1]


def test_bins_do_not_depend_on_the_shards():
    X = np.random.default_rng(1).normal(size=(2000, 2))
    one, many = (sharded(X, signs(2000), ends) for ends in ([], [1, 1, 700, 1999]))
    for a, b in zip(one.cuts, many.cuts, strict=True):
        assert np.array_equal(a, b)
        assert len(a) == 255
    assert np.array_equal(one.low, many.low)
    assert np.array_equal(one.high, many.high)


def test_chunks_of_labels_and_of_columns_are_made_those_of_the_sample():
    X, y = np.random.default_rng(0).normal(size=(12, 3)), signs(12)
    given_X, given_y = cut(X, [5]).rechunk((5, 2)), cut(y, [2, 9])
    sample = ShardedSample.from_collections(given_X, given_y, workers=Workers())
    s = np.random.default_rng(1).normal(size=12)
    assert answer(DaskStumps(sample).price(s)) == answer(Stumps(X, square_sum=False).price(s))
