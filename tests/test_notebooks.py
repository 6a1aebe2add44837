"""Every notebook runs from top to bottom without a warning, and its .ipynb shows the outputs of the same source."""

import ast
import io
import json
import subprocess
import sys
from pathlib import Path

import jupytext
import matplotlib as mpl
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path for path in (ROOT / "notebooks").glob("*.py") if not path.stem.startswith("_"))
EACH = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)

LONG = {"a_new_boosting_algorithm", "a_real_table", "from_paper_to_proof"}
"""These are a half of the time of all; `make docs` executes them, too."""

LARGEST = 500_000
"""Bytes of a notebook with its outputs."""


def cells(notebook):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def outputs(notebook):
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def shown(script):
    return json.loads(script.with_suffix(".ipynb").read_text())


def test_there_are_twelve_and_each_has_its_pair():
    assert [path.stem for path in SCRIPTS] == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert len(SCRIPTS) == 12


def show(value):
    """Make what a browser or a terminal would show of the value of a line."""
    if value is not None:
        getattr(value, "_repr_html_", value.__repr__)()


@pytest.mark.thinned(where=lambda script: script.stem in LONG)
@EACH
def test_a_notebook_runs(script, monkeypatch, capsys):
    """Cell by cell in this process, figures drawn after each, as a kernel does; a warning is an error."""
    monkeypatch.setattr(sys, "displayhook", show)
    monkeypatch.chdir(script.parent)
    known = {"__name__": "__main__"}
    with mpl.rc_context():
        for cell in jupytext.read(script).cells:
            if cell.cell_type == "code":
                lines = ast.Interactive(ast.parse(cell.source).body)
                exec(compile(lines, script.name, "single"), known)
                for number in plt.get_fignums():
                    plt.figure(number).savefig(io.BytesIO(), bbox_inches="tight")
                plt.close("all")
    assert capsys.readouterr().err == ""


def test_the_command_runs_a_notebook_in_a_kernel_of_its_own():
    command = [sys.executable, "-m", "notebooks", "--check", "five_minutes"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("five_minutes")


@EACH
def test_the_pair_has_the_same_source(script):
    assert cells(shown(script)) == cells(jupytext.read(script))


@EACH
def test_the_pair_shows_what_its_cells_print_and_draw(script):
    notebook = shown(script)
    kinds = {kind for output in outputs(notebook) for kind in output.get("data", {})}
    assert "image/png" in kinds
    assert {output["output_type"] for output in outputs(notebook)} <= {"stream", "display_data", "execute_result"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))


@EACH
def test_the_pair_is_small_and_knows_no_machine(script):
    text = script.with_suffix(".ipynb").read_text()
    printed = [output.get("text", "") for output in outputs(shown(script))]
    assert len(text) < LARGEST
    assert all(place not in "".join(map(str, printed)) for place in ("/home/", "/tmp/", "/usr/", "site-packages"))
