"""Running an experiment: every method on the same splits, cell by cell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from cvxens import datasets, validation
from cvxens.datasets.catalogue import MANIFEST, VARIABLE
from cvxens.errors import DataFileError, InvalidInput
from cvxens.experiments.experiment import Draw, Experiment, Method, Split
from cvxens.experiments.record import Cell, Trial
from cvxens.experiments.threads import one_thread

Value = TypeVar("Value")


def _silent(_trial: Trial) -> None:
    """Tell nobody."""


def cells(
    experiment: Experiment,
    *,
    data: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    splits: int = 20,
    random_state: int = 0,
    watch: Callable[[Trial], None] = _silent,
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
        Is told of every trial.

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
    rows = _some("data", data, experiment.data)
    columns = _some("methods", methods, experiment.methods)
    n_splits, seed = validation.whole("splits", splits, 2), validation.whole("random_state", random_state, 0)
    _check_directory(experiment, rows)
    draws = {name: source.open() for name, source in rows.items()}
    plan = _Plan(n_splits, seed, watch)
    return (
        Cell.of(plan.trials((row, column), draw, method), experiment.published.get((row, column)))
        for row, draw in draws.items()
        for column, method in columns.items()
    )


def drawn(draw: Draw, number: int, random_state: int = 0) -> Split:
    """The split of a number, of what a `Source` has opened."""
    return draw(np.random.default_rng([random_state, number]))


@dataclass(frozen=True)
class _Plan:
    """How often and from which seed every method is measured, and who is told."""

    n_splits: int
    seed: int
    watch: Callable[[Trial], None]

    def trials(self, place: tuple[str, str], draw: Draw, method: Method) -> Sequence[Trial]:
        """Measure one method on one data set."""
        found = []
        for number in range(self.n_splits):
            split = drawn(draw, number, self.seed)
            start = time.perf_counter()
            with one_thread():
                value = method(split)
            found.append(Trial(*place, number, value, time.perf_counter() - start))
            self.watch(found[-1])
        return found


def _some(argument: str, names: Iterable[str] | None, known: Mapping[str, Value]) -> Mapping[str, Value]:
    """The ones that are named, in the order in which they are known; all for None."""
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
        raise DataFileError(
            VARIABLE,
            f"found no data set {', '.join(missing)}",
            f"set it to a directory whose {MANIFEST} lists what is missing"
            + (f", or choose data that are generated: {free}" if free else ""),
        )
