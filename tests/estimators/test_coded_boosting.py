"""AdaBoost.MH and AdaBoost.ECC against their definitions by brute force, and against AdaBoost on two classes."""

from itertools import product

import numpy as np
import pytest
from brute_force import all_stumps
from estimator_samples import called, three_classes, two_classes
from sklearn.base import clone

from cvxens import AdaBoostClassifier, AdaBoostECCClassifier, AdaBoostMHClassifier
from cvxens.colgen.oracles import Stump, Stumps
from cvxens.estimators.boosting import CodedOracle, Pairs

X, Y = three_classes()
MH, ECC = AdaBoostMHClassifier(n_rounds=30), AdaBoostECCClassifier(n_rounds=30)
EVERY = [MH, ECC]


def margins_of(estimator, votes, y):
    """The margins of all pairs, (n_samples, n_classes), NaN where there is none."""
    own = np.equal.outer(y, np.arange(votes.shape[1]))
    if type(estimator) is AdaBoostMHClassifier:
        return np.where(own, votes, -votes)
    return np.where(own, np.nan, (votes[own][:, None] - votes) / 2)


def shared(prior, margins):
    u = np.where(np.isnan(margins), 0.0, prior[:, None] * np.exp(-margins))
    return u / u.sum()


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_rounds_are_those_of_the_definition(estimator):
    """The best of all stumps with all codes, with the weight that minimises the loss along it, found by search."""
    prior = np.random.default_rng(0).uniform(1, 2, len(Y))
    model = clone(estimator).set_params(n_rounds=4).fit(X, Y, sample_weight=prior)
    codes = np.array(list(product([-1.0, 1.0], repeat=3)))
    columns = [np.multiply.outer(h, v) for h in all_stumps(X).T for v in codes]
    F, least = np.zeros((len(X), 3)), np.inf
    for row in model.history_:
        u = shared(prior, margins_of(estimator, F, Y))
        edges = [np.nansum(u * margins_of(estimator, votes, Y)) for votes in columns]
        assert row.edge == pytest.approx(max(edges))
        least = min(least, row.edge)
        assert row.bound == pytest.approx(least, abs=1e-9)
        chosen = row.hypothesis(X)
        z = margins_of(estimator, chosen, Y)
        assert np.nansum(u * z) == pytest.approx(row.edge)
        right, wrong = u[z > 0].sum(), u[z < 0].sum()
        assert row.weight == pytest.approx(np.log(right / wrong) / 2)
        F += row.weight * chosen
        z = margins_of(estimator, F, Y)
        pairs = ~np.isnan(z)
        weights = np.broadcast_to(prior[:, None], z.shape)[pairs]
        assert np.exp(row.log_loss) == pytest.approx(np.average(np.exp(-z[pairs]), weights=weights))
    np.testing.assert_allclose(model.decision_function(X), F)


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_two_classes_are_adaboost(estimator):
    X, y = two_classes()
    ours = clone(estimator).set_params(n_rounds=6).fit(X, y)
    adaboost = AdaBoostClassifier(n_rounds=6).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), adaboost.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), adaboost.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_what_a_fitted_one_tells(estimator):
    model = clone(estimator).fit(X, Y)
    assert model.score(X, Y) > 0.85
    assert model.weights_.shape == (len(model.weak_learners_), 3)
    assert len(set(model.weak_learners_)) == len(model.weak_learners_)
    assert all(isinstance(h, Stump) or str(h).startswith("always") for h in model.weak_learners_)
    assert model.dual_weights_.shape == (len(X), 3)
    assert model.dual_weights_.sum() == pytest.approx(1)
    edge = model.history_[-1].bound
    assert model.certificate_.dual == pytest.approx(edge)


def test_the_pairs_of_a_sample_and_its_own_class_weigh_nothing():
    model = clone(ECC).fit(X, Y)
    assert not model.dual_weights_[np.arange(len(Y)), Y].any()


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_separated_classes_are_certified(estimator):
    X = np.arange(12.0)[:, None]
    model = clone(estimator).set_params(n_rounds=200).fit(X, np.arange(12) // 4)
    assert model.score(X, np.arange(12) // 4) == 1
    assert model.certificate_.proven
    assert model.certificate_.relative_gap < 0.5


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_many_classes_have_random_codes(estimator):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(7), 12)
    X = rng.normal(size=(84, 2)) + np.c_[np.cos(y), np.sin(y)] * 6
    fits = [clone(estimator).set_params(n_rounds=60, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    assert all(model.score(X, y) > 0.9 for model in fits)
    assert not fits[0].certificate_.proven
    np.testing.assert_array_equal(fits[0].decision_function(X), fits[1].decision_function(X))
    assert (fits[0].decision_function(X) != fits[2].decision_function(X)).any()


@pytest.mark.parametrize("pairs_of", [Pairs.from_labels, Pairs.from_differences])
def test_gathering_is_the_adjoint_of_margins(pairs_of):
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=9)
    pairs, votes = pairs_of(labels, 4), rng.normal(size=(9, 4))
    s = rng.normal(size=len(pairs.signs))
    assert (pairs.collect(s) * votes).sum() == pytest.approx((s * pairs.signs) @ pairs.margins(votes))


@pytest.mark.parametrize("pairs_of", [Pairs.from_labels, Pairs.from_differences])
def test_columns_have_the_edges_that_they_say(pairs_of):
    pairs = pairs_of(Y, 3)
    s = pairs.signs * np.random.default_rng(0).uniform(size=len(pairs.signs))
    priced = CodedOracle(Stumps(X), pairs, np.random.default_rng(0)).price(s)
    assert len(priced.columns) == X.shape[1] + 1
    assert [column.edge for column in priced.columns] == pytest.approx([s @ column.values for column in priced.columns])
    assert priced.best_edge == pytest.approx(priced.edge_bound)
