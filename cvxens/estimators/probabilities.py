"""Probabilities of the classes: directly from a loss that has them, or calibrated where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split, available_if
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Classifier
from cvxens.estimators.samples import check_weights
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


SIGMOID = "sigmoid"
"""The one kind of calibration."""

N_FOLDS = 5
"""Folds whose scores probabilities are calibrated on."""


def _asks_for_calibration(estimator: Any) -> bool:
    if estimator.calibration is None:
        raise AttributeError("predict_proba: found calibration=None; give calibration='sigmoid', and fit")
    return True


@dataclass(eq=False, repr=False)
class Calibrated(Classifier):
    """A classifier whose loss has no probabilities, which are calibrated where that is asked for.

    Parameters
    ----------
    calibration : {"sigmoid"}, optional
        "sigmoid" for `predict_proba`, by Platt's method: the log odds of each class are linear in its score, with two
        numbers of the largest likelihood on the scores of five folds, each by a fit to the others, which takes six
        times as long. By default there are no probabilities.

    Attributes
    ----------
    calibration_ : ndarray of shape (n_scores, 2), or None
        Slope and intercept of the log odds, of two classes of the second one, else of each against the rest.
    """

    _: KW_ONLY
    calibration: str | None = None

    @available_if(_asks_for_calibration)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class by the calibrated scores; of several classes, divided by their sum.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1. The largest need not be that of the class that `predict` returns.
        """
        check_is_fitted(self)
        if self.calibration_ is None:
            raise InvalidInput("calibration", "found a fit without one", "fit again")
        F = self.decision_function(X)
        return normalise(F.reshape(len(F), -1) * self.calibration_[:, 0] + self.calibration_[:, 1])

    def _calibrate(self, X: Any, y: Any, given: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of the calibration of a fit, whose others are found."""
        if self.calibration is None:
            return {"calibration_": None}
        validation.one_of("calibration", self.calibration, [SIGMOID])
        labels, classes = np.asarray(y), found["classes_"]
        weights = check_weights(given.get("sample_weight"), labels)
        rows = np.flatnonzero(weights)
        counts = np.unique(labels[rows], return_counts=True)[1]
        if counts.min() < 2:
            remedy = "give two samples or more of every class, or calibration=None"
            raise InvalidInput("y", f"found one sample of the class {classes[counts.argmin()]!r}", remedy)
        # a price that has been chosen is not chosen anew in every fold
        priced = {"C": found.get("C_"), "nu": found.get("nu_")} if "cv_results_" in found else {}
        of_nu = getattr(self, "nu", None) is not None
        chosen = {k: v for k, v in priced.items() if isinstance(v, float) and (k == "nu") == of_nu}
        part = clone(self).set_params(calibration=None, **chosen)
        folds = StratifiedKFold(min(N_FOLDS, int(counts.min())), shuffle=True, random_state=0)
        F = np.zeros((len(rows), 1 if len(classes) == 2 else len(classes)))
        for train, test in folds.split(rows[:, np.newaxis], labels[rows]):
            told = {name: _safe_indexing(values, rows[train]) for name, values in given.items()}
            X_train, y_train = _safe_split(part, X, labels, rows[train])
            X_test, _ = _safe_split(part, X, labels, rows[test], rows[train])
            F[test] = clone(part).fit(X_train, y_train, **told).decision_function(X_test).reshape(len(test), -1)
        own = labels[rows, np.newaxis] == (classes[1:] if len(classes) == 2 else classes)
        return {"calibration_": np.array([fit_sigmoid(F[:, k], own[:, k], weights[rows]) for k in range(F.shape[1])])}


def fit_sigmoid(f: Array, own: NDArray[np.bool_], weights: Array) -> tuple[float, float]:
    """Return slope and intercept of log odds that are linear in a score, of the largest likelihood (Platt 2000).

    The targets are (n + 1) / (n + 2) of the n samples of the class, and 1 / (m + 2) of the m others, so that there is a
    maximum where the score separates them.

    Examples
    --------
    >>> slope, intercept = fit_sigmoid(np.array([-1.0, 1.0]), np.array([False, True]), np.ones(2))
    >>> round(slope, 3), abs(round(intercept, 3))
    (0.693, 0.0)
    """
    n, m = weights[own].sum(), weights[~own].sum()
    targets = np.where(own, (n + 1) / (n + 2), 1 / (m + 2))
    # the units of the score play no part
    size = float(np.abs(f).max()) or 1.0
    parts = np.concatenate([weights * targets, weights * (1 - targets)])
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    model.fit(np.tile(f / size, 2)[:, np.newaxis], np.repeat([1, 0], len(f)), parts)
    return float(model.coef_[0, 0]) / size, float(model.intercept_[0])


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
