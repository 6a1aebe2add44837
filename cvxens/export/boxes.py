"""The ranges of values that the kernel of a model takes."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from cvxens.kernels import DecisionStump, HistogramIntersection, Stump
from cvxens.kernels.kernel import Scaled, Sum
from cvxens.types import Array

LARGEST = float(np.finfo(float).max)


def everywhere(n_features: int) -> Array:
    """All finite numbers, shape (2, n_features).

    Examples
    --------
    >>> everywhere(1)
    array([[-1.79769313e+308],
           [ 1.79769313e+308]])
    """
    return np.outer([-LARGEST, LARGEST], np.ones(n_features))


@singledispatch
def box_of(_kernel: Any, n_features: int) -> Array:
    """The lowest and highest value of each feature that an additive kernel was given, shape (2, n_features)."""
    return everywhere(n_features)


@box_of.register(Stump)
@box_of.register(DecisionStump)
def _(kernel: Any, n_features: int) -> Array:
    return _given(kernel.low, kernel.high, n_features)


@box_of.register
def _(kernel: HistogramIntersection, n_features: int) -> Array:
    return _given(np.zeros(n_features), kernel.high, n_features)


@box_of.register
def _(kernel: Sum, n_features: int) -> Array:
    lows, highs = zip(*(box_of(part, n_features) for part in kernel.parts), strict=True)
    return np.stack([np.max(lows, axis=0), np.min(highs, axis=0)])


@box_of.register
def _(kernel: Scaled, n_features: int) -> Array:
    return box_of(kernel.kernel, n_features)


def _given(low: Any, high: Any, n_features: int) -> Array:
    box = everywhere(n_features)
    for row, end in zip(box, (low, high), strict=True):
        row[:] = row if end is None else end
    return box
