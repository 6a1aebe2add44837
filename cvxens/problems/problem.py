"""What every formulation is: a cvxpy problem that can also be evaluated, repaired and certified in numpy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, final, overload

from cvxens import validation
from cvxens.certificates import Certificate, certify
from cvxens.errors import CvxensError, InvalidInput
from cvxens.problems.modelling import Model, solve_model, tell_of_fallback
from cvxens.types import Point, Solution


class Swept:
    """A positive number of a problem, or one per sample, that may be changed between solves.

    It is a parameter of the cvxpy problem (DPP), so a new value costs no new compilation.

    Parameters
    ----------
    check : callable
        Maps (name, value) to the clean value or raises InvalidInput.
    """

    def __init__(self, check: Callable[[str, Any], Any] = validation.positive) -> None:
        self.check = check

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, problem: None, owner: type) -> Swept: ...
    @overload
    def __get__(self, problem: Problem, owner: type) -> Any: ...
    def __get__(self, problem: Problem | None, owner: type) -> Any:
        return self if problem is None else problem.__dict__[self.name]

    def __set__(self, problem: Problem, value: Any) -> None:
        value = problem.admit(self.name, self.check(self.name, value))
        problem.__dict__[self.name] = value
        if "_model" in problem.__dict__:
            problem._model.parameters[self.name].value = value


class Problem(ABC):
    """A formulation on given data.

    A concrete problem states its equation and source, models itself in cvxpy (`build`), and evaluates,
    completes and repairs points in numpy. Solving and certifying are the same for all.

    Attributes
    ----------
    equation, source : str
        The formulation in one line, and where it is from.
    aliases : mapping of str to str
        Other names that `certify` understands for these arrays.
    maximise : bool
        Whether the primal is a maximum.
    """

    equation: ClassVar[str]
    source: ClassVar[str]
    aliases: ClassVar[Mapping[str, str]] = {}
    maximise: ClassVar[bool] = False

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The arrays of a point and their shapes: primal first, then dual."""

    @abstractmethod
    def build(self) -> Model:
        """Model the problem in cvxpy."""

    @abstractmethod
    def repair(self, point: Point) -> Point:
        """Complete and repair `point` into a primal and a dual feasible one."""

    @abstractmethod
    def value(self, point: Point) -> float:
        """Evaluate the objective at a repaired point, in numpy."""

    @abstractmethod
    def dual_value(self, point: Point) -> float:
        """Evaluate the dual objective at a repaired point, in numpy."""

    @abstractmethod
    def rounding(self, point: Point) -> float:
        """Bound the rounding error of terms that cancel in the two objectives at a repaired point."""

    @abstractmethod
    def residuals(self, point: Point) -> dict[str, float]:
        """Evaluate the named KKT residuals of a complete point."""

    def admit(self, name: str, value: Any) -> Any:
        """Return the value of a swept number; raise InvalidInput where the problem has no solution at it."""
        return value

    def infeasibility(self) -> CvxensError | None:
        """Prove that there is no feasible point, where a solver claims so; None where there is no such proof."""
        return None

    @cached_property
    def _model(self) -> Model:
        model = self.build()
        for name, parameter in model.parameters.items():
            parameter.value = getattr(self, name)
        if not model.problem.is_dcp(dpp=True):
            raise InvalidInput(
                type(self).__name__,
                "found a problem that is not convex by cvxpy's rules (DCP, DPP)",
                "give a convex loss and a convex penalty, written with cvxpy's atoms",
            )
        return model

    @final
    @property
    def problem(self) -> Any:
        """The formulation as a ``cvxpy.Problem``."""
        return self._model.problem

    @final
    def solve(self, solver: str | None = None, **options: Any) -> Solution:
        """Solve with a solver of cvxpy's.

        Parameters
        ----------
        solver : str or None
            A solver to use and no other. None tries Clarabel, ECOS, OSQP (quadratic programs) and SCS in turn,
            each asked for nine digits, until one reports an optimum; a warning tells of those that failed.
        **options
            Passed to the solver that is tried first, in its own words; they override the nine digits.

        Returns
        -------
        Solution
            ``attempts`` tells how every solver that was tried ended.

        Raises
        ------
        SolverFailed
            No solver reported an optimum; "inaccurate" does not count.
        NotSeparable
            A hard-margin problem has no feasible point.
        """
        solution = solve_model(self._model, solver, options, self.infeasibility)
        tell_of_fallback(solution.attempts)
        return solution

    @final
    def certify(self, solution: Solution | Mapping[str, Any] | None = None, /, **arrays: Any) -> Certificate:
        """Say how far a solution is from the optimum.

        Parameters
        ----------
        solution : Solution or mapping of str to array-like
            Found by this problem's `solve`, by a fast solver, or anywhere; or nothing, where `arrays` say it all.
        **arrays : array-like
            The problem's arrays by name; they override those of `solution`.

        Returns
        -------
        Certificate
        """
        if isinstance(solution, Solution):
            solution = {**solution.variables, **solution.duals}
        return certify(self, **{**(solution or {}), **arrays})
