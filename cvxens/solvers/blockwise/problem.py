"""LL08 P2 with any kernel, given by its rows, and the certificate of any answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.deadline import was_cut
from cvxens.errors import InvalidInput
from cvxens.problems import SVMDual
from cvxens.problems.maps import KernelMap
from cvxens.rounding import sum_error
from cvxens.solvers.blockwise.rows import DenseRows, Indices, Rows
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.types import Array

INDEFINITE = 1e-9
"""A negative v'K v of this size, relative to |v|'|K||v|, the sum of the sizes of its terms, is not rounding."""


@dataclass(frozen=True, eq=False)
class RowsMap(KernelMap):
    """Rows of a kernel matrix, in memory or evaluated when they are asked for, as the map of a problem."""

    rows: Rows

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.rows.n_samples

    @property
    def spread(self) -> float:
        """Twice the largest entry of the columns of a few samples, and of the diagonal there."""
        return 2 * float(np.abs(self.rows.block(np.arange(min(self.n_samples, 8)))).max())

    def matrix(self) -> Array:
        """Return K, shape (n_samples, n_samples)."""
        return self.rows.block(np.arange(self.n_samples))

    def scores(self, c: Array) -> Array:
        """Evaluate K c."""
        return self.rows.product(c)

    def measure_scores(self, c: Array) -> tuple[Array, Array]:
        """Evaluate K c, and errors."""
        f = self.rows.product(c)
        return f, self.score_errors(c, f)

    def score_errors(self, c: Array, f: Array) -> Array:
        """Bound how far scores that are sums of at most n_samples terms are from K c, without another product for it.

        Where there is no time to evaluate |K| |c|, the largest entry of the rows that were evaluated, those of c among
        them, stands for all.
        """
        if was_cut():
            return np.full(len(c), sum_error(len(c), 1.0) * self.rows.largest_entry() * float(np.abs(c).sum()))
        return sum_error(len(c), 1.0) * self.rows.absolute_product(np.abs(c))


class KernelSVM(SVMDual):
    """min 1/2 u'(K o yy')u - sum u subject to 0 <= u <= C, y'u = 0, with K given by its rows.

    LL08 P2, as `cvxens.problems.SVMDual`, for samples whose kernel matrix need not fit into memory. K has to be PSD on
    coefficients that sum to 0; that is not checked beforehand.

    Parameters
    ----------
    rows : Rows
        The kernel on the sample.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    C : ndarray of shape (n_samples,)
        Upper bounds of the multipliers, above 0.

    Examples
    --------
    >>> problem = KernelSVM.of([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> problem.solution_at(np.array([0.5, 0.5])).certificate.holds()
    True
    """

    def __init__(self, rows: Rows, y: Array, C: Array) -> None:
        self.rows, self.gram, self.y = rows, RowsMap(rows), y
        self.C = C

    @classmethod
    def of(cls, K: Any, y: Any, C: Any) -> KernelSVM:
        """Check a kernel matrix (n_samples, n_samples), or rows; `C` is one number or one per sample."""
        rows = K if hasattr(K, "product") else DenseRows.of(K)
        labels = validation.signs(y, rows.n_samples)
        return cls(rows, labels, validation.sample_prices("C", C, len(labels)))

    def priced(self, C: Array) -> KernelSVM:
        """Return the problem with other prices, one per sample."""
        return KernelSVM(self.rows, self.y, C)

    def among(self, chosen: Indices) -> KernelSVM:
        """Return the problem on some of the samples."""
        return KernelSVM(self.rows.among(chosen), self.y[chosen], self.C[chosen])

    def solution_at(self, u: Array, f: Array | None = None) -> SVMSolution[KernelSVM]:
        """Evaluate both problems at multipliers: made feasible, or feasible ones with f = K (y u).

        Raises
        ------
        InvalidInput
            The kernel turns out to be indefinite.
        """
        if f is None:
            u = self.loss.repair(u, self.y)
            f = self.rows.product(self.y * u)
        v = self.y * u
        half_norm = float(v @ f) / 2
        # f itself may be all rounding, as where w = 0 is optimal, so the scale is that of the terms that f sums up
        if half_norm < 0 and half_norm < -INDEFINITE * float(np.abs(v) @ self.rows.absolute_product(np.abs(v))):
            raise InvalidInput(
                "kernel",
                f"found v'K v = {2 * half_norm:.3g} for coefficients that sum to 0",
                "give a kernel that is PSD, at least on such coefficients",
            )
        return SVMSolution.from_scores(self, u, f)
