"""Probabilities of the classes, directly from a loss that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cvxens.estimators.fitting.parameters import documented
from cvxens.types import Array


def _linked(estimator: Any) -> bool:
    """Whether there are probabilities: under the exponential loss itself, and not from votes of pairs of classes."""
    if getattr(estimator, "nu", None) is not None:
        raise AttributeError(f"predict_proba: found nu={estimator.nu!r}, which aims at a margin; give nu=None")
    if estimator.multi_class == "ovo" and len(getattr(estimator, "classes_", ())) > 2:
        raise AttributeError('predict_proba: one-vs-one has votes only; give multi_class="ovr"')
    return True


class ExponentialLink:
    """The probabilities that the exponential loss estimates: its mean is least where f is half the log odds."""

    @available_if(_linked)
    @documented
    def predict_proba(self: Any, X: Any) -> Array:
        """Return the probability of each class: ``1 / (1 + exp(-2 f(x)))`` for the second of two.

        Of more than two classes, those of one-vs-rest, divided by their sum.

        <PROBABILITIES>
        """
        check_is_fitted(self)
        return self._probabilities(self.decision_function(X))

    def _probabilities(self, F: Array) -> Array:
        """The probabilities (n_samples, n_classes) at which scores, of all sub-problems, have the least mean loss."""
        return normalised(np.atleast_2d(2 * F.T).T)


def normalised(log_odds: Array) -> Array:
    """Probabilities (n_samples, n_classes) from log odds of every class, or (n_samples, 1) of the second of two.

    Those of each class against the rest are divided by their sum, in logarithms: none is lost far from all classes.

    Examples
    --------
    >>> normalised(np.array([[0.0], [100.0]])).round(3)
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> normalised(np.array([[-2000.0, -2000.0, -2010.0]])).round(3)
    array([[0.5, 0.5, 0. ]])
    """
    if log_odds.shape[1] == 1:
        return expit(np.hstack([-log_odds, log_odds]))
    logs = -np.logaddexp(0.0, -log_odds)
    return softmax(logs, axis=1)
