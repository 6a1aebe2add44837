"""Cells as they come: arrays, rows and data frames, column by column, missing values marked."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.types import Array

MISSING = frozenset({"", "?"})
"""What stands for a missing value in strings, blanks stripped; None and NaN do anywhere."""


@dataclass(frozen=True, eq=False)
class Cells:
    """One column before it is known to be numeric or nominal.

    Parameters
    ----------
    name : str
        The column's name.
    values : ndarray of shape (n_samples,)
        Of any type.
    missing : ndarray of bool, shape (n_samples,)
        True where there is no value.
    """

    name: str
    values: NDArray
    missing: NDArray[np.bool_]

    def numbers(self) -> Array | None:
        """Return the column as float64, NaN where missing; None if a known value does not read as a finite number."""
        known = self.values[~self.missing]
        if known.dtype.kind == "b" or (known.dtype.kind in "OUT" and any(map(_never_a_number, known))):
            return None
        column = np.full(len(self.values), np.nan)
        try:
            column[~self.missing] = known.astype(np.float64)
        except (TypeError, ValueError):
            return None
        if np.isfinite(column[~self.missing]).all():
            return column
        if all(isinstance(value, str) for value in known):
            return None
        raise InvalidInput("X", f"found infinity in column {self.name!r}", "give finite numbers, None where missing")

    def labels(self) -> list[str | None]:
        """Return each value's category, None where missing; 3, 3.0 and "3" are one category."""
        return [None if gone else _label(value) for value, gone in zip(self.values, self.missing, strict=True)]


def read_cells(X: Any) -> tuple[list[Cells], bool]:
    """Return the columns of `X`, and whether they bear names of their own."""
    if hasattr(X, "columns"):
        return _frame(X), True
    return _rows(X), False


def _frame(X: Any) -> list[Cells]:
    names = [str(name) for name in X.columns]
    if not names or len(set(names)) < len(names) or not len(X):
        raise InvalidInput(
            "X", f"found {len(X)} rows under {names}", "give a frame with rows and distinctly named columns"
        )
    return [_series(name, X[key]) for name, key in zip(names, X.columns, strict=True)]


def _series(name: str, series: Any) -> Cells:
    # pandas says isna where polars says is_null
    missing = series.isna() if hasattr(series, "isna") else series.is_null()
    return _cells(name, np.asarray(series.to_numpy()), np.asarray(missing.to_numpy(), dtype=bool))


def _rows(X: Any) -> list[Cells]:
    try:
        rows = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    except ValueError:
        raise InvalidInput("X", "found rows of different lengths", "give rows of equal length") from None
    if rows.ndim != 2:
        raise InvalidInput("X", f"found {rows.ndim} dimensions, shape {rows.shape}", "give rows of equal length")
    if rows.size == 0:
        raise InvalidInput("X", f"found no data, shape {rows.shape}", "give at least one row and one column")
    none = np.zeros(len(rows), dtype=bool)
    return [_cells(f"x{j}", rows[:, j], none) for j in range(rows.shape[1])]


def _cells(name: str, values: NDArray, missing: NDArray[np.bool_]) -> Cells:
    kind = values.dtype.kind
    if kind not in "biufOUT":
        raise InvalidInput("X", f"found {values.dtype} in column {name!r}", "convert it to numbers or to strings")
    if kind == "f":
        missing = missing | np.isnan(values)
    elif kind in "OUT":
        missing = missing | np.fromiter(map(_is_missing, values, missing), bool, len(values))
    return Cells(name, values, missing)


def _is_missing(value: Any, already: bool) -> bool:
    if already or value is None:
        return True
    return value.strip() in MISSING if isinstance(value, str) else isinstance(value, float) and isnan(value)


def _never_a_number(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, str) and "_" in value)


def _label(value: Any) -> str:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{value:.15g}"
    return str(value).strip()
