"""All rules of at most two conditions as an exact oracle, from sums of weights over pairs of bins."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.colgen.oracles.bins import BinnedOracle, measure_edges
from cvxens.colgen.oracles.kinds import check_sides
from cvxens.colgen.protocols import Priced
from cvxens.docstrings import documented
from cvxens.features import FixedPoint, sum_pairs
from cvxens.hypotheses import Among, Constant, Hypothesis, Rule
from cvxens.limits import map_slices, threads_for
from cvxens.rounding import EPSILON
from cvxens.types import Array

Ints: TypeAlias = NDArray[np.int64]


@documented
@dataclass(eq=False, repr=False)
class PairRules(BinnedOracle):
    """All rules of one or two conditions, and the constant: the exact oracle over this set.

    A condition is ``x_j >= t`` or ``x_j < t``, with t a threshold between the bins of feature j; two conditions are of
    two features. A rule is 1 or -1 where its conditions hold and 0 elsewhere (`Rule`), so that its edge is the sum of
    the weights there: with the sums of the weights by pairs of bins, one for each rule, O(n d^2 + d^2 bins^2) in all.
    Of a feature with gaps each condition comes with the missing values and without them, and the values that are known,
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
    signs: InitVar[Any] = None
    columns_per_round: int = 50

    def __post_init__(self, X: Any, sample_weight: Any, signs: Any) -> None:
        super().__post_init__(X, sample_weight)
        readings = self.readings
        varying = np.flatnonzero(readings.counts)
        alone = np.stack([varying, np.full_like(varying, -1)], axis=1)
        # the two readings of a feature are in no rule
        allowed = self.allowed[np.ix_(readings.features, readings.features)]
        a, b = np.nonzero(np.triu(allowed & (readings.features != readings.features[:, np.newaxis])))
        both = (readings.counts[a] > 0) & (readings.counts[b] > 0)
        # single features first, which are preferred among equal edges
        self.pairs: Ints = np.concatenate([alone, np.stack([a, b], axis=1)[both]]).astype(np.int64)
        self.sides = check_sides(signs, self.binned.n_features)
        self.negations = not self.sides.any()
        self._codes = readings.codes
        self._number = {(a, b): k for k, (a, b) in enumerate(self.pairs.tolist())}
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

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best rule of every feature and pair of features and the constant, as `Oracle.price` says.

        Of equal edges those of one condition come first, the constant last. The bounds count what the rounding of `s`
        to fixed point can have cost, and of sums to floats.
        """
        weights = FixedPoint.from_weights(s, self.binned.n_samples)
        found = self._search(weights, exclude, row_norm)
        ranked = np.argsort(-found.sizes, kind="stable")[: self.columns_per_round].tolist()
        rules: list[tuple[float, Hypothesis]] = [
            (float(found.sizes[k]), self._make_rule(k, found.rules[k])) for k in ranked if found.sizes[k] > -inf
        ]
        squares = found.squares.sum(axis=0)
        if self.constant:
            squares += float((weights.totals.astype(np.float64) ** 2).sum())
        square_sum, rising = (self._bound_square_sum(weights, float(total)) for total in squares)
        every, outside = float(found.largest.max(initial=-inf)), max((size for size, _ in rules), default=-inf)
        answer = self._answer(weights, rules, every, outside, exclude, row_norm)
        return replace(answer, edge_square_sum=square_sum, rising_square_sum=rising)

    def _search(self, weights: FixedPoint, exclude: Collection[Hypothesis], order: float) -> Found:
        """Return the best open rule of every feature and pair of features."""
        kept = np.flatnonzero(weights.integers.any(axis=0))
        integers, codes = weights.integers, self._codes
        if len(kept) < integers.shape[1]:
            # samples without a weight are in no sum
            integers, codes = integers.take(kept, axis=1), codes.take(kept, axis=1)
        closed = self._close(exclude)
        n_pairs, n_bins = len(self.pairs), self.readings.counts + 1
        sizes, largest = np.full((2, n_pairs), -inf)
        found = Found(sizes, largest, np.zeros((n_pairs, 2)), np.zeros((n_pairs, 5), np.int64))
        layout = Layout(self.pairs, codes, n_bins, self.sides[self.readings.features], self._unsided)

        def visit(part: slice) -> None:
            tasks = (part.start, part.stop)
            _visit_pairs(tasks, layout, integers, weights.totals, closed, order, found)

        map_slices(visit, n_pairs, threads_for(integers.size * n_pairs), guided=True)
        return found

    def _close(self, exclude: Collection[Hypothesis]) -> Ints:
        """Return the rules of the set among some hypotheses, as rows of number of the pair and both conditions."""
        rows = []
        for rule in exclude:
            if not isinstance(rule, Rule) or not 1 <= len(rule.intervals) <= 2:
                continue
            found = [self.readings.find_condition(condition) for condition in rule.intervals]
            conditions = sorted(condition for condition in found if condition is not None)
            if len(conditions) == len(found):
                conditions += [(-1, 0, 0)] * (len(conditions) == 1)
                (a, *first), (b, *second) = conditions
                if (number := self._number.get((a, b))) is not None:
                    rows.append([number, *first, *second])
        return np.array(sorted(rows), np.int64).reshape(-1, 5)

    def _make_rule(self, pair: int, rule: Ints) -> Rule:
        readings, (i, above_i, j, above_j, sign) = self.pairs[pair].tolist(), rule.tolist()
        places = zip(readings, ((i, above_i), (j, above_j)), strict=True)
        return Rule(tuple(self.readings.make_condition(k, *place) for k, place in places if k >= 0), sign)

    def _bound_square_sum(self, weights: FixedPoint, squares: float) -> float:
        rounding = (8 * int(self.readings.starts[-1]) + 4 * len(self.pairs) + 16) * EPSILON
        # each of the rounded edges is off by the error at most, so their norm by that times the root of their number
        length: Array = np.sqrt(float(self.n_hypotheses) * len(weights.totals) * (1 + rounding))
        return weights.real_square((np.sqrt(squares * (1 + rounding)) + weights.error * length) ** 2)


class Layout(NamedTuple):
    """The readings of a sample as compiled code visits them."""

    pairs: Ints  # (n_pairs, 2), readings; the second is -1 for rules of the first alone
    codes: NDArray[np.uint8]  # (n_readings, n_samples)
    n_bins: Ints  # (n_readings,)
    sides: Ints  # (n_readings,), 1 for rules that rise with the feature alone, -1 for those that fall, 0 for both
    unsided: NDArray[np.bool_]  # (n_readings,), True where rules of the first place have both signs all the same


class Found(NamedTuple):
    """The best open rule of every feature and pair, in the units of the weights, (n_pairs,) each."""

    sizes: Array  # its edge, or the norm of its edges; -inf where there is none
    largest: Array  # the largest, open or closed
    squares: Array  # (n_pairs, 2), the sum of squared edges, and of those above 0 where rules have one sign
    rules: Ints  # (n_pairs, 5): place and side of both conditions, and the sign


@njit(cache=True, nogil=True)
def _visit_pairs(
    tasks: tuple[int, int],
    layout: Layout,
    weights: Ints,
    totals: Ints,
    closed: Ints,
    order: float,
    found: Found,
) -> None:
    """Compare all rules of some pairs of features."""
    pairs, codes, n_bins, sides, unsided = layout
    n_outputs, n_samples = weights.shape
    no_codes = np.zeros(n_samples, np.uint8)
    edges = np.zeros((4, n_outputs))
    for task in range(tasks[0], tasks[1]):
        a, b = pairs[task]
        n_a, n_b = n_bins[a], n_bins[b] if b >= 0 else 1
        tables = np.zeros((n_outputs, n_a * n_b), np.int64)
        # sums over the bins of b: of all samples, and of those that are below the threshold of a
        by_b, low = np.zeros((2, n_outputs, n_b), np.int64)
        below_a, below_both, below_b = np.zeros((3, n_outputs), np.int64)
        for o in range(n_outputs):
            sum_pairs(codes[a], codes[b] if b >= 0 else no_codes, weights[o], n_b, tables[o])
            for k in range(n_a * n_b):
                by_b[o, k % n_b] += tables[o, k]
        first = 0
        while first < len(closed) and closed[first, 0] < task:
            first += 1
        last = first
        while last < len(closed) and closed[last, 0] == task:
            last += 1
        size, largest, squares, rising = -np.inf, -np.inf, 0.0, 0.0
        for i in range(1, n_a):
            below_both[:] = 0
            below_b[:] = 0
            for o in range(n_outputs):
                for k in range(n_b):
                    low[o, k] += tables[o, (i - 1) * n_b + k]
                    below_a[o] += tables[o, (i - 1) * n_b + k]
            # of a rule of one condition there are two sides, else four
            for j in range(1 if b >= 0 else 0, n_b):
                for o in range(n_outputs):
                    if b >= 0:
                        below_both[o] += low[o, j - 1]
                        below_b[o] += by_b[o, j - 1]
                        edges[1, o] = below_a[o] - below_both[o]
                        edges[3, o] = totals[o] - below_a[o] - below_b[o] + below_both[o]
                        edges[0, o], edges[2, o] = below_both[o], below_b[o] - below_both[o]
                    else:
                        edges[0, o], edges[2, o] = below_a[o], totals[o] - below_a[o]
                for side in range(0, 4, 1 if b >= 0 else 2):
                    # the sign that it has above a threshold, of either feature; 0 if it may have both
                    sign = 0 if unsided[a] and i == 1 else sides[a] * (2 * (side // 2) - 1)
                    of_b = 0 if b < 0 or (unsided[b] and j == 1) else sides[b] * (2 * (side % 2) - 1)
                    if sign * of_b < 0:
                        continue
                    sign = sign if sign != 0 else of_b
                    here, most = measure_edges(edges[side], sign, order)
                    for o in range(n_outputs):
                        squares += edges[side, o] * edges[side, o]
                        counted = edges[side, o] if sign == 0 else max(sign * edges[side, o], 0.0)
                        rising += counted * counted
                    largest = max(largest, here)
                    if here > size and not _is_closed((i, side // 2, j, side % 2), closed[first:last]):
                        size = here
                        found.rules[task, 0], found.rules[task, 1] = i, side // 2
                        found.rules[task, 2], found.rules[task, 3] = j, side % 2
                        found.rules[task, 4] = 1 if most >= 0 else -1
        found.sizes[task], found.largest[task] = size, largest
        found.squares[task, 0], found.squares[task, 1] = squares, rising


@njit(cache=True)
def _is_closed(rule: tuple[int, int, int, int], closed: Ints) -> bool:
    for k in range(len(closed)):
        same = closed[k, 1] == rule[0] and closed[k, 2] == rule[1]
        if same and closed[k, 3] == rule[2] and closed[k, 4] == rule[3]:
            return True
    return False
