"""What compiled code takes on trust of the records of a model, looked at where these are read from a file."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from cvxens.kernels.tree_paths import ThresholdTrees
from cvxens.solvers.additive import AdditiveModel
from cvxens.trees import Tree


@singledispatch
def well_formed(record: Any) -> Any:
    """Return a record of a model, if the places in it that others of its numbers tell of are there.

    Raises
    ------
    ValueError
        They are not.
    """
    return record


@well_formed.register
def _(record: AdditiveModel) -> AdditiveModel:
    starts, knots, values = record.starts, record.knots, record.values
    same = (starts.ndim, starts.dtype.kind, knots.dtype, values.dtype) == (1, "i", float, float)
    if not (
        same
        and values.shape == knots.shape == (knots.size,)
        and starts[0] == 0
        and starts[-1] == knots.size
        and (np.diff(starts) > 0).all()
    ):
        raise ValueError("an additive model whose features do not have the knots one after the other")
    rises = np.delete(np.diff(knots), starts[1:-1] - 1)
    if not (np.isfinite(knots).all() and (rises > 0).all()):
        raise ValueError("an additive model whose knots do not ascend")
    return record


@well_formed.register
def _(record: Tree) -> Tree:
    feature, cut, first, counts = record.nodes
    inner = np.flatnonzero(feature >= 0)
    branches = record.branches[inner]
    shapes = {feature.shape, cut.shape, first.shape, counts.shape[:1]} == {(1 + branches.sum(),)}
    kinds = (feature.dtype.kind, cut.dtype, first.dtype.kind, counts.dtype) == ("i", float, "i", float)
    if not (shapes and kinds and counts.shape[1:] == (len(record.classes),)):
        raise ValueError("a tree whose nodes are not as many as their branches")
    # breadth first, so that children come one after the other and after their parents
    children = 1 + np.cumsum(branches) - branches
    nominal = np.array([record.features[d].categories is not None for d in feature[inner].tolist()], bool)
    if not ((first[inner] == children).all() and (children > inner).all() and (np.isnan(cut[inner]) == nominal).all()):
        raise ValueError("a tree whose branches do not lead to its nodes")
    return record


@well_formed.register
def _(record: ThresholdTrees) -> ThresholdTrees:
    for tree in record.trees:
        if len({part.shape for part in tree}) > 1 or [part.dtype.kind for part in tree] != ["i", "i", "i", "f", "b"]:
            raise ValueError("a tree whose nodes are not as many as its questions")
        inner = np.flatnonzero(tree.children_left >= 0)
        children = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
        # every node but the root is the child of one that comes before it
        once = np.array_equal(np.sort(children), np.arange(1, len(tree.feature)))
        asked = tree.feature[inner]
        if not (once and (children > np.tile(inner, 2)).all() and ((asked >= 0) & (asked < record.n_features)).all()):
            raise ValueError("a tree whose branches do not lead to its nodes")
    return record
