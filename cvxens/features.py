"""A sample read once, feature by feature: sorted, cut into bins, and summed over by them.

A **place** of a feature is a cut between two of its sorted entries; the step there has the edge ``total - 2 below``,
`below` the sum of the weights of the samples before it. A **bin** is a run of places. Summing the weights by bin, as
histogram methods of gradient boosting do, gives the edges at the ends of the bins exactly and bounds those inside;
scanning sorted samples, as CART does, gives every edge, and `refine` does so in the bins where it is asked for. Weights
are integers (`FixedPoint`), whose sums are the same in every order: ties are ties, and all ways of searching agree to
the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import inf, ldexp, nextafter
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, issparse, sparray

from cvxens.errors import InvalidInput
from cvxens.limits import map_in_threads, map_slices, threads_for
from cvxens.rounding import EPSILON
from cvxens.types import Array, Data, Given, Indices, Mask, Matrix, Numbers
from cvxens.validation import sample_prices, samples, signed_weights, whole

Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[Any]
Kind = TypeVar("Kind", bound=np.generic)

BITS = 61
"""The magnitudes of an output's weights add up to 2**61 at most, so ``total - 2 below`` fits into 64 bits."""

N_BINS = 256
"""The bins that a byte can name."""

N_TOGETHER = 4
"""So many features are summed in bins at a time, or one into so many tables: no addition waits for the one before."""

NO_BOUND = 2**62
"""Above every edge, see `BITS`."""

NONE = -NO_BOUND
"""The size of the best step where there is none; two of them, or one and an edge, are below every edge too."""

BLOCK = 1024
"""Samples whose scores are added up together, as these stay in a cache."""

KEPT_TYPES = tuple(np.dtype(code) for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8"))
"""Types whose values are float64 values, so they need no conversion; everything else becomes float64."""


class BinnedFeatures:
    """Every column of X in ascending order and in bins, dense or sparse, in the type of X.

    Feature j owns the entries ``starts[j]`` to ``starts[j + 1]``. A dense feature has one entry per sample.
    A sparse one has its non-zero values and, if it has zeros, one more entry for all of them together.
    Its place k is the cut between its sorted entries k - 1 and k. Its bins start at some of its places, the `cuts`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_columns)
        Finite, at least two samples, at least one feature that varies.
    columns : sequence of int, optional
        Which columns of X the features are, some perhaps twice, some left out; then they may have missing values, NaN,
        which have no entries, and all of them may be constant. By default each is one.
    ways : sequence of int, optional
        What the missing values of each feature count as: -1 below and +1 above its others, 0, as by default, neither.
    n_bins : int, optional
        At most so many bins, 2 to 256, a distinct value each or of nearly equal masses of samples. By default up to
        256, cut on both sides of equal shares, so that heavy values stand alone.
    sample_weight : array-like of shape (n_samples,), optional
        How much of the sample each row is, above 0, for the masses; by default 1.

    Attributes
    ----------
    X : ndarray or csc_array of shape (n_samples, n_columns)
        The checked sample; bool, integers of up to 32 bits and float32 are not converted.
    columns : ndarray of int64, shape (n_features,)
        Which column of X each feature is.
    starts : ndarray of int64, shape (n_features + 1,)
        Where the entries of each feature start.
    has_zeros : ndarray of bool, shape (n_features,)
        Which features have the one entry that stands for all their zeros.
    entry_values : ndarray of shape (n_entries,)
        Ascending within each feature.

    Raises
    ------
    InvalidInput
        If X is empty, not numeric, has one sample or infinity, or, without `columns`, NaN or only constant features.

    Examples
    --------
    >>> features = BinnedFeatures([[3.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    >>> features.order
    array([[1, 2, 0],
           [2, 0, 1]], dtype=int32)
    >>> features.threshold(0, 1), features.threshold(1, 1)
    (1.5, 0.5)
    >>> features.thresholds, features.codes.tolist()
    ([array([1.5, 2.5]), array([0.5])], [[2, 0, 1], [1, 1, 0]])
    """

    def __init__(
        self,
        X: Data,
        columns: Sequence[int] | None = None,
        *,
        ways: Sequence[int] | None = None,
        n_bins: int | None = None,
        sample_weight: Given = None,
    ) -> None:
        sparse, gaps = issparse(X), columns is not None
        self.X = check_features(X, gaps=gaps)
        self.n_samples = self.X.shape[0]
        self.columns = np.arange(self.X.shape[1]) if columns is None else np.array(columns, np.int64)
        self.n_features = len(self.columns)
        own = self.n_samples if isinstance(self.X, np.ndarray) else np.diff(self.X.indptr)[self.columns]
        stored = np.broadcast_to(own, self.n_features)
        self.has_zeros = stored < self.n_samples
        missing = count_missing(self.X)[self.columns] if gaps else 0
        self.starts = np.concatenate([[0], np.cumsum(stored + self.has_zeros - missing, dtype=np.int64)])
        self._column = _read_sparse if sparse else _read_dense
        self.entry_values = np.empty(self.starts[-1], self.X.dtype)
        map_in_threads(self._sort_values, range(self.n_features))
        # sorted, so that a feature whose first value is its last one is constant
        if not gaps and (self.entry_values[self.starts[:-1]] == self.entry_values[self.starts[1:] - 1]).all():
            raise InvalidInput("X", "found constant features only", "give at least one feature that varies")
        self.ways = np.zeros(self.n_features, np.int64) if ways is None else np.array(ways, np.int64)
        # where values may be missing they are one bin more
        self._most = None if n_bins is None else min(whole("n_bins", n_bins, least=2), N_BINS - gaps) - 1
        masses = None if sample_weight is None else sample_prices("sample_weight", sample_weight, self.n_samples)
        self._masses = None if masses is None or (masses == masses[0]).all() else masses

    def entries(self, feature: int) -> slice:
        """Return where the entries of `feature` are."""
        return slice(self.starts[feature], self.starts[feature + 1])

    def ascending(self, feature: int) -> NDArray[np.int32]:
        """Return the samples of the sorted entries of `feature`; n_samples stands for all its zeros."""
        values, rows = self._read(feature)
        return rows[np.argsort(values, kind=_choose_sort(values))]

    @cached_property
    def entry_rows(self) -> NDArray[np.int32]:
        """The samples of all sorted entries, shape (n_entries,); n_samples stands for all zeros of a feature."""
        rows = np.empty(self.starts[-1], np.int32)

        def sort(feature: int) -> None:
            rows[self.entries(feature)] = self.ascending(feature)

        map_in_threads(sort, range(self.n_features))
        return rows

    @cached_property
    def changes(self) -> Mask:
        """Where an entry's value exceeds the one before it in its feature, shape (n_entries,): room for a stump."""
        changes = np.empty(self.starts[-1], np.bool_)
        np.not_equal(self.entry_values[1:], self.entry_values[:-1], out=changes[1:])
        # a feature without known values has no entries
        changes[self.starts[:-1][np.diff(self.starts) > 0]] = False
        return changes

    @cached_property
    def n_distinct(self) -> NDArray[np.int64]:
        """The number of distinct values of every feature, shape (n_features,)."""
        return 1 + np.array(map_in_threads(lambda j: len(self.places(j)), range(self.n_features)))

    def places(self, feature: int) -> NDArray[np.int64]:
        """Return all places of `feature` where its value changes, ascending."""
        values = self.entry_values[self.entries(feature)]
        return 1 + np.flatnonzero(values[1:] != values[:-1])

    @property
    def order(self) -> NDArray[np.int32]:
        """Samples by ascending value, shape (n_features, n_samples); of dense X only."""
        return self._table(self.entry_rows)

    @property
    def values(self) -> Numbers:
        """Sorted values, shape (n_features, n_samples), ``values[j, k] = X[order[j, k], j]``; of dense X only."""
        return self._table(self.entry_values)

    def threshold(self, feature: int, place: int) -> float:
        """Return the middle of the sorted values around `place`: above the one before, at most the one after."""
        at = self.starts[feature] + place
        below, above = float(self.entry_values[at - 1]), float(self.entry_values[at])
        # as `find_middles`, which takes ten times as long for one
        middle = below / 2 + above / 2
        return middle if below < middle <= above else above

    def thresholds_at(self, feature: int, places: Ints) -> Array:
        """Return the `threshold` of each of several places of a feature."""
        at = self.starts[feature] + places
        return find_middles(*(self.entry_values[around].astype(np.float64) for around in (at - 1, at)))

    @cached_property
    def missing(self) -> list[Indices]:
        """The samples in which each feature is missing, ascending."""
        if self.X.dtype.kind != "f":
            return [np.empty(0, np.intp)] * self.n_features
        return [np.flatnonzero(find_missing(column(self.X, j))) for j in self.columns.tolist()]

    @cached_property
    def bins(self) -> Bins:
        """The bins of every feature."""
        by_feature = map_in_threads(self._cut, range(self.n_features))
        # there may be no feature at all
        cuts, mixed, *own = zip(*by_feature, strict=True) if by_feature else ((),) * 5
        listed = Listed.join(own, self.n_samples, np.uint8)
        all_listed, groups = np.diff(listed.ends) == self.n_samples, [0]
        while (start := groups[-1]) < self.n_features:
            groups.append(start + (N_TOGETHER if all_listed[start : start + N_TOGETHER].sum() == N_TOGETHER else 1))
        cut_starts = np.cumsum([0, *map(len, cuts)])
        return Bins(_join(cuts, np.int64), cut_starts, _join(mixed, np.bool_), listed, np.array(groups))

    def _cut(self, feature: int) -> tuple[Ints, Mask, Codes, NDArray[np.int32], int]:
        """Return cuts, which bins are mixed, the bins and samples that are listed, and the bin of all others."""
        places, (values, rows) = self.places(feature), self._read(feature)
        inner = self._choose_cuts(feature, places)
        cuts = np.concatenate([[0], inner, [len(rows)]])
        mixed = np.append(np.searchsorted(places, cuts[1:]) > np.searchsorted(places, cuts[:-1], "right"), False)
        codes = np.searchsorted(self.entry_values[self.entries(feature)][inner], values, "right").astype(np.uint8)
        # not listed are zeros that are not stored, or, of fine bins, one of at least half the samples
        middle, rest = np.searchsorted(inner, len(rows) // 2, "right"), -1
        if self.has_zeros[feature]:
            rest = int(codes[rows.argmax()])
        elif rows.size and self._most is None and 2 * np.count_nonzero(codes == middle) >= self.n_samples:
            rest = int(middle)
        if rest < 0:
            return cuts, mixed, codes, rows, rest
        listed = codes != rest
        return cuts, mixed, codes[listed], rows[listed], rest

    def _choose_cuts(self, feature: int, places: Ints) -> Ints:
        """Choose some of the places of a feature, ascending: all, where they are few."""
        if self._most is None:
            return _choose_shares(places, self.starts[feature + 1] - self.starts[feature])
        if len(places) <= self._most:
            return places
        masses = np.add.reduceat(self._weigh_entries(feature), np.append(0, places))
        return places[np.unique(find_quantiles(masses, self._most)[0])]

    def _weigh_entries(self, feature: int) -> Array:
        """Return the mass of the samples of each sorted entry."""
        if self._masses is None:
            # without weights only the order of values counts, which is sorted already
            values = self.entry_values[self.entries(feature)]
            entries = np.ones(len(values))
            if self.has_zeros[feature]:
                entries[np.searchsorted(values, 0)] = self.n_samples - len(self.missing[feature]) - len(values) + 1
        else:
            # of sparse features one entry stands for all zeros, and has the mass that the others leave
            masses, rows = self._masses, self.ascending(feature)
            others = masses[rows[rows < len(masses)]].sum() + masses[self.missing[feature]].sum()
            entries = np.append(masses, masses.sum() - others)[rows]
        return entries

    @cached_property
    def counts(self) -> Ints:
        """The number of thresholds between the bins of every feature, shape (n_features,)."""
        return np.diff(self.bins.cut_starts) - 2

    @cached_property
    def inner(self) -> Ints:
        """Which of all cuts are between two bins, feature by feature."""
        between = np.ones(len(self.bins.cuts), np.bool_)
        between[self.bins.cut_starts[:-1]] = between[self.bins.cut_starts[1:] - 1] = False
        return np.flatnonzero(between)

    @cached_property
    def of_cut(self) -> Ints:
        """The feature of every cut."""
        return np.repeat(np.arange(self.n_features), np.diff(self.bins.cut_starts))

    @cached_property
    def thresholds(self) -> list[Array]:
        """The thresholds between the bins of every feature, ascending."""
        cuts, starts = self.bins.cuts, self.bins.cut_starts.tolist()
        return [self.thresholds_at(j, cuts[starts[j] + 1 : starts[j + 1] - 1]) for j in range(self.n_features)]

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """The bin of every sample, one more than there are where it is missing, (n_features, n_samples)."""
        codes = np.empty((self.n_features, self.n_samples), np.uint8)
        for j in range(self.n_features):
            own, rows = self.bins.listed.of_feature(j)
            if len(own) == self.n_samples:
                codes[j] = own
                continue
            codes[j] = max(self.bins.listed.rests[j], 0)
            codes[j, rows] = own
            codes[j, self.missing[j]] = self.counts[j] + 1
        return codes

    def rank(self, feature: int) -> Ints:
        """Return how many distinct values are below that of every sample, none of which is missing."""
        rows, ranks = self.ascending(feature), np.cumsum(self.changes[self.entries(feature)])
        # one entry stands for all zeros of a sparse feature
        codes = np.full(self.n_samples, ranks[rows == self.n_samples][0] if self.has_zeros[feature] else 0)
        codes[rows[rows < self.n_samples]] = ranks[rows < self.n_samples]
        return codes

    def weigh(self, weights: FixedPoint) -> Weights:
        """Sum the weights of the samples of known values by feature, and those that missing ones count as."""
        totals = np.repeat(weights.totals[:, np.newaxis], self.n_features, axis=1)
        present, positives = totals.copy(), np.repeat(weights.positives[:, np.newaxis], self.n_features, axis=1)
        for k in np.flatnonzero(list(map(len, self.missing))).tolist():
            lost = weights.integers[:, self.missing[k]]
            present[:, k] -= lost.sum(axis=1)
            positives[:, k] -= np.maximum(lost, 0).sum(axis=1)
            totals[:, k] = present[:, k] + self.ways[k] * lost.sum(axis=1)
        return Weights(weights.integers, totals, present, positives)

    def histograms(self, weights: Weights) -> Ints:
        """Sum the weights >= 0, and those < 0, of the bin behind every cut; shape (2, n_outputs, n_cuts)."""
        bins, n_outputs = self.bins, len(weights.totals)
        sums = np.zeros((2, n_outputs, len(bins.cuts)), np.int64)

        def add(tasks: slice) -> None:
            _sum_bins((tasks.start, tasks.stop), weights, bins, sums)

        n_threads = threads_for(weights.integers.size * self.n_features)
        map_slices(add, n_outputs * (len(bins.groups) - 1), n_threads, guided=True)
        return sums

    def refine(self, runs: Ints, weights: Weights, below: Ints, sides: Ints, closed: Closed) -> Refined:
        """Compare the edges at the places inside of bins.

        A run is an output, the cut that the bin starts at, and a range of places, of which the best is asked for: that
        of the largest size, the lowest of equal ones, unless it is closed. `sides` is 1 for features where the edge is
        the size, -1 where its negative is, 0 where both are.
        """
        bins, found = self.bins, Refined.of_nothing(len(runs))
        if len(runs):
            entries = Entries(self.starts, self.entry_rows, self.changes, self.has_zeros)
            own = self.of_cut[runs[:, 1]]

            def scan(tasks: slice) -> None:
                _scan((tasks.start, tasks.stop), runs, own, weights, bins.cuts, entries, below, sides, closed, found)

            map_slices(scan, len(runs), threads_for(weights.integers.size * self.n_features), guided=True)
        return found

    def evaluate_edges(self, feature: int, weights: Weights) -> Ints:
        """Return the edges of the steps at all places of a feature, (n_outputs, n_places)."""
        own, edges = self.entries(feature), np.empty((len(weights.totals), self.n_distinct[feature] - 1), np.int64)
        _sum_entries(feature, self.entry_rows[own], self.changes[own], weights, edges)
        return edges

    def _sort_values(self, feature: int) -> None:
        values, _ = self._read(feature)
        self.entry_values[self.entries(feature)] = np.sort(values, kind=_choose_sort(values))

    def _read(self, feature: int) -> tuple[Numbers, NDArray[np.int32]]:
        """Return the known values of one feature and their samples, unsorted."""
        values, rows = self._column(self.X, self.columns[feature])
        if len(values) == self.starts[feature + 1] - self.starts[feature]:
            return values, rows
        known = ~find_missing(values)
        return values[known], rows[known]

    def _table(self, entries: NDArray[Kind]) -> NDArray[Kind]:
        if issparse(self.X):
            raise InvalidInput("X", "found a sparse matrix", "use entry_rows and entry_values, or X.toarray()")
        return entries.reshape(self.n_features, self.n_samples)


def _join(parts: Sequence[NDArray[np.generic]], kind: type[Kind]) -> NDArray[Kind]:
    return np.concatenate([np.empty(0, kind), *parts]).astype(kind, copy=False)


def _choose_shares(places: Ints, n_entries: int) -> Ints:
    """Return at most 255 of `places`: all, or those on both sides of equal shares, so that heavy values stand alone."""
    n_bins, chosen = N_BINS, places
    while len(chosen) >= N_BINS:
        shares = np.arange(1, n_bins) * n_entries // n_bins
        before, after = np.searchsorted(places, shares, "right") - 1, np.searchsorted(places, shares)
        chosen = np.unique(places[np.clip(np.append(before, after), 0, len(places) - 1)])
        n_bins //= 2
    return chosen


def sum_before(values: Ints, starts: Ints) -> Ints:
    """Return the sums of what is before each entry of its feature, along the last axis; `starts` say where these begin.

    Examples
    --------
    >>> sum_before(np.array([1, 2, 3, 4, 5]), np.array([0, 3, 5]))
    array([0, 1, 3, 0, 4])
    """
    return np.asarray(accumulate(np.atleast_2d(values), starts).reshape(values.shape) - values)


def find_quantiles(masses: Array, most: int) -> tuple[Ints, Ints]:
    """Return the cut nearest to each of so many quantiles, of equal shares of a mass, and the one at or after it.

    Cuts are between masses. One counts as a share at the most: the zeros of a column that has hardly anything else
    leave the other shares to the rest.

    Examples
    --------
    >>> find_quantiles(np.array([97.0, 1.0, 1.0, 1.0]), 3)
    (array([0, 1, 2]), array([0, 1, 2]))
    """
    for _ in range(9):
        masses = np.minimum(masses, masses.sum() / (most + 1))
    below, wanted = masses.cumsum()[:-1], np.arange(1, most + 1) * masses.sum() / (most + 1)
    after = np.searchsorted(below, wanted)
    left, right = np.maximum(after - 1, 0), np.minimum(after, len(below) - 1)
    return np.where(wanted - below[left] <= below[right] - wanted, left, right), after


def find_middles(below: Array, above: Array) -> Array:
    """Return the middles of pairs of values: above the one and at most the other.

    Examples
    --------
    >>> find_middles(np.array([1.0, 5e-324]), np.array([2.0, 1e-323]))
    array([1.5e+000, 9.9e-324])
    """
    middles = below / 2 + above / 2
    return np.where((below < middles) & (middles <= above), middles, above)


class Listed(NamedTuple):
    """Codes of the samples of every feature, less those that have the code of the rest."""

    codes: Codes  # feature by feature
    ends: Ints  # where those of each feature start, and the last end
    rows: NDArray[np.int32]  # which samples they are; first all samples, shared by the features that list all
    row_starts: Ints  # (n_features,)
    rests: Ints  # (n_features,), the code of all samples that are not listed; -1 if all of known values are

    @classmethod
    def join(cls, parts: Iterable[Sequence[Any]], n_samples: int, kind: type[np.integer]) -> Listed:
        """Join the codes, the samples and the codes of the rest, each of which comes feature by feature."""
        codes, rows, rests = parts
        listed = np.array(list(map(len, codes)), np.int64)
        own = [each[: len(each) * (len(each) < n_samples)] for each in rows]
        row_starts = np.where(listed < n_samples, n_samples + np.cumsum([0, *map(len, own)])[:-1], 0)
        of_all = _join([np.arange(n_samples), *own], np.int32)
        return cls(_join(codes, kind), np.append(0, np.cumsum(listed)), of_all, row_starts, np.array(rests, np.int64))

    def of_feature(self, feature: int) -> tuple[Codes, NDArray[np.int32]]:
        """Return the codes that a feature lists, and the samples that have them."""
        codes, first = self.codes[self.ends[feature] : self.ends[feature + 1]], self.row_starts[feature]
        return codes, self.rows[first : first + len(codes)]


class Bins(NamedTuple):
    """Features cut into at most 256 bins each, at places where their values change; `_starts` say where each begins."""

    cuts: Ints  # the places where the bins of each feature start, then the one where its last bin ends
    cut_starts: Ints  # (n_features + 1,)
    mixed: Mask  # as `cuts`: True if the bin that starts there holds several distinct values
    listed: Listed  # the samples and their bins
    groups: Ints  # where groups of features start that are summed at a time, four that list all samples, or one


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
    def from_weights(cls, s: ArrayLike, n_samples: int) -> FixedPoint:
        """Round signed weights of shape (n_samples,) or (n_samples, n_outputs)."""
        weights = np.ascontiguousarray(signed_weights(s, n_samples).T)
        with np.errstate(over="ignore"):
            mass = float(np.abs(weights).sum(axis=1).max())
        if mass == inf:
            raise InvalidInput("s", "found weights whose sum overflows", "scale them down")
        exponent = int(np.frexp(mass)[1]) - BITS
        scaled = np.ldexp(weights, -exponent)
        rounded = np.rint(scaled)
        lost, integers = np.abs(scaled - rounded).sum(axis=1).max(), rounded.astype(np.int64)
        positives = np.maximum(integers, 0).sum(axis=1)
        return cls(integers, integers.sum(axis=1), positives, exponent, int(np.ceil(lost)) + (mass > 0))

    def bound_squares(self, squares: float, n_edges: float, n_terms: int) -> float:
        """Bound the sum of squared edges, from that of the rounded ones, over so many; of sums over `n_terms`.

        Each of the rounded edges is off by the error at most, so their norm by that times the root of their number.
        """
        share = 1 + (n_terms + 8) * EPSILON
        length = np.sqrt(n_edges * len(self.totals) * share)
        with np.errstate(over="ignore"):
            return float(np.ldexp((np.sqrt(squares * share) + self.error * length) ** 2, 2 * self.exponent))

    def real(self, units: float) -> float:
        """Return a number of units as a float."""
        return ldexp(float(units), self.exponent)

    def raised(self, units: float, share: float = 0.0) -> float:
        """Return a float that is at least so many units, and `share` of them more."""
        return nextafter(self.real(units + abs(units) * share), inf) if units else 0.0


class Weights(NamedTuple):
    """Signed weights in fixed point, and their sums by feature, (n_outputs, n_features) each."""

    integers: Ints  # (n_outputs, n_samples)
    totals: Ints  # the edges of a step below all known values
    present: Ints  # the sums of the weights of the samples whose value is known
    positives: Ints  # of these the sums of those that are positive


class Closed(NamedTuple):
    """Places that must not be answered with, feature by feature."""

    places: Ints
    starts: Ints  # (n_features + 1,)

    def contains(self, features: Ints, places: Ints) -> Mask:
        """Return True for the places of features that are closed."""
        if not len(self.places):
            return np.zeros(len(places), np.bool_)
        own = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        # no two features share a number
        stride = 1 + int(max(places.max(initial=0), self.places.max(initial=0)))
        return np.isin(features * stride + places, own * stride + self.places)


class Entries(NamedTuple):
    """Sorted entries as compiled code visits them, named as in `BinnedFeatures`."""

    starts: Ints
    rows: NDArray[np.int32]
    changes: Mask
    has_zeros: Mask


class Refined(NamedTuple):
    """What runs of places hold, (n_runs,) each."""

    places: Ints  # the best one; 0 if none is open
    edges: Ints  # the edge there
    sizes: Ints  # its size; `NONE` at place 0
    largest: Ints  # the largest size, closed or open
    squares: Array  # the sum of squared edges over the whole bin

    @classmethod
    def of_nothing(cls, n_runs: int) -> Refined:
        """Return what runs without places hold."""
        places, edges = np.zeros((2, n_runs), np.int64)
        sizes, largest = np.full((2, n_runs), NONE)
        return cls(places, edges, sizes, largest, np.zeros(n_runs))


@njit(cache=True, nogil=True)
def _sum_bins(tasks: tuple[int, int], weights: Weights, bins: Bins, sums: Ints) -> None:
    """Sum the weights by bin, output by output and group by group of the features."""
    n_groups = len(bins.groups) - 1
    tables = np.empty((N_TOGETHER, 2 * N_BINS), np.int64)
    for task in range(tasks[0], tasks[1]):
        o, group = task // n_groups, task % n_groups
        first, last = bins.groups[group], bins.groups[group + 1]
        if last - first == N_TOGETHER:
            _sum_together(weights.integers[o], first, bins, tables)
        else:
            _sum_alone(o, first, weights, bins, tables)
        for f in range(first, last):
            start, own = bins.cut_starts[f], tables[f - first]
            for k in range(bins.cut_starts[f + 1] - 1 - start):
                sums[0, o, start + k], sums[1, o, start + k] = own[k], own[N_BINS + k]


@njit(cache=True)
def _sum_together(weights: Ints, f: int, bins: Bins, tables: Ints) -> None:
    """Sum the weights >= 0 of every bin, and from `N_BINS` on those < 0, for four features that list all samples.

    A weight is read, and its sign found, once for the four, whose additions do not wait for one another.
    """
    n, start = len(weights), bins.listed.ends[f]
    codes = bins.listed.codes[start : start + 4 * n]
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
def _sum_alone(o: int, f: int, weights: Weights, bins: Bins, tables: Ints) -> None:
    """Sum the weights of the bins of one feature, as `_sum_together` does, into the first table."""
    integers, (all_codes, ends, all_rows, row_starts, rests) = weights.integers[o], bins.listed
    codes, rest = all_codes[ends[f] : ends[f + 1]], rests[f]
    rows = all_rows[row_starts[f] : row_starts[f] + len(codes)]
    tables[:] = 0
    for i in range(len(codes)):
        # neighbours in different tables, so that none waits for the one before
        weight = integers[rows[i]]
        half = np.uint64(weight >> 63) & np.uint64(N_BINS)
        tables[i % N_TOGETHER, np.uint64(codes[i]) + half] += weight
    sums = tables[0]
    for k in range(1, N_TOGETHER):
        sums += tables[k]
    if rest >= 0:
        present, positives = weights.present[o, f], weights.positives[o, f]
        sums[rest] = positives - sums[:N_BINS].sum()
        sums[N_BINS + rest] = present - positives - sums[N_BINS:].sum()


@njit(cache=True, nogil=True)
def _scan(
    tasks: tuple[int, int],
    runs: Ints,
    features: Ints,
    weights: Weights,
    cuts: Ints,
    entries: Entries,
    below_cuts: Ints,
    sides: Ints,
    closed: Closed,
    found: Refined,
) -> None:
    """Add sorted samples up, run by run, and compare the edges between them."""
    for t in range(tasks[0], tasks[1]):
        o, cut, low, high = runs[t]
        f = features[t]
        start, side = entries.starts[f], sides[f]
        first, last = start + cuts[cut], start + cuts[cut + 1]
        integers, total, below = weights.integers[o], weights.totals[o, f], below_cuts[o, cut]
        shut = closed.places[closed.starts[f] : closed.starts[f + 1]]
        # of the weight of the bin, what its listed samples leave is that of the entry of all zeros, if it has it
        zeros = 0
        if entries.has_zeros[f]:
            zeros = below_cuts[o, cut + 1] - below
            for row in entries.rows[first:last]:
                zeros -= integers[row] if row < len(integers) else 0
        place, edge, size, largest, squares = 0, 0, NONE, NONE, 0.0
        for k in range(first + 1, last):
            # unsigned indices are not wrapped
            row = entries.rows[np.uint64(k - 1)]
            below += integers[np.uint64(row)] if row < len(integers) else zeros
            if entries.changes[np.uint64(k)]:
                here = total - 2 * below
                squares += float(here) * float(here)
                if low <= k - start < high:
                    own = abs(here) if side == 0 else side * here
                    if own > size:
                        largest = max(largest, own)
                        if k - start not in shut:
                            place, edge, size = k - start, here, own
        found.places[t], found.edges[t], found.sizes[t] = place, edge, size
        found.largest[t], found.squares[t] = largest, squares


@njit(cache=True, nogil=True)
def _sum_entries(feature: int, rows: NDArray[np.int32], changes: Mask, weights: Weights, edges: Ints) -> None:
    """Add all sorted samples of a feature up, and note the edges between them."""
    for o in range(len(edges)):
        integers, zeros = weights.integers[o], weights.present[o, feature]
        for row in rows:
            zeros -= integers[row] if row < len(integers) else 0
        edge, place = weights.totals[o, feature], 0
        for k in range(1, len(rows)):
            edge -= 2 * (integers[rows[k - 1]] if rows[k - 1] < len(integers) else zeros)
            if changes[k]:
                edges[o, place] = edge
                place += 1


@njit(cache=True, nogil=True)
def sum_cells(features: tuple[int, int], codes: Codes, starts: Ints, usual: Ints, weights: Array, sums: Array) -> None:
    """Sum weights (n_outputs, n_samples) over all cells of some features but the usual ones, into (n_outputs, n_cells).

    The cells of feature k begin at `starts[k]`.
    """
    for k in range(features[0], features[1]):
        of_feature, most = codes[k], usual[k]
        for output in range(len(weights)):
            own, of_output = sums[output, starts[k] : starts[k + 1]], weights[output]
            for i in range(len(of_feature)):
                if of_feature[i] != most:
                    own[np.uint64(of_feature[i])] += of_output[i]


@njit(cache=True)
def accumulate(values: NDArray[Kind], starts: Ints) -> NDArray[Kind]:
    """Return running sums of values (n_outputs, n_cells) that start anew at every feature, inclusive."""
    sums = np.empty_like(values)
    for output in range(len(values)):
        for k in range(len(starts) - 1):
            total = 0
            for cell in range(starts[k], starts[k + 1]):
                sums[output, cell] = total = total + values[output, cell]
    return sums


@njit(cache=True, nogil=True)
def add_cells(rows: tuple[int, int], codes: Codes, starts: Ints, usual: Ints, table: Numbers) -> Array:
    """Return the sums over features of what a table (n_outputs, n_cells) has for the cells of some samples.

    What it has for a usual cell is taken for 0.
    """
    f = np.zeros((len(table), rows[1] - rows[0]))
    for output in range(len(table)):
        for first in range(rows[0], rows[1], BLOCK):
            last = min(first + BLOCK, rows[1])
            block = f[output, first - rows[0] : last - rows[0]]
            for k in range(len(codes)):
                own, of_feature, most = table[output, starts[k] : starts[k + 1]], codes[k, first:last], usual[k]
                for i in range(len(block)):
                    if of_feature[i] != most:
                        block[i] += own[np.uint64(of_feature[i])]
    return f


@njit(cache=True, nogil=True)
def sum_pairs(a: Codes, b: Codes, weights: NDArray[Any], n_bins: int, table: NDArray[Any]) -> None:
    """Add the weights up by pairs of bins, `n_bins` of the second feature for each of the first."""
    width = np.uint64(n_bins)
    for i in range(len(weights)):
        table[np.uint64(a[i]) * width + np.uint64(b[i])] += weights[i]


@njit(cache=True, nogil=True)
def sum_joint(feature: int, partners: Ints, codes: Codes, n_bins: Ints, weights: NDArray[Any]) -> NDArray[Any]:
    """Sum weights by the bins of a feature and of each of its partners, up to and with each bin of both.

    The shape is (n_bins, n_bins of all partners).
    """
    sums = np.zeros((n_bins[feature], n_bins[partners].sum()), weights.dtype)
    a, start = codes[feature], 0
    for g in partners:
        b, own = codes[g], sums[:, start : start + n_bins[g]]
        for i in range(len(weights)):
            own[a[i], b[i]] += weights[i]
        for u in range(len(own)):
            for v in range(n_bins[g]):
                own[u, v] += own[u, v - 1] if v else 0
            for v in range(n_bins[g] if u else 0):
                own[u, v] += own[u - 1, v]
        start += n_bins[g]
    return sums


def column(X: Any, feature: int) -> Numbers:
    """Return one feature of dense or sparse `X` as an array of shape (n_samples,)."""
    if not issparse(X):
        # read from rows once
        return np.ascontiguousarray(np.asarray(X)[:, feature])
    X = X.tocsc()
    feature = range(X.shape[1])[feature]
    stored, values = slice(X.indptr[feature], X.indptr[feature + 1]), np.zeros(X.shape[0], X.dtype)
    np.add.at(values, X.indices[stored], X.data[stored])
    return values


def _read_dense(X: Numbers, feature: int) -> tuple[Numbers, NDArray[np.int32]]:
    """Return the entries of one feature, values and samples."""
    return np.ascontiguousarray(X[:, feature]), np.arange(len(X), dtype=np.int32)


def _read_sparse(X: csc_array, feature: int) -> tuple[Numbers, NDArray[np.int32]]:
    """Return the entries of one feature, values and samples; the zeros as one entry of sample n_samples."""
    stored = slice(X.indptr[feature], X.indptr[feature + 1])
    values, rows = X.data[stored], X.indices[stored].astype(np.int32)
    if len(rows) == X.shape[0]:
        return values, rows
    return np.append(values, X.dtype.type(0)), np.append(rows, np.int32(X.shape[0]))


def _choose_sort(values: Numbers) -> Literal["stable", "quicksort"]:
    """Choose numpy's fastest sort: a radix sort for short integers, vectorised quicksort for the rest."""
    return "stable" if values.dtype.itemsize <= 2 else "quicksort"


def find_missing(values: Numbers) -> Mask:
    """Return True for the values that are NaN."""
    if values.dtype.kind == "O":
        # nothing else is unequal to itself
        return np.not_equal(values, values).astype(bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, np.bool_)


def count_missing(X: Matrix) -> NDArray[np.int64]:
    """Return how many values of each column of X, an array or a `csc_array`, are NaN; shape (n_columns,)."""
    if isinstance(X, np.ndarray):
        return np.count_nonzero(find_missing(X), axis=0)
    of_entries = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    return np.bincount(of_entries[find_missing(X.data)], minlength=X.shape[1])


def check_features(X: Data, *, gaps: bool = False) -> Matrix:
    """Return X (n_samples, n_columns) as an array or a `csc_array` of numbers, with NaN if there may be `gaps`."""
    return _check_sparse(X, gaps) if issparse(X) else _check_dense(X, gaps)


def _check_dense(X: Data, gaps: bool) -> Array:
    """Return `X` as it is if its type can be kept, else as float64; without infinity, and without gaps if so."""
    try:
        array = np.asarray(X)
    except ValueError:
        return samples(X, gaps=gaps)
    kept = array.dtype in KEPT_TYPES and array.ndim == 2 and len(array) > 1 and array.size
    fine = kept and not (np.isinf(array).any() if gaps else not np.isfinite(array).all())
    return array if fine else samples(array, gaps=gaps)


def _check_sparse(X: sparray, gaps: bool) -> csc_array:
    """Return a copy of `X` by columns, without stored zeros or duplicates; infinity and gaps as in `_check_dense`."""
    X = csc_array(X, copy=True)
    if X.dtype not in KEPT_TYPES:
        X = X.astype(np.float64)
    X.sum_duplicates()
    X.eliminate_zeros()
    if X.shape[0] < 2 or X.shape[1] == 0:
        raise InvalidInput("X", f"found shape {X.shape}", "give at least two samples and one feature")
    if not np.isfinite(X.data).all() and not (gaps and not np.isinf(X.data).any()):
        n_bad = int((~np.isfinite(X.data)).sum())
        raise InvalidInput("X", f"found NaN or infinity in {n_bad} entries", "remove or impute NaN and infinity")
    return X
