"""Formulations of one's own from cvxpy expressions: the same optima as those of known terms, and proofs of losses."""

from dataclasses import dataclass
from math import inf

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, assert_over_all, noisy, solve_all
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen import Ending, Formulation, column_generation, formulations
from cvxens.colgen.oracles import SklearnLearner, Stumps
from cvxens.errors import SolverFailed
from cvxens.problems import Problem, simplex_codes
from cvxens.problems.duality import Edges
from cvxens.problems.expressions import ExpressionLoss, ExpressionPenalty
from cvxens.problems.losses import Exponential, Hinge, Logistic, Loss, Offset, SquaredError, SquaredHinge
from cvxens.problems.penalties import L1, SquaredL2

pytestmark = pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")

X, y = noisy(14)
H = all_stumps(X)
N = len(y)


@dataclass(frozen=True)
class Pair:
    """A loss or penalty as an expression, and the certified one that it equals."""

    expression: object
    certified: object


LOSSES = {
    "hinge": Pair(lambda z: 0.7 * cp.sum(cp.pos(1 - z)), Hinge(0.7)),
    "logistic": Pair(lambda z: 0.7 * cp.sum(cp.logistic(-z)), Logistic(0.7)),
    "squared hinge": Pair(lambda z: 0.35 * cp.sum_squares(cp.pos(1 - z)), SquaredHinge(0.7)),
    "exponential": Pair(lambda z: 0.3 * cp.sum(cp.exp(-z)), Exponential(0.3)),
}
PENALTIES = {
    "l1": Pair(lambda w: 0.8 * cp.norm1(w), L1(0.8)),
    "l2": Pair(lambda w: 0.4 * cp.sum_squares(w), SquaredL2(0.8)),
}


def elastic_net(w):
    return 0.6 * cp.norm1(w) + 0.3 * cp.sum_squares(w)


@pytest.mark.thinned(1, penalty=PENALTIES)
@pytest.mark.parametrize(("loss", "intercept"), [*((loss, True) for loss in LOSSES), ("hinge", False)])
def test_expressions_reach_the_optimum_of_what_is_certified(loss, penalty, intercept):
    optimum = solve_all(H, y, LOSSES[loss].expression, PENALTIES[penalty].expression, intercept=intercept, tol=1e-9)
    certified = Formulation(LOSSES[loss].certified, PENALTIES[penalty].certified, intercept=intercept)
    assert_optimum(column_generation(certified, Stumps(X), y, tol=1e-7), optimum)
    parts = LOSSES[loss], PENALTIES[penalty]
    for i, j in ((0, 0), (1, 0)):
        own = (parts[0].expression, parts[0].certified)[i], (parts[1].expression, parts[1].certified)[j]
        mixed = Formulation(*own, intercept=intercept)
        run = column_generation(mixed, Stumps(X), y, tol=1e-8)
        assert run.certificate.primal == pytest.approx(optimum, rel=1e-6)
        # what the penalties are is read from their expressions
        assert run.ending is Ending.OPTIMAL
        assert run.certificate.holds(1e-8)
        words = ["over every hypothesis of the oracle", "by conic multipliers", "repaired and checked"]
        assert run.certificate.note == ", ".join(words if i == 0 else words[:1])
        assert all(np.isfinite(row.bound) for row in run.history)
        assert max(run.certificate.residuals.values()) < 1e-6


def test_the_multiplier_is_minus_the_slope_of_the_loss():
    formulation = Formulation(LOSSES["logistic"].expression, elastic_net, intercept=True)
    run = column_generation(formulation, Stumps(X), y, tol=1e-8)
    z = y * run.decision_function(X)
    assert_allclose(run.u, 0.7 / (1 + np.exp(z)), atol=1e-5)
    assert abs(y @ run.u) < 1e-6
    assert np.abs(H.T @ (y * run.u)).max() < 0.6 + 0.6 * np.abs(run.weights).max() + 1e-6


def test_a_heuristic_oracle_does_not_make_an_expression_optimal():
    """Depth-1 trees by a greedy learner end where exact stumps would go on; nobody may call that the optimum."""
    formulation = Formulation(LOSSES["hinge"].expression, L1(0.8), intercept=True)
    greedy = column_generation(formulation, SklearnLearner(DecisionTreeClassifier(max_depth=1, random_state=0), X), y)
    exact = column_generation(formulation, Stumps(X), y)
    assert exact.certificate.proven
    assert greedy.certificate.primal >= exact.certificate.dual
    assert greedy.ending is not Ending.OPTIMAL
    assert not greedy.certificate.proven
    assert greedy.certificate.dual <= exact.certificate.dual


def test_a_maximum_is_reported_with_its_sign():
    plain = Formulation(LOSSES["logistic"].expression, L1(0.8))
    turned = Formulation(LOSSES["logistic"].expression, L1(0.8), maximise=True)
    least, largest = (column_generation(f, Stumps(X), y) for f in (plain, turned))
    assert largest.certificate.primal == -least.certificate.primal
    assert largest.certificate.dual == -least.certificate.dual
    assert largest.history[0].objective == -least.history[0].objective
    assert largest.certificate.gap == pytest.approx(least.certificate.gap, abs=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_penalties_that_are_expressions_in_weights_of_several_outputs(intercept):
    loss = SquaredError(0.3, simplex_codes(3)[np.arange(N) % 3])

    def elastic(W):
        return 0.05 * cp.sum(cp.abs(W)) + 0.5 * cp.sum_squares(W)

    run = assert_over_all(Formulation(loss, elastic, intercept=intercept, outputs=2), Stumps(X), tol=1e-7)
    assert run.weights.shape == (len(run.columns), 2)
    assert run.decision_function(X).shape == (N, 2)
    certified = column_generation(Formulation(loss, L1(0.05), intercept=intercept, outputs=2), Stumps(X), tol=1e-7)
    assert certified.certificate.holds(1e-6)


def test_parts_of_ones_own_are_known():
    class Own(Hinge):
        pass

    class Mine(L1):
        pass

    assert not Formulation(Hinge(1.0), L1()).holds_own_terms
    assert not Formulation(cp.sum, cp.norm1, constraints=lambda z: []).holds_own_terms
    assert Formulation(Own(1.0), L1()).holds_own_terms
    assert Formulation(Hinge(1.0), Mine()).holds_own_terms
    assert Formulation(Offset(Own(1.0), np.zeros(3)), L1()).holds_own_terms
    # what is read off an expression claims no more than that does, and is not held against its value over and over
    read = Formulation(lambda z: cp.sum_largest(cp.pos(1 - z), 2), L1()).read(np.array([1.0, -1.0, 1.0, -1.0]))
    assert isinstance(read.loss, Loss)
    assert not read.holds_own_terms


def test_an_unbounded_formulation_fails_with_what_the_solvers_said():
    with pytest.raises(SolverFailed, match="unbounded"):
        column_generation(Formulation(lambda z: -cp.sum(z), cp.norm1), Stumps(X), y)


def test_what_a_formulation_says_of_itself():
    assert str(formulations.svm(1.0)) == "Hinge + SquaredL2 with free w and an intercept"
    assert str(formulations.soft_margin(1.0)) == "Hinge + L1 with w >= 0 and no intercept"
    assert all(f.has_conjugate for f in (formulations.svm(1.0), formulations.lpboost(0.5), formulations.hard_margin()))
    assert formulations.lpboost(0.5).sense == -1.0
    assert "conic" in Formulation(cp.sum, L1()).basis
    assert formulations.svm(1.0).basis == ""
    assert Formulation(cp.sum, cp.norm1).has_conjugate
    assert not Formulation(Hinge(1.0), cp.norm_inf).has_conjugate
    assert formulations.simplex_least_squares(y, 1.0).outputs == 1


def test_a_formulation_on_columns_is_a_problem_that_certifies():
    problem = Problem(formulations.soft_margin(0.5), np.hstack([H, -H]), y)
    assert problem.certify(problem.solve()).holds(1e-6)


margins = st.lists(st.floats(-4, 4), min_size=4, max_size=4).map(np.array)


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=15)
@given(z=margins)
def test_an_expression_is_evaluated_as_it_is_stated(name, z):
    assert ExpressionLoss(LOSSES[name].expression).value(z) == pytest.approx(LOSSES[name].certified.value(z), rel=1e-12)
    for penalty in PENALTIES.values():
        assert ExpressionPenalty(penalty.expression).value(z) == pytest.approx(penalty.certified.value(z), rel=1e-12)


def test_residuals_of_expressions():
    loss, z = ExpressionLoss(LOSSES["logistic"].expression), np.array([-1.0, 0.0, 0.5, 2.0])
    u = 0.7 / (1 + np.exp(z))
    assert_allclose(loss.multipliers(z), u, atol=1e-5)
    assert loss.slackness(z, u) < 1e-6
    assert loss.slackness(z, 1.5 * u) > 0.01
    assert loss.slackness(z, u / 2) > 0.01
    assert loss.dual_value(u) == pytest.approx(LOSSES["logistic"].certified.dual_value(u), rel=1e-6)
    assert (loss.dual_value(-u), loss.rescaling(z)) == (-inf, 1.0)
    assert loss.violation(u) < 1e-6
    assert loss.violation(-u) == pytest.approx(1.0, abs=1e-6)
    assert_allclose(loss.repair(-u, None), 0, atol=1e-6)
    assert loss.primal_violation(z, {}) == 0.0
    assert loss.rise(z, np.full(4, 1e-12)) < 1e-11
    assert ExpressionLoss(lambda v: cp.sum(-cp.log(v))).primal_violation(z, {}) == inf
    labels = np.array([1.0, 1.0, -1.0, 1.0])
    known = LOSSES["logistic"].certified.best_intercept(z, labels)
    assert loss.best_intercept(z, labels) == pytest.approx(float(known), abs=1e-6)


def test_residuals_of_penalties_that_are_expressions():
    z = np.array([-1.0, 0.0, 0.5, 2.0])
    penalty = ExpressionPenalty(elastic_net)
    gradient = 0.6 * np.sign(z) + 0.6 * z
    assert penalty.stationarity(z, gradient) < 1e-6
    assert penalty.stationarity(z, 2 * gradient) == pytest.approx(1.0, abs=1e-6)
    assert penalty.stationarity(z[:, None], gradient[:, None]) < 1e-6
    assert (penalty.shrink(Edges(9.0, 9.0)), penalty.conjugate(Edges(9.0, 9.0))) == (1.0, inf)
    assert penalty.pricing_slack(z) == penalty.primal_violation(z) == 0.0
    assert ExpressionPenalty(lambda v: cp.sum(-cp.log(v))).primal_violation(z) == inf
