"""The stumps that an additive model is made of: averaged ones, or a random choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class Cells:
    """The averaged stumps of LL08 Theorem 8: ``f(x) + b = b + sum_k weights_k mean sign(x_d - t)``, t over the gap k.

    An averaged stump rises from -1 at the low end of its gap to 1 at the high end, in a line. By Theorem 7 the weight
    is half the gap's width, times the feature's scale, times the edge ``sum_i u_i y_i sign(x_id - t)``.

    Parameters
    ----------
    features : ndarray of int, shape (n_cells,)
        The feature d of each.
    low, high : ndarray of shape (n_cells,)
        The gap between two knots.
    weights : ndarray of shape (n_cells,)
        Of either sign.
    intercept : float
        b.

    Examples
    --------
    >>> cells = Cells(np.array([0]), np.array([0.0]), np.array([2.0]), np.array([-1.0]), 0.5)
    >>> cells([[-1.0], [1.0], [3.0]])
    array([ 1.5,  0.5, -0.5])
    >>> cells.sample(3, random_state=0).signs
    array([-1., -1., -1.])
    """

    features: NDArray[np.intp]
    low: Array
    high: Array
    weights: Array
    intercept: float

    def __call__(self, X: Any) -> Array:
        """Evaluate on `X` (n, n_features), in O(n n_cells); returns (n,)."""
        X = validation.finite_array("X", X, ndim=2)
        scores = np.full(len(X), self.intercept)
        for d, low, high, weight in zip(self.features, self.low, self.high, self.weights, strict=True):
            scores += weight * np.clip((2 * X[:, d] - low - high) / (high - low), -1.0, 1.0)
        return scores

    def sample(self, k: int, random_state: validation.RandomState = None) -> StumpEnsemble:
        """Draw k stumps, each cell as often as its weight is large, thresholds uniformly within.

        Their average tends to the classifier as k grows; every mean is exact.
        """
        k = validation.whole("k", k)
        total = float(np.abs(self.weights).sum())
        if total == 0:
            raise InvalidInput("cells", "found a constant function", "there is no stump to draw; use the intercept")
        rng = validation.generator(random_state)
        drawn = rng.choice(len(self.weights), size=k, p=np.abs(self.weights) / total)
        thresholds = rng.uniform(self.low[drawn], self.high[drawn])
        return StumpEnsemble(self.features[drawn], thresholds, np.sign(self.weights[drawn]), total / k, self.intercept)


@dataclass(frozen=True, eq=False)
class StumpEnsemble:
    """b + weight sum_j signs_j sign(x_d - thresholds_j): stumps that all weigh the same.

    Parameters
    ----------
    features, thresholds, signs : ndarray of shape (n_stumps,)
        A sample on its threshold counts as above it.
    weight, intercept : float
        Of each stump, and b.

    Examples
    --------
    >>> stumps = StumpEnsemble(np.array([0, 0]), np.array([0.0, 1.0]), np.array([1.0, -1.0]), 0.5, 0.25)
    >>> stumps([[-1.0], [0.5], [1.0]])
    array([0.25, 1.25, 0.25])
    """

    features: NDArray[np.intp]
    thresholds: Array
    signs: Array
    weight: float
    intercept: float

    def __call__(self, X: Any) -> Array:
        """Evaluate on `X` (n, n_features), sorting the thresholds; returns (n,)."""
        X = validation.finite_array("X", X, ndim=2)
        total = np.zeros(len(X))
        for d in np.unique(self.features):
            own = np.flatnonzero(self.features == d)
            own = own[np.argsort(self.thresholds[own])]
            sums = np.concatenate([[0.0], np.cumsum(self.signs[own])])
            total += 2 * sums[np.searchsorted(self.thresholds[own], X[:, d], side="right")] - sums[-1]
        return self.intercept + self.weight * total
