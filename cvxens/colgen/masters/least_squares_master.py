"""The fast master of simplex least squares: the closed form, its equations grown with the columns."""

from __future__ import annotations

import numpy as np

from cvxens.colgen.protocols import MasterSolution
from cvxens.colgen.restricted import FastMaster, Needs
from cvxens.deadline import Pace, TimeUp
from cvxens.problems.formulation import Formulation
from cvxens.solvers.least_squares import ByColumns, BySamples
from cvxens.types import Array


class LeastSquaresMaster(FastMaster):
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
    needs = (Needs("targets", "ridge", nonnegative=False, intercept=True),)

    def __init__(self, formulation: Formulation, y: Array) -> None:
        super().__init__(formulation, y)
        self.pace = Pace()
        # prices with the mean 1: 1/2 sum_i v_i |r_i|^2 + ridge/2 |W|^2
        price = float(np.mean(self.loss.prices))
        problem = self.loss.targets, self.penalty.ridge / price, np.full(len(y), self.loss.prices.ravel() / price)
        self.by_columns, self.by_samples = ByColumns(*problem), BySamples(*problem)

    def solve(self) -> MasterSolution:
        """Grow the equations by the new columns and solve them; a TimeUp where that may take longer than is left."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        if not self.pace.allows_step():
            raise TimeUp
        H = self.restricted.H
        W = (self.by_columns if H.shape[1] <= len(H) else self.by_samples).weights(H.T)
        scores = H @ W
        b = self.loss.best_intercept(scores, self.restricted.y)
        return self.restricted.evaluate({"w": W, "b": b, "u": self.loss.multipliers(scores + b)})
