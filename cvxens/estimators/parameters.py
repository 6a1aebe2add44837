"""Parameters of estimators: fields of dataclasses, declared once and documented once.

A base class declares the parameters that its estimators share as keyword-only fields, and the fitted attributes as
fields that the constructor does not take, and documents both in its own docstring. `estimator` makes the class that
users see: scikit-learn finds the parameters in the signature of the constructor that `dataclass` writes, and readers
find all of them in the docstring.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass
from inspect import cleandoc, signature
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(eq_default=False)
def estimator(kind: type[T]) -> type[T]:
    """Make a dataclass of an estimator, and complete its docstring by the parameters and attributes that it inherits.

    Positional parameters come first, then those of the class itself, then those of its bases. The class variable
    `fitted` gets the names of the fields that are no parameters.

    Examples
    --------
    >>> from dataclasses import field
    >>> @dataclass
    ... class Limited:
    ...     '''Fits with a limit.
    ...
    ...     Parameters
    ...     ----------
    ...     max_time : float
    ...         Seconds.
    ...     '''
    ...
    ...     max_time: float = field(default=10.0, kw_only=True)
    >>> @estimator
    ... class Machine(Limited):
    ...     '''A machine.
    ...
    ...     Parameters
    ...     ----------
    ...     C : float
    ...         The price of slack.
    ...     '''
    ...
    ...     C: float = 1.0
    >>> list(signature(Machine).parameters)
    ['C', 'max_time']
    >>> [line for line in Machine.__doc__.splitlines() if " : " in line]
    ['C : float', 'max_time : float']
    """
    kind = dataclass(eq=False, repr=False)(kind)
    own, inherited = _sections(kind), [_sections(base) for base in kind.__mro__ if is_dataclass(base)]
    positional = [name for name, found in signature(kind).parameters.items() if found.kind is not found.KEYWORD_ONLY]
    for title, first in (("Parameters", positional), ("Attributes", [])):
        listed = [_entries(sections.get(title, "")) for sections in inherited]
        # a class's own words replace those of its bases
        texts = {name: text for entries in reversed(listed) for name, text in entries.items()}
        order = dict.fromkeys([*first, *(name for entries in listed for name in entries)])
        own[title] = "\n".join(texts[name] for name in order)
    titles = dict.fromkeys(["", "Parameters", "Attributes", *own])
    parts = [f"{title}\n{'-' * len(title)}\n{own[title]}" if title else own[title] for title in titles if own[title]]
    kind.__doc__ = "\n\n".join(parts)
    kind.fitted = tuple(f.name for f in fields(kind) if not f.init and not f.name.startswith("_"))  # type: ignore
    return kind


def _sections(kind: type) -> dict[str, str]:
    """Return the texts of a class's own numpydoc sections by their titles; the first one has no title."""
    parts = re.split(r"^(.+)\n-+\n", cleandoc(vars(kind).get("__doc__") or ""), flags=re.MULTILINE)
    return {title: text.strip("\n") for title, text in zip(["", *parts[1::2]], parts[::2], strict=True)}


def _entries(text: str) -> dict[str, str]:
    """Return the entries of a section, each a line "name : type" and indented ones, by what stands before the colon."""
    entries = re.findall(r"^\S.*(?:\n .*)*", text, flags=re.MULTILINE)
    return {entry.split("\n")[0].partition(" : ")[0]: entry for entry in entries}
