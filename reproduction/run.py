"""Running experiments: trial by trial, side by side, from where it was left, within a time.

A trial depends on the experiment, its row and column, the number of its split and the seed alone: so all methods see
the same splits, however many there are of either, and whatever is measured beside, before or after.
"""

from __future__ import annotations

import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby, takewhile
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

from cvxens import __version__, datasets, validation
from cvxens.datasets.catalogue import MANIFEST, VARIABLE
from cvxens.errors import DataFileError, InvalidInput
from cvxens.limits import limit_threads
from reproduction.costs import LIMIT, Costs
from reproduction.experiment import Cell, Experiment, Trial
from reproduction.splits import Draw, Source, Split
from reproduction.store import Store

NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]?\d+)?")


@dataclass(frozen=True)
class Failure:
    """A trial that could not be measured."""

    task: str  # its name
    error: str


@dataclass(frozen=True, eq=False)
class Task:
    """A trial to be measured."""

    experiment: Experiment
    row: str
    column: str
    split: int
    random_state: int = 0

    @property
    def key(self) -> tuple[str, str, str, str, int, int]:
        """The place of the trial, which is equal for tables that share it."""
        return (*self.experiment.place, self.row, self.column, self.split, self.random_state)

    def __str__(self) -> str:
        """Name the trial by its table, its cell and its split."""
        return f"{self.experiment.name}, {self.row}: {self.column}, split {self.split}"

    def attempt(self) -> Trial | Failure:
        """Measure, whatever goes wrong in a method: others are to be measured still."""
        try:
            return self.measure()
        except Exception as error:
            return Failure(str(self), f"{type(error).__name__}: {error}")

    def measure(self) -> Trial:
        """Draw the split, train and test; what warns is noted, not shown."""
        experiment, row, column = self.experiment, self.row, self.column
        split = draw_split(experiment.rows[row], self.split, self.random_state)
        with warnings.catch_warnings(record=True) as told, one_thread():
            warnings.simplefilter("always")
            start = time.process_time()
            outcome = experiment.columns[column](split)
            seconds = time.process_time() - start
        return Trial(
            *self.key,
            experiment.protocol_of(row, column),
            outcome.value,
            seconds,
            len(split.y),
            len(split.y_test),
            split.random_state,
            outcome.proofs,
            outcome.more,
            # texts that differ in their numbers alone are one
            dict(Counter(NUMBER.sub("#", f"{each.category.__name__}: {each.message!s:.200}") for each in told)),
            _versions(),
        )


@dataclass(frozen=True)
class Plan:
    """What there is to do: trials that are there, those to be measured, and those that are left out."""

    done: Sequence[Trial]
    tasks: Sequence[Task]  # in the order in which they are measured
    left_out: Sequence[Task]  # for want of time
    damaged: Sequence[DataFileError]  # files that are measured anew
    lacking: Mapping[str, Sequence[str]]  # data sets that the data directory lacks, by the row of an experiment
    minutes: float = inf  # of wall-clock time, after which none is begun
    limited: Collection[tuple[Any, ...]] = ()  # keys of tasks that nothing is known of, and that are tried once

    @classmethod
    def make(
        cls,
        tasks: Iterable[Task],
        lacking: Mapping[str, Sequence[str]],
        store: Store,
        minutes: float = inf,
        jobs: int = 1,
    ) -> Plan:
        """Look what is there, and choose what fits into the time.

        What is cheap goes first, and the k-th split of a cell counts k times: in little time many cells have several
        splits, and those that take long have one or none. Of a cell whose time is not known the first split is
        tried once, up to a limit: how long it takes, or that it takes longer, is known from then on.
        """
        done: list[Trial] = []
        damaged: list[DataFileError] = []
        todo: list[Task] = []
        for task in tasks:
            try:
                found = store.read(task.experiment, task.row, task.column, task.split, task.random_state)
            except DataFileError as error:
                damaged.append(error)
                found = None
            if found is None:
                todo.append(task)
            else:
                done.append(found)
        costs = Costs.read().updated(_read_tried(store)).updated(Costs.from_trials(done))
        todo.sort(key=lambda task: costs.of(task.key[:4]) * (task.split + 1))
        left = 60 * validation.limit("minutes", minutes) * jobs
        kept: list[Task] = []
        left_out: list[Task] = []
        limited = set()
        for task in todo:
            seconds = costs.of(task.key[:4])
            if minutes < inf and task.split == 0 and not costs.is_known(task.key[:4]):
                seconds = LIMIT
                limited.add(task.key)
            fits = seconds <= left
            left -= seconds * fits
            (kept if fits else left_out).append(task)
        return cls(done, kept, left_out, damaged, lacking, minutes, limited)

    def run(self, store: Store, jobs: int = 1) -> Generator[Trial | Failure, None, None]:
        """Measure what is to be measured, side by side in so many processes, and keep every trial as it is done.

        A trial is on disk, whole, before it is handed over; what fails is handed over too, and ends nothing. Whoever
        stops, by Ctrl-C or by closing the iterator, drops the trials that are being measured, and nothing else. None is
        begun after the minutes of the plan, as on a machine that is slower than expected.
        """
        tasks = self._list_due(time.monotonic() + 60 * self.minutes)
        if validation.whole("jobs", jobs) == 1:
            yield from _run_here(tasks, store, self.limited)
            return
        work = (joblib.delayed(_measure_and_keep)(task, store, task.key in self.limited) for task in tasks)
        with joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
            yield from joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch=2 * jobs)(work)

    def _list_due(self, deadline: float) -> Iterator[Task]:
        """Yield the tasks, none after a time of the monotonic clock."""
        return takewhile(lambda _task: time.monotonic() < deadline, self.tasks)


def tasks_of(
    experiments: Iterable[Experiment],
    *,
    data: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    splits: int | None = None,
    random_state: int = 0,
) -> tuple[list[Task], dict[str, Sequence[str]]]:
    """List all trials of experiments, once each, in their order, and the data that the data directory lacks.

    Arguments and errors are those of `cells`, but for the number of splits, which by default each table fixes; data
    that are lacking are an error if nothing can be measured.
    """
    experiments = list(experiments)
    n_splits = None if splits is None else validation.whole("splits", splits)
    seed = validation.whole("random_state", random_state, 0)
    rows = _choose("data", data, [name for each in experiments for name in each.rows])
    columns = _choose("methods", methods, [name for each in experiments for name in each.columns])
    needed = {name for each in experiments for row in each.rows.keys() & rows for name in each.rows[row].needs}
    absent = needed.difference(datasets.available()) if needed else set()
    lacking: dict[str, Sequence[str]] = {}
    tasks: dict[tuple[Any, ...], Task] = {}
    for each in experiments:
        for row, source in each.rows.items():
            if row not in rows:
                continue
            if missing := sorted(absent.intersection(source.needs)):
                lacking[f"{each.name}, {row}"] = missing
                continue
            asked = each.splits if n_splits is None else n_splits
            most = asked if source.most is None else min(asked, source.most)
            for column in (name for name in each.columns if name in columns):
                for task in (Task(each, row, column, number, seed) for number in range(most)):
                    tasks.setdefault(task.key, task)
    if lacking and not tasks:
        raise _lacks(lacking, experiments)
    return list(tasks.values()), lacking


def _lacks(lacking: Mapping[str, Sequence[str]], experiments: Iterable[Experiment]) -> DataFileError:
    missing = ", ".join(sorted({name for names in lacking.values() for name in names}))
    free = list(dict.fromkeys(row for each in experiments for row, source in each.rows.items() if not source.needs))
    remedy = f"set it to a directory whose {MANIFEST} lists what is missing"
    remedy += f", or choose data that are generated: {', '.join(free)}" if free else ""
    return DataFileError(VARIABLE, f"found no data set {missing}", remedy)


@contextmanager
def _interrupts() -> Iterator[Callable[[], None]]:
    """Yield a check that raises KeyboardInterrupt after a Ctrl-C, also after one that a fit took as its end."""
    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if callable(before):
            before(number, frame)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    if callable(before):
        signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


def _read_tried(store: Store) -> Costs:
    """Read what took longer than its limit, which is the least that it takes."""
    return Costs.read(store.tried) if store.tried.exists() else Costs({})


def _try_once(task: Task, store: Store, seconds: float = LIMIT) -> Trial | Failure:
    """Measure in a process of its own, which is ended after so many seconds; that it was is kept."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "reproduction", task.experiment.paper, task.experiment.table]
        command += ["--data", task.row, "--method", task.column, "--splits", "1"]
        command += ["--random-state", str(task.random_state), "--cells", folder]
        try:
            subprocess.run(
                command, cwd=Path(__file__).parents[1], timeout=seconds, capture_output=True, text=True, check=True
            )
        except subprocess.TimeoutExpired:
            _read_tried(store).updated(Costs({task.key[:4]: seconds})).write(store.tried)
            return Failure(str(task), f"it takes longer than {seconds:g} s, and is not tried again in little time")
        except subprocess.CalledProcessError as error:
            return Failure(str(task), error.stderr.strip())
        trial = Store(Path(folder)).read(task.experiment, task.row, task.column, task.split, task.random_state)
    return Failure(str(task), "it was not measured") if trial is None else trial


def _run_here(
    tasks: Iterable[Task], store: Store, limited: Collection[tuple[Any, ...]] = ()
) -> Iterator[Trial | Failure]:
    """Measure in this process, one trial after the other, but those that are limited."""
    with _interrupts() as check:
        for task in tasks:
            trial = _try_once(task, store) if task.key in limited else task.attempt()
            check()
            if isinstance(trial, Trial):
                store.write(task.experiment, trial)
            yield trial


def _measure_and_keep(task: Task, store: Store, limited: bool = False) -> Trial | Failure:
    # a fit takes an interrupt for its end, and would hand over what it has: it is for the process that started this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    trial = _try_once(task, store) if limited else task.attempt()
    if isinstance(trial, Trial):
        store.write(task.experiment, trial)
    return trial


def cells(
    experiment: Experiment,
    *,
    data: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    splits: int = 20,
    random_state: int = 0,
    watch: Callable[[Trial], object] = lambda _trial: None,
) -> Iterator[Cell]:
    """Measure an experiment in this process, and keep nothing.

    Parameters
    ----------
    experiment : Experiment
        The table.
    data, methods : iterable of str, optional
        Some of its rows and columns, in the order of the experiment; all by default.
    splits : int
        At least 1; data with a test part of their own have one split.
    random_state : int
        Seed, 0 or above.
    watch : callable
        Called with every trial.

    Returns
    -------
    iterator of Cell
        Data set by data set, each as it is done; arguments are checked before that.

    Raises
    ------
    InvalidInput
        A name that the experiment does not have, or numbers that are none.
    DataFileError
        Data sets that are not in the data directory; the error says which need none.

    Examples
    --------
    >>> from reproduction import experiment_of
    >>> [cell] = cells(experiment_of("ll08", "table2"), data=["twonorm"], methods=["SVM-Stump"], splits=2)
    >>> cell.published.value, 2 < cell.mean < 4
    (2.86, True)
    """
    tasks, lacking = tasks_of([experiment], data=data, methods=methods, splits=splits, random_state=random_state)
    if lacking:
        raise _lacks(lacking, [experiment])

    def measure(tasks: Iterable[Task]) -> Cell:
        trials = []
        for task in tasks:
            trials.append(task.measure())
            watch(trials[-1])
        return Cell.from_trials(trials, experiment)

    return (measure(of_cell) for _, of_cell in groupby(tasks, lambda task: (task.row, task.column)))


def draw_split(source: Source, number: int, random_state: int = 0) -> Split:
    """Return the split of a number."""
    return _open(source)(number, np.random.default_rng([random_state, number]))


@cache
@cache
def _versions() -> Mapping[str, str]:
    libraries = {library.__name__: library.__version__ for library in (np, scipy, sklearn)}
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"]
    git = subprocess.run(asked, capture_output=True, text=True, check=False) if shutil.which("git") else None
    commit = {"commit": git.stdout.strip()} if git and git.returncode == 0 else {}
    return {"python": platform.python_version(), "cvxens": __version__, **commit, **libraries}


@lru_cache(maxsize=8)
def _open(source: Source) -> Draw:
    """Open a source, which may take long, once for several splits."""
    return source.open()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep compiled loops and linear algebra to one thread: on small samples several take longer than the work."""
    with limit_threads(1), threadpool_limits(1):
        yield


def _choose(argument: str, names: Iterable[str] | None, known: Iterable[str]) -> Collection[str]:
    """Return the names, all that are known for None."""
    known = dict.fromkeys(known)
    chosen = known if names is None else set(names)
    if unknown := sorted(set(chosen).difference(known)):
        raise InvalidInput(argument, f"found {', '.join(map(repr, unknown))}", f"name some of {', '.join(known)}")
    if not chosen:
        raise InvalidInput(argument, "found no name", f"name some of {', '.join(known)}")
    return chosen
