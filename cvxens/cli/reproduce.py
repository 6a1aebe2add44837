"""`cvxens reproduce`: a table of a paper, our figures beside the published ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.progress import Progress

    from cvxens.experiments import Cell, Trial


@click.command()
@click.argument("paper", required=False)
@click.argument("table", required=False)
@click.option("--splits", default=20, show_default=True, help="Random splits of every data set, 2 or more.")
@click.option("--data", metavar="NAME", multiple=True, help="A data set; several are fine, all by default.")
@click.option("--method", "methods", metavar="NAME", multiple=True, help="A method; several are fine, all by default.")
@click.option("--random-state", default=0, show_default=True, help="Seed of all that is drawn.")
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write the figures to FILE as JSON."
)
def reproduce(
    *,
    paper: str | None,
    table: str | None,
    splits: int,
    data: Sequence[str],
    methods: Sequence[str],
    random_state: int,
    json_file: Path | None,
) -> int:
    """Measure TABLE of PAPER anew, and say how far the published figures are.

    Without TABLE, or both, it says what there is. Data sets are looked up in the directory CVXENS_DATA; those that are
    generated need none. A figure that differs from the published one is a result, and no error. Progress is shown on
    standard error: a bar if that is a terminal, else a line for every figure.

    Exit status 130 where Ctrl-C ended it early; what was done by then has been printed, and written to FILE.
    """
    from cvxens.cli.figures import print_cells, print_experiments
    from cvxens.cli.files import write
    from cvxens.cli.interrupts import interrupts
    from cvxens.experiments import EXPERIMENTS, cells, experiment_of, of_paper

    if paper is None or table is None:
        print_experiments(EXPERIMENTS if paper is None else of_paper(paper))
        return 0
    experiment = experiment_of(paper, table)
    rows, columns = set(data) or set(experiment.data), set(methods) or set(experiment.methods)
    bar = _bar()
    task = bar.add_task("first split", total=len(rows) * len(columns) * splits)
    done: list[Cell] = []
    with interrupts() as check:

        def watch(trial: Trial) -> None:
            check()
            bar.update(task, advance=1, description=f"{trial.data}: {trial.method}")

        measured = cells(experiment, data=rows, methods=columns, splits=splits, random_state=random_state, watch=watch)
        write("--json", json_file, "")
        try:
            with bar:
                _collect(measured, done, told=bar.disable)
        finally:
            print_cells(experiment, done)
            report = {"experiment": experiment.name, "random_state": random_state, "measure": experiment.measure}
            report |= {"protocol": experiment.protocol, "cells": [cell.to_dict() for cell in done]}
            write("--json", json_file, json.dumps(report, indent=2) + "\n")
    return 0


def _collect(measured: Iterator[Cell], done: list[Cell], told: bool) -> None:
    """Append cells as they are done, and tell of each on standard error if asked."""
    for cell in measured:
        done.append(cell)
        if told:
            click.echo(f"{cell.data}: {cell.method}: {cell.mean:.2f} ± {cell.standard_error:.2f}", err=True)


def _bar() -> Progress:
    """A bar on standard error, which shows itself where that is a terminal."""
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
