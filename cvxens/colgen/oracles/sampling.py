"""What the oracles that search by sampling directions share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cvxens.types import Array

CHUNK_SIZE = 2**20


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
