"""The fast master of CGEns: hinge loss and a squared l2 penalty, by proximal steps of Newton's method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from cvxens import validation
from cvxens.colgen.masters.allowance import SHARE, Allowance
from cvxens.colgen.masters.proximal_hinge import HingePoint, ProximalHinge
from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import SquaredL2
from cvxens.types import Array


class HingeMaster:
    """LL08 P1, SL (1) over the columns found so far, warm-started from the last round's multipliers and weights.

    `ProximalHinge` solves it. Dual coordinate descent, as in liblinear, needs many passes over the samples where C is
    large; the proximal steps are Newton's, exact in the intercept, and cost a few products with H each. The two are
    timed side by side in `benchmarks/hinge_masters.py`.

    Parameters
    ----------
    formulation : Formulation
        Hinge loss with a squared l2 penalty and free w, with or without an intercept.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    tol : float
        Relative duality gap of the restricted problem, recomputed, at which a solution is exact.
    share : float
        Of what the last columns found can gain, down to which the problem is solved otherwise; 0 for exact solutions
        in every round.
    """

    source = "SL (1)"

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-9, share: float = SHARE) -> None:
        if not self.supports(formulation):
            raise InvalidInput(
                "master",
                f"found HingeMaster for {formulation}",
                "give it Hinge + SquaredL2 with free w; or use CvxpyMaster",
            )
        self.restricted = Restricted(formulation, y)
        loss, penalty = cast(tuple[Hinge, SquaredL2], formulation.terms)
        self.allowance = Allowance(penalty, tol, share)
        self.solver = ProximalHinge(y, np.full(len(y), loss.C), penalty.weight, formulation.intercept, tol)
        self.point = HingePoint.zero(len(y))

    @staticmethod
    def supports(formulation: Formulation) -> bool:
        """Whether it is hinge loss and a squared l2 penalty with free w."""
        loss, penalty = formulation.terms
        return isinstance(loss, Hinge) and isinstance(penalty, SquaredL2) and not formulation.nonnegative

    def add(self, columns: Sequence[Column]) -> None:
        """Store the columns; their weights start at 0."""
        self.restricted.add(columns)

    def solve(self) -> MasterSolution:
        """Solve from the last round's point, as far as the columns found last warrant."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        solver = replace(self.solver, tol=self.allowance.of(self.restricted.n_columns))
        self.point = solver.solve(self.restricted.H.T, self.point)
        solution = self.restricted.evaluate({"w": self.point.w, "b": np.asarray(self.point.b), "u": self.point.u})
        return replace(solution, exact=self.allowance.exact)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next solution is as good as the columns found warrant."""
        self.allowance.learn(solution, priced)
        return self.restricted.bound(solution, priced)


def hinge_path(H: Any, y: Any, C: Sequence[float], *, tol: float = 1e-9) -> Iterator[HingePoint]:
    """Solve LL08 P1 over fixed columns for one C after the other, each from the solution of the one before.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_columns)
        H[i, j] = h_j(x_i).
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    C : sequence of float
        Prices of a unit of slack, above 0, in the order in which to solve; neighbours should be close.
    tol : float
        Relative duality gap at which to stop.

    Yields
    ------
    HingePoint
        Weights, intercept and multipliers, with both objectives recomputed.

    Examples
    --------
    >>> H, y = np.array([[1.0], [-1.0]]), [1.0, -1.0]
    >>> [round(point.primal, 6) for point in hinge_path(H, y, [0.25, 1.0])]
    [0.375, 0.5]
    """
    H, y = validation.finite_array("H", H, ndim=2), validation.signs(y)
    validation.same_length("y", y, len(H))
    rows, point, last = np.ascontiguousarray(H.T), HingePoint.zero(len(y)), 0.0
    for price in validation.finite_array("C", C, ndim=1).tolist():
        prices = np.full(len(y), validation.positive("C", price))
        solver = ProximalHinge(y, prices, 1.0, True, validation.positive("tol", tol))
        # a multiplier at the old bound starts at the new one
        u = np.where(point.u < last * (1 - 1e-12), np.minimum(point.u, price), price)
        point, last = solver.solve(rows, replace(point, u=u) if last else point), price
        yield point
