"""What a column of a table is, and how it becomes features; learnt of one table, applied to any other.

A column is numeric, nominal (one 0/1 feature per level), a date that is kept as days since 1970, or left out. These
records are part of saved models: their fields are plain values, checked where they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cvxens.tables.cells import Cells, OddCell
from cvxens.tables.numerals import Numerals, dates_of, days
from cvxens.types import Array

PLAIN = Numerals()
"""Numbers as Python writes them."""

SHOWN = 3
"""So many levels are named where some are told of."""


class Column(Protocol):
    """What all kinds of columns have."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def note(self) -> str:
        """What of it people should know; empty for nothing."""

    @property
    def kind(self) -> str:
        """One word for people."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features that it becomes; none if it is left out."""

    def encode(self, cells: Cells, /) -> Array:
        """Return the features of other cells, shape (n_samples, n_features), finite."""

    def raw(self, cells: Cells, /) -> Array:
        """Return the values for learners that take categories and gaps, shape (n_samples,)."""

    def remark(self, cells: Cells, /) -> str:
        """Say what of other cells was not among those that were learnt from; empty for nothing."""


def _check(record: Column, **kinds: type | tuple[type, ...]) -> None:
    for name, kind in {"name": str, "note": str, **kinds}.items():
        if not isinstance(getattr(record, name), kind):
            raise TypeError(f"{name} = {getattr(record, name)!r:.100} of a {type(record).__name__}")


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers, one feature.

    Parameters
    ----------
    name : str
        What it is called.
    median : float
        What is put in the place of a missing value.
    numerals : Numerals
        How numbers are written where they are text.
    note : str
        What of it people should know; empty for nothing.
    """

    name: str
    median: float
    numerals: Numerals = PLAIN
    note: str = ""

    def __post_init__(self) -> None:
        _check(self, median=float, numerals=Numerals)

    @property
    def kind(self) -> str:
        """One word for people."""
        return "numeric"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Its name."""
        return (self.name,)

    def encode(self, cells: Cells) -> Array:
        """Return the numbers, the median where missing, shape (n_samples, 1)."""
        return np.where(cells.missing, self.median, self.raw(cells))[:, None]

    def raw(self, cells: Cells) -> Array:
        """Return the numbers, NaN where missing."""
        if cells.kind == "f":
            return cells.values
        known = np.flatnonzero(~cells.missing)
        texts = cells.labels()[known].tolist()
        if cells.kind == "M" or cells.truths or not all(map(self.numerals.reads, texts)):
            odd = next((i for i, text in enumerate(texts) if not self.numerals.reads(text)), 0)
            raise OddCell(
                int(known[odd]),
                repr(texts[odd]),
                f"the column of numbers {self.name!r}",
                "correct it, or write a missing value as ? or as nothing",
            )
        numbers = np.full(len(cells.values), np.nan)
        numbers[known] = self.numerals.parse(texts)
        return numbers

    def remark(self, cells: Cells) -> str:
        """Say how many values are missing."""
        missing = int(cells.missing.sum())
        return f"{self.name}: {_values(missing)} missing, taken as {self.median:g}" if missing else ""


@dataclass(frozen=True)
class NominalColumn:
    """A column of categories, one 0/1 feature per level.

    Parameters
    ----------
    name : str
        What it is called.
    levels : tuple of str
        The categories, in the order of their features; "?" stands for missing values, if there were any.
    note : str
        What of it people should know; empty for nothing.
    """

    name: str
    levels: tuple[str, ...]
    note: str = ""

    def __post_init__(self) -> None:
        _check(self, levels=tuple)
        if not all(isinstance(level, str) for level in self.levels):
            raise TypeError(f"levels {self.levels!r:.100}")

    @property
    def kind(self) -> str:
        """One word for people."""
        return "nominal"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """``name=level``."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    def encode(self, cells: Cells) -> Array:
        """Return the indicators, shape (n_samples, n_levels); all 0 for a level never seen."""
        places = self._places(cells)
        seen = np.flatnonzero(places >= 0)
        indicators = np.zeros((len(places), len(self.levels)))
        indicators[seen, places[seen]] = 1.0
        return indicators

    def raw(self, cells: Cells) -> Array:
        """Return the levels as texts, None where missing."""
        places = self._places(cells)
        # a level never seen stays what it is: a tree counts it as missing
        raw = np.array([*self.levels, ""], dtype=object)[places]
        raw[places < 0] = cells.labels()[places < 0]
        raw[cells.missing] = None
        return raw

    def remark(self, cells: Cells) -> str:
        """Say which levels were never seen."""
        new = self._places(cells) < 0
        if not new.any():
            return ""
        labels = np.where(cells.missing, "a missing value", cells.labels())[new]
        names = sorted(set(labels.tolist()))
        shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        return f"{self.name}: {_values(int(new.sum()))} of no level of the fit ({shown}), taken as none of them"

    def _places(self, cells: Cells) -> np.ndarray:
        """The index of each cell's level, -1 for one never seen."""
        # truth values are spelt in several ways: True, TRUE, true
        known = {level.casefold(): i for i, level in enumerate(self.levels) if _is_truth(level)}
        known |= {level: i for i, level in enumerate(self.levels)}
        labels = np.where(cells.missing, "?", cells.labels()).tolist()
        return np.array(
            [known.get(label, known.get(label.casefold(), -1) if _is_truth(label) else -1) for label in labels], np.intp
        )


@dataclass(frozen=True)
class DateColumn:
    """A column of dates, one feature: days since 1970.

    Parameters
    ----------
    name : str
        What it is called.
    median : float
        What is put in the place of a missing value.
    format : str
        How dates are written where they are text; "" if they never were.
    note : str
        What of it people should know; empty for nothing.
    """

    name: str
    median: float
    format: str
    note: str = ""

    def __post_init__(self) -> None:
        _check(self, median=float, format=str)

    @property
    def kind(self) -> str:
        """One word for people."""
        return "date"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Its name."""
        return (self.name,)

    def encode(self, cells: Cells) -> Array:
        """Return the days, the median where missing, shape (n_samples, 1)."""
        return np.where(cells.missing, self.median, self.raw(cells))[:, None]

    def raw(self, cells: Cells) -> Array:
        """Return the days, NaN where missing."""
        if cells.kind == "M":
            return days(cells.values)
        if cells.kind == "f":
            return cells.values
        since = np.full(len(cells.values), np.nan)
        known = np.flatnonzero(~cells.missing)
        found = dates_of(cells.values[known].tolist(), self.format) if len(known) else np.zeros(0)
        if found is None:
            odd = next(i for i in known if dates_of([cells.values[i]], self.format) is None)
            raise OddCell(
                int(odd), repr(cells.values[odd]), f"the column of dates {self.name!r}", f"write it as {self.format}"
            )
        since[known] = found
        return since

    def remark(self, cells: Cells) -> str:
        """Say how many values are missing."""
        missing = int(cells.missing.sum())
        return f"{self.name}: {_values(missing)} missing, taken as day {self.median:g}" if missing else ""


@dataclass(frozen=True)
class LeftOutColumn:
    """A column that becomes no feature.

    Parameters
    ----------
    name : str
        What it is called.
    note : str
        Why.
    """

    name: str
    note: str = ""

    def __post_init__(self) -> None:
        _check(self)

    @property
    def kind(self) -> str:
        """One word for people."""
        return "left out"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """None."""
        return ()

    def encode(self, cells: Cells) -> Array:
        """Return no features, shape (n_samples, 0)."""
        return np.zeros((len(cells.values), 0))

    def raw(self, cells: Cells) -> Array:
        """Return the values as they are."""
        return cells.values

    def remark(self, cells: Cells) -> str:
        """Say nothing."""
        return ""


def _values(n: int) -> str:
    return f"{n} value{'s' * (n != 1)}"


def _is_truth(text: str) -> bool:
    return text.casefold() in {"true", "false"}


def stacked(parts: Sequence[Array], n_samples: int) -> Array:
    """Return features side by side, shape (n_samples, n_features)."""
    return np.hstack([np.zeros((n_samples, 0)), *parts])
