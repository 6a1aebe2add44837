"""The matrix of an additive kernel for Newton's method, multiplied by prefix sums and never stored.

A step is a linear system with K and a diagonal, solved by conjugate gradients; the kernel of low rank, whose optimum
they start at, conditions it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from cvxens.kernels.kernel import Kernel
from cvxens.rounding import EPSILON, sum_error
from cvxens.solvers.additive import AdditiveKernel
from cvxens.solvers.conjugate_gradients import conjugate_gradients
from cvxens.solvers.incomplete_cholesky import LowRankKernel
from cvxens.types import Array

COLUMNS = 200
"""Columns of the low-rank factor that condition a system: with all 500, steps took half the products, and twice the
time."""

LINEAR_ACCURACY = 1e-6
"""The relative residual, in the norm of the conditioner, at which conjugate gradients stop."""

MAX_PRODUCTS = 500
"""Products with the kernel after which conjugate gradients are taken as they are."""


@dataclass(frozen=True, eq=False)
class AdditiveMatrix:
    """K = a 1' + 1 a' - sum_d scale_d |x_d - x'_d| on a sample; 2 a is its diagonal.

    Parameters
    ----------
    distances : AdditiveKernel
        The part in two samples.
    offsets : ndarray of shape (n_samples,)
        a, the parts in one.

    Examples
    --------
    >>> from cvxens.kernels import HistogramIntersection
    >>> K = AdditiveMatrix.from_kernel(HistogramIntersection(), np.array([[3.0, 1.0], [2.0, 2.0]]))
    >>> K @ np.array([1.0, 0.0])
    array([4., 3.])
    """

    distances: AdditiveKernel
    offsets: Array

    @classmethod
    def from_kernel(cls, kernel: Any, X: Array) -> AdditiveMatrix | None:
        """Sort a sample; None for a kernel that is not additive."""
        scale = kernel.additive_scales(X) if isinstance(kernel, Kernel) else None
        return None if scale is None else cls(AdditiveKernel.of(X, scale), kernel.diag(X) / 2)

    def __matmul__(self, v: Array) -> Array:
        return self.distances.product(v) + self._add_offsets(v)

    def _add_offsets(self, v: Array) -> Array:
        """Return ``(a 1' + 1 a') v``."""
        return self.offsets * v.sum() + float(self.offsets @ v)

    def among(self, chosen: NDArray[np.intp]) -> AdditiveMatrix:
        """Return the matrix of some of the samples, given in ascending order."""
        return AdditiveMatrix(self.distances.among(chosen), self.offsets[chosen])

    def conditioned(self, low: LowRankKernel) -> ConditionedMatrix:
        """Return it with a low-rank kernel such that the residual ``K - G G'`` is PSD."""
        # the first k columns of an incomplete Cholesky factor are that of rank k
        further = low.G[:, COLUMNS:]
        return ConditionedMatrix(self, low.G[:, :COLUMNS], low.residual + np.einsum("ij,ij->i", further, further))

    def measure(self, v: Array) -> tuple[Array, float]:
        """Return K v, and a bound on the error of any of its entries."""
        size = float(np.abs(v).sum())
        # a 1'v + 1 a'v, of n terms each, and a itself is a sum over features
        n_terms = len(v) + len(self.distances.scale) + 4
        error = sum_error(n_terms, 2 * float(np.abs(self.offsets).max()) * size)
        product = self.distances.product(v, compensated=True) + self._add_offsets(v)
        return product, self.distances.product_error(v) + error


@dataclass(frozen=True, eq=False)
class ConditionedMatrix:
    """An additive matrix K and what is near it: P P' + diag(residual)."""

    K: AdditiveMatrix
    P: Array
    residual: Array

    def __matmul__(self, v: Array) -> Array:
        return self.K @ v

    def solve(self, D: Array, right: Array, weight: float) -> Array:
        """Solve ``(weight I + diag(D) K) d = right``, or go as far as there is time.

        Where D is 0, d is the right side over the weight, and on the others, F, ``(K_FF + weight / D_F) d_F`` is what
        is left over D_F.
        """
        # curvatures that rounding loses against the largest leave the system as it is
        is_free = EPSILON * D.max() < D
        d = np.where(is_free, 0.0, right / weight)
        if not (free := np.flatnonzero(is_free)).size:
            return d
        among, stiffness = self.K.among(free), weight / D[free]
        left, invert = right[free] / D[free] - (self.K @ d)[free], self._invert(free, stiffness)
        # r'M^-1 r with the conditioner M: in |r| the samples with the largest stiffness would count alone
        enough = LINEAR_ACCURACY**2 * float(left @ invert(left))
        d[free], *_ = conjugate_gradients(
            lambda x: among @ x + stiffness * x, left, invert, lambda _, __, size: size <= enough, MAX_PRODUCTS
        )
        return d

    def _invert(self, free: NDArray[np.intp], stiffness: Array) -> Callable[[Array], Array]:
        """Return the product with ``(P P' + diag(residual + stiffness))^-1`` on some samples."""
        # Woodbury: D^-1 - D^-1 P (I + P' D^-1 P)^-1 P' D^-1
        P, inverse = self.P[free], 1 / (stiffness + self.residual[free])
        inner = P.T @ (P * inverse[:, np.newaxis])
        inner[np.diag_indices_from(inner)] += 1
        factor = cho_factor(inner, lower=True, overwrite_a=True)

        def apply(r: Array) -> Array:
            x = inverse * r
            return x - inverse * (P @ cho_solve(factor, P.T @ x))

        return apply
