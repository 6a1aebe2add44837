"""Constraints hold in their own size at the ensemble that is returned; own variables, sums of weights, messages."""

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, assert_over_all, noisy, solve_all

from cvxens.colgen import Ending, Formulation, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.colgen.protocols import Priced
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import L1

X, y = noisy(14)
H = all_stumps(X)
N = len(y)
GROUP = np.arange(N) % 3 == 0
a = y * (GROUP / GROUP.sum() - ~GROUP / (~GROUP).sum())


def logistic(z):
    return cp.sum(cp.logistic(-z))


HELD = {
    "similar means": lambda s: lambda z: [cp.abs((s * a) @ z) <= 0.01 * s],
    "equal means": lambda s: lambda z: [(s * a) @ z == 0],
    "bounded": lambda s: lambda z: [s * cp.norm(z, "inf") <= 0.3 * s],
    "short": lambda s: lambda z: [s * cp.norm(z) <= s],
    "capped loss": lambda s: lambda z: [s * cp.sum(cp.pos(1 - z[y < 0])) <= 0.6 * s * (y < 0).sum()],
}


def find_margins(run):
    return y * run.decision_function(X)


@pytest.mark.thinned(1, s=[1e-10, 1e-6, 1.0, 1e8], held=HELD)
def test_units_of_a_constraint_change_nothing(held, s):
    due = solve_all(H, y, logistic, lambda w: 0.5 * cp.norm1(w), intercept=True, constraints=HELD[held](1.0), tol=1e-8)
    formulation = Formulation(logistic, L1(0.5), intercept=True, constraints=HELD[held](s))
    run = assert_optimum(column_generation(formulation, Stumps(X), y), due)
    assert max(np.max(one.violation()) for one in HELD[held](1.0)(cp.Constant(find_margins(run)))) < 1e-11


@pytest.mark.parametrize("level", [0.0, 1e4])
def test_the_objective_is_that_of_the_ensemble_whatever_the_sizes_of_the_scores(level):
    t, k = X[:, 0], cp.Variable(name="k")
    formulation = Formulation(
        lambda f: cp.norm1(t + level - f) + 5 * cp.abs(k),
        L1(2.0),
        scores=True,
        intercept=True,
        constraints=lambda f: [k >= 1, f[0] - level <= k],
    )
    run = column_generation(formulation, Stumps(X))
    f = run.decision_function(X)
    own = max(1.0, f[0] - level)
    assert run.certificate.holds(1e-6)
    assert run.variables["k"] == pytest.approx(own, rel=1e-8)
    by_hand = np.abs(t + level - f).sum() + 5 * own + 2 * np.abs(run.weights).sum()
    assert run.certificate.primal == pytest.approx(by_hand, rel=1e-8)
    assert run.certificate.primal >= run.certificate.dual - run.certificate.rounding


def worst_case(z):
    """The largest mean loss under sample weights within a KL ball: least ``r eta + t`` under a sum of exponentials."""
    eta, t, q, loss = cp.Variable(nonneg=True, name="eta"), cp.Variable(), cp.Variable(N), cp.Variable(N)
    exponentials = cp.ExpCone(loss - t, eta * np.ones(N), q)
    return N * (0.1 * eta + t), [cp.sum(q) <= N * eta, exponentials, loss >= cp.logistic(-z)]


K, UNSET = cp.Variable(name="k"), cp.Parameter(name="price")
STATED = {
    "a variable that constraints alone keep bounded": {
        "loss": lambda z: logistic(z) + K,
        "constraints": lambda z: [1 - z[0] <= K, K >= 0],
    },
    "the worst of a ball of sample weights": {"loss": worst_case},
    "caps of weights beside a known loss": {
        "loss": Hinge(1.0),
        "penalty": lambda w: [cp.sum_squares(w), cp.sum(w) == 1, w <= 0.3],
        "nonnegative": True,
    },
    "constraints in a pair": {
        "loss": lambda z: (logistic(z), [z <= 0.5]),
        "penalty": lambda w: (cp.norm1(w), [cp.norm1(w) <= 1.5]),
    },
    "constraints in a list": {
        "loss": lambda z: [logistic(z), z <= 0.5],
        "penalty": lambda w: [cp.norm1(w), cp.norm1(w) <= 1.5],
    },
}


@pytest.mark.parametrize("name", STATED)
def test_expressions_end_at_the_optimum_of_what_they_state(name):
    assert_over_all(Formulation(**{"penalty": cp.norm1, "intercept": True, **STATED[name]}), Stumps(X), y)


WEIGHTS = {
    "a sum": lambda w: [0, cp.sum(w) == 2.5],
    "a sum and squares": lambda w: [3 * cp.sum_squares(w), cp.sum(w) == 1],
    "a sum and caps": lambda w: [0, cp.sum(w) == 1, w <= 0.15],
    "an interval": lambda w: [cp.sum(w), cp.sum(w) >= 3, cp.sum(w) <= 5],
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_sums_of_weights_are_given_by_constraints(name):
    penalty = WEIGHTS[name]
    formulation = Formulation(logistic, penalty, nonnegative=True, intercept=True, constraints=lambda z: [z <= 1])
    run = assert_over_all(formulation, Stumps(X), y)
    assert run.ending is Ending.OPTIMAL
    assert max(np.max(one.violation()) for one in penalty(cp.Constant(run.weights))[1:]) < 1e-12
    assert find_margins(run).max() < 1 + 1e-11


def test_orders_of_weights_reach_the_optimum_without_a_proof():
    penalty = lambda w: 0.5 * cp.sum_largest(w, 5)  # noqa: E731
    free = solve_all(H, y, logistic, penalty, intercept=True, nonnegative=True, both=True, tol=1e-8)
    run = column_generation(Formulation(logistic, penalty, nonnegative=True, intercept=True), Stumps(X), y)
    assert run.certificate.primal == pytest.approx(free, rel=1e-4)
    assert not run.certificate.proven
    assert "conjugate of the penalty is not known" in run.certificate.note


class Listing:
    sample = X

    def price(self, s, exclude=()):
        return list(Stumps(X).price(s, exclude).columns)


MISTAKES = {
    "nothing": ({"loss": lambda z: None}, "^loss: found a function that returns None"),
    "no penalty": ({"penalty": lambda w: None}, "^penalty: found a function that returns None"),
    "parameter": ({"loss": lambda z: UNSET * logistic(z)}, "^loss: found the parameter 'price' without a value"),
    "parameter held": ({"constraints": lambda z: [z <= UNSET]}, "^constraints: found the parameter 'price' without"),
    "shared": (
        {"penalty": lambda w: cp.norm1(w) + cp.abs(K), "constraints": lambda z: [1 - z[0] <= K]},
        "^penalty: found the variable 'k', which the loss has too",
    ),
    "no sum": (
        {"penalty": lambda w: [cp.sum(w), cp.sum(w) == 1, cp.sum(w) <= 0.5], "nonnegative": True},
        "^penalty: found constraints that no weights satisfy",
    ),
    "small caps": (
        {"penalty": lambda w: [0, cp.sum(w) == 1, w <= 0.001], "nonnegative": True},
        "^penalty: found that no weights of all .* hypotheses satisfy its constraints",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_one_sentence(mistake):
    parts, sentence = MISTAKES[mistake]
    with pytest.raises(InvalidInput, match=sentence):
        column_generation(Formulation(**{"loss": logistic, "penalty": L1(1.0), **parts}), Stumps(X), y)


def test_an_oracle_that_returns_a_list_is_named():
    with pytest.raises(InvalidInput, match=r"^oracle: found Listing whose price returns list; return a Priced"):
        column_generation(Formulation(logistic, L1(1.0)), Listing(), y)
    assert Priced(()).edge_bound == np.inf


def test_what_falls_without_end_is_not_called_a_matter_of_scale():
    for loss in (lambda z: -cp.sum(z), lambda z: logistic(z) + K):
        with pytest.raises(SolverFailed, match="falls without end") as caught:
            column_generation(Formulation(loss, L1(1.0)), Stumps(X), y)
        assert "rescale" not in str(caught.value)
