"""The rho-SVM with squared slacks on a sample: how far any function of its kernel is from the optimum."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from cvxens.certificates import Certificate
from cvxens.estimators.machines.kernel_expansion import FixedKernel, left_out
from cvxens.estimators.samples import Sample
from cvxens.rounding import sum_error
from cvxens.solvers import LowRankKernel, solve_low_rank_rho_svm
from cvxens.types import Array


def soft_margin(z: Array, norm: float, ridge: float | Array) -> float:
    """Compute max 2 rho - |t w|^2 - sum_i xi_i^2 / ridge_i, t z_i >= rho - xi_i, for a w, at its best scale t.

    As rho and t scale together, it is one over the minimum over tau = t / rho of
    ``tau^2 |w|^2 + sum_i max(0, 1 - tau z_i)^2 / ridge_i``.

    Parameters
    ----------
    z : ndarray of shape (n_samples,)
        The margins of w.
    norm : float
        |w|^2.
    ridge : float or ndarray of shape (n_samples,)
        Above 0.

    Examples
    --------
    >>> soft_margin(np.array([1.0, 1.0]), norm=1.0, ridge=2.0)
    2.0
    """
    size = float(np.abs(z).max())
    z, norm = (z / size, norm / size / size) if size > 0 else (z, 0.0)

    def slope(tau: float) -> float:
        return tau * norm - float((z / ridge) @ np.maximum(1 - tau * z, 0))

    tau = 0.0
    if 0 < norm < np.inf and slope(0.0) < 0:
        tau = brentq(slope, 0.0, 2 * float((np.maximum(z, 0) / ridge).sum()) / norm, xtol=np.finfo(float).tiny)
    length = tau**2 * norm if tau > 0 else 0.0
    return 1 / (length + float((np.maximum(1 - tau * z, 0) ** 2 / ridge).sum()))


def certify_soft_margin(
    kernel: FixedKernel, sample: Sample, K: LowRankKernel, *, tol: float, f: Array, norm: float
) -> Certificate:
    """Hold a function against the rho-SVM with the exact kernel on a sample.

    Parameters
    ----------
    kernel : FixedKernel
        The kernel.
    sample : Sample
        Of two classes.
    K : LowRankKernel
        The kernel on the sample, with its ridge.
    tol : float
        The relative gap of the bound, for the kernel of low rank.
    f : ndarray of shape (n_samples,)
        The scores of the function.
    norm : float
        Its squared norm.
    """
    svm = solve_low_rank_rho_svm(K, sample.signs, tol)
    dual = svm.certificate.dual + left_out(kernel, sample.X, K, svm.coefficients)
    value = soft_margin(sample.signs * f, norm, K.ridge)
    # the values of `f` and `norm` are taken as given
    rounding = svm.certificate.rounding + sum_error(len(f), abs(value))
    return Certificate.between(
        value, dual, maximise=True, residuals={}, repair={}, rounding=rounding, note="for the exact kernel"
    )
