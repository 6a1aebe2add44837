"""The choice of a price by cross-validation, as an estimator around those that have a price."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, field, replace
from math import nan
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.errors import InvalidInput, refusing
from cvxens.estimators.base import Learner, estimator, refuse_idle, rounds_of, time_limit, translate_overflow
from cvxens.estimators.infinite_ensembles import InfiniteEnsemble, InfiniteEnsembleSVC
from cvxens.estimators.prices import Choice, PriceSearch, make_folds, make_score, tabulate
from cvxens.estimators.saving import Place, Trusted, load_as, save_model
from cvxens.limits import heed_interrupts, limit_time
from cvxens.tables import TableEncoder
from cvxens.types import Array, Data, Given, Labels


def _hand_on(best: BaseEstimator, choices: Sequence[Choice], sample: Any) -> None:
    """Let an estimator begin its fit with what is known of it; sub-problems find theirs as those of an earlier fit."""
    parts = [best]
    if (n_parts := best._n_problems(sample)) > 1:
        parts = [clone(best) for _ in range(n_parts)]
        vars(best).update(estimators_=parts, classes_=sample.classes)
    for part, choice in zip(parts, choices, strict=False):
        if choice.run is not None or choice.members:
            part._choice = replace(choice, params={})


def _has(name: str) -> Any:
    """Return a check of whether the estimator, or the best one, has a method."""

    def check(search: Any) -> bool:
        getattr(vars(search).get("best_estimator_", search._make_template()), name)
        return True

    return check


@final
@estimator
class PriceSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Choose the price of an estimator by cross-validation along its path of prices, and fit it to all samples.

    For every estimator whose samples have a price C: ensembles by column generation, such as `LPBoostClassifier`, which
    may have `nu` in its place, and support vector machines. Every fit starts from the one at the price before, and all
    folds share the hypotheses of the oracle, on the whole sample's features, or the kernel, so that it takes less than
    GridSearchCV does. Of several classes one price is chosen for all sub-problems; of C="auto", which is this search
    with what it has by default, one for each, among 30,000 samples where there are more, each of which counts as the
    root of the share that it stands for.

    Without `prices`, those of an ensemble are found on the way: from its own price, or one that serves, up while higher
    ones score clearly better, then down until they score clearly worse, within about ten fits. Its own price stays
    unless another one scores better by more than a standard error of the difference. The fits that are scored have a
    relative gap of 0.1, and a fold's price is that of the whole sample times the root of how much smaller it is; beside
    a single fold the whole sample is not fitted. Of support vector machines 2^-8, 2^-6, ..., 2^8 times their own price
    are tried, as they are in every fold.

    Under `max_time` of the estimator, which is that of all, or after Ctrl-C, what is known is the choice, with a
    ConvergenceWarning: the best of the prices that were scored, and of an ensemble that was fitted at it.

    Parameters
    ----------
    estimator : estimator, optional
        All but what is chosen; its `verbose` and `max_time` are those of the search. By default `InfiniteEnsembleSVC`.
    param_grid : dict of str to sequence, optional
        Other parameters, each combination of which has a path of its own, such as ``{"gamma": [0.1, 1.0]}`` or
        ``{"oracle": ["stumps", "pair_rules"]}``, the simplest first.
    prices : array-like of shape (n_prices,), optional
        The prices to try, of `C`, or of `nu` where the estimator has one: the answer is the first of the best.
    cv : int, splitter or iterable, optional
        The folds, as scikit-learn has them, of groups ``GroupKFold().split(X, y, groups)``; by default three, shuffled
        alike in every fit, with classes in proportion; of 5,000 samples and more the first of these alone.
    scoring : str or callable, optional
        What chooses, as scikit-learn has it; by default the loss that is minimised, on samples held out: the log loss
        where there are probabilities, else the hinge loss, which move where the accuracy stands still; of a regressor
        the mean squared error where its loss is one of squares, the deviance of means, else the mean absolute error.
    one_standard_error : bool
        True for the simplest model whose score is at most one standard error of the mean over folds below the best:
        that of the lowest price, with the first of the other parameters.
    average : bool
        True for the mean of an ensemble with those at all other prices that score worse by a standard error of the
        difference at most: more terms, and better probabilities. The certificate says how far the mean is from the
        optimum at the price that is chosen, which is more than `tol`. Of ensembles, without `one_standard_error`.
    n_jobs : int, optional
        Folds at a time, in threads, as joblib counts.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted to all samples with the best parameters. Whatever it has, such as `certificate_` and `classes_`, is had
        by the search too.
    best_params_ : dict
        The price, and what else was chosen.
    best_score_ : float
        Its mean score over the folds; NaN where no price was scored in time.
    best_index_ : int
        Its row in `cv_results_`; -1 where there is none.
    cv_results_ : dict of str to sequence
        A column per key, a row per candidate, as GridSearchCV has them: param_C, params, split0_test_score, ...,
        mean_test_score, std_test_score, rank_test_score; max_relative_gap, the largest certified gap of its fits; and
        of ensembles n_weak_learners of that to all samples. Empty where time was up before the first was scored.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds of the last fit.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> from cvxens.datasets import make_twonorm
    >>> X, y = make_twonorm(200, 5, random_state=0)
    >>> search = PriceSearchCV(LPBoostClassifier(), prices=[0.1, 1.0]).fit(X, y)
    >>> len(search.cv_results_["params"]), bool(search.cv_results_["max_relative_gap"].max() <= 0.1)
    (2, True)
    >>> search.certificate_.holds(1e-3), search.certify(X, y).holds(1e-3)
    (True, True)
    >>> sorted(PriceSearchCV(InfiniteEnsembleSVC("gaussian"), {"gamma": [0.1, 1.0]}).fit(X, y).best_params_)
    ['C', 'gamma']
    """

    source: ClassVar[str] = "LL08 section 7"
    _counts_beside: ClassVar = {"average": ("one_standard_error", [False])}

    best_estimator_: BaseEstimator = field(init=False)
    best_params_: dict[str, object] = field(init=False)
    best_score_: float = field(init=False)
    best_index_: int = field(init=False)
    cv_results_: dict[str, Sequence[object]] = field(init=False)
    n_splits_: int = field(init=False)
    refit_time_: float = field(init=False)
    estimator: BaseEstimator = None
    param_grid: Mapping[str, Sequence[object]] | None = None
    _: KW_ONLY
    prices: Given = None
    cv: object = None
    scoring: str | Callable[..., float] | None = None
    one_standard_error: bool = False
    average: bool = False
    n_jobs: int | None = None

    save = save_model

    @classmethod
    def load(cls, path: Place, *, trusted: Trusted = ()) -> Self:
        """Read an estimator of this class that `save` wrote; `cvxens.load_model` says more."""
        return load_as(cls, path, trusted=trusted)

    def fit(
        self, X: Data, y: ArrayLike, sample_weight: Given = None, *, sensitive_features: Given = None, qid: Given = None
    ) -> Self:
        """Choose the parameters, then fit all samples; arguments are those of the estimator's `fit`.

        The weights of samples count in scores too, where these take any. An ensemble is known from the first fit on;
        Ctrl-C before that is a KeyboardInterrupt, and leaves the search as it was.
        """
        template = self._make_template()
        refuse_idle(self)
        if self.average is True and isinstance(template, InfiniteEnsemble):
            found = f"found True for {type(template).__name__}, which is no sum of weak learners"
            raise InvalidInput("average", found, "leave it out")
        validation.n_jobs(self.n_jobs)
        validation.instance("one_standard_error", self.one_standard_error, bool, np.bool_)
        validation.instance("average", self.average, bool, np.bool_)
        told = {"sample_weight": sample_weight, "sensitive_features": sensitive_features, "qid": qid}
        given = {name: value for name, value in told.items() if value is not None}
        with translate_overflow(template), limit_time(time_limit(template), alone=True) as clock, heed_interrupts():
            sample = copy(template)._read(X, y, reset=True, **given)
            template._check(sample)
            score, folds = make_score(template, sample, self.scoring), make_folds(self.cv, sample, np.asarray(y))
            with rounds_of(template) as rounds:
                search = PriceSearch(template, sample, folds, score, rounds.tell, n_jobs=self.n_jobs)
                search.alternatives, search.prices = self._make_grid(template), self._check_prices()
                trials = search.run()
                options = {"one_standard_error": bool(self.one_standard_error), "average": bool(self.average)}
                index, choices = search.choose(trials, **options)
                if len(choices) == 1 and "C" in choices[0].params:
                    choices = [template._adapt(choices[0], sample)]
            best, start = clone(template).set_params(**choices[0].params), time.perf_counter()
            _hand_on(best, choices, sample)
            # Ctrl-C has ended a search that leaves no model: the fit is to make one
            clock.interrupted &= choices[0].run is not None
            best.fit(X, y, **given)
        self.refit_time_ = time.perf_counter() - start
        self.best_estimator_, self.cv_results_, self.best_index_ = best, tabulate(trials), index
        self.best_params_, self.best_score_ = dict(choices[0].params), trials[index].score if trials else nan
        self.n_splits_ = len(folds)
        return self

    def _make_template(self) -> Any:
        template = InfiniteEnsembleSVC() if self.estimator is None else self.estimator
        if not isinstance(template, Learner):
            found = f"found {template!r:.100}"
            raise InvalidInput("estimator", found, "give one of cvxens that has a price, or use GridSearchCV")
        return clone(template)

    def _make_grid(self, template: BaseEstimator) -> Sequence[Mapping[str, Any]]:
        """Return the combinations of other parameters, also of those that the estimator leaves open."""
        if self.param_grid is None:
            return template._list_alternatives()
        validation.instance("param_grid", self.param_grid, Mapping)
        if prices := {"C", "nu"} & self.param_grid.keys():
            raise InvalidInput("param_grid", f"found the price, {min(prices)}", "give its values as `prices`")
        remedy = "give values of the estimator's parameters, by their names"
        with refusing("param_grid", f"found {self.param_grid!r:.100}", remedy, (TypeError, ValueError)):
            grid = [(others, clone(template).set_params(**others)) for others in ParameterGrid(dict(self.param_grid))]
        for _, at in grid:
            refuse_idle(at)
        return [{**more, **others} for others, at in grid for more in at._list_alternatives()]

    def _check_prices(self) -> Sequence[float] | None:
        if self.prices is None:
            return None
        prices = validation.finite_array("prices", self.prices, ndim=1)
        return [validation.positive("prices", price) for price in prices.tolist()]

    def predict(self, X: Data) -> Labels:
        """Predict, as the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Data) -> Array:
        """Score samples, as the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Data) -> Array:
        """Return the probabilities of classes, as the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    def score(self, X: Data, y: ArrayLike, sample_weight: Given = None) -> float:
        """Return the accuracy of the best estimator, or the R^2 of a regressor."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, sample_weight))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name}; some attributes are there once it is fitted")
        return getattr(self.best_estimator_, name)

    @property
    def encoder_(self) -> TableEncoder:
        """The coding that turns the columns of a table into features, where the fit was to a table."""
        return self.__getattr__("encoder_")

    @encoder_.setter
    def encoder_(self, encoder: TableEncoder) -> None:
        self.best_estimator_.encoder_ = encoder

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator if isinstance(self.estimator, Learner) else InfiniteEnsembleSVC())
