"""Choosing what each column of a table is."""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cvxens.tables.cells import Cells, OddCell
from cvxens.tables.columns import Column, DateColumn, LeftOutColumn, NominalColumn, NumericColumn
from cvxens.tables.numerals import (
    Numerals,
    date_format,
    dates_of,
    days,
    decimal_mark,
    is_numeral,
    recognise_numerals,
)

MOST_CATEGORIES = 20
"""Beyond so many levels a column may rather be identifiers, or numbers with a slip."""

FEWEST_IDENTIFIERS = 5
"""So many texts that are all different identify samples; fewer may be categories of a tiny table."""

IDENTIFIER = re.compile(r"(?i:(.*[^a-z])?(id|ids|uid|uuid|guid|index|rownum|rowid)|unnamed: \d+)|.*[a-z0-9](Id|ID)")
"""Names of columns whose numbers identify samples, if they are whole and all different."""

HOW_TO_KEEP = "--keep {name!r} keeps it"


@dataclass(frozen=True)
class Choice:
    """What is asked for of all columns.

    Parameters
    ----------
    keep : collection of str
        Columns that are not left out though they look like dates or identifiers.
    decimal : {".", ","} or None
        The decimal mark; None to find it out.
    separator : str
        What separates cells, a hint on the decimal mark.
    """

    keep: Collection[str] = ()
    decimal: str | None = None
    separator: str = ","


def learn_columns(cells: Mapping[str, Cells], choice: Choice) -> tuple[Column, ...]:
    """Choose what each column is, by its values.

    Numbers, also with thousands separators, decimal commas or percent signs, are numeric; anything else is nominal, a
    missing value being a level ``?`` of its own. Left out are columns without any value, dates, and identifiers: texts
    that are all different, more than 20 levels with less than two samples each, or whole numbers that are all different
    under a name such as "id".

    Raises
    ------
    OddCell
        A column with more than 20 distinct values is mostly numbers: a misspelt number, not a level.
    """
    texts = [set(c.known().tolist()) for c in cells.values() if c.kind == "O" and not c.truths]
    mark = choice.decimal or decimal_mark(texts, choice.separator)
    return tuple(_learn(name, column, name in choice.keep, mark) for name, column in cells.items())


def _learn(name: str, cells: Cells, kept: bool, mark: str) -> Column:
    known = cells.known()
    if not known.size:
        return LeftOutColumn(name, "left out: every value is missing")
    if cells.kind == "M":
        return _dates(name, cells, kept, "", days(known).tolist())
    if cells.kind == "f":
        return _numeric(name, cells, Numerals(), known.tolist(), kept)
    distinct = sorted(set(known.tolist()))
    numerals = None if cells.truths else recognise_numerals(distinct, mark)
    if numerals is not None:
        return _numeric(name, cells, numerals, numerals.parse(known.tolist()).tolist(), kept)
    form = None if cells.truths else date_format(distinct)
    if form is not None:
        found = dates_of(known.tolist(), form)
        return _dates(name, cells, kept, form, [] if found is None else found.tolist())
    return _nominal(name, cells, distinct, kept)


def _numeric(name: str, cells: Cells, numerals: Numerals, numbers: Sequence[float], kept: bool) -> Column:
    whole = all(float(number).is_integer() for number in numbers)
    if not kept and whole and len(set(numbers)) == len(numbers) >= FEWEST_IDENTIFIERS and IDENTIFIER.fullmatch(name):
        why = "whole numbers, all different, under a name of identifiers"
        return LeftOutColumn(name, f"left out: {why}; {HOW_TO_KEEP.format(name=name)}")
    # halved, so that the mean of two large numbers is none that is too large
    median = 2 * statistics.median(number / 2 for number in numbers)
    missing = int(cells.missing.sum())
    filled = f"the median {median:g} in place of {missing} missing value{'s' * (missing != 1)}" if missing else ""
    return NumericColumn(name, float(median), numerals, "; ".join(filter(None, [numerals.describe(), filled])))


def _dates(name: str, cells: Cells, kept: bool, form: str, numbers: Sequence[float]) -> Column:
    if not kept:
        how = HOW_TO_KEEP.format(name=name)
        return LeftOutColumn(name, f"left out: dates; {how} as days since 1970{f', read as {form}' * bool(form)}")
    median, missing = float(statistics.median(numbers)), int(cells.missing.sum())
    filled = f"; the median in place of {missing} missing value{'s' * (missing != 1)}" if missing else ""
    return DateColumn(name, median, form, f"dates{f', read as {form},' * bool(form)} as days since 1970{filled}")


def _nominal(name: str, cells: Cells, distinct: Sequence[str], kept: bool) -> Column:
    missing = int(cells.missing.sum())
    levels = tuple(sorted({*distinct, "?"})) if missing else tuple(distinct)
    n_known = len(cells.values) - missing
    odd = np.flatnonzero([not is_numeral(text) for text in cells.known()])
    slip = f"{n_known - len(odd)} of its {n_known} values are numbers" if 2 * len(odd) < n_known else ""
    if len(levels) > MOST_CATEGORIES and slip and not kept:
        row = int(np.flatnonzero(~cells.missing)[odd[0]])
        raise OddCell(
            row,
            repr(cells.values[row]),
            f"the column of numbers {name!r}",
            "correct it, write a missing value as ? or as nothing, or name by --na what stands for one",
        )
    identifying = len(distinct) == n_known >= FEWEST_IDENTIFIERS and not missing
    crowded = len(levels) > MOST_CATEGORIES and 2 * len(levels) > len(cells.values)
    if (identifying or crowded) and not kept:
        told = f"{len(levels)} texts identify single samples"
        return LeftOutColumn(name, f"left out: {told}; {HOW_TO_KEEP.format(name=name)}")
    notes = [
        f"{len(levels)} levels, each a 0/1 feature",
        f"missing values, {missing} of them, are the level ?" if missing else "",
    ]
    if slip:
        notes.append(
            f"though {slip}: is {cells.known()[odd[0]]!r} a slip, or does it stand for a missing value (--na)?"
        )
    return NominalColumn(name, levels, "; ".join(filter(None, notes)))
