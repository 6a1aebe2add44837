"""One cell of a table: our figure, over trials, and the published one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import hypot
from typing import Any

import numpy as np

TO_BE_CHECKED = "from memory of the print, to be checked"
"""The note of a figure that nobody has compared with the paper."""

LIMIT = 2.0
"""Standard errors of the difference up to which two figures agree."""


@dataclass(frozen=True)
class Published:
    """A figure as a paper prints it.

    Parameters
    ----------
    mean, standard_error : float
        In the unit of the experiment; the standard error of the mean.
    source : str
        The paper, and the column of its table.
    checked : bool
        True if the figure was compared with the print.

    Examples
    --------
    >>> Published(2.86, 0.04, "a paper").note
    'from memory of the print, to be checked'
    """

    mean: float
    standard_error: float
    source: str
    checked: bool = False

    @property
    def note(self) -> str:
        """A reservation; empty once the figure is checked."""
        return "" if self.checked else TO_BE_CHECKED


@dataclass(frozen=True)
class Trial:
    """One method on one split of one data set.

    Parameters
    ----------
    data, method : str
        Which data set and which method.
    split : int
        The number of the split, from 0.
    value : float
        In the unit of the experiment.
    seconds : float
        Wall-clock time of training, selection of parameters included, and testing.
    """

    data: str
    method: str
    split: int
    value: float
    seconds: float


@dataclass(frozen=True)
class Cell:
    """Our figure of a cell beside the published one.

    Parameters
    ----------
    data, method : str
        The row and the column.
    mean, standard_error : float
        Over the splits; the standard error is that of the mean, by n_splits - 1 degrees of freedom.
    n_splits : int
        Number of splits, 2 or more.
    seconds : float
        Median wall-clock time of a split.
    published : Published or None
        What the paper says, where that is known.

    Examples
    --------
    >>> cell = Cell("heart", "SVM-Stump", 16.9, 0.6, 20, 0.1, Published(16.4, 0.27, "a paper"))
    >>> cell.agrees, round(cell.distance, 2)
    (True, 0.76)
    """

    data: str
    method: str
    mean: float
    standard_error: float
    n_splits: int
    seconds: float
    published: Published | None = None

    @classmethod
    def from_trials(cls, trials: Sequence[Trial], published: Published | None) -> Cell:
        """Summarise the trials, two or more, of one method on one data set."""
        values = np.array([trial.value for trial in trials])
        n_splits, seconds = len(values), float(np.median([trial.seconds for trial in trials]))
        error = float(values.std(ddof=1) / np.sqrt(n_splits))
        return cls(trials[0].data, trials[0].method, float(values.mean()), error, n_splits, seconds, published)

    @property
    def distance(self) -> float | None:
        """|ours - published| in standard errors of the difference, sqrt(se^2 + se_published^2); None without a figure.

        None as well where both standard errors are 0.
        """
        if self.published is None or not self._error:
            return None
        return abs(self.mean - self.published.mean) / self._error

    @property
    def agrees(self) -> bool | None:
        """True if |ours - published| <= 2 sqrt(se^2 + se_published^2); None without a published figure."""
        if self.published is None:
            return None
        return abs(self.mean - self.published.mean) <= LIMIT * self._error

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as JSON has it."""
        published = None if self.published is None else {**asdict(self.published), "note": self.published.note}
        return {**asdict(self), "published": published, "distance": self.distance, "agrees": self.agrees}

    @property
    def _error(self) -> float:
        """The standard error of the difference."""
        return hypot(self.standard_error, 0.0 if self.published is None else self.published.standard_error)
