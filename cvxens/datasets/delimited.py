"""Tables of delimited text with a header, the target in the last column."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from cvxens.datasets.encoding import Column, Encoder, Learnt, encoder, restored
from cvxens.datasets.labels import MISSING, NUMBER
from cvxens.datasets.memory import check_room
from cvxens.datasets.record import Dataset
from cvxens.datasets.source import Source
from cvxens.memory import available
from cvxens.types import Array

DELIMITERS = ",;\t"

BYTES_A_CELL = 128
"""Memory that a cell takes at the most while it is parsed: a string, places in three lists, and a share of its line."""


@dataclass(frozen=True)
class Table:
    """A header and the columns under it, the last one holding the target."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]


def is_delimited(content: bytes) -> bool:
    """Tell whether `content` may be text: it holds no NUL byte."""
    return b"\0" not in content


def read_delimited(sources: Sequence[Source]) -> Dataset:
    """Read a training table and perhaps a test table that is encoded like it.

    Columns of numbers are features as they are; any other column becomes one 0/1 feature per category,
    named ``column=category``. See `cvxens.datasets.encoding.encoder` for missing values and identifiers.

    Raises
    ------
    DataFileError
        If there is no header or nothing below it, rows differ in length, or a target is missing.
    """
    tables = [_parse(source) for source in sources]
    for source, table in zip(sources, tables, strict=True):
        if table.names != tables[0].names:
            raise source.error(f"found another header than in {sources[0].path}", "give both parts the same columns")
    encoders = [encoder(column) for column in tables[0].columns[:-1]]
    names = tuple(name for one in encoders for name in one.feature_names)
    X, *X_test = [_features(source, table, encoders) for source, table in zip(sources, tables, strict=True)]
    y, *y_test = map(_targets, tables)
    return Dataset(
        X=X,
        y=y,
        feature_names=names,
        name=sources[0].stem,
        X_test=X_test[0] if X_test else None,
        y_test=y_test[0] if y_test else None,
        notes=tuple(one.note for one in encoders if one.note),
        columns={name: one.learnt for name, one in zip(tables[0].names, encoders, strict=False)},
    )


def read_samples(source: Source, columns: Mapping[str, Learnt]) -> tuple[Array, NDArray | None]:
    """Read a table whose columns become features as they did in another one, and its target if it has one.

    Columns are found by their names. One more, the last, is the target.

    Raises
    ------
    DataFileError
        A column is missing, or there are others.
    """
    table = _parse(source, 1)
    found = dict(zip(table.names, table.columns, strict=True))
    if absent := [name for name in columns if name not in found]:
        raise source.error(f"found no column {absent[0]!r}", f"give the columns {', '.join(columns)}")
    others = [name for name in table.names if name not in columns]
    if others not in ([], [table.names[-1]]):
        raise source.error(f"found the column {others[0]!r}, which is no feature", "leave it out")
    parts = [restored(name, learnt).encode(found[name]) for name, learnt in columns.items()]
    return np.hstack(parts), np.array(table.columns[-1].cells) if others else None


def _features(source: Source, table: Table, encoders: Sequence[Encoder]) -> Array:
    shape = len(table.columns[-1].cells), sum(len(one.feature_names) for one in encoders)
    if not shape[1]:
        raise source.error("found no column that can be a feature", "give columns of numbers or of categories")
    check_room(source, shape, np.dtype(np.float64), "leave out nominal columns that have many categories")
    return np.hstack([one.encode(column) for one, column in zip(encoders, table.columns[:-1], strict=True)])


def _targets(table: Table) -> NDArray:
    target = table.columns[-1]
    for line, cell in zip(target.lines, target.cells, strict=True):
        if cell in MISSING:
            raise target.source.error(f"found no target in line {line}", "fill in the last column, or drop the line")
    return np.array(target.cells)


def _parse(source: Source, least: int = 2) -> Table:
    lines, rows = zip(*(_rows(source) or [(1, [])]), strict=True)
    header = tuple(rows[0])
    _check_header(source, header, least)
    if len(rows) == 1:
        raise source.error("found a header only", "give at least two samples below it")
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(header):
            raise source.error(
                f"found {len(row)} cells in line {line} under a header of {len(header)}",
                "give every line one cell per name",
            )
    columns = zip(header, zip(*rows[1:], strict=True), strict=True)
    return Table(header, tuple(Column(source, name, cells, lines[1:]) for name, cells in columns))


def _rows(source: Source) -> list[tuple[int, list[str]]]:
    """Return the rows that are not blank, each with the number of the line that it ends on."""
    text = source.text()
    first = next(filter(str.strip, StringIO(text, newline="")), "")
    delimiter = max(DELIMITERS, key=first.count)
    cells = text.count(delimiter) + text.count("\n") + text.count("\r") + 1
    if cells * BYTES_A_CELL > (left := available()):
        raise source.error(
            f"found some {cells:,} cells, which take {cells * BYTES_A_CELL / 2**20:,.0f} MiB to parse where "
            f"{left / 2**20:,.0f} MiB are left",
            "give a part of the rows, or an npz archive of numbers",
        )
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise source.error(f"found malformed text in line {reader.line_num} ({error})", "correct that line") from None
    return [(line, row) for line, row in numbered if row not in ([], [""])]


def _check_header(source: Source, header: tuple[str, ...], least: int) -> None:
    if len(header) < least:
        raise source.error("found one column only", "separate columns by commas, the target last")
    if any(NUMBER.fullmatch(name) for name in header):
        raise source.error("found numbers in the first line, so no header", "put a line of column names first")
    if len(set(header)) < len(header) or "" in header:
        raise source.error("found a header with empty or repeated names", "give each column a name of its own")
