"""Checkpoints: what the oracle answered, round by round, and the incumbent, in one file that is never half written.

A run is a function of the oracle's answers, for everything else in it is deterministic. So a file that holds these lets
a later run take the identical way: `Recorder` stands between loop and oracle, plays recorded answers while the master
solves again, and records new ones. The incumbent is in the file too, so a run that is over need not be replayed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.sparse import issparse

from cvxens import validation
from cvxens.colgen.protocols import (
    Column,
    Hypothesis,
    Incumbent,
    Master,
    MasterSolution,
    Oracle,
    Priced,
    Round,
    has_negation,
    make_column,
    surely_has,
)
from cvxens.colgen.restricted import intercept_of
from cvxens.colgen.stabilisation import without_smoothing
from cvxens.errors import DataFileError, InvalidInput
from cvxens.limits import check_time
from cvxens.problems import DenseColumns, Formulation, Problem
from cvxens.problems.maps import ColumnMap
from cvxens.storage import Encoding, FileKind, check_place, nothing_else, qualified_name
from cvxens.types import Array

FILE = FileKind("checkpoint", 4, "restore it, or remove it to start anew")

PLAIN = Encoding(nothing_else, nothing_else)


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run writes down its state, so that it can be killed at any moment and resumed.

    A run that finds the file resumes from it and takes the identical way: the oracle's answers are read, the master
    solves again, warm-started as it was, and its multipliers are compared with those of the file at every round. A
    file of another formulation, of other labels, data, oracle, start, master or stabilisation is refused. A state that
    is within the limits of the new run already is returned at once, so a finished run that is started again costs one
    round.

    The file holds hypotheses that are frozen dataclasses of numbers, strings, tuples and arrays; any others are refused
    in the first round. It also has the states of the numpy Generators that an oracle keeps in its attributes.

    Parameters
    ----------
    path : str or path
        The file; it is replaced atomically, by way of a file ``.NAME.partial`` beside it.
    every_rounds : int or None
        Write after so many rounds; None for no such rule.
    every_seconds : float
        Write at the end of a round when so many seconds have passed since the last time; inf for no such rule.

    Raises
    ------
    InvalidInput
        `path` is a folder or in none, or the period is not positive.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from cvxens.colgen import column_generation, formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> with TemporaryDirectory() as folder:
    ...     kept = Checkpoint(f"{folder}/run.checkpoint")
    ...     for max_columns in (1, 2, None):
    ...         run = column_generation(
    ...             formulations.soft_margin(2.0), oracles.Stumps(X), y, max_columns=max_columns, checkpoint=kept
    ...         )
    ...         print(len(run.history), run.certificate.primal, run.ending.name)
    2 5.0 MAX_COLUMNS
    2 5.0 MAX_COLUMNS
    3 3.0 OPTIMAL
    """

    path: str | os.PathLike[str]
    every_rounds: int | None = None
    every_seconds: float = 60.0

    def __post_init__(self) -> None:
        check_place("path", self.path)
        if self.every_rounds is not None:
            validation.whole("every_rounds", self.every_rounds)
        validation.limit("every_seconds", self.every_seconds)

    def due(self, rounds: int, seconds: float) -> bool:
        """True if it is time to write, so many rounds and seconds after the last time."""
        return seconds >= self.every_seconds or (self.every_rounds is not None and rounds >= self.every_rounds)


@dataclass(frozen=True)
class Saved:
    """The content of a file."""

    identity: Mapping[str, str]  # a digest or a name for each part of the run
    calls: Sequence[str]  # JSON for every answer of the oracle
    state: Mapping[str, Any]  # numbers: the history, the incumbent's objective and bound, the generators' states
    arrays: dict[str, Any]  # the incumbent's

    def write(self, path: Path) -> None:
        """Replace the file; whatever happens, what is there is the last state or this one, and whole."""
        calls = np.frombuffer("\n".join(self.calls).encode(), np.uint8)
        FILE.write(path, {"identity": self.identity, "state": self.state}, {"calls": calls, **self.arrays})

    @classmethod
    def read(cls, path: Path) -> Saved:
        """Read a file; DataFileError if it is no checkpoint, of another version, truncated or damaged."""
        header, arrays = FILE.read(path)
        return cls(calls=arrays.pop("calls").tobytes().decode().split("\n"), arrays=arrays, **header)


class Recorder:
    """Sits between loop and oracle: plays recorded answers, records new ones, saves progress.

    The first answer is never played but asked for and compared. So it is known that oracle and sample are those of the
    recording, and functions that hypotheses refer to, which a file cannot hold, are at hand. A file that this run did
    not write raises DataFileError.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        formulation: Formulation,
        signs: Array,
        master: Master,
        oracle: Oracle,
        start: tuple[Hypothesis, ...],
    ) -> None:
        self.checkpoint, self.path = checkpoint, Path(checkpoint.path)
        self.oracle, self.sample, self.signs, self.start = oracle, oracle.sample, signs, start
        bare_master, rules = without_smoothing(master)
        self.identity = {
            "formulation": digest_formulation(formulation, signs),
            "labels": digest(signs),
            "master": qualified_name(type(bare_master)),
            "stabilisation": digest(rules),
            "oracle": qualified_name(type(oracle)),
            "start": digest(start),
        }
        self.saved = Saved.read(self.path) if self.path.exists() else None
        if self.saved and (others := [part for part, own in self.identity.items() if self.saved.identity[part] != own]):
            raise mismatch_error(f"another {' and '.join(others)}")
        self.recorded: Sequence[str] = self.saved.calls if self.saved else ()
        self.exhausted = bool(self.saved and self.saved.state["exhausted"])
        self.rows = tuple(Round(*row) for row in self.saved.state["history"]) if self.saved else ()
        self.calls: list[str] = []
        self.answers: list[Priced] = []
        self._samples: list[Any] = []
        self._functions: list[Any] = []
        self._encoding = Encoding(self._refer, self._functions.__getitem__)
        self._generators = list(_generators(oracle))
        if self.saved:
            # the first answer is asked for as the recorded run asked
            self._set_generators(self.saved.state["generators"][0])
        self._first_states = self._last_states = self._generator_states()
        self._saved_rounds, self._saved_at = len(self.rows), time.perf_counter()

    @property
    def negations(self) -> bool:
        """True if the oracle declares that with every h its set has -h."""
        return getattr(self.oracle, "negations", False)

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the oracle's set may have the negation of a hypothesis."""
        return has_negation(self.oracle, hypothesis)

    def has(self, hypothesis: Hypothesis) -> bool:
        """Return True if the oracle's set surely has the values of a hypothesis on the sample."""
        return surely_has(self.oracle, hypothesis)

    def price(self, s: Array, /, exclude: Collection[Hypothesis] = (), **options: Any) -> Priced:
        """Return the recorded answer, or the oracle's, and record that."""
        # multipliers of a master that was cut short are not found again, so no answer to them is recorded
        check_time()
        call = self.recorded[len(self.calls)] if self._is_playing and self.calls else None
        if call is None:
            priced = self.oracle.price(s, exclude=exclude, **options)
            call = self._write_answer(s, priced)
            if self._is_playing and call != self.recorded[0]:
                raise mismatch_error("another sample or oracle")
        elif json.loads(call)["asked"] != digest(s):
            raise mismatch_error(f"other multipliers from answer {len(self.calls) + 1} on")
        else:
            priced = self._read_answer(call)
        self.calls.append(call)
        self.answers.append(priced)
        if self.saved and len(self.calls) == len(self.recorded):
            self._set_generators(self.saved.state["generators"][1])
        self._last_states = self._generator_states()
        return priced

    @property
    def _is_playing(self) -> bool:
        """True while there are recorded answers that were not yet given again."""
        return len(self.calls) < len(self.recorded)

    def _write_answer(self, s: Array, priced: Priced) -> str:
        """JSON for an answer; the first one has digests of the samples."""
        columns = [[float(c.edge), self._sample_number(c), self._write_hypothesis(c)] for c in priced.columns]
        samples = [] if self.calls else [digest(sample) for sample in self._samples]
        known = (priced.edge_bound, priced.edge_square_sum, priced.outside_bound, priced.rising_square_sum)
        bounds = [float(bound) for bound in known]
        answer = {"columns": columns, "bounds": bounds, "distinct": bool(priced.distinct), "samples": samples}
        return json.dumps({"asked": digest(s), **answer})

    def _read_answer(self, call: str) -> Priced:
        written = json.loads(call)
        columns = [self._read_column(*column) for column in written["columns"]]
        edge_bound, square_sum, outside, *rising = written["bounds"]
        return Priced(columns, edge_bound, square_sum, outside, written["distinct"], *rising)

    def _read_column(self, edge: float, number: int, written: Any) -> Column:
        return make_column(self._encoding.read(written), self._samples[number], edge)

    def _sample_number(self, column: Column) -> int:
        for k, sample in enumerate(self._samples):
            if sample is column.sample:
                return k
        if self.calls:
            raise _unwritable_error(column, "its sample is none of the first round's")
        self._samples.append(column.sample)
        return len(self._samples) - 1

    def _write_hypothesis(self, column: Column) -> Any:
        """JSON for a hypothesis from which it can be read again."""
        hypothesis: Any = column.hypothesis
        try:
            written = self._encoding.write(hypothesis)
            again = self._encoding.read(written)
        except (TypeError, IndexError) as error:
            raise _unwritable_error(column, str(error)) from None
        if not is_dataclass(hypothesis) or again != hypothesis:
            raise _unwritable_error(column, "it is no dataclass that equals one of the same fields")
        return written

    def _refer(self, value: Any) -> int:
        """Return the number of a function that hypotheses refer to; all of them appear in the first round."""
        if not callable(value):
            nothing_else(value)
        if value not in self._functions:
            if self.calls:
                raise TypeError(f"{value!r} is no function of the first round's")
            self._functions.append(value)
        return self._functions.index(value)

    def _generator_states(self) -> list[Any]:
        return [PLAIN.write(generator.bit_generator.state) for generator in self._generators]

    def _set_generators(self, states: Sequence[Any]) -> None:
        if len(states) != len(self._generators):
            raise mismatch_error("another oracle")
        for generator, state in zip(self._generators, states, strict=True):
            generator.bit_generator.state = PLAIN.read(state)

    @property
    def can_restore(self) -> bool:
        """True if there is a recorded incumbent and the first answer has shown that it is this run's."""
        return self.saved is not None and bool(self.answers)

    def incumbent(self) -> Incumbent:
        """Return the recorded run's incumbent; the threshold and edges of its solution are not recorded."""
        assert self.saved is not None
        state, arrays = self.saved.state, self.saved.arrays
        answers = [self._read_answer(call) for call in self.saved.calls]
        found = [column for priced in answers for column in priced.columns]
        found += [make_column(hypothesis, self.sample, 0.0) for hypothesis in self.start]
        edge_bound, edge_square_sum = state["dual_edges"]
        priced = replace(answers[state["dual_call"]], edge_bound=edge_bound, edge_square_sum=edge_square_sum)
        w, b, centred = (arrays[name] for name in ("w", "b", "centred"))
        u, dual_u = self._unpack(arrays["master_u"]), self._unpack(arrays["u"])
        s = u if hasattr(self.signs, "unpack") else self.signs * u
        solution = MasterSolution(w, b, u, s, state["objective"], np.nan, centred=centred)
        columns = tuple(found[k] for k in arrays["columns"].tolist())
        return Incumbent(columns, solution, state["bound"], dual_u, priced)

    def _unpack(self, u: Array) -> Any:
        """Return multipliers as they were; where no machine has those of all samples, the signs know the way back."""
        unpack = getattr(self.signs, "unpack", None)
        return u if unpack is None else unpack(u)

    def save(self, history: Sequence[Round], incumbent: Incumbent, *, at_once: bool, exhausted: bool) -> None:
        """Write after the first round, when a period is over, and at the end; not while the recorded run is ahead."""
        new_rounds, now = len(history) - self._saved_rounds, time.perf_counter()
        # a first round that was cut may have no answer
        if self._is_playing or not self.answers or (new_rounds <= 0 and not exhausted):
            return
        if at_once or len(history) == 1 or self.checkpoint.due(new_rounds, now - self._saved_at):
            self._content(history, incumbent, exhausted).write(self.path)
            self._saved_rounds, self._saved_at = len(history), time.perf_counter()

    def _content(self, history: Sequence[Round], incumbent: Incumbent, exhausted: bool) -> Saved:
        solution, priced = incumbent.solution, incumbent.priced
        # columns are numbered in the order of the answers, those of the start come last
        columns = [column for answer in self.answers for column in answer.columns]
        number_of = {id(column): k for k, column in enumerate(columns)}
        start_number_of = {hypothesis: k for k, hypothesis in enumerate(self.start, start=len(columns))}
        numbers = [number_of[id(c)] if id(c) in number_of else start_number_of[c.hypothesis] for c in incumbent.columns]
        state = {
            "history": [astuple(row) for row in history],
            "generators": [self._first_states, self._last_states],
            "objective": float(solution.objective),
            "bound": float(incumbent.bound),
            "dual_call": next(k for k, answer in enumerate(self.answers) if answer.columns is priced.columns),
            "dual_edges": [float(priced.edge_bound), float(priced.edge_square_sum)],
            "exhausted": exhausted,
        }
        arrays = {
            "w": solution.w,
            "b": solution.b,
            "centred": intercept_of(solution),
            "master_u": solution.u,
            "u": incumbent.u,
            "columns": np.array(numbers, dtype=np.int64),
        }
        return Saved(self.identity, self.calls, state, {name: np.asarray(value) for name, value in arrays.items()})


def mismatch_error(found: str) -> DataFileError:
    """Return the error about a file of another run."""
    return DataFileError(
        "checkpoint",
        f"found the file of a run with {found}",
        "give what that run was given, name another file, or remove this one to start anew",
    )


def _unwritable_error(column: Column, why: str) -> InvalidInput:
    return InvalidInput(
        "checkpoint",
        f"found the hypothesis {type(column.hypothesis).__name__}, which a file cannot hold: {why}",
        "run without a checkpoint, or make hypotheses frozen dataclasses of numbers, strings, tuples and arrays",
    )


def _generators(part: Any) -> Iterator[np.random.Generator]:
    """Yield the generators in an oracle's attributes, and in those of the oracles there."""
    match part:
        case np.random.Generator():
            yield part
        case list() | tuple():
            for item in part:
                yield from _generators(item)
        case _ if hasattr(part, "price"):
            for item in getattr(part, "__dict__", {}).values():
                yield from _generators(item)


def digest_formulation(formulation: Formulation, signs: Array) -> str:
    """Return a text that tells a formulation on a sample from others.

    Of functions `digest` knows the names only, and every lambda has the same. So where a part is a user's own, what
    counts is what cvxpy makes of the problem over two columns: the matrices of its conic form.
    """
    if not formulation.own_parts:
        return digest(formulation)
    H = np.ones((len(signs), 2))
    H[::2, 1] = -1.0
    data = Problem(formulation, ColumnMap(DenseColumns(H)), signs).problem.get_problem_data("CLARABEL")[0]
    form = (*(data.get(name) for name in ("P", "A", "b", "c")), str(data["dims"]))
    rest = tuple(
        getattr(formulation, each.name) for each in fields(formulation) if each.name not in formulation.own_parts
    )
    return digest((form, rest))


def digest(value: Any) -> str:
    """Return a text that tells the content of plain values, arrays, sparse matrices and dataclasses from others.

    Of anything else, such as a function, it has the name only. `joblib.hash` alone would not do: it tells equal tuples
    that share an element from those that do not, and refuses functions without a module.

    Examples
    --------
    >>> digest((1.0, np.arange(3))) == digest((1.0, np.arange(3))) != digest((1.0, np.arange(4)))
    True
    """

    def refer(other: Any) -> Any:
        if issparse(other):
            columns = other.tocsc()
            return encoding.write((type(other).__name__, other.shape, columns.data, columns.indices, columns.indptr))
        return qualified_name(other if hasattr(other, "__qualname__") else type(other))

    encoding = Encoding(refer, nothing_else, arrays={})
    written = encoding.write(value)
    # of equal arrays in another memory order the hash would be another one
    arrays = [[a.shape, joblib.hash(np.ascontiguousarray(a))] for a in (encoding.arrays or {}).values()]
    return str(joblib.hash(json.dumps([written, arrays])))
