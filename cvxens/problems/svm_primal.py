"""LL08 P1: the support vector machine over a matrix of hypotheses."""

from __future__ import annotations

from typing import Any, final

from cvxens.problems.losses import Hinge
from cvxens.problems.maps import ColumnsLike
from cvxens.problems.margin_problem import MarginProblem
from cvxens.problems.penalties import SquaredL2
from cvxens.problems.problem import Swept


@final
class SVMPrimal(MarginProblem):
    """min 1/2 w'w + C sum xi subject to y_i (H_i w + b) >= 1 - xi_i, xi >= 0.

    LL08 P1 and SL (1). From any 0 <= u <= C with y'u = 0 the optimum is at least
    ``sum u - 1/2 |H'(y u)|^2``; at the optimum w_j is the edge of h_j for every j, so a hypothesis outside has edge 0.

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
    >>> problem = SVMPrimal([[1.0], [-1.0]], [1.0, -1.0], C=1.0)
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (0.5, True)
    """

    equation = "min 1/2 w'w + C sum xi, y_i (H_i w + b) >= 1 - xi_i, xi >= 0"
    source = "LL08 P1, SL (1)"
    intercept = True
    C = Swept()

    def __init__(self, H: ColumnsLike, y: Any, C: float) -> None:
        super().__init__(H, y)
        self.C = C

    def loss(self, C: Any) -> Hinge:
        """The hinge loss."""
        return Hinge(C)

    def penalty(self) -> SquaredL2:
        """1/2 w'w."""
        return SquaredL2()
