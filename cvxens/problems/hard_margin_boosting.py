"""LL08 P3: boosting with a hard margin, a linear program that may be infeasible."""

from __future__ import annotations

from typing import Any, final

from cvxens.problems.losses import HardMargin
from cvxens.problems.maps import ColumnsLike
from cvxens.problems.margin_problem import MarginProblem
from cvxens.problems.penalties import L1


@final
class HardMarginBoosting(MarginProblem):
    """min sum w subject to M w >= 1, w >= 0, with M = diag(y) H.

    LL08 P3. From any u >= 0 the optimum is at least ``sum u / max(1, max edge)``. Where the hypotheses do not
    separate the classes there is u >= 0, u != 0, without a positive edge, the Farkas vector, and `solve`
    raises `NotSeparable` with it.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_columns), or Columns
        H[i, j] = h_j(x_i).
    y : array-like of shape (n_samples,)
        Labels -1 and +1.

    Examples
    --------
    >>> problem = HardMarginBoosting([[1.0], [-1.0]], [1.0, -1.0])
    >>> round(problem.solve().objective, 6)
    1.0
    >>> HardMarginBoosting([[1.0], [1.0]], [1.0, -1.0]).solve()
    Traceback (most recent call last):
    cvxens.errors.NotSeparable: ...
    """

    equation = "min sum w, M w >= 1, w >= 0"
    source = "LL08 P3"
    arrays = ("w", "u")
    swept = ()
    nonnegative = True

    def __init__(self, H: ColumnsLike, y: Any) -> None:
        super().__init__(H, y)

    def loss(self) -> HardMargin:
        """Margins of at least 1."""
        return HardMargin()

    def penalty(self) -> L1:
        """Sum w."""
        return L1()
