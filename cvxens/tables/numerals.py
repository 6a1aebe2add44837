"""Numbers and dates as people write them: thousands separators, decimal commas, percentages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvxens.types import Array

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
"""A number as Python writes it."""

SPACES = " '\u00a0\u2009\u202f\u2019"
"""What separates thousands beside comma and point: blanks of several widths, and apostrophes."""

GROUPS = {".": "," + SPACES, ",": "." + SPACES}
"""What may separate thousands, by the decimal mark."""

# a group begins with 1 to 3 digits that are no zero: 0,125 is no thousand
WRITTEN = {
    mark: re.compile(
        rf"[+-]?([1-9]\d{{0,2}}(?P<group>[{re.escape(groups)}])\d{{3}}((?P=group)\d{{3}})*|\d+)"
        rf"({re.escape(mark)}\d*)?([eE][+-]?\d+)?|[+-]?{re.escape(mark)}\d+"
    )
    for mark, groups in GROUPS.items()
}
"""A number with that decimal mark, perhaps with thousands separated."""

DAY = np.timedelta64(1, "D")
CLOCKS = ("", " %H:%M", " %H:%M:%S")
DAY_FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y")
NAMED_MONTHS = ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y")
DATES = (*(day + clock for day in DAY_FORMATS for clock in CLOCKS), *NAMED_MONTHS)
"""The formats of dates that are tried after ISO 8601, in this order; of 3/4/2024 the month comes first."""

ISO = "ISO8601"
LIKE_ISO = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}.*)?")


@dataclass(frozen=True)
class Numerals:
    """How the numbers of a column are written.

    Parameters
    ----------
    decimal : {".", ","}
        The decimal mark.
    grouped : bool
        Whether thousands are separated.
    percent : bool
        Whether the numbers are followed by a percent sign: 12% is 0.12.

    Examples
    --------
    >>> Numerals(",", grouped=True).parse(["1.234,50", "7"])
    array([1234.5,    7. ])
    >>> Numerals(percent=True).parse(["12 %"])
    array([0.12])
    """

    decimal: str = "."
    grouped: bool = False
    percent: bool = False

    def __post_init__(self) -> None:
        if self.decimal not in GROUPS:
            raise ValueError(f"the decimal mark {self.decimal!r}")

    @property
    def plain(self) -> bool:
        """Whether Python reads the numbers as they are."""
        return self == Numerals()

    def reads(self, text: str) -> bool:
        """Tell whether a text is such a number."""
        if NUMBER.fullmatch(text):
            return True
        body = _without_percent(text) if self.percent else text
        return bool((WRITTEN[self.decimal] if self.grouped or self.decimal == "," else NUMBER).fullmatch(body))

    def parse(self, texts: Sequence[str]) -> Array:
        """Return the numbers, shape (n_texts,)."""
        if self.plain:
            return np.array(texts, dtype=object).astype(np.float64)
        return np.array([self._number(text) for text in texts], dtype=np.float64)

    def describe(self) -> str:
        """Say what was recognised; empty for plain numbers."""
        marks = ["decimal commas"] * (self.decimal == ",") + ["thousands separators"] * self.grouped
        told = [f"read as numbers with {' and '.join(marks)}"] if marks else []
        return "; ".join([*told, *["percentages read as numbers, 12% as 0.12"] * self.percent])

    def _number(self, text: str) -> float:
        body = _without_percent(text) if self.percent else text
        if self.grouped or self.decimal == ",":
            body = re.sub(f"[{re.escape(GROUPS[self.decimal])}]", "", body).replace(self.decimal, ".")
        return float(body) / 100 if body != text and text.endswith("%") else float(body)


def recognise_numerals(texts: Collection[str], decimal: str) -> Numerals | None:
    """Find out how numbers are written, the given decimal mark first; None if some texts are no numbers."""
    percent = _are_percentages(texts)
    bodies = [_without_percent(text) for text in texts] if percent else texts
    for mark in (decimal, *(other for other in GROUPS if other != decimal)):
        matches = [WRITTEN[mark].fullmatch(body) for body in bodies]
        if all(matches):
            grouped = any(match is not None and match["group"] for match in matches)
            marked = mark == "," and any("," in body for body in bodies)
            return Numerals("," if marked or (grouped and mark == ",") else ".", grouped, percent)
        if mark == "." and all(map(NUMBER.fullmatch, bodies)):
            return Numerals(percent=percent)
    return None


def is_numeral(text: str) -> bool:
    """Tell whether a text is a number in some writing."""
    body = _without_percent(text)
    return bool(NUMBER.fullmatch(body)) or any(written.fullmatch(body) for written in WRITTEN.values())


def decimal_mark(columns: Iterable[Collection[str]], separator: str) -> str:
    """Decide between decimal point and comma, by the columns of numbers that can be read in one way alone.

    Where nothing is certain it is the point, but the comma where there are commas in cells separated by semicolons.
    """
    columns = list(columns)
    certain = {mark for column in columns for mark in _certain_marks(column)}
    if len(certain) == 1:
        return certain.pop()
    commas = any("," in text for column in columns for text in column)
    return "," if not certain and commas and separator == ";" else "."


def _certain_marks(texts: Collection[str]) -> set[str]:
    """The decimal marks of a column of numbers that cannot be read otherwise."""
    bodies = [_without_percent(text) for text in texts] if _are_percentages(texts) else texts
    fitting = {mark for mark, written in WRITTEN.items() if all(map(written.fullmatch, bodies))}
    return fitting if len(fitting) == 1 else set()


def _are_percentages(texts: Collection[str]) -> bool:
    signed = sum(text.endswith("%") for text in texts)
    return signed > 0 and all(text.endswith("%") or text in {"0", "0.0", "0,0"} for text in texts)


def _without_percent(text: str) -> str:
    return text[:-1].rstrip() if text.endswith("%") else text


def date_format(texts: Sequence[str]) -> str | None:
    """Find the format in which all texts are dates; None if there is none."""
    if all(map(LIKE_ISO.fullmatch, texts)):
        return ISO if dates_of(texts, ISO) is not None else None
    if not all(any(letter.isdigit() for letter in text) for text in texts):
        return None
    # most columns are no dates, which their first cell tells
    return next((f for f in DATES if dates_of(texts[:1], f) is not None and dates_of(texts, f) is not None), None)


def dates_of(texts: Sequence[str], format: str) -> Array | None:  # noqa: A002
    """Return dates as days since 1970, shape (n_texts,); None if one is not of the format."""
    import pandas as pd

    try:
        parsed = pd.to_datetime(pd.Series(list(texts), dtype=object), format=format, utc=True)
    except (ValueError, OverflowError):
        return None
    return days(parsed.dt.tz_localize(None).to_numpy())


def days(moments: NDArray) -> Array:
    """Return moments as days since 1970, NaN for those that are none."""
    return (moments.astype("datetime64[us]") - np.datetime64(0, "us")) / DAY
