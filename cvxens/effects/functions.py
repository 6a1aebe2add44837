"""The functions that a model is the sum of: of one feature, linear between cuts, and of several, constant in cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb, inf, isfinite, nan, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.features import column
from cvxens.hypotheses import (
    Among,
    Branch,
    Constant,
    Formula,
    Hypothesis,
    LevelStump,
    LinearForm,
    Ramp,
    Rule,
    Scaled,
    Staircase,
    find_step,
)
from cvxens.types import Array


def find_cells(x: Any, cuts: Array) -> NDArray[np.intp]:
    """Return the cell of every value (n,): 0 below the first cut, k from the k-th one on; the last if it is missing."""
    x = np.asarray(x, np.float64)
    # missing values, NaN, are sorted behind the last cut
    found: NDArray[np.intp] = np.searchsorted(cuts, x, side="right") + np.isnan(x)
    return found


def make_points(cuts: Array) -> Array:
    """Return a value in each of the cells, (n_cuts + 2,): one just below the first cut, all cuts, and NaN."""
    return np.concatenate([[np.nextafter(cuts[0], -inf)], cuts, [nan]])


def find_span(cuts: Array, x: Array | None = None) -> tuple[float, float]:
    """Return the range of a feature to draw: that of a sample (n_samples,), or else a little over the cuts."""
    if x is not None and not np.isnan(x).all():
        low, high = float(np.nanmin(x)), float(np.nanmax(x))
        if low < high:
            return low, high
    spare = float(np.ptp(cuts)) / 20 or 1.0
    return float(cuts[0]) - spare, float(cuts[-1]) + spare


@dataclass(frozen=True, eq=False)
class MainEffect:
    """A function of one feature, linear between its cuts, where it may jump, and beyond them.

    Parameters
    ----------
    feature : int
        The feature.
    cuts : ndarray of shape (n_cuts,)
        Ascending; at least one. A value on a cut belongs to the cell above it.
    values : ndarray of shape (n_cuts + 2, n_outputs)
        The function where each cell begins; of the first cell, where it ends; the last is where the feature is missing.
    slopes : ndarray of shape (n_cuts + 2, n_outputs)
        Its slope in each cell.

    Examples
    --------
    >>> values, slopes = np.array([[0.0], [3.0], [1.0], [-1.0]]), np.array([[0.0], [2.0], [0.0], [0.0]])
    >>> MainEffect(0, np.array([1.0, 2.0]), values, slopes).at([0.5, 1.0, 1.5, 9.0, np.nan])[:, 0].tolist()
    [0.0, 3.0, 4.0, 1.0, -1.0]
    """

    feature: int
    cuts: Array
    values: Array
    slopes: Array

    @classmethod
    def from_knots(cls, feature: int, knots: Array, values: Array) -> Self:
        """Make a function of its values (n_knots,) at ascending knots, linear between them and constant beyond.

        A knot that stands twice is a jump; where the feature is missing it is 0.
        """
        cuts, first, counts = np.unique(knots, return_index=True, return_counts=True)
        before, after = values[first], values[first + counts - 1]
        slopes = np.concatenate([[0.0], (before[1:] - after[:-1]) / np.diff(cuts), [0.0, 0.0]])
        return cls(feature, cuts, np.concatenate([before[:1], after, [0.0]])[:, None], slopes[:, None])

    @classmethod
    def from_sum(cls, parts: Sequence[tuple[MainEffect, Array]]) -> Self:
        """Add functions of one feature and one output, each times its weights (n_outputs,)."""
        cuts = np.unique(np.concatenate([part.cuts for part, _ in parts]))
        values, slopes = np.zeros((2, len(cuts) + 2, len(parts[0][1])))
        points = make_points(cuts)
        for part, weights in parts:
            values += part.at(points) * weights
            slopes += part.slopes[find_cells(points, part.cuts)] * weights
        return cls(parts[0][0].feature, cuts, values, slopes)

    @property
    def features(self) -> tuple[int, ...]:
        """The one feature that the effect is a function of, as a tuple."""
        return (self.feature,)

    @property
    def steps(self) -> bool:
        """True if it is constant between cuts."""
        return not self.slopes.any()

    def at(self, x: Any) -> Array:
        """Evaluate at values of the feature (n,); returns (n, n_outputs)."""
        x = np.asarray(x, np.float64)
        cells = find_cells(x, self.cuts)
        found: Array = self.values[cells]
        if self.steps:
            return found
        starts = self.cuts[np.clip(cells - 1, 0, len(self.cuts) - 1)]
        return found + self.slopes[cells] * np.where(np.isnan(x), 0.0, x - starts)[:, None]

    def outline(self, low: float, high: float, most: int | None = None) -> tuple[Array, Array]:
        """Return points (n_points,) of the function from one value to another, and its values there (n_points, ...).

        It is a straight line from each point to the next; a cut is there twice, as the end of a cell and the beginning
        of another. At most so many cuts are taken, evenly spaced in rank.
        """
        inner = self.cuts[(self.cuts > low) & (self.cuts <= high)]
        if most is not None and len(inner) > most:
            inner = inner[np.unique(np.linspace(0, len(inner) - 1, most).round().astype(np.intp))]
        ends = np.stack([np.nextafter(inner, -inf), inner], axis=1).ravel()
        return np.concatenate([[low], np.repeat(inner, 2), [high]]), self.at(np.concatenate([[low], ends, [high]]))

    def __call__(self, X: Any) -> Array:
        """Evaluate on samples X (n, n_features), dense or sparse; returns (n, n_outputs)."""
        return self.at(column(X, self.feature))

    def lift(self, height: Array) -> Self:
        """Return the effect with a constant (n_outputs,) added to every score."""
        return replace(self, values=self.values + height)


@dataclass(frozen=True, eq=False)
class Interaction:
    """A function of two or more features, constant in the cells between their cuts, and a distribution over these.

    Parameters
    ----------
    features : tuple of int
        The features, ascending.
    cuts : tuple of ndarrays of shape (n_cuts,)
        Of each feature, as those of `MainEffect`.
    table : ndarray of shape (n_cuts + 2, n_cuts + 2, ..., n_outputs)
        The values, cell by cell; the last cell of a feature is where it is missing.
    masses : ndarray of shape (n_cuts + 2, n_cuts + 2, ...)
        The share of the samples in each cell, with the sum 1; without cells it is not known.

    Examples
    --------
    >>> masses, table = np.zeros((3, 3)), np.zeros((3, 3, 1))
    >>> masses[:2, :2], table[[0, 1], [0, 1]] = 0.25, 1.0
    >>> same = Interaction((0, 3), (np.array([0.5]), np.array([0.5])), table, masses)
    >>> same.at([[0.0, 0.0], [0.0, 1.0]])[:, 0].tolist(), same.expect({0: [0.0]})[:, 0].tolist()
    ([1.0, 0.0], [0.5])
    """

    features: tuple[int, ...]
    cuts: tuple[Array, ...]
    table: Array
    masses: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def from_sum(cls, parts: Sequence[tuple[Interaction, Array]], most: int) -> Sequence[Self]:
        """Add functions of the same features and one output, each times its weights (n_outputs,).

        They are added over the cells between the cuts of all; apart as they are if these cells are too many.
        """
        own = [cls(part.features, part.cuts, part.table * weights) for part, weights in parts]
        cuts = tuple(
            np.unique(np.concatenate(of_feature)) for of_feature in zip(*(one.cuts for one in own), strict=True)
        )
        if prod(len(c) + 2 for c in cuts) > most:
            return own
        cells = [[find_cells(make_points(c), old) for c, old in zip(cuts, one.cuts, strict=True)] for one in own]
        tables = [one.table[np.ix_(*at)] for one, at in zip(own, cells, strict=True)]
        return [cls(own[0].features, cuts, np.sum(tables, axis=0))]

    def at(self, values: Any) -> Array:
        """Evaluate at values of its features (n, n_own_features); returns (n, n_outputs)."""
        values = np.asarray(values, np.float64)
        return self.expect(dict(zip(self.features, values.T, strict=True)))

    def __call__(self, X: Any) -> Array:
        """Evaluate on samples X (n, n_features), dense or sparse; returns (n, n_outputs)."""
        return self.expect({feature: column(X, feature) for feature in self.features})

    def expect(self, known: dict[int, Any]) -> Array:
        """Return the mean over samples whose known features are set to given values (n,), of any features at all.

        Those of its features that are not known are as in the distribution, together; at least one has to be known.
        """
        own = [k for k, feature in enumerate(self.features) if feature in known]
        cells = tuple(find_cells(known[self.features[k]], self.cuts[k]) for k in own)
        return self._average(own)[cells]

    def _average(self, kept: Sequence[int]) -> Array:
        """Return the table of the means over all features but some, by their places."""
        others = [k for k in range(len(self.features)) if k not in kept]
        if not others:
            return self.table
        weights = self.masses.sum(axis=tuple(kept))
        averaged: Array = np.tensordot(weights, self.table, axes=(range(len(others)), others))
        return averaged

    def share(self, X: Any) -> Array:
        """Return the exact Shapley values of its features (n, n_own_features, n_outputs), interventional.

        phi_j = sum_S |S|! (k - |S| - 1)! / k! (E[f(x_S, x_j, B)] - E[f(x_S, B)]) over the sets S of other features,
        B the distribution (Lundberg & Lee 2017; Janzing, Minorics & Bloebaum 2020).
        """
        k, n_outputs = len(self.features), self.table.shape[-1]
        cells = [find_cells(column(X, f), cuts) for f, cuts in zip(self.features, self.cuts, strict=True)]
        values = np.zeros((len(cells[0]), k, n_outputs))
        for size in range(k + 1):
            for known in combinations(range(k), size):
                mean = self._average(known)[tuple(cells[j] for j in known)]
                for j in range(k):
                    # with j it is E[f(x_S, x_j, B)] of the set S without j
                    others = size - 1 if j in known else size
                    factor = 1.0 / (k * comb(k - 1, others))
                    values[:, j] += mean * (factor if j in known else -factor)
        return values

    def crop(self, X: Any = None) -> tuple[list[Array], Array, Array]:
        """Return what is to be drawn: edges of cells for each feature, and of these cells the table and the masses.

        Each feature reaches over its values in a sample X (n_samples, n_features), or else a little over its cuts.
        """
        kept, edges = [], []
        for feature, cuts in zip(self.features, self.cuts, strict=True):
            low, high = find_span(cuts, None if X is None else column(X, feature))
            inside = np.flatnonzero((cuts > low) & (cuts <= high))
            # the cells that the range meets: the one that it begins in, and those of the cuts inside
            kept.append(np.append(np.searchsorted(cuts, low, side="right"), inside + 1))
            inner = cuts[inside]
            edges.append(np.concatenate([[low], inner[inner < high], [high]]))
            kept[-1] = kept[-1][: len(edges[-1]) - 1]
        return edges, self.table[np.ix_(*kept)], self.masses[np.ix_(*kept)]


def take_apart(hypothesis: Hypothesis) -> Iterator[tuple[float, float | MainEffect | Interaction]]:
    """Yield factors and what they multiply, whose sum a hypothesis is: constants, and functions of features.

    Examples
    --------
    >>> from cvxens.hypotheses import Stump
    >>> tree = Branch(0, 0.5, Stump(1, 2.0, 1), Stump(2, 1.0, -1))
    >>> [(factor, part.features) for factor, part in take_apart(tree)]
    [(1.0, (0, 1)), (1.0, (0, 1)), (1.0, (0, 2)), (1.0, (0, 2))]
    """
    match hypothesis:
        case Scaled():
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


def _take_tests(hypothesis: Hypothesis) -> Iterator[tuple[float, float | MainEffect | Interaction]]:
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


def _find_cuts(hypothesis: Hypothesis) -> Iterator[tuple[int, float]]:
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
        case _ if (step := find_step(hypothesis)) is not None:
            if len(set(step.values)) > 1:
                yield step.feature, step.threshold
        case _:
            name = type(hypothesis).__name__
            found = f"found a {name} among the weak learners, which is no sum of tests and slopes of features"
            remedy = "fit with stumps, trees of depth 2, rules, boxes or ramps, or with a kernel of stumps"
            raise InvalidInput("effects", found, remedy)


def _find_ends(feature: int, levels: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Yield the ends of the codes of levels; without any, one cut, as what is missing has a cell of its own."""
    for level in levels:
        yield from ((feature, float(level)), (feature, level + 1.0))
    if not levels:
        yield feature, 0.0
