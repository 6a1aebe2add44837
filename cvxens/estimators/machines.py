"""Kernel machines behind an estimator: a kernel on a sample, and the function that coefficients make of it.

`TrainingKernel` says which kernel it is: one that has a name, or anybody's own. A function is evaluated on other
samples by an `AdditiveModel` or an `Expansion`, and `certify_function` holds one from anywhere against a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Formulation
from cvxens.errors import InvalidInput
from cvxens.estimators.base import Learner
from cvxens.estimators.explanations import list_machine_terms, share_out
from cvxens.estimators.samples import Sample
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
from cvxens.rounding import EPSILON, TINY, measure_spread
from cvxens.solvers.blockwise import expand
from cvxens.types import Array, Data, Indices, KernelFunction

MANY = 1000
"""Samples from which the scale of a kernel is taken: enough for a default to a few percent."""

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


KERNELS_OF_GAMMA: Mapping[str, tuple[Callable[[float], Kernel], Callable[[Any, Any], float]]] = {
    "decision-tree": (DecisionTree, lambda X, _: 1 / (2 * (Stump().total_mass(X) or 1.0))),
    "laplacian": (Laplacian, lambda X, masses: 1 / X.shape[1] / (measure_spread(X, masses) or 1.0)),
    "gaussian": (Gaussian, lambda X, masses: X.shape[1] * np.square(KERNELS_OF_GAMMA["laplacian"][1](X, masses))),
}
"""Kernels that have a gamma, and its default on a training sample with masses."""


@dataclass(frozen=True, eq=False)
class TrainingKernel:
    """A kernel on a training sample: `kernel` as it was asked for, made on the sample, or "precomputed".

    `function` gives P2 the same solutions, and can be evaluated between any two samples where ranges are left open. It
    is made of differences of samples where the kernel allows for it, so that data with an offset keep their digits; the
    intercept goes with it. The `scale` (n_features,) of an additive kernel makes it
    ``const - sum_d scale_d |x_d - x'_d|`` in P2; it is None for other kernels.
    """

    kernel: Any
    function: KernelFunction
    scale: Array | None

    @classmethod
    def from_sample(
        cls, kernel: str | KernelFunction, gamma: object, X: Array, masses: Array | None = None
    ) -> TrainingKernel:
        """Choose a kernel by name, or take one, on the training sample X (n_samples, n_features), rows with masses.

        `InvalidInput` for an unknown name, or a sample outside the ranges.
        """
        made = _make_kernel(kernel, gamma, X, masses)
        if isinstance(made, str):
            return cls(made, _take_values, None)
        if not isinstance(made, Kernel):
            return cls(made, made, None)
        scale = made.additive_scales(X)
        function = made.range_free_equivalent(X) if scale is None else SimplifiedStump.from_scales(scale)
        chosen = cls(made, function, scale)
        chosen.check(X)
        return chosen

    @property
    def is_precomputed(self) -> bool:
        """True if samples are rows of a kernel matrix."""
        return self.function is _take_values

    def evaluate(self, X: Array) -> Array:
        """Return the kernel matrix on the sample; one that is not a `Kernel`'s is checked."""
        K = self.function(X, X)
        if isinstance(self.function, Kernel):
            if not np.isfinite(K).all():
                raise InvalidInput("X", "found values whose kernel is no finite number", "scale the features")
            return K
        argument = "X" if self.is_precomputed else "kernel"
        K = validation.symmetric(K, argument)
        validation.same_length(argument, K, len(X))
        return K

    def check(self, X: Array) -> None:
        """Raise if a sample is outside the ranges that the kernel was given, which `function` does not know of."""
        if isinstance(self.kernel, Kernel):
            check_inside(self.kernel.domain(X.shape[1]), X)

    def measure_variance(self, X: Array, masses: Array) -> float:
        """Compute sum_i p_i K_ii - p'K p with p = masses / sum(masses), the mean diagonal of the centred kernel.

        It is the variance of the sample in the space of the kernel, whatever its constants. Of kernels that are not
        additive, and of more than `MANY` samples, it is that of `MANY` of them, evenly spaced; it is 0 where all is
        rounding, as it is if all rows are alike.
        """
        p = masses / masses.sum()
        if self.scale is not None:
            # sum_ij p_i p_j |x_i - x_j| is twice the integral of P (1 - P), P the distribution function
            order = X.argsort(axis=0)
            P = p[order].cumsum(axis=0)[:-1]
            gaps = np.diff(np.take_along_axis(X, order, axis=0).astype(np.float64), axis=0)
            return 2 * float(self.scale @ (gaps * P * (1 - P)).sum(axis=0))
        if not self.is_precomputed and len(X) > MANY:
            chosen = np.linspace(0, len(X) - 1, MANY).round().astype(np.intp)
            X, p = X[chosen], p[chosen] / p[chosen].sum()
        X = np.asarray(X, np.float64)
        K = X if self.is_precomputed else np.asarray(self.function(X, X), np.float64)
        trace = float(p @ (K.diagonal() - K @ p))
        rounding = len(X) * np.finfo(float).eps * float(np.abs(K).max())
        return trace if trace > rounding else 0.0

    def equals(self, other: TrainingKernel) -> bool:
        """Return True if two samples made the same of a kernel."""
        if self.scale is None or other.scale is None:
            return self.scale is other.scale and self.function == other.function
        return np.array_equal(self.scale, other.scale)


def find_gamma(name: str, gamma: object, X: Array, masses: Array | None) -> float:
    """Return the gamma of a named kernel on a sample: a number as it is, its default, or that of "variance"."""
    X = np.asarray(X, np.float64)
    with np.errstate(all="ignore"):
        if isinstance(gamma, str) and gamma == "variance" and name == "gaussian":
            # TK07 section 4.2: k = exp(-|x - x'|^2 / beta), beta the mean of |x_i - mean|^2: as of the centred sample
            X, gamma = X - np.average(X, axis=0, weights=masses), None
        found = KERNELS_OF_GAMMA[name][1](X, masses) if gamma is None else validation.positive("gamma", gamma)
    if gamma is None and not TINY <= found <= 1 / TINY:
        raise InvalidInput("X", "found numbers whose squares no float holds", "give features in other units")
    return found


def _take_values(X: Array, _Z: Array) -> Array:
    """Return the samples: the kernel is precomputed."""
    return X


def _make_kernel(kernel: str | KernelFunction, gamma: object, X: Array, masses: Array | None) -> str | KernelFunction:
    """Return the kernel of a name on a training sample, the one that is given, or "precomputed"."""
    name = kernel if isinstance(kernel, str) else ""
    if name in KERNELS_OF_GAMMA:
        return KERNELS_OF_GAMMA[name][0](find_gamma(name, gamma, X, masses))
    if name in KERNELS:
        return KERNELS[name](X)
    if isinstance(kernel, type) or (not callable(kernel) and name != PRECOMPUTED):
        names = ", ".join(map(repr, [*KERNELS, *KERNELS_OF_GAMMA, PRECOMPUTED]))
        raise InvalidInput("kernel", f"found {kernel!r:.100}", f"give one of {names}, a Kernel or a function k(X, Z)")
    return kernel


@dataclass(eq=False, repr=False)
class KernelMachine(Learner):
    """A function `sum_j c_j k(x, x_j) + b` of a kernel.

    Parameters
    ----------
    gamma : float or "variance", optional
        Of "decision-tree", "laplacian" and "gaussian". By default 1 / (2 Delta_S), 1 / (n_features X.std()),
        and 1 / (n_features X.var()), samples counted by their weights; of several sub-problems, those of all samples.
        "variance", of "gaussian", is one over the mean squared distance of the samples from their mean (TK07 4.2): one
        over the sum of the variances of the features, where ``X.var()`` has the differences of their means too.

    Attributes
    ----------
    kernel_ : Kernel or callable
        The kernel as a function of two samples, with what it took from the training sample.
    support_vectors_ : ndarray of shape (n_support, n_features)
        The features of the samples of `support_`.
    """

    kernel_: KernelFunction = field(init=False)
    support_: Indices = field(init=False)
    support_vectors_: Array = field(init=False)
    dual_coef_: Array = field(init=False)
    intercept_: Array = field(init=False)
    dual_weights_: Array = field(init=False)
    kernel: str | KernelFunction
    _: KW_ONLY
    gamma: float | str | None = None
    max_time: float | None = None
    verbose: int = 0

    _list_terms = list_machine_terms
    _counts_beside: ClassVar = {"gamma": ("kernel", list(KERNELS_OF_GAMMA))}

    @property
    def shape_functions_(self) -> list[Shape] | list[list[Shape]]:
        """(knots, values) of every feature: f(x) = b + sum_d g_d(x_d), linear between knots, constant beyond.

        Of kernels that are sums over features: "stump", "middle-stump" (where a knot stands twice, g_d jumps),
        "histogram-intersection" and "decision-stump". A list over the sub-problems where there are several.
        """
        check_is_fitted(self)
        return self._show([part._list_shapes() for part in self._parts()])

    def _list_shapes(self) -> Any:
        """Return the functions of the one problem; AttributeError of a kernel that is no sum over features."""
        return list_shapes(self.kernel_, self.support_vectors_, self.dual_coef_)

    @property
    def feature_importances_(self) -> Array:
        """The share of each feature in the sum of the total variations of `shape_functions_`, (n_features,).

        That is its share in the weights of all stumps, of which these are sums or integrals. Of sub-problems, the mean.
        """
        parts = (part.shape_functions_ for part in self._parts())
        return share_out(np.array([[np.abs(np.diff(g)).sum() for _, g in functions] for functions in parts]))

    def _for_parts(self, sample: Sample) -> dict[str, Any]:
        if not (isinstance(self.kernel, str) and self.kernel in KERNELS_OF_GAMMA):
            return {}
        # sub-problems have the gamma of all samples
        return {"gamma": find_gamma(self.kernel, self.gamma, sample.X, sample.masses)}


def list_shapes(kernel: KernelFunction, vectors: Array, c: Array, box: Array | None = None) -> Any:
    """Return (knots, values) of `sum_j c_j k(x, x_j)` by feature, over a box or the ranges of the kernel."""
    if not isinstance(kernel, Kernel):
        raise AttributeError(f"shape_functions_: the function {kernel!r} is not known to be a sum over features")
    return kernel.shape_functions(vectors, c, box)


@dataclass(frozen=True, eq=False)
class Expansion:
    """The function `f(x) + b = sum_i coefficients_i k(x, x_i) + b`."""

    kernel: KernelFunction
    vectors: Array  # x_i, (n_support, n_features); none of a precomputed kernel, whose samples are kernel values
    coefficients: Array  # u_i y_i, (n_support,)
    intercept: float  # b

    def __call__(self, X: Data) -> Array:
        """Evaluate on X (n, n_features), some samples at a time; returns (n,)."""
        return expand(self.kernel, np.asarray(X, np.float64), self.vectors, self.coefficients) + self.intercept


def certify_function(
    formulation: Formulation,
    y: Array,
    f: Array,
    b: float | None,
    norm: float,
    *,
    dual: float,
    rounding: float,
    note: str,
    errors: Array | float = 0.0,
    norm_error: float = 0.0,
) -> Certificate:
    """Hold a function with scores `f + b` and the squared norm `norm` against a dual value of a problem with a kernel.

    `errors` and `norm_error` bound what f and the norm are off by, `rounding` what the dual value is; b is the best
    intercept if it is None, where the formulation has one.
    """
    terms: Any = formulation.terms
    loss, penalty = terms
    if b is None:
        b = float(loss.best_intercept(f, y)) if formulation.intercept else 0.0
    z = y * (f + b)
    # an exponential loss overflows at margins that are far below 0
    with np.errstate(over="ignore", invalid="ignore"):
        # loss(z) + ridge / 2 |w|^2
        value = loss.value(z) + penalty.ridge / 2 * norm
        # at the worst of the errors of f and of f + b
        risen = loss.rise(z, errors + EPSILON * (np.abs(f) + abs(b)))
    rounding += risen + penalty.ridge / 2 * norm_error + EPSILON * abs(value)
    value, maximise = (-value, True) if formulation.maximise else (value, False)
    return Certificate.between(value, dual, maximise=maximise, rounding=rounding, note=note)
