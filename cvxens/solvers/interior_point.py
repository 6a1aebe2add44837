"""An interior-point method for linear programs with few rows over a box: the duals of soft margins and of LPBoost.

The *program* is over multipliers v in a box ``0 <= v``, ``E v <= upper``, one per sample, with a row ``A v <= limit``
per column of a master and a few free rows ``F v = rhs`` (balanced classes, a fixed sum). E is the identity, unless the
last of v raise the bounds of others (`Program`). The *objective* is the sum of v under a fixed limit, or the limit. Of
multipliers w of A, `free` of F, z of v >= 0 and xi of E v <= upper the *central path* are points of equal products mu:

    A v + s = limit     F v = rhs     E v + t = upper     A'w + F'free + E'xi - z = gain     s w = v z = t xi = mu

`NewtonEquations` solves these equations to first order, as normal equations with one unknown per row. A step is
Mehrotra's (1992): a *predictor* aims at mu = 0, how far it gets sets the next mu, and a *corrector* takes back the
products of changes that the first order leaves out. Then come *centrality correctors* of Gondzio (1996): where the step
is short, the products that would be far from mu a little further on are moved towards it. A path can be interrupted,
take rows in and give rows up, and be followed further: column generation does all three (Gondzio, Gonzalez-Brevis &
Munari 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from cvxens.limits import TimeUp, check_time
from cvxens.problems.losses import Loss
from cvxens.rounding import TINY
from cvxens.solvers.byte_rows import BLOCK, GrowingRows, combine, map_parts, multiply
from cvxens.solvers.conjugate_gradients import conjugate_gradients
from cvxens.solvers.steps import StepRow, StepRows
from cvxens.types import Array, Mask


class ProgramRows:
    """A growing matrix A (n_rows, n_samples), kept in bytes as long as all its values are small integers.

    With several `signs` it stands for ``[sign_1 A, sign_2 A, ...]`` over as many copies of the samples, which are kept
    once: v (n_copies n_samples,) is folded, and diag(theta) too, as the signs cancel in squares. With `pulls` it stands
    for ``[A, -A pulls']``, whose last columns, few, are kept beside it.
    """

    def __init__(self, n_samples: int, signs: Array | None = None, pulls: Array | None = None) -> None:
        self._kept = GrowingRows(n_samples)
        self.signs = np.ones(1) if signs is None else signs
        self.pulls = np.zeros((0, n_samples)) if pulls is None else pulls
        self.pulled = np.zeros((0, len(self.pulls)))
        self.steps: StepRows | None = None
        """What the last rows are, where all but the first few are steps of features."""

    def follow(self, X: Array, y: Array) -> None:
        """Take products with the rows that are added from now on bin by bin, as long as all of them are steps."""
        self.steps = StepRows(X, y)

    @property
    def n_steps(self) -> int:
        """The number of the last rows whose products are taken bin by bin, where that is worth it."""
        return len(self.steps.rows) if self.steps is not None and self.steps.is_worth_it() else 0

    @property
    def values(self) -> NDArray[Any]:
        return self._kept.values

    @property
    def n_rows(self) -> int:
        return self._kept.n_rows

    def add(self, added: NDArray[Any], steps: Sequence[StepRow | None] = ()) -> None:
        """Add rows (n_added, n_samples), with what they are where they are steps of features."""
        if self.steps is not None:
            known = [step for step in steps if step is not None]
            if len(known) < len(added):
                self.steps = None
            else:
                self.steps.add(known)
        self._kept.add(added)
        if len(self.pulls):
            self.pulled = np.vstack([self.pulled, -added @ self.pulls.T])

    def keep(self, kept: Mask) -> None:
        """Remove the rows that are not marked, in place."""
        if self.steps is not None:
            self.steps.keep(kept[self.n_rows - len(self.steps.rows) :])
        self._kept.keep(kept)
        self.pulled = self.pulled[kept] if len(self.pulls) else self.pulled

    def times(self, v: Array) -> Array:
        """Return A v, for v (n_copies n_samples,), and with pulls more."""
        if k := len(self.pulls):
            return self._times(v[:-k]) + self.pulled @ v[-k:]
        return self._times(v)

    def _times(self, v: Array) -> Array:
        v = self.signs @ v.reshape(len(self.signs), -1)
        if self.steps is not None and (n_steps := self.n_steps):
            return np.concatenate([multiply(self.values[: self.n_rows - n_steps], v), self.steps.times(v)])
        return multiply(self.values, v)

    def combine(self, weights: Array) -> Array:
        """Return A' weights, for weights (n_rows,)."""
        if self.steps is not None and (n_steps := self.n_steps):
            n_first = self.n_rows - n_steps
            combined = combine(self.values[:n_first], weights[:n_first]) + self.steps.combine(weights[n_first:])
        else:
            combined = combine(self.values, weights)
        combined = np.multiply.outer(self.signs, combined).ravel()
        return np.append(combined, weights @ self.pulled) if len(self.pulls) else combined

    def first(self, n_rows: int) -> NDArray[Any]:
        """Return the first rows over all copies."""
        pulled = [self.pulled[:n_rows]] if len(self.pulls) else []
        return np.hstack([*(sign * self.values[:n_rows].astype(float) for sign in self.signs), *pulled])

    def gram(self, theta: Array, dtype: DTypeLike) -> Array:
        """Return A diag(theta) A' for theta > 0, in `dtype`; every thread calls BLAS, which best has but one."""
        if k := len(self.pulls):
            return self._gram(theta[:-k], dtype) + (self.pulled * theta[-k:]) @ self.pulled.T
        return self._gram(theta, dtype)

    def _gram(self, theta: Array, dtype: DTypeLike) -> Array:
        if self.steps is not None and (n_steps := self.n_steps):
            n_first = self.n_rows - n_steps
            found = np.empty((self.n_rows, self.n_rows))
            found[n_first:, n_first:] = self.steps.gram(theta.reshape(len(self.signs), -1).sum(axis=0))
            for place, row in enumerate(self.first(n_first)[:, : len(theta)]):
                found[place] = found[:, place] = self._times(theta * row)
            return found
        theta = theta.reshape(len(self.signs), -1).sum(axis=0)
        # A diag(theta) A' = R R' with R = A diag(theta)^1/2; theta spans what single precision overflows on, its share
        # of the largest does not
        largest = float(theta.max())
        roots = np.sqrt(theta / largest).astype(dtype)

        def product(part: slice) -> NDArray[Any]:
            check_time()
            scaled = np.empty((self.n_rows, part.stop - part.start), dtype)
            _scale(self.values[:, part], roots[part], scaled)
            return scaled @ scaled.T

        total = np.zeros((self.n_rows, self.n_rows))
        # eighths of the sample: enough for any few threads, and a deadline is looked at eight times
        for share in map_parts(self.values.shape, product, max(BLOCK, -(-len(theta) // 8))):
            total += share
        return largest * total


@njit(cache=True, nogil=True)
def _scale(values: NDArray[Any], roots: NDArray[Any], out: NDArray[Any]) -> None:
    for j in range(len(values)):
        for i in range(len(roots)):
            out[j, i] = values[j, i] * roots[i]


SPARE_ROOM = 0.3
"""A path starts with this share of the gap to spare in its rows, and with this share of what products of that gap would
be: with less it would start next to the boundary. Of 0.03, 0.1, 0.3 and 1 this takes the fewest steps."""


@dataclass(frozen=True)
class MaxSum:
    """Max gain'v under A v <= limit, F v = 0.

    Its dual is min limit sum w + upper'xi subject to A'w + F'free + E'xi - z = gain, w, z, xi >= 0: a problem of
    hinges over its largest price, ``v = u / max C``, ``upper = C / max C`` and ``limit = weight / max C``, with margins
    A'w + F'free that are to reach the gains, and slacks xi. Those of soft margins are 1.
    """

    limit_is_free: ClassVar[bool] = False
    limit: float  # above 0
    gain: Array | float = 1.0  # the coefficient of every v_i in the objective, about 1 in size

    def rhs(self, n_free: int) -> Array:
        """Return ``F v``."""
        return np.zeros(n_free)

    def spare(self, v: Array, largest: float, gap: float) -> tuple[float, float]:
        """Return the factor on v that leaves room to the largest edge, as a share of the gap says, and the limit."""
        room = SPARE_ROOM * min(1.0, gap / max(float((np.abs(self.gain) * v).sum()), TINY))
        return min(1.0, self.limit / largest * (1 - room)) if largest > 0 else 1.0, self.limit

    def gap(self, at: InteriorPoint, margins: Array, edges: Array, program: Program) -> float:
        """Return the objective at (free, w) less that at v, scaled to be feasible."""
        # with the best slacks xi; shrunk to the limit, v is feasible
        short = self.gain - margins
        slacks = np.maximum(short + program.charge(np.maximum(short, 0)), 0)
        objective = self.limit * at.w.sum() + program.upper @ slacks
        bound = (self.gain * at.v).sum() * self.limit / max(self.limit, float(edges.max()))
        return float(objective - bound)


@dataclass(frozen=True)
class MinLimit:
    """Min limit over v and limit under A v <= limit and F v = (total, 0), the first row of F all ones.

    Its dual is max -total free_1 - upper'xi subject to A'w + F'free + xi - z = 0, sum w = 1 and w, z, xi >= 0:
    LPBoost over its largest price, ``v = u / max D``, ``upper = D / max D``, ``total = 1 / max D``, with rho = -free_1.
    """

    gain: ClassVar[Array | float] = 0.0
    limit_is_free: ClassVar[bool] = True  # then the multipliers w sum to 1
    limit: ClassVar[float] = -inf
    loss: Loss  # with `caps`: evaluates margins
    total: float  # below the sum of the upper bounds

    def rhs(self, n_free: int) -> Array:
        return self.total * (np.arange(n_free) == 0)

    def spare(self, v: Array, largest: float, gap: float) -> tuple[float, float]:
        """Return a limit that leaves room to the largest edge."""
        return 1.0, largest + SPARE_ROOM * gap

    def gap(self, at: InteriorPoint, margins: Array, edges: Array, program: Program) -> float:
        """Return the largest edge at v over its sum, less the soft minimum margin at w over its sum."""
        # the first free multiplier is -rho, which is no part of the margins
        margin = -self.loss.value((margins - at.free[0]) / at.w.sum())
        bound = float(edges.max()) / float(at.v.sum())
        return self.total * (bound - margin)


@dataclass(frozen=True)
class Program:
    """An objective subject to ``0 <= v``, ``E v <= upper``, ``A v <= limit``, ``F v = totals``; the rows are F, then A.

    Without charges E is the identity. With them the last v, p, raise the bounds of those before, the samples':
    ``E v = (v - charges'p, p)``, which has the transpose ``E'xi = (xi, xi_p - charges xi)``.
    """

    rows: ProgramRows
    n_free: int  # rows of F
    upper: Array  # in [0, 1]
    objective: MaxSum | MinLimit
    charges: Array = field(default_factory=partial(np.zeros, (0, 0)))  # (n_last, n_samples), 0 or above

    def raise_bounds(self, v: Array) -> Array:
        """Return ``v - E v``: charges'p, and 0 for p itself; plain 0 without charges."""
        k, n = self.charges.shape
        return np.append(v[n:] @ self.charges, np.zeros(k)) if k else np.zeros(())

    def room(self, v: Array) -> Array:
        """Return ``upper - E v``."""
        return self.upper - v + self.raise_bounds(v)

    def charge(self, xi: Array) -> Array:
        """Return ``xi - E'xi``: 0 for the samples, and their charges for p; plain 0 without charges."""
        n = self.charges.shape[1]
        return np.append(np.zeros(n), self.charges @ xi[:n]) if n else np.zeros(())

    @cached_property
    def middle(self) -> Array:
        """The v in proportion to the upper bounds, by class where F balances these: it satisfies F v = rhs."""
        F, upper = self.rows.first(self.n_free), self.upper + self.raise_bounds(0.5 * self.upper)
        labels = F[-1] if len(F) else np.ones(len(upper))
        sides = [side for side in (labels > 0, labels < 0) if side.any()]
        sums = [float(np.abs(labels[side]) @ upper[side]) for side in sides]
        # the same of either class: half of the bounds, unless F says how much
        total = float(self.objective.rhs(1)[0]) / len(sides) or min(sums) / 2
        return upper * np.select(sides, [total / (own or 1.0) for own in sums], 0.5)


class InteriorPoint(NamedTuple):
    """A point inside, or a direction: what is to stay above 0 of both sides, in pairs, and what is free."""

    v: Array
    t: Array  # upper - E v
    s: Array  # the slacks limit - A v
    limit: float
    z: Array  # the multipliers of v >= 0
    xi: Array  # of E v <= upper
    w: Array  # of the rows A
    free: Array  # of the rows F

    @property
    def products(self) -> list[Array]:
        """The products v z, t xi and s w; of a direction what the first order leaves out of them."""
        return [slack * price for slack, price in zip(self[:3], self[4:7], strict=True)]

    @property
    def total(self) -> float:
        """The sum of the products: the gap, where the point is feasible."""
        return float(sum(slack @ price for slack, price in zip(self[:3], self[4:7], strict=True)))

    @property
    def complementarity(self) -> float:
        """The mean of these products; 0 at the optimum, all alike on the central path."""
        return self.total / (len(self.w) + 2 * len(self.v))

    def advance(self, d: InteriorPoint, steps: tuple[float, float]) -> InteriorPoint:
        """Return the point after a step along d, of one length in v, t, s, another in the multipliers."""
        lengths = np.repeat(steps, 4).tolist()
        return InteriorPoint(*(part + step * own for part, own, step in zip(self, d, lengths, strict=True)))

    def max_steps(self, d: InteriorPoint) -> tuple[float, float]:
        """Return the longest steps along d that stay inside, in v, t, s and in the multipliers."""
        return min(map(_max_step, self[:3], d[:3])), min(map(_max_step, self[4:7], d[4:7]))


def start_inside(v: Array, w: Array, free: Array, program: Program) -> tuple[InteriorPoint, float]:
    """Return a point inside near one of a similar program, by its v and the multipliers of its rows, and their gap.

    That is the last one before there were new rows, the solution of another program, or a v with F v = rhs and a guess.
    Slacks and the multipliers of the box follow from these; where a product of the two would be below a share of the
    mean that the gap leaves to each, the multiplier is raised to it. So the start is as far from the optimum as the gap
    says, and far enough from the boundary to take long steps.
    """
    objective, k = program.objective, program.n_free
    # the sums F v stay what they are
    bounds = program.upper + program.raise_bounds(np.clip(v, 0.0, program.upper))
    v = (1 - 1e-4) * np.clip(v, 0.0, bounds) + 1e-4 * program.middle
    edges, margins = program.rows.times(v)[k:], program.rows.combine(np.concatenate([free, w]))
    largest, t = float(edges.max()), program.room(v)
    at = InteriorPoint(v, t, np.zeros_like(w), largest, np.zeros_like(v), np.zeros_like(v), w, free)
    # less is rounding, which is no room
    gap = max(objective.gap(at, margins, edges, program), 1e-8 * float(v.sum()))
    scale, limit = objective.spare(v, largest, gap)
    v, edges = scale * v, scale * edges
    t, s = program.room(v), limit - edges
    product = SPARE_ROOM * gap / (len(w) + 2 * len(v))
    w = np.maximum(w, product / s)
    if objective.limit_is_free:
        w = w / w.sum()
    # E'xi - z = gain - A'w - F'free, with the smaller of the two at its product
    missing = objective.gain - program.rows.combine(np.concatenate([free, w]))
    xi = np.where(missing >= 0, product / v + missing, product / t)
    missing = missing + program.charge(xi)
    z = np.where(missing >= 0, product / v, product / t - missing)
    xi = np.where(missing >= 0, product / v + missing, product / t)
    return InteriorPoint(v, t, s, limit, z, xi, w, free), gap


def drop_rows(at: InteriorPoint, kept: Mask, program: Program) -> InteriorPoint:
    """Return the point without some of the rows A, of little weight, before they are removed from the program."""
    gone = np.concatenate([np.zeros(program.n_free), np.where(kept, 0.0, at.w)])
    # z or xi grows until E'xi - z has grown by what the rows held
    excess = program.rows.combine(gone)
    excess = excess + program.charge(np.maximum(excess, 0))
    z, xi = at.z + np.maximum(-excess, 0), at.xi + np.maximum(excess, 0)
    return at._replace(w=at.w[kept], s=at.s[kept], z=z, xi=xi)


def _max_step(x: Array, dx: Array) -> float:
    # x + step dx >= 0; where x underflows, the step is 0
    with np.errstate(over="ignore"):
        steepest = float((-dx / x).max(initial=0.0))
    return 1 / steepest if steepest > 0 else inf


def _cut(steps: tuple[float, float]) -> tuple[float, float]:
    return min(1.0, steps[0]), min(1.0, steps[1])


def recentre(wanted: list[Array], target: float, trial: InteriorPoint) -> list[Array]:
    """Ask products that would be far from the target at `trial` for its neighbourhood, too (Gondzio 1996)."""
    # those far above are moved by no more than 10 targets, lest they rule the direction
    return [
        change + np.maximum(np.clip(product, target / 10.0, target * 10.0) - product, -10.0 * target)
        for change, product in zip(wanted, trial.products, strict=True)
    ]


class NewtonEquations:
    """The Newton equations of a program at a point, reduced to one unknown per row.

    With p_s, p_v and p_t the changes wanted of the products, r = limit - A v - s, q = gain - A'w - F'free + z - E'xi:

        dz = (p_v - z dv) / v      dxi = (p_t + xi E dv) / t      ds = (p_s - s dw) / w
        dv = theta (g - A'dw - F'dfree)      g = q + p_v / v - E'(p_t / t)      1 / theta = z / v + E'(xi / t) E
        A (theta (A'dw + F'dfree)) + (s / w) dw = A (theta g) + p_s / w - r

    and the last line for the rows F, which have no s. Without charges theta is a diagonal; with them, of samples' a =
    z / v and d = xi / t it is, with the complement S of the few others,

        theta = diag(1 / (a + d), 0) + L S^-1 L'      L = (diag(d / (a + d)) charges', I)
        S = diag(a + d of the others) + charges diag(a d / (a + d)) charges'

    so that each of them costs a product with the rows. These normal equations are built and factored in single
    precision as long as a few steps of conjugate gradients make up for that, then in double precision.
    """

    def __init__(self, program: Program, at: InteriorPoint, dtype: type) -> None:
        self.program, self.at, self.dtype = program, at, dtype
        self.spread: Array | None = None
        """The columns of L S^-1/2, as rows."""
        rows, k = program.rows, program.n_free
        edges = rows.times(at.v)
        self.margins = rows.combine(np.concatenate([at.free, at.w]))
        self.edges, self.unbalance = edges[k:], edges[:k] - program.objective.rhs(k)
        self.defect = program.objective.gain - self.margins + at.z - at.xi + program.charge(at.xi)
        a, d = at.z / at.v, at.xi / at.t
        self.theta, charges = 1 / (a + d), program.charges
        if (n := charges.shape[1]) > 0:
            few, self.theta[n:] = (a + d)[n:], 0.0
            complement = np.diag(few) + (charges * (a * d * self.theta)[:n]) @ charges.T
            spread = np.vstack([((d * self.theta)[:n] * charges).T, np.eye(len(few))])
            # L S^-1/2
            self.spread = np.linalg.solve(np.linalg.cholesky(complement), spread.T)
        self.diagonal = np.concatenate([np.zeros(k), at.s / at.w])
        self._factor()

    def gap(self) -> float:
        return self.program.objective.gap(self.at, self.margins, self.edges, self.program)

    def _divide(self, g: Array) -> Array:
        """Return theta g, for g (..., n_variables)."""
        of_samples = self.theta * g
        return of_samples if self.spread is None else of_samples + (g @ self.spread.T) @ self.spread

    def find_direction(self, wanted: list[Array]) -> InteriorPoint:
        """Return the direction that restores feasibility and changes the products as wanted, to first order."""
        check_time()
        at, rows, k = self.at, self.program.rows, self.program.n_free
        of_v, of_t, of_s = wanted
        pushed = of_t / at.t
        g = self.defect + of_v / at.v - pushed + self.program.charge(pushed)
        # A (theta g) + p_s / w - r, and F (theta g) - (rhs - F v)
        right = rows.times(self._divide(g))
        right[:k] += self.unbalance
        right[k:] += of_s / at.w - (at.limit - self.edges - at.s)
        multipliers, dlimit = self._solve(right), 0.0
        if self.program.objective.limit_is_free:
            # A dv + ds = dlimit + r: each unit of dlimit lowers the multipliers, which are to sum to 1
            fall = float(self.response_to_limit[k:].sum())
            dlimit = float(multipliers[k:].sum() + at.w.sum() - 1) / fall if fall > 0 else 0.0
            multipliers = multipliers - dlimit * self.response_to_limit
        free, dw = multipliers[:k], multipliers[k:]
        change, dv = self._restore_balance(self._divide(g - rows.combine(multipliers)))
        dt = self.program.raise_bounds(dv) - dv
        dz, dxi = (of_v - at.z * dv) / at.v, (of_t - at.xi * dt) / at.t
        return InteriorPoint(dv, dt, (of_s - at.s * dw) / at.w, dlimit, dz, dxi, dw, free + change)

    def _restore_balance(self, dv: Array) -> tuple[Array, Array]:
        """Change the multipliers of F, and dv with them, so that F v is met, which rounding leaves to be desired."""
        # F (dv - diag(theta) F'change) = rhs - F v; least squares, as rows of F may be the same
        F = self.program.rows.first(self.program.n_free)
        scaled = self._divide(F)
        change, *_ = np.linalg.lstsq(scaled @ F.T, F @ dv + self.unbalance)
        return change, dv - change @ scaled

    @cached_property
    def response_to_limit(self) -> Array:
        """The rate at which the multipliers fall as the limit rises."""
        return self._solve(np.append(np.zeros(self.program.n_free), np.ones(len(self.at.w))))

    def _factor(self) -> None:
        gram = self.program.rows.gram(self.theta, self.dtype)
        for row in () if self.spread is None else self.spread:
            image = self.program.rows.times(row)
            gram += np.multiply.outer(image, image)
        gram[np.diag_indices_from(gram)] += self.diagonal
        # rounding of the diagonal may cost definiteness; what a ridge spoils, conjugate gradients mend
        ridge = np.finfo(self.dtype).eps * gram.diagonal()
        # a ridge of n eps times the diagonal makes up for all rounding: ten of them are above that for any n, and where
        # none helps, entries are no numbers
        for _ in range(10):
            try:
                self._cholesky = cho_factor(gram + np.diag(ridge), lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                ridge = 100 * ridge
            else:
                return
        raise np.linalg.LinAlgError

    def _solve(self, right: Array) -> Array:
        """Solve the normal equations by conjugate gradients, preconditioned by the factors."""
        enough = (1e-7 if self.dtype is np.float32 else 1e-14) ** 2 * float(right @ right)

        def invert(rest: Array) -> Array:
            return np.asarray(cho_solve(self._cholesky, rest, check_finite=False))

        # after ten steps single precision is given up, and double taken as it is
        x, _, ended = conjugate_gradients(self._image, right, invert, lambda _, r, __: float(r @ r) <= enough, 11)
        if ended or self.dtype is np.float64:
            return x
        self.dtype = np.float64
        self._factor()
        return self._solve(right)

    def _image(self, x: Array) -> Array:
        check_time()
        rows = self.program.rows
        return rows.times(self._divide(rows.combine(x))) + self.diagonal * x


def follow_path(program: Program, at: InteriorPoint, target: float) -> tuple[InteriorPoint, float]:
    """Step until the gap is at most `target`, or time is up; returns the best point and its gap."""
    # bin by bin, double precision costs nothing
    # of many entries they are first factored in single precision, at half the cost
    is_large = program.rows.values.size >= 2_000_000 and not program.rows.n_steps
    dtype: type = np.float32 if is_large else np.float64
    first, best, lowest, worse, least = at, at, inf, 0, at.complementarity
    with suppress(TimeUp, np.linalg.LinAlgError):
        # steps, each with a factoring
        for _ in range(60):
            newton = NewtonEquations(program, at, dtype)
            gap = newton.gap()
            best, lowest, worse = (at, gap, 0) if gap < lowest else (best, lowest, worse + 1)
            # a start near the border is still on its way to the centre while products halve
            if best is first and at.complementarity < least / 2:
                least, worse = at.complementarity, 0
            # after 5 steps without progress, or 10 from a start, or where products are rounding, the path has ended
            if gap <= target or worse == (10 if best is first else 5) or at.total <= 1e-15 * at.v.sum():
                break
            d = _correct_direction(newton)
            p, q = at.max_steps(d)
            # on the boundary products are 0, and theta is infinite
            at, dtype = at.advance(d, _cut((0.99 * p, 0.99 * q))), newton.dtype
    return best, lowest


def _correct_direction(newton: NewtonEquations) -> InteriorPoint:
    """Return Mehrotra's direction with as many of Gondzio's correctors as lengthen the step.

    They keep products alike, which is what a point needs that will be started from again, and cost little beside the
    factors.
    """
    at = newton.at
    # the predictor aims at 0; how far it gets says how small a target the corrector may have
    d = newton.find_direction([-product for product in at.products])
    after = at.advance(d, _cut(at.max_steps(d))).complementarity
    # mu (mu_after / mu)^3: Mehrotra's rule, as in Nocedal & Wright, *Numerical optimization* (2006), section 14.2
    target = at.complementarity * (after / at.complementarity) ** 3
    wanted = [target - product - second for product, second in zip(at.products, d.products, strict=True)]
    d = newton.find_direction(wanted)
    # each costs two products with the rows, and a step of 0.9 needs none
    for _ in range(3):
        steps = _cut(at.max_steps(d))
        if min(steps) > 0.9:
            break
        # Gondzio (1996) lengthens by 0.1, but here factors cost far more than products
        further = _cut((steps[0] + 0.3, steps[1] + 0.3))
        # the equations are linear: all correctors so far and the new one are solved for as one direction
        wanted = recentre(wanted, target, at.advance(d, further))
        better = newton.find_direction(wanted)
        # gamma times delta of Gondzio (1996), 0.1 x 0.1
        if min(at.max_steps(better)) < min(steps) + 0.01:
            break
        d = better
    return d
