"""Hypotheses taken apart into functions of as few features as they can be, with the cuts at which they may change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, prod
from typing import Any

import numpy as np

from cvxens.effects.functions import Interaction, MainEffect, make_points
from cvxens.errors import InvalidInput
from cvxens.hypotheses import (
    Among,
    Branch,
    Constant,
    Formula,
    LevelStump,
    LinearForm,
    Negated,
    Ramp,
    Rule,
    Scaled,
    Staircase,
)

REMEDY = "fit with stumps, trees of depth 2, rules, boxes or ramps, or with a kernel of stumps"


def take_apart(hypothesis: Any) -> Iterator[tuple[float, float | MainEffect | Interaction]]:
    """Yield factors and what they multiply, whose sum a hypothesis is: constants, and functions of features.

    Examples
    --------
    >>> from cvxens.hypotheses import Stump
    >>> tree = Branch(0, 0.5, Stump(1, 2.0, 1), Stump(2, 1.0, -1))
    >>> [(factor, part.features) for factor, part in take_apart(tree)]
    [(1.0, (0, 1)), (1.0, (0, 1)), (1.0, (0, 2)), (1.0, (0, 2))]
    """
    match hypothesis:
        case Negated() | Scaled():
            for factor, part in take_apart(hypothesis.hypothesis):
                yield hypothesis.factor * factor, part
        case Branch():
            # the ways to the leaves look at two features each, the tree at up to three
            for leaf in hypothesis.rules:
                yield from take_apart(leaf)
        case Ramp(feature, threshold, side, slope):
            slopes = [slope * side * (side < 0), slope * side * (side > 0)] if side else [slope, slope]
            yield 1.0, _make_line(feature, threshold, *slopes)
        case LinearForm(features, weights):
            for feature, weight in zip(features, weights, strict=True):
                yield 1.0, _make_line(feature, 0.0, weight, weight)
        case _:
            yield from _take_tests(hypothesis)


def _make_line(feature: int, cut: float, below: float, above: float) -> MainEffect:
    """Return the function of slopes below and above a cut that is 0 there."""
    return MainEffect(feature, np.array([cut]), np.zeros((3, 1)), np.array([[below], [above], [0.0]]))


def _take_tests(hypothesis: Any) -> Iterator[tuple[float, float | MainEffect | Interaction]]:
    """Yield what a hypothesis is that is constant in the cells between its cuts."""
    found: dict[int, set[float]] = {}
    for feature, cut in _find_cuts(hypothesis):
        found.setdefault(feature, set()).add(cut)
    features = tuple(sorted(found))
    cuts = tuple(np.array(sorted(found[feature])) for feature in features)
    # a sample in each cell, where the other features do not matter
    points = np.meshgrid(*map(make_points, cuts), indexing="ij")
    X = np.zeros((prod(len(c) + 2 for c in cuts), max(features, default=0) + 1))
    for feature, values in zip(features, points, strict=True):
        X[:, feature] = values.ravel()
    values = hypothesis(X)
    if not features:
        yield float(values[0]), 1.0
    elif len(features) == 1:
        yield 1.0, MainEffect(features[0], cuts[0], values[:, None], np.zeros((len(values), 1)))
    else:
        yield 1.0, Interaction(features, cuts, values.reshape(*points[0].shape, 1))


def _find_cuts(hypothesis: Any) -> Iterator[tuple[int, float]]:
    """Yield the features of a hypothesis and the values at which it may change."""
    match hypothesis:
        case Constant():
            return
        case Rule():
            for condition in hypothesis.intervals:
                if isinstance(condition, Among):
                    yield from _find_ends(condition.feature, condition.levels)
                else:
                    yield from ((condition.feature, end) for end in (condition.low, condition.high) if isfinite(end))
        case LevelStump():
            yield from _find_ends(hypothesis.feature, hypothesis.levels)
        case Staircase():
            yield from ((hypothesis.feature, threshold) for threshold in hypothesis.thresholds)
        case Formula():
            for part in hypothesis.parts:
                yield from _find_cuts(part)
        case _ if hasattr(hypothesis, "step"):
            if len(set(hypothesis.step.values)) > 1:
                yield hypothesis.step.feature, hypothesis.step.threshold
        case _:
            name = type(hypothesis).__name__
            found = f"found a {name} among the weak learners, which is no sum of tests and slopes of features"
            raise InvalidInput("effects", found, REMEDY)


def _find_ends(feature: int, levels: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Yield the ends of the codes of levels; without any, one cut, as what is missing has a cell of its own."""
    for level in levels:
        yield from ((feature, float(level)), (feature, level + 1.0))
    if not levels:
        yield feature, 0.0
