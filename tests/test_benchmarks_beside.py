"""Benchmarks beside those of another checkout, or beside their last run: ratios are of the same rows."""

import json
import os
import signal
import time
from contextlib import suppress
from math import nan
from types import ModuleType

import pytest

from benchmarks import _beside, take_least, take_times
from benchmarks._beside import compare, is_time, run_beside
from benchmarks._record import OutOfTime, Record, measure, set_constants

BENCHMARK = """
from cvxens import NAME
SECONDS = 1.0
def run():
    return [{"task": "fit", "s": SECONDS, "objective": 2.0, "tree": NAME}]
"""
THREADS = """
from contextlib import nullcontext
def limit_threads(n):
    return nullcontext()
"""


@pytest.fixture
def checkouts(tmp_path, monkeypatch):
    """Two small trees with a package and a benchmark, the first of which is this one."""
    for name, threads in (("new", "limits"), ("old", "threads")):
        for file, text in {
            "cvxens/__init__.py": f"NAME = {name!r}",
            f"cvxens/{threads}.py": THREADS,
            "benchmarks/__init__.py": "",
            "benchmarks/fits.py": BENCHMARK,
        }.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    monkeypatch.setattr(_beside, "HERE", tmp_path / "new")
    return tmp_path


def test_each_side_imports_its_own_tree(checkouts):
    (row,) = run_beside("fits", checkouts / "old", 1, {"SECONDS": 3.0}, rounds=1)
    assert (row["row"], row["time"], row["here"], row["there"], row["here / there"]) == ("fit", "s", 3.0, 3.0, 1.0)
    assert row["others"] == "tree"


def test_sides_take_turns(monkeypatch, checkouts):
    sides, seconds = [], iter([1.0, 2.0, 8.0, 4.0])
    monkeypatch.setattr(_beside, "run_in", lambda tree, *_: sides.append(tree.name) or [{"s": next(seconds)}])
    (row,) = run_beside("fits", checkouts / "old", 1, {}, rounds=2)
    assert sides == ["new", "old", "old", "new"]
    assert (row["here"], row["there"], row["here / there"], row["median ratio"]) == (1.0, 2.0, 0.5, 0.5)


def test_what_was_imported_from_elsewhere_is_refused(checkouts, tmp_path):
    (checkouts / "old" / "cvxens" / "__init__.py").write_text(f"NAME = 'old'\n__file__ = {str(tmp_path / 'x.py')!r}")
    with pytest.raises(RuntimeError, match="which is not in"):
        run_beside("fits", checkouts / "old", 1, {}, rounds=1)


@pytest.mark.parametrize("tree", ["new", "old/cvxens"])
def test_another_checkout_is_needed(checkouts, tree):
    with pytest.raises(RuntimeError, match="found no other checkout with a benchmark fits"):
        run_beside("fits", checkouts / tree, 1, {}, rounds=1)


@pytest.mark.parametrize(
    ("column", "value"), [("s", 0.1), ("fit s", 1), ("seconds", 2.0), ("ms", 3.0), ("s, first", 1.0)]
)
def test_times(column, value):
    assert is_time(column, value)


@pytest.mark.parametrize(("column", "value"), [("peer / s", 2.0), ("seconds", ""), ("s", nan), ("gap", 1e-3)])
def test_numbers_that_are_no_times(column, value):
    assert not is_time(column, value)


def test_what_differs_is_named():
    here = [{"task": "a", "s": 1.0, "gap": 1e-3, "objective": "2.0", "ratio": 1.0, "peak GB": 1.0}]
    there = [{"task": "a", "s": 4.0, "gap": 2e-3, "objective": "2.0000001", "ratio": 2.0, "peak GB": 3.0}]
    (row,) = compare([here], [there])
    assert (row["here / there"], row["others"]) == (0.25, "gap")


def test_other_rows_cannot_be_compared():
    with pytest.raises(RuntimeError, match="other rows"):
        list(compare([[{"s": 1.0}]], [[{"s": 1.0}, {"s": 2.0}]]))


def test_tasks_are_timed_in_turn():
    calls = []
    found = take_times({"a": lambda: calls.append("a") or 1, "b": lambda: calls.append("b") or 2}, 2)
    assert calls == ["a", "b", "a", "b"]
    assert {name: (len(times), result) for name, (times, result) in found.items()} == {"a": (2, 1), "b": (2, 2)}
    seconds, result = take_least(lambda: json.loads("[1]"), 3)
    assert (seconds >= 0, result) == (True, [1])


def make_benchmark(run):
    """Return a module with a benchmark that yields what `run` yields."""
    module = ModuleType("benchmarks.fits")
    module.run = run
    module.SECONDS = 1.0
    return module


def test_a_run_is_told_row_by_row_and_kept_for_the_next(tmp_path):
    seen, module = [], make_benchmark(lambda: ({"task": name, "s": module.SECONDS} for name in "ab"))
    first = measure(module, {}, None, seen.append)
    assert seen == list(first.rows) == [{"task": "a", "s": 1.0}, {"task": "b", "s": 1.0}]
    assert not first.ended
    first.save(tmp_path / "fits.json")
    set_constants(module, {"SECONDS": 3.0})
    rows, words = measure(module, {}, None, seen.append).compare(Record.read(tmp_path / "fits.json"))
    assert [row["here / there"] for row in rows] == [3.0, 3.0]
    assert words.startswith(f"fits: this run (here) beside the one of {first.when}")
    assert measure(make_benchmark(list), {}, None, seen.append).compare(first)[0] == []


def test_a_run_out_of_time_has_the_rows_until_then():
    def run():
        yield {"s": 1.0}
        time.sleep(60)
        yield {"s": 2.0}

    record = measure(make_benchmark(run), {}, 0.05, lambda _: None)
    assert (record.rows, record.ended) == ([{"s": 1.0}], "out of time")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_interrupted_run_has_the_rows_until_then():
    # what a shell starts in the background heeds no interrupt
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def run():
        yield {"s": 1.0}
        os.kill(os.getpid(), signal.SIGINT)
        yield {"s": 2.0}

    try:
        assert measure(make_benchmark(run), {}, None, lambda _: None).ended == "interrupted"
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("cause", "ended"), [(OutOfTime(), "out of time"), (KeyboardInterrupt(), "interrupted")])
def test_a_signal_while_compiled_code_returns_ends_a_run(cause, ended):
    def run():
        yield {"s": 1.0}
        raise SystemError("a result with an exception set") from cause

    def fail(_row):
        raise SystemError

    record = measure(make_benchmark(run), {}, None, lambda _: None)
    assert (len(record.rows), record.ended) == (1, ended)
    with pytest.raises(SystemError):
        measure(make_benchmark(lambda: map(fail, [0])), {}, None, print)


def test_a_signal_that_compiling_swallows_ends_a_run():
    def run(seconds):
        yield {"s": 1.0}
        with suppress(OutOfTime):
            time.sleep(seconds)
        raise RuntimeError("no compiled object yet")

    record = measure(make_benchmark(lambda: run(60)), {}, 0.05, lambda _: None)
    assert (record.rows, record.ended) == ([{"s": 1.0}], "out of time")
    with pytest.raises(RuntimeError, match="no compiled object"):
        measure(make_benchmark(lambda: run(0)), {}, None, lambda _: None)


def test_settings_have_files_of_their_own_and_unknown_ones_are_named(tmp_path):
    with pytest.raises(AttributeError, match="fits has no constant SIZE"):
        set_constants(make_benchmark(list), {"SIZE": 1})
    plain, other = (measure(make_benchmark(list), settings, None, print).key for settings in ({}, {"SECONDS": 2}))
    assert plain == "fits" != other
    (tmp_path / "fits.json").write_text("[1")
    assert Record.read(tmp_path / "fits.json") is None is Record.read(tmp_path / "none.json")
