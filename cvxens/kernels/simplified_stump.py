"""The stump kernel without its constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy.spatial.distance import cdist

from cvxens.kernels.pair import pair
from cvxens.types import Array


@dataclass(frozen=True)
class SimplifiedStump:
    """K(x, x') = -|x - x'|_1.

    LL08 section 4.2: conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the stump kernel.

    Examples
    --------
    >>> SimplifiedStump()([[0.0], [2.0]])
    array([[-0., -2.],
           [-2., -0.]])
    """

    source = "LL08 section 4.2"

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Evaluate between the rows of `X` and `Z` (by default `X`); returns (len(X), len(Z))."""
        X, Z = pair(X, Z)
        return -cdist(X, Z, "cityblock")
