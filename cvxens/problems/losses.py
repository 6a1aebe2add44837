"""Losses on margins, each with its conjugate in numpy.

A loss is what a formulation pays for margins ``z = y (H w + b)``. A solver needs its value and slope, a certificate its
conjugate: ``u = -loss'(z)`` at the optimum, and ``-loss*(-u)`` is what the loss adds to the dual objective. Known ones
here, by their shape:

- sums over samples, ``sum_i C_i phi(z_i)``: the hinge of support vector machines, and the smooth exponential
  (AdaBoost), logistic (LogitBoost), squared hinge and hinge with its kink rounded off; `problems.target_losses` has
  those of regression;
- sums over pairs of samples, for ranking, in `problems.pair_losses`;
- the worst samples: the mean of the largest hinges;
- the least margin: the hard margin, LPBoost's soft minimum margin and ERLPBoost's, smoothed by an entropy;
- several scores per sample: the squared error of simplex coding, and the exponential loss over classes of MultiBoost;
- any of these at margins that are shifted: by known scores, such as those of a model that hypotheses shall improve.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, rel_entr, xlog1py, xlogy

from cvxens import validation
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.problems.duality import balance_classes, capped_simplex, find_balance
from cvxens.problems.linear_dual import Hinges, LinearDual
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.rounding import EPSILON, TINY, sum_error
from cvxens.types import Array, Indices, Mask, Point

__all__ = [
    "CVaR",
    "EntropicMinimumMargin",
    "Exponential",
    "HardMargin",
    "Hinge",
    "HuberizedHinge",
    "Logistic",
    "Loss",
    "MulticlassExponential",
    "Offset",
    "SoftMinimumMargin",
    "SquaredError",
    "SquaredHinge",
]

ROUNDED = 64 * EPSILON
"""Prices whose sum is below 1 by so little, as that of 1/n_samples or w / sum w may be, count as adding up to 1."""


@dataclass(frozen=True, eq=False)
class Scored:
    """What margins are made of: ``z = y * (scores(w) + b)``, which constraints on them are to be met by.

    Parameters
    ----------
    scores, edges : callable
        The map from weights to scores, and its adjoint.
    y : ndarray
        The signs of the margins.
    intercept : bool
        Whether b may move.
    fixed_sum : bool
        Whether the sum of the weights is to stay.
    """

    scores: Callable[[Array], Array]
    edges: Callable[[Array], Array]
    y: Array
    intercept: bool
    fixed_sum: bool = False

    def margins(self, w: Array, b: Array) -> Array:
        return self.y * (self.scores(w) + b)


class Loss(ABC):
    """A convex loss on margins z = y * (H w + b), or on scores z = H w + b that it compares with targets of its own.

    With u the multiplier of that equality, ``u = -loss'(z)``, and the loss enters the dual objective as
    ``-loss*(-u)``, its `dual_value`. Seven members make a loss: `model`, `terms`, `dual_terms`, `multipliers`,
    `repair`, `violation` and `slackness`; values and bounds on their rounding errors follow from the terms. All else is
    declared here with what suits a loss that is smooth and finite at every margin, or as None where only some have it:
    fast masters name what they need, and take any loss that has it.

    Attributes
    ----------
    on_scores : bool
        True if it holds the targets that it compares scores with, so that z are scores and there are no labels.
    any_shape : bool
        True if it takes any number of scores per sample without holding anything for them, as expressions do.
    of_differences : bool
        True if it knows differences of scores alone, so that there is no intercept.
    is_margin : bool
        True if its value is minus a margin, in the units of the margins, as that of the least one is.
    falls : bool
        True if it falls in every margin, so that no multiplier is negative.
    is_searched : bool
        True if its bounds are conic proofs near u that are searched for, by `prove` and `repair`, and multipliers at a
        kink are known by the model alone.
    per_sample : str
        The name of its targets or prices; "" where it has none.
    curvature : callable, optional
        Of a smooth sum over samples: the (generalised) second derivatives as a function of u.
    hessian : callable, optional
        ``hessian(U, X, outputs)``, of a smooth loss on several scores: its second derivatives in the weights of the
        columns X (n_active, n_samples) for these outputs.
    smoothed : callable, optional
        ``smoothed(width)``: a smooth function near the loss, whose multipliers are in the domain of the loss's
        conjugate, with its `value`, `multipliers` and second derivatives ``curve(z, X)`` in the weights of columns X.
    rounded : callable, optional
        ``rounded(width)``: a smooth loss near it, in units of the targets, whose multipliers are in its domain too.
    model_violation : callable, optional
        The sum of the violations of side constraints as an expression of the cvxpy variable z.
    held : Loss, optional
        Of a smooth loss under side constraints that are linear in margins: the loss without them.
    """

    on_scores: bool = False
    any_shape: bool = False
    of_differences: bool = False
    is_margin: bool = False
    falls: bool = False
    is_searched: bool = False
    per_sample: str = ""
    curvature: Callable[[Array], Array] | None = None
    hessian: Callable[[Array, Array, Indices], Array] | None = None
    smoothed: Callable[[float], Any] | None = None
    rounded: Callable[[float], Loss] | None = None
    model_violation: Callable[[cp.Expression], cp.Expression] | None = None
    held: Loss | None = None

    @abstractmethod
    def model(self, z: cp.Expression) -> Term:
        """Model the loss of the cvxpy variable `z`."""

    @abstractmethod
    def terms(self, z: Array) -> Array:
        """Evaluate the summands of the loss, an array of any shape; inf where it is.

        Each is accurate to a few roundings of its own size: what would cancel within one is two of them.
        """

    @abstractmethod
    def dual_terms(self, u: Array) -> Array:
        """Evaluate the summands of ``-loss*(-u)`` at a repaired `u`, accurate but for the rounding of u."""

    @abstractmethod
    def multipliers(self, z: Array) -> Array:
        """Return ``-loss'(z)``; where there is more than one slope, one that `repair` makes optimal at w = 0."""

    @abstractmethod
    def repair(self, u: Array, y: Array | None) -> Array:
        """Move `u` into the domain of the conjugate, and to y'u = 0 where labels are given."""

    @abstractmethod
    def violation(self, u: Array) -> float:
        """Measure how far `u` is from the domain of the conjugate, signs included."""

    @abstractmethod
    def slackness(self, z: Array, u: Array) -> float:
        """Return the largest complementary-slackness product, or ``|u + loss'(z)|`` of a smooth loss; relative."""

    # what follows from these

    def value(self, z: Array) -> float:
        """Evaluate the loss; inf where it is, or overflows."""
        with np.errstate(over="ignore"):
            return float(self.terms(z).sum())

    def dual_value(self, u: Array) -> float:
        """Evaluate ``-loss*(-u)`` at a repaired `u`."""
        return float(self.dual_terms(u).sum())

    def rounding(self, z: Array) -> float:
        """Bound the rounding error of ``value(z)`` at these margins."""
        with np.errstate(over="ignore"):
            return _sum_error(z.size, self.terms(z))

    def dual_rounding(self, u: Array) -> float:
        """Bound the rounding error of ``dual_value(u)``: that of a sum, and what every term makes of that of u."""
        terms = self.dual_terms(u)
        moved = np.abs(terms - self.dual_terms((1 - 2 * EPSILON) * u))
        return _sum_error(u.size, terms) + float(np.nan_to_num(moved, posinf=0.0).sum())

    def rise(self, z: Array, errors: Array) -> float:
        """Bound how far the loss at margins within `errors` of `z` is above ``value(z)``, its own rounding included.

        One that falls in every margin is largest at ``z - errors``. For a convex sum over samples ``loss(z') - loss(z)
        <= |loss'(z')| |z' - z|``, with twice the largest slope at z and both ends.
        """
        if self.falls:
            return max(self.value(z - errors) - self.value(z), 0.0) + self.rounding(z)
        ends = self.multipliers(z - errors), self.multipliers(z + errors)
        kinks = self.slopes(z, float(errors.max(initial=0.0)))
        slopes = np.maximum.reduce([np.abs(slopes) for slopes in (self.multipliers(z), *kinks, *ends)])
        return 2 * float((slopes * errors).sum()) + self.rounding(z)

    # what losses may have beside them

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the targets or prices that it holds per sample; () where it fits any number of samples."""
        return np.shape(vars(self)[self.per_sample]) if self.per_sample else ()

    @property
    def linear_dual(self) -> LinearDual | None:
        """The dual of a piecewise linear loss, a linear function of multipliers in a polyhedron; None of others."""
        return None

    @property
    def targets(self) -> Array | None:
        """The t of a loss ``1/2 sum_i prices_i |t_i - z_i|^2``, which has `prices` too; None of others."""
        return None

    @property
    def basis(self) -> str:
        """What bounds rest on, if not on a conjugate, in a few words."""
        return ""

    def slopes(self, z: Array, near: float) -> tuple[Array, Array]:
        """Return the least and the largest multiplier in -loss' at margins up to `near` from z; equal away from kinks.

        What is here suits a smooth loss.
        """
        u = self.multipliers(z)
        return u, u

    def fixed_sum(self, z: Array) -> float | None:
        """Return what the multipliers at these margins add up to, where that is prescribed."""
        return None

    def rescaling(self, z: Array) -> float:
        """Return a t such that ``t z`` is feasible or has no slack; 1 if there is none, or no need."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the b that minimises the loss of y * (f + b); by Brent's search unless a closed form is known."""
        return np.asarray(minimize_scalar(lambda b: self.value(y * (f + b)), tol=1e-12).x)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Measure how far z and the auxiliary variables (slacks, ...) are from feasible."""
        return 0.0

    def value_beside(self, z: Array, other: object) -> float:
        """Evaluate with what a loss chooses itself, such as rho, as a loss of another price chooses it."""
        return self.value(z)

    # what losses under constraints, and those that are known by their model alone, say otherwise

    def prove(self, u: Array, y: Array | None, z: Array) -> Array:
        """Repair multipliers whose margins z are known."""
        return self.repair(u, y)

    def condition(self, u: Array) -> str:
        """Say in a few words what ``dual_value(u)`` would be a bound under; empty where it is one whatever else."""
        return ""

    def displacement(self, u: Array) -> float:
        """Bound the sum of the differences of u and some multipliers that have ``dual_value(u)`` exactly."""
        return 0.0

    def shortfall(self, z: Array, u: Array) -> float:
        """Bound what the value at z is too low by because z is outside of the domain by a solver's digits."""
        return 0.0

    def is_held(self, z: Array) -> bool:
        """Return True if the constraints on margins alone hold, however terms are added up."""
        return True

    def hold(self, scored: Scored, w: Array, b: Array) -> tuple[Array, Array]:
        """Move weights and intercept to where constraints on margins hold; the same arrays where there are none."""
        return w, b

    def tighten(self) -> Loss:
        """Return the same with less room for side constraints, by more than what solvers leave of violations."""
        return self

    def domain(self, shape: tuple[int, ...]) -> Any:
        """Return the function that is 0 where the loss is finite, as conic proofs know it; None without these."""
        return None

    def own_values(self, z: Array) -> Mapping[str, Array]:
        """Return the best values at z of the variables that a user named."""
        return {}

    def _take(self, loss: Loss, *names: str) -> None:
        """Have the same as the loss that this one is around."""
        for name in names:
            object.__setattr__(self, name, getattr(loss, name))


class OfDifferences(Loss):
    """A loss on scores that is a function of their differences, so that an intercept would change nothing."""

    on_scores = True
    of_differences = True

    def smoothed(self, width: float) -> Any:
        """Return the loss itself, which suits a smooth one."""
        return self

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return 0: differences have no intercept."""
        return np.zeros(())


def _sum_error(n_samples: int, terms: Array) -> float:
    """Bound the rounding error of a sum of terms, of which there may be some for each sample."""
    return sum_error(max(n_samples, terms.size // 2), float(np.abs(terms).sum()))


class BoundedSlopes(Loss):
    """A loss ``sum_i C_i phi_i(z_i)`` whose multipliers have bounds of their own; `C` is a price, or one per sample."""

    C: Any

    @property
    @abstractmethod
    def bounds(self) -> tuple[float | Array, float | Array]:
        """The least and the largest multipliers."""

    @property
    def unit(self) -> float | Array:
        """What multipliers are measured in."""
        return self.C

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip into the bounds; with an intercept scale down those of the sign that outweighs the other."""
        u = np.clip(u, *self.bounds)
        return u if y is None else balance_classes(u, y)

    def violation(self, u: Array) -> float:
        """Return the distance from the bounds, in units of C."""
        least, largest = self.bounds
        return max(excess((least - u) / self.unit), excess((u - largest) / self.unit))

    def slackness(self, z: Array, u: Array) -> float:
        """Return ``max |u + loss'(z)|`` in units of C, relative to the largest slope."""
        slopes = self.multipliers(z) / self.unit
        return float(np.abs(u / self.unit - slopes).max()) / max(float(np.abs(slopes).max()), TINY)


class PiecewiseLinear(BoundedSlopes):
    """A loss that is known by its `linear_dual`: a sum of hinges, at margins that a threshold t may shift.

    Where the sum of the multipliers is limited, t is the multiplier of that: if it is ``high``, any number, and if it
    is at most that, 0 or above,

        loss(z) = min over t of  high t + sum prices max(0, sign (knots - z - t)),

    so that the mean of the worst samples and the least margin are hinges, too. Without a limit t is 0.
    """

    @property
    @abstractmethod
    def linear_dual(self) -> LinearDual:
        """Its hinges, those of either sign in the order in which their multipliers pay, and the limits of the sum."""

    @property
    def bounds(self) -> tuple[float | Array, float | Array]:
        least, largest = 0.0, 0.0
        for sign, _, prices in self.linear_dual.hinges:
            least, largest = (least, largest + prices) if sign > 0 else (least - prices, largest)
        return least, largest

    def threshold(self, z: Array) -> float:
        """Return the best t, from which on the prices of what is short add up to less than their limit."""
        return 0.0

    def measure_short(self, z: Array, t: float) -> Iterator[tuple[Hinges, Array]]:
        """Yield each sum of hinges with what margins are short of its knots, at a threshold."""
        for part in self.linear_dual.hinges:
            yield part, part.sign * (part.knots - z - t)

    def terms(self, z: Array) -> Array:
        return self.terms_at(z, self.threshold(z))

    def terms_at(self, z: Array, t: float) -> Array:
        """Return the hinges at their prices, and what the threshold t costs."""
        hinges = [part.prices * np.maximum(short, 0) for part, short in self.measure_short(z, t)]
        return np.concatenate([*hinges, [self.linear_dual.high * t]] if t else hinges)

    def dual_terms(self, u: Array) -> Array:
        dual = self.linear_dual
        return np.concatenate([h.sign * h.knots * v for h, v in zip(dual.hinges, dual.split(u), strict=True)])

    def slopes(self, z: Array, near: float | Array) -> tuple[Array, Array]:
        """Return what the hinges on either side of their kinks pull with, and what lies between that at a kink."""
        pairs = []
        for part, short in self.measure_short(z, self.threshold(z)):
            outer, inner = np.where(short > near, part.prices, 0.0), np.where(short >= -near, part.prices, 0.0)
            pairs.append((outer, inner) if part.sign > 0 else (-inner, -outer))
        least, largest = (sum(own[1:], own[0]) for own in zip(*pairs, strict=True))
        return least, largest

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the middle of all best b, exactly: the loss is piecewise linear in b."""
        hinges = self.linear_dual.hinges
        kinks = np.concatenate([y * h.knots - f for h in hinges])
        prices = np.concatenate([np.broadcast_to(h.prices, f.shape) for h in hinges])
        falls = np.concatenate([h.sign * y > 0 for h in hinges])
        return best_of_hinges(kinks, prices, float(prices[falls].sum()))

    def slackness(self, z: Array, u: Array) -> float:
        """Return the largest product of a margin's way to a kink and what u then lacks, or of t and what the sum does.

        Multipliers are in their units.
        """
        dual, t = self.linear_dual, self.threshold(z)
        parts = zip(self.measure_short(z, t), dual.split(u), strict=True)
        lacking = [np.where(short > 0, part.prices - v, -v) * short for (part, short), v in parts]
        missed = abs(t) * max(1 - float(u.sum()) / dual.high, 0.0) if t else 0.0
        return max(missed, excess(np.stack(lacking) / self.unit))


class WithSlacks(PiecewiseLinear):
    """A loss of hinges of one side, whose model has their slacks xi, and the threshold as rho: t, or -t of a margin."""

    falls = True

    def model(self, z: cp.Expression) -> Term:
        """Model the loss with slacks xi >= 0, ``z + t >= knots - xi``."""
        ((_, knots, prices),), own, total = self.linear_dual.hinges, {}, cp.Constant(0.0)
        if self.linear_dual.high < inf:
            own["rho"] = cp.Variable(nonneg=not self.is_margin, name="rho")
            t = -own["rho"] if self.is_margin else own["rho"]
            z, total = z + t, self.linear_dual.high * t
        own["xi"] = cp.Variable(z.shape, nonneg=True, name="xi")
        return Term(total + cp.sum(cp.multiply(prices, own["xi"])), (z >= knots - own["xi"],), own)

    def threshold(self, z: Array) -> float:
        if (high := self.linear_dual.high) == inf:
            return 0.0
        ((_, knots, some),) = self.linear_dual.hinges
        prices = np.broadcast_to(some, z.shape)
        if not (self.is_margin or adds_up(prices, high)):
            return 0.0
        t = -_quantile(z - knots, prices, high)
        return t if self.is_margin else max(0.0, t)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the exact b: of p = t + b and q = t - b one is that of the positives, one of the negated negatives.

        Each class counts with half of the limit, and the loss is a sum of functions of p and of q, if that allows a t.
        Else t is 0, and the loss a sum of hinges.
        """
        dual, ((_, knots, some),), sides = self.linear_dual, self.linear_dual.hinges, (y > 0, y < 0)
        prices, half = np.broadcast_to(some, f.shape), dual.high / 2
        if half < inf and (self.is_margin or all(adds_up(prices[side], half) for side in sides)):
            p, q = (-_quantile((y * f)[side] - knots, prices[side], half) for side in sides)
            if self.is_margin or p + q >= 0:
                return np.asarray((p - q) / 2)
        return super().best_intercept(f, y)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Measure how far slacks and threshold, where all are given, are from fitting the margins."""
        (knots, rho, xi), zero = (self.linear_dual.hinges[0].knots, *map(auxiliary.get, ("rho", "xi"))), np.zeros(())
        if xi is None or (rho is None and self.linear_dual.high < inf):
            return 0.0
        t, least = (zero, zero) if rho is None else (-rho, zero) if self.is_margin else (rho, rho)
        return max(excess(-xi), excess(-least), excess(knots - t - xi - z))


@dataclass(frozen=True, eq=False)
class SumOverSamples(BoundedSlopes):
    """A loss ``sum_i C_i phi(z_i)`` that falls in every margin, by at most `cap` C_i per unit: 0 <= u <= cap C.

    Its terms and its dual terms are one for each sample.

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Price of the loss, or of a unit of slack, above 0; of every sample its own in an array.
    """

    falls = True
    cap: ClassVar[float]
    per_sample = "C"
    C: Scalar

    @property
    def bounds(self) -> tuple[float | Array, float | Array]:
        return 0.0, self.cap * self.C


@documented
@dataclass(frozen=True, eq=False)
class Hinge(WithSlacks, SumOverSamples):
    """C sum_i max(0, 1 - z_i): the slacks of LL08 P1 and P4. Its dual value is sum u on 0 <= u <= C.

    Examples
    --------
    >>> Hinge(C=2.0).value(np.array([0.5, 3.0]))
    1.0
    """

    cap = 1.0

    @property
    def linear_dual(self) -> LinearDual:
        return LinearDual((Hinges(1.0, 1.0, self.C),))

    def multipliers(self, z: Array) -> Array:
        return np.full(z.shape, self.C)

    def rescaling(self, z: Array) -> float:
        """Return ``1 / min z`` where it spares all slack: the smallest margin is positive and below 1."""
        return raise_to_one(z)


@documented
@dataclass(frozen=True, eq=False)
class Exponential(SumOverSamples):
    """C sum_i exp(-z_i), the loss of AdaBoost; KIE06 (5) has C = 1/n. Dual value -sum(u ln(u/C) - u) on u >= 0.

    Examples
    --------
    >>> Exponential(C=0.5).value(np.zeros(2))
    1.0
    """

    cap = inf

    def model(self, z: cp.Expression) -> Term:
        return Term(cp.sum(cp.multiply(self.C, cp.exp(-z))))

    def terms(self, z: Array) -> Array:
        return self.multipliers(z)

    def dual_terms(self, u: Array) -> Array:
        return u - xlogy(u, u / self.C)

    def multipliers(self, z: Array) -> Array:
        with np.errstate(over="ignore"):
            return self.C * np.exp(-z)

    def curvature(self, u: Array) -> Array:
        """Return ``C exp(-z_i) = u_i``."""
        return u

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return half the log of the ratio of the two classes' losses at b = 0."""
        C, positive = np.broadcast_to(self.C, y.shape), y > 0
        of_positive, of_negative = logsumexp(-f[positive], b=C[positive]), logsumexp(f[~positive], b=C[~positive])
        return np.asarray((of_positive - of_negative) / 2)


@documented
@dataclass(frozen=True, eq=False)
class Logistic(SumOverSamples):
    """C sum_i ln(1 + exp(-z_i)); dual value the entropy -C sum(p ln p + (1-p) ln(1-p)), p = u/C in [0, 1].

    Examples
    --------
    >>> round(Logistic(C=1.0).value(np.zeros(2)), 6)
    1.386294
    """

    cap = 1.0

    def model(self, z: cp.Expression) -> Term:
        return Term(cp.sum(cp.multiply(self.C, cp.logistic(-z))))

    def terms(self, z: Array) -> Array:
        return self.C * np.logaddexp(0, -z)

    def dual_terms(self, u: Array) -> Array:
        """Return the entropies of p = u/C, times C."""
        p = u / self.C
        # of a small p, ln(1-p) from 1 - p would be off by the rounding of 1, which C multiplies
        return -(self.C * (xlogy(p, p) + xlog1py(1 - p, -p)))

    def multipliers(self, z: Array) -> Array:
        return self.C * expit(-z)

    def curvature(self, u: Array) -> Array:
        """Return ``C p (1 - p)`` for p = u/C."""
        return u * (1 - u / self.C)


class ClippedSquares(BoundedSlopes):
    """A loss of squares of what scores miss, ``r = aims - z``, linear from where its slopes reach their bounds.

    With ``u = stiffness r``, clipped into the bounds, it is ``sum_i u_i r_i - u_i^2 / (2 stiffness_i)``. Its dual value
    is ``aims'u - sum_i u_i^2 / (2 stiffness_i)`` within the bounds.
    """

    @property
    def aims(self) -> float | Array:
        """What scores are to be."""
        return 1.0

    @property
    def stiffness(self) -> Scalar:
        """The second derivative where the loss is a square."""
        return self.C

    def terms(self, z: Array) -> Array:
        missed = self.aims - z
        u = np.clip(self.stiffness * missed, *self.bounds)
        return u * (missed - u / (2 * self.stiffness))

    def dual_terms(self, u: Array) -> Array:
        return self.aims * u - halve_product(u, u, self.stiffness)

    def multipliers(self, z: Array) -> Array:
        return np.clip(self.stiffness * (self.aims - z), *self.bounds)

    def curvature(self, u: Array) -> Array:
        """Return the stiffness where the loss is a square, and 0 where it is linear."""
        least, largest = self.bounds
        return np.where((least < u) & (u < largest), self.stiffness, 0.0)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the b at which y'u = 0; it is piecewise linear in b."""
        kinks = [y * (self.aims - end / self.stiffness) - f for end in self.bounds if np.isfinite(end).all()]
        return find_balance(lambda b: float(y @ self.multipliers(y * (f + b))), np.concatenate(kinks))


@documented
@dataclass(frozen=True, eq=False)
class SquaredHinge(ClippedSquares, SumOverSamples):
    """C/2 sum_i max(0, 1 - z_i)^2; dual value sum u - |u|^2 / (2 C) on u >= 0.

    Examples
    --------
    >>> SquaredHinge(C=2.0).value(np.array([0.0, 3.0]))
    1.0
    """

    cap = inf

    def model(self, z: cp.Expression) -> Term:
        return Term(cp.sum(cp.multiply(self.C / 2, cp.square(cp.pos(1 - z)))))


@documented
@dataclass(frozen=True, eq=False)
class HuberizedHinge(ClippedSquares, SumOverSamples):
    """C sum_i of the hinge with its kink rounded off: (1 - z_i)^2 / (2 d) where 1 - d < z_i < 1, 1 - z_i - d/2 below.

    Rosset & Zhu (2007), Chapelle (2007). Its dual value is ``sum u - d |u|^2 / (2 C)`` on 0 <= u <= C.

    Parameters
    ----------
    d : float
        The width over which it is rounded off, above 0.

    Examples
    --------
    >>> HuberizedHinge(C=1.0, d=0.5).value(np.array([-1.0, 0.75, 2.0]))
    1.8125
    """

    cap = 1.0
    d: float = 1.0

    @property
    def stiffness(self) -> Scalar:
        return self.C / self.d

    def model(self, z: cp.Expression) -> Term:
        # huber(r, d) is r^2 up to d and 2 d r - d^2 beyond
        return Term(cp.sum(cp.multiply(self.stiffness / 2, cp.huber(cp.pos(1 - z), self.d))))


@dataclass(frozen=True, eq=False)
class CVaR(WithSlacks):
    """C times the least over rho >= 0 of rho + sum_i D_i max(0, 1 - z_i - rho): the mean of the largest hinges.

    The conditional value at risk of the hinge loss (Rockafellar & Uryasev 2000): with D = 1/(nu n_samples) it is the
    mean over the worst share nu of the samples. Its dual value is ``sum u`` on 0 <= u <= C D, sum u <= C. That of the
    negated margins themselves is `SoftMinimumMargin`.

    Parameters
    ----------
    D : float or ndarray of shape (n_samples,)
        Price of a unit of slack beyond rho, above 0; of every sample its own in an array.
    C : float
        Weight of the loss, above 0.

    Examples
    --------
    >>> CVaR(D=1 / (0.5 * 4)).value(np.array([-2.0, -1.0, 0.0, 5.0]))
    2.5
    """

    per_sample = "D"
    D: float | Array
    C: float = 1.0

    @property
    def linear_dual(self) -> LinearDual:
        return LinearDual((Hinges(1.0, 1.0, self.unit),), high=self.C)

    @property
    def unit(self) -> float | Array:
        return self.C * self.D

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip into [0, C D], balance the classes and scale the sum down to C."""
        u = super().repair(u, y)
        return u * (self.C / max(float(u.sum()), self.C))

    def multipliers(self, z: Array) -> Array:
        """Return C D from the threshold on, of which `repair` makes a sum of C at most."""
        return self.slopes(z, ROUNDED * (1 + np.abs(z)))[1]

    def fixed_sum(self, z: Array) -> float | None:
        return self.C if self.threshold(z) > 0 else None

    def violation(self, u: Array) -> float:
        """Return the distance from signs and caps in units of C D, and what the sum is above C, in units of C."""
        return max(super().violation(u), float(u.sum()) / self.C - 1)


@dataclass(frozen=True)
class HardMargin(WithSlacks):
    """0 where z_i >= 1 for every i, else infinite: the constraint of LL08 P3. Its dual value is sum u on u >= 0.

    Examples
    --------
    >>> HardMargin().value(np.array([1.0, 3.0])), HardMargin().value(np.array([0.5, 3.0]))
    (0.0, inf)
    """

    linear_dual = LinearDual((Hinges(1.0, 1.0, inf),))

    def model(self, z: cp.Expression) -> Term:
        return Term(cp.Constant(0.0), (z >= 1,))

    def terms(self, z: Array) -> Array:
        """Return 0 or inf; a shortfall of rounding size counts as met."""
        return np.array([0.0 if z.min() >= 1 - 1e-12 else inf])

    def multipliers(self, z: Array) -> Array:
        return np.ones(z.shape)

    def slopes(self, z: Array, near: float | Array) -> tuple[Array, Array]:
        """Return 0 above the margin 1, and anything from 0 on at it."""
        return np.zeros(z.shape), super().slopes(z, near)[1]

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the middle between the lowest positive and the highest negative score."""
        return np.asarray(-(f[y > 0].min() + f[y < 0].max()) / 2)

    def rescaling(self, z: Array) -> float:
        """Return ``1 / min z`` where all margins are positive and the smallest is below 1."""
        return raise_to_one(z)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        return excess(1 - z)

    def violation(self, u: Array) -> float:
        """Return ``max -u_i``, relative to the largest multiplier."""
        return excess(-u) / max(1.0, float(np.abs(u).max()))

    def slackness(self, z: Array, u: Array) -> float:
        """Return ``max |u_i (z_i - 1)|``, relative to the largest multiplier."""
        return float(np.abs(u * (z - 1)).max()) / max(1.0, float(np.abs(u).max()))


@dataclass(frozen=True, eq=False)
class CappedSimplex(BoundedSlopes):
    """A loss whose multipliers lie in the capped simplex ``sum u = 1, 0 <= u <= D``: a least margin with slacks."""

    is_margin = True
    falls = True
    per_sample = "D"
    D: Scalar

    @property
    def unit(self) -> float | Array:
        return self.D

    @property
    def bounds(self) -> tuple[float | Array, float | Array]:
        return 0.0, self.D

    def repair(self, u: Array, y: Array | None) -> Array:
        """Project onto the capped simplex; with labels, each class carries half of the weight.

        Raises
        ------
        InvalidInput
            D is so small that the problem is unbounded.
        """
        sides, total = ((np.full(u.shape, True),), 1.0) if y is None else ((y > 0, y < 0), 0.5)
        D, repaired = np.broadcast_to(self.D, u.shape), np.empty_like(u)
        for side in sides:
            if not adds_up(D[side], total):
                found, least = f"found {D[side].mean():g} a sample", total / np.count_nonzero(side)
                raise InvalidInput("D", found, f"give at least {least:g}, or the problem is unbounded")
            repaired[side] = capped_simplex(u[side], D[side], total)
        return repaired

    def fixed_sum(self, z: Array) -> float | None:
        return 1.0

    def bound_sum(self, u: Array) -> float:
        """Return 0, or -inf where the sum is not 1 but for rounding, as that of a share of multipliers is not."""
        return 0.0 if abs(float(u.sum()) - 1) <= 1e-9 else -inf

    def violation(self, u: Array) -> float:
        """Return the distance from the capped simplex: signs and cap in units of D, and |sum u - 1|."""
        return max(super().violation(u), abs(float(u.sum()) - 1))


@dataclass(frozen=True, eq=False)
class SoftMinimumMargin(CappedSimplex, WithSlacks):
    """min over rho of -rho + D sum_i max(0, rho - z_i): minus the soft minimum margin of LPBoost (DBS02).

    Its dual value is 0 on the capped simplex sum u = 1, 0 <= u <= D.

    Parameters
    ----------
    D : float or ndarray of shape (n_samples,)
        Price of a unit of slack, D = 1/(nu n_samples); of every sample its own in an array. The sum over the samples
        is at least 1, but for the rounding of D itself; below that the margin rho is worth more than it costs, without
        end.

    Examples
    --------
    >>> SoftMinimumMargin(D=1.0).value(np.array([0.5, 3.0]))
    -0.5
    """

    @property
    def linear_dual(self) -> LinearDual:
        return LinearDual((Hinges(1.0, 0.0, self.D),), low=1.0, high=1.0)

    def margin(self, z: Array) -> float:
        """Return the best rho: the largest margin below which the prices D add up to less than 1."""
        return -self.threshold(z)

    def dual_terms(self, u: Array) -> Array:
        return np.array([self.bound_sum(u)])

    def multipliers(self, z: Array) -> Array:
        return np.full(z.shape, 1 / len(z))

    def value_beside(self, z: Array, other: Any) -> float:
        """Evaluate at the margin rho of another price, where the loss is linear in D."""
        return float(self.terms_at(z, other.threshold(z)).sum())


@dataclass(frozen=True, eq=False)
class EntropicMinimumMargin(CappedSimplex):
    """min over xi >= 0 of 1/eta ln sum_i p_i exp(-eta (z_i + xi_i)) + sum_i D_i xi_i, p = D / sum D.

    Minus the margin that entropy-regularised LPBoost maximises (Warmuth, Glocer & Vishwanathan 2008). Its dual value is
    ``-1/eta sum_i u_i ln(u_i / p_i)`` on the capped simplex sum u = 1, 0 <= u <= D: that of LPBoost less an entropy, so
    it differs from LPBoost's soft minimum margin by at most ``ln(sum D) / eta``. At its optimum
    ``u_i = D_i min(1, exp(-eta (z_i - rho)))``, which has the sum 1 at one rho.

    Parameters
    ----------
    D : float or ndarray of shape (n_samples,)
        As of `SoftMinimumMargin`.
    eta : float
        Above 0; the larger, the nearer to LPBoost.

    Examples
    --------
    >>> round(EntropicMinimumMargin(D=1.0, eta=100.0).value(np.array([0.5, 3.0])), 4)
    -0.5069
    """

    eta: float

    def model(self, z: cp.Expression) -> Term:
        """Model the loss with slacks xi >= 0."""
        xi = cp.Variable(z.shape, nonneg=True, name="xi")
        D, ln_p = self._shares(z)
        smooth = cp.log_sum_exp(ln_p - self.eta * (z + xi)) / self.eta
        return Term(smooth + cp.sum(cp.multiply(D, xi)), (), {"xi": xi})

    def margin(self, z: Array) -> float:
        """Return the rho up to which slack pays; the largest z if it pays everywhere.

        Between two margins in their order the mass ``sum_i D_i min(1, exp(-eta (z_i - rho)))`` is a constant, of those
        below rho, and a multiple of exp(eta rho), of those above.
        """
        order = np.argsort(z)
        z, D = z[order], np.broadcast_to(self.D, z.shape)[order]
        below = np.cumsum(D) - D
        # ln of what those from the k-th on add to the mass, at rho = 0
        above = np.logaddexp.accumulate((np.log(D) - self.eta * z)[::-1])[::-1]
        mass = below + np.exp(above + self.eta * z)
        k = int(np.searchsorted(mass, 1.0))
        if k == len(z):
            return float(z[-1])
        rho = (np.log(max(1 - below[k], TINY)) - above[k]) / self.eta
        return float(np.clip(rho, z[k - 1] if k else None, z[k]))

    def terms(self, z: Array) -> Array:
        rho = self.margin(z)
        D, ln_p = self._shares(z)
        smooth = logsumexp(ln_p - self.eta * np.maximum(z, rho)) / self.eta
        # of the sizes of the exponents, which may cancel, rounding is a share
        size = float(np.abs(z).max() + np.abs(ln_p).max() / self.eta)
        return np.concatenate([[smooth - size, size], D * np.maximum(rho - z, 0)])

    def dual_terms(self, u: Array) -> Array:
        """Return ``-1/eta u ln(u / p)``."""
        D, _ = self._shares(u)
        return np.append(-rel_entr(u, D / D.sum()) / self.eta, self.bound_sum(u))

    def multipliers(self, z: Array) -> Array:
        """Return ``D_i min(1, exp(-eta (z_i - rho)))``."""
        u = self.D * np.exp(np.minimum(self.eta * (self.margin(z) - z), 0))
        return u / u.sum()

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Measure the slacks, where given, against 0."""
        return excess(-auxiliary["xi"]) if "xi" in auxiliary else 0.0

    def _shares(self, z: Array | cp.Expression) -> tuple[Array, Array]:
        """Return D and the logarithms of p, one per sample."""
        D = np.broadcast_to(np.asarray(self.D, dtype=np.float64), z.shape)
        return D, np.log(D / D.sum())


@dataclass(frozen=True, eq=False)
class SquaredError(Loss):
    """C/2 |L - Z|^2 for scores Z = H W + 1 b': least squares, SL (10). Dual value <U, L> - |U|^2 / (2 C).

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Price of half a squared error, above 0; of every sample its own in an array, where samples at 0 play no part.
    L : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets of one score, or of several, such as label codes.

    Examples
    --------
    >>> SquaredError(C=2.0, L=np.eye(2)).value(np.zeros((2, 2)))
    2.0
    >>> SquaredError(C=2.0, L=np.array([1.0, 3.0])).best_intercept(np.zeros(2), np.ones(2))
    array(2.)
    """

    on_scores = True
    per_sample = "L"
    C: Scalar
    L: Array

    def model(self, z: cp.Expression) -> Term:
        squares = cp.square(self.L - z)
        return Term(cp.sum(cp.multiply(self.C, squares if self.L.ndim == 1 else cp.sum(squares, axis=1))) / 2)

    def terms(self, z: Array) -> Array:
        return self.prices * (self.L - z) ** 2 / 2

    def dual_terms(self, u: Array) -> Array:
        """Return ``U_ik L_ik`` and ``-U_ik^2 / (2 C_i)``, where U_i is 0 at a price of 0."""
        C = self.prices
        return np.stack([u * self.L, -halve_product(u, u, np.where(C > 0, C, 0.5))])

    def multipliers(self, z: Array) -> Array:
        return self.prices * (self.L - z)

    def curvature(self, u: Array) -> Array:
        """Return the prices, also for the one output of a column by itself."""
        return np.broadcast_to(np.reshape(self.C, (-1, *(1 for _ in u.shape[1:]))), u.shape)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Put U to 0 at prices of 0; with an intercept make its columns sum to 0."""
        u = u if np.min(self.C) > 0 else u * (self.prices > 0)
        return u if y is None else u - self._shares * u.sum(axis=0)

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the mean of L - f, weighted by the prices."""
        return np.asarray(self._shares.ravel() @ (self.L - f))

    def violation(self, u: Array) -> float:
        """Return the largest |U| at a price of 0, in units of the largest price."""
        return excess(np.where(self.prices > 0, 0.0, np.abs(u))) / float(np.max(self.C))

    def slackness(self, z: Array, u: Array) -> float:
        """Return ``max |U_i - C_i (L_i - Z_i)|``, relative to max C max |L|."""
        return float(np.abs(u - self.multipliers(z)).max() / max(np.max(self.C) * np.abs(self.L).max(), TINY))

    @property
    def targets(self) -> Array:
        return self.L

    @property
    def prices(self) -> Array:
        """C as a column, or as the one number in it; without a second axis where targets have none."""
        return np.reshape(self.C, (-1, 1)[: self.L.ndim])

    @property
    def _shares(self) -> Array:
        """The share of every sample in the sum of the prices, a column where there are several outputs."""
        prices = np.broadcast_to(self.prices, (len(self.L), 1)[: self.L.ndim])
        return prices / prices.sum()


@dataclass(frozen=True, eq=False)
class MulticlassExponential(OfDifferences):
    """sum_i C_i sum_{k != y_i} exp(-(F_{y_i}(x_i) - F_k(x_i))) for scores F = H W: the loss of MultiBoost.

    Its multiplier U (n_samples, n_classes) has a number v_ik >= 0 for every sample and every other class k: U_ik is
    -v_ik, and of the sample's own class sum_k v_ik. At the optimum v_ik = C_i exp(F_k - F_{y_i}), the weight of that
    pair. The dual value is the entropy -sum(v ln(v/C) - v).

    Scores take no intercept: oracles have the constant, at the price of other hypotheses.

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Weight of the loss, above 0; of every sample its own in an array.
    labels : ndarray of int, shape (n_samples,)
        The class of every sample, from 0.
    n_classes : int
        Their number.

    Examples
    --------
    >>> loss = MulticlassExponential(C=0.5, labels=np.array([0, 2]), n_classes=3)
    >>> loss.value(np.zeros((2, 3)))
    2.0
    >>> loss.multipliers(np.zeros((2, 3)))
    array([[ 1. , -0.5, -0.5],
           [-0.5, -0.5,  1. ]])
    """

    C: Scalar
    labels: Indices
    n_classes: int

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return len(self.labels), self.n_classes

    def model(self, z: cp.Expression) -> Term:
        own_scores = cp.reshape(cp.sum(cp.multiply(self._own, z), axis=1), (len(self.labels), 1), order="C")
        losses = cp.multiply(~self._own, cp.exp(z - own_scores @ np.ones((1, self.n_classes))))
        return Term(cp.sum(cp.multiply(self.C, cp.sum(losses, axis=1))))

    def terms(self, z: Array) -> Array:
        return self._weights(z)

    def dual_terms(self, u: Array) -> Array:
        v = self.pairs(u)
        return v - xlogy(v, v / self._prices)

    def multipliers(self, z: Array) -> Array:
        """Return ``-v_ik = -C_i exp(F_k - F_{y_i})``, and of the own class their sum."""
        with np.errstate(over="ignore"):
            return self._sum_up(self._weights(z))

    def hessian(self, U: Array, X: Array, outputs: Indices) -> Array:
        """Return the second derivatives in the weights of columns X (n_active, n_samples) for given outputs.

        A pair adds ``v_ik (e_{y_i} - e_k)(e_{y_i} - e_k)'`` between the outputs, times ``h(x_i) h'(x_i)``.
        """
        v, B = self.pairs(U), np.zeros((len(X), len(X)))
        for c in range(self.n_classes):
            mine, at = np.flatnonzero(outputs == c), self.labels == c
            own = X[mine]
            B[np.ix_(mine, mine)] += (own * np.where(at, v.sum(axis=1), v[:, c])) @ own.T
            crossed = (X[:, at] * v[at].T[outputs]) @ own[:, at].T
            B[:, mine] -= crossed
            B[mine] -= crossed.T
        return B

    def pairs(self, u: Array) -> Array:
        """Return v (n_samples, n_classes), 0 for the own class."""
        return np.where(self._own, 0.0, np.maximum(-u, 0.0))

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip v at 0 and sum it up for the own classes."""
        return self._sum_up(self.pairs(u))

    def violation(self, u: Array) -> float:
        """Return the largest -v_ik, or sum of a row of U, in units of C."""
        return max(excess(np.where(self._own, 0.0, u) / self._prices), excess(np.abs(u.sum(axis=1)) / self.C))

    def slackness(self, z: Array, u: Array) -> float:
        """Return ``max |U + loss'(F)|`` in units of C, relative to the largest slope."""
        slopes = self.multipliers(z) / self._prices
        return float(np.abs(u / self._prices - slopes).max()) / max(float(slopes.max()), TINY)

    @cached_property
    def _own(self) -> Mask:
        return np.equal.outer(self.labels, np.arange(self.n_classes))

    @property
    def _prices(self) -> Array:
        """C as a column, or as the one number in it."""
        return np.reshape(self.C, (-1, 1))

    def _weights(self, z: Array) -> Array:
        own_scores = np.take_along_axis(z, self.labels[:, None], axis=1)
        return np.where(self._own, 0.0, self._prices * np.exp(z - own_scores))

    def _sum_up(self, v: Array) -> Array:
        return np.where(self._own, v.sum(axis=1, keepdims=True), -v)


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
    >>> Offset(Hinge(1.0), np.array([0.5, 2.0])).value(np.zeros(2))
    0.5
    """

    per_sample = "offset"
    loss: Loss
    offset: Array

    def __post_init__(self) -> None:
        validation.instance("loss", self.loss, Loss)
        object.__setattr__(self, "offset", validation.finite_array("offset", self.offset))
        # what the loss is, and functions of u alone, stay what they are where its margins are shifted
        self._take(self.loss, "on_scores", "any_shape", "falls", "curvature", "hessian")

    def model(self, z: cp.Expression) -> Term:
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


def best_of_hinges(kinks: Array, prices: Array, fall: float) -> Array:
    """Return the middle of all b that minimise a sum of hinges: its slope is -fall and rises by a price at every kink.

    A minimum is where the slope turns, and halfway between two kinks where it is 0 between them. Of kinks (m, n) there
    are m sums, with the same n prices.

    Examples
    --------
    >>> best_of_hinges(np.array([3.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0]), 1.0)
    array(0.5)
    """
    order, n = np.argsort(kinks, kind="stable"), len(prices)
    largest = float(prices.max())
    slopes = np.cumsum(prices[order] / largest, axis=-1) - fall / largest
    rounding = n * EPSILON * float((prices / largest).sum())
    turns = [np.minimum((slopes <= slope).sum(axis=-1, keepdims=True), n - 1) for slope in (-rounding, rounding)]
    first, last = (np.take_along_axis(kinks, np.take_along_axis(order, turn, -1), -1)[..., 0] for turn in turns)
    return np.asarray((first + last) / 2)


def excess(values: Array) -> float:
    """Return the largest positive entry, 0 where there is none."""
    return max(0.0, float(values.max(initial=0.0)))


def halve_product(a: Array, b: Array, C: float | Array) -> Array:
    """Return a b / (2 C); of a product that underflows, though that may be no small number, by the quotient of b."""
    is_tiny = np.abs(a * b) < TINY
    return np.where(is_tiny, a * (np.where(is_tiny, b, 0.0) / (2 * C)), a * b / (2 * C))


def raise_to_one(z: Array) -> float:
    """Return ``1 / min z`` where the smallest margin is positive, by more than 1e-100, and below 1; else 1."""
    smallest = float(z.min())
    return 1.0 / smallest if 1e-100 < smallest < 1 else 1.0


def adds_up(D: Array, total: float = 1.0) -> bool:
    """Return True if the prices of samples add up to `total`, but for their own rounding; their sum is rounded once.

    Examples
    --------
    >>> adds_up(np.full(49, 1 / 49)), adds_up(np.full(49, (1 - 9e-13) / 49))
    (True, False)
    """
    return fsum(D.tolist()) >= total * (1 - ROUNDED)


def _quantile(values: Array, weights: Array, total: float) -> float:
    """Return the smallest value at which the weights, added up in the order of the values, reach `total`."""
    order = np.argsort(values)
    reached = int(np.searchsorted(np.cumsum(weights[order]), total * (1 - 1e-9)))
    return float(values[order[min(reached, len(values) - 1)]])
