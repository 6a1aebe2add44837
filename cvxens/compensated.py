"""Sums, products and flows of floats without rounding, compiled, and products of matrices in twice the precision.

The two error-free transformations that products are made of are Knuth's sum and Dekker's product by Veltkamp's
splitting; the products are Dot2 of Ogita, Rump & Oishi (2005), *Accurate sum and dot product*. Flows are rounded down
to a grid on which sums are exact, so that what sums have to satisfy holds in real numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.types import Array, Indices

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


@njit(cache=True, nogil=True)
def find_shortage(supplies: NDArray[Any], demands: NDArray[Any], capacity: float) -> float:
    """Return how much of the supplies cannot reach the demands, where every pair carries at most the capacity.

    The least cut has the k largest supplies on one side, for some k, and what the demands can take from k samples.

    Examples
    --------
    >>> find_shortage(np.array([3.0, 1.0]), np.array([2.0, 2.0]), 1.0), find_shortage(np.ones(2), np.ones(2), 1.0)
    (1.0, 0.0)
    """
    largest, demands = np.sort(supplies)[::-1], np.sort(demands)
    n_supplies, n_demands = len(largest), len(demands)
    # from so many samples on a demand is met as a whole; more of them would overflow whole numbers
    enough = int(min(demands[-1] // capacity, n_supplies)) + 1 if capacity > 0 and n_demands else n_supplies
    # what the demands take that are met as a whole, which are the least ones
    n_met, met = 0, 0 * capacity
    supplied, lacking = 0 * capacity, 0 * capacity
    for k in range(n_supplies):
        reach = capacity * min(k + 1, enough)
        while n_met < n_demands and demands[n_met] <= reach:
            met += demands[n_met]
            n_met += 1
        supplied += largest[k]
        lacking = max(lacking, supplied - (met + reach * (n_demands - n_met)))
    return lacking


@njit(cache=True, nogil=True)
def fit_flow(supplies: Array, demands: Array, capacity: float) -> tuple[Array, Array]:
    """Scale supplies and demands down until a flow within the capacities meets both exactly, by as little as it takes.

    They are rounded down to a grid on which sums are exact, so that the conditions hold in real numbers.

    Examples
    --------
    >>> fit_flow(np.array([3.0, 1.0]), np.array([2.0, 2.0]), 2.0)
    (array([3., 1.]), array([2., 2.]))
    >>> supplies, demands = fit_flow(np.array([3.0, 1.0]), np.array([2.0, 2.0]), 1.0)
    >>> supplies.round(6), demands.round(6)
    (array([2., 1.]), array([1.5, 1.5]))
    """
    # no sample has more than the capacity of all its pairs
    supplies, demands = np.minimum(supplies, capacity * len(demands)), np.minimum(demands, capacity * len(supplies))
    supplied, demanded = supplies.sum(), demands.sum()
    if not (0 < supplied < np.inf and 0 < demanded < np.inf):
        return np.zeros(len(supplies)), np.zeros(len(demands))
    size = min(supplied, demanded)
    supplies, demands = supplies * (size / supplied), demands * (size / demanded)
    # bits of the sum of supplies, counted in units of a grid on which sums of them are exact
    bits = 52
    exponent = bits - math.frexp(size)[1]
    # a capacity beyond all of them together is as good as none
    units = int(min(np.floor(math.ldexp(capacity, exponent)), 2.0 ** (bits + 1)))
    low, high = 1.0, 1.0
    a, b, fits = _round_down(supplies, demands, exponent, units, low)
    # the first share that supplies and demands are scaled down by: most of what rounding them to the grid may exceed
    lost = 2.0**-42
    while not fits and lost < 1:
        high, low, lost = 1 - lost / 4, 1 - lost, 4 * lost
        a, b, fits = _round_down(supplies, demands, exponent, units, low)
    if not fits:
        return np.zeros(len(supplies)), np.zeros(len(demands))
    if high - low > 1e-9:
        for _ in range(40):
            middle = (low + high) / 2
            some, others, fits = _round_down(supplies, demands, exponent, units, middle)
            if fits:
                low, a, b = middle, some, others
            else:
                high = middle
    return np.ldexp(a.astype(np.float64), -exponent), np.ldexp(b.astype(np.float64), -exponent)


@njit(cache=True, nogil=True)
def _round_down(
    supplies: Array, demands: Array, exponent: int, capacity: int, share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Return a share of supplies and demands in units of 2^-exponent, of the same sum, and whether a flow meets them.

    The capacity of a pair is in these units.
    """
    a = np.ldexp(share * supplies, exponent).astype(np.int64)
    b = np.ldexp(share * demands, exponent).astype(np.int64)
    surplus = a.sum() - b.sum()
    take_units(a, surplus)
    take_units(b, -surplus)
    return a, b, find_shortage(a, b, capacity) == 0


@njit(cache=True, nogil=True)
def take_units(units: NDArray[np.int64], surplus: int) -> None:
    """Take a few units away from whole numbers, in place, the largest ones first and evenly; none falls below 0."""
    while surplus > 0 and units.any():
        largest = np.argsort(-units, kind="mergesort")[: min(surplus, np.count_nonzero(units))]
        each = max(surplus // len(largest), 1)
        for k in largest:
            taken = min(units[k], each)
            units[k] -= taken
            surplus -= taken


@njit(cache=True, nogil=True)
def fit_flows(flows: Array, starts: Indices, middles: Indices, prices: Array) -> None:
    """Fit the flow of every group, in place: its supplies are from its start to its middle, then come its demands.

    The flow of a single pair is what both and the price allow, 0 for what is no number, and needs no grid.
    """
    for k in range(len(middles)):
        supplies, demands = flows[starts[k] : middles[k]], flows[middles[k] : starts[k + 1]]
        if len(supplies) == 1 and len(demands) == 1:
            flow = min(supplies[0], demands[0], prices[k])
            supplies[0] = demands[0] = flow if flow > 0 else 0.0
        else:
            fitted = fit_flow(supplies, demands, prices[k])
            supplies[:], demands[:] = fitted[0], fitted[1]
