"""The trees of an ensemble as kernels need them: the parent of every node, and the leaf that a sample reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.trees import Tree, match

Indices: TypeAlias = NDArray[np.int64]


class Trees(Protocol):
    """Fitted trees whose nodes are numbered from the root, 0, so that parents come before their children."""

    @property
    def parents(self) -> Sequence[Indices]:
        """Of each tree, the parent of every node; the root's is itself."""

    def leaves(self, X: Any) -> Indices:
        """The leaf that each sample reaches, shape (n_trees, n_samples)."""


@dataclass(frozen=True, eq=False)
class SklearnTrees:
    """The trees of a fitted estimator of scikit-learn that has `apply`."""

    forest: Any

    @property
    def parents(self) -> Sequence[Indices]:
        """Read off the tables of children."""
        estimators = np.ravel(getattr(self.forest, "estimators_", [self.forest]))
        return [_parents(estimator.tree_) for estimator in estimators]

    def leaves(self, X: Any) -> Indices:
        """What `apply` says."""
        return np.ascontiguousarray(self.forest.apply(X).reshape(len(X), -1).T.astype(np.int64))


@dataclass(frozen=True, eq=False)
class OwnTrees:
    """Trees of `cvxens.trees`."""

    trees: Sequence[Tree]

    @property
    def parents(self) -> Sequence[Indices]:
        """Read off the first children."""
        found = []
        for tree in self.trees:
            inner = np.flatnonzero(tree.branches)
            found.append(np.concatenate([[0], np.repeat(inner, tree.branches[inner])]))
        return found

    def leaves(self, X: Any) -> Indices:
        """Descend; without a known value to where most of the training weight went."""
        return np.stack([_descend(tree, match(tree.features, X).columns) for tree in self.trees])


def trees_of(forest: Any) -> Trees:
    """Return the trees of an estimator, or of a sequence of trees.

    Raises
    ------
    InvalidInput
        If it is neither, or not fitted.
    """
    if hasattr(forest, "apply") and (hasattr(forest, "tree_") or hasattr(forest, "estimators_")):
        return SklearnTrees(forest)
    if isinstance(forest, Sequence) and forest and all(isinstance(tree, Tree) for tree in forest):
        return OwnTrees(tuple(forest))
    raise InvalidInput(
        "forest",
        f"found {type(forest).__name__}, without fitted trees to apply",
        "give a fitted tree, forest or gradient boosting of scikit-learn, or a list of trees of cvxens.trees",
    )


def _parents(tree: Any) -> Indices:
    parent = np.zeros(tree.node_count, np.int64)
    for children in (tree.children_left, tree.children_right):
        inner = np.flatnonzero(children >= 0)
        parent[children[inner]] = inner
    return parent


def _descend(tree: Tree, columns: NDArray) -> Indices:
    nodes, sizes = tree.nodes, tree.nodes.counts.sum(axis=1)
    inner = np.flatnonzero(tree.branches)
    heaviest = np.zeros(len(sizes), np.int64)
    heaviest[inner] = [sizes[nodes.first[k] : nodes.first[k] + tree.branches[k]].argmax() for k in inner]
    at = np.zeros(columns.shape[1], np.int64)
    while (moving := np.flatnonzero(tree.branches[at])).size:
        node = at[moving]
        values, cuts = columns[nodes.feature[node], moving], nodes.cut[node]
        branch = np.where(np.isnan(cuts), values, values > cuts)
        at[moving] = nodes.first[node] + np.where(np.isnan(values), heaviest[node], branch).astype(np.int64)
    return at
