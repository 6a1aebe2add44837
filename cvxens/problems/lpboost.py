"""DBS02: LPBoost, the linear program of the soft minimum margin."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems.losses import SoftMinimumMargin, adds_up
from cvxens.problems.maps import ColumnsLike
from cvxens.problems.margin_problem import MarginProblem
from cvxens.problems.modelling import cp
from cvxens.problems.penalties import Simplex
from cvxens.problems.problem import Swept


@final
class LPBoost(MarginProblem):
    """max rho - D sum xi subject to M a + xi >= rho, sum a = 1, a >= 0, xi >= 0, with M = diag(y) H.

    DBS02, with D = 1/(nu n_samples). From any u with sum u = 1 and 0 <= u <= D the optimum is at most the largest
    edge. It is `SoftMarginBoosting` in other words: with U the optimal value of P4 and D = C/U the optimum is 1/U, and
    the weights of P4 are a/rho, unless P4 has w = 0.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_columns), or Columns
        H[i, j] = h_j(x_i).
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    D : float
        Price of a unit of slack, at least 1/n_samples; may be set anew between solves.

    Examples
    --------
    >>> problem = LPBoost([[1.0], [-1.0]], [1.0, -1.0], D=1.0)
    >>> solution = problem.solve()
    >>> round(solution.objective, 6), problem.certify(solution).holds(1e-6)
    (1.0, True)
    """

    equation = "max rho - D sum xi, M a + xi >= rho, sum a = 1, a >= 0, xi >= 0"
    source = "DBS02"
    arrays = ("a", "rho", "xi", "u")
    letters = ("a", "b", "u")
    aliases: ClassVar[Mapping[str, str]] = {"w": "a"}
    swept = ("D",)
    nonnegative = True
    maximise = True
    D = Swept()

    def __init__(self, H: ColumnsLike, y: Any, D: float) -> None:
        super().__init__(H, y)
        self.D = D

    def admit(self, name: str, value: float) -> float:
        """Refuse a D below 1/n_samples."""
        if not adds_up(np.full(len(self.y), value)):
            raise InvalidInput(
                name,
                f"found {value!r} with {len(self.y)} samples",
                "give at least 1/n_samples, or the problem is unbounded",
            )
        return value

    def loss(self, D: Any) -> SoftMinimumMargin:
        """Minus the soft minimum margin."""
        return SoftMinimumMargin(D)

    def penalty(self) -> Simplex:
        """Sum a = 1."""
        return Simplex()

    @cached_property
    def dual_problem(self) -> Any:
        """Min over sum u = 1, 0 <= u <= D of the largest edge, as a ``cvxpy.Problem``."""
        u, largest = cp.Variable(len(self.y), nonneg=True, name="u"), cp.Variable(name="largest_edge")
        edges = self.H.edges(np.diag(self.y)) @ u
        return cp.Problem(cp.Minimize(largest), [edges <= largest, cp.sum(u) == 1, u <= self._model.parameters["D"]])
