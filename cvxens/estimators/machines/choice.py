"""How the P2 of an estimator is solved and its scores are evaluated: by kernel, memory and size."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.deadline import time_left
from cvxens.errors import InvalidInput
from cvxens.estimators.machines.kernels import KernelFunction, TrainingKernel
from cvxens.estimators.machines.training import AdditiveTrainer, Beginning, RowsTrainer, Trainer, libsvm, reference
from cvxens.memory import available
from cvxens.solvers.additive import AdditiveKernel, AdditiveModel, AdditiveSVM
from cvxens.solvers.blockwise import CachedRows, DenseRows, expand
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.types import Array

SMALL = 1000
"""Samples up to which a kernel matrix is the fastest way for any kernel."""

FIRST_ROWS = 64
"""Rows of a kernel matrix whose time is that of all, in proportion."""

MATRIX_SHARE = 0.25
"""Of the time that is left, for a kernel matrix: rows evaluated as they are wanted come further in less."""

Predictor: TypeAlias = Callable[[Any], Array]
"""From samples (n, n_features) to scores (n,)."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """f(x) + b = sum_i coefficients_i k(x, x_i) + b.

    Parameters
    ----------
    kernel : callable
        From two samples to the matrix between them.
    vectors : ndarray of shape (n_support, n_features)
        The support vectors x_i.
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


@dataclass(frozen=True, eq=False)
class MatrixExpansion:
    """The same for samples that are rows of kernel values, one value for each training sample."""

    coefficients: Array
    intercept: float

    def __call__(self, K: Any) -> Array:
        """Evaluate on K (n, n_training_samples); returns (n,)."""
        return np.asarray(K) @ self.coefficients + self.intercept


@dataclass(frozen=True, eq=False)
class Learner:
    """A training sample with its kernel, and what solves P2 on it.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The sample; a kernel matrix if the kernel is precomputed.
    kernel : TrainingKernel
        Of the sample.
    trainer : Trainer
        Solves for any labels and C.
    """

    X: NDArray
    kernel: TrainingKernel
    trainer: Trainer

    def predictor(self, solution: Any) -> Predictor:
        """What evaluates a solution on new samples: an additive model where the kernel is additive."""
        v = solution.problem.y * solution.u
        if self.kernel.given:
            return MatrixExpansion(v, solution.b)
        support = np.flatnonzero(v)
        if self.kernel.scale is None:
            return Expansion(self.kernel.function, np.asarray(self.X[support], np.float64), v[support], solution.b)
        support = support if len(support) else np.arange(1)
        return AdditiveModel.of(_on_support(solution, self.X, support, self.kernel.scale))


def _on_support(solution: Any, X: NDArray, support: NDArray[np.intp], scale: Array) -> SVMSolution[AdditiveSVM]:
    """A solution on its support vectors alone, which are sorted here, whatever solved it."""
    X = X[support]
    rows = np.ascontiguousarray(X.argsort(axis=0).T.astype(np.int32))
    kernel = AdditiveKernel(X, rows, np.take_along_axis(X.T, rows, axis=1), scale)
    problem = AdditiveSVM(kernel, solution.problem.y[support], solution.problem.C[support])
    point = {**solution.evaluated.point, "u": solution.u[support]}
    return SVMSolution(replace(solution.evaluated, problem=problem, point=point), solution.f[support])


@dataclass(frozen=True)
class Choice:
    """How P2 is to be solved.

    Parameters
    ----------
    kernel, gamma : object
        As an estimator takes them.
    solver : str
        "auto", or a key of `TRAINERS`.
    cache_size : float or None
        Room for kernel rows in MiB, where the matrix does not fit; None for a quarter of the memory that is left.
    limited : bool
        Whether the solver has to keep to a limit of time, which LIBSVM does not.
    """

    kernel: Any
    gamma: Any
    solver: Any
    cache_size: Any
    limited: bool

    def learner(self, X: Any, masses: Array | None = None) -> Learner:
        """Choose on a training sample, whose rows have masses, by kernel, size and memory.

        Raises
        ------
        InvalidInput
            An unknown kernel or solver, one that is not for the other, or a kernel matrix without room in memory.
        """
        known = ["auto", *TRAINERS]
        validation.one_of("solver", self.solver, known)
        kernel = TrainingKernel.of(self.kernel, self.gamma, X, masses)
        solver = self._fastest(kernel, len(X)) if self.solver == "auto" else self.solver
        return Learner(X, kernel, TRAINERS[solver](kernel, X, self.room))

    @property
    def room(self) -> float:
        """Bytes for kernel rows."""
        if self.cache_size is None:
            return available() / 4
        return 2**20 * validation.positive("cache_size", self.cache_size)

    def _fastest(self, kernel: TrainingKernel, n_samples: int) -> str:
        if n_samples <= SMALL:
            return "blockwise"
        if kernel.scale is not None:
            return "additive"
        return "libsvm" if fits(kernel, n_samples) and not self.limited else "blockwise"


def fits(kernel: TrainingKernel, n_samples: int) -> bool:
    """Whether the kernel matrix takes at most half of the memory that is left, or is there already."""
    return kernel.given or 16 * n_samples**2 <= available()


def _additive(kernel: TrainingKernel, X: Any, _room: float) -> Trainer:
    if kernel.scale is None:
        raise InvalidInput(
            "solver",
            f"found 'additive' for the kernel {kernel.kernel!r}",
            "give 'auto', or a sum of stump, histogram-intersection and decision-stump kernels",
        )
    return AdditiveTrainer(AdditiveKernel.of(X, kernel.scale))


def _blockwise(kernel: TrainingKernel, X: Any, room: float) -> Trainer:
    X = np.asarray(X, np.float64)
    whole = fits(kernel, len(X)) and (kernel.given or in_time(kernel, X))
    return RowsTrainer(DenseRows(kernel.matrix(X)) if whole else CachedRows(kernel.function, X, room), "blockwise")


def in_time(kernel: TrainingKernel, X: Array) -> bool:
    """Whether the kernel matrix takes a small part of the time that is left, as its first rows tell."""
    left = time_left()
    if left == inf:
        return True
    kernel.function(X[:1], X)  # compiles
    began = time.perf_counter()
    kernel.function(X[:FIRST_ROWS], X)
    return (time.perf_counter() - began) * len(X) / FIRST_ROWS <= MATRIX_SHARE * left


def _dense(solver: str, begin: Beginning, kernel: TrainingKernel, X: Any, _room: float) -> Trainer:
    needed, left = 8 * len(X) ** 2, available()
    if needed > left and not kernel.given:
        raise InvalidInput(
            "solver",
            f"found {solver!r} for {len(X):,} samples, whose kernel matrix takes {needed / 2**30:,.1f} GiB where "
            f"{left / 2**30:,.1f} GiB are left",
            "give 'blockwise', which keeps as many rows as there is room for, or a stump kernel, which needs none",
        )
    return RowsTrainer(DenseRows(kernel.matrix(np.asarray(X, np.float64))), solver, begin)


TRAINERS: Mapping[str, Callable[[TrainingKernel, Any, float], Trainer]] = {
    "additive": _additive,
    "blockwise": _blockwise,
    "libsvm": partial(_dense, "libsvm", libsvm),
    "reference": partial(_dense, "reference", reference),
}
"""What solves P2, made of a kernel, a sample, and the bytes that kernel rows may take."""
