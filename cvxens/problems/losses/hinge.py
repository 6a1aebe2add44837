"""The hinge loss of soft margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens.problems.duality import clip_box
from cvxens.problems.losses.protocol import excess, lift
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True)
class Hinge:
    """C sum_i max(0, 1 - z_i): the slacks of LL08 P1 and P4. Its dual value is sum u on 0 <= u <= C.

    Parameters
    ----------
    C : float
        Price of a unit of slack, above 0.

    Examples
    --------
    >>> Hinge(C=2.0).value(np.array([0.5, 3.0]))
    1.0
    """

    C: Scalar

    def term(self, z: Any) -> Term:
        """Model the loss with slacks xi >= 0, z >= 1 - xi."""
        xi = cp.Variable(z.shape, nonneg=True, name="xi")
        return Term(self.C * cp.sum(xi), (z >= 1 - xi,), {"xi": xi})

    def value(self, z: Array) -> float:
        """Evaluate the loss."""
        return float(self.C * np.maximum(1 - z, 0).sum())

    def dual_value(self, u: Array) -> float:
        """Sum u."""
        return float(u.sum())

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

        Its slope starts at minus the number of positives and rises by one (times C) at every kink, so a
        minimum is where the slope turns.
        """
        kinks = np.sort(y - f)
        turn = int((y > 0).sum())
        return np.asarray((kinks[turn - 1] + kinks[turn]) / 2)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """The slacks, where given, must be at least 0 and 1 - z."""
        xi = auxiliary.get("xi")
        return 0.0 if xi is None else max(excess(-xi), excess(1 - xi - z))

    def dual_violation(self, u: Array) -> float:
        """Distance from 0 <= u <= C, in units of C."""
        return max(excess(-u), excess(u - self.C)) / self.C

    def slackness(self, z: Array, u: Array) -> float:
        """u_i (z_i - 1) where z_i > 1 and (C - u_i) (1 - z_i) where z_i < 1, in units of C."""
        return max(excess(u * np.maximum(z - 1, 0)), excess((self.C - u) * np.maximum(1 - z, 0))) / self.C
