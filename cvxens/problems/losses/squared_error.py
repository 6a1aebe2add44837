"""The squared error of simplex least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens.problems.losses.protocol import excess
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True, eq=False)
class SquaredError:
    """C/2 |L - Z|^2 for scores Z = H W + 1 b': the loss of SL (10). Dual value <U, L> - |U|^2 / (2 C).

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Price of half a squared error, above 0; of every sample its own in an array, where samples at 0 play no part.
    L : ndarray of shape (n_samples, n_outputs)
        Label codes.

    Examples
    --------
    >>> SquaredError(C=2.0, L=np.eye(2)).value(np.zeros((2, 2)))
    2.0
    """

    C: Scalar
    L: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the label codes."""
        return self.L.shape

    def term(self, z: Any) -> Term:
        """Model the loss."""
        return Term(cp.sum(cp.multiply(self.C, cp.sum(cp.square(self.L - z), axis=1))) / 2)

    def value(self, z: Array) -> float:
        """Evaluate the loss."""
        return float((self._prices * (self.L - z) ** 2).sum() / 2)

    def dual_value(self, u: Array) -> float:
        """<U, L> - sum |U_i|^2 / (2 C_i), where U_i is 0 at a price of 0."""
        C = self._prices
        return float((u * self.L).sum() - (u * u / np.where(C > 0, 2 * C, 1.0)).sum())

    def dual_magnitude(self, u: Array) -> float:
        """Sum |U_ik L_ik| + sum |U_i|^2 / (2 C_i)."""
        C = self._prices
        return float(np.abs(u * self.L).sum() + (u * u / np.where(C > 0, 2 * C, 1.0)).sum())

    def multipliers(self, z: Array) -> Array:
        """C_i (L_i - Z_i)."""
        return self._prices * (self.L - z)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Every U is feasible but at prices of 0; with an intercept its columns must sum to 0."""
        u = u if np.min(self.C) > 0 else u * (self._prices > 0)
        return u if y is None else u - self._shares * u.sum(axis=0)

    def scale(self, z: Array) -> float:
        """Every score is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """The mean of L - f, weighted by the prices."""
        return self._shares[:, 0] @ (self.L - f)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Every score is feasible."""
        return 0.0

    def dual_violation(self, u: Array) -> float:
        """The largest |U| at a price of 0, in units of the largest price."""
        return excess(np.where(self._prices > 0, 0.0, np.abs(u))) / float(np.max(self.C))

    def slackness(self, z: Array, u: Array) -> float:
        """Max |U_i - C_i (L_i - Z_i)|, relative to max C max |L|."""
        return float(np.abs(u - self.multipliers(z)).max() / (np.max(self.C) * np.abs(self.L).max()))

    @property
    def _prices(self) -> Array:
        """C as a column, or as the one number in it."""
        return np.reshape(self.C, (-1, 1))

    @property
    def _shares(self) -> Array:
        """The share of every sample in the sum of the prices, a column."""
        prices = np.broadcast_to(self._prices, (len(self.L), 1))
        return prices / prices.sum()
