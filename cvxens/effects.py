"""A model as a sum of effects: of single features, of pairs, and of more; what each says, of all samples and of one.

Functions of one feature are linear between cuts, those of several are constant in cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb, inf, nan, prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, lsmr
from sklearn.utils._optional_dependencies import check_pandas_support

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
from cvxens.tables import Feature
from cvxens.types import Array, Data, Frame, Given, Indices, Matrix, Numbers

__all__ = ["Effects", "Interaction", "MainEffect", "purify", "purify_further"]


def find_cells(x: ArrayLike, cuts: Array) -> Indices:
    """Return the cell of every value (n,): 0 below the first cut, k from the k-th one on; the last if it is missing."""
    x = np.asarray(x, np.float64)
    # missing values, NaN, are sorted behind the last cut
    return np.searchsorted(cuts, x, side="right") + np.isnan(x)


def make_points(cuts: Array) -> Array:
    """Return a value in each of the cells, (n_cuts + 2,): one just below the first cut, all cuts, and NaN."""
    return np.concatenate([[np.nextafter(cuts[0], -inf)], cuts, [nan]])


def find_span(cuts: Array, x: Numbers | None = None) -> tuple[float, float]:
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
        # the first cell is told of by its end, which is not in it
        ends = np.append(cuts[0], points[1:])
        for part, weights in parts:
            cells = find_cells(points, part.cuts)
            values += part._extend(cells, ends) * weights
            slopes += part.slopes[cells] * weights
        return cls(parts[0][0].feature, cuts, values, slopes)

    @property
    def features(self) -> tuple[int, ...]:
        """The one feature that the effect is a function of, as a tuple."""
        return (self.feature,)

    @property
    def axes(self) -> tuple[Array, ...]:
        """Its cuts, as a tuple."""
        return (self.cuts,)

    @property
    def steps(self) -> bool:
        """True if it is constant between cuts."""
        return not self.slopes.any()

    def at(self, x: ArrayLike) -> Array:
        """Evaluate at values of the feature (n,); returns (n, n_outputs)."""
        x = np.asarray(x, np.float64)
        return self._extend(find_cells(x, self.cuts), x)

    def _extend(self, cells: Indices, x: Array) -> Array:
        """Evaluate the pieces of some cells at values that need not be in them."""
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

    def __call__(self, X: Data) -> Array:
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

    @property
    def axes(self) -> tuple[Array, ...]:
        """The cuts of each feature."""
        return self.cuts

    @classmethod
    def from_sum(cls, parts: Sequence[tuple[Interaction, Array]], most: int) -> Sequence[Self]:
        """Add functions of the same features and one output, each times its weights (n_outputs,).

        They are added over the cells between the cuts of all; apart as they are if these cells are too many.
        """
        own = [cls(part.features, part.cuts, part.table * weights) for part, weights in parts]
        of_features = zip(*(one.cuts for one in own), strict=True)
        cuts = tuple(np.unique(np.concatenate(each)) for each in of_features)
        if prod(len(c) + 2 for c in cuts) > most:
            return own
        cells = [[find_cells(make_points(c), old) for c, old in zip(cuts, one.cuts, strict=True)] for one in own]
        tables = [one.table[np.ix_(*at)] for one, at in zip(own, cells, strict=True)]
        return [cls(own[0].features, cuts, np.sum(tables, axis=0))]

    def at(self, values: ArrayLike) -> Array:
        """Evaluate at values of its features (n, n_own_features); returns (n, n_outputs)."""
        values = np.asarray(values, np.float64)
        return self.expect(dict(zip(self.features, values.T, strict=True)))

    def __call__(self, X: Data) -> Array:
        """Evaluate on samples X (n, n_features), dense or sparse; returns (n, n_outputs)."""
        return self.expect({feature: column(X, feature) for feature in self.features})

    def expect(self, known: Mapping[int, ArrayLike]) -> Array:
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
        return np.tensordot(weights, self.table, axes=(range(len(others)), others))

    def share(self, X: Data) -> Array:
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

    def crop(self, X: Given, levels: Mapping[int, Sequence[str]]) -> tuple[list[Array], Array, Array]:
        """Return what is to be drawn: edges of cells for each feature, and of these cells the table and the masses.

        Each feature reaches over its values in a sample X (n_samples, n_features), or else a little over its cuts; one
        that has `levels` over all of these, each as far as half a code to both sides.
        """
        kept, edges = [], []
        for feature, cuts in zip(self.features, self.cuts, strict=True):
            if feature in levels:
                cells, first = np.unique(find_cells(range(len(levels[feature])), cuts), return_index=True)
                kept.append(cells)
                edges.append(np.append(first, len(levels[feature])) - 0.5)
                continue
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
    >>> tree = Branch(Stump(0, 0.5, 1), Stump(1, 2.0, 1), Stump(2, 1.0, -1))
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
        case LevelStump():
            yield from ((hypothesis.feature, end) for end in Among(hypothesis.feature, hypothesis.levels).ends)
        case Rule():
            yield from ((condition.feature, end) for condition in hypothesis.intervals for end in condition.ends)
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


@dataclass(frozen=True, eq=False)
class Effects:
    """A model as an intercept and effects: functions of one feature, of two, and of more, that add up to its scores.

    Interactions are pure: in every row and every column of a pair the mean over the background is 0, so that all that
    can be said of one feature alone is in its main effect, and so on for more features. Every effect has the mean 0
    over the background, and the intercept is the mean score.

    `model.effects(X)` makes one; the methods take samples as the model does.

    Parameters
    ----------
    intercept : ndarray of shape (n_outputs,)
        The mean of each score over the background.
    mains : tuple of MainEffect
        By feature, ascending.
    interactions : tuple of Interaction
        Pairs first; of each, the share of the background in its cells is known.
    feature_names : tuple of str
        Names of all features.
    outputs : tuple of str
        Names of the scores where there are several: classes, or what sub-problems tell apart; empty for one score.
    sizes, variances : ndarrays of shape (n_terms, n_outputs)
        The mean of the absolute value of every effect over the background, and its variance.
    read : callable
        From samples as users have them to an array or sparse matrix (n_samples, n_features).
    levels : mapping from int to tuple of str
        By nominal feature, what its codes 0, 1, ... stand for.
    note : str
        What the one score is, where it is not a prediction: what is above 0, or the logarithm of a mean.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(C=0.01, oracle="depth_two_trees").fit(X, y)
    >>> effects = model.effects(X)
    >>> total = effects.intercept + effects.contributions(X).sum(axis=1)
    >>> bool(np.allclose(total, model.decision_function(X)))
    True
    >>> bool(np.allclose(effects.intercept + effects.shapley_values(X).sum(axis=1), total))
    True
    """

    intercept: Array
    mains: tuple[MainEffect, ...]
    interactions: tuple[Interaction, ...]
    feature_names: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: Array
    variances: Array
    read: Callable[[Data], Matrix] = np.asarray
    levels: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def from_terms(
        cls,
        terms: Iterable[tuple[Hypothesis | MainEffect, Array]],
        intercept: Array,
        feature_names: Sequence[str],
        outputs: Sequence[str] = (),
        *,
        X: Matrix | None = None,
        sample_weight: Array | None = None,
        read: Callable[[Data], Matrix] = np.asarray,
        levels: Mapping[int, tuple[str, ...]] | None = None,
        note: str = "",
    ) -> Self:
        """Make the effects of a sum of hypotheses and main effects, each times its weights (n_outputs,).

        The background is a sample X (n_samples, n_features), as `read` returns it, with weights; without one, features
        are taken as independent, and each as often in any of the cells between the cuts of the model as in any other.

        Raises
        ------
        InvalidInput
            A hypothesis changes elsewhere than at thresholds of single features.
        """
        total = np.array(intercept, np.float64)
        sums: dict[tuple[int, ...], list[tuple[Any, Array]]] = {}
        for hypothesis, weights in terms:
            parts = [(1.0, hypothesis)] if isinstance(hypothesis, MainEffect) else take_apart(hypothesis)
            for factor, part in parts:
                if isinstance(part, float):
                    total += part * factor * weights
                else:
                    sums.setdefault(part.features, []).append((part, factor * weights))
        background = _make_background(X, sample_weight, (part for own in sums.values() for part, _ in own))
        interactions = []
        # from the most features down, as what is not pure goes to fewer
        for order in range(max(map(len, sums), default=1), 1, -1):
            for features in sorted(features for features in sums if len(features) == order):
                # functions whose cells would be more stay apart
                for found in Interaction.from_sum(sums[features], 2**20):
                    masses = background.masses(features, found.cuts)
                    if order > 2:
                        pure, others = purify_further(found.table, masses)
                        for k, values in enumerate(others):
                            rest = features[:k] + features[k + 1 :], found.cuts[:k] + found.cuts[k + 1 :]
                            sums.setdefault(rest[0], []).append((Interaction(*rest, values), np.ones(len(total))))
                    else:
                        pure, *sides, constant = purify(found.table, masses)
                        total += constant
                        for feature, cuts, side in zip(features, found.cuts, sides, strict=True):
                            flat = np.zeros((len(side), 1))
                            moved = [MainEffect(feature, cuts, values[:, None], flat) for values in side.T]
                            sums.setdefault((feature,), []).extend(zip(moved, np.eye(len(total)), strict=True))
                    interactions.append(Interaction(features, found.cuts, pure, masses))
        interactions.sort(key=lambda one: (len(one.features), one.features))
        mains = []
        for features in sorted(features for features in sums if len(features) == 1):
            main = MainEffect.from_sum(sums[features])
            x, p = background.points(main.feature)
            mean = p @ main.at(x)
            total += mean
            mains.append(main.lift(-mean))
        measured = [_measure(p, main.at(x)) for main in mains for x, p in [background.points(main.feature)]]
        measured += [_measure(one.masses.ravel(), one.table.reshape(-1, len(total))) for one in interactions]
        sizes, variances = np.array(measured).reshape(-1, 2, len(total)).swapaxes(0, 1)
        names = tuple(map(str, feature_names))
        known = {} if levels is None else levels
        return cls(total, tuple(mains), tuple(interactions), names, tuple(outputs), sizes, variances, read, known, note)

    def __repr__(self) -> str:
        ranked = [self.names[k] for k in np.argsort(-self.importances, kind="stable").tolist()]
        named = ", ".join(ranked[:5]) + (f" and {len(ranked) - 5} more" if ranked[5:] else "")
        orders = f"{len(self.mains)} of one feature, {len(self.interactions)} of more"
        return f"Effects({self.n_features} features, {len(self.intercept)} scores; {orders}: {named})"

    @property
    def terms(self) -> tuple[MainEffect | Interaction, ...]:
        """All effects, those of single features first."""
        return (*self.mains, *self.interactions)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all effects: of a feature, or "age x dose"."""
        return tuple(" x ".join(self.feature_names[feature] for feature in term.features) for term in self.terms)

    @property
    def n_features(self) -> int:
        """The number of features of the model."""
        return len(self.feature_names)

    def tell_value(self, feature: int, value: float) -> str:
        """Return a value of a feature as people read it: a number of four digits, a level, or "missing".

        Examples
        --------
        >>> from cvxens.hypotheses import LevelStump
        >>> sky = [(LevelStump(0, (1,), 1), np.array([0.5]))]
        >>> effects = Effects.from_terms(sky, np.zeros(1), ["sky"], levels={0: ("blue", "grey")})
        >>> effects.tell_value(0, 1.0), effects.tell_value(0, np.nan)
        ('grey', 'missing')
        """
        return Feature(self.feature_names[feature], self.levels.get(feature)).tell(value)

    def __call__(self, X: Data) -> Array:
        """Return the scores of samples X (n_samples, n_features): (n_samples,) or (n_samples, n_outputs)."""
        X = self.read(X)
        return self._show(sum((term(X) for term in self.terms), np.tile(self.intercept, (X.shape[0], 1))))

    def contributions(self, X: Data) -> Array:
        """Return what each effect adds to the scores of samples; with the intercept that is all of them.

        Returns
        -------
        ndarray of shape (n_samples, n_terms) or (n_samples, n_terms, n_outputs)
            In the order of `names`.
        """
        X = self.read(X)
        found = [term(X) for term in self.terms]
        return self._show(np.stack(found, axis=1) if found else np.zeros((X.shape[0], 0, len(self.intercept))))

    def shapley_values(self, X: Data) -> Array:
        """Return the exact Shapley values of all features; with the intercept they add up to the scores.

        They are interventional: features that a set has not are drawn from the background, together, whatever the
        others are. A main effect is all its feature's; a pair is shared by the formula, of four means.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        """
        X = self.read(X)
        values = np.zeros((X.shape[0], self.n_features, len(self.intercept)))
        for main in self.mains:
            values[:, main.feature] += main(X)
        for joint in self.interactions:
            values[:, list(joint.features)] += joint.share(X)
        return self._show(values)

    def to_frame(self) -> Frame:
        """Return a pandas data frame of all effects, the most important first.

        Returns
        -------
        pandas.DataFrame
            `effect` (its name), `order` (the number of its features), `importance` (the mean of its absolute value over
            the background; of several scores, the mean over these), `share` (its variance in the sum of the variances
            of all effects) and, of several scores, `importance_NAME` of each.

        Raises
        ------
        ImportError
            Without pandas.
        """
        pd, importance = check_pandas_support("to_frame"), self.importances
        frame = pd.DataFrame(
            {
                "effect": list(self.names),
                "order": [len(term.features) for term in self.terms],
                "importance": importance,
                "share": self.shares,
                **{f"importance_{name}": self.sizes[:, k] for k, name in enumerate(self.outputs)},
            }
        )
        return frame.iloc[np.argsort(-importance, kind="stable")].reset_index(drop=True)

    @property
    def importances(self) -> Array:
        """The mean of the absolute value of every effect over the background and the scores, (n_terms,)."""
        return self.sizes.mean(axis=1)

    @property
    def shares(self) -> Array:
        """The share of every effect in the sum of the variances of all of them, (n_terms,)."""
        variances = self.variances.sum(axis=1)
        return variances / (variances.sum() or 1.0)

    def _show(self, values: Array) -> Array:
        return values if self.outputs else values[..., 0]


@dataclass(frozen=True, eq=False)
class SampleBackground:
    """The distribution that effects are held against: samples X, dense or sparse, with masses p of the sum 1."""

    X: Matrix
    p: Array

    def points(self, feature: int) -> tuple[Array, Array]:
        """Return values of a feature and their masses, of the sum 1; (n_points,) both."""
        return np.asarray(column(self.X, feature), np.float64), self.p

    def masses(self, features: Sequence[int], cuts: Sequence[Array]) -> Array:
        """Return the masses of the cells between cuts of several features, (n_cuts + 2, n_cuts + 2, ...)."""
        shape = tuple(len(c) + 2 for c in cuts)
        cells = tuple(find_cells(column(self.X, f), c) for f, c in zip(features, cuts, strict=True))
        joint = np.bincount(np.ravel_multi_index(cells, shape), self.p, int(np.prod(shape)))
        return np.asarray(joint, np.float64).reshape(shape)


@dataclass(frozen=True, eq=False)
class CellBackground:
    """Independent features, each of which is in any of the cells between its cuts as often, and never missing."""

    cuts: Mapping[int, Array]

    def points(self, feature: int) -> tuple[Array, Array]:
        """Return the middle of each cell, and the cuts at its ends for the outer ones."""
        points = make_points(self.cuts[feature])[:-1]
        points[1:-1] += np.diff(points[1:]) / 2
        return points, np.full(len(points), 1 / len(points))

    def masses(self, features: Sequence[int], cuts: Sequence[Array]) -> Array:
        """Multiply the masses of the features."""
        joint = np.ones(())
        for feature, c in zip(features, cuts, strict=True):
            points, p = self.points(feature)
            joint = np.multiply.outer(joint, np.bincount(find_cells(points, c), p, len(c) + 2))
        return joint


def _make_background(
    X: Matrix | None, sample_weight: Array | None, parts: Iterable[MainEffect | Interaction]
) -> SampleBackground | CellBackground:
    """Return the distribution of a sample, or that of the cells between all cuts of each feature."""
    if X is not None:
        n_samples = X.shape[0]
        weights = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return SampleBackground(X, weights / weights.sum())
    found: dict[int, list[Array]] = {}
    for part in parts:
        for feature, own in zip(part.features, part.axes, strict=True):
            found.setdefault(feature, []).append(own)
    return CellBackground({feature: np.unique(np.concatenate(cuts)) for feature, cuts in found.items()})


def _measure(p: Array, values: Array) -> tuple[Array, Array]:
    """Return the means of the absolute values (n, n_outputs), and of their squares, by masses (n,)."""
    return p @ np.abs(values), p @ values**2


def purify(table: Array, masses: Array) -> tuple[Array, Array, Array, Array]:
    """Split a table T into a pure interaction, a function of the rows, one of the columns, and a constant.

    With weights W of the cells, the functions a and b are those that minimise ``sum_ij W_ij (T_ij - a_i - b_j)^2``:
    what is left has the weighted mean 0 in every row and in every column, which is where moving these means out of the
    table, again and again, would end (Lengerich, Tan, Chang, Hooker & Caruana, *Purifying interaction effects with the
    functional ANOVA*, AISTATS 2020). A row without weight is taken as if its cells had the weights of the columns.
    Where the weights fall into parts that have no row and no column in common, a and b of least squares are taken.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns, n_outputs)
        The function, cell by cell.
    masses : ndarray of shape (n_rows, n_columns)
        Weights of the cells, 0 or above, with the sum 1.

    Returns
    -------
    pure : ndarray of shape (n_rows, n_columns, n_outputs)
        The interaction.
    rows, columns : ndarrays of shape (n_rows, n_outputs) and (n_columns, n_outputs)
        a and b, of weighted mean 0.
    constant : ndarray of shape (n_outputs,)
        The weighted mean of the table. The four add up to it.

    Examples
    --------
    >>> both = np.array([[0.0, 0.0], [0.0, 1.0]])[..., None]
    >>> pure, rows, columns, constant = purify(both, np.full((2, 2), 0.25))
    >>> print(pure[..., 0].round(9), rows[:, 0].round(9), constant.round(9))
    [[ 0.25 -0.25]
     [-0.25  0.25]] [-0.25  0.25] [0.25]
    """
    r, c = masses.sum(axis=1), masses.sum(axis=0)
    i, j = np.flatnonzero(r), np.flatnonzero(c)
    # the normal equations, in the unknowns sqrt(r) a and sqrt(c) b: their matrix has the ones on its diagonal
    scale = np.sqrt(np.concatenate([r[i], c[j]]))
    A = masses[np.ix_(i, j)] / np.outer(scale[: len(i)], scale[len(i) :])
    matrix, weighted = np.block([[np.eye(len(i)), A], [A.T, np.eye(len(j))]]), masses[..., None] * table
    sums = np.concatenate([weighted.sum(axis=1)[i], weighted.sum(axis=0)[j]])
    # eigenvalues below that share of the largest one are of separate parts of the table
    found = np.linalg.lstsq(matrix, sums / scale[:, None], rcond=1e-10)[0] / scale[:, None]
    a, b = np.zeros((len(r), table.shape[2])), np.zeros((len(c), table.shape[2]))
    a[i], b[j] = found[: len(i)], found[len(i) :]
    a[r == 0] = np.einsum("j,ijk->ik", c, table[r == 0] - b)
    b[c == 0] = np.einsum("i,ijk->jk", r, table[:, c == 0] - a[:, None])
    of_rows, of_columns = r @ a, c @ b
    a, b, constant = a - of_rows, b - of_columns, of_rows + of_columns
    return table - a[:, None] - b - constant, a, b, constant


def purify_further(table: Array, masses: Array) -> tuple[Array, list[Array]]:
    """Split a table of three or more features into a pure interaction and tables of all but one of them.

    As `purify`, but what leaves the table is one table for each feature, without that one. They are those of least
    squares, so that what is left has the weighted mean 0 over any feature, whatever the others are; they are not pure
    themselves. Cells of the others without weight stay as they are.

    Parameters
    ----------
    table : ndarray of shape (n_cells, n_cells, n_cells, ..., n_outputs)
        The function, cell by cell.
    masses : ndarray of shape (n_cells, n_cells, n_cells, ...)
        Weights of the cells, 0 or above, with the sum 1.

    Returns
    -------
    pure : ndarray, shaped as the table
        The interaction.
    parts : list of ndarray
        Part k has the axes of the table but the k-th. Together they add up to the table.

    Examples
    --------
    >>> table = np.zeros((2, 2, 2, 1))
    >>> table[1, 1, 1] = 1.0
    >>> pure, parts = purify_further(table, np.full((2, 2, 2), 1 / 8))
    >>> print(pure[..., 0].round(9).ravel(), [part.shape for part in parts])
    [-0.125  0.125  0.125 -0.125  0.125 -0.125 -0.125  0.125] [(2, 2, 1), (2, 2, 1), (2, 2, 1)]
    """
    order, shape = masses.ndim, masses.shape
    root = np.sqrt(masses)
    # the unknowns are scaled by the roots of the masses of their cells, as those of `purify`
    sums = [masses.sum(axis=k) for k in range(order)]
    scales = [np.divide(1.0, np.sqrt(m), out=np.zeros_like(m), where=m > 0) for m in sums]
    ends = np.cumsum([m.size for m in sums])

    def spread(x: Array) -> Sequence[Array]:
        parts = np.split(x, ends[:-1])
        return [part.reshape(scale.shape) * scale for part, scale in zip(parts, scales, strict=True)]

    def add(x: Array) -> Array:
        return (root * sum(np.expand_dims(part, k) for k, part in enumerate(spread(x)))).ravel()

    def collect(r: Array) -> Array:
        weighted = root * r.reshape(shape)
        return np.concatenate([(weighted.sum(axis=k) * scales[k]).ravel() for k in range(order)])

    operator = LinearOperator((masses.size, ends[-1]), matvec=add, rmatvec=collect, dtype=np.float64)
    found = []
    for values in np.moveaxis(table, -1, 0):
        goal = (root * values).ravel()
        # what is left of the means, in the units of the table
        found.append(spread(lsmr(operator, goal, atol=1e-14, btol=1e-14, conlim=0, maxiter=2000)[0]))
    parts = [np.stack(of_outputs, axis=-1) for of_outputs in zip(*found, strict=True)]
    return table - sum(np.expand_dims(part, k) for k, part in enumerate(parts)), parts
