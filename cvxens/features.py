"""Features sorted once: the presorting that the search for stumps, their kernels and their sums have in common."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse

from cvxens.errors import InvalidInput
from cvxens.limits import map_in_threads
from cvxens.validation import samples

KEPT_TYPES = tuple(np.dtype(code) for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8"))
"""Types whose values are float64 values, so they need no conversion; everything else becomes float64."""


class SortedFeatures:
    """Every column of X in ascending order, dense or sparse, in the type of X.

    Feature j owns the entries ``starts[j]`` to ``starts[j + 1]``. A dense feature has one entry per sample.
    A sparse one has its non-zero values and, if it has zeros, one more entry for all of them together.
    A **place** k of feature j is the cut between its sorted entries k - 1 and k.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_columns)
        Finite, at least two samples, at least one feature that varies.
    columns : sequence of int, optional
        Which columns of X the features are, some perhaps twice, some left out; then they may have missing values, NaN,
        which have no entries, and all of them may be constant. By default each is one.

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
    >>> features = SortedFeatures([[3.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    >>> features.order
    array([[1, 2, 0],
           [2, 0, 1]], dtype=int32)
    >>> features.threshold(0, 1), features.threshold(1, 1)
    (1.5, 0.5)
    """

    def __init__(self, X: Any, columns: Sequence[int] | None = None) -> None:
        sparse, gaps = issparse(X), columns is not None
        self.X = check_features(X, gaps=gaps)
        self.n_samples = self.X.shape[0]
        self.columns = np.arange(self.X.shape[1]) if columns is None else np.array(columns, np.int64)
        self.n_features = len(self.columns)
        stored = np.diff(self.X.indptr)[self.columns] if sparse else np.full(self.n_features, self.n_samples)
        self.has_zeros = stored < self.n_samples
        missing = count_missing(self.X)[self.columns] if gaps else 0
        self.starts = np.concatenate([[0], np.cumsum(stored + self.has_zeros - missing, dtype=np.int64)])
        self._column = _read_sparse if sparse else _read_dense
        self.entry_values = np.empty(self.starts[-1], self.X.dtype)
        map_in_threads(self._sort_values, range(self.n_features))
        # sorted, so that a feature whose first value is its last one is constant
        if not gaps and (self.entry_values[self.starts[:-1]] == self.entry_values[self.starts[1:] - 1]).all():
            raise InvalidInput("X", "found constant features only", "give at least one feature that varies")

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
    def changes(self) -> NDArray[np.bool_]:
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

    def missing(self, feature: int) -> NDArray[np.intp]:
        """Return the samples in which `feature` is missing, ascending."""
        if self.X.dtype.kind != "f" or not self.columns.size:
            return np.empty(0, np.intp)
        return np.flatnonzero(find_missing(column(self.X, int(self.columns[feature]))))

    def places(self, feature: int) -> NDArray[np.int64]:
        """Return all places of `feature` where its value changes, ascending."""
        values = self.entry_values[self.entries(feature)]
        return 1 + np.flatnonzero(values[1:] != values[:-1])

    @property
    def order(self) -> NDArray[np.int32]:
        """Samples by ascending value, shape (n_features, n_samples); of dense X only."""
        return self._table(self.entry_rows)

    @property
    def values(self) -> NDArray:
        """Sorted values, shape (n_features, n_samples), ``values[j, k] = X[order[j, k], j]``; of dense X only."""
        return self._table(self.entry_values)

    def threshold(self, feature: int, place: int) -> float:
        """Return the middle of the sorted values around `place`: above the one before, at most the one after."""
        at = self.starts[feature] + place
        below, above = float(self.entry_values[at - 1]), float(self.entry_values[at])
        middle = below / 2 + above / 2
        return middle if below < middle <= above else above

    def _sort_values(self, feature: int) -> None:
        values, _ = self._read(feature)
        self.entry_values[self.entries(feature)] = np.sort(values, kind=_choose_sort(values))

    def _read(self, feature: int) -> tuple[NDArray, NDArray[np.int32]]:
        """Return the known values of one feature and their samples, unsorted."""
        values, rows = self._column(self.X, self.columns[feature])
        if len(values) == self.starts[feature + 1] - self.starts[feature]:
            return values, rows
        known = ~find_missing(values)
        return values[known], rows[known]

    def _table(self, entries: NDArray) -> NDArray:
        if issparse(self.X):
            raise InvalidInput("X", "found a sparse matrix", "use entry_rows and entry_values, or X.toarray()")
        return entries.reshape(self.n_features, self.n_samples)


def column(X: Any, feature: int) -> NDArray:
    """Return one feature of dense or sparse `X` as an array of shape (n_samples,)."""
    if not issparse(X):
        return np.asarray(X)[:, feature]
    X = X.tocsc()
    feature = range(X.shape[1])[feature]
    stored = slice(X.indptr[feature], X.indptr[feature + 1])
    values = np.zeros(X.shape[0], X.dtype)
    np.add.at(values, X.indices[stored], X.data[stored])
    return values


def _read_dense(X: NDArray, feature: int) -> tuple[NDArray, NDArray[np.int32]]:
    """Return the entries of one feature, values and samples."""
    return np.ascontiguousarray(X[:, feature]), np.arange(len(X), dtype=np.int32)


def _read_sparse(X: csc_array, feature: int) -> tuple[NDArray, NDArray[np.int32]]:
    """Return the entries of one feature, values and samples; the zeros as one entry of sample n_samples."""
    stored = slice(X.indptr[feature], X.indptr[feature + 1])
    values, rows = X.data[stored], X.indices[stored].astype(np.int32)
    if len(rows) == X.shape[0]:
        return values, rows
    return np.append(values, X.dtype.type(0)), np.append(rows, np.int32(X.shape[0]))


def _choose_sort(values: NDArray) -> Literal["stable", "quicksort"]:
    """Choose numpy's fastest sort: a radix sort for short integers, vectorised quicksort for the rest."""
    return "stable" if values.dtype.itemsize <= 2 else "quicksort"


def find_missing(values: NDArray) -> NDArray[np.bool_]:
    """Return True for the values that are NaN."""
    if values.dtype.kind == "O":
        # nothing else is unequal to itself
        return np.not_equal(values, values).astype(bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, np.bool_)


def count_missing(X: Any) -> NDArray[np.int64]:
    """Return how many values of each column of X, an array or a `csc_array`, are NaN; shape (n_columns,)."""
    if not issparse(X):
        return np.count_nonzero(find_missing(X), axis=0)
    of_entries = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    return np.bincount(of_entries[find_missing(X.data)], minlength=X.shape[1])


def check_features(X: Any, *, gaps: bool = False) -> Any:
    """Return X (n_samples, n_columns) as an array or a `csc_array` of numbers, with NaN if there may be `gaps`."""
    return _check_sparse(X, gaps) if issparse(X) else _check_dense(X, gaps)


def _check_dense(X: Any, gaps: bool) -> Any:
    """Return `X` as it is if its type can be kept, else as float64; without infinity, and without gaps if so."""
    try:
        array = np.asarray(X)
    except ValueError:
        return samples(X, gaps=gaps)
    kept = array.dtype in KEPT_TYPES and array.ndim == 2 and len(array) > 1 and array.size
    fine = kept and not (np.isinf(array).any() if gaps else not np.isfinite(array).all())
    return array if fine else samples(array, gaps=gaps)


def _check_sparse(X: Any, gaps: bool) -> Any:
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
