"""Supervised kernels: what the trees of an ensemble do with two samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.tiles import Tile
from cvxens.kernels.tree_matrix import TreeMatrix, leaves_alone, up_to_the_root
from cvxens.kernels.tree_paths import Indices, Trees, trees_of
from cvxens.types import Array
from cvxens.validation import RandomState

Codes: TypeAlias = NDArray[np.int32]


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
        """Of each tree, the nodes that count on the way to each node, (n_nodes, n_levels), -1 below its end."""
        return [KINDS[self.kind].passed(parent) for parent in self._trees.parents]

    @cached_property
    def _nodes(self) -> list[tuple[int, int]]:
        """Tree and number of every node that is a hypothesis."""
        reached = [passed[np.setdiff1d(np.arange(len(parent)), parent[1:])] for parent, passed in self._by_tree()]
        return [(t, int(node)) for t, passed in enumerate(reached) for node in np.unique(passed[passed >= 0])]

    def _by_tree(self) -> Any:
        return zip(self._trees.parents, self._passed, strict=True)

    def tile(self, X: Any, Z: Any) -> Tile:
        """Count common levels, tree by tree."""
        left = self._trees.leaves(X)
        right = left if Z is X else self._trees.leaves(Z)

        def common(rows: slice, columns: slice) -> Array:
            counts = np.zeros((len(left[0, rows]), len(right[0, columns])), np.int32)
            for passed, from_left, from_right in zip(self._passed, left, right, strict=True):
                ours, theirs = passed[from_left[rows]], np.ascontiguousarray(passed[from_right[columns]].T)
                add_common_levels(ours, theirs, counts)
            return counts / len(self._passed)

        return common

    def unwritten(self, X: Any, Z: Any = None) -> TreeMatrix:
        """Return the matrix between the rows of `X` and `Z` (by default `X`) as what can be multiplied alone."""
        left = self._trees.leaves(X)
        right = left if Z is None or Z is X else self._trees.leaves(Z)
        above = [KINDS[self.kind].above(parent) for parent in self._trees.parents]
        return TreeMatrix(np.concatenate(above), np.cumsum([0, *map(len, above)]), left, right)

    def diag(self, X: Any) -> Array:
        """1, or the mean depth of the leaves."""
        leaves = self._trees.leaves(X)
        return np.mean([(passed[at] >= 0).sum(axis=1) for passed, at in zip(self._passed, leaves, strict=True)], axis=0)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """Number of hypotheses per tree."""
        return len(self._nodes) / len(self._passed)

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw nodes."""
        if not self._nodes:
            raise InvalidInput("forest", "found trees without a test", "give trees with at least one test")
        drawn = validation.generator(random_state).integers(len(self._nodes), size=validation.whole("n", n))
        return tuple(PassesNode(self, *self._nodes[k]) for k in drawn)

    def passes(self, X: Any, tree: int, node: int) -> Array:
        """1 for the samples that pass a node of a tree, else 0; shape (n_samples,)."""
        passed = self._passed[tree][self._trees.leaves(X)[tree]]
        return (passed == node).any(axis=1).astype(np.float64)

    def __repr__(self) -> str:
        return f"TreeEnsemble({type(self.forest).__name__}, {self.kind!r})"


@dataclass(frozen=True)
class PassesNode:
    """h(x) = 1 if x passes a node of a tree, else 0.

    Parameters
    ----------
    kernel : TreeEnsemble
        Whose trees they are.
    tree, node : int
        Which.
    """

    kernel: TreeEnsemble
    tree: int
    node: int

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X`; returns (n_samples,)."""
        return self.kernel.passes(X, self.tree, self.node)

    def __str__(self) -> str:
        return f"passes node {self.node} of tree {self.tree}"


def own_number(parent: Indices) -> Codes:
    """What counts on the way to a leaf is the leaf, shape (n_nodes, 1)."""
    return np.arange(len(parent), dtype=np.int32)[:, None]


def ancestors(parent: Indices) -> Codes:
    """What counts on the way to a node is every node below the root, shape (n_nodes, depth), -1 below its end."""
    depth = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    passed = np.full((len(parent), max(1, depth.max())), -1, np.int32)
    for node in range(1, len(parent)):
        passed[node] = passed[parent[node]]
        passed[node, depth[node] - 1] = node
    return passed


class Kind(NamedTuple):
    """What counts of a tree, from the parent of each of its nodes.

    Parameters
    ----------
    passed : callable
        Returns what counts on the way to each node, (n_nodes, n_levels).
    above : callable
        Returns the next node above that counts, (n_nodes,), as `TreeMatrix` has it.
    """

    passed: Callable[[Indices], Codes]
    above: Callable[[Indices], Indices]


KINDS: dict[str, Kind] = {"leaf": Kind(own_number, leaves_alone), "depth": Kind(ancestors, up_to_the_root)}


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
            # who parts above does not meet again
            if common == 0:
                break
