"""How much memory a matrix and the names of its features may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.datasets.source import Source

MEBIBYTE = 2**20
DENSE_LIMIT = 256 * MEBIBYTE
"""Bytes that a dense matrix may take if its file holds something smaller."""

MOST_FEATURES = 2**22


def numbered_names(source: Source, n_features: int) -> tuple[str, ...]:
    """Return the names ``x0``, ``x1``, ... or raise `DataFileError` beyond 2^22 features."""
    if n_features > MOST_FEATURES:
        raise source.error(f"found {n_features} features", f"check the largest index; up to {MOST_FEATURES} are read")
    return tuple(f"x{j}" for j in range(n_features))


def dense_bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Return the bytes of a dense matrix, in exact integers."""
    return int(shape[0]) * int(shape[1]) * dtype.itemsize


def check_room(source: Source, shape: tuple[int, ...], dtype: np.dtype, remedy: str) -> None:
    """Raise `DataFileError` if a dense matrix would exceed `DENSE_LIMIT`."""
    needed = dense_bytes(shape, dtype)
    if needed > DENSE_LIMIT:
        raise source.error(
            f"found {shape[0]} x {shape[1]} values, {needed / MEBIBYTE:,.0f} MiB as a dense {dtype} matrix "
            f"where the limit is {DENSE_LIMIT // MEBIBYTE} MiB",
            remedy,
        )


def dense_dtype(parts: Sequence[Any]) -> np.dtype:
    """Return float64 if every part fits into `DENSE_LIMIT` as such, else the type that the parts have."""
    double = np.dtype(np.float64)
    fits = all(dense_bytes(part.shape, double) <= DENSE_LIMIT for part in parts)
    return double if fits else np.result_type(*(part.dtype for part in parts))


def as_dense(source: Source, X: Any, dtype: np.dtype) -> NDArray:
    """Return an ndarray or CSR matrix as a dense matrix.

    Raises
    ------
    DataFileError
        If `X` is sparse and its dense form exceeds `DENSE_LIMIT`.
    """
    from scipy.sparse import issparse

    if issparse(X):
        check_room(source, X.shape, dtype, "ask for sparse=True to get a CSR matrix")
        X = X.toarray()
    return np.ascontiguousarray(X, dtype=dtype)
