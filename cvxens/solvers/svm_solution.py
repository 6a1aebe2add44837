"""A point of LL08 P2 as a solver hands it over, and how the solver came to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.certificates import Certificate, Round, certify_evaluated, relative
from cvxens.limits import Deadline, Ending, time_left
from cvxens.problems import Evaluated, Problem, SVMDual
from cvxens.problems.problem import Products
from cvxens.types import Array, Solution

P = TypeVar("P", bound=Problem)


@dataclass(frozen=True, eq=False)
class SVMSolution(Generic[P]):
    """A point of P2, or of a regression, and how far it is from the optimum.

    Parameters
    ----------
    evaluated : Evaluated
        The multipliers, the best intercept for them, and both objectives there.
    f : ndarray of shape (n_samples,)
        K (y u): the scores on the sample less b.
    history : sequence of Round
        One row for every point that was certified.
    ending : Ending
        Why the solver ended.
    drift : float
        A bound on the rounding error of f, which is a sum of many changes; 0 where f was evaluated at once.
    """

    evaluated: Evaluated
    f: Array
    history: Sequence[Round] = field(default=(), repr=False)
    ending: Ending = Ending.OPTIMAL
    drift: float = 0.0

    @classmethod
    def from_scores(cls, problem: SVMDual, u: Array, f: Array) -> Self:
        """Evaluate P2 and its dual at feasible multipliers, with f = K (y u)."""
        products = Products(problem.gram, precise=False)
        products.add_scores(problem.y * u, f)
        return cls(problem.evaluate_multipliers(u, None, products), f)

    @property
    def problem(self) -> P:
        """The problem that was solved."""
        return cast("P", self.evaluated.problem)

    @property
    def u(self) -> Array:
        """The multipliers, feasible, shape (n_samples,)."""
        return self.evaluated.point["u"]

    @property
    def v(self) -> Array:
        """The coefficients y u of a machine, shape (n_samples,)."""
        return self.problem.y * self.u

    @property
    def b(self) -> float:
        """The best intercept for them."""
        return float(self.evaluated.point["b"])

    @property
    def objective(self) -> float:
        """``1/2 u'(K o yy')u - sum u``."""
        return self.evaluated.primal

    @property
    def bound(self) -> float:
        """The value of the dual problem at u and b: the optimum is not below it."""
        return self.evaluated.dual

    @property
    def relative_gap(self) -> float:
        """(objective - bound) / max(|objective|, |bound|), at least 0."""
        return max(relative(self.objective - self.bound, self.objective, self.bound), 0.0)

    @property
    def n_support(self) -> int:
        """The number of samples with u other than 0."""
        return int(np.count_nonzero(self.u))

    @property
    def n_free(self) -> int:
        """The number of samples with 0 < |u| < C."""
        problem: Any = self.problem
        return int(np.count_nonzero((self.u != 0) & (np.abs(self.u) < problem.C)))

    @property
    def certificate(self) -> Certificate:
        """The gap, and how far the point is from the conditions of optimality; f is taken as K (y u)."""
        evaluated = replace(self.evaluated, drift=self.drift)
        return certify_evaluated(self.problem, evaluated, evaluated.point)

    def make_row(self, steps: int, seconds: float) -> Round:
        """Return the row of a history for this point; what its scores may be off by is held against both values."""
        rounding = self.certificate.rounding if self.drift > 0 else 0.0
        objective, bound = self.objective + rounding, self.bound - rounding
        gap = max(relative(objective - bound, objective, bound), 0.0)
        return Round(objective, bound, gap, self.n_support, seconds, steps)

    def solution(self) -> Solution:
        """Return the same as a Solution, which `SVMDual.certify` takes too."""
        seconds = self.history[-1].seconds if self.history else 0.0
        duals = {"b": np.asarray(self.b)}
        return Solution(self.objective, {"u": self.u}, duals, self.ending.name.lower(), "svm", seconds)


S = TypeVar("S", bound=SVMSolution[Any])


class Repriced(Protocol):
    """A problem of a machine that has prices, one per sample, and may have others."""

    C: Array

    def priced(self, C: Array, /) -> Self:
        """Return the problem with other prices."""


class BestPoint(Generic[S]):
    """The certified point of the smallest gap so far, and the history of all."""

    best: S

    def __init__(self, clock: Deadline) -> None:
        self.clock, self.history = clock, list[Round]()
        self.waited = 0  # points that have counted as no progress since the best one; whoever counts adds to it

    def take(self, new: S, steps: int) -> S:
        """Note a point that was reached after so many steps, and keep it if it is the best so far."""
        if not self.history or new.relative_gap < self.best.relative_gap:
            self.best, self.waited = new, 0
        self.history.append(new.make_row(steps, self.clock.seconds))
        return new

    def restart(self, new: S, steps: int) -> None:
        """Note a point that is to be the best, whatever was before it."""
        self.best, self.waited = new, 0
        self.history.append(new.make_row(steps, self.clock.seconds))

    def end(self, ending: Ending) -> S:
        """Return the best point with the history."""
        return replace(self.best, history=tuple(self.history), ending=ending)


def solve_svm_path(
    solve: Callable[..., S], problem: Repriced, Cs: ArrayLike, tol: float = 1e-6, **options: object
) -> Sequence[S]:
    """Solve LL08 P2 along C, every problem from the solution of the one before; nothing is evaluated or sorted anew.

    Parameters
    ----------
    solve : callable
        `solve_additive_svm` or `solve_blockwise`.
    problem : AdditiveSVM or KernelSVM
        As `solve` takes it; its C are taken as weights of the samples.
    Cs : array-like of shape (n_values,)
        Factors of the problem's C, above 0; ascending is fastest.
    tol : float
        Certified relative gap of each.
    **options
        As `solve` takes; limits hold for each.

    Returns
    -------
    sequence of SVMSolution
        One for each of `Cs`; fewer where Ctrl-C, or a limit of time around it, ended the path.

    Examples
    --------
    >>> from cvxens.solvers.additive import AdditiveSVM, solve_additive_svm
    >>> problem = AdditiveSVM.of([[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0], C=1.0)
    >>> [round(solution.objective, 6) for solution in solve_svm_path(solve_additive_svm, problem, [0.125, 0.25])]
    [-0.242188, -0.46875]

    >>> from cvxens.solvers.blockwise import KernelSVM, solve_blockwise
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> [solution.objective for solution in solve_svm_path(solve_blockwise, problem, [0.25, 1.0])]
    [-0.375, -0.5]
    """
    solutions: list[S] = []
    for C in validation.finite_array("Cs", Cs, ndim=1):
        last = {"start": solutions[-1]} if solutions else {}
        # whatever C it was found at, the last solution is the start of the next
        solutions.append(solve(problem.priced(validation.positive("Cs", C) * problem.C), tol, **{**options, **last}))
        if solutions[-1].ending is Ending.INTERRUPTED or time_left() <= 0:
            break
    return tuple(solutions)
