"""The histogram intersection kernel, a form of the stump kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, Indicator
from cvxens.kernels.distances import between, intersection
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair, union
from cvxens.kernels.ranges import Ranges, draw_places, hashable
from cvxens.kernels.tiles import Tile
from cvxens.types import Array
from cvxens.validation import RandomState


@final
@dataclass(frozen=True)
class HistogramIntersection(Kernel):
    """K(x, x') = sum_d min(x_d, x'_d), for x, x' >= 0.

    LL08: it is ``1/2 (|x|_1 + |x'|_1 - |x - x'|_1)``, so as y'u = 0 it gives `SVMDual` the solutions of half the stump
    kernel, with the intercept moved by ``-1/2 sum_i u_i y_i |x_i|_1``, which is 0 on histograms of equal size. It
    embodies the 0/1-valued stumps [x_d >= a], 0 < a <= high_d, with r = 1. Scaling the samples by c scales it by c,
    which for an SVM is a change of C.

    Parameters
    ----------
    high : array-like of shape (n_features,), optional
        The largest value of each feature, which only the total mass and the sampler need to know.

    Examples
    --------
    >>> HistogramIntersection()([[3.0, 1.0], [2.0, 2.0]])
    array([[4., 3.],
           [3., 4.]])
    """

    high: Any = None
    equation = "sum_d min(x_d, x'_d)"
    source = "LL08"
    degree = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "high", hashable(self.high))

    def tile(self, X: Any, Z: Any) -> Tile:
        """Sums of the smaller values: no two large numbers are subtracted, as x, x' >= 0."""
        X, Z = pair(X, Z)
        self._ends(union(X, Z))
        return between(intersection, X, Z)

    def diag(self, X: Any) -> Array:
        """sum_d x_d."""
        X, _ = pair(X)
        self._ends(X)
        return X.sum(axis=1)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """Return sum_d high_d."""
        _, high = self._box() if X is None else self._ends(union(*pair(X, Z)))
        return float(high.sum())

    def within(self, X: Any) -> HistogramIntersection:
        """The stumps up to the largest values of `X`, where none are given."""
        return HistogramIntersection(self._ends(pair(X)[0])[1])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw 0/1-valued stumps; wide features in proportion to their range."""
        box, random = self._box(), validation.generator(random_state)
        features, thresholds = draw_places(box, box[1], n, random)
        drawn = zip(features.tolist(), thresholds.tolist(), strict=True)
        return tuple(Indicator(d, t) for d, t in drawn)

    def _ends(self, X: Array) -> Array:
        return Ranges(np.zeros(X.shape[1]), self.high).of(X)

    def _box(self) -> Array:
        if self.high is None:
            raise InvalidInput("high", "found none", "give the largest value of each feature, or take kernel.within(X)")
        return Ranges(np.zeros(len(self.high)), self.high).box()
