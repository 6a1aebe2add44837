"""Finite sets of hypotheses as exact oracles: every edge by one matrix product."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from math import fsum, inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cvxens.colgen.protocols import Column, Priced
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, KernelColumn, TabulatedColumn, negate
from cvxens.limits import check_time, in_time
from cvxens.problems.duality import centres, row_sizes
from cvxens.proofs.forms import Statement
from cvxens.rounding import EPSILON
from cvxens.types import Array, Data
from cvxens.validation import finite_array, signed_weights, whole


def rank(columns: Iterable[Column], limit: int) -> list[Column]:
    """Return at most `limit` columns by decreasing edge, equal edges in the order given."""
    return sorted(columns, key=lambda column: -column.edge)[:limit]


def unite(parts: Iterable[Priced], limit: int) -> Priced:
    """Return the answer of an oracle over the union of sets from the answers over each."""
    parts = list(parts)
    columns = rank((column for part in parts for column in part.columns), limit)
    return Priced(
        columns,
        max(part.edge_bound for part in parts),
        sum(part.edge_square_sum for part in parts),
        max(part.outside_bound for part in parts),
        all(part.distinct or part.outside_bound < inf for part in parts),
        sum(part.rising_square_sum for part in parts),
    )


def evaluate(hypothesis: Hypothesis, sample: Any, s: Array, row_norm: float = inf) -> Column:
    """Return h or -h, the one with the largest edge under any output of `s` (n_samples, n_outputs), with its size."""
    edges = s.T @ hypothesis(sample)
    rises = edges[np.abs(edges).argmax()] >= 0
    size = float(row_sizes(edges[np.newaxis], row_norm)[0])
    return Column(hypothesis if rises else negate(hypothesis), sample, size)


def rank_edges(
    edges: Array,
    sides: NDArray[np.int64],
    rounding: float,
    exclude: Collection[Hypothesis],
    row_norm: float,
    *,
    embody: Callable[[int, int], Hypothesis],
    sample: Data,
    limit: int,
) -> Priced:
    """Return an oracle's answer by the edges of all its hypotheses, (n_hypotheses, n_outputs), but for rounding.

    Each hypothesis has one sign, that of its side, or, where that is 0, both; ``embody(j, sign)`` returns it. Of equal
    edges the lowest number comes first.
    """
    either, n_outputs = sides[:, np.newaxis] == 0, edges.shape[1]
    best = edges[np.arange(len(edges)), np.abs(edges).argmax(axis=1)]
    signs = np.where(sides == 0, np.where(best >= 0, 1, -1), sides)
    counted = np.where(either, np.abs(edges), sides[:, np.newaxis] * edges)
    # a norm knows no sides: weights over several outputs have either sign
    sizes = counted.max(axis=1) if row_norm == inf else row_sizes(edges, row_norm)
    ranked = np.argsort(-sizes, kind="stable")

    def list_outside() -> Iterator[Column]:
        taken = set(exclude)
        for j, sign in zip(ranked.tolist(), signs[ranked].tolist(), strict=True):
            hypothesis = embody(j, sign)
            if not taken or taken.isdisjoint((hypothesis, embody(j, -sign))):
                yield Column(hypothesis, sample, float(sizes[j]))

    columns = list(islice(list_outside(), limit))
    norms = (float(np.linalg.norm(own)) * (1 + edges.size * EPSILON) for own in (edges, np.maximum(counted, 0)))
    square_sum, rising = ((norm + rounding * edges.size**0.5) ** 2 for norm in norms)
    largest = float(sizes[ranked[0]])
    if row_norm < inf:
        # every output is off by as much, and the norm by a few roundings for each
        rounding = rounding * n_outputs ** (1 / row_norm) + (n_outputs + 8) * EPSILON * largest
    outside = columns[0].edge + rounding if columns else 0.0
    return Priced(columns, largest + rounding, square_sum, outside, rising_square_sum=rising)


class Votes:
    """What oracles declare whose hypotheses h are within [-1, 1], and that have -h too."""

    negations = True
    largest = 1.0
    votes = True


class Pool:
    """A finite set of hypotheses, mostly with their negations: the exact oracle over it.

    The edges are ``H's``; `edge_bound` and `edge_square_sum` add what the rounding of that product can have
    cost, and the sum counts equal columns as often as they occur. A column far from 0 is priced less its centre, whose
    edge is that times ``sum s``: balanced s, as an intercept asks for, lose no digits to an offset.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_columns), or callable
        Values of the hypotheses on the training sample, finite; or a function that returns them when first asked for.
    embody : callable, optional
        ``embody(j, sign)`` returns hypothesis j times `sign` as an object; by default a `TabulatedColumn`.
    sample : array-like or data frame, optional
        What these hypotheses are evaluated on; by default the table H itself, and then its rows are the samples of
        whatever oracles a `Union` puts beside it.
    columns_per_round : int
        The largest number of columns that are returned.
    negations : bool
        True if with every h the set has -h; False for a one-sided pool, which is another one where w >= 0.

    Raises
    ------
    InvalidInput
        If H is empty, not a finite matrix, or `columns_per_round` is below 1.

    Examples
    --------
    >>> H = np.array([[1.0, 1.0, -1.0], [1.0, -1.0, -1.0]])
    >>> priced = Pool(H, columns_per_round=2).price(np.array([0.5, -0.25]))
    >>> [(str(column.hypothesis), column.edge) for column in priced.columns]
    [('h[1]', 0.75), ('h[0]', 0.25)]
    >>> round(priced.edge_square_sum, 12)
    0.6875
    """

    source = "SL (6), (8); KIE06 (6)"

    def __init__(
        self,
        H: Any,
        *,
        embody: Callable[[int, int], Hypothesis] | None = None,
        sample: Any = None,
        columns_per_round: int = 20,
        negations: bool = True,
    ) -> None:
        self._evaluate = H
        if not callable(H):
            self.H = finite_array("H", H, ndim=2)
        self._embodied = embody is not None
        self.embody = embody or partial(_make_tabulated, self.H.shape[1])
        self.sample = self.H if sample is None else sample
        self.by_rows = sample is None and not self._embodied
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        self.negations = negations

    @cached_property
    def H(self) -> Array:
        """Values of the hypotheses, (n_samples, n_columns)."""
        return finite_array("H", self._evaluate(), ndim=2)

    @cached_property
    def largest(self) -> float:
        """The largest absolute value that a hypothesis of the pool takes on the sample."""
        return max(float(self.H.max()), -float(self.H.min()))

    @property
    def n_hypotheses(self) -> int:
        """The number of hypotheses in the pool, their negations not counted."""
        return int(self.H.shape[1])

    @cached_property
    def _shifted(self) -> tuple[Array, Array, float]:
        """The columns less their centres, these, and the largest number that is left."""
        check_time()
        c = centres(self.H.T)
        shifted = self.H - c if c.any() else self.H
        return shifted, c, max(float(shifted.max()), -float(shifted.min()))

    @classmethod
    def of(
        cls, hypotheses: Sequence[Hypothesis], X: Data, *, columns_per_round: int = 20, negations: bool = True
    ) -> Pool:
        """Return the pool of some hypotheses, which pricing evaluates on the training sample X; equal ones count once.

        Examples
        --------
        >>> Pool.of([np.ravel, np.ones_like], np.array([2.0, 3.0])).H
        array([[2., 1.],
               [3., 1.]])
        """
        if len(hypotheses) == 0:
            raise InvalidInput("hypotheses", "found none", "give at least one hypothesis")
        distinct = tuple(dict.fromkeys(hypotheses))
        evaluate, embody = partial(_evaluate_all, distinct, X), partial(_make_signed, distinct)
        return cls(evaluate, embody=embody, sample=X, columns_per_round=columns_per_round, negations=negations)

    @property
    def statement(self) -> Statement | None:
        """The set in an exact proof; None for columns with names."""
        return None if self._embodied else Statement.from_sample("pool" if self.negations else "one-sided pool", self.H)

    def has_negation(self, _: Hypothesis) -> bool:
        """Return True if the set has -h beside this h of it."""
        return self.negations

    def has(self, hypothesis: Hypothesis) -> bool:
        """Return True if the hypothesis is of the set."""
        return hypothesis in self._names

    @cached_property
    def _names(self) -> set[Hypothesis]:
        signs = (1, -1) if self.negations else (1,)
        return {self.embody(j, sign) for j in range(self.H.shape[1]) for sign in signs}

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best hypotheses, as `Oracle.price` says, each with the sign that makes its edge positive.

        Of equal edges the lowest index comes first.
        """
        s, (shifted, c, largest_shifted) = signed_weights(s, len(self.H)), self._shifted
        totals = np.array([fsum(of_output) for of_output in s.T.tolist()]) if c.any() else np.zeros(s.shape[1])
        edges = shifted.T @ s + np.outer(c, totals)
        # a computed inner product is off by at most n eps/2 |h|'|s| <= n eps/2 max|H| sum|s|, shifting by another eps/2
        # of that, and the product of centre and sum, whose sum is rounded once, by three of its own
        rounding = (len(self.H) + 1) * EPSILON * largest_shifted * float(np.abs(s).sum(axis=0).max())
        rounding += 2 * EPSILON * float(np.abs(c).max() * np.abs(totals).max())
        sides = np.full(len(edges), 0 if self.negations else 1)
        given: Any = {"embody": self.embody, "sample": self.sample, "limit": self.columns_per_round}
        return rank_edges(edges, sides, rounding, exclude, row_norm, **given)


def _make_tabulated(n_columns: int, index: int, sign: int) -> Hypothesis:
    return TabulatedColumn(index, n_columns, sign)


def _evaluate_all(hypotheses: Sequence[Hypothesis], X: Data) -> Array:
    return np.column_stack([h(X) for h in in_time(hypotheses)])


def _make_signed(hypotheses: Sequence[Hypothesis], index: int, sign: int) -> Hypothesis:
    return hypotheses[index] if sign > 0 else negate(hypotheses[index])


class KernelColumns(Pool):
    """The columns h(x) = k(x, x_l) at all training points x_l, mostly with -h: the exact oracle over them.

    This is the set C' of KIE06 section 3.3; with a density as kernel, the Parzen windows of the sample. Points that
    coincide make one column. A precomputed matrix K of kernel values needs no class of its own: it is ``Pool(K)``.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` returns the matrix of k(x, z), such as scikit-learn's pairwise kernels; it must
        be hashable, as functions, partial functions and frozen dataclasses are.
    X : array-like of shape (n_samples, n_features)
        The training points, finite. The matrix of up to n_samples**2 values is kept.
    columns_per_round : int
        The largest number of columns that are returned.
    negations : bool
        False for the columns without -h, where w >= 0: mixtures of densities, for one.

    Raises
    ------
    InvalidInput
        If X is no finite matrix, the kernel is not hashable, or it returns no finite (n_samples, n_samples)
        matrix.

    Examples
    --------
    >>> from sklearn.metrics.pairwise import linear_kernel
    >>> oracle = KernelColumns(linear_kernel, [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], columns_per_round=1)
    >>> column, = oracle.price(np.array([0.5, -0.25, -0.25])).columns
    >>> print(column.hypothesis, column.edge)
    -linear_kernel(x, (0, 2)) 1.5
    """

    source = "KIE06 section 3.3, after (15)"

    def __init__(
        self, kernel: Callable[[Any, Any], Any], X: Any, *, columns_per_round: int = 20, negations: bool = True
    ) -> None:
        if not callable(kernel) or not isinstance(kernel, Hashable):
            raise InvalidInput("kernel", f"found {kernel!r}", "give a hashable kernel(X, Z), or Pool(K) for a matrix K")
        X = finite_array("X", X, ndim=2)
        K = finite_array("kernel", kernel(X, X), ndim=2)
        if K.shape != (len(X), len(X)):
            found = f"found values {K.shape} for {len(X)} samples"
            raise InvalidInput("kernel", found, "return one value per pair (x, z)")
        distinct = np.sort(np.unique(X, axis=0, return_index=True)[1])
        embody = partial(_make_kernel_column, kernel, X[distinct])
        given: Any = {"embody": embody, "sample": X, "columns_per_round": columns_per_round, "negations": negations}
        super().__init__(K.take(distinct, axis=1), **given)


def _make_kernel_column(kernel: Callable[[Any, Any], Any], centers: Array, index: int, sign: int) -> Hypothesis:
    return KernelColumn(kernel, tuple(centers[index].tolist()), sign)
