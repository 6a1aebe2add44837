"""The master of sums of norms: where to price first, from the dual problem over all balls at once.

Over atoms of ellipsoids column generation is Kelley's method, which rounds them off by planes. Under a smooth loss that
is fast, as a few atoms for each ball suffice; under a piecewise linear one, whose multipliers stand at vertices, the
gap was 20 % after 300 rounds on 150 samples and 20 kernels. So the dual over the balls themselves is solved first.
Whatever that is worth, its multipliers are priced as any others are: their bound is a proof, and the best atoms under
them, of which a master makes an ensemble, are those of the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cvxens.colgen.masters.linear_masters import HighsMaster
from cvxens.colgen.protocols import MasterSolution
from cvxens.colgen.restricted import Needs
from cvxens.problems.formulation import Formulation
from cvxens.problems.linear_dual import LinearDual
from cvxens.solvers.ball_dual import BallDual
from cvxens.types import Array


class BallMaster(HighsMaster):
    """A master over atoms whose first multipliers are those of the optimum over all balls.

    Parameters
    ----------
    formulation : Formulation
        A loss of hinges whose dual value is linear in u, such as the hinge or absolute errors, with an l1 penalty of
        free weights.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    grams : sequence of ndarray of shape (n_samples, n_samples)
        The PSD matrices G_m with which the largest edge of a ball under s is ``sqrt(s'G_m s)``, as oracles have.
    """

    source = "Boyd & Vandenberghe 2004"
    needs = (Needs("linear_dual", "edge_limit", nonnegative=False),)

    def __init__(self, formulation: Formulation, y: Array, grams: Sequence[Array]) -> None:
        super().__init__(formulation, y)
        self.grams: Sequence[Array] | None = grams

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        """Return True if the dual over balls is that of a linear function in a box."""
        return super().supports(formulation) and _read_box(formulation.terms[0]) is not None

    def solve(self) -> MasterSolution:
        """Solve over the atoms; the first time with the multipliers of the optimum over the balls."""
        solution, grams, self.grams = super().solve(), self.grams, None
        if grams is None:
            return solution
        y, intercept, limit = self.restricted.y, self.restricted.formulation.intercept, self.penalty.edge_limit
        box = _read_box(self.loss)
        assert box is not None
        targets, lower, upper = (np.broadcast_to(np.asarray(part, np.float64), y.shape) for part in box)
        u = BallDual(targets, lower, upper, y, intercept, grams, limit).solve()
        u = self.restricted.balance(self.loss.repair(u, y if intercept else None))
        # in the optimum the atoms of the first round are at the limit on edges
        return replace(solution, u=u, s=y * u, threshold=0.99 * limit, exact=False, edges=None)


def _read_box(loss: Any) -> tuple[Any, Any, Any] | None:
    """Return (targets, lower, upper) of a dual value ``targets'u`` on a box; None where it is none."""
    dual: LinearDual = loss.linear_dual
    first, *others = sorted(dual.hinges, key=lambda part: -part.sign)
    if (
        not dual.is_separable
        or first.sign < 0
        or len(others) > 1
        or any(not np.array_equal(part.knots, first.knots) for part in others)
    ):
        return None
    return first.knots, -others[0].prices if others else 0.0, first.prices
