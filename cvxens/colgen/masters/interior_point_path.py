"""Primal-dual steps along the central path of a linear program with few rows over a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from cvxens.colgen.masters.interior_point_rows import SMALL, Rows
from cvxens.types import Array

ROOM = 0.1
"""New rows are met with this share of what they were violated by to spare."""

LEAST_VIOLATION = 1e-8
"""Rows that are violated by less, relative to the limit, count as violated by this: what they spare is no rounding."""

LEAST_SHARE = 1e-3
"""A path starts with every v at least at this share of its upper bound: a vertex of the simplex method has zeros."""

FAR = 2.0
"""Edges above this multiple of the limit are not met by scaling."""

MAX_STEPS = 60
"""Steps, each with a factoring, after which the best point so far is returned."""

CORRECTORS = 3
"""At most so many correctors a step; each costs two products with the rows."""

SPREAD = 10.0
"""Products may differ from their target by this factor before a corrector moves them."""

TO_THE_BOUNDARY = 0.99
"""The share of the longest step inside that is taken."""

PATIENCE = 5
"""Steps without progress after which the path has ended: rounding is all that is left."""

MAX_REFINEMENTS = 10
"""Steps of conjugate gradients, after which single precision is given up and double taken as it is."""

REFINED: Mapping[type, float] = {np.float32: 1e-7, np.float64: 1e-14}
"""Residual of the Newton equations, relative to their right-hand side."""


@dataclass(frozen=True)
class Program:
    """max sum v subject to 0 <= v <= upper, A v <= limit and F v = 0; the rows are F, then A.

    Its dual is min limit sum w + upper'xi subject to A'w + F'free + xi - z = 1 and w, z, xi >= 0: the soft margin
    problem over its largest price, ``v = u / max C``, ``upper = C / max C`` and ``limit = weight / max C``, with
    margins A'w + F'free and slacks xi.

    Parameters
    ----------
    rows : Rows
        F and A.
    n_free : int
        The number of rows of F.
    upper : ndarray of shape (n_samples,)
        In (0, 1].
    limit : float
        Above 0.
    """

    rows: Rows
    n_free: int
    upper: Array
    limit: float


@dataclass(frozen=True)
class Iterate:
    """A point inside, or a direction.

    Parameters
    ----------
    v, t, z, xi : ndarray of shape (n_samples,)
        v, upper - v, and the multipliers of v >= 0 and v <= upper.
    free, w : ndarray of shape (n_free,) and (n_rows - n_free,)
        The multipliers of the rows.
    s : ndarray of shape (n_rows - n_free,)
        The slacks limit - A v.
    """

    v: Array
    t: Array
    z: Array
    xi: Array
    free: Array
    w: Array
    s: Array

    @property
    def complementarity(self) -> float:
        """The mean of the products s w, v z and t xi; 0 at the optimum, all alike on the central path."""
        total = self.s @ self.w + self.v @ self.z + self.t @ self.xi
        return float(total) / (len(self.w) + 2 * len(self.v))

    def moved(self, d: Iterate, steps: tuple[float, float]) -> Iterate:
        """Return the point after a step along d, of one length in v, t, s, another in the multipliers."""
        p, q = steps
        v, t, s = self.v + p * d.v, self.t + p * d.t, self.s + p * d.s
        return Iterate(v, t, self.z + q * d.z, self.xi + q * d.xi, self.free + q * d.free, self.w + q * d.w, s)

    def longest(self, d: Iterate) -> tuple[float, float]:
        """The longest steps along d that stay inside."""
        return (
            min(_longest(self.s, d.s), _longest(self.v, d.v), _longest(self.t, d.t)),
            min(_longest(self.w, d.w), _longest(self.z, d.z), _longest(self.xi, d.xi)),
        )

    def balanced(self, excess: Array) -> Iterate:
        """Let z or xi grow until xi - z has grown by `excess`."""
        return replace(self, z=self.z + np.maximum(-excess, 0), xi=self.xi + np.maximum(excess, 0))


def start(v: Array, edges: Array, program: Program) -> Iterate:
    """A point with all products alike, far from the boundary, feasible or not, from v and its edges in the rows A."""
    v = np.maximum(v, LEAST_SHARE * program.upper) / 2
    t, s = program.upper - v, np.maximum(program.limit - edges / 2, float(np.abs(edges).max()) / 2)
    product = float(v.mean()) / 2
    return Iterate(v, t, product / v, product / t, np.zeros(program.n_free), product / s, s)


def entered(at: Iterate, edges: Array, program: Program) -> Iterate:
    """The point with further rows A, whose edges at v are given, as the last ones of the program.

    It is scaled down until it is inside them, their multipliers on the central path; where that would leave little of
    v, the path is started anew.
    """
    limit, product, old = program.limit, at.complementarity, len(at.w)
    largest = max(limit, float(edges.max()))
    if largest > FAR * limit:
        v = np.clip(at.v, 0.1 * program.upper, 0.9 * program.upper)
        return start(v, program.rows.times(v)[program.n_free :], program)
    gap = product * (old + 2 * len(at.v)) / float(at.v.sum())
    scale = limit / largest * (1 - ROOM * min(1.0, max(largest / limit - 1, gap, LEAST_VIOLATION)))
    s = np.append((1 - scale) * limit + scale * at.s, limit - scale * edges)
    w = np.append(np.zeros(program.n_free + old), product / s[old:])
    further = replace(
        at,
        v=scale * at.v,
        t=(1 - scale) * program.upper + scale * at.t,
        s=s,
        w=np.append(at.w, w[program.n_free + old :]),
    )
    return further.balanced(-program.rows.combined(w))


def left(at: Iterate, kept: NDArray[np.bool_], program: Program) -> Iterate:
    """The point without some of the rows A, before they are removed from the program."""
    gone = np.concatenate([np.zeros(program.n_free), np.where(kept, 0.0, at.w)])
    return replace(at, w=at.w[kept], s=at.s[kept]).balanced(program.rows.combined(gone))


def _longest(x: Array, dx: Array) -> float:
    with np.errstate(over="ignore"):
        steepest = float((-dx / x).max(initial=0.0))
    return 1 / steepest if steepest > 0 else inf


def _full(steps: tuple[float, float]) -> tuple[float, float]:
    return min(1.0, steps[0]), min(1.0, steps[1])


@dataclass(frozen=True)
class Products:
    """Changes wanted of the products s w, v z and t xi."""

    s: Array
    v: Array
    t: Array

    @classmethod
    def towards(cls, target: float, at: Iterate, second: Iterate | None = None) -> Products:
        """To `target`, less the second-order terms of the direction `second` (Mehrotra)."""
        s, v, t = target - at.s * at.w, target - at.v * at.z, target - at.t * at.xi
        if second is None:
            return cls(s, v, t)
        return cls(s - second.s * second.w, v - second.v * second.z, t - second.t * second.xi)

    def centred(self, target: float, trial: Iterate) -> Products:
        """Move those that would be far from the target at `trial` into its neighbourhood (Gondzio 1996)."""

        def changed(wanted: Array, product: Array) -> Array:
            near = np.clip(product, target / SPREAD, target * SPREAD)
            return wanted + np.maximum(near - product, -SPREAD * target)

        s, v, t = trial.s * trial.w, trial.v * trial.z, trial.t * trial.xi
        return Products(changed(self.s, s), changed(self.v, v), changed(self.t, t))


class Newton:
    """The Newton equations of a program at a point, reduced to (A diag(theta) A' + diag(s / w)) dw = ...

    The normal equations are built and factored in single precision as long as a few steps of conjugate gradients make
    up for that, then in double precision.

    Parameters
    ----------
    program : Program
        The program.
    at : Iterate
        The point.
    dtype : type
        float32 or float64.
    """

    def __init__(self, program: Program, at: Iterate, dtype: type) -> None:
        self.program, self.at, self.dtype = program, at, dtype
        rows, k = program.rows, program.n_free
        edges = rows.times(at.v)
        self.margins = rows.combined(np.concatenate([at.free, at.w]))
        self.edges, self.unbalance = edges[k:], edges[:k]
        self.defect = 1 - self.margins + at.z - at.xi
        self.theta = 1 / (at.z / at.v + at.xi / at.t)
        self.diagonal = np.concatenate([np.zeros(k), at.s / at.w])
        self._factor()

    def gap(self) -> float:
        """The relative gap between the objective at (free, w) and that at v, scaled to be feasible."""
        at, limit, upper = self.at, self.program.limit, self.program.upper
        objective = limit * at.w.sum() + upper @ np.maximum(1 - self.margins, 0)
        bound = at.v.sum() * limit / max(limit, float(self.edges.max()))
        return float((objective - bound) / objective)

    def direction(self, wanted: Products) -> Iterate:
        """The direction that restores feasibility and changes the products as wanted, to first order."""
        at, rows, k = self.at, self.program.rows, self.program.n_free
        g = self.defect + wanted.v / at.v - wanted.t / at.t
        right = rows.times(self.theta * g)
        right[:k] += self.unbalance
        right[k:] += wanted.s / at.w - (self.program.limit - self.edges - at.s)
        multipliers = self._solved(right)
        dv = self.theta * (g - rows.combined(multipliers))
        free, dw = multipliers[:k], multipliers[k:]
        dz, dxi = (wanted.v - at.z * dv) / at.v, (wanted.t + at.xi * dv) / at.t
        return Iterate(dv, -dv, dz, dxi, free, dw, (wanted.s - at.s * dw) / at.w)

    def _factor(self) -> None:
        gram = self.program.rows.gram(self.theta, self.dtype)
        gram[np.diag_indices_from(gram)] += self.diagonal
        ridge = np.finfo(self.dtype).eps * gram.diagonal()
        while True:
            try:
                self._cholesky = cho_factor(gram + np.diag(ridge), lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                ridge = 100 * ridge
            else:
                return

    def _solved(self, right: Array) -> Array:
        """Conjugate gradients from, and preconditioned by, the factors."""
        x = np.zeros(len(right))
        rest, tolerance = right, REFINED[self.dtype] * float(np.abs(right).max())
        step, old = x, inf
        for _ in range(MAX_REFINEMENTS):
            preconditioned = cho_solve(self._cholesky, rest, check_finite=False)
            new = float(rest @ preconditioned)
            step = preconditioned + new / old * step
            image = self._image(step)
            curvature = float(step @ image)
            if not curvature > 0:
                break
            length = new / curvature
            x, rest, old = x + length * step, rest - length * image, new
            if np.abs(rest).max() <= tolerance:
                return x
        if self.dtype is np.float64:
            return x
        self.dtype = np.float64
        self._factor()
        return self._solved(right)

    def _image(self, x: Array) -> Array:
        rows = self.program.rows
        return rows.times(self.theta * rows.combined(x)) + self.diagonal * x


def follow(program: Program, at: Iterate, target: float) -> tuple[Iterate, float]:
    """Step until the relative gap is at most `target`; returns the best point and its gap.

    Mehrotra's predictor and corrector, then Gondzio's correctors as long as they lengthen the step: they keep products
    alike, which is what a point needs that will be started from again, and cost little beside the factors.
    """
    dtype: type = np.float32 if program.rows.values.size >= SMALL else np.float64
    best, lowest, worse = at, inf, 0
    for _ in range(MAX_STEPS):
        newton = Newton(program, at, dtype)
        gap = newton.gap()
        best, lowest, worse = (at, gap, 0) if gap < lowest else (best, lowest, worse + 1)
        if gap <= target or worse == PATIENCE:
            break
        d = _corrected(newton)
        p, q = at.longest(d)
        at = at.moved(d, _full((TO_THE_BOUNDARY * p, TO_THE_BOUNDARY * q)))
        dtype = newton.dtype
    return best, lowest


def _corrected(newton: Newton) -> Iterate:
    at = newton.at
    d = newton.direction(Products.towards(0.0, at))
    after = at.moved(d, _full(at.longest(d))).complementarity
    target = at.complementarity * (after / at.complementarity) ** 3
    wanted = Products.towards(target, at, d)
    d = newton.direction(wanted)
    for _ in range(CORRECTORS):
        steps = _full(at.longest(d))
        if min(steps) > 0.9:
            break
        further = _full((steps[0] + 0.3, steps[1] + 0.3))
        wanted = wanted.centred(target, at.moved(d, further))
        better = newton.direction(wanted)
        if min(at.longest(better)) < min(steps) + 0.01:
            break
        d = better
    return d
