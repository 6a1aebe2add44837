"""Sums and products of floats without rounding, compiled, and matrix-vector products in twice the working precision.

The two error-free transformations that the rest is made of are Knuth's sum and Dekker's product by Veltkamp's
splitting; the products are Dot2 of Ogita, Rump & Oishi (2005), *Accurate sum and dot product*.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cvxens.types import Array

SPLIT = 134217729.0
"""2^27 + 1: Veltkamp's factor, which cuts a float into two halves whose products are exact."""


@njit(cache=True, nogil=True)
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return the rounded sum and what rounding took off: the two add up to a + b exactly."""
    # Knuth's six operations: what of b went into the total, what of a, and what is left of both
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


@njit(cache=True, nogil=True)
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return the rounded product and what rounding took off; exact where nothing over- or underflows."""
    # Veltkamp: the high halves have 26 bits, so that the four products of halves are exact; then Dekker's order
    product = a * b
    scaled = SPLIT * a
    a_high = scaled - (scaled - a)
    scaled = SPLIT * b
    b_high = scaled - (scaled - b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


@njit(cache=True, nogil=True)
def split_products(a: Array, b: Array) -> Array:
    """Return terms that add up to a'b exactly, shape (2 n,)."""
    terms = np.empty(2 * len(a))
    for i in range(len(a)):
        terms[2 * i], terms[2 * i + 1] = two_product(a[i], b[i])
    return terms


@njit(cache=True, nogil=True)
def products(A: Array, x: Array) -> tuple[Array, Array]:
    """Evaluate ``A'x`` and ``|A|'|x|``, all sums side by side; where anything overflows, the values are not finite."""
    m, n = A.shape
    total, lost, sizes = np.zeros(n), np.zeros(n), np.zeros(n)
    for j in range(m):
        for i in range(n):
            # Dot2: the sum of what rounding takes off is of second order, so plain addition does for it
            term, low = two_product(A[j, i], x[j])
            total[i], rest = two_sum(total[i], term)
            lost[i] += low + rest
            sizes[i] += abs(term)
    return total + lost, sizes
