"""Decision stumps at quantiles of each feature: a finite set that does not grow with the sample."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from cvxens.colgen import Column, Hypothesis, Priced
from cvxens.colgen.oracles import Stump, Stumps
from cvxens.features import SortedFeatures, column
from cvxens.types import Array
from cvxens.validation import whole


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
    columns_per_round : int, optional
        At most so many columns are returned; None for the best stump of every feature.

    Examples
    --------
    >>> X = np.arange(100.0)[:, None]
    >>> priced = QuantileStumps(X, n_thresholds=3).price(np.where(X[:, 0] < 60, -1.0, 1.0))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 49.5 -> +1 80.0
    always -> -1 20.0
    """

    def __init__(self, X: Any, *, n_thresholds: int = 32, columns_per_round: int | None = None) -> None:
        features = SortedFeatures(X)
        limit = min(whole("n_thresholds", n_thresholds), 255)
        self.X = features.X
        self.thresholds = [_spaced(features, j, limit) for j in range(features.n_features)]
        codes = np.empty(self.X.shape, np.uint8)
        for j, thresholds in enumerate(self.thresholds):
            codes[:, j] = np.searchsorted(thresholds, np.asarray(column(self.X, j), np.float64), side="right")
        self.stumps = Stumps(codes, columns_per_round=columns_per_round)

    def price(self, s: Any, /, inside: Collection[Hypothesis] = ()) -> Priced:
        """Price every such stump under signed weights s = y u.

        Parameters
        ----------
        s : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Finite; all zeros is allowed.
        inside : collection of Hypothesis
            Hypotheses not to be returned, of either sign. They count in the bounds.

        Returns
        -------
        Priced
            The best stump of each feature and the constant, with exact `edge_bound` and `edge_square_sum`.
        """
        priced = self.stumps.price(s, [self._coded(h) if isinstance(h, Stump) else h for h in inside])
        return replace(priced, columns=[Column(self._decoded(c.hypothesis), self.X, c.edge) for c in priced.columns])

    def _coded(self, stump: Stump) -> Stump:
        return replace(stump, threshold=float(np.searchsorted(self.thresholds[stump.feature], stump.threshold)) + 0.5)

    def _decoded(self, coded: Any) -> Hypothesis:
        if not isinstance(coded, Stump):
            return coded
        return replace(coded, threshold=float(self.thresholds[coded.feature][int(coded.threshold)]))


def _spaced(features: SortedFeatures, feature: int, limit: int) -> Array:
    """The thresholds, ascending, that have the nearest to equal numbers of entries between them."""
    places = features.places(feature)
    if len(places) > limit:
        n_entries = features.starts[feature + 1] - features.starts[feature]
        wanted = np.arange(1, limit + 1) * n_entries / (limit + 1)
        after = np.clip(np.searchsorted(places, wanted), 1, len(places) - 1)
        nearest = after - (wanted - places[after - 1] <= places[after] - wanted)
        places = places[np.unique(nearest)]
    return np.array([features.threshold(feature, place) for place in places.tolist()])
