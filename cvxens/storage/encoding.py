"""Plain values and dataclasses of them as JSON and back, exact to the last bit: no code is in the text."""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

PLAIN = "biufU"
"""Kinds of numpy's types that are numbers and text."""


class Packing(Protocol):
    """Where arrays go."""

    def pack(self, array: NDArray, /) -> dict[str, Any]:
        """JSON for an array, with the key "array"."""

    def unpack(self, written: Mapping[str, Any], /) -> NDArray:
        """The array that JSON stands for."""


class InText:
    """Arrays within the text, in base 64."""

    def pack(self, array: NDArray) -> dict[str, Any]:
        """Type, shape and bytes."""
        return {"array": array.dtype.str, "shape": list(array.shape), "of": _packed(array)}

    def unpack(self, written: Mapping[str, Any]) -> NDArray:
        """Read them again."""
        values = np.frombuffer(b64decode(written["of"]), np.dtype(written["array"]))
        return values.reshape(written["shape"]).copy()


class Encoding:
    """Writes and reads numbers, strings, lists, tuples, dicts, arrays, and dataclasses and named tuples of such.

    Parameters
    ----------
    refer : callable
        From any other value, such as a function, to JSON that stands for it.
    follow : callable
        The way back.
    packing : Packing
        Where arrays go, by default into the text.
    find : callable
        From a qualified name to a dataclass or named tuple; by default any of a module that is loaded.

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stump
    >>> encoding = Encoding(nothing_else, nothing_else)
    >>> text = encoding.write(Stump(0, 0.5, 1))
    >>> text
    {'record': 'cvxens.colgen.oracles.stumps:Stump', 'of': [0, 0.5, 1]}
    >>> encoding.read(text)
    Stump(feature=0, threshold=0.5, sign=1)
    """

    def __init__(
        self,
        refer: Callable[[Any], Any],
        follow: Callable[[Any], Any],
        *,
        packing: Packing | None = None,
        find: Callable[[str], type] | None = None,
    ) -> None:
        self.refer = refer
        self.follow = follow
        self.packing = packing or InText()
        self.find = find or loaded_record

    def write(self, value: Any) -> Any:
        """Turn a value into what `json` can write."""
        written: Any
        match value:
            case np.generic() if value.dtype.kind in PLAIN:
                written = {"scalar": value.dtype.str, "of": value.item()}
            case None | bool() | int() | str() | float():
                written = value
            case np.ndarray():
                written = self._array(value)
            case tuple():
                written = self._tuple(value)
            case list():
                written = {"list": self._all(value)}
            case dict():
                written = {"dict": [self._all(pair) for pair in value.items()]}
            case _ if is_dataclass(value) and not isinstance(value, type):
                written = self._record(type(value), (getattr(value, field.name) for field in fields(value)))
            case _:
                written = {"other": self.refer(value)}
        return written

    def _array(self, array: NDArray) -> Any:
        if array.dtype.kind in PLAIN:
            return self.packing.pack(array)
        if array.dtype.kind == "O":
            return {"objects": self._all(array.ravel().tolist()), "shape": list(array.shape)}
        return {"other": self.refer(array)}

    def _tuple(self, parts: tuple) -> Any:
        if hasattr(parts, "_fields"):
            return self._record(type(parts), parts)
        if parts and all(type(part) is float for part in parts):
            return {"floats": _packed(np.array(parts))}
        return {"tuple": self._all(parts)}

    def _all(self, values: Iterable[Any]) -> list[Any]:
        return [self.write(value) for value in values]

    def _record(self, kind: type, parts: Iterable[Any]) -> Any:
        return {"record": qualified_name(kind), "of": self._all(parts)}

    def read(self, written: Any) -> Any:
        """Turn it back into the value."""
        value: Any = written
        match written:
            case {"scalar": str(dtype), "of": plain} if np.dtype(dtype).kind in PLAIN:
                value = np.dtype(dtype).type(plain)
            case {"array": _}:
                value = self.packing.unpack(written)
            case {"objects": list(parts), "shape": list(shape)}:
                value = np.empty(len(parts), object)
                value[:] = self._each(parts)
                value = value.reshape(shape)
            case {"floats": str(packed)}:
                value = tuple(np.frombuffer(b64decode(packed)).tolist())
            case {"tuple": list(parts)}:
                value = tuple(self._each(parts))
            case {"list": list(parts)}:
                value = self._each(parts)
            case {"dict": list(pairs)}:
                value = dict(self._each(pair) for pair in pairs)
            case {"record": str(name), "of": list(parts)}:
                value = self.find(name)(*self._each(parts))
            case {"other": reference}:
                value = self.follow(reference)
        return value

    def _each(self, written: Iterable[Any]) -> list[Any]:
        return [self.read(part) for part in written]


def nothing_else(value: Any) -> Any:
    """Refuse a value that is neither plain nor a dataclass.

    Raises
    ------
    TypeError
        Always.
    """
    raise TypeError(f"{type(value).__name__} is not made of numbers, strings, tuples and arrays")


def qualified_name(thing: Any) -> str:
    """The module of a class or function and its name there."""
    return f"{thing.__module__}:{thing.__qualname__}"


def loaded(name: str) -> Any:
    """What has a qualified name, in a module that is loaded already, none is imported; None where there is none."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def loaded_record(name: str) -> type:
    """The dataclass or named tuple of a qualified name.

    Raises
    ------
    TypeError
        There is none in the modules that are loaded.
    """
    found = loaded(name)
    is_record = isinstance(found, type) and (is_dataclass(found) or issubclass(found, tuple))
    # a module may still import a record that has moved, as files of version 0.1 name it
    has_moved = name.startswith("cvxens.") and getattr(found, "__module__", "").startswith("cvxens.")
    if is_record and (qualified_name(found) == name or has_moved):
        record: type = found
        return record
    raise TypeError(f"{name} is not a dataclass at the top of a loaded module")


def _packed(values: NDArray) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode()
