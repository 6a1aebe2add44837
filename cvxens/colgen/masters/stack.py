"""The hinges of a loss, on either side of a target, as the one hinge of a linear or proximal master."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cvxens.problems.formulation import Formulation
from cvxens.types import Array


@dataclass(frozen=True)
class Stack:
    """A sum of hinges, stacked: a copy of the samples for each, whose v >= 0 has ``u = sum over copies of sign v``.

    As ``max(0, sign (knot - z)) = max(0, sign knot - sign z)``, every copy is a hinge of margins ``sign z`` that are to
    reach its *gains*, and the dual value is ``gains'v`` on 0 <= v <= prices. Gains are in units of their mean size, so
    that a solver's tolerances mean the same whatever targets are measured in; where an intercept can take it back, the
    median knot is taken off first, so that digits of targets far from 0 are not lost.

    Examples
    --------
    >>> from cvxens.problems.penalties import L1
    >>> from cvxens.problems.target_losses import EpsilonInsensitive
    >>> formulation = Formulation(EpsilonInsensitive([5.0, 7.0], epsilon=1.0), L1(), intercept=True)
    >>> stack = Stack.from_loss(formulation, np.ones(2))
    >>> stack.gains, stack.origin, stack.unit
    (array([-2.,  0.,  0., -2.]), 6.0, 1.0)
    >>> stack.fold(np.array([0.5, 0.0, 0.0, 1.0])), stack.split(np.array([0.5, -1.0]))
    (array([ 0.5, -1. ]), array([0.5, 0. , 0. , 1. ]))
    """

    signs: Array  # (n_copies,)
    gains: Array  # (n_copies n_samples,)
    prices: Array  # (n_copies n_samples,)
    origin: float
    unit: float  # weights and intercept of the stack are to be multiplied by it

    @classmethod
    def from_loss(cls, formulation: Formulation, y: Array) -> Stack:
        """Stack the `hinges` of a formulation's loss."""
        loss: Any = formulation.terms[0]
        signs = np.array([hinge.sign for hinge in loss.hinges])
        knots = np.concatenate([np.broadcast_to(hinge.knots, y.shape) for hinge in loss.hinges])
        prices = np.concatenate([np.broadcast_to(hinge.prices, y.shape) for hinge in loss.hinges])
        origin = float(np.median(knots)) if formulation.on_scores and formulation.intercept else 0.0
        unit = float(np.abs(knots - origin).mean())
        unit = unit if unit > 0 else 1.0
        # -0.0 becomes 0.0
        return cls(signs, np.repeat(signs, len(y)) * (knots - origin) / unit + 0.0, prices, origin, unit)

    def fold(self, v: Array) -> Array:
        """Return u for the v of all copies."""
        return self.signs @ v.reshape(len(self.signs), -1)

    def split(self, u: Array) -> Array:
        """Return the v of all copies for u: its positive parts in those of sign 1, its negative ones in those of -1."""
        return np.maximum(np.multiply.outer(self.signs, u), 0).ravel()

    def repeat(self, values: Array) -> Array:
        """Return the values of samples for all copies, with their signs."""
        return np.multiply.outer(self.signs, values).ravel()

    def lift(self, rows: Array) -> Array:
        """Return rows of values of samples (n_rows, n_samples) as the rows of a program keep them once."""
        return rows


@dataclass(frozen=True)
class SideStack(Stack):
    """Hinges of one side under side constraints: their multipliers stand behind those of the samples.

    The variables are ``v = (v_1, ..., v_n, p_1, ..., p_k)``, under constraints ``pulls z <= limits`` on margins: u is v
    less ``scale pulls'p``, and the dual value is ``gains'v - scale limits'p``.

    Examples
    --------
    >>> from cvxens.problems.losses import Hinge
    >>> from cvxens.problems.penalties import L1
    >>> from cvxens.problems.sides import SideLoss
    >>> loss = SideLoss(Hinge(1.0), np.array([[1.0, -1.0]]), np.zeros((1, 2)), np.array([0.5]))
    >>> stack = SideStack.from_sides(Formulation(loss, L1()), np.ones(2), scale=2.0)
    >>> stack.gains.round(5), stack.fold(np.array([1.0, 1.0, 0.25])), stack.repeat(np.array([3.0, 1.0]))
    (array([ 1.,  1., -1.]), array([0.5, 1.5]), array([ 3.,  1., -4.]))
    """

    pulls: Array  # (n_constraints, n_samples), times the scale
    scale: float

    @classmethod
    def from_sides(cls, formulation: Formulation, y: Array, scale: float) -> SideStack:
        """Stack a `SideLoss` of hinges; prices of constraints are at most 1, in units of `scale` times the largest."""
        loss: Any = formulation.terms[0]
        free = Stack.from_loss(replace(formulation, loss=loss.loss), y)
        gains = np.append(free.gains, -scale * loss.tighten().limits / free.unit)
        prices = np.append(free.prices, np.full(len(loss.limits), float(free.prices.max())))
        return cls(free.signs, gains, prices, free.origin, free.unit, scale * loss.pulls, scale)

    def fold(self, v: Array) -> Array:
        n = self.pulls.shape[1]
        return v[:n] - v[n:] @ self.pulls

    def split(self, u: Array) -> Array:
        """Return the v of a u, as if no constraint had a multiplier."""
        return np.append(np.maximum(u, 0.0), np.zeros(len(self.pulls)))

    def repeat(self, values: Array) -> Array:
        return np.append(values, -self.pulls @ values)

    def lift(self, rows: Array) -> Array:
        return np.hstack([rows, -rows @ self.pulls.T])
