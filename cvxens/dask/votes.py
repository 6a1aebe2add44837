"""Weighted votes of stumps as shards evaluate them, and multipliers as functions of a vote.

A vote over many stumps is a staircase of every feature: one table of values between its places. A master's multipliers
``u = -loss'(z)`` are a function of a vote, so it is the vote that is sent around, not they; and they are whole numbers
of units, rounded down, so that sums over them are exact and every u is within the bounds that its loss puts on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from cvxens.dask.shards import Shard, ShardedSample, mix
from cvxens.dask.tallies import Places, add, sum_by_cells, sum_by_pairs, sum_exactly, sum_of_signs, sum_scores
from cvxens.errors import InvalidInput
from cvxens.features import Codes, FixedPoint, Ints
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.types import Array, Numbers

LEVELS = 1024
"""Distances of margins from 1 are told apart by their exponents, from 2**-60 on, and three more bits: levels."""

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


@dataclass(frozen=True, eq=False)
class VotedStumps:
    """The stumps of a master, by their thresholds among all; a constant has the feature -1, and a number beyond."""

    places: Places
    feature: Ints  # (n_columns,)
    number: Ints  # (n_columns,), of the threshold
    sign: Array  # (n_columns,)

    @classmethod
    def from_hypotheses(cls, hypotheses: Sequence[Hypothesis], sample: ShardedSample) -> VotedStumps:
        """Return the stumps of hypotheses; `InvalidInput` if there are others."""
        known: list[tuple[int, float, int]] = []
        for hypothesis in hypotheses:
            if not isinstance(hypothesis, Stump | Constant):
                raise InvalidInput("oracle", f"found {hypothesis!r:.100}", "give an oracle of stumps")
            own = (hypothesis.feature, hypothesis.threshold) if isinstance(hypothesis, Stump) else (-1, 0.0)
            known.append((*own, hypothesis.sign))
        feature, threshold, sign = np.array(known, np.float64).reshape(-1, 3).T
        lists = [np.unique(threshold[feature == j]) for j in range(sample.shape[1])]
        # where the thresholds of each feature start, and where a constant is
        starts = np.append(0, np.cumsum([len(own) for own in lists])).tolist()
        number = [starts[j] + int(np.searchsorted(lists[j], t)) if j >= 0 else starts[-1] for j, t, _ in known]
        return cls(sample.place(lists), feature.astype(np.int64), np.array(number, np.int64), sign)

    @property
    def first_above(self) -> Ints:
        """The first cell above the threshold of each stump, among those of all features."""
        return self.number + self.feature + 1

    def vote(self, w: Array, b: float) -> Vote:
        """Return the vote of weights and an intercept, ``f = b + sum_j w_j h_j``, as staircases."""
        cells, signed, is_stump = self.places.cells, w * self.sign, self.feature >= 0
        tables = np.zeros(cells[-1])
        # twice the weight more above each place, and minus the sum of all below the first
        np.add.at(tables, self.first_above[is_stump], 2 * signed[is_stump])
        for j in self.places.features:
            own = slice(cells[j], cells[j + 1])
            tables[own] = np.cumsum(tables[own]) - signed[self.feature == j].sum()
        return Vote(self.places, tables, b + float(signed[~is_stump].sum()))

    def evaluate(self, codes: Codes) -> Array:
        """Evaluate all stumps on rows in these cells, (n_columns, n_rows)."""
        above = codes[self.feature] >= (self.first_above - self.places.cells[self.feature])[:, np.newaxis]
        return self.sign[:, np.newaxis] * np.where(above | (self.feature < 0)[:, np.newaxis], 1.0, -1.0)

    def edges(self, of_classes: Numbers, totals: Numbers, exponent: int) -> Array:
        """Return the edges of all columns from the sums of signed weights of either class, by cell and in all."""
        counted = self.count_edges(of_classes.sum(axis=0), totals.sum())
        return np.ldexp(counted.astype(np.float64), exponent)

    def count_edges(self, sums: Numbers, total: Any) -> Numbers:
        """Return the edges in the units of the sums, ``sign (2 above - total)``; of a constant all is above."""
        twice = np.append(2 * self._sums_above(sums), 2 * total)[self.number]
        return self.sign.astype(sums.dtype) * (twice - total)

    def _sums_above(self, sums: Numbers) -> Numbers:
        """Return the sum at and above every threshold, (n_thresholds,)."""
        cells = self.places.cells
        own = (np.cumsum(sums[cells[j] : cells[j + 1]][::-1])[::-1][1:] for j in self.places.features)
        return np.concatenate([np.zeros(0, np.int64), *own])

    def gram(self, sums: Ints, pairs: Ints, total: int, exponent: int) -> Array:
        """Return ``sum_i c_i (h_i, 1)(h_i, 1)'`` of all columns and a column of ones, the last."""
        above, features, at = self._sums_above(sums), self.places.features, 0
        n = len(above)
        # the sums above two thresholds both: of one feature, above the larger one
        both = np.empty((n + 1, n + 1), np.int64)
        for k, j in enumerate(features):
            own = self.places.of_feature(j)
            ranks = np.arange(n)[own]
            both[own, own] = above[np.maximum.outer(ranks, ranks)]
            for other in features[k + 1 :]:
                others = self.places.of_feature(other)
                shape = len(ranks) + 1, others.stop - others.start + 1
                table = pairs[at : at + shape[0] * shape[1]].reshape(shape)
                at += table.size
                block = np.cumsum(np.cumsum(table[::-1, ::-1], axis=0), axis=1)[::-1, ::-1][1:, 1:]
                both[own, others], both[others, own] = block, block.T
        # of ones all is above: h h' = (2 a - 1)(2 a' - 1) = 4 a a' - 2 a - 2 a' + 1
        ones = np.append(above, total)
        both[n], both[:, n] = ones, ones
        products = 4 * both - 2 * ones - 2 * ones[:, np.newaxis] + total
        number, sign = np.append(self.number, n), np.append(self.sign, 1.0)
        return np.ldexp(products[np.ix_(number, number)].astype(np.float64), exponent) * sign * sign[:, np.newaxis]


class Vote(NamedTuple):
    """Scores as staircases of the features: tables of values between places, and a constant."""

    places: Places
    tables: Array
    constant: float

    def scores(self, codes: Codes) -> Array:
        """Evaluate the scores of rows in these cells."""
        return sum_scores(codes, self.places.cells, self.tables, self.constant)

    def margins(self, shard: Shard) -> tuple[Codes, Array]:
        """Return the cells of a shard's rows, and their margins."""
        codes = shard.find_cells(self.places)
        return codes, shard.y * self.scores(codes)


def count_near(z: Array) -> Ints:
    """Return the numbers of margins by the level of their distance from 1, (LEVELS,)."""
    # exponents have 11 bits behind the sign, three more make 14
    levels = (np.abs(1 - z).view(np.int64) >> (63 - 14)) - ((1023 - 60) << 3)
    return np.bincount(np.clip(levels, 0, LEVELS - 1), minlength=LEVELS).astype(np.int64)


def count_margins(shard: Shard, vote: Vote) -> Ints:
    """Return the numbers of a shard's margins by the level of their distance from 1."""
    return count_near(vote.margins(shard)[1])


def choose_reach(counts: Ints, wanted: int) -> float:
    """Choose a distance from 1 below which there are at most so many margins, as far as levels tell them apart.

    Examples
    --------
    >>> counts = np.zeros(LEVELS, np.int64)
    >>> counts[[400, 500]] = 7, 9
    >>> choose_reach(counts, 6) < choose_reach(counts, 8) < choose_reach(counts, 16)
    True
    """
    level = max(int(np.searchsorted(np.cumsum(counts), wanted, side="right")), 1)
    # the least distance of the first level that is too many, or of the second one: 2^(level/8 - 60) where 8 divides it
    return float(np.int64((level + ((1023 - 60) << 3)) << (63 - 14)).view(np.float64)) if level < LEVELS else inf


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

    Samples of a class in the same cells of all features, which no column tells apart, are one. The others have the
    multipliers that the hinge has beside its kink.
    """

    reach: float  # how far from 1 their margins are at most
    keys: Ints  # of cells, ascending
    shares: Array

    def find_shares(self, shard: Shard, codes: Codes, z: Array) -> Array:
        """Find the shares of the prices of all rows of a shard."""
        shares = (z < 1).astype(np.float64)
        near = np.flatnonzero(np.abs(z - 1) <= self.reach)
        keys = name_cells(np.ascontiguousarray(codes[:, near]), shard.y[near])
        shares[near] = self.shares[np.searchsorted(self.keys, keys)]
        return shares


def name_cells(codes: Codes, y: Array) -> Ints:
    """Return a key for the cell of every row, of 64 bits that look like chance: no two cells share one."""
    # farther apart than cells are
    keys = np.where(y > 0, 1 << 32, 0).astype(np.uint64)
    for own in codes:
        keys = mix(keys + own)
    return keys.view(np.int64)


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers of all samples as a function of a vote, and ``s = y u`` the signed weights that an oracle prices.

    They are those of a loss at the vote's margins, times a factor for either class, in whole units of 2**exponent; of
    the hinge, those beside its kink, and near it what is said of the samples in doubt.
    """

    vote: Any  # with the `margins` of a shard, such as `Vote` has
    loss: Any  # one with `multipliers`, and one price for all samples of weight 1
    factors: tuple[float, float]  # of the samples with y = -1, of those with y = +1; at most 1
    exponent: int
    doubt: Doubt | None = None

    ndim = 1
    error = 0

    def ask(self, sample: ShardedSample, question: Any, *told: Any, combine: Any = add) -> Any:
        """Ask all shards about their signed weights."""
        return sample.map_reduce(question, self, *told, combine=combine)

    def evaluate(self, shard: Shard) -> Ints:
        """Return the signed weights of a shard's rows in units."""
        codes, z = self.vote.margins(shard)
        loss = of_shard(self.loss, shard)
        shares = None if self.doubt is None else self.doubt.find_shares(shard, codes, z)
        return self.round(shard, loss.multipliers(z) if shares is None else loss.C * shares)

    def round(self, shard: Shard, u: Array) -> Ints:
        """Return the signed weights of multipliers in units, which are rounded down."""
        if self.factors != (1.0, 1.0):
            u = u * np.where(shard.y > 0, self.factors[1], self.factors[0])
        units = np.ldexp(u, -self.exponent).astype(np.int64)
        return np.where(shard.y > 0, units, -units)

    real: ClassVar[Any] = FixedPoint.real
    raised: ClassVar[Any] = FixedPoint.raised


class GivenWeights(FixedPoint):
    """Signed weights that came as an array: each shard is handed its own with the question."""

    def ask(self, sample: ShardedSample, question: Any, *told: Any, combine: Any = add) -> Any:
        """Ask all shards about their signed weights."""
        ends = np.cumsum(sample.counts)[:-1]
        own = [self._replace(integers=each) for each in np.split(self.integers, ends, axis=1)]
        return sample.map_reduce(question, *told, each=own, combine=combine)

    def evaluate(self, shard: Shard) -> Ints:
        """Return the signed weights of the rows of the shard that was handed these."""
        return self.integers[0]


def read_weights(s: ArrayLike, sample: ShardedSample) -> Any:
    """Return signed weights that shards can be asked about: multipliers, or those of an array."""
    return s if isinstance(s, Multipliers) else GivenWeights.from_weights(s, len(sample))


class ShardEvaluation(NamedTuple):
    """What a master learns of all shards at a vote: whole numbers and exact sums."""

    value: Ints  # of the loss
    smoothed: Ints  # of its smooth neighbour
    distance: Ints  # ``loss(z) + u'z - dual value``, which is 0 for multipliers of the loss itself
    of_classes: Ints  # (2, n_cells), the signed weights of y = -1 and of y = +1 by cell, in units
    totals: Ints  # (2,), in all
    curvatures: Ints  # (n_cells,)
    curvature: Ints  # ()
    pairs: Ints  # the curvatures by pairs of cells


def evaluate_shard(shard: Shard, u: Multipliers, loss: object, exponent: int) -> tuple[Ints, ...]:
    """Return the `ShardEvaluation` of one shard; curvatures are in units of 2**exponent."""
    codes, z = u.vote.margins(shard)
    smooth, own, cells = of_shard(u.loss, shard), of_shard(loss, shard), u.vote.places.cells
    multipliers = smooth.multipliers(z)
    curvature = np.rint(np.ldexp(smooth.curvature(multipliers), -exponent)).astype(np.int64)
    curved = np.flatnonzero(curvature)
    bent = codes if len(curved) == len(curvature) else np.ascontiguousarray(codes[:, curved])
    return ShardEvaluation(
        sum_exactly(own.terms(z)),
        sum_exactly(smooth.terms(z)),
        sum_exactly(own.terms(z) + multipliers * z - own.dual_terms(multipliers)),
        *sum_of_classes(codes, cells, u.round(shard, multipliers)),
        sum_by_cells(bent, cells, curvature[curved])[0],
        np.array(curvature.sum()),
        sum_by_pairs(bent, cells, curvature[curved]),
    )


def sum_edges(shard: Shard, u: Multipliers, places: Places) -> tuple[Ints, Ints]:
    """Return the signed weights of either class by cell, and in all, in units."""
    return sum_of_classes(shard.find_cells(places), places.cells, u.evaluate(shard))


def sum_of_classes(codes: Codes, cells: Ints, signed: Ints) -> tuple[Ints, Ints]:
    """Return the sums of the signed weights of y = -1 and of y = +1 by cell, (2, n_cells), and in all, (2,)."""
    return sum_by_cells(codes, cells, signed)[::-1], sum_of_signs(signed)


def measure_along(shard: Shard, at: Vote, change: Vote, steps: Array, smooth: object) -> Ints:
    """Return exact sums of losses at each of several steps along a change of a vote."""
    codes, z = at.margins(shard)
    dz, loss = shard.y * change.scores(codes), of_shard(smooth, shard)
    return np.stack([sum_exactly(loss.terms(z + step * dz)) for step in steps])


def sum_losses(shard: Shard, vote: Vote, loss: object) -> Ints:
    """Return the exact sum of the losses at a vote."""
    return sum_exactly(of_shard(loss, shard).terms(vote.margins(shard)[1]))


def sum_slopes(shard: Shard, at: Vote, smooth: object) -> tuple[Ints, Ints]:
    """Return exact sums of the multipliers and of the curvatures at a vote, by which units are chosen."""
    loss = of_shard(smooth, shard)
    u = loss.multipliers(at.margins(shard)[1])
    return sum_exactly(u), sum_exactly(loss.curvature(u))


def sum_dual(shard: Shard, u: Multipliers, loss: object, factor: float) -> Ints:
    """Return the exact sum of the loss's dual values at the multipliers times a factor."""
    units = np.abs(u.evaluate(shard)).astype(np.float64)
    return sum_exactly(np.asarray(of_shard(loss, shard).dual_terms(factor * np.ldexp(units, u.exponent))))


def find_slackness(shard: Shard, vote: Vote, u: Multipliers, loss: object, factor: float) -> Array:
    """Return minus the largest complementary slackness of the rows, and minus what it is relative to, (2,)."""
    if not shard.n_rows:
        return np.zeros(2)
    own, (_, z) = of_shard(loss, shard), vote.margins(shard)
    found = factor * np.ldexp(np.abs(u.evaluate(shard)).astype(np.float64), u.exponent)
    if own.curvature is None:
        return -np.array([own.slackness(z, found), 1.0])
    # of a smooth loss |u + loss'(z)|, relative to the largest slope, of all shards
    slopes = own.multipliers(z) / own.C
    return -np.array([np.abs(found / own.C - slopes).max(), slopes.max()])
