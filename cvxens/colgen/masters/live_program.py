"""Linear programs in HiGHS that stay alive while rows are added."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from cvxens.deadline import TimeUp, time_left
from cvxens.errors import SolverFailed
from cvxens.types import Array, Attempt


def load_highs() -> ModuleType:
    """Import HiGHS, which nothing but a linear program needs.

    Raises
    ------
    ImportError
        It is not installed, or ortools is loaded: each brings shared libraries of HiGHS, of which the first ones that
        are loaded are taken for both.
    """
    try:
        import highspy
    except ImportError as error:
        clash = "; ortools, which this process has loaded, brings another HiGHS, and the two do not go together"
        found = f"highspy cannot be imported ({error}){clash if 'ortools' in sys.modules else ''}"
        raise ImportError(found) from error
    return highspy


class LiveProgram:
    """min cost'x within bounds, subject to rows that are added one after the other.

    Parameters
    ----------
    cost, lower, upper : ndarray of shape (n_variables,)
        Cost and bounds of the variables.

    Examples
    --------
    >>> program = LiveProgram(np.array([-1.0]), np.zeros(1), np.full(1, 9.0))
    >>> program.add_row(-np.inf, np.array([2.0]), 4.0)
    >>> program.solve()
    (array([2.]), array([-0.5]))
    """

    def __init__(self, cost: Array, lower: Array, upper: Array) -> None:
        statuses = load_highs().HighsModelStatus
        self.optimal, self.time_limit = statuses.kOptimal, statuses.kTimeLimit
        self.highs = load_highs().Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("presolve", "off")
        self.highs.setOptionValue("primal_feasibility_tolerance", 1e-9)
        self.highs.setOptionValue("dual_feasibility_tolerance", 1e-9)
        n = len(cost)
        self.indices = np.arange(n, dtype=np.int32)
        _check(self.highs.addVars(n, lower, upper), "bounds")
        _check(self.highs.changeColsCost(n, self.indices, cost), "costs")

    def add_row(self, lower: float, coefficients: Array, upper: float) -> None:
        """Add lower <= coefficients'x <= upper; fewer coefficients than variables leave out the last ones."""
        indices = self.indices[: len(coefficients)]
        _check(self.highs.addRow(lower, upper, len(coefficients), indices, coefficients), "coefficients")

    def solve(self) -> tuple[Array, Array]:
        """Solve from the last basis; returns the variables and the rows' multipliers, <= 0 for an upper bound.

        Raises
        ------
        SolverFailed
            Neither the last basis nor a cold start led to an optimum. TimeUp, where there is no time left.
        """
        attempts = []
        for start in ("warm", "cold"):
            before = self.highs.getRunTime()
            # HiGHS counts the time of all runs
            self.highs.setOptionValue("time_limit", before + max(time_left(), 0.0))
            self.highs.run()
            status = self.highs.getModelStatus()
            if status == self.time_limit:
                raise TimeUp
            if status == self.optimal:
                solution = self.highs.getSolution()
                return np.array(solution.col_value), np.array(solution.row_dual)
            seconds = self.highs.getRunTime() - before
            attempts.append(Attempt(f"HiGHS, {start} start", self.highs.modelStatusToString(status), seconds))
            self.highs.clearSolver()
        raise SolverFailed(attempts)


def _check(status: Any, numbers: str) -> None:
    """Raise where HiGHS has refused a part of a program, without which it would solve another one."""
    if status == load_highs().HighsStatus.kError:
        raise SolverFailed([Attempt("HiGHS", "refused", 0.0, f"it takes no {numbers} of this size")])
