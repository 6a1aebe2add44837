"""What `cvxens list` prints: kept in a file, as the rooms themselves load every numerical library before they say it.

`python docs/names.py` in a checkout writes the file anew, from the docstrings and sources of what the rooms export.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

FILE = Path(__file__).with_name("names.tsv")
Entry: TypeAlias = tuple[str, str, str]
"""A name, what it is, and its source."""


def make_console() -> Console:
    """Return standard output, at least as wide as the tables: a narrow terminal wraps lines, and loses nothing."""
    return Console(width=max(Console().width, 128))


def print_names(groups: Mapping[str, Sequence[Entry]]) -> None:
    """Print one table per group, under its title."""
    out = make_console()
    for title, entries in groups.items():
        columns = [Column(heading, overflow="fold") for heading in ("name", "what it is", "source")]
        table = Table(*columns, title=title, title_justify="left", box=SIMPLE_HEAD, expand=True)
        for name, what, source in entries:
            table.add_row(Text(name, "bold"), Text(what), Text(source, "dim"))
        out.print(table)


def read_names() -> dict[str, list[Entry]]:
    """Read every group from the file."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t"))[1:]
    return {
        title: [(name, what, source) for _, name, what, source in group]
        for title, group in groupby(rows, key=lambda row: row[0])
    }
