"""Checkpoints: what the oracle answered, round by round, and the incumbents, in one file that is never half written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cvxens import validation
from cvxens.errors import DataFileError
from cvxens.storage import FileKind, check_place, qualified_name

FILE = FileKind("checkpoint", 3, "restore it, or remove it to start anew")


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
        """Whether to write, so many rounds and seconds after the last time."""
        return seconds >= self.every_seconds or (self.every_rounds is not None and rounds >= self.every_rounds)


@dataclass(frozen=True)
class Saved:
    """What a file holds.

    Parameters
    ----------
    identity : mapping of str to str
        What the run is of: a digest or a name for each part.
    calls : sequence of str
        JSON for every answer of the oracle.
    state : mapping
        What JSON says in numbers: the history, the incumbents' objectives, the generators' states.
    arrays : dict of str to ndarray
        The incumbents' arrays.
    """

    identity: Mapping[str, str]
    calls: Sequence[str]
    state: Mapping[str, Any]
    arrays: dict[str, Any]

    def write(self, path: Path) -> None:
        """Replace the file; whatever happens, what is there is the last state or this one, and whole."""
        calls = np.frombuffer("\n".join(self.calls).encode(), np.uint8)
        FILE.write(path, {"identity": self.identity, "state": self.state}, {"calls": calls, **self.arrays})

    @classmethod
    def read(cls, path: Path) -> Saved:
        """Read a file, if it is whole.

        Raises
        ------
        DataFileError
            It cannot be read, is no checkpoint, of another version, truncated or damaged.
        """
        header, arrays = FILE.read(path)
        return cls(calls=arrays.pop("calls").tobytes().decode().split("\n"), arrays=arrays, **header)


def refused(found: str) -> DataFileError:
    """The error for a file of another run."""
    return DataFileError(
        "checkpoint",
        f"found the file of a run with {found}",
        "give what that run was given, name another file, or remove this one to start anew",
    )


def digest(value: Any) -> str:
    """A number for the content of plain values, arrays, sparse matrices and dataclasses; of others, for the type.

    Examples
    --------
    >>> digest((1.0, np.arange(3))) == digest((1.0, np.arange(3))) != digest((1.0, np.arange(4)))
    True
    """
    hashed = hashlib.blake2b(digest_size=16)
    _feed(hashed, value)
    return hashed.hexdigest()


def _feed(hashed: Any, value: Any) -> None:
    match value:
        case None | bool() | int() | float() | str():
            hashed.update(f"{type(value).__name__} {value!r};".encode())
        case np.ndarray() if value.dtype.kind in "biuf":
            hashed.update(f"{value.dtype.str} {value.shape};".encode())
            hashed.update(np.ascontiguousarray(value).ravel().view(np.uint8).data)
        case tuple() | list():
            _feed(hashed, len(value))
            for part in value:
                _feed(hashed, part)
        case _ if issparse(value):
            columns = value.tocsc()
            _feed(hashed, (value.shape, columns.data, columns.indices, columns.indptr))
        case _ if is_dataclass(value):
            _feed(hashed, (qualified_name(type(value)), *(getattr(value, field.name) for field in fields(value))))
        case _:
            hashed.update(qualified_name(value if hasattr(value, "__qualname__") else type(value)).encode())
