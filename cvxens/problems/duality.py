"""Dual points: repairs into boxes, balances and capped simplices, and what an intercept absorbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum, inf, prod

import numpy as np

from cvxens.types import Array


@dataclass(frozen=True)
class Edges:
    """Bounds on the edges of all hypotheses, as a dual bound needs them."""

    bound: float  # at least the largest edge
    square_sum: float  # at least the sum of squared edges
    inside: Callable[[], Array] = lambda: np.empty(0)  # the edges of some hypotheses: signed where w >= 0, else sizes
    outside: float = inf  # at least the largest edge of all others; -inf where there are none
    signed: Callable[[], tuple[Array, Array]] | None = None  # those inside with their signs, and what each is off by


def as_rows(values: Array) -> Array:
    """Return values of hypotheses over outputs, or one for each, as rows; there may be none."""
    return values.reshape(len(values), prod(values.shape[1:]))


def row_sizes(edges: Array, order: float = inf, one_sided: bool = False) -> Array:
    """Return the size of every hypothesis's edges: their norm over the outputs, shape (n_columns,).

    Where weights are one-sided, it is the most that nonnegative weights of norm 1 in the dual norm make of the edges.

    Examples
    --------
    >>> row_sizes(np.array([[3.0, -4.0]]), 2.0), row_sizes(np.array([[3.0, -4.0]])), row_sizes(np.array([3.0, -4.0]))
    (array([5.]), array([4.]), array([3., 4.]))
    >>> row_sizes(np.array([[3.0, -4.0], [-1.0, -2.0]]), 2.0, one_sided=True)
    array([ 3., -1.])
    """
    rows = as_rows(edges)
    counted = rows if one_sided else np.abs(rows)
    largest = counted.max(axis=1, initial=-inf)
    if order == inf:
        return largest
    return np.where(largest > 0, np.linalg.norm(np.maximum(counted, 0.0), order, axis=1), largest)


def balance_classes(u: Array, y: Array) -> Array:
    """Scale down the multipliers of the heavier sign of s = y u, of a class where u >= 0, until the sum of s is 0.

    None grows, and none changes its sign.
    """
    positive = y * u > 0
    plus, minus = np.abs(u[positive]).sum(), np.abs(u[~positive]).sum()
    light = min(plus, minus)
    with np.errstate(invalid="ignore", divide="ignore"):
        factors = np.nan_to_num(light / np.where(positive, plus, minus))
    return u * np.minimum(factors, 1.0)


def imbalance(u: Array, y: Array) -> float:
    """The largest |y'u| over the outputs, relative to the sum of |u|."""
    return float(np.abs((y * u).sum(axis=0)).max() / max(float(np.abs(u).sum()), np.finfo(float).tiny))


def clip_box(u: Array, upper: float | Array, y: Array | None) -> Array:
    """Clip u into [0, upper]; where labels `y` are given, restore y'u = 0 as well."""
    u = np.clip(u, 0.0, upper)
    return u if y is None else balance_classes(u, y)


def find_balance(pull: Callable[[float], float], kinks: Array) -> Array:
    """Return a b at which a nonincreasing function is 0: it is linear between its kinks, and constant beyond them.

    Examples
    --------
    >>> find_balance(lambda b: 1.0 - max(b, 0.0), np.array([0.0, 5.0]))
    array(1.)
    """
    knots = np.unique(kinks)
    low, high = 0, len(knots) - 1
    above, below = pull(knots[low]), pull(knots[high])
    while high - low > 1:
        middle = (low + high) // 2
        at = pull(knots[middle])
        (low, above), (high, below) = ((middle, at), (high, below)) if at > 0 else ((low, above), (middle, at))
    share = min(max(above / (above - below), 0.0), 1.0) if above > below else 0.0
    return np.asarray(knots[low] + share * (knots[high] - knots[low]))


def capped_simplex(u: Array, cap: float | Array, total: float = 1.0) -> Array:
    """Project u onto {0 <= u <= cap, sum u = total}, which needs caps that add up to at least `total`.

    The projection is ``clip(u - t, 0, cap)``; its sum falls in t and is linear between the 2 n points at which an entry
    meets a bound. Where entries are too large for floats to resolve t, what is lacking is shared out.
    """
    caps = np.broadcast_to(cap, u.shape)
    if caps.sum() <= total:
        return caps * (total / caps.sum())
    t = find_balance(lambda t: float(np.clip(u - t, 0.0, caps).sum()) - total, np.concatenate([u, u - caps]))
    v = np.clip(u - t, 0.0, caps)
    lacking = total - float(v.sum())
    if lacking <= 0:
        return v * (total / v.sum())
    room = np.where(v > 0, caps - v, 0.0)
    room = room if room.sum() >= lacking else caps - v
    return v + room * (lacking / max(float(room.sum()), np.finfo(float).tiny))


def centres(rows: Array) -> Array:
    """Return what to take off each row (n_rows, n_samples): the middle of its range where that is far from 0, else 0.

    Examples
    --------
    >>> centres(np.array([[1e6, 1e6 + 2], [-1.0, 1.0], [0.0, 1.0]]))
    array([1000001.,       0.,       0.])
    """
    low, high = rows.min(axis=1), rows.max(axis=1)
    middle = low / 2 + high / 2
    # a column is shifted if its middle is further from 0 than so many times its range, and loses a digit or more to it.
    # Columns with values on both sides of 0, such as stumps, and indicators stay what they are, to the last bit
    return np.where(np.abs(middle) > 4.0 * (high - low), middle, 0.0)


def edges_of(rows: Array, s: Array) -> Array:
    """Evaluate ``sum_i s_i h_i`` for columns as rows, output by output, without losing what a constant in one cancels.

    Examples
    --------
    >>> edges_of(np.array([[1e16, 1e16 + 2], [1.0, 2.0]]), np.array([-0.5, 0.5]))
    array([1. , 0.5])
    """
    found, middles = rows @ s, centres(rows)
    for j in np.flatnonzero(middles).tolist():
        totals = np.reshape([*map(fsum, s.reshape(len(s), -1).T.tolist())], s.shape[1:])
        found[j] = (rows[j] - middles[j]) @ s + middles[j] * totals
    return found


def balance_exactly(u: Array, y: Array) -> Array:
    """Make ``y'u = 0`` hold in real numbers, output by output: u is rounded towards 0 to a grid and a few units go.

    On a grid of ``2**-52`` of the sum of the sizes every sum of entries is a float, in any order; so no size grows, and
    none falls by more than its share of the imbalance and three units of the grid.

    Examples
    --------
    >>> y = np.array([1.0, 1.0, 1.0, -1.0])
    >>> u = balance_exactly(np.array([0.1, 0.2, 0.3, 0.6]), y)
    >>> 0.1 + 0.2 + 0.3 == 0.6, float(y @ u), bool(np.abs(u - [0.1, 0.2, 0.3, 0.6]).max() < 1e-15)
    (False, 0.0, True)
    """
    if u.ndim > 1:
        return np.column_stack([balance_exactly(of_output, y[:, 0]) for of_output in u.T])
    s = y * u
    size = float(np.abs(s).sum())
    if not 0 < size < np.inf:
        return u
    _, exponent = np.frexp(size)
    units = np.trunc(np.ldexp(s, 52 - exponent)).astype(np.int64)
    excess = int(units.sum())
    heavy = np.flatnonzero(units * np.sign(excess) > 0)
    room, left = np.abs(units[heavy]), abs(excess)
    # the heavy side has `excess` units more than the other one, so there is room for all that goes
    while left:
        taken = np.floor(room * (left / int(room.sum()) * (1 - 2.0**-40))).astype(np.int64)
        if not taken.any():
            taken[np.argsort(-room, kind="stable")[:left]] = 1
        room, left = room - taken, left - int(taken.sum())
    units[heavy] = np.sign(excess) * room
    return y * np.ldexp(units.astype(np.float64), exponent - 52)


def edge_rounding(n_samples: int, largest: float) -> float:
    """Bound the computed edges, under sample weights with sum 1, that may be 0 but for rounding.

    An inner product with them is off by at most ``(n + 2) eps / 2`` of the `largest` |H_ij|; weights that a solver
    found are off by as much.
    """
    return 4 * (n_samples + 2) * float(np.finfo(float).eps) * largest
