"""Weak learners for two classes that vote on several: codes, and the oracle that prices hypotheses with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from cvxens.colgen import Column, Hypothesis, Oracle, Priced
from cvxens.types import Array

MOST_CODES = 16
"""Codes that are priced a round: all of them up to 5 classes."""


@dataclass(frozen=True)
class Coded:
    """The hypothesis h(x) v: class k gets the vote v_k h(x).

    Parameters
    ----------
    hypothesis : Hypothesis
        The h.
    code : tuple of int
        The v, -1 or +1 for each class.

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stump
    >>> coded = Coded(Stump(0, 0.5, 1), (1, -1, -1))
    >>> print(coded)
    x[0] >= 0.5 -> +1 for +--
    >>> coded(np.array([[0.0], [1.0]]))
    array([[-1.,  1.,  1.],
           [ 1., -1., -1.]])
    """

    hypothesis: Hypothesis
    code: tuple[int, ...]

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples, n_classes)."""
        return np.multiply.outer(self.hypothesis(X), self.code)

    def __str__(self) -> str:
        return f"{self.hypothesis} for {''.join('+' if vote > 0 else '-' for vote in self.code)}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """The margins of pairs of a sample and a class, as a linear map of the votes.

    Parameters
    ----------
    mask : ndarray of bool, shape (n_samples, n_classes)
        Which pairs there are; row by row.
    signs : ndarray of shape (n_pairs,)
        -1 or +1.
    matrix : csr_array of shape (n_pairs, n_samples * n_classes)
        The margin of a pair is its sign times its row here times the votes.
    """

    mask: NDArray[np.bool_]
    signs: Array
    matrix: csr_array

    @classmethod
    def of_labels(cls, labels: NDArray[np.intp], n_classes: int) -> Pairs:
        """Every class is a question, with the margins Y_ik F_k(x_i): Y_ik is 1 for the sample's class and -1 else.

        Examples
        --------
        >>> Pairs.of_labels(np.array([1, 0]), 2).margins(np.array([[-0.5, 2.0], [3.0, 1.0]]))
        array([ 0.5,  2. ,  3. , -1. ])
        """
        own = np.equal.outer(labels, np.arange(n_classes))
        return cls(np.full(own.shape, True), np.where(own, 1.0, -1.0).ravel(), csr_array(eye_array(own.size)))

    @classmethod
    def of_differences(cls, labels: NDArray[np.intp], n_classes: int) -> Pairs:
        """The sample's class y_i against each other one, with the margins (F_{y_i} - F_k) / 2.

        The sign of a pair is that of y_i - k.

        Examples
        --------
        >>> Pairs.of_differences(np.array([1, 0]), 2).margins(np.array([[-0.5, 2.0], [3.0, 1.0]]))
        array([1.25, 1.  ])
        """
        mask = np.not_equal.outer(labels, np.arange(n_classes))
        rows, others = np.nonzero(mask)
        signs = np.where(labels[rows] > others, 1.0, -1.0)
        pairs, halves = np.arange(len(rows)), signs / 2
        places = np.r_[rows * n_classes + labels[rows], rows * n_classes + others]
        entries = (np.r_[halves, -halves], (np.r_[pairs, pairs], places))
        return cls(mask, signs, csr_array(entries, shape=(len(rows), mask.size)))

    def margins(self, votes: Array) -> Array:
        """The margins (n_pairs,) of votes (n_samples, n_classes)."""
        return self.signs * (self.matrix @ votes.ravel())

    def gathered(self, s: Array) -> Array:
        """S (n_samples, n_classes), so that the edge of h with the code v under signed weights s is h'S v."""
        return (self.matrix.T @ s).reshape(self.mask.shape)

    def spread(self, per_sample: Array) -> Array:
        """Numbers of samples as numbers of pairs."""
        return per_sample[np.nonzero(self.mask)[0]]

    def table(self, u: Array) -> Array:
        """Numbers of pairs as (n_samples, n_classes), 0 where there is no pair."""
        full = np.zeros(self.mask.shape)
        full[self.mask] = u
        return full


@dataclass(frozen=True, eq=False)
class CodedColumn(Column):
    """A coded hypothesis whose values are those of pairs.

    Parameters
    ----------
    pairs : Pairs
        Of the sample.
    """

    pairs: Pairs

    @cached_property
    def values(self) -> Array:
        """The margins of the pairs, times their signs."""
        return self.pairs.matrix @ self.hypothesis(self.sample).ravel()


@dataclass(frozen=True, eq=False)
class CodedOracle:
    """Prices hypotheses with codes: exactly over all codes where these are few, else over some at random.

    Parameters
    ----------
    oracle : Oracle
        Prices the hypotheses, of either sign.
    X : array-like of shape (n_samples, n_features)
        What it is over.
    pairs : Pairs
        Of the sample.
    random : Generator
        Draws codes.

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stumps
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> pairs = Pairs.of_labels(np.array([0, 1, 2]), 3)
    >>> priced = CodedOracle(Stumps(X), X, pairs, np.random.default_rng(0)).price(pairs.signs / 9)
    >>> print(priced.columns[0].hypothesis, round(priced.columns[0].edge, 3), round(priced.edge_bound, 3))
    x[0] >= 0.5 -> -1 for +-- 0.556 0.556
    """

    oracle: Oracle
    X: Any
    pairs: Pairs
    random: np.random.Generator

    @property
    def sample(self) -> Any:
        """The sample of the oracle."""
        return self.oracle.sample

    def price(self, s: Array, exclude: Collection[Hypothesis] = ()) -> Priced:
        """Price under signed weights (n_pairs,); each hypothesis that is found gets the code that is best for it."""
        S = self.pairs.gathered(s)
        codes = np.array(list(self._codes()), dtype=float).T
        priced = self.oracle.price(S @ codes)
        columns = sorted((self._coded(column, S) for column in priced.columns), key=lambda column: -column.edge)
        return Priced(columns, priced.edge_bound if self._exhaustive else inf)

    @property
    def _exhaustive(self) -> bool:
        return 2 ** (self.pairs.mask.shape[1] - 1) <= MOST_CODES

    def _codes(self) -> Iterator[tuple[int, ...]]:
        n_classes = self.pairs.mask.shape[1]
        if self._exhaustive:
            yield from ((1, *rest) for rest in product((-1, 1), repeat=n_classes - 1))
        else:
            yield from self.random.choice([-1, 1], size=(MOST_CODES, n_classes)).tolist()

    def _coded(self, column: Column, S: Array) -> CodedColumn:
        edges = column.values @ S
        code = tuple(np.where(edges >= 0, 1, -1).tolist())
        return CodedColumn(Coded(column.hypothesis, code), self.X, float(np.abs(edges).sum()), self.pairs)
