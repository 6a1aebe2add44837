"""Cutting planes, by which losses over pairs are minimised where scores take few values and Newton's method ends."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from cvxens.colgen.restricted import Restricted
from cvxens.limits import Pace
from cvxens.problems.cones import Cones
from cvxens.problems.conic import solve_cones
from cvxens.types import Array


class CuttingPlanes:
    """The program of penalty and cuts, ``loss(z) >= D(u) - u'z`` for multipliers u and the loss's dual value D."""

    def __init__(self, restricted: Restricted, limit: float, ridge: float) -> None:
        self.limit, self.ridge, self.y, self.H = limit, ridge, restricted.y, restricted.H
        self.nonnegative = restricted.formulation.nonnegative
        self.loss, self.penalty = restricted.formulation.terms
        self.multipliers, self.offsets = np.zeros((0, len(self.y))), np.zeros(0)
        self.edges, self.idle = np.zeros((0, self.H.shape[1])), np.zeros(0, np.intp)

    def polish(self, best: dict[str, Array], objective: float, bound: float, tol: float, pace: Pace) -> None:
        """Go on from the best weights and multipliers until the gap is allowed, and put better ones in their place.

        On the way to the minimum of the planes the objective is minimised, and cut there and a little further (Franc &
        Sonnenburg 2009).
        """
        y, f = self.y, self.H @ best["w"]
        for u in (np.zeros(len(y)), self.loss.repair(best["u"], None)):
            self._add(u, self.loss.dual_value(u))
        self._cut(y * f)
        # a few dozen are usual where scores take few values
        for _ in range(300):
            v, u, below = self._minimise()
            if below > bound:
                bound, best["u"] = below, u
            if objective - bound <= tol * abs(objective) or not pace.allows_step():
                break
            d = v - best["w"]
            df = self.H @ d
            step = self._search(best["w"], f, d, df)
            value = self._cut(y * (f + step * df)) + self.penalty.value(best["w"] + step * d)
            # another cut a little beyond the best point, towards the minimum of the planes
            self._cut(y * (f + (step + 0.1 * (1 - step)) * df))
            if value < objective:
                objective, best["w"], f = value, best["w"] + step * d, f + step * df

    def _search(self, w: Array, f: Array, d: Array, df: Array) -> float:
        """Minimise the objective over the way d from w, 0 to 1, by the sign of its slope."""
        low, high = 0.0, 1.0

        def slope(step: float) -> float:
            least, largest = self.penalty.slopes(w + step * d)
            of_penalty = float(largest @ np.maximum(d, 0) + least @ np.minimum(d, 0))
            return of_penalty - float(self.loss.multipliers(self.y * (f + step * df)) @ (self.y * df))

        if slope(1.0) <= 0:
            return 1.0
        # what is cut is within 1/4096 of the kink
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return high

    def _add(self, u: Array, offset: float) -> None:
        """Add the cut of multipliers."""
        self.multipliers, self.offsets = np.vstack([self.multipliers, u]), np.append(self.offsets, offset)
        self.edges, self.idle = np.vstack([self.edges, (self.y * u) @ self.H]), np.append(self.idle, 0)

    def _cut(self, z: Array) -> float:
        """Add the cut at margins z, and return the loss there."""
        value, u = self.loss.value(z), self.loss.multipliers(z)
        self._add(u, value + float(u @ z))
        return value

    def _minimise(self) -> tuple[Array, Array, float]:
        """Return the minimising weights, the multipliers that the cuts make together, and a bound of the minimum."""
        k, m, limit, ridge, nonnegative = self.H.shape[1], len(self.offsets), self.limit, self.ridge, self.nonnegative
        # p - q = w with p, q >= 0 under an l1 penalty
        signs = [1.0] if nonnegative or ridge else [1.0, -1.0]
        unit, n_weights = float(np.abs(self.offsets).max()) or 1.0, k * len(signs)
        A = sparse.csc_array(np.hstack([*(-sign * self.edges / unit for sign in signs), -np.ones((m, 1))]))
        b, cones = -self.offsets / unit, [Cones(nonnegative=m)]
        cost, curvature = np.append(np.full(n_weights, limit / unit), 1.0), None
        if ridge:
            curvature = np.append(np.full(k, ridge / unit), 0.0)
        else:
            A = sparse.vstack([A, -sparse.eye_array(n_weights, n_weights + 1)], format="csc")
            b, cones = np.append(b, np.zeros(n_weights)), [*cones, Cones(nonnegative=n_weights)]
        found = solve_cones(A, b, cost, cones, curvature)
        shares = np.maximum(found.dual[:m], 0.0)
        shares /= shares.sum()
        u, edges, bound = shares @ self.multipliers, shares @ self.edges, float(shares @ self.offsets)
        if ridge:
            bound -= float(edges @ edges) / (2 * ridge)
        else:
            largest = float((edges if nonnegative else np.abs(edges)).max(initial=0.0))
            shrink = limit / max(limit, largest)
            # the cut at u = 0 takes the rest
            u, bound = shrink * u, shrink * bound + (1 - shrink) * float(self.offsets[0])
        self._drop(shares)
        w: Array = np.sum([sign * found.x[j * k : (j + 1) * k] for j, sign in enumerate(signs)], axis=0)
        return w, u, bound

    def _drop(self, shares: Array) -> None:
        """Drop the cuts, but the one at u = 0, that have not been of use for long."""
        self.idle = np.where(shares > 1e-9, 0, self.idle + 1)
        # a cut without a multiplier for so long is of no use
        kept = (self.idle < 40) | (np.arange(len(self.idle)) == 0)
        self.multipliers, self.offsets = self.multipliers[kept], self.offsets[kept]
        self.edges, self.idle = self.edges[kept], self.idle[kept]
