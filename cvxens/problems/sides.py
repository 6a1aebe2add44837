"""Losses under side constraints that are linear in scores and in slacks: equal means of groups, bounded losses of some.

A side constraint is ``sum_i pulls_i z_i + sum_i charges_i max(0, 1 - z_i) <= limit``. With multipliers pi >= 0 of some,
the dual value of the loss l under them follows from that of the loss itself:

    min over z of l(z) + u'z under the constraints  >=  D_pi(u + pulls'pi) - limits'pi,

where D_pi is the dual value of ``l(z) + sum_i (charges'pi)_i max(0, 1 - z_i)``: of a hinge loss one with higher prices
of slack. So a proof needs u, and one number for each constraint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from scipy.optimize import brentq, linprog

from cvxens.problems.constraints import HELD, ROOM, Measured, read_constraints
from cvxens.problems.expressions import LEAST_SAMPLES, ConicLoss, ConstrainedLoss, ExpressionLoss
from cvxens.problems.linear_dual import LinearDual
from cvxens.problems.losses import Hinge, Loss, Scored
from cvxens.problems.modelling import Model, Term, cp, solve_model
from cvxens.problems.sums import ReadHinges
from cvxens.rounding import EPSILON, TINY
from cvxens.types import Array, Point

SAME = 1e-9
"""Multipliers that differ by no more, relative to their sum, are the same but for balancing and rounding; bounds are
charged for what they differ by."""


@dataclass(frozen=True, eq=False)
class SideLoss(ConicLoss):
    """A loss where side constraints hold, infinite elsewhere.

    The constraints hold at weights that masters hand over to the last digits: they are moved until they do (`hold`).

    Parameters
    ----------
    loss : Loss
        The loss itself, of one margin or score a sample.
    pulls, charges : ndarray of shape (n_constraints, n_samples)
        Of the constraints; pulls add up to 0 over samples times signs, so that an intercept changes nothing of
        them, and prices are 0 or above, and 0 where the loss is on scores.
    limits : ndarray of shape (n_constraints,)
        The largest values that are allowed.
    names : tuple of str
        What each constraint bounds.

    Examples
    --------
    Two samples of which the first may not score above the second by more than 0.5:

    >>> loss = SideLoss(Hinge(1.0), np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([0.5]))
    >>> z = np.array([0.5, -0.5])
    >>> loss.value(z), loss.value(2 * z + 1)
    (2.0, inf)
    >>> u = loss.adopt(np.array([1.0, 1.0]), np.array([0.5]), None)
    >>> u, loss.dual_value(u)
    (array([0.5, 0.5]), 1.75)
    """

    loss: Loss
    pulls: Array
    charges: Array
    limits: Array
    names: tuple[str, ...] = ()

    @classmethod
    def from_rows(cls, loss: Loss, pulls: Array, charges: Array, limits: Array, names: Sequence[str]) -> SideLoss:
        """Return a loss under constraints, and under those that it is under already."""
        if not isinstance(loss, SideLoss):
            return cls(loss, pulls, charges, limits, tuple(names))
        pulls, charges = np.concatenate([loss.pulls, pulls]), np.concatenate([loss.charges, charges])
        return cls(loss.loss, pulls, charges, np.concatenate([loss.limits, limits]), (*loss.names, *names))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return (self.pulls.shape[1],)

    def __post_init__(self) -> None:
        self._take(self.loss, "on_scores", "is_margin")
        if self.loss.curvature is not None and not self.has_charges and (self.limits >= 0).all():
            object.__setattr__(self, "held", self.loss)

    @property
    def basis(self) -> str:
        return "by multipliers of the constraints" if self.is_known else super().basis

    @cached_property
    def has_charges(self) -> bool:
        """True if some constraint is on slacks."""
        return bool(self.charges.any())

    @cached_property
    def is_known(self) -> bool:
        """True if bounds follow from the conjugate of the loss; else they are found by conic proofs."""
        has_conjugate = not isinstance(self.loss, ConicLoss) or self.loss.curvature is not None
        return has_conjugate and (isinstance(self.loss, Hinge) or not self.has_charges)

    @property
    def linear_dual(self) -> LinearDual | None:
        """The dual of a sum of hinges, of which none but those of margins are bounded, with room; of others None."""
        dual = self.loss.linear_dual
        if dual is None or not dual.is_separable:
            return None
        dual = replace(dual, pulls=self.pulls, limits=self.tighten().limits)
        if not self.has_charges:
            return dual
        has_room = (self.limits[self.charges.any(axis=1)] > 0).all()
        return replace(dual, charges=self.charges) if self.is_known and has_room else None

    def limit_prices(self, y: Array, *, intercept: bool) -> Array:
        """Return what the multipliers of constraints can hardly exceed.

        A unit of a mean score of some group can cost no more than about 4 times the prices of all slacks. A bound on
        slacks costs no more than the loss of any point over the room that it leaves, as the least loss is 0: so a
        constant score of the most room says, and twice that is given; where there is none, 2000 times the prices of all
        slacks over the limit.
        """
        dual: Any = self.loss.linear_dual
        total = sum(float(np.broadcast_to(part.prices, y.shape).sum()) for part in dual.hinges)
        prices = np.full(len(self.limits), 4.0 * total)
        for place in np.flatnonzero(self.charges.any(axis=1)):
            charged = Hinge(self.charges[place])
            b = charged.best_intercept(np.zeros(len(y)), y) if intercept else 0.0
            room = self.limits[place] - charged.value(y * b) - float(self.pulls[place] @ (y * b))
            known = 2 * self.loss.value(y * b) / room if room > 0 else inf
            prices[place] = min(known, 2000 * total / max(self.limits[place], TINY))
        return prices

    def model(self, z: cp.Expression) -> Term:
        term = self.loss.model(z)
        return Term(term.expression, (*term.constraints, self._state(z) <= self.limits), term.variables)

    def _state(self, z: cp.Expression) -> cp.Expression:
        """Model what the constraints bound."""
        return self.pulls @ z + self.charges @ cp.pos(1 - z) if self.has_charges else self.pulls @ z

    def model_violation(self, z: cp.Expression) -> cp.Expression:
        """Return the sum of the violations of all constraints as an expression of cvxpy."""
        return cp.sum(cp.pos(self._state(z) - self.limits))

    def measure(self, z: Array) -> Measured:
        """Measure how far constraints are exceeded; where nothing may be exceeded there is no room either."""
        slack = np.maximum(1 - z, 0.0)
        sizes = np.abs(self.pulls) @ np.abs(z) + self.charges @ (1 + np.abs(z)) + np.abs(self.limits)
        return Measured(self.pulls @ z + self.charges @ slack - self.limits, sizes, self.limits <= 0)

    def find_slopes(self, z: Array) -> Array:
        """Return the slopes of what is bounded, a piecewise linear function, in the margins."""
        return np.where(z < 1, self.pulls - self.charges, self.pulls)

    def terms(self, z: Array) -> Array:
        return self.loss.terms(z) if self.holds(z) else np.array([inf])

    def holds(self, z: Array, room: float = -ROOM) -> bool:
        """Return True if the constraints hold with some room, relative to the sizes of what each adds up."""
        measured = self.measure(z)
        allowed = np.where(measured.is_equal, HELD, -room) * measured.sizes
        return bool((measured.excess <= allowed).all())

    def is_held(self, z: Array) -> bool:
        # the room within constraints at which points that were moved satisfy them, relative to the sizes of the terms
        return self.holds(z, 5e-14)

    def own_values(self, z: Array) -> Mapping[str, Array]:
        return self.loss.own_values(z)

    def rise(self, z: Array, errors: Array) -> float:
        """Bound how far the loss itself rises."""
        return self.loss.rise(z, errors)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Return the largest violation, of the loss's own domain or of a constraint."""
        excess = self.measure(z).excess
        return max(self.loss.primal_violation(z, auxiliary), float(excess.max(initial=0.0)))

    def tighten(self) -> SideLoss:
        """Return the same with smaller limits, by more than what solvers leave of violations; equal means stay so."""
        # the share of a limit by which it is lowered where a solver's digits do not suffice to meet it
        return replace(self, limits=(1 - 1e-7) * self.limits)

    # proofs

    @cached_property
    def _known(self) -> deque[tuple[Array, Array]]:
        """Multipliers u that were adopted last, with those of the constraints, the last ones last."""
        # of a run's best bound, too, which may be some rounds old
        return deque(maxlen=200)

    def _raise_prices(self, pi: Array) -> Any:
        """Return the loss with what slacks cost by the constraints."""
        hinge: Any = self.loss
        return Hinge(hinge.C + pi @ self.charges) if self.has_charges else hinge

    def adopt(self, v: Array, pi: Array, y: Array | None) -> Array:
        """Return u = v - pulls'pi for multipliers of the loss and of the constraints, repaired, and remember it.

        With labels y those of the loss are balanced, and so are these.
        """
        pi = np.maximum(pi, 0.0)
        u = np.asarray(self._raise_prices(pi).repair(v, y) - pi @ self.pulls)
        self._known.append((u, pi))
        return u

    def find_prices(self, u: Array) -> Array | None:
        """Return the multipliers of the constraints that belong to an adopted u, or to a share of one; else None."""
        size = float(np.abs(u).sum())
        for known, pi in reversed(self._known):
            square = float(known @ known)
            share = float(known @ u) / square if square else 0.0
            if float(np.abs(u - share * known).sum()) <= SAME * size and share >= 0:
                return share * pi
        return None

    def price(self, u: Array) -> Array:
        """Return multipliers of the constraints that give u its dual value; a solver's, where u was not adopted."""
        known = self.find_prices(u)
        prices = self._solve_prices(u) if known is None else known
        rows = np.hstack([self.pulls, self.charges]) + 0.0
        of = {row.tobytes(): price for row, price in zip(rows, prices, strict=True)}
        back = [of.get(row.tobytes(), 0.0) for row in 0.0 - rows]  # of the reverse, which at 0 counts by the difference
        return np.where(self.limits == 0, np.maximum(prices - back, 0.0), prices)

    def _solve_prices(self, u: Array, far: float = inf) -> Array:
        """Return the multipliers of the constraints with the highest dual value for some u, as a solver finds them.

        Multipliers that miss those of a finite dual value by digits have one over margins that are not too far from 0.
        """
        z = cp.Variable(u.shape)
        term = self.loss.model(z)
        held, near = self._state(z) <= self.limits, [cp.abs(z) <= far] if far < inf else []
        problem = cp.Problem(cp.Minimize(term.expression + u @ z), [held, *near, *term.constraints])
        return np.maximum(solve_model(Model(problem, {}, {"pi": (held, 1.0)}), None, {}).duals["pi"], 0.0)

    def _split(self, u: Array) -> tuple[Loss, Array, Array, float] | None:
        """Return the loss with raised prices, its multipliers, those of the constraints, and how far u is from them."""
        if not self.is_known or (pi := self.find_prices(u)) is None:
            return None
        loss, pull = self._raise_prices(pi), pi @ self.pulls
        v = u + pull
        repaired = loss.repair(v, None)
        rounding = (len(pi) + 2) * EPSILON * (np.abs(u).sum() + (pi @ np.abs(self.pulls)).sum())
        return loss, repaired, pi, float(np.abs(repaired - v).sum() + rounding)

    def dual_terms(self, u: Array) -> Array:
        if (split := self._split(u)) is None:
            return super().dual_terms(u)
        loss, v, pi, _ = split
        return np.append(loss.dual_terms(v), -pi * self.limits)

    def displacement(self, u: Array) -> float:
        split = self._split(u)
        return super().displacement(u) if split is None else split[-1]

    def condition(self, u: Array) -> str:
        return super().condition(u) if self._split(u) is None else ""

    def prove(self, u: Array, y: Array | None, z: Array) -> Array:
        if not self.is_known:
            return super().prove(u, y, z)
        if (split := self._split(u)) and any(np.array_equal(u, known) for known, _ in reversed(self._known)):
            # what `multipliers` says at scores that are the same, as at the start
            if self.has_charges and not (split[2].any() or (z.any() if y is None else np.ptp(y * z))):
                return self._prove_constant(z + 1 if y is None else y, intercept=y is not None)
            loss, v, pi, _ = split
            return u if _is_balanced(v, y) else self.adopt(loss.prove(v, y, z), pi, y)
        # of a solver's u, and a share of an adopted one may have better ones than that share of those of the latter
        pi = self._solve_prices(u, 10 * (1 + float(np.abs(z).max(initial=0.0))))
        return self.adopt(u + pi @ self.pulls, pi, y)

    def _prove_constant(self, y: Array, *, intercept: bool) -> Array:
        """Return the multipliers of the best constant score b within the constraints, as far as a solver finds them.

        Each class has one slack, so that these are a program in b, two slacks s and what is exceeded: ``min C's +
        prices'e`` subject to ``s >= 1 - y b`` and ``charges s + pulls y b <= limits + e``. Prices of e are so high that
        it is 0 where it can be. Constraints are in units of their limits, prices of all of them.
        """
        k, classes = len(self.limits), np.stack([y > 0, y < 0]).astype(float)
        units = np.where(self.limits > 0, self.limits, 1.0)
        own = classes @ np.broadcast_to(self._raise_prices(np.zeros(k)).C, y.shape)
        of_limits = np.column_stack([self.pulls @ y, self.charges @ classes.T]) / units[:, np.newaxis]
        rows = np.block([[np.array([[-1.0], [1.0]]), -np.eye(2), np.zeros((2, k))], [of_limits, -np.eye(k)]])
        prices = np.concatenate([[0.0], own, self.limit_prices(y, intercept=intercept) * units]) / own.sum()
        ends = [(None, None) if intercept else (0, 0), *[(0, None)] * (2 + k)]
        found = linprog(prices, rows, np.append([-1.0, -1.0], self.limits / units), bounds=ends)
        marginals = np.append(own, np.zeros(k)) if found.status else -found.ineqlin.marginals * own.sum()
        alpha, pi = np.split(np.maximum(marginals, 0.0) / np.append(np.ones(2), units), [2])
        raised, balanced = np.broadcast_to(self._raise_prices(pi).C, y.shape), y if intercept else None
        return self.adopt(raised * ((alpha / np.maximum(classes @ raised, TINY)) @ classes), pi, balanced)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Return u if it is adopted, or a share of such, and balanced; else the nearest that has a bound."""
        if (split := self._split(u)) is None:
            return super().repair(u, y)
        _, v, pi, _ = split
        return u if _is_balanced(v, y) else self.adopt(v, pi, y)

    def multipliers(self, z: Array) -> Array:
        """Return those of the loss itself, as if no constraint had a price; or, without a conjugate, conic ones."""
        if not self.is_known:
            return super().multipliers(z)
        return self.adopt(self.loss.multipliers(z), np.zeros(len(self.limits)), None)

    # intercepts and weights

    def best_intercept(self, f: Array, y: Array) -> Array:
        """Return the best b within the constraints; where there is none, the b that comes closest."""
        free = np.asarray(self.loss.best_intercept(f, y))
        low, high = -inf, inf
        for pulls, charges, limit in zip(self.pulls, self.charges, self.limits, strict=True):
            if not charges.any():
                continue
            charged = charges > 0
            at, labels, C = f[charged], y[charged], charges[charged]
            size = float(C @ (1 + np.abs(at)))
            room = limit - float(pulls @ (y * f)) - ROOM * size
            least = float(Hinge(C).best_intercept(at, labels))
            if Hinge(C).value(labels * (at + least)) > room:
                low, high = max(low, least), min(high, least)
                continue
            low = max(low, _find_end(at, labels, C, room, least, -1.0))
            high = min(high, _find_end(at, labels, C, room, least, 1.0))
        return np.clip(free, low, max(low, high)) if low > -inf or high < inf else free

    def hold(self, scored: Scored, w: Array, b: Array) -> tuple[Array, Array]:
        """Move a point to where the constraints hold; by smaller scores, which differ less, where that is no other."""
        w, b = super().hold(replace(scored, intercept=scored.intercept and self.has_charges), w, b)
        y, f = scored.y, scored.scores(w)
        if self.holds(y * (f + b)) or scored.fixed_sum or self.has_charges or not (self.limits > 0).all():
            return w, b
        values = self.pulls @ (y * f)
        shares = (1 - 4 * ROOM) * self.limits / np.where(values > 0, values, TINY)
        w = w * min(1.0, float(shares.min()))
        return w, self.best_intercept(scored.scores(w), y) if scored.intercept else b


def read_sides(loss: ConstrainedLoss, y: Array, *, balanced: bool) -> Loss:
    """Return a loss under constraints that are a few linear ones on margins, where fast masters know it, by their rows.

    Bounds on sums of hinges of margins are read, too, where the loss is such a sum. Few samples, other constraints, and
    losses of neither hinges nor curvatures stay as they are; so do constraints that an intercept moves, where there is
    one, and those that scores of 0 do not keep.
    """
    # fast masters have a number for each row in every step
    most, inner = 16, loss.loss
    if len(y) < LEAST_SAMPLES:
        return loss
    if (rows := loss.read_rows(y.shape, most)) is None:
        inner, others = _read_charges(loss, y)
        rows = others.read_rows(y.shape, most)
    if rows is None:
        return loss
    pulls, limits = rows
    moved = np.abs(pulls @ y) > len(y) * EPSILON * np.abs(pulls).sum(axis=1)
    if (limits < 0).any() or (balanced and moved.any()):
        return loss
    read = inner.read(y.shape) if isinstance(inner, ExpressionLoss) else inner
    sided = SideLoss.from_rows(read, pulls, np.zeros_like(pulls), limits, ())
    return loss if sided.linear_dual is None and sided.held is None else sided


def _read_charges(loss: ConstrainedLoss, y: Array) -> tuple[Loss, ConstrainedLoss]:
    """Return a sum of hinges of margins under bounds on such sums, by their prices, and the other constraints.

    Where the loss is no such sum, or no constraint is such a bound, both are as they were.
    """
    (first, _), *parts = (_read_prices(part, y) for part in (loss.loss, *loss.split(y.shape)))
    sums = {place: part for place, part in enumerate(parts) if part[0].any() and part[1] < 0}
    charges = np.array([prices for prices, _ in sums.values()])
    # what neither the loss nor a bound takes in has no multiplier to find
    if not first.any() or not sums or not (first + charges.sum(axis=0)).all():
        return loss.loss, loss
    held = loss.constrain
    others = replace(loss, constrain=lambda z: [c for k, c in enumerate(read_constraints(held, z)) if k not in sums])
    limits = np.array([-constant for _, constant in sums.values()])
    return SideLoss(Hinge(first), np.zeros_like(charges), charges, limits), others


def _read_prices(loss: Loss, y: Array) -> tuple[Array, float]:
    """Return the prices of ``sum_i prices_i max(0, 1 - z_i)`` and a constant beside it; of other losses prices of 0."""
    read = loss.read_linear(y.shape, in_part=True) if isinstance(loss, ExpressionLoss) else loss
    dual = None if read is None else read.linear_dual
    if dual is None or not dual.is_separable or len(dual.hinges) != 1:
        return np.zeros(len(y)), 0.0
    [(sign, knots, prices)] = dual.hinges
    is_hinge = sign > 0 and ((knots == 1.0) | (np.asarray(prices) == 0)).all()
    constant = read.constant if isinstance(read, ReadHinges) else 0.0
    return np.broadcast_to(prices, y.shape) * bool(is_hinge), constant


def _is_balanced(v: Array, y: Array | None) -> bool:
    return y is None or abs(float(y @ v)) <= SAME * float(np.abs(v).sum())


def _find_end(f: Array, y: Array, C: Array, room: float, least: float, side: float) -> float:
    """Return the end of the interval of b around `least` where ``C'max(0, 1 - y (f + b)) <= room``; it may be open."""
    rising = float(C[y * side < 0].sum())
    if not rising:
        return side * inf

    def exceed(t: float) -> float:
        return float(C @ np.maximum(1 - y * (f + (least + side * t)), 0.0)) - room

    far = 1.0 + float(np.abs(f + least).max()) + room / rising
    t = brentq(exceed, 0.0, far, xtol=TINY, rtol=4 * EPSILON) if exceed(far) > 0 else far
    # the root is good to a few roundings, and may be outside
    for _ in range(200):
        if exceed(t) <= 0:
            return least + side * t
        t *= 1 - 2.0**-50
    return least
