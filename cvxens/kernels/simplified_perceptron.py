"""The perceptron kernel without its constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from cvxens.kernels.distances import between, euclidean
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair
from cvxens.kernels.tiles import Tile
from cvxens.types import Array


@final
@dataclass(frozen=True)
class SimplifiedPerceptron(Kernel):
    """K(x, x') = -|x - x'|_2.

    LL08 section 5: conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the perceptron kernel. It
    embodies no set of hypotheses itself.

    Examples
    --------
    >>> SimplifiedPerceptron()([[0.0, 0.0], [3.0, 4.0]])
    array([[-0., -5.],
           [-5., -0.]])
    """

    equation = "-|x - x'|_2"
    source = "LL08 section 5"
    psd = False
    degree = 1.0

    def tile(self, X: Any, Z: Any) -> Tile:
        """Minus the Euclidean distance."""
        distance = between(euclidean, *pair(X, Z))
        return lambda rows, columns: -distance(rows, columns)

    def diag(self, X: Any) -> Array:
        """0 for every sample."""
        return np.zeros(len(X))
