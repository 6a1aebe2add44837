"""The dual of a piecewise linear loss, said once: what linear programs over it are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np

from cvxens.types import Array


class Hinges(NamedTuple):
    """``sum_i prices_i max(0, sign (knots_i - z_i))``, a part of a loss; prices of inf demand that it is 0.

    Its multipliers are ``u = sign v`` with 0 <= v <= prices, and its dual value is ``knots'u``.
    """

    sign: float  # 1, or -1 where it grows with z
    knots: Any  # (n_samples,), or one for all
    prices: Any  # (n_samples,), or one for all


@dataclass(frozen=True, eq=False)
class LinearDual:
    """What a piecewise linear loss adds to the dual: a linear function of multipliers in a polyhedron.

    The dual value of u is the largest ``sum over hinges of sign knots'v - limits'p`` with

        u = sum over hinges of sign v - pulls'p,   0 <= v <= prices + charges'p,   p >= 0,   low <= sum u <= high.

    So the hinge loss has one sum of hinges, absolute errors one of either sign, the mean of the worst samples a sum of
    multipliers that is limited, the soft minimum margin one that is 1, hard margins have hinges whose price is
    infinite, and side constraints have multipliers p of their own, which raise the prices of hinges that they bound.

    Parameters
    ----------
    hinges : tuple of Hinges
        Those of one sign in the order in which their multipliers pay, by falling ``sign knots``.
    low, high : float
        Limits of the sum of the multipliers; -inf and inf where it has none.
    pulls, charges : ndarray of shape (n_constraints, n_samples)
        Of side constraints ``pulls z + charges max(0, knots - z) <= limits`` on margins; charges of 0 may be left out,
        and where there are any, hinges are one sum of sign 1.
    limits : ndarray of shape (n_constraints,)
        Of these.

    Examples
    --------
    >>> from cvxens.problems.losses import CVaR, Hinge
    >>> Hinge(C=0.5).linear_dual.is_separable, CVaR(D=0.5, C=2.0).linear_dual.high
    (True, 2.0)
    """

    hinges: tuple[Hinges, ...]
    low: float = -inf
    high: float = inf
    pulls: Array = field(default_factory=partial(np.zeros, (0, 0)))
    limits: Array = field(default_factory=partial(np.zeros, 0))
    charges: Array = field(default_factory=partial(np.zeros, (0, 0)))

    @property
    def is_bounded(self) -> bool:
        """True if every multiplier of a sample has a finite price."""
        return all(bool(np.isfinite(part.prices).all()) for part in self.hinges)

    @property
    def is_separable(self) -> bool:
        """True if the loss is a sum over samples of finite hinges."""
        return self.is_bounded and self.low == -inf and self.high == inf and not len(self.limits)

    def value(self, z: Array) -> float:
        """Evaluate the sum of the hinges at margins z, which is a separable loss itself."""
        return sum(float((prices * np.maximum(sign * (knots - z), 0)).sum()) for sign, knots, prices in self.hinges)

    def split(self, u: Array) -> list[Array]:
        """Return the multipliers v of the hinges that make up u and pay most; the last of each sign takes the rest.

        Examples
        --------
        >>> two = LinearDual((Hinges(1.0, np.ones(1), np.ones(1)), Hinges(1.0, np.zeros(1), np.ones(1))))
        >>> two.split(np.array([1.5]))
        [array([1.]), array([0.5])]
        """
        left = {1.0: np.maximum(u, 0.0), -1.0: np.maximum(-u, 0.0)}
        parts, (signs, _, _) = [], zip(*self.hinges, strict=True)
        for k, (sign, _, prices) in enumerate(self.hinges):
            parts.append(np.minimum(left[sign], prices) if sign in signs[k + 1 :] else left[sign])
            left[sign] = left[sign] - parts[-1]
        return parts

    def stack(self, y: Array, *, centre: bool = False, scale: float | Array = 1.0) -> Stack:
        """Stack copies of the samples, one for each sum of hinges, and the multipliers of side constraints behind them.

        Gains are in units of their mean size, so that a solver's tolerances mean the same whatever targets are measured
        in. With `centre`, as where an intercept can take it back, the median knot is taken off first, so that digits of
        targets far from 0 are not lost. Multipliers of side constraints are in units of `scale`, or of its own of each,
        and as large as the largest price at most.

        Examples
        --------
        >>> from cvxens.problems.target_losses import EpsilonInsensitive
        >>> stack = EpsilonInsensitive([5.0, 7.0], epsilon=1.0).linear_dual.stack(np.ones(2), centre=True)
        >>> stack.gains, stack.origin, stack.unit
        (array([-2.,  0.,  0., -2.]), 6.0, 1.0)
        """
        signs = np.array([part.sign for part in self.hinges])
        knots = np.concatenate([np.broadcast_to(part.knots, y.shape) for part in self.hinges])
        prices = np.concatenate([np.broadcast_to(part.prices, y.shape) for part in self.hinges])
        origin = float(np.median(knots)) if centre else 0.0
        # of gains that are 0 the unit is 1
        unit = float(np.abs(knots - origin).mean()) or 1.0
        # -0.0 becomes 0.0
        gains, k = np.repeat(signs, len(y)) * (knots - origin) / unit + 0.0, len(self.limits)
        scale = np.broadcast_to(scale, k)
        pulls = scale[:, np.newaxis] * self.pulls if k else np.zeros((0, len(y)))
        gains = np.append(gains, -scale * self.limits / unit)
        upper = np.append(prices, np.full(k, prices.max()))
        return Stack(self, signs, gains, upper, origin, unit, pulls, scale)


@dataclass(frozen=True, eq=False)
class Stack:
    """The variables of a linear dual in one vector: v of all copies of the samples, then p of the side constraints.

    As ``max(0, sign (knot - z)) = max(0, sign knot - sign z)``, every copy is a hinge of margins ``sign z`` that are to
    reach its gains. The dual value is ``gains'v``, times the unit, on 0 <= v <= upper.

    Examples
    --------
    >>> from cvxens.problems.target_losses import AbsoluteError
    >>> stack = AbsoluteError([1.0, -1.0]).linear_dual.stack(np.ones(2))
    >>> stack.fold(np.array([0.5, 0.0, 0.0, 1.0])), stack.split(np.array([0.5, -1.0]))
    (array([ 0.5, -1. ]), array([0.5, 0. , 0. , 1. ]))
    >>> dual = LinearDual((Hinges(1.0, np.ones(2), np.ones(2)),), pulls=np.array([[1.0, -1.0]]), limits=np.array([0.5]))
    >>> stack = dual.stack(np.ones(2), scale=2.0)
    >>> stack.gains, stack.fold(np.array([1.0, 1.0, 0.25])), stack.repeat(np.array([3.0, 1.0]))
    (array([ 1.,  1., -1.]), array([0.5, 1.5]), array([ 3.,  1., -4.]))
    """

    dual: LinearDual
    signs: Array  # (n_copies,)
    gains: Array  # (n_copies n_samples + n_constraints,)
    upper: Array  # the same
    origin: float
    unit: float  # weights and intercept of the stack are to be multiplied by it
    pulls: Array  # (n_constraints, n_samples), times the scale
    scale: Array  # (n_constraints,)

    @property
    def n_copied(self) -> int:
        """The number of variables of copies of samples."""
        return len(self.gains) - len(self.pulls)

    def fold(self, v: Array) -> Array:
        """Return u for all variables."""
        u = self.signs @ v[: self.n_copied].reshape(len(self.signs), -1)
        return u - v[self.n_copied :] @ self.pulls if len(self.pulls) else u

    def split(self, u: Array) -> Array:
        """Return variables of u: positive parts in copies of sign 1, negative ones in those of -1, and 0 behind."""
        v = np.concatenate(self.dual.split(u))
        return np.append(v, np.zeros(len(self.pulls))) if len(self.pulls) else v

    def repeat(self, values: Array) -> Array:
        """Return the coefficients of all variables in a sum ``values'u``."""
        copies = np.multiply.outer(self.signs, values).ravel()
        return np.append(copies, -self.pulls @ values) if len(self.pulls) else copies
