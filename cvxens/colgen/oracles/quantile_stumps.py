"""Decision stumps at quantiles of each feature: a finite set that does not grow with the sample."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from math import inf
from typing import Any

import numpy as np

from cvxens.colgen.oracles.bins import BinnedFeatures
from cvxens.colgen.oracles.kinds import Kinds
from cvxens.colgen.oracles.levels import LevelTests
from cvxens.colgen.protocols import Column, Priced
from cvxens.hypotheses import Constant, Hypothesis, LevelStump, Stump
from cvxens.problems.duality import row_sizes
from cvxens.rounding import EPSILON
from cvxens.trees import Feature
from cvxens.types import Array
from cvxens.validation import signed_weights, whole


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
        binned = BinnedFeatures.from_samples(kinds.X, n_bins, sample_weight=sample_weight, order="F", columns=columns)
        self.sample, self.codes = binned.sample, binned.codes
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        self.counts = binned.counts.tolist()
        of_features = kinds.check_sides(signs)
        self._ways = [kinds.ways(j) for j in kinds.numeric.tolist()]
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

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, and its negation too."""
        return isinstance(hypothesis, Constant | LevelStump) or (
            isinstance(hypothesis, Stump) and hypothesis.feature not in self._one_sided
        )

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best of the stumps and the constant, as `Oracle.price` says; rounding is in the bounds."""
        s = signed_weights(s, len(self.codes))
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
        edges = [np.zeros((0, s.shape[1]))]
        total = s.sum(axis=0)
        for k, (count, ways) in enumerate(zip(self.counts, self._ways, strict=True)):
            sums = np.stack([np.bincount(self.codes[:, k], output, minlength=count + 2) for output in s.T], axis=1)
            below, gone = np.cumsum(sums[:count], axis=0), sums[count + 1]
            # missing values count as below, as above, or not at all
            edges += [total - (1 - way) * gone - 2 * below for way in ways]
        return np.concatenate([*edges, self._tests.evaluate_all(s), total[np.newaxis]])

    def _column(self, k: int, edge: float, size: float) -> Column:
        return Column(replace(self.hypotheses[k], sign=1 if edge >= 0 else -1), self.sample, float(size))
