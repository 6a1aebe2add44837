"""Files read within bounds, and written whole or not at all.

`read_file` takes what there is room for, `inflation_limit` is what a compressed file may grow to, and `write_whole`
leaves the old file or the new one, whatever happens.
"""

from __future__ import annotations

import os
import struct
import tokenize
import zlib
from io import BytesIO
from pathlib import Path
from stat import S_ISDIR
from typing import BinaryIO
from zipfile import BadZipFile

from cvxens.errors import DataFileError, InvalidInput, refusing, writing
from cvxens.limits import SMALL_ALLOCATION, available_memory

MEBIBYTE = 2**20

PLAIN = "biufcUS"
"""Kinds of the numpy types whose arrays are nothing but their bytes."""

UNREADABLE = (
    BadZipFile,
    EOFError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zlib.error,
)
"""What a damaged or encrypted archive, or an array with a nonsensical header, makes zipfile, json and numpy raise."""


class Oversized(ValueError):
    """More bytes than may be read."""

    def __init__(self, limit: int, whole: int | None = None) -> None:
        size = f"more than {limit / MEBIBYTE:,.0f} MiB" if whole is None else f"{whole / MEBIBYTE:,.0f} MiB"
        super().__init__(size if whole is None else f"{size}, where the limit is {limit / MEBIBYTE:,.0f} MiB")


def room() -> int:
    """Return the bytes that a file may take in memory: half of what is left, as it is parsed next."""
    return available_memory() // 2


def inflation_limit(stored: int, allowed: int = SMALL_ALLOCATION) -> int:
    """Return the bytes that a compressed file of `stored` bytes may inflate to; any file may to `allowed` ones.

    Examples
    --------
    >>> inflation_limit(2**10) == SMALL_ALLOCATION, inflation_limit(2**20) == 100 * 2**20
    (True, True)
    """
    # data compress up to a hundred times; what inflates further, as deflate's 1,032 to 1, is mostly zeros
    return min(room(), max(allowed, 100 * stored))


def read_bounded(stream: BinaryIO, limit: int) -> bytes:
    """Read a stream to its end; `Oversized` if it has more than `limit` bytes, of which no more were kept.

    Examples
    --------
    >>> read_bounded(BytesIO(b"abc"), 3)
    b'abc'
    """
    kept = BytesIO()
    while chunk := stream.read(MEBIBYTE):
        if kept.tell() + len(chunk) > limit:
            raise Oversized(limit)
        kept.write(chunk)
    return kept.getvalue()


def read_file(path: Path) -> bytes:
    """Read a file, or a pipe or device that ends, if there is room for it in memory, else raise `Oversized`."""
    limit, size = room(), path.stat().st_size
    if size > limit:
        raise Oversized(limit, size)
    with path.open("rb") as file:
        return read_bounded(file, limit)


def write_whole(argument: str, path: Path, content: bytes, ending: str = "partial") -> None:
    """Replace a file; whatever happens, the old one or the new one is there, whole. `DataFileError` if it cannot be."""
    partial = path.with_name(f".{path.name}.{ending}")  # of its own, where processes may write a file at a time
    with writing(argument, path, raised=DataFileError):
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)


def as_path(argument: str, path: object) -> Path:
    """Return the path of a file, its "~" expanded; `InvalidInput` for what is none."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(argument, f"found {path!r}", "give the path of a file")
    with refusing(argument, f"found {str(path)!r}", "name a file by its whole path", (RuntimeError,)):
        return Path(path).expanduser()


def check_place(argument: str, path: object) -> Path:
    """Return the path of a file that can be written there, as far as can be told; `InvalidInput` otherwise."""
    path = as_path(argument, path)
    with writing(argument, path):
        is_folder, in_folder = _is_folder(path), _is_folder(path.parent)
    if is_folder or not in_folder:
        found = "a folder" if is_folder else "no folder for it"
        raise InvalidInput(argument, f"found {found} at {path}", "name a file in a folder that exists")
    return path


def _is_folder(path: Path) -> bool:
    try:
        return S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
