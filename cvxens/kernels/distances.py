"""Distances between samples, a tile of the matrix at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from cvxens.kernels.tiles import Tile
from cvxens.types import Array

Metric = Callable[[Array, Array], Array]


@njit(cache=True, nogil=True)
def cityblock(X: Array, Zt: Array) -> Array:
    """|x - z|_1 between the rows of `X` (n, n_features) and the columns of `Zt` (n_features, m)."""
    distances = np.zeros((X.shape[0], Zt.shape[1]))
    for i in range(X.shape[0]):
        for d in range(X.shape[1]):
            x = X[i, d]
            for j in range(Zt.shape[1]):
                distances[i, j] += abs(x - Zt[d, j])
    return distances


@njit(cache=True, nogil=True)
def weighted_cityblock(X: Array, Zt: Array, scale: Array) -> Array:
    """sum_d scale_d |x_d - z_d| between the rows of `X` (n, n_features) and the columns of `Zt` (n_features, m).

    The difference comes before the factor: scaled values would be rounded relative to their size, which may be large
    beside their differences.
    """
    distances = np.zeros((X.shape[0], Zt.shape[1]))
    for i in range(X.shape[0]):
        for d in range(X.shape[1]):
            x, factor = X[i, d], scale[d]
            for j in range(Zt.shape[1]):
                distances[i, j] += factor * abs(x - Zt[d, j])
    return distances


@njit(cache=True, nogil=True)
def intersection(X: Array, Zt: Array) -> Array:
    """sum_d min(x_d, z_d) between the rows of `X` (n, n_features) and the columns of `Zt` (n_features, m)."""
    sums = np.zeros((X.shape[0], Zt.shape[1]))
    for i in range(X.shape[0]):
        for d in range(X.shape[1]):
            x = X[i, d]
            for j in range(Zt.shape[1]):
                sums[i, j] += min(x, Zt[d, j])
    return sums


@njit(cache=True, nogil=True)
def squared(X: Array, Zt: Array) -> Array:
    """|x - z|_2^2 between the rows of `X` (n, n_features) and the columns of `Zt` (n_features, m)."""
    distances = np.zeros((X.shape[0], Zt.shape[1]))
    for i in range(X.shape[0]):
        for d in range(X.shape[1]):
            x = X[i, d]
            for j in range(Zt.shape[1]):
                distances[i, j] += (x - Zt[d, j]) * (x - Zt[d, j])
    return distances


def euclidean(X: Array, Zt: Array) -> Array:
    """|x - z|_2 between the rows of `X` and the columns of `Zt`."""
    return np.sqrt(squared(X, Zt))


def between(metric: Metric, X: Any, Z: Any) -> Tile:
    """Distances, or whatever a metric computes, between rows of `X` and of `Z`, by tiles."""
    X, Z = np.ascontiguousarray(X), np.ascontiguousarray(Z)
    return lambda rows, columns: metric(X[rows], np.ascontiguousarray(Z[columns].T))
