"""When to stop: a run ends for exactly one of these reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf, isfinite
from typing import Protocol

from cvxens import validation
from cvxens.certificates import relative

PATIENCE = 20
"""Rounds without progress after which a run without a bound ends: linear programs stand still for a few at a time."""

UNBOUNDED_ROUNDS = 100
"""Rounds that a run without a bound has if its user says nothing: there is nothing else that must end it."""


class Ending(Enum):
    """Why a run ended."""

    OPTIMAL = "the certified relative gap is within tol"
    EXHAUSTED = "no hypothesis that the oracle finds improves"
    STALLED = "the oracle proves no bound, and the objective has stopped improving"
    MAX_COLUMNS = "max_columns reached"
    MAX_ROUNDS = "max_rounds reached"
    MAX_TIME = "max_time reached"
    STOPPED = "stopped by the callback"
    INTERRUPTED = "interrupted"
    VIOLATED = "the bound is beyond the objective by more than rounding, so it is none"


class Row(Protocol):
    """What of a round is needed to decide: the objective, and whether there is a bound."""

    @property
    def objective(self) -> float:
        """Of the restricted optimum."""

    @property
    def bounded(self) -> bool:
        """Whether the best bound so far is a proof."""


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
    max_rounds : int or None
        No more rounds than these; None for `UNBOUNDED_ROUNDS` where there is no bound, else for any number.
    patience : int
        Where there is no bound, rounds that must improve the objective by more than `tol`, relative; at least 1.

    Raises
    ------
    InvalidInput
        One of them is not.
    """

    tol: float
    max_columns: int | None = None
    max_time: float = inf
    max_rounds: int | None = None
    patience: int = PATIENCE

    def __post_init__(self) -> None:
        validation.positive("tol", self.tol)
        for name in ("max_columns", "max_rounds"):
            if getattr(self, name) is not None:
                validation.whole(name, getattr(self, name))
        validation.limit("max_time", self.max_time)
        validation.whole("patience", self.patience)

    def reached(
        self,
        objective: float,
        bound: float,
        n_columns: int,
        seconds: float,
        *,
        rounding: Callable[[], float] = float,
        rows: Sequence[Row] = (),
        sense: float = 1.0,
    ) -> Ending | None:
        """The limit that a state has reached, None where the run goes on.

        Parameters
        ----------
        objective, bound : float
            The best ones so far, of a minimum.
        n_columns : int
            In the master.
        seconds : float
            Since the start.
        rounding : callable
            Bounds the rounding error of objective and bound; asked where the gap without it is within `tol`.
        rows : sequence of Row
            The rounds so far.
        sense : float
            -1 where the objectives of `rows` are those of a maximum.
        """
        if relative_gap(objective, bound) <= self.tol:
            gap = relative_gap(objective, bound, rounding())
            if gap <= self.tol:
                return Ending.OPTIMAL if gap >= 0 else Ending.VIOLATED
        if self._stalled(rows, sense):
            return Ending.STALLED
        if self.max_columns is not None and n_columns >= self.max_columns:
            return Ending.MAX_COLUMNS
        if len(rows) >= self._most_rounds(rows):
            return Ending.MAX_ROUNDS
        return Ending.MAX_TIME if seconds >= self.max_time else None

    def _most_rounds(self, rows: Sequence[Row]) -> float:
        if self.max_rounds is not None:
            return self.max_rounds
        return UNBOUNDED_ROUNDS if rows and not rows[-1].bounded else inf

    def _stalled(self, rows: Sequence[Row], sense: float) -> bool:
        """Whether there is no bound and the last rounds were in vain; rounds without a feasible point never are."""
        if len(rows) <= self.patience or rows[-1].bounded:
            return False
        objectives = [sense * row.objective for row in rows]
        then, now = min(objectives[: -self.patience]), min(objectives)
        return isfinite(then) and then - now <= self.tol * abs(now)


def relative_gap(objective: float, bound: float, rounding: float = 0.0) -> float:
    """(objective - bound + rounding) relative to the larger of the two; inf where either is infinite."""
    finite = isfinite(objective) and isfinite(bound)
    return relative(objective - bound + rounding, objective, bound) if finite else inf
