"""Offsets: what an intercept absorbs is taken off before anything is multiplied, so that no digits are lost to it.

Where there is an intercept b, ``H w + b = (H - 1 c') w + (b + c'w)`` for any centres c, and sample weights are
balanced, ``sum s = 0``, so ``H's = (H - 1 c')'s``. In floats the left sides lose the digits that c takes, the right
sides do not.
"""

from __future__ import annotations

from math import fsum

import numpy as np

from cvxens.types import Array

FAR = 4.0
"""A column is shifted if its middle is further from 0 than so many times its range, and loses a digit or more to it.

Columns with values on both sides of 0, such as stumps, and indicators stay what they are, to the last bit.
"""


def centres(rows: Array) -> Array:
    """Return what to take off each row (n_rows, n_samples): the middle of its range where that is far from 0, else 0.

    Examples
    --------
    >>> centres(np.array([[1e6, 1e6 + 2], [-1.0, 1.0], [0.0, 1.0]]))
    array([1000001.,       0.,       0.])
    """
    low, high = rows.min(axis=1), rows.max(axis=1)
    middle = low / 2 + high / 2
    return np.where(np.abs(middle) > FAR * (high - low), middle, 0.0)


def edge_of(values: Array, s: Array) -> Array:
    """Evaluate ``sum_i s_i h_i`` for one column, output by output, without losing what a constant in it cancels.

    Examples
    --------
    >>> edge_of(np.array([1e16, 1e16 + 2]), np.array([-0.5, 0.5]))
    array(1.)
    """
    centre = float(centres(values[np.newaxis])[0])
    if centre == 0.0:
        return np.asarray(values @ s)
    totals = [fsum(of_output) for of_output in s.reshape(len(s), -1).T.tolist()]
    return np.asarray((values - centre) @ s + centre * np.reshape(totals, s.shape[1:]))


def balance_exactly(u: Array, y: Array) -> Array:
    """Make ``y'u = 0`` hold in real numbers, output by output: u is rounded towards 0 to a grid and a few units go.

    On a grid of ``2**-52`` of the sum of the sizes every sum of entries is a float, in any order; so no size grows, and
    none falls by more than its share of the imbalance and three units of the grid.

    Parameters
    ----------
    u : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Multipliers, balanced but for rounding.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Signs -1 and +1.

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
