"""Numbers and dates as people write them are read as what they are, or not at all."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.tables import Dates, Numerals
from cvxens.tables.numerals import choose_decimal_mark, recognise_dates, recognise_numerals

CENTS = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=8)
SPELLINGS = {
    "point": lambda v: f"{v:.2f}",
    "comma": lambda v: f"{v:.2f}".replace(".", ","),
    "1,234.50": lambda v: f"{v:,.2f}",
    "1.234,50": lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")),
    "1 234,50": lambda v: f"{v:,.2f}".translate(str.maketrans(",.", "\u202f,")),
    "1'234.50": lambda v: f"{v:,.2f}".replace(",", "'"),
}


@given(CENTS, st.sampled_from(sorted(SPELLINGS)), st.sampled_from(["", "%", " %"]))
def test_a_spelling_is_recognised_and_read_back(cents, spelling, sign):
    """Two digits after the mark are certain: no thousands are separated so."""
    texts = [SPELLINGS[spelling](cent / 100) + sign for cent in cents]
    mark = choose_decimal_mark([texts], ",")
    assert mark == ("," if "," in SPELLINGS[spelling](0.5) else ".")
    numerals = recognise_numerals(texts, mark)
    assert numerals.percent == bool(sign)
    expected = np.array([float(f"{cent / 100:.2f}") for cent in cents])
    np.testing.assert_array_equal(numerals.parse(texts), expected / 100 if sign else expected)
    assert all(map(numerals.reads, texts))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
def test_numbers_as_python_writes_them_are_never_read_otherwise(values):
    texts = [repr(value) for value in values]
    numerals = recognise_numerals(texts, choose_decimal_mark([texts], ";"))
    assert numerals == Numerals()
    assert numerals.parse(texts).tobytes() == np.array(values).tobytes()


@pytest.mark.parametrize(
    ("columns", "separator", "mark"),
    [
        ([["1,234", "2,500"]], ",", "."),
        ([["1,234", "2,500"]], ";", ","),
        ([["1,234"], ["3,5"]], "\t", ","),
        ([["1.234"], ["3,5"]], ";", ","),
        ([["1,234"], ["3.25"]], ";", "."),
        ([["1.234", "2.345"]], ";", "."),
        ([["0,125"]], ",", ","),
        ([["3,5"], ["2.5"]], ";", "."),
        ([["Ulm"], ["12"]], ",", "."),
        ([], ";", "."),
    ],
)
def test_what_is_certain_of_one_column_decides_for_those_that_are_not(columns, separator, mark):
    assert choose_decimal_mark(columns, separator) == mark


@pytest.mark.parametrize(
    "texts", [["1,2,3"], ["12,34,567"], ["1.234.5"], ["abc"], ["1 2"], ["12%", "13"], ["%"], ["-"]]
)
def test_what_is_no_number(texts):
    assert recognise_numerals(texts, ".") is None


@pytest.mark.parametrize(
    ("texts", "form", "first"),
    [
        (["2024-02-29", "2023-01-01"], "ISO8601", datetime.date(2024, 2, 29)),
        (["2024-02-29 12:00"], "ISO8601", datetime.date(2024, 2, 29)),
        (["29.02.2024"], "%d.%m.%Y", datetime.date(2024, 2, 29)),
        (["2/29/2024"], "%m/%d/%Y", datetime.date(2024, 2, 29)),
        (["3/4/2024", "13/4/2024"], "%d/%m/%Y", datetime.date(2024, 4, 3)),
        (["Feb 29, 2024"], "%b %d, %Y", datetime.date(2024, 2, 29)),
    ],
)
def test_dates(texts, form, first):
    assert recognise_dates(texts) == Dates(form)
    days = Dates(form).parse(texts)
    assert int(days[0]) == (first - datetime.date(1970, 1, 1)).days


@pytest.mark.parametrize("texts", [["2024-02-30"], ["12"], ["Ulm"], ["29.02.2024", "31.02.2024"], ["1.5"]])
def test_what_is_no_date(texts):
    assert recognise_dates(texts) is None
