"""Repairs of dual points: boxes, balances and capped simplices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from cvxens.types import Array


def _none() -> Array:
    return np.empty(0)


@dataclass(frozen=True)
class Edges:
    """What a dual bound needs to know of the edges of all hypotheses.

    Parameters
    ----------
    bound : float
        At least the largest edge.
    square_sum : float
        At least the sum of squared edges.
    inside : callable
        Evaluates the edges of some hypotheses: where w >= 0 with their signs, else their sizes.
    outside : float
        At least the largest edge of all others.
    """

    bound: float
    square_sum: float
    inside: Callable[[], Array] = _none
    outside: float = inf


def balance_classes(u: Array, y: Array) -> Array:
    """Scale down the multipliers of the heavier class until y'u = 0; 0 <= u stays 0 <= u and no u grows."""
    positive = y > 0
    plus, minus = u[positive].sum(), u[~positive].sum()
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


def capped_simplex(u: Array, cap: float | Array, total: float = 1.0) -> Array:
    """Project u onto {0 <= u <= cap, sum u = total}, which needs caps that add up to at least `total`.

    The projection is ``clip(u - t, 0, cap)``; its sum falls in t and is linear between the 2 n points at
    which an entry meets a bound, so t is found by bisection over those points and one interpolation. Where
    entries are too large for floats to resolve t, what is lacking is shared out.
    """
    caps = np.broadcast_to(cap, u.shape)
    if caps.sum() <= total:
        return caps * (total / caps.sum())
    knots = np.sort(np.concatenate([u, u - caps]))

    def mass(t: float) -> float:
        return float(np.clip(u - t, 0.0, caps).sum())

    low, high = 0, len(knots) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if mass(knots[middle]) >= total else (low, middle)
    above, below = mass(knots[low]), mass(knots[high])
    share = (above - total) / (above - below) if above > below else 0.0
    v = np.clip(u - (knots[low] + share * (knots[high] - knots[low])), 0.0, caps)
    lacking = total - float(v.sum())
    if lacking <= 0:
        return v * (total / v.sum())
    room = np.where(v > 0, caps - v, 0.0)
    room = room if room.sum() >= lacking else caps - v
    return v + room * (lacking / max(float(room.sum()), np.finfo(float).tiny))
