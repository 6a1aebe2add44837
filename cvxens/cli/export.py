"""`cvxens export`: a saved model for other runtimes."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("model")
@click.option(
    "--out", metavar="FILE", required=True, type=click.Path(path_type=Path), help="Where the ONNX model goes."
)
def export(model: str, out: Path) -> int:
    """Write the saved MODEL to FILE as ONNX.

    That can be done with ensembles of stumps, and with machines whose kernel is a sum over features, such as that of
    stumps. The graph takes the features as numbers, X (n, n_features) of float64, and
    returns label and scores. Of a model that was fitted to a table with columns of text, the property "columns" says
    in JSON how they became numbers: a list is of the categories, a number is the median.
    """
    from cvxens import load_model
    from cvxens.cli.files import writing
    from cvxens.export import to_onnx
    from cvxens.storage import check_place

    out = check_place("--out", out)
    fitted = load_model(model)
    graph = to_onnx(fitted)
    encoder = getattr(fitted, "encoder_", None)
    columns = {} if encoder is None else encoder.learnt
    if columns:
        graph.metadata_props.add(key="columns", value=json.dumps(columns))
    with writing("--out", out):
        out.write_bytes(graph.SerializeToString())
    n_classes, n_features = len(fitted.classes_), fitted.n_features_in_
    click.echo(f"{type(fitted).__name__} of {n_features} features and {n_classes} classes; exported to {out}")
    return 0
