"""Checks of values against type annotations, as far as annotations are of the kinds that records have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

NUMBERS_AND_TEXT: Mapping[Any, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
    str: (str,),
}
"""The types that count as a number, a truth value or text."""

ARRAY_KINDS: Mapping[str, str] = {"f": "f", "i": "iu", "u": "iu", "b": "b", "O": "OU", "U": "U"}
"""The kinds of arrays that count as one of a kind."""


def check_types(record: Any) -> Any:
    """Return a dataclass or named tuple whose parts are of the types that it is annotated with.

    Raises
    ------
    TypeError
        Names the first part that is not.

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stump
    >>> check_types(Stump(0, 0.5, 1))
    Stump(feature=0, threshold=0.5, sign=1)
    >>> check_types(Stump("0", 0.5, 1))
    Traceback (most recent call last):
    TypeError: Stump.feature is of the type str
    """
    kind: Any = type(record)
    for name, hint in find_types(kind).items():
        value = getattr(record, name)
        if not matches(value, hint):
            raise TypeError(f"{kind.__name__}.{name} is of the type {type(value).__name__}")
    return record


@cache
def find_types(kind: Any) -> dict[str, Any]:
    """Return the annotated types of the fields of a dataclass or named tuple."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", ())
    return {name: hints[name] for name in names if name in hints}


def matches(value: Any, hint: Any) -> bool:
    """Return True if a value is of an annotated type.

    Numbers that are whole count as floats, and truth values as no numbers; those of numpy are arrays too. Of an array
    the kind of its numbers counts, and of a protocol that its members are there.

    Examples
    --------
    >>> matches((1.0, 2), tuple[float, ...]), matches((1.0, "2"), tuple[float, ...]), matches(None, int | None)
    (True, False, True)
    """
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin in {Union, UnionType}:
        return any(matches(value, part) for part in parts)
    if origin is Callable:
        return callable(value)
    if origin is np.ndarray and isinstance(value, np.generic):
        value = np.asarray(value)
    if origin is not None:
        return isinstance(value, origin) and _parts_match(value, origin, parts)
    if hint in NUMBERS_AND_TEXT:
        return isinstance(value, NUMBERS_AND_TEXT[hint]) and (hint is bool or not isinstance(value, bool | np.bool_))
    if getattr(hint, "_is_protocol", False):
        return all(hasattr(value, member) for member in _members(hint))
    return isinstance(value, NoneType if hint is None else hint)


def _parts_match(value: Any, origin: Any, parts: tuple[Any, ...]) -> bool:
    """Return True if what a container holds is of the types in the brackets of its annotation."""
    if origin is np.ndarray:
        kind = get_args(parts[1])[0]
        return kind is Any or isinstance(kind, TypeVar) or value.dtype.kind in ARRAY_KINDS[np.dtype(kind).kind]
    if issubclass(origin, tuple) and parts[-1] is not ...:
        return len(value) == len(parts) and all(map(matches, value, parts))
    if issubclass(origin, Mapping):
        return all(matches(key, parts[0]) and matches(each, parts[1]) for key, each in value.items())
    return not issubclass(origin, Sequence) or all(matches(each, parts[0]) for each in value)


@cache
def _members(protocol: Any) -> frozenset[str]:
    """Return the names that an object of a protocol has."""
    named = (name for kind in protocol.__mro__ if getattr(kind, "_is_protocol", False) for name in vars(kind))
    return frozenset(name for name in named if name == "__call__" or not name.startswith("_"))
