"""Stabilisation: price near a point that has proven itself instead of at a master's extreme multipliers.

A restricted linear program has multipliers at vertices, which jump from round to round. Smoothing prices
``share * centre + (1 - share) * u`` instead; `InOut` and `Averaged` say which point is the centre.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

from cvxens import validation
from cvxens.colgen.protocols import Column, Master, MasterSolution, Priced
from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges, balance_exactly
from cvxens.problems.formulation import Formulation
from cvxens.types import Array


@dataclass(frozen=True)
class Smoothing(ABC):
    """A rule by which multipliers are smoothed: towards which centre, and how far.

    Parameters
    ----------
    share : float
        The share of the centre in the multipliers that are priced, in [0, 1).
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= validation.number("share", self.share) < 1:
            raise InvalidInput("share", f"found {self.share!r}", "give a number from 0 up to, but below, 1")

    @abstractmethod
    def moves(self, bound: float, best: float) -> bool:
        """Return True if a point that was priced becomes the centre, by its bound and the best one before."""


@dataclass(frozen=True)
class InOut(Smoothing):
    """In-out smoothing (Wentges 1997; Ben-Ameur & Neto 2007): the centre is the point with the best bound so far.

    Examples
    --------
    >>> InOut(0.5).moves(bound=1.0, best=2.0)
    False
    """

    def moves(self, bound: float, best: float) -> bool:
        """Return True where the bound of a point is better than all before."""
        return bound > best


@dataclass(frozen=True)
class Averaged(Smoothing):
    """Neame's smoothing (1999): the centre is the last point that was priced, so all before it fade away.

    Examples
    --------
    >>> Averaged(0.5).moves(bound=1.0, best=2.0)
    True
    """

    def moves(self, bound: float, best: float) -> bool:
        """Return True: each point that was priced becomes the centre."""
        return True


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


@dataclass(eq=False)
class StabilisedMaster:
    """A master that hands over a mean of its own multipliers and a centre.

    The domains of multipliers are convex, so the mean is feasible and its bound is as valid as any. Where the oracle
    finds nothing new under the mean, the master's own multipliers are priced next: smoothing delays the end, but cannot
    bring about a wrong one.
    """

    master: Master
    formulation: Formulation
    y: Array
    smoothing: Smoothing

    def __post_init__(self) -> None:
        self.penalty = self.formulation.terms[1]
        self.centre: Array | None = None
        self.best = -inf
        self.has_new = False

    def add(self, columns: Sequence[Column]) -> None:
        """Give columns to the master that is wrapped; its next multipliers may be smoothed."""
        self.has_new = True
        self.master.add(columns)

    def solve(self) -> MasterSolution:
        """Solve, and answer with ``share centre + (1 - share) u`` in place of u, while that led to new columns."""
        solution = self.master.solve()
        smooth, self.has_new = self.has_new and isfinite(solution.objective), False
        if self.centre is None or not smooth or (share := self.smoothing.share) == 0:
            # no centre yet, or the last multipliers led to no new column
            return solution
        u = share * self.centre + (1 - share) * solution.u
        u = balance_exactly(u, self.y) if self.formulation.intercept else u
        return replace(solution, u=u, s=self.y * u, exact=False, edges=None)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Return the bound of what was priced, and move the centre there by the rule."""
        bound = self.master.bound(solution, priced)
        if isfinite(solution.objective) and self.smoothing.moves(bound, self.best):
            # shrunk to be feasible for all hypotheses priced: only then is the bound the value at the centre
            self.centre = solution.u * self.penalty.shrink(Edges(priced.edge_bound, priced.edge_square_sum))
        self.best = max(self.best, bound)
        return bound
