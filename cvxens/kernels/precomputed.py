"""A kernel that is given as a matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair
from cvxens.kernels.tiles import Tile
from cvxens.types import Array


@final
@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """K(i, j) = K_ij: samples are indices of the rows of a given matrix.

    So it goes where a kernel goes, into sums, products and cross-validation, with ``arange(n)[:, None]`` as samples.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric; that it is PSD is not checked.

    Examples
    --------
    >>> kernel = Precomputed([[2.0, 1.0], [1.0, 3.0]])
    >>> kernel([[1], [0]], [[0]])
    array([[1.],
           [2.]])
    """

    K: Any = field(repr=False)
    equation = "K_ij"
    source = "by its matrix"

    @cached_property
    def _matrix(self) -> Array:
        return validation.symmetric(self.K)

    def tile(self, X: Any, Z: Any) -> Tile:
        """Entries of the matrix."""
        X, Z = pair(X, Z)
        left, right = self._indices(X, "X"), self._indices(Z, "Z")
        return lambda rows, columns: self._matrix[np.ix_(left[rows], right[columns])]

    def diag(self, X: Any) -> Array:
        """Entries of the diagonal."""
        return self._matrix.diagonal()[self._indices(pair(X)[0], "X")]

    def _indices(self, X: Array, argument: str) -> NDArray[np.intp]:
        known = (X >= 0) & (len(self._matrix) > X) & (np.rint(X) == X)
        if X.shape[1] != 1 or not known.all():
            found = f"found {X.shape[1]} features" if X.shape[1] != 1 else f"found the index {X[~known][0]:g}"
            remedy = f"give one column of indices from 0 to {len(self._matrix) - 1}"
            raise InvalidInput(argument, found, remedy)
        return X[:, 0].astype(np.intp)

    def __repr__(self) -> str:
        return f"Precomputed(K of shape {np.shape(self.K)})"
