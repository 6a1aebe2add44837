"""Units of a conic form: powers of 2 that bring rows and variables in any units to sizes near 1.

What is in small units would be left to a solver's digits: ``1e-9 c'z <= 1e-10`` holds everywhere to within 1e-9. Rows
of one cone share a factor, so that they stay in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cvxens.types import Array

STEP = 4
"""The logarithms are multiples of this: what is within a few powers of 2 of 1 stays as it is."""


def find_units(A: Any, b: Array, blocks: NDArray[np.intp], rows: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return factors of the rows and of the variables of ``b - A x``; those of the variables at `rows` are 1.

    The logarithms of the entries, with these and b as they are, are made small in squares by turns. A row's entries at
    these variables count as one, their sum.

    Examples
    --------
    >>> A = sparse.csc_array(np.array([[2.0**-32, -1.0], [0.0, 1.0]]))
    >>> factors, units = find_units(A, np.array([0.0, 2.0**-33]), np.arange(2), np.array([0]))
    >>> np.log2(factors), np.log2(units)
    (array([32., 32.]), array([  0., -32.]))
    """
    n_rows, n_columns = A.shape
    free = np.ones(n_columns, dtype=bool)
    free[rows] = False
    of_free = sparse.coo_array(A[:, np.flatnonzero(free)])
    given = np.concatenate([np.abs(A[:, rows]).sum(axis=1), np.abs(b)])
    at_given = np.concatenate([blocks, blocks])[given > 0]
    kept = of_free.data != 0
    place, column = blocks[of_free.coords[0][kept]], of_free.coords[1][kept]
    sizes, known = np.log2(np.abs(of_free.data[kept])), np.log2(given[given > 0])
    n_blocks = int(blocks.max(initial=-1)) + 1
    of_rows, of_columns = np.zeros(n_blocks), np.zeros(int(free.sum()))
    counts = np.bincount(place, minlength=n_blocks) + np.bincount(at_given, minlength=n_blocks)
    uses = np.bincount(column, minlength=len(of_columns))
    # sweeps over rows and columns, each of which halves what is missed or better
    for _ in range(40):
        total = np.bincount(place, sizes + of_columns[column], n_blocks) + np.bincount(at_given, known, n_blocks)
        of_rows = -total / np.maximum(counts, 1)
        of_columns = -np.bincount(column, sizes + of_rows[place], len(of_columns)) / np.maximum(uses, 1)
    units = np.zeros(n_columns)
    units[free] = _round(of_columns)
    # the largest entry of each cone is about 1 then
    largest = np.full(n_blocks, -np.inf)
    np.maximum.at(largest, place, sizes + units[free][column])
    np.maximum.at(largest, at_given, known)
    factors = -_round(np.where(np.isfinite(largest), largest, 0.0))
    return np.exp2(factors)[blocks] if n_rows else np.zeros(0), np.exp2(units)


def _round(logarithms: Array) -> Array:
    # digits of the logarithms before they are rounded, so that equal columns have equal units
    return STEP * np.rint(np.round(logarithms / STEP, 6))
