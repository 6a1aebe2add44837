"""All decision trees of depth 2 as an exact oracle.

A tree asks one feature, the root, and in each half of the samples another one, so it is the sum of two functions of two
features each. Given the root's test, what is best in one half does not depend on the other. So the sums of the weights
by pairs of bins, of the root's feature and another one, are all that is needed: place by place of the root, a row of
them moves from the upper half to the lower one, and the best splits of both are read off, in O(n d^2 + d^2 bins^2) for
all roots. Weights are integers (`FixedPoint`), whose sums are the same in every order.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.colgen.oracles.bins import BinnedOracle, Readings, find_places, measure_edges
from cvxens.colgen.protocols import Priced
from cvxens.docstrings import documented
from cvxens.features import NONE, FixedPoint, sum_pairs
from cvxens.hypotheses import Constant, Hypothesis
from cvxens.limits import map_slices, threads_for
from cvxens.rounding import EPSILON
from cvxens.types import Array

Ints: TypeAlias = NDArray[np.int64]

Half: TypeAlias = tuple[int, int]
"""A split of one half of the samples, by its reading and its place there; (-1, 0) for none."""

Written: TypeAlias = tuple[int, int, Half, Half, int]
"""The reading and place of a root, its upper and its lower half, and the product of their signs."""

NO_SPLIT: Half = (-1, 0)


@documented
@dataclass(eq=False, repr=False)
class DepthTwoTrees(BinnedOracle):
    """All decision trees of depth at most 2 with leaves -1 and +1, and the constant: the exact oracle over this set.

    The set has every tree over thresholds between the bins of all features: all middle thresholds of those with at most
    `n_bins` distinct values, of others as many as cut the sample into bins of nearly equal size. Trees count as they
    are written, without splits that decide nothing; so a function that can be written in two ways counts twice in
    `edge_square_sum` and `n_hypotheses`. An ensemble of such trees is a sum of functions of two features each. Missing
    values go to either side at every split, and there are splits that tell them from all others.

    Parameters
    ----------
    interactions : collection of groups of features, optional
        Root and child of a tree are features of one group, such as ``[(0, 1), (2, 3, 4)]``; by default any two. Both
        may always be the same feature.
    forbidden : collection of groups of features
        No two features of such a group are root and child.
    columns_per_round : int, optional
        At most so many columns are returned; by default all that were found: the best tree of each root's feature, and
        the constant.

    Examples
    --------
    What no stump can tell apart:

    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> priced = DepthTwoTrees(X).price(np.array([1.0, -1.0, -1.0, 1.0]))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 0.5 and x[1] >= 0.5, or x[0] < 0.5 and x[1] < 0.5 -> +1 4.0
    x[1] >= 0.5 and x[0] >= 0.5, or x[1] < 0.5 and x[0] < 0.5 -> +1 4.0
    always -> +1 0.0
    >>> priced.edge_bound
    4.000000000000001
    """

    source: ClassVar[str] = "Breiman et al. 1984"
    negations: ClassVar[bool] = True

    @cached_property
    def _layout(self) -> Layout:
        return _lay_out(self.readings, self.allowed)

    @cached_property
    def n_hypotheses(self) -> int:
        """The number of trees, h and -h counted once."""
        layout, count = self._layout, int(self.constant)
        counts = self.readings.counts
        for f, n_places in enumerate(counts.tolist()):
            others = layout.partners_of(f)
            related = {f, int(self.readings.twins[f])} & {*others.tolist()}
            elsewhere = 1 + int(counts[others].sum()) - sum(int(counts[g]) for g in related)
            for place in range(1, n_places + 1):
                # a half has a constant or one of its splits, and with the two signs between them trees
                upper, lower = (
                    elsewhere + sum(layout.count_places(g, f, place, above) for g in related) for above in (True, False)
                )
                count += 2 * upper * lower - 1
        return count

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best tree of each root's reading and the constant, as `Oracle.price` says.

        Of equal edges the lowest feature and threshold comes first, the constant last. `edge_bound` exceeds the largest
        edge by what the rounding of `s` to fixed point can have cost.
        """
        weights = FixedPoint.from_weights(s, self.binned.n_samples)
        closed = _close(self.readings, exclude)
        searched = range(len(weights.totals)) if row_norm == inf else [slice(None)]
        answers = [self._search(weights.integers[o], weights.totals[o], closed, row_norm) for o in searched]
        # of several outputs the best, of equal sizes the first
        winners = np.argmax([answer.sizes for answer in answers], axis=0).tolist()
        found: list[tuple[float, Hypothesis]] = [
            (answers[o].sizes[f].item(), self._make_tree(f, answers[o].trees[f]))
            for f, o in enumerate(winners)
            if answers[o].sizes[f] > NONE
        ]
        found.sort(key=lambda pair: -pair[0])
        every = max(answer.largest.max().item() for answer in answers)
        outside = found[0][0] if found else -inf
        answer = self._answer(weights, found, every if every > NONE else -inf, outside, exclude, row_norm)
        squares = sum(float(answer.squares.sum()) for answer in answers)
        return replace(answer, edge_square_sum=self._bound_square_sum(weights, squares))

    def _search(self, integers: Ints, total: Any, closed: Closed, order: float) -> Found:
        """Return the best open tree of each root's feature under the weights of one output, or by a norm over all."""
        layout, n_readings = self._layout, self.readings.n_readings
        # samples without a weight, many of them at times, are in no sum
        kept = np.flatnonzero(integers if order == inf else integers.any(axis=0))
        if len(kept) < integers.shape[-1]:
            integers, layout = integers.take(kept, axis=-1), layout._replace(codes=layout.codes.take(kept, axis=1))
        sizes, largest = np.full((2, n_readings), NONE, np.int64 if order == inf else np.float64)
        found = Found(sizes, largest, np.zeros(n_readings), np.zeros((n_readings, 7), np.int64))

        def visit(roots: slice) -> None:
            if order == inf:
                _visit_roots((roots.start, roots.stop), integers, total, layout, closed, found)
            else:
                _visit_roots_by_rows((roots.start, roots.stop), integers, total, layout, closed, order, found)

        map_slices(visit, n_readings, threads_for(integers.size * n_readings**2), guided=True)
        return found

    def _make_tree(self, root: int, tree: Ints) -> Hypothesis:
        """Make the hypothesis of a root's reading and what `Found.trees` has of it."""
        place, *halves = tree.tolist()
        return self.readings.make_branch(root, place, self._make_half(*halves[:3]), self._make_half(*halves[3:]))

    def _make_half(self, reading: int, place: int, sign: int) -> Hypothesis:
        return Constant(sign) if reading < 0 else self.readings.make_split(reading, place, sign)

    def _bound_square_sum(self, weights: FixedPoint, squares: float) -> float:
        squares += self.constant * float((weights.totals.astype(np.float64) ** 2).sum())
        rounding = (4 * int(self._layout.starts[-1]) + 16) * EPSILON
        # each of the rounded edges is off by the error at most, so their norm by that times the root of their number
        length = np.sqrt(float(self.n_hypotheses) * len(weights.totals) * (1 + rounding))
        return weights.real_square((np.sqrt(squares * (1 + rounding)) + weights.error * length) ** 2)


class Layout(NamedTuple):
    """The readings of a sample as compiled code visits them; `_starts` say where what belongs to each begins."""

    codes: NDArray[np.uint8]  # (n_readings, n_samples)
    starts: Ints  # (n_readings + 1,), where the bins of each reading begin in a list of all
    partners: Ints  # the readings that each root may be asked with, ascending, itself among them
    partner_starts: Ints
    twins: Ints  # (n_readings,), as `Readings` has them
    counts: Ints  # (n_readings,), the number of thresholds

    def partners_of(self, reading: int) -> Ints:
        """Return the readings that one may be the root of."""
        own: Ints = self.partners[self.partner_starts[reading] : self.partner_starts[reading + 1]]
        return own

    def count_places(self, reading: int, root: int, place: int, above: bool) -> int:
        """Count the places of a reading that split a half."""
        first, end = find_places(reading, (root, place, above), self.twins, self.counts)
        return int(end) - int(first)


def _lay_out(readings: Readings, allowed: NDArray[np.bool_]) -> Layout:
    # what never varies decides nothing
    allowed = allowed[np.ix_(readings.features, readings.features)] & (readings.counts > 0)
    partners = [np.flatnonzero(of_root) for of_root in allowed]
    partner_starts = np.append(0, np.cumsum([len(own) for own in partners]))
    codes = readings.codes
    return Layout(codes, readings.starts, np.concatenate(partners), partner_starts, readings.twins, readings.counts)


class Found(NamedTuple):
    """The best open tree of each root's reading, in the units of the weights, (n_readings,) each."""

    sizes: NDArray  # its edge, or the norm of its edges; `NONE` where there is none
    largest: NDArray  # the largest, open or closed
    squares: Array  # the sum of squared edges
    trees: Ints  # (n_readings, 7): the root's place; reading, place and sign of the upper split and of the lower one


class Closed(NamedTuple):
    """Trees that must not be answered with, in the order of their roots."""

    starts: Ints  # (n_readings + 1,), where those of each root's reading begin
    places: Ints  # (n_closed,), the places of the roots
    halves: Ints  # (n_closed, 5), reading and place of the upper split and of the lower one, the product of their signs


def _close(readings: Readings, exclude: Collection[Hypothesis]) -> Closed:
    """Return the trees of the set among some hypotheses; others close nothing."""
    written = sorted({tree for h in exclude if (tree := _write(readings, h)) is not None})
    roots = np.array([[f, i] for f, i, *_ in written], np.int64).reshape(-1, 2)
    starts = np.searchsorted(roots[:, 0], np.arange(readings.n_readings + 1))
    halves = np.array([[*upper, *lower, sign] for *_, upper, lower, sign in written], np.int64).reshape(-1, 5)
    return Closed(starts, roots[:, 1].copy(), halves)


def _write(readings: Readings, hypothesis: Hypothesis) -> Written | None:
    """Return what tells a tree from all others but its negation; None for what is no tree of the set."""
    root = readings.find_branch(hypothesis)
    if root is None:
        return None
    halves: list[Half] = []
    sign = 1
    for half in root[2:]:
        if isinstance(half, Constant):
            halves.append(NO_SPLIT)
            sign *= half.sign
        elif (split := readings.find_split(half)) is not None:
            halves.append(split[:2])
            sign *= split[2]
        else:
            return None
    return root[0], root[1], halves[0], halves[1], sign


@njit(cache=True, nogil=True)
def _visit_roots(
    roots: tuple[int, int], weights: Ints, total: int, layout: Layout, closed: Closed, found: Found
) -> None:
    """Find the best trees of some roots' readings."""
    for f in range(roots[0], roots[1]):
        _visit_root(f, weights, total, layout, closed, found)


@njit(cache=True)
def _visit_root(f: int, weights: Ints, total: int, layout: Layout, closed: Closed, found: Found) -> None:
    """Move row by row of the sums from the upper half to the lower one, and compare the trees at every place."""
    starts = layout.starts
    partners = layout.partners[layout.partner_starts[f] : layout.partner_starts[f + 1]]
    n_places = starts[f + 1] - starts[f] - 1
    tables = np.zeros((n_places + 1) * starts[-1], np.int64)
    above, below = np.zeros((2, starts[-1]), np.int64)
    for g in partners:
        n_bins = starts[g + 1] - starts[g]
        table = tables[(n_places + 1) * starts[g] : (n_places + 1) * starts[g + 1]]
        sum_pairs(layout.codes[f], layout.codes[g], weights, n_bins, table)
        for k in range(len(table)):
            above[starts[g] + k % n_bins] += table[k]
    above_total, below_total = total, 0
    size, largest, squares = NONE, NONE, 0.0
    # as variables, since what is called with a literal is compiled for each
    sides = np.array([True, False])
    # the closed trees of this root's reading
    first, last = closed.starts[f], closed.starts[f + 1]
    for place in range(1, n_places + 1):
        moved = 0
        for g in partners:
            n_bins = starts[g + 1] - starts[g]
            row = (n_places + 1) * starts[g] + (place - 1) * n_bins
            for k in range(n_bins):
                above[starts[g] + k] -= tables[row + k]
                below[starts[g] + k] += tables[row + k]
                moved += tables[row + k] if g == f else 0
        above_total, below_total = above_total - moved, below_total + moved
        upper, lower = (f, place, sides[0]), (f, place, sides[1])
        up = _split_half(upper, above_total, above, layout, partners)
        down = _split_half(lower, below_total, below, layout, partners)
        # sum over both signs of (a + b)^2 + (a - b)^2, but for that of the constant
        squares += 2.0 * ((down[3] + 1) * up[4] + (up[3] + 1) * down[4])
        squares += 2.0 * (down[3] * _square(above_total) + up[3] * _square(below_total)) + _square(
            above_total - below_total
        )
        here, tree = _join_halves(up, down, above_total, below_total)
        largest = max(largest, here)
        if here > size:
            while first < last and closed.places[first] < place:
                first += 1
            end = first
            while end < last and closed.places[end] == place:
                end += 1
            if end > first:
                of_upper = _list_splits(upper, above_total, above, layout, partners)
                of_lower = _list_splits(lower, below_total, below, layout, partners)
                here, tree = _find_open((of_upper, of_lower), closed.halves[first:end])
        if here > size:
            size = here
            found.trees[f, 0] = place
            for k in range(6):
                found.trees[f, 1 + k] = tree[k]
    found.sizes[f], found.largest[f], found.squares[f] = size, largest, squares


@njit(cache=True)
def _split_half(
    half: tuple[int, int, bool], total: int, sums: Ints, layout: Layout, partners: Ints
) -> tuple[int, int, int, int, float]:
    """Return the best split of one half: reading, place, edge of sign +1; the number of splits, the sum of squares.

    `half` is as `find_places` has it, and `total` the sum of its weights. Where there is no split the reading is -1.
    """
    starts, twins, counts = layout.starts, layout.twins, layout.counts
    reading, place, edge, size = -1, 0, 0, NONE
    count, squares = 0, 0.0
    for g in partners:
        low, high = find_places(g, half, twins, counts)
        below = 0
        for k in range(1, high):
            below += sums[starts[g] + k - 1]
            if k >= low:
                here = total - 2 * below
                squares += _square(here)
                if abs(here) > size:
                    reading, place, edge, size = g, k, here, abs(here)
        count += max(high - low, 0)
    return reading, place, edge, count, squares


@njit(cache=True)
def _join_halves(
    upper: tuple[int, int, int, int, float], lower: tuple[int, int, int, int, float], above: int, below: int
) -> tuple[int, tuple[int, int, int, int, int, int]]:
    """Return the largest edge of the trees of one root, and reading, place and sign of both halves of that tree.

    Two constants of one sign are no tree; of opposite ones they are a stump.
    """
    sign = 1 if above - below >= 0 else -1
    size, tree = abs(above - below), (-1, 0, sign, -1, 0, -sign)
    up, down = (upper[0], upper[1], 1 if upper[2] >= 0 else -1), (lower[0], lower[1], 1 if lower[2] >= 0 else -1)
    if lower[0] >= 0 and abs(above) + abs(lower[2]) > size:
        size, tree = abs(above) + abs(lower[2]), (-1, 0, 1 if above >= 0 else -1, down[0], down[1], down[2])
    if upper[0] >= 0 and abs(upper[2]) + abs(below) > size:
        size, tree = abs(upper[2]) + abs(below), (up[0], up[1], up[2], -1, 0, 1 if below >= 0 else -1)
    if lower[0] >= 0 and upper[0] >= 0 and abs(upper[2]) + abs(lower[2]) > size:
        size, tree = abs(upper[2]) + abs(lower[2]), (up[0], up[1], up[2], down[0], down[1], down[2])
    return size, tree


@njit(cache=True)
def _list_splits(half: tuple[int, int, bool], total: int, sums: Ints, layout: Layout, partners: Ints) -> Ints:
    """List what a half can be, as rows of reading, place and edge: no split first, then all as `_split_half` does."""
    starts, twins, counts = layout.starts, layout.twins, layout.counts
    found = np.empty((1 + starts[-1], 3), np.int64)
    found[0, 0], found[0, 1], found[0, 2] = -1, 0, total
    count = 1
    for g in partners:
        low, high = find_places(g, half, twins, counts)
        below = 0
        for k in range(1, high):
            below += sums[starts[g] + k - 1]
            if k >= low:
                found[count, 0], found[count, 1], found[count, 2] = g, k, total - 2 * below
                count += 1
    return found[:count]


@njit(cache=True)
def _find_open(splits: tuple[Ints, Ints], closed: Ints) -> tuple[int, tuple[int, int, int, int, int, int]]:
    """Return the best tree of one root that is not closed, its edge and halves, reading, place and sign of each.

    With the choices of both halves in the order of their sizes, the p-th and q-th together are no better than the
    ``p q - 1`` trees of those before them, of which only so many can be closed.
    """
    upper, lower = splits
    size, best = NONE, (-1, 0, 1, -1, 0, -1)
    # one more is closed: the constant
    n_closed = len(closed) + 1
    by_upper, by_lower = rank_splits(upper, n_closed + 1), rank_splits(lower, n_closed + 1)
    for p in range(len(by_upper)):
        for q in range(min(len(by_lower), (n_closed + 1) // (p + 1))):
            up, down = upper[by_upper[p]], lower[by_lower[q]]
            for product in (1, -1):
                edge = up[2] + product * down[2]
                if abs(edge) > size and not _is_closed(up, down, product, closed):
                    size, sign = abs(edge), 1 if edge >= 0 else -1
                    best = (up[0], up[1], sign, down[0], down[1], sign * product)
    return size, best


@njit(cache=True)
def rank_splits(splits: Ints, most: int) -> Ints:
    """Return the rows of the largest edges by size, the largest first, at most so many; an insertion sort of few."""
    ranked, count = np.empty(most + 1, np.int64), 0
    for k in range(len(splits)):
        at = count
        while at > 0 and abs(splits[ranked[at - 1], 2]) < abs(splits[k, 2]):
            ranked[at] = ranked[at - 1]
            at -= 1
        ranked[at] = k
        count = min(count + 1, most)
    return ranked[:count]


@njit(cache=True)
def _is_closed(upper: Ints, lower: Ints, product: int, closed: Ints) -> bool:
    """Return True for a tree that is closed, or the constant."""
    if upper[0] < 0 and lower[0] < 0 and product > 0:
        return True
    for tree in closed:
        same_halves = tree[0] == upper[0] and tree[1] == upper[1] and tree[2] == lower[0] and tree[3] == lower[1]
        if same_halves and tree[4] == product:
            return True
    return False


@njit(cache=True)
def _square(value: int) -> float:
    return float(value) * float(value)


NEARLY = 1 - 2.0**-40
"""What a norm is multiplied by so that rounding leaves out nothing that is larger."""


@njit(cache=True, nogil=True)
def _visit_roots_by_rows(
    roots: tuple[int, int], weights: Ints, totals: Ints, layout: Layout, closed: Closed, order: float, found: Found
) -> None:
    """Find the trees of some roots' readings whose edges over the outputs have the largest norm.

    The edges of a tree are sums of those of its halves. The norm of a sum is at most the sum of the norms, so the
    choices of both halves are tried in the order of their norms until no two that are left can be better.
    """
    starts, n_outputs = layout.starts, len(weights)
    edges = np.zeros(n_outputs)
    # as variables, since what is called with a literal is compiled for each
    sides = np.array([True, False])
    for f in range(roots[0], roots[1]):
        partners = layout.partners[layout.partner_starts[f] : layout.partner_starts[f + 1]]
        n_places = starts[f + 1] - starts[f] - 1
        tables = np.zeros((n_outputs, (n_places + 1) * starts[-1]), np.int64)
        above, below = np.zeros((2, n_outputs, starts[-1]), np.int64)
        below_totals = np.zeros(n_outputs, np.int64)
        for o in range(n_outputs):
            for g in partners:
                n_bins = starts[g + 1] - starts[g]
                table = tables[o, (n_places + 1) * starts[g] : (n_places + 1) * starts[g + 1]]
                sum_pairs(layout.codes[f], layout.codes[g], weights[o], n_bins, table)
                for k in range(len(table)):
                    above[o, starts[g] + k % n_bins] += table[k]
        size, largest, squares = float(NONE), float(NONE), 0.0
        for place in range(1, n_places + 1):
            upper, lower = np.empty((2, 1 + starts[-1], 2 + n_outputs), np.int64)
            n_upper, n_lower = 0, 0
            for o in range(n_outputs):
                for g in partners:
                    n_bins = starts[g + 1] - starts[g]
                    row = (n_places + 1) * starts[g] + (place - 1) * n_bins
                    for k in range(n_bins):
                        above[o, starts[g] + k] -= tables[o, row + k]
                        below[o, starts[g] + k] += tables[o, row + k]
                        below_totals[o] += tables[o, row + k] if g == f else 0
                above_total = totals[o] - below_totals[o]
                of_upper = _list_splits((f, place, sides[0]), above_total, above[o], layout, partners)
                of_lower = _list_splits((f, place, sides[1]), below_totals[o], below[o], layout, partners)
                n_upper, n_lower = len(of_upper), len(of_lower)
                _write_edges(of_upper, o, upper)
                _write_edges(of_lower, o, lower)
                squares += _sum_squares(of_upper[:, 2], of_lower[:, 2])
            upper_norms, lower_norms = np.empty(n_upper), np.empty(n_lower)
            for k in range(n_upper):
                upper_norms[k] = measure_edges(upper[k, 2:].astype(np.float64), 0, order)[0]
            for k in range(n_lower):
                lower_norms[k] = measure_edges(lower[k, 2:].astype(np.float64), 0, order)[0]
            by_upper, by_lower = np.argsort(-upper_norms), np.argsort(-lower_norms)
            first, end = closed.starts[f], closed.starts[f + 1]
            while first < end and closed.places[first] < place:
                first += 1
            last = first
            while last < end and closed.places[last] == place:
                last += 1
            for p in by_upper:
                for q in by_lower:
                    if upper_norms[p] + lower_norms[q] <= size * NEARLY:
                        break
                    for product in (1, -1):
                        if upper[p, 0] < 0 and lower[q, 0] < 0 and product > 0:
                            continue
                        for o in range(n_outputs):
                            edges[o] = float(upper[p, 2 + o] + product * lower[q, 2 + o])
                        here, most = measure_edges(edges, 0, order)
                        largest = max(largest, here)
                        if here > size and not _is_closed(upper[p], lower[q], product, closed.halves[first:last]):
                            size, sign = here, 1 if most >= 0 else -1
                            tree = (place, upper[p, 0], upper[p, 1], sign, lower[q, 0], lower[q, 1], sign * product)
                            for k in range(7):
                                found.trees[f, k] = tree[k]
        found.sizes[f], found.largest[f], found.squares[f] = size, largest, squares


@njit(cache=True)
def _write_edges(of_output: Ints, o: int, splits: Ints) -> None:
    """Write the splits of one output, and their edges in the output's column.

    Assignments of slices would compile the message of their error, for seconds.
    """
    for k in range(len(of_output)):
        splits[k, 0], splits[k, 1], splits[k, 2 + o] = of_output[k, 0], of_output[k, 1], of_output[k, 2]


@njit(cache=True)
def _sum_squares(upper: Ints, lower: Ints) -> float:
    """Sum ``(a + b)^2 + (a - b)^2`` over what both halves can be, no split first, but for ``a + b`` of two of these."""
    of_upper, of_lower = 0.0, 0.0
    for edge in upper:
        of_upper += _square(edge)
    for edge in lower:
        of_lower += _square(edge)
    return 2.0 * (len(lower) * of_upper + len(upper) * of_lower) - _square(upper[0] + lower[0])
