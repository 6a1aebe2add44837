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
from scipy.special import logsumexp, xlogy

from cvxens import validation
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.problems.linear_dual import Hinges, LinearDual
from cvxens.problems.losses import BoundedSlopes, ClippedSquares, PiecewiseLinear, halve_product
from cvxens.problems.modelling import Term, cp
from cvxens.rounding import EPSILON
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

    def __post_init__(self) -> None:
        super().__post_init__()
        q = validation.finite_array("q", self.q)
        if q.shape not in {(), self.t.shape} or q.min() <= 0 or q.max() >= 1:
            raise InvalidInput("q", f"found {self.q!r:.100}", "give the level of a quantile, above 0 and below 1")

    @property
    def linear_dual(self) -> LinearDual:
        C = np.broadcast_to(self.C, self.t.shape)
        return LinearDual((Hinges(1.0, self.t, self.q * C), Hinges(-1.0, self.t, (1 - self.q) * C)))


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

    Its dual value is ``t'u - sum_i u_i^2 / (2 C_i)`` on |u| <= delta C.

    Parameters
    ----------
    delta : float
        The deviation from which on it is linear, above 0.

    Examples
    --------
    >>> HuberError([0.0, 0.0], delta=1.0).value(np.array([0.5, 3.0]))
    2.625
    """

    t: Array
    delta: float = 1.0
    C: float | Array = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.positive("delta", self.delta)

    @property
    def aims(self) -> Array:
        return self.t

    @property
    def bounds(self) -> tuple[float | Array, float | Array]:
        return -self.delta * self.C, self.delta * self.C

    def model(self, z: cp.Expression) -> Term:
        return Term(cp.sum(cp.multiply(self.C / 2, cp.huber(self.t - z, self.delta))))

    def dual_terms(self, u: Array) -> Array:
        return np.stack([self.t * u, -halve_product(u, u, self.C)])


@documented
@dataclass(frozen=True, eq=False)
class Deviance(SumOverTargets):
    """C times half the deviance of targets t from means exp(z), for counts (Poisson) or for amounts above 0 (gamma).

    Of counts it is ``C sum_i exp(z_i) - t_i z_i - (t_i - t_i ln t_i)``, of amounts ``C sum_i t_i exp(-z_i) + z_i - 1 -
    ln t_i``: the negative log-likelihood less that of the best means, z_i = ln t_i. Both are ``sum rates e^(k z) -
    sizes (1 + k z - k ln t)``, with k = 1, sizes C t and rates C, or k = -1, C and C t. With ``v = sizes - k u >= 0``
    the dual value is ``sum v - v ln(v/rates) - sizes (1 - k ln t)``.

    Parameters
    ----------
    t : array-like of shape (n_samples,)
        Counts, 0 or more, not all 0, which need not be whole; or amounts, above 0. Of rates, counts over exposures, C
        is in proportion to the exposures.
    power : int
        1 for counts, whose variance is as the mean, 2 for amounts, whose variance is as its square.

    Examples
    --------
    >>> loss = Deviance([1.0, 3.0])
    >>> round(loss.value(np.log([1.0, 3.0])), 12), round(float(np.exp(loss.best_intercept(np.zeros(2), np.ones(2)))), 9)
    (0.0, 2.0)
    """

    t: Array
    power: int = 1
    C: float | Array = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if validation.number("power", self.power) not in {1, 2}:
            raise InvalidInput("power", f"found {self.power!r}", "give 1 for counts, 2 for amounts")
        check_amounts("t", self.t, self.power)

    @property
    def parts(self) -> tuple[int, Array, Array]:
        """The k, the sizes and the rates."""
        k, (C, own) = 3 - 2 * self.power, np.broadcast_arrays(self.C, self.C * self.t)
        return (k, own, C) if k > 0 else (k, C, own)

    @property
    def bounds(self) -> tuple[float | Array, float | Array]:
        k, sizes, _ = self.parts
        return (-inf, sizes) if k > 0 else (-sizes, inf)

    def model(self, z: cp.Expression) -> Term:
        k, sizes, rates = self.parts
        best = sizes - k * xlogy(sizes, self.t)
        return Term(cp.sum(cp.multiply(rates, cp.exp(k * z)) - cp.multiply(k * sizes, z) - best))

    def terms(self, z: Array) -> Array:
        """Return the exponentials and three terms of the sizes: at the best means these cancel."""
        k, sizes, rates = self.parts
        return np.stack([rates * np.exp(k * z), -k * sizes * z, -sizes, k * xlogy(sizes, self.t)])

    def dual_terms(self, u: Array) -> Array:
        (k, sizes, rates), v = self.parts, np.maximum(self.curvature(u), 0)
        return np.stack([v, -xlogy(v, v / rates), -sizes, k * xlogy(sizes, self.t)])

    def multipliers(self, z: Array) -> Array:
        k, sizes, rates = self.parts
        with np.errstate(over="ignore"):
            return k * (sizes - rates * np.exp(k * z))

    def curvature(self, u: Array) -> Array:
        """Return ``v = rates e^(k z) = sizes - k u``."""
        k, sizes, _ = self.parts
        return sizes - k * u

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip v at 0; with an intercept scale it to the sum of the sizes."""
        (k, sizes, _), v = self.parts, np.maximum(self.curvature(u), 0)
        if y is None:
            return k * (sizes - v)
        total = float(v.sum())
        return k * (sizes - v * (float(sizes.sum()) / total)) if total > 0 else np.zeros(u.shape)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the b under which v adds up to the sum of the sizes."""
        k, sizes, rates = self.parts
        return np.asarray(k * (np.log(sizes.sum()) - logsumexp(k * f, b=rates)))


def check_amounts(argument: str, t: Array, power: int) -> None:
    """Raise unless targets can have means that are exponentials."""
    if t.min(initial=inf) < 0 or not (t.any() if power == 1 else t.all()):
        found = f"found {t.min():g}, the least" if t.any() else "found nothing but 0, whose best means are 0 too"
        remedy = "give counts of 0 or more, and one above 0" if power == 1 else "give amounts above 0"
        raise InvalidInput(argument, found, remedy)
