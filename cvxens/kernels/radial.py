"""Exponentials of distances: the Laplacian and the Gaussian kernel, and both less the 1 that y'u = 0 cancels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import e, pi, sqrt
from typing import ClassVar, NamedTuple, Self, final

import numpy as np

from cvxens import validation
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, Wave
from cvxens.kernels.kernel import Kernel, Simplified, Statement
from cvxens.kernels.tiles import DIFFERENCE, SQUARE, Profile, SingleKernel, Tile, check_pair, measure
from cvxens.types import Array, Data, Given
from cvxens.validation import RandomState


class Stable(NamedTuple):
    """The law with the characteristic function exp(-|t|^power): how it is drawn, and the term |x_d - x'_d|^power."""

    kernel: str
    power: int
    term: int
    draw: Callable[[np.random.Generator, tuple[int, int]], Array]


CAUCHY = Stable("laplacian", 1, DIFFERENCE, lambda random, shape: random.standard_cauchy(shape))
# exp(-t^2) is the characteristic function of the normal law of variance 2
NORMAL = Stable("gaussian", 2, SQUARE, lambda random, shape: sqrt(2) * random.standard_normal(shape))


@dataclass(frozen=True)
class OfDistance(Kernel):
    """A function of gamma sum_d |x_d - x'_d|^power."""

    law: ClassVar[Stable]
    _exp: ClassVar[np.ufunc]

    gamma: float

    def __post_init__(self) -> None:
        validation.positive("gamma", self.gamma)

    def state(self, X: Data) -> Statement:
        return self.law.kernel, self.gamma, ()

    def tile(self, X: Data, Z: Data) -> Tile:
        return measure(self.law.term, *check_pair(X, Z), None, partial(np.multiply, -self.gamma), self._exp)


@dataclass(frozen=True)
class ExponentialOfDistance(OfDistance):
    """exp(-gamma sum_d |x_d - x'_d|^power), the mean over waves sqrt(2) cos(theta'x - kappa), kappa uniform.

    By Bochner's theorem the theta_d follow the law whose characteristic function it is: gamma^(1/power) times the
    standard one.

    Parameters
    ----------
    gamma : float
        Above 0.
    n_features : int, optional
        Which only sampling needs.
    """

    simplified: ClassVar[type[ExponentialLessOne]]

    gamma: float
    n_features: int | None = None
    _exp = np.exp

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        # r^2 is a density
        return 1.0

    def with_ranges_of(self, X: Data) -> Self:
        return replace(self, n_features=validation.finite_array("X", X, ndim=2).shape[1])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        if self.n_features is None:
            remedy = "give the number of features, or take kernel.with_ranges_of(X)"
            raise InvalidInput("n_features", "found none", remedy)
        random = validation.generator(random_state)
        shape = validation.whole("n", n), validation.whole("n_features", self.n_features)
        thetas = (self.gamma ** (1 / self.law.power) * self.law.draw(random, shape)).tolist()
        drawn = zip(thetas, random.uniform(0, 2 * pi, n).tolist(), strict=True)
        # the square of a cosine is 1/2 on average over its phase, and K(x, x) is 1: hence the amplitude
        return tuple(Wave(tuple(theta), kappa, sqrt(2)) for theta, kappa in drawn)

    def range_free_equivalent(self, X: Data) -> Kernel:
        return self.simplified(self.gamma)


@dataclass(frozen=True)
class ExponentialLessOne(OfDistance, Simplified):
    """exp(-gamma |x - x'|) - 1, to full precision however small gamma times the distance is.

    Parameters
    ----------
    gamma : float
        Above 0.
    """

    gamma: float
    _exp = np.expm1

    def round_to_single(self, X: Array) -> SingleKernel | None:
        return SingleKernel.of(X, self.law.term, self._describe)

    def _describe(self, radius: float) -> Profile:
        power = self.law.power
        rate = self.gamma * radius**power
        # phi(d) = exp(-gamma d^p) - 1 for d up to twice the radius, where gamma d^p is 2^p rate: |phi| is at most that,
        # and |d phi'| = p gamma d^p exp(-gamma d^p), as t exp(-t) is at most t and 1/e. Of p = 2 the slope
        # 2 gamma d exp(-gamma d^2) is at most that of d = 1 / sqrt(2 gamma), or of twice the radius without the exp
        most = 2**power * rate
        slope = self.gamma if power == 1 else min(sqrt(2 * self.gamma / e), 4 * self.gamma * radius)
        reach, largest = power * min(most, 1 / e), min(most, 1.0)
        return Profile((partial(np.multiply, np.float32(-rate)), np.expm1), rate, slope, reach, largest)


@final
@documented
@dataclass(frozen=True)
class SimplifiedLaplacian(ExponentialLessOne):
    """K(x, x') = exp(-gamma |x - x'|_1) - 1.

    Conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the Laplacian kernel. That has lost the
    distances of samples beside its 1 where gamma times them is tiny; this has not.

    Examples
    --------
    >>> SimplifiedLaplacian(1e-20)([[0.0], [2.0]])
    array([[-0.e+00, -2.e-20],
           [-2.e-20, -0.e+00]])
    """

    equation = "exp(-gamma |x - x'|_1) - 1"
    source = "LL08 section 6.3"
    law = CAUCHY


@final
@documented
@dataclass(frozen=True)
class SimplifiedGaussian(ExponentialLessOne):
    """K(x, x') = exp(-gamma |x - x'|_2^2) - 1: less the constant that y'u = 0 cancels, as `SimplifiedLaplacian`.

    Examples
    --------
    >>> SimplifiedGaussian(1e-20)([[0.0], [2.0]])
    array([[-0.e+00, -4.e-20],
           [-4.e-20, -0.e+00]])
    """

    equation = "exp(-gamma |x - x'|_2^2) - 1"
    source = "LL08 section 6.4"
    law = NORMAL


@final
@documented
@dataclass(frozen=True)
class Laplacian(ExponentialOfDistance):
    """K(x, x') = exp(-gamma |x - x'|_1).

    LL08 section 6.3 and footnote 5: within ranges it is ``exp(-2 gamma Delta_S) (K + 1)``, K the kernel of decision
    trees, for any gamma that of exclusive ors of stumps, which `DecisionTree` draws. It is also the mean over waves
    sqrt(2) cos(theta'x - kappa), which need no ranges and which this sampler draws: the theta_d from Cauchy
    distributions of scale gamma, kappa uniformly.

    Examples
    --------
    >>> Laplacian(0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    equation = "exp(-gamma |x - x'|_1)"
    source = "LL08 section 6.3, footnote 5"
    law = CAUCHY
    simplified = SimplifiedLaplacian


@final
@documented
@dataclass(frozen=True)
class Gaussian(ExponentialOfDistance):
    """K(x, x') = exp(-gamma |x - x'|_2^2).

    What LL08 section 7.2 compares with, and the mean over waves sqrt(2) cos(theta'x - kappa), which the sampler draws:
    the theta_d from normal distributions of variance 2 gamma, kappa uniformly.

    Examples
    --------
    >>> Gaussian(0.25)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    equation = "exp(-gamma |x - x'|_2^2)"
    source = "LL08 sections 6.4 and 7.2"
    law = NORMAL
    simplified = SimplifiedGaussian
