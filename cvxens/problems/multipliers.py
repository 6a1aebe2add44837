"""Multipliers for weights that came without: those of -loss'(z) that suit the weights best where the loss has kinks.

Away from its kinks a loss has one slope at every margin. At a kink, as at the margin 1 of a hinge, it has an interval
of them, and at an optimum the right ones balance the intercept and bring every edge to where the penalty's slope at its
weight is. So they are the least squares of a small system: an unknown for every sample at a kink, and a row for every
weight that is not 0, for every edge that would exceed its limit, and for every sum that is prescribed. What such slopes
do not say, `Problem` asks a solver for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import qr
from scipy.optimize import lsq_linear

from cvxens.types import Array

SOLVABLE = 200_000
"""Entries of H up to which a solver finds multipliers where slopes leave a gap, within a second."""


def fit_slopes(
    multipliers: tuple[Array, Array],
    slopes: tuple[Array, Array],
    price: Callable[[Array], Array],
    sums: Sequence[tuple[Array, float]] = (),
    level: bool = False,
) -> Array:
    """Return multipliers within their limits under which the edges are as near as possible to theirs.

    Parameters
    ----------
    multipliers : pair of ndarray of shape (n_samples,)
        The least and the largest multiplier of every sample; equal where the loss has one slope.
    slopes : pair of ndarray of shape (n_weights,)
        The least and the largest slope of the penalty at every weight, within which its edge should be.
    price : callable
        Returns the edges (n_weights, k) of k vectors of multipliers (n_samples, k).
    sums : sequence of (ndarray of shape (n_samples,), float)
        Vectors a and numbers t with a'u = t.
    level : bool
        Whether slopes are relative to a number that is free, as those of weights on a simplex are.
    """
    (low, high), (least, largest) = multipliers, slopes
    tied = np.flatnonzero(low < high)
    u = np.where(np.isfinite(high), (low + high) / 2, low)
    # samples at kinks up to which the system is solved; with more of them the slopes stay in the middle
    if not 0 < tied.size <= 1000:
        return u
    u[tied] = 0.0
    unit = np.zeros((len(u), len(tied)))
    unit[tied, np.arange(len(tied))] = 1.0
    # the edges are E x + e for the multipliers x at kinks, and so are the sums
    E, e = price(unit), price(u[:, np.newaxis])[:, 0]
    size = float(np.abs(E).max(initial=0.0)) or 1.0
    A = np.array([size * a[tied] for a, _ in sums]).reshape(len(sums), len(tied))
    d = np.array([size * (total - a @ u) for a, total in sums])
    rows = np.flatnonzero(least == largest)
    # how often edges that exceed their limits are added, up to 50 at a time
    for _ in range(20):
        wide = rows[least[rows] < largest[rows]]
        # E x - t = slope - e, where the slope of a row with limits is one more unknown, and t is 0 unless it is free
        free = np.zeros((len(rows), len(wide)))
        free[np.flatnonzero(least[rows] < largest[rows]), np.arange(len(wide))] = -1.0
        M = np.hstack([E[rows], free, np.full((len(rows), int(level)), -1.0)])
        M = np.vstack([M, np.hstack([A, np.zeros((len(A), M.shape[1] - len(tied)))])])
        target = np.concatenate([np.where(least[rows] < largest[rows], 0.0, least[rows]) - e[rows], d])
        lower = np.concatenate([low[tied], least[wide], np.full(int(level), -np.inf)])
        upper = np.concatenate([high[tied], largest[wide], np.full(int(level), np.inf)])
        x = _least_squares(M, target, (lower, upper))
        u[tied] = x[: len(tied)]
        edges = E @ u[tied] + e - (x[-1] if level else 0.0)
        off = np.maximum(edges - largest, least - edges)
        off[rows] = -np.inf
        worst = np.argsort(-off)[:50]
        # by how much an edge exceeds its limit, relative to the largest of all, before it is added
        worst = worst[off[worst] > 1e-10 * float(np.abs(edges).max())]
        if not worst.size:
            break
        rows = np.concatenate([rows, worst])
    return u


def _least_squares(M: Array, target: Array, ends: tuple[Array, Array]) -> Array:
    """Return the x within `ends` that minimises ``|M x - target|``."""
    if not M.size:
        return np.where(np.isfinite(ends[0]), ends[0], 0.0)
    if len(M) > M.shape[1]:
        # |M x - target| = |R x - Q'target| and a constant
        Q, R = qr(M, mode="economic")
        M, target = R, Q.T @ target
    # unknowns up to which an active-set method is used, which is exact; it changes the set one by one
    return np.asarray(lsq_linear(M, target, ends, method="bvls" if M.shape[1] <= 300 else "trf").x)
