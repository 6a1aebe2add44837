import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.errors import InvalidInput
from cvxens.trees import Feature, Table, match

NAN = np.nan


def column(cells):
    table = Table.read([[cell] for cell in cells])
    return table.features[0].categories, table.columns[0]


@pytest.mark.parametrize(
    "cells", [[1, 2.5, None], [1, 2.5, NAN], ["1", " 2.5 ", "?"], ["1.0", "2.5", ""], ["1", 2.5, " "]]
)
def test_numbers(cells):
    categories, values = column(cells)
    assert categories is None
    np.testing.assert_array_equal(values, [1, 2.5, NAN])


@pytest.mark.parametrize(
    ("cells", "categories"),
    [
        (["b", "a", None], ("a", "b")),
        (["b ", "a", "?"], ("a", "b")),
        ([True, False, None], ("False", "True")),
        ([np.True_, np.False_, None], ("False", "True")),
        (["x", 1, None], ("1", "x")),
        (["inf", "1", None], ("1", "inf")),
        (["nan", "1", None], ("1", "nan")),
        (["1_0", "0", None], ("0", "1_0")),
    ],
)
def test_categories(cells, categories):
    found, values = column(cells)
    assert found == categories
    np.testing.assert_array_equal(np.isnan(values), [False, False, True])


def test_numpy_arrays():
    floats = Table.read(np.array([[1.0, NAN], [2.0, 3.0]]))
    np.testing.assert_array_equal(floats.columns, [[1, 2], [NAN, 3]])
    assert Table.read(np.array([[True], [False]])).features[0].categories == ("False", "True")
    assert Table.read(np.array([["?"], ["3"]])).features[0].categories is None
    assert Table.read(np.array([[1], [2]], dtype=np.uint8)).columns.tolist() == [[1.0, 2.0]]


def test_a_table_reads_as_itself_and_gives_rows():
    table = Table.read([["a", 1], ["b", 2], ["a", 3]])
    assert Table.read(table) is table
    assert match(table.features, table) is table
    part = table.take([2, 0])
    assert (len(part), part.features) == (2, table.features)
    np.testing.assert_array_equal(part.columns, [[0, 0], [3, 1]])
    np.testing.assert_array_equal(table.take([False, True, False]).columns, [[1], [2]])
    assert [values.tolist() for values in table.distinct] == [[0, 1], [1, 2, 3]]


@pytest.mark.parametrize(
    "X",
    [
        [],
        [[]],
        [1, 2],
        [[1], [1, 2]],
        [[1, 2], [1]],
        np.zeros((2, 2, 2)),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        np.array([[1j]]),
        np.array([[1.0], [np.inf]]),
        [[1], [-np.inf]],
    ],
)
def test_bad_tables_are_named(X):
    with pytest.raises(InvalidInput, match=r"^X: "):
        Table.read(X)


@pytest.mark.parametrize("value", [2.0, -1.0, 0.5])
def test_codes_that_are_no_category_are_refused(value):
    with pytest.raises(InvalidInput, match="columns"):
        Table((Feature("x", ("a", "b")),), np.array([[0.0, value]]))


@pytest.mark.parametrize("columns", [np.zeros((2, 3)), np.zeros(3), np.zeros((1, 0)), np.array([[np.inf]])])
def test_columns_that_fit_no_feature_are_refused(columns):
    with pytest.raises(InvalidInput, match="columns"):
        Table((Feature("x"),), columns)


def test_match_refuses_what_does_not_fit():
    features = Table.read([["a", 1.0]]).features
    with pytest.raises(InvalidInput, match="3 values for 2 features"):
        match(features, [["a", 1.0, 2.0]])
    with pytest.raises(InvalidInput, match="'x1' that are not finite numbers"):
        match(features, [["a", "much"]])
    with pytest.raises(InvalidInput, match="no columns"):
        match(features, Table.read(pd.DataFrame({"x0": ["b"], "y": [1.0]})))


def test_match_translates_the_codes_of_another_table():
    table, other = Table.read([["b", 1.0], ["c", 2.0]]), Table.read([["a", 3.0], ["c", 4.0], [None, None]])
    np.testing.assert_array_equal(match(table.features, other).columns, [[NAN, 1, NAN], [3, 4, NAN]])
    codes = (Feature("x0", ("1", "2")),)
    np.testing.assert_array_equal(match(codes, Table.read([[2.0], [3.0]])).columns, [[1, NAN]])
    np.testing.assert_array_equal(match(codes, np.array([[2.0]])).columns, [[1]])


@pytest.mark.parametrize("cells", [[None, None], ["?", ""], [NAN, NAN]])
def test_a_column_without_known_values_takes_anything_as_missing(cells):
    categories, values = column(cells)
    assert categories == ()
    assert np.isnan(values).all()
    assert np.isnan(match((Feature("x0", ()),), [["a"], [1]]).columns).all()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=10))
def test_numbers_survive_the_way_through_text(cells):
    _, values = column(cells)
    _, again = column(["?" if cell is None else repr(cell) for cell in cells])
    np.testing.assert_array_equal(values, again)
