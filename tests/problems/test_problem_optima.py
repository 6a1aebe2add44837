import sys

import cvxpy as cp
import numpy as np
import pytest
from optimum_references import ROADS, optimum
from problem_cases import CASES

from cvxens.crosscheck import SOLVERS
from cvxens.problems import FORMULATIONS

CONIC = ["RegularizedExpLoss", *(name for name in CASES if name.startswith("EntropyProjection"))]
FAST = {formulation.__name__: solve for formulation, solve in SOLVERS.items()}
QUADRATIC_SOLVERS = ("CLARABEL", *(("ECOS",) if sys.version_info < (3, 13) else ()), "OSQP", "SCS")


def test_every_formulation_has_a_case_and_a_road():
    assert {formulation.__name__ for formulation in FORMULATIONS} == {name.partition(",")[0] for name in CASES}
    assert ROADS.keys() == CASES.keys()


def test_ecos_is_there_where_it_has_wheels():
    assert set(QUADRATIC_SOLVERS) <= set(cp.installed_solvers())


@pytest.mark.parametrize("name", CASES)
def test_the_chain_finds_the_optimum_of_the_independent_road(name):
    problem = CASES[name].problem()
    assert problem.problem.is_dcp(dpp=True)
    solution = problem.solve()
    assert solution.status == "optimal"
    assert solution.attempts[-1].solver == solution.solver
    assert solution.objective == problem.problem.value == pytest.approx(optimum(name), rel=1e-6)
    certificate = problem.certify(solution)
    assert certificate.primal == pytest.approx(solution.objective, rel=1e-6)
    low, high = sorted([certificate.primal, certificate.dual])
    slack = 1e-9 * abs(optimum(name))
    assert low - slack <= optimum(name) <= high + slack
    assert certificate.proven
    assert 0 <= certificate.relative_gap <= 1e-6
    assert certificate.kkt_residual < 1e-3
    assert all(np.isfinite(moved) and moved < 1e-5 for moved in certificate.repair.values())


@pytest.mark.parametrize("name", [name for name in CASES if name.partition(",")[0] in FAST])
def test_the_fast_path_finds_the_optimum_of_the_independent_road(name):
    problem = CASES[name].problem()
    solution = FAST[name.partition(",")[0]](problem)
    assert solution.objective == pytest.approx(optimum(name), rel=1e-6)
    assert problem.certify(solution).holds(1e-6)


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("name", "solver"),
    [(name, solver) for name in CASES for solver in (("CLARABEL", "SCS") if name in CONIC else QUADRATIC_SOLVERS)],
)
def test_solvers_agree(name, solver):
    problem = CASES[name].problem()
    solution = problem.solve(solver)
    assert solution.solver == solver
    assert solution.objective == pytest.approx(optimum(name), rel=1e-6)
    assert problem.certify(solution).holds(1e-6)


@pytest.mark.parametrize("name", ["LPBoost", "RhoSVM"])
def test_primal_and_dual_problems_have_one_value(name):
    problem = CASES[name].problem()
    dual = problem.dual_problem
    assert dual.is_dcp(dpp=True)
    assert problem.problem.objective.NAME == "maximize"
    assert dual.objective.NAME == "minimize"
    problem.solve()
    dual.solve(solver="CLARABEL")
    assert dual.value == pytest.approx(optimum(name), rel=1e-6)
    multipliers = dual.variables()[0].value
    if name == "LPBoost":
        multipliers = next(v.value for v in dual.variables() if v.name() == "u")
    certificate = problem.certify(problem.solve(), u=multipliers)
    assert certificate.holds(1e-6)
