"""Newton's method for functions of an additive kernel, whose matrix is multiplied by prefix sums and never stored.

The problem is ``min loss(y f) + weight/2 c'K c`` over ``f = K c``, without an intercept: the SVM with squared slacks
and the regularised exponential loss. A step is a linear system with K and a diagonal, solved by conjugate gradients;
the kernel of low rank, whose optimum they start at, conditions it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from cvxens.kernels.kernel import Kernel
from cvxens.limits import time_is_up
from cvxens.rounding import EPSILON, sum_error
from cvxens.solvers.additive import AdditiveKernel
from cvxens.solvers.incomplete_cholesky import LowRankKernel
from cvxens.solvers.newton import FLATNESS, MAX_STEPS, find_root
from cvxens.types import Array

COLUMNS = 200
"""Columns of the low-rank factor that condition a system: with all 500, steps took half the products, and twice the
time."""

LINEAR_ACCURACY = 1e-6
"""The relative residual, in the norm of the conditioner, at which conjugate gradients stop."""

MAX_PRODUCTS = 500
"""Products with the kernel after which conjugate gradients are taken as they are."""


class SmoothLoss(Protocol):
    """A convex loss of margins z with u = -phi'(z), of which D = phi''(z) is a function."""

    def multipliers(self, z: Array) -> Array: ...

    def curvature(self, u: Array) -> Array: ...


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

    def measure(self, v: Array) -> tuple[Array, float]:
        """Return K v, and a bound on the error of any of its entries."""
        size = float(np.abs(v).sum())
        # a 1'v + 1 a'v, of n terms each, and a itself is a sum over features
        n_terms = len(v) + len(self.distances.scale) + 4
        error = sum_error(n_terms, 2 * float(np.abs(self.offsets).max()) * size)
        product = self.distances.product(v, compensated=True) + self._add_offsets(v)
        return product, self.distances.product_error(v) + error


def minimise_expansion(
    K: AdditiveMatrix, low: LowRankKernel, y: Array, loss: SmoothLoss, weight: float, c: Array
) -> Iterator[Array]:
    """Take Newton's steps for min loss(y f) + weight/2 c'K c over f = K c, from a multiple of c.

    At the minimum ``weight c = y u``. With ``D = loss''`` the step solves ``weight d + D K d = y u - weight c``: where
    D is 0, d is the right side over the weight, and on the others, F, ``(K_FF + weight / D_F) d_F`` is what is left.

    Parameters
    ----------
    K : AdditiveMatrix
        The kernel matrix.
    low : LowRankKernel
        Of low rank, such that the residual ``K - G G'`` is PSD.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    loss : SmoothLoss
        `SquaredHinge` or `Exponential`, of margins.
    weight : float
        Above 0.
    c : ndarray of shape (n_samples,)
        Coefficients to start from, not all 0.

    Yields
    ------
    ndarray of shape (n_samples,)
        Coefficients, each with a lower objective than the last, until there were 100 or rounding hides a descent.

    Examples
    --------
    >>> from cvxens.kernels import HistogramIntersection
    >>> from cvxens.problems.losses import SquaredHinge
    >>> from cvxens.solvers import incomplete_cholesky
    >>> X, y = np.array([[1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, 1.0])
    >>> K = AdditiveMatrix.from_kernel(HistogramIntersection(), X)
    >>> low, loss = incomplete_cholesky(HistogramIntersection(), X, rank=1), SquaredHinge(2.0)
    >>> *_, c = minimise_expansion(K, low, y, loss, 1.0, y)
    >>> f = K @ c
    >>> bool(np.allclose(c, y * loss.multipliers(y * f)))
    True
    """
    conditioner = _Conditioner.from_factor(low)
    d, df, c, f = c, K @ c, np.zeros(len(y)), np.zeros(len(y))
    for _ in range(MAX_STEPS):
        t = _find_length(y, loss, weight, (c, f), (d, df))
        if t == 0:
            return
        c, f = c + t * d, f + t * df
        yield c
        d = _find_direction(K, conditioner, y, loss, weight, (c, f))
        df = K @ d


def _find_length(
    y: Array, loss: SmoothLoss, weight: float, at: tuple[Array, Array], along: tuple[Array, Array]
) -> float:
    """Return how far to go from (c, f) along (d, K d), to where the slope is flat; 0 where the objective rises."""
    (_, f), (d, df) = at, along
    rise, bend = weight * float(d @ f), weight * float(d @ df)

    # d/dt of loss(y (f + t df)) + weight/2 (c + t d)'K (c + t d); far out an exponential loss overflows
    def slope(t: float) -> tuple[float, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            u = loss.multipliers(y * (f + t * df))
            return rise + t * bend - float((y * u) @ df), bend + float(loss.curvature(u) @ df**2)

    here, _ = slope(0.0)
    return find_root(slope, 1.0, tolerance=FLATNESS * abs(here), low=0.0) if here < 0 else 0.0


def _find_direction(
    K: AdditiveMatrix, conditioner: _Conditioner, y: Array, loss: SmoothLoss, weight: float, at: tuple[Array, Array]
) -> Array:
    """Return Newton's step in c."""
    c, f = at
    u = loss.multipliers(y * f)
    D, left = loss.curvature(u), y * u - weight * c
    # curvatures that rounding loses against the largest leave the system as it is
    is_free = EPSILON * D.max() < D
    d = np.where(is_free, 0.0, left / weight)
    free = np.flatnonzero(is_free)
    if not free.size:
        return d
    right = left[free] / D[free] - (K @ d)[free]
    d[free] = _solve_by_conjugate_gradients(K.among(free), weight / D[free], right, conditioner.among(free))
    return d


def _solve_by_conjugate_gradients(
    K: AdditiveMatrix, stiffness: Array, right: Array, conditioner: _Conditioner
) -> Array:
    """Solve ``(K + diag(stiffness)) x = right``, or go as far as there is time."""
    precondition = conditioner.invert(stiffness)
    x, residual = np.zeros_like(right), right
    direction = conditioned = precondition(residual)
    square = float(residual @ conditioned)
    # r'M^-1 r with the conditioner M: in |r| the samples with the largest stiffness would count alone
    enough = LINEAR_ACCURACY**2 * square
    for _ in range(MAX_PRODUCTS):
        if square <= enough or time_is_up():
            break
        product = K @ direction + stiffness * direction
        length = square / float(direction @ product)
        x, residual = x + length * direction, residual - length * product
        conditioned = precondition(residual)
        last, square = square, float(residual @ conditioned)
        direction = conditioned + square / last * direction
    return x


@dataclass(frozen=True, eq=False)
class _Conditioner:
    """P P' + diag(residual): the first columns of a low-rank factor, and the diagonal of what these leave out."""

    P: Array
    residual: Array

    @classmethod
    def from_factor(cls, low: LowRankKernel) -> _Conditioner:
        # the first k columns of an incomplete Cholesky factor are that of rank k
        further = low.G[:, COLUMNS:]
        return cls(low.G[:, :COLUMNS], low.residual + np.einsum("ij,ij->i", further, further))

    def among(self, chosen: NDArray[np.intp]) -> _Conditioner:
        return _Conditioner(self.P[chosen], self.residual[chosen])

    def invert(self, stiffness: Array) -> Any:
        """Return the product with ``(P P' + diag(residual + stiffness))^-1``."""
        # Woodbury: D^-1 - D^-1 P (I + P' D^-1 P)^-1 P' D^-1
        P, inverse = self.P, 1 / (stiffness + self.residual)
        inner = P.T @ (P * inverse[:, np.newaxis])
        inner[np.diag_indices_from(inner)] += 1
        factor = cho_factor(inner, lower=True, overwrite_a=True)

        def apply(r: Array) -> Array:
            x = inverse * r
            return x - inverse * (P @ cho_solve(factor, P.T @ x))

        return apply
