"""The stump SVM over shards: an additive model of piecewise linear functions, by Newton's method and certified.

LL08 P1 with the stump kernel is ``min 1/4 sum_d int g_d'^2 + C sum_i max(0, 1 - y_i (b + sum_d g_d(x_id)))``. Functions
are linear between *knots*: all values of a sample of up to `MOST_ROWS` rows, else the least value of every bin, even
steps inside of it, as fine as the price asks for, and the largest of all. So every point is one of P1, and the optimum
is among them where all values are knots.

The bound is P2's, over all functions: for ``s = y u`` with the sum 0 the form of the kernel is ``s'K s = 2 sum_d int
B_d(t)^2 dt``, with B_d(t) the sum of s over the samples below t. Between values B is known; inside of a step it is
bounded by the sums of the weights of either sign and by their first moments, all whole numbers. Where that is too much,
the bound is asked for over finer steps.

The hinge is followed by one with a rounded kink, `RoundedHinge`, nearer and nearer. Rows outside of the kink have
multipliers at their bounds, and enter by their sums alone. Newton's equations are over the rows inside, which are
*in doubt*: the client has them, or as many as it can do with, and solves the equations as on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import ROUNDING, Certificate, relative
from cvxens.dask.estimators import DaskClassifier
from cvxens.dask.masters import STEPS, SUFFICIENT
from cvxens.dask.shards import Shard, ShardedSample, count_shards, mix
from cvxens.dask.sums import Ints, add, sum_exactly, to_float
from cvxens.dask.tallies import Codes
from cvxens.dask.votes import exponent_of, of_shard
from cvxens.estimators.infinite_ensembles import InfiniteEnsembleSVC
from cvxens.estimators.machines import PRICE, TrainingKernel
from cvxens.estimators.parameters import estimator
from cvxens.estimators.progress import time_limit, warn_of_gap
from cvxens.limits import Pace, limit_time
from cvxens.problems.losses import Hinge
from cvxens.rounding import EPSILON
from cvxens.solvers.additive import (
    DENSE,
    AdditiveKernel,
    AdditiveModel,
    solve_by_cholesky,
    solve_by_conjugate_gradients,
)
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

WIDEST, SHARPER = 4.0, 0.2
"""The width of the rounded kink at first, where margins of 0 are inside, and how much narrower it becomes at a time."""

SMOOTHEST = 0.95
"""How little narrower it becomes at a time at least, where a Newton step is good for nothing otherwise."""

WIDER, MOST_WIDE = 8.0, 1e9
"""How much wider it becomes where that is so at first, and up to which width."""

AIM = 0.4
"""The share of the tolerance that the rounded kink may take, where it is enough."""

SETTLED = 0.1
"""The share of what the rounded kink takes below which half of what a step promises is little."""

MOST_DOUBTFUL = 2**14
"""Rows that the client solves Newton's equations over: where more are in doubt, some that look like chance."""


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
            if weights[i] == 0:
                continue
            k, share = find_share(values[j, i], codes[j, i], j, knots)
            above = np.int64(np.rint(share * weights[i]))
            table[k] += weights[i] - above
            table[k + 1] += above
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
                # weight rest 2^-bits, rounded down, without a product that does not fit
                low = weight & ((1 << MOMENT_BITS) - 1)
                sums[2 + side, j, k] += (weight >> MOMENT_BITS) * rest + ((low * rest) >> MOMENT_BITS)
    return sums


@dataclass(frozen=True, eq=False)
class RoundedHinge:
    """The hinge with its kink rounded off over a width, ``C max over p of p (1 - z) + width p (1 - p) / 2``.

    It is above the hinge by up to C width / 8, and a parabola where ``|1 - z| < width / 2``; beyond, it is the hinge.
    """

    C: Any
    width: float

    def shares(self, z: Array) -> Array:
        """Return p = u / C at margins z."""
        return np.clip(0.5 + (1 - z) / self.width, 0.0, 1.0)

    def values(self, z: Array) -> Array:
        """Evaluate the loss of every sample."""
        p = self.shares(z)
        return self.C * (p * (1 - z) + self.width / 2 * p * (1 - p))

    def multipliers(self, z: Array) -> Array:
        """Return the multipliers u = C p."""
        return self.C * self.shares(z)


class Doubtful(NamedTuple):
    """Rows whose multipliers are between the bounds: all, or those that come first in an order like chance."""

    ranks: NDArray[np.uint64]  # (n_rows,), the places in that order
    values: NDArray[Any]  # (n_features, n_rows)
    codes: Codes  # (n_features, n_rows)
    y: Array  # (n_rows,)
    prices: Array  # (n_rows,)

    def keep_first(self) -> Doubtful:
        """Return the first of the rows, `MOST_DOUBTFUL`, as they follow each other in the sample."""
        if len(self.ranks) <= MOST_DOUBTFUL:
            return self
        kept = np.sort(np.argpartition(self.ranks, MOST_DOUBTFUL)[:MOST_DOUBTFUL])
        return Doubtful(*(np.ascontiguousarray(own[..., kept]) for own in self))


@dataclass(frozen=True, eq=False)
class Curve:
    """Functions and an intercept, with the rounded hinge whose multipliers are meant."""

    knots: Knots
    G: Array
    b: float
    loss: RoundedHinge
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


def look(shard: Shard, first: int, at: Curve, hinge: Any) -> tuple[tuple[Ints, ...], Doubtful]:
    """Return what a step needs of a shard, whose first row has this number in the sample.

    Exact sums of the hinge, of the rounded one, and of what the multipliers miss complementarity by; the multipliers by
    knots and by class; the number of rows in doubt; and these rows, or some.
    """
    z = at.margins(shard)
    near, signed = of_shard(at.loss, shard), at.signed(shard, z)
    values, p = of_shard(hinge, shard).values(z), near.shares(z)
    kept = np.flatnonzero((p > 0) & (p < 1))
    rows: Any = shard.values, shard.codes, shard.y, near.C
    sums = (
        sum_exactly(values),
        sum_exactly(near.values(z)),
        sum_exactly(values - near.C * p * (1 - z)),
        sum_by_knots(shard.values, shard.codes, at.knots, signed),
        np.array([-np.minimum(signed, 0).sum(), np.maximum(signed, 0).sum()]),
        np.array(len(kept)),
    )
    return sums, Doubtful(mix((first + kept).astype(np.uint64)), *(own[..., kept] for own in rows)).keep_first()


def merge_looks(parts: Sequence[tuple[tuple[Ints, ...], Doubtful]]) -> tuple[tuple[Ints, ...], Doubtful]:
    """Return what several shards say of a point, in their order."""
    sums, doubtful = zip(*parts, strict=True)
    # rows that were taken out of others are laid out as those; sums of rows differ by their layout
    rows = Doubtful(*(np.ascontiguousarray(np.concatenate(own, axis=-1)) for own in zip(*doubtful, strict=True)))
    return add(sums), rows.keep_first()


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

    Inside of a step B = B_0 + c with B_0 the sum up to its beginning, with what is there, and c = p - n the sum of
    weights since, of the positive ones and of the negative ones. ``int c`` is M = M_p - M_n, their first moments. As p
    rises to P, ``int p^2 <= P M_p``, and as both rise, ``int p n >= M_p M_n / width`` (Chebyshev's inequality), so

        M^2 / width <= int c^2 <= P M_p + N M_n - 2 M_p M_n / width.

    Shares of a step are rounded up, to ``2**-MOMENT_BITS``, so that moments are that share of their weights too large
    at most. Each weight also loses up to a unit in its moment: whoever asks counts these, 2 (2 |B_0| + P) of each.
    """
    given, positive, negative, of_positive, of_negative = sums[..., :-1]
    start = np.cumsum(given, axis=1)
    start[:, 1:] += np.cumsum((positive + negative)[:, :-1], axis=1)
    B, P, N = (each.astype(np.float64) for each in (start, positive, -negative))
    width = np.where(np.isfinite(knots.widths), knots.widths, 0.0)
    # moments in units times lengths, and what they are too large by at most
    of_p, of_n = width * of_positive, -width * of_negative
    off_p, off_n = np.ldexp(width * P, -MOMENT_BITS), np.ldexp(width * N, -MOMENT_BITS)
    per_width = 1 / np.where(width > 0, width, 1.0)
    both = np.maximum(of_p - off_p, 0.0) * np.maximum(of_n - off_n, 0.0) * per_width
    most = P * of_p + N * of_n - 2 * both
    # where B_0 >= 0 it is n whose moments may be smaller, else p
    smaller = np.abs(B) * np.where(B >= 0, off_n, off_p)
    form = 2 * float((B**2 * width + 2 * B * (of_p - of_n) + 2 * smaller + most).sum())
    off, total = off_p + off_n, np.abs(of_p - of_n)
    least = (total**2 - (2 * total + off) * off) * per_width
    return form, 2 * float((most - least + 4 * np.abs(B) * off).sum())


def measure_roughness(knots: Knots, G: Array) -> float:
    """Evaluate ``1/4 sum_d int g_d'^2``."""
    return float((np.diff(G, axis=1) ** 2 / knots.widths).sum()) / 4


def pull(knots: Knots, G: Array) -> Array:
    """Return the gradient of the roughness."""
    slopes = np.diff(G, axis=1) / knots.widths / 2
    return np.pad(slopes, ((0, 0), (1, 0))) - np.pad(slopes, ((0, 0), (0, 1)))


def integrate(knots: Knots, edges: Array) -> Array:
    """Return the functions that pull with these weights at knots, which sum to 0 in every feature.

    That is ``g_d(t) = - sum_k edges_k |t - t_k|``, whose ends are opposite: the kernel's product with the weights.
    """
    # pull: q_(k-1) - q_k = edges_k with q_k = (g_(k+1) - g_k) / (2 h_k)
    slopes = -2 * np.cumsum(edges, axis=1)[:, :-1]
    G = np.pad(np.cumsum(slopes * np.where(np.isfinite(knots.widths), knots.widths, 0.0), axis=1), ((0, 0), (1, 0)))
    return G - G[:, -1:] / 2


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
    smoothed: float  # the objective with the rounded hinge
    missed: float  # by the multipliers, of complementarity: what the gap would be if the point were a minimum
    by_knots: Ints  # the signed multipliers, (n_features, n_knots)
    totals: Ints  # the multipliers of either class
    doubtful: Doubtful
    n_doubtful: int  # of the whole sample

    @property
    def edges(self) -> Array:
        """The signed multipliers by knots, (n_features, n_knots)."""
        return np.ldexp(self.by_knots.astype(np.float64), self.curve.exponent)

    @property
    def surplus(self) -> float:
        """The sum of the multipliers of y = +1 less that of y = -1, 0 where they balance."""
        return float(np.ldexp(float(self.totals[1] - self.totals[0]), self.curve.exponent))


class Direction(NamedTuple):
    """A change of functions and intercept, and what it says of the point."""

    V: Array
    v: float
    promised: float  # half of what the objective would fall by for each unit of its length, at first
    apart: float  # of the gap: the roughness of functions less those that the multipliers make, and their surplus


def find_direction(at: Seen, width: float) -> Direction:
    """Solve Newton's equations over the rows in doubt, for a kink of the same width or a narrower one.

    The whole functions are then ``K (s + c)``, with c the change of the signed multipliers: none where they are at a
    bound, and of rows in doubt what takes them to ``y u = C (y / 2 + (y - f - df) / width)``, df the change of their
    scores f. With the width w of before, ``c_i = C (y - f) (1 / width - 1 / w) - C df / width``, so that

        (K c)_i + v + width / C_i c_i = (g - K s)(x_i) + (y_i - f_i) (1 - width / w),

    and c takes off the surplus of s: equations over the rows in doubt alone. Of many rows, some stand for all.
    """
    rows, knots, G, edges = at.doubtful, at.curve.knots, at.curve.G, at.edges
    n_rows, v = len(rows.prices), 0.0
    # the surplus is taken off from all of them alike at first
    c = np.full(n_rows, -at.surplus / max(n_rows, 1))
    start = integrate(knots, edges + sum_floats(rows, knots, c))
    if n_rows:
        stiffness, left = width / rows.prices * (n_rows / at.n_doubtful), 1 - width / at.curve.loss.width
        f = interpolate(rows.values, rows.codes, knots, G, at.curve.b)
        right = f - interpolate(rows.values, rows.codes, knots, start, at.curve.b) + left * (rows.y - f) - stiffness * c
        further, v = solve_among(rows, stiffness, right)
        V = integrate(knots, edges + sum_floats(rows, knots, c + further)) - G
    else:
        V = start - G
    slope = float(((pull(knots, G) - edges) * V).sum()) - at.surplus * v
    return Direction(V, v, -slope / 2, measure_roughness(knots, G - start) + abs(at.surplus))


def solve_among(rows: Doubtful, stiffness: Array, right: Array) -> tuple[Array, float]:
    """Solve ``(K + diag(stiffness)) c + v = right``, 1'c = 0, over rows, as on one machine; returns c and v."""
    order = rows.values.argsort(axis=1, kind="stable")
    ascending = np.take_along_axis(rows.values, order, axis=1)
    kernel = AdditiveKernel(rows.values.T, order.astype(np.int32), ascending, np.ones(len(order)))
    solve = solve_by_cholesky if len(right) <= DENSE else solve_by_conjugate_gradients
    with threadpool_limits(1, "blas"):
        return solve(kernel, stiffness, right)


def sum_floats(rows: Doubtful, knots: Knots, weights: Array) -> Array:
    """Return the sums of weights by knots, as `sum_by_knots`."""
    exponent = exponent_of(float(np.abs(weights).sum()))
    units = np.rint(np.ldexp(weights, -exponent)).astype(np.int64)
    return np.ldexp(sum_by_knots(rows.values, rows.codes, knots, units).astype(np.float64), exponent)


class Functions(NamedTuple):
    """The functions of a point of P1, and their objective."""

    model: AdditiveModel
    objective: float


class Reached(NamedTuple):
    """The best point that is certified so far, as `WorkersLost` has it."""

    solution: Functions
    bound: float


class Search:
    """Newton's method on one problem, and the best points of either side."""

    def __init__(self, sample: ShardedSample, C: float, tol: float, reached: list[Any]) -> None:
        self.sample, self.C, self.tol, self.reached = sample, C, tol, reached
        ranges = float((sample.high.max(axis=1) - sample.low.min(axis=1)).sum())
        # the power of two at which knots lose little
        wanted = 2.0 ** np.ceil(np.log2(max(C * ranges / (COARSE * tol), 1.0)))
        self.n_steps = int(np.clip(wanted, LEAST_STEPS, MOST_STEPS // 4))
        self.hinge, self.ranges = Hinge(C), ranges
        self.knots = sample.remember(Knots.from_sample, self.n_steps)
        self.finer, self.n_finer = self.knots, self.n_steps
        """Where the bound is asked for."""
        counts = sample.remember(count_shards)
        self.firsts = (np.cumsum(counts) - counts).tolist()
        self.total = C * sample.total_weight
        self.exponent = exponent_of(self.total)
        self.value, self.bound, self.rounding = np.inf, -np.inf, 0.0
        self.best: tuple[Array, float] = np.zeros(self.knots.values.shape), 0.0
        self.history: list[Level] = []
        self.began = perf_counter()

    def run(self) -> None:
        """Step until the gap is at most `tol`, relative, or no step makes it better."""
        pace, width, sharper, aim, is_stuck = Pace(), WIDEST, SHARPER, AIM, False
        settled_at: Seen | None = None
        at = self._look(*self.best, width)
        for step in range(MAX_STEPS):
            if at.surplus and not at.n_doubtful:
                # nothing can balance the multipliers: there is a row in a kink that is wide enough
                width *= 2
                at = self._look(at.curve.G, at.curve.b, width)
                continue
            allowed = aim * self.tol * abs(self.value)
            ahead, in_time = find_direction(at, width), pace.allows_step()
            is_near = at.missed <= allowed
            settled = is_stuck or (ahead.apart <= allowed if is_near else ahead.promised <= SETTLED * at.missed)
            if settled or not in_time:
                self._take_bound(at, step, closely=is_near and in_time)
                if self.gap <= self.tol or not in_time:
                    return
            if not settled:
                at, is_stuck = self._go(at, ahead)
                if is_stuck and settled_at is None and width < MOST_WIDE:
                    # so few rows are inside of the kink that a step goes far beyond what they know of
                    width *= WIDER
                    at, is_stuck = self._look(at.curve.G, at.curve.b, width), False
                elif is_stuck and settled_at is not None and sharper < SMOOTHEST:
                    # it became narrower too fast: again from where it was, by less
                    sharper = sharper**0.5
                    width = settled_at.curve.loss.width * sharper
                    at, is_stuck = self._sharpen(settled_at, width), False
                continue
            if is_near:
                if at.missed + ahead.apart >= (self.value - self.bound) / 2 and not is_stuck:
                    aim *= SHARPER
                elif not (self.knots.are_values or self.n_steps >= MOST_STEPS):
                    at, is_stuck = self._refine(at), False
                    settled_at = at
                    continue
                elif not is_stuck or width < EPSILON:
                    return
            # what is missed falls with the width, or with its square
            settled_at = at
            width *= max(sharper, min(1.0, (allowed / (2 * at.missed)) ** 0.7)) if at.missed else sharper
            at, is_stuck = self._sharpen(at, width), False
            sharper = max(SHARPER, sharper**1.5) if sharper < SMOOTHEST else SHARPER
        self._take_bound(at, MAX_STEPS, closely=True)

    def _sharpen(self, at: Seen, width: float) -> Seen:
        """Go to about where the minimum is with a kink of another width."""
        return self._look_along(at, find_direction(at, width), 1.0, width)

    def _look_along(self, at: Seen, ahead: Direction, t: float, width: float) -> Seen:
        """Look at a point at a length t along a direction."""
        return self._look(at.curve.G + t * ahead.V, at.curve.b + t * ahead.v, width)

    def _go(self, at: Seen, ahead: Direction) -> tuple[Seen, bool]:
        """Go along a direction as far as it pays; returns the new point, and True if there is no step that pays."""
        width = at.curve.loss.width
        there = self._look_along(at, ahead, 1.0, width)
        if there.smoothed <= at.smoothed - SUFFICIENT * 2 * max(ahead.promised, 0.0):
            return there, False
        t = self._search(at, ahead.V, ahead.v)
        return (self._look_along(at, ahead, t, width), False) if t else (at, True)

    def _look(self, G: Array, b: float, width: float) -> Seen:
        """Ask the shards for all that a step needs, and keep the best functions."""
        curve = Curve(self.knots, G, b, RoundedHinge(self.C, width), exponent=self.exponent)
        found, doubtful = self.sample.ask(look, curve, self.hinge, each=self.firsts, combine=merge_looks)
        value, near, missed, by_knots, totals, n_doubtful = found
        rough = measure_roughness(self.knots, G)
        objective = to_float(value) + rough
        if objective < self.value:
            self.value, self.best = objective, (G, b)
        return Seen(curve, to_float(near) + rough, to_float(missed), by_knots, totals, doubtful, int(n_doubtful))

    def _refine(self, at: Seen) -> Seen:
        """Look at the same functions over finer knots."""
        before, self.n_steps = self.knots, min(4 * self.n_steps, MOST_STEPS)
        self.knots = self.sample.remember(Knots.from_sample, self.n_steps)
        self.best = before.carry(self.knots, self.best[0]), self.best[1]
        if self.n_finer < self.n_steps:
            self.finer, self.n_finer = self.knots, self.n_steps
        return self._look(before.carry(self.knots, at.curve.G), at.curve.b, at.curve.loss.width)

    @property
    def gap(self) -> float:
        """The relative gap, with the rounding error."""
        return relative(self.value - self.bound + self.rounding, self.value, self.bound)

    def _search(self, at: Seen, V: Array, v: float) -> float:
        """Return the step of some that decreases the smoothed objective most; 0 if none does."""
        sums = self.sample.ask(try_lengths, at.curve, V, v, STEPS)
        rough = [measure_roughness(self.knots, at.curve.G + step * V) for step in STEPS]
        objectives = [to_float(own) + other for own, other in zip(sums, rough, strict=True)]
        best = int(np.argmin(objectives))
        return float(STEPS[best]) if objectives[best] < at.smoothed else 0.0

    def _take_bound(self, at: Seen, step: int, *, closely: bool) -> None:
        """Bound the optimum by balanced multipliers, at the best factor on them, and note the point.

        Steps become finer where it is `closely` asked for, and too much is not known inside of them.
        """
        light, unit = int(at.totals.min()), 2.0**self.exponent
        while light:
            balanced = replace(at.curve, factors=(light / int(at.totals[0]), light / int(at.totals[1])))
            found, sums = self.sample.ask(find_moments, balanced, self.finer)
            form, vague = (each * unit * unit for each in bound_form(sums, self.finer))
            missed = abs(int(found[1] - found[0])) * unit
            size = float(found.sum()) * unit
            # moments lose at most a unit a weight, times the width of a step; 2 |B| is at most the sum of all
            widest = float(np.where(np.isfinite(self.finer.widths), self.finer.widths, 0.0).max(axis=1).sum())
            lost = (len(self.sample) * unit * widest + missed * self.ranges) * 2 * size
            form += lost + form * 64 * EPSILON
            factor = min(1.0, size / form) if form > 0 else 1.0
            bound = factor * size - factor * factor * form / 2 - 2 * missed
            self.bound = max(self.bound, bound)
            enough = VAGUE * max(self.tol * abs(self.value), self.value - self.bound)
            off = factor * factor * vague / 2
            if not closely or off <= enough or self.finer.are_values or self.n_finer >= MOST_STEPS:
                break
            # what is not known falls with the square of the steps' number
            times = 2 ** int(np.ceil(np.log2(off / enough) / 2))
            self.n_finer = min(max(times, 2) * self.n_finer, MOST_STEPS)
            self.finer = self.sample.remember(Knots.from_sample, self.n_finer)
        off = (2 * self.sample.shape[1] + 8) * EPSILON * (float(np.abs(self.best[0]).sum(axis=0).max()) + 1)
        self.rounding = 2 * off * self.total * self.sample.shape[1] + ROUNDING * abs(self.value)
        seconds = perf_counter() - self.began
        self.history.append(Level(-self.bound, -self.value, max(self.gap, 0.0), step, seconds))
        self.reached[:] = [Reached(Functions(self.make_model(), self.value), self.bound)]

    def make_model(self) -> AdditiveModel:
        """Return the best functions; as on one machine, both ends of each are opposite."""
        (G, b), knots = self.best, self.knots
        lists = [(knots.values[j, :count], G[j, :count]) for j, count in enumerate(knots.counts.tolist())]
        centres = [float(g[0] + g[-1]) / 2 for _, g in lists]
        starts = np.append(0, np.cumsum(knots.counts)).astype(np.int64)
        values = np.concatenate([g - centre for (_, g), centre in zip(lists, centres, strict=True)])
        return AdditiveModel(starts, np.concatenate([own for own, _ in lists]), values, b + sum(centres))

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
    knots = sample.remember(Knots.from_sample, LEAST_STEPS)
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
            C = PRICE / sample.remember(measure_variance)
        else:
            C = validation.positive("C", self.C)
        search = Search(sample, C, tol, best)
        with limit_time(time_limit(self), alone=True):
            search.run()
        certificate = search.certificate()
        warn_of_gap(self, certificate, tol, "no step made the gap smaller", "raise tol or max_time")
        model = search.make_model()
        found = {"certificate_": certificate, "history_": tuple(search.history), "C_": C}
        return {**found, "intercept_": np.asarray(model.intercept), "_predictor": model}

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
