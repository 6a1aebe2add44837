"""Conjugate gradients, and several large systems with a ridge at once by products with one PSD matrix.

These are *preconditioned* by what a Nystroem factor L L' ~ K knows of the matrix (C. Williams & M. Seeger, *Using the
Nystroem method to speed up kernel machines*, NIPS 2000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from cvxens.errors import InvalidInput, SolverFailed
from cvxens.limits import interruptible, time_is_up, time_left
from cvxens.types import Array, Attempt, Mask

RANK = 200
"""Samples that the preconditioner knows the kernel of; up to so many it is exact. Over 20,000 images of MNIST and their
5,939 stumps at quantiles, 100 of them leave 75 steps to a gap of 1e-3, 200 leave 52, and 600 take longer to prepare."""

GAP = 1e-12
"""Relative gap at which a system is solved, where no other is asked for."""

MAX_STEPS = 2000
"""Steps of conjugate gradients; hundreds mean that gamma is far below what the preconditioner leaves out."""


class SupportsMatmul(Protocol):
    """A symmetric PSD matrix that may be multiplied with, and need not be written out: an array, a `TreeMatrix`."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_samples)."""

    def __matmul__(self, C: Array) -> Array:
        """Multiply by C (n_samples, n_outputs)."""


def factor_by_nystroem(K: SupportsMatmul, rank: int) -> Array:
    """Return L (n_samples, at most rank) with L L' below K, equal to it in as many columns as half the time is for."""
    n, half = K.shape[0], time_left() / 2
    chosen = np.random.default_rng(0).choice(n, min(rank, n), replace=False)
    # L = K_:S V Lambda^-1/2 with K_SS = V Lambda V', so that L L' = K_:S K_SS^+ K_S:
    columns, k = np.zeros((n, len(chosen))), 0
    while k < len(chosen) and time_left() >= half > 0:
        # a tenth of them between looks at the clock
        part = chosen[k : k + 20]
        units = np.zeros((n, len(part)))
        units[part, np.arange(len(part))] = 1.0
        columns[:, k : k + len(part)] = K @ units
        k += len(part)
    columns, chosen = columns[:, :k], chosen[:k]
    if not k:
        return columns
    values, vectors = np.linalg.eigh(columns[chosen])
    # smaller eigenvalues, relative to the largest, are rounding
    if values[0] < -1e-12 * n * values[-1] or values[-1] < 0:
        raise make_psd_error()
    kept = values > 1e-12 * values[-1]
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
    def from_members(cls, L: Array, gamma: float, members: Mask, n_outputs: int) -> Systems:
        sizes = members.sum(axis=0)
        of_experts, unit = zip(members.T, sizes, strict=True), gamma * np.eye(L.shape[1])
        outer = np.stack([L[rows].T @ L[rows] + m * unit for rows, m in of_experts])
        inside = members.repeat(n_outputs, axis=1).astype(np.float64)
        return cls(inside, inside.sum(axis=0), gamma, L, np.linalg.inv(np.linalg.cholesky(outer)))

    def times(self, K: SupportsMatmul, C: Array) -> Array:
        """Return (m gamma I + K_e) c of every column."""
        product = self.inside * (K @ C) + self.sizes * self.gamma * C
        if (C * product).sum(axis=0).min() < 0:
            raise make_psd_error()
        return product

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

    def is_solved(C: Array, R: Array, _: Array) -> bool:
        return systems.relative_gap(C, R, Y) <= gap

    C, R, ended = conjugate_gradients(partial(systems.times, K), Y, systems.precondition, is_solved, MAX_STEPS)
    if ended:
        return C
    found = f"relative gap {systems.relative_gap(C, R, Y):.1e} after {MAX_STEPS} steps: give a larger gamma"
    raise SolverFailed([Attempt("conjugate gradients", "not converged", perf_counter() - start, found)])


def conjugate_gradients(
    times: Callable[[Array], Array],
    right: Array,
    precondition: Callable[[Array], Array],
    is_solved: Callable[[Array, Array, Any], bool],
    max_steps: int,
) -> tuple[Array, Array, bool]:
    """Solve ``times(x) = right``, each column by itself, until ``is_solved(x, r, r'M^-1 r)`` or time is up.

    Returns x, what it leaves of the right side, r, and whether the search ended before there were so many steps.

    Examples
    --------
    >>> A, right = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 4.0])
    >>> x, rest, ended = conjugate_gradients(A.__matmul__, right, np.copy, lambda x, r, size: size < 1e-20, 9)
    >>> x.round(9), ended
    (array([1., 1.]), True)
    """
    x, residual, direction, size = np.zeros_like(right), right, np.zeros_like(right), np.inf
    for _ in range(max_steps):
        with interruptible():
            conditioned = precondition(residual)
            before, size = size, (residual * conditioned).sum(axis=0)
            if is_solved(x, residual, size) or time_is_up():
                return x, residual, True
            # the usual recurrences, each column with lengths of its own; one that is solved has r = 0 and stands still
            direction = conditioned + divide(size, before) * direction
            product = times(direction)
            length = divide(size, (direction * product).sum(axis=0))
            x, residual = x + length * direction, residual - length * product
    return x, residual, False


def divide(a: Any, b: Any) -> Any:
    """Return a / b, 0 where b is."""
    return np.divide(a, b, out=np.zeros(np.shape(a)), where=np.not_equal(b, 0))
