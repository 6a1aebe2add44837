"""Files that hold no code: plain arrays and JSON, exact to the last bit, whole or refused, and never half written.

Reading is bounded: `read_file` takes what there is room for, and `inflation_limit` is what a compressed file may grow
to. An archive is numpy's npz without compression and pickled objects, so that no array is larger than its bytes. An
`Encoding` turns values and dataclasses into JSON, whose arrays may go into an archive. A `FileKind` writes a JSON
header and an archive behind one line that says what the file is and proves it whole by its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import sys
import tokenize
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from stat import S_ISDIR
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import DataFileError, InvalidInput
from cvxens.limits import SMALL_ALLOCATION, available_memory

MEBIBYTE = 2**20

CHUNK = MEBIBYTE
"""Bytes that are read at a time."""

USUAL_RATIO = 100
"""Data compress up to so many times; what inflates further, as deflate's 1,032 to 1, is mostly zeros."""

PLAIN = "biufcUS"
"""Kinds of the numpy types whose arrays are nothing but their bytes."""

IN_JSON = "biufU"
"""Kinds of the numpy types that JSON can hold: numbers and text."""

FIRST_LINE = rb"cvxens %b (\d{1,9}) ([0-9a-f]{64})"

LONGEST_LINE = 1000
"""Bytes that say whether a file is of a kind, before the rest of it is read."""

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
    return min(room(), max(allowed, USUAL_RATIO * stored))


def read_bounded(stream: BinaryIO, limit: int) -> bytes:
    """Read a stream to its end; `Oversized` if it has more than `limit` bytes, of which no more were kept.

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
    """Read a file, or a pipe or device that ends, if there is room for it in memory, else raise `Oversized`."""
    limit = room()
    size = path.stat().st_size
    if size > limit:
        raise Oversized(limit, size)
    with path.open("rb") as file:
        return read_bounded(file, limit)


def pack(arrays: Mapping[str, NDArray]) -> bytes:
    """Write plain arrays as an archive; a TypeError for an array whose values are not plain."""
    for name, array in arrays.items():
        _check_plain(name, array.dtype)
    packed, named = BytesIO(), dict[str, Any](arrays)
    np.savez(packed, **named)
    return packed.getvalue()


def unpack(packed: bytes) -> dict[str, NDArray]:
    """Read what `pack` wrote, decompressing nothing; one of `UNREADABLE` for anything else."""
    with ZipFile(BytesIO(packed)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > len(packed):
            raise ValueError("members larger than the archive")
        if any(member.compress_type != ZIP_STORED for member in members):
            raise ValueError("a compressed member")
        contents = {member.filename.removesuffix(".npy"): archive.read(member) for member in members}
    return {name: _read_array(name, content) for name, content in contents.items()}


def _read_array(name: str, content: bytes) -> NDArray:
    member = BytesIO(content)
    if np.lib.format.read_magic(member) != (1, 0):
        raise ValueError(f"{name} in a format of later versions")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
    _check_plain(name, dtype)
    held = content[member.tell() :]
    if prod(shape) * dtype.itemsize != len(held):
        raise ValueError(f"{name} of shape {shape} in {len(held)} bytes")
    return np.frombuffer(held, dtype).reshape(shape, order="F" if by_columns else "C").copy(order="K")


def _check_plain(name: str, dtype: np.dtype) -> None:
    if dtype.kind not in PLAIN:
        raise TypeError(f"{name} of type {dtype}, whose values are not plain")


def nothing_else(value: Any) -> Any:
    """Refuse a value that is neither plain nor a dataclass, by a TypeError."""
    raise TypeError(f"{type(value).__name__} is not made of numbers, strings, tuples and arrays")


def qualified_name(thing: Any) -> str:
    """Return the module of a class or function and its name there."""
    return f"{thing.__module__}:{thing.__qualname__}"


def loaded(name: str) -> Any:
    """Return what has a qualified name in a module that is loaded already, else None; nothing is imported."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def loaded_record(name: str) -> type:
    """Return the dataclass or named tuple of a qualified name; a TypeError if no module that is loaded has it."""
    found = loaded(name)
    if isinstance(found, type) and (is_dataclass(found) or issubclass(found, tuple)) and qualified_name(found) == name:
        return found
    raise TypeError(f"{name} is not a dataclass at the top of a loaded module")


class Encoding:
    """Writes and reads numbers, strings, lists, tuples, dicts, arrays, and dataclasses and named tuples of such.

    `refer` turns any other value, such as a function, into JSON that stands for it, `name` a dataclass or named tuple
    into its name; `follow` and `find` are the ways back, by default to any class of a module that is loaded. Arrays go
    to and come from `arrays`; without it they are text within the JSON, in base 64.

    Examples
    --------
    >>> from cvxens.trees import Feature
    >>> encoding = Encoding(nothing_else, nothing_else)
    >>> text = encoding.write(Feature("town", ("Bonn", "Ulm")))
    >>> text["of"]
    ['town', {'tuple': ['Bonn', 'Ulm']}]
    >>> encoding.read(text)
    Feature(name='town', categories=('Bonn', 'Ulm'))
    """

    def __init__(
        self,
        refer: Callable[[Any], Any],
        follow: Callable[[Any], Any],
        *,
        arrays: dict[str, NDArray] | None = None,
        name: Callable[[Any], str] = qualified_name,
        find: Callable[[str], Callable[..., Any]] = loaded_record,
    ) -> None:
        self.refer = refer
        self.follow = follow
        self.arrays = arrays
        self.name = name
        self.find = find

    def write(self, value: Any) -> Any:
        """Turn a value into what `json` can write."""
        written: Any
        match value:
            case np.generic() if value.dtype.kind in IN_JSON:
                written = {"scalar": value.dtype.str, "of": value.item()}
            case None | bool() | int() | str() | float():
                written = value
            case np.ndarray():
                written = self._write_array(value)
            case tuple() if hasattr(value, "_fields"):
                written = self._write_record(type(value), value)
            case tuple() if value and all(type(part) is float for part in value):
                written = {"floats": _to_text(np.array(value))}
            case tuple():
                written = {"tuple": self._write_each(value)}
            case list():
                written = {"list": self._write_each(value)}
            case dict():
                written = {"dict": [self._write_each(pair) for pair in value.items()]}
            case _ if is_dataclass(value) and not isinstance(value, type):
                written = self._write_record(type(value), (getattr(value, field.name) for field in fields(value)))
            case _:
                written = {"other": self.refer(value)}
        return written

    def _write_array(self, array: NDArray) -> Any:
        if array.dtype.kind == "O":
            return {"objects": self._write_each(array.ravel().tolist()), "shape": list(array.shape)}
        if array.dtype.kind not in IN_JSON:
            return {"other": self.refer(array)}
        if self.arrays is None:
            return {"array": array.dtype.str, "shape": list(array.shape), "of": _to_text(array)}
        name = f"array {len(self.arrays)}"
        self.arrays[name] = array
        return {"array": name}

    def _write_record(self, kind: type, parts: Iterable[Any]) -> Any:
        return {"record": self.name(kind), "of": self._write_each(parts)}

    def _write_each(self, values: Iterable[Any]) -> list[Any]:
        return [self.write(value) for value in values]

    def read(self, written: Any) -> Any:
        """Turn it back into the value; any error of Python for JSON that `write` did not make."""
        value: Any = written
        match written:
            case {"scalar": str(dtype), "of": plain} if np.dtype(dtype).kind in IN_JSON:
                value = np.dtype(dtype).type(plain)
            case {"array": str(name)} if self.arrays is not None:
                value = self.arrays[name]
            case {"array": str(dtype), "shape": list(shape), "of": str(text)}:
                value = np.frombuffer(b64decode(text), np.dtype(dtype)).reshape(shape).copy()
            case {"objects": list(parts), "shape": list(shape)}:
                value = np.empty(len(parts), object)
                value[:] = self._read_each(parts)
                value = value.reshape(shape)
            case {"floats": str(text)}:
                value = tuple(np.frombuffer(b64decode(text)).tolist())
            case {"tuple": list(parts)}:
                value = tuple(self._read_each(parts))
            case {"list": list(parts)}:
                value = self._read_each(parts)
            case {"dict": list(pairs)}:
                value = dict(self._read_each(pair) for pair in pairs)
            case {"record": str(name), "of": list(parts)}:
                value = self.find(name)(*self._read_each(parts))
            case {"other": reference}:
                value = self.follow(reference)
        return value

    def _read_each(self, written: Iterable[Any]) -> list[Any]:
        return [self.read(part) for part in written]


def _to_text(values: NDArray) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode()


@dataclass(frozen=True)
class FileKind:
    """Files of one kind and version: ``cvxens NAME VERSION SHA-256``, a line end, and an archive of that digest.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> kind = FileKind("sample", 1, "write it anew")
    >>> with TemporaryDirectory() as folder:
    ...     kind.write(Path(folder, "a"), {"seed": 3}, {"x": np.arange(3)})
    ...     kind.read(Path(folder, "a"))
    ({'seed': 3}, {'x': array([0, 1, 2])})
    """

    name: str  # one word; errors are about an argument of this name
    version: int  # that is written; no other is read
    remedy: str  # for a file that is damaged

    def write(self, path: Path, header: Any, arrays: Mapping[str, NDArray]) -> None:
        """Replace the file by a JSON header and arrays; whatever happens, the old file or the new one is there, whole.

        `DataFileError` if it cannot be written, TypeError for an array whose values are not plain.
        """
        payload = pack({"header": np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays})
        first_line = f"cvxens {self.name} {self.version} {hashlib.sha256(payload).hexdigest()}\n"
        write_whole(self.name, path, first_line.encode() + payload)

    def read(self, path: Path) -> tuple[Any, dict[str, NDArray]]:
        """Read the header and the arrays of a file, if it is whole, else raise `DataFileError`; none of it is run."""
        pattern = FIRST_LINE % self.name.encode()
        try:
            with path.open("rb") as file:
                is_of_kind = re.fullmatch(pattern, file.read(LONGEST_LINE).split(b"\n")[0])
            content = read_file(path) if is_of_kind else b""
        except (OSError, ValueError) as error:
            raise self._error(f"that {path} cannot be read ({error})", "name another file") from error
        first_line = re.match(pattern + b"\n", content)
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
            arrays = unpack(payload)
            return json.loads(arrays.pop("header").tobytes()), arrays
        except (*UNREADABLE, KeyError) as error:
            raise self.damaged(path, str(error)) from None

    def damaged(self, path: Path, why: str = "") -> DataFileError:
        """Return the error about a file whose content is not what this kind writes."""
        return self._error(f"{path} truncated or damaged{f' ({why})' if why else ''}", self.remedy)

    def _error(self, found: str, remedy: str) -> DataFileError:
        return DataFileError(self.name, f"found {found}", remedy)


def write_whole(argument: str, path: Path, content: bytes) -> None:
    """Replace a file; whatever happens, the old one or the new one is there, whole. `DataFileError` if it cannot be."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        found = f"found that {path} cannot be written ({error})"
        raise DataFileError(argument, found, "make room, or name another file") from error


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
        is_folder, in_folder = _is_folder(path), _is_folder(path.parent)
    except (OSError, ValueError) as error:
        found = f"found {str(path)!r}, which cannot be written ({getattr(error, 'strerror', error)})"
        raise InvalidInput(argument, found, "name another file") from None
    if is_folder or not in_folder:
        found = "a folder" if is_folder else "no folder for it"
        raise InvalidInput(argument, f"found {found} at {path}", "name a file in a folder that exists")
    return path


def _is_folder(path: Path) -> bool:
    try:
        return S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
