"""Oracles on linear combinations of samples: a loss of differences, averages or any sums of scores.

With a sparse D the scores of the sample are mapped first, ``z = y * (D H w + b)``, so that a loss on margins is one of
pairs, for ranking, or of bags, for label proportions. The columns are D h, and the edge of one under s is that of h
under D's: any oracle prices them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import inf
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from cvxens import validation
from cvxens.colgen.protocols import Column, CombinedSample, Oracle, Priced, declared, has_negation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.rounding import EPSILON
from cvxens.types import Array


class Rows:
    """The hypotheses of an oracle on rows that are linear combinations of its samples: the columns D h.

    Labels and multipliers are those of the rows; `Run.decision_function` gives the scores of samples. An intercept is
    added to the rows, so that differences of scores have none. The oracle says by `largest` how large |h(x)| can be, by
    which the rounding of D's is counted in the bounds; all oracles here do.

    Parameters
    ----------
    oracle : Oracle
        The hypotheses, on n_samples samples.
    D : array-like or sparse matrix of shape (n_rows, n_samples)
        The combinations, finite.

    Raises
    ------
    InvalidInput
        D has another number of columns or is not finite, or the oracle has no `largest`.

    Examples
    --------
    Ranking by pairs of which one sample is to score above the other, by the hinge of the difference:

    >>> from cvxens.colgen import column_generation, formulations
    >>> from cvxens.colgen.oracles import Stumps
    >>> X, grades = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1, 1, 2, 3])
    >>> first, second = np.triu_indices(4, 1)
    >>> differ = grades[first] != grades[second]
    >>> first, second = np.append(first[differ], 3), np.append(second[differ], 0)
    >>> pairs = Rows.from_pairs(Stumps(X, constant=False), first, second)
    >>> run = column_generation(formulations.soft_margin(C=1.0), pairs, np.sign(grades[first] - grades[second]))
    >>> run.certificate.proven, run.decision_function(X)
    (True, array([-1., -1.,  0.,  1.]))
    """

    source = "Joachims 2002; Quadrianto et al. 2009"

    def __init__(self, oracle: Oracle, D: Any) -> None:
        validation.offers("oracle", oracle, "price", "sample")
        self.oracle = oracle
        self.D = csr_array(D if issparse(D) else validation.finite_array("D", D, ndim=2), dtype=np.float64)
        n_samples = np.shape(oracle.sample)[0]
        if self.D.shape[1] != n_samples or not self.D.shape[0] or not np.isfinite(self.D.data).all():
            found = f"found shape {self.D.shape} for {n_samples} samples, or numbers that are not finite"
            raise InvalidInput("D", found, "give a finite matrix with a column for every sample")
        self.sample = CombinedSample(oracle.sample, self.D)
        self.negations = declared(oracle, "negations")
        # |D|' and how many terms, and one product more, every entry of D's is made of
        self._sizes = abs(self.D).T.tocsr()
        self._terms = np.diff(self._sizes.indptr) + 1

    @classmethod
    def from_pairs(cls, oracle: Oracle, first: Any, second: Any) -> Self:
        """Return the rows ``h(x_first) - h(x_second)``, for two lists of as many samples."""
        pairs = np.stack([np.asarray(validation.finite_array("first", first, ndim=1), np.intp), second]).astype(np.intp)
        rows = np.arange(pairs.shape[1])
        n_samples = np.shape(oracle.sample)[0]
        signs = np.repeat([1.0, -1.0], len(rows))
        return cls(oracle, csr_array((signs, (np.tile(rows, 2), pairs.ravel())), (len(rows), n_samples)))

    @classmethod
    def from_groups(cls, oracle: Oracle, groups: Any) -> Self:
        """Return the averages of h over the samples of every group, in the order of ``np.unique(groups)``.

        Examples
        --------
        >>> from cvxens.colgen.oracles import Stumps
        >>> Rows.from_groups(Stumps([[0.0], [1.0], [2.0]]), ["a", "b", "b"]).D.toarray()
        array([[1. , 0. , 0. ],
               [0. , 0.5, 0.5]])
        """
        _, of_sample, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
        return cls(oracle, csr_array((1 / sizes[of_sample], (of_sample, np.arange(len(of_sample))))))

    @property
    def n_hypotheses(self) -> float:
        """Number of hypotheses, inf where it is not known."""
        return float(declared(self.oracle, "n_hypotheses"))

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the set may have the negation of a hypothesis."""
        return has_negation(self.oracle, hypothesis)

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), **row_norm: float) -> Priced:
        """Return the best hypotheses on the rows, as `Oracle.price` says; the bounds are as exact as the oracle's."""
        weights = validation.signed_weights(s, self.D.shape[0])
        answer = self.oracle.price(self.D.T @ weights, exclude, **row_norm)
        if (largest := declared(self.oracle, "largest")) == inf:
            remedy = "give it the attribute `largest`, at least every |h(x)|"
            raise InvalidInput("oracle", f"found {type(self.oracle).__name__}, which does not bound |h(x)|", remedy)
        # |s'D h - (D's)'h| <= sum_i |D's - (D's)_i| max |h|, of every output
        lost = EPSILON * (self._terms @ (self._sizes @ np.abs(weights))) * largest
        rounding = float(lost.max()) * weights.shape[1] ** (1 / row_norm.get("row_norm", inf))
        return replace(
            answer,
            columns=[Column(column.hypothesis, self.sample, column.edge) for column in answer.columns],
            edge_bound=answer.edge_bound + rounding,
            edge_square_sum=_add_to_squares(answer.edge_square_sum, lost, self.n_hypotheses),
            outside_bound=answer.outside_bound + rounding,
            rising_square_sum=_add_to_squares(answer.rising_square_sum, lost, self.n_hypotheses),
        )


def _add_to_squares(square_sum: float, lost: Array, n_hypotheses: float) -> float:
    """Bound the sum of squares of edges each of which is further from 0 by what is lost, output by output."""
    # |e + d| <= |e| + |d|, over all hypotheses and outputs
    added = float(np.linalg.norm(lost)) * n_hypotheses**0.5 if lost.any() else 0.0
    return (square_sum**0.5 + added) ** 2 * (1 + 8 * EPSILON) if added < inf else inf
