"""Newton's method for smooth losses on margins, and the root search and linear systems that all solvers here share.

A *smooth problem* is a squared l2 norm of weights plus a convex loss of margins with a (generalised) second derivative.
Its Newton step needs three things: the *direction*, from the normal equations in the weights, or in the samples where
fewer of these are curved (Woodbury's identity); the *length*, a root of the slope along it; and the *intercept*, which
has no penalty and is eliminated exactly. AdaBoost's exponential loss, logistic regression and the l2-SVM are smooth
problems as they stand; the hinge becomes a sequence of them by proximal steps (`proximal_hinge`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from cvxens.limits import Pace
from cvxens.rounding import EPSILON
from cvxens.types import Array

MAX_STEPS = 100
"""Newton steps; a handful is usual from a warm start."""

FLATNESS = 1e-3
"""The share of its slope at which a line search is done: the next step leaves the point anyway."""

DOWNHILL = 0.1
"""The share of the slope of Newton's direction that one cut off at 0 must have to be taken."""

MAX_ROOT_STEPS = 200
"""Steps of a root search: bisection alone goes through all 64 bits of an interval of floats in fewer."""


@dataclass(frozen=True)
class Iterate:
    """A point of the problem over n_columns columns and n_samples samples."""

    w: Array
    b: float
    f: Array  # H w
    solved: bool = False  # True if it is within the tolerance


@dataclass(frozen=True)
class SmoothProblem:
    """min weight/2 |w|^2 - fixed_edges'w - fixed_balance b + sum_i phi_i(z_i), z = y (H w + b), w free or w >= 0.

    With u = -phi'(z) and D = phi''(z), eliminating b leaves the Newton system of size n_columns
    ``weight I + sum_i D_i (H_i - m)(H_i - m)'``, m the mean of the rows weighted by D, so no regularisation of b is
    needed, and where D has fewer than n_columns entries it is solved in the samples instead (Woodbury). Where w >= 0,
    weights at 0 that would fall stay there, the others take the step (Bertsekas 1982).
    """

    rows: Array  # H'
    y: Array
    weight: float  # above 0
    intercept: bool  # else b stays at its start
    multipliers: Callable[[Array], Array]  # from z to u
    curvature: Callable[[Array], Array]  # from u to D >= 0
    fixed_edges: Array | float = 0.0  # the edges H'(y u) of further samples whose u is fixed
    fixed_balance: float = 0.0  # and their y'u
    nonnegative: bool = False  # True for w >= 0, which the start has to satisfy

    def minimise(self, start: Iterate, tolerance: Callable[[Array, Array, Array], float]) -> Iterate:
        """Take Newton steps until the duality gap of w and its edges is within the tolerance at (w, z, u).

        The answer has the best intercept to its w, also where rounding, `MAX_STEPS` or the clock ended the search.
        """
        at, pace = start, Pace()
        # some steps only take one weight to 0
        for _ in range(MAX_STEPS + (2 * len(start.w) if self.nonnegative else 0)):
            if not pace.allows_step():
                break
            z = self.y * (at.f + at.b)
            u = self.multipliers(z)
            # the slopes of the objective in w and in b
            gradient = self.weight * at.w - self.fixed_edges - self.rows @ (self.y * u)
            imbalance = -float(self.y @ u) - self.fixed_balance if self.intercept else 0.0
            D = self.curvature(u)
            is_balanced = abs(imbalance) <= self._rounding(at, u, D)
            # Fenchel's gap: what the multipliers, were they balanced, leave of primal less dual
            is_small = self._measure_gap(at.w, gradient) <= tolerance(at.w, z, u)
            if is_small and is_balanced:
                return replace(at, solved=True)
            if not is_balanced and (is_small or not D.any()):
                ahead = self._balance(at)
            else:
                ahead = self._step(at, z, D, gradient, imbalance)
            if ahead.b == at.b and np.array_equal(ahead.w, at.w):
                break
            at = ahead
        return at

    def _measure_gap(self, w: Array, gradient: Array) -> float:
        """Return ``weight/2 |w|^2 + |e|^2 / (2 weight) - e'w`` for the edges e, their positive parts where w >= 0."""
        if not self.nonnegative:
            return float(gradient @ gradient) / (2 * self.weight)
        edges = self.weight * w - gradient
        off = self.weight * w - np.maximum(edges, 0.0)
        return float(off @ off) / (2 * self.weight) + float(w @ np.maximum(-edges, 0.0))

    def _balance(self, at: Iterate) -> Iterate:
        """Move b to where y'u = 0."""

        def slope(b: float) -> tuple[float, float]:
            u = self.multipliers(self.y * (at.f + b))
            return -float(self.y @ u) - self.fixed_balance, float(self.curvature(u).sum())

        u = self.multipliers(self.y * (at.f + at.b))
        return replace(at, b=find_root(slope, at.b, tolerance=self._rounding(at, u, self.curvature(u)) / 2))

    def _rounding(self, at: Iterate, u: Array, D: Array) -> float:
        """Bound what rounding may do to y'u: that of the sum, and through u = -phi'(z) that of z."""
        # a few roundings of every term; 8 is above what is ever seen, and 1e-15 of the sum is nobody's concern
        return (
            8 * EPSILON * (abs(self.fixed_balance) + float(np.abs(u).sum()) + float(D @ (1 + abs(at.b) + np.abs(at.f))))
        )

    def _step(self, at: Iterate, z: Array, D: Array, gradient: Array, imbalance: float) -> Iterate:
        """Search along Newton's direction, where w >= 0 over the weights that are above 0 or want to rise."""
        if self.nonnegative:
            moving = np.flatnonzero((at.w > 0) | (gradient < 0))
            while True:
                d = np.zeros(len(at.w))
                d[moving], db = self._find_direction(D, gradient[moving], imbalance, moving)
                # a weight at 0 that the others would take below it stays
                stuck = (at.w == 0) & (d < 0)
                if not stuck.any():
                    break
                moving = moving[~stuck[moving]]
            d, longest = self._stay_above(at.w, d, gradient, imbalance * db)
        else:
            (d, db), longest = self._find_direction(D, gradient, imbalance), np.inf
        df = d @ self.rows
        dz = self.y * (df + db)
        # the slope along d of all but the loss is rise + t bend
        rise = float(self.weight * (at.w @ d) - np.sum(self.fixed_edges * d)) - self.fixed_balance * db
        bend = self.weight * float(d @ d)

        def slope(t: float) -> tuple[float, float]:
            u = self.multipliers(z + t * dz)
            return rise + t * bend - float(u @ dz), bend + float(self.curvature(u) @ dz**2)

        t = find_root(slope, 1.0, tolerance=FLATNESS * abs(float(gradient @ d) + imbalance * db), low=0.0)
        t = min(t, longest)
        w = at.w + t * d
        if self.nonnegative:
            # what gets to 0 is there to the last bit
            w[(d < 0) & (t * -d >= at.w * (1 - 4 * EPSILON))] = 0.0
        return Iterate(w, at.b + t * db, at.f + t * df)

    def _stay_above(self, w: Array, d: Array, gradient: Array, rise: float) -> tuple[Array, float]:
        """Return a direction along which the objective falls, and how far along it w >= 0.

        That is the one to where all weights that a whole step takes below 0 are 0, if it falls enough along it; else
        d, as far as to the first such weight. `rise` is the slope that the intercept adds.
        """
        falling = d < 0
        longest = float((w[falling] / -d[falling]).min(initial=np.inf))
        if longest >= 1.0:
            return d, longest
        clipped = np.maximum(w + d, 0.0) - w
        if float(gradient @ clipped) + rise <= DOWNHILL * (float(gradient @ d) + rise):
            return clipped, 1.0
        return d, longest

    def _find_direction(
        self, D: Array, gradient: Array, imbalance: float, kept: NDArray[np.intp] | None = None
    ) -> tuple[Array, float]:
        """Return Newton's direction in the weights that are kept and in b, from the slopes in these and in b."""
        # curvatures that rounding loses against the largest leave the system as it is
        curved = np.flatnonzero(EPSILON * D.max(initial=0.0) < D)
        if not curved.size:
            return -gradient / self.weight, 0.0
        D, A = D[curved], self.rows[:, curved] if kept is None else self.rows[np.ix_(kept, curved)]
        total = float(D.sum())
        if not len(A):
            return np.zeros(0), -imbalance / total
        # without b: weight I + sum_i D_i (H_i - mean)(H_i - mean)'
        mean = A @ D / total if self.intercept else np.zeros(len(A))
        reduced = gradient - mean * imbalance
        A -= mean[:, None]
        A *= np.sqrt(D)
        if len(curved) < len(A):
            # (weight I + A A')^-1 g = (g - A (weight I + A'A)^-1 A'g) / weight
            inner = solve_definite(A.T @ A, self.weight, A.T @ reduced)
            d = (A @ inner - reduced) / self.weight
        else:
            d = -solve_definite(A @ A.T, self.weight, reduced)
        return d, -imbalance / total - float(mean @ d)


def solve_definite(gram: Array, ridge: float, right: Array) -> Array:
    """Solve (gram + ridge I) x = right, scaled to a unit diagonal and there kept definite against rounding."""
    # S (gram + ridge I) S with S = diag(.)^-1/2, in place: the diagonal is a view
    diagonal = gram.ravel()[:: len(gram) + 1]
    diagonal += ridge
    scale = 1 / np.sqrt(diagonal)
    gram *= scale[:, None]
    gram *= scale
    # Cholesky's backward error is below (n + 1) eps of the diagonal (Higham 2002, theorem 10.3)
    diagonal += 8 * len(gram) * EPSILON
    return scale * cho_solve(cho_factor(gram, overwrite_a=True, check_finite=False), scale * right, check_finite=False)


def find_root(
    slope: Callable[[float], tuple[float, float]],
    start: float,
    *,
    tolerance: float,
    low: float = -np.inf,
    reach: float = np.inf,
) -> float:
    """Find where a nondecreasing function is 0, by Newton steps kept inside a bracket; or the last float before that.

    `slope` returns its value and derivative, and the search ends where |value| is within `tolerance`. `low` is a point
    below the root, if one is known; `reach` the longest first step, doubled from one to the next: for functions that
    are flat, or overflow, far out.

    Examples
    --------
    >>> find_root(lambda t: (t**3 - 8.0, 3 * t**2), 1.0, tolerance=1e-12)
    2.0
    """
    t, high, stride = start, np.inf, reach if reach < np.inf else 2.0
    for _ in range(MAX_ROOT_STEPS):
        value, derivative = slope(t)
        if abs(value) <= tolerance:
            return t
        low, high = (t, high) if value < 0 else (low, t)
        # Newton's step, where it is shorter than the reach
        ahead = t - value / derivative if abs(value) < reach * derivative else np.nan
        if not low < ahead < high:
            # halve the bracket; while it is open, widen it
            middle = low / 2 + high / 2
            ahead = middle if np.isfinite(middle) else t + (stride if value < 0 else -stride)
        # no float is left in between
        if ahead in (low, high):
            return t
        t, reach, stride = ahead, 2 * reach, 2 * stride
    return t
