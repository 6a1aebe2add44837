"""Supervised kernels: what the trees of an ensemble do with two samples.

Trees are known by two things, the parent of every node and the leaf that a sample reaches (`FittedTrees`):
scikit-learn's as they are, the same as plain arrays for files, and those of `cvxens.trees`. From these come the matrix,
by comparing the ways to two leaves level by level, and products with it that never write it out, by sums through the
trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias, final

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, decode_table
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.tiles import Tile, check_features
from cvxens.trees import Tree, match
from cvxens.types import Array, Data, FieldsOnly, Given, Mask, Numbers
from cvxens.validation import RandomState

Indices: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]

WIDTH = 16
"""Columns that go through the trees together: their sums at all nodes of a tree stay in a cache."""

NONE_ABOVE, IDLE = -1, -2
"""In place of a node above: there is none that counts, or the node itself does not count."""

KINDS = ("leaf", "depth", "ancestors")
"""What counts of a tree: its leaves; all nodes but the root, in proportion to the depths of two leaves; these nodes."""


@final
@dataclass(frozen=True, eq=False)
class TreeEnsemble(Kernel):
    """K(x, x') = 1/T sum_t k_t(x, x'), over the T trees of a fitted ensemble.

    - "leaf", TT06 (8): k_t is 1 if both samples reach the same leaf, else 0.
    - "depth", TT06 (9): the depth of the deepest node that both pass over the depth d of the deeper one of their two
      leaves. The root has depth 0, which the print leaves open, and a tree without a test has k_t = 1. So it is 1 for
      samples of one leaf, and 0 for those that part at the root.
    - "ancestors": that depth alone, which is not in TT06. Samples of deep leaves have a larger k_t.

    The hypotheses are 0/1-valued, with weights r^2: the indicators of leaves, or of all nodes but the root, with 1/T;
    of "depth" the indicators of the samples that pass a node and end in a leaf of depth k or less, for every depth k of
    a leaf below it, with ``(1/k - 1/k') / T``, k' the next such depth (inf after the last), whose sum over the k from
    d and d' on is ``1 / max(d, d')``. So all of them are PSD. TT06 says positive definite of (9), which it is not:
    samples of one leaf have equal rows.

    Parameters
    ----------
    forest : estimator or sequence of Tree
        A fitted tree, forest or gradient boosting of scikit-learn, or trees of `cvxens.trees`, which may be grown on
        mixed types (see `fit_forest`). In the latter, a sample without the value that a test asks for goes where most
        of the training weight went.
    kind : {"leaf", "depth", "ancestors"}
        Which of the three.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> tree = DecisionTreeRegressor().fit(X, [0.0, 1.0, 4.0, 5.0])
    >>> TreeEnsemble(tree, "depth")(X)
    array([[1. , 0.5, 0. , 0. ],
           [0.5, 1. , 0. , 0. ],
           [0. , 0. , 1. , 0.5],
           [0. , 0. , 0.5, 1. ]])
    """

    forest: object = field(repr=False)
    kind: str = "leaf"
    equation = "1/T sum_t [same leaf], or depth of the common ancestor over that of the deeper leaf"
    source = "TT06 (8), (9)"

    def __post_init__(self) -> None:
        validation.one_of("kind", self.kind, KINDS)

    @cached_property
    def _trees(self) -> FittedTrees:
        return trees_of(self.forest)

    @cached_property
    def _paths(self) -> list[Paths]:
        return [Paths.from_parents(parent, self.kind) for parent in self._trees.parents]

    @property
    def n_trees(self) -> int:
        """Number of trees, T."""
        return len(self._paths)

    def tile(self, X: Data, Z: Data) -> Tile:
        left = self._trees.leaves(X)
        right = left if Z is X else self._trees.leaves(Z)

        def evaluate(rows: slice, columns: slice) -> Array:
            sums = np.zeros((len(left[0, rows]), len(right[0, columns])))
            for paths, from_left, from_right in zip(self._paths, left, right, strict=True):
                ours, theirs = from_left[rows], from_right[columns]
                crossed = np.ascontiguousarray(paths.passed[theirs].T)
                add_similarities(paths.passed[ours], crossed, paths.depth[ours], paths.depth[theirs], sums)
            return sums / self.n_trees

        return evaluate

    def unwritten(self, X: Data, Z: Given = None) -> TreeMatrix:
        """Return the matrix between the rows of `X` and `Z` (by default `X`), for products alone, unwritten."""
        left = self._trees.leaves(X)
        right = left if Z is None or Z is X else self._trees.leaves(Z)
        first = np.cumsum([0, *(len(paths.above) for paths in self._paths)])
        of_trees = zip(*((paths.above, paths.least, paths.most) for paths in self._paths), strict=True)
        above, least, most = map(np.concatenate, of_trees)
        return TreeMatrix(above, least, most, first, left, right)

    def diag(self, X: Data) -> Array:
        # the share of the levels of each leaf whose nodes count
        found = zip(self._paths, self._trees.leaves(X), strict=True)
        return np.mean([(paths.passed[at] >= 0).sum(axis=1) / paths.depth[at] for paths, at in found], axis=0)

    @cached_property
    def _hypotheses(self) -> tuple[list[tuple[int, int, int]], Array]:
        """Tree, node and depth of every hypothesis, and their weights times T."""
        found = [(t, *each) for t, paths in enumerate(self._paths) for each in paths.list_hypotheses()]
        return [each[:3] for each in found], np.array([weight for *_, weight in found])

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        return float(self._hypotheses[1].sum()) / self.n_trees

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        listed, weights = self._hypotheses
        if not listed:
            raise InvalidInput("forest", "found trees without a test", "give trees with at least one test")
        random = validation.generator(random_state)
        drawn = random.choice(len(listed), size=validation.whole("n", n), p=weights / weights.sum())
        return tuple(PassesNode(self, *listed[k]) for k in drawn)

    def passes(self, X: Data, tree: int, node: int, depth: int) -> Array:
        """Return 1 for the samples that pass a node of a tree and end at most at a depth, else 0; (n_samples,)."""
        paths, leaves = self._paths[tree], self._trees.leaves(X)[tree]
        passes: Array = (paths.passed[leaves] == node).any(axis=1) & (paths.depth[leaves] <= depth)
        return passes.astype(np.float64)

    def __repr__(self) -> str:
        return f"TreeEnsemble({type(self.forest).__name__}, {self.kind!r})"


@dataclass(frozen=True)
class PassesNode:
    """The hypothesis h(x) = 1 if x passes a node of a tree of an ensemble and ends at most at a depth, else 0."""

    kernel: TreeEnsemble
    tree: int
    node: int
    depth: int

    def __call__(self, X: Data, /) -> Array:
        return self.kernel.passes(X, self.tree, self.node, self.depth)

    def __str__(self) -> str:
        end = f" and ends at depth {self.depth} or less" if self.kernel.kind == "depth" else ""
        return f"passes node {self.node} of tree {self.tree}{end}"


class Paths(NamedTuple):
    """The ways to the nodes of a tree, as arrays over its nodes, parents before their children; node 0 is the root.

    Where depths do not count, each leaf has the depth 1.
    """

    passed: Codes  # (n_nodes, n_levels): the nodes that count on the way to each, -1 below the end
    above: Indices  # (n_nodes,): the next node above that counts, NONE_ABOVE or IDLE
    depth: Indices  # (n_nodes,): by which similarities are divided, at leaves
    least: Indices  # (n_nodes,): the least depth of a leaf below each
    most: Indices  # (n_nodes,): the largest
    leaves: Indices

    @classmethod
    def from_parents(cls, parent: Indices, kind: str) -> Paths:
        """Find the ways of a kind, from the parent of every node."""
        n_nodes, ones = len(parent), np.ones(len(parent), np.int64)
        leaves = np.setdiff1d(np.arange(n_nodes), parent[1:])
        # a tree without a test is one leaf, at which all samples are alike: (9) as its limit
        if kind == "leaf" or (kind == "depth" and n_nodes == 1):
            itself = np.arange(n_nodes, dtype=np.int32)[:, None]
            return cls(itself, np.full(n_nodes, NONE_ABOVE), ones, ones, ones, leaves)
        depth = find_depths(parent)
        passed = find_ways(parent, depth)
        # what is below the root has the root above, which does not count
        above = np.where(parent == 0, NONE_ABOVE, parent)
        above[0] = IDLE
        if kind == "ancestors":
            return cls(passed, above, ones, ones, ones, leaves)
        least, most = find_leaf_depths(parent, depth)
        return cls(passed, above, depth, least, most, leaves)

    def list_hypotheses(self) -> Iterator[tuple[int, int, float]]:
        """Yield the node, the depth and the weight of every hypothesis."""
        depths: list[set[int]] = [set() for _ in self.above]
        for leaf in self.leaves:
            for node in self.passed[leaf][self.passed[leaf] >= 0]:
                depths[node].add(int(self.depth[leaf]))
        for node, found in enumerate(depths):
            ordered = [*sorted(found), np.inf]
            yield from ((node, int(k), 1 / k - 1 / then) for k, then in pairwise(ordered))


@njit(cache=True, nogil=True)
def find_depths(parent: Indices) -> Indices:
    """Return the depth of every node, 0 of the root, from the parent of each, which comes before it."""
    depth = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    return depth


@njit(cache=True, nogil=True)
def find_ways(parent: Indices, depth: Indices) -> Codes:
    """Return the nodes on the way to each but the root, (n_nodes, n_levels), -1 below the end.

    The root, at depth 0, is passed by all and does not count. At a node of depth k the level k - 1 is itself, and the
    levels before are those of its parent.
    """
    passed = np.full((len(parent), max(1, depth.max())), -1, np.int32)
    for node in range(1, len(parent)):
        for level in range(depth[node] - 1):
            passed[node, level] = passed[parent[node], level]
        passed[node, depth[node] - 1] = node
    return passed


@njit(cache=True, nogil=True)
def find_leaf_depths(parent: Indices, depth: Indices) -> tuple[Indices, Indices]:
    """Return the least and the largest depth of a leaf below every node, its own if it is one."""
    least, most = np.copy(depth), np.copy(depth)
    for node in range(1, len(parent)):
        least[parent[node]] = len(parent)
    for node in range(len(parent) - 1, 0, -1):
        least[parent[node]] = min(least[parent[node]], least[node])
        most[parent[node]] = max(most[parent[node]], most[node])
    return least, most


@njit(cache=True, nogil=True)
def add_similarities(left: Codes, right: Codes, left_depth: Indices, right_depth: Indices, sums: Array) -> None:
    """Add to sums_ij the number of levels at which row i of left and column j of right agree, over the larger depth."""
    for i in range(left.shape[0]):
        common = np.zeros(right.shape[1], np.int32)
        for level in range(left.shape[1]):
            node, found = left[i, level], np.int32(0)
            if node < 0:
                break
            for j in range(right.shape[1]):
                same = np.int32(right[level, j] == node)
                common[j] += same
                found += same
            # rows that differ at this level share no deeper node
            if found == 0:
                break
        for j in range(right.shape[1]):
            sums[i, j] += common[j] / max(left_depth[i], right_depth[j])


@dataclass(frozen=True, eq=False)
class TreeMatrix:
    """The matrix of a `TreeEnsemble` between two samples, for products.

    ``K @ C`` takes O(n_trees (n_samples + n_nodes)) time for every column of C, and no memory but for the result: what
    the leaves gather is added up towards the root, and back down to the leaves. Where depths count, a node keeps a sum
    for each depth that leaves below it have, a few on average.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> K = TreeEnsemble(DecisionTreeRegressor().fit(X, [0.0, 1.0, 4.0, 5.0]), "depth").unwritten(X)
    >>> K.shape, K @ np.array([1.0, 0.0, 0.0, -1.0])
    ((4, 4), array([ 1. ,  0.5, -0.5, -1. ]))
    """

    # of all trees, one after another, the next node that counts on the way to the root, in its own tree; NONE_ABOVE
    # where there is none, and IDLE for a node that does not count
    above: Indices
    least: Indices  # the least depth of a leaf below each node
    most: Indices  # the largest
    first: Indices  # where each tree begins in these, (n_trees + 1,)
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
            product[:, start : start + WIDTH] = sum_through_trees(
                self.above, self.least, self.most, self.first, self.left, self.right, part
            )
        return product.reshape(self.shape[0], *C.shape[1:]) / len(self.left)


@njit(cache=True, nogil=True)
def sum_through_trees(
    above: Indices, least: Indices, most: Indices, first: Indices, left: Indices, right: Indices, C: Array
) -> Array:
    """Compute sum_t K_t C, where a row of K_t is the sum over the nodes above its leaf, the leaf included."""
    product = np.zeros((left.shape[1], C.shape[1]))
    place = np.zeros(np.max(first[1:] - first[:-1]) + 1, np.int64)
    for t in range(left.shape[0]):
        # the sums of node v, of leaf depths k = least_v, ..., most_v, are rows place_v, place_v + 1, ...
        for node in range(first[t + 1] - first[t]):
            place[node + 1] = place[node] + most[first[t] + node] - least[first[t] + node] + 1
        sums = np.zeros((place[first[t + 1] - first[t]], C.shape[1]))
        # what each leaf gathers of C; what each node then has of all below it, and each leaf of all nodes above it
        for i in range(right.shape[1]):
            _add_rows(C, i, sums, place[right[t, i]], 1)
        _sum_up_and_down(above, least, first[t], first[t + 1], place, sums)
        for i in range(left.shape[1]):
            _add_rows(sums, place[left[t, i]], product, i, 1)
    return product


@njit(cache=True, nogil=True)
def _sum_up_and_down(above: Indices, least: Indices, start: int, end: int, place: Indices, sums: Array) -> None:
    """Add to each node what is below it, weigh it by depths, then add to that what all nodes above it have."""
    # parents come before their children: backwards, children are done before their parents
    for node in range(end - start - 1, -1, -1):
        up, n_rows = above[start + node], place[node + 1] - place[node]
        if up >= 0:
            _add_rows(sums, place[node], sums, place[up] + least[start + node] - least[start + up], n_rows)
        elif up == IDLE:
            for row in range(place[node], place[node + 1]):
                for column in range(sums.shape[1]):
                    sums[row, column] = 0.0
    for node in range(end - start):
        # with S_j of the leaves of depth j, sum_j S_j / max(k, j) = sum_(j >= k) (1/j - 1/(j + 1)) sum_(i <= j) S_i
        for row in range(place[node] + 1, place[node + 1]):
            _add_rows(sums, row - 1, sums, row, 1)
        last = place[node + 1] - 1
        for row in range(last, place[node] - 1, -1):
            depth = least[start + node] + row - place[node]
            weight = 1 / depth if row == last else 1 / depth - 1 / (depth + 1)
            for column in range(sums.shape[1]):
                sums[row, column] *= weight
            if row < last:
                _add_rows(sums, row + 1, sums, row, 1)
    for node in range(end - start):
        up = above[start + node]
        if up >= 0:
            from_row = place[up] + least[start + node] - least[start + up]
            _add_rows(sums, from_row, sums, place[node], place[node + 1] - place[node])


@njit(cache=True, nogil=True)
def _add_rows(values: Array, i: int, sums: Array, j: int, n_rows: int) -> None:
    for row in range(n_rows):
        for column in range(values.shape[1]):
            sums[j + row, column] += values[i + row, column]


class FittedTrees(Protocol):
    """Fitted trees whose nodes are numbered from the root, 0, so that parents come before their children."""

    @property
    def parents(self) -> Sequence[Indices]:
        """The parent of every node, for each tree; the root is its own parent."""

    def leaves(self, X: Data) -> Indices:
        """Find the leaf that each sample reaches, shape (n_trees, n_samples)."""


def trees_of(forest: object) -> FittedTrees:
    """Return the trees of a fitted estimator, or of a sequence of trees; trees as arrays are what they are."""
    if hasattr(forest, "apply") and (hasattr(forest, "tree_") or hasattr(forest, "estimators_")):
        return SklearnTrees(forest)
    if isinstance(forest, ThresholdTrees | OwnTrees):
        return forest
    if isinstance(forest, Sequence) and forest and all(isinstance(tree, Tree) for tree in forest):
        return OwnTrees(tuple(forest))
    remedy = "give a fitted tree, forest or gradient boosting of scikit-learn, or a list of trees of cvxens.trees"
    raise InvalidInput("forest", f"found {type(forest).__name__}, without fitted trees to apply", remedy)


@dataclass(frozen=True, eq=False)
class SklearnTrees:
    """The trees of a fitted estimator of scikit-learn that has `apply`."""

    forest: BaseEstimator

    @property
    def parents(self) -> Sequence[Indices]:
        return [_invert_children(tree) for tree in _iterate_trees(self.forest)]

    def leaves(self, X: Data) -> Indices:
        return np.ascontiguousarray(self.forest.apply(X).reshape(np.shape(X)[0], -1).T.astype(np.int64))


class ThresholdTree(NamedTuple):
    """A tree as arrays (n_nodes,), parents before their children; node 0 is the root."""

    children_left: Indices  # where values up to the threshold go, -1 at a leaf
    children_right: Indices  # where values above it go
    feature: Indices  # the feature that a node asks for
    threshold: Array  # compared with values in single precision
    missing_left: Mask  # True where missing values go where small ones do


@dataclass(frozen=True, eq=False)
class ThresholdTrees(FieldsOnly):
    """The trees of a fitted estimator of scikit-learn as arrays, without the estimator: leaves are those of `apply`."""

    trees: tuple[ThresholdTree, ...]
    n_features: int

    @classmethod
    def from_forest(cls, forest: BaseEstimator) -> ThresholdTrees:
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

    def leaves(self, X: Data) -> Indices:
        # in single precision, as scikit-learn descends
        X = np.asarray(X, np.float64)
        check_features("X", X, self.n_features, "the trees")
        with np.errstate(over="ignore"):
            rounded = X.astype(np.float32)
        if np.isinf(rounded).any():
            raise InvalidInput("X", "found infinity, or a number that single precision does not reach", "remove it")
        return np.stack([_descend_thresholds(tree, rounded) for tree in self.trees])


@dataclass(frozen=True, eq=False)
class OwnTrees(FieldsOnly):
    """Trees of `cvxens.trees`; coded if samples are arrays of numbers and of codes of categories, else tables."""

    trees: tuple[Tree, ...]
    coded: bool = False

    @property
    def parents(self) -> Sequence[Indices]:
        return [tree.parents for tree in self.trees]

    def leaves(self, X: Data) -> Indices:
        # the trees of a forest have the same features: samples are read once
        known = {tree.features for tree in self.trees}
        read = {features: (decode_table if self.coded else match)(features, X).columns for features in known}
        # samples without a known value go where most of the training weight went
        return np.stack([_descend_branches(tree, read[tree.features]) for tree in self.trees])


def _iterate_trees(forest: object) -> Iterator[Any]:
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


def _descend_branches(tree: Tree, columns: Numbers) -> Indices:
    """Send all samples down a tree, those without a value to the branch of the largest training weight."""
    nodes, sizes = tree.nodes, tree.nodes.counts.sum(axis=1)
    inner, heaviest = np.flatnonzero(tree.branches), np.zeros(len(sizes), np.int64)
    heaviest[inner] = [sizes[nodes.first[k] : nodes.first[k] + tree.branches[k]].argmax() for k in inner]
    at = np.zeros(columns.shape[1], np.int64)
    while (moving := np.flatnonzero(tree.branches[at])).size:
        node = at[moving]
        values, cuts = columns[nodes.feature[node], moving], nodes.cut[node]
        # a nominal feature has no cut: its code is the branch
        branch = np.where(np.isnan(cuts), values, values > cuts)
        at[moving] = nodes.first[node] + np.where(np.isnan(values), heaviest[node], branch).astype(np.int64)
    return at
