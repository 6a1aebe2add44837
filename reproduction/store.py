"""Trials on disk, whole or told of, so that an experiment goes on where it was left.

While it is measured a trial is a JSON file of its own; `collect` moves these into one compressed table a paper, which
the repository has.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from cvxens.errors import DataFileError
from cvxens.storage import write_whole
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
    # the tables that were read, by paper
    _tables: dict[str, dict[tuple[Any, ...], Trial]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def tried(self) -> Path:
        """Where cells are kept that took longer than the limit for what has no known time."""
        return self.directory / "tried.tsv"

    def table_path(self, paper: str) -> Path:
        """Return where the table of a paper's trials is kept, whether it is there or not."""
        return self.directory / f"{PLAIN.sub('_', paper)}.jsonl.gz"

    def table(self, paper: str) -> dict[tuple[Any, ...], Trial]:
        """Return the trials of a paper's table by their keys; none where there is no table.

        Raises
        ------
        DataFileError
            The table is damaged, or cannot be read.
        """
        if paper not in self._tables:
            path = self.table_path(paper)
            try:
                lines = gzip.decompress(path.read_bytes()).splitlines()
            except FileNotFoundError:
                lines = []
            except (OSError, EOFError, ValueError) as error:
                raise _error(path, f"a table that is damaged ({error})", "restore it, or remove it") from error
            found = [parse(path, line) for line in lines]
            self._tables[paper] = {trial.key: trial for trial in found}
        return self._tables[paper]

    def collect(self) -> int:
        """Move the trials that have files of their own into the tables of their papers; returns their number.

        A table is replaced as a whole before the files go, so that a kill loses none. Tables of the same trials are the
        same bytes.
        """
        moved: dict[str, list[tuple[Path, Trial]]] = {}
        for path in sorted(self.directory.glob("*/**/*.json")):
            try:
                trial = parse(path, path.read_bytes())
            except DataFileError:
                continue  # it is told of where it is measured anew
            moved.setdefault(trial.paper, []).append((path, trial))
        for paper, found in moved.items():
            self._tables.pop(paper, None)
            table = self.table(paper) | {trial.key: trial for _, trial in found}
            lines = b"".join(spell_out(table[key], indent=None) + b"\n" for key in sorted(table))
            _replace(self.table_path(paper), gzip.compress(lines, mtime=0))
            self._tables[paper] = table
            for path, _ in found:
                path.unlink()
        return sum(map(len, moved.values()))

    def path(self, experiment: Experiment, row: str, column: str, split: int, random_state: int = 0) -> Path:
        """Return where a trial is kept, whether it is there or not."""
        names = [PLAIN.sub("_", name) for name in (*experiment.place, row, column)]
        return self.directory.joinpath(*names, f"{random_state}-{split:04d}.json")

    def read(self, experiment: Experiment, row: str, column: str, split: int, random_state: int = 0) -> Trial | None:
        """Read a trial, of its own file or of the table; None if there is none.

        Raises
        ------
        DataFileError
            The file is damaged, of another format, or of another protocol than the experiment has now.
        """
        path = self.path(experiment, row, column, split, random_state)
        try:
            trial = parse(path, path.read_bytes())
        except FileNotFoundError:
            path = self.table_path(experiment.paper)
            known = self.table(experiment.paper).get((*experiment.place, row, column, split, random_state))
            if known is None:
                return None
            trial = known
        except OSError as error:
            raise _error(path, f"that it cannot be read ({error})") from error
        if trial.key != (*experiment.place, row, column, split, random_state):
            raise _error(path, f"a trial of {trial.key}")
        if trial.protocol != experiment.protocol_of(row, column):
            raise _error(path, "what was measured by another protocol")
        return trial

    def trials(self, experiment: Experiment, random_state: int = 0) -> Iterator[Trial]:
        """Read all trials of an experiment that are whole, in the order of its rows, columns and splits."""
        places = self.table(experiment.paper)
        for row in experiment.rows:
            for column in experiment.columns:
                folder = self.path(experiment, row, column, 0, random_state).parent
                splits = {int(path.stem.rpartition("-")[2]) for path in folder.glob(f"{random_state}-*.json")}
                cell = (*experiment.place, row, column)
                splits |= {key[4] for key in places if key[:4] == cell and key[5] == random_state}
                for split in sorted(splits):
                    try:
                        trial = self.read(experiment, row, column, split, random_state)
                    except DataFileError:
                        # whoever measures tells of it, and measures it anew
                        continue
                    if trial is not None:
                        yield trial

    def write(self, experiment: Experiment, trial: Trial) -> Path:
        """Replace the file of a trial; whatever happens, the old file or the new one is there, whole."""
        path = self.path(experiment, trial.row, trial.column, trial.split, trial.random_state)
        _replace(path, spell_out(trial))
        return path


def _replace(path: Path, content: bytes) -> None:
    """Replace a file as a whole or not at all, in a directory that is made where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _error(path, f"that it cannot be written ({error})", "make room, or name another place") from error
    write_whole(str(path), path, content, f"{os.getpid()}.partial")


def spell_out(trial: Trial, indent: int | None = 1) -> bytes:
    """Return the JSON of a trial, which proves itself whole by the SHA-256 of all else in it."""
    content = {"version": VERSION, **asdict(trial)}
    return json.dumps({**content, "sha256": _digest(content)}, indent=indent, allow_nan=False).encode()


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
