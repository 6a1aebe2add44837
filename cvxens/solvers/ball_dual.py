"""The dual of a piecewise linear loss with a sum of norms, by an interior-point method of n_samples unknowns.

A penalty ``sum_m |f_m|`` of functions in several spaces, with Gram matrices G_m, as in multiple kernel learning and the
group lasso, has the dual

    maximise  t'u   subject to   lower <= u <= upper,   y'u = 0,   s'G_m s <= radius^2 for every m,   s = y u:

a linear function over a box and ellipsoids. Cutting planes take hundreds of rounds to round an ellipsoid off; Newton's
method takes some forty primal-dual steps, each of a few products with the G_m and one factorisation (Boyd &
Vandenberghe 2004, section 11.7), within a neighbourhood of the central path (Wright 1997, chapter 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cvxens.limits import check_time
from cvxens.rounding import EPSILON
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class BallDual:
    """The problem of the module's first lines; `grams` are PSD.

    Examples
    --------
    Two samples, one ball of radius 1: the largest u_1 + u_2 with |u| <= 1.

    >>> problem = BallDual(np.ones(2), np.zeros(2), np.full(2, 9.0), np.array([1.0, -1.0]), True, [np.eye(2)], 1.0)
    >>> problem.solve().round(6)
    array([0.707107, 0.707107])
    """

    targets: Array  # t (n_samples,)
    lower: Array  # all 0, or all below 0
    upper: Array  # above 0
    y: Array  # the signs of s = y u
    balanced: bool  # True if y'u = 0
    grams: Sequence[Array]
    radius: float

    def solve(self, tol: float = 1e-9) -> Array:
        """Return u inside all constraints, at a gap of about `tol` relative to the objective, or as near as it gets."""
        u = self._find_inside()
        products = self._multiply(u)
        room = self._measure_room(u, products)
        scale = float(np.abs(self.targets) @ np.maximum(self.upper, -self.lower))
        # products of one size: on the central path but for the residual
        multipliers = 10.0 * scale / len(room) / room
        shift, share = 0.0, 0.1
        residual = self._measure_residual(multipliers, products, shift)
        ratio = float(np.abs(residual).max()) / float(room @ multipliers)
        gaps: list[float] = []
        # some forty are usual
        for _ in range(500):
            check_time()
            gap, off = float(room @ multipliers), float(np.abs(residual).max())
            gaps.append(gap)
            objective = abs(float(self.targets @ u))
            # at what rounding allows: not halved within ten steps
            if gap <= 1e-6 * objective and len(gaps) > 10 and gap > gaps[-11] / 2:
                break
            if gap <= tol * objective and off <= tol * float(np.abs(self.targets).max()):
                break
            aim = share * gap / len(room)
            direction, change = self._find_step(u, products, room, multipliers, shift, aim)
            along = self._multiply(direction)
            # room * multiplier = aim, linearised
            shrinking = np.concatenate([-direction, direction, products @ direction])
            growth, length = (aim + multipliers * shrinking) / room - multipliers, 1.0
            while length > 1e-8:
                ahead = u + length * direction, products + length * along
                room_ahead, tried = self._measure_room(*ahead), multipliers + length * growth
                of_each = room_ahead * tried
                residual = self._measure_residual(tried, ahead[1], shift + length * change)
                mean = float(of_each.mean())
                inside = room_ahead.min() > 0 and tried.min() > 0 and of_each.min() >= 1e-3 * mean
                # how far the dual residual may be behind the mean product, in units of where both started
                limit = 10.0 * ratio * mean * len(room)
                if inside and float(np.abs(residual).max()) <= max(limit, tol * tol * scale):
                    break
                length *= 0.8
            else:
                break
            (u, products), room, multipliers = ahead, room_ahead, tried
            shift += length * change
            share = max(0.05, (1 - length) ** 2)
        return u

    def _multiply(self, u: Array) -> Array:
        """Return the gradients of u'Q_m u / 2, Q_m = diag(y) G_m diag(y), as rows."""
        s = self.y * u
        return np.stack([self.y * (G @ s) for G in self.grams])

    def _measure_room(self, u: Array, products: Array) -> Array:
        """Return how far u is from its lower bounds, its upper bounds and, in halves of squares, the spheres."""
        return np.concatenate([u - self.lower, self.upper - u, (self.radius**2 - products @ u) / 2])

    def _split(self, values: Array) -> tuple[Array, Array, Array]:
        n = len(self.y)
        return values[:n], values[n : 2 * n], values[2 * n :]

    def _measure_residual(self, multipliers: Array, products: Array, shift: float) -> Array:
        """Return how far the multipliers are from balancing the slope of the objective."""
        of_lower, of_upper, of_balls = self._split(multipliers)
        return -self.targets - of_lower + of_upper + of_balls @ products + shift * self.y * self.balanced

    def _find_step(
        self, u: Array, products: Array, room: Array, multipliers: Array, shift: float, aim: float
    ) -> tuple[Array, float]:
        """Return Newton's direction in u, along which y'u = 0 where it is to be, and in the multiplier of that."""
        of_lower, of_upper, of_balls = self._split(multipliers / room)
        weights = self._split(multipliers)[2].tolist()
        # sum_m eta_m Q_m + diag(p / (u - lower) + q / (upper - u)) + sum_m eta_m / c_m g_m g_m'
        hessian = np.zeros((len(u), len(u)))
        for G, weight in zip(self.grams, weights, strict=True):
            hessian += weight * G
        hessian *= np.multiply.outer(self.y, self.y)
        hessian.flat[:: len(u) + 1] += of_lower + of_upper
        # what rounding has left below 0 is lifted
        hessian.flat[:: len(u) + 1] += len(u) * EPSILON * float(hessian.trace()) / len(u)
        factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
        # the multipliers that are aimed at, at the room that there is
        p, q, eta = self._split(aim / room)
        right = self.targets + p - q - eta @ products - shift * self.y * self.balanced
        # the terms of the spheres are far larger than the rest near them: Woodbury's identity keeps them apart
        scaled = products * np.sqrt(of_balls)[:, np.newaxis]
        solved = cho_solve(factor, np.column_stack([scaled.T, right, self.y]))
        balls, plain = solved[:, : len(scaled)], solved[:, len(scaled) :]
        free, of_balance = (plain - balls @ np.linalg.solve(np.eye(len(scaled)) + scaled @ balls, scaled @ plain)).T
        if not self.balanced:
            return np.asarray(free), 0.0
        change = float(self.y @ free + self.y @ u) / float(self.y @ of_balance)
        return np.asarray(free - change * of_balance), change

    def _find_inside(self) -> Array:
        """Return a point well inside of all constraints: 0, or a share of the box's middle, with balanced classes."""
        if self.lower.max() < 0:
            return np.zeros(len(self.y))
        middle = (self.lower + np.minimum(self.upper, self.lower + 1)) / 2
        if self.balanced:
            positive = self.y > 0
            plus, minus = middle[positive].sum(), middle[~positive].sum()
            middle = middle * np.where(positive, min(plus, minus) / plus, min(plus, minus) / minus)
        largest = max(float(row @ middle) for row in self._multiply(middle))
        return middle * min(1.0, self.radius / (2 * max(largest, np.finfo(float).tiny) ** 0.5))
