"""The fast master of smooth losses with a squared l2 penalty: Newton's method from the last weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from cvxens.colgen.masters.allowance import SHARE, Allowance
from cvxens.colgen.masters.smooth_newton import Iterate, SmoothProblem
from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Exponential, Logistic, SquaredHinge
from cvxens.problems.penalties import SquaredL2
from cvxens.types import Array

CURVATURES: Mapping[type, Callable[[Any, Array], Array]] = {
    Exponential: lambda _, u: u,
    Logistic: lambda C, u: u * (1 - u / C),
    SquaredHinge: lambda C, u: np.where(u > 0, C, 0.0),
}
"""phi'' of each loss C phi as a function of C and of u = -C phi'."""


class SmoothMaster:
    """Exponential, logistic or squared hinge loss with a squared l2 penalty, warm-started from the last weights.

    At u = -loss'(z) and the best intercept, Fenchel's equality holds between loss and conjugate, so the duality gap
    of the restricted problem is |weight w - edges|^2 / (2 weight) and Newton's method stops on it.

    Parameters
    ----------
    formulation : Formulation
        One of these losses with a squared l2 penalty and free w, with or without an intercept.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    tol : float
        Relative duality gap of the restricted problem, at which a solution is exact.
    share : float
        Of what the last columns found can gain, down to which the problem is solved otherwise; 0 for exact solutions
        in every round.
    """

    source = "KIE06 (14)"

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-11, share: float = SHARE) -> None:
        if not self.supports(formulation):
            raise InvalidInput(
                "master",
                f"found SmoothMaster for {formulation}",
                "give it Exponential, Logistic or SquaredHinge with SquaredL2 and free w; or use CvxpyMaster",
            )
        self.restricted = Restricted(formulation, y)
        self.allowance = Allowance(formulation.terms[1], tol, share)
        start = self.restricted.start()
        self.w, self.b = start.w, float(start.b)

    @staticmethod
    def supports(formulation: Formulation) -> bool:
        """Whether it is one of the smooth losses and a squared l2 penalty with free w."""
        loss, penalty = formulation.terms
        return type(loss) in CURVATURES and isinstance(penalty, SquaredL2) and not formulation.nonnegative

    def add(self, columns: Sequence[Column]) -> None:
        """Store the columns; their weights start at 0."""
        self.restricted.add(columns)

    def solve(self) -> MasterSolution:
        """Solve from the last round's weights, as far as the columns found last warrant."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        rows = self.restricted.H.T
        w = np.concatenate([self.w, np.zeros(len(rows) - len(self.w))])
        gap = self.allowance.of(len(rows))
        at = self._problem(rows).minimise(Iterate(w, self.b, w @ rows), lambda w, z, _: gap * self._value(w, z))
        self.w, self.b = at.w, at.b
        u = self.restricted.formulation.terms[0].multipliers(self.restricted.y * (at.f + at.b))
        solution = self.restricted.evaluate({"w": at.w, "b": np.asarray(at.b), "u": u})
        return replace(solution, exact=self.allowance.exact)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next solution is as good as the columns found warrant."""
        self.allowance.learn(solution, priced)
        return self.restricted.bound(solution, priced)

    def _problem(self, rows: Array) -> SmoothProblem:
        formulation = self.restricted.formulation
        loss, penalty = cast(tuple[Logistic, SquaredL2], formulation.terms)
        curvature, C = CURVATURES[type(loss)], loss.C
        return SmoothProblem(
            rows,
            self.restricted.y,
            penalty.weight,
            formulation.intercept,
            multipliers=loss.multipliers,
            curvature=lambda u: curvature(C, u),
        )

    def _value(self, w: Array, z: Array) -> float:
        loss, penalty = self.restricted.formulation.terms
        return loss.value(z) + penalty.value(w)
