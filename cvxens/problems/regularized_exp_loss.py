"""KIE06: the exponential loss of boosting, regularised by a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.problems.losses import Exponential, dual_rounding, rise
from cvxens.problems.maps import check_kernel, factor
from cvxens.problems.modelling import Model, cp
from cvxens.problems.problem import Problem, Swept
from cvxens.rounding import EPSILON
from cvxens.types import Array, Point


@final
class RegularizedExpLoss(Problem):
    """min 1/n sum exp(-y_i (K eta)_i) + lam eta'K eta.

    KIE06 (14)-(15). From any u >= 0 the optimum is at least ``-sum(u ln(n u) - u) - (y u)'K(y u) / (4 lam)``; at the
    optimum
    ``u_i = exp(-y_i (K eta)_i) / n`` and ``eta = y u / (2 lam)``.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, PSD.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    lam : float
        Weight of the penalty, above 0; may be set anew between solves.

    Examples
    --------
    >>> problem = RegularizedExpLoss(np.eye(2), [1.0, -1.0], lam=0.1)
    >>> problem.certify(problem.solve()).holds(1e-6)
    True
    """

    equation = "min 1/n sum exp(-y_i (K eta)_i) + lam eta'K eta"
    source = "KIE06 (14)-(15)"
    lam = Swept()

    def __init__(self, K: Any, y: Any, lam: float) -> None:
        self.y = validation.signs(y)
        self._kernel = check_kernel(K, len(self.y))
        self.lam = lam

    @property
    def K(self) -> Array:
        """The kernel matrix."""
        return self._kernel.K

    @property
    def loss(self) -> Exponential:
        """1/n sum exp(-z)."""
        return Exponential(1 / len(self.y))

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Coefficients eta and multipliers u."""
        return {"eta": self.y.shape, "u": self.y.shape}

    def build(self) -> Model:
        """Model the loss in the coordinates of the factored kernel; f = K eta."""
        factored = factor(self.K)
        lam = cp.Parameter(pos=True, name="lam")
        v, z = cp.Variable(factored.F.shape[1], name="v"), cp.Variable(len(self.y), name="z")
        link = z == (self.y[:, None] * factored.F) @ v
        problem = cp.Problem(cp.Minimize(self.loss.term(z).expression + lam * cp.sum_squares(v)), [link])
        return Model(problem, {"eta": factored.expand @ v}, {"u": (link, 1.0)}, {"lam": lam})

    def repair(self, point: Point) -> Point:
        """Clip u at 0; derive u from eta, or eta from u, where one is missing."""
        eta = point["eta"] if "eta" in point else self.y * np.maximum(point["u"], 0) / (2 * self.lam)
        with np.errstate(over="ignore"):
            u = point["u"] if "u" in point else np.exp(-self.y * self._kernel.product(eta)[0]) / len(self.y)
        return {"eta": eta, "u": np.maximum(u, 0)}

    def value(self, point: Point) -> float:
        """The regularised loss."""
        f, _ = self._kernel.product(point["eta"])
        return self.loss.value(self.y * f) + self.lam * self._kernel.form(point["eta"])[0]

    def dual_value(self, point: Point) -> float:
        """-sum(u ln(n u) - u) - (y u)'K(y u) / (4 lam)."""
        return self.loss.dual_value(point["u"]) - self._kernel.form(self.y * point["u"])[0] / (4 * self.lam)

    def rounding(self, point: Point) -> float:
        """Bound what the errors of the scores do to the loss, and those of the forms and of the sums."""
        f, errors = self._kernel.product(point["eta"])
        (penalty, of_penalty), (form, of_form) = self._kernel.form(point["eta"]), self._kernel.form(self.y * point["u"])
        loss = self.loss.value(self.y * f)
        if not np.isfinite(loss):
            return 0.0
        of_primal = rise(self.loss, self.y * f, errors) + self.lam * of_penalty
        of_dual = dual_rounding(self.loss, point["u"]) + of_form / (4 * self.lam)
        return of_primal + of_dual + 4 * EPSILON * (self.lam * abs(penalty) + abs(form) / (4 * self.lam) + loss)

    def residuals(self, point: Point) -> dict[str, float]:
        """Evaluate the signs of u, u against the loss, and f against u, relative to the larger of 1 and |f|."""
        f, from_u = (
            self._kernel.product(point["eta"])[0],
            self._kernel.product(self.y * point["u"])[0] / (2 * self.lam),
        )
        return {
            "primal feasibility": 0.0,
            "dual feasibility": self.loss.dual_violation(point["u"]),
            "complementary slackness": self.loss.slackness(self.y * f, point["u"]),
            "stationarity": float(np.abs(f - from_u).max()) / max(1.0, float(np.abs(f).max())),
            "pricing slack": 0.0,
        }
