"""Plain values and frozen dataclasses of them as JSON and back, exact to the last bit: no code is in the text."""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


class Encoding:
    """Writes and reads numbers, strings, tuples, numeric arrays, and dataclasses and named tuples of such.

    Parameters
    ----------
    refer : callable
        From any other value, such as a function, to JSON that stands for it.
    follow : callable
        The way back.

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

    def __init__(self, refer: Callable[[Any], Any], follow: Callable[[Any], Any]) -> None:
        self.refer = refer
        self.follow = follow

    def write(self, value: Any) -> Any:
        """Turn a value into what `json` can write."""
        written: Any
        match value:
            case None | bool() | int() | str() | float():
                written = value
            case np.generic():
                written = self.write(value.item())
            case np.ndarray() if value.dtype.kind in "biuf":
                written = {"array": value.dtype.str, "shape": list(value.shape), "of": _packed(value)}
            case tuple() if hasattr(value, "_fields"):
                written = self._record(type(value), value)
            case tuple() if value and all(type(part) is float for part in value):
                written = {"floats": _packed(np.array(value))}
            case tuple():
                written = {"tuple": [self.write(part) for part in value]}
            case dict():
                written = {"dict": [[key, self.write(part)] for key, part in value.items()]}
            case _ if is_dataclass(value) and not isinstance(value, type):
                written = self._record(type(value), (getattr(value, field.name) for field in fields(value)))
            case _:
                written = {"other": self.refer(value)}
        return written

    def _record(self, kind: type, parts: Iterable[Any]) -> Any:
        return {"record": qualified_name(kind), "of": [self.write(part) for part in parts]}

    def read(self, written: Any) -> Any:
        """Turn it back into the value."""
        value: Any = written
        match written:
            case {"array": str(dtype), "shape": list(shape), "of": str(packed)}:
                value = np.frombuffer(b64decode(packed), np.dtype(dtype)).reshape(shape).copy()
            case {"floats": str(packed)}:
                value = tuple(np.frombuffer(b64decode(packed)).tolist())
            case {"tuple": list(parts)}:
                value = tuple(self.read(part) for part in parts)
            case {"dict": list(pairs)}:
                value = {key: self.read(part) for key, part in pairs}
            case {"record": str(name), "of": list(parts)}:
                value = record(name)(*(self.read(part) for part in parts))
            case {"other": reference}:
                value = self.follow(reference)
        return value


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


def record(name: str) -> type:
    """The dataclass or named tuple of a qualified name, from a module that is loaded already; none is imported.

    Raises
    ------
    TypeError
        There is none.
    """
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and (is_dataclass(found) or issubclass(found, tuple)):
        return found
    raise TypeError(f"{name} is not a dataclass at the top of a loaded module")


def _packed(values: np.ndarray) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode()
