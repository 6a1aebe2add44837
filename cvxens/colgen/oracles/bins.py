"""Features cut into bins, so that the weights below all cuts are summed in one pass over bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cvxens.features import SortedFeatures
from cvxens.threads import map_in_threads

N_BINS = 256

Ints: TypeAlias = NDArray[np.int64]


class Bins(NamedTuple):
    """Features cut into at most 256 bins each, at places where their values change.

    Parameters
    ----------
    features : ndarray of int64, shape (n_binned,)
        Which features they are.
    cuts : ndarray of int64, shape (n_cuts,)
        The places where the bins of each feature start, then the one where its last bin ends.
    cut_starts : ndarray of int64, shape (n_binned + 1,)
        Where each feature's cuts start.
    mixed : ndarray of bool, shape (n_cuts,)
        Whether the bin that starts at a cut holds several distinct values.
    codes : ndarray of uint8, shape (n_codes,)
        The bins of the samples that are listed, feature by feature.
    code_starts : ndarray of int64, shape (n_binned + 1,)
        Where each feature's codes start.
    rows : ndarray of int32, shape (n_rows,)
        The samples that are listed, ascending; all samples first, shared by features that list them all.
    row_starts : ndarray of int64, shape (n_binned,)
        Where each feature's rows start.
    rest : ndarray of int64, shape (n_binned,)
        The bin of all samples that are not listed; -1 if all of them are.
    """

    features: Ints
    cuts: Ints
    cut_starts: Ints
    mixed: NDArray[np.bool_]
    codes: NDArray[np.uint8]
    code_starts: Ints
    rows: NDArray[np.int32]
    row_starts: Ints
    rest: Ints


class _FeatureBins(NamedTuple):
    """The bins of one feature; the names are those of `Bins`."""

    cuts: Ints
    mixed: NDArray[np.bool_]
    rest: int
    rows: NDArray[np.int32]
    codes: NDArray[np.uint8]


def cut_into_bins(features: SortedFeatures, chosen: Ints) -> Bins:
    """Cut the `chosen` features; up to 256 distinct values are bins of their own.

    Examples
    --------
    >>> bins = cut_into_bins(SortedFeatures([[0.5, 3.0], [0.5, 1.0], [0.5, 2.0], [7.0, 2.0]]), np.arange(2))
    >>> bins.cuts, bins.cut_starts
    (array([0, 3, 4, 0, 1, 3, 4]), array([0, 3, 7]))
    >>> bins.rest, bins.codes, bins.rows
    (array([0, 1]), array([1, 2, 0], dtype=uint8), array([0, 1, 2, 3, 3, 0, 1], dtype=int32))
    """
    by_feature = map_in_threads(partial(_cut, features), chosen.tolist())
    rest = np.array([b.rest for b in by_feature], np.int64)
    cuts, cut_starts = _joined([b.cuts for b in by_feature], np.int64)
    mixed, _ = _joined([b.mixed for b in by_feature], np.bool_)
    codes, code_starts = _joined([b.codes for b in by_feature], np.uint8)
    everyone = np.arange(features.n_samples, dtype=np.int32)
    rows, row_starts = _joined([everyone, *(b.rows[: len(b.rows) * (b.rest >= 0)] for b in by_feature)], np.int32)
    row_starts = np.where(rest < 0, 0, row_starts[1:-1])
    return Bins(chosen, cuts, cut_starts, mixed, codes, code_starts, rows, row_starts, rest)


def _joined(parts: Sequence[NDArray], kind: DTypeLike) -> tuple[NDArray, Ints]:
    """Return all parts as one array, and where each starts and the last ends."""
    return np.concatenate([np.empty(0, kind), *parts]), np.cumsum([0, *map(len, parts)])


def _cut(features: SortedFeatures, feature: int) -> _FeatureBins:
    """Cut one feature."""
    places, rows = features.places(feature), features.ascending(feature)
    cuts = np.concatenate([[0], _inner_cuts(places, len(rows)), [len(rows)]])
    mixed = np.searchsorted(places, cuts[1:]) > np.searchsorted(places, cuts[:-1], "right")
    sizes = cuts[1:] - cuts[:-1]
    codes = np.repeat(np.arange(len(sizes), dtype=np.uint8), sizes)
    rest = _rest(rows, codes, features.n_samples)
    listed = np.flatnonzero(codes != rest)
    listed = listed[np.argsort(rows[listed])]
    return _FeatureBins(cuts, np.append(mixed, False), rest, rows[listed], codes[listed])


def _inner_cuts(places: Ints, n_entries: int) -> Ints:
    """Return at most 255 of `places`: all, or those on both sides of equal shares, so that heavy values stand alone."""
    n_bins = N_BINS
    chosen = places
    while len(chosen) >= N_BINS:
        shares = np.arange(1, n_bins) * n_entries // n_bins
        before = np.searchsorted(places, shares, "right") - 1
        after = np.searchsorted(places, shares)
        chosen = np.unique(places[np.clip(np.append(before, after), 0, len(places) - 1)])
        n_bins //= 2
    return chosen


def _rest(rows: NDArray[np.int32], codes: NDArray[np.uint8], n_samples: int) -> int:
    """Return the bin not to list: that of zeros that are not stored, or of at least half the samples, or none (-1)."""
    last = int(rows.argmax())
    middle = int(codes[len(codes) // 2])
    if rows[last] == n_samples:
        return int(codes[last])
    return middle if 2 * np.count_nonzero(codes == middle) >= n_samples else -1
