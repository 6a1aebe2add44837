"""Features of a proof: how the columns of a sample, of numbers or of levels, with gaps or without, become numbers.

The checker knows stumps of numbers alone. Those of a column with gaps are stumps of two features: in one, missing
values are the least number of the column, so below every threshold; in the other they are above all, so that one
threshold more tells them from the others. The test of a level is the stump of its indicator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from cvxens.hypotheses import LevelStump, Stump
from cvxens.types import Array

MISSING = -1
"""The group of the samples whose value is missing, beside the codes of levels."""


@dataclass(frozen=True)
class Reading:
    """A feature of a proof, made of a column of the sample.

    Parameters
    ----------
    column : int
        Of the sample.
    missing : float, optional
        The number that a missing value counts as.
    side : int
        -1 if that is below every threshold, +1 if it is above all others, 0 of a column without gaps.
    level : int, optional
        Of a column of codes, the level of which this is the indicator; -1 for missing values.
    others : tuple of int
        The other levels of the column.

    Examples
    --------
    >>> Reading(0, missing=3.0, side=1).read(np.array([[2.0], [np.nan]]))
    array([2., 3.])
    """

    column: int
    missing: float | None = None
    side: int = 0
    level: int | None = None
    others: tuple[int, ...] = ()

    @classmethod
    def of_numbers(cls, column: int, values: Array) -> list[Reading]:
        """Return the readings of a column of numbers; none if all are missing."""
        known = values[~np.isnan(values)]
        if len(known) == len(values) or not len(known):
            return [cls(column)] * bool(len(known))
        top = float(known.max())
        # the next whole number reads well, where it is another number
        return [
            cls(column, float(known.min()), -1),
            cls(column, max(float(np.floor(top)) + 1, float(np.nextafter(top, inf))), 1),
        ]

    @classmethod
    def of_levels(cls, column: int, groups: tuple[int, ...]) -> list[Reading]:
        """Return the indicators of levels; of two one is enough."""
        readings = [cls(column, level=g, others=tuple(o for o in groups if o != g)) for g in groups]
        return readings[:1] if len(groups) == 2 else readings

    def read(self, X: Array) -> Array:
        """Return the feature, shape (n_samples,)."""
        values = X[:, self.column]
        gaps = np.isnan(values)
        if self.level is not None:
            return (gaps if self.level == MISSING else values == self.level).astype(np.float64)
        return values if self.missing is None else np.where(gaps, self.missing, values)

    def read_stump(self, hypothesis: Stump | LevelStump) -> tuple[float, float] | None:
        """Return threshold and sign of the stump of this feature that a hypothesis is on the sample, if it is one."""
        if hypothesis.feature != self.column:
            return None
        if isinstance(hypothesis, Stump):
            same = self.level is None and self.side in {0, hypothesis.missing}
            return (hypothesis.threshold, hypothesis.sign) if same else None
        if self.level is None:
            # of no level, it tells missing values from others
            if self.side != 1 or self.missing is None or hypothesis.levels or hypothesis.missing != 1:
                return None
            return self.missing, hypothesis.sign
        inside = {*hypothesis.levels, *[MISSING] * (hypothesis.missing > 0)}
        if self.level in inside and not inside & {*self.others}:
            return 1.0, hypothesis.sign
        return (1.0, -hypothesis.sign) if self.level not in inside and inside >= {*self.others} else None


class Statement(NamedTuple):
    """What a proof is over: the name of the set of hypotheses, and the features, with what they are made of."""

    over: str
    X: Array
    readings: tuple[Reading, ...]

    @classmethod
    def from_sample(cls, over: str, X: Any, readings: Iterable[Reading] | None = None) -> Statement:
        """Read features of a sample; by default its columns, as they are."""
        if readings is None:
            X = np.ascontiguousarray(X, dtype=np.float64) + 0.0
            return cls(over, X, tuple(map(Reading, range(X.shape[1]))))
        chosen = tuple(readings)
        return cls(over, np.column_stack([reading.read(X) for reading in chosen]) + 0.0, chosen)
