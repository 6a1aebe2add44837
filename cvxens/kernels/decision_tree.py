"""The decision-tree kernel: regions of all levels at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import exp, expm1, factorial
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import XOR, Formula, Hypothesis
from cvxens.kernels.kernel import check_fixed, shares
from cvxens.kernels.ranges import Ranged
from cvxens.kernels.stump import Stump
from cvxens.kernels.tiles import Tile
from cvxens.validation import RandomState

LEVELS = 40
"""Beyond so many levels the share of trees, gamma^L Delta^L / L!, is below rounding."""


@final
@dataclass(frozen=True)
class DecisionTree(Ranged):
    """K(x, x') = exp(gamma (K_S(x, x') + Delta_S)) - 1, for 0 < gamma < 1 / Delta_S.

    LL08 Theorem 18: the union of sets with the kernels ``gamma^L / L! (K_S + Delta_S)^L``, L = 1, 2, ..., each of
    decision trees with L tests; it is the Laplacian kernel, ``exp(2 gamma Delta_S) exp(-gamma |x - x'|_1) - 1``.

    Two decompositions, with t = gamma Delta_S. Of stump regions (`StumpRegion`) and constants:
    ``w_1 Delta_S + sum_L w_L K_L`` with ``w_L = gamma^L sum_{n >= 0} (1 - n) (2 t)^n / (L + n)!``, where all weights
    are positive for t up to 0.796. Of the exclusive ors of L stumps, which are decision trees too:
    ``(e^t - 1) + e^t sum_L gamma^L / L! K_S^L``, for any t; the sampler draws these, with constants of both signs.

    Parameters
    ----------
    gamma : float
        Above 0 and below 1 / Delta_S.
    low, high : array-like of shape (n_features,), optional
        The range of each feature; without them the kernel is evaluated within one sample only, by its range.

    Examples
    --------
    >>> DecisionTree(0.5, low=(0.0,), high=(2.0,))([[0.0], [1.0], [2.0]]).round(4)
    array([[1.7183, 0.6487, 0.    ],
           [0.6487, 1.7183, 0.6487],
           [0.    , 0.6487, 1.7183]])
    """

    gamma: float
    low: Any = None
    high: Any = None
    equation = "exp(gamma (K_S + Delta_S)) - 1"
    source = "LL08 Theorem 18"
    neutral = True

    def __post_init__(self) -> None:
        validation.positive("gamma", self.gamma)
        super().__post_init__()
        if self.fixed:
            self._delta()

    @property
    def stump(self) -> Stump:
        """The kernel of the stumps that trees are made of."""
        return Stump(self.low, self.high)

    def tile(self, X: Any, Z: Any) -> Tile:
        """The exponential of a tile."""
        check_fixed(self, X, Z)
        stumps, delta = self.stump.tile(X, Z), self._delta(X, Z)
        return lambda rows, columns: np.expm1(self.gamma * (stumps(rows, columns) + delta))

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """``exp(2 gamma Delta_S) - 1``."""
        return expm1(2 * self.gamma * self._delta(X, Z))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw exclusive ors of stumps, and constants, as trees."""
        random, n = validation.generator(random_state), validation.whole("n", n)
        t = self.gamma * self._delta()
        masses = np.array([1 - exp(-t), *(t**level / factorial(level) for level in range(1, LEVELS))])
        levels = random.choice(LEVELS, size=n, p=shares(masses)).tolist()
        stumps = iter(self.stump.sample(max(1, sum(levels)), random))
        signs = random.choice([1, -1], size=n).tolist()
        return tuple(Formula(XOR, tuple(islice(stumps, k)), sign) for k, sign in zip(levels, signs, strict=True))

    def _delta(self, X: Any = None, Z: Any = None) -> float:
        delta = self.stump.total_mass(X, Z)
        if self.gamma * delta >= 1:
            found = f"found {self.gamma!r} with a Delta_S of {delta:g}"
            raise InvalidInput("gamma", found, f"give a number below 1 / Delta_S = {1 / delta:g}, or use Laplacian")
        return delta
