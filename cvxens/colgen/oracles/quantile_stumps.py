"""Decision stumps at quantiles of each feature: a finite set that does not grow with the sample."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from math import inf
from typing import Any

import numpy as np

from cvxens.colgen.oracles.bins import BinnedFeatures
from cvxens.colgen.oracles.stumps import check_sides
from cvxens.colgen.protocols import Column, Priced
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.problems.duality import row_sizes
from cvxens.rounding import EPSILON
from cvxens.types import Array
from cvxens.validation import signed_weights, whole


class QuantileStumps:
    """The middle stumps nearest to the quantiles of each feature, and the constant: the exact oracle over them.

    Penalties on squared weights spread them over all hypotheses that are nearly alike, so over the middle stumps of
    a large sample a certificate needs as many columns as there are samples. Over this set it needs few, and the
    ensembles are as good. A feature with at most `n_thresholds` middle stumps keeps them all.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite, at least one feature that varies.
    n_thresholds : int
        At most so many stumps per feature, 1 to 255.
    columns_per_round : int
        At most so many columns are returned, several of one feature among them.
    signs : array-like of shape (n_features,), optional
        +1 for stumps that rise with the feature alone, -1 for those that fall, 0 for both, as by default.
    sample_weight : array-like of shape (n_samples,), optional
        How much of the sample each row is, above 0, for the quantiles; by default 1.

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
    ) -> None:
        n_bins = whole("n_thresholds", n_thresholds) + 1
        binned = BinnedFeatures.from_samples(X, n_bins, sample_weight=sample_weight, order="F")
        self.sample, self.codes = binned.sample, binned.codes
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        self.places = [(j, threshold) for j, own in enumerate(binned.thresholds) for threshold in own.tolist()]
        self.n_hypotheses = len(self.places) + 1
        self.counts = binned.counts.tolist()
        of_features = check_sides(signs, binned.n_features)
        # of the constant there are both
        self.sides = np.append(np.repeat(of_features, self.counts), 0)
        self.negations = not of_features.any()
        self._one_sided = {j for j, side in enumerate(of_features.tolist()) if side}

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, and its negation too."""
        return isinstance(hypothesis, Constant) or (
            isinstance(hypothesis, Stump) and hypothesis.feature not in self._one_sided
        )

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best of the stumps and the constant, as `Oracle.price` says; rounding is in the bounds."""
        s = signed_weights(s, len(self.codes))
        edges = np.stack([self._edges(output) for output in s.T], axis=1)
        # n terms in cumulated bins, their total, the doubling and the difference: n eps sum|s| each at most
        rounding = 4 * len(s) * EPSILON * float(np.abs(s).sum(axis=0).max())
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
        known = {(h.feature, h.threshold) if isinstance(h, Stump) else None for h in exclude}
        ranked = np.argsort(-sizes, kind="stable").tolist()
        found = (k for k in ranked if (self.places[k] if k < len(self.places) else None) not in known)
        columns = [self._column(k, signs[k], sizes[k]) for k in islice(found, self.columns_per_round)]
        outside = columns[0].edge + rounding if columns else 0.0
        return Priced(columns, float(sizes.max()) + rounding, square_sum, outside, rising_square_sum=rising)

    def _edges(self, s: Array) -> Array:
        """Return the edges ``sum s - 2 sum_{x < threshold} s`` of every stump, and last that of the constant."""
        total = s.sum()
        below = [
            np.cumsum(np.bincount(self.codes[:, j], s, minlength=count + 1))[:count]
            for j, count in enumerate(self.counts)
        ]
        return np.append(total - 2 * np.concatenate(below), total)

    def _column(self, k: int, edge: float, size: float) -> Column:
        sign = 1 if edge >= 0 else -1
        hypothesis = Stump(*self.places[k], sign) if k < len(self.places) else Constant(sign)
        return Column(hypothesis, self.sample, float(size))
