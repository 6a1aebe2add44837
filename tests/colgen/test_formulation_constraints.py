"""Constraints on the margins, and losses with variables of their own: the same optima as over all columns at once."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, assert_over_all, noisy, solve_all
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.colgen import Ending, Formulation, column_generation
from cvxens.colgen.masters import (
    ConicMaster,
    CvxpyMaster,
    HighsMaster,
    InteriorPointMaster,
    NewtonMaster,
    fastest_master,
)
from cvxens.colgen.oracles import Stumps
from cvxens.errors import Infeasible, InvalidInput, SolverFailed
from cvxens.problems.expressions import ConstrainedLoss, ExpressionLoss
from cvxens.problems.losses import Hinge, Logistic, SquaredHinge
from cvxens.problems.penalties import L1, Simplex, SquaredL2

pytestmark = pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")

X, y = noisy(14)
H = all_stumps(X)
N = len(y)
GROUP = np.arange(N) % 3 == 0
TIGHT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}

CONSTRAINTS = {
    "none": lambda z: [],
    "one margin": lambda z: [z[0] == 0.3],
    "equal means": lambda z: [cp.sum(z[GROUP]) / GROUP.sum() == cp.sum(z[~GROUP]) / (~GROUP).sum()],
    "similar means": lambda z: [cp.abs(cp.sum(z[GROUP]) / GROUP.sum() - cp.sum(z[~GROUP]) / (~GROUP).sum()) <= 0.05],
    "bounded": lambda z: [cp.norm(z, "inf") <= 0.7, z[1] <= 0.2],
}
EXPONENTIAL = lambda z: cp.sum(cp.exp(-z))  # noqa: E731
LOSSES = {
    "hinge": (Hinge(0.7), lambda z: 0.7 * cp.sum(cp.pos(1 - z))),
    "logistic": (Logistic(0.7), lambda z: 0.7 * cp.sum(cp.logistic(-z))),
    "squared hinge": (SquaredHinge(0.7), lambda z: 0.35 * cp.sum_squares(cp.pos(1 - z))),
    "exponential": (EXPONENTIAL, EXPONENTIAL),
}
PENALTIES = {"l1": (L1(0.8), lambda w: 0.8 * cp.norm1(w)), "l2": (SquaredL2(0.8), lambda w: 0.4 * cp.sum_squares(w))}
FAR = {
    "margins": lambda z: [z >= 0.1],
    "some margins": lambda z: [z[:2] >= 0.5, z[2:4] >= 0.4],
    "equalities": lambda z: [z[0] - z[1] == 0.3, z[0] + z[1] == 2],
}
"""What no constant score satisfies: a phase 1 reaches it."""


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("loss", "penalty", "held"),
    [
        *((*pair, h) for h in CONSTRAINTS for pair in (("hinge", "l1"), ("logistic", "l1"), ("squared hinge", "l2"))),
        *((*pair, h) for h in FAR for pair in (("hinge", "l1"), ("exponential", "l2"))),
    ],
)
def test_column_generation_reaches_the_constrained_optimum(loss, penalty, held):
    constraints, (on_w, expression) = (CONSTRAINTS | FAR)[held], PENALTIES[penalty]
    optimum = solve_all(H, y, LOSSES[loss][1], expression, intercept=True, constraints=constraints, tol=1e-9)
    for on_z in dict.fromkeys(LOSSES[loss]):
        formulation = Formulation(on_z, on_w, intercept=True, constraints=constraints)
        run = assert_optimum(column_generation(formulation, Stumps(X), y, tol=1e-7), optimum, gap=1e-7)
        assert run.ending is Ending.OPTIMAL
        assert (run.history[0].objective == np.inf) == (held in FAR)
        if held in CONSTRAINTS:
            assert run.certificate.residuals["primal feasibility"] < 1e-8
            assert all(np.isfinite(row.bound) for row in run.history)


def test_a_constrained_formulation_has_the_master_that_takes_everything():
    signs = y
    for penalty in (L1(0.8), SquaredL2(0.8)):
        plain = Formulation(Hinge(0.7), penalty, intercept=True)
        held = Formulation(Hinge(0.7), penalty, intercept=True, constraints=CONSTRAINTS["bounded"])
        assert isinstance(fastest_master(held, signs), ConicMaster)
        assert not isinstance(fastest_master(plain, signs), (ConicMaster, CvxpyMaster))
        assert not any(master.supports(held) for master in (HighsMaster, NewtonMaster, InteriorPointMaster))
        assert plain.has_conjugate
        assert held.has_conjugate
        assert "conic" in held.basis
    assert str(held) == "ConstrainedLoss + SquaredL2 with free w and an intercept"


@pytest.mark.parametrize(
    "constraints",
    [
        [],
        lambda z: z,
        lambda z: [True],
        lambda z: z[0] <= 1,
        lambda z: [cp.sqrt(cp.abs(z)) <= 1],
        lambda z: [cp.sum_squares(z) == 1],
        lambda z: None,
    ],
)
def test_what_is_no_list_of_convex_constraints_is_named(constraints):
    formulation = Formulation(Hinge(1.0), L1(), constraints=constraints)
    with pytest.raises(InvalidInput, match=r"^constraints: found .* to a list"):
        column_generation(formulation, Stumps(X), y)


@pytest.mark.thinned(2, intercept=[False, True], penalty=[L1(0.8), SquaredL2(1.0), Simplex()])
@pytest.mark.parametrize(
    "held",
    [lambda z: [z >= 0.1], lambda z: [z[0] >= 1, z[0] <= 0.5], lambda z: [z[0] == 1, z[1] == 1]],
    ids=["equal samples of two classes", "no margins at all", "equalities"],
)
def test_constraints_that_no_weights_satisfy_end_with_a_proof(held, penalty, intercept):
    twice, labels = np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    formulation = Formulation(Hinge(1.0), penalty, intercept=intercept, nonnegative=True, constraints=held)
    with pytest.raises(Infeasible, match="no weights satisfy the constraints") as caught:
        column_generation(formulation, Stumps(twice), labels)
    proof, stumps = caught.value, all_stumps(twice)
    # where no margins at all satisfy them multipliers of 0 may do
    assert np.abs(proof.farkas).sum() == pytest.approx(float(proof.farkas.any()))
    assert not intercept or abs(labels @ proof.farkas) < 1e-15
    edges = np.abs(stumps.T @ (labels * proof.farkas))
    assert edges.max(initial=0.0) <= proof.max_edge + 1e-15
    assert proof.max_edge * 1e6 < proof.least or (isinstance(penalty, Simplex) and proof.max_edge < proof.least)
    # what the multipliers ask for is what the constraints do
    z = cp.Variable(4)
    least = cp.Problem(cp.Minimize(proof.farkas @ z), held(z)).solve(solver="CLARABEL")
    assert proof.least <= least + 1e-6
    assert pickle.loads(pickle.dumps(proof)).least == proof.least


def test_other_failures_at_the_start_are_what_the_solvers_said():
    unbounded = Formulation(lambda z: -2 * z[0] - z[1], L1(), intercept=True, constraints=lambda z: [z[2] <= 5])
    with pytest.raises(SolverFailed, match="unbounded"):
        column_generation(unbounded, Stumps(X), y)


margins = st.lists(st.floats(-0.6, 0.15), min_size=N, max_size=N).map(np.array)


@settings(max_examples=5)
@given(z=margins)
def test_a_constrained_loss_is_the_loss_where_it_is_feasible(z):
    for loss in (Hinge(0.7), Logistic(0.7), SquaredHinge(0.7)):
        constrained = ConstrainedLoss(loss, CONSTRAINTS["bounded"])
        assert constrained.value(z) == loss.value(z)
        assert constrained.value(z + 2) == np.inf
        # a constraint can only raise the least of loss(z) + u'z
        u = loss.multipliers(z)
        assert constrained.dual_value(u) >= loss.dual_value(u) * (1 - 1e-6)
        assert constrained.slackness(z, constrained.multipliers(z)) < 1e-7
        assert constrained.shortfall(z, u) == 0
        assert constrained.batch_shape == ()


def test_multipliers_of_a_constraint_are_no_violation_of_slackness():
    z = np.full(N, 0.7)
    z[1] = 0.2
    held, slopes = ConstrainedLoss(Logistic(0.7), CONSTRAINTS["bounded"]), Logistic(0.7).multipliers(z)
    for u in (slopes, slopes - 0.1):
        assert held.slackness(z, u) < 1e-7
    assert held.slackness(z, slopes + 0.1) > 0.01
    assert ExpressionLoss(LOSSES["logistic"][1]).slackness(z, 0.5 * slopes) > 0.01
    assert held.slackness(np.zeros(N), 0.2 * held.multipliers(np.zeros(N))) > 0.01
    # beyond the constraint by more than rounding there is no value
    assert held.value(z + 9e-12) == np.inf
    assert held.value(z + 2e-13) == Logistic(0.7).value(z + 2e-13)


def capped_entropy(eta, D):
    """ERLPBoost's loss: its conjugate is KL(u, 1/n) / eta on the capped simplex."""

    def loss(z):
        xi = cp.Variable(N, nonneg=True)
        return (cp.log_sum_exp(-eta * (z + xi)) - np.log(N)) / eta + D * cp.sum(xi)

    return loss


@pytest.mark.parametrize("D", [1.0, 0.2])
def test_a_loss_with_slacks_of_its_own_reaches_its_dual_optimum(D):
    """min over the capped simplex of the largest edge + KL(u, 1/n) / eta (Warmuth, Glocer & Vishwanathan 2008)."""
    eta, u, largest = 5.0, cp.Variable(N, nonneg=True), cp.Variable()
    edges = np.hstack([H, -H]).T @ np.diag(y) @ u
    divergence = cp.sum(cp.rel_entr(u, np.full(N, 1 / N)))
    dual = cp.Problem(cp.Minimize(largest + divergence / eta), [edges <= largest, cp.sum(u) == 1, u <= D])
    optimum = dual.solve(solver="CLARABEL", **TIGHT)
    formulation = Formulation(capped_entropy(eta, D), Simplex(), nonnegative=True, maximise=True)
    run = assert_optimum(column_generation(formulation, Stumps(X), y, tol=1e-7), optimum, gap=1e-7)
    assert run.u.max() < D + 1e-6
    assert run.u.sum() == pytest.approx(1.0, abs=1e-7)
    assert np.abs(run.u - u.value).max() < 1e-4


def test_a_loss_with_slacks_is_evaluated_at_the_best_of_them():
    slacks = ExpressionLoss(lambda z: 0.7 * cp.sum(cp.pos(1 - z - (xi := cp.Variable(N, nonneg=True))) + 2 * xi))
    z = np.linspace(-1.0, 2.0, N)
    assert slacks.value(z) == pytest.approx(Hinge(0.7).value(z), rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_multipliers_of_a_given_sum_are_proven_though_they_cannot_be_shrunk(seed):
    X, y = noisy(12, seed=seed)
    A = np.random.default_rng(seed).normal(size=(12, 12)) / 8
    assert_over_all(Formulation(lambda z: cp.lambda_max(A + A.T - cp.diag(z)), L1(0.4)), Stumps(X), y)
