"""The fast master of the linear programs: the dual in HiGHS, alive, with a row added for every column."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from cvxens.colgen.protocols import Column, MasterSolution
from cvxens.colgen.restricted import FastMaster, Needs
from cvxens.deadline import TimeUp, time_left
from cvxens.errors import SolverFailed
from cvxens.problems.formulation import Formulation
from cvxens.types import Array, Attempt


def load_highs() -> ModuleType:
    """Import HiGHS; an ImportError where it is missing, or where ortools has loaded another one (see `HighsMaster`)."""
    try:
        import highspy
    except ImportError as error:
        clash = "; ortools, which this process has loaded, brings another HiGHS, and the two do not go together"
        found = f"highspy cannot be imported ({error}){clash if 'ortools' in sys.modules else ''}"
        raise ImportError(found) from error
    return highspy


class LiveProgram:
    """``min cost'x`` within bounds, subject to rows that are added one after the other.

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
        """Solve from the last basis, else anew; returns variables and multipliers of rows, <= 0 for an upper bound."""
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


class HighsMaster(FastMaster):
    """LL08 P3 and P4 and LPBoost by HiGHS's dual simplex, warm-started from the last basis.

    The restricted master has one variable per column and one constraint per sample; its dual, which is solved here,
    has one variable per sample and one row per column, so a new column is a new row and the last basis stays dual
    feasible. The first of these masters loads HiGHS, after which ortools can no longer be imported in the same process,
    nor HiGHS after ortools: each brings shared libraries of HiGHS of another version.

    Parameters
    ----------
    formulation : Formulation
        Hinge loss with an l1 penalty, the soft minimum margin on the simplex, or hard margins with an l1 penalty and
        w >= 0.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.

    Raises
    ------
    ImportError
        HiGHS cannot be loaded.
    """

    source = "DBS02; HiGHS"
    needs = (
        Needs("box", "edge_limit"),
        Needs("caps", "total"),
        Needs("floor", "edge_limit", nonnegative=True),
    )

    def __init__(self, formulation: Formulation, y: Array) -> None:
        super().__init__(formulation, y)
        n, loss = len(y), self.loss
        self.is_game = not hasattr(loss, "box")
        if self.is_game:
            # min gamma subject to sum u = 1, 0 <= u <= caps and no edge above gamma
            cost = np.append(np.zeros(n), 1.0)
            caps = np.full(n, getattr(loss, "caps", 1.0))
            self.program = LiveProgram(cost, np.append(np.zeros(n), -np.inf), np.append(caps, np.inf))
            self.program.add_row(1.0, np.ones(n), 1.0)
        else:
            # max sum u subject to 0 <= u <= box and no edge above the limit
            self.program = LiveProgram(np.full(n, -1.0), np.zeros(n), np.full(n, loss.box))
        if formulation.intercept:
            self.program.add_row(0.0, y, 0.0)

    def add(self, columns: Sequence[Column]) -> None:
        for values in self.restricted.add(columns):
            signed = self.restricted.y * values
            if self.is_game:
                self.program.add_row(-np.inf, np.append(signed, -1.0), 0.0)
            else:
                limit = self.penalty.edge_limit
                self.program.add_row(-np.inf if self.restricted.formulation.nonnegative else -limit, signed, limit)

    def solve(self) -> MasterSolution:
        """Solve from the last basis; where no margins of 1 can be reached yet, return the Farkas vector."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        variables, multipliers = self.program.solve()
        # the weights are minus the multipliers of the edges, the intercept minus that of the balance
        first = len(multipliers) - self.restricted.n_columns
        w, b = -multipliers[first:], -multipliers[int(self.is_game) : first].sum()
        if hasattr(self.loss, "floor"):
            return self._scale_to_floor(w, b, variables[:-1], float(variables[-1]))
        return self.restricted.evaluate({"w": w, "b": np.asarray(b), "u": variables[: len(self.restricted.y)]})

    def _scale_to_floor(self, a: Array, b: float, u: Array, gamma: float) -> MasterSolution:
        """Turn a solution of the game into one of LL08 P3; at a value gamma <= 0 its u is a Farkas vector.

        The game's margins are at least gamma, and its edges at most gamma.
        """
        if gamma > 0:
            scale = self.loss.floor / gamma
            point = {"w": scale * a, "b": np.asarray(scale * b), "u": u * self.penalty.edge_limit / gamma}
            solution = self.restricted.evaluate(point)
            if np.isfinite(solution.objective):
                return solution
        return self.restricted.farkas(u)
