"""LL08 P2 with an additive kernel: what is to be solved, and the certificate of any answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems import SVMDual
from cvxens.problems.maps import KernelMap
from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class AdditiveMap(KernelMap):
    """An additive kernel as the map of a problem: products by prefix sums, measured with two floats a running sum."""

    kernel: AdditiveKernel

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.kernel.n_samples

    @property
    def spread(self) -> float:
        """The range of the entries of K: the ranges of the features, times their scales."""
        return 2 * self.kernel.total_mass

    def matrix(self) -> Array:
        """Return K, shape (n_samples, n_samples)."""
        K = self.kernel.dense()
        return K + K.T

    def scores(self, c: Array) -> Array:
        """Evaluate K c."""
        return self.kernel.product(c)

    def measure_scores(self, c: Array) -> tuple[Array, Array]:
        """Evaluate K c with running sums in twice the precision, and errors."""
        return self.kernel.product(c, compensated=True), np.full(len(c), self.kernel.product_error(c))


class AdditiveSVM(SVMDual):
    """min 1/2 u'(K o yy')u - sum u subject to 0 <= u <= C, y'u = 0, with K = const - sum_d scale_d |x_d - x'_d|.

    LL08 P2, as `cvxens.problems.SVMDual`, for kernels that need no Gram matrix. The scores are ``f + b`` with
    ``f = K (y u)``. The bound from any b is minus the primal objective,
    ``-(1/2 u'(K o yy')u + sum_i C_i max(0, 1 - y_i (f_i + b)))``, or that at f and b scaled to spare all slack.

    Parameters
    ----------
    kernel : AdditiveKernel
        On the training sample.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    C : ndarray of shape (n_samples,)
        Upper bounds of the multipliers, above 0.

    Examples
    --------
    >>> problem = AdditiveSVM.of([[0.0], [2.0]], [1.0, -1.0], C=1.0)
    >>> print(problem.certify(u=[0.5, 0.5], b=0.0))
    primal                   -0.5
    dual                     -0.5
    gap                      1.93e-14  (relative 3.86e-14)
    rounding                 1.93e-14
    primal feasibility       0
    dual feasibility         0
    complementary slackness  0
    stationarity             0
    pricing slack            0
    repair                   u moved by 0, b moved by 0
    proven                   yes
    """

    def __init__(self, kernel: AdditiveKernel, y: Array, C: Array) -> None:
        self.kernel, self.gram, self.y = kernel, AdditiveMap(kernel), y
        self.C = C

    @classmethod
    def of(cls, X: Any, y: Any, C: Any, scale: Any = None) -> AdditiveSVM:
        """Check and sort.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), SortedFeatures or AdditiveKernel
            The sample; a dense one of any type of number is kept in that type.
        y : array-like of shape (n_samples,)
            Labels -1 and +1.
        C : float or array-like of shape (n_samples,)
            Above 0; an array where samples have weights of their own.
        scale : array-like of shape (n_features,), optional
            At least 0; 1 for the stump kernel, 1/2 for histogram intersection. None for 1, or for what an
            AdditiveKernel says.

        Raises
        ------
        InvalidInput
            One of them cannot be worked with, `X` is sparse, or a kernel and a scale are both given.
        """
        if isinstance(X, AdditiveKernel) and scale is not None:
            raise InvalidInput("scale", "found a kernel, which has one", "give the scale to AdditiveKernel.of")
        kernel = X if isinstance(X, AdditiveKernel) else AdditiveKernel.of(X, scale)
        labels = validation.signs(y, kernel.n_samples)
        return cls(kernel, labels, validation.sample_prices("C", C, kernel.n_samples))

    def priced(self, C: float | Array) -> AdditiveSVM:
        """Return the problem with other prices, one or one per sample."""
        return AdditiveSVM(self.kernel, self.y, validation.sample_prices("C", C, len(self.y)))

    def among(self, chosen: NDArray[np.intp]) -> AdditiveSVM:
        """Return the problem on some of the samples, given in ascending order: a fold, or a start."""
        return AdditiveSVM(self.kernel.among(chosen), self.y[chosen], self.C[chosen])

    def solution_at(self, u: Array) -> SVMSolution[AdditiveSVM]:
        """Make multipliers feasible, and evaluate both problems at them, by one product with the kernel."""
        u = self.loss.repair(self._spare_bounds(np.clip(u, 0.0, self.C)), self.y)
        return SVMSolution.from_scores(self, u, self.kernel.product(self.y * u))

    def _spare_bounds(self, u: Array) -> Array:
        """Restore y'u = 0 by scaling the multipliers between the bounds of the heavier class, where they suffice."""
        excess = float(self.y @ u)
        movable = (u > 0) & (u < self.C) & (self.y * excess > 0)
        room = float(u[movable].sum())
        return np.where(movable, u * (1 - abs(excess) / room), u) if room > abs(excess) else u
