"""The exponential loss of several classes: its definition, its conjugate, and what it is for two classes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from problem_cases import solved

from cvxens.colgen import Formulation
from cvxens.problems import Problem
from cvxens.problems.formulations import multiboost
from cvxens.problems.losses import Exponential, MulticlassExponential
from cvxens.problems.penalties import L1

SEEDS = st.integers(0, 10**6)
N, K = 7, 3


def drawn(seed, n_classes=K):
    """A loss with uneven prices, and scores."""
    rng = np.random.default_rng(seed)
    labels = np.r_[np.arange(n_classes), rng.integers(n_classes, size=N - n_classes)]
    prices = rng.uniform(0.2, 2, N) if seed % 2 else 0.7
    return MulticlassExponential(prices, labels, n_classes), rng.normal(size=(N, n_classes))


def by_definition(loss, F):
    prices = np.broadcast_to(loss.C, N)
    pairs = ((i, y, k) for i, y in enumerate(loss.labels) for k in range(loss.n_classes) if k != y)
    return sum(prices[i] * np.exp(F[i, k] - F[i, y]) for i, y, k in pairs)


@given(SEEDS)
def test_values_and_slopes_are_those_of_the_definition(seed):
    loss, F = drawn(seed)
    assert loss.value(F) == pytest.approx(by_definition(loss, F))
    for i, k in np.ndindex(F.shape):
        e = np.zeros_like(F)
        e[i, k] = 1e-6
        slope = (by_definition(loss, F + e) - by_definition(loss, F - e)) / 2e-6
        assert loss.multipliers(F)[i, k] == pytest.approx(-slope, rel=1e-6, abs=1e-8)


def test_repaired_multipliers_are_weights_of_pairs():
    loss, F = drawn(1)
    rough = np.random.default_rng(0).normal(size=F.shape)
    u = loss.repair(rough, None)
    own = np.equal.outer(loss.labels, np.arange(K))
    assert_allclose(u.sum(axis=1), 0, atol=1e-12)
    assert_allclose(u[~own], np.minimum(rough[~own], 0))
    assert_allclose(loss.pairs(u)[~own], -u[~own])
    assert not loss.pairs(u)[own].any()
    assert loss.violation(rough) > 0.1
    assert loss.slackness(F, rough) > 0.1
    assert_allclose(loss.repair(loss.multipliers(F), None), loss.multipliers(F))


def test_far_scores_overflow_to_infinity_without_a_warning():
    loss, F = drawn(1)
    assert loss.value(1e4 * F) == np.inf
    assert np.isinf(loss.multipliers(1e4 * F)).any()


@settings(max_examples=6)
@given(SEEDS)
@example(705255)
def test_two_classes_are_the_exponential_loss_of_one_score(seed):
    rng = np.random.default_rng(seed)
    labels = np.r_[0, 1, rng.integers(2, size=14)]
    H = np.sign(rng.normal(size=(16, 5)))
    of_two = solved(Problem(multiboost(0.8, labels), H, np.ones((16, 1))))
    y = 2.0 * labels - 1
    of_one = solved(Problem(Formulation(Exponential(0.8), L1()), H, y))
    assert of_two.objective == pytest.approx(of_one.objective, rel=1e-6)
    w = of_two.variables["w"]
    assert_allclose(H @ (w[:, 1] - w[:, 0]), H @ of_one.variables["w"], atol=1e-3)
    assert_allclose(of_two.duals["u"][:, 1], y * of_one.duals["u"], atol=1e-3)
