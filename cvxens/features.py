"""Each feature sorted once, shared by all that is about stumps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from cvxens.validation import samples


class SortedFeatures:
    """Every column of X in ascending order, with the places where its value changes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite, at least two samples, at least one feature that varies.

    Attributes
    ----------
    order : ndarray of int32, shape (n_features, n_samples)
        ``order[j, k]`` is the sample with the k-th smallest value of feature j; equal values in the
        order of the samples.
    values : ndarray of shape (n_features, n_samples)
        ``values[j, k] = X[order[j, k], j]``.
    changes : ndarray of bool, shape (n_features, n_samples)
        ``changes[j, k]`` says that ``values[j, k]`` exceeds ``values[j, k - 1]``: a stump fits in between.

    Raises
    ------
    InvalidInput
        If X is empty, not numeric, not finite, has one sample, or only constant features.

    Examples
    --------
    >>> features = SortedFeatures([[3.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    >>> features.order
    array([[1, 2, 0],
           [2, 0, 1]], dtype=int32)
    >>> features.threshold(0, 1), features.threshold(1, 1)
    (1.5, 0.5)
    """

    def __init__(self, X: Any) -> None:
        self.X = samples(X)
        self.n_samples, self.n_features = self.X.shape
        self.order = np.empty((self.n_features, self.n_samples), np.int32)
        self.values = np.empty((self.n_features, self.n_samples), self.X.dtype)
        with ThreadPoolExecutor(numba.get_num_threads()) as threads:
            list(threads.map(self._sort, range(self.n_features)))

    def _sort(self, feature: int) -> None:
        column = np.ascontiguousarray(self.X[:, feature])
        self.order[feature] = np.argsort(column, kind="stable")
        np.take(column, self.order[feature], out=self.values[feature])

    @cached_property
    def changes(self) -> NDArray[np.bool_]:
        """Where the sorted values change, shape (n_features, n_samples)."""
        changes = np.zeros(self.values.shape, np.bool_)
        np.not_equal(self.values[:, 1:], self.values[:, :-1], out=changes[:, 1:])
        return changes

    def threshold(self, feature: int, place: int) -> float:
        """Return the middle of the sorted values before and at `place`: above the one, at most the other."""
        below, above = float(self.values[feature, place - 1]), float(self.values[feature, place])
        middle = below / 2 + above / 2
        return middle if below < middle <= above else above
