"""Pictures of runs: objective, bound and gap round after round, and how weights change with C and select features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.certificates import Round, relative
from cvxens.errors import InvalidInput
from cvxens.plotting.display import (
    FAINT,
    NEGLIGIBLE,
    PALETTE,
    Display,
    Names,
    WeightedHypotheses,
    add_legend,
    add_note,
    draw_ranked,
    find_fitted,
    name_features,
    name_problems,
    read_fitted,
)
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cvxens.colgen import Hypothesis, Path, Run


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


def read_traces(estimator: object, name: str = "") -> list[Trace]:
    """Return the traces of the ``history_`` of a fitted estimator, one for each sub-problem, by what it tells apart."""
    histories, names = read_fitted(estimator, "history_"), [name]
    if find_fitted(estimator, "estimators_") is not None:
        names = [f"{name}: {problem}" if name else problem for problem in name_problems(estimator)]
    else:
        histories = [histories]
    return [Trace.from_history(*part) for part in zip(histories, names, strict=True)]


@dataclass(repr=False)
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
    def from_estimator(
        cls, estimator: object, *, name: str = "", against: str = "rounds", ax: Axes | None = None
    ) -> Self:
        """Draw the ``history_`` of a fitted estimator; of several classes, all sub-problems, by what they tell apart.

        Of AdaBoost it is the smallest margin with the bound that the edges are, of others the objective with its bound.
        """
        return cls(read_traces(find_fitted(estimator, "best_estimator_", estimator), name), against).plot(ax)

    def _style(self, trace: Trace) -> dict[str, Any]:
        # a line through one point is not seen
        return {"marker": "." if len(trace.objective) <= 30 else "", "markersize": 4}

    def _label(self, ax: Axes, ylabel: str) -> None:
        """Label the axes, and name the runs that have names."""
        ax.set(xlabel="round" if self.against == "rounds" else "time in seconds", ylabel=ylabel)
        if ax.get_xscale() == "linear":
            ax.locator_params(axis="x", integer=self.against == "rounds")
        add_legend(ax)


@dataclass(repr=False)
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


@dataclass(repr=False)
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


@dataclass(repr=False)
class PathDisplay(Display):
    """A regularisation path: coefficients against C on a logarithmic scale.

    Where coefficients have names, those of the largest size along the path are in colour, the others grey.

    Parameters
    ----------
    C : array-like of shape (n_points,)
        Above 0 and distinct, in any order.
    coefficients : array-like of shape (n_points, n_coefficients)
        Weights or multipliers, one row for every C.
    names : sequence of str, optional
        The names of the coefficients, for the legend; without names all are drawn alike.
    ylabel : str
        What the coefficients are.
    n_named : int
        The most names in the legend.
    xlabel : str
        What C is called.
    breakpoints : array-like of shape (n_breakpoints,)
        Where the best ensemble of a path becomes another one; dotted.
    title : str
        What holds along all of it.

    Raises
    ------
    InvalidInput
        There is not one row for every C and one name for every coefficient, or a C is not above 0.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = PathDisplay([1.0, 0.1], [[2.0, 0.0], [1.0, 0.5]], ylabel="multiplier u").plot(Figure().subplots())
    >>> display.C, len(display.ax_.lines)
    (array([0.1, 1. ]), 2)
    """

    C: ArrayLike
    coefficients: ArrayLike
    names: Sequence[str] | None = None
    ylabel: str = "weight w"
    n_named: int = 8
    xlabel: str = "C"
    breakpoints: Iterable[float] = ()
    title: str = ""

    def __post_init__(self) -> None:
        C = validation.finite_array("C", self.C, ndim=1)
        if C.min() <= 0 or len(np.unique(C)) < len(C):
            raise InvalidInput("C", f"found {C.tolist()}", "give distinct numbers above 0")
        coefficients = validation.finite_array("coefficients", self.coefficients, ndim=2)
        validation.one_each("coefficients", coefficients, len(C), "C")
        if self.names is not None:
            validation.one_each("names", self.names, coefficients.shape[1], "coefficient")
        validation.whole("n_named", self.n_named, least=0)
        order = np.argsort(C)
        self.C, self.coefficients = C[order], coefficients[order]

    @classmethod
    def from_runs(
        cls, runs: Mapping[float, Run], *, feature_names: Names = None, n_named: int = 8, ax: Axes | None = None
    ) -> Self:
        """Draw the weights of all hypotheses of several runs, by C; a hypothesis that a run has not weighs 0."""
        validation.instance("runs", runs, Mapping)
        ensembles = {C: WeightedHypotheses.from_run(run, feature_names) for C, run in runs.items()}
        return cls._from_ensembles(ensembles, n_named).plot(ax)

    @classmethod
    def from_path(
        cls, path: Path, *, xlabel: str = "C", feature_names: Names = None, n_named: int = 8, ax: Axes | None = None
    ) -> Self:
        """Draw the weights at the points of a path, its breakpoints, and the gap that is certified all along it.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from cvxens.colgen import formulations, oracles, solve_path
        >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
        >>> path = solve_path(formulations.soft_margin, oracles.Stumps(X), y, prices=(0.1, 3.0), tol=1e-9)
        >>> PathDisplay.from_path(path, ax=Figure().subplots()).breakpoints
        array([1.])
        """
        ensembles = {C: WeightedHypotheses.from_run(run, feature_names) for C, run in path.runs.items()}
        display = cls._from_ensembles(ensembles, n_named, xlabel)
        display.breakpoints = path.breakpoints
        display.title = f"relative gap at most {max(path.relative_gap, 0.0):.2g} at every {xlabel}"
        return display.plot(ax)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[float, object], *, xlabel: str = "C", n_named: int = 8, ax: Axes | None = None
    ) -> Self:
        """Draw the ``weights_`` of all ``weak_learners_`` of several fitted estimators, by C or what `xlabel` says.

        The features are called as in ``feature_names_in_`` where there is that.
        """
        ensembles = {C: WeightedHypotheses.from_estimator(one) for C, one in estimators.items()}
        return cls._from_ensembles(ensembles, n_named, xlabel).plot(ax)

    @classmethod
    def _from_ensembles(cls, ensembles: Mapping[float, WeightedHypotheses], n_named: int, xlabel: str = "C") -> Self:
        names: dict[Hypothesis, str] = {}
        for ensemble in ensembles.values():
            for h in ensemble.hypotheses:
                names.setdefault(h, ensemble.describe(h))
        place, weights = {h: j for j, h in enumerate(names)}, np.zeros((len(ensembles), len(names)))
        for row, ensemble in zip(weights, ensembles.values(), strict=True):
            row[[place[h] for h in ensemble.hypotheses]] = ensemble.weights
        return cls(list(ensembles), weights, list(names.values()), n_named=n_named, xlabel=xlabel)

    def _draw(self, ax: Axes) -> None:
        C, coefficients = np.asarray(self.C), np.asarray(self.coefficients)
        largest = np.abs(coefficients).max(axis=0, initial=0.0)
        if self.names is None:
            ax.plot(C, coefficients, color=PALETTE[0], alpha=0.4, linewidth=0.8)
        else:
            ranked = np.argsort(-largest, kind="stable")
            shown = ranked[largest[ranked] > 0][: self.n_named]
            others = np.setdiff1d(ranked, shown)
            if others.size:
                ax.plot(C, coefficients[:, others], color=FAINT, linewidth=0.6, zorder=1)
            for k, j in enumerate(shown.tolist()):
                style: dict[str, Any] = {"color": PALETTE[k % len(PALETTE)], "marker": "."}
                ax.plot(C, coefficients[:, j], label=str(self.names[j]), **style)
        for price in self.breakpoints:
            ax.axvline(price, color=FAINT, linestyle=":", linewidth=0.8, zorder=0)
        if self.title:
            ax.set_title(self.title, fontsize="small")
        ax.set_xscale("log")
        if C[-1] < 10 * C[0]:
            # a range of less than a power of ten has too few ticks: mark at most six of the points themselves
            marked = C[np.unique(np.linspace(0, len(C) - 1, 6).round().astype(int))]
            ax.minorticks_off()
            ax.set_xticks(marked, [f"{price:.3g}" for price in marked])
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        n_used, n_named = int((largest > 0).sum()), len(ax.get_legend_handles_labels()[1])
        title = f"the largest {n_named} of {n_used}" if n_named < n_used else None
        add_legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", title=title)


@dataclass(repr=False)
class SelectionDisplay(Display):
    """The share of runs, or of whatever else selects, that uses each feature; the most frequent ones on top.

    Parameters
    ----------
    shares : array-like of shape (n_features,)
        In [0, 1].
    feature_names : sequence of str, optional
        By default x[0], x[1], ...
    xlabel : str
        What the shares are of.
    n_shown : int
        The most features that are drawn; none that is never selected is.

    Raises
    ------
    InvalidInput
        A share is outside [0, 1], all are 0, or there are not as many names.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = SelectionDisplay([0.2, 0.0, 1.0], ["age", "height", "weight"]).plot(Figure().subplots())
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['weight', 'age']
    """

    shares: ArrayLike
    feature_names: Names = None
    xlabel: str = "share of runs that select the feature"
    n_shown: int = 20

    def __post_init__(self) -> None:
        shares = self.shares = validation.finite_array("shares", self.shares, ndim=1)
        if shares.min() < 0 or not 0 < shares.max() <= 1:
            found = f"found {shares.min():g} to {shares.max():g}"
            raise InvalidInput("shares", found, "give numbers of at least 0 and at most 1, not all 0")
        self.feature_names = name_features(self.feature_names, len(shares))
        validation.whole("n_shown", self.n_shown)

    @classmethod
    def from_runs(
        cls, runs: Iterable[Run], *, feature_names: Names = None, n_shown: int = 20, ax: Axes | None = None
    ) -> Self:
        """Draw the share of runs that have a weak learner on the feature, of more than a negligible weight."""
        selected = [set().union(*WeightedHypotheses.from_run(run).find_features()) for run in runs]
        return cls._from_selections(selected, "runs that select", feature_names, n_shown).plot(ax)

    @classmethod
    def from_estimators(
        cls, estimators: Iterable[object], *, feature_names: Names = None, n_shown: int = 20, ax: Axes | None = None
    ) -> Self:
        """Draw the share of fitted estimators, such as one per fold, that use the feature.

        Those are features of more than a negligible share in ``feature_importances_``. They are called as in
        ``feature_names_in_`` where no names are given, and all models have those.
        """
        models = list(estimators)
        if feature_names is None:
            known = [list(find_fitted(model, "feature_names_in_", [])) for model in models]
            feature_names = known[0] if known and known[0] and all(each == known[0] for each in known) else None
        shares = [np.asarray(read_fitted(model, "feature_importances_")) for model in models]
        selected = [set(np.flatnonzero(own > NEGLIGIBLE * own.max(initial=0.0)).tolist()) for own in shares]
        return cls._from_selections(selected, "models that select", feature_names, n_shown).plot(ax)

    @classmethod
    def from_run(cls, run: Run, *, feature_names: Names = None, n_shown: int = 20, ax: Axes | None = None) -> Self:
        """Draw the share of one run's stumps, those of more than a negligible weight, that are on the feature."""
        selected = [features for features in WeightedHypotheses.from_run(run).find_features() if features]
        return cls._from_selections(selected, "stumps on", feature_names, n_shown).plot(ax)

    @classmethod
    def _from_selections(cls, selected: Sequence[set[int]], kind: str, names: Names, n_shown: int) -> Self:
        """Count how often each feature is in a selection, for as many features as have names, or are selected."""
        every = [feature for features in selected for feature in features]
        if not every:
            raise InvalidInput("runs", "found no stump in use", "give ensembles whose stumps have weights")
        shares = np.bincount(every, minlength=0 if names is None else len(names)) / len(selected)
        return cls(shares, names, f"share of {kind} the feature (of {len(selected)})", n_shown)

    def _draw(self, ax: Axes) -> None:
        left = draw_ranked(ax, self.shares, name_features(self.feature_names, np.size(self.shares)), self.n_shown)
        ax.locator_params(axis="x", nbins=5)
        ax.set(xlabel=self.xlabel)
        add_note(ax, "further", left, below=False)
