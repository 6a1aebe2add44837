"""Decision stumps at quantiles of each feature: a finite set that does not grow with the sample."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cvxens.colgen.oracles.levels import Kinds, LevelTests
from cvxens.colgen.oracles.pool import Votes, rank_edges
from cvxens.colgen.protocols import Priced
from cvxens.features import BinnedFeatures
from cvxens.hypotheses import Constant, Hypothesis, LevelStump, Stump
from cvxens.problems.maps import StepColumns
from cvxens.rounding import EPSILON
from cvxens.tables import Feature
from cvxens.types import Data, Given
from cvxens.validation import signed_weights, whole


class QuantileStumps(Votes):
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
    features, missing
        As for `Stumps`.

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

    def __init__(
        self,
        X: Data,
        *,
        n_thresholds: int = 32,
        columns_per_round: int = 50,
        signs: Given = None,
        sample_weight: Given = None,
        features: Sequence[Feature] | None = None,
        missing: str = "side",
    ) -> None:
        n_bins = whole("n_thresholds", n_thresholds) + 1
        kinds = Kinds.from_sample(X, features, missing)
        columns = None if kinds.plain else kinds.numeric.tolist()
        binned = BinnedFeatures(kinds.X, columns, n_bins=n_bins, sample_weight=sample_weight)
        self.sample, numeric = binned.X, kinds.numeric.tolist()
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        of_features = kinds.check_sides(signs)
        # of each feature, for every way, a stump for every threshold
        of_ways = [(k, way) for k, j in enumerate(numeric) for way in kinds.ways(j)]
        parts = [(k, place, way) for k, way in of_ways for place in range(binned.counts[k])]
        own, places, ways = np.array(parts, np.int64).reshape(-1, 3).T
        self._splits = StepColumns(binned.codes, binned.counts, own, places + 1, ways, usual=True)
        thresholds = [own.tolist() for own in binned.thresholds]
        self.hypotheses: list[Any] = [Stump(numeric[k], thresholds[k][place], 1, way) for k, place, way in parts]
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
    def columns(self) -> StepColumns | None:
        """All `hypotheses` as columns, without their array; None where some are tests of levels."""
        return self._splits if self._splits.shape[1] == self.n_hypotheses else None

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, and its negation too."""
        return isinstance(hypothesis, Constant | LevelStump) or (
            isinstance(hypothesis, Stump) and hypothesis.feature not in self._one_sided
        )

    def has(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, but for its sign."""
        return isinstance(hypothesis, Stump | LevelStump | Constant) and replace(hypothesis, sign=1) in self._names

    @cached_property
    def _names(self) -> set[Hypothesis]:
        return set(self.hypotheses)

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best of the stumps and the constant, as `Oracle.price` says; rounding is in the bounds."""
        s = signed_weights(s, self.sample.shape[0])
        # sum s - 2 sum_{x < threshold} s, the constant last
        splits = self._splits.edges(s)
        edges = np.concatenate([splits[:-1], self._tests.evaluate_all(s), splits[-1:]])
        # n terms in cumulated bins, their total, what is missing, a doubling, two differences: n eps sum|s| each
        rounding = 6 * len(s) * EPSILON * float(np.abs(s).sum(axis=0).max())
        given = edges, self.sides, rounding, exclude, row_norm
        return rank_edges(*given, embody=self._embody, sample=self.sample, limit=self.columns_per_round)

    def _embody(self, index: int, sign: int) -> Hypothesis:
        return replace(self.hypotheses[index], sign=sign)
