"""The matrix of an additive kernel for Newton's method, multiplied by prefix sums and never stored.

A step is a linear system with K and a diagonal, solved by conjugate gradients; the kernel of low rank, whose optimum
they start at, conditions it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from cvxens.rounding import EPSILON
from cvxens.solvers.additive import AdditiveKernel
from cvxens.solvers.conjugate_gradients import conjugate_gradients
from cvxens.solvers.incomplete_cholesky import LowRankKernel
from cvxens.types import Array

COLUMNS = 200
"""Columns of the low-rank factor that condition a system: with all 500, steps took half the products, and twice the
time."""


@dataclass(frozen=True, eq=False)
class ConditionedMatrix:
    """An additive matrix K and what is near it: P P' + diag(residual)."""

    K: AdditiveKernel
    P: Array
    residual: Array

    @classmethod
    def from_factor(cls, K: AdditiveKernel, low: LowRankKernel) -> ConditionedMatrix:
        """Take the first columns of a low-rank kernel such that the residual ``K - G G'`` is PSD."""
        # the first k columns of an incomplete Cholesky factor are that of rank k
        further = low.G[:, COLUMNS:]
        return cls(K, low.G[:, :COLUMNS], low.residual + np.einsum("ij,ij->i", further, further))

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
        enough = 1e-6**2 * float(left @ invert(left))
        d[free], *_ = conjugate_gradients(
            lambda x: among @ x + stiffness * x, left, invert, lambda _, __, size: size <= enough, 500
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
