"""The stump kernel without its constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from cvxens.kernels.distances import between, cityblock
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair
from cvxens.kernels.tiles import Tile
from cvxens.types import Array


@final
@dataclass(frozen=True)
class SimplifiedStump(Kernel):
    """K(x, x') = -|x - x'|_1.

    LL08 section 4.2: conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the stump kernel. It
    embodies no set of hypotheses itself.

    Examples
    --------
    >>> SimplifiedStump()([[0.0], [2.0]])
    array([[-0., -2.],
           [-2., -0.]])
    """

    equation = "-|x - x'|_1"
    source = "LL08 section 4.2"
    psd = False
    degree = 1.0

    def tile(self, X: Any, Z: Any) -> Tile:
        """Minus the city-block distance."""
        distance = between(cityblock, *pair(X, Z))
        return lambda rows, columns: -distance(rows, columns)

    def diag(self, X: Any) -> Array:
        """0 for every sample."""
        return np.zeros(len(X))
