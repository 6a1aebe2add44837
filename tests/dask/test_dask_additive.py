import dask.array as da
import numpy as np
import pytest
from dask_samples import cut, sharded, two_classes
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens import InfiniteEnsembleSVC
from cvxens.dask import DaskInfiniteEnsembleSVC
from cvxens.dask.additive import Knots, bound_form, interpolate, measure_variance, sum_by_knots, sum_moments
from cvxens.errors import InvalidInput
from cvxens.solvers.additive import AdditiveKernel


def parts_of(model):
    predictor, certificate = model._predictor, model.certificate_
    return predictor.values.tolist(), predictor.intercept, certificate.primal, certificate.dual


@pytest.mark.parametrize("n_values", [None, 7])
def test_the_machine_is_the_same_bits_for_all_shards_and_that_of_one_machine(n_values):
    X, y = two_classes(30, 2)
    X = X if n_values is None else np.round(2 * X)
    one, many = (
        DaskInfiniteEnsembleSVC(C=0.05, tol=1e-2).fit(cut(X, ends), cut(y, ends)) for ends in ([], [1, 1, 20, 24])
    )
    assert parts_of(one) == parts_of(many)
    assert one.certificate_.holds(1e-2)
    alone = InfiniteEnsembleSVC(C=0.05, tol=1e-7).fit(X, y)
    assert one.certificate_.dual <= alone.certificate_.primal
    assert one.certificate_.primal >= alone.certificate_.dual
    new = np.random.default_rng(3).normal(size=(20, 2))
    scores = one.decision_function(cut(new, [8]))
    assert isinstance(scores, da.Array)
    assert np.array_equal(scores.compute(), one.to_local().decision_function(new))
    assert np.array_equal(one.predict(new), one.to_local().predict(new))
    assert len(one.to_local().shape_functions_) == 2


def test_the_default_price_is_that_of_one_machine():
    X, y = two_classes(50, 3)
    assert 4 / measure_variance(sharded(X, y, [9])) == pytest.approx(InfiniteEnsembleSVC().fit(X, y).C_, rel=1e-9)
    with pytest.raises(InvalidInput, match="C: found 'large'"):
        DaskInfiniteEnsembleSVC(C="large").fit(cut(X, []), cut(y, []))


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(2, 400), st.integers(2, 12))
def test_the_form_of_the_kernel_is_bounded_from_above_and_nearly_met(seed, n, n_bins):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2, 1.0, -1.0)
    s = np.rint(rng.normal(size=n) * 2**40).astype(np.int64)
    s[0] -= s.sum()
    # few bins, so that much is inside of them
    cuts = [np.quantile(own, np.arange(1, n_bins) / n_bins) for own in X.T]
    codes = np.stack([np.searchsorted(own, v, "right") for own, v in zip(cuts, X.T, strict=True)]).astype(np.uint8)
    low, high = np.full((2, 2, 256), np.inf)
    for j in range(2):
        np.minimum.at(low[j], codes[j], X[:, j])
        np.minimum.at(high[j], codes[j], -X[:, j])
    sums = sum_moments(np.ascontiguousarray(X.T), codes, np.stack([low, -high]), s)
    bound = float(bound_form(sums, low, -high).sum())
    v = s / 2.0**40
    form = float(v @ AdditiveKernel.of(X).product(v)) * 2.0**80
    ranges = np.ptp(X, axis=0).sum()
    lost = 2.0**16 * n * 2 * float(np.abs(s).sum()) * ranges
    assert bound + lost >= form * (1 - 1e-12)
    assert bound <= form + 2 * ranges * float(np.abs(s).max()) ** 2 * n
    assert y.any()


def test_scores_and_edges_by_knots_are_adjoint():
    X, y = two_classes(300, 2)
    sample = sharded(X, y)
    knots = Knots.from_sample(sample)
    (shard,) = sample.workers.compute(sample.shards)
    rng = np.random.default_rng(0)
    G, s = rng.normal(size=knots.values.shape), rng.integers(-(2**40), 2**40, 300)
    scores = interpolate(shard.values, shard.codes, knots, G, 0.0)
    expected = sum(np.interp(X[:, j], knots.values[j, :count], G[j, :count]) for j, count in enumerate(knots.counts))
    assert np.allclose(scores, expected, atol=1e-12)
    edges = sum_by_knots(shard.values, shard.codes, knots, s)
    assert float((edges * G).sum()) == pytest.approx(float(scores @ s), rel=1e-9)
    assert edges.sum() == 2 * s.sum()
