"""Ridge regression over a growing number of columns: by columns while they are few, by samples from then on."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, svd

from cvxens.colgen.masters.growing_cholesky import GrowingCholesky
from cvxens.types import Array


class ByColumns:
    """``(G'G + ridge I) W = G'L`` of size n_columns, G the columns less their means, its factor grown by rows.

    A row costs O(n_columns n_samples) for its products and O(n_columns^2) in the factor.

    Parameters
    ----------
    L : ndarray of shape (n_samples, n_outputs)
        Targets.
    ridge : float
        Above 0.
    """

    def __init__(self, L: Array, ridge: float) -> None:
        self.L = L - L.mean(axis=0)
        self.ridge = ridge
        self.factor = GrowingCholesky()
        self.right = np.empty((0, L.shape[1]))

    def weights(self, rows: Array) -> Array:
        """Solve for W, (n_columns, n_outputs), over H' = rows, whose first ones are those of the last call."""
        known = self.factor.n
        if known < len(rows):
            new = rows[known:] - rows[known:].mean(axis=1)[:, None]
            products = new @ rows.T
            corner = products[:, known:]
            self.right = np.concatenate([self.right[:known], new @ self.L])
            self.factor.grow(products[:, :known], (corner + corner.T) / 2 + self.ridge * np.eye(len(new)))
        return self.factor.solve(self.right)


class BySamples:
    """``W = G'V, (G G' + ridge I) V = L`` of size n_samples: SL (11), for no more samples than columns.

    A new column adds its square in O(n_samples^2); the matrix is factored anew, where SL (20) updates an inverse,
    which loses digits that a long run does not get back. Where the ridge is too small for that, singular values take
    its place.

    Parameters
    ----------
    L : ndarray of shape (n_samples, n_outputs)
        Targets.
    ridge : float
        Above 0.
    """

    def __init__(self, L: Array, ridge: float) -> None:
        self.L = L - L.mean(axis=0)
        self.ridge = ridge
        self.gram = ridge * np.eye(len(L))
        self.n = 0

    def weights(self, rows: Array) -> Array:
        """Solve for W, (n_columns, n_outputs), over H' = rows, whose first ones are those of the last call."""
        centred = rows - rows.mean(axis=1)[:, None]
        new = centred[self.n :]
        self.gram, self.n = self.gram + new.T @ new, len(rows)
        # below this ratio the ridge is lost in the rounding of the matrix
        if self.ridge < 1e-10 * float(self.gram.diagonal().max()):
            return _by_singular_values(centred, self.L, self.ridge)
        return centred @ cho_solve(cho_factor(self.gram), self.L)


def _by_singular_values(rows: Array, L: Array, ridge: float) -> Array:
    left, values, right = svd(rows, full_matrices=False)
    return left @ ((values / (values**2 + ridge))[:, None] * (right @ L))
