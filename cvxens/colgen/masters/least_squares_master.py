"""The fast master of simplex least squares: the closed form, its equations grown with the columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np

from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.deadline import Pace, TimeUp
from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import SquaredError
from cvxens.problems.penalties import SquaredL2
from cvxens.solvers.least_squares import ByColumns, BySamples
from cvxens.types import Array


class LeastSquaresMaster:
    """SL (10), all outputs at once, by equations of size min(n_columns, n_samples).

    By columns they are ``(G'G + weight/C I) W = G'L``, G the columns less their means, with a Cholesky factor that
    grows by the rows of the new columns; once there are more columns than samples, they are SL (11). The intercept is
    ``b = mean(L - H W)`` and ``U = C (L - H W - 1 b')``, so 1'U = 0 by construction. Prices C_i of the samples weigh
    means and squares.

    Parameters
    ----------
    formulation : Formulation
        Squared error with a squared l2 penalty and an intercept, of any number of outputs.
    y : ndarray of shape (n_samples, 1)
        A column of ones.
    """

    source = "SL (11)"

    def __init__(self, formulation: Formulation, y: Array) -> None:
        if not self.supports(formulation):
            raise InvalidInput(
                "master",
                f"found LeastSquaresMaster for {formulation}",
                "give it SquaredError + SquaredL2 with an intercept and free w; or use CvxpyMaster",
            )
        self.restricted = Restricted(formulation, y)
        self.pace = Pace()
        self.loss, self.penalty = cast(tuple[SquaredError, SquaredL2], formulation.terms)
        price = float(np.mean(self.loss.C))
        self.ridge, self.weights = self.penalty.weight / price, np.broadcast_to(self.loss.C / price, len(y))

    @cached_property
    def _by_columns(self) -> ByColumns:
        return ByColumns(self.loss.L, self.ridge, self.weights)

    @cached_property
    def _by_samples(self) -> BySamples:
        return BySamples(self.loss.L, self.ridge, self.weights)

    @staticmethod
    def supports(formulation: Formulation) -> bool:
        """Whether it is simplex least squares."""
        loss, penalty = formulation.terms
        fits = isinstance(loss, SquaredError) and isinstance(penalty, SquaredL2)
        return fits and formulation.intercept and not formulation.nonnegative

    def add(self, columns: Sequence[Column]) -> None:
        """Store the columns for the next round's equations."""
        self.restricted.add(columns)

    def solve(self) -> MasterSolution:
        """Grow the equations by the new columns and solve them, if that takes no longer than is left.

        Raises
        ------
        TimeUp
            The longest round so far took longer than what is left.
        """
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        if not self.pace.allows_step():
            raise TimeUp
        H = self.restricted.H
        W = (self._by_columns if H.shape[1] <= len(H) else self._by_samples).weights(H.T)
        scores = H @ W
        b = self.loss.best_intercept(scores, self.restricted.y)
        return self.restricted.evaluate({"w": W, "b": b, "u": self.loss.multipliers(scores + b)})

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses."""
        return self.restricted.bound(solution, priced)
