"""A data file's bytes, unpacked within the memory that is left, and the one error that all readers raise about it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cvxens.errors import DataFileError
from cvxens.storage import Oversized, inflation_limit, read_bounded, read_file

MEBIBYTE = 2**20

DENSE_LIMIT = 256 * MEBIBYTE
"""Bytes that a dense matrix may take if its file holds something smaller."""

DECOMPRESSORS: dict[bytes, Callable[[BytesIO], Any]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""Openers of packed files, by their first bytes."""

LIBSVM_LINE = re.compile(rb"[+-]?[\d.]\S*(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?")
LINES_TRIED = 20


@dataclass(frozen=True)
class Source:
    """A file that was read into memory, decompressed.

    `digest` is the SHA-256 of the file as it is stored, in hexadecimal, and `stored` the number of its bytes there.
    """

    path: Path
    digest: str
    content: bytes = field(repr=False)
    stored: int = 0

    @property
    def stem(self) -> str:
        """The file's name without any ending."""
        return self.path.name.split(".")[0] or self.path.name

    @property
    def format(self) -> str:
        """The format that the content shows: "npz", "parquet", "libsvm" or "text"; `DataFileError` for others."""
        if self.content.startswith(b"PK\x03\x04"):
            return "npz"
        if self.content.startswith(b"PAR1"):
            return "parquet"
        lines = islice(re.finditer(rb"[^\r\n]+", self.content), LINES_TRIED)
        if any(LIBSVM_LINE.fullmatch(line.group().strip()) for line in lines):
            return "libsvm"
        if b"\0" in self.content:
            raise self.error("found neither text nor an npz archive", "give CSV, LIBSVM/SVMlight, npz or Parquet")
        return "text"

    def error(self, found: str, remedy: str) -> DataFileError:
        """Return the error to raise about this file."""
        return DataFileError(str(self.path), found, remedy)

    def text(self) -> str:
        """Return the content as text; `DataFileError` if it is not UTF-8."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.error(f"found bytes that are not UTF-8 text ({error})", "save it as UTF-8") from None

    def check_dense(self, shape: tuple[int, ...], dtype: np.dtype, remedy: str) -> None:
        """Raise `DataFileError` if a dense matrix of that shape would exceed `DENSE_LIMIT`."""
        needed = count_bytes(shape, dtype)
        if needed > DENSE_LIMIT:
            raise self.error(
                f"found {shape[0]} x {shape[1]} values, {needed / MEBIBYTE:,.0f} MiB as a dense {dtype} matrix "
                f"where the limit is {DENSE_LIMIT // MEBIBYTE} MiB",
                remedy,
            )


def count_bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Return the bytes of a dense matrix, in exact integers."""
    return int(shape[0]) * int(shape[1]) * dtype.itemsize


def open_source(path: str | os.PathLike[str]) -> Source:
    """Read a plain, gzip, bzip2 or xz file, if memory is left for it and it inflates to at most 100 times its size.

    `DataFileError` for every other one, and for one that is missing, unreadable, empty or damaged.
    """
    try:
        path = Path(path).expanduser()
        raw = read_file(path)
    except FileNotFoundError:
        raise DataFileError(str(path), "found no such file", "check the path") from None
    except IsADirectoryError:
        raise DataFileError(str(path), "found a directory", "name a file in it") from None
    except Oversized as error:
        raise DataFileError(str(path), f"found {error}", "give a part of it, or make room in memory") from None
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        found = f"found no readable file ({error})"
        raise DataFileError(str(path), found, "check the path and its permissions") from None
    content = _decompress(path, raw)
    if not content.strip():
        raise DataFileError(str(path), "found an empty file", "fetch or write it anew")
    return Source(path, sha256(raw).hexdigest(), content, len(raw))


def _decompress(path: Path, raw: bytes) -> bytes:
    """Return the bytes of a file, inflated if they are packed; `DataFileError` if they inflate to too much."""
    decompress = next((open_ for magic, open_ in DECOMPRESSORS.items() if raw.startswith(magic)), None)
    if decompress is None:
        return raw
    try:
        return read_bounded(decompress(BytesIO(raw)), inflation_limit(len(raw)))
    except Oversized as error:
        found = f"found a compressed file of {len(raw) / MEBIBYTE:,.1f} MiB that inflates to {error}"
        remedy = "inflate it yourself if you trust it, and give the file that comes of it"
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        found, remedy = f"found a damaged or truncated compressed file ({error})", "fetch it anew"
    raise DataFileError(str(path), found, remedy)
