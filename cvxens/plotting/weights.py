"""Pictures of weights: how they change with C, and how often each feature is selected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens import validation
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
    name_features,
    read_fitted,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

    from cvxens.colgen import Hypothesis, Path, Run


@dataclass
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

    C: Any
    coefficients: Any
    names: Sequence[str] | None = None
    ylabel: str = "weight w"
    n_named: int = 8
    xlabel: str = "C"
    breakpoints: Any = ()
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
        cls, estimators: Mapping[float, Any], *, xlabel: str = "C", n_named: int = 8, ax: Axes | None = None
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
        place = {h: j for j, h in enumerate(names)}
        weights = np.zeros((len(ensembles), len(names)))
        for row, ensemble in zip(weights, ensembles.values(), strict=True):
            row[[place[h] for h in ensemble.hypotheses]] = ensemble.weights
        return cls(list(ensembles), weights, list(names.values()), n_named=n_named, xlabel=xlabel)

    def _draw(self, ax: Axes) -> None:
        largest = np.abs(self.coefficients).max(axis=0, initial=0.0)
        if self.names is None:
            ax.plot(self.C, self.coefficients, color=PALETTE[0], alpha=0.4, linewidth=0.8)
        else:
            ranked = np.argsort(-largest, kind="stable")
            shown = ranked[largest[ranked] > 0][: self.n_named]
            others = np.setdiff1d(ranked, shown)
            if others.size:
                ax.plot(self.C, self.coefficients[:, others], color=FAINT, linewidth=0.6, zorder=1)
            for k, j in enumerate(shown.tolist()):
                style: dict[str, Any] = {"color": PALETTE[k % len(PALETTE)], "marker": "."}
                ax.plot(self.C, self.coefficients[:, j], label=str(self.names[j]), **style)
        for price in self.breakpoints:
            ax.axvline(price, color=FAINT, linestyle=":", linewidth=0.8, zorder=0)
        if self.title:
            ax.set_title(self.title, fontsize="small")
        ax.set_xscale("log")
        if self.C[-1] < 10 * self.C[0]:
            # a range of less than a power of ten has too few ticks: mark at most six of the points themselves
            marked = self.C[np.unique(np.linspace(0, len(self.C) - 1, 6).round().astype(int))]
            ax.minorticks_off()
            ax.set_xticks(marked, [f"{C:.3g}" for C in marked])
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        n_used, n_named = int((largest > 0).sum()), len(ax.get_legend_handles_labels()[1])
        title = f"the largest {n_named} of {n_used}" if n_named < n_used else None
        add_legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", title=title)


@dataclass
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

    shares: Any
    feature_names: Names = None
    xlabel: str = "share of runs that select the feature"
    n_shown: int = 20

    def __post_init__(self) -> None:
        self.shares = validation.finite_array("shares", self.shares, ndim=1)
        if self.shares.min() < 0 or not 0 < self.shares.max() <= 1:
            found = f"found {self.shares.min():g} to {self.shares.max():g}"
            raise InvalidInput("shares", found, "give numbers of at least 0 and at most 1, not all 0")
        self.feature_names = name_features(self.feature_names, len(self.shares))
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
        cls, estimators: Iterable[Any], *, feature_names: Names = None, n_shown: int = 20, ax: Axes | None = None
    ) -> Self:
        """Draw the share of fitted estimators, such as one per fold, that use the feature.

        Those are features of more than a negligible share in ``feature_importances_``. They are called as in
        ``feature_names_in_`` where no names are given, and all models have those.
        """
        models = list(estimators)
        if feature_names is None:
            known = [list(getattr(model, "feature_names_in_", [])) for model in models]
            feature_names = known[0] if known and known[0] and all(each == known[0] for each in known) else None
        selected = [_find_selected(model) for model in models]
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
        left = draw_ranked(ax, self.shares, name_features(self.feature_names, len(self.shares)), self.n_shown)
        ax.locator_params(axis="x", nbins=5)
        ax.set(xlabel=self.xlabel)
        add_note(ax, "further", left, below=False)


def _find_selected(estimator: BaseEstimator) -> set[int]:
    """Return the features that a fitted estimator uses."""
    shares = np.asarray(read_fitted(estimator, "feature_importances_"))
    return set(np.flatnonzero(shares > NEGLIGIBLE * shares.max(initial=0.0)).tolist())
