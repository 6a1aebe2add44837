"""The fast master of simplex least squares: the closed form over a growing Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cvxens.colgen.formulation import Formulation
from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.problems.losses import SquaredError
from cvxens.problems.penalties import SquaredL2
from cvxens.types import Array


class LeastSquaresMaster:
    """SL (10) by the normal equations ``(G'G + weight/C I) W = G'L``, G the columns less their means.

    The intercept is ``b = mean(L - H W)`` and ``U = C (L - H W - 1 b')``, so 1'U = 0 by construction. Only the rows
    of the Gram matrix that belong to new columns are computed in a round.

    Parameters
    ----------
    formulation : Formulation
        Squared error with a squared l2 penalty and an intercept, of any number of outputs.
    y : ndarray of shape (n_samples, 1)
        A column of ones.
    """

    def __init__(self, formulation: Formulation, y: Array) -> None:
        if not self.supports(formulation):
            raise InvalidInput(
                "master",
                f"found LeastSquaresMaster for {formulation}",
                "give it SquaredError + SquaredL2 with an intercept and free w; or use CvxpyMaster",
            )
        self.restricted = Restricted(formulation, y)
        self.loss, self.penalty = cast(tuple[SquaredError, SquaredL2], formulation.terms)
        self.gram = np.empty((0, 0))

    @staticmethod
    def supports(formulation: Formulation) -> bool:
        """Whether it is simplex least squares."""
        loss, penalty = formulation.terms
        fits = isinstance(loss, SquaredError) and isinstance(penalty, SquaredL2)
        return fits and formulation.intercept and not formulation.nonnegative

    def add(self, columns: Sequence[Column]) -> None:
        """Grow the Gram matrix by the products with the new columns."""
        known = self.restricted.n_columns
        added = self.restricted.add(columns)
        products = (added - added.mean(axis=1)[:, None]) @ self.restricted.H
        self.gram = np.block([[self.gram, products[:, :known].T], [products]])

    def solve(self) -> MasterSolution:
        """Solve the normal equations by Cholesky."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        H, L, C = self.restricted.H, self.loss.L, self.loss.C
        ridge = self.penalty.weight / C * np.eye(len(self.gram))
        W = cho_solve(cho_factor(self.gram + ridge), H.T @ (L - L.mean(axis=0)))
        errors = L - H @ W
        b = errors.mean(axis=0)
        return self.restricted.evaluate({"w": W, "b": b, "u": C * (errors - b)})

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses."""
        return self.restricted.bound(solution, priced)
