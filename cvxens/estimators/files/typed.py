"""Whether values are of the types that annotations say, as far as those are of the kinds that records have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np


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
    for name, hint in _hints(kind).items():
        value = getattr(record, name)
        if not fits(value, hint):
            raise TypeError(f"{type(record).__name__}.{name} is of the type {type(value).__name__}")
    return record


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The annotations of what a record is made of."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", ())
    return {name: hints[name] for name in names if name in hints}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type.

    Numbers that are whole count as floats, and truth values as no numbers. Of an array the kind of its numbers counts,
    and of a protocol that its members are there.

    Examples
    --------
    >>> fits((1.0, 2), tuple[float, ...]), fits((1.0, "2"), tuple[float, ...]), fits(None, int | None)
    (True, False, True)
    """
    origin = get_origin(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin in {Union, UnionType}:
        return any(fits(value, each) for each in get_args(hint))
    if origin is not None:
        return isinstance(value, origin) and all(_parts_fit(origin, value, get_args(hint)))
    if hint in _PLAIN:
        return isinstance(value, _PLAIN[hint]) and (hint is bool or not isinstance(value, bool | np.bool_))
    if getattr(hint, "_is_protocol", False):
        return all(hasattr(value, member) for member in _members(hint))
    return isinstance(value, NoneType if hint is None else hint)


@cache
def _members(protocol: Any) -> frozenset[str]:
    """What an object of a protocol has."""
    named = (name for kind in protocol.__mro__ if getattr(kind, "_is_protocol", False) for name in vars(kind))
    return frozenset(name for name in named if name == "__call__" or not name.startswith("_"))


def _parts_fit(origin: Any, value: Any, arguments: tuple[Any, ...]) -> Any:
    """Whether what a value holds is of the types that stand in the brackets."""
    if origin is np.ndarray:
        kind = get_args(arguments[1])[0]
        return [kind is Any or isinstance(kind, TypeVar) or value.dtype.kind in _KINDS[np.dtype(kind).kind]]
    if issubclass(origin, tuple) and arguments[-1] is not ...:
        same = len(value) == len(arguments)
        return [same, *(fits(each, hint) for each, hint in zip(value, arguments, strict=False))]
    if issubclass(origin, Mapping):
        return [fits(key, arguments[0]) and fits(each, arguments[1]) for key, each in value.items()]
    if issubclass(origin, Sequence):
        return [fits(each, arguments[0]) for each in value]
    return [origin is not type(None) and (origin is not Callable or callable(value))]


_PLAIN: Mapping[Any, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
    str: (str,),
}
"""What counts as a number, a truth value or text."""

_KINDS: Mapping[str, str] = {"f": "f", "i": "iu", "u": "iu", "b": "b", "O": "OU", "U": "U"}
"""The kinds of arrays that count as one of a kind."""
