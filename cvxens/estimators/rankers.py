"""Ranking: scores that order the samples of every query by their grades, boosted over all pairs at once."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Never, Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.utils.validation import column_or_1d

from cvxens import validation
from cvxens.colgen import Formulation
from cvxens.errors import InvalidInput, refusing
from cvxens.estimators.base import Predictor, estimator, with_callbacks
from cvxens.estimators.constraints import refuse_bounds
from cvxens.estimators.ensembles import Ensemble
from cvxens.estimators.samples import Accepts, OracleFactory, Weighted, keep_weighted
from cvxens.problems.losses import Hinge
from cvxens.problems.pair_losses import GradedPairs, PairwiseHinge, take_differences
from cvxens.problems.penalties import L1
from cvxens.types import Array, Data, Given, Indices

MOST_LISTED = 100_000
"""Pairs up to which each has a row of its own."""


@dataclass(frozen=True)
class RankedSample(Weighted):
    """A training sample of a ranking."""

    grades: Array  # (n_kept,)
    queries: Indices = field(kw_only=True)

    of_samples: ClassVar[tuple[str, ...]] = ("grades", "queries")
    given = property(attrgetter("grades"))

    @property
    def lists_pairs(self) -> bool:
        """True if there are so few pairs that a linear program with a row for each is solved faster."""
        return self.pairs.n_pairs <= MOST_LISTED

    @classmethod
    def read(
        cls, estimator: object, X: Data, y: Data, accepts: Accepts, *, qid: Given = None, reset: bool = True
    ) -> Self:
        """Check and encode a sample; unless `reset`, its features have to be those that the estimator was fitted to."""
        read, grades = accepts.read_targets(estimator, X, y, reset=reset)
        queries = read_queries(qid, len(grades))
        rows = np.unique(GradedPairs.from_grades(grades, queries).rows)
        # samples without pairs play no part
        weights = np.isin(np.arange(len(grades)), rows).astype(np.float64)
        return cls(**keep_weighted(estimator, read, weights, grades=grades, queries=queries))

    @cached_property
    def pairs(self) -> GradedPairs:
        """The pairs of other grades of a query."""
        return GradedPairs.from_grades(self.grades, self.queries)

    @cached_property
    def combinations(self) -> csr_array:
        """The matrix from samples to the differences of the pairs, or to copies of samples in the groups of these."""
        rows, n_samples = self.pairs.rows, len(self.weights)
        if self.lists_pairs:
            return take_differences(*self.pairs.list_all()[:2], n_samples)
        return csr_array((np.ones(len(rows)), rows, np.arange(len(rows) + 1)), (len(rows), n_samples))

    def spread(self, u: Array) -> Array:
        """Hand multipliers of pairs, or of copies of samples, back to the samples: what all of them pull at one."""
        return super().spread(self.combinations.T @ u)


def read_queries(qid: Given, n_samples: int) -> Indices:
    """Return the query of each sample as a number; they are all of one query where none is given."""
    if qid is None:
        return np.zeros(n_samples, np.intp)
    with refusing("qid", "found no names of queries", "give a number or a word each", (TypeError, ValueError)):
        queries = column_or_1d(qid)
        found: Indices = np.unique(queries, return_inverse=True)[1]
        if queries.dtype.kind == "f" and np.isnan(queries).any():
            raise ValueError("some are missing")
    validation.same_length("qid", found, n_samples)
    return found


@dataclass(eq=False, repr=False)
class Ranker(Ensemble, Predictor):
    """A ranking by column generation: scores that order the samples of every query by their grades.

    Attributes
    ----------
    intercept_ : ndarray of shape ()
        0: differences of scores have no intercept.
    dual_weights_ : ndarray of shape (n_samples,)
        u, what pulls every sample up, or down below 0: the weights of the pairs that it is to win, less the others'.
    """

    _kind_of_sample: ClassVar[type[Any]] = RankedSample

    def _merges(self) -> bool:
        return False

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike, qid: Given = None) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the class says whether sparse matrices or missing values are taken.
        y : array-like of shape (n_samples,)
            Grades, any numbers: of two samples of a query, the one of the higher grade is to score higher.
        qid : array-like of shape (n_samples,), optional
            The query of each sample, a number or a word, in any order. Without it all samples are of one query.

        Returns
        -------
        self
            Fitted; an estimator whose fit fails stays as it was.

        Raises
        ------
        InvalidInput
            No query has samples of other grades, or a parameter of the constructor cannot be worked with; it is a
            ValueError.
        """
        return self._fit_given(X, y, qid=qid)

    def score(self, X: Data, y: ArrayLike, qid: Given = None) -> float:
        """Return the share of the pairs of other grades that are in order, as a mean over queries.

        Of one query and two grades it is the area under the curve. Pairs of equal scores count half; queries without
        pairs do not count. Other measures, such as ``sklearn.metrics.ndcg_score``, take what `predict` returns.

        Parameters
        ----------
        X, y, qid
            As in `fit`.

        Returns
        -------
        float
            From 0 to 1.
        """
        f, grades = self.predict(X), validation.finite_array("y", y, ndim=1)
        validation.same_length("y", grades, len(f))
        return GradedPairs.from_grades(grades, read_queries(qid, len(f))).concordance(f)

    def _rate(self) -> object:
        return Ranker.score

    def _check(self, sample: Any) -> None:
        found = "for a ranking, whose loss is of pairs"
        refuse_bounds(self.constraints, {"scores"}, found, "give shapes, which hold everywhere")
        super()._check(sample)


@final
@estimator
class LPBoostRanker(Ranker):
    """Boosting of a ranking: min sum_j |w_j| + C mean of max(0, 1 - (f(x_p) - f(x_q))) over pairs, over weak learners.

    The pairs are of one query and of other grades, p the higher one; the mean is over the pairs of a query, and then
    over queries. It is LPBoost, or the ranking SVM (Joachims 2002) with an l1 penalty, and a bound on one less the area
    under the curve where there are two grades. Many pairs are never listed: the binary digits of grades make groups of
    two sides, and sorting the scores of a group finds its loss, so that a step takes O(n log n). Few of the weak
    learners are in the ensemble.

    Parameters
    ----------
    C : float
        The price of a unit of slack of all pairs, on average.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grades, wards = y // 80, X[:, 1] > 0
    >>> model = LPBoostRanker(C=10).fit(X, grades, qid=wards)
    >>> model.certificate_.holds(1e-3), model.certificate_.proven, model.score(X, grades, qid=wards) > 0.75
    (True, True, True)
    """

    source: ClassVar[str] = "DBS02; Joachims 2002; Freund, Iyer, Schapire & Singer 2003"

    C: float = 100.0
    _: KW_ONLY
    oracle: str | OracleFactory = "stumps"

    def _open_path(self, search: object, others: object) -> Never:
        raise InvalidInput("C", "found a search of a price of a mean", "use GridSearchCV, or AdditiveRanker")

    def _state(self, sample: RankedSample) -> Formulation:
        pairs, C = sample.pairs, self._price(sample)
        if sample.lists_pairs:
            return Formulation(Hinge(C * pairs.list_all()[2]), L1(), scores=True)
        loss = PairwiseHinge(pairs.y, pairs.groups, C * pairs.shares)
        # flows are compiled before the clock of `max_time` starts
        loss.violation(loss.repair(np.zeros(len(pairs.y)), None))
        return Formulation(loss, L1())
