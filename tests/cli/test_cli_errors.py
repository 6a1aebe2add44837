"""Whatever cannot be used is one line on standard error that names it, and exit status 2."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from command_line import python, run, small, write_csv, write_npz

from cvxens.cli.options import printing_warnings
from cvxens.errors import InvalidInput
from cvxens.problems import FORMULATIONS

BINARY = bytes(range(256)) * 8


def libsvm_lines(*labels):
    return "".join(f"{label} 1:{i} 2:{i % 3}\n" for i, label in enumerate(labels)).encode()


CONTENTS = {
    "empty.csv": (b"", "empty file"),
    "blank.csv": (b" \n\n", "empty file"),
    "junk.bin": (BINARY, "neither text nor a format that is known"),
    "latin.csv": ("a,b\n1,gr\xfcn\n2,rot\n".encode("latin-1"), "not UTF-8"),
    "header.csv": (b"a,b,class\n", "a header only"),
    "noheader.csv": (b"1,2,yes\n3,4,no\n", "no header"),
    "onecolumn.csv": (b"class\nyes\nno\n", "one column only"),
    "ragged.csv": (b"a,class\n1,yes\n2\n", "1 cells in line 3"),
    "notarget.csv": (b"a,class\n1,yes\n2,\n", "no target in line 3"),
    "oneclass.csv": (b"a,class\n1,yes\n2,yes\n", "one label only"),
    "onesample.csv": (b"a,class\n1,yes\n", "one label only"),
    "oneclass.svm": (libsvm_lines(1, 1, 1), "one label only"),
    "badnumber.svm": (b"1 1:2\n-1 1:x\n", "malformed"),
    "truncated.svm.gz": (gzip.compress(libsvm_lines(1, -1) * 50)[:-20], "damaged or truncated"),
    "truncated.npz": (b"PK\x03\x04" + BINARY, "npz"),
}

ARRAYS = {
    "nan.npz": ({"X": np.array([[0.0], [np.nan], [1.0]]), "y": [0, 1, 1]}, "NaN or infinity"),
    "infinity.npz": ({"X": np.array([[0.0], [np.inf], [1.0]]), "y": [0, 1, 1]}, "NaN or infinity"),
    "nanlabel.npz": ({"X": np.eye(3), "y": [0.0, np.nan, 1.0]}, "labels"),
    "mismatch.npz": ({"X": np.eye(3), "y": [0, 1]}, "2 labels"),
    "flat.npz": ({"X": np.arange(3.0), "y": [0, 1, 1]}, "shape (3,)"),
    "nosamples.npz": ({"X": np.zeros((0, 2)), "y": np.zeros(0)}, "found"),
    "nofeatures.npz": ({"X": np.zeros((3, 0)), "y": [0, 1, 1]}, "shape (3, 0)"),
    "text.npz": ({"X": np.array([["a"], ["b"]]), "y": [0, 1]}, "type"),
    "nolabels.npz": ({"X": np.eye(3)}, "y"),
    "pickled.npz": ({"X": np.array([[None], [1]], dtype=object), "y": [0, 1]}, "pickle"),
}


def refused(capsys, *arguments):
    """Standard error of a command that is refused, one line of it."""
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("name", CONTENTS)
def test_malformed_files(capsys, tmp_path, name):
    content, found = CONTENTS[name]
    (tmp_path / name).write_bytes(content)
    err = refused(capsys, "crosscheck", tmp_path / name)
    assert name in err
    assert found in err


@pytest.mark.parametrize("name", ARRAYS)
def test_archives_that_cannot_be_used(capsys, tmp_path, name):
    arrays, found = ARRAYS[name]
    np.savez(tmp_path / name, **arrays)
    err = refused(capsys, "crosscheck", tmp_path / name)
    assert name in err
    assert found in err


def test_three_classes(capsys, tmp_path):
    (tmp_path / "three.csv").write_text("a,class\n1,red\n2,green\n3,blue\n")
    err = refused(capsys, "crosscheck", tmp_path / "three.csv")
    assert "y: found labels that are not two classes but 3: blue: 1, green: 1, red: 1" in err


@pytest.mark.parametrize("n_samples", [2, 30])
def test_all_rows_alike(capsys, tmp_path, n_samples):
    y = np.where(np.arange(n_samples) % 2, 1.0, -1.0)
    err = refused(capsys, "crosscheck", write_csv(tmp_path / "alike.csv", np.full((n_samples, 2), 7.0), y))
    assert (
        err == "error: X: found all rows alike, so every feature is constant; give at least one feature that varies\n"
    )


def test_one_sample(capsys, tmp_path):
    err = refused(capsys, "crosscheck", write_npz(tmp_path / "one.npz", np.ones((1, 3)), np.ones(1)))
    assert "one.npz: found one label only" in err


@pytest.mark.parametrize("name", ["missing.csv", "folder/missing", "./missing", "../missing.npz"])
def test_missing_files(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    err = refused(capsys, "crosscheck", name)
    assert err.endswith("found no such file; check the path\n")
    assert name.removeprefix("./") in err


def test_a_directory(capsys, tmp_path):
    assert f"{tmp_path}: found a directory; name a file in it" in refused(capsys, "crosscheck", tmp_path)


def test_an_unreadable_path(capsys):
    assert "found" in refused(capsys, "crosscheck", "x" * 5000)
    assert "File name too long" in refused(capsys, "crosscheck", "x" * 5000 + ".csv")


def test_an_unknown_name_without_a_data_directory(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path))
    assert "CVXENS_DATA: found no MANIFEST.tsv" in refused(capsys, "crosscheck", "heart")


def test_an_unknown_name_in_the_data_directory(capsys, tmp_path, monkeypatch):
    write_npz(tmp_path / "heart.npz", *small())
    (tmp_path / "MANIFEST.tsv").write_text("name\tfile\nheart\theart.npz\ngone\tgone.npz\n")
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path))
    assert "name: found 'haert'" in refused(capsys, "crosscheck", "haert")
    assert "did you mean heart?" in refused(capsys, "crosscheck", "haert")
    assert "gone.npz: found no such file" in refused(capsys, "crosscheck", "gone")


def test_an_unknown_formulation_lists_all(capsys):
    err = refused(capsys, "crosscheck", "--formulation", "SVM")
    assert err.startswith("error: formulation: found 'SVM'; name one of ")
    assert all(formulation.__name__ in err for formulation in FORMULATIONS)


@pytest.mark.parametrize(
    ("target", "reason"),
    [("nowhere/report.json", "No such file or directory"), (".", "Is a directory"), ("x" * 300, "File name too long")],
)
def test_a_report_that_cannot_be_written(capsys, tmp_path, monkeypatch, target, reason):
    csv = write_csv(tmp_path / "small.csv", *small())
    monkeypatch.chdir(tmp_path)
    err = refused(capsys, "crosscheck", csv, "--json", target)
    assert err == f"error: --json: found {target!r}, which cannot be written ({reason}); name another file\n"


def test_a_disk_that_is_full_in_the_end(capsys, tmp_path, monkeypatch):
    def full(path, text):
        return original(path, text) if not text else full_disk()

    def full_disk():
        raise OSError(28, "No space left on device")

    original = Path.write_text
    csv = write_csv(tmp_path / "small.csv", *small())
    monkeypatch.setattr(Path, "write_text", full)
    status, out, err = run(capsys, "crosscheck", csv, "--formulation", "SLSSVM", "--json", tmp_path / "report.json")
    assert status == 2
    assert "1 of 1 agree" in out
    assert "report.json', which cannot be written (No space left on device); name another file" in err


def test_bad_data_leave_no_report(capsys, tmp_path):
    refused(capsys, "crosscheck", tmp_path / "missing.csv", "--json", tmp_path / "report.json")
    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["crosscheck", "a", "b"], "unexpected extra argument"),
        (["crosscheck", "--nonsense"], "No such option"),
        (["crosscheck", "--json"], "requires an argument"),
    ],
)
def test_usage(capsys, arguments, found):
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert found in err
    assert "Error: " in err


def test_no_traceback_from_a_process_either(tmp_path):
    (tmp_path / "junk.csv").write_bytes(BINARY)
    done = python("-c", "from cvxens.cli import main; main()", "crosscheck", tmp_path / "junk.csv")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_what_scikit_learn_refuses_is_said_of_the_data():
    with (
        pytest.raises(InvalidInput, match=r"DATA: found what the model cannot use \(too few\); change it"),
        printing_warnings("DATA"),
    ):
        raise ValueError("too few")
