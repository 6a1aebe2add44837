"""The soft minimum margin of ERLPBoost, smoothed by an entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, rel_entr

from cvxens.problems.losses.protocol import excess, search_intercept
from cvxens.problems.losses.soft_minimum_margin import SoftMinimumMargin
from cvxens.problems.modelling import Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True, eq=False)
class EntropicMinimumMargin:
    """min over xi >= 0 of 1/eta ln sum_i p_i exp(-eta (z_i + xi_i)) + sum_i D_i xi_i, p = D / sum D.

    Minus the margin that entropy-regularised LPBoost maximises (Warmuth, Glocer & Vishwanathan 2008). Its dual value is
    ``-1/eta sum_i u_i ln(u_i / p_i)`` on the capped simplex sum u = 1, 0 <= u <= D: that of LPBoost less an entropy, so
    it differs from LPBoost's soft minimum margin by at most ``ln(sum D) / eta``. At its optimum
    ``u_i = D_i min(1, exp(-eta (z_i - rho)))``, which has the sum 1 at one rho.

    Parameters
    ----------
    D : float or ndarray of shape (n_samples,)
        Price of a unit of slack, D = 1/(nu n_samples); of every sample its own in an array. The sum over the samples
        is at least 1.
    eta : float
        Above 0; the larger, the nearer to LPBoost.

    Examples
    --------
    >>> round(EntropicMinimumMargin(D=1.0, eta=100.0).value(np.array([0.5, 3.0])), 4)
    -0.5069
    """

    D: float | Array
    eta: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Of prices of their own, else ()."""
        return np.shape(self.D)

    def term(self, z: Any) -> Term:
        """Model the loss with slacks xi >= 0."""
        xi = cp.Variable(z.shape, nonneg=True, name="xi")
        D, ln_p = self._shares(z)
        smooth = cp.log_sum_exp(ln_p - self.eta * (z + xi)) / self.eta
        return Term(smooth + cp.sum(cp.multiply(D, xi)), (), {"xi": xi})

    def margin(self, z: Array) -> float:
        """The rho up to which slack pays; the largest z if it pays everywhere.

        Between two margins in their order the mass ``sum_i D_i min(1, exp(-eta (z_i - rho)))`` is a constant, of those
        below rho, and a multiple of exp(eta rho), of those above.
        """
        order = np.argsort(z)
        z, D = z[order], np.broadcast_to(self.D, z.shape)[order]
        below = np.cumsum(D) - D
        # ln of what those from the k-th on add to the mass, at rho = 0
        above = np.logaddexp.accumulate((np.log(D) - self.eta * z)[::-1])[::-1]
        mass = below + np.exp(above + self.eta * z)
        k = int(np.searchsorted(mass, 1.0))
        if k == len(z):
            return float(z[-1])
        rho = (np.log(max(1 - below[k], np.finfo(float).tiny)) - above[k]) / self.eta
        return float(np.clip(rho, z[k - 1] if k else None, z[k]))

    def value(self, z: Array) -> float:
        """Evaluate the loss at the best slacks."""
        rho = self.margin(z)
        D, ln_p = self._shares(z)
        smooth = logsumexp(ln_p - self.eta * np.maximum(z, rho)) / self.eta
        return float(smooth + (D * np.maximum(rho - z, 0)).sum())

    def magnitude(self, z: Array) -> float:
        """Max |z_i| + ln(n sum D)/eta + the slacks at their prices."""
        D, ln_p = self._shares(z)
        slacks = float((D * np.maximum(self.margin(z) - z, 0)).sum())
        return float(np.abs(z).max() + np.abs(ln_p).max() / self.eta) + slacks

    def dual_value(self, u: Array) -> float:
        """-1/eta sum u ln(u / p)."""
        D, _ = self._shares(u)
        return float(-rel_entr(u, D / D.sum()).sum() / self.eta)

    def dual_magnitude(self, u: Array) -> float:
        """1/eta sum |u ln(u / p)|, and sum u for the rounding of p."""
        D, _ = self._shares(u)
        return float(np.abs(rel_entr(u, D / D.sum())).sum() / self.eta + np.abs(u).sum() / self.eta)

    def multipliers(self, z: Array) -> Array:
        """D_i min(1, exp(-eta (z_i - rho)))."""
        u = self.D * np.exp(np.minimum(self.eta * (self.margin(z) - z), 0))
        return u / u.sum()

    def repair(self, u: Array, y: Array | None) -> Array:
        """Project onto the capped simplex; with labels, each class carries half of the weight.

        Raises
        ------
        InvalidInput
            D is so small that the problem is unbounded.
        """
        return SoftMinimumMargin(self.D).repair(u, y)

    def scale(self, z: Array) -> float:
        """Every margin is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """By search."""
        return search_intercept(self, f, y)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Slacks, where given, must be at least 0."""
        return excess(-auxiliary["xi"]) if "xi" in auxiliary else 0.0

    def dual_violation(self, u: Array) -> float:
        """Distance from the capped simplex: signs and cap in units of D, and |sum u - 1|."""
        return SoftMinimumMargin(self.D).dual_violation(u)

    def slackness(self, z: Array, u: Array) -> float:
        """Max |u + loss'(z)|, in units of D."""
        return float((np.abs(u - self.multipliers(z)) / self.D).max())

    def _shares(self, z: Any) -> tuple[Array, Array]:
        """D and the logarithms of p, one per sample."""
        D = np.broadcast_to(np.asarray(self.D, dtype=np.float64), z.shape)
        return D, np.log(D / D.sum())
