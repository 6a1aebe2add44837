"""The proof that hypotheses do not separate two classes."""

from __future__ import annotations

import numpy as np

from cvxens.errors import NotSeparable
from cvxens.problems.columns import Columns
from cvxens.problems.duality import balance_classes
from cvxens.problems.modelling import Model, cp
from cvxens.problems.offsets import balance_exactly
from cvxens.problems.solving import solve_model
from cvxens.types import Array

NEAR = 1e-6
"""The size of edges and of sample weights, relative to the largest of theirs, that a solver may take for 0."""


def edge_rounding(n_samples: int, largest: float) -> float:
    """Bound the computed edges, under sample weights with sum 1, that may be 0 but for rounding.

    An inner product with them is off by at most ``(n + 2) eps / 2`` of the `largest` |H_ij|; weights that a solver
    found are off by as much.
    """
    return 4 * (n_samples + 2) * float(np.finfo(float).eps) * largest


def not_separable(H: Columns, y: Array, intercept: bool, nonnegative: bool) -> NotSeparable | None:
    """Find the Farkas vector of margins of at least 1, or None where they can be reached.

    The largest margin of weights with ``sum |w| <= 1`` equals the least largest edge of sample weights u with sum 1;
    at 0 the multipliers u of the margins are the proof. A solver finds them to its digits only. So they are moved to
    where the edges that it takes for 0 are, and are a proof if no edge is above 0 by more than rounding.
    """
    w = cp.Variable(H.shape[1], nonneg=nonnegative)
    b, z, rho = cp.Variable(), cp.Variable(len(y)), cp.Variable()
    f, tied = H.link(w / max(H.largest, np.finfo(float).tiny))
    link = z == cp.multiply(y, f + b if intercept else f)
    size = cp.sum(w) if nonnegative else cp.norm1(w)
    game = cp.Problem(cp.Maximize(rho), [link, *tied, z >= rho, size <= 1])
    u = np.maximum(solve_model(Model(game, {}, {"u": (link, 1.0)}), None, {}).duals["u"], 0)

    def signed_edges(u: Array) -> Array:
        edges = H.edges(y * u)
        return edges if nonnegative else np.abs(edges)

    for candidate in (u, _polished(H, y, u, intercept, nonnegative)):
        balanced = balance_exactly(balance_classes(candidate, y), y) if intercept else candidate
        if not balanced.any():
            continue
        farkas = balanced / balanced.sum()
        max_edge = float(signed_edges(farkas).max())
        if max_edge <= edge_rounding(len(y), H.largest):
            return NotSeparable(farkas, max_edge)
    return None


def _polished(H: Columns, y: Array, u: Array, intercept: bool, nonnegative: bool) -> Array:
    """The nearest weights, on the samples that u is on, under which the edges near 0 are 0."""
    kept = np.flatnonzero(u > NEAR * u.max())
    signs = np.zeros((len(y), len(kept)))
    signs[kept, np.arange(len(kept))] = y[kept]
    edges = H.edges(signs)
    tight = edges @ u[kept] > -NEAR * H.largest * u.sum() if nonnegative else np.full(len(edges), True)
    equations = np.vstack([edges[tight], *([y[kept]] if intercept else [])])
    polished = np.zeros_like(u)
    step = np.linalg.lstsq(equations, equations @ u[kept])[0]
    polished[kept] = np.maximum(u[kept] - step, 0.0)
    return polished
