"""The soft minimum margin that LPBoost maximises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens.problems.duality import capped_simplex
from cvxens.problems.losses.protocol import excess, search_intercept
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
        below = min(int(np.ceil(1 / self.D - 1e-9)), len(z)) - 1
        return float(np.partition(z, below)[below])

    def value(self, z: Array) -> float:
        """Evaluate the loss at the best rho."""
        rho = self.margin(z)
        return float(-rho + self.D * np.maximum(rho - z, 0).sum())

    def dual_value(self, u: Array) -> float:
        """0."""
        return 0.0

    def start(self, shape: tuple[int, ...]) -> Array:
        """1/n_samples for every sample."""
        return np.full(shape, 1 / shape[0])

    def repair(self, u: Array, y: Array | None) -> Array:
        """Project onto the capped simplex; with labels, each class carries half of the weight."""
        if y is None:
            return capped_simplex(u, self.D)
        repaired = np.empty_like(u)
        for side in (y > 0, y < 0):
            repaired[side] = capped_simplex(u[side], self.D, total=0.5)
        return repaired

    def scale(self, z: Array) -> float:
        """Every margin is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Found by a one-dimensional search."""
        return search_intercept(self, f, y)

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
