"""Prior weights, columns without a penalty, and side constraints on weights: how they are said, against enumeration."""

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import NewtonMaster, fastest_master
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.problems.losses import Hinge, Logistic, Offset, SquaredError
from cvxens.problems.penalties import L1, ElasticNet, SquaredL2

X, y = noisy(30, 3, seed=1)
H = all_stumps(X)
N = len(y)
margins = arrays(float, N, elements=st.integers(-300, 300).map(lambda n: n / 100))


@pytest.mark.parametrize("loss", [Hinge(0.4), Logistic(0.4)], ids=["hinge", "logistic"])
@settings(max_examples=20)
@given(z=margins, offset=margins, u=margins)
def test_fenchels_inequality_holds_with_an_offset_and_with_equality_at_the_slopes(loss, z, offset, u):
    shifted = Offset(loss, offset)
    for labels in (None, y):
        v = shifted.repair(u, labels)
        assert shifted.dual_value(v) <= shifted.value(z) + v @ z + 1e-9
    best = shifted.slopes(z, 0.0)[1]
    assert shifted.value(z) + best @ z == pytest.approx(shifted.dual_value(best), abs=1e-9)
    b = shifted.best_intercept(z, y)
    assert all(shifted.value(y * (z + b)) <= shifted.value(y * (z + b + step)) + 1e-9 for step in (-0.1, 0.1))


def test_prior_weights_are_an_offset():
    """Weights near those of two stumps of an earlier model, and few others."""
    w0 = np.zeros(H.shape[1])
    w0[[3, 11]] = 0.8, -0.5
    f0 = H @ w0
    for penalty in (L1(0.5), SquaredL2(0.7), ElasticNet(0.3, 0.2)):
        w, b = cp.Variable(H.shape[1]), cp.Variable()
        stated = penalty.model(w - w0).expression
        best = cp.Problem(cp.Minimize(0.5 * cp.sum(cp.logistic(-cp.multiply(y, H @ w + b))) + stated))
        formulation = Formulation(Offset(Logistic(0.5), y * f0), penalty, intercept=True)
        run = column_generation(formulation, Stumps(X), y)
        assert type(fastest_master(formulation, y)) is NewtonMaster
        assert_optimum(run, best.solve(solver="CLARABEL"))


def test_an_offset_of_targets_moves_them():
    targets, f0 = (X @ [1.0, -1.0, 0.5])[:, None], X[:, :1]
    plain = column_generation(Formulation(SquaredError(1.0, targets - f0), L1(2.0), outputs=1), Stumps(X))
    shifted = Formulation(Offset(SquaredError(1.0, targets), f0), L1(2.0), outputs=1)
    assert column_generation(shifted, Stumps(X)).certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-9)


def test_side_constraints_on_weights_are_rows_of_a_pool():
    """A row ``A w`` beside the samples is one more score, and what it may be a constraint on that."""
    A = np.vstack([np.r_[np.ones(5), np.zeros(H.shape[1] - 5)], np.cos(np.arange(H.shape[1]))])
    formulation = Formulation(
        lambda z: cp.sum(cp.logistic(-z[:N])), L1(0.5), constraints=lambda z: [z[N] == 0, z[N + 1] <= 0.05], scores=True
    )
    run = column_generation(formulation, Pool(np.vstack([y[:, None] * H, A])))
    w = cp.Variable(H.shape[1])
    loss = cp.sum(cp.logistic(-cp.multiply(y, H @ w)))
    best = cp.Problem(cp.Minimize(loss + 0.5 * cp.norm1(w)), [A[0] @ w == 0, A[1] @ w <= 0.05])
    assert_optimum(run, best.solve(solver="CLARABEL"))
