"""Kernel machines without an intercept: the rho-SVM, TK07's ensemble of partially trained SVMs, and RegAdaBoost.

Each is a function `f(x) = sum_j c_j k(x, x_j)` that minimises a loss on the margins with the penalty `|f|^2`. The
kernel matrix K of the sample is replaced by one of low rank, `G G'` by incomplete Cholesky, whose residual
`E = K - G G'` is PSD. A function of the low-rank kernel over the pivots is one of the exact kernel too, with the same
norm and scores on the sample; so its primal value stays, and of the dual value at u what changes is the quadratic form
`v'E v`, v = y u. That is how a certificate for the low-rank kernel becomes one for the exact kernel. Where that is
not within the tolerance and the kernel is additive, whose products are cheap, the low-rank optimum is where a solver
with the exact kernel starts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice
from math import inf, nan
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate, Round
from cvxens.colgen import Ending, Formulation
from cvxens.errors import InvalidInput
from cvxens.estimators.base import (
    Attributes,
    Classifier,
    check_shape,
    estimator,
    link_exponential,
    refuse_intercept,
    rounds_of,
    warn_of,
    warn_of_gap,
)
from cvxens.estimators.machines import KernelMachine, TrainingKernel, certify_function
from cvxens.estimators.samples import Sample
from cvxens.kernels.kernel import Kernel, close_ranges
from cvxens.limits import Deadline, Pace, interruptible, limit_time, time_left
from cvxens.problems import Problem, RegularizedExpLoss, RhoSVM
from cvxens.problems.losses import EntropicMinimumMargin, Exponential, SquaredHinge
from cvxens.problems.penalties import SquaredL2
from cvxens.rounding import sum_error
from cvxens.solvers import (
    LowRankKernel,
    RegAdaBoostRound,
    incomplete_cholesky,
    reg_adaboost_rounds,
    solve_low_rank_rho_svm,
    solve_rho_svm,
)
from cvxens.solvers.additive import AdditiveKernel, ConditionedMatrix
from cvxens.solvers.blockwise import expand
from cvxens.solvers.newton import Iterate, SmoothProblem, minimise_expansion
from cvxens.solvers.rho_svm import (
    MAX_UPDATES,
    PartialSVMEnsemble,
    Update,
    adaptive_updates,
    certificates,
    combine_updates,
    make_margins,
    take_until,
)
from cvxens.types import Array, Indices, KernelFunction, Matrix

BLOCK = 2**22
"""Kernel values that are held at a time: 32 MiB."""

HALVINGS = 2200
"""Steps to a zero: between the largest float and the least there are 2,098 powers of two, and a hard margin takes the
first of these brackets."""

LOW_RANK = "the low-rank kernel leaves out too much of the exact one"
"""Why a certificate may not hold at the tolerance that the low-rank kernel was solved to."""


class Prepared(NamedTuple):
    """A kernel on a sample, with features of its own for which it is sooner evaluated many times.

    What is sorted is sorted once, before the loops: what comes after them has its products, and a limit of time.
    """

    kernel: KernelFunction
    X: Array
    exact: AdditiveKernel | None  # the matrix, for products in O(n_samples n_features), if it is additive

    @classmethod
    def of(cls, kernel: KernelFunction, X: Array) -> Prepared:
        """Prepare a kernel, and sort the sample for it if it is additive."""
        own: tuple[KernelFunction, Any] = kernel.prepare(X) if isinstance(kernel, Kernel) else (kernel, X)
        return cls(*own, AdditiveKernel.from_kernel(*own))


class Trained(NamedTuple):
    """The answer of a solver: coefficients over the samples `support`, multipliers of all, and their certificate."""

    support: Indices
    coefficients: Array
    u: Array
    certificate: Certificate

    @classmethod
    def from_all(cls, c: Array, u: Array, certificate: Certificate) -> Trained:
        """Return an answer by the coefficients of all samples."""
        support = np.flatnonzero(c)
        return cls(support, c[support], u, certificate)

    def spread(self, n_samples: int) -> Array:
        """Return the coefficients of all samples."""
        c = np.zeros(n_samples)
        c[self.support] = self.coefficients
        return c


@dataclass(eq=False, repr=False)
class ExpansionClassifier(KernelMachine, Classifier):
    """A function `f(x) = sum_j c_j k(x, x_j)` over some of the training samples.

    Parameters
    ----------
    kernel : str or callable
        "middle-stump" (all middle stumps: scaling features does not matter to it), "stump", "histogram-intersection",
        "decision-stump", "perceptron", "decision-tree", "laplacian", "gaussian", one of `cvxens.kernels`, or a function
        from two samples to the matrix between them; PSD. All but the first want features of one scale.
    max_rank : int
        At most so many pivots of the incomplete Cholesky factor that the kernel matrix is replaced by, which takes
        ``8 n_samples max_rank`` bytes; up to so many samples it is exact. `RhoSVC` and `RegAdaBoostClassifier` only
        start from it where the kernel is a sum over features.
    tol : float
        The relative gap, for the low-rank kernel, at which the fit is done. Where the gap to the optimum with the exact
        kernel is larger, there is a ConvergenceWarning.

    Attributes
    ----------
    certificate_ : Certificate
        Of the problem with the exact kernel: what the low rank leaves out is part of the gap.
    support_ : ndarray of int, shape (n_support,)
        Training samples that scores are expanded over.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients c of ``f(x) = sum_j c_j k(x, x_j)``.
    intercept_ : ndarray of shape ()
        0.
    """

    kernel: str | KernelFunction = "middle-stump"
    _: KW_ONLY
    class_weight: object = None
    n_jobs: int | None = None
    max_rank: int = 500
    tol: float = 1e-4

    def _certify(self, sample: Sample, weights: ArrayLike, intercept: ArrayLike) -> Certificate:
        refuse_intercept(intercept)
        c = check_shape("weights", weights, self.dual_coef_.shape)
        checked = replace(sample, X=validation.samples(sample.X))
        norm = float(c @ self._expand(self.support_vectors_, c))
        return self._certify_scores(Prepared.of(self.kernel_, checked.X), checked, self._expand(checked.X, c), norm)

    @abstractmethod
    def _certify_scores(self, matrix: Prepared, sample: Sample, f: Array, norm: float) -> Certificate:
        """Hold a function with scores f and squared norm `norm` against the optimum on a sample."""

    def _fix_kernel(self, sample: Sample) -> tuple[KernelFunction, Array]:
        """Return the kernel, and the sample as it takes it."""
        X = validation.samples(sample.X)
        kernel = TrainingKernel.from_sample(self.kernel, self.gamma, X, sample.masses).kernel
        return close_ranges(kernel, X) if isinstance(kernel, Kernel) else kernel, X

    def _factor(self, matrix: Prepared) -> LowRankKernel:
        # Newton's steps cost less than the factor did
        with limit_time(0.5 * time_left()):
            return incomplete_cholesky(matrix.kernel, matrix.X, validation.whole("max_rank", self.max_rank))

    def _train(self, solve: Callable[[Prepared, Sample], Trained], sample: Sample) -> Attributes:
        """Solve within the limits; returns the fitted attributes, and warns where the certificate is not within tol."""
        kernel, X = self._fix_kernel(sample)
        with rounds_of(self) as rounds, limit_time(inf) as clock:
            rounds.tell(f"{len(X)} samples")
            trained = solve(matrix := Prepared.of(kernel, X), sample)
        certificate, tol = trained.certificate, validation.positive("tol", self.tol)
        warn_of_gap(self, certificate, tol, *explain_shortfall(clock, is_exact=matrix.exact is not None))
        return self._make_attributes(sample, kernel, trained)

    def _make_expansion(self, sample: Sample, kernel: KernelFunction, rows: Indices, coefficients: Array) -> Attributes:
        """Return the fitted attributes of an expansion over some of the samples that are kept."""
        kept = np.flatnonzero(sample.shares > 0)
        _, first = np.unique(sample.places[kept], return_index=True)
        return {
            "kernel_": kernel,
            "support_": kept[first][rows],
            "support_vectors_": sample.X[rows].astype(np.float64, copy=False),
            "dual_coef_": coefficients,
            "intercept_": np.zeros(()),
        }

    def _make_attributes(self, sample: Sample, kernel: KernelFunction, trained: Trained) -> Attributes:
        return {
            **self._make_expansion(sample, kernel, trained.support, trained.coefficients),
            "certificate_": trained.certificate,
            "dual_weights_": sample.spread(trained.u),
        }

    def _scores(self, X: Matrix) -> Array:
        return self._expand(X.astype(np.float64, copy=False), self.dual_coef_)

    def _expand(self, X: Array, coefficients: Array) -> Array:
        """Evaluate ``f(x) = sum_j c_j k(x, x_j)`` on X, by prefix sums where those take less than all values."""
        kernel, vectors = self.kernel_, self.support_vectors_
        joined = np.concatenate([X, vectors]) if len(X) * len(vectors) > BLOCK else None
        matrix = None if joined is None else Prepared.of(kernel, joined).exact
        if matrix is None:
            return expand(kernel, X, vectors, coefficients)
        return (matrix @ np.concatenate([np.zeros(len(X)), coefficients]))[: len(X)]


def explain_shortfall(clock: Deadline, ending: Ending | None = None, *, is_exact: bool = False) -> tuple[str, str]:
    """Say why a fit falls short of its tolerance, and what to do: it was cut short, or its rank is too low.

    With the exact kernel a low rank conditions the steps badly.
    """
    if clock.interrupted or ending is Ending.INTERRUPTED:
        return Ending.INTERRUPTED.value, "fit again to go further"
    if clock.cut or ending is Ending.MAX_TIME:
        return Ending.MAX_TIME.value, "raise max_time or tol, or lower max_rank"
    return ("Newton's method has ended", "raise max_rank or tol") if is_exact else (LOW_RANK, "raise max_rank or tol")


def evaluate_residual(matrix: Prepared, K: LowRankKernel, v: Array) -> float:
    """Compute v'E v for E the matrix less G G', or a bound of more than 25,000 samples or without the time.

    As E is PSD, |E_ij| <= sqrt(E_ii E_jj), so the bound is ``(sum_i |v_i| sqrt(E_ii))^2``.
    """
    kept, bound = float(((K.G.T @ v) ** 2).sum()), float(np.abs(v) @ np.sqrt(K.residual)) ** 2
    used = np.flatnonzero(v)
    # a share of the form so small need not be known better
    if bound <= 1e-6 * kept:
        return bound
    if matrix.exact is not None:
        product, errors = matrix.exact.measure_scores(v)
        return min(bound, max(float(v @ product) - kept, 0.0) + float(errors @ np.abs(v)))
    # 6e8 kernel values are evaluated, for the certificate
    if len(used) > 25_000:
        return bound
    n_rows = max(1, BLOCK // max(len(used), 1))
    form, pace = 0.0, Pace()
    X, v = matrix.X[used], v[used]
    for first in range(0, len(v), n_rows):
        if not pace.allows_step():
            return bound
        rows = slice(first, first + n_rows)
        form += float(v[rows] @ (matrix.kernel(X[rows], X) @ v))
    return min(bound, max(form - kept, 0.0))


def move_dual(certificate: Certificate, change: float, *, maximise: bool) -> Certificate:
    """Turn the certificate of a problem of low rank into one of the exact kernel, whose dual value differs."""
    return Certificate.between(
        certificate.primal,
        certificate.dual + change,
        maximise=maximise,
        residuals=certificate.residuals,
        repair=certificate.repair,
        rounding=certificate.rounding,
        note="for the exact kernel",
    )


def take_best(start: Trained, further: Iterable[Trained], tol: float) -> Trained:
    """Return the answer of the least gap up to the first one within `tol`, or until time is up."""
    best, remaining, pace = start, iter(further), Pace()
    with threadpool_limits(1, "blas"), interruptible():
        while not best.certificate.holds(tol) and pace.allows_step():
            if (ahead := next(remaining, None)) is None:
                break
            best = min(best, ahead, key=lambda trained: trained.certificate.relative_gap)
    return best


def certify_rho_svm(K: AdditiveKernel, y: Array, ridge: Array, c: Array) -> Trained:
    """Hold the part of f = K c that is signed by y, as u = y c on the simplex, against the bound from u."""
    u = np.maximum(y * c, 0.0)
    u = u / u.sum() if u.any() else np.full(len(y), 1 / len(y))
    v, penalty = y * u, float(ridge @ u**2)
    f, errors = K.measure_scores(v)
    error, norm = float(errors.max()), float(v @ f)
    norm_error = error * float(u.sum()) + sum_error(len(u), float(u @ np.abs(f)))
    # f and its norm at the worst: the primal value rises with the margins and falls with the norm
    primal = evaluate_rho_svm(y * f - error, norm + norm_error, ridge)
    # u'(K~ + ridge) u, whose value changes by twice as much as the sum of u is off 1
    rounding = norm_error + sum_error(4 * len(u), abs(norm) + penalty + abs(primal))
    note = "for the exact kernel"
    certificate = Certificate.between(primal, norm + penalty, maximise=True, rounding=rounding, note=note)
    return Trained.from_all(v, u, certificate)


def certify_exponential(problem: Problem, ridge: float, c: Array) -> Trained:
    """Hold the part of f = K c that is signed by y against the bound from u = ridge y c."""
    y = problem.y
    c = y * np.maximum(y * c, 0.0)
    u = ridge * np.abs(c)
    return Trained.from_all(c, u, replace(problem.certify(w=c, u=u), note="for the exact kernel"))


def average_diagonal(diagonal: Array, sample: Sample) -> float:
    """Return the mean of k(x, x) over the sample as it was given; 1 of a kernel that is 0."""
    mean = float(np.average(diagonal, weights=sample.masses))
    return mean if mean > 0 else 1.0


@dataclass(eq=False, repr=False)
class SquaredSlacks(ExpansionClassifier):
    """A function for the largest margin with squared slacks.

    Parameters
    ----------
    C : float, optional
        The price of squared slacks, in proportion to one over the kernel; 10 over the mean of k(x, x) by default. The
        larger it is, the nearer to the hard margin: 1 / (C weight) is added to the diagonal of the kernel matrix.
    """

    _: KW_ONLY
    C: float | None = None

    def _choose_ridge(self, diagonal: Array, sample: Sample) -> Array:
        """Return 1 / (C weight) of every sample."""
        price = 10.0 / average_diagonal(diagonal, sample) if self.C is None else validation.positive("C", self.C)
        return 1 / (price * sample.weights)

    def _factor_with_ridge(self, matrix: Prepared, sample: Sample) -> LowRankKernel:
        K = self._factor(matrix)
        ridge = self._choose_ridge(K.diagonal + K.residual, sample)
        return K.softened(ridge) if ridge.any() else K

    def _certify_scores(self, matrix: Prepared, sample: Sample, f: Array, norm: float) -> Certificate:
        K = self._factor_with_ridge(matrix, sample)
        # v'(K + ridge) v at v = y u bounds the optimum
        optimum = self._minimise_slacks(matrix, K, sample, min(self.tol, 1e-4)).certificate
        value = evaluate_rho_svm(sample.signs * f, norm, K.ridge)
        # the values of `f` and `norm` are taken as given
        rounding = optimum.rounding + sum_error(len(f), abs(value))
        return Certificate.between(value, optimum.dual, maximise=True, rounding=rounding, note=optimum.note)

    def _minimise_slacks(self, matrix: Prepared, K: LowRankKernel, sample: Sample, tol: float) -> Trained:
        """Solve the rho-SVM of low rank and, where that is not within `tol`, with the exact kernel."""
        y = sample.signs
        svm = solve_low_rank_rho_svm(K, y, tol)
        residual = evaluate_residual(matrix, K, svm.coefficients)
        low = Trained(K.pivots, svm.pivot_coefficients, svm.u, move_dual(svm.certificate, residual, maximise=True))
        ridge = np.broadcast_to(np.asarray(K.ridge, np.float64), y.shape)
        exact = matrix.exact if ridge.all() else None
        if exact is None:
            return low
        # ridge c'K c + sum_i prices_i max(0, 1 - y_i f_i)^2, divided so that no number in it is large
        largest = float(ridge.max())
        problem = ConditionedMatrix.from_factor(exact, K), y, SquaredHinge(2 * largest / ridge), 2 * largest
        steps = minimise_expansion(*problem, low.spread(len(y)))
        return take_best(low, (certify_rho_svm(exact, y, ridge, c) for c in steps), tol)


def evaluate_rho_svm(z: Array, norm: float, ridge: float | Array) -> float:
    """Compute max 2 rho - |t w|^2 - sum_i xi_i^2 / ridge_i, t z_i >= rho - xi_i, for a w, at its best scale t.

    As rho and t scale together, it is one over the minimum over tau = t / rho of
    ``tau^2 |w|^2 + sum_i max(0, 1 - tau z_i)^2 / ridge_i``; z are the margins of w, `norm` is |w|^2. Without a ridge,
    0, no slack is allowed: the maximum of ``2 t m - t^2 |w|^2`` with m = min z, 0 where m is not positive.
    """
    if not np.any(ridge):
        return max(float(z.min()), 0.0) ** 2 / norm if norm > 0 else 0.0
    # margins of size 1, so that their squares neither overflow nor vanish
    size = float(np.abs(z).max())
    z, norm = (z / size, norm / size / size) if size > 0 else (z, 0.0)

    def slope(tau: float) -> float:
        # half the derivative in tau, which rises with tau
        return tau * norm - float((z / ridge) @ np.maximum(1 - tau * z, 0))

    tau = 0.0
    if 0 < norm < np.inf and slope(0.0) < 0:
        # slope(tau) >= tau |w|^2 - sum_i max(z_i, 0) / ridge_i; the zero of that, doubled, is clear of rounding
        most = 2 * float((np.maximum(z, 0) / ridge).sum()) / norm
        tau = brentq(slope, 0.0, most, xtol=np.finfo(float).tiny, maxiter=HALVINGS)
    # norm may be infinite
    length = tau**2 * norm if tau > 0 else 0.0
    return 1 / (length + float((np.maximum(1 - tau * z, 0) ** 2 / ridge).sum()))


@final
@estimator
class RhoSVC(SquaredSlacks):
    """The rho-SVM: max 2 rho - |w|^2 - C sum_i xi_i^2, y_i <w, phi(x_i)> >= rho - xi_i, without an intercept.

    TK07 (1) has the hard margin; squared slacks are an extension. The dual is TK07 (2) with 1/C added to the diagonal
    of K; a sample of weight s has the price s C.

    A kernel that is a sum over features, as "middle-stump" and all others that have `shape_functions_`, is met exactly
    whatever the rank: 20,000 samples of threenorm with 20 features take 5 s to a gap of 1e-5. With other kernels what
    the rank leaves out is part of the gap.

    Parameters
    ----------
    solver : {"fast", "reference"}
        Newton's method with the low-rank kernel, and from there with the exact one if it is a sum over features; or
        multiplicative updates as TK07's and an active-set method with the whole matrix, for small samples. "reference"
        has no state to stop with, and takes no `max_time`: Ctrl-C leaves the estimator as it was.

    Attributes
    ----------
    dual_weights_ : ndarray of shape (n_samples,)
        u, at least 0 and with sum 1; the bound is from it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RhoSVC(max_rank=569).fit(X, y)
    >>> model.score(X, y) > 0.97, model.certificate_.holds(1e-4)
    (True, True)
    """

    source: ClassVar[str] = "TK07 (1)-(2), with squared slacks"
    _counts_beside: ClassVar = {**KernelMachine._counts_beside, "max_time": ("solver", ["fast"])}

    _: KW_ONLY
    solver: str = "fast"

    def _solve(self, sample: Sample) -> Attributes:
        is_fast = validation.one_of("solver", self.solver, ["fast", "reference"]) == "fast"
        return self._train(self._solve_low_rank if is_fast else self._solve_whole, sample)

    def _solve_low_rank(self, matrix: Prepared, sample: Sample) -> Trained:
        return self._minimise_slacks(matrix, self._factor_with_ridge(matrix, sample), sample, self.tol)

    def _solve_whole(self, matrix: Prepared, sample: Sample) -> Trained:
        K, y = matrix.kernel(matrix.X, matrix.X), sample.signs
        problem = RhoSVM(K + np.diag(self._choose_ridge(K.diagonal(), sample)), y)
        solution = solve_rho_svm(problem, self.tol)
        u = solution.duals["u"]
        return Trained.from_all(u * y, u, problem.certify(solution))


@dataclass(frozen=True)
class PartialSVM(Round):
    """A row of the history: a hypothesis of the ensemble, or the SVM that comes after them.

    Its objective is u'K~u, above the optimum, and its size that of the ensemble; nobody has timed it.
    """

    weight: float = 0.0  # eta; 0 for the SVM


def soften_margin(p: Array, price: float) -> Formulation:
    """Return ``max s_A(y f) - 1/2 |w|^2`` with ``s_A(z) = -1/A ln sum_i p_i exp(-A z_i)``, a soft minimum of price A.

    It is the rho-SVM, halved, whose margin is hard as A tends to infinity.
    """
    # no u_i on the simplex is above 1, so caps of at least 1 cap nothing
    return Formulation(EntropicMinimumMargin(p / p.min(), price), SquaredL2(), maximise=True)


def find_length(formulation: Formulation, z: Array, norm: float) -> float:
    """Return the t at which t w is best, for a w of squared norm `norm` with margins z; 0 where none is better."""
    slopes = formulation.terms[0].multipliers

    def slope(t: float) -> float:
        # of the loss at t z plus t^2 / 2 |w|^2, which rises with t
        return t * norm - float(slopes(t * z) @ z)

    if not 0 < norm < inf or slope(0.0) >= 0:
        return 0.0
    # the soft minimum rises the fastest at 0
    return float(brentq(slope, 0.0, 2 * float(slopes(0 * z) @ z) / norm, maxiter=HALVINGS))


def certify_partial_svms(
    K: LowRankKernel, y: Array, p: Array, ensemble: PartialSVMEnsemble, residual: float, price: float | None = None
) -> Certificate:
    """Hold an ensemble whose updates began at p against the optimum of the soft minimum of its price, or of another.

    `residual` is v'E v for what the low rank leaves out of the exact kernel, and v the ensemble's coefficients.
    """
    formulation = soften_margin(p, ensemble.price if price is None else price)
    w = K.G.T @ ensemble.coefficients
    length = find_length(formulation, y * (K.G @ w), float(w @ w))
    certificate = Problem(formulation, K.G, y).certify(w=length * w, u=np.abs(ensemble.coefficients))
    # the dual value is u'K~u / 2 and the entropy
    note = "of the ensemble, for a soft minimum of margins at the price of its updates; for the exact kernel"
    return replace(move_dual(certificate, residual / 2, maximise=True), note=note)


def take_until_price(updates: Iterable[Update], price: float) -> Iterator[Update]:
    """Cut updates where their etas have added up to a price; the last one counts as far as that."""
    spent = 0.0
    for update in updates:
        eta = min(update.eta, price - spent)
        spent += eta
        yield replace(update, eta=eta)
        if spent >= price:
            # what no update follows is not part of an ensemble
            yield replace(update, eta=0.0)
            return


@final
@estimator
class PartialSVMEnsembleClassifier(SquaredSlacks):
    """The ensemble of partially trained SVMs (TK07): every hypothesis on the way to the hard-margin SVM votes.

    The updates of TK07 Algorithm 1 go from the Parzen window towards the rho-SVM. Each hypothesis that they go through
    is weighted by the length eta of the update that it leads to; all are over the same samples, so the ensemble is one
    expansion (section 3.2). The SVM itself, which no update follows, is not in it. When to stop is what regularises it,
    and `least_epsilon` says when; there is next to nothing to tune but the kernel. TK07 has the one of
    ``kernel="gaussian", gamma="variance"``.

    Parameters
    ----------
    epsilon : float
        By how much the first update asks the objective to fall, to a share of 1 / (1 + epsilon); halved, for good,
        whenever there is no such update or the objective would rise.
    least_epsilon : float
        The updates end where epsilon is halved to less.
    C : float, optional
        The price of squared slacks, an extension: inf, the default, is the hard margin of TK07, and None 10 over the
        mean of k(x, x). 1 / (C weight) is added to the diagonal of the kernel matrix.
    tol : float
        The relative gap of the SVM at which the updates end before that; up to 0.99 % it changes nothing for a
        `least_epsilon` of 0.005. There is a ConvergenceWarning where a limit ends them before, or where the low rank
        leaves out more than this of the objective.
    max_updates : int
        At most so many updates.

    Attributes
    ----------
    certificate_ : Certificate
        Of the ensemble, with the exact kernel, in the rho-SVM of a soft minimum of the margins, max s_A(y f) - |f|^2/2
        with ``s_A(z) = -1/A ln sum_i p_i exp(-A z_i)``, A the sum of the weights eta and p the shares of the samples:
        the updates are its mirror descent, and the ensemble comes within a few percent of its optimum. So early
        stopping sets a price. How near the SVM came to the largest margin, as a rule not near, is the last gap of
        `history_`. With a finite C, or without any update, the certificate is of the SVM.
    history_ : tuple of PartialSVM
        Weight, objective and gap of every hypothesis, and of the SVM.
    dual_weights_ : ndarray of shape (n_samples,)
        The weights of the samples in the ensemble: the mean of the u of its hypotheses.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PartialSVMEnsembleClassifier(max_rank=569).fit(X, y)
    >>> model.score(X, y) > 0.95, len(model.history_) > 5
    (True, True)
    """

    source: ClassVar[str] = "TK07 Algorithm 1, section 3.2"

    history_: tuple[PartialSVM, ...] = field(init=False)
    _: KW_ONLY
    epsilon: float = 0.1
    least_epsilon: float = 0.005
    C: float | None = inf
    tol: float = 1e-3
    max_updates: int = MAX_UPDATES

    @property
    def _is_hard(self) -> bool:
        return isinstance(self.C, float) and inf == self.C

    def _choose_ridge(self, diagonal: Array, sample: Sample) -> Array:
        return np.zeros(len(diagonal)) if self._is_hard else super()._choose_ridge(diagonal, sample)

    def _certify_scores(self, matrix: Prepared, sample: Sample, f: Array, norm: float) -> Certificate:
        price = sum(row.weight for row in self.history_[:-1])
        if not self._is_hard or price == 0:
            return super()._certify_scores(matrix, sample, f, norm)
        # the same updates on this sample, as far as the price goes: their mean is near the optimum, and bounds it
        K, y, p = self._factor(matrix), sample.signs, sample.weights / sample.weights.sum()
        updates = adaptive_updates(make_margins(K, y), p, epsilon=self.epsilon, least_epsilon=self.least_epsilon)
        ensemble = combine_updates(take_until_price(islice(updates, self.max_updates + 1), price), y)
        residual = evaluate_residual(matrix, K, ensemble.coefficients)
        optimum = certify_partial_svms(K, y, p, ensemble, residual, price)
        # the length at which the objective is largest
        formulation, z = soften_margin(p, price), sample.signs * f
        length = find_length(formulation, z, norm)
        dual, rounding, note = optimum.dual, optimum.rounding, optimum.note
        f, norm = length * f, length**2 * norm
        return certify_function(formulation, y, f, 0.0, norm, dual=dual, rounding=rounding, note=note)

    def _solve(self, sample: Sample) -> Attributes:
        (kernel, X), y = self._fix_kernel(sample), sample.signs
        tol, limit = validation.positive("tol", self.tol), validation.whole("max_updates", self.max_updates)
        epsilons = {"epsilon": self.epsilon, "least_epsilon": self.least_epsilon}
        start = sample.weights / sample.weights.sum()
        with rounds_of(self) as rounds, threadpool_limits(1, "blas"), limit_time(inf) as clock:
            matrix = Prepared.of(kernel, X)
            K = self._factor_with_ridge(matrix, sample)
            updates = take_until(adaptive_updates(lambda u: y * (K @ (y * u)), start, **epsilons), tol, limit)
            so_far, ended = start, False

            def sum_up() -> Iterator[Update]:
                """Add up the u that an update follows, as the ensemble weighs them; the first one for none."""
                nonlocal so_far, ended
                total = np.zeros(len(y))
                for update in updates:
                    so_far, ended = total if total.any() else update.u, update.eta == 0 or update.gap <= tol
                    yield update
                    total = total + update.eta * update.u

            steps = rounds.follow(
                sum_up(),
                limit + 1,
                lambda update: f"relative gap {update.gap:.2g}, objective {update.value:.6g}",
                lambda: self._make_expansion(sample, kernel, K.pivots, K.on_pivots(y * so_far)),
            )
            ensemble = combine_updates(steps, y)
        is_soft = self._is_hard and ensemble.price > 0
        held = ensemble.coefficients if is_soft else ensemble.last
        residual = evaluate_residual(matrix, K, held)
        if is_soft:
            certificate = certify_partial_svms(K, y, start, ensemble, residual)
        else:
            low_rank, _ = certificates(K, y, y * held)
            certificate = move_dual(low_rank, residual, maximise=True)
        if not rounds.stopped:
            done = f"after {ensemble.n_hypotheses} hypotheses"
            if not ended:
                reason, remedy = explain_shortfall(clock, rounds.ending)
                if reason == LOW_RANK:
                    reason, remedy = "the updates have ended", "raise max_updates"
                warn_of_gap(self, certificate, tol, f"{reason} {done}", remedy)
            elif residual > tol * float(held @ (K @ held)):
                warn_of(self, LOW_RANK, "raise max_rank or tol")
        rows = zip(*(a.tolist() for a in (ensemble.weights, ensemble.values, ensemble.gaps)), strict=True)
        each = enumerate(rows, start=1)
        history = (PartialSVM(value, value * (1 - gap), gap, k, nan, weight=w) for k, (w, value, gap) in each)
        coefficients, u = K.on_pivots(ensemble.coefficients), np.abs(ensemble.coefficients)
        trained = Trained(K.pivots, coefficients, u, certificate)
        return {**self._make_attributes(sample, kernel, trained), "history_": tuple(history)}

    def _most_rounds(self, sample: Sample) -> int:
        return validation.whole("max_updates", self.max_updates) + 1


@final
@estimator
class RegAdaBoostClassifier(ExpansionClassifier):
    """RegAdaBoost (KIE06): min 1/n sum_i exp(-y_i f(x_i)) + lam |f|^2 over the functions of a kernel, no intercept.

    A kernel that is a sum over features, as "middle-stump" and all others that have `shape_functions_`, is met exactly
    whatever the rank: 20,000 samples of threenorm with 20 features take 3 s to a gap of 1e-7. With other kernels what
    the rank leaves out is part of the gap.

    Parameters
    ----------
    lam : float, optional
        Weight of the penalty, above 0, in proportion to the kernel; by default 0.0003 times the mean of k(x, x).
    solver : {"fast", "boosting"}
        Newton's method with the low-rank kernel, and from there with the exact one if it is a sum over features; or
        boosting as printed, (16)-(18), a kernel function a round, with the whole matrix and samples that weigh the
        same.
    max_rounds : int
        At most so many rounds of boosting; few of them regularise too (tau in KIE06).

    Attributes
    ----------
    dual_weights_ : ndarray of shape (n_samples,)
        u, the weighted loss of each sample; the bound is from it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RegAdaBoostClassifier(max_rank=569).fit(X, y)
    >>> model.score(X, y) > 0.97, model.certificate_.holds(1e-4)
    (True, True)
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0.]])
    """

    source: ClassVar[str] = "KIE06 (14)-(18)"
    _counts_beside: ClassVar = {**KernelMachine._counts_beside, "max_rounds": ("solver", ["boosting"])}

    _: KW_ONLY
    lam: float | None = None
    solver: str = "fast"
    max_rounds: int = 20_000

    _link = staticmethod(link_exponential)

    def _merges(self) -> bool:
        validation.whole("max_rounds", self.max_rounds)
        return validation.one_of("solver", self.solver, ("fast", "boosting")) == "fast"

    def _most_rounds(self, sample: Sample) -> int:
        return validation.whole("max_rounds", self.max_rounds) + 1 if self.solver == "boosting" else 0

    def _solve(self, sample: Sample) -> Attributes:
        return self._train(lambda *given: self._minimise(*given)[0], sample) if self._merges() else self._boost(sample)

    def _choose_lam(self, diagonal: Array, sample: Sample) -> float:
        return 3e-4 * average_diagonal(diagonal, sample) if self.lam is None else validation.positive("lam", self.lam)

    def _minimise(self, matrix: Prepared, sample: Sample) -> tuple[Trained, Formulation]:
        """Solve the problem of low rank; returns the optimum, certified for the exact kernel, and the formulation."""
        K, y, tol = self._factor(matrix), sample.signs, validation.positive("tol", self.tol)
        # lam |f|^2 is ridge / 2 |f|^2
        ridge = 2 * self._choose_lam(K.diagonal + K.residual, sample)
        loss = Exponential(sample.weights / sample.weights.sum())
        formulation = Formulation(loss, SquaredL2(ridge))
        w, u, certificate = minimise_exponential(K, y, loss, ridge, tol)
        # the dual value is -loss*(-u) - |K^1/2 (y u)|^2 / (2 ridge)
        certificate = move_dual(certificate, -evaluate_residual(matrix, K, y * u) / (2 * ridge), maximise=False)
        # f = G w on the sample is f = K c over the pivots, where G is triangular: G_p' c = w
        coefficients = solve_triangular(K.G[K.pivots], w, lower=True, trans="T")
        low, exact = Trained(K.pivots, coefficients, u, certificate), matrix.exact
        if exact is None:
            return low, formulation
        steps = minimise_expansion(ConditionedMatrix.from_factor(exact, K), y, loss, ridge, low.spread(len(y)))
        problem = Problem(formulation, exact, y)
        return take_best(low, (certify_exponential(problem, ridge, c) for c in steps), tol), formulation

    def _certify_scores(self, matrix: Prepared, sample: Sample, f: Array, norm: float) -> Certificate:
        (*_, optimum), formulation = self._minimise(matrix, sample)
        # f and its norm are taken as given
        dual, rounding, note = optimum.dual, optimum.rounding, optimum.note
        return certify_function(formulation, sample.signs, f, None, norm, dual=dual, rounding=rounding, note=note)

    def _boost(self, sample: Sample) -> Attributes:
        """Boost a kernel function a round until the gap is within `tol`; returns the fitted attributes."""
        if np.ptp(sample.weights) > 0:
            raise InvalidInput("sample_weight", "found weights that differ with solver='boosting'", "give 'fast'")
        kernel, X = self._fix_kernel(sample)
        K, tol = kernel(X, X), validation.positive("tol", self.tol)
        problem = RegularizedExpLoss(K, sample.signs, self._choose_lam(K.diagonal(), sample))
        # of the rounds the last one is kept, as each has the coefficients of all samples
        last: deque[RegAdaBoostRound] = deque(maxlen=1)

        with rounds_of(self) as rounds:
            steps = rounds.follow(
                _stop_within(reg_adaboost_rounds(problem), tol),
                self._most_rounds(sample),
                lambda row: f"relative gap {row.relative_gap:.2g}, objective {row.value:.6g}",
                lambda: self._make_expansion(
                    sample, kernel, np.flatnonzero(last[0].eta), last[0].eta[last[0].eta != 0]
                ),
            )
            last.extend(steps)
        eta, u = last[0].eta, last[0].u
        certificate = problem.certify(eta=eta, u=u)
        if not rounds.stopped:
            ending = rounds.ending.value if rounds.ending else "boosting has ended"
            warn_of_gap(self, certificate, tol, ending, "give solver='fast', or raise max_rounds or tol")
        return self._make_attributes(sample, kernel, Trained.from_all(eta, u, certificate))


def _stop_within(rows: Iterable[RegAdaBoostRound], tol: float) -> Iterator[RegAdaBoostRound]:
    """Yield rows up to the first one within a relative gap."""
    for row in rows:
        yield row
        if row.relative_gap <= tol:
            return


def minimise_exponential(
    K: LowRankKernel, y: Array, loss: Exponential, ridge: float, tol: float
) -> tuple[Array, Array, Certificate]:
    """Minimise loss(y G w) + ridge / 2 |w|^2; returns w, u and the certificate of that."""
    problem = Problem(Formulation(loss, SquaredL2(ridge)), K.G, y)
    newton = SmoothProblem(np.ascontiguousarray(K.G.T), y, ridge, False, loss)
    with threadpool_limits(1, "blas"):
        at = newton.minimise(
            Iterate(np.zeros(K.rank), 0.0, np.zeros(len(y))),
            lambda w, z, _: tol * (loss.value(z) + ridge / 2 * float(w @ w)),
        )
    u = loss.multipliers(y * at.f)
    return at.w, u, problem.certify(w=at.w, u=u)
