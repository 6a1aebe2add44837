"""The solvers of LL08 P2 behind an estimator, and the choice among them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import formulations
from cvxens.deadline import TimeUp, time_left
from cvxens.errors import SolverFallbackWarning
from cvxens.problems import Problem
from cvxens.problems.maps import doubly_centred, factor
from cvxens.solvers.additive import (
    AdditiveKernel,
    AdditiveModel,
    AdditiveSVM,
    solve_additive_path,
)
from cvxens.solvers.blockwise import KernelSVM, Rows, solve_blockwise_path
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.types import Array

MAX_STEPS = 1_000_000
"""Steps of LIBSVM, or 1000 per sample where that is more; the block-wise solver goes on from there."""


PRODUCTS_AFTER = 20
"""What the certificate and the model take once an additive problem is solved, in products with the kernel."""

Beginning: TypeAlias = Callable[[KernelSVM, float], Array]
"""Finds multipliers for a problem whose kernel matrix is in memory."""


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Parameters
    ----------
    tol : float
        Relative certified gap.
    max_time : float
        Seconds.
    random_state : object
        Draws the part of a large sample that is solved first.
    """

    tol: float
    max_time: float = inf
    random_state: Any = None


class Trainer(Protocol):
    """A way to solve P2 on a sample, for any labels and C."""

    @property
    def solver(self) -> str:
        """Its name."""

    def among(self, chosen: Any, /) -> Any:
        """The same on some of the samples, given in ascending order."""

    def path(self, y: Array, weights: Array, Cs: Any, limits: Limits, /) -> Sequence[Any]:
        """Solve for prices ``C weights``, every C of `Cs` from the solution of the one before; Ctrl-C ends it."""

    def certificate(self, solution: Any, /) -> Certificate:
        """Certify a solution."""

    def scores(self, rows: Any, trained: Any, solutions: Sequence[Any], /) -> Array:
        """Score samples by solutions that were found among others; returns (n_solutions, n_rows)."""


@dataclass(frozen=True, eq=False)
class AdditiveTrainer:
    """The additive solver."""

    kernel: AdditiveKernel
    solver: str = "additive"

    def among(self, chosen: Any) -> AdditiveTrainer:
        """The same on some of the samples."""
        return replace(self, kernel=self.kernel.among(chosen))

    def path(self, y: Array, weights: Array, Cs: Any, limits: Limits) -> Sequence[SVMSolution[AdditiveSVM]]:
        """Solve P2 along C."""
        max_time = limits.max_time
        if (left := time_left()) < inf:
            max_time = max(min(max_time, left - PRODUCTS_AFTER * self._seconds_of_product()), np.finfo(float).eps)
        options = {"max_time": max_time, "random_state": validation.generator(limits.random_state)}
        return solve_additive_path(AdditiveSVM.of(self.kernel, y, weights), Cs, limits.tol, **options)

    def _seconds_of_product(self) -> float:
        began = time.perf_counter()
        self.kernel.product(np.ones(self.kernel.n_samples))
        return time.perf_counter() - began

    def certificate(self, solution: SVMSolution[AdditiveSVM]) -> Certificate:
        """Certify, by products with the kernel."""
        return solution.problem.certify(solution)

    def scores(self, rows: Any, trained: Any, solutions: Sequence[SVMSolution[AdditiveSVM]]) -> Array:
        """Evaluate the additive models."""
        return np.stack([AdditiveModel.of(solution)(self.kernel.X[rows]) for solution in solutions])


@dataclass(frozen=True, eq=False)
class RowsTrainer:
    """The block-wise solver, from a start that another one finds, if there is one."""

    rows: Rows
    solver: str
    begin: Beginning | None = None

    def among(self, chosen: Any) -> RowsTrainer:
        """The same on some of the samples."""
        return replace(self, rows=self.rows.among(chosen))

    def path(self, y: Array, weights: Array, Cs: Any, limits: Limits) -> Sequence[SVMSolution[KernelSVM]]:
        """Solve P2 along C."""
        problem = KernelSVM.of(self.rows, y, weights)
        start = None
        if self.begin is not None:
            priced = problem.priced(Cs[0] * problem.C)
            with suppress(TimeUp):
                start = priced.solution_at(self.begin(priced, limits.tol))
        return solve_blockwise_path(problem, Cs, limits.tol, start=start, max_time=limits.max_time)

    def certificate(self, solution: SVMSolution[KernelSVM]) -> Certificate:
        """Certify, by one product with the kernel, which the solution holds."""
        return solution.certificate

    def scores(self, rows: Any, trained: Any, solutions: Sequence[SVMSolution[KernelSVM]]) -> Array:
        """Expand in the kernel."""
        coefficients = np.stack([solution.problem.y * solution.u for solution in solutions], axis=1)
        return (self.rows.cross(rows, trained, coefficients) + [solution.b for solution in solutions]).T


def libsvm(problem: KernelSVM, tol: float) -> Array:
    """Multipliers by LIBSVM."""
    model = SVC(
        C=1.0,
        kernel="precomputed",
        tol=min(tol, 1e-3),
        cache_size=1000,
        max_iter=max(MAX_STEPS, 1000 * len(problem.y)),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(problem.rows.block(np.arange(len(problem.y))), problem.y, sample_weight=problem.C)
    except ValueError as error:
        # it says so where its multipliers overflow; the block-wise solver begins at 0 then
        warnings.warn(f"libsvm: {error}; solved by 'blockwise' instead", SolverFallbackWarning, stacklevel=2)
        return np.zeros(len(problem.y))
    u = np.zeros(len(problem.y))
    u[model.support_] = np.abs(model.dual_coef_[0])
    return u


def reference(problem: KernelSVM, _tol: float) -> Array:
    """Multipliers by cvxpy: LL08 P1 over the factored kernel."""
    K = doubly_centred(problem.rows.block(np.arange(len(problem.y))))
    alike = (problem.C[0] == problem.C).all()
    formulation = formulations.svm(float(problem.C[0]) if alike else problem.C)
    return Problem(formulation, factor(K).F, problem.y).solve().duals["u"]
