"""TK07: the entropy projection of one multiplicative update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import logsumexp

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.modelling import Model, cp
from cvxens.problems.problem import Evaluated, Parameter, Problem, Products
from cvxens.rounding import EPSILON, dot, product, sum_error
from cvxens.types import Array, Point

SMALL = 1e-4
"""Relative changes below which four terms of the series of (1 + r) ln(1 + r) - r are exact to 1e-17 of it."""


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
    size: ClassVar[float] = 0.0
    rho = Parameter(validation.number)

    def __init__(self, K: Any, y: Any, alpha_t: Any, rho: float, *, equality: bool = True) -> None:
        self.y = validation.signs(y)
        self.K = validation.symmetric(K)
        validation.same_length("K", self.K, len(self.y))
        self.alpha_t = _check_interior(alpha_t, len(self.y))
        q, self._errors = product(self.K, self.y * self.alpha_t)
        self.q: Array = self.y * q
        self.equality = equality
        self.rho = rho

    @property
    def maximise(self) -> bool:
        return False

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
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
        """Return ``alpha_t exp(-eta q) / Z(eta)``."""
        logs = np.log(self.alpha_t) - eta * self.q
        return np.exp(logs - logsumexp(logs))

    def evaluate(self, point: Point, products: Products | None = None) -> Evaluated:
        """Normalise alpha and mix in the vertex that meets the margin; make eta >= 0 for an inequality."""
        eta = point.get("eta", np.zeros(()))
        eta = eta if self.equality else np.maximum(eta, 0)
        alpha = np.maximum(point.get("alpha", self.project(float(eta))), 0)
        total = float(alpha.sum())
        if abs(total - 1) > len(alpha) * EPSILON:  # else it is what `value` makes of it
            alpha = alpha / total if total > 0 else self.alpha_t
        short = -self._measure_excess(alpha)
        if short < 0 or (self.equality and short > 0):
            vertex = int(self.q.argmin() if short < 0 else self.q.argmax())
            share = short / (self.q[vertex] - self.rho + short)
            alpha = (1 - share) * alpha + share * (np.arange(len(alpha)) == vertex)
        point = {"alpha": alpha, "eta": eta}
        return Evaluated(self, point, self.value(point), self.dual_value(point))

    def find_condition(self, at: Evaluated) -> str:
        """Return "": the dual value is a bound at any multiplier."""
        return ""

    def value(self, point: Point) -> float:
        """Evaluate the relative entropy, ``sum alpha_t ((1 + r) ln(1 + r) - r)`` with ``r = alpha / alpha_t - 1``."""
        return float((self.alpha_t * self._evaluate_divergences(self._find_changes(point["alpha"]))).sum())

    def dual_value(self, point: Point) -> float:
        """Evaluate ``-ln(Z(eta) exp(rho eta))``, by log1p where eta is small, as the value at eta = 0 is exactly 0."""
        exponents = -point["eta"] * (self.q - self.rho)
        if np.abs(exponents).max() < 1:
            return -float(np.log1p(self.alpha_t @ np.expm1(exponents)))
        return -float(logsumexp(exponents, b=self.alpha_t))

    def measure_rounding(self, at: Evaluated) -> float:
        """Bound the errors of the entropy's terms, of q, of the constraints of alpha and of the exponents.

        A margin that is missed by d is mended by moving the share ``t = d / |q_v - rho|`` of alpha to the vertex v of
        the smallest or the largest q; as the entropy is convex, that adds at most ``t (-ln alpha_t_v - value)``. The
        log of a sum of exponentials moves by no more than the largest change of an exponent.
        """
        alpha, eta, n = at.point["alpha"], abs(float(at.point["eta"])), len(self.y)
        r = self._find_changes(alpha)
        # entropy terms alpha_t ((1 + r) ln(1 + r) - r), and r itself where it is not small, as 1 + r is rounded
        terms = self.alpha_t * (self._evaluate_divergences(r) + np.where(np.abs(r) < SMALL, 0.0, np.abs(r)))
        # q'alpha = rho is missed by at most off + error; of q'alpha <= rho only what is above counts
        off = self._measure_excess(alpha)
        error = float(alpha @ self._errors) + EPSILON * abs(self.rho)
        above, below = max(off + error, 0.0), max(error - off, 0.0) if self.equality else 0.0
        mended, value = 0.0, at.primal
        for missed, v in ((above, int(self.q.argmin())), (below, int(self.q.argmax()))):
            share = min(missed / abs(float(self.q[v]) - self.rho), 1.0)
            mended = max(mended, share * max(-float(np.log(self.alpha_t[v])) - value, 0.0))
        # primal: n + 4 roundings of the terms; dual: -ln sum alpha_t exp(-eta (q - rho)), each exponent rounded 4 times
        of_primal = sum_error(n + 4, float(terms.sum())) + mended
        exponents = eta * np.abs(self.q - self.rho)
        largest = float(exponents.max())
        of_sum = sum_error(n + 4, float(self.alpha_t @ np.expm1(np.minimum(exponents, 1.0))))
        return of_primal + of_sum + 4 * EPSILON * largest + eta * float(self._errors.max())

    def _measure_excess(self, alpha: Array) -> float:
        """Evaluate ``q'alpha - rho``, with alpha divided by its sum, which is 1 but for rounding."""
        ones = np.ones(len(alpha))
        return dot(np.concatenate([self.q, -self.rho * ones]), np.concatenate([alpha, alpha])) / dot(alpha, ones)

    def _find_changes(self, alpha: Array) -> Array:
        """Evaluate ``alpha / alpha_t - 1`` without cancellation, both divided by their sums: 1 but for rounding."""
        r, ones = (alpha - self.alpha_t) / self.alpha_t, np.ones(len(alpha))
        return r + dot(self.alpha_t - alpha, ones) / dot(alpha, ones) * (1 + r)

    @staticmethod
    def _evaluate_divergences(r: Array) -> Array:
        """Evaluate ``(1 + r) ln(1 + r) - r`` for r >= -1, by its series where r is small."""
        t = np.clip(r, -SMALL, SMALL)
        series = t * t * (0.5 - t * (1 / 6 - t * (1 / 12 - t / 20)))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(r > -1, (1 + r) * np.log1p(r), 0.0) - r
        return np.where(np.abs(r) < SMALL, series, logs)

    def residuals(self, point: Point, products: Products | None = None) -> dict[str, float]:
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

    def infeasibility(self) -> None:
        """Prove nothing: `admit` leaves no projection without a feasible point."""

    def admit(self, name: str, value: float) -> float:
        """Refuse a rho that no positive alpha reaches."""
        low, high = float(self.q.min()), float(self.q.max()) if self.equality else np.inf
        if not low < value < high:
            raise InvalidInput(name, f"found {value:.6g}", f"give a number strictly between {low:.6g} and {high:.6g}")
        return value


def _check_interior(alpha_t: Any, n_samples: int) -> Array:
    alpha_t = validation.finite_array("alpha_t", alpha_t, ndim=1)
    validation.same_length("alpha_t", alpha_t, n_samples)
    if alpha_t.min() <= 0 or abs(alpha_t.sum() - 1) > 1e-9:
        found = f"found a smallest entry of {alpha_t.min():.3g} and a sum of {alpha_t.sum():.9g}"
        raise InvalidInput("alpha_t", found, "give positive entries with sum 1")
    return alpha_t / alpha_t.sum()
