"""Models in cvxpy, which is imported when the first is made, and the solvers that are asked in turn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import lazy_loader
import numpy as np

from cvxens.errors import CvxensError, InvalidInput, SolverFailed, SolverFallbackWarning
from cvxens.limits import check_time, time_left
from cvxens.types import Attempt, Point, Solution

if TYPE_CHECKING:
    import cvxpy as cp
else:
    cp = lazy_loader.load("cvxpy")

__all__ = ["cp"]

Scalar: TypeAlias = Any
"""A float where numbers are evaluated, a ``cvxpy.Parameter`` where a problem is modelled."""


@dataclass(frozen=True)
class Term:
    """One convex term of an objective, in cvxpy: finite where its constraints hold."""

    expression: cp.Expression  # convex, scalar
    constraints: tuple[cp.Constraint, ...] = ()
    variables: Mapping[str, cp.Variable] = field(default_factory=dict)  # ones worth reporting, such as slacks `xi`


@dataclass(frozen=True)
class Model:
    """A problem modelled in cvxpy, and the way back to its named variables and multipliers."""

    problem: cp.Problem  # convex by DCP, and DPP in its parameters
    variables: Mapping[str, cp.Expression]
    duals: Mapping[str, tuple[cp.Constraint, float]]  # of each multiplier, and the factor on cvxpy's value of it
    parameters: Mapping[str, cp.Parameter] = field(default_factory=dict)
    back: Callable[[Point, Point], Point] = lambda _, duals: duals  # (variables, duals) to the duals of the stated one


TIGHT: Mapping[str, Mapping[str, object]] = {
    "CLARABEL": {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9},
    "ECOS": {"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9, "max_iters": 200},
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
}
"""Options that ask each solver for nine digits."""

TIME_LIMITS: Mapping[str, str] = {
    "CLARABEL": "time_limit",
    "HIGHS": "time_limit",
    "OSQP": "time_limit",
    "SCS": "time_limit_secs",
}
"""The option of each solver that has a limit of seconds; ECOS has none."""


_list_installed = cache(lambda: tuple(cp.installed_solvers()))
"""Lists the solvers that cvxpy finds, which takes it milliseconds every time."""


def solver_chain(model: Model, solver: str | None) -> tuple[str, ...]:
    """Return the solvers to try in turn: the one that is named, or all that apply."""
    installed = _list_installed()
    if solver is not None:
        name = str(solver).upper()
        if name not in installed:
            raise InvalidInput("solver", f"found {solver!r}", f"name one of {', '.join(installed)}")
        return (name,)
    chain = ("CLARABEL", "ECOS", *(("OSQP",) if model.problem.is_qp() else ()), "SCS")
    return tuple(name for name in chain if name in installed)


def solve_model(
    model: Model,
    solver: str | None,
    options: Mapping[str, object],
    infeasibility: Callable[[], CvxensError | None] = lambda: None,
) -> Solution:
    """Solve with the first solver of the chain that claims an optimum; `attempts` has those that did not.

    A claim that there is none is believed where `infeasibility` proves it, and raised as the error it returns; else
    SolverFailed has the status of each attempt.
    """
    attempts: list[Attempt] = []
    for name in solver_chain(model, solver):
        attempt = _attempt(model, name, {**TIGHT.get(name, {}), **(options if not attempts else {})})
        attempts.append(attempt)
        if attempt.status == "optimal":
            return _solution(model, attempts)
        if attempt.status in {"infeasible", "infeasible_inaccurate"} and (proof := infeasibility()) is not None:
            raise proof
    claimed = {"infeasible", "unbounded"} & {attempt.status.split("_")[0] for attempt in attempts[:1]}
    raise SolverFailed(attempts, "" if claimed else _find_cause(model.problem))


def _find_cause(problem: cp.Problem) -> str:
    """Return what to do where coefficients differ in size by more than solvers have digits for; else nothing."""
    if problem.is_mixed_integer():
        return ""
    data = problem.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": False})[0]
    sizes = np.abs(np.concatenate([data["A"].data, data["b"], data["c"]]))
    sizes = sizes[sizes > 0]
    # the ratio of the largest and the least coefficient from which on solvers of nine digits may fail for it
    if not sizes.size or sizes.max() <= 1e9 * sizes.min():
        return ""
    return f"its coefficients are from {sizes.min():.1g} to {sizes.max():.1g} in size: rescale the data"


def _solution(model: Model, attempts: list[Attempt]) -> Solution:
    """Read variables and multipliers as the last, successful attempt left them."""
    last = attempts[-1]
    sign = dual_sign(last.solver)
    variables = {name: np.asarray(v.value, dtype=float) for name, v in model.variables.items()}
    duals = {name: sign * factor * np.asarray(c.dual_value, dtype=float) for name, (c, factor) in model.duals.items()}
    objective = float(model.problem.value)
    if not np.isfinite(objective):  # at a point outside the domain by rounding, such as ln of -1e-11
        objective = float(model.problem.solution.opt_val)
    stated = model.back(variables, duals)
    return Solution(objective, variables, stated, last.status, last.solver, last.seconds, tuple(attempts))


def _attempt(model: Model, name: str, options: Mapping[str, object]) -> Attempt:
    """Ask one solver; an error of cvxpy's or the solver's own is an outcome; TimeUp where time is up and no optimum."""
    check_time()
    start, message = time.perf_counter(), ""
    if name in TIME_LIMITS and (left := time_left()) < inf:
        options = {TIME_LIMITS[name]: left, **options}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            # a solver that is updated in place keeps the scaling of earlier data, and may lose digits to it
            model.problem.solve(solver=name, **{"warm_start": False, **options})
        status = model.problem.status
    except (cp.SolverError, ArithmeticError, ValueError, TypeError) as error:
        status, message = "error", " ".join(str(error).split())
    if status != "optimal":
        check_time()
    return Attempt(name, status, time.perf_counter() - start, message)


def tell_of_fallback(attempts: Sequence[Attempt]) -> None:
    """Warn the caller's caller where solvers failed before the last one."""
    if failed := [f"{a.solver} ({a.status})" for a in attempts[:-1]]:
        told = f"{', '.join(failed)} failed; the solution is from {attempts[-1].solver}"
        warnings.warn(told, SolverFallbackWarning, stacklevel=3)


@cache
def dual_sign(solver: str) -> float:
    """Find the sign that makes a solver's multiplier of ``lhs == rhs`` that of ``+ nu'(lhs - rhs)`` in the Lagrangian.

    The solver is asked for min -2 x + 3 t with x == 1, t >= x, whose multiplier of the equality is -1.
    """
    x, t = cp.Variable(), cp.Variable()
    equality = x == 1
    problem = cp.Problem(cp.Minimize(-2 * x + 3 * t), [equality, t >= x])
    problem.solve(solver=solver)
    multiplier = float(equality.dual_value)
    if abs(abs(multiplier) - 1) > 1e-2:
        raise SolverFailed([Attempt(solver, "wrong multiplier", 0.0, f"{multiplier:.3g} where -1 or 1 was due")])
    return -float(np.sign(multiplier))
