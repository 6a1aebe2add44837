"""The rho-SVM as an estimator: the largest margin, with squared slacks, without an intercept."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.deadline import limit_time
from cvxens.estimators.base import ClassWeighted, Limited
from cvxens.estimators.machines.kernel_expansion import (
    FixedKernel,
    KernelExpansion,
    chosen,
    left_out,
    of_exact_kernel,
    ridge_of,
    shortfall,
)
from cvxens.estimators.machines.soft_margin import certify_soft_margin
from cvxens.estimators.parameters import estimator
from cvxens.estimators.progress import rounds_of, warn_of_gap
from cvxens.estimators.samples import Sample
from cvxens.problems import RhoSVM
from cvxens.solvers import solve_low_rank_rho_svm, solve_rho_svm
from cvxens.types import Array

Trained: TypeAlias = tuple[NDArray[np.intp], Array, Array, Certificate]
"""The support, the coefficients over it, u and the certificate."""


@final
@estimator
class RhoSVC(ClassWeighted, Limited, KernelExpansion):
    """The rho-SVM (TK07): max 2 rho - |w|^2 - C sum_i xi_i^2, y_i <w, phi(x_i)> >= rho - xi_i, without an intercept.

    Its dual is that of the hard margin with 1/C added to the diagonal of the kernel matrix; a sample of weight s has
    the price s C, and 1/(s C) there. By default the kernel
    matrix is replaced by one of low rank, which is what grows with the samples: ``8 n_samples max_rank`` bytes. Its
    certificate is nevertheless of the problem with the exact kernel.

    Parameters
    ----------
    C : float, optional
        The price of squared slacks, in proportion to one over the kernel; 10 over the mean of k(x, x) by default. The
        larger it is, the nearer to the hard margin.
    tol : float
        The relative gap, for the low-rank kernel, at which the fit is done. Where the gap to the optimum with the exact
        kernel is larger, there is a ConvergenceWarning.
    solver : {"fast", "reference"}
        Newton's method with the low-rank kernel, or TK07's multiplicative updates and an active-set method with the
        whole matrix, for small samples.
    max_time : float, optional
        Stop, with a ConvergenceWarning, after so many seconds; of each sub-problem where there are several. Ctrl-C
        does the same: fewer pivots or steps, and a certificate that says what they are worth. "reference" has no state
        to stop with, and keeps to no limit: Ctrl-C leaves the estimator as it was.
    verbose : int
        1 shows on the standard error how far the fit is.

    Attributes
    ----------
    certificate_ : Certificate
        Of the problem with the exact kernel: what the low rank leaves out is part of the gap.
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

    source: ClassVar[str] = "TK07"

    _: KW_ONLY
    C: float | None = None
    solver: str = "fast"

    def _solve(self, sample: Sample) -> dict[str, Any]:
        solve = chosen({"fast": self._fast, "reference": self._reference}, self.solver)
        kernel, X = self._fixed(sample)
        with rounds_of(self) as rounds, limit_time(inf) as clock:
            rounds.tell(f"{len(X)} samples")
            support, coefficients, u, certificate = solve(kernel, X, sample)
        warn_of_gap(self, certificate, validation.positive("tol", self.tol), *shortfall(clock))
        return {
            **self._expanded(sample, kernel, support, coefficients),
            "certificate_": certificate,
            "dual_weights_": sample.spread(u),
        }

    def _certified(self, kernel: FixedKernel, sample: Sample, f: Array, norm: float) -> Certificate:
        K = self._softened(kernel, sample.X, sample)
        return certify_soft_margin(kernel, sample, K, tol=self.tol, f=f, norm=norm)

    def _fast(self, kernel: FixedKernel, X: Array, sample: Sample) -> Trained:
        K = self._softened(kernel, X, sample)
        svm = solve_low_rank_rho_svm(K, sample.signs, self.tol)
        certificate = of_exact_kernel(svm.certificate, left_out(kernel, X, K, svm.coefficients), maximise=True)
        return K.pivots, svm.pivot_coefficients, svm.u, certificate

    def _reference(self, kernel: FixedKernel, X: Array, sample: Sample) -> Trained:
        K, y = kernel(X, X), sample.signs
        problem = RhoSVM(K + np.diag(ridge_of(self.C, K.diagonal(), sample)), y)
        solution = solve_rho_svm(problem, self.tol)
        u = solution.duals["u"]
        return np.flatnonzero(u), (u * y)[u != 0], u, problem.certify(solution)
