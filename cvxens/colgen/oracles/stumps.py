"""Decision stumps as an exact oracle: every threshold of every feature is priced in one pass."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection
from math import inf
from typing import Any

import numpy as np

from cvxens.colgen.oracles.fixed_point import FixedPoint
from cvxens.colgen.oracles.stump_search import Best, Query, StumpSearch
from cvxens.colgen.protocols import Column, Priced
from cvxens.features import SortedFeatures
from cvxens.hypotheses import Constant, Hypothesis, Stump
from cvxens.validation import whole


class Stumps:
    """All middle stumps of a sample, and the constant: the exact oracle over this finite set.

    A middle stump separates two neighbouring distinct values of one feature halfway (LL08). Its edge is
    ``sum_i s_i - 2 sum_{i: x_i < threshold} s_i``, so one pass over each sorted feature prices them all,
    and bins spare most of that pass unless the sum of squared edges is wanted.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite, at least one feature that varies; sparse X and small integers stay what they are.
    constant : bool
        Whether h(x) = 1 and h(x) = -1 belong to the set.
    columns_per_round : int or None
        At most so many columns are returned; None for the best stump of every feature.
    square_sum : bool
        Whether `Priced.edge_square_sum` is wanted, as penalties on the squared weights need it for their
        bound. Without it (inf is returned) features of more than 256 distinct values are priced faster.

    Examples
    --------
    >>> X = [[0.0, 5.0], [1.0, 3.0], [2.0, 4.0]]
    >>> priced = Stumps(X).price(np.array([-0.2, 0.3, 0.5]))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 0.5 -> +1 1.0
    x[1] >= 4.5 -> -1 1.0
    always -> +1 0.6
    """

    source = "LL08 section 4; DBS02"

    def __init__(
        self, X: Any, *, constant: bool = True, columns_per_round: int | None = None, square_sum: bool = True
    ) -> None:
        self.features = SortedFeatures(X)
        self.constant = constant
        every = self.features.n_features + 1
        self.columns_per_round = every if columns_per_round is None else whole("columns_per_round", columns_per_round)
        self.square_sum = square_sum
        self.n_stumps = int((self.features.n_distinct - 1).sum()) + constant
        self._search = StumpSearch(self.features, every_place=square_sum)

    @property
    def sample(self) -> Any:
        """What its hypotheses are evaluated on."""
        return self.features.X

    def price(self, s: Any, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Price every stump under signed weights s = y u.

        Parameters
        ----------
        s : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Finite; all zeros is allowed.
        exclude : collection of Hypothesis
            Hypotheses not to be returned, of either sign, as they are in the master already. They count in the bounds.

        Returns
        -------
        Priced
            The best stump of each feature that varies (over all outputs) and the constant, best first; of
            equal edges the lowest feature and threshold, the constant last. `edge_bound` exceeds the
            largest edge by what the rounding of `s` to fixed point can have cost, at most
            ``n_samples * 2**-60 * sum |s|``. `edge_square_sum` is an upper bound that is sharp to about
            ``n_samples * 2**-52``.
        """
        weights = FixedPoint.from_weights(s, self.features.n_samples)
        best = self._search.best(self._query(weights, exclude), self.columns_per_round)
        ranked = np.flatnonzero(best.places)
        ranked = ranked[np.argsort(-np.abs(best.edges[ranked]), kind="stable")][: self.columns_per_round]
        found: list[tuple[int, Hypothesis]] = [(abs(int(best.edges[j])), self._stump(j, best)) for j in ranked.tolist()]
        total = int(weights.totals[np.abs(weights.totals).argmax()])
        if self.constant and not {Constant(1), Constant(-1)} & set(exclude):
            insort(found, (abs(total), Constant(1 if total >= 0 else -1)), key=lambda pair: -pair[0])
        columns = [
            Column(hypothesis, self.features.X, weights.real(edge))
            for edge, hypothesis in found[: self.columns_per_round]
        ]
        largest = max(int(best.largest.max()), abs(total) * self.constant)
        outside = weights.bound(found[0][0] if found else 0)
        return Priced(columns, weights.bound(largest), self._square_sum(weights, best), outside)

    def _query(self, weights: FixedPoint, exclude: Collection[Hypothesis]) -> Query:
        """Turn excluded stumps into places that are closed."""
        thresholds: dict[int, list[float]] = {}
        for stump in exclude:
            if isinstance(stump, Stump):
                thresholds.setdefault(stump.feature, []).append(stump.threshold)
        places = [np.empty(0, np.int64)]
        counts = np.zeros(self.features.n_features + 1, np.int64)
        for feature in sorted(thresholds):
            values = self.features.entry_values[self.features.entries(feature)]
            places.append(np.searchsorted(values, thresholds[feature]))
            counts[feature + 1] = len(thresholds[feature])
        return Query(weights.integers, weights.totals, weights.positives, np.concatenate(places), np.cumsum(counts))

    def _stump(self, feature: int, best: Best) -> Hypothesis:
        threshold = self.features.threshold(feature, best.places[feature])
        return Stump(feature, threshold, 1 if best.edges[feature] >= 0 else -1)

    def _square_sum(self, weights: FixedPoint, best: Best) -> float:
        if not self.square_sum:
            return inf
        squares = best.squares.sum() + self.constant * (weights.totals.astype(np.float64) ** 2).sum()
        rounding = (self.features.n_samples + self.features.n_features + 8) * np.finfo(float).eps
        # | |edges| - |rounded edges| | <= |edges - rounded edges| <= error sqrt(number of edges)
        norm = np.sqrt(squares * (1 + rounding)) + weights.error * np.sqrt(self.n_stumps * len(weights.totals))
        return weights.real_square(norm**2)
