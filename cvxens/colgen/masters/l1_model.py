"""The quadratic model of a step of proximal Newton: min g'd + 1/2 d'B d + sum price |w + d|."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.colgen.masters.smooth_newton import EPS, solve_definite
from cvxens.deadline import time_is_up
from cvxens.types import Array

MAX_PASSES = 60
SWEEPS = 20
"""Sweeps of coordinate descent between two solutions on the support."""


@dataclass(frozen=True)
class QuadraticModel:
    """min over v of r'(v - w) + 1/2 (v - w)'B (v - w) + sum_a price_a |v_a|, v >= low.

    Coordinate descent finds the support and the signs, and a Cholesky factorisation the optimum on them, on the way to
    which weights that would change their sign become 0; coordinate descent goes on from there. Both only go downhill.

    Parameters
    ----------
    B : ndarray of shape (n_active, n_active)
        The Hessian, PSD; made definite against rounding.
    price, low : ndarray of shape (n_active,)
        Weights of the absolute values, 0 for an intercept; 0 where v >= 0 and -inf where v is free.

    Examples
    --------
    >>> QuadraticModel(np.eye(2), np.ones(2), np.zeros(2)).minimise(np.zeros(2), np.array([-3.0, 0.5]))
    array([2., 0.])
    """

    B: Array
    price: Array
    low: Array

    def __post_init__(self) -> None:
        diagonal = self.B.ravel()[:: len(self.B) + 1]
        largest = float(diagonal.max(initial=0.0))
        diagonal += 8 * len(self.B) * EPS * largest if largest > 0 else 1.0

    def minimise(self, w: Array, r: Array) -> Array:
        """Return v, given the gradient r at w; zeros of v are exact."""
        v, r = w.copy(), r.copy()
        for _ in range(MAX_PASSES):
            if time_is_up():
                break
            descend(self.B, r, v, self.price, self.low)
            support = np.flatnonzero((v != 0) | (self.price == 0))
            if not support.size:
                break
            whole = self._on_support(support, v, r)
            if whole and self._solved(v, r):
                break
        return v

    def _on_support(self, support: NDArray[np.intp], v: Array, r: Array) -> bool:
        """Move v to the optimum of its support, or towards it if signs change on the way; whether it got there.

        What would change its sign becomes 0. Where that leads uphill, v goes as far as to the first such change.
        """
        inside, price = v[support], self.price[support]
        slope = r[support] + price * np.sign(inside)
        step = -solve_definite(self.B[np.ix_(support, support)], 0.0, slope)
        crossing = (price > 0) & (inside * (inside + step) <= 0)
        ahead, pull = self._moved(support, np.where(crossing, -inside, step))
        rise = float(r @ ahead + ahead @ pull / 2 + self.price @ (np.abs(v + ahead) - np.abs(v)))
        if rise > 0 and crossing.any():
            until = np.where(crossing, -inside / np.where(crossing, step, 1.0), np.inf)
            first = int(until.argmin())
            ahead, pull = self._moved(support, until[first] * step)
            ahead[support[first]] = -inside[first]
        v += ahead
        r += pull
        return not crossing.any()

    def _moved(self, support: NDArray[np.intp], step: Array) -> tuple[Array, Array]:
        """A step on the support as one of all weights, and what it adds to the gradient."""
        ahead = np.zeros(len(self.B))
        ahead[support] = step
        return ahead, self.B @ ahead

    def _solved(self, v: Array, r: Array) -> bool:
        """Whether no zero wants to move."""
        zero = v == 0
        pull = np.where(self.low < 0, np.abs(r), -r)[zero]
        return bool((pull <= self.price[zero] * (1 + 1e-12)).all())


@njit(cache=True)
def descend(B: Array, r: Array, v: Array, price: Array, low: Array) -> None:
    """Sweeps of coordinate descent on the model; v and its gradient r are changed in place."""
    for _ in range(SWEEPS):
        still = True
        for a in range(len(v)):
            curvature = B[a, a]
            target = curvature * v[a] - r[a]
            moved = max(abs(target) - price[a], 0.0) / curvature
            moved = max(moved if target > 0 else -moved, low[a])
            change = moved - v[a]
            if change != 0.0:
                v[a] = moved
                r += change * B[a]
                still = False
        if still:
            return
