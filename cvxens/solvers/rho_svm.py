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
from typing import Any

import numpy as np
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


SMALLEST = 1e-14
"""The relative decrease asked of an update at which multiplicative updates have stalled."""

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
        The relative decrease that was asked for; 0 where none was.
    """

    u: Array
    q: Array
    eta: float
    epsilon: float

    @property
    def value(self) -> float:
        """u'K~u, above the optimum."""
        return float(self.u @ self.q)

    @property
    def gap(self) -> float:
        return relative_gap(self.q, self.value)

    @property
    def nu(self) -> float:
        """The decrease asked for relative to half the range of q: the length that `update_bound` speaks of."""
        return 2 * self.epsilon * self.value / float(np.ptp(self.q)) if self.epsilon > 0 else 0.0


def relative_gap(q: Array, value: float) -> float:
    """Return 1 - (m / value)^2 with m = min q, the gap between m^2 / value and value; 1 where m <= 0."""
    return 1.0 - (max(float(q.min()), 0.0) / value) ** 2 if value > 0 else 0.0


def uniform(n_samples: int) -> Array:
    """Weigh all samples alike: the Parzen window, from which updates start."""
    return np.full(n_samples, 1 / n_samples)


def adaptive_updates(margins: Margins, u: Array) -> Iterator[Update]:
    """TK07 Algorithm 1: updates that choose their own eta.

    Each projects u in relative entropy onto the v with ``(K~u)'v = (1 - epsilon) u'K~u``. Epsilon starts at a half, is
    halved until the objective falls by a fifth of what was asked, and grows again by a half.

    Parameters
    ----------
    margins : callable
        Maps u to K~u.
    u : ndarray of shape (n_samples,)
        Positive, with sum 1.

    Yields
    ------
    Update
        The last one, with an eta of 0, where updates have stalled.

    Examples
    --------
    >>> updates = list(adaptive_updates(lambda u: np.array([1.0, 3.0]) * u, uniform(2)))
    >>> updates[0].u, updates[-1].u.round(6), updates[-1].eta
    (array([0.5, 0.5]), array([0.75, 0.25]), 0.0)
    """
    epsilon, q = 0.5, margins(u)
    while True:
        eta, epsilon, then = _step(margins, u, q, epsilon)
        if then is None:
            yield Update(u, q, 0.0, 0.0)
            return
        yield Update(u, q, eta, epsilon)
        (u, q), epsilon = then, min(1.5 * epsilon, 0.5)


def _step(margins: Margins, u: Array, q: Array, epsilon: float) -> tuple[float, float, tuple[Array, Array] | None]:
    """Return eta, the epsilon that it took, and the next u with its margins; none where epsilon vanishes."""
    value, least = float(u @ q), float(q.min())
    while epsilon > SMALLEST:
        target = (1 - epsilon) * value
        # q'v = target has a v on the simplex only above the least q
        if target > least:
            eta = find_multiplier(u, q, target, 1e-10)
            # a weight that underflows to 0 would stay there: updates are multiplicative
            following = np.maximum(tilt(u, q, eta), TINY)
            their_margins = margins(following)
            if float(following @ their_margins) < (1 - epsilon / 5) * value:
                return eta, epsilon, (following, their_margins)
        epsilon /= 2
    return 0.0, 0.0, None


def fixed_updates(margins: Margins, u: Array, eta: float) -> Iterator[Update]:
    """Cristianini, Campbell & Shawe-Taylor (1999): updates of one eta, without end.

    A large eta diverges, a small one takes its time. With ``eta = nu / R^2``, where R bounds |K_ij|, the mean of the
    first ``2 ln(n) R^2 / nu^2`` u's has a smallest margin within nu of its objective, by Hoeffding's lemma.

    Parameters
    ----------
    margins : callable
        Maps u to K~u.
    u : ndarray of shape (n_samples,)
        Positive, with sum 1.
    eta : float
        Above 0.

    Yields
    ------
    Update
        With an epsilon of 0: nothing is asked of an update.

    Examples
    --------
    >>> updates = fixed_updates(lambda u: np.array([1.0, 3.0]) * u, uniform(2), eta=1.0)
    >>> next(updates).u, next(updates).u.round(3)
    (array([0.5, 0.5]), array([0.731, 0.269]))
    """
    eta = validation.positive("eta", eta)
    while True:
        q = margins(u)
        yield Update(u, q, eta, 0.0)
        u = np.maximum(tilt(u, q, eta), TINY)


def take_until(updates: Iterable[Update], gap: float, max_updates: int) -> Iterator[Update]:
    """Cut updates after the first one within a relative `gap`, after `max_updates` steps, or where time is up."""
    for update in islice(updates, max_updates + 1):
        yield update
        if update.gap <= gap or time_is_up():
            return


def update_bound(n_samples: int, nu: float) -> float:
    """Return 2 ln(n) / nu^2: how many updates of length `nu` there can be that the optimum a* does not forbid.

    An update whose target exceeds ``(K~u)'a*`` brings u nearer to a* in relative entropy by at least ``nu^2 / 2``
    (Pythagoras and Pinsker), with nu the decrease asked for over half the range of K~u; at the start that entropy is at
    most ln(n). The target exceeds it wherever the optimum is at most ``(1 - epsilon)^2 u'K~u``.

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

    TK07 Algorithm 1 (`adaptive_updates`) up to a relative gap of `warm_gap`. Updates are slow in the end, so an
    active-set method takes over from their support; it ends at the optimum up to rounding.

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
    *_, last = take_until(adaptive_updates(Q.__matmul__, u), gap, max_updates)
    return last.u


def finish_on_active_set(Q: Array, u: Array) -> Array:
    """Minimise u'Qu on the simplex by an active-set method from the support of `u`."""
    # updates leave nothing at 0; what is far below the largest is on its way there
    u = np.where(u > 1e-6 * u.max(), u, 0.0) / u[u > 1e-6 * u.max()].sum()
    if Q.diagonal().min() <= 0:
        # a PSD matrix with Q_ii = 0 has the least value 0 at the unit vector of i
        return np.eye(len(u))[Q.diagonal().argmin()]
    # in x = size u the matrix has a unit diagonal, so that rounding spares small entries of Q
    size = np.sqrt(Q.diagonal())
    nothing = np.zeros(len(u))
    program = BoxProgram(Q / np.outer(size, size), 1 / size, nothing, 1.0, nothing, np.full(len(u), inf))
    u = program.solve(size * u)[0] / size
    return u / u.sum()


WARM_UPDATES = 10
"""Updates before Newton's method: more of them would not spare a step."""


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


def solve_low_rank_rho_svm(K: LowRankKernel, y: Any, tol: float = 1e-6, *, max_updates: int = 1000) -> LowRankRhoSVM:
    """Minimise u'K~u on the simplex, never with an array of n_samples^2.

    TK07 Algorithm 1. With a ridge, the problem is that of the SVM with squared slacks, ``min |w|^2 + sum_i max(0,
    1 - y_i G_i w)^2 / ridge_i``, up to scale: there Newton's method takes over after ten updates, in the `rank`
    coordinates of w, and u is in proportion to the slacks over the ridge.

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
        soft = bool(np.all(K.ridge > 0))
        updates = adaptive_updates(make_margins(K, y), uniform(len(y)))
        limit = validation.whole("max_updates", max_updates, 0)
        reached = take_until(updates, tol, min(limit, WARM_UPDATES) if soft else limit)
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

    Examples
    --------
    >>> K = LowRankKernel(np.array([[1.0], [-1.0]]), np.array([0]), np.array([0.0, 0.5]))
    >>> low_rank, exact = certificates(K, np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    >>> low_rank.primal, low_rank.dual, exact.primal, exact.dual
    (1.0, 1.0, 1.0, 1.125)
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
        return Certificate.between(
            low, high, maximise=True, residuals=feasibility, repair={}, rounding=rounding, note=note
        )

    return between(value, "for the low-rank kernel"), between(value + missed, "for the exact kernel, by the residual")


def _finish_by_newton(K: LowRankKernel, y: Array, u: Array, tol: float) -> tuple[Array, int]:
    """Minimise the SVM with squared slacks from the w of u, and return its u and the number of steps."""
    # ridge |w|^2 + sum_i prices_i max(0, 1 - y_i G_i w)^2, divided so that no number in it is large
    ridge = float(np.max(K.ridge))
    prices = ridge / np.broadcast_to(K.ridge, y.shape)
    loss = SquaredHinge(2 * prices)
    problem = SmoothProblem(K.G.T, y, 2 * ridge, False, loss.multipliers, loss.curvature)
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
    """f(x) = sum_t eta_t f_t(x) / sum_t eta_t, with f_t(x) = sum_i u_ti y_i k(x, x_i).

    All hypotheses are expansions over the same samples, so the ensemble is one, however many there are.

    Parameters
    ----------
    coefficients : ndarray of shape (n_samples,)
        Of the ensemble, signed by y; their absolute values have the sum 1.
    first, last : ndarray of shape (n_samples,)
        Those of its first hypothesis, the Parzen window, and of its last: the hard-margin SVM, up to the last gap.
    weights : ndarray of shape (n_hypotheses,)
        The eta_t.
    values, gaps : ndarray of shape (n_hypotheses,)
        u'K~u of each hypothesis, and its gap to the optimum, relative to that.
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
        return len(self.weights)

    def decision_function(self, rows: Any) -> Array:
        """Evaluate on new samples from `rows` (n_new, n_samples) of k(x, x_i); returns (n_new,)."""
        rows = validation.finite_array("rows", rows, ndim=2)
        validation.same_length("rows", rows.T, len(self.coefficients))
        return rows @ self.coefficients


def combine_updates(updates: Iterable[Update], y: Array) -> PartialSVMEnsemble:
    """Add up what `updates` went through; one that stalled counts as much as the one before it."""
    remaining = iter(updates)
    first = last = next(remaining)
    # f = sum_t eta_t f_t / sum_t eta_t, of which only the sum of the u_t is kept
    total, rows = _weight(first, 1.0) * first.u, [(_weight(first, 1.0), first.value, first.gap, first.nu)]
    for last in remaining:
        eta = _weight(last, rows[-1][0])
        total += eta * last.u
        rows.append((eta, last.value, last.gap, last.nu))
    weights, values, gaps, nus = np.array(rows).T
    shortest = float(nus[nus > 0].min(initial=np.inf))
    bound = update_bound(len(y), shortest) if np.isfinite(shortest) else np.inf
    return PartialSVMEnsemble(y * total / weights.sum(), y * first.u, y * last.u, weights, values, gaps, bound)


def _weight(update: Update, otherwise: float) -> float:
    return update.eta if update.eta > 0 else otherwise


def partial_svms(K: Any, y: Any, *, tol: float = 1e-3, max_updates: int = 1000) -> PartialSVMEnsemble:
    """Train the rho-SVM by adaptive multiplicative updates, and keep every iterate's hypothesis.

    TK07 section 3: boosting of weighted Parzen windows, without a parameter to tune.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples), or LowRankKernel
        Kernel matrix, PSD; positive where separability is in doubt, by a ridge.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    tol : float
        Relative gap of the last SVM.
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
    >>> ensemble.first, ensemble.last.round(3), ensemble.coefficients.round(2)
    (array([ 0.5, -0.5]), array([ 0.75, -0.25]), array([ 0.62, -0.38]))
    """
    K = K if isinstance(K, LowRankKernel) else _check_kernel(K)
    y = validation.signs(y, K.shape[0])
    validation.positive("tol", tol)
    with threadpool_limits(1, "blas"):
        updates = adaptive_updates(make_margins(K, y), uniform(len(y)))
        return combine_updates(take_until(updates, tol, validation.whole("max_updates", max_updates)), y)


def _check_kernel(K: Any) -> Array:
    K = validation.symmetric(K)
    if (least := float(K.diagonal().min())) < 0:
        raise InvalidInput("K", f"found {least:.3g} on the diagonal", "give the matrix of a PSD kernel")
    return K
