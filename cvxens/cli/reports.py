"""What is printed for people: certificates, cross-checks, columns, and the names of `cvxens list`.

The names are kept in a file, as the rooms themselves load every numerical library before they say them: `python
docs/names.py` in a checkout writes it anew, from the docstrings and sources of what the rooms export.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isinf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from cvxens.certificates import Certificate
    from cvxens.crosscheck import Row, Sample, Side

FILE = Path(__file__).with_name("names.tsv")
Entry: TypeAlias = tuple[str, str, str]
"""A name, what it is, and its source."""

MOST_NOTES = 40
"""The number of notes on columns that are printed; the report in JSON has all of them."""


def start_table(words: Sequence[str], numbers: Sequence[str] = (), title: str | None = None) -> Table:
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
    table = start_table(("formulation", "reference", "fast path"), numbers, title)
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


def print_certificates(certificates: Sequence[Certificate], model: BaseEstimator) -> None:
    """Print every certificate, under the classes of its sub-problem where there are several."""
    from cvxens.report import describe_proofs

    out = make_console()
    for (title, _), certificate in zip(describe_proofs(certificates, model, ""), certificates, strict=True):
        if title:
            out.print(Text(title, "bold"))
        out.print(Text(str(certificate)))


def proofs(certificates: Sequence[Certificate], model: BaseEstimator, over: str, tol: float | None = None) -> list[str]:
    """Return a line per certificate of a fitted model; as `describe_proofs`."""
    from cvxens.report import describe_proofs

    told = describe_proofs(certificates, model, over, tol)
    return [f"{name}: {sentence}" if name else sentence for name, sentence in told]


def print_notes(notes: Sequence[str]) -> None:
    """Print what was done to columns, those that are left out first."""
    ordered = sorted(notes, key=lambda note: "left out" not in note)
    out = make_console()
    for note in ordered[:MOST_NOTES]:
        out.print(Text(f"  {note}"))
    if len(ordered) > MOST_NOTES:
        out.print(Text(f"  and {len(ordered) - MOST_NOTES} more such notes, which --json has"))


def print_columns(columns: Sequence[Mapping[str, object]]) -> None:
    """Print a row per column of a table."""
    table = start_table(("column", "kind"), ("distinct", "missing"))
    table.add_column("values", overflow="fold", max_width=36)
    table.add_column("use", overflow="fold")
    for column in columns:
        table.add_row(*(Text(str(column[key])) for key in ("name", "kind", "distinct", "missing", "values", "use")))
    make_console().print(table)


def make_console() -> Console:
    """Return standard output, at least as wide as the tables: a narrow terminal wraps lines, and loses nothing."""
    return Console(width=max(Console().width, 128))


def print_names(groups: Mapping[str, Sequence[Entry]]) -> None:
    """Print one table per group, under its title."""
    out = make_console()
    for title, entries in groups.items():
        columns = [Column(heading, overflow="fold") for heading in ("name", "what it is", "source")]
        table = Table(*columns, title=title, title_justify="left", box=SIMPLE_HEAD, expand=True)
        for name, what, source in entries:
            table.add_row(Text(name, "bold"), Text(what), Text(source, "dim"))
        out.print(table)


def read_names() -> dict[str, list[Entry]]:
    """Read every group from the file."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t"))[1:]
    groups = groupby(rows, key=lambda row: row[0])
    return {title: [(name, what, source) for _, name, what, source in group] for title, group in groups}
