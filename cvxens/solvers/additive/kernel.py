"""Additive kernels on a sample: products by prefix sums over sorted features, without a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens import validation
from cvxens.compensated import two_sum
from cvxens.errors import InvalidInput
from cvxens.features import SortedFeatures
from cvxens.rounding import sum_error
from cvxens.threads import available_threads, map_slices
from cvxens.types import Array

Rows: TypeAlias = NDArray[np.int32]

WORTH_A_THREAD = 100_000
"""Sorted entries below which a product is faster in one thread."""

FEW = 16
"""A part of the sample is sorted anew where it is smaller than the sample by this factor."""


@dataclass(frozen=True, eq=False)
class AdditiveKernel:
    """K(x, x') = - sum_d scale_d |x_d - x'_d| on a sample, in memory for the sample.

    Where coefficients sum to 0, as y'u = 0 makes them in P2, a constant in the kernel does not matter, nor does a term
    in x alone or x' alone. So this is LL08's stump kernel and its simplified form (scale 1), histogram intersection
    ``sum_d min(x_d, x'_d)`` (scale 1/2), KIE06's K_ds, and any sum of those over features with weights of their own.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The sample.
    rows : ndarray of int32, shape (n_features, n_samples)
        The samples by ascending value of each feature.
    values : ndarray of shape (n_features, n_samples)
        ``values[d, k] = X[rows[d, k], d]``, in the type of X.
    scale : ndarray of shape (n_features,)
        At least 0.

    Examples
    --------
    >>> kernel = AdditiveKernel.of([[0.0, 1.0], [2.0, 1.0], [3.0, 0.0]])
    >>> kernel.product(np.array([1.0, 0.0, 0.0]))
    array([ 0., -2., -4.])
    """

    X: NDArray
    rows: Rows
    values: NDArray
    scale: Array

    @classmethod
    def of(cls, X: Any, scale: Any = None) -> AdditiveKernel:
        """Sort a sample, or take one that is sorted, `SortedFeatures`; `scale` is 1 or shaped (n_features,)."""
        features = X if isinstance(X, SortedFeatures) else SortedFeatures(X)
        return cls(features.X, features.order, features.values, _checked_scale(scale, features.n_features))

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.rows.shape[1]

    @cached_property
    def total_mass(self) -> float:
        """LL08's Delta for the ranges of the sample: with it added, the kernel is PSD."""
        ranges = self.values[:, -1].astype(np.float64) - self.values[:, 0]
        return float(self.scale @ ranges) / 2

    @cached_property
    def mean_distance(self) -> float:
        """The mean of -K over all pairs of samples."""
        ones = np.ones(self.n_samples)
        return -float(ones @ self.product(ones)) / self.n_samples**2

    def product(self, v: Array, *, compensated: bool = False) -> Array:
        """Return K v (n_samples,) in O(n_samples n_features), with running sums in twice the precision if asked."""
        add_products = _add_compensated_products if compensated else _add_products

        def add(features: slice) -> tuple[NDArray, float]:
            pairs = np.zeros((self.n_samples, 2))
            pairs[:, 0] = v
            return pairs[:, 1], add_products(self.rows[features], self.values[features], self.scale[features], pairs)

        parts = self._by_features(add)
        product = parts[0][0] + sum(offset for _, offset in parts)
        for part, _ in parts[1:]:
            product += part
        return product

    def product_error(self, v: Array) -> float:
        """Bound the error of any entry of a compensated product.

        The running sums of a feature are exact but for one rounding of every term, whose sizes add up to at most twice
        scale range sum |v|; then n_features of them and their constants are summed.
        """
        size = 4 * self.total_mass * float(np.abs(v).sum())
        return sum_error(len(self.scale) + 8, size)

    def among(self, chosen: NDArray[np.intp]) -> AdditiveKernel:
        """Return the kernel on some of the samples, given in ascending order; what is sorted stays sorted."""
        if len(chosen) * FEW < self.n_samples:
            X = self.X[chosen]
            rows = np.ascontiguousarray(X.argsort(axis=0).T.astype(np.int32))
            return AdditiveKernel(X, rows, np.take_along_axis(X.T, rows, axis=1), self.scale)
        positions = np.full(self.n_samples, -1, np.int32)
        positions[chosen] = np.arange(len(chosen), dtype=np.int32)
        shape = len(self.scale), len(chosen)
        rows, values = np.empty(shape, np.int32), np.empty(shape, self.values.dtype)
        self._by_features(lambda d: _keep(self.rows[d], self.values[d], positions, rows[d], values[d]))
        return AdditiveKernel(self.X[chosen], rows, values, self.scale)

    def dense(self) -> Array:
        """Return the lower triangle of K, the rest 0, shape (n_samples, n_samples): for small samples."""
        K = np.zeros((self.n_samples, self.n_samples))
        _fill_lower(self.X.astype(np.float64), self.scale, K)
        return K

    def _by_features(self, task: Callable[[slice], Any]) -> list[Any]:
        """Return the results of a task for shares of the features, one to a thread; used ones come first."""
        n_features = len(self.scale)
        n_threads = min(available_threads(), n_features, 1 + self.rows.size // WORTH_A_THREAD)
        return map_slices(task, n_features, n_threads)


def _checked_scale(scale: Any, n_features: int) -> Array:
    if scale is None:
        return np.ones(n_features)
    scale = validation.finite_array("scale", scale, ndim=1)
    if len(scale) != n_features:
        raise InvalidInput("scale", f"found {len(scale)} numbers for {n_features} features", "give one per feature")
    if (scale < 0).any() or not scale.any():
        raise InvalidInput(
            "scale", f"found {scale.min():g} to {scale.max():g}", "give numbers of at least 0, not all 0"
        )
    return scale


@njit(cache=True, nogil=True)
def _add_products(rows: Rows, values: NDArray, scale: Array, pairs: Array) -> float:
    """Add K v to pairs[:, 1], where v is pairs[:, 0], up to a constant, which is returned.

    Between two values of a feature the slope is the weight above minus the weight below. The sum of the products at
    both ends of a feature is minus its range times the sum of all weights, which gives the constant.
    """
    total = 0.0
    for i in range(len(pairs)):
        total += pairs[i, 0]
    constant = 0.0
    for d in range(len(rows)):
        first = np.float64(values[d, 0])
        last, here, slope, twice = first, 0.0, scale[d] * total, 2 * scale[d]
        for k in range(rows.shape[1]):
            row, x = np.uint32(rows[d, k]), np.float64(values[d, k])
            # K v is linear between two values of the feature; its slope falls by 2 scale v_i at each
            here += slope * (x - last)
            slope -= twice * pairs[row, 0]
            last = x
            pairs[row, 1] += here
        constant -= (scale[d] * (last - first) * total + here) / 2
    return constant


@njit(cache=True, nogil=True)
def _add_compensated_products(rows: Rows, values: NDArray, scale: Array, pairs: Array) -> float:
    """Add K v as `_add_products` does, with every running sum in two floats (Knuth's sum without rounding)."""
    total, total_low = 0.0, 0.0
    for i in range(len(pairs)):
        total, low = two_sum(total, pairs[i, 0])
        total_low += low
    constant = 0.0
    for d in range(len(rows)):
        first = np.float64(values[d, 0])
        last, here, here_low = first, 0.0, 0.0
        slope, slope_low, twice = scale[d] * total, scale[d] * total_low, 2 * scale[d]
        for k in range(rows.shape[1]):
            row, x = np.uint32(rows[d, k]), np.float64(values[d, k])
            here, low = two_sum(here, slope * (x - last))
            here_low += low + slope_low * (x - last)
            slope, low = two_sum(slope, -twice * pairs[row, 0])
            slope_low += low
            last = x
            pairs[row, 1] += here + here_low
        constant -= (scale[d] * (last - first) * (total + total_low) + (here + here_low)) / 2
    return constant


@njit(cache=True, nogil=True)
def _keep(rows: Rows, values: NDArray, positions: Rows, kept_rows: Rows, kept_values: NDArray) -> None:
    """Copy the sorted entries of the samples that have a position of 0 or more."""
    for d in range(len(rows)):
        kept = 0
        for k in range(rows.shape[1]):
            position = positions[rows[d, k]]
            if position >= 0:
                kept_rows[d, kept] = position
                kept_values[d, kept] = values[d, k]
                kept += 1


@njit(cache=True, nogil=True, fastmath=True)
def _fill_lower(X: Array, scale: Array, K: Array) -> None:
    """Fill the lower triangle with minus the scaled city-block distances."""
    for i in range(len(X)):
        for j in range(i):
            distance = 0.0
            for d in range(X.shape[1]):
                distance += scale[d] * abs(X[i, d] - X[j, d])
            K[i, j] = -distance
