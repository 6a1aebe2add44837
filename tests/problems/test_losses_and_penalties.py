"""Each loss and penalty against its conjugate by a numerical supremum, and against its cvxpy expression."""

from decimal import Decimal, localcontext

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cvxens.problems.duality import Edges
from cvxens.problems.losses import (
    EntropicMinimumMargin,
    Exponential,
    HardMargin,
    Hinge,
    Logistic,
    SoftMinimumMargin,
    SquaredError,
    SquaredHinge,
)
from cvxens.problems.penalties import L1, ElasticNet, Simplex, SquaredL2

C, N = 0.4, 6
y = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
TARGETS = np.array([[1.0], [-1.0], [1.0], [1.0], [-1.0], [-1.0]])
margins = arrays(float, N, elements=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-5, 5)))
shares = arrays(float, N, elements=st.floats(0, 1))


@pytest.mark.parametrize(
    ("loss", "multiplier"),
    [
        (Exponential(C), lambda z: C * np.exp(-z)),
        (Logistic(C), lambda z: C / (1 + np.exp(z))),
        (SquaredHinge(C), lambda z: C * np.maximum(1 - z, 0)),
    ],
)
@settings(deadline=None, max_examples=20)
@given(z=margins)
def test_smooth_losses_compare_multipliers_with_minus_the_derivative(loss, multiplier, z):
    u = multiplier(z)
    assert loss.slackness(z, u) < 1e-12
    if u.max() > 0:
        assert loss.slackness(z, u + 0.3) == pytest.approx(0.3 / u.max())


@settings(deadline=None, max_examples=20)
@given(z=margins, share=shares)
def test_the_hinge_allows_any_multiplier_at_its_kink_only(z, share):
    loss = Hinge(C)
    u = np.where(z < 1, C, np.where(z > 1, 0.0, C * share))
    assert loss.slackness(z, u) == 0
    assert loss.slackness(z, C - u) == pytest.approx(np.abs(z - 1).max(), rel=1e-9)


@settings(deadline=None, max_examples=60)
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
    np.testing.assert_array_equal(loss.repair(np.array([2.0, -1.0]), None), [2.0, 0.0])
    f = np.array([3.0, 1.0])
    assert (np.array([1.0, -1.0]) * (f + loss.best_intercept(f, np.array([1.0, -1.0])))).min() == 1.0


def test_the_squared_error_has_its_conjugate():
    loss = SquaredError(C, TARGETS)
    random = np.random.default_rng(0)
    z, U = random.normal(size=(N, 1)), random.normal(size=(N, 1))
    assert loss.value(z) == pytest.approx(C / 2 * sum((TARGETS[i, 0] - z[i, 0]) ** 2 for i in range(N)))
    best = TARGETS - U / C
    assert loss.dual_value(U) == pytest.approx(loss.value(best) + (U * best).sum())
    assert loss.dual_value(U) <= loss.value(z) + (U * z).sum()
    assert loss.slackness(best, U) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(loss.repair(U, np.ones((N, 1))).sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(loss.best_intercept(z, np.ones((N, 1))), (TARGETS - z).mean(axis=0))
    np.testing.assert_array_equal(loss.multipliers(z), C * (TARGETS - z))


PENALTIES = {
    "l1": (L1(0.7), lambda w: 0.7 * np.abs(w).sum()),
    "squared l2": (SquaredL2(0.7), lambda w: 0.35 * (w**2).sum()),
    "elastic net": (ElasticNet(0.7, 0.4), lambda w: 0.7 * np.abs(w).sum() + 0.2 * (w**2).sum()),
}


@pytest.mark.parametrize("name", PENALTIES)
@settings(deadline=None, max_examples=30)
@given(w=margins, edges=margins, nonnegative=st.booleans())
def test_penalties_and_their_conjugates(name, w, edges, nonnegative):
    penalty, plain = PENALTIES[name]
    w = np.abs(w) if nonnegative else w
    counted = np.maximum(edges, 0) if nonnegative else np.abs(edges)
    summary = Edges(float(counted.max()), float((counted**2).sum()))
    assert penalty.value(w) == pytest.approx(plain(w))
    share = penalty.shrink(summary)
    assert 0 < share <= 1
    feasible = Edges(share * summary.bound, share**2 * summary.square_sum)
    assert penalty.pricing_slack(share * edges if nonnegative else share * np.abs(edges)) < 1e-12
    assert penalty.value(w) + penalty.conjugate(feasible) >= share * edges @ w - 1e-9


def test_an_intercept_that_is_not_unique_is_halfway():
    """Between the scores from which every positive and up to which every negative sample costs nothing."""
    y = np.array([1.0, -1.0, 1.0])
    assert Hinge(1.0).best_intercept(np.array([3.0, -3.0, 4.0]), y) == 0.0
    assert Hinge(1.0).best_intercept(np.array([5.0, -3.0, 6.0]), y) == -1.0


@pytest.mark.parametrize("loss", [SoftMinimumMargin(1.0), EntropicMinimumMargin(1.0, 5.0)], ids=["linear", "entropic"])
def test_multipliers_off_the_simplex_are_dual_infeasible_by_what_their_sum_lacks(loss):
    assert loss.violation(np.array([0.5, 0.25])) == 0.25
    assert loss.violation(np.array([0.75, 0.5])) == 0.25
    assert loss.violation(np.array([0.5, 0.5])) == 0.0


@settings(deadline=None, max_examples=50)
@given(edges=margins, n_inside=st.integers(0, 3), l1=st.floats(0.1, 2.0), l2=st.floats(0.1, 2.0))
def test_an_elastic_net_takes_off_what_edges_inside_exceed_once_those_outside_are_feasible(edges, n_inside, l1, l2):
    """The conjugate at the shrunken edges of all hypotheses, those outside included."""
    sizes = np.abs(edges)
    inside, outside = sizes[:n_inside], sizes[n_inside:]
    largest = float(outside.max(initial=0.0))
    summary = Edges(float(sizes.max()), float((sizes**2).sum()), lambda: inside, largest)
    share = l1 / max(l1, largest)
    penalty = ElasticNet(l1, l2)
    assert penalty.shrink(summary) == pytest.approx(share)
    expected = (np.maximum(share * sizes - l1 * (1 + 1e-12), 0) ** 2).sum() / (2 * l2)
    assert penalty.conjugate(summary) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(w=margins, edges=margins)
def test_the_simplex_has_the_largest_edge_as_its_conjugate(w, edges):
    penalty = Simplex()
    a = penalty.repair(w)
    assert a.min() >= 0
    assert a.sum() == pytest.approx(1)
    assert penalty.primal_violation(a) < 1e-12
    summary = Edges(float(edges.max()), 0.0)
    assert penalty.value(a) + penalty.conjugate(summary) >= edges @ a - 1e-12
    best = np.eye(N)[edges.argmax()]
    assert penalty.conjugate(summary) == edges @ best
    assert penalty.stationarity(best, edges) == 0
    assert penalty.stationarity(a, edges) == pytest.approx(max(a * (edges.max() - edges)))


@pytest.mark.parametrize("nonnegative", [True, False])
def test_modelled_penalties_are_the_evaluated_ones(nonnegative):
    w = np.array([0.2, 0.3, 0.5]) if nonnegative else np.array([0.2, -0.3, 1.1])
    for penalty in (L1(0.7), SquaredL2(0.7), ElasticNet(0.7, 0.4), Simplex()):
        variable = cp.Variable(3, nonneg=nonnegative)
        term = penalty.model(variable)
        problem = cp.Problem(cp.Minimize(term.expression), [variable == w, *term.constraints])
        problem.solve(solver="CLARABEL")
        assert problem.value == pytest.approx(penalty.value(w), abs=1e-7)
    assert Simplex().primal_violation(np.array([0.2, -0.3, 1.2])) == pytest.approx(0.3)


@pytest.mark.parametrize("share", [1e-18, 3e-16, 1e-12, 1e-7, 0.3, 1 - 1e-9, 1 - 2e-16, 1.0])
@pytest.mark.parametrize("price", [1e-4, 1e3])
def test_entropies_of_shares_near_0_and_1_keep_their_digits(share, price):
    """What rounding does to them is below what is counted: prices may be 1e7 apart, and then the rest is small."""
    u = price * share
    with localcontext() as context:
        context.prec = 60
        p = Decimal(u) / Decimal(price)
        terms = [q * q.ln() for q in (p, 1 - p) if q > 0]
        true = -Decimal(price) * sum(terms)
        found = Logistic(np.array([price]))
        off = abs(Decimal(found.dual_value(np.array([u]))) - true)
        assert off <= Decimal(found.dual_rounding(np.array([u])))
        if share < 0.5:
            assert off <= Decimal("1e-15") * true
