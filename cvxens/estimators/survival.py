"""Survival: hazards that are proportional to exponentials of scores, found by column generation, certified."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from cvxens import validation
from cvxens.colgen import Formulation, Run
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Attributes, Predictor, estimator
from cvxens.estimators.ensembles import Ensemble
from cvxens.estimators.samples import Accepts, OracleFactory, Weighted, keep_weighted
from cvxens.problems.penalties import L1, Penalty, SquaredL2
from cvxens.problems.survival_losses import CoxPartialLikelihood
from cvxens.types import Array, Data, Given, Mask

PENALTIES: dict[str, Penalty] = {"l1": L1(), "l2": SquaredL2()}
"""The penalties of `ColumnGenerationSurvival` by their names."""


@dataclass(frozen=True)
class StepFunction:
    """A function of the time that is constant from each of some times to the next, as fits of survival return them.

    Parameters
    ----------
    x : ndarray of shape (n_times,)
        Times, ascending.
    y : ndarray of shape (n_times,)
        The value from each of them on.
    before : float
        The value before the first one.

    Examples
    --------
    >>> survival = StepFunction(np.array([1.0, 2.0]), np.array([0.5, 0.25]), 1.0)
    >>> survival([0.0, 1.0, 1.5]), float(survival(2.0))
    (array([1. , 0.5, 0.5]), 0.25)
    """

    x: Array
    y: Array
    before: float

    def __call__(self, t: ArrayLike) -> Array:
        """Return the values at times t, of any shape.

        Raises
        ------
        InvalidInput
            A time is below 0, or after the last one, of which the sample tells nothing.
        """
        times = validation.finite_array("t", t)
        if times.size and (times.min() < min(0.0, self.x[0]) or times.max() > self.x[-1]):
            found = f"found times from {times.min():g} to {times.max():g}"
            raise InvalidInput("t", found, f"give times from 0 to {self.x[-1]:g}, the last one of the fit")
        return np.concatenate([[self.before], self.y])[np.searchsorted(self.x, times, "right")]


@dataclass(frozen=True)
class SurvivalSample(Weighted):
    """A training sample of times, some of them of events."""

    times: Array  # (n_kept,)
    events: Mask  # (n_kept,), True where there was one

    of_samples: ClassVar[tuple[str, ...]] = ("times", "events")

    @property
    def outcomes(self) -> tuple[str, Array]:
        """The name and the values of what a table of rules gives the mean of: 1 for events, 0 for others."""
        return "events", self.events.astype(np.float64)

    @classmethod
    def read(
        cls, estimator: object, X: Data, y: Data, accepts: Accepts, *, sample_weight: Given = None, reset: bool = True
    ) -> Self:
        """Check and encode a sample; unless `reset`, its features have to be those that the estimator was fitted to."""
        events, given = split_survival(y)
        read, times = accepts.read_targets(estimator, X, given, reset=reset)
        events = np.ones(len(times), bool) if events is None else events
        if times.min() < 0:
            remedy = "give times of 0 or above, and whether there was an event in a field of its own, as `fit` says"
            raise InvalidInput("y", f"found the time {times.min():g}", remedy)
        weights = validation.weights("sample_weight", sample_weight, len(times))
        if not events[weights > 0].any():
            raise InvalidInput("y", "found no event of positive weight", "give samples with one or more")
        return cls(**keep_weighted(estimator, read, weights, times=times, events=events))


def split_survival(y: Data) -> tuple[Mask | None, Data]:
    """Return where there were events, None where y does not tell, and times, of records or of times alone.

    Examples
    --------
    >>> y = np.array([(True, 2.0), (False, 3.5)], dtype=[("event", bool), ("time", float)])
    >>> split_survival(y)
    (array([ True, False]), array([2. , 3.5]))
    >>> split_survival([2.0, 3.5])
    (None, [2.0, 3.5])
    """
    remedy = "give records of two fields, first a bool that is True where there was an event, then the time"
    if not isinstance(y, np.ndarray) or (names := y.dtype.names) is None:
        if np.asarray(y).shape[1:] not in {(), (1,)}:
            raise InvalidInput("y", f"found shape {np.asarray(y).shape}", remedy)
        return None, y
    if len(names) != 2 or y.ndim != 1 or y.dtype[0].kind != "b":
        raise InvalidInput("y", f"found records of {', '.join(names)}", remedy)
    return y[names[0]], y[names[1]]


def find_concordance(events: Mask, times: Array, scores: Array, weights: Array | None = None) -> float:
    """Return the share of pairs in which who had the event first has the higher score; equal ones count half.

    A pair counts, as the product of its weights, where one had an event at a time up to which the other was without one
    (Harrell et al. 1982).
    """
    weights = np.ones(len(times)) if weights is None else weights
    won, pairs, first = 0.0, 0.0, np.flatnonzero(events & (weights > 0))
    # four million pairs are compared at a time
    for some in np.array_split(first, max(1, len(first) * len(times) // 2**22)):
        later = times[some, np.newaxis] < times
        later |= (times[some, np.newaxis] == times) & ~events
        differences = scores[some, np.newaxis] - scores
        shares = np.where(differences == 0, 0.5, differences > 0)
        won += float(weights[some] @ (later * shares) @ weights)
        pairs += float(weights[some] @ later @ weights)
    if not pairs:
        raise InvalidInput("y", "found no pair of which one had an event first", "give samples of several times")
    return won / pairs


@final
@estimator
class ColumnGenerationSurvival(Ensemble, Predictor):
    """Cox's proportional hazards with scores that are sums of weak learners: min penalty(w) + C loss(sum_j w_j h_j).

    The loss is the negative logarithm of the partial likelihood, with ties as Breslow has them, and no weak learner is
    left out: its conjugate is the entropy of a chain (`cvxens.problems.survival_losses`), so that the certificate is
    over all of them. Conventions are those of scikit-survival.

    `fit` takes as y a structured array, first a field of bools, True where there was an event, then one of the times,
    of 0 or above, at which that was, or at which the sample was seen last; or times alone, all of events.

    Parameters
    ----------
    C : float, optional
        The price of the loss, a sum over events; by default 1 over the square root of the mass of the events.
    penalty : {"l1", "l2"}
        ``sum |w_j|``, of which few weak learners remain, or ``1/2 sum w_j^2``, for small finite sets of them.

    Attributes
    ----------
    intercept_ : ndarray of shape ()
        0: the baseline takes its place.
    dual_weights_ : ndarray of shape (n_samples,)
        u, the martingale residuals times C: the event of a sample less the hazard that it has been under.
    unique_times_ : ndarray of shape (n_times,)
        The times of the sample, ascending.
    cumulative_hazard_ : ndarray of shape (n_times,)
        Breslow's estimate of the cumulative hazard at them, of a sample with the score 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> times = rng.exponential(np.exp(-np.abs(X[:, 0])))
    >>> y = np.array(list(zip(times < 1, np.minimum(times, 1))), dtype=[("event", bool), ("time", float)])
    >>> model = ColumnGenerationSurvival().fit(X, y)
    >>> model.certificate_.holds(1e-3), model.certificate_.proven, model.score(X, y) > 0.6
    (True, True, True)
    >>> [survival] = model.predict_survival_function(X[:1])
    >>> bool(survival(0.0) == 1 and survival(0.9) < survival(0.5))
    True
    """

    _kind_of_sample: ClassVar[type[Any]] = SurvivalSample
    source: ClassVar[str] = "Cox 1972; Breslow 1974; Ridgeway 1999"

    unique_times_: Array = field(init=False)
    cumulative_hazard_: Array = field(init=False)
    C: float | None = None
    _: KW_ONLY
    penalty: str = "l1"
    oracle: str | OracleFactory = "stumps"

    def score(self, X: Data, y: ArrayLike, sample_weight: Given = None) -> float:
        """Return the concordance index of the predicted risks.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; a pair counts as the product of its two weights.

        Returns
        -------
        float
            The share of the pairs, of which it is known who had the event first, where that one has the higher score.
        """
        f = self.predict(X)
        events, times = split_survival(y)
        times = validation.finite_array("y", times, ndim=1)
        validation.same_length("y", times, len(f))
        events = np.ones(len(f), bool) if events is None else events
        return find_concordance(events, times, f, validation.weights("sample_weight", sample_weight, len(f)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.positive_only = True
        return tags

    def _loss(self, sample: SurvivalSample) -> CoxPartialLikelihood:
        return CoxPartialLikelihood(sample.times, sample.events, self._price(sample), sample.weights)

    def _usual_price(self, sample: SurvivalSample) -> float:
        return float(sample.weights[sample.events].sum() ** -0.5)

    def _state(self, sample: SurvivalSample) -> Formulation:
        penalty = PENALTIES[validation.one_of("penalty", self.penalty, PENALTIES)]
        return Formulation(self._loss(sample), penalty)

    def _appraise(self, sample: Any, formulation: Formulation, run: Run) -> Attributes:
        f = sum(map(np.multiply, run.weights, [column.values for column in run.columns]), np.zeros(len(sample.times)))
        # Breslow's cumulative hazard of the score 0
        loss, times = self._loss(sample), np.unique(sample.times)
        hazards = np.concatenate([[0.0], np.exp(loss.log_hazards(f))])
        at_times = hazards[np.searchsorted(loss.event_times, times, "right")]
        return {"unique_times_": times, "cumulative_hazard_": at_times}

    def predict_cumulative_hazard_function(self, X: Data, return_array: bool = False) -> Array | NDArray[np.object_]:
        """Predict the cumulative hazard of samples over the time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.
        return_array : bool
            True for the values at `unique_times_`.

        Returns
        -------
        ndarray of StepFunction, shape (n_samples,), or of float, shape (n_samples, n_times)
            Breslow's cumulative hazard times exp(f).
        """
        values = np.exp(self.predict(X))[:, np.newaxis] * self.cumulative_hazard_
        return values if return_array else self._make_steps(values, 0.0)

    def predict_survival_function(self, X: Data, return_array: bool = False) -> Array | NDArray[np.object_]:
        """Predict the share of samples like these that have had no event, over the time.

        Parameters
        ----------
        X, return_array
            As of `predict_cumulative_hazard_function`.

        Returns
        -------
        ndarray of StepFunction, shape (n_samples,), or of float, shape (n_samples, n_times)
            exp of minus the cumulative hazard.
        """
        values = np.exp(-self.predict_cumulative_hazard_function(X, return_array=True))
        return values if return_array else self._make_steps(values, 1.0)

    def _make_steps(self, values: Array, before: float) -> NDArray[np.object_]:
        found = np.empty(len(values), object)
        found[:] = [StepFunction(self.unique_times_, row, before) for row in values]
        return found
