"""Several quantiles at once, which do not cross on the sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.problems.modelling import cp
from cvxens.problems.penalties import L1
from cvxens.types import Array


def quantiles_that_do_not_cross(t: Array, levels: Any, prices: Array) -> Formulation:
    """Return the sum of the pinball losses of scores (n_samples, n_quantiles), which ascend, with an l1 penalty."""
    q = validation.finite_array("quantile", levels, ndim=1)
    if q.min() <= 0 or q.max() >= 1 or (np.diff(q) <= 0).any():
        raise InvalidInput("quantile", f"found {levels!r:.100}", "give ascending levels above 0 and below 1")
    T = np.repeat(t[:, np.newaxis], len(q), axis=1)
    below, above = prices[:, np.newaxis] * q, prices[:, np.newaxis] * (1 - q)

    def loss(F: Any) -> Any:
        return cp.sum(cp.multiply(below, cp.pos(T - F)) + cp.multiply(above, cp.pos(F - T)))

    def ascend(F: Any) -> list[Any]:
        return [F[:, :-1] <= F[:, 1:]] if len(q) > 1 else []

    return Formulation(loss, L1(), intercept=True, outputs=len(q), constraints=ascend)
