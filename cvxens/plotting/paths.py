"""How weights or multipliers change with C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.plotting.display import FAINT, PALETTE, Display, add_legend
from cvxens.plotting.ensembles import Ensemble

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cvxens.colgen import Hypothesis, Run


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
        Of the coefficients, for the legend; without names all are drawn alike.
    ylabel : str
        What the coefficients are.
    n_named : int
        At most so many are in the legend.
    xlabel : str
        What C is called.

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

    def __post_init__(self) -> None:
        C = validation.finite_array("C", self.C, ndim=1)
        if C.min() <= 0 or len(np.unique(C)) < len(C):
            raise InvalidInput("C", f"found {C.tolist()}", "give distinct numbers above 0")
        coefficients = validation.finite_array("coefficients", self.coefficients, ndim=2)
        if len(coefficients) != len(C):
            found = f"found {len(coefficients)} rows for {len(C)} values of C"
            raise InvalidInput("coefficients", found, "give one row for every C")
        if self.names is not None and len(self.names) != coefficients.shape[1]:
            found = f"found {len(self.names)} names for {coefficients.shape[1]} coefficients"
            raise InvalidInput("names", found, "give one for every coefficient")
        validation.whole("n_named", self.n_named, least=0)
        order = np.argsort(C)
        self.C, self.coefficients = C[order], coefficients[order]

    @classmethod
    def from_runs(
        cls,
        runs: Mapping[float, Run],
        *,
        feature_names: Sequence[Any] | None = None,
        n_named: int = 8,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the weights of all hypotheses of several runs, by C; a hypothesis that a run has not weighs 0."""
        validation.instance("runs", runs, Mapping)
        return cls._of({C: Ensemble.of_run(run, feature_names) for C, run in runs.items()}, n_named).plot(ax)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[float, Any], *, xlabel: str = "C", n_named: int = 8, ax: Axes | None = None
    ) -> Self:
        """Draw the ``weights_`` of all ``weak_learners_`` of several fitted estimators, by C or what `xlabel` says.

        The features are called as in ``feature_names_in_`` where there is that.
        """
        return cls._of({C: Ensemble.of_estimator(one) for C, one in estimators.items()}, n_named, xlabel).plot(ax)

    @classmethod
    def _of(cls, ensembles: Mapping[float, Ensemble], n_named: int, xlabel: str = "C") -> Self:
        place: dict[Hypothesis, int] = {}
        names: list[str] = []
        for ensemble in ensembles.values():
            for hypothesis in ensemble.hypotheses:
                if hypothesis not in place:
                    place[hypothesis] = len(place)
                    names.append(ensemble.called(hypothesis))
        weights = np.zeros((len(ensembles), len(place)))
        for row, ensemble in zip(weights, ensembles.values(), strict=True):
            row[[place[hypothesis] for hypothesis in ensemble.hypotheses]] = ensemble.weights
        return cls(list(ensembles), weights, names, n_named=n_named, xlabel=xlabel)

    def _draw(self, ax: Axes) -> None:
        if self.names is None:
            ax.plot(self.C, self.coefficients, color=PALETTE[0], alpha=0.4, linewidth=0.8)
        else:
            self._draw_named(ax, self.names)
        ax.set_xscale("log")
        if self.C[-1] < 10 * self.C[0]:
            self._mark_points(ax)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        largest = np.abs(self.coefficients).max(axis=0, initial=0.0)
        n_used, n_named = int((largest > 0).sum()), len(ax.get_legend_handles_labels()[1])
        title = f"the largest {n_named} of {n_used}" if n_named < n_used else None
        add_legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", title=title)

    def _mark_points(self, ax: Axes) -> None:
        """Mark at most six of the points themselves: a range of less than a power of ten has too few ticks."""
        marked = self.C[np.unique(np.linspace(0, len(self.C) - 1, 6).round().astype(int))]
        ax.minorticks_off()
        ax.set_xticks(marked, [f"{C:.3g}" for C in marked])

    def _draw_named(self, ax: Axes, names: Sequence[str]) -> None:
        largest = np.abs(self.coefficients).max(axis=0)
        ranked = np.argsort(-largest, kind="stable")
        shown = ranked[largest[ranked] > 0][: self.n_named]
        others = np.setdiff1d(ranked, shown)
        if others.size:
            ax.plot(self.C, self.coefficients[:, others], color=FAINT, linewidth=0.6, zorder=1)
        for k, j in enumerate(shown.tolist()):
            colour = PALETTE[k % len(PALETTE)]
            ax.plot(self.C, self.coefficients[:, j], color=colour, marker=".", label=str(names[j]))
