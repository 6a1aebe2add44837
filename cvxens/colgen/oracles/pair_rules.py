"""All rules of at most two conditions as an exact oracle, from sums of weights over pairs of bins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.colgen.oracles.bins import BinnedOracle, drop_unweighted, measure_norms
from cvxens.colgen.oracles.levels import check_sides
from cvxens.colgen.protocols import Priced
from cvxens.docstrings import documented
from cvxens.features import FixedPoint, Ints, sum_joint
from cvxens.hypotheses import Among, Constant, Hypothesis, Interval, Rule
from cvxens.limits import map_in_threads, threads_for

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
    signs: InitVar[Any] = None
    columns_per_round: int = 50

    def __post_init__(self, X: Any, sample_weight: Any, signs: Any) -> None:
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

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best rule of every feature and pair of features and the constant, as `Oracle.price` says.

        Of equal edges those of one condition come first, the constant last. The bounds count what the rounding of `s`
        to fixed point can have cost, and of sums to floats.
        """
        weights = FixedPoint.from_weights(s, self.binned.n_samples)
        integers, codes = drop_unweighted(weights.integers, self.readings.codes)
        closed: Closed = {}
        for rule in exclude:
            found = sorted(map(self.readings.find_condition, rule.intervals)) if isinstance(rule, Rule) else []
            if found:
                asked, places, sides = zip(*found, strict=True)
                closed.setdefault(asked, []).append((places, sides))
        search = partial(self._search_pair, codes, integers, closed, row_norm)
        answers = map_in_threads(search, range(len(self.pairs)), threads_for(integers.size * len(self.pairs)))
        sizes = np.array([answer.size for answer in answers])
        ranked = np.argsort(-sizes, kind="stable")[: self.columns_per_round].tolist()
        rules = [
            (answers[k].size, Rule(self._list_conditions(k, answers[k].rule), answers[k].sign))
            for k in ranked
            if answers[k].size > -inf
        ]
        squares = np.array([answer.squares for answer in answers]).sum(axis=0)
        if self.constant:
            squares += float((weights.totals.astype(np.float64) ** 2).sum())
        n_terms = 8 + 8 * int(self.readings.starts[-1]) + 4 * len(self.pairs)
        given = float(self.n_hypotheses), n_terms
        square_sum, rising = (weights.bound_squares(float(total), *given) for total in squares)
        every = max((answer.largest for answer in answers), default=-inf)
        outside = max((size for size, _ in rules), default=-inf)
        answer = self._answer(weights, rules, every, outside, exclude, row_norm)
        return replace(answer, edge_square_sum=square_sum, rising_square_sum=rising)

    def _search_pair(
        self,
        codes: NDArray[np.uint8],
        integers: Ints,
        closed: Closed,
        order: float,
        pair: int,
    ) -> BestRule:
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
        sign = (
            own[np.abs(own).argmax()] if self.negations or order < inf or not signs[i, j, side] else signs[i, j, side]
        )
        return BestRule(float(sizes[i, j, side]), largest, squares, rule, 1 if sign >= 0 else -1)

    def _list_conditions(self, pair: int, rule: Sequence[tuple[int, int]]) -> tuple[Interval | Among, ...]:
        """Return the conditions of a rule of a pair of readings, by place and side of each."""
        readings = zip(self.pairs[pair].tolist(), rule, strict=True)
        return tuple(self.readings.make_condition(k, *place) for k, place in readings if k >= 0)


class BestRule(NamedTuple):
    """The best open rule of a feature or a pair, in the units of the weights."""

    size: float  # its edge, or the norm of its edges; -inf where there is none
    largest: float  # the largest, open or closed
    squares: tuple[float, ...]  # the sum of squared edges, and of those above 0 where rules have one sign
    rule: tuple[tuple[int, int], ...]  # place and side of both conditions
    sign: int
