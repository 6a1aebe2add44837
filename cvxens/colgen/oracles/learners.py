"""Learners of weighted samples as heuristic oracles: scikit-learn's classifiers, and C4.5-like trees.

A learner fits the labels sign(s) with the weights |s|. The edge of what it finds is ``sum |s|`` less twice its weighted
training error, which it makes small in its own way, so nothing is proven over all that it might have found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import asdict
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from cvxens.colgen.oracles.pool import Votes, evaluate, rank
from cvxens.colgen.protocols import Priced
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, FittedClassifier, Hypothesis, SignedTree, decode_table
from cvxens.tables import Feature
from cvxens.trees import Options, Table, fit_tree
from cvxens.types import Array, Data
from cvxens.validation import generator, signed_weights, whole


class LearnerOracle(Votes, ABC):
    """An oracle that learns one hypothesis per output."""

    sample: Data
    n_samples: int

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Learn from signed weights s = y u, and return the distinct hypotheses or their negations, best first.

        An output of zeros gets no hypothesis, and `exclude` is ignored: a learner finds what it finds. `edge_bound` is
        inf, but 0 if all of `s` is zero.
        """
        outputs = signed_weights(s, self.n_samples)
        if not outputs.any():
            return Priced((), 0.0, 0.0)
        learnt = dict.fromkeys(self._learn(output) for output in outputs.T if output.any())
        evaluated = (evaluate(hypothesis, self.sample, outputs, row_norm) for hypothesis in learnt)
        return Priced(rank(evaluated, len(learnt)))

    @abstractmethod
    def _learn(self, s: Array) -> Hypothesis:
        """Learn from the weights (n_samples,) of one output, not all 0."""


class SklearnLearner(LearnerOracle):
    """A scikit-learn classifier as a weak learner: fitted to the labels sign(s) with the weights abs(s).

    A classifier worse than chance is negated. The weights are scaled to an average of 1, so that regularisation means
    what it means without weights. Nothing bounds the edges, so `edge_bound` is inf.

    Parameters
    ----------
    estimator : classifier
        Its `fit` takes `sample_weight`; it is cloned, never fitted itself.
    X : array-like or data frame, n_samples rows
        Whatever the classifier fits.
    random_state : int, Generator or None
        Every fit gets a new seed derived from it in each `random_state` parameter of the classifier; None
        leaves these parameters alone.

    Raises
    ------
    InvalidInput
        If the estimator is no classifier, or its `fit` takes no `sample_weight`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> learner = SklearnLearner(DecisionTreeClassifier(max_depth=1), [[0.0], [1.0], [2.0]])
    >>> column, = learner.price(np.array([-0.5, 0.25, 0.25])).columns
    >>> column.edge, column.hypothesis([[0.1], [0.9]])
    (1.0, array([-1.,  1.]))
    """

    source = "scikit-learn"

    def __init__(self, estimator: Any, X: Any, *, random_state: Any = None) -> None:
        if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
            raise InvalidInput("estimator", f"found {estimator!r}", "give an instance of a scikit-learn classifier")
        if not has_fit_parameter(estimator, "sample_weight"):
            found = f"found {type(estimator).__name__}, whose fit takes no sample_weight"
            raise InvalidInput("estimator", found, "give a classifier that can be fitted to weighted samples")
        self.estimator = estimator
        self.sample = X
        if np.ndim(X) == 0 and not hasattr(X, "shape"):
            raise InvalidInput("X", f"found {X!r:.100}", "give samples, (n_samples, n_features)")
        self.n_samples = np.shape(X)[0]
        self._random = None if random_state is None else generator(random_state)

    def _learn(self, s: Array) -> Hypothesis:
        if s.min() >= 0 or s.max() <= 0:
            return Constant(1 if s.max() > 0 else -1)
        weights = np.abs(s) * (len(s) / np.abs(s).sum())
        estimator = clone(self.estimator).set_params(**self._seeds())
        return FittedClassifier(estimator.fit(self.sample, np.where(s < 0, -1, 1), sample_weight=weights))

    def _seeds(self) -> dict[str, int]:
        if self._random is None:
            return {}
        names = sorted(self.estimator.get_params(deep=True))
        seeded = [name for name in names if name.split("__")[-1] == "random_state"]
        return {name: int(self._random.integers(2**31)) for name in seeded}


class Trees(LearnerOracle):
    """Price decision trees: learn one from the signed weights, as `fit_tree` does.

    The classes are the signs of s, the sample weights its sizes, scaled to the sum `n_cases` so that `min_cases` and
    pruning count cases. Both are deterministic heuristics for the edge, so `edge_bound` is inf.

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
        self.n_samples = len(self.table)

    def _learn(self, s: Array) -> Hypothesis:
        weights = np.abs(s) / np.abs(s).mean() * (self.n_cases / len(s))
        tree = fit_tree(self.table, np.where(s > 0, 1, -1), weights, **asdict(self.options))
        return SignedTree(tree, 1.0, self.coded)
