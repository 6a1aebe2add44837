"""Several large systems with a ridge at once, by conjugate gradients on products with one PSD matrix.

They are *preconditioned* by what a Nystroem factor L L' ~ K knows of the matrix (C. Williams & M. Seeger, *Using the
Nystroem method to speed up kernel machines*, NIPS 2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput, SolverFailed
from cvxens.limits import interruptible, time_is_up
from cvxens.types import Array, Attempt

Members = NDArray[np.bool_]

RANK = 200
"""Samples that the preconditioner knows the kernel of; up to so many it is exact. Over 20,000 images of MNIST and their
5,939 stumps at quantiles, 100 of them leave 75 steps to a gap of 1e-3, 200 leave 52, and 600 take longer to prepare."""

GAP = 1e-12
"""Relative gap at which a system is solved, where no other is asked for."""

MAX_STEPS = 2000
"""Steps of conjugate gradients; hundreds mean that gamma is far below what the preconditioner leaves out."""

LOST = 1e-12
"""Eigenvalues below this, relative to the largest, are rounding."""


class SupportsMatmul(Protocol):
    """A symmetric PSD matrix that may be multiplied with, and need not be written out: an array, a `TreeMatrix`."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_samples)."""

    def __matmul__(self, C: Array) -> Array:
        """Multiply by C (n_samples, n_outputs)."""


def factor_by_nystroem(K: SupportsMatmul, rank: int) -> Array:
    """Return L (n_samples, at most rank) with L L' below K, and equal to it in the columns of so many samples.

    Without time for that it has no columns.
    """
    n = K.shape[0]
    chosen = np.random.default_rng(0).choice(n, min(rank, n), replace=False)
    # L = K_:S V Lambda^-1/2 with K_SS = V Lambda V', so that L L' = K_:S K_SS^+ K_S:
    units = np.zeros((n, len(chosen)))
    units[chosen, np.arange(len(chosen))] = 1.0
    columns = np.zeros((n, 0)) if time_is_up() else K @ units
    if time_is_up():
        return columns[:, :0]
    values, vectors = np.linalg.eigh(columns[chosen])
    if values[0] < -LOST * n * values[-1] or values[-1] < 0:
        raise make_psd_error()
    kept = values > LOST * values[-1]
    return columns @ (vectors[:, kept] / np.sqrt(values[kept]))


def make_psd_error() -> InvalidInput:
    """Return the error of a kernel matrix with a negative eigenvalue."""
    return InvalidInput("K", "found a kernel matrix that is not PSD", "give that of a PSD kernel")


@dataclass(frozen=True, eq=False)
class Systems:
    """The systems of some experts, a column for each output of each of them; coefficients are 0 outside its samples."""

    inside: Array  # (n_samples, n_columns): 1 for the samples of an expert, else 0
    sizes: Array  # (n_columns,): how many they are, m
    gamma: float
    L: Array  # (n_samples, rank): L L' is close to K
    whitening: Array  # (n_experts, rank, rank): the inverse of the Cholesky factor of m gamma I + L_e'L_e

    @classmethod
    def from_members(cls, L: Array, gamma: float, members: Members, n_outputs: int) -> Systems:
        sizes = members.sum(axis=0)
        outer = np.stack(
            [L[rows].T @ L[rows] + m * gamma * np.eye(L.shape[1]) for rows, m in zip(members.T, sizes, strict=True)]
        )
        inside = members.repeat(n_outputs, axis=1).astype(np.float64)
        return cls(inside, inside.sum(axis=0), gamma, L, np.linalg.inv(np.linalg.cholesky(outer)))

    def times(self, K: SupportsMatmul, C: Array) -> Array:
        """Return (m gamma I + K_e) c of every column."""
        return self.inside * (K @ C) + self.sizes * self.gamma * C

    def precondition(self, R: Array) -> Array:
        """Return (m gamma I + L_e L_e')^-1 r of every column, by Woodbury's identity."""
        # (s I + L L')^-1 = (I - L (s I + L'L)^-1 L') / s, with s = m gamma
        n_experts, rank, _ = self.whitening.shape
        seen = (self.L.T @ R).reshape(rank, n_experts, R.shape[1] // n_experts).transpose(1, 0, 2)
        solution = self.whitening.transpose(0, 2, 1) @ (self.whitening @ seen)
        known = self.L @ solution.transpose(1, 0, 2).reshape(rank, R.shape[1])
        return self.inside * (R - known) / (self.sizes * self.gamma)

    def relative_gap(self, C: Array, R: Array, Y: Array) -> float:
        """Return the largest gap |r|^2 / m of a column, relative to its value; r is y - m gamma c - K_e c."""
        # y - K_e c, whose squares the objective has
        shortfall = self.sizes * self.gamma * C + R
        values = (shortfall**2).sum(axis=0) / self.sizes + self.gamma * (C * (Y - shortfall)).sum(axis=0)
        return float(divide((R**2).sum(axis=0) / self.sizes, np.abs(values)).max())


def solve_systems(K: SupportsMatmul, systems: Systems, Y: Array, gap: float = GAP) -> Array:
    """Return solutions (n_samples, n_columns) to a relative gap, or as close as there is time for."""
    start = perf_counter()
    C, R, P = np.zeros_like(Y), Y.copy(), np.zeros_like(Y)
    size = np.full(Y.shape[1], np.inf)
    for _ in range(MAX_STEPS):
        if systems.relative_gap(C, R, Y) <= gap or time_is_up():
            return C
        with interruptible():
            # the usual recurrences, each column with lengths of its own; one that is solved has R = 0 and stands still
            Z = systems.precondition(R)
            before, size = size, (R * Z).sum(axis=0)
            P = Z + divide(size, before) * P
            Q = systems.times(K, P)
            curvature = (P * Q).sum(axis=0)
            if curvature.min() < 0:
                raise make_psd_error()
            step = divide(size, curvature)
            C, R = C + step * P, R - step * Q
    found = f"relative gap {systems.relative_gap(C, R, Y):.1e} after {MAX_STEPS} steps: give a larger gamma"
    raise SolverFailed([Attempt("conjugate gradients", "not converged", perf_counter() - start, found)])


def divide(a: Array, b: Array) -> Array:
    """Return a / b, 0 where b is."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)
