"""Linear programs with few rows over a box: the dual of soft margins, and that of LPBoost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cvxens.colgen.masters.interior_point_rows import Rows
from cvxens.problems.losses import SoftMinimumMargin
from cvxens.types import Array

ROOM = 0.1
"""New rows are met with this share of what they were violated by to spare."""

LEAST_VIOLATION = 1e-8
"""Rows that are violated by less, relative to the limit, count as violated by this: what they spare is no rounding."""

LEAST_SHARE = 1e-3
"""A path starts with every v at least at this share of its upper bound: a vertex of the simplex method has zeros."""

FAR = 2.0
"""Edges above this multiple of a fixed limit are too far off."""

FAR_FROM_GAP = 100.0
"""Edges above a free limit by this multiple of the gap are too far off."""


class Aim(Protocol):
    """What a program maximises: the sum of v under a fixed limit, or minus the limit for a fixed sum.

    Attributes
    ----------
    pull : float
        What the objective gains with every v_i.
    moves : bool
        Whether the limit is a variable; then the multipliers w sum to 1.
    """

    pull: ClassVar[float]
    moves: ClassVar[bool]

    @property
    def limit(self) -> float:
        """The limit before there is a point."""

    def totals(self, n_free: int) -> Array:
        """F v, (n_free,)."""

    def inside(self, v: Array, program: Program) -> Array:
        """A point far from the bounds of the box, from one that may be on them."""

    def relaxed(self, edges: Array, product: float) -> tuple[float, Array]:
        """A limit, and slacks that are far from 0, for edges A v; the products s w are to be `product`."""

    def admitted(self, at: Iterate, largest: float) -> tuple[float, float] | None:
        """The factor on v, and the limit, that leave room to a row with that edge; None where it is too far off."""

    def gap(self, at: Iterate, margins: Array, edges: Array, upper: Array) -> float:
        """The gap between feasible points that are made of the multipliers and of v."""


@dataclass(frozen=True)
class LargestSum:
    """Max sum v under A v <= limit, F v = 0.

    Its dual is min limit sum w + upper'xi subject to A'w + F'free + xi - z = 1 and w, z, xi >= 0: the soft margin
    problem over its largest price, ``v = u / max C``, ``upper = C / max C`` and ``limit = weight / max C``, with
    margins A'w + F'free and slacks xi.

    Parameters
    ----------
    limit : float
        Above 0.
    """

    pull: ClassVar[float] = 1.0
    moves: ClassVar[bool] = False
    limit: float

    def totals(self, n_free: int) -> Array:
        """Classes are balanced."""
        return np.zeros(n_free)

    def inside(self, v: Array, program: Program) -> Array:
        """Half of v, kept from the bounds."""
        return np.clip(v, LEAST_SHARE * program.upper, 0.9 * program.upper) / 2

    def relaxed(self, edges: Array, product: float) -> tuple[float, Array]:
        """The limit, and slacks of the size of the edges, feasible or not."""
        return self.limit, np.maximum(self.limit - edges, float(np.abs(edges).max()))

    def admitted(self, at: Iterate, largest: float) -> tuple[float, float] | None:
        """Scale v down; where that would leave little of it, the row is too far off."""
        limit = self.limit
        largest = max(limit, largest)
        gap = at.total / float(at.v.sum())
        scale = limit / largest * (1 - ROOM * min(1.0, max(largest / limit - 1, gap, LEAST_VIOLATION)))
        return (scale, limit) if largest <= FAR * limit else None

    def gap(self, at: Iterate, margins: Array, edges: Array, upper: Array) -> float:
        """Between the objective at (free, w) and that at v, scaled to be feasible."""
        objective = self.limit * at.w.sum() + upper @ np.maximum(1 - margins, 0)
        bound = at.v.sum() * self.limit / max(self.limit, float(edges.max()))
        return float(objective - bound)


@dataclass(frozen=True)
class LeastLimit:
    """Min limit over v and limit under A v <= limit and F v = (total, 0), the first row of F all ones.

    Its dual is max -total free_1 - upper'xi subject to A'w + F'free + xi - z = 0, sum w = 1 and w, z, xi >= 0:
    LPBoost over its largest price, ``v = u / max D``, ``upper = D / max D``, ``total = 1 / max D``, with rho = -free_1.

    Parameters
    ----------
    loss : SoftMinimumMargin
        Evaluates margins.
    total : float
        Below the sum of the upper bounds.
    """

    pull: ClassVar[float] = 0.0
    moves: ClassVar[bool] = True
    limit: ClassVar[float] = -inf
    loss: SoftMinimumMargin
    total: float

    def totals(self, n_free: int) -> Array:
        """The sum of v, and classes that are balanced."""
        return self.total * (np.arange(n_free) == 0)

    def inside(self, v: Array, program: Program) -> Array:
        """Halfway to the point in proportion to the upper bounds, by class where classes are balanced."""
        labels = program.rows.values[1 : program.n_free]
        sides = (labels[0] > 0, labels[0] < 0) if len(labels) else (np.full(len(v), True),)
        middle = np.zeros(len(v))
        for side in sides:
            middle[side] = self.total / len(sides) / program.upper[side].sum() * program.upper[side]
        return (v + middle) / 2

    def relaxed(self, edges: Array, product: float) -> tuple[float, Array]:
        """Multipliers w, product / s, sum to 1 at most."""
        limit = float(edges.max()) + product * len(edges)
        return limit, limit - edges

    def admitted(self, at: Iterate, largest: float) -> tuple[float, float] | None:
        """Raise the limit, unless by much more than the gap."""
        violation = max(largest - at.limit, 0.0)
        room = ROOM * max(violation, at.total, LEAST_VIOLATION * abs(at.limit))
        return (1.0, at.limit + violation + room) if violation <= FAR_FROM_GAP * at.total else None

    def gap(self, at: Iterate, margins: Array, edges: Array, upper: Array) -> float:
        """Between the soft minimum margin at w over its sum and the largest edge at v over its sum."""
        margin = -self.loss.value((margins - at.free[0]) / at.w.sum())
        bound = float(edges.max()) / float(at.v.sum())
        return self.total * (bound - margin)


@dataclass(frozen=True)
class Program:
    """What is optimised subject to 0 <= v <= upper, A v <= limit and F v = totals; the rows are F, then A.

    Parameters
    ----------
    rows : Rows
        F and A.
    n_free : int
        The number of rows of F.
    upper : ndarray of shape (n_samples,)
        In (0, 1].
    aim : Aim
        What is optimised.
    """

    rows: Rows
    n_free: int
    upper: Array
    aim: Aim


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
    limit : float
        What A v is at most.
    """

    v: Array
    t: Array
    z: Array
    xi: Array
    free: Array
    w: Array
    s: Array
    limit: float

    @property
    def total(self) -> float:
        """The sum of the products s w, v z and t xi: the gap, where the point is feasible."""
        return float(self.s @ self.w + self.v @ self.z + self.t @ self.xi)

    @property
    def complementarity(self) -> float:
        """The mean of these products; 0 at the optimum, all alike on the central path."""
        return self.total / (len(self.w) + 2 * len(self.v))

    def moved(self, d: Iterate, steps: tuple[float, float]) -> Iterate:
        """Return the point after a step along d, of one length in v, t, s, another in the multipliers."""
        p, q = steps
        v, t, s = self.v + p * d.v, self.t + p * d.t, self.s + p * d.s
        z, xi, free, w = self.z + q * d.z, self.xi + q * d.xi, self.free + q * d.free, self.w + q * d.w
        return Iterate(v, t, z, xi, free, w, s, self.limit + p * d.limit)

    def longest(self, d: Iterate) -> tuple[float, float]:
        """The longest steps along d that stay inside."""
        return (
            min(_longest(self.s, d.s), _longest(self.v, d.v), _longest(self.t, d.t)),
            min(_longest(self.w, d.w), _longest(self.z, d.z), _longest(self.xi, d.xi)),
        )

    def balanced(self, excess: Array) -> Iterate:
        """Let z or xi grow until xi - z has grown by `excess`."""
        return replace(self, z=self.z + np.maximum(-excess, 0), xi=self.xi + np.maximum(excess, 0))


def start(v: Array, program: Program) -> Iterate:
    """A point with all products alike, far from the boundary, feasible or not, from v."""
    v = program.aim.inside(v, program)
    t, product = program.upper - v, float(v.mean()) / 2
    limit, s = program.aim.relaxed(program.rows.times(v)[program.n_free :], product)
    return Iterate(v, t, product / v, product / t, np.zeros(program.n_free), product / s, s, limit)


def entered(at: Iterate, edges: Array, program: Program) -> Iterate:
    """The point with further rows A, whose edges at v are given, as the last ones of the program.

    It is moved until it is inside them, their multipliers on the central path; where they are too far off, the path is
    started anew.
    """
    admitted = program.aim.admitted(at, float(edges.max()))
    if admitted is None:
        return start(at.v, program)
    scale, limit = admitted
    product, old = at.complementarity, program.n_free + len(at.w)
    s = np.append((limit - scale * at.limit) + scale * at.s, limit - scale * edges)
    w = np.append(np.zeros(old), product / s[len(at.s) :])
    further = replace(
        at,
        v=scale * at.v,
        t=(1 - scale) * program.upper + scale * at.t,
        s=s,
        w=np.append(at.w, w[old:]),
        limit=limit,
    )
    return further.balanced(-program.rows.combined(w))


def left(at: Iterate, kept: NDArray[np.bool_], program: Program) -> Iterate:
    """The point without some of the rows A, of little weight, before they are removed from the program."""
    gone = np.concatenate([np.zeros(program.n_free), np.where(kept, 0.0, at.w)])
    return replace(at, w=at.w[kept], s=at.s[kept]).balanced(program.rows.combined(gone))


def _longest(x: Array, dx: Array) -> float:
    with np.errstate(over="ignore"):
        steepest = float((-dx / x).max(initial=0.0))
    return 1 / steepest if steepest > 0 else inf
