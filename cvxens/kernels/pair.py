"""The two samples that a kernel is evaluated between."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.types import Array


def pair(X: Any, Z: Any = None) -> tuple[Array, Array]:
    """Return `X` and `Z` (by default `X`) as finite arrays with the same number of features.

    Examples
    --------
    >>> X, Z = pair([[0.0, 1.0]])
    >>> X is Z, X.shape
    (True, (1, 2))
    """
    checked = validation.finite_array("X", X, ndim=2)
    if Z is None or Z is X:
        return checked, checked
    Z = validation.finite_array("Z", Z, ndim=2)
    same_features("Z", Z, checked.shape[1], "X")
    return checked, Z


def same_features(argument: str, X: Array, n_features: int, whose: str) -> None:
    """Raise unless `X` has so many features."""
    if X.shape[1] != n_features:
        found = f"found {X.shape[1]} features for {n_features} of {whose}"
        raise InvalidInput(argument, found, "give samples of the same features")


def union(X: Array, Z: Array) -> Array:
    """All samples of both, `X` itself if they are one."""
    return X if Z is X else np.concatenate([X, Z])
