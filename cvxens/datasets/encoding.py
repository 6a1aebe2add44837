"""Text columns of a table as numbers that stumps can split on."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from cvxens.datasets.labels import MISSING, NUMBER
from cvxens.datasets.source import Source
from cvxens.errors import DataFileError
from cvxens.types import Array

MOST_CATEGORIES = 20

Learnt: TypeAlias = float | tuple[str, ...]
"""What is learnt of a column: the median of its numbers, or its categories."""


@dataclass(frozen=True)
class Column:
    """One column of a table: its cells as text, and the line of the file that each stands on."""

    source: Source
    name: str
    cells: Sequence[str]
    lines: Sequence[int]

    def present(self) -> list[str]:
        """Return the cells that are not missing."""
        return [cell for cell in self.cells if cell not in MISSING]

    def not_numbers(self) -> list[int]:
        """Return the positions of cells that are neither missing nor numbers."""
        return [i for i, cell in enumerate(self.cells) if cell not in MISSING and not NUMBER.fullmatch(cell)]

    def error(self, i: int) -> DataFileError:
        """Return the error about cell `i` of a column of numbers."""
        return self.source.error(
            f"found {self.cells[i]!r} in line {self.lines[i]}, in the column of numbers {self.name!r}",
            "correct it, or write a missing value as ? or as nothing",
        )


class Encoder(Protocol):
    """Turns a column into features, learnt on the training part and applied to every part alike."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""

    @property
    def note(self) -> str:
        """What was changed; empty if nothing was."""

    @property
    def learnt(self) -> Learnt:
        """What `restored` makes the encoder of again."""

    def encode(self, column: Column, /) -> Array:
        """Return the features, shape (n_samples, n_names)."""


@dataclass(frozen=True)
class Numeric:
    """Numbers as they are, missing ones replaced by the median of the training part."""

    feature_names: tuple[str, ...]
    median: float
    note: str

    @property
    def learnt(self) -> float:
        """The median."""
        return self.median

    def encode(self, column: Column) -> Array:
        """Return the numbers, shape (n_samples, 1)."""
        for i in column.not_numbers():
            raise column.error(i)
        return np.array([[self.median if cell in MISSING else float(cell)] for cell in column.cells])


@dataclass(frozen=True)
class Nominal:
    """One feature per category of the training part, 1 where the sample has it and 0 elsewhere."""

    feature_names: tuple[str, ...]
    categories: tuple[str, ...]
    note: str

    @property
    def learnt(self) -> tuple[str, ...]:
        """The categories; none of a column that is left out."""
        return self.categories

    def encode(self, column: Column) -> Array:
        """Return the indicators, shape (n_samples, n_categories); all 0 for a category never seen."""
        cells = np.array(["?" if cell in MISSING else cell for cell in column.cells])
        return (cells[:, None] == np.array(self.categories, dtype=str)).astype(np.float64)


def restored(name: str, learnt: Learnt) -> Encoder:
    """The encoder of a column that has learnt this."""
    if isinstance(learnt, tuple):
        return Nominal(tuple(f"{name}={category}" for category in learnt), learnt, "")
    return Numeric((name,), learnt, "")


def encoder(column: Column) -> Encoder:
    """Choose how a column of the training part becomes features.

    A column of numbers (and missing values) is `Numeric`, any other is `Nominal`, a missing value being
    a category ``?`` of its own. Left out are columns without any value, and identifiers: nominal columns
    with more than 20 categories and less than two samples per category.

    Raises
    ------
    DataFileError
        If a column with more than 20 distinct values is mostly numbers: a misspelt number, not categories.
    """
    present = column.present()
    missing = len(column.cells) - len(present)
    if not present:
        return Nominal((), (), f"{column.name}: left out, every value is missing")
    odd = column.not_numbers()
    if not odd:
        median = 2 * statistics.median(float(cell) / 2 for cell in present)
        note = f"{column.name}: the median {median:g} in place of missing values, {missing} of them" if missing else ""
        return Numeric((column.name,), median, note)
    categories = tuple(sorted({*present, "?"} if missing else {*present}))
    if len(categories) > MOST_CATEGORIES:
        if 2 * len(odd) < len(present):
            raise column.error(odd[0])
        if 2 * len(categories) > len(column.cells):
            return Nominal((), (), f"{column.name}: left out, {len(categories)} categories identify single samples")
    names = tuple(f"{column.name}={category}" for category in categories)
    note = f"{column.name}: missing values, {missing} of them, are the category ?" if missing else ""
    return Nominal(names, categories, note)
