"""Probabilities of the classes, of losses that have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cvxens.estimators.base import Classifier
from cvxens.types import Array

LEAST = 1e-7
"""The least probability of one of two classes."""


def _has_link(estimator: Any) -> bool:
    """Return True if there are probabilities, which is up to the parameters alone: of the exponential loss itself."""
    if getattr(estimator, "nu", None) is not None:
        raise AttributeError(f"predict_proba: found nu={estimator.nu!r}, which aims at a margin; give nu=None")
    return True


@dataclass(eq=False, repr=False)
class Probabilities(Classifier):
    """Probabilities that a loss estimates: those under which its mean is least at the scores."""

    log_odds: ClassVar[float] = 2.0
    """The log odds of a unit of score: 2 of the exponential loss, 1 of the logistic one."""

    @available_if(_has_link)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class that the loss estimates.

        Of two classes it is ``1 / (1 + exp(-2 f(x)))`` for the second one with the exponential loss, and
        ``1 / (1 + exp(-f(x)))`` with the logistic one. Of one-vs-rest, and of AdaBoost.MH, these
        divided by their sum; of one-vs-one, those that are the nearest to what all pairs of classes say (Wu, Lin &
        Weng, JMLR 5, 2004): the largest need not be that of the class with the most votes, which `predict` returns. Of
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
        check_is_fitted(self)
        return self._probabilities(self._raw_scores(self._accepts().new(self, X)))

    def _probabilities(self, F: Array) -> Array:
        """Return the probabilities (n_samples, n_classes) at which raw scores have the least mean loss."""
        parts = self._parts()
        if parts != [self] and parts[0].multi_class == "ovo":
            return couple(self.log_odds * F, len(self.classes_))
        return normalise(np.atleast_2d(self.log_odds * F.T).T)


def normalise(log_odds: Array) -> Array:
    """Return probabilities (n_samples, n_classes) from log odds of every class, or (n_samples, 1) of the second of two.

    Those of each class against the rest are divided by their sum, in logarithms: none is lost far from all classes.

    Examples
    --------
    >>> normalise(np.array([[0.0], [100.0]])).round(3)
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> normalise(np.array([[-2000.0, -2000.0, -2010.0]])).round(3)
    array([[0.5, 0.5, 0. ]])
    """
    if log_odds.shape[1] == 1:
        return expit(np.hstack([-log_odds, log_odds]))
    logs = -np.logaddexp(0.0, -log_odds)
    return softmax(logs, axis=1)


def couple(log_odds: Array, n_classes: int) -> Array:
    """Return probabilities (n_samples, n_classes) from log odds (n_samples, n_pairs) of the second class of every pair.

    With r_kl the probability of k among k and l, they minimise ``sum_{k != l} (r_lk p_k - r_kl p_l)^2`` subject to
    sum p = 1 (Wu, Lin & Weng 2004, their second method), whose minimum has p >= 0.

    Examples
    --------
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> couple(np.log([[p[1] / p[0], p[2] / p[0], p[2] / p[1]]]), 3).round(3)
    array([[0.5, 0.3, 0.2]])
    """
    n_samples = len(log_odds)
    r = np.zeros((n_samples, n_classes, n_classes))
    first, second = np.triu_indices(n_classes, 1)
    # within 1e-7 of 0 and 1, as LIBSVM has it, so that the system below is not singular
    r[:, second, first] = np.clip(expit(log_odds), LEAST, 1 - LEAST)
    r[:, first, second] = np.clip(expit(-log_odds), LEAST, 1 - LEAST)
    # [Q e; e' 0] [p; b] = [0; 1], with Q_kk = sum_l r_lk^2 and Q_kl = -r_lk r_kl
    system = np.zeros((n_samples, n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, -1, :-1] = system[:, :-1, -1] = 1.0
    right = np.zeros((n_samples, n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)
