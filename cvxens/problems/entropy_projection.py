"""TK07: the entropy projection of one multiplicative update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import logsumexp, xlogy

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.modelling import Model, cp
from cvxens.problems.problem import Problem, Swept
from cvxens.types import Array, Point


@final
class EntropyProjection(Problem):
    """min sum alpha ln(alpha / alpha_t) - alpha + alpha_t, sum alpha = 1, q'alpha = rho or <= rho; q = K~ alpha_t.

    TK07 (7) with equality and (10) with inequality, K~ = K o yy'. The dual is max over eta (eta >= 0 for <=) of
    ``-ln(Z(eta) exp(rho eta))`` with ``Z(eta) = sum alpha_t exp(-eta q)``, and ``alpha = alpha_t exp(-eta q) / Z``.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, symmetric.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    alpha_t : array-like of shape (n_samples,)
        The point to project: positive, with sum 1.
    rho : float
        The margin asked for, strictly between the smallest and the largest entry of q (above the smallest suffices for
        the inequality); may be set anew between solves.
    equality : bool
        Whether q'alpha = rho; else q'alpha <= rho.

    Examples
    --------
    >>> problem = EntropyProjection([[2.0, 0.0], [0.0, 1.0]], [1.0, -1.0], [0.5, 0.5], rho=0.7)
    >>> solution = problem.solve()
    >>> problem.certify(solution).holds(1e-5)
    True
    """

    equation = "min sum a ln(a/a_t) - a + a_t on the simplex, a'K~a_t = rho or <= rho"
    source = "TK07 (7), (10)"
    aliases: ClassVar[Mapping[str, str]] = {"u": "alpha"}
    rho = Swept(validation.number)

    def __init__(self, K: Any, y: Any, alpha_t: Any, rho: float, *, equality: bool = True) -> None:
        self.y = validation.signs(y)
        self.K = validation.symmetric(K)
        validation.same_length("K", self.K, len(self.y))
        self.alpha_t = _interior(alpha_t, len(self.y))
        self.q: Array = self.y * (self.K @ (self.y * self.alpha_t))
        self.equality = equality
        self.rho = rho

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The projection alpha and the multiplier eta."""
        return {"alpha": self.y.shape, "eta": ()}

    def build(self) -> Model:
        """Model the projection with cvxpy's kl_div."""
        rho = cp.Parameter(name="rho")
        alpha, margin = cp.Variable(len(self.y), name="alpha"), cp.Variable(name="margin")
        link = self.q @ alpha == margin
        reached = margin == rho if self.equality else margin <= rho
        problem = cp.Problem(cp.Minimize(cp.sum(cp.kl_div(alpha, self.alpha_t))), [cp.sum(alpha) == 1, link, reached])
        return Model(problem, {"alpha": alpha}, {"eta": (link, 1.0)}, {"rho": rho})

    def project(self, eta: float) -> Array:
        """alpha_t exp(-eta q) / Z(eta)."""
        logs = np.log(self.alpha_t) - eta * self.q
        return np.exp(logs - logsumexp(logs))

    def repair(self, point: Point) -> Point:
        """Normalise alpha and mix in the vertex that meets the margin; make eta >= 0 for an inequality."""
        eta = point.get("eta", np.zeros(()))
        eta = eta if self.equality else np.maximum(eta, 0)
        alpha = np.maximum(point.get("alpha", self.project(float(eta))), 0)
        alpha = alpha / alpha.sum() if alpha.sum() > 0 else self.alpha_t
        short = self.rho - float(self.q @ alpha)
        if short < 0 or (self.equality and short > 0):
            vertex = int(self.q.argmin() if short < 0 else self.q.argmax())
            share = short / (self.q[vertex] - float(self.q @ alpha))
            alpha = (1 - share) * alpha + share * (np.arange(len(alpha)) == vertex)
        return {"alpha": alpha, "eta": eta}

    def value(self, point: Point) -> float:
        """The relative entropy."""
        alpha = point["alpha"]
        return float((xlogy(alpha, alpha / self.alpha_t) - alpha + self.alpha_t).sum())

    def dual_value(self, point: Point) -> float:
        """-ln(Z(eta) exp(rho eta)), by log1p where eta is small, as the value at eta = 0 is exactly 0."""
        exponents = -point["eta"] * (self.q - self.rho)
        if np.abs(exponents).max() < 1:
            return -float(np.log1p(self.alpha_t @ np.expm1(exponents)))
        return -float(logsumexp(exponents, b=self.alpha_t))

    def rounding(self, point: Point) -> float:
        """That of the terms of the entropy, which add up to about 2, and of eta q'alpha."""
        sizes = 2 + abs(float(point["eta"])) * float(np.abs(self.q) @ point["alpha"] + abs(self.rho))
        return float(np.finfo(float).eps) * sizes

    def residuals(self, point: Point) -> dict[str, float]:
        """Evaluate relative to the largest of |q| and |rho|, and to the largest entry of the projection."""
        alpha, eta = point["alpha"], float(point["eta"])
        size = max(float(np.abs(self.q).max()), abs(self.rho))
        excess, projected = float(self.q @ alpha) - self.rho, self.project(eta)
        missed = abs(excess) if self.equality else max(excess, 0.0)
        return {
            "primal feasibility": max(float(-alpha.min()), abs(float(alpha.sum()) - 1), missed / size, 0.0),
            "dual feasibility": 0.0 if self.equality else max(0.0, -eta * size),
            "complementary slackness": 0.0 if self.equality else abs(eta * excess),
            "stationarity": float(np.abs(alpha - projected).max() / projected.max()),
            "pricing slack": 0.0,
        }

    def admit(self, name: str, value: float) -> float:
        """Refuse a rho that no positive alpha reaches."""
        low, high = float(self.q.min()), float(self.q.max()) if self.equality else np.inf
        if not low < value < high:
            raise InvalidInput(name, f"found {value:.6g}", f"give a number strictly between {low:.6g} and {high:.6g}")
        return value


def _interior(alpha_t: Any, n_samples: int) -> Array:
    alpha_t = validation.finite_array("alpha_t", alpha_t, ndim=1)
    validation.same_length("alpha_t", alpha_t, n_samples)
    if alpha_t.min() <= 0 or abs(alpha_t.sum() - 1) > 1e-9:
        raise InvalidInput(
            "alpha_t",
            f"found a smallest entry of {alpha_t.min():.3g} and a sum of {alpha_t.sum():.9g}",
            "give positive entries with sum 1",
        )
    return alpha_t / alpha_t.sum()
