"""CGEns' master: Newton's method in proximal steps against cvxpy, scikit-learn and itself from a cold start."""

from dataclasses import replace

import numpy as np
import pytest
from brute_force import Table, all_stumps, noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from cvxens.colgen import Column, Formulation, column_generation, formulations
from cvxens.colgen.masters import NewtonMaster, hinge_path
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.problems import SVMPrimal
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import SquaredL2
from cvxens.solvers.newton import find_root
from cvxens.solvers.proximal_hinge import HingePoint, ProximalHinge

KINDS = {
    "normal": lambda rng, n, J: rng.normal(size=(n, J)),
    "signs": lambda rng, n, J: np.sign(rng.normal(size=(n, J))),
    "duplicated columns": lambda rng, n, J: np.sign(rng.normal(size=(n, J)))[:, rng.integers(0, J, J)],
    "duplicated samples": lambda rng, n, J: rng.normal(size=(n, J)).round()[rng.integers(0, n, n)],
    "badly scaled": lambda rng, n, J: rng.normal(size=(n, J)) * 10.0 ** rng.uniform(-2, 2, J),
    "constant": lambda rng, n, J: np.ones((n, J)),
}


def drawn(seed, kind, n, J):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
    y[0], y[-1] = 1, -1
    return KINDS[kind](rng, n, J), y


def columns(H):
    return [Column(lambda _, h=h: h, None, 0.0) for h in H.T]


def objectives(H, y, C, point):
    """Both objectives of LL08 P1 by their definition."""
    margins = y * (H @ point.w + point.b)
    primal = point.w @ point.w / 2 + C * np.maximum(1 - margins, 0).sum()
    return primal, point.u.sum() - np.square(H.T @ (y * point.u)).sum() / 2


def test_joined_points_have_the_better_weights_and_the_better_multipliers():
    light = HingePoint(np.ones(1), 1.0, np.zeros(2), primal=1.0, dual=0.0)
    tight = HingePoint(np.zeros(1), 2.0, np.ones(2), primal=2.0, dual=0.5)
    both = HingePoint(light.w, light.b, tight.u, light.primal, tight.dual)
    assert vars(light.combine(tight)) == vars(tight.combine(light)) == vars(both)
    assert vars(both.combine(light)) == vars(light.combine(both)) == vars(both.combine(tight)) == vars(both)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.sampled_from(list(KINDS)), st.integers(2, 40), st.integers(1, 50), st.floats(-4, 3))
def test_primal_and_dual_meet_whatever_the_columns(seed, kind, n, J, exponent):
    H, y = drawn(seed, kind, n, J)
    C = 10.0**exponent
    (point,) = hinge_path(H, y, [C])
    primal, dual = objectives(H, y, C, point)
    assert primal - dual <= 1e-7 * primal
    assert_allclose([point.primal, point.dual], [primal, dual], rtol=1e-9)
    assert point.gap == (point.primal - point.dual) / point.primal
    assert (point.u >= 0).all()
    assert (point.u <= C).all()
    assert abs(y @ point.u) <= 1e-9 * point.u.sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(25, 1), (25, 6), (8, 30)])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_the_optimum_is_that_of_the_reference(kind, shape, C):
    H, y = drawn(7, kind, *shape)
    (point,) = hinge_path(H, y, [C])
    problem = SVMPrimal(H, y, C)
    certificate = problem.certify(problem.solve("CLARABEL"))
    slack = 1e-6 * certificate.primal
    assert certificate.dual - slack <= point.primal <= certificate.primal + slack


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_optimum_is_that_of_libsvm(C):
    H, _ = drawn(3, "normal", 60, 5)
    y = np.where(H[:, 0] - H[:, 1] + np.random.default_rng(0).normal(size=60) > 0.4, 1.0, -1.0)
    (point,) = hinge_path(H, y, [C], tol=1e-12)
    machine = SVC(C=C, kernel="linear", tol=1e-8).fit(H, y)
    assert_allclose(point.w, machine.coef_[0], atol=1e-5)
    u = np.zeros(60)
    u[machine.support_] = np.abs(machine.dual_coef_[0])
    assert point.dual == pytest.approx(objectives(H, y, C, replace(point, w=machine.coef_[0], u=u))[1], rel=1e-8)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from(list(KINDS)),
    st.integers(2, 40),
    st.integers(1, 40),
    st.floats(-3, 2),
    st.booleans(),
)
def test_weights_of_one_sign_end_where_their_gap_does(seed, kind, n, J, exponent, opposed):
    """Min 1/2 |w|^2 + C sum xi over w >= 0 has the bound sum u - 1/2 |max(H'(y u), 0)|^2."""
    H, y = drawn(seed, kind, n, J)
    # with opposed columns weights meet their bounds
    H = np.hstack([H, -H[:, : J // 2]]) if opposed else -H
    formulation = Formulation(Hinge(10.0**exponent), SquaredL2(), intercept=True, nonnegative=True)
    master = NewtonMaster(formulation, y)
    master.add(columns(H))
    found = master.solve()
    primal = 10.0**exponent * np.maximum(1 - y * (H @ found.w + found.b), 0).sum() + found.w @ found.w / 2
    dual = found.u.sum() - np.square(np.maximum(H.T @ (y * found.u), 0)).sum() / 2
    assert found.w.min() >= 0
    assert primal - dual <= 1e-7 * primal
    assert found.u.min() >= 0
    assert found.u.max() <= 10.0**exponent
    assert abs(y @ found.u) <= 1e-12 * found.u.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_growing_in_blocks_equals_all_at_once(kind):
    H, y = drawn(5, kind, 80, 24)
    grown, cold = (NewtonMaster(formulations.svm(0.5), y) for _ in range(2))
    for block in np.array_split(H, 6, axis=1):
        grown.add(columns(block))
        last = grown.solve()
    cold.add(columns(H))
    assert last.objective == pytest.approx(cold.solve().objective, rel=1e-8)
    assert_allclose(last.w, cold.solve().w, atol=1e-4 * max(1.0, np.abs(last.w).max()))


@pytest.mark.parametrize("order", [1, -1])
def test_a_warm_path_equals_cold_starts(order):
    H, y = drawn(9, "normal", 300, 10)
    prices = (2.0 ** np.arange(-8, 9, 2))[::order]
    for C, warm in zip(prices, hinge_path(H, y, prices), strict=True):
        (cold,) = hinge_path(H, y, [C])
        assert warm.primal == pytest.approx(cold.primal, rel=1e-8)
        assert_allclose(warm.w, cold.w, atol=1e-3)


@pytest.mark.parametrize("start", ["zero", "bound", "random"])
def test_any_multipliers_may_be_started_from(start):
    H, y = drawn(13, "normal", 70, 4)
    rng = np.random.default_rng(0)
    u = {"zero": np.zeros(70), "bound": np.full(70, 0.3), "random": rng.uniform(0, 2, 70)}[start]
    solver = ProximalHinge(y, np.full(len(y), 0.3), 1.0, True, 1e-10)
    point = solver.solve(H.T, HingePoint(rng.normal(size=2), 5.0, u, np.inf, -np.inf))
    (cold,) = hinge_path(H, y, [0.3], tol=1e-10)
    assert point.primal == pytest.approx(cold.primal, rel=1e-9)


def test_shrinking_leaves_the_solution_alone():
    rng = np.random.default_rng(1)
    H = rng.normal(size=(3000, 3))
    y = np.where(H[:, 0] + 0.3 * rng.normal(size=3000) > 0.2, 1.0, -1.0)
    (point,) = hinge_path(H, y, [2.0], tol=1e-10)
    primal, dual = objectives(H, y, 2.0, point)
    assert primal - dual <= 1e-10 * primal
    assert 0 < np.count_nonzero((point.u > 1e-9) & (point.u < 2 - 1e-9)) <= 4


@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("C", [0.01, 0.3, 20.0])
def test_a_run_over_all_stumps_closes_the_exact_gap(count, C):
    X, y = noisy()
    H = all_stumps(X)
    run = column_generation(formulations.svm(C), Stumps(X, columns_per_round=count), y, tol=1e-8, master=NewtonMaster)
    (everything,) = hinge_path(H, y, [C])
    assert run.certificate.proven
    assert run.certificate.relative_gap <= 1e-8
    assert run.certificate.primal == pytest.approx(everything.primal, rel=1e-7)
    pool = column_generation(formulations.svm(C), Table(H, count), y, tol=1e-8)
    assert pool.certificate.primal == pytest.approx(everything.primal, rel=1e-7)


def test_what_cannot_be_used_is_named():
    y = np.array([1.0, -1.0])
    with pytest.raises(InvalidInput, match=r"^tol: found 0"):
        NewtonMaster(formulations.svm(1.0), y, tol=0)
    with pytest.raises(InvalidInput, match=r"^C: found -1"):
        list(hinge_path(np.eye(2), y, [-1.0]))
    with pytest.raises(InvalidInput, match=r"^C: found 0 dimensions"):
        list(hinge_path(np.eye(2), y, 1.0))
    with pytest.raises(InvalidInput, match=r"^y: found 2 rows for 3 samples"):
        list(hinge_path(np.eye(3), y, [1.0]))


@settings(deadline=None, max_examples=50)
@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0, 5))
def test_roots_are_found_from_anywhere(root, start, kink):
    def slope(t):
        # flat pieces beside a steep one
        return float(np.clip(9 * (t - root), -1 - kink, 1)), 9.0 if -1 - kink < 9 * (t - root) < 1 else 0.0

    assert find_root(slope, start, tolerance=1e-9) == pytest.approx(root, abs=1e-9)
