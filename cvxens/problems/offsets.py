"""Losses at margins that are shifted: known scores, such as those of a model that new hypotheses shall improve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.problems.losses import Loss
from cvxens.problems.modelling import Term
from cvxens.types import Array, Point


@dataclass(frozen=True, eq=False)
class Offset(Loss):
    """``loss(z + offset)``: what known scores f0 add to margins is ``y f0``, to scores f0. Dual value L(u) - u'offset.

    With it weights can have priors: of weights w0 for some hypotheses, that ``penalty(w - w0)`` is to stay near, the
    scores are ``f0 = H w0``, and what a run finds is ``w - w0``.

    Parameters
    ----------
    loss : Loss
        One of the library or of your own; in an expression, add the offset there.
    offset : array-like, shaped as the margins
        Is added to them.

    Raises
    ------
    InvalidInput
        If the loss is an expression, or the offset is not finite.

    Examples
    --------
    >>> from cvxens.problems.losses import Hinge
    >>> Offset(Hinge(1.0), np.array([0.5, 2.0])).value(np.zeros(2))
    0.5
    """

    loss: Loss
    offset: Array

    def __post_init__(self) -> None:
        validation.instance("loss", self.loss, Loss)
        object.__setattr__(self, "offset", validation.finite_array("offset", self.offset))
        # what the loss is, and functions of u alone, stay what they are where its margins are shifted
        for name in ("on_scores", "any_shape", "falls", "curvature", "hessian"):
            object.__setattr__(self, name, getattr(self.loss, name))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.offset.shape

    def model(self, z: Any) -> Term:
        return self.loss.model(z + self.offset)

    def terms(self, z: Array) -> Array:
        return self.loss.terms(z + self.offset)

    def dual_terms(self, u: Array) -> Array:
        """Return those of ``min loss(z + offset) + u'z``, that of the loss less ``u'offset``."""
        return np.append(self.loss.dual_terms(u), -u * self.offset)

    def multipliers(self, z: Array) -> Array:
        return self.loss.multipliers(z + self.offset)

    def slopes(self, z: Array, near: float) -> tuple[Array, Array]:
        return self.loss.slopes(z + self.offset, near)

    def repair(self, u: Array, y: Array | None) -> Array:
        return self.loss.repair(u, y)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return that of the loss at scores ``f + y offset``, as ``y (f + b) + offset = y (f + y offset + b)``."""
        return self.loss.best_intercept(f + y * self.offset, y)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        return self.loss.primal_violation(z + self.offset, auxiliary)

    def violation(self, u: Array) -> float:
        return self.loss.violation(u)

    def slackness(self, z: Array, u: Array) -> float:
        return self.loss.slackness(z + self.offset, u)
