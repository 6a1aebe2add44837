"""Decision stumps as an exact oracle: every threshold of every feature is priced, histogram first, then a scan.

Samples whose value is missing count as below or as above the threshold, or not at all, which adds the same to every
edge of the feature: so a feature with missing values is priced as one or two **readings**, features of `BinnedFeatures`
whose edges are ``total - 2 below`` with a total of their own. Tests of levels are in `levels.py`.

The edges at the ends of bins follow from one histogram, which bounds those inside. Bins are scanned only where their
bound reaches the best edge known, so that the answer is that of the whole scan.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from cvxens.colgen.oracles.bins import measure_norms, price_constant
from cvxens.colgen.oracles.levels import COLUMNS_PER_TEST, KNOWN, FoundTests, Kinds, LevelTests
from cvxens.colgen.protocols import Column, Priced
from cvxens.features import NO_BOUND, NONE, BinnedFeatures, Closed, FixedPoint, Ints, Refined, Weights, sum_before
from cvxens.hypotheses import Constant, Hypothesis, LevelStump, Scaled, Stump
from cvxens.limits import map_in_threads
from cvxens.problems.duality import row_sizes
from cvxens.proofs.forms import Reading, Statement
from cvxens.rounding import EPSILON
from cvxens.tables import Feature
from cvxens.types import Array, Mask, Numbers
from cvxens.validation import one_of, positive_each, whole


class Stumps:
    """All middle stumps of a sample, and the constant: the exact oracle over this finite set.

    A middle stump separates two neighbouring distinct values of one feature halfway (LL08 section 4.2). Its edge is
    ``sum_i s_i - 2 sum_{i: x_i < threshold} s_i``, so one pass over each sorted feature prices them all,
    and bins spare most of that pass unless the sum of squared edges is wanted.

    Of a feature in which values are missing there are the stumps by which these count as above the threshold, those by
    which they count as below it, and the one that tells them from all others. Of a nominal feature, a column of codes,
    there are the tests of its levels, one of which is that of the missing values. Where a value is missing in new
    samples alone, or a level is met there for the first time, a stump says nothing: it is 0.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite, or NaN where missing, at least one feature that varies; sparse X and small integers stay what they are.
    constant : bool
        True if h(x) = 1 and h(x) = -1 belong to the set.
    signs : array-like of shape (n_features,), optional
        +1 for stumps that rise with the feature alone, -1 for those that fall, 0 for both, as by default. With w >= 0
        the score is then monotone in that feature; free weights make no difference between them.
    costs : array-like of shape (n_features,), optional
        What a unit of a feature's stumps costs, above 0; by default 1, as the constant does. Hypotheses are divided by
        their cost (`Scaled`), so that an l1 penalty of their weights is one weighted by the costs.
    columns_per_round : int or None
        At most so many columns are returned; None for all that were found: of every feature the best stump, and of
        samples of 4,000 and more the best known ones of several parts of its thresholds. The best of all is always
        found, as are the bounds; on large samples the best of another feature may be known but nearly.
    square_sum : bool
        False if `Priced.edge_square_sum` is never wanted, as penalties on the squared weights want it for their bound:
        inf is returned. Else it is summed over all thresholds, but where `price` is told that it is not needed.
    features : sequence of Feature, optional
        What the columns are: those with categories hold the codes 0, 1, ... of these. By default all are numeric.
    missing : {"side", "zero"}
        "zero" for stumps that are 0 where the value is missing. They are the means of those of both sides, so that they
        have no larger edge than these, and a set with half as many hypotheses.
    levels : {"one", "subsets"}
        The tests of a nominal feature: of one level against the rest, or of any levels against the rest. The weights of
        single levels add up; those of subsets, under an l1 penalty, cost no more than the largest effect of a level, so
        that all others come for nothing, also where there are many levels of few samples.

    Examples
    --------
    >>> X = [[0.0, 5.0], [1.0, 3.0], [2.0, 4.0]]
    >>> priced = Stumps(X).price(np.array([-0.2, 0.3, 0.5]))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 0.5 -> +1 1.0
    x[1] >= 4.5 -> -1 1.0
    always -> +1 0.6

    Rising stumps, of which those of the first feature cost twice as much:

    >>> rising = Stumps(X, signs=[1, 1], costs=[2.0, 1.0], constant=False)
    >>> for column in rising.price(np.array([-0.2, 0.3, 0.5])).columns:
    ...     print(column.hypothesis, column.edge)
    0.5 (x[0] >= 0.5 -> +1) 0.5
    x[1] >= 3.5 -> +1 0.0

    Missing values, and levels:

    >>> from cvxens.trees import Feature
    >>> kinds = [Feature("age"), Feature("sky", ("blue", "grey", "red"))]
    >>> gapped = Stumps([[31.0, 0], [np.nan, 2], [45.0, 1], [52.0, 1]], features=kinds, levels="subsets")
    >>> for column in gapped.price(np.array([-0.1, 0.4, -0.3, 0.2])).columns[:3]:
    ...     print(column.hypothesis, round(column.edge, 3))
    x[0] >= 48.5, or missing -> +1 1.0
    x[0] is missing -> +1 0.6
    x[1] = red -> +1 0.6
    """

    source = "LL08 section 4, SL (6), (8), (13); DBS02"
    negations = True

    def __init__(
        self,
        X: Any,
        *,
        constant: bool = True,
        signs: Any = None,
        costs: Any = None,
        columns_per_round: int | None = None,
        square_sum: bool = True,
        features: Sequence[Feature] | None = None,
        missing: str = "side",
        levels: str = "one",
    ) -> None:
        kinds = Kinds.from_sample(X, features, missing)
        self.sample, n_features = kinds.X, len(kinds.features)
        self.tests = LevelTests(kinds, subsets=one_of("levels", levels, ("one", "subsets")) == "subsets")
        sides = kinds.check_sides(signs)
        read = np.array([(j, way) for j in kinds.numeric.tolist() for way in kinds.ways(j)], np.intp).reshape(-1, 2)
        columns, ways = read.T
        plain = {} if kinds.plain else {"columns": columns.tolist(), "ways": ways.tolist()}
        self.features = BinnedFeatures(self.sample, **plain)
        kinds.check_variation(int((self.features.n_distinct > 1).sum()) + self.tests.n_hypotheses)
        self.constant = constant
        n = self.features.n_samples
        several = count_parts(n, n_features) if columns_per_round is None else 1
        self._n_parts, self._n_exact = several, 1 if n >= 4000 else n_features
        every = len(read) * several + len(self.tests.tests) * COLUMNS_PER_TEST + 1
        self.columns_per_round = every if columns_per_round is None else whole("columns_per_round", columns_per_round)
        self.square_sum = square_sum
        self.of_features = np.ones(n_features)
        if costs is not None:
            self.of_features /= positive_each("costs", costs, n_features, "feature")
        self.has_costs = bool((self.of_features != 1).any())
        self.sides, self.factors = sides[columns], self.of_features[columns]
        self.negations = not self.sides.any()

    @property
    def statement(self) -> Statement | None:
        """The set in an exact proof; None with signs, costs, silence on missing values, or subsets of levels."""
        tests = {test.feature: test for test in self.tests.tests}
        gaps = zip(self.features.missing, self.features.ways.tolist(), strict=True)
        silent = any(rows.size and not way for rows, way in gaps)
        subsets = any(test.subsets and len(test.groups) > 2 for test in tests.values())
        if silent or subsets or not self.negations or self.has_costs:
            return None
        X = self.sample.toarray() if issparse(self.sample) else self.sample
        readings = []
        for j, column in enumerate(X.T):
            levels = tests[j].groups if j in tests else (KNOWN,)
            readings += Reading.of_numbers(j, column) if KNOWN in levels else Reading.of_levels(j, levels)
        return Statement.from_sample("stumps and constant" if self.constant else "stumps", X, readings)

    @property
    def every_step(self) -> BinnedFeatures | None:
        """The features of whose every place the set has both stumps, at unit cost; None where it is another set."""
        others = bool(self.tests.tests) or len(self.features.columns) != self.sample.shape[1]
        return None if not self.negations or self.has_costs or others else self.features

    def has(self, hypothesis: Hypothesis) -> bool:
        """Return True if the set surely has the values of a hypothesis on the sample, whatever its threshold is."""
        return self.constant and self.every_step is not None and isinstance(hypothesis, Stump | Constant)

    @property
    def n_hypotheses(self) -> int:
        """The number of hypotheses, h and -h counted once."""
        return int((self.features.n_distinct - 1).sum()) + self.tests.n_hypotheses + self.constant

    @property
    def largest(self) -> float:
        """The largest |h(x)| of all hypotheses."""
        return max(float(self.of_features.max()), float(self.constant))

    @property
    def votes(self) -> bool:
        """True if all values are within [-1, 1]: no feature costs less than 1."""
        return self.largest <= 1

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, and its negation too."""
        stump = _without_cost(hypothesis)
        if isinstance(stump, Stump):
            return not self.sides[self.features.columns == stump.feature].any()
        return isinstance(stump, Constant | LevelStump)

    def price(
        self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf, square_sum: bool = True
    ) -> Priced:
        """Return the best stump of each feature that varies and the constant, as `Oracle.price` says.

        Of equal edges the lowest feature and threshold comes first, then tests of levels, the constant last.
        `edge_bound` exceeds the largest edge by what the rounding of `s` to fixed point can have cost, at most
        ``n_samples * 2**-60 * sum |s|``, and of costs and norms that of a few operations; `edge_square_sum` is sharp to
        about ``n_samples * 2**-52``, or inf without `square_sum`.
        """
        weights = FixedPoint.from_weights(s, self.features.n_samples)
        known = [_without_cost(hypothesis) for hypothesis in exclude] if self.has_costs else exclude
        asked, n_outputs = self._ask(weights, known), len(weights.totals)
        tests = self.tests.search(weights.integers, known, row_norm)
        if row_norm == inf:
            best = self._find_best(asked)
            error: float = weights.error
            share = 0.0
        else:
            best = self._find_best_by_rows(asked, row_norm)
            # conversions to floats, their powers, the sum of these and its root are rounded
            error, share = weights.error * n_outputs ** (1 / row_norm), (n_outputs + 8) * EPSILON
        if self.has_costs:
            share += 8 * EPSILON
        more: list[tuple[Any, Hypothesis]] = []
        if self._n_parts > 1 or self._n_exact < min(self.columns_per_round, self.features.n_features):
            more = self._pick_of_parts(asked, best, row_norm)
        open_features = np.flatnonzero(best.places)
        sizes = best.sizes if (self.factors == 1).all() else best.sizes * self.factors
        ranked = open_features[np.argsort(-sizes[open_features], kind="stable")][: self.columns_per_round]
        made = [self._make_stump(j, best.places[j], best.edges[j]) for j in ranked.tolist()]
        found: list[tuple[Any, Hypothesis]] = list(zip(sizes[ranked], made, strict=True))
        found += more
        # what is open and what there is at all, each with its error
        outside = ((best.sizes[open_features] + error) * self.factors[open_features]).tolist()
        every = ((best.largest + error) * self.factors)[self.features.n_distinct > 1].tolist()
        for test, answer in zip(self.tests.tests, tests, strict=True):
            factor = float(self.of_features[test.feature])
            found += answer.found if factor == 1 else [(size * factor, Scaled(h, factor)) for size, h in answer.found]
            outside += [(size + error) * factor for size, _ in answer.found[:1]]
            every.append((answer.largest + error) * factor)
        if self.constant:
            total, constant = price_constant(weights.totals, known, row_norm)
            every.append(total + error)
            if constant is not None:
                outside.append(total + error)
                found.append((total, constant))
        found = sorted(found, key=itemgetter(0), reverse=True)[: self.columns_per_round]
        columns = [Column(hypothesis, self.sample, weights.real(size)) for size, hypothesis in found]
        edge_bound = weights.raised(max(every, default=0.0), share)
        outside_bound = weights.raised(max(outside, default=0.0), share)
        if not (square_sum and self.square_sum):
            return Priced(columns, edge_bound, outside_bound=outside_bound)
        squares, rising = self._bound_square_sums(weights, asked, tests)
        return Priced(columns, edge_bound, squares, outside_bound, rising_square_sum=rising)

    def make_stumps(self, features: Ints, places: Ints, signs: Ints) -> list[Stump | Constant]:
        """Return stumps by feature, place among those where its value changes, and sign; -1 is the constant."""
        thresholds = np.zeros(len(features))
        for j in np.unique(features[features >= 0]).tolist():
            own = features == j
            thresholds[own] = self.features.thresholds_at(j, self.features.places(j)[places[own]])
        rows = zip(features.tolist(), thresholds.tolist(), signs.tolist(), strict=True)
        return [Stump(j, threshold, sign) if j >= 0 else Constant(sign) for j, threshold, sign in rows]

    def _ask(self, weights: FixedPoint, exclude: Collection[Hypothesis]) -> Asked:
        """Sum the weights by bins, and turn excluded stumps into places that are closed."""
        features = self.features
        thresholds: list[list[float]] = [[] for _ in range(features.n_features)]
        for stump in exclude:
            if isinstance(stump, Stump):
                for k in np.flatnonzero(features.columns == stump.feature).tolist():
                    if not features.missing[k].size or features.ways[k] == stump.missing:
                        thresholds[k].append(stump.threshold)
        known = [(features.entry_values[features.entries(k)], own) for k, own in enumerate(thresholds) if own]
        places = [np.searchsorted(values, own) for values, own in known]
        closed = Closed(np.concatenate([np.empty(0, np.int64), *places]), np.cumsum([0, *map(len, thresholds)]))
        summed = features.weigh(weights)
        sums = features.histograms(summed)
        below = sum_before(sums[0] + sums[1], features.bins.cut_starts)
        totals = np.repeat(summed.totals, np.diff(features.bins.cut_starts), axis=1)
        return Asked(summed, closed, sums, below, totals - 2 * below)

    def _find_best(self, asked: Asked) -> Best:
        """Return the best open stump of every feature that was compared: at the ends of bins, and inside of some.

        It is the best of all where its size, times its factor, is one of the `_n_exact` largest.
        """
        features, best = self.features, Best.of_none(self.features.n_features)
        own, places, *_ = self._ends
        edges, sizes = self._measure(own, asked.edges[:, features.inner])
        best.offer(own, places, edges, sizes, asked.closed.contains(own, places))
        if not len(self._mixed):
            return best
        # a bin can be left out if its bound is below the best edge of its feature, or below those that have to be exact
        rank = max(features.n_features - self._n_exact, 0)
        least = np.partition(best.sizes * self.factors, rank)[rank] / self.factors
        # what floats round off the least one that counts is left to be visited
        least = np.clip(least - np.abs(least) * 4 * EPSILON, NONE, NO_BOUND).astype(np.int64)
        # inside the bin the sum below gains some of the weights of either sign only
        of_cut, (rises, falls) = features.of_cut, asked.edges - 2 * asked.sums
        reach = np.maximum(self._size(of_cut, rises), self._size(of_cut, falls))
        reached = (reach >= np.maximum(best.sizes, least)[of_cut]) & features.bins.mixed
        outputs, cuts = np.nonzero(reached)
        found = self._refine(np.stack([outputs, cuts, 0 * cuts, 0 * cuts + NO_BOUND], axis=1), asked)
        np.maximum.at(best.largest, of_cut[cuts], found.largest)
        best.offer(of_cut[cuts], found.places, found.edges, found.sizes, np.zeros(len(cuts), np.bool_))
        return best

    def _find_best_by_rows(self, asked: Asked, order: float) -> Best:
        """Return the best open stump of every feature by the norm of its edges over the outputs, which knows no sides.

        Weights over several outputs have either sign.
        """
        features = self.features
        if not features.n_features:
            return Best.of_none(0, np.float64)
        # made before threads ask for it
        _ = features.entry_rows

        def find(feature: int) -> tuple[float, int, int, float]:
            places = features.places(feature)
            if not len(places):
                return -inf, 0, 1, -inf
            sizes = measure_norms(features.evaluate_edges(feature, asked.weights).astype(np.float64), order)
            opened = np.where(asked.closed.contains(np.full(len(places), feature), places), -inf, sizes)
            k = int(opened.argmax())
            return opened[k], int(places[k]) if opened[k] > -inf else 0, 1, sizes.max()

        return Best(*(np.array(own) for own in zip(*map_in_threads(find, range(features.n_features)), strict=True)))

    def _refine(self, runs: Ints, asked: Asked) -> Refined:
        return self.features.refine(runs, asked.weights, asked.below, self.sides, asked.closed)

    def _pick_of_parts(self, asked: Asked, best: Best, row_norm: float) -> list[tuple[Any, Hypothesis]]:
        """Return the best stumps of the other parts of features, with sizes; `best` learns of those of its own parts.

        In a part the best of the ends of bins is looked for, then of the places in the bins on both its sides, under
        the output where the edge at the end has the largest size.
        """
        features, ends = self.features, self._ends
        sizes = self._measure(ends.features, asked.edges[:, features.inner], row_norm)[1]
        of_parts, each = Best.of_none(features.n_features * self._n_parts, sizes.dtype), np.arange(len(sizes))
        of_parts.offer(ends.parts, each, each, sizes, asked.closed.contains(ends.features, ends.places))
        picks = of_parts.places[of_parts.sizes > NONE]
        own, cuts, places, ranges = ends.features[picks], features.inner[picks], ends.places[picks], ends.ranges[picks]
        edges = asked.edges[:, cuts]
        at_ends = self._size(own, edges)
        outputs, each = at_ends.argmax(axis=0), np.arange(len(picks))
        runs = np.concatenate([np.column_stack([outputs, cuts - back, ranges]) for back in (1, 0)])
        mixed = np.flatnonzero(features.bins.mixed[runs[:, 1]])
        runs, of_run = runs[mixed], np.tile(each, 2)[mixed]
        found = self._refine(runs, asked)
        better = np.flatnonzero(found.sizes > at_ends[outputs, each][of_run])
        inside = Best.of_none(len(picks))
        inside.offer(of_run[better], found.places[better], better, found.sizes[better], np.zeros(len(better), np.bool_))
        moved = np.flatnonzero(inside.places)
        by = inside.edges[moved]
        places[moved], edges[outputs[moved], moved] = inside.places[moved], found.edges[by]
        for o in range(len(edges) if len(edges) > 1 else 0):
            # the place alone
            here = np.column_stack([np.full_like(by, o), runs[by, 1], places[moved], places[moved] + 1])
            edges[o, moved] = self._refine(here, asked).edges
        edges, sizes = self._measure(own, edges, row_norm)
        known = (ranges[:, 0] <= best.places[own]) & (best.places[own] < ranges[:, 1])
        for k in np.flatnonzero(known & (sizes > best.sizes[own])).tolist():
            best.sizes[own[k]], best.places[own[k]], best.edges[own[k]] = sizes[k], places[k], edges[k]
        return [
            (sizes[k] * self.factors[j] if self.factors[j] != 1 else sizes[k], self._make_stump(j, places[k], edges[k]))
            for k, j in zip(np.flatnonzero(~known).tolist(), own[~known].tolist(), strict=True)
        ]

    def _size(self, features: Ints, edges: Ints) -> Ints:
        """Return the edges of the better sides of stumps, or of their only ones."""
        if self.negations:
            return np.abs(edges)
        sides = self.sides[features]
        return np.where(sides == 0, np.abs(edges), sides * edges)

    def _measure(self, features: Ints, edges: Ints, row_norm: float = inf) -> tuple[Ints, NDArray[Any]]:
        """Return the edges of rising stumps under the outputs where they count, and their sizes over all outputs.

        `edges` are of shape (n_outputs, n_stumps).
        """
        each = np.arange(len(features))
        if row_norm < inf:
            return edges[np.abs(edges).argmax(axis=0), each], row_sizes(edges.T.astype(np.float64), row_norm)
        sizes = self._size(features, edges)
        if len(edges) == 1:
            return edges[0], sizes[0]
        outputs = sizes.argmax(axis=0)
        return edges[outputs, each], sizes[outputs, each]

    @cached_property
    def _mixed(self) -> Ints:
        """The cuts at which bins of several distinct values start."""
        return np.flatnonzero(self.features.bins.mixed)

    @cached_property
    def _ends(self) -> Ends:
        features, n_parts = self.features, self._n_parts
        own, places = features.of_cut[features.inner], features.bins.cuts[features.inner]
        starts = np.full((features.n_features, n_parts + 1), NO_BOUND)
        for j in range(features.n_features if n_parts > 1 else 0):
            firsts = [part[0] for part in np.array_split(features.places(j), n_parts) if part.size]
            starts[j, : len(firsts)] = firsts
        starts[:, 0] = 0
        parts = (starts[own] <= places[:, np.newaxis]).sum(axis=1) - 1
        return Ends(own, places, own * n_parts + parts, np.stack([starts[own, parts], starts[own, parts + 1]], axis=1))

    def _make_stump(self, reading: int, place: int, edge: int) -> Hypothesis:
        threshold = self.features.threshold(reading, place)
        rises = edge >= 0 if self.sides[reading] == 0 else self.sides[reading] > 0
        feature, missing = int(self.features.columns[reading]), int(self.features.ways[reading])
        stump, factor = Stump(feature, threshold, 1 if rises else -1, missing), float(self.factors[reading])
        return stump if factor == 1 else Scaled(stump, factor)

    def _bound_square_sums(self, weights: FixedPoint, asked: Asked, tests: Sequence[FoundTests]) -> tuple[float, float]:
        """Bound the sum of squared edges, and that of those above 0, which differ in features of one side."""
        places, n_terms = self.features.n_distinct - 1, self.features.n_samples + self.features.n_features + len(tests)
        of_tests = [float(self.of_features[test.feature]) ** 2 for test in self.tests.tests]
        try:
            counted = sum(f * test.n_hypotheses for f, test in zip(of_tests, self.tests.tests, strict=True))
            squares_of_tests = sum(f * answer.squares for f, answer in zip(of_tests, tests, strict=True))
        except OverflowError:
            # more subsets of levels than floats can count
            return inf, inf
        # an edge that counts for its factor is off by that times the error
        n_edges = float(places @ self.factors**2) + counted + self.constant

        def bound(of_features: Array) -> float:
            total = float((of_features * self.factors**2).sum()) + squares_of_tests
            total += self.constant * float((weights.totals.astype(np.float64) ** 2).sum())
            return weights.bound_squares(total, n_edges, n_terms)

        squares = self._sum_squares(asked)
        rising = squares.copy()
        for k in np.flatnonzero(self.sides).tolist():
            edges = self.sides[k] * self.features.evaluate_edges(k, asked.weights).astype(np.float64)
            rising[k] = np.square(np.maximum(edges, 0)).sum()
        return bound(squares), bound(rising)

    def _sum_squares(self, asked: Asked) -> Array:
        """Return the sums of squared edges over all places and outputs, shape (n_features,)."""
        features, own = self.features, self._ends.features
        n_outputs, n_features = asked.weights.totals.shape
        squares = (asked.edges[:, features.inner].astype(np.float64) ** 2).sum(axis=0)
        runs = np.zeros((n_outputs * len(self._mixed), 4), np.int64)
        runs[:, 0], runs[:, 1] = np.repeat(np.arange(n_outputs), len(self._mixed)), np.tile(self._mixed, n_outputs)
        inside = np.bincount(features.of_cut[runs[:, 1]], self._refine(runs, asked).squares, n_features)
        return np.asarray(np.bincount(own, squares, n_features) + inside, np.float64)


def count_parts(n_samples: int, n_features: int) -> int:
    """Return in how many parts of a feature's thresholds an answer has the best stump.

    From 4,000 samples on there are several, 1 per 2,000 samples, up to 10 each and 200 in all. All but the best are the
    best of up to 255 places and of the bins beside these: on 20,000 x 20 runs take a quarter to nine tenths of the
    time, by loss; with twenty nothing more is gained, as masters grow.
    """
    return max(1, min(n_samples // 2000, 10, 200 // n_features))


def _without_cost(hypothesis: Hypothesis) -> Hypothesis:
    return hypothesis.hypothesis if isinstance(hypothesis, Scaled) else hypothesis


class Ends(NamedTuple):
    """The ends between the bins of every feature, (n_ends, ...)."""

    features: Ints
    places: Ints
    parts: Ints  # the number of the part that each is in, of all parts of all features
    ranges: Ints  # (n_ends, 2), the first place of that part, and the first of the next


class Asked(NamedTuple):
    """What is asked of stumps, and what bins say of it."""

    weights: Weights
    closed: Closed
    sums: Ints  # (2, n_outputs, n_cuts), the weights >= 0, and those < 0, of the bin behind every cut
    below: Ints  # (n_outputs, n_cuts), those before
    edges: Ints  # (n_outputs, n_cuts), those of the rising stumps there


class Best(NamedTuple):
    """The best open stump of every feature, or of other groups, in the units of the weights."""

    sizes: NDArray[Any]  # what is ranked: the edge of its better side, or of its only one, or a norm
    places: Ints  # where it is; 0 if no place is open
    edges: Ints  # the edge of sign +1 there
    largest: NDArray[Any]  # the largest size, closed or open

    @classmethod
    def of_none(cls, n_groups: int, kind: Any = np.int64) -> Best:
        """Return the best of no places."""
        (sizes, largest), (places, edges) = np.full((2, n_groups), NONE, kind), np.zeros((2, n_groups), np.int64)
        return cls(sizes, places, edges, largest)

    def offer(self, groups: Ints, places: Ints, edges: Ints, sizes: NDArray[Any], shut: Mask) -> None:
        """Take places that are not shut and have larger sizes; of equal ones the lowest."""
        _offer(self, groups, places, edges, sizes, shut)


@njit(cache=True)
def _offer(best: Best, groups: Ints, places: Ints, edges: Ints, sizes: Numbers, shut: Mask) -> None:
    for k in range(len(groups)):
        g = groups[k]
        best.largest[g] = max(best.largest[g], sizes[k])
        better = sizes[k] > best.sizes[g] or (sizes[k] == best.sizes[g] and places[k] < best.places[g])
        if better and not shut[k]:
            best.sizes[g], best.places[g], best.edges[g] = sizes[k], places[k], edges[k]
