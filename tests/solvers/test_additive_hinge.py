"""Soft margins over all steps at once: the proximal map by its optimality, both problems by enumeration in cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csc_array

from cvxens.features import BinnedFeatures
from cvxens.limits import limit_threads, limit_time
from cvxens.solvers import additive_hinge
from cvxens.solvers.additive_hinge import AdditiveHinge, StepSums, smooth

SIZES = st.integers(2, 12)


@given(n=SIZES, size=st.sampled_from([0.1, 1.0, 30.0]), data=st.data())
def test_proximal_map_meets_its_optimality_conditions(n, size, data):
    weights = data.draw(hnp.arrays(float, n, elements=st.integers(1, 5).map(float)))
    y = data.draw(hnp.arrays(float, n, elements=st.integers(-20, 20).map(lambda k: k / 4)))
    x = np.empty(n)
    smooth(weights, y, size, x)
    # sums of the gradient up to every jump are within [-size, size], at the end of that where x jumps, and 0 in all
    sums, jumps = np.cumsum(weights * (x - y)), np.diff(x)
    near = 1e-9 * max(1.0, float((weights * np.abs(y)).sum()), size)
    assert abs(sums[-1]) <= near
    assert (np.abs(sums[:-1]) <= size + near).all()
    moving = np.abs(jumps) > near
    np.testing.assert_allclose(sums[:-1][moving], size * np.sign(jumps[moving]), rtol=0, atol=near)


def draw_sample(n, d, seed, values=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, d)).astype(float)
    y = np.where(X[:, 0] + rng.normal(0, 2.0, n) > values / 2, 1.0, -1.0)
    return X, y


def score(X, lead):
    f = np.zeros(len(X))
    for weight, feature, place, sign in zip(lead.weights, lead.features, lead.places, lead.signs, strict=True):
        rise = 1.0 if feature < 0 else None
        if rise is None:
            values = X[:, feature]
            rise = np.where(values > np.unique(values)[place], 1.0, -1.0)
        f += weight * sign * rise
    return f


@pytest.fixture(params=[2, 64], ids=["two bins", "all values"])
def bins(request, monkeypatch):
    monkeypatch.setattr(additive_hinge, "BINS", request.param)


@given(seed=st.integers(0, 99), n_bins=st.integers(1, 4))
def test_bins_are_sums_over_the_stumps_between_them(seed, n_bins):
    rng = np.random.default_rng(seed)
    X, s = rng.integers(0, 9, (25, 3)).astype(float), rng.normal(size=25)
    # most samples have one value, which is a bin of its own
    X[:20, 2] = 4.0
    X[20:, 2] += [0, 1, 2, 3, 4]
    sums = StepSums.from_features(BinnedFeatures(X))
    firsts = sums.cut(n_bins)
    binned = sums.merge(firsts)
    distinct = [np.unique(x) for x in X.T]
    values = np.concatenate(distinct)
    feature = np.repeat(np.arange(3), [len(own) for own in distinct])
    np.testing.assert_array_equal(binned.starts[:-1], [(feature[firsts] < j).sum() for j in range(3)])
    np.testing.assert_array_equal(binned.counts, np.add.reduceat(sums.counts, firsts))
    # the edges of the stumps that rise at every value but the first of its feature
    rises = np.array([s @ np.where(X[:, j] >= value, 1.0, -1.0) for j, value in zip(feature, values, strict=True)])
    inner = np.append(False, feature[1:] == feature[:-1])
    assert sums.largest_edge(s) == pytest.approx(np.abs(rises[inner]).max())
    cuts = np.isin(np.arange(len(values)), firsts) & inner
    assert binned.largest_edge(s) == pytest.approx(np.abs(rises[cuts]).max(initial=0.0))
    # scores of a step in all functions over bins are those of the values in them
    zeros, at = np.zeros(len(firsts)), np.empty(len(values))
    f = additive_hinge.StepFunctions(zeros.copy(), rng.normal(size=len(firsts)), zeros)
    swept = binned.sweep(f, s, 0.1, 0.3, 0.5)
    at[:] = f.after[np.searchsorted(firsts, np.arange(len(values)), side="right") - 1]
    place = [np.flatnonzero(feature == j)[0] + np.searchsorted(distinct[j], X[:, j]) for j in range(3)]
    np.testing.assert_allclose(swept.scores, at[np.array(place)].sum(axis=0), atol=1e-12)
    # peaks are the largest edges inside of bins
    level = 1.5
    bin_of = np.searchsorted(firsts, np.arange(len(values)), side="right") - 1
    inside = inner & ~cuts
    expected = []
    for k in range(len(firsts)):
        own = np.flatnonzero(inside & (bin_of == k) & (np.abs(rises) > level))
        expected += [own[np.abs(rises[own]).argmax()]] if len(own) else []
    peaks, sizes = sums.find_peaks(s, firsts)
    np.testing.assert_array_equal(peaks[sizes > level], expected)
    np.testing.assert_allclose(sizes[sizes > level], np.abs(rises[expected]))


@pytest.mark.usefixtures("bins")
@pytest.mark.product(constant=[True, False], C=[0.02, 0.3])
def test_soft_margins_are_those_over_all_stumps(C, constant):
    X, y = draw_sample(50, 3, 0)
    X[:35, 2] = 3.0
    H = all_stumps(X)[:, : None if constant else -1]
    w = cp.Variable(H.shape[1])
    prices = C * np.linspace(0.5, 1.5, len(y))
    program = cp.Problem(cp.Minimize(prices @ cp.pos(1 - cp.multiply(y, H @ w)) + cp.norm1(w)))
    program.solve(solver=cp.CLARABEL)
    sums = StepSums.from_features(BinnedFeatures(X))
    lead = AdditiveHinge(sums, y, prices, constant=constant).solve(1e-6)
    value = prices @ np.maximum(0, 1 - y * score(X, lead)) + lead.weights.sum()
    assert lead.gap <= 1e-6
    assert value == pytest.approx(program.value, rel=2e-6)
    assert lead.u.min() >= 0
    assert (lead.u <= prices).all()
    assert lead.u.sum() / max(1.0, np.abs(H.T @ (y * lead.u)).max()) == pytest.approx(program.value, rel=2e-6)


@pytest.mark.usefixtures("bins")
@pytest.mark.product(constant=[True, False], nu=[0.35, 0.8])
def test_lpboost_is_that_over_all_stumps(nu, constant):
    X, y = draw_sample(40, 3, 1)
    H, D = all_stumps(X)[:, : None if constant else -1], 1 / (nu * len(y))
    signed, rho = np.hstack([H, -H]), cp.Variable()
    a = cp.Variable(signed.shape[1], nonneg=True)
    margins = cp.multiply(y, signed @ a)
    program = cp.Problem(cp.Maximize(rho - D * cp.sum(cp.pos(rho - margins))), [cp.sum(a) == 1])
    program.solve(solver=cp.CLARABEL)
    sums = StepSums.from_features(BinnedFeatures(X))
    lead = AdditiveHinge(sums, y, np.full(len(y), D), constant=constant, game=True).solve(1e-5)
    z = np.sort(y * score(X, lead) / lead.weights.sum())
    value = max(t - D * np.maximum(0, t - z).sum() for t in z)
    assert lead.gap <= 1e-5
    assert value == pytest.approx(program.value, rel=2e-5)
    assert lead.u.sum() == pytest.approx(1.0)
    assert np.abs(H.T @ (y * lead.u)).max() == pytest.approx(program.value, rel=2e-5)


def test_values_are_coded_whatever_holds_them():
    X, _ = draw_sample(30, 4, 2, values=3)
    X[:, 2] = 1.0
    # most samples have one value
    X[4:, 3] = 2.0
    dense, sparse = StepSums.from_features(BinnedFeatures(X)), StepSums.from_features(BinnedFeatures(csc_array(X)))
    assert dense.varying.tolist() == [0, 1, 3]
    assert dense.listed.rests.tolist() == [-1, -1, len(np.unique(X[:, 3])) - 1]
    for ours, theirs in zip((*dense.listed, dense.counts), (*sparse.listed, sparse.counts), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    s = np.random.default_rng(0).normal(size=30)
    assert dense.largest_edge(s) == pytest.approx(np.abs(all_stumps(X)[:, :-1].T @ s).max())


def test_threads_change_no_bit():
    X, y = np.random.default_rng(3).normal(size=(60, 9)), np.tile([1.0, -1.0], 30)
    found = []
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            sums = StepSums.from_features(BinnedFeatures(X))
            found.append(AdditiveHinge(sums, y, np.full(60, 0.1), constant=True).solve(1e-3))
    for name in ("weights", "u", "places", "gap"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


def test_it_leaves_features_that_are_alike():
    X, y = draw_sample(60, 1, 5, values=50)
    sums = StepSums.from_features(BinnedFeatures(np.repeat(X, 9, axis=1)))
    method = AdditiveHinge(sums, y, np.full(60, 0.1), constant=True)
    # nine times the same function has three times the norm of one
    assert method.solve(1e-3, most_norm=2.0).gap > 1e-3
    assert 2.0 < method.norm <= method.largest_norm
    assert method.n_iterations == additive_hinge.CHECK


def test_it_stops_where_no_time_is_left_and_where_no_margin_can_be_had(monkeypatch):
    monkeypatch.setattr(additive_hinge, "PATIENCE", 100)
    X, y = draw_sample(40, 3, 4)
    method = AdditiveHinge(StepSums.from_features(BinnedFeatures(X)), y, np.full(40, 0.1), constant=True)
    with limit_time(1e-9):
        lead = method.solve(1e-9, 0.0)
    assert lead.gap == np.inf
    assert not len(lead.weights)
    # every sample twice, with both labels: rho is 0
    X, y = np.vstack([X, X]), np.append(y, -y)
    sums = StepSums.from_features(BinnedFeatures(X))
    lead = AdditiveHinge(sums, y, np.full(80, 1 / 40), constant=True, game=True).solve(1e-3)
    assert lead.gap > 1e-3
