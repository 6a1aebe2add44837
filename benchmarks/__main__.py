"""Run one benchmark: print its rows as a table, and write them as JSON if asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks import THREADS
from cvxens.threads import limit_threads

NAMES = sorted(m.name for m in iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_"))

WIDTH = 150
"""Columns of a table where the terminal has fewer, or where there is none."""


def as_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Lay out rows that share their keys."""
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
    return table


@click.command()
@click.argument("name", type=click.Choice(NAMES))
@click.option("--json", "file", type=click.Path(dir_okay=False, writable=True), help="Write the rows to FILE.")
def main(name: str, file: str | None) -> None:
    """Run the benchmark NAME on a fixed number of threads."""
    with limit_threads(THREADS), threadpool_limits(THREADS):
        rows = import_module(f"benchmarks.{name}").run()
    Console(width=max(Console().width, WIDTH)).print(as_table(name, rows))
    if file:
        Path(file).write_text(json.dumps(rows, indent=1) + "\n")


main()
