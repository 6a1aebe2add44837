"""Neutral sets of hypotheses joined by AND and OR, and what LL08 builds of stumps with them: regions and trees.

Values -1 and +1 are false and true. Exclusive ors are products of kernels, `kernel.Product`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp, factorial
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.hypotheses import AND, OR, XOR, Connective, Formula, Hypothesis
from cvxens.kernels.kernel import Compound, Kernel, Scaled, check_ranges_known, close_ranges, normalise_masses
from cvxens.kernels.radial import SimplifiedLaplacian
from cvxens.kernels.stumps import Ranged, Stump
from cvxens.kernels.tiles import Tile
from cvxens.validation import RandomState

LEVELS = 40
"""Beyond so many levels the share of trees, (gamma Delta)^L / L! with gamma Delta < 1, is below rounding."""


@final
@dataclass(frozen=True, repr=False)
class Logical(Compound):
    """K(x, x') = (K_1(x, x') + Delta_1) (K_2(x, x') + Delta_2) of neutral sets joined by AND or OR."""

    connective: Connective
    first: Kernel
    second: Kernel
    equation = "(K1(x, x') + Delta1) (K2(x, x') + Delta2)"
    source = "LL08 Theorem 16"

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Kernel) or not part.neutral:
                raise InvalidInput(
                    "kernel",
                    f"found {part!r}, whose hypotheses are not -1/+1-valued with an average of 0 at every x",
                    "join neutral sets only: stumps, perceptrons, and what and_, or_, + and * make of them",
                )

    @property
    def parts(self) -> tuple[Kernel, ...]:  # type: ignore[override]
        return self.first, self.second

    @property
    def homogeneity(self) -> float | None:
        return (self.first * self.second).homogeneity

    def combine(self, values: Sequence[Any]) -> Any:
        # of the masses, the mass
        return 4 * values[0] * values[1]

    def replace_parts(self, replacement: Callable[[Kernel], Kernel]) -> Logical:
        return Logical(self.connective, replacement(self.first), replacement(self.second))

    def tile(self, X: Any, Z: Any) -> Tile:
        check_ranges_known(self, X, Z)
        first, second = self.first.tile(X, Z), self.second.tile(X, Z)
        delta_1, delta_2 = self.first.total_mass(X, Z), self.second.total_mass(X, Z)
        return lambda rows, columns: (first(rows, columns) + delta_1) * (second(rows, columns) + delta_2)

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        random = validation.generator(random_state)
        pairs = (self.first * self.second).sample(n, random)
        signs = random.choice([1, -1], size=n).tolist()
        return tuple(Formula(self.connective, pair.parts, sign) for pair, sign in zip(pairs, signs, strict=True))

    def __repr__(self) -> str:
        return f"{self.connective.word}_({self.first!r}, {self.second!r})"


def and_(first: Kernel, second: Kernel) -> Logical:
    """Join two neutral sets of hypotheses by AND, as a kernel.

    LL08 Theorem 16: the set of q min(h_1, h_2) with q = -1 or +1 and r = sqrt(2) r_1 r_2 has the kernel
    (K_1 + Delta_1)(K_2 + Delta_2). It is neutral itself, with total mass 4 Delta_1 Delta_2.

    Parameters
    ----------
    first, second : Kernel
        Neutral.

    Raises
    ------
    InvalidInput
        If one of them is not neutral.

    Examples
    --------
    >>> left, right = Stump(low=(0.0,), high=(2.0,)), Stump(low=(-1.0,), high=(3.0,))
    >>> both = and_(left, right)
    >>> both([[0.0]], [[0.0], [1.0]]), both.total_mass()
    (array([[8., 3.]]), 8.0)
    >>> print(both.sample(1, random_state=0)[0])
    not ((x[0] >= 0.539573 -> +1) and (x[0] >= 2.25308 -> +1))
    """
    return Logical(AND, first, second)


def or_(first: Kernel, second: Kernel) -> Logical:
    """Join two neutral sets of hypotheses by OR, as a kernel; takes and refuses what `and_` does.

    LL08 Theorem 16: the set of q max(h_1, h_2) has the kernel of `and_`, and other hypotheses.

    Examples
    --------
    >>> either = or_(Stump(low=(0.0,), high=(2.0,)), Stump(low=(-1.0,), high=(3.0,)))
    >>> either([[0.0]], [[0.0], [1.0]])
    array([[8., 3.]])
    """
    return Logical(OR, first, second)


# functions have no source of their own, which `cvxens list` prints
and_.source = or_.source = Logical.source  # type: ignore[attr-defined]


class OfStumps(Ranged):
    """A function of the stump kernel within ranges, ``g(K_S, Delta_S)``; its mass is that of K_S = Delta_S."""

    neutral = True

    @property
    def stump(self) -> Stump:
        return Stump(self.low, self.high)

    @abstractmethod
    def combine(self, K: Any, delta: float) -> Any:
        """Compute g(K, Delta_S) for values of the stump kernel, a number or an array."""

    def stump_mass(self, X: Any = None, Z: Any = None) -> float:
        """Compute Delta_S, or raise an InvalidInput if there is no kernel with it."""
        return self.stump.total_mass(X, Z)

    def tile(self, X: Any, Z: Any) -> Tile:
        check_ranges_known(self, X, Z)
        stumps, delta = self.stump.tile(X, Z), self.stump_mass(X, Z)
        return lambda rows, columns: self.combine(stumps(rows, columns), delta)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        delta = self.stump_mass(X, Z)
        return float(self.combine(delta, delta))


@final
@documented
@dataclass(frozen=True)
class StumpRegion(OfStumps):
    """K_L = (K_{L-1} + Delta_{L-1}) (K_S + Delta_S), with K_1 = K_S and Delta_L = 4^(L-1) Delta_S^L.

    LL08 Theorem 16 applied level by level: the regions of level L are q min(h, s) with h of level L - 1, s a stump
    and q = -1 or +1. With k = K_S + Delta_S the closed form is
    ``K_L = k^L + sum_{j=2}^{L-1} Delta_j k^(L-j)`` for L > 1. Scaling the samples and ranges by c scales it by c^L.

    Parameters
    ----------
    level : int
        L, at least 1.

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

    def __post_init__(self) -> None:
        validation.whole("level", self.level)
        super().__post_init__()

    @property
    def homogeneity(self) -> float:
        return float(self.level)

    def combine(self, K: Any, delta: float) -> Any:
        k, mass = K + delta, delta
        for _ in range(self.level - 1):
            # K_L = (K_{L-1} + Delta_{L-1}) k, and Delta_L = 4 Delta_S Delta_{L-1}
            K, mass = (K + mass) * k, 4 * delta * mass
        return K

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        kernel: Kernel = self.stump
        for _ in range(self.level - 1):
            kernel = Logical(AND, kernel, self.stump)
        return kernel.sample(n, random_state)


@final
@documented
@dataclass(frozen=True)
class DecisionTree(OfStumps):
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

    def __post_init__(self) -> None:
        validation.positive("gamma", self.gamma)
        super().__post_init__()
        if self.is_data_independent:
            self.stump_mass()

    def combine(self, K: Any, delta: float) -> Any:
        return np.expm1(self.gamma * (K + delta))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        random, n = validation.generator(random_state), validation.whole("n", n)
        t = self.gamma * self.stump_mass()
        # the masses of (e^t - 1) + e^t sum_L gamma^L / L! K_S^L over e^t, as K_S^L has the mass Delta_S^L
        masses = np.array([1 - exp(-t), *(t**level / factorial(level) for level in range(1, LEVELS))])
        levels = random.choice(LEVELS, size=n, p=normalise_masses(masses)).tolist()
        stumps = iter(self.stump.sample(max(1, sum(levels)), random))
        signs = random.choice([1, -1], size=n).tolist()
        return tuple(Formula(XOR, tuple(islice(stumps, k)), sign) for k, sign in zip(levels, signs, strict=True))

    def range_free_equivalent(self, X: Any) -> Kernel:
        """Return ``exp(2 gamma Delta_S) (exp(-gamma |x - x'|_1) - 1)``, unless ranges are given, which are kept to."""
        if self.low is not None or self.high is not None:
            return close_ranges(self, X)
        return Scaled(exp(2 * self.gamma * self.with_ranges_of(X).stump_mass()), SimplifiedLaplacian(self.gamma))

    def stump_mass(self, X: Any = None, Z: Any = None) -> float:
        delta = super().stump_mass(X, Z)
        if self.gamma * delta >= 1:
            found = f"found {self.gamma!r} with a Delta_S of {delta:g}"
            raise InvalidInput("gamma", found, f"give a number below 1 / Delta_S = {1 / delta:g}, or use Laplacian")
        return delta
