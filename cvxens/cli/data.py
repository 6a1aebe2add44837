"""Labelled samples as models of every kind take them, scores on samples not seen, and what there is to say of data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target

from cvxens.datasets import Dataset
from cvxens.datasets.reading import FileTable
from cvxens.errors import InvalidInput, refusing
from cvxens.tables import MOST_CATEGORIES, TableEncoder, spell
from cvxens.types import Indices, Labels


@dataclass(frozen=True, eq=False)
class Examples:
    """Labels `y` of samples, and their features `X`, or the table whose columns every model learns to code."""

    X: Any
    y: Labels
    table: FileTable | None = None

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> tuple[Examples, Examples | None]:
        """Return the training part of a data set, and its test part if it has one."""
        tables, y_test = (dataset.table, dataset.table_test), dataset.y_test
        of_train, of_test = (table if isinstance(table, FileTable) else None for table in tables)
        test = None if y_test is None else cls(None if of_test else dataset.X_test, y_test, of_test)
        return cls(None if of_train else dataset.X, dataset.y, of_train), test

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Indices) -> Examples:
        """Return some of the samples."""
        X = None if self.X is None else self.X[rows]
        table = self.table and replace(self.table, frame=self.table.frame.iloc[rows])
        return Examples(X, self.y[rows], table)

    def split(self, share: float, model: BaseEstimator) -> tuple[Examples, Examples]:
        """Return two parts drawn at random, the second of that share, with classes in proportion."""
        if not 0 < share < 1:
            raise InvalidInput("--test-share", f"found {share:g}", "give a number between 0 and 1")
        classes = self.y if is_classifier(model) else None
        if classes is not None:
            names, counts = np.unique(classes, return_counts=True)
            for name in names[counts < 2][:1].tolist():
                found = f"found a class, {name!r}, of one sample, which cannot be in both parts"
                raise InvalidInput("--test-share", found, "leave that sample out, or make it one of another class")
        with refusing("--test-share", f"found {share:g}", "give another share"):
            parts = train_test_split(np.arange(len(self)), test_size=share, random_state=0, stratify=classes)
        return self.take(np.sort(parts[0])), self.take(np.sort(parts[1]))

    def fit(self, model: BaseEstimator) -> Any:
        """Fit a model, which gets the coding of the table's columns as a part."""
        if self.table is None:
            return model.fit(self.X, self.y)
        encoder = self.table.learn(raw=get_tags(model).input_tags.categorical)
        model.fit(self.table.features(encoder), self.y)
        model.encoder_ = encoder
        return model

    def features(self, model: BaseEstimator) -> Any:
        """Return the features as a fitted model takes them."""
        return self.X if self.table is None else self.table.features(model.encoder_)

    def score(self, model: BaseEstimator) -> float:
        """Return the score of a fitted model."""
        return float(model.score(self.features(model), self.y))

    def cross_validate(self, model: BaseEstimator, n_folds: int) -> list[float]:
        """Return the scores of clones of a model on folds that they were not fitted to."""
        folds: Any = StratifiedKFold if is_classifier(model) else KFold
        with refusing("--cv", f"found {n_folds}", "give another number of folds"):
            splits = list(folds(n_folds, shuffle=True, random_state=0).split(np.zeros(len(self)), self.y))
        return [self.take(test).score(self.take(train).fit(clone(model))) for train, test in splits]


def check_target(dataset: Dataset, model: BaseEstimator, named: bool) -> list[str]:
    """Return warnings about a target that is doubtful; `InvalidInput` if it is none of classes, or of numbers."""
    y, table = dataset.y, Examples.from_dataset(dataset)[0].table
    which = f"the column {table.target!r}" if table else "y"
    if is_regressor(model) and y.dtype.kind not in "biuf":
        found = f"found texts, such as {str(y[0])!r}, in {which}, which are no numbers to predict"
        raise InvalidInput("--target", found, "take a classifier, or name a column of numbers by --target")
    if not is_classifier(model):
        return []
    classes = np.unique(y)
    numbers = y.dtype.kind in "biuf"
    # whole numbers or texts of which few are found again count or name the samples
    if _is_continuous(y) or (len(classes) > MOST_CATEGORIES and 2 * len(classes) > len(y)):
        likely = _likely_target(table) if table else ""
        hint = f", such as --target {likely!r}" if likely else ""
        other = f"name the column of classes by --target{hint}" if table else "give classes"
        kind = f"{len(classes)} different {'numbers' if numbers else 'texts'}, such as {classes[0].item()!r}"
        found = f"found {kind}, in {which}, which are no classes"
        remedy = f"take a regressor, such as --model AdditiveRegressor, or {other}" if numbers else other
        raise InvalidInput("--target", found, remedy)
    if not named and table is not None and y.dtype.kind == "i" and len(classes) > MOST_CATEGORIES:
        return [f"the target is {which}, the last one, with {len(classes)} classes: --target names another"]
    return _doubt_spelling(classes)


def choose_model(dataset: Dataset) -> tuple[str, str]:
    """Return the name of the estimator to begin with, and why it is this one."""
    n_values = len(np.unique(dataset.y))
    if _are_numbers(dataset.y, n_values):
        return "AdditiveRegressor", f"the target has {n_values} different numbers"
    return "AdditiveClassifier", f"the target has {n_values} classes"


def _are_numbers(y: Labels, n_values: int) -> bool:
    """Return True of a target of so many different values that are rather numbers than classes."""
    return _is_continuous(y) or (y.dtype.kind in "if" and n_values > MOST_CATEGORIES)


def _is_continuous(y: Labels) -> bool:
    return str(type_of_target(y)).startswith("continuous")


def _doubt_spelling(classes: Labels) -> list[str]:
    """Return a warning about each class that differs from another one in capital letters alone."""
    spelt: dict[str, list[str]] = {}
    for name in classes.tolist():
        spelt.setdefault(str(name).casefold(), []).append(str(name))
    return [f"the classes {' and '.join(map(repr, n))} differ in capital letters only" for n in spelt.values() if n[1:]]


def _likely_target(table: FileTable) -> str:
    """Return the column that is most likely one of classes: the outer ones first, with few values; "" for none."""
    names, few = table.names, range(2, min(MOST_CATEGORIES, len(table.frame) // 2) + 1)
    return next((name for name in [names[-1], *names[:-1]] if table.frame[name].nunique() in few), "")


def describe_labels(y: Labels) -> str:
    """Return the classes with their counts, or the range of numbers that are no classes."""
    classes, counts = np.unique(y, return_counts=True)
    if _is_continuous(y):
        return f"numbers from {classes[0]:g} to {classes[-1]:g}"
    shown = zip(classes[:MOST_CATEGORIES].tolist(), counts.tolist(), strict=False)
    more = f" and {len(classes) - MOST_CATEGORIES} more" if len(classes) > MOST_CATEGORIES else ""
    return f"{len(classes)} classes ({', '.join(f'{name}: {count}' for name, count in shown)}{more})"


def describe(dataset: Dataset, *, named: bool) -> dict[str, Any]:
    """Return what there is to say of a data set, as JSON has it; `named` if its target was asked for."""
    classes, counts = np.unique(dataset.y, return_counts=True)
    table, encoder = Examples.from_dataset(dataset)[0].table, dataset.encoder
    by_class = dict(zip(map(str, classes.tolist()), counts.tolist(), strict=True))
    return {
        "name": dataset.name,
        "n_samples": len(dataset.y),
        "n_features": int(dataset.X.shape[1]),
        "n_test": 0 if dataset.y_test is None else len(dataset.y_test),
        "target": table.target if table else None,
        "labels": describe_labels(dataset.y),
        "classes": None if _is_continuous(dataset.y) else by_class,
        "columns": _describe_columns(table, encoder) if table and encoder else [],
        "notes": list(table.notes if table else dataset.notes),
        "warnings": _find_doubts(dataset, counts.tolist(), named),
    }


def _describe_columns(table: FileTable, encoder: TableEncoder) -> list[dict[str, Any]]:
    """Return a row of the report per column but the target, with its use as `encoder` has it."""
    described = []
    for column in encoder.columns:
        cells = table.cells(column.name)
        distinct = sorted(set(spell(cells.dropna())))
        values = ", ".join(distinct[:3]) + (", ..." if len(distinct) > 3 else "")
        if column.kind == "numeric":
            numbers = column.raw(cells)
            values = f"{np.nanmin(numbers):g} to {np.nanmax(numbers):g}"
        found = {"distinct": len(distinct), "missing": int(cells.isna().sum()), "values": values}
        described.append({"name": column.name, "kind": column.kind, **found, "use": column.note or "as it is"})
    return described


def _find_doubts(dataset: Dataset, counts: list[int], named: bool) -> list[str]:
    """Return what may be wrong with a data set."""
    y, X = dataset.y, dataset.X
    doubts = []
    if _are_numbers(y, len(counts)):
        other = _likely_target(dataset.table) if isinstance(dataset.table, FileTable) and not named else ""
        hint = f"; --target {other!r} would name another column" if other else ""
        found = f"the target has {len(counts)} different numbers"
        doubts.append(f"{found}: is it one of classes, or for a regressor?{hint}")
    elif min(counts) < 5:
        doubts.append(f"a class has {min(counts)} sample{'s' * (min(counts) > 1)} only")
    doubts += _doubt_spelling(np.unique(y))
    if not _is_continuous(y) and len(counts) > 1 and max(counts) > 20 * min(counts):
        doubts.append("the largest class is more than 20 times the smallest: see class_weight")
    constant = [name for name, flat in zip(dataset.feature_names, np.ptp(X, axis=0) == 0, strict=True) if flat]
    if constant:
        doubts.append(f"constant features: {', '.join(constant[:5])}{', ...' if len(constant) > 5 else ''}")
    if len(y) > 4 and y.dtype.kind != "f":
        order = [name for name, x in zip(dataset.feature_names, X.T, strict=True) if (np.diff(x) == 1).all()]
        doubts += [f"{name} counts the rows: --drop leaves it out if it is no measurement" for name in order[:1]]
    return doubts
