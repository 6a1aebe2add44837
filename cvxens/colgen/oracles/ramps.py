"""Ramps, the functions that convex and concave shapes are made of, as an exact oracle over all of their thresholds."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cvxens.colgen.oracles.bins import price_constant
from cvxens.colgen.oracles.levels import check_sides
from cvxens.colgen.protocols import Column, Priced
from cvxens.hypotheses import Constant, Hypothesis, Ramp
from cvxens.problems.duality import row_sizes
from cvxens.rounding import EPSILON
from cvxens.types import Array, Data, Given
from cvxens.validation import samples, signed_weights, whole


class Ramps:
    """All ramps of single features, lines and the constant: the exact oracle over this infinite set.

    A ramp is ``max(x_j - t, 0)`` or ``max(t - x_j, 0)``, for any t in the range of feature j, and a line ``x_j`` less
    the middle of that range, all divided by its width. Between two neighbouring values of the sample the edge of a
    ramp is a linear function of t, so the largest is at a value of the sample, and sums over the sorted sample have
    them all. Ramps are convex: with w >= 0 and those of one sign alone, the score is convex or concave in a feature,
    everywhere; no sum of squared edges is known, so nothing is proven under penalties on squares.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite, at least one feature that varies.
    curvature : array-like of shape (n_features,), optional
        +1 for convex ramps alone, -1 for concave ones, 0 for both, as by default.
    signs : array-like of shape (n_features,), optional
        +1 for ramps and lines that rise with the feature alone, -1 for those that fall, 0 for both, as by default.
    constant : bool
        True if h(x) = 1 and h(x) = -1 belong to the set.
    columns_per_round : int, optional
        At most so many columns are returned; by default the best ramp of each side and the line of every feature, and
        the constant.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> priced = Ramps(X, curvature=[1], columns_per_round=2).price(np.array([1.0, -1.0, -1.0, -1.0, 2.0]))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    0.25 max(x[0] - 1, 0) 0.75
    0.25 (x[0] - 2) 0.5
    """

    source = "Hannah & Dunson 2013; hinges of Breiman 1993"
    largest = 1.0

    def __init__(
        self,
        X: Data,
        *,
        curvature: Given = None,
        signs: Given = None,
        constant: bool = True,
        columns_per_round: int | None = None,
    ) -> None:
        self.sample = samples(X)
        n_features = self.sample.shape[1]
        self.constant = constant
        usual = 3 * n_features + 1
        self.columns_per_round = whole("columns_per_round", usual if columns_per_round is None else columns_per_round)
        self.curvature = check_sides(curvature, n_features, "curvature")
        self.signs = check_sides(signs, n_features)
        self.negations = not (self.curvature.any() or self.signs.any())
        self._order = np.argsort(self.sample, axis=0, kind="stable")
        self._sorted = np.take_along_axis(self.sample, self._order, axis=0)
        self._varying = np.flatnonzero(self._sorted[0] < self._sorted[-1]).tolist()

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, and its negation too."""
        if isinstance(hypothesis, Ramp):
            return not (self.signs[hypothesis.feature] or (self.curvature[hypothesis.feature] and hypothesis.side))
        return isinstance(hypothesis, Constant)

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best ramps and lines of every feature and the constant, as `Oracle.price` says.

        The bounds count rounding. Of the infinitely many ramps, those that are left have the same bound as all. A norm
        of edges over the outputs is convex between two values of the sample, as they are linear, so largest at one too.
        """
        s = signed_weights(s, len(self.sample))
        known = {(h.feature, h.threshold, h.side) for h in exclude if isinstance(h, Ramp)}
        # sums of n products of numbers up to 1, a product and a difference of two of them, and what h itself is off by
        rounding = (4 * len(s) + 32) * EPSILON * float(np.abs(s).sum(axis=0).max())
        n_outputs = s.shape[1]
        found: list[tuple[float, Hypothesis]] = []
        largest = -inf
        for feature in self._varying:
            for side, edges in self._list_edges(feature, s):
                sizes, signs = self._measure(feature, side, edges, row_norm)
                largest = max(largest, float(sizes.max()))
                thresholds = self._sorted[:, feature] if side else np.array([self._middle(feature)])
                closed = [t for f, t, of_side in known if (f, of_side) == (feature, side)]
                sizes = np.where(np.isin(thresholds, closed), -inf, sizes)
                k = int(sizes.argmax())
                if sizes[k] > -inf:
                    slope = float(signs[k]) / self._width(feature)
                    found.append((float(sizes[k]), Ramp(feature, float(thresholds[k]), side, slope)))
        if self.constant:
            size, own = price_constant(s.sum(axis=0), exclude, row_norm)
            largest = max(largest, size)
            if own is not None:
                found.append((size, own))
        found.sort(key=lambda pair: -pair[0])
        columns = [Column(h, self.sample, size) for size, h in found[: self.columns_per_round]]
        if row_norm < inf:
            # the powers of the edges, the sum of these and its root are rounded too
            rounding = rounding * n_outputs ** (1 / row_norm) + (n_outputs + 8) * EPSILON * max(largest, 0.0)
        bound = largest + rounding if largest > -inf else 0.0
        return Priced(columns, bound, outside_bound=bound)

    def _width(self, feature: int) -> float:
        return float(self._sorted[-1, feature] - self._sorted[0, feature])

    def _middle(self, feature: int) -> float:
        return float(self._sorted[0, feature] / 2 + self._sorted[-1, feature] / 2)

    def _list_edges(self, feature: int, s: Array) -> Iterator[tuple[int, Array]]:
        """Yield the edges (n_samples, n_outputs) of the ramps at all values, and (1, n_outputs) of the line."""
        values = (self._sorted[:, feature] - self._sorted[0, feature]) / self._width(feature)
        weights = s[self._order[:, feature]]
        below, moments = np.cumsum(weights, axis=0), np.cumsum(weights * values[:, np.newaxis], axis=0)
        scaled = values[:, np.newaxis]
        yield 1, (moments[-1] - moments) - scaled * (below[-1] - below)
        yield -1, scaled * below - moments
        middle = (self._middle(feature) - self._sorted[0, feature]) / self._width(feature)
        yield 0, (moments[-1] - middle * below[-1])[np.newaxis]

    def _measure(self, feature: int, side: int, edges: Array, order: float) -> tuple[Array, NDArray[np.float64]]:
        """Return the edge of the best sign that is allowed at every threshold, -inf if none is, and that sign.

        A norm over the outputs knows no signs, as weights over several outputs have either.
        """
        # a ramp below its threshold falls where it is convex
        rises = self.signs[feature] * (1 if side >= 0 else -1)
        bends = self.curvature[feature] if side else 0
        if rises * bends < 0:
            return np.full(len(edges), -inf), np.zeros(len(edges))
        sign = rises or bends
        if sign and order == inf:
            return sign * (edges.max(axis=1) if sign > 0 else edges.min(axis=1)), np.full(len(edges), float(sign))
        best = edges[np.arange(len(edges)), np.abs(edges).argmax(axis=1)]
        signs = np.full(len(edges), float(sign)) if sign else np.where(best >= 0, 1.0, -1.0)
        return row_sizes(edges, order), signs
