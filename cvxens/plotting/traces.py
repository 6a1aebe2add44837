"""Traces of solvers: objective, bound and relative gap, round after round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens import validation
from cvxens.certificates import Round, relative
from cvxens.errors import InvalidInput
from cvxens.plotting.display import Display, add_legend, name_problems, read_fitted
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cvxens.colgen import Run


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
        if np.size(self.objective) == 0:
            raise InvalidInput("history", "found no rounds", "give a run that has finished a round")
        for field in ["objective", "bound", *(["seconds"] if self.seconds is not None else [])]:
            values = validation.finite_array(field, vars(self)[field], ndim=1, infinite=True)
            object.__setattr__(self, field, values)
            validation.one_each(field, values, len(self.objective), "round")

    @classmethod
    def from_history(cls, history: Sequence[Round], name: str = "") -> Self:
        """Read ``run.history`` or a fitted estimator's ``history_``, whose rows are of `Round`.

        Raises
        ------
        InvalidInput
            There are other rows.
        """
        if found := {type(row).__name__ for row in history if not isinstance(row, Round)}:
            remedy = "give Trace(objective, bound, seconds) what the rows have"
            raise InvalidInput("history", f"found rows of {', '.join(sorted(found))}", remedy)
        rows = np.array([(row.objective, row.bound, row.seconds) for row in history], np.float64)
        objective, bound, seconds = rows.reshape(-1, 3).T
        quantity = next((row.quantity for row in history), Round.quantity)
        return cls(objective, bound, None if np.isnan(seconds).any() else seconds, name, quantity)

    def along(self, against: str) -> Array:
        """Return the rounds or the seconds, the values of an axis."""
        return np.asarray({"rounds": self.rounds, "seconds": self.seconds}[against])

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


def read_traces(estimator: Any, name: str = "") -> list[Trace]:
    """Return the traces of the ``history_`` of a fitted estimator, one for each sub-problem, by what it tells apart."""
    histories, names = read_fitted(estimator, "history_"), [name]
    if hasattr(estimator, "estimators_"):
        names = [f"{name}: {problem}" if name else problem for problem in name_problems(estimator)]
    else:
        histories = [histories]
    return [Trace.from_history(*part) for part in zip(histories, names, strict=True)]


@dataclass
class TraceDisplay(Display):
    """Traces of one or more runs, on one axis: rounds or seconds.

    Parameters
    ----------
    traces : sequence of Trace
        At least one.
    against : {"rounds", "seconds"}
        The horizontal axis.

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
        validation.one_of("against", self.against, ["rounds", "seconds"])
        if self.against == "seconds" and any(trace.seconds is None for trace in self.traces):
            raise InvalidInput("against", "found 'seconds' for a history without times", "give 'rounds'")

    @classmethod
    def from_run(cls, run: Run, *, name: str = "", against: str = "rounds", ax: Axes | None = None) -> Self:
        """Draw one run of column generation; further ones can be drawn on the same `ax`, under names."""
        return cls.from_runs({name: run}, against=against, ax=ax)

    @classmethod
    def from_runs(cls, runs: Mapping[str, Run], *, against: str = "rounds", ax: Axes | None = None) -> Self:
        """Draw several runs of column generation, by name."""
        validation.instance("runs", runs, Mapping)
        return cls([Trace.from_history(run.history, name) for name, run in runs.items()], against).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str = "", against: str = "rounds", ax: Axes | None = None) -> Self:
        """Draw the ``history_`` of a fitted estimator; of several classes, all sub-problems, by what they tell apart.

        Of AdaBoost it is the smallest margin with the bound that the edges are, of others the objective with its bound.
        """
        return cls(read_traces(getattr(estimator, "best_estimator_", estimator), name), against).plot(ax)

    def _style(self, trace: Trace) -> dict[str, Any]:
        # a line through one point is not seen
        return {"marker": "." if len(trace.objective) <= 30 else "", "markersize": 4}

    def _label(self, ax: Axes, ylabel: str) -> None:
        """Label the axes, and name the runs that have names."""
        ax.set(xlabel="round" if self.against == "rounds" else "time in seconds", ylabel=ylabel)
        if ax.get_xscale() == "linear":
            ax.locator_params(axis="x", integer=self.against == "rounds")
        add_legend(ax)


@dataclass
class ConvergenceDisplay(TraceDisplay):
    """Objective (solid) and bound (dashed) against rounds or seconds; the optimum lies between.

    Of AdaBoost the objective is the smallest margin, and the bound on the largest possible one the smallest edge.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from cvxens.colgen import column_generation, formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> run = column_generation(formulations.soft_margin(C=1.0), oracles.Stumps(X), y)
    >>> display = ConvergenceDisplay.from_run(run, ax=Figure().subplots())
    >>> [line.get_label() for line in display.ax_.lines]
    ['objective', 'bound']
    """

    def _draw(self, ax: Axes) -> None:
        for trace in self.traces:
            x, style = trace.along(self.against), self._style(trace)
            objective, bound = (np.where(np.isfinite(z), z, np.nan) for z in (trace.objective, trace.bound))
            line = ax.plot(x, objective, label=trace.name or trace.quantity, **style)[0]
            ax.plot(x, bound, "--", color=line.get_color(), label="" if trace.name else "bound", **style)
            ax.fill_between(x, bound, objective, color=line.get_color(), alpha=0.12, linewidth=0)
        quantities = {trace.quantity for trace in self.traces}
        quantity = quantities.pop() if len(quantities) == 1 else "objective"
        self._label(ax, f"{quantity} (solid), bound (dashed)")


@dataclass
class GapDisplay(TraceDisplay):
    """The relative gap between objective and bound against rounds or seconds, on a logarithmic scale.

    A gap below the rounding error 2.2e-16 is drawn there; one that is infinite is left out.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from cvxens.plotting import Trace
    >>> trace = Trace(objective=[4.0, 2.0], bound=[0.0, 1.5], seconds=[0.1, 0.2])
    >>> display = GapDisplay([trace], against="seconds").plot(Figure().subplots())
    >>> display.ax_.lines[0].get_ydata()
    array([1.  , 0.25])
    """

    def _draw(self, ax: Axes) -> None:
        ax.set_yscale("log")
        for trace in self.traces:
            gap = trace.relative_gap
            drawn = np.where(np.isfinite(gap), np.maximum(gap, np.finfo(float).eps), np.nan)
            ax.plot(trace.along(self.against), drawn, label=trace.name, **self._style(trace))
        self._label(ax, "relative gap")
