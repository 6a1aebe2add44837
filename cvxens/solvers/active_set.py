"""Small quadratic programs with one equality and bounds, by a primal active-set method.

A *free* entry is strictly between its bounds. On given free entries the minimum is a linear system (`solve_balanced`),
which may be singular; entries are fixed and let go one at a time, so that an optimum is met up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from cvxens.errors import SolverFailed
from cvxens.limits import check_time
from cvxens.types import Array, Attempt, Mask


@dataclass(frozen=True, eq=False)
class BoxProgram:
    """min 1/2 d'Q d + p'd subject to y'd = total, low <= d <= high, for a PSD Q and a y without zeros."""

    Q: Array
    y: Array
    p: Array
    total: float
    low: Array  # may be -inf
    high: Array  # may be inf

    def solve(self, start: Array | None = None) -> tuple[Array, float, Mask]:
        """Return a minimiser, the multiplier beta in ``Q d + p + beta y = 0`` on what is free, and what is free.

        A primal active-set method: from a feasible d, which may be given, minimise over the free entries, fix those
        that reach a bound, and let go the one that most wants to leave its bound, or two of them where none is free.
        """
        d = self._find_feasible() if start is None else start.copy()
        free = (self.low < d) & (d < self.high)
        beta, size = 0.0, float(np.abs(self.Q).max())
        for _ in range(20 * len(d) + 20):
            beta = self.minimise(d, free)
            # at the minimum Q d + p + beta y is 0 on what is free, and of a sign that keeps the others at their bounds
            gradient = self.Q @ d + self.p
            # a violation of an optimality condition that is rounding, relative to the sizes that a gradient adds up
            tolerance = 1e-13 * (size * float(np.abs(d).sum()) + float(np.abs(self.p).max()))
            if free.any():
                # how fast the objective falls where an entry leaves its bound
                slope = np.where(free, 0.0, gradient + beta * self.y)
                leaving = np.maximum(np.where(d < self.high, -slope, 0.0), np.where(d > self.low, slope, 0.0))
                if leaving.max() <= tolerance:
                    return d, beta, free
                free[leaving.argmax()] = True
            else:
                # optimal if some beta has -g_i / y_i <= beta where y_i d_i may rise, and >= beta where it may fall
                rises = np.where(self.y > 0, d < self.high, d > self.low)
                falls, wish = np.where(self.y > 0, d > self.low, d < self.high), -gradient / self.y
                up, down = np.where(rises, wish, -np.inf).argmax(), np.where(falls, wish, np.inf).argmin()
                least, most = -gradient[up] / self.y[up], -gradient[down] / self.y[down]
                if least <= most + tolerance:
                    return d, float(least + most) / 2, free
                free[[up, down]] = True
        raise SolverFailed([Attempt("active set", "does not end", 0.0)])

    def _find_feasible(self) -> Array:
        """Return 0 within its bounds, moved until y'd is the total."""
        d = np.clip(np.zeros(len(self.y)), self.low, self.high)
        for i in range(len(d)):
            missing = (self.total - float(self.y @ d)) / self.y[i]
            d[i] = min(max(d[i] + missing, self.low[i]), self.high[i])
        return d

    def minimise(self, d: Array, free: Mask) -> float:
        """Move d to the least over free entries, in the time there is, and fix those that bounds stop; returns beta."""
        beta = 0.0
        while free.any():
            check_time()
            F = np.flatnonzero(free)
            Q, rest = self.Q[np.ix_(F, F)], self.total - float(self.y @ np.where(free, 0.0, d))
            target, beta = solve_balanced(Q, self.y[F], -self.p[F] - self.Q[F] @ np.where(free, 0.0, d), rest)
            # how far towards the target each entry may go: a share above 1 is all the way
            stop = np.where(target < d[F], self.low[F], self.high[F])
            beyond = (target < self.low[F]) | (target > self.high[F])
            ratios = np.where(beyond, stop - d[F], 2.0) / np.where(beyond, target - d[F], 1.0)
            first = int(ratios.argmin())
            if ratios[first] > 1:
                d[F] = target
                return beta
            d[F] = np.clip(d[F] + ratios[first] * (target - d[F]), self.low[F], self.high[F])
            d[F[first]], free[F[first]] = stop[first], False
        return beta


def solve_balanced(Q: Array, y: Array, right: Array, total: float) -> tuple[Array, float]:
    """Solve ``Q x + beta y = right, y'x = total``; one of the solutions where Q is singular."""
    # [Q y; y' 0], factored with a ridge on Q, whose effect each refinement reduces by the ridge's share of Q
    system = np.block([[Q, y[:, None]], [y, 0.0]])
    ridge = np.r_[np.full(len(y), 1e-12 * max(float(np.abs(Q).max()), 1e-300)), 0.0]
    factored, goal, x = lu_factor(system + np.diag(ridge)), np.r_[right, total], np.zeros(len(y) + 1)
    for _ in range(3):
        x += lu_solve(factored, goal - system @ x)
    return x[:-1], float(x[-1])
