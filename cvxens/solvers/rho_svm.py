"""The rho-SVM of TK07 by multiplicative updates, each an entropy projection, and the ensemble of what they go through.

An *update* projects multipliers u in relative entropy onto a half-space, by `tilt`: it multiplies each u_i by
exp(-eta q_i), with the margins q = K~u. Updates are slow in the end, so an active-set method, or on a low-rank kernel
Newton's, finishes them. Every u on the way is a partially trained SVM, and their weighted sum an ensemble.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.errors import InvalidInput
from cvxens.limits import interruptible, time_is_up
from cvxens.problems import EntropyProjection, RhoSVM
from cvxens.problems.losses import SquaredHinge
from cvxens.rounding import TINY, sum_error
from cvxens.solvers.active_set import BoxProgram
from cvxens.solvers.incomplete_cholesky import LowRankKernel
from cvxens.solvers.newton import Iterate, SmoothProblem, find_root
from cvxens.types import Array, Solution


def solve_entropy_projection(problem: EntropyProjection, tol: float = 1e-14) -> Solution:
    """Maximise -ln(Z(eta) exp(rho eta)) by Newton's method, safeguarded by a bracket.

    The dual is concave with slope ``E[q] - rho`` and curvature ``-Var[q]`` under the projection at eta.

    Parameters
    ----------
    problem : EntropyProjection
        With equality, or with inequality, where eta = 0 if the point to project satisfies it.
    tol : float
        The slope at which to stop, relative to the largest |q|.

    Returns
    -------
    Solution
        With `alpha` and `eta`.

    Examples
    --------
    >>> problem = EntropyProjection([[2.0, 0.0], [0.0, 1.0]], [1.0, -1.0], [0.5, 0.5], rho=0.7)
    >>> problem.certify(solve_entropy_projection(problem)).holds(1e-9)
    True
    """
    validation.instance("problem", problem, EntropyProjection)
    start, tol = time.perf_counter(), validation.positive("tol", tol)
    is_inside = not problem.equality and float(problem.q @ problem.alpha_t) <= problem.rho
    eta = 0.0 if is_inside else find_multiplier(problem.alpha_t, problem.q, problem.rho, tol)
    return Solution.from_optimum(problem, {"alpha": problem.project(eta)}, {"eta": np.asarray(eta)}, "Newton", start)


def tilt(alpha_t: Array, q: Array, eta: float) -> Array:
    """Return alpha_t exp(-eta q), normalised to sum 1, for positive alpha_t.

    Examples
    --------
    >>> tilt(np.array([0.5, 0.5]), np.array([0.0, np.log(3)]), 1.0)
    array([0.75, 0.25])
    """
    # less the largest logarithm, so that no weight overflows and one is 1
    logs = np.log(alpha_t) - eta * q
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def find_multiplier(alpha_t: Array, q: Array, rho: float, tol: float) -> float:
    """Find the eta that tilts alpha_t onto q'alpha = rho, for rho strictly between the extremes of q.

    Examples
    --------
    >>> round(find_multiplier(np.array([0.5, 0.5]), np.array([0.0, 1.0]), 0.25, 1e-12), 6)
    1.098612
    """

    def slope(eta: float) -> tuple[float, float]:
        # d/d eta of ln(Z(eta) exp(rho eta)) is rho - E[q], and E[q] falls at the rate Var[q]
        alpha = tilt(alpha_t, q, eta)
        mean = float(q @ alpha)
        return rho - mean, float(((q - mean) ** 2) @ alpha)

    # an eta of 1 / spread changes weights by a factor of e at most: far out they underflow and the slope is flat
    return find_root(slope, 0.0, tolerance=tol * float(np.abs(q).max()), reach=1 / float(np.ptp(q)))


Margins = Callable[[Array], Array]
"""Maps u (n_samples,) to K~u, by whatever structure K~ = K o yy' has."""


def make_margins(K: Array | LowRankKernel, y: Array) -> Margins:
    """Return the map from u to K~u, by products with K."""
    return lambda u: y * (K @ (y * u))


@dataclass(frozen=True)
class Update:
    """A partially trained SVM, and the update that leads on from it.

    Parameters
    ----------
    u : ndarray of shape (n_samples,)
        Positive, with sum 1: the hypothesis ``f(x) = sum_i u_i y_i k(x, x_i)``.
    q : ndarray of shape (n_samples,)
        Its margins K~u.
    eta : float
        The next u is in proportion to ``u_i exp(-eta q_i)``; 0 where there is none.
    epsilon : float
        The next u is the projection onto ``q'v = u'K~u / (1 + epsilon)``, TK07 (15); 0 where none was asked for.
    """

    u: Array
    q: Array
    eta: float
    epsilon: float

    @property
    def value(self) -> float:
        """u'K~u, above the optimum: TK07's rho bar."""
        return float(self.u @ self.q)

    @property
    def rho(self) -> float:
        """The edge that was asked of the next u under this hypothesis: TK07 (15), rho_t."""
        return self.value / (1 + self.epsilon)

    @property
    def gap(self) -> float:
        return relative_gap(self.q, self.value)

    @property
    def nu(self) -> float:
        """The decrease asked for, relative to half the range of q: the length that `update_bound` speaks of."""
        return 2 * (self.value - self.rho) / float(np.ptp(self.q)) if self.epsilon > 0 else 0.0


def relative_gap(q: Array, value: float) -> float:
    """Return 1 - (m / value)^2 with m = min q, the gap between m^2 / value and value; 1 where m <= 0."""
    return 1.0 - (max(float(q.min()), 0.0) / value) ** 2 if value > 0 else 0.0


def uniform(n_samples: int) -> Array:
    """Weigh all samples alike: the Parzen window, from which updates start."""
    return np.full(n_samples, 1 / n_samples)


def adaptive_updates(
    margins: Margins, u: Array, *, epsilon: float = 0.1, least_epsilon: float = 0.005
) -> Iterator[Update]:
    """Update u as TK07 Algorithm 1 does, each time by the eta that takes the edge down to ``u'K~u / (1 + epsilon)``.

    An update projects u in relative entropy onto the v with ``(K~u)'v <= u'K~u / (1 + epsilon)``, (10) and (15), on
    whose boundary the next u is (16). It is kept if the objective does not rise; else, or where no v is there, epsilon
    is halved, for good. The updates end where that takes it below `least_epsilon`: the last u is the SVM, and those
    before it are the ensemble of section 3.2.

    As printed, a missing v shows as ``eta < 0``, which a minimum over ``eta >= 0`` cannot be; it is that ``min K~u`` is
    not below ``u'K~u / (1 + epsilon)``. There the relative gap is at most ``1 - 1/(1 + epsilon)^2``. While (11) holds,
    ``(1 - epsilon)/(1 + epsilon) u'K~u >= optimum``, there is a v: the optimal one (Proposition 1).

    Parameters
    ----------
    margins : callable
        Maps u to K~u.
    u : ndarray of shape (n_samples,)
        Positive, with sum 1.
    epsilon : float
        The first one, above 0; TK07 has 0.1.
    least_epsilon : float
        Above 0; TK07 has 0.005 (footnote 4).

    Yields
    ------
    Update
        The last one with an eta of 0.

    Examples
    --------
    >>> updates = list(adaptive_updates(lambda u: np.array([1.0, 3.0]) * u, uniform(2)))
    >>> [round(update.value, 3) for update in updates], updates[-1].eta
    ([1.0, 0.851, 0.756, 0.752, 0.752], 0.0)
    """
    validation.positive("epsilon", epsilon)
    validation.positive("least_epsilon", least_epsilon)
    return _update_by_halving(margins, u, epsilon, least_epsilon, growth=1.0, reached=0.0)


def growing_updates(margins: Margins, u: Array) -> Iterator[Update]:
    """Update u with an epsilon that starts large and grows again, until rounding stalls it.

    An extension of TK07 Algorithm 1 (`adaptive_updates`) that goes on to the optimum, in fewer updates: epsilon starts
    at 1, is halved until the objective falls by a fifth of what was asked, and grows again by a half.

    Parameters
    ----------
    margins, u
        As of `adaptive_updates`.

    Yields
    ------
    Update
        The last one, with an eta of 0, where updates have stalled.

    Examples
    --------
    >>> updates = list(growing_updates(lambda u: np.array([1.0, 3.0]) * u, uniform(2)))
    >>> updates[0].u, updates[-1].u.round(5), updates[-1].eta
    (array([0.5, 0.5]), array([0.75, 0.25]), 0.0)
    """
    # beyond 1e-14 rounding decides whether the objective falls. Of shares 0, 0.1, ..., 0.5 those from 0.1 to 0.3 took
    # the fewest updates to a gap of 1 %
    return _update_by_halving(margins, u, epsilon=1.0, least=1e-14, growth=1.5, reached=0.2)


def _update_by_halving(
    margins: Margins, u: Array, epsilon: float, least: float, growth: float, reached: float
) -> Iterator[Update]:
    """Update u, with an epsilon that is halved where an update fails, and multiplied by `growth` where one succeeds.

    One succeeds where the objective falls by a share `reached`, at least, of what was asked.
    """
    largest, q = epsilon, margins(u)
    while True:
        eta, epsilon, then = _step(margins, u, q, epsilon, least, reached)
        if then is None:
            yield Update(u, q, 0.0, 0.0)
            return
        yield Update(u, q, eta, epsilon)
        (u, q), epsilon = then, min(growth * epsilon, largest)


def _step(
    margins: Margins, u: Array, q: Array, epsilon: float, least: float, reached: float
) -> tuple[float, float, tuple[Array, Array] | None]:
    """Return eta, the epsilon that it took, and the next u with its margins; none where epsilon is below the least."""
    value, lowest = float(u @ q), float(q.min())
    while epsilon >= least:
        # (15): rho = value / (1 + epsilon); q'v <= rho has a v > 0 on the simplex only where rho is above the least q
        rho = value / (1 + epsilon)
        if rho > lowest:
            eta = find_multiplier(u, q, rho, 1e-10)
            # a weight that underflows to 0 would stay there: updates are multiplicative
            following = np.maximum(tilt(u, q, eta), TINY)
            their_margins = margins(following)
            if float(following @ their_margins) <= value - reached * (value - rho):
                return eta, epsilon, (following, their_margins)
        epsilon /= 2
    return 0.0, 0.0, None


def take_until(updates: Iterable[Update], gap: float, max_updates: int) -> Iterator[Update]:
    """Cut updates after the first one within a relative `gap`, after `max_updates` steps, or where time is up."""
    for update in islice(updates, max_updates + 1):
        yield update
        if update.gap <= gap or time_is_up():
            return


def update_bound(n_samples: int, nu: float) -> float:
    """Return 2 ln(n) / nu^2: how many updates of length `nu` there can be that the optimum a* does not forbid.

    TK07 section 2.4, after (19). An update to v whose target exceeds ``(K~u)'a*`` brings u nearer to a* in relative
    entropy by at least that of v to u (19), which is ``nu^2 / 2`` or more (Pinsker), with nu the decrease asked for
    over half the range of K~u; at the start the entropy is at most ln(n). The print has ``nu = epsilon / (1 + epsilon)
    u'K~u`` where all scores are in [-1, 1], which is never longer. The target exceeds it while (11) holds, and more
    widely wherever the optimum is at most ``u'K~u / (1 + epsilon)^2``, by the inequality of Cauchy and Schwarz.

    Parameters
    ----------
    n_samples : int
        At least 2.
    nu : float
        Above 0.

    Examples
    --------
    >>> round(update_bound(1000, 0.1))
    1382
    """
    return 2 * log(validation.whole("n_samples", n_samples, 2)) / validation.positive("nu", nu) ** 2


def solve_rho_svm(problem: RhoSVM, tol: float = 1e-9, *, warm_gap: float = 1e-2, max_updates: int = 5000) -> Solution:
    """Minimise u'K~u on the simplex.

    TK07 (2), by `growing_updates` up to a relative gap of `warm_gap`. Updates are slow in the end, so an active-set
    method takes over from their support; it ends at the optimum up to rounding.

    Parameters
    ----------
    problem : RhoSVM
        Needs memory for n_samples^2 numbers.
    tol : float
        Relative gap at which to stop, above 0.
    warm_gap : float
        Relative gap, between ``min(K~u)^2 / u'K~u`` and ``u'K~u``, at which the active-set method takes over; above 0.
    max_updates : int
        Number of multiplicative updates, at least 0, after which it takes over at the latest.

    Returns
    -------
    Solution
        With `c`, `rho` and `u`.

    Examples
    --------
    >>> problem = RhoSVM(np.eye(2), [1.0, -1.0])
    >>> problem.certify(solve_rho_svm(problem)).holds(1e-9)
    True
    """
    start = time.perf_counter()
    validation.instance("problem", problem, RhoSVM)
    validation.positive("tol", tol)
    validation.positive("warm_gap", warm_gap)
    validation.whole("max_updates", max_updates, 0)
    Q = problem.K * np.outer(problem.y, problem.y)
    with threadpool_limits(1, "blas"):
        u = multiplicative_updates(Q, uniform(len(Q)), max(tol, warm_gap), max_updates)
        q = Q @ u
        if relative_gap(q, float(u @ q)) > tol:
            u = finish_on_active_set(Q, u)
    point = problem.repair({"u": u})
    return Solution.from_optimum(problem, {"c": point["c"], "rho": point["rho"]}, {"u": u}, "multiplicative", start)


def multiplicative_updates(Q: Array, u: Array, gap: float, max_updates: int) -> Array:
    """Update u, positive and with sum 1, until its relative gap is within `gap` or updates stall."""
    *_, last = take_until(growing_updates(Q.__matmul__, u), gap, max_updates)
    return last.u


def finish_on_active_set(Q: Array, u: Array) -> Array:
    """Minimise u'Qu on the simplex by an active-set method from the support of `u`."""
    # updates leave nothing at 0; what is far below the largest is on its way there
    u = np.where(u > 1e-6 * u.max(), u, 0.0) / u[u > 1e-6 * u.max()].sum()
    if Q.diagonal().min() <= 0:
        # a PSD matrix with Q_ii = 0 has the least value 0 at the unit vector of i
        return np.eye(len(u))[Q.diagonal().argmin()]
    # in x = size u the matrix has a unit diagonal, so that rounding spares small entries of Q
    size, nothing = np.sqrt(Q.diagonal()), np.zeros(len(u))
    program = BoxProgram(Q / np.outer(size, size), 1 / size, nothing, 1.0, nothing, np.full(len(u), inf))
    u = program.solve(size * u)[0] / size
    return u / u.sum()


@dataclass(frozen=True, eq=False)
class LowRankRhoSVM:
    """A rho-SVM ``f(x) = sum_i u_i y_i k(x, x_i)``, trained on a low-rank kernel.

    Parameters
    ----------
    u : ndarray of shape (n_samples,)
        At least 0, with sum 1.
    coefficients : ndarray of shape (n_samples,)
        u y: those of f over all samples, with the exact kernel.
    pivot_coefficients : ndarray of shape (rank,)
        Those over the pivots alone, of the f that the low-rank kernel gives.
    certificate : Certificate
        Of the optimum with the low-rank kernel.
    exact_certificate : Certificate
        Of the optimum with the kernel that it approximates (and the same ridge).
    n_updates, n_newton_steps : int
        How many there were.
    """

    u: Array
    coefficients: Array
    pivot_coefficients: Array
    certificate: Certificate
    exact_certificate: Certificate
    n_updates: int
    n_newton_steps: int


def solve_low_rank_rho_svm(
    K: LowRankKernel, y: ArrayLike, tol: float = 1e-6, *, max_updates: int = 1000
) -> LowRankRhoSVM:
    """Minimise u'K~u on the simplex, never with an array of n_samples^2.

    By `growing_updates`, each in O(n_samples rank) time (TK07 section 3.3). With a ridge, the problem is that of the
    SVM with squared slacks, ``min |w|^2 + sum_i max(0, 1 - y_i G_i w)^2 / ridge_i``, up to scale: there Newton's
    method, which is no part of TK07, takes over after ten updates, in the `rank` coordinates of w, and u is in
    proportion to the slacks over the ridge.

    Parameters
    ----------
    K : LowRankKernel
        From `incomplete_cholesky`; `softened` unless the classes are known to be separable.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    tol : float
        Relative gap at which to stop, of the low-rank kernel.
    max_updates : int
        At most so many multiplicative updates.

    Returns
    -------
    LowRankRhoSVM
        The best reached; its certificates say how good it is.

    Examples
    --------
    >>> from cvxens.solvers import incomplete_cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [-1.0, -1.0, 1.0, 1.0]
    >>> K = incomplete_cholesky(lambda X, Z: 1 + X @ Z.T, X, rank=2).softened(0.1)
    >>> svm = solve_low_rank_rho_svm(K, y)
    >>> svm.certificate.holds(1e-6), svm.exact_certificate.holds(1e-6)
    (True, True)
    """
    validation.instance("K", K, LowRankKernel)
    y = validation.signs(y, K.shape[0])
    validation.positive("tol", tol)
    n_steps = 0
    with threadpool_limits(1, "blas"):
        soft, updates = bool(np.all(K.ridge > 0)), growing_updates(make_margins(K, y), uniform(len(y)))
        limit = validation.whole("max_updates", max_updates, 0)
        # more updates would not spare a step of Newton's
        reached = take_until(updates, tol, min(limit, 10) if soft else limit)
        ((n_updates, last),) = deque(enumerate(reached), maxlen=1)
        u = last.u
        if soft and last.gap > tol and not time_is_up():
            u, n_steps = _finish_by_newton(K, y, u, tol)
    low_rank, exact = certificates(K, y, u)
    return LowRankRhoSVM(u, y * u, K.on_pivots(y * u), low_rank, exact, n_updates, n_steps)


def certificates(K: LowRankKernel, y: Array, u: Array) -> tuple[Certificate, Certificate]:
    """Certify u on the simplex, for the low-rank kernel and for the exact one.

    With ``v = u'K~u`` and ``m = min K~u`` of the low-rank kernel its optimum is between ``m^2 / v`` and v. The residual
    E is PSD, so the exact optimum is not below that, and at most ``v + (y u)'E (y u) <= v + (sum_i u_i sqrt(E_ii))^2``,
    which is at most v plus the trace of E.
    """
    # m^2 / v <= optimum <= v, and for the exact kernel up to v + (sum_i u_i sqrt(E_ii))^2
    q = make_margins(K, y)(u)
    value = float(u @ q)
    low = (1 - relative_gap(q, value)) * value
    missed = float(u @ np.sqrt(K.residual)) ** 2
    feasibility = {"dual feasibility": max(float(-u.min()), abs(float(u.sum()) - 1))}

    # |v|'|G G'||v| <= (sum_i |v_i| |G_i|)^2, for the form and, as m^2/v, for the primal value
    size = float(u @ np.sqrt(K.diagonal)) ** 2
    rounding = 4 * sum_error(len(u) + K.rank, size)

    def between(high: float, note: str) -> Certificate:
        return Certificate.between(low, high, maximise=True, residuals=feasibility, rounding=rounding, note=note)

    return between(value, "for the low-rank kernel"), between(value + missed, "for the exact kernel, by the residual")


def _finish_by_newton(K: LowRankKernel, y: Array, u: Array, tol: float) -> tuple[Array, int]:
    """Minimise the SVM with squared slacks from the w of u, and return its u and the number of steps."""
    # ridge |w|^2 + sum_i prices_i max(0, 1 - y_i G_i w)^2, divided so that no number in it is large
    ridge = float(np.max(K.ridge))
    prices = ridge / np.broadcast_to(K.ridge, y.shape)
    loss = SquaredHinge(2 * prices)
    problem = SmoothProblem(K.G.T, y, 2 * ridge, False, loss)
    w = K.G.T @ (y * u)
    f = K.G @ w
    # the best length t of that w were all slacks above 0: min ridge t^2 |w|^2 + sum_i prices_i (1 - t y_i f_i)^2
    size = float(prices @ (y * f) / (prices @ f**2 + ridge * (w @ w)))
    best, lowest, n_steps = u, inf, -1

    def keep_best(_: Array, __: Array, pull: Array) -> float:
        """Take the multipliers as a point of the simplex; the gap that counts is the one there."""
        nonlocal best, lowest, n_steps
        n_steps += 1
        u = pull / pull.sum() if pull.any() else best
        q = make_margins(K, y)(u)
        gap = relative_gap(q, float(u @ q))
        if gap < lowest:
            best, lowest = u, gap
        return inf if gap <= tol else 0.0

    with interruptible():
        problem.minimise(Iterate(size * w, 0.0, size * f), keep_best)
    return best, n_steps


@dataclass(frozen=True, eq=False)
class PartialSVMEnsemble:
    """f(x) = sum_t eta_t f_t(x) / sum_t eta_t over t = 1, ..., T, with f_t(x) = sum_i u_ti y_i k(x, x_i).

    All hypotheses are expansions over the same samples, so the ensemble is one, however many there are.

    Parameters
    ----------
    coefficients : ndarray of shape (n_samples,)
        Of the ensemble, signed by y; their absolute values have the sum 1.
    first, last : ndarray of shape (n_samples,)
        Those of its first hypothesis, the Parzen window, and of f_(T+1), which no update follows and which is not in
        the ensemble: the hard-margin SVM, up to the last gap.
    weights : ndarray of shape (n_hypotheses + 1,)
        The eta_t, and 0 for f_(T+1). Without any update f_1 is the ensemble.
    values, gaps : ndarray of shape (n_hypotheses + 1,)
        u'K~u of f_1, ..., f_(T+1), and their gaps to the optimum, relative to that.
    bound : float
        ``2 ln(n) / nu^2`` with nu the length of the shortest update, see `update_bound`; inf for no update.
    """

    coefficients: Array
    first: Array
    last: Array
    weights: Array
    values: Array
    gaps: Array
    bound: float

    @property
    def n_hypotheses(self) -> int:
        """T, the number of updates; 1 without any."""
        return max(1, len(self.weights) - 1)

    @property
    def price(self) -> float:
        """A, the sum of the eta_t; 0 without any update.

        The updates, from weights p, make ``u_(T+1)`` proportional to ``p exp(-sum_t eta_t K~u_t) = p exp(-A K~v)`` with
        v the mean of the u_t, which is that of the ensemble. So at its w and at v the gap of ``max s_A(y f) - 1/2
        |w|^2``, with the soft minimum ``s_A(z) = -1/A ln sum_i p_i exp(-A z_i)`` of the margins, is that of Fenchel's
        inequality, 1/A times the relative entropy of v to ``u_(T+1)``: the ensemble is near the optimum of that.
        """
        return float(self.weights.sum()) if len(self.weights) > 1 else 0.0

    def decision_function(self, rows: ArrayLike) -> Array:
        """Evaluate on new samples from `rows` (n_new, n_samples) of k(x, x_i); returns (n_new,)."""
        rows = validation.finite_array("rows", rows, ndim=2)
        validation.same_length("rows", rows.T, len(self.coefficients))
        return rows @ self.coefficients


def combine_updates(updates: Iterable[Update], y: Array) -> PartialSVMEnsemble:
    """Add up the hypotheses that an update follows, all but the last; the only one if there is one alone."""
    remaining = iter(updates)
    first = last = next(remaining)
    # f = sum_t eta_t f_t / sum_t eta_t, of which only the sum of the u_t is kept
    total, weights, nus, rows = np.zeros(len(y)), [], [], [(first.value, first.gap)]
    for after in remaining:
        total += last.eta * last.u
        weights.append(last.eta)
        nus.append(last.nu)
        last = after
        rows.append((last.value, last.gap))
    total, weights = (total, [*weights, 0.0]) if weights else (first.u, [1.0])
    values, gaps = np.array(rows).T
    shortest = min((nu for nu in nus if nu > 0), default=inf)
    bound = update_bound(len(y), shortest) if shortest < inf else inf
    return PartialSVMEnsemble(y * total / total.sum(), y * first.u, y * last.u, np.array(weights), values, gaps, bound)


MAX_UPDATES = 10_000
"""Updates of an ensemble at most, ten times what the sets of TK07 take."""


def partial_svms(
    K: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float = 0.1,
    least_epsilon: float = 0.005,
    tol: float = 1e-3,
    max_updates: int = MAX_UPDATES,
) -> PartialSVMEnsemble:
    """Train the rho-SVM by TK07 Algorithm 1, and weigh the hypotheses that it goes through by their eta.

    TK07 section 3.2: boosting of weighted Parzen windows (section 3.1). It is Algorithm 2 with the f_t as hypotheses,
    whose edge under a is a'K~u_t, the eta_t as their c_t of (20), and the rho_t as target edges.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples), or LowRankKernel
        Kernel matrix, PSD. With a ridge it is that of the SVM with squared slacks, which TK07 has not.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    epsilon, least_epsilon : float
        The first and the least epsilon of `adaptive_updates`, which says when the updates end.
    tol : float
        The relative gap of the SVM at which they end before that. Up to ``1 - 1/(1 + least_epsilon)^2``, 0.99 % for
        0.005, it changes nothing: every epsilon from there on is infeasible.
    max_updates : int
        At most so many updates.

    Returns
    -------
    PartialSVMEnsemble
        With the number of updates taken beside their bound.

    Raises
    ------
    InvalidInput
        A matrix that is not square and symmetric, or has a negative diagonal entry, or another argument out of range.

    Examples
    --------
    >>> ensemble = partial_svms(np.diag([1.0, 3.0]), [1.0, -1.0])
    >>> ensemble.first, ensemble.last.round(3), ensemble.coefficients.round(2), ensemble.n_hypotheses
    (array([ 0.5, -0.5]), array([ 0.727, -0.273]), array([ 0.71, -0.29]), 4)
    """
    K = K if isinstance(K, LowRankKernel) else _check_kernel(K)
    y = validation.signs(y, K.shape[0])
    validation.positive("tol", tol)
    with threadpool_limits(1, "blas"):
        updates = adaptive_updates(make_margins(K, y), uniform(len(y)), epsilon=epsilon, least_epsilon=least_epsilon)
        return combine_updates(take_until(updates, tol, validation.whole("max_updates", max_updates)), y)


def _check_kernel(K: ArrayLike) -> Array:
    K = validation.symmetric(K)
    if (least := float(K.diagonal().min())) < 0:
        raise InvalidInput("K", f"found {least:.3g} on the diagonal", "give the matrix of a PSD kernel")
    return K
