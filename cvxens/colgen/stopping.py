"""When to stop: a run ends for exactly one of these reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf, isfinite

from cvxens import validation
from cvxens.certificates import relative


class Ending(Enum):
    """Why a run ended."""

    OPTIMAL = "the certified relative gap is within tol"
    EXHAUSTED = "no hypothesis that the oracle finds improves"
    MAX_COLUMNS = "max_columns reached"
    MAX_TIME = "max_time reached"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Limits:
    """Limits of a run.

    Parameters
    ----------
    tol : float
        Relative gap at which the run is done, above 0.
    max_columns : int or None
        No round starts with at least so many columns; at least 1.
    max_time : float
        Seconds after which no round starts, above 0.

    Raises
    ------
    InvalidInput
        One of them is not.
    """

    tol: float
    max_columns: int | None = None
    max_time: float = inf

    def __post_init__(self) -> None:
        validation.positive("tol", self.tol)
        if self.max_columns is not None:
            validation.whole("max_columns", self.max_columns)
        validation.limit("max_time", self.max_time)

    def reached(self, objective: float, bound: float, n_columns: int, seconds: float) -> Ending | None:
        """The limit that a state has reached, None where the run goes on."""
        if relative_gap(objective, bound) <= self.tol:
            return Ending.OPTIMAL
        if self.max_columns is not None and n_columns >= self.max_columns:
            return Ending.MAX_COLUMNS
        return Ending.MAX_TIME if seconds >= self.max_time else None


def relative_gap(objective: float, bound: float) -> float:
    """(objective - bound) relative to the larger of the two; inf where either is infinite."""
    return relative(objective - bound, objective, bound) if isfinite(objective) and isfinite(bound) else inf
