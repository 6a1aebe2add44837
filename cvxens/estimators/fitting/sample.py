"""What an estimator is fitted to: checked features, encoded classes, prices of the samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.estimators.fitting.nominal import codes, features_of, is_frame, words_in
from cvxens.trees import Feature
from cvxens.types import Array


@dataclass(frozen=True)
class Accepts:
    """What a method can take beyond dense finite numbers.

    Parameters
    ----------
    sparse : tuple of str
        Formats of sparse matrices; others become the first of them. None are taken if it is empty.
    missing, nominal : bool
        NaN as a missing value; data frames with nominal columns, of which X then holds the codes and the estimator, as
        `features_`, the categories.
    """

    sparse: tuple[str, ...] = ()
    missing: bool = False
    nominal: bool = False

    def new(self, estimator: Any, X: Any) -> Any:
        """Check new samples, whose features have to be those that the estimator was fitted to."""
        return self._numbers(self._checked(estimator, self._coded(estimator, X, reset=False), reset=False))

    def labelled(self, estimator: Any, X: Any, y: Any, *, reset: bool = True, **more: Any) -> tuple[Any, NDArray]:
        """Check X and y as scikit-learn's `validate_data` does; short types of numbers are kept.

        Raises
        ------
        InvalidInput
            Numbers that are too large, or values that are none though numpy could make some of them, such as dates.
        """
        X, y = self._checked(estimator, self._coded(estimator, X, reset=reset), y, reset=reset, **more)
        return self._numbers(X), y

    def _coded(self, estimator: Any, X: Any, *, reset: bool) -> Any:
        """Return X, with codes in place of the categories that the estimator has learnt of it, or learns now."""
        if not self.nominal:
            return X
        if reset:
            vars(estimator).pop("features_", None)
            features = features_of(X)
            if features is None:
                return X
            estimator.features_ = features
        elif not hasattr(estimator, "features_"):
            return X
        elif is_frame(X):
            validate_data(estimator, X, skip_check_array=True, reset=False)
        return codes(estimator.features_, X)

    def _checked(self, estimator: Any, *data: Any, **more: Any) -> Any:
        try:
            return validate_data(estimator, *data, accept_sparse=list(self.sparse) or False, **self._kinds, **more)
        except OverflowError as error:
            raise InvalidInput("X", f"found a number that is too large ({error})", "give float64 numbers") from None
        except ValueError:
            words = words_in(data[0])
            if not words:
                raise
            remedy = "code them by a OneHotEncoder in a ColumnTransformer, or take weak learners that are trees"
            raise InvalidInput("X", f"found no numbers in the columns {', '.join(words[:5])}", remedy) from None

    @property
    def _kinds(self) -> dict[str, Any]:
        return {"ensure_all_finite": "allow-nan" if self.missing else True, "dtype": "numeric"}

    def _numbers(self, X: Any) -> Any:
        """Return X if it is of numbers; of a table with columns of several types, make some."""
        if X.dtype.kind in "mM":
            raise InvalidInput("X", f"found values of type {X.dtype}", "give numbers, such as days since a date")
        return check_array(X, **{**self._kinds, "dtype": np.float64}, input_name="X") if X.dtype.kind == "O" else X


@dataclass(frozen=True)
class Sample:
    """A training sample without the samples of weight 0.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_kept, n_features)
        The features.
    labels : ndarray of int, shape (n_kept,)
        Indices into `classes`.
    classes : ndarray of shape (n_classes,)
        Sorted.
    weights : ndarray of shape (n_kept,)
        Above 0.
    places : ndarray of int, shape (n_samples,)
        Which kept sample each given one is part of.
    shares : ndarray of shape (n_samples,)
        Its share in the weight of that: 0 where its weight is 0.
    features : tuple of Feature or None
        Of a data frame with nominal columns what they are; X then holds their codes.
    """

    X: Any
    labels: NDArray[np.intp]
    classes: NDArray
    weights: Array
    places: NDArray[np.intp]
    shares: Array
    features: tuple[Feature, ...] | None = None

    @classmethod
    def read(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        accepts: Accepts,
        *,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset: bool = True,
    ) -> Sample:
        """Check what was handed to `fit`, as scikit-learn does, and encode it.

        With ``reset=False`` the features have to be those that the estimator was fitted to.

        Raises
        ------
        InvalidInput
            Weights of samples or classes that are negative or no numbers; fewer than two classes of positive weight.
        """
        X, y = accepts.labelled(estimator, X, y, reset=reset)
        check_classes(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if weights.min() < 0:
            raise InvalidInput("sample_weight", f"found {weights.min():g}", "give weights of 0 or above")
        weights = weights * _class_factors(class_weight, y)
        kept = weights > 0
        classes, labels = np.unique(y[kept], return_inverse=True)
        if len(classes) < 2:
            raise InvalidInput("y", f"found {len(classes)} class of positive weight", "give samples of two or more")
        places = np.where(kept, np.cumsum(kept) - 1, 0)
        X = X if kept.all() else X[np.flatnonzero(kept)]
        features = getattr(estimator, "features_", None)
        return cls(X, labels, classes, weights[kept], places, kept.astype(np.float64), features)

    @property
    def signs(self) -> Array:
        """-1 for the first class, +1 for every other, shape (n_kept,)."""
        return np.where(self.labels > 0, 1.0, -1.0)

    def merged(self) -> Sample:
        """Make one sample of those that are alike, features and class, with the sum of their weights.

        A convex loss ``sum_i C_i phi(z_i)`` stays what it is, and so does the optimum; the order of the given samples
        plays no part any more. Their multipliers are C_i / sum C of the merged one's: see `spread`.
        """
        keys = np.unique(_keys(self.X), return_inverse=True)[1] * len(self.classes) + self.labels
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        weights = np.bincount(group, self.weights).astype(np.float64)
        places = group[self.places]
        shares = self.shares * self.weights[self.places] / weights[places]
        return replace(self, X=self.X[first], labels=self.labels[first], weights=weights, places=places, shares=shares)

    def spread(self, u: Array) -> Array:
        """Hand multipliers of the kept samples, (n_kept,) or (n_kept, n_outputs), back to the given ones."""
        return (u[self.places].T * self.shares).T


def check_classes(y: NDArray) -> None:
    """Raise unless `y` holds classes: numbers or words, which have an order."""
    try:
        check_classification_targets(y)
    except TypeError as error:
        raise InvalidInput("y", f"found labels without an order ({error})", "give all numbers or all words") from None


def _class_factors(class_weight: Any, y: NDArray) -> Array:
    """The factor that `class_weight` has for each sample, (n_samples,)."""
    by_class = isinstance(class_weight, Mapping)
    named = class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced")
    if not by_class and not named:
        raise InvalidInput(
            "class_weight", f"found {class_weight!r:.100}", "give None, 'balanced', or a dict from classes to numbers"
        )
    for factor in class_weight.values() if by_class else ():
        if validation.number("class_weight", factor) < 0:
            raise InvalidInput("class_weight", f"found {factor!r}", "give numbers of 0 or above")
    try:
        return compute_sample_weight(class_weight, y)
    except ValueError as error:
        raise InvalidInput("class_weight", f"found {class_weight!r:.100}: {error}", "name the classes of y") from None


def _keys(X: Any) -> NDArray:
    """An array (n_samples,) that is equal exactly where rows of X are, -0 and 0 being different.

    Those of dense X are in the order of the rows, which scaling does not change.
    """
    if issparse(X):
        rows = csr_array(X)
        rows.sort_indices()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        keys = np.empty(rows.shape[0], object)
        keys[:] = [rows.indices[a:b].tobytes() + b"|" + rows.data[a:b].tobytes() for a, b in ends]
        return keys
    X = _ranked(np.ascontiguousarray(X))
    return X.view(np.dtype((np.void, X.dtype.itemsize * X.shape[1])))[:, 0]


def _ranked(X: NDArray) -> NDArray:
    """Numbers as bytes in their order, big-endian and without a sign."""
    X = X.astype(np.float64) if X.dtype == np.longdouble else X
    size = X.dtype.itemsize
    if X.dtype.kind not in "fi":
        return X.astype(f">u{size}")
    bits = X.view(f"i{size}")
    last = np.iinfo(bits.dtype).max
    bits = np.where(bits < 0, bits ^ last, bits) if X.dtype.kind == "f" else bits
    return (bits ^ np.iinfo(bits.dtype).min).view(f"u{size}").astype(f">u{size}")
