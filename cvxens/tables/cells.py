"""The cells of a data frame's column, whatever their type: numbers, moments or texts, and which are missing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput

MISSING = frozenset({"", "?", "NA", "<NA>", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "NULL", "null", "NaT"})
"""Texts that stand for a missing value, as in pandas, and the question mark."""


class OddCell(InvalidInput):
    """A cell that cannot be what its column is.

    Parameters
    ----------
    row : int
        The position of the cell in its column.
    odd : str
        What is in the cell.
    column : str
        What the column is called.
    remedy : str
        As in `InvalidInput`.
    """

    def __init__(self, row: int, odd: str, column: str, remedy: str) -> None:
        super().__init__("X", f"found {odd} in row {row}, in {column}", remedy)
        self.row, self.odd, self.column = row, odd, column

    def __reduce__(self) -> tuple[type, tuple]:
        return type(self), (self.row, self.odd, self.column, self.remedy)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        float64, datetime64, or objects that are str.
    missing : ndarray of bool, shape (n_samples,)
        True where there is no value.
    truths : bool
        True if the texts are truth values, "true" and "false".
    """

    values: NDArray
    missing: NDArray[np.bool_]
    truths: bool = False

    @property
    def kind(self) -> str:
        """The kind of the values' type: "f" for numbers, "M" for moments, "O" for texts."""
        return self.values.dtype.kind

    def known(self) -> NDArray:
        """Return the values that are not missing."""
        return self.values[~self.missing]

    def labels(self) -> NDArray:
        """Return the values as texts, None where missing; 3, 3.0 and "3" are one text."""
        labels = np.full(len(self.values), None, dtype=object)
        labels[~self.missing] = [_label(value) for value in self.known().tolist()]
        return labels


def is_frame(X: Any) -> bool:
    """Return True if `X` is a data frame, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def columns_of(frame: Any) -> dict[str, Any]:
    """Return the columns of a data frame of pandas or polars under their names as text.

    Raises
    ------
    InvalidInput
        Several columns have one name.
    """
    names = [str(key) for key in frame.columns]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput("X", f"found several columns {name!r}", "give each column a name of its own")
    return {name: frame[key] for name, key in zip(names, frame.columns, strict=True)}


def read_cells(series: Any, na: Collection[str] = ()) -> Cells:
    """Return the cells of a column of pandas or polars; `na` are further texts for missing values.

    Raises
    ------
    InvalidInput
        Cells are neither numbers, texts, truth values nor moments.
    """
    import pandas as pd

    values = np.asarray(series.to_numpy())
    missing = np.asarray(pd.isna(values))
    known = values[~missing]
    if known.dtype.kind == "O" and known.size:
        known = _unify(known)
    truths = known.dtype.kind == "b"
    if known.dtype.kind in "iufM":
        dtype = "datetime64[us]" if known.dtype.kind == "M" else "float64"
        cells = np.full(len(values), "NaT" if known.dtype.kind == "M" else np.nan, dtype)
        cells[~missing] = known.astype(dtype)
        return Cells(cells, missing)
    texts = np.full(len(values), "", dtype=object)
    if truths:
        texts[~missing] = np.where(known, "true", "false")
    elif odd := [value for value in known.tolist() if not isinstance(value, str)]:
        found = type(odd[0]).__name__ if known.dtype.kind == "O" else known.dtype
        raise InvalidInput("X", f"found {found} in the column {series.name!r}", "give numbers, texts, or moments")
    else:
        texts[~missing] = [text.strip() for text in known.tolist()]
        missing = missing | np.isin(texts, [*MISSING, *na])
    return Cells(texts, missing, truths)


def _unify(known: NDArray) -> NDArray:
    """Return objects as an array of the one kind that they all are; texts and mixtures as texts."""
    from datetime import UTC, date
    from decimal import Decimal
    from numbers import Real

    if all(isinstance(value, bool | np.bool_) for value in known):
        return known.astype(bool)
    if all(isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in known):
        return known.astype(np.float64)
    if all(isinstance(value, date | np.datetime64) for value in known):
        # numpy has no time zones
        aware = (getattr(value, "tzinfo", None) is not None for value in known)
        moments = [v.astimezone(UTC).replace(tzinfo=None) if a else v for v, a in zip(known, aware, strict=True)]
        return np.array(moments, "datetime64[us]")
    texts = np.empty(len(known), dtype=object)
    texts[:] = [_label(value) if isinstance(value, Real | Decimal) else value for value in known]
    return texts


def _label(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.15g}" if isinstance(value, int | float) else str(value)
