"""Tables of delimited text, and of Parquet, which are read as the same tables."""

import gzip
import sys

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import parquet

from cvxens.datasets import files, load_file, load_samples
from cvxens.errors import DataFileError


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="data.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


def test_a_table_of_numbers_and_categories(write):
    data = load_file(write("A1,A2,A3,class\nb,1.5,u,+\na,?,?,-\n?,3.5,u,+\nb,2.5,u,-\n"))
    assert data.feature_names == ("A1=?", "A1=a", "A1=b", "A2", "A3=?", "A3=u")
    assert data.X.tolist() == [
        [0, 0, 1, 1.5, 0, 1],
        [0, 1, 0, 2.5, 1, 0],
        [1, 0, 0, 3.5, 0, 1],
        [0, 0, 1, 2.5, 0, 1],
    ]
    assert data.y.tolist() == ["+", "-", "+", "-"]
    assert data.name == "data"
    assert data.X_test is None
    assert data.y_test is None
    assert data.notes == (
        "A1: 3 levels, each a 0/1 feature; missing values, 1 of them, are the level ?",
        "A2: the median 2.5 in place of 1 missing value",
        "A3: 2 levels, each a 0/1 feature; missing values, 1 of them, are the level ?",
    )


@pytest.mark.parametrize("missing", ["", "?", "NA", "NaN", " nan "])
def test_every_way_to_write_a_missing_value(write, missing):
    data = load_file(write(f"a,t\n1,0\n{missing},1\n4,1\n3,0\n"))
    assert data.X.ravel().tolist() == [1, 3, 4, 3]


@pytest.mark.parametrize(
    "text",
    [
        "a;b;t\n1;2;x\n3;4;y\n",
        "a\tb\tt\n1\t2\tx\n3\t4\ty\n",
        "\ufeffa,b,t\r\n1,2,x\r\n\r\n3,4,y\r\n",
        "\na,b,t\n 1 , 2 ,x\n   \n3,4,y",
        '"a","b","t"\n"1","2","x"\n"3","4","y"\n',
    ],
)
def test_spellings_of_one_table(write, text):
    data = load_file(write(text))
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.feature_names == ("a", "b")
    assert data.y.tolist() == ["x", "y"]


@settings(deadline=None, max_examples=25)
@given(arrays(np.float64, (4, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_survive_bit_for_bit(tmp_path_factory, X):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    rows = [",".join([*map(repr, row), str(i % 2)]) for i, row in enumerate(X.tolist())]
    path.write_text("\n".join(["a,b,c,t", *rows]))
    data = load_file(path)
    assert data.X.tobytes() == X.tobytes()
    assert data.y.tolist() == [0, 1, 0, 1]


def test_a_test_part_is_encoded_like_the_training_part(write):
    train = write("n,c,t\n1,p,1\n5,q,2\n?,q,1\n", "train.csv")
    test = write("n,c,t\n?,q,2\n9,r,2\n", "test.csv")
    data = load_file(train, test=test)
    assert data.feature_names == ("n", "c=p", "c=q")
    assert data.X_test.tolist() == [[3, 0, 1], [9, 0, 0]]
    assert data.y.tolist() == [1, 2, 1]
    assert data.as_signs().y_test.tolist() == [1, 1]


def test_labels_of_both_parts_are_read_as_one_kind(write):
    data = load_file(write("a,t\n1,1\n2,x\n", "train.csv"), test=write("a,t\n1,1\n", "test.csv"))
    assert data.y_test.tolist() == ["1"]
    assert data.as_signs().y_test.tolist() == [-1]


def test_identifiers_and_empty_columns_are_left_out(write):
    rows = "\n".join(f"id{i},{i % 3},?,{i % 2}" for i in range(30))
    data = load_file(write(f"who,a,none,t\n{rows}\n"))
    assert data.feature_names == ("a",)
    assert data.notes == (
        "who: left out: 30 texts identify single samples; --keep 'who' keeps it",
        "none: left out: every value is missing",
    )


def test_many_categories_with_enough_samples_are_kept(write):
    rows = "\n".join(f"c{i % 22},{i % 3 % 2}" for i in range(44))
    assert load_file(write(f"a,t\n{rows}\n")).X.shape == (44, 22)


def test_constant_and_repeated_columns_stay(write):
    data = load_file(write("a,b,c,t\n1,2,2,x\n1,3,3,y\n"))
    assert data.X.tolist() == [[1, 2, 2], [1, 3, 3]]


def test_a_table_as_csr(write):
    X = load_file(write("a,b,t\n0,2,x\n1,0,y\n"), sparse=True).X
    assert X.format == "csr"
    assert X.toarray().tolist() == [[0, 2], [1, 0]]


MOSTLY_NUMBERS = "a,t\n" + "".join(f"{i},{i % 2}\n" for i in range(30)) + "1O,1\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,t\n1,2,x\n1,2\n", ["2 cells in line 3", "header of 3"]),
        ("a,b,t\n1,2,3,x\n", ["4 cells in line 2"]),
        ("a,b,t\n", ["header only"]),
        ("hello world\n", ["one column"]),
        ("\ufeff\n", ["one column"]),
        ("5.1,3.5,setosa\n4.9,3.0,other\n", ["numbers in the first line"]),
        ("a,a,t\n1,2,x\n3,4,y\n", ["repeated names"]),
        (",a,t\n1,2,x\n1,4,y\n", ["empty or repeated"]),
        ("a,,t\n1,2,x\n3,4,y\n", ["empty or repeated"]),
        ("a,t\n1,x\n2,x\n", ["one label only, x"]),
        ("a,t\n1,x\n", ["one label only"]),
        ("a,t\n1,x\n2,?\n", ["no target in line 3"]),
        ("a,t\n1,x\ninf,y\n", ["NaN or infinity", "feature a"]),
        ("a,t\n1,1\n2,inf\n", ["unusable labels", "inf"]),
        ("a,t\n?,x\n?,y\n", ["no column that can be a feature"]),
        ('a,t\n"1,x\n2,y\n', ["malformed text"]),
        (f"a,t\n{'x' * 200_000},1\n", ["malformed text in line 2"]),
        (MOSTLY_NUMBERS, ["'1O' in line 32", "'a'"]),
    ],
)
def test_malformed_tables(write, text, words):
    path = write(text)
    with pytest.raises(DataFileError) as caught:
        load_file(path)
    assert str(path) in str(caught.value)
    assert all(word in str(caught.value) for word in words)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "word"), [("a,b\n1,2\n", "another header"), ("a,t\nword,x\n", "'word' in line 2, in the column")]
)
def test_test_parts_that_do_not_fit(write, text, word):
    train, test = write("a,t\n1,x\n2,y\n", "train.csv"), write(text, "test.csv")
    with pytest.raises(DataFileError, match=word) as caught:
        load_file(train, test=test)
    assert str(test) in str(caught.value)


def test_too_many_categories_for_the_memory(write, monkeypatch):
    monkeypatch.setattr(files, "DENSE_LIMIT", 8 * 6 * 2 - 1)
    with pytest.raises(DataFileError, match="leave out nominal columns"):
        load_file(write("a,t\np,0\nq,1\np,1\nq,0\np,1\nq,0\n"))


def test_a_compressed_table(tmp_path):
    path = tmp_path / "packed.csv.gz"
    path.write_bytes(gzip.compress(b"a,t\n1,x\n2,y\n"))
    data = load_file(path)
    assert data.X.tolist() == [[1], [2]]
    assert data.name == "packed"


COLUMNS = {
    "size": [0.1, 1 / 3, 1e-300, None, -2.5e17],
    "town": ["Ulm", 'a "b", c', None, "Ulm", "Bonn"],
    "large": [True, False, None, True, False],
    "class": [1, 0, 1, 0, 1],
}


@pytest.fixture
def parquet_file(tmp_path):
    parquet.write_table(pyarrow.table(COLUMNS), tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


def test_a_table_is_read_to_the_last_bit(parquet_file):
    data = load_file(parquet_file)
    assert data.feature_names[:2] == ("size", "town=?")
    np.testing.assert_array_equal(data.X[[0, 1, 2, 4], 0], [0.1, 1 / 3, 1e-300, -2.5e17])
    np.testing.assert_array_equal(data.y, COLUMNS["class"])
    assert data.X[:, data.feature_names.index("town=Ulm")].tolist() == [1, 0, 0, 1, 0]
    assert data.X[:, data.feature_names.index("large=true")].tolist() == [1, 0, 0, 1, 0]


def test_samples_are_encoded_as_in_the_fit(parquet_file, tmp_path):
    data = load_file(parquet_file)
    new = {name: COLUMNS[name][::-1] for name in ("large", "town", "size")}
    parquet.write_table(pyarrow.table(new), tmp_path / "new.parquet")
    X, y, *_ = load_samples(tmp_path / "new.parquet", data.X.shape[1], data.encoder)
    assert y is None
    np.testing.assert_array_equal(X, data.X[::-1])


def test_a_truncated_file(parquet_file):
    parquet_file.write_bytes(parquet_file.read_bytes()[:-20])
    with pytest.raises(DataFileError, match="cannot be read as a table"):
        load_file(parquet_file)


def test_columns_of_lists(tmp_path):
    parquet.write_table(pyarrow.table({"a": [[1], [2]], "class": [0, 1]}), tmp_path / "lists.parquet")
    with pytest.raises(DataFileError, match="cannot be read as a table"):
        load_file(tmp_path / "lists.parquet")


def test_without_pyarrow(parquet_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataFileError, match=r"no pyarrow to read it; install cvxens\[parquet\]"):
        load_file(parquet_file)
