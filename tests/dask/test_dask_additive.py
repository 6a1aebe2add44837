import dask.array as da
import numpy as np
import pytest
from dask_samples import cut, sharded, two_classes
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from cvxens import InfiniteEnsembleSVC
from cvxens.dask import DaskInfiniteEnsembleSVC, additive
from cvxens.dask.additive import (
    Doubtful,
    Knots,
    RoundedHinge,
    Search,
    bound_form,
    find_direction,
    integrate,
    interpolate,
    measure_roughness,
    measure_variance,
    merge_looks,
    pull,
    sum_by_knots,
    sum_floats,
    sum_moments,
)
from cvxens.dask.shards import mix
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Hinge
from cvxens.solvers.additive import AdditiveKernel


def parts_of(model):
    predictor, certificate = model._predictor, model.certificate_
    return predictor.values.tolist(), predictor.intercept, certificate.primal, certificate.dual


@pytest.mark.parametrize("n_values", [None, 7])
def test_the_machine_is_the_same_bits_for_all_shards_and_that_of_one_machine(n_values):
    X, y = two_classes(30, 2)
    X = X if n_values is None else np.round(2 * X)
    one, many = (
        DaskInfiniteEnsembleSVC(C=0.1, tol=1e-9).fit(cut(X, ends), cut(y, ends)) for ends in ([], [1, 1, 20, 24])
    )
    assert parts_of(one) == parts_of(many)
    assert one.certificate_.holds(1e-9)
    alone = InfiniteEnsembleSVC(C=0.1, tol=1e-10).fit(X, y)
    assert one.certificate_.dual == pytest.approx(alone.certificate_.dual, rel=1e-9)
    assert one.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-9)
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
    lost = n * 2 * float(np.abs(s).sum()) * ranges
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


@settings(max_examples=20)
@given(st.floats(-3, 5), st.floats(0.01, 4))
def test_a_rounded_hinge_is_above_the_hinge_and_its_multipliers_are_minus_its_slope(z, width):
    near, hinge, z = RoundedHinge(2.0, width), Hinge(2.0), np.array([z])
    assert 0 <= near.values(z)[0] - hinge.values(z)[0] + 1e-15 <= 2.0 * width / 8 + 1e-14
    h = 1e-6 * width
    assert near.multipliers(z)[0] == pytest.approx((near.values(z - h) - near.values(z + h))[0] / (2 * h), abs=1e-5)


def look_at(seed, width=1.0, ends=(7, 7, 31)):
    """A search on 40 rows, at functions of no merit."""
    X, y = two_classes(40, 3, seed=seed)
    search = Search(sharded(np.round(X, 1), y, ends), 0.5, 1e-3, [])
    G = np.random.default_rng(seed).normal(size=search.knots.values.shape) / 4
    return search, search._look(G - G[:, -1:] / 2 - G[:, :1] / 2, 0.1, width)


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from([1.0, 0.5]))
@example(1, 1.0)
def test_newton_directions_balance_functions_and_multipliers_by_those_of_rows_in_doubt(seed, narrower):
    search, at = look_at(seed)
    rows, knots = at.doubtful, at.curve.knots
    ahead = find_direction(at, narrower)
    f, df = (interpolate(rows.values, rows.codes, knots, *own) for own in ((at.curve.G, 0.1), (ahead.V, ahead.v)))
    # y u = C (y / 2 + (y - f) / width) inside of the kink; all others keep theirs
    before = 0.5 * (rows.y / 2 + rows.y - f)
    c = 0.5 * (rows.y / 2 + (rows.y - f - df) / narrower) - before
    assert c.sum() == pytest.approx(-at.surplus, abs=1e-9)
    assert np.allclose(pull(knots, at.curve.G + ahead.V), at.edges + sum_floats(rows, knots, c), atol=1e-8)
    if narrower == at.curve.loss.width:
        smoothed = [search._look(at.curve.G + t * ahead.V, at.curve.b + t * ahead.v, 1.0).smoothed for t in (0, 1e-4)]
        assert (smoothed[0] - smoothed[1]) / 1e-4 == pytest.approx(2 * ahead.promised, rel=1e-2)


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_the_gap_is_what_multipliers_miss_and_how_far_functions_are_from_theirs(seed):
    _, at = look_at(seed)
    # multipliers that balance, with those of rows in doubt moved alike
    rows, knots = at.doubtful, at.curve.knots
    edges = at.edges + sum_floats(rows, knots, np.full(len(rows.y), -at.surplus / len(rows.y)))
    G = integrate(knots, edges)
    assert np.allclose(pull(knots, G), edges, atol=1e-9)
    # <edges, g> = 2 R(g) for the functions that they make, whose roughness is the dual's form
    assert float((edges * G).sum()) == pytest.approx(2 * measure_roughness(knots, G))
    apart = measure_roughness(knots, at.curve.G - G)
    known = measure_roughness(knots, at.curve.G) + measure_roughness(knots, G) - float((edges * at.curve.G).sum())
    assert apart == pytest.approx(known)
    assert find_direction(at, 1.0).apart == pytest.approx(apart + abs(at.surplus))


def test_functions_of_settled_rows_and_of_those_in_doubt_are_the_whole_expansion():
    X, y = two_classes(40, 3)
    sample = sharded(X, y)
    (shard,), knots = sample.workers.compute(sample.shards), Knots.from_sample(sample)
    s = np.random.default_rng(0).normal(size=40)
    s -= s.mean()
    rows = Doubtful(mix(np.arange(40, dtype=np.uint64)), shard.values, shard.codes, shard.y, shard.weights)
    in_doubt = np.arange(40) >= 30
    settled, doubt = (sum_floats(rows, knots, np.where(own, s, 0.0)) for own in (~in_doubt, in_doubt))
    scores = interpolate(shard.values, shard.codes, knots, integrate(knots, settled + doubt), 0.0)
    assert np.allclose(scores, AdditiveKernel.of(X).product(s), atol=1e-10)


def test_rows_in_doubt_are_the_same_however_they_are_merged(monkeypatch):
    monkeypatch.setattr(additive, "MOST_DOUBTFUL", 5)
    found = [look_at(3, ends=ends)[1] for ends in ((), (5, 5, 11, 12, 30), (39,))]
    assert found[0].n_doubtful > 5 == len(found[0].doubtful.y)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0].doubtful, other.doubtful, strict=True))
        assert (other.smoothed, other.missed, other.surplus) == (found[0].smoothed, found[0].missed, found[0].surplus)
    later = found[0].doubtful._replace(ranks=found[0].doubtful.ranks + np.uint64(1))
    sums, kept = merge_looks([((np.array(1),), own) for own in (found[0].doubtful, later)])
    assert sums == (2,)
    assert len(kept.y) == 5


def test_rows_that_are_all_in_doubt_or_none_and_a_draw_of_them_reach_the_optimum(monkeypatch):
    X, y = two_classes(60, 2)
    monkeypatch.setattr(additive, "MOST_DOUBTFUL", 20)
    for C, labels in ((1e-4, y), (1e-4, np.where(np.arange(60) < 30, 1.0, -1.0)), (0.5, y)):
        model = DaskInfiniteEnsembleSVC(C=C).fit(cut(X, [9]), cut(labels, [9]))
        alone = InfiniteEnsembleSVC(C=C, tol=1e-8).fit(X, labels).certificate_
        assert model.certificate_.holds(1e-3)
        rounding = alone.rounding + model.certificate_.rounding
        assert model.certificate_.dual <= alone.primal + rounding
        assert model.certificate_.primal >= alone.dual - rounding


@settings(max_examples=5)
@given(st.integers(0, 2**32), st.sampled_from([7, 35]), st.sampled_from([1e-5, 1.0, 1e4]), st.sampled_from([0.1, 1.6]))
@example(18, 35, 1e4, 1.6)
@example(14, 7, 1e-5, 0.8)
def test_ties_with_different_labels_are_solved_in_any_unit(seed, n, unit, C):
    rng = np.random.default_rng(seed)
    X, y = unit * rng.integers(0, 3, (n, 2)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    certificate = DaskInfiniteEnsembleSVC(C=C, tol=1e-4).fit(cut(X, [3]), cut(y, [3])).certificate_
    alone = InfiniteEnsembleSVC(C=C, tol=1e-6).fit(X, y).certificate_
    assert certificate.holds(1e-4)
    rounding = alone.rounding + certificate.rounding
    assert certificate.dual <= alone.primal + rounding
    assert certificate.primal >= alone.dual - rounding


@pytest.mark.parametrize("limits", [{"MAX_STEPS": 2}, {"max_time": 1e-9}])
def test_a_fit_that_is_cut_short_is_certified_all_the_same(monkeypatch, limits):
    if "MAX_STEPS" in limits:
        monkeypatch.setattr(additive, "MAX_STEPS", limits["MAX_STEPS"])
    X, y = two_classes(30, 2)
    model = DaskInfiniteEnsembleSVC(C=0.5, max_time=limits.get("max_time"))
    with pytest.warns(ConvergenceWarning, match="the relative gap is"):
        model.fit(cut(X, [9]), cut(y, [9]))
    alone = InfiniteEnsembleSVC(C=0.5, tol=1e-8).fit(X, y).certificate_
    assert -np.inf < model.certificate_.dual <= alone.primal
    assert model.certificate_.primal >= alone.dual
    assert model.history_[-1].objective == model.certificate_.primal
