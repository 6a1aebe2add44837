"""The kernel of stump regions: stumps joined by AND, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from cvxens import validation
from cvxens.hypotheses import AND, Hypothesis
from cvxens.kernels.kernel import Kernel, check_fixed
from cvxens.kernels.logic import Logical
from cvxens.kernels.ranges import Ranged
from cvxens.kernels.stump import Stump
from cvxens.kernels.tiles import Tile
from cvxens.types import Array
from cvxens.validation import RandomState


@final
@dataclass(frozen=True)
class StumpRegion(Ranged):
    """K_L = (K_{L-1} + Delta_{L-1}) (K_S + Delta_S), with K_1 = K_S and Delta_L = 4^(L-1) Delta_S^L.

    LL08 Theorem 16 applied level by level: the regions of level L are q min(h, s) with h of level L - 1, s a stump
    and q = -1 or +1. With k = K_S + Delta_S the closed form is
    ``K_L = k^L + sum_{j=2}^{L-1} Delta_j k^(L-j)`` for L > 1. Scaling the samples and ranges by c scales it by c^L.

    Parameters
    ----------
    level : int
        L, at least 1.
    low, high : array-like of shape (n_features,), optional
        The range of each feature; without them the kernel is evaluated within one sample only, by its range.

    Examples
    --------
    >>> StumpRegion(2, low=(0.0,), high=(2.0,))([[0.0], [1.0], [2.0]])
    array([[4., 1., 0.],
           [1., 4., 1.],
           [0., 1., 4.]])
    """

    level: int
    low: Any = None
    high: Any = None
    equation = "(K_{L-1} + Delta_{L-1}) (K_S + Delta_S)"
    source = "LL08 Theorem 16"
    neutral = True

    def __post_init__(self) -> None:
        validation.whole("level", self.level)
        super().__post_init__()

    @property
    def degree(self) -> float:
        """The level."""
        return float(self.level)

    @property
    def stump(self) -> Stump:
        """The kernel of the stumps that regions are made of."""
        return Stump(self.low, self.high)

    def tile(self, X: Any, Z: Any) -> Tile:
        """The recursion."""
        check_fixed(self, X, Z)
        stumps, delta = self.stump.tile(X, Z), self.stump.total_mass(X, Z)

        def regions(rows: slice, columns: slice) -> Array:
            K, mass = stumps(rows, columns), delta
            k = K + delta
            for _ in range(self.level - 1):
                K, mass = (K + mass) * k, 4 * delta * mass
            return K

        return regions

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """4^(L-1) Delta_S^L."""
        return (4 * self.stump.total_mass(X, Z)) ** self.level / 4

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw regions: stumps joined one after another, each time with a sign."""
        kernel: Kernel = self.stump
        for _ in range(self.level - 1):
            kernel = Logical(AND, kernel, self.stump)
        return kernel.sample(n, random_state)
