"""RegAdaBoost as an estimator: the exponential loss of boosting, regularised by a kernel."""

from __future__ import annotations

from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Column, Formulation
from cvxens.colgen.masters import SmoothMaster
from cvxens.colgen.oracles.pool import TabulatedColumn
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Classifier, Weighted
from cvxens.estimators.kernel_expansion import FixedKernel, KernelExpansion, chosen, left_out, of_exact_kernel
from cvxens.estimators.links import ExponentialLink
from cvxens.estimators.parameters import documented
from cvxens.estimators.sample import Sample
from cvxens.problems import RegularizedExpLoss
from cvxens.problems.losses import Exponential
from cvxens.problems.penalties import SquaredL2
from cvxens.solvers import LowRankKernel, solve_reg_adaboost
from cvxens.types import Array

Trained: TypeAlias = tuple[NDArray[np.intp], Array, Array, Certificate]
"""The support, the coefficients over it, u and the certificate."""

PENALTY = 3e-4
"""The default lam, for kernels with k(x, x) = 1 on average."""


@final
@documented
class RegAdaBoostClassifier(ExponentialLink, KernelExpansion, Weighted, Classifier):
    """RegAdaBoost (KIE06): min 1/n sum_i exp(-y_i f(x_i)) + lam |f|^2 over the functions of a kernel, no intercept.

    By default the kernel matrix is replaced by one of low rank, which is what grows with the samples:
    ``8 n_samples max_rank`` bytes. Its certificate is nevertheless of the problem with the exact kernel.

    Parameters
    ----------
    <PSD_KERNEL>
    lam : float, optional
        Weight of the penalty, above 0, in proportion to the kernel; by default 0.0003 times the mean of k(x, x).
    max_rank : int
        At most so many pivots of the incomplete Cholesky factor: up to so many samples it is exact.
    tol : float
        The relative gap at which the fit is done, of "fast" that of the low-rank kernel.
    solver : {"fast", "boosting"}
        Newton's method with the low-rank kernel; or boosting as printed, a kernel function a round, with the whole
        matrix and samples that weigh the same.
    <CLASS_WEIGHT>
    <SUB_PROBLEMS>

    Attributes
    ----------
    certificate_ : Certificate
        Of the problem with the exact kernel: what the low rank leaves out is part of the gap.
    <EXPANSION>
    dual_weights_ : ndarray of shape (n_samples,)
        u, the weighted loss of each sample; the bound is from it.
    <EXPANSION_OF_PARTS>
    <CLASSES>

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RegAdaBoostClassifier().fit(X, y)
    >>> model.score(X, y) > 0.97, model.certificate_.holds(1e-2)
    (True, True)
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0.]])
    """

    source = "KIE06 (14)-(18)"

    def __init__(
        self,
        kernel: Any = "middle-stump",
        *,
        gamma: float | None = None,
        lam: float | None = None,
        max_rank: int = 500,
        tol: float = 1e-4,
        solver: str = "fast",
        class_weight: Any = None,
        multi_class: str = "ovr",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(kernel, gamma=gamma, max_rank=max_rank, tol=tol, multi_class=multi_class, n_jobs=n_jobs)
        self.lam = lam
        self.solver = solver
        self.class_weight = class_weight

    def _merges(self) -> bool:
        return self.solver == "fast"

    def _solve(self, sample: Sample) -> dict[str, Any]:
        solve = chosen({"fast": self._fast, "boosting": self._boosting}, self.solver)
        kernel, X = self._fixed(sample)
        support, coefficients, u, certificate = solve(kernel, X, sample)
        return {
            **self._expanded(sample, kernel, support, coefficients),
            "certificate_": certificate,
            "dual_weights_": sample.spread(u),
        }

    def _lam(self, diagonal: Array) -> float:
        return PENALTY * float(diagonal.mean()) if self.lam is None else validation.positive("lam", self.lam)

    def _fast(self, kernel: FixedKernel, X: Array, sample: Sample) -> Trained:
        K = self._low_rank(kernel, X)
        loss = Exponential(sample.weights / sample.weights.sum())
        y, lam = sample.signs, self._lam(K.diagonal + K.residual)
        w, u, certificate = newton(K, y, loss, lam, self.tol)
        exact = of_exact_kernel(certificate, -left_out(kernel, X, K, y * u) / (4 * lam), maximise=False)
        return K.pivots, solve_triangular(K.G[K.pivots], w, lower=True, trans="T"), u, exact

    def _boosting(self, kernel: FixedKernel, X: Array, sample: Sample) -> Trained:
        if np.ptp(sample.weights) > 0:
            raise InvalidInput("sample_weight", "found weights that differ with solver='boosting'", "give 'fast'")
        K = kernel(X, X)
        problem = RegularizedExpLoss(K, sample.signs, self._lam(K.diagonal()))
        solution = solve_reg_adaboost(problem, self.tol)
        eta = solution.variables["eta"]
        return np.flatnonzero(eta), eta[eta != 0], solution.duals["u"], problem.certify(solution)


def newton(K: LowRankKernel, y: Array, loss: Exponential, lam: float, tol: float) -> tuple[Array, Array, Certificate]:
    """Minimise loss(y G w) + lam |w|^2; returns w, u and the certificate of that.

    Examples
    --------
    >>> K = LowRankKernel(np.array([[1.0], [-1.0]]), np.array([0]), np.zeros(2))
    >>> w, u, certificate = newton(K, np.array([1.0, -1.0]), Exponential(0.5), 0.1, 1e-9)
    >>> w.round(3), u.round(3), certificate.holds(1e-9)
    (array([1.327]), array([0.133, 0.133]), True)
    """
    master = SmoothMaster(Formulation(loss, SquaredL2(2 * lam)), y, tol=tol)
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
    )
    return solution.w, solution.u, certificate
