"""The command line answers without loading what it does not need."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from command_line import python

from cvxens.cli import main

HEAVY = {"cvxpy", "matplotlib", "numba", "pandas", "scipy", "sklearn", "numpy", "highspy"}
LOADED = """
import sys
from cvxens.cli import main
try:
    main(sys.argv[1:])
finally:
    print("loaded", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["list"], ["--version"], []])
def test_what_computes_nothing_loads_no_numerical_library(arguments):
    done = python("-c", LOADED, *arguments)
    assert done.returncode == (0 if arguments else 2)
    [loaded] = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("loaded")]
    assert "cvxens" in loaded
    assert HEAVY.isdisjoint(loaded)


def test_the_entry_point_is_main():
    [script] = entry_points(group="console_scripts", name="cvxens")
    assert script.load() is main


@pytest.mark.parametrize("arguments", [["--help"], ["list"]])
def test_a_reader_that_leaves_early_is_no_accident(arguments):
    command = [sys.executable, "-c", "from cvxens.cli import main; main()", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert "Traceback" not in err
