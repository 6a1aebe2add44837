"""The record that every loader hands over, and labels: as they stand in files, and as signs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from cvxens.errors import InvalidInput
from cvxens.tables import NUMBER, TableEncoder
from cvxens.types import Array, Labels, Matrix, Numbers

Split = tuple[Numbers, Numbers]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as it stands in its file.

    Parameters
    ----------
    X : ndarray or scipy.sparse.csr_array of shape (n_samples, n_features)
        Finite float64 features. A dense matrix that would take more than 256 MiB as float64 keeps the
        smaller number type of its file, and `notes` says so. Sparse only if it was asked for.
    y : ndarray of shape (n_samples,)
        Labels as in the file: int64, float64, or text. `as_signs` turns two classes into -1 and +1.
    feature_names : tuple of str
        One name per feature.
    name, source : str
        What the set is called and where it comes from.
    X_test, y_test : as X and y, or None
        The test part, where there is one.
    notes : tuple of str
        What was done to the file's values (columns left out or recoded, missing values), and what its author says.
    splits : tuple of (train, test) pairs of ndarray
        Published partitions of the samples of `X` into training and test rows, as row numbers.
    encoder : TableEncoder or None
        How each column of a table but the target became features.
    table, table_test : FileTable or None
        The tables as they are in the files.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(3), np.array(["no", "yes", "no"]), ("a", "b", "c"), "tiny")
    >>> data
    Dataset(name='tiny', source='')
    >>> data.as_signs().y
    array([-1.,  1., -1.])
    """

    X: Matrix = field(repr=False)
    y: Labels = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    name: str
    source: str = ""
    X_test: Matrix | None = field(default=None, repr=False)
    y_test: Labels | None = field(default=None, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    splits: tuple[Split, ...] = field(default=(), repr=False)
    encoder: TableEncoder | None = field(default=None, repr=False)
    # FileTable of the module `reading`, which makes data sets and so imports this one
    table: object = field(default=None, repr=False)
    table_test: object = field(default=None, repr=False)

    def as_signs(self) -> Dataset:
        """Return this set with labels -1 and +1, the larger label of the training part being +1.

        Raises
        ------
        InvalidInput
            The labels are not two classes; the error lists the classes and their counts.
        """
        y_test = None if self.y_test is None else as_signs(self.y_test, classes=self.y)
        return replace(self, y=as_signs(self.y), y_test=y_test)

    def as_csr(self) -> Dataset:
        """Return this set with features as float64 `scipy.sparse.csr_array`."""
        from scipy.sparse import csr_array

        X_test = None if self.X_test is None else csr_array(self.X_test, dtype=np.float64)
        return replace(self, X=csr_array(self.X, dtype=np.float64), X_test=X_test)


def clean_labels(y: ArrayLike) -> Labels:
    """Return labels as int64 if all are whole numbers, float64 if all are numbers, text otherwise.

    Text that spells numbers counts as numbers. `InvalidInput` if `y` is empty, not one-dimensional, or holds missing
    or infinite labels.

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
        if absent := {"", "?", "NA", "NaN", "nan", "None"}.intersection(labels):
            raise InvalidInput("y", f"found the missing label '{min(absent)}'", "remove its samples")
        if not all(map(NUMBER.fullmatch, labels)):
            return labels
    numbers = labels.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InvalidInput("y", f"found the label {numbers[~np.isfinite(numbers)][0]}", "remove its samples")
    # up to there every whole number is a float64
    whole = (numbers == np.rint(numbers)).all() and np.abs(numbers).max() < 2.0**53
    return numbers.astype(np.int64) if whole else numbers


def as_signs(y: ArrayLike, *, classes: object = None) -> Array:
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
    # cleaned together, so that classes and labels are of one type
    stated = np.ravel(np.asarray(y if classes is None else classes))
    labels = clean_labels(np.concatenate([stated, np.asarray(y)]) if np.ndim(y) == 1 else y)
    two, y = np.unique(labels[: stated.size]), labels[stated.size :]
    if len(two) != 2:
        found = f"found labels that are not two classes but {len(two)}: {_count_classes(labels[: stated.size])}"
        raise InvalidInput("y", found, "give samples of exactly two classes, or one class against the rest")
    if not np.isin(y, two).all():
        found = f"found labels outside the classes {two[0]} and {two[1]}: {_count_classes(y)}"
        raise InvalidInput("y", found, "drop those samples")
    return np.where(y == two[1], 1.0, -1.0)


def _count_classes(y: Labels, most: int = 12) -> str:
    """Return the classes of `y` and how many samples each has, as text like ``a: 3, b: 5``."""
    classes, counts = np.unique(y, return_counts=True)
    listed = [f"{label}: {count}" for label, count in zip(classes[:most], counts[:most], strict=True)]
    return ", ".join(listed) + (", ..." if len(classes) > most else "")
