"""The Gaussian and the Laplacian kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import pi, sqrt
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, Wave
from cvxens.kernels.distances import Metric, between, cityblock, squared
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair
from cvxens.kernels.tiles import Tile
from cvxens.types import Array
from cvxens.validation import RandomState


class Stable(NamedTuple):
    """The law with the characteristic function exp(-|t|^power): how it is drawn, and the metric sum_d |t_d|^power."""

    power: int
    metric: Metric
    draw: Callable[[np.random.Generator, tuple[int, int]], Array]


CAUCHY = Stable(1, cityblock, lambda random, shape: random.standard_cauchy(shape))
NORMAL = Stable(2, squared, lambda random, shape: sqrt(2) * random.standard_normal(shape))


@dataclass(frozen=True)
class Exponential(Kernel):
    """exp(-gamma metric(x, x')), the mean over waves sqrt(2) cos(a'x + b), b uniform.

    By Bochner's theorem the a_d follow the law whose characteristic function it is: gamma^(1/power) times the standard
    one.
    """

    law: ClassVar[Stable]

    gamma: float
    n_features: int | None = None

    def __post_init__(self) -> None:
        validation.positive("gamma", self.gamma)

    def tile(self, X: Any, Z: Any) -> Tile:
        """The exponential of a tile of distances."""
        distance = between(self.law.metric, *pair(X, Z))
        return lambda rows, columns: np.exp(-self.gamma * distance(rows, columns))

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """1, as r^2 is a density."""
        return 1.0

    def within(self, X: Any) -> Self:
        """The kernel on the features of `X`."""
        return replace(self, n_features=validation.finite_array("X", X, ndim=2).shape[1])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw waves."""
        if self.n_features is None:
            raise InvalidInput("n_features", "found none", "give the number of features, or take kernel.within(X)")
        random = validation.generator(random_state)
        shape = validation.whole("n", n), validation.whole("n_features", self.n_features)
        weights = (self.gamma ** (1 / self.law.power) * self.law.draw(random, shape)).tolist()
        drawn = zip(weights, random.uniform(0, 2 * pi, n).tolist(), strict=True)
        return tuple(Wave(tuple(theta), kappa, sqrt(2)) for theta, kappa in drawn)


@final
@dataclass(frozen=True)
class Laplacian(Exponential):
    """K(x, x') = exp(-gamma |x - x'|_1).

    LL08: within ranges and for gamma < 1 / Delta_S it is a multiple of the decision-tree kernel and a
    constant. For any gamma it is the mean over waves sqrt(2) cos(a'x + b), the a_d drawn from Cauchy distributions of
    scale gamma and b uniformly, which is what the sampler draws.

    Parameters
    ----------
    gamma : float
        Above 0.
    n_features : int, optional
        Which only sampling needs to be told.

    Examples
    --------
    >>> Laplacian(0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    equation = "exp(-gamma |x - x'|_1)"
    source = "LL08"
    law = CAUCHY


@final
@dataclass(frozen=True)
class Gaussian(Exponential):
    """K(x, x') = exp(-gamma |x - x'|_2^2).

    The reference of LL08. It is the mean over waves sqrt(2) cos(a'x + b), the a_d drawn from normal
    distributions of variance 2 gamma and b uniformly, which is what the sampler draws.

    Parameters
    ----------
    gamma : float
        Above 0.
    n_features : int, optional
        Which only sampling needs to be told.

    Examples
    --------
    >>> Gaussian(0.25)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    equation = "exp(-gamma |x - x'|_2^2)"
    source = "LL08"
    law = NORMAL
