"""Regression: sums of weak learners by column generation, with losses by name or any formulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics
from sklearn.base import BaseEstimator

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Column, Formulation, Hypothesis, Oracle, Run
from cvxens.colgen.oracles.unions import Ascending, AscendingStep, add_up, take_apart
from cvxens.colgen.protocols import with_signs
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Attributes, Regressor, check_shape, estimator
from cvxens.estimators.constraints import refuse_bounds
from cvxens.estimators.ensembles import Ensemble, OfAnyFormulation, Own, certify_ensemble
from cvxens.estimators.prices import EnsemblePath, PriceSearch
from cvxens.estimators.samples import OracleFactory, TargetSample, Weighted
from cvxens.problems.losses import Loss, SquaredError
from cvxens.problems.penalties import L1
from cvxens.problems.target_losses import AbsoluteError, Deviance, EpsilonInsensitive, HuberError, Pinball, find_spread
from cvxens.types import Array, Data, Given

TUBE = 0.1
"""The default width epsilon within which deviations cost nothing, in mean absolute deviations from the median."""


def make_huber(t: Array, C: Array, delta: float | None) -> Loss:
    """Return Huber's errors, of slopes of at most C; the width is by default the mean absolute deviation."""
    width = find_spread(t, C) if delta is None else validation.positive("delta", delta)
    return HuberError(t, width, C / width)


def make_deviance(t: Array, C: Array, power: float) -> Loss:
    """Return half the deviance of means exp(f), whose slopes at a constant are C on average, as those of squares."""
    return Deviance(t, power, C * np.average(t, weights=C) ** (power - 1) / find_spread(t, C))


LOSSES: Mapping[str, tuple[Callable[[Array, Array, Any], Loss], str, Callable[..., float], str]] = {
    # squared errors over twice the mean absolute deviation: Huber's, of an infinite width
    "squared": (lambda t, C, _: SquaredError(C / find_spread(t, C), t), "", metrics.mean_squared_error, ""),
    "absolute": (lambda t, C, _: AbsoluteError(t, C), "", metrics.mean_absolute_error, ""),
    "huber": (make_huber, "delta", metrics.mean_absolute_error, ""),
    "epsilon_insensitive": (
        lambda t, C, given: EpsilonInsensitive(t, TUBE * find_spread(t, C) if given is None else given, C),
        "epsilon",
        metrics.mean_absolute_error,
        "",
    ),
    "quantile": (lambda t, C, q: Pinball(t, q, C), "quantile", metrics.mean_pinball_loss, "alpha"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), (make_deviance, "power", metrics.mean_tweedie_deviance, "power")),
}
"""The losses of regressors by their names, from targets, prices and the parameter that each has, and the metric that
chooses a price, with the name that the parameter has in it."""


def find_parameter(model: BaseEstimator) -> Any:
    """Return the parameter of the loss of a regressor, of several quantiles the first; two powers have names."""
    name = LOSSES[model.loss][1]
    given = {"poisson": 1.0, "gamma": 2.0}.get(model.loss, model.get_params(deep=False).get(name))
    return np.ravel(given)[0] if name == "quantile" else given


def make_loss(model: BaseEstimator, sample: TargetSample, prices: Array) -> Loss:
    """Make the loss that a regressor asks for by its name."""
    return LOSSES[model.loss][0](sample.targets, prices, find_parameter(model))


def rate_loss(model: BaseEstimator) -> Callable[..., float]:
    """Return the scorer that chooses a price of a regressor by its loss."""
    *_, metric, name = LOSSES[model.loss]
    return metrics.make_scorer(metric, greater_is_better=False, **({name: find_parameter(model)} if name else {}))


def check_loss(model: BaseEstimator, names: Sequence[str]) -> None:
    """Raise unless the loss is one of these, and quantiles are levels above 0 and below 1, one or several ascending."""
    validation.one_of("loss", model.loss, names)
    levels = np.atleast_1d(validation.finite_array("quantile", model.quantile))
    if levels.ndim > 1 or not levels.size or levels.min() <= 0 or levels.max() >= 1 or (np.diff(levels) <= 0).any():
        found = f"found {model.quantile!r:.100}"
        raise InvalidInput("quantile", found, "give a level above 0 and below 1, or several that ascend")


@final
@estimator
class LPBoostRegressor(Ensemble, Regressor):
    """Boosting of a regression: min sum_j |w_j| + C sum_i loss(t_i, sum_j w_j h_j(x_i) + b), over all weak learners.

    With absolute errors, quantiles and a width that costs nothing it is a linear program, as LPBoost is, with
    multipliers -C <= u <= C of the deviations in place of the weights of samples. Weights and deviations are in the
    units of the targets, so that C has none. Few of the weak learners are in the ensemble.

    Parameters
    ----------
    loss : {"absolute", "huber", "epsilon_insensitive", "quantile"}
        What deviations cost: their size; their size from `delta` on, and squares below; what they exceed `epsilon` by;
        or, of the quantile q, q times what a score is too low by and 1 - q times what it is too high by.
    C : float or "auto", optional
        The price of a unit of deviation of a sample of weight 1; "auto" chooses it by cross-validation; by default
        1 over the square root of the sum of the sample weights, as in theory the noise of n samples warrants (Belloni &
        Chernozhukov 2011).
    quantile : float or array-like of shape (n_quantiles,)
        Of the loss "quantile": levels above 0 and below 1. Several, ascending, are learnt at once and cross nowhere: a
        step from one to the next is a sum of terms ``1 + h(x)``, of values of 0 or above, and of a constant, which
        costs a hundredth of its size. With weak learners of values within [-1, 1].
    epsilon : float, optional
        Of the loss "epsilon_insensitive"; by default a tenth of the mean absolute deviation from the median.
    delta : float, optional
        Of the loss "huber"; by default the mean absolute deviation from the median.

    Attributes
    ----------
    weights_ : ndarray of shape (n_weak_learners,) or (n_weak_learners, n_quantiles)
        Their weights w.
    intercept_ : ndarray of shape () or (n_quantiles,)
        b.
    dual_weights_ : ndarray of shape (n_samples,) or (n_samples, n_quantiles)
        u, what pulls every sample up, or down below 0; the bound is from it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, t = load_diabetes(return_X_y=True)
    >>> model = LPBoostRegressor().fit(X, t)
    >>> model.certificate_.holds(1e-3), model.certificate_.proven, model.score(X, t) > 0.4
    (True, True, True)
    >>> high = LPBoostRegressor("quantile", quantile=0.9).fit(X, t)
    >>> abs(float((t <= high.predict(X)).mean()) - 0.9) < 0.05
    True
    """

    source: ClassVar[str] = "DBS02 section 4; Koenker & Bassett 1978"

    loss: str = "absolute"
    _: KW_ONLY
    C: float | str | None = None
    quantile: ArrayLike = 0.5
    epsilon: float | None = None
    delta: float | None = None
    oracle: str | OracleFactory = "stumps"

    def _usual_price(self, sample: TargetSample) -> float:
        return float(sample.weights.sum() ** -0.5)

    def _open_path(self, search: PriceSearch, others: Mapping[str, Any]) -> EnsemblePath:
        if self._n_scores > 1:
            found = f"found a search for its price with {self._n_scores} quantiles at once"
            raise InvalidInput("C", found, "choose it for one of them, and give the number")
        return super()._open_path(search, others)

    def _state(self, sample: TargetSample) -> Formulation:
        check_loss(self, ["absolute", "huber", "epsilon_insensitive", "quantile"])
        prices = self._price(sample) * sample.weights
        if self._n_scores > 1:
            found = f"with {self._n_scores} quantiles"
            refuse_bounds(self.constraints, {"scores", "weights"}, found, "constrain one quantile at a time")
            t, C = (np.repeat(each, self._n_scores) for each in (sample.targets, prices))
            several = Pinball(t, np.tile(np.asarray(self.quantile, np.float64), len(prices)), C)
            return Formulation(several, L1(), intercept=True)
        return Formulation(make_loss(self, sample, prices), L1(), intercept=True)

    _rate = rate_loss

    @property
    def _n_scores(self) -> int:
        """The number of quantiles that are learnt at once."""
        return np.size(self.quantile) if self.loss == "quantile" else 1

    def _formulation(self, sample: Weighted) -> Formulation:
        formulation = super()._formulation(sample)
        # steps from one quantile to the next go up
        return formulation if self._n_scores == 1 else replace(formulation, nonnegative=True)

    def _oracle(self, sample: Weighted, formulation: Formulation, **more: object) -> Oracle:
        oracle = super()._oracle(sample, formulation, **more)
        if self._n_scores == 1:
            return oracle
        one_sided = super()._formulation(sample).nonnegative
        return Ascending(with_signs(oracle, free=not one_sided), self._n_scores)

    def _fit(self, sample: Any, formulation: Formulation, oracle: Oracle, start: Sequence[Hypothesis]) -> Run:
        if self._n_scores > 1:
            start = [AscendingStep(hypothesis, first) for hypothesis in start for first in range(self._n_scores)]
        return super()._fit(sample, formulation, oracle, start)

    def _ensemble_of(
        self, formulation: Formulation, columns: Sequence[Column], w: Array, b: Any, own: Own
    ) -> Attributes:
        if self._n_scores == 1:
            return super()._ensemble_of(formulation, columns, w, b, own)
        steps: list[Any] = [column.hypothesis for column in columns]
        learners, weights, intercepts = add_up(steps, w, float(b), self._n_scores)
        return {"weak_learners_": learners, "weights_": weights, "intercept_": intercepts}

    def _certify(self, sample: Any, weights: ArrayLike, intercept: ArrayLike) -> Certificate:
        if self._n_scores == 1:
            return super()._certify(sample, weights, intercept)
        W, formulation = check_shape("weights", weights, self.weights_.shape), self._formulation(sample)
        oracle, steps_of = self._oracle(sample, formulation), np.abs(np.diff(W, axis=1)).sum(axis=0)
        # of weights alone, the steps are as short as they may be
        b = np.append(0.0, np.cumsum(steps_of)) if intercept is None else intercept
        steps, w, b_first = take_apart(self.weak_learners_, W, check_shape("intercept", b, self.intercept_.shape))
        u = self._run(sample, formulation, oracle, steps).u
        given = None if intercept is None else b_first
        return certify_ensemble(formulation, oracle, None, steps, u, w, given)

    def score(self, X: Data, y: ArrayLike, sample_weight: Given = None) -> float:
        """Return R^2, the share of squared deviations from the mean explained; of several quantiles the mean D^2."""
        if self._n_scores == 1:
            return float(super().score(X, y, sample_weight))
        rate, of_each = metrics.d2_pinball_score, zip(np.ravel(self.quantile), self.predict(X).T, strict=True)
        return float(np.mean([rate(y, f, sample_weight=sample_weight, alpha=q) for q, f in of_each]))

    def _to_scores(self, F: Array) -> Array:
        # rounding alone can turn them round
        return np.maximum.accumulate(F, axis=1) if F.ndim > 1 else F


def absolute_errors(_: object, t: Array, weights: Array) -> Formulation:
    """Return least absolute deviations with an l1 penalty, as `LPBoostRegressor` has them by default."""
    return Formulation(AbsoluteError(t, weights / weights.sum() ** 0.5), L1(), intercept=True)


@final
@estimator
class ColumnGenerationRegressor(OfAnyFormulation, Regressor):
    """Any formulation on scores, a loss that holds targets and a penalty on weights, over any weak learners.

    Parameters
    ----------
    formulation : callable
        From the features, targets (n_samples,) and weights (n_samples,) of a sample to the problem; rows that are alike
        are one, with the sum of their weights. By default least absolute deviations and an l1 penalty. Where it says by
        `decide` how variables of its own act on new samples, such as a linear part, that is what `predict` returns.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from cvxens.problems.losses import SquaredError
    >>> from cvxens.problems.penalties import SquaredL2
    >>> def ridge(X, t, weights):
    ...     return Formulation(SquaredError(weights, t), SquaredL2(10.0), intercept=True)
    >>> X, t = load_diabetes(return_X_y=True)
    >>> model = ColumnGenerationRegressor(ridge, "quantile_stumps").fit(X, t)
    >>> model.certificate_.holds(1e-3), model.score(X, t) > 0.5
    (True, True)
    """

    source: ClassVar[str] = "any formulation; by default least absolute deviations"

    formulation: Callable[..., Formulation] = absolute_errors
    oracle: str | OracleFactory = "stumps"

    def _state(self, sample: TargetSample) -> Formulation:
        if not callable(self.formulation) or isinstance(self.formulation, type):
            remedy = "give a function from features, targets and weights to a Formulation"
            raise InvalidInput("formulation", f"found {self.formulation!r:.100}", remedy)
        formulation = self.formulation(sample.X, sample.targets, sample.weights)
        if not isinstance(formulation, Formulation) or not formulation.on_scores:
            found = f"found a function to {formulation!s:.100}"
            raise InvalidInput("formulation", found, "return a Formulation whose loss is on scores: scores=True")
        return formulation
