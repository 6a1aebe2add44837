"""Features cut into bins, which of them may interact, and what oracles over several at a time have in common.

A feature in which values are missing is read twice, with these below its others and above them. So a test of one
threshold, whichever side it sends them to, is one of a **reading**: of its **place**, the number of the threshold from
1 on, which is also the first bin at or above it. Readings of one feature are **twins**. A hypothesis is **written** as
readings, places and signs, as searches find it; what must not be answered with is **closed**, and all else is open.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from functools import cached_property
from itertools import combinations, product
from math import ceil, inf
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from cvxens.colgen.protocols import Priced, make_column
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.features import BinnedFeatures, FixedPoint, Ints, check_features, count_missing
from cvxens.hypotheses import Among, Branch, Constant, Hypothesis, Interval, LevelStump, Stump, find_sides, simplify
from cvxens.limits import time_left
from cvxens.problems.duality import row_sizes
from cvxens.rounding import EPSILON
from cvxens.types import Array, Data, Mask, Numbers
from cvxens.validation import limit, whole

Levels: TypeAlias = Mapping[int, Mapping[int, str]]
"""Of columns of codes of levels what these are called, in the order in which thresholds are between them."""

ClosedTrees: TypeAlias = dict[tuple[int, ...], set[tuple[int, ...]]]
"""By reading and place of a root what must not be answered with: the rest of trees, as `Readings.make_tree` has it."""


@dataclass(frozen=True, eq=False)
class Readings:
    """A binned sample whose features with missing values are read twice, so that sums over bins know nothing of these.

    In the reading of missing values below, the first threshold is -inf: it tells them from all others.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [np.nan]])
    >>> readings = Readings.from_bins(BinnedFeatures(X, [0], n_bins=4), {})
    >>> readings.thresholds, readings.codes.tolist()
    ([array([-inf,   1.]), array([1.])], [[1, 2, 0], [0, 1, 1]])
    >>> print(readings.make_split(0, 1, 1), readings.make_split(0, 2, 1), readings.make_split(1, 1, 1), sep="; ")
    x[0] is missing -> -1; x[0] >= 1, not missing -> +1; x[0] >= 1, or missing -> +1
    """

    features: Ints  # (n_readings,), which feature each reads
    ways: Ints  # (n_readings,), -1 where missing values are below, +1 where above, 0 where there are none
    thresholds: list[Array]  # by reading, ascending
    codes: NDArray[np.uint8]  # (n_readings, n_samples), how many thresholds are at or below each value
    levels: Levels

    @classmethod
    def from_bins(cls, binned: BinnedFeatures, levels: Levels) -> Self:
        """Read a binned sample, in which a missing value has the bin one beyond the last."""
        has_missing = np.array([rows.size > 0 for rows in binned.missing], bool)
        features = np.repeat(np.arange(binned.n_features), 1 + has_missing)
        second = np.append(False, features[1:] == features[:-1])
        ways = np.where(has_missing[features], np.where(second, 1, -1), 0)
        codes, thresholds = binned.codes[features], []
        for k, (j, way) in enumerate(zip(features.tolist(), ways.tolist(), strict=True)):
            own, missing = binned.thresholds[j], binned.missing[j]
            if way < 0:
                # where no value is known, nothing is told apart
                own = own if len(missing) == binned.n_samples else np.append(-np.inf, own)
                codes[k] += len(own) > 0
                codes[k, missing] = 0
            elif way > 0:
                codes[k, missing] = len(own)
            thresholds.append(own)
        return cls(features, ways, thresholds, codes, levels)

    @cached_property
    def counts(self) -> Ints:
        """The number of thresholds of every reading, shape (n_readings,)."""
        return np.array([len(own) for own in self.thresholds], np.int64)

    @cached_property
    def starts(self) -> Ints:
        """Where the bins of every reading start in a list of all, and where the last ones end, (n_readings + 1,)."""
        return np.append(0, np.cumsum(self.counts + 1))

    @cached_property
    def twins(self) -> Ints:
        """The other reading of the same feature, -1 where there is none, (n_readings,)."""
        return np.where(self.ways, np.arange(len(self.ways)) - self.ways, -1)

    @cached_property
    def splits(self) -> dict[object, tuple[int, int, int]]:
        """Reading, place and sign of all that `make_split` makes."""
        tests = product(((k, i) for k, n in enumerate(self.counts.tolist()) for i in range(1, n + 1)), (1, -1))
        return {self.make_split(*place, sign): (*place, sign) for place, sign in tests}

    def make_split(self, reading: int, place: int, sign: int) -> Stump | LevelStump:
        """Return the hypothesis that is `sign` at and above a threshold of a reading, else -sign."""
        feature, way = int(self.features[reading]), int(self.ways[reading])
        threshold = float(self.thresholds[reading][place - 1])
        if threshold == -inf:
            return LevelStump(feature, (), -sign, 1)
        if feature not in self.levels:
            return Stump(feature, threshold, sign, way)
        levels, names = zip(*sorted(list(self.levels[feature].items())[ceil(threshold) :]), strict=True)
        return LevelStump(feature, levels, sign, way, names)

    def make_tree(self, tree: Sequence[int], sign: int) -> Hypothesis:
        """Return the tree that is written as reading and place of its root, its upper and lower half, and a product.

        That is the product of the signs of both, which are those of their uppermost leaves, and `sign` is that of the
        tree. The halves are written alike, but for splits, reading and place alone; -1 is in place of the reading where
        there is no root.
        """
        root, place, *halves = tree
        if root < 0:
            return Constant(sign)
        if not halves:
            return self.make_split(root, place, sign)
        middle = len(halves) // 2
        above, below = self.make_tree(halves[:middle], sign), self.make_tree(halves[middle:-1], sign * halves[-1])
        if isinstance(above, Constant) and isinstance(below, Constant):
            return self.make_split(root, place, sign)
        return Branch(self.make_split(root, place, 1), above, below)

    def evaluate(self, tree: Sequence[int], sign: int = 1) -> NDArray[np.int8]:
        """Return the values of a tree as `make_tree` takes it, (n_samples,)."""
        root, place, *halves = tree or (-1, 0)
        if root < 0:
            return np.full(self.codes.shape[1], sign, np.int8)
        middle = len(halves) // 2
        above = self.evaluate(halves[:middle], sign)
        below = self.evaluate(halves[middle:-1], sign * (halves[-1] if halves else -1))
        # as np.where has it, which takes longer over bytes
        return below + (self.codes[root] >= place) * (above - below)

    def find_tree(self, tree: object, depth: int) -> tuple[tuple[int, ...], int] | None:
        """Return how a tree of a depth is written, and its sign, as `make_tree` has both; None for no tree of it."""
        if isinstance(tree, Constant):
            written: tuple[int, ...] = (-1, 0)
            for _ in range(depth - 1):
                written = (-1, 0, *written, *written, 1)
            return written, tree.sign
        split = self.splits.get(tree.root if isinstance(tree, Branch) else tree)
        if split is None or (isinstance(tree, Branch) and (depth == 1 or split[2] < 0)):
            return None
        *root, sign = split
        if depth == 1:
            return tuple(root), sign
        halves = (tree.above, tree.below) if isinstance(tree, Branch) else (Constant(sign), Constant(-sign))
        above, below = (self.find_tree(half, depth - 1) for half in halves)
        if above is None or below is None:
            return None
        return (*root, *above[0], *below[0], above[1] * below[1]), above[1]

    @cached_property
    def _found(self) -> dict[tuple[int, int], tuple[Hypothesis, tuple[tuple[int, ...], int] | None]]:
        return {}

    def close_trees(self, hypotheses: Collection[Hypothesis], depth: int) -> ClosedTrees:
        """Return how those of some hypotheses are written that are trees of a depth; others close nothing."""
        closed: ClosedTrees = {}
        for hypothesis in hypotheses:
            # the same ones are closed round after round: to hash trees takes longer than to know them again
            known, found = self._found.get((id(hypothesis), depth), (None, None))
            if known is not hypothesis:
                found = self.find_tree(hypothesis, depth)
                self._found[id(hypothesis), depth] = hypothesis, found
            if found is not None and found[0][0] >= 0:
                closed.setdefault(found[0][:2], set()).add(found[0][2:])
        return closed

    def make_condition(self, reading: int, place: int, above: int) -> Interval | Among:
        """Return the condition that a value is at or above a threshold of a reading, or that it is below."""
        return simplify(find_sides(self.make_split(reading, place, 1 if above else -1))[0])

    @cached_property
    def conditions(self) -> dict[Interval | Among, tuple[int, int, int]]:
        """Reading, place and side of all that `make_condition` makes."""
        tests = ((reading, place, int(sign > 0)) for reading, place, sign in self.splits.values())
        return {self.make_condition(*test): test for test in tests}


Side: TypeAlias = tuple[int, int, bool]
"""The samples on one side of the test of a root: its reading and place, and True for those at or above it. Where the
reading is -1 they are all samples."""


@njit(cache=True)
def find_bins(g: int, side: Side, twins: Ints, counts: Ints) -> tuple[int, int]:
    """Return the bins of a reading, from one to below another, behind which the samples on a side can be split.

    Of tests of one feature by its two readings, those that split them as another one of them does are left out.
    """
    f, place, above = side
    if g == f:
        return (place, counts[g]) if above else (0, place - 1)
    if f < 0 or twins[f] != g:
        return 0, counts[g]
    if f < g:
        # the root has missing values below, and its place is one more than in the other reading. Above there are none;
        # below, each threshold from the root's on tells missing values from all others, as the root's reading does
        return (0, 0) if above else (0, max(place - 2, 0))
    # the root has missing values above: there, each threshold up to the root's tells them from all others
    return (place, counts[g]) if above else (0, 0)


Groups = Collection[Sequence[int]]
"""Groups of features, each a list of at least two."""


def find_allowed(n_features: int, interactions: Groups | None, forbidden: Groups) -> Mask:
    """Return which features may be in one interaction, (n_features, n_features), True on the diagonal.

    Examples
    --------
    >>> find_allowed(3, [[0, 1, 2]], [[0, 2]]).astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [0, 1, 1]])
    """
    allowed = np.full((n_features, n_features), interactions is None)
    for argument, groups, value in (("interactions", interactions or (), True), ("forbidden", forbidden, False)):
        for a, b in _list_pairs(argument, groups, n_features):
            allowed[a, b] = allowed[b, a] = value
    np.fill_diagonal(allowed, True)
    return allowed


def _list_pairs(argument: str, groups: Groups, n_features: int) -> Iterable[tuple[int, int]]:
    remedy = f"give groups of at least two of the features 0 to {n_features - 1}, such as [(0, 1), (2, 3)]"
    for group in groups:
        members = np.asarray(group)
        whole_numbers = members.ndim == 1 and members.dtype.kind in "iu"
        if not whole_numbers or len(members) < 2 or members.min() < 0 or members.max() >= n_features:
            raise InvalidInput(argument, f"found {group!r:.100}", remedy)
        yield from combinations(members.tolist(), 2)


@dataclass(eq=False, repr=False)
class BinnedOracle:
    """An oracle over hypotheses of several features at a time, with thresholds between bins.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite, or NaN where missing, at least one feature that varies.
    n_bins : int
        At most so many bins per feature, 2 to 256; all middle thresholds of features with at most as many values. Where
        values are missing they have a bin of their own, beside at most 255.
    interactions : collection of groups of features, optional
        Any two features of a hypothesis are of one group, such as ``[(0, 1), (2, 3, 4)]``; by default any two.
    forbidden : collection of groups of features
        No hypothesis has two features of such a group.
    constant : bool
        True if h(x) = 1 and h(x) = -1 belong to the set.
    columns_per_round : int, optional
        At most so many columns are returned; by default all that were found.
    sample_weight : array-like of shape (n_samples,), optional
        How much of the sample each row is, above 0, for the bins; by default 1.
    levels : mapping from int to mapping from int to str
        Of columns of codes of levels what these are called, in an order: a threshold is between two of them.
    """

    largest: ClassVar[float] = 1.0
    votes: ClassVar[bool] = True

    X: InitVar[Data]
    _: KW_ONLY
    n_bins: int = 64
    interactions: Groups | None = None
    forbidden: Groups = ()
    constant: bool = True
    columns_per_round: int | None = None
    sample_weight: InitVar[ArrayLike] = None
    levels: Levels = field(default_factory=dict)

    def __post_init__(self, X: Any, sample_weight: ArrayLike) -> None:
        X = check_features(X, gaps=True)
        columns = range(X.shape[1]) if count_missing(X).any() else None
        self.sample = X
        if self.levels:
            X = (X.toarray() if issparse(X) else X).astype(np.float64)
            for j, order in self.levels.items():
                # the place of each code in the order, and NaN where it is missing
                X[:, j] = np.append(np.argsort(list(order)), np.nan)[np.nan_to_num(X[:, j], nan=-1).astype(np.intp)]
        self.binned = BinnedFeatures(X, columns, n_bins=self.n_bins, sample_weight=sample_weight)
        self.readings = Readings.from_bins(self.binned, self.levels)
        if not self.readings.counts.any():
            raise InvalidInput("X", "found constant features only", "give at least one feature that varies")
        if self.columns_per_round is not None:
            self.columns_per_round = whole("columns_per_round", self.columns_per_round)
        self.allowed = find_allowed(self.binned.n_features, self.interactions, self.forbidden)
        varying, features = self.readings.counts > 0, self.readings.features
        self.together: Mask = self.allowed[np.ix_(features, features)] & varying & varying[:, np.newaxis]
        """Which readings vary and may be asked of one sample, (n_readings, n_readings)."""

    def _bound_squares(self: Any, weights: FixedPoint, squares: float, n_terms: int) -> float:
        """Bound the sum of squared edges, by that of all hypotheses but the constant, of sums over so many terms."""
        squares += self.constant * float((weights.totals.astype(np.float64) ** 2).sum())
        return weights.bound_squares(squares, float(self.n_hypotheses), n_terms)

    def _answer(
        self: Any,
        weights: Any,
        found: Iterable[tuple[float, Hypothesis]],
        every: float,
        outside: float,
        exclude: Collection[Hypothesis],
        row_norm: float = inf,
        totals: Ints | None = None,
    ) -> Priced:
        """Return hypotheses in the order of their edges, the constant among them, with bounds, in units of the weights.

        `every` bounds the edges of all hypotheses but the constant, and `outside` of those that are not excluded, both
        -inf if there are none. The bounds count what the rounding of s to fixed point can have cost, and of floats. The
        edges of the constant are the totals, by default those that the weights know.
        """
        totals, ranked = weights.totals if totals is None else totals, sorted(found, key=lambda pair: -pair[0])
        n_outputs = len(totals)
        if self.constant:
            total, constant = price_constant(totals, exclude, row_norm)
            every = max(every, total)
            if constant is not None:
                outside = max(outside, total)
                insort(ranked, (total, constant), key=lambda pair: -pair[0])
        error = weights.error * n_outputs ** (1 / row_norm) if row_norm < inf else weights.error
        edge_bound, outside_bound = (
            # integers are exact; conversions to floats, their powers, the sum of these and its root are rounded
            weights.raised(bound + error, (n_outputs + 8) * EPSILON if isinstance(bound, float) else 0.0)
            if bound > -inf
            else 0.0
            for bound in (every, outside)
        )
        columns = [make_column(h, self.sample, weights.real(size)) for size, h in ranked[: self.columns_per_round]]
        return Priced(columns, edge_bound, outside_bound=outside_bound)


@documented
@dataclass(eq=False, repr=False)
class AnytimeOracle(BinnedOracle):
    """An oracle over a set in parts, whose search may end before all of them are searched, and still bounds the set.

    Parameters
    ----------
    max_nodes : int, optional
        At most so many parts of the set are searched in a call, per output, the most promising first: the boxes of a
        list of features, or the trees of a root's feature.
    max_seconds : float
        No more of them are searched after so many seconds of a call; inf for no such limit. Unlike `max_nodes` it makes
        runs depend on the speed of the machine.
    """

    negations: ClassVar[bool] = True

    _: KW_ONLY
    n_bins: int = 16
    max_nodes: int | None = None
    max_seconds: float = inf

    def __post_init__(self, *given: Any) -> None:
        super().__post_init__(*given)
        self.max_nodes = None if self.max_nodes is None else whole("max_nodes", self.max_nodes)
        self.max_seconds = limit("max_seconds", self.max_seconds)

    def _search_parts(
        self,
        bounds: Numbers,
        best: float,
        search: Callable[[slice, float], Iterable[float]],
        n_together: int,
        ends_at: float,
    ) -> float:
        """Search the parts of the set one after the other while one may be better, and return a bound on all edges.

        ``search(parts, best)`` yields the edges that it finds in some of the parts; `best` is what the first of them
        has to exceed. The `bounds` of the parts do not ascend, so one that is no larger than the best edge ends the
        search, as the clock does.
        """
        done, end = 0, min(len(bounds), self.max_nodes or len(bounds))
        while done < end and bounds[done] > best and not (done and is_over(ends_at)):
            # so many between two looks at the best edge and the clock, whatever the number of threads
            parts = slice(done, done + int((bounds[done : min(done + n_together, end)] > best).sum()))
            best = max([best, *search(parts, best)])
            done = parts.stop
        return bounds[done:].max(initial=best).item()


def price_constant(
    totals: Numbers, exclude: Collection[Hypothesis], row_norm: float = inf
) -> tuple[Any, Constant | None]:
    """Return the size of the constant's edges, from these, and the constant of the better sign, None if it is excluded.

    Examples
    --------
    >>> price_constant(np.array([-3, 4]), []), price_constant(np.array([-3, 4]), [Constant(-1)], 2.0)
    ((4, Constant(sign=1)), (5.0, None))
    """
    is_open, most = {Constant(1), Constant(-1)}.isdisjoint(exclude), totals[np.abs(totals).argmax()]
    size = abs(most).item() if row_norm == inf else size_edges(totals[:, np.newaxis], row_norm)[0]
    return size, Constant(1 if most >= 0 else -1) if is_open else None


def size_edges(edges: Numbers, row_norm: float = inf) -> list[float]:
    """Return the sizes of hypotheses by their edges, (n_outputs, n_hypotheses): norms, or, of whole numbers, such."""
    found: Numbers = np.abs(edges).max(axis=0) if row_norm == inf else row_sizes(edges.T.astype(np.float64), row_norm)
    return list(found.tolist())


def drop_unweighted(integers: Ints, codes: NDArray[np.uint8]) -> tuple[Ints, NDArray[np.uint8]]:
    """Return the weights (n_outputs, n_samples) and codes of the samples that have a weight; others are in no sum."""
    kept = np.flatnonzero(integers.any(axis=0))
    if len(kept) == integers.shape[1]:
        return integers, codes
    return integers.take(kept, axis=1), codes.take(kept, axis=1)


def is_over(ends_at: float) -> bool:
    """Return True after a moment of the clock, or where the time of a fit is over."""
    return time.perf_counter() >= ends_at or time_left() <= 0


@njit(cache=True)
def measure_edges(edges: Array, order: float) -> tuple[float, float]:
    """Return the norm of the edges over the outputs, and the one of the largest size."""
    most, total = 0.0, 0.0
    for edge in edges:
        if abs(edge) > abs(most):
            most = edge
        # times a power of two, so that no power of a size overflows; powers take longer than all else
        if order < np.inf:
            total += (abs(edge) * 2.0**-61) ** order
    return (abs(most) if order == np.inf else total ** (1 / order) * 2.0**61), most


@njit(cache=True, nogil=True)
def measure_norms(edges: Array, order: float) -> Array:
    """Return the norms of edges (n_outputs, n_hypotheses) over the outputs."""
    sizes = np.empty(edges.shape[1])
    for k in range(len(sizes)):
        sizes[k] = measure_edges(edges[:, k], order)[0]
    return sizes


@njit(cache=True)
def has_row(rows: Ints, row: Ints | tuple[int, ...]) -> bool:
    """Return True if one of some rows is a row, as far as these go."""
    for other in rows:
        same = True
        for part in range(len(other)):
            same = same and other[part] == row[part]
        if same:
            return True
    return False
