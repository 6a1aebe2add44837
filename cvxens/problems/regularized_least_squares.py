"""TT06: kernel least squares with a ridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.problems.maps import check_kernel, factor
from cvxens.problems.modelling import Model, cp
from cvxens.problems.problem import Problem, Swept
from cvxens.rounding import EPSILON, dot, sum_error
from cvxens.types import Array, Point


@final
class RegularizedLeastSquares(Problem):
    """min 1/m |K c - y|^2 + gamma c'K c.

    TT06 (2)-(5), solved by ``(m gamma I + K) c = y``. From any s the optimum is at least
    ``s'y - m/4 |s|^2 - s'K s / (4 gamma)``; at the optimum ``s = 2 (y - K c) / m = 2 gamma c``.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, PSD.
    y : array-like of shape (n_samples,)
        Targets: labels -1 and +1, or real numbers.
    gamma : float
        Weight of the penalty, above 0; may be set anew between solves.

    Examples
    --------
    >>> problem = RegularizedLeastSquares(np.eye(2), [1.0, -1.0], gamma=0.1)
    >>> problem.certify(problem.solve()).holds(1e-6)
    True
    """

    equation = "min 1/m |K c - y|^2 + gamma c'K c"
    source = "TT06 (2)-(5)"
    gamma = Swept()

    def __init__(self, K: Any, y: Any, gamma: float) -> None:
        self.y = validation.finite_array("y", y, ndim=1)
        self._kernel = check_kernel(K, len(self.y))
        self.gamma = gamma

    @property
    def K(self) -> Array:
        """The kernel matrix."""
        return self._kernel.K

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Coefficients c and multipliers s."""
        return {"c": self.y.shape, "s": self.y.shape}

    def build(self) -> Model:
        """Model the squares in the coordinates of the factored kernel; f = K c."""
        factored = factor(self.K)
        gamma = cp.Parameter(pos=True, name="gamma")
        v, f = cp.Variable(factored.F.shape[1], name="v"), cp.Variable(len(self.y), name="f")
        link = f == factored.F @ v
        objective = cp.sum_squares(f - self.y) / len(self.y) + gamma * cp.sum_squares(v)
        return Model(
            cp.Problem(cp.Minimize(objective), [link]),
            {"c": factored.expand @ v},
            {"s": (link, 1.0)},
            {"gamma": gamma},
        )

    def repair(self, point: Point) -> Point:
        """Every point is feasible; derive s from c, or c from s, where one is missing."""
        c = point["c"] if "c" in point else point["s"] / (2 * self.gamma)
        s = point["s"] if "s" in point else 2 * (self.y - self._kernel.product(c)[0]) / len(self.y)
        return {"c": c, "s": s}

    def value(self, point: Point) -> float:
        """The penalised mean square."""
        f, _ = self._kernel.product(point["c"])
        return float(((f - self.y) ** 2).mean()) + self.gamma * self._kernel.form(point["c"])[0]

    def dual_value(self, point: Point) -> float:
        """``s'y - m/4 |s|^2 - s'K s / (4 gamma)``."""
        s = point["s"]
        return dot(s, self.y) - len(s) / 4 * dot(s, s) - self._kernel.form(s)[0] / (4 * self.gamma)

    def rounding(self, point: Point) -> float:
        """Bound the errors of the squares, of the forms c'K c and s'K s, and of the sums of their terms."""
        c, s, m = point["c"], point["s"], len(self.y)
        f, errors = self._kernel.product(c)
        r = np.abs(f - self.y)
        squares = float((r**2).mean())
        (penalty, of_penalty), (form, of_form) = self._kernel.form(c), self._kernel.form(s)
        of_primal = float(((2 * r + errors) * errors).mean()) + sum_error(m + 2, squares) + self.gamma * of_penalty
        sizes = abs(dot(s, self.y)) + m / 4 * dot(s, s) + abs(form) / (4 * self.gamma)
        of_dual = of_form / (4 * self.gamma) + 8 * EPSILON * sizes
        return of_primal + of_dual + 4 * EPSILON * (squares + self.gamma * abs(penalty))

    def residuals(self, point: Point) -> dict[str, float]:
        """Evaluate s against the loss, and f against s, relative to the targets."""
        f, s = self._kernel.product(point["c"])[0], point["s"]
        size = max(float(np.abs(self.y).max()), np.finfo(float).tiny)
        return {
            "primal feasibility": 0.0,
            "dual feasibility": 0.0,
            "complementary slackness": float(np.abs(self.y - f - len(s) / 2 * s).max()) / size,
            "stationarity": float(np.abs(f - self.K @ s / (2 * self.gamma)).max()) / size,
            "pricing slack": 0.0,
        }
