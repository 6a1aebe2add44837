"""`cvxens predict`: what a saved model says of new samples."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--proba", is_flag=True, help="Add a column with the probability of every class.")
@click.option("--scores", is_flag=True, help="Add a column with every score that the prediction is made from.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the predictions to FILE.")
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write a report to FILE as JSON."
)
def predict(*, model: str, data: str, proba: bool, scores: bool, out: Path | None, json_file: Path | None) -> int:
    """Predict for the samples of DATA with the saved MODEL, one line each.

    DATA is a file as that of `cvxens fit`. A table's columns may be in any order, and there may be others; what is not
    as it was in the fit, such as a level that it had not, is told on standard error. So is the score, where the target
    is there. Of an npz archive with a training and a test part, the test part is taken.
    """
    from cvxens import load_model
    from cvxens.cli.files import write
    from cvxens.cli.models import encoder_of, told
    from cvxens.datasets import load_samples

    fitted = load_model(model)
    X, y, remarks = load_samples(data, fitted.n_features_in_, encoder_of(fitted))
    for remark in remarks:
        click.echo(f"note: {remark}", err=True)
    for option, path in (("--out", out), ("--json", json_file)):
        write(option, path, "")
    with told(data):
        predicted = fitted.predict(X).tolist()
        added = {}
        if proba:
            added["proba"] = _by_class(fitted, "--proba", "predict_proba", X)
        if scores:
            added["score"] = _by_class(fitted, "--scores", "decision_function", X)
        score = None if y is None else float(fitted.score(X, y))
    text = _csv(predicted, {f"{kind}_{name}": v for kind, of in added.items() for name, v in of.items()})
    write("--out", out, text)
    if out is None:
        click.echo(text, nl=False)
    if score is not None:
        click.echo(f"score {score:.4f}", err=True)
    document = {"predictions": predicted, "score": score, "notes": list(remarks)}
    document |= {"probabilities": added["proba"]} if proba else {}
    document |= {"scores": added["score"]} if scores else {}
    write("--json", json_file, json.dumps(document, indent=2) + "\n")
    return 0


def _by_class(fitted: Any, option: str, method: str, X: Any) -> dict[str, list[float]]:
    """The columns of what a method returns, under the names of the classes that they are of."""
    from cvxens.errors import InvalidInput

    if not hasattr(fitted, method):
        raise InvalidInput(option, f"found a {type(fitted).__name__}, which has no {method} as it is", "leave it out")
    values = getattr(fitted, method)(X)
    # one score of two classes is that of the second
    columns = values.T if values.ndim > 1 else [values]
    names = [str(name) for name in fitted.classes_[-len(columns) :].tolist()]
    return {name: column.tolist() for name, column in zip(names, columns, strict=True)}


def _csv(predicted: Sequence[Any], added: dict[str, list[float]]) -> str:
    """Lines of comma-separated text under a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["prediction", *added])
    writer.writerows(_rows(predicted, added))
    return text.getvalue()


def _rows(predicted: Sequence[Any], added: dict[str, list[float]]) -> Iterator[tuple[Any, ...]]:
    yield from zip(predicted, *added.values(), strict=True)
