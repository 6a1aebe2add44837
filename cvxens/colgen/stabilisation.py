"""Stabilisation: price near a point that has proven itself instead of at a master's extreme multipliers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Protocol

from cvxens import validation
from cvxens.colgen.protocols import Column, Master, MasterSolution, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.types import Array


class Smoothing(Protocol):
    """How multipliers are smoothed: towards which centre, and how far."""

    @property
    def share(self) -> float:
        """The share of the centre in the multipliers that are priced, in [0, 1)."""

    def moves(self, bound: float, best: float) -> bool:
        """Whether a point that was priced becomes the centre, by its bound and the best one before."""


@dataclass(frozen=True)
class InOut:
    """In-out smoothing (Wentges 1997; Ben-Ameur & Neto 2007): the centre is the point with the best bound so far.

    Parameters
    ----------
    share : float
        Of the centre, in [0, 1).

    Examples
    --------
    >>> InOut(0.5).moves(bound=1.0, best=2.0)
    False
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        _check(self.share)

    def moves(self, bound: float, best: float) -> bool:
        """To every point with a better bound."""
        return bound > best


@dataclass(frozen=True)
class Averaged:
    """Neame's smoothing (1999): the centre is the last point that was priced, so all before it fade away.

    Parameters
    ----------
    share : float
        Of the centre, in [0, 1).

    Examples
    --------
    >>> Averaged(0.5).moves(bound=1.0, best=2.0)
    True
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        _check(self.share)

    def moves(self, bound: float, best: float) -> bool:
        """To every point."""
        return True


def _check(share: float) -> None:
    if not 0 <= validation.number("share", share) < 1:
        raise InvalidInput("share", f"found {share!r}", "give a number from 0 up to, but below, 1")


def stabilised(
    master: Callable[[Formulation, Array], Master], smoothing: Smoothing
) -> Callable[[Formulation, Array], Master]:
    """Let a master's multipliers be smoothed before they are priced.

    Parameters
    ----------
    master : callable
        Makes a master from formulation and signs.
    smoothing : Smoothing
        `InOut` or `Averaged`.

    Returns
    -------
    callable
        Makes the stabilised master; for ``column_generation(..., master=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> from cvxens.colgen import column_generation, formulations, masters, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> smooth = stabilised(masters.HighsMaster, InOut(0.3))
    >>> column_generation(formulations.soft_margin(C=1.0), oracles.Stumps(X), y, master=smooth).certificate.primal
    3.0
    """
    return lambda formulation, y: StabilisedMaster(master(formulation, y), formulation, y, smoothing)


def unsmoothed(master: Master) -> tuple[Master, list[Smoothing]]:
    """A master without its smoothing, and the rules of that, the outermost first.

    Examples
    --------
    >>> import numpy as np
    >>> from cvxens.colgen import formulations, masters
    >>> smooth = stabilised(masters.HighsMaster, InOut(0.3))(formulations.soft_margin(C=1.0), np.array([1.0, -1.0]))
    >>> type(unsmoothed(smooth)[0]).__name__, unsmoothed(smooth)[1]
    ('HighsMaster', [InOut(share=0.3)])
    """
    rules = []
    while isinstance(master, StabilisedMaster):
        rules.append(master.smoothing)
        master = master.master
    return master, rules


class StabilisedMaster:
    """A master that hands over a mean of its own multipliers and a centre.

    The domains of multipliers are convex, so the mean is feasible and its bound is as valid as any. Where the oracle
    finds nothing new under the mean, the master's own multipliers are priced next: smoothing delays the end, but cannot
    bring about a wrong one.

    Parameters
    ----------
    master : Master
        The master.
    formulation : Formulation
        What it solves.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Signs of the margins.
    smoothing : Smoothing
        The rule.
    """

    def __init__(self, master: Master, formulation: Formulation, y: Array, smoothing: Smoothing) -> None:
        self.master = master
        self.penalty = formulation.terms[1]
        self.restricted = Restricted(formulation, y)
        self.y = y
        self.smoothing = smoothing
        self.centre: Array | None = None
        self.best = -inf
        self.has_new = False

    def add(self, columns: Sequence[Column]) -> None:
        """Add columns to the master."""
        self.has_new = True
        self.master.add(columns)

    def solve(self) -> MasterSolution:
        """Solve, and smooth the multipliers where there is a centre and the last ones led to new columns."""
        solution = self.master.solve()
        smooth, self.has_new = self.has_new and isfinite(solution.objective), False
        if self.centre is None or not smooth:
            return solution
        share = self.smoothing.share
        u = self.restricted.balanced(share * self.centre + (1 - share) * solution.u)
        return replace(solution, u=u, s=self.y * u, exact=False, edges=None)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum from the multipliers that were priced, which may become the centre."""
        bound = self.master.bound(solution, priced)
        if isfinite(solution.objective) and self.smoothing.moves(bound, self.best):
            self.centre = solution.u * self.penalty.shrink(Edges(priced.edge_bound, priced.edge_square_sum))
        self.best = max(self.best, bound)
        return bound
