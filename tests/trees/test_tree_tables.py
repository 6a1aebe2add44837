import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens.errors import DataFileError, InvalidInput
from cvxens.trees import Feature, Table, match, read_csv

NAN = np.nan


def column(cells, **options):
    table = Table.read([[cell] for cell in cells], **options)
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


def test_numbers_can_be_declared_codes_of_categories():
    table = Table.read([[1, 3.0], [2, 10.0], [None, 3.0]], names=["k", "v"], nominal=["k", -1])
    assert table.features == (Feature("k", ("1", "2")), Feature("v", ("10", "3")))
    np.testing.assert_array_equal(table.columns, [[0, 1, NAN], [1, 0, 1]])
    np.testing.assert_array_equal(match(table.features, np.array([[2.0, 10.0]])).columns, [[1], [0]])


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
    ("argument", "X", "options"),
    [
        ("X", [], {}),
        ("X", [[]], {}),
        ("X", [1, 2], {}),
        ("X", [[1], [1, 2]], {}),
        ("X", [[1, 2], [1]], {}),
        ("X", np.zeros((2, 2, 2)), {}),
        ("X", np.array([["2020-01-01"]], dtype="datetime64[D]"), {}),
        ("X", np.array([[1j]]), {}),
        ("X", np.array([[1.0], [np.inf]]), {}),
        ("X", [[1], [-np.inf]], {}),
        ("X", Table.read([[1]]), {"nominal": [0]}),
        ("X", Table.read([[1]]), {"names": ["a"]}),
        ("names", [[1, 2]], {"names": ["a"]}),
        ("names", [[1, 2]], {"names": ["a", "a"]}),
        ("nominal", [[1, 2]], {"nominal": ["a"]}),
        ("nominal", [[1, 2]], {"nominal": [2]}),
    ],
)
def test_bad_tables_are_named(argument, X, options):
    with pytest.raises(InvalidInput) as caught:
        Table.read(X, **options)
    assert caught.value.argument == argument


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
        match(features, Table.read([["b", 1.0]], names=["x0", "y"]))


def test_match_translates_the_codes_of_another_table():
    table, other = Table.read([["b", 1.0], ["c", 2.0]]), Table.read([["a", 3.0], ["c", 4.0], [None, None]])
    np.testing.assert_array_equal(match(table.features, other).columns, [[NAN, 1, NAN], [3, 4, NAN]])
    codes = Table.read([[1], [2]], nominal=[0]).features
    np.testing.assert_array_equal(match(codes, Table.read([[2.0], [3.0]])).columns, [[1, NAN]])


@pytest.mark.parametrize("cells", [[None, None], ["?", ""], [NAN, NAN]])
def test_a_column_without_known_values_takes_anything_as_missing(cells):
    categories, values = column(cells)
    assert categories == ()
    assert np.isnan(values).all()
    assert np.isnan(match((Feature("x0", ()),), [["a"], [1]]).columns).all()


def test_csv():
    lines = ["kind, size,class\n", "a,1,yes\n", "?,,no\n", '"b",2.5, no\n']
    table, y = read_csv(lines)
    assert table.features == (Feature("kind", ("a", "b")), Feature(" size"))
    np.testing.assert_array_equal(table.columns, [[0, NAN, 1], [1, NAN, 2.5]])
    assert y.tolist() == ["yes", "no", "no"]
    table, y = read_csv(["c,n", "1,5", "0,6"], target="c", nominal=["n"])
    assert (table.features, y.tolist()) == ((Feature("n", ("5", "6")),), ["1", "0"])


@pytest.mark.parametrize(
    ("lines", "target", "says"),
    [
        ([], None, "target"),
        (["a,b"], None, "no line below"),
        (["a,b", "1,2"], "c", "'c'"),
        (["a,b", "1,2", "1"], None, "1 cells in record 2"),
        (["a,b", "1,2", "1,?"], None, "no label in record 2"),
    ],
)
def test_bad_csv_is_located(lines, target, says):
    with pytest.raises(DataFileError, match=says):
        read_csv(lines, target=target)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=10))
def test_numbers_survive_the_way_through_text(cells):
    _, values = column(cells)
    _, again = column(["?" if cell is None else repr(cell) for cell in cells])
    np.testing.assert_array_equal(values, again)
