"""Sums of floats that are exact, and therefore the same however a sample is cut into shards.

Every finite float is a whole number of units of ``2**-1074``. An *exact sum* is that whole number, in digits of 32 bits
with a sign each (Neal 2015, *Fast exact summation using small and large superaccumulators*): digits are added up as
64-bit integers, in whatever order, and there is no rounding before the end, when the total becomes one float.
"""

from __future__ import annotations

from math import inf
from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.types import Array

Ints: TypeAlias = NDArray[np.int64]

DIGITS = 67
"""Digits of 32 bits for exponents of 0 to 2046 and a mantissa of 53 bits; the last one counts what is not finite."""

LEAST_EXPONENT = 1074
"""The smallest float is ``2**-1074``."""


@njit(cache=True, nogil=True)
def sum_exactly(values: Array) -> Ints:
    """Return the exact sum of floats as digits, (67,); up to 2**31 of them, and of such sums, can be added up.

    Examples
    --------
    >>> to_float(sum_exactly(np.array([1e300, 1.0, -1e300])))
    1.0
    """
    digits = np.zeros(DIGITS, np.int64)
    for bits in values.view(np.int64):
        exponent = (bits >> 52) & 0x7FF
        mantissa = bits & 0xFFFFFFFFFFFFF
        if exponent == 0x7FF:
            digits[DIGITS - 1] += 1
            continue
        if exponent > 0:
            mantissa |= 1 << 52
            exponent -= 1
        # mantissa 2**exponent units: three digits, of which the halves of the mantissa fill two each
        first, shift = exponent >> 5, exponent & 31
        low = (mantissa & 0xFFFFFFFF) << shift
        high = ((mantissa >> 32) << shift) + (low >> 32)
        sign = 1 if bits >= 0 else -1
        digits[first] += sign * (low & 0xFFFFFFFF)
        digits[first + 1] += sign * (high & 0xFFFFFFFF)
        digits[first + 2] += sign * (high >> 32)
    return digits


def to_float(digits: Ints) -> float:
    """Return an exact sum as a float, rounded once; inf where an entry was not finite or the sum overflows."""
    if digits[-1]:
        return inf
    total = sum(int(digit) << (32 * k) for k, digit in enumerate(digits[:-1].tolist()))
    try:
        return total / (1 << LEAST_EXPONENT)
    except OverflowError:
        return inf if total > 0 else -inf


def add(parts: Any) -> Any:
    """Add up arrays, or tuples of arrays entry by entry.

    Examples
    --------
    >>> add([(np.array([1, 2]), np.array(3)), (np.array([10, 20]), np.array(30))])
    (array([11, 22]), array(33))
    """
    first, *others = parts
    if isinstance(first, tuple):
        return tuple(add(column) for column in zip(*parts, strict=True))
    total = first.copy()
    for other in others:
        total += other
    return total
