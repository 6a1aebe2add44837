"""Support vector machines behind an estimator: a kernel on a sample, LL08 P2 there, and the function that comes of it.

`TrainingKernel` says which kernel it is: one that has a name, or anybody's own. A *trainer* holds its matrix on the
sample, as sorted features where the kernel is additive and else row by row, and solves P2 there for any labels and
prices of slack. A solution is evaluated on other samples by an `AdditiveModel` or an `Expansion`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate, Round
from cvxens.colgen import Formulation, formulations
from cvxens.errors import InvalidInput
from cvxens.estimators.base import REMEDIES, Attributes, Learner, check_shape, rounds_of, warn_of_gap
from cvxens.estimators.explanations import list_machine_terms
from cvxens.estimators.prices import PricePath, PriceSearch, Trial, stack_scores
from cvxens.estimators.samples import Accepts, Sample, class_factors
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
from cvxens.kernels.kernel import Kernel, check_inside
from cvxens.limits import Ending, TimeUp, available_memory, limit_time, time_left
from cvxens.problems import Problem
from cvxens.problems.maps import doubly_centred, factor
from cvxens.rounding import EPSILON, sum_error
from cvxens.solvers.additive import AdditiveKernel, AdditiveModel, AdditiveSVM, solve_additive_svm
from cvxens.solvers.blockwise import WHOLE, KernelFunction, KernelRows, KernelSVM, expand, solve_blockwise, solve_prices
from cvxens.solvers.svm_solution import SVMSolution, solve_svm_path
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

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

SMALL = 1000
"""Samples up to which a kernel matrix is the fastest way for any kernel."""


def measure_spread(X: Any, masses: Array | None = None) -> float:
    """Return the standard deviation of all numbers of X, rows counted by their masses; 1 if it is 0.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [4.0, 5.0]])
    >>> measure_spread(X), float(round(measure_spread(X, np.array([2.0, 1.0])) / X[[0, 0, 1]].std(), 9))
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
    "laplacian": (Laplacian, lambda X, masses: 1 / (X.shape[1] * measure_spread(X, masses))),
    "gaussian": (Gaussian, lambda X, masses: 1 / (X.shape[1] * measure_spread(X, masses) ** 2)),
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
    def from_sample(cls, kernel: Any, gamma: Any, X: Any, masses: Array | None = None) -> TrainingKernel:
        """Choose a kernel by name, or take one, on the training sample X (n_samples, n_features), rows with masses.

        `InvalidInput` for an unknown name, a gamma for a kernel that has none, or a sample outside the ranges.
        """
        made = _make_kernel(kernel, gamma, X, masses)
        if made == PRECOMPUTED:
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

    def evaluate(self, X: Any) -> Array:
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

    def check(self, X: Any) -> None:
        """Raise if a sample is outside the ranges that the kernel was given, which `function` does not know of."""
        if isinstance(self.kernel, Kernel):
            check_inside(self.kernel.domain(X.shape[1]), X)

    def measure_variance(self, X: Any, masses: Array) -> float:
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


def find_gamma(name: str, gamma: Any, X: Any, masses: Array | None) -> float:
    """Return the gamma of a named kernel on a sample: a number as it is, its default, or that of "variance"."""
    if gamma is None:
        return KERNELS_OF_GAMMA[name][1](X, masses)
    if isinstance(gamma, str) and gamma == "variance" and name == "gaussian":
        # TK07 section 4.2: k = exp(-|x - x'|^2 / beta), beta the mean of |x_i - mean|^2
        X = np.asarray(X, np.float64)
        p = np.full(len(X), 1 / len(X)) if masses is None else masses / masses.sum()
        return 1 / (float(p @ ((X - p @ X) ** 2).sum(axis=1)) or 1.0)
    return validation.positive("gamma", gamma)


def scale_price(kernel: TrainingKernel, X: Any, masses: Array) -> float:
    """Return the C that is `PRICE` for a kernel and a sample of variance 1; `PRICE` itself where there is none."""
    trace = kernel.measure_variance(X, masses)
    # a kernel so small that 1 / trace overflows learns nothing at any price that is a number
    return min(PRICE / trace, float(np.finfo(float).max)) if trace > 0 else PRICE


def find_room(cache_size: float | None) -> float:
    """Return the bytes that a kernel matrix may take: `cache_size` MiB, or half of the memory that is left."""
    return available_memory() / 2 if cache_size is None else 2**20 * validation.positive("cache_size", cache_size)


def _take_values(X: Any, _Z: Any) -> Any:
    """Return the samples: the kernel is precomputed."""
    return X


def _make_kernel(kernel: Any, gamma: Any, X: Any, masses: Array | None) -> Any:
    """Return the kernel of a name on a training sample, the one that is given, or "precomputed"."""
    name = kernel if isinstance(kernel, str) else ""
    if name in KERNELS_OF_GAMMA:
        return KERNELS_OF_GAMMA[name][0](find_gamma(name, gamma, X, masses))
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

    certificate_: Certificate = field(init=False)
    kernel_: Any = field(init=False)
    support_: Indices = field(init=False)
    support_vectors_: NDArray[Any] = field(init=False)
    dual_coef_: Array = field(init=False)
    intercept_: Array = field(init=False)
    dual_weights_: Array = field(init=False)
    kernel: Any
    _: KW_ONLY
    gamma: float | str | None = None
    max_time: float | None = None
    verbose: int = 0

    _list_terms = list_machine_terms

    @property
    def shape_functions_(self) -> Any:
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
        shares = []
        for part in self._parts():
            variations = np.array([np.abs(np.diff(values)).sum() for _, values in part.shape_functions_])
            shares.append(variations / max(float(variations.sum()), np.finfo(float).tiny))
        return np.mean(shares, axis=0)

    def _accepts(self) -> Accepts:
        return Accepts()

    def _for_parts(self, sample: Sample) -> dict[str, Any]:
        # sub-problems have the gamma of all samples
        is_open = isinstance(self.kernel, str) and (self.gamma is None or isinstance(self.gamma, str))
        if not (is_open and self.kernel in KERNELS_OF_GAMMA):
            return {}
        return {"gamma": find_gamma(self.kernel, self.gamma, sample.X, sample.masses)}


def list_shapes(kernel: KernelFunction, vectors: NDArray, c: Array, box: Array | None = None) -> Any:
    """Return (knots, values) of `sum_j c_j k(x, x_j)` by feature, over a box or the ranges of the kernel."""
    if not isinstance(kernel, Kernel):
        raise AttributeError(f"shape_functions_: the function {kernel!r} is not known to be a sum over features")
    return kernel.shape_functions(vectors, c, box)


@dataclass(frozen=True, eq=False)
class Expansion:
    """The function `f(x) + b = sum_i coefficients_i k(x, x_i) + b`."""

    kernel: KernelFunction
    vectors: NDArray  # x_i, (n_support, n_features); none of a precomputed kernel, whose samples are kernel values
    coefficients: Array  # u_i y_i, (n_support,)
    intercept: float  # b

    def __call__(self, X: Any) -> Array:
        """Evaluate on X (n, n_features), some samples at a time; returns (n,)."""
        return expand(self.kernel, np.asarray(X, np.float64), self.vectors, self.coefficients) + self.intercept


@dataclass(frozen=True)
class Limits:
    """The relative certified gap at which to stop, the seconds to stop after, and the seed of a solver's own sample."""

    tol: float
    max_time: float = inf
    random_state: Any = None


@dataclass(frozen=True, eq=False)
class Trainer(ABC):
    """A kernel on a sample, and a way, `solver`, to solve P2 there for any labels and prices."""

    kernel: TrainingKernel
    X: NDArray
    solver: str
    matrix: Any

    def take(self, rows: Indices) -> Self:
        """Return the trainer of some of the samples, given in ascending order; the matrix is not evaluated anew."""
        return replace(self, X=self.X[rows], matrix=self.matrix.among(rows))

    @abstractmethod
    def solve_path(self, y: Array, weights: Array, Cs: Sequence[float], limits: Limits) -> Sequence[SVMSolution[Any]]:
        """Solve for prices ``C weights``, every C from the solution of the one before; Ctrl-C ends the path."""

    def solve_prices(self, y: Array, weights: Array, Cs: Sequence[float], limits: Limits) -> Sequence[Any]:
        """Solve for ascending prices as `solve_path` does, up to the first that a limit of time has ended."""
        return take_solved(self.solve_path(y, weights, Cs, limits))

    def certify(self, solution: SVMSolution[Any]) -> Certificate:
        """Certify a solution of P2."""
        return solution.certificate

    def score(self, rows: Indices, trained: Indices, solutions: Sequence[Any]) -> Array:
        """Score samples of this trainer by solutions on others of it; returns (n_solutions, n_rows)."""
        trainer = self.take(trained)
        return np.stack([trainer.make_predictor(solution)(self.X[rows]) for solution in solutions])

    def make_predictor(self, solution: SVMSolution[Any]) -> AdditiveModel | Expansion:
        """Return the function from samples to f + b, over the support vectors alone."""
        if self.kernel.is_precomputed:
            return Expansion(self.kernel.function, np.zeros((1, 0)), solution.v, solution.b)
        if self.kernel.scale is not None:
            return AdditiveModel.from_expansion(self.X, self.kernel.scale, solution.v, solution.b)
        support = np.flatnonzero(solution.v)
        vectors = np.asarray(self.X[support], np.float64)
        return Expansion(self.kernel.function, vectors, solution.v[support], solution.b)


@dataclass(frozen=True, eq=False)
class AdditiveTrainer(Trainer):
    """The additive solver, on sorted features."""

    matrix: AdditiveKernel

    def solve_path(self, y: Array, weights: Array, Cs: Sequence[float], limits: Limits) -> Sequence[SVMSolution[Any]]:
        max_time = limits.max_time
        # of the time that is left, the certificate and the model get their part, which is that of 20 products
        if time_left() < inf:
            # the first product may compile
            self.matrix.product(np.ones(len(y)))
            began = time.perf_counter()
            self.matrix.product(np.ones(len(y)))
            of_product, left = time.perf_counter() - began, time_left()
            max_time = max(min(max_time, left - min(20 * of_product, left / 2)), np.finfo(float).eps)
        options = {"max_time": max_time, "random_state": validation.generator(limits.random_state)}
        return solve_svm_path(solve_additive_svm, AdditiveSVM.of(self.matrix, y, weights), Cs, limits.tol, **options)

    def certify(self, solution: SVMSolution[AdditiveSVM]) -> Certificate:
        return solution.problem.certify(solution)


@dataclass(frozen=True, eq=False)
class RowsTrainer(Trainer):
    """The block-wise solver, on rows of the kernel matrix, from 0 or from what cvxpy finds."""

    matrix: KernelRows

    def solve_path(self, y: Array, weights: Array, Cs: Sequence[float], limits: Limits) -> Sequence[SVMSolution[Any]]:
        problem, start = KernelSVM.of(self.matrix, y, weights), None
        if self.solver == "reference":
            priced = problem.priced(Cs[0] * problem.C)
            with suppress(TimeUp):
                start = priced.solution_at(_find_by_cvxpy(priced))
        return solve_svm_path(solve_blockwise, problem, Cs, limits.tol, start=start, max_time=limits.max_time)

    def solve_prices(self, y: Array, weights: Array, Cs: Sequence[float], limits: Limits) -> Sequence[Any]:
        # one compiled loop is not stopped by a limit of time
        if self.matrix.K is None or len(y) > WHOLE or self.solver == "reference" or time_left() < inf:
            return super().solve_prices(y, weights, Cs, limits)
        return solve_prices(KernelSVM.of(self.matrix, y, weights), Cs, limits.tol)

    def score(self, rows: Indices, trained: Indices, solutions: Sequence[Any]) -> Array:
        coefficients = np.stack([solution.v for solution in solutions], axis=1)
        return (self.matrix.cross(rows, trained, coefficients) + [solution.b for solution in solutions]).T


def make_trainer(kernel: TrainingKernel, X: Any, solver: Any, room: float) -> Trainer:
    """Choose how P2 is solved, by kernel, size and memory.

    `room` are the bytes that the kernel matrix may take. `InvalidInput` for an unknown solver,
    one that is not for the kernel, or a kernel matrix without room in memory.
    """
    if validation.one_of("solver", solver, ["auto", "additive", "blockwise", "reference"]) == "auto":
        solver = "additive" if kernel.scale is not None and len(X) > SMALL else "blockwise"
    if solver == "additive":
        if kernel.scale is None:
            raise InvalidInput(
                "solver",
                f"found 'additive' for the kernel {kernel.kernel!r}",
                "give 'auto', or a sum of stump, histogram-intersection and decision-stump kernels",
            )
        return AdditiveTrainer(kernel, X, solver, AdditiveKernel.of(X, kernel.scale))
    if solver == "blockwise":
        samples = np.asarray(X, np.float64)
        # of more samples than are one block, what is needed of a matrix is evaluated sooner than all of it
        if len(X) > WHOLE and isinstance(kernel.function, Kernel) and kernel.function.is_data_independent:
            return RowsTrainer(kernel, X, solver, KernelRows.of(kernel.function, samples))
        whole = kernel.is_precomputed or (8 * len(X) ** 2 <= room and _is_in_time(kernel, samples))
        rows = KernelRows.of_matrix(kernel.evaluate(samples)) if whole else KernelRows.of(kernel.function, samples)
        return RowsTrainer(kernel, X, solver, rows)
    needed, left = 8 * len(X) ** 2, available_memory()
    if needed > left and not kernel.is_precomputed:
        raise InvalidInput(
            "solver",
            f"found {solver!r} for {len(X):,} samples, whose kernel matrix takes {needed / 2**30:,.1f} GiB where "
            f"{left / 2**30:,.1f} GiB are left",
            "give 'blockwise', which evaluates what it needs, or a stump kernel, which needs none",
        )
    return RowsTrainer(kernel, X, solver, KernelRows.of_matrix(kernel.evaluate(np.asarray(X, np.float64))))


def _is_in_time(kernel: TrainingKernel, X: Array) -> bool:
    """Return True if the kernel matrix takes a quarter of the time that is left, as 64 rows tell; rows come further."""
    left = time_left()
    if left == inf:
        return True
    kernel.function(X[:1], X)  # compiles
    began = time.perf_counter()
    kernel.function(X[:64], X)
    return (time.perf_counter() - began) * len(X) / 64 <= left / 4


def _find_by_cvxpy(problem: KernelSVM) -> Array:
    """Solve LL08 P1 over the factored kernel."""
    K = doubly_centred(problem.rows.matrix())
    alike = (problem.C[0] == problem.C).all()
    formulation = formulations.svm(float(problem.C[0]) if alike else problem.C)
    return Problem(formulation, factor(K).F, problem.y).solve().duals["u"]


class MachinePath(PricePath):
    """Support vector machines on folds of a sample, with one kernel for all unless it is another one on a part.

    Every price of a fold starts from the solution of the one before, and nothing of the fold is kept but its scores.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shared = self._make_trainer(self._make_kernel(slice(None), self.search.sample.masses))

    def _make_kernel(self, rows: Any, masses: Array | None = None) -> TrainingKernel:
        at = self.estimator
        return TrainingKernel.from_sample(at.kernel, at.gamma, self.search.sample.X[rows], masses)

    def _make_trainer(self, kernel: TrainingKernel) -> Trainer:
        trainer: Trainer = self.estimator._make_trainer(kernel, self.search.sample.X)
        return trainer

    @property
    def usual(self) -> float:
        usual: float = self.estimator._price_on(self.shared.kernel, self.search.sample)
        return usual

    @property
    def prices(self) -> Sequence[float]:
        return [2.0**k * self.usual for k in range(-8, 9, 2)]

    def sweep(self, prices: Sequence[float]) -> None:
        self.search.tell(", ".join([f"{len(prices)} prices", *(f"{k}={v}" for k, v in self.others.items())]))
        found: list[Sequence[tuple[float, float]]] = []
        try:
            # one by one, so that those that are done are known
            for fold in self.search.map_folds(partial(self._score_fold, prices)):
                found += [fold]
        finally:
            # Ctrl-C leaves the folds that are done, a limit of time the prices that are done in all of them
            for c, price in enumerate(prices[: min(map(len, found), default=0)]):
                scores, gaps = zip(*(fold[c] for fold in found), strict=True)
                self.trials[price] = Trial(self, price, scores, max(gaps))

    def _score_fold(self, prices: Sequence[float], k: int) -> list[tuple[float, float]]:
        """Train at all prices while there is time; returns the score and the largest certified gap of each."""
        sample, (train, test) = self.search.sample, self.search.folds[k]
        part, rows, held_out = sample.part(train), np.flatnonzero(train), np.flatnonzero(test)
        weights = vars(self.estimator).get("class_weight")
        part = replace(part, weights=part.masses * class_factors(weights, part.given, part.masses))
        scores, gaps = [], []
        # of the time, as much as there are folds to be done beside this one and after it
        share = min(1.0, effective_n_jobs(self.search.n_jobs) / (len(self.search.folds) - k))
        with limit_time(share * time_left()):
            # the samples that are held out have no part in the kernel
            kernel, whole = self.shared.kernel, self.shared
            if not kernel.is_precomputed and not (own := self._make_kernel(rows)).equals(kernel):
                whole = self._make_trainer(own)
            trainer = whole.take(rows)
            for problem in self.estimator._problems(part):
                solutions = self.estimator._solve_prices(trainer, problem, prices)
                if not solutions:
                    return []
                scores.append(whole.score(held_out, rows, solutions))
                gaps.append([solution.relative_gap for solution in solutions])
        n_done = min(map(len, gaps))
        return [
            (self.search.score(test, stack_scores([of[c] for of in scores])), max(of[c] for of in gaps))
            for c in range(n_done)
        ]


def take_solved(solutions: Iterable[Any]) -> list[Any]:
    """Return the solutions of ascending prices up to the first that a limit of time has ended.

    Ctrl-C is raised, as it ends whatever the solutions are for.
    """
    found = []
    for solution in solutions:
        if solution.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt
        if solution.ending is Ending.MAX_TIME:
            break
        found.append(solution)
    return found


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


@dataclass(eq=False, repr=False)
class InfiniteEnsemble(KernelMachine):
    """A kernel machine with an intercept, over the infinite set of hypotheses that its kernel embodies (LL08).

    Parameters
    ----------
    tol : float
        The relative certified gap at which the fit is done.
    cache_size : float, optional
        MiB that a kernel matrix may take, by default half of the memory that is left; values of a larger one are
        evaluated whenever they are asked for.

    Attributes
    ----------
    kernel_ : Kernel or callable
        As it was made on the training sample.
    C_ : float
        C as a number.
    """

    history_: tuple[Round, ...] = field(init=False)
    C_: float = field(init=False)
    _kernel: TrainingKernel = field(init=False)
    _predictor: Any = field(init=False)
    kernel: Any = "stump"
    C: float | str = SCALE
    _: KW_ONLY
    tol: float = 1e-3
    cache_size: float | None = None

    @abstractmethod
    def _solve_again(self, trainer: Trainer, sample: Any) -> tuple[SVMSolution[Any], float]:
        """Solve the problem of the fit on another sample; returns its bound on the objective of a function too."""

    def _find_unit(self, sample: Any) -> float:
        """Return what the default price is in proportion to beside the kernel: the unit of the targets."""
        return 1.0

    def _price_on(self, kernel: TrainingKernel, sample: Any) -> float:
        """Return the price of a unit of slack, on a kernel."""
        if not isinstance(self.C, str):
            return validation.positive("C", self.C)
        validation.one_of("C", self.C, [SCALE])
        return self._find_unit(sample) * scale_price(kernel, sample.X, sample.masses)

    @abstractmethod
    def _make_trainer(self, kernel: TrainingKernel, X: Any, solver: str | None = None) -> Trainer:
        """Choose how the problem is solved on a sample, by another solver than that of the fit where one is named."""

    def _open_path(self, search: PriceSearch, others: Mapping[str, Any]) -> MachinePath:
        return MachinePath(search, others)

    def _train(
        self, sample: Any, solve: Callable[[Trainer, float], SVMSolution[Any]]
    ) -> tuple[Trainer, SVMSolution[Any], Attributes]:
        """Solve at the price on a sample, and warn where that falls short of `tol`; returns the fitted attributes."""
        # rows that are all alike are refused
        validation.samples(sample.X)
        kernel = TrainingKernel.from_sample(self.kernel, self.gamma, sample.X, sample.masses)
        # of a precomputed kernel, which is refused unless it is square, what the price is measured on
        trainer = self._make_trainer(kernel, sample.X)
        C = self._price_on(kernel, sample)
        with rounds_of(self) as rounds:
            rounds.tell(f"{trainer.solver}, {len(sample.X)} samples")
            solution = solve(trainer, C)
        certificate = trainer.certify(solution)
        self._warn(solution.ending, certificate)
        u = sample.spread(solution.u)
        support = np.flatnonzero(u)
        places = sample.places[support]
        fitted = {
            "certificate_": certificate,
            "history_": tuple(solution.history),
            "kernel_": kernel.kernel,
            "C_": C,
            "dual_weights_": u,
            "intercept_": np.asarray(solution.b),
            "support_": support,
            "dual_coef_": solution.problem.y[places] * u[support],
            "support_vectors_": sample.X[places],
            "_kernel": kernel,
        }
        return trainer, solution, fitted

    def _warn(self, ending: Ending, certificate: Certificate) -> None:
        warn_of_gap(self, certificate, self.tol, ending.value, REMEDIES.get(ending, "raise tol"))

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _refuse_precomputed(self) -> None:
        if self._is_precomputed:
            raise InvalidInput("kernel", "found a precomputed one", "give the kernel itself, a function k(X, Z)")

    def _certify(self, sample: Any, weights: Any, intercept: Any) -> Certificate:
        """Hold `sum_i v_i k(x_i, x) + b`, of coefficients with the sum 0, against the bound of a new solution."""
        self._refuse_precomputed()
        v = check_shape("weights", weights, self.dual_coef_.shape)
        b = None if intercept is None else float(check_shape("intercept", intercept, ()))
        kernel, n = self._kernel, len(sample.X)
        kernel.check(sample.X)
        if abs(total := float(v.sum())) > 1e-9 * float(np.abs(v).sum()):
            found = f"found the sum {total:.3g}"
            raise InvalidInput("weights", found, "give coefficients with the sum 0, as y'u = 0 is")
        trainer = self._make_trainer(kernel, sample.X, "blockwise" if kernel.scale is None else "additive")
        solution, dual = self._solve_again(trainer, sample)
        self._warn(solution.ending, solution.certificate)
        X = np.concatenate([sample.X, self.support_vectors_])
        if kernel.scale is None:
            X, function = X.astype(np.float64), kernel.function
            sizes = expand(lambda left, right: np.abs(function(left, right)), X, X[n:], np.abs(v))
            scores, errors = expand(function, X, X[n:], v), sum_error(len(v), 1.0) * sizes
        else:
            # a constant in the kernel, and terms in x alone, are nothing to coefficients with the sum 0
            additive = AdditiveKernel.of(X, kernel.scale)
            scores = additive.product(np.concatenate([np.zeros(n), v]), compensated=True)
            errors = np.full(len(X), additive.product_error(v))
        (f, at_vectors), (f_errors, errors_at_vectors) = np.split(scores, [n]), np.split(errors, [n])
        return certify_function(
            solution.problem.formulation,
            solution.problem.y,
            f,
            b,
            # |w|^2 = sum_ij v_i v_j k(x_i, x_j) = v'(K v), off by the errors of K v and of the sum
            max(float(v @ at_vectors), 0.0),
            errors=f_errors,
            norm_error=float(np.abs(v) @ errors_at_vectors) + sum_error(len(v), float(np.abs(v) @ np.abs(at_vectors))),
            note="over all hypotheses of the kernel as it was fitted",
            dual=dual,
            rounding=solution.certificate.rounding,
        )

    def _scores(self, X: Any) -> Array:
        self._kernel.check(X)
        return self._predictor(X)
