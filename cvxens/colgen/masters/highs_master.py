"""The fast master of the linear programs: the dual in HiGHS, alive, with a row added for every column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from cvxens.colgen.masters.live_program import LiveProgram
from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import HardMargin, Hinge, SoftMinimumMargin
from cvxens.problems.penalties import L1, Simplex
from cvxens.types import Array


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
