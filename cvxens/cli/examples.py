"""Labelled samples as models of every kind take them, and scores on samples that a model has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target

from cvxens.datasets import Dataset
from cvxens.datasets.tabular import FileTable
from cvxens.errors import InvalidInput

MANY_CLASSES = 20
"""More whole numbers than that may be no classes, but numbers."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Samples and their labels; of a table, the table.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features) or None
        Features, if they are from no table.
    y : ndarray of shape (n_samples,)
        Labels.
    table : FileTable or None
        The table, whose columns every model learns to code.
    """

    X: Any
    y: NDArray
    table: FileTable | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> tuple[Examples, Examples | None]:
        """Return the training part of a data set, and its test part if it has one."""
        train = cls(None if dataset.table else dataset.X, dataset.y, dataset.table)
        if dataset.y_test is None:
            return train, None
        return train, cls(None if dataset.table_test else dataset.X_test, dataset.y_test, dataset.table_test)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray) -> Examples:
        """Return some of the samples."""
        X = None if self.X is None else self.X[rows]
        return Examples(X, self.y[rows], None if self.table is None else self.table.take(rows))

    def split(self, share: float, model: Any) -> tuple[Examples, Examples]:
        """Return two parts drawn at random, the second of that share, with classes in proportion."""
        if not 0 < share < 1:
            raise InvalidInput("--test-share", f"found {share:g}", "give a number between 0 and 1")
        try:
            parts = train_test_split(
                np.arange(len(self)), test_size=share, random_state=0, stratify=self.y if is_classifier(model) else None
            )
        except ValueError as error:
            raise InvalidInput("--test-share", f"found {share:g} ({error})", "give another share") from None
        return self.take(np.sort(parts[0])), self.take(np.sort(parts[1]))

    def fit(self, model: Any) -> Any:
        """Fit a model, which gets the coding of the table's columns as a part."""
        if self.table is None:
            return model.fit(self.X, self.y)
        encoder = self.table.learn(raw=get_tags(model).input_tags.categorical)
        model.fit(self.table.features(encoder), self.y)
        model.encoder_ = encoder
        return model

    def score(self, model: Any) -> float:
        """Return the score of a fitted model."""
        return float(model.score(self.X if self.table is None else self.table.features(model.encoder_), self.y))

    def cross_validate(self, model: Any, n_folds: int) -> list[float]:
        """Return the scores of clones of a model on folds that they were not fitted to."""
        folds: Any = StratifiedKFold if is_classifier(model) else KFold
        try:
            splits = list(folds(n_folds, shuffle=True, random_state=0).split(np.zeros(len(self)), self.y))
        except ValueError as error:
            raise InvalidInput("--cv", f"found {n_folds} ({error})", "give another number of folds") from None
        return [self.take(test).score(self.take(train).fit(clone(model))) for train, test in splits]


def check_target(dataset: Dataset, model: Any, named: bool) -> str:
    """Return a warning about a target that is doubtful, or nothing.

    Raises
    ------
    InvalidInput
        The target is of numbers that are no classes, for a classifier.
    """
    if not is_classifier(model):
        return ""
    y, table = dataset.y, dataset.table
    classes = np.unique(y)
    which = f"the column {table.target!r}" if table else "y"
    if type_of_target(y).startswith("continuous"):
        likely = likely_target(table) if table else ""
        named_by = f"--target, such as --target {likely!r}" if likely else "--target"
        raise InvalidInput(
            "--target",
            f"found {len(classes)} different numbers, such as {classes[0]:g}, in {which}, which are no classes",
            f"name the column of classes by {named_by}" if table else "give classes, or a model for regression",
        )
    if not named and table is not None and y.dtype.kind == "i" and len(classes) > MANY_CLASSES:
        return f"the target is {which}, the last one, with {len(classes)} classes: --target names another"
    return ""


def likely_target(table: FileTable) -> str:
    """Return the column that is most likely one of classes: the outer ones first, with few values; "" for none."""
    names = table.names
    candidates = [names[-1], names[0], *names[1:-1]]
    few = (name for name in candidates if 2 <= table.frame[name].nunique() <= min(MANY_CLASSES, len(table.frame) // 2))
    return next(few, "")


def describe_labels(y: NDArray) -> str:
    """Return the classes with their counts, or the range of numbers that are no classes."""
    classes, counts = np.unique(y, return_counts=True)
    if type_of_target(y).startswith("continuous"):
        return f"numbers from {classes[0]:g} to {classes[-1]:g}"
    shown = zip(classes[:MANY_CLASSES].tolist(), counts.tolist(), strict=False)
    more = f" and {len(classes) - MANY_CLASSES} more" if len(classes) > MANY_CLASSES else ""
    return f"{len(classes)} classes ({', '.join(f'{name}: {count}' for name, count in shown)}{more})"
