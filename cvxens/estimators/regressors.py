"""Regression by column generation: ensembles of weak learners whose sum follows numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from cvxens import validation
from cvxens.colgen import Formulation
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Regressor
from cvxens.estimators.ensembles import Ensemble, OfAnyFormulation
from cvxens.estimators.parameters import estimator
from cvxens.estimators.samples import OracleFactory, TargetSample
from cvxens.problems.losses import Loss
from cvxens.problems.modelling import cp
from cvxens.problems.penalties import L1
from cvxens.problems.target_losses import AbsoluteError, EpsilonInsensitive, HuberError, Pinball
from cvxens.types import Array

MakeFormulation: TypeAlias = Callable[[Any, Array, Array], Formulation]
"""From the features, targets and weights of a sample, rows that are alike joined, to a formulation on scores."""

TUBE = 0.1
"""The default width epsilon within which deviations cost nothing, in mean absolute deviations from the median."""


def measure_deviation(t: Array, weights: Array) -> float:
    """Return the mean absolute deviation from the median, of targets with weights; 1 where all are equal.

    Examples
    --------
    >>> measure_deviation(np.array([0.0, 1.0, 5.0]), np.ones(3)), measure_deviation(np.ones(2), np.ones(2))
    (1.6666666666666667, 1.0)
    """
    loss = AbsoluteError(t, weights / weights.sum())
    b = loss.best_intercept(np.zeros(len(t)), np.ones(len(t)))
    return loss.value(np.full(len(t), float(b))) or 1.0


def make_absolute(t: Array, C: Array, _: float | None) -> Loss:
    """Return the absolute errors."""
    return AbsoluteError(t, C)


def make_huber(t: Array, C: Array, delta: float | None) -> Loss:
    """Return Huber's errors, of slopes of at most C; the width is by default the mean absolute deviation."""
    width = measure_deviation(t, C) if delta is None else validation.positive("delta", delta)
    return HuberError(t, width, C / width)


def make_insensitive(t: Array, C: Array, epsilon: float | None) -> Loss:
    """Return the errors beyond epsilon, by default a tenth of the mean absolute deviation."""
    return EpsilonInsensitive(t, TUBE * measure_deviation(t, C) if epsilon is None else epsilon, C)


LOSSES: Mapping[str, tuple[Callable[[Array, Array, Any], Loss], str]] = {
    "absolute": (make_absolute, ""),
    "huber": (make_huber, "delta"),
    "epsilon_insensitive": (make_insensitive, "epsilon"),
    "quantile": (lambda t, C, q: Pinball(t, q, C), "quantile"),
}
"""The losses of `LPBoostRegressor` by their names, from targets, prices and the parameter that each has."""


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
    C : float, optional
        The price of a unit of deviation of a sample of weight 1; by default 1 over the square root of the sum of the
        sample weights, as in theory the noise of n samples warrants (Belloni & Chernozhukov 2011).
    quantile : float or array-like of shape (n_quantiles,)
        Of the loss "quantile": levels above 0 and below 1. Several, ascending, are learnt at once, such that they do
        not cross on the training samples (Bondell, Reich & Wang 2010), and their predictions are sorted elsewhere.
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
    C: float | None = None
    quantile: Any = 0.5
    epsilon: float | None = None
    delta: float | None = None
    oracle: str | OracleFactory = "stumps"

    def _formulation(self, sample: TargetSample) -> Formulation:
        make, parameter = LOSSES[validation.one_of("loss", self.loss, LOSSES)]
        price = sample.weights.sum() ** -0.5 if self.C is None else validation.positive("C", self.C)
        prices = price * sample.weights
        if self.loss == "quantile" and np.ndim(self.quantile):
            return quantiles_that_do_not_cross(sample.targets, self.quantile, prices)
        loss = make(sample.targets, prices, getattr(self, parameter, None))
        return Formulation(loss, L1(), intercept=True)

    def _to_scores(self, F: Array) -> Array:
        # where samples have not kept them apart, sorted quantiles are no worse (Chernozhukov et al. 2010)
        return np.sort(F, axis=1) if F.ndim > 1 else F


def quantiles_that_do_not_cross(t: Array, levels: Any, prices: Array) -> Formulation:
    """Return the sum of the pinball losses of scores (n_samples, n_quantiles), which ascend, with an l1 penalty."""
    q = validation.finite_array("quantile", levels, ndim=1)
    if q.min() <= 0 or q.max() >= 1 or (np.diff(q) <= 0).any():
        raise InvalidInput("quantile", f"found {levels!r:.100}", "give ascending levels above 0 and below 1")
    T = np.repeat(t[:, np.newaxis], len(q), axis=1)
    below, above = prices[:, np.newaxis] * q, prices[:, np.newaxis] * (1 - q)

    def loss(F: Any) -> Any:
        return cp.sum(cp.multiply(below, cp.pos(T - F)) + cp.multiply(above, cp.pos(F - T)))

    def ascend(F: Any) -> list[Any]:
        return [F[:, :-1] <= F[:, 1:]] if len(q) > 1 else []

    return Formulation(loss, L1(), intercept=True, outputs=len(q), constraints=ascend)


def absolute_errors(_: Any, t: Array, weights: Array) -> Formulation:
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

    formulation: MakeFormulation = absolute_errors
    oracle: str | OracleFactory = "stumps"

    def _formulation(self, sample: TargetSample) -> Formulation:
        if not callable(self.formulation) or isinstance(self.formulation, type):
            remedy = "give a function from features, targets and weights to a Formulation"
            raise InvalidInput("formulation", f"found {self.formulation!r:.100}", remedy)
        formulation = self.formulation(sample.X, sample.targets, sample.weights)
        if not isinstance(formulation, Formulation) or not formulation.on_scores:
            found = f"found a function to {formulation!s:.100}"
            raise InvalidInput("formulation", found, "return a Formulation whose loss is on scores: scores=True")
        return formulation
