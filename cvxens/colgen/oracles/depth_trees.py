"""All decision trees of depth 2, and all of depth 3, as exact oracles.

Given the test of the root, what is best in one half of the samples does not depend on the other. A tree of depth 2 asks
another feature in each half, so it is the sum of two functions of two features each. So the sums of the weights by
pairs of bins, of the root's feature and another one, are all that is needed: summed up along both, they hold what is
below any place of the root and any threshold of the other, and the best splits of both halves are read off, in
O(n d^2 + d^2 bins^2) for all roots. Weights are integers (`FixedPoint`), whose sums are the same in every order.

The best tree of depth 3 of a root is the best trees of depth 2 in both halves, and those are read off from sums of
weights by pairs of bins of each (Demirovic et al., JMLR 23 (2022)). Place by place of the root, samples move from one
half to the other: one pass over the sample for each root's feature serves all of its places, O(n d^3 + d^3 bins^3) in
all. Two bounds leave places out. No tree's edge exceeds the sum of all |s|; and samples of the mass m that change their
half change the edge of a tree by 2 m at most, so that places near one that is known have a bound (the similarity bound
of Aglin, Nijssen & Schaus, AAAI 2020, and of Demirovic et al.; for thresholds, Brita, van der Linden & Demirovic, AAAI
2025). So a search may stop at any time, and still bounds its set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from cvxens.colgen.oracles.bins import (
    AnytimeOracle,
    BinnedOracle,
    ClosedTrees,
    Readings,
    Side,
    drop_unweighted,
    find_bins,
    has_row,
    measure_edges,
    size_edges,
)
from cvxens.colgen.protocols import Priced
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.features import NO_BOUND, NONE, FixedPoint, Ints, sum_joint, sum_pairs
from cvxens.hypotheses import Hypothesis
from cvxens.limits import map_in_threads, threads_for
from cvxens.types import Array, Mask


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
        At most so many columns are returned; by default the constant and a hundred trees. There are never more than
        five times as many as features: the best of each root's places that are apart, ten of a root at most.

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

    def has(self, hypothesis: Hypothesis) -> bool:
        """Return True of a tree that is of the set as it is written."""
        if (found := self.readings.find_tree(hypothesis, 2)) is None:
            return False
        (root, place, *halves, product), of = found[0], self.readings
        if root < 0:
            return self.constant
        for above, (g, at) in ((True, halves[:2]), (False, halves[2:])):
            low, high = find_bins(g, (root, place, above), of.twins, of.counts)
            # elsewhere it splits nothing
            if g >= 0 and not (self.together[root, g] and low < at <= high):
                return False
        return product < 0 or max(halves[0], halves[2]) >= 0

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best trees of each root's reading and the constant, as `Oracle.price` says.

        Of equal edges the lowest feature and threshold comes first, the constant last. `edge_bound` exceeds the largest
        edge by what the rounding of `s` to fixed point can have cost.
        """
        weights = FixedPoint.from_weights(s, self.binned.n_samples)
        integers, codes = drop_unweighted(weights.integers, self.readings.codes)
        roots = np.flatnonzero(self.readings.counts).tolist()
        search = partial(self._search_root, codes, integers, self.readings.close_trees(exclude, 2), row_norm)
        answers = map_in_threads(search, roots, threads_for(weights.integers.size * len(roots) ** 2))
        ranked = [(size, f, tree) for f, own in zip(roots, answers, strict=True) for size, tree in own.trees]
        # runs with five of a root a round take 0.9 of the time of those with three (10,000 x 20); on 40 features and 80
        # those with a hundred of all roots 0.7 to 0.8 of the time of those with five of each
        ranked = sorted(ranked, key=lambda each: -each[0])[: min(5 * len(roots), self.columns_per_round or 100)]
        trees = [(size, (f, *tree[:6]), tree[6]) for size, f, tree in ranked]
        if len(weights.integers) > 1 and row_norm == inf:
            # what is best under one output may have a larger edge under another one
            rows = (weights.integers @ self.readings.evaluate(tree, sign) for _, tree, sign in trees)
            trees = [(max(size, row.max()), tree, sign) for row, (size, tree, sign) in zip(rows, trees, strict=True)]
        found = [(size, self.readings.make_tree(tree, sign)) for size, tree, sign in trees]
        written = {made: (tree, sign) for (_, made), (_, tree, sign) in zip(found, trees, strict=True)}
        every = max((of_root.largest for of_root in answers), default=NONE)
        outside = max((size for size, _ in found), default=-inf)
        answer = self._answer(weights, found, every if every > NONE else -inf, outside, exclude, row_norm)
        for column in answer.columns if isinstance(self.sample, np.ndarray) else ():
            # by the bins, a quarter of the time that it takes by the features
            if column.hypothesis in written:
                vars(column)["packed"] = self.readings.evaluate(*written[column.hypothesis]), 1.0
        squares, n_terms = sum(of_root.squares for of_root in answers), 8 + 4 * int(self.readings.starts[-1])
        return replace(answer, edge_square_sum=self._bound_squares(weights, squares, n_terms))

    def _search_root(
        self, codes: NDArray[np.uint8], integers: Ints, closed: ClosedTrees, order: float, root: int
    ) -> BestTrees:
        """Return the best open trees of a root's reading."""
        partners, twins, counts = np.flatnonzero(self.together[root]), self.readings.twins, self.readings.counts
        # sums of what is below any place of the root and any of a partner, (n_outputs, n_places + 1, n_bins)
        joint = np.stack([sum_joint(root, partners, codes, counts + 1, own) for own in integers])
        halves = [_measure_halves(root, own, partners, twins, counts) for own in joint]
        squares = sum(_sum_squares(own) for own in halves)

        def list_halves(outputs: slice, place: int) -> tuple[Ints, Ints]:
            of = joint[outputs], partners, twins, counts
            return _split_half((root, place, True), *of), _split_half((root, place, False), *of)

        if order == inf:
            parts = [(own, partial(list_halves, slice(o, o + 1))) for o, own in enumerate(halves)]
            answers = [_rank_places(own, list_own, root, closed) for own, list_own in parts]
            # of several outputs the best, of equal sizes the first
            best = max(answers, key=lambda answer: answer[1][0][0] if answer[1] else NONE)
            return BestTrees(best[1], max(answer[0] for answer in answers), squares)
        size, largest = float(NONE), float(NONE)
        tree: tuple[int, ...] = ()
        for place in range(1, int(counts[root]) + 1):
            lists = list_halves(slice(None), place)
            shut = np.array([*closed.get((root, place), ())], np.int64).reshape(-1, 5)
            found, largest, here = _join_rows(*lists, shut, order, size, largest)
            size, tree = found, (place, *here) if found > size else tree
        return BestTrees([(size, tree)] if tree else [], largest, squares)


class BestTrees(NamedTuple):
    """The best open trees of a root's reading, in the units of the weights."""

    trees: list[tuple[Any, tuple[int, ...]]]  # the largest first, each behind its edge, or the norm of its edges: the
    # root's place; reading and place of the upper split and of the lower one; the product of their signs, and the sign
    # of the upper one
    largest: float  # the largest, open or closed
    squares: float  # the sum of squared edges


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


def _rank_places(
    halves: Halves, list_halves: Callable[[int], tuple[Ints, Ints]], root: int, closed: ClosedTrees
) -> tuple[int, list[tuple[int, tuple[int, ...]]]]:
    """Return the largest edge of a root's trees under one output, and the best open ones of its places."""
    (above, below), (up, down) = halves.totals, halves.best
    upper, lower = up[:, 3], down[:, 3]
    # two constants of one sign are no tree; of opposite ones they are a stump
    sizes = np.stack([np.abs(above - below), np.abs(above) + lower, upper + np.abs(below), upper + lower])
    forms, here = sizes.argmax(axis=0), sizes.max(axis=0)
    largest, opened = int(here.max()), dict[int, tuple[int, ...]]()
    found: list[tuple[int, tuple[int, ...]]] = []
    # trees of neighbouring places are nearly the same: on 10,000 x 20 runs with all of these take 1.2 times as long
    near = len(here) // 20
    while len(found) < 10 and (size := int(here[k := int(here.argmax())])) > NONE:
        if k not in opened and (shut := closed.get((root, k + 1))):
            split = [half[rank_splits(half, len(shut) + 2)].tolist() for half in list_halves(k + 1)]
            here[k], tree = find_open(split[0], split[1], shut)
            opened[k] = tree or ()
            continue
        here[max(k - near, 0) : k + near + 1] = NONE
        if k in opened:
            found.append((size, (k + 1, *opened[k])))
            continue
        form, difference = forms[k], int(above[k] - below[k])
        # two constants have opposite signs, as have a number and its complement
        totals = (difference, ~difference) if form == 0 else (int(above[k]), int(below[k]))
        a = up[k, :3].tolist() if form >= 2 else [-1, 0, totals[0]]
        b = down[k, :3].tolist() if form in (1, 3) else [-1, 0, totals[1]]
        sign = 1 if a[2] >= 0 else -1
        found.append((size, (k + 1, *a[:2], *b[:2], sign if b[2] >= 0 else -sign, sign)))
    return largest, found


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
def _split_half(half: Side, joint: Ints, partners: Ints, twins: Ints, counts: Ints) -> Ints:
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


Written: TypeAlias = tuple[int, ...]
"""A tree but for its sign, as `Readings.make_tree` takes it."""


@documented
@dataclass(eq=False, repr=False)
class DepthThreeTrees(AnytimeOracle):
    """All decision trees of depth at most 3 with leaves -1 and +1, and the constant: the exact oracle over this set.

    The set has every tree over thresholds between the bins of all features, as `DepthTwoTrees` has those of depth 2. A
    search to its end is exact. One that ends before, by `max_nodes`, `max_seconds` or the time limit of a fit, answers
    with the best trees so far, and with the bounds of what it has not searched: proofs hold, with a larger gap. Sums of
    squares are not known, so nothing is proven under penalties on squares. The time of a call grows with the cubes of
    the numbers of features and of bins.

    Parameters
    ----------
    interactions : collection of groups of features, optional
        Any two features that a sample is asked on its way to a leaf are of one group, such as ``[(0, 1), (2, 3, 4)]``;
        by default any.
    forbidden : collection of groups of features
        No sample is asked two features of such a group.
    columns_per_round : int, optional
        At most so many columns are returned: the best trees of the roots' features and the constant, ranked; by default
        all that have at least half of the best edge. With one column places that cannot have the best tree are left
        out, which is faster where a tree of depth 3 nearly fits.

    Raises
    ------
    InvalidInput
        So many features and bins have more than 2^25 pairs of bins.

    Examples
    --------
    What no tree of depth 2 can tell apart:

    >>> from itertools import product
    >>> X = np.array(list(product([0.0, 1.0], repeat=3)))
    >>> s = (2 * X - 1).prod(axis=1)
    >>> priced = DepthThreeTrees(X, columns_per_round=1).price(s)
    >>> print(*(f"{column.hypothesis.root.feature} {column.edge}" for column in priced.columns))
    0 8.0
    >>> priced.edge_bound
    8.000000000000002
    """

    source: ClassVar[str] = "Demirovic et al. 2022; Brita et al. 2025"

    def __post_init__(self, *given: object) -> None:
        super().__post_init__(*given)
        self._layout = _lay_out(self.readings, self.together)
        n_cells = int(self._layout.offsets[-1])
        # a cell has 8 bytes, and a thread some four copies of each
        if n_cells > (most_cells := 2**25):
            found = f"found {self.n_bins} bins, which make {n_cells:,} pairs of bins of {len(self.allowed)} features"
            raise InvalidInput("n_bins", found, f"give fewer, for at most {most_cells:,}, or allow fewer interactions")

    @cached_property
    def n_hypotheses(self) -> int:
        """The number of trees as they are written, h and -h counted once."""
        layout, count = self._layout, int(self.constant)
        nothing = Half.of_zeros(layout)
        for f, n_places in enumerate(layout.counts.tolist()):
            partners = np.flatnonzero(layout.allowed[f])
            for place in range(1, n_places + 1):
                upper, lower = (_rank_halves(layout, nothing, partners, (f, place, a), 1)[2] for a in (True, False))
                # every two, with the signs that they have to each other, but for two constants of one sign
                count += 2 * upper * lower - 1
        return count

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best trees of the roots' features that were searched, as `Oracle.price` says, and bounds on all.

        Of equal edges the root that was searched first comes first, the constant last. Where the search came to its end
        the bounds exceed the largest edges by what the rounding of `s` to fixed point can have cost, and where it did
        not, the sum of all |s| is among them. Where a norm ranks edges over several outputs, the best trees of each are
        ranked by it, and the bound is the norm of the bounds, which holds, and leaves a gap.
        """
        weights = FixedPoint.from_weights(s, self.binned.n_samples)
        ends_at = time.perf_counter() + self.max_seconds
        closed = self.readings.close_trees(exclude, 3)
        answers = [self._search(integers, closed, ends_at) for integers in weights.integers]
        trees = list(dict.fromkeys(tree for found, _ in answers for tree in found))
        edges, shut = (
            np.array([weights.integers @ self.readings.evaluate(tree) for tree in some]).reshape(-1, len(answers)).T
            for some in (trees, [(*root, *rest) for root, shut in closed.items() for rest in shut])
        )
        # the norm of the edges is no more than that of the largest edges of all outputs
        bounds = np.array([bound for _, bound in answers])
        outside = -inf if bounds.max() == NONE else size_edges(bounds[:, np.newaxis], row_norm)[0]
        every = max([outside, *size_edges(shut, row_norm)])
        # of several outputs the best, of equal sizes the first
        best = np.take_along_axis(edges, np.abs(edges).argmax(axis=0)[np.newaxis], axis=0)[0].tolist()
        found = zip(trees, best, size_edges(edges, row_norm), strict=True)
        ranked = ((size, self.readings.make_tree(tree, 1 if edge >= 0 else -1)) for tree, edge, size in found)
        return self._answer(weights, ranked, every, outside, exclude, row_norm)

    def _search(self, integers: Ints, closed: ClosedTrees, ends_at: float) -> tuple[list[Written], float]:
        """Return the best open trees of the roots' features, and a bound on all open ones, for one output."""
        n_readings = len(self.readings.thresholds)
        (integers,), codes = drop_unweighted(integers[np.newaxis], self._layout.codes)
        layout = self._layout._replace(codes=codes)
        n_threads = threads_for(len(integers) * len(layout.pairs))
        sample = _sum_sample(layout, integers, n_threads)
        promise, everyone = np.full(n_readings, NONE), np.arange(n_readings)
        _measure_half(layout, sample, everyone, np.arange(len(layout.pairs)), (-1, 0, True), promise)
        roots, trees = np.flatnonzero(self.readings.counts), list[Written]()
        roots = roots[np.argsort(-promise[roots], kind="stable")]

        def search(parts: slice, best: float) -> Iterator[int]:
            floor = best if self.columns_per_round == 1 else best // 2
            search_root = partial(_search_root, layout, integers, sample, closed, floor)
            for size, tree in map_in_threads(search_root, roots[parts].tolist(), n_threads):
                if tree is not None:
                    trees.append(tree)
                    yield size

        # every root is searched, whatever the best edge is, as a run wants the trees of others too
        bound = self._search_parts(np.full(len(roots), NO_BOUND), NONE, search, 4, ends_at)
        return trees, min(bound, int(np.abs(integers).sum()))


class TableLayout(NamedTuple):
    """The readings of a sample as compiled code visits them; those that never vary are in no pair."""

    codes: NDArray[np.uint8]  # (n_readings, n_samples)
    starts: Ints  # (n_readings + 1,), where the bins of each reading begin in a list of all
    allowed: Mask  # (n_readings, n_readings), those that may be asked of one sample
    pairs: Ints  # (n_pairs, 2), readings g < h that may
    offsets: Ints  # (n_pairs + 1,), where the bins of each pair begin, those of h for each of g
    numbers: Ints  # (n_readings, n_readings), the number of the pair g < h, -1 for none
    twins: Ints  # (n_readings,), as `Readings` has them
    counts: Ints  # (n_readings,), the number of thresholds


def _lay_out(readings: Readings, allowed: Mask) -> TableLayout:
    counts = readings.counts
    pairs = np.ascontiguousarray(np.argwhere(np.triu(allowed, 1)), np.int64)
    offsets = np.append(0, np.cumsum((counts[pairs[:, 0]] + 1) * (counts[pairs[:, 1]] + 1)))
    numbers = np.full(allowed.shape, -1)
    numbers[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
    codes = readings.codes
    return TableLayout(codes, readings.starts, allowed, pairs, offsets, numbers, readings.twins, counts)


class Half(NamedTuple):
    """Sums of the weights of some samples, up to and with each bin."""

    sums: Ints  # by the bins of each reading, at `TableLayout.starts`
    tables: Ints  # by the bins of each pair, at `TableLayout.offsets`

    @classmethod
    def of_zeros(cls, layout: TableLayout) -> Half:
        """Return the sums of no samples."""
        return cls(np.zeros(layout.starts[-1], np.int64), np.zeros(layout.offsets[-1], np.int64))


def _sum_sample(layout: TableLayout, weights: Ints, n_threads: int) -> Half:
    """Sum the weights of all samples."""
    plain, sums, rest = (Half.of_zeros(layout) for _ in range(3))

    def sum_reading(reading: int) -> None:
        here, own = np.array([reading]), np.flatnonzero(layout.pairs[:, 0] == reading)
        _add_samples(0, len(weights), layout.codes, weights, layout, here, own, plain)
        _divide(plain, plain, layout, here, own, sums, rest)

    map_in_threads(sum_reading, range(len(layout.counts)), n_threads)
    return sums


@njit(cache=True, nogil=True)
def _measure_half(layout: TableLayout, half: Half, partners: Ints, own: Ints, root: Side, sizes: Ints) -> int:
    """Bound the edges of the trees of depth 2 with a split in a half, `NONE` if there are none.

    `partners` are the readings of such trees, and `own` the numbers of their pairs; `sizes` receives the largest edges
    by reading. Quarters are cut by both readings of a feature even where one cuts nothing off, so that the bound need
    not be attained; `_list_splits` leaves these out.
    """
    sums, tables = half
    starts = layout.starts
    # of the best split below each bin of a root and above it: the edge
    low, high = np.full((2, starts[-1]), NONE)
    far = np.int64(2**62)
    least, most, least_above, most_above = np.empty((4, 256), np.int64)
    for g in partners:
        # splits by one reading
        first, end = find_bins(g, root, layout.twins, layout.counts)
        mine = sums[starts[g] : starts[g + 1]]
        total = mine[-1]
        small, large = far, -far
        for u in range(first, end):
            if u > first:
                low[starts[g] + u] = max(mine[u] - 2 * small, 2 * large - mine[u])
            small, large = min(small, mine[u]), max(large, mine[u])
        small, large = far, -far
        for u in range(end - 1, first - 1, -1):
            if u < end - 1:
                above, below_u = total - mine[u], mine[u]
                high[starts[g] + u] = max(above - 2 * (small - below_u), 2 * (large - below_u) - above)
            small, large = min(small, mine[u]), max(large, mine[u])
    for number in own:
        g, h = layout.pairs[number]
        first_g, end_g = find_bins(g, root, layout.twins, layout.counts)
        first_h, end_h = find_bins(h, root, layout.twins, layout.counts)
        if first_g >= end_g and first_h >= end_h:
            continue
        of_g, of_h = sums[starts[g] : starts[g + 1]], sums[starts[h] : starts[h + 1]]
        n_bins, total = len(of_h), of_h[-1]
        table = tables[layout.offsets[number] : layout.offsets[number + 1]]
        least[:n_bins], most[:n_bins], least_above[:n_bins], most_above[:n_bins] = far, -far, far, -far
        for u in range(first_g, end_g):
            row, below_u = table[u * n_bins : (u + 1) * n_bins], of_g[u]
            # over the splits by h of the samples up to u, and of those above, the sum of the weights below the split
            small, large, small_above, large_above = far, -far, far, -far
            for v in range(first_h, end_h):
                both = row[v]
                small, large = min(small, both), max(large, both)
                other = of_h[v] - both
                small_above, large_above = min(small_above, other), max(large_above, other)
                least[v], most[v] = min(least[v], both), max(most[v], both)
                other = below_u - both
                least_above[v], most_above[v] = min(least_above[v], other), max(most_above[v], other)
            if first_h < end_h:
                at, above = starts[g] + u, total - below_u
                low[at] = max(low[at], below_u - 2 * small, 2 * large - below_u)
                high[at] = max(high[at], above - 2 * small_above, 2 * large_above - above)
        if first_g < end_g:
            for v in range(first_h, end_h):
                at, below_v, above = starts[h] + v, of_h[v], total - of_h[v]
                low[at] = max(low[at], below_v - 2 * least[v], 2 * most[v] - below_v)
                high[at] = max(high[at], above - 2 * least_above[v], 2 * most_above[v] - above)
    best = NONE
    for g in partners:
        first, end = find_bins(g, root, layout.twins, layout.counts)
        size, total = NONE, sums[starts[g + 1] - 1]
        for u in range(first, end):
            at = starts[g] + u
            below, above = sums[at], total - sums[at]
            size = max(size, _join(low[at], high[at], below, above))
        sizes[g] = size
        best = max(best, size)
    return best


@njit(cache=True)
def _join(lower: int, upper: int, below: int, above: int) -> int:
    """Return the largest edge of the trees of two halves, of their best that are no constants and of their sums.

    Two constants of one sign are no tree.
    """
    return max(lower + upper, lower + abs(above), abs(below) + upper, abs(below - above))


def _search_root(
    layout: TableLayout, weights: Ints, sample: Half, closed: ClosedTrees, floor: float, f: int
) -> tuple[int, Written | None]:
    """Return the best open tree of a root's reading and its edge; one of an edge of at most `floor` need not be found.

    The best tree of every place is measured, and then open ones are looked for, at the best places first.
    """
    starts, partners = layout.starts, np.flatnonzero(layout.allowed[f])
    n_places = int(starts[f + 1] - starts[f]) - 1
    own = np.flatnonzero(layout.allowed[f][layout.pairs].all(axis=1))
    order = np.argsort(layout.codes[f], kind="stable")
    ends = np.searchsorted(layout.codes[f][order], np.arange(n_places + 1), side="right").tolist()
    codes, weights = layout.codes.take(order, axis=1), weights[order]
    masses = np.add.reduceat(np.append(np.abs(weights), 0), [0, *ends])[:-1].tolist()
    total, bounds = int(weights.sum()), [NONE] * (n_places + 1)
    known, moved, kept, unused = sum(masses), 0, 0, np.empty(len(starts) - 1, np.int64)
    plain, below, above, kept_below, kept_above = (Half.of_zeros(layout) for _ in range(5))
    for place in range(1, n_places + 1):
        start, stop = ends[place - 2] if place > 1 else 0, ends[place - 1]
        _add_samples(start, stop, codes, weights, layout, partners, own, plain)
        moved += masses[place - 1]
        # a tree of this place is one of the known place, or the constant, but for the samples that changed their half
        bounds[place] = min(sum(masses), max(known, abs(total)) + 2 * moved)
        if bounds[place] <= floor:
            continue
        _divide(plain, sample, layout, partners, own, below, above)
        below_total = int(below.sums[starts[f + 1] - 1])
        upper = _measure_half(layout, above, partners, own, (f, place, True), unused)
        lower = _measure_half(layout, below, partners, own, (f, place, False), unused)
        bounds[place] = known = _join(lower, upper, below_total, total - below_total)
        moved = 0
        if not kept or known > bounds[kept]:
            kept = place
            below, kept_below = kept_below, below
            above, kept_above = kept_above, above
    size, tree = NONE, None
    while max(bounds) > max(size, floor):
        place = bounds.index(max(bounds))
        bounds[place] = NONE
        if place != kept:
            plain, kept = Half.of_zeros(layout), place
            _add_samples(0, ends[place - 1], codes, weights, layout, partners, own, plain)
            _divide(plain, sample, layout, partners, own, kept_below, kept_above)
        shut = closed.get((f, place), set())
        upper, lower = (
            np.column_stack(_rank_halves(layout, half, partners, (f, place, above), len(shut) + 2)[:2]).tolist()
            for half, above in ((kept_above, True), (kept_below, False))
        )
        size, found = find_open(upper, lower, shut, size)
        tree = tree if found is None else (f, place, *found[:-1])
    return size, tree


@njit(cache=True, nogil=True)
def _add_samples(
    start: int,
    stop: int,
    codes: NDArray[np.uint8],
    weights: Ints,
    layout: TableLayout,
    partners: Ints,
    own: Ints,
    plain: Half,
) -> None:
    """Add the weights of some samples to sums by bins."""
    for g in partners:
        for i in range(start, stop):
            plain.sums[layout.starts[g] + codes[g, i]] += weights[i]
    for number in own:
        g, h = layout.pairs[number]
        n_bins = layout.starts[h + 1] - layout.starts[h]
        table = plain.tables[layout.offsets[number] : layout.offsets[number + 1]]
        sum_pairs(codes[g, start:stop], codes[h, start:stop], weights[start:stop], n_bins, table)


@njit(cache=True, nogil=True)
def _divide(
    plain: Half, sample: Half, layout: TableLayout, partners: Ints, own: Ints, below: Half, above: Half
) -> None:
    """Sum up along the bins what is below the root's threshold; what is above is the rest."""
    for g in partners:
        along = 0
        for k in range(layout.starts[g], layout.starts[g + 1]):
            along += plain.sums[k]
            below.sums[k], above.sums[k] = along, sample.sums[k] - along
    for number in own:
        h = layout.pairs[number, 1]
        n_bins, first = layout.starts[h + 1] - layout.starts[h], layout.offsets[number]
        for row in range(first, layout.offsets[number + 1], n_bins):
            along = 0
            for k in range(row, row + n_bins):
                along += plain.tables[k]
                below.tables[k] = along + (below.tables[k - n_bins] if row > first else 0)
                above.tables[k] = sample.tables[k] - below.tables[k]


@njit(cache=True, nogil=True)
def _rank_halves(layout: TableLayout, half: Half, partners: Ints, root: Side, most: int) -> tuple[Ints, Ints, int]:
    """Return the trees of depth 2 of the largest edges in a half, at most so many, the largest first, and how written.

    The constant is among them. Edges are those of the sign that the uppermost leaf is +1. Beside them comes the number
    of all trees, h or -h.
    """
    starts = layout.starts
    edges, forms, count = np.zeros(most, np.int64), np.zeros((most, 7), np.int64), 1
    edges[0] = half.sums[starts[partners[0] + 1] - 1]
    forms[0, 0], forms[0, 2], forms[0, 4], forms[0, 6] = -1, -1, -1, 1
    form, n_trees = np.zeros(7, np.int64), 1
    # as variables, since what is called with a literal is compiled for each
    sides = np.array([True, False])
    for g in partners:
        first, end = find_bins(g, root, layout.twins, layout.counts)
        for u in range(first, end):
            upper = _list_splits(layout, half, partners, root, g, u, sides[0])
            lower = _list_splits(layout, half, partners, root, g, u, sides[1])
            n_trees += 2 * len(upper) * len(lower) - 1
            by_upper, by_lower = rank_splits(upper, most + 1), rank_splits(lower, most + 1)
            for p in range(len(by_upper)):
                # one of the trees before is none: two constants of one sign
                for q in range(min(len(by_lower), (most + 1) // (p + 1))):
                    up, down = upper[by_upper[p]], lower[by_lower[q]]
                    for product in (1, -1):
                        if up[0] < 0 and down[0] < 0 and product > 0:
                            continue
                        form[0], form[1], form[2], form[3] = g, u + 1, up[0], up[1]
                        form[4], form[5], form[6] = down[0], down[1], product
                        count = _insert(edges, forms, count, up[2] + product * down[2], form)
    return forms[:count], edges[:count], n_trees


@njit(cache=True)
def _insert(edges: Ints, forms: Ints, count: int, edge: int, form: Ints) -> int:
    """Insert a tree behind those of at least its size, and return how many there are then."""
    at = count
    while at > 0 and abs(edges[at - 1]) < abs(edge):
        at -= 1
    if at == len(edges):
        return count
    for k in range(min(count, len(edges) - 1), at - 1, -1):
        edges[k] = edges[k - 1] if k > at else edge
        for part in range(7):
            forms[k, part] = forms[k - 1, part] if k > at else form[part]
    return min(count + 1, len(edges))


@njit(cache=True)
def _list_splits(layout: TableLayout, half: Half, partners: Ints, root: Side, g: int, u: int, above: bool) -> Ints:
    """List what a quarter of the samples can be, above bin u of reading g or not: rows of reading, place and edge.

    No split comes first.
    """
    sums, tables = half
    starts = layout.starts
    own = sums[starts[g] : starts[g + 1]]
    total = own[-1] - own[u] if above else own[u]
    found = np.empty((1 + starts[-1], 3), np.int64)
    found[0, 0], found[0, 1], found[0, 2] = -1, 0, total
    count = 1
    for h in partners:
        if not layout.allowed[g, h]:
            continue
        first, end = find_bins(h, root, layout.twins, layout.counts)
        low, high = find_bins(h, (g, u + 1, above), layout.twins, layout.counts)
        first, end = max(first, low), min(end, high)
        number = layout.numbers[min(g, h), max(g, h)]
        n_bins = starts[h + 1] - starts[h] if g < h else len(own)
        for v in range(first, end):
            if h == g:
                both = own[u] if above else own[v]
            elif g < h:
                both = tables[layout.offsets[number] + u * n_bins + v]
            else:
                both = tables[layout.offsets[number] + v * n_bins + u]
            below = sums[starts[h] + v] - both if above else both
            found[count, 0], found[count, 1], found[count, 2] = h, v + 1, total - 2 * below
            count += 1
    return found[:count]
