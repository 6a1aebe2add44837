"""Sums over samples of one smooth convex function, known by an expression: its proofs are a table.

What ``-phi*(-u)`` is at a multiplier u, a conjugate in one dimension tells (`problems.curves`), to the last digits. It
is concave in u: between two u that have bounds, the chord of these is one. So a table of them bounds ``sum_i phi(z_i) +
u'z`` by interpolation, in the time of a search in it. Its points are the slopes at a grid of z, which is finer where
phi is curved: with steps d the chord misses at most ``phi'' d^2 / 8``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from cvxens.problems.conic import Stated
from cvxens.problems.curves import Curve
from cvxens.problems.duality import balance_exactly
from cvxens.problems.structure import read_sum
from cvxens.rounding import TINY, sum_error
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class ScalarSum:
    """A sum of one scalar convex function over samples, by bounds at a table of multipliers.

    Parameters
    ----------
    z : ndarray of shape (n_points,)
        Margins, ascending.
    slopes : ndarray of shape (n_points,)
        ``-phi'(z)``, descending.
    u, bounds : ndarray of shape (n_points,)
        Multipliers, ascending, and bounds on ``phi(z) + u z`` from below over all z.
    offset : float
        A constant of the sum.
    """

    z: Array
    slopes: Array
    u: Array
    bounds: Array
    offset: float

    @classmethod
    def from_stated(cls, stated: Stated) -> ScalarSum | None:
        """Make the table of what is such a sum over its variable, smooth, and flat somewhere; else None."""
        term, z = stated.term, stated.variable
        if z.ndim > 1 or term.constraints or (found := read_sum(term.expression, z)) is None:
            return None
        phi, offset = found
        # margins that a table covers, tried in turn; multipliers beyond those at its ends are clipped
        for lowest, highest in ((-10.0, 30.0), (-6.0, 25.0), (-3.0, 15.0)):
            coarse = np.linspace(lowest, highest, 400)
            slopes = -phi.slopes(coarse)
            # the chord of far larger slopes than that at a margin of 0 would miss too much
            if np.isfinite(slopes).all() and slopes[0] <= 2e3 * abs(float(np.interp(0.0, coarse, slopes))):
                break
        else:
            return None
        # 8000 points at equal steps of the integral of sqrt phi'', and some everywhere: a logistic loss is met to 1e-7
        falls = np.sqrt(np.maximum(-np.diff(slopes), 0.0) * np.diff(coarse)) + 1e-3 * np.diff(coarse)
        lengths = np.concatenate([[0.0], np.cumsum(falls)])
        grid = np.interp(np.linspace(0.0, lengths[-1], 8000), lengths, coarse)
        left, right = phi.bounds(grid)
        slopes = -(left + right) / 2
        u, spread = slopes[::-1], float(np.ptp(slopes))
        # the share of the range of u that a smooth function's may fall by from one point to the next, or at one
        if not spread > 0 or max(-np.diff(slopes).min(), (right - left).max()) > 0.02 * spread:
            return None
        # with the multiplier 0 in the middle or at the end, shrunk ones are in the table
        if u[0] > 0:
            if u[0] > 1e-6 * spread:
                return None
            u = np.append(0.0, u)
        bounds = _bound(phi, u)
        return cls(grid, slopes, u, bounds, offset) if np.isfinite(bounds).all() else None

    def multipliers(self, z: Array) -> Array:
        """Return ``-phi'(z)``, sample by sample."""
        return np.interp(z, self.z, self.slopes)

    def best_intercept(self, f: Array, y: Array) -> Array | None:
        """Return the b at which the multipliers of ``y (f + b)`` balance; None where no b in the table does that."""
        reach = float(np.abs(f).max() + np.abs(self.z).max())

        def pull(b: float) -> float:
            return float(y @ self.multipliers(y * (f + b)))

        return np.asarray(brentq(pull, -reach, reach)) if pull(-reach) > 0 > pull(reach) else None

    def curvature(self, u: Array) -> Array:
        """Return ``phi''`` at the z whose multiplier is u."""
        steps = -np.diff(self.slopes) / np.diff(self.z)
        middles = (self.slopes[1:] + self.slopes[:-1]) / 2
        return np.interp(u, middles[::-1], steps[::-1])

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip multipliers into the table; with signs, the heavier side of y u is scaled down until y'u = 0."""
        clipped = np.clip(u, self.u[0], self.u[-1])
        if y is None:
            return clipped
        s = y * clipped
        positive = s > 0
        plus, minus = float(s[positive].sum()), -float(s[~positive].sum())
        factors = np.where(positive, minus / max(plus, TINY), plus / max(minus, TINY))
        # no size grows, and 0 is in the table but for digits
        return np.clip(balance_exactly(clipped * np.minimum(factors, 1.0), y), self.u[0], self.u[-1])

    def dual_value(self, u: Array) -> float:
        """Bound ``sum_i phi(z_i) + u'z`` from below over all z; -inf beyond the table."""
        if u.min() < self.u[0] or u.max() > self.u[-1]:
            return -np.inf
        bounds = np.interp(u, self.u, self.bounds)
        return float(bounds.sum()) + self.offset - sum_error(len(u) + 4, float(np.abs(bounds).sum()))


def _bound(phi: Curve, u: Array) -> Array:
    """Bound ``phi(z) + u z`` from below over all z: over those from 0 on, and over their negatives."""
    mirrored = Curve.of(slope=-1.0).then(phi.sides)
    return -np.maximum(phi.conjugate(-u), mirrored.conjugate(u))
