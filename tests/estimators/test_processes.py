"""Fits in pools of processes and threads, after fits in their parent."""

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import cvxens
from cvxens.limits import available_threads, limit_threads, map_in_threads

SCRIPT = Path(__file__).with_name("fits_in_processes.py")


def test_fits_in_pools_end_with_the_parents_answers():
    environment = {**os.environ, "PYTHONPATH": str(Path(cvxens.__file__).parents[1]), "NUMBA_NUM_THREADS": "2"}
    command = [sys.executable, SCRIPT]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    lines = run.stdout.splitlines()
    assert len(lines) == 2 + ("fork" in multiprocessing.get_all_start_methods()), run.stderr
    assert [line for line in lines if not line.endswith("different:")] == []


def test_what_other_processes_warn_of_is_heard_here():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_columns reached") as told:
        cvxens.LPBoostClassifier(max_columns=1, n_jobs=2).fit(X, y)
    assert len(told) >= 2


@pytest.mark.parametrize("n_items", [0, 1, 2, 50])
def test_results_are_in_the_order_of_the_items(n_items):
    assert map_in_threads(lambda k: k * k, range(n_items)) == [k * k for k in range(n_items)]


def test_calls_within_calls_end():
    def inner(k):
        return sum(map_in_threads(lambda j: j * k, range(5)))

    assert map_in_threads(inner, range(20)) == [10 * k for k in range(20)]


def test_many_callers_share_the_threads():
    found = {}

    def call(k):
        found[k] = map_in_threads(lambda j: j + k, range(30))

    callers = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)
    assert found == {k: [j + k for j in range(30)] for k in range(8)}


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_what_a_task_raises_is_raised_and_nothing_is_left_at_work(failure):
    at_work = set()

    def task(k):
        at_work.add(k)
        try:
            if k == 3:
                raise failure
        finally:
            at_work.remove(k)

    with pytest.raises(failure):
        map_in_threads(task, range(100))
    assert not at_work


def test_limits_hold_and_end():
    before = available_threads()
    with limit_threads(1):
        assert available_threads() == 1
        with limit_threads(10**6):
            assert available_threads() == 1
    assert available_threads() == before


def test_threads_of_a_child_are_its_own():
    map_in_threads(abs, range(10))
    with multiprocessing.Pool(1) as pool:
        assert pool.apply_async(_squares).get(60) == [k * k for k in range(10)]


def _squares():
    return map_in_threads(lambda k: k * k, range(10))
