"""The stump SVM over shards: an additive model of piecewise linear functions, by Newton's method and certified.

LL08 P1 with the stump kernel is ``min 1/4 sum_d int g_d'^2 + C sum_i max(0, 1 - y_i (b + sum_d g_d(x_id)))``. Functions
are linear between *knots*: all values of a sample of up to `MOST_ROWS` rows, else the least value of every bin, even
steps inside of it, as fine as the price asks for, and the largest of all. So every point is one of P1, and the optimum
is among them where all values are knots.

The bound is P2's, over all functions: for ``s = y u`` with the sum 0 the form of the kernel is ``s'K s = 2 sum_d int
B_d(t)^2 dt``, with B_d(t) the sum of s over the samples below t. Between values B is known; inside of a step it is
bounded by the sums of the weights of either sign and by their first moments, all whole numbers. Where that is too much,
the bound is asked for over finer steps.

The hinge is followed by `InteriorHinge`, nearer and nearer. Newton's equations are solved by conjugate gradients, one
question to the shards each, of the samples alone that have a curvature to speak of, and preconditioned by the equations
of single features, which are tridiagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import solveh_banded
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import ROUNDING, Certificate, relative
from cvxens.dask.estimators import DaskClassifier
from cvxens.dask.masters import SHARPER, STEPS, SUFFICIENT, WIDEST
from cvxens.dask.shards import Shard, ShardedSample
from cvxens.dask.sums import Ints, sum_exactly, to_float
from cvxens.dask.tallies import Codes
from cvxens.dask.votes import InteriorHinge, exponent_of, of_shard
from cvxens.estimators.infinite_ensembles import InfiniteEnsembleSVC
from cvxens.estimators.machines import PRICE, TrainingKernel
from cvxens.estimators.parameters import estimator
from cvxens.estimators.progress import time_limit, warn_of_gap
from cvxens.limits import Pace, limit_time
from cvxens.problems.losses import Hinge
from cvxens.rounding import EPSILON, TINY
from cvxens.solvers.additive import AdditiveModel
from cvxens.types import Array

MOST_ROWS = 2**14
"""Rows up to which all their values are knots."""

LEAST_STEPS, MOST_STEPS = 16, 256
"""Steps that a bin is cut into, by knots and for the bound."""

COARSE = 300.0
"""What functions linear between knots lose is about C times the sum of the features' ranges over 300 times four steps,
relative to the optimum: measured, with room, and to be no more than a quarter of the tolerance."""

VAGUE = 0.1
"""The share of the gap that the bound may lose by what is not known inside of steps."""

MOMENT_BITS = 16
"""First moments are whole numbers of ``2**-16`` of a step's width."""

MAX_STEPS = 200
"""Newton steps."""

MAX_PRODUCTS = 60
"""Products with the Hessian for one step."""

FORCING = 0.03
"""The share of the gradient that is left of the Newton equations' residual."""

AIM, LEAST_AIM = 0.3, 0.02
"""The share of the tolerance that the distance of the neighbour may take, at first and where that is not enough."""

STILL, GONE = 1e-3, 1e-8
"""The shares of the tolerance below which what a step promises is no progress, and below which nothing can be."""

BENT = 1e-3
"""Samples with less than this share of the largest curvature are left out of a direction: a hundredth in sum."""


class Knots(NamedTuple):
    """Knots of every feature, padded by the last one, and where to look for those beside a value of a bin."""

    values: Array  # (n_features, n_knots)
    counts: Ints  # (n_features,)
    before: Ints  # (n_features, N_BINS), the first knot of a bin
    low: Array  # (n_features, N_BINS), the least value of a bin
    per_unit: Array  # (n_features, N_BINS), knots of a bin in a unit of length; 0 where it has one value
    are_values: bool = False  # True if they are all values of the sample

    @classmethod
    def from_sample(cls, sample: ShardedSample, n_steps: int = LEAST_STEPS) -> Knots:
        """Return all values where there are few rows, else so many even steps of each bin."""
        if len(sample) <= MOST_ROWS:
            lists = sample.ask(list_values, combine=merge_values)
        else:
            lists = [_cut_evenly(low, high, n_steps) for low, high in zip(sample.low, sample.high, strict=True)]
        counts = np.array([len(own) for own in lists], np.int64)
        values = np.stack([np.append(own, np.full(counts.max() - len(own), own[-1])) for own in lists])
        before = np.stack([np.searchsorted(own, low, side="left") for own, low in zip(lists, sample.low, strict=True)])
        after = np.stack(
            [np.searchsorted(own, high, side="right") for own, high in zip(lists, sample.high, strict=True)]
        )
        held = sample.low <= sample.high
        width = np.where(sample.low < sample.high, sample.high - sample.low, np.inf)
        low = np.where(held, sample.low, 0.0)
        before = np.where(held, before, 0).astype(np.int64)
        return cls(values, counts, before, low, np.where(held, after - before, 0) / width, len(sample) <= MOST_ROWS)

    @property
    def widths(self) -> Array:
        """The distances between neighbouring knots, inf where there is no further one, (n_features, n_knots - 1)."""
        h = np.diff(self.values, axis=1)
        return np.where(h > 0, h, np.inf)

    def carry(self, finer: Knots, G: Array) -> Array:
        """Return functions that are linear between these knots at finer ones."""
        return np.stack([np.interp(new, own, g) for new, own, g in zip(finer.values, self.values, G, strict=True)])


def _cut_evenly(low: Array, high: Array, n_steps: int) -> Array:
    """Return the least values of bins that hold samples, even steps inside of each, and the largest value."""
    held = low <= high
    shares = np.arange(n_steps) / n_steps
    return np.unique(np.append(low[held, np.newaxis] + (high - low)[held, np.newaxis] * shares, high.max()))


def list_values(shard: Shard) -> list[Array]:
    """Return the distinct values of every feature, ascending."""
    return [np.unique(own).astype(np.float64) for own in shard.values]


def merge_values(parts: Sequence[Any]) -> list[Array]:
    """Return the distinct values of every feature of several shards."""
    return [np.unique(np.concatenate(own)) for own in zip(*parts, strict=True)]


@njit(cache=True, nogil=True, inline="always")
def find_knot(x: float, code: int, feature: int, knots: Knots) -> int:
    """Return the knot at or before a value, of a feature that has at least two; the last but one for the last."""
    own, last = knots.values[feature], knots.counts[feature] - 2
    k = min(
        knots.before[feature, code] + np.int64((x - knots.low[feature, code]) * knots.per_unit[feature, code]), last
    )
    while k < last and own[k + 1] <= x:
        k += 1
    while k > 0 and own[k] > x:
        k -= 1
    return k


@njit(cache=True, nogil=True, inline="always")
def find_share(x: float, code: int, feature: int, knots: Knots) -> tuple[int, float]:
    """Return the knot at or before a value, as `find_knot`, and the share of the way to the next one."""
    k, own = find_knot(x, code, feature, knots), knots.values[feature]
    return k, (x - own[k]) / (own[k + 1] - own[k])


@njit(cache=True, nogil=True)
def interpolate(values: NDArray[Any], codes: Codes, knots: Knots, G: Array, b: float) -> Array:
    """Evaluate ``b + sum_d g_d(x_d)`` of all rows, feature by feature in this order."""
    scores = np.full(values.shape[1], b)
    for j in range(values.shape[0]):
        if knots.counts[j] < 2:
            continue
        g = G[j]
        for i in range(values.shape[1]):
            k, share = find_share(values[j, i], codes[j, i], j, knots)
            scores[i] += (1.0 - share) * g[k] + share * g[k + 1]
    return scores


@njit(cache=True, nogil=True)
def sum_by_knots(values: NDArray[Any], codes: Codes, knots: Knots, weights: Ints) -> Ints:
    """Return the sums of weights by knots, each shared between the two beside its value, (n_features, n_knots)."""
    sums = np.zeros(knots.values.shape, np.int64)
    for j in range(values.shape[0]):
        if knots.counts[j] < 2:
            continue
        table = sums[j]
        for i in range(values.shape[1]):
            k, share = find_share(values[j, i], codes[j, i], j, knots)
            above = np.int64(np.rint(share * weights[i]))
            table[k] += weights[i] - above
            table[k + 1] += above
    return sums


@njit(cache=True, nogil=True)
def sum_bends(values: NDArray[Any], codes: Codes, knots: Knots, weights: Ints) -> Ints:
    """Return diagonal and upper diagonal of every feature's block of ``Z' diag(weights) Z``, (2, ...)."""
    sums = np.zeros((2, *knots.values.shape), np.int64)
    for j in range(values.shape[0]):
        if knots.counts[j] < 2:
            continue
        for i in range(values.shape[1]):
            if weights[i] == 0:
                continue
            k, share = find_share(values[j, i], codes[j, i], j, knots)
            sums[0, j, k] += np.int64(np.rint((1.0 - share) * (1.0 - share) * weights[i]))
            sums[0, j, k + 1] += np.int64(np.rint(share * share * weights[i]))
            sums[1, j, k] += np.int64(np.rint(share * (1.0 - share) * weights[i]))
    return sums


@njit(cache=True, nogil=True)
def sum_moments(values: NDArray[Any], codes: Codes, knots: Knots, weights: Ints) -> Ints:
    """Return by feature and step sums of weights and first moments about the step's end, of either sign.

    Shape (5, n_features, n_knots): the sums of the weights at knots; of those inside of steps above 0 and below; and
    their moments, rounded up.
    """
    sums = np.zeros((5, *knots.values.shape), np.int64)
    unit = float(1 << MOMENT_BITS)
    for j in range(values.shape[0]):
        if knots.counts[j] < 2:
            continue
        own = knots.values[j]
        for i in range(values.shape[1]):
            x, weight = values[j, i], weights[i]
            k = find_knot(x, codes[j, i], j, knots)
            if x <= own[k]:
                sums[0, j, k] += weight
            elif x >= own[k + 1]:
                sums[0, j, k + 1] += weight
            else:
                # of the way that is left, which is rounded up
                rest = np.int64(np.ceil((own[k + 1] - x) / (own[k + 1] - own[k]) * unit))
                side = 1 if weight >= 0 else 2
                sums[side, j, k] += weight
                sums[2 + side, j, k] += (weight >> MOMENT_BITS) * rest
    return sums


@dataclass(frozen=True, eq=False)
class Curve:
    """Functions and an intercept, with the neighbour of the hinge whose multipliers are meant."""

    knots: Knots
    G: Array
    b: float
    loss: InteriorHinge
    factors: tuple[float, float] = (1.0, 1.0)  # of the multipliers of y = -1 and of y = +1
    exponent: int = 0

    def margins(self, shard: Shard) -> Array:
        """Evaluate the margins of a shard's rows."""
        return shard.y * interpolate(shard.values, shard.codes, self.knots, self.G, self.b)

    def signed(self, shard: Shard, z: Array) -> Ints:
        """Return the signed weights at margins, rounded towards 0 to whole units."""
        u = of_shard(self.loss, shard).multipliers(z) * np.where(shard.y > 0, self.factors[1], self.factors[0])
        units = np.floor(np.ldexp(u, -self.exponent)).astype(np.int64)
        return np.where(shard.y > 0, units, -units)


def look(shard: Shard, at: Curve, hinge: Any, exponent: int) -> tuple[Ints, ...]:
    """Return exact sums of hinge and neighbour, the multipliers by knots and by class, and the curvature by knots."""
    z = at.margins(shard)
    near, signed = of_shard(at.loss, shard), at.signed(shard, z)
    bends = np.rint(np.ldexp(find_bends(shard, at), -exponent)).astype(np.int64)
    return (
        sum_exactly(of_shard(hinge, shard).values(z)),
        sum_exactly(near.values(z)),
        sum_by_knots(shard.values, shard.codes, at.knots, signed),
        np.array([-np.minimum(signed, 0).sum(), np.maximum(signed, 0).sum()]),
        sum_bends(shard.values, shard.codes, at.knots, bends),
        np.array(bends.sum()),
    )


class Bent(NamedTuple):
    """The samples of a shard that have a curvature to speak of: where they are between knots, and the curvatures."""

    before: NDArray[np.int32]  # (n_features, n_rows), the knot before each value; -1 for a feature that is constant
    shares: NDArray[np.float32]  # (n_features, n_rows), of the way to the next one
    curvature: Array  # (n_rows,)


def find_bends(shard: Shard, at: Curve) -> Array:
    """Return the curvatures of a shard's rows, 0 where they are little."""
    near = of_shard(at.loss, shard)
    bends = near.curvature(near.multipliers(at.margins(shard)))
    # u is C / 2 where the curvature is largest
    return np.where(bends >= BENT * near.curvature(near.C / 2 * np.ones(shard.n_rows)), bends, 0.0)


def select_bent(shard: Shard, at: Curve) -> Bent:
    """Return what products with the Hessian need of a shard."""
    curvature = find_bends(shard, at)
    kept = np.flatnonzero(curvature)
    values, codes = np.ascontiguousarray(shard.values[:, kept]), np.ascontiguousarray(shard.codes[:, kept])
    before, shares = find_shares(values, codes, at.knots)
    return Bent(before, shares, curvature[kept])


@njit(cache=True, nogil=True)
def find_shares(values: NDArray[Any], codes: Codes, knots: Knots) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the knots before all values, and the shares of the ways to the next ones."""
    before, shares = np.full(values.shape, -1, np.int32), np.zeros(values.shape, np.float32)
    for j in range(values.shape[0]):
        if knots.counts[j] < 2:
            continue
        for i in range(values.shape[1]):
            before[j, i], shares[j, i] = find_share(values[j, i], codes[j, i], j, knots)
    return before, shares


@njit(cache=True, nogil=True)
def multiply_bent(
    before: NDArray[np.int32], shares: NDArray[np.float32], curvature: Array, V: Array, v: float, scale: float
) -> tuple[Ints, int]:
    """Return ``Z' D Z`` times a direction by knots, and its product with the ones, in units."""
    change = np.full(before.shape[1], v)
    for j in range(before.shape[0]):
        own = V[j]
        for i in range(before.shape[1]):
            k, share = before[j, i], np.float64(shares[j, i])
            if k >= 0:
                change[i] += (1.0 - share) * own[k] + share * own[k + 1]
    sums, total = np.zeros(V.shape, np.int64), 0
    weights = np.empty(before.shape[1], np.int64)
    for i in range(before.shape[1]):
        weights[i] = np.int64(np.rint(curvature[i] * change[i] * scale))
        total += weights[i]
    for j in range(before.shape[0]):
        table = sums[j]
        for i in range(before.shape[1]):
            k = before[j, i]
            if k >= 0:
                above = np.int64(np.rint(np.float64(shares[j, i]) * weights[i]))
                table[k] += weights[i] - above
                table[k + 1] += above
    return sums, total


def multiply(bent: Bent, V: Array, v: float, exponent: int) -> tuple[Ints, Ints]:
    """Return ``Z' D Z`` times a direction, by knots, and its product with the ones."""
    sums, total = multiply_bent(*bent, V, v, 2.0**-exponent)
    return sums, np.array(total)


def try_lengths(shard: Shard, at: Curve, V: Array, v: float, steps: Array) -> Ints:
    """Return exact sums of the neighbour at several steps along a direction."""
    z = at.margins(shard)
    dz = shard.y * interpolate(shard.values, shard.codes, at.knots, V, v)
    near = of_shard(at.loss, shard)
    return np.stack([sum_exactly(near.values(z + step * dz)) for step in steps])


def find_moments(shard: Shard, at: Curve, knots: Knots) -> tuple[Ints, Ints]:
    """Return the sums of the multipliers of either class, and what bounds the form of the kernel."""
    signed = at.signed(shard, at.margins(shard))
    totals = np.array([-np.minimum(signed, 0).sum(), np.maximum(signed, 0).sum()])
    return totals, sum_moments(shard.values, shard.codes, knots, signed)


def bound_form(sums: Ints, knots: Knots) -> tuple[float, float]:
    """Bound ``2 sum_d int B_d^2`` from above, in squared units, and how far it can be below that.

    Inside of a step B = B_0 + c with B_0 the sum up to its beginning, with what is there, and c the sum of weights
    since. ``int c`` is the sum M of their first moments; c^2 is at most the larger of the squares of what its positive
    and its negative weights add up to, so ``M^2 / width <= int c^2 <= P M_P + N M_N`` with P, N the sums of these and
    M_P, M_N their moments. Shares of a step are rounded up, to ``2**-MOMENT_BITS``, so that moments are that share of
    their weights too far from 0 at most. Each weight also loses up to ``2**MOMENT_BITS`` units in its moment: whoever
    asks counts these.
    """
    given, positive, negative, of_positive, of_negative = (each.astype(np.float64)[:, :-1] for each in sums)
    start = np.cumsum(given, axis=1)
    start[:, 1:] += np.cumsum((positive + negative)[:, :-1], axis=1)
    width = np.where(np.isfinite(knots.widths), knots.widths, 0.0)
    # moments in units times lengths; (weight >> bits) * rest has lost less than one 2^bits of each weight
    above, below = width * of_positive, width * of_negative
    most = positive * above + negative * below
    # where B_0 >= 0 it is negative weights whose moments may be nearer to 0, else positive ones
    nearer = np.ldexp(width, -MOMENT_BITS) * np.abs(start) * np.where(start >= 0, -negative, positive)
    form = 2 * float((start**2 * width + 2 * start * (above + below) + 2 * nearer + most).sum())
    off = np.ldexp(width, -MOMENT_BITS) * (positive - negative)
    total = np.abs(above + below)
    least = (total**2 - (2 * total + off) * off) / np.where(width > 0, width, 1.0)
    return form, 2 * float((most - least + 4 * np.abs(start) * off).sum())


class Level(NamedTuple):
    """A row of the history: both objectives of P2 by then, and the time."""

    objective: float
    bound: float
    relative_gap: float
    steps: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Seen:
    """A point, and what the shards say of it."""

    curve: Curve
    smoothed: float  # the objective with the hinge's neighbour
    gradient: Array  # by knots
    slope: float  # of the intercept
    totals: Ints  # the multipliers of either class
    bends: Ints  # diagonals of the Hessian's blocks
    bend: int
    exponent: int  # of these


class Search:
    """Newton's method on one problem, and the best points of either side."""

    def __init__(self, sample: ShardedSample, C: float, tol: float) -> None:
        self.sample, self.C, self.tol = sample, C, tol
        ranges = float((sample.high.max(axis=1) - sample.low.min(axis=1)).sum())
        # the power of two at which knots lose little
        wanted = 2.0 ** np.ceil(np.log2(max(C * ranges / (COARSE * tol), 1.0)))
        self.n_steps = int(np.clip(wanted, LEAST_STEPS, MOST_STEPS // 4))
        self.knots, self.hinge, self.ranges = Knots.from_sample(sample, self.n_steps), Hinge(C), ranges
        self.finer, self.n_finer = self.knots, self.n_steps
        """Where the bound is asked for."""
        self.total = C * sample.total_weight
        self.exponent = exponent_of(self.total)
        self.value, self.bound, self.rounding = np.inf, -np.inf, 0.0
        self.best: tuple[Array, float] = np.zeros(self.knots.values.shape), 0.0
        self.history: list[Level] = []
        self.began = perf_counter()

    def roughness(self, G: Array) -> float:
        """Evaluate ``1/4 sum_d int g_d'^2``."""
        return float((np.diff(G, axis=1) ** 2 / self.knots.widths).sum()) / 4

    def _pull(self, G: Array) -> Array:
        """Return the gradient of the roughness."""
        slopes = np.diff(G, axis=1) / self.knots.widths / 2
        return np.pad(slopes, ((0, 0), (1, 0))) - np.pad(slopes, ((0, 0), (0, 1)))

    def run(self) -> None:
        """Step until the gap is at most `tol`, relative, or no step makes it better."""
        pace, distance, aim = Pace(), WIDEST, AIM
        at = self._look(*self.best, distance)
        for step in range(MAX_STEPS):
            allowed = self.tol * abs(self.value)
            V, v, promised = self._find_direction(at)
            is_near = distance * self.total <= aim * allowed
            settled = promised <= max(distance * self.total / len(self.sample), 0.1 * aim * allowed if is_near else 0.0)
            if settled or step % 5 == 0:
                self._take_bound(at, step)
                if self.gap <= self.tol:
                    return
            if not pace.allows_step():
                return
            if settled and not is_near:
                distance = max(SHARPER * distance, aim / 2 * allowed / self.total)
                at = self._look(at.curve.G, at.curve.b, distance)
                continue
            ahead = self._look(at.curve.G + V, at.curve.b + v, distance)
            if not ahead.smoothed <= at.smoothed - SUFFICIENT * 2 * promised:
                t = self._search(at, V, v)
                ahead = self._look(at.curve.G + t * V, at.curve.b + t * v, distance) if t else at
            if not is_near and ahead is at:
                distance *= SHARPER
                at = self._look(at.curve.G, at.curve.b, distance)
            elif ahead is at or (settled and promised <= STILL * allowed):
                # over these knots there is hardly a better point, at this distance
                if distance * self.total > LEAST_AIM * allowed:
                    aim *= SHARPER
                    at = ahead
                elif not (self.knots.are_values or self.n_steps >= MOST_STEPS):
                    at = self._refine(ahead)
                elif ahead is at or promised <= GONE * allowed:
                    return
                else:
                    at = ahead
            else:
                at = ahead

    def _look(self, G: Array, b: float, distance: float) -> Seen:
        """Ask the shards for all that a step needs, and keep the best functions."""
        curve = Curve(self.knots, G, b, InteriorHinge(self.C, distance), exponent=self.exponent)
        exponent = exponent_of(self.total / (8 * distance))
        value, near, by_knots, totals, bends, bend = self.sample.ask(look, curve, self.hinge, exponent)
        rough = self.roughness(G)
        objective = to_float(value) + rough
        if objective < self.value:
            self.value, self.best = objective, (G, b)
        gradient = self._pull(G) - np.ldexp(by_knots.astype(np.float64), self.exponent)
        slope = -float(np.ldexp(float(totals[1] - totals[0]), self.exponent))
        return Seen(curve, to_float(near) + rough, gradient, slope, totals, bends, int(bend), exponent)

    def _refine(self, at: Seen) -> Seen:
        """Look at the same functions over finer knots."""
        before, self.n_steps = self.knots, min(4 * self.n_steps, MOST_STEPS)
        self.knots = Knots.from_sample(self.sample, self.n_steps)
        self.best = before.carry(self.knots, self.best[0]), self.best[1]
        if self.n_finer < self.n_steps:
            self.finer, self.n_finer = self.knots, self.n_steps
        return self._look(before.carry(self.knots, at.curve.G), at.curve.b, at.curve.loss.d)

    @property
    def gap(self) -> float:
        """The relative gap, with the rounding error."""
        return relative(self.value - self.bound + self.rounding, self.value, self.bound)

    def _find_direction(self, at: Seen) -> tuple[Array, float, float]:
        """Solve Newton's equations by conjugate gradients; returns the direction and half of what it promises."""
        gradient, bends, exponent = (at.gradient, at.slope), (at.bends, at.bend), at.exponent
        bent = self.sample.derive(select_bent, at.curve)
        diagonal = np.ldexp(bends[0][0].astype(np.float64), exponent)
        beside = np.ldexp(bends[0][1].astype(np.float64), exponent)[:, :-1]
        total = max(float(np.ldexp(float(bends[1]), exponent)), TINY)
        inverse = self._precondition(diagonal, beside, total)
        V, v = np.zeros(gradient[0].shape), 0.0
        R, r = -gradient[0], -gradient[1]
        P, p = inverse(R, r)
        Q, q = P.copy(), p
        size = first = float((R * P).sum() + r * p)
        for _ in range(MAX_PRODUCTS):
            if size <= FORCING**2 * first or not size > 0:
                break
            by_knots, whole = self.sample.ask(multiply, Q, q, exponent, of=bent)
            image = self._pull(Q) + np.ldexp(by_knots.astype(np.float64), exponent)
            image_of_b = float(np.ldexp(float(whole), exponent))
            bend = float((Q * image).sum() + q * image_of_b)
            if not bend > 0:
                break
            t = size / bend
            V, v, R, r = V + t * Q, v + t * q, R - t * image, r - t * image_of_b
            P, p = inverse(R, r)
            last, size = size, float((R * P).sum() + r * p)
            Q, q = P + size / last * Q, p + size / last * q
        return V, v, -float((gradient[0] * V).sum() + gradient[1] * v) / 2

    def _precondition(
        self, diagonal: Array, beside: Array, total: float
    ) -> Callable[[Array, float], tuple[Array, float]]:
        """Return the inverse of the tridiagonal equations of single features, and of that of the intercept."""
        stiff = 1 / (2 * self.knots.widths)
        banded = []
        for j, count in enumerate(self.knots.counts.tolist()):
            own = diagonal[j, :count] + np.append(stiff[j, : count - 1], 0.0) + np.append(0.0, stiff[j, : count - 1])
            # a constant is the intercept's as well; features without a sample in the kink have no curvature
            own = own + 1e-6 * total / count + 8 * EPSILON * own.max(initial=0.0)
            banded.append(np.stack([np.append(0.0, beside[j, : count - 1] - stiff[j, : count - 1]), own]))

        def inverse(R: Array, r: float) -> tuple[Array, float]:
            P = np.zeros(R.shape)
            for j, count in enumerate(self.knots.counts.tolist()):
                if count > 1:
                    P[j, :count] = solveh_banded(banded[j], R[j, :count])
            return P, r / total

        return inverse

    def _search(self, at: Seen, V: Array, v: float) -> float:
        """Return the step of some that decreases the smoothed objective most; 0 if none does."""
        sums = self.sample.ask(try_lengths, at.curve, V, v, STEPS)
        G = at.curve.G
        objectives = [to_float(each) + self.roughness(G + step * V) for step, each in zip(STEPS, sums, strict=True)]
        best = int(np.argmin(objectives))
        return float(STEPS[best]) if objectives[best] < at.smoothed else 0.0

    def _take_bound(self, at: Seen, step: int) -> None:
        """Bound the optimum by balanced multipliers, at the best factor on them, and note the point."""
        light, unit = int(at.totals.min()), 2.0**self.exponent
        while light:
            balanced = replace(at.curve, factors=(light / int(at.totals[0]), light / int(at.totals[1])))
            found, sums = self.sample.ask(find_moments, balanced, self.finer)
            form, vague = (each * unit * unit for each in bound_form(sums, self.finer))
            missed = abs(int(found[1] - found[0])) * unit
            size = float(found.sum()) * unit
            # moments lose at most 2^bits units a weight, and 2 |B| is at most the sum of all
            lost = (2.0**MOMENT_BITS * len(self.sample) * unit + missed) * 2 * size * self.ranges
            form += lost + form * 64 * EPSILON
            factor = min(1.0, size / form) if form > 0 else 1.0
            bound = factor * size - factor * factor * form / 2 - 2 * missed
            self.bound = max(self.bound, bound)
            enough = VAGUE * max(self.tol * abs(self.value), self.value - self.bound)
            if factor * factor * vague / 2 <= enough or self.finer.are_values or self.n_finer >= MOST_STEPS:
                break
            self.n_finer = min(4 * self.n_finer, MOST_STEPS)
            self.finer = Knots.from_sample(self.sample, self.n_finer)
        off = (2 * self.sample.shape[1] + 8) * EPSILON * (float(np.abs(self.best[0]).sum(axis=0).max()) + 1)
        self.rounding = 2 * off * self.total * self.sample.shape[1] + ROUNDING * abs(self.value)
        seconds = perf_counter() - self.began
        self.history.append(Level(-self.bound, -self.value, max(self.gap, 0.0), step, seconds))

    def certificate(self) -> Certificate:
        """Return the gap between P2 at the best multipliers and minus P1 at the best functions."""
        return Certificate.between(
            -self.bound,
            -self.value,
            maximise=False,
            residuals={},
            repair={},
            rounding=self.rounding,
            proven=True,
            note="over all stumps of the kernel",
        )


def measure_variance(sample: ShardedSample) -> float:
    """Return the mean of k(x, x) - k(x, x') over pairs of rows, by their weights, which default prices go by."""
    exponent = exponent_of(sample.total_weight)
    knots = Knots.from_sample(sample)
    sums = sample.ask(_weigh_knots, knots, exponent)
    below = np.cumsum(np.ldexp(sums.astype(np.float64), exponent), axis=1)[:, :-1]
    h = np.where(np.isfinite(knots.widths), knots.widths, 0.0)
    # the mean of |x - x'| is 2 int F (1 - F)
    shares = below / sample.total_weight
    return float((2 * shares * (1 - shares) * h).sum())


def _weigh_knots(shard: Shard, knots: Knots, exponent: int) -> Ints:
    weights = np.rint(np.ldexp(shard.weights, -exponent)).astype(np.int64)
    return sum_by_knots(shard.values, shard.codes, knots, weights)


@final
@estimator
class DaskInfiniteEnsembleSVC(DaskClassifier):
    """The support vector machine over all stumps (LL08), over shards: an additive model of piecewise linear functions.

    Parameters
    ----------
    C : float or "scale"
        The price of a unit of slack of a sample of weight 1. "scale" is 4 over the variance of the sample in the space
        of the kernel, as on one machine; of features of more than 256 values it is measured between bins.

    Attributes
    ----------
    C_ : float
        C as a number.
    intercept_ : ndarray of shape ()
        b, where both ends of every shape function are opposite.
    history_ : tuple of Level
        Objective, bound, Newton steps and times, for every point that was certified.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DaskInfiniteEnsembleSVC(C=0.1).fit(da.from_array(X, chunks=(60, 4)), da.from_array(y > 1, chunks=60))
    >>> model.certificate_.holds(1e-3), len(model.shape_functions_)
    (True, 4)
    """

    source: ClassVar[str] = "LL08 Algorithm 1"
    local = InfiniteEnsembleSVC

    C: float | str = "scale"
    _: KW_ONLY
    C_: float = field(init=False)
    intercept_: Array = field(init=False)
    _predictor: AdditiveModel = field(init=False)

    def _solve(self, sample: ShardedSample, best: list[Any]) -> dict[str, Any]:
        tol = validation.positive("tol", self.tol)
        if isinstance(self.C, str):
            validation.one_of("C", self.C, ["scale"])
            C = PRICE / measure_variance(sample)
        else:
            C = validation.positive("C", self.C)
        search = Search(sample, C, tol)
        with limit_time(time_limit(self), alone=True):
            search.run()
        certificate = search.certificate()
        warn_of_gap(self, certificate, tol, "no step made the gap smaller", "raise tol or max_time")
        (G, b), knots = search.best, search.knots
        lists = [(knots.values[j, :count], G[j, :count]) for j, count in enumerate(knots.counts.tolist())]
        # as on one machine, both ends of a function are opposite
        centres = [float(g[0] + g[-1]) / 2 for _, g in lists]
        starts = np.append(0, np.cumsum(knots.counts)).astype(np.int64)
        values = np.concatenate([g - centre for (_, g), centre in zip(lists, centres, strict=True)])
        intercept = b + sum(centres)
        model = AdditiveModel(starts, np.concatenate([own for own, _ in lists]), values, intercept)
        found = {"certificate_": certificate, "history_": tuple(search.history), "C_": C}
        return {**found, "intercept_": np.asarray(intercept), "_predictor": model}

    @property
    def shape_functions_(self) -> Any:
        """(knots, values) of every feature: f(x) = b + sum_d g_d(x_d), linear between knots, constant beyond.

        A list over the sub-problems where there are several.
        """
        check_is_fitted(self)
        found = [part._predictor.shape_functions for part in self._parts()]
        return found if hasattr(self, "estimators_") else found[0]

    def _scorer(self) -> Callable[[Array], Array]:
        return self._predictor

    def _local_parameters(self) -> dict[str, Any]:
        # the price follows from the rows and their weights alone, so that all classes have the same one
        return {"C": self._parts()[0].C_, "tol": self.tol, "max_time": self.max_time}

    def _local_attributes(self) -> dict[str, Any]:
        names = ("certificate_", "history_", "C_", "intercept_", "_predictor")
        ends = np.array([knots[[0, -1]] for knots, _ in self.shape_functions_]).T
        kernel = TrainingKernel.from_sample("stump", None, ends)
        found = {name: getattr(self, name) for name in names}
        return {**found, "_kernel": kernel, "kernel_": kernel.kernel, "solver_": "additive"}
