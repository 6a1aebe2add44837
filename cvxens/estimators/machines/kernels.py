"""Which hypotheses a support vector machine is over: kernels by name, or anybody's own, on a training sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch
from math import exp
from typing import Any, TypeAlias

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
from cvxens.kernels.kernel import Kernel, Scaled, Sum
from cvxens.kernels.simplified import Centred
from cvxens.types import Array

KernelFunction: TypeAlias = Callable[[Any, Any], Any]
"""Takes two samples, returns the matrix of kernel values between their rows."""

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

KERNELS_OF_GAMMA: Mapping[str, tuple[Callable[[float], Kernel], Callable[[Any], float]]] = {
    "decision-tree": (DecisionTree, lambda X: 1 / (2 * Stump().total_mass(X))),
    "laplacian": (Laplacian, lambda X: 1 / (X.shape[1] * float(np.std(X)))),
    "gaussian": (Gaussian, lambda X: 1 / (X.shape[1] * float(np.var(X)))),
}
"""Kernels that have a gamma, and its default on the training sample."""


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
    def of(cls, kernel: Any, gamma: Any, X: Any) -> TrainingKernel:
        """Choose a kernel by name, or take one, on the training sample X (n_samples, n_features).

        Raises
        ------
        InvalidInput
            An unknown name, a gamma for a kernel that has none, or a sample outside the kernel's ranges.
        """
        made = _made(kernel, gamma, X)
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

    def is_that_of(self, other: TrainingKernel) -> bool:
        """Whether two samples made the same of a kernel."""
        if self.scale is None or other.scale is None:
            return self.scale is other.scale and self.function == other.function
        return np.array_equal(self.scale, other.scale)


def _given(X: Any, _Z: Any) -> Any:
    """Return the kernel values that the samples are."""
    return X


def _made(kernel: Any, gamma: Any, X: Any) -> Any:
    name = kernel if isinstance(kernel, str) else ""
    if name in KERNELS_OF_GAMMA:
        make, default = KERNELS_OF_GAMMA[name]
        return make(default(X) if gamma is None else validation.positive("gamma", gamma))
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
    return kernel if kernel.fixed else kernel.within(X)


@_open_form.register
def _(kernel: Perceptron, _X: Any) -> Kernel:
    return SimplifiedPerceptron() if kernel.radius is None else kernel


@_open_form.register
def _(kernel: DecisionTree, X: Any) -> Kernel:
    if kernel.low is not None or kernel.high is not None:
        return kernel.within(X)
    delta = Stump().total_mass(kernel.within(X).box())
    return Scaled(exp(2 * kernel.gamma * delta), SimplifiedLaplacian(kernel.gamma))


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
