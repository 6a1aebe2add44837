"""What columns are learnt to be, and that other tables are coded in the same way, whatever types their cells have."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.errors import InvalidInput
from cvxens.tables import TableEncoder

PEOPLE = pd.DataFrame(
    {
        "customer_id": range(1000, 1024),
        "name": [f"P{i}" for i in range(24)],
        "signed": [f"2024-01-{i + 1:02d}" for i in range(24)],
        "age": [None, *range(30, 53)],
        "income": [f"{1000 + 17 * i:,}.50" for i in range(24)],
        "share": [f"{i}%" for i in range(24)],
        "town": ["Ulm", "Bonn", None] * 8,
        "member": [True, False] * 12,
        "grade": pd.Categorical(["a", "b", "c", "a"] * 6),
    }
)
KINDS = ["left out"] * 3 + ["numeric"] * 3 + ["nominal"] * 3


def test_kinds_and_reasons():
    encoder = TableEncoder.learn(PEOPLE)
    assert [column.kind for column in encoder.columns] == KINDS
    told = dict(note.split(": ", 1) for note in encoder.notes)
    assert told.keys() == set(PEOPLE.columns)
    assert all("left out: " in told[name] and f"--keep {name!r}" in told[name] for name in PEOPLE.columns[:3])
    assert told["age"] == "the median 41 in place of 1 missing value"
    assert told["income"] == "read as numbers with thousands separators"
    assert told["share"] == "percentages read as numbers, 12% as 0.12"
    assert "missing values, 8 of them, are the level ?" in told["town"]
    # nothing is told of columns that are taken as they are
    assert TableEncoder.learn(pd.DataFrame({"a": [1, 2, 2], "b": ["1", "2", "2.5"]})).notes == ()
    X = encoder.transform(PEOPLE)
    assert X["age"].tolist()[:2] == [41, 30]
    assert X["income"].tolist()[:2] == [1000.5, 1017.5]
    assert X["share"].tolist()[:2] == [0, 0.01]
    assert X.filter(like="town=").to_numpy().tolist()[:3] == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_kept_columns():
    names = ("customer_id", "name", "signed")
    encoder = TableEncoder.learn(PEOPLE, keep=names)
    assert [column.kind for column in encoder.columns[:3]] == ["numeric", "nominal", "date"]
    X = encoder.transform(PEOPLE)
    assert np.diff(X["customer_id"]).tolist() == np.diff(X["signed"]).tolist() == [1] * 23
    assert X["signed"][0] == 19723
    assert "signed: dates, read as ISO8601, as days since 1970" in encoder.notes
    moments = PEOPLE.assign(signed=pd.to_datetime(PEOPLE["signed"]))
    pd.testing.assert_frame_equal(encoder.transform(moments), X)
    kept = TableEncoder.learn(moments, keep=names)
    assert kept.transform(moments)["signed"].tolist() == X["signed"].tolist()


def as_text(frame):
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)), dtype=str, keep_default_na=False)


@pytest.mark.parametrize(
    "spelt",
    [
        as_text,
        lambda frame: pd.read_csv(io.StringIO(frame.to_csv(index=False))),
        lambda frame: frame.astype(object),
        lambda frame: frame.assign(grade=frame["grade"].astype(str)).convert_dtypes(),
        lambda frame: pl.from_pandas(frame.astype({"grade": str})),
        lambda frame: frame[frame.columns[::-1]],
        lambda frame: frame.assign(more=1, signed=pd.to_datetime(frame["signed"])),
        lambda frame: frame.drop(columns=["customer_id", "name", "signed"]),
        lambda frame: frame.set_index("name"),
    ],
)
@pytest.mark.product(learnt_of_text=[True, False], raw=[True, False])
def test_a_table_is_the_same_in_any_spelling(spelt, learnt_of_text, raw):
    encoder = TableEncoder.learn(as_text(PEOPLE) if learnt_of_text else PEOPLE, raw=raw)
    expected = encoder.transform(PEOPLE)
    found = encoder.transform(spelt(PEOPLE))
    pd.testing.assert_frame_equal(found, expected, check_index_type=False)


@given(st.lists(st.sampled_from(["a", "b", "1", "2.50", "x y", "?"]), min_size=6, max_size=12), st.booleans())
def test_features_are_features_already(cells, raw):
    """Coding twice is coding once."""
    frame = pd.DataFrame({"c": cells, "n": np.arange(len(cells)) / 7})
    encoder = TableEncoder.learn(frame, raw=raw)
    X = encoder.transform(frame)
    pd.testing.assert_frame_equal(encoder.transform(X), X)
    if not raw:
        pd.testing.assert_frame_equal(encoder.accept(X.to_numpy()), X)


def test_what_is_not_as_it_was_is_said():
    encoder = TableEncoder.learn(PEOPLE[["age", "town", "member"]].dropna(), target="y")
    towns = ["Rome", None]
    new = pd.DataFrame({"y": [1, 2], "size": [1, 1], "town": towns, "age": [3, None], "member": ["TRUE", "no"]})
    assert encoder.remarks(new) == (
        "size: not in the table of the fit, so not used",
        "age: 1 value missing, taken as 41",
        "town: 2 values of no level of the fit (Rome, a missing value), taken as none of them",
        "member: 1 value of no level of the fit (no), taken as none of them",
    )
    assert encoder.transform(new).to_numpy().tolist() == [[3, 0, 0, 0, 1], [41, 0, 0, 0, 0]]
    assert encoder.remarks(PEOPLE[["age", "town", "member"]].dropna()) == ()


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (PEOPLE.drop(columns="town"), "found no column 'town'"),
        (PEOPLE.assign(age="old"), "found 'old' in row 0, in the column of numbers 'age'"),
        (PEOPLE.assign(share=True), "found 'true' in row 0, in the column of numbers 'share'"),
        (PEOPLE.assign(town=[[1]] * 24), "found list in the column 'town'"),
        (pd.concat([PEOPLE, PEOPLE], axis=1), "found several columns 'customer_id'"),
    ],
)
def test_frames_that_cannot_be_coded(frame, found):
    encoder = TableEncoder.learn(PEOPLE)
    with pytest.raises(InvalidInput) as caught:
        encoder.transform(frame)
    assert caught.value.found.startswith(found)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("id", [3, 1, 2, 9, 8], "left out"),
        ("customerId", [3, 1, 2, 9, 8], "left out"),
        ("row ID", ["3", "1", "2", "9", "8"], "left out"),
        ("Unnamed: 0", [0, 1, 2, 3, 4], "left out"),
        ("id", [3, 1, 2, 9, 9], "numeric"),
        ("id", [3.5, 1, 2, 9, 8], "numeric"),
        ("paid", [3, 1, 2, 9, 8], "numeric"),
        ("humid", [3, 1, 2, 9, 8], "numeric"),
        ("grid", [3, 1, 2, 9, 8], "numeric"),
        ("age", [3, 1, 2, 9, 8], "numeric"),
        ("id", [1, 2], "numeric"),
        ("name", list("abcde"), "left out"),
        ("name", list("abcda"), "nominal"),
        ("name", list("abcd"), "nominal"),
        ("empty", [None] * 5, "left out"),
    ],
)
def test_identifiers(name, values, kind):
    (column,) = TableEncoder.learn(pd.DataFrame({name: values})).columns
    assert column.kind == kind


@pytest.mark.parametrize(("slip", "mark", "many"), [("x", ",", "3O,5"), ("3,5", ".", "30,5")])
def test_a_slip_among_numbers_is_told(slip, mark, many):
    """Numbers in several writings are one too."""
    few = pd.DataFrame({"n": ["1.5", "2.5", slip, "1.5", "2.5"]})
    assert f"though 4 of its 5 values are numbers: is {slip!r} a slip" in TableEncoder.learn(few).notes[0]
    assert TableEncoder.learn(few, na=(slip,)).columns[0].kind == "numeric"
    with pytest.raises(InvalidInput, match=f"found '{many}' in row 30, in the column of numbers 'n'"):
        TableEncoder.learn(pd.DataFrame({"n": [*(f"{i}{mark}5" for i in range(30)), many]}))
