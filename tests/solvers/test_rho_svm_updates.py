"""Multiplicative updates: what TK07 asks of each, their bound, and the guarantee of a fixed eta."""

from itertools import islice, pairwise
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.datasets import make_twonorm
from cvxens.errors import InvalidInput
from cvxens.kernels import Stump
from cvxens.problems import EntropyProjection, RhoSVM
from cvxens.solvers import adaptive_updates, fixed_updates, solve_rho_svm, update_bound
from cvxens.solvers.rho_svm import take_until, uniform

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


def test_an_update_falls_by_a_fifth_of_what_was_asked():
    updates = list(take_until(adaptive_updates(signed(K, Y), uniform(40)), 1e-3, 200))
    assert len(updates) > 20
    assert all(after.value < (1 - now.epsilon / 5) * now.value for now, after in pairwise(updates))


def test_an_update_is_an_entropy_projection():
    for now, after in pairwise(islice(adaptive_updates(signed(K, Y), uniform(40)), 6)):
        projection = EntropyProjection(K, Y, now.u, (1 - now.epsilon) * now.value)
        assert_allclose(after.u, projection.project(now.eta), rtol=1e-9)
        assert projection.certify(alpha=after.u, eta=now.eta).holds(1e-8)


@settings(deadline=None, max_examples=40)
@given(problems())
def test_updates_that_the_optimum_does_not_forbid_are_within_the_bound(problem):
    margins, optimum = signed(*problem), solve_rho_svm(RhoSVM(*problem)).duals["u"]
    updates = list(take_until(adaptive_updates(margins, uniform(len(optimum))), 1e-6, 300))
    allowed = [up for up in updates if up.nu > 0 and optimum @ up.q <= (1 - up.epsilon) * up.value]
    assert sum(update.nu**2 for update in allowed) <= 2 * log(len(optimum)) * (1 + 1e-9)
    if allowed:
        assert len(allowed) <= update_bound(len(optimum), min(update.nu for update in allowed))


@settings(deadline=None, max_examples=20)
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


def test_updates_stall_at_the_optimum_in_closed_form():
    *_, last = adaptive_updates(lambda u: np.arange(1.0, 5.0) * u, uniform(4))
    weights = 1 / np.arange(1.0, 5.0)
    assert_allclose(last.u, weights / weights.sum(), rtol=1e-4)
    assert (last.eta, last.nu, last.epsilon) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("margins", [np.zeros_like, np.ones_like], ids=["zero", "constant"])
def test_kernels_that_tell_nothing_stall_at_once(margins):
    assert len(list(adaptive_updates(margins, uniform(5)))) == 1


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("eta", lambda: next(fixed_updates(np.copy, uniform(2), 0.0))),
        ("nu", lambda: update_bound(10, 0.0)),
        ("n_samples", lambda: update_bound(1, 0.1)),
    ],
)
def test_bad_input_is_named(argument, call):
    with pytest.raises(InvalidInput) as error:
        call()
    assert error.value.argument == argument
