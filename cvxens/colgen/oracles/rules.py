"""Rules as exact oracles: those of at most two conditions, and boxes, conjunctions of intervals, by branch and bound.

Rules of two conditions are read off from sums of weights over pairs of bins. Boxes are searched, which may stop at any
time and still bounds the set.

Every box of at most `max_length` conditions is one over a list of so many features, on which the samples are cells of
a table of bins. The cells with positive weights alone bound the edges of all boxes over these features, as do the
negative ones. So lists are searched in the order of their bounds, until none that is left has one above the best edge.
Within a list, the intervals of one feature after another are tried, those of the last one at once: the best run of
consecutive bins is found by one pass (Bentley 1984); a table that is bounded by less than the best edge is left. Where
values are missing, they are a last cell of their feature, which each interval may have beside its bins, or alone.
Weights are integers (`FixedPoint`), whose sums are the same in every order.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from functools import cached_property, partial
from itertools import chain, combinations
from math import comb, inf
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from cvxens.colgen.oracles.bins import (
    AnytimeOracle,
    BinnedOracle,
    drop_unweighted,
    has_row,
    is_over,
    measure_edges,
    measure_norms,
    size_edges,
)
from cvxens.colgen.oracles.levels import check_sides
from cvxens.colgen.protocols import Priced
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.features import FixedPoint, Ints, sum_joint
from cvxens.hypotheses import Among, Constant, Hypothesis, Interval, Rule, Stump, simplify
from cvxens.limits import map_in_threads, map_slices, threads_for
from cvxens.types import Data, Mask, Numbers
from cvxens.validation import whole

Closed: TypeAlias = dict[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]]
"""By the readings of rules that must not be answered with: places and sides of their conditions."""


@documented
@dataclass(eq=False, repr=False)
class PairRules(BinnedOracle):
    """All rules of one or two conditions, and the constant: the exact oracle over this set.

    A condition is ``x_j >= t`` or ``x_j < t``, with t a threshold between the bins of feature j; two conditions are of
    two features. A rule is 1 or -1 where its conditions hold and 0 elsewhere (`Rule`), so that its edge is the sum of
    the weights there: with the sums of the weights by pairs of bins, one for each rule, O(n d^2 + d^2 bins^2) in all.
    Where values are missing, each condition comes with these and without them, and the values that are known,
    or missing, make conditions of their own.

    Parameters
    ----------
    signs : array-like of shape (n_features,), optional
        +1 for rules that rise with the feature alone, which vote 1 above a threshold or -1 below it, -1 for those that
        fall, 0 for both, as by default. With w >= 0 the score is then monotone in that feature, wherever it is known.
    columns_per_round : int
        At most so many columns are returned: of every feature and of every pair of features the best rule, and the
        constant, ranked.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> priced = PairRules(X, columns_per_round=3).price(np.array([-0.1, -0.5, -0.2, 1.0]))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 0.5 and x[1] >= 0.5 -> +1, else 0 1.0
    x[0] >= 0.5 -> +1, else 0 0.8
    x[1] >= 0.5 -> +1, else 0 0.5
    """

    source: ClassVar[str] = "Friedman & Popescu 2008"

    _: KW_ONLY
    signs: InitVar[ArrayLike | None] = None
    columns_per_round: int = 50

    def __post_init__(self, X: Data, sample_weight: ArrayLike, signs: ArrayLike | None) -> None:
        super().__post_init__(X, sample_weight)
        readings = self.readings
        varying = np.flatnonzero(readings.counts)
        alone = np.stack([varying, np.full_like(varying, -1)], axis=1)
        # the two readings of a feature are in no rule
        both = np.triu(self.together & (readings.features != readings.features[:, np.newaxis]))
        # single features first, which are preferred among equal edges
        self.pairs: Ints = np.concatenate([alone, np.argwhere(both)]).astype(np.int64)
        self.sides = check_sides(signs, self.binned.n_features)
        self.negations = not self.sides.any()
        self._sides = self.sides[readings.features]
        # the first places of those that read missing values as below tell whether the value is known
        self._unsided = (readings.ways < 0) & (readings.counts > 0)

    @cached_property
    def n_hypotheses(self) -> int:
        """The number of rules, h and -h counted once."""
        counts, sided = self.readings.counts, self.sides[self.readings.features] != 0
        # half of the rules of two conditions of one side would rise in the one and fall in the other
        halved = np.append(np.where(sided, counts - self._unsided, 0), 0)[self.pairs].prod(axis=1)
        count = np.append(2 * counts, 1)[self.pairs].prod(axis=1) - 2 * halved
        return int(count.sum()) + self.constant

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set, and its negation too."""
        if isinstance(hypothesis, Rule):
            return not any(self.sides[i.feature] for i in hypothesis.intervals if not isinstance(i, Among))
        return isinstance(hypothesis, Constant)

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best rule of every feature and pair of features and the constant, as `Oracle.price` says.

        Of equal edges those of one condition come first, the constant last. The bounds count what the rounding of `s`
        to fixed point can have cost, and of sums to floats.
        """
        weights = FixedPoint.from_weights(s, self.binned.n_samples)
        integers, codes = drop_unweighted(weights.integers, self.readings.codes)
        closed: Closed = {}
        for rule in (h for h in exclude if isinstance(h, Rule) and h.intervals):
            found = sorted(self.readings.conditions.get(each, (-1, 0, 0)) for each in rule.intervals)
            asked, places, sides = zip(*found, strict=True)
            closed.setdefault(asked, []).append((places, sides))
        search = partial(self._search, codes, integers, closed, row_norm)
        answers = map_in_threads(search, range(len(self.pairs)), threads_for(integers.size * len(self.pairs)))
        sizes = np.array([answer.size for answer in answers])
        ranked = np.argsort(-sizes, kind="stable")[: self.columns_per_round].tolist()
        rules = []
        for best, readings in ((answers[k], self.pairs[k].tolist()) for k in ranked):
            if best.size > -inf:
                placed = (each for each in zip(readings, best.rule, strict=True) if each[0] >= 0)
                conditions = tuple(self.readings.make_condition(k, *place) for k, place in placed)
                rules.append((best.size, Rule(conditions, best.sign)))
        squares = np.array([answer.squares for answer in answers]).sum(axis=0).tolist()
        n_terms = 8 + 8 * int(self.readings.starts[-1]) + 4 * len(self.pairs)
        square_sum, rising = (self._bound_squares(weights, total, n_terms) for total in squares)
        every = max((answer.largest for answer in answers), default=-inf)
        outside = max((size for size, _ in rules), default=-inf)
        answer = self._answer(weights, rules, every, outside, exclude, row_norm)
        return replace(answer, edge_square_sum=square_sum, rising_square_sum=rising)

    def _search(self, codes: NDArray[np.uint8], integers: Ints, closed: Closed, order: float, pair: int) -> BestRule:
        """Return the best open rule of a feature, or of a pair of them."""
        (a, b), n_bins = self.pairs[pair].tolist(), self.readings.counts + 1
        # sums below the places of both; of one feature alone, everything is below
        partner = np.array([a if b < 0 else b])
        joint = np.stack([sum_joint(a, partner, codes, n_bins, own) for own in integers])
        below_a, below_b, total = joint[:, :-1, -1:], joint[:, -1:, :-1], joint[:, -1:, -1:]
        if b < 0:
            parts, above_a, above_b = [below_a, total - below_a], np.array([-1, 1]), np.zeros(2, np.int64)
        else:
            both = joint[:, :-1, :-1]
            parts = [both, below_a - both, below_b - both, total - below_a - below_b + both]
            above_a, above_b = np.array([-1, -1, 1, 1]), np.array([-1, 1, -1, 1])
        # (n_outputs, places of a, places of b, sides of both)
        edges = np.stack(parts, axis=-1).astype(np.float64)
        if order == inf:
            sizes = np.abs(edges).max(axis=0)
        else:
            sizes = measure_norms(edges.reshape(len(edges), -1), order).reshape(edges.shape[1:])
        kept, counted = np.ones(sizes.shape, np.bool_), edges
        if not self.negations:
            # the sign that a rule has above a threshold, of either feature; 0 if it may have both
            of_a, of_b = (
                np.multiply.outer(np.where(self._unsided[k] & (np.arange(n) == 0), 0, self._sides[k]), above)
                for k, n, above in ((a, edges.shape[1], above_a), (b, edges.shape[2], above_b))
            )
            of_a, of_b = of_a[:, np.newaxis], of_b[np.newaxis]
            kept, signs = of_a * of_b >= 0, np.where(of_a == 0, of_b, of_a)
            counted = np.where(signs == 0, edges, np.maximum(signs * edges, 0.0))
            sizes = np.where(signs == 0, sizes, (signs * edges).max(axis=0)) if order == inf else sizes
            sizes = np.where(kept, sizes, -inf)
        squares = tuple(float(np.square(own).sum(axis=0, where=kept).sum()) for own in (edges, counted))
        largest = float(sizes.max())
        for places, sides in closed.get((a,) if b < 0 else (a, b), ()):
            if b < 0:
                sizes[places[0] - 1, 0, sides[0]] = -inf
            else:
                sizes[places[0] - 1, places[1] - 1, 2 * sides[0] + sides[1]] = -inf
        i, j, side = map(int, np.unravel_index(sizes.argmax(), sizes.shape))
        rule = (i + 1, int(above_a[side] > 0)), (j + 1, int(above_b[side] > 0))
        own = edges[:, i, j, side]
        is_free = self.negations or order < inf or not signs[i, j, side]
        sign = own[np.abs(own).argmax()] if is_free else signs[i, j, side]
        return BestRule(float(sizes[i, j, side]), largest, squares, rule, 1 if sign >= 0 else -1)


class BestRule(NamedTuple):
    """The best open rule of a feature or a pair, in the units of the weights."""

    size: float  # its edge, or the norm of its edges; -inf where there is none
    largest: float  # the largest, open or closed
    squares: tuple[float, ...]  # the sum of squared edges, and of those above 0 where rules have one sign
    rule: tuple[tuple[int, int], ...]  # place and side of both conditions
    sign: int


@documented
@dataclass(eq=False, repr=False)
class Boxes(AnytimeOracle):
    """All conjunctions of at most `max_length` intervals, and the constant, by branch and bound.

    A box is 1 or -1 where ``low <= x_j < high`` for each of its features and 0 elsewhere (`Rule`); the ends are
    thresholds between the bins, or infinite. Where values are missing, each condition holds for these or does not,
    and may be on these alone. A search to its end is exact. One that ends before, by `max_nodes`, `max_seconds` or
    the time limit of a fit, answers with the best boxes so far, and with the bounds of what it has not searched: proofs
    hold, with a larger gap. Sums of squares are not known, so nothing is proven under penalties on squares.

    Parameters
    ----------
    max_length : int
        At most so many conditions.
    columns_per_round : int
        At most so many columns are returned: the best box of every list of features that was searched, ranked.

    Raises
    ------
    InvalidInput
        A table of so many features and bins has more than 2^22 cells, or there are more than 2^22 lists of features.

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]]
    >>> priced = Boxes(X, 2, columns_per_round=2).price(np.array([-0.3, -0.4, 1.0, -0.2, -0.3]))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] < 1.5 and 0.5 <= x[1] < 1.5 -> +1, else 0 1.0
    always -> -1 0.2
    """

    source: ClassVar[str] = "Eckstein & Goldberg 2012; Bentley 1984"

    max_length: int = 3
    _: KW_ONLY
    columns_per_round: int = 20

    def __post_init__(self, *given: object) -> None:
        if self.levels:
            raise InvalidInput("levels", "found some, which no box asks for", "take PairRules or trees")
        super().__post_init__(*given)
        self.max_length = whole("max_length", self.max_length)
        n_features = self.binned.n_features
        varying = np.bincount(self.readings.features, self.readings.counts) > 0
        # the features of a list that is shorter have one bin
        extra = np.bincount(self.readings.features, self.readings.ways != 0, minlength=n_features + 1) > 0
        self._axes = Axes(np.append(self.binned.counts + 1, 1), extra.astype(np.int64))
        self._codes = np.vstack([self.binned.codes, np.zeros((1, self.binned.n_samples), np.uint8)])
        self._by_length = _list_features(np.flatnonzero(varying), self.allowed, self.max_length)
        self.lists = _keep_longest(self._by_length, self.allowed & varying, self.max_length)
        n_cells = int((self._axes.n_bins + self._axes.extra)[self.lists].prod(axis=1, dtype=np.float64).max())
        # a cell has 8 bytes
        if n_cells > (most_cells := 2**22):
            found = f"found {self.n_bins} bins of {self.max_length} features, which make tables of {n_cells:,} cells"
            most = int(most_cells ** (1 / self.max_length))
            raise InvalidInput("n_bins", found, f"give at most {most}, or a smaller max_length")

    @property
    def n_hypotheses(self) -> int:
        """The number of boxes, h and -h counted once."""
        # of so many bins the intervals, each also with values that are missing, and these alone; but for all cells
        n_bins, extra = self._axes
        proper = n_bins * (n_bins + 1) // 2 * (1 + extra) + extra - 1
        return int(sum(proper[lists].prod(axis=1).sum() for lists in self._by_length)) + self.constant

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best boxes that were found, as `Oracle.price` says, and bounds on all.

        Where the search came to its end they exceed the largest edges by what the rounding of `s` to fixed point can
        have cost, and where it did not, the bounds of the lists of features that are left are among them.
        """
        weights = FixedPoint.from_weights(s, self.binned.n_samples)
        ends_at = time.perf_counter() + self.max_seconds
        closed = [box for h in exclude if (box := self._write(h)) is not None]
        boxes: dict[Rule, float] = {}
        outside: float = 0
        every: float = 0
        # by a norm over the outputs they are searched together, else one by one
        searched = weights.integers[:, np.newaxis] if row_norm == inf else weights.integers[np.newaxis]
        for integers in searched:
            found, bound = self._search(integers, closed, ends_at, row_norm)
            several = len(searched) > 1
            boxes |= dict(self._choose_output(rule, weights.integers) for rule in found) if several else found
            outside = max(outside, bound)
            shut = (size_edges(self._sum_over(box, integers)[:, np.newaxis], row_norm)[0] for box in closed)
            every = max([every, bound, *shut])
        ranked = ((size, rule) for rule, size in boxes.items())
        return self._answer(weights, ranked, every, outside if boxes or outside else -inf, exclude, row_norm)

    def _choose_output(self, rule: Rule, integers: Ints) -> tuple[Rule, int]:
        """Return a rule with the sign that it has under the output where its edge is largest, and that edge."""
        edges = self._sum_over(self._write(rule) or {}, integers)
        edge = int(edges[np.abs(edges).argmax()])
        return replace(rule, sign=1 if edge >= 0 else -1), abs(edge)

    def _search(
        self, integers: Ints, closed: list[Box], ends_at: float, row_norm: float
    ) -> tuple[dict[Rule, float], float]:
        """Return the best open box of every list that was searched, and a bound on all open ones.

        The weights are those of one output (1, n_samples), or of several that a norm ranks.
        """
        order = None if row_norm == inf else row_norm
        weights, codes = drop_unweighted(integers, self._codes)
        n_threads = threads_for(weights.size * len(self.lists))
        of_sign = np.maximum(np.maximum(weights, 0).sum(axis=1), np.maximum(-weights, 0).sum(axis=1))
        bounds = np.full(len(self.lists), size_edges(of_sign[:, np.newaxis], row_norm)[0])

        def bound(lists: slice) -> None:
            # while there is time, and of so many in any case; else the bound on all boxes stands
            if lists.start < 1024 or not is_over(ends_at):
                _bound_lists(self.lists[lists], codes, weights, self._axes, order, bounds[lists])

        map_in_threads(bound, [slice(k, k + 64) for k in range(0, len(bounds), 64)], n_threads)
        # what is closed, by its runs of all features, and the box of everything, which is the constant, before it
        n_bins, extra = self._axes
        everything = np.stack([np.zeros_like(extra), n_bins - 1, extra], axis=1)
        runs = np.tile(everything, (1 + len(closed), 1, 1))
        for k, box in enumerate(closed, 1):
            runs[k, list(box)] = list(box.values())
        conditions = (runs != everything).any(axis=2)
        ranked, found = np.argsort(-bounds, kind="stable"), dict[Rule, float]()

        def search(parts: slice, best: float) -> Iterator[float]:
            chosen = ranked[parts].tolist()
            lists, n_lists = self.lists[chosen], len(chosen)
            answers = Answers(np.zeros(n_lists, bounds.dtype), np.zeros((n_lists, self.max_length, 3), np.int64))
            # list by list what has no condition on another feature
            inside = (conditions[:, lists].sum(axis=2) == conditions.sum(axis=1)[:, np.newaxis]).T
            own = np.swapaxes(runs[:, lists], 0, 1)[inside].reshape(-1, 3 * self.max_length)
            shut = Shut(own, np.append(0, inside.sum(axis=1).cumsum()))

            def search_some(some: slice) -> None:
                tasks = (some.start, some.stop)
                _search_lists(tasks, lists, codes, weights, self._axes, shut, order, best // 2, answers)

            map_slices(search_some, n_lists, n_threads, guided=True)
            for k, edge, box in zip(chosen, answers.edges.tolist(), answers.boxes.tolist(), strict=True):
                if edge:
                    found[self._make_rule(k, box, 1 if edge > 0 else -1)] = abs(edge)
                    yield abs(edge)

        return found, self._search_parts(bounds[ranked], bounds.dtype.type(0), search, 16, ends_at)

    def _make_rule(self, k: int, box: list[list[int]], sign: int) -> Rule:
        conditions = []
        for feature, (first, last, missing) in zip(self.lists[k].tolist(), box, strict=True):
            n_bins, extra = (int(each[feature]) for each in self._axes)
            if (first, last, missing) != (0, n_bins - 1, extra):
                own = self.binned.thresholds[feature]
                low = -inf if first == 0 and last >= 0 else float(own[first - 1]) if first else inf
                high = float(own[last]) if 0 <= last < len(own) else inf
                conditions.append(simplify(Interval(feature, low, high, bool(missing))))
        return Rule(tuple(conditions), sign)

    def _write(self, rule: Hypothesis) -> Box | None:
        """Return the run of every feature that a rule has a condition on; None for no box of the set."""
        if not isinstance(rule, Rule) or not 1 <= len(rule.intervals) <= self.max_length:
            return None
        box: Box = {}
        for condition in rule.intervals:
            run = self._write_run(condition)
            if run is None or condition.feature in box:
                return None
            box[condition.feature] = run
        return box

    def _write_run(self, condition: Interval | Among) -> Run | None:
        feature, missing = condition.feature, int(condition.missing)
        if feature >= self.binned.n_features or missing > self._axes.extra[feature]:
            return None
        n_bins = int(self._axes.n_bins[feature])
        if isinstance(condition, Among):
            return None if condition.levels else (0, -1, 1) if missing else (0, n_bins - 1, 0)
        low, high, splits = condition.low, condition.high, self.readings.splits
        # a reading of missing values above has all thresholds between known values, and no other
        way = int(self._axes.extra[feature])
        _, first, _ = splits.get(Stump(feature, low, 1, way), (0, 0, 0))
        _, after, _ = splits.get(Stump(feature, high, 1, way), (0, 0, 0)) if high < inf else (0, n_bins, 0)
        return None if (low > -inf and not first) or not after else (first, after - 1, missing)

    def _sum_over(self, box: Box, integers: Ints) -> Ints:
        """Return the edges of a box over the outputs, (n_outputs,)."""
        held = np.full(integers.shape[1], True)
        for feature, (first, last, missing) in box.items():
            codes, n_bins = self._codes[feature], self._axes.n_bins[feature]
            # what is missing is the cell beyond the bins
            held &= ((codes >= first) & (codes <= last)) | ((codes == n_bins) & bool(missing))
        return integers[:, held].sum(axis=1)


Run: TypeAlias = tuple[int, int, int]
"""The first and the last bin of an interval of one feature, and 1 if missing values are with it; (0, -1, 1): alone."""

Box: TypeAlias = dict[int, Run]
"""The run of each feature that is not whole."""


class Axes(NamedTuple):
    """The cells of the features, and of none, which shorter lists have in their place."""

    n_bins: Ints  # (n_features + 1,), of known values
    extra: Ints  # (n_features + 1,), 1 where missing values have one cell more, the last


def _list_features(varying: Ints, allowed: Mask, most: int) -> list[Ints]:
    """List the features that may be together in a box, ascending, of every length, shape (n_lists, length)."""
    by_length, lengths = [], range(1, min(most, len(varying)) + 1)
    n_lists = sum(comb(len(varying), length) for length in lengths)
    if n_lists > 2**22:
        found = f"found {most}, which makes {n_lists:,} lists of {len(varying)} features"
        raise InvalidInput("max_length", found, "give a smaller one, or fewer features")
    for length in lengths:
        flat = chain.from_iterable(combinations(varying.tolist(), length))
        lists = np.fromiter(flat, np.int64).reshape(-1, length)
        together = np.full(len(lists), True)
        for i, j in combinations(range(length), 2):
            together &= allowed[lists[:, i], lists[:, j]]
        by_length.append(lists[together])
    return by_length


def _keep_longest(by_length: list[Ints], allowed: Mask, most: int) -> Ints:
    """Return the lists that are in no longer one, filled up to `most` by the number of features, for none."""
    n_features, kept = len(allowed), []
    for lists in by_length:
        longer = np.full(len(lists), False)
        if lists.shape[1] < len(by_length):
            fits: Mask = np.logical_and.reduce(allowed[lists], axis=1)
            np.put_along_axis(fits, lists, values=False, axis=1)
            longer = np.logical_or.reduce(fits, axis=1)
        padding = np.full((len(lists), most - lists.shape[1]), n_features)
        # in front, as the last feature is searched at once
        kept.append(np.hstack([padding, lists])[~longer])
    return np.concatenate(kept)


class Answers(NamedTuple):
    """The best open box of every list of a call, (n_lists, ...)."""

    edges: Numbers  # of sign +1, or the norm of its edges times the sign of the largest; 0 where there is none
    boxes: Ints  # (n_lists, max_length, 3), the run of every feature


class Shut(NamedTuple):
    """The boxes that must not be answered with, list by list."""

    boxes: Ints  # (n_closed, 3 max_length), the runs of their features, one after the other
    starts: Ints  # (n_lists + 1,)


# The kernels are for one output, whose edges are whole numbers and `order` None, or for a norm of this order over the
# edges of several. A branch on None is decided when a kernel is compiled.


@njit(cache=True)
def _sum_cells(
    features: Ints, codes: NDArray[np.uint8], weights: Ints, axes: Axes, cells: NDArray[np.uint64], table: Ints
) -> None:
    """Add the weights (n_outputs, n_samples) up by the cells of several features, (n_outputs, n_cells)."""
    cells[:] = 0
    for g in features:
        width = np.uint64(axes.n_bins[g] + axes.extra[g])
        code = codes[g]
        for i in range(len(cells)):
            cells[i] = cells[i] * width + np.uint64(code[i])
    table[:] = 0
    for o in range(len(weights)):
        sums, own = table[o], weights[o]
        for i in range(len(cells)):
            sums[cells[i]] += own[i]


@njit(cache=True)
def _count_cells(features: Ints, axes: Axes) -> int:
    size = 1
    for g in features:
        size *= axes.n_bins[g] + axes.extra[g]
    return size


@njit(cache=True)
def _measure(edges: Ints, order: float | None) -> Any:
    """Return the size of the edges over the outputs, and the sign of the largest of them."""
    if order is None:
        return abs(edges[0]), 1 if edges[0] >= 0 else -1
    size, most = measure_edges(edges.astype(np.float64), order)
    return size, 1 if most >= 0 else -1


@njit(cache=True)
def _bound_cells(table: Ints, order: float | None, edges: Ints) -> Any:
    """Bound the sizes of the edges of all that is made of cells: by those of one sign alone, under each output."""
    for o in range(len(table)):
        positive, negative = 0, 0
        for value in table[o]:
            positive += max(value, 0)
            negative -= min(value, 0)
        edges[o] = max(positive, negative)
    return _measure(edges, order)[0]


@njit(cache=True, nogil=True)
def _bound_lists(
    lists: Ints, codes: NDArray[np.uint8], weights: Ints, axes: Axes, order: float | None, bounds: Numbers
) -> None:
    """Bound the edges of all boxes of lists of features."""
    n_outputs, n_samples = weights.shape
    most = 1
    for k in range(len(lists)):
        most = max(most, _count_cells(lists[k], axes))
    cells, tables = np.empty(n_samples, np.uint64), np.empty(n_outputs * most, np.int64)
    edges = np.empty(n_outputs, np.int64)
    for k in range(len(lists)):
        size = _count_cells(lists[k], axes)
        table = tables[: n_outputs * size].reshape(n_outputs, size)
        _sum_cells(lists[k], codes, weights, axes, cells, table)
        bounds[k] = _bound_cells(table, order, edges)


@njit(cache=True, nogil=True)
def _search_lists(
    tasks: tuple[int, int],
    lists: Ints,
    codes: NDArray[np.uint8],
    weights: Ints,
    axes: Axes,
    shut: Shut,
    order: float | None,
    floor: object,
    answers: Answers,
) -> None:
    """Find the best open box of lists of features; one of an edge of at most `floor` need not be found."""
    n_outputs, n_samples = weights.shape
    cells = np.empty(n_samples, np.uint64)
    for task in range(tasks[0], tasks[1]):
        features = lists[task]
        table = np.empty((n_outputs, _count_cells(features, axes)), np.int64)
        _sum_cells(features, codes, weights, axes, cells, table)
        closed = shut.boxes[shut.starts[task] : shut.starts[task + 1]]
        size, sign = _search_table(table, features, axes, closed, order, floor, answers.boxes[task])
        answers.edges[task] = sign * size if size > floor else 0


@njit(cache=True)
def _search_table(
    table: Ints, features: Ints, axes: Axes, closed: Ints, order: float | None, floor: object, best_box: Ints
) -> Any:
    """Return the size and sign of the best open box of a table, into `best_box`; the floor if none is above it.

    At each depth the runs of one dimension are tried, and `sums` has the table of the dimensions after it, summed over
    the run so far; those of the last dimension are tried at once.
    """
    n_outputs, last = len(table), len(features) - 1
    n_last, extra_last = axes.n_bins[features[last]], axes.extra[features[last]]
    # no literal, since what is called with one is compiled for it
    size, sign, edges = floor, np.int64(1), np.empty(n_outputs, np.int64)
    box = np.zeros((last + 1, 3), np.int64)
    if last == 0:
        return _search_runs(table, n_last, extra_last, box, closed, order, size, sign, best_box)
    depth, width = 0, table.shape[1] // (axes.n_bins[features[0]] + axes.extra[features[0]])
    sums = np.zeros((last, n_outputs, width), np.int64)
    box[0, 1] = -1
    while depth >= 0:
        n_here = axes.n_bins[features[depth]]
        if not _move_run(box[depth], n_here, axes.extra[features[depth]]):
            depth -= 1
            if depth >= 0:
                width *= axes.n_bins[features[depth + 1]] + axes.extra[features[depth + 1]]
            continue
        above, own = table if depth == 0 else sums[depth - 1], sums[depth]
        _add_run(box[depth], n_here, above, width, own, edges)
        if _measure(edges, order)[0] <= size:
            continue
        if depth == last - 1:
            size, sign = _search_runs(own, n_last, extra_last, box, closed, order, size, sign, best_box)
        else:
            depth += 1
            width //= axes.n_bins[features[depth]] + axes.extra[features[depth]]
            box[depth, 0], box[depth, 1], box[depth, 2] = 0, -1, 0
    return size, sign


@njit(cache=True)
def _move_run(run: Ints, n_bins: int, extra: int) -> bool:
    """Move on to the next run: by the last bin, then the first one, then with missing values; False after all."""
    run[1] += 1
    if run[1] == n_bins:
        run[0] += 1
        run[1] = run[0]
        if run[0] == n_bins:
            if run[2] == extra:
                return False
            # missing values alone come first
            run[0], run[1], run[2] = 0, -1, 1
    return True


@njit(cache=True)
def _add_run(run: Ints, n_bins: int, above: Ints, width: int, sums: Ints, bounds: Ints) -> None:
    """Sum cells of a dimension over a run, from the sums over the run before it, and bound what is made of the sums.

    The first `width` of each row of `sums` are those of the dimensions after it.
    """
    start, missing = run[1] * width, n_bins * width
    for o in range(len(sums)):
        own, cells = sums[o], above[o]
        if run[0] >= run[1]:
            # a series of runs begins with nothing, or with missing values
            for k in range(width):
                own[k] = cells[missing + k] if run[2] else 0
        positive, negative = 0, 0
        for k in range(width):
            value = own[k] + (cells[start + k] if start >= 0 else 0)
            own[k] = value
            positive += max(value, 0)
            negative -= min(value, 0)
        bounds[o] = max(positive, negative)


@njit(cache=True)
def _search_runs(
    values: Ints,
    n_bins: int,
    extra: int,
    box: Ints,
    closed: Ints,
    order: float | None,
    size: Any,
    sign: int | np.int64,
    best_box: Ints,
) -> Any:
    """Return the size and sign of the best open box after all runs of the last dimension, if any is above `size`."""
    last = len(box) - 1
    if order is None:
        is_open = True
        for turn in (1, -1):
            total, start, most, first, end = 0, 0, 0, 0, -1
            for k in range(n_bins):
                if total <= 0:
                    total, start = 0, k
                total += turn * values[0, k]
                if total > most:
                    most, first, end = total, start, k
            missing = 0
            if extra and turn * values[0, n_bins] > 0:
                most, missing = most + turn * values[0, n_bins], 1
            if most > size:
                box[last, 0], box[last, 1], box[last, 2] = first, end, missing
                if has_row(closed, box.ravel()):
                    is_open = False
                else:
                    size, sign = most, turn
                    _copy(box, best_box)
        if is_open:
            return size, sign
    # all runs, as the second best may be anywhere
    sums, unused, run = np.zeros((len(values), 1), np.int64), np.zeros(len(values), np.int64), box[last]
    run[0], run[1], run[2] = 0, -1, 0
    while _move_run(run, n_bins, extra):
        _add_run(run, n_bins, values, 1, sums, unused)
        here, turn = _measure(sums[:, 0], order)
        if here > size and not has_row(closed, box.ravel()):
            size, sign = here, turn
            _copy(box, best_box)
    return size, sign


@njit(cache=True)
def _copy(box: Ints, to: Ints) -> None:
    """Copy a box; an assignment of slices would compile the message of its error, for seconds."""
    for depth in range(len(box)):
        for part in range(3):
            to[depth, part] = box[depth, part]
