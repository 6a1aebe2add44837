"""Primal-dual steps along the central path of a linear program with few rows over a box."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cvxens.colgen.masters.interior_point_program import Iterate, Program
from cvxens.colgen.masters.interior_point_rows import SMALL
from cvxens.deadline import TimeUp, check_time
from cvxens.types import Array

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

ROUNDING = 1e-15
"""Products of a sum below this, relative to the sum of v, are rounding."""

MAX_REFINEMENTS = 10
"""Steps of conjugate gradients, after which single precision is given up and double taken as it is."""

REFINED: Mapping[type, float] = {np.float32: 1e-7, np.float64: 1e-14}
"""Residual of the Newton equations, relative to their right-hand side."""


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
        self.edges, self.unbalance = edges[k:], edges[:k] - program.aim.totals(k)
        self.defect = program.aim.pull - self.margins + at.z - at.xi
        self.theta = 1 / (at.z / at.v + at.xi / at.t)
        self.diagonal = np.concatenate([np.zeros(k), at.s / at.w])
        self._factor()

    def gap(self) -> float:
        """The gap between the multipliers and v, each made feasible."""
        return self.program.aim.gap(self.at, self.margins, self.edges, self.program.upper)

    def direction(self, wanted: Products) -> Iterate:
        """The direction that restores feasibility and changes the products as wanted, to first order."""
        check_time()
        at, rows, k = self.at, self.program.rows, self.program.n_free
        g = self.defect + wanted.v / at.v - wanted.t / at.t
        right = rows.times(self.theta * g)
        right[:k] += self.unbalance
        right[k:] += wanted.s / at.w - (at.limit - self.edges - at.s)
        multipliers, dlimit = self._solved(right), 0.0
        if self.program.aim.moves:
            # A dv + ds = dlimit + ..., and the multipliers of the rows are to sum to 1
            fall = float(self.of_limit[k:].sum())
            dlimit = float(multipliers[k:].sum() + at.w.sum() - 1) / fall if fall > 0 else 0.0
            multipliers = multipliers - dlimit * self.of_limit
        free, dw = multipliers[:k], multipliers[k:]
        change, dv = self._balanced(self.theta * (g - rows.combined(multipliers)))
        dz, dxi = (wanted.v - at.z * dv) / at.v, (wanted.t + at.xi * dv) / at.t
        return Iterate(dv, -dv, dz, dxi, free + change, dw, (wanted.s - at.s * dw) / at.w, dlimit)

    def _balanced(self, dv: Array) -> tuple[Array, Array]:
        """Change the multipliers of F, and dv with them, so that F v is met, which rounding leaves to be desired."""
        F = self.program.rows.values[: self.program.n_free]
        scaled = F * self.theta
        change, *_ = np.linalg.lstsq(scaled @ F.T, F @ dv + self.unbalance)
        return change, dv - change @ scaled

    @cached_property
    def of_limit(self) -> Array:
        """How the multipliers fall as the limit rises."""
        return self._solved(np.append(np.zeros(self.program.n_free), np.ones(len(self.at.w))))

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
        check_time()
        rows = self.program.rows
        return rows.times(self.theta * rows.combined(x)) + self.diagonal * x


def follow(program: Program, at: Iterate, target: float) -> tuple[Iterate, float]:
    """Step until the gap is at most `target`, or time is up; returns the best point and its gap.

    Mehrotra's predictor and corrector, then Gondzio's correctors as long as they lengthen the step: they keep products
    alike, which is what a point needs that will be started from again, and cost little beside the factors.
    """
    dtype: type = np.float32 if program.rows.values.size >= SMALL else np.float64
    best, lowest, worse = at, inf, 0
    with suppress(TimeUp):
        for _ in range(MAX_STEPS):
            newton = Newton(program, at, dtype)
            gap = newton.gap()
            best, lowest, worse = (at, gap, 0) if gap < lowest else (best, lowest, worse + 1)
            if gap <= target or worse == PATIENCE or at.total <= ROUNDING * at.v.sum():
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
