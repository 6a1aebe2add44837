"""Parameters of estimators: fields of dataclasses, declared once and documented once.

A base class declares the parameters that its estimators share as keyword-only fields, and the fitted attributes as
fields that the constructor does not take, and documents both in its own docstring. `estimator` makes the class that
users see: scikit-learn finds the parameters in the signature of the constructor that `dataclass` writes, and readers
find all of them in the docstring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from inspect import cleandoc, signature
from itertools import pairwise
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
    sections = dict(_sections(kind))
    inherited = [dict(_sections(base)) for base in kind.__mro__ if is_dataclass(base)]
    parameters, attributes = (
        {name: text for found in reversed(inherited) for name, text in _entries(found.get(title, ""))}
        for title in ("Parameters", "Attributes")
    )
    positional = [name for name, found in signature(kind).parameters.items() if found.kind is not found.KEYWORD_ONLY]
    sections["Parameters"] = "\n".join(parameters[name] for name in _order(positional, inherited, "Parameters"))
    sections["Attributes"] = "\n".join(attributes[name] for name in _order([], inherited, "Attributes"))
    summary = sections.pop("")
    ordered = ["Parameters", "Attributes", *(title for title in sections if title not in {"Parameters", "Attributes"})]
    texts = [f"{title}\n{'-' * len(title)}\n{sections[title]}" for title in ordered if sections[title]]
    kind.__doc__ = "\n\n".join([summary, *texts])
    kind.fitted = tuple(f.name for f in fields(kind) if not f.init and not f.name.startswith("_"))  # type: ignore
    return kind


def _order(first: Sequence[str], inherited: Sequence[Mapping[str, str]], title: str) -> dict[str, None]:
    """Return names in their order: those that come first, then those of every class, before its bases."""
    listed = (name for sections in inherited for name, _ in _entries(sections.get(title, "")))
    return dict.fromkeys([*first, *listed])


def _sections(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the titles of a class's own numpydoc sections with their texts; the first one has no title."""
    lines = cleandoc(vars(kind).get("__doc__") or "").split("\n")
    titles = [k for k in range(len(lines) - 1) if lines[k + 1] and set(lines[k + 1]) == {"-"}]
    starts = [0, *(k + 2 for k in titles)]
    ends = [*titles, len(lines)]
    for title, start, end in zip(["", *(lines[k] for k in titles)], starts, ends, strict=True):
        yield title, "\n".join(lines[start:end]).strip("\n")


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names of what a section lists with their entries: a line "name : type", and indented ones."""
    lines = text.split("\n") if text else []
    starts = [k for k, line in enumerate(lines) if line and not line.startswith(" ")]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start].partition(" : ")[0], "\n".join(lines[start:end])
