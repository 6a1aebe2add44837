"""Functional ANOVA of a table: what a function of two features says of each of them alone, and what is left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from cvxens.types import Array


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
    # eigenvalues below that share of the largest one are of separate parts of the table
    found = np.linalg.lstsq(matrix, sums / scale[:, None], rcond=1e-10)[0] / scale[:, None]
    a, b = np.zeros((len(r), table.shape[2])), np.zeros((len(c), table.shape[2]))
    a[i], b[j] = found[: len(i)], found[len(i) :]
    a[r == 0] = np.einsum("j,ijk->ik", c, table[r == 0] - b)
    b[c == 0] = np.einsum("i,ijk->jk", r, table[:, c == 0] - a[:, None])
    of_rows, of_columns = r @ a, c @ b
    a, b, constant = a - of_rows, b - of_columns, of_rows + of_columns
    return table - a[:, None] - b - constant, a, b, constant


def purify_further(table: Array, masses: Array) -> tuple[Array, list[Array]]:
    """Split a table of three or more features into a pure interaction and tables of all but one of them.

    As `purify`, but what leaves the table is one table for each feature, without that one. They are those of least
    squares, so that what is left has the weighted mean 0 over any feature, whatever the others are; they are not pure
    themselves. Cells of the others without weight stay as they are.

    Parameters
    ----------
    table : ndarray of shape (n_cells, n_cells, n_cells, ..., n_outputs)
        The function, cell by cell.
    masses : ndarray of shape (n_cells, n_cells, n_cells, ...)
        Weights of the cells, 0 or above, with the sum 1.

    Returns
    -------
    pure : ndarray, shaped as the table
        The interaction.
    parts : list of ndarray
        Part k has the axes of the table but the k-th. Together they add up to the table.

    Examples
    --------
    >>> table = np.zeros((2, 2, 2, 1))
    >>> table[1, 1, 1] = 1.0
    >>> pure, parts = purify_further(table, np.full((2, 2, 2), 1 / 8))
    >>> print(pure[..., 0].round(9).ravel(), [part.shape for part in parts])
    [-0.125  0.125  0.125 -0.125  0.125 -0.125 -0.125  0.125] [(2, 2, 1), (2, 2, 1), (2, 2, 1)]
    """
    order, shape = masses.ndim, masses.shape
    root = np.sqrt(masses)
    # the unknowns are scaled by the roots of the masses of their cells, as those of `purify`
    sums = [masses.sum(axis=k) for k in range(order)]
    scales = [np.divide(1.0, np.sqrt(m), out=np.zeros_like(m), where=m > 0) for m in sums]
    ends = np.cumsum([m.size for m in sums])

    def spread(x: Array) -> Sequence[Array]:
        parts = np.split(x, ends[:-1])
        return [part.reshape(scale.shape) * scale for part, scale in zip(parts, scales, strict=True)]

    def add(x: Array) -> Array:
        return (root * sum(np.expand_dims(part, k) for k, part in enumerate(spread(x)))).ravel()

    def collect(r: Array) -> Array:
        weighted = root * r.reshape(shape)
        return np.concatenate([(weighted.sum(axis=k) * scales[k]).ravel() for k in range(order)])

    operator = LinearOperator((masses.size, ends[-1]), matvec=add, rmatvec=collect, dtype=np.float64)
    found = []
    for values in np.moveaxis(table, -1, 0):
        goal = (root * values).ravel()
        # what is left of the means, in the units of the table
        found.append(spread(lsmr(operator, goal, atol=1e-14, btol=1e-14, conlim=0, maxiter=2000)[0]))
    parts = [np.stack(of_outputs, axis=-1) for of_outputs in zip(*found, strict=True)]
    return table - sum(np.expand_dims(part, k) for k, part in enumerate(parts)), parts
