"""How far a restricted problem is solved: as far as the columns that were found last warrant."""

from __future__ import annotations

from cvxens import validation
from cvxens.colgen.protocols import MasterSolution, Priced, relative_gap
from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges
from cvxens.problems.penalties import Penalty

SHARE = 0.1
"""Of what new columns can gain; between 0.3 and 0.02 runs take about as long."""

COARSE = 1e-3
"""The largest gap: limits may end a run in any round, and then its weights are the last ones."""

FINE = 1e-4
"""The gap after columns that were not priced before, and the share of the last gap where nothing new has come."""


class Allowance:
    """The relative gap at which a master may leave its restricted problem.

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
    >>> Allowance(SquaredL2(), 1e-9, 0.1).of(1)
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

    def of(self, n_columns: int) -> float:
        """The gap that is allowed now; asked again with nothing new, it is smaller."""
        new = n_columns - self.n_columns
        limit = FINE * self.last if new == 0 else FINE if new > self.n_found else COARSE
        self.n_columns, self.last = n_columns, max(self.tol, min(self.share * self.gap, limit))
        return self.last

    @property
    def exact(self) -> bool:
        """Whether the last one was `tol`."""
        return self.last == self.tol

    def learn(self, solution: MasterSolution, priced: Priced) -> None:
        """Learn what the columns found under a solution can gain beyond its own gap."""
        edges = [column.edge for column in priced.columns]
        self.n_found = len(edges)
        gain = self.penalty.conjugate(Edges(priced.best_edge, sum(edge**2 for edge in edges)))
        self.gap = relative_gap(solution.objective, (1 - self.last) * solution.objective - gain)
