"""How a solver came near an optimum: objective and bound, round after round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens import validation
from cvxens.certificates import relative
from cvxens.errors import InvalidInput
from cvxens.plotting.display import Display, add_legend, best_of, fitted, problem_names
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cvxens.colgen import BoostingRound, Round, Run

FEW = 30
"""Up to so many rounds each is marked."""

HORIZONTAL = {"rounds": "round", "seconds": "time in seconds"}
"""What can be on the horizontal axis, and its label."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Objective and bound of every round.

    Parameters
    ----------
    objective, bound : array-like of shape (n_rounds,)
        The optimum lies between; infinite where there is none yet.
    seconds : array-like of shape (n_rounds,), optional
        Wall-clock time from the start to the end of each round, where it is known.
    name : str
        For the legend.
    quantity : str
        What the objective is called.

    Raises
    ------
    InvalidInput
        They are not of one length, or there is no round.

    Examples
    --------
    >>> Trace([3.0, 2.0], [-np.inf, 1.0], [0.1, 0.3]).relative_gap
    array([inf, 0.5])
    """

    objective: Array
    bound: Array
    seconds: Array | None = None
    name: str = ""
    quantity: str = "objective"

    def __post_init__(self) -> None:
        fields = ["objective", "bound", *(["seconds"] if self.seconds is not None else [])]
        for field in fields:
            object.__setattr__(self, field, _numbers(field, getattr(self, field)))
        lengths = [len(getattr(self, field)) for field in fields]
        if len(set(lengths)) > 1:
            raise InvalidInput(", ".join(fields), f"found lengths {lengths}", "give one number per round")
        if not lengths[0]:
            raise InvalidInput("history", "found no rounds", "give a run that has finished a round")

    @classmethod
    def of_history(cls, history: Sequence[Any], name: str = "") -> Self:
        """The trace of a fitted estimator's ``history_``, whatever kind of rounds it has.

        Raises
        ------
        InvalidInput
            Rows that have no objective with a bound, nor edges and margins.
        """
        known = (attribute for attribute in ROWS if hasattr(next(iter(history), None), attribute))
        attribute = next(known, None)
        if attribute is None and len(history):
            found = f"found rows of {type(history[0]).__name__}, which have neither bounds nor edges"
            raise InvalidInput("history", found, "give Trace(objective, bound, seconds) what the rows have")
        return cls.of_levels(history, name) if attribute is None else ROWS[attribute](history, name)

    @classmethod
    def of_boosting(cls, history: Sequence[BoostingRound], name: str = "") -> Self:
        """The trace of AdaBoost: the smallest margin, below the largest possible one, which no edge bound is below."""
        bound = np.minimum.accumulate(_column(history, "edge_bound"))
        margin = _column(history, "margin")
        return cls(np.where(np.isnan(margin), -np.inf, margin), bound, None, name, "smallest margin")

    @classmethod
    def of_updates(cls, history: Sequence[Any], name: str = "") -> Self:
        """The trace of a solver whose rows have `objective` and `gap`, relative to the objective, above the optimum."""
        objective = _column(history, "objective")
        return cls(objective, objective * (1 - _column(history, "gap")), None, name)

    @classmethod
    def of_rounds(cls, history: Sequence[Round], name: str = "") -> Self:
        """The trace of column generation: ``run.history``, or ``history_`` of an estimator that generates columns."""
        seconds = np.cumsum(_column(history, "pricing_seconds") + _column(history, "master_seconds"))
        return cls(_column(history, "objective"), _column(history, "dual_bound"), seconds, name)

    @classmethod
    def of_levels(cls, history: Sequence[Any], name: str = "") -> Self:
        """The trace of a solver whose rows have `objective`, `bound` and `seconds` since the start."""
        return cls(_column(history, "objective"), _column(history, "bound"), _column(history, "seconds"), name)

    @property
    def rounds(self) -> Array:
        """1, 2, ..., shape (n_rounds,)."""
        return np.arange(1.0, len(self.objective) + 1)

    @property
    def relative_gap(self) -> Array:
        """|objective - bound|, relative as in certificates; inf before both are finite. Shape (n_rounds,)."""
        gaps = [
            relative(abs(objective - bound), objective, bound) if np.isfinite([objective, bound]).all() else np.inf
            for objective, bound in zip(self.objective.tolist(), self.bound.tolist(), strict=True)
        ]
        return np.array(gaps)


ROWS: Mapping[str, Callable[..., Any]] = {
    "dual_bound": Trace.of_rounds,
    "bound": Trace.of_levels,
    "edge_bound": Trace.of_boosting,
    "gap": Trace.of_updates,
}
"""What makes a trace of rows that have an attribute."""


@dataclass
class TraceDisplay(Display):
    """Traces of one or more runs, on one axis: rounds or seconds.

    Parameters
    ----------
    traces : sequence of Trace
        At least one.
    against : {"rounds", "seconds"}
        What is on the horizontal axis.

    Raises
    ------
    InvalidInput
        There is no trace, or nothing of the name `against`.
    """

    traces: Sequence[Trace]
    against: str = "rounds"

    def __post_init__(self) -> None:
        if not self.traces:
            raise InvalidInput("runs", "found none", "give at least one")
        validation.one_of("against", self.against, HORIZONTAL)
        if self.against == "seconds" and any(trace.seconds is None for trace in self.traces):
            raise InvalidInput("against", "found 'seconds' for a history without times", "give 'rounds'")

    @classmethod
    def from_run(cls, run: Run, *, name: str = "", against: str = "rounds", ax: Axes | None = None) -> Self:
        """Draw one run of column generation; further ones can be drawn on the same `ax`, under names."""
        return cls([Trace.of_rounds(run.history, name)], against).plot(ax)

    @classmethod
    def from_runs(cls, runs: Mapping[str, Run], *, against: str = "rounds", ax: Axes | None = None) -> Self:
        """Draw several runs of column generation, by name."""
        validation.instance("runs", runs, Mapping)
        return cls([Trace.of_rounds(run.history, name) for name, run in runs.items()], against).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str = "", against: str = "rounds", ax: Axes | None = None) -> Self:
        """Draw the ``history_`` of a fitted estimator; of several classes, all sub-problems, by what they tell apart.

        Of AdaBoost it is the smallest margin with the bound that the edges are, of others the objective with its bound.
        """
        estimator = best_of(estimator)
        history = fitted(estimator, "history_")
        if not hasattr(estimator, "estimators_"):
            return cls([Trace.of_history(history, name)], against).plot(ax)
        called = [f"{name}: {problem}" if name else problem for problem in problem_names(estimator)]
        return cls([Trace.of_history(part, each) for part, each in zip(history, called, strict=True)], against).plot(ax)

    def _horizontal(self, trace: Trace) -> Array:
        return getattr(trace, self.against)

    @property
    def _quantity(self) -> str:
        """What the objectives are called."""
        called = {trace.quantity for trace in self.traces}
        return called.pop() if len(called) == 1 else "objective"

    def _marker(self, trace: Trace) -> str:
        """Rounds are marked where they are few: a line through one of them is not seen."""
        return "." if len(trace.objective) <= FEW else ""

    def _finish(self, ax: Axes, ylabel: str) -> None:
        """Label the axes, and name the runs that have names."""
        ax.set(xlabel=HORIZONTAL[self.against], ylabel=ylabel)
        if ax.get_xscale() == "linear":
            ax.locator_params(axis="x", integer=self.against == "rounds")
        add_legend(ax)


def _column(history: Sequence[Any], attribute: str) -> Array:
    try:
        return np.array([getattr(row, attribute) for row in history], np.float64)
    except AttributeError:
        found = f"found rows without {attribute}"
        raise InvalidInput("history", found, "give Trace(objective, bound, seconds) what the rows have") from None


def _numbers(argument: str, values: Any) -> Array:
    """A float array of one dimension; infinities are kept, as there may be no bound yet."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            argument, f"found something that is not numeric ({error})", "give an array of numbers"
        ) from None
    if array.ndim != 1:
        raise InvalidInput(argument, f"found shape {array.shape}", "give one number per round")
    if np.isnan(array).any():
        raise InvalidInput(argument, "found NaN", "give infinity where there is no value yet")
    return array
