"""Neutral sets of hypotheses joined by AND and OR, and what LL08 builds of stumps with them: regions and trees.

Values -1 and +1 are false and true. Exclusive ors are products of kernels, `kernel.Product`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from cvxens import validation
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.hypotheses import AND, OR, XOR, Connective, Constant, Formula, Hypothesis
from cvxens.kernels.kernel import OPEN, Compound, Kernel, Product, check_ranges_known, close_ranges, normalise_masses
from cvxens.kernels.radial import SimplifiedLaplacian
from cvxens.kernels.stumps import Ranged, Stump
from cvxens.kernels.tiles import Tile, check_pair
from cvxens.types import Data, Given, Value
from cvxens.validation import RandomState


@final
@dataclass(frozen=True, repr=False)
class Logical(Compound):
    """K(x, x') = (K_1(x, x') + Delta_1) (K_2(x, x') + Delta_2) of neutral sets joined by AND or OR."""

    connective: Connective
    parts: tuple[Kernel, Kernel]
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
    def homogeneity(self) -> float | None:
        return Product(self.parts).homogeneity

    def combine(self, values: Sequence[Value]) -> Value:
        # of the masses, the mass
        return 4 * values[0] * values[1]

    def tile(self, X: Data, Z: Data) -> Tile:
        check_ranges_known(self, X, Z)
        first, second = (part.tile(X, Z) for part in self.parts)
        delta_1, delta_2 = (part.total_mass(X, Z) for part in self.parts)
        return lambda rows, columns: (first(rows, columns) + delta_1) * (second(rows, columns) + delta_2)

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        random = validation.generator(random_state)
        pairs, signs = Product(self.parts).sample(n, random), random.choice([1, -1], size=n).tolist()
        return tuple(Formula(self.connective, pair.parts, sign) for pair, sign in zip(pairs, signs, strict=True))

    def __repr__(self) -> str:
        return f"{self.connective.word}_{self.parts!r}"


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
    return Logical(AND, (first, second))


def or_(first: Kernel, second: Kernel) -> Logical:
    """Join two neutral sets of hypotheses by OR, as a kernel; takes and refuses what `and_` does.

    LL08 Theorem 16: the set of q max(h_1, h_2) has the kernel of `and_`, and other hypotheses.

    Examples
    --------
    >>> either = or_(Stump(low=(0.0,), high=(2.0,)), Stump(low=(-1.0,), high=(3.0,)))
    >>> either([[0.0]], [[0.0], [1.0]])
    array([[8., 3.]])
    """
    return Logical(OR, (first, second))


# functions have no source of their own, which `cvxens list` prints
and_.source = or_.source = Logical.source  # type: ignore[attr-defined]


@final
@dataclass(frozen=True)
class Constants(Kernel):
    """K(x, x') = mass: the constants -1 and +1, each with r^2 = mass / 2."""

    mass: float
    equation = "mass"
    source = "LL08 after Definition 17"
    neutral = True

    def tile(self, X: Data, Z: Data) -> Tile:
        shape = tuple(map(len, check_pair(X, Z)))
        return lambda rows, columns: np.broadcast_to(self.mass, shape)[rows, columns]

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        return self.mass

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        signs = validation.generator(random_state).choice([1, -1], size=validation.whole("n", n))
        return tuple(map(Constant, signs.tolist()))


class OfStumps(Ranged):
    """A function of the stump kernel within ranges, ``g(K_S, Delta_S)``; its mass is that of K_S = Delta_S."""

    neutral = True
    margin = OPEN

    @property
    def stump(self) -> Stump:
        return Stump(self.low, self.high)

    @abstractmethod
    def combine(self, K: Value, delta: float) -> Value:
        """Compute g(K, Delta_S) for values of the stump kernel, a number or an array."""

    def stump_mass(self, X: Given = None, Z: Given = None) -> float:
        """Compute Delta_S, or raise an InvalidInput if there is no kernel with it."""
        return self.stump.total_mass(X, Z)

    def tile(self, X: Data, Z: Data) -> Tile:
        check_ranges_known(self, X, Z)
        stumps, delta = self.stump.tile(X, Z), self.stump_mass(X, Z)
        return lambda rows, columns: self.combine(stumps(rows, columns), delta)

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        delta = self.stump_mass(X, Z)
        return float(self.combine(delta, delta))


@final
@documented
@dataclass(frozen=True)
class StumpRegion(OfStumps):
    """K_{L+1} = (K_L + Delta_L) (K_S + Delta_S): the regions that L stumps bound, joined by AND and OR.

    LL08 Definition 17 begins with stumps and constants, K_1 = K_S + Delta_S of mass Delta_1 = 2 Delta_S, and applies
    Theorem 16 level by level: the regions of level L + 1 are q min(h, s) with h of level L, s a stump and q = -1 or +1.
    The masses of Theorem 16 are Delta_{L+1} = 4 Delta_L Delta_S. The print has 2 Delta_L Delta_S, an error: its
    Delta_2 is 4 Delta_S^2, while K_2(x, x) is 8 Delta_S^2. Levels 1 and 2 are the same either way; from level 3 on the
    printed kernel is another mixture, of ANDs and exclusive ors, which the reproduction of the paper has. Regions of
    stumps alone, without constants, are ``and_(and_(stump, stump), stump)`` and so on.

    With k = K_S + Delta_S the closed form is ``k^L + sum_{l=1}^{L-1} Delta_l k^(L-l)``. Scaling the samples and ranges
    by c scales the kernel by c^L.

    Parameters
    ----------
    level : int
        L, at least 1.

    Examples
    --------
    >>> StumpRegion(3, (0.0,), (2.0,))([[0.0]], [[0.0], [0.5], [1.0], [2.0]])
    array([[32.   , 19.875, 11.   ,  0.   ]])
    """

    level: int
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    equation = "(K_{L-1} + Delta_{L-1}) (K_S + Delta_S)"
    source = "LL08 Definition 17, Theorem 16"

    def __post_init__(self) -> None:
        validation.whole("level", self.level)
        super().__post_init__()

    @property
    def homogeneity(self) -> float:
        return float(self.level)

    def combine(self, K: Value, delta: float) -> Value:
        # K_1 and Delta_1, with the constants -1 and +1 of mass Delta_S
        k = value = K + delta
        mass = 2 * delta
        for _ in range(self.level - 1):
            # K_{L+1} = (K_L + Delta_L) k, and Delta_{L+1} = 4 Delta_L Delta_S
            value, mass = (value + mass) * k, 4 * delta * mass
        return value

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        stump = self.stump
        kernel: Kernel = stump + Constants(stump.total_mass())
        for _ in range(self.level - 1):
            kernel = and_(kernel, stump)
        return kernel.sample(n, random_state)


@final
@documented
@dataclass(frozen=True)
class DecisionTree(OfStumps):
    """K(x, x') = exp(gamma (K_S(x, x') + Delta_S)) - 1: decision trees of all sizes.

    It is the Laplacian kernel, ``exp(2 gamma Delta_S) exp(-gamma |x - x'|_1) - 1``, and embodies trees in several ways.

    - LL08 Theorem 18, for gamma Delta_S < 1: ``sum_L tau_L K_L`` over the levels of `StumpRegion` as printed, with
      ``tau_L = gamma^L / L! - 2 Delta_S gamma^(L+1) / (L+1)!``. With the right masses the weights are ``gamma^L / L! -
      sum_{j >= 1} (2 Delta_S)^j gamma^(L+j) / (L+j)!``, which are positive for gamma Delta_S up to 0.628 only.
    - Footnote 5, for any gamma: exclusive ors of L stumps, which are decision trees too, and constants of both signs,
      ``(e^t - 1) + e^t sum_L gamma^L / L! K_S^L`` with t = gamma Delta_S. The sampler draws these.

    Parameters
    ----------
    gamma : float
        Above 0, with gamma Delta_S at most 150, as values reach exp(2 gamma Delta_S).

    Examples
    --------
    >>> DecisionTree(0.5, low=(0.0,), high=(2.0,))([[0.0], [1.0], [2.0]]).round(4)
    array([[1.7183, 0.6487, 0.    ],
           [0.6487, 1.7183, 0.6487],
           [0.    , 0.6487, 1.7183]])
    """

    gamma: float
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    equation = "exp(gamma (K_S + Delta_S)) - 1"
    source = "LL08 Theorem 18, footnote 5"

    def __post_init__(self) -> None:
        validation.positive("gamma", self.gamma)
        super().__post_init__()
        if self.is_data_independent:
            self.stump_mass()

    def combine(self, K: Value, delta: float) -> Value:
        return np.expm1(self.gamma * (K + delta))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        random, n = validation.generator(random_state), validation.whole("n", n)
        t = self.gamma * self.stump_mass()
        # the masses over e^2t: of constants e^-t (1 - e^-t), and of L stumps e^-t t^L / L!, Poisson's law, whose tail
        # beyond 12 standard deviations and 40 is below rounding
        levels = np.arange(int(t + 12 * sqrt(t)) + 40)
        masses = np.exp(xlogy(levels, t) - gammaln(levels + 1) - t)
        masses[0] = exp(-t) * -np.expm1(-t)
        sizes = random.choice(levels, size=n, p=normalise_masses(masses)).tolist()
        stumps = iter(self.stump.sample(max(1, sum(sizes)), random))
        signs = random.choice([1, -1], size=n).tolist()
        return tuple(Formula(XOR, tuple(islice(stumps, k)), sign) for k, sign in zip(sizes, signs, strict=True))

    def range_free_equivalent(self, X: Data) -> Kernel:
        """Return ``exp(2 gamma Delta_S) (exp(-gamma |x - x'|_1) - 1)``, unless ranges are given, which are kept to."""
        if self.low is not None or self.high is not None:
            return close_ranges(self, X)
        return exp(2 * self.gamma * self.stump_mass(X)) * SimplifiedLaplacian(self.gamma)

    def stump_mass(self, X: Given = None, Z: Given = None) -> float:
        delta = super().stump_mass(X, Z)
        # the kernel is up to exp(2 gamma Delta_S), whose square has to be a number
        if self.gamma * delta > 150:
            found = f"found {self.gamma!r} with a Delta_S of {delta:g}"
            raise InvalidInput("gamma", found, f"give at most 150 / Delta_S = {150 / delta:g}, or use Laplacian")
        return delta
