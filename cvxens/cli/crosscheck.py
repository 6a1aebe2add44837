"""`cvxens crosscheck`: the reference against the fast path, with the proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cvxens.cli.tables import table_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cvxens.crosscheck import Row, Sample
    from cvxens.problems import Problem


@click.command()
@click.argument("data", required=False)
@click.option("--formulation", metavar="NAME", help="Check this formulation only; `cvxens list` has the names.")
@table_options
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write the rows to FILE as JSON."
)
def crosscheck(*, data: str | None, formulation: str | None, json_file: Path | None, **options: Any) -> int:
    """Solve every formulation on DATA by reference and by its fast path, and certify the answer.

    DATA is a file (CSV with a header and the target last, LIBSVM, or npz; plain or compressed) or the name of a data
    set in the directory CVXENS_DATA. Without it, scikit-learn's breast-cancer data are used. The labels must be of two
    classes.

    Exit status 1 where objectives differ by more than 1e-5, relative, or where a certificate does not hold.
    """
    from cvxens.cli.files import dataset_of, write
    from cvxens.cli.reports import print_crosscheck
    from cvxens.crosscheck import Sample, named

    chosen = named(formulation)
    dataset = dataset_of(data, **options).as_signs()
    sample = Sample.of(dataset.X, dataset.y)
    write("--json", json_file, "")
    rows: list[Row] = []
    try:
        _fill(rows, sample, chosen)
    finally:
        print_crosscheck(rows, dataset.name, sample)
        write("--json", json_file, json.dumps(_document(rows, dataset.name, sample), indent=2) + "\n")
    return 0 if all(row.agrees for row in rows) else 1


def _fill(rows: list[Row], sample: Sample, chosen: Sequence[type[Problem]]) -> None:
    """Append rows as they are done, under a progress bar on standard error where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from cvxens.crosscheck import crosscheck as check

    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(chosen[0].__name__, total=len(chosen))
        for row, following in zip(check(sample, chosen), [*chosen[1:], None], strict=True):
            rows.append(row)
            progress.update(task, advance=1, description=following.__name__ if following else "done")


def _document(rows: Sequence[Row], name: str, sample: Sample) -> dict[str, object]:
    n_samples, n_features = sample.X.shape
    data = {"name": name, "n_samples": n_samples, "n_features": n_features, "note": sample.note}
    return {"data": data, "rows": [row.to_dict() for row in rows]}
