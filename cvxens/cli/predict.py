"""`cvxens predict`: what a saved model says of new samples."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the predictions to FILE.")
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write a report to FILE as JSON."
)
def predict(model: str, data: str, out: Path | None, json_file: Path | None) -> int:
    """Predict for the samples of DATA with the saved MODEL, one line each.

    DATA is a file as that of `cvxens fit`, with the same features; a CSV's columns may be in any order. The target may
    be there, as the last column; then the score is told, on standard error.
    """
    from cvxens import load_model
    from cvxens.cli.files import write
    from cvxens.cli.models import told
    from cvxens.datasets import load_samples

    fitted = load_model(model)
    X, y = load_samples(data, fitted.n_features_in_, getattr(fitted, "columns_", {}))
    for option, path in (("--out", out), ("--json", json_file)):
        write(option, path, "")
    with told(data):
        predicted = fitted.predict(X).tolist()
        score = None if y is None else float(fitted.score(X, y))
    text = "\n".join(["prediction", *map(str, predicted)])
    write("--out", out, text + "\n")
    if out is None:
        click.echo(text)
    if score is not None:
        click.echo(f"score {score:.4f}", err=True)
    write("--json", json_file, json.dumps({"predictions": predicted, "score": score}, indent=2) + "\n")
    return 0
