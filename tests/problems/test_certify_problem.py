"""Certificates of any convex problem of cvxpy's: the optimum is between both values, whatever point was given."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier

from cvxens import certificates, certify, certify_problem
from cvxens.errors import InvalidInput
from cvxens.problems import SVMPrimal

SEEDS = st.integers(0, 2**32 - 1)


def draw_cones(rng, unit, scale):
    """A linear objective over an affine slice of all cones, whose optimum is known: by its KKT conditions.

    x* has ``b - A x*`` on the border of each cone, and l* in the dual cone is orthogonal to it, so
    ``c = -A'l*`` makes ``c'x*`` the optimum; a step along `inward` goes into all cones. Variables are in units of
    `unit`, constraints in units of `scale`.
    """
    n = int(rng.integers(3, 9))
    x, at, constraints, c = cp.Variable(n), rng.normal(size=n), [], np.zeros(n)
    inward = rng.normal(size=n)

    def turn(row, slope):
        return row + (slope - row @ inward) * inward / (inward @ inward)

    def move(A):
        return scale * (A / unit) @ x - scale * (A @ at)  # b - A x is s* minus this

    def add(A, dual):
        nonlocal c
        c = c - A.T @ dual

    A = turn(rng.normal(size=n), 0.0)[np.newaxis]
    constraints.append(move(A) == 0)
    add(A, rng.normal(size=1))
    A = rng.normal(size=(2 * n, n))
    A *= -np.sign(A @ inward)[:, np.newaxis]
    active = rng.random(2 * n) < 0.4
    constraints.append(move(A) <= scale * np.where(active, 0.0, rng.uniform(0.1, 1, 2 * n)))
    add(A, np.where(active, rng.uniform(0.1, 1, 2 * n), 0.0))
    # so that multipliers are inside of the dual cone, too, no direction is free of cost and limits
    constraints.append(scale * cp.abs(x / unit - at) <= 20 * scale)
    kind = rng.integers(4)
    if kind == 0:
        A, tail = rng.normal(size=(4, n)), rng.normal(size=3)
        A[0] = turn(A[0], -1.0 - np.linalg.norm(A[1:] @ inward))
        s, moved = np.append(np.linalg.norm(tail), tail), move(A)
        constraints.append(cp.SOC(scale * s[0] - moved[0], scale * s[1:] - moved[1:]))
        add(A, np.append(s[0], -tail))
    elif kind == 1:
        root = rng.normal(size=3)
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        S = Q @ np.diag([0.0, *root[:2] ** 2]) @ Q.T
        A = rng.normal(size=(3, 3, n))
        A = A + A.transpose(1, 0, 2)
        A -= np.multiply.outer(np.eye(3), inward) * (1 + np.linalg.norm(A @ inward)) / (inward @ inward)
        matrix = sum((x[j] / unit - at[j]) * A[:, :, j] for j in range(n))
        constraints.append(scale * (S - matrix) >> 0)
        c = c - np.einsum("ijk,ij->k", A, np.outer(Q[:, 0], Q[:, 0]) * root[2] ** 2)
    elif kind == 2:
        A, ratio, y = rng.normal(size=(3, n)), rng.normal(), rng.uniform(0.5, 2)
        slope = np.exp(ratio) * (A[0] @ inward + (1 - ratio) * (A[1] @ inward))
        A[2] = turn(A[2], slope - 1.0)
        moved = move(A)
        s = np.array([ratio * y, y, y * np.exp(ratio)])
        constraints.append(cp.ExpCone(*(scale * s[i] - moved[i] for i in range(3))))
        # minus the gradient of y exp(x / y) - z there
        add(A, np.array([-np.exp(ratio), np.exp(ratio) * (ratio - 1), 1.0]))
    return cp.Problem(cp.Minimize(c @ x / unit), constraints), x, unit * at, float(c @ at)


@given(SEEDS, st.sampled_from([1e-8, 1e-3, 1.0, 1e4, 1e8]), st.sampled_from([1e-6, 1.0, 1e6]))
def test_the_optimum_is_between_both_values_in_any_units(seed, unit, scale):
    rng = np.random.default_rng(seed)
    problem, x, best, optimum = draw_cones(rng, unit, scale)
    size = max(abs(optimum), 1.0)
    certificate = certify_problem(problem, {x: best})
    assert certificate.dual - 1e-12 * size <= optimum <= certificate.primal + 1e-12 * size
    assert certificate.proven
    assert certificate.gap <= 1e-6 * size
    # a worse point has a larger gap: what it is short of the optimum, once it is feasible
    worse = best + unit * rng.normal(size=len(best)) * 10.0 ** rng.integers(-6, 1)
    moved = certify_problem(problem, {x: worse})
    assert moved.dual - 1e-12 * size <= optimum <= moved.primal + 1e-12 * size


def lasso(x, rng):
    A = rng.normal(size=(12, x.size))
    return cp.Minimize(cp.sum_squares(A @ x - 1) + cp.norm1(x)), []


def entropy(x, rng):
    return cp.Maximize(cp.sum(cp.entr(x)) - x[0]), [cp.sum(x) == 1, x[1] >= 0.3]


def logistic(x, rng):
    A = rng.normal(size=(20, x.size))
    return cp.Minimize(cp.sum(cp.logistic(A @ x)) + cp.norm(x, 1.5)), [cp.max(x) <= 0.1]


def portfolio(x, rng):
    F = rng.normal(size=(x.size, 3))
    return cp.Maximize(rng.normal(size=x.size) @ x - cp.quad_form(x, F @ F.T)), [cp.sum(x) == 1, x >= 0]


def repeated(x, rng):
    a = rng.normal(size=x.size)
    return cp.Minimize(cp.norm_inf(x - 1)), [a @ x == 1, 2 * (a @ x) == 2, x <= 3]


def largest(x, rng):
    return cp.Maximize(-cp.max(x - np.arange(x.size))), [1e-4 * cp.sum(x) == 0]


def design(x, rng):
    V = rng.normal(size=(3, x.size))
    return cp.Minimize(-cp.log_det(V @ cp.diag(x) @ V.T)), [cp.sum(x) == 1, x >= 0]


STATED = [lasso, entropy, logistic, portfolio, repeated, largest, design]


@pytest.mark.thinned(1, solver=["CLARABEL", "SCS", "OSQP"], state=STATED)
def test_points_of_solvers_are_certified_and_their_claims_are_not_believed(state, solver):
    x = cp.Variable(6)
    problem = cp.Problem(*state(x, np.random.default_rng(0)))
    if solver == "OSQP" and not problem.is_qp():
        solver = "SCS" if state is design else "ECOS"
    tight = problem.solve(solver="CLARABEL", tol_gap_rel=1e-11, tol_gap_abs=1e-11, tol_feas=1e-11)
    problem.solve(solver=solver)
    off = abs(problem.value - tight) + 1e-8
    claimed = {constraint: constraint.dual_value for constraint in problem.constraints}
    certificate = certify_problem(problem)
    assert certificate.proven
    low, high = sorted([certificate.primal, certificate.dual])
    assert low - 1e-8 <= tight <= high + 1e-8
    assert certificate.gap <= max(10 * off, 1e-6 * abs(tight)) + 1e-4 * abs(off > 1e-6)
    # multipliers that are wrong change what is said of them, and nothing else
    for constraint, dual in claimed.items():
        constraint.save_dual_value(-1 - np.abs(dual))
    wrong = certify_problem(problem)
    assert (wrong.primal, wrong.dual) == (certificate.primal, certificate.dual)
    is_inequality = any(isinstance(constraint, cp.constraints.Inequality) for constraint in claimed)
    assert (wrong.kkt_residual >= 1.0) == is_inequality


def test_a_point_beyond_a_border_by_a_solvers_last_digits_has_its_own_value():
    """Completed for the constraint that it misses, its norm was 1 % too large."""
    x, A = cp.Variable(20), np.random.default_rng(0).normal(size=(60, 20))
    problem = cp.Problem(cp.Minimize(cp.norm1(x)), [cp.norm(A @ x - 1) <= 7])
    problem.solve(solver="CLARABEL")
    assert certify_problem(problem, {x: x.value * (1 + 1e-10)}).holds(1e-6)
    assert certify_problem(problem).holds(1e-6)


def test_matrices_that_are_symmetric_or_semidefinite_and_signs_of_variables():
    rng = np.random.default_rng(1)
    C = rng.normal(size=(4, 4))
    X, t = cp.Variable((4, 4), PSD=True), cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X) + cp.sum(t)), [cp.trace(X) == 1, t[0] >= 2])
    problem.solve(solver="CLARABEL")
    certificate = certify_problem(problem)
    assert certificate.holds(1e-6)
    assert certificate.primal == pytest.approx(np.linalg.eigvalsh(C + C.T)[0] + 2)
    assert set(certificate.repair) == {X.name(), t.name()}
    assert max(certificate.repair.values()) < 1e-6


def test_residuals_have_the_names_and_units_of_constraints():
    x = cp.Variable(2)
    budget = (cp.sum(x) <= 1).set_label("budget")
    certificate = certify_problem(cp.Problem(cp.Minimize(-x[0]), [budget, x >= 0]), {x: [1.5, -0.25]})
    assert certificate.residuals == {"budget": 0.25, "constraint 1": 0.25}
    assert certificate.proven
    assert max(certificate.repair.values()) >= 0.25 - 1e-9
    assert certificate.primal >= -1.0
    assert certificate.dual == pytest.approx(-1.0)
    # of a point that is outside by its last digits the value is its own, not that of a better one nearby
    spread = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.sum(x) == 1, x >= 0])
    assert certify_problem(spread, {x: [1 + 1e-9, -1e-9]}).primal == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("maximise", [False, True])
def test_problems_without_an_optimum_are_proven_to_have_none(maximise):
    x, sense = cp.Variable(3), -1.0 if maximise else 1.0
    goal = cp.Maximize if maximise else cp.Minimize
    empty = certify_problem(cp.Problem(goal(cp.sum(x)), [x >= 1, cp.norm(x) <= 1.5]))
    assert (empty.primal, empty.dual, empty.proven) == (sense * np.inf, sense * np.inf, True)
    endless = certify_problem(cp.Problem(goal(sense * cp.sum(x)), [cp.norm(x[:2]) <= -x[2]]))
    assert (endless.primal, endless.dual, endless.proven) == (-sense * np.inf, -sense * np.inf, True)


def test_a_set_without_an_inside_promises_nothing_that_is_not_there():
    x = cp.Variable(2)
    certificate = certify_problem(cp.Problem(cp.Minimize(x[0] + x[1]), [cp.norm(x) <= 0]), {x: [0.0, 0.0]})
    assert certificate.proven or certificate.condition
    assert certificate.dual <= 0 <= certificate.primal + 1e-12


def test_what_cannot_be_certified_is_refused_by_name():
    x, k, p = cp.Variable(2, name="x"), cp.Variable(integer=True, name="k"), cp.Parameter(name="p")
    whole = cp.Problem(cp.Minimize(x[0] + k), [x >= 0, k >= 0])
    refused = {
        "k": whole,
        "complex ones: z": cp.Problem(cp.Minimize(cp.norm(cp.Variable(2, complex=True, name="z")))),
        "DCP": cp.Problem(cp.Minimize(cp.sqrt(x[0]))),
        "p": cp.Problem(cp.Minimize(p * x[0]), [x >= 0]),
        "solve": cp.Problem(cp.Minimize(x[0]), [x >= 0]),
        "cvxpy.Problem": np.zeros(2),
    }
    for word, problem in refused.items():
        with pytest.raises(InvalidInput, match=word):
            certify_problem(problem)
    with pytest.raises(InvalidInput, match="shape"):
        certify_problem(refused["solve"], {x: [1.0, 2.0, 3.0]})
    with pytest.raises(InvalidInput, match="x"):
        certify_problem(refused["solve"], {})


def test_certify_takes_problems_of_ours_and_of_cvxpy_and_nothing_else():
    ours, x, at = SVMPrimal(np.array([[2.0], [-1.0]]), [1.0, -1.0], C=1.0), cp.Variable(1), {"w": [0.5], "b": 0.0}
    stated = cp.Problem(cp.Minimize(cp.sum_squares(x) / 2 + cp.pos(1 - 2 * x[0]) + cp.pos(1 - x[0])))
    assert certify(ours, **at) == certificates.certify(ours, **at)
    assert certify(stated, {x: [0.5]}) == certify_problem(stated, {x: [0.5]})
    stated.solve(solver="CLARABEL")
    assert certify(stated) == certify_problem(stated)
    wrong = {"values": (ours, {x: [0.5]}), "problem": (AdaBoostClassifier(), None), "arrays": (stated, None)}
    for name, (problem, values) in wrong.items():
        with pytest.raises(InvalidInput) as refused:
            certify(problem, values, **at)
        assert refused.value.argument == name


def test_values_of_the_problem_stay_as_they_are():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])
    problem.solve(solver="CLARABEL")
    before = x.value.copy()
    certify_problem(problem, {x: [2.0, 3.0]})
    np.testing.assert_array_equal(x.value, before)


def test_inequalities_that_are_equations_together_leave_a_proof():
    x, P = cp.Variable(2), cp.Variable((2, 3))
    thin = certify_problem(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x <= 1, x >= 1]), {x: [3.0, 0.0]})
    assert thin.holds(1e-7)
    assert thin.primal == pytest.approx(2.0)
    met = [cp.sum(P, axis=1) <= 3, cp.sum(P, axis=0) >= 2, P >= 0]
    assert certify_problem(cp.Problem(cp.Minimize(P[0, 0] + P[1, 1]), met), {P: np.zeros((2, 3))}).proven
