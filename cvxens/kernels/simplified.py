"""The stump and the perceptron kernel without their constants."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from cvxens.kernels.distances import between, cityblock, euclidean
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair
from cvxens.kernels.tiles import Tile
from cvxens.types import Array


class NegativeDistance(Kernel):
    """Minus a distance: conditionally PSD, so it embodies no set of hypotheses itself."""

    psd = False
    degree = 1.0

    @abstractmethod
    def distance(self, X: Any, Z: Any) -> Tile:
        """Compute distances by tiles."""

    def tile(self, X: Any, Z: Any) -> Tile:
        """Minus the distance."""
        distance = self.distance(X, Z)
        return lambda rows, columns: -distance(rows, columns)

    def diag(self, X: Any) -> Array:
        """0 for every sample."""
        return np.zeros(len(pair(X)[0]))


@final
@dataclass(frozen=True)
class SimplifiedStump(NegativeDistance):
    """K(x, x') = -|x - x'|_1.

    LL08 section 4.2: conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the stump kernel.

    Examples
    --------
    >>> SimplifiedStump()([[0.0], [2.0]])
    array([[-0., -2.],
           [-2., -0.]])
    """

    equation = "-|x - x'|_1"
    source = "LL08 section 4.2"

    def distance(self, X: Any, Z: Any) -> Tile:
        """|x - x'|_1."""
        return between(cityblock, *pair(X, Z))


@final
@dataclass(frozen=True)
class SimplifiedPerceptron(NegativeDistance):
    """K(x, x') = -|x - x'|_2.

    LL08: conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the perceptron kernel.

    Examples
    --------
    >>> SimplifiedPerceptron()([[0.0, 0.0], [3.0, 4.0]])
    array([[-0., -5.],
           [-5., -0.]])
    """

    equation = "-|x - x'|_2"
    source = "LL08"

    def distance(self, X: Any, Z: Any) -> Tile:
        """|x - x'|_2."""
        return between(euclidean, *pair(X, Z))
