"""What holds for a whole run of tests: how many processes and threads work, what hypothesis may do, and that
tests are collected without a search for garbage.

pytest reads this before anything imports numpy or numba; the workers of pytest-xdist and the processes that tests
start inherit the environment.
"""

import gc
import os
import signal
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import joblib
import pytest
from hypothesis import HealthCheck, settings

THREADS = {
    # a worker fills its core: BLAS with threads of its own would wait at barriers for the cores of the other workers
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # on a machine of one core, too, loops in parallel are to have two threads, or their tests would test nothing
    "NUMBA_NUM_THREADS": "2",
    # a thread that waits sleeps
    "OMP_WAIT_POLICY": "PASSIVE",
}
"""Limits of threads in each process; what the environment says already is left as it is."""

for variable, value in THREADS.items():
    os.environ.setdefault(variable, value)

# what tests start imports the package beside the tests, not another one that is installed
ROOT = Path(__file__).parents[1]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

# the workers and the processes that tests start read what the first of them has compiled
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# a shell that starts a command in the background has it ignore Ctrl-C, which tests send
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "cvxens",
    # random, and derandomised where CI is set: the profile that hypothesis itself begins with
    parent=settings.get_profile(settings.get_current_profile_name()),
    # seeds are new in every run; many in one are `make fuzz`, but for tests that ask for a number of their own
    max_examples=15,
    # no test fails for the time that it takes
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    # a failure on another machine can be reproduced from what was printed
    print_blob=True,
)
settings.register_profile("fuzz", parent=settings.get_profile("cvxens"), max_examples=500)
settings.load_profile("cvxens")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """``-n auto`` means the cores that this process may use, as affinity and containers limit them."""
    return joblib.cpu_count()


def cover(rows, strength):
    """Return the places of a few rows in which any so many values that are together in a row are so again.

    >>> rows = ["ace", "acf", "ade", "adf", "bce", "bcf", "bde", "bdf"]
    >>> [[rows[k] for k in cover(rows, strength)] for strength in (1, 2)]
    [['ace', 'bdf'], ['ace', 'bdf', 'acf', 'bde', 'ade', 'bcf']]
    """
    values = [list(enumerate(row)) for row in rows]
    shown = [{*combinations(each, strength)} for each in values]
    missing, used, kept = set().union(*shown), Counter(), []
    while missing:
        # of those that show as many new ones, the row whose values were used the least
        best = max(range(len(rows)), key=lambda k: (len(shown[k] & missing), -sum(used[at] for at in values[k])))
        missing -= shown[best]
        used.update(values[best])
        kept.append(best)
    return kept


def name_type(value):
    """Return what is shown of a value in the name of a test, None for what pytest shows itself."""
    return None if hasattr(value, "__name__") or type(value).__module__ == "builtins" else type(value).__name__


def pytest_generate_tests(metafunc):
    """Give a test the parameters that stand in the marks `product` and `thinned`."""
    for mark in metafunc.definition.iter_markers():
        if mark.name in {"product", "thinned"}:
            for name in [name for name in mark.kwargs if name != "where"]:
                metafunc.parametrize(name, mark.kwargs[name], ids=name_type)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what `thinned` leaves to `make sweep`: of products of parameters, or where a function says so."""
    families = defaultdict(list)
    for item in items:
        if item.get_closest_marker("thinned"):
            families[item.nodeid.partition("[")[0]].append(item)
    for family in families.values():
        mark, given = family[0].get_closest_marker("thinned"), [item.callspec.params for item in family]
        if mark.args:
            kept = cover([tuple(map(id, values.values())) for values in given], *mark.args)
        else:
            kept = [k for k, values in enumerate(given) if not mark.kwargs["where"](**values)]
        for k in set(range(len(family))).difference(kept):
            family[k].add_marker("sweep")


# ten thousand tests stay until the end: to search what they hold for circles, again and again while their number
# grows, is more than half of the time of collecting them
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Take what was collected out of every later search for garbage."""
    gc.freeze()
    gc.enable()
    # models of cvxpy are many small objects of short lives: a search at every 700 is a tenth of the time of tests
    gc.set_threshold(20_000, 10, 10)
