"""Multiplicative updates for the rho-SVM, of adaptive and of fixed length, and how many it takes at most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import log

import numpy as np

from cvxens import validation
from cvxens.deadline import time_is_up
from cvxens.solvers.entropy_projection import multiplier, tilted
from cvxens.types import Array

SMALLEST = 1e-14
"""The relative decrease asked of an update at which multiplicative updates have stalled."""

Margins = Callable[[Array], Array]
"""Maps u (n_samples,) to K~u, by whatever structure K~ = K o yy' has."""


@dataclass(frozen=True)
class Update:
    """A partially trained SVM, and the update that leads on from it.

    Parameters
    ----------
    u : ndarray of shape (n_samples,)
        Positive, with sum 1: the hypothesis ``f(x) = sum_i u_i y_i k(x, x_i)``.
    q : ndarray of shape (n_samples,)
        Its margins K~u.
    eta : float
        The next u is in proportion to ``u_i exp(-eta q_i)``; 0 where there is none.
    epsilon : float
        The relative decrease that was asked for; 0 where none was.
    """

    u: Array
    q: Array
    eta: float
    epsilon: float

    @property
    def value(self) -> float:
        """u'K~u, above the optimum."""
        return float(self.u @ self.q)

    @property
    def gap(self) -> float:
        """The gap to the optimum, relative to `value`."""
        return relative_gap(self.q, self.value)

    @property
    def nu(self) -> float:
        """The decrease asked for relative to half the range of q: the length that `update_bound` speaks of."""
        return 2 * self.epsilon * self.value / float(np.ptp(self.q)) if self.epsilon > 0 else 0.0


def relative_gap(q: Array, value: float) -> float:
    """1 - (m / value)^2 with m = min q, the gap between m^2 / value and value; 1 where m <= 0.

    Examples
    --------
    >>> relative_gap(np.array([0.5, 1.0]), 1.0)
    0.75
    """
    return 1.0 - (max(float(q.min()), 0.0) / value) ** 2 if value > 0 else 0.0


def uniform(n_samples: int) -> Array:
    """Weigh all samples alike: the Parzen window, from which updates start.

    Examples
    --------
    >>> uniform(4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    return np.full(n_samples, 1 / n_samples)


def adaptive_updates(margins: Margins, u: Array) -> Iterator[Update]:
    """TK07 Algorithm 1: updates that choose their own eta.

    Each projects u in relative entropy onto the v with ``(K~u)'v = (1 - epsilon) u'K~u``. Epsilon starts at a half, is
    halved until the objective falls by a fifth of what was asked, and grows again by a half.

    Parameters
    ----------
    margins : callable
        Maps u to K~u.
    u : ndarray of shape (n_samples,)
        Positive, with sum 1.

    Yields
    ------
    Update
        The last one, with an eta of 0, where updates have stalled.

    Examples
    --------
    >>> updates = list(adaptive_updates(lambda u: np.array([1.0, 3.0]) * u, uniform(2)))
    >>> updates[0].u, updates[-1].u.round(6), updates[-1].eta
    (array([0.5, 0.5]), array([0.75, 0.25]), 0.0)
    """
    epsilon, q = 0.5, margins(u)
    while True:
        eta, epsilon, then = _step(margins, u, q, epsilon)
        if then is None:
            yield Update(u, q, 0.0, 0.0)
            return
        yield Update(u, q, eta, epsilon)
        (u, q), epsilon = then, min(1.5 * epsilon, 0.5)


def _step(margins: Margins, u: Array, q: Array, epsilon: float) -> tuple[float, float, tuple[Array, Array] | None]:
    """Eta, the epsilon that it took, and the next u with its margins; none where epsilon vanishes."""
    value, least = float(u @ q), float(q.min())
    while epsilon > SMALLEST:
        target = (1 - epsilon) * value
        if target > least:
            eta = multiplier(u, q, target, 1e-10)
            following = np.maximum(tilted(u, q, eta), np.finfo(float).tiny)
            their_margins = margins(following)
            if float(following @ their_margins) < (1 - epsilon / 5) * value:
                return eta, epsilon, (following, their_margins)
        epsilon /= 2
    return 0.0, 0.0, None


def fixed_updates(margins: Margins, u: Array, eta: float) -> Iterator[Update]:
    """Cristianini, Campbell & Shawe-Taylor (1999): updates of one eta, without end.

    A large eta diverges, a small one takes its time. With ``eta = nu / R^2``, where R bounds |K_ij|, the mean of the
    first ``2 ln(n) R^2 / nu^2`` u's has a smallest margin within nu of its objective, by Hoeffding's lemma.

    Parameters
    ----------
    margins : callable
        Maps u to K~u.
    u : ndarray of shape (n_samples,)
        Positive, with sum 1.
    eta : float
        Above 0.

    Yields
    ------
    Update
        With an epsilon of 0: nothing is asked of an update.

    Examples
    --------
    >>> updates = fixed_updates(lambda u: np.array([1.0, 3.0]) * u, uniform(2), eta=1.0)
    >>> next(updates).u, next(updates).u.round(3)
    (array([0.5, 0.5]), array([0.731, 0.269]))
    """
    eta = validation.positive("eta", eta)
    while True:
        q = margins(u)
        yield Update(u, q, eta, 0.0)
        u = np.maximum(tilted(u, q, eta), np.finfo(float).tiny)


def until(updates: Iterable[Update], gap: float, max_updates: int) -> Iterator[Update]:
    """Cut updates after the first one within a relative `gap`, after `max_updates` steps, or where time is up.

    Examples
    --------
    >>> updates = adaptive_updates(lambda u: np.array([1.0, 3.0]) * u, uniform(2))
    >>> [round(update.gap, 3) for update in until(updates, 0.1, 100)]
    [0.75, 0.0]
    """
    for update in islice(updates, max_updates + 1):
        yield update
        if update.gap <= gap or time_is_up():
            return


def update_bound(n_samples: int, nu: float) -> float:
    """2 ln(n) / nu^2: how many updates of length `nu` there can be that the optimum a* does not forbid.

    An update whose target exceeds ``(K~u)'a*`` brings u nearer to a* in relative entropy by at least ``nu^2 / 2``
    (Pythagoras and Pinsker), with nu the decrease asked for over half the range of K~u; at the start that entropy is at
    most ln(n). The target exceeds it wherever the optimum is at most ``(1 - epsilon)^2 u'K~u``.

    Parameters
    ----------
    n_samples : int
        At least 2.
    nu : float
        Above 0.

    Examples
    --------
    >>> round(update_bound(1000, 0.1))
    1382
    """
    return 2 * log(validation.whole("n_samples", n_samples, 2)) / validation.positive("nu", nu) ** 2
