"""Probabilities of the classes, of losses that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cvxens.types import Array


def _has_link(estimator: BaseEstimator) -> bool:
    """Return True if there are probabilities, which is up to the parameters alone: of the exponential loss itself."""
    if vars(estimator).get("nu") is not None:
        raise AttributeError(f"predict_proba: found nu={estimator.nu!r}, which aims at a margin; give nu=None")
    return True


@available_if(_has_link)
def predict_proba(classifier: BaseEstimator, X: Any) -> Array:
    """Return the probability of each class that the loss estimates: those under which its mean is least at the scores.

    Of two classes it is ``1 / (1 + exp(-2 f(x)))`` for the second one with the exponential loss, and
    ``1 / (1 + exp(-f(x)))`` with the logistic one. Of one-vs-rest, and of AdaBoost.MH, these divided by their sum. Of
    AdaBoost.ECC and MultiBoost, where the loss has differences of scores, the softmax of F and of 2 F.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        As in `fit`.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        In the order of `classes_`; rows sum to 1.
    """
    check_is_fitted(classifier)
    found: Array = classifier._link(classifier._raw_scores(classifier._accepts().new(classifier, X)))
    return found


def link_exponential(F: Array) -> Array:
    """Return the probabilities (n_samples, n_classes) at which raw scores have the least mean exponential loss."""
    return link_logistic(2 * F)


def link_logistic(F: Array) -> Array:
    """Return the probabilities (n_samples, n_classes) at which raw scores have the least mean logistic loss.

    Scores are log odds, (n_samples,) of the second of two classes, or (n_samples, n_classes) of each. Those of each
    class against the rest are divided by their sum, in logarithms: none is lost far from all classes.

    Examples
    --------
    >>> link_logistic(np.array([0.0, 100.0])).round(3)
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> link_logistic(np.array([[-2000.0, -2000.0, -2010.0]])).round(3)
    array([[0.5, 0.5, 0. ]])
    """
    if F.ndim == 1:
        return expit(np.stack([-F, F], axis=1))
    return softmax(-np.logaddexp(0.0, -F), axis=1)
