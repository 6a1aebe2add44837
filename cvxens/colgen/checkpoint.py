"""Checkpoints: the hypotheses that a run has found and its best point, in one file that is never half written.

Nothing in the file is believed. A run that finds it takes its hypotheses into the master at once, evaluates its point
on the problem that it was given, and asks the oracle for a bound from its multipliers: where these are not the values
of the file, that is of another run. The states of an oracle's generators are in it too: new draws follow old ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, is_dataclass
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

from cvxens import validation
from cvxens.certificates import Round
from cvxens.colgen.protocols import Incumbent, Oracle
from cvxens.colgen.restricted import intercept_of
from cvxens.errors import DataFileError, InvalidInput, refusing
from cvxens.hypotheses import Hypothesis
from cvxens.storage import check_place, read_file, write_whole
from cvxens.types import Array

VERSION = 5
"""Of the format that is written; no other is read."""


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run writes down its state, so that it can be killed at any moment and resumed.

    A run that finds the file goes on from it: it has all its hypotheses, its best weights and its best multipliers. The
    values of these are evaluated anew, and a file is refused whose values are others, as it is of another formulation,
    of other labels, data or another oracle. A state that is within the limits of the new run already is returned at
    once, so a finished run that is started again costs one question to the oracle.

    The file holds hypotheses that are frozen dataclasses of numbers, strings, tuples and arrays, and of functions that
    the oracle's answers have too; any others are refused in the first round. It also has the states of the numpy
    Generators that an oracle keeps in its attributes.

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
    """The state of a run, as its file has it."""

    history: tuple[Round, ...]
    start: tuple[Hypothesis, ...]  # those that the run was given
    found: tuple[Hypothesis, ...]  # the oracle's, in the order of the master, then those that were to enter next
    point: Mapping[str, Array]  # w, b and u of the incumbent; empty where it has none, or no machine has all of u
    objective: float  # at w and b
    bound: float  # by u; -inf where it is none over all hypotheses

    def check(self, objective: float, bound: float) -> None:
        """Raise `DataFileError` if the point has another objective now, or a lower bound."""
        # some values of expressions are a solver's
        slack = 1e-6 * abs(self.objective)
        for name, now, then in (("objective", objective, self.objective), ("bound", bound, self.bound)):
            if now < then - slack or (name == "objective" and now > then + slack):
                what = f"another formulation, sample or oracle: the {name} at its point is {now:g} here, not {then:g}"
                raise mismatch_error(what)


class Keeper:
    """Reads and writes the file of one run."""

    def __init__(self, checkpoint: Checkpoint, oracle: Oracle, start: Sequence[Hypothesis]) -> None:
        self.checkpoint, self.path, self.oracle = checkpoint, Path(checkpoint.path), oracle
        self._functions: dict[str, Any] = {}
        """By their names, the functions that hypotheses refer to."""
        self._written: dict[Hypothesis, Any] = {}
        for hypothesis in start:
            self._write(hypothesis)
        self._n_rounds, self._saved_at = 0, time.perf_counter()

    def read(self) -> Saved | None:
        """Return the state in the file, and give the oracle's generators theirs; None where there is no file."""
        if not self.path.exists():
            return None
        state = read_record(self.path)
        try:
            if not self._functions.keys() >= set(state["functions"]):
                # they are at hand where the oracle answers with them
                for column in self.oracle.price(np.zeros(state["shape"])).columns:
                    self._write(column.hypothesis)
            for generator, written in zip(_find_generators(self.oracle), state["generators"], strict=True):
                generator.bit_generator.state = decode(written, {})
            hypotheses = tuple(decode(written, self._functions) for written in state["hypotheses"])
            point = {name: decode(written, {}) for name, written in state["point"].items()}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise mismatch_error(f"another oracle ({error})") from error
        self._n_rounds = len(state["history"])
        history = tuple(Round(*row) for row in state["history"])
        start, found = hypotheses[: state["start"]], hypotheses[state["start"] :]
        return Saved(history, start, found, point, state["objective"], state["bound"])

    def save(
        self,
        history: Sequence[Round],
        incumbent: Incumbent,
        hypotheses: Sequence[Hypothesis],
        n_start: int,
        *,
        at_once: bool,
    ) -> None:
        """Write after the first round, when a period is over, and at the end, if there is anything new.

        The first hypotheses are those of the start.
        """
        written = [self._write(hypothesis) for hypothesis in hypotheses]
        n_new, seconds = len(history) - self._n_rounds, time.perf_counter() - self._saved_at
        if not n_new or not (at_once or len(history) == 1 or self.checkpoint.due(n_new, seconds)):
            return
        solution, u = incumbent.solution, incumbent.u
        is_here = isinstance(u, np.ndarray)
        has_point = is_here and len(solution.w) > 0 and solution.objective < inf
        point = {"w": solution.w, "b": intercept_of(solution), "u": u} if has_point else {}
        state = {
            "history": [astuple(row) for row in history],
            "hypotheses": written,
            "start": n_start,
            "functions": list(self._functions),
            "shape": u.shape if is_here else (),
            "generators": [encode(each.bit_generator.state, {}) for each in _find_generators(self.oracle)],
            "point": {name: encode(np.asarray(value), {}) for name, value in point.items()},
            "objective": float(solution.objective),
            "bound": float(incumbent.bound) if incumbent.bounded else -inf,
        }
        write_record(self.path, state)
        self._n_rounds, self._saved_at = len(history), time.perf_counter()

    def _write(self, hypothesis: Hypothesis) -> Any:
        """Return JSON for a hypothesis from which it can be read again."""
        if hypothesis not in self._written:
            try:
                written, value = encode(hypothesis, self._functions), cast(Any, hypothesis)
                is_same = is_dataclass(value) and decode(written, self._functions) == hypothesis
                why = "" if is_same else "it is no dataclass that equals one of the same fields"
            except TypeError as error:
                why = str(error)
            if why:
                found = f"found the hypothesis {type(hypothesis).__name__}, which a file cannot hold: {why}"
                remedy = "run without a checkpoint, or make hypotheses frozen dataclasses of numbers, strings, tuples"
                raise InvalidInput("checkpoint", found, remedy)
            self._written[hypothesis] = written
        return self._written[hypothesis]


def mismatch_error(found: str) -> DataFileError:
    """Return the error about a file of another run."""
    remedy = "give what that run was given, name another file, or remove this one to start anew"
    return DataFileError("checkpoint", f"found the file of a run with {found}", remedy)


def _find_generators(part: object) -> Iterator[np.random.Generator]:
    """Yield the generators in an oracle's attributes, and in those of the oracles there."""
    match part:
        case np.random.Generator():
            yield part
        case list() | tuple():
            for item in part:
                yield from _find_generators(item)
        case _ if hasattr(part, "price"):
            for item in getattr(part, "__dict__", {}).values():
                yield from _find_generators(item)


def encode(value: object, functions: dict[str, Any]) -> Any:
    """Turn numbers, strings, tuples, dicts, arrays, and dataclasses and named tuples of such into JSON.

    Of a function there is the name, by which it is put into `functions`; TypeError for anything else.

    Examples
    --------
    >>> from cvxens.hypotheses import Stump
    >>> encode(Stump(0, 0.5, 1), {})
    {'record': 'cvxens.hypotheses:Stump', 'of': [0, 0.5, 1, 0]}
    >>> decode(encode((Stump(0, 0.5, 1), inf), {}), {})[1]
    inf
    """

    def write(parts: Iterable[Any]) -> list[Any]:
        return [encode(part, functions) for part in parts]

    match value:
        case np.generic() if value.dtype.kind in "biufU":
            return value.item()
        case None | bool() | int() | str() | float():
            return value
        case np.ndarray() if value.dtype.kind in "biufU":
            return {"array": value.ravel().tolist(), "dtype": value.dtype.str, "shape": value.shape}
        case tuple() if hasattr(value, "_fields"):
            return {"record": qualified_name(type(value)), "of": write(value)}
        case tuple():
            return {"tuple": write(value)}
        case dict():
            return {"dict": [write(pair) for pair in value.items()]}
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {"record": qualified_name(type(value)), "of": write(getattr(value, f.name) for f in fields(value))}
        case _ if callable(value) and hasattr(value, "__qualname__"):
            name = qualified_name(value)
            if functions.setdefault(name, value) is not value:
                raise TypeError(f"there are two functions of the name {name}")
            return {"function": name}
    raise TypeError(f"{type(value).__name__} is not made of numbers, strings, tuples and arrays")


def decode(written: object, functions: Mapping[str, Any]) -> Any:
    """Turn what `encode` wrote back into the value; KeyError, TypeError or ValueError for anything else."""
    match written:
        case {"array": list(parts), "dtype": str(dtype), "shape": list(shape) | tuple(shape)}:
            return np.array(parts, dtype).reshape(shape)
        case {"record": str(name), "of": list(parts)}:
            return find_record(name)(*(decode(part, functions) for part in parts))
        case {"tuple": list(parts)}:
            return tuple(decode(part, functions) for part in parts)
        case {"dict": list(pairs)}:
            return {decode(name, functions): decode(part, functions) for name, part in pairs}
        case {"function": str(name)}:
            return functions[name]
        case None | bool() | int() | str() | float():
            return written
    raise TypeError(f"{written!r:.100} stands for nothing")


def qualified_name(thing: Any) -> str:
    """Return the module of a class or function and its name there."""
    return f"{thing.__module__}:{thing.__qualname__}"


def find_record(name: str) -> type:
    """Return the dataclass or named tuple of a qualified name; TypeError if no module that is loaded has it."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if isinstance(found, type | ModuleType) else None
    if isinstance(found, type) and (is_dataclass(found) or issubclass(found, tuple)) and qualified_name(found) == name:
        return found
    raise TypeError(f"{name} is not a dataclass at the top of a loaded module")


def write_record(path: Path, state: Mapping[str, Any]) -> None:
    """Replace the file by a line with its kind, version and SHA-256, and JSON; `DataFileError` if it cannot be."""
    content = json.dumps(state).encode()
    write_whole("checkpoint", path, b"cvxens checkpoint %d %b\n" % (VERSION, _digest(content)) + content)


def read_record(path: Path) -> Any:
    """Read what `write_record` wrote, if it is whole; `DataFileError` for anything else, none of which is run."""
    kinds = OSError, RecursionError, ValueError
    with refusing("checkpoint", f"found that {path} cannot be read", "name another file", kinds, raised=DataFileError):
        with path.open("rb") as file:
            head = file.read(99).partition(b"\n")[0] + b"\n"
        first = re.fullmatch(rb"cvxens checkpoint (\d{1,9}) ([0-9a-f]{64})\n", head)
        content = read_file(path).partition(b"\n")[2] if first else b""
    if first is None:
        raise DataFileError("checkpoint", f"found no checkpoint in {path}", "name another file")
    if int(first[1]) != VERSION:
        found = f"found version {int(first[1])} of the format in {path}"
        raise DataFileError("checkpoint", found, f"remove it to start anew; this release writes version {VERSION}")
    remedy = "restore it, or remove it to start anew"
    with refusing("checkpoint", f"found {path} truncated or damaged", remedy, kinds, raised=DataFileError):
        if _digest(content) != first[2]:
            raise ValueError("its SHA-256 is another one")
        return json.loads(content)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
