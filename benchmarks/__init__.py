"""Side-by-side timings against peers, one question per file: ``python -m benchmarks NAME``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter
from typing import Any

THREADS = 2


def medians(tasks: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """Return the median time of every task in milliseconds, taken in turn after one call each to warm up."""
    for task in tasks.values():
        task()
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repetitions):
        for name, task in tasks.items():
            start = perf_counter()
            task()
            times[name].append(perf_counter() - start)
    return {name: 1e3 * median(seconds) for name, seconds in times.items()}
