"""The record that every loader hands over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from cvxens.datasets.labels import as_signs
from cvxens.datasets.table import RawTable
from cvxens.tables import TableEncoder

Split = tuple[NDArray, NDArray]


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
        Of a table, how each column but the target became features.
    table, table_test : RawTable or None
        Of tables, what is in the files.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(3), np.array(["no", "yes", "no"]), ("a", "b", "c"), "tiny")
    >>> data
    Dataset(name='tiny', source='')
    >>> data.as_signs().y
    array([-1.,  1., -1.])
    """

    X: Any = field(repr=False)
    y: NDArray = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    name: str
    source: str = ""
    X_test: Any = field(default=None, repr=False)
    y_test: NDArray | None = field(default=None, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    splits: tuple[Split, ...] = field(default=(), repr=False)
    encoder: TableEncoder | None = field(default=None, repr=False)
    table: RawTable | None = field(default=None, repr=False)
    table_test: RawTable | None = field(default=None, repr=False)

    def as_signs(self) -> Dataset:
        """Return this set with labels -1 and +1, the larger label of the training part being +1.

        Raises
        ------
        InvalidInput
            If the labels are not two classes; the error lists the classes and their counts.
        """
        y_test = None if self.y_test is None else as_signs(self.y_test, classes=self.y)
        return replace(self, y=as_signs(self.y), y_test=y_test)
