"""From a point near the optimum of the hinge to the last digits of its multipliers: a program over samples in doubt.

Near the optimum most samples are settled: their multipliers are their prices below a margin of 1, and 0 above. In doubt
are those whose margins are nearly 1, cell by cell (`votes.Doubt`). The dual program over their cells, with the others
fixed, has few variables however large the sample is. With an l1 penalty it is linear, and solved by the simplex method
of one machine. With squared weights these are as good as known, being the edges, and what is left are linear equations.
Where a sample had to be in doubt that was not, the gap shows it, and then more of them are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvxens.colgen.masters.linear_masters import LiveProgram
from cvxens.dask.shards import Shard
from cvxens.dask.tallies import Codes, Ints, add, join
from cvxens.dask.votes import Doubt, Vote, VotedStumps, find_shares, name_cells, of_shard, sum_of_classes
from cvxens.types import Array

UNDECIDED = 1e4
"""In units of the distance of the hinge's neighbour how far margins are in doubt: there shares are 1e-4 from 0 or 1."""

MOST_CELLS = 50_000
"""Cells in doubt beyond which a vertex is not looked for: seconds of the simplex method, and megabytes of answers."""


class DoubtfulCells(NamedTuple):
    """Cells of samples in doubt."""

    keys: Ints  # (n_cells,), ascending
    codes: Codes  # (n_features, n_cells), the cells of the features
    y: Array  # (n_cells,)
    z: Array  # (n_cells,), the margins
    prices: Ints  # (n_cells,), the sums of the prices of their samples, in units


class Split(NamedTuple):
    """What a sample is in two: the samples in doubt, and the sums of the multipliers of the others."""

    of_classes: Ints  # (2, n_cells), signed, of either class by the cells of the features
    totals: Ints  # (2,)
    cells: DoubtfulCells


class Vertex(NamedTuple):
    """A solution of the program over samples in doubt, with multipliers that are optimal beside it, the best first."""

    w: Array
    b: float
    doubts: tuple[Doubt, ...]


def split_samples(shard: Shard, vote: Vote, loss: Any, reach: float, exponent: int) -> Split:
    """Split the rows of a shard by their margins."""
    codes, z = vote.margins(shard)
    prices = np.ldexp(of_shard(loss, shard).C, -exponent).astype(np.int64)
    near = np.abs(z - 1) <= reach
    signed = np.where(near | (z >= 1), 0, prices) * shard.y.astype(np.int64)
    own, y = np.ascontiguousarray(codes[:, near]), shard.y[near]
    cells = gather(DoubtfulCells(name_cells(own, y), own, y, z[near], prices[near]))
    return Split(*sum_of_classes(codes, vote.places.cells, signed), cells)


def gather(cells: DoubtfulCells) -> DoubtfulCells:
    """Return cells of which some may have the same key with one of each, its price their sum."""
    keys, first, inverse = np.unique(cells.keys, return_index=True, return_inverse=True)
    prices = np.zeros(len(keys), np.int64)
    np.add.at(prices, inverse, cells.prices)
    return DoubtfulCells(keys, cells.codes[:, first], cells.y[first], cells.z[first], prices)


def combine_splits(parts: Sequence[Split]) -> Split:
    """Return what several shards are in two."""
    of_classes, totals, cells = zip(*parts, strict=True)
    return Split(add(of_classes), add(totals), gather(DoubtfulCells(*join(cells))))


class DualProgram:
    """The program over the multipliers of the cells in doubt, while the others' are fixed.

    With an l1 penalty it is ``max sum u``, no edge above the limit; with squared weights ``max sum u - |edges|^2 / (2
    ridge)``. Variables are in units of the largest price of a cell.
    """

    def __init__(
        self, split: Split, stumps: VotedStumps, exponent: int, limit: float, ridge: float, intercept: bool
    ) -> None:
        self.cells, self.intercept = split.cells, intercept
        unit = float(max(split.cells.prices.max(initial=0), 1))
        self.caps, self.settled = self.cells.prices / unit, float(split.totals[1] - split.totals[0]) / unit
        # what shares are of, also where nothing is
        self.divisors = np.where(self.caps > 0, self.caps, 1.0)
        self.most, self.ridge = (each / float(np.ldexp(unit, exponent)) for each in (limit, ridge))
        balance = int(split.totals.sum())
        # edges of the columns: of the cells, and of what is settled; behind them the balance, the edge of a constant
        self.rows = np.vstack([stumps.evaluate(self.cells.codes), np.ones(len(self.caps))]) * self.cells.y
        self.given = np.append(stumps.edges(split.of_classes, split.totals, 0), balance) / unit

    def solve(self, near: Array, b: float, d: float, reach: float, *, nonnegative: bool) -> Vertex:
        """Solve it, given weights and an intercept near the optimum of the hinge's neighbour at distance d."""
        shares = find_shares(self.cells.z, d)
        if self.ridge:
            # edges are ridge times weights, those of weights that are 0 by their sign perhaps less
            used = np.append((near != 0) | (not nonnegative), self.intercept)
            found = [self._find_central(shares, used, np.append(self.ridge * near, 0.0))]
            w = near
        else:
            v, w, b = self._solve_linear(nonnegative)
            # by complementary slackness: off the kink shares are 0 or 1, and columns of a weight, here or near the
            # optimum, are at the limit, no other above it
            z = self.rows.T @ np.append(w, b)
            # by as much the simplex method may miss the kink
            shares = np.where(z < 1 - 1e-9, 1.0, np.where(z > 1 + 1e-9, 0.0, shares))
            sides = np.sign(np.where(w != 0, w, near))
            used = np.append(sides != 0, self.intercept)
            # a vertex has few shares that are neither 0 nor 1, and prices badly
            found = [self._find_central(shares, used, np.append(self.most * sides, 0.0)), v / self.divisors]
        return Vertex(w, b, tuple(Doubt(reach, self.cells.keys, np.clip(own, 0.0, 1.0)) for own in found))

    def _solve_linear(self, nonnegative: bool) -> tuple[Array, Array, float]:
        """Solve the linear program by the simplex method; returns multipliers, weights and intercept."""
        m = len(self.caps)
        # the last variable, fixed at 1, stands for what is settled
        fixed = np.append(np.zeros(m), 1.0), np.append(self.caps, 1.0)
        program = LiveProgram(np.append(-np.ones(m), -self.settled), *fixed)
        lines = np.column_stack([self.rows, self.given])
        for line in lines[:-1]:
            program.add_row(-inf if nonnegative else -self.most, line, self.most)
        if self.intercept:
            program.add_row(0.0, lines[-1], 0.0)
        v, multipliers = program.solve()
        # weights are minus the multipliers of the edges, the intercept minus that of the balance
        n_columns = len(lines) - 1
        w, b = -multipliers[:n_columns], float(-multipliers[n_columns:].sum())
        return v[:-1], np.maximum(w, 0.0) if nonnegative else w, b

    def _find_central(self, shares: Array, used: NDArray[np.bool_], wanted: Array) -> Array:
        """Return the shares nearest to given ones, in units of the room beside these, whose edges are those wanted."""
        room = np.minimum(shares, 1 - shares) * self.caps
        missing = (wanted - self.given - self.rows @ (shares * self.caps))[used]
        step = np.linalg.lstsq(self.rows[used] * room, missing, rcond=None)[0]
        return shares + room * step / self.divisors
