"""Which hypotheses a support vector machine is over: kernels by name, or anybody's own, on a training sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch
from math import exp
from typing import Any, TypeAlias, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.kernels import (
    DecisionStump,
    DecisionTree,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    MiddleStump,
    Perceptron,
    SimplifiedGaussian,
    SimplifiedLaplacian,
    SimplifiedPerceptron,
    SimplifiedStump,
    Stump,
    WeakLearner,
)
from cvxens.kernels.kernel import Kernel, Product, Scaled, Sum
from cvxens.kernels.simplified import Centred
from cvxens.kernels.tiles import Tile
from cvxens.types import Array

KernelFunction: TypeAlias = Callable[[Any, Any], Any]
"""Takes two samples, returns the matrix of kernel values between their rows."""

MANY = 1000
"""Samples from which the scale of a kernel is taken: enough for a default to a few percent."""

SCALE = "scale"
"""The name of a price, or of a grid of prices, in proportion to one over the variance in the space of the kernel."""

PRICE = 4.0
"""The price for a sample of variance 1 in the space of the kernel. Of 1/4, 1/2, ..., 64 those from 1 to 8 are about as
good by cross-validation, on tables from 208 to 1,000 samples as they are."""

PRECOMPUTED = "precomputed"
"""The name that says that X is a kernel matrix."""

KERNELS: Mapping[str, Callable[[Any], Kernel]] = {
    "stump": lambda _: Stump(),
    "middle-stump": MiddleStump,
    "histogram-intersection": lambda _: HistogramIntersection(),
    "decision-stump": lambda _: DecisionStump(),
    "perceptron": lambda _: Perceptron(),
}
"""Kernels that have a name, made on the training sample."""


def spread(X: Any, masses: Array | None = None) -> float:
    """The standard deviation of all numbers of X (n_samples, n_features), rows counted by their masses; 1 if it is 0.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [4.0, 5.0]])
    >>> spread(X), float(round(spread(X, np.array([2.0, 1.0])) / X[[0, 0, 1]].std(), 9))
    (1.5811388300841898, 1.0)
    """
    X = np.asarray(X, np.float64)
    if masses is None or np.ptp(masses) == 0:
        deviation = float(np.std(X))
    else:
        p = masses / masses.sum()
        deviation = float(np.sqrt(p @ ((X - p @ X.mean(axis=1)) ** 2).mean(axis=1)))
    return deviation if deviation > 0 else 1.0


KERNELS_OF_GAMMA: Mapping[str, tuple[Callable[[float], Kernel], Callable[[Any, Any], float]]] = {
    "decision-tree": (DecisionTree, lambda X, _: 1 / (2 * (Stump().total_mass(X) or 1.0))),
    "laplacian": (Laplacian, lambda X, masses: 1 / (X.shape[1] * spread(X, masses))),
    "gaussian": (Gaussian, lambda X, masses: 1 / (X.shape[1] * spread(X, masses) ** 2)),
}
"""Kernels that have a gamma, and its default on a training sample with masses."""


@dataclass(frozen=True, eq=False)
class TrainingKernel:
    """A kernel on a training sample.

    Parameters
    ----------
    kernel : callable or "precomputed"
        As it was asked for, made on the sample.
    function : callable
        What gives P2 the same solutions, and can be evaluated between any two samples where ranges are left open. It
        is made of differences of samples where the kernel allows for it, so that data with an offset keep their
        digits; the intercept goes with it.
    scale : ndarray of shape (n_features,) or None
        Of an additive kernel, ``const - sum_d scale_d |x_d - x'_d|`` in P2; None for others.
    """

    kernel: Any
    function: KernelFunction
    scale: Array | None

    @classmethod
    def of(cls, kernel: Any, gamma: Any, X: Any, masses: Array | None = None) -> TrainingKernel:
        """Choose a kernel by name, or take one, on the training sample X (n_samples, n_features), rows with masses.

        Raises
        ------
        InvalidInput
            An unknown name, a gamma for a kernel that has none, or a sample outside the kernel's ranges.
        """
        made = _made(kernel, gamma, X, masses)
        if made == PRECOMPUTED:
            return cls(made, _given, None)
        chosen = cls(made, open_form(made, X), additive_scale(made, X))
        chosen.check(X)
        return chosen

    @property
    def given(self) -> bool:
        """Whether samples are rows of a kernel matrix."""
        return self.function is _given

    def matrix(self, X: Any) -> Array:
        """The kernel matrix on the sample; one that is not a `Kernel`'s is checked."""
        K = self.function(X, X)
        if isinstance(self.function, Kernel):
            if not np.isfinite(K).all():
                raise InvalidInput("X", "found values whose kernel is no finite number", "scale the features")
            return K
        argument = "X" if self.given else "kernel"
        K = validation.symmetric(K, argument)
        validation.same_length(argument, K, len(X))
        return K

    def check(self, X: Any) -> None:
        """Raise if a sample is outside the ranges that a kernel was given and `function` does not know of."""
        for part in _parts(self.kernel):
            if isinstance(part, Stump | DecisionStump | HistogramIntersection) and part != Stump():
                part.within(X)

    def centred_trace(self, X: Any, masses: Array) -> float:
        """Compute sum_i p_i K_ii - p'K p with p = masses / sum(masses), the mean diagonal of the centred kernel.

        It is the variance of the sample in the space of the kernel, whatever its constants. Of kernels that are not
        additive, and of more than `MANY` samples, it is that of `MANY` of them, evenly spaced.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The sample; a kernel matrix if that is precomputed.
        masses : ndarray of shape (n_samples,)
            How much of the sample each row is, above 0.

        Returns
        -------
        float
            0 where all is rounding, as it is if all rows are alike.
        """
        p = masses / masses.sum()
        if self.scale is not None:
            # sum_ij p_i p_j |x_i - x_j| is twice the integral of P (1 - P), P the distribution function
            order = X.argsort(axis=0)
            P = p[order].cumsum(axis=0)[:-1]
            gaps = np.diff(np.take_along_axis(X, order, axis=0).astype(np.float64), axis=0)
            return 2 * float(self.scale @ (gaps * P * (1 - P)).sum(axis=0))
        if not self.given and len(X) > MANY:
            chosen = np.linspace(0, len(X) - 1, MANY).round().astype(np.intp)
            X, p = X[chosen], p[chosen] / p[chosen].sum()
        X = np.asarray(X, np.float64)
        K = X if self.given else np.asarray(self.function(X, X), np.float64)
        trace = float(p @ (K.diagonal() - K @ p))
        rounding = len(X) * np.finfo(float).eps * float(np.abs(K).max())
        return trace if trace > rounding else 0.0

    def is_that_of(self, other: TrainingKernel) -> bool:
        """Whether two samples made the same of a kernel."""
        if self.scale is None or other.scale is None:
            return self.scale is other.scale and self.function == other.function
        return np.array_equal(self.scale, other.scale)


@final
@dataclass(frozen=True)
class Clipped(Kernel):
    """A kernel within the ranges of a training sample, for samples from anywhere.

    Beyond a range that was left open there is no threshold, so hypotheses say of a sample there what they say of the
    nearest one inside. Ranges that were given are kept to.

    Parameters
    ----------
    kernel : Kernel
        With all ranges.
    low, high : tuple of float
        Of every feature; infinite where that end of the range was given.
    """

    kernel: Kernel
    low: tuple[float, ...]
    high: tuple[float, ...]
    equation = "K(x, x') of the nearest samples within the ranges"
    source = "LL08"

    @classmethod
    def of(cls, kernel: Kernel, X: Any) -> Clipped:
        """Close what a kernel leaves open by the ranges of X (n_samples, n_features)."""
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        # the corner that is farthest from 0, for kernels with a radius
        corners = np.stack([low, high, np.where(np.abs(low) > np.abs(high), low, high)])
        given = [getattr(kernel, name, None) is not None for name in ("low", "high")]
        low = np.full_like(low, -np.inf) if given[0] else low
        high = np.full_like(high, np.inf) if given[1] else high
        return cls(kernel.within(corners), tuple(low.tolist()), tuple(high.tolist()))

    @property
    def psd(self) -> bool:
        """As the kernel is."""
        return self.kernel.psd

    def tile(self, X: Any, Z: Any) -> Tile:
        """The kernel's, between the nearest samples inside."""
        inside = self._clip("X", X)
        return self.kernel.tile(inside, inside if Z is X else self._clip("Z", Z))

    def diag(self, X: Any) -> Array:
        """The kernel's."""
        return self.kernel.diag(self._clip("X", X))

    def _clip(self, argument: str, X: Any) -> Array:
        return np.clip(validation.finite_array(argument, X, ndim=2), self.low, self.high)


def gamma_of_parts(kernel: Any, gamma: Any, X: Any, masses: Array) -> dict[str, Any]:
    """The parameter gamma of sub-problems: the default on all samples, where a kernel has one and none is given."""
    name = kernel if isinstance(kernel, str) else ""
    if gamma is not None or name not in KERNELS_OF_GAMMA:
        return {}
    return {"gamma": KERNELS_OF_GAMMA[name][1](X, masses)}


def scaled_price(kernel: TrainingKernel, X: Any, masses: Array) -> float:
    """The C that is `PRICE` for a kernel and a sample of variance 1; `PRICE` itself where there is none."""
    trace = kernel.centred_trace(X, masses)
    # a kernel so small that 1 / trace overflows learns nothing at any price that is a number
    return min(PRICE / trace, float(np.finfo(float).max)) if trace > 0 else PRICE


def _given(X: Any, _Z: Any) -> Any:
    """Return the kernel values that the samples are."""
    return X


def _made(kernel: Any, gamma: Any, X: Any, masses: Array | None) -> Any:
    name = kernel if isinstance(kernel, str) else ""
    if name in KERNELS_OF_GAMMA:
        make, default = KERNELS_OF_GAMMA[name]
        return make(default(X, masses) if gamma is None else validation.positive("gamma", gamma))
    if gamma is not None:
        raise InvalidInput(
            "gamma", f"found {gamma!r} for the kernel {kernel!r}", f"give None; {', '.join(KERNELS_OF_GAMMA)} have one"
        )
    if name in KERNELS:
        return KERNELS[name](X)
    if isinstance(kernel, type) or (not callable(kernel) and name != PRECOMPUTED):
        names = ", ".join(map(repr, [*KERNELS, *KERNELS_OF_GAMMA, PRECOMPUTED]))
        raise InvalidInput("kernel", f"found {kernel!r:.100}", f"give one of {names}, a Kernel or a function k(X, Z)")
    return kernel


def _parts(kernel: Any) -> Iterator[Any]:
    """The kernels that a sum is made of, or the kernel itself; multiples without their factors."""
    if isinstance(kernel, Scaled):
        yield from _parts(kernel.kernel)
    elif isinstance(kernel, Sum):
        for part in kernel.parts:
            yield from _parts(part)
    else:
        yield kernel


def open_form(kernel: Any, X: Any) -> Any:
    """Rewrite a kernel as one that differs from it by terms that y'u = 0 cancels: k(x, x') + a(x) + a(x').

    Ranges that are left open do not matter to it, and where the kernel allows for it, it is made of differences of
    samples. Those keep the digits that a constant beside them, or values with an offset, would take: a min(x, x') near
    1e16 knows nothing of a difference of 1.
    """
    scale = additive_scale(kernel, X)
    if scale is None:
        return _open_form(kernel, X)
    return SimplifiedStump() if (scale == 1).all() else SimplifiedStump(scale)


@singledispatch
def _open_form(kernel: Any, _X: Any) -> Any:
    """Rewrite a kernel that is not additive."""
    return kernel


@_open_form.register
def _(kernel: Kernel, X: Any) -> Kernel:
    return kernel if kernel.fixed else Clipped.of(kernel, X)


@_open_form.register
def _(kernel: Perceptron, _X: Any) -> Kernel:
    return SimplifiedPerceptron() if kernel.radius is None else kernel


@_open_form.register
def _(kernel: DecisionTree, X: Any) -> Kernel:
    if kernel.low is not None or kernel.high is not None:
        return kernel if kernel.fixed else Clipped.of(kernel, X)
    delta = Stump().total_mass(kernel.within(X).box())
    return Scaled(exp(2 * kernel.gamma * delta), SimplifiedLaplacian(kernel.gamma))


@_open_form.register
def _(kernel: Product, X: Any) -> Kernel:
    return Product(tuple(part if part.fixed else Clipped.of(part, X) for part in kernel.parts))


@_open_form.register
def _(kernel: Laplacian, _X: Any) -> Kernel:
    return SimplifiedLaplacian(kernel.gamma)


@_open_form.register
def _(kernel: Gaussian, _X: Any) -> Kernel:
    return SimplifiedGaussian(kernel.gamma)


@_open_form.register(Linear)
@_open_form.register(WeakLearner)
def _(kernel: Any, X: Any) -> Kernel:
    # a sample whose values are in the middle of each feature's: what an offset adds to all of them, it has too
    X = np.asarray(X, np.float64)
    return Centred(kernel, np.partition(X, len(X) // 2, axis=0)[len(X) // 2])


@_open_form.register
def _(kernel: Sum, X: Any) -> Kernel:
    return Sum(tuple(open_form(part, X) for part in kernel.parts))


@_open_form.register
def _(kernel: Scaled, X: Any) -> Kernel:
    return Scaled(kernel.factor, open_form(kernel.kernel, X))


@singledispatch
def additive_scale(_kernel: Any, _X: Any) -> Array | None:
    """The scale of each feature, (n_features,), if the kernel is additive; else None."""
    return None


@additive_scale.register
def _(_kernel: Stump, X: Any) -> Array | None:
    return np.ones(X.shape[1])


@additive_scale.register
def _(kernel: SimplifiedStump, X: Any) -> Array | None:
    return np.ones(X.shape[1]) if kernel.scale is None else np.asarray(kernel.scale, np.float64)


@additive_scale.register
def _(_kernel: HistogramIntersection, X: Any) -> Array | None:
    return np.full(X.shape[1], 0.5)


@additive_scale.register
def _(kernel: DecisionStump, X: Any) -> Array | None:
    low, high = kernel.within(X).box()
    varies = high > low
    return np.divide(2 / max(varies.sum(), 1), high - low, out=np.zeros(len(low)), where=varies)


@additive_scale.register
def _(kernel: Sum, X: Any) -> Array | None:
    scales = [scale for part in kernel.parts if (scale := additive_scale(part, X)) is not None]
    return np.sum(scales, axis=0) if len(scales) == len(kernel.parts) else None


@additive_scale.register
def _(kernel: Scaled, X: Any) -> Array | None:
    scale = additive_scale(kernel.kernel, X)
    return None if scale is None else kernel.factor * scale
