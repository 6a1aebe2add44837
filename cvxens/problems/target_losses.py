"""Losses on scores that hold the targets of the samples, one score each: regression, quantiles and counts.

A regression is the one shape with signs of 1: z = H w + b are the scores themselves, and u = -loss'(z) is what pulls
them to their targets t, with either sign. Those here are sums over samples:

- piecewise linear, a hinge on either side of the target: `AbsoluteError`, `Pinball`, `EpsilonInsensitive`. Their duals
  are linear in a box, so that with an l1 penalty they are linear programs;
- smooth: `HuberError`, and `Deviance` of counts and amounts; `SquaredError` in `problems.losses` takes targets of one
  score too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.special import logsumexp, rel_entr, xlogy

from cvxens import validation
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.problems.linear_dual import Hinges, LinearDual
from cvxens.problems.losses import BoundedSlopes, ClippedSquares, Loss, PiecewiseLinear, halve_product
from cvxens.problems.modelling import Term, cp
from cvxens.rounding import EPSILON, TINY
from cvxens.types import Array

__all__ = ["AbsoluteError", "Deviance", "EpsilonInsensitive", "HuberError", "Pinball"]


class SumOverTargets(BoundedSlopes):
    """A loss ``sum_i C_i phi_i(z_i)`` on scores, whose slopes have bounds around 0: -above <= u <= below.

    Parameters
    ----------
    t : array-like of shape (n_samples,)
        Targets.
    C : float or ndarray of shape (n_samples,)
        Price of the loss, or of a unit of deviation, above 0; of every sample its own in an array.
    """

    on_scores = True
    per_sample = "t"
    t: Array
    C: float | Array

    def __post_init__(self) -> None:
        vars(self).update(t=validation.finite_array("t", self.t, ndim=1), C=validation.prices("C", self.C))
        validation.same_length("C", np.atleast_1d(self.C), len(self.t) if np.ndim(self.C) else None)
        # of those that have one
        q = validation.finite_array("q", given := vars(self).get("q", 0.5))
        if q.shape not in {(), self.t.shape} or q.min() <= 0 or q.max() >= 1:
            raise InvalidInput("q", f"found {given!r:.100}", "give the level of a quantile, above 0 and below 1")


class SumOfHinges(PiecewiseLinear, SumOverTargets):
    """A sum over samples of hinges on either side of targets, which give the unit of deviations."""

    def model(self, z: cp.Expression) -> Term:
        parts = [cp.multiply(h.prices, cp.pos(h.sign * (h.knots - z))) for h in self.linear_dual.hinges]
        return Term(cp.sum(sum(parts[1:], parts[0])))

    def multipliers(self, z: Array) -> Array:
        """Return minus the slopes; of those at a kink, the same share of each interval, to add up to 0 if they can."""
        return self._balance_slopes(z, np.ones(z.shape))

    def prove(self, u: Array, y: Array | None, z: Array) -> Array:
        """Return multipliers of these margins with y'u = 0 where they have some, as at a best intercept."""
        return self.repair(u if y is None else self._balance_slopes(z, y), y)

    def _balance_slopes(self, z: Array, y: Array) -> Array:
        """Return minus the slopes at margins; of those at a kink, the share of each interval for which y'u is 0."""
        largest_knots = np.maximum.reduce([np.abs(h.knots) for h in self.linear_dual.hinges])
        # scores within so many roundings of a kink are on it: a best intercept puts them there, but for its own
        # rounding
        slopes = self.slopes(z, 4.0 * EPSILON * (np.abs(z) + largest_knots))
        least, largest = np.where(y > 0, slopes, slopes[::-1])
        width = float((y * (largest - least)).sum())
        share = np.clip(-float((y * least).sum()) / width, 0.0, 1.0) if width > 0 else 0.0
        return least + share * (largest - least)

    def slackness(self, z: Array, u: Array) -> float:
        """Return the largest product of a score's distance from a kink and what u then lacks; relative to C and t."""
        # of one knot the unit is 1
        return super().slackness(z, u) / (float(np.ptp(self.t)) or 1.0)


@documented
@dataclass(frozen=True, eq=False)
class AbsoluteError(SumOfHinges):
    """C sum_i |t_i - z_i|: least absolute deviations, the median. Its dual value is t'u on -C <= u <= C.

    Examples
    --------
    >>> loss = AbsoluteError([1.0, 2.0, 9.0], C=0.5)
    >>> loss.value(np.zeros(3)), loss.best_intercept(np.zeros(3), np.ones(3))
    (6.0, array(2.))
    """

    t: Array
    C: float | Array = 1.0

    @property
    def linear_dual(self) -> LinearDual:
        C = np.broadcast_to(self.C, self.t.shape)
        return LinearDual((Hinges(1.0, self.t, C), Hinges(-1.0, self.t, C)))

    def rounded(self, width: float) -> Loss:
        return HuberError(self.t, width / 2, 2 * self.C / width)


@documented
@dataclass(frozen=True, eq=False)
class Pinball(SumOfHinges):
    """C sum_i q (t_i - z_i) where z_i < t_i, and (1 - q) (z_i - t_i) above: scores estimate the quantile of level q.

    Its dual value is t'u on -(1 - q) C <= u <= q C (Koenker & Bassett 1978).

    Parameters
    ----------
    q : float or ndarray of shape (n_samples,)
        The level of the quantile, above 0 and below 1; 0.5 is half the absolute error. Of every sample its own in an
        array.

    Examples
    --------
    >>> loss = Pinball([1.0, 2.0, 3.0, 4.0, 5.0], q=0.9)
    >>> loss.best_intercept(np.zeros(5), np.ones(5))
    array(5.)
    """

    t: Array
    q: float | Array
    C: float | Array = 1.0

    @property
    def linear_dual(self) -> LinearDual:
        C = np.broadcast_to(self.C, self.t.shape)
        return LinearDual((Hinges(1.0, self.t, self.q * C), Hinges(-1.0, self.t, (1 - self.q) * C)))

    def rounded(self, width: float) -> Loss:
        return HuberError(self.t, width / 2, self.C / width, self.q)


@documented
@dataclass(frozen=True, eq=False)
class EpsilonInsensitive(SumOfHinges):
    """C sum_i max(0, |t_i - z_i| - epsilon): support vector regression. Dual value t'u - epsilon |u|_1 on |u| <= C.

    Parameters
    ----------
    epsilon : float
        The deviation that costs nothing, 0 or more.

    Examples
    --------
    >>> EpsilonInsensitive([1.0, 2.0], epsilon=0.5, C=2.0).value(np.array([1.25, 0.0]))
    3.0
    """

    t: Array
    epsilon: float
    C: float | Array = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= validation.number("epsilon", self.epsilon) < inf:
            raise InvalidInput("epsilon", f"found {self.epsilon!r}", "give a width of 0 or more")

    @property
    def linear_dual(self) -> LinearDual:
        C = np.broadcast_to(self.C, self.t.shape)
        return LinearDual((Hinges(1.0, self.t - self.epsilon, C), Hinges(-1.0, self.t + self.epsilon, C)))


@documented
@dataclass(frozen=True, eq=False)
class HuberError(ClippedSquares, SumOverTargets):
    """C sum_i of 1/2 r_i^2 where |r_i| <= delta and delta (|r_i| - delta/2) beyond, r = t - z (Huber 1964).

    Its dual value is ``t'u - sum_i u_i^2 / (2 C_i)`` on |u| <= delta C. Near that of a quantile of level q it is that
    plus C s (r + s/2), s = (2 q - 1) delta, and the dual value with t + s, ``-2 (1 - q) delta C <= u <= 2 q delta C``.

    Parameters
    ----------
    delta : float
        The deviation from which on it is linear, above 0.
    q : float or ndarray of shape (n_samples,)
        The level of the quantile whose `Pinball` it is near, above 0 and below 1.

    Examples
    --------
    >>> HuberError([0.0, 0.0], delta=1.0).value(np.array([0.5, 3.0]))
    2.625
    """

    t: Array
    delta: float = 1.0
    C: float | Array = 1.0
    q: float | Array = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.positive("delta", self.delta)

    @property
    def aims(self) -> Array:
        return self.t + (2 * self.q - 1) * self.delta

    @property
    def bounds(self) -> tuple[float | Array, float | Array]:
        return -2 * (1 - self.q) * self.delta * self.C, 2 * self.q * self.delta * self.C

    def model(self, z: cp.Expression) -> Term:
        r, shift = self.t - z, (2 * self.q - 1) * self.delta
        near = cp.multiply(self.C / 2, cp.huber(r, self.delta))
        return Term(cp.sum(near + cp.multiply(self.C * shift, r + shift / 2)))

    def dual_terms(self, u: Array) -> Array:
        return np.stack([self.aims * u, -halve_product(u, u, self.C)])


@documented
@dataclass(frozen=True, eq=False)
class Deviance(SumOverTargets):
    """C times half the deviance of targets t from means exp(z), of a variance as ``mean^power`` (Tweedie 1984).

    With a = 2 - power and b = power - 1 it is ``C sum_i e^(a z_i)/a + t_i e^(-b z_i)/b - t_i^a (1/a + 1/b)``, 0 at the
    best means, z_i = ln t_i. Of counts (Poisson), b = 0, it is ``C sum_i e^z_i - t_i z_i - (t_i - t_i ln t_i)``, of
    amounts (gamma), a = 0, ``C sum_i t_i e^(-z_i) + z_i - 1 - ln t_i``. With v and w >= 0 the slopes of what rises and
    what falls, ``u = w - v``, the dual value is the largest ``sum v (1 - ln(v/C))/a + w (1 - ln(w/(C t)))/b`` less the
    last terms; slopes that are constant add nothing.

    Parameters
    ----------
    t : array-like of shape (n_samples,)
        Counts or amounts, 0 or more, not all 0, which need not be whole; above 0 where the power is 2. Of rates, counts
        over exposures, C is in proportion to the exposures.
    power : float
        1 for counts, whose variance is as the mean, 2 for amounts, whose variance is as its square, or between them,
        for amounts some of which are 0.

    Examples
    --------
    >>> loss = Deviance([1.0, 3.0])
    >>> round(loss.value(np.log([1.0, 3.0])), 12), round(float(np.exp(loss.best_intercept(np.zeros(2), np.ones(2)))), 9)
    (0.0, 2.0)
    """

    t: Array
    power: float = 1
    C: float | Array = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_amounts("t", self.t, self.power)

    @property
    def parts(self) -> list[tuple[float, Array]]:
        """The k other than 0, and the rates, of the exponentials ``rates e^(k z) / |k|``."""
        found = (2 - self.power, self.C), (1 - self.power, self.C * self.t)
        return [(k, np.broadcast_to(rates, self.t.shape)) for k, rates in found if k]

    @property
    def pull(self) -> Array:
        """Minus the slopes of what is linear in z."""
        return np.broadcast_to({1.0: self.C * self.t, 2.0: -self.C}.get(self.power, 0.0), self.t.shape)

    @property
    def at_best(self) -> list[Array]:
        """Minus the terms at the best means."""
        sizes = self.C * self.t ** (2 - self.power)
        return [*(-sizes / abs(k) for k, _ in self.parts), xlogy(self.pull, self.t)]

    @property
    def bounds(self) -> tuple[float | Array, float | Array]:
        largest = np.where(self.t > 0, inf, 0.0)
        return (self.pull, inf) if self.power == 2 else (-inf, self.pull if self.power == 1 else largest)

    def model(self, z: cp.Expression) -> Term:
        rises = [cp.multiply(rates / abs(k), cp.exp(k * z)) for k, rates in self.parts]
        return Term(cp.sum(sum(rises) - cp.multiply(self.pull, z) + sum(self.at_best)))

    def grow(self, z: Array) -> list[Array]:
        """Return the slopes of the exponentials, ``rates e^(k z)``; 0 where the rate is."""
        with np.errstate(over="ignore", invalid="ignore"):
            return [np.where(rates > 0, rates * np.exp(k * z), 0.0) for k, rates in self.parts]

    def terms(self, z: Array) -> Array:
        """Return the exponentials, the linear term and those at the best means, where they cancel."""
        rises = [v / abs(k) for (k, _), v in zip(self.parts, self.grow(z), strict=True)]
        return np.stack([*rises, -self.pull * z, *self.at_best])

    def rounding(self, z: Array) -> float:
        """Add what the rounding of exponents makes."""
        return super().rounding(z) + EPSILON * float(np.sum(np.abs(z) * self.grow(z)))

    def split(self, u: Array) -> list[Array]:
        """Return the slopes of the exponentials at the z of these multipliers."""
        if len(self.parts) == 1:
            return [np.maximum(np.sign(k) * (self.pull - u), 0) for k, _ in self.parts]
        sizes = self.C * np.where(self.t > 0, self.t, 1.0) ** (2 - self.power)
        # of r = u / sizes = e^(-b x) - e^(a x) the smaller part is e^(-(1 - c) |x|), c that of a, b of the larger one
        c = np.where(u < 0, 2 - self.power, self.power - 1)
        least = np.where(self.t > 0, sizes * np.exp((c - 1) * find_distance(np.abs(u) / sizes, c)), 0.0)
        return [least + np.maximum(-u, 0), least + np.maximum(u, 0)]

    def dual_terms(self, u: Array) -> Array:
        split = list(zip(self.parts, self.split(u), strict=True))
        entropies = [-rel_entr(v, rates) / abs(k) for (k, rates), v in split]
        return np.stack([*(v / abs(k) for (k, _), v in split), *entropies, *self.at_best])

    def multipliers(self, z: Array) -> Array:
        signs = [np.sign(k) for k, _ in self.parts]
        return self.pull - np.sum([sign * v for sign, v in zip(signs, self.grow(z), strict=True)], axis=0)

    def curvature(self, u: Array) -> Array:
        """Return ``sum |k| rates e^(k z)``."""
        return np.sum([abs(k) * v for (k, _), v in zip(self.parts, self.split(u), strict=True)], axis=0)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the b at which ``C e^((1 - power) f) (t - e^(f + b))`` adds up to 0."""
        C = np.broadcast_to(self.C, f.shape)
        return np.asarray(logsumexp((1 - self.power) * f, b=C * self.t) - logsumexp((2 - self.power) * f, b=C))


def find_distance(s: Array, c: Array) -> Array:
    """Return the y >= 0 at which ``e^(c y) (1 - e^-y) = s``, for each s >= 0 and its c above 0 and below 1."""
    # the y of c = 1 is below it, and the logarithm of the equation is concave: from there Newton's steps go up
    s = np.maximum(s, TINY)
    y, way = np.log1p(s), np.full(s.shape, inf)
    while (way > 4 * EPSILON * y).any():
        with np.errstate(over="ignore"):
            way = (np.log(s) - c * y - np.log(-np.expm1(-y))) / (c + 1 / np.expm1(y))
        y = y + np.maximum(way, 0.0)
    return y


def find_spread(t: Array, weights: Array) -> float:
    """Return the mean absolute deviation from the median, of targets with weights; 1 where all are equal."""
    loss = AbsoluteError(t, weights / weights.sum())
    b = loss.best_intercept(np.zeros(len(t)), np.ones(len(t)))
    return loss.value(np.full(len(t), float(b))) or 1.0


def check_amounts(argument: str, t: Array, power: float) -> None:
    """Raise unless the power of a deviance is from 1 to 2, and targets can have means that are exponentials."""
    if not 1 <= validation.number("power", power) <= 2:
        raise InvalidInput("power", f"found {power!r}", "give 1 for counts, 2 for amounts, or a number between them")
    if t.min(initial=inf) < 0 or not (t.all() if power == 2 else t.any()):
        found = f"found {t.min():g}, the least" if t.any() else "found nothing but 0, whose best means are 0 too"
        remedy = "give amounts above 0" if power == 2 else "give numbers of 0 or more, and one above 0"
        raise InvalidInput(argument, found, remedy)
