"""TK07: the support vector machine that maximises its margin, without an intercept."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from cvxens import validation
from cvxens.problems.duality import capped_simplex
from cvxens.problems.losses import excess
from cvxens.problems.maps import check_kernel, factor
from cvxens.problems.modelling import Model, cp
from cvxens.problems.problem import Problem
from cvxens.rounding import EPSILON, dot
from cvxens.types import Array, Point


@final
class RhoSVM(Problem):
    """max 2 rho - |w|^2 subject to y_i f(x_i) >= rho with f = <w, phi(x)>.

    TK07 (1). The dual (2) is min u'K~u on the simplex, K~ = K o yy', and w = sum_i u_i y_i phi(x_i): u is TK07's
    alpha, half the multiplier of the margins. Any u on the simplex bounds the optimum from above by ``u'K~u``;
    scaled to its best length, its w reaches ``m^2 / u'K~u`` with ``m = min_i (K~u)_i``, where m > 0.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, PSD; a simplified stump or perceptron kernel needs its constant here.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.

    Examples
    --------
    >>> problem = RhoSVM(np.eye(2), [1.0, -1.0])
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (0.5, True)
    """

    equation = "max 2 rho - |w|^2, y_i f(x_i) >= rho"
    source = "TK07 (1)-(2)"
    aliases: ClassVar[Mapping[str, str]] = {"alpha": "u"}
    maximise = True

    def __init__(self, K: Any, y: Any) -> None:
        self.y = validation.signs(y)
        self._kernel = check_kernel(K, len(self.y))

    @property
    def K(self) -> Array:
        """The kernel matrix."""
        return self._kernel.K

    @cached_property
    def _factor(self) -> Any:
        return factor(self.K)

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Coefficients c, margin rho and multipliers u."""
        return {"c": self.y.shape, "rho": (), "u": self.y.shape}

    def build(self) -> Model:
        """Model the primal in the coordinates of the factored kernel; f = K c."""
        v, rho = cp.Variable(self._factor.F.shape[1], name="v"), cp.Variable(name="rho")
        z = cp.Variable(len(self.y), name="z")
        link = z == (self.y[:, None] * self._factor.F) @ v
        problem = cp.Problem(cp.Maximize(2 * rho - cp.sum_squares(v)), [link, z >= rho])
        return Model(problem, {"c": self._factor.expand @ v, "rho": rho}, {"u": (link, 0.5)})

    @cached_property
    def dual_problem(self) -> Any:
        """Min u'K~u on the simplex, as a ``cvxpy.Problem``."""
        u = cp.Variable(len(self.y), nonneg=True, name="u")
        quadratic = cp.sum_squares((self.y[:, None] * self._factor.F).T @ u)
        return cp.Problem(cp.Minimize(quadratic), [cp.sum(u) == 1])

    def repair(self, point: Point) -> Point:
        """Project u onto the simplex; scale the weights to their best length; rho is their smallest margin."""
        given = point.get("u", self.y * point["c"] if "c" in point else np.ones(len(self.y)))
        u = capped_simplex(given, 1.0)
        c = point.get("c", self.y * u)
        c = c / max(float(np.abs(c).max()), np.finfo(float).tiny)
        smallest, norm = float((self.y * self._kernel.product(c)[0]).min()), self._kernel.form(c)[0]
        c = c * (smallest / norm if min(smallest, norm) > 0 else 0.0)
        return {"c": c, "rho": np.asarray((self.y * self._kernel.product(c)[0]).min()), "u": u}

    def value(self, point: Point) -> float:
        """2 rho - |w|^2."""
        return float(2 * point["rho"]) - self._kernel.form(point["c"])[0]

    def dual_value(self, point: Point) -> float:
        """u'K~u."""
        return self._kernel.form(self.y * point["u"])[0]

    def rounding(self, point: Point) -> float:
        """Bound the errors of margins and forms; a sum of u off 1 by d changes the dual value by 2 d of it."""
        _, errors = self._kernel.product(point["c"])
        (norm, of_norm), (form, of_form) = self._kernel.form(point["c"]), self._kernel.form(self.y * point["u"])
        missed = abs(dot(point["u"], np.ones(len(self.y))) - 1) + EPSILON
        of_primal = 2 * float(errors.max()) + of_norm + 2 * EPSILON * (abs(float(point["rho"])) + abs(norm))
        return of_primal + of_form + 3 * missed * abs(form)

    def residuals(self, point: Point) -> dict[str, float]:
        """Evaluate relative to the margins, or where those vanish to 1e-3 of the largest kernel value."""
        c, u, rho = point["c"], point["u"], float(point["rho"])
        z, from_u = self.y * self._kernel.product(c)[0], self.y * self._kernel.product(self.y * u)[0]
        size = max(float(np.abs(z).max()), 1e-3 * float(np.abs(self.K).max()), np.finfo(float).tiny)
        return {
            "primal feasibility": excess(rho - z) / size,
            "dual feasibility": max(excess(-u), abs(float(u.sum()) - 1)),
            "complementary slackness": float(np.abs(u * (z - rho)).max()) / size,
            "stationarity": float(np.abs(z - from_u).max()) / size,
            "pricing slack": 0.0,
        }
