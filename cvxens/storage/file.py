"""A kind of file: one line that says what it is and proves it whole, and an archive of plain arrays."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from numpy.typing import NDArray

from cvxens.errors import DataFileError, InvalidInput
from cvxens.storage.archive import UNREADABLE, Arrays, pack, unpack
from cvxens.storage.bounded import read_file

FIRST_LINE = rb"cvxens %b (\d{1,9}) ([0-9a-f]{64})"

LONGEST_LINE = 1000
"""Bytes that say whether a file is of a kind, before the rest of it is read."""


@dataclass(frozen=True)
class FileKind:
    """Files of one kind and version.

    The first line is ``cvxens NAME VERSION SHA-256``, the digest being that of the rest, an npz archive.

    Parameters
    ----------
    name : str
        One word; errors are about an argument of this name.
    version : int
        Of what is written; no other is read.
    remedy : str
        What to do about a file that is damaged.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> kind = FileKind("sample", 1, "write it anew")
    >>> with TemporaryDirectory() as folder:
    ...     kind.write(Path(folder, "a"), {"x": np.arange(3)})
    ...     kind.read(Path(folder, "a"))
    {'x': array([0, 1, 2])}
    """

    name: str
    version: int
    remedy: str

    def write(self, path: Path, arrays: Arrays) -> None:
        """Replace the file; whatever happens, what is there is the old one or the new one, and whole.

        Raises
        ------
        DataFileError
            It cannot be written.
        TypeError
            An array whose values are not plain.
        """
        payload = pack(arrays)
        first_line = f"cvxens {self.name} {self.version} {hashlib.sha256(payload).hexdigest()}\n"
        partial = path.with_name(f".{path.name}.partial")
        try:
            try:
                _write_through(partial, first_line.encode() + payload)
                os.replace(partial, path)
            finally:
                partial.unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            raise self._error(f"that {path} cannot be written ({error})", "make room, or name another file") from error

    def read(self, path: Path) -> dict[str, NDArray]:
        """Read a file, if it is whole; nothing that is in it is run.

        Raises
        ------
        DataFileError
            It cannot be read, is of another kind or version, truncated or damaged, or holds more than plain arrays.
        """
        try:
            with path.open("rb") as file:
                begins_so = re.fullmatch(FIRST_LINE % self.name.encode(), file.read(LONGEST_LINE).split(b"\n")[0])
            content = read_file(path) if begins_so else b""
        except (OSError, ValueError) as error:
            raise self._error(f"that {path} cannot be read ({error})", "name another file") from error
        first_line = re.match(FIRST_LINE % self.name.encode() + b"\n", content)
        if first_line is None:
            raise self._error(f"no {self.name} in {path}", "name another file")
        if int(first_line[1]) != self.version:
            raise self._error(
                f"version {int(first_line[1])} of the format in {path}",
                f"use the release of cvxens that wrote it; this one writes version {self.version}",
            )
        payload = content[first_line.end() :]
        if hashlib.sha256(payload).hexdigest() != first_line[2].decode():
            raise self.damaged(path)
        try:
            return unpack(payload)
        except UNREADABLE as error:
            raise self.damaged(path, str(error)) from None

    def damaged(self, path: Path, why: str = "") -> DataFileError:
        """The error about a file whose content is not what this kind writes."""
        return self._error(f"{path} truncated or damaged{f' ({why})' if why else ''}", self.remedy)

    def _error(self, found: str, remedy: str) -> DataFileError:
        return DataFileError(self.name, f"found {found}", remedy)


def as_path(argument: str, path: Any) -> Path:
    """Return the path of a file, its "~" expanded; `InvalidInput` for what is none."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(argument, f"found {path!r}", "give the path of a file")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InvalidInput(argument, f"found {str(path)!r} ({error})", "name a file by its whole path") from None


def check_place(argument: str, path: Any) -> Path:
    """Return the path of a file that can be written there, as far as can be told; `InvalidInput` otherwise."""
    path = as_path(argument, path)
    try:
        folder, within = _is_folder(path), _is_folder(path.parent)
    except (OSError, ValueError) as error:
        found = f"found {str(path)!r}, which cannot be written ({getattr(error, 'strerror', error)})"
        raise InvalidInput(argument, found, "name another file") from None
    if folder or not within:
        found = "a folder" if folder else "no folder for it"
        raise InvalidInput(argument, f"found {found} at {path}", "name a file in a folder that exists")
    return path


def _is_folder(path: Path) -> bool:
    try:
        return S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _write_through(path: Path, content: bytes) -> None:
    """Write a file, as far as the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
