"""Weighted votes of stumps as shards evaluate them, and multipliers as functions of a vote.

A vote over many stumps is a staircase of every feature: one table of values between its places. A master's multipliers
``u = -loss'(z)`` are a function of a vote, so it is the vote that is sent around, not they; and they are whole numbers
of units, rounded down, so that sums over them are exact and every u is within the bounds that its loss puts on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, ldexp, nextafter
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.dask.shards import Shard, ShardedSample
from cvxens.dask.sums import Ints, sum_exactly
from cvxens.dask.tallies import Places, find_intervals, sum_by_intervals, sum_by_pairs, sum_scores
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.types import Array

BITS = 58
"""Whole numbers that are added up have magnitudes of at most 2**58 in sum, so that four times it fits into 64 bits."""


def exponent_of(total: float) -> int:
    """Return the exponent of a unit of which numbers that add up to `total` at most make no more than 2**58.

    Examples
    --------
    >>> exponent_of(1.0), exponent_of(0.0)
    (-57, -58)
    """
    return int(np.frexp(total)[1]) - BITS


def find_places(lists: Sequence[Array], sample: ShardedSample) -> Places:
    """Return thresholds, a list for each feature, with what the bins of a sample tell of them."""
    starts = np.append(0, np.cumsum([len(own) for own in lists])).astype(np.int64)
    first = np.stack([np.searchsorted(own, sample.low[j], side="right") for j, own in enumerate(lists)])
    last = np.stack([np.searchsorted(own, sample.high[j], side="right") for j, own in enumerate(lists)])
    return Places(np.concatenate([np.zeros(0), *lists]), starts, first, np.maximum(first, last))


@dataclass(frozen=True, eq=False)
class Stumps:
    """The stumps of a master, by their places among the thresholds of their features; a constant has feature -1."""

    places: Places
    feature: Ints  # (n_columns,)
    place: Ints  # (n_columns,), the stump is -sign in the intervals up to this one
    sign: Array  # (n_columns,)

    @classmethod
    def from_hypotheses(cls, hypotheses: Sequence[Hypothesis], sample: ShardedSample) -> Stumps:
        """Return the stumps of hypotheses; `InvalidInput` if there are others."""
        for hypothesis in hypotheses:
            if not isinstance(hypothesis, Stump | Constant):
                raise InvalidInput("oracle", f"found {hypothesis!r:.100}", "give an oracle of stumps")
        stumps: Any = hypotheses
        feature = np.array([getattr(h, "feature", -1) for h in stumps], np.int64)
        threshold = np.array([getattr(h, "threshold", 0.0) for h in stumps], np.float64)
        sign = np.array([h.sign for h in stumps], np.float64)
        lists = [np.unique(threshold[feature == j]) for j in range(sample.shape[1])]
        place = np.array(
            [np.searchsorted(lists[j], t) if j >= 0 else 0 for j, t in zip(feature.tolist(), threshold, strict=True)],
            np.int64,
        )
        return cls(find_places(lists, sample), feature, place, sign)

    def vote(self, w: Array, b: float) -> Vote:
        """Return the vote of weights and an intercept, ``f = b + sum_j w_j h_j``, as staircases."""
        starts, constant = self.places.starts, b
        tables = np.zeros(int(starts[-1]) + len(starts) - 1)
        for j in range(len(starts) - 1):
            if starts[j + 1] == starts[j]:
                continue
            own = self.feature == j
            jumps = np.zeros(int(starts[j + 1] - starts[j]))
            signed = w[own] * self.sign[own]
            np.add.at(jumps, self.place[own], 2 * signed)
            # -sum of all below the first place, and twice the weight more above each
            tables[starts[j] + j : starts[j + 1] + j + 1] = np.append(0.0, np.cumsum(jumps)) - signed.sum()
        constants = self.feature == -1
        return Vote(self.places, tables, constant + float((w[constants] * self.sign[constants]).sum()))

    def evaluate(self, intervals: NDArray[np.uint16]) -> Array:
        """Evaluate all stumps on rows in these intervals, (n_columns, n_rows)."""
        above = intervals[self.feature] > self.place[:, np.newaxis]
        return self.sign[:, np.newaxis] * np.where(above | (self.feature < 0)[:, np.newaxis], 1.0, -1.0)

    def edges(self, sums: NDArray[Any], total: float, exponent: int) -> Array:
        """Return the edges of all columns from the sums of signed weights by interval, times ``2**exponent``."""
        return np.ldexp(self.count_edges(sums, total).astype(np.float64), exponent)

    def count_edges(self, sums: NDArray[Any], total: float) -> NDArray[Any]:
        """Return the edges in the units of the sums, ``sign (2 above - total)``; of a constant all is above."""
        twice = np.append(2 * self._sums_above(sums), 2 * total)[self._slots]
        return self.sign.astype(sums.dtype) * (twice - total)

    @property
    def _slots(self) -> Ints:
        """The number of each column's threshold among all; of a constant one more than there are."""
        starts = self.places.starts
        return np.where(self.feature < 0, starts[-1], starts[self.feature] + self.place)

    def _sums_above(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return the sum at and above every threshold, (n_thresholds,)."""
        starts = self.places.starts
        own = (sums[starts[j] + j : starts[j + 1] + j + 1] for j in range(len(starts) - 1) if starts[j + 1] > starts[j])
        return np.concatenate([np.zeros(0, np.int64), *(np.cumsum(each[::-1])[::-1][1:] for each in own)])

    def gram(self, sums: Ints, pairs: Ints, total: int, exponent: int) -> Array:
        """Return ``sum_i c_i (h_i, 1)(h_i, 1)'`` of all columns and a column of ones, the last."""
        starts, n = self.places.starts, int(self.places.starts[-1])
        above = self._sums_above(sums)
        # the sums above two thresholds both: of one feature, above the larger one
        both = np.empty((n + 1, n + 1), np.int64)
        features, at = [j for j in range(len(starts) - 1) if starts[j + 1] > starts[j]], 0
        for k, j in enumerate(features):
            own = slice(starts[j], starts[j + 1])
            ranks = np.arange(starts[j], starts[j + 1])
            both[own, own] = above[np.maximum.outer(ranks, ranks)]
            for other in features[k + 1 :]:
                shape = int(starts[j + 1] - starts[j]) + 1, int(starts[other + 1] - starts[other]) + 1
                table = pairs[at : at + shape[0] * shape[1]].reshape(shape)
                at += table.size
                block = np.cumsum(np.cumsum(table[::-1, ::-1], axis=0), axis=1)[::-1, ::-1][1:, 1:]
                others = slice(starts[other], starts[other + 1])
                both[own, others], both[others, own] = block, block.T
        # of ones all is above: h h' = (2 a - 1)(2 a' - 1) = 4 a a' - 2 a - 2 a' + 1
        both[n, :n] = both[:n, n] = above
        both[n, n] = total
        ones = np.append(above, total)
        products = 4 * both - 2 * ones - 2 * ones[:, np.newaxis] + total
        slots, sign = np.append(self._slots, n), np.append(self.sign, 1.0)
        return np.ldexp(products[np.ix_(slots, slots)].astype(np.float64), exponent) * sign * sign[:, np.newaxis]


class Vote(NamedTuple):
    """Scores as staircases of the features: tables of values between places, and a constant."""

    places: Places
    tables: Array
    constant: float

    def scores(self, shard: Shard) -> Array:
        """Evaluate the scores of all rows."""
        return self.scores_of(self.intervals(shard))

    def intervals(self, shard: Shard) -> NDArray[np.uint16]:
        """Find where the rows are between the places."""
        return find_intervals(shard.values, shard.codes, self.places)

    def scores_of(self, intervals: NDArray[np.uint16]) -> Array:
        """Evaluate the scores of rows in these intervals."""
        return sum_scores(intervals, self.places.starts, self.tables, self.constant)


def of_shard(loss: Any, shard: Shard) -> Any:
    """Return a loss with the prices of a shard's rows."""
    return replace(loss, C=loss.C * shard.weights)


@dataclass(frozen=True, eq=False)
class InteriorHinge:
    """The smooth neighbour of C sum max(0, 1 - z_i) whose multipliers are inside of 0 < u < C, a logarithmic barrier.

    Its value is ``C sum max over p of p (1 - z_i) + d ln p + d ln(1 - p)`` with u = C p, so that its multipliers are
    feasible for the hinge and miss complementarity by at most d C each. It is self-concordant: Newton's method gets
    along with it at any distance d, and no sample is flat.
    """

    C: Any
    d: float

    def terms(self, z: Array) -> Array:
        """Evaluate the neighbour of every sample's loss."""
        linear, entropy = split_hinges(z, self.d)
        return self.C * (linear + self.d * np.log(entropy))

    def multipliers(self, z: Array) -> Array:
        """Return the multipliers u = C p of the samples at margins z."""
        return self.C * find_shares(z, self.d)

    def curvature(self, u: Array) -> Array:
        """Return ``C / (d / p^2 + d / (1 - p)^2)``."""
        p = u / self.C
        square, other = p * p, (1 - p) * (1 - p)
        return self.C / self.d * (square * other / (square + other))


@njit(cache=True, nogil=True, inline="always")
def split_share(z: float, d: float) -> tuple[float, float]:
    """Return p and 1 - p, the solution of d / p - d / (1 - p) = z - 1, both without cancellation."""
    # p = 2 d / (2 d + a + s) with a = z - 1 and s^2 = a^2 + 4 d^2; where a < 0, a + s = 4 d^2 / (s - a)
    a = z - 1.0
    far = math.sqrt(a * a + 4 * d * d) + abs(a)
    large, small = far / (far + 2 * d), 2 * d / (far + 2 * d)
    return (large, small) if a < 0 else (small, large)


@njit(cache=True, nogil=True)
def find_shares(z: Array, d: float) -> Array:
    """Return the shares p of the prices at margins z, in one go through the samples."""
    p = np.empty(len(z))
    for i in range(len(z)):
        p[i] = split_share(z[i], d)[0]
    return p


@njit(cache=True, nogil=True)
def split_hinges(z: Array, d: float) -> tuple[Array, Array]:
    """Return p (1 - z) and p (1 - p) of all samples."""
    linear, entropy = np.empty(len(z)), np.empty(len(z))
    for i in range(len(z)):
        p, q = split_share(z[i], d)
        linear[i], entropy[i] = p * (1.0 - z[i]), p * q
    return linear, entropy


class Doubt(NamedTuple):
    """Samples whose margins are nearly 1, by their cells, and the shares of their prices that they have as multipliers.

    A *cell* are the samples of a class in the same intervals of all features, which no column tells apart. The others
    have the multipliers that the hinge has beside its kink.
    """

    reach: float  # how far from 1 their margins are at most
    keys: Ints  # of cells, ascending
    shares: Array

    def find_shares(self, shard: Shard, intervals: NDArray[np.uint16], z: Array) -> Array:
        """Find the shares of the prices of all rows of a shard."""
        shares = (z < 1).astype(np.float64)
        near = np.flatnonzero(np.abs(z - 1) <= self.reach)
        keys = name_cells(np.ascontiguousarray(intervals[:, near]), shard.y[near])
        shares[near] = self.shares[np.searchsorted(self.keys, keys)]
        return shares


@njit(cache=True, nogil=True)
def name_cells(intervals: NDArray[np.uint16], y: Array) -> Ints:
    """Return a key for the cell of every row, of 64 bits that look like chance: no two cells share one."""
    keys = np.empty(len(y), np.int64)
    for i in range(len(y)):
        # farther apart than intervals are
        key = np.uint64(1 << 32 if y[i] > 0 else 0)
        for j in range(len(intervals)):
            # the finaliser of splitmix64, as in `shards.draw_rows`
            key = (key + np.uint64(intervals[j, i])) * np.uint64(0x9E3779B97F4A7C15)
            key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            key ^= key >> np.uint64(31)
        keys[i] = np.int64(key)
    return keys


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers of all samples as a function of a vote, and ``s = y u`` the signed weights that an oracle prices.

    They are those of a loss at the vote's margins, times a factor for either class, in whole units of 2**exponent; of
    the hinge, those beside its kink, and near it what is said of the samples in doubt.
    """

    vote: Vote
    loss: Any  # smooth, with one price for all samples of weight 1
    factors: tuple[float, float]  # of the samples with y = -1, of those with y = +1; at most 1
    exponent: int
    n_samples: int
    doubt: Doubt | None = None

    ndim = 1

    def __len__(self) -> int:
        return self.n_samples

    def evaluate(self, shard: Shard) -> Ints:
        """Return the signed weights of a shard's rows in units."""
        intervals, loss = self.vote.intervals(shard), of_shard(self.loss, shard)
        z = shard.y * self.vote.scores_of(intervals)
        if self.doubt is not None:
            return self.round(shard, loss.C * self.doubt.find_shares(shard, intervals, z))
        return self.round(shard, loss.multipliers(z))

    def round(self, shard: Shard, u: Array) -> Ints:
        """Return the signed weights of multipliers in units, which are rounded down."""
        if self.factors != (1.0, 1.0):
            u = u * np.where(shard.y > 0, self.factors[1], self.factors[0])
        units = np.ldexp(u, -self.exponent).astype(np.int64)
        return np.where(shard.y > 0, units, -units)

    def real(self, units: int) -> float:
        """Return a number of units as a float."""
        return ldexp(float(units), self.exponent)

    def raised(self, units: int) -> float:
        """Return a float that is at least so many units."""
        return nextafter(self.real(units), inf) if units else 0.0


class Stock(NamedTuple):
    """What a master learns of all shards at a vote: whole numbers and exact sums."""

    value: Ints  # of the loss
    smoothed: Ints  # of its smooth neighbour
    distance: Ints  # ``loss(z) + u'z - dual value``, which is 0 for multipliers of the loss itself
    of_classes: Ints  # (2, n_cells), the multipliers of either class by interval, in units
    totals: Ints  # (2,), of either class
    curvatures: Ints  # (n_cells,)
    curvature: Ints  # ()
    pairs: Ints  # the curvatures by pairs of intervals


def take_stock(shard: Shard, u: Multipliers, loss: Any, exponent: int) -> tuple[Ints, ...]:
    """Return the `Stock` of one shard; curvatures are in units of 2**exponent."""
    intervals = u.vote.intervals(shard)
    z = shard.y * u.vote.scores_of(intervals)
    smooth, own = of_shard(u.loss, shard), of_shard(loss, shard)
    multipliers, starts = smooth.multipliers(z), u.vote.places.starts
    signed = u.round(shard, multipliers)
    curvature = np.rint(np.ldexp(smooth.curvature(multipliers), -exponent)).astype(np.int64)
    curved = np.flatnonzero(curvature)
    bent = intervals if len(curved) == len(curvature) else np.ascontiguousarray(intervals[:, curved])
    return Stock(
        sum_exactly(own.terms(z)),
        sum_exactly(smooth.terms(z)),
        sum_exactly(own.terms(z) + multipliers * z - own.dual_terms(multipliers)),
        *sum_of_classes(intervals, starts, signed),
        sum_by_intervals(bent, starts, curvature[curved]),
        np.array(curvature.sum()),
        sum_by_pairs(bent, starts, curvature[curved]),
    )


def sum_edges(shard: Shard, u: Multipliers, places: Places) -> tuple[Ints, Ints]:
    """Return the multipliers of either class by interval, and in all, in units."""
    return sum_of_classes(find_intervals(shard.values, shard.codes, places), places.starts, u.evaluate(shard))


def sum_of_classes(intervals: NDArray[np.uint16], starts: Ints, signed: Ints) -> tuple[Ints, Ints]:
    """Return the sizes of signed weights of either class by interval, (2, n_cells), and in all, (2,)."""
    sides = [np.maximum(side * signed, 0) for side in (-1, 1)]
    by_interval = np.stack([sum_by_intervals(intervals, starts, side) for side in sides])
    return by_interval, np.array([side.sum() for side in sides])


def try_steps(shard: Shard, at: Vote, change: Vote, steps: Array, smooth: Any) -> Ints:
    """Return exact sums of losses at each of several steps along a change of a vote."""
    intervals = at.intervals(shard)
    z, dz = shard.y * at.scores_of(intervals), shard.y * change.scores_of(intervals)
    loss = of_shard(smooth, shard)
    return np.stack([sum_exactly(loss.terms(z + step * dz)) for step in steps])


def sum_losses(shard: Shard, vote: Vote, loss: Any) -> Ints:
    """Return the exact sum of the losses at a vote."""
    return sum_exactly(of_shard(loss, shard).terms(shard.y * vote.scores(shard)))


def sum_slopes(shard: Shard, at: Vote, smooth: Any) -> tuple[Ints, Ints]:
    """Return exact sums of the multipliers and of the curvatures at a vote, by which units are chosen."""
    loss = of_shard(smooth, shard)
    u = loss.multipliers(shard.y * at.scores(shard))
    return sum_exactly(u), sum_exactly(loss.curvature(u))


def sum_dual(shard: Shard, u: Multipliers, loss: Any, factor: float) -> Ints:
    """Return the exact sum of the loss's dual values at the multipliers times a factor."""
    units = np.abs(u.evaluate(shard)).astype(np.float64)
    return sum_exactly(np.asarray(of_shard(loss, shard).dual_terms(factor * np.ldexp(units, u.exponent))))


def find_slackness(shard: Shard, vote: Vote, u: Multipliers, loss: Any, factor: float) -> Array:
    """Return minus the largest complementary slackness of the rows, and minus what it is relative to, (2,)."""
    if not shard.n_rows:
        return np.zeros(2)
    own, z = of_shard(loss, shard), shard.y * vote.scores(shard)
    found = factor * np.ldexp(np.abs(u.evaluate(shard)).astype(np.float64), u.exponent)
    if own.curvature is None:
        return -np.array([own.slackness(z, found), 1.0])
    # of a smooth loss |u + loss'(z)|, relative to the largest slope, of all shards
    slopes = own.multipliers(z) / own.C
    return -np.array([np.abs(found / own.C - slopes).max(), slopes.max()])
