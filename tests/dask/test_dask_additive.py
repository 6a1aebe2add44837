from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from dask_samples import bits, fit, sharded, two_classes
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from cvxens import InfiniteEnsembleSVC
from cvxens.dask import DaskInfiniteEnsembleSVC, additive
from cvxens.dask.tallies import to_float
from cvxens.dask.votes import Multipliers, choose_reach, of_shard
from cvxens.limits import limit_time
from cvxens.problems.losses import Hinge
from cvxens.solvers.additive import AdditiveKernel, AdditiveSVM, Others, ProximalSearch, solve_additive_svm


def one_shard(n, d=2, **options):
    """A sample of so many rows, its only shard, and its knots."""
    X, y = two_classes(n, d)
    sample = sharded(X, y, **options)
    (shard,) = sample.workers.compute(sample.shards)
    return X, sample, shard, additive.Knots.from_sample(sample)


def assert_brackets(certificate, alone):
    """One machine's optimum is between both values of a certificate."""
    rounding = alone.rounding + certificate.rounding
    assert -np.inf < certificate.dual <= alone.primal + rounding
    assert certificate.primal >= alone.dual - rounding


def test_a_bound_over_finer_steps_is_better_and_finer_knots_carry_functions(monkeypatch):
    have_few_knots(monkeypatch)
    X, y = two_classes(40, 2)
    model = fit(DaskInfiniteEnsembleSVC(C=1.0, tol=1e-3), [9], X, y)
    assert model.certificate_.holds(1e-3)
    assert_brackets(model.certificate_, InfiniteEnsembleSVC(C=1.0, tol=1e-8).fit(X, y).certificate_)
    # even values and tails as heavy as they get, all of them drawn, and some
    rng = np.random.default_rng(0)
    for X, most in ((rng.standard_t(1, 600), 300), (rng.normal(size=600), 2**17), (rng.standard_t(0.5, 600), 2**17)):
        monkeypatch.setattr(additive, "MANY_ROWS", most)
        s = np.rint(rng.normal(size=600) * 2**40).astype(np.int64)
        s[0] -= s.sum()
        sample = sharded(X[:, np.newaxis], np.where(np.arange(600) % 2, 1.0, -1.0))
        (shard,) = sample.workers.compute(sample.shards)
        several = [additive.Knots.from_sample(sample, n_steps) for n_steps in (32, 64, 256)]
        sums = [additive.sum_moments(shard.values, shard.codes, knots, s) for knots in several]
        (first, off_1), (second, off_2), (third, off_3) = map(additive.bound_form, sums, several)
        assert first > second > third > 0
        assert 0.5 * first > off_1 > 2 * off_2 > 4 * off_3
        coarse, fine = several[::2]
        assert set(coarse.values[0]) < set(fine.values[0])
        assert most == 300 or set(fine.values[0]) <= set(X)
        G = rng.normal(size=coarse.values.shape)
        carried = coarse.carry(fine, G)
        parts = ((fine, carried), (coarse, G))
        scores = [additive.interpolate(shard.values, shard.codes, own, g, 0.0) for own, g in parts]
        assert np.allclose(*scores, atol=1e-12)
    # places of values that are the least numbers apart, in bins of some of them
    sample = sharded(5e-324 * np.arange(600.0)[:, np.newaxis], np.where(np.arange(600) % 2, 1.0, -1.0))
    (shard,) = sample.workers.compute(sample.shards)
    knots, places = additive.Knots.from_sample(sample, 1024), np.arange(600.0)
    G = np.interp(knots.values, 5e-324 * places, places)
    assert np.array_equal(additive.interpolate(shard.values, shard.codes, knots, G, 0.0), places)


@pytest.mark.parametrize("far", [1.0, 1e15])
def test_a_wide_step_without_weight_takes_nothing_off_the_bound(far):
    X, y = two_classes(60, 2)
    X[:2] = [[far, 0.0], [-far, 0.0]]
    search = additive.AdditiveSearch(sharded(X, y, [9]), 0.3, 1e-3, [])
    X *= search.knots.scales
    # multipliers that balance, but for rounding
    u = np.where(y > 0, 0.3 * (y < 0).mean(), 0.3 * (y > 0).mean())
    u[:2] = 0.0
    u[2:] *= np.where(y[2:] > 0, u[y < 0].sum(), u[y > 0].sum()) / max(u[y > 0].sum(), u[y < 0].sum())
    search._bound_by(search._multipliers(), [(np.arange(9), u[:9]), (np.arange(51), u[9:])], closely=False)
    form, size = float((y * u)[2:] @ AdditiveKernel.of(X[2:]).product((y * u)[2:])), u.sum()
    assert search.bound == pytest.approx(size**2 / form / 2 if size < form else size - form / 2, rel=1e-6)


def test_the_default_price_is_that_of_one_machine():
    X, y = two_classes(50, 3)
    price = InfiniteEnsembleSVC().fit(X, y).C_
    assert 4 / additive.measure_variance(sharded(X, y, [9])) == pytest.approx(price, rel=1e-9)


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
    sums = additive.sum_moments(np.ascontiguousarray(X.T), np.zeros((2, n), np.uint8), knots, s)
    bound, vague = additive.bound_form(sums, knots)
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
    last = np.repeat(counts[:, np.newaxis] - 2, 256, axis=1)
    return additive.Knots(values, counts, np.zeros_like(last), last, np.ones(len(lists)))


def test_scores_and_edges_by_knots_are_adjoint():
    X, _, shard, knots = one_shard(300)
    rng = np.random.default_rng(0)
    G, s = rng.normal(size=knots.values.shape), rng.integers(-(2**40), 2**40, 300)
    scores = additive.interpolate(shard.values, shard.codes, knots, G, 0.0)
    expected = sum(np.interp(X[:, j], knots.values[j, :count], G[j, :count]) for j, count in enumerate(knots.counts))
    assert np.allclose(scores, expected, atol=1e-12)
    edges = additive.sum_by_knots(shard.values, shard.codes, knots, s)
    assert float((edges * G).sum()) == pytest.approx(float(scores @ s), rel=1e-9)
    assert edges.sum() == 2 * s.sum()


def test_multipliers_of_margins_fall_from_the_price_to_0_and_those_of_settled_rows_are_at_a_bound():
    _, _, shard, _ = one_shard(40, weights=np.linspace(0.5, 1.5, 40))
    z = np.linspace(-1, 3, 40)
    for width in (0.0, 1.0):
        u = of_shard(additive.SteepHinge(2.0, width), shard).multipliers(z) / (2.0 * shard.weights)
        assert (u[z < 1 - width / 2] == 1).all()
        assert (u[z >= 1 + width / 2] == 0).all()
        assert (np.diff(u) <= 0).all()
    signed = Multipliers(None, additive.SteepHinge(2.0), (0.5, 1.0), -40).round(shard, np.full(40, 1.5))
    assert signed.tolist() == np.where(shard.y > 0, 1.5 * 2.0**40, -0.75 * 2.0**40).tolist()


def test_a_reach_has_at_most_so_many_margins_below_and_values_along_a_direction_are_those_of_the_hinge():
    _, _, shard, knots = one_shard(60)
    rng = np.random.default_rng(0)
    G, V = rng.normal(size=(2, *knots.values.shape))
    (at, change), steps = [additive.AdditiveVote(knots, *of) for of in ((G, 0.1), (V, 0.3))], np.array([1.0, 0.25])
    losses, counts = additive.measure_along(shard, at, change, Hinge(0.7), steps)
    (_, z), (_, dz) = at.margins(shard), change.margins(shard)
    for step, own, of_levels in zip(steps, losses, counts, strict=True):
        ahead = z + step * dz
        assert to_float(own) == pytest.approx(0.7 * np.maximum(0, 1 - ahead).sum(), rel=1e-14)
        assert of_levels.sum() == 60
        for wanted in (1, 7, 30, 59):
            n_near = int((np.abs(1 - ahead) < choose_reach(of_levels, wanted)).sum())
            assert wanted - 8 <= n_near <= wanted
        assert choose_reach(of_levels, 60) == np.inf


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(4, 60))
@example(0, 40)
def test_a_problem_over_some_rows_beside_settled_ones_is_solved_to_its_optimum(seed, n):
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.normal(size=(n, 2)), 1), np.where(np.arange(n) % 2, 1.0, -1.0)
    whole = AdditiveSVM.of(X, y, C=0.5)
    known = solve_additive_svm(whole, 1e-10)
    # what is settled keeps the multipliers of the optimum, so that the rest has it, too
    fixed, free = np.arange(n) < n // 2, np.arange(n) >= n // 2
    given_f = whole.kernel.product(np.where(fixed, y * known.u, 0.0))[free]
    settled = np.where(fixed, y * known.u, 0.0)
    others = Others(given_f, float(settled.sum()))
    alone = float(known.u[fixed].sum() - settled @ whole.kernel.product(settled) / 2)
    part = additive.SVMOverRows(whole.kernel.among(np.flatnonzero(free)), y[free], whole.C[free], others, alone)
    assert part.is_feasible
    with limit_time(np.inf) as clock:
        search = ProximalSearch(part, 1e-8, np.inf, clock)
        search.start_near(search.take(rng.uniform(0, 0.5, int(free.sum()))))
        search.run()
    best = search.incumbent.best
    assert best.relative_gap <= 1e-8
    assert best.dual == pytest.approx(-known.objective, rel=1e-6)
    u = known.u.copy()
    u[free] = best.u
    assert float(y @ u) == pytest.approx(0.0, abs=1e-10)
    s = y * u
    assert s @ whole.kernel.product(s) / 2 - u.sum() == pytest.approx(known.objective, rel=1e-6)
    far = replace(part, others=Others(given_f, float(n)))
    assert not far.is_feasible


def test_functions_of_settled_rows_and_of_those_in_doubt_are_the_whole_expansion():
    X, _, shard, knots = one_shard(40, 3)
    s = np.random.default_rng(0).normal(size=40)
    s -= s.mean()
    rows = additive.NearKink(np.arange(40, dtype=np.uint64), shard.values, shard.codes, shard.y, shard.weights)
    in_doubt = np.arange(40) >= 30
    settled, doubt = (additive.sum_floats(rows, knots, np.where(own, s, 0.0)) for own in (~in_doubt, in_doubt))
    for edges, own in ((settled + doubt, s), (settled, np.where(in_doubt, 0.0, s))):
        scores = additive.interpolate(shard.values, shard.codes, knots, additive.integrate(knots, edges), 0.0)
        assert np.allclose(scores, AdditiveKernel.of(X * knots.scales).product(own), atol=1e-10)
    known = AdditiveKernel.of(X * knots.scales).product(s)
    assert np.allclose(additive.sort_rows(rows, knots.scales).product(s), known, atol=1e-12)


def test_rows_in_doubt_are_the_same_however_they_are_merged(monkeypatch):
    X, y = two_classes(40, 3, seed=3)
    found = []
    for ends in ((), (5, 5, 11, 12, 30), (39,)):
        sample = sharded(np.round(X, 1), y, ends)
        at, firsts = additive.AdditiveSearch(sample, 0.5, 1e-3, [])._multipliers(), [0, *ends]
        told = additive.cut_shard, at, 1.5, 3
        found.append(sample.map_reduce(*told, each=firsts, combine=partial(additive.merge_settled, 3)))
    (sums, rows), *others = found
    assert rows.y.tolist().count(1.0) == rows.y.tolist().count(-1.0) == 3
    assert sums[2].sum() == 40
    assert all(own.flags.c_contiguous for own in rows)
    for other, again in others:
        assert all(np.array_equal(a, b) for a, b in zip(sums, other, strict=True))
        assert all(np.array_equal(a, b) and b.flags.c_contiguous for a, b in zip(rows, again, strict=True))


def have_few_knots(monkeypatch):
    """Features of more than 10 values have as many knots as steps to a bin."""
    monkeypatch.setattr(additive, "MOST_VALUES", 10)
    monkeypatch.setattr(additive, "N_BINS", 1)


def draw_rows_of(monkeypatch, most):
    """The client takes so many rows, and half as many of each class stand for all of more."""
    for name, number in (("MOST_DOUBTFUL", most), ("MANY_ROWS", most), ("N_DRAWN", most // 2)):
        monkeypatch.setattr(additive, name, number)


@pytest.mark.parametrize("most", [2**16, 40])
def test_the_machine_is_the_same_bits_over_random_partitions(monkeypatch, most):
    draw_rows_of(monkeypatch, most)
    if most < 120:
        have_few_knots(monkeypatch)
    rng = np.random.default_rng(0)
    X, y = two_classes(120, 3, noise=1.0)
    known = bits(fit(DaskInfiniteEnsembleSVC(C=0.1), [], X, y))
    # shards of no row and of one among them
    for ends in ([0], [1], [119], [120], [60, 60, 61], *(np.sort(rng.integers(0, 121, k)) for k in (2, 4, 9))):
        assert bits(fit(DaskInfiniteEnsembleSVC(C=0.1), ends, X, y)) == known


def test_rows_that_are_all_in_doubt_or_none_and_a_draw_of_them_reach_the_optimum(monkeypatch):
    X, y = two_classes(60, 2)
    draw_rows_of(monkeypatch, 40)
    for C, labels in ((1e-4, y), (1e-4, np.where(np.arange(60) < 30, 1.0, -1.0)), (0.5, y)):
        model = fit(DaskInfiniteEnsembleSVC(C=C), [9], X, labels)
        alone = InfiniteEnsembleSVC(C=C, tol=1e-8).fit(X, labels).certificate_
        assert model.certificate_.holds(1e-3)
        assert_brackets(model.certificate_, alone)


@settings(max_examples=5)
@given(st.integers(0, 2**32), st.sampled_from([7, 35]), st.sampled_from([1e-5, 1.0, 1e4]), st.sampled_from([0.1, 1.6]))
@example(18, 35, 1e4, 1.6)
@example(14, 7, 1e-5, 0.8)
def test_ties_with_different_labels_are_solved_in_any_unit(seed, n, unit, C):
    rng = np.random.default_rng(seed)
    X, y = unit * rng.integers(0, 3, (n, 2)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    certificate = fit(DaskInfiniteEnsembleSVC(C=C, tol=1e-4), [3], X, y).certificate_
    alone = InfiniteEnsembleSVC(C=C, tol=1e-6).fit(X, y).certificate_
    assert certificate.holds(1e-4)
    assert_brackets(certificate, alone)


@pytest.mark.parametrize("limits", [{"MAX_STEPS": 2}, {"max_time": 1e-9}])
def test_a_fit_that_is_cut_short_is_certified_all_the_same(monkeypatch, limits):
    if "MAX_STEPS" in limits:
        monkeypatch.setattr(additive, "MAX_STEPS", limits["MAX_STEPS"])
        draw_rows_of(monkeypatch, 6)
    X, y = two_classes(30, 2)
    model = DaskInfiniteEnsembleSVC(C=0.5, max_time=limits.get("max_time"))
    with pytest.warns(ConvergenceWarning, match="the relative gap is"):
        fit(model, [9], X, y)
    alone = InfiniteEnsembleSVC(C=0.5, tol=1e-8).fit(X, y).certificate_
    assert_brackets(model.certificate_, alone)
    assert model.history_[-1].objective == model.certificate_.primal
