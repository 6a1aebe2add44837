"""Losses over all pairs of a positive and a negative sample, for ranking and the area under the curve, by sorting.

The pairs are ``sum C phi(f_p - f_q)`` over the positives p and the negatives q of one group, such as the documents of a
query. There are up to n^2/4 of them, and neither the loss nor its proof looks at them one by one. For phi that are
piecewise polynomial, sums over the pairs that are not apart yet are differences of cumulated sums in the order of the
scores. The multipliers of the pairs are a *flow* v_pq >= 0 from positives to negatives, those of the samples what it
carries away and brings:

    u_p = sum_q v_pq,    u_q = -sum_p v_pq.

So the conjugate at u is the best flow between given supplies and demands, a transportation problem of which this module
knows the answer for three losses: whether there is a flow within capacities (`PairwiseHinge`, by Gale and Ryser's
theorem), the flow of the largest entropy (`PairwiseExponential`), and that of the least norm
(`PairwiseSquaredHinge`), whose potentials are the scores.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import xlogy

from cvxens import validation
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.limits import check_time
from cvxens.problems.duality import balance_exactly
from cvxens.problems.losses import OfDifferences, excess
from cvxens.problems.modelling import Term, cp
from cvxens.rounding import TINY, sum_error
from cvxens.types import Array, Indices, Mask

__all__ = ["GradedPairs", "PairwiseExponential", "PairwiseHinge", "PairwiseSquaredHinge"]


@dataclass(frozen=True, eq=False)
class GradedPairs:
    """The pairs of samples of other grades of a query, as pairs of -1 and +1 of groups of copies of the samples.

    The grades of a query are numbered, and two of them differ in a highest binary digit. So for every digit, the grades
    that agree in all digits above make a group, where those with a 1 are to rank above those with a 0: each pair is in
    one group, and a sample has at most as many copies as the number of grades has digits.

    Attributes
    ----------
    rows : ndarray of int, shape (n_copies,)
        The sample that each copy is of.
    y : ndarray of shape (n_copies,)
        -1 and +1.
    groups : ndarray of int, shape (n_copies,)
        The group of each copy, from 0; all have both sides.
    shares : ndarray of shape (n_groups,)
        What a pair of every group counts in the mean over the pairs of a query, and then over the queries.

    Examples
    --------
    >>> pairs = GradedPairs.from_grades(np.array([0.0, 1.0, 2.0]), np.zeros(3))
    >>> for group in range(2):
    ...     print(pairs.rows[pairs.groups == group], pairs.y[pairs.groups == group])
    [0 1] [-1.  1.]
    [0 1 2] [-1. -1.  1.]
    >>> pairs.concordance(np.array([0.0, 3.0, 2.0])).__round__(3)
    0.667
    """

    rows: Indices
    y: Array
    groups: Indices
    shares: Array

    @classmethod
    def from_grades(cls, grades: Array, queries: NDArray[Any]) -> Self:
        """Return the pairs of samples with grades (n_samples,) and queries (n_samples,).

        Raises
        ------
        InvalidInput
            There are none.
        """
        query = np.unique(queries, return_inverse=True)[1]
        order = np.lexsort((grades, query))
        # the grade of a sample as a number, from 0 in every query
        new_query = np.diff(query[order], prepend=-1) != 0
        new_grade = new_query | (np.diff(grades[order], prepend=np.nan) != 0)
        counts, rank = np.cumsum(new_grade) - 1, np.empty(len(order), np.int64)
        rank[order] = counts - counts[new_query][query[order]]
        parts, n_digits = [], int(rank.max()).bit_length()
        for digit in range(n_digits):
            group = np.unique((query << n_digits) + (rank >> (digit + 1)), return_inverse=True)[1]
            upper = (rank >> digit & 1).astype(bool)
            sizes = [np.bincount(group[side], minlength=int(group.max()) + 1) for side in (upper, ~upper)]
            kept = np.flatnonzero((sizes[0] * sizes[1])[group])
            parts.append((kept, np.where(upper, 1.0, -1.0)[kept], group[kept] * n_digits + digit))
        if not parts:
            found = f"found {len(rank)} sample{'s' * (len(rank) > 1)}, none of another grade in its query"
            raise InvalidInput("y", found, "give two or more grades")
        rows, y, names = (np.concatenate(part) for part in zip(*parts, strict=True))
        groups = np.unique(names, return_inverse=True)[1]
        # of every group the query and the number of pairs
        above, below = np.bincount(groups, y > 0), np.bincount(groups, y < 0)
        of_group = np.zeros(len(above), np.intp)
        of_group[groups] = query[rows]
        in_query = np.bincount(of_group, above * below)
        return cls(rows, y, groups, 1 / (in_query[of_group] * np.count_nonzero(in_query)))

    @cached_property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return int(np.bincount(self.groups, self.y > 0) @ np.bincount(self.groups, self.y < 0))

    def list_all(self) -> tuple[Indices, Indices, Array]:
        """Return the samples of the higher and of the lower grades of all pairs, and what each pair counts."""
        first, second, sizes = list_pairs(*sort_sides(self.y > 0, self.groups))
        return self.rows[first], self.rows[second], np.repeat(self.shares, sizes)

    def concordance(self, scores: Array) -> float:
        """Return the mean share of the pairs of a query that scores (n_samples,) order rightly; of equal ones half."""
        from scipy.stats import rankdata

        order = np.lexsort((scores[self.rows], self.groups))
        f, group, up = scores[self.rows][order], self.groups[order], self.y[order] > 0
        # samples of a group with one score have the mean of their ranks
        ranks = rankdata(np.cumsum((np.diff(group, prepend=-1) != 0) | (np.diff(f, prepend=np.nan) != 0)))
        sizes, ups = np.bincount(group), np.bincount(group, up)
        # less what they are among themselves, ranks count the others that are below (Mann & Whitney 1947)
        won = np.bincount(group, ranks * up) - ups * (np.cumsum(sizes) - sizes + (ups + 1) / 2)
        return float(won @ self.shares)


def sort_sides(positive: Mask, group: Indices) -> tuple[Indices, Indices, Indices]:
    """Return all samples, group by group and the positives first; where each group begins, and its negatives."""
    starts = np.append(0, np.cumsum(np.bincount(group)))
    return np.lexsort((~positive, group)), starts, starts[:-1] + np.bincount(group[positive], minlength=len(starts) - 1)


def list_pairs(order: Indices, starts: Indices, middles: Indices) -> tuple[Indices, Indices, Indices]:
    """Return the positives and the negatives of all pairs, in rows of one positive, and how many each group has."""
    above, below = middles - starts[:-1], starts[1:] - middles
    is_positive = np.arange(len(order)) < np.repeat(middles, above + below)
    first, sizes = np.repeat(order[is_positive], np.repeat(below, above)), above * below
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return first, order[np.repeat(middles, sizes) + place % np.repeat(below, sizes)], sizes


def take_differences(first: Indices, second: Indices, n_samples: int) -> csr_array:
    """Return the matrix (n_pairs, n_samples) that makes differences, first less second, of what samples have."""
    n_pairs = len(first)
    places = np.tile(np.arange(n_pairs), 2), np.append(first, second)
    return csr_array((np.repeat([1.0, -1.0], n_pairs), places), (n_pairs, n_samples))


@dataclass(frozen=True, eq=False)
class PairLoss(OfDifferences):
    """A loss ``sum C_g phi(f_p - f_q)`` over the positives p and negatives q of every group g, phi falling.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        -1 and +1.
    groups : array-like of shape (n_samples,), optional
        Names of groups, such as queries; pairs are within them. By default there is one group.
    C : float or ndarray of shape (n_groups,)
        Price of a pair, or of a unit of its slack, above 0; of every group its own in an array, in the order of their
        names. 1 over the number of pairs makes the loss their mean: of slacks, that bounds one less the area under the
        curve.
    """

    per_sample = "y"
    y: Array
    groups: Any = None
    C: float | Array = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", validation.signs(self.y))
        groups = np.zeros(len(self.y)) if self.groups is None else np.asarray(self.groups)
        validation.same_length("groups", groups, len(self.y))
        object.__setattr__(self, "groups", np.unique(groups, return_inverse=True)[1].ravel())
        object.__setattr__(self, "C", validation.prices("C", self.C))
        if np.shape(self.C) not in {(), (self.n_groups,)}:
            found = f"found shape {np.shape(self.C)} for {self.n_groups} groups"
            raise InvalidInput("C", found, "give one price, or one for each group in the order of their names")

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self.groups.max()) + 1

    @cached_property
    def positive(self) -> Mask:
        """True for the samples that are to rank above the others of their group."""
        return self.y > 0

    @cached_property
    def prices(self) -> Array:
        """The price of a pair of each group, (n_groups,)."""
        return np.full(self.n_groups, self.C, np.float64)

    @cached_property
    def sides(self) -> tuple[Indices, Indices, Indices]:
        """The samples as `sort_sides` lists them."""
        return sort_sides(self.positive, self.groups)

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        _, starts, middles = self.sides
        return int(((middles - starts[:-1]) * (starts[1:] - middles)).sum())

    @abstractmethod
    def _model(self, differences: cp.Expression, prices: Array) -> cp.Expression:
        """Return the loss of an expression of differences of scores (n_pairs,) for cvxpy."""

    def model(self, z: cp.Expression) -> Term:
        """Model the loss pair by pair; of too many an InvalidInput."""
        # pairs up to which a model for cvxpy is written, a row for each
        if self.n_pairs > 1_000_000:
            found = f"found {self.n_pairs:,} pairs for a model of each of them"
            raise InvalidInput("y", found, "leave out the master, or give an L1 or SquaredL2 penalty")
        first, second, sizes = list_pairs(*self.sides)
        D = take_differences(first, second, len(self.y))
        return Term(self._model(D @ z, np.repeat(self.prices, sizes)))

    def centre(self, z: Array) -> Array:
        """Return scores less the means of their groups, which all differences have in common."""
        means = np.bincount(self.groups, z, self.n_groups) / np.bincount(self.groups, minlength=self.n_groups)
        return z - means[self.groups]

    @cached_property
    def _negatives_first(self) -> Indices:
        """All samples, the negatives before the positives."""
        return np.argsort(self.positive, kind="stable")

    @cached_property
    def _short_groups(self) -> NDArray[np.integer]:
        """The groups, in the shortest type that holds them: short integers are sorted in a time linear in them."""
        return self.groups.astype(np.min_scalar_type(self.n_groups))

    @cached_property
    def _sorted(self) -> deque[tuple[Array, Indices]]:
        """Keys, and the samples in their order: a step asks for value, slopes and curvature at the same scores."""
        # orders of samples that are remembered
        return deque(maxlen=4)

    def sort(self, f: Array, beyond: float = 0.0) -> Indices:
        """Return the order of groups and in them of ``f_p - 1 + beyond`` and f_q, of equal ones the positives last."""
        key = np.where(self.positive, f - (1 - beyond), f)
        for known, order in self._sorted:
            if np.array_equal(known, key):
                return order
        order = self._negatives_first[np.argsort(key[self._negatives_first], kind="stable")]
        if self.n_groups > 1:
            order = order[np.argsort(self._short_groups[order], kind="stable")]
        self._sorted.append((key, order))
        return order

    def sum_over_partners(self, f: Array, values: Array, beyond: float = 0.0) -> Array:
        """Sum values (..., n_samples) over the partners of every sample in pairs with ``1 - f_p + f_q > beyond``.

        Along the samples of a group in the order of ``f_p - 1`` and f_q, the partners of a positive come after it, and
        those of a negative before it.
        """
        check_time()
        # of equal keys the positive, which is not a partner then, comes last
        order = self.sort(f, beyond)
        side, sorted_values = self.positive[order], values[..., order]
        of_negatives = np.cumsum(np.where(side, 0.0, sorted_values), axis=-1)
        of_positives = np.cumsum(np.where(side, sorted_values, 0.0), axis=-1)
        # where each group ends, and what has been summed up before it begins
        ends = np.cumsum(np.bincount(self.groups, minlength=self.n_groups)) - 1
        group = self.groups[order]
        before = np.concatenate([np.zeros((*values.shape[:-1], 1)), of_positives[..., ends[:-1]]], axis=-1)
        found = np.empty_like(sorted_values)
        after = of_negatives[..., ends][..., group] - of_negatives
        found[..., order] = np.where(side, after, of_positives - before[..., group])
        return found

    def count_below(self, f: Array, beyond: float) -> Indices:
        """Count, for every positive, the negatives of groups before its own, and those of its own with s <= beyond."""
        order = self.sort(f, beyond)
        found: Indices = np.empty(len(f), np.intp)
        found[order] = np.cumsum(~self.positive[order])
        return found[self.positive]

    def rise(self, z: Array, errors: Array) -> float:
        """Bound how far the loss rises: no further than where every positive is lower and every negative higher."""
        return max(self.value(z - self.y * errors) - self.value(z), 0.0) + self.rounding(z)

    @property
    def price_of(self) -> Array:
        """The price of the pairs of every sample, (n_samples,)."""
        return self.prices[self.groups]

    def slackness(self, z: Array, u: Array) -> float:
        """Return Fenchel's ``loss(z) + u'z + loss*(-u)``, which is 0 at the optimum and never less, relative."""
        value, at_u = self.value(z), self.dual_value(u)
        return max(value + float(u @ self.centre(z)) - at_u, 0.0) / max(abs(value), abs(at_u), TINY)

    def split(self, u: Array) -> tuple[Array, Array]:
        """Return supplies of the positives and demands of the negatives, 0 for the other samples."""
        return np.maximum(u, 0.0) * self.positive, np.maximum(-u, 0.0) * ~self.positive

    def balance(self, u: Array) -> Array:
        """Clip signs, and scale down the larger of supply and demand of every group."""
        a, b = self.split(u)
        supply, demand = (np.bincount(self.groups, part, self.n_groups) for part in (a, b))
        least = np.minimum(supply, demand)
        with np.errstate(invalid="ignore", divide="ignore"):
            of_a, of_b = (np.nan_to_num(least / part)[self.groups] for part in (supply, demand))
        return a * np.minimum(of_a, 1.0) - b * np.minimum(of_b, 1.0)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip signs, and make supply and demand of every group equal in real numbers."""
        balanced, repaired = self.balance(u), np.zeros(len(self.y))
        order, starts, _ = self.sides
        for both in np.split(order, starts[1:-1]):
            repaired[both] = balance_exactly(balanced[both], np.ones(len(both)))
        return repaired

    def violation(self, u: Array) -> float:
        """Return the largest wrong sign, or difference of supply and demand of a group; relative."""
        wrong, uneven = excess(-u * self.y), np.abs(np.bincount(self.groups, u, self.n_groups))
        return max(wrong, excess(uneven)) / max(float(np.abs(u).sum()), TINY)


@documented
@dataclass(frozen=True, eq=False)
class PairwiseHinge(PairLoss):
    """sum over pairs C max(0, 1 - (f_p - f_q)): the ranking SVM (Joachims 2002), in O(n log n).

    Its dual value is ``sum_p u_p`` where supplies u_p and demands -u_q are met by a flow 0 <= v_pq <= C, else -inf.
    There is one (Gale 1957, Ryser 1957) if and only if in every group both have the same sum, and for every k the k
    largest supplies are at most ``sum_q min(-u_q, k C)``: of the n-sample cuts between them these are the least.

    Examples
    --------
    >>> loss = PairwiseHinge([1, 1, -1], C=0.5)
    >>> round(loss.value(np.array([2.0, 0.5, 0.0])), 12), loss.multipliers(np.array([2.0, 0.5, 0.0]))
    (0.25, array([ 0. ,  0.5, -0.5]))
    """

    def _model(self, differences: cp.Expression, prices: Array) -> cp.Expression:
        return cp.sum(cp.multiply(prices, cp.pos(1 - differences)))

    def terms(self, z: Array) -> Array:
        return (self.price_of * sum_slacks(self, self.centre(z), np.ones(len(z))))[self.positive]

    def rounding(self, z: Array) -> float:
        f = self.centre(z)
        counts = self.sum_over_partners(f, np.ones(len(f)))
        # every sum over partners is a difference of sums over all samples before
        sizes = counts * (1 + np.abs(z)) + (counts > 0) * float(np.abs(z).sum())
        return sum_error(len(z), float((self.price_of * sizes)[self.positive].sum()))

    def dual_terms(self, u: Array) -> Array:
        return np.maximum(u, 0.0)[self.positive]

    def multipliers(self, z: Array) -> Array:
        """Return C times the number of partners that are not 1 below, or above."""
        f = self.centre(z)
        return self.y * self.price_of * self.sum_over_partners(f, np.ones(len(f)))

    def slopes(self, z: Array, near: float) -> tuple[Array, Array]:
        """Return the fewest and the most partners that count, where scores may be off by `near`."""
        f = self.centre(z)
        ends, ones, y = (2 * near, np.nextafter(-2 * near, -1.0)), np.ones(len(f)), self.y
        sure, possible = (y * self.price_of * self.sum_over_partners(f, ones, beyond) for beyond in ends)
        return np.minimum(sure, possible), np.maximum(sure, possible)

    def smoothed(self, width: float) -> _RoundedHinge:
        """Return the loss with the kink of every pair rounded off over a width; its multipliers are feasible here."""
        return _RoundedHinge(self, width)

    def repair(self, u: Array, y: Array | None) -> Array:
        """Scale supplies and demands of every group down until there is a flow, which is checked in whole numbers."""
        from cvxens.compensated import fit_flows

        order, starts, middles = self.sides
        flows, repaired = (self.y * self.balance(u))[order], np.empty(len(self.y))
        fit_flows(flows, starts, middles, self.prices)
        repaired[order] = self.y[order] * flows
        return repaired

    def violation(self, u: Array) -> float:
        """Return the largest wrong sign, difference of supply and demand, or lack of capacity; relative."""
        from cvxens.compensated import find_shortage

        order, starts, middles = self.sides
        flows, groups = (self.y * u)[order], zip(starts[:-1], middles, starts[1:], self.prices, strict=True)
        lacking = [find_shortage(flows[a:b], flows[b:c], price) for a, b, c, price in groups if a < b < c]
        return max(PairLoss.violation(self, u), max(lacking, default=0.0) / max(float(np.abs(u).sum()), TINY))


@dataclass(frozen=True, eq=False)
class _RoundedHinge:
    """sum over pairs C times the hinge s_+ of s = 1 - (f_p - f_q), rounded off: (s_+^2 - (s - d)_+^2) / (2 d)."""

    loss: PairwiseHinge
    d: float

    def value(self, z: Array) -> float:
        f = self.loss.centre(z)
        whole, beyond = (sum_squares(self.loss, f, after) for after in (0.0, self.d))
        return float((self.loss.price_of * (whole - beyond))[self.loss.positive].sum()) / (2 * self.d)

    def multipliers(self, z: Array) -> Array:
        """Return C times the sums of min(s_+, d) / d over the partners."""
        f, ones = self.loss.centre(z), np.ones(len(z))
        sums = sum_slacks(self.loss, f, ones) - sum_slacks(self.loss, f, ones, self.d)
        return self.loss.y * self.loss.price_of * np.maximum(sums, 0.0) / self.d

    def curve(self, z: Array, X: Array) -> Array:
        """Return the second derivatives in the weights of the columns X (n_columns, n_samples)."""
        return curve_pairs(self.loss, z, X, self.d) / self.d


def sum_slacks(loss: PairLoss, f: Array, weights: Array, beyond: float = 0.0) -> Array:
    """Sum weights (n_samples,) times ``max(0, s - beyond)``, s = 1 - f_p + f_q, over the partners of every sample."""
    sums, moments = loss.sum_over_partners(f, np.stack([weights, weights * f]), beyond)
    # at p: sum (f_q - f_p + 1), at q: sum (1 - f_p + f_q)
    far = 1 - beyond
    return np.maximum(np.where(loss.positive, moments - (f - far) * sums, (f + far) * sums - moments), 0.0)


def sum_squares(loss: PairLoss, f: Array, beyond: float = 0.0, weights: Array | None = None) -> Array:
    """Sum weights times ``max(0, s - beyond)^2`` over the partners of every positive; others are of no meaning."""
    w, t = np.ones(len(f)) if weights is None else weights, f - (1 - beyond)
    counts, sums, squares = loss.sum_over_partners(f, np.stack([w, w * f, w * f * f]), beyond)
    return squares - 2 * t * sums + t * t * counts


def curve_pairs(loss: PairLoss, z: Array, X: Array, width: float = np.inf) -> Array:
    """Return ``sum C (x_p - x_q)(x_p - x_q)'`` over the pairs with 0 < s < width, for columns X (n_columns, n_samples).

    Among the negatives in the order of their groups and scores, the partners of a positive are in a row.
    """
    f, price = loss.centre(z), loss.price_of
    p, negatives = np.flatnonzero(loss.positive), np.flatnonzero(~loss.positive)
    q = negatives[np.lexsort((f[negatives], loss.groups[negatives]))]
    first, last = (loss.count_below(f, beyond) for beyond in (0.0, width))
    of_p, of_q = X[:, p], X[:, q]
    sums = np.concatenate([np.zeros((len(X), 1)), np.cumsum(of_q, axis=1)], axis=1)
    cross = (of_p * price[p]) @ (sums[:, last] - sums[:, first]).T
    # how often a negative is a partner, by what is paid for that
    of_rows = np.zeros(len(q) + 1)
    np.add.at(of_rows, first, price[p])
    np.add.at(of_rows, last, -price[p])
    squares = (of_p * (price[p] * (last - first))) @ of_p.T + (of_q * np.cumsum(of_rows)[:-1]) @ of_q.T
    return np.asarray(squares - cross - cross.T)


@documented
@dataclass(frozen=True, eq=False)
class PairwiseExponential(PairLoss):
    """sum over pairs C exp(-(f_p - f_q)), the loss of RankBoost (Freund, Iyer, Schapire & Singer 2003), in O(n).

    It is a product of sums in every group. Its dual value is the largest ``sum v - v ln(v / C)`` over flows v, that of
    ``v_pq = u_p (-u_q) / S`` with the S that both sides add up to: ``S (1 + ln S + ln C) - sum |u_i| ln |u_i|``.

    Examples
    --------
    >>> loss = PairwiseExponential([1, 1, -1], C=0.5)
    >>> round(loss.value(np.array([0.0, np.log(2.0), 0.0])), 12)
    0.75
    """

    def _model(self, differences: cp.Expression, prices: Array) -> cp.Expression:
        return cp.sum(cp.multiply(prices, cp.exp(-differences)))

    def _logarithms(self, z: Array) -> tuple[Array, Array]:
        """Return ``-y f``, and its log-sum-exp over the other side of the group of every sample, (n_samples,)."""
        exponents, of_group = -self.y * self.centre(z), np.full((2, self.n_groups), -np.inf)
        for side, mask in enumerate((self.positive, ~self.positive)):
            largest = np.full(self.n_groups, -np.inf)
            np.maximum.at(largest, self.groups[mask], exponents[mask])
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.exp(exponents[mask] - largest[self.groups[mask]])
                of_group[side] = largest + np.log(np.bincount(self.groups[mask], shares, self.n_groups))
        return exponents, np.where(self.positive, of_group[1][self.groups], of_group[0][self.groups])

    def terms(self, z: Array) -> Array:
        return np.abs(self.multipliers(z))[self.positive]

    def rounding(self, z: Array) -> float:
        """Bound it by the value times one more than the sizes of the exponents, whose rounding it multiplies."""
        return sum_error(len(z), self.value(z) * (1 + 2 * float(np.abs(z).max(initial=0.0))))

    def multipliers(self, z: Array) -> Array:
        """Return C times the product of a sample's exponential and the sum of those of the other side."""
        exponents, of_partners = self._logarithms(z)
        with np.errstate(over="ignore"):
            return self.y * self.price_of * np.exp(exponents + np.nan_to_num(of_partners, neginf=-np.inf))

    def dual_terms(self, u: Array) -> Array:
        sums, sizes = np.bincount(self.groups, np.maximum(u, 0.0), self.n_groups), np.abs(u)
        return np.concatenate([sums, xlogy(sums, self.prices), xlogy(sums, sums), -xlogy(sizes, sizes)])

    def curve(self, z: Array, X: Array) -> Array:
        """Return the second derivatives in the weights of the columns X (n_columns, n_samples).

        They are ``sum v_pq (x_p - x_q)(x_p - x_q)'`` over pairs: a diagonal less two products for each group.
        """
        u = self.multipliers(z)
        sizes, (a, b) = np.abs(u), self.split(u)
        sums = np.bincount(self.groups, a, self.n_groups)
        members = csr_array((np.ones(len(sizes)), (np.arange(len(sizes)), self.groups)), (len(sizes), self.n_groups))
        of_a, of_b = (X * a) @ members, (X * b) @ members
        cross = (of_a / np.where(sums > 0, sums, 1.0)) @ of_b.T
        return np.asarray((X * sizes) @ X.T - cross - cross.T)


@documented
@dataclass(frozen=True, eq=False)
class PairwiseSquaredHinge(PairLoss):
    """sum over pairs C/2 max(0, 1 - (f_p - f_q))^2 (Chapelle & Keerthi 2010), in O(n log n).

    Its dual value is ``sum_p u_p - |v|^2 / (2 C)`` for the flow v >= 0 of the least norm between supplies u_p and
    demands -u_q. The least flow is ``v_pq = C max(0, 1 - f_p + f_q)`` for some scores f, its potentials; any flow
    bounds the dual value from below. Of multipliers of known scores they are known; of others they are looked for. What
    such a flow lacks or has too much is made up for by scaling its rows and columns and adding a product (Altschuler,
    Weed & Rigollet 2017), whose norm is a sum over pairs as well.

    Examples
    --------
    >>> loss = PairwiseSquaredHinge([1, 1, -1], C=2.0)
    >>> loss.value(np.array([2.0, 0.5, 0.0]))
    0.25
    """

    def _model(self, differences: cp.Expression, prices: Array) -> cp.Expression:
        return cp.sum(cp.multiply(prices / 2, cp.square(cp.pos(1 - differences))))

    @cached_property
    def _known(self) -> deque[tuple[Array, Array]]:
        """Multipliers, less their length, and the scores that they are of."""
        # multipliers whose scores are remembered: a round asks for those of its last few points
        return deque(maxlen=16)

    def terms(self, z: Array) -> Array:
        return (self.price_of / 2 * sum_squares(self, self.centre(z)))[self.positive]

    def rounding(self, z: Array) -> float:
        return sum_error(len(z), self._measure(z))

    def _measure(self, z: Array) -> float:
        """Bound the sum of the sizes of what the squares of all pairs are sums and differences of."""
        f = self.centre(z)
        counts, size = self.sum_over_partners(f, np.ones(len(f))), np.abs(z)
        sizes = (1 + size) ** 2 * counts + (counts > 0) * float((2 * (1 + size.max()) * size).sum())
        return float((self.price_of * sizes)[self.positive].sum())

    def multipliers(self, z: Array) -> Array:
        """Return C times the sum of what the pairs of a sample lack; they and z are remembered."""
        f = self.centre(z)
        u = self.y * self.price_of * sum_slacks(self, f, np.ones(len(f)))
        self._remember(u, f)
        return u

    def _remember(self, u: Array, f: Array) -> None:
        length = float(np.linalg.norm(u))
        if length > 0:
            self._known.append((u / length, f))

    def _find_potentials(self, u: Array) -> Array:
        """Return scores whose flow is, up to its length, the least one between the supplies and demands u."""
        length = float(np.linalg.norm(u))
        unit = u / length
        distances = [float(np.linalg.norm(unit - known)) for known, _ in self._known]
        # how far from a multiple of each other, relative to their size, multipliers have potentials that serve for both
        if distances and min(distances) <= 1e-4:
            return self._known[int(np.argmin(distances))][1]

        def dual(f: Array) -> tuple[float, Array]:
            at = self.centre(f)
            return self.value(at) + float(u @ at), u - self.y * self.price_of * sum_slacks(self, at, np.ones(len(at)))

        f = self.centre(minimize(dual, np.zeros(len(u)), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x)
        self._remember(u, f)
        return f

    def dual_terms(self, u: Array) -> Array:
        """Return ``sum_p u_p - |v|^2 / (2 C)`` for a flow v that is the least one where its potentials are known."""
        a, b = self.split(u)
        if not a.any():
            return a
        f, price = self._find_potentials(u), self.price_of
        flow = price * sum_slacks(self, f, np.ones(len(f)))
        supply, known = (np.bincount(self.groups, part * self.positive, self.n_groups) for part in (a, flow))
        with np.errstate(invalid="ignore", divide="ignore"):
            length = np.nan_to_num(supply / known, posinf=0.0)[self.groups]
            # rows, and then columns, are scaled down to what they may carry
            of_rows = np.where(self.positive, np.minimum(np.nan_to_num(a / (length * flow), posinf=1.0), 1.0), 1.0)
            columns = length * price * sum_slacks(self, f, np.where(self.positive, of_rows, 0.0))
            of_columns = np.where(self.positive, 1.0, np.minimum(np.nan_to_num(b / columns, posinf=1.0), 1.0))
        scales = of_rows * of_columns
        carried = scales * length * price * sum_slacks(self, f, scales)
        left = np.maximum(np.where(self.positive, a, b) - carried, 0.0)
        missing = np.bincount(self.groups, left * self.positive, self.n_groups)
        share = left / np.sqrt(np.where(missing > 0, missing, 1.0))[self.groups]
        # |v|^2 of v = length C x_p x_q (1 - f_p + f_q)_+ + share_p share_q, by price: over C it is the loss of the flow
        own = (length**2 * price * scales**2 * sum_squares(self, f, weights=scales**2))[self.positive]
        mixed = (2 * length * scales * share * sum_slacks(self, f, scales * share))[self.positive]
        sides = self.positive, ~self.positive
        given, taken = (np.bincount(self.groups, share**2 * side, self.n_groups) for side in sides)
        of_rest = given * taken / self.prices
        return np.concatenate([a, -own / 2, -mixed / 2, -of_rest / 2])

    def dual_rounding(self, u: Array) -> float:
        """Bound it by the sizes of what is added up for the norm of the flow, and ``sum |u|``."""
        if not u.any():
            return 0.0
        f = self._find_potentials(u)
        length = float(np.abs(u).sum()) / max(float((self.price_of * sum_slacks(self, f, np.ones(len(f)))).sum()), TINY)
        return sum_error(len(u), float(np.abs(u).sum()) + length**2 * self._measure(f))

    def curve(self, z: Array, X: Array) -> Array:
        """Return the second derivatives in the weights of the columns X (n_columns, n_samples)."""
        return curve_pairs(self, z, X)
