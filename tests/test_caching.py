"""Whoever can write neither to the package nor to a home folder can import it and compile."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cvxens

COMPILE = """
{first}
import os, sys
import cvxens.solvers, numpy as np
from cvxens.rounding import dot
print(dot(np.ones(3), np.ones(3)))
print(os.environ["NUMBA_CACHE_DIR"])
"""


@pytest.mark.parametrize("first", ["", "import numba"])
def test_without_a_place_for_compiled_code_a_process_keeps_it_for_itself(tmp_path, first):
    package = tmp_path / "cvxens"
    shutil.copytree(Path(cvxens.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *filter(Path.is_dir, package.rglob("*"))]:
        # a file in the place of the folder is in the way of everybody, root too
        (folder / "__pycache__").write_text("")
    kept = {name: value for name, value in os.environ.items() if name not in {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}}
    given = {
        **kept,
        "HOME": "/dev/null",
        "PYTHONPATH": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    script = COMPILE.format(first=first)
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, env=given, cwd=tmp_path, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    total, folder = done.stdout.split()
    assert total == "3.0"
    assert Path(folder).parent == tmp_path
    assert not Path(folder).exists()


def test_a_folder_that_was_chosen_stays_chosen(tmp_path):
    given = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    script = "import cvxens, os; print(os.environ['NUMBA_CACHE_DIR'])"
    done = subprocess.run([sys.executable, "-c", script], env=given, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path)
