"""The hinge loss by proximal (augmented Lagrangian) steps, each a smooth problem for Newton's method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvxens.deadline import TimeUp, check_time
from cvxens.problems.duality import clip_box
from cvxens.problems.losses import Hinge
from cvxens.solvers.newton import Iterate, SmoothProblem
from cvxens.types import Array

GROWTH = 5.0
STEEPEST = 1e3
"""The largest sigma to start with from nothing, in units of the penalty's weight over the mean of |H_i|^2."""

MAX_PROXIMAL_STEPS = 60
PATIENCE = 8
"""Proximal steps without progress after which rounding is taken to forbid more."""


@dataclass(frozen=True)
class HingePoint:
    """Primal and dual point of LL08 P1, with both objectives recomputed in numpy.

    Parameters
    ----------
    w : ndarray of shape (n_columns,)
        Weights.
    b : float
        Intercept.
    u : ndarray of shape (n_samples,)
        Multipliers, 0 <= u <= C, y'u = 0 where there is an intercept.
    primal, dual : float
        Objectives at (w, b) and at u.

    Examples
    --------
    >>> HingePoint.zero(2).u
    array([0., 0.])
    """

    w: Array
    b: float
    u: Array
    primal: float
    dual: float

    @classmethod
    def zero(cls, n_samples: int) -> HingePoint:
        """Where a solver starts that knows nothing."""
        return cls(np.zeros(0), 0.0, np.zeros(n_samples), np.inf, -np.inf)

    @property
    def gap(self) -> float:
        """Primal less dual, relative to the primal."""
        return (self.primal - self.dual) / self.primal if np.isfinite(self.primal) else np.inf

    def joined(self, other: HingePoint) -> HingePoint:
        """The better weights and the better multipliers of two points."""
        over = self if self.primal <= other.primal else other
        under = self if self.dual >= other.dual else other
        return HingePoint(over.w, over.b, under.u, over.primal, under.dual)


@dataclass(frozen=True)
class ProximalHinge:
    """min weight/2 |w|^2 + sum_i C_i max(0, 1 - z_i), z = y (H w + b).

    The proximal step from u minimises over (w, b) the smooth loss whose multipliers are
    ``clip(u + sigma (1 - z), 0, C)``, which become the next u (Rockafellar's method of multipliers). Its Newton system
    has only the samples strictly between the bounds, O(n_columns) of them near the optimum; samples far from there are
    left out of a step with their u fixed (shrinking), and the step is repeated if one of them would have moved. As
    y'u = 0 holds exactly after every step, its u gives a dual bound, and the step is solved only as far as the gap of
    complementarity warrants.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    C : ndarray of shape (n_samples,)
        Prices of a unit of slack.
    weight : float
        Of the penalty.
    intercept : bool
        Whether there is a b.
    tol : float
        Relative duality gap at which to stop.
    """

    y: Array
    C: Array
    weight: float
    intercept: bool
    tol: float

    def solve(self, rows: Array, start: HingePoint) -> HingePoint:
        """Solve from a start, whose missing weights are 0.

        Parameters
        ----------
        rows : ndarray of shape (n_columns, n_samples)
            H'.
        start : HingePoint
            Weights of the first columns, intercept and multipliers; its objectives are not used.

        Returns
        -------
        HingePoint
            The best weights and the best multipliers, so that objectives never rise from one start to the next.
        """
        w = np.concatenate([start.w, np.zeros(len(rows) - len(start.w))])
        at, u = Iterate(w, start.b, w @ rows), np.minimum(start.u, self.C)
        best = last = self._point(rows, at, u)
        sigma, idle = self._sigma(rows, at), 0
        for _ in range(MAX_PROXIMAL_STEPS):
            if best.gap <= self.tol or idle == PATIENCE:
                break
            try:
                stepped, moved = self._proximal(rows, at, u, sigma, 0.1 * self.tol * max(0.0, best.dual))
            except TimeUp:
                break
            if not stepped.solved:
                sigma, at, idle = sigma / GROWTH**2, stepped, idle + 1
                continue
            at, u = stepped, moved
            point = self._point(rows, at, u)
            sigma *= GROWTH if point.gap < 0.3 * last.gap else GROWTH**2
            rising = point.dual > last.dual + 0.1 * abs(point.dual)
            better = best.joined(point)
            idle = 0 if rising or better.gap < best.gap else idle + 1
            best, last = better, point
        return best

    def _sigma(self, rows: Array, at: Iterate) -> float:
        """Start with a few samples per column between the bounds; from nothing, no steeper than the penalty allows."""
        off = np.abs(1 - self.y * (at.f + at.b))
        rank = min(len(off) - 1, 4 * (len(rows) + 1))
        sigma = float(self.C.mean()) / min(1.0, max(1e-6, float(np.partition(off, rank)[rank])))
        if at.w.any():
            return sigma
        square = float(np.einsum("ji,ji->", rows, rows)) / rows.shape[1]
        return STEEPEST * self.weight / max(square, STEEPEST * self.weight / sigma)

    def _proximal(self, rows: Array, at: Iterate, u: Array, sigma: float, allowed: float) -> tuple[Iterate, Array]:
        """One proximal step, repeated with more samples until those left out stay where they are."""

        def multipliers(f: Array, b: float) -> Array:
            return np.clip(u + sigma * (1 - self.y * (f + b)), 0.0, self.C)

        fixed = multipliers(at.f, at.b)
        kept = _near(u + sigma * (1 - self.y * (at.f + at.b)), self.C, len(rows))
        while True:
            check_time()
            problem = self._smooth(rows, u, sigma, kept, fixed)
            stepped = problem.minimise(replace(at, f=at.f[kept]), partial(self._allowance, allowed, self.C[kept]))
            stepped = replace(stepped, f=stepped.w @ rows)
            moved = multipliers(stepped.f, stepped.b)
            strayed = (moved != fixed) & ~kept
            if not strayed.any() and (stepped.solved or kept.all()):
                return stepped, moved
            # without an answer there may be too few samples left to balance the fixed ones
            strayed |= not stepped.solved
            kept |= strayed

    def _smooth(self, rows: Array, u: Array, sigma: float, kept: NDArray[np.bool_], fixed: Array) -> SmoothProblem:
        """The proximal step over the samples that are kept, the others pulling with their fixed multipliers."""
        y, C, pull, lean = self.y, self.C, np.zeros(len(rows)), 0.0
        if not kept.all():
            left = np.where(kept, 0.0, y * fixed)
            rows, pull, lean = np.compress(kept, rows, axis=1), rows @ left, float(left.sum())
            y, C, u = y[kept], C[kept], u[kept]
        return SmoothProblem(
            rows,
            y,
            self.weight,
            self.intercept,
            multipliers=lambda z: np.clip(u + sigma * (1 - z), 0.0, C),
            curvature=lambda v: np.where((v > 0) & (v < C), sigma, 0.0),
            pull=pull,
            lean=lean,
        )

    def _allowance(self, allowed: float, C: Array, w: Array, z: Array, u: Array) -> float:
        """A tenth of the gap of complementarity."""
        return max(allowed, 0.1 * float((C * np.maximum(1 - z, 0) + u * (z - 1)).sum()))

    def _point(self, rows: Array, at: Iterate, u: Array) -> HingePoint:
        """Evaluate, with the best intercept to w and u made feasible."""
        loss = Hinge(self.C)
        u = clip_box(u, self.C, self.y if self.intercept else None)
        edges = rows @ (self.y * u)
        b = float(loss.best_intercept(at.f, self.y)) if self.intercept else at.b
        primal = self.weight / 2 * float(at.w @ at.w) + loss.value(self.y * (at.f + b))
        return HingePoint(at.w, b, u, primal, loss.dual_value(u) - float(edges @ edges) / (2 * self.weight))


def _near(v: Array, C: Array, n_columns: int) -> NDArray[np.bool_]:
    """The samples with v in [0, C] and twice as many around them; all where that is not much less."""
    off = np.maximum(v - C, -v)
    rank = max(8 * (n_columns + 1), 3 * int((off <= 0).sum()))
    return off <= np.partition(off, rank)[rank] if 2 * rank < len(off) else np.full(len(off), True)
