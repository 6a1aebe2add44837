"""Options on how a table is read, shared by all commands that read one for its columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

OPTIONS = (
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
)


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options on how a table is read."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
