"""What a benchmark measured, on which machine and commit, kept so that the next run can be compared with it."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import THREADS
from benchmarks._beside import compare
from cvxens.limits import limit_threads

HOME = Path(__file__).resolve().parent.parent / ".benchmarks"
"""Where the last run of every benchmark is kept; no part of the repository."""

KEPT = Path(__file__).with_name("kept")
"""Where benchmarks that take days keep every fit, to go on from there: a part of the repository."""


class OutOfTime(BaseException):
    """The time that a benchmark was given is over; no handler of ordinary errors may take it for one."""


@dataclass(frozen=True)
class Record:
    """The rows of one run of a benchmark, and what they were measured with.

    `ended` says why a run ended before its last row: "out of time" or "interrupted"; it is empty for a whole one.
    """

    name: str
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    machine: str
    commit: str
    when: str
    ended: str = ""

    @property
    def key(self) -> str:
        """The name of the file of all runs with these settings."""
        text = json.dumps(self.settings, sort_keys=True)
        return f"{self.name}-{sha256(text.encode()).hexdigest()[:8]}" if self.settings else self.name

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it; numbers of numpy become Python's."""
        return json.loads(json.dumps(asdict(self), default=lambda value: value.item()))

    def save(self, path: Path) -> None:
        """Write the run to a file, whole or not at all."""
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(self.to_dict(), indent=1) + "\n")
        part.replace(path)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """Return the run that a file keeps; None where there is no such file, or it is of another form."""
        try:
            return cls(**json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def compare(self, last: Record) -> tuple[list[dict[str, Any]], str]:
        """Return the times of this run beside those of an earlier one, and a sentence that says with what."""
        words = f"{self.name}: this run (here) beside the one of {last.when}, commit {last.commit} (there)"
        if last.machine != self.machine:
            words += f", on another machine ({last.machine})"
        if len(last.rows) != len(self.rows):
            return [], f"{words}: other rows, nothing to compare"
        return list(compare([self.to_dict()["rows"]], [last.rows])), words


def set_constants(module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Give constants of a benchmark other values; AttributeError names one that it does not have."""
    for key, value in settings.items():
        if not hasattr(module, key):
            raise AttributeError(f"{module.__name__.rpartition('.')[2]} has no constant {key}")
        setattr(module, key, value)


def measure(
    module: ModuleType, settings: Mapping[str, Any], seconds: float | None, watch: Callable[[Mapping[str, Any]], None]
) -> Record:
    """Run a benchmark and tell `watch` of every row as it comes; it ends after `seconds`, or at Ctrl-C, with its rows.

    What is compiled and deaf to signals, such as a solver, is left to end first.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal over
        over = True
        raise OutOfTime

    rows: list[Mapping[str, Any]] = []
    ended, over = "", False
    before = signal.signal(signal.SIGALRM, end)
    try:
        with limit_threads(THREADS), threadpool_limits(THREADS):
            # what it takes to find the libraries with threads is not the benchmark's
            signal.setitimer(signal.ITIMER_REAL, seconds or 0)
            for row in module.run():
                rows.append(row)
                watch(row)
    except OutOfTime:
        ended = "out of time"
    except SystemError as error:
        # a signal that comes while compiled code returns
        if not isinstance(error.__cause__, OutOfTime | KeyboardInterrupt):
            raise
        ended = "out of time" if isinstance(error.__cause__, OutOfTime) else "interrupted"
    except RuntimeError:
        # compiling swallows a signal that comes from within LLVM, and then has nothing compiled
        if not over:
            raise
        ended = "out of time"
    except KeyboardInterrupt:
        ended = "interrupted"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    name = module.__name__.rpartition(".")[2]
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC"
    return Record(name, dict(settings), rows, describe_machine(), read_commit(), when, ended)


def describe_machine() -> str:
    """Say what a time depends on: processors, their kind, the threads that are used, and Python."""
    return f"{os.cpu_count()} x {_processor()}, {THREADS} threads, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def read_commit() -> str:
    """Return the commit that is checked out, with a "+" where files differ from it; "unknown" outside a repository."""
    here = Path(__file__).parent
    try:
        head, changed = (
            subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()
            for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + "+" * bool(changed)
