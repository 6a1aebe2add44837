"""Supervised kernels: what the trees of an ensemble do with two samples.

Trees are known by two things, the parent of every node and the leaf that a sample reaches (`Trees`): scikit-learn's as
they are, the same as plain arrays for files, and those of `cvxens.trees`. From these come the matrix, by comparing the
ways to two leaves level by level, and products with it that never write it out, by sums through the trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias, final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.tiles import Tile, check_features
from cvxens.trees import Tree, match
from cvxens.types import Array, FieldsOnly
from cvxens.validation import RandomState

Indices: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]

WIDTH = 16
"""Columns that go through the trees together: their sums at all nodes of a tree stay in a cache."""

NONE_ABOVE, IDLE = -1, -2
"""In place of a node above: there is none that counts, or the node itself does not count."""

KINDS = ("leaf", "depth")
"""The nodes of a tree that count: its leaves, or all but the root."""


@final
@dataclass(frozen=True, eq=False)
class TreeEnsemble(Kernel):
    """K(x, x') = 1/T sum_t k_t(x, x'), over the T trees of a fitted ensemble.

    With "leaf", TT06 (8), k_t is 1 if both samples reach the same leaf, else 0; with "depth", TT06 (9), it is the
    depth of the deepest node that both pass, 0 for the root. So the hypotheses are the indicators of leaves, or
    of all nodes but the root, with weights 1/T. Samples may be whatever the ensemble takes, such as mixed types.

    Parameters
    ----------
    forest : estimator or sequence of Tree
        A fitted tree, forest or gradient boosting of scikit-learn, or trees of `cvxens.trees`. In the latter, a
        sample without the value that a test asks for goes where most of the training weight went.
    kind : {"leaf", "depth"}
        Which of the two.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> tree = DecisionTreeRegressor().fit(X, [0.0, 1.0, 4.0, 5.0])
    >>> TreeEnsemble(tree, "depth")(X)
    array([[2., 1., 0., 0.],
           [1., 2., 0., 0.],
           [0., 0., 2., 1.],
           [0., 0., 1., 2.]])
    """

    forest: Any = field(repr=False)
    kind: str = "leaf"
    equation = "1/T sum_t [same leaf], or depth of the common ancestor"
    source = "TT06 (8), (9)"

    def __post_init__(self) -> None:
        validation.one_of("kind", self.kind, KINDS)

    @cached_property
    def _trees(self) -> Trees:
        return trees_of(self.forest)

    @property
    def n_trees(self) -> int:
        """Number of trees, T."""
        return len(self._trees.parents)

    @cached_property
    def _passed(self) -> list[Codes]:
        return [list_passed(parent, self.kind) for parent in self._trees.parents]

    @cached_property
    def _nodes(self) -> list[tuple[int, int]]:
        """Tree and number of every node that is a hypothesis."""
        by_tree = zip(self._trees.parents, self._passed, strict=True)
        reached = [passed[np.setdiff1d(np.arange(len(parent)), parent[1:])] for parent, passed in by_tree]
        return [(t, int(node)) for t, passed in enumerate(reached) for node in np.unique(passed[passed >= 0])]

    def tile(self, X: Any, Z: Any) -> Tile:
        left = self._trees.leaves(X)
        right = left if Z is X else self._trees.leaves(Z)

        def count(rows: slice, columns: slice) -> Array:
            counts = np.zeros((len(left[0, rows]), len(right[0, columns])), np.int32)
            for passed, from_left, from_right in zip(self._passed, left, right, strict=True):
                ours, theirs = passed[from_left[rows]], np.ascontiguousarray(passed[from_right[columns]].T)
                add_common_levels(ours, theirs, counts)
            return counts / len(self._passed)

        return count

    def unwritten(self, X: Any, Z: Any = None) -> TreeMatrix:
        """Return the matrix between the rows of `X` and `Z` (by default `X`), for products alone, unwritten."""
        left = self._trees.leaves(X)
        right = left if Z is None or Z is X else self._trees.leaves(Z)
        above = [list_above(parent, self.kind) for parent in self._trees.parents]
        return TreeMatrix(np.concatenate(above), np.cumsum([0, *map(len, above)]), left, right)

    def diag(self, X: Any) -> Array:
        leaves = self._trees.leaves(X)
        return np.mean([(passed[at] >= 0).sum(axis=1) for passed, at in zip(self._passed, leaves, strict=True)], axis=0)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        return len(self._nodes) / len(self._passed)

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        if not self._nodes:
            raise InvalidInput("forest", "found trees without a test", "give trees with at least one test")
        drawn = validation.generator(random_state).integers(len(self._nodes), size=validation.whole("n", n))
        return tuple(PassesNode(self, *self._nodes[k]) for k in drawn)

    def passes(self, X: Any, tree: int, node: int) -> Array:
        """Return 1 for the samples that pass a node of a tree, else 0; shape (n_samples,)."""
        passed = self._passed[tree][self._trees.leaves(X)[tree]]
        return (passed == node).any(axis=1).astype(np.float64)

    def __repr__(self) -> str:
        return f"TreeEnsemble({type(self.forest).__name__}, {self.kind!r})"


@dataclass(frozen=True)
class PassesNode:
    """The hypothesis h(x) = 1 if x passes a node of a tree of an ensemble, else 0."""

    kernel: TreeEnsemble
    tree: int
    node: int

    def __call__(self, X: Any, /) -> Array:
        return self.kernel.passes(X, self.tree, self.node)

    def __str__(self) -> str:
        return f"passes node {self.node} of tree {self.tree}"


def list_passed(parent: Indices, kind: str) -> Codes:
    """List the nodes that count on the way to each node, (n_nodes, n_levels), -1 below the end."""
    if kind == "leaf":
        return np.arange(len(parent), dtype=np.int32)[:, None]
    depth = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    # the root, at depth 0, is passed by all and does not count
    # at a node of depth k its level k - 1 is itself, and the levels before are those of its parent
    passed = np.full((len(parent), max(1, depth.max())), -1, np.int32)
    for node in range(1, len(parent)):
        passed[node] = passed[parent[node]]
        passed[node, depth[node] - 1] = node
    return passed


def list_above(parent: Indices, kind: str) -> Indices:
    """List the next node above each node that counts, (n_nodes,), as `TreeMatrix` has it."""
    if kind == "leaf":
        return np.full(len(parent), NONE_ABOVE)
    # what is below the root has the root above, which does not count
    above = np.where(parent == 0, NONE_ABOVE, parent)
    above[0] = IDLE
    return above


@njit(cache=True, nogil=True)
def add_common_levels(left: Codes, right: Codes, counts: Codes) -> None:
    """Add to counts_ij the number of levels at which row i of left and column j of right are one node."""
    for i in range(left.shape[0]):
        for level in range(left.shape[1]):
            node, common = left[i, level], np.int32(0)
            if node < 0:
                break
            for j in range(right.shape[1]):
                same = np.int32(right[level, j] == node)
                counts[i, j] += same
                common += same
            # rows that differ at this level share no deeper node
            if common == 0:
                break


@dataclass(frozen=True, eq=False)
class TreeMatrix:
    """K = 1/T sum_t Z_t Z'_t' between two samples, where Z_t and Z'_t say which nodes of tree t a sample passes.

    ``K @ C`` takes O(n_trees (n_samples + n_nodes)) time for every column of C, and no memory but for the result: what
    the leaves gather is added up towards the root, and back down to the leaves.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> K = TreeEnsemble(DecisionTreeRegressor().fit(X, [0.0, 1.0, 4.0, 5.0]), "depth").unwritten(X)
    >>> K.shape, K @ np.array([1.0, 0.0, 0.0, -1.0])
    ((4, 4), array([ 2.,  1., -1., -2.]))
    """

    # of all trees, one after another, the next node that counts on the way to the root, in its own tree; NONE_ABOVE
    # where there is none, and IDLE for a node that does not count
    above: Indices
    first: Indices  # where each tree begins in above, (n_trees + 1,)
    left: Indices  # the leaves that the samples of the rows reach, (n_trees, n_samples)
    right: Indices  # those of the columns

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.shape[1], self.right.shape[1]

    def __matmul__(self, C: Array) -> Array:
        # C is (n_columns,) or (n_columns, n_outputs)
        C = np.asarray(C, np.float64)
        if len(C) != self.shape[1]:
            raise ValueError(f"a matrix of the shape {self.shape} and {len(C)} rows")
        columns = C.reshape(len(C), -1)
        product = np.empty((self.shape[0], columns.shape[1]))
        for start in range(0, columns.shape[1], WIDTH):
            part = np.ascontiguousarray(columns[:, start : start + WIDTH])
            product[:, start : start + WIDTH] = sum_through_trees(self.above, self.first, self.left, self.right, part)
        return product.reshape(self.shape[0], *C.shape[1:]) / len(self.left)


@njit(cache=True, nogil=True)
def sum_through_trees(above: Indices, first: Indices, left: Indices, right: Indices, C: Array) -> Array:
    """Compute sum_t Z_t Z'_t' C, where a row of Z_t is 1 at a leaf and at all that is above it."""
    product = np.zeros((left.shape[1], C.shape[1]))
    sums = np.empty((np.max(first[1:] - first[:-1]), C.shape[1]))
    for t in range(left.shape[0]):
        # what each leaf gathers of C; what each node then has of all below it, and each leaf of all nodes above it
        sums[:] = 0.0
        for i in range(right.shape[1]):
            _add_row(C, i, sums, right[t, i])
        _sum_up_and_down(above[first[t] : first[t + 1]], sums)
        # row i of Z_t times that: what its leaf has
        for i in range(left.shape[1]):
            _add_row(sums, left[t, i], product, i)
    return product


@njit(cache=True, nogil=True)
def _sum_up_and_down(above: Indices, sums: Array) -> None:
    """Add to each node what is below it (Z'_t' C), then what all nodes above it have (rows of Z_t times that)."""
    # parents come before their children: backwards, children are done before their parents
    for node in range(len(above) - 1, -1, -1):
        if above[node] >= 0:
            _add_row(sums, node, sums, above[node])
        elif above[node] == IDLE:
            sums[node] = 0.0
    for node in range(len(above)):
        if above[node] >= 0:
            _add_row(sums, above[node], sums, node)


@njit(cache=True, nogil=True, inline="always")
def _add_row(values: Array, i: int, sums: Array, j: int) -> None:
    for k in range(values.shape[1]):
        sums[j, k] += values[i, k]


class Trees(Protocol):
    """Fitted trees whose nodes are numbered from the root, 0, so that parents come before their children."""

    @property
    def parents(self) -> Sequence[Indices]:
        """The parent of every node, for each tree; the root is its own parent."""

    def leaves(self, X: Any) -> Indices:
        """Find the leaf that each sample reaches, shape (n_trees, n_samples)."""


def trees_of(forest: Any) -> Trees:
    """Return the trees of a fitted estimator, or of a sequence of trees; `ThresholdTrees` are what they are."""
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


@dataclass(frozen=True, eq=False)
class SklearnTrees:
    """The trees of a fitted estimator of scikit-learn that has `apply`."""

    forest: Any

    @property
    def parents(self) -> Sequence[Indices]:
        return [_invert_children(tree) for tree in _iterate_trees(self.forest)]

    def leaves(self, X: Any) -> Indices:
        return np.ascontiguousarray(self.forest.apply(X).reshape(len(X), -1).T.astype(np.int64))


class ThresholdTree(NamedTuple):
    """A tree as arrays (n_nodes,), parents before their children; node 0 is the root."""

    children_left: Indices  # where values up to the threshold go, -1 at a leaf
    children_right: Indices  # where values above it go
    feature: Indices  # the feature that a node asks for
    threshold: Array  # compared with values in single precision
    missing_left: NDArray[np.bool_]  # True where missing values go where small ones do


@dataclass(frozen=True, eq=False)
class ThresholdTrees(FieldsOnly):
    """The trees of a fitted estimator of scikit-learn as arrays, without the estimator: leaves are those of `apply`."""

    trees: tuple[ThresholdTree, ...]
    n_features: int

    @classmethod
    def from_forest(cls, forest: Any) -> ThresholdTrees:
        """Copy the arrays of a fitted tree, forest or gradient boosting."""
        trees = []
        for tree in _iterate_trees(forest):
            left, right, feature = (a.astype(np.int64) for a in (tree.children_left, tree.children_right, tree.feature))
            missing_left = tree.missing_go_to_left.astype(bool)
            trees.append(ThresholdTree(left, right, feature, tree.threshold.copy(), missing_left))
        return cls(tuple(trees), int(forest.n_features_in_))

    def check(self) -> None:
        """Raise a ValueError unless every node but the root is the child of one that comes before it."""
        for tree in self.trees:
            if len({part.shape for part in tree}) > 1 or "".join(part.dtype.kind for part in tree) != "iiifb":
                raise ValueError("a tree whose nodes are not as many as its questions")
            inner = np.flatnonzero(tree.children_left >= 0)
            children = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
            once = np.array_equal(np.sort(children), np.arange(1, len(tree.feature)))
            asked = tree.feature[inner]
            if not (once and (children > np.tile(inner, 2)).all() and ((asked >= 0) & (asked < self.n_features)).all()):
                raise ValueError("a tree whose branches do not lead to its nodes")

    @property
    def parents(self) -> Sequence[Indices]:
        return [_invert_children(tree) for tree in self.trees]

    def leaves(self, X: Any) -> Indices:
        # in single precision, as scikit-learn descends
        X = np.asarray(X, np.float64)
        check_features("X", X, self.n_features, "the trees")
        with np.errstate(over="ignore"):
            rounded = X.astype(np.float32)
        if np.isinf(rounded).any():
            raise InvalidInput("X", "found infinity, or a number that single precision does not reach", "remove it")
        return np.stack([_descend_thresholds(tree, rounded) for tree in self.trees])


@dataclass(frozen=True, eq=False)
class OwnTrees:
    """Trees of `cvxens.trees`."""

    trees: Sequence[Tree]

    @property
    def parents(self) -> Sequence[Indices]:
        return [tree.parents for tree in self.trees]

    def leaves(self, X: Any) -> Indices:
        # samples without a known value go where most of the training weight went
        return np.stack([_descend_branches(tree, match(tree.features, X).columns) for tree in self.trees])


def _iterate_trees(forest: Any) -> Iterator[Any]:
    for estimator in np.ravel(getattr(forest, "estimators_", [forest])).tolist():
        yield estimator.tree_


def _invert_children(tree: Any) -> Indices:
    """Return the parent of each node (n_nodes,) from its children, -1 at leaves; the root's is itself."""
    parent = np.zeros(len(tree.children_left), np.int64)
    for children in (tree.children_left, tree.children_right):
        inner = np.flatnonzero(children >= 0)
        parent[children[inner]] = inner
    return parent


def _descend_thresholds(tree: ThresholdTree, X: NDArray[np.float32]) -> Indices:
    """Send all samples down a tree, one test of each at a time; returns the leaves that they reach."""
    at = np.zeros(len(X), np.int64)
    while (moving := np.flatnonzero(tree.children_left[at] >= 0)).size:
        node = at[moving]
        values = X[moving, tree.feature[node]]
        small = np.where(np.isnan(values), tree.missing_left[node], values <= tree.threshold[node])
        at[moving] = np.where(small, tree.children_left[node], tree.children_right[node])
    return at


def _descend_branches(tree: Tree, columns: NDArray) -> Indices:
    """Send all samples down a tree, those without a value to the branch of the largest training weight."""
    nodes, sizes = tree.nodes, tree.nodes.counts.sum(axis=1)
    inner = np.flatnonzero(tree.branches)
    heaviest = np.zeros(len(sizes), np.int64)
    heaviest[inner] = [sizes[nodes.first[k] : nodes.first[k] + tree.branches[k]].argmax() for k in inner]
    at = np.zeros(columns.shape[1], np.int64)
    while (moving := np.flatnonzero(tree.branches[at])).size:
        node = at[moving]
        values, cuts = columns[nodes.feature[node], moving], nodes.cut[node]
        # a nominal feature has no cut: its code is the branch
        branch = np.where(np.isnan(cuts), values, values > cuts)
        at[moving] = nodes.first[node] + np.where(np.isnan(values), heaviest[node], branch).astype(np.int64)
    return at
