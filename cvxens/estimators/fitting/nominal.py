"""Data frames with nominal columns, as tables of codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.tables import is_frame
from cvxens.trees import Feature, Table, match
from cvxens.trees.tables import Cells, read_cells


def features_of(X: Any) -> tuple[Feature, ...] | None:
    """What the columns of a data frame are, if some are nominal: categories, strings or booleans by their type.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Only data frames have types by column.

    Returns
    -------
    tuple of Feature or None
        With the values that a nominal column has in `X`.

    Raises
    ------
    InvalidInput
        Columns of dates, or of one name.

    Examples
    --------
    >>> import pandas as pd
    >>> features_of(pd.DataFrame({"age": [31, 45], "town": ["Ulm", None]}))
    (Feature(name='age', categories=None), Feature(name='town', categories=('Ulm',)))
    >>> features_of(pd.DataFrame({"age": [31, 45]})) is None
    True
    """
    if not is_frame(X):
        return None
    cells, _ = read_cells(X)
    nominal = [column.name for column, dtype in zip(cells, X.dtypes, strict=True) if _is_nominal(column, str(dtype))]
    return Table.read(X, nominal=nominal).features if nominal else None


def codes(features: tuple[Feature, ...], X: Any) -> Any:
    """Return a data frame of the same columns, numbers and codes of categories; NaN where missing or unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> codes((Feature("town", ("Bonn", "Ulm")),), pd.DataFrame({"town": ["Ulm", "Rome"]}))
       town
    0   1.0
    1   NaN
    """
    if not is_frame(X):
        named = ", ".join(feature.name for feature in features[:5])
        raise InvalidInput(
            "X", "found no data frame, after a fit to one with nominal columns", f"give one with the columns {named}"
        )
    return type(X)(dict(zip(X.columns, match(features, X).columns, strict=True)))


def words_in(X: Any) -> list[str]:
    """The names of columns of a data frame with strings that are no numbers."""
    cells = read_cells(X)[0] if is_frame(X) else []
    return [column.name for column in cells if column.values.dtype.kind != "b" and column.numbers() is None]


def _is_nominal(column: Cells, dtype: str) -> bool:
    known = column.values[~column.missing]
    if dtype.lower().startswith(("category", "categorical", "enum")) or known.dtype.kind in "bUT":
        return True
    return known.dtype.kind == "O" and (not known.size or any(isinstance(v, str | bool | np.bool_) for v in known))
