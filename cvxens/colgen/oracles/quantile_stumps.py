"""Decision stumps at quantiles of each feature: a finite set that does not grow with the sample."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from math import inf
from typing import Any

import numpy as np

from cvxens.colgen.protocols import Column, Priced
from cvxens.features import SortedFeatures, column
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.problems.duality import row_sizes
from cvxens.rounding import EPSILON
from cvxens.types import Array
from cvxens.validation import sample_prices, signed_weights, whole


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

    source = "LL08 section 4"
    negations = True
    largest = 1.0

    def __init__(
        self, X: Any, *, n_thresholds: int = 32, columns_per_round: int = 50, sample_weight: Any = None
    ) -> None:
        features = SortedFeatures(X)
        masses = None if sample_weight is None else sample_prices("sample_weight", sample_weight, features.n_samples)
        if masses is not None and (masses == masses[0]).all():
            masses = None
        limit = min(whole("n_thresholds", n_thresholds), 255)
        self.sample = features.X
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        by_feature = [_choose_thresholds(features, j, limit, masses) for j in range(features.n_features)]
        self.codes = np.empty(self.sample.shape, np.uint8, order="F")
        for j, thresholds in enumerate(by_feature):
            self.codes[:, j] = np.searchsorted(thresholds, np.asarray(column(self.sample, j), np.float64), side="right")
        self.places = [(j, threshold) for j, thresholds in enumerate(by_feature) for threshold in thresholds.tolist()]
        self.n_hypotheses = len(self.places) + 1
        self.counts = [len(thresholds) for thresholds in by_feature]

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best of the stumps and the constant, as `Oracle.price` says; rounding is in the bounds."""
        s = signed_weights(s, len(self.codes))
        edges = np.stack([self._edges(output) for output in s.T], axis=1)
        # n terms in cumulated bins, their total, the doubling and the difference: n eps sum|s| each at most
        rounding = 4 * len(s) * EPSILON * float(np.abs(s).sum(axis=0).max())
        sizes = row_sizes(edges, row_norm)
        signs = edges[np.arange(len(edges)), np.abs(edges).argmax(axis=1)]
        square_sum = float(((np.abs(edges) + rounding) ** 2).sum())
        if row_norm < inf:
            # every output is off by as much, and the norm by a few roundings for each
            rounding = rounding * s.shape[1] ** (1 / row_norm) + (s.shape[1] + 8) * EPSILON * float(sizes.max())
        known = {(h.feature, h.threshold) if isinstance(h, Stump) else None for h in exclude}
        ranked = np.argsort(-sizes, kind="stable").tolist()
        found = (k for k in ranked if (self.places[k] if k < len(self.places) else None) not in known)
        columns = [self._column(k, signs[k], sizes[k]) for k in islice(found, self.columns_per_round)]
        outside = columns[0].edge + rounding if columns else 0.0
        return Priced(columns, float(sizes.max()) + rounding, square_sum, outside)

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


def _choose_thresholds(features: SortedFeatures, feature: int, limit: int, masses: Array | None) -> Array:
    """Choose thresholds, ascending, that have the nearest to equal masses of samples between them."""
    places = features.places(feature)
    if len(places) > limit:
        total, below = _sum_masses(features, feature, masses)
        below = below[places - 1]
        wanted = np.arange(1, limit + 1) * total / (limit + 1)
        after = np.clip(np.searchsorted(below, wanted), 1, len(places) - 1)
        nearest = after - (wanted - below[after - 1] <= below[after] - wanted)
        places = places[np.unique(nearest)]
    return np.array([features.threshold(feature, place) for place in places.tolist()])


def _sum_masses(features: SortedFeatures, feature: int, masses: Array | None) -> tuple[float, Array]:
    """Return the mass of all samples, and its sums up to each sorted entry; `masses` None is 1 for each sample."""
    if masses is None:
        # without weights only the order of values counts, which is sorted already
        values = features.entry_values[features.entries(feature)]
        entries = np.ones(len(values))
        if features.has_zeros[feature]:
            entries[np.searchsorted(values, 0)] = features.n_samples - len(values) + 1
    else:
        # of sparse features one entry stands for all zeros, and has the mass that the others leave
        rows = features.ascending(feature)
        entries = np.append(masses, masses.sum() - masses[rows[rows < len(masses)]].sum())[rows]
    return float(entries.sum()), entries.cumsum()
