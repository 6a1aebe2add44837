"""Exact solutions of linear equations near the floats that miss them: how near one is, verified.

Floats l satisfy ``B'l + target = 0`` but for a residual r. If S is a square part of the rows of B, the exact l + d with
d 0 elsewhere and ``S'd = -r`` satisfies it exactly. Where the comparison matrix of S', its diagonal less the sizes of
the rest, takes some e > 0 to more than |r|, it is an M-matrix, and ``|d| <= e`` (Ostrowski 1937). The equations of a
canonical form define variables one by one, so that S can be had triangular but for small blocks; these are multiplied
by their inverses R first, as they are in floats (Krawczyk 1969), and a triangular matrix with a diagonal has an e.
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from math import fsum
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching
from scipy.sparse.linalg import splu

from cvxens.limits import check_time, in_time
from cvxens.rounding import EPSILON, LARGEST, split
from cvxens.types import Array, Indices

ROOM = 1e-6
"""What e is raised by, relative, so that it is above an exact one whatever rounding does to it."""

LARGEST_BLOCK = 1_000
"""The largest block whose inverse is made."""

AMPLE = 1e-4
"""The room, relative to the largest, from which on more of it is of no use: shifts are of a solver's last digits."""

LEAST = 1e-300
"""The share of the largest room that a row with no way to go counts as."""

THIN = 30
"""Columns with no more entries are eliminated one by one, those with more together, as a dense matrix."""

SINGULAR = 1e-10
"""What is left of a column of entries of 1, where it depends on the others."""


def sum_columns(A: sparse.csc_array, dual: Array, added: Array) -> Array:
    """Bound the sizes of ``A'dual + added``; 0 where they are exactly 0. `added` has a row for each summand."""
    factors = dual[A.indices]
    products, starts = split(A.data, factors).tolist(), (2 * A.indptr).tolist()
    each = zip(starts[:-1], starts[1:], added.T.tolist(), strict=True)
    sums = [fsum([*products[first:last], *rest]) for first, last, rest in each]
    sizes = np.abs(A.data * factors)
    # products from this on are split without underflow; the parts are 2^-53 of them
    tiny = LEAST * np.diff(A.indptr).max(initial=0) if ((sizes > 0) & (sizes < 1e-280)).any() else 0.0
    finite = sizes.max(initial=0.0) < LARGEST
    return (np.abs(sums) * (1 + 2 * EPSILON) + tiny) if finite else np.full(A.shape[1], np.inf)


def _invert_blocks(matrix: sparse.csc_array) -> tuple[sparse.csc_array, int]:
    """Return the inverses of the blocks of a matrix that is block triangular in some order, and the largest size."""
    n = matrix.shape[0]
    _, labels = connected_components(matrix, directed=True, connection="strong")
    sizes = np.bincount(labels, minlength=1)
    if sizes.max() > LARGEST_BLOCK:
        raise np.linalg.LinAlgError
    order, firsts = np.argsort(labels, kind="stable"), np.cumsum(sizes) - sizes
    place = np.empty(n, np.intp)
    place[order] = np.arange(n) - firsts[labels[order]]
    entries = sparse.coo_array(matrix)
    row, column = entries.coords
    inside = labels[row] == labels[column]
    row, column, data = row[inside], column[inside], entries.data[inside]
    rows, columns, values = [np.flatnonzero(sizes[labels] == 1)], [np.flatnonzero(sizes[labels] == 1)], []
    values.append(np.ones(len(rows[0])))
    for size in np.unique(sizes[sizes > 1]).tolist():
        # all blocks of a size at once
        of_size, number = np.flatnonzero(sizes == size), np.full(len(sizes), -1)
        number[of_size] = np.arange(len(of_size))
        here = number[labels[row]] >= 0
        blocks = np.zeros((len(of_size), size, size))
        blocks[number[labels[row[here]]], place[row[here]], place[column[here]]] = data[here]
        members = order[firsts[of_size, np.newaxis] + np.arange(size)]
        rows.append(np.repeat(members, size, axis=1).ravel())
        columns.append(np.tile(members, size).ravel())
        values.append(np.linalg.inv(blocks).ravel())
    found = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csc_array(sparse.coo_array(found, shape=(n, n))), int(sizes.max())


class Equations:
    """Equations ``B'l + target = 0`` of which floats l miss some, to be satisfied by rows that may move.

    Those that depend on others are left out: they are satisfied with them where targets add up to 0 as columns do.

    Parameters
    ----------
    rows : ndarray of int
        A row of B for each equation that is kept.
    kept : ndarray of int
        These equations, columns of B.
    dependence : list of dict
        For each equation that is left out, exact factors of it and of others with which their columns may add up to 0.
    S, errors : sparse array of shape (n_kept, n_kept)
        The rows and columns of B that were chosen, and what their entries are off by at most.

    Examples
    --------
    >>> B = sparse.csc_array([[1.0, 1.0, 1.0], [0.0, 2.0, 0.0], [3.0, 0.0, 3.0]])
    >>> equations = Equations.choose(B, 0 * B, np.array([0.0, 1.0, 1.0]))
    >>> equations.rows.tolist(), equations.kept.tolist(), equations.dependence
    ([2, 1], [0, 1], [{0: Fraction(-1, 1), 2: Fraction(1, 1)}])
    >>> equations.enclose(np.array([0.3, 0.0, 0.3])).round(3)
    array([0. , 0. , 0.2])
    """

    def __init__(
        self,
        rows: Indices,
        kept: Indices,
        dependence: list[dict[int, Fraction]],
        S: sparse.csc_array,
        errors: sparse.csc_array,
        n_rows: int,
    ) -> None:
        self.rows, self.kept, self.dependence, self.n_rows = rows, kept, dependence, n_rows
        matrix = sparse.csc_array(S.T)
        self.inverses, largest = _invert_blocks(matrix)
        product = sparse.csc_array(self.inverses @ matrix)
        # a product of k terms is off by k eps of their sizes
        self.relative = (largest + 2) * EPSILON
        off = self.relative * abs(matrix) + 2 * sparse.csc_array(errors.T)
        lost = sparse.csc_array(abs(self.inverses) @ off)
        self.sizes = sparse.csc_array(abs(product) + lost)
        diagonal = sparse.diags_array(2 * np.abs(product.diagonal()), format="csc")
        self.comparison = sparse.csc_array(diagonal - self.sizes)
        self._factor: Any = splu(self.comparison) if len(rows) else None

    @classmethod
    def choose(cls, B: sparse.csc_array, errors: sparse.csc_array, room: Array) -> Self | None:
        """Choose a row for every equation but those that depend on others; None if these are not solvable in floats.

        Parameters
        ----------
        B, errors : sparse array of shape (n_rows, n_equations)
            The matrix, and what its entries are off by at most.
        room : ndarray of shape (n_rows,)
            How far each row may move.
        """
        largest = float(room[np.isfinite(room)].max(initial=0.0)) or 1.0
        rows, kept = _eliminate(sparse.csc_array(B), np.clip(room / largest, LEAST, AMPLE) / AMPLE)
        # in an order in which there is an entry on the diagonal
        entries = sparse.csr_array(sparse.csc_array(B)[:, kept].T)[:, rows]
        places = maximum_bipartite_matching(entries, perm_type="column")
        if (places < 0).any():
            return None
        rows = rows[places]
        by_rows = sparse.csr_array(B)[rows]
        S, left_out = by_rows[:, kept], np.setdiff1d(np.arange(B.shape[1]), kept)
        try:
            # B_j = (sum over k kept of f_k B_k) on the rows of these
            dependence = []
            if len(left_out):
                right = by_rows[:, left_out].toarray()
                factors = splu(sparse.csc_array(S)).solve(right) if len(kept) else right
                columns = zip(left_out.tolist(), factors.T, strict=True)
                dependence = [_find_dependence(sparse.csc_array(B), kept, j, f) for j, f in columns]
            chosen = cls(rows, kept, dependence, S, sparse.csr_array(errors)[rows][:, kept], B.shape[0])
        except (RuntimeError, np.linalg.LinAlgError):
            # a block is too large, or singular
            return None
        return None if chosen.enclose(np.ones(B.shape[1])) is None else chosen

    def enclose(self, missed: Array) -> Array | None:
        """Bound how far an exact solution is from floats that miss the equations by no more than `missed`.

        Returns
        -------
        ndarray of shape (n_rows,)
            0 for the rows that do not move; None where nothing is verified.
        """
        e, missed = np.zeros(self.n_rows), missed[self.kept]
        if not missed.any():
            return e
        if not np.isfinite(missed).all():
            return None
        missed = (1 + self.relative) * (abs(self.inverses) @ missed)
        first = self._factor.solve(2 * missed)
        shifts = np.maximum(self._factor.solve(2 * missed + ROOM * (self.sizes @ np.abs(first))), 0.0)
        diagonal = self.sizes.diagonal()
        for _ in range(3):
            # what rounding has made of small ones
            needed = (self.sizes @ shifts - diagonal * shifts + missed) / diagonal
            shifts = np.maximum(shifts, (1 + ROOM) * needed)
        moves = shifts != 0
        left = self.comparison @ shifts - missed
        rounding = (self.sizes.shape[0] + 2) * EPSILON * (self.sizes @ np.abs(shifts) + missed)
        # where nothing moves, nothing that does has a part in the equation
        still = ~moves & (self.sizes @ np.abs(shifts) == 0) & (missed == 0)
        if not (np.isfinite(shifts).all() and (shifts >= 0).all() and ((moves & (left > rounding)) | still).all()):
            return None
        e[self.rows] = shifts
        return e


def _eliminate(B: sparse.csc_array, room: Array) -> tuple[Indices, Indices]:
    """Return rows and columns of B, in pairs, whose square part is not singular, with as much room as there is.

    Gauss's elimination, thin columns first, one with the fewest entries at a time; a pivot has room, and is not small
    in its column. What is left of dense columns has its pivots by QR with column pivoting of its transpose.
    """
    columns: list[dict[int, float]] = [
        dict(zip(B.indices[first:last].tolist(), B.data[first:last].tolist(), strict=True))
        for first, last in zip(B.indptr[:-1], B.indptr[1:], strict=True)
    ]
    in_row: dict[int, set[int]] = {}
    for j, column in enumerate(columns):
        for i in column:
            in_row.setdefault(i, set()).add(j)
    tops = [max(map(abs, column.values()), default=0.0) for column in columns]
    waiting = [(len(column), j) for j, column in enumerate(columns) if len(column) <= THIN]
    heapq.heapify(waiting)
    pairs: list[tuple[int, int]] = []
    done: set[int] = set()
    while waiting:
        n_entries, j = heapq.heappop(waiting)
        if j in done or n_entries != len(columns[j]):
            continue
        if len(done) % 1000 == 0:
            check_time()
        done.add(j)
        column = columns[j]
        # what is left of a column that depends on others is rounding
        real = {i: value for i, value in column.items() if abs(value) > SINGULAR * tops[j]}
        for i in column:
            in_row[i].discard(j)
        if not real:
            continue
        # the least pivot, relative to the largest of its column: smaller ones would lose as many digits
        least = 1e-3 * max(map(abs, real.values()))
        scores = {i: abs(value) * room[i] for i, value in real.items() if abs(value) >= least}
        # the score, relative to the best of a column, from which on the row with the fewest entries is taken
        enough = 0.1 * max(scores.values())
        pivot = min((i for i, score in scores.items() if score >= enough), key=lambda i: (len(in_row[i]), -scores[i]))
        pairs.append((pivot, j))
        others = [(i, value) for i, value in column.items() if i != pivot]
        for k in in_row.pop(pivot):
            entries = columns[k]
            factor = entries.pop(pivot) / column[pivot]
            for i, value in others:
                if i in entries:
                    entries[i] -= factor * value
                else:
                    entries[i] = -factor * value
                    in_row[i].add(k)
            if len(entries) <= THIN:
                heapq.heappush(waiting, (len(entries), k))
    dense = [j for j in range(len(columns)) if j not in done]
    if dense:
        check_time()
        pairs += _pivot_dense([columns[j] for j in dense], dense, tops, room)
    rows, kept = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    order = np.argsort(kept)
    return rows[order], kept[order]


def _pivot_dense(B: list[dict[int, float]], names: list[int], tops: list[float], room: Array) -> list[tuple[int, int]]:
    """Return independent rows and columns of what elimination has left of dense ones, in pairs."""
    rows = np.array(sorted({i for column in B for i in column}), dtype=np.intp)
    # rows of that matrix for each of its columns, of those with the most room
    rows = rows[np.argsort(-room[rows], kind="stable")[: 1_000 * len(B)]]
    place, M = {int(i): at for at, i in enumerate(rows)}, np.zeros((len(rows), len(B)))
    for k, column in enumerate(B):
        kept = [(place[i], value / tops[names[k]]) for i, value in column.items() if i in place]
        M[[at for at, _ in kept], k] = [value for _, value in kept]
    R, order = qr(M, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    independent = order[: int((sizes > SINGULAR * max(sizes.max(initial=0.0), 1.0)).sum())]
    if not len(independent):
        return []
    _, chosen = qr((room[rows, np.newaxis] * M[:, independent]).T, mode="r", pivoting=True)
    # which column goes with which row plays no part in what they span
    return [(int(rows[at]), names[k]) for at, k in zip(chosen, independent.tolist(), strict=False)]


def _find_dependence(B: sparse.csc_array, kept: Indices, j: int, factors: Array) -> dict[int, Fraction]:
    """Return exact factors of equations, 1 of the one that is left out, with which columns of B add up to 0.

    Which ones they are of, a solution in floats says; all rows of these are 0 if some independent ones are.
    """
    sizes = abs(B[:, kept]).max(axis=0).toarray().ravel()
    own = kept[np.abs(factors) * sizes > SINGULAR * np.abs(B[:, [j]]).max()]
    # of more equations that another one may depend on, factors are near fractions; others solve in rational numbers
    if len(own) > 100:
        near = [Fraction(factor).limit_denominator(1000) for factor in factors[np.isin(kept, own)].tolist()]
        return {**{int(k): -value for k, value in zip(own, near, strict=True)}, j: Fraction(1)}
    dense = B[:, np.append(own, j)].toarray()
    _, order = qr(dense[:, :-1].T, mode="r", pivoting=True) if len(own) else (None, np.empty(0, np.intp))
    rows = [[Fraction(float(value)) for value in dense[i]] for i in order[: len(own)]]
    if (found := solve_fractions(rows)) is None:
        raise np.linalg.LinAlgError
    return {**{int(k): -value for k, value in zip(own, found, strict=True)}, j: Fraction(1)}


def solve_fractions(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """Solve a square system, whose right sides are the last column, by Gauss and Jordan; None where it is singular."""
    for j in in_time(range(len(rows))):
        pivot = next((i for i in range(j, len(rows)) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [value / rows[j][j] for value in rows[j]]
        for i, row in enumerate(rows):
            if i != j and row[j]:
                rows[i] = [value - row[j] * of_pivot for value, of_pivot in zip(row, rows[j], strict=True)]
    return [row[-1] for row in rows]


def is_null(whole: sparse.csc_array, directions: sparse.csc_array, factors: dict[int, Fraction]) -> bool:
    """Return True if a sum of directions is mapped to 0, in rational numbers."""
    sums: dict[int, Fraction] = {}
    for k, factor in in_time(factors.items()):
        one = directions[:, [k]]
        for at, entry in zip(one.indices.tolist(), one.data.tolist(), strict=True):
            column, step = slice(whole.indptr[at], whole.indptr[at + 1]), factor * Fraction(entry)
            for i, value in zip(whole.indices[column].tolist(), whole.data[column].tolist(), strict=True):
                sums[i] = sums.get(i, Fraction(0)) + step * Fraction(value)
    return not any(sums.values())
