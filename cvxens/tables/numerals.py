"""Numbers and dates as people write them: thousands separators, decimal commas, percentages, formats of dates.

How a column writes them is a part of saved models, so `Numerals` and `Dates` are records of plain values. Both read
strictly: a text that is not written so is no number and no date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cvxens.types import Array, Numbers

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
"""A number as Python writes it, without its 1_000."""

GROUPS = {".": ", '\u00a0\u2009\u202f\u2019", ",": ". '\u00a0\u2009\u202f\u2019"}
"""Thousands may be separated by these, by the decimal mark: blanks of several widths, and apostrophes too."""

# a group begins with 1 to 3 digits that are no zero: 0,125 is no thousand
WRITTEN = {
    mark: re.compile(
        rf"[+-]?([1-9]\d{{0,2}}(?P<group>[{re.escape(groups)}])\d{{3}}((?P=group)\d{{3}})*|\d+)"
        rf"({re.escape(mark)}\d*)?([eE][+-]?\d+)?|[+-]?{re.escape(mark)}\d+"
    )
    for mark, groups in GROUPS.items()
}
"""A number with that decimal mark, perhaps with thousands separated."""


@dataclass(frozen=True)
class Numerals:
    """The way in which the numbers of a column are written.

    Examples
    --------
    >>> Numerals(",", grouped=True).parse(["1.234,50", "7"])
    array([1234.5,    7. ])
    >>> Numerals(percent=True).parse(["12 %"])
    array([0.12])
    """

    decimal: str = "."  # or ","
    grouped: bool = False  # thousands are separated
    percent: bool = False  # a percent sign follows: 12% is 0.12

    def __post_init__(self) -> None:
        if self.decimal not in GROUPS:
            raise ValueError(f"the decimal mark {self.decimal!r}")

    def reads(self, text: str) -> bool:
        """Return True if a text is such a number."""
        written = WRITTEN[self.decimal] if self._is_marked else NUMBER
        body = _without_percent(text) if self.percent else text
        return bool(NUMBER.fullmatch(text) or written.fullmatch(body))

    def parse(self, texts: Sequence[str]) -> Array:
        """Return the numbers, shape (n_texts,); ValueError if a text is not such a number."""
        if self == Numerals():
            numbers = np.array(texts, dtype=object).astype(np.float64)
            # Python reads more than people write: 1_000, and nan
            if "_" not in "".join(texts) and not np.isnan(numbers).any():
                return numbers
        if not all(map(self.reads, texts)):
            raise ValueError("a text that is no such number")
        return np.array([self._number(text) for text in texts], dtype=np.float64)

    def describe(self) -> str:
        """Say what was recognised; empty for numbers as Python writes them."""
        marks = ["decimal commas"] * (self.decimal == ",") + ["thousands separators"] * self.grouped
        notes = [f"read as numbers with {' and '.join(marks)}"] if marks else []
        return "; ".join([*notes, *["percentages read as numbers, 12% as 0.12"] * self.percent])

    @property
    def _is_marked(self) -> bool:
        return self.grouped or self.decimal == ","

    def _number(self, text: str) -> float:
        body = _without_percent(text) if self.percent else text
        scale = 100 if body != text else 1
        if self._is_marked:
            body = re.sub(f"[{re.escape(GROUPS[self.decimal])}]", "", body).replace(self.decimal, ".")
        return float(body) / scale


@dataclass(frozen=True)
class Dates:
    """The way in which the dates of a column are written; `parse` returns days since 1970.

    The format is as in `datetime.strptime`, or "ISO8601"; "" of a column that is of moments, not of texts.

    Examples
    --------
    >>> Dates("%d.%m.%Y").parse(["02.01.1970"])
    array([1.])
    """

    format: str

    def reads(self, *texts: str) -> bool:
        """Return True if texts are such dates."""
        try:
            return bool(self.parse(texts).size)
        except ValueError:
            return False

    def parse(self, texts: Sequence[str]) -> Array:
        """Return days since 1970, shape (n_texts,); ValueError if a text is not such a date."""
        import pandas as pd

        try:
            moments = pd.to_datetime(pd.Series(list(texts), dtype=object), format=self.format, utc=True)
        except OverflowError as error:
            raise ValueError(str(error)) from None
        return count_days(moments.dt.tz_localize(None).to_numpy())

    def describe(self) -> str:
        """Say how dates are read."""
        return f"dates{f', read as {self.format},' if self.format else ''} as days since 1970"


def count_days(moments: Numbers) -> Array:
    """Return moments as days since 1970, NaN for those that are not a time."""
    return (moments.astype("datetime64[us]") - np.datetime64(0, "us")) / np.timedelta64(1, "D")


def recognise_numerals(texts: Collection[str], decimal: str) -> Numerals | None:
    """Find out how numbers are written, the given decimal mark first; None if some texts are no numbers."""
    percent = _are_percentages(texts)
    bodies = [_without_percent(text) for text in texts] if percent else texts
    for mark in (decimal, *(other for other in GROUPS if other != decimal)):
        matches = [WRITTEN[mark].fullmatch(body) for body in bodies]
        if all(matches):
            grouped = any(match is not None and match["group"] for match in matches)
            commas = mark == "," and (grouped or any("," in body for body in bodies))
            return Numerals("," if commas else ".", grouped, percent)
        if mark == "." and all(map(NUMBER.fullmatch, bodies)):
            return Numerals(percent=percent)
    return None


def recognise_dates(texts: Sequence[str]) -> Dates | None:
    """Find out how dates are written; None if there is no format that all texts have."""
    formats: list[str] = []
    if all(re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}.*)?", text) for text in texts):
        formats = ["ISO8601"]
    elif all(re.search(r"\d", text) for text in texts):
        # of 3/4/2024 the month comes first
        days = ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y"]
        formats = [day + clock for day in days for clock in ("", " %H:%M", " %H:%M:%S")]
        formats += ["%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y"]
    # most columns are no dates, and their first cell already says so
    return next((dates for dates in map(Dates, formats) if dates.reads(texts[0]) and dates.reads(*texts)), None)


def is_numeral(text: str) -> bool:
    """Return True if a text is a number in some writing."""
    body = _without_percent(text)
    return any(written.fullmatch(body) for written in (NUMBER, *WRITTEN.values()))


def tell_what_is_unread(texts: Collection[str]) -> str:
    """Say what texts are that people take for quantities and are not read as such; empty for other texts.

    Examples
    --------
    >>> tell_what_is_unread(["EUR 12.50", "EUR 7"])
    "numbers with 'EUR' beside them: write the numbers alone"
    """
    if all(re.fullmatch(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp]\.?[Mm]\.?)?", text) for text in texts):
        return "clock times, which are not read: write numbers, such as 12.5 for 12:30"
    # a number between texts, such as a currency or a unit
    beside = r"(?P<before>[^\d+.-]*)(?P<number>[+-]?[\d.].*?)(?P<after>[^\d]*)"
    parts = [re.fullmatch(beside, text) for text in texts]
    units = {(part["before"].strip(), part["after"].strip()) if part else ("", "") for part in parts}
    # numbers of samples have no decimals: P0012 is no quantity
    decimals = any(part and re.search(r"\d[.,]\d", part["number"]) for part in parts)
    if len(units) != 1 or not decimals or not all(part and is_numeral(part["number"].strip()) for part in parts):
        return ""
    unit = " and ".join(repr(each) for each in units.pop() if each)
    return f"numbers with {unit} beside them: write the numbers alone" if unit else ""


def choose_decimal_mark(columns: Iterable[Collection[str]], separator: str) -> str:
    """Decide between decimal point and comma, by the columns of numbers that can be read in one way alone.

    Where nothing is certain it is the point, but the comma where there are commas in cells separated by semicolons.
    """
    columns = list(columns)
    certain: set[str] = set()
    for texts in columns:
        bodies = [_without_percent(text) for text in texts] if _are_percentages(texts) else texts
        fitting = {mark for mark, written in WRITTEN.items() if all(map(written.fullmatch, bodies))}
        certain |= fitting if len(fitting) == 1 else set()
    if len(certain) == 1:
        return certain.pop()
    commas = any("," in text for column in columns for text in column)
    return "," if not certain and commas and separator == ";" else "."


def _are_percentages(texts: Collection[str]) -> bool:
    signed = sum(text.endswith("%") for text in texts)
    return signed > 0 and all(text.endswith("%") or text in {"0", "0.0", "0,0"} for text in texts)


def _without_percent(text: str) -> str:
    return text[:-1].rstrip() if text.endswith("%") else text
