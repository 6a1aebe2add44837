"""The proximal subproblem of P2: a smooth, piecewise quadratic function of f and b."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from cvxens.types import Array

MAX_STEPS = 60
"""Steps of a root search, each a Newton step or a halving."""


class Line(NamedTuple):
    """A direction to go in.

    Parameters
    ----------
    scores, direction : ndarray of shape (n_samples,)
        f + b, and how it changes by a step of 1.
    slope, curvature : float
        Of ``1/2 |f|^2`` along the step, at its start.
    """

    scores: Array
    direction: Array
    slope: float = 0.0
    curvature: float = 0.0


class Proximal(NamedTuple):
    """min 1/2 u'(K o yy')u - sum u + sum_i (u_i - p_i)^2 / (2 tau_i) subject to 0 <= u <= C, y'u = 0.

    Its dual is to minimise ``1/2 |f|^2 + sum_i psi_i(y_i (f_i + b))`` over functions f of the kernel's space and b,
    where psi_i is the hinge loss of price C_i smoothed around p_i, with ``-psi_i'(z) = clip(p_i + tau_i (1 - z), 0,
    C_i)``. At the minimum f = K (y u) for u = -psi'. (R. T. Rockafellar, *Augmented Lagrangians and applications of the
    proximal point algorithm in convex programming*, Math. Oper. Res. 1, 1976.)

    Parameters
    ----------
    y, C : ndarray of shape (n_samples,)
        Labels and upper bounds.
    p : ndarray of shape (n_samples,)
        The centre, 0 <= p <= C.
    tau : ndarray of shape (n_samples,)
        How far from the centre u may go: 1 / tau is the curvature of the proximal term.
    """

    y: Array
    C: Array
    p: Array
    tau: Array

    def multipliers(self, scores: Array) -> Array:
        """U = clip(p + tau (1 - y scores), 0, C)."""
        return np.clip(self.p + self.tau * (1 - self.y * scores), 0.0, self.C)

    def intercept(self, f: Array, b: float) -> float:
        """The b that minimises for a given f, where y'u = 0; searched from `b` on."""
        return b + _root(self, Line(f + b, np.ones(len(f))), 0.0, 0.0)

    def step(self, line: Line, rounding: float) -> float:
        """How far to go, so that the objective's slope falls to a tenth or to its rounding error; 1 where that does."""
        at_start = line.slope - float((self.y * self.multipliers(line.scores)) @ line.direction)
        return _root(self, line, 1.0, max(abs(at_start) / 10, rounding))


@njit(cache=True, nogil=True)
def _root(proximal: Proximal, line: Line, t: float, enough: float) -> float:
    """Where slope + curvature t = sum_i y_i u_i(z_i + t dz_i) dz_i within `enough`: Newton's method from t, bracketed.

    The difference of both sides rises with t and is piecewise linear.
    """
    y, C, p, tau = proximal
    z, dz = line.scores, line.direction
    low, high, reach = -np.inf, np.inf, 1.0
    for _ in range(MAX_STEPS):
        value, rise, size = line.slope + line.curvature * t, line.curvature, 0.0
        for i in range(len(z)):
            free = p[i] + tau[i] * (1.0 - y[i] * (z[i] + t * dz[i]))
            u = min(max(free, 0.0), C[i])
            value -= y[i] * u * dz[i]
            size += u * abs(dz[i])
            if u == free:
                rise += tau[i] * dz[i] * dz[i]
        if abs(value) <= max(1e-14 * size, enough) or not low < t < high:
            break
        if value < 0:
            low = t
        else:
            high = t
        reach *= 2
        ahead = t - value / rise if abs(value) < reach * rise else np.inf
        if low < ahead < high:
            t = ahead
        elif high == np.inf:
            t = low + reach
        elif low == -np.inf:
            t = high - reach
        else:
            t = (low + high) / 2
    return t
