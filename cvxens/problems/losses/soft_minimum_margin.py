"""The soft minimum margin that LPBoost maximises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems.duality import capped_simplex
from cvxens.problems.losses.protocol import excess
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True)
class SoftMinimumMargin:
    """min over rho of -rho + D sum_i max(0, rho - z_i): minus the soft minimum margin of LPBoost (DBS02).

    Its dual value is 0 on the capped simplex sum u = 1, 0 <= u <= D.

    Parameters
    ----------
    D : float
        Price of a unit of slack, D = 1/(nu n_samples); at least 1/n_samples.

    Examples
    --------
    >>> SoftMinimumMargin(D=1.0).value(np.array([0.5, 3.0]))
    -0.5
    """

    D: Scalar

    def term(self, z: Any) -> Term:
        """Model the loss with the margin rho and slacks xi >= 0, z >= rho - xi."""
        rho, xi = cp.Variable(name="rho"), cp.Variable(z.shape, nonneg=True, name="xi")
        return Term(-rho + self.D * cp.sum(xi), (z >= rho - xi,), {"rho": rho, "xi": xi})

    def margin(self, z: Array) -> float:
        """The best rho: the smallest margin that fewer than 1/D others lie strictly below."""
        return _at(z, 1 / self.D)

    def value(self, z: Array) -> float:
        """Evaluate the loss at the best rho."""
        rho = self.margin(z)
        return float(-rho + self.D * np.maximum(rho - z, 0).sum())

    def dual_value(self, u: Array) -> float:
        """0."""
        return 0.0

    def multipliers(self, z: Array) -> Array:
        """1/n_samples for every sample."""
        return np.full(z.shape, 1 / len(z))

    def repair(self, u: Array, y: Array | None) -> Array:
        """Project onto the capped simplex; with labels, each class carries half of the weight.

        Raises
        ------
        InvalidInput
            D is so small that the problem is unbounded.
        """
        sides, total = ((np.full(u.shape, True),), 1.0) if y is None else ((y > 0, y < 0), 0.5)
        least = total / min(np.count_nonzero(side) for side in sides)
        if least * (1 - 1e-12) > self.D:
            raise InvalidInput("D", f"found {self.D:g}", f"give at least {least:g}, or the problem is unbounded")
        repaired = np.empty_like(u)
        for side in sides:
            repaired[side] = capped_simplex(u[side], self.D, total)
        return repaired

    def scale(self, z: Array) -> float:
        """Every margin is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Exact: rho - b is the soft minimum of the positive scores and rho + b that of the negated negative ones.

        Each class counts with half of the weight.
        """
        return np.asarray((_at(-f[y < 0], 0.5 / self.D) - _at(f[y > 0], 0.5 / self.D)) / 2)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Slacks and rho, where both are given, must fit the margins."""
        if not {"xi", "rho"} <= auxiliary.keys():
            return 0.0
        xi = auxiliary["xi"]
        return max(excess(-xi), excess(auxiliary["rho"] - xi - z))

    def dual_violation(self, u: Array) -> float:
        """Distance from the capped simplex: signs and cap in units of D, and |sum u - 1|."""
        return max(excess(-u) / self.D, excess(u - self.D) / self.D, abs(float(u.sum()) - 1))

    def slackness(self, z: Array, u: Array) -> float:
        """u_i (z_i - rho) above the margin and (D - u_i) (rho - z_i) below it, in units of D."""
        rho = self.margin(z)
        return max(excess(u * np.maximum(z - rho, 0)), excess((self.D - u) * np.maximum(rho - z, 0))) / self.D


def _at(values: Array, rank: float) -> float:
    """The smallest value that fewer than `rank` others lie strictly below."""
    below = min(int(np.ceil(rank - 1e-9)), len(values)) - 1
    return float(np.partition(values, below)[below])
