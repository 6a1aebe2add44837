"""Cells, arrays and frames as numeric and nominal features, and other samples encoded as those."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.errors import InvalidInput
from cvxens.tables import Feature, Table, find_features, match
from cvxens.trees import fit_tree

NAN = np.nan
CELLS = {
    "size": [1.5, None, 3.0],
    "count": [1, 2, None],
    "kind": ["a", None, "b"],
    "level": ["low", "high", "?"],
    "flag": [True, None, False],
}
FEATURES = (
    Feature("size"),
    Feature("count"),
    Feature("kind", ("a", "b")),
    Feature("level", ("high", "low")),
    Feature("flag", ("False", "True")),
)
COLUMNS = [[1.5, NAN, 3.0], [1, 2, NAN], [0, NAN, 1], [1, 0, NAN], [1, NAN, 0]]
FRAMES = {
    "pandas": lambda: pd.DataFrame(CELLS),
    "pandas nullable": lambda: pd.DataFrame(CELLS).convert_dtypes(),
    "pandas categorical": lambda: pd.DataFrame(CELLS).astype({"kind": "category", "level": "category"}),
    "polars": lambda: pl.DataFrame(CELLS),
    "polars categorical": lambda: pl.DataFrame(CELLS).with_columns(
        pl.col("kind").cast(pl.Categorical), pl.col("level").cast(pl.Enum(["low", "high", "?"]))
    ),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_make_the_same_table_and_their_columns_are_found_by_name(frame):
    table, names = Table.read(frame()), list(CELLS)[::-1]
    assert table.features == FEATURES
    np.testing.assert_array_equal(table.columns, COLUMNS)
    np.testing.assert_array_equal(match(FEATURES, frame()[names]).columns, COLUMNS)
    with pytest.raises(InvalidInput, match="size"):
        match(FEATURES, frame()[names[:-1]])


@pytest.mark.parametrize("library", [pd, pl])
def test_a_tree_takes_frames_and_rows_alike(library):
    frame = library.DataFrame({"kind": ["a", "a", "b", "b"], "size": [1, 2, 3, 4]})
    tree = fit_tree(frame, [0, 0, 1, 1])
    for samples in (frame, [["a", 1], ["a", 2], ["b", 3], ["b", 4]]):
        assert tree.predict(samples).tolist() == [0, 0, 1, 1]
    assert str(tree).splitlines() == ["kind = a: 0 (2.0)", "kind = b: 1 (2.0)"]


@pytest.mark.parametrize(
    ("cells", "categories", "values"),
    [
        *(
            (cells, None, [1, 2.5, NAN])
            for cells in ([1, 2.5, None], [1, 2.5, NAN], ["1", " 2.5 ", "?"], ["1.0", "2.5", ""], ["1", 2.5, " "])
        ),
        (["b", "a", None], ("a", "b"), [1, 0, NAN]),
        (["b ", "a", "?"], ("a", "b"), [1, 0, NAN]),
        ([True, False, None], ("False", "True"), [1, 0, NAN]),
        ([np.True_, np.False_, None], ("False", "True"), [1, 0, NAN]),
        (["x", 1, None], ("1", "x"), [1, 0, NAN]),
        (["inf", "1", None], ("1", "inf"), [1, 0, NAN]),
        (["nan", "1", None], ("1", "nan"), [1, 0, NAN]),
        (["1_0", "0", None], ("0", "1_0"), [1, 0, NAN]),
        # NA may be Namibia
        (["NA", "None", "?"], ("NA", "None"), [0, 1, NAN]),
        *((cells, (), [NAN, NAN]) for cells in ([None, None], ["?", ""], [NAN, NAN])),
    ],
)
def test_what_cells_are(cells, categories, values):
    table = Table.read([[cell] for cell in cells])
    assert table.features[0].categories == categories
    np.testing.assert_array_equal(table.columns[0], values)


def test_numpy_arrays():
    floats = Table.read(np.array([[1.0, NAN], [2.0, 3.0]]))
    np.testing.assert_array_equal(floats.columns, [[1, 2], [NAN, 3]])
    assert Table.read(np.array([[True], [False]])).features[0].categories == ("False", "True")
    assert Table.read(np.array([["?"], ["3"]])).features[0].categories is None
    assert Table.read(np.array([[1], [2]], dtype=np.uint8)).columns.tolist() == [[1.0, 2.0]]


def test_what_frames_are_by_their_types():
    frame = pd.DataFrame({"size": pd.Series([1.5, "?", " ", np.int8(2)], dtype=object), "kind": list("abab")})
    assert find_features(frame)[0] == Feature("size")
    assert find_features(frame[["size"]]) is None
    np.testing.assert_array_equal(Table.read(frame).columns[0], [1.5, NAN, NAN, 2])
    # categories of any type are what they are called
    sizes = pd.DataFrame({"size": pd.cut([1.0, 2.0, 9.0, np.nan], [0.0, 5.0, 10.0])})
    assert find_features(sizes) == (Feature("size", ("(0.0, 5.0]", "(5.0, 10.0]")),)
    np.testing.assert_array_equal(Table.read(sizes).columns, [[0, 0, 1, NAN]])


def test_a_table_reads_as_itself_and_gives_rows():
    table = Table.read([["a", 1], ["b", 2], ["a", 3]])
    assert Table.read(table) is table
    assert match(table.features, table) is table
    part = table.take([2, 0])
    assert (len(part), part.features) == (2, table.features)
    np.testing.assert_array_equal(part.columns, [[0, 0], [3, 1]])
    np.testing.assert_array_equal(table.take([False, True, False]).columns, [[1], [2]])
    assert [values.tolist() for values in table.distinct] == [[0, 1], [1, 2, 3]]


BAD = [
    *(("^X: ", X) for X in ([], [[]], [1, 2], [[1], [1, 2]], [[1, 2], [1]], np.zeros((2, 2, 2)), np.array([[1j]]))),
    *(("^X: ", X) for X in (np.array([["2020-01-01"]], dtype="datetime64[D]"), [[1.0], [np.inf]], [[1], [-np.inf]])),
    ("several columns 'x'", pd.DataFrame([[1, 2]], columns=["x", "x"])),
    *(("0 rows", library.DataFrame({"x": []})) for library in (pd, pl)),
    *(("'day'", library.DataFrame({"day": np.array([0], dtype="datetime64[ms]")})) for library in (pd, pl)),
]


@pytest.mark.parametrize(("found", "X"), BAD)
def test_bad_tables_are_named(found, X):
    with pytest.raises(InvalidInput, match=found):
        Table.read(X)


@pytest.mark.parametrize(
    ("feature", "columns"),
    [
        *((Feature("x", ("a", "b")), np.array([[0.0, value]])) for value in (2.0, -1.0, 0.5)),
        *((Feature("x"), X) for X in (np.zeros((2, 3)), np.zeros(3), np.zeros((1, 0)), np.array([[np.inf]]))),
    ],
)
def test_columns_that_fit_no_feature_are_refused(feature, columns):
    with pytest.raises(InvalidInput, match="columns"):
        Table((feature,), columns)


@pytest.mark.parametrize(
    ("X", "found"),
    [
        ([["a", 1.0, 2.0]], "3 values for 2 features"),
        ([["a", "much"]], "'x1' that are not finite numbers"),
        (Table.read(pd.DataFrame({"x0": ["b"], "y": [1.0]})), "no columns"),
    ],
)
def test_match_refuses_what_does_not_fit(X, found):
    with pytest.raises(InvalidInput, match=found):
        match(Table.read([["a", 1.0]]).features, X)


FLAG = Table.read(pd.DataFrame({"flag": [True, False]})).features


@pytest.mark.parametrize(
    ("features", "X", "columns"),
    [
        # truth values are one however they are spelt
        (FLAG, [["TRUE"], ["false"], [np.True_], [None], ["yes"]], [[1, 0, 1, NAN, NAN]]),
        # the codes of another table are translated
        (
            Table.read([["b", 1.0], ["c", 2.0]]).features,
            Table.read([["a", 3.0], ["c", 4.0], [None, None]]),
            [[NAN, 1, NAN], [3, 4, NAN]],
        ),
        ((Feature("x0", ("1", "2")),), Table.read([[2.0], [3.0]]), [[1, NAN]]),
        ((Feature("x0", ("1", "2")),), np.array([[2.0]]), [[1]]),
        # without known values, anything is missing
        ((Feature("x0", ()),), [["a"], [1]], [[NAN, NAN]]),
    ],
)
def test_match_encodes_as_the_features_say(features, X, columns):
    np.testing.assert_array_equal(match(features, X).columns, columns)


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1, max_size=10))
def test_numbers_survive_the_way_through_text(cells):
    numbers, texts = (
        Table.read([[cell] for cell in column]).columns
        for column in (cells, ["?" if cell is None else repr(cell) for cell in cells])
    )
    np.testing.assert_array_equal(numbers, texts)
