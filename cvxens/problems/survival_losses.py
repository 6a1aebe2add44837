"""The loss of survival times: Cox's partial likelihood, with a conjugate in closed form.

Of n samples some have an event at their time, the others leave at theirs without one. The loss is

    sum_k d_k ln sum_(j in R_k) c_j exp f_j  -  sum_i e_i f_i

over the times k = 1, ..., m of events, where d_k is the mass of the events at k, R_k the samples that are still
there, c_j the mass of a sample and e_i that of its event, 0 if it has none. Its multipliers are ``u = e - r``, where
r_j is the sum over k of d_k times the share of j in R_k. So the conjugate looks for masses v_kj >= 0, j in R_k, of
which row k adds up to d_k and column j to r_j, that have the largest entropy. Risk sets are nested, so that the columns
that leave after the time k, of mass rho_k, take a share of all that has come by then and is still there: with

    B_k = d_1 + ... + d_k - rho_1 - ... - rho_(k-1) = d_k + U_(k-1),    U_k = sum of u over the samples that left by k,

the shares are rho_k / B_k and U_k / B_k, and the dual value of the loss is the entropy of this chain,

    -loss*(-u) = sum_k (B_k ln B_k - U_k ln U_k) - sum_j r_j ln(r_j / c_j),

on u <= e, U_k >= 0 for every k, U_m = 0, and u_j = 0 for those who leave before the first event.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.limits import check_time
from cvxens.problems.losses import OfDifferences, excess
from cvxens.problems.modelling import Term, cp
from cvxens.rounding import EPSILON, TINY, sum_error
from cvxens.types import Array, Indices

__all__ = ["CoxPartialLikelihood"]


@dataclass(frozen=True, eq=False)
class CoxPartialLikelihood(OfDifferences):
    """Cox's negative log partial likelihood of scores, the logarithms of hazards (Cox 1972; ties as Breslow 1974).

    Parameters
    ----------
    times : array-like of shape (n_samples,)
        When a sample had its event, or was seen last.
    events : array-like of bool, shape (n_samples,)
        True where there was an event; at least one.
    C : float
        Price of the loss, above 0; 1 over the number of events makes it a mean.
    weights : array-like of shape (n_samples,), optional
        How often each sample counts, above 0; by default once.

    Examples
    --------
    >>> loss = CoxPartialLikelihood([1.0, 2.0, 3.0], [True, False, True])
    >>> round(float(np.exp(loss.value(np.zeros(3)))), 12), loss.multipliers(np.zeros(3)).round(3)
    (3.0, array([ 0.667, -0.333, -0.333]))
    """

    per_sample = "times"
    times: Array
    events: Any
    C: float = 1.0
    weights: Any = None

    def __post_init__(self) -> None:
        times, events = validation.finite_array("times", self.times, ndim=1), np.asarray(self.events)
        validation.same_length("events", events, len(times))
        if events.dtype != bool or not events.any():
            found = f"found {'none' if events.dtype == bool else f'values of type {events.dtype}'}"
            raise InvalidInput("events", found, "give True where there was an event, at least once")
        weights: Any = np.ones(len(times)) if self.weights is None else validation.prices("weights", self.weights)
        validation.same_length("weights", weights, len(times))
        vars(self).update(times=times, events=events, C=validation.positive("C", self.C), weights=weights)

    @cached_property
    def event_times(self) -> Array:
        """The times of events, ascending, (n_times,)."""
        return np.unique(self.times[self.events])

    @cached_property
    def place(self) -> Indices:
        """The number of times of events up to that of each sample: it is at risk at these."""
        return np.searchsorted(self.event_times, self.times, "right")

    @cached_property
    def masses(self) -> Array:
        """The mass e of the event of each sample, 0 where it has none."""
        return np.where(self.events, self.C * self.weights, 0.0)

    @cached_property
    def deaths(self) -> Array:
        """The mass d of the events at each time."""
        return self._sum_by_place(self.masses)

    def _sum_by_place(self, values: Array) -> Array:
        """Sum values (n_samples,) over the samples that leave from one time of events to the next; without the rest."""
        sums: Any = np.bincount(self.place, values, len(self.event_times) + 1)
        return np.asarray(sums[1:], np.float64)

    def model(self, z: cp.Expression) -> Term:
        """Model a log-sum-exp for each time of events; of too many samples in them all an InvalidInput."""
        risk = [np.flatnonzero(self.place > k) for k in range(len(self.event_times))]
        # samples in risk sets, summed over the sets, up to which a model for cvxpy is written
        if sum(map(len, risk)) > 1_000_000:
            found = f"found {sum(map(len, risk)):,} samples at risk, over {len(risk):,} times of events"
            raise InvalidInput("times", found, "leave out the master, or give an L1 or SquaredL2 penalty")
        logarithms = np.log(self.weights)
        sums = [d * cp.log_sum_exp(z[R] + logarithms[R]) for d, R in zip(self.deaths, risk, strict=True)]
        return Term(cp.sum(cp.hstack(sums)) - self.masses @ z)

    def centre(self, z: Array) -> Array:
        """Return scores less their mean over the events, which changes no difference."""
        return z - float(self.masses @ z) / float(self.masses.sum())

    def log_risks(self, f: Array) -> Array:
        """Return the logarithm of the sum of ``weights exp f`` over those at risk at each time of events."""
        exponents, n_times = f + np.log(self.weights), len(self.event_times)
        largest = np.full(n_times + 1, -np.inf)
        np.maximum.at(largest, self.place, exponents)
        with np.errstate(invalid="ignore"):
            shares = np.exp(exponents - largest[self.place])
        leaving = np.bincount(self.place, shares, n_times + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.where(leaving > 0, largest + np.log(leaving), -np.inf)[1:]
        return np.logaddexp.accumulate(logarithms[::-1])[::-1]

    def log_hazards(self, f: Array) -> Array:
        """Return the logarithm of Breslow's cumulative hazard, of scores 0 and C = 1, at each time of events."""
        return np.logaddexp.accumulate(np.log(self.deaths / self.C) - self.log_risks(f))

    def terms(self, z: Array) -> Array:
        f = self.centre(z)
        return np.append(self.deaths * self.log_risks(f), -self.masses * f)

    def rounding(self, z: Array) -> float:
        """Bound it by ``sum_k d_k (1 + |ln of the risk|) + sum_i e_i |f_i|``, and the size of what is taken off all."""
        taken = float((self.deaths * (1 + 2 * float(np.abs(z).max()))).sum() + 2 * (self.masses @ np.abs(z)))
        return sum_error(len(z), float(np.abs(self.terms(z)).sum()) + taken)

    def multipliers(self, z: Array) -> Array:
        """Return ``e - r``: the event of a sample less the hazards that it has been under."""
        return self.masses - self.find_shares(z)

    def find_shares(self, z: Array) -> Array:
        """Return r, the mass of the events times the shares of each sample in those at risk."""
        f = self.centre(z)
        exposed = self.place > 0
        hazards = self.log_hazards(f)[self.place - 1]
        return np.where(exposed, self.C * np.exp(np.where(exposed, f + np.log(self.weights) + hazards, 0.0)), 0.0)

    def _chain(self, u: Array) -> tuple[Array, Array, Array]:
        """Return B and U of every time, and r of every sample; those that rounding puts below 0 are 0."""
        left = np.maximum(np.cumsum(self._sum_by_place(u)), 0.0)
        # whoever is there at the last time leaves after it
        left[-1] = 0.0
        return self.deaths + np.concatenate([[0.0], left[:-1]]), left, np.maximum(self.masses - u, 0.0)

    def dual_terms(self, u: Array) -> Array:
        """Return ``B_k ln B_k - U_k ln U_k`` and ``-r_j ln(r_j / (C weights))``, less what C adds to both."""
        come, left, r = self._chain(u)
        r = np.where(self.place > 0, r, 0.0)
        chain = xlogy(come, come / self.C) - xlogy(left, left / self.C)
        return np.append(chain, -xlogy(r, r / (self.C * self.weights)))

    def dual_rounding(self, u: Array) -> float:
        """Bound it by the sizes of all terms, and the logarithms that the rounding of B, U and r is multiplied by."""
        come, left, r = self._chain(u)

        def size(x: Array, scale: Any) -> Array:
            """Bound x ln(x / scale) and its slope, times x."""
            return x * (1 + np.abs(np.log(np.maximum(x / scale, TINY))))

        # B and U are sums of multipliers, and r differences from them: they are off by a share of sum |u|
        logarithms = 1 + np.abs(np.log(np.maximum(r / (self.C * self.weights), EPSILON)))
        own = float(((np.abs(u) + self.masses) * logarithms).sum())
        chain = float((size(come, self.C) + size(left, self.C)).sum())
        return sum_error(len(u), own + chain + float(np.abs(u).sum()))

    def repair(self, u: Array, y: Array | None) -> Array:
        """Move multipliers to where nothing is used before it has come, and all is in the end; exact in real numbers.

        They are rounded to a grid on which sums are exact. Where a sum U_k is below 0, those who leave at k take what
        there is, in proportion; those who leave last take the rest.
        """
        n_times, total = len(self.event_times), float(self.masses.sum())
        # bits of the mass of all events, counted in units of a grid on which sums of multipliers are exact
        exponent, r = 51 - int(np.frexp(2 * total)[1]), np.maximum(self.masses - np.nan_to_num(u), 0.0)
        r[self.place == 0] = 0.0
        size = float(r.sum())
        r *= total / size if 0 < size < np.inf else 0.0
        units = np.floor(np.ldexp(np.where(self.place > 0, self.masses - r, 0.0), exponent)).astype(np.int64)
        most = np.floor(np.ldexp(self.masses, exponent)).astype(np.int64)
        # what lacks at a time is made up for by those who leave there: U_k + lack_k is at least 0
        sums = np.cumsum(np.bincount(self.place, units, n_times + 1).astype(np.int64)[1:])
        lack = np.maximum.accumulate(np.maximum(-sums, 0))
        raise_by = np.diff(lack, prepend=0)
        raise_by[-1] = -sums[-1] - (lack[-2] if n_times > 1 else 0)
        for k in np.flatnonzero(raise_by).tolist():
            members = np.flatnonzero(self.place == k + 1)
            units[members] += _share(most[members] - units[members], self.weights[members], int(raise_by[k]))
        return np.ldexp(units.astype(np.float64), -exponent)

    def violation(self, u: Array) -> float:
        """Return the largest violation of u <= e, U >= 0, U_m = 0, and u = 0 before the first event; relative."""
        left = np.cumsum(self._sum_by_place(u))
        early = float(np.abs(u[self.place == 0]).max(initial=0.0))
        worst = max(excess(u - self.masses), excess(-left), abs(float(left[-1])), early)
        return worst / max(float(np.abs(u).sum()), float(self.masses.max()))

    def slackness(self, z: Array, u: Array) -> float:
        """Return ``max |u + loss'(z)|``, relative to the largest mass of an event."""
        return float(np.abs(u - self.multipliers(z)).max()) / float(self.masses.max())

    def curve(self, z: Array, X: Array) -> Array:
        """Return the second derivatives in the weights of the columns X (n_columns, n_samples); `TimeUp` without time.

        They are ``sum_j r_j x_j x_j' - sum_k d_k m_k m_k'``, m_k the mean of x over those at risk at k.
        """
        f = self.centre(z)
        r, risks = self.find_shares(z), self.log_risks(f)
        order = np.argsort(self.place, kind="stable")[::-1]
        # sums over those who are at risk at k, in units of the risk there: far ones underflow to 0, as they should
        means = np.empty((len(X), len(risks)))
        total, last = np.zeros(len(X)), -np.inf
        ends, start = np.searchsorted(-self.place[order], -np.arange(len(risks), 0, -1), "right"), 0
        for k, end in zip(range(len(risks) - 1, -1, -1), ends.tolist(), strict=True):
            check_time()
            new = order[start:end]
            shares = np.exp(f[new] + np.log(self.weights[new]) - risks[k])
            total = total * np.exp(last - risks[k]) + X[:, new] @ shares
            means[:, k], last, start = total, risks[k], end
        weighted = means * np.sqrt(self.deaths)
        return np.asarray((X * r) @ X.T - weighted @ weighted.T)


def _share(room: NDArray[np.int64], weights: Array, raised: int) -> NDArray[np.int64]:
    """Return by how much the multipliers of some samples rise, all together, at most by the room that each has.

    In proportion to the room; or, where they fall and none has any, to the weights.
    """
    from cvxens.compensated import take_units

    parts = room / room.sum() if room.any() else weights / weights.sum()
    if raised <= 0:
        # multipliers may fall without bound
        found = np.floor(raised * parts).astype(np.int64)
        found[int(np.argmax(parts))] += raised - int(found.sum())
        return found
    found = np.minimum(np.ceil(raised * parts).astype(np.int64), room)
    take_units(found, int(found.sum()) - raised)
    return found
