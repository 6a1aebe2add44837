"""TT06: majority votes and means of least-squares experts with the kernel of a forest."""

from __future__ import annotations

from copy import copy
from dataclasses import field
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils.validation import check_is_fitted

from cvxens.certificates import Certificate
from cvxens.estimators.base import Classifier
from cvxens.estimators.machines.supervised_kernel import SupervisedKernelExperts
from cvxens.estimators.parameters import estimator
from cvxens.estimators.samples import Sample
from cvxens.estimators.saving import Persistent
from cvxens.problems import simplex_codes
from cvxens.types import Array

TIE = 1e-9
"""Scores whose difference is below this are equal, up to rounding; targets are of size 1."""


@final
@estimator
class SupervisedKernelRLSClassifier(SupervisedKernelExperts, Classifier):
    """TT06: a majority vote of regularised-least-squares experts with the supervised kernel of a forest.

    A forest is grown on all samples. How far two samples go together in its trees is their kernel. Each
    expert solves ``min 1/m |K c - y|^2 + gamma c'K c`` on a random sample of m rows and columns of that
    matrix: in closed form up to 1,000 samples, beyond that by conjugate gradients until the gap is 1e-12 of the value,
    with products that take no kernel matrix. The targets are simplex codes, -1 and +1 for two classes, so that one
    factor serves any number of classes: the class of the largest score is the same as with one-vs-rest targets.

    Missing values are NaN, and go where the forest sends them. Forests of scikit-learn take numbers only: put an
    `OrdinalEncoder` or `OneHotEncoder` of nominal features before this in a pipeline. Scaling does not matter,
    as long as it leaves no feature a range below 1e-7, which they take for a constant.

    Memory grows with n_samples n_experts; time with n_samples n_experts n_trees, and with 1/sqrt(gamma) where gamma is
    small. A sample that is too large is refused. Where gamma is so tiny that conjugate gradients fail, up to 5,000
    samples are solved in closed form, with a `SolverFallbackWarning`, and more raise `SolverFailed`. Ctrl-C is a
    KeyboardInterrupt, and leaves the estimator as it was.

    Attributes
    ----------
    certificate_ : Certificate
        Of the expert with the largest relative gap: every expert is at most so far from the optimum of its problem,
        whose kernel is given. Nothing is proven about the forest, nor about the vote.
    codes_ : ndarray of shape (n_classes, n_classes - 1)
        The targets of every class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> X[::7, 2] = np.nan
    >>> model = SupervisedKernelRLSClassifier(random_state=0).fit(X, y)
    >>> model.certificate_.holds(1e-9), len(model.experts_), model.score(X, y) > 0.9
    (True, 100, True)
    """

    default_forest: ClassVar[Any] = RandomForestClassifier

    codes_: Array = field(init=False)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier to X (n_samples, n_features) and y (n_samples,); one whose fit fails stays as it was."""
        return super().fit(X, y)

    def certify(self, X: Any, y: Any, *, weights: Any = None) -> Certificate:
        """Say how far the experts, or others over the same training samples, are from the optimum on a sample.

        Their problem with the fitted kernel is solved anew, over all of that sample: every expert, and so their mean,
        is at most so far from its optimum. As they were fitted to parts of the training sample, there is a gap on the
        whole of it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its targets; classes are those of the fitted sample, all of them.
        weights : array-like of shape (n_training_samples, n_experts, n_outputs), optional
            Coefficients from anywhere, over the training samples; by default ``experts_.coefficients``.

        Returns
        -------
        Certificate
            Of the expert with the largest gap.
        """
        sample = self._read_again(X, y)
        return self._certified(sample.X, self.codes_[sample.labels], weights)

    def _solve(self, sample: Sample) -> dict[str, Any]:
        codes = simplex_codes(len(sample.classes))[::-1]
        learnt = self._learn(sample.X, sample.classes[sample.labels], codes[sample.labels])
        return {**learnt, "codes_": codes}

    def _scores(self, X: Any) -> Array:
        scores = np.concatenate(
            [vote(part @ self.codes_.T) for part in self._expert_scores(X, self.experts_.coefficients)]
        )
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def decision_function(self, X: Any) -> Array:
        """Return the share of the experts that vote for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Shares of the votes; of two classes, that of the second less that of the first. An expert whose scores tie
            votes for each of them. To each share something below 1/(3 n_experts) is added that grows with
            the class's mean score over the experts, so that it decides between equal numbers of votes only.
        """
        return super().decision_function(X)


def vote(scores: Array) -> Array:
    """Turn scores (n_samples, n_experts, n_classes) into shares of votes (n_samples, n_classes), ties by the mean.

    An expert whose largest scores are equal votes for each of these classes: votes are whole, so that what the mean
    adds, which differs by less than a vote, decides only where votes are equal.
    """
    winners = scores >= scores.max(axis=2, keepdims=True) - TIE
    mean = scores.mean(axis=1)
    return winners.mean(axis=1) + mean / (1 + np.abs(mean)) / (3 * scores.shape[1])


@final
@estimator
class SupervisedKernelRLSRegressor(SupervisedKernelExperts, Persistent, RegressorMixin, BaseEstimator):
    """TT06: the mean of regularised-least-squares experts with the supervised kernel of a forest.

    As `SupervisedKernelRLSClassifier`, with ``y - mean(y)`` as the targets.

    Attributes
    ----------
    certificate_ : Certificate
        Of the expert with the largest relative gap, as of the classifier.
    intercept_ : float
        The mean of y.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names that are all strings.

    Examples
    --------
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = SupervisedKernelRLSRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.certificate_.holds(1e-9), model.score(X, np.sin(X[:, 0])) > 0.99
    (True, True)
    """

    default_forest: ClassVar[Any] = RandomForestRegressor

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the regressor to X (n_samples, n_features) and y (n_samples,); one whose fit fails stays as it was."""
        fitted = copy(self)
        X, y = self._accepts().labelled(fitted, X, y, y_numeric=True)
        y = y.astype(np.float64)
        learnt = self._learn(X, y, (y - y.mean())[:, None])
        self.__dict__ = {**fitted.__dict__, **learnt, "intercept_": float(y.mean())}
        return self

    def certify(self, X: Any, y: Any, *, weights: Any = None) -> Certificate:
        """Say how far the experts, or others over the same training samples, are from the optimum on a sample.

        The targets are ``y - intercept_``.

        Their problem with the fitted kernel is solved anew, over all of that sample: every expert, and so their mean,
        is at most so far from its optimum. As they were fitted to parts of the training sample, there is a gap on the
        whole of it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its targets; classes are those of the fitted sample, all of them.
        weights : array-like of shape (n_training_samples, n_experts, n_outputs), optional
            Coefficients from anywhere, over the training samples; by default ``experts_.coefficients``.

        Returns
        -------
        Certificate
            Of the expert with the largest gap.
        """
        check_is_fitted(self)
        X, y = self._accepts().labelled(self, X, y, reset=False, y_numeric=True)
        return self._certified(X, (y.astype(np.float64) - self.intercept_)[:, None], weights)

    def predict(self, X: Any) -> Array:
        """Return the mean of the experts for each sample of X (n_samples, n_features)."""
        check_is_fitted(self)
        X = self._accepts().new(self, X)
        coefficients = self.experts_.coefficients.mean(axis=(1, 2))
        return self.intercept_ + np.concatenate(list(self._expert_scores(X, coefficients)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "experts_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._accepts().missing
        return tags
