"""Decision stumps at quantiles of each feature: a finite set that does not grow with the sample."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.colgen.oracles.kinds import Kinds
from cvxens.colgen.oracles.levels import LevelTests
from cvxens.colgen.protocols import Column, Priced
from cvxens.features import BinnedFeatures
from cvxens.hypotheses import Constant, Hypothesis, LevelStump, Stump
from cvxens.limits import map_slices, threads_for
from cvxens.problems.duality import row_sizes
from cvxens.rounding import EPSILON
from cvxens.tables import Feature
from cvxens.types import Array
from cvxens.validation import signed_weights, whole

Codes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]

BLOCK = 1024
"""Samples whose scores are added up together."""


@dataclass(frozen=True, eq=False)
class SplitColumns:
    """The stumps between the bins of features, and the constant last, as columns without their array.

    A product takes a look at every code, and works on those that are not the most frequent one of their feature: sums
    over bins are O(n_samples n_features) for each output, and less where, as in images, most values are alike.

    Examples
    --------
    >>> codes = np.array([[0], [1], [2]], np.uint8)
    >>> H = SplitColumns.from_bins(codes, [2], [(1,)])
    >>> H.scores(np.eye(3))
    array([[-1., -1.,  1.],
           [ 1., -1.,  1.],
           [ 1.,  1.,  1.]])
    """

    codes: Codes  # (n_features, n_samples), how many thresholds are at or below each value; one more: missing
    counts: Ints  # the thresholds of each feature
    # of every stump its feature, the place of its threshold from 0 on, and its value where the feature's is missing
    features: Ints
    places: Ints
    ways: Ints
    usual: Ints  # the most frequent code of each feature
    largest = 1.0

    @classmethod
    def from_bins(cls, codes: Codes, counts: Any, ways: Sequence[Sequence[int]]) -> SplitColumns:
        """Make columns of codes (n_samples, n_features): of each feature, for every way, one for every threshold."""
        parts = [(k, count, way) for k, (count, own) in enumerate(zip(counts, ways, strict=True)) for way in own]
        # there may be none, where all features are nominal
        features, times, sides = np.array(parts, np.int64).reshape(-1, 3).T
        places = np.concatenate([np.arange(0), *(np.arange(count) for count in times)])
        of_stump = features.repeat(times), places, sides.repeat(times)
        usual = np.array([np.bincount(own).argmax() for own in codes.T], np.int64)
        return cls(np.ascontiguousarray(codes.T), np.asarray(counts, np.int64), *of_stump, usual)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n_samples, n_columns) of H."""
        return self.codes.shape[1], len(self.features) + 1

    @property
    def _width(self) -> int:
        """The bins of a feature, that of missing values among them."""
        return int(self.counts.max(initial=0)) + 2

    def scores(self, w: Array) -> Array:
        """Evaluate H w, for w (n_columns,) or (n_columns, n_outputs)."""
        w, shape = np.ascontiguousarray(w.reshape(len(w), -1), np.float64), w.shape[1:]
        # g(code) = 2 sum_(place < code) w - sum w, the staircase of a feature; where its value is missing, sum way w
        table = np.zeros((len(self.codes), self._width, w.shape[1]))
        np.add.at(table, (self.features, self.places + 1), w[:-1])
        total, table = table.sum(axis=1), 2 * np.cumsum(table, axis=1)
        table -= total[:, np.newaxis]
        missing = np.zeros_like(total)
        np.add.at(missing, self.features, self.ways[:, np.newaxis] * w[:-1])
        every = np.arange(len(table))
        table[every, self.counts + 1] = missing
        base = table[every, self.usual]
        table -= base[:, np.newaxis]
        n = self.shape[0]

        def add(rows: slice) -> Array:
            return add_staircases(self.codes, self.usual, table, rows.start, rows.stop)

        parts = map_slices(add, n, threads_for(self.codes.size * w.shape[1]))
        return (np.concatenate(parts) + (base.sum(axis=0) + w[-1])).reshape(n, *shape)

    def edges(self, s: Array) -> Array:
        """Evaluate H's, for s (n_samples,) or (n_samples, n_outputs)."""
        s, shape = np.ascontiguousarray(s.reshape(len(s), -1), np.float64), s.shape[1:]

        def add(features: slice) -> Array:
            return sum_in_bins(self.codes, self.usual, s, features.start, features.stop, self._width)

        found = map_slices(add, len(self.codes), threads_for(self.codes.size * s.shape[1]))
        sums = np.concatenate([np.zeros((0, self._width, s.shape[1])), *found])
        total, every = s.sum(axis=0), np.arange(len(sums))
        sums[every, self.usual] = total - sums.sum(axis=1)
        below, gone = np.cumsum(sums, axis=1), sums[every, self.counts + 1][self.features]
        # missing values count as below, as above, or not at all
        edges = total - (1 - self.ways[:, np.newaxis]) * gone - 2 * below[self.features, self.places]
        return np.concatenate([edges, total[np.newaxis]]).reshape(-1, *shape)

    def link(self, w: Any) -> tuple[Any, list[Any]]:
        """Return H w for a cvxpy expression, from the array H."""
        return self.scores(np.eye(self.shape[1])) @ w, []


@njit(cache=True, nogil=True)
def sum_in_bins(codes: Codes, usual: Ints, s: Array, start: int, stop: int, n_bins: int) -> Array:
    """Return the sums of s (n_samples, n_outputs) over all bins but the usual ones of features from one to another."""
    sums = np.zeros((stop - start, n_bins, s.shape[1]))
    for k in range(start, stop):
        for i in range(s.shape[0]):
            code = codes[k, i]
            if code != usual[k]:
                for output in range(s.shape[1]):
                    sums[k - start, code, output] += s[i, output]
    return sums


@njit(cache=True, nogil=True)
def add_staircases(codes: Codes, usual: Ints, table: Array, start: int, stop: int) -> Array:
    """Return the sums over features of table[feature, code] (n_outputs,), 0 at the usual code."""
    f = np.zeros((stop - start, table.shape[2]))
    # so many samples at a time stay in a cache
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        for k in range(codes.shape[0]):
            for i in range(first, last):
                code = codes[k, i]
                if code != usual[k]:
                    for output in range(table.shape[2]):
                        f[i - start, output] += table[k, code, output]
    return f


class QuantileStumps:
    """The middle stumps nearest to the quantiles of each feature, and the constant: the exact oracle over them.

    Penalties on squared weights spread them over all hypotheses that are nearly alike, so over the middle stumps of
    a large sample a certificate needs as many columns as there are samples. Over this set it needs few, and the
    ensembles are as good. A feature with at most `n_thresholds` middle stumps keeps them all. Missing values and
    nominal features are as in `Stumps`, the levels one against the rest.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite, or NaN where missing, at least one feature that varies.
    n_thresholds : int
        At most so many stumps per feature, 1 to 255, or 254 where values are missing.
    columns_per_round : int
        At most so many columns are returned, several of one feature among them.
    signs : array-like of shape (n_features,), optional
        +1 for stumps that rise with the feature alone, -1 for those that fall, 0 for both, as by default.
    sample_weight : array-like of shape (n_samples,), optional
        How much of the sample each row is, above 0, for the quantiles; by default 1.
    features : sequence of Feature, optional
        What the columns are, as for `Stumps`.
    missing : {"side", "zero"}
        What stumps are where the value is missing, as for `Stumps`.

    Examples
    --------
    >>> X = np.arange(100.0)[:, None]
    >>> priced = QuantileStumps(X, n_thresholds=3).price(np.where(X[:, 0] < 60, -1.0, 1.0))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 49.5 -> +1 80.0
    x[0] >= 74.5 -> +1 70.0
    x[0] >= 24.5 -> +1 30.0
    always -> -1 20.0
    """

    source = "ours: some of the middle stumps of LL08 section 4.2"
    largest = 1.0

    def __init__(
        self,
        X: Any,
        *,
        n_thresholds: int = 32,
        columns_per_round: int = 50,
        signs: Any = None,
        sample_weight: Any = None,
        features: Sequence[Feature] | None = None,
        missing: str = "side",
    ) -> None:
        n_bins = whole("n_thresholds", n_thresholds) + 1
        kinds = Kinds.from_sample(X, features, missing)
        columns = None if kinds.plain else kinds.numeric.tolist()
        binned = BinnedFeatures(kinds.X, columns, n_bins=n_bins, sample_weight=sample_weight)
        self.sample, self.codes = binned.X, binned.codes.T
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        of_features = kinds.check_sides(signs)
        self._ways = [kinds.ways(j) for j in kinds.numeric.tolist()]
        self._splits = SplitColumns.from_bins(self.codes, binned.counts, self._ways)
        self.hypotheses: list[Any] = [
            Stump(j, threshold, 1, way)
            for j, own, ways in zip(kinds.numeric.tolist(), binned.thresholds, self._ways, strict=True)
            for way in ways
            for threshold in own.tolist()
        ]
        sides = [of_features[stump.feature] for stump in self.hypotheses]
        self._tests = LevelTests(kinds, subsets=False)
        self.hypotheses += self._tests.list_all()
        kinds.check_variation(len(self.hypotheses))
        self.hypotheses.append(Constant(1))
        # of tests of levels and of the constant there are both
        self.sides = np.append(sides, np.zeros(len(self.hypotheses) - len(sides), np.int64)).astype(np.int64)
        self.n_hypotheses = len(self.hypotheses)
        self.negations = not of_features.any()
        self._one_sided = {j for j, side in enumerate(of_features.tolist()) if side}

    @property
    def columns(self) -> SplitColumns | None:
        """All `hypotheses` as columns, without their array; None where some are tests of levels."""
        return self._splits if self._splits.shape[1] == self.n_hypotheses else None

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, and its negation too."""
        return isinstance(hypothesis, Constant | LevelStump) or (
            isinstance(hypothesis, Stump) and hypothesis.feature not in self._one_sided
        )

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best of the stumps and the constant, as `Oracle.price` says; rounding is in the bounds."""
        s = signed_weights(s, self.sample.shape[0])
        edges = self._edges(s)
        # n terms in cumulated bins, their total, what is missing, a doubling, two differences: n eps sum|s| each
        rounding = 6 * len(s) * EPSILON * float(np.abs(s).sum(axis=0).max())
        sizes = row_sizes(edges, row_norm)
        signs = edges[np.arange(len(edges)), np.abs(edges).argmax(axis=1)]
        square_sum = float(((np.abs(edges) + rounding) ** 2).sum())
        of_side = self.sides[:, np.newaxis] * edges
        counted = np.where(self.sides[:, np.newaxis] == 0, np.abs(edges), of_side)
        rising = float((np.maximum(counted + rounding, 0) ** 2).sum())
        if row_norm == inf and not self.negations:
            # a norm knows no sides: weights over several outputs have either sign
            sizes, signs = counted.max(axis=1), np.where(self.sides == 0, signs, self.sides)
        if row_norm < inf:
            # every output is off by as much, and the norm by a few roundings for each
            rounding = rounding * s.shape[1] ** (1 / row_norm) + (s.shape[1] + 8) * EPSILON * float(sizes.max())
        known = {replace(h, sign=1) for h in exclude if isinstance(h, Stump | LevelStump | Constant)}
        ranked = np.argsort(-sizes, kind="stable").tolist()
        found = (k for k in ranked if self.hypotheses[k] not in known)
        columns = [self._column(k, signs[k], sizes[k]) for k in islice(found, self.columns_per_round)]
        outside = columns[0].edge + rounding if columns else 0.0
        return Priced(columns, float(sizes.max()) + rounding, square_sum, outside, rising_square_sum=rising)

    def _edges(self, s: Array) -> Array:
        """Return the edges ``sum s - 2 sum_{x < threshold} s`` of all hypotheses, the constant last, (., n_outputs)."""
        edges = self._splits.edges(s)
        return np.concatenate([edges[:-1], self._tests.evaluate_all(s), edges[-1:]])

    def _column(self, k: int, edge: float, size: float) -> Column:
        return Column(replace(self.hypotheses[k], sign=1 if edge >= 0 else -1), self.sample, float(size))
