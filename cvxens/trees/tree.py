"""A fitted decision tree: its predictions, its text and its rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.tables import Feature, match
from cvxens.types import Array, FieldsOnly

Codes = NDArray[np.int64]


class Nodes(NamedTuple):
    """The nodes of a tree, breadth first; node 0 is the root."""

    feature: Codes  # the feature a node splits on, -1 at a leaf
    cut: Array  # values up to it go to the first child of a numeric split, above it to the second; NaN elsewhere
    first: Codes  # the first child; the others follow it, a nominal split having one per category
    counts: Array  # training weight of each class at the node, (n_nodes, n_classes)


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
        errors = f"/{self.errors:.1f}" if self.errors >= 0.05 else ""
        return f"{condition}{self.label} ({self.cases:.1f}{errors})"


@dataclass(frozen=True, eq=False)
class Tree(FieldsOnly):
    """A decision tree over numeric and nominal features; `fit_tree` learns one.

    Its `features` are those of the table it was learned from, its `classes` are sorted. Two trees are equal if they
    have the same features, classes, splits and class weights.
    """

    features: tuple[Feature, ...]
    classes: tuple[Any, ...]
    nodes: Nodes

    def check(self) -> None:
        """Raise a ValueError unless the branches of every node lead to nodes of their own, breadth first."""
        feature, cut, first, counts = self.nodes
        inner = np.flatnonzero(feature >= 0)
        branches = self.branches[inner]
        shapes = {feature.shape, cut.shape, first.shape, counts.shape[:1]} == {(1 + branches.sum(),)}
        kinds = (feature.dtype.kind, cut.dtype, first.dtype.kind, counts.dtype) == ("i", float, "i", float)
        if not (shapes and kinds and counts.shape[1:] == (len(self.classes),)):
            raise ValueError("a tree whose nodes are not as many as their branches")
        # breadth first, so that children come one after the other and after their parents
        children = 1 + np.cumsum(branches) - branches
        nominal = np.array([self.features[d].categories is not None for d in feature[inner].tolist()], bool)
        in_order = (first[inner] == children).all() and (children > inner).all()
        if not (in_order and (np.isnan(cut[inner]) == nominal).all()):
            raise ValueError("a tree whose branches do not lead to its nodes")

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return self.features, self.classes, *(field.tobytes() for field in self.nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._key == other._key

    @cached_property
    def _hash(self) -> int:
        # runs of column generation ask for it in every round, for every tree
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def branches(self) -> Codes:
        """The number of children of each node, (n_nodes,), 0 at a leaf."""
        sizes = np.array([feature.n_values or 2 for feature in self.features])
        return np.where(self.nodes.feature >= 0, sizes[self.nodes.feature], 0)

    @cached_property
    def parents(self) -> Codes:
        """The parent of each node, (n_nodes,); the root's is itself."""
        inner = np.flatnonzero(self.branches)
        return np.concatenate([[0], np.repeat(inner, self.branches[inner])])

    @cached_property
    def _shares(self) -> Array:
        """The part of its parent's training weight that each node got."""
        # only a leaf may have the size 0: what no training case reaches is not divided further
        sizes = self.nodes.counts.sum(axis=1)
        return sizes / sizes[self.parents]

    @cached_property
    def probabilities(self) -> Array:
        """Class probabilities at each node, (n_nodes, n_classes): its parent's where no training case arrived."""
        found = self.nodes.counts.copy()
        for node in np.flatnonzero(found.sum(axis=1) <= 0):
            found[node] = found[self.parents[node]]
        return found / found.sum(axis=1, keepdims=True)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int((self.nodes.feature < 0).sum())

    @cached_property
    def depth(self) -> int:
        """The largest number of tests before a decision."""
        depths = np.zeros(len(self.parents), dtype=np.int64)
        for node in range(1, len(depths)):
            depths[node] = depths[self.parents[node]] + 1
        return int(depths.max())

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities, (n_samples, n_classes), in the order of `classes`.

        `X` is a table of the features of training, or what `match` makes one of. A sample without the value that a
        test asks for, or with a category that was not seen in training, goes down every branch, in the proportion of
        the training cases that took it, and its classes are weighted accordingly.
        """
        columns = match(self.features, X).columns
        return _descend(self.nodes, self.branches, self._shares, self.probabilities, columns)

    def predict(self, X: Any) -> NDArray:
        """Return the most probable class of each sample, (n_samples,); of equally probable ones the first."""
        return np.array(self.classes)[self.predict_proba(X).argmax(axis=1)]

    def __str__(self) -> str:
        """Draw the tree: a line per branch, leaves with their training cases and errors."""
        return "\n".join(self._lines()) or str(self._decision(0, ()))

    def rules(self) -> tuple[Rule, ...]:
        """Return a rule per leaf, from the top of the drawing down; on samples without gaps exactly one applies."""
        found = []
        waiting: list[tuple[int, dict[tuple[str, str], str]]] = [(0, {})]
        while waiting:
            node, tests = waiting.pop()
            if not self.branches[node]:
                found.append(self._decision(node, tuple(f"{' '.join(test)} {value}" for test, value in tests.items())))
            waiting += [(child, {**tests, (name, sign): value}) for child, name, sign, value in self._children(node)]
        return tuple(found)

    def _lines(self) -> Iterator[str]:
        waiting = [(0, *child) for child in self._children(0)]
        while waiting:
            depth, node, *test = waiting.pop()
            decision = "" if self.branches[node] else f" {self._decision(node, ())}"
            yield f"{'|   ' * depth}{' '.join(test)}:{decision}"
            waiting += [(depth + 1, *child) for child in self._children(node)]

    def _children(self, node: int) -> Iterator[tuple[int, str, str, str]]:
        """Yield the children of a node and their tests (name, sign, value), the last first, as a stack wants them."""
        feature = self.features[self.nodes.feature[node]]
        for branch in reversed(range(self.branches[node])):
            child = int(self.nodes.first[node]) + branch
            if feature.categories:
                yield child, feature.name, "=", feature.categories[branch]
            else:
                yield child, feature.name, ("<=", ">")[branch], f"{self.nodes.cut[node]:.12g}"

    def _decision(self, node: int, conditions: tuple[str, ...]) -> Rule:
        counts = self.nodes.counts[node]
        label = self.classes[self.probabilities[node].argmax()]
        return Rule(conditions, label, float(counts.sum()), float(counts.sum() - counts.max()))


@njit(cache=True)
def _descend(nodes: Nodes, branches: Codes, shares: Array, probabilities: Array, columns: Array) -> Array:
    """Send every sample down the tree, in parts where a value is missing, and sum the probabilities of its leaves."""
    out = np.zeros((columns.shape[1], probabilities.shape[1]))
    waiting, parts = np.empty(len(branches), dtype=np.int64), np.empty(len(branches))
    for i in range(len(out)):
        waiting[0], parts[0], left = 0, 1.0, 1
        while left > 0:
            left -= 1
            node, part = waiting[left], parts[left]
            if branches[node] == 0:
                out[i] += part * probabilities[node]
                continue
            # every branch, or the one of the value: a nominal feature has no cut, and its code is the branch
            value = columns[nodes.feature[node], i]
            if np.isnan(value):
                low, high = 0, branches[node]
            else:
                low = int(value) if np.isnan(nodes.cut[node]) else int(value > nodes.cut[node])
                high = low + 1
            for child in range(nodes.first[node] + low, nodes.first[node] + high):
                waiting[left] = child
                parts[left] = part * shares[child] if high - low > 1 else part
                left += 1
    return out
