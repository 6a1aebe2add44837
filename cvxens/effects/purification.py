"""Functional ANOVA of a table: what a function of two features says of each of them alone, and what is left."""

from __future__ import annotations

import numpy as np

from cvxens.types import Array

NEGLIGIBLE = 1e-10
"""Eigenvalues, of the largest one, below which rows and columns count as of separate parts of the table."""


def purify(table: Array, masses: Array) -> tuple[Array, Array, Array, Array]:
    """Split a table T into a pure interaction, a function of the rows, one of the columns, and a constant.

    With weights W of the cells, the functions a and b are those that minimise ``sum_ij W_ij (T_ij - a_i - b_j)^2``:
    what is left has the weighted mean 0 in every row and in every column, which is where moving these means out of the
    table, again and again, would end (Lengerich, Tan, Chang, Hooker & Caruana, *Purifying interaction effects with the
    functional ANOVA*, AISTATS 2020). A row without weight is taken as if its cells had the weights of the columns.
    Where the weights fall into parts that have no row and no column in common, a and b of least squares are taken.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns, n_outputs)
        The function, cell by cell.
    masses : ndarray of shape (n_rows, n_columns)
        Weights of the cells, 0 or above, with the sum 1.

    Returns
    -------
    pure : ndarray of shape (n_rows, n_columns, n_outputs)
        The interaction.
    rows, columns : ndarrays of shape (n_rows, n_outputs) and (n_columns, n_outputs)
        a and b, of weighted mean 0.
    constant : ndarray of shape (n_outputs,)
        The weighted mean of the table. The four add up to it.

    Examples
    --------
    >>> both = np.array([[0.0, 0.0], [0.0, 1.0]])[..., None]
    >>> pure, rows, columns, constant = purify(both, np.full((2, 2), 0.25))
    >>> print(pure[..., 0].round(9), rows[:, 0].round(9), constant.round(9))
    [[ 0.25 -0.25]
     [-0.25  0.25]] [-0.25  0.25] [0.25]
    """
    r, c = masses.sum(axis=1), masses.sum(axis=0)
    i, j = np.flatnonzero(r), np.flatnonzero(c)
    # the normal equations, in the unknowns sqrt(r) a and sqrt(c) b: their matrix has the ones on its diagonal
    scale = np.sqrt(np.concatenate([r[i], c[j]]))
    A = masses[np.ix_(i, j)] / np.outer(scale[: len(i)], scale[len(i) :])
    matrix = np.block([[np.eye(len(i)), A], [A.T, np.eye(len(j))]])
    weighted = masses[..., None] * table
    sums = np.concatenate([weighted.sum(axis=1)[i], weighted.sum(axis=0)[j]])
    found = np.linalg.lstsq(matrix, sums / scale[:, None], rcond=NEGLIGIBLE)[0] / scale[:, None]
    a, b = np.zeros((len(r), table.shape[2])), np.zeros((len(c), table.shape[2]))
    a[i], b[j] = found[: len(i)], found[len(i) :]
    a[r == 0] = np.einsum("j,ijk->ik", c, table[r == 0] - b)
    b[c == 0] = np.einsum("i,ijk->jk", r, table[:, c == 0] - a[:, None])
    of_rows, of_columns = r @ a, c @ b
    a, b, constant = a - of_rows, b - of_columns, of_rows + of_columns
    return table - a[:, None] - b - constant, a, b, constant
