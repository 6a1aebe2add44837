"""`cvxens reproduce`: what there is, the table and the file, Ctrl-C, and what cannot be used."""

import json
import os
import signal
from dataclasses import replace

import pytest
from command_line import run

from cvxens.experiments import EXPERIMENTS, catalogue, experiment_of

SMALL = (
    "--splits",
    2,
    "--data",
    "twonorm",
    "--data",
    "threenorm-n",
    "--method",
    "AB-Stump(100)",
    "--method",
    "SVM-Dec",
)
CELL = {"data", "method", "mean", "standard_error", "n_splits", "seconds", "published", "distance", "agrees"}


@pytest.mark.parametrize("arguments", [["reproduce"], ["reproduce", "ll08"], ["list"]])
def test_what_there_is(capsys, arguments):
    status, out, err = run(capsys, *arguments)
    assert (status, err) == (0, "")
    unwrapped = " ".join(out.split())
    shown = [each for each in EXPERIMENTS if each.paper == "ll08" or len(arguments) == 1]
    for each in shown:
        assert each.name in unwrapped
    assert "SVM-Perc" in out


def test_the_table_and_the_file_say_the_same(capsys, tmp_path):
    file = tmp_path / "cells.json"
    status, out, err = run(capsys, "reproduce", "LL08", "Table2", *SMALL, "--json", file)
    report = json.loads(file.read_text())
    assert status == 0
    told = [f"{c['data']}: {c['method']}: {c['mean']:.2f} ± {c['standard_error']:.2f}" for c in report["cells"]]
    assert err.splitlines() == told
    assert (report["experiment"], report["measure"], report["random_state"]) == ("ll08 table2", "test error, %", 0)
    places = [("twonorm", "SVM-Dec"), ("twonorm", "AB-Stump(100)")]
    places += [("threenorm-n", "SVM-Dec"), ("threenorm-n", "AB-Stump(100)")]
    assert [(cell["data"], cell["method"]) for cell in report["cells"]] == places
    lines = [line for line in out.splitlines() if line.split()[:1] in (["twonorm"], ["threenorm-n"])]
    for line, cell in zip(lines, report["cells"], strict=True):
        assert cell.keys() == CELL
        assert f"{cell['mean']:.2f} ± {cell['standard_error']:.2f}" in line
    known = report["cells"][1]
    assert "5.06 ± 0.06*" in lines[1]
    assert f"{known['distance']:.1f}" in lines[1]
    assert ("within two" in lines[1], "OFF" in lines[1]) == (known["agrees"], not known["agrees"])
    assert [line.count("not known") for line in lines] == [1, 0, 1, 1]
    assert "* from memory of the print, to be checked" in out
    assert "of 3 cells no published figure is known" in " ".join(out.split())


def test_where_all_figures_are_known_none_is_missed(capsys):
    options = ("--splits", 2, "--data", "twonorm", "--method", "SVM-Stump")
    _, out, _ = run(capsys, "reproduce", "ll08", "table2", *options)
    assert "of 1 within two standard errors" in " ".join(out.split())
    assert "no published figure" not in out


def test_the_seed_is_an_option(capsys, tmp_path):
    def means(seed):
        file = tmp_path / f"{seed}.json"
        options = ("--splits", 2, "--data", "ringnorm", "--method", "SVM-Perc", "--random-state", seed, "--json", file)
        assert run(capsys, "reproduce", "ll08", "table2", *options)[0] == 0
        return [cell["mean"] for cell in json.loads(file.read_text())["cells"]]

    assert means(0) == means(0) != means(1)


UNUSABLE = [
    (["nobody"], "experiment: found 'nobody'; name one of ll08 table2"),
    (["ll08", "table9"], "experiment: found 'll08 table9'; name one of ll08 table2"),
    (["ll08", "table2", "--data", "iris"], "data: found 'iris'; name some of twonorm, "),
    (["ll08", "table2", "--method", "SVM"], "methods: found 'SVM'; name some of SVM-Stump, "),
    (["ll08", "table2", "--splits", 1], "splits: found 1; give a whole number of at least 2"),
    (["ll08", "table2", "--splits", "many"], "'many' is not a valid integer"),
    (["ll08", "table2", "--random-state", -1], "random_state: found -1"),
    (["ll08", "table2", *SMALL, "--json", "/nowhere/cells.json"], "--json: found '/nowhere/cells.json'"),
]


@pytest.mark.parametrize(("arguments", "message"), UNUSABLE)
def test_what_cannot_be_used(capsys, monkeypatch, tmp_path, arguments, message):
    lines = [f"{name}\t{name}\n" for name in experiment_of("ll08", "table2").data]
    (tmp_path / "MANIFEST.tsv").write_text("".join(["name\tfile\n", *lines]))
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path))
    status, out, err = run(capsys, "reproduce", *arguments)
    assert status == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_missing_data(capsys, tmp_path, monkeypatch):
    (tmp_path / "MANIFEST.tsv").write_text("name\tfile\n")
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path))
    status, out, err = run(capsys, "reproduce", "ll08", "table2", "--data", "heart", "--data", "pima")
    assert (status, out) == (2, "")
    assert err.startswith("error: CVXENS_DATA: found no data set heart, pima; set it to a directory")
    assert "generated: twonorm, twonorm-n, threenorm, threenorm-n, ringnorm, ringnorm-n" in err


def press(_split):
    os.kill(os.getpid(), signal.SIGINT)
    raise AssertionError("the signal comes first")


def press_and_go_on(_split):
    """As fits do that end early and hand over what they have."""
    try:
        press(_split)
    except KeyboardInterrupt:
        return 0.0


@pytest.fixture
def handler():
    """Python's own, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("pressed", [press, press_and_go_on])
def test_after_ctrl_c_what_is_done_is_printed(capsys, tmp_path, monkeypatch, handler, pressed):
    methods = {"quick": lambda split: float(split.y_test.mean()), "pressed": pressed, "never": press}
    changed = replace(experiment_of("ll08", "table2"), methods=methods)
    monkeypatch.setattr(catalogue, "EXPERIMENTS", (changed,))
    file = tmp_path / "cells.json"
    status, out, err = run(capsys, "reproduce", "ll08", "table2", "--splits", 2, "--data", "twonorm", "--json", file)
    assert (status, [line.partition(":")[0] for line in err.split("\n") if line]) == (130, ["twonorm", "interrupted"])
    assert "quick" in out
    assert "pressed" not in out
    assert [cell["method"] for cell in json.loads(file.read_text())["cells"]] == ["quick"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_progress_is_shown_where_standard_error_is_a_terminal(capsys, monkeypatch):
    quick = replace(experiment_of("ll08", "table2"), methods={"quick": lambda split: float(split.y_test.mean())})
    monkeypatch.setattr(catalogue, "EXPERIMENTS", (quick,))
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda self: self.stderr))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    status, out, err = run(capsys, "reproduce", "ll08", "table2", "--splits", 2, "--data", "twonorm")
    assert status == 0
    assert "twonorm: quick" in err
    assert "2/2" in err
    assert "±" not in err
    assert "2/2" not in out
    assert "±" in out
