"""The soft minimum margin that LPBoost maximises."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems.duality import capped_simplex
from cvxens.problems.losses.protocol import excess
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point

ROUNDED = 64 * float(np.finfo(float).eps)
"""What rounding may have taken off prices that add up to 1, as 1/n_samples or w / sum w do: they then count as 1."""


def adds_up(D: Array, total: float = 1.0) -> bool:
    """Whether the prices of samples add up to `total`, but for their own rounding; their sum is rounded once.

    Examples
    --------
    >>> adds_up(np.full(49, 1 / 49)), adds_up(np.full(49, (1 - 9e-13) / 49))
    (True, False)
    """
    return fsum(D.tolist()) >= total * (1 - ROUNDED)


@dataclass(frozen=True, eq=False)
class SoftMinimumMargin:
    """min over rho of -rho + D sum_i max(0, rho - z_i): minus the soft minimum margin of LPBoost (DBS02).

    Its dual value is 0 on the capped simplex sum u = 1, 0 <= u <= D.

    Parameters
    ----------
    D : float or ndarray of shape (n_samples,)
        Price of a unit of slack, D = 1/(nu n_samples); of every sample its own in an array. The sum over the samples
        is at least 1, but for the rounding of D itself; below that the margin rho is worth more than it costs, without
        end.

    Examples
    --------
    >>> SoftMinimumMargin(D=1.0).value(np.array([0.5, 3.0]))
    -0.5
    """

    D: Scalar

    @property
    def shape(self) -> tuple[int, ...]:
        """Of prices of their own, else ()."""
        return np.shape(self.D)

    def term(self, z: Any) -> Term:
        """Model the loss with the margin rho and slacks xi >= 0, z >= rho - xi."""
        rho, xi = cp.Variable(name="rho"), cp.Variable(z.shape, nonneg=True, name="xi")
        return Term(-rho + cp.sum(cp.multiply(self.D, xi)), (z >= rho - xi,), {"rho": rho, "xi": xi})

    def margin(self, z: Array) -> float:
        """The best rho: the largest margin below which the prices D add up to less than 1."""
        return _quantile(z, np.broadcast_to(self.D, z.shape), 1.0)

    def value(self, z: Array) -> float:
        """Evaluate the loss at the best rho."""
        rho = self.margin(z)
        return float(-rho + (self.D * np.maximum(rho - z, 0)).sum())

    def magnitude(self, z: Array) -> float:
        """|rho| + D sum_i max(0, rho - z_i)."""
        rho = self.margin(z)
        return float(abs(rho) + (self.D * np.maximum(rho - z, 0)).sum())

    def dual_value(self, u: Array) -> float:
        """0."""
        return 0.0

    def dual_magnitude(self, u: Array) -> float:
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
        D, repaired = np.broadcast_to(self.D, u.shape), np.empty_like(u)
        for side in sides:
            if not adds_up(D[side], total):
                least = total / np.count_nonzero(side)
                raise InvalidInput(
                    "D",
                    f"found {D[side].mean():g} a sample",
                    f"give at least {least:g}, or the problem is unbounded",
                )
            repaired[side] = capped_simplex(u[side], D[side], total)
        return repaired

    def scale(self, z: Array) -> float:
        """Every margin is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Exact: rho - b is the soft minimum of the positive scores and rho + b that of the negated negative ones.

        Each class counts with half of the weight.
        """
        D, positive = np.broadcast_to(self.D, f.shape), y > 0
        of_negative, of_positive = _quantile(-f[~positive], D[~positive], 0.5), _quantile(f[positive], D[positive], 0.5)
        return np.asarray((of_negative - of_positive) / 2)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Slacks and rho, where both are given, must fit the margins."""
        if not {"xi", "rho"} <= auxiliary.keys():
            return 0.0
        xi = auxiliary["xi"]
        return max(excess(-xi), excess(auxiliary["rho"] - xi - z))

    def dual_violation(self, u: Array) -> float:
        """Distance from the capped simplex: signs and cap in units of D, and |sum u - 1|."""
        return max(excess(-u / self.D), excess(u / self.D - 1), abs(float(u.sum()) - 1))

    def slackness(self, z: Array, u: Array) -> float:
        """u_i (z_i - rho) above the margin and (D - u_i) (rho - z_i) below it, in units of D."""
        rho, p = self.margin(z), u / self.D
        return max(excess(p * np.maximum(z - rho, 0)), excess((1 - p) * np.maximum(rho - z, 0)))


def _quantile(values: Array, weights: Array, total: float) -> float:
    """The smallest value at which the weights, added up in the order of the values, reach `total`."""
    order = np.argsort(values)
    reached = int(np.searchsorted(np.cumsum(weights[order]), total * (1 - 1e-9)))
    return float(values[order[min(reached, len(values) - 1)]])
