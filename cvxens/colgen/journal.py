"""Journals: what of a run is written down, and what a run finds written."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cvxens.colgen.checkpoint import Checkpoint, Saved, digest, refused
from cvxens.colgen.driver import Step
from cvxens.colgen.progress import Progress, Round
from cvxens.colgen.protocols import Column, Hypothesis, Master, MasterSolution, Oracle, Priced
from cvxens.colgen.restricted import intercept_of
from cvxens.colgen.stabilisation import unsmoothed
from cvxens.colgen.stopping import Ending, Limits, relative_gap
from cvxens.colgen.tape import Tape
from cvxens.deadline import check_time
from cvxens.problems.formulation import Formulation
from cvxens.storage import qualified_name
from cvxens.types import Array

PARTS = ("w", "b", "u", "centred")
"""The arrays of an incumbent that are written down."""


class Journal(Protocol):
    """What a run asks instead of its oracle, tells of its progress, and is told of an earlier one's."""

    @property
    def price(self) -> Callable[..., Priced]:
        """The oracle's answer, or the one that it gave the earlier run."""

    sample: Any
    rows: Sequence[Round]
    """The history of the earlier run."""

    def done(self, limits: Limits) -> Ending | None:
        """Why the earlier run's last state is the last one under these limits too; None where it is not."""

    def restored(self, progress: Progress | None) -> Progress | None:
        """The earlier run's last state, where it can be had and is further than `progress`."""

    def keep(self, progress: Progress, ending: Ending | None) -> None:
        """Write down the progress if that is due."""


class Unwritten:
    """The journal of a run without a checkpoint.

    Parameters
    ----------
    oracle : Oracle
        Of the run.
    """

    def __init__(self, oracle: Oracle) -> None:
        self.price: Callable[..., Priced] = oracle.price
        self.sample: Any = oracle.sample
        self.rows: Sequence[Round] = ()

    def done(self, limits: Limits) -> Ending | None:
        """Nothing is."""
        return None

    def restored(self, progress: Progress | None) -> Progress | None:
        """There was no earlier run."""
        return progress

    def keep(self, progress: Progress, ending: Ending | None) -> None:
        """Write nothing."""


@dataclass(frozen=True)
class Task:
    """What a run is of.

    Parameters
    ----------
    formulation : Formulation
        Loss and penalty.
    signs : ndarray of shape (n_samples,) or (n_samples, 1)
        Signs of the margins.
    master : Master
        Without columns.
    oracle : Oracle
        Prices hypotheses.
    start : tuple of Hypothesis
        What it starts with, each once.
    """

    formulation: Formulation
    signs: Array
    master: Master
    oracle: Oracle
    start: tuple[Hypothesis, ...] = ()

    def identity(self) -> dict[str, str]:
        """What can be told of it before it is run."""
        master, rules = unsmoothed(self.master)
        return {
            "formulation": digest(self.formulation),
            "labels": digest(self.signs),
            "master": qualified_name(type(master)),
            "stabilisation": digest(rules),
            "oracle": qualified_name(type(self.oracle)),
            "start": digest(self.start),
        }


class Written:
    """The journal of a run with a checkpoint.

    Parameters
    ----------
    checkpoint : Checkpoint
        Where to and how often.
    task : Task
        What the run is of.

    Raises
    ------
    DataFileError
        The file is there, and is not one that this run wrote.
    """

    def __init__(self, checkpoint: Checkpoint, task: Task) -> None:
        self.checkpoint = checkpoint
        self.path = Path(checkpoint.path)
        self.task = task
        self.identity = task.identity()
        self.saved = Saved.read(self.path) if self.path.exists() else None
        if self.saved and (others := [k for k, own in self.identity.items() if self.saved.identity[k] != own]):
            raise refused(f"another {' and '.join(others)}")
        self.rows: Sequence[Round] = tuple(Round(*row) for row in self.saved.state["history"]) if self.saved else ()
        self.tape = (
            Tape(task.oracle, self.saved.calls, self.saved.state["generators"]) if self.saved else Tape(task.oracle)
        )
        self.sample: Any = task.oracle.sample
        self.kept_rounds = len(self.rows)
        self.kept_at = time.perf_counter()

    def price(self, s: Array, /, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Write down no answer to multipliers of a master that was cut short: it would not find them again."""
        check_time()
        return self.tape.price(s, exclude)

    def done(self, limits: Limits) -> Ending | None:
        """Go through the history; the state is the last one if no earlier one reaches a limit, and it does."""
        sense, best = self.task.formulation.sense, inf
        for count, row in enumerate(self.rows, start=1):
            best, bound = min(best, sense * row.objective), sense * row.dual_bound
            if row.rounding is None and relative_gap(best, bound) <= limits.tol:
                # what rounding adds to the gap was not asked for under a smaller tol: take the way again to see
                return None
            rounding, rows = partial(float, row.rounding or 0.0), self.rows[:count]
            ending = limits.reached(best, bound, row.n_columns, 0.0, rounding=rounding, rows=rows, sense=sense)
            if ending is not None:
                return ending if row is self.rows[-1] else None
        # without a feasible point, the last multipliers may be the proof that there is none: take the way again
        return Ending.EXHAUSTED if self.saved and self.saved.state["exhausted"] and isfinite(best) else None

    def restored(self, progress: Progress | None) -> Progress | None:
        """Read the incumbents; the first answer must have been given, as the sample comes with it."""
        known = len(progress.history) if progress else 0
        if self.saved is None or not self.tape.answers or known >= len(self.rows):
            return progress
        state, arrays = self.saved.state, self.saved.arrays
        answers = [self.tape.read(call) for call in self.saved.calls]
        found = [column for priced in answers for column in priced.columns]
        found += [Column(hypothesis, self.sample, 0.0) for hypothesis in self.task.start]
        columns = tuple(found[k] for k in arrays["columns"].tolist())
        objective, bound = state["incumbents"]
        edge_bound, edge_square_sum = state["dual_edges"]
        priced = replace(answers[state["dual_call"]], edge_bound=edge_bound, edge_square_sum=edge_square_sum)
        primal = Step(self._solution("primal", objective), Priced(()), -inf, columns, 0.0, 0.0)
        dual = Step(self._solution("dual", inf), priced, bound, (), 0.0, 0.0)
        return Progress(self.task.formulation.sense, primal, dual, tuple(self.rows))

    def _solution(self, name: str, objective: float) -> MasterSolution:
        arrays: Any = self.saved and self.saved.arrays
        w, b, u, centred = (arrays[f"{name}_{part}"] for part in PARTS)
        return MasterSolution(w, b, u, self.task.signs * u, objective, np.nan, centred=centred)

    def keep(self, progress: Progress, ending: Ending | None) -> None:
        """Write after the first round, when a period is over, and at the end; not while an earlier run is ahead."""
        rounds, exhausted = len(progress.history), ending is Ending.EXHAUSTED
        news = rounds - self.kept_rounds
        if self.tape.playing or (news <= 0 and not exhausted):
            return
        if ending is not None or rounds == 1 or self.checkpoint.due(news, time.perf_counter() - self.kept_at):
            self._state(progress, exhausted).write(self.path)
            self.kept_rounds, self.kept_at = rounds, time.perf_counter()

    def _state(self, progress: Progress, exhausted: bool) -> Saved:
        primal, dual = progress.primal, progress.dual
        columns = [column for priced in self.tape.answers for column in priced.columns]
        numbers = {id(column): k for k, column in enumerate(columns)}
        started = {hypothesis: k for k, hypothesis in enumerate(self.task.start, start=len(columns))}
        state = {
            "history": [astuple(row) for row in progress.history],
            "generators": [self.tape.before, self.tape.after],
            "incumbents": [float(primal.solution.objective), float(dual.bound)],
            "dual_call": next(k for k, p in enumerate(self.tape.answers) if p.columns is dual.priced.columns),
            "dual_edges": [float(dual.priced.edge_bound), float(dual.priced.edge_square_sum)],
            "exhausted": exhausted,
        }
        arrays = {
            f"{name}_{part}": np.asarray(value)
            for name, step in (("primal", primal), ("dual", dual))
            for part, value in zip(
                PARTS, (step.solution.w, step.solution.b, step.solution.u, intercept_of(step.solution)), strict=True
            )
        }
        places = [numbers[id(c)] if id(c) in numbers else started[c.hypothesis] for c in primal.columns]
        arrays["columns"] = np.array(places, dtype=np.int64)
        return Saved(self.identity, self.tape.calls, state, arrays)
