"""Tables of figures beside published ones, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from cvxens.cli.reports import console, print_names
from cvxens.experiments import Cell, Experiment

MARK = "*"
"""Beside a published figure that is still to be checked."""


def experiment_rows(experiments: Sequence[Experiment]) -> list[tuple[str, str, str]]:
    """Name, what is compared, methods and data sets."""
    return [
        (each.name, f"{each.title}; {each.measure}", f"{', '.join(each.methods)}; on {', '.join(each.data)}")
        for each in experiments
    ]


def print_experiments(experiments: Sequence[Experiment]) -> None:
    """Print what can be reproduced."""
    print_names([("Experiments (cvxens reproduce PAPER TABLE)", experiment_rows(experiments))])


def print_cells(experiment: Experiment, cells: Sequence[Cell]) -> None:
    """Print one row per cell, what the marks mean, and the count."""
    table = Table(
        title=Text(f"{experiment.name}: {experiment.title}"), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1)
    )
    for heading in ("data", "method"):
        table.add_column(heading, no_wrap=True)
    for heading in (f"ours, {experiment.measure}", "published", "standard errors\napart", "splits", "s per split"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for cell, following in zip(cells, [*cells[1:], None], strict=False):
        table.add_row(*_row(cell), end_section=following is not None and following.data != cell.data)
    out = console()
    out.print(table)
    for line in (*_notes(cells), _count(cells)):
        out.print(Text(line))
    out.print(Text(experiment.protocol, "dim"))


def _row(cell: Cell) -> tuple[Text, ...]:
    return (
        Text(cell.data, "bold"),
        Text(cell.method),
        Text(_figure(cell.mean, cell.standard_error)),
        _published(cell),
        Text("" if cell.distance is None else f"{cell.distance:.1f}"),
        Text(str(cell.n_splits)),
        Text(f"{cell.seconds:.2f}"),
        _verdict(cell),
    )


def _figure(mean: float, standard_error: float) -> str:
    return f"{mean:.2f} ± {standard_error:.2f}"


def _published(cell: Cell) -> Text:
    if cell.published is None:
        return Text("not known", "dim")
    mark = MARK if cell.published.note else " "
    return Text(_figure(cell.published.mean, cell.published.standard_error) + mark)


def _verdict(cell: Cell) -> Text:
    if cell.agrees is None:
        return Text("")
    return Text("within two", "green") if cell.agrees else Text("OFF", "bold red")


def _notes(cells: Sequence[Cell]) -> list[str]:
    """What the marks mean, once for each note and source."""
    published = [cell.published for cell in cells if cell.published is not None]
    marked = dict.fromkeys(f"{MARK} {each.note}: {each.source}" for each in published if each.note)
    checked = dict.fromkeys(f"  {each.source}" for each in published if not each.note)
    return [*marked, *checked]


def _count(cells: Sequence[Cell]) -> str:
    known = [cell for cell in cells if cell.published is not None]
    agreeing = sum(bool(cell.agrees) for cell in known)
    within = f"{agreeing} of {len(known)} within two standard errors of the published figure, by both standard errors"
    unknown = f"of {len(cells) - len(known)} cells no published figure is known"
    return "; ".join([within] * bool(known) + [unknown] * (len(known) < len(cells))) + "."
