"""The perceptron kernel: all linear thresholds at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import pi
from typing import final

import numpy as np
from scipy.special import gammaln

from cvxens import hypotheses, validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.kernels.kernel import OPEN, Kernel, Simplified, Statement, close_ranges
from cvxens.kernels.tiles import SQUARE, Profile, SingleKernel, Tile, check_features, check_pair, join_samples, measure
from cvxens.problems import StumpColumns
from cvxens.types import Array, Data, Given
from cvxens.validation import RandomState

ROUNDING = 1 + 1e-12
"""Factor by which a norm or a projection may exceed a radius: both are sums of n_features rounded products."""


@final
@dataclass(frozen=True)
class Perceptron(Kernel):
    """K(x, x') = Delta - |x - x'|_2, with Delta = radius Theta_D / Xi_D.

    LL08 Definition 9 and Appendix A: the inner product over all perceptrons sign(theta'x - a) with |theta| = 1 and
    |a| <= radius, scaled by r^2 = 1 / (2 Xi_D) so that the distance has the factor 1. Theta_D is the area of the
    unit sphere of D dimensions and Xi_D the integral of |theta_1| over it; their ratio is 1 / E|theta_1|.
    Scaling the samples by c scales the kernel by c, which for an SVM is a change of C.

    Parameters
    ----------
    radius : float, optional
        Bound on the norm of samples. Where it is not given, that of the samples that the kernel is evaluated on and
        2^-10 of it more, so that there are constant perceptrons and the matrix of distinct samples is PD (Theorem 11).
    n_features : int, optional
        The dimension D, which only sampling without samples needs.

    Examples
    --------
    >>> Perceptron(radius=1.0)([[1.0], [-1.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    radius: float | None = None
    n_features: int | None = None
    equation = "Delta - |x - x'|_2"
    source = "LL08 Definition 9, Appendix A"
    neutral = True
    homogeneity = 1.0

    @property
    def is_data_independent(self) -> bool:
        return self.radius is not None

    def tile(self, X: Data, Z: Data) -> Tile:
        X, Z = check_pair(X, Z)
        return measure(SQUARE, X, Z, None, np.sqrt, partial(np.subtract, self.total_mass(X, Z)))

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        if X is None:
            radius, n_features = self._ball()
            return radius / mean_projection(n_features)
        X = join_samples(*check_pair(X, Z))
        return self._radius_of(X) / mean_projection(X.shape[1])

    def with_ranges_of(self, X: Data) -> Perceptron:
        X = validation.finite_array("X", X, ndim=2)
        return Perceptron(self._radius_of(X), X.shape[1])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        radius, n_features = self._ball()
        n, random = validation.whole("n", n), validation.generator(random_state)
        thetas = _draw_directions(random, n, n_features)
        drawn = zip(thetas.tolist(), random.uniform(-radius, radius, n).tolist(), strict=True)
        return tuple(hypotheses.Perceptron(tuple(theta), alpha, 1) for theta, alpha in drawn)

    def cells(self, X: Data, n_directions: int, random_state: RandomState = None) -> StumpColumns:
        """Return cells of P5: exact in the threshold, with `n_directions` directions sampled uniformly on the sphere.

        Each direction theta contributes the gaps between the projections theta'x_i, within [-radius, radius]. The
        columns' inner products tend to the kernel on `X` as the directions get dense.
        """
        n_directions = validation.whole("n_directions", n_directions)
        X = validation.samples(X)
        theta = _draw_directions(validation.generator(random_state), n_directions, X.shape[1]).T
        radius = self._radius_of(X) * ROUNDING
        # r^2 dtheta = Theta_D / (2 Xi_D) per unit of threshold, shared by the directions
        scale = 1 / (2 * n_directions * mean_projection(X.shape[1]))
        ends = np.stack([np.full(n_directions, -radius), np.full(n_directions, radius)])
        return StumpColumns(X @ theta, constant=False, ends=ends, gap_scale=lambda width: np.sqrt(scale * width))

    def range_free_equivalent(self, X: Data) -> Kernel:
        # the constant goes (LL08 Theorem 10); with a radius, samples are bound to it
        return SimplifiedPerceptron() if self.radius is None else close_ranges(self, X)

    def _radius_of(self, X: Array) -> float:
        if self.n_features is not None:
            check_features("X", X, self.n_features, "the kernel")
        longest = float(np.sqrt((X**2).sum(axis=1)).max())
        radius = longest * (1 + OPEN) if self.radius is None else validation.positive("radius", self.radius)
        if longest > radius * ROUNDING:
            found = f"found a sample of norm {longest:g}"
            raise InvalidInput("X", found, f"stay within the kernel's radius of {radius:g}")
        return radius

    def _ball(self) -> tuple[float, int]:
        if self.radius is None or self.n_features is None:
            remedy = "give radius and n_features, or take kernel.with_ranges_of(X)"
            raise InvalidInput("radius", f"found {self!r}", remedy)
        return validation.positive("radius", self.radius), validation.whole("n_features", self.n_features)


@final
@dataclass(frozen=True)
class SimplifiedPerceptron(Simplified):
    """K(x, x') = -|x - x'|_2.

    LL08 Theorem 10: conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the perceptron kernel.

    Examples
    --------
    >>> SimplifiedPerceptron()([[0.0, 0.0], [3.0, 4.0]])
    array([[-0., -5.],
           [-5., -0.]])
    """

    equation = "-|x - x'|_2"
    source = "LL08 Theorem 10"
    homogeneity = 1.0

    def state(self, X: Data) -> Statement:
        return "perceptron", None, ()

    def tile(self, X: Data, Z: Data) -> Tile:
        return measure(SQUARE, *check_pair(X, Z), None, np.sqrt, np.negative)

    def round_to_single(self, X: Array) -> SingleKernel | None:
        # phi(d) = -d, for d up to twice the radius
        return SingleKernel.of(
            X, SQUARE, lambda r: Profile((np.sqrt, partial(np.multiply, np.float32(-r))), r, 1.0, 2 * r, 2 * r)
        )


def mean_projection(n_features: int) -> float:
    """Compute E|theta_1| = Xi_D / Theta_D for theta uniform on the unit sphere of D = `n_features` dimensions."""
    # Gamma(D/2) / (sqrt(pi) Gamma((D+1)/2))
    half = n_features / 2
    return float(np.exp(gammaln(half) - gammaln(half + 0.5)) / np.sqrt(pi))


def _draw_directions(random: np.random.Generator, n: int, n_features: int) -> Array:
    """Draw uniformly on the unit sphere, shape (n, n_features)."""
    theta = random.normal(size=(n_features, n)).T
    return theta / np.sqrt((theta**2).sum(axis=1, keepdims=True))
