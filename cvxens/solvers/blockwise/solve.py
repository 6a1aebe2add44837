"""The support vector machine with any kernel, a block of variables at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from numba import njit

from cvxens import validation
from cvxens.deadline import Deadline, Pace, TimeUp, limit_time
from cvxens.solvers.blockwise.problem import KernelSVM
from cvxens.solvers.blockwise.rows import Indices
from cvxens.solvers.svm_solution import Ending, Level, SVMSolution, along_prices
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
        # r = q - K v
        for k in range(len(r)):
            r[k] -= length * (K[i, k] - K[j, k])
    return max_steps


@njit(cache=True, nogil=True)
def _steepest(point: Array, bounds: Array) -> tuple[int, float]:
    """Return the variable to raise, and the violation."""
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
    """Return the variable to lower when that of the largest r is raised, and by how much if there were no bounds."""
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


BLOCK = 1024
"""Variables that are optimised together."""

WHOLE = 2048
"""Samples up to which all are one block."""

SHARPER = 0.03
"""The violation at which a block counts as optimal, relative to the whole problem's."""

STEPS = 100
"""Steps in a block, per variable of it."""

DRIFT = 1e-12
"""The error of scores that is none, relative to the largest."""

PATIENCE = 30
"""Blocks in a row without progress after which rounding is to blame."""


def solve_blockwise(
    problem: KernelSVM, tol: float = 1e-6, *, start: SVMSolution[KernelSVM] | None = None, max_time: float = inf
) -> SVMSolution[KernelSVM]:
    """Solve LL08 P2 with any kernel, in memory for the rows of one block and for those that are kept.

    A block of the variables that violate the conditions of optimality the most is optimised by pairs, then the scores
    of all samples are updated by the block's rows; half of a block stays for the next (Joachims 1999; Wen, Shi, Li, He
    & Chen, *ThunderSVM*, JMLR 19 (2018)). A small problem is one block.

    Parameters
    ----------
    problem : KernelSVM
        Rows of the kernel, labels and C.
    tol : float
        Certified relative gap at which to stop, above 0.
    start : SVMSolution, optional
        For the same samples, at C that differ by one factor.
    max_time : float
        Stop after so many seconds; a block is not begun that might take longer.

    Returns
    -------
    SVMSolution
        The point with the smallest certified gap, also when the limit or Ctrl-C ended the run.

    Raises
    ------
    InvalidInput
        An argument that cannot be worked with; a kernel that turns out to be indefinite.

    Examples
    --------
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> solution = solve_blockwise(problem)
    >>> solution.u, solution.objective, solution.certificate.holds()
    (array([0.5, 0.5]), -0.5, True)
    """
    tol = validation.positive("tol", tol)
    max_time = max_time if max_time == inf else validation.positive("max_time", max_time)
    with limit_time(max_time) as clock:
        search = _Search(problem, start, clock)
        try:
            ending = search.run(tol)
        except KeyboardInterrupt:
            ending = Ending.INTERRUPTED
        except TimeUp:
            ending = Ending.MAX_TIME
        return search.result(ending)


def solve_blockwise_path(
    problem: KernelSVM, Cs: Any, tol: float = 1e-6, **options: Any
) -> Sequence[SVMSolution[KernelSVM]]:
    """Solve along C, every problem from the solution of the one before.

    Parameters
    ----------
    problem : KernelSVM
        Its C are taken as weights of the samples.
    Cs : array-like of shape (n_values,)
        Factors of the problem's C, above 0; ascending is fastest.
    tol : float
        Certified relative gap of each.
    **options
        As `solve_blockwise` takes; limits hold for each.

    Returns
    -------
    sequence of SVMSolution
        One for each of `Cs`; fewer where Ctrl-C ended the path.

    Examples
    --------
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> [solution.objective for solution in solve_blockwise_path(problem, [0.25, 1.0])]
    [-0.375, -0.5]
    """
    return along_prices(
        lambda C, **last: solve_blockwise(problem.priced(C * problem.C), tol, **{**options, **last}), Cs
    )


class _Search:
    """The current point v = y u, f = K v, and the best one so far."""

    def __init__(self, problem: KernelSVM, start: SVMSolution[KernelSVM] | None, clock: Deadline) -> None:
        self.problem, self.clock, self.drift = problem, clock, 0.0
        self.bounds = np.stack([np.minimum(problem.y * problem.C, 0.0), np.maximum(problem.y * problem.C, 0.0)])
        self.v, self.f = np.zeros(len(problem.y)), np.zeros(len(problem.y))
        if start is not None:
            stretch = _stretch(start, problem)
            self.v, self.f = stretch * (problem.y * start.u), stretch * start.f
            self.drift = stretch * start.drift
        self.block: Indices = np.empty(0, np.intp)
        self.history: list[Level] = []
        self.best: SVMSolution[KernelSVM]
        self.n_blocks = self.waited = 0
        self.pace = Pace()
        self.take()

    def take(self) -> None:
        """Certify the current point, and keep it if it is the best so far."""
        new = self.problem.solution_at(self.problem.y * self.v, self.f.copy())
        self.waited += 1
        if not self.history or new.relative_gap < self.best.relative_gap:
            self.best, self.waited = new, 0
        self.history.append(new.level(self.n_blocks, self.clock.seconds))

    def run(self, tol: float) -> Ending:
        """Optimise one block after the other."""
        while self.best.relative_gap > tol:
            r = self.problem.y - self.f
            low, high = self.bounds
            up, down = np.where(self.v < high, r, -inf), np.where(self.v > low, r, inf)
            violation = float(up.max() - down.min())
            if self.waited >= PATIENCE or violation <= 0:
                return Ending.ROUNDING
            if not self.pace.allows_step():
                return Ending.MAX_TIME
            self.block = _next_block(up, down, self.block)
            self._optimise(r, SHARPER * violation)
            self.take()
        return Ending.OPTIMAL

    def result(self, ending: Ending) -> SVMSolution[KernelSVM]:
        """The best point with the history, evaluated anew if its scores have drifted by rounding.

        Where there is no time for that, a bound on the drift is part of its certificate.
        """
        if ending in {Ending.MAX_TIME, Ending.INTERRUPTED} and self.problem.rows.largest < inf:
            return replace(self.best, history=tuple(self.history), ending=ending, drift=self.drift)
        best, f = self.best, self.problem.rows.product(self.problem.y * self.best.u)
        if np.abs(f - best.f).max() > DRIFT * np.abs(f).max():
            best = self.problem.solution_at(best.u)
        return replace(best, history=tuple(self.history), ending=ending)

    def _optimise(self, r: Array, tol: float) -> None:
        """Optimise the block, and update all scores by what has changed in it."""
        block, rows = self.block, self.problem.rows
        point = np.stack([self.v[block], r[block]])
        optimise_block(rows.block(block), point, self.bounds[:, block], tol, STEPS * len(block))
        change = point[0] - self.v[block]
        rows.add(block, change, self.f)
        # a sum of m products has an error of (m + 1) eps times that of their sizes, at most sum |change| max |K|
        sizes = float(np.abs(change).sum()) * rows.largest
        self.drift += np.finfo(float).eps * ((len(block) + 1) * sizes + float(np.abs(self.f).max()))
        self.v[block] = point[0]
        self.n_blocks += 1


def _stretch(start: SVMSolution[KernelSVM], problem: KernelSVM) -> float:
    """Return the best multiple of a solution, as far as the bounds allow: ``t = sum u / u'(K o yy')u``."""
    most = float((problem.C / start.problem.C).min())
    square = float((problem.y * start.u) @ start.f)
    return min(most, float(start.u.sum()) / square) if square > 0 else most


def _next_block(up: Array, down: Array, last: Indices) -> Indices:
    """Return the variables of the largest violations in either direction, and half of the last block."""
    n = len(up)
    if n <= WHOLE:
        return np.arange(n)
    most = BLOCK // 4 if len(last) else BLOCK // 2
    fresh = np.union1d(np.argpartition(-up, most)[:most], np.argpartition(down, most)[:most])
    fresh = fresh[np.isfinite(up[fresh]) | np.isfinite(down[fresh])]
    stay = np.setdiff1d(last, fresh)
    free = np.isfinite(up[stay]) & np.isfinite(down[stay])
    stay = stay[np.argsort(~free, kind="stable")]
    return np.concatenate([fresh, stay[: BLOCK - len(fresh)]])
