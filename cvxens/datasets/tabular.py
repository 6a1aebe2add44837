"""Tables in files: named columns of delimited text or Parquet, one of them the target.

pandas holds a table as it stands in its file; `cvxens.tables` says what its columns are. Text is split by Python's
`csv`, as `pandas.read_csv` mends in silence what has to be refused (short lines, repeated names), and does not tell the
line of a row.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.datasets.files import MEBIBYTE, Source
from cvxens.errors import DataFileError, InvalidInput
from cvxens.limits import available_memory
from cvxens.storage import inflation_limit
from cvxens.tables import (
    MOST_CATEGORIES,
    NUMBER,
    Numerals,
    OddCell,
    TableEncoder,
    choose_decimal_mark,
    columns_of,
    read_cells,
    recognise_numerals,
    spell,
)

TARGETS = frozenset({"target", "class", "label", "y"})
"""Names that say that a column is the target, in lower case."""

DELIMITERS = ",;\t|"

BYTES_A_CELL = 128
"""Memory that a cell takes at the most while it is parsed: a string, places in three lists, and a share of its line."""

Row = tuple[int, list[str]]
"""The number of the line that a row ends on, and its cells."""


@dataclass(frozen=True)
class Options:
    """Requests on how a table is read; `load_file` says what the fields are."""

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


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table as it stands in its file: a data frame of pandas, whose columns are of text if the file is.

    `lines` has the line of a text file that each row is from, `options` how it was asked to be read, `separator` what
    separates its cells, and `notes` what was left out on the way: comments, a column of row numbers.
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
        """The name of the target: that asked for, else the last, unless another one is called "target"."""
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

    def learn(self, *, raw: bool = False) -> TableEncoder:
        """Learn how the columns become features; for errors see `features`."""
        asked, target = self.options, self.target
        with self._errors():
            encoder = TableEncoder.learn(
                self.frame,
                target=target,
                raw=raw,
                na=asked.na,
                keep=asked.keep,
                decimal=asked.decimal,
                separator=self.separator,
            )
        for name in asked.keep:
            if name not in {column.name for column in encoder.columns}:
                raise self.source.error(f"found no column {name!r} for --keep", "name a column that is there")
        return replace(encoder, separator=asked.separator)

    def features(self, encoder: TableEncoder) -> Any:
        """Return the features of the table as a data frame.

        `DataFileError` if a column is missing or has a cell that it cannot have, or if there is no feature, or no room.
        """
        if not encoder.feature_names:
            raise self.source.error("found no column that can be a feature", "give columns of numbers or of categories")
        shape = len(self.frame), len(encoder.feature_names)
        self.source.check_dense(shape, np.dtype(np.float64), "leave out nominal columns that have many categories")
        with self._errors():
            return encoder.transform(self.frame)

    def labels(self, target: str) -> NDArray:
        """Return the column of that name as labels; `DataFileError` if one is missing."""
        with self._errors():
            cells = read_cells(columns_of(self.frame)[target], self.options.na)
        for row in np.flatnonzero(cells.isna())[:1].tolist():
            raise self.source.error(f"found no target in {self._place(row)}", f"fill in {target!r}, or drop the line")
        if cells.dtype.kind == "f":
            return np.asarray(cells)
        labels = spell(cells).astype(str)
        distinct = set(labels.tolist())
        mark = self.options.decimal or choose_decimal_mark([distinct], self.separator)
        # a few of them are classes, whatever they are called
        numerals = recognise_numerals(distinct, mark) if len(distinct) > MOST_CATEGORIES else None
        return labels if numerals is None or numerals == Numerals() else numerals.parse(labels.tolist())

    def take(self, rows: NDArray) -> FileTable:
        """Return the table of some of the rows."""
        lines = None if self.lines is None else [self.lines[row] for row in rows.tolist()]
        return replace(self, frame=self.frame.iloc[rows], lines=lines)

    def drop(self, names: Collection[str]) -> FileTable:
        """Return the table without these columns; `DataFileError` if one is not there."""
        for name in names:
            if name not in self.names:
                found = f"found no column {name!r} for --drop"
                raise self.source.error(found, f"name some of {', '.join(self.names)}")
        kept = [key for key in self.frame.columns if str(key) not in names]
        notes = [f"{name}: left out, as asked" for name in names]
        return replace(self, frame=self.frame[kept], notes=(*self.notes, *notes))

    def _place(self, row: int) -> str:
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Make errors about cells and columns into errors about their places in this file."""
        try:
            yield
        except DataFileError:
            raise
        except OddCell as error:
            found = f"found {error.odd} in {self._place(error.row)}, in {error.column}"
            raise self.source.error(found, error.remedy) from None
        except InvalidInput as error:
            raise self.source.error(error.found, error.remedy) from None


def read_table(source: Source, options: Options, known: Collection[str] = ()) -> FileTable:
    """Read a table as it stands in its file, without the columns that are to be dropped; see `read_delimited`."""
    read = read_parquet(source, options) if source.format == "parquet" else read_delimited(source, options, known)
    return read.drop(options.drop)


def read_parquet(source: Source, options: Options) -> FileTable:
    """Read a table, numbers exact; an index that pandas stored is no column.

    `DataFileError` if there is no pyarrow, or the file is damaged, too large or has a column of nested values.
    """
    try:
        from pyarrow import ArrowException, parquet, types
    except ImportError:
        raise source.error("found a Parquet file, but no pyarrow to read it", "install cvxens[parquet]") from None
    try:
        file = parquet.ParquetFile(BytesIO(source.content))
        # a value takes eight bytes in memory, however few it takes in the file
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        cells = file.metadata.num_rows * file.metadata.num_columns
        _check_inflated(source, max(8 * cells, sum(group.total_byte_size for group in groups)))
        table = file.read()
        _check_inflated(source, table.nbytes)
        nested = [column.name for column in table.schema if types.is_nested(column.type)]
        if not nested:
            return FileTable(source, table.to_pandas(), None, options)
        why = f"nested values in the column {nested[0]!r}"
    except (ArrowException, OSError) as error:
        why = " ".join(str(error).split())
    found = f"found a Parquet file that cannot be read as a table ({why})"
    raise source.error(found, "save columns of numbers, text or truth values")


def _check_inflated(source: Source, size: int) -> None:
    limit = inflation_limit(source.stored)
    if size > limit:
        raise source.error(
            f"found a Parquet file of {source.stored / MEBIBYTE:,.1f} MiB that takes {size / MEBIBYTE:,.0f} MiB "
            f"or more, where the limit is {limit / MEBIBYTE:,.0f} MiB",
            "give a part of its rows or columns",
        )


def read_delimited(source: Source, options: Options, known: Collection[str] = ()) -> FileTable:
    """Read a table of text: a header, one line per sample.

    Blank lines are passed over, and so are lines that begin with ``#``, but for a header in that guise. A first column
    without a name whose cells are whole numbers, all different, holds the numbers of the rows, and is left out. A row
    with one of the `known` names is a header whatever else is in it. `DataFileError` if there is no header or nothing
    below it, rows differ in length, or names are missing or repeated.
    """
    import pandas as pd

    separator, rows = _split(source, options)
    rows, n_comments = _drop_comments(rows)
    header, cells = (rows[0][1] if rows else []), [row for _, row in rows[1:]]
    known = {*known, *([] if options.target is None else [options.target])}
    if len(header) < 2 and not known.intersection(header):
        raise source.error("found one column only", "separate columns by commas, or name what separates them by --sep")
    if not (known.intersection(header) or _is_header(header, cells)):
        raise source.error(
            "found numbers in the first line, so no header",
            "put a line of column names first, or, if it is one, name the target in it by --target",
        )
    if not cells:
        raise source.error("found a header only", "give at least two samples below it")
    if len(cells) > 1 and all(len(row) == len(header) + 1 for row in cells):
        # R writes the names of rows without a name for their column
        header = ["", *header]
    for line, row in rows[1:]:
        if len(row) != len(header):
            found = f"found {len(row)} cells in line {line} under a header of {len(header)}"
            raise source.error(found, "give every line one cell per name")
    frame = pd.DataFrame(cells, columns=header, dtype=object)
    first = [row[0] for row in cells]
    index = header[0] == "" and len(set(first)) == len(first) and all(cell.isdecimal() for cell in first)
    if index:
        header, frame = header[1:], frame.iloc[:, 1:]
    if len(set(header)) < len(header) or "" in header:
        raise source.error("found a header with empty or repeated names", "give each column a name of its own")
    notes = [f"{n_comments} line{'s' * (n_comments > 1)} beginning with # left out as comments"] * bool(n_comments)
    notes += ["the first column, without a name: left out, it counts the rows"] * index
    return FileTable(source, frame, [line for line, _ in rows[1:]], options, separator, tuple(notes))


def _split(source: Source, options: Options) -> tuple[str, list[Row]]:
    """Return the separator, and the rows that are not blank."""
    text = source.text()
    first = next((line for line in StringIO(text) if line.strip() and not line.lstrip().startswith("#")), "")
    separator = options.separator or max(DELIMITERS, key=first.count)
    if options.separator and first and separator not in first:
        raise source.error(f"found no {separator!r} in the first line", "name what separates the cells by --sep")
    n_cells = text.count(separator) + text.count("\n") + text.count("\r") + 1
    if n_cells * BYTES_A_CELL > (left := available_memory()):
        raise source.error(
            f"found some {n_cells:,} cells, which take {n_cells * BYTES_A_CELL / MEBIBYTE:,.0f} MiB to parse where "
            f"{left / MEBIBYTE:,.0f} MiB are left",
            "give a part of the rows, or an npz archive of numbers",
        )
    reader = csv.reader(_unquote_comments(text), delimiter=separator, strict=True, skipinitialspace=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise source.error(f"found malformed text in line {reader.line_num} ({error})", "correct that line") from None
    return separator, [(line, row) for line, row in rows if row not in ([], [""])]


def _unquote_comments(text: str) -> Iterator[str]:
    """Yield lines, comments without quotation marks: those in them enclose nothing."""
    enclosed = False
    for line in StringIO(text, newline=""):
        if not enclosed and line.lstrip().startswith("#"):
            yield line.replace('"', "")
        else:
            enclosed ^= bool(line.count('"') % 2)
            yield line


def _drop_comments(rows: Sequence[Row]) -> tuple[list[Row], int]:
    """Return rows without those that begin with #, and the number of these; a header that does is uncovered."""
    marked = [row[0].startswith("#") for _, row in rows]
    kept = [row for row, comment in zip(rows, marked, strict=True) if not comment]
    if not any(marked):
        return kept, 0
    first = marked.index(False) if kept else len(marked)
    if first and kept:
        line, above = rows[first - 1]
        header, *cells = (row for _, row in kept)
        if len(above) == len(header) > 1 and not _is_header(header, cells):
            return [(line, [above[0].lstrip("#").strip(), *above[1:]]), *kept], sum(marked) - 1
    # a column whose texts all begin with # is no comment
    return (kept, sum(marked)) if len(kept) > 1 else (list(rows), 0)


def _is_header(header: Sequence[str], cells: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row is one of names: no number is in it.

    Whole numbers are names too where they count from 0, as pandas does, and what is beside them is not found again in
    the column below.
    """
    numbers = [j for j, name in enumerate(header) if NUMBER.fullmatch(name)]
    if not numbers:
        return True
    counted = [header[j] for j in numbers] == [str(k) for k in range(len(numbers))]
    words = [j for j in range(len(header)) if j not in numbers and header[j]]
    again = any(header[j] == row[j] for j in words for row in cells if j < len(row))
    return counted and len(numbers) > 1 and not again
