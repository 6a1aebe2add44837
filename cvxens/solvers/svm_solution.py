"""A point of LL08 P2 as a solver hands it over, and how the solver came to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from cvxens.certificates import Certificate, relative
from cvxens.deadline import Ending
from cvxens.problems.duality import imbalance
from cvxens.problems.losses import Hinge
from cvxens.problems.svm_dual import svm_rounding
from cvxens.types import Array, Solution


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
        Newton steps, or blocks, so far.
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


class PricedSample(Protocol):
    """What a solution needs to know of its problem."""

    @property
    def y(self) -> Array:
        """Labels -1 and +1, (n_samples,)."""

    @property
    def C(self) -> Array:
        """Upper bounds of the multipliers, (n_samples,)."""

    @property
    def spread(self) -> float:
        """At least the range of the entries of a column of K."""

    def score_errors(self, u: Array, f: Array) -> Array | float:
        """Bound how far scores f are from K (y u)."""


P = TypeVar("P", bound=PricedSample)


@dataclass(frozen=True, eq=False)
class SVMSolution(Generic[P]):
    """A point of P2, and how far it is from the optimum.

    Parameters
    ----------
    problem : AdditiveSVM or KernelSVM
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
    drift : float
        A bound on the rounding error of f, which is a sum of many changes; 0 where f was evaluated at once.
    """

    problem: P
    u: Array
    b: float
    f: Array
    objective: float
    bound: float
    history: Sequence[Level] = field(default=(), repr=False)
    ending: Ending = Ending.OPTIMAL
    drift: float = 0.0

    @classmethod
    def at(cls, problem: P, u: Array, f: Array) -> SVMSolution[P]:
        """Evaluate both problems at feasible multipliers, with f = K (y u)."""
        hinge = Hinge(problem.C)
        b = float(hinge.best_intercept(f, problem.y))
        half_norm = float((problem.y * u) @ f) / 2
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

    @property
    def certificate(self) -> Certificate:
        """The gap, and how far the point is from the conditions of optimality; f is taken as K (y u)."""
        problem, hinge = self.problem, Hinge(self.problem.C)
        errors = problem.score_errors(self.u, self.f) + self.drift
        slackness = hinge.slackness(self.problem.y * (self.f + self.b), self.u)
        return Certificate.between(
            self.objective,
            self.bound,
            residuals={
                "primal feasibility": max(hinge.dual_violation(self.u), imbalance(self.u, self.problem.y)),
                "dual feasibility": 0.0,
                "complementary slackness": slackness,
                "stationarity": 0.0,
                "pricing slack": 0.0,
            },
            repair={"u": 0.0, "b": 0.0},
            rounding=svm_rounding(problem.C, problem.y, self.u, self.b, self.f, errors=errors, spread=problem.spread),
        )

    def level(self, steps: int, seconds: float) -> Level:
        """The row of a history for this point."""
        return Level(self.objective, self.bound, self.relative_gap, self.n_support, self.n_free, steps, seconds)

    def solution(self) -> Solution:
        """The same as a Solution, which `SVMDual.certify` takes too."""
        seconds = self.history[-1].seconds if self.history else 0.0
        duals = {"b": np.asarray(self.b)}
        return Solution(self.objective, {"u": self.u}, duals, self.ending.name.lower(), "svm", seconds)
