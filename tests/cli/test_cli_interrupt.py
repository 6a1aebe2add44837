"""Ctrl-C prints and writes the rows done so far and ends with status 130."""

import json
import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from command_line import run, small, write_csv

from cvxens.crosscheck import check
from cvxens.problems import FORMULATIONS, HardMarginBoosting, SVMPrimal

NAMES = [formulation.__name__ for formulation in FORMULATIONS]


def interrupted(sample):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("at", "n_done"), [(SVMPrimal, 0), (HardMarginBoosting, 2)])
def test_rows_done_so_far_are_printed_and_written(capsys, tmp_path, monkeypatch, at, n_done):
    monkeypatch.setattr(check, "CASES", {**check.CASES, at: interrupted})
    csv, report = write_csv(tmp_path / "small.csv", *small()), tmp_path / "report.json"
    status, out, err = run(capsys, "crosscheck", csv, "--json", report)
    assert status == 130
    assert err.strip() == "interrupted"
    assert f"{n_done} of {n_done} agree" in out
    assert [name for name in NAMES if name in out] == NAMES[:n_done]
    assert [row["formulation"] for row in json.loads(report.read_text())["rows"]] == NAMES[:n_done]


def test_before_there_is_anything_to_print(capsys, monkeypatch):
    monkeypatch.setattr("cvxens.datasets.breast_cancer", lambda: interrupted(None))
    status, out, err = run(capsys, "crosscheck")
    assert (status, out, err.strip()) == (130, "", "interrupted")


def test_a_signal_to_a_process(tmp_path):
    csv, report = write_csv(tmp_path / "larger.csv", *small(250, 12)), tmp_path / "report.json"
    command = [sys.executable, "-c", "from cvxens.cli import main; main()", "crosscheck", csv, "--json", report]
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
    )
    overdue = threading.Timer(100, process.kill)
    overdue.start()
    shown = b""
    while b"SVMDual" not in shown and (more := os.read(process.stderr.fileno(), 4096)):
        shown += more
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    overdue.cancel()
    assert process.returncode == 130
    assert err.rstrip().endswith(b"interrupted")
    assert b"Traceback" not in shown + err
    rows = json.loads(report.read_text())["rows"]
    assert 1 <= len(rows) < len(NAMES)
    assert [row["formulation"] for row in rows] == NAMES[: len(rows)]
    printed = re.sub(r"\x1b\[[0-9;]*m", "", out.decode())
    assert "SVMPrimal" in printed
    assert f"{len(rows)} of {len(rows)} agree" in printed
