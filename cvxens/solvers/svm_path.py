"""The regularisation path of an SVM with any kernel: multipliers that are piecewise linear in C."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.problems import SVMDual
from cvxens.problems.maps import doubly_centred
from cvxens.types import Array, Attempt

Mask = NDArray[np.bool_]

PASSES = 3
"""Refinements of the solution of a linear system."""

RIDGE = 1e-12
"""The ridge on the diagonal of a system, relative to its largest entry; refinement takes it away again."""

TOLERANCE = 1e-13
"""The violation of an optimality condition that counts as rounding, relative to the sizes that a gradient adds up."""


@dataclass(frozen=True, eq=False)
class Direction:
    """min 1/2 d'Q d + p'd subject to y'd = total, low <= d <= high, for a PSD Q."""

    Q: Array
    y: Array
    p: Array
    total: float
    low: Array  # may be -inf
    high: Array  # may be inf

    def solve(self) -> tuple[Array, float, Mask]:
        """Return a minimiser, the multiplier beta in ``Q d + p + beta y = 0`` on what is free, and what is free.

        A primal active-set method: from a feasible d, minimise over the free entries, fix those that reach a bound, and
        let go the one that most wants to leave its bound, or two of them where none is free.

        Examples
        --------
        >>> bounds = np.zeros(2), np.full(2, np.inf)
        >>> Direction(np.eye(2), np.array([1.0, 1.0]), np.array([0.0, -3.0]), 1.0, *bounds).solve()
        (array([0., 1.]), 2.0, array([False,  True]))
        """
        d = self._feasible()
        free = (self.low < d) & (d < self.high)
        beta, size = 0.0, float(np.abs(self.Q).max())
        for _ in range(20 * len(d) + 20):
            beta = self._minimise(d, free)
            gradient = self.Q @ d + self.p
            tolerance = TOLERANCE * (size * float(np.abs(d).sum()) + float(np.abs(self.p).max()))
            if free.any():
                leaving = np.where(free, 0.0, self._rate_of_fall(d, gradient + beta * self.y))
                if leaving.max() <= tolerance:
                    return d, beta, free
                free[leaving.argmax()] = True
            else:
                up, down = self._find_pair(d, gradient)
                least, most = -self.y[up] * gradient[up], -self.y[down] * gradient[down]
                if least <= most + tolerance:
                    return d, float(least + most) / 2, free
                free[[up, down]] = True
        raise SolverFailed([Attempt("active set", "does not end", 0.0)])

    def _feasible(self) -> Array:
        """Return 0 within its bounds, moved until y'd is the total."""
        d = np.clip(np.zeros(len(self.y)), self.low, self.high)
        for i in range(len(d)):
            missing = self.y[i] * (self.total - float(self.y @ d))
            d[i] = min(max(d[i] + missing, self.low[i]), self.high[i])
        return d

    def _minimise(self, d: Array, free: Mask) -> float:
        """Move d to the minimum over its free entries, and fix those that bounds stop on the way; returns beta."""
        beta = 0.0
        while free.any():
            F = np.flatnonzero(free)
            Q = self.Q[np.ix_(F, F)]
            rest = self.total - float(self.y @ np.where(free, 0.0, d))
            target, beta = solve_balanced(Q, self.y[F], -self.p[F] - self.Q[F] @ np.where(free, 0.0, d), rest)
            stop = np.where(target < d[F], self.low[F], self.high[F])
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(
                    (target < self.low[F]) | (target > self.high[F]), (stop - d[F]) / (target - d[F]), 2.0
                )
            first = int(ratios.argmin())
            if ratios[first] > 1:
                d[F] = target
                return beta
            d[F] += ratios[first] * (target - d[F])
            d[F[first]], free[F[first]] = stop[first], False
        return beta

    def _rate_of_fall(self, d: Array, slope: Array) -> Array:
        """Return how fast the objective falls where an entry leaves its bound."""
        return np.maximum(np.where(d < self.high, -slope, 0.0), np.where(d > self.low, slope, 0.0))

    def _find_pair(self, d: Array, gradient: Array) -> tuple[int, int]:
        """Return the entries whose y_i d_i most wants to rise and to fall."""
        rises = np.where(self.y > 0, d < self.high, d > self.low)
        falls = np.where(self.y > 0, d > self.low, d < self.high)
        wish = -self.y * gradient
        return int(np.where(rises, wish, -np.inf).argmax()), int(np.where(falls, wish, np.inf).argmin())


def solve_balanced(Q: Array, y: Array, right: Array, total: float) -> tuple[Array, float]:
    """Solve ``Q x + beta y = right, y'x = total``; one of the solutions where Q is singular.

    Examples
    --------
    >>> x, beta = solve_balanced(np.ones((2, 2)), np.ones(2), np.ones(2), 1.0)
    >>> x.round(9), abs(round(beta, 9))
    (array([0.5, 0.5]), 0.0)
    """
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n], system[:n, n], system[n, :n] = Q, y, y
    ridged = system + np.diag(np.r_[np.full(n, RIDGE * max(float(np.abs(Q).max()), 1e-300)), 0.0])
    factored, goal, x = lu_factor(ridged), np.r_[right, total], np.zeros(n + 1)
    for _ in range(PASSES):
        x += lu_solve(factored, goal - system @ x)
    return x[:n], float(x[n])


SOLVER = "regularisation path"

TIE = 1e-9
"""The distance from a bound, relative to C, or of a margin from 1, that counts as rounding."""

SHORTER = 20
"""The powers of ten by which the last step is shortened at most."""

CERTIFIED = 1e-8
"""The relative gap that every breakpoint keeps: where rounding, which grows with C, forbids it, the path ends."""

ROUNDING = 1e-13
"""The rate of change of a margin, relative to the sizes that it adds up, that counts as rounding."""


@dataclass(frozen=True, eq=False)
class SVMPath:
    """Solutions of LL08 P2 for every C up to `C_max`: between two breakpoints u and b are linear in C.

    Parameters
    ----------
    C : ndarray of shape (n_breakpoints,)
        Increasing from 0, where u = 0; a path that never bends gets a breakpoint at 1.
    u : ndarray of shape (n_breakpoints, n_samples)
        The multipliers.
    b : ndarray of shape (n_breakpoints,)
        An intercept that is optimal with them.
    gaps : ndarray of shape (n_breakpoints,)
        The relative duality gap that `SVMDual` certifies at each.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    u_slope : ndarray of shape (n_samples,)
        How u goes on after the last breakpoint.
    b_slope, C_max : float
        How b does, and how far: what was asked for, unless rounding keeps the gap from 1e-8 before.
    """

    C: Array
    u: Array
    b: Array
    gaps: Array
    y: Array
    u_slope: Array
    b_slope: float
    C_max: float

    def at(self, C: float) -> tuple[Array, float]:
        """Return the multipliers and an intercept at C, above 0 and up to `C_max`."""
        C = validation.positive("C", C)
        if self.C_max < C:
            raise InvalidInput("C", f"found {C:g} beyond the path's end", f"stay within C_max of {self.C_max:g}")
        k = int(np.searchsorted(self.C, C, side="right")) - 1
        if k == len(self.C) - 1:
            return self.u[k] + (C - self.C[k]) * self.u_slope, float(self.b[k] + (C - self.C[k]) * self.b_slope)
        share = (C - self.C[k]) / (self.C[k + 1] - self.C[k])
        return (1 - share) * self.u[k] + share * self.u[k + 1], float((1 - share) * self.b[k] + share * self.b[k + 1])

    def scores(self, rows: Any) -> Array:
        """Evaluate at every breakpoint from `rows` (n_new, n_samples) of k(x, x_i); returns (n_new, n_breakpoints)."""
        rows = validation.finite_array("rows", rows, ndim=2)
        validation.same_length("rows", rows.T, len(self.y))
        return rows @ (self.y * self.u).T + self.b

    def best(self, rows: Any, y: Any) -> float:
        """TK07's SVM(BEST): the smallest C among the breakpoints with the fewest errors on new samples.

        Parameters
        ----------
        rows : array-like of shape (n_new, n_samples)
            Kernel values k(x, x_i) of the new samples.
        y : array-like of shape (n_new,)
            Their labels.
        """
        scores = self.scores(rows)[:, 1:]
        y = validation.signs(y, len(scores))
        return float(self.C[1:][(y[:, None] * scores <= 0).sum(axis=0).argmin()])

    @property
    def leave_one_out_bounds(self) -> Array:
        """The share of support vectors at every breakpoint, above the leave-one-out error.

        Without a sample of multiplier 0 the solution stays what it is, and that sample's margin is at least 1 (Luntz &
        Brailovsky 1969; Vapnik, *The nature of statistical learning theory*, 1995).
        """
        bounds = (self.u > 0).mean(axis=1)
        bounds[0] = 1.0
        return bounds

    def best_by_leave_one_out(self) -> float:
        """TK07's SVM(LOO): the smallest C among the breakpoints with the lowest leave-one-out bound."""
        return float(self.C[1:][self.leave_one_out_bounds[1:].argmin()])


def svm_path(K: Any, y: Any, *, C_max: float = inf, max_breakpoints: int = 100_000) -> SVMPath:
    """Follow the solutions of LL08 P2 from C = 0 on.

    Hastie, Rosset, Tibshirani & Zhu, *The entire regularization path for the support vector machine*, JMLR 5 (2004),
    in C = 1/lambda. At a breakpoint the multipliers leave in the direction d that minimises ``1/2 d'(K o yy')d``
    subject to y'd = 0, with d = 1 for samples below the margin, 0 for those above it, and one-sided bounds for those
    that are on it with a multiplier at its bound. So ties, duplicates and singular matrices are nothing special. Where
    no sample is on the margin, b is free in an interval, and the path goes on to where that closes.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, symmetric and at least conditionally PSD.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    C_max : float
        Where to stop; by default it goes on for ever, which takes finitely many breakpoints.
    max_breakpoints : int
        A limit on them.

    Returns
    -------
    SVMPath
        Needs memory for n_breakpoints x n_samples numbers.

    Raises
    ------
    SolverFailed
        The limit is reached, or rounding forbids a certificate from the start.

    Examples
    --------
    >>> path = svm_path([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0])
    >>> path.C, path.u[-1], path.at(0.25)[0], bool(path.gaps.max() < 1e-9)
    (array([0. , 0.5]), array([0.5, 0.5]), array([0.25, 0.25]), True)
    """
    C_max = validation.limit("C_max", C_max)
    problem = SVMDual(K, y, 1.0)
    with threadpool_limits(1, "blas"):
        walk = _Walk(problem, C_max)
        for _ in range(validation.whole("max_breakpoints", max_breakpoints)):
            if not walk.advance():
                return walk.path()
    raise SolverFailed([Attempt(SOLVER, f"not at its end after {max_breakpoints} breakpoints", 0.0)])


class _Walk:
    """The end of the path so far: C, u, b, which samples are below the margin and which on it."""

    def __init__(self, problem: SVMDual, C_max: float) -> None:
        self.problem, self.y, self.C_max = problem, problem.y, C_max
        self.Q = doubly_centred(problem.K) * np.outer(self.y, self.y)
        self.largest = float(np.abs(self.Q).max())
        majority = float(np.sign(self.y.sum()))
        self.C, self.u, self.b = 0.0, np.zeros(len(self.y)), majority
        self.on = self.y == majority
        self.below, self.tied = ~self.on, self.on
        self.du, self.db = np.zeros(len(self.y)), 0.0
        self.knots = [(0.0, self.u, self.b, 0.0)]
        self.still = 0

    def advance(self) -> bool:
        """Go on to the next breakpoint; False where there is none before `C_max`."""
        self._find_direction()
        step = self._step_until_event() if self.on.any() else self._step_until_closed()
        if step == inf and len(self.knots) == 1:
            step = 1.0
        if self.C + step == inf and self.C_max == inf:
            return False
        last = self.C + step >= self.C_max
        step = min(step, self.C_max - self.C)
        if self._take(step):
            return not last
        for power in range(1, SHORTER):
            if self._take(step / 10**power):
                break
        self.C_max = self.knots[-1][0]
        return False

    def path(self) -> SVMPath:
        """Collect the breakpoints so far."""
        if len(self.knots) == 1:
            raise SolverFailed([Attempt(SOLVER, "rounding forbids a certificate from the start", 0.0)])
        C, u, b, gaps = (np.array(column) for column in zip(*self.knots, strict=True))
        return SVMPath(C, u, b, gaps, self.y, self.du, self.db - self._mean_score(self.du), self.C_max)

    def _find_direction(self) -> None:
        """Find the direction, and which of the samples on the margin stay there."""
        T, self.tied = np.flatnonzero(self.on), self.on.copy()
        self.du, self.db = self.below.astype(float), 0.0
        if not len(T):
            return
        low = np.where(self.u[T] <= TIE * self.C, 0.0, -inf)
        high = np.where(self.u[T] >= (1 - TIE) * self.C, 1.0, inf)
        pull, total = self.Q[T] @ self.du, -float(self.y @ self.du)
        d, self.db, free = Direction(self.Q[np.ix_(T, T)], self.y[T], pull, total, low, high).solve()
        self.du[T] = d
        self.on[T], self.below[T] = free, ~free & (d == high)

    def _step_until_event(self) -> float:
        """Return the step until a multiplier reaches a bound or a margin reaches 1."""
        z, dz = self._margins(), self.Q @ self.du + self.y * self.db
        size = self.largest * float(np.abs(self.du).sum()) + abs(self.db)
        dz[np.abs(dz) <= ROUNDING * size] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = [
                np.where(~self.tied & np.where(self.below, dz > 0, dz < 0), (1 - z) / dz, inf),
                np.where(self.on & (self.du < -TIE), -self.u / self.du, inf),
                np.where(self.on & (self.du > 1 + TIE), (self.C - self.u) / (self.du - 1), inf),
            ]
        return max(0.0, float(np.min(steps)))

    def _step_until_closed(self) -> float:
        """Return the step until the interval of b closes; sets how b gets there.

        Below the margin ``y_i b <= 1 - (Q u)_i``, above it the converse. The highest of the lower bounds less the
        lowest of the upper ones is convex in the step, so Newton's method from the right finds its last zero.
        """
        ends, slopes = self.y * (1 - self.Q @ self.u), -self.y * (self.Q @ self.du)
        upper = self.below == (self.y > 0)
        if upper.all() or not upper.any():
            return inf
        i = np.flatnonzero(~upper)[np.lexsort((ends[~upper], slopes[~upper]))[-1]]
        j = np.flatnonzero(upper)[np.lexsort((ends[upper], slopes[upper]))[0]]
        self.db, step = float(slopes[i] + slopes[j]) / 2, inf
        size = ROUNDING * self.largest * float(np.abs(self.du).sum())
        while slopes[i] - slopes[j] > size and (ends[j] - ends[i]) / (slopes[i] - slopes[j]) < step:
            step = float((ends[j] - ends[i]) / (slopes[i] - slopes[j]))
            lines = ends + step * slopes
            i, j = int(np.where(upper, -inf, lines).argmax()), int(np.where(upper, lines, inf).argmin())
        if 0 < step < inf:
            self.db = float(ends[i] + step * slopes[i] - self.b) / step
        elif self.C == 0:
            self.b = float(ends[~upper].max() + ends[upper].min()) / 2
        return max(0.0, step)

    def _take(self, step: float) -> bool:
        """Move, and gather the samples that are on the margin now; False where rounding ends the path."""
        self.still = self.still + 1 if step <= TIE**2 * self.C else 0
        before = self.C, self.u, self.b, self.on.copy(), self.below.copy()
        self.C += step
        moved = np.where(self.on, self.u + step * self.du, np.where(self.below, self.C, 0.0))
        moved[moved <= TIE * self.C] = 0.0
        moved[moved >= (1 - TIE) * self.C] = self.C
        self.u, self.b = moved, self.b + step * self.db
        self._refine()
        z = self._margins()
        self.on |= np.abs(z - 1) <= TIE * max(1.0, float(np.abs(z).max()))
        self.below &= ~self.on
        if self._record():
            return True
        self.C, self.u, self.b, self.on, self.below = before
        return False

    def _refine(self) -> None:
        """Take away the drift of what is on the margin and between its bounds."""
        F = np.flatnonzero(self.on & (self.u > 0) & (self.u < self.C))
        if not len(F):
            return
        missed, imbalance = 1 - self._margins()[F], float(self.y @ self.u)
        if max(float(np.abs(missed).max()), abs(imbalance)) > 1e-13:
            change, db = solve_balanced(self.Q[np.ix_(F, F)], self.y[F], missed, -imbalance)
            refined = self.u.copy()
            refined[F] = np.clip(self.u[F] + change, 0.0, self.C)
            if np.abs(change).max() <= TIE * self.C:
                self.u, self.b = refined, self.b + db

    def _record(self) -> bool:
        """Add a certified breakpoint; False where rounding forbids a certificate, or any progress."""
        b = self.b - self._mean_score(self.u)
        self.problem.C = self.C
        gap = self.problem.certify(u=self.u, b=b).relative_gap
        if gap > CERTIFIED or self.still > 2 * len(self.y):
            return False
        if self.knots[-1][0] * (1 + TIE**2) >= self.C:
            self.knots.pop()
        self.knots.append((self.C, self.u, b, gap))
        return True

    def _margins(self) -> Array:
        return self.Q @ self.u + self.y * self.b

    def _mean_score(self, u: Array) -> float:
        """Return what centring the kernel has added to b."""
        return float((self.problem.K @ (self.y * u)).mean())
