"""LL08 P4: boosting with a soft margin, a linear program."""

from __future__ import annotations

from typing import Any, final

from cvxens.problems.losses import Hinge
from cvxens.problems.maps import ColumnsLike
from cvxens.problems.margin_problem import MarginProblem
from cvxens.problems.penalties import L1
from cvxens.problems.problem import Swept


@final
class SoftMarginBoosting(MarginProblem):
    """min sum w + C sum xi subject to M w >= 1 - xi, w >= 0, xi >= 0, with M = diag(y) H.

    LL08 P4 and SL (4). From any 0 <= u <= C the optimum is at least ``sum u / max(1, max edge)``; a solution is
    optimal when no edge exceeds 1. With U its optimal value and D = C/U, LPBoost has the optimal value 1/U
    (where w = 0 is not optimal).

    Parameters
    ----------
    H : array-like of shape (n_samples, n_columns), or Columns
        H[i, j] = h_j(x_i).
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    C : float
        Price of a unit of slack, above 0; may be set anew between solves.

    Examples
    --------
    >>> problem = SoftMarginBoosting([[1.0], [-1.0]], [1.0, -1.0], C=1.0)
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (1.0, True)
    """

    equation = "min sum w + C sum xi, M w >= 1 - xi, w >= 0, xi >= 0"
    source = "LL08 P4, SL (4)"
    arrays = ("w", "xi", "u")
    nonnegative = True
    C = Swept()

    def __init__(self, H: ColumnsLike, y: Any, C: float) -> None:
        super().__init__(H, y)
        self.C = C

    def loss(self, C: Any) -> Hinge:
        """The hinge loss."""
        return Hinge(C)

    def penalty(self) -> L1:
        """Sum w."""
        return L1()
