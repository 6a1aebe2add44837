"""The stump kernel: all decision stumps at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.kernels.pair import pair
from cvxens.problems import StumpColumns
from cvxens.types import Array


@dataclass(frozen=True)
class Stump:
    """K(x, x') = Delta - |x - x'|_1, with Delta = 1/2 sum_d (high_d - low_d).

    LL08 Definition 3 and Theorem 4: the inner product over all stumps whose thresholds are within the ranges, with
    r = 1/2.

    Parameters
    ----------
    low, high : array-like of shape (n_features,), optional
        The range of each feature; the range of the sample that the kernel is evaluated on where they are not given.

    Examples
    --------
    >>> Stump(low=(0.0,), high=(2.0,))([[0.0], [2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    low: Any = None
    high: Any = None
    source = "LL08 Definition 3"

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Evaluate between the rows of `X` and `Z` (by default `X`); returns (len(X), len(Z))."""
        X, Z = pair(X, Z)
        low, high = self.ranges(np.concatenate([X, Z]))
        return (high - low).sum() / 2 - cdist(X, Z, "cityblock")

    def ranges(self, X: Array) -> Array:
        """(low, high) for a sample, shape (2, n_features)."""
        low = X.min(axis=0) if self.low is None else _end("low", self.low, X.shape[1])
        high = X.max(axis=0) if self.high is None else _end("high", self.high, X.shape[1])
        if (low > X).any() or (high < X).any():
            feature = int(np.argmax(((low > X) | (high < X)).any(axis=0)))
            raise InvalidInput(
                "X",
                f"found feature {feature} from {X[:, feature].min():g} to {X[:, feature].max():g}",
                f"stay within the kernel's range of {low[feature]:g} to {high[feature]:g}, or widen it",
            )
        return np.stack([low, high])

    def cells(self, X: Any) -> StumpColumns:
        """The cells of LL08 Theorem 8: one column per gap between the values of a feature, ends included.

        Stumps of both signs share a gap of width v, so its column is ``sqrt(v / 2) sign(x_d - t)``; the columns'
        inner products are the kernel on `X`.
        """
        X = validation.samples(X)
        return StumpColumns(X, constant=False, ends=self.ranges(X), gap_scale=_root_of_half)


def _end(argument: str, values: Any, n_features: int) -> Array:
    end = validation.finite_array(argument, values, ndim=1)
    if len(end) != n_features:
        raise InvalidInput(argument, f"found {len(end)} numbers for {n_features} features", "give one per feature")
    return end


def _root_of_half(width: Array) -> Array:
    return np.sqrt(width / 2)
