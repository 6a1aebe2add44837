"""Kernel matrices for cvxpy: checked, centred where that is called for, and factored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.rounding import EPSILON, dot, product
from cvxens.types import Array

NEGLIGIBLE = 1e-13
"""Eigenvalues below this, relative to the largest, are left out of a factor."""

NEGATIVE = 1e-9
"""Eigenvalues below minus this, relative to the largest, make a kernel indefinite."""


@dataclass(frozen=True, eq=False)
class Factor:
    """K = F F' with the coordinates of its expansions.

    Parameters
    ----------
    F : ndarray of shape (n_samples, rank)
        The factor.
    expand : ndarray of shape (n_samples, rank)
        Maps coordinates v of a function ``f = F v`` to coefficients c with ``f = K c`` and ``c'K c = |v|^2``.
    """

    F: Array
    expand: Array


def doubly_centred(K: Array) -> Array:
    """J K J with J = I - 11'/n: the same quadratic form wherever the coefficients sum to 0."""
    # a constant far from 0 beside the spread goes without rounding, before means lose digits to it
    K = K - K.flat[0]
    rows = K.mean(axis=0)
    return K - rows - rows[:, None] + rows.mean()


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel matrix that is PSD but for rounding, or PSD on coefficients that sum to 0.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric.
    lift : float
        With lift I added, the matrix is PSD to the rounding of its eigenvalues; mostly 0.
    """

    K: Array
    lift: float

    def product(self, c: Array) -> tuple[Array, Array]:
        """Evaluate K c, and bound how far it is from the product with the PSD matrix."""
        f, errors = product(self.K, c)
        return f, errors + self.lift * np.abs(c)

    def form(self, c: Array) -> tuple[float, float]:
        """Evaluate c'K c and bound its error."""
        f, errors = self.product(c)
        value = dot(c, f)
        if not np.isfinite(value):  # overflow: the form of a PSD matrix is not below 0
            return np.inf, 0.0
        return value, float(np.abs(c) @ errors) + EPSILON * abs(value)


def check_kernel(K: Any, n_samples: int, *, conditionally: bool = False) -> Kernel:
    """Check a symmetric matrix to be PSD, or PSD on coefficients that sum to 0.

    Raises
    ------
    InvalidInput
        Names the most negative eigenvalue, and what to do.
    """
    K = validation.symmetric(K)
    validation.same_length("K", K, n_samples)
    seen = doubly_centred(K) if conditionally else K
    values = eigh(seen, eigvals_only=True)
    if values[0] < -NEGATIVE * max(float(np.abs(K).max()) * len(K), np.finfo(float).tiny):
        if conditionally:
            raise InvalidInput(
                "K",
                f"found the eigenvalue {values[0]:.3g} after centring, so it is not even conditionally PSD",
                "give a kernel that is PSD on coefficients with sum 0",
            )
        raise InvalidInput(
            "K",
            f"found the eigenvalue {values[0]:.3g}, so it is not PSD",
            "add the kernel's constant (a simplified stump or perceptron kernel lacks it) or another PSD kernel",
        )
    # eigenvalues are known to a few units of rounding of the largest one (LAPACK); 0 within that is taken for 0
    error = max(8.0, len(K) ** 0.5) * EPSILON * float(np.abs(values).max())
    return Kernel(K, max(-float(values[0]) - error, 0.0))


def factor(K: Array) -> Factor:
    """Factor a PSD matrix by its eigenvalues, negligible ones left out; a zero matrix by one column of zeros."""
    values, vectors = eigh(K)
    kept = values > NEGLIGIBLE * max(values[-1], np.finfo(float).tiny)
    if not kept.any():
        return Factor(np.zeros((len(K), 1)), np.zeros((len(K), 1)))
    roots = np.sqrt(values[kept])
    return Factor(vectors[:, kept] * roots, vectors[:, kept] / roots)
