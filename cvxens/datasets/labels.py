"""Labels as they stand in files, and their translation into signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.tables import NUMBER
from cvxens.types import Array

MISSING = frozenset({"", "?", "NA", "NaN", "nan", "None"})
LARGEST_EXACT_INTEGER = 2.0**53


def clean_labels(y: Any) -> NDArray:
    """Return labels as int64 if all are whole numbers, float64 if all are numbers, text otherwise.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Numbers, booleans or text; text that spells numbers counts as numbers.

    Returns
    -------
    ndarray of shape (n_samples,)
        The same labels.

    Raises
    ------
    InvalidInput
        If `y` is empty, not one-dimensional, or holds missing or infinite labels.

    Examples
    --------
    >>> clean_labels(["10", "9"])
    array([10,  9])
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise InvalidInput("y", f"found shape {labels.shape}", "give one label per sample, (n_samples,)")
    if labels.dtype.kind not in "biuf":
        labels = labels.astype(str)
        if absent := MISSING.intersection(labels):
            raise InvalidInput("y", f"found the missing label '{min(absent)}'", "remove its samples")
        if not all(map(NUMBER.fullmatch, labels)):
            return labels
    numbers = labels.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InvalidInput("y", f"found the label {numbers[~np.isfinite(numbers)][0]}", "remove its samples")
    whole = (numbers == np.rint(numbers)).all() and np.abs(numbers).max() < LARGEST_EXACT_INTEGER
    return numbers.astype(np.int64) if whole else numbers


def as_signs(y: Any, *, classes: Any = None) -> Array:
    """Turn the labels of two classes into signs: +1 for the larger label, -1 for the smaller.

    Numbers are compared as numbers (also where text spells them), text in alphabetical order.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes.
    classes : array-like, optional
        The two classes (or all labels of the training part), for a `y` in which one of them may be
        absent, as in a small test part. Taken from `y` if not given.

    Returns
    -------
    ndarray of shape (n_samples,)
        Labels in {-1, +1}.

    Raises
    ------
    InvalidInput
        If there are not exactly two classes, or `y` holds a label that is not in `classes`.

    Examples
    --------
    >>> as_signs(["ham", "spam", "ham"])
    array([-1.,  1., -1.])
    >>> as_signs([10, 10], classes=[9, 10])
    array([1., 1.])
    """
    stated = np.ravel(np.asarray(y if classes is None else classes))
    labels = clean_labels(np.concatenate([stated, np.asarray(y)]) if np.ndim(y) == 1 else y)
    two, y = np.unique(labels[: stated.size]), labels[stated.size :]
    if len(two) != 2:
        raise InvalidInput(
            "y",
            f"found labels that are not two classes but {len(two)}: {class_counts(labels[: stated.size])}",
            "give samples of exactly two classes, or one class against the rest",
        )
    if not np.isin(y, two).all():
        raise InvalidInput(
            "y",
            f"found labels outside the classes {two[0]} and {two[1]}: {class_counts(y)}",
            "drop those samples",
        )
    return np.where(y == two[1], 1.0, -1.0)


def class_counts(y: NDArray, most: int = 12) -> str:
    """Return the classes of `y` and how many samples each has, as text like ``a: 3, b: 5``."""
    classes, counts = np.unique(y, return_counts=True)
    listed = [f"{label}: {count}" for label, count in zip(classes[:most], counts[:most], strict=True)]
    return ", ".join(listed) + (", ..." if len(classes) > most else "")
