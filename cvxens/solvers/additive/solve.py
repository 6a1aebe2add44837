"""The support vector machine with an additive kernel, by proximal Newton steps on the samples between the bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.deadline import Deadline, limit_time, time_is_up
from cvxens.rounding import EPSILON
from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.additive.problem import AdditiveSVM
from cvxens.solvers.proximal_hinge import SmoothedHinge
from cvxens.solvers.svm_solution import Ending, Level, SVMSolution, along_prices
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

DENSE = 1500
"""Samples between the bounds up to which the system is solved by Cholesky, beyond by conjugate gradients."""

LINEAR_ACCURACY = 1e-3
"""The relative residual at which conjugate gradients stop."""

MAX_PRODUCTS = 500
"""Products with the kernel after which conjugate gradients are taken as they are."""


@dataclass(frozen=True)
class State:
    """An iterate: f = K c on the sample, 1'c = 0, and the intercept."""

    c: Array
    f: Array
    b: float

    @property
    def scores(self) -> Array:
        """The scores `f + b`."""
        return self.f + self.b


def newton_step(kernel: AdditiveKernel, smoothed: SmoothedHinge, state: State) -> State:
    """Take one Newton step, as long as it pays, then the best intercept.

    At the minimum ``c = y u``. With u linearised where it is between its bounds, F, and constant elsewhere, the new c
    is y u elsewhere, and on F solves ``(K_FF + 1/tau) c_F + b = (1 + p/tau) y - K_FN c_N`` with 1'c = 0.
    """
    b = smoothed.find_intercept(state.f, state.b)
    u = smoothed.multipliers(smoothed.y * (state.f + b))
    change = smoothed.y * u - state.c
    free = (u > 0) & (u < smoothed.C)
    moving = np.flatnonzero(free | (change != 0))
    delta, intercept = change[moving], b
    if free.any():
        near, at = smoothed.restrict(moving), State(state.c[moving], state.f[moving], b)
        delta, intercept = _find_direction(kernel.among(moving), near, at, delta, np.flatnonzero(free[moving]))
    whole = np.zeros(len(u))
    whole[moving] = delta
    df, f = kernel.product(whole), state.f[moving]
    rounding = len(moving) * EPSILON * float(np.abs(delta) @ (np.abs(f) + np.abs(df[moving])))
    # slope and curvature of 1/2 c'K c along the step
    norm = float(delta @ f), float(delta @ df[moving])
    t = smoothed.find_step(state.f + b, df + (intercept - b), norm, rounding)
    f = state.f + t * df
    return State(state.c + t * whole, f, smoothed.find_intercept(f, b + t * (intercept - b)))


def _find_direction(
    kernel: AdditiveKernel, smoothed: SmoothedHinge, state: State, change: Array, free: Indices
) -> tuple[Array, float]:
    """Return the change of c on the samples that move, all others left out, and the new intercept.

    `change` is ``y u - c``, which stays where u is at a bound; on `free` its mean is taken first.
    """
    delta = change.copy()
    delta[free] = 0.0
    delta[free] = -delta.sum() / len(free)
    stiffness = 1 / smoothed.tau[free]
    right = smoothed.y[free] * (1 + smoothed.p[free] * stiffness) - (state.f + kernel.product(delta))[free]
    right -= stiffness * (state.c + delta)[free]
    solve = solve_by_cholesky if len(free) <= DENSE else solve_by_conjugate_gradients
    further, b = solve(kernel.among(free), stiffness, right)
    delta[free] += further
    return delta, b


def solve_by_cholesky(kernel: AdditiveKernel, stiffness: Array, right: Array) -> tuple[Array, float]:
    """Solve ``(K + diag(stiffness)) x + b = right``, 1'x = 0; returns x and b."""
    # with a constant added to K it is positive definite, and x does not change
    K = kernel.dense()
    K += kernel.total_mass
    K[np.diag_indices_from(K)] += stiffness
    both = cho_solve(cho_factor(K, lower=True, overwrite_a=True), np.stack([right, np.ones_like(right)], axis=1))
    x, from_ones = both.T
    b = float(x.sum() / from_ones.sum())
    return x - b * from_ones, b


def solve_by_conjugate_gradients(kernel: AdditiveKernel, stiffness: Array, right: Array) -> tuple[Array, float]:
    """Solve ``(K + diag(stiffness)) x + b = right`` within the space of 1'x = 0, or go as far as there is time.

    What the projection onto that space takes off the products is b, which a solver that is handed the projected system
    would lose.
    """
    x, b = np.zeros_like(right), float(right.mean())
    residual = right - b
    direction, square = residual, float(residual @ residual)
    enough = LINEAR_ACCURACY**2 * square
    for _ in range(MAX_PRODUCTS):
        if square <= enough or time_is_up():
            break
        product = kernel.product(direction) + stiffness * direction
        shift = float(product.mean())
        product -= shift
        length = square / float(direction @ product)
        x = x + length * direction
        residual = residual - length * product
        b -= length * shift
        last, square = square, float(residual @ residual)
        direction = residual + square / last * direction
    return x, b


LARGE = 200_000
"""Samples from which on a sample of them is solved first."""

SHARE = 20
"""The factor by which that sample is smaller."""

SAMPLE_TOL = 1e-2
"""The relative gap to which it is solved."""

GROWTH = 2.0
"""By how much the step from the centre grows from one proximal problem to the next."""

RETREAT = 64.0
"""By how much it shrinks after a proximal problem that was not solved."""

ACCURACY = 0.05
"""The residual, relative to u, at which the first proximal problem is solved; it falls as the step grows."""

STEPS = 30
"""Newton steps after which a proximal problem is certified, solved or not."""

PATIENCE = 12
"""Certified points in a row without progress after which rounding is to blame."""

TINY = float(np.finfo(float).tiny)
"""The mean distance and the total mass of a kernel are at least this, also where all samples are alike."""

STIFFEST = 1e9
"""The largest step, in units of the kernel's total mass."""


def solve_additive_svm(
    problem: AdditiveSVM,
    tol: float = 1e-6,
    *,
    start: SVMSolution[AdditiveSVM] | Any = None,
    sample_size: int | None = None,
    random_state: validation.RandomState = 0,
    max_steps: float = inf,
    max_time: float = inf,
) -> SVMSolution[AdditiveSVM]:
    """Solve LL08 P2 with an additive kernel, in O(n_samples n_features) memory.

    Proximal points: each subproblem keeps u near the last one, and by how little grows from one to the next. A
    subproblem is smooth and is solved by Newton steps (semismooth, with exact line search), each a linear system over
    the samples between the bounds and one product with the kernel. A point counts once its duality gap is
    evaluated.

    Parameters
    ----------
    problem : AdditiveSVM
        Kernel, labels and C.
    tol : float
        Certified relative gap at which to stop, above 0.
    start : SVMSolution or array-like of shape (n_samples,), optional
        Multipliers to start from, or a solution for the same samples, whatever its C.
    sample_size : int, optional
        Without a start, solve a random sample of this size first (its C scaled up) and start from its function; 0 for
        no such sample, None for a twentieth of 200,000 samples or more.
    random_state : int, Generator, RandomState or None
        Draws the sample.
    max_steps, max_time : float
        Stop after so many Newton steps (those on the sample are not counted), or seconds.

    Returns
    -------
    SVMSolution
        The point with the smallest certified gap, also when a limit or Ctrl-C ended the run.

    Raises
    ------
    InvalidInput
        An argument that cannot be worked with.

    Examples
    --------
    >>> problem = AdditiveSVM.of([[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0], C=0.5)
    >>> solution = solve_additive_svm(problem)
    >>> solution.u, solution.relative_gap <= 1e-6, solution.ending.name
    (array([0.25, 0.5 , 0.25]), True, 'OPTIMAL')
    """
    limits = _Limits(
        validation.positive("tol", tol),
        max_steps if max_steps == inf else validation.positive("max_steps", max_steps),
    )
    max_time = max_time if max_time == inf else validation.positive("max_time", max_time)
    with threadpool_limits(1, "blas"), limit_time(max_time) as clock:
        search = _Search(problem, limits, clock)
        try:
            search.take(np.zeros(len(problem.y)))
            ending = _begin(search, start, sample_size, random_state) or search.run()
        except KeyboardInterrupt:
            if not search.history:
                raise
            ending = Ending.INTERRUPTED
    return search.result(ending)


def solve_additive_path(
    problem: AdditiveSVM, Cs: Any, tol: float = 1e-6, **options: Any
) -> Sequence[SVMSolution[AdditiveSVM]]:
    """Solve along C, every problem from the solution of the one before; nothing is sorted anew.

    Parameters
    ----------
    problem : AdditiveSVM
        Its C are taken as weights of the samples.
    Cs : array-like of shape (n_values,)
        Factors of the problem's C, above 0; ascending is fastest.
    tol : float
        Certified relative gap of each.
    **options
        As `solve_additive_svm` takes; limits hold for each.

    Returns
    -------
    sequence of SVMSolution
        One for each of `Cs`; fewer where Ctrl-C ended the path.

    Examples
    --------
    >>> problem = AdditiveSVM.of([[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0], C=1.0)
    >>> [round(solution.objective, 6) for solution in solve_additive_path(problem, [0.125, 0.25])]
    [-0.242188, -0.46875]
    """
    return along_prices(
        lambda C, **last: solve_additive_svm(problem.priced(C * problem.C), tol, **{**options, **last}), Cs
    )


@dataclass(frozen=True)
class _Limits:
    tol: float
    max_steps: float


class _Search:
    """The incumbent, and the point that the next proximal problem starts from."""

    def __init__(self, problem: AdditiveSVM, limits: _Limits, clock: Deadline) -> None:
        self.problem, self.limits, self.clock = problem, limits, clock
        self.state = State(np.zeros(len(problem.y)), np.zeros(len(problem.y)), 0.0)
        self.centre = np.zeros(len(problem.y))
        self.step = np.minimum(problem.C / 2, 1 / max(problem.kernel.mean_distance, TINY))
        self.accuracy = ACCURACY
        self.history: list[Level] = []
        self.best: SVMSolution[AdditiveSVM]
        self.n_steps = self.waited = 0

    def take(self, u: Array) -> SVMSolution[AdditiveSVM]:
        """Certify `u`, and keep it if it is the best so far."""
        new = self.problem.solution_at(u)
        if not self.history or new.relative_gap < self.best.relative_gap:
            self.best, self.waited = new, 0
        self.history.append(new.level(self.n_steps, self.clock.seconds))
        return new

    def start_at(self, c: Array, b: float) -> None:
        """Start from the function K c + b: multipliers follow from its margins."""
        problem = self.problem
        self.state = State(c, problem.kernel.product(c), b)
        smoothed = problem.C / 2 + self.step * (1 - problem.y * self.state.scores)
        self.centre = np.clip(smoothed, 0.0, problem.C)

    def start_near(self, solution: SVMSolution[AdditiveSVM]) -> None:
        """Start from a solution, whose C may be another; multipliers at their bound stay there."""
        C, before = self.problem.C, solution.problem.C
        self.state = State(self.problem.y * solution.u, solution.f, solution.b)
        self.centre = np.where(solution.u >= before, C, np.minimum(solution.u, C))

    def run(self) -> Ending:
        """Solve one proximal problem after the other until a limit is reached."""
        while (ending := self._find_ending()) is None:
            smoothed = SmoothedHinge(self.problem.y, self.problem.C, self.centre, self._capped_step())
            solved = self._solve(smoothed)
            new = self.take(smoothed.multipliers(self.problem.y * self.state.scores))
            self.waited += not solved or self._stiffest()
            self.state, self.centre = State(self.problem.y * new.u, new.f, new.b), new.u
            if not solved:
                self.step = self.step / RETREAT
            elif not self._stiffest():
                self.step = GROWTH * self.step
                self.accuracy = max(self.accuracy / GROWTH, 1e-10)
        return ending

    def result(self, ending: Ending) -> SVMSolution[AdditiveSVM]:
        """The incumbent, with the history."""
        return replace(self.best, history=tuple(self.history), ending=ending)

    def _solve(self, smoothed: SmoothedHinge) -> bool:
        """Take Newton steps; return True once c = y u is reached with the accuracy asked for."""
        for _ in range(STEPS):
            self.state = newton_step(self.problem.kernel, smoothed, self.state)
            self.n_steps += 1
            u = smoothed.multipliers(smoothed.y * self.state.scores)
            if np.abs(smoothed.y * u - self.state.c).sum() <= self.accuracy * u.sum():
                return True
            if self.n_steps >= self.limits.max_steps or time_is_up():
                break
        return False

    def _stiffest(self) -> bool:
        return float(self.step.min()) * self.problem.kernel.total_mass >= STIFFEST

    def _capped_step(self) -> Array:
        return np.minimum(self.step, STIFFEST / max(self.problem.kernel.total_mass, TINY))

    def _find_ending(self) -> Ending | None:
        if self.best.relative_gap <= self.limits.tol:
            return Ending.OPTIMAL
        if self.n_steps >= self.limits.max_steps:
            return Ending.MAX_STEPS
        if time_is_up():
            return Ending.MAX_TIME
        return Ending.ROUNDING if self.waited >= PATIENCE else None


def _begin(search: _Search, start: Any, sample_size: int | None, random_state: Any) -> Ending | None:
    """Prepare the start; an ending if it was interrupted."""
    problem = search.problem
    if isinstance(start, SVMSolution):
        validation.same_length("start", start.u, len(problem.y))
        search.take(start.u)
        search.start_near(start)
        return None
    if start is not None:
        u = validation.finite_array("start", start, ndim=1)
        validation.same_length("start", u, len(problem.y))
        search.start_near(search.take(u))
        return None
    return _begin_with_sample(search, sample_size, random_state)


def _begin_with_sample(search: _Search, sample_size: int | None, random_state: Any) -> Ending | None:
    """Solve on a sample, with C scaled up by what it leaves out."""
    problem, n = search.problem, len(search.problem.y)
    automatic = n // SHARE if n >= LARGE else 0
    size = min(automatic if sample_size is None else validation.whole("sample_size", sample_size, least=0), n)
    chosen = np.sort(validation.generator(random_state).permutation(n)[:size])
    if len(np.unique(problem.y[chosen])) < 2:
        return None
    part = problem.among(chosen)
    part = part.priced(part.C * (n / size))
    limits = search.limits
    solution = solve_additive_svm(part, SAMPLE_TOL, random_state=0, max_steps=limits.max_steps)
    c = np.zeros(n)
    c[chosen] = part.y * solution.u
    search.start_at(c, solution.b)
    return Ending.INTERRUPTED if solution.ending is Ending.INTERRUPTED else None
