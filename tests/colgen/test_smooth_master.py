"""Smooth losses with a squared l2 penalty: Newton's master against scikit-learn, cvxpy and itself from a cold start."""

import numpy as np
import pytest
from brute_force import all_stumps, noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from cvxens.colgen import Column, Formulation, column_generation
from cvxens.colgen.masters import CvxpyMaster, SmoothMaster
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Exponential, Logistic, SquaredHinge
from cvxens.problems.penalties import SquaredL2
from cvxens.solvers.newton import SmoothProblem

SHAPES = st.tuples(st.integers(2, 30), st.integers(1, 40))
LOSSES = [Exponential, Logistic, SquaredHinge]


def drawn(seed, n, J):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, J))
    y = np.where(H[:, 0] + rng.normal(size=n) > 0.3, 1.0, -1.0)
    y[0], y[-1] = 1, -1
    return H, y


def columns(H):
    return [Column(lambda _, h=h: h, None, 0.0) for h in H.T]


def solved(formulation, H, y, n_blocks=1):
    master = SmoothMaster(formulation, y)
    for block in np.array_split(H, n_blocks, axis=1):
        master.add(columns(block))
        found = master.solve()
    return found


@pytest.mark.parametrize("loss", LOSSES)
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), SHAPES, st.floats(-4, 3), st.booleans(), st.booleans())
def test_loss_and_conjugate_meet(loss, seed, shape, exponent, intercept, nonnegative):
    H, y = drawn(seed, *shape)
    H = np.sign(H) if seed % 2 else H
    C = 10.0**exponent
    formulation = Formulation(loss(C), SquaredL2(0.8), intercept=intercept, nonnegative=nonnegative)
    found = solved(formulation, H, y)
    primal = loss(C).value(y * (H @ found.w + found.b)) + 0.4 * found.w @ found.w
    edges = H.T @ (y * found.u)
    dual = loss(C).dual_value(found.u) - np.square(np.maximum(edges, 0) if nonnegative else edges).sum() / 1.6
    assert not nonnegative or found.w.min() >= 0
    assert found.objective == pytest.approx(primal, rel=1e-9)
    assert primal - dual <= 1e-7 * primal
    assert found.u.min() >= 0
    assert not intercept or abs(y @ found.u) <= 1e-9 * found.u.sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_both_masters_agree(loss, intercept, nonnegative):
    H, y = drawn(1, 40, 9)
    H[:, 3] = H[:, 2]
    formulation = Formulation(loss(0.4), SquaredL2(2.0), intercept=intercept, nonnegative=nonnegative)
    reference = CvxpyMaster(formulation, y, solver="CLARABEL")
    reference.add(columns(H))
    expected, found = reference.solve(), solved(formulation, H, y)
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    assert_allclose(found.w, expected.w, atol=1e-4)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_logistic_optimum_is_that_of_scikit_learn(C):
    H, y = drawn(2, 80, 6)
    found = solved(Formulation(Logistic(C), SquaredL2(), intercept=True), H, y)
    machine = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(H, y)
    assert_allclose(found.w, machine.coef_[0], atol=1e-6)
    assert_allclose(found.b, machine.intercept_[0], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_growing_in_blocks_equals_all_at_once(loss):
    H, y = drawn(3, 50, 20)
    formulation = Formulation(loss(0.7), SquaredL2(), intercept=True)
    grown, cold = solved(formulation, H, y, 5), solved(formulation, H, y)
    assert grown.objective == pytest.approx(cold.objective, rel=1e-10)
    assert_allclose(grown.w, cold.w, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_curvatures_are_derivatives_of_the_multipliers(loss):
    z = np.linspace(-3, 4, 30)
    term = loss(1.7)
    numerical = (term.multipliers(z - 1e-6) - term.multipliers(z + 1e-6)) / 2e-6
    assert_allclose(term.curvature(term.multipliers(z)), numerical, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_over_all_stumps_is_certified(loss):
    X, y = noisy()
    formulation = Formulation(loss(0.1), SquaredL2(), intercept=True)
    run = column_generation(formulation, Stumps(X), y, tol=1e-9, master=SmoothMaster)
    assert run.certificate.proven
    assert run.certificate.relative_gap <= 1e-9
    assert run.certificate.primal == pytest.approx(solved(formulation, all_stumps(X), y).objective, rel=1e-8)


def test_an_interrupt_leaves_a_usable_master(monkeypatch):
    H, y = drawn(4, 30, 8)
    formulation = Formulation(SquaredHinge(1.0), SquaredL2(), intercept=True)
    master = SmoothMaster(formulation, y)
    master.add(columns(H))
    with monkeypatch.context() as patched:
        patched.setattr(SmoothProblem, "_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            master.solve()
    assert master.solve().objective == pytest.approx(solved(formulation, H, y).objective, rel=1e-10)


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_tolerance_that_cannot_be_used_is_named():
    with pytest.raises(InvalidInput, match=r"^tol: found -1"):
        SmoothMaster(Formulation(Logistic(1.0), SquaredL2()), np.array([1.0, -1.0]), tol=-1)
