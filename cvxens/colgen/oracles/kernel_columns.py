"""Kernel columns h(x) = k(x, x_l) as an exact oracle over the training points."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from functools import partial
from typing import Any

import numpy as np

from cvxens.colgen.oracles.pool import Pool
from cvxens.colgen.protocols import Priced
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, KernelColumn
from cvxens.types import Array
from cvxens.validation import finite_array

Kernel = Callable[[Any, Any], Any]


class KernelColumns:
    """The columns h(x) = k(x, x_l) at all training points x_l, and -h: the exact oracle over them.

    This is the set C' of KIE06; with a density as kernel, the Parzen windows of the sample. Points that coincide make
    one column. A precomputed matrix K of kernel values needs no class of its own: it is ``Pool(K)``.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` returns the matrix of k(x, z), such as scikit-learn's pairwise kernels; it must
        be hashable, as functions, partial functions and frozen dataclasses are.
    X : array-like of shape (n_samples, n_features)
        The training points, finite. The matrix of up to n_samples**2 values is kept.
    columns_per_round : int
        At most so many columns are returned.

    Raises
    ------
    InvalidInput
        If X is no finite matrix, the kernel is not hashable, or it returns no finite (n_samples, n_samples)
        matrix.

    Examples
    --------
    >>> from sklearn.metrics.pairwise import linear_kernel
    >>> oracle = KernelColumns(linear_kernel, [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], columns_per_round=1)
    >>> column, = oracle.price(np.array([0.5, -0.25, -0.25])).columns
    >>> print(column.hypothesis, column.edge)
    -linear_kernel(x, (0, 2)) 1.5
    """

    source = "KIE06 section 4"

    def __init__(self, kernel: Kernel, X: Any, *, columns_per_round: int = 20) -> None:
        if not callable(kernel) or not isinstance(kernel, Hashable):
            raise InvalidInput(
                "kernel",
                f"found {kernel!r}",
                "give a hashable kernel(X, Z), or use Pool(K) for a matrix K",
            )
        X = finite_array("X", X, ndim=2)
        K = finite_array("kernel", kernel(X, X), ndim=2)
        if K.shape != (len(X), len(X)):
            raise InvalidInput(
                "kernel",
                f"found values {K.shape} for {len(X)} samples",
                "return one value per pair (x, z)",
            )
        distinct = np.sort(np.unique(X, axis=0, return_index=True)[1])
        embody = partial(_column, kernel, X[distinct])
        self.pool = Pool(K.take(distinct, axis=1), embody=embody, sample=X, columns_per_round=columns_per_round)

    @property
    def sample(self) -> Any:
        """What its hypotheses are evaluated on."""
        return self.pool.sample

    def price(self, s: Any, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Return the best columns, as `Oracle.price` says: the edges are ``K' s``, the bounds exact."""
        return self.pool.price(s, exclude)


def _column(kernel: Kernel, centers: Array, index: int, sign: int) -> Hypothesis:
    return KernelColumn(kernel, tuple(centers[index].tolist()), sign)
