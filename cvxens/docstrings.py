"""Docstrings in parts: what classes have in common is documented once, in a base, and readers find it in each of them.

An entry of a numpydoc section is a line "name : type", or "name, name : type", and the indented lines after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from inspect import cleandoc, signature
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def documented(kind: type[T]) -> type[T]:
    """List all parameters of a class in its docstring, each in its own words or in those of the nearest base.

    Examples
    --------
    >>> class Kernel:
    ...     '''A kernel.
    ...
    ...     Parameters
    ...     ----------
    ...     gamma : float
    ...         Above 0.
    ...     '''
    >>> @documented
    ... class Laplacian(Kernel):
    ...     '''exp(-gamma |x - x'|_1).'''
    ...     def __init__(self, gamma): ...
    >>> [line for line in Laplacian.__doc__.splitlines() if " : " in line]
    ['gamma : float']
    """
    compose(kind, Parameters=signature(kind).parameters)
    return kind


def compose(kind: type, *like: type, **sections: Iterable[str]) -> None:
    """Write these sections of a docstring anew, with the entries of the given names, where they would stand.

    What neither the class nor a base says of a name is in the words of the last class that it is `like`.
    """
    parts = dict(read_sections(kind))
    for title, names in sections.items():
        entries = {
            name: text
            for base in (base for each in (*like, kind) for base in reversed(each.__mro__))
            for name, text in read_entries(base, title).items()
        }
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(entries[name], []).append(name)
        parts[title] = "\n".join(f"{', '.join(group)} : {text}" for text, group in alike.items())
    ordered = dict.fromkeys(["", *sections, *parts])
    texts = [f"{title}\n{'-' * len(title)}\n{parts[title]}" for title in ordered if title and parts[title]]
    kind.__doc__ = "\n\n".join([parts[""], *texts])


@cache
def read_entries(kind: type, title: str) -> Mapping[str, str]:
    """Return what a section of a class's own docstring says of each name, from its type on."""
    lines = read_sections(kind).get(title, "").split("\n")
    starts = [k for k, line in enumerate(lines) if line and not line.startswith(" ")]
    texts = ["\n".join(lines[start:end]).partition(" : ") for start, end in pairwise([*starts, len(lines)])]
    return {name: text for names, _, text in texts for name in names.split(", ")}


def read_sections(kind: type) -> Mapping[str, str]:
    """Return the texts of the numpydoc sections of a class's own docstring, by title; what comes first has none."""
    lines = cleandoc(vars(kind).get("__doc__") or "").split("\n")
    titles = [k for k in range(len(lines) - 1) if lines[k + 1] and set(lines[k + 1]) == {"-"}]
    names = ["", *(lines[k] for k in titles)]
    bounds = zip([0, *(k + 2 for k in titles)], [*titles, len(lines)], strict=True)
    return {name: "\n".join(lines[a:b]).strip("\n") for name, (a, b) in zip(names, bounds, strict=True)}
