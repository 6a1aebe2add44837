"""Effects against the models that they are taken from, and Shapley values against their definition."""

import pickle
from functools import partial
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens import (
    AdaBoostClassifier,
    AdaBoostMHClassifier,
    CGEnsSLSClassifier,
    InfiniteEnsembleSVC,
    InfiniteEnsembleSVR,
    LPBoostClassifier,
    LPBoostRegressor,
    RhoSVC,
    hypotheses,
)
from cvxens.colgen import oracles
from cvxens.effects import Effects
from cvxens.errors import InvalidInput

N_FEATURES = 4
NAMES = [f"x[{j}]" for j in range(N_FEATURES)]


@pytest.fixture(scope="module")
def data():
    """Four features of few values, with an interaction of two."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, size=(60, N_FEATURES)).astype(float)
    score = (X[:, 0] > 2) * (X[:, 1] > 2) + 0.3 * X[:, 2] - 0.4 * (X[:, 1] > 3)
    return X, score + 0.3 * rng.normal(size=60)


def classes_of(t, n_classes=2):
    return np.searchsorted(np.quantile(t, np.arange(1, n_classes) / n_classes), t)


two = partial(classes_of, n_classes=2)
three = partial(classes_of, n_classes=3)

MODELS = {
    "stumps": (LPBoostClassifier(C=0.1), two),
    "trees": (LPBoostClassifier(C=0.1, oracle="depth_two_trees"), two),
    "rules": (LPBoostClassifier(C=0.1, oracle="pair_rules"), two),
    "boxes": (LPBoostClassifier(C=0.1, oracle="boxes"), two),
    "ramps": (LPBoostClassifier(C=0.1, oracle="ramps"), two),
    "one-vs-rest": (LPBoostClassifier(C=0.1, oracle="depth_two_trees"), three),
    "codes": (CGEnsSLSClassifier(max_columns=8), three),
    "two codes": (AdaBoostMHClassifier(n_rounds=8), two),
    "three outputs": (AdaBoostMHClassifier(n_rounds=8), three),
    "adaboost": (AdaBoostClassifier(n_rounds=8), two),
    "kernel": (InfiniteEnsembleSVC(), two),
    "kernel of several": (InfiniteEnsembleSVC(C=1.0), three),
    "middle stumps": (RhoSVC(), two),
    "kernel regression": (InfiniteEnsembleSVR(), lambda t: t),
    "middle stumps in regression": (InfiniteEnsembleSVR(kernel="middle-stump"), lambda t: t),
    "regression without support": (InfiniteEnsembleSVR(epsilon=9.0), lambda t: t),
    "regression": (LPBoostRegressor(oracle="pair_rules"), lambda t: t),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, data):
    """A fitted model, its sample, and its scores before pairs of classes vote."""
    model, make = MODELS[request.param]
    X, t = data
    model.fit(X, make(t))
    if request.param == "one-vs-one":
        return model, X, model._raw_scores
    return model, X, getattr(model, "decision_function", model.predict)


@pytest.mark.thinned(1, with_sample=[True, False])
def test_effects_add_up_to_the_scores_of_samples_old_and_new(fitted, with_sample):
    model, X, score = fitted
    effects = model.effects(X if with_sample else None)
    # new samples: between the values of the sample, and on them
    new = X + np.random.default_rng(0).choice([-0.5, 0.0, 0.2], size=X.shape)
    for samples in (X, new):
        expected = score(samples)
        assert effects(samples) == pytest.approx(expected, abs=1e-9)
        contributions = effects.contributions(samples)
        intercept = effects.intercept.reshape(expected.shape[1:])
        assert contributions.sum(axis=1) + intercept == pytest.approx(expected, abs=1e-9)


def test_effects_of_a_feature_far_from_0_have_all_digits():
    ramps = [
        hypotheses.Ramp(0, 1e8 + cut, side, 1e3 + cut) for cut, side in ((0.0, -1), (0.25, 1), (-0.25, 0), (0.0, -1))
    ]
    X = 1e8 + np.arange(-64.0, 64.0)[:, None] / 128
    effects = Effects.from_terms([(h, np.ones(1)) for h in ramps], np.zeros(1), ["x[0]"])
    assert effects(X).ravel() == pytest.approx(sum(h(X) for h in ramps), rel=1e-12, abs=1e-12)


def test_effects_print_in_a_line(fitted):
    model, X, _ = fitted
    effects = model.effects(X)
    told = repr(effects)
    assert "\n" not in told
    assert told.startswith(f"Effects({effects.n_features} features, {len(effects.intercept)} scores; ")
    assert effects.names[int(np.argmax(effects.importances))] in told
    assert len(told) < 400


def test_effects_are_centred_and_pairs_are_pure(fitted):
    model, X, score = fitted
    weights = np.random.default_rng(1).random(len(X))
    effects = model.effects(X, sample_weight=weights)
    p = weights / weights.sum()
    assert effects.intercept == pytest.approx(np.atleast_1d(p @ score(X)), abs=1e-9)
    for term in effects.terms:
        assert p @ term(X) == pytest.approx(np.zeros(len(effects.intercept)), abs=1e-9)
    for pair in effects.interactions:
        if len(pair.features) == 2:
            for feature, cuts in zip(pair.features, pair.cuts, strict=True):
                cells = np.searchsorted(cuts, X[:, feature], side="right")
                for cell in range(len(cuts) + 1):
                    assert np.abs((p * (cells == cell)) @ pair(X)).max() <= 1e-9


def test_importance_is_what_effects_do_on_the_sample(fitted):
    model, X, _ = fitted
    effects = model.effects(X)
    found = np.stack([term(X) for term in effects.terms], axis=1)
    assert effects.sizes == pytest.approx(np.abs(found).mean(axis=0), abs=1e-12)
    assert effects.variances == pytest.approx(found.var(axis=0), abs=1e-9)
    frame = effects.to_frame()
    assert frame["share"].sum() == pytest.approx(1.0 if effects.variances.any() else 0.0)
    assert frame["importance"].is_monotonic_decreasing
    assert set(frame["effect"]) == set(effects.names)


def values_of_sets(score, x, background):
    """The mean score over the background with the features of each set as in x, by set."""
    d = len(x)
    found = {}
    for size in range(d + 1):
        for known in combinations(range(d), size):
            mixed = background.copy()
            mixed[:, list(known)] = x[list(known)]
            found[frozenset(known)] = score(mixed).mean(axis=0)
    return found


def shapley_by_enumeration(score, x, background):
    d = len(x)
    values = values_of_sets(score, x, background)
    total = []
    for j in range(d):
        own = 0.0
        for known, value in values.items():
            if j not in known:
                weight = factorial(len(known)) * factorial(d - len(known) - 1) / factorial(d)
                own = own + weight * (values[known | {j}] - value)
        total.append(own)
    return np.array(total)


def test_shapley_values_are_those_of_all_sets_of_features(fitted):
    model, X, score = fitted
    effects = model.effects(X)
    samples = np.vstack([X[:2], X[2] + 0.2])
    found = effects.shapley_values(samples)
    for x, values in zip(samples, found, strict=True):
        assert values == pytest.approx(shapley_by_enumeration(score, x, X), abs=1e-9)


cut = st.sampled_from([-0.5, 0.0, 0.5, 1.0, 2.5])
feature = st.integers(0, N_FEATURES - 1)
sign = st.sampled_from([-1, 1])
stumps = st.builds(hypotheses.Stump, feature, cut, sign)
intervals = st.builds(
    lambda f, ends: hypotheses.Interval(f, *ends),
    feature,
    st.sampled_from([(-np.inf, 0.5), (0.0, 1.0), (0.5, np.inf), (0.5, 2.5)]),
)
rules = st.builds(hypotheses.Rule, st.lists(intervals, max_size=3, unique_by=lambda i: i.feature).map(tuple), sign)
branches = partial(st.builds, hypotheses.Branch)
weak_learners = st.one_of(
    stumps,
    rules,
    st.builds(hypotheses.Constant, sign),
    branches(stumps, stumps, stumps),
    branches(stumps, stumps, branches(stumps, stumps, st.builds(hypotheses.Constant, sign))),
    st.builds(hypotheses.Ramp, feature, cut, st.sampled_from([-1, 0, 1]), st.sampled_from([0.5, -2.0])),
    st.builds(hypotheses.Indicator, feature, cut, st.sampled_from([1.0, 0.3])),
    st.builds(hypotheses.Staircase, feature, st.just((-0.5, 1.0)), st.just((0.5, -1.0))),
    st.builds(hypotheses.LinearForm, st.just((0, 2)), st.just((0.5, -1.0))),
    st.builds(hypotheses.Scaled, rules, st.just(-1.0)),
    st.builds(hypotheses.Scaled, stumps, st.just(0.7)),
    st.builds(hypotheses.Formula, st.just(hypotheses.AND), st.tuples(stumps, stumps), sign),
)


missing = st.sampled_from([-1, 0, 1])
levels = st.sampled_from([(), (0,), (1, 2)])
conditions = st.one_of(
    st.builds(hypotheses.Among, feature, levels, st.just(()), st.booleans(), st.booleans()),
    st.builds(hypotheses.Interval, feature, st.just(0.5), st.just(np.inf), st.booleans()),
)
learners_of_gaps = st.one_of(
    st.builds(hypotheses.Stump, feature, cut, sign, missing),
    st.builds(hypotheses.LevelStump, feature, levels, sign, missing),
    branches(
        st.builds(hypotheses.LevelStump, feature, st.just((1, 2)), sign, missing) | stumps,
        st.builds(hypotheses.Stump, feature, cut, sign, st.sampled_from([-1, 1])),
        st.builds(hypotheses.LevelStump, feature, st.just(()), sign, st.just(1)),
    ),
    st.builds(hypotheses.Rule, st.lists(conditions, max_size=2, unique_by=lambda i: i.feature).map(tuple), sign),
)


CUTS, CODES = [-1.0, -0.5, 0.0, 0.3, 0.5, 1.0, 2.0, 2.5, 4.0], [0.0, 1.0, 2.0, 3.0, np.nan]


@pytest.mark.parametrize(("learners", "values"), [(weak_learners, CUTS), (learners_of_gaps, CODES)])
@given(st.data(), st.integers(0, 10**6), st.booleans())
def test_any_sum_of_weak_learners_is_taken_apart_exactly(learners, values, data, seed, with_sample):
    """Missing values and levels have cells of their own."""
    hypotheses = data.draw(st.lists(learners, min_size=1, max_size=8))
    rng = np.random.default_rng(seed)
    X, W = rng.choice(values, size=(12, N_FEATURES)), rng.normal(size=(len(hypotheses), 2))
    terms = list(zip(hypotheses, W, strict=True))
    effects = Effects.from_terms(terms, np.array([0.5, -1.0]), NAMES, ("a", "b"), X=X if with_sample else None)

    def score(Z):
        return np.array([0.5, -1.0]) + sum(np.multiply.outer(h(Z), w) for h, w in terms)

    new = rng.choice(values, size=(20, N_FEATURES)) + rng.normal(size=(20, 1)) * (values is CUTS)
    assert effects(X) == pytest.approx(score(X), abs=1e-10)
    assert effects(new) == pytest.approx(score(new), abs=1e-10)
    # one term for each set of features, and none that a smaller set has said
    assert len(set(effects.names)) == len(effects.terms)
    if with_sample:
        assert effects.shapley_values(new[:1])[0] == pytest.approx(shapley_by_enumeration(score, new[0], X), abs=1e-9)


def test_names_of_features_are_those_of_the_frame(data):
    X, t = data
    frame = pd.DataFrame(X, columns=["age", "dose", "height", "noise"])
    model = LPBoostClassifier(C=1.0, oracle="depth_two_trees").fit(frame, two(t))
    effects = pickle.loads(pickle.dumps(model.effects(frame)))
    assert {"age", "dose", "age x dose"} <= set(effects.names)
    assert effects(frame) == pytest.approx(model.decision_function(frame), abs=1e-9)


def test_sparse_samples(data):
    from scipy.sparse import csr_array

    X, t = data
    model = LPBoostClassifier(C=0.1, oracle="pair_rules").fit(csr_array(X), two(t))
    effects, dense = model.effects(csr_array(X)), model.effects(X)
    assert effects.shapley_values(csr_array(X)) == pytest.approx(dense.shapley_values(X))


@pytest.mark.parametrize(
    "model",
    [
        LPBoostClassifier(C=0.1, oracle=partial(oracles.Perceptrons, random_state=0)),
        InfiniteEnsembleSVC(kernel="gaussian"),
    ],
)
def test_what_is_no_sum_of_few_features_is_refused(model, data):
    X, t = data
    with pytest.raises(InvalidInput, match="effects: found"):
        model.fit(X, two(t)).effects(X)


def test_a_model_of_a_constant_has_no_effects(data):
    X, _ = data
    effects = Effects.from_terms([(hypotheses.Constant(-1), np.array([2.0]))], np.array([0.5]), NAMES, X=X)
    assert effects.terms == ()
    assert effects(X).tolist() == [-1.5] * len(X)
    assert effects.shapley_values(X).tolist() == np.zeros(X.shape).tolist()
    assert effects.to_frame().empty
