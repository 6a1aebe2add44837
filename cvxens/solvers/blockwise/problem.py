"""LL08 P2 with any kernel, given by its rows, and the certificate of any answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.certificates import Certificate, relative
from cvxens.errors import InvalidInput
from cvxens.problems.duality import imbalance
from cvxens.problems.losses import Hinge
from cvxens.solvers.additive import Ending, Level
from cvxens.solvers.blockwise.rows import DenseRows, Indices, Rows
from cvxens.types import Array

INDEFINITE = 1e-9
"""A negative v'K v of this size, relative to the sum of |v_i (K v)_i|, is not rounding."""


@dataclass(frozen=True, eq=False)
class KernelSVM:
    """min 1/2 u'(K o yy')u - sum u subject to 0 <= u <= C, y'u = 0, with K given by its rows.

    LL08 P2, as `cvxens.problems.SVMDual`, for samples whose kernel matrix need not fit into memory. K has to be PSD on
    coefficients that sum to 0; that is not checked beforehand.

    Parameters
    ----------
    rows : Rows
        The kernel on the sample.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    C : ndarray of shape (n_samples,)
        Upper bounds of the multipliers, above 0.

    Examples
    --------
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> problem.evaluate(np.array([0.5, 0.5])).certificate.holds()
    True
    """

    rows: Rows
    y: Array
    C: Array

    @classmethod
    def of(cls, K: Any, y: Any, C: Any) -> KernelSVM:
        """Check a kernel matrix (n_samples, n_samples), or rows; `C` is one number or one per sample."""
        rows = K if hasattr(K, "product") else DenseRows.of(K)
        labels = validation.signs(y, rows.n_samples)
        prices = validation.prices("C", C)
        if np.ndim(prices):
            validation.same_length("C", np.asarray(prices), len(labels))
        return cls(rows, labels, np.broadcast_to(prices, labels.shape))

    def among(self, chosen: Indices) -> KernelSVM:
        """The problem on some of the samples."""
        return KernelSVM(self.rows.among(chosen), self.y[chosen], self.C[chosen])

    def evaluate(self, u: Array) -> KernelSolution:
        """Make multipliers feasible, and evaluate both problems at them."""
        u = Hinge(self.C).repair(u, self.y)
        return self.at(u, self.rows.product(self.y * u))

    def at(self, u: Array, f: Array) -> KernelSolution:
        """Evaluate both problems at feasible multipliers, with f = K (y u)."""
        hinge, v = Hinge(self.C), self.y * u
        half_norm = float(v @ f) / 2
        if half_norm < -INDEFINITE * float(np.abs(v) @ np.abs(f)):
            raise InvalidInput(
                "kernel",
                f"found v'K v = {2 * half_norm:.3g} for coefficients that sum to 0",
                "give a kernel that is PSD, at least on such coefficients",
            )
        b = float(hinge.best_intercept(f, self.y))
        loss = hinge.value(self.y * (f + b))
        return KernelSolution(self, u, b, f, half_norm - float(u.sum()), -half_norm - loss)


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """A point of P2, and how far it is from the optimum.

    Parameters
    ----------
    problem : KernelSVM
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
        One row for every point that was certified; `steps` are blocks.
    ending : Ending
        Why the solver ended.
    """

    problem: KernelSVM
    u: Array
    b: float
    f: Array
    objective: float
    bound: float
    history: Sequence[Level] = field(default=(), repr=False)
    ending: Ending = Ending.OPTIMAL

    @property
    def relative_gap(self) -> float:
        """(objective - bound) / max(|objective|, |bound|)."""
        return relative(self.objective - self.bound, self.objective, self.bound)

    @property
    def certificate(self) -> Certificate:
        """The gap, and how far the point is from the conditions of optimality."""
        hinge, sizes = Hinge(self.problem.C), np.abs(self.u) @ np.abs(self.f)
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
            rounding=len(self.u) * float(np.finfo(float).eps * sizes),
        )
