"""Bands of shapes and importances: against all stumps at once in cvxpy, and against ensembles within the level."""

from functools import cache, partial

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from brute_force import noisy, solve_to_the_end
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from variants import list_stumps

from cvxens import FeatureBudget, LPBoostClassifier, LPBoostRanker, LPBoostRegressor
from cvxens.colgen import Formulation, column_generation, find_bands, formulations, near_optimal
from cvxens.colgen.near_optimal import LevelSet
from cvxens.colgen.oracles import AdditiveTerms, QuantileStumps, Stumps
from cvxens.errors import InvalidInput
from cvxens.limits import limit_time
from cvxens.plotting import ShapeDisplay
from cvxens.problems.losses import Hinge, Logistic
from cvxens.problems.penalties import L1
from cvxens.problems.target_losses import AbsoluteError
from cvxens.report import Report


def solve_over_all(formulation, X, y, level, d, row, sign, constant=True):
    """Return the end of a range over all stumps at once: of the shape of d in a row, or of its importance (None)."""
    H, features = (part[..., : None if constant else -1] for part in list_stumps(X))
    H, features = np.hstack([H, -H]), np.tile(features, 2)
    c = np.ones(len(features)) if row is None else H[row] - H.mean(axis=0)
    w, b = cp.Variable(H.shape[1], nonneg=True), cp.Variable()
    f = H @ w + (b if formulation.intercept else 0.0)
    z = f if y is None else cp.multiply(y, f)
    loss, penalty = (term.model(at) for term, at in zip(formulation.terms, (z, w), strict=True))
    within = loss.expression + penalty.expression <= level
    value = (c * (features == d)) @ w
    problem = cp.Problem(cp.Maximize(sign * value), [within, *loss.constraints, *penalty.constraints])
    return sign * solve_to_the_end(problem)


def solve_ends(bands, formulation, X, y, level, constant=True):
    """Yield every range of shapes and importances, a place in it, and both ends of that over all stumps at once."""
    for band in bands.bands:
        rows = [int(np.flatnonzero(X[:, band.feature] == point)[0]) for point in band.points]
        for ranges, functions in ((band.shape, rows), (band.importance, [None])):
            for k, row in enumerate(functions):
                given = formulation, X, y, level, band.feature, row
                yield ranges, k, *(solve_over_all(*given, sign, constant) for sign in (-1.0, 1.0))


TARGETS = np.random.default_rng(1).normal(size=14)

FORMULATIONS = {
    "soft margin": formulations.soft_margin(C=0.7),
    "lpboost": formulations.lpboost(D=0.2),
    "free hinge with an intercept": Formulation(Hinge(0.7), L1(0.9), intercept=True),
    "logistic": Formulation(Logistic(2.0), L1(), intercept=True),
    "absolute error": Formulation(AbsoluteError(TARGETS, 0.8), L1(), intercept=True),
}


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("name", "n_features", "constant"),
    [*((name, d, True) for name in FORMULATIONS for d in (1, 2)), *(("soft margin", d, False) for d in (1, 2))],
)
def test_ends_are_those_over_all_stumps(name, n_features, constant):
    X, y = noisy(14, n_features=n_features)
    formulation = FORMULATIONS[name]
    labels = None if formulation.on_scores else y
    oracle, features = partial(Stumps, constant=constant), range(n_features)
    bands = find_bands(formulation, oracle, X, labels, within=0.05, features=features, points=3, tol=1e-6)
    assert bands.complete
    for ranges, k, low, high in solve_ends(bands, formulation, X, labels, bands.level, constant=constant):
        assert ranges.least[k] - 1e-7 <= low <= ranges.lowest[k] + 1e-7
        assert ranges.highest[k] - 1e-7 <= high <= ranges.most[k] + 1e-7
        assert ranges.least[k] <= ranges.found[k] <= ranges.most[k]


@cache
def find_band(seed, within):
    """Return a sample, and the bands of its first feature."""
    X, y = noisy(10, seed=seed)
    return X, y, find_bands(FORMULATIONS["soft margin"], Stumps, X, y, within=within, features=[0], points=3, tol=0.5)


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), sample=st.integers(0, 3), within=st.sampled_from([0.01, 0.3]))
def test_every_ensemble_within_the_level_is_in_its_bands(seed, sample, within):
    X, y, bands = find_band(sample, within)
    H, features = list_stumps(X)
    H, features = np.hstack([H, -H]), np.tile(features, 2)
    random, level_set = np.random.default_rng(seed), LevelSet(FORMULATIONS["soft margin"], y, bands.level, H)
    # a corner of all ensembles within the level, and what is between it and any weights
    corner = level_set.maximise(random.normal(size=H.shape[1]) * (random.random(H.shape[1]) < 0.5))
    other = corner.w * random.uniform(0.5, 2.0, H.shape[1])
    inside = level_set.move_inside((0.99999 * corner.w, np.zeros(())), (other, np.zeros(())))
    for w in (corner.w, *([] if inside is None else [inside[0]])):
        own, band = w * (features == 0), bands.bands[0]
        rows = [int(np.flatnonzero(X[:, 0] == point)[0]) for point in band.points]
        g = (H @ own)[rows] - (H @ own).mean()
        # the corner is within the level to a solver's digits
        assert (band.shape.least <= g + 1e-6).all()
        assert (g <= band.shape.most + 1e-6).all()
        assert band.importance.least[0] - 1e-6 <= own.sum() <= band.importance.most[0] + 1e-6


@pytest.mark.parametrize("make", [Stumps, partial(AdditiveTerms, pairs=False)])
def test_certified_ends_hold_where_time_is_up(make, monkeypatch):
    X, y = noisy(30)
    formulation = formulations.soft_margin(C=0.7)
    # the run itself has the time that it takes
    monkeypatch.setattr(near_optimal, "column_generation", limit_time(np.inf, final=True)(column_generation))
    wide = find_bands(formulation, make, X, y, within=0.05, points=3, max_time=1e-9)
    for band in wide.bands:
        assert np.isfinite([band.shape.least, band.shape.most]).all()
    narrow = find_bands(formulation, make, X, y, within=0.05, features=[b.feature for b in wide.bands], points=3)
    assert narrow.complete
    for band, other in zip(wide.bands, narrow.bands, strict=True):
        assert (band.shape.most >= other.shape.highest - 1e-9).all()


def test_wider_levels_have_wider_bands():
    X, y = noisy(20)
    found = [
        find_bands(FORMULATIONS["soft margin"], Stumps, X, y, within=within, features=[0], points=4, tol=1e-6).bands[0]
        for within in (0.01, 0.1, 0.5)
    ]
    widths = np.array([band.shape.highest - band.shape.lowest for band in found])
    assert (np.diff(widths, axis=0) >= -1e-6).all()


def test_values_of_users_are_moved_to_the_sample():
    X, y = noisy(14)
    bands = find_bands(FORMULATIONS["soft margin"], Stumps, X, y, features=[1], points={1: [0.1, 3.8, 4.2]})
    assert bands.bands[0].points.tolist() == [0.0, 4.0]
    assert bands.to_frame()["feature"].tolist() == ["x[1]"]


def test_other_oracles_of_single_features_have_bands():
    X, y = noisy(25, n_features=3)
    bands = find_bands(Formulation(Logistic(1.0), L1(), intercept=True), QuantileStumps, X, y, points=3)
    assert bands.complete


def fit_small():
    """Return a small table, and a classifier of stumps on it."""
    X, y = noisy(40, n_features=3, seed=4)
    frame, names = pd.DataFrame(X, columns=["age", "dose", "height"]), np.where(y > 0, "yes", "no")
    return frame, names, LPBoostClassifier(C=0.5, tol=1e-8).fit(frame, names)


def test_bands_of_an_estimator_are_around_its_effects():
    frame, classes, model = fit_small()
    weights = np.arange(40) % 3
    for options in ({}, {"sample_weight": weights}):
        model.fit(frame, classes, **options)
        bands = model.bands(
            frame, classes, **options, features=["dose", 0], points={"dose": [0, 3], "age": [1]}, tol=1e-4
        )
        effects = model.effects(frame, **options)
        assert bands.complete
        assert [bands.feature_names[band.feature] for band in bands.bands] == ["dose", "age"]
        for band in bands.bands:
            parts = [main.at(band.points)[:, 0] for main in effects.mains if main.feature == band.feature]
            values = sum(parts, np.zeros(len(band.points)))
            assert (band.shape.least <= values + 1e-9).all()
            assert (values <= band.shape.most + 1e-9).all()


def test_bands_are_drawn_and_reported():
    frame, classes, model = fit_small()
    bands = model.bands(frame, classes, features=["dose"], points=3)
    display = ShapeDisplay.from_effects(model.effects(frame), frame, bands=bands, n_shown=3)
    ax = next(ax for ax in display.axes_ if ax.get_xlabel() == "dose")
    for lines in (one for one in ax.collections if isinstance(one, LineCollection)):
        ends = np.array([segment[:, 1] for segment in lines.get_segments()])
        np.testing.assert_allclose(ends, np.stack([bands.bands[0].shape.least, bands.bands[0].shape.most], axis=1))
    assert len(ax.collections) == 2
    described = Report(model, frame, classes, bands=bands).content["effects"]
    main = next(main for main in described["mains"] if main["name"] == "dose")
    assert main["band"]["x"] == bands.bands[0].points.tolist()
    assert "does without" in described["bands"] or "None of these" in described["bands"]


@pytest.mark.parametrize(
    ("model", "make", "found"),
    [
        (LPBoostClassifier(C=0.3), lambda x: np.argsort(x) % 3, "several scores"),
        (LPBoostRegressor("quantile", quantile=[0.2, 0.8]), lambda x: x, "several scores"),
        (LPBoostRanker(), np.round, "grades, whose loss is that of pairs"),
        (LPBoostClassifier(C=0.3, constraints=[FeatureBudget(1.0)]), lambda x: x > 0, "FeatureBudget .* no bands know"),
    ],
)
def test_what_has_no_bands_is_refused(model, make, found):
    X, _ = noisy(40)
    with pytest.raises(InvalidInput, match=found):
        model.fit(X, make(X[:, 0])).bands(X, make(X[:, 0]))


def test_a_level_of_zero_has_bands_that_hold():
    """Twins of opposite classes: the best margin of LPBoost is 0, and so is the level, whatever share is added."""
    random = np.random.default_rng(1)
    X = np.tile(random.integers(0, 3, (5, 2)), (2, 1)).astype(float)
    y = np.repeat([1.0, -1.0], 5)
    bands = find_bands(formulations.lpboost(D=0.2), Stumps, X, y, features=[0, 1], points=2)
    assert bands.level == 0
    # u alike for twins has no edge: every ensemble is an optimum, so nothing narrower is true
    for ranges, k, low, high in solve_ends(bands, formulations.lpboost(D=0.2), X, y, 1e-9):
        assert ranges.least[k] <= low + 1e-6
        assert high - 1e-6 <= ranges.most[k]
        assert ranges.least[k] <= ranges.found[k] <= ranges.most[k]


class Rough(Stumps):
    """Stumps whose values are said to be as large as 1e9, so that rounding can hide as much of an edge."""

    largest = 1e9


def test_what_rounding_can_hide_of_an_edge_is_left_to_the_bound():
    X, y = noisy(14)
    found = [find_bands(formulations.soft_margin(0.7), make, X, y, features=[0], points=2) for make in (Stumps, Rough)]
    sharp, rough = (bands.bands[0] for bands in found)
    # 2 eps sum |s| 1e9 is some 1e-6 of an edge; nothing else can make so much of a difference
    assert (rough.shape.most - sharp.shape.most > 1e-8).all()
    assert (rough.shape.least - sharp.shape.least < -1e-8).all()
