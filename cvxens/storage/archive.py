"""Archives of plain arrays: what numpy's npz is without compression, pickled objects and sizes that are not so."""

from __future__ import annotations

import struct
import tokenize
import zlib
from collections.abc import Mapping
from io import BytesIO
from math import prod
from typing import Any, TypeAlias
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Mapping[str, NDArray]

PLAIN = "biufcUS"
"""Kinds of the types whose arrays are nothing but their bytes."""

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
"""What a damaged or encrypted archive, or an array with a nonsensical header, makes zipfile and numpy raise."""


def pack(arrays: Arrays) -> bytes:
    """Write plain arrays as an npz archive.

    Raises
    ------
    TypeError
        An array whose values are not plain.
    """
    for name, array in arrays.items():
        _check(name, array.dtype)
    packed, named = BytesIO(), dict[str, Any](arrays)
    np.savez(packed, **named)
    return packed.getvalue()


def unpack(packed: bytes) -> dict[str, NDArray]:
    """Read what `pack` wrote; nothing is decompressed, and no array is larger than its bytes in the archive.

    Raises
    ------
    One of UNREADABLE
        Anything else.
    """
    with ZipFile(BytesIO(packed)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > len(packed):
            raise ValueError("members larger than the archive")
        if any(member.compress_type != ZIP_STORED for member in members):
            raise ValueError("a compressed member")
        contents = {member.filename.removesuffix(".npy"): archive.read(member) for member in members}
    return {name: _array(name, content) for name, content in contents.items()}


def _array(name: str, content: bytes) -> NDArray:
    member = BytesIO(content)
    if np.lib.format.read_magic(member) != (1, 0):
        raise ValueError(f"{name} in a format of later versions")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
    _check(name, dtype)
    held = content[member.tell() :]
    if prod(shape) * dtype.itemsize != len(held):
        raise ValueError(f"{name} of shape {shape} in {len(held)} bytes")
    return np.frombuffer(held, dtype).reshape(shape, order="F" if by_columns else "C").copy(order="K")


def _check(name: str, dtype: np.dtype) -> None:
    if dtype.kind not in PLAIN:
        raise TypeError(f"{name} of type {dtype}, whose values are not plain")
