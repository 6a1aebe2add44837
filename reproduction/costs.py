"""What a trial takes: seconds measured before, on one machine, from which it is planned what fits into a time."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

from reproduction.experiment import Trial

FILE = Path(__file__).with_name("seconds.tsv")

UNKNOWN = 86400.0
"""Seconds of a trial on data that its method has not been timed on: it goes last, as it may take a thousand times as
long as on others."""

LIMIT = 600.0
"""Seconds that the first split of such a cell is tried for, once, where time is limited."""

Place = tuple[str, str, str, str]


@dataclass(frozen=True)
class Costs:
    """Median seconds of a trial, by paper, home, row and column.

    Examples
    --------
    >>> costs = Costs({("ll08", "tables", "heart", "SVM-Stump"): 0.1})
    >>> costs.of(("ll08", "tables", "heart", "SVM-Stump")), costs.guess(("ll08", "tables", "sonar", "SVM-Stump"))
    (0.1, 0.1)
    >>> costs.of(("ll08", "tables", "sonar", "SVM-Stump"))
    86400.0
    """

    seconds: Mapping[Place, float]

    @classmethod
    def read(cls, path: Path = FILE) -> Costs:
        """Read what the package knows."""
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines, delimiter="\t")
            next(rows)
            return cls({(paper, home, row, column): float(seconds) for paper, home, row, column, seconds in rows})

    @classmethod
    def from_trials(cls, trials: Iterable[Trial]) -> Costs:
        """Take the medians of trials."""
        found: dict[Place, list[float]] = {}
        for trial in trials:
            found.setdefault(trial.key[:4], []).append(trial.seconds)
        return cls({place: median(seconds) for place, seconds in found.items()})

    def updated(self, other: Costs) -> Costs:
        """Return these, with the others where those know."""
        return Costs({**self.seconds, **other.seconds})

    def is_known(self, place: Place) -> bool:
        """Return True if a trial of a place was timed, or tried to its limit."""
        return place in self.seconds

    def of(self, place: Place) -> float:
        """Return the seconds that a trial is expected to take."""
        return self.seconds.get(place, UNKNOWN)

    def guess(self, place: Place) -> float | None:
        """Return what is known of a place, else the median of its column on other data; None without any."""
        if place in self.seconds:
            return self.seconds[place]
        paper, home, _, column = place
        return self._of_columns.get((paper, home, column))

    @cached_property
    def _of_columns(self) -> Mapping[tuple[str, str, str], float]:
        """The medians over the data of a column."""
        found: dict[tuple[str, str, str], list[float]] = {}
        for (paper, home, _, column), seconds in self.seconds.items():
            found.setdefault((paper, home, column), []).append(seconds)
        return {column: median(seconds) for column, seconds in found.items()}

    def write(self, path: Path = FILE) -> None:
        """Write what is known, for the package to know."""
        with path.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
            writer.writerow(("paper", "home", "row", "column", "seconds"))
            writer.writerows((*place, f"{seconds:.3g}") for place, seconds in sorted(self.seconds.items()))
