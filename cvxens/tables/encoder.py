"""From the columns of a table to features, in the way that was learnt of the training part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.tables.cells import Cells, columns_of, is_frame, read_cells
from cvxens.tables.columns import Column, DateColumn, LeftOutColumn, NominalColumn, NumericColumn, stacked
from cvxens.tables.learning import Choice, learn_columns
from cvxens.types import Array

Learnt: TypeAlias = float | tuple[str, ...]
"""What is learnt of a column that becomes features: the median of its numbers, or its levels."""

KINDS = (NumericColumn, NominalColumn, DateColumn, LeftOutColumn)


@dataclass(frozen=True)
class TableEncoder:
    r"""How the columns of a table become features; part of a model that was fitted to a table.

    Parameters
    ----------
    columns : tuple of Column
        What each column is, the target not among them.
    target : str
        The name of the target; "" if it is not known.
    raw : bool
        Whether learners get categories and gaps as they are, such as trees do, in place of indicators and medians.
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
        if not (all(type(column) in KINDS for column in self.columns) and isinstance(self.raw, bool)):
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
        separator: str = "",
        choice: Choice | None = None,
    ) -> TableEncoder:
        """Learn of a data frame, without the column of the target, what its columns are; see `learn_columns`."""
        cells = {name: read_cells(column, na) for name, column in columns_of(frame).items() if name != target}
        return cls(learn_columns(cells, choice or Choice()), target, raw, na, separator)

    @classmethod
    def from_learnt(cls, learnt: Mapping[str, Learnt]) -> TableEncoder:
        """Make the encoder of medians and levels, as models of version 0.1 hold them."""
        columns: list[Column] = []
        for name, of in learnt.items():
            if isinstance(of, tuple):
                columns.append(NominalColumn(name, of) if of else LeftOutColumn(name))
            else:
                columns.append(NumericColumn(name, of))
        return cls(tuple(columns))

    def with_target(self, target: str) -> TableEncoder:
        """Return the same encoder for tables whose target has that name."""
        return replace(self, target=target)

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that become features."""
        return tuple(column for column in self.columns if column.feature_names)

    @property
    def learnt(self) -> dict[str, Learnt]:
        """The median or the levels of every column that is used."""
        return {c.name: c.levels if isinstance(c, NominalColumn) else c.median for c in self.used}  # type: ignore[attr-defined]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features that `transform` returns."""
        return tuple(name for c in self.used for name in ((c.name,) if self.raw else c.feature_names))

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know of columns: which are left out, and which are not taken as they are."""
        silent = (NominalColumn,) if self.raw else ()
        told = [(c.name, _raw_note(c) if self.raw else c.note) for c in self.columns if not isinstance(c, silent)]
        return tuple(f"{name or '(no name)'}: {note}" for name, note in told if note)

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
        if self.raw:
            return pd.DataFrame({c.name: c.raw(self._cells(found[c.name])) for c in self.used})
        return pd.DataFrame(self._features(found, len(frame)), columns=list(self.feature_names))

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
        """Say what of another table is not as it was where the columns were learnt."""
        found = columns_of(frame)
        expected = {self.target, *(column.name for column in self.columns)}
        others = [name for name in found if name not in expected]
        told = [f"{', '.join(others)}: not in the table of the fit, so not used"] if others else []
        here = [(column, self._cells(found[column.name])) for column in self.used if column.name in found]
        return (*told, *filter(None, (column.remark(cells) for column, cells in here)))

    def _cells(self, series: Any) -> Cells:
        return read_cells(series, self.na)

    def _features(self, found: Mapping[str, Any], n_samples: int) -> Array:
        return stacked([column.encode(self._cells(found[column.name])) for column in self.used], n_samples)


def _raw_note(column: Column) -> str:
    """The note of a column whose gaps stay gaps."""
    return column.note.partition("the median")[0].rstrip("; ") if isinstance(column, NumericColumn) else column.note
