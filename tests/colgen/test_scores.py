"""Losses on scores: targets without labels, several outputs with constraints, variables of the user's own."""

from dataclasses import replace
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_over_all, noisy, solve_all
from numpy.testing import assert_allclose, assert_array_equal

from cvxens.certificates import certify
from cvxens.colgen import Checkpoint, Formulation, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.problems import Problem
from cvxens.problems.losses import Exponential, HardMargin, Hinge, Logistic, SoftMinimumMargin, SquaredError
from cvxens.problems.penalties import L1, SquaredL2

X, y = noisy(14)
H = all_stumps(X)
N = len(y)
T = np.random.default_rng(3).normal(size=(N, 2)) + X[:, :1]
enumerate_all = partial(solve_all, H, 1.0, tol=1e-10)


def test_a_loss_on_scores_needs_no_labels():
    loss = partial(lambda t, z: cp.norm1(t - z), T[:, 0])
    run = assert_over_all(Formulation(loss, L1(0.8), intercept=True, scores=True), Stumps(X), tol=1e-7, rel=1e-7)
    assert run.decision_function(X).shape == (N,)
    with pytest.raises(InvalidInput, match=r"^y: found none for a loss on margins"):
        column_generation(Formulation(loss, L1(0.8)), Stumps(X))


def test_the_samples_are_counted_where_nothing_else_says_how_many():
    formulation = Formulation(cp.sum_squares, SquaredL2(), scores=True)
    assert formulation.on_scores
    assert_array_equal(formulation.signs(None, 3), np.ones(3))
    assert_array_equal(formulation.signs(np.ones(3), 3), np.ones(3))
    assert Problem(formulation, H).solve().objective == pytest.approx(0, abs=1e-9)
    assert_array_equal(Problem(formulation, H.tolist()).y, np.ones(N))
    with pytest.raises(InvalidInput, match=r"^y: found labels for a loss on scores"):
        column_generation(formulation, Stumps(X), y)
    with pytest.raises(InvalidInput, match=r"^n_samples: found None"):
        formulation.signs(None)
    held = Formulation(SquaredError(1.0, T), SquaredL2(), outputs=2)
    with pytest.raises(InvalidInput, match=r"^loss: found one that holds 14 targets or prices, for 13 samples"):
        column_generation(held, Stumps(X[1:]))


@pytest.mark.parametrize("loss", [Hinge(0.3), Logistic(0.3), Exponential(0.3), SoftMinimumMargin(0.3), HardMargin()])
def test_margin_losses_on_scores_are_those_of_one_class(loss):
    """Stumps h and -h have the scores f and -f: without an intercept one class is what it is."""
    assert assert_over_all(Formulation(loss, SquaredL2(2.0), scores=True), Stumps(X), tol=1e-7).u.min() >= 0


def test_one_class_falls_without_end_where_scores_have_an_intercept():
    for loss in (Hinge(0.3), Logistic(0.3), Exponential(0.3), SoftMinimumMargin(0.3), HardMargin()):
        with pytest.raises(InvalidInput, match=r"^intercept: found True with .* on scores, which falls"):
            column_generation(Formulation(loss, L1(), scores=True, intercept=True), Stumps(X))


@pytest.mark.thinned(1, intercept=[False, True], known=[False, True])
def test_several_outputs_under_constraints(known, intercept):
    """Two regressions whose scores may not cross; with a known loss, and with an expression."""
    loss = SquaredError(0.3, T) if known else partial(lambda t, z: 0.15 * cp.sum_squares(t - z), T)
    ordered, penalty = (lambda z: [z[:, 0] <= z[:, 1]]), (lambda w: 0.3 * cp.sum(cp.abs(w)))
    formulation = Formulation(loss, penalty, intercept=intercept, outputs=2, constraints=ordered)
    run = assert_over_all(formulation, Stumps(X), tol=1e-7)
    f = run.decision_function(X)
    assert (f[:, 0] - f[:, 1]).max() < 1e-6
    assert run.certificate.residuals["primal feasibility"] < 1e-6
    assert run.certificate.residuals["complementary slackness"] < 1e-3


def test_the_best_intercepts_of_an_expression_in_several_scores():
    problem = Problem(Formulation(lambda z: cp.sum_squares(T - z), L1(), intercept=True, outputs=2), H)
    w = np.zeros((H.shape[1], 2))
    found = certify(problem, w=w)
    assert found.primal == pytest.approx(((T - T.mean(axis=0)) ** 2).sum(), rel=1e-8)


LEVELS = np.digitize(T[:, 0], np.quantile(T[:, 0], [0.3, 0.7]))


def ordinal(z, thresholds):
    """All-threshold hinge loss of ordinal regression: a score is above the thresholds below its level, by 1."""
    above = np.where(LEVELS[:, None] > np.arange(2), 1.0, -1.0)
    distances = cp.reshape(z, (N, 1), "C") @ np.ones((1, 2)) - np.ones((N, 1)) @ cp.reshape(thresholds, (1, 2), "C")
    return 0.5 * cp.sum(cp.pos(1 - cp.multiply(above, distances)))


@pytest.mark.parametrize("inside", [False, True], ids=["made once", "made at every call"])
def test_variables_with_names_come_back(inside, tmp_path):
    once = cp.Variable(2, name="thresholds")

    def loss(z):
        return ordinal(z, cp.Variable(2, name="thresholds") if inside else once)

    formulation = Formulation(loss, L1(0.5), scores=True)
    kept = Checkpoint(tmp_path / "ordinal.checkpoint")
    run = column_generation(formulation, Stumps(X), tol=1e-7, checkpoint=kept)
    optimum = enumerate_all(lambda z: ordinal(z, once), lambda w: 0.5 * cp.norm1(w))
    assert run.certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert list(run.variables) == ["thresholds"]
    own = run.variables["thresholds"]
    w = np.abs(run.weights).sum()
    assert ordinal(cp.Constant(run.decision_function(X)), cp.Constant(own)).value + 0.5 * w == pytest.approx(optimum)
    again = column_generation(formulation, Stumps(X), tol=1e-7, checkpoint=kept)
    assert_array_equal(again.variables["thresholds"], own)


def test_variables_act_in_the_decision():
    """A linear part: what the run decides on new samples are the scores that its loss is the least of."""
    beta = cp.Variable(2, name="beta")

    def loss(f):
        return cp.sum_squares(T[:, 0] - f - X @ beta) + 0.3 * cp.norm1(beta)

    formulation = Formulation(loss, L1(0.8), intercept=True, scores=True, decide=lambda f, X, own: f + X @ own["beta"])
    run = column_generation(formulation, Stumps(X), tol=1e-7)
    plain = column_generation(replace(formulation, decide=None), Stumps(X), tol=1e-7)
    assert_allclose(run.decision_function(X), plain.decision_function(X) + X @ plain.variables["beta"], atol=1e-12)
    optimum = enumerate_all(loss, lambda w: 0.8 * cp.norm1(w), intercept=True)
    assert run.certificate.primal == pytest.approx(optimum, rel=1e-6)
    r = T[:, 0] - run.decision_function(X)
    paid = r @ r + 0.3 * np.abs(run.variables["beta"]).sum() + 0.8 * np.abs(run.weights).sum()
    assert run.certificate.primal == pytest.approx(paid, rel=1e-6)
    grades = replace(formulation, decide=lambda f, X, own: np.digitize(f, [0.0, 1.0]))
    assert column_generation(grades, Stumps(X), tol=0.1).decision_function(X[:3]).shape == (3,)
    broken = column_generation(replace(formulation, decide=lambda f, X, own: f.sum()), Stumps(X), tol=0.5)
    with pytest.raises(InvalidInput, match=r"^decide: found one that returns the shape \(\)"):
        broken.decision_function(X)
    with pytest.raises(InvalidInput, match=r"^decide: found 'linear'"):
        replace(formulation, decide="linear")


def test_variables_of_constraints_and_penalties_come_back_too():
    limit, size = cp.Variable(name="limit"), cp.Variable(nonneg=True, name="size")
    formulation = Formulation(
        Hinge(0.7),
        lambda w: 0.8 * cp.norm1(w) + cp.square(size - 1),
        intercept=True,
        constraints=lambda z: [z <= limit, limit <= 0.7],
    )
    run = column_generation(formulation, Stumps(X), y)
    assert set(run.variables) == {"limit", "size"}
    assert_allclose(run.variables["size"], 1.0, atol=1e-6)
    assert run.variables["limit"] <= 0.7 + 1e-6
    assert run.variables["limit"] >= (y * run.decision_function(X)).max() - 1e-6
    assert column_generation(Formulation(Hinge(0.7), L1(0.8)), Stumps(X), y).variables == {}


def test_a_name_that_two_variables_have_is_refused():
    loss = Formulation(lambda z: sum(cp.square(cp.Variable(name="t") - z[i]) for i in range(2)), L1(), scores=True)
    with pytest.raises(InvalidInput, match=r"^variables: found two that are named 't'; make a variable that is used"):
        column_generation(loss, Stumps(X))
    t = cp.Variable(name="t")
    shared = Formulation(lambda z: cp.sum_squares(z - t), lambda w: cp.norm1(w) + cp.square(t), scores=True)
    with pytest.raises(InvalidInput, match=r"^penalty: found the variable 't', which the loss has too"):
        column_generation(shared, Stumps(X))
