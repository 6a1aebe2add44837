"""The hinge loss of soft margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens.problems.duality import clip_box
from cvxens.problems.losses.protocol import excess, lift
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True, eq=False)
class Hinge:
    """C sum_i max(0, 1 - z_i): the slacks of LL08 P1 and P4. Its dual value is sum u on 0 <= u <= C.

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Price of a unit of slack, above 0; of every sample its own in an array.

    Examples
    --------
    >>> Hinge(C=2.0).value(np.array([0.5, 3.0]))
    1.0
    """

    C: Scalar

    @property
    def shape(self) -> tuple[int, ...]:
        """Of prices of their own, else ()."""
        return np.shape(self.C)

    def term(self, z: Any) -> Term:
        """Model the loss with slacks xi >= 0, z >= 1 - xi."""
        xi = cp.Variable(z.shape, nonneg=True, name="xi")
        return Term(cp.sum(cp.multiply(self.C, xi)), (z >= 1 - xi,), {"xi": xi})

    def value(self, z: Array) -> float:
        """Evaluate the loss."""
        return float((self.C * np.maximum(1 - z, 0)).sum())

    def dual_value(self, u: Array) -> float:
        """Sum u."""
        return float(u.sum())

    def dual_magnitude(self, u: Array) -> float:
        """Sum |u|."""
        return float(np.abs(u).sum())

    def multipliers(self, z: Array) -> Array:
        """C for every sample."""
        return np.full(z.shape, self.C)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip into [0, C] and balance the classes."""
        return clip_box(u, self.C, y)

    def scale(self, z: Array) -> float:
        """1 / min z where all margins are positive and the smallest is below 1: it spares all slack."""
        return lift(z)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Exact: the loss is piecewise linear in b with a kink at each y_i - f_i.

        Its slope starts at minus the sum of C_i over the positives and rises by C_i at every kink, so a
        minimum is where the slope turns, and halfway between two kinks where it is 0 between them.
        """
        C = np.broadcast_to(self.C / np.max(self.C), f.shape)
        kinks, order = y - f, np.argsort(y - f, kind="stable")
        slopes = np.cumsum(C[order]) - C[y > 0].sum()
        rounding = len(f) * np.finfo(float).eps * C.sum()
        first, last = np.minimum(np.searchsorted(slopes, [-rounding, rounding], side="right"), len(f) - 1)
        return np.asarray((kinks[order[first]] + kinks[order[last]]) / 2)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """The slacks, where given, must be at least 0 and 1 - z."""
        xi = auxiliary.get("xi")
        return 0.0 if xi is None else max(excess(-xi), excess(1 - xi - z))

    def dual_violation(self, u: Array) -> float:
        """Distance from 0 <= u <= C, in units of C."""
        return max(excess(-u / self.C), excess(u / self.C - 1))

    def slackness(self, z: Array, u: Array) -> float:
        """u_i (z_i - 1) where z_i > 1 and (C - u_i) (1 - z_i) where z_i < 1, in units of C."""
        p = u / self.C
        return max(excess(p * np.maximum(z - 1, 0)), excess((1 - p) * np.maximum(1 - z, 0)))
