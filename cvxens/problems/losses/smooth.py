"""Smooth losses, finite at every margin: exponential, logistic and squared hinge, sum_i C_i phi(z_i)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import expit, logsumexp, xlogy

from cvxens.problems.duality import clip_box
from cvxens.problems.losses.protocol import excess, search_intercept
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True, eq=False)
class SmoothLoss(ABC):
    """What the smooth losses share: every margin is feasible, and every u in [0, cap C] is.

    Attributes
    ----------
    cap : float
        The steepest slope of phi.
    """

    cap: ClassVar[float]

    C: Scalar

    @final
    @property
    def shape(self) -> tuple[int, ...]:
        """Of prices of their own, else ()."""
        return np.shape(self.C)

    @abstractmethod
    def multipliers(self, z: Array) -> Array:
        """Return -loss'(z)."""

    @final
    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip into [0, cap C] and balance the classes."""
        return clip_box(u, self.cap * self.C, y)

    @final
    def scale(self, z: Array) -> float:
        """Every margin is feasible."""
        return 1.0

    @final
    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Every margin is feasible."""
        return 0.0

    @final
    def dual_violation(self, u: Array) -> float:
        """Distance from 0 <= u <= cap C, in units of C."""
        return max(excess(-u / self.C), excess(u / self.C - self.cap))

    @final
    def slackness(self, z: Array, u: Array) -> float:
        """Max |u/C + phi'(z)|, relative to the largest slope."""
        slopes = self.multipliers(z) / self.C
        return float(np.abs(u / self.C - slopes).max()) / max(float(slopes.max()), np.finfo(float).tiny)


@final
class Exponential(SmoothLoss):
    """C sum_i exp(-z_i), the loss of AdaBoost; KIE06 (14) has C = 1/n. Dual value -sum(u ln(u/C) - u) on u >= 0.

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Weight of the loss, above 0; of every sample its own in an array.

    Examples
    --------
    >>> Exponential(C=0.5).value(np.zeros(2))
    1.0
    """

    cap = inf

    def term(self, z: Any) -> Term:
        """Model the loss."""
        return Term(cp.sum(cp.multiply(self.C, cp.exp(-z))))

    def value(self, z: Array) -> float:
        """Evaluate the loss; inf where it overflows."""
        with np.errstate(over="ignore"):
            return float(self.multipliers(z).sum())

    def dual_value(self, u: Array) -> float:
        """-sum(u ln(u/C) - u)."""
        return float((u - xlogy(u, u / self.C)).sum())

    def dual_magnitude(self, u: Array) -> float:
        """Sum u + |u ln(u/C)|."""
        return float((np.abs(u) + np.abs(xlogy(u, u / self.C))).sum())

    def multipliers(self, z: Array) -> Array:
        """C exp(-z_i)."""
        with np.errstate(over="ignore"):
            return self.C * np.exp(-z)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Half the log of the ratio of the two classes' losses at b = 0."""
        C, positive = np.broadcast_to(self.C, y.shape), y > 0
        of_positive, of_negative = logsumexp(-f[positive], b=C[positive]), logsumexp(f[~positive], b=C[~positive])
        return np.asarray((of_positive - of_negative) / 2)


@final
class Logistic(SmoothLoss):
    """C sum_i ln(1 + exp(-z_i)); dual value the entropy -C sum(p ln p + (1-p) ln(1-p)), p = u/C in [0, 1].

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Weight of the loss, above 0; of every sample its own in an array.

    Examples
    --------
    >>> round(Logistic(C=1.0).value(np.zeros(2)), 6)
    1.386294
    """

    cap = 1.0

    def term(self, z: Any) -> Term:
        """Model the loss."""
        return Term(cp.sum(cp.multiply(self.C, cp.logistic(-z))))

    def value(self, z: Array) -> float:
        """Evaluate the loss."""
        return float((self.C * np.logaddexp(0, -z)).sum())

    def dual_value(self, u: Array) -> float:
        """The entropy of u/C, times C."""
        p = u / self.C
        return float(-(self.C * (xlogy(p, p) + xlogy(1 - p, 1 - p))).sum())

    def dual_magnitude(self, u: Array) -> float:
        """C times the sum of p + |ln p| p + |ln(1-p)| (1-p), whose first term is for the rounding of 1 - p."""
        p = u / self.C
        return float((self.C * (p + np.abs(xlogy(p, p)) + np.abs(xlogy(1 - p, 1 - p)))).sum())

    def multipliers(self, z: Array) -> Array:
        """C / (1 + exp(z_i))."""
        return self.C * expit(-z)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Found by a one-dimensional search."""
        return search_intercept(self, f, y)


@final
class SquaredHinge(SmoothLoss):
    """C/2 sum_i max(0, 1 - z_i)^2; dual value sum u - |u|^2 / (2 C) on u >= 0.

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Weight of the loss, above 0; of every sample its own in an array.

    Examples
    --------
    >>> SquaredHinge(C=2.0).value(np.array([0.0, 3.0]))
    1.0
    """

    cap = inf

    def term(self, z: Any) -> Term:
        """Model the loss."""
        return Term(cp.sum(cp.multiply(self.C / 2, cp.square(cp.pos(1 - z)))))

    def value(self, z: Array) -> float:
        """Evaluate the loss."""
        return float((self.C / 2 * np.maximum(1 - z, 0) ** 2).sum())

    def dual_value(self, u: Array) -> float:
        """Sum u - |u|^2 / (2 C)."""
        return float((u - u * u / (2 * self.C)).sum())

    def dual_magnitude(self, u: Array) -> float:
        """Sum u + |u|^2 / (2 C)."""
        return float((np.abs(u) + u * u / (2 * self.C)).sum())

    def multipliers(self, z: Array) -> Array:
        """C max(0, 1 - z_i)."""
        return self.C * np.maximum(1 - z, 0)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Found by a one-dimensional search."""
        return search_intercept(self, f, y)
