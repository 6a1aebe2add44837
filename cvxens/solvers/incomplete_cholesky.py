"""Pivoted incomplete Cholesky: a kernel matrix of low rank from a kernel and a sample, never n_samples x n_samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.limits import Pace, interruptible
from cvxens.types import Array, Data, Indices, KernelFunction

BLOCK = 64
"""Samples that the diagonal is evaluated for at a time."""


@dataclass(frozen=True, eq=False)
class LowRankKernel:
    """G G' + diag(ridge), for a kernel matrix ``K = G G' + E`` whose residual E is PSD.

    Products ``K @ v`` cost O(n_samples rank).

    Parameters
    ----------
    G : ndarray of shape (n_samples, rank)
        The factor; its rows at the pivots are lower triangular.
    pivots : ndarray of int, shape (rank,)
        The samples that it is exact at.
    residual : ndarray of shape (n_samples,)
        The diagonal of E, at least 0. As E is PSD, ``|E_ij| <= sqrt(residual_i residual_j)``.
    ridge : float or ndarray of shape (n_samples,)
        What is added to the diagonal: squared slacks with a weight of 1/ridge, of every sample its own in an array.
    """

    G: Array
    pivots: Indices
    residual: Array
    ridge: float | Array = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.G), len(self.G)

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def trace(self) -> float:
        """The trace of E, above its largest eigenvalue."""
        return float(self.residual.sum())

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of G G' + diag(ridge)."""
        return np.einsum("ij,ij->i", self.G, self.G) + self.ridge

    def __matmul__(self, v: Array) -> Array:
        return self.G @ (self.G.T @ v) + self.ridge * v

    def softened(self, ridge: float | Array) -> LowRankKernel:
        """Return the kernel with another ridge, above 0; a number, or one for every sample."""
        return replace(self, ridge=validation.sample_prices("ridge", ridge, len(self.G)))

    def on_pivots(self, c: Array) -> Array:
        """Coefficients (rank,) on the pivots alone of the function that has the scores G G'c on the sample."""
        return solve_triangular(self.G[self.pivots], self.G.T @ c, lower=True, trans="T")


def incomplete_cholesky(kernel: KernelFunction, X: Data, rank: int, *, tol: float = 1e-10) -> LowRankKernel:
    """Factor the kernel matrix of a sample, one pivot after another: that of the largest residual.

    S. Fine & K. Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001). It takes
    O(n_samples rank^2) time and O(n_samples rank) memory, and evaluates `rank` columns of the kernel and its diagonal.

    Parameters
    ----------
    kernel : callable
        PSD, such as one of `cvxens.kernels`; k(x, z) may depend on x and z only, so a `Stump` needs its ranges, a
        `Perceptron` its radius.
    X : array-like of shape (n_samples, n_features)
        Sample.
    rank : int
        At most so many pivots; fewer where a limit of time or Ctrl-C ends a fit that this is part of.
    tol : float
        Stop when the largest residual is so small relative to the largest entry of the diagonal.

    Returns
    -------
    LowRankKernel
        With the diagonal of what it leaves out.

    Raises
    ------
    InvalidInput
        The kernel depends on more than the two samples, has a zero diagonal, or is not PSD.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> K = incomplete_cholesky(lambda X, Z: 1 + X @ Z.T, X, rank=3)
    >>> K.rank, K.pivots, round(K.trace, 9)
    (2, array([3, 0]), 0.0)
    """
    if isinstance(kernel, type) or not callable(kernel):
        raise InvalidInput("kernel", f"found {kernel!r:.100}", "give a function k(X, Z), such as a Kernel")
    X = validation.finite_array("X", X, ndim=2)
    validation.positive("tol", tol)
    rank = min(validation.whole("rank", rank), len(X))
    with threadpool_limits(1, "blas"):
        return _factor(kernel, X, rank, tol)


def _factor(kernel: KernelFunction, X: Array, rank: int, tol: float) -> LowRankKernel:
    blocks = [X[first : first + BLOCK] for first in range(0, len(X), BLOCK)]
    residual = np.concatenate([np.diag(_evaluate(kernel, block, block)) for block in blocks])
    size = float(residual.max())
    if size <= 0:
        raise InvalidInput("kernel", "found no positive entry on the diagonal", "give a PSD kernel that is not zero")
    G, pivots = np.zeros((len(X), rank), order="F"), np.zeros(rank, np.intp)
    if tol >= 1:
        return LowRankKernel(G[:, :0], pivots[:0], residual)
    # one pivot at least; fewer than asked for make as good a factor, with a larger residual
    residual, k, pace = _next_pivot(kernel, X, (G, pivots, residual), 0, size), 1, Pace()
    with interruptible():
        while k < rank and residual.max() > tol * size and pace.allows_step():
            residual = _next_pivot(kernel, X, (G, pivots, residual), k, size)
            k += 1
    return LowRankKernel(G[:, :k], pivots[:k], residual)


def _next_pivot(kernel: KernelFunction, X: Array, factor: tuple[Array, Indices, Array], k: int, size: float) -> Array:
    """Put the k-th pivot, that of the largest residual, into G and the pivots; returns the new residual."""
    # K_.p - G G_p' over the root of its entry at p; the residual's diagonal loses the square
    G, pivots, residual = factor
    pivot = int(residual.argmax())
    column = _evaluate(kernel, X, X[pivot : pivot + 1])[:, 0] - G[:, :k] @ G[pivot, :k]
    # the pivot's own entry comes twice, beside few samples and beside all: alike to rounding, if k depends on two
    if abs(column[pivot] - residual[pivot]) > 1e-8 * size:
        found = f"found k(x, x) of sample {pivot} to differ by {column[pivot] - residual[pivot]:.3g}"
        raise InvalidInput("kernel", f"{found} with the other samples asked for", "fix its ranges or radius")
    G[:, k] = column / np.sqrt(residual[pivot])
    # at earlier pivots G G' is exact already: what is there is rounding
    G[pivots[:k], k], pivots[k] = 0.0, pivot
    return _clear_pivots(residual - G[:, k] ** 2, pivots[: k + 1], size)


def _clear_pivots(residual: Array, pivots: Indices, size: float) -> Array:
    """Return the residual, exactly 0 at the pivots and elsewhere clear of rounding."""
    residual[pivots] = 0.0
    if residual.min() < -1e-9 * size:
        found = f"found a residual of {residual.min():.3g} at sample {int(residual.argmin())}, so it is not PSD"
        raise InvalidInput("kernel", found, "add the kernel's constant or a ridge")
    return np.maximum(residual, 0.0)


def _evaluate(kernel: KernelFunction, X: Array, Z: Array) -> Array:
    values = validation.finite_array("kernel", kernel(X, Z), ndim=2)
    if values.shape != (len(X), len(Z)):
        found = f"found shape {values.shape} for {len(X)} and {len(Z)} samples"
        raise InvalidInput("kernel", found, "return a matrix with a row for each of the first samples")
    return values
