"""Functions of single features, where the kernel of an expansion is a sum over features."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from cvxens.estimators.machines.kernels import additive_scale
from cvxens.kernels import HistogramIntersection, MiddleStump
from cvxens.types import Array

Shape: TypeAlias = tuple[Array, Array]
"""Ascending knots and the values there: linear in between, constant beyond; where two knots are one, a jump."""


@singledispatch
def shapes_of(kernel: Any, box: Array | None, vectors: Array, coefficients: Array) -> list[Shape]:
    """Split f(x) = sum_j c_j k(x, x_j) into g_d with f(x) = sum_d g_d(x_d).

    Parameters
    ----------
    kernel : callable
        With ranges, where it has any.
    box : ndarray of shape (2, n_features) or None
        Where f is constant beyond; None for kernels that were given their ranges.
    vectors : ndarray of shape (n_vectors, n_features)
        The x_j.
    coefficients : ndarray of shape (n_vectors,)
        The c_j.

    Raises
    ------
    AttributeError
        The kernel is no sum over features, or was given ranges, beyond which f is not known.

    Examples
    --------
    >>> from cvxens.kernels import Stump
    >>> box = np.array([[0.0], [2.0]])
    >>> shapes_of(Stump(*box), box, box, np.array([-1.0, 1.0]))
    [(array([0., 2.]), array([-2.,  2.]))]
    """
    scale = additive_scale(kernel, vectors)
    if scale is None or box is None:
        found = "is no sum over features; those of stumps are" if scale is None else "was given ranges; leave them open"
        raise AttributeError(f"shape_functions_: the kernel {kernel!r} {found}")
    shapes = [
        _broken_line(np.append(ends, x), x, weight * coefficients)
        for ends, x, weight in zip(box.T, vectors.T, scale, strict=True)
    ]
    # what the kernel has beside the distances is the same everywhere: all features share it
    there = sum(float(np.interp(at, *shape)) for at, shape in zip(vectors[0], shapes, strict=True))
    rest = (float(kernel(vectors[:1], vectors)[0] @ coefficients) - there) / len(shapes)
    return [(knots, values + rest) for knots, values in shapes]


def _broken_line(places: Array, x: Array, weights: Array) -> Shape:
    """The function -sum_j weights_j |t - x_j| between the first and the last of the places."""
    knots = np.unique(places)
    return knots, -np.abs(np.subtract.outer(knots, x)) @ weights


@shapes_of.register
def _(kernel: MiddleStump, _box: Array | None, vectors: Array, coefficients: Array) -> list[Shape]:
    stumps = kernel.columns()
    return [_staircase(stumps.thresholds[stumps.features == d], x, coefficients) for d, x in enumerate(vectors.T)]


@shapes_of.register
def _(_kernel: HistogramIntersection, _box: Array | None, vectors: Array, coefficients: Array) -> list[Shape]:
    knots = [np.unique(np.append(0.0, x)) for x in vectors.T]
    return [(k, np.minimum.outer(k, x) @ coefficients) for k, x in zip(knots, vectors.T, strict=True)]


def _staircase(thresholds: Array, x: Array, coefficients: Array) -> Shape:
    """The sum of all stumps of a feature, each weighted by sum_j c_j h(x_j)."""
    if not len(thresholds):
        return x[:1], np.zeros(1)
    cuts = np.sort(thresholds)
    # stump k says +1 of x_j if its threshold is at most x_j
    below = np.bincount(np.searchsorted(cuts, x, side="right"), coefficients, len(cuts) + 1)[: len(cuts)].cumsum()
    weights = coefficients.sum() - 2 * below
    levels = 2 * np.append(0.0, weights.cumsum()) - weights.sum()
    return np.repeat(cuts, 2), np.repeat(levels, 2)[1:-1]


def variation_shares(shapes: Sequence[Shape]) -> Array:
    """The share of each function in the sum of their total variations, (n_features,)."""
    variations = np.array([np.abs(np.diff(values)).sum() for _, values in shapes])
    return variations / max(float(variations.sum()), np.finfo(float).tiny)
