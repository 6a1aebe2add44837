"""The regularised exponential loss, by Newton's method and by boosting of kernel functions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cvxens import validation
from cvxens.certificates import relative
from cvxens.errors import SolverFailed
from cvxens.problems import RegularizedExpLoss
from cvxens.rounding import EPSILON, TINY
from cvxens.solvers.newton import find_root, minimise_expansion
from cvxens.types import Array, Attempt, Solution


def solve_regularized_exp_loss(problem: RegularizedExpLoss, tol: float = 1e-12) -> Solution:
    """Solve KIE06 (15) by damped Newton steps in the coefficients eta.

    With ``u_i = exp(-y_i (K eta)_i) / n`` the gradient is ``K (2 lam eta - y u)`` and the Hessian ``K (diag(u) K + 2
    lam I)``, so the step solves ``(diag(u) K + 2 lam I) d = y u - 2 lam eta``, by Cholesky of ``diag(u)^1/2 K
    diag(u)^1/2 + 2 lam I``. A last full step from within the gap sets the digits of eta that the objective does not
    show.

    Parameters
    ----------
    problem : RegularizedExpLoss
        Needs memory for n_samples^2 numbers.
    tol : float
        Relative duality gap at which to stop.

    Returns
    -------
    Solution
        With `eta` and `u`.

    Raises
    ------
    SolverFailed
        After 1,000 steps, or where rounding hides any decrease before the relative gap is 1e-6.

    Examples
    --------
    >>> problem = RegularizedExpLoss(np.eye(2), [1.0, -1.0], lam=0.1)
    >>> problem.certify(solve_regularized_exp_loss(problem)).holds(1e-9)
    True
    """
    validation.instance("problem", problem, RegularizedExpLoss)
    tol, start = validation.positive("tol", tol), time.perf_counter()
    loss: Any = problem.loss
    K, y, weight, eta = DenseMap(problem.K), problem.y, 2 * problem.lam, np.zeros(len(problem.y))
    value, gap = _evaluate(problem, eta)
    # first a multiple of K y, from where no margin is above 1
    first = y / (float(np.abs(K @ y).max()) or 1.0)
    # tens of steps are usual, more where lam is tiny against K
    for ahead in chain([eta], minimise_expansion(K, y, loss, weight, first, 1000)):
        after, missed = _evaluate(problem, ahead)
        if missed <= tol * abs(after):
            u = loss.multipliers(y * (K @ ahead))
            last = ahead + K.solve(u, y * u - weight * ahead, weight)
            return _report(problem, min(last, ahead, key=lambda e: abs(_evaluate(problem, e)[1])), start)
        if ahead is not eta and not after < value:
            break
        eta, value, gap = ahead, after, missed
    # there a stall through rounding counts as an optimum
    if gap <= 1e-6 * abs(value):
        return _report(problem, eta, start)
    raise SolverFailed([Attempt("Newton", f"stalled at a gap of {gap:.3g}", time.perf_counter() - start)])


def _report(problem: RegularizedExpLoss, eta: Array, start: float) -> Solution:
    return Solution.from_optimum(problem, {"eta": eta}, {"u": problem.repair({"eta": eta})["u"]}, "Newton", start)


def _evaluate(problem: RegularizedExpLoss, eta: Array) -> tuple[float, float]:
    """Return the objective, and the gap to the dual value."""
    # u = -loss'(z), also where others would bound the optimum better: the step is the objective's own
    point = problem.repair({"eta": eta, "u": problem.loss.multipliers(problem.y * (problem.K @ eta))})
    value = problem.value(point)
    return value, value - problem.dual_value(point)


@dataclass(frozen=True, eq=False)
class DenseMap:
    """A kernel matrix that is stored, for Newton's method."""

    K: Array

    def __matmul__(self, v: Array) -> Array:
        return self.K @ v

    def solve(self, D: Array, right: Array, weight: float) -> Array:
        """Solve ``(weight I + diag(D) K) d = right``, less steeply where the weight is lost against the size of K."""
        # d = D^1/2 x and both sides times D^-1/2
        root = np.sqrt(np.maximum(D, TINY))
        inner = root[:, None] * self.K * root
        # the trace is above the largest eigenvalue, whose rounding must not make the matrix indefinite
        inner += max(weight, 1e-15 * float(np.trace(inner))) * np.eye(len(D))
        return root * cho_solve(cho_factor(inner), right / root)


@dataclass(frozen=True, eq=False)
class RegAdaBoostRound:
    """The state that a round begins with, and what it does.

    Parameters
    ----------
    eta : ndarray of shape (n_samples,)
        Coefficients of f = K eta.
    u : ndarray of shape (n_samples,)
        The sample weights ``exp(-y_i f(x_i)) / n``.
    value, dual : float
        The objective, and its lower bound from u.
    coordinate : int
        The sample whose kernel function is added, -1 where none has a slope above 0.
    step : float
        With this coefficient.
    """

    eta: Array
    u: Array
    value: float
    dual: float
    coordinate: int
    step: float

    @property
    def relative_gap(self) -> float:
        """The gap between `value` and `dual`, as a certificate has it."""
        return relative(self.value - self.dual, self.value, self.dual)


def reg_adaboost_rounds(problem: RegularizedExpLoss, *, normalised: bool = False) -> Iterator[RegAdaBoostRound]:
    """Boost, a kernel function a round: KIE06 (16)-(18), coordinate descent on (15).

    A round chooses the function k(., x_j), or minus that, along which the objective falls most steeply, the penalty
    included (17): its slope is ``(K (2 lam eta - y u))_j``. The step minimises the objective along it (18), and the
    sample weights are updated. The weights D of (16) are ``2 lam eta - y u`` up to a factor; as printed they are
    divided by their sum, which may be negative or 0, and which nothing needs.

    Parameters
    ----------
    problem : RegularizedExpLoss
        With any kernel.
    normalised : bool
        True for slopes along ``k(., x_j) / sqrt(K_jj)``, of norm 1: an extension, in which no function is preferred for
        its size. On kernels with equal K_jj the choice is the same.

    Yields
    ------
    RegAdaBoostRound
        From eta = 0 on; the last one, of coordinate -1, where no slope is left.

    Examples
    --------
    >>> from itertools import islice
    >>> rounds = reg_adaboost_rounds(RegularizedExpLoss(np.diag([4.0, 1.0]), [1.0, -1.0], lam=0.1))
    >>> [(row.coordinate, round(row.value, 4)) for row in islice(rounds, 3)]
    [(0, 1.0), (1, 0.6634), (-1, 0.4471)]
    """
    K, y, lam, loss = problem.K, problem.y, problem.lam, problem.loss
    norms = np.sqrt(np.maximum(np.diag(K), TINY)) if normalised else np.ones(len(y))
    eta, f = np.zeros(len(y)), np.zeros(len(y))
    while True:
        # KIE06 (17): sample weights are minus the loss's slopes at the margins
        u = np.exp(-y * f) / len(y)
        pull = K @ (y * u)
        slopes = 2 * lam * f - pull
        j = int(np.abs(slopes / norms).argmax())
        step = _find_coefficient(y * K[j], u, lam * f[j], lam * K[j, j]) if slopes[j] != 0 else 0.0
        # -loss*(-u) - (y u)'K (y u) / (4 lam) is the bound at these weights
        value = loss.value(y * f) + lam * float(eta @ f)
        dual = loss.dual_value(u) - float(y * u @ pull) / (4 * lam)
        yield RegAdaBoostRound(eta, u, value, dual, j if step != 0 else -1, step)
        if step == 0:
            return
        eta, f = eta + step * (np.arange(len(y)) == j), f + step * K[j]


def _find_coefficient(margins: Array, u: Array, slope: float, curvature: float) -> float:
    """Minimise ``sum u exp(-step margins) + 2 step slope + step^2 curvature``, a convex function of the step."""

    def derivatives(step: float) -> tuple[float, float]:
        # beyond exp(600) the size of the slope does not matter
        after = u * np.exp(np.minimum(-step * margins, 600.0))
        return 2 * (slope + step * curvature) - float(margins @ after), 2 * curvature + float(margins**2 @ after)

    # a slope within its rounding is none
    rounding = EPSILON * (2 * abs(slope) + float(np.abs(margins) @ u))
    return find_root(derivatives, 0.0, tolerance=rounding, reach=1 / float(np.abs(margins).max()))
