"""LL08 P2 with any kernel, given by its rows, and the certificate of any answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.deadline import was_cut
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Hinge
from cvxens.rounding import sum_error
from cvxens.solvers.blockwise.rows import DenseRows, Indices, Rows
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.types import Array

INDEFINITE = 1e-9
"""A negative v'K v of this size, relative to |v|'|K||v|, the sum of the sizes of its terms, is not rounding."""


@dataclass(frozen=True, eq=False)
class KernelSVM:
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
    >>> problem.evaluate(np.array([0.5, 0.5])).certificate.holds()
    True
    """

    rows: Rows
    y: Array
    C: Array

    @classmethod
    def of(cls, K: Any, y: Any, C: Any) -> KernelSVM:
        """Check a kernel matrix (n_samples, n_samples), or rows; `C` is one number or one per sample."""
        rows = K if hasattr(K, "product") else DenseRows.of(K)
        labels = validation.signs(y, rows.n_samples)
        return cls(rows, labels, validation.sample_prices("C", C, len(labels)))

    @property
    def spread(self) -> float:
        """Twice the largest entry of the columns of a few samples, and of the diagonal there."""
        return 2 * float(np.abs(self.rows.block(np.arange(min(len(self.y), 8)))).max())

    def score_errors(self, u: Array, f: Array) -> Array:
        """Bound how far scores f are from K (y u): sums of at most n_samples terms.

        Where there is no time to evaluate |K| u, the largest entry of the rows that were evaluated, those of u among
        them, stands for all.
        """
        if was_cut():
            return np.full(len(u), sum_error(len(u), 1.0) * self.rows.largest_entry() * float(np.abs(u).sum()))
        return sum_error(len(u), 1.0) * self.rows.absolute_product(np.abs(u))

    def among(self, chosen: Indices) -> KernelSVM:
        """The problem on some of the samples."""
        return KernelSVM(self.rows.among(chosen), self.y[chosen], self.C[chosen])

    def evaluate(self, u: Array) -> SVMSolution[KernelSVM]:
        """Make multipliers feasible, and evaluate both problems at them."""
        u = Hinge(self.C).repair(u, self.y)
        return self.at(u, self.rows.product(self.y * u))

    def at(self, u: Array, f: Array) -> SVMSolution[KernelSVM]:
        """Evaluate both problems at feasible multipliers, with f = K (y u)."""
        v = self.y * u
        half_norm = float(v @ f) / 2
        # f itself may be all rounding, as where w = 0 is optimal, so the scale is that of the terms that f sums up
        if half_norm < 0 and half_norm < -INDEFINITE * float(np.abs(v) @ self.rows.absolute_product(np.abs(v))):
            raise InvalidInput(
                "kernel",
                f"found v'K v = {2 * half_norm:.3g} for coefficients that sum to 0",
                "give a kernel that is PSD, at least on such coefficients",
            )
        return SVMSolution.at(self, u, f)
