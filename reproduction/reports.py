"""What the command prints of a plan, and of what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from cvxens.cli.reports import MOST_NOTES, Entry, make_console, start_table
from reproduction import Cell, Experiment, Plan
from reproduction.experiment import WITHIN
from reproduction.pages import count_verdicts


def describe_experiments(experiments: Sequence[Experiment]) -> list[Entry]:
    """Return name, what is compared, and methods and data sets of each."""
    return [
        (each.name, f"{each.title}; {each.measure}", f"{', '.join(each.columns)}; on {', '.join(each.rows)}")
        for each in experiments
    ]


def print_plan(plan: Plan, directory: Path) -> None:
    """Say on standard error what is there already, what is left out, and what cannot be measured here."""
    lines = [str(error) for error in plan.damaged]
    if plan.done:
        lines.append(f"{len(plan.done)} trials are in {directory} already")
    lines += [f"{row}: the data directory lacks {', '.join(names)}" for row, names in plan.lacking.items()]
    if plan.left_out:
        places = Counter(f"{task.experiment.name}, {task.row}: {task.column}" for task in plan.left_out)
        named = "; ".join(f"{place} ({n})" for place, n in list(places.items())[:MOST_NOTES])
        more = f"; and {len(places) - MOST_NOTES} cells more" * (len(places) > MOST_NOTES)
        lines.append(f"{len(plan.left_out)} trials do not fit into the time, or have not been timed yet: {named}{more}")
    for line in lines:
        click.echo(f"note: {line}", err=True)


def print_cells(experiment: Experiment, cells: Sequence[Cell]) -> None:
    """Print one row per cell, what is not there, and the count."""
    numbers = (f"ours, {experiment.measure}", "published", "standard errors\napart", "splits", "s per split")
    table = start_table(("data", "method"), numbers, f"{experiment.name}: {experiment.title}")
    table.add_column("verdict", no_wrap=True)
    for cell, following in zip(cells, [*cells[1:], None], strict=False):
        spread = "" if cell.standard_error is None else f" ± {cell.standard_error:.2f}"
        table.add_row(
            Text(cell.row, "bold"),
            Text(cell.column),
            f"{cell.mean:.2f}{spread}",
            Text("not known", "dim") if cell.published is None else str(cell.published),
            "" if cell.distance is None or not cell.verdict else f"{cell.distance:.1f}",
            str(cell.n_splits),
            f"{cell.seconds:.2f}",
            Text(cell.verdict, "green" if cell.verdict == WITHIN else "bold red"),
            end_section=following is not None and following.row != cell.row,
        )
    out = make_console()
    out.print(table)
    lacking = [f"In the paper and not here: {row}, {why}." for row, why in experiment.lacking.items()]
    for line in (*lacking, *count_verdicts(cells)):
        out.print(Text(line))
    out.print(Text(experiment.protocol, "dim"))
