"""The constraint that every margin is at least 1."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from cvxens.problems.duality import balance_classes
from cvxens.problems.losses.protocol import excess, lift
from cvxens.problems.modelling import Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True)
class HardMargin:
    """0 where z_i >= 1 for every i, else infinite: the constraint of LL08 P3. Its dual value is sum u on u >= 0.

    Examples
    --------
    >>> HardMargin().value(np.array([1.0, 3.0])), HardMargin().value(np.array([0.5, 3.0]))
    (0.0, inf)
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Any number of samples."""
        return ()

    def term(self, z: Any) -> Term:
        """Model z >= 1."""
        return Term(cp.Constant(0.0), (z >= 1,))

    def value(self, z: Array) -> float:
        """Evaluate: 0 or inf; a shortfall of rounding size counts as met."""
        return 0.0 if z.min() >= 1 - 1e-12 else inf

    def dual_value(self, u: Array) -> float:
        """Sum u."""
        return float(u.sum())

    def dual_magnitude(self, u: Array) -> float:
        """Sum |u|."""
        return float(np.abs(u).sum())

    def multipliers(self, z: Array) -> Array:
        """1 for every sample."""
        return np.ones(z.shape)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip at 0 and balance the classes."""
        u = np.maximum(u, 0)
        return u if y is None else balance_classes(u, y)

    def scale(self, z: Array) -> float:
        """1 / min z where all margins are positive and the smallest is below 1."""
        return lift(z)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """The middle between the lowest positive and the highest negative score."""
        return np.asarray(-(f[y > 0].min() + f[y < 0].max()) / 2)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Max 1 - z_i."""
        return excess(1 - z)

    def dual_violation(self, u: Array) -> float:
        """Max -u_i, relative to the largest multiplier."""
        return excess(-u) / max(1.0, float(np.abs(u).max()))

    def slackness(self, z: Array, u: Array) -> float:
        """Max |u_i (z_i - 1)|, relative to the largest multiplier."""
        return float(np.abs(u * (z - 1)).max()) / max(1.0, float(np.abs(u).max()))
