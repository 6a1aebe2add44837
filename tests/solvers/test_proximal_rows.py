"""Quadratic models with a penalty on the norms of rows, and the master by them, against their optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import CvxpyMaster, RowMaster, SparseMaster, fastest_master
from cvxens.colgen.oracles import Stumps
from cvxens.problems.losses import Logistic, SquaredError, SquaredHinge
from cvxens.problems.penalties import ElasticNet, RowNorms, SquaredL2
from cvxens.solvers.proximal_rows import RowModel


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 3)),
    shared=st.booleans(),
    square=st.sampled_from([0.0, 0.3]),
)
def test_models_are_minimised(seed, shape, shared, square):
    """Minus the slope of the model is in the subdifferential of the penalty, row by row."""
    random = np.random.default_rng(seed)
    (k, n_outputs), size = shape, random.choice([0.0, 0.5, 2.0], shape[0])
    size[0] = 1.0
    A = random.normal(size=(1 if shared else n_outputs, k, k + 2))
    B = A @ A.transpose(0, 2, 1)
    W, R = random.normal(size=shape), 3 * random.normal(size=shape)
    V = RowModel(B.copy(), size, np.full(k, square)).minimise(W, R)
    slope = R + np.stack([B[t % len(B)] @ (V - W)[:, t] for t in range(n_outputs)], axis=1) + 2 * square * V
    norms = np.linalg.norm(V, axis=1)
    inside = norms > 0
    units = V[inside] / norms[inside, None]
    scale = 1 + np.abs(B).max() * np.abs(V).max() + np.abs(R).max()
    assert np.abs(slope[inside] + size[inside, None] * units).max(initial=0.0) <= 1e-8 * scale
    assert (np.linalg.norm(slope[~inside], axis=1) <= size[~inside] + 1e-8 * scale).all()


@pytest.mark.parametrize(
    ("loss", "penalty", "outputs"),
    [
        (lambda L, _: SquaredError(1.0, L), RowNorms(2.0), 2),
        (lambda L, _: SquaredError(np.linspace(0.5, 2.0, 24), L), RowNorms(2.0) + SquaredL2(0.5), 2),
        (lambda *_: Logistic(1.0), ElasticNet(1.0, 0.5), None),
    ],
    ids=["rows", "rows and squares", "elastic net"],
)
def test_runs_end_at_the_optimum(loss, penalty, outputs):
    random = np.random.default_rng(5)
    X, y = random.integers(0, 6, (24, 2)).astype(float), random.choice([-1.0, 1.0], 24)
    formulation = Formulation(loss(random.normal(size=(24, 2)), y), penalty, intercept=True, outputs=outputs)
    labels = y if outputs is None else None
    fastest = SparseMaster if outputs is None else RowMaster
    assert isinstance(fastest_master(formulation, formulation.signs(labels, 24)), fastest)
    found, fast, known = (
        column_generation(formulation, Stumps(X), labels, tol=1e-8, master=master)
        for master in (RowMaster, fastest, CvxpyMaster)
    )
    assert fast.certificate.primal == pytest.approx(known.certificate.primal, rel=1e-6)
    assert found.certificate.proven
    assert found.certificate.holds(1e-7)
    assert found.certificate.primal == pytest.approx(known.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("loss", [Logistic(1.0), SquaredHinge(0.7)], ids=["logistic", "squared hinge"])
def test_elastic_nets_of_weights_above_0_end_at_the_optimum(loss):
    random = np.random.default_rng(6)
    X, y = random.integers(0, 6, (24, 2)).astype(float), random.choice([-1.0, 1.0], 24)
    formulation = Formulation(loss, ElasticNet(0.6, 0.8), intercept=True, nonnegative=True)
    oracle = Stumps(X, signs=[1, 0])
    found, known = (
        column_generation(formulation, oracle, y, tol=1e-8, master=master) for master in (SparseMaster, CvxpyMaster)
    )
    assert isinstance(fastest_master(formulation, y), SparseMaster)
    assert found.certificate.proven
    assert found.certificate.holds(1e-7)
    assert found.certificate.primal == pytest.approx(known.certificate.primal, rel=1e-6)
    assert found.weights.min() >= 0
