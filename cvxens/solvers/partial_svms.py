"""TK07's ensemble of partially trained SVMs: every iterate of the multiplicative updates is a hypothesis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.solvers.incomplete_cholesky import LowRankKernel
from cvxens.solvers.rho_svm import Update, adaptive_updates, take_until, uniform, update_bound
from cvxens.types import Array


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
        updates = adaptive_updates(lambda u: y * (K @ (y * u)), uniform(len(y)))
        return combine_updates(take_until(updates, tol, validation.whole("max_updates", max_updates)), y)


def _check_kernel(K: Any) -> Array:
    K = validation.symmetric(K)
    if (least := float(K.diagonal().min())) < 0:
        raise InvalidInput("K", f"found {least:.3g} on the diagonal", "give the matrix of a PSD kernel")
    return K
