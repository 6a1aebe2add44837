"""Smooth losses: exponential, logistic and squared hinge, C sum_i phi(z_i)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, xlogy

from cvxens.problems.duality import balance_classes, clip_box
from cvxens.problems.losses.protocol import excess, search_intercept
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point


def _nonnegative(u: Array, y: Array | None) -> Array:
    u = np.maximum(u, 0)
    return u if y is None else balance_classes(u, y)


def _distance(u: Array, multipliers: Array) -> float:
    return float(np.abs(u - multipliers).max()) / max(float(np.abs(multipliers).max()), np.finfo(float).tiny)


@dataclass(frozen=True)
class Exponential:
    """C sum_i exp(-z_i), the loss of AdaBoost; KIE06 (14) has C = 1/n. Dual value -sum(u ln(u/C) - u) on u >= 0.

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.

    Examples
    --------
    >>> Exponential(C=0.5).value(np.zeros(2))
    1.0
    """

    C: Scalar

    def term(self, z: Any) -> Term:
        """Model the loss."""
        return Term(self.C * cp.sum(cp.exp(-z)))

    def value(self, z: Array) -> float:
        """Evaluate the loss; inf where it overflows."""
        with np.errstate(over="ignore"):
            return float(self.C * np.exp(-z).sum())

    def dual_value(self, u: Array) -> float:
        """-sum(u ln(u/C) - u)."""
        return float((u - xlogy(u, u / self.C)).sum())

    def multipliers(self, z: Array) -> Array:
        """C exp(-z_i)."""
        with np.errstate(over="ignore"):
            return self.C * np.exp(-z)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip at 0 and balance the classes."""
        return _nonnegative(u, y)

    def scale(self, z: Array) -> float:
        """Every margin is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Half the log of the ratio of the two classes' losses at b = 0."""
        return np.asarray((logsumexp(-f[y > 0]) - logsumexp(f[y < 0])) / 2)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Every margin is feasible."""
        return 0.0

    def dual_violation(self, u: Array) -> float:
        """Max -u_i, in units of C."""
        return excess(-u) / self.C

    def slackness(self, z: Array, u: Array) -> float:
        """Max |u_i - C exp(-z_i)|, relative to the largest."""
        return _distance(u, self.multipliers(z))


@dataclass(frozen=True)
class Logistic:
    """C sum_i ln(1 + exp(-z_i)); dual value the entropy -C sum(p ln p + (1-p) ln(1-p)), p = u/C in [0, 1].

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.

    Examples
    --------
    >>> round(Logistic(C=1.0).value(np.zeros(2)), 6)
    1.386294
    """

    C: Scalar

    def term(self, z: Any) -> Term:
        """Model the loss."""
        return Term(self.C * cp.sum(cp.logistic(-z)))

    def value(self, z: Array) -> float:
        """Evaluate the loss."""
        return float(self.C * np.logaddexp(0, -z).sum())

    def dual_value(self, u: Array) -> float:
        """The entropy of u/C, times C."""
        p = u / self.C
        return float(-self.C * (xlogy(p, p) + xlogy(1 - p, 1 - p)).sum())

    def multipliers(self, z: Array) -> Array:
        """C / (1 + exp(z_i))."""
        return self.C * expit(-z)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip into [0, C] and balance the classes."""
        return clip_box(u, self.C, y)

    def scale(self, z: Array) -> float:
        """Every margin is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Found by a one-dimensional search."""
        return search_intercept(self, f, y)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Every margin is feasible."""
        return 0.0

    def dual_violation(self, u: Array) -> float:
        """Distance from 0 <= u <= C, in units of C."""
        return max(excess(-u), excess(u - self.C)) / self.C

    def slackness(self, z: Array, u: Array) -> float:
        """Max |u_i - C / (1 + exp(z_i))|, relative to the largest."""
        return _distance(u, self.multipliers(z))


@dataclass(frozen=True)
class SquaredHinge:
    """C/2 sum_i max(0, 1 - z_i)^2; dual value sum u - |u|^2 / (2 C) on u >= 0.

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.

    Examples
    --------
    >>> SquaredHinge(C=2.0).value(np.array([0.0, 3.0]))
    1.0
    """

    C: Scalar

    def term(self, z: Any) -> Term:
        """Model the loss."""
        return Term(self.C / 2 * cp.sum_squares(cp.pos(1 - z)))

    def value(self, z: Array) -> float:
        """Evaluate the loss."""
        return float(self.C / 2 * (np.maximum(1 - z, 0) ** 2).sum())

    def dual_value(self, u: Array) -> float:
        """Sum u - |u|^2 / (2 C)."""
        return float(u.sum() - u @ u / (2 * self.C))

    def multipliers(self, z: Array) -> Array:
        """C max(0, 1 - z_i)."""
        return self.C * np.maximum(1 - z, 0)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip at 0 and balance the classes."""
        return _nonnegative(u, y)

    def scale(self, z: Array) -> float:
        """Every margin is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Found by a one-dimensional search."""
        return search_intercept(self, f, y)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Every margin is feasible."""
        return 0.0

    def dual_violation(self, u: Array) -> float:
        """Max -u_i, in units of C."""
        return excess(-u) / self.C

    def slackness(self, z: Array, u: Array) -> float:
        """Max |u_i - C max(0, 1 - z_i)|, relative to the largest."""
        return _distance(u, self.multipliers(z))
