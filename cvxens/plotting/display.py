"""Axes, colours, legends and names for all displays; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.effects import take_apart
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, with_names
from cvxens.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from sklearn.base import BaseEstimator

    from cvxens.colgen import Run

Names: TypeAlias = Sequence[object] | None
"""Names of all features, or None for x[0], x[1], ..."""

PALETTE = ("#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#94a4a2", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd")
"""Colours that colour-blind people can tell apart (M. A. Petroff, *Accessible color sequences*, 2021)."""

NEGLIGIBLE = 1e-6
"""A weight of at most this share of the largest one counts as 0: masters that stop inside leave such weights."""

NOTE, FAINT = "0.35", "0.75"
"""The greys of notes, and of reference lines and the background."""


class Display(ABC):
    """A picture that is computed and not yet drawn; `ax_` and `figure_` are what it was last drawn on."""

    ax_: Axes
    figure_: Figure | SubFigure
    size: ClassVar[tuple[float, float]] = (5.6, 3.8)
    """Width and height in inches of a figure of its own."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on matplotlib Axes, by default those of a new figure.

        Raises
        ------
        InvalidInput
            `ax` is something else.
        ImportError
            matplotlib is not installed.
        """
        self.ax_ = new_axes(self.size)[0] if ax is None else check_axes(ax)
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    @abstractmethod
    def _draw(self, ax: Axes) -> None: ...


def pyplot() -> ModuleType:
    """Import matplotlib, or say how to install it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            "cvxens.plotting draws with matplotlib, which cannot be imported; install it: pip install 'cvxens[plot]'"
        ) from error
    return plt


def new_axes(size: tuple[float, float], n_axes: int = 1, n_across: int = 1) -> list[Axes]:
    """Return axes of one height, in rows of a new figure of that size in inches."""
    n_down = -(-n_axes // n_across)
    _, grid = pyplot().subplots(n_down, n_across, figsize=size, layout="constrained", sharey=True, squeeze=False)
    for ax in grid.flat[n_axes:]:
        ax.remove()
    axes = list(grid.flat[:n_axes])
    for ax in axes:
        ax.set_prop_cycle(color=PALETTE)
        ax.spines[["top", "right"]].set_visible(False)
    return axes


def check_axes(ax: object) -> Axes:
    """Return `ax` if it is matplotlib Axes."""
    if not isinstance(ax, pyplot().Axes):
        raise InvalidInput("ax", f"found {type(ax).__name__}", "give matplotlib Axes, or None for a new figure")
    return ax


def add_legend(ax: Axes, **where: Any) -> None:
    """Name what has a label, on a ground that keeps names readable over lines; many names go beside the picture."""
    n = len(ax.get_legend_handles_labels()[1])
    if n > 6:
        columns = -(-n // 16)
        where = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small", "ncols": columns, **where}
    if n:
        ax.legend(edgecolor="none", framealpha=0.8, **where)


def draw_ranked(ax: Axes, sizes: ArrayLike, names: Sequence[object], n_shown: int) -> int:
    """Draw bars of sizes above 0, the largest on top, at most so many; returns the number of those that are left."""
    heights = np.asarray(sizes).tolist()
    used = [k for k in sorted(range(len(heights)), key=lambda k: -heights[k]) if heights[k] > 0]
    shown = used[:n_shown]
    ax.barh(range(len(shown)), [heights[k] for k in shown], height=0.7, color=PALETTE[0])
    ax.set_yticks(range(len(shown)), [str(names[k]) for k in shown])
    ax.invert_yaxis()
    return len(used) - len(shown)


def add_note(ax: Axes, kind: str, n_left_out: int, *, below: bool) -> None:
    """Say how many features a picture leaves out: below all pictures of its figure, or above it at the right."""
    text = f"{n_left_out} {kind} {'feature is' if n_left_out == 1 else 'features are'} left out"
    if n_left_out and below:
        ax.figure.supxlabel(text, fontsize="small", color=NOTE, x=0.99, ha="right")
    elif n_left_out:
        ax.set_title(text, loc="right", fontsize="small", color=NOTE)


def name_problems(estimator: BaseEstimator) -> list[str]:
    """Say what each sub-problem of a fitted estimator tells apart; positive scores are for what is named first."""
    return [f"{label} vs rest" for label in read_fitted(estimator, "classes_")]


def name_features(names: Names, n_features: int) -> tuple[str, ...]:
    """Return the given names of all features, or x[0], x[1], ..."""
    if names is None:
        return tuple(f"x[{j}]" for j in range(n_features))
    given = validation.labels("feature_names", names)
    validation.one_each("feature_names", given, n_features, "feature")
    return tuple(str(name) for name in given)


def find_fitted(estimator: BaseEstimator, attribute: str, default: object = None) -> Any:
    """Return an attribute of a fitted estimator, the default where it has none."""
    return getattr(estimator, attribute, default)


def read_fitted(estimator: BaseEstimator, attribute: str) -> Any:
    """Return an attribute of a fitted estimator, or raise if it has none."""
    if (found := find_fitted(estimator, attribute)) is not None:
        return found
    lacking = f"found {type(estimator).__name__} without {attribute}"
    raise InvalidInput("estimator", lacking, "give a fitted estimator that has it")


@dataclass(frozen=True, eq=False)
class WeightedHypotheses:
    """The hypotheses h_j of one output and their weights w, with names of features and of both classes if known."""

    hypotheses: Sequence[Hypothesis]
    weights: Array
    names: Mapping[int, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(np.ndim(w) for w in self.weights):
            remedy = "give a run of one output, or a binary classifier such as those in estimators_"
            raise InvalidInput("weights", "found those of several outputs or sub-problems", remedy)

    @classmethod
    def from_run(cls, run: Run, feature_names: Names = None) -> Self:
        """Take what column generation found."""
        names = {} if feature_names is None else dict(enumerate(map(str, feature_names)))
        return cls([column.hypothesis for column in run.columns], run.weights, names)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator) -> Self:
        """Take what a fitted estimator of one output holds in ``weak_learners_`` and ``weights_``."""
        learners, weights = read_fitted(estimator, "weak_learners_"), read_fitted(estimator, "weights_")
        names = dict(enumerate(map(str, find_fitted(estimator, "feature_names_in_", ()))))
        return cls(learners, weights, names, tuple(map(str, find_fitted(estimator, "classes_", ()))))

    @property
    def total_weight(self) -> float:
        """Sum of |w|, above 0."""
        size = float(np.abs(self.weights).sum())
        if not size > 0:
            raise InvalidInput("weights", "found all of them 0", "give a model with a hypothesis in use")
        return size

    def find_features(self) -> list[set[int]]:
        """Return what each weak learner in use is a function of; nothing of constants."""
        used = np.flatnonzero(np.abs(self.weights) > NEGLIGIBLE * np.abs(self.weights).max(initial=0.0))
        parts = ([part for _, part in take_apart(self.hypotheses[j])] for j in used.tolist())
        return [{f for part in each if not isinstance(part, float) for f in part.features} for each in parts]

    def describe(self, hypothesis: object) -> str:
        """Return the text of a hypothesis in one line, with the names of features and of the class that it is for."""
        first, *others = str(hypothesis).splitlines() or [""]
        test, arrow, sign = with_names(first, self.names).rpartition(" -> ")
        if len(self.classes) == 2 and sign in {"-1", "+1"}:
            sign = self.classes[sign == "+1"]
        return test + arrow + sign + (" ..." if others else "")
