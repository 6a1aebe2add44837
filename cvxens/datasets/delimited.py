"""Tables of delimited text with a header."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from io import StringIO

import numpy as np

from cvxens.datasets.source import Source
from cvxens.datasets.table import Options, RawTable, named_columns
from cvxens.memory import available
from cvxens.tables import NUMBER

DELIMITERS = ",;\t|"

BYTES_A_CELL = 128
"""Memory that a cell takes at the most while it is parsed: a string, places in three lists, and a share of its line."""

Line = tuple[int, list[str]]
"""The number of a line, and its cells."""


def is_delimited(content: bytes) -> bool:
    """Tell whether `content` may be text: it holds no NUL byte."""
    return b"\0" not in content


def read_delimited(source: Source, options: Options, known: Collection[str] = ()) -> RawTable:
    """Read a table: a header, one line per sample.

    Blank lines are passed over, and so are lines that begin with ``#``, but for a header in that guise. A first column
    without a name whose cells are whole numbers, all different, holds the numbers of the rows, and is left out.

    Parameters
    ----------
    source : Source
        The file.
    options : Options
        How it is to be read.
    known : collection of str
        Names of columns that the table is known to have.

    Raises
    ------
    DataFileError
        There is no header or nothing below it, rows differ in length, or names are missing or repeated.
    """
    separator, numbered = _rows(source, options)
    numbered, comments = _without_comments(numbered)
    lines, rows = zip(*(numbered or [(1, [])]), strict=True)
    rows = tuple(rows)
    header, named = rows[0], {*known, *([options.target] if options.target is not None else [])}
    if len(header) < 2 and not set(header) & named:
        raise source.error("found one column only", "separate columns by commas, or name what separates them by --sep")
    if not _is_header(rows, named):
        raise source.error(
            "found numbers in the first line, so no header",
            "put a line of column names first, or, if it is one, name the target in it by --target",
        )
    if len(rows) == 1:
        raise source.error("found a header only", "give at least two samples below it")
    if len(rows) > 2 and all(len(row) == len(header) + 1 for row in rows[1:]):
        # R writes the names of rows without a name for their column
        header = ["", *header]
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise source.error(
                f"found {len(row)} cells in line {line} under a header of {len(header)}",
                "give every line one cell per name",
            )
    columns = list(zip(*rows[1:], strict=True))
    index = header[0] == "" and _counts_rows(columns[0])
    names = list(named_columns(header[:1])) * index + list(header[index:])
    if len(set(names)) < len(names) or "" in names:
        raise source.error("found a header with empty or repeated names", "give each column a name of its own")
    notes = [f"{comments} line{'s' * (comments > 1)} beginning with # left out as comments"] * bool(comments)
    notes += ["the first column, without a name: left out, it counts the rows"] * index
    return RawTable(source, _frame(names[index:], columns[index:]), lines[1:], options, separator, tuple(notes))


def _frame(names: Sequence[str], columns: Sequence[Sequence[str]]) -> object:
    import pandas as pd

    return pd.DataFrame({name: np.array(cells, dtype=object) for name, cells in zip(names, columns, strict=True)})


def _rows(source: Source, options: Options) -> tuple[str, list[Line]]:
    """Return the separator, and the rows that are not blank, each with the number of the line that it ends on."""
    text = source.text()
    first = next((line for line in StringIO(text) if line.strip() and not line.lstrip().startswith("#")), "")
    asked = options.separator
    separator = asked if asked and (asked in first or not first) else max(DELIMITERS, key=first.count)
    if asked and separator != asked:
        raise source.error(f"found no {asked!r} in the first line", "name what separates the cells by --sep")
    _check_cells(source, text.count(separator) + text.count("\n") + text.count("\r") + 1)
    reader = csv.reader(_lines(text), delimiter=separator, strict=True, skipinitialspace=True)
    try:
        numbered = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise source.error(f"found malformed text in line {reader.line_num} ({error})", "correct that line") from None
    return separator, [(line, row) for line, row in numbered if row not in ([], [""])]


def _check_cells(source: Source, n_cells: int) -> None:
    if n_cells * BYTES_A_CELL > (left := available()):
        raise source.error(
            f"found some {n_cells:,} cells, which take {n_cells * BYTES_A_CELL / 2**20:,.0f} MiB to parse where "
            f"{left / 2**20:,.0f} MiB are left",
            "give a part of the rows, or an npz archive of numbers",
        )


def _lines(text: str) -> Iterator[str]:
    """Yield lines, comments without quotation marks: those in them enclose nothing."""
    enclosed = False
    for line in StringIO(text, newline=""):
        if not enclosed and line.lstrip().startswith("#"):
            yield line.replace('"', "")
        else:
            enclosed ^= bool(line.count('"') % 2)
            yield line


def _without_comments(numbered: Sequence[Line]) -> tuple[list[Line], int]:
    """Return rows without those that begin with #, and the number of these; a header that does is uncovered."""
    marked = [row[0].startswith("#") for _, row in numbered]
    if not any(marked):
        return list(numbered), 0
    rows = [line for line, comment in zip(numbered, marked, strict=True) if not comment]
    first = marked.index(False) if rows else len(marked)
    above = numbered[first - 1] if first else None
    if above and rows and len(above[1]) == len(rows[0][1]) > 1 and not _is_header([row for _, row in rows], ()):
        uncovered = [above[1][0].lstrip("#").strip(), *above[1][1:]]
        return [(above[0], uncovered), *rows], sum(marked) - 1
    if len(rows) < 2:
        # a column whose texts all begin with #
        return list(numbered), 0
    return rows, sum(marked)


def _is_header(rows: Sequence[Sequence[str]], named: Collection[str]) -> bool:
    """Tell whether the first row is one of names.

    It is if a column that is there by name is in it, or no number is. Whole numbers are names where they count from 0,
    as pandas does, and what is beside them is not found again in the column below.
    """
    header = rows[0]
    if set(header) & set(named):
        return True
    numbers = [j for j, name in enumerate(header) if NUMBER.fullmatch(name)]
    if not numbers:
        return True
    counted = [header[j] for j in numbers] == [str(k) for k in range(len(numbers))]
    words = [j for j in range(len(header)) if j not in numbers and header[j]]
    again = any(header[j] == row[j] for j in words for row in rows[1:] if j < len(row))
    return counted and len(numbers) > 1 and not again


def _counts_rows(cells: Sequence[str]) -> bool:
    """Tell whether cells are whole numbers, all different."""
    return len(set(cells)) == len(cells) and all(cell.isdecimal() for cell in cells)
