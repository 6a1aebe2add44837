"""What every classifier shares: checks, classes, one-vs-rest, and a fit that is done whole or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from cvxens.deadline import limit_time
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.estimators.fitting.callbacks import CallbackSupport, as_part, cloned, with_callbacks
from cvxens.estimators.fitting.multiclass import check_decomposition, decompose, n_parts
from cvxens.estimators.fitting.progress import fit_task, time_limit
from cvxens.estimators.fitting.sample import Accepts, Sample
from cvxens.estimators.saving import Persistent
from cvxens.types import Array, Attempt


def _is_numerical(error: BaseException) -> bool:
    """Whether linear algebra or arithmetic failed, on numbers that are too large, too small or too far apart."""
    # ZeroDivisionError is of callbacks and oracles of somebody's own: numpy divides by 0 without one
    if isinstance(error, np.linalg.LinAlgError | FloatingPointError | OverflowError):
        return True
    # scipy's words for a matrix that has overflowed on the way
    return type(error) is ValueError and "array must not contain infs or NaNs" in str(error)


class Classifier(Persistent, CallbackSupport, ClassifierMixin, BaseEstimator, ABC):
    """A classifier as scikit-learn knows it, on top of a method that solves one problem.

    A subclass says what it accepts, solves a sample of as many classes as it can, and scores new samples. It needs a
    `fit`: that of `Weighted`, or its own which calls `_fit`.

    Attributes
    ----------
    multi : bool
        Whether the method itself takes more than two classes; else there is a parameter `multi_class`.
    fitted : tuple of str
        What `_solve` returns; of each a list over the sub-problems where there are several.
    derived : tuple of str
        What a fit makes of these; lists likewise.
    """

    multi: ClassVar[bool] = False
    fitted: ClassVar[tuple[str, ...]]
    derived: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _accepts(self) -> Accepts:
        """What X may be; it must not raise."""

    @abstractmethod
    def _solve(self, sample: Sample) -> Mapping[str, Any]:
        """Solve the problem of a sample; returns the fitted attributes, `dual_weights_` of all given samples."""

    @abstractmethod
    def _scores(self, X: Any) -> Array:
        """Score checked samples: (n_samples,), or (n_samples, n_classes) for more than two classes."""

    def _for_parts(self, sample: Sample) -> Mapping[str, Any]:
        """Parameters of the sub-problems that follow from the whole sample."""
        return {}

    def _known(self, sample: Sample) -> Mapping[str, Any]:
        """The fitted attributes that are known before a sample's problem is solved."""
        return {"classes_": sample.classes}

    def _most_rounds(self, sample: Sample) -> int | None:
        """At most so many rounds solve a sample; None if that is not known, 0 for a method without rounds."""
        return 0

    @with_callbacks
    def _fit_as_task(self, sample: Sample, given: Mapping[str, Any]) -> None:
        """Fit, and let scikit-learn's callbacks follow; `given` is what they see of it: X, y and metadata."""
        if not self.multi:
            check_decomposition(self)
        several = self._several(sample)
        n_tasks = n_parts(self, len(sample.classes)) if several else self._most_rounds(sample)
        before = {"decomposition_": None} if hasattr(self, "decomposition_") else {}
        known = {**before, **self._known(sample)}
        with fit_task(self, given, known, n_tasks=n_tasks, ordered=not several):
            self._fit(sample)

    def _fit(self, sample: Sample) -> None:
        """Solve, or decompose and solve, and set the fitted attributes."""
        found = decompose(self, sample, self.fitted) if self._several(sample) else self._solve(sample)
        self.__dict__.pop("decomposition_", None)
        for name, value in {**self._known(sample), **found}.items():
            setattr(self, name, value)

    def _several(self, sample: Sample) -> bool:
        """Whether a sample makes several sub-problems."""
        return len(sample.classes) > 2 and not self.multi

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What fails leaves the estimator as it was; numbers that a solver cannot compute with are told of as such."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException as error:
            self.__dict__.clear()
            self.__dict__.update(before)
            if _is_numerical(error):
                attempt = Attempt(type(self).__name__, "failed", 0.0, str(error))
                raise SolverFailed([attempt]) from error
            raise

    def _sample_again(self, X: Any, y: Any, sample_weight: Any = None) -> Sample:
        """Read a sample to hold the fitted classifier against."""
        check_is_fitted(self)
        sample = Sample.read(self, X, y, self._accepts(), **self._factors(sample_weight), reset=False)
        if not np.array_equal(sample.classes, self.classes_):
            raise InvalidInput("y", f"found the classes {sample.classes}", f"give samples of all of {self.classes_}")
        return sample

    def _factors(self, sample_weight: Any = None) -> dict[str, Any]:
        """What the prices of samples are multiplied by."""
        return {"sample_weight": sample_weight}

    def decision_function(self, X: Any) -> Array:
        """Score samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, positive for the second one; else one score per class.
        """
        check_is_fitted(self)
        X = self._accepts().new(self, X)
        decomposition = getattr(self, "decomposition_", None)
        return self._scores(X) if decomposition is None else decomposition.decision_function(X)

    def predict(self, X: Any) -> NDArray:
        """Return the class of the largest score for each sample of X (n_samples, n_features)."""
        return self._classes(self.decision_function(X))

    def _classes(self, scores: Array) -> NDArray:
        """The class of the largest score, (n_samples,)."""
        return self.classes_[scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(np.intp)]

    def __sklearn_clone__(self) -> Any:
        return cloned(self, super().__sklearn_clone__())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        accepts = self._accepts()
        tags.input_tags.sparse, tags.input_tags.allow_nan = bool(accepts.sparse), accepts.missing
        tags.input_tags.categorical = accepts.nominal
        return tags


class Weighted:
    """A `fit` that takes sample weights, and merges samples that are alike; for a `Classifier`."""

    def _merges(self) -> bool:
        """Whether the price of a sample follows its weight, so that samples that are alike can be merged."""
        return True

    def _factors(self: Any, sample_weight: Any = None) -> dict[str, Any]:
        """What the prices of samples are multiplied by."""
        return {"sample_weight": sample_weight, "class_weight": getattr(self, "class_weight", None)}

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the class says whether sparse matrices or missing values are taken.
        y : array-like of shape (n_samples,)
            Classes, two or more.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the price of each sample's slack, 0 or above; a sample of weight 0 plays no part.

        Returns
        -------
        self
            Fitted; an estimator whose fit fails stays as it was.

        Raises
        ------
        InvalidInput
            Arguments, or parameters of the constructor, that cannot be worked with; it is a ValueError.
        """
        with self._whole(), as_part(self), limit_time(time_limit(self), alone=True):
            sample = Sample.read(self, X, y, self._accepts(), **self._factors(sample_weight))
            metadata = {} if sample_weight is None else {"metadata": {"sample_weight": sample_weight}}
            # sub-problems merge their own samples, and learn from the given ones what these are like
            merged = self._merges() and not self._several(sample)
            self._fit_as_task(sample.merged() if merged else sample, {"X": X, "y": y, **metadata})
        return self
