"""Losses of one margin or score a sample: each against its conjugate, its model and its best intercept."""

from dataclasses import fields, replace
from decimal import Decimal, localcontext

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from cvxens.errors import InvalidInput
from cvxens.problems.losses import (
    CVaR,
    EntropicMinimumMargin,
    Exponential,
    HardMargin,
    Hinge,
    HuberizedHinge,
    Logistic,
    SoftMinimumMargin,
    SquaredError,
    SquaredHinge,
)
from cvxens.problems.target_losses import AbsoluteError, Deviance, EpsilonInsensitive, HuberError, Pinball

N = 6
t = np.array([0.5, -1.0, 0.5, 2.0, 3.5, -1.0])
counts = np.array([0.0, 3.0, 1.0, 2.0, 2.0, 0.5])
C = np.array([0.4, 1.0, 0.4, 2.0, 0.7, 0.4])
y = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])


def huber(r, delta):
    return r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2)


SUMS = {
    "absolute": (AbsoluteError(t, C), lambda i, z: C[i] * abs(t[i] - z)),
    "pinball": (Pinball(t, 0.8, C), lambda i, z: C[i] * max(0.8 * (t[i] - z), -0.2 * (t[i] - z))),
    "insensitive": (EpsilonInsensitive(t, 0.75, C), lambda i, z: C[i] * max(abs(t[i] - z) - 0.75, 0)),
    "huber": (HuberError(t, 0.75, C), lambda i, z: C[i] * huber(t[i] - z, 0.75)),
    "huber 0.8": (HuberError(t, 0.75, C, 0.8), lambda i, z: C[i] * (huber(t[i] - z, 0.75) + 0.45 * (t[i] - z + 0.225))),
    "squared": (SquaredError(C, t), lambda i, z: C[i] / 2 * (t[i] - z) ** 2),
    "poisson": (
        Deviance(counts, C=C),
        lambda i, z: C[i] * (np.exp(z) - counts[i] * z - counts[i] + xlogy(counts[i], counts[i])),
    ),
    "gamma": (
        Deviance(counts + 1, 2, C),
        lambda i, z: C[i] * ((counts[i] + 1) * np.exp(-z) + z - 1 - np.log(counts[i] + 1)),
    ),
    "tweedie": (
        Deviance(counts, 1.3, C),
        lambda i, z: C[i] * (counts[i] * np.exp(-0.3 * z) / 0.3 + np.exp(0.7 * z) / 0.7 - counts[i] ** 0.7 / 0.21),
    ),
    "huberized": (HuberizedHinge(C, 0.5), lambda i, z: C[i] * 2 * huber(max(1 - z, 0), 0.5)),
    "hinge": (Hinge(0.4), lambda _, z: 0.4 * max(0.0, 1 - z)),
    "exponential": (Exponential(0.4), lambda _, z: 0.4 * np.exp(-z)),
    "logistic": (Logistic(0.4), lambda _, z: 0.4 * np.logaddexp(0.0, -z)),
    "squared hinge": (SquaredHinge(0.4), lambda _, z: 0.2 * max(0.0, 1 - z) ** 2),
}
LOSSES = {name: loss for name, (loss, _) in SUMS.items()} | {
    "cvar": CVaR(1 / (0.4 * N), 2.0),
    "cvar of prices": CVaR(C / 2),
    "cvar of all": CVaR(1 / (2 * N)),
    "soft minimum": SoftMinimumMargin(0.3),
    "soft minimum of all": SoftMinimumMargin(1 / N),
    "entropic minimum": EntropicMinimumMargin(0.35, 3.0),
}
KINKED = ("absolute", "pinball", "insensitive")
ON_MARGINS = [name for name, loss in LOSSES.items() if not loss.on_scores]
TIED = [name for name in LOSSES if name.startswith("cvar") or "minimum" in name]  # multipliers have a sum
numbers = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), st.floats(-5, 5))
margins = arrays(float, N, elements=numbers)
every = pytest.mark.parametrize("name", LOSSES)


def signs_of(name):
    return y if name in ON_MARGINS else np.ones(N)


@pytest.mark.parametrize("name", SUMS)
@given(z=margins)
def test_values_are_sums_of_one_dimensional_losses(name, z):
    loss, phi = SUMS[name]
    assert loss.value(z) == pytest.approx(sum(phi(i, z[i]) for i in range(N)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", SUMS)
@settings(max_examples=10)
@given(u=margins)
def test_dual_values_are_minus_the_conjugate_at_minus_u(name, u):
    loss, phi = SUMS[name]
    u = loss.repair(u, None)
    infimum = sum(
        minimize_scalar(lambda z, i=i: phi(i, z) + u[i] * z, bounds=(-40, 20), options={"xatol": 1e-11}).fun
        for i in range(N)
    )
    assert loss.dual_value(u) == pytest.approx(infimum, abs=1e-5)


@every
@given(z=margins, u=margins)
def test_fenchels_inequality_holds_for_any_repaired_multipliers(name, z, u):
    loss = LOSSES[name]
    for signs in (None, signs_of(name)):
        v = loss.repair(u, signs)
        assert loss.violation(v) <= 1e-12
        assert signs is None or abs(signs @ v) < 1e-12
        assert loss.dual_value(v) <= loss.value(z) + v @ z + 1e-9
        assert_allclose(loss.repair(v, signs), v, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in SUMS if name != "hinge"])
@given(z=margins)
def test_fenchels_equality_holds_at_minus_the_slopes(name, z):
    loss, phi = SUMS[name]
    u = loss.multipliers(z)
    assert loss.value(z) + u @ z == pytest.approx(loss.dual_value(u), abs=1e-9)
    assert loss.violation(u) <= 1e-12
    assert loss.slackness(z, u) < 1e-12
    assert loss.repair(u, None) == pytest.approx(u, abs=1e-12)
    for i in range(N):
        left, right = ((phi(i, z[i] + h) - phi(i, z[i])) / h for h in (-1e-6, 1e-6))
        assert left - 1e-4 * (1 + abs(left)) <= -u[i] <= right + 1e-4 * (1 + abs(right))
    if name not in KINKED:
        assert_allclose(loss.curvature(u), loss.curvature(loss.multipliers(z)))


@every
@given(f=margins, scale=st.sampled_from([0.0, 1e-6, 1.0, 1e3, 1e5]))
def test_the_best_intercept_is_no_worse_than_any(name, f, scale):
    """Than a grid, where kinks and crossings are, and what surrounds it; at scores of any size."""
    loss, signs, f = LOSSES[name], signs_of(name), scale * f
    b, wide = loss.best_intercept(f, signs), max(scale, 1.0)
    assert b.shape == ()
    near = b + wide * np.array([-0.1, -1e-3, 1e-3, 0.1])
    crossings = -np.add.outer(f, f).ravel() / 2
    grid = [wide * np.linspace(-12, 8, 81), near, crossings, t - f, t - f - 0.75, t - f + 0.75, y - f, -f]
    least = min(loss.value(signs * (f + other)) for other in np.concatenate(grid))
    assert loss.value(signs * (f + b)) <= least + 1e-7 + 1e-9 * abs(least)


@given(f=margins, scale=st.sampled_from([0.0, 1e-6, 1.0, 1e5]))
def test_no_intercept_has_a_larger_minimum(f, scale):
    f = scale * f
    b = HardMargin().best_intercept(f, y)
    others = np.concatenate([max(scale, 1.0) * np.linspace(-12, 8, 401), -np.add.outer(f, f).ravel() / 2])
    assert (y * (f + b)).min() >= max((y * (f + other)).min() for other in others) - 1e-12 * max(1.0, scale)


def test_an_intercept_that_is_not_unique_is_halfway():
    """Between the scores from which every positive and up to which every negative sample costs nothing."""
    y = np.array([1.0, -1.0, 1.0])
    assert Hinge(1.0).best_intercept(np.array([3.0, -3.0, 4.0]), y) == 0.0
    assert Hinge(1.0).best_intercept(np.array([5.0, -3.0, 6.0]), y) == -1.0


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in {"soft minimum of all", "entropic minimum"}])
@given(data=st.data())
def test_at_the_best_constant_score_the_multipliers_prove_that_it_is_best(name, data):
    """Without columns primal and dual values meet, whatever ties there are: a run may start so, and end so."""
    prices = data.draw(arrays(float, N, elements=st.sampled_from([0.25, 0.5, 1.0, 1.75])))
    targets = data.draw(arrays(float, N, elements=st.sampled_from([0.0, 1.0, 1.5, 2.0, 4.25])))
    labels = data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=N - 2, max_size=N - 2))
    if not targets.any():
        targets[0] = 1.0
    shares = {"soft minimum": 2.0, "cvar": 1 / 2, "cvar of prices": 1.0, "cvar of all": 1 / 16}
    drawn = (
        {"D": shares[name] * prices}
        if name in shares
        else {"t": targets + (name == "gamma"), "L": targets, "C": prices}
    )
    own = {field.name for field in fields(LOSSES[name])}
    loss = replace(LOSSES[name], **{key: value for key, value in drawn.items() if key in own})
    signs = np.array([1.0, -1.0, *labels]) if name in ON_MARGINS else np.ones(N)
    b = loss.best_intercept(np.zeros(N), signs)
    u = loss.repair(loss.multipliers(signs * b), signs)
    assert abs(signs @ u) < 1e-9
    assert loss.dual_value(u) == pytest.approx(loss.value(signs * b), rel=1e-7, abs=1e-7)
    # and without an intercept at a score of 0
    u = loss.repair(loss.multipliers(np.zeros(N)), None)
    assert loss.dual_value(u) == pytest.approx(loss.value(np.zeros(N)), rel=1e-12, abs=1e-12)


@every
def test_the_modelled_loss_is_the_evaluated_one(name):
    loss = LOSSES[name]
    for z in (np.linspace(-1.5, 2.0, N), t + 0.3 * y):
        variable = cp.Variable(N)
        term = loss.model(variable)
        assert term.expression.is_convex()
        problem = cp.Problem(cp.Minimize(term.expression), [variable == z, *term.constraints])
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        assert problem.value == pytest.approx(loss.value(z), rel=1e-7)
        auxiliary = {k: np.asarray(v.value) for k, v in term.variables.items()}
        assert loss.primal_violation(z, auxiliary) < 1e-7
        # less of the margin that is maximised is feasible
        held = {k: v for k, v in auxiliary.items() if k != "rho" or not name.startswith("soft")}
        assert all(loss.primal_violation(z, {**auxiliary, k: v - 1.0}) > 0.5 for k, v in held.items())


@every
@given(z=margins, way=margins, size=st.sampled_from([0.0, 1e-17, 1e-15, 1e-9, 1e-3]))
def test_no_margins_within_the_errors_cost_more_than_their_rise(name, z, way, size):
    loss, errors = LOSSES[name], size * np.abs(way)
    found = loss.rise(z, errors)
    assert loss.value(z + size * way) - loss.value(z) <= found
    assert loss.value(z - size * way) - loss.value(z) <= found


@settings(max_examples=200)
@given(
    x=arrays(float, N, elements=st.floats(-30, 30)),
    targets=arrays(float, N, elements=st.sampled_from([1e-9, 0.3, 1.0, 7.0, 1e6])),
    power=st.sampled_from([1.0, 1.001, 1.3, 1.5, 1.9, 1.999, 2.0]),
)
def test_the_rounding_of_deviances_is_not_more_than_is_said(x, targets, power):
    """Against long doubles: the least of loss(z) + u'z by Newton's steps in them, from the z that u is of."""
    loss, z = Deviance(targets, power, C), np.log(targets) + x
    u, p, centres = loss.multipliers(z), np.longdouble(power), np.log(np.longdouble(targets))
    sizes = np.longdouble(C) * np.longdouble(targets) ** (2 - p)

    def evaluate(x):
        return sizes * sum(sign * (np.expm1(c * x) / c if c else x) for sign, c in ((1, 2 - p), (-1, 1 - p)))

    at, own = np.longdouble(z) - centres, 1e-18 * float(sizes.sum())
    assert abs(float(evaluate(at).sum() - np.longdouble(loss.value(z)))) <= loss.rounding(z) + own
    for _ in range(3):
        ahead, behind = np.exp((2 - p) * at), np.exp((1 - p) * at)
        at = at - (u / sizes + ahead - behind) / ((2 - p) * ahead + (p - 1) * behind)
    dual = evaluate(at) + u * (at + centres)
    assert abs(float(dual.sum() - np.longdouble(loss.dual_value(u)))) <= loss.dual_rounding(u) + own


@pytest.mark.parametrize("name", [*KINKED, "huber", "squared", "huberized", "cvar"])
@settings(max_examples=20)
@given(u=margins)
def test_the_rounding_of_a_dual_value_is_not_more_than_is_said(name, u):
    """Against the same in a hundred bits and more: numpy's long doubles where exact numbers have no logarithm."""
    loss = LOSSES[name]
    u = loss.repair(u, None)
    again = np.longdouble(u)
    if name in KINKED:
        terms = sum(h.sign * np.longdouble(h.knots) * np.maximum(h.sign * again, 0) for h in loss.linear_dual.hinges)
    elif name.startswith("cvar"):
        terms = again
    else:
        linear, width = {"huber": (t, 1.0), "squared": (t, 1.0), "huberized": (np.ones(N), 0.5)}[name]
        terms = again * linear - width * again * again / (2 * np.longdouble(C))
    assert abs(float(terms.sum() - np.longdouble(loss.dual_value(u)))) <= loss.dual_rounding(u)


@given(z=margins, share=st.floats(0.1, 1.0))
def test_cvar_is_the_mean_of_the_largest_hinges(z, share):
    """The least over every rho, and the largest over weights of the samples (Rockafellar & Uryasev)."""
    D = 1 / (share * N)
    hinges = np.maximum(1 - z, 0)
    least = min(rho + D * np.maximum(hinges - rho, 0).sum() for rho in [0.0, *hinges])
    assert CVaR(D).value(z) == pytest.approx(least, rel=1e-12, abs=1e-12)
    assert CVaR(D, 3.0).value(z) == pytest.approx(3 * least, rel=1e-12, abs=1e-12)
    ranked, left, mean = np.sort(hinges)[::-1], 1.0, 0.0
    for hinge in ranked:
        mean, left = mean + min(D, left) * hinge, left - min(D, left)
    assert mean == pytest.approx(least, abs=1e-9)


@given(z=margins, D=st.sampled_from([1 / N, 0.2, 0.25, 1 / 3, 0.4, 0.5, 1.0, 3.0]))
def test_the_soft_minimum_is_the_best_over_every_rho(z, D):
    loss = SoftMinimumMargin(D)
    attained = [rho - D * np.maximum(rho - z, 0).sum() for rho in z]
    assert -loss.value(z) == pytest.approx(max(attained), abs=1e-12)
    rho = loss.margin(z)
    assert rho - D * np.maximum(rho - z, 0).sum() == pytest.approx(max(attained), abs=1e-12)
    assert (z < rho).sum() * D <= 1 + 1e-9


def test_the_hard_margin_is_a_constraint_with_a_way_in():
    loss = HardMargin()
    z = np.array([0.5, 2.0])
    assert loss.value(z) == np.inf
    assert loss.rescaling(z) == 2.0
    assert loss.value(loss.rescaling(z) * z) == 0.0
    for z in ([-1.0, 2.0], [0.0, 2.0], [3.0, 2.0]):
        assert loss.rescaling(np.array(z)) == 1.0
    assert loss.dual_value(np.array([2.0, 1.0])) == 3.0
    assert loss.violation(np.array([2.0, -1.0])) == 0.5
    assert_array_equal(loss.repair(np.array([2.0, -1.0]), None), [2.0, 0.0])


@pytest.mark.parametrize("name", ["exponential", "logistic", "squared hinge"])
@settings(max_examples=20)
@given(z=margins)
def test_smooth_losses_compare_multipliers_with_minus_the_derivative(name, z):
    loss = LOSSES[name]
    u = loss.multipliers(z)
    assert u.max() == 0 or loss.slackness(z, u + 0.3) == pytest.approx(0.3 / u.max())


@given(z=margins, q=st.floats(0.01, 0.99), d=st.floats(0.01, 10.0))
def test_a_kink_that_is_rounded_off_costs_a_sixteenth_of_the_width_at_most(z, q, d):
    loss = Pinball(t, q, C)
    u, least = loss.rounded(d).multipliers(z), Pinball(t, 0.5, C).rounded(d).value(z)
    assert loss.violation(u) <= 1e-15
    assert -1e-12 <= loss.value(z) + u @ z - loss.dual_value(u) <= C @ (np.abs(z - t) < d / 2) * d / 16 + 1e-12
    assert AbsoluteError(t, C / 2).rounded(d).value(z) == pytest.approx(least)


@settings(max_examples=20)
@given(z=margins, share=arrays(float, N, elements=st.floats(0, 1)))
def test_the_hinge_allows_any_multiplier_at_its_kink_only(z, share):
    loss = Hinge(0.4)
    u = np.where(z < 1, 0.4, np.where(z > 1, 0.0, 0.4 * share))
    assert loss.slackness(z, u) == 0
    assert loss.slackness(z, 0.4 - u) == pytest.approx(np.abs(z - 1).max(), rel=1e-9)


@pytest.mark.parametrize("loss", [SoftMinimumMargin(1.0), EntropicMinimumMargin(1.0, 5.0)], ids=["linear", "entropic"])
def test_multipliers_off_the_simplex_are_dual_infeasible_by_what_their_sum_lacks(loss):
    assert loss.violation(np.array([0.5, 0.25])) == 0.25
    assert loss.violation(np.array([0.75, 0.5])) == 0.25
    assert loss.violation(np.array([0.5, 0.5])) == 0.0


def test_a_price_that_leaves_a_soft_minimum_unbounded():
    """With an intercept the smaller class must be able to carry half of the weight."""
    y = np.array([1.0, -1.0] + 6 * [1.0])
    assert SoftMinimumMargin(0.125).repair(np.ones(8), None).max() == 0.125
    for D, signs, least in ((0.12, None, 0.125), (0.49, y, 0.5)):
        message = f"^D: found {D} a sample; give at least {least}, or the problem is unbounded"
        with pytest.raises(InvalidInput, match=message):
            SoftMinimumMargin(D).repair(np.ones(8), signs)
    u = SoftMinimumMargin(0.5).repair(np.ones(8), y)
    assert u.sum() == pytest.approx(1.0)
    assert y @ u == pytest.approx(0.0, abs=1e-15)


@pytest.mark.product(share=[1e-18, 3e-16, 1e-12, 1e-7, 0.3, 1 - 1e-9, 1 - 2e-16, 1.0], price=[1e-4, 1e3])
def test_entropies_of_shares_near_0_and_1_keep_their_digits(share, price):
    """What rounding does to them is below what is counted: prices may be 1e7 apart, and then the rest is small."""
    u = price * share
    with localcontext() as context:
        context.prec = 60
        p = Decimal(u) / Decimal(price)
        true = -Decimal(price) * sum(q * q.ln() for q in (p, 1 - p) if q > 0)
        found = Logistic(np.array([price]))
        off = abs(Decimal(found.dual_value(np.array([u]))) - true)
        assert off <= Decimal(found.dual_rounding(np.array([u])))
        assert share >= 0.5 or off <= Decimal("1e-15") * true


def test_slackness_is_what_a_multiplier_lacks_times_the_way_to_the_kink():
    loss = AbsoluteError([0.0, 4.0], C=2.0)
    assert loss.slackness(np.array([1.0, 4.0]), np.array([-2.0, 0.3])) == 0.0
    assert loss.slackness(np.array([1.0, 4.0]), np.array([2.0, 0.0])) == pytest.approx(2 * 1.0 / 4.0 / 2)
    risk = CVaR(0.5, 2.0)
    z = np.array([-1.0, 0.0, 3.0])
    assert risk.threshold(z) == 1.0
    assert risk.slackness(z, np.array([1.0, 1.0, 0.0])) == pytest.approx(0.0)
    assert risk.slackness(z, np.array([0.5, 1.0, 0.5])) > 0.1
    assert risk.violation(np.array([1.0, 1.0, 1.0])) == pytest.approx(0.5)


@every
@given(z=margins, near=st.sampled_from([0.0, 1e-6, 0.3]), share=st.floats(0, 1))
def test_multipliers_lie_between_the_slopes_near_a_point(name, z, near, share):
    loss = LOSSES[name]
    least, largest = loss.slopes(z, near)
    assert (least <= largest).all()
    if near == 0 and name not in TIED:
        u = least + share * (largest - least)
        assert loss.value(z) + u @ z == pytest.approx(loss.dual_value(u), abs=1e-9)
    if name in KINKED:
        u = loss.multipliers(z + near * (2 * share - 1))
        assert (least <= u + 1e-12).all()
        assert (u <= largest + 1e-12).all()


@pytest.mark.parametrize("C", [1e-226, 1e-160])
def test_squares_that_underflow_are_in_the_dual_value(C):
    u = C * np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    for kind in (SquaredHinge, HuberizedHinge, lambda C: SquaredError(C, t), lambda C: HuberError(t, C=C)):
        assert kind(C).dual_value(u) == pytest.approx(C * kind(1.0).dual_value(u / C), rel=1e-12, abs=0.0)
