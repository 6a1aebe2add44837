"""Tables of numeric and nominal features with missing values, read from arrays, rows or data frames."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cvxens.errors import DataFileError, InvalidInput
from cvxens.tables import MISSING_IN_MEMORY, Feature, encode_columns, read_columns
from cvxens.types import Array


@dataclass(frozen=True, eq=False)
class Table:
    """Numeric and nominal features of the same samples, with missing values.

    `Table.read` makes one of anything tabular; `match` encodes other samples in the same way.

    Parameters
    ----------
    features : tuple of Feature
        One per column.
    columns : ndarray of shape (n_features, n_samples)
        Numbers, or codes of categories 0, 1, ...; NaN where missing.

    Examples
    --------
    >>> table = Table.read([[71.5, "rain"], [None, "sunny"], [64, "?"]])
    >>> table.features
    (Feature(name='x0', categories=None), Feature(name='x1', categories=('rain', 'sunny')))
    >>> table.columns
    array([[71.5,  nan, 64. ],
           [ 0. ,  1. ,  nan]])
    """

    features: tuple[Feature, ...]
    columns: Array

    def __post_init__(self) -> None:
        if self.columns.ndim != 2 or len(self.columns) != len(self.features) or self.columns.size == 0:
            raise InvalidInput(
                "columns", f"found shape {self.columns.shape}", f"give ({len(self.features)}, n_samples)"
            )
        for feature, column in zip(self.features, self.columns, strict=True):
            known = column[~np.isnan(column)]
            numeric = feature.categories is None
            if not (np.isfinite(known).all() if numeric else np.isin(known, np.arange(feature.n_values)).all()):
                raise InvalidInput(
                    "columns", f"found a value that {feature!r} cannot have", "make tables by Table.read"
                )

    def __len__(self) -> int:
        return self.columns.shape[1]

    @classmethod
    def read(cls, X: Any, *, names: Sequence[str] | None = None, nominal: Iterable[str | int] = ()) -> Table:
        """Make a table of `X`.

        A column is numeric if every known value is a finite number or a string that reads as one; otherwise, and if
        it holds booleans, nominal. A column without known values is nominal without categories; no tree can use it.

        Parameters
        ----------
        X : Table, array, data frame or sequence of rows
            Of shape (n_samples, n_features). Missing are None, NaN, a frame's own nulls, and the strings "" and "?".
            Data frames are those of pandas or polars.
        names : sequence of str, optional
            Distinct names of the columns; if None, a frame's own, or x0, x1, ...
        nominal : iterable of str or int
            Names or positions of columns whose numbers are codes of categories.

        Raises
        ------
        InvalidInput
            No rows, rows of different lengths, infinity, columns of dates or other types, an unknown name in
            `nominal`, or `names` or `nominal` for what is a table already.
        """
        nominal = tuple(nominal)
        if isinstance(X, Table):
            if names is not None or nominal:
                raise InvalidInput("X", "found a table, whose features are settled", "leave out names and nominal")
            return X
        cells, _ = read_columns(X)
        names = list(cells) if names is None else list(names)
        if len(set(names)) != len(cells) or len(names) != len(cells):
            raise InvalidInput("names", f"found {names} for {len(cells)} columns", "give one distinct name per column")
        chosen = {_position(names, column) for column in nominal}
        columns = dict(zip(names, cells.values(), strict=True))
        features = [Feature.learn(*each, nominal=j in chosen) for j, each in enumerate(columns.items())]
        return cls(tuple(features), encode_columns(features, columns, True))

    def take(self, rows: ArrayLike) -> Table:
        """Return the samples at `rows` (indices or a mask) under the same features."""
        return Table(self.features, self.columns[:, np.asarray(rows)])

    @cached_property
    def distinct(self) -> tuple[Array, ...]:
        """The sorted distinct known values of each feature."""
        return tuple(np.unique(column[~np.isnan(column)]) for column in self.columns)


def match(features: tuple[Feature, ...], X: Any) -> Table:
    """Encode `X` as a table of the given features: samples to predict, as those that were learned from.

    `X` is anything that `Table.read` takes. The columns of tables and data frames are found by name, others are
    ignored; those of arrays and rows go by position. A category that is not among those of its feature becomes a
    missing value.

    Raises
    ------
    InvalidInput
        Missing columns, or a numeric feature with values that are not numbers.

    Examples
    --------
    >>> match((Feature("sky", ("clear", "grey")),), [["grey"], ["green"]]).columns
    array([[ 1., nan]])
    """
    if not isinstance(X, Table):
        return Table(features, encode_columns(features, *read_columns(X)))
    if X.features == features:
        return X
    cells = {known.name: known.decode(values) for known, values in zip(X.features, X.columns, strict=True)}
    return Table(features, encode_columns(features, cells, True))


def read_csv(
    lines: Iterable[str], *, target: str | None = None, nominal: Iterable[str | int] = ()
) -> tuple[Table, NDArray[np.str_]]:
    """Read CSV lines under a header line into a table and the labels, an array of str (n_samples,).

    Parameters
    ----------
    lines : iterable of str
        An open text file, or lines. Missing values are empty or ``?``.
    target : str, optional
        The column of labels, by default the last; a label is never missing. The table has all others.
    nominal : iterable of str or int
        As for `Table.read`.

    Raises
    ------
    DataFileError
        No lines, a line of another length than the header, no such target, or a missing label.

    Examples
    --------
    >>> table, y = read_csv(["sky,heat,play", "clear,30,no", "grey,?,yes"])
    >>> [f.name for f in table.features], y.tolist()
    (['sky', 'heat'], ['no', 'yes'])
    """
    header, *rows = list(csv.reader(lines)) or [[]]
    target = header[-1] if target is None and header else target
    if target not in header:
        raise DataFileError("target", f"found {target!r} and the columns {header}", "name one of the columns")
    at = header.index(target)
    if not rows:
        raise DataFileError("lines", "found no line below the header", "give at least one sample")
    for i, row in enumerate(rows, 1):
        if len(row) != len(header):
            found = f"found {len(row)} cells in record {i}"
            raise DataFileError("lines", found, f"give {len(header)}, as in the header")
        if row[at].strip() in MISSING_IN_MEMORY:
            raise DataFileError("lines", f"found no label in record {i}", "leave the record out")
    others = [row[:at] + row[at + 1 :] for row in rows]
    table = Table.read(others, names=header[:at] + header[at + 1 :], nominal=nominal)
    return table, np.array([row[at].strip() for row in rows])


def _position(names: Sequence[str], column: str | int) -> int:
    if column in names:
        return names.index(str(column))
    if isinstance(column, int) and -len(names) <= column < len(names):
        return column % len(names)
    raise InvalidInput("nominal", f"found {column!r}", f"name columns among {list(names)} or give their positions")
