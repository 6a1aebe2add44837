"""What the columns of a sample are to oracles of single features: numbers or levels, with gaps or without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.features import check_features, count_missing
from cvxens.tables import Feature, encode, find_features
from cvxens.validation import finite_array, one_each, one_of

Ints: TypeAlias = NDArray[np.int64]

MISSING_AS = ("side", "zero")
"""What stumps may be where the value is missing: of either side, or 0."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """A sample with what its columns are.

    Examples
    --------
    >>> kinds = Kinds.from_sample([[1.0, 0.0], [np.nan, 1.0]], [Feature("age"), Feature("sky", ("blue", "red"))])
    >>> kinds.numeric, kinds.ways(0), kinds.gaps
    (array([0]), (-1, 1), array([ True, False]))
    """

    X: Any  # ndarray or csc_array (n_samples, n_features), NaN where missing
    features: tuple[Feature, ...]
    gaps: NDArray[np.bool_]  # (n_features,), True where values are missing
    silent: bool  # True if stumps say nothing of missing values

    @classmethod
    def from_sample(cls, X: Any, features: Sequence[Feature] | None = None, missing: str = "side") -> Self:
        """Check a sample; without `features` all of it is numeric, but for what is nominal in a data frame."""
        silent = one_of("missing", missing, MISSING_AS) == "zero"
        if features is None and (features := find_features(X)) is not None:
            X = encode(features, X)
        X = check_features(X, gaps=True)
        kinds = tuple(Feature(f"x{j}") for j in range(X.shape[1])) if features is None else tuple(features)
        one_each("features", kinds, X.shape[1], "feature")
        return cls(X, kinds, count_missing(X) > 0, silent)

    @property
    def nominal(self) -> NDArray[np.bool_]:
        """True for columns of levels, (n_features,)."""
        return np.array([kind.categories is not None for kind in self.features])

    @property
    def numeric(self) -> Ints:
        """The columns of numbers."""
        return np.flatnonzero(~self.nominal)

    @property
    def plain(self) -> bool:
        """True if all columns are numbers without gaps."""
        return not (self.gaps.any() or self.nominal.any())

    def ways(self, feature: int) -> tuple[int, ...]:
        """Return what missing values of a numeric feature count as: -1 below, +1 above thresholds, 0 as neither."""
        return (-1, 1) if self.gaps[feature] and not self.silent else (0,)

    def check_sides(self, signs: Any) -> Ints:
        """Return the sides of all features, 0 for nominal ones."""
        sides = check_sides(signs, len(self.features))
        wrong = np.flatnonzero(self.nominal & (sides != 0)).tolist()
        if wrong:
            remedy = f"give 0 for {self.features[wrong[0]].name!r}, whose levels have no order"
            raise InvalidInput("signs", f"found {signs!r:.100}", remedy)
        return sides

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
