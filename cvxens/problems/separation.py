"""The proof that hypotheses do not separate two classes."""

from __future__ import annotations

import numpy as np

from cvxens.errors import NotSeparable
from cvxens.problems.columns import Columns
from cvxens.problems.duality import balance_classes
from cvxens.problems.modelling import Model, cp
from cvxens.problems.solving import solve_model
from cvxens.types import Array

SEPARATED = 1e-7
"""A margin per unit of weight, relative to the largest |H_ij|, up to which hypotheses do not separate the classes."""


def not_separable(H: Columns, y: Array, intercept: bool, nonnegative: bool) -> NotSeparable | None:
    """Find the Farkas vector of margins of at least 1, or None where they can be reached.

    The largest margin of weights with ``sum |w| <= 1`` equals the least largest edge of sample weights u with sum 1;
    at 0 the multipliers u of the margins are the proof.
    """
    w = cp.Variable(H.shape[1], nonneg=nonnegative)
    b, z, rho = cp.Variable(), cp.Variable(len(y)), cp.Variable()
    f, tied = H.link(w / max(H.largest, np.finfo(float).tiny))
    link = z == cp.multiply(y, f + b if intercept else f)
    size = cp.sum(w) if nonnegative else cp.norm1(w)
    game = cp.Problem(cp.Maximize(rho), [link, *tied, z >= rho, size <= 1])
    u = np.maximum(solve_model(Model(game, {}, {"u": (link, 1.0)}), None, {}).duals["u"], 0)
    u = balance_classes(u, y) if intercept else u
    u = u / u.sum()
    edges = H.edges(y * u)
    max_edge = float(edges.max() if nonnegative else np.abs(edges).max())
    return NotSeparable(u, max_edge) if max_edge <= SEPARATED * H.largest else None
