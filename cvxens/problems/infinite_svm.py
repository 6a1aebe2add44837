"""LL08 P5: the support vector machine over infinitely many hypotheses, on cells where they agree."""

from __future__ import annotations

from typing import Any, final

from cvxens.problems.losses import Hinge
from cvxens.problems.maps import ColumnsLike
from cvxens.problems.margin_problem import MarginProblem
from cvxens.problems.penalties import SquaredL2
from cvxens.problems.problem import Swept


@final
class InfiniteSVM(MarginProblem):
    """min 1/2 int w(a)^2 da + C sum xi subject to y_i (int w(a) r(a) h_a(x_i) da + b) >= 1 - xi_i, xi >= 0.

    LL08 P5, over the square-integrable functions w of the hypotheses' parameters a. Hypotheses that agree on the
    sample form a cell; an optimal w is constant on each, so P5 is P1 over one column ``r sqrt(volume) h`` per cell
    (LL08 Theorem 8), and the weight reported for a cell is ``w(a) sqrt(volume)``. For all stumps
    (`cvxens.kernels.Stump().cells(X)`) it equals P2 with the stump kernel. By LL08 Theorem 7
    ``w(a) / r(a) = sum_i u_i y_i h_a(x_i)`` (the printed theorem drops y_i).

    Parameters
    ----------
    cells : array-like of shape (n_samples, n_cells), or Columns
        One column ``r sqrt(volume) h`` per cell.
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    C : float
        Price of a unit of slack, above 0; may be set anew between solves.

    Examples
    --------
    >>> from cvxens.kernels import Stump
    >>> from cvxens.problems import SVMDual
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0]
    >>> infinite = InfiniteSVM(Stump().cells(X), y, C=1.0).solve()
    >>> dual = SVMDual(Stump()(X), y, C=1.0).solve()
    >>> abs(infinite.objective + dual.objective) < 1e-6
    True
    """

    equation = "min 1/2 int w^2 + C sum xi, y_i (int w r h(x_i) + b) >= 1 - xi_i, xi >= 0"
    source = "LL08 P5, Theorems 7 and 8"
    intercept = True
    C = Swept()

    def __init__(self, cells: ColumnsLike, y: Any, C: float) -> None:
        super().__init__(cells, y)
        self.C = C

    def loss(self, C: Any) -> Hinge:
        """The hinge loss."""
        return Hinge(C)

    def penalty(self) -> SquaredL2:
        """1/2 int w^2."""
        return SquaredL2()
