"""The Gaussian and the Laplacian kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import pi
from typing import Any, Self, final

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


@dataclass(frozen=True)
class Exponential(Kernel):
    """exp(-gamma distance), the mean over waves of random frequencies."""

    gamma: float
    n_features: int | None = None

    def __post_init__(self) -> None:
        validation.positive("gamma", self.gamma)

    @abstractmethod
    def distance(self, X: Any, Z: Any) -> Tile:
        """Compute distances by tiles."""

    @abstractmethod
    def frequencies(self, shape: tuple[int, int], random: np.random.Generator) -> Array:
        """Draw those of the waves, (n, n_features)."""

    def tile(self, X: Any, Z: Any) -> Tile:
        """The exponential of a tile."""
        distance = self.distance(X, Z)
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
        weights, features = self.frequencies(shape, random).tolist(), tuple(range(shape[1]))
        drawn = zip(weights, random.uniform(0, 2 * pi, n).tolist(), strict=True)
        return tuple(Wave(LinearForm(features, tuple(frequencies)), phase) for frequencies, phase in drawn)


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

    def distance(self, X: Any, Z: Any) -> Tile:
        """|x - x'|_1."""
        return between(cityblock, *pair(X, Z))

    def frequencies(self, shape: tuple[int, int], random: np.random.Generator) -> Array:
        """Cauchy, of scale gamma."""
        return self.gamma * random.standard_cauchy(shape)


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

    def distance(self, X: Any, Z: Any) -> Tile:
        """|x - x'|_2^2."""
        return between(squared, *pair(X, Z))

    def frequencies(self, shape: tuple[int, int], random: np.random.Generator) -> Array:
        """Normal, of variance 2 gamma."""
        return np.sqrt(2 * self.gamma) * random.standard_normal(shape)
