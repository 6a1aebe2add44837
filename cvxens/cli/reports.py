"""Tables and sentences for people: certificates, cross-checks, columns, and figures beside published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isinf, isnan
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from cvxens.certificates import Certificate
from cvxens.cli.names import make_console
from cvxens.crosscheck import Row, Sample, Side
from cvxens.estimators.multiclass import name_sides
from cvxens.experiments import Cell, Experiment, Plan
from cvxens.experiments.experiment import WITHIN
from cvxens.experiments.pages import count_verdicts
from cvxens.report.words import describe_proof

MOST_NOTES = 40
"""The number of notes on columns that are printed; the report in JSON has all of them."""


def _start_table(words: Sequence[str], numbers: Sequence[str] = (), title: str | None = None) -> Table:
    """Return a table with columns of words on the left and of numbers on the right."""
    heading = None if title is None else Text(title)
    table = Table(title=heading, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for name in words:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_crosscheck(rows: Sequence[Row], name: str, sample: Sample) -> None:
    """Print one row per formulation, and the verdict on all."""
    n_samples, n_features = sample.X.shape
    title = f"{name}: {n_samples} samples, {n_features} features, scaled to [0, 1]"
    numbers = ("relative\ndifference", "certified\ngap", "worst KKT\nresidual")
    table = _start_table(("formulation", "reference", "fast path"), numbers, title)
    # what a formulation is may wrap, its name not
    table.columns[0].no_wrap = False
    table.columns[0].min_width = max((len(row.formulation) for row in rows), default=0)
    table.add_column("verdict", no_wrap=True, min_width=len("not proven"))
    for row in rows:
        certificate = row.certificate
        verdict = Text("agrees", "green") if row.agrees else Text("DISAGREES", "bold red")
        table.add_row(
            Text.assemble((row.formulation, "bold"), "\n", (f"{row.source}; {row.note}", "dim")),
            _describe_side(row.reference),
            _describe_side(row.fast),
            *(f"{x:.1e}" for x in (row.relative_difference, certificate.relative_gap, certificate.kkt_residual)),
            Text.assemble(verdict, "\n", ("proven" if certificate.proven else "not proven", "dim")),
        )
    out = make_console()
    out.print(table)
    if sample.note:
        out.print(f"Checked on {sample.note}.")
    agreeing = sum(row.agrees for row in rows)
    out.print(f"{agreeing} of {len(rows)} agree: objectives to 1e-5, relative, and a certified gap of at most 1e-5.")


def _describe_side(side: Side) -> Text:
    objective = "failed" if isnan(side.objective) else f"{side.objective:.10g}"
    objective = "no feasible point" if isinf(side.objective) else objective
    return Text.assemble(objective, "\n", (f"{side.solver}, {side.seconds:.2f} s", "dim"))


def print_certificates(certificates: Sequence[Certificate], model: Any) -> None:
    """Print every certificate, under the classes of its sub-problem where there are several."""
    out = make_console()
    for title, certificate in zip(_name_parts(certificates, model), certificates, strict=True):
        if title:
            out.print(Text(title, "bold"))
        out.print(Text(str(certificate)))


def _name_parts(certificates: Sequence[Certificate], model: Any) -> list[str]:
    """Return what the sub-problem of every certificate is called; "" where there is one only."""
    if len(certificates) < 2:
        return [""] * len(certificates)
    return [f"{positive} vs {negative}" for negative, positive in name_sides(model.multi_class, model.classes_)]


def proofs(certificates: Sequence[Certificate], model: Any, over: str, tol: float | None = None) -> list[str]:
    """Return a line per certificate of a fitted model that says in plain words what is proven and what is not.

    `over` names the set of hypotheses, where a certificate is about one; `tol` is that of the model by default.
    """
    tol = model.get_params().get("tol") if tol is None else tol
    what = getattr(type(model), "certified", "the objective")
    lines = [describe_proof(certificate, tol, what, over) for certificate in certificates]
    names = _name_parts(certificates, model)
    return [f"{name}: {line}" if name else line for name, line in zip(names, lines, strict=True)]


def print_notes(notes: Sequence[str]) -> None:
    """Print what was done to columns, those that are left out first."""
    ordered = sorted(notes, key=lambda note: "left out" not in note)
    out = make_console()
    for note in ordered[:MOST_NOTES]:
        out.print(Text(f"  {note}"))
    if len(ordered) > MOST_NOTES:
        out.print(Text(f"  and {len(ordered) - MOST_NOTES} more such notes, which --json has"))


def print_columns(columns: Sequence[Mapping[str, Any]]) -> None:
    """Print a row per column of a table."""
    table = _start_table(("column", "kind"), ("distinct", "missing"))
    table.add_column("values", overflow="fold", max_width=36)
    table.add_column("use", overflow="fold")
    for column in columns:
        table.add_row(*(Text(str(column[key])) for key in ("name", "kind", "distinct", "missing", "values", "use")))
    make_console().print(table)


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
    table = _start_table(("data", "method"), numbers, f"{experiment.name}: {experiment.title}")
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
