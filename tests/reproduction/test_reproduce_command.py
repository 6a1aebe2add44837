"""`python -m reproduction`: what there is, the table, the file and the page, Ctrl-C, and what cannot be used."""

import json
import signal
from dataclasses import dataclass, replace
from functools import partial

import command_line
import pytest
from data_directory import press

from reproduction import EXPERIMENTS, Outcome, Published, catalogue, experiment_of
from reproduction.__main__ import main

SMALL = ("--splits", 2, "--data", "twonorm", "--data", "threenorm-n", "--method", "SVM-Stump", "--method", "SVM-Mid")


run = partial(command_line.run, command=main)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Trials are kept in the directory that the command runs in, unless it is told otherwise."""
    monkeypatch.chdir(tmp_path)


@dataclass(frozen=True)
class Constant:
    """As quick as a method can be."""

    value: float = 3.0

    def __call__(self, split):
        return Outcome(self.value + 0.1 * split.y_test.mean())


@pytest.fixture
def quick(monkeypatch):
    """Put an experiment of quick methods in the place of all."""

    def put(**changes):
        options = {"columns": {"SVM-Stump": Constant(), "SVM-Mid": Constant(40.0)}, "home": ""}
        changed = replace(experiment_of("ll08", "table2"), **(options | changes))
        monkeypatch.setattr(catalogue, "EXPERIMENTS", (changed,))
        return changed

    return put


@pytest.mark.parametrize("arguments", [[], ["ll08"]])
def test_what_there_is(capsys, arguments):
    status, out, err = run(capsys, *arguments)
    assert (status, err) == (0, "")
    unwrapped = " ".join(out.split())
    shown = [each for each in EXPERIMENTS if each.paper == "ll08" or not arguments]
    for each in shown:
        assert each.name in unwrapped
    assert "SVM-Perc" in out


def test_the_table_and_the_file_say_the_same(capsys, tmp_path):
    file = tmp_path / "cells.json"
    status, out, err = run(capsys, "LL08", "Table2", *SMALL, "--random-state", 1, "--json", file)
    report = json.loads(file.read_text())
    assert status == 0
    assert len(err.splitlines()) == 8
    [experiment] = report["experiments"]
    named = experiment["experiment"], experiment["measure"], report["random_state"]
    assert named == ("ll08 table2", "test error, %", 1)
    places = [(row, column) for row in ("twonorm", "threenorm-n") for column in ("SVM-Stump", "SVM-Mid")]
    cells = experiment["cells"]
    assert [(cell["row"], cell["column"]) for cell in cells] == places
    lines = [line for line in out.splitlines() if line.split()[:1] in (["twonorm"], ["threenorm-n"])]
    for line, cell in zip(lines, cells, strict=True):
        assert f"{cell['mean']:.2f} ± {cell['standard_error']:.2f}" in line
        assert str(Published(**cell["published"])) in line
        assert f"{cell['distance']:.1f}" in line
        assert cell["verdict"] in line
        assert (cell["n_fits"], cell["n_proven"]) == (2, 2)
    assert "All cells with a verdict: 4" in out


def test_what_is_there_is_not_measured_again(capsys, quick):
    quick()
    assert len(run(capsys, "ll08", "table2", *SMALL)[2].splitlines()) == 8
    status, out, err = run(capsys, "ll08", "table2", *SMALL)
    assert (status, err) == (0, "note: 8 trials are in reproduction/trials already\n")
    _, more, err = run(capsys, "ll08", "table2", *SMALL, "--splits", 3, "--cells", "reproduction/trials")
    assert len(err.splitlines()) == 5
    assert out != more


def test_what_does_not_fit_into_the_time_is_left_out(capsys, quick):
    quick()
    err = run(capsys, "ll08", "table2", *SMALL, "--minutes", 9, "--cells", "other")[2]
    assert "note: 8 trials do not fit into the time, or have not been timed yet: " in err
    assert "ll08 table2, threenorm-n: SVM-Mid (2)" in err


def test_the_page_has_what_was_measured_what_was_not_and_why(capsys, quick, tmp_path):
    quick(lacking={"lost": "nobody has it"}, other_data={"twonorm": "it is ours"})
    page = tmp_path / "pages" / "docs"
    assert run(capsys, "ll08", "all", *SMALL, "--page", page)[0] == 0
    text = (page / "ll08.md").read_text()
    assert "| twonorm | SVM-Stump | 3.0" in text
    assert "| 2 of 5 | 2.86 ± 0.04 |" in text
    assert "**worse**" in text
    assert ", worse: **open**. Nothing was tried." in text
    assert "- *lost* is in the paper and not here: nobody has it." in text
    assert "- On *twonorm*: it is ours." in text
    assert "- Not measured yet: SVM-Stump on twonorm-n, threenorm, " in text
    assert str(tmp_path) not in text
    # the same from what is kept, with nothing measured; a page of another paper is not touched
    again = tmp_path / "again"
    assert run(capsys, "ll08", "--only-pages", "--page", again, "--methods", "SVM-Stump") == (0, "", "")
    assert (again / "ll08.md").read_text() == text


UNUSABLE = [
    (["nobody"], "experiment: found 'nobody'; name one of ll08 table2"),
    (["ll08", "table2", "--data", "iris"], "data: found 'iris'; name some of twonorm, "),
    (["ll08", "table2", "--splits", "many"], "'many' is not a valid integer"),
    (["ll08", "table2", "--minutes", -1], "minutes: found -1"),
    (["ll08", "table2", "--jobs", 0], "jobs: found 0"),
    (
        ["ll08", "table2", *SMALL, "--json", "/nowhere/cells.json"],
        "--json: found no folder for it at /nowhere/cells.json",
    ),
    (["ll08", "table2", *SMALL, "--cells", "/proc/nowhere"], "cannot be written"),
]


@pytest.mark.parametrize(("arguments", "message"), UNUSABLE)
def test_what_cannot_be_used(capsys, monkeypatch, tmp_path, arguments, message):
    lines = [f"{name}\t{name}\n" for name in experiment_of("ll08", "table2").rows]
    (tmp_path / "MANIFEST.tsv").write_text("".join(["name\tfile\n", *lines]))
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path))
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert message in err
    assert "Traceback" not in err


def fail(_split):
    raise ArithmeticError("no root")


def test_what_fails_is_told_of_and_ends_nothing(capsys, quick):
    quick(columns={"fails": fail, "quick": Constant()})
    status, out, err = run(capsys, "ll08", "table2", "--splits", 1, "--data", "twonorm")
    assert status == 1
    assert "failed: ll08 table2, twonorm: fails, split 0: ArithmeticError: no root" in err
    assert "quick" in out
    assert "fails" not in out


def test_after_ctrl_c_what_is_done_is_printed(capsys, tmp_path, handler, quick):
    quick(columns={"quick": Constant(), "pressed": press, "never": press})
    file = tmp_path / "cells.json"
    status, out, err = run(capsys, "ll08", "table2", "--splits", 2, "--data", "twonorm", "--json", file)
    assert (status, [line.partition(":")[0] for line in err.split("\n") if line]) == (130, ["twonorm", "interrupted"])
    assert "quick" in out
    assert "pressed" not in out
    assert [cell["column"] for cell in json.loads(file.read_text())["experiments"][0]["cells"]] == ["quick"]
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(list((tmp_path / "reproduction" / "trials").rglob("*.*"))) == 1


def test_progress_is_shown_where_standard_error_is_a_terminal(capsys, monkeypatch, quick):
    quick(columns={"quick": Constant()})
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda self: self.stderr))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    status, out, err = run(capsys, "ll08", "table2", "--splits", 2, "--data", "twonorm")
    assert status == 0
    assert "twonorm: quick" in err
    assert "2/2" in err
    assert "split 1" not in err
    assert "2/2" not in out
    assert "±" in out
