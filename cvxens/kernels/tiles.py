"""A kernel matrix computed tile by tile, on several threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cvxens.features import in_threads
from cvxens.kernels.memory import check_room
from cvxens.types import Array

Tile: TypeAlias = Callable[[slice, slice], Array]
"""Maps a slice of rows and a slice of columns to that part of a matrix, in float64."""

SIDE = 512
"""Rows and columns of a tile: 2 MiB in float64, which a processor's cache holds."""


def assemble(tile: Tile, shape: tuple[int, int], dtype: np.dtype, *, symmetric: bool) -> NDArray:
    """Return the whole matrix; only half of a symmetric one is computed.

    Parameters
    ----------
    tile : Tile
        Computes a part; called from several threads, and BLAS keeps to one in each.
    shape : tuple of int
        Of the matrix.
    dtype : dtype
        Of the matrix; tiles are rounded to it.
    symmetric : bool
        Whether the matrix is symmetric.

    Raises
    ------
    InvalidInput
        If the matrix does not fit into memory.
    """
    check_room(*shape, dtype)
    matrix = np.empty(shape, dtype)
    parts = [
        (rows, columns)
        for rows in _slices(shape[0])
        for columns in _slices(shape[1])
        if not symmetric or columns.start >= rows.start
    ]

    def fill(k: int) -> None:
        rows, columns = parts[k]
        part = tile(rows, columns)
        matrix[rows, columns] = part
        if symmetric and rows != columns:
            matrix[columns, rows] = part.T

    if len(parts) == 1:
        fill(0)
    else:
        with threadpool_limits(1, "blas"):
            in_threads(fill, range(len(parts)))
    return matrix


def _slices(length: int) -> list[slice]:
    return [slice(first, min(first + SIDE, length)) for first in range(0, length, SIDE)]
