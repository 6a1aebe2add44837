"""The two samples that a kernel is evaluated between."""

from __future__ import annotations

from typing import Any

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
    X = validation.finite_array("X", X, ndim=2)
    if Z is None:
        return X, X
    Z = validation.finite_array("Z", Z, ndim=2)
    if X.shape[1] != Z.shape[1]:
        raise InvalidInput(
            "Z", f"found {Z.shape[1]} features for {X.shape[1]} of X", "give samples of the same features"
        )
    return X, Z
