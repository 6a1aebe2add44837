"""Fast masters share how they ask for terms, and how far they solve a round's restricted problem.

A master does not know losses and penalties by their types. It says what it needs of them (`Needs`), by the names of the
capabilities that the two protocols list, and takes every formulation whose terms have these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cvxens import validation
from cvxens.colgen.protocols import Column, MasterSolution, Priced, relative_gap
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.problems.penalties import Penalty
from cvxens.types import Array

SHARE = 0.1
"""The share of what new columns can gain, down to which a round is solved; from 0.3 to 0.02 runs take about as long."""

COARSE = 1e-3
"""The largest gap: limits may end a run in any round, and then its weights are the last ones."""

FINE = 1e-4
"""The gap after columns that were not priced before, and the share of the last gap where nothing new has come."""


@dataclass(frozen=True)
class Needs:
    """Capabilities of a loss and a penalty, and settings of the formulation, that a master can work with.

    Parameters
    ----------
    loss, penalty : str
        The attribute that the term must have.
    nonnegative, intercept : bool or None
        What the formulation must say; None for either.
    """

    loss: str
    penalty: str
    nonnegative: bool | None = None
    intercept: bool | None = None

    def find_missing(self, formulation: Formulation) -> str:
        """Return what keeps the formulation from being solved this way, empty if nothing does."""
        terms = zip(formulation.terms, (self.loss, self.penalty), strict=True)
        missing = [f"{type(term).__name__} has no `{name}`" for term, name in terms if not hasattr(term, name)]
        for name in ("nonnegative", "intercept"):
            wanted = getattr(self, name)
            if wanted not in {None, getattr(formulation, name)}:
                missing.append(f"{name} is not {wanted}")
        return " and ".join(missing)


class FastMaster:
    """A master for formulations whose terms have certain capabilities.

    Attributes
    ----------
    needs : tuple of Needs
        The alternatives, one of which a formulation must meet.
    restricted : Restricted
        The columns found so far, and the evaluation of points over them.
    """

    needs: ClassVar[tuple[Needs, ...]]

    def __init__(self, formulation: Formulation, y: Array) -> None:
        if not self.supports(formulation):
            missing = "; or ".join(need.find_missing(formulation) for need in self.needs)
            found = f"found {type(self).__name__} for {formulation}, but {missing}"
            raise InvalidInput("master", found, "give terms that have it; or use CvxpyMaster")
        self.restricted = Restricted(formulation, y)
        # the attributes of the two terms depend on what they can, so no type says what they are
        self.loss: Any
        self.penalty: Any
        self.loss, self.penalty = formulation.terms

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        """Return True if loss and penalty have what the master needs."""
        return any(not need.find_missing(formulation) for need in cls.needs)

    def add(self, columns: Sequence[Column]) -> None:
        """Store the columns; their weights start at 0."""
        self.restricted.add(columns)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses."""
        return self.restricted.bound(solution, priced)


class InexactTolerance:
    """The relative gap to which each round's restricted problem is solved (inexact column generation).

    Until the columns are good, their exact weights are not wanted: a share of what the last columns found can gain at
    most will do, and the run's own tolerance plays no part. So a run goes the same way to any tolerance.

    Parameters
    ----------
    penalty : Penalty
        Of the formulation; its conjugate says what columns can gain.
    tol : float
        The gap at which a solution counts as exact, above 0.
    share : float
        Of what columns can gain, in [0, 1); 0 for exact solutions in every round.

    Examples
    --------
    >>> from cvxens.problems.penalties import SquaredL2
    >>> InexactTolerance(SquaredL2(), 1e-9, 0.1).next(1)
    1e-09
    """

    def __init__(self, penalty: Penalty, tol: float, share: float) -> None:
        self.penalty = penalty
        self.tol = validation.positive("tol", tol)
        if not 0 <= validation.number("share", share) < 1:
            raise InvalidInput("share", f"found {share!r}", "give a number from 0 up to, but below, 1")
        self.share = share
        self.n_columns = 0
        self.gap = 0.0
        self.n_found = 0
        self.last = self.tol

    def next(self, n_columns: int) -> float:
        """Return the gap that is allowed now; asked again with nothing new, it is smaller."""
        new = n_columns - self.n_columns
        limit = FINE * self.last if new == 0 else FINE if new > self.n_found else COARSE
        self.n_columns, self.last = n_columns, max(self.tol, min(self.share * self.gap, limit))
        return self.last

    @property
    def is_exact(self) -> bool:
        """True if the last one was `tol`."""
        return self.last == self.tol

    def learn(self, solution: MasterSolution, priced: Priced) -> None:
        """Take in what the columns found under a solution can gain beyond its own gap."""
        edges = [column.edge for column in priced.columns]
        self.n_found = len(edges)
        gain = self.penalty.conjugate(Edges(priced.best_edge, sum(edge**2 for edge in edges)))
        self.gap = relative_gap(solution.objective, (1 - self.last) * solution.objective - gain)
