"""Learning a tree from a table."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.trees.grow import grow
from cvxens.trees.prune import prune
from cvxens.trees.records import Cases, Codes, Training
from cvxens.trees.tables import Table
from cvxens.trees.tree import Tree
from cvxens.types import Array
from cvxens.validation import finite_array, positive, same_length


@dataclass(frozen=True)
class Options:
    """What a tree may look like, checked; the parameters of `fit_tree`."""

    max_depth: int | None = None
    min_cases: float = 2
    confidence: float | None = 0.25

    def __post_init__(self) -> None:
        if self.max_depth is not None and positive("max_depth", self.max_depth) != round(self.max_depth):
            raise InvalidInput("max_depth", f"found {self.max_depth!r}", "give a whole number of at least 1, or None")
        positive("min_cases", self.min_cases)
        if self.confidence is not None and positive("confidence", self.confidence) >= 1:
            raise InvalidInput("confidence", f"found {self.confidence!r}", "give a number between 0 and 1, or None")

    @property
    def depth(self) -> float:
        """`max_depth`, inf if there is none."""
        return inf if self.max_depth is None else self.max_depth


def fit_tree(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    max_depth: int | None = None,
    min_cases: float = 2,
    confidence: float | None = 0.25,
) -> Tree:
    r"""Learn a decision tree as C4.5 does (Quinlan, *C4.5: Programs for Machine Learning*, 1993).

    A node splits its cases on the test X with the largest gain ratio among those whose gain is at least the average,

    .. math:: gain(X) = \frac{1}{W} (B(T) - \sum_b B(T_b)), \quad
              ratio(X) = gain(X) / \sum_b -\frac{W_b}{W} \log_2 \frac{W_b}{W}

    with W the weight of all cases, T those with a known value, T_b those of branch b and
    :math:`B(T) = -\sum_c W_c \log_2 (W_c / W_T)` their class information; in the denominator the cases without a
    value are one more branch. These go down every branch, in the proportion of the others.

    Nominal features split into one branch per category, numeric ones at a cut that leaves at least
    max(`min_cases`, min(25, W_T / (10 n_classes))) on both sides. Where the book leaves a choice, this is release 8
    (Quinlan, *Improved use of continuous attributes in C4.5*, JAIR 4, 1996): the cut has the largest gain, and this
    gain pays log2(number of such cuts) / W for the choice among them. The cut is the largest value in the training
    table up to the midpoint of its neighbours, so that every cut is a value that occurs.

    Parameters
    ----------
    X : Table, array, data frame or sequence of rows, (n_samples, n_features)
        See `Table.read`. Features without a known value are never tested.
    y : array-like of shape (n_samples,)
        Class labels, at least one class.
    sample_weight : array-like of shape (n_samples,), optional
        At least 0, not all 0; a weight of 2 is as good as having the case twice. By default 1.
    max_depth : int, optional
        The largest number of tests before a decision, at least 1. At 1 on numeric data the tree is the stump with
        the best gain ratio.
    min_cases : float
        At least two branches of every split have this weight; above 0.
    confidence : float, optional
        Of pessimistic pruning, in (0, 1); smaller prunes more, and None not at all. See `prune`.

    Returns
    -------
    Tree

    Raises
    ------
    InvalidInput
        An argument out of its range, or of a length other than n_samples.

    Examples
    --------
    >>> X = [["sunny", 85], ["sunny", 70], ["rain", 80], ["rain", 65], ["overcast", 90], ["overcast", 60]]
    >>> tree = fit_tree(X, ["stay", "play", "play", "play", "play", "play"], min_cases=1, confidence=None)
    >>> print(tree)
    x0 = overcast: play (2.0)
    x0 = rain: play (2.0)
    x0 = sunny:
    |   x1 <= 70: play (1.0)
    |   x1 > 70: stay (1.0)
    >>> tree.predict([["sunny", 90], [None, None], ["fog", 64]]).tolist()
    ['stay', 'play', 'play']
    """
    options = Options(max_depth, min_cases, confidence)
    table = Table.read(X)
    classes, codes = _labels(y, len(table))
    weights = _weights(sample_weight, len(table))
    data = Training(table.columns, np.array([feature.n_values for feature in table.features]), codes, len(classes))
    there = np.flatnonzero(weights > 0)
    nodes, at = grow(data, table.distinct, Cases(there, weights[there]), options.depth, options.min_cases)
    if options.confidence is not None:
        nodes = prune(nodes, at, data, options.confidence)
    return Tree(table.features, classes, nodes)


def _labels(y: Any, n_samples: int) -> tuple[tuple[Any, ...], Codes]:
    y = np.asarray(y)
    if y.ndim != 1:
        raise InvalidInput("y", f"found shape {y.shape}", "give one label per sample, (n_samples,)")
    same_length("y", y, n_samples)
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise InvalidInput("y", "found missing labels", "leave these samples out")
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise InvalidInput("y", f"found labels that cannot be sorted ({error})", "give labels of one type") from None
    return tuple(classes.tolist()), codes


def _weights(sample_weight: Any, n_samples: int) -> Array:
    if sample_weight is None:
        return np.ones(n_samples)
    weights = finite_array("sample_weight", sample_weight, ndim=1)
    same_length("sample_weight", weights, n_samples)
    if weights.min() < 0 or weights.max() <= 0:
        raise InvalidInput(
            "sample_weight",
            f"found weights from {weights.min():g} to {weights.max():g}",
            "give weights >= 0, not all 0",
        )
    return weights
