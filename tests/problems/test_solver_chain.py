"""Who is asked, in which order, and what becomes of failures, loose answers and flipped signs."""

import sys
import warnings

import cvxpy as cp
import numpy as np
import pytest
from problem_cases import CASES, SEPARATING, C, H, K, y

from cvxens.errors import NotSeparable, SolverFailed, SolverFallbackWarning
from cvxens.problems import HardMarginBoosting, RegularizedExpLoss, RhoSVM, SoftMarginBoosting, SVMDual, SVMPrimal
from cvxens.problems.modelling import dual_sign

CHAIN = ["CLARABEL", *(["ECOS"] if sys.version_info < (3, 13) else []), "OSQP", "SCS"]


@pytest.fixture
def scripted(monkeypatch):
    """Make solvers raise (an exception) or claim a status (a string) by name; returns the names that were asked."""

    def script(**outcomes):
        asked, solve = [], cp.Problem.solve

        def acted(problem, solver=None, **options):
            asked.append(solver)
            outcome = outcomes.get(solver)
            if isinstance(outcome, Exception):
                raise outcome
            value = solve(problem, solver=solver, **options)
            problem._status = outcome or problem._status
            return value

        monkeypatch.setattr(cp.Problem, "solve", acted)
        return asked

    dual_sign.cache_clear()
    for name in CHAIN:
        dual_sign(name)
    yield script
    dual_sign.cache_clear()


def test_the_first_solver_is_clarabel_and_nobody_else_is_asked(scripted):
    asked = scripted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = SVMPrimal(H, y, C).solve()
    assert asked == ["CLARABEL"]
    assert [(a.solver, a.status, a.message) for a in solution.attempts] == [("CLARABEL", "optimal", "")]
    assert solution.solver == "CLARABEL"
    assert solution.seconds == solution.attempts[0].seconds > 0


@pytest.mark.parametrize("name", CASES)
def test_a_point_outside_the_domain_by_rounding_has_the_solvers_objective(monkeypatch, name):
    """Where cvxpy's own evaluation at the point is infinite, as of x ln x at -1e-11."""
    expected, solve = CASES[name].problem().solve().objective, cp.Problem.solve

    def infinite(problem, *arguments, **options):
        solve(problem, *arguments, **options)
        problem._value = np.inf

    monkeypatch.setattr(cp.Problem, "solve", infinite)
    assert CASES[name].problem().solve().objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (cp.SolverError("no\n luck"), "error"),
        (ArithmeticError("no luck"), "error"),
        (ValueError("no luck"), "error"),
        ("optimal_inaccurate", "optimal_inaccurate"),
        ("user_limit", "user_limit"),
        ("infeasible", "infeasible"),
        ("unbounded", "unbounded"),
        ("infeasible_inaccurate", "infeasible_inaccurate"),
        ("solver_error", "solver_error"),
    ],
)
def test_a_failure_falls_through_with_a_warning_and_a_record(scripted, outcome, status):
    asked = scripted(CLARABEL=outcome)
    problem = SVMPrimal(H, y, C)
    with pytest.warns(SolverFallbackWarning, match=rf"CLARABEL \({status}\) failed; .* from {CHAIN[1]}") as caught:
        solution = problem.solve()
    assert caught[0].filename == __file__
    assert asked == CHAIN[:2]
    assert [a.solver for a in solution.attempts] == CHAIN[:2]
    assert [a.status for a in solution.attempts] == [status, "optimal"]
    assert solution.attempts[0].message == ("" if isinstance(outcome, str) else "no luck")
    assert problem.certify(solution).holds(1e-6)


def test_the_whole_chain_is_tried_before_the_last_answers(scripted):
    asked = scripted(CLARABEL=cp.SolverError("broken"), ECOS="optimal_inaccurate", OSQP="user_limit")
    with pytest.warns(SolverFallbackWarning) as caught:
        solution = SVMDual(K, y, C).solve()
    assert len(caught) == 1
    assert all(f"{name} (" in str(caught[0].message) for name in CHAIN[:-1])
    assert asked == CHAIN
    assert solution.solver == "SCS"


@pytest.mark.parametrize("claim", ["infeasible", "infeasible_inaccurate"])
def test_a_claim_of_infeasibility_without_proof_is_a_failure(scripted, claim):
    scripted(CLARABEL=claim)
    with pytest.warns(SolverFallbackWarning, match=claim):
        solution = HardMarginBoosting(SEPARATING, y).solve()
    assert solution.solver == CHAIN[1]


def test_a_claim_of_infeasibility_is_believed_where_it_is_proven(scripted):
    asked = scripted()
    with pytest.raises(NotSeparable):
        HardMarginBoosting(np.ones((len(y), 1)), y).solve()
    assert set(asked) == {"CLARABEL"}


def test_cones_that_osqp_does_not_know_are_not_offered_to_it(scripted):
    asked = scripted(CLARABEL=cp.SolverError("broken"), ECOS="optimal_inaccurate")
    with pytest.warns(SolverFallbackWarning):
        solution = RegularizedExpLoss(K, y, 0.1).solve()
    assert asked == [name for name in CHAIN if name != "OSQP"]
    assert solution.solver == "SCS"


def test_all_failing_raises_with_the_status_of_each(scripted):
    broken = cp.SolverError("broken")
    scripted(CLARABEL=broken, ECOS="optimal_inaccurate", OSQP="user_limit", SCS="unbounded_inaccurate")
    with pytest.raises(SolverFailed) as caught:
        SVMPrimal(H, y, C).solve()
    statuses = {a.solver: a.status for a in caught.value.attempts}
    names = ["CLARABEL", "ECOS", "OSQP", "SCS"]
    expected = dict(zip(names, ["error", "optimal_inaccurate", "user_limit"], strict=False))
    assert statuses == {name: (expected | {"SCS": "unbounded_inaccurate"})[name] for name in CHAIN}
    for name, status in statuses.items():
        assert f"{name}: {status}" in str(caught.value)
    assert "broken" in str(caught.value)


@pytest.mark.parametrize("solver", ["OSQP", "osqp"])
def test_a_named_solver_is_the_only_one(scripted, solver):
    asked = scripted()
    assert SVMPrimal(H, y, C).solve(solver).solver == "OSQP"
    assert asked == ["OSQP"]
    asked = scripted(OSQP="optimal_inaccurate")
    with pytest.raises(SolverFailed) as caught:
        SVMPrimal(H, y, C).solve(solver)
    assert [(a.solver, a.status) for a in caught.value.attempts] == [("OSQP", "optimal_inaccurate")]


def test_a_solver_that_cannot_state_the_problem_says_so():
    with pytest.raises(SolverFailed, match=r"OSQP: error .*(cannot solve|could not be reduced)"):
        RegularizedExpLoss(K, y, 0.1).solve("OSQP")


def test_an_option_that_a_solver_does_not_know_is_its_failure(scripted):
    scripted()
    with pytest.raises(SolverFailed, match="CLARABEL: error"):
        SVMPrimal(H, y, C).solve("CLARABEL", no_such_option=1)


def test_options_go_to_the_first_solver_in_its_own_words():
    problem = SVMPrimal(H, y, C)
    with pytest.raises(SolverFailed) as caught:
        problem.solve("CLARABEL", max_iter=1)
    assert caught.value.attempts[0].status != "optimal"
    with pytest.warns(SolverFallbackWarning):
        assert problem.solve(max_iter=1).solver == CHAIN[1]


def p4_bounds(H, y, C, w, u):
    """P4 in plain Python from arrays that are clipped and scaled to feasibility."""
    rows, columns = range(len(y)), range(len(w))
    w, u = [max(v, 0.0) for v in w], [min(max(v, 0.0), C) for v in u]
    slacks = [max(0.0, 1 - y[i] * sum(H[i, j] * w[j] for j in columns)) for i in rows]
    largest = max(sum(u[i] * y[i] * H[i, j] for i in rows) for j in columns)
    return sum(w) + C * sum(slacks), sum(u) / max(1.0, largest)


def test_a_loosened_solver_shows_its_real_gap():
    random, labels = np.random.default_rng(1), np.array([1.0, -1.0] * 20)
    columns = np.where(random.random((40, 60)) < 0.4, -1.0, 1.0) * labels[:, None]
    problem = SoftMarginBoosting(columns, labels, 0.3)
    solution = problem.solve("SCS", eps_abs=1e-3, eps_rel=1e-3)
    assert solution.status == "optimal"
    certificate = problem.certify(solution)
    primal, dual = p4_bounds(columns, labels, 0.3, solution.variables["w"], solution.duals["u"])
    assert (certificate.primal, certificate.dual) == pytest.approx((primal, dual), rel=1e-12)
    assert certificate.relative_gap == pytest.approx((primal - dual) / primal, rel=1e-9)
    assert certificate.relative_gap > 1e-4
    assert not certificate.holds(1e-6)
    claimed = problem.problem.solver_stats.extra_stats["info"]
    assert abs(claimed["pobj"] - claimed["dobj"]) < certificate.gap / 5
    assert problem.certify(problem.solve("SCS")).holds(1e-6)


def flip_duals(monkeypatch, factor, kinds):
    """Give every solver the habit of multiplying the multipliers of some kinds of constraints."""
    solve = cp.Problem.solve

    def flipped(problem, *args, **options):
        value = solve(problem, *args, **options)
        for constraint in problem.constraints:
            if isinstance(constraint, kinds) and constraint.dual_value is not None:
                constraint.dual_variables[0].save_value(factor * np.asarray(constraint.dual_value))
        return value

    monkeypatch.setattr(cp.Problem, "solve", flipped)


EQUALITIES = (cp.constraints.Zero, cp.constraints.zero.Equality)


@pytest.mark.thinned(1, kinds=[EQUALITIES, object], name=CASES)
def test_a_solver_with_flipped_signs_is_read_aright(monkeypatch, scripted, name, kinds):
    problem = CASES[name].problem()
    honest = problem.solve("CLARABEL")
    dual_sign.cache_clear()
    assert dual_sign("CLARABEL") == 1.0
    dual_sign.cache_clear()
    flip_duals(monkeypatch, -1.0, kinds)
    solution = problem.solve("CLARABEL")
    assert dual_sign("CLARABEL") == -1.0
    for key, values in honest.duals.items():
        np.testing.assert_allclose(solution.duals[key], values, atol=1e-4)
    assert problem.certify(solution).holds(1e-6)


def test_a_solver_whose_multipliers_are_of_the_wrong_size_is_refused(monkeypatch, scripted):
    dual_sign.cache_clear()
    flip_duals(monkeypatch, 0.5, object)
    with pytest.raises(SolverFailed, match=r"wrong multiplier .*0.5 where -1 or 1 was due"):
        RhoSVM(K, y).solve("CLARABEL")


@pytest.mark.parametrize("solver", CHAIN)
def test_signs_of_the_installed_solvers(solver):
    assert dual_sign(solver) == 1.0
