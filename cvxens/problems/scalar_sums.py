"""Sums over samples of one scalar convex function, known by a conic form alone: its proofs are a table.

Where the conic form of ``g(z) = sum_i phi(z_i)`` falls into one block per sample and all blocks are equal, multipliers
of one block serve all. A block's proof at some u is a bound of ``phi(z) + u z`` from below over all z, ``-phi*(-u)``
but for a solver's digits, which is concave in u: between two u that have proofs, the chord of their bounds is one. So a
table of proofs bounds ``g(z) + u'z`` by interpolation, in the time of a search in it. Its points are the slopes at a
grid of z, which is finer where phi is curved: with steps d the chord misses at most ``phi'' d^2 / 8``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cvxens.problems.cones import Cones
from cvxens.problems.conic import ConicForm, ConicFunction, solve_cones
from cvxens.problems.duality import balance_exactly
from cvxens.rounding import EPSILON, sum_error
from cvxens.types import Array

TINY = float(np.finfo(float).tiny)

COARSE = 400
"""Points of the first table, from which the curvature is taken."""


@dataclass(frozen=True, eq=False)
class ScalarSum:
    """A sum of one scalar convex function over samples, by proofs at a table of multipliers.

    Parameters
    ----------
    z : ndarray of shape (n_points,)
        Margins, ascending.
    slopes : ndarray of shape (n_points,)
        ``-phi'(z)``, to a solver's digits, descending.
    u, bounds : ndarray of shape (n_points,)
        Multipliers, ascending, and proven bounds on ``phi(z) + u z`` from below.
    offset : float
        A constant of the sum.
    slack : float
        How far multipliers that have these bounds exactly are from u at most; inf where that is not verified.
    """

    z: Array
    slopes: Array
    u: Array
    bounds: Array
    offset: float
    slack: float

    @classmethod
    def from_function(cls, conic: ConicFunction) -> ScalarSum | None:
        """Make the table of a function that is such a sum, smooth, and flat somewhere; None of any other."""
        blocks = _find_blocks(conic) if len(conic.shape) == 1 and len(conic.rows) >= COARSE else None
        if blocks is None:
            return None
        # margins that a table covers, tried in turn; multipliers beyond those at its ends are clipped
        for lowest, highest in ((-10.0, 30.0), (-6.0, 25.0), (-3.0, 15.0)):
            z = np.linspace(lowest, highest, COARSE)
            coarse = _prove_at(conic, blocks, z)
            # one solve for all points has digits for the largest alone
            # the largest slope that a table has digits for, relative to that at a margin of 0
            if coarse is not None and coarse[0][0] <= 2e3 * abs(float(np.interp(0.0, z, coarse[0]))):
                break
        else:
            return None
        # points at equal steps of the integral of sqrt phi'', and some everywhere
        falls = np.sqrt(np.maximum(-np.diff(coarse[0]), 0.0) * np.diff(z)) + 1e-3 * np.diff(z)
        lengths = np.concatenate([[0.0], np.cumsum(falls)])
        # points of a table: a logistic loss is then met to 1e-7, relative
        z = np.interp(np.linspace(0.0, lengths[-1], 8000), lengths, z)
        found = _prove_at(conic, blocks, z)
        if found is None:
            return None
        u, bounds, slack = found
        spread = float(u.max() - u.min())
        # descending but for a solver's digits
        slopes = (np.minimum.accumulate(u) + np.maximum.accumulate(u[::-1])[::-1]) / 2
        # the share of the range of u that it may fall by from one point to the next of a smooth function
        if not spread > 0 or -np.diff(slopes).min() > 0.02 * spread:
            return None
        # with the multiplier 0 in the middle or at the end, shrunk ones are in the table
        order = np.argsort(u, kind="stable")
        u, bounds = u[order], bounds[order]
        if u[0] > 0:
            # at the multiplier 0 the bound is that of the least value, of one sample as all are alike
            part = _take_samples(conic, blocks, 1)
            proof = None if part is None else part[0].find_least()
            # the least slope in a table, relative to the range, that counts as 0
            if proof is None or not np.isfinite(proof.bound) or u[0] > 1e-6 * spread:
                return None
            slack = max(slack, proof.slack) if proof.strict else inf
            u, bounds = np.append(0.0, u), np.append(proof.bound, bounds)
        return cls(z, slopes, u, bounds, conic.offset, slack)

    def multipliers(self, z: Array) -> Array:
        """Return ``-phi'(z)``, sample by sample."""
        return np.interp(z, self.z, self.slopes)

    def curvature(self, u: Array) -> Array:
        """Return ``phi''`` at the z whose multiplier is u."""
        steps = -np.diff(self.slopes) / np.diff(self.z)
        middles = (self.slopes[1:] + self.slopes[:-1]) / 2
        return np.interp(u, middles[::-1], steps[::-1])

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip multipliers into the table; with signs, the heavier side of y u is scaled down until y'u = 0."""
        clipped = np.clip(u, self.u[0], self.u[-1])
        if y is None:
            return clipped
        s = y * clipped
        positive = s > 0
        plus, minus = float(s[positive].sum()), -float(s[~positive].sum())
        factors = np.where(positive, minus / max(plus, TINY), plus / max(minus, TINY))
        # no size grows, and 0 is in the table but for digits
        return np.clip(balance_exactly(clipped * np.minimum(factors, 1.0), y), self.u[0], self.u[-1])

    def dual_value(self, u: Array) -> float:
        """Bound ``g(z) + u'z`` from below over all z; -inf beyond the table."""
        if u.min() < self.u[0] or u.max() > self.u[-1]:
            return -np.inf
        bounds = np.interp(u, self.u, self.bounds)
        return float(bounds.sum()) + self.offset - sum_error(len(u) + 4, float(np.abs(bounds).sum()))

    def displacement(self, u: Array) -> float:
        """Bound the sum of the differences of u and some multipliers that have ``dual_value(u)`` exactly."""
        return len(u) * self.slack if self.is_strict(u) else 0.0

    def is_strict(self, u: Array) -> bool:
        """Return True if exact multipliers were verified."""
        return self.slack < inf


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The rows and columns of each sample's block, in order; column `at` of a block is the margin."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    cones: Cones  # of one block


def _find_blocks(conic: ConicFunction) -> _Blocks | None:
    """Find the blocks of a form that has one for every entry of v, all of them equal."""
    A, (n_rows, n_columns), n = conic.A, conic.A.shape, len(conic.rows)
    of_rows = _number_cones(conic.cones)
    if of_rows is None:
        return None
    cone_of, kind_of = of_rows
    # rows of one cone belong together
    n_cones = int(cone_of.max(initial=-1)) + 1
    membership = sparse.coo_array((np.ones(n_rows), (cone_of, np.arange(n_rows))), shape=(n_cones, n_rows))
    graph = sparse.block_array([[None, A, membership.T], [A.T, None, None], [membership, None, None]])
    n_found, labels = connected_components(graph, directed=False)
    rows, columns = labels[:n_rows], labels[n_rows : n_rows + n_columns]
    if n_found != n or n_rows % n or n_columns % n or len(np.unique(columns[conic.rows])) != n:
        return None
    counts = np.bincount(rows, minlength=n), np.bincount(columns, minlength=n)
    if any((count != count[0]).any() for count in counts):
        return None
    # the samples in the order of v
    rank = np.empty(n, np.intp)
    rank[columns[conic.rows]] = np.arange(n)
    rows, columns = rank[rows], rank[columns]
    block_rows = np.argsort(rows, kind="stable").reshape(n, -1)
    block_columns = np.argsort(columns, kind="stable").reshape(n, -1)
    place_of_row, place_of_column = np.empty(n_rows, np.intp), np.empty(n_columns, np.intp)
    place_of_row[block_rows.ravel()] = np.tile(np.arange(block_rows.shape[1]), n)
    place_of_column[block_columns.ravel()] = np.tile(np.arange(block_columns.shape[1]), n)
    entries = A.tocoo()
    row, column = entries.coords
    order = np.lexsort((place_of_column[column], place_of_row[row], rows[row]))
    if len(order) % n:
        return None
    tables = [
        conic.b[block_rows],
        conic.c[block_columns],
        kind_of[block_rows],
        place_of_column[conic.rows].reshape(n, 1),
        *(values[order].reshape(n, -1) for values in (entries.data, place_of_row[row], place_of_column[column])),
    ]
    if any((table != table[0]).any() for table in tables):
        return None
    kinds = kind_of[block_rows[0]]
    sizes = np.diff(np.flatnonzero(np.diff(cone_of[block_rows[0]], prepend=-1, append=-1)))
    second_order = tuple(int(size) for size, kind in zip(sizes, _first(kinds, sizes), strict=True) if kind == 2)
    cones = Cones(int((kinds == 0).sum()), int((kinds == 1).sum()), second_order, (), int((kinds == 4).sum()) // 3)
    return _Blocks(block_rows, block_columns, cones)


def _first(kinds: Array, sizes: Array) -> Array:
    return np.asarray(kinds[np.cumsum(sizes) - sizes])


def _number_cones(cones: Cones) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Number the cones, row by row, and their kinds in order; None where there are others than the common ones."""
    if cones.semidefinite or cones.power or cones.general_power:
        return None
    free = cones.zero + cones.nonnegative
    sizes = [1] * free + list(cones.second_order) + [3] * cones.exponential
    kinds = [0] * cones.zero + [1] * cones.nonnegative + [2] * len(cones.second_order) + [4] * cones.exponential
    return np.repeat(np.arange(len(sizes)), sizes), np.repeat(kinds, sizes)


def _prove_at(conic: ConicFunction, blocks: _Blocks, z: Array) -> tuple[Array, Array, float] | None:
    """Return multipliers at these margins, their bounds and the largest slack, found for some points at a time."""
    u, bounds, slack = np.empty(len(z)), np.empty(len(z)), 0.0
    n_parts = -(-len(z) // COARSE)
    for first in range(n_parts):
        # each part spans the whole range
        found = _prove_some(conic, blocks, z[first::n_parts])
        if found is None:
            return None
        u[first::n_parts], bounds[first::n_parts], of_part = found
        slack = max(slack, of_part)
    return u, bounds, slack


def _take_samples(
    conic: ConicFunction, blocks: _Blocks, k: int
) -> tuple[ConicFunction, NDArray[np.intp], NDArray[np.intp]] | None:
    """Return the form of the first k samples alone, its rows and its columns; None where cones are not alike."""
    one = blocks.cones
    if len(set(one.second_order)) > 1:
        return None
    rows, columns = np.sort(blocks.rows[:k].ravel()), np.sort(blocks.columns[:k].ravel())
    kept = sparse.csc_array(conic.A[rows][:, columns])
    cones = Cones(k * one.zero, k * one.nonnegative, tuple(one.second_order) * k, (), k * one.exponential)
    at = np.searchsorted(columns, conic.rows[:k])
    form = ConicForm(kept, conic.b[rows], conic.c[columns], 0.0, cones, at)
    return ConicFunction((k,), form), rows, columns


def _prove_some(conic: ConicFunction, blocks: _Blocks, z: Array) -> tuple[Array, Array, float] | None:
    """Return multipliers at these margins, their bounds and the largest slack, by the blocks of as many samples.

    The slack is inf where the proofs are not strict.
    """
    k = len(z)
    if (taken := _take_samples(conic, blocks, k)) is None:
        return None
    part, rows, columns = taken
    at, cones = np.searchsorted(columns, conic.rows[:k]), part.cones
    x = np.zeros(len(columns))
    x[at] = z
    rest = np.setdiff1d(np.arange(len(columns)), at)
    found = solve_cones(part.A[:, rest], part.b - part.A @ x, part.c[rest], cones)
    if not found.solved:
        return None
    x[rest] = found.x
    if (settled := part.settle(found.dual, x, None)) is None:
        return None
    of_row, of_column = np.empty(conic.A.shape[0], np.intp), np.empty(conic.A.shape[1], np.intp)
    of_row[blocks.rows.ravel()] = np.repeat(np.arange(len(blocks.rows)), blocks.rows.shape[1])
    of_column[blocks.columns.ravel()] = np.repeat(np.arange(len(blocks.columns)), blocks.columns.shape[1])
    bounds = -np.bincount(of_row[rows], part.b * settled.dual, minlength=k).astype(float)
    if settled.shifts is None or settled.slacks is None:
        return settled.u, bounds - np.bincount(of_column[columns], settled.charges, minlength=k), inf
    # the sum of a block's rows is rounded, and exact multipliers are somewhat off
    rounding = (blocks.rows.shape[1] + 2) * EPSILON * np.abs(settled.dual)
    moved = np.bincount(of_row[rows], np.abs(part.b) * (settled.shifts + rounding), minlength=k)
    return settled.u, bounds - moved, float(settled.slacks.max())
