"""Kernels without what y'u = 0 cancels, which would cost digits: constants, and terms in one sample alone."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.kernels.distances import Metric, between, cityblock, euclidean, squared, weighted_cityblock
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.linear import Linear
from cvxens.kernels.pair import pair
from cvxens.kernels.ranges import hashable
from cvxens.kernels.tiles import Tile
from cvxens.kernels.weak_learner import WeakLearner
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
@dataclass(frozen=True, repr=False)
class SimplifiedStump(NegativeDistance):
    """K(x, x') = -|x - x'|_1, or -sum_d scale_d |x_d - x'_d|.

    LL08 section 4.2: conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the stump kernel; with the
    scales 1/2 those of histogram intersection.

    Parameters
    ----------
    scale : array-like of shape (n_features,), optional
        At least 0; 1 for every feature where it is not given.

    Examples
    --------
    >>> SimplifiedStump()([[0.0], [2.0]])
    array([[-0., -2.],
           [-2., -0.]])
    >>> SimplifiedStump([0.5])([[1e16], [1e16 + 2]])
    array([[-0., -1.],
           [-1., -0.]])
    """

    scale: Any = None
    equation = "-|x - x'|_1"
    source = "LL08 section 4.2"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", hashable(self.scale))

    def distance(self, X: Any, Z: Any) -> Tile:
        """|x - x'|_1, each feature times its scale."""
        X, Z = pair(X, Z)
        return between(self._metric(X.shape[1]), X, Z)

    def _metric(self, n_features: int) -> Metric:
        if self.scale is None:
            return cityblock
        scale = validation.finite_array("scale", self.scale, ndim=1)
        if len(scale) != n_features:
            raise InvalidInput("scale", f"found {len(scale)} numbers for {n_features} features", "give one per feature")
        if scale.min() < 0:
            raise InvalidInput("scale", f"found {scale.min():g}", "give numbers of at least 0")
        return partial(weighted_cityblock, scale=scale)

    def __repr__(self) -> str:
        return "SimplifiedStump()" if self.scale is None else f"SimplifiedStump(scale={self.scale})"


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


class ExponentialLessOne(Kernel):
    """exp(-gamma metric(x, x')) - 1, to full precision however small gamma times the metric is."""

    psd = False
    metric: Metric
    gamma: float

    def tile(self, X: Any, Z: Any) -> Tile:
        """Evaluate ``expm1`` of a tile of distances."""
        distance = between(type(self).metric, *pair(X, Z))
        return lambda rows, columns: np.expm1(-self.gamma * distance(rows, columns))

    def diag(self, X: Any) -> Array:
        """0 for every sample."""
        return np.zeros(len(pair(X)[0]))


@final
@dataclass(frozen=True)
class SimplifiedLaplacian(ExponentialLessOne):
    """K(x, x') = exp(-gamma |x - x'|_1) - 1.

    Conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the Laplacian kernel. That has lost the
    distances of samples beside its 1 where gamma times them is tiny; this has not.

    Parameters
    ----------
    gamma : float
        Above 0.

    Examples
    --------
    >>> SimplifiedLaplacian(1e-20)([[0.0], [2.0]])
    array([[-0.e+00, -2.e-20],
           [-2.e-20, -0.e+00]])
    """

    gamma: float
    equation = "exp(-gamma |x - x'|_1) - 1"
    source = "LL08"
    metric = cityblock


@final
@dataclass(frozen=True)
class SimplifiedGaussian(ExponentialLessOne):
    """K(x, x') = exp(-gamma |x - x'|_2^2) - 1.

    Conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the Gaussian kernel, as `SimplifiedLaplacian`
    does for its kernel.

    Parameters
    ----------
    gamma : float
        Above 0.

    Examples
    --------
    >>> SimplifiedGaussian(1e-20)([[0.0], [2.0]])
    array([[-0.e+00, -4.e-20],
           [-4.e-20, -0.e+00]])
    """

    gamma: float
    equation = "exp(-gamma |x - x'|_2^2) - 1"
    source = "LL08"
    metric = squared


@final
@dataclass(frozen=True)
class Centred(Kernel):
    """K(x, x') - K(x, o) - K(o, x') + K(o, o): the inner product of what hypotheses say of x and x' less what of o.

    As y'u = 0 it gives `SVMDual` the solutions of K, with the intercept moved, whatever the sample o is. With an o
    among the samples nothing is lost where their values are large beside their differences.

    Parameters
    ----------
    kernel : Linear or WeakLearner
        K, an inner product of finitely many numbers.
    origin : array-like of shape (n_features,)
        The sample o. Kernels that differ in it alone are equal.

    Examples
    --------
    >>> Centred(Linear(np.eye(1)), (1e16,))([[1e16], [1e16 + 2]])
    array([[0., 0.],
           [0., 4.]])
    """

    kernel: Linear | WeakLearner
    origin: Any = field(compare=False)
    equation = "K(x, x') - K(x, o) - K(o, x') + K(o, o)"
    source = "LL08 section 4.2"

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", hashable(self.origin))

    def tile(self, X: Any, Z: Any) -> Tile:
        """Inner products of differences."""
        left = self.kernel.differences(X, self.origin)
        right = left if Z is X else self.kernel.differences(Z, self.origin)
        return lambda rows, columns: left[rows] @ right[columns].T

    def diag(self, X: Any) -> Array:
        """Squared lengths of differences."""
        return (self.kernel.differences(X, self.origin) ** 2).sum(axis=1)
