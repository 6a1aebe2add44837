"""The fast master of the linear programs: the dual in HiGHS, alive, with a row added for every column."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.deadline import TimeUp, time_left
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import HardMargin, Hinge, SoftMinimumMargin
from cvxens.problems.penalties import L1, Simplex
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


class Dual(Protocol):
    """The dual program of a family of formulations, one row per column."""

    def add(self, signed: Array) -> None:
        """Add the row of a column with the values y_i h(x_i)."""

    def solve(self, restricted: Restricted) -> MasterSolution:
        """Solve, and translate to (w, b, u)."""


class BoxDual:
    """max sum u subject to 0 <= u <= C and no edge above `weight`: hinge loss and l1 penalty.

    Parameters
    ----------
    C, weight : float
        Of the loss and of the penalty.
    balance : ndarray of shape (n_samples,) or None
        The labels, if there is an intercept.
    nonnegative : bool
        Whether w >= 0; else no edge may be below -weight either.
    """

    def __init__(self, C: float, weight: float, n_samples: int, balance: Array | None, nonnegative: bool) -> None:
        self.range = (-np.inf if nonnegative else -weight, weight)
        self.program = LiveProgram(np.full(n_samples, -1.0), np.zeros(n_samples), np.full(n_samples, C))
        self.first = 0 if balance is None else 1
        if balance is not None:
            self.program.add_row(0.0, balance, 0.0)

    def add(self, signed: Array) -> None:
        """One more edge that must not exceed the weight."""
        lower, upper = self.range
        self.program.add_row(lower, signed, upper)

    def solve(self, restricted: Restricted) -> MasterSolution:
        """The weights are minus the multipliers of the edges, the intercept minus that of the balance."""
        u, multipliers = self.program.solve()
        b = -multipliers[: self.first].sum()
        return restricted.evaluate({"w": -multipliers[self.first :], "b": b, "u": u})


class GameDual:
    """min gamma subject to sum u = 1, 0 <= u <= D and no edge above gamma: the soft minimum margin on the simplex.

    Parameters
    ----------
    D : float
        Of the loss.
    balance : ndarray of shape (n_samples,) or None
        The labels, if there is an intercept.
    """

    def __init__(self, D: float, n_samples: int, balance: Array | None) -> None:
        cost = np.append(np.zeros(n_samples), 1.0)
        lower, upper = np.append(np.zeros(n_samples), -np.inf), np.append(np.full(n_samples, D), np.inf)
        self.program = LiveProgram(cost, lower, upper)
        self.program.add_row(1.0, np.ones(n_samples), 1.0)
        self.first = 1 if balance is None else 2
        if balance is not None:
            self.program.add_row(0.0, balance, 0.0)

    def add(self, signed: Array) -> None:
        """One more edge that must not exceed gamma."""
        self.program.add_row(-np.inf, np.append(signed, -1.0), 0.0)

    def game(self) -> tuple[Array, float, Array, float]:
        """Sample weights, the value of the game, weights of the columns, intercept."""
        variables, multipliers = self.program.solve()
        b = -float(multipliers[1 : self.first].sum())
        return variables[:-1], float(variables[-1]), -multipliers[self.first :], b

    def solve(self, restricted: Restricted) -> MasterSolution:
        """The weights are minus the multipliers of the edges."""
        u, _, a, b = self.game()
        return restricted.evaluate({"w": a, "b": np.asarray(b), "u": u})


class SeparationDual:
    """LL08 P3 as a game without a cap: its solution over gamma is that of P3; at gamma <= 0 its u is a Farkas vector.

    Parameters
    ----------
    weight : float
        Of the penalty.
    game : GameDual
        With D = 1.
    """

    def __init__(self, weight: float, game: GameDual) -> None:
        self.weight = weight
        self.game = game

    def add(self, signed: Array) -> None:
        """One more edge that must not exceed gamma."""
        self.game.add(signed)

    def solve(self, restricted: Restricted) -> MasterSolution:
        """Scale the game's solution to margins of 1 and edges of at most the weight."""
        u, gamma, a, b = self.game.game()
        if gamma > 0:
            point = {"w": a / gamma, "b": np.asarray(b / gamma), "u": u * self.weight / gamma}
            solution = restricted.evaluate(point)
            if np.isfinite(solution.objective):
                return solution
        return restricted.farkas(u)


def _box(loss: Hinge, penalty: L1, n_samples: int, balance: Array | None, nonnegative: bool) -> Dual:
    return BoxDual(loss.C, penalty.weight, n_samples, balance, nonnegative)


def _game(loss: SoftMinimumMargin, _: Simplex, n_samples: int, balance: Array | None, __: bool) -> Dual:
    return GameDual(loss.D, n_samples, balance)


def _separation(_: HardMargin, penalty: L1, n_samples: int, balance: Array | None, __: bool) -> Dual:
    return SeparationDual(penalty.weight, GameDual(1.0, n_samples, balance))


DUALS: Mapping[tuple[type, type], Callable[..., Dual]] = {
    (Hinge, L1): _box,
    (SoftMinimumMargin, Simplex): _game,
    (HardMargin, L1): _separation,
}
"""The dual program of each loss and penalty that make a linear program."""


class HighsMaster:
    """LL08 P3 and P4 and LPBoost by HiGHS's dual simplex, warm-started from the last basis.

    The restricted master has one variable per column and one constraint per sample; its dual, which is solved here,
    has one variable per sample and one row per column, so a new column is a new row and the last basis stays dual
    feasible. The first of these masters loads HiGHS, after which ortools can no longer be imported in the same process,
    nor HiGHS after ortools: each brings shared libraries of HiGHS of another version.

    Parameters
    ----------
    formulation : Formulation
        Hinge loss with an l1 penalty, the soft minimum margin on the simplex, or hard margins with an l1 penalty.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.

    Raises
    ------
    ImportError
        HiGHS cannot be loaded.
    """

    source = "DBS02; HiGHS"

    def __init__(self, formulation: Formulation, y: Array) -> None:
        if not self.supports(formulation):
            raise InvalidInput(
                "master",
                f"found HighsMaster for {formulation}",
                "give it Hinge + L1, or with w >= 0 SoftMinimumMargin + Simplex or HardMargin + L1; or use CvxpyMaster",
            )
        loss, penalty = formulation.terms
        self.restricted = Restricted(formulation, y)
        balance = y if formulation.intercept else None
        self.dual = DUALS[type(loss), type(penalty)](loss, penalty, len(y), balance, formulation.nonnegative)

    @staticmethod
    def supports(formulation: Formulation) -> bool:
        """Whether the formulation is one of the linear programs; without w >= 0 only the hinge loss is."""
        loss, penalty = formulation.terms
        known = (type(loss), type(penalty)) in DUALS
        return known and (formulation.nonnegative or isinstance(loss, Hinge))

    def add(self, columns: Sequence[Column]) -> None:
        """Add a row to the live program for each column."""
        for values in self.restricted.add(columns):
            self.dual.add(self.restricted.y * values)

    def solve(self) -> MasterSolution:
        """Solve from the last basis; where no margins of 1 can be reached yet, return the Farkas vector."""
        return self.dual.solve(self.restricted) if self.restricted.n_columns else self.restricted.start()

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses."""
        return self.restricted.bound(solution, priced)
