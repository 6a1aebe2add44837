import dask.array as da
import numpy as np
import pytest
from dask_samples import cut, sharded, two_classes
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cvxens import InfiniteEnsembleSVC
from cvxens.dask import DaskInfiniteEnsembleSVC, additive
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
    one, many = (DaskInfiniteEnsembleSVC(C=0.1).fit(cut(X, ends), cut(y, ends)) for ends in ([], [1, 1, 20, 24]))
    assert parts_of(one) == parts_of(many)
    assert one.certificate_.holds(1e-3)
    alone = InfiniteEnsembleSVC(C=0.1, tol=1e-8).fit(X, y)
    assert one.certificate_.dual <= alone.certificate_.primal
    assert one.certificate_.primal >= alone.certificate_.dual
    new = np.random.default_rng(3).normal(size=(20, 2))
    scores = one.decision_function(cut(new, [8]))
    assert isinstance(scores, da.Array)
    assert np.array_equal(scores.compute(), one.to_local().decision_function(new))
    assert np.array_equal(one.predict(new), one.to_local().predict(new))
    assert len(one.to_local().shape_functions_) == 2


def test_a_bound_over_finer_steps_is_better_and_finer_knots_carry_functions(monkeypatch):
    monkeypatch.setattr(additive, "MOST_ROWS", 10)
    X, y = two_classes(40, 2)
    model = DaskInfiniteEnsembleSVC(C=1.0, tol=1e-3).fit(cut(X, [9]), cut(y, [9]))
    alone = InfiniteEnsembleSVC(C=1.0, tol=1e-8).fit(X, y)
    assert model.certificate_.holds(1e-3)
    assert model.certificate_.dual <= alone.certificate_.primal
    assert model.certificate_.primal >= alone.certificate_.dual
    # steps of 20 rows in 2 bins
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(600, 1)), np.rint(rng.normal(size=600) * 2**40).astype(np.int64)
    s[0] -= s.sum()
    sample = sharded(X, np.where(np.arange(600) % 2, 1.0, -1.0))
    (shard,) = sample.workers.compute(sample.shards)
    forms = []
    for n_steps in (1, 4, 256):
        knots = Knots.from_sample(sample, n_steps)
        forms.append(bound_form(sum_moments(shard.values, shard.codes, knots, s), knots))
    assert forms[0][0] > forms[1][0] > forms[2][0] > 0
    assert forms[0][1] > forms[1][1] > forms[2][1]
    G = rng.normal(size=(1, knots.values.shape[1]))
    coarse = Knots.from_sample(sample, 1)
    carried = coarse.carry(knots, G[:, : coarse.values.shape[1]])
    scores = [interpolate(shard.values, shard.codes, own, g, 0.0) for own, g in ((knots, carried), (coarse, G))]
    assert np.allclose(*scores, atol=1e-12)


def test_the_default_price_is_that_of_one_machine():
    X, y = two_classes(50, 3)
    assert 4 / measure_variance(sharded(X, y, [9])) == pytest.approx(InfiniteEnsembleSVC().fit(X, y).C_, rel=1e-9)
    with pytest.raises(InvalidInput, match="C: found 'large'"):
        DaskInfiniteEnsembleSVC(C="large").fit(cut(X, []), cut(y, []))


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(2, 400), st.integers(2, 12))
@example(2, 3, 3)
def test_the_form_of_the_kernel_is_bounded_from_above_and_nearly_met(seed, n, n_bins):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    s = np.rint(rng.normal(size=n) * 2**40).astype(np.int64)
    s[0] -= s.sum()
    # few knots, so that much is inside of steps
    knots = make_knots([np.unique(np.quantile(own, np.arange(n_bins + 1) / n_bins)) for own in X.T])
    sums = sum_moments(np.ascontiguousarray(X.T), np.zeros((2, n), np.uint8), knots, s)
    bound, vague = bound_form(sums, knots)
    v = s / 2.0**40
    form = float(v @ AdditiveKernel.of(X).product(v)) * 2.0**80
    ranges = np.ptp(X, axis=0).sum()
    lost = 2.0**16 * n * 2 * float(np.abs(s).sum()) * ranges
    assert bound + lost >= form * (1 - 1e-12)
    assert bound - vague <= form * (1 + 1e-12) + lost


def make_knots(lists):
    """Knots of these values, of a sample in one bin."""
    counts = np.array([len(own) for own in lists])
    values = np.stack([np.append(own, np.full(counts.max() - len(own), own[-1])) for own in lists])
    low = np.repeat(values[:, :1], 256, axis=1)
    return Knots(
        values,
        counts,
        np.zeros(low.shape, np.int64),
        low,
        np.repeat(counts / np.ptp(values, axis=1), 256).reshape(low.shape),
    )


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
