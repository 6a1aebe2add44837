"""Tests of the level of one feature, priced exactly: nominal features, and whether a value is missing.

The samples of a test fall into groups, one for each level and one for those whose value is missing. A hypothesis is +1
on some of the groups and -1 on the others. With v_g the sum of the weights of a group, the edge of the signs t is
``sum_g t_g v_g``: the best are ``t_g = sign(v_g)``, and from them the next best follow, as each group whose sign is
turned costs ``2 |v_g|``. All signs alike are the constant, which is no test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, islice
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.features import Ints, check_features, column, count_missing, find_missing, sum_cells
from cvxens.hypotheses import LevelStump
from cvxens.limits import map_slices, threads_for
from cvxens.problems.duality import row_sizes
from cvxens.tables import Feature, learn_features
from cvxens.types import Array, Given, Mask, Numbers
from cvxens.validation import finite_array, one_each, one_of

MISSING, KNOWN = -1, -2
"""What a group is that is no level: the samples whose value is missing, and those where it is not."""

COLUMNS_PER_TEST = 10
"""At most so many hypotheses of one test are answered with; each is the best for another group or output."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """A sample with what its columns are.

    Examples
    --------
    >>> kinds = Kinds.from_sample([[1.0, 0.0], [np.nan, 1.0]], [Feature("age"), Feature("sky", ("blue", "red"))])
    >>> kinds.numeric, kinds.ways(0), kinds.has_missing
    (array([0]), (-1, 1), array([ True, False]))
    """

    X: Any  # ndarray or csc_array (n_samples, n_features), NaN where missing
    features: tuple[Feature, ...]
    has_missing: Mask  # (n_features,), True where values are missing
    nominal: Mask  # (n_features,), True for columns of levels
    silent: bool  # True if stumps say nothing of missing values

    @classmethod
    def from_sample(cls, X: Any, features: Sequence[Feature] | None = None, missing: str = "side") -> Self:
        """Check a sample; without `features` all of it is numeric, but for what is nominal in a data frame."""
        silent = one_of("missing", missing, ("side", "zero")) == "zero"
        if features is None and not isinstance(X, np.ndarray):
            features, X = learn_features(X)
        X = check_features(X, gaps=True)
        kinds = tuple(Feature(f"x{j}") for j in range(X.shape[1])) if features is None else tuple(features)
        one_each("features", kinds, X.shape[1], "feature")
        nominal = np.array([kind.categories is not None for kind in kinds])
        return cls(X, kinds, count_missing(X) > 0, nominal, silent)

    @property
    def numeric(self) -> Ints:
        """The columns of numbers."""
        return np.flatnonzero(~self.nominal)

    @property
    def plain(self) -> bool:
        """True if all columns are numbers, none of them missing."""
        return not (self.has_missing.any() or self.nominal.any())

    def ways(self, feature: int) -> tuple[int, ...]:
        """Return what missing values of a numeric feature count as: -1 below, +1 above thresholds, 0 as neither."""
        return (-1, 1) if self.has_missing[feature] and not self.silent else (0,)

    def check_sides(self, signs: Given) -> Ints:
        """Return the sides of all features, 0 for nominal ones."""
        sides = check_sides(signs, len(self.features))
        wrong = np.flatnonzero(self.nominal & (sides != 0)).tolist()
        if wrong:
            remedy = f"give 0 for {self.features[wrong[0]].name!r}, whose levels have no order"
            raise InvalidInput("signs", f"found {signs!r:.100}", remedy)
        return sides

    def order_levels(self, outcomes: Given, sample_weight: Given) -> dict[int, dict[int, str]]:
        """Return what the levels of nominal features are called, by their codes, in the order of their mean outcomes.

        Each has one sample more, of the mean of all, so that levels without samples are in the middle.
        """
        n_samples = self.X.shape[0]
        t = np.zeros(n_samples) if outcomes is None else finite_array("outcomes", outcomes, ndim=1)
        one_each("outcomes", t, n_samples, "sample")
        masses = np.ones(n_samples) if sample_weight is None else np.asarray(sample_weight, np.float64)
        excess, levels = masses * (t - np.average(t, weights=masses)), dict[int, dict[int, str]]()
        for j, kind in enumerate(self.features):
            if kind.categories:
                codes = _read_codes(column(self.X, j), j, kind)
                sums, sizes = (np.bincount(codes + 1, each, kind.n_values + 1)[1:] for each in (excess, masses))
                order = np.argsort(sums / (sizes + masses.mean()), kind="stable")
                levels[j] = {k: kind.categories[k] for k in order.tolist()}
        return levels

    def check_variation(self, n_hypotheses: int) -> None:
        """Raise if there is nothing that features could tell apart."""
        if not n_hypotheses:
            raise InvalidInput("X", "found constant features only", "give at least one feature that varies")


def check_sides(signs: Any, n_features: int, argument: str = "signs") -> Ints:
    """Return the sides of features, -1, 0 or +1 each; 0 where none are given."""
    if signs is None:
        return np.zeros(n_features, np.int64)
    sides = finite_array(argument, signs, ndim=1)
    if len(sides) != n_features or not np.isin(sides, [-1, 0, 1]).all():
        raise InvalidInput(argument, f"found {signs!r:.100}", f"give -1, 0 or +1 for each of the {n_features} features")
    return sides.astype(np.int64)


class FoundTests(NamedTuple):
    """The best hypotheses of one test that are not excluded, and what is true of all, in the units of the weights."""

    found: list[tuple[Any, LevelStump]]  # sizes of edges, largest first
    largest: Any  # the largest size of all, excluded or not
    squares: int  # the sum of squared edges of all


@dataclass(frozen=True)
class LevelTest:
    """The hypotheses that are +1 on some groups of the samples and -1 on the others, by one feature."""

    feature: int
    groups: tuple[int, ...]  # codes of levels, ascending, or KNOWN; then MISSING, if some values are
    names: tuple[str, ...]  # of all the feature's levels, by code; none of codes without names
    subsets: bool  # True if any groups may be on one side, False if one alone

    @property
    def n_hypotheses(self) -> int:
        """The number of hypotheses, h and -h counted once."""
        return 2 ** (len(self.groups) - 1) - 1 if self._any_side else len(self.groups)

    def make(self, inside: int, edge: int) -> LevelStump:
        """Return the hypothesis of a positive edge that tells the groups of the bits of `inside` from the others.

        `edge` is that of +1 inside, and `inside` a side as `_normalise` returns it.
        """
        members = [group for k, group in enumerate(self.groups) if inside >> k & 1]
        levels = tuple(group for group in members if group >= 0)
        missing = (1 if MISSING in members else -1) if MISSING in self.groups else 0
        names = tuple(self.names[level] for level in levels) if self.names else ()
        return LevelStump(self.feature, levels, 1 if edge >= 0 else -1, missing, names)

    def find(self, hypothesis: LevelStump) -> int | None:
        """Return which groups a hypothesis of this feature tells from the others, in either sign; None if none."""
        members = {*hypothesis.levels, *([MISSING] if hypothesis.missing > 0 else [])}
        known = {*self.groups, *range(len(self.names))}
        if (hypothesis.missing != 0) != (MISSING in self.groups) or not members <= known:
            return None
        inside = sum(1 << k for k, group in enumerate(self.groups) if group in members)
        return self._normalise(inside) if 0 < inside < self._all else None

    @property
    def _all(self) -> int:
        return (1 << len(self.groups)) - 1

    @property
    def _any_side(self) -> bool:
        """True if all subsets are sides: of two groups they are what one against the rest is."""
        return self.subsets or len(self.groups) < 3

    def _normalise(self, inside: int) -> int:
        """Return the smaller one of a side and the other side, of two equal ones that without the first group."""
        size, n_groups = inside.bit_count(), len(self.groups)
        turned = 2 * size > n_groups or (2 * size == n_groups and inside & 1)
        return self._all ^ inside if turned else inside

    def search(self, sums: Ints, closed: Collection[int], row_norm: float) -> FoundTests:
        """Return the best by the sums of the weights of the groups, (n_outputs, n_groups)."""
        squares = self._sum_squares(sums)
        if not self._any_side or row_norm < inf:
            return FoundTests(*self._list(sums, closed, row_norm), squares)
        outputs, found, largest = sums.tolist(), {}, 0
        for v in outputs:
            ranked = self._rank(v)
            size, inside = next(ranked)
            largest = max(largest, size)
            while inside in closed and (following := next(ranked, None)) is not None:
                _, inside = following
            if inside not in closed:
                # the edge of what is best for one output may be larger under another one
                found[inside] = max((self._evaluate(inside, other) for other in outputs), key=abs)
        best = sorted(found.items(), key=lambda item: -abs(item[1]))[:COLUMNS_PER_TEST]
        return FoundTests([(abs(edge), self.make(inside, edge)) for inside, edge in best], largest, squares)

    def _evaluate(self, inside: int, v: list[int]) -> int:
        """Return the edge of +1 inside and -1 outside."""
        return sum(weight if inside >> k & 1 else -weight for k, weight in enumerate(v))

    def _rank(self, v: list[int]) -> Iterator[tuple[int, int]]:
        """Yield all hypotheses, largest edge first: the size of that, and the smaller side."""
        order = sorted(range(len(v)), key=lambda k: abs(v[k]))
        most, best = sum(map(abs, v)), sum(1 << k for k, weight in enumerate(v) if weight >= 0)
        # sets of groups to turn, by what that costs: a set follows the one without its dearest group, or the one with
        # the next cheaper group in place of that, so that each comes once
        ties = count()
        heap = [(0, next(ties), -1, 0)]
        seen = set()
        while heap:
            cost, _, last, turned = heappop(heap)
            if last + 1 < len(order):
                k = order[last + 1]
                heappush(heap, (cost + abs(v[k]), next(ties), last + 1, turned | 1 << k))
                if last >= 0:
                    before = order[last]
                    swapped = turned ^ 1 << before ^ 1 << k
                    heappush(heap, (cost - abs(v[before]) + abs(v[k]), next(ties), last + 1, swapped))
            inside = self._normalise(best ^ turned)
            # of h and -h the one of an edge above 0 comes first
            if 0 < inside < self._all and inside not in seen:
                seen.add(inside)
                yield most - 2 * cost, inside

    @cached_property
    def sides(self) -> tuple[list[int], Ints]:
        """All sides, as bits, and the signs of the groups in each, (n_sides, n_groups); of subsets if they are few."""
        n_groups = len(self.groups)
        if not self._any_side:
            # integers of any size: numpy's have 64 bits, and there may be more groups
            return [1 << k for k in range(n_groups)], 2 * np.eye(n_groups, dtype=np.int64) - 1
        # where a norm over outputs ranks the subsets, all of them are listed
        if n_groups > (most := 16):
            found = f"found subsets of {n_groups} levels, under a penalty on the rows of several outputs' weights"
            raise InvalidInput("levels", found, f"take levels='one', or features of at most {most} levels")
        bits = np.arange(1, self._all)
        members = bits[:, np.newaxis] >> np.arange(n_groups) & 1
        sizes = members.sum(axis=1)
        normal = (2 * sizes < n_groups) | ((2 * sizes == n_groups) & (members[:, 0] == 0))
        return bits[normal].tolist(), 2 * members[normal] - 1

    def _list(self, sums: Ints, closed: Collection[int], row_norm: float) -> tuple[list[tuple[Any, LevelStump]], Any]:
        """Return the best of a list of all hypotheses, and the size of the largest."""
        sides, signs = self.sides
        edges = signs @ sums.T
        own = edges[np.arange(len(edges)), np.abs(edges).argmax(axis=1)]
        sizes: Numbers = np.abs(own) if row_norm == inf else row_sizes(edges.astype(np.float64), row_norm)
        ranked = (k for k in np.argsort(-sizes, kind="stable").tolist() if sides[k] not in closed)
        found = [(sizes[k], self.make(sides[k], int(own[k]))) for k in islice(ranked, COLUMNS_PER_TEST)]
        return found, sizes.max()

    def _sum_squares(self, sums: Ints) -> int:
        """Sum the squared edges of all hypotheses, in whole numbers."""
        n_groups, total = len(self.groups), 0
        for v in sums.tolist():
            everything = sum(v)
            if self._any_side:
                # over all signs t the mean of (sum_g t_g v_g)^2 is sum_g v_g^2; all signs alike are no test
                total += 2 ** (n_groups - 1) * sum(weight**2 for weight in v) - everything**2
            else:
                total += sum((2 * weight - everything) ** 2 for weight in v)
        return total


class LevelTests:
    """All tests of levels of a sample, and the groups that its samples are in.

    Parameters
    ----------
    kinds : Kinds
        The sample. Where its stumps say nothing of missing values, tests of levels do not either, and there is a test
        of what is missing beside them.
    subsets : bool
        True if any levels may be on one side of a test, False for one against the rest.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [np.nan]])
    >>> tests = LevelTests(Kinds.from_sample(X, [Feature("sky", ("blue", "grey", "red"))]), subsets=True)
    >>> ((size, hypothesis),) = tests.search(np.array([[1, -2, 3, 4]]), [], np.inf)[0].found
    >>> print(hypothesis, size)
    x[0] = grey, not missing -> -1 10
    """

    def __init__(self, kinds: Kinds, *, subsets: bool) -> None:
        self.tests: list[LevelTest] = []
        members: list[NDArray[np.int32]] = []
        for j, kind in enumerate(kinds.features):
            if kind.categories is None and not kinds.has_missing[j]:
                continue
            codes = _read_codes(column(kinds.X, j), j, kind)
            missing = codes == MISSING
            if kind.categories is not None:
                present = tuple(np.unique(codes[~missing]).tolist())
                groups = (*present, MISSING) if kinds.has_missing[j] and not kinds.silent else present
                self._add(members, codes, LevelTest(j, groups, kind.categories, subsets))
            if kinds.has_missing[j] and (kinds.silent or kind.categories is None):
                self._add(members, np.where(missing, MISSING, KNOWN), LevelTest(j, (KNOWN, MISSING), (), subsets))
        self.starts = np.cumsum([0, *(len(test.groups) + 1 for test in self.tests)])
        self.members = np.array(members, np.int32).reshape(len(members), kinds.X.shape[0])

    def _add(self, members: list[NDArray[np.int32]], codes: Numbers, test: LevelTest) -> None:
        """Add a test if two of its groups have samples; those of no group are in one more, of which nothing is said."""
        if len(np.intersect1d(codes, test.groups)) < 2:
            return
        # by code; those of no level are at the end
        place = np.full(max(0, *test.groups) + 3, len(test.groups), np.int32)
        for k, group in enumerate(test.groups):
            place[group] = k
        members.append(place[codes])
        self.tests.append(test)

    @cached_property
    def n_hypotheses(self) -> int:
        """The number of hypotheses, h and -h counted once."""
        return sum(test.n_hypotheses for test in self.tests)

    def search(self, integers: Ints, exclude: Collection[Any], row_norm: float) -> list[FoundTests]:
        """Return the best hypotheses of every test by the weights of the samples, (n_outputs, n_samples)."""
        if not self.tests:
            return []
        sums = self._sum(integers)
        closed: list[set[int]] = [set() for _ in self.tests]
        for hypothesis in exclude:
            for k, test in enumerate(self.tests if isinstance(hypothesis, LevelStump) else ()):
                if test.feature == hypothesis.feature and (inside := test.find(hypothesis)) is not None:
                    closed[k].add(inside)
        each = zip(self.tests, self.starts[:-1].tolist(), closed, strict=True)
        return [test.search(sums[:, start : start + len(test.groups)], shut, row_norm) for test, start, shut in each]

    def list_all(self) -> list[LevelStump]:
        """Return all hypotheses, in the sign by which they are +1 on a level."""
        return [test.make(side, 1) for test in self.tests for side in test.sides[0]]

    def evaluate_all(self, s: Array) -> Array:
        """Return the edges of all hypotheses under weights (n_samples, n_outputs), (n_hypotheses, n_outputs)."""
        sums = self._sum(np.ascontiguousarray(s.T))
        each = zip(self.tests, self.starts[:-1].tolist(), strict=True)
        parts = [test.sides[1] @ sums[:, start : start + len(test.groups)].T for test, start in each]
        return np.concatenate([np.zeros((0, s.shape[1])), *parts])

    def _sum(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Sum the weights of the samples, (n_outputs, n_samples), by the groups of all tests."""
        weights = np.ascontiguousarray(weights)
        sums, everyone = np.zeros((len(weights), self.starts[-1]), weights.dtype), np.full(len(self.tests), -1)

        def add(tests: slice) -> None:
            sum_cells((tests.start, tests.stop), self.members, self.starts, everyone, weights, sums)

        map_slices(add, len(self.tests), threads_for(weights.size * len(self.tests)), guided=True)
        return sums


def _read_codes(values: Numbers, feature: int, kind: Feature) -> NDArray[np.int64]:
    """Return the codes of a column, MISSING where they are; those of numbers that are not missing are 0."""
    missing = find_missing(values)
    if kind.categories is None:
        return np.where(missing, MISSING, 0)
    known = values[~missing]
    if not np.isin(known, np.arange(kind.n_values)).all():
        found = f"found in column {feature} what is no code of the {kind.n_values} levels of {kind.name!r}"
        raise InvalidInput("X", found, "give codes 0, 1, ..., and NaN where the level is missing")
    codes = np.full(len(values), MISSING, np.int64)
    codes[~missing] = known.astype(np.int64)
    return codes
