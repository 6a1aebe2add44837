"""The Cholesky factor of a matrix that grows by rows and columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from cvxens.types import Array

EPS = float(np.finfo(float).eps)


class GrowingCholesky:
    """L with L L' = A, grown by a block of rows of A in O(n^2) per row.

    Parameters
    ----------
    jitter : float
        What may be added to the diagonal, relative to its largest entry, where rounding has cost definiteness.

    Examples
    --------
    >>> factor = GrowingCholesky()
    >>> factor.grow(np.empty((1, 0)), np.array([[4.0]]))
    >>> factor.grow(np.array([[2.0]]), np.array([[5.0]]))
    >>> factor.L
    array([[2., 0.],
           [1., 2.]])
    >>> factor.solve(np.array([8.0, 8.0]))
    array([1.5, 1. ])
    """

    def __init__(self, jitter: float = 64 * EPS) -> None:
        self.jitter = jitter
        self._room = np.zeros((0, 0))
        self.n = 0

    @property
    def L(self) -> Array:
        """The factor, lower triangular, shape (n, n)."""
        return self._room[: self.n, : self.n]

    def grow(self, beside: Array, corner: Array) -> None:
        """Append rows to A.

        Parameters
        ----------
        beside : ndarray of shape (n_added, n)
            The new rows at the old columns.
        corner : ndarray of shape (n_added, n_added)
            The new rows at the new columns.
        """
        known, n = self.n, self.n + len(corner)
        left = solve_triangular(self.L, beside.T, lower=True).T if known else beside
        # L22 L22' = A22 - L21 L21'
        low = _factor(corner - left @ left.T, self.jitter * float(corner.max()))
        if n > len(self._room):
            room = np.zeros((max(n, 2 * len(self._room), 32),) * 2)
            room[:known, :known] = self.L
            self._room = room
        self._room[known:n, :known], self._room[known:n, known:n] = left, low
        self.n = n

    def solve(self, right: Array) -> Array:
        """Solve A x = right, for right (n,) or (n, k)."""
        half = solve_triangular(self.L, right, lower=True)
        return solve_triangular(self.L, half, lower=True, trans="T")


def _factor(A: Array, jitter: float) -> Array:
    """The Cholesky factor of a matrix that is definite but for rounding."""
    while True:
        try:
            return cholesky(A, lower=True)
        except LinAlgError:
            A = A + jitter * np.eye(len(A))
            jitter *= 10
