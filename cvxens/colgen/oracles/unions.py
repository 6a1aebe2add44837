"""Oracles made of oracles: unions of sets, hypotheses with prices, linear combinations of samples, ascending scores.

With a sparse D the scores of the sample are mapped first, ``z = y * (D H w + b)``, so that a loss on margins is one of
pairs, for ranking, or of bags, for label proportions. The columns are D h, and the edge of one under s is that of h
under D's: any oracle prices them.

Several scores a sample ascend everywhere where the first one is free and the steps to the next are never below 0. With
hypotheses of values within [-1, 1], every ``1 + h(x)`` is 0 or above at every x, and so is a sum of these and of a
constant with weights of 0 or above. Rows are the scores of the samples, one after the other; a column of the step r
adds to the scores from r on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from cvxens import validation
from cvxens.colgen.oracles.bins import Groups
from cvxens.colgen.oracles.depth_trees import DepthTwoTrees
from cvxens.colgen.oracles.levels import Kinds, check_sides
from cvxens.colgen.oracles.pool import Pool, rank, unite
from cvxens.colgen.oracles.quantile_stumps import QuantileStumps
from cvxens.colgen.oracles.rules import PairRules
from cvxens.colgen.protocols import (
    Column,
    CombinedSample,
    Oracle,
    OracleOver,
    Priced,
    TabledSample,
    declared,
    evaluate,
    has_negation,
    surely_has,
)
from cvxens.errors import InvalidInput
from cvxens.features import BinnedFeatures
from cvxens.hypotheses import Constant, Hypothesis, Ramp, Scaled, negate
from cvxens.limits import time_is_up
from cvxens.rounding import EPSILON, TINY, measure_spread
from cvxens.tables import Feature
from cvxens.types import Array, Data

DISTANCE = 100.0
"""The value of a constant step: a distance between scores that is everywhere the same costs a hundredth of others."""


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
            self.sample = TabledSample(self.sample, np.asarray(tables[0].sample))
        most = columns_per_round
        self.columns_per_round = None if most is None else validation.whole("columns_per_round", most)
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

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), **row_norm: float) -> Priced:
        """Return the best hypotheses of all, as `Oracle.price` says; the bounds are exact if those of all are."""
        weights = np.asarray(s, np.float64)
        parts = [oracle.price(weights, exclude, **row_norm) for oracle in self.oracles]
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


class Costed(OracleOver):
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

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), **row_norm: float) -> Priced:
        """Return the hypotheses that are best for their cost, as `Oracle.price` says."""
        return self._search(s, set(exclude), row_norm) if callable(self.cost) else self._scale_all(s, exclude, row_norm)

    def has_negation(self, hypothesis: Hypothesis) -> bool:
        """Return True if the set may have the negation of a hypothesis, scaled or not."""
        own = hypothesis.hypothesis if isinstance(hypothesis, Scaled) else hypothesis
        return any(has_negation(self.oracle, h) for h in (own, hypothesis))

    def has(self, hypothesis: Hypothesis) -> bool:
        """Return True if the set surely has the values of a hypothesis on the sample."""
        own = hypothesis.hypothesis if isinstance(hypothesis, Scaled) else hypothesis
        return surely_has(self.oracle, own) and self.scale(own) == hypothesis

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
        columns = [column.times(factor, self.scale(column.hypothesis)) for column in answer.columns]
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
            if not new or rest <= outside or rest == inf or time_is_up():
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


class Rows(OracleOver):
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
    >>> pairs = Rows(Stumps(X, constant=False), np.eye(4)[first] - np.eye(4)[second])
    >>> run = column_generation(formulations.soft_margin(C=1.0), pairs, np.sign(grades[first] - grades[second]))
    >>> run.certificate.proven, run.decision_function(X)
    (True, array([-1., -1.,  0.,  1.]))
    """

    source = "Joachims 2002; Quadrianto et al. 2009"

    def __init__(self, oracle: Oracle, D: object) -> None:
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

    def has(self, hypothesis: Hypothesis) -> bool:
        """Return True if the set surely has the values of a hypothesis."""
        return surely_has(self.oracle, hypothesis)

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), **row_norm: float) -> Priced:
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
            columns=[self._combine(column) for column in answer.columns],
            edge_bound=answer.edge_bound + rounding,
            edge_square_sum=_add_to_squares(answer.edge_square_sum, lost, self.n_hypotheses),
            outside_bound=answer.outside_bound + rounding,
            rising_square_sum=_add_to_squares(answer.rising_square_sum, lost, self.n_hypotheses),
        )

    def _combine(self, column: Column) -> Column:
        """Return a column of the rows, with its values if those of the samples are known."""
        if "packed" not in vars(column):
            return Column(column.hypothesis, self.sample, column.edge)
        return Column.with_values(column.hypothesis, self.sample, column.edge, self.D @ column.values)


def _add_to_squares(square_sum: float, lost: Array, n_hypotheses: float) -> float:
    """Bound the sum of squares of edges each of which is further from 0 by what is lost, output by output."""
    # |e + d| <= |e| + |d|, over all hypotheses and outputs
    added = float(np.linalg.norm(lost)) * n_hypotheses**0.5 if lost.any() else 0.0
    return (square_sum**0.5 + added) ** 2 * (1 + 8 * EPSILON) if added < inf else inf


class AdditiveTerms(Union):
    """The terms of additive models: steps and lines of single features, and functions of pairs of features.

    The set is the `Union` of all stumps over 32 quantiles of every feature (`QuantileStumps`); of its line and of the
    ramps that begin or end at one of 8 quantiles, all divided by its standard deviation; and of the trees of depth 2
    over every pair of features (`DepthTwoTrees`), where a unit of weight has a cost. It is exact over all of these.
    Where features have signs there are `PairRules`, which keep them, in place of all trees, at half the cost, as rules
    are 0 elsewhere.

    Missing values and nominal features are as in `QuantileStumps`: a step sends missing values to the better side, as
    trees do, a line and a ramp are 0 there, and of levels one is told from the others. In pairs levels have an order,
    and those from one on are told from the others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite, or NaN where missing, at least one feature that varies.
    n_bins : int, optional
        At most so many bins per feature of pairs, 2 to 256; by default 16, of 5,000 samples and more 64.
    pairs : bool
        False for single features alone.
    pair_cost : float
        What a unit of weight of a pair costs, above 0; of a step and of a line it costs 1. By default more, as of many
        more trees the best has a larger edge by chance.
    interactions : collection of groups of features, optional
        The features of a pair are of one group; by default any two. An empty collection is for no pairs.
    forbidden : collection of groups of features
        No pair has two features of such a group.
    columns_per_round : int, optional
        At most so many columns are returned; by default all that were found.
    signs, sample_weight, features, missing
        As for `QuantileStumps`; the weights also count in standard deviations.
    outcomes : array-like of shape (n_samples,), optional
        Numbers by whose means levels are in order in pairs; by default that is the order of their codes.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> for column in AdditiveTerms(X).price([1.0, -1.0, -1.0, 1.0]).columns[:1]:
    ...     print(column.hypothesis, column.edge)
    0.5 (x[0] >= 0.5 and x[1] >= 0.5, or x[0] < 0.5 and x[1] < 0.5 -> +1) 2.0
    """

    source = "Hastie & Tibshirani 1986; Lou et al. 2013"

    def __init__(
        self,
        X: Any,
        *,
        n_bins: int | None = None,
        pairs: bool = True,
        pair_cost: float = 2.0,
        interactions: Groups | None = None,
        forbidden: Groups = (),
        signs: Any = None,
        columns_per_round: int | None = None,
        sample_weight: Any = None,
        features: Sequence[Feature] | None = None,
        missing: str = "side",
        outcomes: Any = None,
    ) -> None:
        kinds = Kinds.from_sample(X, features, missing)
        # columns are evaluated feature by feature
        X, signs = np.asfortranarray(kinds.X), None if signs is None else kinds.check_sides(signs)
        sided = signs is not None and bool(signs.any())
        given: Any = {"sample_weight": sample_weight}
        # the most steps, and the most lines, that are answered
        most: Any = {"columns_per_round": 50}
        found: list[Any] = [QuantileStumps(X, signs=signs, features=kinds.features, missing=missing, **most, **given)]
        if ramps := list(list_ramps(X, signs, sample_weight, kinds.numeric.tolist())):
            found.append(Pool.of(ramps, X, negations=not sided, **most))
        if pairs and X.shape[1] > 1 and (interactions is None or len(interactions) > 0):
            n_bins = (16 if len(X) < 5_000 else 64) if n_bins is None else n_bins
            given |= {"n_bins": n_bins, "interactions": interactions, "forbidden": forbidden, "constant": False}
            given["levels"] = kinds.order_levels(outcomes, sample_weight)
            cost = validation.positive("pair_cost", pair_cost)
            if sided:
                found.append(Costed(PairRules(X, signs=signs, **given), cost / 2))
            else:
                found.append(Costed(DepthTwoTrees(X, **given), cost))
        super().__init__(*found, columns_per_round=columns_per_round)


def list_ramps(
    X: Array, signs: Any = None, sample_weight: Any = None, features: Sequence[int] | None = None
) -> Iterator[Hypothesis]:
    """Yield the line of every feature of three values or more, and its ramps, over its standard deviation.

    Where there are signs, -h is yielded too where a feature has none, and only what keeps the sign where it has one.
    Missing values count for nothing; `features` are those to take, by default all.

    Examples
    --------
    >>> [str(ramp) for ramp in list_ramps(np.array([[0.0], [2.0], [4.0]]))][:3]
    ['0.612372 (x[0] - 2)', '0.612372 max(x[0] - 1, 0)', '0.612372 max(1 - x[0], 0)']
    """
    sides = check_sides(signs, X.shape[1])
    sided = bool(sides.any())
    features = range(X.shape[1]) if features is None else features
    # lines bend at 8 places, between parts of equal mass
    binned = BinnedFeatures(X, features, n_bins=9, sample_weight=sample_weight)
    for j, knots in zip(features, binned.thresholds, strict=True):
        if len(knots) < 2:
            # a step says all of two values
            continue
        known = ~np.isnan(X[:, j])
        x, masses = X[known, j], None if sample_weight is None else np.asarray(sample_weight)[known]
        spread = measure_spread(x[:, np.newaxis], masses)
        if not TINY <= spread <= 1 / TINY / len(x):
            # no float holds its slope, or sums of its values
            continue
        mean, slope = np.average(x, weights=masses), 1 / spread
        bends = [(float(mean), 0), *((float(t), side) for t in knots for side in (1, -1))]
        for t, side in bends:
            for sign in (1, -1) if sided else (1,):
                # max(t - x, 0) falls
                if sides[j] in {0, -sign if side < 0 else sign}:
                    yield Ramp(j, t, side, sign * slope)


@dataclass(frozen=True)
class AscendingStep:
    """A hypothesis as a part of the scores from `first` on: h(x) of the first score, and 1 + h(x) of a step to one."""

    hypothesis: Any
    first: int

    @property
    def is_constant(self) -> bool:
        """True if it is the same everywhere."""
        return isinstance(self.hypothesis, Constant)

    def __call__(self, X: Data, /) -> Array:
        """Return what is added to the scores of samples from the first one on."""
        return self.of_values(np.asarray(self.hypothesis(X), np.float64))

    def of_values(self, h: Array) -> Array:
        """Return what is added to the scores, of values h(x)."""
        return h if self.first == 0 else np.full(len(h), DISTANCE) if self.is_constant else 1 + h


@dataclass(frozen=True, eq=False)
class StackedSample:
    """Samples with several rows each, one for each score."""

    X: Data
    n_scores: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (n_rows, n_features) of the rows that hypotheses are evaluated on."""
        return validation.count_rows(self.X) * self.n_scores, *np.shape(self.X)[1:]

    def evaluate(self, step: AscendingStep) -> Array:
        """Return what a part adds to the scores of all samples, (n_samples n_scores,)."""
        h = np.asarray(evaluate(step.hypothesis, self.X), np.float64)
        scores = np.zeros((len(h), self.n_scores))
        scores[:, step.first :] = step.of_values(h)[:, np.newaxis]
        return scores.ravel()


class Ascending:
    """The parts of several scores that ascend everywhere, made of the hypotheses of an oracle; w >= 0.

    Parameters
    ----------
    oracle : Oracle
        Hypotheses of values within [-1, 1], with -h of every h where the first score is to be free.
    n_scores : int
        The number of scores of a sample.

    Raises
    ------
    InvalidInput
        A hypothesis may leave [-1, 1].

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stumps
    >>> oracle = Ascending(Stumps([[0.0], [1.0]]), 2)
    >>> best = oracle.price(np.array([1.0, -1.0, -1.0, 1.0])).columns[0]
    >>> best.hypothesis.first, best.edge, best.values
    (1, 2.0, array([0., 0., 0., 2.]))
    """

    source = "Bondell, Reich & Wang 2010, at every x"

    def __init__(self, oracle: Oracle, n_scores: int) -> None:
        if not declared(oracle, "votes"):
            found = f"found {type(oracle).__name__}, whose hypotheses may leave [-1, 1]"
            raise InvalidInput("oracle", found, "take stumps, trees, rules or perceptrons, or declare `votes`")
        self.oracle, self.n_scores = oracle, n_scores
        self.sample = StackedSample(oracle.sample, n_scores)
        self.largest = DISTANCE

    def has_negation(self, step: object) -> bool:
        """Return False: weights are 0 or above, and -h is a hypothesis of its own."""
        return False

    def price(self, s: ArrayLike, exclude: Collection[Any] = ()) -> Priced:
        """Return the best parts, as `Oracle.price` says; the bounds are as exact as the oracle's."""
        S = validation.signed_weights(s, self.sample.shape[0]).reshape(-1, self.n_scores)
        # what a part of the step r is multiplied by: the weights of all scores from r on
        from_on = np.cumsum(S[:, ::-1], axis=1)[:, ::-1]
        lost = EPSILON * (self.n_scores + len(S) + 2) * float(np.abs(S).sum())
        columns, edge_bound, outside = [], 0.0, 0.0
        for first, weights in enumerate(from_on.T):
            answer = self.oracle.price(weights, [step.hypothesis for step in exclude if step.first == first])
            shift = float(weights.sum()) if first else 0.0
            kept = [c for c in answer.columns if not (first and isinstance(c.hypothesis, Constant))]
            columns += [Column(AscendingStep(c.hypothesis, first), self.sample, c.edge + shift) for c in kept]
            edge_bound = max(edge_bound, answer.edge_bound + shift + 2 * lost)
            outside = max(outside, answer.outside_bound + shift + 2 * lost)
            if first:
                constant = AscendingStep(Constant(1), first)
                edge_bound, outside = (max(bound, DISTANCE * (shift + lost)) for bound in (edge_bound, outside))
                if constant not in exclude:
                    columns.append(Column(constant, self.sample, DISTANCE * shift))
        columns.sort(key=lambda column: -column.edge)
        return Priced(columns, edge_bound, outside_bound=outside)


def add_up(steps: list[AscendingStep], w: Array, b: float, n_scores: int) -> tuple[tuple[Any, ...], Array, Array]:
    """Return hypotheses, their weights (n_hypotheses, n_scores) and intercepts (n_scores,) of weighted parts."""
    intercepts = np.full(n_scores, float(b))
    weights: dict[Any, Array] = {}
    for step, value in zip(steps, w.tolist(), strict=True):
        if step.first and step.is_constant:
            intercepts[step.first :] += DISTANCE * value
            continue
        weights.setdefault(step.hypothesis, np.zeros(n_scores))[step.first :] += value
        if step.first:
            intercepts[step.first :] += value
    return tuple(weights), np.array(list(weights.values())).reshape(len(weights), n_scores), intercepts


def take_apart(hypotheses: tuple[Any, ...], W: Array, b: Array) -> tuple[list[AscendingStep], Array, float]:
    """Return the parts, their weights and the intercept of scores by hypotheses, weights and intercepts.

    Raises
    ------
    InvalidInput
        The intercepts are not far enough apart for scores that ascend everywhere.
    """
    steps, w = [], []
    for first in range(W.shape[1]):
        own = W[:, first] - (W[:, first - 1] if first else 0.0)
        for hypothesis, value in zip(hypotheses, own.tolist(), strict=True):
            if value:
                steps.append(AscendingStep(hypothesis if value > 0 else negate(hypothesis), first))
                w.append(abs(value))
        if first:
            rest = float(b[first] - b[first - 1] - np.abs(own).sum())
            if rest < -1e-9 * (1 + float(np.abs(b).max())):
                found = f"found {b[first]:g} after {b[first - 1]:g}, with steps of {np.abs(own).sum():g}"
                raise InvalidInput("intercept", found, "give intercepts under which scores ascend everywhere")
            steps.append(AscendingStep(Constant(1), first))
            w.append(max(rest, 0.0) / DISTANCE)
    return steps, np.array(w), float(b[0])
