"""RegAdaBoost as an estimator: the exponential loss of boosting, regularised by a kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY
from math import inf
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Column, Formulation
from cvxens.colgen.masters import SmoothMaster
from cvxens.deadline import limit_time
from cvxens.errors import InvalidInput
from cvxens.estimators.base import ClassWeighted, Limited
from cvxens.estimators.machines.kernel_expansion import (
    FixedKernel,
    KernelExpansion,
    average,
    chosen,
    left_out,
    of_exact_kernel,
    shortfall,
)
from cvxens.estimators.parameters import estimator
from cvxens.estimators.probabilities import Probabilities
from cvxens.estimators.progress import rounds_of, warn_of_gap
from cvxens.estimators.samples import Sample
from cvxens.hypotheses import TabulatedColumn
from cvxens.problems import Problem, RegularizedExpLoss
from cvxens.problems.losses import Exponential
from cvxens.problems.penalties import SquaredL2
from cvxens.rounding import sum_error
from cvxens.solvers import LowRankKernel, RegAdaBoostRound, reg_adaboost_rounds
from cvxens.types import Array

Trained: TypeAlias = tuple[NDArray[np.intp], Array, Array, Certificate]
"""The support, the coefficients over it, u and the certificate."""

PENALTY = 3e-4
"""The default lam, for kernels with k(x, x) = 1 on average."""


ROUNDS = 20_000
"""At most so many rounds of boosting as printed."""


@final
@estimator
class RegAdaBoostClassifier(Probabilities, ClassWeighted, Limited, KernelExpansion):
    """RegAdaBoost (KIE06): min 1/n sum_i exp(-y_i f(x_i)) + lam |f|^2 over the functions of a kernel, no intercept.

    By default the kernel matrix is replaced by one of low rank, which is what grows with the samples:
    ``8 n_samples max_rank`` bytes. Its certificate is nevertheless of the problem with the exact kernel.

    Parameters
    ----------
    lam : float, optional
        Weight of the penalty, above 0, in proportion to the kernel; by default 0.0003 times the mean of k(x, x).
    tol : float
        The relative gap at which the fit is done, of "fast" that of the low-rank kernel. Where the gap to the optimum
        with the exact kernel is larger, there is a ConvergenceWarning.
    solver : {"fast", "boosting"}
        Newton's method with the low-rank kernel; or boosting as printed, a kernel function a round, with the whole
        matrix and samples that weigh the same.

    Attributes
    ----------
    certificate_ : Certificate
        Of the problem with the exact kernel: what the low rank leaves out is part of the gap.
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

    _: KW_ONLY
    lam: float | None = None
    solver: str = "fast"

    def _merges(self) -> bool:
        return validation.one_of("solver", self.solver, ("fast", "boosting")) == "fast"

    def _most_rounds(self, sample: Sample) -> int:
        return ROUNDS if self.solver == "boosting" else 0

    def _solve(self, sample: Sample) -> dict[str, Any]:
        solve = chosen({"fast": self._fast, "boosting": self._boosting}, self.solver)
        kernel, X = self._fixed(sample)
        support, coefficients, u, certificate = solve(kernel, X, sample)
        return {
            **self._expanded(sample, kernel, support, coefficients),
            "certificate_": certificate,
            "dual_weights_": sample.spread(u),
        }

    def _lam(self, diagonal: Array, sample: Sample) -> float:
        return PENALTY * average(diagonal, sample) if self.lam is None else validation.positive("lam", self.lam)

    def _fast(self, kernel: FixedKernel, X: Array, sample: Sample) -> Trained:
        with rounds_of(self) as rounds, limit_time(inf) as clock:
            rounds.tell(f"{len(X)} samples")
            K = self._low_rank(kernel, X)
            w, u, certificate = self._optimum(kernel, X, K, sample)
        warn_of_gap(self, certificate, validation.positive("tol", self.tol), *shortfall(clock))
        return K.pivots, solve_triangular(K.G[K.pivots], w, lower=True, trans="T"), u, certificate

    def _optimum(
        self, kernel: FixedKernel, X: Array, K: LowRankKernel, sample: Sample
    ) -> tuple[Array, Array, Certificate]:
        """The weights of the columns of G, u, and the certificate of the exact kernel."""
        lam, y = self._lam(K.diagonal + K.residual, sample), sample.signs
        w, u, certificate = newton(K, y, _loss(sample), lam, self.tol)
        missed = left_out(kernel, X, K, y * u) / (4 * lam)
        return w, u, of_exact_kernel(certificate, -missed, maximise=False)

    def _certified(self, kernel: FixedKernel, sample: Sample, f: Array, norm: float) -> Certificate:
        K = self._low_rank(kernel, sample.X)
        _, _, optimum = self._optimum(kernel, sample.X, K, sample)
        with np.errstate(over="ignore"):
            value = _loss(sample).value(sample.signs * f) + self._lam(K.diagonal + K.residual, sample) * norm
        # the values of `f` and `norm` are taken as given
        rounding = optimum.rounding + sum_error(len(f), abs(value))
        return Certificate.between(value, optimum.dual, residuals={}, repair={}, rounding=rounding, note=optimum.note)

    def _boosting(self, kernel: FixedKernel, X: Array, sample: Sample) -> Trained:
        if np.ptp(sample.weights) > 0:
            raise InvalidInput("sample_weight", "found weights that differ with solver='boosting'", "give 'fast'")
        K, tol = kernel(X, X), validation.positive("tol", self.tol)
        problem = RegularizedExpLoss(K, sample.signs, self._lam(K.diagonal(), sample))
        last: deque[RegAdaBoostRound] = deque(maxlen=1)
        with rounds_of(self) as rounds:
            rows = _within(reg_adaboost_rounds(problem), tol)
            last.extend(rounds.over(rows, ROUNDS, _told, lambda: self._expanded(sample, kernel, *_support(last[0]))))
        certificate = problem.certify(eta=last[0].eta, u=last[0].u)
        if not rounds.stopped:
            ending = rounds.ending.value if rounds.ending else "boosting has ended"
            warn_of_gap(self, certificate, tol, ending, "give solver='fast', or raise tol")
        return *_support(last[0]), last[0].u, certificate


def _loss(sample: Sample) -> Exponential:
    return Exponential(sample.weights / sample.weights.sum())


def _within(rows: Iterable[RegAdaBoostRound], tol: float) -> Iterator[RegAdaBoostRound]:
    """The rows up to the first one within a relative gap."""
    for row in rows:
        yield row
        if row.relative_gap <= tol:
            return


def _told(row: RegAdaBoostRound) -> str:
    return f"relative gap {row.relative_gap:.2g}, objective {row.value:.6g}"


def _support(row: RegAdaBoostRound) -> tuple[NDArray[np.intp], Array]:
    support = np.flatnonzero(row.eta)
    return support, row.eta[support]


def newton(K: LowRankKernel, y: Array, loss: Exponential, lam: float, tol: float) -> tuple[Array, Array, Certificate]:
    """Minimise loss(y G w) + lam |w|^2; returns w, u and the certificate of that.

    Examples
    --------
    >>> K = LowRankKernel(np.array([[1.0], [-1.0]]), np.array([0]), np.zeros(2))
    >>> w, u, certificate = newton(K, np.array([1.0, -1.0]), Exponential(0.5), 0.1, 1e-9)
    >>> w.round(3), u.round(3), certificate.holds(1e-9)
    (array([1.327]), array([0.133, 0.133]), True)
    """
    formulation = Formulation(loss, SquaredL2(2 * lam))
    master = SmoothMaster(formulation, y, tol=tol)
    master.add([Column(TabulatedColumn(j, K.rank, 1), K.G, 0.0) for j in range(K.rank)])
    with threadpool_limits(1, "blas"):
        solution = master.solve()
    pull = K.G.T @ (y * solution.u)
    distance = float(np.abs(2 * lam * solution.w - pull).max())
    certificate = Certificate.between(
        solution.objective,
        loss.dual_value(solution.u) - float(pull @ pull) / (4 * lam),
        residuals={"stationarity": distance / max(float(np.abs(pull).max()), np.finfo(float).tiny)},
        repair={},
        rounding=Problem(formulation, K.G, y).evaluate_at(solution.w, np.zeros(()), solution.u).rounding,
    )
    return solution.w, solution.u, certificate
