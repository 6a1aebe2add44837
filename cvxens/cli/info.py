"""`cvxens info`: what is in a file, and how a fit would take it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cvxens.cli.tables import table_options

if TYPE_CHECKING:
    from cvxens.datasets import Dataset
    from cvxens.datasets.tabular import FileTable
    from cvxens.tables import TableEncoder


@click.command()
@click.argument("data")
@click.option("--test", metavar="FILE", help="The test part.")
@table_options
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write a report to FILE as JSON."
)
def info(*, data: str, test: str | None, json_file: Path | None, **options: Any) -> int:
    """Say what is in DATA, and how `cvxens fit` would take it.

    DATA is a file or a name, as for `cvxens fit`. Of a table every column is listed with its kind, the number of its
    different values and of missing ones, and how it is used; of the target the classes; and what may be wrong.
    """
    from cvxens.cli.files import dataset_of, write
    from cvxens.cli.reports import print_columns, print_notes

    dataset = dataset_of(data, test=test, **options)
    write("--json", json_file, "")
    report = describe(dataset, named=options["target"] is not None)
    told = f"; test part of {report['n_test']}" if report["n_test"] else ""
    click.echo(f"{dataset.name}: {report['n_samples']} samples, {report['n_features']} features{told}")
    if report["columns"]:
        print_columns(report["columns"])
    print_notes(report["notes"])
    target = report["target"]
    click.echo(f"target{f' {target!r}' if target else ''}: {report['labels']}")
    for warning in report["warnings"]:
        click.echo(f"warning: {warning}")
    write("--json", json_file, json.dumps(report, indent=2) + "\n")
    return 0


def describe(dataset: Dataset, *, named: bool) -> dict[str, Any]:
    """Return what there is to say of a data set, as JSON has it."""
    import numpy as np
    from sklearn.utils.multiclass import type_of_target

    from cvxens.cli.examples import describe_labels

    classes, counts = np.unique(dataset.y, return_counts=True)
    continuous = type_of_target(dataset.y).startswith("continuous")
    table, encoder = dataset.table, dataset.encoder
    return {
        "name": dataset.name,
        "n_samples": len(dataset.y),
        "n_features": int(dataset.X.shape[1]),
        "n_test": 0 if dataset.y_test is None else len(dataset.y_test),
        "target": table.target if table else None,
        "labels": describe_labels(dataset.y),
        "classes": None if continuous else dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True)),
        "columns": _columns(table, encoder) if table and encoder else [],
        "notes": list(table.notes if table else dataset.notes),
        "warnings": list(_warnings(dataset, counts.tolist(), continuous, named)),
    }


def _columns(table: FileTable, encoder: TableEncoder) -> list[dict[str, Any]]:
    """Every column of a table."""
    from cvxens.tables import columns_of, read_cells

    found = columns_of(table.frame)
    listed = []
    for column in encoder.columns:
        cells = read_cells(found[column.name], table.options.na)
        known = cells.known().tolist()
        listed.append(
            {
                "name": column.name,
                "kind": column.kind,
                "distinct": len(set(known)),
                "missing": int(cells.missing.sum()),
                "values": _examples(column, known),
                "use": column.note or "as it is",
            }
        )
    return listed


def _examples(column: Any, known: list[Any]) -> str:
    """The range of numbers, or some of the values."""
    from cvxens.tables import NumericColumn

    if isinstance(column, NumericColumn) and column.kind == "numeric" and known:
        numbers = known if isinstance(known[0], float) else column.writing.parse(known).tolist()
        return f"{min(numbers):g} to {max(numbers):g}"
    some = sorted({str(value) for value in known})
    return ", ".join(some[:3]) + (", ..." if len(some) > 3 else "")


def _warnings(dataset: Dataset, counts: list[int], continuous: bool, named: bool) -> list[str]:
    """What may be wrong with a data set."""
    import numpy as np

    from cvxens.cli.examples import MANY_CLASSES, likely_target

    told = []
    other = likely_target(dataset.table) if dataset.table and not named else ""
    if continuous or (len(counts) > MANY_CLASSES and dataset.y.dtype.kind in "if"):
        hint = f"; --target {other!r} would name another column" if other else ""
        told.append(f"the target has {len(counts)} different numbers: is it one of classes?{hint}")
    elif min(counts) < 5:
        told.append(f"a class has {min(counts)} samples only")
    if not continuous and len(counts) > 1 and max(counts) > 20 * min(counts):
        told.append("the largest class is more than 20 times the smallest: see class_weight")
    constant = [name for name, flat in zip(dataset.feature_names, np.ptp(dataset.X, axis=0) == 0, strict=True) if flat]
    if constant:
        told.append(f"constant features: {', '.join(constant[:5])}{', ...' if len(constant) > 5 else ''}")
    y, n = dataset.y, len(dataset.y)
    order = [
        name
        for j, name in enumerate(dataset.feature_names)
        if n > 4 and (np.diff(dataset.X[:, j]) == 1).all() and y.dtype.kind != "f"
    ]
    if order:
        told.append(f"{order[0]} counts the rows: --drop leaves it out if it is no measurement")
    return told
