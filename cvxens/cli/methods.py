"""Commands on the methods themselves: `crosscheck` and `list`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cvxens.cli.options import json_option, progress_bar, read_dataset, table_options, write, write_json

if TYPE_CHECKING:
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
        with progress_bar() as bar:
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


@click.command("list")
def list_all() -> int:
    """List estimators, formulations, kernels, oracles, masters and solvers, with their sources."""
    from cvxens.cli.names import print_names, read_names

    print_names(read_names())
    return 0
