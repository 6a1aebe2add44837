"""Sequential minimal optimisation on a block of variables whose kernel matrix is at hand."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.types import Array

SINGULAR = 1e-12
"""The least curvature along a pair of variables, relative to the largest diagonal entry."""


@njit(cache=True, nogil=True)
def optimise_block(K: Array, point: Array, bounds: Array, tol: float, max_steps: int) -> int:
    """Minimise ``1/2 v'K v - q'v`` over ``low <= v <= high`` with sum v fixed; v and r = q - K v are changed in place.

    Each step moves the pair of the largest violation and, for it, the largest gain of second order (Fan, Chen & Lin,
    *Working set selection using second order information*, JMLR 6 (2005)).

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix of the block.
    point, bounds : ndarray of shape (2, n)
        v and r; low and high.
    tol : float
        The violation ``max r over those that may grow - min r over those that may fall`` at which to stop.
    max_steps : int
        A limit on the steps.

    Returns
    -------
    int
        Steps taken.
    """
    r = point[1]
    diagonal, curvature = np.diag(K).copy(), np.empty(len(K))
    least = max(SINGULAR * np.abs(diagonal).max(), 1e-300)
    for step in range(max_steps):
        i, violation = _steepest(point, bounds)
        if violation <= tol:
            return step
        row = K[i]
        for k in range(len(r)):
            curvature[k] = max(diagonal[i] + diagonal[k] - 2 * row[k], least)
        j, length = _partner(curvature, point, bounds[0], r[i])
        length = _move(point[0], bounds, i, j, length)
        for k in range(len(r)):
            r[k] -= length * (K[i, k] - K[j, k])
    return max_steps


@njit(cache=True, nogil=True)
def _steepest(point: Array, bounds: Array) -> tuple[int, float]:
    """The variable to raise, and the violation."""
    v, r, low, high = point[0], point[1], bounds[0], bounds[1]
    i, largest, smallest = -1, -np.inf, np.inf
    for k in range(len(v)):
        if v[k] < high[k] and r[k] > largest:
            i, largest = k, r[k]
        if v[k] > low[k]:
            smallest = min(smallest, r[k])
    return i, largest - smallest


@njit(cache=True, nogil=True)
def _partner(curvature: Array, point: Array, low: Array, steepest: float) -> tuple[int, float]:
    """The variable to lower when that of the largest r is raised, and by how much if there were no bounds."""
    v, r = point[0], point[1]
    j, gain, length = -1, 0.0, 0.0
    for k in range(len(v)):
        if v[k] > low[k] and r[k] < steepest:
            fall = steepest - r[k]
            if fall * fall > gain * curvature[k]:
                j, gain, length = k, fall * fall / curvature[k], fall / curvature[k]
    return j, length


@njit(cache=True, nogil=True)
def _move(v: Array, bounds: Array, i: int, j: int, length: float) -> float:
    """Raise v_i and lower v_j by as much as the bounds allow, onto these where they are met; return by how much."""
    room_i, room_j = bounds[1, i] - v[i], v[j] - bounds[0, j]
    length = min(length, room_i, room_j)
    v[i] = bounds[1, i] if length == room_i else v[i] + length
    v[j] = bounds[0, j] if length == room_j else v[j] - length
    return length


@njit(cache=True, nogil=True)
def add_rows(matrix: NDArray, places: NDArray[np.intp], weights: Array, f: Array) -> None:
    """Add ``sum_k weights_k matrix[places_k]`` to f."""
    for k in range(len(places)):
        if weights[k] != 0.0:
            row, weight = matrix[places[k]], weights[k]
            for i in range(len(f)):
                f[i] += weight * row[i]
