"""Certificates of support vector machines on samples, or with coefficients, that they were not fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.certificates import Certificate
from cvxens.errors import InvalidInput
from cvxens.estimators.machines.choice import TRAINERS
from cvxens.estimators.machines.kernels import TrainingKernel
from cvxens.estimators.machines.training import Limits
from cvxens.problems.losses import Hinge
from cvxens.rounding import EPSILON, sum_error
from cvxens.solvers.additive import AdditiveKernel
from cvxens.solvers.blockwise import expand
from cvxens.types import Array

UNBALANCED = 1e-9
"""The sum of coefficients, relative to that of their absolute values, that is rounding."""


@dataclass(frozen=True, eq=False)
class Machine:
    """f(x) + b with f(x) = sum_i v_i k(x, x_i), in the space of a kernel as it was fitted.

    Parameters
    ----------
    kernel : TrainingKernel
        PSD at least on coefficients that sum to 0.
    vectors : ndarray of shape (n_support, n_features)
        The x_i.
    coefficients : ndarray of shape (n_support,)
        The v_i; their sum is 0.
    intercept : float or None
        b; None for the best one.

    Raises
    ------
    InvalidInput
        The sum is not 0.
    """

    kernel: TrainingKernel
    vectors: NDArray
    coefficients: Array
    intercept: Any

    def __post_init__(self) -> None:
        total = float(self.coefficients.sum())
        if abs(total) > UNBALANCED * float(np.abs(self.coefficients).sum()):
            raise InvalidInput(
                "weights", f"found the sum {total:.3g}", "give coefficients with the sum 0, as y'u = 0 is"
            )

    def certify(self, X: NDArray, y: Array, C: Array, *, limits: Limits, room: float) -> tuple[Certificate, Any]:
        """Hold the machine against LL08 P1 on a sample, in the same space: P2 is solved there for the bound.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The sample.
        y : ndarray of shape (n_samples,)
            Labels -1 and +1.
        C : ndarray of shape (n_samples,)
            The prices of slack.
        limits : Limits
            Of the solver of P2.
        room : float
            Bytes that kernel rows may take.

        Returns
        -------
        Certificate, solution
            The certificate of the machine, and the solution of P2.
        """
        trainer = TRAINERS["blockwise" if self.kernel.scale is None else "additive"](self.kernel, X, room)
        (solution,) = trainer.path(y, C, [1.0], limits)
        scores, errors = self._scores(np.concatenate([X, self.vectors]))
        (f, at_vectors), (of_f, of_vectors) = np.split(scores, [len(X)]), np.split(errors, [len(X)])
        hinge, v = Hinge(C), self.coefficients
        b = hinge.best_intercept(f, y) if self.intercept is None else self.intercept
        z, half_norm = y * (f + b), max(float(v @ at_vectors), 0.0) / 2
        value = half_norm + hinge.value(z)
        # at the worst of the errors of f, of f + b, and of the squared norm
        risen = hinge.value(z - of_f - EPSILON * (np.abs(f) + np.abs(b))) - hinge.value(z)
        of_norm = float(np.abs(v) @ of_vectors) / 2 + sum_error(len(v), float(np.abs(v) @ np.abs(at_vectors)) / 2)
        certificate = Certificate.between(
            value,
            -solution.objective,
            residuals={},
            repair={},
            rounding=risen + of_norm + sum_error(len(y), value) + solution.certificate.rounding,
            note="over all hypotheses of the kernel as it was fitted",
        )
        return certificate, solution

    def _scores(self, X: NDArray) -> tuple[Array, Array]:
        """The f of samples that end with the support vectors, and bounds on their rounding errors."""
        v = self.coefficients
        if self.kernel.scale is None:
            X, vectors, kernel = X.astype(np.float64), self.vectors.astype(np.float64), self.kernel.function
            sizes = expand(lambda left, right: np.abs(kernel(left, right)), X, vectors, np.abs(v))
            return expand(kernel, X, vectors, v), sum_error(len(v), 1.0) * sizes
        # a constant in the kernel, and terms in x alone, are nothing to coefficients with the sum 0
        additive = AdditiveKernel.of(X, self.kernel.scale)
        spread = np.concatenate([np.zeros(len(X) - len(v)), v])
        return additive.product(spread, compensated=True), np.full(len(X), additive.product_error(v))
