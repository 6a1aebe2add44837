"""What a loss on margins offers: to cvxpy an expression, to a certificate its conjugate in numpy."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize_scalar

from cvxens.problems.modelling import Term
from cvxens.rounding import sum_error
from cvxens.types import Array, Point


class Loss(Protocol):
    """A convex loss on margins z = y * (H w + b).

    With u the multiplier of that equality, u = -loss'(z), and the loss enters the dual objective as
    ``-loss*(-u)``, its `dual_value`.

    A loss may also have `magnitude(z)` and `dual_magnitude(u)`: the sums of the absolute values of the terms that
    `value` and `dual_value` add up, for the rounding error of the two. Without them the values themselves and sum |u|
    are taken, which is right where no terms cancel.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the targets or prices that it holds per sample; () where it fits any number of samples."""

    def term(self, z: Any) -> Term:
        """Model the loss of the cvxpy variable `z`."""

    def value(self, z: Array) -> float:
        """Evaluate the loss; inf where it is."""

    def dual_value(self, u: Array) -> float:
        """Evaluate -loss*(-u) at a repaired `u`."""

    def multipliers(self, z: Array) -> Array:
        """Return -loss'(z); where there is more than one slope, one that `repair` makes optimal at w = 0."""

    def repair(self, u: Array, y: Array | None) -> Array:
        """Move `u` into the domain of the conjugate, and to y'u = 0 where labels are given."""

    def scale(self, z: Array) -> float:
        """A factor on (w, b) worth trying: it makes margins `z` feasible, or spares slack; 1 where there is none."""

    def best_intercept(self, f: Array, y: Array) -> Array:
        """The b that minimises the loss of y * (f + b)."""

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """How far z and the auxiliary variables (slacks, ...) are from feasible."""

    def dual_violation(self, u: Array) -> float:
        """How far `u` is from the domain of the conjugate, signs included."""

    def slackness(self, z: Array, u: Array) -> float:
        """The largest complementary-slackness product, or |u + loss'(z)| of a smooth loss; relative."""


def excess(values: Array) -> float:
    """The largest positive entry, 0 where there is none."""
    return max(0.0, float(values.max(initial=0.0)))


def rise(loss: Loss, z: Array, errors: Array) -> float:
    """Bound how far the loss at margins within `errors` of `z` is above ``loss.value(z)``, its own rounding included.

    Where no multiplier is negative the loss falls in every margin, and its largest value is at ``z - errors``. Else
    ``loss(z') - loss(z) <= |loss'(z')| |z' - z|`` for a convex loss, with twice the largest slope at z and both ends.
    """
    n, at_z = z.size, loss.value(z)
    size = getattr(loss, "magnitude", lambda _: abs(at_z))(z)
    ends = [loss.multipliers(z - errors), loss.multipliers(z + errors)]
    if min(float(slopes.min(initial=0.0)) for slopes in ends) >= 0:
        risen = max(loss.value(z - errors) - at_z, 0.0)
    else:
        slopes = np.maximum.reduce([np.abs(slopes) for slopes in [loss.multipliers(z), *ends]])
        risen = 2 * float((slopes * errors).sum())
    return risen + sum_error(n, size)


def dual_rounding(loss: Loss, u: Array) -> float:
    """Bound the rounding error of ``loss.dual_value(u)``."""
    size = getattr(loss, "dual_magnitude", lambda u: abs(loss.dual_value(u)) + float(np.abs(u).sum()))(u)
    return sum_error(u.size, size)


def lift(z: Array) -> float:
    """1 / min z where the smallest margin is positive, by more than 1e-100, and below 1; else 1."""
    smallest = float(z.min())
    return 1.0 / smallest if 1e-100 < smallest < 1 else 1.0


def search_intercept(loss: Loss, f: Array, y: Array) -> Array:
    """The b that minimises the loss of y * (f + b), by Brent's search on the convex function of b."""
    return np.asarray(minimize_scalar(lambda b: loss.value(y * (f + b)), tol=1e-12).x)
