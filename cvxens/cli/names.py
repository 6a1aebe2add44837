"""What `cvxens list` prints: kept in a file, as the rooms themselves load every numerical library before they say it.

``python -m cvxens.cli.names`` writes the file anew, from the docstrings and sources of what the rooms export. The
sources of functions, which have no attributes, stand in the file itself, and stay.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from inspect import getdoc, isfunction
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

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


def write_names() -> None:
    """Write every group to the file, a line for each name."""
    rows = [(title, *entry) for title, entries in describe_rooms().items() for entry in entries]
    with FILE.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
        writer.writerow(("group", "name", "what it is", "source"))
        writer.writerows(rows)


def describe_rooms() -> dict[str, list[Entry]]:
    """Return every group as the rooms say it themselves."""
    from cvxens import estimators, kernels, solvers
    from cvxens.colgen import masters, oracles
    from cvxens.problems import FORMULATIONS
    from cvxens.solvers import additive

    kept = {name: source for entries in read_names().values() for name, _, source in entries}
    return {
        "Estimators (cvxens)": _describe(estimators),
        "Formulations (cvxens.problems)": [(each.__name__, each.equation, each.source) for each in FORMULATIONS],
        "Kernels (cvxens.kernels)": _describe(kernels),
        "Oracles (cvxens.colgen.oracles)": _describe(oracles),
        "Masters (cvxens.colgen.masters)": _describe(masters),
        "Solvers (cvxens.solvers)": _describe(solvers, kept),
        "Solvers (cvxens.solvers.additive)": _describe(additive, kept),
    }


def _describe(room: Any, kept: Mapping[str, str] | None = None) -> list[Entry]:
    """Return name, first sentence and source of the things of a room that have one, or of functions, with sources."""
    things = {name: vars(room)[name] for name in room.__all__}
    if kept is None:
        sources = {name: thing.source for name, thing in things.items() if hasattr(thing, "source")}
    else:
        sources = {name: kept.get(name, "") for name, thing in things.items() if isfunction(thing)}
    summaries = {name: str(getdoc(things[name])).partition("\n\n")[0] for name in sources}
    return [(name, " ".join(summaries[name].split()), source) for name, source in sources.items()]


if __name__ == "__main__":
    write_names()
