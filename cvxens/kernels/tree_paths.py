"""The trees of an ensemble as kernels need them: the parent of every node, and the leaf that a sample reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.kernels.pair import same_features
from cvxens.trees import Tree, match
from cvxens.types import Array, FieldsOnly

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
        return [_parents(estimator.tree_) for estimator in _estimators(self.forest)]

    def leaves(self, X: Any) -> Indices:
        """What `apply` says."""
        return np.ascontiguousarray(self.forest.apply(X).reshape(len(X), -1).T.astype(np.int64))


class ThresholdTree(NamedTuple):
    """A tree as arrays, parents before their children; node 0 is the root.

    Parameters
    ----------
    children_left, children_right : ndarray of int64, shape (n_nodes,)
        Where values up to the threshold go, and where those above it go; -1 at a leaf.
    feature : ndarray of int64, shape (n_nodes,)
        The feature that a node asks for.
    threshold : ndarray of shape (n_nodes,)
        Of its values in single precision.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether missing values go where small ones do.
    """

    children_left: Indices
    children_right: Indices
    feature: Indices
    threshold: Array
    missing_left: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ThresholdTrees(FieldsOnly):
    """What the trees of a fitted estimator of scikit-learn are to `apply`, without the estimator.

    Parameters
    ----------
    trees : tuple of ThresholdTree
        Its trees.
    n_features : int
        Of the samples.
    """

    trees: tuple[ThresholdTree, ...]
    n_features: int

    @classmethod
    def of(cls, forest: Any) -> ThresholdTrees:
        """Copy the arrays of a fitted tree, forest or gradient boosting."""
        return cls(tuple(_arrays(tree.tree_) for tree in _estimators(forest)), int(forest.n_features_in_))

    def check(self) -> None:
        """Raise a ValueError unless every node but the root is the child of one that comes before it."""
        for tree in self.trees:
            if len({part.shape for part in tree}) > 1 or [part.dtype.kind for part in tree] != [
                "i",
                "i",
                "i",
                "f",
                "b",
            ]:
                raise ValueError("a tree whose nodes are not as many as its questions")
            inner = np.flatnonzero(tree.children_left >= 0)
            children = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
            once = np.array_equal(np.sort(children), np.arange(1, len(tree.feature)))
            asked = tree.feature[inner]
            if not (once and (children > np.tile(inner, 2)).all() and ((asked >= 0) & (asked < self.n_features)).all()):
                raise ValueError("a tree whose branches do not lead to its nodes")

    @property
    def parents(self) -> Sequence[Indices]:
        """Read off the tables of children."""
        return [_parents(tree) for tree in self.trees]

    def leaves(self, X: Any) -> Indices:
        """Descend, in single precision as scikit-learn does."""
        X = np.asarray(X, np.float64)
        same_features("X", X, self.n_features, "the trees")
        with np.errstate(over="ignore"):
            rounded = X.astype(np.float32)
        if np.isinf(rounded).any():
            raise InvalidInput("X", "found infinity, or a number that single precision does not reach", "remove it")
        return np.stack([_reached(tree, rounded) for tree in self.trees])


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
    """Return the trees of an estimator, or of a sequence of trees; `ThresholdTrees` are what they are.

    Raises
    ------
    InvalidInput
        If it is neither, or not fitted.
    """
    if hasattr(forest, "apply") and (hasattr(forest, "tree_") or hasattr(forest, "estimators_")):
        return SklearnTrees(forest)
    if isinstance(forest, ThresholdTrees):
        return forest
    if isinstance(forest, Sequence) and forest and all(isinstance(tree, Tree) for tree in forest):
        return OwnTrees(tuple(forest))
    raise InvalidInput(
        "forest",
        f"found {type(forest).__name__}, without fitted trees to apply",
        "give a fitted tree, forest or gradient boosting of scikit-learn, or a list of trees of cvxens.trees",
    )


def _estimators(forest: Any) -> Sequence[Any]:
    """The trees of a forest, or a tree itself."""
    return np.ravel(getattr(forest, "estimators_", [forest])).tolist()


def _arrays(tree: Any) -> ThresholdTree:
    left, right, feature = (a.astype(np.int64) for a in (tree.children_left, tree.children_right, tree.feature))
    return ThresholdTree(left, right, feature, tree.threshold.copy(), tree.missing_go_to_left.astype(bool))


def _reached(tree: ThresholdTree, X: NDArray[np.float32]) -> Indices:
    at = np.zeros(len(X), np.int64)
    while (moving := np.flatnonzero(tree.children_left[at] >= 0)).size:
        node = at[moving]
        values = X[moving, tree.feature[node]]
        small = np.where(np.isnan(values), tree.missing_left[node], values <= tree.threshold[node])
        at[moving] = np.where(small, tree.children_left[node], tree.children_right[node])
    return at


def _parents(tree: Any) -> Indices:
    parent = np.zeros(len(tree.children_left), np.int64)
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
