"""The shared part of commands: options, the data that they name, files that they write, and warnings of a fit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cvxens.errors import InvalidInput, refusing, writing

if TYPE_CHECKING:
    from rich.progress import Progress

    from cvxens.datasets import Dataset

TABLE_OPTIONS = (
    click.option("--target", metavar="NAME", help="The column to predict; the last one by default."),
    click.option("--drop", metavar="NAME", multiple=True, help="A column to leave out; several are fine."),
    click.option(
        "--keep",
        metavar="NAME",
        multiple=True,
        help="A column not to leave out though it looks like dates or identifiers; several are fine.",
    ),
    click.option("--sep", metavar="CHAR", help="What separates cells: one character, tab or space."),
    click.option("--decimal", type=click.Choice([".", ","]), help="The decimal mark; found out by default."),
    click.option("--na", metavar="TEXT", multiple=True, help="What stands for a missing value; several are fine."),
    click.option("--encoding", metavar="NAME", help="That of text which is not in UTF-8, such as latin-1."),
)


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options on how a table is read."""
    for option in reversed(TABLE_OPTIONS):
        command = option(command)
    return command


def out_option(what: str, *names: str, required: bool = False) -> Callable[..., Any]:
    """Return the option of a file that something is written to, whose place is checked before the work."""

    def check(_context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        from cvxens.storage import check_place

        return None if path is None else check_place(option.opts[0], path)

    path = click.Path(path_type=Path)
    return click.option(*(names or ["--out"]), metavar="FILE", required=required, type=path, help=what, callback=check)


def json_option(what: str) -> Callable[..., Any]:
    """Return the option of a file that `what` is written to as JSON."""
    return out_option(f"Write {what} to FILE as JSON.", "--json", "json_file")


def read_dataset(data: str | None, *, test: str | None = None, **options: Any) -> Dataset:
    """Return the data set of a file, or of a name; scikit-learn's breast-cancer data for None.

    A file may have another one as its test part; the options are those of `load_file` on tables.
    """
    from cvxens import datasets

    if data is not None and (os.path.exists(data) or data != Path(data).stem):
        return datasets.load_file(data, test=test, **options)
    asked = next((f"--{name}" for name, value in {"test": test, **options}.items() if value), None)
    if asked is not None:
        found = f"found for {'no file' if data is None else f'the data set of the name {data!r}'}"
        raise InvalidInput(asked, found, "name a file, or leave it out")
    return datasets.breast_cancer() if data is None else datasets.load(data)


def write(option: str, path: Path | None, text: str) -> None:
    """Write to the file, if there is one."""
    if path is not None:
        with writing(option, path):
            path.write_text(text, encoding="utf-8")


def write_json(path: Path | None, document: object) -> None:
    """Write what the option --json asks for, if it does."""
    import json

    write("--json", path, json.dumps(document, indent=2) + "\n")


def progress_bar() -> Progress:
    """Return a bar on standard error, which shows itself where that is a terminal."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    return progress.Progress(
        progress.TextColumn("{task.description:<28}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


@contextmanager
def printing_warnings(argument: str) -> Iterator[list[str]]:
    """Print warnings as lines on standard error, and collect them; make errors that scikit-learn raises ours."""
    messages: list[str] = []
    found = "found what the model cannot use"
    with warnings.catch_warnings(record=True) as told, refusing(argument, found, "change it", (TypeError, ValueError)):
        warnings.simplefilter("always")
        try:
            yield messages
        finally:
            messages += [str(warning.message) for warning in told]
            for message in messages:
                click.echo(f"warning: {message}", err=True)
