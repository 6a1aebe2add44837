"""C4.5-like decision trees as hypotheses: a heuristic oracle for tables with gaps and nominal features."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from cvxens.colgen.protocols import Column, Priced
from cvxens.hypotheses import Hypothesis, SignedTree, decode_table
from cvxens.trees import Feature, Table, Tree, fit_tree
from cvxens.trees.c45 import Options
from cvxens.types import Array
from cvxens.validation import signed_weights, whole


class Trees:
    """Price decision trees: learn one from the signed weights, as `fit_tree` does.

    The classes are the signs of s, the sample weights its sizes, scaled to the sum `n_cases` so that `min_cases` and
    pruning count cases. Growing and pruning are deterministic heuristics for the edge, so nothing is proven over all
    trees.

    Parameters
    ----------
    X : Table, array, data frame or sequence of rows, (n_samples, n_features)
        Numeric and nominal features, missing values allowed, see `Table.read`.
    features : sequence of Feature, optional
        What the columns are of an array X of numbers and of codes 0, 1, ... of categories, NaN where missing. The trees
        then take such arrays too.
    max_depth : int, optional
        The largest number of tests before a decision.
    min_cases : float
        The weight that at least two branches of a split reach.
    confidence : float, optional
        Of pessimistic pruning; None does not prune.
    n_cases : int, optional
        How many cases the rows are, where some of them stand for several; by default as many as there are.

    Examples
    --------
    >>> oracle = Trees([["red", 1], ["red", 2], ["blue", None], ["blue", 3]], min_cases=1, confidence=None)
    >>> column = oracle.price(np.array([1.0, 2.0, -1.0, -3.0])).columns[0]
    >>> print(column.hypothesis)
    x0 = blue: -1 (2.3)
    x0 = red: 1 (1.7)
    >>> column.edge
    7.0
    """

    source = "Quinlan 1993 (C4.5)"

    def __init__(
        self,
        X: Any,
        *,
        features: Sequence[Feature] | None = None,
        max_depth: int | None = None,
        min_cases: float = 2,
        confidence: float | None = 0.25,
        n_cases: int | None = None,
    ) -> None:
        self.coded = features is not None
        self.table = Table.read(X) if features is None else decode_table(features, X)
        self.sample = X if self.coded else self.table
        self.options = Options(max_depth, min_cases, confidence)
        self.n_cases = len(self.table) if n_cases is None else whole("n_cases", n_cases)

    def price(self, s: Array, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Learn a tree per output and return the distinct ones, the largest edge first.

        Parameters
        ----------
        s : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Signed weights, finite; an output of zeros gets no tree.

        exclude : collection of Hypothesis
            Ignored: a learner finds what it finds, and a run leaves out what it has.

        Returns
        -------
        Priced
            Each column's edge is at least 0, as the negation of a tree is a hypothesis too; `edge_bound` is inf. If all
            of `s` is zero: no column, with the bound 0.

        Raises
        ------
        InvalidInput
            Another number of samples, or more than two dimensions.
        """
        outputs = signed_weights(s, len(self.table))
        if not outputs.any():
            return Priced((), 0.0, 0.0)
        found = dict.fromkeys(self._learn(output) for output in outputs.T if output.any())
        columns = [self._column(tree, outputs) for tree in found]
        return Priced(sorted(columns, key=lambda column: -column.edge))

    def _learn(self, s: Array) -> Tree:
        weights = np.abs(s) / np.abs(s).mean() * (self.n_cases / len(s))
        return fit_tree(self.table, np.where(s > 0, 1, -1), weights, **asdict(self.options))

    def _column(self, tree: Tree, outputs: Array) -> Column:
        edges = SignedTree(tree)(self.table) @ outputs
        best = edges[np.abs(edges).argmax()]
        return Column(SignedTree(tree, 1.0 if best >= 0 else -1.0, self.coded), self.sample, float(abs(best)))
