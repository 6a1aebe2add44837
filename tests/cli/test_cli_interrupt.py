"""Ctrl-C prints and writes the rows done so far and ends with status 130."""

import json
import os
import re

import pytest
from command_line import python, run, small, write_csv

from cvxens import crosscheck
from cvxens.problems import FORMULATIONS, HardMarginBoosting, SVMPrimal

NAMES = [formulation.__name__ for formulation in FORMULATIONS]


def interrupted(sample):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("at", "n_done"), [(SVMPrimal, 0), (HardMarginBoosting, 2)])
def test_rows_done_so_far_are_printed_and_written(capsys, tmp_path, monkeypatch, at, n_done):
    monkeypatch.setattr(crosscheck, "CASES", {**crosscheck.CASES, at: (interrupted, "")})
    csv, report = write_csv(tmp_path / "small.csv", *small()), tmp_path / "report.json"
    status, out, err = run(capsys, "crosscheck", csv, "--json", report)
    assert status == 130
    assert err.strip() == "interrupted"
    assert f"{n_done} of {n_done} agree" in out
    assert [name for name in NAMES if name in out] == NAMES[:n_done]
    assert [row["formulation"] for row in json.loads(report.read_text())["rows"]] == NAMES[:n_done]


INTERRUPTED_AT_THE_THIRD = """
import os, signal, time
from cvxens.cli import main
from cvxens import crosscheck
from cvxens.problems import HardMarginBoosting

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore the signal

def interrupted(sample):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(100)

crosscheck.CASES[HardMarginBoosting] = interrupted, ""
main()
"""


def test_a_signal_to_a_process(tmp_path):
    csv, report = write_csv(tmp_path / "small.csv", *small()), tmp_path / "report.json"
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}
    process = python("-c", INTERRUPTED_AT_THE_THIRD, "crosscheck", csv, "--json", report, env=environment)
    assert process.returncode == 130
    assert process.stderr.rstrip().endswith("interrupted")
    assert "Traceback" not in process.stderr
    assert [row["formulation"] for row in json.loads(report.read_text())["rows"]] == NAMES[:2]
    printed = re.sub(r"\x1b\[[0-9;]*m", "", process.stdout)
    assert "SVMPrimal" in printed
    assert "2 of 2 agree" in printed
