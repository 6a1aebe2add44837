"""Decision stumps as an exact oracle: every threshold of every feature is priced, histogram first, then a scan.

Samples whose value is missing have no place; they count as below or as above the threshold, or not at all, which adds
the same to every edge of the feature: so a feature with gaps is priced as one or two **readings**, whose edges are
``total - 2 below`` with a total of their own. Tests of levels are in `levels.py`.

Two notions. A **place** of a feature is a cut between two of its sorted samples; the stump there has the edge
``total - 2 below``, `below` the sum of the weights of the samples before it. A **bin** is a run of places. Summing the
weights by bin, as histogram methods of gradient boosting do, gives the edges at the ends of the bins exactly and bounds
those inside; scanning sorted samples, as CART does, gives every edge. Here bins are scanned only where their bound
reaches the best edge known, so that the answer is that of the whole scan. Weights are integers (`FixedPoint`), whose
sums are the same in every order: ties are ties, and all ways of searching agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property, partial
from itertools import pairwise
from math import inf, ldexp, nextafter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse

from cvxens.colgen.oracles.kinds import Kinds
from cvxens.colgen.oracles.levels import COLUMNS_PER_TEST, KNOWN, FoundTests, LevelTests
from cvxens.colgen.protocols import Column, Priced
from cvxens.errors import InvalidInput
from cvxens.features import SortedFeatures
from cvxens.hypotheses import Constant, Hypothesis, LevelStump, Scaled, Stump
from cvxens.limits import map_in_threads, map_slices, threads_for
from cvxens.problems.duality import row_sizes
from cvxens.proofs.readings import Reading, Statement
from cvxens.rounding import EPSILON
from cvxens.tables import Feature
from cvxens.types import Array
from cvxens.validation import finite_array, one_of, signed_weights, whole

BITS = 61
"""The magnitudes of an output's weights add up to 2**61 at most, so ``total - 2 below`` fits into 64 bits."""

N_BINS = 256
"""The bins that a byte can name."""

N_TOGETHER = 4
"""So many features are summed in bins at a time, or one into so many tables: no addition waits for the one before."""

NO_BOUND = 2**62
"""Above every edge, see `BITS`."""

NONE = -NO_BOUND
"""The size of the best stump where there is none."""

NOTHING_INSIDE = NONE - 1
"""The bound of a bin without places inside."""

SAMPLES_PER_PART, MANY_PARTS, MANY_COLUMNS = 2000, 10, 200
"""What the default of `Stumps.per_feature` is made of: on 20,000 x 20, runs with ten columns a feature for one take a
quarter to nine tenths of the time, by loss; twenty gain nothing more, as masters grow."""

LEVEL_SIDES = ("one", "subsets")

NOBODY = np.empty(0, np.intp)
"""The samples of a gap where there is none."""

Ints: TypeAlias = NDArray[np.int64]


class Stumps:
    """All middle stumps of a sample, and the constant: the exact oracle over this finite set.

    A middle stump separates two neighbouring distinct values of one feature halfway (LL08 section 4.2). Its edge is
    ``sum_i s_i - 2 sum_{i: x_i < threshold} s_i``, so one pass over each sorted feature prices them all,
    and bins spare most of that pass unless the sum of squared edges is wanted.

    Of a feature in which values are missing there are the stumps by which these count as above the threshold, those by
    which they count as below it, and the one that tells them from all others. Of a nominal feature, a column of codes,
    there are the tests of its levels, one of which is that of the missing values. A stump of a feature without gaps, or
    without a level that is met later, says nothing of these: it is 0 there.

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
        At most so many columns are returned; None for all that were found.
    per_feature : int, optional
        Into how many parts the thresholds of a feature are cut, by their ranks, the best stump of each of which is
        returned. Scores need many stumps of a feature, so a run takes fewer rounds with several at a time. The default
        is the best one of the feature (1) for samples below 4,000 and where `columns_per_round` is given; on larger
        ones it is 1 per 2,000 samples, up to 10 of a feature and 200 of all. But for the best one they are found as
        those of features beyond the `exact` best are.
    exact : int, optional
        How many of the features with the largest edges are searched through all thresholds, so that the stump of each
        is its best. Of others, up to 255 thresholds between bins of equal shares are compared (all if there are no
        more), then those in the two bins beside the best, and in bins that could hold the best stump of all. That is
        always found, as are the bounds. By default all features of samples below 4,000, and 1 of larger ones: runs take
        as many rounds.
    square_sum : bool
        False if `Priced.edge_square_sum` is never wanted, as penalties on the squared weights want it for their bound:
        inf is returned. Else it is summed over all thresholds when it is first read.
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
        per_feature: int | None = None,
        exact: int | None = None,
        features: Sequence[Feature] | None = None,
        missing: str = "side",
        levels: str = "one",
    ) -> None:
        kinds = Kinds.from_sample(X, features, missing)
        self.sample, n_features = kinds.X, len(kinds.features)
        self.tests = LevelTests(kinds, subsets=one_of("levels", levels, LEVEL_SIDES) == "subsets")
        sides = kinds.check_sides(signs)
        read = [(j, way) for j in kinds.numeric.tolist() for way in kinds.ways(j)]
        columns = np.array([j for j, _ in read], np.intp)
        self.read_missing = np.array([way for _, way in read], np.int64)
        self.features = SortedFeatures(self.sample, None if kinds.plain else columns.tolist())
        kinds.check_variation(int((self.features.n_distinct > 1).sum()) + self.tests.n_hypotheses)
        self.constant = constant
        if per_feature is None:
            several = min(self.features.n_samples // SAMPLES_PER_PART, MANY_PARTS, MANY_COLUMNS // n_features)
            per_feature = max(1, several) if columns_per_round is None else 1
        self.per_feature = whole("per_feature", per_feature)
        few = self.features.n_samples < 2 * SAMPLES_PER_PART
        self.exact = whole("exact", (n_features if few else 1) if exact is None else exact)
        every = len(read) * self.per_feature + len(self.tests.tests) * COLUMNS_PER_TEST + 1
        self.columns_per_round = every if columns_per_round is None else whole("columns_per_round", columns_per_round)
        self.square_sum = square_sum
        self.of_features = 1 / (np.ones(n_features) if costs is None else _check_costs(costs, n_features))
        self.sides, self.factors = sides[columns], self.of_features[columns]
        self.negations = not self.sides.any()
        self._gaps = [self.features.missing(k) if kinds.gaps[j] else NOBODY for k, (j, _) in enumerate(read)]
        self._search = StumpSearch(self.features)

    @property
    def statement(self) -> Statement | None:
        """The set in an exact proof; None with signs, costs, gaps of which nothing is said, or subsets of levels."""
        tests = {test.feature: test for test in self.tests.tests}
        silent = any(rows.size and not way for rows, way in zip(self._gaps, self.read_missing.tolist(), strict=True))
        subsets = any(test.subsets and len(test.groups) > 2 for test in tests.values())
        if silent or subsets or not self.negations or (self.of_features != 1).any():
            return None
        X = self.sample.toarray() if issparse(self.sample) else self.sample
        readings = []
        for j, column in enumerate(X.T):
            levels = tests[j].groups if j in tests else (KNOWN,)
            readings += Reading.of_numbers(j, column) if KNOWN in levels else Reading.of_levels(j, levels)
        return Statement.from_sample("stumps and constant" if self.constant else "stumps", X, readings)

    @property
    def every_step(self) -> SortedFeatures | None:
        """The features of whose every place the set has both stumps, at unit cost; None where it is another set."""
        others = bool(self.tests.tests) or len(self.features.columns) != self.sample.shape[1]
        return None if not self.negations or (self.of_features != 1).any() or others else self.features

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

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, and its negation too."""
        stump = _without_cost(hypothesis)
        if isinstance(stump, Stump):
            return not self.sides[self.features.columns == stump.feature].any()
        return isinstance(stump, Constant | LevelStump)

    def price(
        self,
        s: Any,
        exclude: Collection[Hypothesis] = (),
        row_norm: float = inf,
        also: Collection[Stump | Constant] = (),
    ) -> Priced:
        """Return the best stump of each feature that varies and the constant, as `Oracle.price` says.

        Of features beyond the `exact` best it is the best of those that were compared. After them, under one output,
        come the stumps of `also`, whatever their edges: they must be of a set that has `every_step`.

        Of equal edges the lowest feature and threshold comes first, then tests of levels, the constant last.
        `edge_bound` exceeds the largest edge by what the rounding of `s` to fixed point can have cost, at most
        ``n_samples * 2**-60 * sum |s|``, and of costs and norms that of a few operations; `edge_square_sum` is sharp to
        about ``n_samples * 2**-52``.
        """
        weights = FixedPoint.from_weights(s, self.features.n_samples)
        known = [_without_cost(hypothesis) for hypothesis in exclude]
        query, n_outputs = self._make_query(weights, known), len(weights.totals)
        tests = self.tests.search(weights.integers, [h for h in known if isinstance(h, LevelStump)], row_norm)
        if row_norm == inf:
            best, at_cuts = self._search.best(query, self.exact, self.factors)
            total: float = int(np.abs(weights.totals).max())
            error: float = weights.error
            share = 0.0
        else:
            best, at_cuts = self._search.best_by_rows(query, row_norm), None
            total = float(row_sizes(weights.totals.astype(np.float64)[np.newaxis], row_norm)[0])
            # conversions to floats, their powers, the sum of these and its root are rounded
            error, share = weights.error * n_outputs ** (1 / row_norm), (n_outputs + 8) * EPSILON
        if (self.of_features != 1).any():
            share += 8 * EPSILON
        more: list[tuple[Any, Hypothesis]] = []
        if self.per_feature > 1 or self.exact < min(self.columns_per_round, self.features.n_features):
            best, more = self._pick_of_parts(query, at_cuts or self._search.visit_bins(query)[1], best, row_norm)
        open_features = np.flatnonzero(best.places)
        sizes = best.sizes if (self.factors == 1).all() else best.sizes * self.factors
        ranked = open_features[np.argsort(-sizes[open_features], kind="stable")][: self.columns_per_round]
        found: list[tuple[Any, Hypothesis]] = [
            (sizes[j], self._make_stump(j, best.places[j], best.edges[j])) for j in ranked.tolist()
        ]
        found += more
        # what is open and what there is at all, each with its error
        outside = ((best.sizes[open_features] + error) * self.factors[open_features]).tolist()
        every = ((best.largest + error) * self.factors)[self.features.n_distinct > 1].tolist()
        for test, answer in zip(self.tests.tests, tests, strict=True):
            factor = float(self.of_features[test.feature])
            found += [(size if factor == 1 else size * factor, _with_cost(h, factor)) for size, h in answer.found]
            outside += [(size + error) * factor for size, _ in answer.found[:1]]
            every.append((answer.largest + error) * factor)
        if self.constant:
            every.append(total + error)
            if not {Constant(1), Constant(-1)} & set(known):
                outside.append(total + error)
                most = weights.totals[np.abs(weights.totals).argmax()]
                found.append((total, Constant(1 if most >= 0 else -1)))
        found = sorted(found, key=lambda pair: -pair[0])
        columns = [
            Column(hypothesis, self.sample, weights.real(size)) for size, hypothesis in found[: self.columns_per_round]
        ]
        columns += self._evaluate(set(also).difference(column.hypothesis for column in columns), weights, query)
        return Priced.with_squares_later(
            columns,
            weights.raised(max(every, default=0.0), share),
            weights.raised(max(outside, default=0.0), share),
            lambda: self._bound_square_sums(weights, query, tests),
        )

    def _evaluate(self, stumps: Collection[Stump | Constant], weights: FixedPoint, query: Query) -> list[Column]:
        """Return stumps as columns, feature by feature, in the order of their thresholds."""
        columns = []
        ordered = sorted(stumps, key=lambda h: (h.feature, h.threshold, h.sign) if isinstance(h, Stump) else (inf,))
        edges: dict[int, Ints] = {}
        for stump in ordered:
            if isinstance(stump, Constant):
                columns.append(Column(stump, self.sample, weights.real(stump.sign * int(weights.totals[0]))))
                continue
            if stump.feature not in edges:
                edges = {stump.feature: self._evaluate_edges(stump.feature, query)[0]}
                values = self.features.entry_values[self.features.entries(stump.feature)]
                places = self.features.places(stump.feature)
            place = np.searchsorted(places, np.searchsorted(values, stump.threshold))
            columns.append(Column(stump, self.sample, weights.real(stump.sign * int(edges[stump.feature][place]))))
        return columns

    def make_stumps(self, features: Ints, places: Ints, signs: Ints) -> list[Stump | Constant]:
        """Return stumps by feature, place among those where its value changes, and sign; -1 is the constant."""
        found: list[Stump | Constant] = []
        own, of = np.empty(0, np.int64), -1
        for feature, place, sign in zip(features.tolist(), places.tolist(), signs.tolist(), strict=True):
            if feature < 0:
                found.append(Constant(sign))
                continue
            if feature != of:
                own, of = self.features.places(feature), feature
            found.append(Stump(feature, self.features.threshold(feature, int(own[place])), sign))
        return found

    def _make_query(self, weights: FixedPoint, exclude: Collection[Hypothesis]) -> Query:
        """Sum the weights that readings count, and turn excluded stumps into places that are closed."""
        shape = len(weights.totals), self.features.n_features
        totals, present, positives = (np.empty(shape, np.int64) for _ in range(3))
        totals.T[:] = present.T[:] = weights.totals
        positives.T[:] = weights.positives
        for k, rows in enumerate(self._gaps):
            if rows.size:
                gone = weights.integers[:, rows]
                present[:, k] -= gone.sum(axis=1)
                positives[:, k] -= np.maximum(gone, 0).sum(axis=1)
                totals[:, k] = present[:, k] + self.read_missing[k] * gone.sum(axis=1)
        thresholds: dict[int, list[float]] = {}
        for stump in exclude:
            if isinstance(stump, Stump):
                for k in np.flatnonzero(self.features.columns == stump.feature).tolist():
                    if not self._gaps[k].size or self.read_missing[k] == stump.missing:
                        thresholds.setdefault(k, []).append(stump.threshold)
        places = [np.empty(0, np.int64)]
        counts = np.zeros(self.features.n_features + 1, np.int64)
        for k in sorted(thresholds):
            values = self.features.entry_values[self.features.entries(k)]
            places.append(np.searchsorted(values, thresholds[k]))
            counts[k + 1] = len(thresholds[k])
        closed = np.concatenate(places), np.cumsum(counts)
        return Query(weights.integers, totals, present, positives, *closed, self.sides)

    def _pick_of_parts(
        self, query: Query, at_cuts: AtCuts, best: Best, row_norm: float
    ) -> tuple[Best, list[tuple[Any, Hypothesis]]]:
        """Return the best of features where a better one is known now, and the best of their other parts, with sizes.

        In a part the best of the ends of bins is looked for, then of the places in the bins on both its sides.
        """
        parts, shut = self._parts, _is_closed(self._parts.features, self._parts.places, query)
        sizes = self._measure(parts.features, query, at_cuts.below[:, parts.cuts], row_norm)[1]
        picks = _find_largest(np.where(shut, NONE, sizes), parts.segments)
        picks = picks[~shut[picks]]
        features = parts.features[picks]
        places, below = self._search.look_around(parts.cuts[picks], features, parts.ranges[:, picks], query, at_cuts)
        edges, sizes = self._measure(features, query, below, row_norm)
        known = best.places[features]
        with_known = (parts.ranges[0, picks] <= known) & (known < parts.ranges[1, picks])
        better = np.flatnonzero(with_known & (sizes > best.sizes[features]))
        best = best._replace(edges=best.edges.copy(), places=best.places.copy(), sizes=best.sizes.copy())
        of_better = features[better]
        best.edges[of_better], best.places[of_better] = edges[better], places[better]
        best.sizes[of_better] = sizes[better]
        more = [
            (sizes[k] * self.factors[j] if self.factors[j] != 1 else sizes[k], self._make_stump(j, places[k], edges[k]))
            for k, j in zip(np.flatnonzero(~with_known).tolist(), features[~with_known].tolist(), strict=True)
        ]
        return best, more

    def _measure(self, features: Ints, query: Query, below: Ints, row_norm: float) -> tuple[Ints, NDArray[Any]]:
        """Return the edges of rising stumps under the outputs where they count, and the sizes of both sides' better.

        `below`, (n_outputs, n_stumps), is the sum of the weights of the samples below.
        """
        edges = query.totals[:, features] - 2 * below
        sides, each = self.sides[features], np.arange(len(features))
        if row_norm < inf:
            # a norm knows no sides
            return edges[np.abs(edges).argmax(axis=0), each], row_sizes(edges.T.astype(np.float64), row_norm)
        sided = np.where(sides == 0, np.abs(edges), sides * edges)
        outputs = sided.argmax(axis=0)
        return edges[outputs, each], sided[outputs, each]

    @cached_property
    def _parts(self) -> Parts:
        """The inner ends of bins by feature and part."""
        bins, starts = self._search.bins, np.full((self.features.n_features, self.per_feature), NO_BOUND)
        for j in range(self.features.n_features):
            own = [part[0] for part in np.array_split(self.features.places(j), self.per_feature) if part.size]
            starts[j, : len(own)] = own
        inner = [np.arange(a + 1, b - 1) for a, b in pairwise(bins.cut_starts.tolist())]
        features, cuts = np.repeat(np.arange(len(inner)), [len(own) for own in inner]), np.concatenate(inner)
        parts = (starts[features] <= bins.cuts[cuts, np.newaxis]).sum(axis=1) - 1
        segments = np.unique(features * self.per_feature + parts, return_index=True)[1]
        ends = np.append(starts[:, 1:], np.full((len(starts), 1), NO_BOUND), axis=1)
        ranges = np.stack([starts[features, parts], ends[features, parts]])
        return Parts(cuts, features, bins.cuts[cuts], ranges, segments)

    def _make_stump(self, reading: int, place: int, edge: int) -> Hypothesis:
        threshold = self.features.threshold(reading, place)
        rises = edge >= 0 if self.sides[reading] == 0 else self.sides[reading] > 0
        feature, missing = int(self.features.columns[reading]), int(self.read_missing[reading])
        return _with_cost(Stump(feature, threshold, 1 if rises else -1, missing), float(self.factors[reading]))

    def _bound_square_sums(self, weights: FixedPoint, query: Query, tests: Sequence[FoundTests]) -> tuple[float, float]:
        """Bound the sum of squared edges, and that of those above 0, which differ in features of one side."""
        if not self.square_sum:
            return inf, inf
        n_outputs, places = len(weights.totals), self.features.n_distinct - 1
        rounding = (self.features.n_samples + self.features.n_features + len(tests) + 8) * EPSILON
        of_tests = [float(self.of_features[test.feature]) ** 2 for test in self.tests.tests]
        try:
            counted = sum(f * test.n_hypotheses for f, test in zip(of_tests, self.tests.tests, strict=True))
            squares_of_tests = sum(f * answer.squares for f, answer in zip(of_tests, tests, strict=True))
        except OverflowError:
            # more subsets of levels than floats can count
            return inf, inf
        # | |edges| - |rounded edges| | <= |edges - rounded edges| <= error sqrt(sum of factor^2 over all edges)
        n_edges = (float(places @ self.factors**2) + counted + self.constant) * n_outputs
        length = np.sqrt(n_edges * (1 + rounding))

        def bound(of_features: Array) -> float:
            total = float((of_features * self.factors**2).sum()) + squares_of_tests
            total += self.constant * float((weights.totals.astype(np.float64) ** 2).sum())
            return weights.real_square((np.sqrt(total * (1 + rounding)) + weights.error * length) ** 2)

        squares = self._search.sum_squares(query)
        rising = squares.copy()
        for k in np.flatnonzero(self.sides).tolist():
            edges = self.sides[k] * self._evaluate_edges(k, query).astype(np.float64)
            rising[k] = np.square(np.maximum(edges, 0)).sum()
        return bound(squares), bound(rising)

    def _evaluate_edges(self, reading: int, query: Query) -> Ints:
        """Return the edges of a reading's rising stumps, in the units of the weights, (n_outputs, n_places)."""
        rows, places = self.features.entry_rows[self.features.entries(reading)], self.features.places(reading)
        listed = rows < self.features.n_samples
        weights = np.where(listed, query.integers[:, np.where(listed, rows, 0)], 0)
        # the entry of all zeros has the weights of those that are not listed
        weights[:, ~listed] = (query.present[:, reading] - weights.sum(axis=1))[:, np.newaxis]
        return np.asarray(query.totals[:, reading, np.newaxis] - 2 * np.cumsum(weights, axis=1)[:, places - 1])


def _without_cost(hypothesis: Hypothesis) -> Hypothesis:
    return hypothesis.hypothesis if isinstance(hypothesis, Scaled) else hypothesis


def _with_cost(hypothesis: Hypothesis, factor: float) -> Hypothesis:
    return hypothesis if factor == 1 else Scaled(hypothesis, factor)


def _check_costs(costs: Any, n_features: int) -> Array:
    checked = finite_array("costs", costs, ndim=1)
    if len(checked) != n_features or checked.min() <= 0:
        raise InvalidInput("costs", f"found {costs!r:.100}", f"give a number above 0 for each of {n_features} features")
    return checked


class Parts(NamedTuple):
    """The parts that the places of every feature are cut into, and the inner ends of bins in them, in their order."""

    cuts: Ints  # (n_inner,), which cuts of `Bins` they are
    features: Ints  # (n_inner,)
    places: Ints  # (n_inner,)
    ranges: Ints  # (2, n_inner), the first place of the part that each is in, and the first of the next
    segments: Ints  # where those of each part start


def _is_closed(features: Ints, places: Ints, query: Query) -> NDArray[np.bool_]:
    """Return True for the places of features that are excluded."""
    of_closed = np.repeat(np.arange(len(query.sides)), np.diff(query.closed_starts))
    # no two features share a number
    stride = 1 + int(max(places.max(initial=0), query.closed.max(initial=0)))
    return np.isin(features * stride + places, of_closed * stride + query.closed)


def _find_largest(sizes: Array, segments: Ints) -> Ints:
    """Return where the largest entry of every segment is, the first of equal ones."""
    if not len(segments):
        return np.empty(0, np.int64)
    lengths = np.diff(np.append(segments, len(sizes)))
    largest = np.flatnonzero(sizes == np.repeat(np.maximum.reduceat(sizes, segments), lengths))
    return largest[np.unique(np.repeat(np.arange(len(segments)), lengths)[largest], return_index=True)[1]]


class FixedPoint(NamedTuple):
    """Signed weights as integers: ``s = integers * 2**exponent`` up to an error that is known.

    Examples
    --------
    >>> weights = FixedPoint.from_weights([0.5, -0.25], 2)
    >>> weights.real(weights.totals[0]), weights.error
    (0.25, 1)
    """

    integers: Ints  # (n_outputs, n_samples), the weights rounded
    totals: Ints  # (n_outputs,), their sums
    positives: Ints  # (n_outputs,), the sums of those that are positive
    exponent: int
    error: int  # a bound on |sum_i s_i h_i - sum_i integers_i h_i| for every h in {-1, +1}, in units of 2**exponent

    @classmethod
    def from_weights(cls, s: Any, n_samples: int) -> FixedPoint:
        """Round signed weights of shape (n_samples,) or (n_samples, n_outputs)."""
        weights = np.ascontiguousarray(signed_weights(s, n_samples).T)
        with np.errstate(over="ignore"):
            mass = float(np.abs(weights).sum(axis=1).max())
        if mass == inf:
            raise InvalidInput("s", "found weights whose sum overflows", "scale them down")
        exponent = int(np.frexp(mass)[1]) - BITS
        scaled = np.ldexp(weights, -exponent)
        rounded = np.rint(scaled)
        lost = np.abs(scaled - rounded).sum(axis=1).max()
        integers = rounded.astype(np.int64)
        positives = np.maximum(integers, 0).sum(axis=1)
        return cls(integers, integers.sum(axis=1), positives, exponent, int(np.ceil(lost)) + (mass > 0))

    def real(self, units: float) -> float:
        """Return a number of units as a float."""
        return ldexp(float(units), self.exponent)

    def real_square(self, square: float) -> float:
        """Return a number of squared units as a float, inf if it is too large for one."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(square, 2 * self.exponent))

    def raised(self, units: float, share: float = 0.0) -> float:
        """Return a float that is at least so many units, and `share` of them more."""
        return nextafter(self.real(units + abs(units) * share), inf) if units else 0.0


class Bins(NamedTuple):
    """Features cut into at most 256 bins each, at places where their values change; `_starts` say where each begins."""

    features: Ints  # (n_binned,), which features they are
    cuts: Ints  # the places where the bins of each feature start, then the one where its last bin ends
    cut_starts: Ints
    mixed: NDArray[np.bool_]  # as `cuts`: True if the bin that starts there holds several distinct values
    codes: NDArray[np.uint8]  # the bins of the samples that are listed, feature by feature
    code_starts: Ints
    rows: NDArray[np.int32]  # the samples that are listed, ascending; first all samples, shared by who lists all
    row_starts: Ints
    rest: Ints  # (n_binned,), the bin of all samples that are not listed; -1 if all of known values are
    n_samples: int


class _FeatureBins(NamedTuple):
    """The bins of one feature; the names are those of `Bins`."""

    cuts: Ints
    mixed: NDArray[np.bool_]
    rest: int
    rows: NDArray[np.int32]
    codes: NDArray[np.uint8]


def cut_into_bins(features: SortedFeatures, chosen: Ints) -> Bins:
    """Cut the `chosen` features; up to 256 distinct values are bins of their own.

    Examples
    --------
    >>> bins = cut_into_bins(SortedFeatures([[0.5, 3.0], [0.5, 1.0], [0.5, 2.0], [7.0, 2.0]]), np.arange(2))
    >>> bins.cuts, bins.cut_starts
    (array([0, 3, 4, 0, 1, 3, 4]), array([0, 3, 7]))
    >>> bins.rest, bins.codes, bins.rows
    (array([0, 1]), array([1, 2, 0], dtype=uint8), array([0, 1, 2, 3, 3, 0, 1], dtype=int32))
    """
    by_feature = map_in_threads(partial(_cut, features), chosen.tolist())
    rest = np.array([b.rest for b in by_feature], np.int64)
    cuts, cut_starts = _join([b.cuts for b in by_feature], np.int64)
    mixed, _ = _join([b.mixed for b in by_feature], np.bool_)
    codes, code_starts = _join([b.codes for b in by_feature], np.uint8)
    everyone = np.arange(features.n_samples, dtype=np.int32)
    some = np.array([len(b.rows) < features.n_samples for b in by_feature], np.bool_)
    rows, row_starts = _join(
        [everyone, *(b.rows[: len(b.rows) * own] for b, own in zip(by_feature, some, strict=True))], np.int32
    )
    row_starts = np.where(some, row_starts[1:-1], 0)
    return Bins(chosen, cuts, cut_starts, mixed, codes, code_starts, rows, row_starts, rest, features.n_samples)


def _join(parts: Sequence[NDArray], kind: DTypeLike) -> tuple[NDArray, Ints]:
    """Return all parts as one array, and where each starts and the last ends."""
    return np.concatenate([np.empty(0, kind), *parts]), np.cumsum([0, *map(len, parts)])


def _cut(features: SortedFeatures, feature: int) -> _FeatureBins:
    places, rows = features.places(feature), features.ascending(feature)
    cuts = np.concatenate([[0], _inner_cuts(places, len(rows)), [len(rows)]])
    mixed = np.searchsorted(places, cuts[1:]) > np.searchsorted(places, cuts[:-1], "right")
    sizes = cuts[1:] - cuts[:-1]
    codes = np.repeat(np.arange(len(sizes), dtype=np.uint8), sizes)
    rest = _choose_rest(rows, codes, features.n_samples)
    listed = np.flatnonzero(codes != rest)
    listed = listed[np.argsort(rows[listed])]
    return _FeatureBins(cuts, np.append(mixed, False), rest, rows[listed], codes[listed])


def _inner_cuts(places: Ints, n_entries: int) -> Ints:
    """Return at most 255 of `places`: all, or those on both sides of equal shares, so that heavy values stand alone."""
    n_bins = N_BINS
    chosen = places
    while len(chosen) >= N_BINS:
        shares = np.arange(1, n_bins) * n_entries // n_bins
        before = np.searchsorted(places, shares, "right") - 1
        after = np.searchsorted(places, shares)
        chosen = np.unique(places[np.clip(np.append(before, after), 0, len(places) - 1)])
        n_bins //= 2
    return chosen


def _choose_rest(rows: NDArray[np.int32], codes: NDArray[np.uint8], n_samples: int) -> int:
    """Return the bin not to list: that of zeros that are not stored, or of at least half the samples, or none (-1)."""
    if not rows.size:
        return -1
    last = int(rows.argmax())
    middle = int(codes[len(codes) // 2])
    if rows[last] == n_samples:
        return int(codes[last])
    return middle if 2 * np.count_nonzero(codes == middle) >= n_samples else -1


class Best(NamedTuple):
    """The best open stump of every output and feature, in the units of the weights, (n_outputs, n_features) each."""

    edges: Ints  # the edge of sign +1 at the best place
    places: Ints  # where it is; 0 if no place is open
    sizes: NDArray[Any]  # the edge of its better side there, or of its only one: what is ranked; `NONE` at place 0
    largest: NDArray[Any]  # the largest size, closed or open
    squares: Array  # the sum of squared edges over the places that were visited; it says nothing if not all were

    def merge_outputs(self) -> Best:
        """Return the best of all outputs, of equal sizes the lowest place, all shapes (n_features,); squares add up."""
        winning = np.where(self.sizes == self.sizes.max(axis=0), self.places, NO_BOUND).argmin(axis=0)
        edges, places, sizes = (
            np.take_along_axis(a, winning[np.newaxis], axis=0)[0] for a in (self.edges, self.places, self.sizes)
        )
        return Best(edges, places, sizes, self.largest.max(axis=0), self.squares.sum(axis=0))


class Query(NamedTuple):
    """Signed weights in fixed point, the places of the stumps that are excluded, and the sides of all."""

    integers: Ints
    totals: Ints  # (n_outputs, n_features), the edges of a stump below all known values
    present: Ints  # (n_outputs, n_features), the sums of the weights of the samples whose value is known
    positives: Ints  # (n_outputs, n_features), of these the sums of those that are positive
    closed: Ints  # places that must not be answered with, feature by feature
    closed_starts: Ints  # (n_features + 1,)
    sides: Ints  # (n_features,), 1 for rising stumps alone, -1 for falling ones, 0 for both

    def empty_answer(self) -> Best:
        """Return the answer before any place was visited."""
        edges, places, sizes, largest = np.zeros((4, len(self.totals), len(self.closed_starts) - 1), np.int64)
        sizes[:] = largest[:] = NONE
        return Best(edges, places, sizes, largest, np.zeros(edges.shape))


class SortedScan(NamedTuple):
    """Features to be scanned through in sorted order, bin by bin; named as in `Bins` and `SortedFeatures`."""

    features: Ints
    cuts: Ints
    cut_starts: Ints  # (n_scanned,)
    starts: Ints
    rows: NDArray[np.int32]
    changes: NDArray[np.bool_]
    has_zeros: NDArray[np.bool_]


class AtCuts(NamedTuple):
    """What the bins tell of a query: for every cut, those of `Bins`, arrays of shape (n_outputs, n_cuts)."""

    below: Ints  # the sum of the weights before the cut
    reach: Ints  # at least the sizes of the edges inside the bin that starts there; below all sizes if there are none


class StumpSearch:
    """The search over one sample: the bins and sorted features are prepared before any weights are known.

    All places of features of at most 256 distinct values are ends of bins. The others are scanned too, through bins
    where an edge could reach the best one known. Inside a bin, `below` stays between its value at the start plus the
    negative weights of the bin, and that plus the positive.
    """

    def __init__(self, features: SortedFeatures) -> None:
        self.features, self.n_features = features, features.n_features
        self.bins = cut_into_bins(features, np.arange(self.n_features))
        wide = np.flatnonzero(features.n_distinct > N_BINS)
        self.groups = _group_features(self.bins)
        self.scan = _prepare_scan(features, wide, self.bins)

    def best(self, query: Query, exact: int, factors: Array) -> tuple[Best, AtCuts]:
        """Return the best open stump of every feature over all outputs, and what is known at the ends of bins.

        It is exact for those features whose sizes, times their factors, are the `exact` largest, at least one. For
        others it is the best that was visited, at the ends of all bins and inside those of large bounds.
        """
        best, at_cuts = self.visit_bins(query)
        # a bin can be left out if its bound is below the best edge of its feature, or below the `exact` best of all
        top = best.sizes.max(axis=0)
        rank = max(self.n_features - exact, 0)
        least = np.partition(top * factors, rank)[rank : rank + 1] / factors
        # what floats round off the least one that counts is left to be visited
        least = np.clip(least - np.abs(least) * 4 * EPSILON, NONE, NO_BOUND).astype(np.int64)
        self._visit_places(query, at_cuts, best, np.maximum(top, least))
        return best.merge_outputs(), at_cuts

    def visit_bins(self, query: Query) -> tuple[Best, AtCuts]:
        """Compare the edges at the ends of all bins, output by output."""
        at_cuts = AtCuts(*np.empty((2, len(query.totals), len(self.bins.cuts)), np.int64))
        best = query.empty_answer()

        def visit(tasks: slice) -> None:
            _visit_bins((tasks.start, tasks.stop), query, self.bins, self.groups, at_cuts, best)

        map_slices(visit, len(query.totals) * (len(self.groups) - 1), self._count_threads(query), guided=True)
        return best, at_cuts

    def sum_squares(self, query: Query) -> Array:
        """Return the sums of squared edges over all places and outputs, shape (n_features,)."""
        best, at_cuts = self.visit_bins(query)
        at_cuts.reach[at_cuts.reach != NOTHING_INSIDE] = NO_BOUND
        self._visit_places(query, at_cuts, best, np.full(self.n_features, NONE))
        return np.asarray(best.squares.sum(axis=0))

    def look_around(self, cuts: Ints, features: Ints, ranges: Ints, query: Query, at_cuts: AtCuts) -> tuple[Ints, Ints]:
        """Return the best open places in the bins on both sides of open cuts, and the sums of the weights before.

        Places are those within `ranges`, (2, n_cuts); the best are those under the output where the edge at the cut has
        the largest size.
        """
        places, below = self.bins.cuts[cuts], np.ascontiguousarray(at_cuts.below[:, cuts])
        if len(self.scan.features):
            wide = np.flatnonzero(self.features.n_distinct[features] > N_BINS)

            def visit(tasks: slice) -> None:
                chosen = wide[tasks]
                _look_around(chosen, cuts, features, ranges, query, self.scan, at_cuts, places, below)

            map_slices(visit, len(wide), self._count_threads(query), guided=True)
        return places, below

    def _visit_places(self, query: Query, at_cuts: AtCuts, best: Best, floor: Ints) -> None:
        """Compare the edges inside the bins whose bounds reach the `floor` of their feature and the best edge known."""

        def visit(tasks: slice) -> None:
            _visit_places((tasks.start, tasks.stop), query, self.scan, at_cuts, floor, best)

        map_slices(visit, len(query.totals) * len(self.scan.features), self._count_threads(query), guided=True)

    def _count_threads(self, query: Query) -> int:
        return threads_for(query.integers.size * self.n_features)

    @cached_property
    def every_scan(self) -> SortedScan:
        """All features, to be scanned all the way."""
        return _prepare_scan(self.features, np.arange(self.n_features), self.bins)

    def best_by_rows(self, query: Query, order: float) -> Best:
        """Return the best open stump of every feature, and its size, by the norm of its edges over the outputs.

        A norm knows no sides: weights over several outputs have either sign.
        """
        weights, shape = np.ascontiguousarray(query.integers.T), self.n_features
        nothing = np.full(shape, -inf)
        best = Best(np.zeros(shape, np.int64), np.zeros(shape, np.int64), nothing, nothing.copy(), np.zeros(shape))

        def visit(tasks: slice) -> None:
            _visit_rows((tasks.start, tasks.stop), query, weights, self.every_scan, order, best)

        # made before threads ask for it
        assert len(self.every_scan.features) == shape
        map_slices(visit, shape, self._count_threads(query), guided=True)
        return best


def _prepare_scan(features: SortedFeatures, chosen: Ints, bins: Bins) -> SortedScan:
    """Prepare the `chosen` features, of all in `bins`, for a scan between the cuts."""
    rows = features.entry_rows if len(chosen) else np.empty(0, np.int32)
    changes = features.changes if len(chosen) else np.empty(0, np.bool_)
    return SortedScan(chosen, bins.cuts, bins.cut_starts[chosen], features.starts, rows, changes, features.has_zeros)


def _group_features(bins: Bins) -> Ints:
    """Return where groups of features start, and the last one ends, that are summed at a time.

    They are `N_TOGETHER` neighbours that list all samples, or single ones.
    """
    all_listed = np.diff(bins.code_starts) == bins.n_samples
    groups = [0]
    while (start := groups[-1]) < len(all_listed):
        groups.append(start + (N_TOGETHER if all_listed[start : start + N_TOGETHER].sum() == N_TOGETHER else 1))
    return np.array(groups)


@njit(cache=True, nogil=True)
def _visit_bins(tasks: tuple[int, int], query: Query, bins: Bins, groups: Ints, at_cuts: AtCuts, best: Best) -> None:
    """Compare the edges at the cuts between bins; note the bounds of what is inside the bins."""
    n_groups = len(groups) - 1
    tables = np.empty((N_TOGETHER, 2 * N_BINS), np.int64)
    for task in range(tasks[0], tasks[1]):
        o, group = task // n_groups, task % n_groups
        first, last = groups[group], groups[group + 1]
        if last - first == N_TOGETHER:
            _sum_together(query.integers[o], first, bins, tables)
        else:
            _sum_alone(o, first, query, bins, tables)
        for f in range(first, last):
            _visit_bins_of_feature(o, f, query, bins, tables[f - first], at_cuts, best)


@njit(cache=True)
def _sum_together(weights: Ints, f: int, bins: Bins, tables: Ints) -> None:
    """Sum the weights >= 0 of every bin, and from `N_BINS` on those < 0, for four features that list all samples.

    A weight is read, and its sign found, once for the four, whose additions do not wait for one another.
    """
    n, start = len(weights), bins.code_starts[f]
    codes = bins.codes[start : start + 4 * n]
    a, b, c, d = codes[:n], codes[n : 2 * n], codes[2 * n : 3 * n], codes[3 * n :]
    tables[:] = 0
    of_a, of_b, of_c, of_d = tables[0], tables[1], tables[2], tables[3]
    for i in range(n):
        weight = weights[i]
        # unsigned indices are not wrapped
        half = np.uint64(weight >> 63) & np.uint64(N_BINS)
        of_a[np.uint64(a[i]) + half] += weight
        of_b[np.uint64(b[i]) + half] += weight
        of_c[np.uint64(c[i]) + half] += weight
        of_d[np.uint64(d[i]) + half] += weight


@njit(cache=True)
def _sum_alone(o: int, f: int, query: Query, bins: Bins, tables: Ints) -> None:
    """Sum the weights of the bins of one feature, as `_sum_together` does, into the first table."""
    weights = query.integers[o]
    codes = bins.codes[bins.code_starts[f] : bins.code_starts[f + 1]]
    rows = bins.rows[bins.row_starts[f] : bins.row_starts[f] + len(codes)]
    tables[:] = 0
    for i in range(len(codes)):
        # neighbours in different tables, so that none waits for the one before
        weight = weights[rows[i]]
        half = np.uint64(weight >> 63) & np.uint64(N_BINS)
        tables[i % N_TOGETHER, np.uint64(codes[i]) + half] += weight
    sums = tables[0]
    for k in range(1, N_TOGETHER):
        sums += tables[k]
    if bins.rest[f] >= 0:
        present, positives = query.present[o, bins.features[f]], query.positives[o, bins.features[f]]
        sums[bins.rest[f]] = positives - sums[:N_BINS].sum()
        sums[N_BINS + bins.rest[f]] = present - positives - sums[N_BINS:].sum()


@njit(cache=True)
def _visit_bins_of_feature(o: int, f: int, query: Query, bins: Bins, sums: Ints, at_cuts: AtCuts, best: Best) -> None:
    """Visit the bins of one feature under the weights of one output, whose sums are known."""
    size, edge, place, largest, squares = NONE, 0, 0, NONE, 0.0
    first, end = bins.cut_starts[f], bins.cut_starts[f + 1] - 1
    feature = bins.features[f]
    side, total = query.sides[feature], query.totals[o, feature]
    shut = _list_closed(feature, query)
    below = 0
    for cut in range(first, end):
        here, rises, falls = total - 2 * below, sums[cut - first], sums[N_BINS + cut - first]
        if cut > first:
            squares += float(here) * float(here)
            if _size(here, side) >= size:
                size, edge, place, largest = _compare((size, edge, place, largest), (here, side), bins.cuts[cut], shut)
        # inside the bin `below` gains some of these weights only
        reach = max(_size(here - 2 * rises, side), _size(here - 2 * falls, side))
        at_cuts.below[o, cut] = below
        at_cuts.reach[o, cut] = reach if bins.mixed[cut] else NOTHING_INSIDE
        below += rises + falls
    at_cuts.below[o, end], at_cuts.reach[o, end] = below, NOTHING_INSIDE
    best.edges[o, feature], best.places[o, feature] = edge, place
    best.sizes[o, feature], best.largest[o, feature], best.squares[o, feature] = size, largest, squares


@njit(cache=True, nogil=True)
def _visit_places(
    tasks: tuple[int, int], query: Query, scan: SortedScan, at_cuts: AtCuts, floor: Ints, best: Best
) -> None:
    """Compare the edges inside all bins that could hold the best stump of their feature."""
    for task in range(tasks[0], tasks[1]):
        _visit_places_of_feature(task, query, scan, at_cuts, floor, best)


@njit(cache=True)
def _visit_places_of_feature(
    task: int, query: Query, scan: SortedScan, at_cuts: AtCuts, floor: Ints, best: Best
) -> None:
    """Visit the places of one feature under the weights of one output."""
    o, f = task // len(scan.features), task % len(scan.features)
    feature, first = scan.features[f], scan.cut_starts[f]
    size, edge, place = best.sizes[o, feature], best.edges[o, feature], best.places[o, feature]
    largest, squares, side = best.largest[o, feature], best.squares[o, feature], query.sides[feature]
    entries = slice(scan.starts[feature], scan.starts[feature + 1])
    rows, changes = scan.rows[entries], scan.changes[entries]
    shut = _list_closed(feature, query)
    weights, total = query.integers[o], query.totals[o, feature]
    zeros = _weight_of_zeros(weights, query.present[o, feature], rows) if scan.has_zeros[feature] else 0
    cut = first
    while scan.cuts[cut] < len(rows):
        if at_cuts.reach[o, cut] >= max(size, floor[feature]):
            below = at_cuts.below[o, cut]
            for k in range(scan.cuts[cut] + 1, scan.cuts[cut + 1]):
                row = rows[k - 1]
                below += weights[row] if row < len(weights) else zeros
                if changes[k]:
                    here = total - 2 * below
                    squares += float(here) * float(here)
                    if _size(here, side) >= size:
                        size, edge, place, largest = _compare((size, edge, place, largest), (here, side), k, shut)
        cut += 1
    best.edges[o, feature], best.places[o, feature] = edge, place
    best.sizes[o, feature], best.largest[o, feature], best.squares[o, feature] = size, largest, squares


@njit(cache=True, nogil=True)
def _look_around(
    chosen: Ints,
    cuts: Ints,
    features: Ints,
    ranges: Ints,
    query: Query,
    scan: SortedScan,
    at_cuts: AtCuts,
    places: Ints,
    sums: Ints,
) -> None:
    """Move the chosen of the places, and the sums of the weights before them, to better places in the bins around."""
    n_outputs, n_samples = query.integers.shape
    for m in chosen:
        feature, cut = features[m], cuts[m]
        entries = slice(scan.starts[feature], scan.starts[feature + 1])
        rows, changes = scan.rows[entries], scan.changes[entries]
        side, shut = query.sides[feature], _list_closed(feature, query)
        o, size = 0, NONE
        for output in range(n_outputs):
            own = _size(query.totals[output, feature] - 2 * at_cuts.below[output, cut], side)
            if own > size:
                o, size = output, own
        weights, total = query.integers[o], query.totals[o, feature]
        found = cut
        for b in (cut - 1, cut):
            zeros = _weight_inside(o, b, rows, query, scan, at_cuts) if scan.has_zeros[feature] else 0
            below = at_cuts.below[o, b]
            for k in range(scan.cuts[b] + 1, scan.cuts[b + 1]):
                row = rows[k - 1]
                below += weights[row] if row < n_samples else zeros
                if changes[k] and ranges[0, m] <= k < ranges[1, m]:
                    own = _size(total - 2 * below, side)
                    if own > size and k not in shut:
                        size, places[m], found = own, k, b
        if places[m] != scan.cuts[cut]:
            for output in range(n_outputs):
                zeros = _weight_inside(output, found, rows, query, scan, at_cuts) if scan.has_zeros[feature] else 0
                below = at_cuts.below[output, found]
                for row in rows[scan.cuts[found] : places[m]]:
                    below += query.integers[output, row] if row < n_samples else zeros
                sums[output, m] = below


@njit(cache=True)
def _weight_inside(o: int, cut: int, rows: NDArray[np.int32], query: Query, scan: SortedScan, at_cuts: AtCuts) -> int:
    """Return what the listed samples of a bin leave of its weight: that of the entry of all zeros, if it has it."""
    weights = query.integers[o]
    rest = at_cuts.below[o, cut + 1] - at_cuts.below[o, cut]
    for row in rows[scan.cuts[cut] : scan.cuts[cut + 1]]:
        if row < len(weights):
            rest -= weights[row]
    return rest


@njit(cache=True, nogil=True)
def _visit_rows(
    tasks: tuple[int, int], query: Query, weights: Ints, scan: SortedScan, order: float, best: Best
) -> None:
    """Compare the norms over the outputs, of the order 1 or 2 or any other, at all places; weights (n, n_outputs)."""
    n_samples, n_outputs = weights.shape
    for feature in range(tasks[0], tasks[1]):
        entries = slice(scan.starts[feature], scan.starts[feature + 1])
        rows, changes = scan.rows[entries], scan.changes[entries]
        shut = _list_closed(feature, query)
        zeros, below = query.present[:, feature].copy(), np.zeros(n_outputs, np.int64)
        for row in rows:
            if row < n_samples:
                zeros -= weights[row]
        size, place, largest, squares = -np.inf, 0, -np.inf, 0.0
        for k in range(1, len(rows)):
            row = rows[k - 1]
            below += weights[row] if row < n_samples else zeros
            if changes[k]:
                total = 0.0
                for o in range(n_outputs):
                    edge = abs(float(query.totals[o, feature] - 2 * below[o]))
                    squares += edge * edge
                    # times a power of two, so that no power of a size overflows
                    total += (edge * 2.0**-61) ** order
                own = total ** (1 / order) * 2.0**61
                largest = max(largest, own)
                if own > size and k not in shut:
                    size, place = own, k
        best.edges[feature], best.places[feature], best.sizes[feature] = 1, place, size
        best.largest[feature], best.squares[feature] = largest, squares


@njit(cache=True)
def _weight_of_zeros(weights: Ints, total: int, rows: NDArray[np.int32]) -> int:
    """Return the sum of the weights of all samples that are not in `rows`."""
    for row in rows:
        if row < len(weights):
            total -= weights[row]
    return total


@njit(cache=True)
def _size(edge: int, side: int) -> int:
    """Return the edge of the better side of a stump, of sign +1 or -1, or of the only one."""
    return abs(edge) if side == 0 else side * edge


@njit(cache=True)
def _compare(
    best: tuple[int, int, int, int], edge_and_side: tuple[int, int], place: int, shut: Ints
) -> tuple[int, int, int, int]:
    """Return size, edge, place and largest size after a stump whose size is no smaller than the best one's."""
    size, edge, best_place, largest = best
    here = _size(*edge_and_side)
    largest = max(largest, here)
    loses = here == size and 0 < best_place < place
    return (size, edge, best_place, largest) if loses or place in shut else (here, edge_and_side[0], place, largest)


@njit(cache=True)
def _list_closed(feature: int, query: Query) -> Ints:
    """Return the closed places of one feature."""
    return query.closed[query.closed_starts[feature] : query.closed_starts[feature + 1]]
