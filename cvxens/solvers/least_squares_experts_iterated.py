"""TT06's experts where the kernel matrix is too large to be written out: conjugate gradients, many experts at once."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.solvers.least_squares_experts import LeastSquaresExperts, Members, certificate_of, matching
from cvxens.types import Array, Attempt

RANK = 200
"""Samples that the preconditioner knows the kernel of; up to so many it is exact."""

WIDTH = 16
"""Systems that are solved together."""

GAP = 1e-12
"""Relative gap at which an output of an expert is solved."""

MAX_STEPS = 2000

LOST = 1e-12
"""Eigenvalues below this, relative to the largest, are rounding."""


class Multiplied(Protocol):
    """A symmetric PSD matrix that may be multiplied with, and need not be written out: an array, a `TreeMatrix`."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_samples)."""

    def __matmul__(self, C: Array) -> Array:
        """Multiply by C (n_samples, n_outputs)."""


def iterated_least_squares_experts(
    K: Multiplied, Y: Any, gamma: float, members: Any, *, n_jobs: int | None = None
) -> LeastSquaresExperts:
    """Solve TT06 (5), ``(m gamma I + K_e) c_e = y_e``, by products with K alone, until its gap is 1e-12 of its value.

    As `least_squares_experts`, without its n_samples^2 numbers and its n_experts n_samples^3 time: conjugate gradients,
    a few experts at once, so that they share the products. With K ~ L L' of rank 200, from as many of its columns
    (C. Williams & M. Seeger, *Using the Nystroem method to speed up kernel machines*, NIPS 2000), the preconditioner
    of an expert is m gamma I + L_e L_e'. Few steps are needed unless m gamma is far below the eigenvalues that
    L leaves out.

    Parameters
    ----------
    K : array or TreeMatrix, shape (n_samples, n_samples)
        Kernel matrix, PSD: whatever has a shape, and multiplies an array (n_samples, n_columns) by `@`.
    Y, gamma, members, n_jobs
        As of `least_squares_experts`; `n_jobs` groups of experts are solved at a time.

    Returns
    -------
    LeastSquaresExperts

    Raises
    ------
    InvalidInput
        Arrays whose shapes do not fit, a kernel matrix that is not PSD, or an expert without samples.
    SolverFailed
        2000 steps were not enough: gamma is too small.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from cvxens.kernels import TreeEnsemble
    >>> from cvxens.solvers import draw_members
    >>> X, y = make_friedman1(500, random_state=0)
    >>> K = TreeEnsemble(RandomForestRegressor(10, random_state=0).fit(X, y), "depth").unwritten(X)
    >>> experts = iterated_least_squares_experts(K, y, 0.01, draw_members(500, 20, (0.5, 0.9), random_state=0))
    >>> experts.certificate.holds(1e-11), (K @ experts.coefficients[:, :, 0]).shape
    (True, (500, 20))
    """
    Y, members = matching(K.shape, Y, members)
    gamma, n_jobs = validation.positive("gamma", gamma), validation.n_jobs(n_jobs)
    coefficients = np.zeros((*members.shape, Y.shape[1]))
    n_together = max(1, WIDTH // Y.shape[1])
    groups = [slice(first, first + n_together) for first in range(0, members.shape[1], n_together)]

    def fit(group: slice) -> list[Certificate]:
        inside = members[:, group]
        systems = Systems.of(L, gamma, inside, Y.shape[1])
        C = solved(K, systems, np.tile(Y, inside.shape[1]) * systems.inside)
        split = (len(Y), inside.shape[1], Y.shape[1])
        F, coefficients[:, group] = (K @ C).reshape(split), C.reshape(split)
        c = coefficients[:, group]
        return [certificate_of(c[rows, e], F[rows, e], Y[rows], gamma, 1.0) for e, rows in enumerate(inside.T)]

    with threadpool_limits(1, "blas"):
        L = nystroem_factor(K, RANK)
        found = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(fit)(group) for group in groups)
    return LeastSquaresExperts(coefficients, members, tuple(it for group in found for it in group))


def nystroem_factor(K: Multiplied, rank: int) -> Array:
    """Return L (n_samples, at most rank) with L L' below K, and equal to it in the columns of so many samples."""
    n = K.shape[0]
    chosen = np.random.default_rng(0).choice(n, min(rank, n), replace=False)
    units = np.zeros((n, len(chosen)))
    units[chosen, np.arange(len(chosen))] = 1.0
    columns = K @ units
    values, vectors = np.linalg.eigh(columns[chosen])
    if values[0] < -LOST * n * values[-1] or values[-1] < 0:
        raise not_psd()
    kept = values > LOST * values[-1]
    return columns @ (vectors[:, kept] / np.sqrt(values[kept]))


def not_psd() -> InvalidInput:
    """Return what is wrong with a kernel matrix of a negative eigenvalue."""
    return InvalidInput("K", "found a kernel matrix that is not PSD", "give that of a PSD kernel")


@dataclass(frozen=True, eq=False)
class Systems:
    """The systems of some experts, a column for each output of each of them; coefficients are 0 outside its samples.

    Parameters
    ----------
    inside : ndarray of shape (n_samples, n_columns)
        1 for the samples of an expert, else 0.
    sizes : ndarray of shape (n_columns,)
        How many they are, m.
    gamma : float
        Weight of the penalty.
    L : ndarray of shape (n_samples, rank)
        L L' is close to K.
    whitening : ndarray of shape (n_experts, rank, rank)
        The inverse of the Cholesky factor of m gamma I + L_e'L_e.
    """

    inside: Array
    sizes: Array
    gamma: float
    L: Array
    whitening: Array

    @classmethod
    def of(cls, L: Array, gamma: float, members: Members, n_outputs: int) -> Systems:
        """Factor the preconditioners of some experts."""
        sizes = members.sum(axis=0)
        outer = np.stack(
            [L[rows].T @ L[rows] + m * gamma * np.eye(L.shape[1]) for rows, m in zip(members.T, sizes, strict=True)]
        )
        inside = members.repeat(n_outputs, axis=1).astype(np.float64)
        return cls(inside, inside.sum(axis=0), gamma, L, np.linalg.inv(np.linalg.cholesky(outer)))

    def times(self, K: Multiplied, C: Array) -> Array:
        """Return (m gamma I + K_e) c of every column."""
        return self.inside * (K @ C) + self.sizes * self.gamma * C

    def precondition(self, R: Array) -> Array:
        """Return (m gamma I + L_e L_e')^-1 r of every column, by Woodbury's identity."""
        n_experts, rank, _ = self.whitening.shape
        seen = (self.L.T @ R).reshape(rank, n_experts, R.shape[1] // n_experts).transpose(1, 0, 2)
        solution = self.whitening.transpose(0, 2, 1) @ (self.whitening @ seen)
        known = self.L @ solution.transpose(1, 0, 2).reshape(rank, R.shape[1])
        return self.inside * (R - known) / (self.sizes * self.gamma)

    def relative_gap(self, C: Array, R: Array, Y: Array) -> float:
        """Return the largest gap |r|^2 / m of a column, relative to its value; r is y - m gamma c - K_e c."""
        shortfall = self.sizes * self.gamma * C + R
        values = (shortfall**2).sum(axis=0) / self.sizes + self.gamma * (C * (Y - shortfall)).sum(axis=0)
        return float(ratio((R**2).sum(axis=0) / self.sizes, np.abs(values)).max())


def solved(K: Multiplied, systems: Systems, Y: Array) -> Array:
    """Return the solutions (n_samples, n_columns) of some systems by preconditioned conjugate gradients."""
    start = perf_counter()
    C, R, P = np.zeros_like(Y), Y.copy(), np.zeros_like(Y)
    size = np.full(Y.shape[1], np.inf)
    for _ in range(MAX_STEPS):
        if systems.relative_gap(C, R, Y) <= GAP:
            return C
        Z = systems.precondition(R)
        before, size = size, (R * Z).sum(axis=0)
        P = Z + ratio(size, before) * P
        Q = systems.times(K, P)
        curvature = (P * Q).sum(axis=0)
        if curvature.min() < 0:
            raise not_psd()
        step = ratio(size, curvature)
        C, R = C + step * P, R - step * Q
    found = f"relative gap {systems.relative_gap(C, R, Y):.1e} after {MAX_STEPS} steps: give a larger gamma"
    raise SolverFailed([Attempt("conjugate gradients", "not converged", perf_counter() - start, found)])


def ratio(a: Array, b: Array) -> Array:
    """Return a / b, 0 where b is."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)
