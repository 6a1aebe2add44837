"""Reading no more than there is room for: files, and what compressed ones inflate to."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Protocol

from cvxens.memory import SMALL, available

MEBIBYTE = 2**20

CHUNK = MEBIBYTE
"""Bytes that are read at a time."""

USUAL_RATIO = 100
"""Data compress up to so many times; what inflates further, as deflate's 1,032 to 1, is mostly zeros."""


class Oversized(ValueError):
    """More bytes than may be read."""

    def __init__(self, limit: int, whole: int | None = None) -> None:
        size = f"more than {limit / MEBIBYTE:,.0f} MiB" if whole is None else f"{whole / MEBIBYTE:,.0f} MiB"
        super().__init__(f"{size}, where the limit is {limit / MEBIBYTE:,.0f} MiB" if whole is not None else size)


class Stream(Protocol):
    """What is read from the start on."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes, none at the end."""


def room() -> int:
    """Bytes that a file may take in memory: half of what is left, as it is parsed next."""
    return available() // 2


def inflation_limit(stored: int, allowed: int = SMALL) -> int:
    """Bytes that a compressed file may inflate to.

    Parameters
    ----------
    stored : int
        The bytes of the file.
    allowed : int
        Bytes that any file may inflate to, however small it is.

    Examples
    --------
    >>> inflation_limit(2**10) == SMALL, inflation_limit(2**20) == 100 * 2**20
    (True, True)
    """
    return min(room(), max(allowed, USUAL_RATIO * stored))


def read_bounded(stream: Stream, limit: int) -> bytes:
    """Read a stream to its end, which is within so many bytes.

    Raises
    ------
    Oversized
        It is not; what was read by then is all that was kept.

    Examples
    --------
    >>> read_bounded(BytesIO(b"abc"), 3)
    b'abc'
    """
    kept = BytesIO()
    while chunk := stream.read(CHUNK):
        if kept.tell() + len(chunk) > limit:
            raise Oversized(limit)
        kept.write(chunk)
    return kept.getvalue()


def read_file(path: Path) -> bytes:
    """Read a file, or a pipe or device that ends, if there is room for it in memory.

    Raises
    ------
    Oversized
        There is not. OSError and ValueError, if it cannot be opened.
    """
    limit = room()
    size = path.stat().st_size
    if size > limit:
        raise Oversized(limit, size)
    with path.open("rb") as file:
        return read_bounded(file, limit)
