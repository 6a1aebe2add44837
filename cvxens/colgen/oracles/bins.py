"""Features cut into bins, of which oracles over several features at a time know the ends, and which may interact."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.features import SortedFeatures, column
from cvxens.types import Array
from cvxens.validation import sample_prices, whole

MOST_BINS = 256
"""The bins that a byte can name."""


@dataclass(frozen=True, eq=False)
class BinnedFeatures:
    """A sample as the numbers of the bins that its values are in.

    Examples
    --------
    >>> binned = BinnedFeatures.from_samples([[0.0, 1.0], [2.0, 1.0], [4.0, 3.0]], n_bins=4)
    >>> binned.thresholds
    [array([1., 3.]), array([2.])]
    >>> binned.codes
    array([[0, 0],
           [1, 0],
           [2, 1]], dtype=uint8)
    """

    sample: Any  # (n_samples, n_features), dense or sparse
    thresholds: list[Array]  # by feature, ascending
    codes: NDArray[np.uint8]  # (n_samples, n_features), how many thresholds are at or below each value

    @classmethod
    def from_samples(
        cls,
        X: Any,
        n_bins: int,
        *,
        sample_weight: Any = None,
        order: Literal["C", "F"] = "C",
        columns: Sequence[int] | None = None,
    ) -> Self:
        """Cut every feature into at most `n_bins` bins, a distinct value each, or of nearly equal masses of samples.

        If the features are some `columns` of X, they may have missing values, of which the code is one beyond the last.
        """
        features = SortedFeatures(X, columns)
        masses = None if sample_weight is None else sample_prices("sample_weight", sample_weight, features.n_samples)
        if masses is not None and (masses == masses[0]).all():
            masses = None
        most = min(whole("n_bins", n_bins, least=2), MOST_BINS - (columns is not None)) - 1
        thresholds = [choose_thresholds(features, j, most, masses) for j in range(features.n_features)]
        codes = np.empty((features.n_samples, features.n_features), np.uint8, order=order)
        for k, own in enumerate(thresholds):
            values = np.asarray(column(features.X, int(features.columns[k])), np.float64)
            codes[:, k] = np.searchsorted(own, values, side="right")
            if columns is not None:
                codes[features.missing(k), k] = len(own) + 1
        return cls(features.X, thresholds, codes)

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return len(self.thresholds)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of thresholds of every feature, shape (n_features,)."""
        return np.array([len(own) for own in self.thresholds], np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the bins of every feature start in a list of all, and where the last ones end, (n_features + 1,)."""
        return np.append(0, np.cumsum(self.counts + 1))

    def place(self, feature: int, threshold: float) -> int:
        """Return the place of a threshold, from 1 to the number of the feature's; 0 if it is none of them."""
        own = self.thresholds[feature] if 0 <= feature < self.n_features else np.zeros(0)
        k = int(np.searchsorted(own, threshold))
        return k + 1 if k < len(own) and own[k] == threshold else 0


def choose_thresholds(features: SortedFeatures, feature: int, most: int, masses: Array | None) -> Array:
    """Choose at most so many thresholds, ascending: all, or those with the nearest to equal masses between them."""
    places = features.places(feature)
    if len(places) > most:
        total, below = _sum_masses(features, feature, masses)
        below = below[places - 1]
        wanted = np.arange(1, most + 1) * total / (most + 1)
        after = np.clip(np.searchsorted(below, wanted), 1, len(places) - 1)
        nearest = after - (wanted - below[after - 1] <= below[after] - wanted)
        places = places[np.unique(nearest)]
    return np.array([features.threshold(feature, place) for place in places.tolist()])


def _sum_masses(features: SortedFeatures, feature: int, masses: Array | None) -> tuple[float, Array]:
    """Return the mass of all samples, and its sums up to each sorted entry; `masses` None is 1 for each sample."""
    if masses is None:
        # without weights only the order of values counts, which is sorted already
        values = features.entry_values[features.entries(feature)]
        entries = np.ones(len(values))
        if features.has_zeros[feature]:
            n_missing = len(features.missing(feature))
            entries[np.searchsorted(values, 0)] = features.n_samples - n_missing - len(values) + 1
    else:
        # of sparse features one entry stands for all zeros, and has the mass that the others leave
        rows = features.ascending(feature)
        others = masses[rows[rows < len(masses)]].sum() + masses[features.missing(feature)].sum()
        entries = np.append(masses, masses.sum() - others)[rows]
    return float(entries.sum()), entries.cumsum()


Groups = Collection[Sequence[int]]
"""Groups of features, each a list of at least two."""


def find_allowed(n_features: int, interactions: Groups | None, forbidden: Groups) -> NDArray[np.bool_]:
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


@njit(cache=True)
def sum_pairs(
    a: NDArray[np.uint8], b: NDArray[np.uint8], weights: NDArray[np.int64], n_bins: int, table: NDArray[np.int64]
) -> None:
    """Add the weights up by pairs of bins, `n_bins` of the second feature for each of the first."""
    width = np.uint64(n_bins)
    for i in range(len(weights)):
        table[np.uint64(a[i]) * width + np.uint64(b[i])] += weights[i]
