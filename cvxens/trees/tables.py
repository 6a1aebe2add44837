"""Tables of numeric and nominal features with missing values, read from arrays, rows or data frames."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cvxens.errors import DataFileError, InvalidInput
from cvxens.types import Array
from cvxens.validation import one_each

MISSING = frozenset({"", "?"})
"""The strings that stand for a missing value, blanks stripped; None and NaN do anywhere."""


@dataclass(frozen=True)
class Feature:
    """The name of a column and the categories of its values, in the order of their codes; None if it is numeric.

    Categories are empty if no value was known: then every value counts as missing.
    """

    name: str
    categories: tuple[str, ...] | None = None

    @property
    def n_values(self) -> int:
        """The number of categories, 0 for a numeric feature."""
        return len(self.categories or ())

    def tell(self, value: float) -> str:
        """Return a value, or the code of a category, as people read it.

        Examples
        --------
        >>> Feature("age").tell(71.25), Feature("sky", ("blue", "grey")).tell(1.0), Feature("age").tell(np.nan)
        ('71.25', 'grey', 'missing')
        """
        if np.isnan(value):
            return "missing"
        return f"{value:.4g}" if self.categories is None else self.categories[int(value)]


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
        cells, _ = read_cells(X)
        names = [c.name for c in cells] if names is None else list(names)
        if len(set(names)) != len(cells) or len(names) != len(cells):
            raise InvalidInput("names", f"found {names} for {len(cells)} columns", "give one distinct name per column")
        chosen = {_position(names, column) for column in nominal}
        return _encode(cells, [column.feature(names[j], j in chosen) for j, column in enumerate(cells)])

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
    if isinstance(X, Table):
        if X.features == features:
            return X
        cells, named = [Cells.from_codes(f, column) for f, column in zip(X.features, X.columns, strict=True)], True
    else:
        cells, named = read_cells(X)
    if named:
        by_name = {c.name: c for c in cells}
        absent = [f.name for f in features if f.name not in by_name]
        if absent:
            raise InvalidInput("X", f"found no columns {absent}", "give a frame with the columns learned from")
        cells = [by_name[f.name] for f in features]
    one_each("X", cells, len(features), "feature")
    return _encode(cells, features)


def find_features(X: Any) -> tuple[Feature, ...] | None:
    """Return what the columns of a data frame are, if some are nominal: categories, strings or booleans by their type.

    Examples
    --------
    >>> import pandas as pd
    >>> find_features(pd.DataFrame({"age": [31, 45], "town": ["Ulm", None]}))
    (Feature(name='age', categories=None), Feature(name='town', categories=('Ulm',)))
    >>> find_features(pd.DataFrame({"age": [31, 45]})) is None
    True
    """
    if not hasattr(X, "columns"):
        return None
    cells, _ = read_cells(X)
    nominal = [column.name for column, dtype in zip(cells, X.dtypes, strict=True) if _is_nominal(column, str(dtype))]
    return Table.read(X, nominal=nominal).features if nominal else None


def encode(features: tuple[Feature, ...], X: Any) -> Any:
    """Return a data frame of the same columns, numbers and codes of categories; NaN where missing or unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> encode((Feature("town", ("Bonn", "Ulm")),), pd.DataFrame({"town": ["Ulm", "Rome"]}))
       town
    0   1.0
    1   NaN
    """
    if not hasattr(X, "columns"):
        remedy = f"give one with the columns {', '.join(feature.name for feature in features[:5])}"
        raise InvalidInput("X", "found no data frame, after a fit to one with nominal columns", remedy)
    return type(X)(dict(zip(X.columns, match(features, X).columns, strict=True)))


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
        if row[at].strip() in MISSING:
            raise DataFileError("lines", f"found no label in record {i}", "leave the record out")
    others = [row[:at] + row[at + 1 :] for row in rows]
    table = Table.read(others, names=header[:at] + header[at + 1 :], nominal=nominal)
    return table, np.array([row[at].strip() for row in rows])


@dataclass(frozen=True, eq=False)
class Cells:
    """One column (n_samples,), of any type, before it is known to be numeric or nominal."""

    name: str
    values: NDArray
    missing: NDArray[np.bool_]

    @classmethod
    def from_values(cls, name: str, values: NDArray, missing: NDArray[np.bool_] | None = None) -> Cells:
        """Mark what is missing, besides a frame's own nulls, among numbers, booleans, strings or objects."""
        kind = values.dtype.kind
        if kind not in "biufOUT":
            raise InvalidInput("X", f"found {values.dtype} in column {name!r}", "convert it to numbers or to strings")
        missing = np.zeros(len(values), dtype=bool) if missing is None else missing
        if kind == "f":
            missing = missing | np.isnan(values)
        elif kind in "OUT":
            missing = missing | np.fromiter(map(_is_missing, values, missing), bool, len(values))
        return cls(name, values, missing)

    @classmethod
    def from_codes(cls, feature: Feature, column: Array) -> Cells:
        """Return the values that a table's codes stand for."""
        missing = np.isnan(column)
        codes = np.where(missing, 0, column).astype(np.int64)
        return cls(feature.name, np.array(feature.categories)[codes] if feature.categories else column, missing)

    def numbers(self) -> Array | None:
        """Return the column as float64, NaN where missing; None if a known value does not read as a finite number."""
        known = self.values[~self.missing]
        if known.dtype.kind == "b" or (known.dtype.kind in "OUT" and any(map(_is_never_a_number, known))):
            return None
        column = np.full(len(self.values), np.nan)
        try:
            column[~self.missing] = known.astype(np.float64)
        except (TypeError, ValueError):
            return None
        if np.isfinite(column[~self.missing]).all():
            return column
        # "inf" and "nan" among strings are words; among numbers infinity is a mistake
        if all(isinstance(value, str) for value in known):
            return None
        raise InvalidInput("X", f"found infinity in column {self.name!r}", "give finite numbers, None where missing")

    def labels(self) -> list[str | None]:
        """Return each value's category, None where missing; 3, 3.0 and "3" are one category."""
        return [None if gone else _label(value) for value, gone in zip(self.values, self.missing, strict=True)]

    def feature(self, name: str, nominal: bool) -> Feature:
        """Return what the column is: numeric if it can be and need not be nominal."""
        if nominal or self.missing.all() or self.numbers() is None:
            return Feature(name, tuple(sorted({label for label in self.labels() if label is not None})))
        return Feature(name)

    def encode(self, feature: Feature) -> Array:
        """Return the column as numbers or codes of categories, NaN where missing or of no category."""
        if feature.categories is not None:
            codes: dict[str | None, float] = {category: float(code) for code, category in enumerate(feature.categories)}
            return np.array([codes.get(label, np.nan) for label in self.labels()])
        numbers = self.numbers()
        if numbers is None:
            found = f"found values of {feature.name!r} that are not finite numbers"
            raise InvalidInput("X", found, "give numbers, or None where missing")
        return numbers


def read_cells(X: Any) -> tuple[list[Cells], bool]:
    """Return the columns of `X`, an array, rows or a frame, and whether they bear names of their own."""
    if hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        if not names or len(set(names)) < len(names) or not len(X):
            found = f"found {len(X)} rows under {names}"
            raise InvalidInput("X", found, "give a frame with rows and distinctly named columns")
        cells = []
        for name, key in zip(names, X.columns, strict=True):
            # pandas says isna where polars says is_null
            missing = X[key].isna() if hasattr(X[key], "isna") else X[key].is_null()
            missing = np.asarray(missing.to_numpy(), dtype=bool)
            cells.append(Cells.from_values(name, np.asarray(X[key].to_numpy()), missing))
        return cells, True
    try:
        rows = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    except ValueError:
        raise InvalidInput("X", "found rows of different lengths", "give rows of equal length") from None
    if rows.ndim != 2:
        raise InvalidInput("X", f"found {rows.ndim} dimensions, shape {rows.shape}", "give rows of equal length")
    if rows.size == 0:
        raise InvalidInput("X", f"found no data, shape {rows.shape}", "give at least one row and one column")
    return [Cells.from_values(f"x{j}", column) for j, column in enumerate(rows.T)], False


def _is_nominal(column: Cells, dtype: str) -> bool:
    known = column.values[~column.missing]
    if dtype.lower().startswith(("category", "categorical", "enum")) or known.dtype.kind in "bUT":
        return True
    return known.dtype.kind == "O" and (not known.size or any(isinstance(v, str | bool | np.bool_) for v in known))


def _is_missing(value: Any, known_missing: bool) -> bool:
    if known_missing or value is None:
        return True
    return value.strip() in MISSING if isinstance(value, str) else isinstance(value, float) and isnan(value)


def _is_never_a_number(value: Any) -> bool:
    # Python reads "1_0" as 10, and True as 1
    return isinstance(value, bool | np.bool_) or (isinstance(value, str) and "_" in value)


def _label(value: Any) -> str:
    # fifteen digits are what any decimal number keeps as a float
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{value:.15g}"
    return str(value).strip()


def _encode(cells: Sequence[Cells], features: Sequence[Feature]) -> Table:
    return Table(tuple(features), np.array([c.encode(feature) for c, feature in zip(cells, features, strict=True)]))


def _position(names: Sequence[str], column: str | int) -> int:
    if column in names:
        return names.index(str(column))
    if isinstance(column, int) and -len(names) <= column < len(names):
        return column % len(names)
    raise InvalidInput("nominal", f"found {column!r}", f"name columns among {list(names)} or give their positions")
