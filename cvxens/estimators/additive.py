"""Additive models of main effects and pairs that fit themselves: the readable defaults."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from cvxens import validation
from cvxens.colgen import Formulation, Oracle, Run
from cvxens.errors import InvalidInput
from cvxens.estimators.base import AUTO, Attributes, Classifier, Regressor, estimator, link_logistic
from cvxens.estimators.constraints import Interactions, check_constraints
from cvxens.estimators.ensembles import Ensemble
from cvxens.estimators.rankers import RankedSample, Ranker
from cvxens.estimators.regressors import LOSSES, check_loss, find_parameter, make_loss, rate_loss
from cvxens.estimators.samples import OracleFactory, Sample, TargetSample, Weighted, offers
from cvxens.problems.losses import Logistic
from cvxens.problems.pair_losses import PairwiseExponential
from cvxens.problems.penalties import L1
from cvxens.problems.target_losses import check_amounts
from cvxens.types import Array


@dataclass(eq=False, repr=False)
class AdditiveEnsemble(Ensemble):
    """A sum of functions of single features and of pairs, whose price is given or chosen.

    Parameters
    ----------
    C : float or "auto"
        Price of a sample's loss. "auto" chooses it by cross-validation: of several classes, for each sub-problem.
    pairs : bool or "auto"
        True if there are pairs of features among the weak learners, False for single features alone; "auto" tries both
        where C is chosen, and takes pairs only if they score better, and takes them where C is given. With oracles that
        have `pairs`.

    Attributes
    ----------
    pairs_ : bool
        True if there are pairs among the weak learners that were chosen from.
    certificate_ : Certificate
        How far the objective at C_ is at most from the optimum over all hypotheses of the oracle.
    """

    _: KW_ONLY
    C: float | str = AUTO
    pairs: bool | str = AUTO
    oracle: str | OracleFactory = "additive"
    pairs_: bool = field(init=False)

    def _check(self, sample: Any) -> None:
        if not isinstance(self.pairs, bool | np.bool_):
            validation.one_of("pairs", self.pairs, [AUTO])
        elif self.pairs and not offers(self.oracle, "pairs"):
            raise InvalidInput("pairs", f"found True for the oracle {self.oracle!r:.100}", "give one that takes it")
        super()._check(sample)

    def _list_alternatives(self) -> list[dict[str, Any]]:
        closed = any(isinstance(one, Interactions) and not one.groups for one in check_constraints(self.constraints))
        open_to_pairs = offers(self.oracle, "pairs") and not closed
        if not isinstance(self.pairs, str):
            return [{"pairs": bool(self.pairs)}]
        return [{"pairs": pairs} for pairs in ((False, True) if open_to_pairs else (False,))]

    def _oracle(self, sample: Weighted, formulation: Formulation, **more: object) -> Oracle:
        pairs = self.pairs_ if isinstance(self.pairs, str) else bool(self.pairs)
        return super()._oracle(sample, formulation, pairs=pairs, **more)

    def _appraise(self, sample: object, formulation: Formulation, run: Run) -> Attributes:
        return {"pairs_": bool(self.pairs)}


@final
@estimator
class AdditiveClassifier(AdditiveEnsemble, Classifier):
    """Logistic regression on all steps, lines and pairs of features at once, sparse, with a price that fits the sample.

    The score is a sum of functions of single features and of pairs, ``f(x) = b + sum_j w_j h_j(x)`` over the
    hypotheses of `cvxens.colgen.oracles.AdditiveTerms`, and minimises

        sum |w| + C sum_i ln(1 + exp(-y_i f(x_i))),

    proven over all of them. Few have a weight, which `get_rules` and `cvxens.plotting` show, and the scores are log
    odds. C is chosen by cross-validation along its path, which is solved price by price, each from the one before, as
    by `PriceSearchCV`, which can also take the mean of the optimal ensembles at prices that score about as well.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdditiveClassifier(C=0.5).fit(X[:, :5], y)
    >>> model.certificate_.holds(1e-3), model.score(X[:, :5], y) > 0.92
    (True, True)
    >>> model.predict_proba(X[:1, :5]).round(1)
    array([[1., 0.]])
    """

    source: ClassVar[str] = "Tibshirani 1996; Lou et al. 2013; Friedman & Popescu 2008"

    C: float | str = AUTO
    _: KW_ONLY
    class_weight: object = None
    n_jobs: int | None = None

    _link = staticmethod(link_logistic)

    def _state(self, sample: Sample) -> Formulation:
        losses = Logistic(self._price(sample) * sample.weights)
        return Formulation(losses, L1(), intercept=True)


@final
@estimator
class AdditiveRegressor(AdditiveEnsemble, Regressor):
    """Regression on all steps, lines and pairs of features at once, sparse, with a price that fits the sample.

    The prediction is a sum of functions of single features and of pairs, ``f(x) = b + sum_j w_j h_j(x)`` over the
    hypotheses of `cvxens.colgen.oracles.AdditiveTerms`, and minimises

        sum |w| + C sum_i loss(t_i - f(x_i)),

    proven over all of them. With m the mean absolute deviation of the targets from their median, the loss of r is
    ``r^2 / (2 m)``; Huber's, ``r^2 / (2 delta)`` up to `delta` and ``|r| - delta/2`` beyond; |r|; or, of a quantile q,
    ``q r`` above 0 and ``(q - 1) r`` below. So C has no unit. Few hypotheses have a weight, which `get_rules` and
    `cvxens.plotting` show. C is chosen as by `AdditiveClassifier`, of a quantile or means by their loss.

    Of counts and amounts, the prediction is the mean ``exp(f(x))``, so that terms multiply it, and the loss is half the
    deviance over ``m mean(t)^(1 - power)``: Poisson's, the gamma distribution's, or one between them. Where counts are
    of exposures, give rates, counts over exposures, and the exposures as `sample_weight`.

    Parameters
    ----------
    loss : {"squared", "huber", "absolute", "quantile", "poisson", "gamma", "tweedie"}
        What deviations cost. Huber's and absolute ones are for targets with outliers; absolute ones and those of a
        quantile (Koenker & Bassett 1978) take the longest. "poisson" is for counts, "gamma" for amounts above 0 whose
        spread is as their means, "tweedie" for amounts some of which are 0.
    delta : float, optional
        Of the loss "huber"; by default the mean absolute deviation from the median.
    quantile : float
        Of the loss "quantile", above 0 and below 1.
    power : float
        Of the loss "tweedie", from 1 to 2: variances are as means to this power.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, t = load_diabetes(return_X_y=True)
    >>> model = AdditiveRegressor(C=0.5, pairs=False).fit(X, t)
    >>> model.certificate_.holds(1e-3), model.certificate_.proven, model.score(X, t) > 0.5
    (True, True, True)
    """

    source: ClassVar[str] = "Tibshirani 1996; Lou et al. 2013; Friedman & Popescu 2008"

    loss: str = "squared"
    _: KW_ONLY
    C: float | str = AUTO
    delta: float | None = None
    quantile: float = 0.5
    power: float = 1.5

    _rate = rate_loss

    def _check(self, sample: Any) -> None:
        validation.number("quantile", self.quantile)
        check_loss(self, [name for name in LOSSES if name != "epsilon_insensitive"])
        if self._is_of_means():
            check_amounts("y", sample.targets, find_parameter(self))
        super()._check(sample)

    def _is_of_means(self) -> bool:
        return LOSSES[self.loss][1] == "power"

    def _to_scores(self, F: Array) -> Array:
        # so far that deviances of means are finite
        return np.exp(np.clip(F, -700.0, 700.0)) if self._is_of_means() else F

    def _say_score(self) -> str:
        return "ln of the prediction" if self._is_of_means() else ""

    def _state(self, sample: TargetSample) -> Formulation:
        return Formulation(make_loss(self, sample, self._price(sample) * sample.weights), L1(), intercept=True)


class SortedSample(RankedSample):
    """A training sample of a ranking whose pairs are never listed."""

    lists_pairs = property(lambda _: False)


@final
@estimator
class AdditiveRanker(AdditiveEnsemble, Ranker):
    """Ranking by a sum of steps, lines and pairs of features, sparse, with a price that fits the sample.

    The score is a sum of functions of single features and of pairs, ``f(x) = sum_j w_j h_j(x)`` over the hypotheses of
    `cvxens.colgen.oracles.AdditiveTerms`, and minimises

        sum |w| + C n mean of exp(-(f(x_p) - f(x_q))),

    proven over all of them: of n samples in pairs, the mean over the pairs p, q of other grades of a query, p the
    higher one, and then over queries. That is RankBoost's loss, a product of sums, so that no pair is listed. C is
    chosen as by `AdditiveClassifier`, by the share of pairs in order, in folds of whole queries.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grades, wards = y // 80, X[:, 1] > 0
    >>> model = AdditiveRanker(C=0.02, pairs=False).fit(X, grades, qid=wards)
    >>> model.certificate_.holds(1e-3), model.certificate_.proven, model.score(X, grades, qid=wards) > 0.75
    (True, True, True)
    """

    _kind_of_sample = SortedSample
    source: ClassVar[str] = "Freund, Iyer, Schapire & Singer 2003; Tibshirani 1996"

    def _state(self, sample: RankedSample) -> Formulation:
        pairs, C = sample.pairs, self._price(sample) * sample.weights.sum()
        return Formulation(PairwiseExponential(pairs.y, pairs.groups, C * pairs.shares), L1())
