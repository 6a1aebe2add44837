"""What the additive solver hands over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from cvxens.certificates import relative
from cvxens.problems.losses import Hinge
from cvxens.solvers.additive.problem import AdditiveSVM
from cvxens.types import Array, Solution


class Ending(Enum):
    """Why a solver ended."""

    OPTIMAL = "the certified relative gap is within tol"
    ROUNDING = "rounding hides any progress"
    MAX_STEPS = "max_steps reached"
    MAX_TIME = "max_time reached"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Level:
    """One certified point on the way.

    Parameters
    ----------
    objective, bound : float
        Of P2 and of its dual: the optimum lies between.
    relative_gap : float
        Of the two.
    n_support, n_free : int
        Samples with u > 0, and with 0 < u < C.
    steps : int
        Newton steps so far.
    seconds : float
        Wall-clock time so far.
    """

    objective: float
    bound: float
    relative_gap: float
    n_support: int
    n_free: int
    steps: int
    seconds: float


@dataclass(frozen=True, eq=False)
class AdditiveSolution:
    """A point of P2 with an additive kernel, and how far it is from the optimum.

    Parameters
    ----------
    problem : AdditiveSVM
        What was solved.
    u : ndarray of shape (n_samples,)
        Multipliers, feasible.
    b : float
        The best intercept for them.
    f : ndarray of shape (n_samples,)
        K (y u): the scores on the sample less b.
    objective, bound : float
        ``1/2 u'(K o yy')u - sum u``, and the value of the dual problem at u and b: the optimum is not below it.
    history : sequence of Level
        One row for every point that was certified.
    ending : Ending
        Why the solver ended.
    """

    problem: AdditiveSVM
    u: Array
    b: float
    f: Array
    objective: float
    bound: float
    history: Sequence[Level] = field(default=(), repr=False)
    ending: Ending = Ending.OPTIMAL

    @classmethod
    def at(cls, problem: AdditiveSVM, u: Array) -> AdditiveSolution:
        """Repair `u` and evaluate both problems, in numpy and by one product with the kernel."""
        hinge = Hinge(problem.C)
        u = hinge.repair(_spare_bounds(np.clip(u, 0.0, problem.C), problem), problem.y)
        f = problem.kernel.product(problem.y * u)
        b = float(hinge.best_intercept(f, problem.y))
        half_norm = problem.half_norm(u, f)
        loss = hinge.value(problem.y * (f + b))
        return cls(problem, u, b, f, half_norm - float(u.sum()), -half_norm - loss)

    @property
    def relative_gap(self) -> float:
        """(objective - bound) / max(|objective|, |bound|), at least 0."""
        return max(relative(self.objective - self.bound, self.objective, self.bound), 0.0)

    @property
    def n_support(self) -> int:
        """The number of samples with u > 0."""
        return int(np.count_nonzero(self.u))

    @property
    def n_free(self) -> int:
        """The number of samples with 0 < u < C."""
        return int(np.count_nonzero((self.u > 0) & (self.u < self.problem.C)))

    def solution(self) -> Solution:
        """The same as a Solution, which `SVMDual.certify` takes too."""
        seconds = self.history[-1].seconds if self.history else 0.0
        duals = {"b": np.asarray(self.b)}
        return Solution(self.objective, {"u": self.u}, duals, self.ending.name.lower(), "additive", seconds)


def _spare_bounds(u: Array, problem: AdditiveSVM) -> Array:
    """Restore y'u = 0 by scaling the multipliers between the bounds of the heavier class, where they suffice."""
    excess = float(problem.y @ u)
    movable = (u > 0) & (u < problem.C) & (problem.y * excess > 0)
    room = float(u[movable].sum())
    return np.where(movable, u * (1 - abs(excess) / room), u) if room > abs(excess) else u
