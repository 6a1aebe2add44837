"""Error bounds of floating-point evaluation, sums that lose no digits to cancellation, deviations in any unit.

A certificate counts what rounding can have done to its two values (`cvxens.certificates`). Two things keep that small:
products are evaluated as if in twice the precision (Ogita, Rump & Oishi 2005, *Accurate sum and dot product*), where
the matrix is at hand, and their error is bounded by the sizes of the terms, not by a share of the result, which
cancellation can make far smaller than its terms.
"""

from __future__ import annotations

from math import fsum

import numpy as np

from cvxens.types import Array

EPSILON = float(np.finfo(float).eps)
"""The distance from 1 to the next float: twice the largest relative error of one operation."""

TINY = float(np.finfo(float).tiny)
"""The smallest float of full precision: a divisor that may be 0 is at least this."""

LARGEST = 1e140
"""Entries up to this can be split and multiplied without overflow; the split factor is 1.3e8."""

UNDERFLOW = 1e-322
"""The most that underflow costs a product of two floats and its low part, in absolute terms."""

BLOCK = 64
"""Rows of a matrix that is stored by rows which are copied, so that the sums of as many run side by side."""

COMPENSATED = 20_000_000
"""Products of up to so many terms are evaluated in twice the precision, which takes about ten times as long."""


def sum_error(n_terms: int, size: float) -> float:
    """Bound the rounding error of a sum of `n_terms` products whose absolute values add up to `size`.

    Any order of summation has a relative error of at most ``n eps / 2 / (1 - n eps / 2)``, fused or not; ``n eps`` is
    above that, and one more term covers the product.
    """
    return (n_terms + 1) * EPSILON * size


def measure_spread(X: Array, masses: Array | None = None) -> float:
    """Return the standard deviation of all numbers of X, rows counted by their masses, in whatever unit they are.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [4.0, 5.0]])
    >>> measure_spread(X), measure_spread(2.0**1000 * X) / 2.0**1000, measure_spread(X, np.array([1.0, 0.0]))
    (1.5811388300841898, 1.5811388300841898, 0.5)
    """
    # X = 2^e Z with Z in [-1, 1], so that no square is too large or too small
    exponent = np.frexp(np.abs(X).max())[1]
    masses = np.ones(len(X)) if masses is None else masses
    Z, p = np.ldexp(X, -exponent), masses / masses.sum()
    return float(np.ldexp(np.sqrt(p @ ((Z - p @ Z.mean(axis=1)) ** 2).mean(axis=1)), exponent))


def dot(a: Array, b: Array) -> float:
    """Evaluate a'b with one rounding: the products by error-free transformation, their sum exactly.

    Examples
    --------
    >>> dot(np.array([1e17, 1.0, -1e17]), np.array([1.0, 1.0, 1.0]))
    1.0
    """
    a, b = np.ravel(a).astype(np.float64), np.ravel(b).astype(np.float64)
    if not _splittable(a) or not _splittable(b):
        return float(a @ b)
    return fsum(split(a, b).tolist())


def split(a: Array, b: Array) -> Array:
    """Return terms that add up to a'b exactly, two for each entry, where nothing over- or underflows."""
    from cvxens.compensated import split_products

    return split_products(np.ascontiguousarray(a), np.ascontiguousarray(b))


def product(A: Array, x: Array, norms: Array | None = None) -> tuple[Array, Array]:
    """Evaluate ``A @ x`` and bound the error of every entry.

    Parameters
    ----------
    A : ndarray of shape (n, m)
        Matrix, stored by rows or by columns.
    x : ndarray of shape (m,) or (m, k)
        One vector, or k of them.
    norms : ndarray of shape (n,), optional
        The Euclidean norms of the rows, where they are known: they spare the pass over |A| that bounds the errors of
        a product that is not in twice the precision.

    Returns
    -------
    values, errors : ndarray of shape (n,) or (n, k)
        In twice the precision where there are at most 2e7 terms, else as BLAS sums them.

    Examples
    --------
    >>> values, errors = product(np.array([[1e17, 1.0, 1e17]]), np.array([1.0, 1.0, -1.0]))
    >>> values, errors < 1e-9
    (array([1.]), array([ True]))
    """
    if x.ndim == 2:
        values, errors = np.zeros((2, A.shape[0], x.shape[1]))
        for k in range(x.shape[1]):
            values[:, k], errors[:, k] = product(A, x[:, k], norms)
        return values, errors
    m = len(x)
    if 0 < A.size <= COMPENSATED:
        values, sizes = _products(np.asarray(A, np.float64), np.asarray(x, np.float64))
        # where splitting or a product overflows, neither is finite
        if np.isfinite(values).all() and np.isfinite(sizes).all():
            # u |a'x| + gamma_m^2 |a|'|x|, twice that for the rounding of the bound itself
            lost = np.where(sizes > 0, m * UNDERFLOW, 0.0)
            return values, EPSILON * np.abs(values) + 2 * (m * EPSILON) ** 2 * sizes + lost
    # |a|'|x| <= |a| |x| by Cauchy and Schwarz; the norms were rounded too
    sizes = _sum_sizes(A, np.abs(x)) if norms is None else (1 + 2 * m * EPSILON) * float(np.linalg.norm(x)) * norms
    return A @ x, sum_error(m, 1.0) * sizes


def _products(A: Array, x: Array) -> tuple[Array, Array]:
    """Evaluate ``A x`` in twice the precision, and ``|A| |x|``; one stored by rows is copied by blocks."""
    from cvxens.compensated import products

    x, rows = np.ascontiguousarray(x), len(A) if A.flags.f_contiguous else BLOCK
    parts = [products(np.ascontiguousarray(A[i : i + rows].T), x) for i in range(0, len(A), rows)]
    values, sizes = map(np.concatenate, zip(*parts, strict=True))
    return values, sizes


def _sum_sizes(A: Array, x: Array) -> Array:
    """Evaluate ``|A| x`` by blocks of rows, so that ``|A|`` need not fit into memory."""
    rows = max(1, 2**20 // max(A.shape[1], 1))
    return np.concatenate([np.zeros(0), *(np.abs(A[first : first + rows]) @ x for first in range(0, len(A), rows))])


def _splittable(a: Array) -> bool:
    return a.size == 0 or bool(max(float(a.max()), -float(a.min())) < LARGEST)
