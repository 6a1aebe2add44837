"""`cvxens fit`: a model from a file, certified."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

INTERRUPTED = 130


@click.command()
@click.argument("data")
@click.option("--model", "name", metavar="NAME", required=True, help="The estimator; `cvxens list` has the names.")
@click.option("--param", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter of it; several are fine.")
@click.option("--out", metavar="FILE", required=True, type=click.Path(path_type=Path), help="Where the model goes.")
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write a report to FILE as JSON."
)
def fit(data: str, name: str, parameters: Sequence[str], out: Path, json_file: Path | None) -> int:
    """Fit a model to DATA, certify it, and save it to FILE.

    DATA is a file (CSV or Parquet with the target last, LIBSVM, or npz; plain or compressed) or the name of a data
    set in the directory CVXENS_DATA. The model can be read by `cvxens predict`, `cvxens certify`, and
    cvxens.load_model(FILE).

    Exit status 130 where Ctrl-C ended the fit early; the model has been saved as far as it had come.
    """
    from cvxens.cli.files import dataset_of, write
    from cvxens.cli.models import certificates_of, named_estimator, told
    from cvxens.cli.reports import print_certificates
    from cvxens.colgen import Ending
    from cvxens.storage import check_place

    check_place("--out", out)
    model = named_estimator(name, parameters)
    dataset = dataset_of(data)
    write("--json", json_file, "")
    if (
        sys.stderr.isatty()
        and "verbose" in model.get_params()
        and not any(p.startswith("verbose=") for p in parameters)
    ):
        model.set_params(verbose=1)
    start = time.perf_counter()
    with told(data) as messages:
        model.fit(dataset.X, dataset.y)
    seconds = time.perf_counter() - start
    model.columns_ = dict(dataset.columns)
    model.save(out)
    certificates = certificates_of(getattr(model, "certificate_", []))
    score = float(model.score(dataset.X, dataset.y))
    n_samples, n_features = dataset.X.shape
    click.echo(f"{type(model).__name__} on {dataset.name}: {n_samples} samples, {n_features} features, {seconds:.2f} s")
    print_certificates(certificates)
    click.echo(f"training score {score:.4f}; saved to {out}")
    report = {
        "model": type(model).__name__,
        "parameters": {key: repr(value) for key, value in model.get_params().items()},
        "data": {"name": dataset.name, "n_samples": n_samples, "n_features": n_features, "notes": list(dataset.notes)},
        "certificates": [certificate.to_dict() for certificate in certificates],
        "training_score": score,
        "seconds": seconds,
        "warnings": messages,
    }
    write("--json", json_file, json.dumps(report, indent=2) + "\n")
    return INTERRUPTED if any(Ending.INTERRUPTED.value in message for message in messages) else 0
