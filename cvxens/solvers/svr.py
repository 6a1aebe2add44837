"""Support vector regression with any kernel, on the block-wise solver of support vector machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from cvxens import validation
from cvxens.certificates import Certificate, Round, certify_evaluated, relative
from cvxens.limits import Deadline, Ending, Pace, find_ending, limit_time
from cvxens.problems import Formulation, Problem
from cvxens.problems.penalties import SquaredL2
from cvxens.problems.problem import Products
from cvxens.problems.target_losses import EpsilonInsensitive
from cvxens.rounding import EPSILON
from cvxens.solvers.blockwise import PATIENCE, SHARPER, STEPS, Rows, RowsMap, next_block, optimise_block
from cvxens.types import Array

__all__ = ["SVRSolution", "solve_svr"]


@dataclass(frozen=True, eq=False)
class SVRSolution:
    """A function ``sum_i u_i k(x_i, x) + b``, and how far it is from the optimum.

    Parameters
    ----------
    problem : Problem
        The loss and the squared norm, over the kernel.
    u : ndarray of shape (n_samples,)
        Coefficients, which are the multipliers too; their sum is 0.
    b : float
        The best intercept for them.
    f : ndarray of shape (n_samples,)
        K u.
    history : sequence of Round
        A row for every block.
    certificate : Certificate
        The gap, with K u as precisely as possible, or with what f may have drifted where there is no time for that.
    ending : Ending
        Why the solver ended.
    """

    problem: Problem
    u: Array
    b: float
    f: Array
    history: Sequence[Round] = field(repr=False)
    certificate: Certificate
    ending: Ending

    @property
    def v(self) -> Array:
        """The coefficients of the function, u."""
        return self.u

    @property
    def relative_gap(self) -> float:
        """That of the certificate."""
        return self.certificate.relative_gap


def solve_svr(rows: Rows, loss: EpsilonInsensitive, tol: float = 1e-6, *, max_time: float = inf) -> SVRSolution:
    """Solve ``min 1/2 |f|^2 + C sum_i max(0, |t_i - f(x_i) - b| - epsilon)`` over the functions f of a kernel.

    Its dual is that of a support vector machine with two variables a sample, one that pulls up to t - epsilon and one
    that pulls down to t + epsilon (Vapnik 1995), ``max t'u - epsilon |u|_1 - 1/2 u'K u, -C <= u <= C, sum u = 0``. The
    pairs are optimised block by block, as in `solve_blockwise`.

    Parameters
    ----------
    rows : Rows
        The kernel on the sample, PSD at least on coefficients that sum to 0.
    loss : EpsilonInsensitive
        Targets, width and prices.
    tol : float
        Relative gap at which to stop, above 0.
    max_time : float
        Stop after so many seconds.

    Returns
    -------
    SVRSolution
        The last point, also when the limit or Ctrl-C ended the run.

    Examples
    --------
    >>> from cvxens.solvers.blockwise import DenseRows
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> solution = solve_svr(DenseRows.of(X @ X.T), EpsilonInsensitive([0.0, 1.0, 2.0, 3.0], epsilon=0.5, C=10.0))
    >>> (solution.f + solution.b).round(2), solution.certificate.holds(1e-6)
    (array([0.5 , 1.17, 1.83, 2.5 ]), True)
    """
    tol, max_time = validation.positive("tol", tol), validation.limit("max_time", max_time)
    with limit_time(max_time) as clock:
        search = _TubeSearch(rows, loss, clock)
        ending = find_ending(lambda: search.run(tol))
    return search.result(ending)


class _TubeSearch:
    """The current point: v of both copies of the sample, u = their sum, and f = K u."""

    def __init__(self, rows: Rows, loss: EpsilonInsensitive, clock: Deadline) -> None:
        self.rows, self.loss, self.clock = rows, loss, clock
        n = self.n = len(loss.t)
        up, down = loss.linear_dual.hinges
        self.knots = np.concatenate([np.broadcast_to(hinge.knots, (n,)) for hinge in (up, down)])
        self.bounds = np.stack([np.concatenate([np.zeros(n), -down.prices]), np.concatenate([up.prices, np.zeros(n)])])
        self.v, self.f, self.block = np.zeros(2 * n), np.zeros(n), np.empty(0, np.intp)
        self.history: list[Round] = []
        self.best, self.waited, self.pace = inf, 0, Pace()
        self.point, self.drift = (np.zeros(n), 0.0, self.f.copy(), 0.0), 0.0
        self.take()

    @property
    def u(self) -> Array:
        """The coefficients: what both copies add up to."""
        return self.v[: self.n] + self.v[self.n :]

    def take(self) -> None:
        """Evaluate both problems at the current point, and keep the one of the least gap."""
        u, f = self.u, self.f
        b = float(self.loss.best_intercept(f, np.ones(self.n)))
        half_norm = float(u @ f) / 2
        primal, dual = half_norm + self.loss.value(f + b), self.loss.dual_value(u) - half_norm
        gap = max(relative(primal - dual, primal, dual), 0.0)
        n_support, n_steps = int(np.count_nonzero(u)), len(self.history)
        self.history.append(Round(primal, dual, gap, n_support, self.clock.seconds, n_steps))
        self.waited = 0 if gap < self.best else self.waited + 1
        if gap < self.best:
            self.best, self.point = gap, (u, b, f.copy(), self.drift)

    def run(self, tol: float) -> Ending:
        """Optimise one block after the other."""
        while self.best > tol:
            # minus the gradient of 1/2 u'K u - knots'v
            r, (low, high) = self.knots - np.tile(self.f, 2), self.bounds
            up, down = np.where(self.v < high, r, -inf), np.where(self.v > low, r, inf)
            violation = float(up.max() - down.min())
            if self.waited >= PATIENCE or violation <= 0:
                return Ending.ROUNDING
            if not self.pace.allows_step():
                return Ending.MAX_TIME
            self.block = next_block(up, down, self.block)
            self._optimise(r, SHARPER * violation)
            self.take()
        return Ending.OPTIMAL

    def _optimise(self, r: Array, tol: float) -> None:
        """Optimise the block, and update all scores by what has changed in it."""
        block = self.block
        # a sample may be in the block twice
        chosen, places = np.unique(block % self.n, return_inverse=True)
        K = self.rows.block(chosen)
        K = np.ascontiguousarray(K[np.ix_(places, places)])
        point = np.stack([self.v[block], r[block]])
        optimise_block(K, point, np.ascontiguousarray(self.bounds[:, block]), tol, STEPS * len(block))
        change: Array = np.bincount(places, point[0] - self.v[block], len(chosen)).astype(np.float64)
        self.rows.add(chosen, change, self.f)
        # a sum of m products has an error of (m + 1) eps times that of their sizes
        sizes = float(np.abs(change).sum()) * self.rows.largest_entry()
        self.drift += EPSILON * ((len(block) + 1) * sizes + float(np.abs(self.f).max()))
        self.v[block] = point[0]

    def result(self, ending: Ending) -> SVRSolution:
        """Return the point of the least gap."""
        u, b, f, drift = self.point
        problem = Problem(Formulation(self.loss, SquaredL2(), intercept=True), RowsMap(self.rows), np.ones(self.n))
        point = {"w": u, "b": np.asarray(b), "u": u}
        if ending in {Ending.MAX_TIME, Ending.INTERRUPTED}:
            # another K u may take as long as all that was before
            products = Products(problem.linear_map, precise=False)
            products.add_scores(u, f)
            evaluated = replace(problem.evaluate_at(u, point["b"], u, products), drift=drift)
            certificate = certify_evaluated(problem, evaluated, point)
        else:
            certificate = problem.certify(**point)
        return SVRSolution(problem, u, b, f, tuple(self.history), certificate, ending)
