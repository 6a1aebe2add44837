"""The figures that the papers print: facts with their place, spread and number of runs, in one file of the package."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path

FILE = Path(__file__).with_name("published.tsv")

STANDARD_ERROR = "standard error"
STANDARD_DEVIATION = "standard deviation"
NONE = "none"


@dataclass(frozen=True)
class Published:
    """A figure as a paper prints it.

    Examples
    --------
    >>> round(Published(18.6, 4.45, "standard deviation", 5).standard_error(1.0), 3)
    1.99
    """

    value: float  # in the unit of the table
    spread: float | None  # as it is printed
    kind: str  # what the spread is: a standard error of the mean, a standard deviation over the runs, or none
    runs: int  # how many the value is the mean of

    def standard_error(self, deviation: float) -> float:
        """Return the standard error of the value; where no spread is printed from a standard deviation over runs.

        Parameters
        ----------
        deviation : float
            A standard deviation over splits measured elsewhere, used only where the paper prints no spread.
        """
        if self.kind == STANDARD_ERROR and self.spread is not None:
            return self.spread
        return (deviation if self.spread is None else self.spread) / sqrt(self.runs)

    def __str__(self) -> str:
        """Return the figure as it is printed, a standard deviation in brackets."""
        if self.spread is None:
            return f"{self.value:g}"
        return (
            f"{self.value:g} ({self.spread:g})"
            if self.kind == STANDARD_DEVIATION
            else f"{self.value:g} ± {self.spread:g}"
        )


@cache
def read_published() -> Mapping[tuple[str, str], Mapping[tuple[str, str], Published]]:
    """Read the figures: of a paper and a table, by row and column.

    Examples
    --------
    >>> read_published()["ll08", "table2"]["heart", "SVM-Stump"]
    Published(value=16.4, spread=0.27, kind='standard error', runs=100)
    """
    tables: dict[tuple[str, str], dict[tuple[str, str], Published]] = {}
    with FILE.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines, delimiter="\t"):
            spread = float(line["spread"]) if line["spread"] else None
            figure = Published(float(line["value"]), spread, line["kind"], int(line["runs"]))
            tables.setdefault((line["paper"], line["table"]), {})[line["row"], line["column"]] = figure
    return tables
