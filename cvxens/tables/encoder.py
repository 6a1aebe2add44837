"""From the columns of a table to features, in the way that was learnt of the training part."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.tables.cells import columns_of, is_frame, read_cells
from cvxens.tables.columns import Column, LeftOutColumn, NominalColumn, NumericColumn, learn_columns


@dataclass(frozen=True)
class TableEncoder:
    r"""How the columns of a table become features; part of a model that was fitted to a table.

    Parameters
    ----------
    columns : tuple of NumericColumn, NominalColumn or LeftOutColumn
        What each column is, the target not among them.
    target : str
        The name of the target; "" if it is not known.
    raw : bool
        True if learners get categories and gaps as they are, as trees do, in place of indicators and medians.
    na : tuple of str
        Further texts that stand for missing values.
    separator : str
        What separates the cells of text files, "" if that can be found out.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, None, 45], "town": ["Ulm", "Bonn", "Ulm"]})
    >>> encoder = TableEncoder.learn(people)
    >>> encoder.transform(people)
        age  town=Bonn  town=Ulm
    0  31.0        0.0       1.0
    1  38.0        1.0       0.0
    2  45.0        0.0       1.0
    >>> print("\n".join(encoder.notes))
    age: the median 38 in place of 1 missing value
    town: 2 levels, each a 0/1 feature
    """

    columns: tuple[Column, ...]
    target: str = ""
    raw: bool = False
    na: tuple[str, ...] = ()
    separator: str = ""

    def __post_init__(self) -> None:
        if not (all(isinstance(column, Column) for column in self.columns) and isinstance(self.raw, bool)):
            raise TypeError("an encoder that is not made of columns")
        if not all(isinstance(text, str) for text in (self.target, self.separator, *self.na)):
            raise TypeError("an encoder whose names are not texts")

    @classmethod
    def learn(
        cls,
        frame: Any,
        *,
        target: str = "",
        raw: bool = False,
        na: tuple[str, ...] = (),
        keep: Collection[str] = (),
        decimal: str | None = None,
        separator: str = ",",
    ) -> TableEncoder:
        """Learn of a data frame, without the column of the target, what its columns are; see `learn_columns`."""
        cells = {name: read_cells(column, na) for name, column in columns_of(frame).items() if name != target}
        return cls(learn_columns(cells, keep=keep, decimal=decimal, separator=separator), target, raw, na)

    @property
    def used(self) -> tuple[NumericColumn | NominalColumn, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if not isinstance(column, LeftOutColumn))

    @property
    def learnt(self) -> dict[str, float | tuple[str, ...]]:
        """The median or the levels of every column that is used."""
        return {c.name: c.levels if isinstance(c, NominalColumn) else c.median for c in self.used}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features that `transform` returns."""
        return tuple(name for c in self.used for name in ((c.name,) if self.raw else c.feature_names))

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for every column that is left out or not taken as it is."""
        notes = []
        for column in self.columns:
            note = column.note
            if self.raw:
                # gaps and levels stay what they are
                note = "" if isinstance(column, NominalColumn) else note.partition("the median")[0].rstrip("; ")
            notes += [f"{column.name or '(no name)'}: {note}"] if note else []
        return tuple(notes)

    def transform(self, frame: Any) -> Any:
        """Return the features of a data frame, as one of pandas.

        Columns are found by name; others are ignored. A frame that holds the features already stays as it is.

        Raises
        ------
        InvalidInput
            A column is not there, or has a value that it cannot have.
        """
        import pandas as pd

        found = columns_of(frame)
        absent = [column.name for column in self.used if column.name not in found]
        if absent and all(name in found for name in self.feature_names):
            return pd.DataFrame({name: found[name].to_numpy() for name in self.feature_names})
        if absent:
            needed = ", ".join(column.name for column in self.used)
            raise InvalidInput("X", f"found no column {absent[0]!r}", f"give the columns {needed}")
        cells = [(column, read_cells(found[column.name], self.na)) for column in self.used]
        if self.raw:
            return pd.DataFrame({column.name: column.raw(read) for column, read in cells})
        parts = [np.zeros((len(frame), 0)), *(column.encode(read) for column, read in cells)]
        return pd.DataFrame(np.hstack(parts), columns=list(self.feature_names))

    def accept(self, X: Any) -> Any:
        """Return what a model is to predict for as features: a data frame transformed, an array of features named."""
        import pandas as pd
        from scipy.sparse import issparse

        if is_frame(X):
            return self.transform(X)
        if self.raw or issparse(X) or np.ndim(X) != 2 or np.shape(X)[1] != len(self.feature_names):
            return X
        return pd.DataFrame(np.asarray(X), columns=list(self.feature_names))

    def remarks(self, frame: Any) -> tuple[str, ...]:
        """Say what in another table is not as it was where the columns were learnt."""
        found = columns_of(frame)
        expected = {self.target, *(column.name for column in self.columns)}
        others = [name for name in found if name not in expected]
        notes = [f"{', '.join(others)}: not in the table of the fit, so not used"] if others else []
        here = [column for column in self.used if column.name in found]
        notes += [column.remark(read_cells(found[column.name], self.na)) for column in here]
        return tuple(filter(None, notes))
