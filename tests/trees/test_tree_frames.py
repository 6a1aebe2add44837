import numpy as np
import pandas as pd
import polars as pl
import pytest

from cvxens.errors import InvalidInput
from cvxens.tables import find_features
from cvxens.trees import Feature, Table, fit_tree, match

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
def test_frames_make_the_same_table(frame):
    table = Table.read(frame())
    assert table.features == FEATURES
    np.testing.assert_array_equal(table.columns, COLUMNS)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_columns_of_frames_are_found_by_name(frame):
    names = list(CELLS)[::-1]
    found = match(FEATURES, frame()[names])
    np.testing.assert_array_equal(found.columns, COLUMNS)
    with pytest.raises(InvalidInput, match="size"):
        match(FEATURES, frame()[names[:-1]])


@pytest.mark.parametrize("library", [pd, pl])
def test_a_tree_takes_frames_and_rows_alike(library):
    frame = library.DataFrame({"kind": ["a", "a", "b", "b"], "size": [1, 2, 3, 4]})
    tree = fit_tree(frame, [0, 0, 1, 1])
    assert (
        tree.predict(frame).tolist() == tree.predict([["a", 1], ["a", 2], ["b", 3], ["b", 4]]).tolist() == [0, 0, 1, 1]
    )
    assert str(tree).splitlines() == ["kind = a: 0 (2.0)", "kind = b: 1 (2.0)"]


def test_texts_for_gaps_make_no_words_of_numbers():
    frame = pd.DataFrame({"size": pd.Series([1.5, "?", " ", np.int8(2)], dtype=object), "kind": list("abab")})
    assert find_features(frame)[0] == Feature("size")
    assert find_features(frame[["size"]]) is None
    np.testing.assert_array_equal(Table.read(frame).columns[0], [1.5, NAN, NAN, 2])


def test_truth_values_are_one_however_they_are_spelt():
    features = Table.read(pd.DataFrame({"flag": [True, False]})).features
    found = match(features, [["TRUE"], ["false"], [np.True_], [None], ["yes"]]).columns
    np.testing.assert_array_equal(found, [[1, 0, 1, NAN, NAN]])


def test_categories_of_any_type_are_what_they_are_called():
    sizes = pd.DataFrame({"size": pd.cut([1.0, 2.0, 9.0, np.nan], [0.0, 5.0, 10.0])})
    assert find_features(sizes) == (Feature("size", ("(0.0, 5.0]", "(5.0, 10.0]")),)
    np.testing.assert_array_equal(Table.read(sizes).columns, [[0, 0, 1, NAN]])


def test_texts_of_memory_are_no_gaps():
    assert Table.read([["NA"], ["None"], ["?"]]).features == (Feature("x0", ("NA", "None")),)


@pytest.mark.parametrize("library", [pd, pl])
def test_dates_and_empty_frames_are_refused(library):
    dates = library.DataFrame({"day": np.array(["2020-01-01"], dtype="datetime64[ms]")})
    with pytest.raises(InvalidInput, match="'day'"):
        Table.read(dates)
    with pytest.raises(InvalidInput, match="0 rows"):
        Table.read(library.DataFrame({"x": []}))
    with pytest.raises(InvalidInput, match="several columns 'x'"):
        Table.read(pd.DataFrame([[1, 2]], columns=["x", "x"]))
