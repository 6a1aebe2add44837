"""All commands: on data and models, and on the methods themselves."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import cvxens
from cvxens.cli.options import (
    json_option,
    out_option,
    printing_warnings,
    progress_bar,
    read_dataset,
    table_options,
    write,
    write_json,
)
from cvxens.errors import InvalidInput, writing

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from cvxens.cli.data import Examples
    from cvxens.crosscheck import Row
    from cvxens.datasets import Samples
    from cvxens.tables import TableEncoder
    from cvxens.types import Data

INTERRUPTED = 130


@click.command()
@click.argument("data")
@click.option("--test", metavar="FILE", help="The test part.")
@table_options
@json_option("a report")
def info(*, data: str, test: str | None, json_file: Path | None, **options: object) -> None:
    """Say what is in DATA, and how `cvxens fit` would take it.

    DATA is a file or a name, as for `cvxens fit`. Of a table every column is listed with its kind, the number of its
    different values and of missing ones, and how it is used; of the target the classes; and what may be wrong.
    """
    from cvxens.cli.data import describe
    from cvxens.cli.reports import print_columns, print_notes

    dataset = read_dataset(data, test=test, **options)
    report = describe(dataset, named=options["target"] is not None)
    test_part = f"; test part of {report['n_test']}" if report["n_test"] else ""
    click.echo(f"{dataset.name}: {report['n_samples']} samples, {report['n_features']} features{test_part}")
    if report["columns"]:
        print_columns(report["columns"])
    print_notes(report["notes"])
    target = report["target"]
    click.echo(f"target{f' {target!r}' if target else ''}: {report['labels']}")
    for warning in report["warnings"]:
        click.echo(f"warning: {warning}")
    write_json(json_file, report)


@click.command()
@click.argument("data")
@click.option(
    "--model",
    "name",
    metavar="NAME",
    help="The estimator; `cvxens list` has the names. By default AdditiveClassifier, or AdditiveRegressor where the "
    "target is of numbers with more than 20 values.",
)
@click.option("--param", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter of it; several are fine.")
@out_option("Where the model goes.", required=True)
@click.option("--test", metavar="FILE", help="Score the model on this file, which has the columns of DATA.")
@click.option("--test-share", metavar="SHARE", type=float, help="Fit to a part, and score on the rest: 0.3 is 30 %.")
@click.option("--cv", "n_folds", metavar="FOLDS", type=int, help="Cross-validate before the fit.")
@table_options
@json_option("a report")
def fit(
    *,
    data: str,
    name: str | None,
    parameters: Sequence[str],
    out: Path,
    test: str | None,
    test_share: float | None,
    n_folds: int | None,
    json_file: Path | None,
    **options: object,
) -> int:
    """Fit a model to DATA, certify it, and save it to FILE.

    DATA is a file (CSV, JSON, Excel or Parquet with the target last, LIBSVM, or npz; plain or packed) or the name of a
    data set in the directory CVXENS_DATA. `cvxens info DATA` says how its columns are read. The model can be read by
    `cvxens predict`, `cvxens certify`, and cvxens.load_model(FILE); it takes tables and data frames with the columns of
    DATA. Samples for --test-share and --cv are drawn with the seed 0.

    Exit status 130 where Ctrl-C ended the fit early; the model has been saved as far as it had come. Supervised kernels
    and cross-validated machines have no state in between: of them nothing is saved.
    """
    from cvxens.cli.data import Examples, check_target, choose_model, describe_labels
    from cvxens.cli.reports import print_certificates, print_notes, proofs
    from cvxens.colgen import Ending
    from cvxens.report import list_certificates

    model = None if name is None else _make_estimator(name, parameters)
    if test is not None and test_share is not None:
        raise InvalidInput("--test-share", "found it beside --test", "give one of them")
    dataset = read_dataset(data, test=test, **options)
    if model is None:
        chosen, why = choose_model(dataset)
        click.echo(f"note: {why}, so the model is {chosen}; --model names another", err=True)
        model = _make_estimator(chosen, parameters)
    doubts = check_target(dataset, model, named=options["target"] is not None)
    train, held_out = Examples.from_dataset(dataset)
    if test_share is not None:
        train, held_out = train.split(test_share, model)
    for doubt in doubts:
        click.echo(f"warning: {doubt}", err=True)
    with printing_warnings(data) as messages:
        folds = [] if n_folds is None else train.cross_validate(model, n_folds)
        quiet = "verbose" not in model.get_params() or any(each.startswith("verbose=") for each in parameters)
        if sys.stderr.isatty() and not quiet:
            model.set_params(verbose=1)
        start = time.perf_counter()
        train.fit(model)
        seconds = time.perf_counter() - start
    model.save(out)
    certificates, scores = list_certificates(model.certificate_), {"training_score": train.score(model)}
    if held_out is not None:
        scores["test_score"] = held_out.score(model)
    n_samples, n_features = len(train), int(model.n_features_in_)
    click.echo(f"{type(model).__name__} on {dataset.name}: {n_samples} samples, {n_features} features, {seconds:.2f} s")
    target, notes = None, dataset.notes
    if train.table is not None:
        target, notes = train.table.target, (*train.table.notes, *model.encoder_.notes)
        by_default = "" if options["target"] is not None else ", the last column"
        click.echo(f"target {target!r}{by_default}: {describe_labels(train.y)}")
    print_notes(notes)
    proven = proofs(certificates, model, _name_hypotheses(model, train))
    for line in [*proven, *_describe_scores(scores, folds, held_out)]:
        click.echo(line)
    print_certificates(certificates, model)
    click.echo(f"training score {scores['training_score']:.4f}; saved to {out}")
    report = {
        "model": type(model).__name__,
        "parameters": {key: repr(value) for key, value in model.get_params().items()},
        "data": {"name": dataset.name, "n_samples": n_samples, "n_features": n_features, "notes": list(notes)},
        "target": target,
        "certificates": [certificate.to_dict() for certificate in certificates],
        "proof": proven,
        **scores,
        "cross_validation_scores": folds,
        "seconds": seconds,
        "warnings": [*doubts, *messages],
    }
    write_json(json_file, report)
    return INTERRUPTED if any(Ending.INTERRUPTED.value in message for message in messages) else 0


def _make_estimator(name: str, parameters: Sequence[str]) -> BaseEstimator:
    """Make an estimator of a name, in any case, with parameters such as "C=0.1"; `InvalidInput` for unknown ones."""
    from difflib import get_close_matches

    from cvxens import estimators

    kinds = {key: kind for key in estimators.__all__ if hasattr(kind := vars(estimators)[key], "fit")}
    found = next((kind for key, kind in kinds.items() if key.lower() == name.lower()), None)
    if found is None:
        close = [key for key in kinds if name.lower() in key.lower()] or get_close_matches(name, kinds, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"name one of {', '.join(kinds)}"
        raise InvalidInput("--model", f"found {name!r}", remedy)
    estimator = found()
    known = estimator.get_params(deep=False)
    for parameter in parameters:
        key, separator, value = parameter.partition("=")
        if key not in known or not separator:
            raise InvalidInput("--param", f"found {parameter!r}", f"give name=value for one of {', '.join(known)}")
        estimator.set_params(**{key: _parse_value(value)})
    return estimator


def _parse_value(text: str) -> object:
    """Return a value as Python writes it: a number, True, None, a dict, constraints; other text stands for itself."""
    import ast

    from cvxens import estimators

    def read(node: ast.AST) -> object:
        match node:
            case ast.List(elts=entries):
                return [read(entry) for entry in entries]
            case ast.Call(func=ast.Name(id=name), args=given, keywords=named) if name in constraints:
                return constraints[name](*map(read, given), **{str(each.arg): read(each.value) for each in named})
        return ast.literal_eval(node)

    kinds = [vars(estimators)[name] for name in estimators.__all__]
    constraints = {k.__name__: k for k in kinds if isinstance(k, type) and issubclass(k, estimators.Constraint)}
    try:
        return read(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError):
        return text


def _name_hypotheses(model: BaseEstimator, train: Examples) -> str:
    """Name the set that a certificate of column generation is over, counted if it is that of all stumps."""
    oracle = model.get_params().get("oracle")
    if oracle != "stumps":
        return f"all hypotheses of the oracle {oracle!r}" if isinstance(oracle, str) else "all hypotheses"
    from cvxens.colgen.oracles import Stumps

    of_both_sides = f"all {Stumps(train.features(model)).n_hypotheses:,} stumps"
    constrained = model.get_params().get("constraints")
    return f"{of_both_sides} of the sides that are allowed" if constrained else of_both_sides


def _describe_scores(scores: dict[str, float], folds: Sequence[float], held_out: Examples | None) -> list[str]:
    """Return a line on the scores over folds, and one on those of samples held out, where there are any."""
    from statistics import mean, stdev

    lines = []
    if folds:
        spread = f" ± {stdev(folds):.4f}" if len(folds) > 1 else ""
        lines.append(f"cross-validation score {mean(folds):.4f}{spread} (mean and standard deviation of {len(folds)})")
    if held_out is not None:
        lines.append(f"test score {scores['test_score']:.4f} on {len(held_out)} samples that the fit has not seen")
    return lines


def _read(data: str, fitted: BaseEstimator) -> Samples:
    """Read samples for a fitted model, and print what is odd about them."""
    from cvxens.datasets import load_samples

    samples = load_samples(data, fitted.n_features_in_, _encoder_of(fitted))
    for remark in samples.remarks:
        click.echo(f"note: {remark}", err=True)
    return samples


def _encoder_of(model: BaseEstimator) -> TableEncoder | None:
    """Return how a model takes tables: by the coding that it has learnt, or by the names of its features in Python."""
    from cvxens.tables import Numerals, TableColumn, TableEncoder

    encoder: TableEncoder | None = getattr(model, "encoder_", None)
    if encoder is not None or not hasattr(model, "feature_names_in_"):
        return encoder
    nominal = {f.name: f.categories for f in getattr(model, "features_", ()) if f.categories is not None}
    names = [str(name) for name in model.feature_names_in_]
    columns = [TableColumn(n, None if n in nominal else Numerals(), levels=nominal.get(n)) for n in names]
    return TableEncoder(tuple(columns), raw=True)


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("--proba", is_flag=True, help="Add a column with the probability of every class.")
@click.option("--scores", is_flag=True, help="Add a column with every score that the prediction is made from.")
@out_option("Write the predictions to FILE.")
@json_option("a report")
def predict(*, model: str, data: str, proba: bool, scores: bool, out: Path | None, json_file: Path | None) -> None:
    """Predict for the samples of DATA with the saved MODEL, one line each; of several quantiles a column each.

    DATA is a file as that of `cvxens fit`. A table's columns may be in any order, and there may be others; what is not
    as it was in the fit, such as a level that it had not, is told on standard error. So is the score, where the target
    is there. Of an npz archive with a training and a test part, the test part is taken.
    """
    import numpy as np
    import pandas as pd

    fitted = cvxens.load_model(model)
    X, y, remarks, _ = _read(data, fitted)
    with printing_warnings(data):
        predicted, added = fitted.predict(X), {}
        if proba:
            added["proba"] = _by_class(fitted, "--proba", "predict_proba", X)
        if scores:
            added["score"] = _by_class(fitted, "--scores", "decision_function", X)
        score = None if y is None else float(fitted.score(X, y))
    columns = {f"{kind}_{name}": values for kind, by_class in added.items() for name, values in by_class.items()}
    each = np.atleast_2d(predicted.T).tolist()
    names = ["prediction"] if len(each) == 1 else [f"prediction_{k}" for k in range(len(each))]
    frame = pd.DataFrame(dict(zip(names, each, strict=True)) | columns, dtype=object)
    text = frame.to_csv(index=False, lineterminator="\n", na_rep="nan")
    write("--out", out, text)
    if out is None:
        click.echo(text, nl=False)
    if score is not None:
        click.echo(f"score {score:.4f}", err=True)
    named = {"proba": "probabilities", "score": "scores"}
    report = {"predictions": predicted.tolist(), "score": score, "notes": list(remarks)}
    write_json(json_file, report | {named[kind]: values for kind, values in added.items()})


def _by_class(fitted: BaseEstimator, option: str, method: str, X: Data) -> dict[str, list[float]]:
    """Return the columns of what a method returns, under the names of the classes that they are of."""
    evaluate = getattr(fitted, method, None)
    if evaluate is None:
        raise InvalidInput(option, f"found a {type(fitted).__name__}, which has no {method} as it is", "leave it out")
    values = evaluate(X)
    # one score of two classes is that of the second
    columns = values.T if values.ndim > 1 else [values]
    names = [str(name) for name in fitted.classes_[-len(columns) :].tolist()]
    return {name: column.tolist() for name, column in zip(names, columns, strict=True)}


@click.command()
@click.argument("model")
@click.argument("data", required=False)
@out_option("Where the page goes.", required=True)
@click.option(
    "--explain", "rows", metavar="ROW", type=int, multiple=True, help="A sample to explain, from 0; several are fine."
)
@click.option("--test", metavar="FILE", help="Samples that the fit has not seen: how good the model is on them.")
@click.option("--title", metavar="TEXT", help="The headline.")
def report(*, model: str, data: str | None, out: Path, rows: list[int], test: str | None, title: str | None) -> None:
    """Write a report of the saved MODEL to FILE: one HTML page, to be opened in a browser.

    It says what the model is and what its certificate proves, draws what every feature and every pair adds to the
    score, lists the rules, and explains the scores of samples of DATA, a file as that of `cvxens fit`: of those that
    --explain names, or of up to 50. Their features are then in the page. Without DATA no sample is. With --test
    DATA are the samples of the fit, and what the model gets right and wrong is told of those in FILE.
    """
    fitted = cvxens.load_model(model)
    X = y = held_out = None
    if data is not None:
        X, y, *_ = _read(data, fitted)
    if test is not None:
        held_out = _read(test, fitted)[:2]
        if data is None or held_out[1] is None:
            found = "found it without DATA" if data is None else f"found no target in {test}"
            raise InvalidInput("--test", found, "give the samples of the fit as DATA, and others with their target")
    with printing_warnings(data or model), writing("--out", out):
        name = None if data is None else Path(data).name
        fitted.report(out, X, y, explain=list(rows) or None, held_out=held_out, title=title, data=name)
    told = "" if X is None else f" on {len(X)} samples"
    click.echo(f"report of {type(fitted).__name__}{told}; saved to {out}")


@click.command()
@click.argument("model")
@click.argument("data", required=False)
@click.option("--tol", type=float, help="The relative gap that is to be proven; by default that of the model.")
@json_option("a report")
def certify(model: str, data: str | None, tol: float | None, json_file: Path | None) -> int:
    """Say how far the saved MODEL is from the optimum of its formulation on DATA, over all hypotheses.

    DATA is a file with features and target, as that of `cvxens fit`. Without it, the certificate of the fit is shown.

    What is proven comes first, in a sentence, the figures below it. Exit status 1 where nothing is proven, or the
    tolerance is missed, as it is by most models on other samples than those of their fit.
    """
    from cvxens.cli.reports import print_certificates, proofs
    from cvxens.report import keeps_promise, list_certificates

    fitted = cvxens.load_model(model)
    name, found = type(fitted).__name__, fitted.certificate_
    if data is not None:
        X, y, *_ = _read(data, fitted)
        if y is None:
            raise InvalidInput(data, "found no target", "give the classes in the last column")
        with printing_warnings(data):
            found = fitted.certify(X, y)
    certificates = list_certificates(found)
    asked = fitted.get_params().get("tol") if tol is None else tol
    proven = proofs(certificates, fitted, "all hypotheses of its oracle", asked)
    for line in proven:
        click.echo(line)
    print_certificates(certificates, fitted)
    dicts = [certificate.to_dict() for certificate in certificates]
    write_json(json_file, {"model": name, "on": data or "the training sample", "certificates": dicts, "proof": proven})
    kept = [keeps_promise(each, asked) if tol is None else each.holds(tol) for each in certificates]
    return 0 if all(kept) else 1


@click.command()
@click.argument("model")
@out_option("Where the ONNX model goes.", required=True)
def export(model: str, out: Path) -> None:
    """Write the saved MODEL to FILE as ONNX.

    That can be done with ensembles of stumps, and with machines whose kernel is a sum over features, such as that of
    stumps. The graph takes the features as numbers, X (n, n_features) of float64, and returns scores and, where there
    are classes, the label. Of a model that was fitted to a table with columns of text, the property "columns" says in
    JSON how they become numbers, and the property "input" how to read it. Ensembles of stumps take the codes 0, 1, ...
    of the categories in a list, and NaN where a value is missing; other models a 0/1 feature for each of the
    categories, and for a missing number the median, which is what stands in place of a list.
    """
    import json

    from sklearn.base import is_classifier

    from cvxens.export import to_onnx

    fitted = cvxens.load_model(model)
    graph, encoder = to_onnx(fitted), _encoder_of(fitted)
    if encoder is not None and encoder.learnt and not encoder.raw:
        told = {entry.key: entry for entry in graph.metadata_props}
        told["input"].value = "numbers, those in columns where missing; 0/1 for each level in the lists of columns"
        graph.metadata_props.add(key="columns", value=json.dumps(encoder.learnt))
    with writing("--out", out):
        out.write_bytes(graph.SerializeToString())
    of_classes = f" and {len(fitted.classes_)} classes" if is_classifier(fitted) else ""
    click.echo(f"{type(fitted).__name__} of {fitted.n_features_in_} features{of_classes}; exported to {out}")


@click.command()
@click.argument("model")
@click.argument("data")
@out_option("Where the proof goes.", required=True)
@out_option("Write numbers to FILE; the proof is about that.", "--plain")
@click.option("--as-fitted", is_flag=True, help="Prove the weights as they were fitted, not the optimum itself.")
@out_option("Its linear program as a VIPR certificate.", "--vipr")
@out_option("Its linear program as FILE.request.json and FILE.response.json of Lean's lp tactic.", "--lean")
@click.option("--restricted", is_flag=True, help="In these the hypotheses that vote alone, not all.")
def prove(
    *,
    model: str,
    data: str,
    out: Path,
    plain: Path | None,
    as_fitted: bool,
    vipr: Path | None,
    lean: Path | None,
    restricted: bool,
) -> None:
    """Prove in rational numbers how far the best of MODEL's formulation is from the optimum on DATA.

    DATA is the CSV or LIBSVM file that the saved MODEL was fitted to, or one with the same columns, and a target of two
    classes. The proof is checked against it by `cvxens check`, and says what its texts and missing values stand for.
    What is not plain text (packed, Parquet, npz, with comments or row names) is proven by --plain FILE, to which the
    features are written as numbers: FILE is then the data of the proof. The model is an ensemble over all stumps, or a
    support vector machine with the kernel of stumps or perceptrons, the Laplacian or the Gaussian one. Where its
    formulation is a linear program, the optimum itself is found over the rationals; else the gap is exact.
    """
    fitted = cvxens.load_model(model)
    if not hasattr(fitted, "prove"):
        raise InvalidInput("MODEL", f"found a {type(fitted).__name__}", "give an LPBoostClassifier, or its like")
    layout, X, y = _lay_out(data, fitted)
    with printing_warnings(data), writing("--out", out):
        proof = fitted.prove(X, y, as_fitted=as_fitted, layout=layout if plain is None else None)
        proof.save(out, plain)
    for option, path, state in (("--vipr", vipr, proof.to_vipr), ("--lean", lean, proof.to_lean)):
        if path is not None:
            with writing(option, path):
                state(path, restricted=restricted)
    click.echo(f"{proof.claim}\nrelative gap {proof.relative_gap:.3g}; saved to {out}")


def _lay_out(path: str, fitted: BaseEstimator) -> tuple[object, object, object]:
    """Read a file for a proof: where its columns are, as the checker finds them, features, and classes."""
    from cvxens.datasets import load_samples
    from cvxens.proofs import Layout

    encoder = _encoder_of(fitted)
    X, y, _, separator = load_samples(path, fitted.n_features_in_, encoder)
    if y is None:
        raise InvalidInput("DATA", "found no target", "give the file that the model was fitted to")
    if len(fitted.classes_) != 2:
        raise InvalidInput("MODEL", f"found one of {len(fitted.classes_)} classes", "give one of two")
    labels = str(fitted.classes_[0]), str(fitted.classes_[1])
    if encoder is None:
        return Layout(list(range(1, X.shape[1] + 1)), 0, labels, "libsvm", "", header=False, path=path), X, y
    names = [c.name for c in encoder.used for _ in range(1 if encoder.raw else len(c.feature_names))]
    return Layout(names, encoder.target, labels, separator=separator or ",", path=path), X, y


@click.command()
@click.argument("proof")
@click.argument("data")
def check(proof: str, data: str) -> int:
    """Check PROOF against DATA by the checker, one file that needs nothing of this library.

    It is printed where it is: the same file runs by itself, python checker.py PROOF DATA. Exit status 1 where the proof
    does not hold.
    """
    from cvxens.proofs import checker

    click.echo(f"checked by {checker.__file__}", err=True)
    return checker.main([proof, data])


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

    chosen, dataset = named(formulation), read_dataset(data, **options).as_signs()
    sample = Sample.from_arrays(dataset.X, dataset.y)
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
def list_all() -> None:
    """List estimators, formulations, kernels, oracles, masters and solvers, with their sources."""
    from cvxens.cli.reports import print_names, read_names

    print_names(read_names())


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def warmup(*, names: Sequence[str]) -> None:
    """Compile what first fits would wait for, once for an installation: of estimators by NAME, or of all."""
    click.echo(f"ready after {cvxens.warmup(*names):.0f} s")
