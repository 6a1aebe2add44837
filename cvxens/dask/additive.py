"""The stump SVM over shards: an additive model of piecewise linear functions, by Newton's method and certified.

LL08 P1 with the stump kernel is ``min 1/4 sum_d int g_d'^2 + C sum_i max(0, 1 - y_i (b + sum_d g_d(x_id)))``. Functions
are linear between *knots*: all values of a feature that has few, else some, as many as the price asks for, nearer to
each other where rows are. So every point is one of P1, and the optimum is among them where all values are knots.

The bound is P2's, over all functions: for ``s = y u`` with the sum 0 the form of the kernel is ``s'K s = 2 sum_d int
B_d(t)^2 dt``, with B_d(t) the sum of s over the samples below t. Between values B is known; inside of a step it is
bounded by the sums of the weights of either sign and by their first moments, all whole numbers. Where that is too much,
the bound is asked for over finer steps.

Rows whose margins are far from 1 are *settled*: their multipliers are at a bound, 0 or the price, and all that others
need to know of them are sums by knots. The rest are *in doubt*: these are brought to the client, which solves P2 over
them, all others as they are, by the very algorithm of one machine (`solvers.additive.ProximalSearch`). The functions
that this makes are a better point, or point to one; the multipliers are feasible, and bound the optimum. Where more
rows are in doubt than the client takes, some that look like chance stand for all, and fewer are in doubt the next time:
those that are left are nearer to their bounds than the functions may still move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import ROUNDING, Certificate, Round, relative
from cvxens.dask.estimators import DaskClassifier
from cvxens.dask.masters import STEPS
from cvxens.dask.shards import Shard, ShardedSample, draw_rows, list_each, mix
from cvxens.dask.stumps import Masses
from cvxens.dask.tallies import add, join, sum_exactly, sum_of_signs, to_float
from cvxens.dask.votes import Multipliers, choose_reach, count_near, exponent_of, of_shard
from cvxens.estimators.base import estimator, time_limit, warn_of_gap
from cvxens.estimators.infinite_ensembles import PRICE, InfiniteEnsembleSVC
from cvxens.estimators.machines import TrainingKernel
from cvxens.features import N_BINS, Codes, Ints
from cvxens.limits import Pace, limit_time
from cvxens.problems.losses import Hinge, best_of_hinges
from cvxens.rounding import EPSILON, TINY
from cvxens.solvers.additive import AdditiveKernel, AdditiveModel, Others, ProximalSearch, spare_bounds
from cvxens.solvers.newton import find_root
from cvxens.types import Array, Indices, Numbers

MOST_VALUES = 2**14
"""Distinct values of a feature up to which all of them are knots."""

LEAST_STEPS, MOST_STEPS = 16, 256
"""Steps to a bin, on average, by knots and for the bound."""

MOMENT_BITS = 16
"""First moments are whole numbers of ``2**-16`` of a step's width."""

MAX_STEPS = 60
"""Problems of the client; a handful is usual."""

MOST_DOUBTFUL = 2**18
"""Rows that the client solves P2 over; twice as many where those that are settled move, until it has all."""

MANY_ROWS, N_DRAWN = 2**17, 2**13
"""Rows from which on some of each class are solved first, which stand for all; also where too many are in doubt."""

AIM = 0.2
"""The share of the tolerance, and of the gap so far, that the client's problem may miss."""

ROUGH = 1e-2
"""The relative gap to which rows that stand for all of a sample are solved."""


class Knots(NamedTuple):
    """Knots of every feature, padded by the last one, and where to look for those beside a value of a bin."""

    values: Array  # (n_features, n_knots)
    counts: Ints  # (n_features,)
    first: Ints  # (n_features, N_BINS), the knot at or before all values of a bin
    last: Ints  # and before some value of it
    scales: Array  # (n_features,), of the kernel: ranges count alike
    are_values: bool = False  # True if they are all values of the sample

    @classmethod
    def from_sample(cls, sample: ShardedSample, n_steps: int = LEAST_STEPS) -> Knots:
        """Return all values of features that have few, else some, so many for a bin on average."""
        known, shares = sample.remember(find_values)
        told = zip(known, shares, sample.low, sample.high, strict=True)
        lists, are_all = zip(*(_choose(*own, n_steps * N_BINS) for own in told), strict=True)
        counts = np.array([[len(own)] for own in lists])
        values = np.stack([np.append(own, np.full(counts.max() - len(own), own[-1])) for own in lists])
        # of a feature the last step ends with the last knot
        first, last = (
            np.minimum([np.searchsorted(*own, "right") - 1 for own in zip(lists, ends, strict=True)], counts - 2)
            for ends in (sample.low, sample.high)
        )
        return cls(values, counts[:, 0], first, last, scale_ranges(sample), all(are_all))

    @property
    def widths(self) -> Array:
        """The scaled distances of neighbouring knots, 0 where there is no further one, (n_features, n_knots - 1)."""
        return np.diff(self.values, axis=1) * self.scales[:, np.newaxis]

    def carry(self, finer: Knots, G: Array) -> Array:
        """Return functions that are linear between these knots at finer ones."""
        return np.stack([np.interp(new, own, g) for new, own, g in zip(finer.values, self.values, G, strict=True)])


def _choose(values: Array, shares: Array, low: Array, high: Array, most: int) -> tuple[Array, bool]:
    """Return the knots of a feature, values of it as far as all are known, and whether they are all of these.

    Functions that are linear in a step lose what goes with its width, times the square of the rows inside: the sum is
    least for even steps of the integral of density^(2/3), to which a row adds about ``gap^(1/3)``. One that is drawn
    stands for ``1 / share``, with gaps of that part of its own. Of more steps the ends of fewer are among theirs.
    """
    is_all = bool((shares == 1).all())
    if is_all and len(values) <= max(most, MOST_VALUES):
        return values, True
    held = low <= high
    values = np.unique(np.concatenate([values, low[held], high[held]]))
    share = shares[held][np.searchsorted(low[held], values[:-1], side="right") - 1]
    places = np.append(0.0, np.cumsum(np.cbrt(np.diff(values)) / np.cbrt(share) ** 2))
    at = places[-1] * (np.arange(most + 1) / most)
    # between values that are drawn there may be others
    chosen = values[np.append(np.searchsorted(places, at), -1)] if is_all else np.interp(at, places, values)
    return np.unique(chosen), False


def scale_ranges(sample: ShardedSample) -> Array:
    """Return the scale of each feature, (n_features,), by the default kernel of one machine: ranges count alike."""
    ends = np.stack([sample.low.min(axis=1), sample.high.max(axis=1)])
    return TrainingKernel.from_sample("decision-stump", None, ends).kernel.additive_scales(ends)


def find_roots(sample: ShardedSample) -> Array:
    """Return the cubic roots of the widths of bins, (n_features, N_BINS)."""
    held = sample.low <= sample.high
    return np.cbrt(np.subtract(sample.high, sample.low, out=np.zeros(held.shape), where=held))


def find_values(sample: ShardedSample) -> tuple[tuple[Array, ...], Array]:
    """Return the distinct values of every feature that has few, and those of others that are drawn.

    With them goes the share of the rows of every bin whose values they are, (n_features, N_BINS).
    """

    def ask(shares: Array, most: int) -> tuple[Any, ...]:
        told, combine = (list_values, shares, most), partial(list_each, most=most)
        firsts = (np.cumsum(sample.counts) - sample.counts).tolist()
        return tuple(sample.map_reduce(*told, each=firsts, combine=combine))

    roots = find_roots(sample)
    few = ask(np.ones(roots.shape), MOST_VALUES)
    many = np.array([[own is None] for own in few])
    # more of the bins that are wide, of about as many rows each, as `_choose` takes more of them
    share = MANY_ROWS * N_BINS / len(sample) * roots / np.maximum(roots.sum(axis=1, keepdims=True), TINY)
    shares = np.where(many & (roots > 0) & (len(sample) > MANY_ROWS), np.minimum(share, 1.0), 1.0)
    drawn = ask(np.where(many, shares, 0.0), 2**62) if many.any() else few
    return tuple(some if own is None else own for own, some in zip(few, drawn, strict=True)), shares


def list_values(shard: Shard, first: int, shares: Array, most: int) -> tuple[Array | None, ...]:
    """Return the distinct values of every feature, None where they are more, of rows drawn by their numbers."""
    numbers, parts = np.arange(first, first + shard.n_rows), zip(shard.values, shard.codes, shares, strict=True)
    return list_each([[own[draw_rows(numbers.astype(np.uint64), of[codes])] for own, codes, of in parts]], most)


@njit(cache=True, nogil=True, inline="always")
def find_knot(x: float, code: int, feature: int, knots: Knots) -> int:
    """Return the knot at or before a value, of a feature that has at least two; the last but one for the last."""
    own, k, last = knots.values[feature], knots.first[feature, code], knots.last[feature, code]
    if k < last:
        # knots of most bins are nearly even
        k += np.int64((x - own[k]) / (own[last + 1] - own[k]) * (last - k))
        while k < last and own[k + 1] <= x:
            k += 1
        while own[k] > x:
            k -= 1
    return k


@njit(cache=True, nogil=True, inline="always")
def find_share(x: float, code: int, feature: int, knots: Knots) -> tuple[int, float]:
    """Return the knot at or before a value, as `find_knot`, and the share of the way to the next one."""
    k, own = find_knot(x, code, feature, knots), knots.values[feature]
    return k, (x - own[k]) / (own[k + 1] - own[k])


@njit(cache=True, nogil=True)
def interpolate(values: Numbers, codes: Codes, knots: Knots, G: Array, b: float) -> Array:
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
def sum_by_knots(values: Numbers, codes: Codes, knots: Knots, weights: Ints) -> Ints:
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
def sum_moments(values: Numbers, codes: Codes, knots: Knots, weights: Ints) -> Ints:
    """Return by feature and step sums of weights and first moments about the step's end, of either sign.

    Shape (6, n_features, n_knots): the sums of the weights at knots; of the sizes of those inside of steps above 0 and
    below; their moments, rounded up; and how many they are.
    """
    sums = np.zeros((6, *knots.values.shape), np.int64)
    unit = 1 << MOMENT_BITS
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
                side, size = 1 if weight >= 0 else 2, abs(weight)
                sums[side, j, k] += size
                # size rest 2^-bits, rounded up, without a product that does not fit
                whole, low = size >> MOMENT_BITS, size & (unit - 1)
                sums[2 + side, j, k] += whole * rest + ((low * rest + unit - 1) >> MOMENT_BITS)
                sums[5, j, k] += 1
    return sums


@dataclass(frozen=True, eq=False)
class AdditiveVote:
    """Functions that are linear between knots, and an intercept, as shards evaluate them."""

    knots: Knots
    G: Array
    b: float

    def margins(self, shard: Shard) -> tuple[Codes, Array]:
        """Return the bins of a shard's rows, and their margins."""
        return shard.codes, shard.y * interpolate(shard.values, shard.codes, self.knots, self.G, self.b)


@dataclass(frozen=True, eq=False)
class SteepHinge:
    """The hinge with a slope at its kink: multipliers fall from the price to 0 over a width around a margin of 1."""

    C: Array | float
    width: float = 0.0

    def multipliers(self, z: Array) -> Array:
        """Return the multipliers at margins."""
        return np.multiply(self.C, np.clip(0.5 + (1 - z) / self.width, 0.0, 1.0) if self.width else z < 1)


class NearKink(NamedTuple):
    """Rows whose multipliers are in doubt: all of a class, or those that come first in an order like chance."""

    numbers: NDArray[np.uint64]  # (n_rows,), in the sample
    values: Numbers  # (n_features, n_rows)
    codes: Codes  # (n_features, n_rows)
    y: Array  # (n_rows,)
    prices: Array  # (n_rows,)

    def keep_first(self, most: int) -> NearKink:
        """Return the first of the rows of either class, so many at most, as they follow each other in the sample."""
        kept = []
        for sign in (-1, 1):
            own = np.flatnonzero(self.y == sign)
            first = own[np.argpartition(mix(self.numbers[own]), most)] if len(own) > most else own
            kept.append(first[:most])
        # the same layout, whatever was taken out: sums over rows depend on it
        return NearKink._make(np.ascontiguousarray(own[..., np.sort(np.concatenate(kept))]) for own in self)


def cut_shard(shard: Shard, first: int, at: Multipliers, reach: float, most: int) -> tuple[tuple[Ints, ...], NearKink]:
    """Return what settled rows are by knots and in sum, how many are in doubt, and these; the first has this number."""
    (codes, z), loss = at.vote.margins(shard), of_shard(at.loss, shard)
    near = np.abs(1 - z) < reach
    signed = np.where(near, 0, at.round(shard, loss.multipliers(z)))
    kept = np.flatnonzero(near)
    rows = shard.values, codes, shard.y, loss.C
    of_classes = np.array([np.count_nonzero(shard.y[kept] < 0), np.count_nonzero(shard.y[kept] > 0)])
    sums = sum_by_knots(shard.values, codes, at.vote.knots, signed), sum_of_signs(signed), of_classes
    return sums, NearKink._make([(first + kept).astype(np.uint64), *(own[..., kept] for own in rows)]).keep_first(most)


def merge_settled(most: int, parts: Sequence[tuple[tuple[Ints, ...], NearKink]]) -> tuple[tuple[Ints, ...], NearKink]:
    """Return what several shards say of their rows, in their order."""
    sums, doubtful = zip(*parts, strict=True)
    return add(sums), NearKink._make(join(doubtful)).keep_first(most)


def measure_along(shard: Shard, at: AdditiveVote, change: AdditiveVote, loss: Hinge, steps: Array) -> tuple[Ints, Ints]:
    """Return exact sums of the hinge at several steps along a change, and how many margins are how far from 1."""
    (_, z), (_, dz) = at.margins(shard), change.margins(shard)
    hinge, losses, counts = of_shard(loss, shard), [], []
    for step in steps:
        ahead = z + step * dz
        losses.append(sum_exactly(hinge.terms(ahead)))
        counts.append(count_near(ahead))
    return np.stack(losses), np.stack(counts)


def find_moments(shard: Shard, own: tuple[Indices, Array], at: Multipliers, knots: Knots) -> tuple[Ints, Ints]:
    """Return the sums of the signed weights of either class, and what bounds the form of the kernel.

    Those of some of the shard's rows are `own`, their numbers and multipliers.
    """
    numbers, given = own
    u = of_shard(at.loss, shard).multipliers(at.vote.margins(shard)[1])
    u[numbers] = given
    signed = at.round(shard, u)
    return sum_of_signs(signed), sum_moments(shard.values, shard.codes, knots, signed)


def bound_form(sums: Ints, knots: Knots) -> tuple[float, float]:
    """Bound ``2 sum_d int B_d^2`` from above, in squared units, and how far it can be below that.

    Inside of a step B = B_0 + c with B_0 the sum up to its beginning, with what is there, and c = p - n the sum of
    weights since, of the positive ones and of the negative ones. ``int c`` is M = M_p - M_n, their first moments. As p
    rises to P, ``int p^2 <= P M_p``, and as both rise, ``int p n >= M_p M_n / width`` (Chebyshev's inequality), so

        M^2 / width <= int c^2 <= P M_p + N M_n - 2 M_p M_n / width.

    Shares of a step are rounded up, to ``2**-MOMENT_BITS``, so that moments are that share of their weights too large
    at most, and each weight's up to a unit more. No more are counted than are in the step: a wide one may have few.
    """
    given, positive, negative, of_positive, of_negative, inside = sums[..., :-1]
    start = np.cumsum(given, axis=1)
    start[:, 1:] += np.cumsum((positive - negative)[:, :-1], axis=1)
    B, P, N = (each.astype(np.float64) for each in (start, positive, negative))
    width = knots.widths
    # moments in units times lengths, and what they are too large by at most
    of_p, of_n = width * of_positive, width * of_negative
    off_p, off_n = (width * (np.ldexp(each, -MOMENT_BITS) + inside) for each in (P, N))
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
    rises, widths = np.diff(G, axis=1), knots.widths
    return float((rises**2 / np.where(widths > 0, widths, np.inf)).sum()) / 4


def integrate(knots: Knots, edges: Array) -> Array:
    """Return the functions ``g_d(t) = - scale_d sum_k edges_k |t - t_k|`` of weights at knots: a product."""
    total = edges.sum(axis=1, keepdims=True)
    # slopes fall by 2 edges_k at t_k, from the sum of all before the first
    slopes = total - 2 * np.cumsum(edges, axis=1)[:, :-1]
    widths = knots.widths
    G = np.pad(np.cumsum(slopes * widths, axis=1), ((0, 0), (1, 0)))
    # both ends add up to minus the range times the sum
    return G - (G[:, -1:] + total * widths.sum(axis=1, keepdims=True)) / 2


@dataclass(frozen=True, eq=False)
class SVMOverRows:
    """P2 over some rows, while the multipliers of all others stay, as `ProximalSearch` solves it."""

    kernel: AdditiveKernel
    y: Array
    C: Array
    others: Others
    known: float  # what the others add to the dual objective

    @property
    def is_feasible(self) -> bool:
        """True if multipliers within the prices can balance those of the others."""
        return float(self.C[self.y < 0].sum()) >= self.others.balance >= -float(self.C[self.y > 0].sum())

    def solution_at(self, u: Array) -> PartialSolution:
        """Balance multipliers, and measure what they miss complementarity by at the best intercept."""
        u = spare_bounds(np.clip(u, 0.0, self.C), self)
        # sums of many do not tell less
        shift = find_root(lambda t: self._excess(u, t), 0.0, tolerance=1e-14 * float(u.sum()))
        u = np.clip(u - shift * self.y, 0.0, self.C)
        f = self.kernel.product(self.y * u) + self.others.f
        # losses of the others are linear in b
        b = float(best_of_hinges(self.y - f, self.C, self.others.balance + float(self.C[self.y > 0].sum())))
        z = self.y * (f + b)
        # C max(0, 1 - z) + u (z - 1) for every row
        missed = float(np.where(z < 1, (self.C - u) * (1 - z), u * (z - 1)).sum())
        # sum u - 1/2 c'K c - c'f of the others, with c = y u
        dual = self.known + float(u.sum() - (self.y * u) @ (f + self.others.f) / 2)
        return PartialSolution(self, u, f, b, missed, dual)

    def _excess(self, u: Array, t: float) -> tuple[float, float]:
        """Return minus the sum of y u of all rows where u is shifted, and its slope in the shift."""
        moved = u - t * self.y
        free = (moved > 0) & (moved < self.C)
        return -float(self.y @ np.clip(moved, 0.0, self.C)) - self.others.balance, float(np.count_nonzero(free))


@dataclass(frozen=True, eq=False)
class PartialSolution:
    """Multipliers of some rows, with the scores and the intercept that they make, and the gap of these."""

    problem: SVMOverRows
    u: Array
    f: Array
    b: float
    missed: float  # what they miss complementarity by, which is the gap
    dual: float

    @property
    def relative_gap(self) -> float:
        """What is missed, in units of the primal objective."""
        return self.missed / (self.dual + self.missed) if self.dual + self.missed > 0 else inf

    def make_row(self, steps: int, seconds: float) -> Round:
        """Return the row of a history, of which the gap alone is known."""
        return Round(inf, -inf, self.relative_gap, len(self.u), seconds, steps)


def sort_rows(rows: NearKink, scales: Array) -> AdditiveKernel:
    """Return the kernel over rows, sorted as on one machine."""
    order = rows.values.argsort(axis=1, kind="stable")
    ascending = np.take_along_axis(rows.values, order, axis=1)
    return AdditiveKernel(np.ascontiguousarray(rows.values.T), order.astype(np.int32), ascending, scales)


class Ahead(NamedTuple):
    """What the client makes of rows in doubt: functions, and the multipliers that these are of."""

    G: Array
    b: float
    settled: Multipliers  # those by which the other rows are settled
    numbers: NDArray[np.uint64]
    u: Array
    is_whole: bool  # True if these are all rows in doubt, so that the multipliers are feasible, and bound the optimum
    dual: float  # that bound, as far as knots tell
    missed: float  # what the client's problem misses complementarity by


def sum_floats(rows: NearKink, knots: Knots, weights: Array) -> Array:
    """Return the sums of weights by knots, as `sum_by_knots`."""
    exponent = exponent_of(float(np.abs(weights).sum()))
    units = np.rint(np.ldexp(weights, -exponent)).astype(np.int64)
    return np.ldexp(sum_by_knots(rows.values, rows.codes, knots, units).astype(np.float64), exponent)


class CertifiedFunctions(NamedTuple):
    """The functions of a point of P1, and their objective."""

    model: AdditiveModel
    objective: float


class CertifiedPoint(NamedTuple):
    """The best point that is certified so far, as `WorkersLost` has it."""

    solution: CertifiedFunctions
    bound: float


class AdditiveSearch:
    """The point so far, the steps from it, and the best points of either side."""

    def __init__(self, sample: ShardedSample, C: float, tol: float, reached: list[Any]) -> None:
        self.sample, self.C, self.tol, self.reached = sample, C, tol, reached
        # functions linear between knots lose about C times the ranges over 300 times four steps, relative to the
        # optimum (measured, with room), which is to be no more than a quarter of the tolerance; as `_choose` has it,
        # what stands for a range is the cube of a mean of cubic roots, the same for even bins
        ranges = N_BINS * float(find_roots(sample).mean(axis=1) ** 3 @ scale_ranges(sample))
        wanted = 2.0 ** np.ceil(np.log2(max(C * ranges / (300 * tol), 1.0)))
        self.n_steps = int(np.clip(wanted, LEAST_STEPS, MOST_STEPS // 4))
        self.knots = sample.remember(Knots.from_sample, self.n_steps)
        self.finer, self.n_finer = self.knots, self.n_steps
        """Where the bound is asked for."""
        self.firsts = np.append(0, np.cumsum(sample.counts))
        self.total = C * sample.total_weight
        self.exponent = exponent_of(self.total)
        self.value, self.bound, self.rounding = np.inf, -np.inf, 0.0
        self.G, self.b = np.zeros(self.knots.values.shape), 0.0
        self.history: list[Round] = []
        self.began = perf_counter()

    def run(self) -> None:
        """Step until the gap is at most `tol`, relative, or no step makes it better."""
        pace, n_rows, idle, aim = Pace(), len(self.sample), 0, AIM
        wanted, ahead, taken, gap = n_rows, None, 0, 1.0
        most = MOST_DOUBTFUL
        values, counts = self._measure_along(np.zeros_like(self.G), 0.0, np.zeros(1))
        self.value = float(values[0])
        for step in range(MAX_STEPS):
            if not pace.allows_step():
                break
            taken, before = step + 1, self.value
            reach = inf if wanted >= n_rows else choose_reach(counts[0], wanted)
            all_rows = wanted <= (MANY_ROWS if ahead is None else most)
            tol = max(aim * self.tol, AIM * min(gap, ROUGH)) if all_rows else ROUGH
            ahead = self._step(reach, most if all_rows else N_DRAWN, tol, ahead)
            if ahead is None:
                # rows that are settled cannot be balanced by those in doubt
                most *= 2
                wanted = min(most, n_rows)
                continue
            value, length, counts = self._line_search(ahead, counts)
            allowed, gap = self.tol * self.value, (value - ahead.dual) / self.value if ahead.is_whole else ROUGH
            idle = idle + 1 if before - self.value <= AIM * allowed else 0
            if ahead.is_whole and (value - ahead.dual <= allowed or idle):
                self._take_bound(taken, ahead, closely=True)
                if self.gap <= self.tol:
                    return
                if ahead.missed > AIM * (value - ahead.dual):
                    aim *= AIM
                if not self.knots.are_values and self.n_steps < MOST_STEPS:
                    self._refine()
            # steps in a row without progress after which none is to be had
            if idle > 4:
                break
            if all_rows and (idle or length < 1):
                # rows that were settled move: the client has to take more of them
                most *= 2
            # rows in doubt become fewer from one draw to the next
            wanted = min(max(wanted // 8, most), n_rows)
        self._take_bound(taken, ahead, closely=False)

    def _step(self, reach: float, most: int, tol: float, last: Ahead | None) -> Ahead | None:
        """Solve over the rows whose margins are this near to 1, or a draw; None if they cannot balance the others."""
        at, knots = self._multipliers(), self.knots
        told = cut_shard, at, reach, most
        sums, rows = self.sample.map_reduce(*told, each=self.firsts[:-1].tolist(), combine=partial(merge_settled, most))
        edges, totals, n_near = np.ldexp(sums[0].astype(np.float64), self.exponent), sums[1], sums[2]
        is_whole = len(rows.y) == int(n_near.sum())
        kept = np.array([np.count_nonzero(rows.y < 0), np.count_nonzero(rows.y > 0)])
        # of many rows each stands for several of its class
        prices = rows.prices * (n_near / np.maximum(kept, 1))[(rows.y > 0).astype(np.intp)]
        made = integrate(knots, edges)
        balance = float(np.ldexp(float(totals.sum()), self.exponent))
        others = Others(interpolate(rows.values, rows.codes, knots, made, 0.0), balance)
        settled = float(np.ldexp(float(totals[1] - totals[0]), self.exponent))
        known = settled - float((edges * made).sum()) / 2
        problem = SVMOverRows(sort_rows(rows, knots.scales), rows.y, prices, others, known)
        if not problem.is_feasible:
            return None
        best = self._solve(problem, rows, tol, last)
        G = integrate(knots, edges + sum_floats(rows, knots, rows.y * best.u))
        dual = settled + float(best.u.sum()) - measure_roughness(knots, G)
        return Ahead(G, best.b, at, rows.numbers, best.u, is_whole, dual, best.missed)

    def _solve(self, problem: SVMOverRows, rows: NearKink, tol: float, last: Ahead | None) -> PartialSolution:
        """Solve the client's problem as one machine does, from what is known of its rows."""
        u = np.zeros(len(problem.y))
        with threadpool_limits(1, "blas"), limit_time(inf) as clock:
            search = ProximalSearch(problem, tol, inf, clock)
            if last is not None:
                z = rows.y * interpolate(rows.values, rows.codes, self.knots, self.G, self.b)
                u = np.where(z < 1, problem.C, 0.0) if last.is_whole else u
                _, here, there = np.intersect1d(rows.numbers, last.numbers, assume_unique=True, return_indices=True)
                u[here] = last.u[there]
            search.start_near(search.take(u))
            if last is not None and not last.is_whole:
                # rows that stood for several: the functions that they made, nearly, whose margins tell the others'
                c = problem.y * u
                search.start_at(c - (c.sum() + problem.others.balance) / len(c), self.b)
            search.run()
        return search.incumbent.best

    def _line_search(self, ahead: Ahead, counts: Ints) -> tuple[float, float, Ints]:
        """Go to new functions, or as far towards them as it pays; returns the value there, how far, and the margins."""
        V, v = ahead.G - self.G, ahead.b - self.b
        values, found = self._measure_along(V, v, STEPS[:1])
        whole, steps = float(values[0]), STEPS[:1]
        if whole >= self.value:
            steps = STEPS[1:]
            values, found = self._measure_along(V, v, steps)
        best = int(values.argmin())
        if values[best] >= self.value:
            return whole, 0.0, counts
        t = float(steps[best])
        self.G, self.b, self.value = self.G + t * V, self.b + t * v, float(values[best])
        return whole, t, found[best : best + 1]

    def _multipliers(self, width: float = 0.0) -> Multipliers:
        """Return the multipliers that rows have by their margins."""
        vote, loss = AdditiveVote(self.knots, self.G, self.b), SteepHinge(self.C, width)
        return Multipliers(vote, loss, (1.0, 1.0), self.exponent)

    def _measure_along(self, V: Array, v: float, steps: Array) -> tuple[Array, Ints]:
        """Return the objective at several steps along a direction, and how many margins are how far from 1."""
        at, change = AdditiveVote(self.knots, self.G, self.b), AdditiveVote(self.knots, V, v)
        sums, counts = self.sample.map_reduce(measure_along, at, change, Hinge(self.C), steps)
        rough = [measure_roughness(self.knots, self.G + t * V) for t in steps]
        return np.array([to_float(own) for own in sums]) + rough, counts

    def _refine(self) -> None:
        """Take the same functions over finer knots."""
        before, self.n_steps = self.knots, min(4 * self.n_steps, MOST_STEPS)
        self.knots = self.sample.remember(Knots.from_sample, self.n_steps)
        self.G = before.carry(self.knots, self.G)
        if self.n_finer < self.n_steps:
            self.finer, self.n_finer = self.knots, self.n_steps

    @property
    def gap(self) -> float:
        """The relative gap, with the rounding error."""
        return relative(self.value - self.bound + self.rounding, self.value, self.bound)

    def _take_bound(self, step: int, ahead: Ahead | None, *, closely: bool) -> None:
        """Bound the optimum by multipliers, at the best factor on them, and note the point.

        They are those of a step over all rows in doubt, else what margins say. Steps of knots become finer where the
        bound is `closely` asked for, and too much is not known inside of them.
        """
        if ahead is not None and ahead.is_whole:
            ends = np.searchsorted(ahead.numbers, self.firsts.astype(np.uint64))
            each = zip(self.firsts[:-1].tolist(), ends[:-1], ends[1:], strict=True)
            own = [((ahead.numbers[a:b] - np.uint64(k)).astype(np.intp), ahead.u[a:b]) for k, a, b in each]
            self._bound_by(ahead.settled, own, closely=closely)
        else:
            nothing = np.zeros(0, np.intp), np.zeros(0)
            # over how much of the margins multipliers fall from the price to 0
            for width in (4.0, 1.0, 0.25, 0.0):
                self._bound_by(self._multipliers(width), [nothing] * (len(self.firsts) - 1), closely=False)
        off = (2 * self.sample.shape[1] + 8) * EPSILON * (float(np.abs(self.G).sum(axis=0).max()) + 1)
        self.rounding = 2 * off * self.total * self.sample.shape[1] + ROUNDING * abs(self.value)
        seconds = perf_counter() - self.began
        self.history.append(Round(-self.bound, -self.value, max(self.gap, 0.0), len(self.sample), seconds, step))
        self.reached[:] = [CertifiedPoint(CertifiedFunctions(self.make_model(), self.value), self.bound)]

    def _bound_by(self, at: Multipliers, own: Sequence[Any], *, closely: bool) -> None:
        unit = 2.0**self.exponent
        while True:
            found, sums = self.sample.map_reduce(find_moments, at, self.finer, each=own)
            missed, size = abs(int(found.sum())) * unit, float(found[1] - found[0]) * unit
            if missed > EPSILON**0.5 * size and at.factors == (1.0, 1.0):
                sizes = np.abs(found)
                at = replace(at, factors=(sizes.min() / max(sizes[0], 1), sizes.min() / max(sizes[1], 1)))
                continue
            form, vague = (each * unit * unit for each in bound_form(sums, self.finer))
            # multipliers that balance have B off by what is missed at most, whose norm adds to that of B
            form = (form**0.5 + missed * (2 * float(self.finer.widths.sum())) ** 0.5) ** 2 * (1 + 64 * EPSILON)
            factor = min(1.0, size / form) if form > 0 else 1.0
            self.bound = max(self.bound, factor * size - factor * factor * form / 2 - 2 * missed)
            # the share of the gap that the bound may lose by what is not known inside of steps
            enough = 0.1 * max(self.tol * abs(self.value), self.value - self.bound)
            off = factor * factor * vague / 2
            if not closely or off <= enough or self.finer.are_values or self.n_finer >= MOST_STEPS:
                return
            # what is not known falls with the square of the steps' number
            times = 2 ** int(np.ceil(np.log2(off / enough) / 2))
            self.n_finer = min(max(times, 2) * self.n_finer, MOST_STEPS)
            self.finer = self.sample.remember(Knots.from_sample, self.n_finer)

    def make_model(self) -> AdditiveModel:
        """Return the best functions; as on one machine, both ends of each are opposite."""
        G, b, knots = self.G, self.b, self.knots
        lists = [(knots.values[j, :count], G[j, :count]) for j, count in enumerate(knots.counts.tolist())]
        centres = [float(g[0] + g[-1]) / 2 for _, g in lists]
        starts = np.append(0, np.cumsum(knots.counts)).astype(np.int64)
        values = np.concatenate([g - centre for (_, g), centre in zip(lists, centres, strict=True)])
        return AdditiveModel(starts, np.concatenate([own for own, _ in lists]), values, b + sum(centres))

    def certificate(self) -> Certificate:
        """Return the gap between P2 at the best multipliers and minus P1 at the best functions."""
        note = "over all stumps of the kernel"
        return Certificate.between(-self.bound, -self.value, rounding=self.rounding, note=note)


def measure_variance(sample: ShardedSample) -> float:
    """Return the mean of k(x, x) - k(x, x') over pairs of rows, by their weights, which default prices go by."""
    exponent = exponent_of(sample.total_weight)
    knots = sample.remember(Knots.from_sample, LEAST_STEPS)
    sums = Masses(exponent).ask(sample, sum_shard_by_knots, knots)
    below = np.cumsum(np.ldexp(sums.astype(np.float64), exponent), axis=1)[:, :-1]
    # the mean of |x - x'| is 2 int F (1 - F)
    shares = below / sample.total_weight
    return float((2 * shares * (1 - shares) * knots.widths).sum())


def sum_shard_by_knots(shard: Shard, weights: Any, knots: Knots) -> Ints:
    """Return the sums of the weights of a shard's rows by knots."""
    return sum_by_knots(shard.values, shard.codes, knots, weights.evaluate(shard))


@final
@estimator
class DaskInfiniteEnsembleSVC(DaskClassifier):
    """The support vector machine over all stumps (LL08), over shards: an additive model of piecewise linear functions.

    Its kernel is "decision-stump", the default of one machine: features are scaled to one range.

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
    history_ : tuple of Round
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
        search = AdditiveSearch(sample, C, tol, best)
        with limit_time(time_limit(self), alone=True):
            search.run()
        certificate = search.certificate()
        warn_of_gap(self, certificate, tol, "no step made the gap smaller", "raise tol or max_time")
        model = search.make_model()
        found = {"certificate_": certificate, "history_": tuple(search.history), "C_": C}
        return {**found, "intercept_": np.asarray(model.intercept), "_predictor": model}

    @property
    def shape_functions_(self) -> list[tuple[Array, Array]] | list[list[tuple[Array, Array]]]:
        """(knots, values) of every feature: f(x) = b + sum_d g_d(x_d), linear between knots, constant beyond.

        A list over the sub-problems where there are several.
        """
        check_is_fitted(self)
        return self._show([part._predictor.shape_functions for part in self._parts()])

    def _local_parameters(self) -> dict[str, Any]:
        # the price follows from the rows and their weights alone, so that all classes have the same one
        return {"C": self._parts()[0].C_, "tol": self.tol, "max_time": self.max_time}

    def _local_attributes(self) -> dict[str, Any]:
        ends = np.array([knots[[0, -1]] for knots, _ in self._predictor.shape_functions]).T
        kernel = TrainingKernel.from_sample("decision-stump", None, ends)
        own = {"_predictor": self._predictor, "_kernel": kernel, "kernel_": kernel.kernel, "solver_": "additive"}
        return super()._local_attributes() | own
