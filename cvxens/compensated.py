"""Matrix-vector products in twice the working precision, compiled: Dot2 of Ogita, Rump & Oishi (2005)."""

from __future__ import annotations

import numpy as np
from numba import njit

from cvxens.types import Array

SPLIT = 134217729.0
"""2^27 + 1: Veltkamp's factor, which cuts a float into two halves whose products are exact."""


@njit(cache=True, nogil=True)
def products_by_rows(A: Array, x: Array) -> tuple[Array, Array]:
    """Evaluate ``A x`` and ``|A| |x|`` row by row."""
    n, m = A.shape
    values, sizes = np.zeros(n), np.zeros(n)
    for i in range(n):
        total, lost, size = 0.0, 0.0, 0.0
        for j in range(m):
            a, b = A[i, j], x[j]
            # p + low = a b exactly
            p = a * b
            c = SPLIT * a
            a_high = c - (c - a)
            c = SPLIT * b
            b_high = c - (c - b)
            a_low, b_low = a - a_high, b - b_high
            low = a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)
            # t + rest = total + p exactly
            t = total + p
            back = t - total
            rest = (total - (t - back)) + (p - back)
            total = t
            lost += low + rest
            size += abs(p)
        values[i] = total + lost
        sizes[i] = size
    return values, sizes


@njit(cache=True, nogil=True)
def products_by_columns(A: Array, x: Array) -> tuple[Array, Array]:
    """Evaluate ``A x`` and ``|A| |x|`` column by column, for a matrix stored by columns."""
    n, m = A.shape
    total, lost, sizes = np.zeros(n), np.zeros(n), np.zeros(n)
    for j in range(m):
        b = x[j]
        c = SPLIT * b
        b_high = c - (c - b)
        b_low = b - b_high
        for i in range(n):
            a = A[i, j]
            # p + low = a b exactly
            p = a * b
            c = SPLIT * a
            a_high = c - (c - a)
            a_low = a - a_high
            low = a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)
            # t + rest = total + p exactly
            t = total[i] + p
            back = t - total[i]
            rest = (total[i] - (t - back)) + (p - back)
            total[i] = t
            lost[i] += low + rest
            sizes[i] += abs(p)
    return total + lost, sizes
