"""Convex functions of one number, by their values and one-sided slopes: conjugates that are proven bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TypeAlias

import numpy as np

from cvxens.rounding import EPSILON
from cvxens.types import Array, Mask

Sides: TypeAlias = Callable[[Array], tuple[Array, Array, Array]]
"""From numbers t to the values there, and the slopes to the left and to the right."""

FAR = 1e150
"""Numbers up to this are searched; their squares are floats."""

ROUNDED = 16 * EPSILON
"""The error of a difference ``x t - phi(t)``, relative to the sizes of the two: phi is a few operations deep."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A function of a number t, convex where the penalty that it is a part of is convex; inf outside of its domain.

    Conjugates are over t >= 0. A function that is even or asked for at t >= 0 alone loses nothing by that.

    Parameters
    ----------
    sides : callable
        From an array of numbers to the values, the slopes to the left and those to the right.
    form : tuple of float, optional
        The factors (c, a, s, q) of a function that is known to be ``c + a t + s |t| + q t^2``.

    Examples
    --------
    >>> square = Curve.of(slope=1.0).then(power(2.0))
    >>> square.values(np.array([3.0])), square.slopes(np.array([3.0]))
    (array([9.]), array([6.]))
    >>> bool(abs(square.conjugate(np.array([3.0]))[0] - 9 / 4) < 1e-13)
    True
    """

    sides: Sides
    form: tuple[float, ...] | None = None

    @classmethod
    def of(cls, constant: float = 0.0, slope: float = 0.0, size: float = 0.0, square: float = 0.0) -> Curve:
        """Return the function ``constant + slope t + size |t| + square t^2``."""

        def sides(t: Array) -> tuple[Array, Array, Array]:
            of_square = slope + 2 * square * t
            values = constant + (slope * t + np.abs(t) * (size + square * np.abs(t)))
            return values, of_square + np.where(t > 0, size, -size), of_square + np.where(t >= 0, size, -size)

        return cls(sides, (constant, slope, size, square))

    @property
    def factor(self) -> float | None:
        """The c of a function that is known to be ``c t`` or ``c |t|``, in size; None of others."""
        if self.form is None or self.form[0] or self.form[3] or (self.form[1] and self.form[2]):
            return None
        return abs(self.form[1] + self.form[2])

    def absolute(self) -> Curve:
        """Return the curve of the sizes of the values."""
        return self.then(absolute) if self.factor is None else Curve.of(size=self.factor)

    def squared(self) -> Curve:
        """Return the curve of the squares of the values."""
        return self.then(power(2.0)) if self.factor is None else Curve.of(square=self.factor**2)

    def then(self, outer: Sides) -> Curve:
        """Return ``outer(self(t))`` by the chain rule: where self falls, the sides of the outer slope change places."""

        def sides(t: Array) -> tuple[Array, Array, Array]:
            inner, inner_left, inner_right = self.sides(t)
            values, left, right = outer(inner)
            to_left = np.where(inner_left > 0, left, right) * inner_left
            to_right = np.where(inner_right > 0, right, left) * inner_right
            return values, np.where(inner_left == 0, 0.0, to_left), np.where(inner_right == 0, 0.0, to_right)

        return Curve(sides)

    def times(self, factor: float) -> Curve:
        """Return the curve whose values are those of this one times a factor."""
        if self.form is not None:
            return Curve.of(*(factor * known for known in self.form))
        return self.then(Curve.of(slope=factor).sides)

    def plus(self, *others: Curve) -> Curve:
        """Return the sum of self and others."""
        forms = [curve.form for curve in (self, *others) if curve.form is not None]
        known = Curve.of(*map(sum, zip(*forms, strict=True)))
        if len(forms) > len(others):
            return known
        parts = [*([known] if forms else []), *(curve for curve in (self, *others) if curve.form is None)]

        def sides(t: Array) -> tuple[Array, Array, Array]:
            values, left, right = zip(*(curve.sides(t) for curve in parts), strict=True)
            return sum(values), sum(left), sum(right)

        return Curve(sides)

    def values(self, t: Array) -> Array:
        """Evaluate at numbers; inf where the function is not defined."""
        with np.errstate(all="ignore"):
            values = self.sides(np.asarray(t, dtype=float))[0]
        return np.where(np.isnan(values), inf, values)

    def slopes(self, t: Array) -> Array:
        """Evaluate the slopes to the right; inf beyond the domain."""
        with np.errstate(all="ignore"):
            slopes = self.sides(np.asarray(t, dtype=float))[2]
        return np.where(np.isnan(slopes), inf, slopes)

    def bounds(self, t: Array) -> tuple[Array, Array]:
        """Evaluate the slopes to the left and to the right."""
        with np.errstate(all="ignore"):
            return self.sides(np.asarray(t, dtype=float))[1:]

    @cached_property
    def first_slope(self) -> float:
        """The slope to the right of 0: the price of a first unit."""
        return float(self.slopes(np.zeros(()))[()])

    @cached_property
    def last_slope(self) -> float:
        """The slope far out, inf at the end of a domain: the conjugate is infinite above it."""
        return float(self.slopes(np.full((), FAR))[()])

    @cached_property
    def least(self) -> float:
        """The smallest float of at least 0 in the domain."""
        if self.first_slope > -inf:
            return 0.0
        return float(np.nextafter(_bisect(lambda t: self.slopes(t) == -inf, np.zeros(())), inf))

    @cached_property
    def limit(self) -> float:
        """The largest float in the domain, inf where that has no end; `least` where nothing above it is in it."""
        if np.isfinite(self.values(np.full((), FAR))):
            return inf
        before = _bisect(lambda t: (t < self.least) | np.isfinite(self.values(t)), np.zeros(()))
        return max(float(before), self.least)

    def maximisers(self, x: Array) -> Array:
        """Return the t >= 0 that maximises ``x t - self(t)``: the first float with a slope of at least x, or inf."""
        x = np.asarray(x, dtype=float)
        before = _bisect(lambda t: self.slopes(t) < x, x)
        found = np.where(before >= FAR, inf, np.nextafter(before, inf))
        return np.where(self.slopes(np.zeros_like(x)) >= x, 0.0, found)

    def conjugate(self, x: Array) -> Array:
        """Bound ``sup {x t - self(t): t >= 0}`` from above, by what rounding alone can cost; exact where t = 0 is best.

        The slope of ``g(t) = x t - self(t)`` changes its sign between two neighbouring floats a and b, so that g is
        at most ``g(a) + g'(a) (b - a)`` between them, and falls from b on.
        """
        x = np.asarray(x, dtype=float)
        b = self.maximisers(x)
        a = np.where(np.isfinite(b), np.nextafter(b, 0.0), 0.0)
        at_a, at_b = x * a - self.values(a), x * np.where(np.isfinite(b), b, 0.0) - self.values(b)
        with np.errstate(invalid="ignore"):
            risen = np.where((b > a) & np.isfinite(at_a), np.maximum(x - self.slopes(a), 0.0) * (b - a), 0.0)
            size = np.abs(x * a) + np.where(np.isfinite(at_a), np.abs(at_a), np.abs(at_b))
            bound = np.maximum(at_a + risen, at_b) + ROUNDED * size
        return np.where(np.isfinite(b), np.where(b > 0, bound, 0.0 - self.values(np.zeros_like(x))), inf)

    def share_of_square(self, x: float) -> float:
        """Bound ``conjugate(v) / v^2`` for all 0 < v <= x, for a function that starts as 0 with a slope of 0.

        If ``self(t) >= c t^2`` up to the maximiser of x, then ``v t - self(t) <= v^2 / (4 c)`` there. Between two
        points a < b, ``self(t) / t^2 >= self(a) / b^2``.
        """
        end = float(self.maximisers(np.full((), x)))
        if not 0 < end < inf:
            return inf if end > 0 else 0.0
        # points from where it shows in a sum of floats, at which phi(t) / t^2 is bounded below to a fifth or better
        points = np.geomspace(min(1e-150, end / 2), end, 4000)
        with np.errstate(under="ignore"):
            least = float((self.values(points[:-1]) / points[1:] ** 2).min()) * (1 - ROUNDED)
        return 1 / (4 * least) if least > 0 else inf


def _bisect(holds: Callable[[Array], Mask], like: Array) -> Array:
    """Return the largest float from 0 to `FAR`, for each entry, at which a falling condition holds; 0 if none.

    Non-negative floats are in the order of their bits read as integers, and these are cut into equal parts again and
    again. Conditions are asked for at many points at once, shape (n_points, ...), which costs little more than one.
    """
    low, high = np.zeros(like.shape, dtype=np.int64), np.full(like.shape, np.array(FAR).view(np.int64))
    # points at which a function is evaluated in one go, where it is searched
    n_parts = int(np.clip(2000 // max(like.size, 1), 2, 256))
    cuts = np.arange(1, n_parts).reshape(-1, *(1 for _ in like.shape))
    everywhere = holds(np.full(like.shape, FAR))
    while (high - low > 1).any():
        part = np.maximum((high - low) // n_parts, 1)
        held = holds(np.minimum(low + part * cuts, high).view(np.float64)) & (low + part * cuts < high)
        n = held.sum(axis=0)
        low, high = low + part * n, np.where(n == n_parts - 1, high, np.minimum(low + part * (n + 1), high))
    return np.where(everywhere, FAR, low.view(np.float64))


def absolute(v: Array) -> tuple[Array, Array, Array]:
    """Evaluate |v|, and its slopes to the left and to the right."""
    return np.abs(v), np.where(v > 0, 1.0, -1.0), np.where(v >= 0, 1.0, -1.0)


def exponential(v: Array) -> tuple[Array, Array, Array]:
    """Evaluate exp(v), and its slope on both sides."""
    values = np.exp(v)
    return values, values, values


def logarithm(v: Array) -> tuple[Array, Array, Array]:
    """Evaluate log(v), -inf up to 0, and its slope on both sides."""
    slopes = np.where(v > 0, 1 / v, inf)
    return np.where(v > 0, np.log(v), -inf), slopes, slopes


def logistic(v: Array) -> tuple[Array, Array, Array]:
    """Evaluate log(1 + exp(v)), and its slope on both sides."""
    slopes = 1 / (1 + np.exp(-v))
    return np.logaddexp(0.0, v), slopes, slopes


def power(p: float) -> Sides:
    """Return v^p as cvxpy reads it: for all v if p is an even integer, else on v >= 0."""

    def sides(v: Array) -> tuple[Array, Array, Array]:
        values, slopes = v**p, p * v ** (p - 1)
        if p == 1 or (p % 2 == 0 and p > 0):
            return values, slopes, slopes
        outside = -inf if 0 < p < 1 else inf
        return np.where(v >= 0, values, outside), np.where(v > 0, slopes, -outside), np.where(v >= 0, slopes, -outside)

    return sides


def huber(M: float) -> Sides:
    """Return v^2 where |v| <= M, and 2 M |v| - M^2 beyond."""

    def sides(v: Array) -> tuple[Array, Array, Array]:
        size, slopes = np.abs(v), 2 * np.clip(v, -M, M)
        return np.where(size <= M, np.minimum(size, M) ** 2, M * (2 * size - M)), slopes, slopes

    return sides


def nonpositive(v: Array) -> tuple[Array, Array, Array]:
    """0 where v <= 0, else inf."""
    slopes = np.where(v > 0, inf, 0.0)
    return slopes, slopes, np.where(v >= 0, inf, 0.0)


def largest(curves: Sequence[Curve], sign: float = 1.0) -> Curve:
    """Return the largest of some functions, or with the sign -1 the smallest."""

    def sides(t: Array) -> tuple[Array, Array, Array]:
        parts = zip(*(curve.sides(t) for curve in curves), strict=True)
        values, left, right = (np.stack(np.broadcast_arrays(*part)) for part in parts)
        best = (sign * values).max(axis=0)
        active = sign * values == best
        to_left = np.where(active, sign * left, inf).min(axis=0)
        to_right = np.where(active, sign * right, -inf).max(axis=0)
        return sign * best, sign * to_left, sign * to_right

    return Curve(sides)
