"""LL08 P2: the support vector machine with a kernel, in its dual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.duality import imbalance
from cvxens.problems.kernel_factor import check_kernel, doubly_centred, factor, rounding_of_form
from cvxens.problems.losses import Hinge
from cvxens.problems.modelling import Model, cp
from cvxens.problems.problem import Problem, Swept
from cvxens.types import Array, Point


@final
class SVMDual(Problem):
    """min 1/2 u'(K o yy')u - sum u subject to 0 <= u <= C, y'u = 0.

    LL08 P2 and SL (2). The scores are ``K (y u) + b``, with b the multiplier of y'u = 0. The bound from any b is minus
    the primal objective, ``-(1/2 u'(K o yy')u + C sum max(0, 1 - y (K (y u) + b)))``. As y'u = 0, the kernel need
    only be PSD on coefficients that sum to 0; cvxpy is handed the factored doubly centred kernel.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, symmetric and at least conditionally PSD.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    C : float or array-like of shape (n_samples,)
        Upper bound of the multipliers, above 0, or one for each; may be set anew between solves, in the same shape.

    Examples
    --------
    >>> problem = SVMDual([[0.0, -2.0], [-2.0, 0.0]], [1.0, -1.0], C=1.0)
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (-0.5, True)
    """

    equation = "min 1/2 u'(K o yy')u - sum u, 0 <= u <= C, y'u = 0"
    source = "LL08 P2, SL (2)"
    C = Swept(validation.prices)

    def __init__(self, K: Any, y: Any, C: Any) -> None:
        self.y = validation.signs(y)
        self.K = check_kernel(K, len(self.y), conditionally=True)
        self.C = C

    def admit(self, name: str, value: Any) -> Any:
        """One price, or one per sample; of the shape that the model has."""
        shape = np.shape(value)
        if shape != np.shape(self.__dict__.get(name, value)) or shape not in {(), self.y.shape}:
            raise InvalidInput(name, f"found shape {shape}", f"give one number or {len(self.y)}, as in the beginning")
        return value

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Multipliers u and intercept b."""
        return {"u": self.y.shape, "b": ()}

    def build(self) -> Model:
        """Model the quadratic program over the factored, centred kernel."""
        F = factor(doubly_centred(self.K)).F
        C = cp.Parameter(np.shape(self.C), pos=True, name="C")
        u = cp.Variable(len(self.y), name="u")
        balance = self.y @ u == 0
        quadratic = cp.sum_squares((self.y[:, None] * F).T @ u)
        problem = cp.Problem(cp.Minimize(0.5 * quadratic - cp.sum(u)), [u >= 0, u <= C, balance])
        return Model(problem, {"u": u}, {"b": (balance, 1.0)}, {"C": C}, self._uncentre)

    def _uncentre(self, variables: Point, duals: Point) -> Point:
        """The intercept that goes with K, from the one that goes with the centred kernel."""
        return {"b": duals["b"] - (self.K @ (self.y * variables["u"])).mean()}

    def repair(self, point: Point) -> Point:
        """Clip u into [0, C], balance the classes; the best intercept where none is given."""
        u = Hinge(self.C).repair(point.get("u", np.zeros(len(self.y))), self.y)
        b = point["b"] if "b" in point else Hinge(self.C).best_intercept(self._scores(u), self.y)
        return {"u": u, "b": b}

    def value(self, point: Point) -> float:
        """1/2 u'(K o yy')u - sum u."""
        return self._half_norm(point["u"]) - float(point["u"].sum())

    def dual_value(self, point: Point) -> float:
        """Minus the objective of LL08 P1 at w = sum_i u_i y_i phi(x_i) and b, or at both scaled to spare all slack."""
        hinge, half_norm, z = Hinge(self.C), self._half_norm(point["u"]), self._margins(point)
        return -min(scale**2 * half_norm + hinge.value(scale * z) for scale in (1.0, hinge.scale(z)))

    def rounding(self, point: Point) -> float:
        """That of the quadratic forms."""
        return rounding_of_form(self.K, point["u"])

    def residuals(self, point: Point) -> dict[str, float]:
        """Box and balance, and complementary slackness; stationarity holds as w is built from u."""
        hinge, u = Hinge(self.C), point["u"]
        return {
            "primal feasibility": max(hinge.dual_violation(u), imbalance(u, self.y)),
            "dual feasibility": 0.0,
            "complementary slackness": hinge.slackness(self._margins(point), u),
            "stationarity": 0.0,
            "pricing slack": 0.0,
        }

    def _scores(self, u: Array) -> Array:
        return self.K @ (self.y * u)

    def _half_norm(self, u: Array) -> float:
        return float((self.y * u) @ self._scores(u) / 2)

    def _margins(self, point: Point) -> Array:
        return self.y * (self._scores(point["u"]) + point["b"])
