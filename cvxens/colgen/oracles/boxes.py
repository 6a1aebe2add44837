"""Boxes, conjunctions of intervals, by branch and bound: an oracle that may stop at any time and still bounds its set.

Every box of at most `max_length` conditions is one over a list of so many features, on which the samples are cells of
a table of bins. The cells with positive weights alone bound the edges of all boxes over these features, as do the
negative ones. So lists are searched in the order of their bounds, until none that is left has one above the best edge.
Within a list, the intervals of one feature after another are tried, those of the last one at once: the best run of
consecutive bins is found by one pass (Bentley 1984); a table that is bounded by less than the best edge is left.
Weights are integers (`FixedPoint`), whose sums are the same in every order.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from itertools import chain, combinations
from math import comb, inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens import validation
from cvxens.colgen.oracles.bins import BinnedOracle, Groups, is_over, measure_edges
from cvxens.colgen.oracles.stumps import FixedPoint
from cvxens.colgen.protocols import Priced
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, Interval, Rule
from cvxens.limits import map_slices, threads_for
from cvxens.problems.duality import row_sizes
from cvxens.validation import whole

Ints: TypeAlias = NDArray[np.int64]

MOST_CELLS = 2**22
"""The cells of a table, of 8 bytes each."""

MOST_LISTS = 2**22
"""The lists of features that are kept."""

AT_A_TIME = 16
"""Lists that are searched between two looks at the best edge and the clock, whatever the number of threads."""

BOUNDED_AT_A_TIME = 1024
"""Lists that are bounded between two looks at the clock."""


@documented
class Boxes(BinnedOracle):
    """All conjunctions of at most `max_length` intervals, and the constant, by branch and bound.

    A box is 1 or -1 where ``low <= x_j < high`` for each of its features and 0 elsewhere (`Rule`); the ends are
    thresholds between the bins, or infinite. A search to its end is exact. One that ends before, by `max_nodes`,
    `max_seconds` or the time limit of a fit, answers with the best boxes so far, and with the bounds of what it has not
    searched: proofs hold, with a larger gap. Sums of squares are not known, so nothing is proven under penalties on
    squares.

    Parameters
    ----------
    max_length : int
        At most so many conditions.
    columns_per_round : int
        At most so many columns are returned: the best box of every list of features that was searched, ranked.
    max_nodes : int, optional
        At most so many lists of features are searched for boxes in a call, per output.
    max_seconds : float
        No more of them are searched after so many seconds of a call; inf for no such limit. Unlike `max_nodes` it makes
        runs depend on the speed of the machine.

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

    source = "Eckstein & Goldberg 2012; Bentley 1984"
    negations = True

    def __init__(
        self,
        X: Any,
        max_length: int = 3,
        *,
        n_bins: int = 16,
        interactions: Groups | None = None,
        forbidden: Groups = (),
        constant: bool = True,
        columns_per_round: int = 20,
        max_nodes: int | None = None,
        max_seconds: float = inf,
        sample_weight: Any = None,
    ) -> None:
        super().__init__(
            X,
            n_bins=n_bins,
            interactions=interactions,
            forbidden=forbidden,
            constant=constant,
            columns_per_round=columns_per_round,
            sample_weight=sample_weight,
        )
        self.max_length = whole("max_length", max_length)
        self.max_nodes = None if max_nodes is None else whole("max_nodes", max_nodes)
        self.max_seconds = validation.limit("max_seconds", max_seconds)
        self._by_length = _list_features(np.flatnonzero(self.binned.counts), self.allowed, self.max_length)
        self.lists = _keep_longest(self._by_length, self.allowed & (self.binned.counts > 0), self.max_length)
        n_cells = int(np.append(self.binned.counts + 1, 1)[self.lists].prod(axis=1, dtype=np.float64).max())
        if n_cells > MOST_CELLS:
            found = f"found {n_bins} bins of {self.max_length} features, which make tables of {n_cells:,} cells"
            most = int(MOST_CELLS ** (1 / self.max_length))
            raise InvalidInput("n_bins", found, f"give at most {most}, or a smaller max_length")
        # the features of a list that is shorter have one bin
        self._codes = np.vstack([self.binned.codes.T, np.zeros((1, len(self.binned.codes)), np.uint8)])
        self._n_bins = np.append(self.binned.counts + 1, 1)

    @property
    def n_hypotheses(self) -> int:
        """The number of boxes, h and -h counted once."""
        # of so many bins the intervals that are not all of them
        proper = (self.binned.counts + 1) * (self.binned.counts + 2) // 2 - 1
        return int(sum(proper[lists].prod(axis=1).sum() for lists in self._by_length)) + self.constant

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best boxes that were found, as `Oracle.price` says, and bounds on all.

        Where the search came to its end they exceed the largest edges by what the rounding of `s` to fixed point can
        have cost, and where it did not, the bounds of the lists of features that are left are among them.
        """
        weights = FixedPoint.from_weights(s, len(self.binned.codes))
        ends_at = time.perf_counter() + self.max_seconds
        closed = [box for h in exclude if (box := self._write(h)) is not None]
        boxes: dict[Hypothesis, float] = {}
        outside: float = 0
        every: float = 0
        # by a norm over the outputs they are searched together, else one by one
        searched = weights.integers[:, np.newaxis] if row_norm == inf else weights.integers[np.newaxis]
        for integers in searched:
            found, bound = self._search(integers, closed, ends_at, row_norm)
            for rule, size in found.items():
                best_rule, best_size = (
                    self._choose_output(rule, weights.integers) if len(searched) > 1 else (rule, size)
                )
                boxes[best_rule] = best_size
            outside = max(outside, bound)
            every = max(every, bound, *(self._measure(box, integers, row_norm) for box in closed), 0)
        ranked: list[tuple[float, Hypothesis]] = [(size, rule) for rule, size in boxes.items()]
        ranked.sort(key=lambda pair: -pair[0])
        return self._answer(weights, ranked, every, outside if ranked or outside else -inf, exclude, row_norm)

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
        kept = np.flatnonzero(integers.any(axis=0))
        weights, codes = np.ascontiguousarray(integers[:, kept]), self._codes[:, kept]
        n_threads = threads_for(weights.size * len(self.lists))
        of_sign = np.maximum(np.maximum(weights, 0).sum(axis=1), np.maximum(-weights, 0).sum(axis=1))
        together = of_sign[0] if row_norm == inf else row_sizes(of_sign[np.newaxis].astype(np.float64), row_norm)[0]
        bounds = np.full(len(self.lists), together)
        # bounds by lists are found while there is time, else those of all stand
        for first in range(0, len(self.lists), BOUNDED_AT_A_TIME):
            if first and is_over(ends_at):
                break
            here = slice(first, first + BOUNDED_AT_A_TIME)
            lists, own = self.lists[here], bounds[here]

            def bound(part: slice, lists: Ints = lists, own: NDArray = own) -> None:
                if row_norm == inf:
                    _bound_lists(lists[part], codes, weights[0], self._n_bins, own[part])
                else:
                    _bound_lists_by_rows(lists[part], codes, weights, self._n_bins, row_norm, own[part])

            map_slices(bound, len(lists), n_threads, guided=True)
        order = np.argsort(-bounds, kind="stable")[: self.max_nodes]
        found: dict[Rule, float] = {}
        best, done = bounds.dtype.type(0), 0
        while done < len(order) and bounds[order[done]] > best and not (done and is_over(ends_at)):
            chosen = order[done : done + AT_A_TIME]
            chosen = chosen[bounds[chosen] > best]
            answers = Answers(
                np.zeros(len(chosen), bounds.dtype), np.zeros((len(chosen), self.max_length, 2), np.int64)
            )
            shut = _join_closed([self._close_within(k, closed) for k in chosen.tolist()], self.max_length)

            def search(
                part: slice,
                chosen: Ints = chosen,
                shut: Shut = shut,
                floor: Any = best // 2,
                answers: Answers = answers,
            ) -> None:
                tasks, lists = (part.start, part.stop), self.lists[chosen]
                if row_norm == inf:
                    _search_lists(tasks, lists, codes, weights[0], self._n_bins, shut, int(floor), answers)
                else:
                    _search_lists_by_rows(tasks, lists, codes, weights, self._n_bins, shut, row_norm, floor, answers)

            map_slices(search, len(chosen), n_threads, guided=True)
            for k, edge, box in zip(chosen.tolist(), answers.edges.tolist(), answers.boxes.tolist(), strict=True):
                if edge:
                    found[self._make_rule(k, box, 1 if edge > 0 else -1)] = abs(edge)
                    best = max(best, bounds.dtype.type(abs(edge)))
            done += len(chosen)
        left = np.delete(bounds, order[:done])
        return found, max(best, left.max(initial=0)).item()

    def _make_rule(self, k: int, box: list[list[int]], sign: int) -> Rule:
        intervals = []
        for feature, (low, high) in zip(self.lists[k].tolist(), box, strict=True):
            own = self.binned.thresholds[feature] if feature < self.binned.n_features else np.zeros(0)
            if low > 0 or high < len(own):
                ends = float(own[low - 1]) if low > 0 else -inf, float(own[high]) if high < len(own) else inf
                intervals.append(Interval(feature, *ends))
        return Rule(tuple(intervals), sign)

    def _write(self, rule: Hypothesis) -> Box | None:
        """Return the first and last bin of every feature that a rule has an interval of; None for no box of the set."""
        if not isinstance(rule, Rule) or not 1 <= len(rule.intervals) <= self.max_length:
            return None
        box: Box = {}
        for condition in rule.intervals:
            if not isinstance(condition, Interval) or condition.missing:
                return None
            feature, low, high, _ = condition
            if feature >= self.binned.n_features:
                return None
            first = self.binned.place(feature, low) if low > -inf else 0
            after = self.binned.place(feature, high) if high < inf else len(self.binned.thresholds[feature]) + 1
            if (low > -inf and not first) or not after or feature in box:
                return None
            box[feature] = first, after - 1
        return box

    def _close_within(self, k: int, closed: list[Box]) -> list[list[tuple[int, int]]]:
        """Return the boxes that are closed in a list of features, by its features, the one of everything among them."""
        own = self.lists[k].tolist()
        whole_range = {feature: (0, int(self._n_bins[feature]) - 1) for feature in own}
        inside = [box for box in closed if box.keys() <= whole_range.keys()]
        return [[(whole_range | box)[feature] for feature in own] for box in [{}, *inside]]

    def _measure(self, box: Box, integers: Ints, order: float) -> float:
        """Return the size of the edges of a box over some outputs."""
        edges = self._sum_over(box, integers)
        return int(np.abs(edges).max()) if order == inf else float(row_sizes(edges[np.newaxis].astype(float), order)[0])

    def _sum_over(self, box: Box, integers: Ints) -> Ints:
        """Return the edges of a box over the outputs, (n_outputs,)."""
        held = np.full(integers.shape[1], True)
        for feature, (first, last) in box.items():
            held &= (self._codes[feature] >= first) & (self._codes[feature] <= last)
        edges: Ints = integers[:, held].sum(axis=1)
        return edges


Box: TypeAlias = dict[int, tuple[int, int]]
"""The first and the last bin of each feature that is not whole."""


def _list_features(varying: Ints, allowed: NDArray[np.bool_], most: int) -> list[Ints]:
    """List the features that may be together in a box, ascending, of every length, shape (n_lists, length)."""
    by_length, lengths = [], range(1, min(most, len(varying)) + 1)
    n_lists = sum(comb(len(varying), length) for length in lengths)
    if n_lists > MOST_LISTS:
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


def _keep_longest(by_length: list[Ints], allowed: NDArray[np.bool_], most: int) -> Ints:
    """Return the lists that are part of no longer one, (n_lists, most); what is missing is the number of features."""
    n_features, kept = len(allowed), []
    for lists in by_length:
        longer = np.full(len(lists), False)
        if lists.shape[1] < len(by_length):
            fits: NDArray[np.bool_] = np.logical_and.reduce(allowed[lists], axis=1)
            np.put_along_axis(fits, lists, values=False, axis=1)
            longer = np.logical_or.reduce(fits, axis=1)
        padding = np.full((len(lists), most - lists.shape[1]), n_features)
        # in front, as the last feature is searched at once
        kept.append(np.hstack([padding, lists])[~longer])
    return np.concatenate(kept)


class Answers(NamedTuple):
    """The best open box of every list of a call, (n_lists, ...)."""

    edges: NDArray  # of sign +1, or the norm of its edges times the sign of the largest; 0 where there is none
    boxes: Ints  # (n_lists, max_length, 2), the first and the last bin of every feature


class Shut(NamedTuple):
    """The boxes that must not be answered with, list by list."""

    boxes: Ints  # (n_closed, max_length, 2)
    starts: Ints  # (n_lists + 1,)


def _join_closed(by_list: list[list[list[tuple[int, int]]]], length: int) -> Shut:
    starts = np.append(0, np.cumsum([len(own) for own in by_list]))
    return Shut(np.array([box for own in by_list for box in own], np.int64).reshape(-1, length, 2), starts)


@njit(cache=True)
def _sum_cells(
    features: Ints, codes: NDArray[np.uint8], weights: Ints, n_bins: Ints, cells: NDArray[np.uint64], table: Ints
) -> int:
    """Add the weights up by the bins of several features, and return how many cells the table has."""
    cells[:] = 0
    size = 1
    for g in features:
        width = np.uint64(n_bins[g])
        size *= n_bins[g]
        own = codes[g]
        for i in range(len(cells)):
            cells[i] = cells[i] * width + np.uint64(own[i])
    table[:size] = 0
    for i in range(len(cells)):
        table[cells[i]] += weights[i]
    return size


@njit(cache=True, nogil=True)
def _bound_lists(lists: Ints, codes: NDArray[np.uint8], weights: Ints, n_bins: Ints, bounds: Ints) -> None:
    """Bound the edges of all boxes of lists of features by the cells of one sign."""
    most = 1
    for k in range(len(lists)):
        most = max(most, _count_cells(lists[k], n_bins))
    cells, table = np.empty(len(weights), np.uint64), np.empty(most, np.int64)
    for k in range(len(lists)):
        size = _sum_cells(lists[k], codes, weights, n_bins, cells, table)
        positive, negative = 0, 0
        for value in table[:size]:
            if value > 0:
                positive += value
            else:
                negative -= value
        bounds[k] = max(positive, negative)


@njit(cache=True)
def _count_cells(features: Ints, n_bins: Ints) -> int:
    size = 1
    for g in features:
        size *= n_bins[g]
    return size


@njit(cache=True, nogil=True)
def _search_lists(
    tasks: tuple[int, int],
    lists: Ints,
    codes: NDArray[np.uint8],
    weights: Ints,
    n_bins: Ints,
    shut: Shut,
    floor: int,
    answers: Answers,
) -> None:
    """Find the best open box of lists of features; one of an edge of at most `floor` need not be found."""
    cells = np.empty(len(weights), np.uint64)
    for task in range(tasks[0], tasks[1]):
        table = np.empty(_count_cells(lists[task], n_bins), np.int64)
        _sum_cells(lists[task], codes, weights, n_bins, cells, table)
        closed = shut.boxes[shut.starts[task] : shut.starts[task + 1]]
        answers.edges[task] = _search_table(table, lists[task], n_bins, closed, floor, answers.boxes[task])


@njit(cache=True)
def _search_table(table: Ints, features: Ints, n_bins: Ints, closed: Ints, floor: int, best_box: Ints) -> int:
    """Return the sum over the best open box of a table, into `best_box`; 0 if there is none above the floor.

    At each level the intervals of one dimension are tried, by their first bin and then their last, and `sums` has the
    table of the dimensions after it, summed over the intervals so far.
    """
    n_levels = len(features)
    edge, size = 0, floor
    box = np.zeros((n_levels, 2), np.int64)
    if n_levels == 1:
        return _scan(table, box, 0, closed, edge, size, best_box)
    level, width = 0, len(table) // n_bins[features[0]]
    sums = np.zeros((n_levels - 1, width), np.int64)
    box[0, 1] = -1
    while level >= 0:
        box[level, 1] += 1
        n_here, own = n_bins[features[level]], sums[level]
        if box[level, 1] == n_here:
            box[level, 0] += 1
            box[level, 1] = box[level, 0]
            if box[level, 0] == n_here:
                level -= 1
                if level >= 0:
                    width *= n_bins[features[level + 1]]
                continue
        above, start = table if level == 0 else sums[level - 1], box[level, 1] * width
        new, positive, negative = box[level, 0] == box[level, 1], 0, 0
        for k in range(width):
            own[k] = above[start + k] + (0 if new else own[k])
            positive += max(own[k], 0)
            negative -= min(own[k], 0)
        if max(positive, negative) <= size:
            continue
        if level == n_levels - 2:
            edge = _scan(own[:width], box, n_levels - 1, closed, edge, size, best_box)
            size = max(size, abs(edge))
        else:
            level += 1
            width //= n_bins[features[level]]
            box[level, 0], box[level, 1] = 0, -1
    return edge


@njit(cache=True)
def _scan(values: Ints, box: Ints, level: int, closed: Ints, edge: int, size: int, best_box: Ints) -> int:
    """Return the edge of the best open box after all intervals of the last dimension; in one pass if that is open."""
    found = edge
    for sign in (1, -1):
        total, start, most, first, last = 0, 0, size, -1, -1
        for k in range(len(values)):
            if total <= 0:
                total, start = 0, k
            total += sign * values[k]
            if total > most:
                most, first, last = total, start, k
        if first < 0:
            continue
        box[level, 0], box[level, 1] = first, last
        if _is_closed(box, closed):
            # all intervals, as the second best may be anywhere
            most, first = size, -1
            for low in range(len(values)):
                total = 0
                for high in range(low, len(values)):
                    total += sign * values[high]
                    if total > most:
                        box[level, 0], box[level, 1] = low, high
                        if not _is_closed(box, closed):
                            most, first, last = total, low, high
            if first < 0:
                continue
            box[level, 0], box[level, 1] = first, last
        size, found = most, sign * most
        for k in range(len(box)):
            best_box[k, 0], best_box[k, 1] = box[k, 0], box[k, 1]
    return found


@njit(cache=True)
def _is_closed(box: Ints, closed: Ints) -> bool:
    for k in range(len(closed)):
        same = True
        for level in range(len(box)):
            if closed[k, level, 0] != box[level, 0] or closed[k, level, 1] != box[level, 1]:
                same = False
        if same:
            return True
    return False


@njit(cache=True, nogil=True)
def _bound_lists_by_rows(
    lists: Ints, codes: NDArray[np.uint8], weights: Ints, n_bins: Ints, order: float, bounds: NDArray
) -> None:
    """Bound the norms of the edges over the outputs of all boxes of lists of features, by the cells of one sign."""
    n_outputs, n_samples = weights.shape
    most = 1
    for k in range(len(lists)):
        most = max(most, _count_cells(lists[k], n_bins))
    cells, table, sizes = np.empty(n_samples, np.uint64), np.empty((1, most), np.int64), np.empty(n_outputs)
    for k in range(len(lists)):
        for o in range(n_outputs):
            size = _sum_cells(lists[k], codes, weights[o], n_bins, cells, table[0])
            sizes[o] = _bound_cells(table[:, :size], 0, 0, size)
        bounds[k] = measure_edges(sizes, 0, order)[0]


@njit(cache=True)
def _bound_cells(table: Ints, output: int, start: int, stop: int) -> float:
    """Return the larger one of the sums of the positive cells of one output, and of the negative ones."""
    positive, negative = 0, 0
    for k in range(start, stop):
        positive += max(table[output, k], 0)
        negative -= min(table[output, k], 0)
    return float(max(positive, negative))


@njit(cache=True, nogil=True)
def _search_lists_by_rows(
    tasks: tuple[int, int],
    lists: Ints,
    codes: NDArray[np.uint8],
    weights: Ints,
    n_bins: Ints,
    shut: Shut,
    order: float,
    floor: float,
    answers: Answers,
) -> None:
    """Find the open box of lists of features whose edges over the outputs have the largest norm, if above `floor`.

    As `_search_table`, but that the intervals of the last dimension are tried one by one too.
    """
    n_outputs, n_samples = weights.shape
    cells, edges = np.empty(n_samples, np.uint64), np.empty(n_outputs)
    for task in range(tasks[0], tasks[1]):
        features = lists[task]
        n_levels, n_cells = len(features), _count_cells(features, n_bins)
        table = np.empty((n_outputs, n_cells), np.int64)
        for o in range(n_outputs):
            _sum_cells(features, codes, weights[o], n_bins, cells, table[o])
        closed = shut.boxes[shut.starts[task] : shut.starts[task + 1]]
        # below each level the sums over the intervals so far, of the bins of the dimensions after it
        sums = np.zeros((n_levels, n_outputs, n_cells), np.int64)
        box = np.zeros((n_levels, 2), np.int64)
        box[0, 1] = -1
        size, level, width = floor, 0, n_cells // n_bins[features[0]]
        while level >= 0:
            box[level, 1] += 1
            n_here = n_bins[features[level]]
            if box[level, 1] == n_here:
                box[level, 0] += 1
                box[level, 1] = box[level, 0]
                if box[level, 0] == n_here:
                    level -= 1
                    if level >= 0:
                        width *= n_bins[features[level + 1]]
                    continue
            above, start = table if level == 0 else sums[level - 1], box[level, 1] * width
            new = box[level, 0] == box[level, 1]
            for o in range(n_outputs):
                for k in range(width):
                    sums[level, o, k] = above[o, start + k] + (0 if new else sums[level, o, k])
            if level < n_levels - 1:
                for o in range(n_outputs):
                    edges[o] = _bound_cells(sums[level], o, 0, width)
                if measure_edges(edges, 0, order)[0] > size:
                    level += 1
                    width //= n_bins[features[level]]
                    box[level, 0], box[level, 1] = 0, -1
                continue
            for o in range(n_outputs):
                edges[o] = float(sums[level, o, 0])
            here, most = measure_edges(edges, 0, order)
            if here > size and not _is_closed(box, closed):
                size = here
                answers.edges[task] = here if most >= 0 else -here
                for k in range(n_levels):
                    answers.boxes[task, k, 0], answers.boxes[task, k, 1] = box[k, 0], box[k, 1]
