"""Ridge regression over a growing number of columns: by columns while they are few, by samples from then on."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, svd

from cvxens.colgen.masters.growing_cholesky import GrowingCholesky
from cvxens.types import Array


class ByColumns:
    """``(G'V G + ridge I) W = G'V L`` of size n_columns, G the columns less their means, its factor grown by rows.

    V is the diagonal matrix of the weights, which the means are weighted by. A row costs O(n_columns n_samples) for its
    products and O(n_columns^2) in the factor.

    Parameters
    ----------
    L : ndarray of shape (n_samples, n_outputs)
        Targets.
    ridge : float
        Above 0.
    sample_weight : ndarray of shape (n_samples,)
        Of the samples, 0 or above, with the mean 1.
    """

    def __init__(self, L: Array, ridge: float, sample_weight: Array) -> None:
        self.L = L - sample_weight @ L / len(L)
        self.ridge = ridge
        self.sample_weight = sample_weight
        self.factor = GrowingCholesky()
        self.right = np.empty((0, L.shape[1]))

    def weights(self, rows: Array) -> Array:
        """Solve for W, (n_columns, n_outputs), over H' = rows, whose first ones are those of the last call."""
        known = self.factor.n
        if known < len(rows):
            # sum_i v_i G_ij = 0, so the old columns need not be less their means
            new = _centred(rows[known:], self.sample_weight)
            new *= self.sample_weight
            products = new @ rows.T
            corner = products[:, known:]
            self.right = np.concatenate([self.right[:known], new @ self.L])
            self.factor.grow(products[:, :known], (corner + corner.T) / 2 + self.ridge * np.eye(len(new)))
        return self.factor.solve(self.right)


class BySamples:
    """``W = G'D T, (D G G' D + ridge I) T = D L`` of size n_samples: SL (11), for no more samples than columns.

    D is the diagonal matrix of the roots of the weights. A new column adds its square in O(n_samples^2); the matrix is
    factored anew, where SL (20) updates an inverse, which loses digits that a long run does not get back. Where the
    ridge is too small for that, singular values take its place.

    Parameters
    ----------
    L : ndarray of shape (n_samples, n_outputs)
        Targets.
    ridge : float
        Above 0.
    sample_weight : ndarray of shape (n_samples,)
        Of the samples, 0 or above, with the mean 1.
    """

    def __init__(self, L: Array, ridge: float, sample_weight: Array) -> None:
        self.roots = np.sqrt(sample_weight)
        self.L = self.roots[:, None] * (L - sample_weight @ L / len(L))
        self.ridge = ridge
        self.sample_weight = sample_weight
        self.gram = ridge * np.eye(len(L))
        self.n = 0

    def weights(self, rows: Array) -> Array:
        """Solve for W, (n_columns, n_outputs), over H' = rows, whose first ones are those of the last call."""
        centred = _centred(rows, self.sample_weight) * self.roots
        new = centred[self.n :]
        self.gram, self.n = self.gram + new.T @ new, len(rows)
        # below this ratio the ridge is lost in the rounding of the matrix
        if self.ridge < 1e-10 * float(self.gram.diagonal().max()):
            return _by_singular_values(centred, self.L, self.ridge)
        return centred @ cho_solve(cho_factor(self.gram), self.L)


def _centred(rows: Array, weights: Array) -> Array:
    return rows - (rows @ weights / len(weights))[:, None]


def _by_singular_values(rows: Array, L: Array, ridge: float) -> Array:
    left, values, right = svd(rows, full_matrices=False)
    return left @ ((values / (values**2 + ridge))[:, None] * (right @ L))
