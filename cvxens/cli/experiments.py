"""Commands on the methods themselves: `crosscheck`, `reproduce` and `list`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import getdoc
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from cvxens.cli.options import json_option, read_dataset, table_options, write, write_json

if TYPE_CHECKING:
    from rich.progress import Progress

    from cvxens.crosscheck import Row
    from cvxens.experiments import Cell, Trial


@click.command()
@click.argument("data", required=False)
@click.option("--formulation", metavar="NAME", help="Check this formulation only; `cvxens list` has the names.")
@table_options
@json_option("the rows")
def crosscheck(*, data: str | None, formulation: str | None, json_file: Path | None, **options: Any) -> int:
    """Solve every formulation on DATA by reference and by its fast path, and certify the answer.

    DATA is a file (CSV with a header and the target last, LIBSVM, or npz; plain or compressed) or the name of a data
    set in the directory CVXENS_DATA. Without it, scikit-learn's breast-cancer data are used. The labels must be of two
    classes.

    Exit status 1 where objectives differ by more than 1e-5, relative, or where a certificate does not hold.
    """
    from cvxens.cli.reports import print_crosscheck
    from cvxens.crosscheck import Sample, named
    from cvxens.crosscheck import crosscheck as check

    chosen = named(formulation)
    dataset = read_dataset(data, **options).as_signs()
    sample = Sample.from_arrays(dataset.X, dataset.y)
    write("--json", json_file)
    rows: list[Row] = []
    try:
        with _progress_bar() as bar:
            task = bar.add_task(chosen[0].__name__, total=len(chosen))
            for row, following in zip(check(sample, chosen), [*chosen[1:], None], strict=True):
                rows.append(row)
                bar.update(task, advance=1, description=following.__name__ if following else "done")
    finally:
        print_crosscheck(rows, dataset.name, sample)
        n_samples, n_features = sample.X.shape
        about = {"name": dataset.name, "n_samples": n_samples, "n_features": n_features, "note": sample.note}
        write_json(json_file, {"data": about, "rows": [row.to_dict() for row in rows]})
    return 0 if all(row.agrees for row in rows) else 1


@click.command()
@click.argument("paper", required=False)
@click.argument("table", required=False)
@click.option("--splits", default=20, show_default=True, help="Random splits of every data set, 2 or more.")
@click.option("--data", metavar="NAME", multiple=True, help="A data set; several are fine, all by default.")
@click.option("--method", "methods", metavar="NAME", multiple=True, help="A method; several are fine, all by default.")
@click.option("--random-state", default=0, show_default=True, help="Seed of all that is drawn.")
@json_option("the figures")
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
    from cvxens.cli.reports import describe_experiments, print_cells, print_names
    from cvxens.experiments import EXPERIMENTS, cells, experiment_of, of_paper

    if paper is None or table is None:
        found = EXPERIMENTS if paper is None else of_paper(paper)
        print_names([("Experiments (cvxens reproduce PAPER TABLE)", describe_experiments(found))])
        return 0
    experiment = experiment_of(paper, table)
    rows, columns = set(data) or set(experiment.data), set(methods) or set(experiment.methods)
    bar = _progress_bar()
    task = bar.add_task("first split", total=len(rows) * len(columns) * splits)
    done: list[Cell] = []
    with _interrupts() as check:

        def watch(trial: Trial) -> None:
            check()
            bar.update(task, advance=1, description=f"{trial.data}: {trial.method}")

        measured = cells(experiment, data=rows, methods=columns, splits=splits, random_state=random_state, watch=watch)
        write("--json", json_file)
        try:
            with bar:
                for cell in measured:
                    done.append(cell)
                    if bar.disable:
                        figure = f"{cell.mean:.2f} ± {cell.standard_error:.2f}"
                        click.echo(f"{cell.data}: {cell.method}: {figure}", err=True)
        finally:
            print_cells(experiment, done)
            report = {"experiment": experiment.name, "random_state": random_state, "measure": experiment.measure}
            report |= {"protocol": experiment.protocol, "cells": [cell.to_dict() for cell in done]}
            write_json(json_file, report)
    return 0


def _progress_bar() -> Progress:
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
def _interrupts() -> Iterator[Callable[[], None]]:
    """Yield a check that raises KeyboardInterrupt after a Ctrl-C, also after one that a fit took as its end."""
    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if callable(before):
            before(number, frame)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    if callable(before):
        signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


@click.command("list")
def list_all() -> int:
    """List estimators, formulations, kernels, oracles, masters, solvers and experiments, with their sources."""
    from cvxens import estimators, kernels, solvers
    from cvxens.cli.reports import describe_experiments, print_names
    from cvxens.colgen import masters, oracles
    from cvxens.experiments import EXPERIMENTS
    from cvxens.problems import FORMULATIONS
    from cvxens.solvers import additive

    print_names(
        [
            ("Estimators (cvxens)", _describe(estimators)),
            ("Formulations (cvxens.problems)", [(p.__name__, p.equation, p.source) for p in FORMULATIONS]),
            ("Kernels (cvxens.kernels)", _describe(kernels)),
            ("Oracles (cvxens.colgen.oracles)", _describe(oracles)),
            ("Masters (cvxens.colgen.masters)", _describe(masters)),
            ("Solvers (cvxens.solvers)", _describe(solvers, solvers.SOLVERS)),
            ("Solvers (cvxens.solvers.additive)", _describe(additive, additive.SOLVERS)),
            ("Experiments (cvxens reproduce)", describe_experiments(EXPERIMENTS)),
        ]
    )
    return 0


def _describe(room: Any, sources: Any = None) -> list[tuple[str, str, str]]:
    """Return name, first sentence of the docstring and source of the things of a room that have one."""
    if sources is None:
        things = {name: getattr(room, name) for name in room.__all__}
        sources = {name: thing.source for name, thing in things.items() if hasattr(thing, "source")}
    summaries = {name: str(getdoc(getattr(room, name))).partition("\n\n")[0] for name in sources}
    return [(name, " ".join(summaries[name].split()), source) for name, source in sources.items()]
