"""The columns of a table: what they are, and how they become features; learnt of one table, applied to any other.

A `Feature` is what learners see of a column that they take as it is: numbers, or codes of categories, with gaps.

A `Column` of a `TableEncoder` is of quantities (numbers, or dates as days since 1970: one feature), nominal (one 0/1
feature per level) or left out. These records are part of saved models: their fields are plain values.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.tables.cells import OddCell, columns_of, is_frame, read_cells, read_columns, spell
from cvxens.tables.numerals import (
    Dates,
    Numerals,
    choose_decimal_mark,
    count_days,
    is_numeral,
    recognise_dates,
    recognise_numerals,
    tell_what_is_unread,
)
from cvxens.types import Array
from cvxens.validation import one_each

PLAIN = Numerals()
"""Numbers as Python writes them."""

MOST_CATEGORIES = 20
"""Beyond that number of levels a column may rather be identifiers, or numbers with a slip."""

FEWEST_IDENTIFIERS = 5
"""The texts of a column that are all different identify samples; fewer may be categories of a tiny table."""

IDENTIFIER = re.compile(r"(?i:(.*[^a-z])?(id|ids|uid|uuid|guid|index|rownum|rowid)|unnamed: \d+)|.*[a-z0-9](Id|ID)")
"""Names of columns whose numbers identify samples, if they are whole and all different."""

TRUTHS = frozenset({"true", "false"})

SHOWN = 3
"""The number of unseen levels that a remark names."""


@dataclass(frozen=True)
class NumericColumn:
    """A column of numbers or dates, one feature, in which the median stands for a missing value.

    `writing` says how the values are written where they are text (of dates the feature is days since 1970), and `note`
    what people should know about the column; it is empty for nothing.
    """

    name: str
    median: float
    writing: Numerals | Dates = PLAIN
    note: str = ""

    @property
    def kind(self) -> str:
        """One word for people."""
        return "date" if isinstance(self.writing, Dates) else "numeric"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of the column."""
        return (self.name,)

    def encode(self, cells: Any) -> Array:
        """Return the values, the median where missing, shape (n_samples, 1)."""
        return np.where(cells.isna(), self.median, self.raw(cells))[:, None]

    def raw(self, cells: Any) -> Array:
        """Return the values, NaN where missing, shape (n_samples,); `OddCell` for a text that is not written so."""
        if cells.dtype.kind == "f":
            return cells.to_numpy()
        if cells.dtype.kind == "M" and self.kind == "date":
            return count_days(cells.to_numpy())
        known = np.flatnonzero(cells.notna())
        texts = spell(cells)[known].tolist()
        values = np.full(len(cells), np.nan)
        try:
            values[known] = self.writing.parse(texts)
        except ValueError:
            row, text = next((i, t) for i, t in zip(known.tolist(), texts, strict=True) if not self.writing.reads(t))
            what, remedy = "numbers", "correct it, or write a missing value as ? or as nothing"
            if isinstance(self.writing, Dates):
                what, remedy = "dates", f"write it as {self.writing.format}"
            raise OddCell(row, repr(text), f"the column of {what} {self.name!r}", remedy) from None
        return values

    def remark(self, cells: Any, raw: bool) -> str:
        """Say how many values are missing, and what is put there unless they stay `raw`; empty if none is."""
        missing = int(cells.isna().sum())
        taken = "" if raw else f", taken as {'day ' * (self.kind == 'date')}{self.median:g}"
        return f"{self.name}: {_count_values(missing)} missing{taken}" if missing else ""


@dataclass(frozen=True)
class NominalColumn:
    """A column of categories, one 0/1 feature per level; the level "?" stands for missing values, if there were any."""

    name: str
    levels: tuple[str, ...]
    note: str = ""
    kind: ClassVar[str] = "nominal"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names ``column=level``."""
        return tuple(f"{self.name}={level}" for level in self.levels)

    def encode(self, cells: Any) -> Array:
        """Return the indicators, shape (n_samples, n_levels); all 0 for a level never seen."""
        return (self._find_levels(cells)[:, None] == np.arange(len(self.levels))).astype(np.float64)

    def raw(self, cells: Any) -> np.ndarray:
        """Return the levels as texts, None where missing, for learners that take categories and gaps."""
        places, texts = self._find_levels(cells), spell(cells)
        # a level never seen stays what it is: a tree counts it as missing
        raw = np.where(places < 0, texts, np.array([*self.levels, ""], dtype=object)[places])
        raw[cells.isna()] = None
        return raw

    def remark(self, cells: Any, raw: bool) -> str:
        """Say which levels were never seen, which count as missing where they stay `raw`; empty if there are none."""
        new = self._find_levels(cells) < 0
        if not new.any():
            return ""
        names = sorted({text or "a missing value" for text in spell(cells)[new]})
        shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        taken = "missing" if raw else "none of them"
        return f"{self.name}: {_count_values(int(new.sum()))} of no level of the fit ({shown}), taken as {taken}"

    def _find_levels(self, cells: Any) -> np.ndarray:
        """Return the index of each cell's level, -1 for one never seen."""
        return find_levels(("?" if text is None else text for text in spell(cells)), self.levels)


def find_levels(texts: Iterable[str | None], levels: Sequence[str]) -> np.ndarray:
    """Return the index of each text among the levels, -1 for a missing value or a text that is not there."""
    # truth values are spelt in several ways: True, TRUE, true
    known: dict[str | None, int] = {level.casefold(): i for i, level in enumerate(levels) if level.casefold() in TRUTHS}
    known |= {level: i for i, level in enumerate(levels)}
    folded = ((text, text.casefold() if text and text.casefold() in TRUTHS else text) for text in texts)
    return np.array([known.get(text, known.get(truth, -1)) for text, truth in folded], np.intp)


@dataclass(frozen=True)
class LeftOutColumn:
    """A column that becomes no feature; its note says why."""

    name: str
    note: str = ""
    kind: ClassVar[str] = "left out"
    feature_names: ClassVar[tuple[str, ...]] = ()


Column: TypeAlias = NumericColumn | NominalColumn | LeftOutColumn


@dataclass(frozen=True)
class Feature:
    """The name of a column and the categories of its values, in the order of their codes; None if it is numeric.

    Categories are empty if no value was known: then every value counts as missing.
    """

    name: str
    categories: tuple[str, ...] | None = None

    @classmethod
    def learn(cls, name: str, cells: Any, *, nominal: bool = False) -> Feature:
        """Say what the cells of a column are: numbers if all of them can be and they need not be categories."""
        known = cells.dropna()
        if not nominal and known.size and _read_numbers(name, cells) is not None:
            return cls(name)
        # truth values are called as Python calls them
        texts = known.astype(str) if cells.dtype.kind == "b" else spell(known)
        return cls(name, tuple(sorted(set(texts))))

    @property
    def n_values(self) -> int:
        """The number of categories, 0 for a numeric feature."""
        return len(self.categories or ())

    def encode(self, cells: Any) -> Array:
        """Return cells as numbers or codes of categories, NaN where missing or of no category.

        `InvalidInput` for what is no finite number, if the feature is numeric.
        """
        if self.categories is not None:
            codes = find_levels(spell(cells), self.categories)
            return np.where(codes < 0, np.nan, codes)
        numbers = _read_numbers(self.name, cells)
        if numbers is None:
            found = f"found values of {self.name!r} that are not finite numbers"
            raise InvalidInput("X", found, "give numbers, or None where missing")
        return numbers

    def decode(self, values: Array) -> Any:
        """Return the cells that were encoded as these values."""
        import pandas as pd

        if self.categories is None:
            return pd.Series(values)
        # a missing value is the last of these
        names = np.array([*self.categories, None], dtype=object)
        return pd.Series(names[np.where(np.isnan(values), -1, values).astype(int)])

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


def _read_numbers(name: str, cells: Any) -> Array | None:
    """Return the numbers of a column, NaN where missing; None if a value does not read as a finite number."""
    try:
        numbers = NumericColumn(name, np.nan).raw(cells)
    except OddCell:
        return None
    if not np.isinf(numbers).any():
        return numbers
    # "inf" among texts is a word; among numbers infinity is a mistake
    if cells.dtype.kind == "O":
        return None
    raise InvalidInput("X", f"found infinity in column {name!r}", "give finite numbers, None where missing")


def find_words(frame: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame whose values are neither numbers nor truth values."""
    cells = read_columns(frame)[0].items()
    return tuple(name for name, each in cells if each.dtype.kind != "b" and _read_numbers(name, each) is None)


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
    if not is_frame(X):
        return None
    cells, types = read_columns(X)[0], (str(dtype).lower() for dtype in X.dtypes)
    nominal = [
        column.dtype.kind in "bO" or dtype.startswith(("category", "categorical", "enum"))
        for column, dtype in zip(cells.values(), types, strict=True)
    ]
    if not any(nominal):
        return None
    return tuple(Feature.learn(*each, nominal=level) for each, level in zip(cells.items(), nominal, strict=True))


def encode(features: Sequence[Feature], X: Any) -> Any:
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
    codes = encode_columns(features, *read_columns(X))
    return type(X)(dict(zip(X.columns, codes, strict=True)))


def encode_columns(features: Sequence[Feature], cells: Mapping[str, Any], named: bool) -> Array:
    """Return the values of each feature, (n_features, n_samples), found by name if cells are named, else by place."""
    if absent := [feature.name for feature in features if named and feature.name not in cells]:
        raise InvalidInput("X", f"found no columns {absent}", "give a frame with the columns learned from")
    if not named:
        one_each("X", cells, len(features), "feature")
    chosen = [cells[feature.name] for feature in features] if named else cells.values()
    return np.array([feature.encode(column) for feature, column in zip(features, chosen, strict=True)])


def _count_values(n: int) -> str:
    return f"{n} value{'s' * (n != 1)}"


def _learn(name: str, cells: Any, kept: bool, mark: str) -> Column:
    """Choose what one column is; `kept` if it is not to be left out, `mark` the decimal mark that is tried first."""
    known = cells.dropna()
    if not known.size:
        return LeftOutColumn(name, "left out: every value is missing")
    if cells.dtype.kind == "M":
        return _learn_dates(name, cells, kept, Dates(""), count_days(known.to_numpy()).tolist())
    if cells.dtype.kind == "f":
        return _learn_numbers(name, cells, kept, PLAIN, known.tolist())
    texts = spell(known).tolist()
    distinct = sorted(set(texts))
    if cells.dtype.kind == "O":
        if (numerals := recognise_numerals(distinct, mark)) is not None:
            return _learn_numbers(name, cells, kept, numerals, numerals.parse(texts).tolist())
        if (dates := recognise_dates(distinct)) is not None:
            return _learn_dates(name, cells, kept, dates, dates.parse(texts).tolist())
    return _learn_levels(name, cells, kept, texts, distinct)


def _learn_numbers(name: str, cells: Any, kept: bool, numerals: Numerals, numbers: Sequence[float]) -> Column:
    whole = all(float(number).is_integer() for number in numbers)
    if not kept and whole and len(set(numbers)) == len(numbers) >= FEWEST_IDENTIFIERS and IDENTIFIER.fullmatch(name):
        return _leave_out(name, "whole numbers, all different, under a name of identifiers")
    # halved, so that the mean of two large numbers is not too large
    median = 2 * float(statistics.median(number / 2 for number in numbers))
    filled = _describe_filling(cells, f"the median {median:g}")
    return NumericColumn(name, median, numerals, "; ".join(filter(None, [numerals.describe(), filled])))


def _learn_dates(name: str, cells: Any, kept: bool, dates: Dates, days: Sequence[float]) -> Column:
    if not kept:
        return _leave_out(name, "dates", f" as days since 1970{f', read as {dates.format}' * bool(dates.format)}")
    note = "; ".join(filter(None, [dates.describe(), _describe_filling(cells, "the median")]))
    return NumericColumn(name, float(statistics.median(days)), dates, note)


def _learn_levels(name: str, cells: Any, kept: bool, texts: Sequence[str], distinct: Sequence[str]) -> Column:
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
    return NominalColumn(name, levels, "; ".join(notes))


def _leave_out(name: str, why: str, kept_as: str = "") -> LeftOutColumn:
    return LeftOutColumn(name, f"left out: {why}; --keep {name!r} keeps it{kept_as}")


def _describe_filling(cells: Any, value: str) -> str:
    missing = int(cells.isna().sum())
    return f"{value} in place of {missing} missing value{'s' * (missing != 1)}" if missing else ""


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

    columns: tuple[Column, ...]  # all but the target
    target: str = ""  # its name, if that is known
    raw: bool = False  # learners get categories and gaps as they are, as trees do: no indicators, no medians
    na: tuple[str, ...] = ()  # further texts that stand for missing values
    separator: str = ""  # of the cells of text files, if it cannot be found out
    encoding: str = ""  # of text files that are not in UTF-8

    @classmethod
    def learn(
        cls,
        frame: Any,
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
    def used(self) -> tuple[NumericColumn | NominalColumn, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if not isinstance(column, LeftOutColumn))

    @property
    def learnt(self) -> dict[str, float | tuple[str, ...]]:
        """The median or the levels of every column that is used."""
        return {c.name: c.levels if isinstance(c, NominalColumn) else c.median for c in self.used}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features that `transform` returns."""
        return tuple(name for c in self.used for name in ((c.name,) if self.raw else c.feature_names))

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for every column that is left out or not taken as it is."""
        notes = []
        for column in self.columns:
            note = column.note
            if self.raw:
                # gaps and levels stay what they are
                note = "" if isinstance(column, NominalColumn) else note.partition("the median")[0].rstrip("; ")
            notes += [f"{column.name or '(no name)'}: {note}"] if note else []
        return tuple(notes)

    def transform(self, frame: Any) -> Any:
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

    def accept(self, X: Any) -> Any:
        """Return what a model is to predict for as features: a data frame transformed, an array of features named."""
        import pandas as pd
        from scipy.sparse import issparse

        if is_frame(X):
            return self.transform(X)
        coded = self.raw and any(isinstance(column, NominalColumn) for column in self.used)
        if coded or issparse(X) or np.ndim(X) != 2 or np.shape(X)[1] != len(self.feature_names):
            return X
        return pd.DataFrame(np.asarray(X), columns=list(self.feature_names))

    def remarks(self, frame: Any) -> tuple[str, ...]:
        """Say what in another table is not as it was where the columns were learnt."""
        found = columns_of(frame)
        expected = {self.target, *(column.name for column in self.columns)}
        others = [name for name in found if name not in expected]
        notes = [f"{', '.join(others)}: not in the table of the fit, so not used"] if others else []
        here = [column for column in self.used if column.name in found]
        notes += [column.remark(read_cells(found[column.name], self.na), self.raw) for column in here]
        return tuple(filter(None, notes))
