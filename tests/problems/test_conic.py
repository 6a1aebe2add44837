"""Conic bounds of functions given in cvxpy, against the conjugates that are known of them in closed form."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problem_cases import conic_of
from scipy.special import entr, rel_entr

from cvxens.problems import Formulation, Problem
from cvxens.problems import conic as conic_module
from cvxens.problems.cones import Cones
from cvxens.problems.conic import ConicFunction
from cvxens.problems.expressions import CONDITION, ExpressionLoss
from cvxens.problems.losses import Hinge, Logistic
from cvxens.problems.penalties import L1, SquaredL2
from cvxens.rounding import EPSILON

N = 6
y = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
HALF = np.arange(N) < 3
shares = arrays(float, N, elements=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)))
margins = arrays(float, N, elements=st.floats(-3, 3))


ROUNDED = 1e-14
"""What sums of multipliers, which are floats, may be off from a cap or a total."""


def on_box(u, value, cap=1.0):
    return value if u.min() >= 0 and u.max() <= cap + ROUNDED else -np.inf


def on_simplex(u, value, cap=1.0):
    return on_box(u, value, cap) if abs(u.sum() - 1) <= ROUNDED else -np.inf


FUNCTIONS = {
    "hinge": (lambda z: cp.sum(cp.pos(1 - z)), lambda u: on_box(u, u.sum())),
    "logistic": (
        lambda z: cp.sum(cp.logistic(-z)),
        lambda u: on_box(u, entr(u).sum() + entr(np.maximum(1 - u, 0)).sum()),
    ),
    "squared hinge": (lambda z: cp.sum_squares(cp.pos(1 - z)) / 2, lambda u: on_box(u, u.sum() - u @ u / 2, np.inf)),
    "Huberised": (lambda z: cp.sum(cp.huber(cp.pos(1 - z), 0.5)), lambda u: on_box(u, u.sum() - u @ u / 4)),
    "exponential": (lambda z: cp.sum(cp.exp(-z)), lambda u: on_box(u, entr(u).sum() + u.sum(), np.inf)),
    "log-sum-exp": (lambda z: cp.log_sum_exp(-z), lambda u: on_simplex(u, entr(u).sum())),
    "CVaR": (lambda z: cp.sum_largest(-z, 2) / 2, lambda u: on_simplex(u, 0.0, 0.5)),
    "norm of slacks": (
        lambda z: cp.norm2(cp.pos(1 - z)),
        lambda u: u.sum() if u.min() >= 0 and np.linalg.norm(u) <= 1 + ROUNDED else -np.inf,
    ),
    "power 1.5": (
        lambda z: cp.sum(cp.power(cp.pos(1 - z), 1.5, approx=False)) / 1.5,
        lambda u: on_box(u, u.sum() - (u**3).sum() / 3, np.inf),
    ),
    "spectral": (
        lambda z: cp.lambda_max(cp.diag(-z[:3])) + cp.sum(cp.pos(1 - z[3:])),
        lambda u: on_box(u, u[3:].sum()) if abs(u[:3].sum() - 1) <= ROUNDED else -np.inf,
    ),
}
functions = pytest.mark.parametrize("name", FUNCTIONS)


def bound_of(conic, u, y=None):
    """Return multipliers near u, a bound at them, and what rounding may do to that."""
    proof = conic.prove(u, y)
    rounding = 4 * EPSILON * (abs(proof.bound) + abs(conic.form.offset)) if np.isfinite(proof.bound) else 0.0
    return proof.u, proof.bound, rounding


def make(name):
    return conic_of(FUNCTIONS[name][0], (N,))


def inside(name, share):
    """Multipliers in the domain of the conjugate, its border included."""
    if name in {"log-sum-exp", "CVaR"}:
        assume(share.sum() > 0.1)
        u = share / share.sum()
        return u if name == "log-sum-exp" else np.full(N, 1 / N) + (u - 1 / N) / 3
    if name == "norm of slacks":
        return share / max(1.0, np.linalg.norm(share))
    if name == "spectral":
        assume(share[:3].sum() > 0.1)
        return np.concatenate([share[:3] / share[:3].sum(), share[3:]])
    return share


@functions
@settings(max_examples=15)
@given(share=shares)
# where the solver first ends with fewer digits than it is asked for
@example(
    share=np.array([0.3676129766955708, 0.0, 3.507661249575353e-05, 1.0, 0.3014981368667159, 5.329163629159979e-08])
)
@example(share=np.array([0.08799425840450004, 1.0, 0.0, 0.0, 1.0, 0.0]))
def test_bounds_are_the_conjugate_where_it_is_finite(name, share):
    conic, (_, conjugate) = make(name), FUNCTIONS[name]
    given_u = inside(name, share)
    u, bound, rounding = bound_of(conic, given_u)
    assert np.abs(u - given_u).max() < 1e-6
    exact = conjugate(u)
    assert np.isfinite(exact)
    assert bound == pytest.approx(exact, abs=(1e-7 if u.any() else 1e-6) * max(1.0, np.abs(exact)))
    assert bound <= exact + rounding + 1e-15
    assert conic.dual_value(u) == bound


@functions
@settings(max_examples=8)
@given(u=shares, balanced=st.booleans(), scale=st.sampled_from([0.3, 1.0, 20.0]))
def test_any_multipliers_are_moved_to_where_the_bound_holds_at_every_margin(name, u, balanced, scale):
    conic, (express, _) = make(name), FUNCTIONS[name]
    moved, bound, rounding = bound_of(conic, scale * u, y if balanced else None)
    assert np.isfinite(bound)
    assert not balanced or float((y * moved).sum()) == 0
    rng = np.random.default_rng(0)
    for z in (*rng.normal(scale=3, size=(20, N)), np.zeros(N), np.ones(N)):
        value = float(express(cp.Constant(z)).value)
        assert value + moved @ z >= bound - rounding - 1e-14 * (abs(value) + np.abs(moved) @ np.abs(z))


@functions
@settings(max_examples=8)
@given(z=margins, share=st.floats(0, 1))
@example(z=np.array([-1.0, 0.875, -3.0, 2.0, 0.25, 2.0]), share=0.0)
def test_minus_a_subgradient_has_a_bound_that_meets_the_value(name, z, share):
    conic, (express, _) = make(name), FUNCTIONS[name]
    value, u = float(express(cp.Constant(z)).value), conic.prove_at(z).u
    gap = value + u @ z - conic.dual_value(u)
    assert -1e-13 * max(1.0, abs(value)) <= gap <= 1e-7 * max(1.0, abs(value))
    # and u shrunk is on a segment of bounds, if the function has a least value
    at_share, off = conic.dual_value(share * u), conic.displacement(share * u)
    assert off <= 1e-7
    assert value + share * (u @ z) >= at_share - off * np.abs(z).max() - 1e-13 * max(1.0, abs(value))
    if name not in {"log-sum-exp", "CVaR", "spectral"}:
        assert at_share >= share * conic.dual_value(u) - 1e-6


@functions
@settings(max_examples=6)
@given(u=shares, balanced=st.booleans(), far=st.sampled_from([1.0, 1e4, 1e8]))
def test_a_strict_bound_rests_on_the_size_of_no_variable(name, u, balanced, far):
    """It holds at margins of any size, up to what the slack of its multipliers makes of them."""
    assume(u.any())
    conic, (express, _) = make(name), FUNCTIONS[name]
    proof = conic.prove(1.3 * u, y if balanced else None)
    # at some corners of its domain no u is verified
    assume(proof.strict)
    assert proof.slack == conic.displacement(proof.u) <= 1e-12 * max(1.0, np.abs(proof.u).sum())
    rng = np.random.default_rng(0)
    for z in (*far * rng.normal(size=(10, N)), far * np.ones(N), far * y, far * proof.v):
        with np.errstate(over="ignore"):
            value = float(express(cp.Constant(z)).value)
        if value == np.inf:
            continue
        rounding = 1e-14 * (abs(value) + np.abs(proof.u) @ np.abs(z) + abs(proof.bound))
        assert value + proof.u @ z >= proof.bound - proof.slack * np.abs(z).max() - rounding


@functions
def test_the_shares_of_strict_proofs_are_strict(name):
    conic = make(name)
    proof = conic.prove_at(np.linspace(-0.5, 1.2, N))
    assert proof.strict
    if name not in {"log-sum-exp", "CVaR", "spectral"}:
        assert conic.is_strict(0.5 * proof.u)
        assert proof.slack / 2 <= conic.displacement(0.5 * proof.u) < 1e-7


def test_what_is_not_verified_says_what_it_rests_on():
    """Two variables of the loss whose columns differ by rounding: no float tells whether they are one."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=N)
    columns = np.column_stack([a, a * (1 + 4e-16 * rng.integers(-2, 3, N))])
    own = cp.Variable(2)
    loss = ExpressionLoss(lambda z: FUNCTIONS["hinge"][0](z + columns @ own) + 0.1 * cp.sum_squares(z))
    u = loss.multipliers(np.linspace(-0.5, 1.2, N))
    assert loss.condition(u) == CONDITION
    formulation = Formulation(loss, L1(0.5))
    certificate = Problem(formulation, np.column_stack([y, a]), y).certify(w=np.ones(2), u=u)
    assert np.isfinite(certificate.dual)
    assert certificate.condition == CONDITION
    assert not certificate.proven
    assert not certificate.holds(np.inf)
    loss = ExpressionLoss(FUNCTIONS["hinge"][0])
    assert loss.condition(loss.multipliers(np.linspace(-0.5, 1.2, N))) == ""


@pytest.mark.parametrize("missed", [1e-3, -1e-3])
def test_what_multipliers_miss_of_the_equality_is_made_good(monkeypatch, missed):
    """With multipliers off by a thousandth the bound is off by as much, and it is taken off."""
    monkeypatch.setattr(conic_module, "REFINEMENTS", 0)
    conic, (express, _) = make("hinge"), FUNCTIONS["hinge"]
    # at margins below the kink the multipliers are 1 and those of t >= 0 are 0
    form, dual = conic.form, conic.dual()
    at = form.b - form.A[:, form.rows] @ (-2 * np.ones(N))
    found = conic_module.solve_cones(dual.B, at, dual.target, form.cones)
    proof = dual.prove((1 + missed) * found.dual, np.zeros(len(form.c)))
    assert proof.strict
    assert proof.charge > 1e-4
    for z in (np.zeros(N), np.ones(N), -np.ones(N), y, -3 * y, np.linspace(-2, 2, N)):
        value = float(express(cp.Constant(z)).value)
        assert value + proof.u.ravel() @ z >= proof.bound - proof.slack * np.abs(z).max() - 1e-13


@functions
def test_the_best_shift_balances(name):
    conic, (express, _) = make(name), FUNCTIONS[name]
    z = np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.9])
    b = conic.best_shift(z, y)
    b_star = cp.Variable()
    optimum = cp.Problem(cp.Minimize(express(z + y * b_star))).solve(solver="CLARABEL")
    assert float(express(cp.Constant(z + y * b)).value) == pytest.approx(optimum, abs=1e-6)
    u = conic.prove_at(z + y * b).u
    assert float(y @ u) == 0
    assert conic.dual_value(u) == pytest.approx(optimum + u @ z, abs=1e-6)


def equal_means(z):
    return [cp.sum(z[HALF]) == cp.sum(z[~HALF]), cp.norm(z, "inf") <= 1.5]


@settings(max_examples=10)
@given(u=shares, balanced=st.booleans())
def test_a_bound_under_constraints_is_the_constrained_minimum(u, balanced):
    conic = conic_of(FUNCTIONS["logistic"][0], (N,), equal_means)
    moved, bound, rounding = bound_of(conic, 1.7 * u, y if balanced else None)
    z = cp.Variable(N)
    least = cp.Problem(cp.Minimize(cp.sum(cp.logistic(-z)) + moved @ z), equal_means(z))
    optimum = least.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert bound - rounding <= optimum + 1e-8
    assert bound == pytest.approx(optimum, abs=1e-6)


TWO = np.array([[1.0, -1.0, 0, 0, 0, 0], [0, 0, 1.0, 1.0, 0, 0]]) / 3
IDLE = {
    "logistic": lambda z: cp.max(TWO[1:] @ cp.logistic(-z)),
    "square": lambda z: cp.max(np.abs(TWO) @ cp.square(z - 1)),
    "power": lambda z: cp.max(np.abs(TWO) @ cp.power(cp.pos(1 - z), 1.5, approx=False)),
    "exponential": lambda z: cp.max(np.abs(TWO) @ cp.exp(-z)),
    # a shift along y changes the sum of the first two alone
    "hinges of sums": lambda z: cp.sum(cp.pos(1 - TWO @ z)),
}


@pytest.mark.parametrize("name", IDLE)
@settings(max_examples=5)
@given(z=margins)
def test_what_a_function_has_that_costs_nothing_leaves_its_bounds_strict(name, z):
    """Samples that no row takes part of, and sums that a shift along the signs raises for ever."""
    express = IDLE[name]
    conic, value = conic_of(express, (N,)), float(express(cp.Constant(z)).value)
    proof = conic.prove_at(z)
    assert proof.strict
    assert proof.bound == pytest.approx(value + proof.u @ z, abs=1e-6)
    balanced = conic.prove(proof.u, y)
    assert balanced.strict
    assert float(y @ balanced.u) == 0
    shift = cp.Variable()
    least = cp.Problem(cp.Minimize(express(z + y * shift))).solve(solver="CLARABEL")
    assert balanced.bound <= least + balanced.u @ z + 1e-6


def test_own_variables_are_minimised_over():
    slack, level = cp.Variable(N, nonneg=True), cp.Variable()
    conic = conic_of(lambda z: cp.sum(slack) + level**2, (N,), lambda z: [slack >= 1 + level - z])
    z = np.array([0.5, 2.0, -1.0, 0.0, 0.3, 1.5])
    # min over l of sum max(0, 1 + l - z_i) + l^2
    least = cp.Variable()
    optimum = cp.Problem(cp.Minimize(cp.sum(cp.pos(1 + least - z)) + least**2)).solve(solver="CLARABEL")
    u = conic.prove_at(z).u
    assert optimum + u @ z == pytest.approx(conic.dual_value(u), abs=1e-6)


def test_several_outputs_are_balanced_one_by_one():
    ones, rng = np.ones((N, 1)), np.random.default_rng(0)
    conic = conic_of(lambda Z: cp.sum(cp.norm(Z - 1, 2, axis=1)), (N, 3))
    U = rng.normal(size=(N, 3)) / 3
    moved, bound, _ = bound_of(conic, U, ones)
    np.testing.assert_array_equal(moved.sum(axis=0), np.zeros(3))
    assert np.linalg.norm(moved, axis=1).max() <= 1 + 1e-15
    # the conjugate of |z - 1| is the sum of u on |u| <= 1
    assert bound == pytest.approx(float(moved.sum()), abs=1e-9)


def test_terms_of_losses_agree_with_their_conjugates():
    rng = np.random.default_rng(1)
    for loss in (Hinge(0.7), Logistic(0.7)):
        conic = ConicFunction.from_term(loss.model, (N,))
        u, bound, _ = bound_of(conic, 0.7 * rng.random(N), y)
        assert bound == pytest.approx(loss.dual_value(u), rel=1e-9)


def test_functions_without_a_least_value_have_no_bound_at_shrunk_multipliers():
    conic = conic_of(lambda z: -cp.sum(z), (N,))
    assert conic.dual_value(np.ones(N)) == pytest.approx(0.0, abs=1e-8)
    assert conic.dual_value(np.full(N, 0.5)) == -np.inf
    assert conic.dual_value(np.zeros(N)) == -np.inf


def test_margins_that_the_expression_does_without_have_multipliers_of_zero():
    conic = conic_of(lambda z: cp.sum(cp.pos(1 - z[:2])), (N,))
    u, bound, _ = bound_of(conic, np.full(N, 0.5))
    np.testing.assert_allclose(u, [0.5, 0.5, 0, 0, 0, 0], atol=1e-6)
    assert bound == pytest.approx(1.0, abs=1e-6)


DUALS = {
    "nonnegative": Cones(nonnegative=3),
    "second order": Cones(second_order=(3, 1, 4)),
    "semidefinite": Cones(semidefinite=(2, 3)),
    "exponential": Cones(exponential=3),
    "power": Cones(power=(0.3, 0.5)),
    "general power": Cones(general_power=((0.2, 0.3, 0.5),)),
}


@pytest.mark.parametrize("kind", DUALS)
@settings(max_examples=30)
@given(data=st.data())
def test_what_surrounds_a_vector_of_a_dual_cone_is_in_it(kind, data):
    cones = DUALS[kind]
    dual = data.draw(arrays(float, cones.n_rows, elements=st.floats(-1, 1)))
    dual = cones.enter(dual + cones.fill())
    errors = 10.0 ** data.draw(st.sampled_from([-16, -8, -1, 0])) * np.abs(
        data.draw(arrays(float, cones.n_rows, elements=st.floats(-1, 1)))
    )
    if cones.surround(dual, errors):
        rng = np.random.default_rng(0)
        for signs in (*rng.choice([-1.0, 1.0], (30, len(dual))), -np.ones(len(dual))):
            moved = dual + signs * errors
            assert cones.depths(moved).min() >= -4e-15 * np.abs(moved).max()
    else:
        assert errors.any()
    assert cones.surround(cones.fill(), np.full(len(dual), 1e-3))
    assert not cones.surround(cones.fill(), np.full(len(dual), 5.0))


@pytest.mark.parametrize("kind", DUALS)
@settings(max_examples=30)
@given(data=st.data())
def test_what_enters_a_dual_cone_is_inside_and_near(kind, data):
    cones = DUALS[kind]
    dual = data.draw(arrays(float, cones.n_rows, elements=st.floats(-3, 3)))
    entered = cones.enter(dual)
    assert cones.depths(entered).min() >= 0
    assert cones.depths(cones.fill()).min() > 0.1
    if cones.depths(dual).min() >= 0:
        np.testing.assert_array_equal(entered, dual)
    near = cones.enter(cones.fill() - 1e-9 * np.abs(dual))
    np.testing.assert_allclose(near, cones.fill() - 1e-9 * np.abs(dual), atol=1e-15)


@pytest.mark.parametrize("a", [-5e-324, -1e-311, -2.3e-308, -1e-300, -1e-16, -1.0])
@pytest.mark.parametrize("b", [-1e-3, -1e-311, 0.0, 1e-311, 1.0, 700.0, 1e300])
@pytest.mark.parametrize("c", [-1e-311, 0.0, 5e-324, 1e-200, 3.0, 1e9])
def test_numbers_that_overflow_or_vanish_enter_the_dual_exponential_cone_too(a, b, c):
    cone = Cones(exponential=1)
    entered = cone.enter(np.array([a, b, c]))
    assert np.isfinite(entered).all()
    assert cone.depths(entered).min() >= 0
    # with a < 0 it has no point with c <= 0, however small exp(b / a - 1) is
    assert entered[2] > 0
    assert cone.depths(np.array([a, abs(b), 0.0])).min() < 0


@settings(max_examples=30)
@given(data=st.data())
def test_the_dual_exponential_cone_is_that_of_the_relative_entropy(data):
    """(a, b, c) is in it if and only if a x + b y + c z >= 0 for all y exp(x / y) <= z, such as those with y = 1."""
    a, b, c = data.draw(st.tuples(st.floats(-3, -0.01), st.floats(-3, 3), st.floats(0.01, 3)))
    # min over x of a x + b + c exp(x), where c exp(x) = -a
    least = b - a - rel_entr(-a, c)
    depth = Cones(exponential=1).depths(np.array([a, b, c]))[0]
    assert (depth >= 0) == (least >= 0) or abs(least) < 1e-12


def test_products_of_cones_are_taken_apart_in_the_order_of_the_solvers():
    cones = Cones(1, 2, (3,), (2,), 1, (0.5,), ((0.2, 0.8),))
    assert cones.n_rows == 1 + 2 + 3 + 3 + 3 + 3 + 3
    depths = cones.depths(cones.fill())
    assert depths[0] == np.inf
    assert (depths[1:] > 0).all()
    outside = cones.fill().copy()
    outside[7] = 5.0
    assert (cones.depths(outside) < 0).nonzero()[0].tolist() == [6, 7, 8]
    assert len(cones.for_clarabel()) == 7


class Displaced(Hinge):
    """A hinge loss whose bounds hold at multipliers that differ from the given ones by 1e-3 in sum."""

    def displacement(self, u):
        return 1e-3


@pytest.mark.parametrize("penalty", [L1(1.0), SquaredL2(1.0)], ids=["l1", "l2"])
def test_a_dual_value_counts_what_displaced_multipliers_make_of_edges(penalty):
    random = np.random.default_rng(0)
    H, y = random.choice([-1.0, 1.0], (12, 5)), np.where(np.arange(12) % 2, 1.0, -1.0)
    point = {"w": np.full(5, 0.1), "u": np.full(12, 0.5) + 0.05 * random.random(12)}
    plain, displaced = (Problem(Formulation(loss(1.0), penalty), H, y) for loss in (Hinge, Displaced))
    at, moved = plain.evaluate(point), displaced.evaluate(point)
    # an edge may be larger by 1e-3 max |H_ij|, so that the bound is less by as much as that takes off it
    edges = np.abs(at.edges)
    if isinstance(penalty, L1):
        least = at.dual * (1 - 1 / (1 + 0.99e-3)) if edges.max() > 0.999 else 0.0
    else:
        least = 0.99e-3 * edges.sum()
    assert least > 1e-4
    assert moved.rounding >= least > 100 * at.rounding
    assert moved.dual == at.dual
