"""Hypotheses taken apart into functions of as few features as they can be, with the cuts at which they may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from cvxens.effects.functions import MainEffect, find_cells, make_points
from cvxens.errors import InvalidInput
from cvxens.hypotheses import (
    Branch,
    Constant,
    Formula,
    Interval,
    LevelStump,
    LinearForm,
    Negated,
    Ramp,
    Rule,
    Scaled,
    Staircase,
)
from cvxens.types import Array

REMEDY = "fit with stumps, trees of depth 2, rules, boxes or ramps, or with a kernel of stumps"


@dataclass(frozen=True, eq=False)
class Piece:
    """A hypothesis that is constant in the cells between cuts of each of its features, by feature, ascending."""

    hypothesis: Any
    cuts: Mapping[int, Array]

    @property
    def features(self) -> tuple[int, ...]:
        """Its features."""
        return tuple(self.cuts)

    def at(self, points: Mapping[int, Array]) -> Array:
        """Evaluate at all combinations of values of its features; returns (n_points, n_points, ...)."""
        values = np.meshgrid(*(points[feature] for feature in self.cuts), indexing="ij")
        X = np.zeros((values[0].size, max(self.cuts) + 1))
        for feature, of_feature in zip(self.cuts, values, strict=True):
            X[:, feature] = of_feature.ravel()
        found: Array = self.hypothesis(X)
        return found.reshape(values[0].shape)

    def spread(self, cuts: Mapping[int, Array]) -> Array:
        """Evaluate in the cells between other cuts, that have its own among them."""
        table = self.at({feature: make_points(own) for feature, own in self.cuts.items()})
        return table[np.ix_(*(find_cells(make_points(cuts[feature]), own) for feature, own in self.cuts.items()))]


def take_apart(hypothesis: Any) -> Iterator[tuple[float, float | MainEffect | Piece]]:
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
            yield 1.0, MainEffect(feature, np.array([threshold]), np.zeros((2, 1)), np.array(slopes)[:, None])
        case LinearForm(features, weights):
            for feature, weight in zip(features, weights, strict=True):
                yield 1.0, MainEffect(feature, np.zeros(1), np.zeros((2, 1)), np.full((2, 1), weight))
        case _:
            yield from _take_tests(hypothesis)


def _take_tests(hypothesis: Any) -> Iterator[tuple[float, float | MainEffect | Piece]]:
    """Yield what a hypothesis is that is constant in the cells between its cuts."""
    found: dict[int, set[float]] = {}
    for feature, cut in _find_cuts(hypothesis):
        found.setdefault(feature, set()).add(cut)
    piece = Piece(hypothesis, {feature: np.array(sorted(found[feature])) for feature in sorted(found)})
    if not piece.cuts:
        yield float(hypothesis(np.zeros((1, 1)))[0]), 1.0
    elif len(piece.cuts) > 1:
        yield 1.0, piece
    else:
        ((feature, cuts),) = piece.cuts.items()
        values = piece.at({feature: make_points(cuts)})[:, None]
        yield 1.0, MainEffect(feature, cuts, values, np.zeros_like(values))


def _cut_levels(feature: int, levels: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Yield cuts around codes of levels; one that is everywhere above the test of what is missing alone."""
    yield from ((feature, float(end)) for level in levels or (-1,) for end in (level, level + 1))


def _find_cuts(hypothesis: Any) -> Iterator[tuple[int, float]]:
    """Yield the features of a hypothesis and the values at which it may change."""
    match hypothesis:
        case Constant():
            return
        case Rule():
            for condition in hypothesis.intervals:
                if isinstance(condition, Interval):
                    yield from ((condition.feature, end) for end in condition[1:3] if isfinite(end))
                else:
                    yield from _cut_levels(condition.feature, condition.levels)
        case Staircase():
            yield from ((hypothesis.feature, threshold) for threshold in hypothesis.thresholds)
        case Formula():
            for part in hypothesis.parts:
                yield from _find_cuts(part)
        case LevelStump():
            yield from _cut_levels(hypothesis.feature, hypothesis.levels)
        case _ if hasattr(hypothesis, "step"):
            if hypothesis.step.above != hypothesis.step.below:
                yield hypothesis.step.feature, hypothesis.step.threshold
        case _:
            name = type(hypothesis).__name__
            found = f"found a {name} among the weak learners, which is no sum of tests and slopes of features"
            raise InvalidInput("effects", found, REMEDY)
