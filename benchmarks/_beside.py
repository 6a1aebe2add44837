"""A benchmark of this tree beside the same benchmark of another checkout, with the ratios of their times.

Every run is a process of its own that starts in its tree and imports the package and the benchmark from there, which is
checked. Runs take turns, here first in one round and there first in the next, so that a machine that slows down does so
for both. Times are compared, and what else differs is named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent.parent

RUN = """
import json, sys
from importlib import import_module
from threadpoolctl import threadpool_limits
import cvxens
try:
    from cvxens.limits import limit_threads
except ImportError:  # where threads are in a module of their own
    from cvxens.threads import limit_threads
name, threads, settings, file = json.loads(sys.argv[1])
module = import_module(f"benchmarks.{name}")
for key, value in settings.items():
    getattr(module, key)
    setattr(module, key, value)
with limit_threads(threads), threadpool_limits(threads):
    rows = list(module.run())
with open(file, "w") as written:
    json.dump({"files": [cvxens.__file__, module.__file__], "rows": rows}, written, default=lambda value: value.item())
"""
"""What a process does; it asks of the other checkout only what every one has."""

ALIKE = 1e-6
"""The relative difference up to which other numbers of the two sides are the same."""


def run_in(tree: Path, name: str, threads: int, settings: Mapping[str, Any], file: Path) -> list[dict[str, Any]]:
    """Return the rows of a benchmark of a tree, from a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
    arguments = json.dumps([name, threads, settings, str(file)])
    subprocess.run([sys.executable, "-c", RUN, arguments], cwd=tree, env=environment, check=True)
    found = json.loads(file.read_text())
    for imported in found["files"]:
        if tree not in Path(imported).resolve().parents:
            raise RuntimeError(f"{imported} was imported, which is not in {tree}")
    return found["rows"]


def is_time(column: str, value: Any) -> bool:
    """True for seconds or milliseconds above 0, by the words of its column; "peer / s" is a ratio."""
    words = column.replace(",", "").split()
    return (
        isinstance(value, int | float)
        and value > 0
        and not {"s", "ms", "seconds"}.isdisjoint(words)
        and "/" not in words
    )


def compare(
    here: Sequence[Sequence[Mapping[str, Any]]], there: Sequence[Sequence[Mapping[str, Any]]]
) -> Iterator[dict]:
    """Yield a row for every time of a benchmark: the least over all rounds on both sides, and their ratio.

    `median ratio` is that of the rounds, each with both sides. `others` names the other columns that differ, but for
    ratios of times and memory: objectives and gaps should not.
    """
    if len({len(rows) for rows in (*here, *there)}) != 1:
        raise RuntimeError("the two checkouts have other rows: compare them by hand")
    for ours, theirs in zip(zip(*here, strict=True), zip(*there, strict=True), strict=True):
        first, other = ours[0], theirs[0]
        times = [column for column, value in first.items() if is_time(column, value) and column in other]
        texts = [value for column, value in first.items() if isinstance(value, str) and value == other.get(column)]
        others = [c for c, value in first.items() if c not in times and not is_alike(c, value, other.get(c))]
        for column in times:
            left, right = ([row[column] for row in rows] for rows in (ours, theirs))
            yield {
                "row": ", ".join(texts),
                "time": column,
                "here": min(left),
                "there": min(right),
                "here / there": min(left) / min(right),
                "median ratio": median(a / b for a, b in zip(left, right, strict=True)),
                "others": ", ".join(others),
            }


def is_alike(column: str, value: Any, other: Any) -> bool:
    """True where two results are the same up to rounding, or cannot be, as they are made of times."""
    if {"ratio", "/", "peak"} & set(column.split()):
        return True
    try:
        a, b = float(value), float(other)
    except (TypeError, ValueError):
        return value == other
    return a == b or abs(a - b) <= ALIKE * max(abs(a), abs(b)) or (isnan(a) and isnan(b))


def run_beside(name: str, tree: Path, threads: int, settings: Mapping[str, Any], rounds: int) -> list[dict[str, Any]]:
    """Run a benchmark of this tree and of another in turn, and return the rows of the comparison."""
    sides: dict[Path, list[list[dict[str, Any]]]] = {HERE: [], tree.resolve(): []}
    if len(sides) == 1 or not (tree / "benchmarks" / f"{name}.py").exists():
        raise RuntimeError(f"found no other checkout with a benchmark {name} in {tree}")
    with TemporaryDirectory() as room:
        for number in range(rounds):
            for side in list(sides)[:: -1 if number % 2 else 1]:
                sides[side].append(run_in(side, name, threads, settings, Path(room) / "rows.json"))
    return list(compare(*sides.values()))
