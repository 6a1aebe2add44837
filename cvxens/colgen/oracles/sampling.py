"""What the oracles that search by sampling directions share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit

from cvxens.errors import InvalidInput
from cvxens.features import in_ranges
from cvxens.types import Array

CHUNK_SIZE = 2**20

FEW = 2**16
"""Products from which on several threads project."""


def unit_directions(random: np.random.Generator, n_directions: int, n_features: int) -> Array:
    """Draw directions uniformly on the unit sphere, shape (n_directions, n_features).

    On a line, where the sphere is {-1, +1} and h covers -h, the one direction +1 is returned.
    """
    if n_features == 1:
        return np.ones((1, 1))
    directions = random.standard_normal((n_directions, n_features))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def chunks(n_directions: int, n_samples: int) -> Iterator[slice]:
    """Cut the directions so that the projections of a chunk are about a million numbers.

    Examples
    --------
    >>> list(chunks(1000, 2000))
    [slice(0, 524, None), slice(524, 1048, None)]
    """
    size = max(1, CHUNK_SIZE // n_samples)
    return (slice(start, start + size) for start in range(0, n_directions, size))


def project(X: Any, directions: Any) -> Array:
    """Return ``X @ directions.T`` (n_samples, n_directions), equal for equal rows to the last bit.

    Blocked matrix products round equal rows differently, and a threshold may then fall in between; here
    every entry is one sum in the order of the features, alone or among others.

    Examples
    --------
    >>> project([[1.0, 2.0], [3.0, 4.0]], [[1.0, -1.0]])
    array([[-1.],
           [-1.]])
    """
    columns = np.ascontiguousarray(np.asarray(X, np.float64).T)
    directions = np.ascontiguousarray(directions, np.float64)
    if columns.ndim != 2 or len(columns) != directions.shape[1]:
        raise InvalidInput("X", f"found shape {np.shape(X)}", f"give (n_samples, {directions.shape[1]})")
    projections = np.zeros((len(directions), columns.shape[1]))
    if columns.size * len(directions) < FEW:
        # to call compiled code takes longer than so few products
        for feature, values in enumerate(columns):
            projections += np.multiply.outer(directions[:, feature], values)
        return projections.T
    in_ranges(
        lambda first, end: _project(columns, directions[first:end], projections[first:end]),
        len(directions),
        len(directions) * columns.size,
    )
    return projections.T


@njit(cache=True, nogil=True)
def _project(columns: Array, directions: Array, projections: Array) -> None:
    n_features, n_samples = columns.shape
    for k in range(len(directions)):
        for j in range(n_features):
            for i in range(n_samples):
                projections[k, i] += directions[k, j] * columns[j, i]


def linear_form(theta: tuple[float, ...], terms: int = 5) -> str:
    """Return theta'x as text: the largest `terms` by magnitude, in the order of the features.

    Examples
    --------
    >>> linear_form((0.5, -2.0))
    '0.5 x[0] - 2 x[1]'
    >>> linear_form((0.5, -2.0, 0.1), terms=1)
    '-2 x[1] + 2 more'
    """
    largest = sorted(sorted(range(len(theta)), key=lambda j: -abs(theta[j]))[:terms])
    text = " ".join(f"{'-' if theta[j] < 0 else '+'} {abs(theta[j]):.4g} x[{j}]" for j in largest)
    text = text[2:] if text.startswith("+") else f"-{text[2:]}"
    return text + (f" + {len(theta) - len(largest)} more" if len(theta) > len(largest) else "")
