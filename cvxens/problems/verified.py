"""Exact solutions of linear equations near the floats that miss them: how near one is, verified.

Floats l satisfy ``B'l + target = 0`` but for a residual r. If S is a square part of the rows of B, the exact l + d with
d 0 elsewhere and ``S'd = -r`` satisfies it exactly. Where the comparison matrix of S', its diagonal less the sizes of
the rest, takes some e > 0 to more than |r|, it is an M-matrix, and ``|d| <= e`` (Ostrowski 1937). The equations of a
canonical form define variables one by one, so that S can be had triangular but for small blocks; these are multiplied
by their inverses R first, as they are in floats (Krawczyk 1969), and a triangular matrix with a diagonal has an e.
"""

from __future__ import annotations

from math import fsum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching
from scipy.sparse.linalg import splu

from cvxens.rounding import EPSILON, LARGEST, split
from cvxens.types import Array

ROOM = 1e-6
"""What e is raised by, relative, so that it is above an exact one whatever rounding does to it."""

SMALLEST = 1e-280
"""Products from this on are split without underflow; the parts are 2^-53 of them."""

LARGEST_BLOCK = 300
"""The largest block whose inverse is made."""

SWEEPS = 3

ATTEMPTS = 8
"""Choices of rows that are tried: those with the most room may depend on each other."""

LEAST = 1e-300
"""The share of the largest row that a row with no way to go counts as, where equations are given rows."""


def sum_columns(A: Any, dual: Array, added: Array) -> Array:
    """Bound the sizes of ``A'dual + added``; 0 where they are exactly 0. `added` has a row for each summand."""
    factors = dual[A.indices]
    products = split(A.data, factors).tolist()
    starts = (2 * A.indptr).tolist()
    sums = [
        fsum([*products[first:last], *rest])
        for first, last, rest in zip(starts[:-1], starts[1:], added.T.tolist(), strict=True)
    ]
    sizes = np.abs(A.data * factors)
    tiny = LEAST * np.diff(A.indptr).max(initial=0) if ((sizes > 0) & (sizes < SMALLEST)).any() else 0.0
    finite = sizes.max(initial=0.0) < LARGEST
    return (np.abs(sums) * (1 + 2 * EPSILON) + tiny) if finite else np.full(A.shape[1], np.inf)


def _invert_blocks(matrix: Any) -> Any:
    """Return the inverses of the blocks on the diagonal of a matrix that is triangular but for them, in order."""
    n = matrix.shape[0]
    _, labels = connected_components(matrix, directed=True, connection="strong")
    order = np.argsort(labels, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    large = [block for block in blocks if len(block) > 1]
    if any(len(block) > LARGEST_BLOCK for block in large):
        raise np.linalg.LinAlgError
    alone = np.ones(n)
    rows, columns, values = [], [], []
    for block in large:
        alone[block] = 0.0
        rows.append(np.repeat(block, len(block)))
        columns.append(np.tile(block, len(block)))
        values.append(np.linalg.inv(matrix[block][:, block].toarray()).ravel())
    ones = np.flatnonzero(alone)
    entries = np.concatenate([alone[ones], *values]), (np.concatenate([ones, *rows]), np.concatenate([ones, *columns]))
    return sparse.coo_array(entries, shape=(n, n))


class Equations:
    """Equations ``B'l + target = 0`` of which floats l miss some, to be satisfied by rows that may move.

    Parameters
    ----------
    rows : ndarray of int
        A row of B for each equation.
    S : sparse array
        These rows, (n_equations, n_equations).

    Examples
    --------
    >>> B = sparse.csc_array([[1.0, 1.0], [0.0, 2.0], [3.0, 0.0]])
    >>> equations = Equations.choose(B, np.array([0.0, 1.0, 1.0]))
    >>> equations.rows.tolist(), equations.enclose(np.array([0.3, 0.0])).round(3)
    ([2, 1], array([0. , 0. , 0.2]))
    """

    def __init__(self, rows: NDArray[np.intp], S: Any, n_rows: int) -> None:
        self.rows = rows
        self.n_rows = n_rows
        matrix = sparse.csc_array(S.T)
        self.inverses = sparse.csc_array(_invert_blocks(matrix))
        product = sparse.csc_array(self.inverses @ matrix)
        # a product of k terms is off by k eps of their sizes
        lost = (LARGEST_BLOCK + 2) * EPSILON * sparse.csc_array(abs(self.inverses) @ abs(matrix))
        self.sizes = sparse.csc_array(abs(product) + lost)
        diagonal = sparse.diags_array(2 * np.abs(product.diagonal()), format="csc")
        self.comparison = sparse.csc_array(diagonal - self.sizes)
        self._factor = splu(self.comparison)

    @classmethod
    def choose(cls, B: Any, room: Array) -> Self | None:
        """Choose for each equation a row that has an entry in it, and the most room together; None if there are none.

        `room` says of each row of B how far it may move.
        """
        entries = sparse.coo_array(B)
        row, column = entries.coords
        largest = float(room[np.isfinite(room)].max(initial=0.0)) or 1.0
        weights = np.abs(entries.data) * np.clip(room[row] / largest, LEAST, 1.0)
        random = np.random.default_rng(0)
        for attempt in range(ATTEMPTS):
            # the product of the weights is the largest, and with it the share of the diagonal
            noise = np.exp(attempt * random.random(len(weights)))
            costs = 1.0 + np.log((noise * weights).max(initial=1.0)) - np.log(np.maximum(noise * weights, LEAST))
            graph = sparse.csr_array((costs, (column, row)), shape=B.shape[::-1])
            try:
                equations, rows = min_weight_full_bipartite_matching(graph)
            except ValueError:
                return None
            rows = rows[np.argsort(equations)]
            try:
                chosen = cls(rows, sparse.csr_array(B)[rows], B.shape[0])
            except (RuntimeError, np.linalg.LinAlgError):
                # a block is too large, or singular
                continue
            if chosen.enclose(np.ones(len(rows))) is not None:
                return chosen
        return None

    def enclose(self, missed: Array) -> Array | None:
        """Bound how far an exact solution is from floats that miss the equations by no more than `missed`.

        Returns
        -------
        ndarray of shape (n_rows,)
            0 for the rows that do not move; None where nothing is verified.
        """
        e = np.zeros(self.n_rows)
        if not missed.any():
            return e
        if not np.isfinite(missed).all():
            return None
        missed = (1 + (LARGEST_BLOCK + 2) * EPSILON) * (abs(self.inverses) @ missed)
        first = self._factor.solve(2 * missed)
        shifts = np.maximum(self._factor.solve(2 * missed + ROOM * (self.sizes @ np.abs(first))), 0.0)
        diagonal = self.sizes.diagonal()
        for _ in range(SWEEPS):
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
