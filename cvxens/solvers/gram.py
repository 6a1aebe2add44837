"""Gram matrices of columns that are not arrays."""

from __future__ import annotations

import numpy as np

from cvxens.problems import Columns
from cvxens.types import Array

BLOCK = 128


def gram(H: Columns) -> Array:
    """Return H H', shape (n_samples, n_samples), a block of samples at a time.

    Examples
    --------
    >>> from cvxens.problems import DenseColumns
    >>> gram(DenseColumns(np.array([[1.0, 2.0], [0.0, 1.0]])))
    array([[5., 2.],
           [2., 1.]])
    """
    n = H.shape[0]
    K = np.empty((n, n))
    for first in range(0, n, BLOCK):
        block = slice(first, min(first + BLOCK, n))
        K[:, block] = H.scores(H.edges(np.eye(n)[:, block]))
    return (K + K.T) / 2
