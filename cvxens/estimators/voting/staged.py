"""Answers of a boosted ensemble after every round, as scikit-learn's boosting classifiers give them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cvxens.colgen import BoostingRound
from cvxens.estimators.fitting.parameters import documented
from cvxens.estimators.voting.votes import Vote
from cvxens.types import Array

if TYPE_CHECKING:
    from cvxens.estimators.base import Classifier

    class Base(Vote, Classifier):
        """A classifier by votes."""
else:
    Base = Vote


def _has_probabilities(estimator: Any) -> bool:
    """Whether the whole ensemble has probabilities; where it has none it says why."""
    return callable(estimator.predict_proba)


class Staged(Base):
    """A vote that tells what it answers after its first round, after its first two, ...; for a `Classifier`.

    A round adds a hypothesis, or raises the weight of one: after round k the ensemble is the one of a fit with at most
    k rounds, and after the last one it is the fitted one. Of sub-problems with different numbers of rounds, those that
    ended first stay as they are.
    """

    history_: Any

    @abstractmethod
    def _probabilities(self, F: Array) -> Array:
        """Probabilities (n_samples, n_classes) from the sums of votes, of all sub-problems where there are several."""

    @documented
    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Score samples after every round.

        <STAGED_SAMPLE>

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            After the last round what `decision_function` returns, up to rounding. Nothing where there was no round.
        """
        yield from map(self._of_outputs, self._staged(X))

    @documented
    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """Predict the classes of samples after every round.

        <STAGED_SAMPLE>

        Yields
        ------
        ndarray of shape (n_samples,)
            After the last round what `predict` returns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from cvxens import AdaBoostClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = AdaBoostClassifier(n_rounds=20).fit(X, y)
        >>> [int((classes != y).sum()) for classes in model.staged_predict(X)][::5]
        [6, 5, 5, 4]
        """
        yield from map(self._classes, self.staged_decision_function(X))

    @available_if(_has_probabilities)
    @documented
    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Return the probabilities of the classes after every round; of ensembles that have `predict_proba`.

        <STAGED_SAMPLE>

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            After the last round what `predict_proba` returns, up to rounding.
        """
        yield from map(self._probabilities, self._staged(X))

    @documented
    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Return the accuracy after every round.

        <STAGED_SAMPLE>
        y : array-like of shape (n_samples,)
            The classes of the samples.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the accuracy.

        Yields
        ------
        float
            After the last round what `score` returns.
        """
        for classes in self.staged_predict(X):
            yield float(accuracy_score(y, classes, sample_weight=sample_weight))

    def _staged(self, X: Any) -> Iterator[Array]:
        """The sums of votes (n_samples,), or (n_samples, n_outputs or sub-problems), of samples after every round."""
        check_is_fitted(self)
        yield from votes_of(self.history_, self._accepts().new(self, X))


def votes_of(history: Any, X: Any) -> Iterator[Array]:
    """Add up the votes of rounds on checked samples; a perfect hypothesis is all that counts from then on.

    Parameters
    ----------
    history : iterable of BoostingRound
        The rounds.
    X : ndarray or sparse array of shape (n_samples, n_features)
        The samples.

    Yields
    ------
    ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A new one for every round.
    """
    F: Any = 0.0
    row: BoostingRound
    for row in history:
        votes = row.hypothesis(X)
        F = votes if np.isinf(row.weight) else F + row.weight * votes
        yield F.copy()
