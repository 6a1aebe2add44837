"""Tables as people bring them: what the command line says of each of them, in one sentence."""

import gzip
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from cvxens.cli import main
from cvxens.datasets import load_file, load_samples
from cvxens.errors import CvxensError

N = 40
RNG = np.random.default_rng(0)
A = RNG.normal(size=N).round(3)
Y = np.where(A > 0, "yes", "no")
TABLE = pd.DataFrame({"a": A, "b": RNG.integers(0, 5, N), "town": RNG.choice(["Ulm", "Bonn", "Köln"], N), "y": Y})
ROWS = np.arange(N)
PRICES = (1e4 + 1e3 * RNG.random(N)).round(2)


def beside(**columns):
    """The table with other columns, the target last, as CSV."""
    table = TABLE.drop(columns="y").assign(**{"y": Y, **columns})
    return table[[name for name in table if name != "y"] + ["y"]].to_csv(index=False)


CSV = TABLE.to_csv(index=False)
READ = {
    "plain": CSV,
    "utf-16": CSV.encode("utf-16"),
    "utf-16, big end first": b"\xfe\xff" + CSV.encode("utf-16-be"),
    "utf-32": CSV.encode("utf-32"),
    "utf-8 with a mark": CSV.encode("utf-8-sig"),
    "lines of Windows": CSV.replace("\n", "\r\n"),
    "packed": gzip.compress(CSV.encode()),
    "tabs": TABLE.to_csv(index=False, sep="\t"),
    "semicolons": TABLE.to_csv(index=False, sep=";", decimal=","),
    "comments": "# by hand\n" + CSV,
    "an index": TABLE.to_csv(),
    "whole numbers as names": TABLE.set_axis(["0", "1", "2", "3"], axis=1).to_csv(index=False),
    "records": TABLE.to_json(orient="records"),
    "a record per line": TABLE.to_json(orient="records", lines=True),
    "records with line breaks": TABLE.to_json(orient="records", indent=1),
}
REMARKS = {
    "a name that is a number": (beside(inf=ROWS), ""),
    "currency": (beside(price=[f"EUR {p:.2f}" for p in PRICES]), "numbers with 'EUR' beside them: write the numbers"),
    "currency behind": (beside(price=[f"{p:,.2f} €" for p in PRICES]), "numbers with '€' beside them"),
    "units": (beside(size=[f"{p} kg" for p in PRICES]), "numbers with 'kg' beside them"),
    "names with numbers": (beside(name=[f"P{k:04d}" for k in ROWS]), "40 texts identify single samples"),
    "a clock": (beside(at=[f"{k // 3:02d}:{k:02d}" for k in ROWS]), "clock times, which are not read: write numbers"),
    "dates": (beside(d=pd.date_range("2020-01-01", periods=N).astype(str)), "left out: dates"),
    "percents": (beside(p=[f"{k}%" for k in ROWS]), "percentages read as numbers"),
    "thousands": (beside(p=[f"{p:,.2f}" for p in PRICES]), "read as numbers with thousands separators"),
    "two spellings": (beside(y=np.where(ROWS == 3, "Yes ", Y)), "the classes 'Yes' and 'yes' differ in capital"),
    "numbers as target": (beside(y=PRICES), "is it one of classes, or for a regressor?"),
    "one of a class": (beside(y=np.where(ROWS == 3, "maybe", Y)), "a class has 1 sample only"),
}
REFUSED = {
    "latin-1": (CSV.encode("latin-1"), "or say what it is, such as --encoding latin-1"),
    "utf-16 without a mark": (CSV.encode("utf-16-le"), "of text in UTF-16, say --encoding utf-16"),
    "an old workbook": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "save it as .xlsx or as CSV"),
    "columns": (TABLE.to_json(), "found JSON that is no table (an entry is no record of single values); write a list"),
    "half of the records": (TABLE.to_json(orient="records")[:-9], "found JSON that is no table (Unterminated"),
    "depth": ("[[" * 99999, "found JSON that is no table"),
    "no header": (TABLE.to_csv(index=False, header=False), "found numbers in the first line, so no header"),
    "another word for missing": (beside(m=np.where(ROWS == 3, "-", A.astype(str))), "name by --na what stands for one"),
    "a slip": (beside(m=np.where(ROWS == 3, "1o", A.astype(str))), "found '1o' in line 5, in the column of numbers"),
    "target first": (
        TABLE[["y", "a", "b", "town"]].to_csv(index=False),
        "name the target: --target y, or --target town",
    ),
    "no target": (beside(y=np.where(ROWS == 3, "", Y)), "found no target in line 5"),
    "one class": (beside(y="yes"), "found one label only, yes"),
    "names twice": (CSV.replace("a,b", "a,a", 1), "found a header with empty or repeated names"),
    "short lines": (CSV + "1,2\n", "found 2 cells in line 42 under a header of 4"),
    "a header only": ("a,b,y\n", "found a header only"),
    "nothing": ("", "found an empty file"),
}


@pytest.fixture
def put(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def call(capsys, *arguments):
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, " ".join(out.split()), err


@pytest.mark.parametrize("name", READ)
def test_one_table_in_many_writings_is_one_table(put, name):
    plain, read = load_file(put(CSV, "plain.csv")), load_file(put(READ[name]))
    assert np.array_equal(plain.X, read.X)
    assert np.array_equal(plain.y, read.y)


@pytest.mark.parametrize("name", REMARKS)
def test_what_is_odd_about_a_table_is_told(capsys, put, name):
    content, remark = REMARKS[name]
    status, out, err = call(capsys, "info", put(content), "--json", put("", "told.json"))
    told = put("", "x").with_name("told.json").read_text()
    assert (status, err) == (0, "")
    assert remark in out.replace("- ", "-") or remark in told


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_one_sentence_on_what_to_do(put, name):
    content, sentence = REFUSED[name]
    with pytest.raises(CvxensError) as found:
        load_file(put(content))
    assert sentence in str(found.value)
    assert "\n" not in str(found.value)


def test_an_encoding_is_said_and_kept(put):
    path = put(CSV.encode("latin-1"))
    data = load_file(path, encoding="latin-1")
    assert "town=Köln" in data.feature_names
    assert np.array_equal(load_samples(path, data.X.shape[1], data.encoder).X, data.X)
    assert np.array_equal(load_samples(put(CSV, "utf8.csv"), data.X.shape[1], data.encoder).X, data.X)
    for encoding, found in (
        ("latin-0", "encoding: found 'latin-0'"),
        ("a\0", "encoding"),
        ("ascii", "no ascii"),
        ("zip", "encoding"),
    ):
        with pytest.raises(CvxensError, match=found.replace("no ascii", "found bytes that are not ascii text")):
            load_file(path, encoding=encoding)
    np.savez(put(b"", "a.npz"), X=np.eye(2), y=[0, 1])
    with pytest.raises(CvxensError, match="found no text, but --encoding"):
        load_file(path.with_name("a.npz"), encoding="latin-1")


@pytest.mark.parametrize(
    ("target", "model", "sentence"),
    [
        (PRICES, "LPBoostClassifier", "take a regressor, such as --model AdditiveRegressor, or name the column of"),
        (
            ROWS + 100,
            "LPBoostClassifier",
            "found 40 different numbers, such as 100, in the column 'y', which are no cl",
        ),
        ([f"P{k}" for k in ROWS], "LPBoostClassifier", "found 40 different texts, such as 'P0'"),
        (Y, "AdditiveRegressor", "which are no numbers to predict; take a classifier"),
        (np.where(ROWS == 3, "maybe", Y), "LPBoostClassifier", "found a class, 'maybe', of one sample"),
    ],
)
def test_a_target_that_does_not_suit_the_model_is_named(capsys, put, target, model, sentence):
    path = put(beside(y=target))
    arguments = ["fit", path, "--model", model, "--out", path.with_name("m"), "--test-share", 0.3]
    status, out, err = call(capsys, *arguments)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_spellings_of_a_class_are_told_at_fit(capsys, put):
    path = put(beside(y=np.where(ROWS % 2, "Yes ", "yes")))
    status, _, err = call(capsys, "fit", path, "--model", "LPBoostClassifier", "--out", path.with_name("m"))
    assert status == 0
    assert "warning: the classes 'Yes' and 'yes' differ in capital letters only\n" in err


def test_a_workbook(put, monkeypatch):
    path = put(b"", "book.xlsx")
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/workbook.xml", "<nothing/>")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(
            CvxensError, match=r"no openpyxl to read it; install cvxens\[excel\], or save the sheet as CSV"
        ):
            load_file(path)
    pytest.importorskip("openpyxl")
    with pytest.raises(CvxensError, match="found an Excel workbook that cannot be read"):
        load_file(path)
    gaps = TABLE.assign(a=np.where(ROWS == 3, np.nan, A), d=pd.Timestamp("2020-01-01"))[["a", "b", "d", "town", "y"]]
    with pd.ExcelWriter(path) as book:
        gaps.to_excel(book, sheet_name="data", index=False)
        TABLE.to_excel(book, sheet_name="more")
    read, plain = load_file(path), load_file(put(gaps.to_csv(index=False)))
    assert np.array_equal(read.X, plain.X)
    assert np.array_equal(read.y, plain.y)
    assert read.notes[0] == "the first sheet, 'data': 1 more are not read"
    TABLE.set_axis(["a", "a", "town", "y"], axis=1).to_excel(path, index=False)
    with pytest.raises(CvxensError, match="empty or repeated names"):
        load_file(path)
