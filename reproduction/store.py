"""Trials on disk: one JSON file each, whole or told of, so that an experiment goes on where it was left."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from cvxens.errors import DataFileError
from reproduction.experiment import Experiment, Trial
from reproduction.methods import Proof

VERSION = 1
"""Of the format; files of another are measured anew."""

PLAIN = re.compile(r"[^A-Za-z0-9.+-]+")


@dataclass(frozen=True)
class Store:
    """A directory of trials.

    Examples
    --------
    >>> from reproduction import experiment_of
    >>> store = Store(Path("reproduction/trials"))
    >>> store.path(experiment_of("ll08", "table2"), "heart", "SVM-Stump", split=3).as_posix()
    'reproduction/trials/ll08/tables/heart/SVM-Stump/0-0003.json'
    """

    directory: Path

    def path(self, experiment: Experiment, row: str, column: str, split: int, random_state: int = 0) -> Path:
        """Return where a trial is kept, whether it is there or not."""
        names = [PLAIN.sub("_", name) for name in (*experiment.place, row, column)]
        return self.directory.joinpath(*names, f"{random_state}-{split:04d}.json")

    def read(self, experiment: Experiment, row: str, column: str, split: int, random_state: int = 0) -> Trial | None:
        """Read a trial; None if there is none.

        Raises
        ------
        DataFileError
            The file is damaged, of another format, or of another protocol than the experiment has now.
        """
        path = self.path(experiment, row, column, split, random_state)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _error(path, f"that it cannot be read ({error})") from error
        trial = parse(path, text)
        if trial.key != (*experiment.place, row, column, split, random_state):
            raise _error(path, f"a trial of {trial.key}")
        if trial.protocol != experiment.protocol_of(row, column):
            raise _error(path, "what was measured by another protocol")
        return trial

    def trials(self, experiment: Experiment, random_state: int = 0) -> Iterator[Trial]:
        """Read all trials of an experiment that are whole, in the order of its rows, columns and splits."""
        for row in experiment.rows:
            for column in experiment.columns:
                folder = self.path(experiment, row, column, 0, random_state).parent
                for path in sorted(folder.glob(f"{random_state}-*.json")):
                    try:
                        trial = self.read(experiment, row, column, int(path.stem.rpartition("-")[2]), random_state)
                    except DataFileError:
                        # whoever measures tells of it, and measures it anew
                        continue
                    if trial is not None:
                        yield trial

    def write(self, experiment: Experiment, trial: Trial) -> Path:
        """Replace the file of a trial; whatever happens, the old file or the new one is there, whole."""
        path = self.path(experiment, trial.row, trial.column, trial.split, trial.random_state)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with partial.open("wb") as file:
                    file.write(spell_out(trial))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(partial, path)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            raise _error(path, f"that it cannot be written ({error})", "make room, or name another place") from error
        return path


def spell_out(trial: Trial) -> bytes:
    """Return the JSON of a trial, which proves itself whole by the SHA-256 of all else in it."""
    content = {"version": VERSION, **asdict(trial)}
    return json.dumps({**content, "sha256": _digest(content)}, indent=1, allow_nan=False).encode()


def parse(path: Path, text: bytes) -> Trial:
    """Read the JSON of a trial; `DataFileError` if it is not whole."""
    try:
        content = json.loads(text)
        known, digest = content.pop("version"), content.pop("sha256")
        whole = digest == _digest({"version": known, **content})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _error(path, f"no trial in it ({error!r:.100})") from error
    if not whole or known != VERSION or content.keys() != {each.name for each in fields(Trial)}:
        raise _error(path, "a file that is damaged, or of another version")
    return Trial(**content | {"proofs": tuple(Proof(**proof) for proof in content["proofs"])})


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _error(path: Path, found: str, remedy: str = "it is measured anew") -> DataFileError:
    return DataFileError(str(path), f"found {found}", remedy)
