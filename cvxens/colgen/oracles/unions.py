"""Oracles made of oracles: the union of sets, sets whose hypotheses have prices, and linear combinations of samples.

With a sparse D the scores of the sample are mapped first, ``z = y * (D H w + b)``, so that a loss on margins is one of
pairs, for ranking, or of bags, for label proportions. The columns are D h, and the edge of one under s is that of h
under D's: any oracle prices them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from math import inf
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from cvxens import validation
from cvxens.colgen.oracles.pool import rank, unite
from cvxens.colgen.protocols import (
    Column,
    CombinedSample,
    Oracle,
    Priced,
    TabledSample,
    declared,
    has_negation,
    surely_has,
)
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, Scaled, negate
from cvxens.rounding import EPSILON
from cvxens.types import Array


class Union:
    """The union of the sets of several oracles on one sample: as exact as they are all.

    A hypothesis that belongs to two of the sets counts twice in `edge_square_sum`, so that under penalties on squares
    the sets should have none in common: of several sets of stumps, one has the constant.

    Parameters
    ----------
    *oracles : Oracle
        At least one, all of the same sample. One may be a `Pool` of a table, which goes by rows; the sample of the
        union is then a `cvxens.colgen.TabledSample`.
    columns_per_round : int, optional
        The largest number of columns that are returned; by default all that the oracles return.

    Raises
    ------
    InvalidInput
        There is no oracle, one of another sample, or more than one table.

    Examples
    --------
    >>> from cvxens.colgen.oracles import KernelColumns, Stumps
    >>> from cvxens.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> bumps_and_steps = Union(Stumps(X), KernelColumns(Gaussian(0.2), X), columns_per_round=2)
    >>> for column in bumps_and_steps.price(np.array([-1.0, 1.0, 1.0, -1.0])).columns:
    ...     print(column.hypothesis, round(column.edge, 3))
    x[0] >= 0.5 -> +1 2.0
    Gaussian(gamma=0.2, n_features=None)(x, (1)) 0.551

    Stumps, and what an earlier model answers on the same samples; on new ones it has to be told again:

    >>> from cvxens.colgen import TabledSample, column_generation, formulations
    >>> from cvxens.colgen.oracles import Pool
    >>> earlier = np.array([[-1.0], [1.0], [1.0], [-0.5]])
    >>> run = column_generation(
    ...     formulations.soft_margin(C=1.0), Union(Stumps(X), Pool(earlier)), np.array([-1.0, 1.0, 1.0, -1.0])
    ... )
    >>> [str(column.hypothesis) for column, w in zip(run.columns, run.weights) if w]
    ['h[0]']
    >>> run.decision_function(TabledSample([[1.5], [7.0]], [[0.8], [-0.9]]))
    array([ 0.8, -0.9])
    """

    source = "closure of the sets"

    def __init__(self, *oracles: Oracle, columns_per_round: int | None = None) -> None:
        if not oracles:
            raise InvalidInput("oracles", "found none", "give at least one oracle")
        for oracle in oracles:
            validation.offers("oracles", oracle, "price", "sample")
        tables = [oracle for oracle in oracles if declared(oracle, "by_rows")]
        others = [oracle for oracle in oracles if oracle not in tables] or tables
        if not all(_are_equal(oracle.sample, others[0].sample) for oracle in others):
            raise InvalidInput("oracles", "found two of other samples", "make all of the same X")
        if not all(_are_equal(table.sample, tables[0].sample) for table in tables):
            raise InvalidInput("oracles", "found two tables", "put their columns into one, or give Pool names: Pool.of")
        self.oracles = oracles
        self.by_rows = others is tables
        self.sample = others[0].sample
        if tables and others is not tables:
            self.sample = TabledSample(self.sample, tables[0].sample)
        self.columns_per_round = (
            None if columns_per_round is None else validation.whole("columns_per_round", columns_per_round)
        )
        self.negations = all(declared(oracle, "negations") for oracle in oracles)

    @property
    def largest(self) -> float:
        """The largest |h(x)|, inf where it is not known."""
        return float(max(declared(oracle, "largest") for oracle in self.oracles))

    @property
    def n_hypotheses(self) -> float:
        """Number of hypotheses of all sets, inf where it is not known."""
        return float(sum(declared(oracle, "n_hypotheses") for oracle in self.oracles))

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if one of the sets may have the negation of a hypothesis."""
        return any(has_negation(oracle, hypothesis) for oracle in self.oracles)

    def has(self, hypothesis: Hypothesis) -> bool:
        """Return True if one of the sets surely has the values of a hypothesis on the sample."""
        return any(surely_has(oracle, hypothesis) for oracle in self.oracles)

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), **row_norm: float) -> Priced:
        """Return the best hypotheses of all, as `Oracle.price` says; the bounds are exact if those of all are."""
        parts = [oracle.price(s, exclude, **row_norm) for oracle in self.oracles]
        priced = unite(parts, self.columns_per_round or sum(len(part.columns) for part in parts))
        if not isinstance(self.sample, TabledSample):
            return priced
        # a checkpoint knows columns by the one sample of the oracle
        return replace(priced, columns=[Column(c.hypothesis, self.sample, c.edge) for c in priced.columns])


def _are_equal(sample: Any, other: Any) -> bool:
    """Return True if two samples are the same object, or the same numbers, missing ones among them."""
    if sample is other:
        return True
    if issparse(sample) != issparse(other) or np.shape(sample) != np.shape(other):
        return False
    if issparse(sample):
        return not (sample != other).nnz
    return np.array_equal(np.asarray(sample), np.asarray(other), equal_nan=True)


class Over:
    """An oracle over the hypotheses of another one, changed one by one, or priced several times."""

    def __init__(self, oracle: Oracle) -> None:
        validation.offers("oracle", oracle, "price", "sample")
        self.oracle = oracle
        self.sample = oracle.sample
        self.negations = declared(oracle, "negations")

    @property
    def n_hypotheses(self) -> float:
        """Number of hypotheses, inf where it is not known."""
        return float(declared(self.oracle, "n_hypotheses"))


class Costed(Over):
    """The hypotheses of an oracle divided by what a unit of their weight costs.

    An l1 penalty over them is the weighted one, ``sum_h cost(h) |w_h|``: the length of a rule, the price of what it
    measures. Hypotheses whose cost is not 1 are `Scaled`. One cost for all, as in a `Union`, is exact. Where the cost
    is a function, the best hypotheses for their cost are looked for by asking again without those that are known, until
    no other one can have a larger edge for its cost, as nothing costs less than `least`; that is exact for oracles that
    heed `exclude` and say by an `outside_bound` what is left.

    Parameters
    ----------
    oracle : Oracle
        The hypotheses.
    cost : float or callable
        A number above 0, or a function from a hypothesis to one; it costs what its negation does. For stumps, features
        have costs by ``Stumps(X, costs=...)``, which is faster.
    least : float, optional
        Nothing costs less; needed where `cost` is a function.

    Raises
    ------
    InvalidInput
        A cost is not above 0, or is below `least`.

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stumps
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    >>> dear_from_one_on = Costed(Stumps(X), lambda h: 3.0 if h.step.threshold > 1 else 1.0, least=1.0)
    >>> for column in dear_from_one_on.price(np.array([-1.0, -1.0, 2.0])).columns:
    ...     print(column.hypothesis, round(column.edge, 3))
    x[1] >= 0.5 -> +1 2.0
    x[0] >= 0.5 -> +1 2.0
    0.333333 (x[0] >= 1.5 -> +1) 1.333
    always -> +1 0.0
    """

    source = "weighted l1 penalties"

    def __init__(self, oracle: Oracle, cost: float | Callable[[Any], float], *, least: float | None = None) -> None:
        super().__init__(oracle)
        self.by_rows = declared(oracle, "by_rows")
        self.cost = cost if callable(cost) else validation.positive("cost", cost)
        if callable(cost) and least is None:
            raise InvalidInput("least", "found none with a function as cost", "give a number that no cost is below")
        self.least = validation.positive("least", self.cost if least is None else least)

    @property
    def largest(self) -> float:
        """The largest |h(x)|, inf where it is not known."""
        return float(declared(self.oracle, "largest") / self.least)

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), **row_norm: float) -> Priced:
        """Return the hypotheses that are best for their cost, as `Oracle.price` says."""
        return self._search(s, set(exclude), row_norm) if callable(self.cost) else self._scale_all(s, exclude, row_norm)

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the set may have the negation of a hypothesis, scaled or not."""
        own = hypothesis.hypothesis if isinstance(hypothesis, Scaled) else hypothesis
        return any(has_negation(self.oracle, h) for h in (own, hypothesis))

    def scale(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis divided by its cost."""
        factor = self._find_factor(hypothesis)
        return hypothesis if factor == 1 else Scaled(hypothesis, factor)

    def _find_factor(self, hypothesis: Hypothesis) -> float:
        cost = validation.positive("cost", self.cost(hypothesis) if callable(self.cost) else self.cost)
        if cost < self.least:
            raise InvalidInput("least", f"found {self.least:g}, while {hypothesis} costs {cost:g}", "give a lower one")
        return 1 / cost

    def _scale_all(self, s: Any, exclude: Collection[Hypothesis], row_norm: dict[str, float]) -> Priced:
        """Ask once: with one cost for all, the best are those of the oracle."""
        factor = 1 / self.least
        own = [h.hypothesis if isinstance(h, Scaled) and h.factor == factor else h for h in exclude]
        answer = self.oracle.price(s, own if factor != 1 else exclude, **row_norm)
        columns = [Column(self.scale(c.hypothesis), c.sample, factor * c.edge) for c in answer.columns]
        edge_bound, outside = (_raised(bound, factor) for bound in (answer.edge_bound, answer.outside_bound))
        squares, rising = map(self._raise_squares, (answer.edge_square_sum, answer.rising_square_sum))
        return Priced(columns, edge_bound, squares, outside, answer.distinct, rising)

    def _raise_squares(self, square_sum: float) -> float:
        """Return a sum of squares of edges after their division by at least the least cost."""
        return _raised(_raised(square_sum, 1 / self.least), 1 / self.least)

    def _search(self, s: Any, exclude: set[Hypothesis], row_norm: dict[str, float]) -> Priced:
        """Ask until what is left cannot be better than the best that is not excluded.

        What is excluded counts in the bound on all edges, so the oracle is told to leave out only what it has answered.
        """
        known: set[Hypothesis] = set()
        columns: list[Column] = []
        everything, outside, square_sum, rising = 0.0, 0.0, inf, inf
        # a search that is cut short bounds as well
        for _ in range(200):
            answer = self.oracle.price(s, list(known), **row_norm)
            new = [column for column in answer.columns if column.hypothesis not in known]
            square_sum = min(square_sum, answer.edge_square_sum)
            rising = min(rising, answer.rising_square_sum)
            # the edge of one that is answered may exceed what it is said to be as far as that of the best one may
            slack = max(answer.outside_bound - new[0].edge, 0.0) if new and answer.outside_bound < inf else 0.0
            for column in new:
                known.add(column.hypothesis)
                scaled, factor = self.scale(column.hypothesis), self._find_factor(column.hypothesis)
                bound = _raised(column.edge + slack, factor)
                everything = max(everything, bound)
                if exclude.isdisjoint((scaled, negate(scaled))):
                    columns.append(Column(scaled, column.sample, factor * column.edge))
                    outside = max(outside, bound)
            # nothing but what has been answered so far, the last answer included, has an edge above this
            rest = _raised(max(answer.outside_bound, 0.0), 1 / self.least)
            if not new or rest <= outside or rest == inf:
                break
        return Priced(
            rank(columns, len(columns)),
            max(everything, rest),
            self._raise_squares(square_sum),
            max(outside, rest),
            answer.distinct,
            self._raise_squares(rising),
        )


def _raised(bound: float, factor: float) -> float:
    """Return a bound times a factor, raised by what rounding may have cost."""
    return bound * factor + abs(bound * factor) * 4 * EPSILON if bound < inf else inf


class Rows(Over):
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
        super().__init__(oracle)
        self.D = csr_array(D if issparse(D) else validation.finite_array("D", D, ndim=2), dtype=np.float64)
        n_samples = np.shape(oracle.sample)[0]
        if self.D.shape[1] != n_samples or not self.D.shape[0] or not np.isfinite(self.D.data).all():
            found = f"found shape {self.D.shape} for {n_samples} samples, or numbers that are not finite"
            raise InvalidInput("D", found, "give a finite matrix with a column for every sample")
        self.sample = CombinedSample(oracle.sample, self.D)
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
