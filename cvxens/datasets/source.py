"""A data file's bytes, unpacked, and the one error that all readers raise about it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from cvxens.errors import DataFileError
from cvxens.storage import MEBIBYTE, Oversized, Stream, inflation_limit, read_bounded, read_file

DECOMPRESSORS: dict[bytes, Callable[[BytesIO], Stream]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}


@dataclass(frozen=True)
class Source:
    """A file that was read into memory.

    Parameters
    ----------
    path : Path
        Where it is.
    digest : str
        SHA-256 of the file as it is stored, in hexadecimal.
    content : bytes
        What it holds, decompressed.
    stored : int
        The bytes of the file as it is stored.
    """

    path: Path
    digest: str
    content: bytes = field(repr=False)
    stored: int = 0

    @property
    def stem(self) -> str:
        """The file's name without any ending."""
        return self.path.name.split(".")[0] or self.path.name

    def error(self, found: str, remedy: str) -> DataFileError:
        """Return the error to raise about this file."""
        return DataFileError(str(self.path), found, remedy)

    def text(self) -> str:
        """Return the content as text.

        Raises
        ------
        DataFileError
            If it is not UTF-8.
        """
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.error(f"found bytes that are not UTF-8 text ({error})", "save it as UTF-8") from None


def open_source(path: str | os.PathLike[str]) -> Source:
    """Read a plain, gzip, bzip2 or xz file.

    Raises
    ------
    DataFileError
        If the file is missing, unreadable, empty, too large for the memory that is left, or its compression is damaged
        or inflates to more than a hundred times its size.
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
        raise DataFileError(
            str(path), f"found no readable file ({error})", "check the path and its permissions"
        ) from None
    content = _decompressed(path, raw)
    if not content.strip():
        raise DataFileError(str(path), "found an empty file", "fetch or write it anew")
    return Source(path, sha256(raw).hexdigest(), content, len(raw))


def _decompressed(path: Path, raw: bytes) -> bytes:
    for magic, decompress in DECOMPRESSORS.items():
        if raw.startswith(magic):
            try:
                return read_bounded(decompress(BytesIO(raw)), inflation_limit(len(raw)))
            except Oversized as error:
                raise DataFileError(
                    str(path),
                    f"found a compressed file of {len(raw) / MEBIBYTE:,.1f} MiB that inflates to {error}",
                    "inflate it yourself if you trust it, and give the file that comes of it",
                ) from None
            except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise DataFileError(
                    str(path), f"found a damaged or truncated compressed file ({error})", "fetch it anew"
                ) from None
    return raw
