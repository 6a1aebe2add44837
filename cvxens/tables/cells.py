"""The cells of a column, whatever their type, as a series of pandas: numbers, moments, truth values or texts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput

MISSING = frozenset({"", "?", "NA", "<NA>", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "NULL", "null", "NaT"})
"""Texts that stand for a missing value in files, as in pandas, and the question mark."""

MISSING_IN_MEMORY = frozenset({"", "?"})
"""Texts that do so beside the nulls of arrays and frames, where NA may be Namibia."""


class OddCell(InvalidInput):
    """A cell that cannot be what its column is: the position, what is there, and what the column is called."""

    def __init__(self, row: int, odd: str, column: str, remedy: str) -> None:
        super().__init__("X", f"found {odd} in row {row}, in {column}", remedy)
        self.row, self.odd, self.column = row, odd, column

    def __reduce__(self) -> tuple[type, tuple]:
        return type(self), (self.row, self.odd, self.column, self.remedy)


def is_frame(X: Any) -> bool:
    """Return True if `X` is a data frame, of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def columns_of(frame: Any) -> dict[str, Any]:
    """Return the columns of a data frame under their names as text; `InvalidInput` if several have one name."""
    names = [str(key) for key in frame.columns]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InvalidInput("X", f"found several columns {repeated!r}", "give each column a name of its own")
    return {name: frame[key] for name, key in zip(names, frame.columns, strict=True)}


def read_columns(X: Any) -> tuple[dict[str, Any], bool]:
    """Return the cells of a data frame, an array or rows by column, and whether columns have names of their own.

    Others are called x0, x1, ... Missing are None, NaN, nulls, and texts of `MISSING_IN_MEMORY`. `InvalidInput` if
    there are no cells, rows of different lengths, or columns of dates or other types.
    """
    import pandas as pd

    if named := is_frame(X):
        columns = columns_of(X)
        if not columns or not len(X):
            raise InvalidInput("X", f"found {len(X)} rows under {list(columns)}", "give a frame with rows and columns")
    else:
        try:
            rows = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        except ValueError:
            raise InvalidInput("X", "found rows of different lengths", "give rows of equal length") from None
        if rows.ndim != 2 or rows.size == 0:
            raise InvalidInput("X", f"found shape {rows.shape}", "give rows of equal length, and at least one column")
        rows = rows.astype(object) if rows.dtype.kind in "UT" else rows
        columns = {f"x{j}": pd.Series(column, name=f"x{j}") for j, column in enumerate(rows.T)}
    cells = {name: read_cells(column, missing=MISSING_IN_MEMORY) for name, column in columns.items()}
    for name, column in cells.items():
        if column.dtype.kind == "M":
            raise InvalidInput("X", f"found dates in column {name!r}", "convert them to numbers or to strings")
    return cells, named


def read_cells(series: Any, na: Collection[str] = (), *, missing: Collection[str] = MISSING) -> Any:
    """Return a column of pandas or polars as a `pandas.Series` of one of four kinds of type, missing where it has none.

    Its ``dtype.kind`` is "f" for numbers, "M" for moments in UTC, "b" for truth values, and "O" for texts without the
    blanks around them; the texts of `missing` and `na` stand for missing values. `InvalidInput` if cells are of other
    types, but for categories, which are what they are called.
    """
    import pandas as pd

    values = np.asarray(series.to_numpy())
    if values.dtype.kind in "iuf":
        return pd.Series(values, dtype=np.float64)
    gone, empty = np.asarray(pd.isna(values)), {*missing, *na}
    if values.dtype.kind in "OUT":
        gone |= np.fromiter((isinstance(v, str) and v.strip() in empty for v in values.tolist()), bool, len(values))
    known = values[~gone]
    if known.dtype.kind == "O" and known.size:
        known = _unify(known)
    if known.dtype.kind in "biufM":
        dtype = {"b": "boolean", "M": "datetime64[us]"}.get(known.dtype.kind, "float64")
        cells = pd.Series(index=range(len(values)), dtype=dtype)
        cells[~gone] = known.astype("bool" if dtype == "boolean" else dtype)
        return cells
    if str(series.dtype) == "category" and known.dtype.kind == "O":
        known = known.astype(str)
    if known.size and pd.api.types.infer_dtype(known) != "string":
        odd = next((type(value).__name__ for value in known.tolist() if not isinstance(value, str)), "")
        found = odd if known.dtype.kind == "O" else known.dtype
        raise InvalidInput("X", f"found {found} in the column {series.name!r}", "give numbers, texts, or moments")
    texts = np.full(len(values), None, dtype=object)
    texts[~gone] = [text.strip() for text in known.tolist()]
    return pd.Series(texts, dtype=object)


def _unify(known: NDArray) -> NDArray:
    """Return objects as an array of the one kind that they all are; texts and mixtures as texts."""
    from datetime import UTC, date
    from decimal import Decimal
    from numbers import Real

    import pandas as pd

    kind = pd.api.types.infer_dtype(known)
    if kind in {"string", "boolean"}:
        return known.astype(bool) if kind == "boolean" else known
    if all(isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in known):
        return known.astype(np.float64)
    if all(isinstance(value, date | np.datetime64) for value in known):
        # numpy has no time zones
        aware = (getattr(value, "tzinfo", None) is not None for value in known)
        moments = [v.astimezone(UTC).replace(tzinfo=None) if a else v for v, a in zip(known, aware, strict=True)]
        return np.array(moments, "datetime64[us]")
    texts = np.empty(len(known), dtype=object)
    # a truth value beside texts is called as Python calls it
    spelt = (str(value) if isinstance(value, bool | np.bool_) else value for value in known)
    texts[:] = [_spell(value) if isinstance(value, Real | Decimal) else value for value in spelt]
    return texts


def spell(cells: Any) -> NDArray:
    """Return cells as texts, None where missing; 3, 3.0 and "3" are one text."""
    texts = np.full(len(cells), None, dtype=object)
    if cells.dtype.kind == "O":
        return np.where(cells.notna(), cells, texts)
    texts[cells.notna().to_numpy()] = [_spell(value) for value in cells.dropna().tolist()]
    return texts


def _spell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, int | float) else str(value)
