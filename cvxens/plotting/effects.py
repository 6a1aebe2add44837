"""Pictures of effects: how important they are, what two features add together, and why one sample has its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens import validation
from cvxens.effects import Effects, Interaction
from cvxens.errors import InvalidInput
from cvxens.features import column
from cvxens.plotting.display import FAINT, NOTE, PALETTE, Display, draw_ranked
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


@dataclass
class EffectsDisplay(Display):
    """The importance of the effects of a model: the mean of the absolute value of each over the samples.

    Parameters
    ----------
    importances : array-like of shape (n_effects,)
        0 or above.
    names : sequence of str
        What each is called.
    n_shown : int
        The most effects that are drawn, the most important on top; none of importance 0 is.

    Raises
    ------
    InvalidInput
        There is not one name for each, all are 0, or one is below 0.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = EffectsDisplay([0.1, 0.0, 0.7], ["age", "height", "age x dose"]).plot(Figure().subplots())
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['age x dose', 'age']
    """

    importances: Any
    names: Sequence[str]
    n_shown: int = 20

    def __post_init__(self) -> None:
        self.importances = validation.finite_array("importances", self.importances, ndim=1)
        validation.one_each("names", self.names, len(self.importances), "effect")
        if not self.importances.max(initial=0.0) > 0 or self.importances.min() < 0:
            raise InvalidInput("importances", "found them below 0, or all 0", "give a model that depends on a feature")
        validation.whole("n_shown", self.n_shown)

    @classmethod
    def from_effects(cls, effects: Effects, *, output: Any = None, n_shown: int = 20, ax: Axes | None = None) -> Self:
        """Draw effects: of all scores together, or of the one that `output` names."""
        sizes = effects.importances if output is None else effects.sizes[:, find_output(effects, output)]
        return cls(sizes, effects.names, n_shown).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, X: Any = None, **options: Any) -> Self:
        """Draw the effects of a fitted estimator on a sample X (n_samples, n_features); as `from_effects`."""
        return cls.from_effects(estimator.effects(X), **options)

    def _draw(self, ax: Axes) -> None:
        left = draw_ranked(ax, self.importances, self.names, self.n_shown)
        ax.set(xlabel="mean |contribution|")
        if left:
            ax.set_title(f"{left} less important are left out", loc="right", fontsize="small", color=NOTE)


@dataclass
class PairDisplay(Display):
    """What two features add to a score together, beside what each adds alone, as a map of cells.

    Parameters
    ----------
    edges : two array-likes of shape (n_edges,)
        The ends of the cells of the first feature, across, and of the second, upwards; both ascend.
    table : array-like of shape (n_cells, n_cells)
        The values, by cell of the first feature and of the second.
    names : two str
        The features.

    Raises
    ------
    InvalidInput
        The table does not have a cell between any two edges.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = PairDisplay(([0, 1, 3], [0, 2]), [[0.5], [-0.5]], ("age", "dose")).plot(Figure().subplots())
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('age', 'dose')
    """

    edges: tuple[Any, Any]
    table: Any
    names: tuple[str, str]

    def __post_init__(self) -> None:
        self.edges = tuple(validation.finite_array("edges", ends, ndim=1) for ends in self.edges)  # type: ignore[assignment]
        self.table = validation.finite_array("table", self.table, ndim=2)
        expected = tuple(len(ends) - 1 for ends in self.edges)
        if self.table.shape != expected:
            raise InvalidInput("table", f"found shape {self.table.shape}", f"give {expected}, a cell between two edges")

    @classmethod
    def from_effects(
        cls, effects: Effects, pair: str | None = None, X: Any = None, *, output: Any = None, ax: Axes | None = None
    ) -> Self:
        """Draw a pair, such as "age x dose", by default the most important, over the range of a sample X or its cuts.

        Raises
        ------
        InvalidInput
            There is no such pair, or no name for one of several scores.
        """
        k = find_output(effects, output)
        pairs = {
            name: (term, size)
            for name, term, size in zip(effects.names, effects.terms, effects.sizes[:, k], strict=True)
            if isinstance(term, Interaction) and len(term.features) == 2
        }
        chosen = max(pairs, key=lambda name: pairs[name][1], default="") if pair is None else pair
        if chosen not in pairs:
            remedy = f"name one of {', '.join(list(pairs)[:5])}" if pairs else "give a model that has pairs"
            raise InvalidInput("pair", f"found {pair!r:.100}", remedy)
        term = pairs[chosen][0]
        edges, table, _ = term.crop(None if X is None else effects.read(X))
        first, second = (effects.feature_names[feature] for feature in term.features)
        return cls((edges[0], edges[1]), table[..., k], (first, second)).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, X: Any = None, pair: str | None = None, **options: Any) -> Self:
        """Draw a pair of a fitted estimator, on a sample X (n_samples, n_features); as `from_effects`."""
        return cls.from_effects(estimator.effects(X), pair, X, **options)

    def _draw(self, ax: Axes) -> None:
        largest = float(np.abs(self.table).max()) or 1.0
        # red adds, blue takes off
        mesh = ax.pcolormesh(*self.edges, self.table.T, cmap="RdBu_r", vmin=-largest, vmax=largest)
        ax.figure.colorbar(mesh, ax=ax, label="contribution to f")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])


@dataclass
class ExplanationDisplay(Display):
    """Why one sample has its score: from the mean score, effect by effect, to its own.

    Parameters
    ----------
    contributions : array-like of shape (n_effects,)
        What each adds.
    names : sequence of str
        What each is called.
    base : float
        The mean score.
    n_shown : int
        The most that are drawn one by one, the largest first; the others are drawn as one.

    Raises
    ------
    InvalidInput
        There is not one name for each.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = ExplanationDisplay([0.5, -0.2, 0.1], ["age", "dose", "height"], base=1.0, n_shown=1)
    >>> [label.get_text() for label in display.plot(Figure().subplots()).ax_.get_yticklabels()]
    ['mean score', 'age', '2 others', 'score']
    """

    contributions: Any
    names: Sequence[str]
    base: float
    n_shown: int = 10

    def __post_init__(self) -> None:
        self.contributions = validation.finite_array("contributions", self.contributions, ndim=1)
        validation.one_each("names", self.names, len(self.contributions), "contribution")
        validation.whole("n_shown", self.n_shown)

    @classmethod
    def from_effects(
        cls,
        effects: Effects,
        x: Any,
        *,
        shapley: bool = False,
        output: Any = None,
        n_shown: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the effects of one sample x (1, n_features), or with `shapley` the Shapley values of its features."""
        k = find_output(effects, output)
        read = effects.read(x)
        if read.shape[0] != 1:
            raise InvalidInput("x", f"found {read.shape[0]} samples", "give one, such as X[:1]")
        found = (effects.shapley_values if shapley else effects.contributions)(x).reshape(-1, len(effects.intercept))
        values = {
            name: effects.tell_value(feature, float(column(read, feature)[0]))
            for feature, name in enumerate(effects.feature_names)
        }
        plain = effects.feature_names if shapley else effects.names
        names = [f"{name} = {values[name]}" if name in values else name for name in plain]
        return cls(found[:, k], names, float(effects.intercept[k]), n_shown).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, X: Any, x: Any, **options: Any) -> Self:
        """Draw why a sample x (1, n_features) has its score, beside the mean score of samples X; as `from_effects`."""
        return cls.from_effects(estimator.effects(X), x, **options)

    def _draw(self, ax: Axes) -> None:
        ranked = np.argsort(-np.abs(self.contributions), kind="stable")
        ranked = ranked[self.contributions[ranked] != 0]
        shown, others = ranked[: self.n_shown], ranked[self.n_shown :]
        steps = self.contributions[shown]
        names = [str(self.names[k]) for k in shown.tolist()]
        if len(others):
            word = "other" if len(others) == 1 else "others"
            steps, names = np.append(steps, self.contributions[others].sum()), [*names, f"{len(others)} {word}"]
        starts = self.base + np.append(0.0, np.cumsum(steps))
        places = np.arange(1, len(steps) + 1)
        ax.barh(places, steps, left=starts[:-1], height=0.7, color=np.where(steps > 0, PALETTE[6], PALETTE[0]))
        ends: Array = starts[[0, -1]]
        ax.plot(ends, [0, len(steps) + 1], "D", color=NOTE, markersize=5)
        # each bar begins where the one above it ends
        ax.vlines(starts, np.arange(len(starts)), np.arange(1, len(starts) + 1), color=FAINT, linewidth=0.8, zorder=0)
        ax.set_yticks(np.arange(len(steps) + 2), ["mean score", *names, "score"])
        ax.invert_yaxis()
        # room for the numbers beside bars, also where these begin at the left
        ax.use_sticky_edges = False
        ax.margins(x=0.16)
        for place, start, step in zip(places, starts, steps, strict=False):
            left = step < 0
            ax.annotate(
                f"{step:+.3g}",
                (start + step, place),
                xytext=(-4 if left else 4, 0),
                textcoords="offset points",
                ha="right" if left else "left",
                va="center",
                fontsize="small",
                color=NOTE,
            )
        ax.set(xlabel=f"f: {ends[0]:.4g} on average, {ends[1]:.4g} here")


def find_output(effects: Effects, output: Any) -> int:
    """Return which of several scores is named, by a class or what sub-problems tell apart; 0 where there is one."""
    if not effects.outputs and output is None:
        return 0
    if str(output) in effects.outputs:
        return effects.outputs.index(str(output))
    remedy = f"name one of {', '.join(effects.outputs)}" if effects.outputs else "leave it out: there is one score"
    raise InvalidInput("output", f"found {output!r:.100}", remedy)
