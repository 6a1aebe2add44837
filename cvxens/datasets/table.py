"""Tables from files: a header, named columns, one of them the target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.datasets.memory import check_room
from cvxens.datasets.source import Source
from cvxens.errors import DataFileError, InvalidInput
from cvxens.tables import (
    MOST_CATEGORIES,
    Numerals,
    OddCell,
    TableEncoder,
    choose_decimal_mark,
    columns_of,
    read_cells,
    recognise_numerals,
)

TARGETS = frozenset({"target", "class", "label", "y"})
"""Names that say that a column is the target, in lower case."""


@dataclass(frozen=True)
class Options:
    """How a table is to be read; see `load_file`.

    Parameters
    ----------
    target : str or None
        The column to predict; the last one by default.
    drop, keep : tuple of str
        Columns to leave out, and columns not to leave out though they look like dates or identifiers.
    sep : str or None
        What separates cells: one character, or "tab" or "space"; found out by default.
    decimal : {".", ","} or None
        The decimal mark; found out by default.
    na : tuple of str
        Further texts that stand for a missing value.
    """

    target: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    sep: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.decimal is not None:
            validation.one_of("decimal", self.decimal, (".", ","))
        if self.sep is not None and len(self.separator) != 1:
            raise InvalidInput("sep", f"found {self.sep!r}", "give one character, or 'tab' or 'space'")

    @property
    def separator(self) -> str:
        """The separator as a character, "" if it is to be found out."""
        return {"tab": "\t", r"\t": "\t", "space": " "}.get(self.sep or "", self.sep or "")

    @classmethod
    def of(cls, encoder: TableEncoder) -> Options:
        """The options for a table to predict for."""
        return cls(target=encoder.target or None, sep=encoder.separator or None, na=encoder.na)


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table as it stands in its file.

    Parameters
    ----------
    source : Source
        The file.
    frame : pandas.DataFrame
        Named columns; those of text files hold text.
    lines : sequence of int or None
        The line of the file that each row is from, of text files.
    options : Options
        How it was asked to be read.
    separator : str
        What separates cells in the file.
    notes : tuple of str
        What was left out on the way: comments, a column of row numbers.
    """

    source: Source
    frame: Any
    lines: Sequence[int] | None
    options: Options
    separator: str = ","
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(columns_of(self.frame))

    @property
    def target(self) -> str:
        """The name of the target.

        Raises
        ------
        DataFileError
            There is no such column, or none was named, and another column than the last one is called "target".
        """
        names, target = self.names, self.options.target
        if target is not None:
            if target not in names:
                raise self.source.error(f"found no column {target!r} for --target", f"name one of {', '.join(names)}")
            return target
        named = [name for name in names if name.lower() in TARGETS]
        if named and names[-1] not in named:
            raise self.source.error(
                f"found {names[-1]!r} as the last column, which is the target by default, beside a column {named[0]!r}",
                f"name the target: --target {named[0]}, or --target {names[-1]}",
            )
        return names[-1]

    def learn(self, *, rows: NDArray | None = None, raw: bool = False) -> TableEncoder:
        """Learn of (some rows of) the table how its columns become features; for errors see `features`."""
        options = self.options
        target = self.target
        with_target = self if rows is None else self.take(rows)
        with with_target.place():
            encoder = TableEncoder.learn(
                with_target.frame,
                target=target,
                raw=raw,
                na=options.na,
                keep=options.keep,
                decimal=options.decimal,
                separator=self.separator,
            )
        self._check_kept(encoder)
        return replace(encoder, separator=options.separator)

    def features(self, encoder: TableEncoder) -> Any:
        """Return the features of the table as a data frame.

        Raises
        ------
        DataFileError
            A column is missing or has a cell that it cannot have; there is no feature, or no room for all.
        """
        if not encoder.feature_names:
            raise self.source.error("found no column that can be a feature", "give columns of numbers or of categories")
        shape = len(self.frame), len(encoder.feature_names)
        check_room(self.source, shape, np.dtype(np.float64), "leave out nominal columns that have many categories")
        with self.place():
            return encoder.transform(self.frame)

    def labels(self) -> NDArray:
        """Return the target.

        Raises
        ------
        DataFileError
            A label is missing.
        """
        return self.labels_of(self.target)

    def labels_of(self, target: str) -> NDArray:
        """Return the column of that name as labels; see `labels`."""
        with self.place():
            cells = read_cells(columns_of(self.frame)[target], self.options.na)
        for row in np.flatnonzero(cells.missing)[:1]:
            raise self.source.error(
                f"found no target in {self.where(int(row))}", f"fill in {target!r}, or drop the line"
            )
        if cells.kind == "f":
            return cells.values
        labels = cells.labels().astype(str)
        distinct = set(labels.tolist())
        mark = self.options.decimal or choose_decimal_mark([distinct], self.separator)
        # a few of them are classes, whatever they are called
        numerals = recognise_numerals(distinct, mark) if len(distinct) > MOST_CATEGORIES else None
        return labels if numerals is None or numerals == Numerals() else numerals.parse(labels.tolist())

    def take(self, rows: NDArray) -> RawTable:
        """Return some of the rows."""
        lines = None if self.lines is None else [self.lines[row] for row in rows.tolist()]
        return replace(self, frame=self.frame.iloc[rows], lines=lines)

    def where(self, row: int) -> str:
        """Say where a row is in the file."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def place(self) -> _Place:
        """Make errors about cells ones about this file."""
        return _Place(self)

    def _check_kept(self, encoder: TableEncoder) -> None:
        for name in self.options.keep:
            if name not in {column.name for column in encoder.columns}:
                raise self.source.error(f"found no column {name!r} for --keep", "name a column that is there")


class _Place:
    def __init__(self, table: RawTable) -> None:
        self.table = table

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        source = self.table.source
        if isinstance(error, OddCell):
            found = f"found {error.odd} in {self.table.where(error.row)}, in {error.column}"
            raise source.error(found, error.remedy) from None
        if isinstance(error, InvalidInput) and not isinstance(error, DataFileError):
            raise source.error(error.found, error.remedy) from None


def without(table: RawTable, dropped: Collection[str]) -> RawTable:
    """Return the table without columns that are named.

    Raises
    ------
    DataFileError
        There are no such columns.
    """
    names = table.names
    for name in dropped:
        if name not in names:
            raise table.source.error(f"found no column {name!r} for --drop", f"name some of {', '.join(names)}")
    kept = [key for key in table.frame.columns if str(key) not in dropped]
    notes = [f"{name}: left out, as asked" for name in dropped]
    return replace(table, frame=table.frame[kept], notes=(*table.notes, *notes))


def named_columns(names: Sequence[str]) -> Iterator[str]:
    """Names, those of columns without one by their place."""
    for j, name in enumerate(names):
        yield name or f"Unnamed: {j}"
