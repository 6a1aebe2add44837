"""LL08 P2: the support vector machine with a kernel, in its dual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.duality import imbalance
from cvxens.problems.losses import Hinge
from cvxens.problems.maps import check_kernel, doubly_centred, factor
from cvxens.problems.modelling import Model, cp
from cvxens.problems.problem import Problem, Swept
from cvxens.rounding import EPSILON, dot, sum_error
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
        self._kernel = check_kernel(K, len(self.y), conditionally=True)
        self.C = C

    def admit(self, name: str, value: Any) -> Any:
        """One price, or one per sample; of the shape that the model has."""
        shape = np.shape(value)
        if shape != np.shape(self.__dict__.get(name, value)) or shape not in {(), self.y.shape}:
            raise InvalidInput(name, f"found shape {shape}", f"give one number or {len(self.y)}, as in the beginning")
        return value

    @property
    def K(self) -> Array:
        """The kernel matrix."""
        return self._kernel.K

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
        return {"b": duals["b"] - self._scores(variables["u"])[0].mean()}

    def repair(self, point: Point) -> Point:
        """Clip u into [0, C], balance the classes; the best intercept where none is given."""
        u = Hinge(self.C).repair(point.get("u", np.zeros(len(self.y))), self.y)
        b = point["b"] if "b" in point else Hinge(self.C).best_intercept(self._scores(u)[0], self.y)
        return {"u": u, "b": b}

    def value(self, point: Point) -> float:
        """1/2 u'(K o yy')u - sum u."""
        return self._half_norm(point["u"])[0] - dot(point["u"], np.ones(len(self.y)))

    def dual_value(self, point: Point) -> float:
        """Minus the objective of LL08 P1 at w = sum_i u_i y_i phi(x_i) and b, or at both scaled to spare all slack."""
        (half_norm, _), (z, _) = self._half_norm(point["u"]), self._margins(point)
        return -least_at_scales(Hinge(self.C), half_norm, z)

    def rounding(self, point: Point) -> float:
        """Bound it by evaluating both objectives where the errors of scores are at their worst."""
        f, errors = self._scores(point["u"])
        return svm_rounding(self.C, self.y, point["u"], point["b"], f, errors=errors, spread=float(np.ptp(self.K)))

    def residuals(self, point: Point) -> dict[str, float]:
        """Box and balance, and complementary slackness; stationarity holds as w is built from u."""
        hinge, u = Hinge(self.C), point["u"]
        return {
            "primal feasibility": max(hinge.dual_violation(u), imbalance(u, self.y)),
            "dual feasibility": 0.0,
            "complementary slackness": hinge.slackness(self._margins(point)[0], u),
            "stationarity": 0.0,
            "pricing slack": 0.0,
        }

    def _scores(self, u: Array) -> tuple[Array, Array]:
        """F = K (y u) and bounds on its rounding errors."""
        return self._kernel.product(self.y * u)

    def _half_norm(self, u: Array) -> tuple[float, float]:
        """1/2 u'(K o yy')u and a bound on its rounding error."""
        norm, error = self._kernel.form(self.y * u)
        return norm / 2, error / 2

    def _margins(self, point: Point) -> tuple[Array, Array]:
        """Y (f + b) and bounds on its rounding errors."""
        f, errors = self._scores(point["u"])
        return self.y * (f + point["b"]), errors + EPSILON * (np.abs(f) + np.abs(point["b"]))


def svm_rounding(
    C: float | Array, y: Array, u: Array, b: float | Array, f: Array, *, errors: Array | float, spread: float
) -> float:
    """Bound the rounding errors of the objective of P2 at u and of its bound at u and b, together.

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Upper bounds of the multipliers.
    y, u, f : ndarray of shape (n_samples,)
        Labels, feasible multipliers, and the scores K (y u) as they were evaluated.
    b : float
        Intercept.
    errors : float or ndarray of shape (n_samples,)
        Bounds on the errors of f.
    spread : float
        At least the range of the entries of K, or of any column: the balance y'u = d in place of 0 is mended by
        changing one multiplier by d, which changes the scores by d times a column, of which b takes a constant.

    Returns
    -------
    float
        Both objectives are evaluated where the errors are at their worst.
    """
    hinge, v = Hinge(C), y * u
    missed = abs(dot(y, u))
    errors = np.broadcast_to(errors, f.shape)
    half_norm = abs(float(v @ f)) / 2
    of_norm = float(np.abs(v) @ errors) / 2 + sum_error(len(u), float(np.abs(v) @ np.abs(f)) / 2)
    of_norm += missed * (abs(float(f[u.argmax()])) + missed * spread)
    z = y * (f + b)
    of_margins = errors + EPSILON * (np.abs(f) + np.abs(b)) + missed * spread
    value = least_at_scales(hinge, half_norm, z)
    worst = least_at_scales(hinge, half_norm + of_norm, z - of_margins)
    of_sum = sum_error(len(u), float(u.sum())) + missed
    return of_norm + of_sum + max(worst - value, 0.0) + sum_error(len(u), value)


def least_at_scales(hinge: Hinge, half_norm: float, z: Array) -> float:
    """The value of LL08 P1 at a function with this half squared norm and margins z, or scaled to spare all slack."""
    # in this order nothing overflows that half_norm makes small
    return min(scale * (scale * half_norm) + hinge.value(scale * z) for scale in (1.0, hinge.rescaling(z)))
