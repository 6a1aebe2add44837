"""The hinge loss by proximal steps (the method of multipliers), each a smooth problem for Newton's method.

The proximal step of the dual from a *centre* p, with a *stiffness* 1/tau per sample, keeps multipliers near p: it
adds ``sum_i (u_i - p_i)^2 / (2 tau_i)`` to the dual objective. On the primal side that rounds off the kink of the hinge
(`SmoothedHinge`), so that a semismooth Newton method applies, whose linear system holds only the *free* samples, those
with a multiplier strictly between its bounds (Rockafellar, *Augmented Lagrangians and applications of the proximal
point algorithm in convex programming*, Math. Oper. Res. 1, 1976). Scores may come from a few columns (`ProximalHinge`,
below) or from a kernel (`solvers.additive`); both take their multipliers, intercepts and step lengths from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.limits import TimeUp, check_time
from cvxens.problems.duality import clip_box
from cvxens.problems.losses import Hinge
from cvxens.solvers.newton import Iterate, SmoothProblem, find_root
from cvxens.types import Array, Mask

GROWTH = 5.0
"""The factor on sigma after a step that closed most of the gap; its square after one that did not."""


class SmoothedHinge(NamedTuple):
    """The hinge loss of prices C rounded off around a centre: ``-psi_i'(z) = clip(p_i + tau_i (1 - z), 0, C_i)``.

    ``psi_i(z) = max over 0 <= u <= C_i of u (1 - z) - (u - p_i)^2 / (2 tau_i)``: the loss that a proximal step of the
    dual from p minimises in place of the hinge, together with the squared norm.
    """

    y: Array
    C: Array
    p: Array  # the centre, 0 <= p <= C
    tau: Array  # how far from the centre u may go: 1 / tau is the curvature of the proximal term

    def restrict(self, kept: NDArray[np.bool_ | np.intp]) -> SmoothedHinge:
        return SmoothedHinge(*(array[kept] for array in self))

    def multipliers(self, z: Array) -> Array:
        """Return ``u = clip(p + tau (1 - z), 0, C)``."""
        return np.clip(self.p + self.tau * (1 - z), 0.0, self.C)

    def curvature(self, u: Array) -> Array:
        """Return tau for the free samples, 0 for those at a bound."""
        return np.where((u > 0) & (u < self.C), self.tau, 0.0)

    def find_intercept(self, f: Array, b: float, balance: float = 0.0) -> float:
        """Find the b that minimises the loss of scores f + b, where y'u + balance = 0; searched from `b` on."""
        return b + self._search(f + b, np.ones(len(f)), (-balance, 0.0), 0.0, 0.0)

    def find_step(self, scores: Array, change: Array, norm: tuple[float, float], rounding: float) -> float:
        """Find how far to go from scores f + b along a change of them: 1, if the slope is small enough there.

        `norm` are slope and curvature of the squared norm along the step, `rounding` is what rounding does to a slope.
        The slope is to fall to a tenth, or to rounding: an exact minimum is not wanted, as the next step leaves it.
        """
        at_start = norm[0] - float((self.y * self.multipliers(self.y * scores)) @ change)
        return self._search(scores, change, norm, 1.0, max(abs(at_start) / 10, rounding))

    def _search(self, scores: Array, change: Array, norm: tuple[float, float], start: float, tolerance: float) -> float:
        """Find the t where the objective's slope is 0, a piecewise linear function; long steps are not trusted."""
        return find_root(lambda t: _slope(self, scores, change, norm, t), start, tolerance=tolerance, reach=2.0)


@njit(cache=True, nogil=True)
def _slope(hinge: SmoothedHinge, f: Array, change: Array, norm: tuple[float, float], t: float) -> tuple[float, float]:
    """Return slope and curvature of ``norm + sum_i psi_i(y_i (f_i + t change_i))`` in t; 0 if all is rounding."""
    y, C, p, tau = hinge
    value, rise, size = norm[0] + norm[1] * t, norm[1], 0.0
    for i in range(len(f)):
        # psi_i' = -u_i with u_i = clip(p_i + tau_i (1 - z_i), 0, C_i); only between the bounds does u_i change
        free = p[i] + tau[i] * (1.0 - y[i] * (f[i] + t * change[i]))
        u = min(max(free, 0.0), C[i])
        value -= y[i] * u * change[i]
        size += u * abs(change[i])
        if u == free:
            rise += tau[i] * change[i] * change[i]
    return (0.0 if abs(value) <= 1e-14 * size else value), rise


@dataclass(frozen=True)
class HingePoint:
    """Primal and dual point of LL08 P1, with both objectives recomputed in numpy."""

    w: Array
    b: float
    u: Array
    primal: float
    dual: float

    @classmethod
    def zero(cls, n_samples: int) -> HingePoint:
        return cls(np.zeros(0), 0.0, np.zeros(n_samples), np.inf, -np.inf)

    @property
    def gap(self) -> float:
        """Primal less dual, relative to the primal."""
        return (self.primal - self.dual) / self.primal if np.isfinite(self.primal) else np.inf

    def combine(self, other: HingePoint) -> HingePoint:
        """Return the better weights and the better multipliers of two points."""
        over = self if self.primal <= other.primal else other
        under = self if self.dual >= other.dual else other
        return HingePoint(over.w, over.b, under.u, over.primal, under.dual)


@dataclass(frozen=True)
class ProximalHinge:
    """min weight/2 |w|^2 + sum_i C_i max(0, 1 - z_i), z = y (H w + b + offset), over w free or w >= 0.

    Near the optimum O(n_columns) samples are free; samples far from there are left out of a proximal step with their u
    fixed (shrinking), and the step is repeated if one of them would have moved. As y'u = 0 holds exactly after every
    step, its u gives a dual bound, and the step is solved only as far as the gap of complementarity warrants.
    """

    y: Array
    C: Array  # prices of a unit of slack
    weight: float
    intercept: bool
    tol: float  # the relative duality gap at which to stop
    offset: Array | float = 0.0  # scores are H w + b + offset
    nonnegative: bool = False  # True for w >= 0

    def solve(self, rows: Array, start: HingePoint) -> HingePoint:
        """Solve over rows H' from a start, whose missing weights are 0 and whose objectives are not used.

        The best weights are returned with the best multipliers: objectives never rise from one start to the next.
        """
        w = np.concatenate([start.w, np.zeros(len(rows) - len(start.w))])
        at, u = Iterate(w, start.b, w @ rows + self.offset), np.minimum(start.u, self.C)
        best = last = self._point(rows, at, u)
        sigma, idle = self._first_sigma(rows, at), 0
        # a handful is usual from a warm start
        for _ in range(60):
            # rounding is taken to forbid more after 8 steps without progress
            if best.gap <= self.tol or idle == 8:
                break
            smoothed = SmoothedHinge(self.y, self.C, u, np.full(len(u), sigma))
            try:
                # a step is solved to a tenth of the tolerance, or of the gap of complementarity
                ahead, u_ahead = self._proximal(rows, at, smoothed, 0.1 * self.tol * max(0.0, best.dual))
            except TimeUp:
                break
            if not ahead.solved:
                # too steep for Newton's method; what it reached is a better start for a smoother step
                sigma, at, idle = sigma / GROWTH**2, ahead, idle + 1
                continue
            at, u = ahead, u_ahead
            point = self._point(rows, at, u)
            # a larger sigma is not needed yet after a step that closed most of the gap
            sigma *= GROWTH if point.gap < 0.3 * last.gap else GROWTH**2
            # dual values may fall on the way; one that rises by a tenth is progress, whatever the best gap does
            is_rising = point.dual > last.dual + 0.1 * abs(point.dual)
            better = best.combine(point)
            idle = 0 if is_rising or better.gap < best.gap else idle + 1
            best, last = better, point
        return best

    def _first_sigma(self, rows: Array, at: Iterate) -> float:
        """Start with a few samples per column between the bounds; from nothing, no steeper than the penalty allows."""
        # how far each sample is from the kink at z = 1
        off = np.abs(1 - self.y * (at.f + at.b))
        # sigma moves u from bound to bound over a width of C / sigma around z = 1: here, of 4 samples a column
        rank = min(len(off) - 1, 4 * (len(rows) + 1))
        sigma = float(self.C.mean()) / min(1.0, max(1e-6, float(np.partition(off, rank)[rank])))
        if at.w.any():
            return sigma
        # the Newton matrix weight I + sigma sum_i H_i H_i' should not be all loss yet: sigma |H_i|^2 <= 1e3 weight
        square = float(np.einsum("ji,ji->", rows, rows)) / rows.shape[1]
        return 1e3 * self.weight / max(square, 1e3 * self.weight / sigma)

    def _proximal(self, rows: Array, at: Iterate, smoothed: SmoothedHinge, allowed: float) -> tuple[Iterate, Array]:
        """Take one proximal step, repeated with more samples until those left out stay where they are."""
        z = self.y * (at.f + at.b)
        fixed = smoothed.multipliers(z)
        kept = _near(smoothed.p + smoothed.tau * (1 - z), self.C, len(rows))
        while True:
            check_time()
            near = smoothed if kept.all() else smoothed.restrict(kept)
            problem = self._state_problem(rows, near, kept, fixed)

            # loss(z) + u'z - sum u = sum_i C_i max(0, 1 - z_i) + u_i (z_i - 1): what z and u miss complementarity by
            def tolerate(_: Array, z: Array, u: Array, C: Array = near.C) -> float:
                return max(allowed, 0.1 * float((C * np.maximum(1 - z, 0) + u * (z - 1)).sum()))

            ahead = problem.minimise(replace(at, f=at.f[kept]), tolerate)
            ahead = replace(ahead, f=ahead.w @ rows + self.offset)
            u = smoothed.multipliers(self.y * (ahead.f + ahead.b))
            strayed = (u != fixed) & ~kept
            if not strayed.any() and (ahead.solved or kept.all()):
                return ahead, u
            # without an answer there may be too few samples left to balance the fixed ones
            strayed |= not ahead.solved
            kept |= strayed

    def _state_problem(self, rows: Array, near: SmoothedHinge, kept: Mask, fixed: Array) -> SmoothProblem:
        """State the proximal step over the samples that are kept, the others pulling with their fixed multipliers."""
        edges, balance = np.zeros(len(rows)), 0.0
        if not kept.all():
            s = np.where(kept, 0.0, self.y * fixed)
            rows, edges, balance = np.compress(kept, rows, axis=1), rows @ s, float(s.sum())
        return SmoothProblem(rows, near.y, self.weight, self.intercept, near, edges, balance, self.nonnegative)

    def _point(self, rows: Array, at: Iterate, u: Array) -> HingePoint:
        """Evaluate, with the best intercept to w and u made feasible."""
        loss = Hinge(self.C)
        u = clip_box(u, self.C, self.y if self.intercept else None)
        edges = rows @ (self.y * u)
        # with w >= 0 a negative edge takes nothing off the bound
        edges = np.maximum(edges, 0.0) if self.nonnegative else edges
        b = float(loss.best_intercept(at.f, self.y)) if self.intercept else at.b
        # weight/2 |w|^2 + loss(z), and sum u - |H'(y u)|^2 / (2 weight)
        primal = self.weight / 2 * float(at.w @ at.w) + loss.value(self.y * (at.f + b))
        # the least of loss(y (f + offset)) + u'y f over f is the loss's dual value less u'(y offset)
        of_loss = loss.dual_value(u) - float((u * self.y * self.offset).sum())
        return HingePoint(at.w, b, u, primal, of_loss - float(edges @ edges) / (2 * self.weight))


def _near(v: Array, C: Array, n_columns: int) -> Mask:
    """Mark the samples with v in [0, C] and twice as many around them; all where that is not much less."""
    off = np.maximum(v - C, -v)
    # at the optimum about n_columns + 1 samples are free: 8 times as many leave room for those that move
    rank = max(8 * (n_columns + 1), 3 * int((off <= 0).sum()))
    return off <= np.partition(off, rank)[rank] if 2 * rank < len(off) else np.full(len(off), True)
