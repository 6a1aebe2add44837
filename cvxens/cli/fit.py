"""`cvxens fit`: a model from a file, certified."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cvxens.cli.tables import table_options

if TYPE_CHECKING:
    from cvxens.cli.examples import Examples
    from cvxens.datasets import Dataset

INTERRUPTED = 130


@click.command()
@click.argument("data")
@click.option("--model", "name", metavar="NAME", required=True, help="The estimator; `cvxens list` has the names.")
@click.option("--param", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter of it; several are fine.")
@click.option("--out", metavar="FILE", required=True, type=click.Path(path_type=Path), help="Where the model goes.")
@click.option("--test", metavar="FILE", help="Score the model on this file, which has the columns of DATA.")
@click.option("--test-share", metavar="SHARE", type=float, help="Fit to a part, and score on the rest: 0.3 is 30 %.")
@click.option("--cv", "n_folds", metavar="FOLDS", type=int, help="Cross-validate before the fit.")
@table_options
@click.option(
    "--json", "json_file", metavar="FILE", type=click.Path(path_type=Path), help="Write a report to FILE as JSON."
)
def fit(
    *,
    data: str,
    name: str,
    parameters: Sequence[str],
    out: Path,
    test: str | None,
    test_share: float | None,
    n_folds: int | None,
    json_file: Path | None,
    **options: Any,
) -> int:
    """Fit a model to DATA, certify it, and save it to FILE.

    DATA is a file (CSV or Parquet with the target last, LIBSVM, or npz; plain or compressed) or the name of a data
    set in the directory CVXENS_DATA. `cvxens info DATA` says how its columns are read. The model can be read by
    `cvxens predict`, `cvxens certify`, and cvxens.load_model(FILE); it takes tables and data frames with the columns of
    DATA. Samples for --test-share and --cv are drawn with the seed 0.

    Exit status 130 where Ctrl-C ended the fit early; the model has been saved as far as it had come. Supervised kernels
    and cross-validated machines have no state in between: of them nothing is saved.
    """
    from cvxens.cli.examples import Examples, check_target, describe_labels
    from cvxens.cli.files import dataset_of, write
    from cvxens.cli.models import certificates_of, named_estimator, told
    from cvxens.cli.reports import print_certificates, print_notes, proofs
    from cvxens.colgen import Ending
    from cvxens.errors import InvalidInput
    from cvxens.storage import check_place

    check_place("--out", out)
    model = named_estimator(name, parameters)
    if test is not None and test_share is not None:
        raise InvalidInput("--test-share", "found it beside --test", "give one of them")
    dataset = dataset_of(data, test=test, **options)
    doubt = check_target(dataset, model, named=options["target"] is not None)
    train, held_out = Examples.of(dataset)
    if test_share is not None:
        train, held_out = train.split(test_share, model)
    write("--json", json_file, "")
    if doubt:
        click.echo(f"warning: {doubt}", err=True)
    with told(data) as messages:
        folds = [] if n_folds is None else train.cross_validate(model, n_folds)
        if (
            sys.stderr.isatty()
            and "verbose" in model.get_params()
            and not any(p.startswith("verbose=") for p in parameters)
        ):
            model.set_params(verbose=1)
        start = time.perf_counter()
        train.fit(model)
        seconds = time.perf_counter() - start
    model.save(out)
    certificates = certificates_of(getattr(model, "certificate_", []))
    scores = {"training_score": train.score(model)}
    if held_out is not None:
        scores["test_score"] = held_out.score(model)
    n_samples, n_features = len(train), int(model.n_features_in_)
    click.echo(f"{type(model).__name__} on {dataset.name}: {n_samples} samples, {n_features} features, {seconds:.2f} s")
    if dataset.table is not None:
        by_default = "" if options["target"] is not None else ", the last column"
        click.echo(f"target {dataset.table.target!r}{by_default}: {describe_labels(train.y)}")
    notes = _notes(dataset, model)
    print_notes(notes)
    print_certificates(certificates, model)
    proven = proofs(certificates, model, _set_of(model, train))
    for line in [*proven, *_score_lines(scores, folds, held_out)]:
        click.echo(line)
    click.echo(f"training score {scores['training_score']:.4f}; saved to {out}")
    report = {
        "model": type(model).__name__,
        "parameters": {key: repr(value) for key, value in model.get_params().items()},
        "data": {"name": dataset.name, "n_samples": n_samples, "n_features": n_features, "notes": list(notes)},
        "target": None if dataset.table is None else dataset.table.target,
        "certificates": [certificate.to_dict() for certificate in certificates],
        "proof": proven,
        **scores,
        "cross_validation_scores": folds,
        "seconds": seconds,
        "warnings": [*([doubt] if doubt else []), *messages],
    }
    write("--json", json_file, json.dumps(report, indent=2) + "\n")
    return INTERRUPTED if any(Ending.INTERRUPTED.value in message for message in messages) else 0


def _notes(dataset: Dataset, model: Any) -> list[str]:
    """What people should know of the data: of a table how the model was given its columns."""
    if dataset.table is None:
        return list(dataset.notes)
    return [*dataset.table.notes, *model.encoder_.notes]


def _score_lines(scores: dict[str, float], folds: Sequence[float], held_out: Examples | None) -> list[str]:
    from statistics import mean, stdev

    lines = []
    if folds:
        spread = f" ± {stdev(folds):.4f}" if len(folds) > 1 else ""
        lines.append(f"cross-validation score {mean(folds):.4f}{spread} (mean and standard deviation of {len(folds)})")
    if held_out is not None:
        lines.append(f"test score {scores['test_score']:.4f} on {len(held_out)} samples that the fit has not seen")
    return lines


def _set_of(model: Any, train: Examples) -> str:
    """Name the set that a certificate of column generation is over, counted if it is that of all stumps."""
    oracle = model.get_params().get("oracle")
    if oracle != "stumps":
        return f"all hypotheses of the oracle {oracle!r}" if isinstance(oracle, str) else "all hypotheses"
    from cvxens.colgen.oracles import Stumps

    X = train.X if train.table is None else train.table.features(model.encoder_)
    return f"all {Stumps(X).n_stumps:,} stumps"
