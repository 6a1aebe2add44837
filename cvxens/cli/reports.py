"""Tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, isinf, isnan
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cvxens.certificates import Certificate
from cvxens.crosscheck import Row, Sample, Side
from cvxens.estimators.multiclass import name_sides

MIN_WIDTH = 128

TO_ROUNDING = 1e-9
"""A relative gap that people need not read the digits of."""

MOST_NOTES = 40
"""So many notes on columns are printed; the report in JSON has all of them."""


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


def print_certificates(certificates: Sequence[Certificate], model: Any) -> None:
    """Print every certificate, under the classes of its sub-problem where there are several."""
    out = console()
    for title, certificate in zip(titles(certificates, model), certificates, strict=True):
        if title:
            out.print(Text(title, "bold"))
        out.print(Text(str(certificate)))


def titles(certificates: Sequence[Certificate], model: Any) -> list[str]:
    """Return what the sub-problem of every certificate is called; "" where there is one only."""
    if len(certificates) < 2:
        return [""] * len(certificates)
    return [f"{positive} vs {negative}" for negative, positive in name_sides(model.multi_class, model.classes_)]


def print_notes(notes: Sequence[str]) -> None:
    """Print what was done to columns, those that are left out first."""
    ordered = sorted(notes, key=lambda note: "left out" not in note)
    out = console()
    for note in ordered[:MOST_NOTES]:
        out.print(Text(f"  {note}"))
    if len(ordered) > MOST_NOTES:
        out.print(Text(f"  and {len(ordered) - MOST_NOTES} more such notes, which --json has"))


def proofs(certificates: Sequence[Certificate], model: Any, over: str) -> list[str]:
    """Return a line per certificate that says in plain words what is proven and what is not.

    Parameters
    ----------
    certificates : sequence of Certificate
        Of the model.
    model : estimator
        Fitted; it says what was asked for.
    over : str
        The set of hypotheses, where a certificate is about one.
    """
    tol = model.get_params().get("tol")
    what = getattr(type(model), "certified", "the objective")
    lines = [_proof(certificate, tol, what, over) for certificate in certificates]
    names = titles(certificates, model)
    return [f"{name}: {line}" if name else line for name, line in zip(names, lines, strict=True)]


def _proof(certificate: Certificate, tol: float | None, what: str, over: str) -> str:
    among = f" over {over}" if "hypothes" in certificate.note else ""
    asked = "" if tol is None else f" (asked: {_percent(tol)})"
    near = certificate.relative_gap <= TO_ROUNDING
    within = f"{what} is within {_percent(certificate.relative_gap)} of the best possible{among}"
    if not isfinite(certificate.gap):
        line = f"Nothing is proven: {certificate.note or 'one of the two objectives is not finite'}."
    elif certificate.relative_gap < 0:
        line = "Nothing is proven: the bound is on the wrong side of the objective."
    elif not certificate.proven:
        found = f"the bound that there is leaves a gap of {_percent(certificate.relative_gap)}"
        line = f"Not proven ({certificate.note or 'no bound over all hypotheses'}): {found}{asked}."
    elif tol is None:
        sides = f"{certificate.primal:.4g}, and none is beyond {certificate.dual:.4g}"
        line = f"Proven: {what} is {sides}{among}."
    elif certificate.holds(tol):
        best = f"{what} is the best possible{among}, to rounding"
        line = f"Proven: {best if near else within}{asked}."
    else:
        line = f"Not within the tolerance asked, {_percent(tol)}: proven is only that {within}."
    return line


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"


def print_columns(columns: Sequence[Mapping[str, Any]]) -> None:
    """Print a row per column of a table."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    for heading in ("column", "kind"):
        table.add_column(heading, no_wrap=True)
    for heading in ("distinct", "missing"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("values", overflow="fold", max_width=36)
    table.add_column("use", overflow="fold")
    for column in columns:
        table.add_row(*(Text(str(column[key])) for key in ("name", "kind", "distinct", "missing", "values", "use")))
    console().print(table)


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
