"""LL08 P2 behind an estimator: a kernel on a sample, its matrix, a solver, and the function that comes of it.

`TrainingKernel` says which kernel it is. A *trainer* holds its matrix on a sample, as sorted features where the kernel
is additive and else row by row, and solves P2 there for any labels and prices of slack. A solution is evaluated on
other samples by an `AdditiveModel` or an `Expansion`.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import formulations
from cvxens.deadline import TimeUp, time_left
from cvxens.errors import InvalidInput, SolverFallbackWarning
from cvxens.estimators.machines.kernels import KernelFunction, TrainingKernel
from cvxens.memory import available
from cvxens.problems import Problem
from cvxens.problems.losses import Hinge
from cvxens.problems.maps import doubly_centred, factor
from cvxens.rounding import EPSILON, sum_error
from cvxens.solvers.additive import AdditiveKernel, AdditiveModel, AdditiveSVM, solve_additive_path
from cvxens.solvers.blockwise import CachedRows, DenseRows, KernelSVM, Rows, expand, solve_blockwise_path
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

SMALL = 1000
"""Samples up to which a kernel matrix is the fastest way for any kernel."""

FIRST_ROWS = 64
"""Rows of a kernel matrix whose time is that of all, in proportion."""

MATRIX_SHARE = 0.25
"""Of the time that is left, for a kernel matrix: rows evaluated as they are wanted come further in less."""

MAX_STEPS = 1_000_000
"""Steps of LIBSVM, or 1000 per sample where that is more; the block-wise solver goes on from there."""

PRODUCTS_AFTER = 20
"""The time that the certificate and the model take after an additive problem is solved, in products with the kernel."""

UNBALANCED = 1e-9
"""The sum of coefficients, relative to that of their absolute values, that is rounding."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """f(x) + b = sum_i coefficients_i k(x, x_i) + b.

    Parameters
    ----------
    kernel : callable
        From two samples to the matrix between them.
    vectors : ndarray of shape (n_support, n_features)
        The support vectors x_i; nothing of a precomputed kernel, whose samples are rows of kernel values.
    coefficients : ndarray of shape (n_support,)
        u_i y_i.
    intercept : float
        b.
    """

    kernel: KernelFunction
    vectors: NDArray
    coefficients: Array
    intercept: float

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
    """A kernel on a sample, and a way to solve P2 there for any labels and prices.

    Parameters
    ----------
    kernel : TrainingKernel
        The kernel.
    X : ndarray of shape (n_samples, n_features)
        The sample; a kernel matrix if the kernel is precomputed.
    solver : str
        A key of `TRAINERS`.
    """

    kernel: TrainingKernel
    X: NDArray
    solver: str

    @abstractmethod
    def take(self, rows: Indices) -> Trainer:
        """Return the trainer of some of the samples, given in ascending order; the matrix is not evaluated anew."""

    @abstractmethod
    def solve_path(self, y: Array, weights: Array, Cs: Sequence[float], limits: Limits) -> Sequence[SVMSolution[Any]]:
        """Solve for prices ``C weights``, every C from the solution of the one before; Ctrl-C ends the path."""

    @abstractmethod
    def certify(self, solution: SVMSolution[Any]) -> Certificate:
        """Certify a solution of P2."""

    def score(self, rows: Indices, trained: Indices, solutions: Sequence[SVMSolution[Any]]) -> Array:
        """Score samples of this trainer by solutions on others of it; returns (n_solutions, n_rows)."""
        trainer = self.take(trained)
        return np.stack([trainer.make_predictor(solution)(self.X[rows]) for solution in solutions])

    def make_predictor(self, solution: SVMSolution[Any]) -> AdditiveModel | Expansion:
        """Return the function from samples to f + b, over the support vectors alone."""
        v = solution.problem.y * solution.u
        if self.kernel.given:
            return Expansion(self.kernel.function, np.zeros((1, 0)), v, solution.b)
        support = np.flatnonzero(v)
        if self.kernel.scale is None:
            return Expansion(self.kernel.function, np.asarray(self.X[support], np.float64), v[support], solution.b)
        # whatever solved it, the support vectors are sorted here
        support = support if len(support) else np.arange(1)
        X = self.X[support]
        rows = np.ascontiguousarray(X.argsort(axis=0).T.astype(np.int32))
        kernel = AdditiveKernel(X, rows, np.take_along_axis(X.T, rows, axis=1), self.kernel.scale)
        problem = AdditiveSVM(kernel, solution.problem.y[support], solution.problem.C[support])
        point = {**solution.evaluated.point, "u": solution.u[support]}
        return AdditiveModel.of(
            SVMSolution(replace(solution.evaluated, problem=problem, point=point), solution.f[support])
        )


@dataclass(frozen=True, eq=False)
class AdditiveTrainer(Trainer):
    """The additive solver, on sorted features.

    Parameters
    ----------
    matrix : AdditiveKernel
        The kernel matrix, as its products.
    """

    matrix: AdditiveKernel

    def take(self, rows: Indices) -> AdditiveTrainer:
        """Keep the order of the features."""
        return replace(self, X=self.X[rows], matrix=self.matrix.among(rows))

    def solve_path(self, y: Array, weights: Array, Cs: Sequence[float], limits: Limits) -> Sequence[SVMSolution[Any]]:
        """Solve by Newton's method; of a limit of time, the certificate and the model get their part."""
        max_time = limits.max_time
        if (left := time_left()) < inf:
            began = time.perf_counter()
            self.matrix.product(np.ones(len(y)))
            of_product = time.perf_counter() - began
            max_time = max(min(max_time, left - PRODUCTS_AFTER * of_product), np.finfo(float).eps)
        options = {"max_time": max_time, "random_state": validation.generator(limits.random_state)}
        return solve_additive_path(AdditiveSVM.of(self.matrix, y, weights), Cs, limits.tol, **options)

    def certify(self, solution: SVMSolution[AdditiveSVM]) -> Certificate:
        """Certify by products with the kernel."""
        return solution.problem.certify(solution)


@dataclass(frozen=True, eq=False)
class RowsTrainer(Trainer):
    """The block-wise solver, on rows of the kernel matrix.

    Parameters
    ----------
    matrix : Rows
        The kernel matrix, or as many of its rows as there is room for.
    find_start : callable, optional
        Finds multipliers to start from, by LIBSVM or cvxpy, for a problem whose matrix is in memory.
    """

    matrix: Rows
    find_start: Callable[[KernelSVM, float], Array] | None = None

    def take(self, rows: Indices) -> RowsTrainer:
        """Keep the rows that were evaluated."""
        return replace(self, X=self.X[rows], matrix=self.matrix.among(rows))

    def solve_path(self, y: Array, weights: Array, Cs: Sequence[float], limits: Limits) -> Sequence[SVMSolution[Any]]:
        """Solve block by block."""
        problem, start = KernelSVM.of(self.matrix, y, weights), None
        if self.find_start is not None:
            priced = problem.priced(Cs[0] * problem.C)
            with suppress(TimeUp):
                start = priced.solution_at(self.find_start(priced, limits.tol))
        return solve_blockwise_path(problem, Cs, limits.tol, start=start, max_time=limits.max_time)

    def certify(self, solution: SVMSolution[KernelSVM]) -> Certificate:
        """Certify by the one product with the kernel that the solution holds."""
        return solution.certificate

    def score(self, rows: Indices, trained: Indices, solutions: Sequence[SVMSolution[Any]]) -> Array:
        """Multiply by the part of the matrix between the two."""
        coefficients = np.stack([solution.problem.y * solution.u for solution in solutions], axis=1)
        return (self.matrix.cross(rows, trained, coefficients) + [solution.b for solution in solutions]).T


def make_trainer(kernel: TrainingKernel, X: Any, solver: Any, room: float, *, limited: bool = False) -> Trainer:
    """Choose how P2 is solved, by kernel, size and memory.

    Parameters
    ----------
    kernel : TrainingKernel
        The kernel on the sample.
    X : ndarray of shape (n_samples, n_features)
        The sample.
    solver : str
        "auto", or a key of `TRAINERS`.
    room : float
        Bytes for kernel rows, where the matrix does not fit.
    limited : bool
        True if the solver has to keep to a limit of time, which LIBSVM does not.

    Raises
    ------
    InvalidInput
        An unknown solver, one that is not for the kernel, or a kernel matrix without room in memory.
    """
    if validation.one_of("solver", solver, ["auto", *TRAINERS]) == "auto":
        if len(X) <= SMALL:
            solver = "blockwise"
        elif kernel.scale is not None:
            solver = "additive"
        else:
            solver = "libsvm" if _has_room(kernel, len(X)) and not limited else "blockwise"
    return TRAINERS[solver](kernel, X, solver, room)


def _make_additive(kernel: TrainingKernel, X: Any, solver: str, _room: float) -> Trainer:
    if kernel.scale is None:
        raise InvalidInput(
            "solver",
            f"found 'additive' for the kernel {kernel.kernel!r}",
            "give 'auto', or a sum of stump, histogram-intersection and decision-stump kernels",
        )
    return AdditiveTrainer(kernel, X, solver, AdditiveKernel.of(X, kernel.scale))


def _make_blockwise(kernel: TrainingKernel, X: Any, solver: str, room: float) -> Trainer:
    samples = np.asarray(X, np.float64)
    whole = _has_room(kernel, len(X)) and (kernel.given or _is_in_time(kernel, samples))
    rows = DenseRows(kernel.matrix(samples)) if whole else CachedRows(kernel.function, samples, room)
    return RowsTrainer(kernel, X, solver, rows)


def _make_dense(kernel: TrainingKernel, X: Any, solver: str, _room: float) -> Trainer:
    needed, left = 8 * len(X) ** 2, available()
    if needed > left and not kernel.given:
        raise InvalidInput(
            "solver",
            f"found {solver!r} for {len(X):,} samples, whose kernel matrix takes {needed / 2**30:,.1f} GiB where "
            f"{left / 2**30:,.1f} GiB are left",
            "give 'blockwise', which keeps as many rows as there is room for, or a stump kernel, which needs none",
        )
    rows = DenseRows(kernel.matrix(np.asarray(X, np.float64)))
    return RowsTrainer(kernel, X, solver, rows, _find_by_libsvm if solver == "libsvm" else _find_by_cvxpy)


TRAINERS: Mapping[str, Callable[[TrainingKernel, Any, str, float], Trainer]] = {
    "additive": _make_additive,
    "blockwise": _make_blockwise,
    "libsvm": _make_dense,
    "reference": _make_dense,
}
"""The makers of trainers, of a kernel, a sample, the solver's name, and the bytes that kernel rows may take."""


def _has_room(kernel: TrainingKernel, n_samples: int) -> bool:
    """Return True if the kernel matrix takes at most half of the memory that is left, or is there already."""
    return kernel.given or 16 * n_samples**2 <= available()


def _is_in_time(kernel: TrainingKernel, X: Array) -> bool:
    """Return True if the kernel matrix takes a small part of the time that is left, as its first rows tell."""
    left = time_left()
    if left == inf:
        return True
    kernel.function(X[:1], X)  # compiles
    began = time.perf_counter()
    kernel.function(X[:FIRST_ROWS], X)
    return (time.perf_counter() - began) * len(X) / FIRST_ROWS <= MATRIX_SHARE * left


def _find_by_libsvm(problem: KernelSVM, tol: float) -> Array:
    n_samples = len(problem.y)
    model = SVC(
        C=1.0, kernel="precomputed", tol=min(tol, 1e-3), cache_size=1000, max_iter=max(MAX_STEPS, 1000 * n_samples)
    )
    u = np.zeros(n_samples)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(problem.rows.block(np.arange(n_samples)), problem.y, sample_weight=problem.C)
    except ValueError as error:
        # it says so where its multipliers overflow; the block-wise solver begins at 0 then
        warnings.warn(f"libsvm: {error}; solved by 'blockwise' instead", SolverFallbackWarning, stacklevel=2)
        return u
    u[model.support_] = np.abs(model.dual_coef_[0])
    return u


def _find_by_cvxpy(problem: KernelSVM, _tol: float) -> Array:
    """Solve LL08 P1 over the factored kernel."""
    K = doubly_centred(problem.rows.block(np.arange(len(problem.y))))
    alike = (problem.C[0] == problem.C).all()
    formulation = formulations.svm(float(problem.C[0]) if alike else problem.C)
    return Problem(formulation, factor(K).F, problem.y).solve().duals["u"]


def certify_expansion(
    trainer: Trainer, machine: Expansion, y: Array, prices: Array, limits: Limits
) -> tuple[Certificate, SVMSolution[Any]]:
    """Hold a machine against LL08 P1 on the sample of a trainer, in the same space: P2 is solved there for the bound.

    Parameters
    ----------
    trainer : Trainer
        The kernel of the machine on the sample.
    machine : Expansion
        Any coefficients v with the sum 0 over any support vectors; an intercept of NaN stands for the best one.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    prices : ndarray of shape (n_samples,)
        The prices of slack, C_i.
    limits : Limits
        Of the solver of P2.

    Returns
    -------
    Certificate, SVMSolution
        The certificate of the machine, and the solution of P2.

    Raises
    ------
    InvalidInput
        The sum of the coefficients is not 0.
    """
    v, b = machine.coefficients, machine.intercept
    if abs(total := float(v.sum())) > UNBALANCED * float(np.abs(v).sum()):
        raise InvalidInput("weights", f"found the sum {total:.3g}", "give coefficients with the sum 0, as y'u = 0 is")
    (solution,) = trainer.solve_path(y, prices, [1.0], limits)
    X = np.concatenate([trainer.X, machine.vectors])
    (f, at_vectors), (f_errors, errors_at_vectors) = (np.split(a, [len(y)]) for a in _score(trainer.kernel, X, v))
    hinge = Hinge(prices)
    b = float(hinge.best_intercept(f, y)) if np.isnan(b) else b
    # P1: 1/2 |w|^2 + sum_i C_i max(0, 1 - z_i), with |w|^2 = sum_ij v_i v_j k(x_i, x_j)
    z = y * (f + b)
    value = max(float(v @ at_vectors), 0.0) / 2 + hinge.value(z)
    # at the worst of the errors of f, of f + b, and of the squared norm
    risen = hinge.value(z - f_errors - EPSILON * (np.abs(f) + np.abs(b))) - hinge.value(z)
    size = float(np.abs(v) @ np.abs(at_vectors)) / 2
    of_norm = float(np.abs(v) @ errors_at_vectors) / 2 + sum_error(len(v), size)
    certificate = Certificate.between(
        value,
        -solution.objective,
        residuals={},
        repair={},
        rounding=risen + of_norm + sum_error(len(y), value) + solution.certificate.rounding,
        note="over all hypotheses of the kernel as it was fitted",
    )
    return certificate, solution


def _score(kernel: TrainingKernel, X: NDArray, v: Array) -> tuple[Array, Array]:
    """Evaluate f on samples that end with the support vectors, and bound its rounding errors."""
    if kernel.scale is None:
        X = X.astype(np.float64)
        vectors, function = X[len(X) - len(v) :], kernel.function
        sizes = expand(lambda left, right: np.abs(function(left, right)), X, vectors, np.abs(v))
        return expand(function, X, vectors, v), sum_error(len(v), 1.0) * sizes
    # a constant in the kernel, and terms in x alone, are nothing to coefficients with the sum 0
    additive = AdditiveKernel.of(X, kernel.scale)
    spread = np.concatenate([np.zeros(len(X) - len(v)), v])
    return additive.product(spread, compensated=True), np.full(len(X), additive.product_error(v))
