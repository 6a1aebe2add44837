"""The Gaussian and the Laplacian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.kernels.distances import between, cityblock, squared
from cvxens.kernels.hypotheses import Hypothesis, LinearForm, Wave
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair
from cvxens.kernels.tiles import Tile
from cvxens.types import Array
from cvxens.validation import RandomState


@final
@dataclass(frozen=True)
class Laplacian(Kernel):
    """K(x, x') = exp(-gamma |x - x'|_1).

    LL08 section 6: within ranges and for gamma < 1 / Delta_S it is a multiple of the decision-tree kernel and a
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

    gamma: float
    n_features: int | None = None
    equation = "exp(-gamma |x - x'|_1)"
    source = "LL08 section 6"

    def __post_init__(self) -> None:
        validation.positive("gamma", self.gamma)

    def tile(self, X: Any, Z: Any) -> Tile:
        """The exponential of a tile."""
        distance = between(cityblock, *pair(X, Z))
        return lambda rows, columns: np.exp(-self.gamma * distance(rows, columns))

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """1."""
        return 1.0

    def within(self, X: Any) -> Laplacian:
        """The kernel on the features of `X`."""
        return Laplacian(self.gamma, validation.finite_array("X", X, ndim=2).shape[1])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw waves with Cauchy frequencies."""
        random, shape = validation.generator(random_state), _shape(n, self.n_features)
        return _waves(self.gamma * random.standard_cauchy(shape), random)


@final
@dataclass(frozen=True)
class Gaussian(Kernel):
    """K(x, x') = exp(-gamma |x - x'|_2^2).

    The reference of LL08 section 7. It is the mean over waves sqrt(2) cos(a'x + b), the a_d drawn from normal
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

    gamma: float
    n_features: int | None = None
    equation = "exp(-gamma |x - x'|_2^2)"
    source = "LL08 section 7"

    def __post_init__(self) -> None:
        validation.positive("gamma", self.gamma)

    def tile(self, X: Any, Z: Any) -> Tile:
        """The exponential of a tile."""
        distance = between(squared, *pair(X, Z))
        return lambda rows, columns: np.exp(-self.gamma * distance(rows, columns))

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """1."""
        return 1.0

    def within(self, X: Any) -> Gaussian:
        """The kernel on the features of `X`."""
        return Gaussian(self.gamma, validation.finite_array("X", X, ndim=2).shape[1])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw waves with normal frequencies."""
        random, shape = validation.generator(random_state), _shape(n, self.n_features)
        return _waves(np.sqrt(2 * self.gamma) * random.standard_normal(shape), random)


def _shape(n: int, n_features: int | None) -> tuple[int, int]:
    if n_features is None:
        raise InvalidInput("n_features", "found none", "give the number of features, or take kernel.within(X)")
    return validation.whole("n", n), validation.whole("n_features", n_features)


def _waves(frequencies: Array, random: np.random.Generator) -> tuple[Wave, ...]:
    features = tuple(range(frequencies.shape[1]))
    drawn = zip(frequencies.tolist(), random.uniform(0, 2 * pi, len(frequencies)).tolist(), strict=True)
    return tuple(Wave(LinearForm(features, tuple(weights)), phase) for weights, phase in drawn)
