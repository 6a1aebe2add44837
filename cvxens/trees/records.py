"""What the parts of the learner hand each other; compiled code takes these as they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvxens.types import Array

Codes = NDArray[np.int64]


class Training(NamedTuple):
    """Samples of known class.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_samples)
        As in `Table`.
    n_values : ndarray of int, shape (n_features,)
        The number of categories of a nominal feature, 0 for a numeric one.
    y : ndarray of int, shape (n_samples,)
        Class codes 0, ..., n_classes - 1.
    n_classes : int
        Number of classes.
    """

    columns: Array
    n_values: Codes
    y: Codes
    n_classes: int


class Cases(NamedTuple):
    """What is at a node: indices of samples and the part of each that is there, both of shape (n_cases,)."""

    samples: Codes
    weights: Array


class Nodes(NamedTuple):
    """The nodes of a tree, breadth first; node 0 is the root.

    Parameters
    ----------
    feature : ndarray of int, shape (n_nodes,)
        The feature a node splits on, -1 at a leaf.
    cut : ndarray of shape (n_nodes,)
        Of a numeric split: values up to it go to the first child, above it to the second. NaN elsewhere.
    first : ndarray of int, shape (n_nodes,)
        The first child; the others follow it, a nominal split having one per category.
    counts : ndarray of shape (n_nodes, n_classes)
        Training weight of each class at the node.
    """

    feature: Codes
    cut: Array
    first: Codes
    counts: Array
