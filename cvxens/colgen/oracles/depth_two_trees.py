"""All decision trees of depth 2 as an exact oracle.

A tree asks one feature, the root, and in each half of the samples another one, so it is the sum of two functions of two
features each. Given the root's test, what is best in one half does not depend on the other. So the sums of the weights
by pairs of bins, of the root's feature and another one, are all that is needed: summed up along both, they hold
what is below any place of the root and any threshold of the other, and the best splits of both halves are read off, in
O(n d^2 + d^2 bins^2) for all roots. Weights are integers (`FixedPoint`), whose sums are the same in every order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.colgen.oracles.bins import BinnedOracle, Side, drop_unweighted, find_bins, has_row, measure_edges
from cvxens.colgen.protocols import Priced
from cvxens.docstrings import documented
from cvxens.features import NONE, FixedPoint, Ints, sum_joint
from cvxens.hypotheses import Hypothesis
from cvxens.limits import map_in_threads, threads_for
from cvxens.types import Array

Closed: TypeAlias = dict[tuple[int, int], Ints]
"""By reading and place of a root its trees that must not be answered with: reading and place of the upper split and of
the lower one, -1 and 0 for none, and the product of their signs, (n_closed, 5)."""


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
    def n_hypotheses(self) -> int:
        """The number of trees, h and -h counted once."""
        readings, count, nothing = self.readings, int(self.constant), np.empty(0, np.int64)
        for f in np.flatnonzero(readings.counts).tolist():
            partners = np.flatnonzero(self.together[f])
            joint = sum_joint(f, partners, readings.codes[:, :0], readings.counts + 1, nothing)
            halves = _measure_halves(f, joint, partners, readings.twins, readings.counts)
            # a half has a constant or one of its splits, and with the two signs between them trees
            upper, lower = 1 + halves.counts.astype(object)
            count += int((2 * upper * lower - 1).sum())
        return count

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best tree of each root's reading and the constant, as `Oracle.price` says.

        Of equal edges the lowest feature and threshold comes first, the constant last. `edge_bound` exceeds the largest
        edge by what the rounding of `s` to fixed point can have cost.
        """
        weights = FixedPoint.from_weights(s, self.binned.n_samples)
        integers, codes = drop_unweighted(weights.integers, self.readings.codes)
        roots = np.flatnonzero(self.readings.counts).tolist()
        search = partial(self._search_root, codes, integers, self._close(exclude), row_norm)
        answers = map_in_threads(search, roots, threads_for(weights.integers.size * len(roots) ** 2))
        found = [
            (of_root.size, self.readings.make_tree((f, *of_root.tree[:6]), of_root.tree[6]))
            for f, of_root in zip(roots, answers, strict=True)
            if of_root.size > NONE
        ]
        every = max((of_root.largest for of_root in answers), default=NONE)
        outside = max((size for size, _ in found), default=-inf)
        answer = self._answer(weights, found, every if every > NONE else -inf, outside, exclude, row_norm)
        squares = sum(of_root.squares for of_root in answers)
        squares += self.constant * float((weights.totals.astype(np.float64) ** 2).sum())
        n_terms = 8 + 4 * int(self.readings.starts[-1])
        return replace(answer, edge_square_sum=weights.bound_squares(squares, float(self.n_hypotheses), n_terms))

    def _close(self, exclude: Collection[Hypothesis]) -> Closed:
        """Return the trees of the set among some hypotheses; others close nothing."""
        closed: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        for root, place, *tree in self.readings.find_trees(exclude, 2):
            closed.setdefault((root, place), []).append(tuple(tree))
        return {root: np.array(trees, np.int64) for root, trees in closed.items()}

    def _search_root(
        self, codes: NDArray[np.uint8], integers: Ints, closed: Closed, order: float, root: int
    ) -> BestTree:
        """Return the best open tree of a root's reading."""
        partners, twins, counts = np.flatnonzero(self.together[root]), self.readings.twins, self.readings.counts
        # sums of what is below any place of the root and any of a partner, (n_outputs, n_places + 1, n_bins)
        joint = np.stack([sum_joint(root, partners, codes, counts + 1, own) for own in integers])
        halves = [_measure_halves(root, own, partners, twins, counts) for own in joint]
        squares = sum(_sum_squares(own) for own in halves)

        def list_halves(outputs: slice, place: int) -> tuple[Ints, Ints]:
            upper, lower = (
                _list_splits((root, place, above), joint[outputs], partners, twins, counts) for above in (True, False)
            )
            return upper, lower

        if order == inf:
            answers = [
                _find_best(own, partial(list_halves, slice(o, o + 1)), root, closed) for o, own in enumerate(halves)
            ]
            # of several outputs the best, of equal sizes the first
            best = max(answers, key=lambda answer: answer[0])
            return BestTree(best[0], max(answer[1] for answer in answers), squares, best[2])
        size, largest = float(NONE), float(NONE)
        tree: tuple[int, ...] = ()
        nothing = np.empty((0, 5), np.int64)
        for place in range(1, int(counts[root]) + 1):
            lists, shut = list_halves(slice(None), place), closed.get((root, place), nothing)
            found, largest, here = _join_rows(*lists, shut, order, size, largest)
            size, tree = found, (place, *here) if found > size else tree
        return BestTree(size, largest, squares, tree)


class BestTree(NamedTuple):
    """The best open tree of a root's reading, in the units of the weights."""

    size: Any  # its edge, or the norm of its edges; `NONE` where there is none
    largest: Any  # the largest, open or closed
    squares: float  # the sum of squared edges
    tree: tuple[int, ...]  # the root's place; reading and place of the upper split and of the lower one; the product of
    # their signs, and the sign of the upper one


class Halves(NamedTuple):
    """The upper halves of a root, and its lower ones, under one output, (2, n_places, ...)."""

    totals: Ints  # the sums of their weights
    best: Ints  # reading, place, edge and its size of their best splits; -1, 0, 0 and `NONE` where there is none
    counts: Ints  # the number of their splits
    squares: Array  # the sums of squared edges of their splits


def _sum_squares(halves: Halves) -> float:
    """Sum the squared edges of the trees of a root."""
    above, below = halves.totals.astype(np.float64)
    (n_up, n_down), (up, down) = halves.counts, halves.squares
    # sum over both signs of (a + b)^2 + (a - b)^2, but for that of the constant
    squares = 2 * ((n_down + 1) * up + (n_up + 1) * down + n_down * above**2 + n_up * below**2) + (above - below) ** 2
    return float(squares.sum())


def _find_best(
    halves: Halves, list_halves: Callable[[int], tuple[Ints, Ints]], root: int, closed: Closed
) -> tuple[int, int, tuple[int, ...]]:
    """Return the largest edge of an open tree of a root, that of all, and the tree, under one output."""
    (above, below), (up, down) = halves.totals, halves.best
    upper, lower = up[:, 3], down[:, 3]
    # two constants of one sign are no tree; of opposite ones they are a stump
    sizes = np.stack([np.abs(above - below), np.abs(above) + lower, upper + np.abs(below), upper + lower])
    forms, here = sizes.argmax(axis=0), sizes.max(axis=0)
    largest = int(here.max())
    opened: dict[int, tuple[int, ...]] = {}
    while (k := int(here.argmax())) not in opened and (root, k + 1) in closed:
        shut = {*map(tuple, closed[root, k + 1].tolist())}
        upper, lower = (half[rank_splits(half, len(shut) + 2)].tolist() for half in list_halves(k + 1))
        here[k], found = find_open(upper, lower, shut)
        opened[k] = found or (-1, 0, -1, 0, -1, 1)
    if k in opened:
        return int(here[k]), largest, (k + 1, *opened[k])
    form = forms[k]
    a, b = (-1, 0, int(above[k])), (-1, 0, int(below[k]))
    if form == 0:
        # opposite signs
        a, b = ((*half[:2], edge) for half, edge in ((a, above[k] - below[k]), (b, -1 if above[k] >= below[k] else 1)))
    a, b = (up[k, :3].tolist() if form >= 2 else a), (down[k, :3].tolist() if form in (1, 3) else b)
    sign = 1 if a[2] >= 0 else -1
    return int(here[k]), largest, (k + 1, *a[:2], *b[:2], sign if b[2] >= 0 else -sign, sign)


@njit(cache=True, nogil=True)
def _measure_halves(root: int, joint: Ints, partners: Ints, twins: Ints, counts: Ints) -> Halves:
    """Find the best splits of both halves of every place of a root, by the sums below it and below partners' bins."""
    n_places = len(joint) - 1
    halves = Halves(
        np.zeros((2, n_places), np.int64),
        np.zeros((2, n_places, 4), np.int64),
        np.zeros((2, n_places), np.int64),
        np.zeros((2, n_places)),
    )
    everything = joint[n_places]
    for place in range(1, n_places + 1):
        below = joint[place - 1]
        for half in range(2):
            total = below[counts[partners[0]]]
            if half == 0:
                total = everything[counts[partners[0]]] - total
            reading, at, edge, size, squares, start = -1, 0, 0, NONE, 0.0, 0
            for g in partners:
                low, high = find_bins(g, (root, place, half == 0), twins, counts)
                for k in range(start + low, start + high):
                    here = total - 2 * (everything[k] - below[k] if half == 0 else below[k])
                    squares += float(here) * float(here)
                    if abs(here) > size:
                        reading, at, edge, size = g, k - start + 1, here, abs(here)
                halves.counts[half, place - 1] += max(high - low, 0)
                start += counts[g] + 1
            own = halves.best[half, place - 1]
            own[0], own[1], own[2], own[3] = reading, at, edge, size
            halves.totals[half, place - 1], halves.squares[half, place - 1] = total, squares
    return halves


@njit(cache=True, nogil=True)
def _list_splits(half: Side, joint: Ints, partners: Ints, twins: Ints, counts: Ints) -> Ints:
    """List the splits of a half, behind the bins of `find_bins`: rows of reading, place and edges, no split first."""
    n_outputs, n_bins, n_cells = joint.shape
    found, count = np.empty((1 + n_cells, 2 + n_outputs), np.int64), 0
    for o in range(n_outputs):
        below, everything = joint[o, half[1] - 1], joint[o, n_bins - 1]
        total = below[counts[partners[0]]]
        if half[2]:
            total = everything[counts[partners[0]]] - total
        found[0, 0], found[0, 1], found[0, 2 + o] = -1, 0, total
        count, start = 1, 0
        for g in partners:
            low, high = find_bins(g, half, twins, counts)
            for k in range(start + low, start + high):
                found[count, 0], found[count, 1] = g, k - start + 1
                found[count, 2 + o] = total - 2 * (everything[k] - below[k] if half[2] else below[k])
                count += 1
            start += counts[g] + 1
    return found[:count]


def find_open(
    upper: list[list[int]], lower: list[list[int]], closed: set[tuple[int, ...]], size: int = NONE
) -> tuple[int, tuple[int, ...] | None]:
    """Return the best tree of one root that is not closed: its edge, how it is written, and the sign of its upper half.

    None where that is not above `size`. Choices of both halves are written with their edges last, the largest first.
    The p-th and q-th together are no better than the ``p q - 1`` trees of those before them, of which only so many can
    be closed, and one more: the constant.
    """
    best, most = None, len(closed) + 2
    for p, (*up, above) in enumerate(upper[:most]):
        for *down, below in lower[: most // (p + 1)]:
            for product in (1, -1):
                edge, written = above + product * below, (*up, *down, product)
                is_constant = up[0] < 0 and down[0] < 0 and product > 0
                if abs(edge) > size and not is_constant and written not in closed:
                    size, best = abs(edge), (*written, 1 if edge >= 0 else -1)
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


@njit(cache=True, nogil=True)
def _join_rows(
    upper: Ints, lower: Ints, closed: Ints, order: float, size: float, largest: float
) -> tuple[float, float, tuple[int, int, int, int, int, int]]:
    """Return the largest norm of an open tree of one root, or `size`, that of all, or `largest`, and the tree.

    The edges of a tree are sums of those of its halves. The norm of a sum is at most the sum of the norms, so the
    choices of both halves are tried in the order of their norms until no two that are left can be better.
    """
    upper_norms, lower_norms = np.empty(len(upper)), np.empty(len(lower))
    for splits, norms in ((upper, upper_norms), (lower, lower_norms)):
        for k in range(len(splits)):
            norms[k] = measure_edges(splits[k, 2:].astype(np.float64), order)[0]
    by_upper, by_lower = np.argsort(-upper_norms), np.argsort(-lower_norms)
    best = (-1, 0, -1, 0, 1, 1)
    for p in by_upper:
        for q in by_lower:
            # less a little, so that rounding leaves out nothing that is larger
            if upper_norms[p] + lower_norms[q] <= size * (1 - 2.0**-40):
                break
            up, down = upper[p], lower[q]
            for product in (1, -1):
                if up[0] < 0 and down[0] < 0 and product > 0:
                    continue
                here, most = measure_edges((up[2:] + product * down[2:]).astype(np.float64), order)
                largest = max(largest, here)
                tree = (up[0], up[1], down[0], down[1], product, 1 if most >= 0 else -1)
                if here > size and not has_row(closed, tree):
                    size, best = here, tree
    return size, largest, best
