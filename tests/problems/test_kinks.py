"""Expressions read as sums of hinges: equal to what was written, optima those of the classes, and nothing else read."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import ConicMaster, HighsMaster, NewtonMaster, fastest_master
from cvxens.colgen.oracles import Stumps
from cvxens.problems import expressions
from cvxens.problems.expressions import ConstrainedLoss, ExpressionLoss
from cvxens.problems.losses import CVaR, Hinge
from cvxens.problems.penalties import L1, SquaredL2
from cvxens.problems.sums import read_hinges
from cvxens.problems.target_losses import AbsoluteError, EpsilonInsensitive, Pinball

N = 12
RNG = np.random.default_rng(0)
T, C = RNG.normal(size=N), RNG.random(N) + 0.5
ETA = cp.Variable(name="eta")
K = cp.Variable()


def add_slacks(z):
    xi = cp.Variable(N)
    return cp.sum(xi), [xi >= 0, z >= 1 - xi]


CLASSES = {
    "pinball 0.7": (lambda f: cp.sum(0.7 * cp.pos(T - f) + 0.3 * cp.pos(f - T)), Pinball(T, 0.7)),
    "slopes of single samples": (lambda f: C @ cp.maximum(0.2 * (T - f), 0.8 * (f - T)), Pinball(T, 0.2, C)),
    "pinball 0.5": (lambda f: 2 * cp.norm1(T - f), AbsoluteError(T, 2.0)),
    "slopes -1 and 1": (lambda f: cp.sum(cp.pos(cp.abs(T - f) - 0.25)), EpsilonInsensitive(T, 0.25)),
    "of one's own": (add_slacks, Hinge(1.0)),
    "prices": (lambda z: cp.sum(cp.multiply(C, cp.pos(1 - z))), Hinge(C)),
}


def read(express):
    return read_hinges(ExpressionLoss(express).conic((N,)).form)


@pytest.mark.parametrize("name", CLASSES)
def test_the_hinges_of_an_expression_are_those_of_the_class(name):
    express, known = CLASSES[name]
    found = read(express)
    for ours, theirs in zip(found.hinges, known.linear_dual.hinges, strict=True):
        assert ours.sign == theirs.sign
        np.testing.assert_allclose(ours.knots, np.broadcast_to(theirs.knots, N), rtol=1e-14)
        np.testing.assert_allclose(ours.prices, np.broadcast_to(theirs.prices, N), rtol=1e-14)
    if name.startswith("pinball"):
        assert found.basis == f"the loss read as {name}"


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), n_parts=st.integers(1, 3))
def test_random_sums_of_kinks_are_read_to_the_digit(seed, n_parts):
    random = np.random.default_rng(seed)
    lines = random.integers(-3, 4, size=(n_parts, 3, N)) / 2, random.normal(size=(n_parts, 3, N))
    prices = random.random((n_parts, N)) * 2

    def express(z):
        parts = [
            p @ cp.maximum(*(cp.multiply(a, z) + b for a, b in zip(slopes, at, strict=True)))
            for p, slopes, at in zip(prices, *lines, strict=True)
        ]
        return 3 + sum(parts) + cp.sum(cp.pos(cp.abs(z - lines[1][0, 0]) - 0.5)) * 9

    found, w = read(express), cp.Variable(N)
    assert found is not None
    for scale in (0.3, 3.0, 100.0):
        z = scale * random.normal(size=N)
        w.value = z
        exact = express(w).value
        assert found.model(w).expression.value == pytest.approx(exact, rel=1e-12)
        assert abs(found.value(z) - exact) <= found.rounding(z)
        assert found.rounding(z) <= 1e-11 * (abs(exact) + 1)
        # Fenchel's inequality, with equality at a subgradient
        u = found.multipliers(z)
        assert found.dual_value(u) == pytest.approx(exact + u @ z, rel=1e-12, abs=1e-12 * scale * 100)
        v = found.repair(u + random.normal(size=N), None)
        assert found.dual_value(v) <= exact + v @ z + 1e-10 * scale * (1 + np.abs(v).sum())
        assert found.slackness(z, u) <= 1e-12 * scale * 100
        y = np.where(random.random(N) < 0.5, 1.0, -1.0)
        b = found.best_intercept(z, y)
        least = found.value(y * (z + b))
        assert all(found.value(y * (z + b + step)) >= least * (1 - 1e-12) - 1e-12 for step in (-1e-3, 1e-3))
        assert abs(y @ found.prove(u, y, y * (z + b))) <= 1e-9 * (1 + np.abs(u).sum())


@pytest.mark.parametrize(
    "express",
    [
        lambda z: cp.max(-z) + cp.sum(cp.pos(1 - z)),
        lambda z: cp.sum(cp.pos(z[1:] - z[:-1])),
        lambda z: cp.sum_largest(cp.pos(1 - z), 3),
        lambda z: cp.pos(cp.sum(z)) + cp.sum(cp.pos(1 - z)),
        lambda z: (cp.sum(cp.pos(1 - z)), [z <= 3]),
        lambda z: cp.sum(cp.abs(z - K)) + cp.sum(cp.pos(z)),
        lambda z: cp.sum(cp.pos(z) + z),
        lambda z: cp.sum(cp.pos(1 - z[:3])),
        lambda z: cp.sum(cp.huber(cp.pos(1 - z))),
        lambda z: cp.sum(cp.logistic(-z)),
        cp.sum,
    ],
)
def test_what_is_no_sum_over_samples_or_has_no_least_value_stays_unread(express):
    assert read(express) is None


@pytest.mark.parametrize(
    ("express", "known"),
    [
        (lambda z: cp.sum_largest(cp.pos(1 - z), 3) / N, CVaR(1 / 3, 3 / N)),
        (lambda z: cp.sum_largest(cp.pos(1 - z), N) / N, CVaR(1 / N, 1.0)),
        (lambda z: 2 * (0.5 * cp.cvar(0.2 * cp.pos(1 - z), 0.75)), CVaR(1 / 3, 0.2)),
        (lambda z: cp.sum_largest(cp.pos(2 - z), 3), None),
        (lambda z: cp.sum_largest(cp.multiply(C, cp.pos(1 - z)), 3), None),
        (lambda z: cp.sum_largest(cp.abs(1 - z), 3), None),
        (lambda z: cp.sum_largest(cp.pos(1 - z[:4]), 3), None),
        (lambda z: (cp.sum_largest(cp.pos(1 - z), 3), [z <= 3]), None),
        (lambda z: cp.sum_largest(1 + cp.pos(1 - z), 3), None),
        (lambda z: cp.sum_largest(cp.pos(1 - z), 3) + cp.sum(cp.pos(-z)), None),
        (lambda z: 2 * (ETA + cp.sum(cp.pos(cp.pos(1 - z) - ETA)) / 3), CVaR(1 / 3, 2.0)),
        (lambda z: cp.sum(cp.maximum(0, -ETA + 3 * cp.pos(1 - z))) / 2.5 + ETA, CVaR(0.4, 3.0)),
        (lambda z: ETA + cp.sum(cp.pos(cp.pos(1 - z) - 2 * ETA)) / 3, None),
        (lambda z: ETA + cp.sum(cp.pos(cp.pos(2 - z) - ETA)) / 3, None),
        (lambda z: (ETA + cp.sum(cp.pos(cp.pos(1 - z) - ETA)) / 3, [ETA >= 0.5]), None),
        # its sum is one of hinges, but no entry is
        (lambda z: cp.sum_largest(cp.hstack([cp.pos(1 - z[:6]) + cp.pos(1 - z[6:]), np.zeros(6)]), 3), None),
    ],
)
def test_the_mean_of_the_largest_hinges_is_read_as_the_class_and_nothing_else_is(express, known):
    loss, z = ExpressionLoss(express), RNG.normal(size=N)
    # which leaves a value in the variable that is canonicalised
    value = loss.value(z)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "LEAST_SAMPLES", 1)
        found = loss.read((N,))
    assert (found is loss) if known is None else (pytest.approx(known.C), pytest.approx(known.D)) == (found.C, found.D)
    assert known is None or found.value(z) == pytest.approx(value, rel=1e-8)
    np.testing.assert_equal(found.own_values(z), loss.own_values(z))


@pytest.mark.parametrize(
    ("held", "rows"),
    [
        (lambda z: [cp.abs(T @ z) <= 0.5], [(1, 0.5), (-1, 0.5)]),
        (lambda z: [T @ z == 0], [(1, 0), (-1, 0)]),
        (lambda z: [cp.maximum(T @ z, 2 * T @ z) <= 0.5, 0 * z[0] <= 1], [(1, 0.5), (2, 0.5)]),
        (lambda z: [T @ z <= K, K <= 3], [(1, 3)]),
        (lambda z: [cp.norm2(z) <= 1], None),
        (lambda z: [z <= 1], None),
    ],
)
def test_rows_of_constraints_are_read_where_they_are_few_and_linear(held, rows):
    found = ConstrainedLoss(Hinge(1.0), held).read_rows((N,), most=4)
    assert (found is None) == (rows is None)
    if rows is not None:
        # a row times a number above 0 is the same
        wanted = [np.append(factor * T, limit) / np.abs(factor * T).max() for factor, limit in rows]
        ours = [np.append(row, limit) / np.abs(row).max() for row, limit in zip(*found, strict=True)]
        ours, wanted = (sorted(map(tuple, each)) for each in (ours, wanted))
        np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-12)


def test_a_row_over_all_samples_is_not_doubled_by_every_variable_in_it():
    assert ConstrainedLoss(Hinge(1.0), lambda z: [cp.sum(cp.pos(1 - z)) <= 1]).read_rows((2000,), most=4) is None


@settings(max_examples=4)
@given(seed=st.integers(0, 1000), name=st.sampled_from(["pinball 0.7", "slopes -1 and 1", "prices"]))
def test_optima_are_those_of_the_class_and_proven(seed, name):
    X, (express, known) = np.random.default_rng(seed).normal(size=(N, 3)), CLASSES[name]
    y = None if known.on_scores else np.where(X[:, 0] + T > 0, 1.0, -1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "LEAST_SAMPLES", 1)
        for penalty in (L1(0.3), SquaredL2(0.5)):
            expected = column_generation(Formulation(known, penalty, intercept=True), Stumps(X), y, tol=1e-10)
            formulation = Formulation(express, penalty, intercept=True, scores=y is None)
            run = column_generation(formulation, Stumps(X), y, tol=1e-10)
            assert run.certificate.note.startswith("over every hypothesis of the oracle, the loss read as ")
            assert run.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-9)
            assert run.certificate.dual == pytest.approx(expected.certificate.dual, rel=1e-9)
            assert run.certificate.proven
            kind = fastest_master(formulation, np.ones(N) if y is None else y)
            assert isinstance(kind, NewtonMaster if penalty.ridge else HighsMaster)


def test_two_kinks_that_no_class_has_are_those_of_the_conic_master():
    X = RNG.normal(size=(N, 3))
    y = np.where(X[:, 0] + T > 0, 1.0, -1.0)
    formulation = Formulation(lambda z: cp.sum(cp.maximum(0, 1 - z, 1 - 3 * z)), L1(0.3), intercept=True)
    expected = column_generation(formulation, Stumps(X), y, master=ConicMaster, tol=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "LEAST_SAMPLES", 1)
        run = column_generation(formulation, Stumps(X), y, tol=1e-9)
    assert run.certificate.note.endswith("hinges of slopes -1 and -2")
    assert run.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-8)
    assert run.certificate.holds(1e-9)
