"""The largest value of one linear function of the weights after another within a level, by a live linear program."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from cvxens.colgen.masters.linear_masters import LiveProgram
from cvxens.problems.formulation import Formulation
from cvxens.problems.level_sets import Reached
from cvxens.types import Array


class LevelProgram:
    """``max c'w`` over w >= 0 subject to ``loss(z) + penalty(w) <= level``, of hinges, or of the soft minimum margin.

    The program stays the same but for c and for columns that are added, so the last basis stays feasible, and the
    primal simplex method goes on from it: on 569 samples and 101 columns some 10 ms, where an interior-point method
    takes 600 from the beginning.

    Parameters
    ----------
    formulation : Formulation
        With w >= 0: a loss of hinges with an l1 penalty, or the soft minimum margin on the simplex.
    y : ndarray of shape (n_samples,)
        Signs of the margins.
    level : float
        Above the optimum.

    Raises
    ------
    ImportError
        HiGHS cannot be loaded.
    """

    def __init__(self, formulation: Formulation, y: Array, level: float) -> None:
        loss, penalty = (self._loss, self._penalty) = self._terms(formulation)
        self.y, self.intercept = y, formulation.intercept
        n = len(y)
        self.is_game = hasattr(loss, "caps")
        # each part of the loss is sum_i prices_i xi_i with sign z_i + xi_i >= sign knots_i, or z_i + xi_i >= rho
        parts = [(1.0, 0.0, loss.caps)] if self.is_game else [tuple(part) for part in loss.hinges]
        self.signs = np.array([float(sign) for sign, _, _ in parts])
        prices = np.concatenate([np.broadcast_to(price, n) for _, _, price in parts])
        knots = np.concatenate([sign * np.broadcast_to(knot, n) for sign, knot, _ in parts])
        self.n_slacks = len(prices)
        nothing = np.zeros(0)
        self.program = LiveProgram(nothing, nothing, nothing)
        for knot in knots.tolist():
            self.program.add_row(knot, nothing, inf)
        if self.is_game:
            self.program.add_row(penalty.total, nothing, penalty.total)
        self.program.add_row(-inf, nothing, level)
        # the variables: slacks, then b and rho where there are any, then w
        column = np.zeros(self.n_slacks + self.is_game + 1)
        for row, price in enumerate(prices.tolist()):
            column[row], column[-1] = 1.0, price
            self.program.add_column(column)
            column[row] = 0.0
        if self.intercept:
            column[: self.n_slacks], column[-1] = np.multiply.outer(self.signs, y).ravel(), 0.0
            self.program.add_column(column, -inf)
        if self.is_game:
            column[:] = 0.0
            column[: self.n_slacks] = column[-1] = -1.0
            self.program.add_column(column, -inf)
        self.n_columns = 0

    @staticmethod
    def _terms(formulation: Formulation) -> tuple[Any, Any]:
        return formulation.terms

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        """True if loss and penalty are of the kinds that it takes."""
        loss, penalty = cls._terms(formulation)
        of_hinges = hasattr(loss, "hinges") and hasattr(penalty, "edge_limit")
        return formulation.nonnegative and (of_hinges or (hasattr(loss, "caps") and hasattr(penalty, "total")))

    def add(self, H: Array) -> None:
        """Add columns (n_samples, n_added)."""
        for values in H.T:
            margins = np.multiply.outer(self.signs, self.y * values).ravel()
            rest = [1.0, 0.0] if self.is_game else [self._penalty.edge_limit]
            self.program.add_column(np.append(margins, rest))
        self.n_columns += H.shape[1]

    def maximise(self, c: Array) -> Reached:
        """Maximise c'w over the columns so far, from the last basis.

        Raises
        ------
        SolverFailed
            HiGHS finds no optimum.
        """
        n_others = len(self.program.indices) - self.n_columns
        self.program.change_costs(np.append(np.zeros(n_others), -c))
        variables, multipliers = self.program.solve()
        price = -float(multipliers[-1])
        u = self.signs @ multipliers[: self.n_slacks].reshape(len(self.signs), -1)
        b = variables[self.n_slacks] if self.intercept else 0.0
        w = np.maximum(variables[n_others:], 0.0)
        return Reached(w, np.asarray(b), u / price if price > 0 else np.zeros(len(self.y)), max(price, 0.0))
