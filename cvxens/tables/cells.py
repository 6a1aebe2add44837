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
    found, remedy : str
        As in `InvalidInput`; `found` is without the place.
    column : str
        What the column is called.
    """

    def __init__(self, row: int, found: str, column: str, remedy: str) -> None:
        super().__init__("X", f"found {found} in row {row}, in {column}", remedy)
        self.row, self.odd, self.column = row, found, column

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
        Where there is no value.
    truths : bool
        Whether the texts are truth values, "true" and "false".
    """

    values: NDArray
    missing: NDArray[np.bool_]
    truths: bool = False

    @property
    def kind(self) -> str:
        """What the values are: "f" numbers, "M" moments, "O" texts."""
        return self.values.dtype.kind

    def known(self) -> NDArray:
        """Return the values that are not missing."""
        return self.values[~self.missing]

    def labels(self) -> NDArray:
        """Return the values as texts, None where missing; 3, 3.0 and "3" are one text."""
        labels = np.full(len(self.values), None, dtype=object)
        labels[~self.missing] = [_label(value) for value in self.known().tolist()]
        return labels


def columns_of(frame: Any) -> dict[str, Any]:
    """Return the columns of a data frame of pandas or polars under their names as text.

    Raises
    ------
    InvalidInput
        Several columns of one name.
    """
    named = {str(key): frame[key] for key in frame.columns}
    if len(named) < len(frame.columns):
        names = [str(key) for key in frame.columns]
        repeated = next(name for name in names if names.count(name) > 1)
        raise InvalidInput("X", f"found several columns {repeated!r}", "give each column a name of its own")
    return named


def is_frame(X: Any) -> bool:
    """Tell whether it is a data frame, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def read_cells(series: Any, na: Collection[str] = ()) -> Cells:
    """Return the cells of a column of pandas or polars; `na` are further texts for missing values.

    Raises
    ------
    InvalidInput
        Cells that are neither numbers, texts, truth values nor moments.
    """
    # pandas says isna where polars says is_null
    missing = np.array((series.isna() if hasattr(series, "isna") else series.is_null()).to_numpy(), dtype=bool)
    values = np.asarray(series.to_numpy())
    known = values[~missing]
    if known.dtype.kind == "O" and known.size:
        known = _settled(known)
    if known.dtype.kind in "biufM":
        return _plain(values, known, missing)
    if known.dtype.kind not in "OUT" or not all(isinstance(value, str) for value in known):
        odd = next((type(v).__name__ for v in known if not isinstance(v, str)), known.dtype)
        raise InvalidInput("X", f"found {odd} in the column {series.name!r}", "give numbers, texts, or moments")
    texts = np.full(len(values), "", dtype=object)
    texts[~missing] = [text.strip() for text in known.tolist()]
    gone = MISSING.union(na)
    return Cells(texts, missing | np.fromiter((text in gone for text in texts), bool, len(texts)))


def _plain(values: NDArray, known: NDArray, missing: NDArray[np.bool_]) -> Cells:
    if known.dtype.kind == "b":
        texts = np.full(len(values), "", dtype=object)
        texts[~missing] = np.where(known, "true", "false")
        return Cells(texts, missing, truths=True)
    if known.dtype.kind == "M":
        moments = np.full(len(values), np.datetime64("NaT", "us"))
        moments[~missing] = known.astype("datetime64[us]")
        return Cells(moments, missing | np.isnat(moments))
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = known.astype(np.float64)
    return Cells(numbers, missing | np.isnan(numbers))


def _settled(known: NDArray) -> NDArray:
    """Return objects as an array of what they all are, if that is one thing; texts and mixtures as texts."""
    from datetime import UTC, date, datetime
    from decimal import Decimal
    from numbers import Real

    if all(isinstance(value, bool | np.bool_) for value in known):
        return known.astype(bool)
    if all(isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in known):
        return known.astype(np.float64)
    if all(isinstance(value, date | np.datetime64) for value in known):
        aware = (isinstance(value, datetime) and value.tzinfo is not None for value in known)
        moments = [v.astimezone(UTC).replace(tzinfo=None) if a else v for v, a in zip(known, aware, strict=True)]
        return np.array([np.datetime64(value, "us") for value in moments])
    texts = np.empty(len(known), dtype=object)
    texts[:] = [_label(v) if isinstance(v, Real | Decimal) else v for v in known]
    return texts


def _label(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.15g}" if isinstance(value, int | float) else str(value)
