"""Run one benchmark: print its rows as a table, and write them as JSON if asked."""

from __future__ import annotations

import ast
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

from benchmarks import THREADS, name_columns
from benchmarks._beside import run_beside
from cvxens.limits import limit_threads

NAMES = sorted(m.name for m in iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_"))

WIDTH = 150
"""Columns of a table where the terminal has fewer, or where there is none."""


def as_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Lay out rows; what a row does not have is left empty."""
    columns = name_columns(rows)
    table = Table(*columns, title=title)
    for row in rows:
        values = [row.get(column, "") for column in columns]
        table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in values))
    return table


def read_settings(_context: Any, _option: Any, given: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE with values as Python writes them."""
    try:
        return {name: ast.literal_eval(value) for name, _, value in (one.partition("=") for one in given)}
    except (SyntaxError, ValueError) as error:
        raise click.BadParameter(f"give NAME=VALUE, such as N=1000 ({error})") from None


@click.command()
@click.argument("name", type=click.Choice(NAMES))
@click.option("--json", "file", type=click.Path(dir_okay=False, writable=True), help="Write the rows to FILE.")
@click.option("--set", "settings", multiple=True, callback=read_settings, help="NAME=VALUE for a constant of the file.")
@click.option(
    "--beside", "tree", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another checkout."
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Runs of each side, in turn.")
def main(name: str, file: str | None, settings: dict[str, Any], tree: Path | None, rounds: int) -> None:
    """Run the benchmark NAME on a fixed number of threads; with --beside, also that of another checkout, in turn."""
    if tree is not None:
        rows = run_beside(name, tree, THREADS, settings, rounds)
    else:
        module = import_module(f"benchmarks.{name}")
        for key, value in settings.items():
            if not hasattr(module, key):
                raise click.BadParameter(f"{name} has no constant {key}")
            setattr(module, key, value)
        with limit_threads(THREADS), threadpool_limits(THREADS):
            rows = module.run()
    Console(width=max(Console().width, WIDTH)).print(as_table(name, rows))
    if file:
        Path(file).write_text(json.dumps(rows, indent=1) + "\n")


main()
