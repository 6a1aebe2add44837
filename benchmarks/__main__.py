"""Run benchmarks: every row is shown as it comes, then a table of them, and how they compare with the last run."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks import THREADS, name_columns
from benchmarks._beside import run_beside
from benchmarks._record import HOME, Record, measure, set_constants

NAMES = sorted(m.name for m in iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_"))

SHORT = ("stump_search", "lpboost_masters", "additive_svm", "additive_svm_scaling", "svm_path")
"""What runs where no name is given, in about five minutes, with the constants of `SHORT` of each file."""

WIDTH = 150
"""Columns of a table where the terminal has fewer, or where there is none."""


def as_table(title: str, rows: Sequence[Any]) -> Table:
    """Lay out rows; what a row does not have is left empty."""
    columns = name_columns(rows)
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*(_write(row.get(column, "")) for column in columns))
    return table


def _write(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def read_settings(_context: Any, _option: Any, given: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE with values as Python writes them."""
    try:
        return {name: ast.literal_eval(value) for name, _, value in (one.partition("=") for one in given)}
    except (SyntaxError, ValueError) as error:
        raise click.BadParameter(f"give NAME=VALUE, such as N=1000 ({error})") from None


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, type=click.Choice(NAMES))
@click.option("--json", "file", type=click.Path(dir_okay=False, writable=True), help="Write what was measured to FILE.")
@click.option("--set", "settings", multiple=True, callback=read_settings, help="NAME=VALUE for a constant of the file.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="End each benchmark after so many seconds.")
@click.option(
    "--beside", "tree", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Another checkout."
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Runs of each side, in turn.")
def main(
    names: Sequence[str],
    file: str | None,
    settings: dict[str, Any],
    seconds: float | None,
    tree: Path | None,
    rounds: int,
) -> None:
    """Run benchmarks on a fixed number of threads, and compare each with its last run; --beside, with another checkout.

    Without a name a short set runs, of about five minutes. What was measured to the end is kept in .benchmarks, with
    the machine and the commit; a run that ended early, by --seconds or Ctrl-C, is shown and not kept.
    """
    console, errors = Console(), Console(stderr=True, soft_wrap=True)
    console.width = max(console.width, WIDTH)
    written: list[Any] = []
    for name in names or SHORT:
        if tree is not None:
            table = run_beside(name, tree, THREADS, settings, rounds)
            written.append({"name": name, "beside": str(tree.name), "rows": table})
            console.print(as_table(f"{name}, beside another checkout", table))
            continue
        module = import_module(f"benchmarks.{name}")
        chosen = settings if names else {**module.SHORT, **settings}
        try:
            set_constants(module, chosen)
        except AttributeError as error:
            raise click.BadParameter(str(error)) from None
        record = measure(
            module,
            chosen,
            seconds,
            lambda row: errors.print(
                "; ".join(f"{key} {_write(value)}" for key, value in row.items()), highlight=False
            ),
        )
        written.append(record.to_dict())
        console.print(as_table(f"{name} ({record.machine}, commit {record.commit})", record.rows))
        if record.ended:
            errors.print(f"{name} ended early, {record.ended}: not kept")
            if record.ended == "interrupted":
                break
            continue
        last = Record.read(HOME / f"{record.key}.json")
        record.save(HOME / f"{record.key}.json")
        if last is not None:
            compared, words = record.compare(last)
            console.print(as_table(words, compared) if compared else words)
    if file:
        Path(file).write_text(json.dumps(written, indent=1) + "\n")


main()
