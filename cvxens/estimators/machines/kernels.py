"""Which hypotheses a support vector machine is over: kernels by name, or anybody's own, on a training sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
    MiddleStump,
    Perceptron,
    SimplifiedStump,
    Stump,
)
from cvxens.kernels.kernel import Kernel, Shape, check_inside
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
        if not isinstance(made, Kernel):
            return cls(made, made, None)
        scale = made.additive_scales(X)
        function = made.range_free_equivalent(X) if scale is None else SimplifiedStump.from_scales(scale)
        chosen = cls(made, function, scale)
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
        """Raise if a sample is outside the ranges that the kernel was given, which `function` does not know of."""
        if isinstance(self.kernel, Kernel):
            check_inside(self.kernel.domain(X.shape[1]), X)

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


def variation_shares(shapes: Sequence[Shape]) -> Array:
    """Return the share of each function in the sum of their total variations, (n_features,)."""
    variations = np.array([np.abs(np.diff(values)).sum() for _, values in shapes])
    return variations / max(float(variations.sum()), np.finfo(float).tiny)
