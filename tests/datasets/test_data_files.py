"""Files as people have them: one sample in many writings, what is told of odd ones, what is refused in a sentence."""

import bz2
import gzip
import lzma
import sys
import zipfile
from functools import partial
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow
import pytest
from command_line import run
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import parquet
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from cvxens.datasets import files, load_file, load_samples
from cvxens.errors import CvxensError, DataFileError

N = 40
RNG = np.random.default_rng(0)
A = RNG.normal(size=N).round(3)
Y = np.where(A > 0, "yes", "no")
TABLE = pd.DataFrame({"a": A, "b": RNG.integers(0, 5, N), "town": RNG.choice(["Ulm", "Bonn", "Köln"], N), "y": Y})
ROWS = np.arange(N)
PRICES = (1e4 + 1e3 * RNG.random(N)).round(2)
SVM = b"+1 1:0.5 3:2 # a comment\n-1 2:1\n\n-1\n+1 1:4\n"
# without the time of day, by which two workers would name their tests differently
zip_up = partial(gzip.compress, mtime=0)
X3, Y3 = np.array([[0, 2], [3, 0], [0, 0]], dtype=np.uint8), np.array([1, -1, 1], dtype=np.int8)


def beside(**columns):
    """The table with other columns, the target last, as CSV."""
    table = TABLE.drop(columns="y").assign(**{"y": Y, **columns})
    return table[[name for name in table if name != "y"] + ["y"]].to_csv(index=False)


def archive(**arrays_by_name):
    content = BytesIO()
    np.savez_compressed(content, **arrays_by_name)
    return content.getvalue()


def csr_parts(X, y, part):
    X = csr_array(X)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape), "y": y}
    return {f"{key}_{part}": value for key, value in parts.items()}


def as_parquet(columns):
    content = BytesIO()
    parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue()


@pytest.fixture
def put(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


CSV = TABLE.to_csv(index=False)
READ = {
    "plain": CSV,
    "utf-16": CSV.encode("utf-16"),
    "utf-16, big end first": b"\xfe\xff" + CSV.encode("utf-16-be"),
    "utf-32": CSV.encode("utf-32"),
    "utf-8 with a mark": CSV.encode("utf-8-sig"),
    "lines of Windows, some blank": CSV.replace("\n", "\r\n\r\n   \r\n", 3),
    "gzip": zip_up(CSV.encode()),
    "bzip2": bz2.compress(CSV.encode()),
    "xz": lzma.compress(CSV.encode()),
    "tabs": TABLE.to_csv(index=False, sep="\t"),
    "semicolons": TABLE.to_csv(index=False, sep=";", decimal=","),
    "blanks around cells": "\n" + CSV.replace(",", " , "),
    "quotation marks": TABLE.to_csv(index=False, quoting=1),
    "comments": "# by hand\n" + CSV,
    "an index": TABLE.to_csv(),
    "whole numbers as names": TABLE.set_axis(["0", "1", "2", "3"], axis=1).to_csv(index=False),
    "records": TABLE.to_json(orient="records"),
    "a record per line": TABLE.to_json(orient="records", lines=True),
    "records with line breaks": TABLE.to_json(orient="records", indent=1),
    "parquet": as_parquet(TABLE.to_dict("list")),
}


@pytest.mark.parametrize("name", READ)
def test_one_table_in_many_writings_is_one_table(put, name):
    plain, read = load_file(put(CSV, "plain.csv")), load_file(put(READ[name], "data.csv.gz"))
    assert read.name == "data"
    assert np.array_equal(plain.X, read.X)
    assert np.array_equal(plain.y, read.y)


def test_a_table_of_numbers_and_categories(put):
    data = load_file(put("A1,A2,A3,class\nb,1.5,u,+\na,?,?,-\n?,3.5,u,+\nb,2.5,u,-\n", "data.csv"))
    assert data.feature_names == ("A1=?", "A1=a", "A1=b", "A2", "A3=?", "A3=u")
    expected = [[0, 0, 1, 1.5, 0, 1], [0, 1, 0, 2.5, 1, 0], [1, 0, 0, 3.5, 0, 1], [0, 0, 1, 2.5, 0, 1]]
    assert data.X.tolist() == expected
    assert data.y.tolist() == ["+", "-", "+", "-"]
    assert (data.name, data.X_test, data.y_test) == ("data", None, None)
    assert data.notes == (
        "A1: 3 levels, each a 0/1 feature; missing values, 1 of them, are the level ?",
        "A2: the median 2.5 in place of 1 missing value",
        "A3: 2 levels, each a 0/1 feature; missing values, 1 of them, are the level ?",
    )
    sparse = load_file(put("a,b,t\n0,2,x\n1,0,y\n"), sparse=True).X
    assert (sparse.format, sparse.toarray().tolist()) == ("csr", [[0, 2], [1, 0]])


@pytest.mark.parametrize("missing", ["", "?", "NA", "NaN", " nan "])
def test_every_way_to_write_a_missing_value(put, missing):
    assert load_file(put(f"a,t\n1,0\n{missing},1\n4,1\n3,0\n")).X.ravel().tolist() == [1, 3, 4, 3]


@settings(max_examples=25)
@given(arrays(np.float64, (4, 3), elements=st.floats(allow_nan=False, allow_infinity=False)), st.booleans())
def test_numbers_survive_bit_for_bit(tmp_path_factory, X, columnar):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    frame = pd.DataFrame(X, columns=list("abc")).assign(t=[0, 1, 0, 1])
    text = "\n".join(["a,b,c,t", *(",".join(map(repr, row)) for row in frame.astype(object).to_numpy().tolist())])
    path.write_bytes(as_parquet(frame.to_dict("list")) if columnar else text.encode())
    data = load_file(path)
    assert data.X.tobytes() == X.tobytes()
    assert data.y.tolist() == [0, 1, 0, 1]


@settings(max_examples=20)
@given(arrays(np.float64, (3, 4), elements=st.floats(-1e9, 1e9)), st.booleans())
def test_libsvm_numbers_survive(tmp_path_factory, X, zero_based):
    X[:, [0, -1]] = 1
    path = tmp_path_factory.mktemp("svm") / "x"
    dump_svmlight_file(X, [1, 2, 1], str(path), zero_based=zero_based)
    np.testing.assert_allclose(load_file(path).X, X, rtol=1e-15)


def test_a_test_part_is_encoded_like_the_training_part(put):
    data = load_file(put("n,c,t\n1,p,1\n5,q,2\n?,q,1\n", "train"), test=put("t,c,n\n2,q,?\n2,r,9\n", "test"))
    assert data.feature_names == ("n", "c=p", "c=q")
    assert data.X_test.tolist() == [[3, 0, 1], [9, 0, 0]]
    assert data.y.tolist() == [1, 2, 1]
    assert data.as_signs().y_test.tolist() == [1, 1]
    # labels of both parts are of one kind
    words = load_file(put("a,t\n1,1\n2,x\n", "train"), test=put("a,t\n1,1\n", "test"))
    assert (words.y_test.tolist(), words.as_signs().y_test.tolist()) == (["1"], [-1])


@pytest.mark.parametrize(
    ("train", "test", "word"),
    [
        ("a,t\n1,x\n2,y\n", "a,b\n1,2\n", "another header"),
        ("a,t\n1,x\n2,y\n", "a,t\nword,x\n", "'word' in line 2, in the column"),
        ("a,t\n1,x\n2,y\n", SVM, "another format"),
        (archive(X=X3, y=Y3), archive(X=X3, y=Y3), "separate test file"),
    ],
)
def test_test_parts_that_do_not_fit(put, train, test, word):
    with pytest.raises(DataFileError, match=word) as caught:
        load_file(put(train, "train"), test=put(test, "test"))
    assert str(put(test, "test")) in str(caught.value)


def test_constant_columns_stay_and_many_categories_with_enough_samples(put):
    assert load_file(put("a,b,c,t\n1,2,2,x\n1,3,3,y\n")).X.tolist() == [[1, 2, 2], [1, 3, 3]]
    rows = "\n".join(f"c{i % 22},{i % 3 % 2}" for i in range(44))
    assert load_file(put(f"a,t\n{rows}\n")).X.shape == (44, 22)


def test_libsvm(put):
    data = load_file(put(SVM, "heart_scale"))
    assert data.X.tolist() == [[0.5, 0, 2], [0, 1, 0], [0, 0, 0], [4, 0, 0]]
    assert data.y.tolist() == [1, -1, -1, 1]
    assert (data.feature_names, data.name) == (("x0", "x1", "x2"), "heart_scale")
    parts = load_file(put(SVM), test=put(b"1 5:1\n", "test"), sparse=True)
    assert (parts.X.format, parts.X_test.format, parts.X.shape) == ("csr", "csr", (4, 5))
    assert parts.X_test.toarray().tolist() == [[0, 0, 0, 0, 1]]


def test_archives(put, monkeypatch):
    texts = {"source": "a book", "note": "scaled", "labels": np.array(["no", "yes"])}
    data = load_file(put(archive(X=X3, y=Y3, feature_names=np.array(["p", "q"]), **texts), "one.npz"))
    assert data.X.tolist() == X3.tolist()
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int64)
    assert (data.source, data.feature_names, data.name) == ("a book", ("p", "q"), "one")
    assert data.notes == ("scaled", "y: 0 = no, 1 = yes")
    for parts in (
        {"X_train": X3, "y_train": Y3, "X_test": X3[:1], "y_test": Y3[:1]},
        {**csr_parts(X3, Y3, "train"), **csr_parts(X3[:1], Y3[:1], "test")},
    ):
        data = load_file(put(archive(**parts)))
        assert (data.X.tolist(), data.X_test.tolist(), data.y_test.tolist()) == (X3.tolist(), [[0, 2]], [1])
        assert load_file(put(archive(**parts)), sparse=True).X.dtype == np.float64
        # large ones keep their small type in both parts
        with monkeypatch.context() as small:
            small.setattr(files, "DENSE_LIMIT", 3 * 2 * 8 - 1)
            dense = load_file(put(archive(**parts)))
        assert (dense.X.dtype, dense.X_test.dtype, dense.X.tolist()) == (np.uint8, np.uint8, X3.tolist())
        assert "uint8" in dense.notes[-1]
    rows = {"train_idx": np.array([[0, 1], [1, 2]], dtype=np.uint16), "test_idx": np.array([[2], [0]], dtype=np.uint16)}
    data = load_file(put(archive(X=X3, y=Y3, **rows, splits="two of them")))
    assert [(train.tolist(), test.tolist()) for train, test in data.splits] == [([0, 1], [2]), ([1, 2], [0])]
    assert data.notes == ("two of them",)


WHOLE = archive(X=np.arange(2000.0).reshape(-1, 2), y=np.arange(1000) % 2)
MOSTLY_NUMBERS = "a,t\n" + "".join(f"{i},{i % 2}\n" for i in range(30)) + "1O,1\n"
PICKED = {"train_idx": np.array([[9]]), "test_idx": np.array([[0]])}
REFUSED = [
    # what is neither text nor a format
    ("", "found an empty file"),
    (" \n\n", "an empty file"),
    (zip_up(b""), "an empty file"),
    (bytes(range(256)), "neither text nor"),
    (CSV.encode("latin-1"), "not UTF-8 text", "or say what it is, such as --encoding latin-1"),
    (CSV.encode("utf-16-le"), "of text in UTF-16, say --encoding utf-16"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "save it as .xlsx or as CSV"),
    *((pack(SVM * 1000)[:-20], "damaged or truncated") for pack in (zip_up, bz2.compress, lzma.compress)),
    (zip_up(SVM * 1000)[:30] + b"junk" + zip_up(SVM * 1000)[34:], "damaged or truncated"),
    # tables
    (TABLE.to_json(), "found JSON that is no table (an entry is no record of single values); write a list"),
    (TABLE.to_json(orient="records")[:-9], "found JSON that is no table (Unterminated"),
    ("[[" * 99999, "found JSON that is no table"),
    (TABLE.to_csv(index=False, header=False), "found numbers in the first line, so no header"),
    ("5.1,3.5,setosa\n4.9,3.0,other\n", "numbers in the first line"),
    (beside(m=np.where(ROWS == 3, "-", A.astype(str))), "name by --na what stands for one"),
    (beside(m=np.where(ROWS == 3, "1o", A.astype(str))), "found '1o' in line 5, in the column of numbers"),
    (MOSTLY_NUMBERS, "'1O' in line 32", "'a'"),
    (TABLE[["y", "a", "b", "town"]].to_csv(index=False), "name the target: --target y, or --target town"),
    (beside(y=np.where(ROWS == 3, "", Y)), "found no target in line 5"),
    ("a,t\n1,x\n2,?\n", "no target in line 3"),
    (TABLE.assign(y=np.where(ROWS == 3, None, Y)).to_json(orient="records"), "found no target in row 4"),
    (beside(y="yes"), "found one label only, yes"),
    ("a,t\n1,x\n", "one label only"),
    *((text, "empty or repeated names") for text in ("a,a,t\n1,2,x\n3,4,y\n", ",a,t\n1,2,x\n1,4,y\n", "a,,t\n1,2,x\n")),
    (CSV + "1,2\n", "found 2 cells in line 42 under a header of 4"),
    ("a,b,t\n1,2,3,x\n", "4 cells in line 2"),
    ("a,b,y\n", "found a header only"),
    ("hello world\n", "one column"),
    ("\ufeff\n", "one column"),
    ("a,t\n1,x\ninf,y\n", "NaN or infinity", "feature a"),
    ("a,t\n1,1\n2,inf\n", "unusable labels", "inf"),
    ("a,t\n?,x\n?,y\n", "no column that can be a feature"),
    ('a,t\n"1,x\n2,y\n', "malformed text"),
    (f"a,t\n{'x' * 200_000},1\n", "malformed text in line 2"),
    (as_parquet({"a": [1, 2], "t": [0, 1]})[:-20], "cannot be read as a table"),
    (as_parquet({"a": [[1], [2]], "class": [0, 1]}), "cannot be read as a table"),
    # LIBSVM
    *((bad, "malformed LIBSVM") for bad in (b"1 1:1\n-1 1:abc\n", b"1 2:1 1:1\n-1 1:1\n", b"1 1:1\nfoo\n")),
    (b"1 1:nan\n-1 1:1\n", "NaN or infinity in the feature x0"),
    (b"1 1:1\n1 1:2\n", "one label only, 1"),
    (b"1 1:1\n-1 100000000:1\n", "found 100000000 features"),
    (b"1 1:1\n-1 100000:1\n" * 200, "400 x 100000 values, 305 MiB as a dense float64 matrix", "sparse=True"),
    # archives
    (WHOLE[: len(WHOLE) // 2], "cannot be read"),
    (WHOLE[:200] + bytes(60) + WHOLE[260:], "cannot be read"),
    (archive(X=X3), "only the arrays X"),
    (archive(a=X3, b=Y3), "only the arrays a, b"),
    (archive(X=X3, y=Y3[:2]), "shape (3, 2) with 2 labels"),
    (archive(X=Y3, y=Y3), "shape (3,)"),
    (archive(X=np.array(3), y=Y3), "shape ()"),
    (archive(X=np.zeros((3, 0)), y=Y3), "shape (3, 0)"),
    (archive(X=X3[:0], y=Y3[:0]), "unusable labels"),
    (archive(X=X3, y=np.array(1)), "unusable labels"),
    (archive(X=X3, y=np.array([1.0, np.nan, 2.0])), "unusable labels"),
    (archive(X=X3.astype(str), y=Y3), "type <U"),
    (archive(X=np.full((3, 2), np.nan), y=Y3), "NaN or infinity in the feature x0 of X"),
    (archive(X=X3, y=np.ones(3)), "one label only"),
    (archive(X=X3.astype(object), y=Y3), "cannot be read"),
    (archive(X=X3, y=Y3, feature_names=np.array(["p"])), "1 feature names"),
    (archive(X=X3, y=Y3, **PICKED), "not row numbers"),
    (archive(X=X3, y=Y3, X_test=X3[:, :1], y_test=Y3), "X_test of shape (3, 1)"),
    (archive(**csr_parts(X3, Y3, "train") | {"shape_train": np.array([3, 10**8])}), "found 100000000 features"),
    (archive(**csr_parts(X3, Y3, "train") | {"indices_train": np.array([7, 0])}), "no CSR matrix"),
]


@pytest.mark.parametrize(("content", "words"), [(content, words) for content, *words in REFUSED])
def test_what_cannot_be_used_is_one_sentence_on_what_to_do(put, content, words):
    path = put(content, "bad.file")
    with pytest.raises(DataFileError) as caught:
        load_file(path)
    message = str(caught.value)
    assert all(word in message for word in (str(path), *words))
    assert "\n" not in message
    assert caught.value.remedy


def test_paths_that_are_no_files(tmp_path):
    for path, word in (
        (tmp_path / "no", "no such file"),
        (tmp_path, "a directory"),
        (3, "no readable"),
        ("a\0", "no "),
    ):
        with pytest.raises(DataFileError, match=word):
            load_file(path)


def test_too_many_categories_for_the_memory(put, monkeypatch):
    monkeypatch.setattr(files, "DENSE_LIMIT", 8 * 6 * 2 - 1)
    with pytest.raises(DataFileError, match="leave out nominal columns"):
        load_file(put("a,t\np,0\nq,1\np,1\nq,0\np,1\nq,0\n"))


REMARKS = {
    "a name that is a number": (beside(inf=ROWS), ""),
    "currency": (beside(price=[f"EUR {p:.2f}" for p in PRICES]), "numbers with 'EUR' beside them: write the numbers"),
    "currency behind": (beside(price=[f"{p:,.2f} €" for p in PRICES]), "numbers with '€' beside them"),
    "units": (beside(size=[f"{p} kg" for p in PRICES]), "numbers with 'kg' beside them"),
    "names with numbers": (beside(name=[f"P{k:04d}" for k in ROWS]), "40 texts identify single samples"),
    "nothing in a column": (beside(none="?"), "every value is missing"),
    "a clock": (beside(at=[f"{k // 3:02d}:{k:02d}" for k in ROWS]), "clock times, which are not read: write numbers"),
    "dates": (beside(d=pd.date_range("2020-01-01", periods=N).astype(str)), "left out: dates"),
    "moments": (
        beside(d=pd.date_range("2020-01-01", periods=N, freq="h").strftime("%d.%m.%Y %H:%M")),
        "left out: dates",
    ),
    "percents": (beside(p=[f"{k}%" for k in ROWS]), "percentages read as numbers"),
    "thousands": (beside(p=[f"{p:,.2f}" for p in PRICES]), "read as numbers with thousands separators"),
    "two spellings": (beside(y=np.where(ROWS == 3, "Yes ", Y)), "the classes 'Yes' and 'yes' differ in capital"),
}


@pytest.mark.parametrize("name", REMARKS)
def test_what_is_odd_about_a_table_is_told(capsys, put, name):
    content, remark = REMARKS[name]
    status, out, err = run(capsys, "info", put(content), "--json", put("", "told.json"))
    told = put("", "x").with_name("told.json").read_text()
    assert (status, err) == (0, "")
    assert remark in " ".join(out.split()).replace("- ", "-") or remark in told


def test_an_encoding_is_said_and_kept(put):
    path = put(CSV.encode("latin-1"))
    data = load_file(path, encoding="latin-1")
    assert "town=Köln" in data.feature_names
    assert np.array_equal(load_samples(path, data.X.shape[1], data.encoder).X, data.X)
    assert np.array_equal(load_samples(put(CSV, "utf8.csv"), data.X.shape[1], data.encoder).X, data.X)
    for encoding, found in (
        ("latin-0", "encoding: found 'latin-0'"),
        ("a\0", "encoding"),
        ("ascii", "found bytes that are not ascii text"),
        ("zip", "encoding"),
    ):
        with pytest.raises(CvxensError, match=found):
            load_file(path, encoding=encoding)
    with pytest.raises(CvxensError, match="found no text, but --encoding"):
        load_file(put(archive(X=np.eye(2), y=[0, 1])), encoding="latin-1")


@pytest.mark.parametrize(
    ("target", "model", "sentence"),
    [
        (PRICES, "LPBoostClassifier", "take a regressor, such as --model AdditiveRegressor, or name the column of"),
        (ROWS + 100, "LPBoostClassifier", "found 40 different numbers, such as 100, in the column 'y', which are no"),
        ([f"P{k}" for k in ROWS], "LPBoostClassifier", "found 40 different texts, such as 'P0'"),
        (Y, "AdditiveRegressor", "which are no numbers to predict; take a classifier"),
        (np.where(ROWS == 3, "maybe", Y), "LPBoostClassifier", "found a class, 'maybe', of one sample"),
    ],
)
def test_a_target_that_does_not_suit_the_model_is_named(capsys, put, target, model, sentence):
    path = put(beside(y=target))
    arguments = ["fit", path, "--model", model, "--out", path.with_name("m"), "--test-share", 0.3]
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_spellings_of_a_class_are_told_at_fit(capsys, put):
    path = put(beside(y=np.where(ROWS % 2, "Yes ", "yes")))
    status, _, err = run(capsys, "fit", path, "--model", "LPBoostClassifier", "--out", path.with_name("m"))
    assert status == 0
    assert "warning: the classes 'Yes' and 'yes' differ in capital letters only\n" in err


def test_a_workbook(put, monkeypatch):
    path = put(b"", "book.xlsx")
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/workbook.xml", "<nothing/>")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(CvxensError, match=r"no openpyxl to read it; install cvxens\[excel\], or save the sheet as"):
            load_file(path)
    pytest.importorskip("openpyxl")
    with pytest.raises(CvxensError, match="found an Excel workbook that cannot be read"):
        load_file(path)
    missing = TABLE.assign(a=np.where(ROWS == 3, np.nan, A), d=pd.Timestamp("2020-01-01"))[["a", "b", "d", "town", "y"]]
    with pd.ExcelWriter(path) as book:
        missing.to_excel(book, sheet_name="data", index=False)
        TABLE.to_excel(book, sheet_name="more")
    read, plain = load_file(path), load_file(put(missing.to_csv(index=False)))
    assert np.array_equal(read.X, plain.X)
    assert np.array_equal(read.y, plain.y)
    assert read.notes[0] == "the first sheet, 'data': 1 more are not read"
    TABLE.set_axis(["a", "a", "town", "y"], axis=1).to_excel(path, index=False)
    with pytest.raises(CvxensError, match="empty or repeated names"):
        load_file(path)


def test_samples_of_parquet_are_encoded_as_in_the_fit(put, monkeypatch):
    columns = {
        "size": [0.1, 1 / 3, 1e-300, None, -2.5e17],
        "town": ["Ulm", 'a "b", c', None, "Ulm", "Bonn"],
        "large": [True, False, None, True, False],
    }
    path = put(as_parquet({**columns, "class": [1, 0, 1, 0, 1]}), "table.parquet")
    data = load_file(path)
    assert data.X[:, data.feature_names.index("large=true")].tolist() == [1, 0, 0, 1, 0]
    new = {name: columns[name][::-1] for name in ("large", "town", "size")}
    X, y, *_ = load_samples(put(as_parquet(new), "new.parquet"), data.X.shape[1], data.encoder)
    assert y is None
    np.testing.assert_array_equal(X, data.X[::-1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataFileError, match=r"no pyarrow to read it; install cvxens\[parquet\]"):
        load_file(path)
