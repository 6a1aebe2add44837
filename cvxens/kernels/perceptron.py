"""The perceptron kernel: all linear thresholds at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.kernels.pair import pair
from cvxens.problems import StumpColumns
from cvxens.types import Array


@dataclass(frozen=True)
class Perceptron:
    """K(x, x') = Delta - |x - x'|_2, with Delta = radius / E|theta_1| for theta uniform on the unit sphere.

    LL08 Definition 9 and Theorem 10: the inner product over all perceptrons sign(theta'x - a) with |a| <= radius,
    scaled so that the distance has the factor 1. E|theta_1| is ``Gamma(D/2) / (sqrt(pi) Gamma((D+1)/2))``.

    Parameters
    ----------
    radius : float, optional
        Bound on the norm of samples; that of the sample that the kernel is evaluated on where it is not given.

    Examples
    --------
    >>> Perceptron(radius=1.0)([[1.0], [-1.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    radius: float | None = None
    source = "LL08 Definition 9"

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Evaluate between the rows of `X` and `Z` (by default `X`); returns (len(X), len(Z))."""
        X, Z = pair(X, Z)
        return self._radius(np.concatenate([X, Z])) / mean_projection(X.shape[1]) - cdist(X, Z)

    def _radius(self, X: Array) -> float:
        longest = float(np.sqrt((X**2).sum(axis=1)).max())
        radius = longest if self.radius is None else validation.positive("radius", self.radius)
        if longest > radius * (1 + 1e-12):
            raise InvalidInput(
                "X", f"found a sample of norm {longest:g}", f"stay within the kernel's radius of {radius:g}"
            )
        return radius

    def cells(self, X: Any, n_directions: int, random_state: int | np.random.Generator | None = None) -> StumpColumns:
        """Cells of P5: exact in the threshold, with `n_directions` directions sampled uniformly on the sphere.

        Each direction theta contributes the gaps between the projections theta'x_i, within [-radius, radius]. The
        columns' inner products tend to the kernel on `X` as the directions get dense.
        """
        if n_directions < 1:
            raise InvalidInput("n_directions", f"found {n_directions}", "sample at least one direction")
        X = validation.samples(X)
        theta = np.random.default_rng(random_state).normal(size=(X.shape[1], n_directions))
        theta /= np.sqrt((theta**2).sum(axis=0))
        radius = self._radius(X) * (1 + 1e-12)
        scale = 1 / (2 * n_directions * mean_projection(X.shape[1]))
        ends = np.stack([np.full(n_directions, -radius), np.full(n_directions, radius)])
        return StumpColumns(X @ theta, constant=False, ends=ends, gap_scale=lambda width: np.sqrt(scale * width))


def mean_projection(n_features: int) -> float:
    """E|theta_1| for theta uniform on the unit sphere of `n_features` dimensions."""
    half = n_features / 2
    return float(np.exp(gammaln(half) - gammaln(half + 0.5)) / np.sqrt(np.pi))
