"""Running an experiment: every method on the same splits, cell by cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from cvxens import datasets, validation
from cvxens.datasets.catalogue import MANIFEST, VARIABLE
from cvxens.errors import DataFileError, InvalidInput
from cvxens.experiments.experiment import Cell, Draw, Experiment, Split, Trial
from cvxens.limits import limit_threads

Value = TypeVar("Value")


def cells(
    experiment: Experiment,
    *,
    data: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    splits: int = 20,
    random_state: int = 0,
    watch: Callable[[Trial], object] = lambda _trial: None,
) -> Iterator[Cell]:
    """Measure an experiment.

    Split number k depends on `random_state` and k alone, so that all methods see the same splits, however many there
    are of either.

    Parameters
    ----------
    experiment : Experiment
        The table.
    data, methods : iterable of str, optional
        Some of its rows and columns, in the order of the experiment; all by default.
    splits : int
        At least 2.
    random_state : int
        Seed, 0 or above.
    watch : callable
        Called with every trial.

    Returns
    -------
    iterator of Cell
        Data set by data set, each as it is done; arguments are checked, and data read, before that.

    Raises
    ------
    InvalidInput
        A name that the experiment does not have, or numbers that are none.
    DataFileError
        Data sets that are not in the data directory; the error says which need none.

    Examples
    --------
    >>> from cvxens.experiments import experiment_of
    >>> [cell] = cells(experiment_of("ll08", "table2"), data=["twonorm"], methods=["AB-Stump(100)"], splits=2)
    >>> cell.published.mean, 3 < cell.mean < 8
    (5.06, True)
    """
    rows = _choose("data", data, experiment.data)
    columns = _choose("methods", methods, experiment.methods)
    n_splits, seed = validation.whole("splits", splits, 2), validation.whole("random_state", random_state, 0)
    _check_directory(experiment, rows)
    draws = {name: source.open() for name, source in rows.items()}

    def measure(row: str, column: str) -> Cell:
        trials = []
        for number in range(n_splits):
            split = draw_split(draws[row], number, seed)
            start = time.perf_counter()
            with one_thread():
                value = columns[column](split)
            trials.append(Trial(row, column, number, value, time.perf_counter() - start))
            watch(trials[-1])
        return Cell.from_trials(trials, experiment.published.get((row, column)))

    return (measure(row, column) for row in rows for column in columns)


def draw_split(draw: Draw, number: int, random_state: int = 0) -> Split:
    """Return the split of a number, of what a `Source` has opened."""
    return draw(np.random.default_rng([random_state, number]))


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep compiled loops and linear algebra to one thread: on small samples several take longer than the work."""
    with limit_threads(1), threadpool_limits(1):
        yield


def _choose(argument: str, names: Iterable[str] | None, known: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the named ones, in the order in which they are known; all for None."""
    chosen = set(known if names is None else names)
    if unknown := sorted(chosen - known.keys()):
        raise InvalidInput(argument, f"found {', '.join(map(repr, unknown))}", f"name some of {', '.join(known)}")
    if not chosen:
        raise InvalidInput(argument, "found no name", f"name some of {', '.join(known)}")
    return {name: value for name, value in known.items() if name in chosen}


def _check_directory(experiment: Experiment, names: Iterable[str]) -> None:
    needed = [name for row in names for name in experiment.data[row].needs]
    missing: Sequence[str] = sorted(set(needed).difference(datasets.available())) if needed else []
    if missing:
        free = ", ".join(name for name, source in experiment.data.items() if not source.needs)
        remedy = f"set it to a directory whose {MANIFEST} lists what is missing"
        remedy += f", or choose data that are generated: {free}" if free else ""
        raise DataFileError(VARIABLE, f"found no data set {', '.join(missing)}", remedy)
