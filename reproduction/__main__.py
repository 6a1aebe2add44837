"""Tables and figures of the papers measured anew, from a checkout: ``python -m reproduction PAPER TABLE``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from math import inf
from pathlib import Path

import click

from cvxens.cli import run_command
from cvxens.cli.options import json_option, progress_bar, write_json
from cvxens.cli.reports import print_names
from reproduction import ALL, EXPERIMENTS, Cell, Failure, Plan, Store, of_paper, tasks_of
from reproduction.pages import write_pages
from reproduction.reports import describe_experiments, print_cells, print_plan

PAGES = Path("docs/reproduction")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paper", required=False)
@click.argument("table", required=False)
@click.option("--splits", type=int, help="Random splits of every data set; what each table fixes, by default.")
@click.option("--data", metavar="NAME", multiple=True, help="A data set; several are fine, all by default.")
@click.option(
    "--method",
    "--methods",
    "methods",
    metavar="NAME",
    multiple=True,
    help="A method; several are fine, all by default.",
)
@click.option("--random-state", default=0, show_default=True, help="Seed of all that is drawn.")
@click.option(
    "--cells",
    metavar="DIR",
    default="reproduction/trials",
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
@click.option("--only-pages", is_flag=True, help="Measure nothing: write the pages from the trials that are kept.")
@json_option("the figures")
def reproduce(
    *,
    paper: str | None,
    table: str | None,
    splits: int | None,
    data: Sequence[str],
    methods: Sequence[str],
    random_state: int,
    cells: Path,
    jobs: int,
    minutes: float,
    page: Path | None,
    only_pages: bool,
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
    if paper is None or (table is None and paper != ALL and not only_pages):
        found = EXPERIMENTS if paper is None else of_paper(paper)
        print_names({"Experiments (python -m reproduction PAPER TABLE)": describe_experiments(found)})
        return 0
    experiments = of_paper(paper, table)
    if only_pages:
        store = Store(cells)
        store.collect()
        write_pages(page or PAGES, experiments, store, random_state)
        return 0
    tasks, lacking = tasks_of(
        experiments, data=data or None, methods=methods or None, splits=splits, random_state=random_state
    )
    store = Store(cells)
    for name in {each.paper for each in experiments}:
        store.table(name)  # nothing is measured beside a table that is damaged
    plan = Plan.make(tasks, lacking, store, minutes, jobs)
    print_plan(plan, cells)
    done, failures = list(plan.done), list[Failure]()
    bar = progress_bar()
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
        store.collect()
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; an error that a person can mend is one line on standard error, without a traceback."""
    run_command(reproduce, "python -m reproduction", arguments)


if __name__ == "__main__":
    main()
