"""The range of a linear functional over all near-optimal ensembles, against programs over all stumps at once."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, noisy, solve_to_the_end
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cvxens import column_generation, near_optimal_range
from cvxens.colgen import Run, formulations, oracles
from cvxens.errors import InvalidInput
from cvxens.problems import Formulation
from cvxens.problems.losses import Hinge, Logistic
from cvxens.problems.penalties import L1


def enumerate_range(H, y, a, level, *, loss, intercept=False, nu=False):
    """The least and largest a'(H w + b) of all weights w within a level, by cvxpy."""
    w, v, b = cp.Variable(H.shape[1], nonneg=True), cp.Variable(H.shape[1], nonneg=True), cp.Variable()
    scores = H @ (w - v) + (b if intercept else 0.0)
    size = cp.sum(w + v)
    held = [loss(cp.multiply(y, scores), size) <= level, *([size == 1] if nu else [])]
    return [sign * solve_to_the_end(cp.Problem(cp.Maximize(sign * a @ scores), held)) for sign in (-1, 1)]


LOSSES = {
    "soft margin": (formulations.soft_margin(C=0.3), lambda z, size: 0.3 * cp.sum(cp.pos(1 - z)) + size, {}),
    "intercept": (
        Formulation(Hinge(0.3), L1(1.0), intercept=True),
        lambda z, size: 0.3 * cp.sum(cp.pos(1 - z)) + size,
        {"intercept": True},
    ),
    "logistic": (Formulation(Logistic(0.5), L1(1.0)), lambda z, size: 0.5 * cp.sum(cp.logistic(-z)) + size, {}),
}


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(LOSSES)), st.sampled_from([1e-3, 0.05, 0.5]))
@example(142, "intercept", 1e-3)
@example(363971528, "intercept", 0.05)
@example(189948, "logistic", 1e-3)
def test_both_ends_are_those_over_all_stumps(seed, name, slack):
    formulation, loss, options = LOSSES[name]
    rng = np.random.default_rng(seed)
    X, y = noisy(24, 2, seed % 1000)
    group = rng.permutation(np.arange(24) < 9)
    a = np.stack([group / group.sum() - ~group / (~group).sum(), np.arange(24) == 3])
    a[1] -= 1 / 24 if "intercept" in options else 0.0
    run = column_generation(formulation, oracles.Stumps(X), y, tol=1e-8)
    found = near_optimal_range(run, a, slack, tol=1e-4)
    size = np.abs(run.weights).sum() or run.certificate.primal  # what the level leaves room for
    for k in range(2):
        low, high = enumerate_range(all_stumps(X), y, a[k], run.certificate.primal * (1 + slack), loss=loss, **options)
        assert found.least[k] <= low + 1e-6 * size
        assert found.most[k] >= high - 1e-6 * size
        assert found.lowest[k] == pytest.approx(low, abs=3e-4 * size)
        assert found.highest[k] == pytest.approx(high, abs=3e-4 * size)
        assert found.found[k] == pytest.approx(a[k] @ run.decision_function(X), abs=1e-9 * size)


def test_weights_have_a_range_and_what_cannot_be_asked_is_refused():
    X, y = noisy(30, 3)
    run = column_generation(formulations.soft_margin(C=0.2), oracles.Stumps(X), y)
    sums = near_optimal_range(run, 1.0, 0.1)
    assert sums.least <= sums.lowest <= np.abs(run.weights).sum() <= sums.highest <= sums.most
    double = near_optimal_range(run, 2.0, 0.1)
    np.testing.assert_allclose([double.least, double.most], [2 * sums.least, 2 * sums.most], rtol=0.1)
    with pytest.raises(InvalidInput, match=r"functional.*30"):
        near_optimal_range(run, np.ones(4))
    with pytest.raises(InvalidInput, match="slack"):
        near_optimal_range(run, 1.0, 0.0)
    bare = Run(run.certificate, run.columns, run.weights, run.intercept, run.u, run.history, run.ending)
    with pytest.raises(InvalidInput, match="run"):
        near_optimal_range(bare, 1.0)
    shifted = column_generation(Formulation(Hinge(0.2), L1(1.0), intercept=True), oracles.Stumps(X), y)
    with pytest.raises(InvalidInput, match="add up to 0"):
        near_optimal_range(shifted, np.ones(30))


def test_hypotheses_of_any_size_count_by_their_size():
    X, y = noisy(30, 2)
    ten = column_generation(formulations.soft_margin(C=0.3), oracles.Costed(oracles.Stumps(X), 0.1), y)
    one = column_generation(Formulation(Hinge(0.3), L1(0.1)), oracles.Stumps(X), y)
    sums = [near_optimal_range(ten, 1.0, 0.1, tol=1e-4), near_optimal_range(one, 0.1, 0.1, tol=1e-4)]
    np.testing.assert_allclose(sums[0].most, sums[1].most, rtol=1e-3)
    silent = SimpleNamespace(sample=X, price=oracles.Stumps(X).price)
    with pytest.raises(InvalidInput, match=r"oracle: .*`largest`"):
        near_optimal_range(column_generation(formulations.soft_margin(C=0.3), silent, y), 1.0, 0.1)


def test_ends_are_certified_and_wider_where_time_is_up():
    X, y = noisy(200, 5)
    run = column_generation(formulations.soft_margin(C=0.05), oracles.Stumps(X), y)
    a = np.eye(200)[0]
    short, whole = near_optimal_range(run, a, max_time=1e-9), near_optimal_range(run, a)
    assert short.least <= whole.lowest <= whole.highest <= short.most
    assert whole.slack <= 1e-2 * np.abs(run.weights).sum() + 1e-9
