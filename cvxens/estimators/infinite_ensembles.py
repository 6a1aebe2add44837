"""Support vector machines over infinite sets of hypotheses, for classes and for numbers (LL08).

A *trainer* holds the matrix of a kernel on a sample, as sorted features where the kernel is additive and else row by
row, and solves P2, or the dual of a regression, there for any prices. `MachinePath` is the path of prices on folds.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, Self, TypeAlias, final

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate, Round
from cvxens.colgen import formulations
from cvxens.errors import InvalidInput
from cvxens.estimators.base import (
    REMEDIES,
    Attributes,
    Classifier,
    Regressor,
    check_shape,
    estimator,
    rounds_of,
    time_limit,
    warn_of_gap,
)
from cvxens.estimators.machines import (
    PRECOMPUTED,
    Expansion,
    KernelMachine,
    TrainingKernel,
    certify_function,
    list_shapes,
)
from cvxens.estimators.prices import PricePath, PriceSearch, Trial, stack_scores
from cvxens.estimators.regressors import TUBE
from cvxens.estimators.samples import Sample, TargetSample, Weighted, class_factors
from cvxens.kernels.kernel import Kernel
from cvxens.limits import Ending, TimeUp, available_memory, check_memory, limit_time, time_left
from cvxens.problems import Problem
from cvxens.problems.maps import doubly_centred, factor
from cvxens.problems.target_losses import EpsilonInsensitive, find_spread
from cvxens.proofs import Layout, Proof, prove_kernel
from cvxens.rounding import sum_error
from cvxens.solvers.additive import AdditiveKernel, AdditiveModel, AdditiveSVM, Cells, solve_additive_svm
from cvxens.solvers.blockwise import WHOLE, KernelRows, KernelSVM, KernelSVR, expand, solve_blockwise, solve_prices
from cvxens.solvers.svm_solution import SVMSolution, solve_svm_path
from cvxens.types import Array, Indices, KernelFunction, Matrix, Numbers
from cvxens.validation import RandomState

SCALE = "scale"
"""The name of a price, or of a grid of prices, in proportion to one over the variance in the space of the kernel."""

PRICE = 4.0
"""The price for a sample of variance 1 in the space of the kernel. Of 1/4, 1/2, ..., 64 those from 1 to 8 are about as
good by cross-validation, on tables from 208 to 1,000 samples as they are."""

SMALL = 1000
"""Samples up to which a kernel matrix is the fastest way for any kernel."""


Posed: TypeAlias = Any
"""An `AdditiveSVM`, a `KernelSVM` or a `KernelSVR`, whose prices are multiplied."""

Solved: TypeAlias = SVMSolution[Posed]
"""A solution of one."""

Solutions: TypeAlias = Sequence[Any]
"""Solutions along a path of prices; those of a compiled loop have coefficients, intercept and gap alone."""


def scale_price(kernel: TrainingKernel, X: Array, masses: Array) -> float:
    """Return the C that is `PRICE` for a kernel and a sample of variance 1; `PRICE` itself where there is none."""
    trace = kernel.measure_variance(X, masses)
    # a kernel so small that 1 / trace overflows learns nothing at any price that is a number
    return min(PRICE / trace, float(np.finfo(float).max)) if trace > 0 else PRICE


def find_room(cache_size: float | None) -> float:
    """Return the bytes that a kernel matrix may take: `cache_size` MiB, or half of the memory that is left."""
    return available_memory() / 2 if cache_size is None else 2**20 * validation.positive("cache_size", cache_size)


@dataclass(frozen=True, eq=False)
class Trainer(ABC):
    """A kernel on a sample, and a way, `solver`, to solve P2, or a regression, there for any prices."""

    kernel: TrainingKernel
    X: Numbers
    solver: str
    matrix: Any

    def take(self, rows: Indices) -> Self:
        """Return the trainer of some of the samples, given in ascending order; the matrix is not evaluated anew."""
        return replace(self, X=self.X[rows], matrix=self.matrix.among(rows))

    @abstractmethod
    def pose(self, y: Array, weights: Array) -> Posed:
        """Return P2 for labels, where prices are the weights."""

    @abstractmethod
    def solve_path(
        self, problem: Posed, Cs: Sequence[float], tol: float, max_time: float = inf, random_state: RandomState = None
    ) -> Sequence[Solved]:
        """Solve for multiples of prices, every one from the solution of the one before; Ctrl-C ends the path."""

    def solve_prices(self, problem: Posed, Cs: Sequence[float], tol: float, random_state: RandomState) -> Solutions:
        """Solve for ascending prices as `solve_path` does, up to the first that a limit of time has ended."""
        return take_solved(self.solve_path(problem, Cs, tol, random_state=random_state))

    def certify(self, solution: Solved) -> Certificate:
        """Certify a solution of P2."""
        return solution.certificate

    def score(self, rows: Indices, trained: Indices, solutions: Solutions) -> Array:
        """Score samples of this trainer by solutions on others of it; returns (n_solutions, n_rows)."""
        trainer = self.take(trained)
        return np.stack([trainer.make_predictor(solution)(self.X[rows]) for solution in solutions])

    def make_predictor(self, solution: Solved) -> AdditiveModel | Expansion:
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

    def pose(self, y: Array, weights: Array) -> AdditiveSVM:
        return AdditiveSVM.of(self.matrix, y, weights)

    def solve_path(
        self, problem: Posed, Cs: Sequence[float], tol: float, max_time: float = inf, random_state: RandomState = None
    ) -> Sequence[Solved]:
        # of the time that is left, the certificate and the model get their part, which is that of 20 products
        if time_left() < inf:
            # the first product may compile
            self.matrix.product(np.ones(len(self.X)))
            began = time.perf_counter()
            self.matrix.product(np.ones(len(self.X)))
            of_product, left = time.perf_counter() - began, time_left()
            max_time = max(min(max_time, left - min(20 * of_product, left / 2)), np.finfo(float).eps)
        options = {"max_time": max_time, "random_state": validation.generator(random_state)}
        return solve_svm_path(solve_additive_svm, problem, Cs, tol, **options)

    def certify(self, solution: SVMSolution[AdditiveSVM]) -> Certificate:
        return solution.problem.certify(solution)

    def make_predictor(self, solution: SVMSolution[AdditiveSVM]) -> AdditiveModel:
        return AdditiveModel.of(solution)


@dataclass(frozen=True, eq=False)
class RowsTrainer(Trainer):
    """The block-wise solver, on rows of the kernel matrix, from 0 or from what cvxpy finds."""

    matrix: KernelRows

    def pose(self, y: Array, weights: Array) -> KernelSVM:
        return KernelSVM.of(self.matrix, y, weights)

    def solve_path(
        self, problem: Posed, Cs: Sequence[float], tol: float, max_time: float = inf, random_state: RandomState = None
    ) -> Sequence[Solved]:
        start = None
        if self.solver == "reference":
            priced = problem.priced(Cs[0] * problem.C)
            # LL08 P1 over the factored kernel
            K, alike = doubly_centred(priced.rows.matrix()), (priced.C[0] == priced.C).all()
            formulation = formulations.svm(float(priced.C[0]) if alike else priced.C)
            with suppress(TimeUp):
                start = priced.solution_at(Problem(formulation, factor(K).F, priced.y).solve().duals["u"])
        return solve_svm_path(solve_blockwise, problem, Cs, tol, start=start, max_time=max_time)

    def solve_prices(self, problem: Posed, Cs: Sequence[float], tol: float, random_state: RandomState) -> Solutions:
        # one compiled loop is not stopped by a limit of time
        at_once = self.matrix.K is not None and len(self.X) <= WHOLE and self.solver != "reference"
        if at_once and time_left() == inf and isinstance(problem, KernelSVM):
            return solve_prices(problem, Cs, tol)
        return super().solve_prices(problem, Cs, tol, random_state)

    def score(self, rows: Indices, trained: Indices, solutions: Solutions) -> Array:
        coefficients = np.stack([solution.v for solution in solutions], axis=1)
        return (self.matrix.cross(rows, trained, coefficients) + [solution.b for solution in solutions]).T


def make_trainer(kernel: TrainingKernel, X: Array, solver: Any, room: float) -> Trainer:
    """Choose how P2 is solved, by kernel, size and memory.

    `room` are the bytes that the kernel matrix may take. `InvalidInput` for an unknown solver,
    one that is not for the kernel, or a kernel matrix without room in memory.
    """
    if validation.one_of("solver", solver, ["auto", "additive", "blockwise", "reference"]) == "auto":
        solver = "additive" if kernel.scale is not None and len(X) > SMALL else "blockwise"
    if solver == "additive":
        if kernel.scale is None:
            remedy = "give 'auto', or a sum of stump, histogram-intersection and decision-stump kernels"
            raise InvalidInput("solver", f"found 'additive' for the kernel {kernel.kernel!r}", remedy)
        return AdditiveTrainer(kernel, X, solver, AdditiveKernel.of(X, kernel.scale))
    samples, needed = np.asarray(X, np.float64), 8 * len(X) ** 2
    if solver == "reference" and not kernel.is_precomputed:
        remedy = "give 'blockwise', which evaluates what it needs, or a stump kernel, which needs none"
        check_memory("solver", f"found {solver!r} for {len(X):,} samples, whose kernel matrix takes", needed, remedy)
    whole = solver == "reference" or kernel.is_precomputed
    # of more samples than are one block, what is needed of a matrix is evaluated sooner than all of it
    by_rows = len(X) > WHOLE and isinstance(kernel.function, Kernel) and kernel.function.is_data_independent
    whole = whole or (not by_rows and needed <= room and _is_in_time(kernel, samples))
    rows = KernelRows.of_matrix(kernel.evaluate(samples)) if whole else KernelRows.of(kernel.function, samples)
    return RowsTrainer(kernel, X, solver, rows)


def _is_in_time(kernel: TrainingKernel, X: Array) -> bool:
    """Return True if the kernel matrix takes a quarter of the time that is left, as 64 rows tell; rows come further."""
    left = time_left()
    if left == inf:
        return True
    kernel.function(X[:1], X)  # compiles
    began = time.perf_counter()
    kernel.function(X[:64], X)
    return (time.perf_counter() - began) * len(X) / 64 <= left / 4


class MachinePath(PricePath):
    """Support vector machines on folds of a sample, with one kernel for all unless it is another one on a part.

    Every price of a fold starts from the solution of the one before, and nothing of the fold is kept but its scores.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        kernel, X = self._make_kernel(slice(None), self.search.sample.masses), self.search.sample.X
        self.shared: Trainer = self.estimator._make_trainer(kernel, X)

    def _make_kernel(self, rows: Any, masses: Array | None = None) -> TrainingKernel:
        at = self.estimator
        return TrainingKernel.from_sample(at.kernel, at.gamma, self.search.sample.X[rows], masses)

    @property
    def usual(self) -> float:
        return self.estimator._price_on(self.shared.kernel, self.search.sample)

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
                whole = self.estimator._make_trainer(own, sample.X)
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
    kernel: str | KernelFunction = "decision-stump"
    C: float | str = SCALE
    _: KW_ONLY
    tol: float = 1e-3
    cache_size: float | None = None

    @abstractmethod
    def _pose(self, trainer: Trainer, sample: Any) -> Posed:
        """Return the problem of a sample at the price 1."""

    @abstractmethod
    def _find_bound(self, solution: Solved) -> float:
        """Return the bound of a solution on the objective of a function."""

    def _find_unit(self, sample: Any) -> float:
        """Return what the default price is in proportion to beside the kernel: the unit of the targets."""
        return 1.0

    def _price_on(self, kernel: TrainingKernel, sample: Weighted) -> float:
        """Return the price of a unit of slack, on a kernel."""
        if not isinstance(self.C, str):
            return validation.positive("C", self.C)
        validation.one_of("C", self.C, [SCALE])
        return self._find_unit(sample) * scale_price(kernel, sample.X, sample.masses)

    @abstractmethod
    def _make_trainer(self, kernel: TrainingKernel, X: Array, solver: str | None = None) -> Trainer:
        """Choose how the problem is solved on a sample, by another solver than that of the fit where one is named."""

    def _open_path(self, search: PriceSearch, others: Mapping[str, Any]) -> MachinePath:
        return MachinePath(search, others)

    def _solve_at(self, trainer: Trainer, sample: object, C: float) -> Solved:
        """Solve the problem of a sample within the limits of the parameters."""
        tol, seed = validation.positive("tol", self.tol), validation.random_state(vars(self).get("random_state"))
        (solution,) = trainer.solve_path(self._pose(trainer, sample), [C], tol, time_limit(self), seed)
        return solution

    def _solve_prices(self, trainer: Trainer, sample: object, prices: Sequence[float]) -> Solutions:
        """Solve the problem of a sample at ascending prices, as `Trainer.solve_prices`."""
        tol, seed = validation.positive("tol", self.tol), validation.random_state(vars(self).get("random_state"))
        return trainer.solve_prices(self._pose(trainer, sample), prices, tol, seed)

    def _train(self, sample: Weighted) -> tuple[Trainer, Solved, Attributes]:
        """Solve at the price on a sample, and warn where that falls short of `tol`; returns the fitted attributes."""
        # rows that are all alike are refused
        validation.samples(sample.X)
        kernel = TrainingKernel.from_sample(self.kernel, self.gamma, sample.X, sample.masses)
        # of a precomputed kernel, which is refused unless it is square, what the price is measured on
        trainer, C = self._make_trainer(kernel, sample.X), self._price_on(kernel, sample)
        with rounds_of(self) as rounds:
            rounds.tell(f"{trainer.solver}, {len(sample.X)} samples")
            solution = self._solve_at(trainer, sample, C)
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

    def _certify(self, sample: Any, weights: ArrayLike, intercept: ArrayLike) -> Certificate:
        """Hold `sum_i v_i k(x_i, x) + b`, of coefficients with the sum 0, against the bound of a new solution."""
        self._refuse_precomputed()
        if "dual_coef_" not in vars(self):
            raise InvalidInput("model", "found one fitted over shards, where coefficients stayed", "see `certificate_`")
        v = check_shape("weights", weights, self.dual_coef_.shape)
        b = None if intercept is None else float(check_shape("intercept", intercept, ()))
        kernel, n = self._kernel, len(sample.X)
        kernel.check(sample.X)
        if abs(total := float(v.sum())) > 1e-9 * float(np.abs(v).sum()):
            found = f"found the sum {total:.3g}"
            raise InvalidInput("weights", found, "give coefficients with the sum 0, as y'u = 0 is")
        trainer = self._make_trainer(kernel, sample.X, "blockwise" if kernel.scale is None else "additive")
        solution = self._solve_at(trainer, sample, self.C_)
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
            dual=self._find_bound(solution),
            rounding=solution.certificate.rounding,
        )

    def _scores(self, X: Matrix) -> Array:
        self._kernel.check(X)
        return self._predictor(X)


@final
@estimator
class InfiniteEnsembleSVC(InfiniteEnsemble, Classifier):
    """An ensemble of infinitely many hypotheses: a support vector machine whose kernel embodies the set (LL08).

    Algorithm 1 of LL08: choose a set of hypotheses, take the kernel that embodies it, solve P2,
    ``min 1/2 u'(K o yy')u - sum u, 0 <= u <= C, y'u = 0``, and classify by the sign of ``sum_i u_i y_i k(x_i, x) + b``.
    With stumps that is an additive model, and neither training nor prediction needs a kernel matrix. From some C on it
    separates samples that differ in one feature from each other by stumps, and distinct ones by perceptrons (LL08
    Theorems 6 and 12).

    Parameters
    ----------
    kernel : str, Kernel or callable
        The set of hypotheses: "decision-stump" (every feature scaled to its range in the training sample, so that units
        do not matter), "stump" (features as they are), "middle-stump" (those of the training sample),
        "histogram-intersection", "perceptron", "decision-tree", "laplacian", "gaussian"; one of `cvxens.kernels`; any
        function k(X, Z), PSD at least on coefficients that sum to 0; or "precomputed", with kernel values for X. Ranges
        that are left open do not matter; those given are kept to.
    C : float or "scale"
        The price of a unit of slack, that of LL08. "scale" is 4 over the variance of the sample in the space of the
        kernel, ``mean of k(x, x) - mean of k(x, x')``, so that neither the units of X nor the mass of the kernel
        matter; of kernels that are not additive it is taken from at most 1,000 samples.
    solver : {"auto", "additive", "blockwise", "reference"}
        "additive" is for sums of stump, histogram-intersection and decision-stump kernels, and takes memory for the
        sample alone; "blockwise" keeps the kernel matrix up to 2,048 samples, and beyond evaluates what it needs of one
        of `cvxens.kernels`, or of another whose matrix takes more than `cache_size`; "reference" (cvxpy) needs the
        matrix, and does not keep to `max_time`. "auto" takes "additive" for more than 1,000 samples if it can, else
        "blockwise".
    random_state : int, RandomState instance or None
        Draws the part of the sample that is solved first, of 200,000 samples or more.

    Attributes
    ----------
    certificate_ : Certificate
        How far the machine is at most from the optimum of P2, over the whole set of hypotheses. `certify` is about P1
        with the kernel as it was fitted, and takes coefficients that have the sum 0.
    history_ : tuple of Round
        Objective, bound, support vectors and times, for every point that was certified.
    n_iter_ : int
        Newton steps of "additive", blocks of the others.
    solver_ : str
        What solved it.
    kernel_ : Kernel, callable or "precomputed"
        As it was made on the training sample.
    dual_weights_ : ndarray of shape (n_samples,)
        u, from 0 to C_ times the weight of the sample.
    intercept_ : ndarray of shape ()
        b, which goes with the kernel without terms in one sample alone, as y'u = 0 cancels those: with
        -1/2 |x - x'|_1 in place of histogram intersection, with `Linear` of x less the middle of the training sample.
    support_ : ndarray of int, shape (n_support,)
        The samples with u > 0; samples that are alike share theirs in proportion to their weights.
    dual_coef_ : ndarray of shape (n_support,)
        u_i y_i of these.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their features; rows of the matrix if that is precomputed.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = InfiniteEnsembleSVC().fit(X, y)
    >>> model.certificate_.holds(1e-3), model.score(X, y) > 0.95
    (True, True)
    >>> knots, values = model.shape_functions_[0]
    """

    source: ClassVar[str] = "LL08 Algorithm 1"
    _counts_beside: ClassVar = {**KernelMachine._counts_beside, "cache_size": ("solver", ["auto", "blockwise"])}

    n_iter_: int = field(init=False)
    solver_: str = field(init=False)
    _: KW_ONLY
    solver: str = "auto"
    random_state: RandomState = None
    class_weight: object = None
    n_jobs: int | None = None

    def _list_shapes(self) -> Any:
        return self._view_additive(lambda model: model.shape_functions)

    @property
    def cells_(self) -> Cells | list[Cells]:
        """The averaged stumps of LL08 Theorem 8 with their weights; as `shape_functions_`."""
        return self._view_additive(lambda model: model.cells)

    def _prove(
        self, sample: Sample, u: Any, tol: float | None, max_time: float, lay_out: Callable[[int], Layout]
    ) -> Proof:
        b = float(self.intercept_)
        if u is None:
            trainer = self._make_trainer(self._kernel, sample.X, "auto")
            tol, seed = 1e-9 if tol is None else tol, validation.random_state(self.random_state)
            (solution,) = trainer.solve_path(self._pose(trainer, sample), [self.C_], tol, max_time, seed)
            u, b = sample.spread(solution.u), solution.b
        if not isinstance(kernel := self._kernel.function, Kernel) or (stated := kernel.state(sample.X)) is None:
            remedy = "take that of stumps or perceptrons, the Laplacian or the Gaussian one"
            raise InvalidInput("kernel", f"found {self.kernel_!r:.100}, which no exact proof is known for", remedy)
        (name, gamma, scales), prices = stated, self.C_ * sample.weights
        formulation = formulations.svm(float(prices[0]) if (prices == prices[0]).all() else prices)
        layout = lay_out(sample.X.shape[1])
        return prove_kernel(formulation, sample.X, sample.signs, name, u, b, gamma=gamma, scales=scales, layout=layout)

    def _merges(self) -> bool:
        return not self._is_precomputed

    def _check(self, sample: Sample) -> None:
        if self._is_precomputed and not sample.shares.all():
            raise InvalidInput("sample_weight", "found weights of 0", "leave out these rows and columns of the kernel")

    def _solve(self, sample: Sample) -> Attributes:
        rows = sample.X
        if self._is_precomputed:
            # a sub-problem has the rows of some samples: the kernel matrix is between these
            validation.same_length("X", rows.T, len(sample.shares))
            sample = replace(sample, X=rows[:, np.flatnonzero(sample.shares)])
        trainer, solution, found = self._train(sample)
        predictor: Any = trainer.make_predictor(solution)
        if self._is_precomputed:
            # new samples are their kernel values with all given ones, also those of other sub-problems
            predictor = replace(predictor, coefficients=sample.spread(predictor.coefficients))
            found["support_vectors_"] = rows[sample.places[found["support_"]]]
        steps = solution.history[-1].steps
        return {**found, "n_iter_": steps, "solver_": trainer.solver, "_predictor": predictor}

    def _pose(self, trainer: Trainer, sample: Sample) -> Posed:
        return trainer.pose(sample.signs, sample.weights)

    def _find_bound(self, solution: Solved) -> float:
        # the optimum of P1 is minus that of P2
        return -solution.objective

    def _make_trainer(self, kernel: TrainingKernel, X: Array, solver: str | None = None) -> Trainer:
        return make_trainer(kernel, X, solver or self.solver, find_room(self.cache_size))

    def _view_additive(self, view: Callable[[AdditiveModel], Any]) -> Any:
        """Return a view of the additive model; a list over the sub-problems where there are several."""
        check_is_fitted(self)
        models = [part._predictor for part in self._parts()]
        if not all(isinstance(model, AdditiveModel) for model in models):
            raise AttributeError(f"the kernel {self.kernel!r} is not additive; that of stumps is")
        return self._show([view(model) for model in models])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags


@final
@estimator
class InfiniteEnsembleSVR(InfiniteEnsemble, Regressor):
    """Support vector regression over an infinite set of hypotheses, by the kernel that embodies it (LL08).

    min 1/2 |f|^2 + C sum_i max(0, |t_i - f(x_i) - b| - epsilon) over the functions f of the kernel, such as averages of
    infinitely many stumps. Its dual has two variables a sample, and is solved as that of `InfiniteEnsembleSVC`.

    Parameters
    ----------
    kernel : str, Kernel or callable
        The set of hypotheses, as of `InfiniteEnsembleSVC`; kernel values themselves are not taken.
    C : float or "scale"
        The price of a unit of deviation of a sample of weight 1. "scale" is the mean absolute deviation of the targets
        from their median, over the variance of the sample in the space of the kernel.
    epsilon : float, optional
        The deviation that costs nothing; by default a tenth of the mean absolute deviation from the median.
    gamma : float, optional
        Of "decision-tree", "laplacian" and "gaussian", as of `InfiniteEnsembleSVC`.

    Attributes
    ----------
    certificate_ : Certificate
        How far the function is at most from the optimum over the whole set of hypotheses.
    history_ : tuple of Round
        Objective, bound, support vectors and times, for every block.
    epsilon_ : float
        The deviation that costs nothing, as a number.
    dual_weights_ : ndarray of shape (n_samples,)
        u, between -C_ and C_ times the weight of the sample; their sum is 0.
    intercept_ : ndarray of shape ()
        b, which goes with the kernel without terms in one sample alone.
    support_ : ndarray of int, shape (n_support,)
        The samples with u other than 0.
    dual_coef_ : ndarray of shape (n_support,)
        u of these.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, t = load_diabetes(return_X_y=True)
    >>> model = InfiniteEnsembleSVR().fit(X, t)
    >>> model.certificate_.holds(1e-3), model.score(X, t) > 0.5
    (True, True)
    """

    source: ClassVar[str] = "Vapnik 1995; LL08 Algorithm 1"

    epsilon_: float = field(init=False)
    epsilon: float | None = None

    def _list_shapes(self) -> Any:
        kernel, vectors = self._predictor.kernel, self._predictor.vectors
        if isinstance(kernel, Kernel) and not len(vectors):
            # without support vectors the prediction is the intercept
            return [(np.zeros(1), np.zeros(1))] * self.n_features_in_
        box = np.stack([vectors.min(axis=0), vectors.max(axis=0)]) if len(vectors) else None
        return list_shapes(kernel, vectors, self._predictor.coefficients, box)

    def _solve(self, sample: TargetSample) -> Attributes:
        self._refuse_precomputed()
        # sums of distances are rounded in the order of memory, which data frames turn round
        sample = replace(sample, X=np.ascontiguousarray(sample.X))
        _, solution, found = self._train(sample)
        kept = np.flatnonzero(solution.u)
        vectors, function = np.asarray(sample.X[kept], np.float64), found["_kernel"].function
        predictor = Expansion(function, vectors, solution.u[kept], solution.b)
        epsilon = float(solution.problem.formulation.terms[0].epsilon)
        return {**found, "epsilon_": epsilon, "_predictor": predictor}

    def _find_unit(self, sample: TargetSample) -> float:
        # the price of a classifier is PRICE over the variance, for targets of -1 and +1 without noise
        return find_spread(sample.targets, sample.weights) / PRICE

    def _pose(self, trainer: Trainer, sample: TargetSample) -> KernelSVR:
        epsilon = TUBE * find_spread(sample.targets, sample.weights) if self.epsilon is None else self.epsilon
        return KernelSVR(trainer.matrix, EpsilonInsensitive(sample.targets, epsilon, sample.weights))

    def _find_bound(self, solution: Solved) -> float:
        return solution.certificate.dual

    def _certify(self, sample: TargetSample, weights: ArrayLike, intercept: ArrayLike) -> Certificate:
        # the deviation that costs nothing is that of the fit
        at = copy(self)
        at.epsilon = self.epsilon_
        return super(InfiniteEnsembleSVR, at)._certify(sample, weights, intercept)

    def _make_trainer(self, kernel: TrainingKernel, X: Array, solver: str | None = None) -> Trainer:
        return make_trainer(kernel, X, "blockwise", find_room(self.cache_size))

    def _scores(self, X: Matrix) -> Array:
        return super()._scores(np.ascontiguousarray(X))
