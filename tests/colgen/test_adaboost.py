"""AdaBoost and AdaBoost*_nu against the exponential loss, scikit-learn, and the largest margin by HiGHS."""

from dataclasses import dataclass
from itertools import islice, pairwise
from math import inf, log, sqrt

import numpy as np
import pytest
from brute_force import all_stumps, soft_minimum_program
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen import adaboost, boosting_steps, gathered, round_bound
from cvxens.colgen.oracles import Pool, SklearnLearner, Stumps
from cvxens.colgen.protocols import Column, Priced
from cvxens.datasets import make_threenorm, make_twonorm
from cvxens.problems import HardMarginBoosting, Signed, StumpColumns

X, Y = make_twonorm(60, 4, random_state=0)
XOR, XOR_Y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([1.0, -1.0, -1.0, 1.0])


def largest_margin(X, y):
    return soft_minimum_program(all_stumps(X), y, 1.0)


@st.composite
def samples(draw):
    """Rounded threenorm: ties, duplicated samples, often not separable by stumps."""
    n, d = draw(st.integers(4, 24)), draw(st.integers(1, 4))
    X, y = make_threenorm(n, d, random_state=draw(st.integers(0, 10**6)))
    X = np.round(X, draw(st.integers(0, 1)))
    return (X, y) if np.ptp(X, axis=0).any() else (np.arange(n)[:, None] * 1.0, y)


def rebuilt(boosted, X, y):
    return y * boosted.decision_function(X) / boosted.weights.sum()


@settings(max_examples=15)
@given(samples())
def test_the_loss_falls_by_the_root_of_one_less_edge_squared(sample):
    rows = adaboost(Stumps(sample[0]), sample[1], n_rounds=12).history
    losses = [0.0, *(row.log_loss for row in rows if row.weight < inf)]
    factors = [0.5 * np.log1p(-(row.edge**2)) for row in rows if row.weight < inf]
    assert_allclose(np.diff(losses), factors, rtol=1e-9, atol=1e-12)


@settings(max_examples=15)
@given(samples())
def test_sample_weights_are_the_gradient_and_the_edge_after_a_round_is_0(sample):
    X, y = sample
    steps = [step for step in islice(boosting_steps(Stumps(X), y), 8) if step.round.weight < inf]
    for now, after in pairwise(steps):
        assert_allclose(after.u, np.exp(-now.scores) / np.exp(-now.scores).sum(), rtol=1e-9)
        assert after.u @ (y * now.round.hypothesis(X)) == pytest.approx(0, abs=1e-9)


@settings(max_examples=15)
@given(samples(), st.integers(1, 30))
def test_the_margin_is_below_the_largest_and_the_bound_above(sample, n_rounds):
    X, y = sample
    boosted, optimum = adaboost(Stumps(X), y, n_rounds=n_rounds), largest_margin(X, y)
    assert boosted.margins.min() <= optimum + 1e-9
    assert boosted.certificate.dual >= optimum - 1e-9
    if boosted.hypotheses:
        # on any sample, separable or not: both sides are finite, and the largest margin is between them
        assert boosted.certificate.proven
        assert boosted.certificate.primal == pytest.approx(boosted.margins.min())
        assert 0 <= boosted.certificate.gap <= 2 + 1e-9
    assert_allclose(boosted.margins, rebuilt(boosted, X, y) if boosted.hypotheses else 0, atol=1e-9)


@settings(max_examples=5)
@given(samples(), st.sampled_from([0.2, 0.35]))
def test_adaboost_star_is_within_nu_of_the_optimum_after_its_bound(sample, nu):
    X, y = sample
    steps, optimum = boosting_steps(Stumps(X), y, lambda edge: edge - nu), largest_margin(X, y)
    boosted = gathered(islice(steps, round_bound(len(y), nu)), len(y), aimed=True)
    assert optimum - nu - 1e-9 <= boosted.margins.min() <= optimum + 1e-9
    assert boosted.certificate.dual >= optimum - 1e-9


def test_the_dual_of_the_certificate_is_that_of_its_sample_weights():
    boosted = adaboost(Stumps(X), Y, n_rounds=100)
    by_problem = HardMarginBoosting(Signed(StumpColumns(X)), Y).certify(u=boosted.u / boosted.u.sum() * 1e3)
    assert 1 / boosted.certificate.dual == pytest.approx(by_problem.dual, rel=1e-9)


def test_equals_scikit_learn_round_by_round():
    oracle = SklearnLearner(DecisionTreeClassifier(max_depth=1, random_state=0), X)
    boosted = adaboost(oracle, Y, n_rounds=15)
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, random_state=0), n_estimators=15).fit(X, Y)
    weights = [row.weight for row in boosted.history]
    assert_allclose(2 * np.array(weights), peer.estimator_weights_, rtol=1e-9)


def test_a_perfect_hypothesis_is_all_there_is():
    boosted = adaboost(Stumps(X), np.sign(X[:, 1]))
    assert len(boosted.history) == 1
    assert_allclose(boosted.margins, 1.0)
    assert_allclose(boosted.weights, 1.0)
    assert boosted.certificate.holds(1e-9)


def test_no_edge_ends_it_without_a_hypothesis():
    boosted = adaboost(Stumps(XOR), XOR_Y)
    assert boosted.hypotheses == ()
    assert_allclose(boosted.decision_function(XOR), np.zeros(4))
    assert boosted.certificate.note == "no hypothesis with an edge was found"
    assert not boosted.certificate.proven


def test_not_separable_tends_to_no_margin_and_says_so():
    X_twice, y = np.r_[X[:20], X[:1]], np.r_[Y[:20], -Y[0]]
    twice = adaboost(Stumps(X_twice), y, n_rounds=100)
    assert twice.margins.min() <= 0
    assert twice.certificate.primal == pytest.approx(twice.margins.min())
    assert twice.certificate.proven
    assert 0 <= twice.certificate.dual < 0.1


def test_an_oracle_without_a_bound_proves_nothing():
    boosted = adaboost(SklearnLearner(DecisionTreeClassifier(max_depth=1), X), Y, n_rounds=5)
    assert not boosted.certificate.proven
    assert "cannot bound" in boosted.certificate.note


def test_a_hypothesis_found_again_adds_to_its_weight():
    boosted = adaboost(Stumps(X), Y, n_rounds=60)
    assert len(boosted.hypotheses) < len(boosted.history) == 60
    assert boosted.weights.sum() == pytest.approx(sum(row.weight for row in boosted.history))


def test_real_valued_hypotheses_are_bounded_by_the_factor():
    H = np.tanh(X)
    history = adaboost(Pool(H), Y, n_rounds=20).history
    assert all(
        row.log_loss <= sum(0.5 * np.log1p(-(r.edge**2)) for r in history[: i + 1]) + 1e-12
        for i, row in enumerate(history)
    )


def test_an_interrupt_keeps_the_rounds():
    def steps():
        yield from islice(boosting_steps(Stumps(X), Y), 3)
        raise KeyboardInterrupt

    def nothing():
        raise KeyboardInterrupt
        yield

    assert len(gathered(steps(), 60).history) == 3
    with pytest.raises(KeyboardInterrupt):
        gathered(nothing(), 60)


class Scaled:
    """The sign of the first feature, scaled, as often as there are scales."""

    def __init__(self, *scales):
        self.scales, self.sample = scales, X

    def price(self, s, exclude=()):
        return Priced([Column(Times(scale), X, 1.0) for scale in self.scales])


@dataclass(frozen=True)
class Times:
    scale: float

    def __call__(self, X):
        return self.scale * np.sign(X[:, 0])


def test_an_oracle_that_finds_nothing():
    assert adaboost(Scaled(), Y).history == ()


def test_a_concentrated_u_leaves_weights_finite():
    steps = list(islice(boosting_steps(Pool(np.c_[Y * np.where(np.arange(60) == 0, -1, 1), np.ones(60)]), Y), 300))
    assert np.isfinite([step.round.weight for step in steps]).all()
    assert np.isfinite(steps[-1].scores).all()


def test_the_bound_on_rounds_in_closed_form():
    assert round_bound(1000, 0.05) == int(np.ceil(2 * log(1000) / 0.05**2))
    assert sqrt(round_bound(1000, 0.05) / round_bound(1000, 0.1)) == pytest.approx(2, rel=1e-3)


def test_a_prior_weighs_the_loss():
    prior = np.random.default_rng(0).uniform(1, 3, len(Y))
    shares = prior / prior.sum()
    steps = list(islice(boosting_steps(Stumps(X), Y, prior=prior), 6))
    assert_allclose(steps[0].u, shares, rtol=1e-12)
    for now, after in pairwise(steps):
        assert now.round.log_loss == pytest.approx(np.log(shares @ np.exp(-now.scores)))
        assert_allclose(after.u, shares * np.exp(-now.scores - now.round.log_loss))


def test_a_hypothesis_that_abstains_gets_the_weight_that_minimises_the_loss():
    X = np.array([[1.0], [1.0], [0.0], [-1.0], [1.0]])
    y = np.array([1.0, 1.0, -1.0, 1.0, 1.0])
    (step,) = islice(boosting_steps(Pool(X), y, prior=[1.0, 2.0, 4.0, 1.0, 1.0]), 1)
    right, wrong = 4 / 9, 1 / 9
    assert step.round.weight == pytest.approx(log(right / wrong) / 2)
    assert np.exp(step.round.log_loss) == pytest.approx(4 / 9 + 2 * sqrt(right * wrong))


def test_a_margin_of_0_to_aim_at_is_not_none():
    X = np.array([[1.0], [1.0], [0.0], [-1.0], [1.0]])
    y = np.array([1.0, 1.0, -1.0, 1.0, 1.0])
    aims = (None, np.arctanh(0.5)), (lambda _: 0.0, np.arctanh(0.4)), (lambda _: 1e-12, np.arctanh(0.4))
    for target, weight in aims:
        (step,) = islice(boosting_steps(Pool(X), y, target), 1)
        assert step.round.edge == pytest.approx(0.4)
        assert step.round.weight == pytest.approx(weight)
