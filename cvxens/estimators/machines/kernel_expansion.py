"""What the kernel machines without an intercept share: a PSD kernel of low rank, and scores over its pivots."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Ending
from cvxens.deadline import Deadline, Pace, limit_time, time_left
from cvxens.estimators.base import BinaryClassifier, check_shape
from cvxens.estimators.machines.kernels import KernelFunction, TrainingKernel, gamma_of_parts, variation_shares
from cvxens.estimators.samples import Accepts, Sample
from cvxens.kernels.kernel import Kernel
from cvxens.solvers import LowRankKernel, incomplete_cholesky
from cvxens.solvers.blockwise import expand
from cvxens.types import Array

BLOCK = 2**22
"""Kernel values that are held at a time: 32 MiB."""

PRICE = 10.0
"""The default C, for kernels with k(x, x) = 1 on average."""

FACTOR_SHARE = 0.5
"""Of the time that is left, for the low-rank factor; Newton's steps cost less than it did."""

LARGE = 25_000
"""Samples up to which all kernel values are evaluated once, for the certificate."""

NEGLIGIBLE = 1e-6
"""The share of a quadratic form up to which a bound on what the low rank leaves out of it will do."""


LOW_RANK = "the low-rank kernel leaves out too much of the exact one"
"""Why a certificate may not hold at the tolerance that the low-rank kernel was solved to."""


@dataclass(frozen=True, eq=False)
class FixedKernel:
    """A kernel with all that it takes from the training sample, such as its ranges.

    Parameters
    ----------
    function : callable
        The kernel between any two samples within the ranges.
    box : ndarray of shape (2, n_features) or None
        The ranges, if they are those of the training sample: there is no threshold beyond, so hypotheses say of a
        sample outside what they say of the nearest one inside.
    """

    function: KernelFunction
    box: Array | None

    @classmethod
    def of(cls, kernel: Any, gamma: Any, X: Array, masses: Array | None = None) -> FixedKernel:
        """Choose a kernel by name, or take one, and fix it on the training sample X (n_samples, n_features)."""
        made = TrainingKernel.of(kernel, gamma, X, masses).kernel
        if not isinstance(made, Kernel) or made.is_data_independent:
            return cls(made, None)
        low, high = X.min(axis=0), X.max(axis=0)
        farthest = np.where(np.abs(low) > np.abs(high), low, high)
        return cls(made.with_ranges_of(np.stack([low, high, farthest])), np.stack([low, high]))

    def __call__(self, X: Any, Z: Any) -> Any:
        """Evaluate between samples X, from anywhere, and Z, within the ranges."""
        return self.function(self.within(X), Z)

    def within(self, X: Any) -> Any:
        """The samples within the ranges that hypotheses say the same of."""
        return X if self.box is None else np.clip(X, *self.box)


@dataclass(eq=False, repr=False)
class KernelExpansion(BinaryClassifier):
    """A function `f(x) = sum_j c_j k(x, x_j)` over some of the training samples.

    Parameters
    ----------
    kernel : str or callable
        "middle-stump" (all middle stumps: scaling features does not matter to it), "stump", "histogram-intersection",
        "decision-stump", "perceptron", "decision-tree", "laplacian", "gaussian", one of `cvxens.kernels`, or a function
        from two samples to the matrix between them; PSD. All but the first want features of one scale.
    gamma : float, optional
        Of the last three that have a name; by default half of its upper limit, 1 / (n_features X.std()), and
        1 / (n_features X.var()), samples counted by their weights; of several sub-problems, those of all samples.
    max_rank : int
        At most so many pivots of the incomplete Cholesky factor: up to so many samples it is exact.

    Attributes
    ----------
    kernel_ : FixedKernel
        The kernel as a function of two samples, with what it took from the training sample.
    support_ : ndarray of int, shape (n_support,)
        Training samples that scores are expanded over.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their features.
    dual_coef_ : ndarray of shape (n_support,)
        Coefficients c of ``f(x) = sum_j c_j k(x, x_j)``.
    intercept_ : ndarray of shape ()
        0.
    """

    certificate_: Certificate = field(init=False)
    kernel_: FixedKernel = field(init=False)
    support_: NDArray[np.intp] = field(init=False)
    support_vectors_: Array = field(init=False)
    dual_coef_: Array = field(init=False)
    intercept_: Array = field(init=False)
    dual_weights_: Array = field(init=False)
    kernel: Any = "middle-stump"
    _: KW_ONLY
    gamma: float | None = None
    max_rank: int = 500
    tol: float = 1e-4

    @property
    def shape_functions_(self) -> Any:
        """(knots, values) of every feature: f(x) = sum_d g_d(x_d), linear between knots, constant beyond.

        Of the kernels "middle-stump" (where a knot stands twice, g_d jumps), "stump", "histogram-intersection" and
        "decision-stump"; a list over the sub-problems where there are several.
        """
        check_is_fitted(self)
        found = []
        for part in self._parts():
            kernel = part.kernel_.function
            if not isinstance(kernel, Kernel):
                raise AttributeError(
                    f"shape_functions_: the function {kernel!r} is not known to be a sum over features"
                )
            found.append(kernel.shape_functions(part.support_vectors_, part.dual_coef_, part.kernel_.box))
        return self._show(found)

    @property
    def feature_importances_(self) -> Array:
        """The share of each feature in the sum of the total variations of `shape_functions_`, (n_features,).

        That is its share in the sum of |weights| of the stumps. Of sub-problems, the mean.
        """
        return np.mean([variation_shares(part.shape_functions_) for part in self._parts()], axis=0)

    @abstractmethod
    def _certified(self, kernel: FixedKernel, sample: Sample, f: Array, norm: float) -> Certificate:
        """Hold a function with scores f and squared norm `norm` against the optimum on a sample within the ranges."""

    def certify(
        self, X: Any, y: Any, *, sample_weight: Any = None, weights: Any = None
    ) -> Certificate | list[Certificate]:
        """Say how far the function, or another one over the same support vectors, is from the optimum on a sample.

        The kernel is as it was fitted: the function has the norm that it has, and the problem is solved anew on that
        sample for the bound. What the estimator leaves to be chosen by default follows from that sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its classes: those of the fitted sample, all of them.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`, where that takes them.
        weights : array-like, shaped as `dual_coef_`, optional
            Coefficients from anywhere; by default the fitted ones.

        Returns
        -------
        Certificate or list of Certificate
            Of the problem on that sample, with the exact kernel; a list over the sub-problems where there are several,
            for which weights are a list as well.
        """
        sample = self._read_again(X, y, sample_weight)
        return self._map_problems(type(self)._certify, sample, weights=self.dual_coef_ if weights is None else weights)

    def _certify(self, sample: Sample, weights: Any) -> Certificate:
        c = check_shape("weights", weights, self.dual_coef_.shape)
        inside = replace(sample, X=self.kernel_.within(validation.samples(sample.X)))
        norm = float(c @ self._expand(self.support_vectors_, c))
        return self._certified(self.kernel_, inside, self._expand(inside.X, c), norm)

    def _accepts(self) -> Accepts:
        return Accepts()

    def _fixed(self, sample: Sample) -> tuple[FixedKernel, Array]:
        """The kernel, and the sample as it takes it."""
        X = validation.samples(sample.X)
        return FixedKernel.of(self.kernel, self.gamma, X, sample.masses), X

    def _for_parts(self, sample: Sample) -> dict[str, Any]:
        """The gamma of sub-problems is that of all samples."""
        return gamma_of_parts(self.kernel, self.gamma, sample.X, sample.masses)

    def _low_rank(self, kernel: FixedKernel, X: Array) -> LowRankKernel:
        with limit_time(FACTOR_SHARE * time_left()):
            return incomplete_cholesky(kernel, X, validation.whole("max_rank", self.max_rank))

    def _softened(self: Any, kernel: FixedKernel, X: Array, sample: Sample) -> LowRankKernel:
        """The same with the ridge of squared slacks that an estimator's C and the weights of the samples mean."""
        K = self._low_rank(kernel, X)
        return K.softened(ridge_of(self.C, K.diagonal + K.residual, sample))

    def _expanded(
        self, sample: Sample, kernel: FixedKernel, support: NDArray[np.intp], coefficients: Array
    ) -> dict[str, Any]:
        """The fitted attributes of an expansion over the samples `support` of those that are kept."""
        kept = np.flatnonzero(sample.shares > 0)
        _, first = np.unique(sample.places[kept], return_index=True)
        return {
            "kernel_": kernel,
            "support_": kept[first][support],
            "support_vectors_": sample.X[support].astype(np.float64, copy=False),
            "dual_coef_": coefficients,
            "intercept_": np.zeros(()),
        }

    def _scores(self, X: Any) -> Array:
        return self._expand(X.astype(np.float64, copy=False), self.dual_coef_)

    def _expand(self, X: Array, coefficients: Array) -> Array:
        """Score samples by coefficients over the support vectors."""
        return expand(self.kernel_, X, self.support_vectors_, coefficients)


def shortfall(clock: Deadline, ending: Ending | None = None) -> tuple[str, str]:
    """Why a fit falls short of its tolerance, and what to do: it was cut short, or its rank is too low."""
    if clock.interrupted or ending is Ending.INTERRUPTED:
        return Ending.INTERRUPTED.value, "fit again to go further"
    if clock.cut or ending is Ending.MAX_TIME:
        return Ending.MAX_TIME.value, "raise max_time or tol, or lower max_rank"
    return LOW_RANK, "raise max_rank or tol"


def chosen(solvers: Mapping[str, Any], solver: Any) -> Any:
    """The solver of a name.

    Raises
    ------
    InvalidInput
        There is none.
    """
    return solvers[validation.one_of("solver", solver, solvers)]


def left_out(kernel: FixedKernel, X: Array, K: LowRankKernel, v: Array) -> float:
    """Compute v'E v, E = kernel(X, X) - G G'; (sum_i |v_i| sqrt(E_ii))^2 above `LARGE` samples or without the time."""
    kept = float(((K.G.T @ v) ** 2).sum())
    bound = float(np.abs(v) @ np.sqrt(K.residual)) ** 2
    used = np.flatnonzero(v)
    if len(used) > LARGE or bound <= NEGLIGIBLE * kept:
        return bound
    n_rows = max(1, BLOCK // max(len(used), 1))
    form, pace = 0.0, Pace()
    for first in range(0, len(used), n_rows):
        if not pace.allows_step():
            return bound
        rows = used[first : first + n_rows]
        form += float(v[rows] @ (kernel(X[rows], X[used]) @ v[used]))
    return min(bound, max(form - kept, 0.0))


def of_exact_kernel(certificate: Certificate, change: float, *, maximise: bool) -> Certificate:
    """The certificate of a problem of low rank as one of the exact kernel, from how that changes the dual value.

    The primal value stays: the function is one of the exact kernel, with the same norm and the same scores.
    """
    return Certificate.between(
        certificate.primal,
        certificate.dual + change,
        maximise=maximise,
        residuals=certificate.residuals,
        repair=certificate.repair,
        rounding=certificate.rounding,
        note="for the exact kernel",
    )


def ridge_of(C: Any, diagonal: Array, sample: Sample) -> Array:
    """1 / (C weight), the ridge of squared slacks; C is `PRICE` by default for kernels with k(x, x) = 1 on average."""
    price = PRICE / average(diagonal, sample) if C is None else validation.positive("C", C)
    return 1 / (price * sample.weights)


def average(diagonal: Array, sample: Sample) -> float:
    """The mean of k(x, x) over the sample as it was given; 1 of a kernel that is 0."""
    mean = float(np.average(diagonal, weights=sample.masses))
    return mean if mean > 0 else 1.0
