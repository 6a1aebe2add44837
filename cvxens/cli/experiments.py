"""Commands on the methods themselves: `crosscheck`, `reproduce` and `list`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cvxens.cli.options import json_option, read_dataset, table_options, write, write_json

if TYPE_CHECKING:
    from rich.progress import Progress

    from cvxens.crosscheck import Row


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
@click.option("--splits", default=5, show_default=True, help="Random splits of every data set.")
@click.option("--data", metavar="NAME", multiple=True, help="A data set; several are fine, all by default.")
@click.option("--method", "methods", metavar="NAME", multiple=True, help="A method; several are fine, all by default.")
@click.option("--random-state", default=0, show_default=True, help="Seed of all that is drawn.")
@click.option(
    "--cells",
    metavar="DIR",
    default="reproduction",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where every trial is kept, in a file of its own; what is there is not measured again.",
)
@click.option("--jobs", default=1, show_default=True, help="Trials at a time, each in a process of one thread.")
@click.option(
    "--minutes",
    type=float,
    default=inf,
    help="Measure what is expected to be done in that time, and begin nothing after it.",
)
@click.option("--page", metavar="DIR", type=click.Path(path_type=Path), help="Write a page for each paper there.")
@json_option("the figures")
def reproduce(
    *,
    paper: str | None,
    table: str | None,
    splits: int,
    data: Sequence[str],
    methods: Sequence[str],
    random_state: int,
    cells: Path,
    jobs: int,
    minutes: float,
    page: Path | None,
    json_file: Path | None,
) -> int:
    """Measure TABLE of PAPER anew, and say how far the published figures are.

    "all" is every paper, or every table; without TABLE, or both, it says what there is. Data sets are looked up in the
    directory CVXENS_DATA, and those that it lacks are told of; those that are generated need none. A figure that
    differs from the published one is a result, and no error. Progress is shown on standard error: a bar if that is a
    terminal, else a line for every trial.

    Exit status 1 where a method failed, which is told of and ends nothing else; 130 where Ctrl-C ended it early: the
    trials that were being measured are dropped, all others are kept, printed, and written to FILE.
    """
    from cvxens.cli.names import describe_experiments, print_names
    from cvxens.cli.reports import print_cells, print_plan
    from cvxens.experiments import ALL, EXPERIMENTS, Cell, Failure, Plan, Store, of_paper, tasks_of
    from cvxens.experiments.pages import write_pages

    if paper is None or (table is None and paper != ALL):
        found = EXPERIMENTS if paper is None else of_paper(paper)
        print_names({"Experiments (cvxens reproduce PAPER TABLE)": describe_experiments(found)})
        return 0
    experiments = of_paper(paper, table)
    tasks, lacking = tasks_of(
        experiments, data=data or None, methods=methods or None, splits=splits, random_state=random_state
    )
    store = Store(cells)
    plan = Plan.make(tasks, lacking, store, minutes, jobs)
    write("--json", json_file)
    print_plan(plan, cells)
    done, failures = list(plan.done), list[Failure]()
    bar = _progress_bar()
    task = bar.add_task("first trial", total=len(plan.tasks))
    try:
        with bar, closing(plan.run(store, jobs)) as measured:
            for trial in measured:
                bar.update(task, advance=1)
                if isinstance(trial, Failure):
                    failures.append(trial)
                    click.echo(f"failed: {trial.task}: {trial.error}", err=True)
                    continue
                done.append(trial)
                bar.update(task, description=f"{trial.row}: {trial.column}")
                if bar.disable:
                    figure = f"{trial.value:.4g}, {trial.seconds:.3g} s"
                    click.echo(f"{trial.row}: {trial.column}: split {trial.split}: {figure}", err=True)
        late = len(plan.done) + len(plan.tasks) - len(done) - len(failures)
        if late:
            click.echo(f"note: {late} trials were to fit into the time, and have not been begun in it", err=True)
    finally:
        summaries = {each.name: Cell.summarise(done, each) for each in experiments}
        for each in experiments:
            if summaries[each.name]:
                print_cells(each, summaries[each.name])
        reports = [
            {"experiment": each.name, "measure": each.measure, "protocol": each.protocol}
            | {"cells": [cell.to_dict() for cell in summaries[each.name]]}
            for each in experiments
        ]
        write_json(json_file, {"random_state": random_state, "lacking": lacking, "experiments": reports})
        if page is not None:
            write_pages(page, experiments, store, random_state)
    return 1 if failures else 0


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


@click.command("list")
def list_all() -> int:
    """List estimators, formulations, kernels, oracles, masters, solvers and experiments, with their sources."""
    from cvxens.cli.names import print_names, read_names

    print_names(read_names())
    return 0
