"""Multiplicative updates: TK07 Algorithm 1 beside the print, what it proves of them, and updates of a fixed eta."""

from itertools import islice, pairwise
from math import ceil, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import rel_entr

from cvxens.datasets import make_twonorm
from cvxens.kernels import Stump
from cvxens.problems import EntropyProjection, RhoSVM
from cvxens.solvers import adaptive_updates, growing_updates, solve_rho_svm, update_bound
from cvxens.solvers.rho_svm import take_until, uniform
from reproduction.tk07_figure1 import fixed_updates

X, Y = make_twonorm(40, 3, random_state=0)
K = Stump()(X) + 0.01 * np.eye(40)


def signed(K, y):
    return (K * np.outer(y, y)).__matmul__


@st.composite
def problems(draw):
    """Random kernels, some of low rank, with a ridge that makes them separable."""
    n, rank = draw(st.integers(2, 12)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    F = np.round(rng.normal(size=(n, rank)), 1)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return F @ F.T + draw(st.sampled_from([0.05, 0.5])) * np.eye(n), y


def step_of_algorithm_1(Q, alpha, epsilon, least=0.005):
    """Return eta_t, eps_t and alpha_{t+1} of TK07 Algorithm 1, typed step by step; None where it terminates."""
    q = Q @ alpha  # step 3
    value = alpha @ q
    while epsilon >= least:  # step 8
        rho = value / (1 + epsilon)  # step 4
        if q.min() < rho:  # step 5, where "eta < 0" is that (10) has no solution

            def slope(eta, rho=rho):
                return (alpha * np.exp(-eta * (q - q.min()))) @ (rho - q)

            eta = brentq(slope, 0.0, 700 / np.ptp(q), xtol=1e-14)
            then = alpha * np.exp(-eta * (q - q.min()))  # step 6
            then /= then.sum()
            if then @ Q @ then <= value:  # step 7
                return eta, epsilon, then
        epsilon /= 2
    return None


def kullback_leibler(a, b):
    return rel_entr(a, b).sum() - a.sum() + b.sum()


@settings(max_examples=15)
@given(problems())
def test_tk07_algorithm_1_step_by_step(problem):
    """Each step from where the last one led: after tens of them, roundings have grown to per cents."""
    K, y = problem
    updates = list(adaptive_updates(signed(K, y), uniform(len(y))))
    Q, epsilon = K * np.outer(y, y), 0.1
    assert_allclose(updates[0].u, 1 / len(y))
    for now, after in pairwise(updates):
        eta, epsilon, then = step_of_algorithm_1(Q, now.u, epsilon)
        assert now.epsilon == epsilon
        assert now.eta == pytest.approx(eta, rel=1e-6)
        assert_allclose(after.u, then, rtol=1e-6, atol=1e-15)  # of weights whose sum is 1
    assert step_of_algorithm_1(Q, updates[-1].u, epsilon) is None
    assert updates[-1].eta == 0


@settings(max_examples=15)
@given(problems(), st.sampled_from([(0.1, 0.005), (1.0, 0.02)]))
def test_epsilon_is_halved_for_good_and_the_objective_never_rises(problem, epsilons):
    epsilon, least = epsilons
    updates = list(adaptive_updates(signed(*problem), uniform(len(problem[1])), epsilon=epsilon, least_epsilon=least))
    asked = [update.epsilon for update in updates[:-1]]
    assert all(after in {now / 2**k for k in range(9)} for now, after in pairwise([epsilon, *asked]))
    assert all(each >= least for each in asked)
    assert all(after.value <= now.value for now, after in pairwise(updates))


def test_an_end_by_a_gap_that_no_epsilon_changes():
    """Where (1 + eps)^2 (1 - gap) >= 1 the least margin is above rho_t for every epsilon that there is yet."""
    everything = list(adaptive_updates(signed(K, Y), uniform(40)))
    cut = list(take_until(adaptive_updates(signed(K, Y), uniform(40)), 1 - 1 / 1.005**2, 10_000))
    assert len(cut) == len(everything) > 10


@settings(max_examples=12)
@given(problems())
def test_tk07_11_to_19_on_the_way(problem):
    margins, optimum = signed(*problem), solve_rho_svm(RhoSVM(*problem)).duals["u"]
    best, Q = optimum @ margins(optimum), problem[0] * np.outer(problem[1], problem[1])
    for now, after in pairwise(islice(adaptive_updates(margins, uniform(len(optimum))), 40)):
        slack, at_optimum, epsilon = 1e-8 * now.value, optimum @ now.q, now.epsilon
        assert now.value >= 2 * at_optimum - best - slack  # (12)
        assert at_optimum**2 <= best * now.value * (1 + 1e-8)  # Cauchy and Schwarz, which (12) follows from
        edge = after.u @ now.q
        assert edge == pytest.approx(now.rho, rel=1e-7)  # (16)
        cosine = edge / sqrt(now.value * after.value)
        assert cosine == pytest.approx(sqrt(now.value / after.value) / (1 + epsilon), rel=1e-7)  # (17)
        if (1 - epsilon) / (1 + epsilon) * now.value >= best:  # (11)
            assert now.rho >= at_optimum - slack  # Proposition 1, (14), and (18) with the line above
            moved = kullback_leibler(optimum, now.u) - kullback_leibler(optimum, after.u)
            assert moved >= kullback_leibler(after.u, now.u) - 1e-9  # (19)
        elif epsilon < 1:  # footnote 5, and what Cauchy and Schwarz make of it
            assert at_optimum <= best * sqrt((1 + epsilon) / (1 - epsilon)) + slack
            assert sqrt((1 + epsilon) / (1 - epsilon)) <= 1 + 2 * epsilon / (1 - epsilon)
        # section 2.4 with |f| <= R, by Hoelder and Pinsker
        length = (now.value - now.rho) / float(np.abs(Q).max())
        assert np.abs(after.u - now.u).sum() >= length * (1 - 1e-8)
        assert kullback_leibler(after.u, now.u) >= length**2 / 2 * (1 - 1e-6)
        assert now.nu >= length * (1 - 1e-12)


def test_the_kkt_conditions_of_tk07_5_and_6():
    solution = solve_rho_svm(RhoSVM(K, Y))
    u = solution.duals["u"]
    slope = signed(K, Y)(u) - solution.objective
    assert slope.min() >= -1e-9
    assert abs(u @ slope) <= 1e-9


def test_a_growing_update_falls_by_a_fifth_of_what_was_asked():
    updates = list(take_until(growing_updates(signed(K, Y), uniform(40)), 1e-3, 200))
    assert len(updates) > 20
    assert all(after.value <= now.value - (now.value - now.rho) / 5 for now, after in pairwise(updates))


@pytest.mark.parametrize("rule", [adaptive_updates, growing_updates])
def test_an_update_is_an_entropy_projection(rule):
    for now, after in pairwise(islice(rule(signed(K, Y), uniform(40)), 6)):
        projection = EntropyProjection(K, Y, now.u, now.rho)
        assert_allclose(after.u, projection.project(now.eta), rtol=1e-9)
        assert projection.certify(alpha=after.u, eta=now.eta).holds(1e-8)


@pytest.mark.parametrize("rule", [adaptive_updates, growing_updates])
@settings(max_examples=12)
@given(problem=problems())
def test_updates_that_the_optimum_does_not_forbid_are_within_the_bound(rule, problem):
    margins, optimum = signed(*problem), solve_rho_svm(RhoSVM(*problem)).duals["u"]
    updates = list(take_until(rule(margins, uniform(len(optimum))), 1e-6, 200))
    allowed = [update for update in updates if update.nu > 0 and optimum @ update.q <= update.rho]
    assert sum(update.nu**2 for update in allowed) <= 2 * log(len(optimum)) * (1 + 1e-9)
    if allowed:
        assert len(allowed) <= update_bound(len(optimum), min(update.nu for update in allowed))


@settings(max_examples=20)
@given(problems(), st.sampled_from([0.1, 0.3]))
def test_the_mean_of_fixed_updates_is_within_nu(problem, precision):
    margins, n = signed(*problem), len(problem[1])
    R = float(np.abs(problem[0]).max())
    nu = precision * R
    steps = ceil(update_bound(n, precision))
    mean = np.mean([update.u for update in islice(fixed_updates(margins, uniform(n), nu / R**2), steps)], axis=0)
    assert margins(mean).min() >= mean @ margins(mean) - nu - 1e-12


def test_a_large_fixed_eta_does_not_converge_and_a_small_one_falls():
    large = list(islice(fixed_updates(signed(K, Y), uniform(40), 1e3), 50))
    small = [update.value for update in islice(fixed_updates(signed(K, Y), uniform(40), 0.01), 50)]
    assert min(update.gap for update in large) > 0.5
    assert all(after <= now for now, after in pairwise(small))


@settings(max_examples=15)
@given(problems())
def test_multipliers_without_a_sum_go_to_those_of_the_svm(problem):
    """The rule of Cristianini et al. stands still where a_i > 0 has the margin 1, and falls with a small eta."""
    margins, n = signed(*problem), len(problem[1])
    solution = solve_rho_svm(RhoSVM(*problem))
    u = np.maximum(solution.duals["u"], 1e-200)
    first, second = islice(fixed_updates(margins, u / solution.objective, 1e-3, normalised=False), 2)
    assert_allclose(first.u, solution.duals["u"], atol=1e-12)
    assert_allclose(second.u, first.u, rtol=1e-6, atol=1e-12)
    size = float(np.abs(problem[0]).sum())
    values = [each.value for each in islice(fixed_updates(margins, uniform(n), 0.1 / size, normalised=False), 30)]
    assert all(after <= now * (1 + 1e-12) for now, after in pairwise(values))


def test_multipliers_without_a_sum_overshoot_where_eta_is_large():
    n = 60
    X, y = make_twonorm(n, 5, random_state=0)
    margins = signed(np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 10), y)
    small, large = (
        [update.value for update in islice(fixed_updates(margins, uniform(n), eta, normalised=False), 300)]
        for eta in (0.01, 0.5)
    )
    kept = [update.value for update in islice(fixed_updates(margins, uniform(n), 0.5), 300)]
    assert (np.diff(small) <= 0).all()
    assert (np.diff(kept) <= 0).all()
    assert min(large[-20:]) > 3 * small[-1] > 3 * kept[-1]
    assert np.isfinite(large).all()


@pytest.mark.parametrize("rule", [adaptive_updates, growing_updates])
def test_updates_stall_at_the_optimum_in_closed_form(rule):
    *_, last = rule(lambda u: np.arange(1.0, 5.0) * u, uniform(4))
    weights = 1 / np.arange(1.0, 5.0)
    assert_allclose(last.u, weights / weights.sum(), rtol=1e-4 if rule is growing_updates else 1e-1)
    assert (last.eta, last.nu, last.epsilon) == (0.0, 0.0, 0.0)
    assert last.rho == last.value


@pytest.mark.product(rule=[adaptive_updates, growing_updates], margins=[np.zeros_like, np.ones_like])
def test_kernels_that_tell_nothing_stall_at_once(rule, margins):
    assert len(list(rule(margins, uniform(5)))) == 1
