"""The squared error of simplex least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True, eq=False)
class SquaredError:
    """C/2 |L - Z|^2 for scores Z = H W + 1 b': the loss of SL (10). Dual value <U, L> - |U|^2 / (2 C).

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.
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
        return Term(self.C / 2 * cp.sum_squares(self.L - z))

    def value(self, z: Array) -> float:
        """Evaluate the loss."""
        return float(self.C / 2 * ((self.L - z) ** 2).sum())

    def dual_value(self, u: Array) -> float:
        """<U, L> - |U|^2 / (2 C)."""
        return float((u * self.L).sum() - (u * u).sum() / (2 * self.C))

    def multipliers(self, z: Array) -> Array:
        """C (L - Z)."""
        return self.C * (self.L - z)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Every U is feasible; with an intercept its columns must sum to 0."""
        return u if y is None else u - u.mean(axis=0)

    def scale(self, z: Array) -> float:
        """Every score is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """The mean of L - f."""
        return (self.L - f).mean(axis=0)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Every score is feasible."""
        return 0.0

    def dual_violation(self, u: Array) -> float:
        """Every U is feasible."""
        return 0.0

    def slackness(self, z: Array, u: Array) -> float:
        """Max |U - C (L - Z)|, relative to C max |L|."""
        return float(np.abs(u - self.C * (self.L - z)).max() / (self.C * np.abs(self.L).max()))
