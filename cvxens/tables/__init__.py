"""Tables as people have them: what their columns are, and how these become features; learnt of one, applied to any.

A `Feature` is what learners see of a column that they take as it is: numbers, or codes of categories, perhaps missing;
a `Table` has them with their values. A `TableColumn` of a `TableEncoder` is what a table as people have it holds:
quantities (numbers, or dates as days since 1970), levels (one 0/1 feature each), or what is left out. These records are
part of saved models: their fields are plain values. Cells are a `pandas.Series` as `read_cells` makes them.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cvxens.errors import InvalidInput, refusing
from cvxens.tables.numerals import (
    NUMBER,
    Dates,
    Numerals,
    choose_decimal_mark,
    count_days,
    is_numeral,
    recognise_dates,
    recognise_numerals,
    tell_what_is_unread,
)
from cvxens.types import Array, Cells, Data, Frame, Indices, Labels
from cvxens.validation import one_each

__all__ = [
    "MOST_CATEGORIES", "NUMBER", "Dates", "Feature", "Numerals", "OddCell", "Table", "TableColumn", "TableEncoder",
    "choose_decimal_mark", "columns_of", "encode", "find_features", "find_words", "is_frame", "match", "read_cells",
    "recognise_numerals", "spell",
]  # fmt: skip

MISSING = frozenset({"", "?", "NA", "<NA>", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "NULL", "null", "NaT"})
"""Texts that stand for a missing value in files, as in pandas, and the question mark."""

PLAIN = Numerals()
"""Numbers as Python writes them."""

MOST_CATEGORIES = 20
"""Beyond that number of levels a column may rather be identifiers, or numbers with a slip; a target, numbers."""

FEWEST_IDENTIFIERS = 5
"""The texts of a column that are all different identify samples; fewer may be categories of a tiny table."""


class OddCell(InvalidInput):
    """A cell that cannot be what its column is: the position, what is there, and what the column is called."""

    def __init__(self, row: int, odd: str, column: str, remedy: str) -> None:
        super().__init__("X", f"found {odd} in row {row}, in {column}", remedy)
        self.row, self.odd, self.column = row, odd, column


def is_frame(X: Data) -> TypeGuard[Frame]:
    """Return True if `X` is a data frame, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def columns_of(frame: Frame) -> dict[str, Cells]:
    """Return the columns of a data frame under their names as text; `InvalidInput` if several have one name."""
    names = [str(key) for key in frame.columns]
    for name in names if len(set(names)) < len(names) else ():
        if names.count(name) > 1:
            raise InvalidInput("X", f"found several columns {name!r}", "give each column a name of its own")
    return {name: frame[key] for name, key in zip(names, frame.columns, strict=True)}


def read_columns(X: Data) -> tuple[dict[str, Cells], bool]:
    """Return the cells of a data frame, an array or rows by column, and whether columns have names of their own.

    Others are called x0, x1, ... Missing are None, NaN, nulls, "" and "?". `InvalidInput` if there are
    no cells, rows of different lengths, or columns of dates or other types.
    """
    import pandas as pd

    if named := is_frame(X):
        columns = columns_of(X)
        if not columns or not len(X):
            raise InvalidInput("X", f"found {len(X)} rows under {list(columns)}", "give a frame with rows and columns")
    else:
        with refusing("X", "found rows of different lengths", "give rows of equal length"):
            rows = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        if rows.ndim != 2 or rows.size == 0:
            raise InvalidInput("X", f"found shape {rows.shape}", "give rows of equal length, and at least one column")
        columns = {f"x{j}": pd.Series(column, name=f"x{j}") for j, column in enumerate(rows.T)}
    # where there are nulls, NA may be Namibia
    cells = {name: read_cells(column, missing={"", "?"}) for name, column in columns.items()}
    for name, column in cells.items():
        if column.dtype.kind == "M":
            raise InvalidInput("X", f"found dates in column {name!r}", "convert them to numbers or to strings")
    return cells, named


def read_cells(series: Cells, na: Collection[str] = (), *, missing: Collection[str] = MISSING) -> Cells:
    """Return a column of pandas or polars as a `pandas.Series` of one of four kinds of type, missing where it has none.

    Its ``dtype.kind`` is "f" for numbers, "M" for moments in UTC, "b" for truth values, and "O" for texts without the
    blanks around them; the texts of `missing` and `na` stand for missing values. `InvalidInput` if cells are of other
    types, but for categories, which are what they are called.
    """
    import pandas as pd

    values = np.asarray(series.to_numpy())
    if values.dtype.kind in "iuf":
        return pd.Series(values, dtype=np.float64)
    if values.dtype.kind in "UT":
        values = values.astype(object)
    gone, empty = np.asarray(pd.isna(values)), {*missing, *na}
    if values.dtype.kind == "O":
        gone |= np.fromiter((isinstance(v, str) and v.strip() in empty for v in values.tolist()), bool, len(values))
    known = values[~gone]
    if known.dtype.kind == "O":
        known = _unify(known, str(series.dtype) == "category")
    if (kind := known.dtype.kind) not in "bfMO":
        raise InvalidInput("X", f"found {known.dtype} in the column {series.name!r}", "give numbers, texts, or moments")
    for odd in known if kind == "O" else ():
        if not isinstance(odd, str):
            found = f"found {type(odd).__name__} in the column {series.name!r}"
            raise InvalidInput("X", found, "give numbers, texts, or moments")
    dtype = {"b": "boolean", "M": "datetime64[us]", "f": "float64", "O": object}[kind]
    cells = pd.Series(None, index=range(len(values)), dtype=dtype)
    cells[~gone] = known if kind in "bf" else known.astype(dtype)
    return cells


def _unify(known: Labels, named: bool) -> Labels:
    """Return objects as an array of the one kind that they all are; texts, mixtures and categories as texts."""
    from datetime import date
    from decimal import Decimal
    from numbers import Real

    import pandas as pd

    kind = pd.api.types.infer_dtype(known)
    if kind == "boolean":
        return known.astype(bool)
    if kind not in {"string", "empty"}:
        if all(isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in known):
            return known.astype(np.float64)
        if all(isinstance(value, date | np.datetime64) for value in known):
            moments = pd.to_datetime(pd.Series(known, dtype=object), utc=True)
            return np.asarray(moments.dt.tz_localize(None).to_numpy("datetime64[us]"))

    def call(value: object) -> object:
        # a truth value beside texts is called as Python calls it
        if isinstance(value, bool | np.bool_) or (named and not isinstance(value, str | Real)):
            return str(value)
        return _spell(value).strip() if isinstance(value, str | Real | Decimal) else value

    texts = np.empty(len(known), dtype=object)
    texts[:] = [call(value) for value in known]
    return texts


def spell(cells: Cells) -> Labels:
    """Return cells as texts, None where missing; 3, 3.0 and "3" are one text."""
    texts = np.full(len(cells), None, dtype=object)
    texts[cells.notna().to_numpy()] = [_spell(value) for value in cells.dropna().tolist()]
    return texts


def _spell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, int | float) else str(value)


def read_numbers(name: str, cells: Cells, writing: Numerals | Dates = PLAIN) -> Array:
    """Return cells as numbers, of dates as days since 1970, NaN where missing; `OddCell` for a text not written so."""
    if cells.dtype.kind == "f":
        return cells.to_numpy()
    if cells.dtype.kind == "M" and isinstance(writing, Dates):
        return count_days(cells.to_numpy())
    known = np.flatnonzero(cells.notna())
    texts, values = spell(cells)[known].tolist(), np.full(len(cells), np.nan)
    try:
        values[known] = writing.parse(texts)
    except ValueError:
        row, text = next((i, t) for i, t in zip(known.tolist(), texts, strict=True) if not writing.reads(t))
        what, remedy = "numbers", "correct it, or write a missing value as ? or as nothing"
        if isinstance(writing, Dates):
            what, remedy = "dates", f"write it as {writing.format}"
        raise OddCell(row, repr(text), f"the column of {what} {name!r}", remedy) from None
    return values


def find_levels(cells: ArrayLike, levels: Sequence[str]) -> Indices:
    """Return the index of each cell among the levels, -1 for one not there; the level "?" is of missing ones."""
    # truth values are spelt in several ways: True, TRUE, true
    known = {level: i for i, level in enumerate(levels)}
    truths = {level.casefold(): i for level, i in known.items() if level.casefold() in {"true", "false"}}
    texts = [text or "?" for text in spell(cells)]
    return np.array([known.get(text, truths.get(text.casefold(), -1)) for text in texts], np.intp)


@dataclass(frozen=True)
class Feature:
    """The name of a column and the categories of its values, in the order of their codes; None if it is numeric.

    Categories are empty if no value was known: then every value counts as missing.
    """

    name: str
    categories: tuple[str, ...] | None = None

    @classmethod
    def learn(cls, name: str, cells: Cells, *, nominal: bool = False) -> Feature:
        """Say what the cells of a column are: numbers if all of them can be and they need not be categories."""
        known = cells.dropna()
        if not nominal and known.size and _read_finite(name, cells) is not None:
            return cls(name)
        # truth values are called as Python calls them
        texts = known.astype(str) if cells.dtype.kind == "b" else spell(known)
        return cls(name, tuple(sorted(set(texts))))

    @property
    def n_values(self) -> int:
        """The number of categories, 0 for a numeric feature."""
        return len(self.categories or ())

    def encode(self, cells: ArrayLike) -> Array:
        """Return cells as numbers or codes of categories, NaN where missing or of no category.

        `InvalidInput` for what is no finite number, if the feature is numeric.
        """
        if self.categories is not None:
            codes = find_levels(cells, self.categories)
            return np.where(codes < 0, np.nan, codes)
        numbers = _read_finite(self.name, cells)
        if numbers is None:
            found = f"found values of {self.name!r} that are not finite numbers"
            raise InvalidInput("X", found, "give numbers, or None where missing")
        return numbers

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


def _read_finite(name: str, cells: Cells) -> Array | None:
    """Return the numbers of a column, NaN where missing; None if a value does not read as a finite number."""
    try:
        numbers = read_numbers(name, cells)
    except OddCell:
        return None
    if not np.isinf(numbers).any():
        return numbers
    # "inf" among texts is a word; among numbers infinity is a mistake
    if cells.dtype.kind == "O":
        return None
    raise InvalidInput("X", f"found infinity in column {name!r}", "give finite numbers, None where missing")


def find_words(frame: Data) -> tuple[str, ...]:
    """Return the names of the columns of a data frame whose values are neither numbers nor truth values."""
    cells = read_columns(frame)[0].items()
    return tuple(name for name, each in cells if each.dtype.kind != "b" and _read_finite(name, each) is None)


def find_features(X: Data) -> tuple[Feature, ...] | None:
    """Return what the columns of a data frame are, if some are nominal: categories, strings or booleans by their type.

    Examples
    --------
    >>> import pandas as pd
    >>> find_features(pd.DataFrame({"age": [31, 45], "town": ["Ulm", None]}))
    (Feature(name='age', categories=None), Feature(name='town', categories=('Ulm',)))
    >>> find_features(pd.DataFrame({"age": [31, 45]})) is None
    True
    """
    return learn_features(X)[0]


def learn_features(X: Data) -> tuple[tuple[Feature, ...] | None, Data]:
    """Return the features of a data frame with nominal columns, and the frame as `encode` returns it.

    Anything else has none, and stays as it is. The frame is read once.
    """
    if not is_frame(X):
        return None, X
    cells, types = read_columns(X)[0], (str(dtype).lower() for dtype in X.dtypes)
    nominal = [
        column.dtype.kind in "bO" or dtype.startswith(("category", "categorical", "enum"))
        for column, dtype in zip(cells.values(), types, strict=True)
    ]
    if not any(nominal):
        return None, X
    features = tuple(Feature.learn(*each, nominal=level) for each, level in zip(cells.items(), nominal, strict=True))
    return features, _encode_frame(features, X, cells, True)


def encode(features: Sequence[Feature], X: Data) -> Frame:
    """Return a data frame of the same columns, numbers and codes of categories; NaN where missing or unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> encode((Feature("town", ("Bonn", "Ulm")),), pd.DataFrame({"town": ["Ulm", "Rome"]}))
       town
    0   1.0
    1   NaN
    """
    if not is_frame(X):
        remedy = f"give one with the columns {', '.join(feature.name for feature in features[:5])}"
        raise InvalidInput("X", "found no data frame, after a fit to one with nominal columns", remedy)
    return _encode_frame(features, X, *read_columns(X))


def _encode_frame(features: Sequence[Feature], X: Frame, cells: Mapping[str, Cells], named: bool) -> Frame:
    return type(X)(dict(zip(X.columns, _encode_columns(features, cells, named), strict=True)))


def _encode_columns(features: Sequence[Feature], cells: Mapping[str, Cells], named: bool) -> Array:
    """Return the values of each feature, (n_features, n_samples), found by name if cells are named, else by place."""
    if absent := [feature.name for feature in features if named and feature.name not in cells]:
        raise InvalidInput("X", f"found no columns {absent}", "give a frame with the columns learned from")
    if not named:
        one_each("X", cells, len(features), "feature")
    chosen = [cells[feature.name] for feature in features] if named else cells.values()
    return np.array([feature.encode(column) for feature, column in zip(features, chosen, strict=True)])


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
        shape, n_features = self.columns.shape, len(self.features)
        if len(shape) != 2 or len(self.columns) != n_features or self.columns.size == 0:
            raise InvalidInput("columns", f"found shape {shape}", f"give ({n_features}, n_samples)")
        for feature, column in zip(self.features, self.columns, strict=True):
            known = column[~np.isnan(column)]
            numeric = feature.categories is None
            if not (np.isfinite(known).all() if numeric else np.isin(known, np.arange(feature.n_values)).all()):
                raise InvalidInput(
                    "columns", f"found a value that {feature!r} cannot have", "make tables by Table.read"
                )

    def __len__(self) -> int:
        return self.columns.shape[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of samples and of features."""
        return self.columns.shape[::-1]

    @classmethod
    def read(cls, X: Data | Table) -> Table:
        """Make a table of a data frame of pandas or polars, an array or rows, (n_samples, n_features).

        A column is numeric if every known value is a finite number or a string that reads as one; otherwise, and if
        it holds booleans, nominal. A column without known values is nominal without categories; no tree can use it.
        Missing are None, NaN, a frame's own nulls, and the strings "" and "?". `InvalidInput` for no rows, rows of
        different lengths, infinity, and columns of dates or other types.
        """
        if isinstance(X, Table):
            return X
        cells, _ = read_columns(X)
        features = tuple(Feature.learn(*column) for column in cells.items())
        return cls(features, _encode_columns(features, cells, True))

    def take(self, rows: ArrayLike) -> Table:
        """Return the samples at `rows` (indices or a mask) under the same features."""
        return Table(self.features, self.columns[:, np.asarray(rows)])

    @cached_property
    def distinct(self) -> tuple[Array, ...]:
        """The sorted distinct known values of each feature."""
        return tuple(np.unique(column[~np.isnan(column)]) for column in self.columns)


def match(features: tuple[Feature, ...], X: Data | Table) -> Table:
    """Encode `X` as a table of the given features: samples to predict, as those that were learned from.

    `X` is anything that `Table.read` takes. The columns of tables and data frames are found by name, others are
    ignored; those of arrays and rows go by position. A category that is not among those of its feature becomes a
    missing value. `InvalidInput` for missing columns, or values of a numeric feature that are not numbers.

    Examples
    --------
    >>> match((Feature("sky", ("clear", "grey")),), [["grey"], ["green"]]).columns
    array([[ 1., nan]])
    """
    import pandas as pd

    if not isinstance(X, Table):
        return Table(features, _encode_columns(features, *read_columns(X)))
    if X.features == features:
        return X
    cells = {}
    for known, values in zip(X.features, X.columns, strict=True):
        # a code of NaN is that of the last of these names
        names, codes = np.array([*(known.categories or ()), None], dtype=object), np.nan_to_num(values, nan=-1)
        cells[known.name] = pd.Series(values if known.categories is None else names[codes.astype(int)])
    return Table(features, _encode_columns(features, cells, True))


@dataclass(frozen=True)
class TableColumn:
    """A column of a table, and how it becomes features: numbers or dates, levels, or nothing if it is left out.

    Quantities have a `writing`, which says how they are written where they are text (of dates the feature is days since
    1970), and the `median`, which stands for a missing value. Categories have `levels`, each of which is a 0/1 feature;
    the level "?" stands for missing values, if there were any. `note` is what people should know about the column.
    """

    name: str
    writing: Numerals | Dates | None = None
    median: float = np.nan
    levels: tuple[str, ...] | None = None
    note: str = ""

    @property
    def kind(self) -> str:
        """One word or two for people."""
        if self.levels is not None:
            return "nominal"
        return {Dates: "date", Numerals: "numeric"}.get(type(self.writing), "left out")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of a column of quantities, or ``column=level`` of every level."""
        return (self.name,) if self.levels is None else tuple(f"{self.name}={level}" for level in self.levels)

    def encode(self, cells: Cells) -> Array:
        """Return the values, the median where missing, or an indicator per level, (n_samples, n_features)."""
        if self.levels is not None:
            # all 0 for a level never seen
            return (find_levels(cells, self.levels)[:, None] == np.arange(len(self.levels))).astype(np.float64)
        return np.where(cells.isna(), self.median, self.raw(cells))[:, None]

    def raw(self, cells: Cells) -> NDArray[np.generic]:
        """Return the numbers, NaN where missing, or the levels as texts, None where missing: what trees take."""
        if self.levels is None:
            return read_numbers(self.name, cells, self.writing or PLAIN)
        places, texts = find_levels(cells, self.levels), spell(cells)
        # a level never seen stays what it is: a tree counts it as missing
        raw = np.where(places < 0, texts, np.array([*self.levels, ""], dtype=object)[places])
        raw[cells.isna()] = None
        return raw

    def remark(self, cells: Cells, raw: bool) -> str:
        """Say what is missing, or of no level of the fit, and what is put there unless it stays `raw`; "" if none."""
        odd = cells.isna().to_numpy() if self.levels is None else find_levels(cells, self.levels) < 0
        if not odd.any():
            return ""
        what, taken = "missing", "" if raw else f", taken as {'day ' * (self.kind == 'date')}{self.median:g}"
        if self.levels is not None:
            names, taken = sorted({text or "a missing value" for text in spell(cells)[odd]}), ", taken as none of them"
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            what = f"of no level of the fit ({', '.join(names[:3])}{more})"
            taken = ", taken as missing" if raw else taken
        return f"{self.name}: {_count_values(int(odd.sum()))} {what}{taken}"


def _learn(name: str, cells: Cells, kept: bool, mark: str) -> TableColumn:
    """Choose what one column is; `kept` if it is not to be left out, `mark` the decimal mark that is tried first."""
    known = cells.dropna()
    if not known.size:
        return TableColumn(name, note="left out: every value is missing")
    if cells.dtype.kind == "f":
        return _learn_numbers(name, cells, kept, PLAIN)
    if cells.dtype.kind == "M":
        return _learn_dates(name, cells, kept, Dates(""))
    texts = spell(known).tolist()
    distinct = sorted(set(texts))
    if cells.dtype.kind == "O":
        if (numerals := recognise_numerals(distinct, mark)) is not None:
            return _learn_numbers(name, cells, kept, numerals)
        if (dates := recognise_dates(distinct)) is not None:
            return _learn_dates(name, cells, kept, dates)
    return _learn_levels(name, cells, kept, texts, distinct)


def _learn_numbers(name: str, cells: ArrayLike, kept: bool, numerals: Numerals) -> TableColumn:
    values = read_numbers(name, cells, numerals)
    numbers = values[~np.isnan(values)].tolist()
    identifying = len(set(numbers)) == len(numbers) >= FEWEST_IDENTIFIERS and all(n.is_integer() for n in numbers)
    written = r"(?i:(.*[^a-z])?(id|ids|uid|uuid|guid|index|rownum|rowid)|unnamed: \d+)|.*[a-z0-9](Id|ID)"
    if not kept and identifying and re.fullmatch(written, name):
        return _leave_out(name, "whole numbers, all different, under a name of identifiers")
    # halved, so that the mean of two large numbers is not too large
    median = 2 * float(statistics.median(number / 2 for number in numbers))
    notes = [numerals.describe(), _describe_filling(cells, f"the median {median:g}")]
    return TableColumn(name, numerals, median, note="; ".join(filter(None, notes)))


def _learn_dates(name: str, cells: ArrayLike, kept: bool, dates: Dates) -> TableColumn:
    if not kept:
        return _leave_out(name, "dates", f" as days since 1970{f', read as {dates.format}' * bool(dates.format)}")
    notes = [dates.describe(), _describe_filling(cells, "the median")]
    median = float(np.nanmedian(read_numbers(name, cells, dates)))
    return TableColumn(name, dates, median, note="; ".join(filter(None, notes)))


def _learn_levels(name: str, cells: Cells, kept: bool, texts: Sequence[str], distinct: Sequence[str]) -> TableColumn:
    """Make a column of categories, unless its texts identify samples, or are numbers but for a slip."""
    missing, n_known = int(cells.isna().sum()), len(texts)
    levels = tuple(sorted({*distinct, "?"})) if missing else tuple(distinct)
    # numbers in several writings cannot be told apart: what is not plain is the slip then
    words = {text for text in distinct if not is_numeral(text)} or {t for t in distinct if not PLAIN.reads(t)}
    odd = [i for i, text in enumerate(texts) if text in words]
    # where most are numbers, the others are slips, or stand for missing values
    slip = f"{n_known - len(odd)} of its {n_known} values are numbers" if 2 * len(odd) < n_known else ""
    if len(levels) > MOST_CATEGORIES and slip and not kept:
        row = int(np.flatnonzero(cells.notna())[odd[0]])
        remedy = "correct it, write a missing value as ? or as nothing, or name by --na what stands for one"
        raise OddCell(row, repr(texts[odd[0]]), f"the column of numbers {name!r}", remedy)
    # texts that are all different, or levels with less than two samples each
    identifying = len(distinct) == n_known >= FEWEST_IDENTIFIERS and not missing
    crowded = len(levels) > MOST_CATEGORIES and 2 * len(levels) > len(cells)
    if (identifying or crowded) and not kept:
        return _leave_out(name, tell_what_is_unread(distinct) or f"{len(levels)} texts identify single samples")
    notes = [f"{len(levels)} levels, each a 0/1 feature"]
    if missing:
        notes.append(f"missing values, {missing} of them, are the level ?")
    if slip:
        notes.append(f"though {slip}: is {texts[odd[0]]!r} a slip, or does it stand for a missing value (--na)?")
    return TableColumn(name, levels=levels, note="; ".join(notes))


def _leave_out(name: str, why: str, kept_as: str = "") -> TableColumn:
    return TableColumn(name, note=f"left out: {why}; --keep {name!r} keeps it{kept_as}")


def _describe_filling(cells: Cells, value: str) -> str:
    missing = int(cells.isna().sum())
    return f"{value} in place of {_count_values(missing, 'missing ')}" if missing else ""


def _count_values(n: int, which: str = "") -> str:
    return f"{n} {which}value{'s' * (n != 1)}"


@dataclass(frozen=True)
class TableEncoder:
    r"""The coding of a table's columns as features; part of a model that was fitted to a table.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, None, 45], "town": ["Ulm", "Bonn", "Ulm"]})
    >>> encoder = TableEncoder.learn(people)
    >>> encoder.transform(people)
        age  town=Bonn  town=Ulm
    0  31.0        0.0       1.0
    1  38.0        1.0       0.0
    2  45.0        0.0       1.0
    >>> print("\n".join(encoder.notes))
    age: the median 38 in place of 1 missing value
    town: 2 levels, each a 0/1 feature
    """

    columns: tuple[TableColumn, ...]  # all but the target
    target: str = ""  # its name, if that is known
    raw: bool = False  # learners get categories and missing values as they are: no indicators, no medians
    na: tuple[str, ...] = ()  # further texts that stand for missing values
    separator: str = ""  # of the cells of text files, if it cannot be found out
    encoding: str = ""  # of text files that are not in UTF-8

    @classmethod
    def learn(
        cls,
        frame: Data,
        *,
        target: str = "",
        raw: bool = False,
        na: tuple[str, ...] = (),
        keep: Collection[str] = (),
        decimal: str | None = None,
        separator: str = ",",
    ) -> TableEncoder:
        """Choose what each column of a data frame but the target is, by its values.

        Numbers, also with thousands separators, decimal commas or percent signs, are numeric; anything else is nominal,
        a missing value being a level ``?`` of its own. Left out are columns without any value, dates, and identifiers:
        texts that are all different, more than 20 levels with less than two samples each, or whole numbers that are all
        different under a name such as "id"; columns to `keep` are not. The decimal mark is found out if it is None;
        what separates the cells of a file is a hint on it. `OddCell` if a column with more than 20 distinct values is
        mostly numbers: a misspelt number, not a level.
        """
        cells = {name: read_cells(column, na) for name, column in columns_of(frame).items() if name != target}
        texts = [set(column.dropna()) for column in cells.values() if column.dtype.kind == "O"]
        mark = decimal or choose_decimal_mark(texts, separator)
        return cls(tuple(_learn(name, read, name in keep, mark) for name, read in cells.items()), target, raw, na)

    @property
    def used(self) -> tuple[TableColumn, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if column.kind != "left out")

    @property
    def learnt(self) -> dict[str, float | tuple[str, ...]]:
        """The median or the levels of every column that is used."""
        return {column.name: column.median if column.levels is None else column.levels for column in self.used}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features that `transform` returns."""
        return tuple(name for c in self.used for name in ((c.name,) if self.raw else c.feature_names))

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for every column that is left out or not taken as it is."""
        notes = [(column, column.note) for column in self.columns]
        if self.raw:
            # missing values and levels stay what they are
            notes = [(c, note.partition("the median")[0].rstrip("; ")) for c, note in notes if c.levels is None]
        return tuple(f"{column.name or '(no name)'}: {note}" for column, note in notes if note)

    def transform(self, frame: Frame) -> Frame:
        """Return the features of a data frame, as one of pandas.

        Columns are found by name; others are ignored. A frame that holds the features already stays as it is.
        `InvalidInput` if a column is not there, or has a value that it cannot have.
        """
        import pandas as pd

        found = columns_of(frame)
        absent = [column.name for column in self.used if column.name not in found]
        if absent and all(name in found for name in self.feature_names):
            return pd.DataFrame({name: found[name].to_numpy() for name in self.feature_names})
        if absent:
            needed = ", ".join(column.name for column in self.used)
            raise InvalidInput("X", f"found no column {absent[0]!r}", f"give the columns {needed}")
        cells = [(column, read_cells(found[column.name], self.na)) for column in self.used]
        if self.raw:
            return pd.DataFrame({column.name: column.raw(read) for column, read in cells})
        parts = [np.zeros((len(frame), 0)), *(column.encode(read) for column, read in cells)]
        return pd.DataFrame(np.hstack(parts), columns=list(self.feature_names))

    def accept(self, X: Data) -> Data:
        """Return what a model is to predict for as features: a data frame transformed, an array of features named."""
        import pandas as pd
        from scipy.sparse import issparse

        if is_frame(X):
            return self.transform(X)
        coded = self.raw and any(column.levels is not None for column in self.used)
        if coded or issparse(X) or len(np.shape(X)) != 2 or np.shape(X)[1] != len(self.feature_names):
            return X
        return pd.DataFrame(np.asarray(X), columns=list(self.feature_names))

    def remarks(self, frame: Frame) -> tuple[str, ...]:
        """Say what in another table is not as it was where the columns were learnt."""
        found = columns_of(frame)
        expected = {self.target, *(column.name for column in self.columns)}
        others = [name for name in found if name not in expected]
        notes = [f"{', '.join(others)}: not in the table of the fit, so not used"] if others else []
        here = [column for column in self.used if column.name in found]
        notes += [column.remark(read_cells(found[column.name], self.na), self.raw) for column in here]
        return tuple(filter(None, notes))
