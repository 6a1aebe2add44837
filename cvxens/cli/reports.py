"""Tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf, isnan

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cvxens.certificates import Certificate
from cvxens.crosscheck import Row, Sample, Side

MIN_WIDTH = 128


def console() -> Console:
    """Standard output, at least as wide as the tables: a narrow terminal wraps lines, and loses nothing."""
    return Console(width=max(Console().width, MIN_WIDTH))


def print_crosscheck(rows: Sequence[Row], name: str, sample: Sample) -> None:
    """Print one row per formulation, and the verdict on all."""
    n_samples, n_features = sample.X.shape
    title = f"{name}: {n_samples} samples, {n_features} features, scaled to [0, 1]"
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 1))
    table.add_column("formulation", min_width=max((len(row.formulation) for row in rows), default=0))
    for heading in ("reference", "fast path"):
        table.add_column(heading, no_wrap=True)
    for heading in ("relative\ndifference", "certified\ngap", "worst KKT\nresidual"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True, min_width=len("not proven"))
    for row in rows:
        table.add_row(*_cells(row))
    out = console()
    out.print(table)
    if sample.note:
        out.print(f"Checked on {sample.note}.")
    agreeing = sum(row.agrees for row in rows)
    out.print(f"{agreeing} of {len(rows)} agree: objectives to 1e-5, relative, and a certified gap of at most 1e-5.")


def _cells(row: Row) -> tuple[Text, ...]:
    certificate = row.certificate
    verdict = Text("agrees", "green") if row.agrees else Text("DISAGREES", "bold red")
    return (
        Text.assemble((row.formulation, "bold"), "\n", (f"{row.source}; {row.note}", "dim")),
        _side(row.reference),
        _side(row.fast),
        Text(f"{row.relative_difference:.1e}"),
        Text(f"{certificate.relative_gap:.1e}"),
        Text(f"{certificate.kkt_residual:.1e}"),
        Text.assemble(verdict, "\n", ("proven" if certificate.proven else "not proven", "dim")),
    )


def _side(side: Side) -> Text:
    objective = "failed" if isnan(side.objective) else f"{side.objective:.10g}"
    objective = "no feasible point" if isinf(side.objective) else objective
    return Text.assemble(objective, "\n", (f"{side.solver}, {side.seconds:.2f} s", "dim"))


def print_certificates(certificates: Sequence[Certificate]) -> None:
    """Print every certificate, under the number of its sub-problem where there are several."""
    out = console()
    for number, certificate in enumerate(certificates):
        if len(certificates) > 1:
            out.print(Text(f"sub-problem {number}", "bold"))
        out.print(Text(str(certificate)))


def print_names(groups: Sequence[tuple[str, Sequence[tuple[str, str, str]]]]) -> None:
    """Print one table per group of (name, what it is, source)."""
    out = console()
    for title, entries in groups:
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, expand=True)
        for heading in ("name", "what it is", "source"):
            table.add_column(heading, overflow="fold")
        for name, what, source in entries:
            table.add_row(Text(name, "bold"), Text(what), Text(source, "dim"))
        out.print(table)
