"""`cvxens crosscheck` on files of every format, by name, in part, and what it prints, writes and returns."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import run, small, write_csv, write_npz

from cvxens import __version__, crosscheck
from cvxens.cli import cvxens
from cvxens.problems import FORMULATIONS, SVMDual

NAMES = [formulation.__name__ for formulation in FORMULATIONS]
ROW = {"formulation", "source", "reference", "fast", "relative_difference", "certificate", "agrees", "note"}
SIDE = {"solver", "objective", "seconds"}
CERTIFICATE = {"primal", "dual", "gap", "relative_gap", "rounding", "kkt_residual", "proven", "condition"}


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def strict(path):
    return json.loads(path.read_text(), parse_constant=no_constant)


@pytest.fixture
def csv(tmp_path):
    return write_csv(tmp_path / "small.csv", *small())


def test_all_formulations_in_one_table_and_one_file(capsys, tmp_path, csv):
    report = tmp_path / "report.json"
    status, out, err = run(capsys, "crosscheck", csv, "--json", report)
    assert (status, err) == (0, "")
    assert "small: 24 samples, 2 features, scaled to [0, 1]" in out
    assert "11 of 11 agree" in out
    assert [line.split()[0] for line in out.splitlines() if line.split()[:1] and line.split()[0] in NAMES] == NAMES
    assert out.count("agrees") == out.count("proven") == len(NAMES)
    assert "DISAGREES" not in out
    assert "not proven" not in out
    document = strict(report)
    assert document["data"] == {"name": "small", "n_samples": 24, "n_features": 2, "note": ""}
    assert [row["formulation"] for row in document["rows"]] == NAMES
    assert [row["source"] for row in document["rows"]] == [formulation.source for formulation in FORMULATIONS]
    for row in document["rows"]:
        assert row.keys() == ROW
        assert row["reference"].keys() == row["fast"].keys() == SIDE
        assert row["certificate"].keys() == CERTIFICATE
        assert row["agrees"] is row["certificate"]["proven"] is True
        objectives = [f"{row[side]['objective']:.10g}" for side in ("reference", "fast")]
        figures = [row["relative_difference"], row["certificate"]["relative_gap"], row["certificate"]["kkt_residual"]]
        assert all(shown in out for shown in (*objectives, *(f"{figure:.1e}" for figure in figures)))


@pytest.mark.parametrize("formulation", ["LPBoost", "lpboost", "LPBOOST"])
def test_one_formulation_whatever_its_case(capsys, csv, formulation):
    status, out, _ = run(capsys, "crosscheck", csv, "--formulation", formulation)
    assert (status, "LPBoost" in out) == (0, True)
    assert "1 of 1 agree" in out


def test_breast_cancer_without_data(capsys):
    status, out, _ = run(capsys, "crosscheck", "--formulation", "RegularizedLeastSquares")
    assert status == 0
    assert out.lstrip().startswith("breast_cancer: 569 samples, 30 features")


def test_a_name_in_the_data_directory(capsys, tmp_path, monkeypatch):
    write_npz(tmp_path / "file.npz", *small())
    (tmp_path / "MANIFEST.tsv").write_text("name\tfile\nmine\tfile.npz\n")
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path))
    assert run(capsys, "crosscheck", "mine", "--formulation", "SLSSVM")[1].lstrip().startswith("mine: 24 samples")
    write_csv(tmp_path / "plain", *small())
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "crosscheck", "plain", "--formulation", "SLSSVM")[0] == 0


def test_not_separable_is_a_result(capsys, tmp_path):
    X, y = small()
    file = write_csv(tmp_path / "twice.csv", np.vstack([X, X[:3]]), np.r_[y, -y[:3]])
    report = tmp_path / "report.json"
    status, out, _ = run(capsys, "crosscheck", file, "--formulation", "HardMarginBoosting", "--json", report)
    assert status == 0
    assert out.count("no feasible point") == 2
    [row] = strict(report)["rows"]
    assert row["reference"]["objective"] is row["fast"]["objective"] is row["certificate"]["primal"] is None
    assert (row["relative_difference"], row["agrees"]) == (0, True)


def test_disagreement_is_status_1(capsys, tmp_path, csv, monkeypatch):
    original, report = crosscheck.SOLVERS[SVMDual], tmp_path / "report.json"
    monkeypatch.setitem(crosscheck.SOLVERS, SVMDual, lambda p: replace(original(p), objective=-1.0))
    status, out, err = run(capsys, "crosscheck", csv, "--json", report)
    assert (status, err) == (1, "")
    assert "10 of 11 agree" in out
    assert out.count("DISAGREES") == 1
    assert [row["formulation"] for row in strict(report)["rows"] if not row["agrees"]] == ["SVMDual"]


def test_a_certificate_that_does_not_hold_is_status_1(capsys, csv, monkeypatch):
    original = crosscheck.SOLVERS[SVMDual]
    monkeypatch.setitem(crosscheck.SOLVERS, SVMDual, lambda p: replace(original(p), duals={"b": np.asarray(5.0)}))
    status, out, _ = run(capsys, "crosscheck", csv, "--formulation", "SVMDual")
    assert status == 1
    assert "0 of 1 agree" in out


def test_larger_data_say_what_was_drawn(capsys, tmp_path):
    file, report = write_npz(tmp_path / "large.npz", *small(3000, 300)), tmp_path / "report.json"
    report.write_text("an old report is replaced")
    status, out, _ = run(capsys, "crosscheck", file, "--formulation", "SLSSVM", "--json", report)
    assert status == 0
    note = "100 of 3000 samples, 250 of 300 features"
    assert note in " ".join(out.split())
    document = strict(report)
    assert document["data"] == {"name": "large", "n_samples": 100, "n_features": 250, "note": note}
    assert document["rows"][0]["note"].endswith(note)


def test_progress_names_what_is_being_solved_on_standard_error(capsys, csv, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    status, out, err = run(capsys, "crosscheck", csv, "--formulation", "SLSSVM")
    assert status == 0
    assert all(word in err for word in ("SLSSVM", "1/1"))
    assert "1/1" not in out


def test_help_and_version():
    runner = CliRunner()
    for arguments, *words in (
        (["--help"], "crosscheck", "list"),
        (["--version"], __version__),
        (["crosscheck", "-h"], "--formulation NAME", "--json FILE"),
    ):
        told = runner.invoke(cvxens, arguments)
        assert told.exit_code == 0
        assert all(word in told.output for word in words)
