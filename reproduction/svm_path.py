"""The regularisation path of an SVM with any kernel: multipliers that are piecewise linear in C.

Between two *breakpoints* the samples keep their places: *below* the margin u = C, above it u = 0, and *on* it u is in
between. There margins of 1 are linear equations in u, so that u and b are linear in C (Hastie, Rosset, Tibshirani & Zhu
2004, for a kernel matrix that is definite on every such set). Here the way on from a breakpoint is found as the
solution of a small quadratic program, `BoxProgram`, which also decides who leaves the margin; ties and singular
matrices need no cases of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.problems import SVMDual
from cvxens.problems.maps import doubly_centred
from cvxens.solvers.active_set import BoxProgram, solve_balanced
from cvxens.types import Array, Attempt

SOLVER = "regularisation path"

TIE = 1e-9
"""The distance from a bound, relative to C, or of a margin from 1, that counts as rounding."""

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
        # linear in between
        share = (C - self.C[k]) / (self.C[k + 1] - self.C[k])
        return (1 - share) * self.u[k] + share * self.u[k + 1], float((1 - share) * self.b[k] + share * self.b[k + 1])

    def scores(self, rows: ArrayLike) -> Array:
        """Evaluate at every breakpoint from `rows` (n_new, n_samples) of k(x, x_i); returns (n_new, n_breakpoints)."""
        rows = validation.finite_array("rows", rows, ndim=2)
        validation.same_length("rows", rows.T, len(self.y))
        return rows @ (self.y * self.u).T + self.b

    def best(self, rows: ArrayLike, y: ArrayLike) -> float:
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

    def stability_bounds(self, K: ArrayLike) -> Array:
        """Count the samples with u_i K_ii >= y_i f(x_i), as a share of all, at every breakpoint.

        Evgeniou, Pontil & Elisseeff (Machine Learning 55, 2004), for one machine: without sample i its margin falls by
        at most u_i K_ii. So it bounds the leave-one-out error of a machine without an intercept; with one, as here,
        it is an estimate, and it depends on constants in K that the machine does not notice.

        Parameters
        ----------
        K : array-like of shape (n_samples, n_samples)
            The matrix of the path, PSD.
        """
        K = validation.symmetric(K)
        bounds = count_exposed(self.u, K.diagonal(), self.y[:, None] * self.scores(K))
        bounds[0] = 1.0
        return bounds

    def best_by_leave_one_out(self, K: Any = None) -> float:
        """Return the smallest C among the breakpoints with the lowest bound on the leave-one-out error.

        TK07's SVM(LOO) takes a bound of Evgeniou et al. (2004), and does not say which.

        Parameters
        ----------
        K : array-like of shape (n_samples, n_samples), optional
            The matrix of the path, for `stability_bounds`; without it the share of support vectors is the bound.
        """
        bounds = self.leave_one_out_bounds if K is None else self.stability_bounds(K)
        return float(self.C[1:][bounds[1:].argmin()])


def count_exposed(u: Array, diagonal: Array, z: Array) -> Array:
    """Return the shares of samples with u_i K_ii >= z_i, for u (..., n_samples) and margins z (n_samples, ...).

    Examples
    --------
    >>> count_exposed(np.array([0.0, 1.0]), np.array([2.0, 2.0]), np.array([1.0, 1.5]))
    array(0.5)
    """
    return np.asarray((u * diagonal >= z.T).mean(axis=-1))


def svm_path(K: ArrayLike, y: ArrayLike, *, C_max: float = inf, max_breakpoints: int = 100_000) -> SVMPath:
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
        # y'u = 0, so that centring K changes b alone, by the mean score; entries are smaller, and digits are saved
        self.Q = doubly_centred(problem.K) * np.outer(self.y, self.y)
        self.largest = float(np.abs(self.Q).max())
        # at C = 0 the best constant is the larger class's label: its samples are on the margin, the others below
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
        # a path without a bend is a line, of which a second point is wanted
        if step == inf and len(self.knots) == 1:
            step = 1.0
        if self.C + step == inf and self.C_max == inf:
            return False
        last = self.C + step >= self.C_max
        step = min(step, self.C_max - self.C)
        if self._take(step):
            return not last
        # the whole step leads to where rounding forbids a certificate; a part of it may not
        for power in range(1, 20):
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
        # per unit of C: 1 below the margin, 0 above it; those on it keep z = 1 or leave at the rate of their new side
        T, self.tied = np.flatnonzero(self.on), self.on.copy()
        self.du, self.db = self.below.astype(float), 0.0
        if not len(T):
            return
        # a multiplier at 0 may only rise; one at C may rise no faster than C
        low = np.where(self.u[T] <= TIE * self.C, 0.0, -inf)
        high = np.where(self.u[T] >= (1 - TIE) * self.C, 1.0, inf)
        pull, total = self.Q[T] @ self.du, -float(self.y @ self.du)
        d, self.db, free = BoxProgram(self.Q[np.ix_(T, T)], self.y[T], pull, total, low, high).solve()
        self.du[T] = d
        self.on[T], self.below[T] = free, ~free & (d == high)

    def _step_until_event(self) -> float:
        """Return the step until a multiplier reaches a bound or a margin reaches 1."""
        z, dz = self._margins(), self.Q @ self.du + self.y * self.db
        size = self.largest * float(np.abs(self.du).sum()) + abs(self.db)
        dz[np.abs(dz) <= ROUNDING * size] = 0.0
        # z + t dz = 1 off the margin; u + t du = 0 and u + t du = C + t on it
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
        # far out the steepest lines are the highest lower and the lowest upper bound: the start of Newton's method
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
        # u is set by where a sample is, not summed up: errors do not add along the path
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
        # Q_FF d + db y_F = 1 - z_F, y'd = -y'u
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
