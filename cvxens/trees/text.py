"""The text form and the rule form of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from cvxens.trees.records import Codes, Nodes
from cvxens.trees.tables import Feature
from cvxens.types import Array


class Drawable(Protocol):
    """What of a tree is drawn."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """Of the table it was learned from."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes, sorted."""

    @property
    def nodes(self) -> Nodes:
        """The tree itself."""

    @property
    def branches(self) -> Codes:
        """The number of children of each node, 0 at a leaf."""

    @property
    def probabilities(self) -> Array:
        """Class probabilities at each node, (n_nodes, n_classes)."""


@dataclass(frozen=True)
class Rule:
    """One path of a tree, tests that a later one on the same feature implies left out.

    Parameters
    ----------
    conditions : tuple of str
        Such as ``"outlook = sunny"`` and ``"humidity <= 75"``; all must hold.
    label : object
        The class that the rule predicts.
    cases, errors : float
        Training weight that arrived, and the part of it that is of other classes.

    Examples
    --------
    >>> print(Rule(("humidity <= 75", "outlook = sunny"), "yes", 5.0, 1.0))
    if humidity <= 75 and outlook = sunny then yes (5.0/1.0)
    """

    conditions: tuple[str, ...]
    label: Any
    cases: float
    errors: float

    def __str__(self) -> str:
        condition = f"if {' and '.join(self.conditions)} then " if self.conditions else ""
        return f"{condition}{self.label} {_tally(self.cases, self.errors)}"


def text(tree: Drawable) -> Iterator[str]:
    """Yield the lines of a drawing of `tree`, in the manner of C4.5."""
    if not tree.branches[0]:
        yield _decision(tree, 0)
    waiting = list(_children(tree, 0, 0))
    while waiting:
        node, depth, test = waiting.pop()
        inner = tree.branches[node] > 0
        yield f"{'|   ' * depth}{' '.join(test)}:{'' if inner else ' ' + _decision(tree, node)}"
        waiting += _children(tree, node, depth + 1)


def rules(tree: Drawable) -> Iterator[Rule]:
    """Yield a rule per leaf of `tree`, in the order of its drawing."""
    waiting: list[tuple[int, dict[tuple[str, str], str]]] = [(0, {})]
    while waiting:
        node, tests = waiting.pop()
        if not tree.branches[node]:
            cases, errors = _weights(tree, node)
            conditions = tuple(f"{name} {sign} {value}" for (name, sign), value in tests.items())
            yield Rule(conditions, _label(tree, node), cases, errors)
        for child, _, (name, sign, value) in _children(tree, node, 0):
            waiting.append((child, {**tests, (name, sign): value}))


def _children(tree: Drawable, node: int, depth: int) -> Iterator[tuple[int, int, tuple[str, str, str]]]:
    """Yield the children of a node, the last first, as a stack wants them."""
    feature = tree.features[tree.nodes.feature[node]]
    for branch in reversed(range(tree.branches[node])):
        if feature.categories:
            test = (feature.name, "=", feature.categories[branch])
        else:
            test = (feature.name, ("<=", ">")[branch], f"{tree.nodes.cut[node]:.12g}")
        yield int(tree.nodes.first[node]) + branch, depth, test


def _label(tree: Drawable, node: int) -> Any:
    return tree.classes[tree.probabilities[node].argmax()]


def _weights(tree: Drawable, node: int) -> tuple[float, float]:
    counts = tree.nodes.counts[node]
    return float(counts.sum()), float(counts.sum() - counts.max())


def _decision(tree: Drawable, node: int) -> str:
    return f"{_label(tree, node)} {_tally(*_weights(tree, node))}"


def _tally(cases: float, errors: float) -> str:
    return f"({cases:.1f}/{errors:.1f})" if errors >= 0.05 else f"({cases:.1f})"
