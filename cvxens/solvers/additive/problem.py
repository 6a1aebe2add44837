"""LL08 P2 with an additive kernel: what is to be solved, and the certificate of any answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.certificates import Certificate, certify
from cvxens.errors import InvalidInput
from cvxens.problems.duality import imbalance
from cvxens.problems.losses import Hinge
from cvxens.problems.svm_dual import least_at_scales, svm_rounding
from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.types import Array, Point


@dataclass(frozen=True, eq=False)
class AdditiveSVM:
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
    gap                      1.97e-14  (relative 3.93e-14)
    rounding                 1.97e-14
    primal feasibility       0
    dual feasibility         0
    complementary slackness  0
    stationarity             0
    pricing slack            0
    repair                   u moved by 0, b moved by 0
    proven                   yes
    """

    kernel: AdditiveKernel
    y: Array
    C: Array

    aliases: ClassVar[Mapping[str, str]] = {}
    maximise: ClassVar[bool] = False

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

    def priced(self, C: Any) -> AdditiveSVM:
        """The same problem at another C, nothing sorted anew."""
        return replace(self, C=validation.sample_prices("C", C, len(self.y)))

    def among(self, chosen: NDArray[np.intp]) -> AdditiveSVM:
        """The problem on some of the samples, given in ascending order: a fold, or a start."""
        return AdditiveSVM(self.kernel.among(chosen), self.y[chosen], self.C[chosen])

    def evaluate(self, u: Array) -> SVMSolution[AdditiveSVM]:
        """Make multipliers feasible, and evaluate both problems at them, by one product with the kernel."""
        u = Hinge(self.C).repair(self._spare_bounds(np.clip(u, 0.0, self.C)), self.y)
        return SVMSolution.at(self, u, self.kernel.product(self.y * u))

    def certify(self, solution: Any = None, /, **arrays: Any) -> Certificate:
        """Certify `u` and `b`, given by name, or of a record that has them."""
        return certify(self, **({"u": solution.u, "b": solution.b} if solution is not None else {}), **arrays)

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Multipliers u and intercept b."""
        return {"u": self.y.shape, "b": ()}

    def repair(self, point: Point) -> Point:
        """Clip u into [0, C], balance the classes, evaluate f; the best intercept where none is given."""
        hinge = Hinge(self.C)
        u = hinge.repair(point.get("u", np.zeros(len(self.y))), self.y)
        return {"u": u, "b": point["b"] if "b" in point else hinge.best_intercept(self.scores({"u": u}), self.y)}

    def value(self, point: Point) -> float:
        """1/2 u'(K o yy')u - sum u."""
        return self._half_norm(point["u"], self.scores(point)) - float(point["u"].sum())

    def dual_value(self, point: Point) -> float:
        """Minus the objective of LL08 P1 at f and b, or at both scaled to spare all slack."""
        f = self.scores(point)
        return -least_at_scales(Hinge(self.C), self._half_norm(point["u"], f), self.y * (f + point["b"]))

    def rounding(self, point: Point) -> float:
        """Bound it by evaluating both objectives where the errors of scores are at their worst."""
        u, f = point["u"], self.scores(point)
        errors = self.kernel.product_error(u)
        return svm_rounding(self.C, self.y, u, point["b"], f, errors=errors, spread=self.spread)

    @property
    def spread(self) -> float:
        """The range of the entries of K: the ranges of the features, times their scales."""
        return 2 * self.kernel.total_mass

    def score_errors(self, u: Array, f: Array) -> Array:
        """Bound how far scores f are from K (y u), by evaluating those in twice the precision."""
        return np.abs(f - self.kernel.product(self.y * u, compensated=True)) + self.kernel.product_error(u)

    def residuals(self, point: Point) -> dict[str, float]:
        """Box and balance, and complementary slackness; stationarity holds as f is built from u."""
        hinge, u = Hinge(self.C), point["u"]
        return {
            "primal feasibility": max(hinge.dual_violation(u), imbalance(u, self.y)),
            "dual feasibility": 0.0,
            "complementary slackness": hinge.slackness(self.y * (self.scores(point) + point["b"]), u),
            "stationarity": 0.0,
            "pricing slack": 0.0,
        }

    def scores(self, point: Point) -> Array:
        """``f = K (y u)``, without the intercept, in twice the precision."""
        return self.kernel.product(self.y * point["u"], compensated=True)

    def _half_norm(self, u: Array, f: Array) -> float:
        """1/2 u'(K o yy')u."""
        return float((self.y * u) @ f) / 2

    def _spare_bounds(self, u: Array) -> Array:
        """Restore y'u = 0 by scaling the multipliers between the bounds of the heavier class, where they suffice."""
        excess = float(self.y @ u)
        movable = (u > 0) & (u < self.C) & (self.y * excess > 0)
        room = float(u[movable].sum())
        return np.where(movable, u * (1 - abs(excess) / room), u) if room > abs(excess) else u
