"""Side-by-side timings against peers, one question per file: ``python -m benchmarks NAME``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

Result = TypeVar("Result")

THREADS = 2


def take_times(tasks: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, tuple[list[float], Any]]:
    """Return the seconds of every repetition of every task, taken in turn, and its last result."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    results = {}
    for _ in range(repetitions):
        for name, task in tasks.items():
            start = perf_counter()
            results[name] = task()
            times[name].append(perf_counter() - start)
    return {name: (seconds, results[name]) for name, seconds in times.items()}


def take_least(task: Callable[[], Result], repetitions: int = 1) -> tuple[float, Result]:
    """Return the least seconds of a task, and its last result."""
    seconds, result = take_times({"": task}, repetitions)[""]
    return min(seconds), result


def name_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns of a table whose rows need not have all of them, in order."""
    return list(dict.fromkeys(column for row in rows for column in row))
